/* What a step's time went to: see step_parts.h. */
#include "analysis/step_parts.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/busy.h"
#include "input/trace_reader.h"

typedef struct step_piece step_piece;

enum { SHORT_NS = 10000 };       /* after its launch and the work before it a work begins soon */

const char *const part_names[PART_KINDS] = {"cpu", "device", "launch", "queue", "wait", "outside"};

/* ---- A file ---- */

static void add_piece(step_file *f, uint32_t number, int64_t *at, int64_t end_ns) {
    if (end_ns <= *at) return;
    GROW(f->pieces, f->piece_count, f->piece_capacity);
    f->pieces[f->piece_count++] = (step_piece){*at, end_ns, number};
    *at = end_ns;
}

/* Ends calls of the stack that are over by then: what lies behind their children is theirs. */
static size_t end_calls(step_file *f, const uint32_t *stack, size_t depth, int64_t *at,
                        int64_t now_ns) {
    for (; depth && f->tree.calls[stack[depth - 1]].end_ns <= now_ns; depth--)
        add_piece(f, stack[depth - 1], at, f->tree.calls[stack[depth - 1]].end_ns);
    return depth;
}

/* Pieces of time, each of the innermost call, by thread and time. */
static void cut_pieces(step_file *f) {
    const struct trace *tree = &f->tree;
    uint32_t *stack = allocate((tree->call_count + 1) * sizeof *stack);
    f->piece_ends = allocate((tree->thread_count + 1) * sizeof *f->piece_ends);
    size_t next = 0;
    for (uint32_t thread = 0; thread < tree->thread_count; thread++) {
        int64_t at = INT64_MIN;
        size_t depth = 0;
        for (; next < tree->call_count && tree->calls[tree->order[next]].thread == thread; next++) {
            uint32_t number = tree->order[next];
            const call *c = &tree->calls[number];
            if (c->is_async) continue;
            depth = end_calls(f, stack, depth, &at, c->start_ns);
            if (depth) add_piece(f, stack[depth - 1], &at, c->start_ns);
            if (c->start_ns > at) at = c->start_ns;
            stack[depth++] = number;
        }
        end_calls(f, stack, depth, &at, INT64_MAX);
        f->piece_ends[thread] = f->piece_count;
    }
    free(stack);
}

static bool work_before(uint32_t a, uint32_t b, const void *context) {
    const device_work *works = context;
    return works[a].thread != works[b].thread ? works[a].thread < works[b].thread
                                              : works[a].start_ns < works[b].start_ns;
}

static bool ends_before(uint32_t a, uint32_t b, const void *context) {
    const device_work *works = context;
    return works[a].end_ns < works[b].end_ns;
}

static bool call_ends_before(uint32_t a, uint32_t b, const void *context) {
    const call *calls = context;
    return calls[a].end_ns < calls[b].end_ns;
}

static void find_backwards(step_file *f) {
    static const char engine[] = "autograd::engine::";
    f->backwards = allocate((f->tree.call_count + 1) * sizeof *f->backwards);
    for (uint32_t i = 0; i < f->tree.call_count; i++) {
        const call *c = &f->tree.calls[i];
        if (c->parent == NO_CALL && !c->is_async &&
            strncmp(interned_text(&f->tree.names, c->name), engine, sizeof engine - 1) == 0)
            f->backwards[f->backward_count++] = i;
    }
    sort_numbers(f->backwards, f->backward_count, call_ends_before, f->tree.calls);
}

int step_file_read(step_file *f, const char *path) {
    f->tree.with_works = f->tree.quiet = true;   /* it was read before */
    int status = trace_load(&f->tree, path, NULL, NULL);
    trace_nest(&f->tree);
    trace_own(&f->tree);
    trace_times(&f->tree);
    cut_pieces(f);
    find_backwards(f);
    size_t count = f->tree.work_count;
    f->by_start = sorted_numbers(count, work_before, f->tree.works);
    f->by_end = sorted_numbers(count, ends_before, f->tree.works);
    f->indexes = allocate((count + 1) * sizeof *f->indexes);
    for (uint32_t i = 0; i < count; i++) f->indexes[f->by_start[i]] = i;
    return status;
}

