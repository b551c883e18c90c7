/* The timeline of a page: see timeline.h. */
#include "output/timeline.h"
#include "analysis/busy.h"
#include "output/packed.h"
#include "trace/trace_range.h"

#include <stdlib.h>
#include <string.h>

enum {
    MOST_SLICES = 1 << 20,       /* in the page; half as many more are held until they are sorted */
    HELD_SLICES = MOST_SLICES + MOST_SLICES / 2,
    ARGS_BYTES = 32 << 20,       /* of all slices that keep theirs */
    ARGS_OF_ONE = 64 << 10,
    MOST_INSTANTS = 20000,
    MOST_POINTS = 4096,          /* of a counter */
    MOST_COUNTERS = 2000,
    MOST_CHANGES = 1 << 18,      /* of memory */
    BINS = 256,                  /* of a track, for the slices that are not in the page */
    NAME_BYTES = 2000            /* of a name, in the page */
};

/* Times within these and their sums fit 64 bits, also those of the calendar. */
#define MOST_NS ((int64_t)3 << 60)
#define MOST_DUR ((int64_t)1 << 60)

/* What a slice is: its colour. The script of the page has the same list. */
typedef enum slice_class {
    CLASS_ZONE, CLASS_OP, CLASS_ANNOTATION, CLASS_PYTHON, CLASS_RUNTIME, CLASS_OVERHEAD,
    CLASS_COMPUTE, CLASS_COMMUNICATION, CLASS_COPY,          /* work of a device */
    CLASS_WAITING, CLASS_DEVICE_ANNOTATION
} slice_class;

typedef struct slice {
    int64_t start_ns, dur_ns;
    int64_t id, external;        /* of a call: its id for the join; of work: its correlation and */
    uint32_t name, track;        /* its external id */
    uint32_t args;               /* its place in the arguments' text + 1; 0: none */
    uint8_t class_of;
    uint8_t join;                /* JOIN_... of id */
} slice;

typedef struct track {
    int64_t pid, tid;
    uint32_t process, pid_text, tid_text, name;   /* texts: numbers + 1; 0: none */
    int64_t sort;
    bool is_async, on_device;
    uint64_t count;
    uint64_t *bins;              /* ns of slices that are not in the page, by time; NULL: none */
    int64_t bins_ns, bin_ns;     /* when they begin, how long each is */
    uint64_t summed;             /* how many slices those are */
} track;

typedef struct process {
    int64_t pid, sort;
    uint32_t file, pid_text, name, labels;
    bool has_slices;
} process;

typedef struct instant { int64_t ts_ns; uint32_t name, track; } instant;
typedef struct change { int64_t ts_ns, bytes[2]; uint32_t track; } change;   /* host, devices */
typedef struct point { int64_t ts_ns; double value; } point;
typedef struct counter {
    uint32_t process, name;
    point *points;
    size_t count, capacity;
    uint32_t every, skipped;     /* of what is told one point of so many is kept */
} counter;
typedef struct file {
    uint32_t label;
    int64_t first_ns, last_ns;   /* of its slices; where it has none, of what else it has */
    int64_t other_first_ns, other_last_ns;
    int64_t rank;                /* -1: none */
    int64_t base_ns, begin_ns;   /* begin: the page's 0 on its clock */
    bool aside;                  /* it runs beside another one */
} file;

struct timeline {
    file *files;
    size_t file_count, file_capacity;
    process *processes;
    size_t process_count, process_capacity;
    track *tracks;
    size_t track_count, track_capacity;
    slice *slices;
    size_t count, capacity;
    int64_t least_ns, args_least_ns;     /* what is shorter goes, because much went before */
    uint64_t summed, untimed, args_count, args_left, instants_left, counters_left, names_cut;
    uint64_t no_numbers;         /* values of counters */
    int64_t summed_ns;
    char *args;
    size_t args_size;
    instant *instants;
    size_t instant_count, instant_capacity;
    change *changes;
    size_t change_count, change_capacity;
    uint64_t changes_left;
    counter *counters;
    size_t counter_count, counter_capacity;
    map process_numbers, track_numbers, counter_numbers;
    map work_names;              /* kinds of work */
    interner names, texts;       /* of slices; of all else */
};

timeline *timeline_new(void) {
    timeline *t = allocate(sizeof *t);
    t->args = allocate(ARGS_BYTES + ARGS_OF_ONE + 8);
    return t;
}

