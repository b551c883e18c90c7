/* Traces of any kind through the prof command: fuzz_trace ROUNDS FILE...
   Runs every command on each file as it is, and on ROUNDS copies that it changes at random. What it
   looks for: a crash, what the sanitizers that it is built with find, and output that is no strict
   JSON. With -DLIBFUZZER a libFuzzer target, whose input's first byte chooses one
   command and the rest is the file; tests/fuzz/fuzz.sh counts the lines of `runs`. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yajl/yajl_parse.h>

#include "../../tools/prof/base/files.h"
#include "../../tools/prof/input/losses.h"
#include "mend.h"

extern const command report_command, analyze_command, diff_command, augment_command,
    validate_command, stacks_command, flamegraph_command, gaps_command, ranks_command,
    steps_command, memory_command, cut_command, merge_command, decode_command,
    et_command, export_command;

static char input[] = "fuzz_input.json", output_file[] = "fuzz_output.json",
            pftrace_file[] = "fuzz_output.pftrace", folded_file[] = "fuzz_output.folded",
            pprof_file[] = "fuzz_output.pb.gz", csv_file[] = "fuzz_output.csv",
            parquet_file[] = "fuzz_output.parquet", database_file[] = "fuzz_output.sqlite",
            nowhere[] = "/dev/null";

static int run(const command *c, const char *const *words) {
    char *argv[9] = {0};
    int argc = 0;
    for (; argc < 8 && words[argc]; argc++) argv[argc] = (char *)(uintptr_t)words[argc];
    int status = c->run(argc, argv);
    losses_forget();
    inputs_forget();
    return status;
}

static bool is_json(const void *data, size_t size) {
    yajl_handle parser = yajl_alloc(NULL, NULL, NULL);
    bool is = yajl_parse(parser, data, size) == yajl_status_ok &&
              yajl_complete_parse(parser) == yajl_status_ok;
    yajl_free(parser);
    return is;
}

/* A command on the input, whatever that is, and its output: to nowhere; JSON; a page with JSON. */
enum result { ANY, JSON, PAGE };
typedef struct fuzz_run { const command *c; enum result result; const char *words[8]; } fuzz_run;

static bool has_data(char *text) {
    char *data = strstr(text, "id=\"data\">\n"), *end = data ? strstr(data, "</script>") : NULL;
    return end && is_json(data + 11, (size_t)(end - data) - 11);
}

/* Runs a command that writes JSON, and reads what it wrote. */
static void check_json(const command *c, const char *const *words, enum result result) {
    static char text[(1 << 20) + 1];
    remove(output_file);
    int status = run(c, words);
    FILE *file = fopen(output_file, "rb");
    if (!file) {
        if (status == EXIT_OK) abort();
        return;
    }
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    text[size] = '\0';
    if (size == sizeof text - 1) return;                 /* cut off here */
    if (result == PAGE ? !has_data(text) : !is_json(text, size)) abort();
}

