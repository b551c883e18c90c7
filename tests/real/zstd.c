/* zstd: two threads, each compresses text-like bytes of its own (WORK_SIZE, 2 MiB) and gets them
   back. */
#include "work.h"

#include "zstd.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define WORDS 2000

typedef struct job { unsigned seed; size_t size, packed; int failed; } job;

/* Words of a small vocabulary, the frequent ones more often. */
static void fill(char *text, size_t size, unsigned seed) {
    size_t at = 0;
    while (at < size) {
        unsigned a = work_random(&seed) % WORDS, b = work_random(&seed) % WORDS;
        unsigned letters = (a < b ? a : b) * 2654435761u + 1;
        unsigned length = 2 + letters % 9;
        for (unsigned i = 0; i < length && at < size; i++)
            text[at++] = (char)('a' + work_random(&letters) % 26);
        if (at < size) text[at++] = work_random(&seed) % 12 ? ' ' : '\n';
    }
}

static void *run(void *user) {
    job *j = (job *)user;
    size_t bound = ZSTD_compressBound(j->size);
    char *text = (char *)malloc(j->size), *packed = (char *)malloc(bound);
    char *again = (char *)malloc(j->size);
    j->failed = 1;
    if (text && packed && again) {
        fill(text, j->size, j->seed);
        j->packed = ZSTD_compress(packed, bound, text, j->size, 3);
        j->failed = ZSTD_decompress(again, j->size, packed, j->packed) != j->size ||
                    memcmp(text, again, j->size) != 0;
    }
    free(text);
    free(packed);
    free(again);
    return NULL;
}

int main(void) {
    const char *size = getenv("WORK_SIZE");
    size_t bytes = size ? strtoull(size, NULL, 10) : (size_t)2 << 20;
    job jobs[2] = { { 1, bytes, 0, 0 }, { 2, bytes, 0, 0 } };
    pthread_t threads[2];
    work_begin();
    for (int i = 0; i < 2; i++)
        if (pthread_create(threads + i, NULL, run, jobs + i) != 0) return 1;
    for (int i = 0; i < 2; i++) pthread_join(threads[i], NULL);
    work_end();
    printf("%zu %zu\n", jobs[0].packed, jobs[1].packed);
    return jobs[0].failed || jobs[1].failed;
}
