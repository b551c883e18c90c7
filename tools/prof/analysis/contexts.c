/* Who had the core: see contexts.h. */
#include "analysis/contexts.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_WINDOWS = 100000 };

/* What a context had in a window; ns: less what interrupted it. */
typedef struct load {
    int64_t ns, longest_ns;
    uint64_t count, readied;
    int64_t waited_ns;           /* at most, from ready to run */
} load;

typedef struct context {
    char name[64];
    const char *task;            /* what the kernel calls it, up to '#'; NULL: no task */
    bool twin;                   /* another task has this name, too: who was ready is not known */
    int64_t ready_ns;            /* since when it waits to run; INT64_MIN: it does not */
    load sum;
    load *windows;
} context;

/* One that began: its time so far, without what interrupted it. */
typedef struct running {
    const turn *turn;
    uint32_t context;
    int64_t ns;
} running;

typedef struct contexts {
    const struct trace *trace;
    context *list;
    size_t count, capacity;
    map numbers;                 /* of what it is -> its index in the list, + 1 */
    int64_t first_ns, last_ns;   /* of all there is */
    int64_t taken_ns, every_ns;
    size_t windows;
    /* of the sweep over a process */
    running task, *interrupts;   /* interrupts: the innermost is last */
    size_t depth, depth_capacity;
} contexts;

static void note_span(contexts *c, int64_t start_ns, int64_t end_ns) {
    if (start_ns < c->first_ns) c->first_ns = start_ns;
    if (start_ns > c->last_ns) c->last_ns = start_ns;
    if (end_ns > c->last_ns) c->last_ns = end_ns;
}

static context *new_context(contexts *c) {
    GROW(c->list, c->count, c->capacity);
    context *made = &c->list[c->count++];
    *made = (context){.ready_ns = INT64_MIN};
    made->windows = allocate((c->windows + 1) * sizeof *made->windows);
    memset(made->windows, 0, (c->windows + 1) * sizeof *made->windows);
    return made;
}

/* The name of a task stands behind its process' number. */
static const char *task_name(const contexts *c, uint32_t task) {
    const char *text = interned_text(&c->trace->tasks.names, task), *space = strchr(text, ' ');
    return space ? space + 1 : text;
}

/* "thread 20" is what prof.h calls one without a name. */
static const char *interrupt_name(const contexts *c, uint32_t tid) {
    char nameless[32];
    snprintf(nameless, sizeof nameless, "thread %u", tid);
    for (size_t i = 0; i < c->trace->thread_count; i++) {
        const call_thread *thread = &c->trace->threads[i];
        const char *name = tasks_thread_name(&c->trace->tasks, thread->pid, tid);
        if (thread->tid == tid && name && strcmp(name, nameless) != 0) return name;
    }
    return "";
}

/* Names up to '#': prof.h adds its number to a second task of one name. */
static bool same_task(const char *a, const char *b) {
    size_t size = strcspn(a, "#");
    return strcspn(b, "#") == size && memcmp(a, b, size) == 0;
}

static void find_twins(contexts *c, context *made) {
    for (size_t i = 0; i < c->count; i++) {
        context *other = &c->list[i];
        if (other == made || !other->task || !same_task(other->task, made->task)) continue;
        other->twin = made->twin = true;
    }
}

static uint32_t context_of(contexts *c, const turn *at, bool interrupt) {
    uint64_t key = ((uint64_t)at->process << 33) + ((uint64_t)interrupt << 32) + at->owner + 1;
    uint64_t *number = map_put(&c->numbers, hash_mix(key), NULL);
    if (*number) return (uint32_t)*number - 1;
    context *made = new_context(c);
    *number = c->count;
    const char *name = interrupt ? interrupt_name(c, at->owner) : task_name(c, at->owner);
    trace_text plain = tasks_plain_name(text_of(name));
    int size = plain.size < 40 ? (int)plain.size : 40;
    if (interrupt && !size) snprintf(made->name, sizeof made->name, "Interrupt %u", at->owner);
    else snprintf(made->name, sizeof made->name, "%s %.*s", interrupt ? "Interrupt" : "Task", size,
                  plain.data);
    if (!interrupt) made->task = name;
    if (!interrupt) find_twins(c, made);
    return (uint32_t)*number - 1;
}

static uint64_t since_first(const contexts *c, int64_t ns) {
    return (uint64_t)ns - (uint64_t)c->first_ns;
}

static load *window_of(const contexts *c, uint32_t of, int64_t ns) {
    uint64_t number = c->every_ns ? since_first(c, ns) / (uint64_t)c->every_ns : 0;
    return &c->list[of].windows[number];
}

/* ---- A sweep in order of time: the innermost interrupt has the core, else the task ---- */

static void give(contexts *c, running *to, int64_t from_ns, int64_t until_ns) {
    to->ns += until_ns - from_ns;
    c->list[to->context].sum.ns += until_ns - from_ns;
    c->taken_ns += until_ns - from_ns;
    while (from_ns < until_ns) {
        int64_t ns = until_ns - from_ns, every_ns = c->every_ns;
        int64_t left_ns = every_ns ? every_ns - (int64_t)(since_first(c, from_ns) %
                                                          (uint64_t)every_ns) : ns;
        if (left_ns < ns) ns = left_ns;
        window_of(c, to->context, from_ns)->ns += ns;
        from_ns += ns;
    }
}

