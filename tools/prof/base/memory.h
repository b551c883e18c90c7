/* Memory, whose lack ends the program with a message, and what is kept in it. */
#ifndef PROF_TOOL_MEMORY_H
#define PROF_TOOL_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

void *allocate(size_t size);                     /* zeroed */
void *reallocate(void *old, size_t size);

/* The inputs have so many bytes, unpacked, as far as is known, and would have so many as JSON, of
   which so many are read: from now on more memory than half of those as JSON and 60 MB, of inputs
   above 50 MB than four times as many, ends the program with what it would need. */
void memory_of_inputs(const char *path, uint64_t own, uint64_t bytes, uint64_t read);
extern bool memory_unbounded;                    /* set by --any-memory: not so */
/* What is made of the inputs has so many bytes by now: more than so many times theirs as JSON and
   128 MB end the program. A small file may have a long name that all its events share, and paths of
   long names, each of which is written whole. */
void made_of_inputs(const char *what, uint64_t bytes, unsigned times);

/* So many bytes more can be taken before the machine swaps, or a limit of this process (ulimit -v)
   or of its cgroup is met; INT64_MAX: nobody tells. */
int64_t memory_left(void);
int64_t memory_taken(void);                      /* by this process; 0: nobody tells */

/* So many bytes can be read behind every piece of an arena and every file: see json_next. */
enum { READABLE = 32 };

/* Makes room for one more item: *items holds count of capacity items of that size. */
#define GROW(items, count, capacity) \
    ((count) < (capacity) ? (void)0 : \
     (void)((capacity) = (capacity) ? (capacity) * 2 : 64, \
            (items) = reallocate((items), (size_t)(capacity) * sizeof *(items))))

/* Makes room up to the item of that number; new ones are zeroed. */
#define GROW_TO(items, number, capacity) \
    ((number) < (capacity) ? (void)0 : \
     (void)((items) = grow_to((items), sizeof *(items), (number), &(capacity))))
void *grow_to(void *items, size_t size, size_t number, size_t *capacity);

/* Pieces that are freed all at once, with READABLE bytes behind each. Zero-initialise. */
typedef struct arena { struct arena_block *blocks; } arena;
void *arena_allocate(arena *a, size_t size);     /* zeroed, aligned for anything */
char *arena_text(arena *a, const char *text, size_t size);   /* a copy with a NUL */
void arena_free(arena *a);
void arena_clear(arena *a);                      /* the same, to be filled again */

/* Numbers equal things of the caller's alike: those of numbers 0, 1, 2, ..., in order of first
   sight, are told to `same`, one after the other. Zero-initialise; free(slots). */
typedef struct numbering { uint64_t *slots; size_t slot_count, count; } numbering;
typedef bool same_thing(const void *things, uint32_t number, const void *thing);
/* Of a thing that is new, the count so far. */
uint32_t number_of_thing(numbering *n, uint64_t hash, const void *things, const void *thing,
                         same_thing *same);

/* The same of texts, which it keeps. Zero-initialise. */
typedef struct interner {
    arena memory;
    numbering numbers;
    struct interned { const char *text; size_t size; } *entries;
    size_t count, capacity;
} interner;
uint32_t intern(interner *names, const char *text, size_t size);
static inline const char *interned_text(const interner *names, uint32_t number) {
    return names->entries[number].text;          /* ends with a NUL */
}
void intern_free(interner *names);

uint64_t hash_bytes(const void *data, size_t size);
static inline uint64_t hash_mix(uint64_t x) {
    x ^= x >> 32;
    x *= 0x9E3779B97F4A7C15u;
    return x ^ x >> 29;
}

/* Maps 64-bit keys to 64-bit values. Zero-initialise. */
typedef struct map {
    struct map_slot { uint64_t key, value; } *slots;     /* key 0: empty */
    size_t count, slot_count;
    uint64_t zero_value;       /* of key 0, when has_zero */
    bool has_zero;
    bool forgets;              /* the caller's: of many keys, those of value 0 need not be kept */
} map;
/* The value's slot, made (with value 0) when *is_new says so; valid until the next map_put. */
uint64_t *map_put(map *m, uint64_t key, bool *is_new);
uint64_t *map_get(const map *m, uint64_t key);   /* NULL: not there */
void map_begin(map *m, size_t count);            /* room for so many, before the first one */
void map_free(map *m);
/* The number of the key's item in the caller's array; *is_new: it is the new one at the end, which
   the caller fills. */
#define NUMBER_OF(m, key, items, count, capacity, is_new) \
    (GROW((items), (count), (capacity)), map_number((m), (key), &(count), (is_new)))
size_t map_number(map *m, uint64_t key, size_t *count, bool *is_new);

/* Sorts numbers[0..count) so that before(a, b, context) never holds for a later a and an earlier
   b; keeps the order of equals; linear where it is sorted already. */
typedef bool before_fn(uint32_t a, uint32_t b, const void *context);
void sort_numbers(uint32_t *numbers, size_t count, before_fn *before, const void *context);
uint32_t *sorted_numbers(size_t count, before_fn *before, const void *context);  /* 0..count */

#endif
