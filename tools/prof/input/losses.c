/* What a trace's head tells of its losses: see losses.h. */
#include "input/losses.h"

#include "input/head_sums.h"
#include "library.h"

#include <stdlib.h>
#include <string.h>

/* prof_cuda.h's own counts, as its footer has them. */
static const struct { const char *key, *text; } cuda_counts[] = {
    {"lost_dropped", "GPU records that CUPTI dropped (a larger pool_size helps)"},
    {"lost_full", "GPU records without room (give prof_cuda_desc.memory more)"},
    {"lost_overwritten", "GPU records that CUPTI wrote over, about (a larger pool_size helps)"},
    {"corrupt", "Corrupt buffers of GPU records, the rest of each left out"},
    {"unknown", "GPU records of kinds that prof_cuda.h does not know, left out"},
    {"no_time", "GPU records without a time, left out"},
    {"wrong_clock", "GPU records of another clock, as another profiler in the process sets it, "
                    "left out"},
    {"clock_back", "Times CUPTI's clock went back, as the system's does when it is set: GPU "
                   "records are misplaced or left out"},
    {"foreign", "Buffers of GPU records of another profiler in the process, left out (end it, "
                "as torch.profiler)"},
    {"graph_doubts", "Kernels that this CUPTI may give to a wrong graph launch, as CUDA 13.1 "
                     "Update 1 does not"},
    {"unfinished", "Kernels and copies still running at the end, ended there"},
    {"no_launch", "Kernels and copies whose launch is not in the trace"},
    {"names_lost", "Names of GPU records that did not fit (give prof_cuda_desc.memory more)"},
    {"ranges_lost", "GPU ranges that did not fit"},
    {"buffers_missing", "Buffers of GPU records that CUPTI did not give back"},
};
enum { CUDA_COUNTS = sizeof cuda_counts / sizeof *cuda_counts };

/* What the library's list has not: the sum that a target's stream has alone, what a raw stream that
   was read did not bring, what traces up to 0.2.0 have. */
static const struct { const char *key, *text; } other_counts[] = {
    {"dropped", "Dropped"},
    {"stream_blocks_missing", "Blocks of the raw stream that were lost"},
    {"stream_records_missing", "Records of the raw stream that were lost"},
    {"stream_bytes_damaged", "Bytes of the raw stream in damaged places, left out"},
    {"stalls", "Times a thread waited within its zones for the stream, which are too long"},
    {"untimed", "Calls that were counted and not timed, their time is the caller's"},
    {"stream_mixed", "Sessions of another process in the same file: two programs wrote it"}
};
enum { OTHER_COUNTS = sizeof other_counts / sizeof *other_counts };

/* What they are counted in now. */
static const struct { const char *old, *now; } older_counts[] = {
    {"async_open", "unfinished"}, {"async_twice", "unbalanced"}, {"cut", "unbalanced"},
    {"details_cut", "not_kept"}, {"dropped_deep", "deep"}, {"dropped_sites", "others"},
    {"early", "misplaced"}, {"memory_missed", "memory_unmatched"}, {"memory_refused", "rejected"},
    {"memory_twice", "memory_unmatched"}, {"memory_unknown", "memory_unmatched"},
    {"names_cut", "not_kept"}, {"no_forward", "misplaced"}, {"others_busy", "others"},
    {"others_full", "others"}, {"others_names", "others"}, {"others_sites", "others"},
    {"overlaps", "misplaced"}, {"pending", "unfinished"}, {"unlinked", "misplaced"}
};
enum { OLDER_COUNTS = sizeof older_counts / sizeof *older_counts };

/* How many there are of the library's. */
static size_t known_counts(void) {
    stats_note note;
    size_t known = 0;
    while (stats_note_at(NULL, known, &note)) known++;
    return known;
}

/* Number i of the whole list: the library's, the others, prof_cuda.h's. */
static bool count_at(size_t i, stats_note *note) {
    size_t known = known_counts();
    if (stats_note_at(NULL, i, note)) return true;
    i -= known;
    if (known + OTHER_COUNTS + CUDA_COUNTS > LOSS_COUNTS || i >= OTHER_COUNTS + CUDA_COUNTS)
        return false;
    bool cuda = i >= OTHER_COUNTS;
    note->key = cuda ? cuda_counts[i - OTHER_COUNTS].key : other_counts[i].key;
    note->text = cuda ? cuda_counts[i - OTHER_COUNTS].text : other_counts[i].text;
    return true;
}

