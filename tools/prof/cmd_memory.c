/* prof memory: what memory was used for, over time, from a trace's [memory] events or from
   PyTorch's raw memory timeline. */
#include "call_tree.h"
#include "losses.h"
#include "memory_page.h"

#include <stdlib.h>
#include <string.h>

static int run(int argc, char **argv);

const command memory_command = {
    "memory", "[OPTION]... TRACE", "memory over time: peak, who holds it, an interactive plot",
    "  prof memory trace.json.gz\n"
    "      per device: the peak, when it was, how much was there before\n"
    "  prof memory --by op trace.json\n"
    "      the ops that hold the memory at the peak\n"
    "  prof memory -o memory.html trace.json\n"
    "      a page with a plot by category: drag to zoom, click on names to hide them\n"
    "  prof memory --device cuda:0 -o memory.raw.json.gz trace.json\n"
    "      as PyTorch's export_memory_timeline: .json, .raw.json, .html, each also\n"
    "      .gz\n\n"
    "The trace must have been recorded with profile_memory=True. It does not say\n"
    "what a block is for; the category is inferred from the calls that allocate and\n"
    "free it:\n"
    "  optimizer state  allocated in Optimizer.step, lives on behind it\n"
    "  input            allocated in a DataLoader\n"
    "  gradient         allocated in the backward pass, lives on behind it\n"
    "  autograd detail  allocated in the backward pass, freed by another node of it\n"
    "  activation       allocated before the backward pass, freed in it\n"
    "  temporary        freed again before that\n"
    "  unknown          there before the recording, or none of these (parameters)\n"
    "A raw timeline of PyTorch's own (memory.raw.json.gz) holds the true ones.\n\n"
    "It takes 410 bytes of memory for each allocation and free.\n", run
};

static const char *const device_names[] = {
    "cpu", "cuda", "mkldnn", "opengl", "opencl", "ideep", "hip", "fpga", "maia", "xla", "vulkan",
    "metal", "xpu", "mps", "meta", "hpu", "ve", "lazy", "ipu", "mtia", "privateuseone"
};

enum { PREEXISTING = 1, CREATE, INCREMENT_VERSION, DESTROY };      /* PyTorch's numbers */

typedef struct step {           /* a change of what is allocated on a device */
    int64_t ns, bytes;
    uint32_t device, op;        /* op: the call that allocated it, in names; or UINT32_MAX */
    uint8_t action, category;
} step;

typedef struct memory_device {
    char name[32];
    int32_t type;
    uint64_t allocations, frees;
    bool has_total;
    int64_t before, unknown_frees;       /* allocated before the recording */
    int64_t peak, peak_ns, end;
    size_t peak_step;                    /* the sums up to and with it are the peak */
} memory_device;

typedef struct memory_options {
    const char *device, *by, *format, *path;
    int64_t limit;
} memory_options;

typedef struct memory_trace {
    call_tree tree;
    struct memory_more { int64_t address, total; } *more;      /* of tree.changes */
    size_t more_capacity;
    int64_t base_ns;
    interner names;             /* ops */
    step *steps;                /* by time */
    size_t count, capacity;
    memory_device *devices;
    size_t device_count, device_capacity;
    map device_numbers;
} memory_trace;

/* ---- Reading a trace ---- */

static void take(memory_trace *m, const trace_event *event) {
    size_t last = m->tree.change_count;
    tree_add(&m->tree, event);
    if (m->tree.change_count == last) return;
    GROW(m->more, last, m->more_capacity);
    m->more[last].address = m->more[last].total = INT64_MIN;
    trace_arg_int(event, PROF_KEY_ADDRESS, &m->more[last].address);
    trace_arg_int(event, PROF_KEY_TOTAL, &m->more[last].total);
}

static uint32_t device_of(memory_trace *m, int32_t type, int32_t index) {
    bool is_new;
    uint64_t key = (uint64_t)(uint32_t)type << 32 | (uint32_t)index;
    uint64_t *number = map_put(&m->device_numbers, key, &is_new);
    if (!is_new) return (uint32_t)*number;
    GROW(m->devices, m->device_count, m->device_capacity);
    memory_device *device = &m->devices[m->device_count];
    *device = (memory_device){.type = type};
    bool known = type >= 0 && (size_t)type < sizeof device_names / sizeof *device_names;
    int size = known ? snprintf(device->name, sizeof device->name, "%s", device_names[type])
                     : snprintf(device->name, sizeof device->name, "type%d", (int)type);
    if (index >= 0)
        snprintf(device->name + size, sizeof device->name - (size_t)size, ":%d", (int)index);
    return (uint32_t)(*number = m->device_count++);
}

