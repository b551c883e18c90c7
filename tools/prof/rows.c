/* The rows of PyTorch's table, made from traces: see rows.h. */
#include "rows.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "span_sorter.h"

/* What one row is about; compared byte by byte, so zeroed before it is filled. */
typedef struct group_key {
    uint32_t name, shapes, overload, stack;
    uint32_t device_type, is_user_annotation, is_legacy;
    uint32_t node;               /* 1 + node id; 0: none */
} group_key;

/* Where PyTorch puts a row: by its first event, (start, -end), then as they stand in the file;
   memory, which stands at its end, before what the thread has of no length then. */
typedef struct row_first {
    int64_t start_ns, end_ns, tid;
    uint64_t sequence;
    uint32_t file;
    bool is_memory, taken;       /* taken: what the row has of its first event is in it */
} row_first;

/* ---- Shapes and stacks as the rows hold them ---- */

static void read_shapes(row_table *t, prof_average *row, const char *text, size_t size) {
    prof_shape all = shape_read(&t->memory, (trace_text){text, size});
    if (all.items) {
        row->input_shapes = all.items;
        row->input_count = all.count;
    }
}

/* text: entries with a semicolon between them, innermost first. */
static void read_stack(row_table *t, prof_average *row, const char *text) {
    uint32_t count = 1;
    for (const char *p = text; *p; p++) count += *p == ';';
    const char **stack = arena_allocate(&t->memory, count * sizeof *stack);
    char *copy = arena_text(&t->memory, text, strlen(text));
    for (uint32_t i = 0; i < count; i++) {
        char *end = strchr(copy, ';');
        if (end) *end = '\0';
        stack[i] = copy;
        copy += strlen(copy) + 1;
    }
    row->stack = stack;
    row->stack_count = count;
}

/* ---- Groups ---- */

static uint32_t group_of(row_table *t, const group_key *key) {
    size_t before = t->groups.count;
    uint32_t number = intern(&t->groups, (const char *)key, sizeof *key);
    if (t->groups.count == before) return number;
    if (t->count == t->capacity) {
        t->capacity = t->capacity ? t->capacity * 2 : 64;
        t->rows = reallocate(t->rows, t->capacity * sizeof *t->rows);
    }
    GROW(t->firsts, t->count, t->first_capacity);
    t->firsts[t->count] = (row_first){.start_ns = INT64_MAX, .file = t->file};
    prof_average *row = &t->rows[t->count++];
    memset(row, 0, sizeof *row);
    row->key = interned_text(&t->tree.names, key->name);
    row->min_ns = INT64_MAX;
    row->first = number;
    row->node_id = (int32_t)key->node - 1;
    row->parent = PROF_NONE;
    row->device_type = (uint8_t)key->device_type;
    row->is_user_annotation = key->is_user_annotation != 0;
    row->is_legacy = key->is_legacy != 0;
    row->overload_name = key->overload ? interned_text(&t->texts, key->overload) : "";
    if (key->shapes) {
        const struct interned *shapes = &t->texts.entries[key->shapes];
        read_shapes(t, row, shapes->text, shapes->size);
    }
    if (key->stack) read_stack(t, row, interned_text(&t->texts, key->stack));
    return number;
}

static uint32_t text_number(row_table *t, trace_text text) {
    return text.size ? intern(&t->texts, text.data, text.size) : 0;
}

/* No inputs are no shapes. */
static trace_text shapes_of(const trace_event *event) {
    const trace_member *arg = trace_arg(event, "Input Dims");
    if (!arg) arg = trace_arg(event, "Input dims");
    return arg && !text_is(arg->value, "[]") ? arg->value : (trace_text){"", 0};
}

/* The decoded text of an argument, valid until the next one. */
static trace_text decoded(row_table *t, const trace_member *arg) {
    if (!arg || !json_is_text(arg->value)) return (trace_text){"", 0};
    if (arg->value.size > t->text_capacity) {      /* as bad UTF-8, a byte may become three */
        t->text_capacity = arg->value.size;
        t->text = reallocate(t->text, 3 * t->text_capacity + 1);
    }
    return (trace_text){t->text, json_decode(arg->value, t->text, 3 * t->text_capacity + 1)};
}

