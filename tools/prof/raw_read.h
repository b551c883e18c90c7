/* Reads the raw stream of prof.h: what PROF_MODE_STREAM and prof_dump write, and what `prof decode`
   makes a trace of. What its blocks hold stands below.

   To read it in a program of your own, copy this file beside prof.h and include it after that. The
   file that defines PROF_IMPLEMENTATION has the functions, too. They see prof.h from inside: its
   records and attributes, its sums, how ticks become ns.

   A sequence of blocks, each of 32-bit words in the writer's byte order; a 64-bit field is two
   words, the low one first; text is bytes, filled up with zeroes to a whole word. A block:
       0     0x50524f46: tells the byte order
       1     version << 16 | type; at most 3, which targets write: type 4 became 11 there. Version
             1 had no types from 7 on
       2     bytes of what follows word 5, a multiple of 4, at most 65536
       3     number of the block, from 0
       4, 5  Fletcher-64 of words 1 to the last, 4 and 5 taken as 0: two sums a and b, from 0;
             for each word a += word, b += a, both modulo 2^32 - 1
   Types, with their words from 6 on (u64 takes two):
       1 session  clock (prof_clock), process id, u64 ticks per second, u64 tick and u64 ns since
                  1970 of its start, generation, count of pairs, pairs {u64 tick, u64 ns}: time is
                  ns since the start; ticks between two pairs are linear, past the last they go on
                  as before. Without pairs (no CPU clock): ns = (tick - start) / rate. Then 1 where
                  threads take turns on one core: thread 0, interrupts (1 to 998), which run while
                  another waits, the row of which task ran when (999), tasks (from 1000 on)
       2 sites    one or more {number, line, bytes of name, of file, of function; their text}.
                  400000 to 7fffff are offsets in an ELF file (PROF_NAMES_IN_ELF), 3fffff has its
                  build id, in hex, as name
       3 thread   number, bytes of its name, u64 id, name
       4 records  thread, upper half of the ticks at which its zones end, u64 records that the
                  thread wrote before, u64 tick and u64 ns of when this was written, u64 ticks per
                  second; then records of three words
       5 open     thread, count, u64 tick at which they are held to end; {u64 tick of the begin,
                  site << 8 | depth, 0} of each zone still open, outermost first
       6 counts   1: the last, count of fields, u64 each: recorded, dropped_full, deep,
                  dropped_threads, others (both of targets), unbalanced, healed, 0, unfinished,
                  clock_steps, 0, overwritten, 0, stream_failures, threads, dropped_busy, lost,
                  others (of hosts), 0 (4 times), not_kept, 0, rejected, stalled_us. Each 0 was
                  a part of another count in older versions, the third one stalls
       7 sums     of zones in no timeline: thread, count, u64 tick at which the first timeline
                  ended, u64 tick of the session's end, or of now; then rows: site (0: all that
                  had no row, "(others)"), its first bucket << 16 | count of buckets, u64 each:
                  count, and in ticks total, total of its children, least, most; buckets: bucket n
                  counts zones of less than 2^n ticks that are in none before. Rows of a name add
                  up. Children's may be more than total: those of zones that records tell; count is
                  then 0 where there are no others. Up to 0.2.0 calls in no bucket were not timed,
                  where less than 2^30 are in one
       8 details  1 memory | 2 flops | 4 shapes | 8 steps: asked for; count of desc.hw_counters;
                  {bytes of a name, name} of each
       9 event    of prof_submit: u64 start and u64 end in ns of the session, thread, flags |
                  device type << 16, PROF_HAS_..., device index, u64 resource id, u64 id, u64
                  linked_correlation_id, u64 external_id, {bytes of a text, text} of its name, of
                  activity_type, of its members of args in a Chrome trace, of what its device is
                  called
       10 was PROF_CORE's, up to 0.2.0
       12 metadata  {bytes of a text, text}: members of a Chrome trace's head, "key":value. They
                  come when they are told, every 64 blocks of records, at the end: the last counts
       11 dense   as 4, in bytes, by varints: 7 bits a byte, the low ones first, bit 7: more follow.
                  thread, records that it wrote before, ticks per second, a tick; then records, up
                  to a 0: 1 to 3, so many records of three words; or a zone: site << 5 | depth, or
                  site << 5 | 31 and depth; its end, in ticks after the end of the zone before, at
                  first after the tick: n as 2 n, -n as 2 n - 1; its duration
   A record is a zone: lower half of the tick of its end, duration in ticks, site << 8 | depth. From
   site 0xffff00 on it is something else, and the depth is how many records more belong to it:
       ffff01 {upper half of the ticks from here on, 0}
       ffff02 {u64 duration} {u64 end, site << 8 | depth}: a long zone; upper half: that of end
       ffff03 the same, but it never ended: its thread or the session did
       ffff04 {u64 tick} {0, 0, site << 8 | 255}: an instant
       ffff05 {u64 tick} {u64 value, site << 8 | 255}: a counter
       ffff06 {u64 tick of its start} {u64 of its end, 255} {u64 number, 255}: ProfilerStep#number
       ffff0c as ffff05, the value an IEEE 754 double
       ffff0d as ffff02, up to where its thread's timeline ended: sums have all of the zone
     and from version 2 on, each followed by records {u64, 7 << 8 | 0xff0000}, its payload:
       ffff08 {type | depth << 8 | count << 16, bytes}: an attribute of the next zone of that depth
              that its thread ends: see @DETAILS in prof.h for types; text is 8 bytes a record
       ffff09 {u64 tick} {address} {bytes} {0 allocated, 2 freed, 3 failed | depth << 8 | device
              type << 16 | index << 24 | category << 32}: memory, of the zone open at depth; 255:
              of none
       ffff0a {u64 tick of its start} {its end} {id} {number of the thread that began it | site
              << 32}: an async range
       ffff0b {u64 tick} {number << 1 | 1 where it ends}: an arrow
   Readers skip others, of later versions. Zones come in the order in which their thread ends them.
   Session, threads, all sites come again every 64 blocks of records: reading may begin anywhere. */
#ifndef PROF_RAW_READ_H
#define PROF_RAW_READ_H

#ifndef PROF_H
#  include "../../prof.h"
#endif

