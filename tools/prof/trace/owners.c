/* Which calls own the work of devices: see trace.h. By ids: a call of a device's library and the
   work that it launched have one correlation id, an op and its work one external id. An id belongs
   to a process: where calls of several have it, the work's process decides, which is its own or
   that of the arrows to works of its device. torch_npu's works have no external id: arrows of its
   own lead from the begin of an op to that of its work. */
#include <stdlib.h>

#include "trace/trace.h"

/* Only where a thread waits for it, a call launches what it has an id for. */
call_id trace_call_id(const trace_event *event) {
    call_id own = {event->kind == TRACE_RUNTIME ? JOIN_LAUNCH : JOIN_OP, NO_ID};
    if (event->kind == TRACE_PYTHON || event->is_async) return own;
    if (own.kind == JOIN_LAUNCH) trace_correlation(event, &own.id);
    else trace_external_id(event, &own.id);
    return own;
}

int64_t trace_work_ids(const trace_event *event, int64_t *correlation) {
    int64_t external = *correlation = NO_ID;
    trace_correlation(event, correlation);
    trace_external_id(event, &external);
    return external;
}

static uint64_t join_key(uint32_t kind, int64_t id) { return (uint64_t)id << 1 | kind; }

void join_call(map *join, call_id own, uint32_t number) {
    bool is_new;
    if (own.id == NO_ID) return;
    uint64_t *slot = map_put(join, join_key(own.kind, own.id), &is_new);
    if (is_new) *slot = number;
}

static uint32_t join_find(const map *join, uint32_t kind, int64_t id) {
    const uint64_t *slot = id == NO_ID ? NULL : map_get(join, join_key(kind, id));
    return slot ? (uint32_t)*slot : NO_CALL;
}

uint32_t join_owner(const map *join, int64_t external, int64_t correlation) {
    uint32_t launch = join_find(join, JOIN_LAUNCH, correlation), op = NO_CALL;
    if (launch == NO_CALL || external != correlation) op = join_find(join, JOIN_OP, external);
    return op != NO_CALL ? op : launch;
}

/* ---- Processes ---- */

static uint64_t process_key(uint64_t key, int64_t pid) {
    return hash_mix(key + 1) * 31 + hash_mix((uint64_t)pid);
}

void trace_note_outside(struct trace *t, const trace_event *event) {
    call_id own = trace_call_id(event);
    if (own.kind != JOIN_LAUNCH || own.id == NO_ID) return;
    uint64_t key = join_key(JOIN_LAUNCH, own.id);
    map_put(&t->outside, key, NULL);
    map_put(&t->outside, process_key(key, event->pid), NULL);
}

/* An arrow from a call to a work: the work's device is of the call's process. */
void trace_note_flow(struct trace *t, const trace_event *event) {
    uint64_t id = trace_flow(event);
    if (text_is(event->cat, "async_npu")) {
        GROW(t->arrows, t->arrow_count, t->arrow_capacity);
        t->arrows[t->arrow_count++] = (struct work_arrow){
            .flow = id, .ts_ns = event->ts_ns, .thread = trace_thread(t, event),
            .starts = event->phase == 's'
        };
        return;
    }
    if (event->phase == 's') {
        *map_put(&t->flows, id, NULL) = (uint64_t)event->pid;
        return;
    }
    const uint64_t *pid = map_get(&t->flows, id);
    if (pid) *map_put(&t->device_owners, (uint64_t)event->pid, NULL) = *pid;
}

/* Ids of works, each with the call that has it. */
typedef struct joining {
    struct trace *trace;
    map first;                   /* the first such call + 1; 0: none */
    map of_process;              /* of ids that several processes have: by those, too */
    map processes;               /* that have calls with ids */
    map by_arrow;                /* where a work begins -> the call that an arrow names + 1 */
} joining;

static void want_ids(joining *j) {
    const struct trace *t = j->trace;
    size_t count = 0;
    for (const device_work *w = t->works; w < t->works + t->work_count; w++)
        count += (size_t)(w->external != NO_ID) + (w->correlation != NO_ID);
    map_begin(&j->first, count);
    for (size_t i = 0; i < t->work_count; i++) {
        const device_work *w = &t->works[i];
        if (w->external != NO_ID) map_put(&j->first, join_key(JOIN_OP, w->external), NULL);
        if (w->correlation != NO_ID)
            map_put(&j->first, join_key(JOIN_LAUNCH, w->correlation), NULL);
    }
}

static int64_t process_of(const struct trace *t, uint64_t number) {
    return t->threads[t->calls[number].thread].pid;
}

static void add_ids(joining *j) {
    struct trace *t = j->trace;
    for (size_t i = 0; t->ids && i < t->call_count; i++) {
        if (t->ids[i] == NO_ID) continue;
        uint32_t kind = t->calls[i].kind == TRACE_RUNTIME ? JOIN_LAUNCH : JOIN_OP;
        uint64_t key = join_key(kind, t->ids[i]), *first = map_get(&j->first, key);
        if (!first) continue;
        if (!*first) *first = i + 1;
        int64_t pid = process_of(t, i), first_pid = process_of(t, *first - 1);
        bool is_new;
        map_put(&j->processes, (uint64_t)pid, NULL);
        if (pid == first_pid) {
            t->twice += kind == JOIN_OP && *first != i + 1;
            continue;
        }
        *map_put(&j->of_process, process_key(key, first_pid), NULL) = *first;
        uint64_t *other = map_put(&j->of_process, process_key(key, pid), &is_new);
        if (is_new) *other = i + 1;
    }
}

