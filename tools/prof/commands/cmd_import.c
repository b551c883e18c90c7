/* prof import: a profile of nvprof or of Nsight Systems (both SQLite) as a trace. */
#include "base/common.h"
#include "input/event_source.h"
#include "input/trace_reader.h"
#include "output/trace_writer.h"

static int run(int argc, char **argv);

const command import_command = {
    "import", "[OPTION]... FILE", "a profile of nvprof or nsys as a trace",
    "  nsys export --type sqlite -o run.sqlite run.nsys-rep\n"
    "  prof import run.sqlite -o run.json.gz\n"
    "      every other command reads run.sqlite, too: prof report run.sqlite\n"
    "  nvprof -o run.nvvp python train.py\n"
    "  prof import run.nvvp | prof report -\n"
    "      ranges of torch.autograd.profiler.emit_nvtx become ops with sequence\n"
    "      numbers, shapes\n",
    run
};

static int import(trace_reader *reader, output *out) {
    trace_writer w;
    writer_begin(&w, out, false);
    reader->as_written = true;
    while (trace_next(reader) != TRACE_END) {
        if (reader->item == TRACE_MEMBER)
            writer_member(&w, reader->member.key, reader->member.value);
        else if (reader->item == TRACE_EVENT) writer_put(&w, &reader->event);
        if (reader->format != &import_format) break;
    }
    if (reader->format != &import_format && !reader->failed)
        reader->failed = fail(reader->path, "this is no profile of nvprof or nsys; of other "
                                            "traces prof export makes JSON");
    writer_end(&w);
    return trace_close(reader);
}

static int run(int argc, char **argv) {
    const char *path = NULL;
    output out;
    const option_spec options[] = {
        {"output", 'o', OPTION_TEXT, &path, "FILE", "instead of stdout; .gz by its ending"},
        {NULL, 0, OPTION_FLAG, NULL, NULL, NULL}
    };
    int status, count = options_parse(&import_command, options, argc, argv, &status);
    if (count < 0) return status;
    if (count != 1) return fail(NULL, "import takes one file; see prof import --help");
    trace_reader *reader = trace_open(argv[1]);
    if (!reader) return EXIT_BAD;
    if (output_open(&out, path)) return output_close(&out, import(reader, &out));
    trace_close(reader);
    return EXIT_BAD;
}
