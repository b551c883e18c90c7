/* A sequence of calls, made of bytes, against a simple model of what they mean: the same in every
   mode. Used by test_modes.c (random bytes) and fuzz_record.c (libFuzzer's). */
#ifndef SEQUENCE_H
#define SEQUENCE_H

#include "../test.h"
#include "../../tools/prof/raw_read.h"

typedef struct bytes { const uint8_t *at, *end; } bytes;

static unsigned next_byte(bytes *b) { return b->at < b->end ? *b->at++ : 0; }

/* ---- The model: a stack, and the zones that it saw ---- */

enum { MODEL_ZONES = 5000, MODEL_DEPTH = 6, MODEL_NAMES = 6 };

typedef struct model_zone {
    const char *name;
    uint64_t start, end, inner;          /* inner: ns of its children */
    int depth, parent;
    bool open;                           /* ended by prof_stop */
} model_zone;

static struct model {
    model_zone zones[MODEL_ZONES];       /* as they began */
    int ended[MODEL_ZONES];              /* zones, as they ended, but for the deep ones */
    int count, ended_count, top, open[MODEL_ZONES];
    uint64_t unbalanced, deep, asides;
} model;

static const char *const model_names[MODEL_NAMES] = { "a", "b", "\"c\"", "\xff", "long;er", "" };

static void model_begin(const char *name) {
    model_zone *z = model.zones + model.count;
    model.deep += model.top >= MODEL_DEPTH;
    memset(z, 0, sizeof *z);
    z->name = name;
    z->start = test_time.tick;
    z->depth = model.top;
    z->parent = model.top ? model.open[model.top - 1] : -1;
    model.open[model.top++] = model.count++;
}

static void model_close(bool by_stop) {
    int number = model.open[--model.top];
    model_zone *z = model.zones + number;
    z->end = test_time.tick;
    z->open = by_stop;
    if (z->parent >= 0) model.zones[z->parent].inner += z->end - z->start;
    if (z->depth < MODEL_DEPTH) model.ended[model.ended_count++] = number;
}

static void model_end(void) {
    if (model.top) model_close(false);
    else model.unbalanced++;
}

/* ---- The sequence ---- */

static void begin_mark(unsigned which) {
    switch (which) {
    case 0: PROF_BEGIN("a"); break;
    case 1: PROF_BEGIN("b"); break;
    default: PROF_BEGIN("\"c\"");
    }
}

/* What changes nothing in the zones. */
static void one_aside(unsigned what, unsigned value) {
    static const int64_t dims[] = { 2, 3 };
    prof_shape shape = { dims, NULL, 2 };
    prof_device cpu = { PROF_DEVICE_CPU, 0 };
    const char *text = test_odd_names[value % TEST_ODD_NAMES];
    model.asides++;                      /* those in a zone that is dropped are too */
    switch (what) {
    case 0: prof_instant(text); break;
    case 1: prof_counter(text, (int64_t)value - 100); break;
    case 2: prof_set_arg("key", text); break;
    case 3: prof_set_shapes(&shape, NULL, 1); break;
    case 4: prof_memory_alloc(&shape, value, cpu); break;
    case 5: prof_memory_free(&shape, cpu); break;
    case 6: set_stack(&text, 1); break;
    default: prof_set_thread_name(text);
    }
}

/* The calls that the bytes say. Each takes one or two; time goes on between them. */
static void make_calls(bytes b) {
    while (b.at < b.end && model.count < MODEL_ZONES - 1) {
        unsigned op = next_byte(&b), arg = op >> 3 & 7;
        test_time.tick += op >> 6 ? (uint64_t)next_byte(&b) << (op >> 6 == 3 ? 26 : op >> 6) : 0;
        switch (op & 7) {
        case 0: case 1:
            model_begin(model_names[arg % 3]);
            begin_mark(arg % 3);
            break;
        case 2: case 3:
            model_begin(model_names[arg % MODEL_NAMES]);
            prof_push(model_names[arg % MODEL_NAMES]);
            break;
        case 4: case 5: case 6:
            model_end();
            if (arg & 1) prof_pop();
            else PROF_END();
            break;
        default: one_aside(arg, next_byte(&b)); break;
        }
    }
}

/* ---- One mode ---- */

static char sequence_memory[1 << 20];

/* Takes away the zones that the run before left open. */
static void forget_zones(void) {
    prof_desc desc = test_desc();
    desc.memory = sequence_memory;
    desc.memory_size = 1 << 16;
    desc.max_threads = 1;
    if (prof_start(&desc) != PROF_OK) return;
    prof_push("forget");
    for (int i = 0; i <= 2 * MODEL_DEPTH; i++) prof_pop();
    prof_stop();
    prof_thread_end();
}

