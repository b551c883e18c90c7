/* prof_context_switch: fibers that open zones in turns. */
#include "../test.h"
#include "../../tools/prof/raw_read.h"

#include <pthread.h>

static void test_contexts_in_turns(void) {
    prof_desc desc = test_desc();
    const prof_event *events;
    const prof_thread_info *threads;
    prof_trace *trace;
    void *main_context, *a = NULL, *b = NULL;
    size_t count, thread_count, i;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BEGIN("main");
    main_context = prof_context_switch(NULL);   /* into fiber a */
    CHECK(main_context != NULL, "no context to come back to");
    prof_push("a");
    prof_push("a inner");
    test_time.tick += 10;
    a = prof_context_switch(NULL);       /* into b, with a's zones open */
    prof_push("b");
    test_time.tick += 100;
    b = prof_context_switch(a);
    prof_pop();                          /* a inner */
    a = prof_context_switch(b);
    prof_pop();                          /* b */
    prof_thread_end();                   /* b is over */
    CHECK(prof_context_switch(a) == NULL, "a context that is over");
    prof_pop();
    a = prof_context_switch(main_context);
    test_time.tick += 1000;
    PROF_END();
    trace = prof_stop();
    events = prof_events(trace, NULL, 0, &count);
    threads = prof_threads(trace, &thread_count);
    EQUAL(count, 4);
    EQUAL(thread_count, 3);
    CHECK(threads[0].id != threads[1].id && threads[1].id != threads[2].id, "rows of one id");
    for (i = 0; i < count; i++) EQUAL(events[i].flags, 0);
    EQUAL(test_find(trace, "main", 0)->end_ns, 1110);
    EQUAL(test_find(trace, "a inner", 0)->depth, 1);
    EQUAL(test_find(trace, "a inner", 0)->end_ns, 110);
    EQUAL(test_find(trace, "b", 0)->parent, PROF_NONE);
    EQUAL(test_find(trace, "b", 0)->end_ns, 110);
    EQUAL(prof_get_stats(trace).unbalanced, 0);
    PASS_ON(test_tree(trace));
}

static void test_contexts_over_sessions(void) {
    prof_desc desc = test_desc();
    void *kept = NULL;
    int i;
    CHECK(prof_context_switch(NULL) == NULL, "a context without a session");
    for (i = 0; i < 40; i++) {           /* more than there are states */
        desc = test_desc();
        desc.max_threads = 16;
        EQUAL(prof_start(&desc), PROF_OK);
        prof_push("outer");
        kept = prof_context_switch(kept);   /* of another session: a new one */
        CHECK(kept != NULL, "no state was left at %d", i);
        PROF_BLOCK("inner") (void)0;
        prof_stop();                     /* with kept parked */
        EQUAL(prof_get_stats(NULL).dropped, 0);
    }
}

/* Without room for a new context the thread is in none: what it begins there is dropped and
   counted, and what it ends there ends none of the zones that it left. */
static void test_contexts_without_room(void) {
    prof_desc desc = test_desc();
    void *own;
    prof_trace *trace;
    desc.max_threads = 1;
    EQUAL(prof_start(&desc), PROF_OK);
    prof_push("scheduler");
    own = prof_context_switch(NULL);
    CHECK(own != NULL, "no context to come back to");
    prof_push("fiber");
    EQUAL(prof_context_switch(own) == NULL, true);
    PROF_BLOCK("work") test_time.tick += 10;
    EQUAL(prof_context_switch(NULL) == own, true);
    prof_pop();                          /* fiber */
    EQUAL(prof_context_switch(own) == NULL, true);
    prof_pop();
    trace = prof_stop();
    EQUAL(test_find(trace, "work", 0)->depth, 1);
    EQUAL(test_find(trace, "scheduler", 0)->end_ns, 10);
    EQUAL(prof_get_stats(trace).recorded, 2);
    EQUAL(prof_get_stats(trace).dropped_threads, 1);
    EQUAL(prof_get_stats(trace).dropped, 1);
    EQUAL(prof_get_stats(trace).healed + prof_get_stats(trace).unbalanced, 0);
    PASS_ON(test_tree(trace));
}