/* What the calls around a block's allocation tell of it; inherited from the outside in. */
typedef struct block_context {
    uint32_t top;               /* the outermost op around it, or NO_CALL */
    uint32_t optimizer, node;   /* Optimizer.step or the backward pass's node around it */
    bool loader;
} block_context;

static bool starts_with(const char *text, const char *start) {
    return strncmp(text, start, strlen(start)) == 0;
}

static block_context *find_contexts(const call_tree *tree) {
    static const block_context none = {NO_CALL, NO_CALL, NO_CALL, false};
    block_context *contexts = allocate(tree->count * sizeof *contexts);
    for (size_t i = 0; i < tree->ordered; i++) {
        uint32_t number = tree->order[i];
        const call *c = &tree->calls[number];
        const char *name = interned_text(&tree->names, c->name);
        block_context *own = &contexts[number];
        *own = c->parent == NO_CALL ? none : contexts[c->parent];
        if (own->top == NO_CALL && c->kind == TRACE_CPU_OP) own->top = number;
        if (starts_with(name, "Optimizer.step")) own->optimizer = number;
        if (starts_with(name, "autograd::engine::evaluate_function")) own->node = number;
        own->loader |= starts_with(name, "enumerate(DataLoader)");
    }
    return contexts;
}

/* free_owner: the call that freed it; NO_CALL with free_ns INT64_MAX: nobody. */
static uint8_t category_of(const call_tree *tree, const block_context *contexts, uint32_t owner,
                           uint32_t free_owner, int64_t free_ns) {
    static const block_context none = {NO_CALL, NO_CALL, NO_CALL, false};
    const block_context *at = owner == NO_CALL ? &none : &contexts[owner];
    const block_context *freed = free_owner == NO_CALL ? &none : &contexts[free_owner];
    if (at->optimizer != NO_CALL)
        return free_ns <= tree->calls[at->optimizer].end_ns ? MEMORY_TEMPORARY
                                                            : MEMORY_OPTIMIZER_STATE;
    if (at->loader) return MEMORY_INPUT;
    if (at->node != NO_CALL) {
        if (free_ns <= tree->calls[at->node].end_ns) return MEMORY_TEMPORARY;
        return freed->node != NO_CALL ? MEMORY_AUTOGRAD_DETAIL : MEMORY_GRADIENT;
    }
    if (freed->node != NO_CALL) return MEMORY_ACTIVATION;
    return free_ns == INT64_MAX ? MEMORY_UNKNOWN : MEMORY_TEMPORARY;
}

static bool change_before(uint32_t a, uint32_t b, const void *context) {
    const memory_change *changes = context;
    return changes[a].ts_ns < changes[b].ts_ns;
}

static void note_total(memory_device *device, const memory_change *change, int64_t total) {
    if (device->has_total || total == INT64_MIN) return;
    device->has_total = true;
    device->before = total - change->bytes - (device->end - device->unknown_frees);
}

/* Makes a step of each change, in order of time; pairs each free with its allocation. */
static void pair_changes(memory_trace *m, const uint32_t *order, const block_context *contexts) {
    const call_tree *tree = &m->tree;
    map open = {0};             /* (device, address) -> step + 1 */
    for (size_t i = 0; i < tree->change_count; i++) {
        const memory_change *change = &tree->changes[order[i]];
        const struct memory_more *more = &m->more[order[i]];
        uint32_t number = device_of(m, change->device_type, change->device_index);
        memory_device *device = &m->devices[number];
        uint64_t *known = map_put(&open, hash_mix((uint64_t)more->address) + number + 1,
                                   NULL);
        note_total(device, change, more->total);
        device->end += change->bytes;
        step *s = &m->steps[m->count];
        *s = (step){change->ts_ns, change->bytes, number, UINT32_MAX,
                    change->bytes < 0 ? DESTROY : CREATE, MEMORY_UNKNOWN};
        if (change->bytes >= 0) {
            device->allocations++;
            if (change->owner != NO_CALL) s->op = change->owner;      /* a name once it is done */
            *known = ++m->count;
            continue;
        }
        m->count++;
        device->frees++;
        step *made = *known ? &m->steps[*known - 1] : NULL;
        if (more->address == INT64_MIN) {        /* legacy records: the least that was there */
            if (device->end < device->unknown_frees) device->unknown_frees = device->end;
            continue;
        }
        if (!made || made->bytes != -change->bytes) {
            device->unknown_frees += change->bytes;
            continue;
        }
        s->category = made->category = category_of(tree, contexts, made->op, change->owner,
                                                   change->ts_ns);
        s->op = made->op;
        *known = 0;
    }
    for (size_t i = 0; i < open.slot_count; i++) {
        if (!open.slots[i].value) continue;
        step *made = &m->steps[open.slots[i].value - 1];
        made->category = category_of(tree, contexts, made->op, NO_CALL, INT64_MAX);
    }
    map_free(&open);
}

