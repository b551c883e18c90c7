/* What memory changes amount to: see raw_memory.h. */
#include "input/raw_memory.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/demangle.h"
#include "base/progress.h"
#include "base/span_sorter.h"

struct raw_memory {
    map blocks, totals;
    uint64_t unknown, twice, missed;         /* frees, and allocations: as prof_stats has them */
    span_sorter *changes;                    /* by time, then settled, as they come; NULL: these
                                                count as they come */
    uint64_t count;                          /* of them */
    uint32_t session;
};

/* ---- The heads of blocks ---- */

uint32_t raw_word(const unsigned char *block, int number) {
    uint32_t word;
    memcpy(&word, block + 4 * number, sizeof word);
    return word;
}

bool raw_block_at(int fd, off_t at, unsigned char block[RAW_HEAD]) {
    if (pread(fd, block, RAW_HEAD, at) != RAW_HEAD) return false;
    uint32_t type = raw_word(block, 1) & 0xffff, size = raw_word(block, 2);
    return raw_word(block, 0) == 0x50524f46 && raw_word(block, 1) >> 16 == 2 &&
           type <= RAW_EVENT && size % 4 == 0 && size <= 1 << 16;
}

off_t raw_block_end(const unsigned char *block, off_t at) { return at + 24 + raw_word(block, 2); }

/* As far as its blocks can be told. */
static bool has_memory(int fd, off_t at) {
    unsigned char block[RAW_HEAD];
    struct stat status;
    if (fstat(fd, &status) != 0 || !S_ISREG(status.st_mode)) return false;
    for (; raw_block_at(fd, at, block); at = raw_block_end(block, at))
        if ((raw_word(block, 1) & 0xffff) == RAW_DETAILS &&
            raw_word(block, 6) & PROF_RAW_HAS_MEMORY) return true;
    return false;
}

/* ---- What is allocated ---- */

static uint64_t key_of(const prof_memory_change *c) {
    uint64_t device = (uint64_t)c->device.type << 8 | (uint8_t)c->device.index;
    return c->address ^ device << 48;
}

static uint64_t *total_of(raw_memory *m, prof_device device) {
    return map_put(&m->totals, (uint64_t)device.type << 8 | (uint8_t)device.index, NULL);
}

/* A block has 1 + its bytes; 0: it was freed. */
static bool free_block(raw_memory *m, const prof_memory_change *c, raw_change *out) {
    uint64_t *block = map_get(&m->blocks, key_of(c));
    m->unknown += !block;
    m->twice += block && !*block;
    if (!block || !*block) return false;
    out->bytes = (int64_t)(1 - *block);
    *block = 0;
    return true;
}

static void allocate_block(raw_memory *m, const prof_memory_change *c, raw_change *out) {
    uint64_t *block = map_put(&m->blocks, key_of(c), NULL);
    m->missed += *block != 0;
    out->missed = *block ? (int64_t)(*block - 1) : 0;
    out->bytes = (int64_t)c->bytes;
    *block = c->bytes + 1;
}

/* Of half a million blocks and more those that were freed are forgotten: what frees one of them
   again is of unknown memory. */
static raw_change settle(raw_memory *m, const prof_memory_change *c, bool failed) {
    uint64_t *total = total_of(m, c->device);
    raw_change out = {.counts = !failed};
    m->blocks.forgets = true;
    if (!failed && !c->is_free) allocate_block(m, c, &out);
    else if (!failed) out.counts = free_block(m, c, &out);
    *total += (uint64_t)out.bytes - (uint64_t)out.missed;
    out.total = (int64_t)*total;
    return out;
}

/* ---- Ahead: in the order of time, not of the threads ---- */

enum { PLACE_BITS = 40, THREADS = (1 << 22) - 1, FREE = 1 << 16, FAILED = 1 << 17 };

