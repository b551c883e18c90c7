/* prof validate: what is wrong with a trace, each finding with its byte offset; of what is no JSON,
   with the number of the item. */
#include "analysis/busy.h"
#include "base/span_sorter.h"
#include "input/losses.h"
#include "input/trace_pairs.h"
#include "input/trace_reader.h"
#include "trace/trace.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

static int run(int argc, char **argv);

const command validate_command = {
    "validate", "[OPTION]... TRACE", "check a trace: what breaks the rules, and at which byte",
    "  prof validate trace.json\n"
    "      exit status 1 if there are errors, which viewers reject or read wrongly\n"
    "  prof validate --strict --limit all trace.json\n"
    "      warnings count too, and none is left out\n"
    "  prof validate --ignore overlap,flow trace.json\n"
    "      without these two rules; --rules lists them\n", run, 0, 1
};

typedef enum rule {
    RULE_JSON, RULE_CUT, RULE_OPEN, RULE_FIELDS, RULE_CATEGORY, RULE_TIME, RULE_NUMBER, RULE_TEXT,
    RULE_KEYS, RULE_IDS, RULE_PAIRS, RULE_OVERLAP, RULE_ORDER, RULE_FLOW, RULE_LAUNCH, RULE_WAIT_ID,
    RULE_SYNC, RULE_WAIT_PAST, RULE_COLLECTIVE, RULE_BACKWARD, RULE_STREAM, RULE_ZERO,
    RULE_FAR, RULE_LOSSES, RULES
} rule;

static const struct { const char *name; bool is_error; const char *text; } rules[RULES] = {
    {"json", true, "the file is strict JSON: no comma before a bracket, and so on"},
    {"cut", true, "the file does not end early"},
    {"open", false, "an array of events ends with ]"},
    {"fields", true, "a complete event has name, ph, pid, tid, ts and dur, others but M a ts, an "
     "asynchronous one and an object an id"},
    {"category", false, "a complete event has a cat: readers of PyTorch's traces go by it"},
    {"time", true, "no ts or dur is below 0, no end is before its begin"},
    {"number", true, "no NaN or Infinity; times, pids and tids are numbers"},
    {"text", true, "texts are UTF-8, without raw control characters and halves of characters"},
    {"keys", false, "an event has no key twice"},
    {"ids", false, "pid and tid of a complete event are numbers from 0 to 2147483647"},
    {"pairs", false, "a begin (B, b) has an end (E, e), and an end stands behind its begin"},
    {"overlap", false, "events of one pid and tid lie in each other or apart"},
    {"order", false, "of events that begin together, the longer stands first"},
    {"flow", false, "a flow has one start, before its end, which has bp \"e\""},
    {"launch", true, "no kernel begins before the call that launched it"},
    {"wait_id", false, "a wait for a stream's event names the event's correlation"},
    {"sync", true, "no kernel outlasts a wait for its stream that began after it"},
    {"wait_past", true, "what a stream waits for was recorded before"},
    {"collective", false, "a collective tells its name, sizes, type and group"},
    {"backward", true, "no two backward ops of a thread share a sequence number"},
    {"stream", false, "no kernel, copy or fill lasts beyond the begin of the next of its stream"},
    {"zero", false, "no kernel, copy, fill or call of no length is at 0, far from all others"},
    {"far", false, "no event begins or ends a year or more from all others, or lasts ten"},
    {"losses", false, "the trace's head tells of nothing dropped, cut or mended"}
};

typedef struct finding {
    uint64_t offset;
    rule rule;
    const char *text;
} finding;

typedef struct open_event {      /* a complete event that others may lie in, */
    int64_t start_ns, end_ns;
    uint64_t offset;
    uint32_t around;             /* and the one that it lies in; NO_CALL */
} open_event;

typedef struct flow {            /* the last start of an id, and the last end */
    bool starts, ends;
    uint64_t start_offset, end_offset;
    int64_t start_ns, end_ns, id;
} flow;

