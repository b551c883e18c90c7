/* portable */
/* Random calls in several contexts, with all that zones carry, memory, ranges and kernels, against
   a slow, obviously right model of what they mean: events, what they carry, the reports; zones in
   rings, streams and sums too. */
#include "reference.h"
#include "../../tools/prof/raw_read.h"

enum { CONTEXTS = 3, MOST = 80, DEEP = 7, ROUNDS = 120, BLOCKS = 5 };

/* ---- The model ---- */

typedef enum item_kind { ZONE, MEMORY, RANGE, KERNEL } item_kind;

typedef struct item {
    item_kind kind;
    const char *name;
    int64_t start, end;
    int thread, parent, depth;           /* parent: of a kernel, what launched it */
    uint16_t flags;
    int64_t bytes[2];                    /* on the CPU, on the device; without children */
    bool carries;                        /* something of these: */
    prof_extra x;
    char module[40], args[200];
    int end_thread;
} item;

static item items[MOST];
static int item_count;

typedef struct context {
    void *handle;
    int64_t last;                        /* when it did something */
    int open[DEEP], depth, modules;
} context;

static context contexts[CONTEXTS], *here;
static struct { int64_t bytes; int device; bool used; } blocks[BLOCKS];
static prof_async ranges[MOST];
static int range_count, range_items[MOST];
static prof_desc desc;

static const char *const names[] = { "a", "b", "aten::mm" };
static const char *const module_names[] = { "net", "net.conv", "net.conv.1", "net.conv.1.relu" };
static const char *const module_parts[] = { "net", "conv", "1", "relu" };
static const int64_t dims[] = { 2, 3, 2, 5 };
static const prof_shape list_items[] = { { dims, NULL, 1 }, { dims + 1, NULL, 3 } };
static const prof_shape shapes[] = { { dims, NULL, 2 }, { dims + 1, NULL, 2 }, { dims, NULL, 4 },
                                     { NULL, list_items, 2 }, { NULL, NULL, 0 } };
static const char *const texts[] = {
    "float", "", "a longer text than eight", "eight by", "n\"ine" };
static const prof_tensor tensors[] = {
    { 1, 2, -3, { PROF_DEVICE_CPU, 0 } }, { UINT64_MAX, 5, 6, { PROF_DEVICE_CUDA, -1 } } };

static int thread_of(const context *c) { return (int)(c - contexts); }

/* Time goes on, though what contexts do one after the other may be at one time. */
static int64_t now(void) {
    test_time.tick += test_random(3);
    if ((int64_t)test_time.tick <= here->last) test_time.tick = (uint64_t)here->last + 1;
    return here->last = (int64_t)test_time.tick;
}

static item *add_item(item_kind kind, const char *name, int64_t start, int64_t end) {
    item *i = items + item_count++;
    memset(i, 0, sizeof *i);
    i->kind = kind;
    i->name = name;
    i->start = start;
    i->end = end;
    i->thread = thread_of(here);
    i->parent = -1;
    return i;
}

static item *innermost(void) { return here->depth ? items + here->open[here->depth - 1] : NULL; }

static void close_zone(context *c, int64_t end, bool by_stop) {
    item *z = items + c->open[--c->depth];
    z->end = end;
    if (by_stop) z->flags |= PROF_EVENT_UNFINISHED;
}

/* ---- Calls ---- */

static void begin(void) {
    item *up = innermost(), *z = add_item(ZONE, names[test_random(3)], now(), 0);
    if (up) z->parent = (int)(up - items);
    z->depth = here->depth;
    if (here->modules) strcpy(z->module, module_names[here->modules - 1]);
    here->open[here->depth++] = (int)(z - items);
    prof_push(z->name);
}

static void end(void) {
    close_zone(here, now(), false);
    prof_pop();
}

static uint32_t inputs(prof_extra *x, uint32_t count) {
    x->input_count = x->input_count && x->input_count < count ? x->input_count : count;
    return count;
}

static void carry_inputs(prof_extra *x) {
    uint32_t first = test_random(3), count = 1 + test_random(2);
    const char *const *types = test_random(2) ? texts + first : NULL;
    switch (test_random(5)) {
    case 0:
        prof_set_shapes(x->input_shapes = shapes + first, types, inputs(x, count));
        if (types) x->dtypes = types;
        break;
    case 1: set_strides(x->strides = shapes + first, inputs(x, count)); break;
    case 2:
        set_inputs(x->concrete_inputs = texts + first, inputs(x, count), "{}");
        x->kwinputs = "{}";
        break;
    case 3:
        set_outputs(x->output_shapes = shapes + first, types, x->output_count = count);
        x->output_dtypes = types;
        break;
    default: set_tensors(x->tensors = tensors, x->tensor_count = count);
    }
}

