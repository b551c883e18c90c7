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
} group_key;

/* ---- Shapes and stacks as the rows hold them ---- */

static void read_shapes(row_table *t, prof_average *row, const char *text, size_t size) {
    prof_shape all = shape_read(&t->memory, (trace_text){text, size});
    if (all.items) {
        row->input_shapes = all.items;
        row->input_count = all.count;
    }
}

/* text: lines, innermost first. */
static void read_stack(row_table *t, prof_average *row, const char *text) {
    uint32_t count = 1;
    for (const char *p = text; *p; p++) count += *p == '\n';
    const char **stack = arena_allocate(&t->memory, count * sizeof *stack);
    char *copy = arena_text(&t->memory, text, strlen(text));
    for (uint32_t i = 0; i < count; i++) {
        char *end = strchr(copy, '\n');
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
    prof_average *row = &t->rows[t->count++];
    memset(row, 0, sizeof *row);
    row->key = interned_text(&t->tree.names, key->name);
    row->min_ns = INT64_MAX;
    row->first = number;
    row->node_id = -1;
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

static trace_text shapes_of(const trace_event *event) {
    const trace_member *arg = trace_arg(event, "Input Dims");
    if (!arg) arg = trace_arg(event, "Input dims");
    return arg ? arg->value : (trace_text){"", 0};
}

/* The first entries of the argument "Call stack", which ends each with a semicolon. */
static uint32_t stack_argument(row_table *t, const trace_event *event) {
    char text[8192];
    if (!t->options->by_stack || !trace_arg_text(event, "Call stack", text, sizeof text)) return 0;
    int64_t left = t->options->by_stack;
    char *p = text;
    for (; *p; p++) {
        if (*p != ';') continue;
        if (--left == 0) break;
        *p = '\n';
    }
    return text_number(t, (trace_text){text, (size_t)(p - text)});
}

static uint32_t event_group(row_table *t, const trace_event *event, uint32_t name,
                            uint8_t device_type) {
    group_key key = {0};
    char overload[256];
    key.name = name;
    key.device_type = device_type;
    key.is_user_annotation = event->kind == TRACE_ANNOTATION || event->kind == TRACE_GPU_ANNOTATION;
    key.is_legacy = trace_arg(event, "is_legacy") != NULL;
    if (t->options->by_shapes) key.shapes = text_number(t, shapes_of(event));
    if (t->options->by_overload &&
        (trace_arg_text(event, "Overload name", overload, sizeof overload) ||
         trace_arg_text(event, "overload_name", overload, sizeof overload)))
        key.overload = text_number(t, (trace_text){overload, strlen(overload)});
    key.stack = stack_argument(t, event);
    return group_of(t, &key);
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

static uint8_t device_type_of(const row_table *t) {
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
    if (!t->view.device_name && runs) t->view.device_name = "CUDA";
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
    uint32_t name = intern(&t->tree.names, event->name.data, event->name.size);
    if (event->kind != TRACE_GPU_ANNOTATION && (is_usual(event->kind) || is_listed(t, event)))
        t->whole_device_ns += event->dur_ns;
    if (!shown(t, event, name)) return;
    if (kind_is_device(event->kind)) add_to_device(t, event);
    uint32_t number = event_group(t, event, name, device_type_of(t));
    prof_average *row = &t->rows[number];
    row->count++;
    row->device_time_total_ns += event->dur_ns;
    row->self_device_time_total_ns += event->dur_ns;
    row->min_ns = 0;
}

static void note_amount(row_table *t, const trace_event *event) {
    GROW(t->call_amounts, t->tree.count - 1, t->amount_capacity);
    t->call_amounts[t->tree.count - 1] = event->kind == TRACE_CPU_OP
        ? amounts_add(&t->amounts, NULL, event) : 0;
}

/* Frames of the Python functions around a call, innermost first. */
static uint32_t frames_of(row_table *t, const call *c) {
    char text[8192];
    size_t size = 0;
    uint32_t frame = c->frame;
    for (int64_t n = 0; n < t->options->by_stack && frame != NO_CALL; n++) {
        const char *name = interned_text(&t->tree.names, t->tree.calls[frame].name);
        int more = snprintf(text + size, sizeof text - size, "%s%s", size ? "\n" : "", name);
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
    }
    return &t->rows[number];
}

static void count_call(prof_average *row, int64_t ns, bool is_child) {
    if (row->count++ == 0) row->parent = is_child ? 0 : PROF_NONE;
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

static void add_call_to_row(row_table *t, const call *c) {
    if (c->key == NO_CALL || c->merged) return;
    prof_average *row = row_of(t, c);
    count_call(row, c->dur_ns, c->is_child);
    row->is_recursive = row->is_recursive || is_recursive(&t->tree, c);
    if (t->options->with_flops) {
        uint32_t number = t->call_amounts[c - t->tree.calls];
        if (number) row->flops += (int64_t)t->amounts.list[number].flops;
    }
    row->self_cpu_time_total_ns += c->self_ns;
    row->device_time_total_ns += c->device_ns;
    row->self_device_time_total_ns += c->device_self_ns;
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
    } else if (counts_as_device(device_type)) {
        if (is_self) row->self_device_memory_usage += bytes;
        else row->device_memory_usage += bytes;
    }
}

/* Changes outside of every call: rows of their own, one event each. */
static void add_free_change(row_table *t, int32_t device_type, int64_t bytes) {
    group_key key = {0};
    key.name = intern(&t->tree.names, "[memory]", 8);
    if (!name_matches(t, key.name) || t->options->filter.categories.count) return;
    uint32_t number = group_of(t, &key);
    prof_average *row = &t->rows[number];
    row->count++;
    row->min_ns = 0;
    add_change(row, device_type, bytes, true);
    add_change(row, device_type, bytes, false);
}

/* The row that a call counts in; NULL: in none. */
static prof_average *row_counting(row_table *t, uint32_t number) {
    const call *calls = t->tree.calls;
    while (number != NO_CALL && calls[number].merged) number = calls[number].parent;
    return number == NO_CALL || calls[number].key == NO_CALL ? NULL : row_of(t, &calls[number]);
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
        if (change->owner == NO_CALL) add_free_change(t, change->device_type, change->bytes);
        else if (side == 0 || counts_as_device(change->device_type))
            sums[change->owner][side] += change->bytes;
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
        prof_average *row = change->is_legacy ? NULL : row_counting(t, change->owner);
        if (row) add_change(row, change->device_type, change->bytes, true);
    }
    free(sums);
}

/* ---- Lean: calls go through the sorter, and only those that are open are held ---- */

enum { NO_ROW = INT32_MAX };

/* Keeps the times and the row of a call, or a change of memory; false: it is neither. */
static bool add_lean(row_table *t, const trace_event *event) {
    span s = {.start_ns = event->ts_ns};
    if (event->phase == 'i' && t->tree.with_memory && text_is(event->name, "[memory]")) {
        int64_t type = 0;
        if (!trace_arg_int(event, "Bytes", &s.amount)) return true;
        trace_arg_int(event, "Device Type", &type);
        s.what = -1 - (int32_t)(type & 255);
    } else if (tree_takes(&t->tree, event)) {
        uint32_t name = intern(&t->tree.names, event->name.data, event->name.size);
        bool row = shown(t, event, name);
        s.amount = event->dur_ns;
        s.what = row ? (int32_t)event_group(t, event, name, PROF_DEVICE_CPU) : NO_ROW;
        if (row && event->is_async) count_call(&t->rows[s.what], event->dur_ns, false);
        if (event->is_async) return true;
        uint32_t number = row && t->options->with_flops && event->kind == TRACE_CPU_OP
            ? amounts_add(&t->amounts, NULL, event) : 0;
        if (number) t->rows[s.what].flops += (int64_t)t->amounts.list[number].flops;
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
        count_call(&t->rows[s->what], s->amount, w->depth > 0);
        t->rows[s->what].self_cpu_time_total_ns += s->amount;
        for (size_t i = w->depth; i-- > 0 && !t->rows[s->what].is_recursive; )
            t->rows[s->what].is_recursive = w->open[i].row == s->what;
    }
    GROW(w->open, w->depth, w->capacity);
    w->open[w->depth++] = (open_span){end_ns, s->what};
}

static void change_in_span(row_table *t, lean_walk *w, const span *s) {
    int32_t type = -1 - s->what;
    t->view.profile_memory = true;
    if (w->depth == 0) add_free_change(t, type, s->amount);
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
        if (t->options->with_flops) note_amount(t, event);
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
    t->tree.with_memory = options->memory;
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

int rows_read(row_table *t, const char *path) {
    trace_reader *reader = trace_open(path);
    if (!reader) return EXIT_BAD;
    uint64_t events = t->events;
    if (!t->tree.with_python && !t->options->device && !t->options->merge_duplicates && !t->on_tree)
        t->lean = sorter_new();
    t->file_first_ns = INT64_MAX;
    t->file_last_ns = INT64_MIN;
    while (trace_next(reader) != TRACE_END) {
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
    tree_clear(&t->tree);
    return trace_close(reader);
}

void rows_finish(row_table *t) {
    size_t kept = 0;                      /* grouping by stack leaves rows without events */
    for (size_t i = 0; i < t->count; i++)
        if (t->rows[i].count) t->rows[kept++] = t->rows[i];
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
    free(t->call_amounts);
    free(t->name_matches);
    free(t->rows);
    free(t->devices);
    map_free(&t->device_numbers);
    if (t->has_name) regfree(&t->name);
    memset(t, 0, sizeof *t);
}