/* By session, time, thread and place: see span_sorter.h. */
static void note_change(void *user, const prof_raw_item *item) {
    raw_memory *m = user;
    const prof_memory_change *c = item->memory;
    m->session += item->kind == PROF_RAW_SESSION;
    if (item->kind != PROF_RAW_MEMORY) return;
    span s = {
        .start_ns = c->ns, .id = (int64_t)c->address, .what = (uint32_t)c->bytes,
        .amount = -(int64_t)((uint64_t)(c->thread & THREADS) << PLACE_BITS | m->count++),
        .more = (uint32_t)(c->bytes >> 32), .thread = m->session,
        .order = c->device.type | (uint32_t)(uint8_t)c->device.index << 8 |
                 (c->is_free ? FREE : 0) | (item->failed ? FAILED : 0)
    };
    sorter_add(m->changes, &s);
}

static prof_memory_change change_of(const span *s) {
    return (prof_memory_change){
        .address = (uint64_t)s->id, .bytes = (uint64_t)s->more << 32 | s->what,
        .device = {(uint8_t)s->order, (int8_t)(uint8_t)(s->order >> 8)},
        .is_free = (s->order & FREE) != 0
    };
}

/* What it amounts to, to be sorted by its place. */
static span settled(raw_memory *m, const span *s) {
    prof_memory_change change = change_of(s);
    raw_change c = settle(m, &change, (s->order & FAILED) != 0);
    return (span){
        .start_ns = -s->amount & (((int64_t)1 << PLACE_BITS) - 1), .id = c.bytes,
        .amount = c.total, .what = c.counts, .more = (uint32_t)((uint64_t)c.missed >> 32),
        .order = (uint32_t)c.missed
    };
}

static void settle_all(raw_memory *m) {
    span_sorter *by_place = sorter_new();
    sorter_finish(m->changes);
    for (span s; sorter_next(m->changes, &s); ) {
        span out = settled(m, &s);
        sorter_add(by_place, &out);
    }
    sorter_finish(by_place);
    sorter_free(m->changes);
    m->changes = by_place;
}

static int feed(prof_raw *raw, int fd, off_t at) {
    enum { PIECE = 1 << 18 };
    unsigned char *piece = allocate(PIECE);
    struct stat status;
    ssize_t got;
    if (fstat(fd, &status) != 0) status.st_size = 0;
    for (; (got = pread(fd, piece, PIECE, at)) > 0; at += got) {
        prof_raw_feed(raw, piece, (size_t)got);
        progress("reading", (uint64_t)at, (uint64_t)status.st_size);
    }
    int error = got < 0 ? errno : 0;
    progress_end();
    free(piece);
    return error;
}

int raw_read(int fd, off_t begin, void (*item)(void *user, const prof_raw_item *item), void *user,
             prof_raw_stats *stats) {
    void *memory = allocate(RAW_READER);
    prof_raw_desc desc = {.memory = memory, .memory_size = RAW_READER, .item = item, .user = user,
                          .shown = demangled};
    prof_raw *raw;
    if (prof_raw_open(&desc, &raw) != PROF_OK) exit(fail(NULL, "out of memory"));
    int error = feed(raw, fd, begin);
    prof_raw_close(raw, stats);
    free(memory);
    return error;
}

void raw_memory_read_ahead(raw_memory *m, int fd, off_t begin) {
    if (m->changes || !has_memory(fd, begin)) return;
    m->changes = sorter_new();
    raw_read(fd, begin, note_change, m, NULL);
    settle_all(m);
}

/* ---- One by one ---- */

raw_memory *raw_memory_new(void) { return allocate(sizeof(raw_memory)); }

/* What a file that grew meanwhile has more counts as it comes, behind all that was read ahead. */
raw_change raw_memory_next(raw_memory *m, const prof_raw_item *item) {
    span s;
    if (!m->changes || !sorter_next(m->changes, &s)) return settle(m, item->memory, item->failed);
    return (raw_change){
        .counts = s.what, .bytes = s.id, .total = s.amount,
        .missed = (int64_t)((uint64_t)s.more << 32 | s.order)
    };
}

void raw_memory_lose(const raw_memory *m, prof_stats *counts) {
    counts->memory_unknown += m->unknown;
    counts->memory_twice += m->twice;
    counts->memory_missed += m->missed;
}

void raw_memory_free(raw_memory *m) {
    if (m->changes) sorter_free(m->changes);
    map_free(&m->blocks);
    map_free(&m->totals);
    free(m);
}
