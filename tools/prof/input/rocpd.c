/* Databases of rocprofv3, as the events that rocprof.c makes of its JSON. The tables of a process
   end with its number, with views over them, which are not asked. There are two schemas that call
   themselves version 3: of one the rows have their times, thread and device, of the other ids of
   rocpd_timestamp and rocpd_track; whichever columns are there count. They are defined in
   source/share/rocprofiler-sdk-rocpd/rocpd_tables.sql of ROCm/rocprofiler-sdk. What a call
   launched has the stack_id of its event: correlation_id is the user's own. */
#include "input/rocpd.h"

#include <stdlib.h>

enum { MOST_PROCESSES = 4096 };

typedef struct event_row { int64_t stack; uint32_t category, message; } event_row;
typedef struct track_row { int64_t pid, tid, agent, queue, stream; } track_row;

struct rocpd {
    database *db;
    event_queue *to;
    text_list processes;         /* what their tables end with */
    size_t process, table;       /* that are read now */
    bool is_open;
    rows rows;
    char name[160];              /* of the table */
    arena memory;
    interner texts;
    /* of the process: id -> text + 1, value, or number in the list + 1 */
    map strings, kernels, times, events, tracks, threads;
    map agents;                  /* id -> its number among the GPUs + 1; 0: none */
    event_row *event_list;
    track_row *track_list;
    size_t event_count, event_capacity, track_count, track_capacity;
    int64_t gpus;
    map devices;                 /* that are labelled */
    uint64_t odd;
};

/* ---- Tables ---- */

static const char *table_of(rocpd *r, const char *what) {
    snprintf(r->name, sizeof r->name, "rocpd_%s%s", what, r->processes.items[r->process]);
    return r->name;
}

typedef void take_row(rocpd *r, const rows *row);

/* name lasts as long as the rows are open. */
static void read_table(rocpd *r, const char *what, const char *const *columns, take_row *take) {
    rows row;
    if (!rows_open(r->db, &row, table_of(r, what), NULL, columns)) return;
    while (rows_next(&row)) take(r, &row);
}

static uint32_t text_number(rocpd *r, const char *text) {
    return text ? intern_clean(&r->texts, text_of(text)) + 1 : 0;
}

static const char *known(const rocpd *r, const map *names, int64_t id, const char *otherwise) {
    const uint64_t *number = map_get(names, (uint64_t)id);
    return number && *number ? interned_text(&r->texts, (uint32_t)*number - 1) : otherwise;
}

static int64_t value_of(const map *values, int64_t id, int64_t otherwise) {
    const uint64_t *value = map_get(values, (uint64_t)id);
    return value ? (int64_t)*value : otherwise;
}

/* ---- What names things ---- */

static void take_string(rocpd *r, const rows *row) {
    *map_put(&r->strings, (uint64_t)row_int(row, 0, 0), NULL) = text_number(r, row_text(row, 1));
}

static void take_kernel(rocpd *r, const rows *row) {
    const char *name = row_text(row, 1);
    *map_put(&r->kernels, (uint64_t)row_int(row, 0, 0), NULL) =
        text_number(r, name && *name ? name : row_text(row, 2));
}

static void take_agent(rocpd *r, const rows *row) {
    const char *type = row_text(row, 1);
    bool is_gpu = type && strcmp(type, "GPU") == 0;
    *map_put(&r->agents, (uint64_t)row_int(row, 0, 0), NULL) = is_gpu ? (uint64_t)++r->gpus : 0;
}

static void take_thread(rocpd *r, const rows *row) {
    *map_put(&r->threads, (uint64_t)row_int(row, 0, 0), NULL) = (uint64_t)row_int(row, 1, 0);
}

static void take_time(rocpd *r, const rows *row) {
    *map_put(&r->times, (uint64_t)row_int(row, 0, 0), NULL) = (uint64_t)row_int(row, 1, 0);
}

static void take_track(rocpd *r, const rows *row) {
    GROW(r->track_list, r->track_count, r->track_capacity);
    r->track_list[r->track_count++] = (track_row){
        row_int(row, 1, 0), row_int(row, 2, 0), row_int(row, 3, 0), row_int(row, 4, 0),
        row_int(row, 5, 0)
    };
    *map_put(&r->tracks, (uint64_t)row_int(row, 0, 0), NULL) = r->track_count;
}

/* The text of a marker. */
static uint32_t message_in(rocpd *r, const char *json) {
    trace_text rest = text_of(json), key, value;
    if (!strstr(json, "\"message\"") || !json_whole(rest)) return 0;
    while (json_next(&rest, &key, &value)) {
        if (!text_is(key, "message") || !json_is_text(value)) continue;
        char *text = allocate(value.size);
        json_decode(value, text, value.size);
        uint32_t number = text_number(r, text);
        free(text);
        return number;
    }
    return 0;
}

