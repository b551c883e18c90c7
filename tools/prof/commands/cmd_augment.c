/* prof augment: the trace once more, with what its kernels compute and move written into them. */
#include "analysis/kernels.h"
#include "output/trace_writer.h"

#include <stdlib.h>
#include <string.h>

static int run(int argc, char **argv);

const command augment_command = {
    "augment", "[OPTION]... IN OUT", "write kernel_flop and kernel_num_gb into a trace's events",
    "  prof augment trace.json.gz augmented.json.gz\n"
    "      gives each kernel, and the op that launched it, its FLOPs and gigabytes;\n"
    "      all else stays, except that NaN and the like become JSON\n", run, 2, 2
};

static bool is_zero(const trace_member *member) {
    double value;
    return json_double(member->value, &value) && value == 0;
}

/* Adds an argument at the event's end, or at that of its arguments. */
static text_edit addition(const trace_event *event, const char *key, const char *number,
                          bool is_first, bool is_last) {
    bool has_args = event->args_text.size > 0;
    trace_text whole = has_args ? event->args_text : event->raw;
    text_edit edit = {.old = {whole.data + whole.size - 1, 0}};
    bool comma = !is_first || (has_args ? event->arg_count > 0 : event->raw.size > 2);
    snprintf(edit.text, sizeof edit.text, "%s%s\"%s\": %s%s", comma ? ", " : "",
             is_first && !has_args ? "\"args\": {" : "", key, number,
             is_last && !has_args ? "}" : "");
    return edit;
}

/* An argument that is there already stays, but 0, which PyTorch writes where it knows nothing. */
static size_t edit_event(const trace_event *event, const kernel_launch *made, text_edit edits[2]) {
    static const char *const keys[] = {"kernel_flop", "kernel_num_gb"};
    size_t count = 0;
    for (int i = 0; i < 2; i++) {
        const trace_member *old = trace_arg(event, keys[i]);
        char number[32];
        snprintf(number, sizeof number, i ? "%.9f" : "%.0f", i ? made->bytes * 1e-9 : made->flops);
        if (old && !is_zero(old)) continue;
        if (!old) edits[count] = addition(event, keys[i], number, count == 0, i == 1);
        else edits[count] = (text_edit){.old = old->value};
        if (old) strcpy(edits[count].text, number);
        count++;
    }
    return count;
}

/* What the table found, in the order of the file: so many are passed. */
typedef struct found { const kernel_table *table; size_t calls, launches; } found;

static kernel_launch amount_of(found *f, const trace_event *event) {
    const kernel_table *t = f->table;
    kernel_launch made = {0};
    if (trace_is_call(&t->trace, event) && f->calls < t->trace.call_count) {
        size_t at = f->calls++;
        uint32_t number = t->owned_ns[at] ? t->trace.calls[at].key : 0;
        if (number) made.flops = (double)t->amounts.list[number].flops;
        if (number) made.bytes = (double)t->amounts.list[number].bytes;
    } else if (event->phase == 'X' && event->kind == TRACE_KERNEL &&
               f->launches < t->launch_count) {
        made = t->launches[f->launches++];
    }
    return made;
}

static int copy(const kernel_table *table, const char *from, output *out) {
    trace_reader *reader = trace_open(from);
    if (!reader) return EXIT_BAD;
    found f = {.table = table};
    trace_writer w = {0};
    reader->quiet = true;                        /* all is reported already */
    reader->as_written = reader->with_text = true;
    while (trace_next(reader) != TRACE_END) {
        const trace_event *event = reader->event;
        text_edit edits[2];
        writer_begin_as(&w, out, reader);
        if (reader->item == TRACE_MEMBER)
            writer_member(&w, reader->member.key, reader->member.value);
        if (reader->item != TRACE_EVENT) continue;
        writer_event(&w);
        kernel_launch made = amount_of(&f, event);
        bool any = made.flops > 0 || made.bytes > 0;
        write_edited(out, event->raw, edits, any ? edit_event(event, &made, edits) : 0);
    }
    writer_begin_as(&w, out, reader);
    writer_end(&w);
    return trace_close(reader);
}

static int run(int argc, char **argv) {
    const option_spec options[] = {{NULL, 0, OPTION_FLAG, NULL, NULL, NULL}};
    int status, count = options_parse(&augment_command, options, argc, argv, &status);
    if (count < 0) return status;
    if (file_reads_once(argv[1]))
        return fail(argv[1], "augment reads its input twice, so it must be a file");
    static const text_list no_peaks;
    kernel_options kernels = {.peaks = &no_peaks, .as_written = true};
    kernel_table table = {0};
    output out;
    status = kernels_read(&table, &kernels, argv[1]);
    if (status == EXIT_OK && !output_rewrite(&out, argv[2])) status = EXIT_BAD;
    else if (status == EXIT_OK) status = output_close(&out, copy(&table, argv[1], &out));
    kernels_free(&table);
    return status;
}
