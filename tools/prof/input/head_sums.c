/* The lists in a trace's head: see head_sums.h. */
#include "input/head_sums.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_ROWS = 1 << 16 };            /* prof.h has 16384 names; its user may want more */

/* A row as it is read. untimed: of its calls, those without a time; in traces up to 0.2.0. */
typedef struct sums_row { prof_average average; uint64_t untimed; } sums_row;

#define FIELD(key, member) {key, offsetof(sums_row, average.member)},
static const struct { const char *key; size_t at; } fields[] = {
    SUM_FIELDS(FIELD) {"untimed", offsetof(sums_row, untimed)}
};
enum { FIELDS = sizeof fields / sizeof *fields };

/* false: the member is known, but no integer. */
static bool read_field(sums_row *row, trace_text key, trace_text value) {
    int64_t n;
    for (size_t i = 0; i < FIELDS; i++) {
        if (!text_is(key, fields[i].key)) continue;
        if (json_is_text(value) || !json_int(value, &n)) return false;
        memcpy((char *)row + fields[i].at, &n, sizeof n);
    }
    return true;
}

/* No call takes less than the least or more than the most, and what is read fits 2^62 ns in all. */
static bool makes_sense(const head_sums *s, const prof_average *r, uint64_t untimed) {
    const int64_t most = (int64_t)1 << 60, ns = r->cpu_time_total_ns;
    double count = (double)(r->count - untimed);
    bool any = r->count || r->self_cpu_time_total_ns;    /* only what lies in it may be in sums */
    return r->key && any && r->count <= (uint64_t)most && s->total_ns <= 3 * most &&
           untimed <= r->count && (count > 0 || !ns) &&
           r->min_ns >= 0 && r->min_ns <= r->max_ns && r->max_ns <= ns && ns <= most &&
           (double)ns >= count * (double)r->min_ns &&
           (double)ns <= count * ((double)r->max_ns + 1) &&   /* each is cut to whole ns */
           r->self_cpu_time_total_ns <= ns && r->self_cpu_time_total_ns >= -most &&
           r->p50_ns >= 0 && r->p50_ns <= r->p90_ns && r->p90_ns <= r->p99_ns && r->p99_ns <= most;
}

const char *const head_list_names[HEAD_LISTS] = {
    KEY_SUMS, KEY_SUMS_BY_SITE, KEY_SITES
};

const prof_site *head_site(arena *memory, const char *source) {
    size_t size = strlen(source), digits = size;
    while (digits && source[digits - 1] >= '0' && source[digits - 1] <= '9') digits--;
    bool line = digits > 1 && source[digits - 1] == ':' && source[digits] && size - digits < 10;
    if (!size) return NULL;
    prof_site *site = arena_allocate(memory, sizeof *site);
    site->name = site->function = "";
    site->file = arena_text(memory, source, line ? digits - 1 : size);
    site->line = line ? (uint32_t)strtoul(source + digits, NULL, 10) : 0;
    return site;
}

void site_write(const prof_site *site, char *source, size_t size) {
    snprintf(source, size, site->line ? "%s:%u" : "%s", site->file, (unsigned)site->line);
}

/* A text of the list; false: it is none, or too long. */
static bool read_text(trace_text value, char *text) {
    return json_is_text(value) && json_decode(value, text, HEAD_NAME) < HEAD_NAME;
}

static bool read_node(trace_text value, int32_t *node) {
    int64_t n;
    if (json_is_text(value) || !json_int(value, &n) || n < 0 || n >= INT32_MAX) return false;
    *node = (int32_t)n;
    return true;
}

static void read_row(head_sums *s, trace_text row) {
    sums_row read = {{.input_count = PROF_NONE, .node_id = -1, .parent = PROF_NONE}, 0};
    trace_text key, value;
    char source[HEAD_NAME];
    bool good = *row.data == '{' && s->count < MOST_ROWS;
    while (good && json_next(&row, &key, &value)) {
        if (s->by_site && text_is(key, KEY_SOURCE)) {
            good = read_text(value, source);
            if (good) read.average.site = head_site(&s->memory, source);
        } else if (text_is(key, KEY_NODE)) {
            good = read_node(value, &read.average.node_id);
        } else if (!text_is(key, "name")) {
            good = read_field(&read, key, value);
        } else if ((good = json_is_text(value))) {
            size_t size = json_decode(value, NULL, 0) + 1;
            char *name = arena_allocate(&s->memory, size);
            json_decode(value, name, size);
            read.average.key = name;
        }
    }
    if (!good || !makes_sense(s, &read.average, read.untimed)) {
        s->odd++;
        return;
    }
    GROW(s->rows, s->count, s->capacity);
    s->rows[s->count++] = read.average;
    s->total_ns += read.average.cpu_time_total_ns;
}

/* A member of the head; empty: it is not there. */
static trace_text member_of(trace_text head, const char *name) {
    trace_text key, value;
    if (!head.size || *head.data != '{') return (trace_text){"", 0};
    while (json_next(&head, &key, &value))
        if (text_is(key, name)) return value;
    return (trace_text){"", 0};
}

head_lists head_lists_find(trace_text head) {
    head_lists found = {{{"", 0}}};
    for (int i = 0; i < HEAD_LISTS; i++) found.of[i] = member_of(head, head_list_names[i]);
    return found;
}

bool head_sites_next(trace_text *list, char *name, char *source) {
    trace_text key, site, value;
    while (list->size && json_next(list, &key, &site)) {
        bool named = false, placed = false, object = *site.data == '{';
        while (object && json_next(&site, &key, &value)) {
            if (text_is(key, "name")) named = read_text(value, name);
            else if (text_is(key, KEY_SOURCE)) placed = read_text(value, source);
        }
        if (named && placed) return true;
    }
    return false;
}

void head_sums_read(head_sums *s, trace_text head, bool by_site) {
    trace_text rows = member_of(head, KEY_SUMS), key, row;
    trace_text end = member_of(head, KEY_TIMELINE_END);
    trace_text placed = by_site ? member_of(head, KEY_SUMS_BY_SITE) : (trace_text){"", 0};
    int64_t end_ns;
    s->by_site = by_site;
    if (placed.size) rows = placed;
    s->timeline = json_int(end, &end_ns) && end_ns > 0;
    if (rows.size && *rows.data != '[') s->odd++;
    else while (json_next(&rows, &key, &row)) read_row(s, row);
}

void head_sums_free(head_sums *s) {
    free(s->rows);
    arena_free(&s->memory);
    memset(s, 0, sizeof *s);
}
