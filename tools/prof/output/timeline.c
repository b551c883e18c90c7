/* The timeline of a page: see timeline.h. */
#include "output/timeline.h"
#include "analysis/gaps.h"
#include "output/packed.h"
#include "trace/beside.h"

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
    NAME_BYTES = 2000,           /* of a name, in the page */
    DEEPEST = 5000,              /* row of a track; what is deeper stands in that */
    SHORT_NS = 10000             /* the longest turnaround: as prof gaps has it */
};

/* Times within these and their sums fit 64 bits, also those of the calendar. */
#define MOST_NS ((int64_t)3 << 60)
#define MOST_DUR BESIDE_MOST_NS

/* What a slice is: its colour. The script of the page has the same list. */
typedef enum slice_class {
    CLASS_ZONE, CLASS_OP, CLASS_ANNOTATION, CLASS_PYTHON, CLASS_RUNTIME, CLASS_OVERHEAD,
    CLASS_COMPUTE, CLASS_COMMUNICATION, CLASS_COPY,          /* work of a device */
    CLASS_WAITING, CLASS_DEVICE_ANNOTATION
} slice_class;

typedef struct slice {
    int64_t start_ns, end_ns, self_ns;
    uint32_t name, track;        /* name: in those of the model */
    uint32_t args;               /* its offset in the arguments' text + 1; 0: none */
    uint32_t number;             /* of a call or work of its file's model; then of a call in its
                                    order. NO_CALL: of neither */
    uint32_t parent, launch, owner;      /* slices, when all are there; or NO_CALL */
    uint8_t class_of;
} slice;

typedef struct track {
    uint32_t process, thread;    /* thread: in the model */
    int64_t sort;
    bool is_async, on_device;
    uint64_t count;
    uint64_t *bins;              /* ns of slices that are not in the page, by time; NULL: none */
    int64_t bins_ns, bin_ns;     /* when they begin, how long each is */
    uint64_t summed;             /* how many slices those are */
} track;

typedef struct process {         /* as in the model of its file, behind those of files before it */
    int64_t sort;
    uint32_t file;
    bool has_slices;
    int64_t device;              /* that its first work ran on */
} process;

typedef struct instant { int64_t ts_ns; uint32_t name, track; } instant;
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
    struct trace model;          /* names: in the last file's */
    uint32_t first_process;
    gap_list found;
    uint32_t *calls, *works;     /* the slice of each, when all are there; NO_CALL: only summed */
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
    uint64_t changes_left;
    counter *counters;
    size_t counter_count, counter_capacity;
    map track_numbers, counter_numbers;
    map work_names;              /* kinds of work */
    interner texts;              /* of files, instants and counters */
    const row_table *table;      /* of the file being read */
};

static file *last_file(const timeline *t) { return &t->files[t->file_count - 1]; }

static int64_t slice_ns(const slice *s) { return s->end_ns - s->start_ns; }
static bool is_work(const slice *s) {
    return s->class_of >= CLASS_COMPUTE && s->class_of <= CLASS_COPY;
}

timeline *timeline_new(void) {
    timeline *t = allocate(sizeof *t);
    t->args = allocate(ARGS_BYTES + ARGS_OF_ONE + 8);
    return t;
}

void timeline_begin_file(timeline *t, const char *label, const row_table *table) {
    interner names = {0};
    if (t->file_count) names = last_file(t)->model.names;
    if (t->file_count) last_file(t)->model.names = (interner){0};
    GROW(t->files, t->file_count, t->file_capacity);
    t->files[t->file_count++] = (file){
        .label = intern(&t->texts, label, strlen(label)), .rank = -1,
        .first_process = (uint32_t)t->process_count,
        .first_ns = INT64_MAX, .last_ns = INT64_MIN,
        .other_first_ns = INT64_MAX, .other_last_ns = INT64_MIN,
        .model = {.with_works = true, .with_python = true, .python_around = true,
                  .steps_apart = true, .with_memory = table->trace.with_memory,
                  .with_site = table->trace.with_site,
                  .by_arg = table->trace.by_arg, .names = names}
    };
    t->table = table;
}

