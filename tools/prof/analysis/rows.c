/* The rows of PyTorch's table, made from traces: see rows.h. The trace is loaded (trace.h); then
   its calls go into the sums that make the live table (call_sums_push), each after all that lie in
   it. What lies in no call goes there as it is read. */
#include "analysis/rows.h"

#include <ctype.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/busy.h"
#include "input/losses.h"
#include "input/trace_reader.h"
#include "library.h"

/* What one row is about; compared byte by byte, so zeroed before it is filled. */
typedef struct group_key {
    uint32_t name, shapes, overload, stack, source;
    uint32_t device_type, is_user_annotation, is_legacy;
    uint32_t node;               /* 1 + node id; 0: none */
} group_key;

/* What few calls have: numbered, equal ones once. Zeroed before it is filled: none. */
typedef struct call_more {
    int64_t flops, counters[PROF_COUNTERS];
    int64_t device_ns, cpu_bytes, device_bytes;      /* of a legacy record stream: children's too */
    int64_t has_counters;
} call_more;

static const uint32_t NO_GROUP = UINT32_MAX;

/* ---- What tells rows apart: the key as prof.h groups by it ---- */

static void read_shapes(row_table *t, prof_extra *extra, uint32_t text) {
    const struct interned *shapes = &t->texts.entries[text];
    prof_shape all = shape_read(&t->memory, (trace_text){shapes->text, shapes->size});
    if (!all.items) return;
    extra->input_shapes = all.items;
    extra->input_count = all.count;
}

/* Entries with a semicolon between them, innermost first. */
static void read_stack(row_table *t, prof_extra *extra, uint32_t text) {
    const struct interned *entries = &t->texts.entries[text];
    uint32_t count = 1;
    for (const char *p = entries->text; *p; p++) count += *p == ';';
    const char **stack = arena_allocate(&t->memory, count * sizeof *stack);
    char *copy = arena_text(&t->memory, entries->text, entries->size);
    for (uint32_t i = 0; i < count; i++) {
        char *end = strchr(copy, ';');
        if (end) *end = '\0';
        stack[i] = copy;
        copy += strlen(copy) + 1;
    }
    extra->stack = stack;
    extra->stack_count = count;
}

static uint16_t flags_of(const group_key *key) {
    return (uint16_t)((key->is_user_annotation ? PROF_EVENT_USER_ANNOTATION : 0) |
                      (key->is_legacy ? PROF_EVENT_LEGACY : 0));
}

static uint32_t sums_row(row_table *t, const group_key *key) {
    prof_extra extra = {
        .has = key->node ? PROF_HAS_NODE_ID : 0, .node_id = (int32_t)key->node - 1,
        .overload_name = interned_text(&t->texts, key->overload)
    };
    prof_event event = {
        .name = interned_text(&t->trace.names, key->name), .extra = &extra,
        .device_type = (uint8_t)key->device_type, .flags = flags_of(key)
    };
    if (key->shapes) read_shapes(t, &extra, key->shapes);
    if (key->stack) read_stack(t, &extra, key->stack);
    const prof_site *site = head_site(&t->memory, interned_text(&t->texts, key->source));
    uint32_t row = call_sums_row(t->sums, &event, site);
    if (row == PROF_NONE) exit(fail(NULL, "out of memory"));
    return row;
}

static const group_key *key_of(const row_table *t, uint32_t group) {
    return (const void *)t->groups.entries[group].text;
}

/* (Field by field: what was just written so is read so faster.) */
static bool same_key(const group_key *a, const group_key *b) {
    return a->name == b->name && a->shapes == b->shapes && a->overload == b->overload &&
           a->stack == b->stack && a->source == b->source && a->device_type == b->device_type &&
           a->is_user_annotation == b->is_user_annotation && a->is_legacy == b->is_legacy &&
           a->node == b->node;
}

static uint32_t group_of(row_table *t, const group_key *key) {
    size_t before = t->groups.count;
    GROW_TO(t->last_groups, key->name, t->last_capacity);
    uint32_t *last = &t->last_groups[key->name];     /* mostly the name has it again */
    if (*last && same_key(key_of(t, *last - 1), key)) return *last - 1;
    uint32_t number = intern(&t->groups, (const char *)key, sizeof *key);
    *last = number + 1;
    if (t->groups.count == before) return number;
    GROW(t->group_rows, number, t->group_capacity);
    t->group_rows[number] = sums_row(t, key);
    return number;
}

static uint32_t text_number(row_table *t, trace_text text) {
    return text.size ? intern(&t->texts, text.data, text.size) : 0;
}