void timeline_begin_file(timeline *t, const char *label) {
    GROW(t->files, t->file_count, t->file_capacity);
    t->files[t->file_count++] = (file){
        .label = intern(&t->texts, label, strlen(label)), .rank = -1,
        .first_ns = INT64_MAX, .last_ns = INT64_MIN,
        .other_first_ns = INT64_MAX, .other_last_ns = INT64_MIN
    };
}

void timeline_set_rank(timeline *t, int64_t rank) { t->files[t->file_count - 1].rank = rank; }

/* ---- Processes and tracks ---- */

static uint32_t keep_text(timeline *t, trace_text text) {
    return text.size ? intern(&t->texts, text.data, text.size) + 1 : 0;
}

uint32_t timeline_process(timeline *t, const trace_event *event) {
    uint64_t key = hash_mix((uint64_t)event->pid) * 31 + t->file_count;
    bool is_new;
    uint64_t *number = map_put(&t->process_numbers, key, &is_new);
    if (!is_new) return (uint32_t)*number;
    GROW(t->processes, t->process_count, t->process_capacity);
    t->processes[t->process_count] = (process){
        .pid = event->pid, .file = (uint32_t)t->file_count - 1,
        .pid_text = keep_text(t, event->pid_text)
    };
    return (uint32_t)(*number = t->process_count++);
}

static uint32_t track_of(timeline *t, const trace_event *event) {
    uint32_t number_of_process = timeline_process(t, event);
    uint64_t key = (hash_mix((uint64_t)event->tid) * 31 + number_of_process) * 2 + event->is_async;
    bool is_new;
    uint64_t *number = map_put(&t->track_numbers, hash_mix(key), &is_new);
    if (!is_new) return (uint32_t)*number;
    GROW(t->tracks, t->track_count, t->track_capacity);
    t->tracks[t->track_count] = (track){
        .pid = event->pid, .tid = event->tid, .process = number_of_process,
        .tid_text = keep_text(t, event->tid_text), .is_async = event->is_async
    };
    return (uint32_t)(*number = t->track_count++);
}

static track *track_at(timeline *t, const trace_event *event) {
    uint32_t number = track_of(t, event);        /* it may move the tracks */
    return &t->tracks[number];
}

/* The names and places that a trace gives its processes and threads. */
static void add_metadata(timeline *t, const trace_event *event) {
    char text[1024];
    uint32_t number = timeline_process(t, event);
    process *p = &t->processes[number];
    bool of_thread = text_is(event->name, "thread_name");
    if (text_is(event->name, "process_sort_index")) trace_arg_int(event, "sort_index", &p->sort);
    if (text_is(event->name, "thread_sort_index"))
        trace_arg_int(event, "sort_index", &track_at(t, event)->sort);
    bool labels = text_is(event->name, "process_labels");
    if (!labels && !of_thread && !text_is(event->name, "process_name")) return;
    if (!trace_arg_text(event, labels ? "labels" : "name", text, sizeof text) || !*text) return;
    number = intern(&t->texts, text, strlen(text)) + 1;
    if (of_thread) track_at(t, event)->name = number;
    else if (labels) p->labels = number;
    else p->name = number;
}

/* ---- What is too much: the shortest slices, their arguments ---- */

/* Bins that reach from one time to the other, twice as long as often as it takes. */
static void widen(track *k, int64_t from_ns, int64_t to_ns) {
    int64_t old_ns = k->bins_ns, old_bin = k->bin_ns;
    uint64_t old[BINS];
    memcpy(old, k->bins, sizeof old);
    memset(k->bins, 0, sizeof old);
    if (from_ns < k->bins_ns) k->bins_ns = from_ns;
    while (to_ns >= k->bins_ns + k->bin_ns * BINS) k->bin_ns *= 2;
    int64_t end_ns = old_ns + old_bin * BINS;
    while (end_ns > k->bins_ns + k->bin_ns * BINS) k->bin_ns *= 2;
    for (int i = 0; i < BINS; i++)
        k->bins[(old_ns + i * old_bin - k->bins_ns) / k->bin_ns] += old[i];
}

static void sum_slice(timeline *t, const slice *s) {
    track *k = &t->tracks[s->track];
    if (!k->bins) {
        k->bins = allocate(BINS * sizeof *k->bins);
        k->bins_ns = s->start_ns;
        k->bin_ns = 1000;
    }
    if (s->start_ns < k->bins_ns || s->start_ns >= k->bins_ns + k->bin_ns * BINS)
        widen(k, s->start_ns, s->start_ns);
    k->bins[(s->start_ns - k->bins_ns) / k->bin_ns] += (uint64_t)s->dur_ns;
    k->summed++;
    k->count--;
    t->summed++;
    t->summed_ns += s->dur_ns;
}