static uint64_t sum(uint64_t a, uint64_t b) {
    return a > UINT64_MAX - b ? UINT64_MAX : a + b;
}

static uint64_t count_of(const losses *l, const char *key) {
    stats_note note;
    for (size_t i = 0; i < LOSS_COUNTS && count_at(i, &note); i++)
        if (strcmp(note.key, key) == 0) return l->counts[i];
    return 0;
}

/* ---- Collecting ---- */

/* Of which part of the list is this note? */
static bool is_cuda(const stats_note *note) {
    for (size_t i = 0; i < CUDA_COUNTS; i++)
        if (note->text == cuda_counts[i].text) return true;
    return false;
}

static void read_count(losses *l, trace_text key, trace_text value, bool cuda) {
    stats_note note;
    for (size_t i = 0; !cuda && i < OLDER_COUNTS; i++)
        if (text_is(key, older_counts[i].old)) key = text_of(older_counts[i].now);
    for (size_t i = 0; count_at(i, &note); i++) {
        int64_t n = 0;
        if (is_cuda(&note) != cuda || !text_is(key, note.key)) continue;
        bool good = !json_is_text(value) && json_int(value, &n) && n >= 0;
        if (good) l->counts[i] = sum(l->counts[i], (uint64_t)n);
        else l->odd++;
        return;
    }
}

static void add_device(losses *l, const char *whose, const char *name, const char *text) {
    size_t i = 0;
    l->more_devices += *text && l->device_count == LOSS_DEVICES;
    if (!*text || l->device_count == LOSS_DEVICES) return;
    snprintf(l->devices[l->device_count].name, sizeof l->devices->name, "%s%s", whose, name);
    snprintf(l->devices[l->device_count].text, sizeof l->devices->text, "%s", text);
    while (strcmp(l->devices[i].name, l->devices[l->device_count].name) != 0) i++;
    l->device_count += i == l->device_count;     /* of the same name: the first one */
}

void losses_note(losses *l, const char *name, const char *text) { add_device(l, "", name, text); }

void losses_unread(losses *l, const char *what, uint64_t count, uint64_t ns) {
    static const char name[] = "Device time that is not read";
    char text[208], length[40] = "";
    size_t i = 0;
    if (!count) return;
    while (i < l->device_count && strcmp(l->devices[i].name, name) != 0) i++;
    if (ns) snprintf(length, sizeof length, " (%.3f ms)", (double)ns * 1e-6);
    snprintf(text, sizeof text, "%llu %s%s", (unsigned long long)count, what, length);
    if (i == l->device_count) {
        losses_note(l, name, text);
        return;
    }
    char *to = l->devices[i].text;
    size_t used = strlen(to), room = sizeof l->devices->text - used;
    if (snprintf(to + used, room, ", %s", text) >= (int)room) strcpy(to + used + room - 4, "...");
}

static void read_devices(losses *l, trace_text list) {
    trace_text key, value;
    if (!list.size || *list.data != '{') return;
    while (json_next(&list, &key, &value)) {
        char name[48], text[208];
        if (!json_is_text(value)) continue;
        snprintf(name, sizeof name, "%.*s", (int)(key.size < 47 ? key.size : 47), key.data);
        json_decode(value, text, sizeof text);
        add_device(l, "", name, text);
    }
}

/* Zones in sums and when the timeline ended; false: it is neither. */
static bool read_timeline(losses *l, trace_text key, trace_text value) {
    static const char *const keys[] = {KEY_SUMMED, KEY_TIMELINE_END, KEY_SESSION};
    int64_t n = 0;
    for (int i = 0; i < 3; i++) {
        if (!text_is(key, keys[i])) continue;
        if (json_is_text(value) || !json_int(value, &n) || n < 0) l->odd++;
        else if (i == 0) l->summed = sum(l->summed, (uint64_t)n);
        else *(i == 1 ? &l->timeline_ns : &l->session_ns) = n;
        return true;
    }
    return false;
}

static void add_counter(losses *l, const char *name) {
    size_t i = 0;
    while (i < l->counter_count && strcmp(l->counters[i], name) != 0) i++;
    l->more_counters += i == PROF_COUNTERS;
    if (i == PROF_COUNTERS || !*name) return;
    snprintf(l->counters[i], sizeof l->counters[i], "%s", name);
    l->counter_count += i == l->counter_count;
}