static void name_ops(memory_trace *m) {
    for (size_t i = 0; i < m->count; i++) {
        step *s = &m->steps[i];
        if (s->op == UINT32_MAX) continue;
        const struct interned *name = &m->tree.names.entries[m->tree.calls[s->op].name];
        s->op = intern(&m->names, name->text, name->size);
    }
}

/* What was allocated before the recording stands first, as PyTorch has it. */
static void add_preexisting(memory_trace *m) {
    size_t added = 0;
    step *steps = allocate((m->count + m->device_count) * sizeof *steps);
    for (uint32_t i = 0; i < m->device_count; i++) {
        memory_device *device = &m->devices[i];
        if (device->before < -device->unknown_frees) device->before = -device->unknown_frees;
        if (device->before > 0)
            steps[added++] = (step){-1, device->before, i, UINT32_MAX, PREEXISTING, MEMORY_UNKNOWN};
    }
    if (m->count) memcpy(steps + added, m->steps, m->count * sizeof *steps);
    free(m->steps);
    m->steps = steps;
    m->count += added;
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
        fail(reader->path, "byte %llu: this is no row of a memory timeline: [ns, action, bytes, "
             "category]", (unsigned long long)reader->row_offset);
        return;
    }
    if (m->count == 0) {
        device_of(m, -1, -1);
        snprintf(m->devices[0].name, sizeof m->devices[0].name, "device");
    }
    GROW(m->steps, m->count, m->capacity);
    m->steps[m->count++] = (step){values[0], values[2], 0, UINT32_MAX, (uint8_t)values[1],
                                  (uint8_t)values[3]};
    m->devices[0].allocations += values[1] == CREATE;
    m->devices[0].frees += values[1] == DESTROY;
    if (values[1] == PREEXISTING) m->devices[0].before += values[2];
}

/* The steps of a trace's memory events, with what the calls around them tell. */
static void find_steps(memory_trace *m) {
    tree_build(&m->tree);
    uint32_t *order = sorted_numbers(m->tree.change_count, change_before, m->tree.changes);
    block_context *contexts = find_contexts(&m->tree);
    m->steps = allocate(m->tree.change_count * sizeof *m->steps);
    pair_changes(m, order, contexts);
    name_ops(m);
    add_preexisting(m);
    free(contexts);
    free(order);
}

