/* Everything at once, in each mode: eight threads mark zones and names, flush, dump, take snapshots
   and statistics, submit events, change contexts and die with zones open, while one of them after
   the other starts, stops, steps or toggles the session. Then each zone must be accounted for.
   REPEATS=n in the environment: so often (1; make stress: 100); SEED=n: the n-th alone. Each is a
   process of its own: what is in memory resembles the numbers of a process' first sessions most.
   With TEST_YIELD (make stress YIELD=1) threads let others run in the middle of what they do:
   before one of 64 atomic accesses. */
#if defined(TEST_YIELD)
static void test_point(void);
#  define PROF__POINT() test_point()
#endif
#include "../test.h"
#include "../../tools/prof/raw_read.h"

#include <pthread.h>
#include <sched.h>
#include <sys/wait.h>
#include <unistd.h>

#if defined(TEST_YIELD)
static void test_point(void) {
    static __thread uint32_t random;
    if (!random) random = ((uint32_t)(uintptr_t)&random * 2654435761u ^ (uint32_t)getpid()) | 1;
    random ^= random << 13;
    random ^= random >> 17;
    random ^= random << 5;
    if (random % 64) return;
    if (random >> 28) sched_yield();
    else usleep(20 + (random >> 8 & 127));
}
#endif

enum { THREADS = 8, SESSIONS = 3, DEPTH = 24, NAMES = 12, SNAPSHOT = 300, READER = 1 << 20,
       ROWS = 8192 };

/* ---- What the threads know of the session ---- */

enum { OFF, CHANGING, ON };

/* A number << 2 | one of these. What happens between two readings that are equal happens in that
   state. */
static uint32_t phase;

typedef struct tally { uint64_t zones, ends, others; } tally;   /* others: records that are none */

typedef struct slot {                    /* a thread, and those that take its place when it dies */
    pthread_t thread, before;            /* before: the one whose place it took */
    bool dies, again;
    uint32_t number, seen, random, serial, gone;
    tally sure, perhaps;                 /* done while on, and in a phase that changed */
    test_text text;                      /* its dumps */
    uint64_t *reader;                    /* memory for them */
    prof_average *rows;
} slot;

static slot slots[THREADS];
static uint32_t finish;

static uint32_t get(const uint32_t *p) { return __atomic_load_n(p, __ATOMIC_SEQ_CST); }
static void set(uint32_t *p, uint32_t n) { __atomic_store_n(p, n, __ATOMIC_SEQ_CST); }

static uint32_t dice(slot *me, uint32_t below) {
    me->random = me->random * 1664525u + 1013904223u;
    return (uint32_t)(((uint64_t)(me->random >> 4) * below) >> 28);
}

/* The next phase; unless it is CHANGING, waits until all threads know of it. */
static void phase_next(const slot *me, uint32_t state) {
    uint32_t next = ((get(&phase) >> 2) + 1) << 2 | state;
    set(&phase, next);
    for (int i = 0; state != CHANGING && i < THREADS; i++)
        while (slots + i != me && get(&slots[i].seen) != next) sched_yield();
}

/* Adds 1 to one of the counts, by the phases before and after what was done. */
#define COUNTED(me, field, what)                                        \
    do {                                                                \
        uint32_t phase_before = get(&phase), phase_after;               \
        what;                                                           \
        __atomic_thread_fence(__ATOMIC_SEQ_CST);                        \
        phase_after = get(&phase);                                      \
        if (phase_before != phase_after || (phase_before & 3) == CHANGING) (me)->perhaps.field++; \
        else if ((phase_before & 3) == ON) (me)->sure.field++;          \
    } while (0)
#define BEGIN(name) COUNTED(me, zones, PROF_BEGIN(name))
#define PUSH(name) COUNTED(me, zones, prof_push(name))
#define END() COUNTED(me, ends, PROF_END())

static void add(tally *sum, const tally *more) {
    sum->zones += more->zones;
    sum->ends += more->ends;
    sum->others += more->others;
}

/* ---- Reading what was written ---- */

