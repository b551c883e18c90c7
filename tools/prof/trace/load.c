/* Loading a trace: see trace.h. */
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "../../../examples/kineto.h"
#include "input/losses.h"

/* ---- Names ---- */

/* Without the overload behind it, where that stands for itself too. */
static trace_text without_overload(const trace_event *event) {
    trace_text name = event->name;
    const trace_member *overload =
        memchr(name.data, '.', name.size) ? trace_overload(event) : NULL;
    char text[8192];
    if (!overload) return name;
    size_t size = json_decode(overload->value, text, sizeof text);
    if (size && size < sizeof text && size < name.size &&
        name.data[name.size - size - 1] == '.' &&
        memcmp(name.data + name.size - size, text, size) == 0) name.size -= size + 1;
    return name;
}

/* The name with the value of the argument that rows are asked for by. */
static uint32_t with_arg(struct trace *t, const trace_event *event, uint32_t name) {
    const trace_member *arg = t->by_arg ? trace_arg(event, t->by_arg) : NULL;
    if (!arg) return name;
    char *text = allocate(3 * arg->value.size + 1);
    size_t size = json_is_text(arg->value) ? json_decode(arg->value, text, 3 * arg->value.size + 1)
                                           : json_compact(arg->value, text);
    name = trace_name_at(t, name, (trace_text){text, size});
    free(text);
    return name;
}

static uint32_t plain_name(struct trace *t, const trace_event *event) {
    if (t->whole_names) return intern(&t->names, event->name.data, event->name.size);
    if (!t->steps_apart && text_begins(event->name, "ProfilerStep#"))
        return intern(&t->names, "ProfilerStep*", 13);
    trace_text name = without_overload(event);
    uint32_t number = intern(&t->names, name.data, name.size);
    char source[4200];
    if (!t->with_site || !trace_arg_text(event, KEY_SOURCE, source, sizeof source))
        return number;
    return trace_name_at(t, number, (trace_text){source, strlen(source)});
}

uint32_t trace_name(struct trace *t, const trace_event *event) {
    return with_arg(t, event, plain_name(t, event));
}

uint32_t trace_name_at(struct trace *t, uint32_t name, trace_text source) {
    const struct interned *plain = &t->names.entries[name];
    size_t size = plain->size + source.size + 4;
    if (!source.size) return name;
    char *text = allocate(size);
    snprintf(text, size, "%s (%.*s)", plain->text, (int)source.size, source.data);
    name = intern(&t->names, text, strlen(text));
    free(text);
    return name;
}

/* ---- Events ---- */

/* The parent that the event names: NO_ZONE_ID, or 0: it has none. */
static int64_t zone_parent_id(const trace_event *event) {
    int64_t id;
    return trace_arg_int(event, KEY_ZONE_PARENT, &id) && id >= 0 ? id : NO_ZONE_ID;
}

int64_t trace_kernels_ns(const trace_event *event) {
    const trace_member *kernels = trace_arg(event, "kernels");
    trace_text rest = kernels ? kernels->value : (trace_text){"", 0}, kernel, key, value;
    int64_t sum = 0, ns;
    while (json_next(&rest, &key, &kernel)) {
        if (*kernel.data != '[') continue;
        for (int i = 0; json_next(&kernel, &key, &value); i++)
            if (i == 2 && json_ns(value, &ns)) sum += ns;
    }
    return sum;
}

/* An op that PyTorch's answers leave out: aten::is_leaf and the like. */
bool trace_is_utility(const struct trace *t, const trace_event *event) {
    char text[64];
    if (t->own || event->kind != TRACE_CPU_OP || event->name.size >= sizeof text)
        return false;
    memcpy(text, event->name.data, event->name.size);
    text[event->name.size] = 0;
    return kineto_is_utility(text);
}

size_t trace_stack(const struct trace *t, char *text, size_t size) {
    const char *at = text, *end = text + size;
    char *to = text, frame[1024];
    if (t->own) return size;
    while (at < end) {
        const char *stop = memchr(at, ';', (size_t)(end - at));
        size_t n = (size_t)((stop ? stop : end) - at);
        snprintf(frame, sizeof frame, "%.*s", (int)(n < sizeof frame ? n : sizeof frame - 1), at);
        if (!kineto_is_own_frame(frame)) {
            if (to > text) *to++ = ';';
            memmove(to, at, n);
            to += n;
        }
        at += n + 1;
    }
    return (size_t)(to - text);
}

bool trace_is_call(const struct trace *t, const trace_event *event) {
    if (event->phase != 'X' || kind_has_device(event->kind)) return false;
    if (trace_is_utility(t, event)) return false;
    if (event->kind == TRACE_PYTHON) return t->with_python;
    return event->kind != TRACE_SYNC && event->kind != TRACE_SPAN && event->kind != TRACE_TASK;
}