/* The first entries of the argument "Call stack", with semicolons between them or behind each. */
static uint32_t stack_argument(row_table *t, const trace_event *event) {
    if (!t->options->by_stack) return 0;
    trace_text text = decoded(t, trace_arg(event, "Call stack"));
    int64_t left = t->options->by_stack;
    size_t size = 0;
    while (size < text.size && (text.data[size] != ';' || --left > 0)) size++;
    if (size && text.data[size - 1] == ';') size--;
    return text_number(t, (trace_text){text.data, size});
}

static bool is_before(const row_first *a, const row_first *b) {
    if (a->file != b->file) return a->file < b->file;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns;
    if (a->end_ns != b->end_ns) return a->end_ns > b->end_ns;
    if (a->is_memory != b->is_memory)
        return a->tid != b->tid ? a->tid < b->tid : a->is_memory;
    return a->sequence < b->sequence;
}

/* An event of a row: is it its first one so far? */
static void note_first(row_table *t, uint32_t number, int64_t start_ns, int64_t dur_ns,
                       int64_t tid, bool is_memory) {
    row_first this = {
        .start_ns = start_ns, .end_ns = start_ns + dur_ns, .tid = tid, .sequence = t->sequence++,
        .file = t->file, .is_memory = is_memory
    };
    if (is_before(&this, &t->firsts[number])) t->firsts[number] = this;
}

static uint32_t event_group(row_table *t, const trace_event *event, uint32_t name,
                            uint8_t device_type) {
    group_key key = {0};
    key.name = name;
    key.device_type = device_type;
    key.is_user_annotation = event->kind == TRACE_ANNOTATION || event->kind == TRACE_GPU_ANNOTATION;
    key.is_legacy = trace_arg(event, "is_legacy") != NULL;
    if (t->options->by_shapes) key.shapes = text_number(t, shapes_of(event));
    if (t->options->by_overload)
        key.overload = text_number(t, decoded(t, trace_overload(event)));
    key.stack = stack_argument(t, event);
    int64_t node;
    if (trace_arg_int(event, "Node ID", &node)) key.node = (uint32_t)node + 1;
    uint32_t number = group_of(t, &key);
    note_first(t, number, event->ts_ns, event->dur_ns, event->tid, false);
    return number;
}

/* ---- Reading ---- */

static bool listed(const text_list *list, const char *text, size_t size) {
    for (size_t i = 0; i < list->count; i++)
        if (strlen(list->items[i]) == size && memcmp(list->items[i], text, size) == 0) return true;
    return false;
}

/* Does the filter leave this event in the trace? */
static bool taken(const row_table *t, const trace_event *event) {
    const row_filter *filter = &t->options->filter;
    if (filter->pids.count) {
        char pid[32];
        int size = snprintf(pid, sizeof pid, "%lld", (long long)event->pid);
        bool text = event->pid_text.size > 0;
        if (!listed(&filter->pids, text ? event->pid_text.data : pid,
                    text ? event->pid_text.size : (size_t)size)) return false;
    }
    return !filter->by_time ||
           (event->ts_ns >= filter->from_ns && event->ts_ns < filter->to_ns);
}

static bool name_matches(row_table *t, uint32_t name) {
    if (!t->has_name) return true;
    if (name >= t->name_capacity) {
        size_t before = t->name_capacity;
        t->name_capacity = (size_t)name * 2 + 64;
        t->name_matches = reallocate(t->name_matches, t->name_capacity);
        memset(t->name_matches + before, 0, t->name_capacity - before);
    }
    char *known = &t->name_matches[name];
    if (!*known)
        *known = regexec(&t->name, interned_text(&t->tree.names, name), 0, NULL, 0) ? 'n' : 'y';
    return *known == 'y';
}

static bool is_usual(uint8_t kind) {
    return kind != TRACE_PYTHON && kind != TRACE_SYNC && kind != TRACE_SPAN;
}

static bool is_listed(const row_table *t, const trace_event *event) {
    return listed(&t->options->filter.categories, event->cat.data, event->cat.size);
}

