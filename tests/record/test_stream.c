/* PROF_MODE_STREAM and the raw stream: what leaves through the sink is what was marked, however it
   is cut, damaged or turned round. */
#include "../test.h"
#include "../../tools/prof/library.h"
#include "../../tools/prof/raw_read.h"

#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

/* ---- What a reader found ---- */

enum { MOST = 200000 };

/* ThreadSanitizer makes them long: of a sample a tenth. */
static int turns_of(int n) { return TEST_TSAN && test_sample() > 1 ? n / 10 : n; }

typedef struct found {
    size_t zone_count, instants, counters, threads, sessions, counts, steps;
    int64_t counter_sum;
    double numbers[8];                   /* of prof_counter_f */
    size_t number_count;
    char members[400];                   /* of the head, as they came */
    const char *thread_name;
    prof_raw_stats stats;
    prof_result result;
    prof_raw_item zones[MOST];
    unsigned char memory[128 << 10];
} found;

static found read_back, damaged_back;

static void take(void *user, const prof_raw_item *item) {
    found *f = (found *)user;
    switch (item->kind) {
    case PROF_RAW_SESSION: f->sessions++; break;
    case PROF_RAW_THREAD:
        f->threads++;
        if (item->name) f->thread_name = item->name;
        break;
    case PROF_RAW_ZONE: if (f->zone_count < MOST) f->zones[f->zone_count++] = *item; break;
    case PROF_RAW_INSTANT: f->instants++; break;
    case PROF_RAW_COUNTER:
        f->counters++;
        f->counter_sum += item->value;
        break;
    case PROF_RAW_COUNTER_F:
        if (f->number_count < 8) f->numbers[f->number_count++] = item->number;
        break;
    case PROF_RAW_STEP: f->steps++; break;
    case PROF_RAW_COUNTS: f->counts++; break;
    case PROF_RAW_METADATA:
        if (strlen(f->members) + strlen(item->name) + 2 < sizeof f->members)
            strcat(strcat(f->members, item->name), ";");
        break;
    default: break;
    }
}

/* piece: bytes a push; 0: all at once. */
static void read_stream(found *f, const char *data, size_t size, size_t piece) {
    prof_raw_desc desc;
    prof_raw *raw;
    size_t at, part;
    memset(f, 0, offsetof(found, zones));
    memset(&desc, 0, sizeof desc);
    desc.memory = f->memory;
    desc.memory_size = sizeof f->memory;
    desc.item = take;
    desc.user = f;
    if (prof_raw_open(&desc, &raw) != PROF_OK) abort();
    for (at = 0; at < size; at += part) {
        part = !piece || piece > size - at ? size - at : piece;
        prof_raw_feed(raw, data + at, part);
    }
    f->result = prof_raw_close(raw, &f->stats);
}

static void read_all(const test_text *text) { read_stream(&read_back, text->data, text->size, 0); }

/* ---- What is marked ---- */

/* A session that streams to `text`, which is emptied. */
static prof_desc stream_desc(test_text *text) {
    prof_desc desc = test_desc();
    memset(text, 0, sizeof *text);
    desc.mode = PROF_MODE_STREAM;
    desc.stream = test_text_sink(text);
    desc.when_full = PROF_FULL_DROP;
    desc.max_threads = 2;
    test_time.step = 1;
    return desc;
}

static void check_marked(const found *f, unsigned turns) {
    size_t i;
    EQUAL(f->result, PROF_OK);
    EQUAL(f->zone_count, 2 * turns);
    for (i = 0; i < f->zone_count; i++) {
        const prof_raw_item *zone = f->zones + i;
        SAME_TEXT(zone->name, i % 2 ? "outer" : "inner");
        EQUAL(zone->depth, i % 2 ? 0 : 1);
        EQUAL(zone->end_ns - zone->start_ns, i % 2 ? 3 : 1);
        EQUAL(zone->flags, 0);
        if (i % 2) CHECK(f->zones[i - 1].start_ns == zone->start_ns + 1, "zone %u", (unsigned)i);
    }
    CHECK(f->stats.ended, "no last block");
    EQUAL(f->stats.counts.recorded, 2 * turns);
    EQUAL(f->stats.counts.dropped, 0);
    EQUAL(f->stats.unknown_sites, 0);
    EQUAL(f->stats.missing_records, 0);
}

static void test_flush_writes_what_was_marked(void) {
    test_text text;
    prof_desc desc = stream_desc(&text);
    prof_trace *trace;
    size_t count, before;
    EQUAL(prof_start(&desc), PROF_OK);
    test_zones(3);
    EQUAL(text.size, 0);
    EQUAL(prof_flush(), PROF_OK);
    before = text.size;
    CHECK(before != 0, "nothing was written");
    EQUAL(prof_flush(), PROF_OK);
    EQUAL(text.size, before);
    test_zones(2);
    trace = prof_stop();
    CHECK(trace != NULL, "no trace");
    CHECK(prof_events(trace, NULL, 0, &count) == NULL && count == 0, "%u events", (unsigned)count);
    EQUAL(prof_get_stats(NULL).recorded, 10);
    EQUAL(prof_flush(), PROF_ERROR_STATE);
    read_all(&text);
    PASS_ON(check_marked(&read_back, 5));
    EQUAL(read_back.sessions, 1);
    test_text_clear(&text);
}

static void test_inline_flushes_lose_nothing(void) {
    test_text text;
    prof_desc desc = stream_desc(&text);
    desc.memory_size = 64 << 10;
    desc.memory = malloc(desc.memory_size);
    desc.when_full = PROF_FULL_CONTINUE;
    EQUAL(prof_start(&desc), PROF_OK);
    test_zones(50000);
    EQUAL(prof_get_stats(NULL).dropped, 0);
    prof_stop();
    read_all(&text);
    PASS_ON(check_marked(&read_back, 50000));
    free(desc.memory);
    test_text_clear(&text);
}

static bool slow_sink(void *user, const void *data, size_t size) {
    usleep(1000);
    return test_text_write(user, data, size);
}

/* The time that a thread waits for a slow stream is counted, and told first. */
static void test_waits_are_timed(void) {
    test_text text;
    prof_desc desc = stream_desc(&text);
    prof_stats stats;
    stats_note note;
    desc.stream.write = slow_sink;
    desc.memory_size = 64 << 10;
    desc.memory = malloc(desc.memory_size);
    desc.when_full = PROF_FULL_CONTINUE;
    EQUAL(prof_start(&desc), PROF_OK);
    test_zones(20000);
    stats = prof_get_stats(NULL);
    CHECK(stats.stalled_us >= 10000, "%u us", (unsigned)stats.stalled_us);
    CHECK(stats_note_at(&stats, 0, &note) && note.count == stats.stalled_us, "not the first");
    prof_stop();
    read_all(&text);
    CHECK(read_back.stats.counts.stalled_us >= stats.stalled_us, "the stream says %u us",
          (unsigned)read_back.stats.counts.stalled_us);
    free(desc.memory);
    test_text_clear(&text);
}

/* A stream's table has only the zones that are in sums: it says so. */
static void test_table_of_a_stream(void) {
    test_text text, table;
    prof_desc desc = stream_desc(&text);
    prof_trace *trace;
    memset(&table, 0, sizeof table);
    desc.max_depth = 4;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 10; i++) prof_push("within");
    for (int i = 0; i < 10; i++) prof_pop();
    trace = prof_stop();
    EQUAL(prof_write_table(trace, NULL, test_text_sink(&table)), PROF_OK);
    CHECK(strstr(table.data, "within") && strstr(table.data, "not kept for a table"), "%s",
          table.data);
    test_text_clear(&table);
    test_text_clear(&text);
}

/* Without a flush the chunks fill up: what does not fit is dropped, counted, and known. */
static void test_full_chunks_drop_and_count(void) {
    test_text text;
    prof_desc desc = stream_desc(&text);
    prof_stats stats;
    desc.memory_size = 64 << 10;
    desc.memory = malloc(desc.memory_size);
    EQUAL(prof_start(&desc), PROF_OK);
    test_zones(50000);
    EQUAL(prof_flush(), PROF_OK);
    test_zones(10);
    prof_stop();
    stats = prof_get_stats(NULL);
    CHECK(stats.dropped_full > 0, "nothing dropped");
    EQUAL(stats.recorded + stats.dropped, 100020);
    read_all(&text);
    EQUAL(read_back.result, PROF_OK);
    EQUAL(read_back.zone_count, stats.recorded);
    EQUAL(read_back.stats.counts.dropped_full, stats.dropped_full);
    free(desc.memory);
    test_text_clear(&text);
}

static void test_everything_a_stream_can_hold(void) {
    test_text text;
    prof_desc desc = stream_desc(&text);
    const prof_raw_item *zone;
    EQUAL(prof_start(&desc), PROF_OK);
    prof_set_thread_name("the \"main\" thread");
    prof_instant("moment");
    prof_counter("bytes", -5);
    prof_counter("bytes", INT64_MAX);
    PROF_BEGIN("long");
    test_time.tick += (uint64_t)7 << 32;
    PROF_END();
    PROF_BEGIN("open");
    prof_push("open within");
    EQUAL(prof_flush(), PROF_OK);
    test_time.tick = ((uint64_t)8 << 32) - 1;
    prof_stop();
    read_all(&text);
    EQUAL(read_back.result, PROF_OK);
    EQUAL(read_back.instants, 1);
    EQUAL(read_back.counters, 2);
    EQUAL(read_back.counter_sum, INT64_MAX - 5);
    SAME_TEXT(read_back.thread_name, "the \"main\" thread");
    EQUAL(read_back.zone_count, 3);
    zone = read_back.zones;
    SAME_TEXT(zone[0].name, "long");
    EQUAL(zone[0].end_ns - zone[0].start_ns, ((int64_t)7 << 32) + 1);
    CHECK(strstr(zone[0].site->file, "test_stream.c") && zone[0].site->line, "its place is lost");
    SAME_TEXT(zone[1].name, "open within");      /* as if they ended */
    SAME_TEXT(zone[2].name, "open");
    EQUAL(zone[1].flags, PROF_EVENT_UNFINISHED);
    EQUAL(zone[1].depth, 1);
    EQUAL(zone[1].end_ns, ((int64_t)8 << 32) - 2);
    EQUAL(read_back.stats.counts.unfinished, 2);
    test_text_clear(&text);
}

