/* What a target with a kernel's tasks tells, for test_prof_uart.sh: tasks that wait within zones,
   an interrupt, and three tasks of one name, one after the other, that end in the midst of a zone.
   tasks table|load|trace|dump|raw|chrome|fails: to stdout; fails: a raw stream whose sink fails
   each third time, when it has taken half; twice: two sessions in one raw stream; ready: a raw
   stream that tells when the worker was ready to run, too; wakes: who makes whom ready, in odd
   ways; early: one of a task that was there before the session, and is told before the first
   switch; ringtable, ringload, ringtrace, ringdump: a ring that forgets who ran before it forgets
   what the tasks did. */
#define PROF_IMPLEMENTATION
#define PROF_FREESTANDING
#define PROF_ARENA_SIZE 1048576
#define PROF_MAX_CONTEXTS 64
#define PROF_CONTEXT() in_context
#define PROF_NOW() clock_ticks
static unsigned clock_ticks, in_context;
#include "prof.h"
#include "examples/baremetal/contexts.h"

#include <stdio.h>
#include <string.h>

static unsigned writes, fail_each;
static bool tells_ready;

static bool out(void *user, const void *data, size_t size) {
    bool fails = fail_each && ++writes % fail_each == 0;
    (void)user;
    return fwrite(data, 1, fails ? size / 2 : size, stdout) == size;
}

static void interrupt(unsigned ticks) {
    in_context = 15;
    PROF_BLOCK("interrupt") {
        clock_ticks += 9;
        in_context = 20;
        if (ticks % 3 == 0) PROF_BLOCK("urgent") clock_ticks += ticks % 7;
        in_context = 15;
    }
    in_context = 0;
}

static void work(unsigned ticks) {
    PROF_BLOCK("work") {
        clock_ticks += 100 + ticks % 31 * 7;
        PROF_BLOCK("part") clock_ticks += 13 + ticks % 5;
        if (ticks % 4 == 1) interrupt(ticks);
    }
}

static void round_of(unsigned i) {
    unsigned worker = 300 + i / 20;
    bool last = i % 20 == 19;
    prof_task_in(7, "control");
    PROF_BEGIN("waits");
    work(i);
    prof_task_in(worker, "worker");
    PROF_BEGIN("job");
    work(3 * i);
    interrupt(i);
    prof_task_in(9, "idle");
    clock_ticks += 20;
    if (tells_ready) PROF_INSTANT("ready worker");
    clock_ticks += 30;
    prof_task_in(worker, "worker");
    work(5 * i);
    if (!last) PROF_END();
    prof_task_in(7, "control");
    clock_ticks += 5;
    if (last) prof_task_gone(worker);
    PROF_END();
}

/* b, a and one of a long name are woken once each; the two tasks c are not told apart, "late" runs
   in no session that has its instant, and who runs is not woken. */
static void wakes(const prof_desc *desc) {
    prof_task_in(1, "a");
    PROF_INSTANT("ready b");
    clock_ticks += 2;
    prof_task_in(2, "b");
    clock_ticks += 3;
    PROF_INSTANT("ready b");
    in_context = 15;
    PROF_BLOCK("tick") {
        clock_ticks += 1;
        PROF_INSTANT("ready a");
    }
    in_context = 0;
    clock_ticks += 4;
    PROF_INSTANT("ready a");
    prof_task_in(1, "a");
    clock_ticks += 5;
    PROF_INSTANT("ready late");
    for (unsigned i = 0; i < 4; i++) {
        PROF_INSTANT("ready c");
        clock_ticks += 6;
        prof_task_in(3 + i % 2, "c");
        clock_ticks += 7;
    }
    PROF_INSTANT("ready a-name-of-31-characters-as-Zeph");
    clock_ticks += 1;
    prof_task_in(6, "a-name-of-31-characters-as-Zephyr-has");
    if (!prof_stop() || prof_start(desc) != PROF_OK) return;
    prof_task_in(5, "late");
    clock_ticks += 8;
    prof_task_in(1, "a");
}

int main(int argc, char **argv) {
    const char *what = argc > 1 ? argv[1] : "";
    prof_sink sink = { out, NULL };
    prof_desc desc;
    prof_trace *trace;
    bool fails = strcmp(what, "fails") == 0, chrome = strcmp(what, "chrome") == 0;
    bool ring = strncmp(what, "ring", 4) == 0;
    bool twice = strcmp(what, "twice") == 0, raw = fails || twice || strcmp(what, "raw") == 0;
    bool early = strcmp(what, "early") == 0;
    tells_ready = strcmp(what, "ready") == 0;
    bool odd = strcmp(what, "wakes") == 0;
    raw |= tells_ready || early || odd;
    if (early) prof_task_in(5, "starter");
    memset(&desc, 0, sizeof desc);
    desc.platform.ticks_per_second = 1000000000;
    if (raw || chrome) desc.mode = PROF_MODE_STREAM;
    if (raw || chrome) desc.stream = sink;
    if (chrome) desc.stream_format = PROF_STREAM_CHROME;
    if (ring) desc.mode = PROF_MODE_RING;
    if (ring) what += 4;
    if (prof_start(&desc) != PROF_OK) return 1;
    if (early) {
        prof_instant("first");
        (void)prof_flush();
        PROF_BEGIN("start");
        clock_ticks += 7;
        prof_task_in(9, "idle");
        clock_ticks += 5;
        prof_task_in(5, "starter");
        PROF_END();
    }
    for (unsigned i = 0; twice && i < 60; i++) round_of(i);
    if (twice && (!prof_stop() || prof_start(&desc) != PROF_OK)) return 1;
    if (odd) wakes(&desc);
    for (unsigned i = 0; !odd && i < 60; i++) {
        round_of(i);
        fail_each = fails ? 3 : 0;
        if ((raw || chrome) && i % 4 == 0) (void)prof_flush();
    }
    for (unsigned i = 0; ring && i < 100000; i++) {
        clock_ticks++;
        prof_task_in(i & 1 ? 9 : 7, i & 1 ? "idle" : "control");
    }
    fail_each = 0;
    trace = prof_stop();
    if (fails != (prof_get_stats(NULL).stream_failures > 0)) return 9;
    if (strcmp(what, "load") == 0) return (int)prof_write_contexts(trace, sink);
    if (strcmp(what, "table") == 0) return (int)prof_write_table(trace, NULL, sink);
    if (strcmp(what, "trace") == 0) return (int)prof_write_chrome(trace, NULL, sink);
    if (strcmp(what, "dump") == 0) return (int)prof_dump(sink);
    return 0;
}