static void waited(contexts *c, uint32_t number, int64_t ns) {
    context *of = &c->list[number];
    load *to[] = {&of->sum, window_of(c, number, ns)};
    int64_t waited_ns = ns - of->ready_ns;
    if (of->ready_ns == INT64_MIN) return;
    of->ready_ns = INT64_MIN;
    for (int i = 0; i < 2 && !of->twin; i++) {
        to[i]->readied++;
        if (waited_ns > to[i]->waited_ns) to[i]->waited_ns = waited_ns;
    }
}

static running begin(contexts *c, const turn *at, bool interrupt) {
    uint32_t number = context_of(c, at, interrupt);
    c->list[number].sum.count++;
    window_of(c, number, at->start_ns)->count++;
    if (!interrupt) waited(c, number, at->start_ns);
    return (running){at, number, 0};
}

static void end(contexts *c, running *r) {
    load *to[] = {&c->list[r->context].sum, window_of(c, r->context, r->turn->start_ns)};
    for (int i = 0; i < 2; i++)
        if (r->ns > to[i]->longest_ns) to[i]->longest_ns = r->ns;
    r->turn = NULL;
}

static void end_until(contexts *c, int64_t now_ns) {
    while (c->depth && c->interrupts[c->depth - 1].turn->end_ns <= now_ns)
        end(c, &c->interrupts[--c->depth]);
    if (c->task.turn && c->task.turn->end_ns <= now_ns) end(c, &c->task);
}

/* Time passes: whoever has the core gets it. */
static void pass(contexts *c, int64_t now_ns, int64_t until_ns) {
    while (now_ns < until_ns) {
        end_until(c, now_ns);
        running *who = c->depth ? &c->interrupts[c->depth - 1] : c->task.turn ? &c->task : NULL;
        if (!who) return;
        int64_t end_ns = who->turn->end_ns < until_ns ? who->turn->end_ns : until_ns;
        give(c, who, now_ns, end_ns);
        now_ns = end_ns;
    }
}

/* Ready while it runs: it does not wait. */
static void ready(contexts *c, const turn *at) {
    for (size_t i = 0; i < c->count; i++) {
        context *of = &c->list[i];
        bool runs = c->task.turn && c->task.context == i && c->task.turn->end_ns > at->start_ns;
        if (!of->task || runs || of->ready_ns != INT64_MIN) continue;
        if (same_task(of->task, task_name(c, at->owner))) of->ready_ns = at->start_ns;
    }
}

enum { READY, STRETCH, INTERRUPT, KINDS };

/* From that index in each list on; a stretch that begins while one runs ends that. */
static void sweep(contexts *c, const turns *const lists[KINDS], size_t at[KINDS]) {
    int64_t now_ns = INT64_MIN;
    uint32_t process = 0;
    for (;;) {
        const turn *next = NULL;
        int kind = 0;
        for (int i = 0; i < KINDS; i++) {
            const turn *one = at[i] < lists[i]->count ? &lists[i]->list[at[i]] : NULL;
            bool before = one && next && (one->process != next->process ?
                          one->process < next->process : one->start_ns < next->start_ns);
            if (!one || (next && !before)) continue;
            next = one;
            kind = i;
        }
        bool other = !next || next->process != process;
        pass(c, now_ns, other ? INT64_MAX : next->start_ns);
        end_until(c, other ? INT64_MAX : next->start_ns);
        if (!next) return;
        process = next->process;
        now_ns = next->start_ns;
        at[kind]++;
        if (kind == READY) ready(c, next);
        if (kind == STRETCH && c->task.turn) end(c, &c->task);
        if (kind == STRETCH) c->task = begin(c, next, false);
        if (kind != INTERRUPT) continue;
        GROW(c->interrupts, c->depth, c->depth_capacity);
        c->interrupts[c->depth] = begin(c, next, true);
        c->depth++;
    }
}

/* ---- What is told ---- */

/* What no task and no interrupt had. */
static void add_rest(contexts *c) {
    int64_t whole_ns = c->last_ns - c->first_ns;
    if (whole_ns <= c->taken_ns) return;
    context *rest = new_context(c);
    snprintf(rest->name, sizeof rest->name, "What is neither task nor interrupt");
    rest->sum.ns = whole_ns - c->taken_ns;
    for (size_t w = 0; w < c->windows; w++) {
        int64_t begin_ns = (int64_t)w * c->every_ns;
        load *of = &rest->windows[w];
        of->ns = c->every_ns && whole_ns - begin_ns > c->every_ns ? c->every_ns
                                                                  : whole_ns - begin_ns;
        for (size_t i = 0; i + 1 < c->count; i++) of->ns -= c->list[i].windows[w].ns;
    }
}

static int longest_first(const void *a, const void *b) {
    const context *x = a, *y = b;
    if (x->sum.ns != y->sum.ns) return x->sum.ns > y->sum.ns ? -1 : 1;
    return strcmp(x->name, y->name);
}