/* No inputs are no shapes. */
static trace_text shapes_of(const trace_event *event) {
    const trace_member *arg = trace_shapes(event);
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

/* Where a node of a CUDA graph was captured: its capture tells that, or each of its replays. */
static void note_capture(row_table *t, const trace_event *event) {
    const trace_member *told = trace_arg(event, "captured in");
    int64_t node;
    bool is_new;
    if (!told || !trace_arg_int(event, "graph node id", &node)) return;
    *map_put(&t->captured, (uint64_t)node, &is_new) = text_number(t, decoded(t, told));
}

static uint32_t captured_in(const row_table *t, const trace_event *event) {
    int64_t node;
    uint64_t *text = NULL;
    if (trace_arg_int(event, "graph node id", &node)) text = map_get(&t->captured, (uint64_t)node);
    return text ? (uint32_t)*text : 0;
}

/* The first entries of the argument "Call stack", with semicolons between them or behind each; of
   what a graph ran, the zone that captured it. */
static uint32_t stack_argument(row_table *t, const trace_event *event) {
    if (!t->options->by_stack) return 0;
    const trace_member *told = trace_arg(event, KEY_STACK);
    if (!told) return captured_in(t, event);
    trace_text text = decoded(t, told);
    text.size = text.size ? trace_stack(&t->trace, t->text, text.size) : 0;
    int64_t left = t->options->by_stack;
    size_t size = 0;
    while (size < text.size && (text.data[size] != ';' || --left > 0)) size++;
    if (size && text.data[size - 1] == ';') size--;
    return text_number(t, (trace_text){text.data, size});
}

/* The source that the event tells, else the only one that its name has. */
static uint32_t source_of(row_table *t, const trace_event *event, uint32_t name, bool on_device) {
    const uint64_t *only = NULL;
    if (!t->options->by_site) return 0;
    trace_text told = decoded(t, trace_arg(event, KEY_SOURCE));
    if (!told.size && !on_device) only = map_get(&t->sources, name);
    return only ? (uint32_t)*only : text_number(t, told);
}

/* The sources of names, which the head lists. */
static void note_sources(row_table *t, trace_text head) {
    trace_text list = head_lists_find(head).of[HEAD_SITES];
    char name[HEAD_NAME], source[HEAD_NAME];
    if (!t->options->by_site && !t->options->site_in_name) return;
    while (head_sites_next(&list, name, source)) {
        bool is_new;
        uint32_t text = text_number(t, (trace_text){source, strlen(source)});
        uint32_t number = intern(&t->trace.names, name, strlen(name));
        uint64_t *only = map_put(&t->sources, number, &is_new);
        *only = is_new || *only == text ? text : 0;
    }
}

/* An event of no length may be the first of its row; the changes of memory at its moment, which
   stand at the file's end, may be before it. */
static void note_first(row_table *t, const trace_event *event) {
    if (event->dur_ns) return;
    GROW(t->firsts, t->first_count, t->first_capacity);
    t->firsts[t->first_count++] = (struct row_first){
        event->ts_ns, trace_thread(&t->trace, event), t->order
    };
}

/* Did its timeline end within it? Then the sums in the head have all of it. */
static bool is_partial(const trace_event *event) {
    const trace_member *partial = trace_arg(event, "partial"), *end = trace_arg(event, "finished");
    return partial && end && text_is(partial->value, "true") && text_is(end->value, "false");
}

static uint32_t event_group(row_table *t, const trace_event *event, uint32_t name,
                            uint8_t device_type) {
    bool plain = is_partial(event);    /* as sums have it: without what it carries */
    group_key key = {0};
    key.name = name;
    key.device_type = device_type;
    key.is_user_annotation = !plain && (event->kind == TRACE_ANNOTATION ||
                                        event->kind == TRACE_GPU_ANNOTATION);
    key.is_legacy = trace_arg(event, "is_legacy") != NULL;
    if (t->options->by_shapes && !plain) key.shapes = text_number(t, shapes_of(event));
    if (t->options->by_overload && !plain)
        key.overload = text_number(t, decoded(t, trace_overload(event)));
    if (!plain) key.stack = stack_argument(t, event);
    key.source = source_of(t, event, name, device_type != PROF_DEVICE_CPU);
    int64_t node;
    if (trace_arg_int(event, KEY_NODE, &node)) key.node = (uint32_t)node + 1;
    size_t before = t->groups.count;
    uint32_t number = group_of(t, &key);
    if (t->groups.count > before) note_first(t, event);
    return number;
}

/* ---- Reading ---- */

static bool listed(const text_list *list, const char *text, size_t size) {
    for (size_t i = 0; i < list->count; i++)
        if (strlen(list->items[i]) == size && memcmp(list->items[i], text, size) == 0) return true;
    return false;
}

static bool is_of_pids(const text_list *pids, const trace_event *event) {
    char pid[32];
    int size = snprintf(pid, sizeof pid, "%lld", (long long)event->pid);
    bool text = event->pid_text.size > 0;
    return listed(pids, text ? event->pid_text.data : pid,
                  text ? event->pid_text.size : (size_t)size);
}

/* Does the filter leave this event in the trace? */
static inline bool taken(const row_table *t, const trace_event *event) {
    const row_filter *filter = &t->options->filter;
    if (filter->pids.count && !is_of_pids(&filter->pids, event)) return false;
    return range_holds(&t->trace.range, event->ts_ns);
}

static bool name_matches(row_table *t, uint32_t name) {
    return pattern_finds(&t->name, name, interned_text(&t->trace.names, name));
}

static bool is_usual(uint8_t kind) {
    return kind != TRACE_PYTHON && kind != TRACE_SYNC && kind != TRACE_SPAN;
}

static bool is_listed(const row_table *t, const trace_event *event) {
    return listed(&t->options->filter.categories, event->cat.data, event->cat.size);
}

/* Is it a row? (What is none still stands in the tree.) */
static bool shown(row_table *t, const trace_event *event, uint32_t name) {
    if (t->trace.own && text_is(event->name, "(in sums)")) return false;   /* of others, together */
    if (trace_is_utility(&t->trace, event)) return false;
    bool row = t->options->filter.categories.count ? is_listed(t, event) : is_usual(event->kind);
    return row && taken(t, event) && name_matches(t, name);
}

static const char cuda[] = "CUDA";       /* what a device is that nothing names, as to PyTorch */

static uint8_t type_named(const char *device) {
    return !device || strcmp(device, "CUDA") == 0 ? PROF_DEVICE_CUDA :
           strcmp(device, "XPU") == 0 ? PROF_DEVICE_XPU :
           strcmp(device, "MTIA") == 0 ? PROF_DEVICE_MTIA : PROF_DEVICE_PRIVATEUSE1;
}

/* The device whose library or work this category is of; NULL: it does not tell. */
static const char *device_of_category(const trace_event *event) {
    static const struct { const char *category, *name; } devices[] = {
        {"xpu_runtime", "XPU"}, {"xpu_driver", "XPU"}, {"mtia_runtime", "MTIA"},
        {"glow_runtime", "MTIA"}, {"mtia_ccp_events", "MTIA"}, {"mtia_workloadd", "MTIA"},
        {"mtia_insight", "MTIA"}, {"privateuse1_runtime", "PRIVATEUSE1"},
        {"privateuse1_driver", "PRIVATEUSE1"}, {"cuda_runtime", cuda}, {"cuda_driver", cuda},
        {"Runtime", cuda}
    };
    bool tells = event->kind == TRACE_RUNTIME || event->kind == TRACE_KERNEL;
    for (size_t i = 0; tells && i < sizeof devices / sizeof *devices; i++)
        if (text_is(event->cat, devices[i].category)) return devices[i].name;
    return NULL;
}

/* A kernel's category tells no device. Where its launch stands behind it, the file is read up to
   there: each work of a file is of one type. */
static const char *device_ahead(row_table *t) {
    const char *name = t->view.device_name;
    if ((name && name != cuda) || file_reads_once(t->path)) return name;
    trace_reader *reader = trace_open_plain(t->path);
    for (name = NULL; reader && !name && !reader->format && trace_next(reader) != TRACE_END; )
        if (reader->item == TRACE_EVENT) name = device_of_category(reader->event);
    if (reader) trace_close(reader);
    return name;
}

static uint8_t device_type_of(row_table *t, const trace_event *event) {
    int64_t type;
    if (trace_arg_int(event, KEY_DEVICE_TYPE, &type) && type > 0 &&
        type <= PROF_DEVICE_PRIVATEUSE1)
        return (uint8_t)type;
    if (t->trace.own || t->type_count) return PROF_DEVICE_CUDA;
    if (!t->file_type) t->file_type = type_named(device_ahead(t));
    return t->file_type;
}

/* One more type of devices, behind those of files that list none. The column that all share has the
   name of the only one. */
/* For the head of a column, which prof.h writes as it is told: as a terminal may get it. */
static const char *head_text(row_table *t, const char *text) {
    output plain;
    size_t size;
    output_open_memory(&plain);
    output_plain_text(&plain, text);
    const char *written = output_memory(&plain, &size);
    const char *kept = arena_text(&t->memory, written, size);
    output_discard(&plain);
    return kept;
}

static void list_type(row_table *t, uint8_t type, const char *name) {
    size_t at = 0;
    if (!t->type_count && t->view.device_name)
        t->types[t->type_count++] = type_named(t->view.device_name);
    while (at < t->type_count && t->types[at] != type) at++;
    if (at < t->type_count || at == DEVICE_TYPES) return;
    t->types[t->type_count++] = type;
    t->view.device_name = at ? "device" : head_text(t, name);
}

static void note_device(row_table *t, const trace_event *event) {
    if (!t->options->device) return;
    const char *device = device_of_category(event);
    if (device && device != cuda) t->view.device_name = device;
    if (device) t->file_type = type_named(device);
    bool runs = kind_is_device(event->kind) ||
                (event->phase == 'X' && trace_arg(event, "kernels") != NULL);   /* legacy */
    if (t->type_count && runs) {
        uint8_t type = device_type_of(t, event);
        list_type(t, type, device_type_name(type));
    } else if (!t->view.device_name && runs)
        t->view.device_name = t->trace.own ? device_type_name(device_type_of(t, event)) : cuda;
}

/* What the labels of processes call devices that are no GPU: "NPU", "/device:TPU:0". */
static void note_label(row_table *t, const trace_event *event) {
    static const char *const labels[] = {"XPU", "MTIA", "HPU", "NPU", "TPU"};
    char text[128];
    if (!trace_arg_text(event, text_is(event->name, "process_name") ? "name" : "labels", text,
                        sizeof text)) return;
    const char *device = strstr(text, "/device:"), *rank = strstr(text, ": ");
    const char *label = device ? device + 8 : rank ? rank + 2 : text;
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++) {
        size_t size = strlen(labels[i]);
        if (strncmp(label, labels[i], size) == 0 && !isalpha((unsigned char)label[size]))
            t->device_label = labels[i];
    }
}