#ifdef __cplusplus
extern "C" {
#endif

typedef enum prof_raw_kind {
    PROF_RAW_SESSION,                    /* start_ns: its start, since 1970; value: process id;
                                            flags 1: its threads take turns on one core */
    PROF_RAW_THREAD,                     /* value: its id; name: its name or NULL; may come again */
    PROF_RAW_ZONE,                       /* at its end: inner zones come before outer ones; zones
                                            still open at the end of the stream: outer ones first */
    PROF_RAW_INSTANT,                    /* at start_ns */
    PROF_RAW_COUNTER,                    /* value at start_ns */
    PROF_RAW_STEP,                       /* ProfilerStep#value */
    PROF_RAW_COUNTS,                     /* counts so far */
    PROF_RAW_COUNTER_F,                  /* number at start_ns */
    PROF_RAW_SUMS,                       /* average: a name's zones that are in no timeline, of all
                                            threads, at the session's end. start_ns: when the
                                            timeline ended; end_ns: when the session ended */
    PROF_RAW_DETAILS,                    /* value: PROF_RAW_HAS_...; counter_names may come again */
    PROF_RAW_MEMORY,                     /* memory changes, within the zone that is open at depth;
                                            255: in none */
    PROF_RAW_ASYNC,                      /* a range: value is its id, thread where it began,
                                            end_thread where it ended */
    PROF_RAW_FLOW,                       /* an arrow: value is its number; flags 1: its end */
    PROF_RAW_EVENT,                      /* of prof_submit: extra has where it ran and its ids, and
                                            all its arguments as metadata_json */
    PROF_RAW_METADATA                    /* name: a member of the head, as JSON; the last one of a
                                            key counts */
} prof_raw_kind;

enum {                                   /* what the session asked for: desc.profile_memory, ... */
    PROF_RAW_HAS_MEMORY = 1, PROF_RAW_HAS_FLOPS = 2, PROF_RAW_HAS_SHAPES = 4,
    PROF_RAW_HAS_STEPS = 8               /* desc.schedule */
};

typedef struct prof_raw_item {
    prof_raw_kind kind;
    uint32_t thread;                     /* its number in the stream, from 0 */
    const char *name;                    /* site->name, or "site#N" where the stream lacks it */
    const prof_site *site;               /* NULL: has none; lives as long as the reader */
    int64_t start_ns, end_ns;            /* since the session's start */
    int64_t value;
    double number;                       /* PROF_RAW_COUNTER_F */
    uint8_t depth;                       /* open zones around it */
    uint16_t flags;                      /* PROF_EVENT_UNFINISHED (innermost first), _PARTIAL; both:
                                            sums have all of it, so it is no call */
    const prof_stats *counts;            /* PROF_RAW_COUNTS (value 1: the last) */
    const prof_average *average;         /* PROF_RAW_SUMS. All these are valid until item returns */
    const prof_extra *extra;             /* what a zone carries; NULL: nothing */
    const prof_memory_change *memory;    /* PROF_RAW_MEMORY; bytes of a free are 0 */
    uint32_t end_thread;
    const char *const *counter_names;    /* PROF_RAW_DETAILS: of extra's counters; until another */
    uint32_t counter_count;
    bool failed;                         /* PROF_RAW_MEMORY: the allocation failed */
    uint8_t device_type;                 /* PROF_RAW_EVENT; what tables call that device: */
    const char *device;
} prof_raw_item;

typedef struct prof_raw_desc {
    void *memory;                        /* the reader's, for names, a block, what zones carry: */
    size_t memory_size;                  /* 1 MiB suffices for some 5000 names */
    void (*item)(void *user, const prof_raw_item *item);   /* called for each item */
    void *user;
    /* Names of PROF_NAMES_IN_ELF; NULL: none. Fills the site whose texts begin at offset `at` of
       the ELF file's section prof_sites; they must live as long as the reader. build: the file's
       build id in hex; NULL: the stream did not tell. false: there is no such site. */
    bool (*elf_site)(void *user, uint32_t at, const char *build, prof_site *site);
    /* What stands for a site's name, as long as the reader lives; where that is NULL, itself. */
    const char *(*shown)(const char *name, size_t size);
} prof_raw_desc;

typedef struct prof_raw_stats {          /* of what was read */
    uint64_t bytes, blocks;
    uint64_t damaged, damaged_bytes;     /* stretches that are in no whole block; their bytes */
    uint64_t tail_bytes;                 /* ... those after the last whole block */
    uint64_t missing_blocks;             /* gaps in the numbers of blocks */
    uint64_t missing_records;            /* that threads wrote and that the stream lacks */
    uint64_t repeated_records;           /* by their positions in their threads: left out */
    uint64_t newer;                      /* blocks of a version that this one cannot read */
    uint64_t unknown_sites;              /* items called site#N */
    bool other_endian;                   /* written by a machine of the other byte order */
    bool ended;                          /* the last block says that it is the last */
    prof_stats counts;                   /* the last that were told */
    uint64_t bad_sums;                   /* rows of sums that make no sense, or had no room: left
                                            out */
    uint64_t lost_details;               /* attributes without room in the reader's memory */
    uint64_t odd_blocks, first_odd;      /* that are whole, and hold a count, size or time that
                                            cannot be: what has it is left out. Where the first
                                            begins */
} prof_raw_stats;

typedef struct prof_raw prof_raw;

/* A reader, in desc->memory. It needs no session. PROF_ERROR_MEMORY: under 72 KiB. */
PROF_API prof_result prof_raw_open(const prof_raw_desc *desc, prof_raw **raw);

/* The next bytes of a stream, cut anywhere; calls desc.item for what they hold. What is damaged is
   skipped and counted; records that come twice (a sink that failed) are handed on once. */
PROF_API void prof_raw_feed(prof_raw *raw, const void *data, size_t size);

/* The end of the stream. PROF_OK: it was whole. PROF_ERROR_INVALID: parts were damaged or missing,
   or it is no raw stream (blocks is 0). PROF_ERROR_UNSUPPORTED: parts are of a newer version. */
PROF_API prof_result prof_raw_close(prof_raw *raw, prof_raw_stats *stats);

#ifdef __cplusplus
}
#endif

/* ---- The reader ----

   - It trusts nothing: what is damaged, missing or unknown is counted and skipped.
   - It has only its caller's memory. Without room zones are still handed on; names, attributes and
     sums that are lost are counted. */

#ifdef PROF__IMPLEMENTED

typedef struct prof__raw_named_site {
    prof_site site;
    struct prof__raw_named_site *next;        /* in the same list */
    uint32_t number;
    bool known;                          /* else its name is site#N */
} prof__raw_named_site;
typedef struct prof__raw_row {
    const char *name;                    /* NULL: not known */
    uint64_t position, oldest;           /* of the next slot; end of the first one after a gap */
    prof__course course;
    uint64_t *first;                     /* when what is in an open zone began, by depth; NULL: no
                                            memory, or there is no such zone */
    struct prof__raw_page *page;         /* attributes of zones that are open; NULL: none */
    struct prof__raw_row *next;          /* in the same list */
    uint32_t number;
} prof__raw_row;

/* Records of attributes, in their order: those of the innermost zone are the last. */
enum { PROF__RAW_PAGE = 340, PROF__RAW_HEADS = 64, PROF__RAW_SCRATCH = 96 << 10 };
typedef struct prof__raw_page {
    struct prof__raw_page *before;
    uint32_t used;
    prof__record slots[PROF__RAW_PAGE];
} prof__raw_page;

/* The sums of a name. */
typedef struct prof__raw_named {
    prof__tally tally;
    const char *name;
    struct prof__raw_named *next, *same;  /* same: another of its slot in the index */
} prof__raw_named;
enum { PROF__RAW_NAMES = 1024 };         /* slots in it */
enum {
    PROF__RAW_NEWEST = 3,                /* version */
    PROF__RAW_SUMS_HEAD = 6,             /* words of a payload before its rows of sums */
    PROF__RAW_PAYLOAD = 65536            /* the most bytes of it */
};

struct prof_raw {
    prof_raw_desc desc;
    prof_raw_stats stats;
    prof_raw_item item;                  /* of records */
    prof__raw_named_site **sites;        /* by number % slots, as rows are */
    prof__raw_row **rows;
    uint32_t slots, next_block;          /* slots: of each, a power of two */
    char *text, *text_end;
    bool session, in_damage, swap;
    uint32_t generation, clock, knot_count;
    uint64_t rate, start_tick, start_wall_ns, zones;     /* zones: of the session, that ended */
    prof__knot knots[PROF__KNOTS + 1], pair;
    prof__scale scale;
    prof__raw_named **names, *first_name, *last_name;   /* names: NULL: no sums so far */
    uint64_t full_tick, sums_tick;
    prof__details *details;              /* for one zone's attributes, followed by memory */
    prof__raw_page *pages;               /* the free ones */
    uint32_t asked, counter_count;       /* PROF_RAW_HAS_... */
    const char *counter_names[PROF_COUNTERS];
    uint64_t block_at;                   /* where it begins in the stream */
    size_t have;                         /* bytes in block */
    uint32_t block[PROF__RAW_HEAD + PROF__RAW_PAYLOAD / 4];
};

