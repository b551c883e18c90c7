/* prof steps: how long the steps took, which took longest and why. */
#include "analysis/durations.h"
#include "analysis/step_parts.h"
#include "input/losses.h"
#include "input/trace_reader.h"
#include "trace/rank_id.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int run(int argc, char **argv);

const command steps_command = {
    "steps", "[OPTION]... TRACE...", "how long the steps took, and why the worst were slow",
    "  prof steps rank*.json.gz\n"
    "      a row for each rank: minimum, mean, percentiles and maximum of its\n"
    "      ProfilerStep#N\n"
    "  prof steps --worst 3 trace.json\n"
    "      the three longest, and which calls and kernels took longer in them than\n"
    "      in the median step\n"
    "  prof steps --name '^frame$' game.json\n"
    "      any zone as a step\n"
    "  prof steps --critical trace.json\n"
    "      what the median step's time depends on; with --worst N, the worst steps'\n\n"
    "How it counts\n"
    "  A step is a call on the CPU that is named ProfilerStep#N, or that the\n"
    "  extended regular expression --name matches. GPU annotations of that name do\n"
    "  not count. A percentile is the ceil(n p / 100)-th of n durations in ascending\n"
    "  order. The rank is that of distributedInfo, else the file's number, from 0. A\n"
    "  rank's median step is one that lasts as long as its p50. What took longer: by\n"
    "  name, the self times of the calls that begin in the step, on any thread, and\n"
    "  the times of its kernels, copies and fills, less those of the median step;\n"
    "  the five that grew most, for at most 20 steps.\n\n"
    "Critical path\n" STEP_CRITICAL_HELP
    "  The parts add up to the step's duration. What the trace does not show, such\n"
    "  as waiting for a lock or a file, is time of the call that waits.\n", run, 1, INT_MAX
};

enum { MOST_CAUSES = 20, SHOWN_CAUSES = 5, NAME_LETTERS = 80 /* in text */ };

typedef struct step_options {
    const char *name, *output;
    table_format format;
    int64_t worst, limit;
    bool critical;
} step_options;

typedef struct step_rank {
    rank_id id;
    size_t count;
    int64_t sum_ns;
    int status;                  /* of the first reading */
} step_rank;

typedef struct step_table {
    const step_options *options;
    name_pattern name;
    step_rank *ranks;            /* of the files */
    uint32_t *order;             /* those that could be read, by rank */
    size_t files, count;
    step *steps;
    size_t step_count, step_capacity;
    durations durations;         /* by file */
    interner names;
} step_table;

/* ---- Reading ---- */

static bool is_step(step_table *t, const trace_event *event, uint32_t name) {
    if (event->phase != 'X' || kind_has_device(event->kind) || event->kind == TRACE_SYNC ||
        event->kind == TRACE_TASK) return false;
    if (t->name.given) return pattern_finds(&t->name, name, interned_text(&t->names, name));
    return text_begins(event->name, "ProfilerStep#");
}

static void take(step_table *t, uint32_t file, const trace_event *event) {
    uint32_t name = intern(&t->names, event->name.data, event->name.size);
    if (!is_step(t, event, name)) return;
    GROW(t->steps, t->step_count, t->step_capacity);
    t->steps[t->step_count++] = (step){
        event->ts_ns, event->dur_ns, file, name, event->pid, event->tid
    };
    durations_add(&t->durations, file, event->dur_ns);
    t->ranks[file].count++;
    t->ranks[file].sum_ns += event->dur_ns;
}

static int read_file(step_table *t, uint32_t file) {
    step_rank *rank = &t->ranks[file];
    trace_reader *reader = trace_open(rank->id.path);
    rank->id.failed = !reader;
    if (!reader) return EXIT_BAD;
    while (trace_next(reader) != TRACE_END)
        if (reader->item == TRACE_EVENT) take(t, file, reader->event);
        else if (reader->item == TRACE_MEMBER) rank_read(&rank->id, &reader->member);
    int status = trace_close(reader);
    rank->status = status;
    rank->id.failed = status != EXIT_OK && !rank->count;
    if (!rank->id.failed && !rank->count)
        warn(rank->id.path, t->name.given ? "no call in it has a name like that" :
             "there is no ProfilerStep# in it: other calls are steps with --name");
    return status;
}