/* What was a context's in one window is a thread's in the next: it stays the thread's. */
static pthread_barrier_t turn;

static void *other_thread(void *none) {
    prof_push("t");
    pthread_barrier_wait(&turn);         /* main closes the window, opens the next, and is in it */
    pthread_barrier_wait(&turn);
    prof_pop();
    prof_push("u");
    prof_pop();
    return none;
}

static void next_window(void) {
    EQUAL(prof_toggle(PROF_ACTIVITY_CPU, false), PROF_OK);
    EQUAL(prof_toggle(PROF_ACTIVITY_CPU, true), PROF_OK);
}

static void test_context_becomes_thread(void) {
    prof_desc desc = test_desc();
    const prof_event *m, *u;
    prof_trace *trace;
    pthread_t thread;
    desc.max_threads = 2;
    desc.platform.now = NULL;
    EQUAL(prof_start(&desc), PROF_OK);
    prof_push("a");
    CHECK(prof_context_switch(NULL) != NULL, "no second context");
    next_window();
    pthread_barrier_init(&turn, NULL, 2);
    EQUAL(pthread_create(&thread, NULL, other_thread, NULL), 0);
    pthread_barrier_wait(&turn);
    next_window();
    prof_push("m");
    pthread_barrier_wait(&turn);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&turn);
    prof_pop();
    trace = prof_stop();
    m = test_find(trace, "m", 0);
    u = test_find(trace, "u", 0);
    CHECK(m && u && m->thread != u->thread, "two threads in one state");
    EQUAL(m->flags, 0);
    EQUAL(u->depth, 0);
    EQUAL(test_find(trace, "t", 0)->flags, PROF_EVENT_UNFINISHED);
    PASS_ON(test_tree(trace));
}

/* Two fibers go down in turns, and up again, deeper than max_depth; totals are the test's own. */
enum { FIBERS = 2, LEVELS = 100 };
static const char *const fibers[FIBERS] = { "one", "two" };
static uint64_t began[FIBERS][LEVELS], totals[FIBERS];

static void go_deep(void **contexts) {
    for (int step = 0; step < 2 * FIBERS * LEVELS; step++) {
        int fiber = step % FIBERS, level = step / FIBERS;
        bool down = level < LEVELS;
        void *before = prof_context_switch(contexts[fiber]);
        if (step == 0) contexts[FIBERS] = before;
        else contexts[(step - 1) % FIBERS] = before;
        if (!down) level = 2 * LEVELS - 1 - level;
        test_time.tick += 3;
        if (down) began[fiber][level] = test_time.tick;
        else totals[fiber] += test_time.tick - began[fiber][level];
        if (down) prof_push(fibers[fiber]);
        else prof_pop();
    }
}

static void take_row(void *rows, const prof_raw_item *item) {
    for (int i = 0; i < FIBERS; i++) {
        prof_average *row = (prof_average *)rows + i;
        if (!item->name || strcmp(item->name, fibers[i])) continue;
        row->key = fibers[i];
        row->count += item->kind == PROF_RAW_SUMS ? item->average->count : 1;
        row->cpu_time_total_ns += item->kind == PROF_RAW_SUMS ? item->average->cpu_time_total_ns
                                                              : item->end_ns - item->start_ns;
    }
}

