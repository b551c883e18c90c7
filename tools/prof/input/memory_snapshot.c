/* Memory snapshots of PyTorch (torch.cuda.memory._dump_snapshot, a pickle) as events: [memory] for
   what is allocated and freed, with the frames as call stack. What they hold is defined in
   torch/cuda/_memory_viz.py and docs.pytorch.org/docs/stable/torch_cuda_memory.html: "segments",
   the blocks at the end, and "device_traces", the last changes, of each device.

   A pickle is a program for a stack; nothing is kept of what it builds but texts, frames, stacks
   and blocks. An event is handed out as soon as its dict is whole. */
#include <stdlib.h>
#include <string.h>

#include "input/event_source.h"
#include "input/pickle.h"

enum { DEEPEST = 512, MOST_VALUES = 1 << 22, SPARE = 1 << 10 };

/* Of a stack. Python's pickles append a thousand at once, and the rest; a file that appends each by
   itself would need the square of its size. */
enum { MOST_FRAMES = 1 << 12, BATCH = 1000 };

/* The keys, then the actions, that are looked for: the first texts of all. */
enum {
    ACTION, ADDR, SIZE, STREAM, TIME, FRAMES, DEVICE_FREE, FILENAME, LINE, NAME, DEVICE, TOTAL_SIZE,
    BLOCKS, ADDRESS, REQUESTED, STATE, SEGMENTS, TRACES, KEYS,
    ALLOC = KEYS, FREE, FREE_COMPLETED, OOM, INACTIVE
};
static const char *const known[] = {
    "action", "addr", "size", "stream", "time_us", "frames", "device_free", "filename", "line",
    "name", "device", "total_size", "blocks", "address", "requested_size", "state", "segments",
    "device_traces", "alloc", "free", "free_completed", "oom", "inactive"
};

/* number: an int, or of a text, frame or stack which one it is, or of a list or dict its object. */
typedef enum value_kind { OTHER = 0, INT, TEXT, LIST, DICT, FRAME, STACK } value_kind;
typedef struct value { value_kind kind; int64_t number; } value;

/* A list or dict, or what it has turned out to be. number: of a list, its items so far. */
typedef struct object { uint8_t kind; uint32_t number; } object;

typedef struct block { int64_t addr, size, device; uint32_t stack; bool active; } block;
typedef struct dict { value values[KEYS]; uint32_t has; } dict;

typedef struct change {
    const char *name;
    int64_t device, stream, time_us, addr, bytes;
    uint32_t call_stack;
    bool changes, before;
} change;

typedef struct snapshot {
    event_queue *to;
    const char *path;
    uint8_t *bytes;              /* of an opcode that has not ended */
    size_t size, capacity;
    uint64_t offset;             /* in the file */
    bool is_snapshot, stopped;
    interner texts, frames, stacks;          /* frames: as JSON; stacks: of numbers of frames */
    value *stack;
    size_t top, stack_capacity;
    size_t marks[DEEPEST], mark_count;
    object *objects;
    size_t object_count, object_capacity;
    object *memo;
    size_t memo_count, memo_capacity;
    block *blocks;
    size_t block_count, block_capacity, segment_begin, next_block;
    map open;                    /* (device, address) -> 1: allocated in a trace, and not freed */
    output text;                 /* of a frame */
    int64_t base_us, first_us;
    uint64_t events, cut;
} snapshot;

static void fail_at(snapshot *s, const char *why) {
    if (!s->to->failed)
        fail(s->path, "byte %llu: %s", (unsigned long long)s->offset, why);
    s->to->failed = true;
}

/* ---- Events ---- */

static uint64_t place_key(int64_t device, int64_t addr) {
    return hash_mix((uint64_t)addr) + (uint64_t)device + 1;
}

static void write_stack(const snapshot *s, uint32_t number, output *out) {
    const struct interned *stack = &s->stacks.entries[number];
    for (size_t i = 0; i < stack->size; i += sizeof number) {
        memcpy(&number, stack->text + i, sizeof number);
        const struct interned *frame = &s->frames.entries[number];
        output_write(out, i ? ";" : "\"", 1);
        output_write(out, frame->text, frame->size);
    }
    output_text(out, "\"");
}