void timeline_set_rank(timeline *t, int64_t rank) { last_file(t)->rank = rank; }

/* ---- Processes and tracks ---- */

static uint32_t process_of(timeline *t, const trace_event *event) {
    file *f = last_file(t);
    uint32_t number = f->first_process + trace_process(&f->model, event);
    while (t->process_count <= number) {
        GROW(t->processes, t->process_count, t->process_capacity);
        t->processes[t->process_count++] = (process){.file = (uint32_t)t->file_count - 1};
    }
    return number;
}

static uint32_t track_of(timeline *t, const trace_event *event) {
    uint32_t thread = trace_thread(&last_file(t)->model, event);
    uint64_t key = ((uint64_t)t->file_count << 32 | thread) * 2 + event->is_async;
    bool is_new;
    uint64_t *number = map_put(&t->track_numbers, hash_mix(key), &is_new);
    if (!is_new) return (uint32_t)*number;
    GROW(t->tracks, t->track_count, t->track_capacity);
    t->tracks[t->track_count] = (track){
        .process = process_of(t, event), .thread = thread, .is_async = event->is_async
    };
    return (uint32_t)(*number = t->track_count++);
}

/* The names and order that a trace gives its processes and threads. */
static void add_metadata(timeline *t, const trace_event *event) {
    uint32_t number = process_of(t, event);
    trace_take_name(&last_file(t)->model, event);
    if (text_is(event->name, "process_sort_index"))
        trace_arg_int(event, "sort_index", &t->processes[number].sort);
    bool sorts = text_is(event->name, "thread_sort_index");
    if (!sorts && !text_is(event->name, "thread_name")) return;
    number = track_of(t, event);                 /* it may move the tracks */
    if (sorts) trace_arg_int(event, "sort_index", &t->tracks[number].sort);
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
    int64_t ns = slice_ns(s);
    track *k = &t->tracks[s->track];
    if (!k->bins) {
        k->bins = allocate(BINS * sizeof *k->bins);
        k->bins_ns = s->start_ns;
        k->bin_ns = 1000;
    }
    if (s->start_ns < k->bins_ns || s->start_ns >= k->bins_ns + k->bin_ns * BINS)
        widen(k, s->start_ns, s->start_ns);
    k->bins[(s->start_ns - k->bins_ns) / k->bin_ns] += (uint64_t)ns;
    k->summed++;
    k->count--;
    t->summed++;
    t->summed_ns += ns;
}

static bool longer_before(uint32_t a, uint32_t b, const void *context) {
    const slice *slices = context;
    return slice_ns(&slices[a]) > slice_ns(&slices[b]);
}

/* Keeps the longest ones, in the order of the files. A slice that holds others is not shorter
   than they are: nothing that is kept loses what is around it. */