static void test_contexts_deep(void) {
    static const prof_mode modes[] = { PROF_MODE_TRACE, PROF_MODE_AGGREGATE, PROF_MODE_RING,
                                       PROF_MODE_STREAM };
    static char memory[1 << 20];
    for (size_t m = 0; m < sizeof modes / sizeof *modes; m++) {
        prof_desc desc = test_desc();
        prof_average rows[4];
        prof_raw_desc reader;
        prof_raw *raw;
        prof_trace *trace;
        test_text text;
        void *contexts[FIBERS + 1] = { NULL, NULL, NULL };
        memset(rows, 0, sizeof rows);
        memset(&text, 0, sizeof text);
        memset(&reader, 0, sizeof reader);
        memset(totals, 0, sizeof totals);
        desc.mode = modes[m];
        desc.max_depth = 8;
        desc.stream = test_text_sink(&text);
        EQUAL(prof_start(&desc), PROF_OK);
        prof_push("main");
        go_deep(contexts);
        prof_context_switch(contexts[FIBERS]);
        prof_pop();
        trace = prof_stop();
        reader.memory = memory;
        reader.memory_size = sizeof memory;
        reader.item = take_row;
        reader.user = rows;
        if (desc.mode == PROF_MODE_STREAM) {
            EQUAL(prof_raw_open(&reader, &raw), PROF_OK);
            prof_raw_feed(raw, text.data, text.size);
            EQUAL(prof_raw_close(raw, NULL), PROF_OK);
        } else {
            EQUAL(prof_key_averages(trace, NULL, rows, 4), FIBERS + 1);
        }
        for (int i = 0, found = 0; i < 4; i++) {
            int fiber = rows[i].key && strcmp(rows[i].key, fibers[0]) ? 1 : 0;
            if (!rows[i].key || strcmp(rows[i].key, "main") == 0) continue;
            EQUAL(rows[i].count, LEVELS);
            EQUAL(rows[i].cpu_time_total_ns, totals[fiber]);
            EQUAL(++found <= FIBERS, true);
        }
        if (desc.mode != PROF_MODE_AGGREGATE)
            EQUAL(prof_get_stats(NULL).deep, FIBERS * (LEVELS - 8));
        EQUAL(prof_get_stats(NULL).dropped + prof_get_stats(NULL).unfinished, 0);
        EQUAL(prof_get_stats(NULL).healed + prof_get_stats(NULL).unbalanced, 0);
        EQUAL(prof_get_stats(NULL).unbalanced, 0);
        test_text_clear(&text);
    }
}

/* Contexts that open and close zones by chance, each zone with a name of its own: in the array of
   all, each has its own times, parent and context, and test_tree holds. Among them, by what:
   nothing; instants; zones that carry shapes; ranges, which are events, too. */
enum { MIXED = 5, MIXED_ZONES = 600, MIXED_DEPTH = 6, INSTANTS = 1, SHAPES = 2, RANGES = 4 };

typedef struct mixed_zone { int context, parent; uint64_t start, end; } mixed_zone;

static mixed_zone mixed_zones[MIXED_ZONES];
static int mixed_open[MIXED][MIXED_DEPTH], mixed_depth[MIXED], mixed_count, mixed_ranges;
static prof_async mixed_range;           /* the last that began, in whatever context */

static void mixed_act(int context, int what) {
    int *open = mixed_open[context], *depth = &mixed_depth[context];
    char name[12];
    if (*depth && (*depth == MIXED_DEPTH || mixed_count == MIXED_ZONES || test_random(2))) {
        mixed_zones[open[--*depth]].end = test_time.tick;
        prof_pop();
    } else if (mixed_count < MIXED_ZONES) {
        mixed_zone *z = mixed_zones + mixed_count;
        z->context = context;
        z->parent = *depth ? open[*depth - 1] : -1;
        z->start = test_time.tick;
        snprintf(name, sizeof name, "%d", mixed_count);
        prof_push(name);
        if (what & SHAPES && test_random(2)) {
            int64_t sizes[] = { mixed_count };
            prof_shape shape = { sizes, NULL, 1 };
            prof_set_shapes(&shape, NULL, 1);
        }
        open[(*depth)++] = mixed_count++;
    }
    if (what & INSTANTS && test_random(9) == 0) prof_instant("instant");
    if (what & RANGES && test_random(20) == 0) {
        if (mixed_ranges++) prof_async_end(mixed_range);
        mixed_range = prof_async_begin("range");
    }
}

