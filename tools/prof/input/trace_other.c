/* Traces that are not JSON: see trace_other.h. */
#include "input/trace_other.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST_LINE = 1 << 20 };

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

/* ---- The whole ---- */

static bool is_folded(const char *first, size_t size) {
    const char *stop = memchr(first, '\n', size);
    size_t length = stop ? (size_t)(stop - first) : size;
    for (size_t i = 0; i < length; i++)
        if ((unsigned char)first[i] < ' ' && first[i] != '\r' && first[i] != '\t') return false;
    if (length && first[length - 1] == '\r') length--;
    return count_of(first, length) != NULL;
}

other_trace *other_open(const char *first, size_t size) {
    return is_folded(first, size) ? allocate(sizeof(other_trace)) : NULL;
}

void other_push(other_trace *t, const char *data, size_t size) {
    t->count = t->next = 0;
    t->offset += size;
    push_lines(t, data, size);
}

void other_end(other_trace *t, const char *path) {
    t->count = t->next = 0;
    if (t->line_size || t->too_long) end_line(t);
    close_frames(t, 0);
    if (t->bad_lines)
        warn(path, "%llu lines are no folded stacks: left out", (unsigned long long)t->bad_lines);
}

bool other_pop(other_trace *t, trace_event *event) {
    if (t->next == t->count) return false;
    const waiting *w = &t->events[t->next++];
    *event = (trace_event){
        .offset = t->offset, .name = w->name, .cat = {"cpu_op", 6}, .raw = {"", 0},
        .has = TRACE_HAS_NAME | TRACE_HAS_CAT | TRACE_HAS_PHASE | TRACE_HAS_PID | TRACE_HAS_TID |
               TRACE_HAS_TS | TRACE_HAS_DUR,
        .phase = w->phase, .kind = w->phase == 'X' ? TRACE_CPU_OP : TRACE_OTHER,
        .pid = 1, .tid = w->tid, .ts_ns = w->ts_ns, .dur_ns = w->dur_ns
    };
    return true;
}

void other_close(other_trace *t) {
    free(t->events);
    free(t->frames);
    free(t->line);
    intern_free(&t->names);
    free(t);
}