static bool is_longer(uint32_t a, uint32_t b, const void *context) {
    const step_table *t = context;
    const step *x = &t->steps[a], *y = &t->steps[b];
    if (x->dur_ns != y->dur_ns) return x->dur_ns > y->dur_ns;
    return t->ranks[x->file].id.rank < t->ranks[y->file].id.rank;
}

/* ---- Distribution ---- */

static void write_distribution(step_table *t, output *out) {
    static const unsigned percents[] = {0, 50, 90, 95, 99, 100};
    bool text = t->options->format == FORMAT_TEXT;
    sheet s;
    sheet_begin(&s, text ? "Rank#|Name|Count#|Min (us)#|Mean (us)#|p50 (us)#|p90 (us)#|p95 (us)#|"
                           "p99 (us)#|Max (us)#"
                         : "rank#|name|count#|min#|mean#|p50#|p90#|p95#|p99#|max#");
    for (size_t i = 0; i < t->count; i++) {
        const step_rank *rank = &t->ranks[t->order[i]];
        int64_t ns[6];
        if (!rank->count) continue;
        durations_percentiles(&t->durations, t->order[i], percents, 6, ns);
        cell_int(&s, rank->id.rank);
        cell_text(&s, t->name.given ? t->options->name : "ProfilerStep#");
        cell_int(&s, (int64_t)rank->count);
        cell_us(&s, ns[0]);
        cell_format(&s, text ? "%.3f" : "%.6f", (double)rank->sum_ns / (double)rank->count * 1e-3);
        for (int k = 1; k < 6; k++) cell_us(&s, ns[k]);
    }
    sheet_end(&s, t->options->format, out);
}

/* ---- The longest ---- */

static void write_worst(const step_table *t, const uint32_t *longest, size_t count, output *out) {
    sheet s;
    sheet_begin(&s, t->options->format == FORMAT_TEXT ? "Rank#|Name|Begin (us)#|Duration (us)#"
                                                      : "rank#|name|ts#|dur#");
    for (size_t i = 0; i < count; i++) {
        const step *one = &t->steps[longest[i]];
        cell_int(&s, t->ranks[one->file].id.rank);
        cell_text(&s, interned_text(&t->names, one->name));
        cell_us(&s, one->start_ns);
        cell_us(&s, one->dur_ns);
    }
    sheet_end(&s, t->options->format, out);
}

/* A step of the file that lasts as long as its p50. */
static const step *median_of(step_table *t, uint32_t file) {
    static const unsigned percent = 50;
    int64_t ns = 0;
    durations_percentiles(&t->durations, file, &percent, 1, &ns);
    for (size_t i = 0; i < t->step_count; i++)
        if (t->steps[i].file == file && t->steps[i].dur_ns == ns) return &t->steps[i];
    return NULL;
}

static int by_time(const void *a, const void *b) {
    const step_part *x = a, *y = b;
    if (x->ns != y->ns) return x->ns < y->ns ? 1 : -1;
    return (x->name > y->name) - (x->name < y->name);
}

static void free_parts(step_parts *parts) {
    map_free(&parts->numbers);
    free(parts->list);
    memset(parts, 0, sizeof *parts);
}

/* Leaves what is more than in the other. */
static void subtract(step_parts *parts, const step_parts *less) {
    for (size_t i = 0; i < parts->count; i++) {
        step_part *part = &parts->list[i];
        const uint64_t *other = map_get(&less->numbers, (uint64_t)part->kind << 32 | part->name);
        if (other) part->ns -= less->list[*other].ns;
    }
    if (parts->count) qsort(parts->list, parts->count, sizeof *parts->list, by_time);
}

static const char *part_name(const step_file *f, const step_part *part) {
    return part->name == UINT32_MAX ? "-" : interned_text(&f->tree.names, part->name);
}

static void write_step(const step_table *t, const step *one, output *out) {
    output_plain_text(out, interned_text(&t->names, one->name));
    output_text(out, " of rank ");
    output_format(out, "%lld (", (long long)t->ranks[one->file].id.rank);
    write_us(out, one->dur_ns);
    output_text(out, " us)");
}

