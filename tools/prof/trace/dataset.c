/* A trace as tables: see dataset.h. The first pass over the file loads the trace (trace.h), and
   keeps the ends of flows and names; the second one hands out the rows, in the file's order, which
   is that of the calls and works too. */
#include "trace/dataset.h"

#include <stdlib.h>
#include <string.h>

#include "input/losses.h"
#include "input/trace_reader.h"
#include "trace/flows.h"
#include "trace/rank_id.h"
#include "trace/step_times.h"
#include "trace/trace.h"
#include "trace/trace_range.h"

/* ---- The model ---- */

enum {                           /* columns of events */
    E_RANK, E_ID, E_PARENT, E_NAME, E_CAT, E_KIND, E_IS_DEVICE, E_IS_ASYNC, E_PID, E_TID, E_PROCESS,
    E_THREAD, E_TS, E_DUR, E_SELF, E_DEVICE_NS, E_DEVICE_SELF, E_DEPTH, E_STEP, E_DEVICE, E_STREAM,
    E_CORRELATION, E_EXTERNAL, E_OP_ID, E_OP, E_SHAPES, E_ARGS
};
enum { F_RANK, F_ID, F_CAT, F_FROM, F_TO, F_FROM_TS, F_TO_TS };
enum { I_RANK, I_NAME, I_CAT, I_PID, I_TID, I_TS, I_SCOPE, I_ARGS };
enum { M_RANK, M_TS, M_PID, M_TID, M_TYPE, M_DEVICE, M_ADDR, M_BYTES, M_TOTAL, M_RESERVED,
       M_CATEGORY };
enum { C_RANK, C_NAME, C_SERIES, C_PID, C_TS, C_VALUE };
enum { T_RANK, T_PID, T_TID, T_PROCESS, T_THREAD, T_LABELS };
enum { H_RANK, H_KEY, H_VALUE };

#define INT32(name, optional)  {name, CELL_INT32, optional}
#define INT64(name, optional)  {name, CELL_INT64, optional}
#define TEXT(name, optional)   {name, CELL_TEXT, optional}

static const table_column event_columns[] = {
    INT32("rank", false), INT64("id", false), INT64("parent_id", true), TEXT("name", false),
    TEXT("cat", true), TEXT("kind", false), INT32("is_device", false), INT32("is_async", false),
    INT64("pid", true), INT64("tid", true), TEXT("process", true), TEXT("thread", true),
    INT64("ts_ns", false), INT64("dur_ns", false), INT64("self_ns", true),
    INT64("device_ns", true), INT64("device_self_ns", true), INT32("depth", true),
    INT64("step", true), INT32("device", true), INT64("stream", true), INT64("correlation", true),
    INT64("external_id", true), INT64("op_id", true), TEXT("op", true), TEXT("input_shapes", true),
    TEXT("args", true)
};
static const table_column flow_columns[] = {
    INT32("rank", false), INT64("id", true), TEXT("cat", true), INT64("from_id", true),
    INT64("to_id", true), INT64("from_ts_ns", false), INT64("to_ts_ns", false)
};
static const table_column instant_columns[] = {
    INT32("rank", false), TEXT("name", false), TEXT("cat", true), INT64("pid", true),
    INT64("tid", true), INT64("ts_ns", false), TEXT("scope", true), TEXT("args", true)
};
static const table_column memory_columns[] = {
    INT32("rank", false), INT64("ts_ns", false), INT64("pid", true), INT64("tid", true),
    INT32("device_type", true), INT32("device", true), INT64("addr", true), INT64("bytes", true),
    INT64("total_allocated", true), INT64("total_reserved", true), TEXT("category", true)
};
static const table_column counter_columns[] = {
    INT32("rank", false), TEXT("name", false), TEXT("series", false), INT64("pid", true),
    INT64("ts_ns", false), {"value", CELL_DOUBLE, false}
};
static const table_column thread_columns[] = {
    INT32("rank", false), INT64("pid", true), INT64("tid", true), TEXT("process", true),
    TEXT("thread", true), TEXT("labels", true)
};
static const table_column metadata_columns[] = {
    INT32("rank", false), TEXT("key", false), TEXT("value", false)
};