static void carry(void) {
    static int64_t value;
    item *z = innermost();
    prof_extra *x = &z->x;
    int number = (int)test_random(12);
    z->carries = true;
    switch (number) {
    case 0: set_overload(x->overload_name = texts[test_random(5)]); break;
    case 1: set_flops((uint64_t)(x->flops = 1 + test_random(100))); break;
    case 2: set_stack(x->stack = texts + 2, x->stack_count = test_random(4)); break;
    case 3: set_module(strcpy(z->module, texts[2])); break;
    case 4:
        set_annotation();
        z->flags |= PROF_EVENT_USER_ANNOTATION;
        break;
    case 5:
        x->scope = (uint8_t)test_random(2);
        x->has |= PROF_HAS_SEQUENCE_NR | (x->scope ? PROF_HAS_FWD_THREAD : 0);
        set_sequence(x->sequence_nr = --value, x->scope, x->fwd_thread = 7);
        break;
    case 6:
        if (strlen(z->args) > 150) break;
        sprintf(z->args + strlen(z->args), "%s\"key %d\":%d", *z->args ? "," : "", number,
                (int)--value);
        prof_set_arg_int("key 6", value);
        break;
    default: carry_inputs(x);
    }
}

static void memory(void) {
    static char addresses[BLOCKS];
    int b = (int)test_random(BLOCKS), on = blocks[b].used ? blocks[b].device : (int)test_random(2);
    prof_device device = { (uint8_t)(on ? PROF_DEVICE_CUDA : PROF_DEVICE_CPU), (int8_t)on };
    item *z = innermost();
    int64_t at = now(), bytes;
    if (!z) z = add_item(MEMORY, "[memory]", at, at);
    if (blocks[b].used) {
        bytes = -blocks[b].bytes;
        prof_memory_free(addresses + b, device);
    } else {
        bytes = blocks[b].bytes = 1 + test_random(1000);
        prof_memory_alloc(addresses + b, (size_t)bytes, device);
    }
    blocks[b].device = on;
    blocks[b].used = !blocks[b].used;
    z->bytes[on] += bytes;
}

static void range(void) {
    if (range_count && test_random(2)) {   /* by whatever context, in whatever order */
        int k = (int)test_random((uint32_t)range_count);
        item *i = items + range_items[k];
        i->end = now();
        i->end_thread = thread_of(here);
        prof_async_end(ranges[k]);
        ranges[k] = ranges[--range_count];
        range_items[k] = range_items[range_count];
        return;
    }
    add_item(RANGE, names[test_random(2)], now(), -1)->flags = PROF_EVENT_ASYNC;
    range_items[range_count] = item_count - 1;
    ranges[range_count++] = prof_async_begin(items[item_count - 1].name);
}

static void launch(void) {
    static const char *const kernels[] = { "k", "l" };
    static const prof_device gpu = { PROF_DEVICE_CUDA, 0 };
    item *z = innermost(), *k = add_item(KERNEL, kernels[test_random(2)], now(), 0);
    uint64_t token = prof_launch(prof_queue(gpu, NULL), k->name);
    if (z) k->parent = (int)(z - items);
    k->start += test_random(5);
    k->end = k->start + 1 + test_random(20);
    EQUAL(prof_launch_done(token, (uint64_t)k->start, (uint64_t)k->end), PROF_OK);
}

static void module_call(void) {
    if (here->modules && test_random(2)) {
        here->modules--;
        prof_module_pop();
    } else if (here->modules < 4) {
        prof_module_push(module_parts[here->modules++]);
    }
}

static void go_to(context *next) {
    context *from = here;
    if (next == from) return;
    here = next;
    from->handle = prof_context_switch(next->handle);
}

static void one_call(void) {
    switch (test_random(14)) {
    case 0: case 1: case 2: if (here->depth < DEEP) begin(); break;
    case 3: case 4: if (here->depth) end(); break;
    case 5: case 6: case 7: if (here->depth) carry(); break;
    case 8: if (desc.profile_memory) memory(); break;
    case 9: if (desc.mode <= PROF_MODE_RING) range(); break;
    case 10: if (desc.mode <= PROF_MODE_RING) launch(); break;
    case 11: if (desc.with_modules) module_call(); break;
    case 12: prof_counter("counter", now()); break;
    default: go_to(contexts + test_random(CONTEXTS));
    }
}