static prof_trace *run_calls(bytes b, prof_desc *desc) {
    prof_trace *trace;
    forget_zones();
    model.count = model.ended_count = model.top = 0;
    model.unbalanced = model.deep = model.asides = 0;
    desc->max_depth = MODEL_DEPTH;
    desc->max_threads = 1;
    if (!desc->memory) {
        desc->memory = sequence_memory;
        desc->memory_size = sizeof sequence_memory;
    }
    memset(&test_time, 0, sizeof test_time);
    if (prof_start(desc) != PROF_OK) return NULL;
    make_calls(b);
    trace = prof_stop();
    while (model.top) model_close(true);
    return trace;
}

/* By the definition of the order of events; what began first stays first. */
static int model_order[MODEL_ZONES];

static int compare_zones(const void *a, const void *b) {
    int i = *(const int *)a, j = *(const int *)b;
    const model_zone *x = model.zones + i, *y = model.zones + j;
    if (x->start != y->start) return x->start < y->start ? -1 : 1;
    if (x->end != y->end) return x->end > y->end ? -1 : 1;
    if (x->depth != y->depth) return x->depth < y->depth ? -1 : 1;
    return i < j ? -1 : 1;
}

static void same_stats(const prof_desc *desc) {
    prof_stats stats = prof_get_stats(NULL);
    EQUAL(stats.unbalanced, model.unbalanced);
    EQUAL(stats.deep, desc->mode == PROF_MODE_AGGREGATE ? 0 : model.deep);
    CHECK(stats.dropped_full <= model.asides, "%u dropped", (unsigned)stats.dropped_full);
}

static void same_events(const prof_trace *trace) {
    size_t count, i;
    const prof_event *events = prof_events(trace, NULL, 0, &count);
    EQUAL(count, model.ended_count);
    count = 0;
    for (int k = 0; k < model.count; k++)
        if (model.zones[k].depth < MODEL_DEPTH) model_order[count++] = k;
    qsort(model_order, count, sizeof *model_order, compare_zones);
    for (i = 0; i < count; i++) {
        const model_zone *z = model.zones + model_order[i];
        bool deepest = z->depth == MODEL_DEPTH - 1;   /* what lies in it is only in sums */
        SAME_TEXT(events[i].name, z->name);
        EQUAL(events[i].start_ns, z->start);
        EQUAL(events[i].end_ns, z->end);
        EQUAL(events[i].depth, z->depth);
        EQUAL(events[i].self_cpu_time_total_ns, z->end - z->start - (deepest ? 0 : z->inner));
        EQUAL((events[i].flags & PROF_EVENT_UNFINISHED) != 0, z->open);
    }
    PASS_ON(test_tree(trace));
}

typedef struct sum { uint64_t count, total, self, least, most; } sum;

static void same_averages(const prof_trace *trace) {
    static prof_average rows[2 * MODEL_NAMES];
    sum sums[MODEL_NAMES];
    size_t n = prof_key_averages(trace, NULL, rows, 2 * MODEL_NAMES), names = 0;
    memset(sums, 0, sizeof sums);
    for (int i = 0; i < model.count; i++) {
        const model_zone *z = model.zones + i;
        uint64_t ns = z->end - z->start;
        int k = 0;
        while (strcmp(model_names[k], z->name) != 0) k++;
        if (!sums[k].count++ || ns < sums[k].least) sums[k].least = ns;
        if (ns > sums[k].most) sums[k].most = ns;
        sums[k].total += ns;
        sums[k].self += ns - z->inner;
    }
    for (int k = 0; k < MODEL_NAMES; k++) {
        sum got = { 0, 0, 0, 0, 0 };
        names += sums[k].count != 0;
        for (size_t i = 0; i < n; i++) {
            if (strcmp(rows[i].key, model_names[k]) != 0) continue;
            got.count += rows[i].count;
            got.total += (uint64_t)rows[i].cpu_time_total_ns;
            got.self += (uint64_t)rows[i].self_cpu_time_total_ns;
            got.least = (uint64_t)rows[i].min_ns;
            got.most = (uint64_t)rows[i].max_ns;
        }
        CHECK(memcmp(&got, sums + k, sizeof got) == 0,
              "'%s': count %u, not %u; total %lu, not %lu; self %lu, not %lu", model_names[k],
              (unsigned)got.count, (unsigned)sums[k].count, (unsigned long)got.total,
              (unsigned long)sums[k].total, (unsigned long)got.self, (unsigned long)sums[k].self);
    }
    EQUAL(n, names);
}

/* ---- Streams ---- */

