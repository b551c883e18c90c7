/* The threads of a trace, their processes, and what it calls them: see trace.h. */
#include "trace/trace.h"

#include <stdlib.h>

static uint32_t text_number(struct trace *t, trace_text text) {
    return text.data ? intern(&t->names, text.data, text.size) : NO_CALL;
}

uint32_t trace_process(struct trace *t, const trace_event *event) {
    bool is_new;
    uint64_t *number = map_put(&t->process_numbers, (uint64_t)event->pid, &is_new);
    if (!is_new) return (uint32_t)*number;
    GROW(t->processes, t->process_count, t->process_capacity);
    t->processes[t->process_count] = (call_process){
        event->pid, text_number(t, event->pid_text), NO_CALL, NO_CALL
    };
    return (uint32_t)(*number = t->process_count++);
}

static uint32_t new_thread(struct trace *t, const trace_event *event) {
    GROW(t->threads, t->thread_count, t->thread_capacity);
    t->threads[t->thread_count] = (call_thread){
        event->pid, event->tid, text_number(t, event->pid_text), text_number(t, event->tid_text),
        NO_CALL, trace_process(t, event)
    };
    return (uint32_t)t->thread_count++;
}

uint32_t trace_thread(struct trace *t, const trace_event *event) {
    uint64_t key = hash_mix((uint64_t)event->pid) * 31 + (uint64_t)event->tid;
    bool is_new;
    if (t->last_thread.any && t->last_thread.key == key) return t->last_thread.number;
    uint64_t *number = map_put(&t->thread_numbers, key, &is_new);
    if (is_new) *number = new_thread(t, event);
    t->last_thread.key = key;
    t->last_thread.number = (uint32_t)*number;
    t->last_thread.any = true;
    return (uint32_t)*number;
}

void trace_take_name(struct trace *t, const trace_event *event) {
    bool labels = text_is(event->name, "process_labels");
    bool of_thread = text_is(event->name, "thread_name");
    const trace_member *arg = trace_arg(event, labels ? "labels" : "name");
    if (!arg || !json_is_text(arg->value)) return;
    if (!labels && !of_thread && !text_is(event->name, "process_name")) return;
    size_t size = json_decode(arg->value, NULL, 0);
    char *text = allocate(size + 1);
    json_decode(arg->value, text, size + 1);
    uint32_t name = intern(&t->names, text, size);
    free(text);
    if (of_thread) {
        uint32_t number = trace_thread(t, event);            /* it may move the threads */
        t->threads[number].name = name;
    } else {
        uint32_t number = trace_process(t, event);
        *(labels ? &t->processes[number].labels : &t->processes[number].name) = name;
    }
}

const char *trace_words(const struct trace *t, uint32_t name) {
    return name == NO_CALL ? NULL : interned_text(&t->names, name);
}

const char *trace_process_name(const struct trace *t, uint32_t number) {
    const call_process *p = &t->processes[number];
    return trace_words(t, p->name != NO_CALL ? p->name : p->text);
}

const char *trace_thread_name(const struct trace *t, uint32_t number) {
    const call_thread *thread = &t->threads[number];
    return trace_words(t, thread->name != NO_CALL ? thread->name : thread->tid_text);
}
