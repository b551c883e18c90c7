/* prof merge: the traces of several ranks as one, with pids, flows and ids of their own. */
#include "analysis/ranks.h"
#include "base/demangle.h"
#include "commands/calls.h"
#include "input/head_sums.h"
#include "input/losses.h"
#include "input/trace_reader.h"
#include "output/trace_writer.h"
#include "trace/trace_range.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static int run(int argc, char **argv);

const command merge_command = {
    "merge", "[OPTION]... TRACE...", "merge the traces of several ranks into one",
    "  prof merge -o all.json.gz rank*.json.gz\n"
    "      every process becomes \"rank N: ...\"; flows and correlation ids stay apart\n"
    "  prof merge --align collectives -o all.json node*/rank*.json\n"
    "      ranks on several machines: clocks are set so that the collectives end\n"
    "      together\n\n"
    "Ranks come from the traces (distributedInfo), else from the order of the files.\n"
    "Files of one rank from different times are windows of it, and share its\n"
    "processes. Times are put on one base by baseTimeNanoseconds. In args, External\n"
    "id, correlation and the like have 2^32 times the file's number (from 0) added.\n\n"
    "Clocks: --align\n" ALIGN_HELP "\n"
    "Collectives are found as in prof ranks:\n" COLLECTIVES_HELP, run, 1, INT_MAX
};

enum { MOST_EDITS = 24 };

typedef struct process {
    int64_t pid, sort;          /* as in the file */
    bool has_sort;
    const char *name, *labels;  /* NULL: none */
} process;

typedef struct rank_file {
    rank_id id;
    const char *host;
    uint32_t number;            /* in merger.ranks */
    uint32_t owner;             /* in merger.files: the first one of its rank */
    int64_t base_ns;
    clock_line clock;           /* to be added to its times */
    process *processes;         /* of an owner those of its windows, too */
    size_t process_count, process_capacity;
    map pids;                   /* pid -> number in processes */
    trace_text devices;         /* deviceProperties */
    losses lost;
    head_lists lists;           /* of its head */
} rank_file;

typedef struct merger {
    rank_file *files;
    size_t count;
    arena memory;
    trace_member *members;      /* of the first rank's file */
    size_t member_count, member_capacity;
    uint64_t flow_count;        /* in all that is written so far */
    map flows;                  /* of the file that is written: those of its ids */
    int64_t base_ns;
    rank_table ranks;           /* of the files as they were given */
} merger;

/* ---- First pass: what a file holds ---- */

static uint32_t process_of(rank_file *f, merger *m, const trace_event *event) {
    bool is_new;
    uint32_t number = (uint32_t)NUMBER_OF(&f->pids, (uint64_t)event->pid, f->processes,
                                          f->process_count, f->process_capacity, &is_new);
    if (is_new) f->processes[number] = (process){.pid = event->pid};
    if (is_new && event->pid_text.data)
        f->processes[number].name =
            arena_text(&m->memory, event->pid_text.data, event->pid_text.size);
    return number;
}

static bool is_process_metadata(const trace_event *event) {
    return event->phase == 'M' && text_begins(event->name, "process_");
}

static void note_process(merger *m, process *p, const trace_event *event) {
    char text[256];
    if (text_is(event->name, "process_name") &&
        trace_arg_text(event, "name", text, sizeof text) && *text)
        p->name = arena_text(&m->memory, text, strlen(text));
    if (text_is(event->name, "process_labels") &&
        trace_arg_text(event, "labels", text, sizeof text) && *text)
        p->labels = arena_text(&m->memory, text, strlen(text));
    if (text_is(event->name, "process_sort_index"))
        p->has_sort |= trace_arg_int(event, "sort_index", &p->sort);
}

static trace_text keep(merger *m, trace_text text) {
    return (trace_text){arena_text(&m->memory, text.data, text.size), text.size};
}

/* Of an array one event has the sites, another the sums. */
static void keep_lists(rank_file *f, merger *m, trace_text head) {
    head_lists lists = head_lists_find(head);
    for (int i = 0; i < HEAD_LISTS; i++)
        if (lists.of[i].size) f->lists.of[i] = keep(m, lists.of[i]);
}

/* What the merged trace has a head for, or names of its own. */
static bool is_replaced(const trace_event *event) {
    return is_process_metadata(event) ||
           (event->phase == 'M' && (text_is(event->name, "prof") ||
                                    text_is(event->name, "prof counts")));
}

