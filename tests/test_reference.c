/* portable */
/* Traces from events against a slow, obviously right reference, on random events: tree, merged
   duplicates, self and device times, memory, averages by every grouping. */
#include "test.h"

enum { MOST = 60, NAMES = 4, ROUNDS = 500 };

/* ---- Random events ---- */

static const char *const names[NAMES] = { "f", "g", "f2", "g" };   /* two equal, not one pointer */
static const int64_t dims[] = { 2, 3, 2, 3 };
static const prof_shape shapes[2] = { { dims, NULL, 2 }, { dims, NULL, 3 } };
static const char *const frames[] = { "a.c(1): f", "b.c(2): g", "c.c(3): h" };
static const prof_kernel kernels[2] = { { "k", 5, 0 }, { "l", 70, 1 } };

static prof_event given[MOST];
static prof_extra extras[MOST];
static size_t given_count;

static void random_extra(prof_extra *x) {
    memset(x, 0, sizeof *x);
    x->has = test_random(4) ? 0 : PROF_HAS_NODE_ID;
    x->node_id = (int32_t)test_random(3);
    x->kernels = kernels;
    x->kernel_count = test_random(3);
    x->cpu_memory_usage = (int64_t)test_random(100) - 50;
    x->device_memory_usage = (int64_t)test_random(100) - 50;
    x->flops = (int64_t)test_random(5);
    x->input_shapes = shapes + test_random(2);
    x->input_count = test_random(2);
    x->stack = frames + test_random(2);
    x->stack_count = test_random(2);
    x->overload_name = test_random(2) ? "out" : NULL;
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

static int32_t node_of(const prof_event *e) {
    return e->extra && e->extra->has & PROF_HAS_NODE_ID ? e->extra->node_id : -1;
}

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

static bool same_row(const prof_event *a, const prof_event *b, const prof_averages_desc *by) {
    static prof_extra none;
    const prof_extra *x = a->extra ? a->extra : &none, *y = b->extra ? b->extra : &none;
    const uint16_t flags = PROF_EVENT_LEGACY | PROF_EVENT_USER_ANNOTATION;
    uint32_t n = x->stack_count < by->group_by_stack_n ? x->stack_count : by->group_by_stack_n;
    uint32_t m = y->stack_count < by->group_by_stack_n ? y->stack_count : by->group_by_stack_n;
    if (strcmp(a->name, b->name) != 0 || node_of(a) != node_of(b)) return false;
    if (a->device_type != b->device_type || ((a->flags ^ b->flags) & flags)) return false;
    if (by->group_by_overload_name && (x->overload_name != NULL) != (y->overload_name != NULL))
        return false;
    if (by->group_by_input_shapes &&
        (x->input_count != y->input_count ||
         (x->input_count && x->input_shapes->count != y->input_shapes->count)))
        return false;
    return n == m && (!n || strcmp(x->stack[0], y->stack[0]) == 0);   /* stacks of at most 1 */
}

static void compare_averages(const prof_averages_desc *by) {
    static prof_average rows[MOST];
    static int row_of[MOST];
    size_t n = prof_key_averages(trace, by, rows, MOST), row, i, first, seen = 0;
    for (i = 0; i < given_count; i++) {  /* rows in the order they are first seen */
        if (models[i].gone) continue;
        for (first = 0; first < i; first++)
            if (!models[first].gone && same_row(&models[first].e, &models[i].e, by)) break;
        row_of[i] = first < i ? row_of[first] : (int)seen++;
    }
    EQUAL(n, seen);
    for (row = 0; row < n; row++) {
        int64_t sum[8] = { 0, 0, 0, 0, 0, 0, 0, 0 };
        uint64_t count = 0;
        for (i = 0; i < given_count; i++) {
            prof_event_totals t;
            if (models[i].gone || row_of[i] != (int)row) continue;
            t = model_totals((int)i);
            count++;
            sum[0] += t.cpu_time_total_ns;
            sum[1] += t.self_cpu_time_total_ns;
            sum[2] += t.device_time_total_ns;
            sum[3] += t.self_device_time_total_ns;
            sum[4] += t.self_cpu_memory_usage;
            sum[5] += t.device_memory_usage;
            sum[6] += t.self_device_memory_usage;
            sum[7] += models[i].e.extra ? models[i].e.extra->flops : 0;
        }
        EQUAL(rows[row].count, count);
        EQUAL(rows[row].cpu_time_total_ns, sum[0]);
        EQUAL(rows[row].self_cpu_time_total_ns, sum[1]);
        EQUAL(rows[row].device_time_total_ns, sum[2]);
        EQUAL(rows[row].self_device_time_total_ns, sum[3]);
        EQUAL(rows[row].self_cpu_memory_usage, sum[4]);
        EQUAL(rows[row].device_memory_usage, sum[5]);
        EQUAL(rows[row].self_device_memory_usage, sum[6]);
        EQUAL(rows[row].flops, sum[7]);
    }
}

static void one_round(void) {
    static const prof_averages_desc by[] = {
        { false, false, 0, false }, { true, false, 0, false }, { false, true, 0, false },
        { false, false, 1, false }, { true, true, 5, false } };
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
    for (i = 0; i < sizeof by / sizeof *by; i++) PASS_ON(compare_averages(by + i));
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

int main(void) {
    RUN(test_random_events);
    return test_end();
}
