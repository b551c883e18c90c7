/* portable */
/* Traces from events against a slow, obviously right reference, on random events: tree, merged
   duplicates, self and device times, memory, and the reports of them. */
#include "../../tools/prof/library.h"
#include "../../examples/kineto.h"
#include "reference.h"

enum { MOST = 60, NAMES = 4, ROUNDS = 150 };

/* ---- Random events ---- */

/* Two are equal and not one pointer; two names, two shapes and two nodes have one hash. */
static const char liquid[] = "liquid";
static const char *const names[NAMES] = { "costarring", liquid, "f", "liquid" };
static const int64_t dims[] = { 2, 3, 2 }, other_dims[] = { 2, 2 | (int64_t)1 << 32 };
static const prof_shape items[] = { { dims, NULL, 2 }, { dims, NULL, 2 }, { other_dims, NULL, 2 } };
static const prof_shape shapes[] = {
    { dims, NULL, 2 }, { dims, NULL, 3 }, { other_dims, NULL, 2 }, { NULL, items, 2 },
    { NULL, items + 2, 1 }, { NULL, NULL, 0 }, { dims + 1, NULL, 2 }, { dims, NULL, 2 } };
static const int32_t nodes[] = { 0, 1, 1 << 19 };
static const char *const frames[] = { "a.c(1): f", "b.c(2): g", "c.c(3): h" };
static const prof_kernel kernels[2] = { { "k", 5, 0 }, { "l", 70, 1 } };

static prof_event given[MOST];
static prof_extra extras[MOST];
static size_t given_count;

static void random_extra(prof_extra *x) {
    memset(x, 0, sizeof *x);
    x->has = test_random(4) ? 0 : PROF_HAS_NODE_ID;
    x->node_id = nodes[test_random(3)];
    x->kernels = kernels;
    x->kernel_count = test_random(3);
    x->cpu_memory_usage = (int64_t)test_random(100) - 50;
    x->device_memory_usage = (int64_t)test_random(100) - 50;
    x->flops = (int64_t)test_random(5);
    x->input_count = test_random(3);
    x->input_shapes = test_random(8) ? shapes + test_random(7) : NULL;
    x->stack = frames + test_random(2);
    x->stack_count = test_random(3);
    x->overload_name = test_random(2) ? "out" : NULL;
    x->scope = (uint8_t)(test_random(2) * 2);
}

static void random_events(void) {
    const bool legacy = !test_random(4);     /* a list is of legacy records, or has none */
    size_t i;
    given_count = test_random(MOST + 1);
    memset(given, 0, sizeof given);
    for (i = 0; i < given_count; i++) {
        prof_event *e = given + i;
        e->name = names[test_random(NAMES)];
        e->start_ns = (int64_t)test_random(40) - 20;
        e->end_ns = e->start_ns + (int64_t)test_random(test_random(3) ? 10 : 60);
        e->thread = test_random(2) * 7;
        if (!test_random(8)) e->flags |= PROF_EVENT_ASYNC;
        if (legacy) e->flags |= PROF_EVENT_LEGACY;
        if (!test_random(8)) e->flags |= PROF_EVENT_REMOTE;
        if (!test_random(8)) e->flags |= PROF_EVENT_USER_ANNOTATION;
        if (!test_random(6)) e->device_type = PROF_DEVICE_CUDA;
        random_extra(extras + i);
        if (test_random(3)) e->extra = extras + i;
    }
}

/* ---- The reference ---- */

typedef struct model {
    prof_event e;
    int parent;
    bool gone;
    prof_kernel kernels[2 * MOST];
    int kernel_count;
} model;

static model models[MOST];

static bool in_tree(const prof_event *e) {
    return e->device_type == PROF_DEVICE_CPU && !(e->flags & PROF_EVENT_ASYNC);
}

static void model_order(void) {
    size_t i, j;
    for (i = 0; i < given_count; i++) {
        memset(models + i, 0, sizeof models[i]);
        models[i].e = given[i];
    }
    for (i = 1; i < given_count; i++)    /* insertion keeps equal ones in order */
        for (j = i; j; j--) {
            const prof_event *a = &models[j - 1].e, *b = &models[j].e;
            model swap;
            if (a->start_ns < b->start_ns ||
                (a->start_ns == b->start_ns && a->end_ns >= b->end_ns)) break;
            swap = models[j];
            models[j] = models[j - 1];
            models[j - 1] = swap;
        }
}