static uint32_t prof__raw_swapped(uint32_t n) {
    return n << 24 | (n & 0xff00) << 8 | (n >> 8 & 0xff00) | n >> 24;
}

/* The block holds what cannot be. */
static void prof__raw_odd(prof_raw *r) {
    if (!r->stats.odd_blocks++) r->stats.first_odd = r->block_at;
}

/* Word i of the block, in this machine's order. */
static uint32_t prof__raw_get(const prof_raw *r, size_t i) {
    return r->swap ? prof__raw_swapped(r->block[i]) : r->block[i];
}

static uint64_t prof__raw_get64(const prof_raw *r, size_t i) {
    return prof__raw_get(r, i) | (uint64_t)prof__raw_get(r, i + 1) << 32;
}

/* A copy of a text that lasts as long as the session; NULL: no memory. */
static const char *prof__raw_keep(prof_raw *r, const char *text, size_t size) {
    char *p = r->text;
    if ((size_t)(r->text_end - p) <= size) return NULL;
    memcpy(p, text, size);
    p[size] = 0;
    r->text += size + 1;
    return p;
}

/* Zeroed memory that lasts as long as the session; NULL: none. */
static void *prof__raw_take(prof_raw *r, size_t size) {
    char *p = (char *)(((uintptr_t)r->text + 7u) & ~(uintptr_t)7u);
    if (p > r->text_end || (size_t)(r->text_end - p) <= size) return NULL;
    r->text = p + size;
    return memset(p, 0, size);
}

/* A site by its number; made, if there is none. NULL: no memory. */
static prof__raw_named_site *prof__raw_site_find(prof_raw *r, uint32_t number) {
    prof__raw_named_site **first = r->sites + (number & (r->slots - 1)), *named = *first;
    while (named && named->number != number) named = named->next;
    if (named) return named;
    named = (prof__raw_named_site *)prof__raw_take(r, sizeof *named);
    if (!named) return NULL;
    named->number = number;
    named->next = *first;
    return *first = named;
}

static bool prof__raw_elf_site(prof_raw *r, prof__raw_named_site *named) {
    prof_site site = { NULL, "", "", 0 };
    const prof__raw_named_site *build;
    if (!r->desc.elf_site || named->site.name || !prof__in_elf(named->number)) return false;
    build = prof__raw_site_find(r, PROF__BUILD);
    if (!r->desc.elf_site(r->desc.user, named->number - PROF__IN_ELF,
                          build && build->known ? build->site.name : NULL, &site))
        return false;
    named->site = site;
    return named->known = true;
}

/* A site's name, file and line; the name of one that the stream lacks is site#N. */
static const prof_site *prof__raw_site_of(prof_raw *r, uint32_t number) {
    static const prof_site none = { "site#?", "", "", 0 };
    prof__raw_named_site *named = prof__raw_site_find(r, number);
    const char *kept;
    if (named && named->known) return &named->site;
    if (named && prof__raw_elf_site(r, named)) return &named->site;
    r->stats.unknown_sites++;
    if (named && named->site.name) return &named->site;
    char name[24] = "site#";
    kept = named ? prof__raw_keep(r, name, (size_t)(prof__text_u64(name + 5, number) - name))
                 : NULL;
    if (!kept) return &none;
    named->site = none;
    named->site.name = kept;
    return &named->site;
}

static void prof__raw_put_site(prof_raw *r, uint32_t number, uint32_t line, const char *text,
                               const uint32_t *sizes) {
    prof__raw_named_site *named = prof__raw_site_find(r, number);
    char *begin = r->text;
    prof_site site = { NULL, NULL, NULL, 0 };
    if (!named || named->known) return;
    site.name = r->desc.shown ? r->desc.shown(text, sizes[0]) : NULL;
    if (!site.name) site.name = prof__raw_keep(r, text, sizes[0]);
    site.file = prof__raw_keep(r, text + sizes[0], sizes[1]);
    site.function = prof__raw_keep(r, text + sizes[0] + sizes[1], sizes[2]);
    site.line = line;
    if (!site.name || !site.file || !site.function) {
        r->text = begin;
        return;
    }
    named->site = site;
    named->known = true;
}

static void prof__raw_read_sites(prof_raw *r, size_t at, size_t end) {
    while (at + 5 <= end) {
        uint32_t sizes[3];
        uint64_t words = 3;
        for (size_t i = 0; i < 3; i++) words += sizes[i] = prof__raw_get(r, at + 2 + i);
        words /= 4;
        if (words > end - at - 5) break;
        prof__raw_put_site(r, prof__raw_get(r, at), prof__raw_get(r, at + 1),
                           (const char *)(r->block + at + 5), sizes);
        at += 5 + (size_t)words;
    }
    if (at != end) prof__raw_odd(r);
}

static void prof__raw_hand(prof_raw *r, const prof_raw_item *item) {
    if (r->desc.item) r->desc.item(r->desc.user, item);
}

static void prof__raw_forget(prof_raw *r) {
    memset(r + 1, 0, r->slots * (sizeof *r->rows + sizeof *r->sites));
    r->text = (char *)(void *)(r->sites + r->slots);
    r->names = NULL;
    r->first_name = r->last_name = NULL;
    r->full_tick = r->sums_tick = r->zones = 0;
    r->details = NULL;
    r->pages = NULL;
    r->asked = r->counter_count = 0;
}

/* ---- sums: rows of a name are added up, and handed on at the end of the session ---- */

/* The thread's row; NULL: no memory. */
static prof__raw_row *prof__raw_row_of(prof_raw *r, uint32_t number) {
    prof__raw_row **slot = r->rows + (number & (r->slots - 1)), *row = *slot;
    while (row && row->number != number) row = row->next;
    if (row) return row;
    row = (prof__raw_row *)prof__raw_take(r, sizeof *row);
    if (!row) return NULL;
    row->number = number;
    row->next = *slot;
    return *slot = row;
}

/* The row of a name; NULL: no memory. */
static prof__raw_named *prof__raw_name_of(prof_raw *r, const char *name) {
    size_t length;
    uint32_t slot = prof__hash(name, &length) % PROF__RAW_NAMES;
    prof__raw_named *n;
    if (!r->names)
        r->names = (prof__raw_named **)prof__raw_take(r, PROF__RAW_NAMES * sizeof *r->names);
    for (n = r->names ? r->names[slot] : NULL; n && strcmp(n->name, name) != 0;) n = n->same;
    if (n || !r->names) return n;
    n = (prof__raw_named *)prof__raw_take(r, sizeof *n);
    if (!n) return NULL;
    n->tally.least = UINT64_MAX;
    n->name = name;
    n->same = r->names[slot];
    r->names[slot] = n;
    if (r->last_name) r->last_name->next = n;
    else r->first_name = n;
    return r->last_name = n;
}

/* Another dump of the session begins, which has all sums again. */
static void prof__raw_sums_again(prof_raw *r) {
    for (prof__raw_named *n = r->first_name; n; n = n->next) {
        memset(&n->tally, 0, sizeof n->tally);
        n->tally.least = UINT64_MAX;
    }
}

/* Are these sums possible, and small enough to be added to those before? Streams of versions up to
   0.2.0 may count calls without a time. */