/* ---- The comparison ---- */

static void same_texts(const char *const *got, const char *const *want, uint32_t count) {
    uint32_t i;
    CHECK(!got == !want, "texts");
    for (i = 0; want && i < count; i++) SAME_TEXT(got[i], want[i]);
}

static void same_shapes(const prof_shape *got, const prof_shape *want, uint32_t count) {
    uint32_t i;
    CHECK(!got == !want, "shapes");
    for (i = 0; want && i < count; i++)
        CHECK(same_shape(got + i, want + i), "shape %u", (unsigned)i);
}

static void same_tensors(const prof_tensor *got, const prof_tensor *want, uint32_t count) {
    for (; count--; got++, want++) {
        EQUAL(got->id, want->id);
        EQUAL(got->storage, want->storage);
        EQUAL(got->offset, want->offset);
        EQUAL(got->device.type, want->device.type);
        EQUAL(got->device.index, want->device.index);
    }
}

static int64_t flops_of(const item *z) {
    static const prof_flops_desc small = { true, false, false, false, { NULL, NULL, 0 },
                                           { NULL, NULL, 0 }, { NULL, NULL, 0 }, 0,
                                           NULL, NULL, NULL };
    if (z->x.flops || !z->x.input_shapes) return z->x.flops;
    return (int64_t)prof_flops(z->name, z->x.input_shapes, z->x.input_count, &small);
}

/* Backward zones, and those in them, have their forward's stack: here none ran. */
static bool is_backward(const item *z) {
    return z->x.scope == 1 || (z->parent >= 0 && is_backward(items + z->parent));
}

/* What was given last counts; a zone that carries nothing has nothing. */
static void same_extra(const prof_extra *got, const item *z) {
    const prof_extra *want = &z->x;
    uint32_t stack_count = is_backward(z) ? 0 : want->stack_count;
    CHECK(got || !(z->carries || *z->module), "no extra");
    CHECK(!got || z->carries || *z->module || is_backward(z), "an extra");
    if (!got) return;
    EQUAL(got->has & (PROF_HAS_NODE_ID | PROF_HAS_SEQUENCE_NR | PROF_HAS_FWD_THREAD),
          want->has);
    EQUAL(got->sequence_nr, want->sequence_nr);
    EQUAL(got->fwd_thread, want->fwd_thread);
    EQUAL(got->scope, want->scope);
    EQUAL(got->flops, flops_of(z));
    SAME_TEXT(got->overload_name ? got->overload_name : "",
              want->overload_name ? want->overload_name : "");
    SAME_TEXT(got->kwinputs ? got->kwinputs : "", want->kwinputs ? want->kwinputs : "");
    SAME_TEXT(got->module_hierarchy ? got->module_hierarchy : "", z->module);
    SAME_TEXT(got->metadata_json ? got->metadata_json : "", z->args);
    EQUAL(got->input_count, want->input_count);
    PASS_ON(same_shapes(got->input_shapes, want->input_shapes, want->input_count));
    PASS_ON(same_shapes(got->strides, want->strides, want->input_count));
    PASS_ON(same_texts(got->dtypes, want->dtypes, want->input_count));
    PASS_ON(same_texts(got->concrete_inputs, want->concrete_inputs, want->input_count));
    EQUAL(got->output_count, want->output_count);
    PASS_ON(same_shapes(got->output_shapes, want->output_shapes, want->output_count));
    PASS_ON(same_texts(got->output_dtypes, want->output_dtypes, want->output_count));
    EQUAL(got->tensor_count, want->tensor_count);
    PASS_ON(same_tensors(got->tensors, want->tensors, want->tensor_count));
    EQUAL(got->stack_count, stack_count);
    if (stack_count) same_texts(got->stack, want->stack, stack_count);
}

/* Device time or bytes of an item and all in it. */
static int64_t total_of(int n, int what) {
    int64_t sum = what < 2 ? items[n].bytes[what] : 0;
    int i;
    if (what == 2 && items[n].kind == KERNEL) return items[n].end - items[n].start;
    for (i = 0; i < item_count; i++)
        if (items[i].parent == n) sum += total_of(i, what);
    return sum;
}