/* The stack of PyTorch's _populate_cpu_children, for each thread and node on its own. */
static void model_parents(void) {
    static int stack[MOST];
    int depth = 0;
    size_t i, j;
    for (i = 0; i < given_count; i++) {
        const prof_event *e = &models[i].e;
        models[i].parent = -1;
        if (!in_tree(e)) continue;
        depth = 0;
        for (j = 0; j <= i; j++) {       /* replay this lane up to here */
            const prof_event *other = &models[j].e;
            if (!in_tree(other) || other->thread != e->thread || node_of(other) != node_of(e))
                continue;
            while (depth && !(other->start_ns < models[stack[depth - 1]].e.end_ns &&
                              other->end_ns <= models[stack[depth - 1]].e.end_ns))
                depth--;
            if (j == i && depth) models[i].parent = stack[depth - 1];
            stack[depth++] = (int)j;
        }
    }
}

static int children_of(int parent) {
    int i, n = 0;
    for (i = 0; i < (int)given_count; i++) n += !models[i].gone && models[i].parent == parent;
    return n;
}

static void model_kernels(void) {
    size_t i;
    for (i = 0; i < given_count; i++) {
        const prof_extra *x = models[i].e.extra;
        models[i].kernel_count = x ? (int)x->kernel_count : 0;
        if (x) memcpy(models[i].kernels, x->kernels, x->kernel_count * sizeof *x->kernels);
    }
}

static void model_merge(void) {
    bool again = true;
    while (again) {
        int i, j, p;
        again = false;
        for (i = 0; i < (int)given_count; i++) {
            p = models[i].parent;
            if (models[i].gone || p < 0 || children_of(p) != 1 ||
                strcmp(models[i].e.name, models[p].e.name) != 0) continue;
            models[i].gone = again = true;
            for (j = 0; j < (int)given_count; j++)
                if (models[j].parent == i) models[j].parent = p;
            if (models[p].e.flags & PROF_EVENT_LEGACY && models[p].kernel_count) continue;
            memcpy(models[p].kernels + models[p].kernel_count, models[i].kernels,
                   (size_t)models[i].kernel_count * sizeof models[i].kernels[0]);
            models[p].kernel_count += models[i].kernel_count;
        }
    }
}

static int64_t model_device(int n) {
    const prof_event *e = &models[n].e;
    int64_t sum = 0;
    int i;
    if (e->flags & PROF_EVENT_ASYNC) return 0;
    if (e->device_type != PROF_DEVICE_CPU) return e->end_ns - e->start_ns;
    for (i = 0; i < models[n].kernel_count; i++) sum += models[n].kernels[i].duration_ns;
    for (i = 0; i < (int)given_count && !(e->flags & PROF_EVENT_LEGACY); i++)
        if (!models[i].gone && models[i].parent == n) sum += model_device(i);
    return sum;
}

static prof_event_totals model_totals(int n) {
    const prof_event *e = &models[n].e;
    prof_event_totals t;
    int i;
    memset(&t, 0, sizeof t);
    t.device_time_total_ns = t.self_device_time_total_ns = model_device(n);
    t.cpu_time_total_ns = e->device_type == PROF_DEVICE_CPU ? e->end_ns - e->start_ns : 0;
    t.self_cpu_time_total_ns = in_tree(e) ? t.cpu_time_total_ns : 0;
    t.cpu_memory_usage = e->extra ? e->extra->cpu_memory_usage : 0;
    t.device_memory_usage = e->extra ? e->extra->device_memory_usage : 0;
    t.self_cpu_memory_usage = in_tree(e) ? t.cpu_memory_usage : 0;
    t.self_device_memory_usage = in_tree(e) ? t.device_memory_usage : 0;
    for (i = 0; i < (int)given_count; i++) {
        const prof_extra *x = models[i].e.extra;
        if (models[i].gone || models[i].parent != n) continue;
        t.self_cpu_time_total_ns -= models[i].e.end_ns - models[i].e.start_ns;
        t.self_device_time_total_ns -= model_device(i);
        t.self_cpu_memory_usage -= x ? x->cpu_memory_usage : 0;
        t.self_device_memory_usage -= x ? x->device_memory_usage : 0;
    }
    return t;
}

/* ---- The comparison ---- */

static char memory[1 << 20];
static prof_trace *trace;

