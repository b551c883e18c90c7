/* prof window: records a part of what a process does that is running. */
#include "base/common.h"
#include "base/interrupts.h"
#include "commands/asking.h"

#include <stdio.h>
#include <string.h>

static int run(int argc, char **argv);

const command window_command = {
    "window", "[OPTION]... PID", "record a running process for a while, from outside",
    "  prof window --for 2s -o out.json 4711\n"
    "      two seconds of process 4711, which calls prof_start_env and was started by\n"
    "      `prof record --wait -- CMD`, or with PROF_MODE=wait in its environment.\n"
    "      Before and after the window it records nothing. The table goes to stderr.\n"
    "      The window ends earlier on Ctrl-C or when the process ends; what was\n"
    "      recorded is kept. If another window is open, this one comes next\n"
    "  prof window --steps 10 -o out.raw 4711\n"
    "      ten whole steps: from one call of prof_step to the eleventh\n"
    "  prof window --delay 1m --for 500ms -o out.pftrace 4711\n"
    "      half a second, from a minute from now\n", run, 1, 1
};

/* A time with its unit, in s. */
static bool seconds_of(const char *option, const char *text, double *seconds) {
    static const struct { const char *unit; double seconds; } units[] = {
        {"s", 1}, {"ms", 1e-3}, {"us", 1e-6}, {"m", 60}, {"h", 3600}
    };
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (!number_parse(text, units[i].unit, seconds)) continue;
        *seconds *= units[i].seconds;
        if (*seconds > 0 && *seconds < 1e6) return true;
    }
    return fail(NULL, "%s '%s': give a time, as 2s, 500ms or 1m", option, text), false;
}

/* The window; false: there was none. */
static bool record_window(asking *a, recording *r, double seconds, uint32_t steps) {
    if (!asking_folder(a, r)) return false;
    bool open = asking_begin(a, steps);
    double begin = seconds_now();
    if (open) asking_wait(a, seconds);
    double lasted = seconds_now() - begin;
    bool ended = open && asking_over(a);
    asking_end(a);
    if (asking_babbles(a)) r->failed = true;
    else if (ended && record_find(&a->notes, "start", 0, 0) &&
             !record_find(&a->notes, "over", 0, 0))
        warn(a->process, "it ended while the window was open");
    else if (open && !steps && seconds < 1e6 && lasted < seconds && !interrupted())
        warn(a->process, "it ended, and the window with it: after %.3g of %g s", lasted, seconds);
    if (open) asking_take(a, r, (uint64_t)(lasted + 2) << 32);   /* 4 GiB/s: more than there are */
    asking_close(a);
    return open;
}

static int run(int argc, char **argv) {
    recording r = {.sort = "self_cpu_time_total", .limit = 20, .most = 10000000,
                   .with_report = true, .status_file = -1};
    const char *length = NULL, *delay = NULL;
    int64_t steps = -1;
    double seconds = 1e6, wait = 0;
    const option_spec options[] = {
        {"for", 'f', OPTION_TEXT, &length, "TIME", "how long: 2s, 500ms, 1m (until Ctrl-C)"},
        {"steps", 0, OPTION_COUNT, &steps, "N", "record N steps (prof_step) instead"},
        {"delay", 'd', OPTION_TEXT, &delay, "TIME", "wait before the window opens (0)"},
        {"output", 'o', OPTION_TEXT, &r.output, "FILE", "the trace: .raw, .pftrace, .json or\n"
         "                               .json.gz (trace.raw)"},
        {"limit", 'n', OPTION_COUNT, &r.limit, "N", "rows of the table, or all (20)"},
        {"sort", 's', OPTION_TEXT, &r.sort, "METRIC", "of the table (self_cpu_time_total)"},
        {"zones", 0, OPTION_COUNT, &r.most, "N",
         "with more zones than this the trace stays .raw (10000000)"},
        {"report", 0, OPTION_FLAG, &r.with_report, NULL, "no table"},
        {NULL, 0, OPTION_FLAG, NULL, NULL, NULL}
    };
    asking a;
    char exe[64];
    int status, count = options_parse(&window_command, options, argc, argv, &status);
    if (count < 0) return status;
    if (length && !seconds_of("--for", length, &seconds)) return EXIT_BAD;
    if (delay && !seconds_of("--delay", delay, &wait)) return EXIT_BAD;
    if (!steps || steps > INT32_MAX) return fail(NULL, "--steps: give 1 to 2147483647 steps");
    r.is_default = !r.output;
    if (!r.output) r.output = "trace.raw";
    if (!asking_open(&a, argv[1])) return EXIT_BAD;
    snprintf(exe, sizeof exe, "/proc/self/fd/%d/exe", a.other.process);
    if (!recording_check(r.output, exe)) return EXIT_BAD;
    r.program = a.process;
    r.child = (pid_t)a.pid;
    interrupts_take();
    readable(-1, (int)(wait * 1000));
    if (interrupted()) return fail(a.process, "no window: a signal came first");
    bool any = record_window(&a, &r, seconds, steps > 0 ? (uint32_t)steps : 0);
    return recording_end(&r, any) | (any ? EXIT_OK : EXIT_BAD);
}