#define MODEL(name, columns) {name, columns, sizeof columns / sizeof *columns}
const table_model table_models[TABLES] = {
    MODEL("events", event_columns), MODEL("flows", flow_columns),
    MODEL("instants", instant_columns), MODEL("memory", memory_columns),
    MODEL("counters", counter_columns), MODEL("threads", thread_columns),
    MODEL("metadata", metadata_columns)
};

typedef struct dataset {
    row_sink *sink;
    const char *path;
    const clock_line *clock;     /* NULL: its own */
    rank_id id;
    merged_ranks merged;         /* of a file of several */
    struct trace trace;          /* its threads are those of all events; key of a call: the number
                                    of its event; more: its depth */
    size_t calls, works;         /* so many are handed out */
    step_times steps;
    flows flows;
    row_items items;             /* of all calls, if flows are wanted */
    bool with_flows;
    uint64_t events, left_out, no_numbers;   /* no_numbers: values of counters */
    cell cells[MOST_COLUMNS];
    char *json;                  /* of the row: its texts are pieces of this */
    size_t json_size, json_capacity;
} dataset;

/* ---- Cells ---- */

/* A time of the trace on the clock of all. */
static int64_t calendar_ns(const dataset *d, int64_t ns) {
    ns += d->trace.base_ns;
    return d->clock ? time_add(ns, clock_add(d->clock, ns)) : ns;
}

static void put(dataset *d, int column, int64_t integer) {
    d->cells[column] = (cell){.is = true, .integer = integer};
}

static void put_text(dataset *d, int column, trace_text text) {
    if (text.data) d->cells[column] = (cell){.is = true, .text = text};
}

static void put_words(dataset *d, int column, const char *words) {
    if (words) put_text(d, column, (trace_text){words, strlen(words)});
}

/* Room for the texts that are made for a row: taken once, for all of them. */
static void begin_row(dataset *d, size_t room) {
    memset(d->cells, 0, sizeof d->cells);
    d->json_size = 0;
    if (room <= d->json_capacity) return;
    d->json_capacity = 2 * room;
    d->json = reallocate(d->json, d->json_capacity);
}

static void put_json(dataset *d, int column, trace_text value) {
    char *to = d->json + d->json_size;
    if (!value.size) return;
    size_t size = json_compact(value, to);
    d->json_size += size;
    put_text(d, column, (trace_text){to, size});
}

/* A key of JSON as it stands there. */
static void put_key(dataset *d, int column, trace_text key) {
    char *to = d->json + d->json_size;
    if (!memchr(key.data, '\\', key.size)) {
        put_text(d, column, key);
        return;
    }
    size_t size = json_decode(key, to, 3 * key.size + 1);
    d->json_size += size;
    put_text(d, column, (trace_text){to, size});
}

static void put_arg(dataset *d, int column, const trace_event *event, const char *key) {
    int64_t number;
    if (trace_arg_int(event, key, &number)) put(d, column, number);
}

static void put_small(dataset *d, int column, const trace_event *event, const char *key) {
    int64_t number;
    if (trace_arg_int(event, key, &number) && number >= INT32_MIN && number <= INT32_MAX)
        put(d, column, number);
}

static bool has_pid(const trace_event *event) {
    return event->has & TRACE_HAS_PID && !event->pid_text.data;
}

static bool has_tid(const trace_event *event) {
    return event->has & TRACE_HAS_TID && !event->tid_text.data;
}

static void put_ids(dataset *d, int pid, int tid, const trace_event *event) {
    if (has_pid(event)) put(d, pid, event->pid);
    if (has_tid(event)) put(d, tid, event->tid);
}

/* pid: of a file of several ranks, the process that the row is of. */
static void end_row(dataset *d, table_id table, int64_t pid) {
    uint32_t place = merged_place(&d->merged, pid);
    if (d->sink->apart && place != d->sink->place) return;
    put(d, 0, merged_any(&d->merged) ? d->merged.ranks[place] : d->id.rank);
    d->sink->row(d->sink, table, d->cells);
}

