/* Reading beside the work: see read_ahead.h. */
#include "input/read_ahead.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef __SSE2__
#  include <emmintrin.h>
#endif

#include "base/interrupts.h"
#include "base/memory.h"

/* Of a block that is given back, the rest may still be needed for the next one: so not all of them
   are unpacked into. */
enum { BLOCKS = AHEAD_BLOCKS - 1, BATCH = BLOCKS / 2, MOST_LEFT = AHEAD_BYTES / 2 };

struct read_ahead {
    unpacker *file;
    ahead_scan *scan;
    void *user;
    char *begin;                /* what was read already */
    size_t begin_size;
    uint64_t begin_base;
    ahead_block blocks[AHEAD_BLOCKS];
    pthread_t thread;
    /* under the mutex, but for who looks: */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t unpacked;          /* blocks that were unpacked into, */
    uint64_t read, taken, freed; /* are ready, were taken, were given back */
    bool unpacking;             /* one of the two does, without the mutex */
    bool at_end;                /* there is nothing to unpack */
    bool ended;                 /* the last block is ready */
    bool ending, stopped;       /* the caller wants no more than what was read; nor that */
};

static bool in_use;             /* one thread: the processor has others' work, too */

/* Who has to wait looks whether the other one's count has moved on from here, so many times before
   it sleeps: mostly it is soon, and to be woken takes longer. (To yield the processor meanwhile
   would keep both threads on one.) */
static void look(const uint64_t *count, uint64_t here) {
    enum { LOOKS = 2000 };
    for (int i = 0; i < LOOKS && __atomic_load_n(count, __ATOMIC_RELAXED) == here; i++) {
#ifdef __SSE2__
        _mm_pause();
#endif
    }
}

static void move_on(uint64_t *count, uint64_t to) {
    __atomic_store_n(count, to, __ATOMIC_RELAXED);
}

/* Who sleeps does so until there is work for a while: so the two do not wake each other for each
   block. */
static bool much_is_free(const read_ahead *a) { return a->read - a->freed <= BLOCKS - BATCH; }
static bool much_is_ready(const read_ahead *a) { return a->read - a->taken >= BATCH || a->ended; }

static bool is_ending(read_ahead *a) {
    pthread_mutex_lock(&a->mutex);
    bool ending = a->ending;
    pthread_mutex_unlock(&a->mutex);
    return ending;
}

static ahead_block *block_at(read_ahead *a, uint64_t number) {
    return &a->blocks[number % AHEAD_BLOCKS];
}

/* The end of the file, or what is wrong with it, is met again by the caller. */
static void unpack_into(read_ahead *a, ahead_block *b) {
    const char *why;
    char *to = b->room + MOST_LEFT;
    b->unpacked = 0;
    b->at_end = false;
    while (!b->at_end && b->unpacked < AHEAD_BYTES) {
        long got = unpack_read(a->file, to + b->unpacked, AHEAD_BYTES - b->unpacked, &why);
        b->at_end = got <= 0;
        b->unpacked += got > 0 ? (size_t)got : 0;
    }
    memset(to + b->unpacked, 0, READABLE);
    b->packed = unpack_offset(a->file);
}

/* The next one, if it is free and the other one is not at it already. With the mutex. */
static bool unpack_next(read_ahead *a) {
    bool room = a->unpacked - a->freed < BLOCKS;
    if (!room || a->unpacking || a->at_end) return false;
    ahead_block *b = block_at(a, a->unpacked);
    a->unpacking = true;
    pthread_mutex_unlock(&a->mutex);
    unpack_into(a, b);
    pthread_mutex_lock(&a->mutex);
    a->unpacking = false;
    a->at_end = b->at_end;
    move_on(&a->unpacked, a->unpacked + 1);
    pthread_cond_signal(&a->changed);
    return true;
}

/* Until the caller has given blocks back, or is through with unpacking. With the mutex. */
static void wait_for_caller(read_ahead *a) {
    bool full = a->read - a->freed == BLOCKS;
    const uint64_t *count = full ? &a->freed : &a->unpacked, here = *count;
    pthread_mutex_unlock(&a->mutex);
    look(count, here);
    pthread_mutex_lock(&a->mutex);
    if (*count != here) return;
    while (full && !much_is_free(a) && !a->stopped) pthread_cond_wait(&a->changed, &a->mutex);
    while (!full && a->unpacking) pthread_cond_wait(&a->changed, &a->mutex);
}