/* A call of the device's library; or a kernel or wait, which names the last call of its id. */
typedef struct correlated { uint64_t offset; int64_t start_ns, id; bool is_wait; } correlated;

typedef struct stream_event {    /* work, or a wait for the stream */
    int64_t start_ns, end_ns;
    uint64_t offset;
    uint32_t stream;
    bool is_wait;
} stream_event;

typedef struct checker {
    const text_list *ignore;
    const char *unit;            /* of offsets */
    finding *findings;
    size_t count, capacity;
    uint64_t counts[RULES];
    int64_t limit;
    arena texts;
    struct trace threads;         /* for its numbers of threads alone */
    span_sorter *events;         /* complete ones: around is their thread */
    span_sorter *by_stream;
    map flow_numbers, launch_numbers;            /* by id */
    flow *flows;
    correlated *launches, *launched;
    size_t flow_count, flow_capacity, launch_count, launch_capacity;
    size_t launched_count, launched_capacity;
    map streams, backward;
    trace_pairs *pairs;
    uint64_t without_cat, first_without_cat;
    odd_works odd;
    far_times far, all_times;    /* of works, and of all */
    uint64_t first_over, first_at_zero;          /* their offsets */
    uint64_t calls_at_zero, first_call_at_zero;  /* of no length */
} checker;

static void find(checker *c, rule broken, uint64_t offset, const char *format, ...)
    PRINTF_LIKE(4, 5);

/* So many are kept of each rule. */
static void find(checker *c, rule broken, uint64_t offset, const char *format, ...) {
    char text[512];
    va_list args;
    for (size_t i = 0; i < c->ignore->count; i++)
        if (strcmp(c->ignore->items[i], rules[broken].name) == 0) return;
    if ((int64_t)c->counts[broken]++ >= c->limit) return;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    GROW(c->findings, c->count, c->capacity);
    c->findings[c->count++] =
        (finding){offset, broken, arena_text(&c->texts, text, strlen(text))};
}

/* A name for a message: short, as it stands in the file. */
static const char *shown(const trace_event *event) {
    static char text[48];
    size_t size = event->name.size < 40 ? event->name.size : 40;
    snprintf(text, sizeof text, "'%.*s'", (int)size, event->name.data);
    return text;
}

/* ---- One event ---- */

static void check_fields(checker *c, const trace_event *event) {
    static const struct { uint32_t bit; const char *name; } fields[] = {
        {TRACE_HAS_NAME, "name"}, {TRACE_HAS_PID, "pid"}, {TRACE_HAS_TID, "tid"},
        {TRACE_HAS_TS, "ts"}, {TRACE_HAS_DUR, "dur"}
    };
    bool filler = event->raw.size == 2;         /* {}, which JAX and rocprof write */
    if (!event->phase && !filler) find(c, RULE_FIELDS, event->offset, "%s has no ph", shown(event));
    if (event->ts_ns < 0 && event->phase && event->phase != 'M')
        find(c, RULE_TIME, event->offset, "%s has a ts below 0", shown(event));
    if (event->phase && !strchr("MX", event->phase) && !(event->has & TRACE_HAS_TS))
        find(c, RULE_FIELDS, event->offset, "%s has no ts", shown(event));
    if (event->phase && strchr("benSTpFNOD", event->phase) && !(event->has & TRACE_HAS_ID) &&
        !event->id2.data)                       /* flows: check_flow */
        find(c, RULE_FIELDS, event->offset, "%s has no id", shown(event));
    if (event->phase != 'X') return;
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        if (!(event->has & fields[i].bit))
            find(c, RULE_FIELDS, event->offset, "%s has no %s", shown(event), fields[i].name);
    if (!(event->has & TRACE_HAS_CAT) && !c->without_cat++) c->first_without_cat = event->offset;
    const struct { int64_t id; bool is_text; const char *name; } ids[] = {
        {event->pid, event->pid_text.data != NULL, "pid"},
        {event->tid, event->tid_text.data != NULL, "tid"}
    };
    for (int i = 0; i < 2; i++)
        if (ids[i].is_text)
            find(c, RULE_IDS, event->offset, "%s has a text as %s", shown(event), ids[i].name);
        else if ((ids[i].id < 0 || ids[i].id > INT32_MAX) &&
                 !(ids[i].id == -1 && event->kind == TRACE_OVERHEAD))    /* of no process */
            find(c, RULE_IDS, event->offset, "%s has the %s %lld", shown(event), ids[i].name,
                 (long long)ids[i].id);
}

