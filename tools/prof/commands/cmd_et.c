/* prof et: execution traces: their rules, what is in them, and how long it took. */
#include "input/losses.h"
#include "input/trace_reader.h"
#include "output/trace_writer.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

static int run(int argc, char **argv);

const command et_command = {
    "et", "[OPTION]... ET", "check, summarise or link an execution trace",
    "  prof et et.json.gz\n"
    "      what breaks the rules, with byte offsets (exit status 1), and the nodes\n"
    "      by name\n"
    "  prof et --link trace.json.gz et.json\n"
    "      with the times of the same run's trace, joined by record function id and\n"
    "      name; of one without such ids (prof.h's raw streams) the n-th call of a\n"
    "      name on a thread is its n-th node there, where both are as many\n"
    "  prof et --link trace.json.gz -o linked.json et.json\n"
    "      the execution trace once more, each node with its times in us:\n"
    "      \"kineto\": {\"ts\": ..., \"dur\": ..., \"self_dur\": ..., "
    "\"device_dur\": ...}\n", run, 1, 1
};

typedef struct node {
    int64_t id, parent, rf_id, tid;
    uint64_t offset;
    uint32_t name;
    bool linked;
    int64_t start_ns, ns, self_ns, device_ns;
} node;

typedef struct et_options {
    const char *link, *path;
    table_format format;
    int64_t limit;
} et_options;

typedef struct execution_trace {
    const char *path;
    interner names;
    node *nodes;
    size_t count, capacity;
    map by_id, by_rf;           /* -> number + 1 */
    char schema[64];
    int64_t pid;
    bool with_ids;              /* the trace of the run has them */
    uint64_t errors, linked, events;
} execution_trace;

static void error(execution_trace *t, uint64_t offset, const char *what, int64_t number) {
    enum { MOST = 20 };
    if (t->errors++ < MOST)
        warn(t->path, "byte %llu: %s %lld", (unsigned long long)offset, what, (long long)number);
    if (t->errors == MOST) warn(t->path, "there may be more: they are only counted");
}

/* ---- Reading ---- */

static int64_t items_of(trace_text list) {
    trace_text rest = list, key, value;
    int64_t count = 0;
    if (!list.size || *list.data != '[') return -1;
    while (json_next(&rest, &key, &value)) count++;
    return count;
}

/* {"values": [], "shapes": [], "types": []}: as many of each. */
static void check_values(execution_trace *t, const node *n, trace_text values) {
    trace_text rest = values, key, value;
    int64_t count = -1;
    if (*values.data != '{') return;
    while (json_next(&rest, &key, &value)) {
        if (text_is(key, "strides")) continue;
        int64_t items = items_of(value);
        if (count >= 0 && items != count) {
            error(t, n->offset, "values, shapes and types are not as many in node", n->id);
            return;
        }
        count = items;
    }
}

static void read_attributes(node *n, trace_text list) {
    trace_text rest = list, key, item;
    while (*list.data == '[' && json_next(&rest, &key, &item)) {
        trace_text inner = item, value, name = {"", 0}, number = {"", 0};
        while (*item.data == '{' && json_next(&inner, &key, &value)) {
            if (text_is(key, "name")) name = value;
            if (text_is(key, "value")) number = value;
        }
        if (text_is(name, "\"rf_id\"")) json_int(number, &n->rf_id);
        if (text_is(name, "\"tid\"")) json_int(number, &n->tid);
    }
}

static void read_node(execution_trace *t, const trace_event *event) {
    trace_text rest = event->raw, key, value;
    node n = {.id = INT64_MIN, .parent = INT64_MIN, .offset = event->offset};
    int64_t flat[3] = {-1, -1, -1};                  /* 1.0.1: inputs, input_shapes, input_types */
    while (json_next(&rest, &key, &value)) {
        if (text_is(key, "id")) json_int(value, &n.id);
        else if (text_is(key, "ctrl_deps") || text_is(key, "parent")) json_int(value, &n.parent);
        else if (text_is(key, "rf_id")) json_int(value, &n.rf_id);
        else if (text_is(key, "tid")) json_int(value, &n.tid);
        else if (text_is(key, "attrs")) read_attributes(&n, value);
        else if (text_is(key, "inputs") && *value.data == '[') flat[0] = items_of(value);
        else if (text_is(key, "input_shapes")) flat[1] = items_of(value);
        else if (text_is(key, "input_types")) flat[2] = items_of(value);
    }
    rest = event->raw;
    while (json_next(&rest, &key, &value))
        if (text_is(key, "inputs") || text_is(key, "outputs")) check_values(t, &n, value);
    if (flat[0] >= 0 && flat[1] >= 0 && (flat[0] != flat[1] || flat[0] != flat[2]))
        error(t, n.offset, "values, shapes and types are not as many in node", n.id);
    n.name = intern(&t->names, event->name.data, event->name.size);
    if (n.id == INT64_MIN || !(event->has & TRACE_HAS_NAME)) {
        error(t, n.offset, "no id or no name: node number", (int64_t)t->count);
        return;
    }
    bool is_new;
    uint64_t *number = map_put(&t->by_id, (uint64_t)n.id, &is_new);
    if (!is_new) error(t, n.offset, "the id is not the only one of its kind:", n.id);
    GROW(t->nodes, t->count, t->capacity);
    t->nodes[t->count++] = n;
    *number = t->count;
    if (n.rf_id) *map_put(&t->by_rf, (uint64_t)n.rf_id, NULL) = t->count;
}