void losses_add_type(losses *l, int64_t type, const char *name) {
    size_t i = 0;
    while (i < l->type_count && l->types[i].type != type) i++;
    l->more_types += i == DEVICE_TYPES;
    if (i < l->type_count || i == DEVICE_TYPES || !*name) return;
    l->types[l->type_count].type = type;
    snprintf(l->types[l->type_count++].name, sizeof l->types->name, "%s", name);
}

static void read_types(losses *l, trace_text list) {
    trace_text key, value;
    if (!list.size || *list.data != '{') return;
    while (json_next(&list, &key, &value)) {
        char name[sizeof l->types->name];
        int64_t type;
        if (!json_is_text(value) || !json_int(key, &type) || type < 1 || type > 255) continue;
        json_decode(value, name, sizeof name);
        losses_add_type(l, type, name);
    }
}

/* What it promises of the events to come; false: this is none of that. */
static bool read_promise(losses *l, trace_text key, trace_text value) {
    trace_text none, name;
    char text[sizeof *l->counters];
    if (text_is(key, KEY_DEVICE_TYPES)) return read_types(l, value), true;
    if (text_is(key, KEY_ZONE_IDS)) {
        l->zone_ids |= text_is(value, "true");
        l->zones_ahead |= text_is(value, "\"ahead\"");
        return true;
    }
    if (text_is(key, "one_core")) return l->one_core |= text_is(value, "1"), true;
    if (!text_is(key, KEY_COUNTERS)) return false;
    if (!value.size || *value.data != '[') return true;
    while (json_next(&value, &none, &name)) {
        if (!json_is_text(name)) continue;
        json_decode(name, text, sizeof text);
        add_counter(l, text);
    }
    return true;
}

static void read_head(losses *l, trace_text head, bool cuda) {
    trace_text key, value;
    if (!head.size || *head.data != '{') return;
    while (json_next(&head, &key, &value)) {
        if (!cuda && text_is(key, KEY_DEVICES)) read_devices(l, value);
        else if (cuda || (!read_promise(l, key, value) && !read_timeline(l, key, value)))
            read_count(l, key, value, cuda);
    }
}

void losses_read(losses *l, trace_text head) { read_head(l, head, false); }

void losses_read_cuda(losses *l, trace_text head) { read_head(l, head, true); }

void losses_add_stats(losses *l, const prof_stats *stats) {
    stats_note note;
    for (size_t i = 0; i < LOSS_COUNTS && stats_note_at(stats, i, &note); i++)
        l->counts[i] = sum(l->counts[i], note.count);
}

void losses_end_raw(losses *l, raw_losses *r) {
    losses_add_stats(l, &r->counts);
    memset(&r->counts, 0, sizeof r->counts);
}

void losses_add_stream(losses *l, uint64_t blocks, uint64_t records, uint64_t damaged_bytes) {
    if (count_of(l, "overwritten")) records = 0;     /* a ring's dump lacks them: told already */
    const uint64_t counts[] = {blocks, records, damaged_bytes};
    size_t first = known_counts() + 1;
    for (size_t i = 0; i < 3 && first + i < LOSS_COUNTS; i++)
        l->counts[first + i] = sum(l->counts[first + i], counts[i]);
}

/* A session comes again every few blocks; its counts are sums so far. */
void losses_take_raw(losses *l, raw_losses *r, const prof_raw_item *item) {
    if (item->kind == PROF_RAW_COUNTS) r->counts = *item->counts;
    if (item->kind == PROF_RAW_SUMS) {
        l->summed = sum(l->summed, item->average->count);
        l->timeline_ns = item->start_ns;
        l->session_ns = item->end_ns;
    }
    if (item->kind != PROF_RAW_SESSION) return;
    l->one_core |= item->flags;
    size_t mixed = known_counts() + OTHER_COUNTS - 1;
    if (r->in_session && item->value != r->process && mixed < LOSS_COUNTS) l->counts[mixed]++;
    r->process = item->value;
    if (r->in_session) losses_end_raw(l, r);             /* else they are its own: told before it */
    r->in_session = true;
}