static bool longer_before(uint32_t a, uint32_t b, const void *context) {
    const slice *slices = context;
    return slices[a].dur_ns > slices[b].dur_ns;
}

/* Keeps the longest ones, in the order of the files. A slice that holds others is not shorter
   than they are: nothing that is kept loses what is around it. */
static void drop_shortest(timeline *t) {
    if (t->count <= MOST_SLICES) return;
    uint32_t *order = sorted_numbers(t->count, longer_before, t->slices);
    t->least_ns = t->slices[order[MOST_SLICES - 1]].dur_ns;
    for (size_t i = MOST_SLICES; i < t->count; i++) {
        slice *s = &t->slices[order[i]];
        t->args_left += s->args != 0;
        t->args_count -= s->args != 0;
        sum_slice(t, s);
        s->dur_ns = -1;
    }
    size_t kept = 0;
    for (size_t i = 0; i < t->count; i++)
        if (t->slices[i].dur_ns >= 0) t->slices[kept++] = t->slices[i];
    t->count = kept;
    free(order);
}

static size_t args_size(const timeline *t, const slice *s) {
    uint32_t size;
    memcpy(&size, t->args + s->args - 1, sizeof size);
    return size;
}

/* Keeps those of the longest slices, in half of the room. */
static void drop_args(timeline *t) {
    uint32_t *order = sorted_numbers(t->count, longer_before, t->slices);
    char *kept = allocate(ARGS_BYTES + ARGS_OF_ONE + 8);
    size_t used = 0;
    for (size_t i = 0; i < t->count; i++) {
        slice *s = &t->slices[order[i]];
        if (!s->args) continue;
        size_t size = 4 + args_size(t, s);
        bool fits = used + size <= ARGS_BYTES / 2;
        if (fits) memcpy(kept + used, t->args + s->args - 1, size);
        else if (s->dur_ns > t->args_least_ns) t->args_least_ns = s->dur_ns;
        t->args_left += !fits;
        t->args_count -= !fits;
        s->args = fits ? (uint32_t)used + 1 : 0;
        if (fits) used += size;
    }
    free(order);
    free(t->args);
    t->args = kept;
    t->args_size = used;
}

static void keep_args(timeline *t, slice *s, trace_text args) {
    uint32_t size = (uint32_t)args.size;
    if (args.size <= 2) return;
    if (args.size > ARGS_OF_ONE || s->dur_ns < t->args_least_ns) {
        t->args_left++;
        return;
    }
    memcpy(t->args + t->args_size, &size, sizeof size);
    memcpy(t->args + t->args_size + sizeof size, args.data, size);
    s->args = (uint32_t)t->args_size + 1;
    t->args_size += sizeof size + size;
    t->args_count++;
}

/* ---- Events ---- */

static uint8_t class_of(timeline *t, const trace_event *event) {
    static const uint8_t classes[TRACE_KINDS] = {
        [TRACE_OTHER] = CLASS_ZONE, [TRACE_CPU_OP] = CLASS_OP,
        [TRACE_ANNOTATION] = CLASS_ANNOTATION, [TRACE_PYTHON] = CLASS_PYTHON,
        [TRACE_RUNTIME] = CLASS_RUNTIME,
        [TRACE_GPU_ANNOTATION] = CLASS_DEVICE_ANNOTATION, [TRACE_SYNC] = CLASS_WAITING,
        [TRACE_OVERHEAD] = CLASS_OVERHEAD, [TRACE_SPAN] = CLASS_WAITING,
        [TRACE_TASK] = CLASS_WAITING
    };
    static const uint8_t works[WORK_KINDS] = {
        [WORK_COMPUTE] = CLASS_COMPUTE, [WORK_COMMUNICATION] = CLASS_COMMUNICATION,
        [WORK_MEMORY] = CLASS_COPY
    };
    return kind_is_device(event->kind) ? works[work_kind_of(&t->work_names, event)]
                                       : classes[event->kind];
}

static int64_t within(int64_t ns, int64_t least, int64_t most) {
    return ns < least ? least : ns > most ? most : ns;
}