static void take_event(rocpd *r, const rows *row) {
    const char *json = row_text(row, 3);
    GROW(r->event_list, r->event_count, r->event_capacity);
    r->event_list[r->event_count++] = (event_row){
        row_int(row, 1, 0), (uint32_t)value_of(&r->strings, row_int(row, 2, 0), 0),
        json ? message_in(r, json) : 0
    };
    *map_put(&r->events, (uint64_t)row_int(row, 0, 0), NULL) = r->event_count;
}

static void clear_process(rocpd *r) {
    map *maps[] = {&r->strings, &r->kernels, &r->times, &r->events, &r->tracks, &r->threads,
                   &r->agents};
    for (size_t i = 0; i < sizeof maps / sizeof *maps; i++) map_free(maps[i]);
    r->event_count = r->track_count = 0;
}

static void begin_process(rocpd *r) {
    static const char *const string[] = {"id", "string", NULL},
        *const time[] = {"id", "value", NULL},
        *const kernel[] = {"id", "display_name", "kernel_name", NULL},
        *const agent[] = {"id", "type", NULL}, *const thread[] = {"id", "tid", NULL},
        *const track[] = {"id", "pid", "tid", "agent_id", "queue_id", "stream_id", NULL},
        *const event[] = {"id", "stack_id", "category_id", "extdata", NULL};
    clear_process(r);
    read_table(r, "string", string, take_string);
    read_table(r, "info_kernel_symbol", kernel, take_kernel);
    read_table(r, "info_agent", agent, take_agent);
    read_table(r, "info_thread", thread, take_thread);
    read_table(r, "timestamp", time, take_time);
    read_table(r, "track", track, take_track);
    read_table(r, "event", event, take_event);
}

/* ---- Events ---- */

enum { ID, START, END, START_ID, END_ID, TRACK, EVENT, PID, TID, AGENT, QUEUE, STREAM, FIRST_OWN };
#define COLUMNS "id", "start", "end", "start_id", "end_id", "track_id", "event_id", "pid", "tid", \
                "agent_id", "queue_id", "stream_id"

static track_row track_of(const rocpd *r, const rows *row) {
    int64_t number = value_of(&r->tracks, row_int(row, TRACK, 0), 0);
    track_row t = {0};
    if (number) t = r->track_list[number - 1];
    t.pid = row_int(row, PID, t.pid);
    t.tid = row_int(row, TID, t.tid);
    t.tid = value_of(&r->threads, t.tid, t.tid);
    t.agent = row_int(row, AGENT, t.agent);
    t.queue = row_int(row, QUEUE, t.queue);
    t.stream = row_int(row, STREAM, t.stream);
    return t;
}

static event_row event_of(const rocpd *r, const rows *row) {
    int64_t number = value_of(&r->events, row_int(row, EVENT, 0), 0);
    return number ? r->event_list[number - 1] : (event_row){0, 0, 0};
}

/* Of its columns, or of the timestamps that it names. */
static int64_t time_of(const rocpd *r, const rows *row, int column, int id) {
    if (row_has_number(row, column)) return row_int(row, column, -1);
    return row_has_number(row, id) ? value_of(&r->times, row_int(row, id, 0), -1) : -1;
}

/* NULL: it has no times. */
static trace_event *put_event(rocpd *r, const rows *row, const char *category, const char *name) {
    int64_t start = time_of(r, row, START, START_ID), end = time_of(r, row, END, END_ID);
    if (start < 0 || end < start) {
        r->odd++;
        return NULL;
    }
    bool marks = start == end && strcmp(category, "user_annotation") == 0;
    trace_event *event = queue_timed(r->to, marks ? 'i' : 'X', text_of(category), text_of(name),
                                     start);
    if (!marks) queue_until(event, end - start);
    else event->scope = (trace_text){"\"t\"", 3};
    queue_begin_args(r->to);
    return event;
}

/* Ids of several processes may be equal. */
static void put_correlation(rocpd *r, int64_t stack) {
    if (stack) queue_int(r->to, KEY_CORRELATION, (int64_t)(r->process << 32) + stack);
}

static void put_work(rocpd *r, const rows *row, const char *category, const char *name,
                     int64_t agent) {
    track_row t = track_of(r, row);
    bool is_new;
    trace_event *event = put_event(r, row, category, name);
    if (!event) return;
    event->pid = r->gpus ? value_of(&r->agents, agent, 0) - 1 : agent;
    event->tid = t.stream ? t.stream : t.queue;
    queue_int(r->to, "device", event->pid);
    queue_int(r->to, "stream", event->tid);
    if (row_has_number(row, FIRST_OWN + 1))
        queue_int(r->to, "bytes", row_int(row, FIRST_OWN + 1, 0));
    put_correlation(r, event_of(r, row).stack);
    queue_end_args(r->to, event);
    map_put(&r->devices, (uint64_t)event->pid, &is_new);
    if (is_new && event->pid >= 0) queue_device(r->to, "GPU", event->pid);
}

static const char *const dispatch_names[] = {COLUMNS, "kernel_id", NULL};

static void take_dispatch(rocpd *r, const rows *row) {
    const char *name = known(r, &r->kernels, row_int(row, FIRST_OWN, 0), "kernel");
    put_work(r, row, "kernel", name, track_of(r, row).agent);
}