static int read_nodes(execution_trace *t) {
    trace_reader *reader = trace_open(t->path);
    if (!reader) return EXIT_BAD;
    reader->takes_nodes = true;
    while (trace_next(reader) != TRACE_END) {
        if (reader->item == TRACE_NODE) read_node(t, reader->event);
        if (reader->item != TRACE_MEMBER) continue;
        if (text_is(reader->member.key, "schema") && json_is_text(reader->member.value))
            json_decode(reader->member.value, t->schema, sizeof t->schema);
        if (text_is(reader->member.key, "pid")) json_int(reader->member.value, &t->pid);
    }
    if (t->count == 0 && !reader->failed)
        reader->failed = fail(t->path, "there are no nodes: this is not an execution trace");
    return trace_close(reader);
}

/* ---- The rules of the whole ---- */

static const node *parent_of(const execution_trace *t, const node *n) {
    const uint64_t *number = map_get(&t->by_id, (uint64_t)n->parent);
    return number ? &t->nodes[*number - 1] : NULL;
}

/* Every node hangs on the root: the process, which is its own parent. Returns the deepest. */
static size_t check_parents(execution_trace *t) {
    size_t *depths = allocate((t->count + 1) * sizeof *depths), deepest = 0, roots = 0;
    for (size_t i = 0; i < t->count; i++) {
        const node *n = &t->nodes[i];
        roots += n->parent == n->id;
        if (!parent_of(t, n)) error(t, n->offset, "there is no parent of node", n->id);
        size_t steps = 0;
        while (n && n->parent != n->id && steps <= t->count && !depths[n - t->nodes]) {
            n = parent_of(t, n);
            steps++;
        }
        if (steps > t->count) error(t, t->nodes[i].offset, "its own ancestor is node",
                                    t->nodes[i].id);
        size_t depth = steps + (n ? depths[n - t->nodes] : 0);
        depths[i] = depth > t->count ? 1 : depth;
        if (depth <= t->count && depth > deepest) deepest = depth;
    }
    if (roots != 1) error(t, 0, "nodes that are their own parent (there must be one, the process):",
                          (int64_t)roots);
    free(depths);
    return deepest;
}

/* ---- Times of the same run's trace ---- */

static bool record_id(const trace_event *event, int64_t *id) {
    if (event->phase != 'X' ||
        (event->kind != TRACE_CPU_OP && event->kind != TRACE_ANNOTATION)) return false;
    return (trace_arg_int(event, KEY_RECORD_ID, id) && *id > 0) ||
           (trace_external_id(event, id) && *id > 0);
}

static void set_times(execution_trace *t, node *n, const struct trace *tree, uint32_t number) {
    const call *c = &tree->calls[number];
    const call_times *times = &tree->times[number];
    n->linked = true;
    n->start_ns = c->start_ns;
    n->ns = call_ns(c);
    n->self_ns = times->self_ns;
    n->device_ns = times->device_ns;
    t->linked++;
}

static void link_call(execution_trace *t, const struct trace *tree, uint32_t at) {
    const call *c = &tree->calls[at];
    const uint64_t *number = map_get(&t->by_rf, c->key);
    node *n = number ? &t->nodes[*number - 1] : NULL;
    t->events++;
    if (!n || n->linked || strcmp(interned_text(&t->names, n->name),
                                  interned_text(&tree->names, c->name)) != 0) return;
    set_times(t, n, tree, at);
}

/* ---- The same without ids ---- */

static uint64_t key_of(int64_t tid, const char *name) {
    return hash_mix((uint64_t)tid) * 31 + hash_bytes(name, strlen(name));
}

static bool has_key(const struct trace *tree, const call *c, uint64_t *key) {
    *key = key_of(tree->threads[c->thread].tid, interned_text(&tree->names, c->name));
    return c->kind == TRACE_CPU_OP || c->kind == TRACE_ANNOTATION;
}