static bool wants(const dataset *d, table_id table) { return d->sink->wanted >> table & 1; }

/* ---- First pass ---- */

static void add_slice(dataset *d, const trace_event *event, uint32_t thread) {
    if (!d->with_flows || event->is_async) return;
    items_add(&d->items,
              (row_item){event->ts_ns, event->dur_ns, d->events, thread, ITEM_CALL,
                         event->is_pair});
}

static void collect_event(dataset *d, const trace_event *event, uint32_t thread, trace_kept kept) {
    if (kept == KEPT_CALL) d->trace.calls[d->trace.call_count - 1].key = (uint32_t)d->events;
    step_times_take(&d->steps, event);
    add_slice(d, event, thread);
    d->events++;
}

static void collect_flow(dataset *d, const trace_event *event, uint32_t thread) {
    if (d->with_flows) flows_add(&d->flows, event, thread);
}

static void collect(dataset *d, const trace_event *event, trace_kept kept) {
    if (event->phase == 'M') {
        trace_take_name(&d->trace, event);
        return;
    }
    uint32_t thread = trace_thread(&d->trace, event);
    switch (event->phase) {
    case 'X': collect_event(d, event, thread, kept); break;
    case 's': case 't': case 'f': collect_flow(d, event, thread); break;
    case 'i': case 'I': case 'R': case 'n': case 'C': break;
    default: d->left_out++; break;
    }
}

static void take(void *user, trace_reader *reader, trace_kept kept) {
    dataset *d = user;
    if (reader->item == TRACE_EVENT) collect(d, reader->event, kept);
    if (reader->item != TRACE_MEMBER) return;
    rank_read(&d->id, &reader->member);
    merged_read(&d->merged, &reader->member);
}

/* ---- What lies in what ---- */

static void bind_flows(dataset *d) {
    items_sort(&d->items);
    flows_bind(&d->flows, &d->items);
    for (size_t i = 0; i < d->flows.count; i++) {
        flow_end *end = &d->flows.ends[i];
        if (end->call != FLOWS_NO_CALL)
            end->call = (uint32_t)d->items.list[d->items.order[end->call]].id;
    }
    items_free(&d->items);
}

static void build(dataset *d) {
    struct trace *t = &d->trace;
    bind_flows(d);
    trace_nest(t);
    trace_own(t);
    trace_times(t);
    for (size_t i = 0; i < t->call_count; i++) {
        call *c = &t->calls[t->tree[i]];
        c->more = c->parent == NO_CALL ? 0 : t->calls[c->parent].more + 1;
    }
}

/* ---- Second pass: events ---- */

static const char *const kind_names[TRACE_KINDS] = {
    "other", "cpu_op", "user_annotation", "python_function", "runtime", "kernel", "memcpy",
    "memset", "gpu_user_annotation", "sync", "overhead", "span", "span",
    "counted"
};

/* What prof.h's own traces have for its viewers, and no call is. */
static bool is_drawn(const dataset *d, const trace_event *event) {
    return trace_arg(event, KEY_COVER) || (d->trace.own && text_is(event->name, "(in sums)"));
}

/* An asynchronous one lies in nothing, and has no time of its own. */
static void put_call(dataset *d, const trace_event *event) {
    size_t number = d->calls++;
    const call *c = &d->trace.calls[number];
    call_times times = d->trace.times[number];
    if (event->is_async && trace_arg(event, "is_legacy"))
        times.device_self_ns = trace_kernels_ns(event);
    if (c->parent != NO_CALL) put(d, E_PARENT, d->trace.calls[c->parent].key);
    if (!is_drawn(d, event)) put(d, E_SELF, times.self_ns);
    put(d, E_DEVICE_NS, times.device_ns);
    put(d, E_DEVICE_SELF, times.device_self_ns);
    if (!event->is_async) put(d, E_DEPTH, c->more);
}

static void put_owner(dataset *d) {
    uint32_t owner = d->trace.works[d->works++].owner;
    if (owner == NO_CALL) return;
    const call *c = &d->trace.calls[owner];
    const struct interned *name = &d->trace.names.entries[c->name];
    put(d, E_OP_ID, c->key);
    put_text(d, E_OP, (trace_text){name->text, name->size});
}