/* ---- Streams cut, damaged, turned round ---- */

/* A stream of many small blocks. */
static void make_stream(test_text *text, unsigned flushes) {
    prof_desc desc = stream_desc(text);
    unsigned i;
    prof_start(&desc);
    for (i = 0; i < flushes; i++) {
        test_zones(3);
        prof_flush();
    }
    prof_stop();
}

static void test_pushes_of_any_size(void) {
    test_text text;
    size_t piece;
    make_stream(&text, 5);
    for (piece = 1; piece < text.size; piece += piece < 40 ? 1 : 37) {
        read_stream(&read_back, text.data, text.size, piece);
        PASS_ON(check_marked(&read_back, 15));
    }
    test_text_clear(&text);
}

/* What stands before the cut is there; the reader says that the end is missing. */
static void test_cut_at_every_byte(void) {
    test_text text;
    size_t cut, last = 0;
    make_stream(&text, 10);
    for (cut = 0; cut < text.size; cut++) {
        read_stream(&read_back, text.data, cut, 0);
        CHECK(!read_back.stats.ended, "cut at %u: ended", (unsigned)cut);
        CHECK(read_back.zone_count >= last, "cut at %u: fewer zones", (unsigned)cut);
        CHECK(read_back.stats.damaged_bytes < 500, "cut at %u: %u bytes damaged", (unsigned)cut,
              (unsigned)read_back.stats.damaged_bytes);
        last = read_back.zone_count;
    }
    EQUAL(last, 60);
    test_text_clear(&text);
}

/* One block is lost at most, is missed, and what is left is right. */
static void test_flipped_bits(void) {
    test_text text;
    size_t bit;
    make_stream(&text, 10);
    for (bit = 0; bit < text.size * 8; bit += 1 + test_random(7)) {
        size_t i;
        text.data[bit / 8] = (char)(text.data[bit / 8] ^ (1 << bit % 8));
        read_stream(&damaged_back, text.data, text.size, 0);
        text.data[bit / 8] = (char)(text.data[bit / 8] ^ (1 << bit % 8));
        EQUAL(damaged_back.result, PROF_ERROR_INVALID);
        EQUAL(damaged_back.stats.damaged, 1);
        CHECK(damaged_back.zone_count >= 54, "bit %u: %u zones", (unsigned)bit,
              (unsigned)damaged_back.zone_count);
        EQUAL(damaged_back.stats.missing_blocks + !damaged_back.stats.ended, 1);
        for (i = 0; i < damaged_back.zone_count; i++) {
            const prof_raw_item *zone = damaged_back.zones + i;
            CHECK(zone->end_ns - zone->start_ns == (zone->depth ? 1 : 3), "bit %u: zone %u",
                  (unsigned)bit, (unsigned)i);
        }
    }
    test_text_clear(&text);
}

/* Any bytes whatever: nothing is read where nothing is. */
static void test_noise_and_what_follows_it(void) {
    test_text text;
    char *data;
    size_t i, noise = 100000;
    make_stream(&text, 10);
    data = (char *)malloc(noise + text.size);
    for (i = 0; i < noise; i++) data[i] = "PROFILE FORP"[test_random(12)];
    memcpy(data + noise, text.data, text.size);
    read_stream(&read_back, data, noise, 0);
    EQUAL(read_back.result, PROF_ERROR_INVALID);
    EQUAL(read_back.stats.blocks, 0);
    read_stream(&read_back, data, noise + text.size, 999);
    EQUAL(read_back.zone_count, 60);
    EQUAL(read_back.stats.damaged, 1);
    EQUAL(read_back.stats.damaged_bytes, noise);
    free(data);
    test_text_clear(&text);
}

static void turn_words(unsigned char *block, size_t from, size_t to) {
    for (; from < to; from += 4) {
        unsigned char a = block[from], b = block[from + 1];
        block[from] = block[from + 3];
        block[from + 1] = block[from + 2];
        block[from + 2] = b;
        block[from + 3] = a;
    }
}

/* The sums of a block are over its words, so they are those of the turned words; text is summed as
   the machine reads it. */
static void sum_turned(unsigned char *block, size_t size) {
    uint64_t a = 0, b = 0;
    size_t i;
    for (i = 4; i < size; i += 4) {
        uint32_t word = (uint32_t)block[i] << 24 | (uint32_t)block[i + 1] << 16 |
                        (uint32_t)block[i + 2] << 8 | block[i + 3];
        if (i != 16 && i != 20) a += word;
        b += a;
    }
    a %= UINT32_MAX;
    b %= UINT32_MAX;
    for (i = 0; i < 4; i++) {
        block[16 + i] = (unsigned char)(a >> (24 - 8 * i));
        block[20 + i] = (unsigned char)(b >> (24 - 8 * i));
    }
}

/* Turns a block of this (little-endian) machine into one of a big-endian one; text stays. */
static size_t turn_block(unsigned char *block) {
    uint32_t words[3], entry[5];
    size_t size, at = 24;
    memcpy(words, block, sizeof words);
    size = 24 + words[2];
    turn_words(block, 0, 24);
    while ((words[1] & 0xffff) == 2 && at < size) {
        memcpy(entry, block + at, sizeof entry);
        turn_words(block, at, at + sizeof entry);
        at += sizeof entry + ((entry[2] + entry[3] + entry[4] + 3) & ~(size_t)3);
    }
    if (at < size) turn_words(block, at, (words[1] & 0xffff) == 3 ? 40 : size);
    sum_turned(block, size);
    return size;
}

static void test_other_byte_order(void) {
    static const uint16_t one = 1;
    test_text text;
    prof_desc desc = stream_desc(&text);
    size_t at;
    if (!*(const unsigned char *)&one) SKIP("this machine is big-endian itself");
    EQUAL(prof_start(&desc), PROF_OK);
    prof_set_thread_name("turned");
    prof_push("alone");
    prof_counter("alone", 77);
    prof_pop();
    prof_stop();
    for (at = 0; at < text.size;) at += turn_block((unsigned char *)text.data + at);
    read_all(&text);
    CHECK(read_back.stats.other_endian, "not seen");
    EQUAL(read_back.zone_count, 1);
    EQUAL(read_back.counter_sum, 77);
    EQUAL(read_back.zones[0].end_ns - read_back.zones[0].start_ns, 2);
    SAME_TEXT(read_back.thread_name, "turned");
    test_text_clear(&text);
}

/* ---- What zones carry ---- */

typedef struct carried {
    found all;
    unsigned zones, changes, ranges, arrows, wrong;
    int64_t bytes;
    unsigned char memory[512 << 10];
} carried;
static carried carried_back;

static int64_t number_in(const prof_extra *x) {
    const char *at = x && x->metadata_json ? strstr(x->metadata_json, "\"n\"") : NULL;
    return at ? atoi(at + 4) : -1;
}

static void take_carried(void *user, const prof_raw_item *item) {
    carried *c = (carried *)user;
    switch (item->kind) {
    case PROF_RAW_ZONE:                  /* "inner" comes before "carrier", which has its number */
        c->wrong += number_in(item->extra) != (int64_t)c->zones++;
        c->wrong += item->depth == 0 && (!item->extra || !item->extra->kwinputs ||
                                       strcmp(item->extra->kwinputs, "{\"of\": 1}") != 0);
        break;
    case PROF_RAW_MEMORY:
        c->changes++;
        c->bytes += item->memory->is_free ? 0 : (int64_t)item->memory->bytes;
        c->wrong += item->depth != 0;
        break;
    case PROF_RAW_ASYNC:
        c->ranges++;
        c->wrong += strcmp(item->name, "range") != 0 || item->end_ns != item->start_ns + 1;
        break;
    case PROF_RAW_FLOW: c->arrows++; break;
    default: take(&c->all, item);
    }
}

static void read_carried(const char *data, size_t size, size_t piece) {
    carried *c = &carried_back;
    prof_raw_desc desc;
    prof_raw *raw;
    memset(&desc, 0, sizeof desc);
    c->zones = c->changes = c->ranges = c->arrows = c->wrong = 0;
    c->bytes = 0;
    desc.memory = c->memory;
    desc.memory_size = sizeof c->memory;
    desc.item = take_carried;
    desc.user = c;
    if (prof_raw_open(&desc, &raw) != PROF_OK) abort();
    for (size_t at = 0; at < size; at += piece)
        prof_raw_feed(raw, data + at, piece < size - at ? piece : size - at);
    c->all.result = prof_raw_close(raw, &c->all.stats);
}

static void carrier(int number) {
    static const char *const values[] = { "2" };
    static char block[1];
    prof_device host = { 0, 0 };
    prof_push("carrier");
    set_inputs(values, 1, "{\"of\": 1}");
    prof_memory_alloc(block, 100, host);
    prof_push("inner");
    prof_set_arg_int("n", 2 * number);
    prof_pop();
    prof_memory_free(block, host);
    prof_set_arg_int("n", 2 * number + 1);
    prof_pop();
    prof_async_end(prof_async_begin("range"));
    prof_flow(prof_flow(0));
}