static const char *const copy_names[] = {COLUMNS, "name_id", "size", "dst_agent_id",
                                         "src_agent_id", NULL};

/* To a GPU, or from one. */
static void take_copy(rocpd *r, const rows *row) {
    int64_t to = row_int(row, FIRST_OWN + 2, 0), from = row_int(row, FIRST_OWN + 3, to);
    const char *name = known(r, &r->strings, row_int(row, FIRST_OWN, 0), "copy");
    put_work(r, row, "gpu_memcpy", name, value_of(&r->agents, to, 0) || !r->gpus ? to : from);
}

static const char *const region_names[] = {COLUMNS, "name_id", NULL};

static void take_region(rocpd *r, const rows *row) {
    event_row e = event_of(r, row);
    track_row t = track_of(r, row);
    const char *category = e.category ? interned_text(&r->texts, e.category - 1) : "";
    const char *name = known(r, &r->strings, row_int(row, FIRST_OWN, 0), "call");
    bool marks = strstr(category, "MARKER") != NULL;
    if (marks && e.message) name = interned_text(&r->texts, e.message - 1);
    trace_event *event = put_event(r, row, marks ? "user_annotation" : "cuda_runtime", name);
    if (!event) return;
    event->pid = t.pid;
    event->tid = t.tid;
    put_correlation(r, e.stack);
    queue_end_args(r->to, event);
}

static const struct { const char *name; const char *const *columns; take_row *take; } tables[] = {
    {"region", region_names, take_region}, {"kernel_dispatch", dispatch_names, take_dispatch},
    {"memory_copy", copy_names, take_copy}
};
enum { TABLES = sizeof tables / sizeof *tables };

/* What a row names has to be there. */
static void check_ids(const rocpd *r, const rows *row) {
    const map *first = r->table == 1 ? &r->kernels : &r->strings;
    const struct { int column; const map *known; } ids[] = {
        {TRACK, &r->tracks}, {EVENT, &r->events}, {START_ID, &r->times}, {END_ID, &r->times},
        {FIRST_OWN, first}
    };
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        if (row_has_number(row, ids[i].column) &&
            !map_get(ids[i].known, (uint64_t)row_int(row, ids[i].column, 0)))
            row_odd(row, ids[i].column, "is the id of nothing that is there");
}

/* ---- The whole ---- */

bool rocpd_read(rocpd *r) {
    enum { SOME = 200 };
    if (r->to->failed || r->process == r->processes.count) return false;
    if (!r->is_open && r->table == 0) begin_process(r);
    if (!r->is_open)
        r->is_open = rows_open(r->db, &r->rows, table_of(r, tables[r->table].name), NULL,
                               tables[r->table].columns);
    for (int i = 0; r->is_open && i < SOME; i++) {
        r->is_open = rows_next(&r->rows);
        if (!r->is_open) break;
        check_ids(r, &r->rows);
        tables[r->table].take(r, &r->rows);
    }
    if (!r->is_open && ++r->table == TABLES) {
        r->table = 0;
        r->process++;
    }
    return true;
}

bool rocpd_reads(const rocpd *r, const char *table) {
    static const char *const others[] = {"rocpd_memory_allocate", "rocpd_region", "rocpd_sample",
                                         "rocpd_info_", "rocpd_kernel_dispatch",
                                         "rocpd_memory_copy", "rocpd_track", NULL};
    return r && begins_with(table, others);
}

/* Each has a table of texts. */
static const char texts[] = "rocpd_string", dispatches[] = "rocpd_kernel_dispatch";

static void find_process(void *user, const char *table) {
    rocpd *r = user;
    const char *end = table + sizeof texts - 1;
    char dispatch[160];
    if (strncmp(table, texts, sizeof texts - 1) != 0 || strlen(end) > 64) return;
    snprintf(dispatch, sizeof dispatch, "%s%s", dispatches, end);
    if (r->processes.count == MOST_PROCESSES || !database_has(r->db, dispatch)) return;
    text_list *list = &r->processes;
    list->items = reallocate(list->items, (list->count + 1) * sizeof *list->items);
    list->items[list->count++] = arena_text(&r->memory, end, strlen(end));
}

rocpd *rocpd_open(database *db) {
    rocpd *r = allocate(sizeof *r);
    r->db = db;
    r->to = db->to;
    database_tables(db, find_process, r);
    if (r->processes.count) return r;
    rocpd_close(r);
    return NULL;
}

void rocpd_tell(const rocpd *r, const char *path) {
    if (r->odd) warn(path, "%llu records have no times: left out", (unsigned long long)r->odd);
}

void rocpd_close(rocpd *r) {
    if (!r) return;
    if (r->is_open) rows_close(&r->rows);
    clear_process(r);
    map_free(&r->devices);
    intern_free(&r->texts);
    arena_free(&r->memory);
    free(r->processes.items);
    free(r->event_list);
    free(r->track_list);
    free(r);
}