/* Of a process: ranks that prof merge put into one file all have a device 0. */
static uint32_t stream_of(checker *c, const trace_event *event) {
    int64_t device = event->pid, stream = event->tid;
    trace_arg_int(event, "device", &device);
    trace_arg_int(event, "stream", &stream);
    bool is_new;
    uint64_t key = hash_mix((uint64_t)event->pid) * 31 + (uint64_t)device + 1;
    uint64_t *number = map_put(&c->streams, hash_mix(key) + (uint64_t)stream, &is_new);
    if (is_new) *number = c->streams.count - 1;
    return (uint32_t)*number;
}

static void add_to_stream(checker *c, const trace_event *event, bool is_wait) {
    sorter_add(c->by_stream, &(stream_event){
        event->ts_ns, event->ts_ns + event->dur_ns, event->offset, stream_of(c, event), is_wait
    });
}

static void add_launched(checker *c, const trace_event *event, int64_t id, bool is_wait) {
    GROW(c->launched, c->launched_count, c->launched_capacity);
    c->launched[c->launched_count++] = (correlated){event->offset, event->ts_ns, id, is_wait};
}

static void add_work(checker *c, const trace_event *event) {
    int64_t id;
    add_to_stream(c, event, false);
    far_note(&c->far, event->ts_ns, event->ts_ns + event->dur_ns, 0);
    if (event->kind == TRACE_KERNEL && trace_correlation(event, &id))
        add_launched(c, event, id, false);
}

/* Of several calls with an id the last one counts. */
static void add_launch(checker *c, const trace_event *event) {
    int64_t id;
    bool is_new;
    if (!trace_correlation(event, &id)) return;
    size_t number = NUMBER_OF(&c->launch_numbers, (uint64_t)id, c->launches, c->launch_count,
                              c->launch_capacity, &is_new);
    c->launches[number] = (correlated){event->offset, event->ts_ns, id, false};
}

static void add_timed(checker *c, const trace_event *event) {
    far_note(&c->all_times, event->ts_ns, event->ts_ns + event->dur_ns, event->offset);
    sorter_add(c->events, &(open_event){
        event->ts_ns, event->ts_ns + event->dur_ns, event->offset, trace_thread(&c->threads, event)
    });
    if (kind_is_device(event->kind)) add_work(c, event);
    else if (!event->ts_ns && !event->dur_ns && !c->calls_at_zero++)
        c->first_call_at_zero = event->offset;
    if (event->kind == TRACE_RUNTIME) add_launch(c, event);
}

static void check_flow(checker *c, const trace_event *event) {
    bool is_new;
    if (!strchr("stf", event->phase) || !event->phase) return;
    if (!(event->has & TRACE_HAS_ID)) {
        find(c, RULE_FLOW, event->offset, "a flow without id");
        return;
    }
    size_t number = NUMBER_OF(&c->flow_numbers, trace_flow(event), c->flows, c->flow_count,
                              c->flow_capacity, &is_new);
    flow *f = &c->flows[number];
    if (is_new) *f = (flow){0};
    if (event->phase == 's') {
        if (f->starts)
            find(c, RULE_FLOW, event->offset, "the id %.*s starts a second flow",
                 event->id.size < 31 ? (int)event->id.size : 31, event->id.data);
        f->starts = true;
        f->start_ns = event->ts_ns;
        f->start_offset = event->offset;
    } else {                                    /* a step ends one that has no other end */
        if (event->phase == 'f' && !text_is(event->bp, "\"e\""))
            find(c, RULE_FLOW, event->offset, "a flow's end without \"bp\": \"e\"");
        f->ends = true;
        f->end_ns = event->ts_ns;
        if (!json_int(event->id, &f->id)) f->id = -1;
        f->end_offset = event->offset;
    }
}

