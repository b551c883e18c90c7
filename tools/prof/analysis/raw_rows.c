/* Rows of raw streams: see raw_rows.h. */
#include "analysis/raw_rows.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "input/losses.h"
#include "input/raw.h"
#include "input/raw_memory.h"
#include "input/raw_ranges.h"
#include "input/raw_stacks.h"
#include "input/unpack.h"

enum { PLACES = 1 << 16 };

typedef struct raw_place { const prof_site *site; uint32_t row; } raw_place;

typedef struct raw_rows {
    row_table *table;
    prof_raw_stats stats;
    losses lost;
    raw_losses raw_lost;
    raw_memory *changes;
    raw_ranges ranges;
    raw_stacks *stacks;
    raw_place places[PLACES];                /* rows of plain zones */
    call_span zone;                          /* the last one */
    int64_t base_ns, first_ns, last_ns;
    uint64_t events, sums;
} raw_rows;

/* ---- Which files ---- */

/* Which tasks of a kernel ran: see prof_task_in. */
static bool is_cpu_row(const unsigned char *block) {
    return raw_word(block, 7) == 3 && raw_word(block, 8) == 999 && !raw_word(block, 9) &&
           memcmp(block + 40, "CPU", 3) == 0;
}

/* Do all blocks up to where the file is cut belong to one session, without what lies in zones by
   its times? */
static bool blocks_fit(int fd, off_t size) {
    unsigned char block[RAW_HEAD];
    char session[20];
    bool begun = false;
    for (off_t at = 0; at + RAW_HEAD <= size; at = raw_block_end(block, at)) {
        if (!raw_block_at(fd, at, block)) return false;
        uint32_t type = raw_word(block, 1) & 0xffff;
        if (type == RAW_EVENT) return false;
        if (type == RAW_DETAILS && raw_word(block, 6) & PROF_RAW_HAS_STEPS) return false;
        if (type == RAW_THREAD && is_cpu_row(block)) return false;   /* rows.c knows tasks */
        if (type != RAW_SESSION) continue;
        char now[20] = {0};                      /* when it began, and generation */
        memcpy(now, block + 40, sizeof now);
        if (begun && memcmp(session, now, sizeof now) != 0) return false;
        memcpy(session, now, sizeof now);
        begun = true;
    }
    return begun;
}

static bool file_fits(const char *path) {
    struct stat status;
    int fd = open(path, O_RDONLY);
    if (fd < 0) return false;
    bool fits = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) &&
                blocks_fit(fd, status.st_size);
    close(fd);
    return fits;
}

bool raw_rows_can(const row_table *t, const char *path) {
    const row_options *o = t->options;
    return !file_reads_once(path) && !o->filter.by_time && !o->filter.pids.count &&
           !o->with_flops && !o->by_site && !o->filter.categories.count && !t->on_event &&
           file_fits(path);
}

/* ---- Zones ---- */

static uint32_t row_of(raw_rows *r, const prof_raw_item *item) {
    prof_event key = {
        .name = item->name, .extra = item->extra,
        .flags = item->flags & PROF_EVENT_USER_ANNOTATION
    };
    uint32_t row = call_sums_row(r->table->sums, &key, NULL);
    if (row == PROF_NONE) exit(fail(NULL, "out of memory"));
    return row;
}

static uint32_t zone_row(raw_rows *r, const prof_raw_item *item) {
    row_table *t = r->table;
    return t->zone_key ? t->zone_key(t->user, item) : row_of(r, item);
}

/* Of a zone that carries nothing: by its site. */
static uint32_t plain_row_of(raw_rows *r, const prof_raw_item *item) {
    raw_place *place = &r->places[(uintptr_t)item->site / 8 % PLACES];
    if (place->site == item->site) return place->row;
    *place = (raw_place){item->site, zone_row(r, item)};
    return place->row;
}

static bool is_hidden(raw_rows *r, const char *name) {
    return strcmp(name, "(in sums)") == 0 || !rows_take_name(r->table, name);
}