static void compare_events(void) {
    size_t count, i, at = 0, place[MOST];
    const prof_event *events = prof_events(trace, NULL, 0, &count);
    for (i = 0; i < given_count; i++) place[i] = models[i].gone ? (size_t)MOST : at++;
    EQUAL(count, at);
    for (i = 0; i < given_count; i++) {
        const prof_event *e = events + place[i];
        prof_event_totals want, got;
        prof_kernel list[2 * MOST];
        if (models[i].gone) continue;
        want = model_totals((int)i);
        got = prof_event_total(trace, e);
        EQUAL(e->start_ns, models[i].e.start_ns);
        CHECK(e->extra == models[i].e.extra, "event %u is another", (unsigned)i);
        EQUAL(e->parent, models[i].parent < 0 ? PROF_NONE : (uint32_t)place[models[i].parent]);
        CHECK(memcmp(&want, &got, sizeof want) == 0,
              "event %u: cpu %ld, not %ld; device %ld, not %ld; self %ld, not %ld", (unsigned)i,
              (long)got.self_cpu_time_total_ns, (long)want.self_cpu_time_total_ns,
              (long)got.device_time_total_ns, (long)want.device_time_total_ns,
              (long)got.self_device_time_total_ns, (long)want.self_device_time_total_ns);
        EQUAL(e->self_cpu_time_total_ns, want.self_cpu_time_total_ns);
        EQUAL(prof_event_kernels(trace, e, list, 2 * MOST), models[i].kernel_count);
        for (at = 0; at < (size_t)models[i].kernel_count; at++)
            SAME_TEXT(list[at].name, models[i].kernels[at].name);
    }
}

/* ---- The same rows from spans ---- */

static char pool[4 << 20];
static size_t pool_used;

static void *pool_more(void *user, size_t size) {
    char *p = pool + pool_used;
    (void)user;
    if (size > sizeof pool - pool_used) abort();
    pool_used += (size + 15) & ~(size_t)15;
    return memset(p, 0xa5, size);
}

static bool tell_ends;
static size_t ended, ended_wrong;        /* calls that sums told of as they ended */

static void take_end(void *user, const call_end *end) {
    const prof_event *e = prof_events((const prof_trace *)user, NULL, 0, NULL) + end->order;
    prof_event_totals t = prof_event_total((const prof_trace *)user, e);
    bool apart = e->device_type != PROF_DEVICE_CPU || e->flags & PROF_EVENT_ASYNC;
    ended++;
    if (apart) return;                   /* they are in nothing: only counted */
    ended_wrong += end->self_ns != e->self_cpu_time_total_ns ||
                   end->device_ns != t.device_time_total_ns ||
                   end->self_device_ns != t.self_device_time_total_ns;
}

static call_sums *sums_of(const prof_averages_desc *by, bool merge) {
    call_sums_desc desc;
    memset(&desc, 0, sizeof desc);
    desc.averages = *by;
    desc.merge_duplicates = merge;
    desc.more = pool_more;
    desc.user = trace;
    if (tell_ends) desc.ended = take_end;
    ended = ended_wrong = 0;
    pool_used = 0;
    return call_sums_open(&desc);
}

static uint32_t lane_of(const prof_event *e) {
    return e->thread * 4 + (node_of(e) > 1 ? 3 : (uint32_t)(node_of(e) + 1));
}

static call_span span_of(call_sums *sums, const prof_event *e, uint32_t order) {
    call_span s;
    uint32_t i;
    memset(&s, 0, sizeof s);
    s.start_ns = e->start_ns;
    s.end_ns = e->end_ns;
    s.thread = lane_of(e);
    s.row = call_sums_row(sums, e, NULL);
    s.flags = e->flags & (PROF_EVENT_ASYNC | PROF_EVENT_LEGACY | PROF_EVENT_REMOTE);
    s.order = order;
    for (i = 0; e->extra && i < e->extra->kernel_count; i++)
        s.device_ns += e->extra->kernels[i].duration_ns;
    if (!e->extra) return s;
    s.cpu_bytes = e->extra->cpu_memory_usage;
    s.device_bytes = e->extra->device_memory_usage;
    s.flops = e->extra->flops;
    return s;
}