static void check_collective(checker *c, const trace_event *event) {
    static const char *const needed[] = {
        "Collective name", "dtype", "In msg nelems", "Out msg nelems", "Group size"
    };
    bool kernel = event->kind == TRACE_KERNEL && text_begins(event->name, "nccl");
    if (!kernel && !text_is(event->name, "record_param_comms")) return;
    for (size_t i = 0; i < sizeof needed / sizeof *needed; i++) {
        if (trace_arg(event, needed[i])) continue;
        find(c, RULE_COLLECTIVE, event->offset, "%s has no '%s'", shown(event), needed[i]);
        return;
    }
}

static void check_backward(checker *c, const trace_event *event) {
    int64_t thread, sequence;
    if (!text_begins(event->name, "autograd::engine::evaluate_function") ||
        !trace_arg_int(event, KEY_FWD_THREAD, &thread) || thread <= 0 ||
        !trace_arg_int(event, KEY_SEQUENCE, &sequence) || sequence < 0) return;
    bool is_new;
    uint64_t key = hash_mix((uint64_t)event->pid) * 31 + (uint64_t)thread;     /* of a rank */
    uint64_t *first = map_put(&c->backward, hash_mix(key) + (uint64_t)sequence,
                              &is_new);
    if (is_new) *first = event->offset;
    else find(c, RULE_BACKWARD, event->offset, "%s has the sequence number %lld of the one at "
              "%s %llu", shown(event), (long long)sequence, c->unit, (unsigned long long)*first);
}

static void check_wait(checker *c, const trace_event *event) {
    int64_t id = -1;
    bool on_event = text_is(event->name, "Stream Wait Event") || text_is(event->name, "Event Sync");
    bool on_stream = text_is(event->name, "Stream Sync") ||
                     text_is(event->name, "Stream Synchronize");
    if (event->kind != TRACE_SYNC || (!on_event && !on_stream)) return;
    trace_arg_int(event, "wait_on_cuda_event_record_corr_id", &id);
    if (on_event && id <= 0)
        find(c, RULE_WAIT_ID, event->offset, "%s does not say what it waits for", shown(event));
    if (on_event && id > 0) add_launched(c, event, id, true);
    if (on_stream) add_to_stream(c, event, true);
}

/* Those that are over: begins without an end, ends before their begins. */
static void check_open(checker *c) {
    for (trace_event event; pairs_next(c->pairs, &event); ) {
        far_note(&c->all_times, event.ts_ns, event.ts_ns + event.dur_ns, event.offset);
        if (!event.end_offset)
            find(c, RULE_PAIRS, event.offset, "%s begins and has no end", shown(&event));
        else if (event.dur_ns < 0)
            find(c, RULE_TIME, event.end_offset, "%s ends %lld ns before its begin at %s %llu",
                 shown(&event), -(long long)event.dur_ns, c->unit,
                 (unsigned long long)event.offset);
    }
}

static void check_pair(checker *c, const trace_event *event) {
    if (!trace_is_half(event->phase)) return;
    if (!pairs_take(c->pairs, event, trace_pair_key(event)))
        find(c, RULE_PAIRS, event->offset, "the end of nothing");
    check_open(c);
}