/* As it was loaded: calls and works come in the same order again. */
static void put_facts(dataset *d, const trace_event *event) {
    bool is_call = trace_is_call(&d->trace, event);
    if (is_call && d->calls < d->trace.call_count) put_call(d, event);
    if (kind_is_device(event->kind) && d->works < d->trace.work_count) put_owner(d);
}

/* Where it ran, or what was waited for. */
static void put_place(dataset *d, const trace_event *event) {
    if (has_pid(event) && event->pid >= INT32_MIN && event->pid <= INT32_MAX)
        put(d, E_DEVICE, event->pid);
    if (has_tid(event)) put(d, E_STREAM, event->tid);
    put_small(d, E_DEVICE, event, "device");
    put_arg(d, E_STREAM, event, "stream");
}

static void put_names(dataset *d, const trace_event *event) {
    uint32_t thread = trace_thread(&d->trace, event);
    int64_t id;
    put_text(d, E_NAME, event->name);
    if (event->has & TRACE_HAS_CAT) put_text(d, E_CAT, event->cat);
    put_ids(d, E_PID, E_TID, event);
    put_words(d, E_PROCESS, trace_process_name(&d->trace, d->trace.threads[thread].process));
    put_words(d, E_THREAD, trace_thread_name(&d->trace, thread));
    if (trace_correlation(event, &id)) put(d, E_CORRELATION, id);
    if (trace_external_id(event, &id)) put(d, E_EXTERNAL, id);
}

static void put_times(dataset *d, const trace_event *event) {
    int64_t step = step_times_at(&d->steps, event->ts_ns);
    put(d, E_TS, calendar_ns(d, event->ts_ns));
    put(d, E_DUR, calendar_ns(d, event->ts_ns + event->dur_ns) - calendar_ns(d, event->ts_ns));
    if (step != NO_STEP) put(d, E_STEP, step);
}

static void event_row(dataset *d, const trace_event *event) {
    int64_t id = (int64_t)d->events++;
    if (!wants(d, TABLE_EVENTS)) return;
    const trace_member *shapes = trace_shapes(event);
    bool device = kind_has_device(event->kind), drawn = is_drawn(d, event);
    bool none = drawn || trace_is_utility(&d->trace, event);       /* as in a report */
    begin_row(d, event->args_text.size * 2);
    put(d, E_ID, id);
    put_names(d, event);
    put_times(d, event);
    put_words(d, E_KIND, kind_names[none ? TRACE_SPAN : event->kind]);
    put(d, E_IS_DEVICE, device && !drawn);
    put(d, E_IS_ASYNC, event->is_async);
    if (device && !drawn) put(d, E_SELF, event->dur_ns);
    put_facts(d, event);
    if (device || event->kind == TRACE_SYNC) put_place(d, event);
    if (shapes) put_json(d, E_SHAPES, shapes->value);
    if (event->arg_count) put_json(d, E_ARGS, event->args_text);
    end_row(d, TABLE_EVENTS, event->pid);
}

/* ---- Second pass: the others ---- */

static void memory_row(dataset *d, const trace_event *event) {
    char category[32];
    begin_row(d, 0);
    put(d, M_TS, calendar_ns(d, event->ts_ns));
    put_ids(d, M_PID, M_TID, event);
    put_small(d, M_TYPE, event, KEY_DEVICE_TYPE);
    put_small(d, M_DEVICE, event, KEY_DEVICE_INDEX);
    put_arg(d, M_ADDR, event, KEY_ADDRESS);
    put_arg(d, M_BYTES, event, KEY_BYTES);
    put_arg(d, M_TOTAL, event, KEY_TOTAL);
    put_arg(d, M_RESERVED, event, "Total Reserved");
    if (trace_arg_text(event, KEY_CATEGORY, category, sizeof category))
        put_words(d, M_CATEGORY, category);
    end_row(d, TABLE_MEMORY, event->pid);
}

