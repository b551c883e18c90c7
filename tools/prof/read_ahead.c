/* Reading beside the work: see read_ahead.h. */
#include "read_ahead.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>
#ifdef __SSE2__
#  include <emmintrin.h>
#endif

#include "containers.h"

enum { BLOCKS = 6, BATCH = BLOCKS / 2 };

struct read_ahead {
    unpacker *file;
    ahead_scan *scan;
    void *user;
    ahead_block blocks[BLOCKS];
    pthread_t thread;
    /* under the mutex, but for who looks: */
    pthread_mutex_t mutex;
    pthread_cond_t changed;
    uint64_t read, taken, freed; /* blocks that are ready, were taken, were given back */
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

/* A free block to fill; NULL: none is wanted. */
static ahead_block *free_block(read_ahead *a) {
    look(&a->freed, a->read - BLOCKS);
    pthread_mutex_lock(&a->mutex);
    if (a->read - a->freed == BLOCKS)
        while (!much_is_free(a) && !a->stopped) pthread_cond_wait(&a->changed, &a->mutex);
    bool stopped = a->stopped;
    pthread_mutex_unlock(&a->mutex);
    return stopped ? NULL : &a->blocks[a->read % BLOCKS];
}

static void make_ready(read_ahead *a, bool last) {
    pthread_mutex_lock(&a->mutex);
    move_on(&a->read, a->read + 1);
    a->ended = last;
    if (much_is_ready(a)) pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->mutex);
}

/* Fills the block up. The end of the file, or what is wrong with it, is met again by the caller. */
static void fill(read_ahead *a, ahead_block *b) {
    const char *why;
    while (!b->last && b->used < AHEAD_BYTES) {
        long got = unpack_read(a->file, b->text + b->used, AHEAD_BYTES - b->used, &why);
        b->last = got <= 0;
        b->used += got > 0 ? (size_t)got : 0;
    }
    memset(b->text + b->used, 0, READABLE);
    b->packed = unpack_offset(a->file);
}

/* What is left of a block begins the next one. */
static void carry(const ahead_block *from, ahead_block *to) {
    to->used = from->used - from->scanned;
    to->base = from->base + from->scanned;
    memcpy(to->text, from->text + from->scanned, to->used);
}

static void *run(void *user) {
    read_ahead *a = user;
    ahead_block *b = &a->blocks[0];
    for (;;) {
        fill(a, b);
        a->scan(a->user, b);
        /* an element that takes half of a block is not scanned again and again */
        b->last |= b->used - b->scanned > AHEAD_BYTES / 2 || is_ending(a);
        bool last = b->last;
        make_ready(a, last);
        const ahead_block *before = b;
        if (last || (b = free_block(a)) == NULL) return NULL;
        b->last = false;
        carry(before, b);
    }
}

static void free_blocks(read_ahead *a) {
    for (int i = 0; i < BLOCKS; i++) {
        free(a->blocks[i].text);
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
    for (int i = 0; i < BLOCKS; i++) a->blocks[i].text = allocate(AHEAD_BYTES + READABLE);
    memcpy(a->blocks[0].text, begin.data, begin.size);
    a->blocks[0].used = begin.size;
    a->blocks[0].base = base;
    pthread_mutex_init(&a->mutex, NULL);
    pthread_cond_init(&a->changed, NULL);
    in_use = pthread_create(&a->thread, NULL, run, a) == 0;
    if (in_use) return a;
    free_blocks(a);
    return NULL;
}

ahead_block *ahead_take(read_ahead *a) {
    pthread_mutex_lock(&a->mutex);
    move_on(&a->freed, a->taken);
    if (much_is_free(a)) pthread_cond_signal(&a->changed);
    pthread_mutex_unlock(&a->mutex);
    look(&a->read, a->taken);
    pthread_mutex_lock(&a->mutex);
    if (a->read == a->taken)
        while (!much_is_ready(a)) pthread_cond_wait(&a->changed, &a->mutex);
    ahead_block *block = &a->blocks[a->taken++ % BLOCKS];
    pthread_mutex_unlock(&a->mutex);
    return block;
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