/* Is it a row? (What is none still stands in the tree.) */
static bool shown(row_table *t, const trace_event *event, uint32_t name) {
    bool row = t->options->filter.categories.count ? is_listed(t, event) : is_usual(event->kind);
    return row && taken(t, event) && name_matches(t, name);
}

static uint8_t device_type_of(const row_table *t, const trace_event *event) {
    int64_t type;
    if (trace_arg_int(event, "Device Type", &type) && type > 0 && type <= PROF_DEVICE_PRIVATEUSE1)
        return (uint8_t)type;
    if (t->own) return PROF_DEVICE_CUDA;
    const char *device = t->view.device_name;
    return !device || strcmp(device, "CUDA") == 0 ? PROF_DEVICE_CUDA :
           strcmp(device, "XPU") == 0 ? PROF_DEVICE_XPU :
           strcmp(device, "MTIA") == 0 ? PROF_DEVICE_MTIA : PROF_DEVICE_PRIVATEUSE1;
}

static void note_device(row_table *t, const trace_event *event) {
    static const struct { const char *category, *name; } devices[] = {
        {"xpu_runtime", "XPU"}, {"mtia_runtime", "MTIA"}, {"privateuse1_runtime", "PRIVATEUSE1"}
    };
    if (!t->options->device) return;
    for (size_t i = 0; event->kind == TRACE_RUNTIME && i < sizeof devices / sizeof *devices; i++)
        if (text_is(event->cat, devices[i].category)) t->view.device_name = devices[i].name;
    bool runs = kind_is_device(event->kind) ||
                (event->phase == 'X' && trace_arg(event, "kernels") != NULL);   /* legacy */
    if (!t->view.device_name && runs)
        t->view.device_name = t->own ? prof_device_name(device_type_of(t, event)) : "CUDA";
}

static row_device *device_of(row_table *t, int64_t index) {
    bool is_new;
    uint64_t *number = map_put(&t->device_numbers, (uint64_t)index, &is_new);
    if (!is_new) return &t->devices[*number];
    GROW(t->devices, t->device_count, t->device_capacity);
    *number = t->device_count++;
    t->devices[*number] = (row_device){.index = index, .name = ""};
    return &t->devices[*number];
}

static void add_to_device(row_table *t, const trace_event *event) {
    int64_t index = event->pid;
    trace_arg_int(event, "device", &index);
    row_device *device = device_of(t, index);
    device->count++;
    device->ns += event->dur_ns;
}

static void name_devices(row_table *t, trace_text properties) {
    trace_text key, device, member, value;
    while (json_next(&properties, &key, &device)) {
        char name[128] = "";
        int64_t index = 0;
        while (json_next(&device, &member, &value)) {
            if (text_is(member, "id")) json_int(value, &index);
            else if (text_is(member, "name")) json_decode(value, name, sizeof name);
        }
        device_of(t, index)->name = arena_text(&t->memory, name, strlen(name));
    }
}

/* Runs on a device: its row needs no tree. */
static void add_device_event(row_table *t, const trace_event *event) {
    if (trace_arg(event, "cover")) return;         /* drawn, no event: of prof.h's */
    uint32_t name = tree_name(&t->tree, event);
    if (event->kind != TRACE_GPU_ANNOTATION && (is_usual(event->kind) || is_listed(t, event)))
        t->whole_device_ns += event->dur_ns;
    if (!shown(t, event, name)) return;
    if (kind_is_device(event->kind)) add_to_device(t, event);
    uint32_t number = event_group(t, event, name, device_type_of(t, event));
    prof_average *row = &t->rows[number];
    row->count++;
    row->device_time_total_ns += event->dur_ns;
    row->self_device_time_total_ns += event->dur_ns;
    row->min_ns = 0;
}

/* What the event itself says, else, if it was asked for, what its inputs say. */
static int64_t flops_of(row_table *t, const trace_event *event, uint32_t name) {
    int64_t flops;
    if (trace_arg_int(event, "Flops", &flops)) {
        t->view.with_flops = true;
        return flops;
    }
    uint32_t number = t->options->with_flops && event->kind == TRACE_CPU_OP
        ? amounts_add(&t->amounts, interned_text(&t->tree.names, name), event) : 0;
    return number ? (int64_t)t->amounts.list[number].flops : 0;
}