static void instant_row(dataset *d, const trace_event *event) {
    char scope[16];
    begin_row(d, event->args_text.size);
    put_text(d, I_NAME, event->name);
    if (event->has & TRACE_HAS_CAT) put_text(d, I_CAT, event->cat);
    put_ids(d, I_PID, I_TID, event);
    put(d, I_TS, calendar_ns(d, event->ts_ns));
    if (event->scope.size && json_is_text(event->scope)) {
        json_decode(event->scope, scope, sizeof scope);
        put_words(d, I_SCOPE, scope);
    }
    if (event->arg_count) put_json(d, I_ARGS, event->args_text);
    end_row(d, TABLE_INSTANTS, event->pid);
}

/* Its id is a part of it. */
static void put_counter_name(dataset *d, const trace_event *event) {
    char id[160], *to = d->json + d->json_size;
    size_t size = trace_counter_id(event, id, sizeof id);
    memcpy(to, event->name.data, event->name.size);
    memcpy(to + event->name.size, id, size);
    d->json_size += size += event->name.size;
    put_text(d, C_NAME, (trace_text){to, size});
}

static void counter_rows(dataset *d, const trace_event *event) {
    const trace_member *args = event->args;
    for (size_t i = 0; i < event->arg_count; i++) {
        double number;
        if (!json_double(args[i].value, &number)) {
            d->no_numbers++;
            continue;
        }
        begin_row(d, 3 * args[i].key.size + event->name.size + 161);
        put_counter_name(d, event);
        put_key(d, C_SERIES, args[i].key);
        if (has_pid(event)) put(d, C_PID, event->pid);
        put(d, C_TS, calendar_ns(d, event->ts_ns));
        d->cells[C_VALUE] = (cell){.is = true, .number = number};
        end_row(d, TABLE_COUNTERS, event->pid);
    }
}

static void hand_out(dataset *d, const trace_event *event) {
    switch (event->phase) {
    case 'X': event_row(d, event); break;
    case 'i': case 'I': case 'R': case 'n':
        if (text_is(event->name, "[memory]")) {
            if (wants(d, TABLE_MEMORY)) memory_row(d, event);
        } else if (wants(d, TABLE_INSTANTS)) {
            instant_row(d, event);
        }
        break;
    case 'C': if (wants(d, TABLE_COUNTERS)) counter_rows(d, event); break;
    default: break;
    }
}

static void metadata_row(dataset *d, trace_text key, trace_text value) {
    if (!wants(d, TABLE_METADATA)) return;
    begin_row(d, value.size + 3 * key.size + 1);
    put_key(d, H_KEY, key);
    put_json(d, H_VALUE, value);
    end_row(d, TABLE_METADATA, (d->sink->place + 1) * (int64_t)PIDS_OF_A_RANK);
}

static void flow_row(void *user, const flow_end *from, const flow_end *to) {
    dataset *d = user;
    const struct interned *cat = &d->flows.cats.entries[from->cat];
    begin_row(d, 0);
    if (from->has_id) put(d, F_ID, from->id);
    if (cat->size) put_text(d, F_CAT, (trace_text){cat->text, cat->size});
    put(d, F_FROM, from->call);
    put(d, F_TO, to->call);
    put(d, F_FROM_TS, calendar_ns(d, from->ts_ns));
    put(d, F_TO_TS, calendar_ns(d, to->ts_ns));
    end_row(d, TABLE_FLOWS, d->trace.threads[from->row].pid);
}

static void flow_rows(dataset *d) {
    char number[24];
    if (!d->with_flows) return;
    flows_match(&d->flows, flow_row, d);
    int size = snprintf(number, sizeof number, "%llu", (unsigned long long)d->flows.unmatched);
    metadata_row(d, (trace_text){"unmatched_flows", 15}, (trace_text){number, (size_t)size});
}

static void thread_rows(dataset *d) {
    for (uint32_t i = 0; i < d->trace.thread_count && wants(d, TABLE_THREADS); i++) {
        const call_thread *thread = &d->trace.threads[i];
        begin_row(d, 0);
        if (thread->pid_text == NO_CALL) put(d, T_PID, thread->pid);
        if (thread->tid_text == NO_CALL) put(d, T_TID, thread->tid);
        put_words(d, T_PROCESS, trace_process_name(&d->trace, thread->process));
        put_words(d, T_THREAD, trace_thread_name(&d->trace, i));
        put_words(d, T_LABELS, trace_words(&d->trace, d->trace.processes[thread->process].labels));
        end_row(d, TABLE_THREADS, thread->pid);
    }
}