static slice new_slice(timeline *t, const trace_event *event, trace_text name) {
    slice s = {
        .start_ns = within(event->ts_ns, -MOST_NS, MOST_NS),
        .dur_ns = within(event->dur_ns, 0, MOST_DUR),
        .name = intern(&t->names, name.data, name.size),
        .track = track_of(t, event), .class_of = class_of(t, event),
        .id = NO_ID, .external = NO_ID
    };
    if (kind_is_device(event->kind)) {
        s.external = trace_work_ids(event, &s.id);
        t->tracks[s.track].on_device = true;
    } else {
        call_id own = trace_call_id(event);
        s.id = own.id;
        s.join = (uint8_t)own.kind;
    }
    return s;
}

static void widen_to(int64_t *first_ns, int64_t *last_ns, int64_t from_ns, int64_t to_ns) {
    if (from_ns < *first_ns) *first_ns = from_ns;
    if (to_ns > *last_ns) *last_ns = to_ns;
}

static void add_slice(timeline *t, const trace_event *event, trace_text name) {
    file *f = &t->files[t->file_count - 1];
    if (!(event->has & TRACE_HAS_TS)) {
        t->untimed++;
        return;
    }
    slice s = new_slice(t, event, name);
    widen_to(&f->first_ns, &f->last_ns, s.start_ns, s.start_ns + s.dur_ns);
    t->tracks[s.track].count++;
    t->processes[t->tracks[s.track].process].has_slices = true;
    if (s.dur_ns < t->least_ns) {
        t->args_left += event->args_text.size > 2;
        sum_slice(t, &s);
        return;
    }
    keep_args(t, &s, event->args_text);
    GROW(t->slices, t->count, t->capacity);
    t->slices[t->count++] = s;
    if (t->count >= HELD_SLICES) drop_shortest(t);
    if (t->args_size > ARGS_BYTES) drop_args(t);
}

static void add_instant(timeline *t, const trace_event *event) {
    trace_text name = event->name;
    if (text_is(name, "[memory]")) return;           /* the page draws memory over time */
    if (t->instant_count >= MOST_INSTANTS || !(event->has & TRACE_HAS_TS)) {
        t->instants_left++;
        return;
    }
    GROW(t->instants, t->instant_count, t->instant_capacity);
    t->instants[t->instant_count++] = (instant){
        within(event->ts_ns, -MOST_NS, MOST_NS), intern(&t->texts, name.data, name.size),
        track_of(t, event)
    };
}

void timeline_add_change(timeline *t, const trace_event *event, const int64_t bytes[2]) {
    if (t->change_count >= MOST_CHANGES || !(event->has & TRACE_HAS_TS)) {
        t->changes_left++;
        return;
    }
    uint32_t number = track_of(t, event);
    GROW(t->changes, t->change_count, t->change_capacity);
    t->changes[t->change_count++] = (change){
        within(event->ts_ns, -MOST_NS, MOST_NS), {bytes[0], bytes[1]}, number
    };
}

/* Every second point goes; of those to come, too. */
static void thin_out(counter *c) {
    size_t kept = 0;
    for (size_t i = 0; i < c->count; i += 2) c->points[kept++] = c->points[i];
    c->count = kept;
    c->every *= 2;
}

static int shown_size(trace_text text, size_t most) {
    return (int)(text.size < most ? text.size : most);
}

static counter *counter_of(timeline *t, const trace_event *event, trace_text series) {
    char name[640];
    uint32_t number_of_process = timeline_process(t, event);
    bool plain = !series.size || text_is(series, "value");
    char id[160];
    trace_counter_id(event, id, sizeof id);
    int size = snprintf(name, sizeof name, "%.*s%s%s%.*s", shown_size(event->name, 300),
                        event->name.data, id, plain ? "" : ": ",
                        plain ? 0 : shown_size(series, 150), series.data);
    uint32_t text = intern(&t->texts, name, (size_t)size);
    bool is_new;
    uint64_t *number = map_put(&t->counter_numbers, (uint64_t)number_of_process << 32 | text,
                               &is_new);
    if (!is_new) return *number == UINT64_MAX ? NULL : &t->counters[*number];
    if (t->counter_count >= MOST_COUNTERS) {
        *number = UINT64_MAX;
        t->counters_left++;
        return NULL;
    }
    GROW(t->counters, t->counter_count, t->counter_capacity);
    *number = t->counter_count++;
    t->counters[*number] = (counter){.process = number_of_process, .name = text, .every = 1};
    return &t->counters[*number];
}