/* As compare_row; texts are copies, and there is no array for first to point into. */
static void compare_sums(call_sums *sums, const prof_averages_desc *by) {
    static prof_average rows[MOST], want[MOST];
    size_t n = prof_key_averages(trace, by, want, MOST), i;
    EQUAL(call_sums_close(sums, NULL, 0), n);
    EQUAL(call_sums_close(sums, rows, MOST), n);
    for (i = 0; i < n; i++) {
        prof_average *r = rows + i;
        uint32_t k;
        EQUAL(r->first, i);
        CHECK((r->parent == PROF_NONE) == (want[i].parent == PROF_NONE), "of %s", r->key);
        EQUAL(r->stack_count, want[i].stack_count);
        for (k = 0; k < r->stack_count; k++) SAME_TEXT(r->stack[k], want[i].stack[k]);
        EQUAL(r->input_count, want[i].input_count);
        for (k = 0; r->input_shapes && k < r->input_count; k++)
            CHECK(same_shape(r->input_shapes + k, want[i].input_shapes + k), "of %s", r->key);
        r->first = want[i].first;
        r->parent = want[i].parent;
        r->scope = want[i].scope;
        r->stack = want[i].stack;
        r->input_shapes = want[i].input_shapes;
        PASS_ON(compare_row(r, want + i));
    }
}

typedef struct nested { int64_t end_ns; uint32_t parent; bool is_launch; } nested;

static bool is_launch(const void *one) { return ((const nested *)one)->is_launch; }

static nested list[MOST];

/* The parents alone, in an array of one's own; and who launched what. */
static void compare_nest(void) {
    uint32_t top[256], up, i;
    span_nest nest;
    memset(top, 0xff, sizeof top);       /* PROF_NONE */
    memset(&nest, 0, sizeof nest);
    nest.spans = list;
    nest.size = sizeof list[0];
    nest.parent = (size_t)((char *)&list[0].parent - (char *)list);
    for (i = 0; i < given_count; i++) {
        const prof_event *e = &models[i].e;
        uint32_t lane = lane_of(e);
        if (!in_tree(e)) continue;
        CHECK(lane < 256, "lane %u", lane);
        up = span_nest_around(&nest, top[lane], e->start_ns, e->end_ns);
        list[i].end_ns = e->end_ns;
        list[i].parent = up;
        list[i].is_launch = given[i].name == names[2];
        top[lane] = i;
        up = i;
        while (up != PROF_NONE && list[up].is_launch) up = list[up].parent;
        EQUAL(span_nest_launcher(&nest, i, is_launch), up == PROF_NONE ? i : up);
        up = list[i].parent;
        while (up != PROF_NONE && models[up].gone) up = list[up].parent;
        if (!models[i].gone) EQUAL(up, (uint32_t)models[i].parent);
    }
    EQUAL(nest.overlaps, prof_get_stats(trace).misplaced);
    EQUAL(span_nest_launcher(&nest, PROF_NONE, is_launch), PROF_NONE);
}

/* Those that lie in this one, children first. */
static void push_nested(call_sums *sums, uint32_t parent, uint32_t depth) {
    uint32_t i;
    for (i = 0; i < given_count; i++) {
        call_span s;
        if (!in_tree(&models[i].e) || list[i].parent != parent) continue;
        s = span_of(sums, &models[i].e, i);
        push_nested(sums, i, depth + 1);
        s.depth = depth;
        s.flags |= CALL_DEPTH;
        call_sums_push(sums, &s);
    }
}

/* By the nest's parents, with the duplicates. */
static void spans_by_nest(const prof_averages_desc *by) {
    call_sums *sums = sums_of(by, true);
    size_t i;
    PASS_ON(compare_nest());
    for (i = 0; i < given_count; i++) {
        call_span s = span_of(sums, &models[i].e, (uint32_t)i);
        if (!in_tree(&models[i].e)) call_sums_push(sums, &s);
    }
    push_nested(sums, PROF_NONE, 0);
    PASS_ON(compare_sums(sums, by));
    prof_events(trace, NULL, 0, &i);
    EQUAL(call_sums_get_stats(sums).duplicates, given_count - i);
}

static void push_subtree(call_sums *sums, const prof_event *events, uint32_t i, uint32_t depth) {
    prof_event_totals t = prof_event_total(trace, events + i);
    call_span s = span_of(sums, events + i, i);
    uint32_t c;
    for (c = events[i].first_child; c != PROF_NONE; c = events[c].next_sibling)
        push_subtree(sums, events, c, depth + 1);
    s.device_ns = s.flags & PROF_EVENT_LEGACY ? t.device_time_total_ns
                                              : t.self_device_time_total_ns;
    s.depth = depth;
    s.flags |= CALL_DEPTH;
    call_sums_push(sums, &s);
}

