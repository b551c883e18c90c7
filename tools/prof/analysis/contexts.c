/* Who had the core: see contexts.h. */
#include "analysis/contexts.h"

#include <stdlib.h>
#include <string.h>

typedef struct context {
    char name[64];
    uint64_t count;
    int64_t ns, longest_ns;      /* what interrupted it is not its own */
} context;

typedef struct contexts {
    const struct trace *trace;
    context *list;
    size_t count, capacity;
    map numbers;                 /* of what it is -> its place in the list, + 1 */
    int64_t first_ns, last_ns;   /* of all there is */
    int64_t taken_ns;
} contexts;

static void note_span(contexts *c, int64_t start_ns, int64_t end_ns) {
    if (start_ns < c->first_ns) c->first_ns = start_ns;
    if (end_ns > c->last_ns) c->last_ns = end_ns;
}

static context *new_context(contexts *c) {
    GROW(c->list, c->count, c->capacity);
    context *made = &c->list[c->count++];
    *made = (context){.count = 0};
    return made;
}

/* The name of a task stands behind its process' number. */
static const char *task_name(const contexts *c, uint32_t task) {
    const char *text = interned_text(&c->trace->tasks.names, task), *space = strchr(text, ' ');
    return space ? space + 1 : text;
}

static const char *interrupt_name(const contexts *c, uint32_t tid) {
    for (size_t i = 0; i < c->trace->thread_count; i++) {
        const char *name = trace_thread_name(c->trace, (uint32_t)i);
        if (c->trace->threads[i].tid == tid && name) return name;
    }
    return "";
}

static context *context_of(contexts *c, const turn *at, bool interrupt) {
    uint64_t key = ((uint64_t)at->process << 33) + ((uint64_t)interrupt << 32) + at->owner + 1;
    uint64_t *number = map_put(&c->numbers, hash_mix(key), NULL);
    if (*number) return &c->list[*number - 1];
    context *made = new_context(c);
    *number = c->count;
    const char *name = interrupt ? interrupt_name(c, at->owner) : task_name(c, at->owner);
    trace_text plain = tasks_plain_name(text_of(name));
    int size = plain.size < 40 ? (int)plain.size : 40;
    if (interrupt && !size) snprintf(made->name, sizeof made->name, "Interrupt %u", at->owner);
    else snprintf(made->name, sizeof made->name, "%s %.*s", interrupt ? "Interrupt" : "Task", size,
                  plain.data);
    return made;
}

static void add_turns(contexts *c, const turns *list, bool interrupt) {
    for (size_t i = 0; i < list->count; i++) {
        const turn *at = &list->list[i];
        context *of = context_of(c, at, interrupt);
        int64_t ns = tasks_own_ns(&c->trace->tasks, at, interrupt);
        of->count++;
        of->ns += ns;
        c->taken_ns += ns;
        if (ns > of->longest_ns) of->longest_ns = ns;
        note_span(c, at->start_ns, at->end_ns);
    }
}

static int longest_first(const void *a, const void *b) {
    const context *x = a, *y = b;
    if (x->ns != y->ns) return x->ns > y->ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void add_line(const contexts *c, const context *of, arena *memory, text_list *lines) {
    int64_t whole_ns = c->last_ns - c->first_ns;
    double percent = whole_ns ? 100 * (double)of->ns / (double)whole_ns : 0;
    char text[256];
    int size = snprintf(text, sizeof text, "%s: %.2f %% of the core, %.3f us", of->name, percent,
                        (double)of->ns / 1000);
    if (of->count)
        size += snprintf(text + size, sizeof text - (size_t)size,
                         ", %llu times, at most %.3f us at once", (unsigned long long)of->count,
                         (double)of->longest_ns / 1000);
    lines->items = reallocate(lines->items, (lines->count + 1) * sizeof *lines->items);
    lines->items[lines->count++] = arena_text(memory, text, (size_t)size);
}

void contexts_tell(const struct trace *t, arena *memory, text_list *lines) {
    contexts c = {.trace = t, .first_ns = INT64_MAX, .last_ns = INT64_MIN};
    if (!t->tasks.stretches.count && !t->tasks.interrupts.count) return;
    for (size_t i = 0; i < t->call_count; i++)
        note_span(&c, t->calls[i].start_ns, t->calls[i].end_ns);
    add_turns(&c, &t->tasks.stretches, false);
    add_turns(&c, &t->tasks.interrupts, true);
    context *rest = new_context(&c);
    snprintf(rest->name, sizeof rest->name, "What is neither task nor interrupt");
    rest->ns = c.last_ns - c.first_ns - c.taken_ns;
    if (rest->ns <= 0) c.count--;
    qsort(c.list, c.count, sizeof *c.list, longest_first);
    for (size_t i = 0; i < c.count; i++) add_line(&c, &c.list[i], memory, lines);
    map_free(&c.numbers);
    free(c.list);
}