static void add_counter(timeline *t, const trace_event *event) {
    const trace_member *args = event->args;
    bool timed = event->has & TRACE_HAS_TS;
    t->untimed += !timed;
    for (size_t i = 0; i < event->arg_count && timed; i++) {
        double value;
        if (!json_double(args[i].value, &value)) {
            t->no_numbers++;
            continue;
        }
        counter *c = counter_of(t, event, args[i].key);
        if (!c || c->skipped++ % c->every) continue;
        if (c->count == MOST_POINTS) thin_out(c);
        GROW(c->points, c->count, c->capacity);
        c->points[c->count++] = (point){within(event->ts_ns, -MOST_NS, MOST_NS), value};
    }
}

void timeline_add(timeline *t, const trace_event *event, trace_text name) {
    file *f = &t->files[t->file_count - 1];
    int64_t ns = within(event->ts_ns, -MOST_NS, MOST_NS);
    if (strchr("iIRnC", event->phase) && event->has & TRACE_HAS_TS)
        widen_to(&f->other_first_ns, &f->other_last_ns, ns, ns);
    switch (event->phase) {
    case 'X': add_slice(t, event, name); break;
    case 'M': add_metadata(t, event); break;
    case 'C': add_counter(t, event); break;
    case 'i': case 'I': case 'R': case 'n': add_instant(t, event); break;
    default: break;
    }
}

/* ---- Several files ---- */

void timeline_end_file(timeline *t, int64_t base_ns) {
    file *f = &t->files[t->file_count - 1];
    f->base_ns = base_ns;
    if (f->first_ns > f->last_ns) f->first_ns = f->other_first_ns, f->last_ns = f->other_last_ns;
    if (f->first_ns > f->last_ns) f->first_ns = f->last_ns = 0;
    f->begin_ns = f->first_ns;
}

static int64_t calendar(const file *f, int64_t ns) { return time_add(f->base_ns, ns); }

static bool file_before(uint32_t a, uint32_t b, const void *context) {
    const file *files = context;
    int64_t x = calendar(&files[a], files[a].first_ns), y = calendar(&files[b], files[b].first_ns);
    return x != y ? x < y : a < b;
}

/* A file that begins before those before it have ended stands where it ran; what is further away
   than a slice may be long would not fit 64 bits. */
void timeline_align(timeline *t) {
    uint32_t *order = sorted_numbers(t->file_count, file_before, t->files);
    int64_t begin_ns = 0, end_ns = INT64_MIN;    /* of those that are side by side */
    for (size_t i = 0; i < t->file_count; i++) {
        file *f = &t->files[order[i]];
        int64_t from_ns = calendar(f, f->first_ns), to_ns = calendar(f, f->last_ns);
        int64_t behind_ns = 0;
        f->aside = i && from_ns < end_ns &&
                   !__builtin_sub_overflow(from_ns, begin_ns, &behind_ns) && behind_ns < MOST_DUR;
        if (f->aside) {
            f->begin_ns = f->first_ns - behind_ns;
            t->files[order[i - 1]].aside = true;
        } else {
            begin_ns = from_ns;
        }
        if (!f->aside || to_ns > end_ns) end_ns = to_ns;
    }
    free(order);
}

int64_t timeline_begin(const timeline *t, uint32_t number) { return t->files[number].begin_ns; }

/* ---- Writing ---- */

/* The slices in the order of the page: by track, by start, the longer one first. */
typedef struct page_order {
    timeline *t;
    uint32_t *tracks;            /* the page's tracks, by number here */
    uint32_t *ranks;             /* of each track here, its place there */
    size_t track_count;
    uint32_t *slices;            /* by place */
    uint32_t *places;            /* of each slice */
} page_order;

static bool track_before(uint32_t a, uint32_t b, const void *context) {
    const timeline *t = context;
    const track *x = &t->tracks[a], *y = &t->tracks[b];
    const process *p = &t->processes[x->process], *q = &t->processes[y->process];
    if (p->file != q->file) return p->file < q->file;
    if (p->has_slices != q->has_slices) return p->has_slices;
    if (p != q) return p->sort != q->sort ? p->sort < q->sort : p < q;
    if (x->on_device != y->on_device) return y->on_device;
    return x->sort < y->sort;
}

static bool slice_before(uint32_t a, uint32_t b, const void *context) {
    const page_order *order = context;
    const slice *x = &order->t->slices[a], *y = &order->t->slices[b];
    if (x->track != y->track) return order->ranks[x->track] < order->ranks[y->track];
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns;
    return x->dur_ns > y->dur_ns;
}

