/* What a zone of one profiler costs, PEER_NAME (see peers.sh), as a multiple of two clock reads:
   one line "RATIO NANOSECONDS". Both loops take turns on one thread, in its CPU time; the ratio is
   the median of the rounds' ratios. What the peer does with full buffers comes in between.
   For prof.h alone elsewhere, of tools/dev/peers.cpp:
       x86_64-w64-mingw32-g++ -O2 -DPEER_PROF -I. -static peers.cpp -lpthread
       em++ -O1 -DPEER_PROF -I. -sINITIAL_MEMORY=256MB -sSINGLE_FILE=1 peers.cpp -o peers.js */
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <ctime>
#ifdef __x86_64__
#  include <x86intrin.h>
static inline uint64_t read_clock() { return __rdtsc(); }
#else
static inline uint64_t read_clock() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return uint64_t(t.tv_sec) * 1000000000u + uint64_t(t.tv_nsec);
}
#endif

enum { ROUNDS = 101, ZONES = 20000 };

#if defined PEER_PROF
#  define PROF_IMPLEMENTATION
#  include "prof.h"
static char memory[64 << 20];
static void begin() {
    prof_desc desc = {};
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    prof_start(&desc);
}
static inline void zone() { PROF_SCOPE("zone"); }
static void settle() {
    prof_stop();
    begin();
}
#elif defined PEER_SPALL
#  include "spall.h"
static char memory[1 << 20];
static SpallProfile profile;
static SpallBuffer buffer;
static void begin() {
    spall_init_file("/dev/null", 1, &profile);
    buffer.data = memory;
    buffer.length = sizeof memory;
    spall_buffer_init(&profile, &buffer);
}
static inline void zone() {
    spall_buffer_begin(&profile, &buffer, "zone", 4, read_clock());
    spall_buffer_end(&profile, &buffer, read_clock());
}
static void settle() { spall_buffer_flush(&profile, &buffer); }
#elif defined PEER_TRACY
#  include "tracy/Tracy.hpp"
static void begin() {}
static inline void zone() { ZoneScopedN("zone"); }
static void settle() { FrameMark; }
#elif defined PEER_MINITRACE
#  include "minitrace.h"
static void begin() { mtr_init("/dev/null"); }
static inline void zone() {
    MTR_BEGIN("peers", "zone");
    MTR_END("peers", "zone");
}
static void settle() { mtr_flush(); }
#elif defined PEER_MICROPROFILE
#  include "microprofile.h"
static void begin() {
    MicroProfileOnThreadCreate("main");
    MicroProfileSetEnableAllGroups(true);
}
static inline void zone() { MICROPROFILE_SCOPEI("peers", "zone", 0xff00ff); }
static void settle() { MicroProfileFlip(nullptr); }
#elif defined PEER_LTTNG
#  define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#  define LTTNG_UST_TRACEPOINT_DEFINE
#  include "tools/dev/peers_lttng.h"
static void begin() {}
static inline void zone() {
    lttng_ust_tracepoint(peers, begin, "zone");
    lttng_ust_tracepoint(peers, end);
}
static void settle() {                   /* its consumer writes, or events would be dropped */
    timespec pause = { 0, 30000000 };
    nanosleep(&pause, nullptr);
}
#endif

static double cpu_ns() {
    timespec t;
#if defined(_WIN32) || defined(__wasm__)   /* a thread's time is in steps of 16 ms, or not there */
    clock_gettime(CLOCK_MONOTONIC, &t);
#else
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
#endif
    return double(t.tv_sec) * 1e9 + double(t.tv_nsec);
}

__attribute__((noinline, aligned(64))) static void floor_loop() {
    for (int i = 0; i < ZONES; i++) {
        uint64_t first = read_clock(), last = read_clock();
        __asm__ volatile("" : : "r"(first), "r"(last) : "memory");
    }
}

__attribute__((noinline, aligned(64))) static void zone_loop() {
    for (int i = 0; i < ZONES; i++) {
        zone();
        __asm__ volatile("" : : : "memory");
    }
}

static double time_of(void (*loop)()) {
    double start = cpu_ns();
    loop();
    return (cpu_ns() - start) / ZONES;
}

int main() {
    static double ratios[ROUNDS], zones[ROUNDS];
    begin();
    zone_loop();
    settle();
    for (int i = 0; i < ROUNDS; i++) {
        double base = time_of(floor_loop);
        zones[i] = time_of(zone_loop);
        ratios[i] = zones[i] / base;
        settle();
    }
    std::sort(ratios, ratios + ROUNDS);
    std::sort(zones, zones + ROUNDS);
    std::printf("%.2f %.1f\n", ratios[ROUNDS / 2], zones[ROUNDS / 2]);
    return 0;
}