/* FLOPs and counters of the call that was added last. */
static void note_amounts(row_table *t, const trace_event *event) {
    size_t last = t->tree.count - 1;
    int64_t flops = flops_of(t, event, t->tree.calls[last].name), count;
    for (; flops && t->flops_count <= last; t->flops_count++) {
        GROW(t->call_flops, t->flops_count, t->flops_capacity);
        t->call_flops[t->flops_count] = t->flops_count == last ? flops : 0;
    }
    for (int i = 0; i < PROF_COUNTERS && t->view.counters[i]; i++) {
        if (!trace_arg_int(event, t->view.counters[i], &count)) continue;
        for (; t->counts_count <= last; t->counts_count++) {
            GROW(t->call_counts, t->counts_count, t->counts_capacity);
            memset(t->call_counts[t->counts_count], 0, sizeof *t->call_counts);
        }
        t->call_counts[last][i] = count;
    }
}

/* Frames of the Python functions around a call, innermost first. */
static uint32_t frames_of(row_table *t, const call *c) {
    char text[8192];
    size_t size = 0;
    uint32_t frame = c->frame;
    for (int64_t n = 0; n < t->options->by_stack && frame != NO_CALL; n++) {
        const char *name = interned_text(&t->tree.names, t->tree.calls[frame].name);
        int more = snprintf(text + size, sizeof text - size, "%s%s", size ? ";" : "", name);
        if (more < 0 || (size_t)more >= sizeof text - size) break;
        size += (size_t)more;
        frame = t->tree.calls[frame].parent;
    }
    return text_number(t, (trace_text){text, size});
}

/* The row of a call, with its Python frames where it is grouped by them. */
static prof_average *row_of(row_table *t, const call *c) {
    uint32_t number = c->key;
    if (t->options->by_stack && c->frame != NO_CALL && c->kind != TRACE_PYTHON) {
        group_key key;
        memcpy(&key, t->groups.entries[c->key].text, sizeof key);
        if (key.stack == 0) key.stack = frames_of(t, c);
        number = group_of(t, &key);          /* may move the rows */
        note_first(t, number, c->start_ns, c->dur_ns, t->tree.threads[c->thread].tid, false);
    }
    return &t->rows[number];
}

static void count_call(row_table *t, prof_average *row, int64_t start_ns, int64_t ns,
                       bool is_child, bool is_async) {
    row_first *first = &t->firsts[row - t->rows];
    if (!first->taken && start_ns == first->start_ns && start_ns + ns == first->end_ns) {
        row->parent = is_child ? 0 : PROF_NONE;
        row->is_async = is_async;
        first->taken = true;
    }
    row->count++;
    row->cpu_time_total_ns += ns;
    if (ns < row->min_ns) row->min_ns = ns;
    if (ns > row->max_ns) row->max_ns = ns;
}

/* Is a call of the same row around it? */
static bool is_recursive(const call_tree *tree, const call *c) {
    for (uint32_t p = c->parent; p != NO_CALL; p = tree->calls[p].parent)
        if (tree->calls[p].key == c->key && !tree->calls[p].merged) return true;
    return false;
}

/* The row that a call counts in; NULL: in none. */
static prof_average *row_counting(row_table *t, uint32_t number) {
    const call *calls = t->tree.calls;
    while (number != NO_CALL && calls[number].merged) number = calls[number].parent;
    return number == NO_CALL || calls[number].key == NO_CALL ? NULL : row_of(t, &calls[number]);
}

static void add_counts(row_table *t, const call *c) {
    size_t number = (size_t)(c - t->tree.calls);
    if (number >= t->counts_count) return;
    prof_average *up = row_counting(t, c->parent), *row = row_of(t, c);
    for (int i = 0; i < PROF_COUNTERS; i++) {
        row->counters[i] += t->call_counts[number][i];
        row->self_counters[i] += t->call_counts[number][i];
        if (up) up->self_counters[i] -= t->call_counts[number][i];
    }
}

