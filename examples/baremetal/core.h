/* core.h: the smallest recorder, for a target with 2 KB of flash to spare. MIT-0, as prof.h.

   It records zones, of the program and of interrupts, and writes them as the raw blocks that
   `prof decode` (and so every command) reads. Its names are those of prof.h: a program moves to all
   of that by another include. ONE file defines PROF_IMPLEMENTATION before it includes this one.
       prof_start(NULL);
       PROF_BLOCK("work") { ... }
       prof_stop();
       prof_dump(uart);                   // a prof_sink of yours

   Macros; only PROF_DISABLE is not for the file with PROF_IMPLEMENTATION alone
       PROF_DISABLE           this file's zones become nothing
       PROF_ARENA_SIZE n      bytes for records, of 12 bytes each (8192)
       PROF_MAX_DEPTH n       zones open at once, those of interrupts included; at most 31 (16)
       PROF_NOW()             a clock of your own that counts up; without: DWT->CYCCNT, SysTick on a
                              Cortex-M0, `cycle` on RISC-V
       PROF_CLOCK_BITS n      its bits, where it has fewer than 32
       PROF_CONTEXT()         which interrupt runs, 0: none. It becomes the row of the zone (modulo
                              256). On Cortex-M it is IPSR, elsewhere without it all is one row
       PROF_LOCK() PROF_UNLOCK(s)   mask interrupts, and restore; without: PRIMASK, mstatus.MIE

   Limits: one core, whose interrupts end what they begin; for tasks of a kernel take prof.h. No
   zone is open at prof_start. 4,096 marks. In templates and inline functions, members in their
   class among them, g++ takes none ("section type conflict").
   When the buffer is full, zones that are open still end, and later ones are counted.
   The clock wraps. Call prof_tick at least once in each half of a wrap, as from SysTick: then zones
   and silence last as long as they like. Without these calls a zone must end in each wrap, and none
   may last for one. A zone of more than 63 wraps is told as unfinished, with a shorter time. */
#ifndef PROF_CORE_H
#define PROF_CORE_H
#ifdef PROF_H
#  error "core.h stands in the place of prof.h: include one of them"
#endif

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum prof_result {               /* those of prof.h that this recorder returns */
    PROF_OK = 0, PROF_ERROR_INVALID = 1, PROF_ERROR_STATE = 3, PROF_ERROR_SINK = 4,
    PROF_ERROR_UNSUPPORTED = 6
} prof_result;

typedef struct prof_sink {               /* write() gets block after block; false: it failed */
    bool (*write)(void *user, const void *data, size_t size);
    void *user;
} prof_sink;

typedef struct prof_desc {
    struct { uint32_t ticks_per_second; } platform;   /* of the clock; 0: 1e9 */
} prof_desc;

/* desc may be NULL. PROF_ERROR_UNSUPPORTED: the clock stands, or there are too many marks. */
prof_result prof_start(const prof_desc *desc);
void prof_stop(void);
void prof_tick(void);                    /* see above; from any context */
/* Writes what was recorded; also in the midst of it, as in a fault handler. */
prof_result prof_dump(prof_sink out);

/* ---- What the macros compile to ---- */

typedef struct prof_site { const char *name, *file, *function; uintptr_t line; } prof_site;
typedef struct prof__frame { uint32_t start, site; } prof__frame;
typedef struct prof__zone { prof__frame *token; bool once; } prof__zone;

prof__frame *prof__begin(const prof_site *site);   /* NULL: dropped, and counted */
void prof__end(prof__frame *token);
void prof__push(const prof_site *site);
void prof__pop(void);
static inline void prof__close(prof__zone *z) { prof__end(z->token); }

#define PROF__JOIN(a, b) PROF__JOIN2(a, b)
#define PROF__JOIN2(a, b) a##b
/* A site's number is its place in this section. */
#define PROF__SITE(name) \
    static const prof_site prof__site \
        __attribute__((section("prof_marks"), aligned(sizeof(void *)), used)) = \
            { name, __FILE__, __func__, __LINE__ }