static void make_carried(test_text *text, int count) {
    prof_desc desc = stream_desc(text);
    desc.profile_memory = desc.record_shapes = true;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < count; i++) {
        carrier(i);
        if (i % 3 == 0) (void)prof_flush();
    }
    (void)prof_stop();
    EQUAL(prof_get_stats(NULL).warnings, 0);
}

static void check_carried(unsigned count) {
    const carried *c = &carried_back;
    EQUAL(c->all.result, PROF_OK);
    EQUAL(c->wrong, 0);
    EQUAL(c->zones, 2 * count);
    EQUAL(c->changes, 2 * count);
    EQUAL(c->bytes, 100 * (int64_t)count);
    EQUAL(c->ranges, count);
    EQUAL(c->arrows, 2 * count);
    EQUAL(c->all.stats.lost_details, 0);
}

static void test_carried(void) {
    test_text text;
    make_carried(&text, 20);
    read_carried(text.data, text.size, text.size);
    PASS_ON(check_carried(20));
    read_carried(text.data, text.size, 7);
    PASS_ON(check_carried(20));
    test_text_clear(&text);
}

/* Zones that are read have what they carry; their memory is read to its last byte. */
static void test_carried_cut_at_every_byte(void) {
    test_text text;
    unsigned last = 0;
    make_carried(&text, 10);
    for (size_t cut = 0; cut < text.size; cut++) {
        char *own = (char *)malloc(cut + 1);
        if (cut) memcpy(own, text.data, cut);
        read_carried(own, cut, cut + 1);
        free(own);
        CHECK(!carried_back.all.stats.ended && !carried_back.wrong && carried_back.zones >= last,
              "cut at %u: %u zones, %u wrong", (unsigned)cut, carried_back.zones,
              carried_back.wrong);
        last = carried_back.zones;
    }
    EQUAL(last, 20);
    test_text_clear(&text);
}

/* A session's begin tells what it asked for, also where it is not the first of a stream. */
static void test_carried_by_two_sessions(void) {
    test_text text, both;
    memset(&both, 0, sizeof both);
    for (int i = 0; i < 2; i++) {
        make_carried(&text, 5);
        test_text_write(&both, text.data, text.size);
        test_text_clear(&text);
    }
    read_carried(both.data, both.size, both.size);
    EQUAL(carried_back.zones, 20);
    EQUAL(carried_back.changes, 20);
    test_text_clear(&both);
}

/* ---- Events of prof_submit ---- */

typedef struct submitted { unsigned calls, works, wrong; } submitted;

static void take_submitted(void *user, const prof_raw_item *item) {
    submitted *s = (submitted *)user;
    const prof_extra *x = item->extra;
    if (item->kind != PROF_RAW_EVENT) return;
    s->wrong += item->start_ns != 100 || item->end_ns != 250 || item->thread != 0;
    if (item->device_type == PROF_DEVICE_CPU) {
        s->calls++;
        s->wrong += strcmp(item->name, "launch") != 0 || x->id != 77 ||
                    strcmp(x->activity_type, "npu_runtime") != 0;
    } else {
        s->works++;
        s->wrong += strcmp(item->name, "kernel") != 0 || x->linked_correlation_id != 77 ||
                    x->device_index != 3 || x->device_resource_id != 5 ||
                    !strstr(x->metadata_json, "\"tiles\":9") || strcmp(item->device, "hip") != 0;
    }
}

static prof_result submit_both(uint32_t thread) {
    prof_event e[2];
    prof_extra x[2];
    memset(e, 0, sizeof e);
    memset(x, 0, sizeof x);
    e[0].name = "launch";
    e[1].name = "kernel";
    e[1].device_type = PROF_DEVICE_HIP;
    for (int i = 0; i < 2; i++) {
        e[i].start_ns = 100;
        e[i].end_ns = 250;
        e[i].thread = thread;
        e[i].extra = x + i;
        x[i].node_id = -1;
        x[i].sequence_nr = -1;
    }
    x[0].activity_type = "npu_runtime";
    x[0].has = PROF_HAS_ID;
    x[0].id = x[1].linked_correlation_id = 77;
    x[1].has = PROF_HAS_LINK | PROF_HAS_DEVICE_INDEX;
    x[1].device_index = 3;
    x[1].device_resource_id = 5;
    x[1].metadata_json = "\"tiles\":9";
    return prof_submit(e, 2);
}

static prof_result from_the_sink;

static bool submitting_write(void *user, const void *data, size_t size) {
    from_the_sink = submit_both(0);
    return *(bool *)user && data && size;
}

static void test_events_are_streamed(void) {
    submitted found_back = { 0, 0, 0 };
    test_text text;
    prof_desc desc = stream_desc(&text);
    prof_raw_desc reader;
    prof_raw *raw;
    bool works = true;
    memset(&reader, 0, sizeof reader);
    EQUAL(prof_start(&desc), PROF_OK);
    test_zones(1);
    EQUAL(submit_both(0), PROF_OK);
    EQUAL(submit_both(99), PROF_ERROR_INVALID);
    (void)prof_stop();
    EQUAL(submit_both(0), PROF_ERROR_STATE);
    reader.memory = read_back.memory;
    reader.memory_size = sizeof read_back.memory;
    reader.item = take_submitted;
    reader.user = &found_back;
    EQUAL(prof_raw_open(&reader, &raw), PROF_OK);
    for (size_t i = 0; i < text.size; i++) prof_raw_feed(raw, text.data + i, 1);
    EQUAL(prof_raw_close(raw, NULL), PROF_OK);
    EQUAL(found_back.calls, 1);
    EQUAL(found_back.works, 1);
    EQUAL(found_back.wrong, 0);
    test_text_clear(&text);
    desc.stream.write = submitting_write;
    desc.stream.user = &works;
    EQUAL(prof_start(&desc), PROF_OK);
    test_zones(1);
    EQUAL(submit_both(0), PROF_OK);
    EQUAL(from_the_sink, PROF_ERROR_STATE);
    works = false;
    EQUAL(submit_both(0), PROF_ERROR_SINK);
    EQUAL(prof_get_stats(NULL).not_kept, 2);
    EQUAL(prof_get_stats(NULL).stream_failures, 1);
    (void)prof_stop();
}

/* Work of a device that was not asked for is no failure of the sink; if it is wrong it counts once,
   as it does in a trace. */
static void test_events_of_no_activity(void) {
    test_text text;
    prof_desc desc = stream_desc(&text);
    desc.activities = PROF_ACTIVITY_CPU;
    EQUAL(prof_start(&desc), PROF_OK);
    test_zones(1);
    EQUAL(submit_both(0), PROF_OK);
    EQUAL(prof_get_stats(NULL).not_kept, 1);
    EQUAL(submit_both(99), PROF_ERROR_INVALID);
    (void)prof_stop();
    EQUAL(prof_get_stats(NULL).not_kept, 1);
    EQUAL(prof_get_stats(NULL).rejected, 2);
    EQUAL(prof_get_stats(NULL).stream_failures, 0);
    test_text_clear(&text);
}

/* prof_start says so. */
static void test_what_no_stream_can_carry(void) {
    test_text text;
    prof_desc desc = stream_desc(&text);
    desc.with_modules = true;
    EQUAL(prof_start(&desc), PROF_ERROR_UNSUPPORTED);
    SAME_TEXT(prof_strerror(PROF_ERROR_UNSUPPORTED),
              "this stream cannot carry modules: use PROF_MODE_TRACE");
    desc.with_modules = false;
    desc.record_shapes = true;
    desc.stream_format = PROF_STREAM_CHROME;
    EQUAL(prof_start(&desc), PROF_ERROR_UNSUPPORTED);
    SAME_TEXT(prof_strerror(PROF_ERROR_UNSUPPORTED),
              "this stream cannot carry what zones carry: use PROF_MODE_TRACE");
    EQUAL(text.size, 0);
}

/* Seals a block again after a change. */
static void seal(unsigned char *block) {
    uint64_t a = 0, b = 0;
    uint32_t words[6], sums[2];
    size_t i;
    memcpy(words, block, sizeof words);
    for (i = 4; i < 24 + words[2]; i += 4) {
        uint32_t word;
        memcpy(&word, block + i, 4);
        if (i != 16 && i != 20) a += word;
        b += a;
    }
    sums[0] = (uint32_t)(a % UINT32_MAX);
    sums[1] = (uint32_t)(b % UINT32_MAX);
    memcpy(block + 16, sums, sizeof sums);
}

static void test_newer_version_is_named(void) {
    test_text text;
    uint32_t words[3];
    size_t at, turned = 0;
    make_stream(&text, 10);
    for (at = 0; at < text.size; at += 24 + words[2]) {
        memcpy(words, text.data + at, sizeof words);
        if ((words[1] & 0xffff) != 4 || turned++) continue;
        words[1] += 9u << 16;
        memcpy(text.data + at, words, sizeof words);
        seal((unsigned char *)text.data + at);
    }
    read_all(&text);
    EQUAL(read_back.result, PROF_ERROR_UNSUPPORTED);
    EQUAL(read_back.stats.newer, 1);
    EQUAL(read_back.zone_count, 54);
    test_text_clear(&text);
}