static void add_call_to_row(row_table *t, const call *c) {
    if (c->key == NO_CALL || c->merged) return;
    size_t number = (size_t)(c - t->tree.calls);
    prof_average *row = row_of(t, c);
    count_call(t, row, c->start_ns, c->dur_ns, c->is_child, c->is_async);
    row->is_recursive = row->is_recursive || is_recursive(&t->tree, c);
    if (number < t->flops_count) row->flops += t->call_flops[number];
    row->self_cpu_time_total_ns += c->self_ns;
    row->device_time_total_ns += c->device_ns;
    row->self_device_time_total_ns += c->device_self_ns;
    add_counts(t, c);
}

/* ---- Memory ---- */

static bool counts_as_cpu(int32_t type) {
    return type == PROF_DEVICE_CPU || type == PROF_DEVICE_MKLDNN || type == PROF_DEVICE_IDEEP;
}

static bool counts_as_device(int32_t type) {
    return type == PROF_DEVICE_CUDA || type == PROF_DEVICE_HIP || type == PROF_DEVICE_XPU ||
           type == PROF_DEVICE_PRIVATEUSE1;
}

static void add_change(prof_average *row, int32_t device_type, int64_t bytes, bool is_self) {
    if (counts_as_cpu(device_type)) {
        if (is_self) row->self_cpu_memory_usage += bytes;
        else row->cpu_memory_usage += bytes;
    } else {
        if (is_self) row->self_device_memory_usage += bytes;
        else row->device_memory_usage += bytes;
    }
}

/* Does it count? In prof.h's own traces all devices have memory, in PyTorch's table some do. */
static bool counts(row_table *t, int32_t device_type) {
    if (counts_as_cpu(device_type)) return true;
    if (!t->own && !counts_as_device(device_type)) return false;
    if (!t->view.device_name && t->options->device)
        t->view.device_name = prof_device_name((uint8_t)device_type);
    return true;
}

/* Changes outside of every call: rows of their own, one event each. */
static void add_free_change(row_table *t, const memory_change *change) {
    group_key key = {0};
    key.name = change->kind == CHANGE_REFUSED ? intern(&t->tree.names, "[OutOfMemory]", 13)
                                              : intern(&t->tree.names, "[memory]", 8);
    if (!name_matches(t, key.name) || t->options->filter.categories.count) return;
    uint32_t number = group_of(t, &key);
    prof_average *row = &t->rows[number];
    note_first(t, number, change->ts_ns, 0, t->tree.threads[change->thread].tid, true);
    row->count += change->kind != CHANGE_MISSED;
    row->min_ns = 0;
    if (!counts(t, change->device_type)) return;
    add_change(row, change->device_type, change->bytes, true);
    add_change(row, change->device_type, change->bytes, false);
}

static void add_own(prof_average *row, int64_t cpu_bytes, int64_t device_bytes) {
    if (!row) return;
    row->self_cpu_memory_usage += cpu_bytes;
    row->self_device_memory_usage += device_bytes;
}

/* Calls of a legacy record stream tell their memory themselves. */
static void add_legacy_memory(row_table *t) {
    for (size_t i = 0; t->tree.legacy && i < t->tree.count; i++) {
        const call *c = &t->tree.calls[i];
        const legacy_amounts *own = &t->tree.legacy[i];
        if (!c->is_legacy || !(own->cpu_bytes || own->device_bytes)) continue;
        t->view.profile_memory = true;
        prof_average *row = c->merged ? NULL : row_counting(t, (uint32_t)i);
        if (row) row->cpu_memory_usage += own->cpu_bytes;
        if (row) row->device_memory_usage += own->device_bytes;
        if (c->is_async) continue;
        add_own(row_counting(t, (uint32_t)i), own->cpu_bytes, own->device_bytes);
        add_own(row_counting(t, c->parent), -own->cpu_bytes, -own->device_bytes);
    }
}