/* By depth, children first, as a reader that knows the tree has them. */
static void spans_by_depth(const prof_averages_desc *by) {
    call_sums *sums;
    size_t count;
    const prof_event *events = prof_events(trace, NULL, 0, &count);
    uint32_t i;
    tell_ends = true;
    sums = sums_of(by, false);
    tell_ends = false;
    for (i = 0; i < count; i++)
        if (events[i].parent == PROF_NONE) push_subtree(sums, events, i, 0);
    PASS_ON(compare_sums(sums, by));
    EQUAL(ended, count);
    EQUAL(ended_wrong, 0);
}

static void compare_spans(void) {
    int i;
    for (i = 0; i < 16; i++) {
        prof_averages_desc by;
        memset(&by, 0, sizeof by);
        by.group_by_input_shapes = i & 1;
        by.group_by_overload_name = i & 2;
        by.group_by_stack_n = (uint32_t)i >> 2;
        PASS_ON(spans_by_nest(&by));
        PASS_ON(spans_by_depth(&by));
    }
}

static void one_round(void) {
    prof_trace_desc desc;
    size_t i;
    random_events();
    memset(&desc, 0, sizeof desc);
    memset(memory, 0xa5, sizeof memory);
    desc.memory = memory;
    desc.memory_size = prof_trace_memory_size(&desc, given, given_count);
    CHECK(desc.memory_size <= sizeof memory, "%lu bytes", (unsigned long)desc.memory_size);
    desc.view.device_name = "cuda";
    EQUAL(prof_trace_from_events(&desc, given, given_count, &trace), PROF_OK);
    model_order();
    model_parents();
    model_kernels();
    model_merge();
    PASS_ON(compare_events());
    PASS_ON(compare_reports(trace));
    PASS_ON(compare_spans());
    test_all_writers(trace);
    for (i = desc.memory_size; i < sizeof memory; i++)
        CHECK(memory[i] == (char)0xa5, "byte %lu behind the memory was written", (unsigned long)i);
}

static void test_random_events(void) {
    int round;
    for (round = 0; round < ROUNDS && !test_bad; round++) {
        test_seed = (uint32_t)round * 2654435761u + 1;
        one_round();
        if (test_bad) test_say(" (round %d)", round);
    }
}

/* The reports of traces of raw activities, in whole us, whose sums are exact as Python's are. */
static void test_raw_events(void) {
    kineto_events parsed;
    prof_trace_desc desc;
    size_t i;
    int round;
    memset(&desc, 0, sizeof desc);
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    for (round = 0; round < 40 && !test_bad; round++) {
        test_seed = (uint32_t)round * 2654435761u + 5;
        random_events();
        for (i = 0; i < given_count; i++) {
            given[i].start_ns *= 1000;
            given[i].end_ns *= 1000;
        }
        parsed = kineto_parse(&desc, given, given_count, NULL);
        EQUAL(prof_trace_from_events(&desc, parsed.events, parsed.count, &trace), PROF_OK);
        PASS_ON(compare_reports(trace));
        test_all_writers(trace);
        free(parsed.memory);
    }
}

/* Names, overloads, stacks and shapes that only their text tells apart, not their hash. */
static void test_one_hash(void) {
    static const char *const stacks[][2] = { { "main", "xhktcc" }, { "main", "sikyhg" } };
    static const char *const overloads[] = { "akpayv", "zjzqeh" };
    static const int64_t third[] = { 2, 3, 4205306309 }, only[] = { 1051656192 };
    static const prof_shape none = { NULL, NULL, 0 };
    static const prof_shape lists[] = { { NULL, items, 2 }, { NULL, items + 1, 2 },
                                        { third, NULL, 3 }, { dims, NULL, 2 },
                                        { only, NULL, 1 }, { NULL, &none, 1 } };
    prof_trace_desc desc;
    int i;
    memset(&desc, 0, sizeof desc);
    memset(given, 0, sizeof given);
    memset(extras, 0, sizeof extras);
    for (i = 0; i < 12; i++) {
        given[i].name = i < 2 ? names[i] : "f";
        given[i].start_ns = given[i].end_ns = i;
        given[i].extra = extras + i;
        if (i / 2 == 1) extras[i].overload_name = overloads[i % 2];
        if (i / 2 == 2) extras[i].stack = stacks[i % 2];
        if (i / 2 == 2) extras[i].stack_count = 2;
        if (i / 2 >= 3) extras[i].input_shapes = lists + (i - 6);
        if (i / 2 >= 3) extras[i].input_count = 1;
    }
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    EQUAL(prof_trace_from_events(&desc, given, 12, &trace), PROF_OK);
    PASS_ON(compare_reports(trace));
    EQUAL(reference_count, 12);          /* by all that there is */
}