bool trace_takes_instant(const struct trace *t, const trace_event *event, memory_change *change) {
    int64_t type = 0, index = -1;
    bool refused = t->with_refused && text_is(event->name, "[OutOfMemory]");
    if (!refused && !text_is(event->name, "[memory]")) return false;
    *change = (memory_change){
        .ts_ns = event->ts_ns, .zone_id = zone_parent_id(event), .owner = NO_CALL,
        .is_legacy = trace_arg(event, "is_legacy") != NULL,
        .kind = refused ? CHANGE_REFUSED
              : trace_arg(event, KEY_MISSED) ? CHANGE_MISSED : CHANGE_EVENT
    };
    if (!refused && !trace_arg_int(event, KEY_BYTES, &change->bytes)) return false;
    trace_arg_int(event, KEY_DEVICE_TYPE, &type);
    trace_arg_int(event, KEY_DEVICE_INDEX, &index);
    change->device_type = (int32_t)type;
    change->device_index = (int32_t)index;
    return true;
}

static trace_kept add_change(struct trace *t, const trace_event *event, memory_change *change) {
    if (!range_holds(&t->range, event->ts_ns)) return KEPT_NOTHING;
    GROW(t->changes, t->change_count, t->change_capacity);
    change->thread = trace_thread(t, event);
    t->changes[t->change_count++] = *change;
    return KEPT_CHANGE;
}

/* May it lie in a call that is inside, or hold one, or be its work? */
static bool may_matter(const struct trace *t, const trace_event *event) {
    const trace_range *r = &t->range;
    if (!r->parts) return true;
    int64_t end_ns = event->ts_ns + event->dur_ns, from_ns = r->count ? r->parts[0].from_ns : 0;
    bool early = end_ns <= from_ns && event->ts_ns < from_ns;
    return r->count && !early && (event->ts_ns < r->last_ns || kind_is_device(event->kind));
}

static trace_kept add_work(struct trace *t, const trace_event *event) {
    device_work made = {
        .start_ns = event->ts_ns, .end_ns = event->ts_ns + event->dur_ns,
        .zone_id = zone_parent_id(event),
        .name = with_arg(t, event, intern(&t->names, event->name.data, event->name.size)),
        .thread = trace_thread(t, event), .owner = NO_CALL, .launch = NO_CALL,
        .launched_ns = NO_ID, .kind = event->kind
    };
    const trace_member *latency = trace_arg(event, KEY_LATENCY);
    int64_t ns;
    if (latency && json_ns(latency->value, &ns)) made.launched_ns = event->ts_ns - ns;
    made.external = trace_work_ids(event, &made.correlation);
    GROW(t->works, t->work_count, t->work_capacity);
    t->works[t->work_count++] = made;
    return KEPT_WORK;
}

/* No call lies in an asynchronous one, whatever it tells. */
static void note_zone(struct trace *t, const trace_event *event, call *made) {
    int64_t id;
    if (!made->is_async && trace_arg_int(event, KEY_ZONE, &id))
        *map_put(&t->by_zone, (uint64_t)id, NULL) = t->call_count;
    if ((id = zone_parent_id(event)) == NO_ZONE_ID) return;
    made->has_parent_id = true;
    *map_put(&t->parent_ids, t->call_count - 1, NULL) = (uint64_t)id;
}

/* A number of the last call. Most traces have none: then there is no column. */
static void put_number(const struct trace *t, int64_t **column, size_t *capacity, int64_t none,
                       int64_t value) {
    size_t number = t->call_count - 1;
    if (value == none && !*column) return;
    if (number >= *capacity) {
        bool is_new = !*column;
        *capacity = t->call_capacity;
        *column = reallocate(*column, *capacity * sizeof **column);
        for (size_t i = 0; is_new && i < number; i++) (*column)[i] = none;
    }
    (*column)[number] = value;
}

static trace_kept add_call(struct trace *t, const trace_event *event) {
    GROW(t->calls, t->call_count, t->call_capacity);
    call *made = &t->calls[t->call_count];
    *made = (call){
        .start_ns = event->ts_ns, .end_ns = event->ts_ns + event->dur_ns,
        .name = trace_name(t, event), .thread = trace_thread(t, event), .parent = NO_CALL,
        .kind = event->kind, .is_async = event->is_async, .is_pair = event->is_pair,
        .is_outside = !range_holds(&t->range, event->ts_ns)
    };
    t->call_count++;
    note_zone(t, event, made);
    if (!t->with_works) return KEPT_CALL;
    made->is_legacy = trace_arg(event, "is_legacy") != NULL;
    int64_t launched_ns = made->is_legacy ? trace_kernels_ns(event) : 0;
    put_number(t, &t->launched_ns, &t->launched_capacity, 0, launched_ns);
    put_number(t, &t->ids, &t->id_capacity, NO_ID, trace_call_id(event).id);
    return KEPT_CALL;
}