static bool prof__raw_sum_ok(const prof__tally *sums, const prof__tally *more) {
    const uint64_t most = (uint64_t)1 << 60, in_buckets = prof__tally_count(more);
    const uint64_t calls = prof__tally_calls(more), before = prof__tally_calls(sums);
    uint64_t timed = in_buckets >> 30 ? calls : PROF__MIN(in_buckets, calls);
    uint64_t mean = timed ? more->total / timed : 0;
    if (more->inner >= most || sums->inner + more->inner >= most) return false;
    if (!calls) return !more->total;     /* they are in the timeline */
    return calls < most && more->total < most && more->most <= more->total &&
           (timed ? more->least <= mean && mean <= more->most : !more->total) &&
           before + calls < most && sums->total + more->total < most;
}

/* Reads a row at `at`, of n buckets from the first on. */
static void prof__raw_read_sum(prof_raw *r, size_t at, uint32_t first, uint32_t n) {
    uint32_t number = prof__raw_get(r, at);
    const char *name = number ? prof__raw_site_of(r, number)->name : "(others)";
    prof__raw_named *row = prof__raw_name_of(r, name);
    prof__tally more;
    memset(&more, 0, sizeof more);
    more.total = prof__raw_get64(r, at + 4);
    more.inner = prof__raw_get64(r, at + 6);
    more.least = prof__raw_get64(r, at + 8);
    more.most = prof__raw_get64(r, at + 10);
    for (uint32_t i = 0; i < n; i++)
        more.histogram[first + i] = prof__raw_get(r, at + PROF__RAW_SUM + i);
    more.halved = prof__raw_get64(r, at + 2) - prof__tally_count(&more);
    if (row && prof__raw_sum_ok(&row->tally, &more)) prof__tally_add(&row->tally, &more);
    else r->stats.bad_sums++;
}

static void prof__raw_read_sums(prof_raw *r, size_t at, size_t end) {
    uint32_t rows = end - at < PROF__RAW_SUMS_HEAD ? 0 : prof__raw_get(r, at + 1);
    if (rows) r->full_tick = prof__raw_get64(r, at + 2);
    if (rows) r->sums_tick = prof__raw_get64(r, at + 4);
    for (at += PROF__RAW_SUMS_HEAD; rows && at + PROF__RAW_SUM <= end; rows--) {
        uint32_t buckets = prof__raw_get(r, at + 1), first = buckets >> 16, n = buckets & 0xffff;
        if (first + n > PROF__BUCKETS || at + PROF__RAW_SUM + n > end) break;
        prof__raw_read_sum(r, at, first, n);
        at += PROF__RAW_SUM + n;
    }
    r->stats.bad_sums += rows;
}

/* Do both clocks go on from a to b, at a rate that 64 bits can hold? */
static bool prof__raw_pair_ok(prof__knot a, prof__knot b) {
    return b.tick > a.tick && b.ns >= a.ns && (b.ns - a.ns) >> 20 <= b.tick - a.tick &&
           !(b.tick >> 62) && !(b.ns >> 62);
}

static int64_t prof__raw_ns(prof_raw *r, uint64_t tick) {
    if (r->session && r->knot_count > 1)
        return prof__knots_ns(&r->scale, r->knots, r->knot_count, tick);
    uint64_t rate = r->rate ? r->rate : 1000000000u;
    if (r->session && r->clock != PROF_CLOCK_CPU)
        return prof__rate_ns(tick < r->start_tick ? 0 : tick - r->start_tick, rate);
    if (tick >= r->pair.tick)            /* only forged blocks overflow here */
        return (int64_t)(r->pair.ns + (uint64_t)prof__rate_ns(tick - r->pair.tick, rate));
    return PROF__MINUS(r->pair.ns, prof__rate_ns(r->pair.tick - tick, rate));
}

/* A span of ticks in ns, at the session's rate: see prof__sums_scale. */
static int64_t prof__raw_span_ns(const prof_raw *r, uint64_t ticks) {
    prof__knot zero = { 0, 0 }, whole = { 0, 0 };
    prof__scale k;
    if (!r->session || r->knot_count < 2)
        return prof__rate_ns(ticks, r->rate ? r->rate : 1000000000u);
    whole.tick = r->knots[r->knot_count - 1].tick - r->knots[0].tick;
    whole.ns = r->knots[r->knot_count - 1].ns - r->knots[0].ns;
    k = prof__scale_between(zero, whole, 0);
    return (int64_t)prof__scale_ns(&k, ticks);
}

static void prof__raw_hand_sums(prof_raw *r) {
    prof_raw_item item;
    memset(&item, 0, sizeof item);
    item.kind = PROF_RAW_SUMS;
    item.start_ns = r->full_tick ? prof__raw_ns(r, r->full_tick) : 0;
    item.end_ns = prof__raw_ns(r, r->sums_tick);
    for (const prof__raw_named *n = r->first_name; n; n = n->next) {
        const uint64_t calls = prof__tally_calls(&n->tally);
        prof_average a;
        if (!calls && !n->tally.inner) continue;
        prof__tally_average(&a, &n->tally, n->name, calls);
        for (int i = 0; i < PROF__TALLY_TIMES; i++) {
            int64_t *time = prof__tally_time(&a, i);
            if (*time < 0) *time = -prof__raw_span_ns(r, 0u - (uint64_t)*time);
            else if (*time) *time = prof__raw_span_ns(r, (uint64_t)*time);
        }
        a.first = PROF_NONE;
        item.name = n->name;
        item.average = &a;
        prof__raw_hand(r, &item);
    }
}

/* A session begins, or is repeated. If it is new, the one before ends: its sums are handed on. */
static void prof__raw_session_is(prof_raw *r, uint32_t process, uint64_t tick, uint64_t wall_ns,
                                 uint32_t generation, bool one_core) {
    prof_raw_item item;
    if (r->session && r->generation == generation && r->start_wall_ns == wall_ns &&
        r->start_tick == tick) return;   /* of a target only the tick differs */
    if (r->session) {
        prof__raw_hand_sums(r);
        prof__raw_forget(r);
    }
    memset(&item, 0, sizeof item);
    item.kind = PROF_RAW_SESSION;
    item.start_ns = (int64_t)wall_ns;
    item.value = process;
    item.flags = one_core;
    prof__raw_hand(r, &item);
    r->session = true;
    r->start_tick = tick;
    r->start_wall_ns = wall_ns;
    r->generation = generation;
}

static void prof__raw_read_session(prof_raw *r, size_t at, size_t end) {
    uint32_t count;
    size_t pairs_end;
    count = end - at < 10 ? 1 : prof__raw_get(r, at + 9);
    pairs_end = at + 10 + 4 * count;
    if (count > PROF__KNOTS || end < pairs_end || count == 1) {
        prof__raw_odd(r);
        return;
    }
    prof__raw_session_is(r, prof__raw_get(r, at + 1), prof__raw_get64(r, at + 4),
                         prof__raw_get64(r, at + 6), prof__raw_get(r, at + 8),
                         end > pairs_end && prof__raw_get(r, pairs_end) == 1);
    r->clock = prof__raw_get(r, at);
    r->rate = prof__raw_get64(r, at + 2);
    r->knot_count = count;
    memset(&r->scale, 0, sizeof r->scale);
    for (uint32_t i = 0; i < count; i++) {
        r->knots[i].tick = prof__raw_get64(r, at + 10 + 4 * i);
        r->knots[i].ns = prof__raw_get64(r, at + 12 + 4 * i);
        if (i && !prof__raw_pair_ok(r->knots[i - 1], r->knots[i]))
            r->knot_count = 0;           /* unusable: the pairs in blocks of records are used */
    }
}