/* ---- Zones by their ends ---- */

enum { ZONES = 400 };
static struct ended_zone { int64_t start; uint32_t depth, number, parent, written; }
    zones[ZONES], zones_at[ZONES];
static uint32_t zone_count, zones_written;
static int64_t zone_clock;

/* A zone and what is in it, by a clock that stands most of the time; its number. */
static uint32_t make_zones(uint32_t depth) {
    struct ended_zone own;
    uint32_t kids[4], count = 0, i;
    memset(&own, 0, sizeof own);
    own.start = zone_clock;
    while (count < 4 && zone_count < ZONES - 60 && depth < 40 && test_random(5) < 3)
        kids[count++] = make_zones(depth + 1);
    if (test_random(6) == 0) zone_clock++;
    own.depth = depth;
    own.number = zone_count;
    own.parent = PROF_NONE;
    for (i = 0; i < count; i++) zones[kids[i]].parent = zone_count;
    zones[zone_count] = own;
    return zone_count++;
}

static void write_zone(void *user, uint32_t place) {
    (void)user;
    zones[zones_at[place].number].written = ++zones_written;
}

static end_order *order_of(uint32_t room) {
    end_order *order = end_order_new(write_zone, NULL);
    if (!order || !end_order_room(order, room)) abort();
    zones_written = 0;
    return order;
}

/* What begins with the zone around it stands behind that one. */
static void test_order_of_ends(void) {
    uint32_t round, i;
    for (round = 0; round < 200 && !test_bad; round++) {
        end_order *order = order_of(ZONES);
        test_seed = round * 2654435761u + 3;
        zone_count = 0;
        zone_clock = 0;
        while (zone_count < ZONES - 60 && test_random(40)) (void)make_zones(0);
        for (i = 0; i < zone_count; i++)
            zones_at[end_order_add(order, zones[i].depth, zones[i].start)] = zones[i];
        end_order_end(order);
        end_order_free(order);
        EQUAL(zones_written, zone_count);
        for (i = 0; i < zone_count; i++) {
            const struct ended_zone *z = zones + i;
            CHECK(z->written, "zone %u was not written", (unsigned)i);
            if (z->parent != PROF_NONE && zones[z->parent].start == z->start)
                CHECK(zones[z->parent].written < z->written, "zone %u, round %u", (unsigned)i,
                      (unsigned)round);
        }
    }
}

/* Whatever comes, each is written once: few places, and depths that no program has. */
static void test_order_of_anything(void) {
    uint32_t round, i, n;
    for (round = 0; round < 200 && !test_bad; round++) {
        uint32_t room = 1 + round % 40 * (1 + round / 100);
        end_order *order = order_of(room);
        uint32_t most = round % 3 ? 1 + test_random(300) : 6;
        test_seed = round * 2654435761u + 9;
        memset(zones, 0, sizeof zones);
        for (i = n = 0; i < ZONES; i++) {
            uint32_t depth = test_random(most);
            uint32_t place = end_order_add(order, depth, (int64_t)test_random(3));
            CHECK(place < room, "place %u of %u", (unsigned)place, (unsigned)room);
            zones_at[place].number = i;
        }
        end_order_end(order);
        end_order_free(order);
        EQUAL(zones_written, ZONES);
        for (i = 0; i < ZONES; i++) CHECK(zones[i].written, "zone %u, round %u", (unsigned)i,
                                          (unsigned)round);
    }
}