#define PROF__ZONE(zone, name) \
    __attribute__((cleanup(prof__close), unused)) prof__zone zone = { \
        __extension__({ PROF__SITE(name); prof__begin(&prof__site); }), true }
#ifdef PROF_DISABLE
#  define PROF_SCOPE(name) PROF__NOTHING(PROF__JOIN(prof__none_, __COUNTER__), "" name)
#  define PROF_FUNCTION() PROF_SCOPE("")
#  define PROF__NOTHING(none, name) enum { none = sizeof(name) }
#  define PROF_BLOCK(name)
#  define PROF_BEGIN(name) ((void)("" name))
#  define PROF_END() ((void)0)
#else
/* A zone from here to the end of the block around it; the same, named after the function. */
#  define PROF_SCOPE(name) PROF__ZONE(PROF__JOIN(prof__zone_, __COUNTER__), "" name)
#  define PROF_FUNCTION() PROF__ZONE(PROF__JOIN(prof__zone_, __COUNTER__), __func__)
/* A zone around the block or statement that follows. */
#  define PROF_BLOCK(name) PROF__BLOCK(PROF__JOIN(prof__zone_, __COUNTER__), "" name)
#  define PROF__BLOCK(zone, name) for (PROF__ZONE(zone, name); zone.once; zone.once = false)
/* A pair that need not be in one block: PROF_END() ends the innermost zone. */
#  define PROF_BEGIN(name) do { PROF__SITE("" name); prof__push(&prof__site); } while (0)
#  define PROF_END() prof__pop()
#endif

#ifdef __cplusplus
}
#endif
#endif /* PROF_CORE_H */

#if defined(PROF_IMPLEMENTATION) && !defined(PROF__CORE_IMPLEMENTED)
#define PROF__CORE_IMPLEMENTED

/* ---- The clock, interrupts ---- */

#define PROF__REGISTER(address) (*(volatile uint32_t *)(uintptr_t)(address))
#define PROF__BARRIER() __asm__ volatile("" : : : "memory")
#if defined(__ARM_ARCH_PROFILE) && __ARM_ARCH_PROFILE == 'M'
#  define PROF__CORTEX_M (__ARM_ARCH_ISA_THUMB >= 2 ? 2 : 1)   /* 2: it has CYCCNT and ldrex */
#else
#  define PROF__CORTEX_M 0
#endif
#if defined(PROF_CLOCK_BITS)             /* a narrow clock is shifted up: all wrap at 2^32 */
#  define PROF__SHIFT (32 - PROF_CLOCK_BITS)
#elif PROF__CORTEX_M == 1 && !defined(PROF_NOW)
#  define PROF__SHIFT 8
#else
#  define PROF__SHIFT 0
#endif

static inline uint32_t prof__clock(void) {
#if defined(PROF_NOW)
    return (uint32_t)PROF_NOW() << PROF__SHIFT;
#elif PROF__CORTEX_M == 2
    return PROF__REGISTER(0xE0001004);
#elif PROF__CORTEX_M
    return ~PROF__REGISTER(0xE000E018) << PROF__SHIFT;   /* SysTick->VAL: downwards */
#elif defined(__riscv)
    unsigned long now;
    __asm__ volatile("csrr %0, cycle" : "=r"(now));
    return (uint32_t)now;
#else
#  error "core.h: this chip's clock is not known: define PROF_NOW()"
#endif
}

