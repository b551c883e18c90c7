/* Rows of raw streams with work on devices: see raw_work.h. */
#include "analysis/raw_work.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "analysis/raw_rows.h"
#include "base/span_sorter.h"
#include "input/losses.h"
#include "input/raw_json.h"
#include "input/raw_memory.h"

enum { PLACES = 1 << 14, PIECE = 1 << 18 };

typedef struct raw_work {
    row_table *table;
    struct known_call { const prof_site *site; span call; } calls[PLACES];   /* plain zones */
    struct known_thread { bool known; int64_t pid, tid; uint32_t number; } thread;
    char *name;
    size_t name_size;
} raw_work;

/* ---- Which files ---- */

typedef struct fitness { bool fits; uint64_t sessions, works; } fitness;

static bool in_range(int64_t ns) { return ns > INT64_MIN / 8 && ns < INT64_MAX / 8; }

/* What a reader of the JSON mends, or says where it is, the JSON has. */
static void look(void *user, const prof_raw_item *item) {
    fitness *f = user;
    bool timed = item->kind == PROF_RAW_ZONE || item->kind == PROF_RAW_EVENT;
    bool task = item->kind == PROF_RAW_THREAD && raw_json_is_cpu_row(item);
    if (item->kind == PROF_RAW_EVENT) f->works++;
    if (item->kind == PROF_RAW_SESSION) f->sessions++;
    if (task || item->kind == PROF_RAW_STEP || item->kind == PROF_RAW_MEMORY ||
        item->kind == PROF_RAW_ASYNC) f->fits = false;
    if (item->kind == PROF_RAW_DETAILS && item->value & PROF_RAW_HAS_MEMORY) f->fits = false;
    if (!timed) return;
    if (item->extra && item->extra->metadata_json && item->kind == PROF_RAW_ZONE) f->fits = false;
    if (item->end_ns < item->start_ns || !in_range(item->start_ns) || !in_range(item->end_ns))
        f->fits = false;
}

static bool file_fits(const char *path) {
    fitness f = {.fits = true};
    unsigned char block[RAW_HEAD];
    struct stat status;
    int fd = open(path, O_RDONLY);
    if (fd < 0) return false;
    bool raw = fstat(fd, &status) == 0 && S_ISREG(status.st_mode) && raw_block_at(fd, 0, block);
    if (raw) raw = raw_read(fd, 0, look, &f, NULL) == 0;
    close(fd);
    return raw && f.fits && f.sessions == 1 && f.works;
}

bool raw_work_can(const row_table *t, const char *path) {
    const row_options *o = t->options;
    return !file_reads_once(path) && !o->filter.by_time && !o->filter.pids.count &&
           !o->with_flops && !o->by_site && !o->site_in_name && !t->on_event && !t->on_member &&
           file_fits(path);
}

/* ---- Reading ---- */

static trace_event event_of(const prof_raw_item *item, int64_t pid, int64_t tid) {
    return (trace_event){
        .name = {item->name, strlen(item->name)}, .cat = {"cpu_op", 6}, .phase = 'X',
        .kind = TRACE_CPU_OP, .pid = pid, .tid = tid
    };
}

static uint32_t thread_of(raw_work *w, const prof_raw_item *item, int64_t pid, int64_t tid) {
    struct known_thread *last = &w->thread;
    if (last->known && last->pid == pid && last->tid == tid) return last->number;
    trace_event event = event_of(item, pid, tid);
    *last = (struct known_thread){true, pid, tid, rows_thread(w->table, &event)};
    return last->number;
}

/* As the reader of JSON gives it, with READABLE bytes behind. */
static trace_text clean_name(raw_work *w, trace_text name) {
    size_t size = 3 * name.size + READABLE;
    if (size > w->name_size) w->name = reallocate(w->name, w->name_size = 2 * size);
    return (trace_text){w->name, text_clean(name, w->name, size)};
}

static void take_zone(void *user, const prof_raw_item *item, int64_t pid, int64_t tid) {
    raw_work *w = user;
    struct known_call *known = &w->calls[(uintptr_t)item->site / 8 % PLACES];
    uint32_t thread = thread_of(w, item, pid, tid);
    if (known->site != item->site) {
        trace_event event = event_of(item, pid, tid);
        event.name = clean_name(w, event.name);
        known->call = rows_plain_call(w->table, &event);
        known->site = item->site;
    }
    span s = known->call;
    s.thread = thread;
    s.start_ns = item->start_ns;
    s.amount = item->end_ns - item->start_ns;
    rows_add_call(w->table, &s);
}

static void take_event(void *user, const trace_event *event) {
    rows_take_event(((raw_work *)user)->table, event);
}

static void take_type(void *user, int64_t type, const char *name) {
    rows_take_type(((raw_work *)user)->table, (uint8_t)type, name);
}

/* There is no memory, and nobody else needs stacks. */
static int push_all(raw_json *raw, const char *path, bool stacks, output *rest) {
    char *piece = allocate(PIECE);
    ssize_t size = 0;
    struct stat status;
    int fd = open(path, O_RDONLY), error;
    if (fd < 0) error = errno;
    else {
        if (fstat(fd, &status) == 0) input_note(&status);
        if (stacks) raw_json_read_ahead(raw, fd, 0);
        while ((size = read(fd, piece, PIECE)) > 0) {
            raw_json_push(raw, piece, (size_t)size);
            output_forget(rest);
        }
        error = size < 0 ? errno : 0;
        close(fd);
    }
    free(piece);
    return error;
}

/* The head of a JSON, with its sums alone. */
static void take_sums(row_table *t, const char *path, trace_text sums) {
    output head;
    trace_text text;
    if (!sums.size) return;
    output_open_memory(&head);
    output_text(&head, "{\"" PROF_KEY_SUMS "\": ");
    output_write(&head, sums.data, sums.size);
    output_text(&head, "}");
    size_t size;
    const char *whole = output_memory(&head, &size);
    char *copy = allocate(size + READABLE);
    memcpy(copy, whole, size);
    text = (trace_text){copy, size};
    rows_take_sums(t, path, text);
    free(copy);
    output_discard(&head);
}

int raw_work_read(row_table *t, const char *path) {
    raw_work *w = allocate(sizeof *w);
    output rest;                                 /* JSON that nobody needs */
    w->table = t;
    output_open_memory(&rest);
    raw_json *raw = raw_json_open(&rest);
    raw_json_take(raw, &(raw_takers){take_zone, take_event, take_type, w});
    rows_begin_file(t);
    int error = push_all(raw, path, t->options->by_stack > 0, &rest);
    while (raw_json_end_some(raw)) output_forget(&rest);
    raw_json_end(raw);
    take_sums(t, path, raw_json_sums(raw));
    rows_end_file(t, raw_json_base_ns(raw));
    if (raw_json_tell(raw, path)) note_cut_input();
    losses_tell(path, raw_json_losses(raw));
    raw_json_free(raw);
    output_discard(&rest);
    free(w->name);
    free(w);
    return error ? fail(path, "%s", strerror(error)) : EXIT_OK;
}