/* Payloads of any content under a right seal: nothing is read outside of them. */
static void test_sealed_nonsense(void) {
    unsigned char block[24 + 256], *copy;
    uint32_t words[6], round, i;
    for (round = 0; round < 5000; round++) {
        uint32_t size = test_random(65) * 4;
        for (i = 24; i < 24 + size; i++)
            block[i] = (unsigned char)(test_random(3) ? test_random(256) : test_random(2) * 255);
        words[0] = 0x50524f46;
        words[1] = 2u << 16 | (1 + test_random(10));
        words[2] = size;
        words[3] = round;
        memcpy(block, words, sizeof words);
        if (size >= 8 && test_random(2)) memset(block + 24, 0, 8);
        seal(block);
        copy = (unsigned char *)malloc(24 + size);
        memcpy(copy, block, 24 + size);
        read_stream(&damaged_back, (char *)copy, 24 + size, 0);
        free(copy);
        EQUAL(damaged_back.stats.blocks, 1);
        EQUAL(damaged_back.stats.damaged, 0);
    }
}

/* Every 64 blocks of records all is told again: names are known from there on. */
/* ---- Streams made by hand ---- */

/* Adds a block of a type: 1 session, 2 sites, 3 thread, 4 records. */
static void put_block(test_text *text, uint32_t type, const uint32_t *payload, size_t words) {
    static unsigned char block[24 + 65536];
    static uint32_t number;
    uint32_t head[6] = { 0x50524f46, 0, 0, 0, 0, 0 };
    number = text->size ? number + 1 : 0;
    head[1] = 1u << 16 | type;
    head[2] = (uint32_t)words * 4;
    head[3] = number;
    memcpy(block, head, sizeof head);
    memcpy(block + sizeof head, payload, words * 4);
    seal(block);
    test_text_write(text, block, sizeof head + words * 4);
}

/* A zone of site 1 of a thread from tick 1500 to 2000; 4000 is 9000 ns, at 10^9 ticks a second. */
static void put_zone(test_text *text, uint32_t thread, uint32_t position) {
    uint32_t words[13] = { 0, 0, 0, 0, 4000, 0, 9000, 0, 1000000000, 0, 2000, 500, 1 << 8 };
    words[0] = thread;
    words[2] = position;
    put_block(text, 4, words, 13);
}

static void read_and_clear(test_text *text) {
    read_all(text);
    test_text_clear(text);
    memset(text, 0, sizeof *text);
}

/* What the session tells of its clock, and where the zone ends then. Without knots that can be
   believed the pair with the records tells. */
static void test_clocks_by_hand(void) {
    enum { CPU = PROF_CLOCK_CPU, OTHER = PROF_CLOCK_PLATFORM, HIGH = 1 << 30 };
    static const struct {
        uint32_t clock, words, count, knots[8];   /* tick low, high, ns low, high */
        int sessions, end_ns;
    } cases[] = {
        { CPU, 10, 0, { 0, 0, 0, 0, 0, 0, 0, 0 }, 1, 7000 },
        { CPU, 9, 0, { 0, 0, 0, 0, 0, 0, 0, 0 }, 0, 7000 },
        { CPU, 14, 1, { 1000, 0, 0, 0, 0, 0, 0, 0 }, 0, 7000 },
        { CPU, 17, 2, { 1000, 0, 0, 0, 3000, 0, 8192, 0 }, 0, 7000 },
        { CPU, 18, 65, { 1000, 0, 0, 0, 3000, 0, 8192, 0 }, 0, 7000 },
        { CPU, 18, 2, { 1000, 0, 0, 0, 3048, 0, 8192, 0 }, 1, 4000 },
        { CPU, 18, 2, { 1000, 0, 50, 0, 3048, 0, 50, 0 }, 1, 0 },
        { CPU, 18, 2, { 2500, 0, 50, 0, 3048, 0, 80, 0 }, 1, 0 },
        { CPU, 18, 2, { 1000, 0, 0, 0, 1000, 0, 8192, 0 }, 1, 7000 },
        { CPU, 18, 2, { 1000, 0, 9, 0, 3000, 0, 8, 0 }, 1, 7000 },
        { CPU, 18, 2, { 1000, 0, 0, 0, 3000, 0, 0, 1 << 20 }, 1, 7000 },
        { CPU, 18, 2, { 1000, 0, 0, 0, 3000, HIGH, 8192, 0 }, 1, 7000 },
        { CPU, 18, 2, { 1000, HIGH - 1, 0, HIGH - 1, 3000, HIGH - 1, 0, HIGH }, 1, 7000 },
        { OTHER, 10, 0, { 0, 0, 0, 0, 0, 0, 0, 0 }, 1, 1200 },
    };
    test_text text;
    size_t i;
    memset(&text, 0, sizeof text);
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint32_t words[18] = { 0, 5, 1000000000, 0, 800, 0, 77, 0, 3, 0 };
        words[0] = cases[i].clock;
        words[9] = cases[i].count;
        memcpy(words + 10, cases[i].knots, sizeof cases[i].knots);
        put_block(&text, 1, words, cases[i].words);
        put_zone(&text, 0, 0);
        read_and_clear(&text);
        CHECK(read_back.result == PROF_OK && read_back.zone_count == 1, "case %u", (unsigned)i);
        CHECK((int)read_back.sessions == cases[i].sessions, "case %u: %u", (unsigned)i,
              (unsigned)read_back.sessions);
        CHECK(read_back.zones[0].end_ns == cases[i].end_ns, "case %u ends at %lld", (unsigned)i,
              (long long)read_back.zones[0].end_ns);
    }
}

/* A session told again is the same one; another one knows no sites of the one before. */
static void test_sessions_by_hand(void) {
    static const struct {
        uint32_t generation, wall;
        size_t sessions;
        const char *name;
    } cases[] = {
        { 3, 77, 1, "abc" }, { 4, 77, 2, "site#1" }, { 3, 78, 2, "site#1" } };
    static const uint32_t site[] = { 1, 5, 3, 0, 0, 0x00636261 };
    test_text text;
    size_t i;
    memset(&text, 0, sizeof text);
    for (i = 0; i < 3; i++) {
        uint32_t words[10] = { 0, 5, 1000000000, 0, 0, 0, 77, 0, 3, 0 };
        uint32_t other[6] = { 1, 6, 1, 0, 0, 'x' };
        words[0] = PROF_CLOCK_PLATFORM;
        put_block(&text, 1, words, 10);
        put_block(&text, 2, site, 6);
        put_block(&text, 2, other, 6);   /* a site is told once: the first one counts */
        words[6] = cases[i].wall;
        words[8] = cases[i].generation;
        put_block(&text, 1, words, 10);
        put_zone(&text, 0, 0);
        read_all(&text);
        EQUAL(read_back.sessions, cases[i].sessions);
        EQUAL(read_back.zone_count, 1);
        SAME_TEXT(read_back.zones[0].name, cases[i].name);
        EQUAL(read_back.stats.unknown_sites, cases[i].sessions - 1);
        test_text_clear(&text);
        memset(&text, 0, sizeof text);
    }
}

static void count_threads(void *user, const prof_raw_item *item) {
    uint32_t *counts = (uint32_t *)user;  /* names, zones, those of them that lack records before */
    counts[0] += item->kind == PROF_RAW_THREAD && item->name;
    counts[1] += item->kind == PROF_RAW_ZONE;
    counts[2] += item->kind == PROF_RAW_ZONE && item->flags & PROF_EVENT_PARTIAL;
}

/* As many threads as there is memory are known, in whatever order they come: each is some 50 bytes,
   and its name. */
static void test_many_threads(void) {
    enum { MANY = 50000, MEMORY = 8 << 20 };
    uint32_t i, counts[3] = { 0, 0, 0 };
    test_text text;
    prof_raw_desc desc;
    prof_raw *raw;
    memset(&text, 0, sizeof text);
    memset(&desc, 0, sizeof desc);
    for (i = 0; i < MANY; i++) {
        uint32_t words[5] = { 0, 4, 7, 0, 0x65646362 };
        words[0] = i % 2 ? i : 4 * MANY - i;
        put_block(&text, 3, words, 5);
        put_zone(&text, words[0], 9);
    }
    desc.memory = malloc(MEMORY);
    desc.memory_size = MEMORY;
    desc.item = count_threads;
    desc.user = counts;
    EQUAL(prof_raw_open(&desc, &raw), PROF_OK);
    prof_raw_feed(raw, text.data, text.size);
    (void)prof_raw_close(raw, NULL);
    EQUAL(counts[0], MANY);
    EQUAL(counts[1], MANY);
    EQUAL(counts[2], MANY);
    free(desc.memory);
    test_text_clear(&text);
}

