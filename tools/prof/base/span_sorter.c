/* Sorting in constant memory: see span_sorter.h. */
#include "base/span_sorter.h"

#include <stdlib.h>
#include <string.h>

#ifndef PIECE_BYTES              /* tests have little ones */
#  define PIECE_BYTES (1 << 21)  /* in memory */
#endif

enum {
    BLOCK_BYTES = 24 << 10       /* of a piece, read at a time */
};

typedef struct piece {           /* of the file, sorted */
    uint64_t begin, next, end;   /* records in the file: first that was not read yet is next */
    size_t at, count;            /* in the block */
    char *block;
} piece;

enum { NONE = 1 << 20 };         /* no record is that large */

typedef struct batch {           /* a piece in memory */
    record_before *before;
    size_t thread;               /* where a record has it, if it is sorted by that first; NONE */
    size_t size, count;          /* of a record; how many there are */
    char *records;
    uint32_t *order;
} batch;

struct span_sorter {
    record_before *before;
    size_t size, room, per_block;   /* of a record; how many records there is room for */
    batch filled;
    size_t next;
    FILE *file;
    uint64_t written;            /* records */
    piece **heap;                /* the piece with the least record first */
    size_t pieces, heap_size, capacity;
    size_t second;               /* the lesser of those behind the first; 0: not known */
};

static bool span_before(const void *one, const void *other) {
    const span *a = one, *b = other;
    if (a->thread != b->thread) return a->thread < b->thread;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns;
    if ((a->flags ^ b->flags) & SPAN_CHANGE) return b->flags & SPAN_CHANGE;
    return !(a->flags & SPAN_CHANGE) && a->amount > b->amount;
}

static const char *record(const batch *b, size_t number) {
    return b->records + number * b->size;
}

static bool number_before(uint32_t one, uint32_t other, const void *context) {
    const batch *b = context;
    return b->before(record(b, one), record(b, other));
}

/* A thread's spans: how many, and where the next one's number goes. */
typedef struct lane { uint32_t thread, count, next; } lane;
enum { LANES = 64 };

/* In the order of threads. NULL: there are too many. */
static lane *find_lane(lane *lanes, uint32_t *count, uint32_t *last, uint32_t thread) {
    uint32_t at = 0;
    while (at < *count && lanes[at].thread < thread) at++;
    *last = at;
    if (at < *count && lanes[at].thread == thread) return &lanes[at];
    if (*count == LANES) return NULL;
    memmove(&lanes[at + 1], &lanes[at], (*count - at) * sizeof *lanes);
    lanes[at] = (lane){.thread = thread};
    ++*count;
    return &lanes[at];
}

/* *last: where the one before was, mostly it is that again. */
static inline lane *lane_of(lane *lanes, uint32_t *count, uint32_t *last, uint32_t thread) {
    bool again = *last < *count && lanes[*last].thread == thread;
    return again ? &lanes[*last] : find_lane(lanes, count, last, thread);
}

static uint32_t thread_at(const batch *b, size_t number) {
    uint32_t thread;
    memcpy(&thread, record(b, number) + b->thread, sizeof thread);
    return thread;
}

/* Threads take turns in a file, each mostly in the order of time: apart there is little to sort. */
static bool sort_lanes(batch *b) {
    lane lanes[LANES];
    uint32_t count = 0, last = 0, end = 0;
    for (size_t i = 0; i < b->count; i++) {
        lane *one = lane_of(lanes, &count, &last, thread_at(b, i));
        if (!one) return false;
        one->count++;
    }
    for (uint32_t i = 0; i < count; end += lanes[i++].count) lanes[i].next = end;
    for (uint32_t i = 0; i < b->count; i++)
        b->order[lane_of(lanes, &count, &last, thread_at(b, i))->next++] = i;
    for (uint32_t i = 0; i < count; i++)
        sort_numbers(b->order + (lanes[i].next - lanes[i].count), lanes[i].count, number_before,
                     b);
    return true;
}

static void sort_batch(batch *b) {
    if (b->thread != NONE && sort_lanes(b)) return;
    for (size_t i = 0; i < b->count; i++) b->order[i] = (uint32_t)i;
    sort_numbers(b->order, b->count, number_before, b);
}

static void free_batch(batch *b) {
    free(b->records);
    free(b->order);
    b->records = NULL;
    b->order = NULL;
}