/* Starts the chip's clock; false: it stands, or another has SysTick with a shorter period. */
static bool prof__clock_open(void) {
#if PROF__CORTEX_M && !defined(PROF_NOW)
    uint32_t before;
#  if PROF__CORTEX_M == 2
    PROF__REGISTER(0xE000EDFC) |= 1u << 24;    /* DEMCR.TRCENA */
    PROF__REGISTER(0xE0001FB0) = 0xC5ACCE55u;  /* the lock of a Cortex-M7 */
    PROF__REGISTER(0xE0001000) |= 1u;
#  else
    if (!(PROF__REGISTER(0xE000E010) & 1u)) {
        PROF__REGISTER(0xE000E014) = 0xFFFFFFu;
        PROF__REGISTER(0xE000E018) = 0;
        PROF__REGISTER(0xE000E010) = 5;
    }
    if (PROF__REGISTER(0xE000E014) != 0xFFFFFFu) return false;
#  endif
    before = prof__clock();
    for (int i = 0; i < 256; i++)        /* SysTick may be slower than we are */
        if (prof__clock() != before) return true;
    return false;
#else
    return true;
#endif
}

#if !defined(PROF_CONTEXT) && PROF__CORTEX_M
#  define PROF_CONTEXT() prof__ipsr()
static inline uint32_t prof__ipsr(void) {
    uint32_t n;
    __asm__ volatile("mrs %0, ipsr" : "=r"(n));
    return n;
}
#elif !defined(PROF_CONTEXT)
#  define PROF_CONTEXT() 0u
#endif
/* Where no local name is that the user's macro may call; so are the other macros. */
static inline uint32_t prof__context_now(void) { return (uint32_t)PROF_CONTEXT(); }

static inline uintptr_t prof__mask(void) {
#if defined(PROF_LOCK)
    return (uintptr_t)PROF_LOCK();
#else
    uintptr_t state = 0;
#  if PROF__CORTEX_M
    __asm__ volatile("mrs %0, primask\n\tcpsid i" : "=r"(state) : : "memory");
#  elif defined(__riscv) && !defined(__linux__)
    __asm__ volatile("csrrci %0, mstatus, 8" : "=r"(state) : : "memory");
#  endif
    return state;
#endif
}

static inline void prof__unmask(uintptr_t prof__masked) {
#if defined(PROF_LOCK)
    PROF_UNLOCK(prof__masked);
#elif PROF__CORTEX_M
    __asm__ volatile("msr primask, %0" : : "r"(prof__masked) : "memory");
#elif defined(__riscv) && !defined(__linux__)
    __asm__ volatile("csrs mstatus, %0" : : "r"(prof__masked & 8u) : "memory");
#endif
    (void)prof__masked;
}

/* ---- What is recorded ----

   All code of a core shares one stack of open zones, as it shares the core: an interrupt begins and
   ends its zones above those of what it interrupted. So a begin needs no lock. An end claims the
   place of its record, which an interrupt cannot have, too.
   - Records stand in the order in which their zones ended, which tells how often the clock has
     wrapped between them.
   - The site word of frames and records is row << 24 | site << 12 | halves << 5 | depth in the row,
     from 1. A record with 0 there is still being written; one of depth 0 is prof_tick's: its
     duration is the wraps since the record before it.
   - halves: how many halves of a wrap the zone has lasted. prof_tick sees each of them, by the
     highest bit of the zone's age, and counts to 127.
   - Where a begin must not succeed (off, full, in a dropped pair) `last` is NULL, where an end must
     not, `limit` is. Behind limit there is room for all zones that are open, and for a record of
     prof_tick before each. */

#ifndef PROF_ARENA_SIZE
#  define PROF_ARENA_SIZE 8192
#endif
#ifndef PROF_MAX_DEPTH
#  define PROF_MAX_DEPTH 16
#endif