static void write_growth(const step_file *f, const step_parts *grown, const step_parts *median,
                         output *out) {
    sheet s;
    sheet_begin(&s, "Longer by (us)#|On|Calls#|In the median#|Name");
    for (size_t i = 0; i < grown->count && i < SHOWN_CAUSES && grown->list[i].ns > 0; i++) {
        const step_part *part = &grown->list[i];
        const uint64_t *other = map_get(&median->numbers, (uint64_t)part->kind << 32 | part->name);
        cell_us(&s, part->ns);
        cell_text(&s, part_names[part->kind]);
        cell_int(&s, (int64_t)part->count);
        cell_int(&s, other ? (int64_t)median->list[*other].count : 0);
        cell_name(&s, part_name(f, part), NAME_LETTERS);
    }
    sheet_end(&s, FORMAT_TEXT, out);
}

static void write_causes(step_table *t, const step_file *f, const step *one, output *out) {
    step_parts parts = {0}, median = {0};
    const step *usual = median_of(t, one->file);
    if (!usual || usual == one) return;
    step_sums(f, one, &parts);
    step_sums(f, usual, &median);
    subtract(&parts, &median);
    output_text(out, "\nWhat took longer in ");
    write_step(t, one, out);
    output_text(out, " than in ");
    write_step(t, usual, out);
    output_text(out, ", the median\n");
    write_growth(f, &parts, &median, out);
    free_parts(&parts);
    free_parts(&median);
}

/* ---- Critical paths ---- */

static const char path_heads[] = "rank#|step|kind|name|time_us#|share#|count#";

static void add_path(sheet *s, step_table *t, step_file *f, const step *one, bool text) {
    step_parts parts = {0};
    step_critical(f, one, &parts);
    if (parts.count) qsort(parts.list, parts.count, sizeof *parts.list, by_time);
    for (size_t i = 0; i < parts.count && (int64_t)i < t->options->limit; i++) {
        const step_part *part = &parts.list[i];
        cell_int(s, t->ranks[one->file].id.rank);
        cell_text(s, interned_text(&t->names, one->name));
        cell_text(s, part_names[part->kind]);
        cell_name(s, part_name(f, part), text ? NAME_LETTERS : INT64_MAX);
        cell_us(s, part->ns);
        cell_percent(s, part->ns, one->dur_ns);
        cell_int(s, (int64_t)part->count);
    }
    free_parts(&parts);
}

/* Of each kind, beside the step's name. */
static void write_kinds(step_table *t, step_file *f, const step *one, output *out) {
    step_parts parts = {0};
    int64_t kinds[PART_KINDS] = {0};
    step_critical(f, one, &parts);
    for (size_t i = 0; i < parts.count; i++) kinds[parts.list[i].kind] += parts.list[i].ns;
    free_parts(&parts);
    output_text(out, "\nCritical path of ");
    write_step(t, one, out);
    for (int kind = 0; kind < PART_KINDS; kind++)
        if (kinds[kind])
            output_format(out, "%s %s %.1f %%", kind ? "," : ":", part_names[kind],
                          100 * (double)kinds[kind] / (double)one->dur_ns);
    output_text(out, "\n");
}

static void write_path(step_table *t, step_file *f, const step *one, output *out) {
    sheet s;
    write_kinds(t, f, one, out);
    sheet_begin(&s, "Rank#|Step|Kind|Name|Time (us)#|Share %#|Count#");
    s.hidden = 2;
    add_path(&s, t, f, one, true);
    sheet_end(&s, FORMAT_TEXT, out);
}

/* ---- The command ---- */

/* What each of these steps went to; a file with several is read once. all: of paths, not text. Not
   EXIT_OK: a file could be read before, and now it cannot. */