void step_file_free(step_file *f) {
    void *all[] = {f->pieces, f->piece_ends, f->by_start, f->indexes, f->by_end,
                   f->backwards};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    trace_free(&f->tree);
    memset(f, 0, sizeof *f);
}

/* ---- Sums ---- */

static void add_part(step_parts *parts, part_kind kind, uint32_t name, int64_t ns) {
    bool is_new;
    size_t number = NUMBER_OF(&parts->numbers, (uint64_t)kind << 32 | name, parts->list,
                              parts->count, parts->capacity, &is_new);
    step_part *part = &parts->list[number];
    if (is_new) *part = (step_part){.name = name, .kind = (uint8_t)kind};
    part->count++;
    part->ns += ns;
}

void step_sums(const step_file *f, const step *s, step_parts *parts) {
    int64_t end_ns = s->start_ns + s->dur_ns;
    for (size_t i = 0; i < f->tree.call_count; i++) {
        const call *c = &f->tree.calls[i];
        if (!c->is_async && c->start_ns >= s->start_ns && c->start_ns < end_ns)
            add_part(parts, PART_CPU, c->name, f->tree.times[i].self_ns);
    }
    for (size_t i = 0; i < f->tree.work_count; i++) {
        const device_work *w = &f->tree.works[i];
        if (w->start_ns >= s->start_ns && w->start_ns < end_ns)
            add_part(parts, PART_DEVICE, w->name, w->end_ns - w->start_ns);
    }
}

/* ---- The critical path ---- */

typedef struct walk {
    const step_file *file;
    step_parts *parts;
    int64_t begin_ns, at_ns;     /* the step's; what lies behind is taken */
    uint32_t thread, home;       /* where it is; the step's */
    uint32_t work;               /* that it is in, else NO_CALL */
} walk;

/* Takes back to from_ns, no further than the step's begin. */
static void go_back(walk *w, part_kind kind, uint32_t name, int64_t from_ns) {
    if (from_ns < w->begin_ns) from_ns = w->begin_ns;
    if (from_ns >= w->at_ns) return;
    add_part(w->parts, kind, name, w->at_ns - from_ns);
    w->at_ns = from_ns;
}

/* The last piece of the thread that begins before now; NULL: none. */
static const step_piece *piece_before(const walk *w, uint32_t thread) {
    const step_file *f = w->file;
    size_t first = thread ? f->piece_ends[thread - 1] : 0, low = first;
    size_t high = f->piece_ends[thread];
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (f->pieces[middle].start_ns < w->at_ns) low = middle + 1;
        else high = middle;
    }
    return low > first ? &f->pieces[low - 1] : NULL;
}

/* Of the works that ended by then the last one; NO_CALL: none. */
static uint32_t work_ended(const step_file *f, int64_t now_ns) {
    size_t low = 0, high = f->tree.work_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (f->tree.works[f->by_end[middle]].end_ns <= now_ns) low = middle + 1;
        else high = middle;
    }
    return low ? f->by_end[low - 1] : NO_CALL;
}

/* The thread of autograd's call that ended last in the piece so far; NO_CALL: none. */
static uint32_t backward_ended(const walk *w, const step_piece *piece, int64_t *end_ns) {
    const step_file *f = w->file;
    size_t low = 0, high = f->backward_count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (f->tree.calls[f->backwards[middle]].end_ns <= w->at_ns) low = middle + 1;
        else high = middle;
    }
    if (!low) return NO_CALL;
    const call *c = &f->tree.calls[f->backwards[low - 1]];
    *end_ns = c->end_ns;
    return c->thread != w->thread && c->start_ns >= piece->start_ns ? c->thread : NO_CALL;
}

