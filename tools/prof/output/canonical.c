/* Events as lines for tests: see canonical.h. The name is cut to 30 letters; FRAME is the innermost
   entry of the stack that is not only carets. As older PyTorch: 20 letters, the last line of all */
#include "output/canonical.h"

#include <stdlib.h>
#include <string.h>

#include "input/trace_reader.h"

enum { NAME_LETTERS = 30, OLD_LETTERS = 20 };

typedef struct line { int64_t start_ns; const char *text; } line;

typedef struct lines {
    line *list;
    size_t count, capacity;
    arena memory;
    char *buffer;                /* a text of the event */
    size_t room;
    output own;                  /* the line */
    bool old;
} lines;

static void make_room(lines *l, size_t size) {
    if (size < l->room) return;
    l->room = 2 * size + 64;
    l->buffer = reallocate(l->buffer, l->room);
}

/* Decodes the argument into the buffer; false: there is no such text. */
static bool take_text(lines *l, const trace_event *event, const char *key) {
    const trace_member *arg = trace_arg(event, key);
    if (!arg || !json_is_text(arg->value)) return false;
    make_room(l, json_decode(arg->value, NULL, 0));
    json_decode(arg->value, l->buffer, l->room);
    return true;
}

static bool is_space(char c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

/* Without white space around it; of size 0 where it has only carets, which older PyTorch kept. */
static trace_text trimmed(const char *text, size_t size, bool old) {
    while (size && is_space(*text)) text++, size--;
    while (size && is_space(text[size - 1])) size--;
    for (size_t i = 0; i < size; i++)
        if (old || text[i] != '^') return (trace_text){text, size};
    return (trace_text){text, 0};
}

/* The frame of a stack: its innermost entry is the last, as in PyTorch's text, or the first. */
static void write_frame(lines *l, const char *between, bool last) {
    trace_text frame = {"", 0};
    for (const char *at = l->buffer; *at; ) {
        size_t size = strcspn(at, between);
        trace_text own = trimmed(at, size, l->old);
        if (own.size && (last || !frame.size)) frame = own;
        at += size + (at[size] != 0);
    }
    memmove(l->buffer, frame.data, frame.size);
    l->buffer[frame.size] = 0;
    output_plain_text(&l->own, l->buffer);
}

static void write_name(lines *l, trace_text name) {
    const char *shown;
    size_t at = 0, size;
    make_room(l, name.size);
    if (name.size) memcpy(l->buffer, name.data, name.size);
    l->buffer[name.size] = 0;
    int letters = l->old ? OLD_LETTERS : NAME_LETTERS;
    for (int i = 0; i < letters && l->buffer[at]; i++)
        at += plain_next(l->buffer + at, &shown, &size);
    l->buffer[at] = 0;
    output_plain_text(&l->own, l->buffer);
}

static void add_line(lines *l, const trace_event *event) {
    size_t size;
    output_text(&l->own, "event=");
    write_name(l, event->name);
    output_text(&l->own, " node=");
    if (take_text(l, event, "node_name") || take_text(l, event, "Module Hierarchy"))
        output_plain_text(&l->own, l->buffer);
    output_text(&l->own, " stack_trace=");
    if (take_text(l, event, "stack_trace")) write_frame(l, "\n", true);
    else if (take_text(l, event, KEY_STACK)) write_frame(l, ";", false);
    const char *text = output_memory(&l->own, &size);
    GROW(l->list, l->count, l->capacity);
    l->list[l->count++] = (line){event->ts_ns, arena_text(&l->memory, text, size)};
    output_forget(&l->own);
}

static bool is_line(const trace_event *event) {
    if (event->phase == 'i') return text_is(event->name, "[memory]");
    return event->phase == 'X' && event->kind != TRACE_SPAN;
}

static bool starts_before(uint32_t a, uint32_t b, const void *context) {
    const line *list = context;
    return list[a].start_ns < list[b].start_ns;
}

int canonical_write(const char *trace, bool old, output *out) {
    lines l = {.old = old};
    trace_reader *reader = trace_open(trace);
    if (!reader) return EXIT_BAD;
    output_open_memory(&l.own);
    while (trace_next(reader) != TRACE_END)
        if (reader->item == TRACE_EVENT && is_line(reader->event)) add_line(&l, reader->event);
    uint32_t *order = sorted_numbers(l.count, starts_before, l.list);
    for (size_t i = 0; i < l.count; i++) {
        if (i) output_text(out, "\n");
        output_text(out, l.list[order[i]].text);
    }
    output_discard(&l.own);
    free(order);
    free(l.list);
    free(l.buffer);
    arena_free(&l.memory);
    return trace_close(reader);
}