typedef struct reading {
    size_t zones, others;
    int64_t ends[ROWS], counters[ROWS];  /* of each thread's last record */
    uint8_t who[ROWS];                   /* 1 + the slot whose names it has */
    char wrong[200];
} reading;

static reading readings[THREADS];

/* Is it a name that these threads mark, whole? who: 1 + the slot it is of, where it tells. */
static bool known(const char *name, uint32_t *who) {
    const char *rest = name[0] == 'w' ? name + 2 : name + 7;
    *who = 0;
    if (!strcmp(name, "loop") || !strcmp(name, "deeper") || !strcmp(name, "instant")) return true;
    if (!strcmp(name, "timeline ends") || !strcmp(name, "(others)"))
        return true;                     /* the arena was full */
    if (name[0] != 'w' && strncmp(name, "count ", 6) != 0) return false;
    *who = (uint32_t)(rest[-1] - '0') + 1;
    if (*who < 1 || *who > THREADS) return false;
    if (name[0] != 'w') return !*rest;
    return rest[0] == '.' && rest[1] >= 'a' && rest[1] < 'a' + NAMES && !rest[2];
}

static void take(void *user, const prof_raw_item *item) {
    reading *r = (reading *)user;
    uint32_t row = item->thread, who = 0;
    int64_t end = item->end_ns;
    if (item->kind != PROF_RAW_ZONE && item->kind != PROF_RAW_INSTANT &&
        item->kind != PROF_RAW_COUNTER) {
        r->others += item->kind == PROF_RAW_STEP;
        return;
    }
    if (item->kind == PROF_RAW_ZONE) r->zones += !test_partial(item->flags);
    else r->others++;
    if (row >= ROWS) return;
    if (!known(item->name, &who))
        snprintf(r->wrong, sizeof r->wrong, "a name '%.100s'", item->name);
    if (who && r->who[row] && r->who[row] != who)
        snprintf(r->wrong, sizeof r->wrong, "thread %u has names of two", (unsigned)row);
    if (who) r->who[row] = (uint8_t)who;
    if (item->kind == PROF_RAW_COUNTER && item->value <= r->counters[row])
        snprintf(r->wrong, sizeof r->wrong, "counter %lld after %lld", (long long)item->value,
                 (long long)r->counters[row]);
    if (item->kind == PROF_RAW_COUNTER) r->counters[row] = item->value;
    if (item->kind != PROF_RAW_ZONE || item->flags & PROF_EVENT_UNFINISHED) return;
    if (end < r->ends[row] || item->start_ns > end)
        snprintf(r->wrong, sizeof r->wrong, "%s from %lld to %lld after %lld", item->name,
                 (long long)item->start_ns, (long long)end, (long long)r->ends[row]);
    r->ends[row] = end;
}

/* Reads a raw stream; missing: some of what the threads wrote may be left out. */
static void read_raw(slot *me, const test_text *text, bool missing) {
    reading *r = readings + me->number;
    prof_raw_desc desc;
    prof_raw *raw = NULL;
    prof_raw_stats stats;
    memset(r, 0, sizeof *r);
    memset(&desc, 0, sizeof desc);
    desc.memory = me->reader;
    desc.memory_size = READER;
    desc.item = take;
    desc.user = r;
    EQUAL(prof_raw_open(&desc, &raw), PROF_OK);
    prof_raw_feed(raw, text->data, text->size);
    (void)prof_raw_close(raw, &stats);
    CHECK(!r->wrong[0], "%s", r->wrong);
    EQUAL(stats.damaged + stats.unknown_sites + stats.missing_blocks, 0);
    if (!missing) EQUAL(stats.missing_records, 0);
}

/* ---- What all threads do ---- */

static void wrong(const char *what) {
    printf("not ok stress: %s\n", what);
    fflush(stdout);
    abort();
}

static void dump(slot *me) {
    uint32_t on = get(&phase);
    prof_result result;
    me->text.size = 0;
    result = prof_dump(test_text_sink(&me->text));
    if (result != PROF_OK && result != PROF_ERROR_STATE) wrong(prof_strerror(result));
    if (result != PROF_OK || on != get(&phase)) return;
    read_raw(me, &me->text, true);
    if (test_bad) wrong(test_why);
}

