/* Writes traces: see trace_writer.h. */
#include "output/trace_writer.h"

#include <string.h>

void writer_begin(trace_writer *w, output *out, bool array_form) {
    *w = (trace_writer){.out = out, .array_form = array_form, .list = "traceEvents"};
    output_text(out, array_form ? "[" : "{");
    w->in_events = array_form;
}

void writer_begin_as(trace_writer *w, output *out, const trace_reader *reader) {
    if (w->out) return;
    writer_begin(w, out, reader->array_form);
    w->holds = reader->format != NULL;           /* in JSON all events stand in one list */
}

void writer_members(trace_writer *w) {
    if (w->in_events) output_text(w->out, "\n]");
    w->in_events = false;
    output_text(w->out, w->any_member ? ",\n" : "\n");
    w->any_member = true;
}

static void write_key(trace_writer *w, trace_text key) {
    writer_members(w);
    output_text(w->out, "\"");
    output_write(w->out, key.data, key.size);
    output_text(w->out, "\": ");
}

void writer_member(trace_writer *w, trace_text key, trace_text value) {
    if (w->array_form) return;
    if (w->holds && w->had_events) {
        if (!w->late.buffer) output_open_memory(&w->late);
        output_text(&w->late, ",\n\"");
        output_write(&w->late, key.data, key.size);
        output_text(&w->late, "\": ");
        output_write(&w->late, value.data, value.size);
        return;
    }
    write_key(w, key);
    output_write(w->out, value.data, value.size);
}

void writer_key(trace_writer *w, const char *key) { write_key(w, text_of(key)); }

void writer_event(trace_writer *w) {
    bool first = !w->had_events;
    if (!w->in_events) {
        writer_key(w, w->list);
        output_text(w->out, "[");
        w->in_events = true;
    }
    output_text(w->out, first ? "\n" : ",\n");
    w->had_events = true;
}

void writer_end(trace_writer *w) {
    if (!w->had_events && !w->array_form) {
        writer_key(w, w->list);
        output_text(w->out, "[");
        w->in_events = true;
    }
    if (w->in_events) output_text(w->out, "\n]");
    if (w->late.buffer) {
        size_t size;
        const char *late = output_memory(&w->late, &size);
        output_write(w->out, late, size);
        output_discard(&w->late);
    }
    output_text(w->out, w->array_form ? "\n" : "\n}\n");
}

static void begin_metadata(trace_writer *w, const char *what, writer_row row, const char *key) {
    writer_event(w);
    output_format(w->out, "{\"ph\": \"M\", \"name\": \"%s\", \"pid\": ", what);
    if (row.pid_text) output_json_text(w->out, row.pid_text, strlen(row.pid_text));
    else output_format(w->out, "%lld", (long long)row.pid);
    output_format(w->out, ", \"tid\": %lld, \"args\": {\"%s\": ", (long long)row.tid, key);
}

void writer_name(trace_writer *w, const char *what, writer_row row, const char *name) {
    begin_metadata(w, what, row, strcmp(what, "process_labels") == 0 ? "labels" : "name");
    output_json_text(w->out, name, strlen(name));
    output_text(w->out, "}}");
}

void writer_sort_index(trace_writer *w, const char *what, writer_row row, int64_t index) {
    begin_metadata(w, what, row, "sort_index");
    output_format(w->out, "%lld}}", (long long)index);
}

text_edit us_edit(trace_text old, int64_t ns) {
    text_edit edit = {.old = old};
    us_text(ns, edit.text);
    return edit;
}

void writer_put(trace_writer *w, const trace_event *event) {
    writer_event(w);
    event_write(w->out, event);
}

void write_edited(output *out, trace_text raw, text_edit *edits, size_t count) {
    const char *done = raw.data, *end = raw.data + raw.size;
    for (size_t i = 1; i < count; i++) {
        text_edit moved = edits[i];
        size_t place = i;
        for (; place && edits[place - 1].old.data > moved.old.data; place--)
            edits[place] = edits[place - 1];
        edits[place] = moved;
    }
    for (size_t i = 0; i < count; i++) {
        output_write(out, done, (size_t)(edits[i].old.data - done));
        output_text(out, edits[i].text);
        done = edits[i].old.data + edits[i].old.size;
    }
    output_write(out, done, (size_t)(end - done));
}