static void note_times(raw_rows *r, const prof_raw_item *item) {
    if (!r->events++ || item->start_ns < r->first_ns) r->first_ns = item->start_ns;
    if (item->end_ns > r->last_ns) r->last_ns = item->end_ns;
}

/* Until the next one. What it lacks stays zero: to clear it takes longer than to fill it. */
static const call_span *span_of(raw_rows *r, const prof_raw_item *item) {
    const prof_extra *extra = item->extra;
    call_span *zone = &r->zone;
    zone->start_ns = item->start_ns;
    zone->end_ns = item->end_ns;
    zone->thread = item->thread;
    zone->depth = item->depth;
    zone->flags = CALL_DEPTH;
    bool plain = !extra && !(item->flags & PROF_EVENT_USER_ANNOTATION);
    zone->row = plain ? plain_row_of(r, item) : zone_row(r, item);
    if (r->table->has_name || item->site->name[0] == '(')
        if (is_hidden(r, item->name)) zone->flags |= CALL_HIDDEN;
    if (!plain) zone->flags |= item->flags & PROF_EVENT_USER_ANNOTATION;
    zone->flops = extra ? extra->flops : 0;
    zone->counters = extra && extra->counter_count ? extra->counters : NULL;
    r->table->view.with_flops |= zone->flops != 0;
    note_times(r, item);
    return zone;
}

static void take_zone(raw_rows *r, const prof_raw_item *item) {
    const call_span *zone = span_of(r, raw_stacks_next(r->stacks, item));
    row_table *t = r->table;
    if (t->on_zone) t->on_zone(t->user, zone);
    else rows_push(t, zone);
}

/* ---- What is no zone ---- */

static void take_range(raw_rows *r, const prof_raw_item *item) {
    call_span zone = {
        .start_ns = item->start_ns, .end_ns = item->end_ns, .thread = item->thread,
        .row = row_of(r, item), .flags = PROF_EVENT_ASYNC
    };
    if (is_hidden(r, item->name)) zone.flags |= CALL_HIDDEN;
    note_times(r, item);
    rows_push(r->table, &zone);
}

/* In no zone it is an event of its own. */
static void take_memory(raw_rows *r, const prof_raw_item *item) {
    bool lies_in_none = item->depth == UINT8_MAX;
    call_span zone = {
        .start_ns = item->start_ns, .end_ns = item->start_ns, .thread = item->thread,
        .row = PROF_NONE, .depth = item->depth, .flags = CALL_DEPTH
    };
    int64_t sums[2] = {0, 0};
    raw_change change = raw_memory_next(r->changes, item);
    if (!r->table->options->memory || !(change.counts || item->failed)) return;
    rows_add_bytes(r->table, sums, item->memory->device.type, change.bytes - change.missed);
    if (lies_in_none) {
        zone.row = row_of(r, item);
        zone.flags = is_hidden(r, item->name) ? CALL_HIDDEN : 0;
        note_times(r, item);
    }
    rows_push_memory(r->table, zone, sums);
}

static void take_details(raw_rows *r, const prof_raw_item *item) {
    row_table *t = r->table;
    if (item->value & PROF_RAW_HAS_MEMORY) t->view.profile_memory = t->options->memory;
    for (uint32_t i = 0; i < item->counter_count; i++)
        if (!t->view.counters[i] || strcmp(t->view.counters[i], item->counter_names[i]) != 0)
            t->view.counters[i] = arena_text(&t->memory, item->counter_names[i],
                                             strlen(item->counter_names[i]));
}

static void take_sums(raw_rows *r, const prof_raw_item *item) {
    prof_average average = *item->average;
    bool hidden = is_hidden(r, item->name);
    if (item->start_ns) average.p50_ns = average.p90_ns = average.p99_ns = 0;
    call_sums_add(r->table->sums, hidden ? PROF_NONE : row_of(r, item), &average);
    r->sums++;
}