static void add_line(contexts_table *table, const context *of, int64_t whole_ns) {
    text_list *lines = &table->lines;
    const load *sum = &of->sum;
    double percent = whole_ns ? 100 * (double)sum->ns / (double)whole_ns : 0;
    char text[256];
    int size = snprintf(text, sizeof text, "%s: %.2f %% of the core, %.3f us", of->name, percent,
                        (double)sum->ns / 1000);
    if (sum->count)
        size += snprintf(text + size, sizeof text - (size_t)size,
                         ", %llu times, at most %.3f us at once", (unsigned long long)sum->count,
                         (double)sum->longest_ns / 1000);
    if (sum->readied)
        size += snprintf(text + size, sizeof text - (size_t)size,
                         ", ran at most %.3f us after it was ready", (double)sum->waited_ns / 1000);
    lines->items = reallocate(lines->items, (lines->count + 1) * sizeof *lines->items);
    lines->items[lines->count++] = arena_text(&table->memory, text, (size_t)size);
}

static void add_row(contexts_table *table, const context *of, const load *l, int64_t begin_ns,
                    int64_t whole_ns) {
    sheet *s = &table->rows;
    if (!l->ns && !l->count) return;
    cell_us(s, begin_ns);
    cell_text(s, of->name);
    cell_percent(s, l->ns, whole_ns);
    cell_us(s, l->ns);
    if (l->count) cell_int(s, (int64_t)l->count);
    else cell_text(s, NULL);
    if (l->count) cell_us(s, l->longest_ns);
    else cell_text(s, NULL);
    if (l->readied) cell_us(s, l->waited_ns);
    sheet_row(s);
}

static void tell(contexts_table *table, const contexts *c) {
    int64_t whole_ns = c->last_ns - c->first_ns;
    if (!table->begun) sheet_begin(&table->rows, "begin_us#|context|percent#|time_us#|times#|"
                                                 "longest_us#|longest_wait_us#");
    table->begun = true;
    for (size_t i = 0; i < c->count; i++) add_line(table, &c->list[i], whole_ns);
    for (size_t i = 0; i < c->count && !c->every_ns; i++)
        add_row(table, &c->list[i], &c->list[i].sum, c->first_ns, whole_ns);
    for (size_t w = 0; w < c->windows && c->every_ns; w++) {
        int64_t from_ns = (int64_t)w * c->every_ns, rest_ns = whole_ns - from_ns;
        if (rest_ns > c->every_ns) rest_ns = c->every_ns;
        for (size_t i = 0; i < c->count; i++)
            add_row(table, &c->list[i], &c->list[i].windows[w], c->first_ns + from_ns, rest_ns);
    }
}

/* How many windows there are; false: too many, reported. */
static bool count_windows(contexts *c) {
    c->windows = 1;
    if (!c->every_ns) return true;
    uint64_t windows = since_first(c, c->last_ns) / (uint64_t)c->every_ns + 1;
    c->windows = (size_t)windows;
    if (windows <= MOST_WINDOWS) return true;
    fail("--every", "that makes %llu windows, and there may be %d: take longer ones",
         (unsigned long long)windows, (int)MOST_WINDOWS);
    return false;
}

void contexts_add(contexts_table *table, const struct trace *t) {
    const tasks *all = &t->tasks;
    contexts c = {
        .trace = t, .first_ns = INT64_MAX, .last_ns = INT64_MIN, .every_ns = table->every_ns
    };
    const turns *const lists[KINDS] = {&all->ready, &all->stretches, &all->interrupts};
    size_t at[KINDS] = {0};
    if (table->failed || (!all->stretches.count && !all->interrupts.count)) return;
    for (size_t i = 0; i < t->call_count; i++)
        note_span(&c, t->calls[i].start_ns, t->calls[i].end_ns);
    for (int kind = STRETCH; kind < KINDS; kind++)
        for (size_t i = 0; i < lists[kind]->count; i++)
            note_span(&c, lists[kind]->list[i].start_ns, lists[kind]->list[i].end_ns);
    table->failed = !count_windows(&c);
    if (table->failed) return;
    for (size_t i = 0; i < all->stretches.count; i++)
        (void)context_of(&c, &all->stretches.list[i], false);
    sweep(&c, lists, at);
    add_rest(&c);
    qsort(c.list, c.count, sizeof *c.list, longest_first);
    tell(table, &c);
    for (size_t i = 0; i < c.count; i++) free(c.list[i].windows);
    map_free(&c.numbers);
    free(c.interrupts);
    free(c.list);
}

void contexts_write(contexts_table *table, table_format format, output *out) {
    if (table->begun) sheet_end(&table->rows, format, out);
    else if (format == FORMAT_JSON) output_text(out, "[]\n");
    else if (format == FORMAT_TEXT)
        output_text(out, "The trace has no tasks or interrupts of a microcontroller.\n");
    table->begun = false;
}

void contexts_free(contexts_table *table) {
    if (table->begun) {
        free(table->rows.heads);
        free(table->rows.cells);
        arena_free(&table->rows.memory);
    }
    free(table->lines.items);
    arena_free(&table->memory);
}