static void walk_piece(walk *w, const step_piece *piece) {
    const call *c = &w->file->tree.calls[piece->call];
    int64_t end_ns = piece->start_ns;
    bool waits = c->kind == TRACE_RUNTIME &&
                 call_waits(interned_text(&w->file->tree.names, c->name));
    uint32_t work = waits ? work_ended(w->file, w->at_ns) : NO_CALL;
    if (work != NO_CALL && w->file->tree.works[work].end_ns > piece->start_ns) {
        go_back(w, PART_WAIT, c->name, w->file->tree.works[work].end_ns);
        w->work = work;
        return;
    }
    uint32_t thread = w->thread == w->home ? backward_ended(w, piece, &end_ns) : NO_CALL;
    go_back(w, PART_CPU, c->name, thread == NO_CALL ? piece->start_ns : end_ns);
    if (thread != NO_CALL) w->thread = thread;
}

static void walk_thread(walk *w) {
    const step_piece *piece = piece_before(w, w->thread);
    if (piece && piece->end_ns >= w->at_ns) {
        walk_piece(w, piece);
    } else if (w->thread != w->home) {
        w->thread = w->home;                     /* it had nothing to do before */
    } else {
        go_back(w, PART_OUTSIDE, UINT32_MAX, piece ? piece->end_ns : w->begin_ns);
    }
}

/* The work that this one may have waited for, in its stream or another; NO_CALL: its launch. */
static uint32_t work_awaited(const step_file *f, uint32_t work, const call *launch) {
    const device_work *w = &f->tree.works[work];
    uint32_t index = f->indexes[work], last = work_ended(f, w->start_ns);
    uint32_t before = index ? f->by_start[index - 1] : NO_CALL;
    if (before != NO_CALL && f->tree.works[before].thread != w->thread) before = NO_CALL;
    int64_t launched = launch ? launch->start_ns : INT64_MIN;
    int64_t ready = before != NO_CALL && f->tree.works[before].end_ns > launched
                        ? f->tree.works[before].end_ns : launched;
    bool late = ready == INT64_MIN || w->start_ns > ready + SHORT_NS;
    if (late && last != NO_CALL && last != work && f->tree.works[last].end_ns > ready) return last;
    return ready > launched ? before : NO_CALL;
}

static void walk_work(walk *w) {
    const step_file *f = w->file;
    uint32_t work = w->work;
    int64_t before_ns = w->at_ns;
    go_back(w, PART_DEVICE, f->tree.works[work].name, f->tree.works[work].start_ns);
    uint32_t number = f->tree.works[work].launch;
    const call *launch = number == NO_CALL ? NULL : &f->tree.calls[number];
    if (launch && launch->start_ns >= w->at_ns) launch = NULL;
    w->work = work_awaited(f, work, launch);
    if (w->work != NO_CALL && f->tree.works[w->work].start_ns < w->at_ns) {
        go_back(w, PART_QUEUE, f->tree.works[work].name, f->tree.works[w->work].end_ns);
        return;
    }
    w->work = NO_CALL;
    w->thread = launch ? launch->thread : w->home;
    if (launch) go_back(w, PART_LAUNCH, f->tree.works[work].name, launch->start_ns);
    else if (w->at_ns == before_ns) go_back(w, PART_OUTSIDE, UINT32_MAX, w->begin_ns);
}

void step_critical(step_file *f, const step *s, step_parts *parts) {
    enum { STUCK = 8 };
    size_t threads = f->tree.thread_count;
    trace_event event = {.pid = s->pid, .tid = s->tid};
    walk w = {
        .file = f, .parts = parts, .begin_ns = s->start_ns, .at_ns = s->start_ns + s->dur_ns,
        .work = NO_CALL
    };
    w.thread = w.home = trace_thread(&f->tree, &event);
    if (w.home >= threads)                       /* nothing of it is in the tree */
        go_back(&w, PART_OUTSIDE, UINT32_MAX, w.begin_ns);
    for (int still = 0; w.at_ns > w.begin_ns; ) {
        int64_t before_ns = w.at_ns;
        if (w.work != NO_CALL) walk_work(&w);
        else walk_thread(&w);
        still = w.at_ns < before_ns ? 0 : still + 1;
        if (still == STUCK) go_back(&w, PART_OUTSIDE, UINT32_MAX, w.begin_ns);   /* odd times */
    }
}