static void mixed_record(int what, bool coarse) {
    void *contexts[MIXED] = { NULL };
    int now = 0, left = 1;
    memset(mixed_depth, 0, sizeof mixed_depth);
    mixed_count = mixed_ranges = 0;
    for (int i = 0; mixed_count < MIXED_ZONES || left; i++) {
        int next = (int)test_random(MIXED), run = 1 + (int)test_random(coarse ? 20 : 3);
        if (next != now) contexts[now] = prof_context_switch(contexts[next]);
        for (now = next; run; run--) {
            test_time.tick += coarse ? 1000 * (test_random(4) == 0) : 1 + test_random(50);
            mixed_act(now, what);
        }
        for (int k = left = 0; k < MIXED; k++) left += mixed_depth[k];
    }
    if (mixed_ranges) prof_async_end(mixed_range);
    if (now) contexts[now] = prof_context_switch(contexts[0]);
}

static void mixed_check(const prof_trace *trace, uint64_t begin) {
    size_t count, ranges = 0;
    const prof_event *events = prof_events(trace, NULL, 0, &count);
    uint32_t thread[MIXED] = { 0, 0, 0, 0, 0 };
    PASS_ON(test_tree(trace));
    for (size_t i = 0; i < count; i++) {
        const prof_event *e = events + i;
        const mixed_zone *z = mixed_zones + atoi(e->name);
        ranges += e->flags & PROF_EVENT_ASYNC ? 1 : 0;
        if (e->flags & PROF_EVENT_ASYNC) continue;
        EQUAL(e->start_ns, z->start - begin);
        EQUAL(e->end_ns, z->end - begin);
        EQUAL(e->parent == PROF_NONE, z->parent < 0);
        if (z->parent >= 0) EQUAL(atoi(events[e->parent].name), z->parent);
        if (thread[z->context]) EQUAL(e->thread + 1, thread[z->context]);
        thread[z->context] = e->thread + 1;
    }
    EQUAL(ranges, mixed_ranges);
    EQUAL(count - ranges, MIXED_ZONES);
}

static void test_contexts_mixed(void) {
    for (int trial = 0; trial < 64; trial++) {
        prof_desc desc = test_desc();
        uint64_t begin = test_time.tick;
        int what = trial & 7;
        desc.record_shapes = what & SHAPES;
        test_seed = (uint32_t)trial + 1;
        EQUAL(prof_start(&desc), PROF_OK);
        mixed_record(what, trial & 8);
        PASS_ON(mixed_check(prof_stop(), begin));
    }
}

static void *handles[2];
static void *other_context(void *none) {
    prof_push("other");
    handles[1] = prof_context_switch(NULL);
    prof_thread_end();
    return none;
}

/* A handle of an earlier session or window is a new context, also where another one has its memory
   by now. */
static void old_handle(bool toggle) {
    pthread_t thread;
    prof_trace *trace;
    prof_stats stats;
    EQUAL(prof_start(NULL), PROF_OK);
    prof_push("first");
    handles[0] = prof_context_switch(NULL);
    if (toggle) prof_toggle(PROF_ACTIVITY_CPU, false);
    else prof_stop();
    if (toggle) prof_toggle(PROF_ACTIVITY_CPU, true);
    else EQUAL(prof_start(NULL), PROF_OK);
    EQUAL(pthread_create(&thread, NULL, other_context, NULL), 0);
    pthread_join(thread, NULL);
    prof_context_switch(handles[0]);
    prof_push("new");
    prof_pop();
    prof_pop();                          /* one too many */
    prof_context_switch(handles[1]);
    prof_pop();
    trace = prof_stop();
    EQUAL(test_find(trace, "new", 0)->depth, 0);
    EQUAL(test_find(trace, "other", 0)->flags, 0);
    stats = prof_get_stats(trace);
    EQUAL(stats.unbalanced, 1);
    EQUAL(stats.dropped, 0);
}

static void test_old_handles(void) {
    PASS_ON(old_handle(true));
    PASS_ON(old_handle(false));
}

int main(void) {
    RUN(test_old_handles);
    RUN(test_contexts_mixed);
    RUN(test_contexts_deep);
    RUN(test_contexts_in_turns);
    RUN(test_contexts_over_sessions);
    RUN(test_contexts_without_room);
    RUN(test_context_becomes_thread);
    return test_end();
}