static void take(void *user, const prof_raw_item *item) {
    raw_rows *r = user;
    if (item->kind == PROF_RAW_ZONE) {
        take_zone(r, item);
        return;
    }
    losses_take_raw(&r->lost, &r->raw_lost, item);
    if (!raw_ranges_take(&r->ranges, item)) return;
    if (r->table->on_item) r->table->on_item(r->table->user, item);
    if (item->kind == PROF_RAW_SESSION) r->base_ns = item->start_ns;
    else if (item->kind == PROF_RAW_DETAILS) take_details(r, item);
    else if (item->kind == PROF_RAW_MEMORY) take_memory(r, item);
    else if (item->kind == PROF_RAW_ASYNC) take_range(r, item);
    else if (item->kind == PROF_RAW_SUMS) take_sums(r, item);
}

/* ---- The file ---- */

static void tell(raw_rows *r, const char *path) {
    raw_memory_lose(r->changes, &r->raw_lost.counts);
    raw_ranges_lose(&r->ranges, &r->raw_lost.counts);
    losses_end_raw(&r->lost, &r->raw_lost);
    raw_stats_lose(&r->stats, &r->lost);
    if (raw_stats_tell(&r->stats, path)) note_cut_input();
    else if (!r->events && !r->sums)
        warn(path, "the trace is of an empty session: nothing was recorded in it");
    losses_tell(path, &r->lost);
}

static void note_span(raw_rows *r) {
    row_table *t = r->table;
    int64_t first = r->base_ns + r->first_ns, last = r->base_ns + r->last_ns;
    if (!r->events) return;
    if (!t->events || first < t->first_ns) t->first_ns = first;
    if (!t->events || last > t->last_ns) t->last_ns = last;
    t->events += r->events;
}

static raw_rows *raw_begin(row_table *t) {
    raw_rows *r = allocate(sizeof *r);
    r->table = t;
    r->changes = raw_memory_new();
    return r;
}

static void note_device(void *user, int32_t type) { rows_note_memory(user, type); }

static bool needs_stacks(const row_table *t) {
    return t && (t->zone_key || t->options->by_stack);
}

/* Memory first, and stacks of backward zones; then all by the function; the exit code. */
static int read_twice(raw_rows *r, const char *path,
                      void (*item)(void *user, const prof_raw_item *item)) {
    struct stat status;
    int fd = open(path, O_RDONLY);
    if (fd < 0) return fail(path, "%s", strerror(errno));
    if (fstat(fd, &status) != 0) status = (struct stat){0};
    input_note(&status);
    raw_memory_read_ahead(r->changes, fd, 0, r->table ? note_device : NULL, r->table);
    if (needs_stacks(r->table)) r->stacks = raw_stacks_read_ahead(fd, 0);
    int error = raw_read(fd, 0, item, r, &r->stats);
    close(fd);
    return error ? fail(path, "%s", strerror(error)) : EXIT_OK;
}

static void end_rows(raw_rows *r) {
    raw_memory_free(r->changes);
    raw_ranges_free(&r->ranges);
    raw_stacks_free(r->stacks);
    free(r);
}

int raw_rows_read(row_table *t, const char *path) {
    raw_rows *r = raw_begin(t);
    t->own = true;
    call_sums_next(t->sums);
    int status = read_twice(r, path, take);
    t->summed += r->sums;
    note_span(r);
    if (status == EXIT_OK) tell(r, path);
    end_rows(r);
    return status;
}

static void take_losses(void *user, const prof_raw_item *item) {
    raw_rows *r = user;
    r->events += item->kind != PROF_RAW_SESSION && item->kind != PROF_RAW_THREAD &&
                 item->kind != PROF_RAW_COUNTS;
    losses_take_raw(&r->lost, &r->raw_lost, item);
    raw_ranges_take(&r->ranges, item);
}

int raw_losses_read(const char *path) {
    raw_rows *r = raw_begin(NULL);
    int status = read_twice(r, path, take_losses);
    if (status == EXIT_OK) tell(r, path);
    end_rows(r);
    return status;
}