/* size 0: the block has no name. */
static void prof__raw_put_thread(prof_raw *r, uint32_t number, uint64_t id, const char *name,
                                 size_t size) {
    prof__raw_row *row = prof__raw_row_of(r, number);
    prof_raw_item item;
    memset(&item, 0, sizeof item);
    item.kind = PROF_RAW_THREAD;
    item.thread = number;
    item.value = (int64_t)id;
    if (size && row && (!row->name || strlen(row->name) != size ||
                        memcmp(row->name, name, size) != 0))
        row->name = prof__raw_keep(r, name, size);
    item.name = row ? row->name : NULL;
    prof__raw_hand(r, &item);
}

static void prof__raw_read_thread(prof_raw *r, size_t at, size_t end) {
    size_t size = end - at < 4 ? SIZE_MAX : prof__raw_get(r, at + 1);
    if (size == SIZE_MAX || size > (end - at - 4) * 4) {
        prof__raw_odd(r);
        return;
    }
    prof__raw_put_thread(r, prof__raw_get(r, at), prof__raw_get64(r, at + 2),
                         (const char *)(r->block + at + 4), size);
}

/* ---- what zones carry ---- */

/* Keeps an attribute until its zone ends. row NULL: there is no room for one. */
static void prof__raw_push(prof_raw *r, prof__raw_row *row, const prof__item *i) {
    prof__raw_page *page = row ? row->page : NULL;
    r->stats.lost_details += !row;
    if (!row) return;
    if (!page || page->used + i->slots > PROF__RAW_PAGE) {
        page = r->pages ? r->pages : (prof__raw_page *)prof__raw_take(r, sizeof *page);
        r->stats.lost_details += !page;
        if (!page) return;
        if (page == r->pages) r->pages = page->before;
        page->before = row->page;
        page->used = 0;
        row->page = page;
    }
    memcpy(page->slots + page->used, i->at, i->slots * sizeof *page->slots);
    page->used += i->slots;
}

/* Moves back from *used of *page to the attribute before, and returns it. NULL: there is none, or
   it is of a zone at a depth below this. */
static const prof__record *prof__raw_before(prof__raw_page **page, uint32_t *used,
                                            uint32_t depth) {
    uint32_t i;
    while (*page && !*used) {
        *page = (*page)->before;
        *used = *page ? (*page)->used : 0;
    }
    if (!*page) return NULL;
    for (i = *used - 1; i && (*page)->slots[i].site_depth == PROF__PART_WORD;) i--;
    if (((*page)->slots[i].end >> 8 & 0xff) < depth) return NULL;
    *used = i;
    return (*page)->slots + i;
}

/* Forgets a thread's attributes from `used` of page on. They stay readable until the next is
   kept. */
static void prof__raw_cut(prof_raw *r, prof__raw_row *row, prof__raw_page *page, uint32_t used) {
    while (row->page != page || (page && !used)) {
        prof__raw_page *free = row->page;
        if (free == page) page = page->before, used = page ? page->used : 0;
        row->page = free->before;
        free->before = r->pages;
        r->pages = free;
    }
    if (page) page->used = used;
}

/* Reads attributes of a zone; heads has the last one first. Native call stacks and modules are
   numbers and texts of the program that wrote them: left out. NULL: they do not fit. */
static prof__pending *prof__raw_decode(prof_raw *r, const prof__record *const *heads, uint32_t n,
                                       uint32_t depth) {
    prof__details *d = r->details;
    size_t room = 1;
    memset(d->open + depth, 0, sizeof d->open[depth]);
    d->used = 0;
    d->room = &room;
    d->floor = (char *)(d + 1);
    d->high = (char *)(d + 1) + PROF__RAW_SCRATCH;
    for (const prof__record *head; n--;) {
        head = heads[n];
        if ((head->end & 0xff) < PROF__NATIVE)
            prof__read_attribute(d, head, head + 1 + (head->site_depth & 0xff));
    }
    return d->used > PROF__RAW_SCRATCH ? NULL : d->open + depth;
}

/* What a zone carries, of the attributes that wait for it; NULL: nothing. */
static const prof_extra *prof__raw_carried(prof_raw *r, prof__raw_row *row, const char *name,
                                           uint32_t depth, uint16_t *flags) {
    const prof__record *heads[PROF__RAW_HEADS], *head;
    prof__details *d = r->details;
    prof__pending *z;
    prof__raw_page *page = row->page;
    uint32_t n = 0, used = page->used;
    while ((head = prof__raw_before(&page, &used, depth)) != NULL) {
        if ((head->end >> 8 & 0xff) != depth) continue;   /* of a zone that never came */
        if (n == PROF__RAW_HEADS) r->stats.lost_details++;
        else heads[n++] = head;
    }
    prof__raw_cut(r, row, page, used);
    if (!n) return NULL;
    if (!d) d = r->details = (prof__details *)prof__raw_take(r, sizeof *d + PROF__RAW_SCRATCH);
    if (d) {
        d->swap = r->swap;
        d->max_depth = PROF__LEVELS;
    }
    z = d ? prof__raw_decode(r, heads, n, depth) : NULL;
    if (!z) {
        r->stats.lost_details += n;
        return NULL;
    }
    if (!z->extra) return NULL;          /* of a type that this version does not know */
    if (r->asked & PROF_RAW_HAS_FLOPS && !z->extra->flops && z->extra->input_shapes) {
        prof_event e;
        e.name = name;
        prof__flops_of(&e, z->extra);
    }
    if (z->annotation) *flags |= PROF_EVENT_USER_ANNOTATION;
    return z->extra;
}

static void prof__raw_read_details(prof_raw *r, size_t at, size_t end) {
    prof_raw_item item;
    uint32_t told = end - at < 2 ? UINT32_MAX : prof__raw_get(r, at + 1), n = 0;
    uint32_t count = PROF__MIN(told, PROF_COUNTERS);
    if (told > count) prof__raw_odd(r);
    if (end - at < 2) return;
    r->asked = prof__raw_get(r, at);
    for (at += 2; n < count && at < end; n++) {
        size_t size = prof__raw_get(r, at++);
        const char *text = (const char *)(r->block + at), *old = r->counter_names[n];
        if (size > (end - at) * 4) break;
        if (n >= r->counter_count || strlen(old) != size || memcmp(old, text, size) != 0)
            r->counter_names[n] = prof__raw_keep(r, text, size);
        if (!r->counter_names[n]) break;
        at += (size + 3) / 4;
    }
    r->counter_count = n;
    memset(&item, 0, sizeof item);
    item.kind = PROF_RAW_DETAILS;
    item.value = r->asked;
    item.counter_names = r->counter_names;
    item.counter_count = n;
    prof__raw_hand(r, &item);
}

/* Moves the next text of a block to *to, after those read before; NULL: there is none. */
static const char *prof__raw_read_text(prof_raw *r, size_t *at, size_t end, char **to) {
    size_t size = *at < end ? prof__raw_get(r, (*at)++) : SIZE_MAX;
    char *text = *to;
    if (size > (end - *at) * 4) return NULL;
    memmove(text, r->block + *at, size);
    text[size] = 0;
    *to = text + size + 1;
    *at += (size + 3) / 4;
    return text;
}

