/* prof memory: what memory was used for, over time, from a trace's [memory] events from PyTorch's
   memory snapshots or its raw memory timeline. */
#include "base/text.h"
#include "input/losses.h"
#include "input/trace_reader.h"
#include "page/report_page.h"
#include "trace/trace.h"

#include <stdlib.h>
#include <string.h>

static int run(int argc, char **argv);

const command memory_command = {
    "memory", "[OPTION]... TRACE", "memory over time: the peak, who holds it, an interactive plot",
    "  prof memory trace.json.gz\n"
    "      for each device: the peak, when it was, what was in use before\n"
    "  prof memory --by op trace.json\n"
    "      the ops that hold the memory at the peak\n"
    "  prof memory -o memory.html trace.json\n"
    "      a page with a plot by category: drag to zoom, click on names to hide them\n"
    "  prof memory --by stack snapshot.pickle\n"
    "      what torch.cuda.memory._dump_snapshot wrote: the stacks that hold it\n"
    "  prof memory --device cuda:0 -o memory.raw.json.gz trace.json\n"
    "      as PyTorch's export_memory_timeline: .json, .raw.json, .html, each also\n"
    "      .gz\n\n"
    "The trace must have been recorded with profile_memory=True. If it tells the\n"
    "category of blocks (prof.h's prof_memory_category), that is used. If it tells\n"
    "none, prof infers the category from the calls that allocate and free a block:\n"
    "  optimizer state  allocated in Optimizer.step, and outlives it\n"
    "  input            allocated in a DataLoader\n"
    "  gradient         allocated in the backward pass, and outlives it\n"
    "  autograd detail  allocated in the backward pass, freed by another node of it\n"
    "  activation       allocated before the backward pass, freed in it\n"
    "  temporary        allocated and freed before the backward pass\n"
    "  unknown          older than the recording, or none of these (parameters)\n"
    "A raw timeline of PyTorch's own (memory.raw.json.gz) holds the true ones.\n", run, 1, 1
};

static const char *const device_names[] = {
    "cpu", "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip", "fpga", "maia", "xla", "vulkan",
    "metal", "xpu", "mps", "meta", "hpu", "ve", "lazy", "ipu", "mtia", "privateuseone"
};

enum {                          /* PyTorch's numbers */
    MEMORY_PARAMETER, MEMORY_OPTIMIZER_STATE, MEMORY_INPUT, MEMORY_TEMPORARY, MEMORY_ACTIVATION,
    MEMORY_GRADIENT, MEMORY_AUTOGRAD_DETAIL, MEMORY_UNKNOWN, MEMORY_CATEGORIES
};
static const char *const memory_category_names[MEMORY_CATEGORIES] = {
    "parameter", "optimizer state", "input", "temporary", "activation", "gradient",
    "autograd detail", "unknown"
};

enum { PREEXISTING = 1, CREATE, INCREMENT_VERSION, DESTROY };      /* PyTorch's numbers */

typedef struct step {           /* a change of what is allocated on a device */
    int64_t ns, bytes;
    uint32_t device, op;        /* op: the call that allocated it, in names; or NO_CALL */
    uint8_t action, category;
} step;

/* What the calls around a change tell of it; inherited from the outside in. Ends of the innermost
   Optimizer.step and node of the backward pass around it, INT64_MIN: there is none. */
typedef struct surroundings {
    int64_t optimizer_end_ns, node_end_ns;
    bool loader;
} surroundings;

typedef struct memory_device {
    char name[32];
    int32_t type, index;
    uint64_t allocations, frees;
    bool has_total;
    int64_t before, unknown_frees;       /* allocated before the recording, */
    int64_t told_before;                 /* block by block */
    int64_t peak, peak_ns, end;
    uint64_t peak_step;                  /* the sums up to and with it are the peak */
} memory_device;

enum { FORMAT_RAW = FORMAT_HTML + 1, FORMAT_BY_NAME };

typedef struct memory_options {
    const range_options *window;
    enum { BY_DEVICE, BY_CATEGORY, BY_OP, BY_STACK } by;
    unsigned format;             /* table_format, or one of these */
    const char *device, *path;
    int64_t limit;
} memory_options;