static int write_details(step_table *t, const uint32_t *chosen, size_t count, sheet *all,
                         output *out) {
    int status = EXIT_OK;
    bool *done = allocate((count + 1) * sizeof *done);
    for (size_t i = 0; i < count; i++) {
        uint32_t number = t->steps[chosen[i]].file;
        step_file file = {0};
        if (done[i]) continue;
        if (file_reads_once(t->ranks[number].id.path)) {
            warn(t->ranks[number].id.path, "what its steps went to needs a file: it is read twice");
            continue;
        }
        int read = step_file_read(&file, t->ranks[number].id.path);
        if (read > t->ranks[number].status) status = read;
        for (size_t k = i; k < count && file.piece_ends; k++) {
            const step *one = &t->steps[chosen[k]];
            if (one->file != number) continue;
            done[k] = true;
            if (all) add_path(all, t, &file, one, false);
            else if (t->options->critical) write_path(t, &file, one, out);
            else write_causes(t, &file, one, out);
        }
        step_file_free(&file);
    }
    free(done);
    return status;
}

/* The N longest, or with --critical alone the median step of each rank. */
static uint32_t *choose(step_table *t, size_t *count) {
    uint32_t *chosen = sorted_numbers(t->step_count, is_longer, t);
    *count = t->options->worst < (int64_t)t->step_count ? (size_t)t->options->worst
                                                        : t->step_count;
    if (t->options->worst || !t->options->critical) return chosen;
    for (size_t i = 0; i < t->count; i++) {
        const step *usual = median_of(t, t->order[i]);
        if (usual) chosen[(*count)++] = (uint32_t)(usual - t->steps);
    }
    return chosen;
}

static int write_all(step_table *t) {
    output out;
    size_t count;
    int status = EXIT_OK;
    bool text = t->options->format == FORMAT_TEXT;
    if (!output_open(&out, t->options->output)) return EXIT_BAD;
    uint32_t *chosen = choose(t, &count);
    if (text) losses_write(&out);
    if (t->options->critical && !text) {
        sheet s;
        sheet_begin(&s, path_heads);
        status = write_details(t, chosen, count, &s, NULL);
        sheet_end(&s, t->options->format, &out);
    } else if (t->options->worst) {
        write_worst(t, chosen, count, &out);
    } else {
        write_distribution(t, &out);
    }
    if (text) status = write_details(t, chosen, count < MOST_CAUSES ? count : MOST_CAUSES, NULL,
                                     &out);
    free(chosen);
    return output_close(&out, status);
}

static int read_and_write(step_table *t) {
    int status = EXIT_OK;
    for (uint32_t i = 0; i < t->files; i++) {
        int read = read_file(t, i);
        if (read > status) status = read;
    }
    t->count = t->files;
    t->order = ranks_order(t->ranks, sizeof *t->ranks, &t->count, false);
    int written = t->count ? write_all(t) : EXIT_BAD;
    return status ? status : written;
}

static void free_table(step_table *t) {
    pattern_close(&t->name);
    intern_free(&t->names);
    durations_free(&t->durations);
    free(t->ranks);
    free(t->order);
    free(t->steps);
}

static int run(int argc, char **argv) {
    step_options o = {.limit = 20};
    const option_spec options[] = {
        {"name", 0, OPTION_TEXT, &o.name, "REGEX", "what is a step, instead of ProfilerStep#N"},
        {"worst", 'w', OPTION_COUNT, &o.worst, "N", "the N longest of all ranks instead"},
        {"critical", 0, OPTION_FLAG, &o.critical, NULL,
         "the critical path: of each rank's median step, or of the worst"},
        {"limit", 'n', OPTION_COUNT, &o.limit, "N", "rows of a critical path, or all (20)"},
        REPAIR_OPTION,
        FORMAT_OPTION(o.format),
        {"output", 'o', OPTION_TEXT, &o.output, "FILE", "instead of stdout; .gz by its ending"},
        {NULL, 0, OPTION_FLAG, NULL, NULL, NULL}
    };
    int status, count = options_parse(&steps_command, options, argc, argv, &status);
    if (count < 0) return status;
    step_table t = {.options = &o, .files = (size_t)count};
    if (o.name && !pattern_open(&t.name, o.name)) return EXIT_BAD;
    if (o.format == FORMAT_TEXT) losses_hold();
    t.ranks = allocate(t.files * sizeof *t.ranks);
    for (size_t i = 0; i < t.files; i++) t.ranks[i].id.path = argv[i + 1];
    status = read_and_write(&t);
    free_table(&t);
    return status;
}
