/* What sources have made: see event_source.h. */
#include "input/event_source.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

void queue_odd(event_queue *q, const char *field, const char *unit, uint64_t where,
               const char *format, ...) {
    va_list more;
    if (q->odd++) return;
    int used = snprintf(q->first_odd, sizeof q->first_odd, "%.60s of %s %llu ", field, unit,
                        (unsigned long long)where);
    va_start(more, format);
    vsnprintf(q->first_odd + used, sizeof q->first_odd - (size_t)used, format, more);
    va_end(more);
}

bool queue_fits(event_queue *q, const char *field, const char *unit, uint64_t where, int64_t number,
                uint64_t most) {
    bool fits = number >= 0 && (uint64_t)number <= most;
    if (!fits)
        queue_odd(q, field, unit, where, "is %lld, not 0 to %llu", (long long)number,
                  (unsigned long long)most);
    return fits;
}

void queue_no_number(event_queue *q, const char *field, uint64_t byte, trace_text value) {
    if (value.size && *value.data == '"') queue_odd(q, field, "byte", byte, "is a text");
    else queue_odd(q, field, "byte", byte, "is %.*s", value.size < 40 ? (int)value.size : 40,
                   value.data);
}

static queued *add_item(event_queue *q, trace_item item) {
    GROW(q->items, q->count, q->capacity);
    queued *new_item = &q->items[q->count++];
    new_item->item = item;
    return new_item;
}

trace_event *queue_event(event_queue *q, char phase, trace_text category, trace_text name) {
    trace_event *event = &add_item(q, TRACE_EVENT)->event;
    trace_event_clear(event);
    event->phase = phase;
    event->has = TRACE_HAS_PHASE | TRACE_HAS_NAME | TRACE_HAS_PID | TRACE_HAS_TID;
    event->name = name;
    if (!category.data) return event;
    event->cat = category;
    event->has |= TRACE_HAS_CAT;
    return event;
}

trace_event *queue_timed(event_queue *q, char phase, trace_text category, trace_text name,
                         int64_t ts_ns) {
    trace_event *event = queue_event(q, phase, category, name);
    event->ts_ns = ts_ns;
    event->has |= TRACE_HAS_TS;
    return event;
}

void queue_until(trace_event *event, int64_t dur_ns) {
    event->dur_ns = dur_ns;
    event->has |= TRACE_HAS_DUR;
    event->kind = trace_kind_of(event->cat);
}

void queue_label(event_queue *q, const char *what, int64_t pid, int64_t tid, trace_text label) {
    trace_event *event = queue_event(q, 'M', (trace_text){NULL, 0}, text_of(what));
    event->pid = pid;
    event->tid = tid;
    queue_begin_args(q);
    queue_string(q, strcmp(what, "process_labels") == 0 ? "labels" : "name", label);
    queue_end_args(q, event);
}

void queue_device(event_queue *q, const char *kind, int64_t device) {
    char text[40];
    snprintf(text, sizeof text, "%s %lld", kind, (long long)device);
    queue_label(q, "process_labels", device, 0, text_of(text));
}

void queue_id(event_queue *q, trace_event *event, int64_t id) {
    char text[24];
    int size = snprintf(text, sizeof text, "%lld", (long long)id);
    event->id = queue_copy(q, (trace_text){text, (size_t)size});
    event->has |= TRACE_HAS_ID;
}

trace_text queue_copy(event_queue *q, trace_text text) {
    return (trace_text){arena_text(&q->texts, text.data, text.size), text.size};
}

trace_text queue_clean(event_queue *q, trace_text text) {
    size_t size = text_clean(text, NULL, 0);
    if (size == text.size) return queue_copy(q, text);
    char *clean = arena_allocate(&q->texts, size + 1);
    text_clean(text, clean, size);
    return (trace_text){clean, size};
}

trace_text queue_decoded(event_queue *q, trace_text json) {
    size_t size = json_decode(json, NULL, 0);
    char *text = arena_allocate(&q->texts, size + 1);
    json_decode(json, text, size + 1);
    return (trace_text){text, size};
}

void queue_args(event_queue *q, trace_event *event, trace_text args) {
    enum { FEW = 16 };
    trace_text text = queue_copy(q, args), rest = text;
    trace_member few[FEW], member;
    event->args_text = text;
    event->has |= TRACE_HAS_ARGS;
    while (json_next(&rest, &member.key, &member.value)) {
        if (event->arg_count < FEW) few[event->arg_count] = member;
        event->arg_count++;
        event->arg_bits |= key_bit(member.key);
    }
    trace_member *members = arena_allocate(&q->texts, event->arg_count * sizeof *members);
    event->args = members;
    if (event->arg_count <= FEW) {
        memcpy(members, few, event->arg_count * sizeof *members);
        return;
    }
    rest = text;
    for (size_t i = 0; i < event->arg_count; i++)
        json_next(&rest, &members[i].key, &members[i].value);
}

output *queue_begin_args(event_queue *q) {
    if (q->has_args) output_forget(&q->args);
    else output_open_memory(&q->args);
    q->has_args = true;
    q->arg_count = 0;
    output_text(&q->args, "{");
    return &q->args;
}