typedef struct memory_trace {
    struct trace trace;         /* more of a call: what it inherits, in contexts */
    struct detail {             /* of changes; INT64_MIN: unknown */
        int64_t address, total;
        uint32_t op;            /* of its call stack; or NO_CALL */
        bool before;            /* it was there before the recording */
    } *details;
    size_t detail_capacity;
    surroundings *contexts;     /* 0: none */
    size_t context_count, context_capacity;
    step *steps;                /* in the order of time */
    size_t count, capacity, before;      /* before: so many were allocated before the recording */
    bool tells_categories, was_on;       /* was_on: the head says that memory was recorded */
    bool by_stack;              /* ops of call stacks are whole */
    memory_device *devices;
    size_t device_count, device_capacity;
    map device_numbers;
} memory_trace;

static const surroundings no_context = {INT64_MIN, INT64_MIN, false};

static bool earlier(uint32_t a, uint32_t b, const void *context) {
    const memory_change *changes = context;
    return changes[a].ts_ns < changes[b].ts_ns;
}

/* The next step of a device from *at on; NULL: there is none. */
static const step *next_step(const memory_trace *m, uint32_t device, size_t *at) {
    while (*at < m->count && m->steps[*at].device != device) ++*at;
    return *at < m->count ? &m->steps[(*at)++] : NULL;
}

static step *add_step(memory_trace *m, step s) {
    GROW(m->steps, m->count, m->capacity);
    m->steps[m->count] = s;
    return &m->steps[m->count++];
}

/* ---- Reading a trace ---- */

/* "OPTIMIZER_STATE"; MEMORY_UNKNOWN: none is told. */
static uint8_t told_category(const trace_event *event) {
    char told[32];
    if (!trace_arg_text(event, KEY_CATEGORY, told, sizeof told)) return MEMORY_UNKNOWN;
    for (uint8_t i = 0; i < MEMORY_UNKNOWN; i++) {
        const char *p = told, *name = memory_category_names[i];
        while (*name && (lower_case(*p) == *name || (*p == '_' && *name == ' '))) p++, name++;
        if (!*p && !*name) return i;
    }
    return MEMORY_UNKNOWN;
}

static uint32_t device_of(memory_trace *m, int32_t type, int32_t index) {
    bool is_new;
    uint64_t key = (uint64_t)(uint32_t)type << 32 | (uint32_t)index;
    size_t number = NUMBER_OF(&m->device_numbers, key, m->devices, m->device_count,
                              m->device_capacity, &is_new);
    memory_device *device = &m->devices[number];
    if (!is_new) return (uint32_t)number;
    *device = (memory_device){.type = type, .index = index};
    bool known = type >= 0 && (size_t)type < sizeof device_names / sizeof *device_names;
    int size = known ? snprintf(device->name, sizeof device->name, "%s", device_names[type])
                     : snprintf(device->name, sizeof device->name, "type%d", (int)type);
    if (index >= 0)
        snprintf(device->name + size, sizeof device->name - (size_t)size, ":%d", (int)index);
    return (uint32_t)number;
}

