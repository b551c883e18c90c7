/* The events of a large file, scanned by another thread: see events_ahead.h. */
#include "input/events_ahead.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Only those that are as they should be. What is not, stops it, and is scanned again and told
   where it is in turn: see scan_element in trace_reader.c. */
static void scan_block(void *user, ahead_block *b) {
    chrome_scan *s = user;
    const char *p = s->json.buffer = b->text, *next;
    bool last = false;
    s->json.used = b->used;
    s->json.base = b->base;
    s->args = b->args;
    s->arg_capacity = b->arg_capacity;
    s->arg_first = b->count = 0;
    s->json.outcome = MORE;
    while ((next = skip_comma(&s->json, p, ']', &last)) != NULL && *next == '{') {
        scanned_event event;         /* nothing is read where the other processor reads */
        next = chrome_event(s, next, &event);
        if (!next || s->json.defective) break;
        GROW(b->events, b->count, b->capacity);
        memcpy(&b->events[b->count], &event, offsetof(scanned_event, rare));
        if (event.has_rare) b->events[b->count].rare = event.rare;
        b->count++;
        s->arg_first += event.arg_count;
        p = next;
    }
    b->args = s->args;
    s->args = NULL;
    b->arg_capacity = s->arg_capacity;
    b->scanned = (size_t)(p - b->text);
    bool more = next ? next == s->json.buffer + s->json.used : s->json.outcome == MORE;
    b->last |= s->json.defective || !more;
}

const char *ahead_next(events_ahead *a, chrome_scan *s, trace_event *event) {
    const ahead_block *b = a->block;
    if (a->taken == b->count) return stop(&s->json, MORE, b->text + b->scanned, NULL);
    chrome_hand_out(s, &b->events[a->taken++], b->args + a->args_taken, event);
    a->args_taken += event->arg_count;
    if (!chrome_times_fit(s, event->ts_ns, event->dur_ns))
        return stop(&s->json, BAD, event->raw.data, chrome_no_times);
    return event->raw.data + event->raw.size;
}

void ahead_leave(events_ahead *a) {
    if (!a->ahead) return;
    ahead_stop(a->ahead);
    chrome_free(a->scanner);
    free(a->scanner);
    a->scanner = NULL;
    a->ahead = NULL;
    a->block = NULL;
}

/* Two threads are faster than one where their processors share a cache. Where they do not, handing
   events over may take longer than scanning them. So both ways are timed, again and again, and the
   faster one goes on, for twice as long where it was the faster one before. What a new thread reads
   first takes longer than the rest: that does not count. */
enum { START = 8 * AHEAD_BYTES, TRIAL = 32 * AHEAD_BYTES, STRETCH = 32 * TRIAL,
       LONGEST = 8 * STRETCH };

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* starts: a thread; its clock is begun by note_pace. */
static void begin_pace(pace *w, uint64_t at, uint64_t size, bool starts) {
    w->begin = at + (starts ? START : 0);
    w->until = w->begin + size;
    w->begin_s = starts ? 0 : seconds();
}

static void note_pace(pace *w, uint64_t at) {
    if (w->begin_s > 0 || at < w->begin) return;
    w->begin = at;
    w->begin_s = seconds();
}

/* Up to `at` the file was read in one way: is the next stretch to be read ahead? */
static bool next_way(pace *w, bool ahead, uint64_t at) {
    if (w->begin_s <= 0) return begin_pace(w, at, TRIAL, true), true;    /* it was stopped */
    if (at <= w->begin) return ahead;
    w->cost[ahead] = (seconds() - w->begin_s) / (double)(at - w->begin);
    if (w->until - w->begin > TRIAL) w->cost[!ahead] = 0;        /* it may have changed */
    bool trial = w->cost[!ahead] <= 0, change = trial || w->cost[!ahead] < w->cost[ahead];
    bool next = ahead != change, again = w->stretch && w->ahead == next;
    if (!trial) {
        w->stretch = !again ? STRETCH : w->stretch < LONGEST ? 2 * w->stretch : LONGEST;
        w->ahead = next;
    }
    begin_pace(w, at, trial ? TRIAL : w->stretch, next && !ahead);
    return next;
}

/* Is the rest of the array to be read ahead? */
static bool start_ahead(events_ahead *a, bytes *b, const json_scan *t) {
    uint64_t at = t->base + t->at;
    if (a->pace.until && !next_way(&a->pace, false, at)) {
        a->again = a->pace.until;
        return false;
    }
    if (!a->pace.until) begin_pace(&a->pace, at, TRIAL, true);
    a->leaving = false;
    a->again = at;
    a->scanner = allocate(sizeof *a->scanner);
    a->ahead = ahead_start(b->file, (trace_text){t->buffer + t->at, t->used - t->at}, at,
                           scan_block, a->scanner);
    if (a->ahead) return true;
    free(a->scanner);
    a->scanner = NULL;
    return false;
}

/* Behind the last block the caller reads on itself, from what is left of it. Where that comes soon,
   there may be more of what stopped it. */
static void take_rest(events_ahead *a, const bytes *b, json_scan *t) {
    enum { SOON = 1 << 20, LATER = 1 << 22 };
    const ahead_block *last = a->block;
    t->base = last->base + last->scanned;
    t->used = last->used - last->scanned;
    memcpy(b->room, last->text + last->scanned, t->used);
    t->used += ahead_rest(a->ahead, b->room + t->used);
    memset(b->room + t->used, 0, PADDING);
    if (t->base < a->again + SOON) a->again = t->base + LATER;
    if (a->leaving) begin_pace(&a->pace, t->base, a->pace.until - a->pace.begin, false);
    if (a->leaving) a->again = a->pace.until;
    ahead_leave(a);
    t->buffer = b->room;
}

static void take_block(events_ahead *a, const bytes *b, json_scan *t) {
    const ahead_block *next = a->block = ahead_take(a->ahead);
    a->taken = a->args_taken = 0;
    t->buffer = next->text;
    t->base = next->base;
    t->used = next->used;
    note_pace(&a->pace, t->base);
    bool through = !a->leaving && t->base >= a->pace.until;
    a->leaving |= through && !next_way(&a->pace, true, t->base);
    if (through && a->leaving) ahead_end(a->ahead);
    bytes_tell(b, t, next->packed);
}

bool ahead_more(events_ahead *a, bytes *b, json_scan *t, bool may) {
    may &= !b->ended && t->used - t->at <= AHEAD_BYTES / 2 && t->base >= a->again;
    if (!a->ahead && !(may && start_ahead(a, b, t))) return false;
    if (a->block && a->block->last) take_rest(a, b, t);
    else take_block(a, b, t);
    t->at = 0;
    return true;
}
