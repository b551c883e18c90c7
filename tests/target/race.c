/* Zones in an interrupt that comes at pseudo-random points of zones in the main loop, thousands of
   times. Nothing may be lost, reordered or misplaced: the exit status is 0. tools/dev/embedded.sh
   builds it with the library's two kinds of protection, and without, which must fail. */
#include "prof.h"

#include "examples/baremetal/board.h"

enum { ROUNDS = 12000 };

static volatile uint32_t interrupts;
static uint32_t noise = 1;

static void next_interrupt(void) {
    noise = noise >> 1 ^ ((noise & 1) ? 0xB400 : 0);
    board_timer(8 + (noise & 15));
}

void board_on_timer(void) {
    PROF_BLOCK("interrupt") {
        PROF_BLOCK("inside") interrupts = interrupts + 1;
    }
    next_interrupt();
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
    events = prof_events(trace, &count);
    stats = prof_get_stats();
    wrong = misplaced(events, count);
    say("interrupts ", interrupts);
    say("zones ", (uint32_t)count);
    say("misplaced ", wrong);
    say("unbalanced ", (uint32_t)stats.unbalanced);
    say("healed ", (uint32_t)stats.healed);
    say("dropped ", (uint32_t)stats.dropped);
    say("cut ", (uint32_t)stats.cut);
    bad = wrong || stats.unbalanced || stats.healed || stats.dropped || stats.cut ||
          stats.unfinished || count != 2 * ROUNDS + 2 * interrupts ||
          count_of(events, count, 'a') != ROUNDS || count_of(events, count, 'b') != ROUNDS;
    return interrupts < 1500 ? 2 : bad ? 3 : 0;
}
