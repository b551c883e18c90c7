/* Traces that are not JSON: see trace_other.h. */
#include "trace_other.h"

#include "losses.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { RAW_MEMORY = 8 << 20, LONGEST_LINE = 1 << 20 };

typedef struct waiting {         /* an event to hand out */
    trace_text name;
    char phase;
    int64_t tid, ts_ns, dur_ns;
} waiting;

typedef struct open_frame { uint32_t name; int64_t start_ns; } open_frame;

struct other_trace {
    waiting *events;
    size_t count, next, capacity;
    uint64_t offset;
    /* raw stream */
    prof_raw *raw;
    void *raw_memory;
    int64_t pid;
    losses lost;                 /* that the stream tells of */
    raw_losses raw_lost;
    map thread_ids;              /* number in the stream -> thread id */
    /* folded stacks */
    interner names;
    open_frame *frames;          /* of the stack read last, outermost first */
    size_t depth, frame_capacity;
    int64_t now_ns;
    char *line;                  /* begun in the bytes before */
    size_t line_size;
    bool too_long;               /* that one: it is left out */
    uint64_t bad_lines;
};

static void add_event(other_trace *t, trace_text name, char phase, int64_t tid, int64_t start_ns,
                      int64_t end_ns) {
    GROW(t->events, t->count, t->capacity);
    t->events[t->count++] = (waiting){name, phase, tid, start_ns, end_ns - start_ns};
}

/* Of a name as the reader gives them: see text_clean. */
static uint32_t name_number(other_trace *t, const char *name, size_t size) {
    size_t room = text_clean((trace_text){name, size}, NULL, 0);
    if (room == size) return intern(&t->names, name, size);
    char *clean = allocate(room);
    text_clean((trace_text){name, size}, clean, room);
    uint32_t number = intern(&t->names, clean, room);
    free(clean);
    return number;
}

/* ---- Raw streams ---- */

static void take_item(void *user, const prof_raw_item *item) {
    other_trace *t = user;
    char step[40];
    const char *name = item->name;
    const uint64_t *id = map_get(&t->thread_ids, item->thread);
    int64_t tid = id ? (int64_t)*id : item->thread;
    losses_take_raw(&t->lost, &t->raw_lost, item);
    switch (item->kind) {
    case PROF_RAW_SESSION: t->pid = item->value; return;
    case PROF_RAW_THREAD:
        *map_put(&t->thread_ids, item->thread, NULL) = (uint64_t)item->value;
        return;
    case PROF_RAW_STEP:
        snprintf(step, sizeof step, "ProfilerStep#%lld", (long long)item->value);
        name = step;
        break;
    case PROF_RAW_ZONE: case PROF_RAW_INSTANT: break;
    default: return;
    }
    const char *kept = interned_text(&t->names, name_number(t, name, strlen(name)));
    bool zone = item->kind != PROF_RAW_INSTANT;
    add_event(t, (trace_text){kept, strlen(kept)}, zone ? 'X' : 'i', tid, item->start_ns,
              zone ? item->end_ns : item->start_ns);
}

static bool open_raw(other_trace *t) {
    t->raw_memory = allocate(RAW_MEMORY);
    prof_raw_desc desc = {
        .memory = t->raw_memory, .memory_size = RAW_MEMORY, .item = take_item, .user = t
    };
    return prof_raw_open(&desc, &t->raw) == PROF_OK;
}

bool raw_tell(const prof_raw_stats *stats, const char *path, losses *lost) {
    uint64_t tail = stats->ended ? 0 : stats->tail_bytes;         /* told below */
    losses_add_stream(lost, stats->missing_blocks, stats->missing_records,
                      stats->damaged_bytes - tail);
    if (stats->newer)
        warn(path, "%llu blocks are of a newer version than %s",
             (unsigned long long)stats->newer, PROF_VERSION);
    if (stats->ended) return false;
    bool cut = stats->tail_bytes > 0;
    warn(path, cut ? "byte %llu: the stream ends early, within a block; read up to there"
                   : "byte %llu: the stream ends without its last block, as a run that crashed "
                     "leaves it", (unsigned long long)(stats->bytes - stats->tail_bytes));
    return cut;
}

/* ---- Folded stacks: "outer;inner 123", microseconds; one stack after another in time ---- */

/* Where the count begins in a line of folded stacks; NULL: it is none. */
static const char *count_of(const char *line, size_t size) {
    const char *p = line + size;
    while (p > line && isdigit((unsigned char)p[-1])) p--;
    return p > line + 1 && p < line + size && p[-1] == ' ' && line + size - p <= 15 ? p : NULL;
}

static void close_frames(other_trace *t, size_t depth) {
    while (t->depth > depth) {
        const open_frame *frame = &t->frames[--t->depth];
        const struct interned *name = &t->names.entries[frame->name];
        add_event(t, (trace_text){name->text, name->size}, 'X', 1, frame->start_ns, t->now_ns);
    }
}

/* Microseconds of 15 digits at most, as nanoseconds. */
static int64_t count_ns(const char *p, const char *end) {
    int64_t us = 0;
    while (p < end) us = us * 10 + (*p++ - '0');
    return us * 1000;
}