static void note_event(rank_file *f, merger *m, const trace_event *event) {
    uint32_t number = process_of(f, m, event);
    if (event->phase == 'M' &&
        (text_is(event->name, "prof counts") || text_is(event->name, "prof")))
        keep_lists(f, m, event->args_text);
    if (is_process_metadata(event)) note_process(m, &f->processes[number], event);
}

static void note_member(rank_file *f, merger *m, const trace_member *member) {
    char host[256];
    if (text_is(member->key, "distributedInfo")) {
        return;                                               /* ranks have it */
    } else if (text_is(member->key, "host_name") && json_is_text(member->value)) {
        json_decode(member->value, host, sizeof host);
        f->host = arena_text(&m->memory, host, strlen(host));
    } else if (text_is(member->key, "deviceProperties")) {
        f->devices = keep(m, member->value);
    } else if (text_is(member->key, "prof")) {
        keep_lists(f, m, member->value);                      /* the rest the reader has */
    } else if (text_is(member->key, "prof_cuda")) {
        return;
    } else if (f == m->files && !text_is(member->key, "baseTimeNanoseconds") &&
               !text_is(member->key, "traceName")) {
        GROW(m->members, m->member_count, m->member_capacity);
        m->members[m->member_count++] = (trace_member){keep(m, member->key),
                                                       keep(m, member->value)};
    }
}

/* Calls of --align NAME may be a begin and an end. */
static void note_pairs(const rank_file *f, merger *m) {
    trace_reader *reader = trace_open(f->id.path);
    if (!reader) return;
    reader->quiet = true;
    while (trace_next(reader) != TRACE_END)
        if (reader->item == TRACE_EVENT) ranks_take(&m->ranks, reader->event);
    trace_close(reader);
}

static int note_file(rank_file *f, merger *m) {
    trace_reader *reader = trace_open(f->id.path);
    if (!reader) return EXIT_BAD;
    reader->as_written = reader->with_text = true;
    ranks_begin_file(&m->ranks, f->id.path);
    rank_row *row = &m->ranks.rows[f->number];
    while (trace_next(reader) != TRACE_END) {
        if (reader->item == TRACE_EVENT) note_event(f, m, reader->event);
        if (reader->item == TRACE_EVENT && !m->ranks.zone) ranks_take(&m->ranks, reader->event);
        if (reader->item != TRACE_MEMBER) continue;
        note_member(f, m, &reader->member);
        ranks_take_member(&m->ranks, &reader->member);
    }
    f->lost = *reader->losses;
    f->base_ns = row->base_ns = reader->base_time_ns;
    if (m->ranks.zone) note_pairs(f, m);
    ranks_end_file(&m->ranks, true);
    return trace_close(reader);
}

/* ---- Ranks and clocks ---- */

static int by_rank(const void *a, const void *b) {
    const rank_file *x = a, *y = b;
    if (x->id.rank != y->id.rank) return x->id.rank > y->id.rank ? 1 : -1;
    return (x->id.first_ns > y->id.first_ns) - (x->id.first_ns < y->id.first_ns);
}

static void join_window(const rank_file *f, rank_file *owner) {
    for (size_t i = 0; i < f->process_count; i++) {
        bool is_new;
        size_t number = NUMBER_OF(&owner->pids, (uint64_t)f->processes[i].pid, owner->processes,
                                  owner->process_count, owner->process_capacity, &is_new);
        if (is_new) owner->processes[number] = f->processes[i];
    }
}

static void tell_clock(const rank_file *f, const clock_fit *fit, const char *what) {
    char drift[64] = "";
    if (!fit->count) return;
    if (fit->line.rate != 0)
        snprintf(drift, sizeof drift, " and a drift of %+.3f ppm", fit->line.rate * 1e6);
    warn(f->id.path, "clock set by %+.3f us%s, from %zu %s of which half end within %.3f us of it",
         (double)f->clock.add_ns / 1e3, drift, fit->count, what, (double)fit->spread_ns / 1e3);
}

/* Files of a rank stand behind each other: further ones are windows of it. */
static void join_files(merger *m) {
    for (uint32_t i = 0, owner = 0; i < m->count; i++) {
        rank_file *f = &m->files[i];
        const rank_row *row = &m->ranks.rows[m->ranks.rows[f->number].owner];
        if (row == &m->ranks.rows[f->number]) owner = i;
        else join_window(f, &m->files[owner]);
        f->owner = owner;
        f->clock = ranks_clock(&m->ranks, f->number);
        if (owner == i) tell_clock(f, &row->clock, m->ranks.zone ? "calls" : "collectives");
    }
}

