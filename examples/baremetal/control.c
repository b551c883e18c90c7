/* A motor's control loop, profiled where it runs: on a microcontroller without an operating system
   or a C library. A timer interrupt samples the shaft's position; the loop filters it and sets the
   motor. Afterwards the table goes to the UART, the trace and the stacks to files on the debugger's
   side. `make embedded` runs it on seven targets under QEMU.

   STREAM: the raw stream leaves over the UART while the loop runs, and nothing else is kept; with
   CHROME it is a Chrome array, which Perfetto opens as it is. AGGREGATE: only sums are kept, and
   the table is made of them.
   FAKE_CLOCK: time is what spend() says and the interrupt is a call, so that every machine's output
   is the same, byte for byte, as the one of the PC that the test was written on. */
#include "prof.h"

#include "board.h"

#ifndef STEPS
#define STEPS 6
#endif
enum { TAPS = 3, TARGET = 1000 };

static volatile int32_t position, samples;
static int32_t motor;

#ifdef FAKE_CLOCK
static uint64_t fake_now;
uint64_t fake_clock(void *user) {
    (void)user;
    return fake_now;
}
static void spend(uint32_t work) { fake_now += work * 41237u + 509u; }
#else
static void spend(uint32_t work) {
    for (volatile uint32_t i = 0; i < work; i++) {}
}
#endif

void board_on_timer(void) {
    PROF_BLOCK("sample") {
        position += (TARGET - position) / 4 + motor / 16;
        samples = samples + 1;
        spend(11);
    }
}

static int32_t filter(int32_t value) {
    static int32_t past[TAPS];
    int32_t sum = value;
    for (int i = 0; i < TAPS; i++) {
        PROF_BLOCK("tap") {
            sum += past[i];
            spend(3u + (uint32_t)i);
        }
    }
    for (int i = TAPS - 1; i > 0; i--) past[i] = past[i - 1];
    past[0] = value;
    return sum / (TAPS + 1);
}

static void set_motor(int32_t error) {
    motor = error / 2;
    if (motor > 300) {
        motor = 300;
        prof_instant("saturated");
    }
    spend(7);
}

static void control(void) {
    int32_t error = TARGET;
    PROF_BLOCK("filter") error -= filter(position);
    prof_counter("error", error);
    PROF_BLOCK("set_motor") set_motor(error);
    spend(2);
}

static void run(void) {
#ifndef FAKE_CLOCK
    board_timer(4000);
#endif
    for (int step = 0; step < STEPS; step++) {
#ifdef FAKE_CLOCK
        spend(40);
        board_on_timer();
#else
        while (samples <= step) {}
#endif
        PROF_BLOCK("control") control();
#ifdef STREAM
        prof_flush();                    /* nothing better to do until the next interrupt */
#endif
    }
#ifndef FAKE_CLOCK
    board_timer(0);
#endif
}

#if defined(AGGREGATE)
/* Rows without a trace: what makes events of records is not linked. */
static int sums(prof_sink uart) {
    static prof_average rows[8];
    size_t n = prof_snapshot(rows, 8);
    return prof_write_rows(rows, n, NULL, NULL, uart) == PROF_OK ? 0 : 2;
}
#elif !defined(STREAM)
static bool save(const prof_trace *trace) {
    prof_sink file = { board_file, NULL };
    bool ok = board_file_open("trace.json") &&
              prof_write_chrome(trace, NULL, file) == PROF_OK && board_file_close();
    ok = ok && board_file_open("stacks.txt") &&
         prof_write_stacks(trace, PROF_METRIC_NONE, file) == PROF_OK && board_file_close();
    return ok && board_file_open("trace.raw") && prof_dump(file) == PROF_OK && board_file_close();
}
#endif

int main(void) {
    prof_desc desc = { 0 };
    prof_sink uart = { board_uart, NULL };
    const prof_trace *trace;
#ifndef FAKE_CLOCK
    desc.platform.ticks_per_second = BOARD_HZ;
#else
    desc.platform.ticks_per_second = 1000000000;
#  if !defined(PROF_FREESTANDING) && __STDC_HOSTED__
    desc.platform.now = fake_clock;
#  endif
#endif
    desc.max_depth = 4;
#ifdef STREAM
    desc.mode = PROF_MODE_STREAM;
    desc.stream = uart;
#endif
#ifdef CHROME
    desc.stream_format = PROF_STREAM_CHROME;
#endif
#ifdef AGGREGATE
    desc.mode = PROF_MODE_AGGREGATE;
#endif
    if (prof_start(&desc) != PROF_OK) return 1;
    prof_set_thread_name("main");
    PROF_BLOCK("run") run();
    trace = prof_stop();
#if defined(STREAM)
    return trace ? 0 : 2;
#elif defined(AGGREGATE)
    return trace ? sums(uart) : 2;
#else
    if (prof_write_table(trace, NULL, uart) != PROF_OK) return 2;
    return save(trace) ? 0 : 3;
#endif
}