/* Tracks on which nothing is are left out. */
static page_order put_in_order(timeline *t) {
    page_order order = {.t = t, .tracks = sorted_numbers(t->track_count, track_before, t)};
    bool *used = allocate(t->track_count + 1);
    for (size_t i = 0; i < t->track_count; i++) used[i] = t->tracks[i].count || t->tracks[i].bins;
    for (size_t i = 0; i < t->instant_count; i++) used[t->instants[i].track] = true;
    order.ranks = allocate((t->track_count + 1) * sizeof *order.ranks);
    for (size_t i = 0; i < t->track_count; i++) {
        uint32_t number = order.tracks[i];
        if (!used[number]) continue;
        order.ranks[number] = (uint32_t)order.track_count;
        order.tracks[order.track_count++] = number;
    }
    free(used);
    order.slices = sorted_numbers(t->count, slice_before, &order);
    order.places = allocate((t->count + 1) * sizeof *order.places);
    for (size_t i = 0; i < t->count; i++) order.places[order.slices[i]] = (uint32_t)i;
    return order;
}

static int64_t begin_of(const timeline *t, uint32_t number) {
    return timeline_begin(t, t->processes[t->tracks[number].process].file);
}

/* A text of the trace; very long ones without their end. */
static void write_cut(timeline *t, output *out, const char *text, size_t size) {
    if (size > NAME_BYTES) {
        t->names_cut++;
        for (size = NAME_BYTES; size && ((unsigned char)text[size] & 0xC0) == 0x80; size--) {}
    }
    output_json_text(out, text, size);
}

static void write_number_text(timeline *t, output *out, uint32_t number) {
    if (!number) output_text(out, "\"\"");
    else write_cut(t, out, t->texts.entries[number - 1].text, t->texts.entries[number - 1].size);
}

/* [label, when it begins and ends, rank, does it run beside another one] */
static void write_files(timeline *t, output *out) {
    output_text(out, "\"files\":[");
    for (size_t i = 0; i < t->file_count; i++) {
        const file *f = &t->files[i];
        output_text(out, i ? ",[" : "[");
        write_number_text(t, out, f->label + 1);
        output_format(out, ",%lld,%lld,%lld,%d]", (long long)(f->first_ns - f->begin_ns),
                      (long long)(f->last_ns - f->begin_ns), (long long)f->rank, f->aside);
    }
    output_text(out, "],\n\"processes\":[");
    for (size_t i = 0; i < t->process_count; i++) {
        const process *p = &t->processes[i];
        output_format(out, "%s\n[%u,", i ? "," : "", p->file);
        if (p->pid_text) write_number_text(t, out, p->pid_text);
        else output_format(out, "\"%lld\"", (long long)p->pid);
        output_text(out, ",");
        write_number_text(t, out, p->name);
        output_text(out, ",");
        write_number_text(t, out, p->labels);
        output_text(out, "]");
    }
}

/* [process, thread, name, slices, on a device, asynchronous, slices that are summed, begin and
   length of a bin, bins] */
static void write_tracks(timeline *t, const page_order *order, output *out) {
    output_text(out, "],\n\"tracks\":[");
    for (size_t i = 0; i < order->track_count; i++) {
        const track *k = &t->tracks[order->tracks[i]];
        output_format(out, "%s\n[%u,", i ? "," : "", k->process);
        if (k->tid_text) write_number_text(t, out, k->tid_text);
        else output_format(out, "\"%lld\"", (long long)k->tid);
        output_text(out, ",");
        write_number_text(t, out, k->name);
        output_format(out, ",%llu,%d,%d,%llu", (unsigned long long)k->count, k->on_device,
                      k->is_async, (unsigned long long)k->summed);
        if (k->bins) output_format(out, ",%lld,%lld,[",
                                   (long long)(k->bins_ns - begin_of(t, order->tracks[i])),
                                   (long long)k->bin_ns);
        for (int b = 0; k->bins && b < BINS; b++)
            output_format(out, "%s%llu", b ? "," : "", (unsigned long long)k->bins[b]);
        output_text(out, k->bins ? "]]" : "]");
    }
    output_text(out, "]");
}