/* ---- Second pass: writing ---- */

static int64_t new_pid(const rank_file *f, uint32_t number) {
    return ((int64_t)f->owner + 1) * PIDS_OF_A_RANK + number;
}

static void write_name(trace_writer *w, const rank_file *f, uint32_t number) {
    const process *p = &f->processes[number];
    writer_row to = {new_pid(f, number), 0, NULL};
    char text[600];
    long long rank = (long long)f->id.rank;
    if (p->name) snprintf(text, sizeof text, "rank %lld: %s", rank, p->name);
    else snprintf(text, sizeof text, "rank %lld: process %lld", rank, (long long)p->pid);
    writer_name(w, "process_name", to, text);
    if (!p->labels) return;
    snprintf(text, sizeof text, "rank %lld %s", rank, p->labels);
    writer_name(w, "process_labels", to, text);
}

static bool sorts_before(uint32_t a, uint32_t b, const void *context) {
    const process *processes = context, *x = &processes[a], *y = &processes[b];
    return x->has_sort && y->has_sort ? x->sort < y->sort : x->has_sort && !y->has_sort;
}

static void write_names(trace_writer *w, const merger *m, size_t file) {
    const rank_file *f = &m->files[file];
    uint32_t *order = sorted_numbers(f->process_count, sorts_before, f->processes);
    for (uint32_t i = 0; i < f->process_count; i++) {
        write_name(w, f, order[i]);
        writer_sort_index(w, "process_sort_index", (writer_row){new_pid(f, order[i]), 0, NULL},
                          f->id.rank * 1000 + (i < 999 ? i : 999));
    }
    free(order);
}

/* One of each device's properties, by id. */
static void write_devices(trace_writer *w, const merger *m) {
    map known = {0};
    bool first = true;
    for (size_t i = 0; i < m->count; i++) {
        trace_text rest = m->files[i].devices, key, device;
        if (!rest.size || *rest.data != '[') continue;
        while (json_next(&rest, &key, &device)) {
            trace_text inner = device, value;
            int64_t id = -1;
            bool is_new;
            while (*device.data == '{' && json_next(&inner, &key, &value))
                if (text_is(key, "id")) json_int(value, &id);
            map_put(&known, (uint64_t)id, &is_new);
            if (!is_new) continue;
            if (first) writer_key(w, "deviceProperties");
            output_text(w->out, first ? "[" : ", ");
            output_write(w->out, device.data, device.size);
            first = false;
        }
    }
    if (!first) output_text(w->out, "]");
    map_free(&known);
}

/* The sums of all ranks; devices by rank. */
static void write_losses(trace_writer *w, const merger *m) {
    losses lost = {.one_core = true};
    head_lists *lists = allocate(m->count * sizeof *lists);
    bool placed = false, any_core = false;
    for (size_t i = 0; i < m->count; i++) {
        char whose[40];
        snprintf(whose, sizeof whose, "rank %lld ", (long long)m->files[i].id.rank);
        losses_add(&lost, &m->files[i].lost, whose);
        lost.one_core &= m->files[i].lost.one_core;
        any_core |= m->files[i].lost.one_core;
        lists[i] = m->files[i].lists;
        placed |= lists[i].of[HEAD_SITES].size > 0;
    }
    if (lost.more_counters)
        warn(NULL, "the traces have more than %d different counters: the rest stay arguments",
             PROF_COUNTERS);
    if (any_core && !lost.one_core)
        warn(NULL, "some of these traces are of one core, some are not: in the merged one "
             "interrupts count in what they interrupted, too");
    size_t index = 0;
    char line[320];
    if (losses_next(&lost, &index, line) || lost.counter_count || lost.type_count ||
        lost.zone_ids || placed || lost.one_core) {
        writer_members(w);
        losses_write_head(&lost, lists, m->count, w->out);
    }
    free(lists);
}