static struct decoded { int count, next; bool bad; uint64_t sums; } decoded;

/* Zones come in the order in which they end, those that prof_stop ended too. */
static void same_zone(void *user, const prof_raw_item *item) {
    const model_zone *z;
    int number;
    (void)user;
    if (item->kind == PROF_RAW_SUMS) decoded.sums += item->average->count;
    if (item->kind != PROF_RAW_ZONE) return;
    number = decoded.count++;
    if (number >= model.ended_count) return;
    z = model.zones + model.ended[number];
    if (strcmp(z->name, item->name) || (uint64_t)item->start_ns != z->start ||
        (uint64_t)item->end_ns != z->end || item->depth != z->depth) {
        if (!decoded.bad)
            test_say("zone %d of the stream is '%s' %ld..%ld, not '%s' %ld..%ld: ", decoded.count,
                     item->name, (long)item->start_ns, (long)item->end_ns, z->name, (long)z->start,
                     (long)z->end);
        decoded.bad = true;
    }
}

static void same_stream(const test_text *text) {
    static char memory[1 << 20];
    prof_raw_desc desc;
    prof_raw_stats stats;
    prof_raw *raw = NULL;
    memset(&desc, 0, sizeof desc);
    memset(&decoded, 0, sizeof decoded);
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.item = same_zone;
    EQUAL(prof_raw_open(&desc, &raw), PROF_OK);
    prof_raw_feed(raw, text->data, text->size);
    EQUAL(prof_raw_close(raw, &stats), PROF_OK);
    EQUAL(decoded.count, model.ended_count);
    EQUAL(decoded.sums, model.deep);
    CHECK(!decoded.bad, "see before");
}

/* Whatever a sequence does, each mode says the same of it. json: checks a text, or NULL. */
TEST_UNUSED static void check_sequence(const uint8_t *data, size_t size,
                                       void (*json)(const char *data, size_t size)) {
    static const prof_mode modes[] = { PROF_MODE_TRACE, PROF_MODE_RING, PROF_MODE_AGGREGATE };
    bytes b = { data, data + size };
    test_text text;
    prof_trace *trace;
    memset(&text, 0, sizeof text);
    for (int i = 0; i < 3; i++) {
        prof_desc desc = test_desc();
        desc.mode = modes[i];
        desc.record_shapes = desc.profile_memory = i == 0 && size % 2;
        desc.with_stack = desc.profile_memory ? PROF_STACK_ZONES : PROF_STACK_NONE;
        trace = run_calls(b, &desc);
        CHECK(trace != NULL, "no trace in mode %d", (int)modes[i]);
        PASS_ON(same_stats(&desc));
        if (i == 2) PASS_ON(same_averages(trace));
        if (i == 2 || desc.profile_memory) continue;
        PASS_ON(same_events(trace));
        PASS_ON(same_averages(trace));
        EQUAL(test_write(trace, TEST_CHROME, &text), PROF_OK);
        EQUAL(test_times(text.data, "{\"ph\":\"X\""), model.ended_count);
        if (json) json(text.data, text.size);
        text.size = 0;
    }
    for (int chrome = 0; chrome < 2; chrome++) {
        prof_desc desc = test_desc();
        desc.mode = PROF_MODE_STREAM;
        desc.stream = test_text_sink(&text);
        desc.stream_format = chrome ? PROF_STREAM_CHROME : PROF_STREAM_RAW;
        CHECK(run_calls(b, &desc) != NULL, "no stream");
        PASS_ON(same_stats(&desc));
        if (!chrome) PASS_ON(same_stream(&text));
        else EQUAL(test_times(text.data, "\"ph\":\"X\""), model.ended_count);
        if (chrome && json) json(text.data, text.size);
        text.size = 0;
    }
    test_text_clear(&text);
}

/* The same in an arena that is too small: less of it, but nothing else. */
TEST_UNUSED static void check_small_arena(const uint8_t *data, size_t size, size_t arena) {
    prof_desc desc = test_desc();
    bytes b = { data, data + size };
    prof_trace *trace;
    prof_stats stats;
    desc.memory = sequence_memory;
    desc.memory_size = arena;
    trace = run_calls(b, &desc);
    if (!trace) return;
    PASS_ON(test_tree(trace));
    stats = prof_get_stats(NULL);
    CHECK(stats.recorded + stats.summed + stats.dropped + stats.lost >= (uint64_t)model.count,
          "%u zones, %u recorded, %u in sums, %u dropped", (unsigned)model.count,
          (unsigned)stats.recorded, (unsigned)stats.summed, (unsigned)stats.dropped);
    test_all_writers(trace);
}

#endif