static void write_piece(span_sorter *s) {
    batch *b = &s->filled;
    if (!s->file) {
        s->file = temporary_file();
        setvbuf(s->file, NULL, _IONBF, 0);       /* blocks are read and written whole */
    }
    GROW(s->heap, s->pieces, s->capacity);
    piece *p = s->heap[s->pieces++] = allocate(sizeof *p);
    p->block = allocate(s->per_block * s->size);
    p->begin = s->written;
    p->end = s->written += b->count;
    sort_batch(b);
    for (size_t i = 0, n = 0; i < b->count; i += n) {
        for (n = 0; n < s->per_block && i + n < b->count; n++)
            memcpy(p->block + n * b->size, record(b, b->order[i + n]), b->size);
        if (fwrite(p->block, b->size, n, s->file) != n) temporary_failed();
    }
    b->count = 0;
}

/* Reads on in a piece; false: it is through. */
static bool fill(span_sorter *s, piece *p) {
    uint64_t left = p->end - p->next;
    p->at = 0;
    p->count = left < s->per_block ? (size_t)left : s->per_block;
    if (!p->count) return false;
    if (fseeko(s->file, (off_t)(p->next * s->size), SEEK_SET) != 0 ||
        fread(p->block, s->size, p->count, s->file) != p->count) temporary_failed();
    p->next += p->count;
    return true;
}

static const void *least_of(const piece *p, size_t size) { return p->block + p->at * size; }

/* Of equals the one that came first, in the file. */
static bool piece_before(const span_sorter *s, const piece *a, const piece *b) {
    const void *x = least_of(a, s->size), *y = least_of(b, s->size);
    return s->before(x, y) || (!s->before(y, x) && a->end < b->end);
}

static void sift_down(span_sorter *s, size_t at) {
    for (size_t child; (child = 2 * at + 1) < s->heap_size; at = child) {
        if (child + 1 < s->heap_size && piece_before(s, s->heap[child + 1], s->heap[child]))
            child++;
        if (!piece_before(s, s->heap[child], s->heap[at])) return;
        piece *swap = s->heap[at];
        s->heap[at] = s->heap[child];
        s->heap[child] = swap;
    }
}

/* Is the first piece the one with the least record still? Mostly it is: runs of a piece come one
   behind another. */
static bool first_stays(span_sorter *s) {
    if (s->heap_size < 2) return true;
    if (!s->second)
        s->second = s->heap_size > 2 && piece_before(s, s->heap[2], s->heap[1]) ? 2 : 1;
    return s->before(least_of(s->heap[0], s->size), least_of(s->heap[s->second], s->size));
}

span_sorter *sorter_of(size_t size, record_before *before) {
    span_sorter *s = allocate(sizeof *s);
    s->before = before;
    s->size = size;
    s->room = PIECE_BYTES / size;
    s->per_block = BLOCK_BYTES / size;
    s->filled = (batch){
        .before = before, .thread = NONE, .size = size, .records = allocate(s->room * size),
        .order = allocate(s->room * sizeof(uint32_t))
    };
    return s;
}

span_sorter *sorter_by_thread(size_t size, record_before *before, size_t thread) {
    span_sorter *s = sorter_of(size, before);
    s->filled.thread = thread;
    return s;
}

span_sorter *sorter_new(void) {
    return sorter_by_thread(sizeof(span), span_before, offsetof(span, thread));
}

void sorter_add(span_sorter *s, const void *added) {
    if (s->filled.count == s->room) write_piece(s);
    memcpy(s->filled.records + s->filled.count++ * s->size, added, s->size);
}

void sorter_finish(span_sorter *s) {
    if (!s->file) {
        sort_batch(&s->filled);
        return;
    }
    write_piece(s);
    free_batch(&s->filled);
    sorter_rewind(s);
}

void sorter_rewind(span_sorter *s) {
    s->next = s->second = 0;
    s->heap_size = s->pieces;
    for (size_t i = 0; i < s->pieces; i++) {
        s->heap[i]->next = s->heap[i]->begin;
        fill(s, s->heap[i]);
    }
    for (size_t i = s->pieces; i-- > 0; ) sift_down(s, i);
}

bool sorter_next(span_sorter *s, void *next) {
    if (!s->file) {
        if (s->next == s->filled.count) return false;
        memcpy(next, record(&s->filled, s->filled.order[s->next++]), s->size);
        return true;
    }
    if (s->heap_size == 0) return false;
    piece *least = s->heap[0];
    memcpy(next, least->block + least->at++ * s->size, s->size);
    if (least->at == least->count && !fill(s, least)) {
        s->heap[0] = s->heap[--s->heap_size];
        s->heap[s->heap_size] = least;
        s->second = 0;
    }
    if (first_stays(s)) return true;
    sift_down(s, 0);
    s->second = 0;
    return true;
}

void sorter_free(span_sorter *s) {
    if (!s) return;
    for (size_t i = 0; i < s->pieces; i++) {
        free(s->heap[i]->block);
        free(s->heap[i]);
    }
    if (s->file) fclose(s->file);
    free(s->heap);
    free_batch(&s->filled);
    free(s);
}
