/* libFuzzer: raw streams. Blocks of the input get their checksum, so that what is in them is read;
   then the bytes are pushed in pieces, whole and damaged. See make fuzz. */
#include "fuzz.h"
#include "mend.h"

enum { MOST = 1 << 16 };

static size_t items;

static void take(void *user, const prof_raw_item *item) {
    (void)user;
    if (!item->name) {
        if (item->kind == PROF_RAW_ZONE || item->kind == PROF_RAW_INSTANT ||
            item->kind == PROF_RAW_COUNTER) fuzz_crash("an item without a name");
        return;
    }
    if (strlen(item->name) > 1 << 20) fuzz_crash("a name without an end");
    if (item->kind == PROF_RAW_ZONE && item->end_ns < item->start_ns)
        fuzz_crash("a zone ends before it starts");
    items++;
}

static void read_stream(const char *data, size_t size, size_t piece) {
    static char memory[1 << 18];
    prof_raw_desc desc;
    prof_raw_stats stats;
    prof_raw *raw = NULL;
    memset(&desc, 0, sizeof desc);
    desc.memory = memory;
    desc.memory_size = sizeof memory;
    desc.item = take;
    if (prof_raw_open(&desc, &raw) != PROF_OK) fuzz_crash("no reader");
    for (size_t at = 0; at < size; at += piece)
        prof_raw_feed(raw, data + at, piece < size - at ? piece : size - at);
    (void)prof_raw_close(raw, &stats);
    if (stats.bytes != size) fuzz_crash("bytes were not counted");
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static uint32_t words[MOST / 4];
    size_t whole, cut;
    if (size > MOST) return 0;
    memcpy(words, data, size);
    read_stream((const char *)words, size, size % 7 + 1);
    mend_all(words, size / 4);
    items = 0;
    read_stream((const char *)words, size, size + 1);
    whole = items;
    items = 0;
    read_stream((const char *)words, size, size % 61 + 1);
    cut = items;
    if (whole != cut) fuzz_crash("other items when the stream comes in pieces");
    return 0;
}
