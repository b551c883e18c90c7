/* Raw streams as JSON: see raw_json.h. */
#include "raw_json.h"

#include <stdlib.h>
#include <string.h>

#include "head_sums.h"
#include "losses.h"

enum { MEMORY = 8 << 20 };

struct raw_json {
    trace_writer writer;
    prof_raw *raw;
    void *memory;
    prof_raw_stats stats;
    bool has_session, told, named;       /* named: as prof.h's, which its head does too late */
    int64_t pid, base_ns, shift_ns;      /* shift: of a later session's times, since the first */
    map threads;                         /* number in the stream -> thread id */
    losses lost;
    raw_losses raw_lost;
    output sums;                         /* rows, as the head has them */
    prof_raw_item held[1024];            /* zones that ended together, as they began */
    size_t held_count;
};

/* ---- What the stream tells, as events ---- */

static int64_t tid_of(const raw_json *r, uint32_t thread) {
    const uint64_t *id = map_get(&r->threads, thread);
    return id ? (int64_t)*id : (int64_t)thread;
}

static void begin_event(raw_json *r, char phase, const char *category, const char *name,
                        const prof_raw_item *item) {
    output *out = r->writer.out;
    writer_event(&r->writer);
    output_format(out, "{\"ph\": \"%c\", \"cat\": \"%s\", \"name\": ", phase, category);
    output_json_text(out, name, strlen(name));
    output_format(out, ", \"pid\": %lld, \"tid\": %lld, \"ts\": ", (long long)r->pid,
                  (long long)tid_of(r, item->thread));
    write_us(out, item->start_ns + r->shift_ns);
}

static void write_zone(raw_json *r, const char *category, const char *name,
                       const prof_raw_item *item) {
    output *out = r->writer.out;
    begin_event(r, 'X', category, name, item);
    output_text(out, ", \"dur\": ");
    write_us(out, item->end_ns - item->start_ns);
    bool finished = !(item->flags & PROF_EVENT_UNFINISHED);
    output_text(out, finished ? "}" : ", \"args\": {\"finished\": false}}");
}

/* Zones come by their ends. Those that end together are written as they began: of two that have the
   same times readers take the first for the outer one. */
static void hold(raw_json *r, const prof_raw_item *item) {
    size_t at = r->held_count++;
    for (; at; at--) {
        const prof_raw_item *before = &r->held[at - 1];
        if (before->start_ns < item->start_ns ||
            (before->start_ns == item->start_ns && before->depth <= item->depth)) break;
        r->held[at] = *before;
    }
    r->held[at] = *item;
}

static void release(raw_json *r) {
    for (size_t i = 0; i < r->held_count; i++)
        write_zone(r, "cpu_op", r->held[i].name, &r->held[i]);
    r->held_count = 0;
}

static bool together(const raw_json *r, const prof_raw_item *item) {
    return item->kind == PROF_RAW_ZONE && item->thread == r->held->thread &&
           item->end_ns == r->held->end_ns && r->held_count < sizeof r->held / sizeof *r->held;
}

/* The first one is the trace's; one that begins later is placed behind it by its clock. */
static void take_session(raw_json *r, const prof_raw_item *item) {
    if (!r->has_session) {
        r->base_ns = item->start_ns;
    }
    if (!r->has_session && !r->writer.had_events) {      /* else the stream's begin is missing */
        writer_key(&r->writer, "schemaVersion");
        output_text(r->writer.out, "1");
        writer_key(&r->writer, "baseTimeNanoseconds");
        output_format(r->writer.out, "%lld", (long long)r->base_ns);
    }
    r->has_session = true;
    r->pid = item->value;
    r->shift_ns = item->start_ns - r->base_ns;
}

static void take_thread(raw_json *r, const prof_raw_item *item) {
    bool is_new;
    *map_put(&r->threads, item->thread, &is_new) = (uint64_t)item->value;
    if (!is_new || !item->name) return;
    writer_event(&r->writer);
    output_format(r->writer.out, "{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": %lld, "
                  "\"tid\": %lld, \"args\": {\"name\": ", (long long)r->pid,
                  (long long)item->value);
    output_json_text(r->writer.out, item->name, strlen(item->name));
    output_text(r->writer.out, "}}");
}

/* One that stands for zones in sums, which readers must not count beside them. */
static void name_ours(raw_json *r) {
    if (r->named) return;
    r->named = true;
    writer_event(&r->writer);
    output_format(r->writer.out, "{\"ph\": \"M\", \"name\": \"prof\", \"pid\": %lld, \"tid\": 0, "
                  "\"args\": {\"version\": \"" PROF_VERSION "\"}}", (long long)r->pid);
}

static void take_counter(raw_json *r, const prof_raw_item *item) {
    begin_event(r, 'C', "counter", item->name, item);
    output_text(r->writer.out, ", \"args\": {\"value\": ");
    if (item->kind == PROF_RAW_COUNTER_F) output_double(r->writer.out, item->number);
    else output_format(r->writer.out, "%lld", (long long)item->value);
    output_text(r->writer.out, "}}");
}

