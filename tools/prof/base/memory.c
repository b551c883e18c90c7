/* Memory, and what is kept in it. */
#include "base/memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/errors.h"

static void grows_by(size_t size);
static void doubles_by(size_t size);

void *allocate(size_t size) {
    grows_by(size);
    void *memory = calloc(1, size ? size : 1);
    if (!memory) exit(fail(NULL, "out of memory"));
    return memory;
}

void *reallocate(void *old, size_t size) {
    doubles_by(size / 2);                        /* mostly */
    void *memory = realloc(old, size ? size : 1);
    if (!memory) exit(fail(NULL, "out of memory"));
    return memory;
}

/* The number behind these words in a file of the system; none: there is no such. */
static int64_t system_number(const char *path, const char *words, int64_t none) {
    FILE *file = fopen(path, "r");
    char line[256];
    int64_t number = none;
    size_t size = strlen(words);
    while (file && fgets(line, sizeof line, file)) {
        char *end;
        if (strncmp(line, words, size) != 0) continue;
        long long found = strtoll(line + size, &end, 10);
        if (end > line + size) number = found;
        break;
    }
    if (file) fclose(file);
    return number;
}

static int64_t lesser(int64_t a, int64_t b) { return a < b ? a : b; }

int64_t memory_left(void) {
    int64_t left = INT64_MAX, kilobytes = system_number("/proc/meminfo", "MemAvailable:", -1);
    int64_t most = system_number("/sys/fs/cgroup/memory.max", "", INT64_MAX);
    int64_t pages = system_number("/proc/self/statm", "", 0);
    struct rlimit limit;
    if (kilobytes >= 0) left = kilobytes * 1024;
    if (most < INT64_MAX)
        left = lesser(left, most - system_number("/sys/fs/cgroup/memory.stat", "anon ", 0));
    if (getrlimit(RLIMIT_AS, &limit) == 0 && limit.rlim_cur < (rlim_t)INT64_MAX)
        left = lesser(left, (int64_t)limit.rlim_cur - pages * (int64_t)sysconf(_SC_PAGESIZE));
    return left;
}

int64_t memory_taken(void) {
    return system_number("/proc/self/status", "VmRSS:", 0) * 1024;
}

/* ---- What the inputs may take ---- */

/* The most, beside what the program itself takes. A small file that takes much is odd or hostile;
   a large one may be a page of a million slices, which takes three times its size. */
static int64_t most_of(uint64_t own, uint64_t bytes) {
    enum { AT_LEAST = 52 << 20, SMALL = 50 << 20 };
    return own > SMALL ? (int64_t)bytes * 4 : AT_LEAST + (int64_t)bytes / 2;
}

#ifndef __has_feature
#  define __has_feature(name) 0
#endif
#if defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer) || \
    __has_feature(memory_sanitizer) || __has_feature(thread_sanitizer)
bool memory_unbounded = true;                    /* what is taken then is mostly the sanitizer's */
#else
bool memory_unbounded;
#endif
static struct {
    const char *path;
    uint64_t own, bytes, read;
    int64_t before;
    size_t grown;
} inputs;

static void too_much(int64_t taken, int64_t most) {
    double rest = inputs.read && inputs.read < inputs.bytes
                  ? (double)inputs.bytes / (double)inputs.read : 1;
    memory_unbounded = true;                     /* while this is told */
    exit(fail(inputs.path, "it needs %s %.0f MB of memory, and what has %llu MB may take %lld: "
              "take a part of it with --from and --to, or --any-memory",
              rest > 1 ? "about" : "more than",
              (double)taken * rest / 1e6, (unsigned long long)(inputs.own / 1000000),
              (long long)(most / 1000000)));
}

/* `more` is about to be taken, too. */
static void look_at_memory(size_t more) {
    int64_t taken = memory_taken() + (int64_t)more, most = most_of(inputs.own, inputs.bytes);
    inputs.grown = 0;
    if (taken - inputs.before > most) too_much(taken, most + inputs.before);
}

