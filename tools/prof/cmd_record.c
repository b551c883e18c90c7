/* prof record: runs a program that has prof.h in it, and reports on the trace it writes. */
#include "losses.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

static int run(int argc, char **argv);

const command record_command = {
    "record", "[OPTION]... COMMAND [ARGUMENT]...",
    "run a program that has prof.h in it, and report on its trace",
    "  prof record ./train data.bin\n"
    "      runs it with PROF_TRACE=trace.json in its environment, which\n"
    "      prof_start_env and prof_stop_env of prof.h heed, then prints the table of\n"
    "      the trace that it wrote to stderr; the exit status is the program's\n"
    "  prof record -o run.json.gz -n 30 ./train\n"
    "      another file, and 30 rows\n"
    "  prof record --no-report -- ./train\n"
    "      the trace alone\n", run
};

extern const command report_command;

enum { CANNOT_RUN = 126, NOT_FOUND = 127, KILLED = 128 /* + the signal: as the shell has it */ };

/* Absolute, for the program may change its folder. */
static char *absolute(const char *path) {
    char folder[4096];
    size_t size = strlen(path) + sizeof folder + 2;
    char *whole = allocate(size);
    if (path[0] == '/') snprintf(whole, size, "%s", path);
    else if (getcwd(folder, sizeof folder)) snprintf(whole, size, "%s/%s", folder, path);
    else snprintf(whole, size, "%s", path);
    return whole;
}

/* Its exit status, as the shell has it. An interrupt is for the program: it may still save. */
static int run_program(char **line, const char *trace) {
    int status = 0, error = 0, ends[2];
    if (pipe(ends) != 0) return fail(NULL, "no pipe: %s", strerror(errno)), CANNOT_RUN;
    pid_t child = fork();
    if (child == 0) {
        close(ends[0]);
        fcntl(ends[1], F_SETFD, FD_CLOEXEC);
        if (setenv("PROF_TRACE", trace, 1) == 0) execvp(line[0], line);
        error = errno;
        if (write(ends[1], &error, sizeof error) < 0) error = 0;     /* nobody is left to tell */
        _exit(CANNOT_RUN);
    }
    close(ends[1]);
    void (*interrupt)(int) = signal(SIGINT, SIG_IGN), (*quit)(int) = signal(SIGQUIT, SIG_IGN);
    if (child < 0) error = errno;
    else if (read(ends[0], &error, sizeof error) != sizeof error) error = 0;
    while (child > 0 && waitpid(child, &status, 0) < 0 && errno == EINTR) {}
    signal(SIGINT, interrupt);
    signal(SIGQUIT, quit);
    close(ends[0]);
    if (error) {
        fail(line[0], "cannot be run: %s", strerror(error));
        return error == ENOENT ? NOT_FOUND : CANNOT_RUN;
    }
    return WIFSIGNALED(status) ? KILLED + WTERMSIG(status) : WEXITSTATUS(status);
}

/* Was the file written in between? A trace appears by renaming, or grows. */
static bool is_new(const struct stat *before, const struct stat *after) {
    return before->st_ino != after->st_ino || before->st_size != after->st_size ||
           before->st_mtim.tv_sec != after->st_mtim.tv_sec ||
           before->st_mtim.tv_nsec != after->st_mtim.tv_nsec;
}

/* To stderr: stdout is the program's. */
static int report(char *trace, int64_t limit, const char *sort) {
    char rows[48], by[80];
    snprintf(rows, sizeof rows, "--limit=%lld", (long long)limit);
    snprintf(by, sizeof by, "--sort=%s", sort);
    char name[] = "report", *argv[] = {name, rows, by, trace, NULL};
    fflush(stdout);
    if (dup2(STDERR_FILENO, STDOUT_FILENO) < 0) return fail("stderr", "%s", strerror(errno));
    return report_command.run(4, argv);
}

/* Without a table its losses are told all the same. */
static int tell_losses(const char *trace) {
    trace_reader *reader = trace_open(trace);
    if (!reader) return EXIT_BAD;
    while (trace_next(reader) != TRACE_END) {}
    return trace_close(reader);
}

static int run(int argc, char **argv) {
    const char *path = "trace.json", *sort = "self_cpu_time_total";
    int64_t limit = 20;
    bool with_report = true;
    const option_spec options[] = {
        {"output", 'o', OPTION_TEXT, &path, "FILE", "the trace; packed when it ends in .gz\n"
         "                               (trace.json)"},
        {"limit", 'n', OPTION_COUNT, &limit, "N", "rows of the table, or all (20)"},
        {"sort", 's', OPTION_TEXT, &sort, "METRIC", "of the table (self_cpu_time_total)"},
        {"report", 0, OPTION_FLAG, &with_report, NULL, "no table"},
        {NULL, 0, OPTION_COMMAND, NULL, NULL, NULL}
    };
    int status, count = options_parse(&record_command, options, argc, argv, &status);
    if (count < 0) return status;
    if (count == 0) return fail(NULL, "record needs a command to run; see prof record --help");
    if (strstr(path, "%p")) return fail(path, "record writes one file: %%p has no place in it");
    struct stat before = {0}, after = {0};
    char *trace = absolute(path);
    (void)stat(trace, &before);
    status = run_program(argv + 1, trace);
    bool written = stat(trace, &after) == 0 && is_new(&before, &after);
    if (status == CANNOT_RUN || status == NOT_FOUND) written = false;
    else if (!written)
        fail(argv[1], "it wrote no trace to %s: is prof.h in it, does it call prof_start_env and "
             "prof_stop_env, and was it ended in between?", path);
    int told = !written ? EXIT_OK : with_report ? report(trace, limit, sort) : tell_losses(trace);
    free(trace);
    return status ? status : written ? told : EXIT_BAD;
}