static const fuzz_run runs[] = {
    {&report_command, JSON, {"report", "--format=json", "-o", output_file, input}},
    {&report_command, ANY, {"report", "-o", nowhere, "--group-by-stack=2",
                            "--group-by-input-shape", "--group-by-overload", input}},
    {&report_command, PAGE, {"report", "-o", output_file, "--format=html", "--merge-duplicates",
                             input}},
    {&report_command, ANY, {"report", "-o", nowhere, "--no-device", "--flops", input}},
    {&report_command, JSON, {"report", "--percentiles", "--format=json", "-o", output_file,
                             "--group-by-stack=2", "--group-by-input-shape", input}},
    {&diff_command, ANY, {"diff", "-o", nowhere, "--metric=p95", "--threshold=1", input, input}},
    {&report_command, ANY, {"report", "-o", nowhere, "--format=csv", "--name=a", "--to=1s",
                            input}},
    {&analyze_command, JSON, {"analyze", "--format=json", "-o", output_file, input}},
    {&analyze_command, ANY, {"analyze", "-o", nowhere, input}},
    {&diff_command, JSON, {"diff", "--format=json", "-o", output_file, input, input}},
    {&diff_command, ANY, {"diff", "-o", nowhere, "--rates", input, input}},
    {&validate_command, JSON, {"validate", "--format=json", "-o", output_file, input}},
    {&stacks_command, ANY, {"stacks", "-o", nowhere, input}},
    {&stacks_command, ANY, {"stacks", "-o", nowhere, "--threads",
                            "--metric=self_cuda_time_total", input}},
    {&flamegraph_command, ANY, {"flamegraph", "-o", nowhere, input}},
    {&flamegraph_command, ANY, {"flamegraph", "-o", nowhere, "--frames-only", "--diff", input,
                                input}},
    {&gaps_command, JSON, {"gaps", "--format=json", "-o", output_file, input}},
    {&gaps_command, ANY, {"gaps", "--by=op", "--streams", "-o", nowhere, input}},
    {&ranks_command, JSON, {"ranks", "--format=json", "--align=collectives", "-o", output_file,
                            input, input}},
    {&ranks_command, ANY, {"ranks", "-o", nowhere, input}},
    {&steps_command, JSON, {"steps", "--name=.", "--critical", "--format=json", "-o", output_file,
                            input}},
    {&steps_command, ANY, {"steps", "--name=.", "--worst=9", "-o", nowhere, input, input}},
    {&memory_command, JSON, {"memory", "--by=op", "--format=json", "-o", output_file, input}},
    {&memory_command, ANY, {"memory", "-o", nowhere, "--format=html", input}},
    {&memory_command, JSON, {"memory", "--format=raw", "-o", output_file, input}},
    {&merge_command, JSON, {"merge", "-o", output_file, "--align=collectives", input, input}},
    {&cut_command, JSON, {"cut", "--from=1", "--to=1s", "-o", output_file, input}},
    {&cut_command, JSON, {"cut", "--step=1", "-o", output_file, input}},
    {&augment_command, JSON, {"augment", input, output_file}},
    {&et_command, JSON, {"et", "-o", output_file, "--link", input, input}},
    {&et_command, ANY, {"et", input}},
    {&decode_command, JSON, {"decode", "-o", output_file, input}},
    {&diff_command, PAGE, {"diff", "-o", output_file, "--format=html", "--metric=p90", input,
                           input}},
    {&export_command, ANY, {"export", "-o", pftrace_file, input}},
    {&export_command, ANY, {"export", "-o", pftrace_file, input, input}},
    {&export_command, ANY, {"export", "-o", folded_file, input}},
    {&export_command, ANY, {"export", "-o", pprof_file, input, input}},
    {&export_command, ANY, {"export", "-o", csv_file, input, input}},
    {&export_command, ANY, {"export", "-o", parquet_file, input}},
    {&export_command, ANY, {"export", "-o", database_file, input}},
    {&export_command, JSON, {"export", "--lanes", "-o", output_file, input}}
};
enum { RUNS = sizeof runs / sizeof *runs };

static void write_input(const void *data, size_t size) {
    FILE *file = fopen(input, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file)) exit(2);
}

static void try_run(const fuzz_run *r) {
    if (r->result != ANY) check_json(r->c, r->words, r->result);
    else run(r->c, r->words);
}

#ifdef LIBFUZZER
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static uint32_t words[1 << 14];
    if (size == 0 || size > sizeof words) return 0;
    memcpy(words, data + 1, size - 1);
    mend_all(words, (size - 1) / 4);         /* blocks of a raw stream */
    write_input(words, size - 1);
    try_run(&runs[data[0] % RUNS]);
    return 0;
}
#else
static void try_input(const void *data, size_t size) {
    write_input(data, size);
    for (size_t i = 0; i < RUNS; i++) try_run(&runs[i]);
}

static uint32_t state = 1;
static uint32_t next_random(void) { return (state = state * 1664525u + 1013904223u) >> 8; }

/* Bytes that mean something in a trace are likelier than others. */
static char any_byte(void) {
    static const char likely[] = "{}[]\",:\\u0123456789.-eENaInfXsfi \n";
    return next_random() % 3 ? likely[next_random() % (sizeof likely - 1)]
                             : (char)(next_random() & 255);
}

static size_t damage(char *text, size_t size) {
    for (unsigned n = 1 + next_random() % 6; n && size > 8; n--) {
        size_t at = next_random() % size, other = next_random() % size;
        size_t piece = next_random() % 40;
        if (piece > size - at) piece = size - at;
        switch (next_random() % 4) {
        case 0: text[at] = any_byte(); break;
        case 1: text[at] = (char)(text[at] ^ 1 << next_random() % 8); break;
        case 2:                                            /* a piece is gone */
            memmove(text + at, text + at + piece, size - at - piece);
            size -= piece;
            break;
        default:                                           /* a piece stands elsewhere too */
            if (other + piece <= size) memmove(text + other, text + at, piece);
        }
    }
    return next_random() % 8 ? size : next_random() % (size + 1);
}

int main(int argc, char **argv) {
    static char seed[1 << 16], text[1 << 16];
    int rounds = argc > 1 ? atoi(argv[1]) : 0;
    if (!freopen("/dev/null", "w", stderr) && rounds < 0) return 2;
    for (int i = 2; i < argc; i++) {
        FILE *file = fopen(argv[i], "rb");
        if (!file) return 2;
        size_t size = fread(seed, 1, sizeof seed, file);
        fclose(file);
        try_input(seed, size);
        for (int round = 0; round < rounds; round++) {
            memcpy(text, seed, size);
            try_input(text, damage(text, size));
        }
    }
    remove(input);
    puts("done");
    return 0;
}
#endif