enum { A_LOOK = 1 << 20 };               /* looks at the memory once in a megabyte */

static void grows_by(size_t size) {
    inputs.grown += size;
    if (inputs.grown < A_LOOK || !inputs.bytes || memory_unbounded) return;
    look_at_memory(size >= A_LOOK ? size : 0);
}

/* While a file is read, what doubles is filled little by little, which memory_of_inputs sees. */
static void doubles_by(size_t size) {
    if (inputs.read >= inputs.bytes) grows_by(size);
}

void memory_of_inputs(const char *path, uint64_t own, uint64_t bytes, uint64_t read) {
    if (!inputs.bytes) inputs.before = memory_taken();
    if (read > inputs.read) inputs.grown += (size_t)(read - inputs.read);
    inputs.path = path;
    inputs.own = own;
    inputs.bytes = bytes;
    inputs.read = read;
    if (inputs.grown >= A_LOOK && !memory_unbounded) look_at_memory(0);
}

void made_of_inputs(const char *what, uint64_t bytes, unsigned times) {
    enum { AT_LEAST = 128 << 20 };
    uint64_t most = AT_LEAST + inputs.bytes * times;
    if (!inputs.bytes || memory_unbounded || bytes <= most) return;
    exit(fail(inputs.path, "%s would have more than %llu MB, too much for %llu MB of input: take a "
              "part of it with --from and --to, or --any-memory", what,
              (unsigned long long)(most / 1000000), (unsigned long long)(inputs.own / 1000000)));
}

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    long double data[];        /* aligned for anything */
};

void *grow_to(void *items, size_t size, size_t number, size_t *capacity) {
    size_t before = *capacity;
    *capacity = 2 * number + 64;
    items = reallocate(items, *capacity * size);
    memset((char *)items + before * size, 0, (*capacity - before) * size);
    return items;
}

void *arena_allocate(arena *a, size_t size) {
    size = (size + 15) & ~(size_t)15;
    if (!a->blocks || a->blocks->size - a->blocks->used < size) {
        size_t room = size > 65536 - 64 ? size : 65536 - 64;
        struct arena_block *block = allocate(sizeof *block + room + READABLE);
        block->size = room;
        block->next = a->blocks;
        a->blocks = block;
    }
    void *piece = (char *)a->blocks->data + a->blocks->used;
    a->blocks->used += size;
    return piece;
}

char *arena_text(arena *a, const char *text, size_t size) {
    char *copy = arena_allocate(a, size + 1);
    if (size) memcpy(copy, text, size);
    return copy;
}

void arena_clear(arena *a) {
    if (!a->blocks) return;
    arena older = {a->blocks->next};
    arena_free(&older);
    a->blocks->next = NULL;
    memset(a->blocks->data, 0, a->blocks->used);
    a->blocks->used = 0;
}

void arena_free(arena *a) {
    while (a->blocks) {
        struct arena_block *next = a->blocks->next;
        free(a->blocks);
        a->blocks = next;
    }
}

/* The last bytes of data, less than 8, which begin at p: as a number, the others of which are 0. */
static inline uint64_t last_bytes(const unsigned char *data, const unsigned char *p, size_t size) {
    uint64_t word = 0;
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    if (p > data) {                          /* with some before them, and those are shifted out */
        memcpy(&word, p + size - 8, 8);
        return word >> (64 - 8 * size);
    }
#endif
    (void)data;
    memcpy(&word, p, size);
    return word;
}

uint64_t hash_bytes(const void *data, size_t size) {
    const unsigned char *p = data;
    uint64_t hash = size * 0x9E3779B97F4A7C15u, word;
    for (; size >= 8; size -= 8, p += 8) {
        memcpy(&word, p, 8);
        hash = (hash ^ word) * 0xD6E8FEB86659FD93u;
        hash ^= hash >> 32;
    }
    if (size) hash ^= last_bytes(data, p, size);
    return hash_mix(hash * 0xD6E8FEB86659FD93u);
}

