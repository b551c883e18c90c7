/* portable */
/* Traces from events against a slow, obviously right reference, on random events: tree, merged
   duplicates, self and device times, memory, and the reports of them. */
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
    size_t i;
    given_count = test_random(MOST + 1);
    memset(given, 0, sizeof given);
    for (i = 0; i < given_count; i++) {
        prof_event *e = given + i;
        e->name = names[test_random(NAMES)];
        e->start_ns = (int64_t)test_random(40);
        e->end_ns = e->start_ns + (int64_t)test_random(test_random(3) ? 10 : 60);
        e->thread = test_random(2) * 7;
        if (!test_random(8)) e->flags |= PROF_EVENT_ASYNC;
        if (!test_random(8)) e->flags |= PROF_EVENT_LEGACY;
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
            if (models[p].e.flags & PROF_EVENT_LEGACY) continue;
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
    const prof_event *events = prof_events(trace, &count);
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
    prof_trace_desc desc;
    size_t i;
    int round;
    memset(&desc, 0, sizeof desc);
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.correlate = true;
    for (round = 0; round < 40 && !test_bad; round++) {
        test_seed = (uint32_t)round * 2654435761u + 5;
        random_events();
        for (i = 0; i < given_count; i++) {
            given[i].start_ns *= 1000;
            given[i].end_ns *= 1000;
        }
        EQUAL(prof_trace_from_events(&desc, given, given_count, &trace), PROF_OK);
        PASS_ON(compare_reports(trace));
        test_all_writers(trace);
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

int main(void) {
    RUN(test_random_events);
    RUN(test_raw_events);
    RUN(test_one_hash);
    return test_end();
}