static bool node_before(uint32_t a, uint32_t b, const void *context) {
    const node *nodes = context;
    return nodes[a].rf_id < nodes[b].rf_id;
}

/* Ids of record functions are in the order in which calls began: the n-th node of a key, a name on
   a thread, is the n-th call of it. Where there is another number of calls than of nodes, nobody
   knows which is which. */
static void link_by_keys(execution_trace *t, const struct trace *tree) {
    map nodes = {0}, calls = {0}, linked = {0};  /* of a key, so many */
    map numbers = {0};                           /* of a key and n: of the node */
    uint64_t key;
    uint32_t *order = sorted_numbers(t->count, node_before, t->nodes);
    for (size_t i = 0; i < t->count; i++) {
        const node *n = &t->nodes[order[i]];
        if (!n->rf_id) continue;
        key = key_of(n->tid, interned_text(&t->names, n->name));
        *map_put(&numbers, hash_mix(key) + (*map_put(&nodes, key, NULL))++, NULL) = order[i];
    }
    for (size_t i = 0; i < tree->call_count; i++) {
        if (!has_key(tree, &tree->calls[i], &key)) continue;
        ++*map_put(&calls, key, NULL);
        t->events++;
    }
    for (size_t i = 0; i < tree->call_count; i++) {
        if (!has_key(tree, &tree->calls[tree->order[i]], &key)) continue;
        if (*map_put(&nodes, key, NULL) != *map_get(&calls, key)) continue;
        uint64_t n = (*map_put(&linked, key, NULL))++;
        set_times(t, &t->nodes[*map_get(&numbers, hash_mix(key) + n)], tree, tree->order[i]);
    }
    map_free(&nodes);
    map_free(&calls);
    map_free(&linked);
    map_free(&numbers);
    free(order);
}

static void take(void *user, trace_reader *reader, trace_kept kept) {
    struct trace *tree = user;
    int64_t id;
    if (kept == KEPT_CALL && record_id(reader->event, &id) && id < NO_CALL)
        tree->calls[tree->call_count - 1].key = (uint32_t)id;
}

static int link_trace(execution_trace *t, const char *path) {
    struct trace tree = {.with_works = true, .steps_apart = true};
    int status = trace_load(&tree, path, take, &tree);
    trace_nest(&tree);
    trace_own(&tree);
    trace_times(&tree);
    for (uint32_t i = 0; i < tree.call_count; i++) {
        t->with_ids |= tree.calls[i].key != 0;
        if (tree.calls[i].key) link_call(t, &tree, i);
    }
    if (!t->with_ids) link_by_keys(t, &tree);
    trace_free(&tree);
    return status;
}

static int write_linked(const execution_trace *t, const char *path) {
    output out;
    trace_writer w;
    trace_reader *reader = trace_open(t->path);
    if (!reader) return EXIT_BAD;
    if (!output_open(&out, path)) {
        trace_close(reader);
        return EXIT_BAD;
    }
    writer_begin(&w, &out, false);
    w.list = "nodes";
    reader->quiet = reader->takes_nodes = true;
    for (size_t i = 0; trace_next(reader) != TRACE_END; ) {
        if (reader->item == TRACE_MEMBER)
            writer_member(&w, reader->member.key, reader->member.value);
        if (reader->item != TRACE_NODE) continue;
        trace_text raw = reader->event->raw;
        const node *n = i < t->count && t->nodes[i].offset == reader->event->offset
            ? &t->nodes[i++] : NULL;
        writer_event(&w);
        output_write(&out, raw.data, raw.size - 1);
        if (n && n->linked) {
            const int64_t times[] = {n->start_ns, n->ns, n->self_ns, n->device_ns};
            static const char *const keys[] = {", \"kineto\": {\"ts\": ", ", \"dur\": ",
                                               ", \"self_dur\": ", ", \"device_dur\": "};
            for (int k = 0; k < 4; k++) {
                output_text(&out, keys[k]);
                write_us(&out, times[k]);
            }
            output_text(&out, "}");
        }
        output_text(&out, "}");
    }
    writer_end(&w);
    return output_close(&out, trace_close(reader));
}

/* ---- Nodes by name ---- */

typedef struct name_row { uint64_t count, linked; int64_t ns, self_ns, device_ns; } name_row;

static bool row_before(uint32_t a, uint32_t b, const void *context) {
    const name_row *rows = context;
    int64_t x = rows[a].device_ns + rows[a].self_ns, y = rows[b].device_ns + rows[b].self_ns;
    return x != y ? x > y : rows[a].count > rows[b].count;
}