enum { PROF__RECORDS = PROF_ARENA_SIZE / 12, PROF__KEPT = 2 * PROF_MAX_DEPTH + 1 };
enum { PROF__HALVES = 127, PROF__SITES = 4096, PROF__TICK = 1 << 12 };   /* TICK: its site word */
enum {                                   /* what is counted, by its place in the raw block */
    PROF__RECORDED, PROF__FULL, PROF__DEEP, PROF__UNBALANCED = 5, PROF__HEALED,
    PROF__UNFINISHED = 8, PROF__STEPS, PROF__COUNTS
};
typedef char prof__PROF_MAX_DEPTH_is_1_to_31[PROF_MAX_DEPTH >= 1 && PROF_MAX_DEPTH < 32 ? 1 : -1];
typedef char prof__PROF_ARENA_SIZE_is_too_small[PROF__RECORDS > PROF__KEPT + 1 ? 1 : -1];

typedef struct prof__record { uint32_t end, duration, site; } prof__record;

static struct prof__core {
    uint32_t counts[PROF__COUNTS];
    uint32_t stop, on;
    uint32_t skipped;                    /* ends of dropped pairs that are to come */
    uint64_t rate;
    prof__frame *top, *last;             /* of the innermost zone; of the innermost one possible */
    prof__frame *open;                   /* top at the stop, which may have come amid a begin */
    prof__record *cursor, *limit;
    prof__frame frames[PROF_MAX_DEPTH + 1];   /* the first one is none */
    prof__record records[PROF__RECORDS];      /* the first one has the start */
} prof__core;

extern const prof_site __start_prof_marks[] __attribute__((weak));
extern const prof_site __stop_prof_marks[] __attribute__((weak));

#define PROF__LAST (prof__core.frames + PROF_MAX_DEPTH)
#define PROF__END (prof__core.records + PROF__RECORDS)
#define PROF__RARE static __attribute__((noinline))

/* ---- A zone begins and ends ---- */

PROF__RARE prof__frame *prof__dropped(void) {
    uintptr_t mask = prof__mask();
    if (prof__core.on) prof__core.counts[prof__core.limit ? PROF__DEEP : PROF__FULL]++;
    prof__unmask(mask);
    return NULL;
}

/* An interrupt may come between any two lines. Until top is stored it takes this frame, too, so the
   site word is stored again. From then on it reads it, to know the row below its own. */
prof__frame *prof__begin(const prof_site *site) {
    struct prof__core *core = &prof__core;
    prof__frame *f = core->top;
    uint32_t row, below, word;
    if (f >= core->last) return prof__dropped();
    row = prof__context_now() << 24;
    below = f++->site;
    word = ((uint32_t)(site - __start_prof_marks) << 12) + row + 1;
    if (!((below ^ row) >> 24)) word += below & 31;
    f->site = word;
    PROF__BARRIER();
    core->top = f;
    PROF__BARRIER();
    f->start = prof__clock();
    PROF__BARRIER();
    f->site = word;                      /* without halves that prof_tick saw before the start */
    return f;
}

static inline void prof__put(prof__record *c, uint32_t now, uint32_t start, uint32_t site) {
    c->end = now;
    c->duration = now - start;
    PROF__BARRIER();
    c->site = site;                      /* last: where it is 0 the record is not whole */
    PROF__BARRIER();
}

/* Claims the place of the next record, reads the time and records the innermost zone. False: only
   the room of open zones is left. If an interrupt claims a place in between, strex fails, and both
   are done again, in order. */
static inline bool prof__end_top(prof__frame *f) {
    struct prof__core *core = &prof__core;
    uint32_t site = f->site, now;        /* read before the clock: prof_tick may come between */
    prof__record *c;
#if PROF__CORTEX_M == 2 && !defined(PROF_LOCK)
    uint32_t busy;
    do {
        __asm__ volatile("ldrex %0, [%1]" : "=r"(c) : "r"(&core->cursor) : "memory");
        now = prof__clock();
        if (c >= core->limit) return false;
        __asm__ volatile("strex %0, %1, [%2]"
                         : "=&r"(busy) : "r"(c + 1), "r"(&core->cursor) : "memory");
    } while (busy);
#else
    uintptr_t mask;
    PROF__BARRIER();
    mask = prof__mask();
    c = core->cursor;
    now = prof__clock();
    if (c >= core->limit) {
        prof__unmask(mask);
        return false;
    }
    core->cursor = c + 1;
    prof__unmask(mask);
#endif
    prof__put(c, now, f->start, site);
    core->top = f - 1;
    return true;
}