/* The line's count, in ns, to be added to the time so far; -1: this is no line of folded stacks. */
static int64_t line_ns(const other_trace *t, const char *count, const char *end) {
    int64_t ns = count ? count_ns(count, end) : -1;
    return ns > INT64_MAX - t->now_ns ? -1 : ns;
}

static void read_line(other_trace *t, const char *line, size_t size) {
    if (size && line[size - 1] == '\r') size--;
    const char *count = count_of(line, size), *end = count ? count - 1 : line;
    int64_t ns = line_ns(t, count, line + size);
    size_t depth = 0;
    bool same = true;            /* so far the frames are those of the stack before */
    if (ns < 0) {
        t->bad_lines += size > 0;
        return;
    }
    for (const char *p = line; p < end; depth++) {
        const char *stop = memchr(p, ';', (size_t)(end - p));
        if (!stop) stop = end;
        uint32_t name = name_number(t, p, (size_t)(stop - p));
        same = same && depth < t->depth && t->frames[depth].name == name;
        if (!same) {
            close_frames(t, depth);
            GROW(t->frames, t->depth, t->frame_capacity);
            t->frames[t->depth++] = (open_frame){name, t->now_ns};
        }
        p = stop + 1;
    }
    close_frames(t, depth);
    t->now_ns += ns;
}

/* Keeps the part of a line whose end has not come yet. */
static void keep_part(other_trace *t, const char *data, size_t size) {
    t->too_long |= t->line_size + size > LONGEST_LINE;
    if (t->too_long) return;
    t->line = reallocate(t->line, t->line_size + size);
    memcpy(t->line + t->line_size, data, size);
    t->line_size += size;
}

static void end_line(other_trace *t) {
    if (t->too_long) t->bad_lines++;
    else read_line(t, t->line, t->line_size);
    t->too_long = false;
    t->line_size = 0;
}

static void push_lines(other_trace *t, const char *data, size_t size) {
    const char *end = data + size;
    while (data < end) {
        const char *stop = memchr(data, '\n', (size_t)(end - data));
        size_t piece = (size_t)((stop ? stop : end) - data);
        bool whole = stop && !t->line_size && !t->too_long;
        if (whole) read_line(t, data, piece);
        else keep_part(t, data, piece);
        if (!stop) return;
        if (!whole) end_line(t);
        data = stop + 1;
    }
}

/* ---- Both ---- */

static bool is_folded(const char *first, size_t size) {
    const char *stop = memchr(first, '\n', size);
    size_t length = stop ? (size_t)(stop - first) : size;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)first[i] < ' ' && first[i] != '\r' && first[i] != '\t') return false;
    if (length && first[length - 1] == '\r') length--;
    return count_of(first, length) != NULL;
}

other_trace *other_open(const char *first, size_t size) {
    bool raw = size >= 4 && (memcmp(first, "FORP", 4) == 0 || memcmp(first, "PROF", 4) == 0);
    if (!raw && !is_folded(first, size)) return NULL;
    other_trace *t = allocate(sizeof *t);
    t->pid = 1;
    if (raw && !open_raw(t)) {
        other_close(t);
        return NULL;
    }
    return t;
}

void other_push(other_trace *t, const char *data, size_t size) {
    t->count = t->next = 0;
    t->offset += size;
    if (t->raw) prof_raw_feed(t->raw, data, size);
    else push_lines(t, data, size);
}

bool other_end(other_trace *t, const char *path, losses *lost) {
    t->count = t->next = 0;
    if (t->raw) {
        prof_raw_stats stats;
        prof_raw_close(t->raw, &stats);
        losses_end_raw(&t->lost, &t->raw_lost);
        losses_add(lost, &t->lost, "");
        if (!raw_tell(&stats, path, lost)) return false;
        note_cut_input();
        return true;
    }
    if (t->line_size || t->too_long) end_line(t);
    close_frames(t, 0);
    if (t->bad_lines)
        warn(path, "%llu lines are no folded stacks: left out", (unsigned long long)t->bad_lines);
    return false;
}

bool other_pop(other_trace *t, trace_event *event) {
    if (t->next == t->count) return false;
    const waiting *w = &t->events[t->next++];
    *event = (trace_event){
        .offset = t->offset, .name = w->name, .cat = {"cpu_op", 6}, .raw = {"", 0},
        .has = TRACE_HAS_NAME | TRACE_HAS_CAT | TRACE_HAS_PHASE | TRACE_HAS_PID | TRACE_HAS_TID |
               TRACE_HAS_TS | TRACE_HAS_DUR,
        .phase = w->phase, .kind = w->phase == 'X' ? TRACE_CPU_OP : TRACE_OTHER,
        .pid = t->pid, .tid = w->tid, .ts_ns = w->ts_ns, .dur_ns = w->dur_ns
    };
    return true;
}

void other_close(other_trace *t) {
    free(t->events);
    free(t->raw_memory);
    free(t->frames);
    free(t->line);
    map_free(&t->thread_ids);
    intern_free(&t->names);
    free(t);
}