static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;   /* whose it is may start and stop */
static prof_desc desc;
static uint64_t memory[(8 << 20) / 8];   /* an eighth has no room for the sums of all names */

/* Two snapshots of one recording: no count goes back. */
static void snapshots(slot *me) {
    uint64_t sums[2] = { 0, 0 };
    bool stays = pthread_mutex_trylock(&turn) == 0;
    for (int i = 0; i < 2; i++) {
        size_t n = prof_snapshot(me->rows, SNAPSHOT);
        for (size_t j = 0; stays && j < n && j < SNAPSHOT; j++) {
            uint32_t who;
            if (!known(me->rows[j].key, &who)) wrong(me->rows[j].key);
            if (me->rows[j].min_ns > me->rows[j].max_ns) wrong("least above most");
            sums[i] += me->rows[j].count;
        }
    }
    if (!stays) return;
    if (desc.memory_size != sizeof memory / 8 && sums[1] < sums[0]) wrong("sums went back");
    pthread_mutex_unlock(&turn);
}

static void look_at_stats(void) {
    prof_stats s = prof_get_stats(NULL);
    if (s.dropped != s.dropped_full + s.dropped_threads + s.dropped_busy)
        wrong("dropped is no sum");
    if (s.bytes_used > s.bytes_total) wrong("more bytes used than there are");
    if (s.healed || s.lost) wrong("healed or lost");
}

static uint64_t submits;                 /* also while a session is toggled off */

static void submit(slot *me) {
    prof_event event;
    char name[24];
    memset(&event, 0, sizeof event);
    snprintf(name, sizeof name, "worker %u", (unsigned)me->number);
    event.thread = prof_submit_thread(1000 + me->number, name);
    event.name = "outside";
    event.start_ns = prof_now();
    event.end_ns = event.start_ns;
    if (event.thread == PROF_NONE) return;
    __atomic_add_fetch(&submits, 1, __ATOMIC_SEQ_CST);
    (void)prof_submit(&event, 1);
}

static void zones(slot *me, uint32_t levels) {
    BEGIN("deeper");
    if (levels) zones(me, levels - 1);
    END();
}

static void named(slot *me) {
    char name[24];
    snprintf(name, sizeof name, "w%u.%c", (unsigned)me->number, (int)('a' + dice(me, NAMES)));
    PUSH(name);
    zones(me, dice(me, 3));
    END();
    snprintf(name, sizeof name, "count %u", (unsigned)me->number);
    COUNTED(me, others, prof_counter(name, ++me->serial));
}

/* A context of its own, which ends. */
static void context(slot *me) {
    void *back;
    COUNTED(me, others, back = prof_context_switch(NULL));
    named(me);
    if (!back) return;
    prof_thread_end();
    COUNTED(me, others, (void)prof_context_switch(back));
}

static void *live(void *me);

/* The thread is gone, without a word, with zones open; another takes its place. */
static void die(slot *me) {
    BEGIN("loop");
    BEGIN("deeper");
    me->dies = true;
}

static void something(slot *me) {
    char name[24];
    switch (dice(me, 60)) {
    case 0: case 1: case 2: (void)prof_flush(); break;
    case 3: if (dice(me, 8) == 0) dump(me); break;
    case 4: snapshots(me); break;
    case 5: case 6: look_at_stats(); break;
    case 7: submit(me); break;
    case 8: prof_thread_end(); break;
    case 9: context(me); break;
    case 10: if (dice(me, 3) == 0) die(me); break;
    case 11:
        snprintf(name, sizeof name, "worker %u", (unsigned)me->number);
        COUNTED(me, others, prof_set_thread_name(name));
        break;
    case 12: COUNTED(me, others, prof_instant("instant")); break;
    case 13: (void)test_info().step; break;
    case 14: sched_yield(); break;
    default: break;
    }
}

/* ---- One of them at a time: the session ---- */