static prof_event_totals totals_of(int n) {
    const item *z = items + n;
    prof_event_totals t;
    int i;
    memset(&t, 0, sizeof t);
    t.cpu_time_total_ns = z->kind == KERNEL ? 0 : z->end - z->start;
    t.self_cpu_time_total_ns = z->kind == RANGE ? 0 : t.cpu_time_total_ns;
    t.device_time_total_ns = t.self_device_time_total_ns = total_of(n, 2);
    t.cpu_memory_usage = total_of(n, 0);
    t.device_memory_usage = total_of(n, 1);
    t.self_cpu_memory_usage = z->bytes[0];
    t.self_device_memory_usage = z->bytes[1];
    for (i = 0; i < item_count; i++) {
        if (items[i].parent != n || items[i].kind != ZONE) continue;
        t.self_cpu_time_total_ns -= items[i].end - items[i].start;
        t.self_device_time_total_ns -= total_of(i, 2);
    }
    return t;
}

static int find_item(const prof_event *e) {
    int i;
    for (i = 0; i < item_count; i++)
        if (strcmp(items[i].name, e->name) == 0 && items[i].start == e->start_ns &&
            items[i].end == e->end_ns && items[i].thread == (int)e->thread &&
            (items[i].kind == KERNEL) == (e->device_type == PROF_DEVICE_CUDA) &&
            (items[i].kind == RANGE) == ((e->flags & PROF_EVENT_ASYNC) != 0))
            return i;
    return -1;
}

static void same_event(const prof_trace *trace, const prof_event *events, const prof_event *e) {
    const uint16_t flags = PROF_EVENT_UNFINISHED | PROF_EVENT_ASYNC | PROF_EVENT_USER_ANNOTATION;
    int n = find_item(e), i, launched = 0;
    size_t count;
    const item *z = items + n;
    prof_event_totals want, got = prof_event_total(trace, e);
    CHECK(n >= 0, "no %s from %ld to %ld of thread %u", e->name, (long)e->start_ns, (long)e->end_ns,
          (unsigned)e->thread);
    EQUAL(e->flags & flags, z->flags);
    EQUAL(e->device_type, z->kind == KERNEL ? PROF_DEVICE_CUDA : PROF_DEVICE_CPU);
    if (z->kind == ZONE) {
        EQUAL(e->depth, z->depth);
        EQUAL(e->parent == PROF_NONE ? -1 : find_item(events + e->parent), z->parent);
        PASS_ON(same_extra(e->extra, z));
        for (i = 0; i < item_count; i++)
            launched += items[i].kind == KERNEL && items[i].parent == n;
        EQUAL(prof_event_kernels(trace, e, NULL, 0), launched);
    } else {
        EQUAL(e->parent, PROF_NONE);
        EQUAL(e->first_child, PROF_NONE);
    }
    if (z->kind == RANGE)
        EQUAL(e->extra->end_thread, prof_threads(trace, &count)[z->end_thread].id);
    want = totals_of(n);
    want.site = got.site;
    CHECK(!got.site || strcmp(got.site->name, e->name) == 0, "a site of another name");
    CHECK(memcmp(&want, &got, sizeof want) == 0, "%s: self %ld, not %ld; device %ld, not %ld; "
          "memory %ld, not %ld", e->name, (long)got.self_cpu_time_total_ns,
          (long)want.self_cpu_time_total_ns, (long)got.device_time_total_ns,
          (long)want.device_time_total_ns, (long)got.cpu_memory_usage, (long)want.cpu_memory_usage);
}

static void same_trace(const prof_trace *trace) {
    size_t count, i, open = 0, n;
    const prof_event *events = prof_events(trace, NULL, 0, &count);
    const prof_thread_info *threads = prof_threads(trace, &n);
    EQUAL(n, CONTEXTS);
    EQUAL(threads[0].id, 5);
    CHECK(threads[1].id != threads[2].id, "contexts of one id");
    for (i = 0; i < (size_t)item_count; i++) open += items[i].end < 0;
    EQUAL(count, (size_t)item_count - open);
    for (i = 0; i < count; i++) {
        PASS_ON(same_event(trace, events, events + i));
        open += events[i].flags & PROF_EVENT_UNFINISHED ? 1 : 0;
    }
    EQUAL(prof_get_stats(trace).unfinished, open);
    EQUAL(prof_get_stats(trace).dropped, 0);
    PASS_ON(test_tree(trace));
    PASS_ON(compare_reports(trace));
    test_all_writers(trace);
}

/* ---- Streams and sums ---- */

static int zones_read;