static void take_sums(raw_json *r, const prof_average *a) {
    output *out = &r->sums;
    size_t size;
    output_memory(out, &size);
    output_text(out, size ? ",\n{\"name\": " : "[\n{\"name\": ");
    output_json_text(out, a->key, strlen(a->key));
    output_format(out, ", \"count\": %llu, \"total\": %lld, \"self\": %lld, \"min\": %lld, "
                  "\"max\": %lld, ", (unsigned long long)a->count,
                  (long long)a->cpu_time_total_ns, (long long)a->self_cpu_time_total_ns,
                  (long long)a->min_ns, (long long)a->max_ns);
    output_format(out, "\"p50\": %lld, \"p90\": %lld, \"p99\": %lld", (long long)a->p50_ns,
                  (long long)a->p90_ns, (long long)a->p99_ns);
    if (a->untimed) output_format(out, ", \"untimed\": %llu", (unsigned long long)a->untimed);
    output_text(out, "}");
}

static void take(void *user, const prof_raw_item *item) {
    raw_json *r = user;
    char step[40];
    losses_take_raw(&r->lost, &r->raw_lost, item);
    if (!together(r, item)) release(r);
    switch (item->kind) {
    case PROF_RAW_SESSION: take_session(r, item); break;
    case PROF_RAW_THREAD: take_thread(r, item); break;
    case PROF_RAW_ZONE:
        if (strcmp(item->name, "(in sums)") == 0) name_ours(r);
        hold(r, item);
        break;
    case PROF_RAW_STEP:
        snprintf(step, sizeof step, "ProfilerStep#%lld", (long long)item->value);
        write_zone(r, "user_annotation", step, item);
        break;
    case PROF_RAW_INSTANT:
        begin_event(r, 'i', "cpu_instant_event", item->name, item);
        output_text(r->writer.out, ", \"s\": \"t\"}");
        break;
    case PROF_RAW_COUNTER: case PROF_RAW_COUNTER_F: take_counter(r, item); break;
    case PROF_RAW_SUMS: take_sums(r, item->average); break;
    case PROF_RAW_COUNTS: break;
    }
}

/* ---- The stream ---- */

bool raw_json_is(const void *first, size_t size) {
    return size >= 4 && (memcmp(first, "FORP", 4) == 0 || memcmp(first, "PROF", 4) == 0);
}

raw_json *raw_json_open(output *out) {
    raw_json *r = allocate(sizeof *r);
    r->memory = allocate(MEMORY);
    r->pid = 1;
    writer_begin(&r->writer, out, false);
    output_open_memory(&r->sums);
    prof_raw_desc desc = {
        .memory = r->memory, .memory_size = MEMORY, .item = take, .user = r
    };
    if (prof_raw_open(&desc, &r->raw) != PROF_OK) exit(fail(NULL, "out of memory"));
    return r;
}

void raw_json_push(raw_json *r, const void *data, size_t size) {
    prof_raw_feed(r->raw, data, size);
}

prof_raw_stats raw_json_end(raw_json *r) {
    prof_raw_close(r->raw, &r->stats);
    release(r);
    uint64_t tail = r->stats.ended ? 0 : r->stats.tail_bytes;    /* raw_json_tell tells that */
    losses_end_raw(&r->lost, &r->raw_lost);
    losses_add_stream(&r->lost, r->stats.missing_blocks, r->stats.missing_records,
                      r->stats.damaged_bytes - tail);
    head_lists lists = {0};
    trace_text *sums = &lists.of[HEAD_SUMS];
    if (output_memory(&r->sums, &sums->size)) output_text(&r->sums, "]");
    sums->data = output_memory(&r->sums, &sums->size);
    losses_write_head(&r->lost, &lists, 1, &r->writer);
    writer_end(&r->writer);
    return r->stats;
}

bool raw_json_tell(raw_json *r, const char *path) {
    const prof_raw_stats *stats = &r->stats;
    bool cut = !stats->ended && stats->tail_bytes > 0, first = !r->told;
    r->told = true;
    if (!first) return cut;
    if (stats->newer)
        warn(path, "%llu blocks are of a newer version than %s",
             (unsigned long long)stats->newer, PROF_VERSION);
    if (stats->bad_sums)
        warn(path, "%llu rows of the stream's sums make no sense, left out",
             (unsigned long long)stats->bad_sums);
    if (!stats->ended)
        warn(path, cut ? "byte %llu: the stream ends early, within a block; read up to there"
                       : "byte %llu: the stream ends without its last block, as a run that "
                         "crashed leaves it",
             (unsigned long long)(stats->bytes - stats->tail_bytes));
    return cut;
}

const losses *raw_json_losses(const raw_json *r) { return &r->lost; }

void raw_json_free(raw_json *r) {
    map_free(&r->threads);
    output_discard(&r->sums);
    free(r->memory);
    free(r);
}
