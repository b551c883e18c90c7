/* Tasks of a small cooperative scheduler: each has zones of its own, which stay open while others
   run, and a row of its own in the trace. What tells prof.h the running task is one line, whatever
   the kernel: PROF_CONTEXT(), where the implementation is. `make embedded` runs it on targets and
   PCs under a fake clock and compares the output. */
#include <stdint.h>
static uint32_t running, fake_now;

#define PROF_CONTEXT() running
#define PROF_NOW() fake_now
#define PROF_IMPLEMENTATION
#include "prof.h"

#include "board.h"

enum { TASKS = 3 };

/* ---- the scheduler: a task is a function that goes on where it last waited ---- */

typedef struct task { const char *name; bool (*run)(struct task *self); int at, left; } task;

#define TASK_BEGIN(self) switch ((self)->at) { default: return false; case 0:
#define TASK_WAIT(self) do { (self)->at = __LINE__; return true; case __LINE__:; } while (0)
#define TASK_END(self) (self)->at = -1; return false; }

/* Each in turn until all are done. */
static void schedule(task *tasks) {
    for (bool any = true; any;) {
        any = false;
        for (running = 0; running < TASKS; running++) any |= tasks[running].run(tasks + running);
        fake_now += 11;                  /* idle */
    }
    running = 0;
}

/* ---- the tasks ---- */

static bool blink(task *self) {
    TASK_BEGIN(self);
    for (self->left = 4; self->left; self->left--) {
        PROF_BEGIN("blink");
        fake_now += 1000;
        TASK_WAIT(self);                 /* with the zone open */
        fake_now += 200;
        PROF_END();
    }
    TASK_END(self);
}

static bool sensor(task *self) {
    TASK_BEGIN(self);
    for (self->left = 6; self->left; self->left--) {
        PROF_BLOCK("sample") {
            fake_now += 300;
            PROF_BLOCK("convert") fake_now += 70;
        }
        prof_counter("level", self->left);
        TASK_WAIT(self);
    }
    TASK_END(self);
}

static bool radio(task *self) {
    TASK_BEGIN(self);
    PROF_BEGIN("connection");
    for (self->left = 3; self->left; self->left--) {
        PROF_BEGIN("packet");
        fake_now += 2500;
        TASK_WAIT(self);
        PROF_END();
    }
    PROF_END();
    TASK_END(self);
}

int main(void) {
    task tasks[TASKS] = { { "blink", blink, 0, 0 }, { "sensor", sensor, 0, 0 },
                          { "radio", radio, 0, 0 } };
    prof_desc desc = { 0 };
    prof_sink uart = { board_uart, NULL }, file = { board_file, NULL };
    const prof_trace *trace;
    desc.platform.ticks_per_second = 1000000000;
    desc.max_depth = 4;
    if (prof_start(&desc) != PROF_OK) return 1;
    for (running = 0; running < TASKS; running++) prof_set_thread_name(tasks[running].name);
    schedule(tasks);
    trace = prof_stop();
    if (prof_write_table(trace, NULL, uart) != PROF_OK) return 2;
    return board_file_open("trace.json") && prof_write_chrome(trace, NULL, file) == PROF_OK &&
           board_file_close() ? 0 : 3;
}

void board_on_timer(void) {}
