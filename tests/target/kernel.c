/* Tasks of a preemptive kernel of the test's own, with FreeRTOS's macros: PendSV switches to any
   task, whenever SysTick comes, at pseudo-random instructions. Four tasks: two and the queue
   between them, one whose children end in the midst of zones (their numbers grow for ever), and the
   one that records. Its clock stands but where a task works, so that the kernel's own account of
   what each zone was on the CPU is exact: what prof.h tells is compared with it, in all modes. Exit
   status 0: nothing is wrong. */
#include <stdint.h>
static volatile uint32_t kernel_clock;
#define PROF_CLOCK_AT (&kernel_clock)
#define PROF_IMPLEMENTATION
typedef unsigned long UBaseType_t;
#define configUSE_TRACE_FACILITY 1
#define tskKERNEL_VERSION_MAJOR 11
#include "examples/baremetal/kernel/freertos.h"

#include "examples/baremetal/board.h"

#define REGISTER(address) (*(volatile uint32_t *)(address))
enum { MAIN, PRODUCER, CONSUMER, PARENT, CHILD, TASKS, STACK = 1024, ROOM = 3,
       CHILDREN = 160,                   /* more than PROF_MAX_CONTEXTS */
#ifdef __ARM_ARCH_6M__
       PACE = 3                          /* its code is slower */
#else
       PACE = 1
#endif
};

typedef struct task {
    uint32_t *sp;
    uint32_t uxTCBNumber;
    UBaseType_t uxTaskNumber;
    char pcTaskName[16];
    bool lives;
    uint32_t ran, stretch;               /* ticks, all and since it last came */
} task;

typedef struct kernel_queue {
    uint32_t uxMessagesWaiting, uxLength;
    UBaseType_t uxQueueNumber;
    uint8_t ucQueueType;
} Queue_t;
static Queue_t queue = { 0, ROOM, 0, 0 };
static task tasks[TASKS];
static task *pxCurrentTCB;
static uint64_t stacks[TASKS][STACK / 2];
static uint32_t noise = NOISE, numbers, ticks, switches;
static volatile bool go, patient;        /* patient: to the one that records */
static volatile uint32_t busy, children;

/* ---- the kernel ---- */

static uint32_t chance(uint32_t n) {
    noise = noise >> 1 ^ ((noise & 1) ? 0x80200003u : 0);
    return (noise >> 4) % n;
}

uint32_t *kernel_switch(uint32_t *sp);   /* of the task that ran; returns that of the next */
uint32_t *kernel_switch(uint32_t *sp) {
    if (pxCurrentTCB) pxCurrentTCB->sp = sp;
    do pxCurrentTCB = tasks + (patient && chance(8) ? MAIN : chance(TASKS));
    while (!pxCurrentTCB->lives);
    switches++;
    traceTASK_SWITCHED_IN();
    return pxCurrentTCB->sp;
}

/* r4 to r11 below what the processor has saved, in Thumb-1. */
__attribute__((naked)) static void pend_sv(void) {
    __asm__ volatile(".syntax unified\n"
        "mrs r0, psp\n\tsubs r0, #32\n\tbmi 1f\n\tcmp r0, #0\n\tbeq 1f\n"
        "stmia r0!, {r4-r7}\n\tmov r4, r8\n\tmov r5, r9\n\tmov r6, r10\n\tmov r7, r11\n"
        "stmia r0!, {r4-r7}\n\tsubs r0, #32\n"
        "1: bl kernel_switch\n"
        "adds r0, #16\n\tldmia r0!, {r4-r7}\n"
        "mov r8, r4\n\tmov r9, r5\n\tmov r10, r6\n\tmov r11, r7\n"
        "msr psp, r0\n\tsubs r0, #32\n\tldmia r0!, {r4-r7}\n"
        "ldr r0, =0xFFFFFFFD\n\tbx r0\n\t.ltorg");
}

static void yield(void) {
    REGISTER(0xE000ED04) = 1u << 28;     /* PendSV */
    __asm__ volatile("dsb\n\tisb" : : : "memory");
}

static void task_over(void) { board_exit(90); }