/* Memory, steps, hidden spans, recursion; and all that is wrong. */
static void test_spans(void) {
    static const char *const texts[] = { "step", "f", "g", "[memory]" };
    prof_averages_desc by;
    call_sums *sums;
    prof_average rows[8];
    prof_event key;
    call_span s;
    size_t i, seen;
    uint64_t calls;
    enum { IN = CALL_DEPTH, CHANGE = CALL_MEMORY };
    static const struct {                /* children first; order: as they begin */
        int64_t start, end, bytes;
        uint32_t row, depth, order;
        unsigned flags;
    } spans[] = {
        { 0, 0, 3, 3, 0, 1, CHANGE },
        { 2, 2, 5, 3, 2, 5, IN | CHANGE }, { 1, 3, 0, 2, 2, 4, IN | CALL_HIDDEN },
        { 3, 4, 0, 1, 2, 6, IN }, { 0, 4, 0, 1, 1, 3, IN }, { 0, 10, 0, 0, 0, 2, IN },
        { 5, 12, 0, 2, 0, 7, IN }, { 10, 10, 0, 0, 0, 8, IN }, { 10, 20, 0, 0, 0, 9, IN },
        { 20, 20, 7, 3, 0, 10, CHANGE }, { 20, 20, 1, 3, 0, 11, CHANGE | CALL_HIDDEN },
        { 31, 32, 0, 1, 1, 13, IN }, { 30, 40, 0, PROF_NONE, 0, 12, IN } };
    static const uint8_t looks[] = { 1, 1, 1, 2, 3, 4, 5, 6, 7, 8, 8, 9, 9 };
    memset(&by, 0, sizeof by);
    memset(&key, 0, sizeof key);
    memset(&s, 0, sizeof s);
    sums = sums_of(&by, false);
    for (i = 0; i < 4; i++) {
        key.name = texts[i];
        EQUAL(call_sums_row(sums, &key, NULL), i);
    }
    for (i = 0; i < sizeof spans / sizeof *spans; i++) {
        s.start_ns = spans[i].start;
        s.end_ns = spans[i].end;
        s.cpu_bytes = spans[i].bytes;
        s.row = spans[i].row;
        s.depth = spans[i].depth;
        s.order = spans[i].order;
        s.flags = (uint16_t)spans[i].flags;
        call_sums_push(sums, &s);
        seen = call_sums_look(sums, rows, 8);        /* of what has ended, and ends nothing */
        for (calls = 0; seen; seen--) calls += rows[seen - 1].count;
        EQUAL(calls, call_sums_get_stats(sums).calls);
        EQUAL(calls, looks[i]);
    }
    EQUAL(call_sums_close(sums, rows, 8), 4);
    SAME_TEXT(rows[0].key, "step");
    SAME_TEXT(rows[1].key, "f");
    SAME_TEXT(rows[2].key, "[memory]");
    SAME_TEXT(rows[3].key, "g");
    EQUAL(rows[0].count, 3);             /* one of no length beside the one that it would be in */
    EQUAL(rows[0].cpu_memory_usage, 5);
    EQUAL(rows[0].self_cpu_memory_usage, 0);
    EQUAL(rows[0].self_cpu_time_total_ns, 10 - 4 + 10);
    CHECK(!rows[0].is_recursive && rows[1].is_recursive && !rows[3].is_recursive, "recursion");
    EQUAL(rows[2].count, 2);
    EQUAL(rows[2].cpu_memory_usage, 11);
    EQUAL(rows[1].count, 3);
    EQUAL(rows[1].cpu_time_total_ns, 6);
    EQUAL(rows[1].self_cpu_time_total_ns, 4 - 2 - 1 + 1 + 1);
    EQUAL(rows[1].self_cpu_memory_usage, 0);
    EQUAL(rows[3].count, 1);
    EQUAL(call_sums_get_stats(sums).self_cpu_time_total_ns, 10 + 7 + 10 + 10);
    EQUAL(call_sums_get_stats(sums).calls, 9);
}

/* Very many threads, one behind the other, take no more time and memory than a few. In each a zone
   with another, memory that changes between them, and some of a zone that never came. */
static void test_spans_threads(void) {
    enum { THREADS = 200000 };
    static const struct { int64_t end_ns, bytes; uint32_t depth; uint16_t flags; } kinds[] = {
        { 9, 0, 1, CALL_DEPTH }, { 0, 3, 0, CALL_DEPTH | CALL_MEMORY },
        { 0, 100, 1, CALL_DEPTH | CALL_MEMORY }, { 10, 0, 0, CALL_DEPTH }
    };
    prof_averages_desc by;
    prof_average rows[2];
    call_sums *sums;
    prof_event key;
    uint32_t i, kind;
    memset(&by, 0, sizeof by);
    memset(&key, 0, sizeof key);
    sums = sums_of(&by, false);
    for (i = 0; i < THREADS; i++)
        for (kind = 0; kind < 4; kind++) {
            call_span s;
            memset(&s, 0, sizeof s);
            key.name = kinds[kind].depth ? "inner" : "outer";
            s.row = call_sums_row(sums, &key, NULL);
            s.thread = i;
            s.end_ns = kinds[kind].end_ns;
            s.cpu_bytes = kinds[kind].bytes;
            s.depth = kinds[kind].depth;
            s.flags = kinds[kind].flags;
            call_sums_push(sums, &s);
        }
    EQUAL(call_sums_close(sums, rows, 2), 2);
    EQUAL(rows[0].count, THREADS);
    EQUAL(rows[1].count, THREADS);
    EQUAL(rows[0].cpu_memory_usage, 3 * THREADS);
    EQUAL(rows[1].cpu_memory_usage, 0);
    EQUAL(rows[0].self_cpu_time_total_ns, 1 * THREADS);
    CHECK(!rows[0].is_recursive && !rows[1].is_recursive, "recursion");
}