/* The next block with what was unpacked; NULL: none is wanted. */
static ahead_block *next_block(read_ahead *a) {
    pthread_mutex_lock(&a->mutex);
    while (a->unpacked == a->read && !a->stopped && !unpack_next(a)) wait_for_caller(a);
    bool stopped = a->stopped;
    pthread_mutex_unlock(&a->mutex);
    return stopped ? NULL : block_at(a, a->read);
}

static void make_ready(read_ahead *a, bool last) {
    pthread_mutex_lock(&a->mutex);
    move_on(&a->read, a->read + 1);
    a->ended = last;
    if (much_is_ready(a)) pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->mutex);
}

/* What is left of other text, and behind it what was unpacked. */
static void begin_text(ahead_block *b, const char *left, size_t size, uint64_t base) {
    b->text = b->room + MOST_LEFT - size;
    memcpy(b->text, left, size);
    b->used = size + b->unpacked;
    b->base = base;
    b->last = b->at_end;
}

static void *run(void *user) {
    read_ahead *a = user;
    ahead_block *b = next_block(a);
    if (b) begin_text(b, a->begin, a->begin_size, a->begin_base);
    while (b) {
        a->scan(a->user, b);
        size_t left = b->used - b->scanned;
        /* an element that takes half of a block is not scanned again and again */
        b->last |= left > MOST_LEFT || is_ending(a);
        bool last = b->last;
        make_ready(a, last);
        const ahead_block *before = b;
        if (last || (b = next_block(a)) == NULL) return NULL;
        begin_text(b, before->text + before->scanned, left, before->base + before->scanned);
    }
    return NULL;
}

static void free_blocks(read_ahead *a) {
    free(a->begin);
    for (int i = 0; i < AHEAD_BLOCKS; i++) {
        free(a->blocks[i].room);
        free(a->blocks[i].events);
        free(a->blocks[i].args);
    }
    pthread_mutex_destroy(&a->mutex);
    pthread_cond_destroy(&a->changed);
    free(a);
}

read_ahead *ahead_start(unpacker *file, trace_text begin, uint64_t base, ahead_scan *scan,
                        void *user) {
    if (in_use || sysconf(_SC_NPROCESSORS_ONLN) < 2) return NULL;
    read_ahead *a = allocate(sizeof *a);
    *a = (read_ahead){.file = file, .scan = scan, .user = user};
    for (int i = 0; i < AHEAD_BLOCKS; i++)
        a->blocks[i].room = allocate(MOST_LEFT + AHEAD_BYTES + READABLE);
    a->begin = allocate(begin.size);
    memcpy(a->begin, begin.data, begin.size);
    a->begin_size = begin.size;
    a->begin_base = base;
    pthread_mutex_init(&a->mutex, NULL);
    pthread_cond_init(&a->changed, NULL);
    in_use = thread_begin(&a->thread, run, a);
    if (in_use) return a;
    free_blocks(a);
    return NULL;
}

ahead_block *ahead_take(read_ahead *a) {
    pthread_mutex_lock(&a->mutex);
    move_on(&a->freed, a->taken);
    if (much_is_free(a)) pthread_cond_signal(&a->changed);
    while (a->read == a->taken && !a->ending && unpack_next(a)) {}
    pthread_mutex_unlock(&a->mutex);
    look(&a->read, a->taken);
    pthread_mutex_lock(&a->mutex);
    if (a->read == a->taken)
        while (!much_is_ready(a)) pthread_cond_wait(&a->changed, &a->mutex);
    ahead_block *block = block_at(a, a->taken++);
    pthread_mutex_unlock(&a->mutex);
    return block;
}

size_t ahead_rest(const read_ahead *a, char *to) {
    size_t size = 0;
    for (uint64_t i = a->read; i < a->unpacked; i++) {
        const ahead_block *b = &a->blocks[i % AHEAD_BLOCKS];
        memcpy(to + size, b->room + MOST_LEFT, b->unpacked);
        size += b->unpacked;
    }
    return size;
}

void ahead_end(read_ahead *a) {
    pthread_mutex_lock(&a->mutex);
    a->ending = true;
    pthread_mutex_unlock(&a->mutex);
}

void ahead_stop(read_ahead *a) {
    pthread_mutex_lock(&a->mutex);
    a->stopped = true;
    pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->mutex);
    pthread_join(a->thread, NULL);
    free_blocks(a);
    in_use = false;
}