static void write_starts(const page_order *order, output *out) {
    packed p;
    int64_t last_ns = 0;
    uint32_t number = UINT32_MAX;
    output_text(out, ",\n\"starts\":");
    packed_begin(&p, out);
    for (size_t i = 0; i < order->t->count; i++) {
        const slice *s = &order->t->slices[order->slices[i]];
        if (s->track != number) last_ns = begin_of(order->t, number = s->track);
        packed_number(&p, (uint64_t)(s->start_ns - last_ns));
        last_ns = s->start_ns;
    }
    packed_end(&p);
    output_text(out, ",\n\"durations\":");
    packed_begin(&p, out);
    for (size_t i = 0; i < order->t->count; i++)
        packed_number(&p, (uint64_t)order->t->slices[order->slices[i]].dur_ns);
    packed_end(&p);
}

/* Names are told apart by what they name, too: [text, class], numbered as they are first used. */
static void write_names(const page_order *order, output *out) {
    map numbers = {0};
    output first;
    packed p;
    bool is_new;
    output_open_memory(&first);
    first.in_html = true;
    output_text(out, ",\n\"slice_names\":");
    packed_begin(&p, out);
    for (size_t i = 0; i < order->t->count; i++) {
        const slice *s = &order->t->slices[order->slices[i]];
        uint64_t *number = map_put(&numbers, (uint64_t)s->name << 8 | s->class_of, &is_new);
        if (is_new) {
            const struct interned *text = &order->t->names.entries[s->name];
            *number = numbers.count - 1;
            output_text(&first, *number ? ",[" : "[");
            write_cut(order->t, &first, text->text, text->size);
            output_format(&first, ",%d]", s->class_of);
        }
        packed_number(&p, *number);
    }
    packed_end(&p);
    size_t size;
    const char *text = output_memory(&first, &size);
    output_text(out, ",\n\"names\":[");
    output_write(out, text, size);
    output_text(out, "]");
    output_discard(&first);
    map_free(&numbers);
}

/* ---- Arrows ---- */

/* The calls of a file that may launch something, by their places in the page. */
static map join_calls(const page_order *order, uint32_t number) {
    const timeline *t = order->t;
    map join = {0};
    for (size_t i = 0; i < t->count; i++) {
        const slice *s = &t->slices[i];
        const track *k = &t->tracks[s->track];
        bool is_work = s->class_of >= CLASS_COMPUTE;
        if (is_work || t->processes[k->process].file != number) continue;
        join_call(&join, (call_id){s->join, s->id}, order->places[i]);
    }
    return join;
}

/* Of each work that one has: how far behind the last such work it stands, its launch, and the op
   that it counts for, both as distances from those of that work. */
static void write_arrows(const page_order *order, output *out) {
    const timeline *t = order->t;
    packed p;
    int64_t last = 0, last_launch = 0, last_owner = 0;
    uint32_t number = UINT32_MAX;
    map join = {0};
    output_text(out, ",\n\"arrows\":");
    packed_begin(&p, out);
    for (size_t i = 0; i < t->count; i++) {
        const slice *s = &t->slices[order->slices[i]];
        uint32_t of_file = t->processes[t->tracks[s->track].process].file;
        if (s->class_of < CLASS_COMPUTE || s->class_of > CLASS_COPY) continue;
        if (of_file != number) {
            map_free(&join);
            join = join_calls(order, number = of_file);
        }
        uint32_t owner = join_owner(&join, s->external, s->id);
        uint32_t launch = join_owner(&join, NO_ID, s->id);
        if (owner == NO_CALL) continue;
        if (launch == NO_CALL) launch = owner;
        packed_number(&p, (uint64_t)((int64_t)i - last));
        packed_signed(&p, (int64_t)launch - last_launch);
        packed_signed(&p, (int64_t)owner - last_owner);
        last = (int64_t)i;
        last_launch = launch;
        last_owner = owner;
    }
    packed_end(&p);
    map_free(&join);
}

/* Of each slice that has arguments: how far behind the last such slice it stands, their bytes. */
static void write_args(const page_order *order, output *out) {
    const timeline *t = order->t;
    packed p;
    size_t last = 0;
    output_text(out, ",\n\"args_of\":");
    packed_begin(&p, out);
    for (size_t i = 0; i < t->count; i++) {
        const slice *s = &t->slices[order->slices[i]];
        if (!s->args) continue;
        packed_number(&p, i - last);
        packed_number(&p, args_size(t, s));
        last = i;
    }
    packed_end(&p);
    output_text(out, ",\n\"args\":");
    packed_begin(&p, out);
    for (size_t i = 0; i < t->count; i++) {
        const slice *s = &t->slices[order->slices[i]];
        if (s->args) packed_bytes(&p, t->args + s->args + 3, args_size(t, s));
    }
    packed_end(&p);
}