static void push_named(call_sums *sums, const char *name, int64_t start, int64_t end,
                       uint32_t depth, uint32_t order) {
    prof_event key;
    call_span s;
    memset(&key, 0, sizeof key);
    memset(&s, 0, sizeof s);
    key.name = name;
    s.row = call_sums_row(sums, &key, NULL);
    s.start_ns = start;
    s.end_ns = end;
    s.flags = CALL_DEPTH;
    s.depth = depth;
    s.order = order;
    call_sums_push(sums, &s);
}

/* Spans of another file: they lie in none of those before, and come after them, whenever it was. */
static void test_spans_next(void) {
    prof_averages_desc by;
    prof_average rows[4];
    call_sums *sums;
    memset(&by, 0, sizeof by);
    sums = sums_of(&by, false);
    push_named(sums, "late", 110, 120, 1, 2);
    push_named(sums, "open", 100, 200, 0, 1);
    call_sums_next(sums);
    push_named(sums, "early", 5, 9, 0, 3);
    push_named(sums, "within", 131, 132, 1, 5);
    push_named(sums, "open", 130, 140, 0, 4);
    EQUAL(call_sums_close(sums, rows, 4), 4);
    SAME_TEXT(rows[0].key, "open");
    SAME_TEXT(rows[1].key, "late");
    SAME_TEXT(rows[2].key, "early");
    SAME_TEXT(rows[3].key, "within");
    EQUAL(rows[0].count, 2);
    EQUAL(rows[0].cpu_time_total_ns, 110);
    EQUAL(rows[0].self_cpu_time_total_ns, 99);
    CHECK(!rows[0].is_recursive && rows[2].parent == PROF_NONE && rows[3].parent == 0, "parents");
    EQUAL(call_sums_get_stats(sums).calls, 5);
}

/* Sums of calls without spans: into the row of those that have, else a row of their own, last. */
static void test_spans_add(void) {
    prof_averages_desc by;
    prof_average rows[4], more;
    prof_event key;
    call_sums *sums;
    uint32_t alone, both;
    memset(&by, 0, sizeof by);
    memset(&key, 0, sizeof key);
    memset(&more, 0, sizeof more);
    sums = sums_of(&by, false);
    key.name = "alone";
    alone = call_sums_row(sums, &key, NULL);
    key.name = "both";
    both = call_sums_row(sums, &key, NULL);
    push_named(sums, "both", 10, 30, 0, 0);
    more.count = 3;
    more.cpu_time_total_ns = 90;
    more.self_cpu_time_total_ns = 60;
    more.min_ns = 5;
    more.max_ns = 50;
    more.p50_ns = more.p90_ns = more.p99_ns = 31;
    more.key = "whatever";
    call_sums_add(sums, both, &more);
    call_sums_add(sums, alone, &more);
    call_sums_add(sums, alone, &more);
    call_sums_add(sums, PROF_NONE, &more);
    EQUAL(call_sums_close(sums, rows, 4), 2);
    SAME_TEXT(rows[0].key, "both");
    EQUAL(rows[0].count, 4);
    EQUAL(rows[0].cpu_time_total_ns, 110);
    EQUAL(rows[0].self_cpu_time_total_ns, 80);
    EQUAL(rows[0].min_ns, 5);
    EQUAL(rows[0].max_ns, 50);
    SAME_TEXT(rows[1].key, "alone");
    EQUAL(rows[1].count, 6);
    EQUAL(rows[1].cpu_time_total_ns, 180);
    EQUAL(rows[1].p50_ns, 31);
    EQUAL(call_sums_get_stats(sums).self_cpu_time_total_ns, 20 + 4 * 60);
    EQUAL(call_sums_get_stats(sums).calls, 1);
}

int main(void) {
    RUN(test_spans_next);
    RUN(test_spans_add);
    RUN(test_random_events);
    RUN(test_order_of_ends);
    RUN(test_order_of_anything);
    RUN(test_spans);
    RUN(test_spans_threads);
    RUN(test_raw_events);
    RUN(test_one_hash);
    return test_end();
}