void losses_add(losses *to, const losses *from, const char *whose) {
    for (size_t i = 0; i < LOSS_COUNTS; i++) to->counts[i] = sum(to->counts[i], from->counts[i]);
    for (size_t i = 0; i < from->device_count; i++)
        add_device(to, whose, from->devices[i].name, from->devices[i].text);
    to->more_devices += from->more_devices;
    to->odd = sum(to->odd, from->odd);
    to->summed = sum(to->summed, from->summed);
    for (size_t i = 0; i < from->counter_count; i++) add_counter(to, from->counters[i]);
    for (size_t i = 0; i < from->type_count; i++)
        losses_add_type(to, from->types[i].type, from->types[i].name);
    to->more_types += from->more_types;
    to->zone_ids |= from->zone_ids || from->zones_ahead;
    if (from->timeline_ns && (!to->timeline_ns || from->timeline_ns < to->timeline_ns))
        to->timeline_ns = from->timeline_ns;
    if (from->session_ns > to->session_ns) to->session_ns = from->session_ns;
}

/* ---- As lines, and as a head ---- */

/* A device that says how many records it lost says what prof_cuda's counts say. */
static bool is_told(const losses *l, size_t device) {
    stats_note note;
    if (strncmp(l->devices[device].text, "GPU records lost", 16) != 0) return false;
    for (size_t i = 0; count_at(i, &note); i++)
        if (is_cuda(&note) && l->counts[i]) return true;
    return false;
}

enum { TOLD_DEVICES = 2, MORE_INDEX = LOSS_COUNTS + LOSS_DEVICES, TIMELINE_INDEX };

/* Zones that are in sums alone, but for those that are told otherwise. */
static uint64_t later_zones(const losses *l) {
    uint64_t apart = sum(count_of(l, "untimed"), count_of(l, "deep"));
    return l->summed - (apart < l->summed ? apart : l->summed);
}

static void timeline_line(const losses *l, char line[320]) {
    char end[32], whole[32];
    unsigned long long zones = later_zones(l);
    format_time(end, sizeof end, (double)l->timeline_ns / 1e3);
    format_time(whole, sizeof whole, (double)l->session_ns / 1e3);
    if (l->timeline_ns && l->session_ns >= l->timeline_ns)
        snprintf(line, 320, "Timeline: the first %s of %s. %llu later zones are in sums alone "
                            "(give prof_desc.memory more)", end, whole, zones);
    else
        snprintf(line, 320, "%llu zones appear in tables only, not in the timeline: "
                            "PROF_MODE_AGGREGATE has no timeline; else they are deeper than "
                            "max_depth (prof record --max-depth), or memory was full", zones);
}

bool losses_next(const losses *l, size_t *index, char line[320]) {
    stats_note note;
    for (; *index < LOSS_COUNTS; ++*index) {
        if (!l->counts[*index] || !count_at(*index, &note)) continue;
        snprintf(line, 320, "%s: %llu", note.text, (unsigned long long)l->counts[(*index)++]);
        return true;
    }
    size_t told = l->device_count < TOLD_DEVICES ? l->device_count : TOLD_DEVICES;
    for (; *index < LOSS_COUNTS + told; ++*index) {
        size_t i = *index - LOSS_COUNTS;
        if (is_told(l, i)) continue;
        snprintf(line, 320, "%s: %s", l->devices[i].name, l->devices[i].text);
        ++*index;
        return true;
    }
    if (*index < MORE_INDEX) {
        size_t more = l->more_devices + l->device_count - told;
        *index = MORE_INDEX;
        if (more) snprintf(line, 320, "More devices that report losses: %zu", more);
        if (more) return true;
    }
    if (*index < TIMELINE_INDEX) {
        *index = TIMELINE_INDEX;
        if (later_zones(l)) return timeline_line(l, line), true;
    }
    bool odd = *index == TIMELINE_INDEX && l->odd;
    *index = TIMELINE_INDEX + 1;
    if (odd) snprintf(line, 320, "Counts in the trace's head that are not counts, left out: %llu",
                      (unsigned long long)l->odd);
    return odd;
}

static void write_counts(const losses *l, output *out, bool cuda, const char *comma) {
    stats_note note;
    for (size_t i = 0; count_at(i, &note); i++) {
        if (!l->counts[i] || is_cuda(&note) != cuda) continue;
        output_format(out, "%s\"%s\": %llu", comma, note.key, (unsigned long long)l->counts[i]);
        comma = ", ";
    }
}

/* Sums by site of heads that tell none are those by name. */
static trace_text list_of(const head_lists *lists, int which, bool by_site) {
    bool none = which == HEAD_SUMS_BY_SITE && by_site && !lists->of[which].size;
    return lists->of[none ? HEAD_SUMS : which];
}