/* An event's texts are moved over words that were read before, so that each ends with a NUL. */
static void prof__raw_read_event(prof_raw *r, size_t at, size_t end) {
    prof_raw_item item;
    prof_extra x;
    char *to = (char *)(r->block + at);
    uint32_t flags;
    if (end - at < 20) {
        prof__raw_odd(r);
        return;
    }
    memset(&item, 0, sizeof item);
    memset(&x, 0, sizeof x);
    item.kind = PROF_RAW_EVENT;
    item.start_ns = (int64_t)prof__raw_get64(r, at);
    item.end_ns = (int64_t)prof__raw_get64(r, at + 2);
    item.thread = prof__raw_get(r, at + 4);
    flags = prof__raw_get(r, at + 5);
    item.flags = (uint16_t)flags;
    item.device_type = (uint8_t)(flags >> 16);
    x.has = prof__raw_get(r, at + 6) & (PROF_HAS_ID | PROF_HAS_LINK | PROF_HAS_DEVICE_INDEX);
    x.device_index = (int32_t)prof__raw_get(r, at + 7);
    x.device_resource_id = (int64_t)prof__raw_get64(r, at + 8);
    x.id = (int64_t)prof__raw_get64(r, at + 10);
    x.linked_correlation_id = (int64_t)prof__raw_get64(r, at + 12);
    x.external_id = (int64_t)prof__raw_get64(r, at + 14);
    at += 16;
    item.name = prof__raw_read_text(r, &at, end, &to);
    x.activity_type = prof__raw_read_text(r, &at, end, &to);
    x.metadata_json = prof__raw_read_text(r, &at, end, &to);
    item.device = prof__raw_read_text(r, &at, end, &to);
    if (!item.name || !x.activity_type || !x.metadata_json || !item.device ||
        item.end_ns < item.start_ns || item.start_ns < -(INT64_MAX >> 2) ||
        item.end_ns > INT64_MAX >> 2) {
        prof__raw_odd(r);
        return;
    }
    item.extra = &x;
    prof__raw_hand(r, &item);
}

static void prof__raw_read_metadata(prof_raw *r, size_t at, size_t end) {
    prof_raw_item item;
    memset(&item, 0, sizeof item);
    item.kind = PROF_RAW_METADATA;
    while (at < end) {
        char *to = (char *)(r->block + at);
        item.name = prof__raw_read_text(r, &at, end, &to);
        if (!item.name) {
            prof__raw_odd(r);
            return;
        }
        prof__raw_hand(r, &item);
    }
}

static void prof__raw_hand_memory(prof_raw *r, uint32_t thread, const prof__item *i) {
    uint32_t depth;
    prof__memory m = prof__memory_get(i, &depth);
    prof_memory_change change;
    prof_raw_item item;
    memset(&change, 0, sizeof change);
    memset(&item, 0, sizeof item);
    item.thread = thread;
    item.kind = PROF_RAW_MEMORY;
    item.depth = (uint8_t)depth;
    item.failed = m.what == PROF__NO_MEMORY;
    item.name = item.failed ? "[OutOfMemory]" : "[memory]";
    change.ns = item.start_ns = item.end_ns = prof__raw_ns(r, i->end);
    change.address = m.address;
    change.bytes = (uint64_t)m.bytes;
    change.thread = item.thread;
    change.device = m.device;
    change.kind = (prof_memory_kind)m.category;
    change.is_free = m.what == PROF__FREE;
    item.memory = &change;
    prof__raw_hand(r, &item);
}

/* Hands on changes of memory, ranges and arrows. */
static void prof__raw_hand_detail(prof_raw *r, uint32_t thread, const prof__item *i) {
    prof_raw_item item;
    if (i->kind == PROF__MEMORY && i->slots == 4) {
        prof__raw_hand_memory(r, thread, i);
        return;
    }
    memset(&item, 0, sizeof item);
    item.thread = thread;
    item.start_ns = item.end_ns = prof__raw_ns(r, i->end);
    if (i->kind == PROF__ASYNC && i->slots >= 4) {
        prof__range range = prof__range_get(i);
        item.kind = PROF_RAW_ASYNC;
        item.site = prof__raw_site_of(r, range.site);
        item.name = item.site->name;
        item.thread = range.thread;
        item.end_thread = thread;
        item.end_ns = prof__raw_ns(r, range.end);
        item.value = (int64_t)range.id;
        if (item.end_ns < item.start_ns) item.end_ns = item.start_ns;
        prof__raw_hand(r, &item);
    } else if (i->kind == PROF__FLOW && i->slots == 2) {
        item.kind = PROF_RAW_FLOW;
        item.name = "flow";
        item.value = (int64_t)(i->value >> 1);
        item.flags = i->value & 1;
        prof__raw_hand(r, &item);
    }
}

static void prof__raw_hand_item(prof_raw *r, prof__raw_row *row, uint32_t thread,
                                const prof__item *i) {
    prof_raw_item *item = &r->item;          /* kept, since clearing one would take most time */
    uint64_t start = prof__item_start(i);
    item->kind = i->kind == PROF__COUNTER ? PROF_RAW_COUNTER : i->kind == PROF__STEP ? PROF_RAW_STEP
              : i->kind == PROF__INSTANT ? PROF_RAW_INSTANT
              : i->kind == PROF__REAL ? PROF_RAW_COUNTER_F : PROF_RAW_ZONE;
    item->number = 0;
    if (i->kind == PROF__REAL) memcpy(&item->number, &i->value, sizeof item->number);
    item->thread = thread;
    item->site = item->kind == PROF_RAW_STEP ? NULL : prof__raw_site_of(r, i->site_depth >> 8);
    item->name = item->site ? item->site->name : "ProfilerStep";
    item->start_ns = prof__raw_ns(r, start);
    item->end_ns = prof__raw_ns(r, i->end);
    if (item->end_ns < item->start_ns) item->end_ns = item->start_ns;
    item->value = (int64_t)i->value;
    item->depth = (uint8_t)i->site_depth;
    item->flags = prof__item_flags(i);
    item->extra = NULL;
    if (item->kind == PROF_RAW_ZONE) {
        item->value = 0;
        r->zones += !item->flags;
        if (!item->flags && row && start < row->oldest) item->flags = PROF_EVENT_PARTIAL;
        if (row && row->page)
            item->extra = prof__raw_carried(r, row, item->name, item->depth, &item->flags);
    }
    prof__raw_hand(r, item);
}

/* The number of records from position on that were read before. Counts records missing before. */
static uint64_t prof__raw_known(prof_raw *r, prof__raw_row *row, uint64_t position) {
    if (!row) return 0;
    if (row->position < position) {
        r->stats.missing_records += position - row->position;
        row->oldest = UINT64_MAX;
        row->position = position;
    }
    return row->position - position;
}

/* A zone of another depth than the one before it, whose end is last. Where the clock went back
   zones around last as long as what is in them, as in prof__read_late: so it is noted when that
   begins. */
static void prof__raw_nest(prof_raw *r, prof__raw_row *row, prof__item *i, uint32_t held,
                           uint64_t last) {
    const uint32_t DEPTHS = 64;
    uint32_t depth = (uint8_t)i->site_depth;
    uint64_t start = prof__item_start(i);
    if (depth > held) {
        if (!row->first)
            row->first = (uint64_t *)prof__raw_take(r, DEPTHS * sizeof *row->first);
        for (; row->first && held < PROF__MIN(depth, DEPTHS); held++) row->first[held] = start;
        return;
    }
    if (!row->first || depth >= DEPTHS) return;
    if (row->course.back && start > row->first[depth] && (start < last || !i->duration)) {
        start = row->first[depth];
        i->duration = i->end - start;
    }
    if (depth) row->first[depth - 1] = PROF__MIN(row->first[depth - 1], start);
}