static void task_make(uint32_t i, const char *name, void (*run)(void)) {
    task *t = tasks + i;
    uint32_t *sp = (uint32_t *)(stacks[i] + STACK / 2) - 16;
    for (int k = 0; k < 16; k++) sp[k] = 0;
    sp[13] = (uint32_t)(uintptr_t)task_over;
    sp[14] = (uint32_t)(uintptr_t)run & ~1u;
    sp[15] = 1u << 24;
    t->sp = sp;
    t->uxTCBNumber = ++numbers;
    for (int k = 0; k < 16; k++) t->pcTaskName[k] = 0;
    for (int k = 0; name[k]; k++) t->pcTaskName[k] = name[k];
    t->ran = 0;
    t->lives = true;
    traceTASK_CREATE(t);
}

static void task_delete(task *t) {
    uintptr_t mask = board_mask();
    traceTASK_DELETE(t);
    t->lives = false;
    for (int k = 0; k < 16; k++) t->pcTaskName[k] = '?';   /* as freed memory is */
    t->uxTaskNumber = 0;
    board_unmask(mask);
    if (t == pxCurrentTCB) yield();
}

void board_on_timer(void) {
    PROF_BLOCK("tick") ticks++;
    traceTASK_INCREMENT_TICK(ticks);
    REGISTER(0xE000E014) = PACE * (12 + chance(40));
    yield();
}

/* ---- what the tasks do, and the kernel's account of it ---- */

enum { PRODUCE, CONSUME, WAIT, INNER, LIFE, STEP, FAMILY, ZONES };
static const char *const names[] = { "produce", "consume", "wait", "inner", "life", "step",
                                     "family" };
static struct account { uint32_t count, on_cpu; } accounts[ZONES];

/* Time passes while a task works, and at no other. */
static void work(uint32_t n) {
    while (n--) {
        uintptr_t mask = board_mask();
        kernel_clock++;
        pxCurrentTCB->ran++;
        board_unmask(mask);
    }
}

