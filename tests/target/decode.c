/* A raw stream from stdin as text, one line for each zone, instant and counter. Exit status 1 when
   some of it was damaged. */
#ifndef TEST_LIBRARY
#  define PROF_IMPLEMENTATION
#endif
#include "../../tools/prof/raw_read.h"

#include <stdio.h>

static void print(void *user, const prof_raw_item *item) {
    (void)user;
    switch (item->kind) {
    case PROF_RAW_ZONE:
        printf("zone %s thread %u depth %u %lld..%lld%s\n", item->name, (unsigned)item->thread,
               (unsigned)item->depth, (long long)item->start_ns, (long long)item->end_ns,
               item->flags & PROF_EVENT_UNFINISHED ? " unfinished" : "");
        break;
    case PROF_RAW_INSTANT:
        printf("instant %s %lld\n", item->name, (long long)item->start_ns);
        break;
    case PROF_RAW_COUNTER:
        printf("counter %s %lld %lld\n", item->name, (long long)item->start_ns,
               (long long)item->value);
        break;
    case PROF_RAW_THREAD:
        if (item->name) fprintf(stderr, "thread %u %s\n", (unsigned)item->thread, item->name);
        break;
    default: break;
    }
}

int main(void) {
    static char memory[1 << 20], data[1 << 12];
    prof_raw_desc desc = { 0 };
    prof_raw *raw;
    size_t n;
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.item = print;
    if (prof_raw_open(&desc, &raw) != PROF_OK) return 2;
    while ((n = fread(data, 1, sizeof data, stdin)) > 0) prof_raw_feed(raw, data, n);
    return prof_raw_close(raw, NULL) != PROF_OK;
}
