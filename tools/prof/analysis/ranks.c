/* Compute, communication and waiting of several ranks: see ranks.h. */
#include "analysis/ranks.h"

#include <stdlib.h>
#include <string.h>

#include "base/span_sorter.h"
#include "trace/trace.h"
#include "trace/trace_range.h"

/* ---- Reading: a file at a time, in constant memory ---- */

/* Categories that are not known are not work here, even where they stand in a stream's row. Events
   without one (Ascend, JAX) are. */
static bool is_work(const trace_event *event) {
    return event->phase == 'X' && event->kind >= TRACE_KERNEL && event->kind <= TRACE_MEMSET &&
           (!event->cat.size || trace_kind_of(event->cat) == event->kind);
}

enum { NAME_ROOM = 320 };

static rank_row *add_row(rank_table *t, const char *path, size_t number) {
    GROW(t->rows, number, t->file_capacity);
    rank_row *row = &t->rows[number];
    *row = (rank_row){.id = {.path = path}, .owner = (uint32_t)number};
    if (t->align) row->offset_ns = align_offset(t->align, path);
    return row;
}

void ranks_begin_file(rank_table *t, const char *path) {
    add_row(t, path, t->files);
    t->zone = t->align ? align_zone(t->align) : NULL;
    t->works = busy_works();
}

void ranks_take(rank_table *t, const trace_event *event) {
    uint32_t place = merged_place(&t->merged, event->pid);
    rank_row *row = &t->rows[t->files + place];
    if ((event->phase == 'X' || trace_is_half(event->phase)) && event->kind != TRACE_SPAN) {
        int64_t end_ns = time_add(event->ts_ns, event->dur_ns);
        far_note(&row->all_times, event->ts_ns, end_ns, 0);
        row->calls++;
        if (t->zone && event->phase == 'X' && text_is(event->name, t->zone))
            collectives_take_zone(&t->all, event, place);
    }
    if (event->phase == 'X' && event->kind == TRACE_ANNOTATION &&
        text_begins(event->name, "gloo:")) row->gloo++;
    if (!is_work(event)) return;
    work_kind kind = work_kind_of(&t->names, event);
    uint64_t stream = hash_mix((uint64_t)event->pid) * 31 + (uint64_t)event->tid;
    sorter_add(t->works, &(busy_work){event->ts_ns, event->dur_ns, stream, place, kind});
    far_note(&row->far, event->ts_ns, event->ts_ns + event->dur_ns, 0);
    row->works++;
    if (kind == WORK_COMMUNICATION) collectives_take(&t->all, event, place);
}

/* What prof merge made: its head has the ranks, in front of all events. */
static void split(rank_table *t, const trace_member *member) {
    if (merged_any(&t->merged)) return;
    merged_read(&t->merged, member);
    for (uint32_t i = 0; merged_any(&t->merged) && i < t->merged.count; i++) {
        rank_row *row = i ? add_row(t, t->rows[t->files].id.path, t->files + i)
                          : &t->rows[t->files];
        row->id.told = true;
        row->id.rank = t->merged.ranks[i];
    }
}

void ranks_take_member(rank_table *t, const trace_member *member) {
    if (t->splits) split(t, member);
    rank_read(&t->rows[t->files].id, member);
    if (text_is(member->key, "baseTimeNanoseconds"))
        json_int(member->value, &t->rows[t->files].base_ns);
}

static void end_row(rank_table *t, rank_row *row, bool is_whole, int64_t base_ns) {
    const far_group *most = far_main(&row->all_times);
    char text[320];
    if (!t->untold && odd_text(&row->odd, text)) warn(row->id.path, "%s", text);
    odd_free(&row->odd);
    if (most) row->id.first_ns = most->begin_ns;
    if (most) row->id.last_ns = most->last_ns;
    row->id.failed = !is_whole && !row->works;
    row->base_ns = time_add(base_ns, row->offset_ns);
    row->id.first_ns = time_add(row->id.first_ns, row->base_ns);
    row->id.last_ns = time_add(row->id.last_ns, row->base_ns);
}