static bool starts_with(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

static bool inherits(memory_trace *m, const call *c, surroundings *own) {
    const char *name = interned_text(&m->trace.names, c->name);
    bool optimizer = starts_with(name, "Optimizer.step");
    bool node = starts_with(name, "autograd::engine::evaluate_function");
    bool loader = starts_with(name, "enumerate(DataLoader)");
    *own = m->contexts[c->parent == NO_CALL ? 0 : m->trace.calls[c->parent].more];
    if (optimizer) own->optimizer_end_ns = c->end_ns;
    if (node) own->node_end_ns = c->end_ns;
    own->loader |= loader;
    return !optimizer && !node && !loader;
}

/* Of each call, what a change in it inherits; few calls add to what is around them. */
static void find_contexts(memory_trace *m) {
    GROW(m->contexts, m->context_count, m->context_capacity);
    m->contexts[m->context_count++] = no_context;
    for (size_t i = 0; i < m->trace.call_count; i++) {
        call *c = &m->trace.calls[m->trace.tree[i]];
        surroundings own;
        c->more = c->parent == NO_CALL ? 0 : m->trace.calls[c->parent].more;
        if (c->is_async || inherits(m, c, &own)) continue;
        GROW(m->contexts, m->context_count, m->context_capacity);
        c->more = (uint32_t)m->context_count;
        m->contexts[m->context_count++] = own;
    }
}

static const surroundings *context_of(const memory_trace *m, const memory_change *change) {
    return &m->contexts[change->owner == NO_CALL ? 0 : m->trace.calls[change->owner].more];
}

static uint32_t op_of(const memory_trace *m, uint32_t change) {
    uint32_t owner = m->trace.changes[change].owner;
    return owner == NO_CALL ? m->details[change].op : m->trace.calls[owner].name;
}

/* freed: where that was; NULL with free_ns INT64_MAX: nobody has freed it. */
static uint8_t category_of(const memory_trace *m, const memory_change *from,
                           const surroundings *freed, int64_t free_ns) {
    const surroundings *at = context_of(m, from);
    if (m->tells_categories) return from->key;
    bool in_node = freed && freed->node_end_ns != INT64_MIN;
    if (at->optimizer_end_ns != INT64_MIN)
        return free_ns <= at->optimizer_end_ns ? MEMORY_TEMPORARY : MEMORY_OPTIMIZER_STATE;
    if (at->loader) return MEMORY_INPUT;
    if (at->node_end_ns != INT64_MIN) {
        if (free_ns <= at->node_end_ns) return MEMORY_TEMPORARY;
        return in_node ? MEMORY_AUTOGRAD_DETAIL : MEMORY_GRADIENT;
    }
    if (in_node) return MEMORY_ACTIVATION;
    return free_ns == INT64_MAX ? MEMORY_UNKNOWN : MEMORY_TEMPORARY;
}

static void note_total(memory_device *device, const memory_change *e, int64_t total) {
    if (device->has_total || total == INT64_MIN) return;
    device->has_total = true;
    device->before = total - e->bytes - (device->end - device->unknown_frees);
}

/* What is allocated: its change and its step, by device and address. */
typedef struct block { uint32_t change, step; } block;

/* false: it frees nothing that is known. */
static bool take_free(memory_trace *m, uint32_t number, step *s, const block *known) {
    const memory_change *e = &m->trace.changes[number];
    memory_device *device = &m->devices[s->device];
    const memory_change *from = known ? &m->trace.changes[known->change] : NULL;
    bool told = m->details[number].address != INT64_MIN;
    bool fits = told && from && from->bytes == -e->bytes;
    device->frees++;
    if (!told && device->end < device->unknown_frees)
        device->unknown_frees = device->end;     /* legacy records: the least that was there */
    if (told && !fits) device->unknown_frees += e->bytes;
    if (!fits) return false;
    s->category = category_of(m, from, context_of(m, e), e->ts_ns);
    s->op = op_of(m, known->change);
    m->steps[known->step].category = s->category;
    return true;
}

/* Makes a step of each change, in order of time; pairs each free with its allocation. */
static void pair_changes(memory_trace *m) {
    map open = {0};                              /* (device, address) -> 1 + its index in blocks */
    block *blocks = allocate((m->trace.change_count + 1) * sizeof *blocks);
    uint32_t *order = sorted_numbers(m->trace.change_count, earlier, m->trace.changes);
    for (size_t i = 0; i < m->trace.change_count; i++) {
        const memory_change *e = &m->trace.changes[order[i]];
        const struct detail *where = &m->details[order[i]];
        uint32_t number = device_of(m, e->device_type, e->device_index);
        memory_device *device = &m->devices[number];
        uint64_t *slot = map_put(&open, hash_mix((uint64_t)where->address) + number + 1, NULL);
        step s = {.ns = e->ts_ns, .bytes = e->bytes, .device = number, .op = NO_CALL,
                  .action = e->bytes < 0 ? DESTROY : CREATE, .category = MEMORY_UNKNOWN};
        note_total(device, e, where->total);
        device->end += e->bytes;
        if (e->bytes < 0) {
            if (take_free(m, order[i], &s, *slot ? &blocks[*slot - 1] : NULL)) *slot = 0;
        } else {
            s.op = op_of(m, order[i]);
            if (where->before) {
                s.ns = -1;
                s.action = PREEXISTING;
                device->told_before += e->bytes;
                m->before++;
            } else {
                device->allocations++;
            }
            blocks[i] = (block){order[i], (uint32_t)m->count};
            *slot = i + 1;
        }
        add_step(m, s);
    }
    for (size_t i = 0; i < open.slot_count; i++) {
        if (!open.slots[i].value) continue;
        const block *left = &blocks[open.slots[i].value - 1];
        m->steps[left->step].category =
            category_of(m, &m->trace.changes[left->change], NULL, INT64_MAX);
    }
    free(order);
    free(blocks);
    map_free(&open);
}

/* What was allocated before the recording stands first, as PyTorch has it. */
static void add_preexisting(memory_trace *m) {
    for (uint32_t i = 0; i < m->device_count; i++) {
        memory_device *device = &m->devices[i];
        if (device->before < -device->unknown_frees) device->before = -device->unknown_frees;
        int64_t bytes = device->before;
        device->before += device->told_before;
        if (bytes <= 0) continue;
        add_step(m, (step){0});
        memmove(m->steps + m->before + 1, m->steps + m->before,
                (m->count - 1 - m->before) * sizeof *m->steps);
        m->steps[m->before++] = (step){
            .ns = -1, .bytes = bytes, .device = i, .op = NO_CALL,
            .action = PREEXISTING, .category = MEMORY_UNKNOWN
        };
    }
}

/* A row of PyTorch's raw timeline: [ns, action, bytes, category]. */
static void take_row(memory_trace *m, trace_reader *reader) {
    trace_text rest = reader->row, key, item;
    int64_t values[4];
    int count = 0;
    while (count < 4 && json_next(&rest, &key, &item) && json_int(item, &values[count])) count++;
    if (count < 4 || values[3] < 0 || values[3] >= MEMORY_CATEGORIES ||
        values[1] < PREEXISTING || values[1] > DESTROY) {
        reader->failed = true;
        fail(reader->path, "byte %llu: this is not a row of a memory timeline: [ns, action, bytes, "
             "category]", (unsigned long long)reader->row_offset);
        return;
    }
    if (m->count == 0) {
        device_of(m, -1, -1);
        snprintf(m->devices[0].name, sizeof m->devices[0].name, "device");
    }
    add_step(m, (step){.ns = values[0], .bytes = values[2], .op = NO_CALL,
                       .action = (uint8_t)values[1], .category = (uint8_t)values[3]});
    m->devices[0].allocations += values[1] == CREATE;
    m->devices[0].frees += values[1] == DESTROY;
    if (values[1] == PREEXISTING) m->devices[0].before += values[2];
}

/* "file.py(12): name" of Python, and not of C++ */
static bool is_python(trace_text frame) {
    const char *line = memchr(frame.data, '(', frame.size);
    return line && line - frame.data > 3 && memcmp(line - 3, ".py", 3) == 0;
}

/* Of an event with a call stack (as "a;b;c", the innermost first): the innermost frame of Python,
   or of any; with by_stack all of it. */
static uint32_t stack_op(memory_trace *m, const trace_event *event) {
    const trace_member *told = trace_arg(event, KEY_STACK);
    if (!told || !json_is_text(told->value)) return NO_CALL;
    trace_text all = {told->value.data + 1, told->value.size - 2}, chosen = all;
    const char *end = all.data + all.size;
    for (const char *p = all.data, *stop; !m->by_stack && p < end; p = stop + 1) {
        stop = memchr(p, ';', (size_t)(end - p));
        if (!stop) stop = end;
        trace_text frame = {p, (size_t)(stop - p)};
        if (p == all.data || is_python(frame)) chosen = frame;
        if (is_python(frame)) break;
    }
    char *text = allocate(3 * chosen.size + 1);
    uint32_t op = intern(&m->trace.names, text, text_decode(chosen, text, 3 * chosen.size));
    free(text);
    return op;
}

static void take(void *user, trace_reader *reader, trace_kept kept) {
    memory_trace *m = user;
    int64_t before;
    if (reader->item == TRACE_ROW) take_row(m, reader);
    if (reader->item == TRACE_MEMBER && text_is(reader->member.key, "profile_memory"))
        m->was_on = !text_is(reader->member.value, "0");
    if (kept != KEPT_CHANGE) return;
    size_t number = m->trace.change_count - 1;
    memory_change *change = &m->trace.changes[number];
    GROW(m->details, number, m->detail_capacity);
    m->details[number] = (struct detail){
        INT64_MIN, INT64_MIN, change->bytes > 0 ? stack_op(m, reader->event) : NO_CALL,
        change->bytes > 0 && trace_arg_int(reader->event, "Before", &before)
    };
    trace_arg_int(reader->event, KEY_ADDRESS, &m->details[number].address);
    trace_arg_int(reader->event, KEY_TOTAL, &m->details[number].total);
    change->key = told_category(reader->event);
    m->tells_categories |= change->key != MEMORY_UNKNOWN;
}

static int read_trace(memory_trace *m, const range_options *window, const char *path) {
    m->trace.window = window;
    m->trace.with_memory = m->trace.takes_rows = true;
    int status = trace_load(&m->trace, path, take, m);
    if (m->count) return status;
    trace_nest(&m->trace);
    find_contexts(m);
    pair_changes(m);
    add_preexisting(m);
    return status;
}

/* ---- Peaks ---- */

static void find_peaks(memory_trace *m) {
    int64_t *sums = allocate(m->device_count * sizeof *sums);
    for (size_t i = 0; i < m->count; i++) {
        const step *s = &m->steps[i];
        memory_device *device = &m->devices[s->device];
        sums[s->device] += s->bytes;
        if (sums[s->device] <= device->peak) continue;
        device->peak = sums[s->device];
        device->peak_ns = s->ns;
        device->peak_step = i;
    }
    for (size_t i = 0; i < m->device_count; i++) m->devices[i].end = sums[i];
    free(sums);
}

/* The one that a timeline is of: asked for, or else, as in PyTorch, the first accelerator. */
static bool choose_device(const memory_trace *m, const char *name, uint32_t *chosen) {
    bool found = false;
    for (uint32_t i = 0; i < m->device_count; i++) {
        const memory_device *device = &m->devices[i], *best = &m->devices[*chosen];
        bool better = name ? strcmp(device->name, name) == 0
                           : !found || (device->type != 0) > (best->type != 0) ||
                             ((device->type != 0) == (best->type != 0) &&
                              device->index < best->index);
        if (better) *chosen = i;
        found |= better;
    }
    return found;
}

/* ---- Writing ---- */

static void write_raw(const memory_trace *m, uint32_t device, output *out) {
    size_t at = 0;
    const step *s;
    output_text(out, "[");
    for (bool first = true; (s = next_step(m, device, &at)) != NULL; first = false) {
        long long ns = s->action == PREEXISTING ? -1 : (long long)(s->ns + m->trace.base_ns);
        output_format(out, "%s[%lld, %d, %lld, %d]", first ? "" : ", ", ns, s->action,
                      (long long)s->bytes, s->category);
    }
    output_text(out, "]\n");
}

/* [times in us, [[0, bytes by category]]]: a row for each moment, as PyTorch writes them. */
static void write_timeline(const memory_trace *m, uint32_t device, output *out) {
    for (int part = 0; part < 2; part++) {
        int64_t sums[MEMORY_CATEGORIES] = {0};
        bool first = true;
        size_t at = 0;
        output_text(out, part ? "], [" : "[[");
        for (const step *s = next_step(m, device, &at), *next; s; s = next) {
            next = next_step(m, device, &at);
            sums[s->category] += s->bytes;
            if (next && next->ns == s->ns) continue;
            /* the state before the first change stands just before it */
            int64_t ns = s->ns == -1 ? (next ? next->ns - 1000 : 0) : s->ns;
            output_text(out, first ? "" : ", ");
            first = false;
            if (part == 0) {
                output_format(out, "%lld", (long long)((ns + m->trace.base_ns) / 1000));
                continue;
            }
            output_text(out, "[0");
            for (int c = 0; c < MEMORY_CATEGORIES; c++)
                output_format(out, ", %lld", (long long)sums[c]);
            output_text(out, "]");
        }
    }
    output_text(out, "]]\n");
}

/* Bytes held at a device's peak, by op and category. */
typedef struct holder { uint32_t op; uint8_t category; int64_t bytes, blocks; } holder;

static const char *op_name(const memory_trace *m, const holder *h) {
    return h->op == NO_CALL ? NULL : interned_text(&m->trace.names, h->op);
}

static bool holds_more(uint32_t a, uint32_t b, const void *context) {
    const holder *holders = context;
    return holders[a].bytes > holders[b].bytes;
}

static size_t find_holders(const memory_trace *m, uint32_t device, bool by_op, holder **holders) {
    map numbers = {0};
    size_t count = 0, capacity = 0;
    for (size_t i = 0; i < m->count && i <= m->devices[device].peak_step; i++) {
        const step *s = &m->steps[i];
        if (s->device != device) continue;
        bool is_new;
        uint32_t op = by_op ? s->op : NO_CALL;
        size_t number = NUMBER_OF(&numbers, (uint64_t)op * MEMORY_CATEGORIES + s->category,
                                  *holders, count, capacity, &is_new);
        holder *h = &(*holders)[number];
        if (is_new) *h = (holder){op, s->category, 0, 0};
        h->bytes += s->bytes;
        h->blocks += s->action == DESTROY ? -1 : s->action != INCREMENT_VERSION;
    }
    map_free(&numbers);
    return count;
}

static void add_holders(const memory_trace *m, uint32_t device, bool by_op, int64_t limit,
                        sheet *s) {
    holder *holders = NULL;
    size_t count = find_holders(m, device, by_op, &holders);
    int64_t peak = m->devices[device].peak;          /* 0 where more was freed than allocated */
    uint32_t *order = sorted_numbers(count, holds_more, holders);
    for (size_t i = 0; peak > 0 && i < count && (int64_t)i < limit; i++) {
        const holder *h = &holders[order[i]];
        if (h->bytes == 0) continue;
        cell_text(s, m->devices[device].name);
        if (by_op) cell_text(s, h->op == NO_CALL ? "(no call in the trace)" : op_name(m, h));
        cell_text(s, memory_category_names[h->category]);
        cell_int(s, h->bytes);
        cell_percent(s, h->bytes, peak);
        cell_int(s, h->blocks);
    }
    free(order);
    free(holders);
}

static void add_device(const memory_device *device, sheet *s) {
    cell_text(s, device->name);
    cell_int(s, device->peak);
    if (device->peak_ns >= 0) cell_us(s, device->peak_ns);
    else cell_text(s, NULL);
    cell_int(s, device->before);
    cell_int(s, device->end);
    cell_int(s, (int64_t)device->allocations);
    cell_int(s, (int64_t)device->frees);
}

static void write_table(const memory_trace *m, const memory_options *o, output *out) {
    bool by_op = o->by == BY_OP || o->by == BY_STACK, by_device = o->by == BY_DEVICE;
    sheet s;
    sheet_begin(&s, by_op ? "Device|Op|Category|At the peak (B)#|%#|Blocks#" :
                    by_device ? "Device|Peak (B)#|At (us)#|Before (B)#|At the end (B)#|"
                                "Allocations#|Frees#" :
                    "Device|Category|At the peak (B)#|%#|Blocks#");
    for (uint32_t i = 0; i < m->device_count; i++) {
        if (o->device && strcmp(o->device, m->devices[i].name) != 0) continue;
        if (by_device) add_device(&m->devices[i], &s);
        else add_holders(m, i, by_op, o->limit, &s);
    }
    sheet_end(&s, (table_format)o->format, out);
}

/* [name, when its changes begin, of each: ns since the last one, category, bytes] */
static void write_changes(const memory_trace *m, uint32_t device, output *out) {
    size_t first = 0, at = 0;
    while (first < m->count && m->steps[first].action == PREEXISTING) first++;
    int64_t first_ns = first < m->count ? m->steps[first].ns : 0, last_ns = INT64_MIN;
    output_format(out, "%s\n[\"%s\",", device ? "," : "", m->devices[device].name);
    for (const step *s; (s = next_step(m, device, &at)) != NULL; ) {
        int64_t ns = s->action == PREEXISTING ? first_ns : s->ns;
        bool is_first = last_ns == INT64_MIN;
        if (is_first) output_format(out, "%lld,[", (long long)ns);
        output_format(out, "%s%lld,%d,%lld", is_first ? "" : ",",
                      (long long)(is_first ? 0 : ns - last_ns), s->category, (long long)s->bytes);
        last_ns = ns;
    }
    output_text(out, "]]");
}

/* [device, op, category, bytes] */
static void write_holders(const memory_trace *m, uint32_t device, bool *any, output *out) {
    holder *holders = NULL;
    size_t count = find_holders(m, device, true, &holders);
    for (size_t i = 0; i < count; i++) {
        const char *op = op_name(m, &holders[i]);
        if (holders[i].bytes <= 0) continue;
        output_format(out, "%s\n[%u,", *any ? "," : "", device);
        if (op) output_json_text(out, op, strlen(op));
        else output_text(out, "null");
        output_format(out, ",%d,%lld]", holders[i].category, (long long)holders[i].bytes);
        *any = true;
    }
    free(holders);
}

static void write_use(output *out, void *user) {
    const memory_trace *m = user;
    bool any = false;
    output_text(out, "{\"categories\":[");
    for (int i = 0; i < MEMORY_CATEGORIES; i++)
        output_format(out, "%s\"%s\"", i ? "," : "", memory_category_names[i]);
    output_text(out, "],\n\"devices\":[");
    for (uint32_t i = 0; i < m->device_count; i++) write_changes(m, i, out);
    output_text(out, "],\n\"holders\":[");
    for (uint32_t i = 0; i < m->device_count; i++) write_holders(m, i, &any, out);
    output_text(out, "]}");
}

static void write_page(memory_trace *m, const char *name, output *out) {
    row_table none = {.events = m->count};
    text_list no_notes = {0};
    report_page *page = page_new(&none);
    page_uses_memory(page, write_use, m);
    page_write(page, &none, file_name(name), &no_notes, NULL, out);
    page_free(page);
}

/* ---- The command ---- */

/* By the output's ending. */
static unsigned format_of(const char *path) {
    static const struct { const char *ending; unsigned format; } endings[] = {
        {".html", FORMAT_HTML}, {".html.gz", FORMAT_HTML}, {"raw.json", FORMAT_RAW},
        {"raw.json.gz", FORMAT_RAW}, {".json", FORMAT_JSON}, {".json.gz", FORMAT_JSON},
        {".csv", FORMAT_CSV}
    };
    for (size_t i = 0; path && i < sizeof endings / sizeof *endings; i++)
        if (ends_with(path, endings[i].ending)) return endings[i].format;
    return FORMAT_TEXT;
}

static int write_memory(memory_trace *m, const memory_options *o, const char *name) {
    uint32_t device = 0;
    output out;
    if (!choose_device(m, o->device, &device) && (o->device || m->device_count))
        return fail("--device", "there is no memory of '%s' in the trace", o->device);
    if (!output_open(&out, o->path)) return EXIT_BAD;
    losses_write(&out);
    if (o->format == FORMAT_HTML) write_page(m, name, &out);
    else if (o->format == FORMAT_RAW) write_raw(m, device, &out);
    else if (o->format == FORMAT_JSON) write_timeline(m, device, &out);
    else write_table(m, o, &out);
    return output_close(&out, EXIT_OK);
}

static int read_and_write(const memory_options *o, const char *path) {
    memory_trace m = {.by_stack = o->by == BY_STACK};
    if (o->format == FORMAT_TEXT) losses_hold();
    int status = read_trace(&m, o->window, path);
    find_peaks(&m);
    if (m.device_count == 0 && status == EXIT_OK)
        warn(path, m.was_on ? "there are no [memory] events, though profile_memory was on: nothing "
             "was allocated or freed meanwhile, or not by what the profiler sees"
             : "there are no [memory] events; record with profile_memory=True (prof.h: "
             "desc.profile_memory, or prof record --heap)");
    int written = status && m.count == 0 ? status : write_memory(&m, o, path);
    trace_free(&m.trace);
    map_free(&m.device_numbers);
    free(m.contexts);
    free(m.details);
    free(m.steps);
    free(m.devices);
    return status ? status : written;
}

static int run(int argc, char **argv) {
    range_options window = {0};
    memory_options o = {.window = &window, .format = FORMAT_BY_NAME, .limit = 30};
    const option_spec options[] = {
        {"by", 'b', OPTION_WORD, &o.by, "device|category|op|stack", "of tables (device)"},
        {"device", 'd', OPTION_TEXT, &o.device, "DEVICE",
         "cuda:0, cpu, ...; json and raw: one only, else device 0, or cpu"},
        {"limit", 'n', OPTION_COUNT, &o.limit, "N", "rows of each device, or all (30)"},
        {"format", 'f', OPTION_WORD, &o.format, "text|csv|json|html|raw",
         "json, raw: PyTorch's timelines; html: the page (by the output's ending, else text)"},
        RANGE_OPTIONS(window),
        {"output", 'o', OPTION_TEXT, &o.path, "FILE", "instead of stdout; .gz by its ending"},
        {NULL, 0, OPTION_FLAG, NULL, NULL, NULL}
    };
    int status, count = options_parse(&memory_command, options, argc, argv, &status);
    if (count < 0) return status;
    if (o.format == FORMAT_BY_NAME) o.format = format_of(o.path);
    return read_and_write(&o, argv[1]);
}