static void write_list(const head_lists *lists, size_t count, int which, output *out) {
    bool any = false, by_site = false;
    for (size_t i = 0; i < count; i++) by_site |= lists[i].of[HEAD_SUMS_BY_SITE].size > 0;
    for (size_t i = 0; i < count; i++) {
        trace_text list = list_of(lists + i, which, by_site);
        if (list.size <= 2 || *list.data != '[') continue;
        if (any) output_text(out, ",");
        else output_format(out, ", \"%s\": [", head_list_names[which]);
        output_write(out, list.data + 1, list.size - 2);
        any = true;
    }
    output_text(out, any ? "]" : "");
}

static void write_lists(const losses *l, const head_lists *lists, size_t count, output *out) {
    if (l->summed)
        output_format(out, ", \"" KEY_SUMMED "\": %llu, "
                           "\"" KEY_TIMELINE_END "\": %lld, \"" KEY_SESSION "\": %lld",
                      (unsigned long long)l->summed, (long long)l->timeline_ns,
                      (long long)l->session_ns);
    for (int which = 0; which < HEAD_LISTS; which++) write_list(lists, count, which, out);
}

static void write_promises(const losses *l, output *out) {
    for (size_t i = 0; i < l->counter_count; i++) {
        output_text(out, i ? ", " : ", \"" KEY_COUNTERS "\": [");
        output_json_text(out, l->counters[i], strlen(l->counters[i]));
    }
    output_text(out, l->counter_count ? "]" : "");
    for (size_t i = 0; i < l->type_count; i++) {
        output_format(out, i ? ", \"%lld\": " : ", \"" KEY_DEVICE_TYPES "\": {\"%lld\": ",
                      (long long)l->types[i].type);
        output_json_text(out, l->types[i].name, strlen(l->types[i].name));
    }
    output_text(out, l->type_count ? "}" : "");
    output_text(out, l->zone_ids ? ", \"" KEY_ZONE_IDS "\": true" : "");
    output_text(out, l->one_core ? ", \"one_core\": 1" : "");
}

void losses_write_head(const losses *l, const head_lists *lists, size_t count, output *out) {
    stats_note note;
    bool cuda = false;
    for (size_t i = 0; count_at(i, &note); i++) cuda |= is_cuda(&note) && l->counts[i];
    output_text(out, "\"prof\": {\"version\": \"" PROF_VERSION "\"");
    write_counts(l, out, false, ", ");
    write_lists(l, lists, count, out);
    write_promises(l, out);
    for (size_t i = 0; i < l->device_count; i++) {
        output_text(out, i ? ", " : ", \"" KEY_DEVICES "\": {");
        output_json_text(out, l->devices[i].name, strlen(l->devices[i].name));
        output_text(out, ": ");
        output_json_text(out, l->devices[i].text, strlen(l->devices[i].text));
    }
    output_text(out, l->device_count ? "}}" : "}");
    if (!cuda) return;
    output_text(out, ",\n\"prof_cuda\": {");
    write_counts(l, out, true, "");
    output_text(out, "}");
}

/* ---- Telling ---- */

static arena line_memory;                /* lives as long as the program */
static text_list lines;
static size_t told;                      /* so many of them have been written */
static bool holding;

static void add_line(char *line) {
    lines.items = reallocate(lines.items, (lines.count + 1) * sizeof *lines.items);
    lines.items[lines.count++] = line;
}

void losses_tell(const char *path, const losses *l) {
    const char *file = error_name(path);
    size_t index = 0, size = strlen(file) + 1, count = 0;
    char line[320];
    while (losses_next(l, &index, line)) size += strlen(line) + 2, count++;
    if (!count) return;
    char *text = arena_allocate(&line_memory, size), *p = text + strlen(file);
    memcpy(text, file, (size_t)(p - text));
    for (index = 0, count = 0; losses_next(l, &index, line); count++)
        p += snprintf(p, size - (size_t)(p - text), "%s%s", count ? "; " : ": ", line);
    add_line(text);
    if (!holding) losses_end();
}

void losses_hold(void) { holding = true; }

void losses_write(output *out) {
    for (; told < lines.count; told++) {
        output_plain_text(out, lines.items[told]);
        output_text(out, "\n");
    }
}

void losses_end(void) {
    for (; told < lines.count; told++) warn(NULL, "%s", lines.items[told]);
}

void losses_forget(void) {
    arena_free(&line_memory);
    free(lines.items);
    lines = (text_list){0};
    told = 0;
    holding = false;
}

text_list losses_told(void) { return lines; }