/* Where the clock went back the thread's time goes on. */
static void prof__raw_go_on(prof_raw *r, prof__raw_row *row, prof__item *i) {
    uint32_t depth = (uint8_t)i->site_depth, held = row->course.depth;
    uint64_t last = row->course.last;
    if (prof__item_is_zone(i) && !row->course.back && i->end >= last && i->end >= r->start_tick) {
        row->course.last = i->end;       /* mostly: the clock went on */
        row->course.depth = depth;
    } else {
        if (r->session && r->start_tick > last) row->course.last = r->start_tick;
        prof__go_on(&row->course, i);
        if (!prof__item_is_zone(i)) return;
    }
    if (depth != held) prof__raw_nest(r, row, i, held, last);
}

static void prof__raw_read_record(prof_raw *r, prof__raw_row *row, uint32_t thread,
                                  prof__item *i) {
    if (row && i->kind != PROF__CLOCK) prof__raw_go_on(r, row, i);
    if (i->kind == PROF__ATTRIBUTE) prof__raw_push(r, row, i);
    if (i->kind >= PROF__MEMORY && i->kind <= PROF__FLOW) prof__raw_hand_detail(r, thread, i);
    if (!prof__item_shows(i)) return;
    if (row && row->oldest == UINT64_MAX) row->oldest = i->end;
    prof__raw_hand_item(r, row, thread, i);
}

static void prof__raw_read_records(prof_raw *r, size_t at, size_t end) {
    const prof__record *begin;
    prof__cursor k = { NULL, NULL, 0, 0 };
    prof__raw_row *row;
    prof__item item;
    uint32_t thread;
    uint64_t position, known;
    if (end - at < PROF__RAW_RECORDS_HEAD || (end - at - PROF__RAW_RECORDS_HEAD) % 3)
        prof__raw_odd(r);
    if (end - at < PROF__RAW_RECORDS_HEAD) return;
    thread = prof__raw_get(r, at);
    k.base = (uint64_t)prof__raw_get(r, at + 1) << 32;
    row = prof__raw_row_of(r, thread);
    position = prof__raw_get64(r, at + 2);
    r->pair.tick = prof__raw_get64(r, at + 4);
    r->pair.ns = prof__raw_get64(r, at + 6);
    r->rate = prof__raw_get64(r, at + 8);
    k.at = begin = (const prof__record *)(const void *)(r->block + at + PROF__RAW_RECORDS_HEAD);
    k.end = k.at + (end - at - PROF__RAW_RECORDS_HEAD) / 3;
    known = prof__raw_known(r, row, position);
    r->stats.repeated_records += PROF__MIN(known, (uint64_t)(k.end - k.at));
    if (row) row->position = PROF__MAX(row->position, position + (uint64_t)(k.end - k.at));
    for (size_t i = at; r->swap && i < end; i++) r->block[i] = prof__raw_swapped(r->block[i]);
    while (prof__next(&k, &item))
        if ((size_t)(item.at - begin) >= known && item.kind != PROF__KIND)
            prof__raw_read_record(r, row, thread, &item);
}

/* Bytes of a dense block. */
typedef struct prof__raw_bytes { const unsigned char *at, *end; } prof__raw_bytes;

/* The next number; 0 where the bytes end. */
static uint64_t prof__raw_number(prof__raw_bytes *b) {
    uint64_t n = 0;
    for (unsigned shift = 0; b->at < b->end; shift += 7) {
        unsigned char c = *b->at++;
        if (shift < 64) n |= (uint64_t)(c & 127) << shift;
        if (c < 128) return n;
    }
    return 0;
}

/* Copies a record of so many slots, and reads it; false: it is cut off, or of a kind that is in no
   dense block. */
static bool prof__raw_long(prof_raw *r, prof__raw_bytes *b, size_t slots, prof__item *i) {
    uint32_t words[9];
    prof__cursor k = { (const prof__record *)(const void *)words, NULL, 0, 0 };
    if (slots > 3 || (size_t)(b->end - b->at) < 12 * slots) return false;
    memcpy(words, b->at, 12 * slots);
    b->at += 12 * slots;
    for (size_t w = 0; r->swap && w < 3 * slots; w++) words[w] = prof__raw_swapped(words[w]);
    k.end = k.at + slots;
    return prof__next(&k, i) && i->kind && prof__item_shows(i);
}

static void prof__raw_read_dense(prof_raw *r, size_t at, size_t end) {
    prof__raw_bytes b = { (const unsigned char *)(r->block + at),
                          (const unsigned char *)(r->block + end) };
    uint32_t thread = (uint32_t)prof__raw_number(&b);
    uint64_t position = prof__raw_number(&b), n = 0, last, code;
    prof__raw_row *row = prof__raw_row_of(r, thread);
    uint64_t known = prof__raw_known(r, row, position);
    prof__item item;
    r->rate = prof__raw_number(&b);
    last = prof__raw_number(&b);
    r->pair.tick = r->pair.ns = 0;
    while ((code = prof__raw_number(&b)) != 0) {
        memset(&item, 0, sizeof item);
        if (code < 32) {
            if (!prof__raw_long(r, &b, (size_t)code, &item)) {
                prof__raw_odd(r);
                break;
            }
        } else {
            uint64_t depth = code & 31, after;
            if (depth == 31) depth = prof__raw_number(&b);
            after = prof__raw_number(&b);
            item.slots = 1;
            item.site_depth = (uint32_t)(code >> 5) << 8 | (uint8_t)depth;
            item.end = last + (after >> 1 ^ ((uint64_t)0 - (after & 1)));
            item.duration = (uint32_t)prof__raw_number(&b);
        }
        if (prof__item_is_zone(&item)) last = item.end;
        if (n >= known) prof__raw_read_record(r, row, thread, &item);
        n += item.slots;
    }
    r->stats.repeated_records += PROF__MIN(known, n);
    if (row) row->position = PROF__MAX(row->position, position + n);
}

/* Open zones are in a block from the outermost on; they are handed on from the innermost. */
static void prof__raw_read_open(prof_raw *r, size_t at, size_t end) {
    prof__raw_row *row;
    uint64_t stop;
    uint32_t thread;
    size_t count;
    prof__item item;
    if (end - at < 4 || (end - at - 4) / 4 < prof__raw_get(r, at + 1)) prof__raw_odd(r);
    if (end - at < 4) return;
    thread = prof__raw_get(r, at);
    count = PROF__MIN((end - at - 4) / 4, (size_t)prof__raw_get(r, at + 1));
    row = prof__raw_row_of(r, thread);
    item.kind = PROF__UNFINISHED;
    item.value = 0;
    stop = prof__raw_get64(r, at + 2);
    for (at += 4 * count; count--; at -= 4) {
        item.end = stop;
        item.duration = stop - PROF__MIN(prof__raw_get64(r, at), stop);
        item.site_depth = prof__raw_get(r, at + 2);
        if (row) prof__raw_go_on(r, row, &item);
        prof__raw_hand_item(r, row, thread, &item);
    }
}

#define PROF__RAW_TAKE(name, value, index, note) s->name = counts[index];