/* ---- Instants and counters ---- */

static void write_instants(const page_order *order, output *out) {
    timeline *t = order->t;
    output_text(out, ",\n\"instants\":[");
    for (size_t i = 0; i < t->instant_count; i++) {
        const instant *a = &t->instants[i];
        output_format(out, "%s[%u,%lld,", i ? "," : "", order->ranks[a->track],
                      (long long)(a->ts_ns - begin_of(t, a->track)));
        write_number_text(t, out, a->name + 1);
        output_text(out, "]");
    }
    output_text(out, "]");
}

/* Each as its track + 1 (0: nothing else is there), ns since the change before, bytes. */
static void write_changes(const page_order *order, output *out) {
    const timeline *t = order->t;
    packed p;
    int64_t last_ns = 0;
    output_format(out, ",\n\"changes_left\":%llu,\"changes\":",
                  (unsigned long long)t->changes_left);
    packed_begin(&p, out);
    for (size_t i = 0; i < t->change_count; i++) {
        const change *c = &t->changes[i];
        uint32_t place = order->ranks[c->track];
        bool is_there = place < order->track_count && order->tracks[place] == c->track;
        int64_t at_ns = c->ts_ns - begin_of(t, c->track);
        packed_number(&p, is_there ? place + 1 : 0);
        packed_signed(&p, at_ns - last_ns);
        packed_signed(&p, c->bytes[0]);
        packed_signed(&p, c->bytes[1]);
        last_ns = at_ns;
    }
    packed_end(&p);
}

static void write_counters(timeline *t, output *out) {
    output_text(out, ",\n\"counters\":[");
    for (size_t i = 0; i < t->counter_count; i++) {
        const counter *c = &t->counters[i];
        int64_t begin_ns = timeline_begin(t, t->processes[c->process].file);
        output_format(out, "%s\n[%u,", i ? "," : "", c->process);
        write_number_text(t, out, c->name + 1);
        output_format(out, ",%u,[", c->every);
        for (size_t k = 0; k < c->count; k++) {
            output_format(out, "%s%lld,", k ? "," : "", (long long)(c->points[k].ts_ns - begin_ns));
            output_double(out, c->points[k].value);
        }
        output_text(out, "]]");
    }
    output_text(out, "]");
}

void timeline_write(timeline *t, output *out) {
    drop_shortest(t);
    page_order order = put_in_order(t);
    output_format(out, "\"timeline\":{\"packed\":\"%s\",\"count\":%zu,", PACKED_AS, t->count);
    output_format(out, "\"summed\":[%llu,%lld,%lld],", (unsigned long long)t->summed,
                  (long long)t->summed_ns, (long long)t->least_ns);
    output_format(out, "\"args_count\":%llu,\"args_left\":%llu,\"untimed\":%llu,",
                  (unsigned long long)t->args_count, (unsigned long long)t->args_left,
                  (unsigned long long)t->untimed);
    output_format(out, "\"instants_left\":%llu,\"counters_left\":%llu,\"no_numbers\":%llu,\n",
                  (unsigned long long)t->instants_left, (unsigned long long)t->counters_left,
                  (unsigned long long)t->no_numbers);
    write_files(t, out);
    write_tracks(t, &order, out);
    write_starts(&order, out);
    write_names(&order, out);
    write_arrows(&order, out);
    write_args(&order, out);
    write_instants(&order, out);
    write_changes(&order, out);
    write_counters(t, out);
    output_format(out, ",\n\"names_cut\":%llu}", (unsigned long long)t->names_cut);
    free(order.tracks);
    free(order.ranks);
    free(order.slices);
    free(order.places);
}

void timeline_free(timeline *t) {
    for (size_t i = 0; i < t->track_count; i++) free(t->tracks[i].bins);
    for (size_t i = 0; i < t->counter_count; i++) free(t->counters[i].points);
    free(t->files);
    free(t->processes);
    free(t->tracks);
    free(t->slices);
    free(t->args);
    free(t->instants);
    free(t->changes);
    free(t->counters);
    map_free(&t->process_numbers);
    map_free(&t->track_numbers);
    map_free(&t->counter_numbers);
    map_free(&t->work_names);
    intern_free(&t->names);
    intern_free(&t->texts);
    free(t);
}