static void write_head(trace_writer *w, const merger *m) {
    for (size_t i = 0; i < m->member_count; i++)
        if (!text_is(m->members[i].key, "ranks"))
            writer_member(w, m->members[i].key, m->members[i].value);
    write_losses(w, m);
    write_devices(w, m);
    if (m->base_ns) {
        writer_key(w, "baseTimeNanoseconds");
        output_format(w->out, "%lld", (long long)m->base_ns);
    }
    writer_key(w, "ranks");
    for (size_t i = 0; i < m->count; i++) {
        const rank_file *f = &m->files[i];
        output_format(w->out, "%s{\"rank\": %lld, \"file\": ", i ? ",\n " : "[",
                      (long long)f->id.rank);
        output_json_text(w->out, f->id.path, strlen(f->id.path));
        if (f->host) {
            output_text(w->out, ", \"host_name\": ");
            output_json_text(w->out, f->host, strlen(f->host));
        }
        output_text(w->out, ", \"clock_us\": ");
        write_us(w->out, f->clock.add_ns);
        if (f->clock.rate != 0) output_format(w->out, ", \"drift_ppm\": %.6f", f->clock.rate * 1e6);
        output_text(w->out, "}");
    }
    output_text(w->out, "]");
}

static void add_edit(text_edit *edits, size_t *count, trace_text old, int64_t number) {
    if (*count == MOST_EDITS) return;
    edits[*count].old = old;
    snprintf(edits[(*count)++].text, sizeof edits->text, "%lld", (long long)number);
}

static void edit_args(const trace_event *event, int64_t above, text_edit *edits, size_t *count) {
    static const char *const keys[] = {KEY_CORRELATION, "correlation_id", "correlation id",
                                       KEY_EXTERNAL_ID, "external id",
                                       "wait_on_cuda_event_record_corr_id", KEY_ZONE,
                                       KEY_ZONE_PARENT};
    const trace_member *args = event->args;
    for (size_t i = 0; above && i < event->arg_count; i++) {
        const trace_member *arg = &args[i];
        int64_t id;
        if (!json_int(arg->value, &id) || id <= 0 || id >= INT64_C(1) << 32) continue;
        for (size_t k = 0; k < sizeof keys / sizeof *keys; k++)
            if (text_is(arg->key, keys[k])) add_edit(edits, count, arg->value, id + above);
    }
}

/* An event's time, or its end, on the merged trace's clock. */
static bool shifted(const merger *m, const rank_file *f, const trace_event *event, int64_t at_ns,
                    int64_t *ns) {
    int64_t more = clock_add(&f->clock, time_add(at_ns, f->base_ns));
    if (!__builtin_sub_overflow(f->base_ns, m->base_ns, ns) &&
        !__builtin_add_overflow(*ns, more, ns) &&
        !__builtin_add_overflow(*ns, at_ns, ns) && *ns != INT64_MIN) return true;
    fail(f->id.path, "byte %llu: on the base of the other traces this time does not fit 64 bits of "
         "nanoseconds", (unsigned long long)event->offset);
    return false;
}

/* In the merged trace: flows are numbered in the order in which they come. */
static uint64_t flow_number(merger *m, const trace_event *event) {
    bool is_new;
    uint64_t *number = map_put(&m->flows, trace_flow(event), &is_new);
    if (is_new) *number = ++m->flow_count;
    return *number;
}

/* Of a clock that drifts: what lies in a call on its own clock does so still. */
static bool dur_edit(const merger *m, const rank_file *f, const trace_event *event,
                     trace_text value, text_edit *edit) {
    int64_t start_ns, end_ns;
    if (!shifted(m, f, event, event->ts_ns, &start_ns) ||
        !shifted(m, f, event, time_add(event->ts_ns, event->dur_ns), &end_ns)) return false;
    *edit = us_edit(value, end_ns - start_ns);
    return true;
}

static bool write_event(trace_writer *w, merger *m, rank_file *f, const trace_event *event) {
    text_edit edits[MOST_EDITS];
    size_t count = 0;
    uint64_t flow = event->has & TRACE_HAS_ID ? flow_number(m, event) : 0;
    trace_text rest = event->raw, key, value;
    const uint64_t *number = map_get(&m->files[f->owner].pids, (uint64_t)event->pid);
    if (!number) return true;                        /* the file has changed meanwhile */
    while (count < MOST_EDITS && json_next(&rest, &key, &value)) {
        if (text_is(key, "pid")) {
            add_edit(edits, &count, value, new_pid(f, (uint32_t)*number));
        } else if (text_is(key, "ts") && event->has & TRACE_HAS_TS && count < MOST_EDITS) {
            int64_t ns;
            if (!shifted(m, f, event, event->ts_ns, &ns)) return false;
            edits[count++] = us_edit(value, ns);
        } else if (text_is(key, "dur") && event->has & TRACE_HAS_DUR && f->clock.rate != 0) {
            if (!dur_edit(m, f, event, value, &edits[count])) return false;
            count++;
        } else if (text_is(key, "id") && flow) {
            add_edit(edits, &count, value, (int64_t)flow);
        }
    }
    edit_args(event, (int64_t)(f - m->files) << 32, edits, &count);
    writer_event(w);
    write_edited(w->out, event->raw, edits, count);
    return true;
}