/* A slot: 32 bits of the hash, then the number + 1; three of four are taken at most. */
static uint64_t *free_slot(uint64_t *slots, size_t slot_count, uint32_t hash) {
    size_t at = hash & (slot_count - 1);
    while (slots[at]) at = (at + 1) & (slot_count - 1);
    return &slots[at];
}

static void numbering_grow(numbering *n) {
    size_t count = n->slot_count ? n->slot_count * 2 : 256;
    uint64_t *slots = allocate(count * sizeof *slots);
    for (size_t i = 0; i < n->slot_count; i++)
        if (n->slots[i]) *free_slot(slots, count, (uint32_t)(n->slots[i] >> 32)) = n->slots[i];
    free(n->slots);
    n->slots = slots;
    n->slot_count = count;
}

uint32_t number_of_thing(numbering *n, uint64_t hash, const void *things, const void *thing,
                         same_thing *same) {
    uint32_t tag = (uint32_t)(hash_mix(hash) >> 32);
    if (n->count * 4 >= n->slot_count * 3) numbering_grow(n);
    size_t at = tag & (n->slot_count - 1);
    for (; n->slots[at]; at = (at + 1) & (n->slot_count - 1)) {
        uint32_t number = (uint32_t)n->slots[at] - 1;
        if (n->slots[at] >> 32 == tag && same(things, number, thing)) return number;
    }
    n->slots[at] = (uint64_t)tag << 32 | ++n->count;
    return (uint32_t)n->count - 1;
}

static bool same_text(const void *entries, uint32_t number, const void *text) {
    const struct interned *a = (const struct interned *)entries + number, *b = text;
    return a->size == b->size && memcmp(a->text, b->text, a->size) == 0;
}

uint32_t intern(interner *names, const char *text, size_t size) {
    const struct interned made = {text, size};
    uint32_t number = number_of_thing(&names->numbers, hash_bytes(text, size), names->entries,
                                      &made, same_text);
    if (number < names->count) return number;
    GROW(names->entries, names->count, names->capacity);
    names->entries[names->count++] =
        (struct interned){arena_text(&names->memory, text, size), size};
    return number;
}

void intern_free(interner *names) {
    arena_free(&names->memory);
    free(names->entries);
    free(names->numbers.slots);
    memset(names, 0, sizeof *names);
}

/* Keys are often ids that were counted up: eight of them in a row share two lines of the cache. */
static struct map_slot *map_slot_of(const map *m, uint64_t key) {
    size_t slot = (hash_mix(key >> 3) + (key & 7)) & (m->slot_count - 1);
    while (m->slots[slot].key && m->slots[slot].key != key) slot = (slot + 1) & (m->slot_count - 1);
    return &m->slots[slot];
}

enum { MANY = 1 << 20 /* slots */ };

static void map_grow(map *m) {
    map old = *m;
    bool all = !m->forgets || m->slot_count < MANY;
    size_t kept = 0;
    for (size_t i = 0; i < old.slot_count; i++)
        kept += old.slots[i].key && (all || old.slots[i].value);
    m->slot_count = kept * 4 < old.slot_count ? old.slot_count
                  : old.slot_count ? old.slot_count * 2 : 256;
    m->slots = allocate(m->slot_count * sizeof *m->slots);
    m->count = kept + m->has_zero;
    for (size_t i = 0; i < old.slot_count; i++)
        if (old.slots[i].key && (all || old.slots[i].value))
            *map_slot_of(m, old.slots[i].key) = old.slots[i];
    free(old.slots);
}

void map_begin(map *m, size_t count) {
    for (m->slot_count = 256; m->slot_count * 3 < count * 4; m->slot_count *= 2) {}
    m->slots = allocate(m->slot_count * sizeof *m->slots);
}

static uint64_t *map_put_zero(map *m, bool *is_new) {
    if (is_new) *is_new = !m->has_zero;
    m->count += !m->has_zero;
    m->has_zero = true;
    return &m->zero_value;
}