static int read_trace(memory_trace *m, const char *path) {
    trace_reader *reader = trace_open(path);
    if (!reader) return EXIT_BAD;
    reader->takes_rows = true;
    m->tree.with_memory = m->tree.without_kernels = m->tree.owners_only = true;
    while (!reader->failed && trace_next(reader) != TRACE_END) {
        if (reader->item == TRACE_ROW) take_row(m, reader);
        else if (reader->item == TRACE_EVENT && m->count == 0) take(m, &reader->event);
    }
    m->base_ns = reader->base_time_ns;
    if (m->count == 0) find_steps(m);
    return trace_close(reader);
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

/* The one that a timeline is of: asked for, or else the accelerator with the highest peak. */
static bool choose_device(const memory_trace *m, const char *name, uint32_t *chosen) {
    bool found = false;
    for (uint32_t i = 0; i < m->device_count; i++) {
        const memory_device *device = &m->devices[i], *best = &m->devices[*chosen];
        bool better = name ? strcmp(device->name, name) == 0
                           : !found || (device->type != 0) > (best->type != 0) ||
                             ((device->type != 0) == (best->type != 0) &&
                              device->peak > best->peak);
        if (better) *chosen = i;
        found |= better;
    }
    return found;
}

/* ---- Writing ---- */

static void write_raw(const memory_trace *m, uint32_t device, output *out) {
    bool first = true;
    output_text(out, "[");
    for (size_t i = 0; i < m->count; i++) {
        const step *s = &m->steps[i];
        if (s->device != device) continue;
        long long ns = s->action == PREEXISTING ? -1 : (long long)(s->ns + m->base_ns);
        output_format(out, "%s[%lld, %d, %lld, %d]", first ? "" : ", ", ns, s->action,
                      (long long)s->bytes, s->category);
        first = false;
    }
    output_text(out, "]\n");
}

/* [times in us, [[0, bytes by category]]]: a row for each moment, as PyTorch writes them. */
static void write_timeline(const memory_trace *m, uint32_t device, output *out) {
    for (int part = 0; part < 2; part++) {
        int64_t sums[MEMORY_CATEGORIES] = {0};
        bool first = true;
        output_text(out, part ? "], [" : "[[");
        for (size_t i = 0, next; i < m->count; i = next) {
            const step *s = &m->steps[i];
            next = i + 1;
            if (s->device != device) continue;
            sums[s->category] += s->bytes;
            while (next < m->count && m->steps[next].device != device) next++;
            if (next < m->count && m->steps[next].ns == s->ns) continue;
            /* the state before the first change stands just before it */
            int64_t ns = s->ns == -1 ? (next < m->count ? m->steps[next].ns - 1000 : 0) : s->ns;
            output_text(out, first ? "" : ", ");
            first = false;
            if (part == 0) {
                output_format(out, "%lld", (long long)((ns + m->base_ns) / 1000));
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
        uint32_t op = by_op ? s->op : UINT32_MAX;
        uint64_t *number = map_put(&numbers, (uint64_t)op * MEMORY_CATEGORIES + s->category,
                                   &is_new);
        if (is_new) {
            GROW(*holders, count, capacity);
            (*holders)[count] = (holder){op, s->category, 0, 0};
            *number = count++;
        }
        (*holders)[*number].bytes += s->bytes;
        (*holders)[*number].blocks += s->action == DESTROY ? -1 : s->action != INCREMENT_VERSION;
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
        char **cells = sheet_row(s);
        *cells++ = sheet_cell(s, "%s", m->devices[device].name);
        if (by_op)
            *cells++ = sheet_cell(s, "%s", h->op == UINT32_MAX ? "(no call in the trace)"
                                                               : interned_text(&m->names, h->op));
        *cells++ = sheet_cell(s, "%s", memory_category_names[h->category]);
        *cells++ = sheet_cell(s, "%lld", (long long)h->bytes);
        *cells++ = sheet_cell(s, "%.2f", 100 * (double)h->bytes / (double)peak);
        *cells++ = sheet_cell(s, "%lld", (long long)h->blocks);
    }
    free(order);
    free(holders);
}

static void add_device(const memory_trace *m, uint32_t number, sheet *s) {
    const memory_device *device = &m->devices[number];
    char **cells = sheet_row(s);
    cells[0] = sheet_cell(s, "%s", device->name);
    cells[1] = sheet_cell(s, "%lld", (long long)device->peak);
    if (device->peak_ns >= 0)
        cells[2] = sheet_cell(s, "%lld.%03lld", (long long)device->peak_ns / 1000,
                              (long long)device->peak_ns % 1000);
    cells[3] = sheet_cell(s, "%lld", (long long)device->before);
    cells[4] = sheet_cell(s, "%lld", (long long)device->end);
    cells[5] = sheet_cell(s, "%llu", (unsigned long long)device->allocations);
    cells[6] = sheet_cell(s, "%llu", (unsigned long long)device->frees);
}

static void write_table(const memory_trace *m, const memory_options *o, table_format format,
                        output *out) {
    static const char *const device_heads[] = {"Device", "Peak (B)", "At (us)", "Before (B)",
                                               "At the end (B)", "Allocations", "Frees"};
    static const char *const op_heads[] = {"Device", "Op", "Category", "At the peak (B)", "%",
                                           "Blocks"};
    static const char *const category_heads[] = {"Device", "Category", "At the peak (B)", "%",
                                                 "Blocks"};
    static const bool is_number[] = {false, true, true, true, true, true, true};
    static const bool op_numbers[] = {false, false, false, true, true, true};
    bool by_op = strcmp(o->by, "op") == 0;
    sheet s;
    if (by_op) sheet_begin(&s, op_heads, op_numbers, 6);
    else if (strcmp(o->by, "category") == 0) sheet_begin(&s, category_heads, op_numbers + 1, 5);
    else sheet_begin(&s, device_heads, is_number, 7);
    for (uint32_t i = 0; i < m->device_count; i++) {
        if (o->device && strcmp(o->device, m->devices[i].name) != 0) continue;
        if (strcmp(o->by, "device") == 0) add_device(m, i, &s);
        else add_holders(m, i, by_op, o->limit, &s);
    }
    sheet_write(&s, format, out);
    sheet_free(&s);
}

static void write_page(const memory_trace *m, const char *name, output *out) {
    memory_page page;
    int64_t first_ns = 0;
    for (size_t i = m->count; i-- > 0; )
        if (m->steps[i].action != PREEXISTING) first_ns = m->steps[i].ns;
    memory_page_begin(&page, out, file_name(name));
    for (uint32_t device = 0; device < m->device_count; device++) {
        memory_page_device(&page, m->devices[device].name);
        for (size_t i = 0; i < m->count; i++) {
            const step *s = &m->steps[i];
            if (s->device == device)
                memory_page_change(&page, s->action == PREEXISTING ? first_ns : s->ns, s->category,
                                   s->bytes);
        }
    }
    memory_page_holders(&page);
    for (uint32_t device = 0; device < m->device_count; device++) {
        holder *holders = NULL;
        size_t count = find_holders(m, device, true, &holders);
        for (size_t i = 0; i < count; i++)
            if (holders[i].bytes > 0)
                memory_page_holder(&page, device, holders[i].op == UINT32_MAX ? NULL :
                                   interned_text(&m->names, holders[i].op), holders[i].category,
                                   holders[i].bytes);
        free(holders);
    }
    memory_page_end(&page);
}

/* ---- The command ---- */

/* The format that was asked for, or else the one that the output's name ends in. */
static const char *format_of(const memory_options *o) {
    static const char *const endings[][2] = {
        {".html", "html"}, {".html.gz", "html"}, {"raw.json", "raw"}, {"raw.json.gz", "raw"},
        {".json", "json"}, {".json.gz", "json"}, {".csv", "csv"}
    };
    if (o->format) return o->format;
    for (size_t i = 0; o->path && i < sizeof endings / sizeof *endings; i++)
        if (ends_with(o->path, endings[i][0])) return endings[i][1];
    return "text";
}

static int write_memory(const memory_trace *m, const memory_options *o, const char *name) {
    const char *format = format_of(o);
    uint32_t device = 0;
    output out;
    if (!choose_device(m, o->device, &device) && (o->device || m->device_count))
        return fail("--device", "there is no memory of '%s' in the trace", o->device);
    if (!output_open(&out, o->path)) return EXIT_BAD;
    losses_write(&out);
    if (strcmp(format, "html") == 0) write_page(m, name, &out);
    else if (strcmp(format, "raw") == 0) write_raw(m, device, &out);
    else if (strcmp(format, "json") == 0) write_timeline(m, device, &out);
    else write_table(m, o, strcmp(format, "csv") == 0 ? FORMAT_CSV : FORMAT_TEXT, &out);
    return output_close(&out);
}

static int read_and_write(const memory_options *o, const char *path) {
    memory_trace m = {0};
    if (strcmp(format_of(o), "text") == 0) losses_hold();
    int status = read_trace(&m, path);
    find_peaks(&m);
    if (m.device_count == 0 && status == EXIT_OK)
        warn(path, "there are no [memory] events; record with profile_memory=True");
    int written = status && m.count == 0 ? status : write_memory(&m, o, path);
    tree_free(&m.tree);
    intern_free(&m.names);
    map_free(&m.device_numbers);
    free(m.more);
    free(m.steps);
    free(m.devices);
    return status ? status : written;
}

static bool one_of(const char *word, const char *words) {
    size_t size = strlen(word);
    for (const char *p = words; (p = strstr(p, word)) != NULL; p++)
        if (size && p[size] == ' ' && (p == words || p[-1] == ' ')) return true;
    return false;
}

static int run(int argc, char **argv) {
    memory_options o = {.by = "device", .limit = 30};
    const option_spec options[] = {
        {"by", 'b', OPTION_TEXT, &o.by, "WHAT", "tables: device (default), category or op"},
        {"device", 'd', OPTION_TEXT, &o.device, "DEVICE",
         "cuda:0, cpu, ...; json and raw: one only, else the largest"},
        {"limit", 'n', OPTION_COUNT, &o.limit, "N", "rows of each device, or all (30)"},
        {"format", 'f', OPTION_TEXT, &o.format, "FORMAT",
         "text, csv; json, raw: PyTorch's timelines; html: the page;\n"
         "                               default: by the output's ending, else text"},
        {"output", 'o', OPTION_TEXT, &o.path, "FILE", "instead of stdout; .gz by its ending"},
        {NULL, 0, OPTION_FLAG, NULL, NULL, NULL}
    };
    int status, count = options_parse(&memory_command, options, argc, argv, &status);
    if (count < 0) return status;
    if (count != 1) return fail(NULL, "memory takes one trace; see prof memory --help");
    if (!one_of(o.by, "device category op "))
        return fail("--by", "'%s' is none of device, category, op", o.by);
    if (o.format && !one_of(o.format, "text csv json raw html "))
        return fail("--format", "'%s' is none of text, csv, json, raw, html", o.format);
    return read_and_write(&o, argv[1]);
}