static void check_event(checker *c, const trace_event *event) {
    check_fields(c, event);
    check_pair(c, event);
    check_flow(c, event);
    bool timed = event->has & TRACE_HAS_TS, alone = !strchr("MX", event->phase);
    if (timed && alone && !trace_is_half(event->phase))
        far_note(&c->all_times, event->ts_ns, event->ts_ns, event->offset);
    if (event->phase != 'X') return;
    if (timed) add_timed(c, event);
    check_collective(c, event);
    check_backward(c, event);
    check_wait(c, event);
}

/* ---- The trace as a whole ---- */

/* Of an event and what is open at its begin, the innermost of which is outer; NULL: nothing is. */
static void check_order(checker *c, const open_event *outer, const open_event *e) {
    if (!outer) return;
    if (outer->end_ns < e->end_ns)
        find(c, RULE_OVERLAP, e->offset, "begins in the event at %s %llu and ends %lld ns "
             "behind it", c->unit, (unsigned long long)outer->offset,
             (long long)(e->end_ns - outer->end_ns));
    else if (outer->start_ns == e->start_ns && outer->offset > e->offset &&
             outer->end_ns > e->end_ns)
        find(c, RULE_ORDER, e->offset, "lies in the event at %s %llu, which stands behind it",
             c->unit, (unsigned long long)outer->offset);
}

static bool event_before(const void *one, const void *other) {
    const open_event *a = one, *b = other;
    if (a->around != b->around) return a->around < b->around;
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->end_ns > b->end_ns;
}

/* Each open event stands behind the one around it. */
static void check_nesting(checker *c) {
    open_event *open = NULL;
    size_t capacity = 0;
    uint32_t top = NO_CALL, thread = 0;
    span_nest nest = {
        NULL, sizeof *open, offsetof(open_event, end_ns), offsetof(open_event, around), 0
    };
    sorter_finish(c->events);
    for (open_event e; sorter_next(c->events, &e); ) {
        if (e.around != thread) top = NO_CALL;
        thread = e.around;
        top = span_nest_around(&nest, top, e.start_ns, e.start_ns);
        check_order(c, top == NO_CALL ? NULL : &open[top], &e);
        e.around = span_nest_around(&nest, top, e.start_ns, e.end_ns);
        top = e.around + 1;                      /* 0 in none */
        GROW(open, top, capacity);
        open[top] = e;
        nest.spans = open;
    }
    free(open);
    sorter_free(c->events);
    c->events = NULL;
}

/* Kineto of PyTorch 2.11 writes an end at each call that launched nothing. */
static bool ends_at_call(const checker *c, const flow *f) {
    const uint64_t *number = map_get(&c->launch_numbers, (uint64_t)f->id);
    return number && c->launches[*number].start_ns == f->end_ns;
}

static void check_flows(checker *c) {
    for (size_t i = 0; i < c->flow_count; i++) {
        const flow *f = &c->flows[i];
        if (!f->starts && ends_at_call(c, f)) continue;
        if (!f->starts) find(c, RULE_FLOW, f->end_offset, "a flow ends that has not started");
        else if (!f->ends) find(c, RULE_FLOW, f->start_offset, "a flow starts and does not end");
        else if (f->end_ns < f->start_ns)
            find(c, RULE_FLOW, f->end_offset, "a flow ends %lld ns before it starts",
                 (long long)(f->start_ns - f->end_ns));
    }
}

static void check_launches(checker *c) {
    for (size_t i = 0; i < c->launched_count; i++) {
        const correlated *k = &c->launched[i];
        const uint64_t *number = map_get(&c->launch_numbers, (uint64_t)k->id);
        const correlated *launch = number ? &c->launches[*number] : k;
        int64_t ns = launch->start_ns - k->start_ns;
        if (ns > 0 && k->is_wait)
            find(c, RULE_WAIT_PAST, k->offset, "waits for what is recorded %lld ns later, at %s "
                 "%llu", (long long)ns, c->unit, (unsigned long long)launch->offset);
        else if (ns > 0)
            find(c, RULE_LAUNCH, k->offset, "the kernel begins %lld ns before its launch at %s "
                 "%llu", (long long)ns, c->unit, (unsigned long long)launch->offset);
    }
}

