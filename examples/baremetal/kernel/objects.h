/* A kernel's queues, semaphores, mutexes, timers and tasks in the trace: for freertos.h, threadx.h
   and zephyr.h, which include it.
   - An object is a counter of its own, by kind and name ("queue rx"): the messages in it, or how
     often it can be taken. Without a name its handle stands there.
   - What a task waits for is a zone in the task's row, with the object's name.
   - "ready NAME" is an instant in the row of whoever made the task NAME ready to run.
   An object takes 60 bytes of RAM and a site (PROF_MAX_SITES). There are PROF_KERNEL_OBJECTS at
   most: those beyond are told together, as "other kernel objects". What is deleted leaves its place
   to the next one of that name. */
#ifndef PROF_KERNEL_OBJECTS_H
#define PROF_KERNEL_OBJECTS_H

#include "prof.h"

#ifndef PROF_KERNEL_OBJECTS
#  define PROF_KERNEL_OBJECTS 32
#endif
#ifndef PROF_KERNEL_NAME
#  define PROF_KERNEL_NAME 24            /* bytes of "queue rx", with the 0 at its end */
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef struct prof_kernel_object {
    prof__mark mark;
    prof_site site;
    const void *handle;                  /* NULL: the place is free for another of this name */
    prof__frame *zone;                   /* of a task: while it waits */
    char name[PROF_KERNEL_NAME];         /* never changes: traces have its address */
} prof_kernel_object;

/* Weak, as each file that includes the kernel's header has them: the linker takes one. */
#define PROF_KERNEL_WEAK __attribute__((weak))
PROF_KERNEL_WEAK prof_kernel_object prof_kernel_objects[PROF_KERNEL_OBJECTS + 1];
PROF_KERNEL_WEAK prof_kernel_object *prof_kernel_running;    /* the task; NULL: not known */
PROF_KERNEL_WEAK bool prof_kernel_records;                   /* at the last switch or wait */

#if defined(__arm__)
static inline uintptr_t prof_kernel_mask(void) {
    uintptr_t was;
    __asm__ volatile("mrs %0, primask\n\tcpsid i" : "=r"(was) : : "memory");
    return was;
}
static inline void prof_kernel_unmask(uintptr_t was) {
    __asm__ volatile("msr primask, %0" : : "r"(was) : "memory");
}
#elif defined(__riscv) && PROF__BARE
static inline uintptr_t prof_kernel_mask(void) {
    uintptr_t was;
    __asm__ volatile("csrrci %0, mstatus, 8" : "=r"(was) : : "memory");
    return was & 8;
}
static inline void prof_kernel_unmask(uintptr_t was) {
    __asm__ volatile("csrs mstatus, %0" : : "r"(was) : "memory");
}
#else
static inline uintptr_t prof_kernel_mask(void) { return 0; }
static inline void prof_kernel_unmask(uintptr_t was) { (void)was; }
#endif

/* "queue rx", or "queue 20000a40" where there is no name. What does not fit is cut. */
static inline void prof_kernel_text(char *text, const char *kind, const char *name,
                                    const void *handle) {
    char digits[2 * sizeof handle + 1];
    size_t n = 0, end = sizeof digits - 1;
    for (uintptr_t rest = (uintptr_t)handle; end; rest >>= 4)
        digits[--end] = "0123456789abcdef"[rest & 15];
    digits[sizeof digits - 1] = 0;
    while (*kind && n < PROF_KERNEL_NAME - 1) text[n++] = *kind++;
    if (!name || !*name) name = digits;
    while (*name && n < PROF_KERNEL_NAME - 1) text[n++] = *name++;
    text[n] = 0;
}

static inline bool prof_kernel_same(const char *a, const char *b) {
    while (*a && *a == *b) {
        a++;
        b++;
    }
    return *a == *b;
}