static void add_memory(row_table *t) {
    const call_tree *tree = &t->tree;
    if (t->options->memory) add_legacy_memory(t);
    if (tree->change_count == 0) return;
    t->view.profile_memory = true;
    int64_t (*sums)[2] = allocate(tree->count * sizeof *sums);      /* host, device */
    for (size_t i = 0; i < tree->change_count; i++) {
        const memory_change *change = &tree->changes[i];
        int side = counts_as_cpu(change->device_type) ? 0 : 1;
        if (change->is_legacy) continue;
        if (change->owner == NO_CALL) add_free_change(t, change);
        else if (counts(t, change->device_type)) sums[change->owner][side] += change->bytes;
    }
    for (size_t i = tree->count; i-- > 0; ) {
        uint32_t number = tree->order[i];
        const call *c = &tree->calls[number];
        if (c->parent != NO_CALL && c->kind != TRACE_PYTHON)
            for (int side = 0; side < 2; side++) sums[c->parent][side] += sums[number][side];
    }
    for (size_t i = 0; i < tree->count; i++) {
        const call *c = &tree->calls[i];
        if (c->key == NO_CALL || c->merged) continue;
        prof_average *row = row_of(t, c);
        row->cpu_memory_usage += sums[i][0];
        row->device_memory_usage += sums[i][1];
    }
    for (size_t i = 0; i < tree->change_count; i++) {
        const memory_change *change = &tree->changes[i];
        bool takes = !change->is_legacy && counts(t, change->device_type);
        prof_average *row = takes ? row_counting(t, change->owner) : NULL;
        if (row) add_change(row, change->device_type, change->bytes, true);
    }
    free(sums);
}

/* ---- Lean: calls go through the sorter, and only those that are open are held ---- */

enum { NO_ROW = INT32_MAX };

/* Keeps the times and the row of a call, or a change of memory; false: it is neither. */
static bool add_lean(row_table *t, const trace_event *event) {
    span s = {.start_ns = event->ts_ns};
    memory_change change;
    if (tree_takes_change(&t->tree, event, &change)) {
        s.amount = change.bytes;
        s.what = -1 - (change.kind << 8 | (change.device_type & 255));
    } else if (tree_takes(&t->tree, event)) {
        uint32_t name = tree_name(&t->tree, event);
        bool row = shown(t, event, name);
        s.amount = event->dur_ns;
        s.what = row ? (int32_t)event_group(t, event, name, PROF_DEVICE_CPU) : NO_ROW;
        if (row && event->is_async)
            count_call(t, &t->rows[s.what], event->ts_ns, event->dur_ns, false, true);
        if (event->is_async) return true;
        if (row) t->rows[s.what].flops += flops_of(t, event, name);
    } else {
        return false;
    }
    s.thread = tree_thread(&t->tree, event);
    sorter_add(t->lean, &s);
    return true;
}

typedef struct open_span { int64_t end_ns; int32_t row; } open_span;

typedef struct lean_walk {
    open_span *open;
    size_t depth, capacity;
    uint32_t thread;
} lean_walk;

static void enter_span(row_table *t, lean_walk *w, const span *s) {
    int64_t end_ns = s->start_ns + s->amount;
    t->overlaps += w->depth && w->open[w->depth - 1].end_ns < end_ns;
    while (w->depth && w->open[w->depth - 1].end_ns < end_ns) w->depth--;
    if (!w->depth) t->whole_cpu_ns += s->amount;     /* the sum of all self times within */
    int32_t parent = w->depth ? w->open[w->depth - 1].row : NO_ROW;
    if (parent != NO_ROW) t->rows[parent].self_cpu_time_total_ns -= s->amount;
    if (s->what != NO_ROW) {
        count_call(t, &t->rows[s->what], s->start_ns, s->amount, w->depth > 0, false);
        t->rows[s->what].self_cpu_time_total_ns += s->amount;
        for (size_t i = w->depth; i-- > 0 && !t->rows[s->what].is_recursive; )
            t->rows[s->what].is_recursive = w->open[i].row == s->what;
    }
    GROW(w->open, w->depth, w->capacity);
    w->open[w->depth++] = (open_span){end_ns, s->what};
}

static void change_in_span(row_table *t, lean_walk *w, const span *s) {
    int32_t type = (-1 - s->what) & 255;
    t->view.profile_memory = true;
    memory_change change = {
        .ts_ns = s->start_ns, .bytes = s->amount, .thread = s->thread, .device_type = type,
        .kind = (uint8_t)((-1 - s->what) >> 8)
    };
    if (w->depth == 0) add_free_change(t, &change);
    if (!counts(t, type)) return;
    for (size_t i = 0; i < w->depth; i++) {
        if (w->open[i].row == NO_ROW) continue;
        add_change(&t->rows[w->open[i].row], type, s->amount, false);
        if (i + 1 == w->depth) add_change(&t->rows[w->open[i].row], type, s->amount, true);
    }
}

