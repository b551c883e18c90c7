/* The prof command: reads, analyses, compares, merges and shows PyTorch's and prof.h's traces. */
#include "base/common.h"
#include "input/losses.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif

extern const command report_command, analyze_command, diff_command, augment_command,
    validate_command, stacks_command, flamegraph_command, gaps_command, ranks_command,
    steps_command, memory_command, cut_command, merge_command, et_command,
    decode_command, export_command, record_command, window_command, top_command;

static const command *const commands[] = {
    &report_command, &analyze_command, &diff_command, &augment_command, &validate_command,
    &stacks_command, &flamegraph_command, &gaps_command, &ranks_command, &steps_command,
    &memory_command, &cut_command, &merge_command, &et_command,
    &decode_command, &export_command, &record_command, &window_command, &top_command, NULL
};

static void print_commands(void) {
    puts("usage: prof COMMAND [OPTION]... [FILE]...\n\n"
         "Reads traces of the PyTorch profiler (any year since 2021), record streams of its\n"
         "older profiler, everything that prof.h writes, and Perfetto's .pftrace; profiles of\n"
         "nvprof, nsys, rpd, rocprofv3, Ascend, XLA, V8, Firefox; torch's memory snapshots.\n"
         "Input is plain or gzipped, from a file or from stdin (-).\n\nCommands");
    for (int i = 0; commands[i]; i++)
        printf("  %-12s %s\n", commands[i]->name, commands[i]->summary);
    puts("\n`prof COMMAND --help` lists the command's options, with examples; `prof --version`\n"
         "prints the version. Exit status: 0: done. 1: done, but there are findings\n"
         "(validate, et, diff --threshold), the input ends early, or nothing was cut out;\n"
         "the input is then not overwritten. 2: wrong usage or bad input, of which the\n"
         "readable part may still be reported.");
}

static void on_large_file(int number) { (void)number; }

/* A file gets too large for the process: what writes it fails then, and says so. A program that
   record starts has the signal as it was. */
static void survive_large_files(void) {
    struct sigaction action, known;
    memset(&action, 0, sizeof action);
    action.sa_handler = on_large_file;
    if (sigaction(SIGXFSZ, NULL, &known) == 0 && known.sa_handler == SIG_DFL)
        sigaction(SIGXFSZ, &action, NULL);
}

/* What was printed is written, or the command has failed. */
static int end_of(int status) {
    if (status == EXIT_BAD || (fflush(stdout) == 0 && !ferror(stdout))) return status;
    return fail("stdout", "cannot be written: %s", strerror(errno));
}

/* The numbers of stdin, stdout and stderr go to no other file: where one is closed, reading and
   writing fail. */
static void keep_numbers(void) {
    for (int fd = 0; fd < 3; fd++)
        if (fcntl(fd, F_GETFD) < 0) open("/dev/null", (fd ? O_RDONLY : O_WRONLY) | O_CLOEXEC);
}

/* Large arrays grow by moving pages. Else glibc, once it has freed one, copies those below 32 MB,
   and leaves holes. */
static void map_large_arrays(void) {
#ifdef __GLIBC__
    mallopt(M_MMAP_THRESHOLD, 1 << 20);
#endif
}

int main(int argc, char **argv) {
    char help[] = "--help";
    if (argc > 2 && strcmp(argv[1], "help") == 0) {          /* prof help COMMAND */
        argv[1] = argv[2];
        argv[2] = help;
    }
    const char *name = argc > 1 ? argv[1] : help;
    map_large_arrays();
    keep_numbers();
    survive_large_files();
    if (strcmp(name, "--help") == 0 || strcmp(name, "-h") == 0 || strcmp(name, "help") == 0) {
        print_commands();
        return end_of(argc > 1 ? EXIT_OK : EXIT_BAD);
    }
    if (strcmp(name, "--version") == 0) {
        puts("prof " PROF_VERSION);
        return end_of(EXIT_OK);
    }
    for (int i = 0; commands[i]; i++)
        if (strcmp(name, commands[i]->name) == 0) {
            int status = commands[i]->run(argc - 1, argv + 1);
            losses_end();
            return end_of(exit_status(status));
        }
    const char *names[sizeof commands / sizeof *commands];
    for (int i = 0; commands[i]; i++) names[i] = commands[i]->name;
    const char *near = nearest_word(name, names, sizeof commands / sizeof *commands - 1);
    if (near) return fail(NULL, "there is no command '%s': did you mean '%s'?", name, near);
    return fail(NULL, "there is no command '%s'; see prof --help", name);
}
