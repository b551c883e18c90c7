/* prof validate: counts for now. */
#include "common.h"
#include "trace_reader.h"

static int run(int argc, char **argv);

const command validate_command = {
    "validate", "[OPTION]... TRACE", "check a trace against the rules, with byte offsets", "", run
};

static int run(int argc, char **argv) {
    static const option_spec options[] = {{0}};
    int status, count = options_parse(&validate_command, options, argc, argv, &status);
    if (count < 0) return status;
    if (count == 0) return fail(NULL, "validate needs a trace; see prof validate --help");
    trace_reader *reader = trace_open(argv[1]);
    if (!reader) return EXIT_BAD;
    int64_t sum = 0;
    uint64_t n = 0, a = 0;
    while (trace_next(reader) != TRACE_END) {
        if (reader->item != TRACE_EVENT) continue;
        if (reader->event.phase == 'X') sum += reader->event.dur_ns, n++;
        a += reader->event.arg_count;
    }
    printf("%llu events, %llu X, %lld ns, %llu args\n", (unsigned long long)reader->events,
           (unsigned long long)n, (long long)sum, (unsigned long long)a);
    return trace_close(reader);
}