/* By stream and time; a wait before the work that begins with it. */
static bool stream_before(const void *one, const void *other) {
    const stream_event *a = one, *b = other;
    if (a->stream != b->stream) return a->stream < b->stream;
    return a->start_ns != b->start_ns ? a->start_ns < b->start_ns : a->is_wait && !b->is_wait;
}

/* Work that runs on behind the end of a wait for its stream. A stream runs one after another, so
   only the last few that began before the wait can be such. */
static void check_waits(checker *c) {
    enum { LAST = 8 };
    stream_event last[LAST];
    uint64_t count = 0, stream = 0;
    sorter_finish(c->by_stream);
    for (stream_event k; sorter_next(c->by_stream, &k); stream = k.stream) {
        if (k.stream != stream) count = 0;
        if (!k.is_wait) {
            uint64_t over = c->odd.over, at_zero = c->odd.at_zero;
            odd_take(&c->odd, &c->far, k.stream, k.start_ns, k.end_ns);
            if (!over && c->odd.over) c->first_over = count ? last[(count - 1) % LAST].offset : 0;
            if (!at_zero && c->odd.at_zero) c->first_at_zero = k.offset;
            last[count++ % LAST] = k;
            continue;
        }
        for (uint64_t i = count; i-- > 0 && i + LAST >= count; ) {
            const stream_event *w = &last[i % LAST];
            if (w->end_ns > k.end_ns)
                find(c, RULE_SYNC, w->offset, "runs on for %lld ns behind the wait at %s %llu",
                     (long long)(w->end_ns - k.end_ns), c->unit, (unsigned long long)k.offset);
        }
    }
}

static void check_odd(checker *c) {
    if (c->odd.over)
        find(c, RULE_STREAM, c->first_over, "the first of %llu that last beyond the begin of the "
             "next one of their stream, by %.3f us in all (prof report --repair)",
             (unsigned long long)c->odd.over, (double)c->odd.over_ns * 1e-3);
    if (c->odd.at_zero)
        find(c, RULE_ZERO, c->first_at_zero, "the first of %llu that begin at 0, far from all "
             "others", (unsigned long long)c->odd.at_zero);
    if (c->calls_at_zero && far_is(&c->all_times, 0, 0))    /* PyTorch 2.12 lost times so */
        find(c, RULE_ZERO, c->first_call_at_zero, "the first of %llu calls at 0 and of no length, "
             "far from all others", (unsigned long long)c->calls_at_zero);
    const far_group *most = far_main(&c->all_times);
    for (unsigned i = 0; i < c->all_times.count; i++) {
        const far_group *g = &c->all_times.groups[i];
        if (g != most)
            find(c, RULE_FAR, g->where, "the first of %llu that begin or end a year or more from "
                 "all others", (unsigned long long)g->count);
    }
    odd_free(&c->odd);
}