/* Ends a zone that is not the innermost one, or whose record goes where room was kept for it. */
PROF__RARE void prof__end_slow(const prof__frame *token) {
    struct prof__core *core = &prof__core;
    uintptr_t mask = prof__mask();
    if (!core->on) {
    } else if (token <= core->frames || token > core->top) {
        core->counts[PROF__UNBALANCED]++;
    } else {
        while (core->top >= token) {
            core->counts[PROF__HEALED] += core->top > token;
            if (core->cursor == PROF__END) core->counts[PROF__FULL]++;
            else prof__put(core->cursor++, prof__clock(), core->top->start, core->top->site);
            core->top--;
        }
        if (core->limit && core->cursor >= core->limit) {
            core->limit = NULL;
            core->last = NULL;
        }
    }
    prof__unmask(mask);
}

void prof__end(prof__frame *token) {
    if (!token || (prof__core.top == token && prof__end_top(token))) return;
    prof__end_slow(token);
}

/* Begins a zone whose end comes without a token. Until the end of a dropped one all begins are
   dropped: that end must not take another zone's frame. */
void prof__push(const prof_site *site) {
    if (prof__begin(site) || !prof__core.on) return;
    prof__core.skipped++;
    prof__core.last = NULL;
}

void prof__pop(void) {
    struct prof__core *core = &prof__core;
    uint32_t below;
    if (!core->on) return;
    if (core->skipped) {
        if (!--core->skipped && core->limit) core->last = PROF__LAST;
        return;
    }
    below = core->top->site;             /* an interrupt's end takes no zone of the program */
    if ((below & 31) && below >> 24 == (prof__context_now() & 255)) prof__end(core->top);
    else prof__end_slow(NULL);           /* counted as unbalanced */
}

/* ---- The session ---- */

/* Counts the halves of a wrap that open zones have lasted. Records the time, if the last record is
   a quarter of a wrap old; if that is prof_tick's own, it moves on, with the wraps since the record
   before it. */
void prof_tick(void) {
    struct prof__core *core = &prof__core;
    uintptr_t mask = prof__mask();
    uint32_t now = prof__clock();
    prof__record *c = core->cursor;
    if (core->on) {
        for (prof__frame *f = core->top; f > core->frames; f--)
            if (((now - f->start) >> 31 ^ f->site >> 5) & 1 &&
                (f->site >> 5 & PROF__HALVES) != PROF__HALVES) f->site += 1 << 5;
        if (c[-1].site == PROF__TICK && c > core->records + 1 && c[-2].site) {
            c--;
            c->duration += now - c[-1].end < c->end - c[-1].end;
            c->end = now;
        } else if (c < PROF__END && (now - c[-1].end) >> 30) {
            core->cursor = c + 1;
            c->end = now;
            c->site = PROF__TICK;
        }
    }
    prof__unmask(mask);
}

prof_result prof_start(const prof_desc *desc) {
    struct prof__core *core = &prof__core;
    if (core->on) return PROF_ERROR_STATE;
    if (__stop_prof_marks - __start_prof_marks > PROF__SITES || !prof__clock_open())
        return PROF_ERROR_UNSUPPORTED;
    for (uint32_t *p = core->counts; p < (uint32_t *)(void *)(core + 1); *p++ = 0)
        __asm__ volatile("");            /* else gcc makes it a call of memset */
    core->rate = desc && desc->platform.ticks_per_second ? desc->platform.ticks_per_second
                                                         : 1000000000u;
    core->rate <<= PROF__SHIFT;
    core->records->end = prof__clock();
    core->records->site = PROF__TICK;
    core->cursor = core->records + 1;
    core->limit = PROF__END - PROF__KEPT;
    core->on = 1;
    core->top = core->frames;
    PROF__BARRIER();
    core->last = PROF__LAST;             /* from here on interrupts record, too */
    return PROF_OK;
}