static int write_file(trace_writer *w, merger *m, rank_file *f) {
    trace_reader *reader = trace_open(f->id.path);
    if (!reader) return EXIT_BAD;
    reader->quiet = reader->as_written = reader->with_text = true;
    while (!reader->failed && trace_next(reader) != TRACE_END)
        if (reader->item == TRACE_EVENT && !is_replaced(reader->event))
            reader->failed |= !write_event(w, m, f, reader->event);
    map_free(&m->flows);
    return trace_close(reader);
}

/* fd: of the file that path is, -1: it is to be made. */
static int write_all(merger *m, const char *path, int fd) {
    output out;
    trace_writer writer;
    if (!(fd < 0 ? output_rewrite(&out, path) : output_onto(&out, fd, path))) return EXIT_BAD;
    writer_begin(&writer, &out, false);
    write_head(&writer, m);
    for (size_t i = 0; i < m->count; i++)
        if (m->files[i].owner == i) write_names(&writer, m, i);
    int status = EXIT_OK;
    for (size_t i = 0; i < m->count && status == EXIT_OK; i++)
        status = write_file(&writer, m, &m->files[i]);
    writer_end(&writer);
    return output_close(&out, status);
}

/* ---- The command ---- */

static int merge(merger *m, const char *path, int fd) {
    for (size_t i = 0; i < m->count; i++)
        if (note_file(&m->files[i], m) != EXIT_OK) return EXIT_BAD;
    if (!ranks_finish(&m->ranks, false)) return EXIT_BAD;
    for (size_t i = 0; i < m->count; i++) m->files[i].id = m->ranks.rows[i].id;
    qsort(m->files, m->count, sizeof *m->files, by_rank);
    join_files(m);
    m->base_ns = INT64_MAX;
    for (size_t i = 0; i < m->count; i++)
        if (m->files[i].base_ns < m->base_ns) m->base_ns = m->files[i].base_ns;
    return write_all(m, path, fd);
}

static void free_merger(merger *m) {
    for (size_t i = 0; i < m->count; i++) {
        rank_file *f = &m->files[i];
        map_free(&f->pids);
        free(f->processes);
    }
    free(m->files);
    free(m->members);
    ranks_free(&m->ranks);
    arena_free(&m->memory);
}

static int merge_onto(char *const *paths, size_t count, const align_options *align, const char *to,
                      int fd) {
    merger m = {.count = count, .ranks = {.align = align, .untold = true}};
    for (size_t i = 0; i < count; i++)
        if (file_reads_once(paths[i]))
            return fail(paths[i], "merge reads its input twice, so it must be a file");
    m.files = allocate(m.count * sizeof *m.files);
    for (size_t i = 0; i < count; i++) {
        m.files[i].id.path = paths[i];
        m.files[i].number = (uint32_t)i;
    }
    int status = merge(&m, to, fd);
    free_merger(&m);
    return status;
}

int merge_files(char *const *paths, size_t count, const align_options *align, const char *to) {
    return merge_onto(paths, count, align, to, -1);
}

int merge_to_temporary(char *const *traces, size_t count, const align_options *align,
                       char **path) {
    int fd = temporary_unnamed(), to = fd < 0 ? -1 : dup(fd);
    if (to < 0) temporary_failed();
    *path = allocate(32);
    snprintf(*path, 32, "/dev/fd/%d", fd);
    return merge_onto(traces, count, align, temporary_folder(), to);
}

void merge_remove(char *path) {
    if (path) close(atoi(path + strlen("/dev/fd/")));
    free(path);
}

static int run(int argc, char **argv) {
    const char *path = NULL;
    align_options o = {0};
    const option_spec options[] = {
        ALIGN_OPTIONS(o),
        {"output", 'o', OPTION_TEXT, &path, "FILE", "instead of stdout; .gz by its ending"},
        {NULL, 0, OPTION_FLAG, NULL, NULL, NULL}
    };
    demangles = false;           /* names are written as they are */
    int status, count = options_parse(&merge_command, options, argc, argv, &status);
    if (count < 0) return status;
    char **traces = argv + 1;
    if (!folders_open(&traces, &count) || !align_fits(&o, traces, count)) return EXIT_BAD;
    return merge_files(traces, (size_t)count, &o, path);
}
