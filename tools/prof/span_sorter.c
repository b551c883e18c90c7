/* Sorting in constant memory: see span_sorter.h. */
#include "span_sorter.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "call_tree.h"

enum { PIECE = 1 << 17 /* spans in memory */, BLOCK = 512 /* spans of a piece read at a time */ };

typedef struct piece {           /* of the file, sorted */
    uint64_t begin, next, end;   /* spans in the file: first that was not read yet is next */
    uint32_t at, count;          /* in the block */
    span block[BLOCK];
} piece;

struct span_sorter {
    span *spans;
    uint32_t *order;
    size_t count, next;
    FILE *file;
    uint64_t written;            /* spans */
    piece **heap;                /* the piece with the least span first */
    size_t pieces, heap_size, capacity;
};

static bool before(const span *a, const span *b) {
    if (a->thread != b->thread) return a->thread < b->thread;
    if (a->start_ns != b->start_ns) return a->start_ns < b->start_ns;
    if ((a->flags ^ b->flags) & SPAN_CHANGE) return b->flags & SPAN_CHANGE;
    return !(a->flags & SPAN_CHANGE) && a->amount > b->amount;
}

static bool number_before(uint32_t a, uint32_t b, const void *context) {
    const span *spans = context;
    return before(&spans[a], &spans[b]);
}

/* A thread's spans: how many, and where the next one's number goes. */
typedef struct lane { uint32_t thread, count, next; } lane;
enum { LANES = 64 };

/* In the order of threads; NULL: there are too many. */
static lane *lane_of(lane *lanes, uint32_t *count, uint32_t thread) {
    uint32_t at = 0;
    while (at < *count && lanes[at].thread < thread) at++;
    if (at < *count && lanes[at].thread == thread) return &lanes[at];
    if (*count == LANES) return NULL;
    memmove(&lanes[at + 1], &lanes[at], (*count - at) * sizeof *lanes);
    lanes[at] = (lane){.thread = thread};
    ++*count;
    return &lanes[at];
}

/* Threads take turns in a file, each mostly in the order of time: apart there is little to sort. */
static bool sort_lanes(span_sorter *s) {
    lane lanes[LANES];
    uint32_t count = 0, end = 0;
    for (size_t i = 0; i < s->count; i++) {
        lane *one = lane_of(lanes, &count, s->spans[i].thread);
        if (!one) return false;
        one->count++;
    }
    for (uint32_t i = 0; i < count; end += lanes[i++].count) lanes[i].next = end;
    for (uint32_t i = 0; i < s->count; i++)
        s->order[lane_of(lanes, &count, s->spans[i].thread)->next++] = i;
    for (uint32_t i = 0; i < count; i++)
        sort_numbers(s->order + (lanes[i].next - lanes[i].count), lanes[i].count, number_before,
                     s->spans);
    return true;
}

static void sort_piece(span_sorter *s) {
    if (sort_lanes(s)) return;
    for (size_t i = 0; i < s->count; i++) s->order[i] = (uint32_t)i;
    sort_numbers(s->order, s->count, number_before, s->spans);
}

static void file_failed(void) {
    exit(fail(NULL, "a temporary file cannot be used: %s", strerror(errno)));
}

static void write_piece(span_sorter *s) {
    sort_piece(s);
    if (!s->file && !(s->file = tmpfile())) file_failed();
    GROW(s->heap, s->pieces, s->capacity);
    piece *p = s->heap[s->pieces++] = allocate(sizeof *p);
    for (size_t i = 0, n = 0; i < s->count; i += n) {
        for (n = 0; n < BLOCK && i + n < s->count; n++) p->block[n] = s->spans[s->order[i + n]];
        if (fwrite(p->block, sizeof(span), n, s->file) != n) file_failed();
    }
    p->begin = s->written;
    p->end = s->written += s->count;
    s->count = 0;
}

/* Reads on in a piece; false: it is through. */
static bool fill(span_sorter *s, piece *p) {
    uint64_t left = p->end - p->next;
    p->at = 0;
    p->count = left < BLOCK ? (uint32_t)left : BLOCK;
    if (!p->count) return false;
    if (fseeko(s->file, (off_t)(p->next * sizeof(span)), SEEK_SET) != 0 ||
        fread(p->block, sizeof(span), p->count, s->file) != p->count) file_failed();
    p->next += p->count;
    return true;
}

/* Of equals the one that came first, in the file. */
static bool piece_before(const piece *a, const piece *b) {
    const span *x = &a->block[a->at], *y = &b->block[b->at];
    return before(x, y) || (!before(y, x) && a->end < b->end);
}

static void sift_down(span_sorter *s, size_t at) {
    for (size_t child; (child = 2 * at + 1) < s->heap_size; at = child) {
        if (child + 1 < s->heap_size && piece_before(s->heap[child + 1], s->heap[child])) child++;
        if (!piece_before(s->heap[child], s->heap[at])) return;
        piece *swap = s->heap[at];
        s->heap[at] = s->heap[child];
        s->heap[child] = swap;
    }
}

span_sorter *sorter_new(void) {
    span_sorter *s = allocate(sizeof *s);
    s->spans = allocate(PIECE * sizeof *s->spans);
    s->order = allocate(PIECE * sizeof *s->order);
    return s;
}

void sorter_add(span_sorter *s, const span *added) {
    if (s->count == PIECE) write_piece(s);
    s->spans[s->count++] = *added;
}

void sorter_finish(span_sorter *s) {
    if (!s->file) {
        sort_piece(s);
        return;
    }
    write_piece(s);
    sorter_rewind(s);
}

void sorter_rewind(span_sorter *s) {
    s->next = 0;
    s->heap_size = s->pieces;
    for (size_t i = 0; i < s->pieces; i++) {
        s->heap[i]->next = s->heap[i]->begin;
        fill(s, s->heap[i]);
    }
    for (size_t i = s->pieces; i-- > 0; ) sift_down(s, i);
}

bool sorter_next(span_sorter *s, span *next) {
    if (!s->file) {
        if (s->next == s->count) return false;
        *next = s->spans[s->order[s->next++]];
        return true;
    }
    if (s->heap_size == 0) return false;
    piece *least = s->heap[0];
    *next = least->block[least->at++];
    if (least->at == least->count && !fill(s, least)) {
        s->heap[0] = s->heap[--s->heap_size];
        s->heap[s->heap_size] = least;
    }
    sift_down(s, 0);
    return true;
}

void sorter_free(span_sorter *s) {
    for (size_t i = 0; i < s->pieces; i++) free(s->heap[i]);
    if (s->file) fclose(s->file);
    free(s->heap);
    free(s->spans);
    free(s->order);
    free(s);
}