/* Python functions around a launch have not launched it either. */
static bool is_launch(const void *one) {
    const call *c = one;
    return c->kind == TRACE_RUNTIME || c->kind == TRACE_PYTHON;
}

static uint64_t begin_key(uint32_t thread, int64_t ts_ns) {
    return hash_mix((uint64_t)ts_ns) * 31 + thread;
}

/* An arrow starts where its call begins; of calls that begin together it is the innermost's. */
static void add_arrows(joining *j) {
    const struct trace *t = j->trace;
    map begins = {0}, flow_calls = {0};
    for (size_t i = 0; i < t->arrow_count; i++) {
        const struct work_arrow *a = &t->arrows[i];
        if (a->starts) map_put(&begins, begin_key(a->thread, a->ts_ns), NULL);
    }
    for (size_t i = 0; t->arrow_count && i < t->call_count; i++) {
        const call *c = &t->calls[t->order[i]];
        uint64_t *begun = map_get(&begins, begin_key(c->thread, c->start_ns));
        if (begun && !is_launch(c)) *begun = t->order[i] + UINT64_C(1);
    }
    for (size_t i = 0; i < t->arrow_count; i++) {
        const struct work_arrow *a = &t->arrows[i];
        const uint64_t *begun = map_get(&begins, begin_key(a->thread, a->ts_ns));
        if (a->starts && begun) *map_put(&flow_calls, a->flow, NULL) = *begun;
    }
    for (size_t i = 0; i < t->arrow_count; i++) {
        const struct work_arrow *a = &t->arrows[i];
        const uint64_t *from = map_get(&flow_calls, a->flow);
        if (!a->starts && from)
            *map_put(&j->by_arrow, begin_key(a->thread, a->ts_ns), NULL) = *from;
    }
    map_free(&begins);
    map_free(&flow_calls);
}

/* The call that has it, of this process where several have; NO_CALL: none, or *ambiguous. */
static uint32_t find_id(const joining *j, uint32_t kind, int64_t id, int64_t pid, bool *ambiguous) {
    uint64_t key = join_key(kind, id);
    const uint64_t *first = id == NO_ID ? NULL : map_get(&j->first, key);
    if (!first || !*first) return NO_CALL;
    int64_t first_pid = process_of(j->trace, *first - 1);
    if (!map_get(&j->of_process, process_key(key, first_pid))) return (uint32_t)*first - 1;
    const uint64_t *own = map_get(&j->of_process, process_key(key, pid));
    *ambiguous |= !own;
    return own ? (uint32_t)*own - 1 : NO_CALL;
}

static int64_t work_process(const joining *j, const device_work *w) {
    int64_t pid = j->trace->threads[w->thread].pid;
    if (map_get(&j->processes, (uint64_t)pid)) return pid;
    const uint64_t *owner = map_get(&j->trace->device_owners, (uint64_t)pid);
    return owner ? (int64_t)*owner : pid;
}

/* Has a call launched it that is not here, as it ran outside of the window? */
static bool is_outside(const struct trace *t, const device_work *w, int64_t pid) {
    uint64_t key = join_key(JOIN_LAUNCH, w->correlation);
    if (w->correlation == NO_ID) return false;
    return map_get(&t->outside, process_key(key, pid)) ||
           (w->launch == NO_CALL && map_get(&t->outside, key));
}

/* Work of a launch outside is no call's of another process that has its ids, too. */
static void find_by_ids(joining *j, device_work *w, bool *ambiguous) {
    struct trace *t = j->trace;
    int64_t pid = work_process(j, w);
    w->launch = find_id(j, JOIN_LAUNCH, w->correlation, pid, ambiguous);
    bool outside = is_outside(t, w, pid);
    if (outside) w->launch = NO_CALL;
    if ((w->launch == NO_CALL && !outside) || w->external != w->correlation)
        w->owner = find_id(j, JOIN_OP, w->external, pid, ambiguous);
    if (outside && w->owner != NO_CALL && process_of(t, w->owner) != pid) w->owner = NO_CALL;
}

static void find_owner(joining *j, device_work *w) {
    struct trace *t = j->trace;
    bool ambiguous = false;
    find_by_ids(j, w, &ambiguous);
    const uint64_t *from = map_get(&j->by_arrow, begin_key(w->thread, w->start_ns));
    if (w->owner == NO_CALL && from && *from) w->owner = (uint32_t)*from - 1;
    if (w->owner == NO_CALL) w->owner = w->launch;
    w->owner = span_nest_launcher(&t->nest, w->owner, is_launch);
    if (w->zone_id != NO_ZONE_ID) w->owner = trace_zone(t, w->zone_id, w->owner);
    t->unowned += w->owner == NO_CALL;
    t->ambiguous += w->owner == NO_CALL && ambiguous;
}

void trace_own(struct trace *t) {
    joining j = {.trace = t};
    if (!t->work_count) return;
    want_ids(&j);
    add_ids(&j);
    add_arrows(&j);
    if (!t->launched_ns) t->launched_ns = allocate((t->call_count + 1) * sizeof *t->launched_ns);
    for (size_t i = 0; i < t->work_count; i++) {
        find_owner(&j, &t->works[i]);
        const device_work *w = &t->works[i];
        if (w->owner != NO_CALL && !t->calls[w->owner].is_legacy)
            t->launched_ns[w->owner] += work_ns(w);
    }
    map_free(&j.first);
    map_free(&j.of_process);
    map_free(&j.processes);
    map_free(&j.by_arrow);
}
