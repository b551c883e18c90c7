/* prof augment: the trace once more, with what its kernels compute and move written into them. */
#include "analysis/kernels.h"
#include "output/trace_writer.h"

#include <stdlib.h>
#include <string.h>

static int run(int argc, char **argv);

const command augment_command = {
    "augment", "[OPTION]... IN OUT", "write kernel_flop and kernel_num_gb into a trace's events",
    "  prof augment trace.json.gz augmented.json.gz\n"
    "      each kernel, and the op that launched it, gets its FLOPs and gigabytes;\n"
    "      all else stays, but NaN and the like, of which JSON is made\n", run
};

/* The members to add or to put right: 0 is what PyTorch writes where it knows nothing. */
typedef struct edit { const char *key; char text[48]; } edit;

static void set_amounts(edit edits[2], double flops, double bytes) {
    edits[0].key = "kernel_flop";
    edits[1].key = "kernel_num_gb";
    snprintf(edits[0].text, sizeof edits[0].text, "%.0f", flops);
    snprintf(edits[1].text, sizeof edits[1].text, "%.9f", bytes * 1e-9);
}

static bool is_zero(const trace_member *member) {
    double value;
    return json_double(member->value, &value) && value == 0;
}

/* Writes the event with these arguments; one that is there already, and not 0, stays. */
static void write_event(output *out, const trace_event *event, const edit edits[2]) {
    const char *done = event->raw.data, *end = event->raw.data + event->raw.size;
    bool has_args = event->args_text.size > 0;
    const char *place = has_args ? event->args_text.data + event->args_text.size - 1 : end - 1;
    char added[160];
    size_t size = 0;
    bool first = event->arg_count == 0;
    for (int i = 0; i < 2; i++) {
        const trace_member *old = trace_arg(event, edits[i].key);
        if (old && is_zero(old)) {
            output_write(out, done, (size_t)(old->value.data - done));
            output_text(out, edits[i].text);
            done = old->value.data + old->value.size;
        }
        if (old) continue;
        size += (size_t)snprintf(added + size, sizeof added - size, "%s\"%s\": %s",
                                 first ? "" : ", ", edits[i].key, edits[i].text);
        first = false;
    }
    output_write(out, done, (size_t)(place - done));
    if (!has_args && size)
        output_format(out, "%s\"args\": {%s}", event->raw.size > 2 ? ", " : "", added);
    else output_write(out, added, size);
    output_write(out, place, (size_t)(end - place));
}

/* What the table found, in the order of the file: so many are passed. */
typedef struct found { const kernel_table *table; size_t calls, launches; } found;

static kernel_launch amount_of(found *f, const trace_event *event) {
    const kernel_table *t = f->table;
    kernel_launch made = {0};
    if (trace_is_call(&t->trace, event) && f->calls < t->trace.call_count) {
        const call *c = &t->trace.calls[f->calls++];
        uint32_t number = c->more ? c->key : 0;
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
    reader->quiet = true;                        /* all is told already */
    reader->as_written = reader->with_text = true;
    while (trace_next(reader) != TRACE_END) {
        const trace_event *event = &reader->event;
        edit edits[2];
        writer_begin_as(&w, out, reader);
        if (reader->item == TRACE_MEMBER)
            writer_member(&w, reader->member.key, reader->member.value);
        if (reader->item != TRACE_EVENT) continue;
        writer_event(&w);
        kernel_launch made = amount_of(&f, event);
        if (made.flops > 0 || made.bytes > 0) {
            set_amounts(edits, made.flops, made.bytes);
            write_event(out, event, edits);
        } else {
            output_write(out, event->raw.data, event->raw.size);
        }
    }
    writer_begin_as(&w, out, reader);
    writer_end(&w);
    return trace_close(reader);
}

static int run(int argc, char **argv) {
    const option_spec options[] = {{NULL, 0, OPTION_FLAG, NULL, NULL, NULL}};
    int status, count = options_parse(&augment_command, options, argc, argv, &status);
    if (count < 0) return status;
    if (count != 2) return fail(NULL, "augment takes two files; see prof augment --help");
    if (file_reads_once(argv[1]))
        return fail(argv[1], "augment reads its input twice: it has to be a file");
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