static int second_pass(dataset *d) {
    trace_reader *reader = trace_open(d->path);
    uint64_t events = d->events;
    if (!reader) return EXIT_BAD;
    reader->quiet = true;
    d->events = 0;
    while (trace_next(reader) != TRACE_END) {
        if (reader->item == TRACE_MEMBER)
            metadata_row(d, reader->member.key, reader->member.value);
        if (reader->item != TRACE_EVENT) continue;
        if (reader->event->phase == 'X' && d->events == events) break;
        hand_out(d, reader->event);
    }
    int status = trace_close(reader);
    if (status == EXIT_OK && d->events != events)
        status = fail(d->path, "it has changed while it was read");
    flow_rows(d);
    thread_rows(d);
    return status;
}

/* ---- The whole ---- */

static void tell(const dataset *d) {
    if (d->trace.summed)
        warn(d->path, "%llu zones are in sums alone: the tables have no rows of them",
             (unsigned long long)d->trace.summed);
    if (d->left_out)
        warn(d->path, "%llu events of phases that are in no table: left out",
             (unsigned long long)d->left_out);
    if (d->no_numbers)
        warn(d->path, "%llu values of counters are not numbers: left out",
             (unsigned long long)d->no_numbers);
}

static void free_dataset(dataset *d) {
    trace_free(&d->trace);
    step_times_free(&d->steps);
    flows_free(&d->flows);
    items_free(&d->items);
    merged_free(&d->merged);
    free(d->json);
}

int dataset_read(const char *path, const int64_t *rank, const clock_line *clock, row_sink *sink) {
    dataset d = {.sink = sink, .path = path, .clock = clock};
    d.trace.with_works = d.trace.with_python = d.trace.whole_names = true;
    d.with_flows = wants(&d, TABLE_FLOWS) || wants(&d, TABLE_METADATA);
    int status = trace_load(&d.trace, path, take, &d);
    if (rank) d.id.rank = *rank;
    sink->next = merged_any(&d.merged) ? merged_next(&d.merged, sink->place) : 0;
    if (sink->apart && merged_any(&d.merged)) d.id.rank = d.merged.ranks[sink->place];
    if (status == EXIT_OK && sink->begin && !sink->begin(sink, d.id.rank)) status = EXIT_BAD;
    if (status == EXIT_OK) {
        build(&d);
        status = second_pass(&d);
        tell(&d);
    }
    free_dataset(&d);
    return status;
}

static int read_rank(rank_id *id) {
    trace_reader *reader = trace_open(id->path);
    if (!reader) return EXIT_BAD;
    reader->quiet = true;
    while (!id->told && trace_next(reader) != TRACE_END)
        if (reader->item == TRACE_MEMBER) rank_read(id, &reader->member);
    return trace_close(reader);
}

static bool read_ranks(rank_id *ids, char *const *paths, size_t count) {
    bool good = true;
    for (size_t i = 0; i < count && good; i++) {
        ids[i].path = paths[i];
        good = read_rank(&ids[i]) == EXIT_OK;
    }
    return good;
}

bool dataset_ranks(char *const *paths, size_t count, int64_t **ranks) {
    *ranks = NULL;
    for (size_t i = 0; i < count; i++)
        if (file_reads_once(paths[i]))
            return fail(paths[i], "tables read their input twice, so it must be a file"), false;
    if (count == 1) return true;
    rank_id *ids = allocate(count * sizeof *ids);
    bool good = read_ranks(ids, paths, count);
    if (good) {
        free(ranks_order(ids, sizeof *ids, &count, false));
        *ranks = allocate(count * sizeof **ranks);
        for (size_t i = 0; i < count; i++) (*ranks)[i] = ids[i].rank;
    }
    free(ids);
    return good;
}