/* Which task runs, and what the threads are called whose tasks these are. */
static void add_task(struct trace *t, const trace_event *event) {
    char name[256];
    if (event->phase == 'X')
        tasks_add(&t->tasks, event->pid, event->name, event->ts_ns, event->ts_ns + event->dur_ns);
    else if (trace_arg_text(event, "name", name, sizeof name))
        tasks_name(&t->tasks, event->pid, event->tid, text_of(name));
}

trace_kept trace_add(struct trace *t, const trace_event *event) {
    memory_change change;
    if (event->kind == TRACE_TASK || (event->phase == 'M' && text_is(event->name, "thread_name")))
        add_task(t, event);
    if (event->phase == 'i')
        tasks_ready(&t->tasks, event->pid, event->tid, event->name, event->ts_ns);
    if (t->as_ended && event->depth != TRACE_NO_DEPTH) return KEPT_NOTHING;
    if (trace_is_change(t, event, &change)) return add_change(t, event, &change);
    bool arrow = event->phase == 's' || event->phase == 't' || event->phase == 'f';
    if (t->with_works && arrow) trace_note_flow(t, event);
    if (event->phase != 'X') return KEPT_NOTHING;
    if (!may_matter(t, event)) {
        if (t->with_works) trace_note_outside(t, event);
        return KEPT_NOTHING;
    }
    if (kind_is_device(event->kind)) return t->with_works ? add_work(t, event) : KEPT_NOTHING;
    return trace_is_call(t, event) ? add_call(t, event) : KEPT_NOTHING;
}

/* ---- The file ---- */

/* Ends the loading before the machine swaps. What is left of the file needs as much memory for each
   byte as what was read since the first look, when what does not grow with the file was there
   already; and then come orders and times, about as much again. */
typedef struct look { int64_t taken; uint64_t bytes; } look;

static bool has_room(const trace_reader *reader, uint64_t size, look *first) {
    const int64_t least = 16 << 20;
    look now = {memory_taken(), reader->bytes};
    if (!first->bytes) *first = now;
    int64_t left = memory_left();
    double taken = (double)(now.taken - first->taken);
    double read = (double)(now.bytes - first->bytes);
    double more = size > now.bytes ? (double)(size - now.bytes) : 0;
    double need = taken > 0 && read > 0 ? taken * more / read + taken : 0;
    return left > least && need < (double)left;
}

enum { EVENTS_A_LOOK = 1 << 16 };        /* between two looks at the memory */

int trace_load(struct trace *t, const char *path, trace_take *take, void *user) {
    t->ended_early = true;
    if (t->window && range_find(t->window, path, &t->range)) return EXIT_BAD;
    trace_reader *reader = trace_open(path);
    if (!reader) return EXIT_BAD;
    look first = {0, 0};
    uint64_t events = 0;
    struct stat status;
    uint64_t size = stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
    reader->as_written = t->as_written;
    reader->quiet = t->quiet;
    reader->takes_rows = t->takes_rows;
    reader->as_ended = t->as_ended;
    while (!reader->failed && trace_next(reader) != TRACE_END) {
        trace_kept kept = KEPT_NOTHING;
        t->as_ended = reader->as_ended;
        t->own = reader->own || reader->as_ended;
        if (reader->item == TRACE_EVENT) kept = trace_add(t, reader->event);
        if (take) take(user, reader, kept);
        if (++events % EVENTS_A_LOOK == 0 && !has_room(reader, size, &first))
            exit(fail(path, "it needs more memory than there is (%lld MB are left): take a part of "
                      "it with --from and --to", (long long)(memory_left() >> 20)));
    }
    t->base_ns = reader->base_time_ns;
    t->base_offset = reader->base_offset;
    t->ended_early = reader->failed || reader->empty || reader->truncated;
    t->summed = reader->losses->summed;
    t->one_core |= reader->losses->one_core;
    map_free(&t->flows);                         /* the processes of devices are known */
    return trace_close(reader);
}

/* Names stay: rows of several files have them. */
void trace_clear(struct trace *t) {
    struct trace kept = {.names = t->names};
    memcpy(&kept, t, offsetof(struct trace, calls));
    if (t->tree != t->order) free(t->tree);
    void *all[] = {t->calls, t->order, t->ids, t->times, t->works, t->changes, t->threads,
                   t->processes, t->launched_ns, t->away_ns, t->arrows};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    map *maps[] = {&t->thread_numbers, &t->process_numbers, &t->by_zone, &t->parent_ids, &t->flows,
                   &t->device_owners, &t->outside};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) map_free(maps[i]);
    range_free(&t->range);
    tasks_clear(&t->tasks);
    *t = kept;
}

void trace_free(struct trace *t) {
    trace_clear(t);
    intern_free(&t->names);
}
