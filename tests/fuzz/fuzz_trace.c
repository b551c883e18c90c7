/* Damaged traces through the prof command: fuzz_trace ROUNDS SEED-FILE...
   Takes each file as it is, then changes it at random, ROUNDS times, and runs commands on it. What
   it looks for: a crash, what the sanitizers that it is built with find, and output that is not
   JSON though the input was. With -DLIBFUZZER a libFuzzer target: see make fuzz. */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <yajl/yajl_parse.h>

#ifndef TEST_LIBRARY
#  define PROF_IMPLEMENTATION
#endif
#include "../../tools/prof/losses.h"

extern const command report_command, analyze_command, diff_command, augment_command,
    validate_command, stacks_command, flamegraph_command, gaps_command, memory_command, cut_command,
    merge_command, import_command, decode_command, et_command;

static char input[] = "fuzz_input.json", output_file[] = "fuzz_output.json",
            nowhere[] = "/dev/null";

static int run(const command *c, const char *const *words) {
    char *argv[8] = {0};
    int argc = 0;
    for (; words[argc]; argc++) argv[argc] = (char *)(uintptr_t)words[argc];
    int status = c->run(argc, argv);
    losses_forget();
    return status;
}

static bool is_json(const void *data, size_t size) {
    yajl_handle parser = yajl_alloc(NULL, NULL, NULL);
    bool is = yajl_parse(parser, data, size) == yajl_status_ok &&
              yajl_complete_parse(parser) == yajl_status_ok;
    yajl_free(parser);
    return is;
}

/* Runs a command that writes JSON, and reads what it wrote. */
static void check_json(const command *c, const char *const *words) {
    static char text[1 << 20];
    remove(output_file);
    int status = run(c, words);
    FILE *file = fopen(output_file, "rb");
    if (!file) {
        if (status == EXIT_OK) abort();
        return;
    }
    size_t size = fread(text, 1, sizeof text, file);
    fclose(file);
    if (size < sizeof text && !is_json(text, size)) abort();
}

/* What writes JSON of its own, whatever the input is like. */
static void check_reports(void) {
    const command *const commands[] = {&report_command, &analyze_command, &gaps_command,
                                       &validate_command, &memory_command};
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++)
        check_json(commands[i], (const char *[]){commands[i]->name, "--format=json", "-o",
                                                 output_file, input, NULL});
    check_json(&diff_command, (const char *[]){"diff", "--format=json", "-o", output_file, input,
                                               input, NULL});
    check_json(&import_command, (const char *[]){"import", "-o", output_file, input, NULL});
    check_json(&decode_command, (const char *[]){"decode", "-o", output_file, input, NULL});
}

static void try_input(const void *data, size_t size) {
    FILE *file = fopen(input, "wb");
    if (!file || fwrite(data, 1, size, file) != size || fclose(file)) exit(2);
    run(&report_command, (const char *[]){"report", "-o", nowhere, "--group-by-stack=2",
                                          "--group-by-input-shape", input, NULL});
    run(&report_command, (const char *[]){"report", "-o", nowhere, "--format=html",
                                          "--merge-duplicates", input, NULL});
    run(&analyze_command, (const char *[]){"analyze", "-o", nowhere, input, NULL});
    run(&report_command, (const char *[]){"report", "-o", nowhere, "--no-device", "--flops", input,
                                          NULL});
    run(&diff_command, (const char *[]){"diff", "-o", nowhere, "--rates", input, input, NULL});
    run(&validate_command, (const char *[]){"validate", "-o", nowhere, input, NULL});
    run(&stacks_command, (const char *[]){"stacks", "-o", nowhere, input, NULL});
    run(&flamegraph_command, (const char *[]){"flamegraph", "-o", nowhere, input, NULL});
    run(&gaps_command, (const char *[]){"gaps", "-o", nowhere, input, NULL});
    run(&memory_command, (const char *[]){"memory", "-o", nowhere, input, NULL});
    run(&memory_command, (const char *[]){"memory", "-o", nowhere, "--format=html", input, NULL});
    run(&merge_command, (const char *[]){"merge", "-o", nowhere, "--align=collectives", input,
                                         input, NULL});
    check_reports();
    run(&et_command, (const char *[]){"et", "-o", nowhere, "--link", input, input, NULL});
    run(&et_command, (const char *[]){"et", input, NULL});
    if (!is_json(data, size)) {
        run(&augment_command, (const char *[]){"augment", input, nowhere, NULL});
        run(&cut_command, (const char *[]){"cut", "--step=1", "-o", nowhere, input, NULL});
        return;
    }
    check_json(&augment_command, (const char *[]){"augment", input, output_file, NULL});
    check_json(&cut_command, (const char *[]){"cut", "--to=1s", "-o", output_file, input, NULL});
    check_json(&merge_command, (const char *[]){"merge", "-o", output_file, input, input, NULL});
}

#ifdef LIBFUZZER
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    try_input(data, size);
    return 0;
}
#else
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