void ranks_end_file(rank_table *t, bool is_whole) {
    rank_row *rows = &t->rows[t->files];
    uint32_t ranks = merged_any(&t->merged) ? t->merged.count : 1;
    int64_t base_ns = rows->base_ns;
    busy_work work;
    sorter_finish(t->works);
    while (sorter_next(t->works, &work)) {
        rank_row *row = &rows[work.device];
        if (odd_take(&row->odd, &row->far, work.row, work.start_ns, work.start_ns + work.ns))
            busy_add(&row->time, (work_kind)work.kind, work.start_ns, work.start_ns + work.ns);
    }
    sorter_free(t->works);
    for (uint32_t i = 0; i < ranks; i++) end_row(t, &rows[i], is_whole, base_ns);
    for (uint32_t i = 1; i < ranks; i++)         /* windows: their work is in the first one's row */
        rows[i].id.failed |= t->merged.ranks[i] == t->merged.ranks[i - 1];
    t->files += ranks;
    merged_free(&t->merged);
    collectives_end_file(&t->all, rows->base_ns, ranks);
}

/* ---- Joining ---- */

static bool rank_before(uint32_t a, uint32_t b, const void *context) {
    const rank_row *rows = context;
    if (rows[a].id.rank != rows[b].id.rank) return rows[a].id.rank < rows[b].id.rank;
    return rows[a].id.first_ns < rows[b].id.first_ns;
}

static void add_time(busy_time *to, const busy_time *from) {
    to->last_ns = time_add(to->last_ns, busy_span(from));
    to->busy_ns = time_add(to->busy_ns, from->busy_ns);
    to->overlap_ns = time_add(to->overlap_ns, from->overlap_ns);
    to->exposed_memory_ns = time_add(to->exposed_memory_ns, from->exposed_memory_ns);
    for (int kind = 0; kind < WORK_KINDS; kind++)
        to->kind_ns[kind] = time_add(to->kind_ns[kind], from->kind_ns[kind]);
}

static void add_window(rank_row *to, const rank_row *window) {
    if (!to->works) to->time = window->time;
    else if (window->works) add_time(&to->time, &window->time);
    to->works += window->works;
    to->gloo += window->gloo;
    to->id.last_ns = window->id.last_ns;
}

/* Windows of one rank, which follow each other in t->order, become its first one's row. */
static void join_windows(rank_table *t, bool tell) {
    collective_owner *owners = allocate((t->files + 1) * sizeof *owners);
    size_t ranks = 0, windows = 0;
    for (uint32_t i = 0; i < t->files; i++) owners[i] = (collective_owner){.owner = i, .rank = i};
    for (size_t i = 0; i < t->count; i++) {
        uint32_t file = t->order[i], owner = ranks ? t->order[ranks - 1] : file;
        rank_row *row = &t->rows[file];
        bool window = ranks && row->id.told && row->id.rank == t->rows[owner].id.rank;
        if (window) add_window(&t->rows[owner], row);
        else t->order[ranks++] = owner = file;
        row->owner = owner;
        owners[file] = (collective_owner){owner, window ? (uint32_t)++windows : 0, row->id.rank};
        if (!window) windows = 0;
    }
    if (tell && ranks < t->count)
        warn(NULL, "%zu files are of %zu ranks: the windows of a rank count as one", t->count,
             ranks);
    t->count = ranks;
    collectives_join(&t->all, owners);
    free(owners);
}

/* false: reported. */
static bool align(rank_table *t) {
    const rank_row *first = &t->rows[t->order[0]];
    size_t without = 0;
    const char *which = NULL;
    for (size_t i = 1; i < t->count; i++) {
        rank_row *row = &t->rows[t->order[i]];
        row->clock = collectives_clock(&t->all, t->order[0], t->order[i]);
        if (t->zone && row->clock.count && row->clock.first_has != row->clock.owner_has)
            warn(row->id.path, "it has %zu calls '%s', and %s has %zu: the n-th of each are taken "
                 "for one", row->clock.owner_has, t->zone, first->id.path, row->clock.first_has);
        if (row->clock.count) continue;
        if (!without++) which = row->id.path;
        if (!t->zone)
            warn(row->id.path, "it has no synchronizing collective in common with %s: its "
                 "clock stays", first->id.path);
    }
    if (t->zone && without)
        fail(which, "%zu of %zu files, this one first, have no call '%s' in common with %s: name a "
             "zone that all ranks have", without, t->count, t->zone, first->id.path);
    return !t->zone || !without;
}