static prof_mode mode;
static int sessions;                     /* still to come in this mode */
static bool session_open, recording, dropped_before;
static prof_action action;
static slot *caller;                     /* whose turn it is */
static test_text stream;
static uint32_t sink_fails, sink_calls;  /* one call in sink_fails; 0: none */
static tally sure_before, perhaps_before;   /* in earlier traces */
static uint64_t submits_before;          /* ... sessions */
static unsigned long traces, zones_seen;   /* of all repeats */

static bool sink(void *user, const void *data, size_t size) {
    uint32_t fails = get(&sink_fails);
    (void)user;
    if (fails && ++sink_calls % fails == 0) return false;
    return test_text_write(&stream, data, size);
}

/* What was done since the last trace. */
static void done_since(tally *sure, tally *perhaps) {
    tally sums[2] = { { 0, 0, 0 }, { 0, 0, 0 } };
    for (int i = 0; i < THREADS; i++) {
        add(&sums[0], &slots[i].sure);
        add(&sums[1], &slots[i].perhaps);
    }
    *sure = sums[0];
    *perhaps = sums[1];
    sure->zones -= sure_before.zones;
    sure->ends -= sure_before.ends;
    sure->others -= sure_before.others;
    perhaps->zones -= perhaps_before.zones;
    perhaps->ends -= perhaps_before.ends;
    perhaps->others -= perhaps_before.others;
    sure_before = sums[0];
    perhaps_before = sums[1];
}