void prof_stop(void) {
    struct prof__core *core = &prof__core;
    if (!core->on) return;
    core->on = 0;
    core->last = NULL;
    core->limit = NULL;
    core->stop = prof__clock();
    core->open = core->top;
}

/* ---- The dump: "The raw stream" in prof.h says what its blocks are ---- */

enum { PROF__HEAD = 6, PROF__WORDS = 144 };   /* of a block: before its payload, and at most */
static struct prof__raw {
    prof_sink sink;
    uint32_t number, used, slots;        /* slots: of the row */
    bool failed;
    uint32_t words[PROF__WORDS];
} prof__raw;

PROF__RARE void prof__u32(uint32_t n) { prof__raw.words[prof__raw.used++] = n; }

PROF__RARE void prof__u64(uint64_t n) {
    prof__u32((uint32_t)n);
    prof__u32((uint32_t)(n >> 32));
}

PROF__RARE void prof__block(uint32_t type, uint32_t first) {
    prof__raw.words[0] = 0x50524f46;
    prof__raw.words[1] = 2u << 16 | type;
    prof__raw.used = PROF__HEAD;
    prof__u32(first);
}

PROF__RARE void prof__block_end(void) {
    struct prof__raw *r = &prof__raw;
    uint32_t sums[2] = { 0, 0 };         /* modulo 2^32 - 1 */
    r->words[2] = (r->used - PROF__HEAD) * 4;
    r->words[3] = r->number++;
    r->words[4] = r->words[5] = 0;
    for (uint32_t i = 1; i < r->used; i++) {
        sums[0] += r->words[i];
        sums[0] += sums[0] < r->words[i];
        sums[1] += sums[0];
        sums[1] += sums[1] < sums[0];
    }
    for (int i = 0; i < 2; i++) r->words[4 + i] = sums[i] == UINT32_MAX ? 0 : sums[i];
    if (!r->failed) r->failed = !(r->sink.write)(r->sink.user, r->words, r->used * 4);
}

/* Writes a site: name, file and function are cut where the block ends. */
static void prof__dump_site(const prof_site *s) {
    struct prof__raw *r = &prof__raw;
    const char *const *text = &s->name;
    char *to = (char *)(r->words + PROF__HEAD + 5);
    prof__block(2, (uint32_t)(s - __start_prof_marks) + 1);
    prof__u32((uint32_t)s->line);
    for (int i = 0; i < 3; i++) {
        const char *p = *text++, *from = to;
        while (*p && to < (char *)(r->words + PROF__WORDS)) *to++ = *p++;
        prof__u32((uint32_t)(to - from));
    }
    r->used = (uint32_t)(to + 3 - (char *)r->words) / 4;
    prof__block_end();
}

/* The ticks of a zone, by their lower half. */
static uint64_t prof__ticks(uint32_t site, uint32_t lower) {
    uint32_t halves = site >> 5 & PROF__HALVES;
    halves += (halves ^ lower >> 31) & 1;
    return (uint64_t)(halves >> 1) << 32 | lower;
}

/* Sites of a dump are numbered from 1, depths from 0. */
static uint32_t prof__site_depth(uint32_t site) {
    prof__core.counts[PROF__RECORDED]++;
    return ((site >> 12 & (PROF__SITES - 1)) + 1) << 8 | ((site & 31) - 1);
}