static void check_defects(checker *c, const trace_reader *reader) {
    static const struct { trace_defect defect; rule broken; const char *text; } defects[] = {
        {TRACE_NAN, RULE_NUMBER, "NaN or infinite numbers"},
        {TRACE_BAD_UTF8, RULE_TEXT, "bytes that are not UTF-8"},
        {TRACE_CONTROL, RULE_TEXT, "raw control characters"},
        {TRACE_ESCAPE, RULE_TEXT, "escapes that JSON has not, or of half a character"},
        {TRACE_DUPLICATE_KEY, RULE_KEYS, "keys twice in an event"},
        {TRACE_BAD_NUMBER, RULE_NUMBER, "times, pids or tids that are no numbers"},
        {TRACE_NEGATIVE, RULE_TIME, "durations below 0"},
        {TRACE_ENDLESS, RULE_FAR, "durations of ten years or more, or that no sum can hold"},
        {TRACE_SIZE, RULE_NUMBER, "changes of memory that no sum can hold"},
        {TRACE_NOT_OBJECT, RULE_FIELDS, "events that are not objects"},
        {TRACE_COMMA, RULE_JSON, "commas beside a bracket"},
        {TRACE_BROKEN, RULE_JSON, "events that are no JSON"}
    };
    for (size_t i = 0; i < sizeof defects / sizeof *defects; i++)
        if (reader->defects[defects[i].defect])
            find(c, defects[i].broken, reader->first_defect[defects[i].defect],
                 "%llu %s in all, the first in the element here",
                 (unsigned long long)reader->defects[defects[i].defect], defects[i].text);
    if (c->without_cat)
        find(c, RULE_CATEGORY, c->first_without_cat,
             "%llu events without a cat in all, the first here",
             (unsigned long long)c->without_cat);
    uint64_t end = reader->format ? reader->events : reader->bytes;
    if (reader->truncated)
        find(c, reader->broken ? RULE_JSON : RULE_CUT,
             reader->broken ? reader->broken_offset : end, "%s",
             reader->broken ? reader->broken : "the file ends early");
    if (reader->open_array)
        find(c, RULE_OPEN, reader->bytes, "the array has no ], as a run that crashed leaves it");
}

/* What the recorder could not keep. */
static void check_losses(checker *c, const trace_reader *reader) {
    size_t index = 0;
    char line[320];
    while (losses_next(reader->losses, &index, line))
        find(c, RULE_LOSSES, reader->losses_offset, "%s", line);
}

static int check_file(checker *c, const char *path) {
    trace_reader *reader = trace_open(path);
    if (!reader) return EXIT_BAD;
    reader->quiet = reader->as_written = reader->tolerant = true;
    c->pairs = pairs_open();
    c->events = sorter_of(sizeof(open_event), event_before);
    c->by_stream = sorter_of(sizeof(stream_event), stream_before);
    while (trace_next(reader) != TRACE_END) {
        c->unit = reader->format ? "item" : "byte";
        if (reader->item == TRACE_EVENT) check_event(c, reader->event);
    }
    pairs_end(c->pairs, INT64_MIN, &(uint64_t){0});
    check_open(c);
    check_nesting(c);
    check_flows(c);
    check_launches(c);
    check_waits(c);
    check_odd(c);
    check_defects(c, reader);
    check_losses(c, reader);
    if (reader->empty) warn(path, "the trace is of an empty session: nothing was recorded in it");
    return trace_close(reader);
}

/* ---- What was found ---- */

static int by_offset(const void *a, const void *b) {
    const finding *x = a, *y = b;
    return x->offset != y->offset ? (x->offset < y->offset ? -1 : 1) : (int)x->rule - (int)y->rule;
}

static const char *level_of(const finding *f) {
    return rules[f->rule].is_error ? "error" : "warning";
}

static void write_findings(const checker *c, const char *path, output *out) {
    bool colours = !out->path && use_colours(stdout);
    for (size_t i = 0; i < c->count; i++) {
        const finding *f = &c->findings[i];
        const char *colour = !colours ? "" : rules[f->rule].is_error ? "\033[31m" : "\033[33m";
        output_format(out, "%s: %s %llu: %s%s%s: %s: ", path, c->unit,
                      (unsigned long long)f->offset, colour, level_of(f), colours ? "\033[0m" : "",
                      rules[f->rule].name);
        output_plain_text(out, f->text);
        output_text(out, "\n");
    }
}

static void write_table(const checker *c, table_format format, output *out) {
    sheet s;
    sheet_begin(&s, *c->unit == 'i' ? "Item#|Level|Rule|Finding" : "Byte#|Level|Rule|Finding");
    for (size_t i = 0; i < c->count; i++) {
        const finding *f = &c->findings[i];
        cell_int(&s, (int64_t)f->offset);
        cell_text(&s, level_of(f));
        cell_text(&s, rules[f->rule].name);
        cell_text(&s, f->text);
    }
    sheet_end(&s, format, out);
}

