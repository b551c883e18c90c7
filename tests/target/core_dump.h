/* What a dump of core.h holds, read block by block on the target itself: core.c and core_race.c ask
   for it. The checksums are the business of `prof decode`. */
typedef struct found_zone {
    uint32_t site, row, depth;
    uint64_t start, end;
    bool unfinished;
} found_zone;

enum { RECORDED, FULL, DEEP, UNBALANCED = 5, HEALED, UNFINISHED = 8, CLOCK_STEPS, COUNTS };
enum { ZONES = 200, SITES = 40 };

static struct found {
    uint32_t calls, fails_at;            /* write() is to fail at this call; 0: never */
    uint32_t zone_count, odd;            /* odd: what is no block of a dump */
    found_zone zones[ZONES];
    char names[SITES][16];
    uint64_t start, rate, counts[COUNTS];
} found;

static uint64_t two(const uint32_t *w) { return (uint64_t)w[1] << 32 | w[0]; }

static void found_a_zone(uint32_t row, uint32_t word, uint64_t start, uint64_t end, bool open) {
    found_zone *z = found.zones + found.zone_count % ZONES;
    found.zone_count++;
    z->site = word >> 8;
    z->row = row;
    z->depth = word & 255;
    z->start = start;
    z->end = end;
    z->unfinished = open;
}

static void found_name(const uint32_t *w) {
    const char *text = (const char *)(w + 5);
    char *to = found.names[w[0] % SITES];
    uint32_t n = w[2] < 15 ? w[2] : 15;
    for (uint32_t i = 0; i < n; i++) to[i] = text[i];
    to[n] = 0;
}

/* Of records, which are all long ones: a zone takes two slots. */
static void found_records(const uint32_t *w, const uint32_t *end) {
    const uint32_t row = w[0];
    found.odd += two(w + 8) != found.rate;
    for (w += 10; w < end; w += 6) {
        found.odd += w[2] != 0xffff0201u && w[2] != 0xffff0301u;
        found_a_zone(row, w[5], two(w + 3) - two(w), two(w + 3), w[2] == 0xffff0301u);
    }
}

static bool found_block(void *user, const void *data, size_t size) {
    const uint32_t *w = (const uint32_t *)data, *end = w + size / 4;
    (void)user;
    if (++found.calls == found.fails_at) return false;
    found.odd += w[0] != 0x50524f46 || w[2] != size - 24 || w[3] != found.calls - 1;
    switch (w[1] & 0xffff) {
    case 1:
        found.rate = two(w + 8);
        found.start = two(w + 10);
        break;
    case 2: found_name(w + 6); break;
    case 4: found_records(w + 6, end); break;
    case 5:
        for (uint32_t i = 0; i < w[7]; i++)
            found_a_zone(w[6], w[12 + 4 * i], two(w + 10 + 4 * i), two(w + 8), true);
        break;
    case 6:
        for (uint32_t i = 0; i < COUNTS; i++) found.counts[i] = two(w + 8 + 2 * i);
        break;
    default: found.odd++;
    }
    return true;
}

/* Dumps, and reads that. */
static prof_result find(uint32_t fails_at) {
    const prof_sink sink = { found_block, NULL };
    found.calls = found.zone_count = found.odd = 0;
    found.fails_at = fails_at;
    return prof_dump(sink);
}