/* Writes a zone that ended, as a long one: it has all 64 bits of both times. */
static void prof__dump_zone(uint32_t row, const prof__record *c, uint64_t end) {
    bool more = (c->site >> 5 & PROF__HALVES) == PROF__HALVES;   /* it may have lasted for longer */
    prof__core.counts[PROF__UNFINISHED] += more;
    if (prof__raw.used > PROF__WORDS - 6) {
        if (prof__raw.slots) prof__block_end();
        prof__block(4, row);
        prof__u32(0);
        prof__u64(prof__raw.slots);
        prof__u64(0);
        prof__u64(0);
        prof__u64(prof__core.rate);
    }
    prof__u64(prof__ticks(c->site, c->duration));
    prof__u32(more ? 0xffff0301u : 0xffff0201u);
    prof__u64(end);
    prof__u32(prof__site_depth(c->site));
    prof__raw.slots += 2;
}

static void prof__dump_open(uint32_t row, uint64_t now) {
    struct prof__core *core = &prof__core;
    uint32_t *count = prof__raw.words + PROF__HEAD + 1;
    prof__block(5, row);
    prof__u32(0);
    prof__u64(now);
    for (const prof__frame *f = core->frames + 1; f <= core->open && f <= core->top; f++) {
        if (f->site >> 24 != row) continue;
        prof__u64(now - prof__ticks(f->site, (uint32_t)now - f->start));
        prof__u64(prof__site_depth(f->site));
        ++*count;
        core->counts[PROF__UNFINISHED]++;
    }
    if (*count) prof__block_end();
}

/* Writes the zones of a row. */
static void prof__dump_row(uint32_t row, const prof__record *end) {
    struct prof__core *core = &prof__core;
    uint64_t time = core->records->end;
    core->counts[PROF__STEPS] = 0;
    prof__raw.slots = 0;
    prof__raw.used = PROF__WORDS;
    for (const prof__record *c = core->records; c < end; c++) {
        uint32_t step = c->end - (uint32_t)time;
        if (!c->site) continue;
        time += step;
        if (c->site == PROF__TICK) {
            time += (uint64_t)c->duration << 32;
            continue;
        }
        core->counts[PROF__STEPS] += step >> 31;
        if (c->site >> 24 == row) prof__dump_zone(row, c, time);
    }
    if (prof__raw.slots) prof__block_end();
    prof__dump_open(row, time + (uint32_t)(core->stop - (uint32_t)time));
}

/* Is there a zone of this row? */
static bool prof__has_row(uint32_t row, const prof__record *end) {
    for (const prof__record *c = prof__core.records + 1; c < end; c++)
        if (c->site >> 24 == row) return true;
    for (const prof__frame *f = prof__core.frames + 1; f <= prof__core.top; f++)
        if (f->site >> 24 == row) return true;
    return false;
}

prof_result prof_dump(prof_sink out) {
    struct prof__core *core = &prof__core;
    const prof__record *end = core->cursor;
    if (!end) return PROF_ERROR_STATE;
    if (!out.write) return PROF_ERROR_INVALID;
    if (core->on) {
        core->stop = prof__clock();
        core->open = core->top;
    }
    prof__raw.sink = out;
    prof__raw.number = 0;
    prof__raw.failed = false;
    core->counts[PROF__RECORDED] = core->counts[PROF__UNFINISHED] = 0;
    prof__block(1, 3);                   /* PROF_CLOCK_PLATFORM */
    prof__u32(1);
    prof__u64(core->rate);
    prof__u64(core->records->end);
    prof__u64(0);
    prof__u64(1);
    prof__u32(1);                        /* interrupts take the core from what they interrupt */
    prof__block_end();
    for (const prof_site *s = __start_prof_marks; s < __stop_prof_marks;) prof__dump_site(s++);
    for (uint32_t row = 0; row < 256; row++)
        if (prof__has_row(row, end)) prof__dump_row(row, end);
    prof__block(6, 1);
    prof__u32(PROF__COUNTS);
    for (int i = 0; i < PROF__COUNTS; i++) prof__u64(core->counts[i]);
    prof__block_end();
    return prof__raw.failed ? PROF_ERROR_SINK : PROF_OK;
}
#endif /* PROF_IMPLEMENTATION */