static inline prof_kernel_object *prof_kernel_made(prof_kernel_object *o, const void *handle) {
    if (!o->site.name) {
        o->site.name = o->name;
        o->site.file = o->site.function = "";
        o->mark.site = &o->site;
    }
    o->handle = handle;
    o->zone = NULL;
    return o;
}

/* The place of a new object. The first place is that of those which find none. */
PROF_KERNEL_WEAK prof_kernel_object *prof_kernel_new(const char *kind, const char *name,
                                                     const void *handle);
PROF_KERNEL_WEAK prof_kernel_object *prof_kernel_new(const char *kind, const char *name,
                                                     const void *handle) {
    char text[PROF_KERNEL_NAME];
    prof_kernel_object *o = prof_kernel_objects;
    uintptr_t mask;
    prof_kernel_text(text, kind, name, handle);
    mask = prof_kernel_mask();
    for (int i = 1; i <= PROF_KERNEL_OBJECTS && o == prof_kernel_objects; i++) {
        prof_kernel_object *at = prof_kernel_objects + i;
        if (at->name[0] && (at->handle || !prof_kernel_same(at->name, text))) continue;
        o = prof_kernel_made(at, handle);
        if (!o->name[0]) prof_kernel_text(o->name, kind, name, handle);
    }
    if (o == prof_kernel_objects && !o->name[0]) {
        prof_kernel_text(o->name, "other kernel ", "objects", NULL);
        (void)prof_kernel_made(o, NULL);
    }
    prof_kernel_unmask(mask);
    return o;
}

/* The object is no more. NULL: it was not known. */
static inline void prof_kernel_gone(prof_kernel_object *o) {
    if (!o) return;
    o->handle = NULL;
    o->zone = NULL;
    if (prof_kernel_running == o) prof_kernel_running = NULL;
}

/* Where the kernel keeps no number for us: the object of a handle, by a search. */
static inline prof_kernel_object *prof_kernel_at(const char *kind, const char *name,
                                                 const void *handle) {
    for (int i = 1; i <= PROF_KERNEL_OBJECTS; i++)
        if (prof_kernel_objects[i].handle == handle) return prof_kernel_objects + i;
    return prof_kernel_new(kind, name, handle);
}

static inline void prof_kernel_forget(const void *handle) {
    for (int i = 1; i <= PROF_KERNEL_OBJECTS; i++)
        if (prof_kernel_objects[i].handle == handle) prof_kernel_gone(prof_kernel_objects + i);
}

/* Who waits since before the session has no zone in it. The first switch or wait finds that out: a
   wait before any switch is that of the task which began the session. */
static inline void prof_kernel_session(void) {
    uintptr_t mask;
    bool on = prof__on != 0;
    if (on == prof_kernel_records) return;
    mask = prof_kernel_mask();
    for (int i = 0; i <= PROF_KERNEL_OBJECTS && on && !prof_kernel_records; i++)
        prof_kernel_objects[i].zone = NULL;
    prof_kernel_records = on;
    prof_kernel_unmask(mask);
}

static inline void prof_kernel_runs(prof_kernel_object *task) {
    prof_kernel_running = task;
    prof_kernel_session();
}

static inline void prof_kernel_count(prof_kernel_object *o, int64_t count) {
    prof__counter_inline(&o->mark, count);
}

static inline void prof_kernel_moment(prof_kernel_object *o) {
    prof__instant_inline(&o->mark);
}

/* The running task waits for the object, and goes on. A wait may be told again before it ends, and
   an end where there was no wait is none. */
static inline void prof_kernel_wait(prof_kernel_object *o) {
    prof_kernel_object *task = prof_kernel_running;
    prof_kernel_session();
    if (task && task->handle && !task->zone) task->zone = prof__begin_inline(&o->mark, true);
}

static inline void prof_kernel_go_on(void) {
    prof_kernel_object *task = prof_kernel_running;
    if (!task || !task->zone) return;
    prof__end_inline(task->zone);
    task->zone = NULL;
}

#ifdef __cplusplus
}
#endif
#endif