static void put_change(snapshot *s, const change *c) {
    if (s->events++ == 0) {
        char base[24];
        snprintf(base, sizeof base, "%lld", (long long)c->time_us * 1000);
        s->base_us = c->time_us;
        if (!c->before) s->first_us = c->time_us;
        queue_member(s->to, text_of("profile_memory"), text_of("1"));
        queue_member(s->to, text_of("baseTimeNanoseconds"), text_of(base));
    }
    if (!c->before && c->time_us < s->first_us) s->first_us = c->time_us;
    trace_event *event = queue_timed(s->to, 'i', text_of("cpu_instant_event"), text_of(c->name),
                                     (c->time_us - s->base_us) * 1000);
    event->pid = c->device;
    event->tid = c->stream;
    event->scope = (trace_text){"\"t\"", 3};
    queue_begin_args(s->to);
    queue_int(s->to, KEY_DEVICE_TYPE, 1);
    queue_int(s->to, KEY_DEVICE_INDEX, c->device);
    queue_int(s->to, KEY_ADDRESS, c->addr);
    queue_int(s->to, c->changes ? KEY_BYTES : "Size", c->bytes);
    if (c->before) queue_int(s->to, "Before", 1);
    if (s->stacks.entries[c->call_stack].size)
        write_stack(s, c->call_stack, queue_arg(s->to, text_of(KEY_STACK)));
    queue_end_args(s->to, event);
}

/* ---- What a dict is ---- */

static int64_t int_of(const dict *d, int key, int64_t otherwise) {
    return d->values[key].kind == INT ? d->values[key].number : otherwise;
}

static uint32_t stack_of(const dict *d) {
    return d->values[FRAMES].kind == STACK ? (uint32_t)d->values[FRAMES].number : 0;
}

static bool has(const dict *d, int key) { return d->has >> key & 1; }

/* The list that "device_traces" has begins below this level? */
static bool is_traces(const snapshot *s, size_t level) {
    return level > 1 && s->stack[level - 1].kind == LIST && s->stack[level - 2].kind == TEXT &&
           s->stack[level - 2].number == TRACES;
}

/* The device of an event whose dict is at `level`: its list's number among the lists of all. A list
   of several items has a mark in front of them. */
static int64_t device_at(const snapshot *s, size_t level) {
    size_t marks = s->mark_count, list = level;
    if (marks && level && s->marks[marks - 1] == level) marks--, list--;
    else if (list && s->stack[list - 1].kind == LIST) list--;
    else if (marks && s->marks[--marks]) list = s->marks[marks] - 1;
    size_t first = is_traces(s, list) ? list : marks ? s->marks[marks - 1] : 0;
    if (first > list || !is_traces(s, first)) return 0;
    return s->objects[s->stack[first - 1].number].number + (int64_t)(list - first);
}

static void take_event(snapshot *s, const dict *d, int64_t device) {
    int64_t action = d->values[ACTION].kind == TEXT ? d->values[ACTION].number : -1;
    int64_t size = int_of(d, SIZE, 0), time_us = int_of(d, TIME, (int64_t)s->events);
    bool frees = action == FREE || action == FREE_COMPLETED;
    bool fits = time_us > INT64_MIN / 2000 && time_us < INT64_MAX / 2000;
    if (action < 0) queue_odd(s->to, "action", "the dict at byte", s->offset, "is no text");
    else if (!fits) queue_odd(s->to, "time_us", "the dict at byte", s->offset, "is no time");
    if (!queue_fits(s->to, "size", "the dict at byte", s->offset, size, INT64_MAX) || action < 0 ||
        !fits) return;
    change c = {
        .name = interned_text(&s->texts, (uint32_t)action), .device = device,
        .stream = int_of(d, STREAM, 0), .time_us = time_us, .bytes = frees ? -size : size,
        .addr = int_of(d, ADDR, int_of(d, DEVICE_FREE, 0)), .call_stack = stack_of(d),
        .changes = frees || action == ALLOC
    };
    if (c.changes) {
        *map_put(&s->open, place_key(device, c.addr), NULL) = !frees;
        c.name = "[memory]";
    }
    if (action == OOM) c.name = "[OutOfMemory]";
    put_change(s, &c);
}

