/* The events of Chrome's JSON: see chrome.h. */
#include "input/chrome.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "input/far_times.h"

/* ---- Arguments ---- */

static bool same_text(trace_text a, trace_text b) {
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

/* A key that stands in its object before, with the value `old`. false: which of the two counts? */
static bool stands_twice(chrome_scan *s, trace_text old, trace_text value) {
    defect(&s->json, TRACE_DUPLICATE_KEY);
    if (s->tolerant || same_text(old, value)) return true;
    stop(&s->json, BAD, value.data, "its key stands in this event twice, with another value");
    return false;
}

/* The number of the argument with this key, or arg_count. Events have a few; of many, which only a
   hostile file has, a map knows, so that time does not grow with their square. */
static size_t argument_with(chrome_scan *s, const trace_event *event, trace_text key) {
    enum { FEW = 64 };
    size_t i = 0, count = event->arg_count;
    if (count < FEW) {
        while (i < count && !same_text(s->args[i].key, key)) i++;
        return i;
    }
    for (; s->mapped < count; s->mapped++) {
        trace_text known = s->args[s->mapped].key;
        *map_put(&s->keys, hash_bytes(known.data, known.size), NULL) = s->mapped;
    }
    const uint64_t *found = map_get(&s->keys, hash_bytes(key.data, key.size));
    return found && same_text(s->args[*found].key, key) ? (size_t)*found : count;
}

/* Is it, or does it not matter which of the two counts? */
static bool is_first_argument(chrome_scan *s, const trace_event *event, const trace_member *arg) {
    size_t other = argument_with(s, event, arg->key);
    return other == event->arg_count || stands_twice(s, s->args[other].value, arg->value);
}

/* Every member with its JSON text. */
static const char *scan_args(chrome_scan *s, const char *p, trace_event *event) {
    bool last = *(p = skip_space(p + 1)) == '}';
    event->arg_count = 0;
    event->arg_bits = 0;
    if (s->mapped) map_free(&s->keys);
    s->mapped = 0;
    while (!last) {
        GROW(s->args, event->arg_count, s->arg_capacity);
        trace_member *arg = &s->args[event->arg_count];
        if (!(p = skip_key(&s->json, p, &arg->key))) return NULL;
        arg->value.data = p;
        if (!(p = skip_value(&s->json, p))) return NULL;
        arg->value.size = (size_t)(p - arg->value.data);
        if (!(p = skip_comma(&s->json, p, '}', &last))) return NULL;
        uint64_t bit = key_bit(arg->key);
        if (event->arg_bits & bit && !is_first_argument(s, event, arg)) return NULL;
        event->arg_bits |= bit;
        event->arg_count++;
    }
    return p + 1;
}

/* ---- Members ---- */

/* A pid or tid: a number, a number in quotes, or any text, which gets a negative number, as does
   a number beyond 64 bits with a sign (hashes as MXNet's tids). */
static bool read_id(trace_text value, int64_t *id, trace_text *into) {
    *into = (trace_text){NULL, 0};
    if (json_int(value, id)) return true;
    if (!json_is_text(value) && !json_is_decimal(value)) return false;
    *into = unquoted(value);
    *id = trace_text_id(*into);
    return true;
}

typedef enum event_key {
    KEY_OTHER, KEY_PH, KEY_TS, KEY_ID, KEY_ID2, KEY_BP, KEY_CAT, KEY_PID, KEY_TID, KEY_DUR,
    KEY_NAME, KEY_ARGS, KEY_SCOPE, KEY_BIND_ID,
    EVENT_KEYS
} event_key;

static event_key key_of(trace_text text) {
#define IS(word) (memcmp(text.data, word, sizeof word - 1) == 0)
    switch (text.size) {
    case 1: return *text.data == 's' ? KEY_SCOPE : KEY_OTHER;
    case 2: return IS("ph") ? KEY_PH : IS("ts") ? KEY_TS : IS("id") ? KEY_ID :
                   IS("bp") ? KEY_BP : KEY_OTHER;
    case 3: return IS("pid") ? KEY_PID : IS("tid") ? KEY_TID : IS("dur") ? KEY_DUR :
                   IS("cat") ? KEY_CAT : IS("id2") ? KEY_ID2 : KEY_OTHER;
    case 4: return IS("name") ? KEY_NAME : IS("args") ? KEY_ARGS : KEY_OTHER;
    case 7: return IS("bind_id") ? KEY_BIND_ID : KEY_OTHER;
    default: return KEY_OTHER;
    }
#undef IS
}

/* From a key to the value, as skip_key. Most keys are told by comparing them with those that most
   events have: so the processor goes on before it knows where the key ends. */
static inline const char *skip_event_key(chrome_scan *s, const char *p, event_key *key) {
#define KEY(text, is) \
    if (memcmp(p, "\"" text "\":", sizeof text + 2) == 0) \
        return *key = is, skip_space(p + sizeof text + 2)
    trace_text name;
    KEY("ts", KEY_TS);
    KEY("ph", KEY_PH);
    KEY("cat", KEY_CAT);
    KEY("pid", KEY_PID);
    KEY("tid", KEY_TID);
    KEY("dur", KEY_DUR);
    KEY("name", KEY_NAME);
    KEY("args", KEY_ARGS);
    if ((p = skip_key(&s->json, p, &name)) != NULL) *key = key_of(name);
    return p;
#undef KEY
}

/* ts and dur: false only for what does not fit 64 bits, which a dur may: see
   chrome_bound_time. */
static bool read_time(chrome_scan *s, trace_text value, int64_t *ns, uint32_t *has, uint32_t bit) {
    if (json_ns(value, ns)) {
        *has |= bit;
        return true;
    }
    if (json_is_decimal(value)) return false;
    static const char *const words[] = {"true", "false", "null", NULL};
    if (!strchr("tfnNIi", *value.data) || begins_with(value.data, words))
        defect(&s->json, TRACE_BAD_NUMBER);                     /* else it is NaN */
    return true;
}

static bool read_member(chrome_scan *s, trace_event *event, event_key key, trace_text value) {
    static const uint32_t bits[EVENT_KEYS] = {
        [KEY_PH] = TRACE_HAS_PHASE, [KEY_TS] = TRACE_HAS_TS, [KEY_ID] = TRACE_HAS_ID,
        [KEY_CAT] = TRACE_HAS_CAT, [KEY_PID] = TRACE_HAS_PID, [KEY_TID] = TRACE_HAS_TID,
        [KEY_DUR] = TRACE_HAS_DUR, [KEY_NAME] = TRACE_HAS_NAME, [KEY_ARGS] = TRACE_HAS_ARGS
    };
    uint32_t bit = bits[key];
    event->has &= ~bit;
    bool text = json_is_text(value), good = text;
    switch (key) {
    case KEY_TS: return read_time(s, value, &event->ts_ns, &event->has, bit);
    case KEY_DUR:
        if (read_time(s, value, &event->dur_ns, &event->has, bit)) return true;
        event->dur_ns = value.data[text] == '-' ? INT64_MIN : INT64_MAX;
        good = true;
        break;
    case KEY_PID:
        if (!(good = read_id(value, &event->pid, &event->pid_text)))
            defect(&s->json, TRACE_BAD_NUMBER);
        break;
    case KEY_TID:
        if (!(good = read_id(value, &event->tid, &event->tid_text)))
            defect(&s->json, TRACE_BAD_NUMBER);
        break;
    case KEY_PH: event->phase = text && value.size > 2 ? value.data[1] : 0; break;
    case KEY_NAME: event->name = unquoted(value); break;
    case KEY_CAT: event->cat = unquoted(value); break;
    case KEY_ID: event->id = value, good = true; break;
    case KEY_ID2: event->id2 = value; break;
    case KEY_BP: event->bp = value; break;
    case KEY_SCOPE: event->scope = value; break;
    case KEY_BIND_ID: defect(&s->json, TRACE_BIND_ID); break;
    case KEY_ARGS:
        good = *value.data == '{';
        if (good) event->args_text = value;
        break;
    default: break;
    }
    if (good) event->has |= bit;
    return true;
}

void chrome_decode(chrome_scan *s, trace_event *event) {
    if (!(event->has & TRACE_HAS_ESCAPES)) return;
    event->has &= ~(uint32_t)TRACE_HAS_ESCAPES;
    trace_text *texts[] = {&event->name, &event->cat, &event->pid_text, &event->tid_text};
    size_t room = 0;
    for (int i = 0; i < 4; i++) room += 3 * texts[i]->size;          /* see text_decode */
    if (room > s->decoded_capacity) {
        s->decoded_capacity = room * 2;
        s->decoded = reallocate(s->decoded, s->decoded_capacity);
    }
    size_t used = 0;
    for (int i = 0; i < 4; i++) {
        if (!texts[i]->size || !memchr(texts[i]->data, '\\', texts[i]->size)) continue;
        char *to = s->decoded + used;
        *texts[i] = (trace_text){to, text_decode(*texts[i], to, s->decoded_capacity - used)};
        used += texts[i]->size;
    }
    assert(used <= s->decoded_capacity);
    if (event->phase == 'X') event->kind = trace_kind_of(event->cat);
}

bool chrome_times_fit(chrome_scan *s, int64_t ts_ns, int64_t dur_ns) {
    int64_t end_ns, all;
    if (__builtin_add_overflow(ts_ns, dur_ns, &end_ns)) return false;
    int64_t first = end_ns < ts_ns ? end_ns : ts_ns;
    int64_t last = end_ns < ts_ns ? ts_ns : end_ns;
    if (first < s->first_ns) s->first_ns = first;
    if (last > s->last_ns) s->last_ns = last;
    return !__builtin_sub_overflow(s->last_ns, s->first_ns, &all);
}

/* Has it those that its phase needs? */
static bool has_times(const trace_event *event) {
    uint32_t needs = event->phase == 'X' ? TRACE_HAS_TS | TRACE_HAS_DUR :
                     trace_is_half(event->phase) ? TRACE_HAS_TS : 0;
    return (event->has & needs) == needs;
}

trace_defect chrome_bound_time(chrome_scan *s, trace_event *event) {
    bool endless = (event->dur_ns >= 10 * FAR_YEAR_NS && !s->amounts) ||
                   event->dur_ns > INT64_MAX / 2 - s->sum_ns;
    trace_defect odd = event->dur_ns < 0 ? TRACE_NEGATIVE :
                       endless ? TRACE_ENDLESS : TRACE_DEFECTS;
    if (odd != TRACE_DEFECTS) event->dur_ns = 0;
    s->sum_ns += event->dur_ns;
    return odd;
}

const char chrome_no_times[] = "with this event times do not fit 64 bits of nanoseconds";

/* The members from the event's `{` on, to behind it. */
static const char *scan_members(chrome_scan *s, const char *p, trace_event *event) {
    trace_text had[EVENT_KEYS];
    uint32_t seen = 0;
    bool last = *(p = skip_space(p + 1)) == '}';
    while (!last) {
        event_key key = KEY_OTHER;
        if (!(p = skip_event_key(s, p, &key))) return NULL;
        trace_text value = {p, 0};
        p = key == KEY_ARGS && *p == '{' ? scan_args(s, p, event) : skip_value(&s->json, p);
        if (!p) return NULL;
        value.size = (size_t)(p - value.data);
        if (key != KEY_OTHER && seen >> key & 1 && !stands_twice(s, had[key], value)) return NULL;
        seen |= 1u << key;
        had[key] = value;
        if (key != KEY_OTHER && !read_member(s, event, key, value))
            return stop(&s->json, BAD, value.data,
                        "this time does not fit 64 bits of nanoseconds");
        if (!(p = skip_comma(&s->json, p, '}', &last))) return NULL;
    }
    return p + 1;
}

/* ---- One event ---- */

const char *chrome_event(chrome_scan *s, const char *p, trace_event *event) {
    const char *begin = p;
    s->json.escapes = false;
    trace_event_clear(event);
    if (!(p = scan_members(s, p, event))) return NULL;
    event->offset = s->json.base + (uint64_t)(begin - s->json.buffer);
    event->raw = (trace_text){begin, (size_t)(p - begin)};
    event->args = s->args;
    if (event->phase == 'X') event->kind = trace_kind_of(event->cat);
    trace_defect odd = chrome_bound_time(s, event);
    if (odd != TRACE_DEFECTS) defect(&s->json, odd);
    if (!chrome_times_fit(s, event->ts_ns, event->dur_ns))
        return stop(&s->json, BAD, begin, chrome_no_times);
    if (!has_times(event)) defect(&s->json, TRACE_NO_TIME);
    if (s->json.escapes) event->has |= TRACE_HAS_ESCAPES;
    return p;
}

/* ---- Mending ---- */

static bool mended_fits(chrome_scan *s, const char *begin) {
    return s->mended.size <= LARGEST_ELEMENT || (stop(&s->json, BAD, begin, json_too_long), false);
}

bool chrome_mend_member(chrome_scan *s, trace_member *member) {
    const char *begin = member->key.data - 1;
    s->mended.size = 0;
    json_mend(&s->mended, (trace_text){begin, member->key.size + 2});
    size_t key = s->mended.size;
    json_mend(&s->mended, member->value);
    member->key = (trace_text){s->mended.data + 1, key - 2};
    member->value = (trace_text){s->mended.data + key, s->mended.size - key};
    return mended_fits(s, begin);
}

bool chrome_again(chrome_scan *s, trace_event *event, trace_text text) {
    const json_scan before = s->json;
    const char *begin = event->raw.data;
    s->json.buffer = (char *)(uintptr_t)text.data;
    s->json.used = text.size;
    s->json.base = event->offset;
    bool good = chrome_event(s, s->json.buffer, event) != NULL;
    s->json.buffer = before.buffer;
    s->json.used = before.used;
    s->json.base = before.base;
    s->json.fault = begin;
    memcpy(s->json.defects, before.defects, sizeof s->json.defects);
    if (good) chrome_decode(s, event);
    return good;
}

bool chrome_mend_event(chrome_scan *s, trace_event *event) {
    s->mended.size = 0;
    json_mend(&s->mended, event->raw);
    return mended_fits(s, event->raw.data) &&
           chrome_again(s, event, (trace_text){s->mended.data, s->mended.size});
}

void chrome_free(chrome_scan *s) {
    free(s->args);
    map_free(&s->keys);
    free(s->decoded);
    free(s->mended.data);
}