/* The same as tree_build and what follows it. */
static void walk_lean(row_table *t) {
    lean_walk w = {.thread = NO_CALL};
    span s;
    sorter_finish(t->lean);
    while (sorter_next(t->lean, &s)) {
        if (s.thread != w.thread) w.depth = 0;
        w.thread = s.thread;
        while (w.depth && w.open[w.depth - 1].end_ns <= s.start_ns) w.depth--;
        if (s.what < 0) change_in_span(t, &w, &s);
        else enter_span(t, &w, &s);
    }
    free(w.open);
    sorter_free(t->lean);
    t->lean = NULL;
}

static void walk_calls(row_table *t) {
    bool python = listed(&t->options->filter.categories, "python_function", 15);
    tree_build(&t->tree, t->options->merge_duplicates);
    for (size_t i = 0; i < t->tree.count; i++) {
        const call *c = &t->tree.calls[t->tree.order[i]];
        if (!c->merged && (python || c->kind != TRACE_PYTHON)) t->whole_cpu_ns += c->self_ns;
        add_call_to_row(t, c);
    }
    add_memory(t);
}

/* ---- The table ---- */

/* The tree has all calls: what the filter leaves out still lies in others, and owns kernels. */
static void add_event(row_table *t, const trace_event *event) {
    bool inside = taken(t, event);
    if (!inside && event->phase != 'X') return;
    if (event->phase == 'X') {
        t->events++;
        int64_t end_ns = event->ts_ns + event->dur_ns;
        if (event->ts_ns < t->file_first_ns) {
            t->file_first_ns = event->ts_ns;
            t->dated_at = event->offset;
        }
        if (end_ns > t->file_last_ns) t->file_last_ns = end_ns;
    }
    if (t->lean && add_lean(t, event)) return;
    note_device(t, event);
    call *new_call = tree_add(&t->tree, event);
    if (new_call) {
        bool row = shown(t, event, new_call->name);
        new_call->outside = !inside;
        new_call->key = row ? event_group(t, event, new_call->name, PROF_DEVICE_CPU) : NO_CALL;
        note_amounts(t, event);
    } else if (event->phase == 'X' && (t->options->device || !event->kind)) {
        add_device_event(t, event);
    }
}

bool rows_begin(row_table *t, const row_options *options) {
    t->options = options;
    intern(&t->texts, "", 0);                                        /* number 0: none */
    t->tree.without_kernels = !options->device;
    t->tree.with_python = options->by_stack > 0 ||
                          listed(&options->filter.categories, "python_function", 15);
    t->tree.with_memory = t->tree.with_refused = options->memory;
    t->view.with_flops = t->amounts.with_flops = options->with_flops;
    if (!options->filter.name) return true;
    t->has_name = regcomp(&t->name, options->filter.name, REG_EXTENDED | REG_NOSUB) == 0;
    if (!t->has_name)
        fail("--name", "'%s' is not an extended regular expression", options->filter.name);
    return t->has_name;
}

static void note_span(row_table *t, const trace_reader *reader, bool is_first) {
    int64_t first = t->file_first_ns + reader->base_time_ns;
    int64_t last = t->file_last_ns + reader->base_time_ns;
    if (is_first || first < t->first_ns) t->first_ns = first;
    if (is_first || last > t->last_ns) t->last_ns = last;
    if (reader->base_time_ns) t->dated_at = reader->base_offset;
}

/* Of a legacy record stream: what its kernels ran on. */
static void name_device(row_table *t, trace_text name) {
    char text[64];
    if (!t->options->device || !json_is_text(name) || json_decode(name, text, sizeof text) < 1)
        return;
    for (char *p = text; *p; p++) *p = (char)toupper((unsigned char)*p);
    t->view.device_name = arena_text(&t->memory, text, strlen(text));
}

/* What prof.h promises of the events to come: arguments that are counters, and that times do not
   tell all of the tree. Both ask for the calls themselves. */