/* More threads and sites than the reader's memory takes: their zones come all the same. */
static void test_more_than_the_reader_holds(void) {
    enum { MANY = 3000, LONG = 32000 };
    static uint32_t sites[5 + LONG / 4 + 1];
    test_text text;
    uint32_t i;
    memset(&text, 0, sizeof text);
    for (i = 0; i < MANY; i++) {
        uint32_t words[5] = { 0, 4, 7, 0, 0x65646362 };
        words[0] = i;
        put_block(&text, 3, words, 5);
        put_block(&text, 3, words, 5);
        put_zone(&text, i, 9);
    }
    read_and_clear(&text);
    EQUAL(read_back.zone_count, MANY);
    EQUAL(read_back.threads, 2 * MANY);
    SAME_TEXT(read_back.thread_name, "bcde");
    EQUAL(read_back.zones[MANY - 1].thread, MANY - 1);
    CHECK(read_back.zones[0].flags & PROF_EVENT_PARTIAL, "records before it are missing");
    EQUAL(read_back.zones[MANY - 1].flags, 0);
    for (i = 1; i <= MANY; i++) {        /* sites that nobody told */
        uint32_t words[13] = { 0, 0, 0, 0, 4000, 0, 9000, 0, 1000000000, 0, 2000, 500, 0 };
        words[2] = i - 1;
        words[12] = i << 8;
        put_block(&text, 4, words, 13);
    }
    read_and_clear(&text);
    EQUAL(read_back.zone_count, MANY);
    EQUAL(read_back.stats.unknown_sites, MANY);
    SAME_TEXT(read_back.zones[9].name, "site#10");
    SAME_TEXT(read_back.zones[MANY - 1].name, "site#?");
    memset(sites, 'l', sizeof sites);
    sites[2] = LONG;
    sites[3] = sites[4] = 0;
    for (i = 1; i < 4; i++) {            /* one long name fits */
        sites[0] = i;
        put_block(&text, 2, sites, 5 + LONG / 4 + 1);
    }
    for (i = 1; i < 4; i++) {
        uint32_t words[13] = { 0, 0, 0, 0, 4000, 0, 9000, 0, 1000000000, 0, 2000, 500, 0 };
        words[2] = i - 1;
        words[12] = i << 8;
        put_block(&text, 4, words, 13);
    }
    read_and_clear(&text);
    EQUAL(read_back.zone_count, 3);
    EQUAL(strlen(read_back.zones[0].name), LONG);
    SAME_TEXT(read_back.zones[2].name, "site#3");
    EQUAL(read_back.stats.unknown_sites, 2);
}

/* Blocks too short for what they say, and records that are none: what is whole is read. */
static void test_short_blocks_by_hand(void) {
#define INSTANT(more) (0xffff0400u | (more))   /* by the raw stream's description */
#define STEP(more) (0xffff0600u | (more))
    static const struct { uint32_t type, words, payload[22]; } cases[] = {
        { 2, 6, { 1, 5, 5, 0, 0, 0x64636261 } },                        /* its end is missing */
        { 2, 6, { 1, 5, UINT32_MAX, UINT32_MAX, UINT32_MAX, 0 } },
        { 2, 4, { 1, 5, 0, 0 } }, { 3, 3, { 0, 0, 7 } }, { 3, 5, { 0, 5, 7, 0, 0 } },
        { 4, 9, { 0 } }, { 4, 10, { 0 } }, { 4, 12, { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1 } },
        { 4, 13, { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 1, INSTANT(1) } },  /* cut */
        { 4, 16, { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, STEP(2), 9, 0, 255 } },
        { 4, 16, { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 5, 0, STEP(1), 9, 0, 255 } },
        { 5, 3, { 0, 1, 9 } }, { 5, 7, { 0, 1, 9, 0, 1, 0, 1 << 8 } }, { 9, 2, { 1, 2 } }
    };
    static const uint32_t steps[] = { 0, 0, 0, 0, 0, 0, 0, 0, 0, 0,
        5, 0, STEP(2), 9, 0, 255, 4, 0, 255,
        9, 0, STEP(2), 5, 0, 255, 6, 0, 255 };
    test_text text;
    size_t i;
    memset(&text, 0, sizeof text);
    for (i = 0; i < sizeof cases / sizeof *cases; i++) {
        put_block(&text, cases[i].type, cases[i].payload, cases[i].words);
        put_zone(&text, 1, 0);
        read_and_clear(&text);
        CHECK(read_back.result == PROF_OK && read_back.stats.blocks == 2, "case %u", (unsigned)i);
        CHECK(read_back.zone_count == 1 && !read_back.instants && !read_back.steps &&
                  !read_back.threads, "case %u", (unsigned)i);
        SAME_TEXT(read_back.zones[0].name, "site#1");
    }
    put_block(&text, 4, steps, sizeof steps / sizeof *steps);
    read_and_clear(&text);
    EQUAL(read_back.steps, 2);
}

/* A dump of PROF_CORE as 0.2.0 wrote it is refused. */
static void test_old_core(void) {
    static const uint32_t words[19] = { 0 };
    test_text text;
    memset(&text, 0, sizeof text);
    put_block(&text, 10, words, 19);
    put_zone(&text, 1, 0);
    read_and_clear(&text);
    EQUAL(read_back.result, PROF_ERROR_UNSUPPORTED);
    EQUAL(read_back.stats.newer, 1);
    EQUAL(read_back.zone_count, 1);
}

/* A reader that wants only the sums. */
static void test_reader_without_a_function(void) {
    prof_raw_desc desc;
    prof_raw *raw;
    test_text text;
    memset(&text, 0, sizeof text);
    memset(&desc, 0, sizeof desc);
    desc.memory = damaged_back.memory;
    desc.memory_size = sizeof damaged_back.memory;
    put_zone(&text, 0, 0);
    EQUAL(prof_raw_open(&desc, NULL), PROF_ERROR_INVALID);
    EQUAL(prof_raw_open(NULL, &raw), PROF_ERROR_INVALID);
    EQUAL(prof_raw_open(&desc, &raw), PROF_OK);
    prof_raw_feed(raw, text.data, text.size);
    EQUAL(prof_raw_close(raw, NULL), PROF_OK);
    EQUAL(prof_raw_open(&desc, &raw), PROF_OK);
    EQUAL(prof_raw_close(raw, NULL), PROF_ERROR_INVALID);   /* nothing is no stream */
    test_text_clear(&text);
}

static void test_reading_from_the_middle(void) {
    test_text text;
    const prof_raw_item *zone;
    make_stream(&text, 130);
    read_stream(&read_back, text.data + text.size / 3, text.size - text.size / 3, 0);
    EQUAL(read_back.result, PROF_ERROR_INVALID);
    CHECK(read_back.zone_count > 300, "%u zones", (unsigned)read_back.zone_count);
    zone = read_back.zones;
    CHECK(strncmp(zone->name, "site#", 5) == 0, "'%s'", zone->name);
    EQUAL(zone->end_ns - zone->start_ns, 1);
    SAME_TEXT(read_back.zones[read_back.zone_count - 1].name, "outer");
    CHECK(read_back.stats.unknown_sites < 400, "%u", (unsigned)read_back.stats.unknown_sites);
    test_text_clear(&text);
}

/* ---- Sinks ---- */

/* The sink fails now and then; what it did not take comes again. */
typedef struct moody { test_text text; size_t calls; bool part; } moody;

static bool moody_write(void *user, const void *data, size_t size) {
    moody *m = (moody *)user;
    if (++m->calls % 3 == 0) {
        if (m->part) test_text_write(&m->text, data, size / 2);
        return false;
    }
    return test_text_write(&m->text, data, size);
}

/* A session to that sink: so many zones and a flush in each turn, and all is written in the end. */
static void stream_to_moody(moody *m, prof_stream_format format, unsigned turns, unsigned zones) {
    prof_desc desc = stream_desc(&m->text);
    desc.stream.write = moody_write;
    desc.stream.user = m;
    desc.stream_format = format;
    EQUAL(prof_start(&desc), PROF_OK);
    for (; turns; turns--) {
        test_zones(zones);
        prof_flush();
    }
    while (prof_flush() != PROF_OK) {}
    m->calls = 0;
    prof_stop();
}

static void failing_sink(bool part) {
    moody m;
    m.calls = 0;
    m.part = part;
    PASS_ON(stream_to_moody(&m, PROF_STREAM_RAW, 50, 1));
    read_all(&m.text);
    EQUAL(read_back.zone_count, 100);
    EQUAL(read_back.stats.missing_records + read_back.stats.unknown_sites, 0);
    EQUAL(read_back.stats.damaged != 0, part);
    CHECK(read_back.stats.counts.stream_failures > 10, "%u failures",
          (unsigned)read_back.stats.counts.stream_failures);
    test_text_clear(&m.text);
}

static void test_sink_that_fails(void) { failing_sink(false); }
static void test_sink_that_writes_short(void) { failing_sink(true); }

/* ---- A sink that blocks: threads go on, and what then has no room is counted ---- */

static bool blocked, reached;

static bool block(void *text, const void *data, size_t size) {
    PROF__STORE(reached, true);
    while (PROF__LOAD(blocked)) usleep(100);
    return test_text_write(text, data, size);
}

static void *flush_once(void *unused) {
    (void)unused;
    prof_flush();
    return NULL;
}

static void test_sink_that_blocks(void) {
    test_text text;
    prof_desc desc = stream_desc(&text);
    prof_stats stats;
    pthread_t thread;
    desc.stream.write = block;
    memset(&desc.platform, 0, sizeof desc.platform);   /* the clock set by hand is for one thread */
    desc.memory_size = 64 << 10;
    desc.memory = malloc(desc.memory_size);
    EQUAL(prof_start(&desc), PROF_OK);
    test_zones(10);
    PROF__STORE(reached, false);
    PROF__STORE(blocked, true);
    pthread_create(&thread, NULL, flush_once, NULL);
    while (!PROF__LOAD(reached)) usleep(100);
    test_zones(50000);                         /* returns, though nothing leaves */
    PROF__STORE(blocked, false);
    pthread_join(thread, NULL);
    prof_stop();
    stats = prof_get_stats(NULL);
    CHECK(stats.dropped_full > 0, "nothing dropped");
    EQUAL(stats.recorded + stats.dropped, 100020);
    read_all(&text);
    EQUAL(read_back.result, PROF_OK);
    EQUAL(read_back.zone_count, stats.recorded);
    free(desc.memory);
    test_text_clear(&text);
}

/* ---- A thread that drains, threads that mark ---- */