static bool align_starts(rank_table *t) {
    const rank_row *first = &t->rows[t->order[0]];
    for (size_t i = 0; i < t->count; i++) {
        rank_row *row = &t->rows[t->order[i]];
        if (!row->calls)
            return fail(row->id.path, "it has no call: nothing says when it starts"), false;
        row->clock.line.add_ns = first->id.first_ns - row->id.first_ns;
    }
    return true;
}

clock_line ranks_clock(const rank_table *t, uint32_t file) {
    clock_line clock = t->rows[t->rows[file].owner].clock.line;
    int64_t offset_ns = t->rows[file].offset_ns;
    clock.at_ns -= offset_ns;
    clock.add_ns = time_add(clock.add_ns, offset_ns);
    return clock;
}

static bool part_before(uint32_t a, uint32_t b, const void *context) {
    const rank_table *t = context;
    const collective_part *x = &t->all.parts[a], *y = &t->all.parts[b];
    if (x->collective != y->collective) return x->collective < y->collective;
    return t->rows[t->rows[x->file].owner].id.rank < t->rows[t->rows[y->file].owner].id.rank;
}

static void sort_parts(rank_table *t) {
    uint32_t *order = sorted_numbers(t->all.part_count, part_before, t);
    t->parts = allocate((t->all.part_count + 1) * sizeof *t->parts);
    for (size_t i = 0; i < t->all.part_count; i++) {
        collective_part *part = &t->parts[i];
        *part = t->all.parts[order[i]];
        const clock_line *clock = &t->rows[t->rows[part->file].owner].clock.line;
        part->begin_ns += clock_add(clock, part->begin_ns);
        part->end_ns += clock_add(clock, part->end_ns);
    }
    free(order);
}

static joined_row join_part(joined_row row, const collective_part *parts, uint32_t number) {
    const collective_part *part = &parts[number];
    int64_t lasts = part->end_ns - part->begin_ns;
    if (row.count++ == 0)
        return (joined_row){part->collective, number, 1, part->begin_ns, part->begin_ns,
                            part->end_ns, lasts, number};
    if (part->begin_ns < row.begin_ns) row.begin_ns = part->begin_ns;
    if (part->begin_ns > row.last_ns) row.last_ns = part->begin_ns, row.last = number;
    if (part->end_ns < row.end_ns) row.end_ns = part->end_ns;
    if (lasts < row.shortest_ns) row.shortest_ns = lasts;
    return row;
}