static void fill_sheet(const execution_trace *t, int64_t limit, bool times, sheet *s) {
    name_row *rows = allocate(t->names.count * sizeof *rows);
    for (size_t i = 0; i < t->count; i++) {
        const node *n = &t->nodes[i];
        name_row *row = &rows[n->name];
        row->count++;
        row->linked += n->linked;
        row->ns += n->ns;
        row->self_ns += n->self_ns;
        row->device_ns += n->device_ns;
    }
    uint32_t *order = sorted_numbers(t->names.count, row_before, rows);
    for (size_t i = 0; i < t->names.count && (int64_t)i < limit; i++) {
        const name_row *row = &rows[order[i]];
        cell_text(s, interned_text(&t->names, order[i]));
        cell_int(s, (int64_t)row->count);
        if (!times) continue;
        cell_int(s, (int64_t)row->linked);
        cell_us(s, row->ns);
        cell_us(s, row->self_ns);
        cell_us(s, row->device_ns);
    }
    free(rows);
    free(order);
}

static int write_summary(const execution_trace *t, const et_options *o, size_t deepest) {
    output out;
    sheet s;
    if (!output_open(&out, NULL)) return EXIT_BAD;
    losses_write(&out);
    sheet_begin(&s, o->link ? "Name|Nodes#|Linked#|CPU total (us)#|Self CPU (us)#|"
                              "Device total (us)#" : "Name|Nodes#");
    fill_sheet(t, o->limit, o->link != NULL, &s);
    sheet_end(&s, o->format, &out);
    if (o->format == FORMAT_TEXT) {
        output_text(&out, "Schema ");
        output_plain_text(&out, *t->schema ? t->schema : "(none)");
        output_format(&out, ", process %lld: %zu nodes, %zu deep, %llu errors.\n",
                      (long long)t->pid, t->count, deepest, (unsigned long long)t->errors);
        if (o->link)
            output_format(&out, "%llu nodes linked%s; the trace has %llu calls%s.\n",
                          (unsigned long long)t->linked,
                          t->with_ids ? "" : " by thread, name and order",
                          (unsigned long long)t->events, t->with_ids ? " with an id" : "");
    }
    return output_close(&out, EXIT_OK);
}

/* ---- The command ---- */

/* Of one run, nearly all calls of the shorter recording are in the other one, too. */
static bool is_one_run(const execution_trace *t, const char *link) {
    uint64_t nodes = t->by_rf.count, both = nodes < t->events ? nodes : t->events;
    if (t->linked * 2 >= both) return true;
    warn(link, "this is not the trace of the same run as %s, it seems: of %llu nodes and %llu "
         "calls%s, %llu are the same; their times mean little", t->path,
         (unsigned long long)nodes, (unsigned long long)t->events,
         t->with_ids ? " with an id" : "", (unsigned long long)t->linked);
    return false;
}

static int examine(execution_trace *t, const et_options *o) {
    int status = read_nodes(t);
    if (status != EXIT_OK) return status;
    if (!*t->schema) error(t, 0, "there is no schema; nodes:", (int64_t)t->count);
    size_t deepest = check_parents(t);
    if (o->format == FORMAT_TEXT && !o->path) losses_hold();
    bool one_run = true;
    if (o->link) status = link_trace(t, o->link);
    if (o->link && status == EXIT_OK) one_run = is_one_run(t, o->link);
    if (status == EXIT_OK)
        status = o->path ? write_linked(t, o->path) : write_summary(t, o, deepest);
    return status ? status : t->errors || !one_run ? EXIT_FOUND : EXIT_OK;
}

static int run(int argc, char **argv) {
    et_options o = {.limit = 50};
    const option_spec options[] = {
        {"link", 'l', OPTION_TEXT, &o.link, "TRACE", "the Kineto trace of the same run"},
        {"output", 'o', OPTION_TEXT, &o.path, "FILE", "with --link: write the linked trace"},
        REPAIR_OPTION,
        {"limit", 'n', OPTION_COUNT, &o.limit, "N", "names, or all (50)"},
        FORMAT_OPTION(o.format),
        {NULL, 0, OPTION_FLAG, NULL, NULL, NULL}
    };
    int status, count = options_parse(&et_command, options, argc, argv, &status);
    if (count < 0) return status;
    if (o.path && !o.link) return fail("--output", "it writes the linked trace: --link TRACE");
    if (o.path && file_reads_once(argv[1]))
        return fail(argv[1], "et reads its input twice, so it must be a file");
    execution_trace t = {.path = argv[1]};
    status = examine(&t, &o);
    intern_free(&t.names);
    map_free(&t.by_id);
    map_free(&t.by_rf);
    free(t.nodes);
    return status;
}