uint64_t *map_put(map *m, uint64_t key, bool *is_new) {
    if (key == 0) return map_put_zero(m, is_new);
    if (m->count * 4 >= m->slot_count * 3) map_grow(m);
    struct map_slot *slot = map_slot_of(m, key);
    if (is_new) *is_new = !slot->key;
    m->count += !slot->key;
    slot->key = key;
    return &slot->value;
}

size_t map_number(map *m, uint64_t key, size_t *count, bool *is_new) {
    uint64_t *number = map_put(m, key, is_new);
    if (*is_new) *number = (*count)++;
    return (size_t)*number;
}

uint64_t *map_get(const map *m, uint64_t key) {
    if (key == 0) return m->has_zero ? (uint64_t *)(uintptr_t)&m->zero_value : NULL;
    if (!m->slot_count) return NULL;
    struct map_slot *slot = map_slot_of(m, key);
    return slot->key ? &slot->value : NULL;
}

void map_free(map *m) {
    free(m->slots);
    memset(m, 0, sizeof *m);
}

/* ---- Sorting ---- */

/* Moves the number behind a run to its place in it; false: that is not near. */
static bool move_back(uint32_t *run, size_t end, before_fn *before, const void *context) {
    enum { NEAR = 8 };
    uint32_t moved = run[end];
    size_t at = end;
    for (; at && before(moved, run[at - 1], context); at--)
        if (end - at == NEAR) return false;
    memmove(run + at + 1, run + at, (end - at) * sizeof *run);
    run[at] = moved;
    return true;
}

/* What is nearly in order is one run. */
static size_t run_end(uint32_t *from, size_t begin, size_t count, before_fn *before,
                      const void *context) {
    size_t end = begin + 1;
    while (end < count && (!before(from[end], from[end - 1], context) ||
                           move_back(from + begin, end - begin, before, context))) end++;
    return end < count ? end : count;
}

typedef struct runs { uint32_t *ends; size_t count, capacity; } runs;

static runs find_runs(uint32_t *numbers, size_t count, before_fn *before, const void *context) {
    runs r = {0};
    for (size_t end = 0; end < count; ) {
        end = run_end(numbers, end, count, before, context);
        GROW(r.ends, r.count, r.capacity);
        r.ends[r.count++] = (uint32_t)end;
    }
    return r;
}

/* Merges pairs of runs from one array into the other. */
static void merge_runs(const uint32_t *from, uint32_t *to, runs *r, before_fn *before,
                       const void *context) {
    size_t left = 0, out = 0;
    for (size_t i = 0; i < r->count; i += 2) {
        size_t middle = r->ends[i], right = middle;
        size_t end = i + 1 < r->count ? r->ends[i + 1] : middle;
        while (left < middle && right < end)
            to[out++] = before(from[right], from[left], context) ? from[right++] : from[left++];
        while (left < middle) to[out++] = from[left++];
        while (right < end) to[out++] = from[right++];
        r->ends[i / 2] = (uint32_t)(left = end);
    }
    r->count = (r->count + 1) / 2;
}

void sort_numbers(uint32_t *numbers, size_t count, before_fn *before, const void *context) {
    runs r = find_runs(numbers, count, before, context);
    uint32_t *other = r.count > 1 ? allocate(count * sizeof *other) : NULL;
    uint32_t *from = numbers, *to = other;
    while (r.count > 1) {
        merge_runs(from, to, &r, before, context);
        uint32_t *swap = from;
        from = to;
        to = swap;
    }
    if (from != numbers) memcpy(numbers, from, count * sizeof *numbers);
    free(other);
    free(r.ends);
}

uint32_t *sorted_numbers(size_t count, before_fn *before, const void *context) {
    uint32_t *numbers = allocate((count ? count : 1) * sizeof *numbers);
    for (size_t i = 0; i < count; i++) numbers[i] = (uint32_t)i;
    sort_numbers(numbers, count, before, context);
    return numbers;
}