static row_device *device_of(row_table *t, int64_t index) {
    bool is_new;
    size_t number = NUMBER_OF(&t->device_numbers, (uint64_t)index, t->devices, t->device_count,
                              t->device_capacity, &is_new);
    if (is_new) t->devices[number] = (row_device){.index = index, .name = ""};
    return &t->devices[number];
}

/* The numbers of devices of further types are their processes'. */
static void add_to_device(row_table *t, const trace_event *event, uint8_t type) {
    int64_t index = event->pid;
    if (t->type_count < 2 || t->types[0] == type) trace_arg_int(event, "device", &index);
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

/* ---- Into the sums ---- */

enum { PARTIAL = PROF_EVENT_UNFINISHED | PROF_EVENT_PARTIAL };

static void push(row_table *t, const call_span *s) {
    call_sums_push(t->sums, s);
    if (t->options->percentiles && s->row != PROF_NONE &&
        !(s->flags & (CALL_HIDDEN | CALL_MEMORY | PROF_EVENT_PARTIAL)))
        durations_add(&t->durations, s->row, s->end_ns - s->start_ns);
}

static const call_more *more_at(const row_table *t, uint32_t number) {
    return (const void *)t->mores.entries[number].text;
}

/* Orders of calls, with room between them for what is none. */
static uint32_t order_of(size_t number) { return 2 * (uint32_t)number + 2; }

/* Python functions that are rows lie in each other, beside the calls. */
static call_span span_of(const row_table *t, uint32_t number) {
    const call *c = &t->trace.calls[number];
    const call_more *more = more_at(t, c->more);
    call_span out = {
        .start_ns = c->start_ns, .end_ns = c->end_ns,
        .thread = 2 * c->thread + (c->kind == TRACE_PYTHON), .row = PROF_NONE,
        .order = order_of(number), .flops = more->flops, .device_ns = more->device_ns,
        .cpu_bytes = more->cpu_bytes, .device_bytes = more->device_bytes,
        .counters = more->has_counters ? more->counters : NULL,
        .flags = (c->is_hidden ? CALL_HIDDEN : 0) | (c->is_partial ? PARTIAL : 0)
    };
    if (c->key == NO_GROUP) return out;
    out.row = t->group_rows[c->key];
    out.flags |= flags_of(key_of(t, c->key));
    return out;
}

/* Runs on a device: it lies in nothing. */
static void add_device_event(row_table *t, const trace_event *event, bool is_work) {
    if (trace_arg(event, KEY_COVER)) return;  /* drawn, no event: of prof.h's */
    uint32_t name = trace_name(&t->trace, event);
    if (event->kind != TRACE_GPU_ANNOTATION && (is_usual(event->kind) || is_listed(t, event)) &&
        range_holds(&t->trace.range, event->ts_ns))
        t->whole_device_ns += event->dur_ns;
    if (!shown(t, event, name)) return;
    uint8_t device_type = device_type_of(t, event);
    if (kind_is_device(event->kind)) add_to_device(t, event, device_type);
    uint32_t group = event_group(t, event, name, device_type);
    call_span work = {
        .start_ns = event->ts_ns, .end_ns = event->ts_ns + event->dur_ns,
        .row = t->group_rows[group], .order = t->order, .flags = flags_of(key_of(t, group))
    };
    if (!t->options->by_stack || t->trace.own || !is_work || key_of(t, group)->stack) {
        push(t, &work);
        return;
    }
    GROW(t->launched, t->launched_count, t->launched_capacity);
    t->launched[t->launched_count++] = (struct row_launched){
        work, (uint32_t)t->trace.work_count - 1, group
    };
}

/* What the event itself says, else, if it was asked for, what its inputs say. */
static int64_t flops_of(row_table *t, const trace_event *event, uint32_t name) {
    int64_t flops;
    if (trace_arg_int(event, KEY_FLOPS, &flops)) {
        t->view.with_flops = true;
        return flops;
    }
    uint32_t number = t->options->with_flops && event->kind == TRACE_CPU_OP
        ? amounts_add(&t->amounts, interned_text(&t->trace.names, name), event) : 0;
    return number ? (int64_t)t->amounts.list[number].flops : 0;
}

/* Calls of a legacy record stream tell all amounts themselves. */
static void read_legacy(row_table *t, const trace_event *event, call_more *more) {
    if (t->options->device) more->device_ns = trace_kernels_ns(event);
    if (!t->options->memory) return;
    trace_arg_int(event, "cpu_memory_usage", &more->cpu_bytes);
    trace_arg_int(event, "device_memory_usage", &more->device_bytes);
    if (more->cpu_bytes || more->device_bytes) t->view.profile_memory = true;
}

static uint32_t more_of(row_table *t, const trace_event *event, uint32_t name) {
    call_more more = {.flops = flops_of(t, event, name)};
    for (int i = 0; i < PROF_COUNTERS && t->view.counters[i]; i++)
        more.has_counters |= trace_arg_int(event, t->view.counters[i], &more.counters[i]);
    bool legacy = trace_arg(event, "is_legacy") != NULL;
    if (legacy) read_legacy(t, event, &more);
    if (!legacy && !more.flops && !more.has_counters) return 0;
    return intern(&t->mores, (const char *)&more, sizeof more);
}

/* ---- Memory ---- */

static bool counts_as_cpu(int32_t type) {
    return type == PROF_DEVICE_CPU || type == PROF_DEVICE_MKLDNN || type == PROF_DEVICE_IDEEP;
}

static bool counts_as_device(int32_t type) {
    return type == PROF_DEVICE_CUDA || type == PROF_DEVICE_HIP || type == PROF_DEVICE_XPU ||
           type == PROF_DEVICE_PRIVATEUSE1;
}

/* In prof.h's own traces all devices have memory, in PyTorch's table some do. */
static bool counts_in_table(const row_table *t, int32_t type) {
    return !counts_as_cpu(type) && (t->trace.own || counts_as_device(type));
}

static void note_memory(row_table *t, const memory_change *change) {
    if (!counts_in_table(t, change->device_type)) return;
    if (t->memory_type && t->memory_ns <= change->ts_ns) return;
    t->memory_type = (uint8_t)change->device_type;
    t->memory_ns = change->ts_ns;
}

int rows_memory_side(const row_table *t, int32_t type) {
    return counts_in_table(t, type) ? 1 : counts_as_cpu(type) ? 0 : -1;
}

static void add_bytes(row_table *t, int64_t sums[2], int32_t type, int64_t bytes) {
    int side = rows_memory_side(t, type);
    if (side >= 0) sums[side] += bytes;
}

static void push_memory(row_table *t, call_span change, const int64_t sums[2]) {
    change.flags |= CALL_MEMORY;
    change.cpu_bytes = sums[0];
    change.device_bytes = sums[1];
    push(t, &change);
}

/* The row of changes outside of every call, one event each. */
static uint32_t change_group(row_table *t, const memory_change *change) {
    group_key key = {0};
    key.name = change->kind == CHANGE_REFUSED ? intern(&t->trace.names, "[OutOfMemory]", 13)
                                              : intern(&t->trace.names, "[memory]", 8);
    bool row = name_matches(t, key.name) && !t->options->filter.categories.count;
    return row ? group_of(t, &key) : NO_GROUP;
}

/* Before what its thread has of no length at its moment; else behind all. */
static uint32_t change_order(const row_table *t, const memory_change *change) {
    uint32_t order = UINT32_MAX;
    for (size_t i = 0; i < t->first_count; i++)
        if (t->firsts[i].ts_ns == change->ts_ns && t->firsts[i].thread >= change->thread &&
            t->firsts[i].order <= order) order = t->firsts[i].order - 1;
    return order;
}

/* What changed in no call is an event of its own. */
static void push_change(row_table *t, const memory_change *c, call_span change) {
    int64_t sums[2] = {0, 0};
    uint32_t group = change.flags & CALL_DEPTH ? NO_GROUP : change_group(t, c);
    change.row = group != NO_GROUP ? t->group_rows[group] : PROF_NONE;
    if (c->kind == CHANGE_MISSED) change.flags |= CALL_HIDDEN;
    add_bytes(t, sums, c->device_type, c->bytes);
    push_memory(t, change, sums);
}

/* What changed in memory within each call itself, of the host and of devices; NULL: nothing. */
static int64_t (*take_changes(row_table *t))[2] {
    const struct trace *trace = &t->trace;
    int64_t (*bytes)[2] = NULL;
    for (size_t i = 0; i < trace->change_count; i++) {
        const memory_change *change = &trace->changes[i];
        uint32_t owner = change->owner;
        if (change->is_legacy) continue;
        t->view.profile_memory = true;
        if (owner == NO_CALL) {
            push_change(t, change, (call_span){
                .start_ns = change->ts_ns, .end_ns = change->ts_ns, .thread = 2 * change->thread,
                .order = change_order(t, change)
            });
            continue;
        }
        if (!bytes) bytes = allocate(trace->call_count * sizeof *bytes);
        while (trace->calls[owner].apart && trace->calls[owner].parent != NO_CALL)
            owner = trace->calls[owner].parent;
        add_bytes(t, bytes[owner], change->device_type, change->bytes);
    }
    return bytes;
}

/* ---- Stacks of the Python functions around calls ---- */

/* The names of the functions, innermost first. */
static uint32_t frames_text(row_table *t, uint32_t frame) {
    char text[8192];
    size_t size = 0;
    int64_t left = t->options->by_stack;
    for (; frame != NO_CALL && left-- > 0; frame = t->trace.calls[frame].parent) {
        const char *name = interned_text(&t->trace.names, t->trace.calls[frame].name);
        int more = snprintf(text + size, sizeof text - size, "%s%s", size ? ";" : "", name);
        if (more < 0 || (size_t)more >= sizeof text - size) break;
        size += (size_t)more;
    }
    return text_number(t, (trace_text){text, size});
}

/* The groups of calls that have no stack of their own: by the functions around them. */
static void group_by_frames(row_table *t) {
    struct trace *trace = &t->trace;
    uint32_t top = NO_CALL, thread = NO_CALL;
    for (size_t i = 0; i < trace->call_count; i++) {
        uint32_t number = trace->order[i];
        call *c = &trace->calls[number];
        if (c->thread != thread) top = NO_CALL;
        thread = c->thread;
        if (c->kind == TRACE_PYTHON) {
            top = number;
            continue;
        }
        top = span_nest_around(&trace->nest, top, c->start_ns, c->start_ns);
        if (top == NO_CALL || c->key == NO_GROUP) continue;
        group_key key = *key_of(t, c->key);
        if (key.stack == 0) key.stack = frames_text(t, top);
        c->key = group_of(t, &key);
    }
}

/* Work that has no stack of its own has that of the op that launched it, as in PyTorch. In prof.h's
   traces it has none, as in the table of the running program. */
static void push_launched(row_table *t) {
    for (size_t i = 0; i < t->launched_count; i++) {
        struct row_launched *w = &t->launched[i];
        uint32_t op = t->trace.works[w->number].owner;
        uint32_t group = op == NO_CALL ? NO_GROUP : t->trace.calls[op].key;
        group_key key = *key_of(t, w->group);
        if (group != NO_GROUP) key.stack = key_of(t, group)->stack;
        uint32_t own = group_of(t, &key);            /* it may move the rows' numbers */
        w->span.row = t->group_rows[own];
        push(t, &w->span);
    }
    t->launched_count = 0;
}

/* ---- Calls ---- */

static void take_call(row_table *t, const trace_event *event) {
    uint32_t number = (uint32_t)t->trace.call_count - 1;
    call *c = &t->trace.calls[number];
    c->apart = c->kind == TRACE_PYTHON && !t->python_rows;
    c->key = NO_GROUP;
    if (c->apart) return;
    c->is_hidden = !shown(t, event, c->name);
    c->is_partial = is_partial(event);
    if (!c->is_hidden || t->options->merge_duplicates || t->options->by_stack)
        c->key = event_group(t, event, c->name, PROF_DEVICE_CPU);
    c->more = more_of(t, event, c->name);
    if (!event->is_async) return;
    call_span range = span_of(t, number);
    range.flags |= PROF_EVENT_ASYNC;
    push(t, &range);
}

static void note_time(row_table *t, const trace_event *event) {
    int64_t end_ns = event->ts_ns + event->dur_ns;
    t->events++;
    if (event->ts_ns < t->file_first_ns) {
        t->file_first_ns = event->ts_ns;
        t->dated_at = event->offset;
    }
    if (end_ns > t->file_last_ns) t->file_last_ns = end_ns;
}

/* ---- Of raw streams, whose zones tell their depth and come each behind all that lie in it ---- */

static call_span streamed_span(const trace_event *event) {
    bool in_none = event->depth == TRACE_IN_NONE;
    return (call_span){
        .start_ns = event->ts_ns, .end_ns = event->ts_ns + event->dur_ns,
        .thread = event->thread, .row = PROF_NONE,
        .depth = in_none ? 0 : (uint32_t)event->depth,
        .flags = event->is_async ? PROF_EVENT_ASYNC : in_none ? 0 : CALL_DEPTH
    };
}

static void find_row(row_table *t, const trace_event *event, uint32_t name, call_span *zone) {
    if (!shown(t, event, name)) zone->flags |= CALL_HIDDEN;
    if (zone->flags & CALL_HIDDEN && !t->options->merge_duplicates) return;
    uint32_t group = event_group(t, event, name, PROF_DEVICE_CPU);
    zone->row = t->group_rows[group];
    zone->flags |= flags_of(key_of(t, group));
}

/* One that carries nothing: as others of its site, unless the filter looks at more. */
static bool of_known_site(row_table *t, const trace_event *event, call_span *zone) {
    const row_filter *filter = &t->options->filter;
    if (!event->site || t->trace.range.parts || filter->pids.count) return false;
    GROW_TO(t->sites, event->site, t->site_capacity);
    struct row_site *site = &t->sites[event->site];
    if (!site->known) {
        find_row(t, event, trace_name(&t->trace, event), zone);
        *site = (struct row_site){true, zone->row, zone->flags};
    }
    zone->row = site->row;
    zone->flags = site->flags;
    return true;
}

static void take_streamed_zone(row_table *t, const trace_event *event) {
    call_span zone = streamed_span(event);
    note_time(t, event);
    if (!of_known_site(t, event, &zone)) {
        uint32_t name = trace_name(&t->trace, event);
        const call_more *more = more_at(t, more_of(t, event, name));
        find_row(t, event, name, &zone);
        if (is_partial(event)) zone.flags |= PARTIAL;
        zone.flops = more->flops;
        zone.counters = more->has_counters ? more->counters : NULL;
    }
    push(t, &zone);
}

static void take_streamed_change(row_table *t, const trace_event *event) {
    memory_change change;
    if (!trace_is_change(&t->trace, event, &change) || !taken(t, event)) return;
    t->view.profile_memory = true;
    note_memory(t, &change);
    push_change(t, &change, streamed_span(event));
}

/* ---- The walk: in the order in which things lie in each other ---- */

/* Of a call's time, what its task did not run. */
static void add_away(row_table *t, const call_span *s, const call *c) {
    const unsigned without = CALL_HIDDEN | PROF_EVENT_ASYNC;    /* a range has no task */
    if (!t->trace.tasks.stretches.count || s->row == PROF_NONE || s->flags & without) return;
    GROW_TO(t->away_ns, s->row, t->away_capacity);
    t->away_ns[s->row] += (uint64_t)trace_away(&t->trace, c).for_tasks_ns;
}

typedef struct row_walk { row_table *table; int64_t (*bytes)[2]; } row_walk;

static void push_call(void *user, uint32_t number, const call_span *made) {
    const row_walk *w = user;
    call_span out = span_of(w->table, number);
    out.flags |= made->flags;
    out.depth = made->depth;
    out.device_ns = made->device_ns;
    out.away_ns = made->away_ns;
    if (w->bytes) {
        call_span changes = {
            .thread = out.thread, .row = PROF_NONE, .depth = out.depth, .flags = CALL_DEPTH
        };
        push_memory(w->table, changes, w->bytes[number]);
    }
    add_away(w->table, &out, &w->table->trace.calls[number]);
    push(w->table, &out);
}

/* ---- The table ---- */

static void take_change(row_table *t, bool inside) {
    const memory_change *change = &t->trace.changes[t->trace.change_count - 1];
    if (inside) note_memory(t, change);
    else t->trace.change_count--;
}

/* All calls are taken: what the filter leaves out still lies in others, and launches work. */
static void add_event(row_table *t, const trace_event *event, trace_kept kept) {
    bool inside = taken(t, event);
    bool named = event->phase == 'M' && text_is(event->name, "thread_name");
    if (named && t->trace.own) trace_thread(&t->trace, event);     /* the library's order */
    if (event->kind == TRACE_TASK) return;
    if (kept == KEPT_CHANGE) take_change(t, inside);
    if (event->phase == 'M') note_label(t, event);
    if (event->phase != 'X') return;
    note_time(t, event);
    t->order = order_of(t->trace.call_count) - (kept == KEPT_CALL ? 2 : 1);
    note_device(t, event);
    if (t->busy && inside && kind_is_device(event->kind)) busy_take(t->busy, event);
    if (kept == KEPT_CALL) {
        take_call(t, event);
        return;
    }
    if (t->options->device || !event->kind) add_device_event(t, event, kept == KEPT_WORK);
}

static void *more_memory(void *user, size_t size) {
    row_table *t = user;
    return arena_allocate(&t->sums_memory, size);
}

/* In a window, shares are of the self times of the calls that begin in it. */
static void note_end(void *user, const call_end *end) {
    row_table *t = user;
    size_t number = (size_t)end->order / 2 - 1;
    bool outside = number < t->trace.call_count && t->trace.calls[number].is_outside;
    if (!outside) t->whole_cpu_ns += end->self_ns;
}

static bool in_window(const row_table *t) {
    const range_options *window = t->options->filter.window;
    return window && range_given(window);
}

static void begin_sums(row_table *t) {
    const row_options *o = t->options;
    static const call_more none;
    call_sums_desc desc = {
        .averages = {o->by_shapes, o->by_overload,
                     o->by_stack > UINT32_MAX ? UINT32_MAX : (uint32_t)o->by_stack, false,
                     o->by_site},
        .merge_duplicates = o->merge_duplicates, .more = more_memory, .user = t
    };
    if (in_window(t)) desc.ended = note_end;
    t->sums = call_sums_open(&desc);
    intern(&t->texts, "", 0);                                        /* number 0: none */
    intern(&t->mores, (const char *)&none, sizeof none);
}

bool rows_begin(row_table *t, const row_options *options) {
    t->options = options;
    t->python_rows = listed(&options->filter.categories, "python_function", 15);
    t->trace.with_works = options->device;
    t->trace.window = options->filter.window;
    t->trace.with_site = options->site_in_name;
    t->trace.by_arg = options->by_arg;
    t->trace.with_python = options->by_stack > 0 || t->python_rows;
    t->trace.with_memory = t->trace.with_refused = options->memory;
    t->view.with_flops = t->amounts.with_flops = options->with_flops;
    begin_sums(t);
    return !options->filter.name || pattern_open(&t->name, options->filter.name);
}

static void note_span(row_table *t, int64_t base_ns, bool is_first) {
    int64_t first = t->file_first_ns + base_ns, last = t->file_last_ns + base_ns;
    if (is_first || first < t->first_ns) t->first_ns = first;
    if (is_first || last > t->last_ns) t->last_ns = last;
}

/* Of a legacy record stream: what its kernels ran on. */
static void name_device(row_table *t, trace_text name) {
    char text[64];
    if (!t->options->device || !json_is_text(name) || json_decode(name, text, sizeof text) < 1)
        return;
    for (char *p = text; *p; p++) *p = (char)toupper((unsigned char)*p);
    t->view.device_name = head_text(t, text);
}

/* What prof.h promises of the events to come: arguments that are counters, types of devices. */
static void note_promises(row_table *t, const losses *head) {
    for (size_t i = 0; t->options->device && i < head->type_count; i++)
        list_type(t, (uint8_t)head->types[i].type, head->types[i].name);
    for (size_t i = 0; i < head->counter_count; i++)
        t->view.counters[i] = head_text(t, head->counters[i]);
}

/* Of what the filter takes by when it was, sums have none. */
static bool takes_sums(row_table *t, uint32_t name) {
    const row_filter *filter = &t->options->filter;
    const text_list *categories = &filter->categories;
    return !t->trace.range.parts && !filter->pids.count && name_matches(t, name) &&
           (!categories->count || listed(categories, "cpu_op", 6));
}

/* A row of sums without a source has that of its name. */
static group_key sums_key(row_table *t, const prof_average *row) {
    group_key key = {
        .name = intern(&t->trace.names, row->key, strlen(row->key)),
        .node = (uint32_t)(row->node_id + 1)
    };
    const uint64_t *only = map_get(&t->sources, key.name);
    char source[HEAD_NAME + 16] = "";
    if (row->site) site_write(row->site, source, sizeof source);
    if (t->options->by_site)
        key.source = row->site || !only ? text_number(t, (trace_text){source, strlen(source)})
                                        : (uint32_t)*only;
    else if (row->site && !(only && *only))          /* it has several */
        key.name = trace_name_at(&t->trace, key.name, (trace_text){source, strlen(source)});
    return key;
}

static void take_sums(row_table *t, const char *path, trace_text head) {
    head_sums sums = {0};
    head_sums_read(&sums, head, t->options->by_site || t->options->site_in_name);
    for (size_t i = 0; i < sums.count; i++) {
        prof_average *row = &sums.rows[i];
        group_key key = sums_key(t, row);
        uint32_t group = takes_sums(t, key.name) ? group_of(t, &key) : NO_GROUP;
        if (sums.timeline) row->p50_ns = row->p90_ns = row->p99_ns = 0;      /* the rest is there */
        t->view.estimated |= row->p50_ns != 0;
        call_sums_add(t->sums, group == NO_GROUP ? PROF_NONE : t->group_rows[group], row);
    }
    t->summed += sums.count;
    if (sums.odd)
        warn(path, "%llu rows of the sums in its head make no sense, left out",
             (unsigned long long)sums.odd);
    head_sums_free(&sums);
}

static void note_head(row_table *t, const trace_reader *reader) {
    const trace_event *event = reader->event;
    bool meta = reader->item == TRACE_EVENT && event->phase == 'M';
    bool array = meta && text_is(event->name, "prof");
    bool head = reader->item == TRACE_MEMBER && text_is(reader->member.key, "prof");
    if (head || array) note_promises(t, reader->losses);
    if (head || array) note_sources(t, head ? reader->member.value : event->args_text);
    if (head || (meta && text_is(event->name, "prof counts")))
        take_sums(t, reader->path, head ? reader->member.value : event->args_text);
}

static void note_item(row_table *t, const trace_reader *reader) {
    note_head(t, reader);
    if (reader->item != TRACE_MEMBER) return;
    if (t->on_member) t->on_member(t->user, &reader->member);
    if (text_is(reader->member.key, "profile_memory"))
        t->view.profile_memory = t->options->memory && text_is(reader->member.value, "1");
    if (text_is(reader->member.key, "deviceProperties")) name_devices(t, reader->member.value);
    if (text_is(reader->member.key, "use_device")) name_device(t, reader->member.value);
}

static void begin_file(row_table *t, const char *path) {
    t->file_first_ns = INT64_MAX;
    t->file_last_ns = INT64_MIN;
    t->first_count = t->site_capacity = 0;
    t->file_type = 0;
    t->path = path;
    free(t->sites);
    t->sites = NULL;
    map_free(&t->sources);
    call_sums_next(t->sums);
}

/* All events of the file are there. */
static void end_file(row_table *t) {
    if (t->memory_type && !t->view.device_name && t->options->device)
        t->view.device_name = device_type_name(t->memory_type);
    t->memory_ns = INT64_MIN;                    /* the first file's counts */
    row_walk w = {.table = t};
    t->had_tasks |= t->trace.tasks.stretches.count > 0;
    trace_nest(&t->trace);
    contexts_add(&t->contexts, &t->trace);
    trace_own(&t->trace);
    doubts_end_file(&t->doubts, &t->trace);
    if (t->options->by_stack) group_by_frames(t);
    push_launched(t);
    w.bytes = take_changes(t);
    trace_walk(&t->trace, push_call, &w);
    free(w.bytes);
    t->overlaps += t->trace.nest.overlaps;
    t->unowned += t->trace.range.parts ? 0 : t->trace.unowned;   /* launched before it */
    t->ambiguous += t->trace.ambiguous;
    t->kernels += t->trace.work_count;
}

static void take(void *user, trace_reader *reader, trace_kept kept) {
    row_table *t = user;
    const trace_event *event = reader->event;
    bool is_event = reader->item == TRACE_EVENT;
    bool streamed = is_event && t->trace.as_ended && event->depth != TRACE_NO_DEPTH;
    if (!streamed) note_item(t, reader);
    if (!is_event) return;
    t->instants += event->phase == 'i' || event->phase == 'I' || event->phase == 'R';
    t->counters += event->phase == 'C';
    if (t->options->by_stack) note_capture(t, event);
    if (!streamed) doubts_take(&t->doubts, event);
    if (!streamed) add_event(t, event, kept);
    else if (event->phase == 'X') take_streamed_zone(t, event);
    else take_streamed_change(t, event);
    if (t->on_event && (event->phase == 'M' || taken(t, event))) t->on_event(t->user, event);
}

int rows_read(row_table *t, const char *path) {
    if (t->busy) busy_next_file(t->busy, path);
    uint64_t events = t->events, summed = t->summed;
    begin_file(t, path);
    t->instants = t->counters = 0;
    t->trace.as_ended = !in_window(t);
    int status = trace_load(&t->trace, path, take, t);
    end_file(t);
    bool nothing = t->events == events && t->summed == summed;
    if (nothing && !t->trace.ended_early && t->instants + t->counters)
        warn(path, "there are no complete events in it, only instants (%llu) and values of "
                   "counters (%llu), which take no time",
             (unsigned long long)t->instants, (unsigned long long)t->counters);
    else if (nothing && !t->trace.ended_early)
        warn(path, "there are no complete events in it");
    else if (t->events > events) note_span(t, t->trace.base_ns, events == 0);
    t->base_ns = t->trace.base_ns;
    if (t->events > events && t->base_ns) t->dated_at = t->trace.base_offset;
    trace_clear(&t->trace);
    return status;
}

/* The number that the row had before they were closed: by what made it. */
static uint32_t number_of(row_table *t, const prof_average *row) {
    prof_extra extra = {
        .has = row->node_id >= 0 ? PROF_HAS_NODE_ID : 0, .node_id = row->node_id,
        .overload_name = row->overload_name, .input_shapes = row->input_shapes,
        .input_count = row->input_count == PROF_NONE ? 0 : row->input_count,
        .stack = row->stack, .stack_count = row->stack_count
    };
    prof_event event = {
        .name = row->key, .extra = &extra, .device_type = row->device_type,
        .flags = (uint16_t)((row->is_user_annotation ? PROF_EVENT_USER_ANNOTATION : 0) |
                            (row->is_legacy ? PROF_EVENT_LEGACY : 0))
    };
    return call_sums_row(t->sums, &event, row->site);
}

bool rows_percentiles(row_table *t, const prof_average *row, const unsigned *percents,
                      size_t count, int64_t *ns) {
    uint32_t number = number_of(t, row);
    if (durations_count(&t->durations, number) != row->count) return false;
    durations_percentiles(&t->durations, number, percents, count, ns);
    return true;
}

/* As in the live table of calls that are all in sums. */
static bool sums_tell_percentiles(const row_table *t) {
    for (size_t i = 0; i < t->count; i++)
        if (!t->rows[i].p99_ns && t->rows[i].max_ns > 0) return false;
    return true;
}

/* Exact ones where all calls are there; of those in sums alone what the sums tell. */
static void set_percentiles(row_table *t) {
    static const unsigned percents[] = {0, 50, 90, 99, 100};
    bool unasked = !t->options->percentiles && !sums_tell_percentiles(t);
    for (size_t i = 0; i < t->count; i++) {
        prof_average *row = &t->rows[i];
        if (unasked) row->p50_ns = row->p90_ns = row->p99_ns = 0;
        if (!t->options->percentiles) continue;
        int64_t ns[5] = {row->min_ns, row->p50_ns, row->p90_ns, row->p99_ns, row->max_ns};
        rows_percentiles(t, row, percents, 5, ns);
        row->min_ns = ns[0], row->p50_ns = ns[1], row->p90_ns = ns[2];
        row->p99_ns = ns[3], row->max_ns = ns[4];
    }
}

static void set_on_cpu(row_table *t) {
    for (size_t i = 0; i < t->count; i++) {
        prof_average *row = &t->rows[i];
        uint32_t number = number_of(t, row);
        uint64_t away_ns = number < t->away_capacity ? t->away_ns[number] : 0;
        row->on_cpu_ns = (int64_t)((uint64_t)row->cpu_time_total_ns - away_ns);
    }
}

void rows_finish(row_table *t) {
    t->count = call_sums_close(t->sums, NULL, 0);
    t->rows = allocate((t->count + 1) * sizeof *t->rows);
    call_sums_close(t->sums, t->rows, t->count);
    if (t->view.device_name == cuda && t->device_label) t->view.device_name = t->device_label;
    call_sums_stats stats = call_sums_get_stats(t->sums);
    if (!in_window(t)) t->whole_cpu_ns = stats.self_cpu_time_total_ns;
    set_percentiles(t);
    if (t->had_tasks && !t->options->merge_duplicates) set_on_cpu(t);
}

bool rows_filtered(const row_table *t) {
    const row_filter *filter = &t->options->filter;
    return filter->categories.count || filter->pids.count || filter->name || in_window(t);
}

void rows_free(row_table *t) {
    trace_free(&t->trace);
    intern_free(&t->groups);
    intern_free(&t->texts);
    intern_free(&t->mores);
    map_free(&t->captured);
    arena_free(&t->sums_memory);
    free(t->away_ns);
    doubts_free(&t->doubts);
    contexts_free(&t->contexts);
    free(t->group_rows);
    free(t->last_groups);
    free(t->firsts);
    free(t->launched);
    free(t->sites);
    arena_free(&t->memory);
    amounts_free(&t->amounts);
    free(t->text);
    free(t->rows);
    free(t->devices);
    durations_free(&t->durations);
    map_free(&t->device_numbers);
    map_free(&t->sources);
    pattern_close(&t->name);
    memset(t, 0, sizeof *t);
}

/* ---- Notes ---- */

static void add_note(arena *memory, text_list *notes, const char *format, ...) PRINTF_LIKE(3, 4);

static void add_note(arena *memory, text_list *notes, const char *format, ...) {
    char text[256];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    notes->items = reallocate(notes->items, (notes->count + 1) * sizeof *notes->items);
    notes->items[notes->count++] = arena_text(memory, text, (size_t)size);
}

/* Functions whose calls take less time than timing them does: as the table of the running program
   has it, which knows the functions that were instrumented. */
static void note_short(const row_table *t, arena *memory, text_list *notes) {
    enum { CALLS = 1000000, SHORT_NS = 50, MOST = 4 };
    char text[200] = "", names[200] = "";
    for (size_t i = 0, count = 0; t->trace.own && i < t->count && count < MOST; i++) {
        const prof_average *row = &t->rows[i];
        uint64_t mean = row->count < CALLS ? SHORT_NS
                                           : (uint64_t)row->cpu_time_total_ns / row->count;
        size_t used = strlen(text), named = strlen(names), size = strlen(row->key);
        if (mean >= SHORT_NS || used + size + 40 > sizeof text || strchr(row->key, ',') ||
            row->device_type != PROF_DEVICE_CPU || row->is_async) continue;
        int added = snprintf(text + used, sizeof text - used, "%s%s (%llu calls of %llu ns)",
                             count ? ", " : "", row->key, (unsigned long long)row->count,
                             (unsigned long long)mean);
        if (added < 0 || (size_t)added >= sizeof text - used) {
            text[used] = 0;              /* no half of one */
            break;
        }
        snprintf(names + named, sizeof names - named, "%s%s", count++ ? "," : "", row->key);
    }
    if (!*text) return;
    add_note(memory, notes, "Timing these takes longer than they do: %s.", text);
    add_note(memory, notes, "If they are instrumented functions: prof record --exclude '%s'.",
             names);
}

text_list rows_notes(const row_table *table, arena *memory) {
    text_list notes = {0};
    note_short(table, memory, &notes);
    if (table->summed && table->options->merge_duplicates)
        add_note(memory, &notes, "Duplicates among zones that are in sums alone are not merged.");
    if (table->overlaps)
        add_note(memory, &notes, "%llu calls begin in one call and end after it: self times are "
                 "off by as much.", (unsigned long long)table->overlaps);
    if (table->ambiguous)
        add_note(memory, &notes, "%llu kernels and copies have ids that calls of several processes "
                 "have: they count for none of those.", (unsigned long long)table->ambiguous);
    if (table->unowned > table->ambiguous)
        add_note(memory, &notes,
                 "%llu of the trace's %llu kernels and copies belong to no call in it.",
                 (unsigned long long)(table->unowned - table->ambiguous),
                 (unsigned long long)table->kernels);
    for (size_t i = 0; i < table->doubts.lines.count; i++)
        add_note(memory, &notes, "%s", table->doubts.lines.items[i]);
    return notes;
}

void rows_tell(const char *path, const text_list *notes) {
    for (size_t i = 0; i < notes->count; i++) warn(path, "%s", notes->items[i]);
}