/* Hands on the counts, by their indexes in the block. */
static void prof__raw_put_counts(prof_raw *r, const uint64_t *counts, bool last) {
    prof_stats *s = &r->stats.counts;
    prof_raw_item item;
    PROF__STATS(PROF__RAW_TAKE, PROF__RAW_TAKE, PROF__RAW_TAKE)
    s->deep = counts[2];
    s->dropped = s->dropped_full + s->dropped_threads + s->dropped_busy + counts[2] + counts[4];
    s->others += counts[4] + counts[18] + counts[19] + counts[20];
    s->unbalanced += counts[7];          /* of older versions, as the next two */
    s->not_kept += counts[10] + counts[23];
    s->unfinished += counts[21];
    if (s->overwritten) {                /* a ring's dump counts slots: at most the zones missing */
        uint64_t gone = s->recorded - PROF__MIN(r->zones, s->recorded);
        s->overwritten = PROF__MIN(s->overwritten, gone);
    }
    s->threads = (uint32_t)counts[14];
    s->clock = (prof_clock)(r->clock <= PROF_CLOCK_PLATFORM ? r->clock : 0);
    s->ticks_per_second = r->rate;
    s->timeline_ns = r->full_tick ? (uint64_t)prof__raw_ns(r, r->full_tick) : 0;
    s->summed = 0;
    for (const prof__raw_named *n = r->first_name; n; n = n->next)
        s->summed += prof__tally_calls(&n->tally);
    r->stats.ended = last;
    memset(&item, 0, sizeof item);
    item.kind = PROF_RAW_COUNTS;
    item.counts = s;
    item.value = last;
    prof__raw_hand(r, &item);
}

static void prof__raw_read_counts(prof_raw *r, size_t at, size_t end) {
    uint64_t counts[PROF__NO + 1];
    size_t given = end - at < 2 ? 0 : PROF__MIN((end - at - 2) / 2, prof__raw_get(r, at + 1));
    if (end - at < 2 || given < prof__raw_get(r, at + 1)) prof__raw_odd(r);
    for (size_t i = 0; i <= PROF__NO; i++)
        counts[i] = i < PROF__MIN(given, (size_t)PROF__NO) ? prof__raw_get64(r, at + 2 + 2 * i) : 0;
    prof__raw_put_counts(r, counts, end > at && prof__raw_get(r, at) == 1);
}

static void prof__raw_read_block(prof_raw *r, size_t words) {
    static void (*const readers[])(prof_raw *r, size_t at, size_t end) = {   /* by type */
        NULL, prof__raw_read_session, prof__raw_read_sites, prof__raw_read_thread,
        prof__raw_read_records, prof__raw_read_open, prof__raw_read_counts, prof__raw_read_sums,
        prof__raw_read_details, prof__raw_read_event, NULL, prof__raw_read_dense,
        prof__raw_read_metadata };
    uint32_t type = prof__raw_get(r, 1) & 0xffff, number = prof__raw_get(r, 3);
    if (number > r->next_block) r->stats.missing_blocks += number - r->next_block;
    r->next_block = number + 1;
    r->stats.blocks++;
    r->in_damage = false;
    r->stats.tail_bytes = 0;
    if (r->swap) r->stats.other_endian = true;
    if (prof__raw_get(r, 1) >> 16 > PROF__RAW_NEWEST || type == PROF__RAW_OLD_CORE) {
        r->stats.newer++;
        return;
    }
    if (!number) prof__raw_sums_again(r);
    /* Types that only later versions know are not needed here. */
    if (type < sizeof readers / sizeof *readers && readers[type])
        readers[type](r, PROF__RAW_HEAD, words);
}

/* Does the block at the buffer's start, of so many words, have a right checksum? */
static bool prof__raw_right(prof_raw *r, size_t words) {
    size_t a = 0, b = 0;
    for (size_t i = 1; i < words; i++) {
        a = prof__raw_sum_add(a, i == 4 || i == 5 ? 0 : prof__raw_get(r, i));
        b = prof__raw_sum_add(b, a);
    }
    return prof__raw_get(r, 4) == prof__raw_sum_end(a) &&
           prof__raw_get(r, 5) == prof__raw_sum_end(b);
}

/* The words of the block that begins with these 12 bytes; 0: none does. *swap: it has the other
   byte order. */
static size_t prof__raw_length(const char *head, bool *swap) {
    uint32_t word[3];
    memcpy(word, head, sizeof word);
    *swap = word[0] != PROF__RAW_MAGIC;
    for (int i = 0; *swap && i < 3; i += 2) word[i] = prof__raw_swapped(word[i]);
    if (word[0] != PROF__RAW_MAGIC || word[2] & 3 || word[2] > PROF__RAW_PAYLOAD) return 0;
    return PROF__RAW_HEAD + word[2] / 4;
}

static void prof__raw_skip(prof_raw *r, size_t bytes) {
    r->have -= bytes;
    r->block_at += bytes;
    memmove(r->block, (char *)r->block + bytes, r->have);
}

/* The bytes to where the next block may begin, by as much of its head as is there. */
static size_t prof__raw_damage(const prof_raw *r) {
    const char *p = (const char *)r->block + 1, *end = (const char *)r->block + r->have;
    bool swap;
    for (; p < end; p++) {
        size_t left = (size_t)(end - p);
        if (left < 12 ? *p == 'P' || *p == 'F' : prof__raw_length(p, &swap) != 0) break;
    }
    return (size_t)(p - (const char *)r->block);
}

/* Reads whole blocks; last: nothing more will come. */
static void prof__raw_read(prof_raw *r, bool last) {
    while (r->have >= 4 * PROF__RAW_HEAD || (last && r->have)) {
        size_t words = r->have < 4 * PROF__RAW_HEAD
            ? 0 : prof__raw_length((const char *)r->block, &r->swap), skip;
        if (words * 4 > r->have) {
            if (!last) return;
            words = 0;
        }
        if (words && prof__raw_right(r, words)) {
            prof__raw_read_block(r, words);
            prof__raw_skip(r, words * 4);
            continue;
        }
        skip = prof__raw_damage(r);
        r->stats.damaged_bytes += skip;
        r->stats.tail_bytes += skip;
        r->stats.damaged += !r->in_damage;
        r->in_damage = true;
        prof__raw_skip(r, skip);
    }
}

PROF__CALL prof_result prof_raw_open(const prof_raw_desc *desc, prof_raw **raw) {
    char *memory = desc ? (char *)desc->memory : NULL;
    size_t skip = (16u - ((uintptr_t)memory & 15u)) & 15u, size;
    prof_raw *r;
    if (!memory || !raw) return PROF_ERROR_INVALID;
    r = (prof_raw *)(void *)(memory + skip);
    if (desc->memory_size < sizeof *r + skip + 4096) return PROF_ERROR_MEMORY;
    memset(r, 0, sizeof *r);
    r->desc = *desc;
    size = (desc->memory_size - skip - sizeof *r) & ~(size_t)15u;
    r->text_end = (char *)(void *)(r + 1) + size;
    for (r->slots = 1u << 16; r->slots > size / 64 / sizeof *r->rows;) r->slots /= 2;
    r->rows = (prof__raw_row **)(void *)(r + 1);
    r->sites = (prof__raw_named_site **)(void *)(r->rows + r->slots);
    prof__raw_forget(r);
    *raw = r;
    return PROF_OK;
}

PROF__CALL void prof_raw_feed(prof_raw *raw, const void *data, size_t size) {
    const char *from = (const char *)data;
    raw->stats.bytes += size;
    while (size) {
        size_t part = PROF__MIN(size, sizeof raw->block - raw->have);
        part = PROF__MIN(part, 2048u);       /* little, as the bytes after each block are moved */
        memcpy((char *)raw->block + raw->have, from, part);
        raw->have += part;
        from += part;
        size -= part;
        prof__raw_read(raw, false);
    }
}

PROF__CALL prof_result prof_raw_close(prof_raw *raw, prof_raw_stats *stats) {
    prof__raw_read(raw, true);
    prof__raw_hand_sums(raw);
    if (stats) *stats = raw->stats;
    if (raw->stats.newer) return PROF_ERROR_UNSUPPORTED;
    return raw->stats.damaged || raw->stats.missing_blocks || !raw->stats.blocks
               ? PROF_ERROR_INVALID : PROF_OK;
}
#endif /* PROF__IMPLEMENTED */
#endif