static void note_head(row_table *t, const trace_reader *reader) {
    bool array = reader->item == TRACE_EVENT && reader->event.phase == 'M' &&
                 text_is(reader->event.name, "prof");
    bool head = reader->item == TRACE_MEMBER && text_is(reader->member.key, "prof");
    trace_text rest = array ? reader->event.args_text : reader->member.value, key, value, name;
    t->own |= head || array;
    while ((head || array) && json_next(&rest, &key, &value)) {
        bool counters = text_is(key, "counters");
        if (!counters && !text_is(key, "zone_ids")) continue;
        if (t->lean) sorter_free(t->lean);
        t->lean = NULL;
        for (int i = 0; counters && i < PROF_COUNTERS && json_next(&value, &key, &name); i++) {
            char text[256];
            json_decode(name, text, sizeof text);
            t->view.counters[i] = arena_text(&t->memory, text, strlen(text));
        }
    }
}

int rows_read(row_table *t, const char *path) {
    trace_reader *reader = trace_open(path);
    if (!reader) return EXIT_BAD;
    uint64_t events = t->events;
    if (!t->tree.with_python && !t->options->device && !t->options->merge_duplicates && !t->on_tree)
        t->lean = sorter_new();
    t->file_first_ns = INT64_MAX;
    t->file_last_ns = INT64_MIN;
    t->flops_count = t->counts_count = 0;
    t->own = false;
    while (trace_next(reader) != TRACE_END) {
        note_head(t, reader);
        if (reader->item == TRACE_MEMBER && text_is(reader->member.key, "profile_memory"))
            t->view.profile_memory = t->options->memory && text_is(reader->member.value, "1");
        if (reader->item == TRACE_MEMBER && text_is(reader->member.key, "deviceProperties"))
            name_devices(t, reader->member.value);
        if (reader->item == TRACE_MEMBER && text_is(reader->member.key, "use_device"))
            name_device(t, reader->member.value);
        if (reader->item != TRACE_EVENT) continue;
        add_event(t, &reader->event);
        if (t->on_event && taken(t, &reader->event)) t->on_event(t->user, &reader->event);
    }
    if (t->lean) walk_lean(t);
    else walk_calls(t);
    if (t->on_tree) t->on_tree(t->user, &t->tree);
    if (t->events == events && !reader->failed && !reader->empty && !reader->truncated)
        warn(path, "there are no complete events in it");
    else if (t->events > events) note_span(t, reader, events == 0);
    t->overlaps += t->tree.overlaps;
    t->unowned += t->tree.unowned;
    t->kernels += t->tree.kernel_count;
    t->file++;
    tree_clear(&t->tree);
    return trace_close(reader);
}

static bool row_before(uint32_t a, uint32_t b, const void *context) {
    const row_first *firsts = context;
    return is_before(&firsts[a], &firsts[b]);
}

/* In the order in which PyTorch would have seen them. */
void rows_finish(row_table *t) {
    uint32_t *order = allocate((t->count + 1) * sizeof *order);
    prof_average *rows = allocate((t->count + 1) * sizeof *rows);
    size_t kept = 0;                      /* grouping by stack leaves rows without events */
    for (uint32_t i = 0; i < t->count; i++)
        if (t->rows[i].count) order[kept++] = i;
    sort_numbers(order, kept, row_before, t->firsts);
    for (uint32_t i = 0; i < kept; i++) {
        rows[i] = t->rows[order[i]];
        rows[i].first = i;
    }
    free(t->rows);
    free(order);
    t->rows = rows;
    t->count = kept;
}

bool rows_filtered(const row_table *t) {
    const row_filter *filter = &t->options->filter;
    return filter->categories.count || filter->pids.count || filter->name || filter->by_time;
}

void rows_free(row_table *t) {
    tree_free(&t->tree);
    intern_free(&t->groups);
    intern_free(&t->texts);
    arena_free(&t->memory);
    amounts_free(&t->amounts);
    free(t->call_flops);
    free(t->call_counts);
    free(t->firsts);
    free(t->text);
    free(t->name_matches);
    free(t->rows);
    free(t->devices);
    map_free(&t->device_numbers);
    if (t->has_name) regfree(&t->name);
    memset(t, 0, sizeof *t);
}