static void drop_shortest(timeline *t) {
    if (t->count <= MOST_SLICES) return;
    uint32_t *order = sorted_numbers(t->count, longer_before, t->slices);
    t->least_ns = slice_ns(&t->slices[order[MOST_SLICES - 1]]);
    for (size_t i = MOST_SLICES; i < t->count; i++) {
        slice *s = &t->slices[order[i]];
        t->args_left += s->args != 0;
        t->args_count -= s->args != 0;
        sum_slice(t, s);
        s->end_ns = s->start_ns - 1;
    }
    size_t kept = 0;
    for (size_t i = 0; i < t->count; i++)
        if (slice_ns(&t->slices[i]) >= 0) t->slices[kept++] = t->slices[i];
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
        else if (slice_ns(s) > t->args_least_ns) t->args_least_ns = slice_ns(s);
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
    if (args.size > ARGS_OF_ONE || slice_ns(s) < t->args_least_ns) {
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

static uint8_t class_of(const trace_event *event, work_kind kind) {
    static const uint8_t classes[TRACE_KINDS] = {
        [TRACE_OTHER] = CLASS_ZONE, [TRACE_CPU_OP] = CLASS_OP,
        [TRACE_ANNOTATION] = CLASS_ANNOTATION, [TRACE_PYTHON] = CLASS_PYTHON,
        [TRACE_RUNTIME] = CLASS_RUNTIME,
        [TRACE_GPU_ANNOTATION] = CLASS_DEVICE_ANNOTATION, [TRACE_SYNC] = CLASS_WAITING,
        [TRACE_OVERHEAD] = CLASS_OVERHEAD, [TRACE_SPAN] = CLASS_WAITING,
        [TRACE_TASK] = CLASS_WAITING, [TRACE_COUNTED] = CLASS_DEVICE_ANNOTATION
    };
    static const uint8_t works[WORK_KINDS] = {
        [WORK_COMPUTE] = CLASS_COMPUTE, [WORK_COMMUNICATION] = CLASS_COMMUNICATION,
        [WORK_MEMORY] = CLASS_COPY
    };
    return kind_is_device(event->kind) ? works[kind] : classes[event->kind];
}

static int64_t within(int64_t ns, int64_t least, int64_t most) {
    return ns < least ? least : ns > most ? most : ns;
}

/* Its index in the model. Of raw streams calls come as pairs do, each behind those in it. */
static uint32_t add_to_model(timeline *t, const trace_event *event, work_kind kind) {
    struct trace *m = &last_file(t)->model;
    trace_kept kept = trace_add(m, event);
    if (kept == KEPT_WORK) {
        m->works[m->work_count - 1].key = kind;
        return (uint32_t)m->work_count - 1;
    }
    if (kept != KEPT_CALL) return NO_CALL;
    call *made = &m->calls[m->call_count - 1];
    made->is_pair |= event->depth != TRACE_NO_DEPTH;
    made->apart = made->kind == TRACE_PYTHON;
    return (uint32_t)m->call_count - 1;
}

static slice new_slice(timeline *t, const trace_event *event) {
    bool on_device = kind_is_device(event->kind);
    work_kind kind = on_device ? work_kind_of(&t->work_names, event) : WORK_COMPUTE;
    slice s = {
        .start_ns = within(event->ts_ns, -MOST_NS, MOST_NS),
        .self_ns = within(event->dur_ns, 0, MOST_DUR),
        .name = trace_name(&last_file(t)->model, event), .track = track_of(t, event),
        .class_of = class_of(event, kind), .number = NO_CALL,
        .parent = NO_CALL, .launch = NO_CALL, .owner = NO_CALL
    };
    s.end_ns = s.start_ns + s.self_ns;
    if (on_device || slice_ns(&s) >= t->least_ns) s.number = add_to_model(t, event, kind);
    if (on_device && !t->tracks[s.track].on_device) {
        t->tracks[s.track].on_device = true;
        t->processes[t->tracks[s.track].process].device = trace_device(event);
    }
    return s;
}

static void widen_to(int64_t *first_ns, int64_t *last_ns, int64_t from_ns, int64_t to_ns) {
    if (from_ns < *first_ns) *first_ns = from_ns;
    if (to_ns > *last_ns) *last_ns = to_ns;
}

static void add_slice(timeline *t, const trace_event *event) {
    file *f = last_file(t);
    if (!(event->has & TRACE_HAS_TS)) {
        t->untimed++;
        return;
    }
    slice s = new_slice(t, event);
    if (event->kind == TRACE_SPAN)           /* around all: --from counts from no such one */
        widen_to(&f->other_first_ns, &f->other_last_ns, s.start_ns, s.end_ns);
    else
        widen_to(&f->first_ns, &f->last_ns, s.start_ns, s.end_ns);
    t->tracks[s.track].count++;
    t->processes[t->tracks[s.track].process].has_slices = true;
    if (slice_ns(&s) < t->least_ns) {
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

/* Memory is drawn over time: it is in the model alone. */
static void add_change(timeline *t, const trace_event *event) {
    struct trace *m = &last_file(t)->model;
    if (m->change_count >= MOST_CHANGES || !(event->has & TRACE_HAS_TS)) {
        memory_change made;
        t->changes_left += trace_is_change(m, event, &made) && !made.is_legacy;
        return;
    }
    if (trace_add(m, event) != KEPT_CHANGE) return;
    process_of(t, event);
    m->changes[m->change_count - 1].key =
        (uint8_t)(rows_memory_side(t->table, m->changes[m->change_count - 1].device_type) + 1);
}

static void add_instant(timeline *t, const trace_event *event) {
    trace_text name = event->name;
    if (text_is(name, "[memory]")) {
        add_change(t, event);
        return;
    }
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
    uint32_t number_of_process = process_of(t, event);
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

void timeline_add(timeline *t, const trace_event *event) {
    file *f = last_file(t);
    int64_t ns = within(event->ts_ns, -MOST_NS, MOST_NS);
    if (strchr("iIRnC", event->phase) && event->has & TRACE_HAS_TS)
        widen_to(&f->other_first_ns, &f->other_last_ns, ns, ns);
    switch (event->phase) {
    case 'X': add_slice(t, event); break;
    case 'M': add_metadata(t, event); break;
    case 'C': add_counter(t, event); break;
    case 'i': case 'I': case 'R': case 'n': add_instant(t, event); break;
    case 's': case 't': case 'f': trace_add(&last_file(t)->model, event); break;
    default: break;
    }
}

/* ---- What the models tell: parents, owners ---- */

static uint32_t *no_slices(size_t count) {
    uint32_t *of = allocate((count + 1) * sizeof *of);
    for (size_t i = 0; i < count; i++) of[i] = NO_CALL;
    return of;
}

static file *file_of(const timeline *t, const track *k) {
    return &t->files[t->processes[k->process].file];
}

/* The slice of the call, or of the innermost one around it that is drawn. */
static uint32_t drawn(const file *f, uint32_t number) {
    while (number != NO_CALL && f->calls[number] == NO_CALL) number = f->model.calls[number].parent;
    return number == NO_CALL ? NO_CALL : f->calls[number];
}

static void link_calls(timeline *t, const file *f) {
    const struct trace *m = &f->model;
    for (size_t i = 0; i < m->call_count; i++) {
        uint32_t number = m->order[i], parent = drawn(f, m->calls[number].parent);
        const call *c = &m->calls[number];
        slice *s = f->calls[number] == NO_CALL ? NULL : &t->slices[f->calls[number]];
        if (s) s->parent = parent;
        if (s) s->number = (uint32_t)i;
        if (s && !c->is_async && !c->apart) s->self_ns = m->times[number].self_ns;
        if (parent != NO_CALL && t->slices[parent].class_of == CLASS_PYTHON)
            t->slices[parent].self_ns -= call_ns(c);
    }
}

static void link_works(timeline *t, const file *f) {
    for (size_t i = 0; i < f->model.work_count; i++) {
        const device_work *w = &f->model.works[i];
        if (f->works[i] == NO_CALL) continue;
        slice *s = &t->slices[f->works[i]];
        s->launch = w->launch == NO_CALL ? NO_CALL : f->calls[w->launch];
        s->owner = drawn(f, w->owner);
        if (s->launch == NO_CALL) s->launch = s->owner;
    }
}

static void link_slices(timeline *t) {
    for (size_t i = 0; i < t->file_count; i++) {
        t->files[i].calls = no_slices(t->files[i].model.call_count);
        t->files[i].works = no_slices(t->files[i].model.work_count);
    }
    for (size_t i = 0; i < t->count; i++) {
        const slice *s = &t->slices[i];
        file *f = file_of(t, &t->tracks[s->track]);
        if (s->number != NO_CALL) (is_work(s) ? f->works : f->calls)[s->number] = (uint32_t)i;
    }
    for (size_t i = 0; i < t->file_count; i++) {
        link_calls(t, &t->files[i]);
        link_works(t, &t->files[i]);
    }
}

/* ---- Several files ---- */

void timeline_end_file(timeline *t, int64_t base_ns) {
    file *f = last_file(t);
    f->model.own = t->table->trace.own;
    trace_nest(&f->model);
    trace_own(&f->model);
    trace_times(&f->model);
    gaps_find(&f->found, &f->model, false, SHORT_NS);
    f->base_ns = base_ns;
    if (f->first_ns > f->last_ns) f->first_ns = f->other_first_ns, f->last_ns = f->other_last_ns;
    if (f->first_ns > f->last_ns) f->first_ns = f->last_ns = 0;
}

void timeline_align(timeline *t) {
    file_time *times = allocate(t->file_count * sizeof *times);
    for (size_t i = 0; i < t->file_count; i++) {
        const file *f = &t->files[i];
        times[i] = (file_time){NULL, f->base_ns, f->first_ns, f->last_ns, f->begin_ns, false};
    }
    file_times_align(times, t->file_count);
    for (size_t i = 0; i < t->file_count; i++) {
        t->files[i].begin_ns = times[i].begin_ns;
        t->files[i].aside = times[i].aside;
    }
    free(times);
}

int64_t timeline_begin(const timeline *t, uint32_t number) { return t->files[number].begin_ns; }

int64_t timeline_longest(const timeline *t) {
    int64_t most = 0;
    for (size_t i = 0; i < t->file_count; i++) {
        int64_t ns = t->files[i].last_ns - t->files[i].first_ns;
        if (ns > most) most = ns;
    }
    return most;
}

const busy_time *timeline_device(const timeline *t, uint32_t number, int64_t *device) {
    const process *p = &t->processes[number];
    const file *f = &t->files[p->file];
    *device = p->device;
    for (size_t i = 0; i < f->model.thread_count; i++)
        if (f->found.rows[i].any && f->model.threads[i].process + f->first_process == number)
            return &f->found.rows[i].busy;
    return NULL;
}

uint32_t timeline_processes(const timeline *t) { return (uint32_t)t->process_count; }

/* ---- Writing ---- */

/* The slices in the order of the page: by track, by row, by start. */
typedef struct page_order {
    timeline *t;
    uint32_t *tracks;            /* the page's tracks, by number here */
    uint32_t *ranks;             /* of each track here, its index there */
    size_t track_count;
    uint32_t *rows;              /* of each slice, on its track */
    uint32_t *slices;            /* by index */
    uint32_t *indexes;           /* of each slice */
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

/* On a track by start, the outer one first. */
static bool slice_before(uint32_t a, uint32_t b, const void *context) {
    const page_order *order = context;
    const slice *x = &order->t->slices[a], *y = &order->t->slices[b];
    if (x->track != y->track) return order->ranks[x->track] < order->ranks[y->track];
    if (x->start_ns != y->start_ns) return x->start_ns < y->start_ns;
    if (x->end_ns != y->end_ns) return x->end_ns > y->end_ns;
    return x->number + 1 < y->number + 1;        /* what is beside calls and works first */
}

/* indexes are by slice_before yet. */
static bool row_before(uint32_t a, uint32_t b, const void *context) {
    const page_order *order = context;
    uint32_t x = order->ranks[order->t->slices[a].track];
    uint32_t y = order->ranks[order->t->slices[b].track];
    if (x != y) return x < y;
    if (order->rows[a] != order->rows[b]) return order->rows[a] < order->rows[b];
    return order->indexes[a] < order->indexes[b];
}

/* Each slice stands in the first row below its parent's that is free. What is no call lies in what
   is around it on its track. */
static void find_rows(page_order *order) {
    timeline *t = order->t;
    span_nest nest = {t->slices, sizeof *t->slices, offsetof(slice, end_ns),
                      offsetof(slice, parent), 0};
    int64_t *ends = NULL;        /* of each row, when it is free */
    size_t count = 0, capacity = 0;
    uint32_t top = NO_CALL, last = NO_CALL;
    for (size_t i = 0; i < t->count; i++) {
        uint32_t number = order->slices[i], row = 0;
        slice *s = &t->slices[number];
        if (s->track != last) count = 0, top = NO_CALL;
        last = s->track;
        if (s->class_of >= CLASS_COMPUTE && !t->tracks[s->track].is_async)
            s->parent = span_nest_around(&nest, top, s->start_ns, s->end_ns);
        top = number;
        if (s->parent != NO_CALL && t->slices[s->parent].track == s->track)
            row = order->rows[s->parent] + 1;
        while (row < count && row < DEEPEST && ends[row] > s->start_ns) row++;
        if (row > DEEPEST) row = DEEPEST;
        while (count <= row) {
            GROW(ends, count, capacity);
            ends[count++] = INT64_MIN;
        }
        ends[row] = s->end_ns;
        order->rows[number] = row;
    }
    free(ends);
}

static void put_in_places(page_order *order) {
    for (size_t i = 0; i < order->t->count; i++) order->indexes[order->slices[i]] = (uint32_t)i;
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
    order.indexes = allocate((t->count + 1) * sizeof *order.indexes);
    order.rows = allocate((t->count + 1) * sizeof *order.rows);
    put_in_places(&order);
    find_rows(&order);
    for (size_t i = 0; i < t->count; i++)
        if (t->slices[i].parent != NO_CALL)
            t->slices[t->slices[i].parent].self_ns += slice_ns(&t->slices[i]);
    sort_numbers(order.slices, t->count, row_before, &order);
    put_in_places(&order);
    return order;
}

static int64_t begin_of(const timeline *t, uint32_t number) {
    return file_of(t, &t->tracks[number])->begin_ns;
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

/* A text of the models, or a number for it. */
static void write_word(timeline *t, output *out, uint32_t word, int64_t number) {
    const interner *names = &last_file(t)->model.names;
    if (word == NO_CALL) output_format(out, "\"%lld\"", (long long)number);
    else write_cut(t, out, names->entries[word].text, names->entries[word].size);
}

static void write_name(timeline *t, output *out, uint32_t word) {
    output_text(out, ",");
    if (word == NO_CALL) output_text(out, "\"\"");
    else write_word(t, out, word, 0);
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
        uint32_t in_file = t->processes[i].file;
        const file *f = &t->files[in_file];
        const call_process *p = &f->model.processes[i - f->first_process];
        output_format(out, "%s\n[%u,", i ? "," : "", in_file);
        write_word(t, out, p->text, p->pid);
        write_name(t, out, p->name);
        write_name(t, out, p->labels);
        output_text(out, "]");
    }
}

/* How many slices stand in each row; *at: the first of the track in the page. */
static void write_rows(const page_order *order, size_t *at, output *out) {
    const timeline *t = order->t;
    uint32_t number = *at < t->count ? t->slices[order->slices[*at]].track : 0;
    output_text(out, ",[");
    for (bool first = true; ; first = false) {
        size_t begin = *at;
        uint32_t row = begin < t->count ? order->rows[order->slices[begin]] : 0;
        while (*at < t->count && t->slices[order->slices[*at]].track == number &&
               order->rows[order->slices[*at]] == row) ++*at;
        if (*at == begin) break;
        output_format(out, "%s%zu", first ? "" : ",", *at - begin);
    }
    output_text(out, "]");
}

/* [process, thread, name, slices of each row, on a device, asynchronous, slices that are summed,
   begin and length of a bin, bins] */
static void write_tracks(timeline *t, const page_order *order, output *out) {
    size_t at = 0;
    output_text(out, "],\n\"tracks\":[");
    for (size_t i = 0; i < order->track_count; i++) {
        const track *k = &t->tracks[order->tracks[i]];
        output_format(out, "%s\n[%u,", i ? "," : "", k->process);
        const call_thread *thread = &file_of(t, k)->model.threads[k->thread];
        write_word(t, out, thread->tid_text, thread->tid);
        write_name(t, out, thread->name);
        if (k->count) write_rows(order, &at, out);
        else output_text(out, ",[]");
        output_format(out, ",%d,%d,%llu", k->on_device, k->is_async,
                      (unsigned long long)k->summed);
        if (k->bins) output_format(out, ",%lld,%lld,[",
                                   (long long)(k->bins_ns - begin_of(t, order->tracks[i])),
                                   (long long)k->bin_ns);
        for (int b = 0; k->bins && b < BINS; b++)
            output_format(out, "%s%llu", b ? "," : "", (unsigned long long)k->bins[b]);
        output_text(out, k->bins ? "]]" : "]");
    }
    output_text(out, "]");
}

/* A column: of each slice its number. */
typedef int64_t slice_column(const page_order *order, size_t index, int64_t *last);

static void write_column(const page_order *order, const char *name, slice_column *of, output *out) {
    packed p;
    int64_t last = 0;
    output_format(out, ",\n\"%s\":", name);
    packed_begin(&p, out);
    for (size_t i = 0; i < order->t->count; i++) packed_signed(&p, of(order, i, &last));
    packed_end(&p);
}

static const slice *slice_at(const page_order *order, size_t index) {
    return &order->t->slices[order->slices[index]];
}

/* Since the end of the one before in its row, or the parent's begin; of a row's first one since the
   file's 0. */
static int64_t start_of(const page_order *order, size_t i, int64_t *last) {
    const slice *s = slice_at(order, i), *before = i ? slice_at(order, i - 1) : NULL;
    if (!before || before->track != s->track ||
        order->rows[order->slices[i]] != order->rows[order->slices[i - 1]])
        *last = begin_of(order->t, s->track);
    bool known = s->parent != NO_CALL && order->indexes[s->parent] < i;
    int64_t from_ns = known ? order->t->slices[s->parent].start_ns : *last;
    if (from_ns < *last) from_ns = *last;
    *last = s->end_ns;
    return s->start_ns - from_ns;
}

static int64_t dur_of(const page_order *order, size_t i, int64_t *last) {
    (void)last;
    return slice_ns(slice_at(order, i));
}

/* What is not its own, and not of the slices in it either: mostly nothing. */
static int64_t inner_of(const page_order *order, size_t i, int64_t *last) {
    const slice *s = slice_at(order, i);
    (void)last;
    return slice_ns(s) - s->self_ns;
}

/* 1 + the parent's index, 0: none; as what is more than of the slice before. */
static int64_t parent_of(const page_order *order, size_t i, int64_t *last) {
    uint32_t parent = slice_at(order, i)->parent;
    int64_t index = parent == NO_CALL ? 0 : (int64_t)order->indexes[parent] + 1;
    int64_t more = index - *last;
    *last = index;
    return more;
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
        const slice *s = slice_at(order, i);
        uint64_t *number = map_put(&numbers, (uint64_t)s->name << 8 | s->class_of, &is_new);
        if (is_new) {
            const struct interned *text = &last_file(order->t)->model.names.entries[s->name];
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

/* Of each work that one has: how far behind the last such work it stands, its launch, and the op
   that it counts for, both as distances from those of that work. */
static void write_arrows(const page_order *order, output *out) {
    packed p;
    int64_t last = 0, last_launch = 0, last_owner = 0;
    output_text(out, ",\n\"arrows\":");
    packed_begin(&p, out);
    for (size_t i = 0; i < order->t->count; i++) {
        const slice *s = slice_at(order, i);
        if (s->owner == NO_CALL) continue;
        int64_t launch = order->indexes[s->launch], owner = order->indexes[s->owner];
        packed_number(&p, (uint64_t)((int64_t)i - last));
        packed_signed(&p, launch - last_launch);
        packed_signed(&p, owner - last_owner);
        last = (int64_t)i;
        last_launch = launch;
        last_owner = owner;
    }
    packed_end(&p);
}

/* Of each gap how far the work that it ends with stands behind that of the last one; ns by cause.
   None where works are only summed. */
static void write_gaps(const page_order *order, output *out) {
    const timeline *t = order->t;
    packed p;
    int64_t last = 0;
    output_text(out, ",\n\"gaps\":");
    packed_begin(&p, out);
    for (size_t k = 0; k < t->file_count && !t->summed; k++) {
        const file *f = &t->files[k];
        for (size_t i = 0; i < f->found.gap_count; i++) {
            const idle_gap *gap = &f->found.gaps[i];
            int64_t index = order->indexes[f->works[gap->before]];
            packed_signed(&p, index - last);
            for (int cause = HOST; cause < CAUSES; cause++)
                packed_number(&p, (uint64_t)gap->ns[cause]);
            last = index;
        }
    }
    packed_end(&p);
}

/* Of each slice that has arguments: how far behind the last such slice it stands, their bytes. */
static void write_args(const page_order *order, output *out) {
    const timeline *t = order->t;
    packed p;
    size_t last = 0;
    output_text(out, ",\n\"args_of\":");
    packed_begin(&p, out);
    for (size_t i = 0; i < t->count; i++) {
        const slice *s = slice_at(order, i);
        if (!s->args) continue;
        packed_number(&p, i - last);
        packed_number(&p, args_size(t, s));
        last = i;
    }
    packed_end(&p);
    output_text(out, ",\n\"args\":");
    packed_begin(&p, out);
    for (size_t i = 0; i < t->count; i++) {
        const slice *s = slice_at(order, i);
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

/* As its process, ns since the change before, bytes, the index of the call that it happened in + 1,
   0: none. Python functions are no such calls. */
static int64_t write_change(const page_order *order, size_t in_file, const memory_change *change,
                            int64_t last_ns, packed *p) {
    const timeline *t = order->t;
    const file *f = &t->files[in_file];
    int64_t at_ns = within(change->ts_ns, -MOST_NS, MOST_NS) - f->begin_ns;
    uint32_t owner = change->owner;
    while (owner != NO_CALL && f->model.calls[owner].apart) owner = f->model.calls[owner].parent;
    owner = drawn(f, owner);
    packed_number(p, f->first_process + f->model.threads[change->thread].process);
    packed_signed(p, at_ns - last_ns);
    packed_signed(p, change->key == 1 ? change->bytes : 0);
    packed_signed(p, change->key == 2 ? change->bytes : 0);
    packed_number(p, owner == NO_CALL ? 0 : (uint64_t)order->indexes[owner] + 1);
    return at_ns;
}

static void write_changes(const page_order *order, output *out) {
    const timeline *t = order->t;
    packed p;
    int64_t last_ns = 0;
    output_format(out, ",\n\"changes_left\":%llu,\"changes\":",
                  (unsigned long long)t->changes_left);
    packed_begin(&p, out);
    for (size_t k = 0; k < t->file_count; k++) {
        const struct trace *m = &t->files[k].model;
        for (size_t i = 0; i < m->change_count; i++)
            if (!m->changes[i].is_legacy)
                last_ns = write_change(order, k, &m->changes[i], last_ns, &p);
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
    link_slices(t);
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
    write_column(&order, "starts", start_of, out);
    write_column(&order, "durations", dur_of, out);
    write_column(&order, "inner", inner_of, out);
    write_column(&order, "parents", parent_of, out);
    write_names(&order, out);
    write_arrows(&order, out);
    write_gaps(&order, out);
    write_args(&order, out);
    write_instants(&order, out);
    write_changes(&order, out);
    write_counters(t, out);
    output_format(out, ",\n\"names_cut\":%llu}", (unsigned long long)t->names_cut);
    free(order.tracks);
    free(order.ranks);
    free(order.rows);
    free(order.slices);
    free(order.indexes);
}

void timeline_free(timeline *t) {
    for (size_t i = 0; i < t->file_count; i++) {
        trace_free(&t->files[i].model);
        gaps_free(&t->files[i].found);
        free(t->files[i].calls);
        free(t->files[i].works);
    }
    for (size_t i = 0; i < t->track_count; i++) free(t->tracks[i].bins);
    for (size_t i = 0; i < t->counter_count; i++) free(t->counters[i].points);
    free(t->files);
    free(t->processes);
    free(t->tracks);
    free(t->slices);
    free(t->args);
    free(t->instants);
    free(t->counters);
    map_free(&t->track_numbers);
    map_free(&t->counter_numbers);
    map_free(&t->work_names);
    intern_free(&t->texts);
    free(t);
}