/* As PyTorch has them in traces: file.py(12): name. */
static value take_frame(snapshot *s, const dict *d) {
    const char *parts[2];
    static const int keys[2] = {FILENAME, NAME};
    size_t size;
    for (int i = 0; i < 2; i++)
        parts[i] = d->values[keys[i]].kind != TEXT ? ""
                 : interned_text(&s->texts, (uint32_t)d->values[keys[i]].number);
    bool has_file = *parts[0] && strcmp(parts[0], "??") != 0;
    size_t room = strlen(parts[0]) + strlen(parts[1]) + 32;
    char *text = allocate(room);
    if (has_file)
        snprintf(text, room, "%s(%lld): %s", parts[0], (long long)int_of(d, LINE, 0), parts[1]);
    else snprintf(text, room, "%s", parts[1]);
    for (char *p = text; *p; p++)
        if (*p == ';') *p = '_';                 /* it parts frames */
    output_forget(&s->text);
    output_json_text(&s->text, text, strlen(text));
    free(text);
    const char *json = output_memory(&s->text, &size);
    return (value){FRAME, intern(&s->frames, json + 1, size - 2)};
}

static void take_block(snapshot *s, const dict *d) {
    int64_t size = int_of(d, SIZE, 0), asked = int_of(d, REQUESTED, size);
    if (!queue_fits(s->to, "size", "the dict at byte", s->offset, asked, INT64_MAX)) return;
    GROW(s->blocks, s->block_count, s->block_capacity);
    s->blocks[s->block_count++] = (block){
        .addr = int_of(d, ADDRESS, -1), .size = asked, .device = size,
        .stack = stack_of(d), .active = d->values[STATE].number != INACTIVE
    };
}

/* The blocks since the last segment are this one's. Old ones have no address of their own. */
static void take_segment(snapshot *s, const dict *d) {
    int64_t next = int_of(d, ADDRESS, 0);
    for (; s->segment_begin < s->block_count; s->segment_begin++) {
        block *b = &s->blocks[s->segment_begin];
        if (b->addr == -1) b->addr = next;
        next = (int64_t)((uint64_t)b->addr + (uint64_t)b->device);
        b->device = int_of(d, DEVICE, 0);
    }
    s->is_snapshot = true;
}

static value take_dict(snapshot *s, const dict *d, size_t level) {
    if (has(d, ACTION)) take_event(s, d, device_at(s, level));
    else if (has(d, TOTAL_SIZE) && has(d, BLOCKS)) take_segment(s, d);
    else if (has(d, STATE) && has(d, SIZE)) take_block(s, d);
    else if (has(d, FILENAME) && has(d, NAME)) return take_frame(s, d);
    s->is_snapshot |= has(d, SEGMENTS) || has(d, TRACES);
    return (value){OTHER, 0};
}

/* ---- The stack ---- */

/* What it is by now. */
static value seen(const snapshot *s, value v) {
    if (v.kind != LIST && v.kind != DICT) return v;
    const object *o = &s->objects[v.number];
    return o->kind == LIST || o->kind == DICT ? v : (value){(value_kind)o->kind, o->number};
}

static void push(snapshot *s, value v) {
    if (s->top == MOST_VALUES) {
        fail_at(s, "the pickle has more than 4 million values in a list at once");
        return;
    }
    GROW(s->stack, s->top, s->stack_capacity);
    s->stack[s->top++] = v;
}

static void push_object(snapshot *s, value_kind kind) {
    GROW(s->objects, s->object_count, s->object_capacity);
    s->objects[s->object_count] = (object){(uint8_t)kind, 0};
    push(s, (value){kind, (int64_t)s->object_count++});
}

/* Where the items of an opcode begin, which go to the value below them: the topmost, or count < 0:
   those behind the mark, which goes. 0: there are not so many. */
static size_t take_items(snapshot *s, int count, bool below) {
    size_t lowest = s->mark_count ? s->marks[s->mark_count - 1] : 0, first = lowest;
    bool good = count >= 0 ? s->top - lowest >= (size_t)count + below : s->mark_count > 0;
    if (good && count >= 0) first = s->top - (size_t)count;
    else if (good) s->mark_count--;
    size_t under = s->mark_count ? s->marks[s->mark_count - 1] : 0;
    if (good && first >= under + below) return first;
    fail_at(s, "this is not a pickle: an opcode lacks its values");
    return SIZE_MAX;
}