#define WITHIN(low, n, high)                                                                 \
    do {                                                                                     \
        unsigned long long low_ = (low), n_ = (n), high_ = (high);                           \
        CHECK(low_ <= n_ && n_ <= high_, #n " is %llu, not %llu to %llu", n_, low_, high_);  \
    } while (0)

/* Each zone that was begun while recording was on is recorded or counted as dropped, and each end
   ended one, or is counted. */
static void account(const prof_stats *s) {
    tally sure, perhaps;
    uint64_t kept = s->recorded + s->overwritten, ended, extra, most;
    done_since(&sure, &perhaps);
    extra = sure.others + perhaps.others - submits_before;
    extra += __atomic_load_n(&submits, __ATOMIC_SEQ_CST);
    most = sure.zones + perhaps.zones;
    WITHIN(sure.zones, kept + s->dropped + s->not_kept, most + extra);
    WITHIN(0, kept, most);
    ended = kept + s->not_kept - s->unfinished + s->unbalanced;
    if (!s->dropped && !dropped_before)
        WITHIN(sure.ends, ended,
               sure.ends + perhaps.ends + (s->not_kept ? extra : 0));
    dropped_before = s->dropped != 0;
    EQUAL(s->healed + s->lost + s->clock_steps, 0);
    traces++;
    zones_seen += kept;
}

static void check_events(const prof_trace *trace, const prof_stats *s) {
    size_t count, i, zones_there = 0, unfinished = 0;
    const prof_event *events = prof_events(trace, NULL, 0, &count);
    PASS_ON(test_tree(trace));
    for (i = 0; i < count; i++) {
        uint32_t who;
        if (strcmp(events[i].name, "outside") && strncmp(events[i].name, "ProfilerStep", 12)) {
            CHECK(known(events[i].name, &who), "a name '%.100s'", events[i].name);
            zones_there += !test_partial(events[i].flags);
            unfinished += events[i].flags & PROF_EVENT_UNFINISHED;
        }
    }
    EQUAL(zones_there, s->recorded);
    if (!s->overwritten && !s->summed) EQUAL(unfinished, s->unfinished);
}

static void check_sums(slot *me, const prof_stats *s) {
    uint64_t sum = 0;
    size_t i, n = prof_snapshot(me->rows, SNAPSHOT);
    for (i = 0; i < n; i++) {
        uint32_t who;
        CHECK(known(me->rows[i].key, &who), "a name '%.100s'", me->rows[i].key);
        sum += me->rows[i].count;
    }
    EQUAL(sum, s->recorded);
}

/* What is in sums, too. */
static prof_stats with_sums(void) {
    prof_stats s = prof_get_stats(NULL);
    s.recorded += s.summed;
    return s;
}

/* All of a trace. */
static void check(slot *me, const prof_trace *trace) {
    prof_stats s = with_sums();
    PASS_ON(account(&s));
    s = prof_get_stats(NULL);
    if (mode == PROF_MODE_AGGREGATE) {
        PASS_ON(check_sums(me, &s));
    } else if (mode == PROF_MODE_STREAM) {
        PASS_ON(read_raw(me, &stream, false));
        EQUAL(readings[me->number].zones, s.recorded);
    } else {
        if (desc.keep != PROF_KEEP_RECORDS) PASS_ON(check_events(trace, &s));
        me->text.size = 0;
        while (prof_dump(test_text_sink(&me->text)) == PROF_ERROR_STATE) sched_yield();
        PASS_ON(read_raw(me, &me->text, mode == PROF_MODE_RING));
        if (mode == PROF_MODE_TRACE) EQUAL(readings[me->number].zones, s.recorded);
    }
}

static void check_trace(slot *me, const prof_trace *trace) {
    check(me, trace);
    if (test_bad) {
        test_say(" (mode %d, %s, %u threads, schedule %d)", (int)mode,
                 inside_os_clock ? "OS clock" : "CPU clock", (unsigned)desc.max_threads,
                 (int)desc.schedule.active);
        wrong(test_why);
    }
}

/* A window is complete: nothing is recorded now. */
static void ready(void *user, prof_trace *trace) {
    (void)user;
    phase_next(caller, OFF);
    check_trace(caller, trace);
    phase_next(caller, CHANGING);
}

static void session_start(slot *me) {
    static const size_t sizes[] = { 0, sizeof memory, sizeof memory / 4, sizeof memory / 8 };
    prof_result result;
    memset(&desc, 0, sizeof desc);
    desc.mode = mode;
    desc.memory_size = sizes[dice(me, 4)];
    desc.memory = desc.memory_size ? memory : NULL;
    if (desc.memory_size < sizeof memory && desc.memory && dice(me, 2))
        desc.memory = memory + sizeof memory / 16;
    submits_before = __atomic_load_n(&submits, __ATOMIC_SEQ_CST);
    desc.max_threads = dice(me, 4) ? 2 * THREADS : THREADS / 2;
    desc.max_depth = dice(me, 4) ? DEPTH : 4;
    inside_os_clock = dice(me, 3) == 0;
    desc.keep = mode == PROF_MODE_RING ? PROF_KEEP_EVENTS
              : dice(me, 4) ? PROF_KEEP_ROWS : PROF_KEEP_RECORDS;
    desc.stream.write = sink;
    desc.when_full = (prof_full)dice(me, 2);
    set(&sink_fails, mode == PROF_MODE_STREAM && dice(me, 2) ? 7 : 0);
    stream.size = 0;
    if (mode == PROF_MODE_TRACE && dice(me, 2)) {
        desc.memory = NULL;              /* each window finds room, whatever threads still hold */
        desc.memory_size = 0;
        desc.schedule.wait = dice(me, 2);
        desc.schedule.warmup = dice(me, 2);
        desc.schedule.active = 1 + dice(me, 3);
        desc.on_trace_ready = ready;
    }
    phase_next(me, CHANGING);
    result = prof_start(&desc);
    if (result != PROF_OK && result != PROF_ERROR_MEMORY) wrong(prof_strerror(result));
    session_open = result == PROF_OK;
    action = desc.schedule.active ? prof_schedule_action(&desc.schedule, 0) : PROF_ACTION_RECORD;
    recording = session_open && action >= PROF_ACTION_RECORD;
}

static void session_step(slot *me) {
    prof_action from = action;
    COUNTED(me, others, action = prof_step());
    if (action != from && !(from == PROF_ACTION_RECORD && action == PROF_ACTION_RECORD_AND_SAVE))
        recording = action >= PROF_ACTION_RECORD;
    else if (from == PROF_ACTION_RECORD_AND_SAVE) recording = true;
}

/* Returns the trace, where no callback has seen it. */
static const prof_trace *session_stop(void) {
    const prof_trace *trace;
    set(&sink_fails, 0);
    trace = prof_stop();
    if (!trace) wrong("no trace");
    session_open = recording = false;
    sessions--;
    return desc.schedule.active ? NULL : trace;
}

static void session_turn(slot *me) {
    const prof_trace *trace = NULL;
    caller = me;
    if (!session_open && sessions <= 0) {
        set(&finish, 1);
        return;
    }
    if (!session_open) {
        session_start(me);
    } else {
        uint32_t what = dice(me, desc.schedule.active ? 12 : 6);
        phase_next(me, CHANGING);
        if (what == 0) trace = session_stop();
        else if (what < 3 && prof_toggle(PROF_ACTIVITY_CPU, !recording) == PROF_OK)
            recording = !recording;
        else session_step(me);
    }
    phase_next(me, recording ? ON : OFF);
    if (trace) check_trace(me, trace);
}

/* ---- The threads ---- */

static void *live(void *user) {
    slot *me = (slot *)user;
    pthread_t before = me->before;
    bool again = me->again;
    me->dies = false;
    while (!get(&finish) && !me->dies) {
        set(&me->seen, get(&phase));
        BEGIN("loop");
        named(me);
        zones(me, dice(me, 5) ? dice(me, 3) : (uint32_t)DEPTH);
        something(me);
        if (dice(me, 40) == 0 && pthread_mutex_trylock(&turn) == 0) {
            if (!get(&finish)) session_turn(me);
            pthread_mutex_unlock(&turn);
        }
        if (!me->dies) END();
    }
    if (again) pthread_join(before, NULL);
    me->before = pthread_self();
    me->again = me->dies;
    if (!me->dies) set(&me->gone, 1);
    else if (pthread_create(&me->thread, NULL, live, me) != 0) wrong("no thread");
    pthread_exit(NULL);
}

static void run_mode(prof_mode which, uint32_t seed) {
    mode = which;
    sessions = TEST_TSAN && test_sample() > 1 ? 1 : SESSIONS;
    set(&finish, 0);
    for (uint32_t i = 0; i < THREADS; i++) {
        slot *me = slots + i;
        me->number = i;
        me->again = false;
        me->random = seed * THREADS + i;
        set(&me->gone, 0);
        if (pthread_create(&me->thread, NULL, live, me) != 0) wrong("no thread");
    }
    for (int i = 0; i < THREADS; i++) {
        while (!get(&slots[i].gone)) usleep(200);
        pthread_join(slots[i].thread, NULL);
    }
}

static void repeat(uint32_t seed) {
    for (uint32_t which = 0; which < 4; which++) run_mode((prof_mode)which, seed * 4 + which);
    if (!traces || !zones_seen) wrong("nothing was recorded");
    printf("%lu traces, %lu zones\n", traces, zones_seen);
    exit(0);
}

static void test_stress(void) {
    const char *repeats = getenv("REPEATS"), *seed = getenv("SEED");
    uint32_t n = repeats ? (uint32_t)atoi(repeats) : 1, i = seed ? (uint32_t)atoi(seed) : 0;
    for (n = seed ? i + 1 : n; i < n; i++) {
        int status = -1;
        pid_t child;
        fflush(stdout);
        child = fork();
        if (child == 0) repeat(i);
        CHECK(child > 0 && waitpid(child, &status, 0) == child && status == 0,
              "SEED=%u: status %#x", (unsigned)i, (unsigned)status);
    }
}

int main(void) {
    for (int i = 0; i < THREADS; i++) {
        slots[i].reader = (uint64_t *)malloc(READER);
        slots[i].rows = (prof_average *)malloc(SNAPSHOT * sizeof(prof_average));
    }
    RUN(test_stress);
    for (int i = 0; i < THREADS; i++) {
        free(slots[i].reader);
        free(slots[i].rows);
        test_text_clear(&slots[i].text);
    }
    test_text_clear(&stream);
    return test_end();
}