static void write_sums(const checker *c, const char *path, output *out) {
    for (int i = 0; i < RULES; i++)
        if ((int64_t)c->counts[i] > c->limit)
            output_format(out, "%s: %llu more of: %s (--limit all shows them)\n", path,
                          (unsigned long long)(c->counts[i] - (uint64_t)c->limit), rules[i].name);
}

static int report(checker *c, const char *path, table_format format, const char *to, bool strict) {
    output out;
    if (!output_open(&out, to)) return EXIT_BAD;
    if (c->count) qsort(c->findings, c->count, sizeof *c->findings, by_offset);
    if (format == FORMAT_TEXT) write_findings(c, path, &out);
    else write_table(c, format, &out);
    uint64_t sums[2] = {0, 0};
    for (int i = 0; i < RULES; i++) sums[rules[i].is_error] += c->counts[i];
    if (format == FORMAT_TEXT) {
        write_sums(c, path, &out);
        output_format(&out, "%s: %llu errors, %llu warnings\n", path, (unsigned long long)sums[1],
                      (unsigned long long)sums[0]);
    }
    return output_close(&out, sums[1] || (strict && sums[0]) ? EXIT_FOUND : EXIT_OK);
}

static void list_rules(void) {
    for (int i = 0; i < RULES; i++)
        printf("%-12s %-8s %s\n", rules[i].name, rules[i].is_error ? "error" : "warning",
               rules[i].text);
}

static bool is_rule(const char *name) {
    for (int i = 0; i < RULES; i++)
        if (strcmp(name, rules[i].name) == 0) return true;
    return false;
}

static void checker_free(checker *c) {
    free(c->findings);
    arena_free(&c->texts);
    trace_free(&c->threads);
    map_free(&c->streams);
    map_free(&c->backward);
    if (c->pairs) pairs_close(c->pairs);
    sorter_free(c->events);
    sorter_free(c->by_stream);
    map_free(&c->flow_numbers);
    map_free(&c->launch_numbers);
    free(c->flows);
    free(c->launches);
    free(c->launched);
}

static int run(int argc, char **argv) {
    checker c = {.limit = 10, .unit = "byte"};
    text_list ignore = {0};
    bool strict = false, list = false;
    const char *to = NULL;
    table_format format = FORMAT_TEXT;
    const option_spec options[] = {
        {"strict", 0, OPTION_FLAG, &strict, NULL, "exit status 1 for warnings too"},
        {"ignore", 0, OPTION_LIST, &ignore, "RULE", "leave rules out"},
        {"rules", 0, OPTION_FLAG, &list, NULL, "list the rules"},
        {"limit", 'n', OPTION_COUNT, &c.limit, "N", "findings shown of a rule, or all (10)"},
        FORMAT_OPTION(format),
        {"output", 'o', OPTION_TEXT, &to, "FILE", "instead of stdout; .gz by its ending"},
        {NULL, 0, OPTION_FLAG, NULL, NULL, NULL}
    };
    int status, count = options_parse(&validate_command, options, argc, argv, &status);
    if (count < 0) return status;
    if (list) return list_rules(), EXIT_OK;
    if (count != 1) return fail(NULL, "validate takes one trace; see prof validate --help");
    for (size_t i = 0; i < ignore.count; i++)
        if (!is_rule(ignore.items[i]))
            return fail("--ignore", "there is no rule '%s'; --rules lists them", ignore.items[i]);
    c.ignore = &ignore;
    status = check_file(&c, argv[1]);
    if (status == EXIT_OK) status = report(&c, argv[1], format, to, strict);
    checker_free(&c);
    return status;
}