static bool draining;

static void *drain(void *unused) {
    (void)unused;
    while (PROF__LOAD(draining)) {
        prof_flush();
        usleep(100);
    }
    return NULL;
}

static void *mark_many(void *turns) {
    test_zones(*(unsigned *)turns);
    return NULL;
}

/* Each short thread leaves a chunk to be flushed: the next one does it, when all wait for that. */
static void test_short_threads_flush(void) {
    test_text text;
    prof_desc desc = stream_desc(&text);
    pthread_t thread;
    unsigned turns = 1;
    desc.memory_size = 128 << 10;
    desc.memory = malloc(desc.memory_size);
    desc.max_threads = 2;
    desc.when_full = PROF_FULL_CONTINUE;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < 1000; i++) {
        pthread_create(&thread, NULL, mark_many, &turns);
        pthread_join(thread, NULL);
    }
    prof_stop();
    EQUAL(prof_get_stats(NULL).dropped, 0);
    EQUAL(prof_get_stats(NULL).recorded, 2000);
    read_all(&text);
    EQUAL(read_back.zone_count, 2000);
    free(desc.memory);
    test_text_clear(&text);
}

/* Threads come and go, more than there are places for at once; their chunks are used again. */
static void test_many_threads_and_a_drain(void) {
    test_text text;
    prof_desc desc;
    pthread_t drainer, threads[3];
    unsigned turns = 300;
    size_t i, round, ids = 0;
    memset(&text, 0, sizeof text);
    memset(&desc, 0, sizeof desc);
    desc.mode = PROF_MODE_STREAM;
    desc.stream = test_text_sink(&text);
    desc.max_threads = 4;
    desc.memory_size = 128 << 10;
    desc.memory = malloc(desc.memory_size);
    EQUAL(prof_start(&desc), PROF_OK);
    PROF__STORE(draining, true);
    pthread_create(&drainer, NULL, drain, NULL);
    for (round = 0; round < 60; round++) {
        for (i = 0; i < 3; i++) pthread_create(threads + i, NULL, mark_many, &turns);
        for (i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    }
    PROF__STORE(draining, false);
    pthread_join(drainer, NULL);
    prof_stop();
    EQUAL(prof_get_stats(NULL).threads, 180);
    EQUAL(prof_get_stats(NULL).dropped, 0);
    read_all(&text);
    EQUAL(read_back.result, PROF_OK);
    EQUAL(read_back.zone_count, 180 * 2 * turns);
    EQUAL(read_back.stats.missing_records, 0);
    for (i = 1; i < read_back.zone_count; i++) {
        const prof_raw_item *outer = read_back.zones + i, *inner = outer - 1;
        if (outer->thread != inner->thread || outer->depth || !inner->depth) continue;
        CHECK(outer->start_ns <= inner->start_ns && inner->end_ns <= outer->end_ns,
              "zone %u sticks out", (unsigned)i);
        ids++;
    }
    CHECK(ids > read_back.zone_count / 3, "only %u pairs", (unsigned)ids);
    free(desc.memory);
    test_text_clear(&text);
}

/* ---- Threads that end while a window's last records leave ---- */

typedef struct leaver { pthread_t thread; bool marked, ends, joined; } leaver;

static leaver leaving;

static void *leave_late(void *unused) {
    (void)unused;
    test_zones(1);
    PROF__STORE(leaving.marked, true);
    while (!PROF__LOAD(leaving.ends)) usleep(100);
    return NULL;
}

static bool write_leaving(void *text, const void *data, size_t size) {
    if (PROF__LOAD(leaving.ends) && !leaving.joined) {
        leaving.joined = true;
        pthread_join(leaving.thread, NULL);
    }
    return test_text_write(text, data, size);
}

/* The chunk that such a thread leaves goes to one thread of the next window, not to two. */
static void test_end_between_windows(void) {
    static test_text text;
    prof_desc desc;
    pthread_t threads[3];
    unsigned turns = 300;
    memset(&text, 0, sizeof text);
    desc = stream_desc(&text);
    desc.stream.write = write_leaving;
    memset(&desc.platform, 0, sizeof desc.platform);   /* the clock set by hand is for one thread */
    desc.max_threads = 4;
    desc.schedule.active = 1;
    desc.acc_events = true;
    desc.when_full = PROF_FULL_CONTINUE;
    EQUAL(prof_start(&desc), PROF_OK);
    memset(&leaving, 0, sizeof leaving);
    pthread_create(&leaving.thread, NULL, leave_late, NULL);
    while (!PROF__LOAD(leaving.marked)) usleep(100);
    PROF__STORE(leaving.ends, true);
    prof_step();
    CHECK(leaving.joined, "nothing left");
    for (int i = 0; i < 3; i++) pthread_create(threads + i, NULL, mark_many, &turns);
    for (int i = 0; i < 3; i++) pthread_join(threads[i], NULL);
    prof_stop();
    EQUAL(prof_get_stats(NULL).dropped, 0);
    EQUAL(prof_get_stats(NULL).recorded, 2 + 3 * 2 * turns);
    read_all(&text);
    EQUAL(read_back.result, PROF_OK);
    EQUAL(read_back.zone_count, 2 + 3 * 2 * turns);
    test_text_clear(&text);
}

/* ---- The stream as a Chrome array ---- */

/* Marks zones of all sorts, with names of all sorts, and flushes now and then. */
static void make_array(test_text *text) {
    prof_desc desc = stream_desc(text);
    size_t i;
    desc.stream_format = PROF_STREAM_CHROME;
    prof_start(&desc);
    prof_set_thread_name("a \"name\"");
    for (i = 0; i < 40; i++) {
        prof_push(test_odd_names[i % TEST_ODD_NAMES]);
        test_zones((unsigned)i % 3);
        prof_counter("rows\n", (int64_t)i);
        prof_instant("now");
        prof_pop();
        if (i % 7 == 0) prof_flush();
    }
    prof_push("open");
    prof_stop();
}

static void test_chrome_array(void) {
    test_text text;
    FILE *file;
    make_array(&text);
    EQUAL(test_times(text.data, "\"ph\":\"X\""), 40 + 2 * 39 + 1);
    EQUAL(test_times(text.data, "\"ph\":\"C\""), 40);
    EQUAL(test_times(text.data, "\"ph\":\"i\""), 40);
    EQUAL(test_times(text.data, "\"finished\":false"), 1);
    EQUAL(test_times(text.data, "\"thread 0 (a \\\"name\\\")\""), 2);
    EQUAL(test_times(text.data, "\"unfinished\":1"), 1);
    EQUAL(strncmp(text.data, "[\n{", 3), 0);
    SAME_TEXT(text.data + text.size - 3, "\n]\n");
    file = fopen(TEST_OUT "/array.json", "wb");
    CHECK(file != NULL, "cannot write " TEST_OUT "/array.json");
    fwrite(text.data, 1, text.size, file);
    fclose(file);
    test_text_clear(&text);
}

/* Each piece that the sink gets ends after an event: cut there, a `]` makes it whole. */
static size_t ends[1000], end_count;

static bool ends_write(void *user, const void *data, size_t size) {
    test_text *text = (test_text *)user;
    if (!test_text_write(text, data, size)) return false;
    if (end_count < 1000) ends[end_count++] = text->size;
    return true;
}

static void test_pieces_end_after_an_event(void) {
    test_text text;
    prof_desc desc = stream_desc(&text);
    size_t i;
    desc.stream.write = ends_write;
    desc.stream_format = PROF_STREAM_CHROME;
    EQUAL(prof_start(&desc), PROF_OK);
    for (i = 0; i < 20; i++) {
        test_zones(50);
        prof_flush();
    }
    test_zones(500);
    prof_stop();
    CHECK(end_count > 30, "%u pieces", (unsigned)end_count);
    for (i = 0; i + 1 < end_count; i++)
        CHECK(text.data[ends[i] - 1] == '}', "piece %u ends with %c", (unsigned)i,
              text.data[ends[i] - 1]);
    EQUAL(test_times(text.data, "\"ph\":\"X\""), 3000);
    test_text_clear(&text);
}

/* A stream's times reach ahead of its clock; the next session's are its own. */
static void test_arrays_have_their_own_times(void) {
    for (int i = 0; i < 2; i++) {
        test_text text;
        prof_desc desc;
        int64_t now;
        const char *zone;
        memset(&text, 0, sizeof text);
        memset(&desc, 0, sizeof desc);
        desc.mode = PROF_MODE_STREAM;
        desc.stream = test_text_sink(&text);
        desc.stream_format = PROF_STREAM_CHROME;
        EQUAL(prof_start(&desc), PROF_OK);
        prof_push("zone");
        prof_pop();
        now = prof_now();
        prof_stop();
        zone = strstr(text.data, "\"name\":\"zone\"");
        CHECK(zone && strtod(strstr(zone, "\"ts\":") + 5, NULL) * 1000 <= (double)now + 1e6,
              "session %d: %.80s", i, zone ? zone : "no zone");
        test_text_clear(&text);
        for (int64_t end = prof_os_now() + 50000000; prof_os_now() < end;) {}
    }
}

static void test_array_of_nothing_is_json(void) {
    test_text text;
    prof_desc desc = stream_desc(&text);
    desc.stream_format = PROF_STREAM_CHROME;
    EQUAL(prof_start(&desc), PROF_OK);
    prof_stop();
    SAME_TEXT(text.data + text.size - 3, "\n]\n");
    EQUAL(test_times(text.data, "\"ph\":\"M\""), 3);
    test_text_clear(&text);
}

/* A sink that fails in between: every event is there once. */
static void test_array_to_a_moody_sink(void) {
    moody m;
    m.calls = 2;                         /* the first piece, with the head, is one that fails */
    m.part = false;
    PASS_ON(stream_to_moody(&m, PROF_STREAM_CHROME, 30, 100));
    EQUAL(test_times(m.text.data, "\"ph\":\"X\""), 6000);
    EQUAL(test_times(m.text.data, "\"thread_name\""), 2);
    test_text_clear(&m.text);
}

/* A session of 256 KiB that streams to text, where that is the mode. */
static prof_desc small_desc(prof_mode mode, test_text *text) {
    static char small[256 << 10];
    prof_desc desc;
    memset(&desc, 0, sizeof desc);
    memset(text, 0, sizeof *text);
    desc.mode = mode;
    desc.stream = test_text_sink(text);
    desc.memory = small;
    desc.memory_size = sizeof small;
    return desc;
}

/* What a window that is over had is used again: its last chunk, when its thread has taken another,
   and the rows of its threads, with their open zones. */
static void many_windows(prof_mode mode, bool toggles) {
    const int windows = turns_of(5000);
    test_text text;
    prof_desc desc = small_desc(mode, &text);
    prof_stats stats;
    desc.max_threads = 2;
    desc.acc_events = true;
    desc.schedule.wait = desc.schedule.active = 1;
    EQUAL(prof_start(&desc), PROF_OK);
    for (int i = 0; i < windows; i++) {
        prof_step();
        prof_push("open at its end");
        PROF_BLOCK("zone") {}
        if (toggles && i % 4 == 3) EQUAL(prof_toggle(PROF_ACTIVITY_CPU, false), PROF_OK);
        if (toggles && i % 4 == 3) EQUAL(prof_toggle(PROF_ACTIVITY_CPU, true), PROF_OK);
        PROF_BLOCK("zone") {}
        prof_step();
        prof_pop();
    }
    prof_stop();
    stats = prof_get_stats(NULL);
    if (mode != PROF_MODE_RING) EQUAL(stats.dropped, 0);   /* else steps */
    EQUAL(stats.recorded + stats.overwritten, 3 * windows);
    prof_thread_end();
    test_text_clear(&text);
}

static void test_many_windows(void) {
    many_windows(PROF_MODE_STREAM, false);
    many_windows(PROF_MODE_STREAM, true);
    many_windows(PROF_MODE_AGGREGATE, false);
    many_windows(PROF_MODE_RING, false);
}

/* A thread has one row after each toggle, however many there are: its index and its name stay, and
   the rows of before, also those of zones that were open, are used again once they are written. */
static void many_toggles(prof_mode mode, prof_stream_format format) {
    const int toggles = turns_of(3000);
    test_text text;
    prof_desc desc = small_desc(mode, &text);
    prof_stats stats;
    desc.stream_format = format;
    EQUAL(prof_start(&desc), PROF_OK);
    prof_set_thread_name("worker");
    for (int i = 0; i < toggles; i++) {
        prof_push("open at its end");
        PROF_BLOCK("zone") {}
        EQUAL(prof_toggle(PROF_ACTIVITY_CPU, false), PROF_OK);
        if (mode == PROF_MODE_STREAM && i % 16 == 0) EQUAL(prof_flush(), PROF_OK);
        EQUAL(prof_toggle(PROF_ACTIVITY_CPU, true), PROF_OK);
        prof_pop();
    }
    prof_stop();
    stats = prof_get_stats(NULL);
    EQUAL(stats.dropped, 0);
    EQUAL(stats.recorded, 2 * toggles);
    EQUAL(stats.unfinished, toggles);
    EQUAL(stats.threads, 1);
    if (format == PROF_STREAM_CHROME) {
        EQUAL(test_times(text.data, "\"name\":\"open at its end\""), toggles);
        EQUAL(test_times(text.data, "\"thread_name\""), test_times(text.data, "(worker)"));
        EQUAL(test_times(text.data, "\"sort_index\":0}"),
              test_times(text.data, "\"thread_name\""));
    }
    prof_thread_end();
    test_text_clear(&text);
}

static void test_many_toggles(void) {
    PASS_ON(many_toggles(PROF_MODE_STREAM, PROF_STREAM_RAW));
    PASS_ON(many_toggles(PROF_MODE_STREAM, PROF_STREAM_CHROME));
    PASS_ON(many_toggles(PROF_MODE_AGGREGATE, PROF_STREAM_RAW));
}

static void *newcomer(void *none) {
    prof_set_thread_name("newcomer");
    PROF_BLOCK("newcomer") {}
    prof_thread_end();
    return none;
}

/* A row waits for its thread: one that comes after a toggle does not take it from a thread that has
   not recorded again yet. The rows of contexts, which a toggle ends, are used again. */
static void row_waits(prof_mode mode, bool again) {
    const int toggles = turns_of(2000);
    test_text text;
    prof_desc desc = small_desc(mode, &text);
    const prof_thread_info *threads;
    pthread_t thread;
    prof_trace *trace;
    prof_stats stats;
    size_t count;
    EQUAL(prof_start(&desc), PROF_OK);
    prof_set_thread_name("waits");
    PROF_BLOCK("zone") {}
    for (int i = 0; i < toggles; i++) {
        EQUAL(prof_toggle(PROF_ACTIVITY_CPU, false), PROF_OK);
        if (mode == PROF_MODE_STREAM && i % 16 == 0) EQUAL(prof_flush(), PROF_OK);
        EQUAL(prof_toggle(PROF_ACTIVITY_CPU, true), PROF_OK);
        if (i) {
            prof_context_switch(NULL);
        } else {
            pthread_create(&thread, NULL, newcomer, NULL);
            pthread_join(thread, NULL);
        }
        PROF_BLOCK("context") {}
    }
    prof_thread_end();                   /* the last context */
    if (again) PROF_BLOCK("zone") {}
    trace = prof_stop();
    stats = prof_get_stats(trace);
    EQUAL(stats.dropped, 0);
    EQUAL(stats.threads, toggles + 1);   /* this one, the newcomer, the contexts */
    threads = prof_threads(trace, &count);
    CHECK(mode == PROF_MODE_STREAM || count == 2, "%zu threads", count);
    SAME_TEXT(threads[0].name, "waits");
    prof_thread_end();
    test_text_clear(&text);
}

static void test_row_waits(void) {
    PASS_ON(row_waits(PROF_MODE_AGGREGATE, false));
    PASS_ON(row_waits(PROF_MODE_AGGREGATE, true));
    PASS_ON(row_waits(PROF_MODE_STREAM, false));
    PASS_ON(row_waits(PROF_MODE_STREAM, true));
}

/* By the caller's clock a thread's tid in Chrome's array is its own: the next one has its index,
   and would give its zones another name. */
static void test_tids_of_ended_threads(void) {
    prof_desc desc = test_desc();
    test_text text;
    pthread_t thread;
    memset(&text, 0, sizeof text);
    desc.mode = PROF_MODE_STREAM;
    desc.stream = test_text_sink(&text);
    desc.stream_format = PROF_STREAM_CHROME;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("zone") {}
    for (int i = 0; i < 3; i++) {
        pthread_create(&thread, NULL, newcomer, NULL);
        pthread_join(thread, NULL);
        EQUAL(prof_flush(), PROF_OK);
    }
    prof_stop();
    EQUAL(test_times(text.data, "\"name\":\"newcomer\",\"pid\":1,\"tid\":1,"), 1);
    EQUAL(test_times(text.data, "\"name\":\"newcomer\",\"pid\":1,\"tid\":2,"), 1);
    EQUAL(test_times(text.data, "\"name\":\"newcomer\",\"pid\":1,\"tid\":3,"), 1);
    prof_thread_end();
    test_text_clear(&text);
}

static void *mark_till_told(void *user) {
    while (!__atomic_load_n((int *)user, __ATOMIC_RELAXED)) {
        PROF_SCOPE("loop");
        PROF_BLOCK("a") { PROF_SCOPE("b"); }
    }
    return NULL;
}

static void mark_in_a_storm(int number) {
    for (int i = 0; i < 20; i++) {
        PROF_SCOPE("handler");
        prof_counter("signals", number);
        PROF_BLOCK("in it") { prof_instant("moment"); }
    }
}

static void count_zone(void *user, const prof_raw_item *item) {
    *(uint64_t *)user += item->kind == PROF_RAW_ZONE;
}

/* Signal handlers displace records: what is told to be recorded is what the stream has. */
static void test_counts_in_a_signal_storm(void) {
    static char small[64 << 10];
    prof_raw_desc raw_desc;
    prof_raw *raw;
    prof_desc desc;
    pthread_t thread;
    test_text text;
    uint64_t zones = 0;
    int told = 0;
    memset(&desc, 0, sizeof desc);
    memset(&text, 0, sizeof text);
    memset(&raw_desc, 0, sizeof raw_desc);
    desc.mode = PROF_MODE_STREAM;
    desc.stream = test_text_sink(&text);
    desc.max_threads = 2;
    desc.memory = small;
    desc.memory_size = sizeof small;
    desc.when_full = PROF_FULL_DROP;     /* this sink allocates: not in a handler */
    signal(SIGUSR1, mark_in_a_storm);
    EQUAL(prof_start(&desc), PROF_OK);
    pthread_create(&thread, NULL, mark_till_told, &told);
    for (int i = turns_of(20000); i > 0; i--) {
        pthread_kill(thread, SIGUSR1);
        if (i % 10 == 0) EQUAL(prof_flush(), PROF_OK);
    }
    __atomic_store_n(&told, 1, __ATOMIC_RELAXED);
    pthread_join(thread, NULL);
    prof_stop();
    raw_desc.memory = read_back.memory;
    raw_desc.memory_size = sizeof read_back.memory;
    raw_desc.item = count_zone;
    raw_desc.user = &zones;
    EQUAL(prof_raw_open(&raw_desc, &raw), PROF_OK);
    prof_raw_feed(raw, text.data, text.size);
    EQUAL(prof_raw_close(raw, NULL), PROF_OK);
    EQUAL(zones, prof_get_stats(NULL).recorded);
    test_text_clear(&text);
}

/* ---- prof_counter_f: the same numbers in every mode and form ---- */

static const double numbers[] = { 0.1, -2.5, 1e22, 1.0 / 3, 3, 5e-324 };
static const char *const as_json[] = { "0.1", "-2.5", "1e+22", "0.3333333333333333", "3",
                                       "4.94065645841247e-324" };

static void count_numbers(void) {
    for (int i = 0; i < 6; i++) prof_counter_f("load", numbers[i]);
    prof_counter_f("none", (double)NAN);
    prof_counter_f("none", HUGE_VAL);
}

static void have_numbers(const char *json) {
    char want[80];
    for (int i = 0; i < 6; i++) {
        snprintf(want, sizeof want, "\"args\":{\"value\":%s}", as_json[i]);
        CHECK(strstr(json, want) != NULL, "%s is not in %s", want, json);
    }
    CHECK(strstr(json, "\"value\":null}") != NULL, "no null in %s", json);
}

static void have_raw_numbers(test_text *text) {
    read_all(text);
    EQUAL(read_back.result, PROF_OK);
    EQUAL(read_back.number_count, 8);
    EQUAL(memcmp(read_back.numbers, numbers, sizeof numbers), 0);
    test_text_clear(text);
}

static void test_counter_f(void) {
    static const prof_mode modes[] = { PROF_MODE_TRACE, PROF_MODE_RING };
    test_text text;
    prof_desc desc;
    prof_trace *trace;
    memset(&text, 0, sizeof text);
    for (int i = 0; i < 2; i++) {
        desc = test_desc();
        desc.mode = modes[i];
        EQUAL(prof_start(&desc), PROF_OK);
        count_numbers();
        EQUAL(prof_dump(test_text_sink(&text)), PROF_OK);
        trace = prof_stop();
        PASS_ON(have_raw_numbers(&text));
        EQUAL(prof_write_chrome(trace, NULL, test_text_sink(&text)), PROF_OK);
        PASS_ON(have_numbers(text.data));
        test_text_clear(&text);
    }
    for (int i = 0; i < 2; i++) {
        desc = stream_desc(&text);
        desc.stream_format = i ? PROF_STREAM_CHROME : PROF_STREAM_RAW;
        EQUAL(prof_start(&desc), PROF_OK);
        count_numbers();
        (void)prof_stop();
        if (i) PASS_ON(have_numbers(text.data));
        else PASS_ON(have_raw_numbers(&text));
    }
    test_text_clear(&text);
    desc = test_desc();
    desc.mode = PROF_MODE_AGGREGATE;
    EQUAL(prof_start(&desc), PROF_OK);
    count_numbers();
    (void)prof_stop();
    EQUAL(prof_get_stats(NULL).not_kept, 8);
    prof_counter_f("no session", 1);
    prof_counter_f(NULL, 1);
}

static void test_what_start_refuses(void) {
    prof_desc desc = test_desc();
    desc.mode = PROF_MODE_STREAM;
    EQUAL(prof_start(&desc), PROF_ERROR_INVALID);
    desc.mode = PROF_MODE_AGGREGATE;
    desc.memory = read_back.memory;
    desc.memory_size = 4096;
    EQUAL(prof_start(&desc), PROF_ERROR_MEMORY);
    EQUAL(prof_flush(), PROF_ERROR_STATE);
}

/* Metadata are in a stream as soon as they are told, without a flush, and again at its end: those
   of all sessions, then the session's own. */
static void test_metadata_leave(void) {
    prof_distributed job;
    test_text text;
    prof_desc desc = stream_desc(&text);
    size_t told;
    memset(&job, 0, sizeof job);
    job.backend = "mpi";
    job.rank = 3;
    EQUAL(prof_add_metadata("all", "a"), PROF_OK);
    EQUAL(prof_add_metadata("run", "0"), PROF_OK);
    EQUAL(prof_start(&desc), PROF_OK);
    EQUAL(prof_add_metadata("run", "7"), PROF_OK);
    read_all(&text);
    SAME_TEXT(read_back.members, "\"all\":\"a\";\"run\":\"0\";\"run\":\"7\";");
    told = text.size;
    EQUAL(prof_set_distributed(&job), PROF_OK);
    CHECK(text.size > told, "the rank was not written");
    test_zones(3);
    EQUAL(prof_flush(), PROF_OK);
    told = text.size;
    prof_stop();
    read_stream(&read_back, text.data + told, text.size - told, 0);
    SAME_TEXT(read_back.members,
              "\"all\":\"a\";\"run\":\"0\";\"run\":\"7\";\"distributedInfo\":{\"backend\": "
              "\"mpi\", \"rank\": 3, \"world_size\": 0, \"pg_count\": 0};");
    read_all(&text);
    PASS_ON(check_marked(&read_back, 3));
    test_text_clear(&text);
    desc = stream_desc(&text);           /* an entry is never cut into two blocks */
    EQUAL(prof_start(&desc), PROF_OK);
    prof_stop();
    read_all(&text);
    SAME_TEXT(read_back.members, "\"all\":\"a\";\"run\":\"0\";");
    test_text_clear(&text);
    desc = stream_desc(&text);
    desc.stream_format = PROF_STREAM_CHROME;
    EQUAL(prof_start(&desc), PROF_OK);
    EQUAL(prof_add_metadata("run", "8"), PROF_ERROR_UNSUPPORTED);
    CHECK(strstr(prof_strerror(PROF_ERROR_UNSUPPORTED), "metadata"), "it does not say why");
    prof_stop();
    test_text_clear(&text);
}

/* So they are in a dump. What the sink did not take comes with what it takes next. */
static bool refuse_metadata;
static bool take_all_but(void *user, const void *data, size_t size) {
    prof_sink sink = test_text_sink((test_text *)user);
    return !refuse_metadata && sink.write(sink.user, data, size);
}

static void test_metadata_of_dumps_and_failures(void) {
    test_text text;
    prof_desc desc = stream_desc(&text);
    desc.mode = PROF_MODE_RING;
    EQUAL(prof_start(&desc), PROF_OK);
    EQUAL(prof_add_metadata("ring", "r"), PROF_OK);
    test_zones(1);
    EQUAL(prof_dump(test_text_sink(&text)), PROF_OK);
    prof_stop();
    read_all(&text);
    CHECK(strstr(read_back.members, "\"ring\":\"r\";"), "%s", read_back.members);
    test_text_clear(&text);
    desc = stream_desc(&text);
    desc.stream.write = take_all_but;
    EQUAL(prof_start(&desc), PROF_OK);
    refuse_metadata = true;
    EQUAL(prof_add_metadata("late", "l"), PROF_OK);
    refuse_metadata = false;
    test_zones(1);
    EQUAL(prof_flush(), PROF_OK);
    read_all(&text);
    CHECK(strstr(read_back.members, "\"late\":\"l\";"), "%s", read_back.members);
    prof_stop();
    test_text_clear(&text);
}

int main(void) {
    RUN(test_flush_writes_what_was_marked);
    RUN(test_inline_flushes_lose_nothing);
    RUN(test_waits_are_timed);
    RUN(test_table_of_a_stream);
    RUN(test_full_chunks_drop_and_count);
    RUN(test_everything_a_stream_can_hold);
    RUN(test_pushes_of_any_size);
    RUN(test_cut_at_every_byte);
    RUN(test_carried);
    RUN(test_carried_cut_at_every_byte);
    RUN(test_carried_by_two_sessions);
    RUN(test_events_are_streamed);
    RUN(test_events_of_no_activity);
    RUN(test_what_no_stream_can_carry);
    RUN(test_flipped_bits);
    RUN(test_noise_and_what_follows_it);
    RUN(test_other_byte_order);
    RUN(test_newer_version_is_named);
    RUN(test_sealed_nonsense);
    RUN(test_clocks_by_hand);
    RUN(test_sessions_by_hand);
    RUN(test_more_than_the_reader_holds);
    RUN(test_many_threads);
    RUN(test_short_blocks_by_hand);
    RUN(test_old_core);
    RUN(test_reader_without_a_function);
    RUN(test_reading_from_the_middle);
    RUN(test_sink_that_fails);
    RUN(test_sink_that_writes_short);
    RUN(test_sink_that_blocks);
    RUN(test_many_threads_and_a_drain);
    RUN(test_short_threads_flush);
    RUN(test_end_between_windows);
    RUN(test_chrome_array);
    RUN(test_pieces_end_after_an_event);
    RUN(test_arrays_have_their_own_times);
    RUN(test_array_of_nothing_is_json);
    RUN(test_array_to_a_moody_sink);
    RUN(test_many_windows);
    RUN(test_many_toggles);
    RUN(test_row_waits);
    RUN(test_tids_of_ended_threads);
    RUN(test_counts_in_a_signal_storm);
    RUN(test_counter_f);
    RUN(test_metadata_leave);
    RUN(test_metadata_of_dumps_and_failures);
    RUN(test_what_start_refuses);
    return test_end();
}
