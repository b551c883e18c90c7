/* What Frama-C's Eva reads for `make proof`: each function here lets a part of prof.h run on all
   values at once, and Eva shows that no run-time error is among them: no access outside of an
   object, no overflow of a signed number, no shift too far, nothing read before it is written.
   The buffers are as small as the library's own may be. tests/model/proof.sh names the bounds. */
#define PROF_IMPLEMENTATION
#define PROF_FREESTANDING
#define PROF_ARENA_SIZE 256
#include "prof.h"

#include "__fc_builtin.h"

static uint64_t any_u64(void) { return Frama_C_unsigned_long_long_interval(0, UINT64_MAX); }

/* Taken at its word: a loop over the bits (prof.h's tests compare its results). */
/*@ requires \valid(n) && by > 0;
  @ assigns *n \from *n, by;
  @ assigns \result \from *n, by;
  @ ensures quotient: *n == \old(*n) / by;
  @ ensures rest: \result < by;
  @ ensures small: \result <= \old(*n); */
static uint32_t prof__divide(uint64_t *n, uint32_t by);

/* What proof_rounding shows of it, and proof_reals makes use of. */
/*@ assigns \result \from m, e;
  @ ensures bits: \result.m == 0 || 0x10000000000000 <= \result.m < 0x20000000000000;
  @ ensures exponent: e - 63 <= \result.e <= e + 12;
  @ ensures sign: \result.negative == 0; */
static prof__real prof__real_round(uint64_t m, int e);

/* Any number whose first bit is so high; none: 0. */
static uint64_t number_of(int bits) {
    uint64_t high = bits ? (uint64_t)1 << (bits - 1) : 0;
    return bits ? Frama_C_unsigned_long_long_interval(high, high | (high - 1)) : 0;
}

void proof_rounding(void) {
    int bits = Frama_C_interval(0, 64);
    //@ split bits;
    (void)prof__real_round(number_of(bits), 0);
}

/* Zero, or any double, and what their quotients may be. */
static prof__real any_real(void) {
    prof__real r = { 0, 0, false };
    r.negative = Frama_C_interval(0, 1);
    if (Frama_C_interval(0, 1)) return r;
    r.m = Frama_C_unsigned_long_long_interval((uint64_t)1 << 52, ((uint64_t)1 << 53) - 1);
    r.e = Frama_C_interval(-1127, 971);
    return r;
}

void proof_reals(void) {
    char text[28];
    prof__real a = any_real(), b = any_real();
    (void)prof__real_below(a, b);
    (void)prof__text_real(text, a, 3);
    (void)prof__text_real(text, prof__real_div(a, b), 2);
    (void)prof__text_time(text, a, (prof_time_unit)Frama_C_interval(1, 3));
    (void)prof__text_percent(text, a, b);
}

void proof_numbers(void) {
    char natural[20], whole[20], time[21];
    (void)prof__text_u64(natural, any_u64());
    (void)prof__text_i64(whole, (int64_t)any_u64());
    (void)prof__text_us(time, any_u64());
}

/* Amounts of memory: the longest is "-8589934592.00 GB". */
void proof_amounts(void) {
    char text[20];
    int64_t bytes;
    int bits = Frama_C_interval(0, 63), below = Frama_C_interval(0, 1);
    //@ split bits;
    //@ split below;
    bytes = (int64_t)number_of(bits);
    (void)prof__text_memory(text, below ? -bytes - 1 : bytes);
}

static char memory[256];

static void arena_open(size_t size) {
    size &= ~(size_t)7;
    prof__arena.base = prof__arena.low = memory;
    prof__arena.end = prof__arena.high = memory + size;
    prof__arena.room = size;
}

/* Three takes of any sizes, in an arena of 96 bytes: what is given is there. */
void proof_arena(void) {
    arena_open(96);
    for (int i = 0; i < 3; i++) {
        int blocks = Frama_C_interval(1, 7), more = Frama_C_interval(0, 1);
        size_t bytes;
        char *p;
        //@ split blocks;
        //@ split more;
        bytes = (size_t)(16 * blocks - Frama_C_interval(0, 15));
        p = (char *)prof__take(bytes, 16 * (size_t)more);
        if (p) memset(p, i, bytes);
    }
}

/* Of 2 or 4 records: an even number, as prof_start plans them. Returns a page's bytes. */
static size_t pages_of(int records) {
    return prof__trace.plan.page = sizeof(prof__segment) + (size_t)records * sizeof(prof__record);
}

static prof__state state;

/* True: a record was written, where there is room for one. */
static bool write_record(uint32_t i) {
    if (!prof__slots(&state, 1)) return false;
    //@ assert room: state.hot.cursor < state.hot.limit;
    prof__put(&state, 1, 2, i << 8);
    return true;
}

/* Pages of 2 or 4 records until an arena of 144 bytes is full: every record can be written. */
void proof_pages(void) {
    int records = 2 * Frama_C_interval(1, 2);
    //@ split records;
    arena_open(144);
    (void)pages_of(records);
    for (uint32_t i = 0; i < 16; i++)
        if (!write_record(i)) break;
}

/* A ring of two pages of 2 or 4 records, filled and overwritten: there is always room, within
   them. */
void proof_ring(void) {
    int records = 2 * Frama_C_interval(1, 2);
    //@ split records;
    arena_open(pages_of(records) * 5 / 2);   /* an eighth is kept for threads that come late */
    prof__trace.parts = prof__parts_ring();
    prof__trace.rows = &state.row;
    for (uint32_t i = 0; i < 20; i++) {
        bool written = write_record(i);
        //@ assert taken: written != 0;
        (void)written;
    }
}
