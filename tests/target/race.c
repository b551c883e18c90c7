/* Zones in an interrupt that comes at pseudo-random points of zones in the main loop, thousands of
   times; then sums, with names that both make at run time, and reports meanwhile; then an interrupt
   at each instruction of a session's first zones. Nothing may be lost, reordered or misplaced: the
   exit status is 0. tools/dev/embedded.sh builds it with the library's two kinds of protection, and
   without, which must fail. */
#include "prof.h"

#include "examples/baremetal/board.h"

enum { ROUNDS = 12000, SESSIONS = 60, SUMS = 100, NAMES = 20, SWEEP = 4000 };

static volatile uint32_t interrupts;
static volatile bool summing, once;
static uint32_t noise = 1;

static void push_and_pop(uint32_t n) {
    char name[] = "name?";
    name[4] = (char)('a' + n % NAMES);
    prof_push(name);
    prof_pop();
}

static void next_interrupt(void) {
    noise = noise >> 1 ^ ((noise & 1) ? 0xB400 : 0);
    board_timer(summing ? 24 + (noise & 63) : 8 + (noise & 15));
}

void board_on_timer(void) {
    if (once) board_timer(0);
    PROF_BLOCK("interrupt") {
        PROF_BLOCK("inside") interrupts = interrupts + 1;
    }
    if (summing) push_and_pop(noise);
    if (!once) next_interrupt();
}

static void say(const char *name, uint32_t n) {
    char text[11], *p = text + sizeof text;
    *--p = '\n';
    do *--p = (char)('0' + n % 10); while (n /= 10);
    while (*name) board_uart(NULL, name++, 1);
    board_uart(NULL, p, (size_t)(text + sizeof text - p));
}

static uint32_t count_of(const prof_event *events, size_t count, char first_letter) {
    uint32_t n = 0;
    for (size_t i = 0; i < count; i++) n += events[i].name[0] == first_letter && !events[i].name[1];
    return n;
}

/* Events whose parent is wrong: outside its time, or not the zone that it must be. */
static uint32_t misplaced(const prof_event *events, size_t count) {
    uint32_t n = 0;
    for (size_t i = 0; i < count; i++) {
        const prof_event *e = events + i, *up = events + e->parent;
        if (e->name[0] == 'b' && (e->parent == PROF_NONE || up->name[0] != 'a')) n++;
        if (e->name[0] == 'i' && e->name[2] == 's' &&
            (e->parent == PROF_NONE || up->name[2] != 't')) n++;
        if (e->end_ns < e->start_ns || e->self_cpu_time_total_ns < 0) n++;
        if (e->parent != PROF_NONE && (e->start_ns < up->start_ns || e->end_ns > up->end_ns)) n++;
        if (i && e->start_ns < events[i - 1].start_ns) n++;
    }
    return n;
}

static uint64_t memory[2048];
static prof_average rows[NAMES + 8];

/* What a session of sums has: its rows, zones of a name made at run time, the interrupt's. */
static bool sums_are(size_t count, uint32_t named, uint32_t inside) {
    size_t n = prof_snapshot(rows, NAMES + 8);
    for (size_t i = 0; i < n; i++) {
        if (rows[i].key[0] == 'n') named -= (uint32_t)rows[i].count;
        if (rows[i].key[0] == 'i') inside -= (uint32_t)rows[i].count;
    }
    return n == count && !named && !inside;
}

/* Two instructions for each two of n, and one more if it is odd. */
static void wait(uint32_t n) {
    uint32_t pairs = n / 2 + 1;
    __asm__ volatile(".syntax unified\n1:\tsubs %0, #1\n\tbne 1b" : "+l"(pairs) : : "cc");
    if (n & 1) __asm__ volatile("nop");
}

/* An interrupt at each instruction of what comes first in a session, and of zones by the short way
   through begin and end. How often it went wrong. */
static uint32_t wrong_sweep(void) {
    prof_desc desc = { 0 };
    uint32_t wrong = 0;
    desc.mode = PROF_MODE_AGGREGATE;
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.max_depth = 4;
    summing = once = true;
    for (uint32_t n = 0; n < SWEEP; n++) {
        uint32_t before = interrupts;
        if (prof_start(&desc) != PROF_OK) return 1;
        board_timer(SWEEP / 40);         /* an instruction is 1 ns, a tick 40 */
        wait(n);
        push_and_pop(noise + 1);
        for (int i = 0; i < 3; i++) {
            PROF_BLOCK("a") {}
        }
        while (interrupts == before) {}
        prof_stop();
        wrong += !sums_are(5, 2, 2) || prof_get_stats(NULL).recorded != 7 ||
                 prof_get_stats(NULL).dropped;
    }
    return wrong;
}

/* Sessions of little memory, so that both sum up again and again. How many were wrong. */
static uint32_t wrong_sums(void) {
    prof_desc desc = { 0 };
    uint32_t wrong = 0;
    desc.mode = PROF_MODE_AGGREGATE;
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    summing = true;
    for (int session = 0; session < SESSIONS; session++) {
        uint32_t before = interrupts, came;
        if (prof_start(&desc) != PROF_OK) return 1;
        next_interrupt();
        for (uint32_t i = 0; i < SUMS; i++) {
            PROF_BLOCK("a") push_and_pop(i);
            if (i % 32 == 31) (void)prof_snapshot(rows, NAMES + 8);
        }
        board_timer(0);
        prof_stop();
        came = interrupts - before;
        wrong += came < 3 || !sums_are(NAMES + 3, SUMS + came, 2 * came) ||
                 prof_get_stats(NULL).recorded != 2 * SUMS + 3 * came;
    }
    return wrong;
}

int main(void) {
    prof_desc desc = { 0 };
    prof_stats stats;
    const prof_event *events;
    const prof_trace *trace;
    size_t count;
    uint32_t wrong, bad;
    desc.platform.ticks_per_second = BOARD_HZ;
    if (prof_start(&desc) != PROF_OK) return 1;
    next_interrupt();
    for (uint32_t i = 0; i < ROUNDS; i++) {
        PROF_BEGIN("a");
        PROF_BLOCK("b") {}
        PROF_END();
    }
    board_timer(0);
    trace = prof_stop();
    events = prof_events(trace, NULL, 0, &count);
    stats = prof_get_stats(NULL);
    wrong = misplaced(events, count);
    say("interrupts ", interrupts);
    say("zones ", (uint32_t)count);
    say("misplaced ", wrong);
    say("unbalanced ", (uint32_t)stats.unbalanced);
    say("healed ", (uint32_t)stats.healed);
    say("dropped ", (uint32_t)stats.dropped);
    bad = wrong || stats.unbalanced || stats.healed || stats.dropped ||
          stats.unfinished || count != 2 * ROUNDS + 2 * interrupts ||
          count_of(events, count, 'a') != ROUNDS || count_of(events, count, 'b') != ROUNDS;
    if (interrupts < 1500) return 2;
    if (bad) return 3;
    wrong = wrong_sums();
    say("sessions of wrong sums ", wrong);
    if (wrong) return 4;
    wrong = wrong_sweep();
    say("wrong of the sweep ", wrong);
    return wrong ? 5 : 0;
}