/* Frames make a stack. */
static void append(snapshot *s, int count) {
    size_t first = take_items(s, count, true), old = 0;
    if (first == SIZE_MAX) return;
    size_t items = s->top - first;
    value v = s->stack[first - 1];
    s->top = first;
    if (v.kind != LIST) {
        fail_at(s, "this is not a pickle: it appends to what is no list");
        return;
    }
    object *list = &s->objects[v.number];
    bool empty = list->kind == LIST && !list->number;
    if (list->kind == LIST) list->number += (uint32_t)items;
    for (size_t i = 0; i < items; i++)
        if (seen(s, s->stack[first + i]).kind != FRAME) return;
    if (!items || (!empty && list->kind != STACK)) return;
    if (!empty) old = s->stacks.entries[list->number].size / sizeof(uint32_t);
    size_t room = old % BATCH ? 0 : MOST_FRAMES - old;
    if (items > room) {
        s->cut++;
        items = room;
    }
    if (!items) return;
    uint32_t *frames = allocate((old + items) * sizeof *frames);
    if (old) memcpy(frames, s->stacks.entries[list->number].text, old * sizeof *frames);
    for (size_t i = 0; i < items; i++)
        frames[old + i] = (uint32_t)seen(s, s->stack[first + i]).number;
    uint32_t number = intern(&s->stacks, (const char *)frames, (old + items) * sizeof *frames);
    *list = (object){STACK, number};
    free(frames);
}

static void set_items(snapshot *s, int count) {
    size_t first = take_items(s, count, true);
    dict d = {.has = 0};
    if (first == SIZE_MAX) return;
    for (size_t i = first; i + 1 < s->top; i += 2) {
        value key = s->stack[i];
        if (key.kind != TEXT || key.number >= KEYS) continue;
        d.values[key.number] = seen(s, s->stack[i + 1]);
        d.has |= UINT32_C(1) << key.number;
    }
    bool odd_count = (s->top - first) % 2;
    s->top = first;
    value v = s->stack[first - 1];
    if (v.kind != DICT || odd_count)
        fail_at(s, "this is not a pickle: it sets items of what is no dict, or half an item");
    if (s->to->failed || s->objects[v.number].kind != DICT) return;
    value is = take_dict(s, &d, first - 1);
    if (is.kind == FRAME) s->objects[v.number] = (object){FRAME, (uint32_t)is.number};
}

static void put_memo(snapshot *s, int64_t number) {
    size_t at = number < 0 ? s->memo_count : (size_t)number;
    if (!s->top || at > s->memo_count + SPARE) {
        fail_at(s, "this is not a pickle: it remembers nothing, or under an odd number");
        return;
    }
    value v = s->stack[s->top - 1];
    GROW_TO(s->memo, at, s->memo_capacity);
    if (v.kind == INT) v = (value){OTHER, 0};
    s->memo[at] = (object){(uint8_t)v.kind, (uint32_t)v.number};
    if (at >= s->memo_count) s->memo_count = at + 1;
}

static void get_memo(snapshot *s, int64_t number) {
    if ((uint64_t)number >= s->memo_count)
        fail_at(s, "this is not a pickle: it knows nothing under that number");
    else push(s, (value){(value_kind)s->memo[number].kind, s->memo[number].number});
}

static void take_tuple(snapshot *s, int count) {
    size_t first = take_items(s, count, false);
    if (first == SIZE_MAX) return;
    s->top = first;
    push(s, (value){OTHER, 0});
}