static void read_item(void *user, const prof_raw_item *raw) {
    int i;
    (void)user;
    if (raw->kind != PROF_RAW_ZONE || test_bad) return;
    zones_read++;
    for (i = 0; i < item_count; i++)
        if (items[i].kind == ZONE && items[i].start == raw->start_ns &&
            items[i].thread == (int)raw->thread) break;
    CHECK(i < item_count, "no zone at %ld", (long)raw->start_ns);
    SAME_TEXT(raw->name, items[i].name);
    EQUAL(raw->end_ns, items[i].end);
    EQUAL(raw->depth, items[i].depth);
    EQUAL(raw->flags & PROF_EVENT_UNFINISHED, items[i].flags & PROF_EVENT_UNFINISHED);
}

static int zone_count(void) {
    int i, n = 0;
    for (i = 0; i < item_count; i++) n += items[i].kind == ZONE;
    return n;
}

static void same_stream(const test_text *text) {
    static char memory[1 << 20];
    prof_raw_desc reader;
    prof_raw_stats stats;
    prof_raw *raw = NULL;
    memset(&reader, 0, sizeof reader);
    reader.memory = memory;
    reader.memory_size = sizeof memory;
    reader.item = read_item;
    zones_read = 0;
    EQUAL(prof_raw_open(&reader, &raw), PROF_OK);
    prof_raw_feed(raw, text->data, text->size);
    EQUAL(prof_raw_close(raw, &stats), PROF_OK);
    if (!test_bad) EQUAL(zones_read, zone_count());
}

static void same_sums(const prof_trace *trace) {
    prof_average rows[8];
    size_t n = prof_key_averages(trace, NULL, rows, 8), i;
    int k, all = 0;
    for (i = 0; i < n; i++) {
        int64_t count = 0, total = 0, self = 0, least = INT64_MAX, most = 0;
        for (k = 0; k < item_count; k++) {
            int64_t ns = items[k].end - items[k].start;
            if (items[k].kind != ZONE || strcmp(items[k].name, rows[i].key) != 0) continue;
            count++;
            total += ns;
            self += totals_of(k).self_cpu_time_total_ns;
            if (ns < least) least = ns;
            if (ns > most) most = ns;
        }
        EQUAL(rows[i].count, count);
        EQUAL(rows[i].cpu_time_total_ns, total);
        EQUAL(rows[i].self_cpu_time_total_ns, self);
        EQUAL(rows[i].min_ns, least);
        EQUAL(rows[i].max_ns, most);
        all += (int)count;
    }
    EQUAL(all, zone_count());
}

/* ---- Rounds ---- */

static uint32_t thread_id(void *user) {
    (void)user;
    return 5;
}

static void one_round(int calls) {
    prof_trace *trace;
    test_text text;
    int i;
    memset(contexts, 0, sizeof contexts);
    memset(blocks, 0, sizeof blocks);
    item_count = range_count = 0;
    here = contexts;
    memset(&text, 0, sizeof text);
    desc.stream = test_text_sink(&text);
    EQUAL(prof_start(&desc), PROF_OK);
    begin();                             /* the first context is the thread itself */
    for (i = 1; i < CONTEXTS; i++) go_to(contexts + i);
    while (calls-- && item_count < MOST && !test_bad) one_call();
    test_time.tick++;
    for (i = 0; i < CONTEXTS; i++)
        while (contexts[i].depth) close_zone(contexts + i, (int64_t)test_time.tick, true);
    trace = prof_stop();
    if (desc.mode == PROF_MODE_STREAM) same_stream(&text);
    else if (desc.mode == PROF_MODE_AGGREGATE) same_sums(trace);
    else same_trace(trace);
    test_text_clear(&text);
}

static void test_random_calls(void) {
    int round;
    for (round = 0; round < ROUNDS && !test_bad; round++) {
        test_seed = (uint32_t)round * 2654435761u + 3;
        desc = test_desc();
        desc.platform.thread_id = thread_id;
        desc.record_shapes = desc.with_flops = desc.with_modules = true;
        desc.profile_memory = test_random(2);
        (void)test_random(3);            /* for a field that is gone: so seeds mean the same */
        desc.mode = round % 4 ? (prof_mode)test_random(4) : PROF_MODE_TRACE;
        if (desc.mode == PROF_MODE_STREAM) desc.with_modules = false;   /* it cannot carry them */
        one_round(20 + (int)test_random(300));
        if (test_bad) test_say(" (round %d)", round);
        else test_clean_up();
    }
}

int main(void) {
    RUN(test_random_calls);
    return test_end();
}