output *queue_arg(event_queue *q, trace_text key) {
    output *out = &q->args;
    output_text(out, q->arg_count ? ", \"" : "\"");
    GROW(q->places, q->arg_count, q->place_capacity);
    q->places[q->arg_count].key = output_size(out);
    output_write(out, key.data, key.size);
    output_text(out, "\": ");
    q->places[q->arg_count++].value = output_size(out);
    return out;
}

void queue_int(event_queue *q, const char *key, int64_t value) {
    output_int(queue_arg(q, text_of(key)), value);
}

void queue_string(event_queue *q, const char *key, trace_text value) {
    output_json_text(queue_arg(q, text_of(key)), value.data, value.size);
}

/* What stands between a key and its value, and behind that, is as queue_arg writes it. */
void queue_end_args(event_queue *q, trace_event *event) {
    trace_text text;
    size_t count = event->arg_count = q->arg_count;
    output_text(&q->args, "}");
    text.data = output_memory(&q->args, &text.size);
    if (text.size == 2) return;
    if (!count) {
        queue_args(q, event, text);
        return;
    }
    event->args_text = text = queue_copy(q, text);
    event->has |= TRACE_HAS_ARGS;
    trace_member *members = arena_allocate(&q->texts, count * sizeof *members);
    event->args = members;
    for (size_t i = 0; i < count; i++) {
        size_t key = q->places[i].key, value = q->places[i].value;
        size_t end = i + 1 < count ? q->places[i + 1].key - 3 : text.size - 1;
        members[i] = (trace_member){{text.data + key, value - key - 3},
                                    {text.data + value, end - value}};
        event->arg_bits |= key_bit(members[i].key);
    }
}

void queue_text(event_queue *q, trace_text json) {
    const trace_text none = {NULL, 0};
    queue_event(q, 0, none, none)->raw = queue_copy(q, json);
}

void queue_member(event_queue *q, trace_text key, trace_text value) {
    add_item(q, TRACE_MEMBER)->member = (trace_member){queue_copy(q, key), queue_copy(q, value)};
}

void queue_members(event_queue *q, trace_text object) {
    trace_text rest = queue_copy(q, object), key, value;
    while (json_next(&rest, &key, &value))
        add_item(q, TRACE_MEMBER)->member = (trace_member){key, value};
}

queued *queue_next(event_queue *q) {
    if (q->next < q->count) return &q->items[q->next++];
    q->next = q->count = 0;
    arena_clear(&q->texts);
    return NULL;
}

void queue_free(event_queue *q) {
    free(q->items);
    free(q->places);
    if (q->has_args) output_discard(&q->args);
    arena_free(&q->texts);
}

/* Of those that began together, too, the outer one comes first. */
static void make_call(const frame_stack *s, event_queue *to, const interner *names,
                      held_frame ended) {
    const struct interned *name = &names->entries[ended.frame.name];
    trace_event *event = queue_timed(to, 'X', text_of("cpu_op"),
                                     (trace_text){name->text, name->size}, ended.frame.start_ns);
    event->pid = s->pid;
    event->tid = s->tid;
    queue_until(event, ended.end_ns - ended.frame.start_ns);
    event->depth = (int32_t)ended.depth;
}

/* Those that began then: the last to be held is the outermost. */
static void release_frames(frame_stack *s, event_queue *to, const interner *names, int64_t ns) {
    while (s->held_count && s->held[s->held_count - 1].frame.start_ns == ns)
        make_call(s, to, names, s->held[--s->held_count]);
}

static void close_frames(frame_stack *s, event_queue *to, const interner *names, size_t depth,
                         int64_t now_ns) {
    size_t first = depth;                /* that began later than the one that stays open */
    while (depth && first < s->depth && s->frames[first].start_ns == s->frames[depth - 1].start_ns)
        first++;
    for (size_t end = s->depth, from; end > first; end = from) {     /* those of one begin */
        int64_t ns = s->frames[end - 1].start_ns;
        for (from = end; from > first && s->frames[from - 1].start_ns == ns; from--) {}
        for (size_t i = from; i < end; i++)
            make_call(s, to, names, (held_frame){s->frames[i], i, now_ns});
        release_frames(s, to, names, ns);
    }
    while (first > depth) {
        first--;
        GROW(s->held, s->held_count, s->held_capacity);
        s->held[s->held_count++] = (held_frame){s->frames[first], first, now_ns};
    }
    if (s->depth > depth) s->depth = depth;
}

void frames_free(frame_stack *s) {
    free(s->frames);
    free(s->held);
}

void frames_are(frame_stack *s, event_queue *to, const interner *names, size_t same,
                const uint32_t *frames, size_t depth, int64_t now_ns) {
    while (same < depth && same < s->depth && s->frames[same].name == frames[same]) same++;
    close_frames(s, to, names, same, now_ns);
    while (s->depth < depth) {
        GROW(s->frames, s->depth, s->capacity);
        s->frames[s->depth] = (open_frame){frames[s->depth], now_ns};
        s->depth++;
    }
}

uint32_t intern_clean(interner *names, trace_text text) {
    size_t size = text_clean(text, NULL, 0);
    if (size == text.size) return intern(names, text.data, size);
    char *clean = allocate(size);
    text_clean(text, clean, size);
    uint32_t number = intern(names, clean, size);
    free(clean);
    return number;
}

bool tell_end(const char *path, uint64_t offset, const char *why) {
    if (why) warn(path, "byte %llu: %s; read up to there", (unsigned long long)offset, why);
    return why != NULL;
}