static int by_begin(const void *a, const void *b) {
    const joined_row *x = a, *y = b;
    if (x->begin_ns != y->begin_ns) return x->begin_ns < y->begin_ns ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

static rank_row *row_of(const rank_table *t, uint32_t part) {
    return &t->rows[t->rows[t->parts[part].file].owner];
}

static void join(rank_table *t) {
    sort_parts(t);
    t->joined = allocate((t->all.count + 1) * sizeof *t->joined);
    for (uint32_t i = 0; i < t->all.part_count; i++) {
        joined_row *row = &t->joined[t->parts[i].collective];
        *row = join_part(*row, t->parts, i);
    }
    for (uint32_t i = 0; i < t->all.part_count; i++) {
        row_of(t, i)->in_any = true;
        row_of(t, i)->shares |= t->joined[t->parts[i].collective].count > 1;
    }
    t->joined_count = t->all.count;
    if (t->joined_count) qsort(t->joined, t->joined_count, sizeof *t->joined, by_begin);
}

/* Of what synchronizes, on two ranks or more: did all begin before the first one ended? */
bool ranks_consistent(const rank_table *t, const joined_row *row) {
    return row->count > 1 && t->all.list[row->collective].synchronizes &&
           row->last_ns < row->end_ns;
}

bool ranks_apart(const rank_table *t, const joined_row *row) {
    return row->count > 1 && t->all.list[row->collective].synchronizes && !ranks_consistent(t, row);
}

static int64_t sum_waits(rank_table *t) {
    int64_t skew = 0;
    for (size_t i = 0; i < t->joined_count; i++) {
        const joined_row *row = &t->joined[i];
        if (!ranks_consistent(t, row)) continue;
        rank_row *last = row_of(t, row->last);
        last->late_ns = time_add(last->late_ns, row->last_ns - row->begin_ns);
        skew = time_add(skew, row->last_ns - row->begin_ns);
        for (uint32_t k = row->first; k < row->first + row->count; k++) {
            int64_t waited = row->last_ns - t->parts[k].begin_ns;
            row_of(t, k)->wait_ns = time_add(row_of(t, k)->wait_ns, waited);
        }
    }
    return skew;
}

static bool later_than(uint32_t a, uint32_t b, const void *context) {
    const rank_row *rows = context;
    if (rows[a].late_ns != rows[b].late_ns) return rows[a].late_ns > rows[b].late_ns;
    return rank_before(a, b, rows);
}

static void find_stragglers(rank_table *t) {
    int64_t skew = sum_waits(t), longest = 0, held = 0;
    for (size_t i = 0; i < t->count; i++)
        if (busy_span(&t->rows[t->order[i]].time) > longest)
            longest = busy_span(&t->rows[t->order[i]].time);
    t->stragglers = allocate(t->count * sizeof *t->stragglers);
    memcpy(t->stragglers, t->order, t->count * sizeof *t->order);
    sort_numbers(t->stragglers, t->count, later_than, t->rows);
    if (skew <= 0 || (double)skew * 100 < (double)longest) return;
    while (t->straggler_count < t->count && (double)held * 5 < (double)skew * 4)
        held = time_add(held, t->rows[t->stragglers[t->straggler_count++]].late_ns);
    sort_numbers(t->stragglers, t->straggler_count, rank_before, t->rows);
}

/* ---- What is wrong with the files as a whole: a line each ---- */

/* Ranks that the job had, by world_size or else by the highest rank, and no file is of. */
static void tell_missing(const rank_table *t) {
    enum { SHOWN = 8 };
    char text[256];
    size_t used = 0, pieces = 0;
    int64_t next = 0, missing = 0, world = t->rows[t->order[t->count - 1]].id.rank + 1;
    for (size_t i = 0; i < t->count; i++) {
        const rank_id *id = &t->rows[t->order[i]].id;
        if (!id->told) return;
        if (id->world_size > world) world = id->world_size;
    }
    for (size_t i = 0; i <= t->count; i++) {
        int64_t rank = i < t->count ? t->rows[t->order[i]].id.rank : world;
        if (rank > next && pieces++ < SHOWN)
            used += (size_t)snprintf(text + used, sizeof text - used, rank > next + 1 ?
                "%s%lld to %lld" : "%s%lld", used ? ", " : "", (long long)next,
                (long long)rank - 1);
        if (rank > next) missing += rank - next;
        next = rank + 1;
    }
    if (missing)
        warn(NULL, "of %lld ranks %lld %s no file: %s%s", (long long)world, (long long)missing,
             missing == 1 ? "has" : "have", text, pieces > SHOWN ? ", ..." : "");
}

/* The name of a row's file; of one of several ranks with its own. */
static const char *row_name(const rank_table *t, const rank_row *row, char text[NAME_ROOM]) {
    const char *path = row->id.path;
    bool alone = (row == t->rows || row[-1].id.path != path) &&
                 (row + 1 == t->rows + t->files || row[1].id.path != path);
    if (alone) return path;
    snprintf(text, NAME_ROOM, "%s: rank %lld", path, (long long)row->id.rank);
    return text;
}

/* Is the file of another run than the lowest rank's? */
static void tell_other_run(const rank_table *t, uint32_t file) {
    char of_first[NAME_ROOM], of_row[NAME_ROOM];
    const rank_row *first = &t->rows[t->order[0]], *row = &t->rows[file];
    const char *lowest = row_name(t, first, of_first), *name = row_name(t, row, of_row);
    bool apart = first->works && row->works &&
                 (row->id.first_ns + row->clock.line.add_ns > first->id.last_ns ||
                  row->id.last_ns + row->clock.line.add_ns < first->id.first_ns);
    if (row->id.world_size && first->id.world_size && row->id.world_size != first->id.world_size)
        warn(name, "it is of another run than %s: of %lld ranks, not %lld", lowest,
             (long long)row->id.world_size, (long long)first->id.world_size);
    else if (row->in_any && !row->shares)
        warn(name, "it has no collective in common with another rank: is it of another run?");
    else if (apart)
        warn(name, "its work lies at other times than that of %s: another run, or clocks "
             "that are apart (--align collectives)", lowest);
}

static void tell_no_work(const rank_table *t, const rank_row *row) {
    char of_row[NAME_ROOM];
    const char *name = row_name(t, row, of_row);
    if (row->works) return;
    if (row->gloo)
        warn(name, "there is no work of a device in it; %llu calls of gloo are the CPU's",
             (unsigned long long)row->gloo);
    else warn(name, "there is no work of a device in it");
}

static void tell_files(const rank_table *t) {
    if (!t->count) return;
    for (size_t i = 0; i < t->count && !t->zone; i++) tell_no_work(t, &t->rows[t->order[i]]);
    for (size_t i = 1; i < t->count; i++) tell_other_run(t, t->order[i]);
    tell_missing(t);
}

/* ---- Tables ---- */

static bool by_collectives(const rank_table *t) {
    return t->align && align_is(t->align, "collectives");
}

static int64_t rank_of(const rank_table *t, uint32_t part) { return row_of(t, part)->id.rank; }

static void add_clock(sheet *s, const clock_fit *clock) {
    if (clock->count) cell_us(s, clock->spread_ns);
    else cell_text(s, NULL);
    if (clock->count) cell_format(s, "%.3f", clock->line.rate * 1e6);
    else cell_text(s, NULL);
}

/* A time of work on devices; none: there was none. */
static void cell_work(sheet *s, bool none, int64_t ns) {
    if (none) cell_text(s, NULL);
    else cell_us(s, ns);
}

static void add_rank(sheet *s, const rank_row *row, bool fits, bool text) {
    const busy_time *time = &row->time;
    bool none = text && !time->busy_ns;
    int64_t whole = busy_span(time);
    if (row->id.path) cell_int(s, row->id.rank);
    else cell_text(s, "Total");
    cell_work(s, none, whole);
    cell_work(s, none, time->kind_ns[WORK_COMPUTE]);
    cell_percent(s, time->kind_ns[WORK_COMPUTE], whole);
    cell_work(s, none, busy_exposed(time));
    cell_percent(s, busy_exposed(time), whole);
    cell_work(s, none, time->exposed_memory_ns);
    cell_work(s, none, busy_idle(time));
    cell_percent(s, busy_idle(time), whole);
    cell_us(s, row->late_ns);
    cell_us(s, row->wait_ns);
    cell_work(s, none, time->kind_ns[WORK_COMMUNICATION]);
    cell_work(s, none, time->overlap_ns);
    cell_work(s, none, time->kind_ns[WORK_MEMORY]);
    cell_work(s, none, time->busy_ns);
    if (row->id.path) cell_us(s, row->clock.line.add_ns + row->offset_ns);
    if (row->id.path && fits) add_clock(s, &row->clock);
    if (row->id.path) cell_text(s, row->id.path);
    sheet_row(s);
}

void ranks_write(const rank_table *t, table_format format, output *out) {
    sheet s;
    rank_row total = {0};
    bool json = format == FORMAT_JSON, fits = t->zone || by_collectives(t);
    sheet_begin(&s, json ?
        "rank#|span_us#|compute_us#|compute_percent#|exposed_communication_us#|"
        "exposed_communication_percent#|exposed_memory_us#|idle_us#|idle_percent#|late_us#|"
        "wait_us#|communication_us#|overlap_us#|memory_us#|busy_us#|clock_us#" :
        "Rank|Span (us)#|Compute (us)#|Compute %#|Exposed comm. (us)#|Exposed comm. %#|"
        "Exposed memory (us)#|Idle (us)#|Idle %#|Late (us)#|Wait (us)#|Communication (us)#|"
        "Overlap (us)#|Memory (us)#|Busy (us)#|Clock (us)#");
    if (fits) sheet_head(&s, true, json ? "clock_error_us" : "Clock error (us)");
    if (fits) sheet_head(&s, true, json ? "drift_ppm" : "Drift (ppm)");
    sheet_head(&s, false, json ? "file" : "File");
    for (size_t i = 0; i < t->count; i++) {
        const rank_row *row = &t->rows[t->order[i]];
        add_rank(&s, row, fits, format == FORMAT_TEXT);
        add_time(&total.time, &row->time);
        total.late_ns = time_add(total.late_ns, row->late_ns);
        total.wait_ns = time_add(total.wait_ns, row->wait_ns);
    }
    if (!json) add_rank(&s, &total, fits, format == FORMAT_TEXT);
    sheet_end(&s, format, out);
}

/* "0-7 9"; of JSON all of them. */
static void cell_ranks(sheet *s, const rank_table *t, const joined_row *row, bool json) {
    enum { SIZE = 128 };
    size_t used = 0, most = json ? SIZE_MAX : SIZE;
    uint32_t end = row->first + row->count;
    char *text = allocate(json ? 24 * (row->count + 1) : SIZE + 64);
    if (json) text[used++] = '[';
    for (uint32_t i = row->first, last; i < end && used < most; i = last + 1) {
        for (last = i; !json && last + 1 < end; last++)
            if (rank_of(t, last + 1) != rank_of(t, last) + 1) break;
        used += (size_t)sprintf(text + used, last > i ? "%s%lld-%lld" : "%s%lld",
                                i == row->first ? "" : json ? ", " : " ",
                                (long long)rank_of(t, i), (long long)rank_of(t, last));
        if (used >= most && last + 1 < end) sprintf(text + used, " ...");
    }
    if (json) strcpy(text + used, "]");
    cell_text(s, text);
    free(text);
}

static void cell_rate(sheet *s, double gb_s) {
    if (gb_s >= 0) cell_format(s, "%.6g", gb_s);
    else cell_text(s, NULL);
}

/* Of its shortest kernel; of an uneven all-to-all by the most that a rank moves. */
static void cell_bandwidths(sheet *s, const collective *c, const char *name, int64_t ns) {
    double factor = collective_factor(name, c->group_size);
    double gb_s = c->bytes < 0 || ns <= 0 ? -1 : (double)c->bytes / (double)ns;
    bool known = factor > 0 || (c->group_size == 1 && collective_factor(name, 2) > 0);
    cell_rate(s, gb_s);
    cell_rate(s, gb_s < 0 ? -1 : c->moved >= 0 ? (double)c->moved / (double)ns :
                 known ? gb_s * factor : -1);
}

static const char *shared_text(const rank_table *t, uint32_t number) {
    return number == UINT32_MAX ? NULL : interned_text(&t->all.texts, number);
}

static void cell_known(sheet *s, bool known, int64_t number) {
    if (known) cell_int(s, number);
    else cell_text(s, NULL);
}

static void add_collective(sheet *s, const rank_table *t, const joined_row *row, bool json) {
    const collective *c = &t->all.list[row->collective];
    bool several = row->count > 1, apart = ranks_apart(t, row);
    cell_text(s, shared_text(t, c->name));
    cell_text(s, shared_text(t, c->process_group));
    cell_known(s, c->has_seq, c->seq);
    cell_int(s, t->parts[row->first].index);
    cell_ranks(s, t, row, json);
    cell_known(s, c->bytes >= 0, c->bytes);
    cell_us(s, row->shortest_ns);
    cell_bandwidths(s, c, shared_text(t, c->name), row->shortest_ns);
    if (several) cell_us(s, row->last_ns - row->begin_ns);
    else cell_text(s, NULL);
    cell_text(s, !several || !c->synchronizes ? NULL :
                 json ? apart ? "false" : "true" : apart ? "apart" : "consistent");
    cell_known(s, several, rank_of(t, row->last));
    if (c->moved_parts) cell_format(s, json ? "%.6g" : "%.2f", collective_imbalance(c));
    else cell_text(s, NULL);
    if (json) cell_known(s, c->group_size >= 0, c->group_size);
}

void ranks_write_collectives(const rank_table *t, int64_t most, table_format format, output *out) {
    bool json = format == FORMAT_JSON;
    sheet s;
    sheet_begin(&s, json ?
        "name|process_group|seq#|index#|ranks#|bytes#|duration_us#|algbw_gb_s#|busbw_gb_s#|"
        "skew_us#|consistent#|last_rank#|imbalance#|group_size#" :
        "Collective|Group|Seq#|Index#|Ranks|Bytes#|Duration (us)#|Alg. GB/s#|Bus GB/s#|Skew (us)#|"
        "Clocks|Last rank#|Imbalance#");
    for (size_t i = 0; i < t->joined_count && (int64_t)i < most; i++)
        add_collective(&s, t, &t->joined[i], json);
    sheet_end(&s, format, out);
}

void ranks_write_json(const rank_table *t, output *out) {
    output_text(out, "{\"ranks\": ");
    ranks_write(t, FORMAT_JSON, out);
    output_text(out, ", \"collectives\": ");
    ranks_write_collectives(t, INT64_MAX, FORMAT_JSON, out);
    output_text(out, ", \"stragglers\": [");
    for (size_t i = 0; i < t->straggler_count; i++)
        output_format(out, "%s%lld", i ? ", " : "", (long long)t->rows[t->stragglers[i]].id.rank);
    output_text(out, "]}\n");
}

/* ---- All of it ---- */

static bool set_clocks(rank_table *t) {
    if (!t->count) return true;
    if (t->align && align_is(t->align, "start")) return align_starts(t);
    return !(by_collectives(t) || t->all.zone) || align(t);
}

bool ranks_finish(rank_table *t, bool tell) {
    if (t->zone && !t->all.zone)
        fail("--align", "there is no call '%s' in the traces; else: base, collectives, start",
             t->zone);
    t->count = t->files;
    t->order = ranks_order(t->rows, sizeof *t->rows, &t->count, tell);
    join_windows(t, tell);
    bool aligned = set_clocks(t);
    join(t);
    find_stragglers(t);
    if (tell) tell_files(t);
    return aligned && (!t->zone || t->all.zone);
}

int ranks_read(rank_table *t, const char *path) {
    trace_reader *reader = trace_open(path);
    int status = EXIT_BAD;
    ranks_begin_file(t, path);
    if (reader) {
        while (trace_next(reader) != TRACE_END)
            if (reader->item == TRACE_EVENT) ranks_take(t, reader->event);
            else if (reader->item == TRACE_MEMBER) ranks_take_member(t, &reader->member);
        t->rows[t->files].base_ns = reader->base_time_ns;
        status = trace_close(reader);
    }
    ranks_end_file(t, status == EXIT_OK);
    return status;
}

clock_line *ranks_clocks(char *const *paths, size_t count, const align_options *align) {
    rank_table t = {.align = align, .untold = true};
    clock_line *clocks = allocate((count + 1) * sizeof *clocks);
    bool good = true;
    for (size_t i = 0; i < count && good; i++) good = ranks_read(&t, paths[i]) == EXIT_OK;
    good = good && ranks_finish(&t, false);
    for (size_t i = 0; i < count && good; i++) clocks[i] = ranks_clock(&t, (uint32_t)i);
    ranks_free(&t);
    if (good) return clocks;
    free(clocks);
    return NULL;
}

void ranks_free(rank_table *t) {
    collectives_free(&t->all);
    map_free(&t->names);
    free(t->rows);
    free(t->order);
    free(t->parts);
    free(t->joined);
    free(t->stragglers);
}