static uint32_t account_begin(void) { return pxCurrentTCB->ran; }
static void account_end(int zone, uint32_t ran) {
    uintptr_t mask = board_mask();
    accounts[zone].count++;
    accounts[zone].on_cpu += pxCurrentTCB->ran - ran;
    board_unmask(mask);
}
#define ZONE(zone, name) \
    for (uint32_t ran_##zone = account_begin(), once_##zone = 1; once_##zone; \
         once_##zone = 0, account_end(zone, ran_##zone)) PROF_BLOCK(name)

static bool queue_give(void) {
    bool given = false;
    while (go && !given) {
        uintptr_t mask = board_mask();
        given = queue.uxMessagesWaiting < ROOM;
        if (given) {
            traceQUEUE_SEND(&queue);
            queue.uxMessagesWaiting++;
        } else {
            traceBLOCKING_ON_QUEUE_SEND(&queue);
        }
        board_unmask(mask);
        if (!given) yield();
    }
    if (!given) traceQUEUE_SEND_FAILED(&queue);
    return given;
}

static bool queue_take(void) {
    bool taken = false;
    while (go && !taken) {
        uintptr_t mask = board_mask();
        taken = queue.uxMessagesWaiting != 0;
        if (taken) {
            traceQUEUE_RECEIVE(&queue);
            queue.uxMessagesWaiting--;
        } else {
            traceBLOCKING_ON_QUEUE_RECEIVE(&queue);
        }
        board_unmask(mask);
        if (!taken) yield();
    }
    if (!taken) traceQUEUE_RECEIVE_FAILED(&queue);
    return taken;
}

/* A round of a task, while something records. */
static bool enter(void) {
    uintptr_t mask;
    bool in;
    while (!go) yield();
    mask = board_mask();
    in = go;
    busy += in;
    board_unmask(mask);
    return in;
}

static void leave(void) {
    uintptr_t mask = board_mask();
    busy--;
    board_unmask(mask);
}

static void producer(void) {
    for (;;) {
        if (!enter()) continue;
        ZONE(PRODUCE, "produce") {
            work(3 + chance(5));
            (void)queue_give();
        }
        leave();
    }
}

static void consumer(void) {
    for (;;) {
        if (!enter()) continue;
        ZONE(WAIT, "wait") (void)queue_take();
        ZONE(CONSUME, "consume") {
            work(2);
            ZONE(INNER, "inner") work(chance(4));
        }
        leave();
    }
}

/* Odd ones end by themselves, even ones by their parent, in the midst of a zone. */
static void child(void) {
    bool own = children & 1;
    uint32_t ran = account_begin();
    PROF_BEGIN("life");
    for (int i = 0; i < 2; i++) ZONE(STEP, "step") work(1 + chance(3));
    account_end(LIFE, ran);
    children++;
    if (own) task_delete(pxCurrentTCB);
    for (;;) yield();
}

static void parent(void) {
    for (;;) {
        if (!enter()) continue;
        ZONE(FAMILY, "family") {
            uint32_t before = children;
            uintptr_t mask = board_mask();
            task_make(CHILD, "child", child);
            board_unmask(mask);
            while (children == before) yield();
            if (tasks[CHILD].lives && !(before & 1)) task_delete(tasks + CHILD);
            while (tasks[CHILD].lives) yield();
        }
        leave();
    }
}

/* ---- what is recorded ---- */

static void say(const char *name, uint32_t n) {
    char text[11], *p = text + sizeof text;
    *--p = '\n';
    do *--p = (char)('0' + n % 10);
    while (n /= 10);
    while (*name) board_uart(NULL, name++, 1);
    board_uart(NULL, p, (size_t)(text + sizeof text - p));
}

static bool same(const char *a, const char *b) {
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

static uint32_t wrong;
static void check(const char *what, uint32_t got, uint32_t wanted) {
    if (got == wanted) return;
    say(what, got);
    say("    not ", wanted);
    wrong++;
}

static prof_average rows[32];

/* Calls by name, and how long they were on the CPU where that is known. */
static void check_rows(const prof_trace *trace, bool on_cpu) {
    size_t n = prof_key_averages(trace, NULL, rows, 32);
    for (int z = 0; z < ZONES; z++) {
        const prof_average *r = NULL;
        for (size_t i = 0; i < n; i++)
            if (same(rows[i].key, names[z])) r = rows + i;
        check(names[z], r ? (uint32_t)r->count : 0, accounts[z].count);
        if (on_cpu && r) check("  on CPU ", (uint32_t)r->on_cpu_ns, accounts[z].on_cpu);
    }
    for (size_t i = 0; i < n; i++)       /* who ran is in no sum */
        if (same(rows[i].key, "child") || same(rows[i].key, "main")) wrong++;
}

static const char *owner(const char *zone) {
    static const char *const owners[] = { "producer", "consumer", "consumer", "consumer", "child",
                                          "child", "parent" };
    for (int z = 0; z < ZONES; z++)
        if (same(zone, names[z])) return owners[z];
    return NULL;
}

/* Each zone is in its task's row and in the zone that it must be in; who ran follows each other. */
static void check_events(const prof_trace *trace) {
    size_t n, threads;
    const prof_event *events = prof_events(trace, NULL, 0, &n);
    const prof_thread_info *info = prof_threads(trace, &threads);
    uint32_t misplaced = 0, gaps = 0;
    int64_t end_ns = -1;
    for (size_t i = 0; i < n; i++) {
        const prof_event *e = events + i;
        const char *row = info[e->thread].name, *whose = owner(e->name), *up = "";
        if (e->parent != PROF_NONE) up = events[e->parent].name;
        if (row && same(row, "CPU")) {
            if (e->start_ns == e->end_ns) continue;   /* the clock stands: any order */
            gaps += (end_ns >= 0 && e->start_ns != end_ns) || e->depth;
            end_ns = e->end_ns;
        } else if (whose) {
            misplaced += !row || !same(row, whose);
            misplaced += !same(up, same(e->name, "inner") ? "consume" :
                                   same(e->name, "step") ? "life" : "");
        }
    }
    check("misplaced ", misplaced, 0);
    check("gaps between stretches ", gaps, 0);
    check("threads ", (uint32_t)threads > CHILDREN, 1);
}

static uint32_t streamed;
static bool stream(void *user, const void *data, size_t size) {
    (void)user;
    (void)data;
    streamed += (uint32_t)size;
    return true;
}

/* A session until so many children have come and gone. */
static void session(prof_mode mode, size_t memory_size) {
    static uint64_t memory[3000000 / 8];
    prof_desc desc = { 0 };
    prof_stats stats;
    const prof_trace *trace;
    uint32_t before = children;
    desc.mode = mode;
    desc.memory = memory;
    desc.memory_size = memory_size;
    desc.max_depth = 4;
    desc.stream.write = stream;
    for (int z = 0; z < ZONES; z++) accounts[z].count = accounts[z].on_cpu = 0;
    queue.uxMessagesWaiting = 0;
    if (prof_start(&desc) != PROF_OK) {
        wrong++;
        return;
    }
    go = true;
    while (children < before + CHILDREN) {
        patient = mode == PROF_MODE_STREAM;
        if (patient) (void)prof_flush();
        patient = false;
        yield();
    }
    go = false;
    while (busy) yield();
    (void)board_mask();                  /* the end of the test, for the others */
    trace = prof_stop();
    stats = prof_get_stats(NULL);
    __asm__ volatile("cpsie i");
    say("zones ", (uint32_t)stats.recorded);
    patient = true;
    check("tasks without a row ", (uint32_t)stats.dropped_threads, 0);
    check("dropped ", (uint32_t)stats.dropped, 0);
    if (mode != PROF_MODE_RING) {
        check("unbalanced ", (uint32_t)(stats.unbalanced + stats.healed), 0);
        check("unfinished ", (uint32_t)stats.unfinished, accounts[LIFE].count);
    }
    if (mode == PROF_MODE_TRACE) check_events(trace);
    if (mode == PROF_MODE_TRACE || mode == PROF_MODE_AGGREGATE)
        check_rows(trace, mode == PROF_MODE_TRACE);
    patient = false;
    say("children ", children - before);
}

static void recorder(void) {
    session(PROF_MODE_TRACE, 3000000);
    say("TRACE wrong ", wrong);
    session(PROF_MODE_STREAM, 49152);
    say("STREAM wrong ", wrong);
    session(PROF_MODE_AGGREGATE, 8192);
    say("AGGREGATE wrong ", wrong);
    session(PROF_MODE_RING, 49152);
    say("RING wrong ", wrong);
    say("ticks ", ticks);
    say("switches ", switches);
    board_exit(switches < 2000 ? 2 : wrong ? 3 : 0);
}

/* As an interrupt when the slow path is nearly over: the clock comes into a new half wrap. */
static bool late_tick(void *state, prof__frame *f) {
    (void)state;
    if (f) return false;
    kernel_clock += 1u << 31;
    prof_tick();
    return false;
}

static void check_late_tick(void) {
    prof_desc desc = { 0 };
    wrong += prof_start(&desc) != PROF_OK;
    prof__trace.ticked = late_tick;
    PROF_BLOCK("late") wrong += prof__contexts[0] != &prof__nowhere;   /* which sees each one */
    prof_stop();
    say("late tick wrong ", wrong);
}

int main(void) {
    static void (*vectors[16])(void) __attribute__((aligned(128)));
    for (unsigned i = 0; i < 16; i++) vectors[i] = *(void (*const *)(void))(uintptr_t)(i * 4);
    vectors[14] = pend_sv;
    REGISTER(0xE000ED08) = (uint32_t)(uintptr_t)vectors;
    REGISTER(0xE000ED20) = 0x40FF0000;   /* PendSV comes last */
    check_late_tick();
    task_make(MAIN, "main", recorder);
    task_make(PRODUCER, "producer", producer);
    task_make(CONSUMER, "consumer", consumer);
    task_make(PARENT, "parent", parent);
    __asm__ volatile("msr psp, %0" : : "r"(0));
    board_timer(200);
    for (;;) yield();
}