static void take_op(snapshot *s, const pickle_op *op) {
    switch (op->kind) {
    case PICKLE_REFUSED: fail_at(s, op->why); break;
    case PICKLE_NOTHING: break;
    case PICKLE_STOP: s->stopped = true; break;
    case PICKLE_INT: push(s, (value){INT, op->number}); break;
    case PICKLE_TEXT: push(s, (value){TEXT, intern_clean(&s->texts, op->text)}); break;
    case PICKLE_OTHER: push(s, (value){OTHER, 0}); break;
    case PICKLE_LIST: push_object(s, LIST); break;
    case PICKLE_DICT: push_object(s, DICT); break;
    case PICKLE_TUPLE: take_tuple(s, (int)op->number); break;
    case PICKLE_APPEND: append(s, 1); break;
    case PICKLE_APPENDS: append(s, -1); break;
    case PICKLE_SETITEM: set_items(s, 2); break;
    case PICKLE_SETITEMS: set_items(s, -1); break;
    case PICKLE_PUT: put_memo(s, op->number); break;
    case PICKLE_GET: get_memo(s, op->number); break;
    case PICKLE_MARK:
        if (s->mark_count == DEEPEST) fail_at(s, "the pickle is more than 512 deep");
        else s->marks[s->mark_count++] = s->top;
        break;
    }
}

/* ---- The whole ---- */

static int is_snapshot(const void *first, size_t size) {
    const uint8_t *p = first;
    if (*p != 0x80) return 0;
    return size < 2 ? -1 : p[1] >= 2 && p[1] <= 5;
}

static void *open_snapshot(const source_desc *desc) {
    snapshot *s = allocate(sizeof *s);
    s->to = desc->to;
    s->path = desc->path;
    s->first_us = 1;
    s->open.forgets = true;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        intern(&s->texts, known[i], strlen(known[i]));
    intern(&s->stacks, "", 0);
    output_open_memory(&s->text);
    return s;
}

/* The opcodes that are whole; returns the bytes that they take. */
static size_t take_bytes(snapshot *s, const uint8_t *data, size_t size) {
    const uint8_t *p = data, *end = data + size;
    pickle_op op;
    while (!s->stopped && !s->to->failed) {
        size_t taken = pickle_next(p, end, &op);
        if (!taken) break;
        take_op(s, &op);
        p += taken;
        s->offset += taken;
    }
    return (size_t)(p - data);
}

static void push_bytes(void *source, const void *data, size_t size) {
    snapshot *s = source;
    if (s->stopped || s->to->failed) return;
    while (s->capacity - s->size < size) {
        s->capacity = s->capacity ? 2 * s->capacity : 1 << 16;
        s->bytes = reallocate(s->bytes, s->capacity);
    }
    memcpy(s->bytes + s->size, data, size);
    s->size += size;
    size_t taken = take_bytes(s, s->bytes, s->size);
    s->size -= taken;
    memmove(s->bytes, s->bytes + taken, s->size);
}

/* The blocks that were there before the traces begin, and still are. Without the traces' end nobody
   knows: it may have allocated them. */
static bool end_bytes(void *source) {
    enum { SOME = 200 };
    snapshot *s = source;
    if (s->stopped && !s->is_snapshot)
        fail_at(s, "this pickle is not a memory snapshot of PyTorch: it has no segments");
    if (!s->stopped && s->events && !s->next_block) s->next_block = s->segment_begin;
    for (int i = 0; i < SOME && s->next_block < s->segment_begin; i++) {
        const block *b = &s->blocks[s->next_block++];
        const uint64_t *open = map_get(&s->open, place_key(b->device, b->addr));
        change c = {.name = "[memory]", .device = b->device, .time_us = s->first_us - 1,
                    .addr = b->addr, .bytes = b->size, .call_stack = b->stack, .changes = true,
                    .before = true};
        if (b->active && !(open && *open)) put_change(s, &c);
    }
    return !s->to->failed && s->next_block < s->segment_begin;
}

static bool tell_bytes(void *source, const char *path) {
    const snapshot *s = source;
    if (s->cut)
        warn(path, "%llu times frames were appended to a stack of %d, or one by one: left out",
             (unsigned long long)s->cut, MOST_FRAMES);
    return tell_end(path, s->offset, s->stopped ? NULL : "the pickle ends early");
}

static void close_snapshot(void *source) {
    snapshot *s = source;
    void *all[] = {s->bytes, s->stack, s->objects, s->memo, s->blocks};
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) free(all[i]);
    map_free(&s->open);
    intern_free(&s->texts);
    intern_free(&s->frames);
    intern_free(&s->stacks);
    output_discard(&s->text);
    free(s);
}

const source_format snapshot_format = {
    is_snapshot, open_snapshot, push_bytes, end_bytes, tell_bytes, close_snapshot
};
