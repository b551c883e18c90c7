/* The events of Chrome's JSON: see chrome.h. */
#include "input/chrome.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>
#ifdef __SSE2__
#  include <emmintrin.h>
#endif

/* An argument as it stood in the file, from its key's quote to its value, and on to the next key's
   quote or the closing bracket: see skip_known_key, skip_known_arg. */
enum { KNOWN_LISTS = 16, KNOWN_LIST = 24, KNOWN_KEY = 32, KNOWN_TEXT = 112, UNLIKE = 32 };
typedef struct known_arg {
    char text[KNOWN_TEXT];
    uint32_t size, key_size;     /* of the key in the text; 0: none */
    uint32_t whole;              /* of all of the text; 0: only the key is known */
    uint32_t value_at, value_size;
    uint64_t bit;
    uint8_t wait;                /* values to come that are not worth knowing */
    uint8_t run;                 /* 1 + number of the run that begins with it; 0: none */
    bool hit, last;              /* one was as this one; it is the last of its event */
} known_arg;

/* Known arguments that stood one behind another are mostly all as known once more: so they are
   compared as one text, and handed on with the places that were found then. */
enum { KNOWN_RUNS = 4, RUN_TEXT = 512 };
typedef struct known_run {
    char text[RUN_TEXT];         /* from the first key's quote, as in known_arg */
    uint32_t size;
    uint8_t count;
    bool last;                   /* the last of them is the last of its event */
    uint64_t bits;               /* of the keys, no two of which have the same */
    scanned_arg args[KNOWN_LIST];        /* places behind the text's begin */
} known_run;

/* Those that the last event of a category had. */
typedef struct known_list {
    known_arg args[KNOWN_LIST];
    known_run runs[KNOWN_RUNS];
    uint8_t next_run;            /* to be replaced */
    uint8_t run_wait;            /* events to come that are not worth knowing runs of */
} known_list;

/* The last pid or tid as it stood in the file, with what ended it: mostly the next one is that. */
typedef struct known_id {
    char text[32];               /* what is_same compares */
    uint32_t size;               /* 0: none yet */
    int64_t id;
} known_id;
typedef struct known_ids { known_id pid, tid; } known_ids;

/* Most events of a category have the same keys in the same order, and the same ph and cat. Such an
   event as it stood in the file: texts that are only compared, each up to a value that is scanned.
   See scan_known. */
enum { KNOWN_EVENTS = 16, KNOWN_STEPS = 12, STEP_TEXT = 128 };
typedef struct known_step {
    char text[STEP_TEXT];        /* behind the value before; of the first one, from the `{` */
    uint32_t size;
    uint8_t key;                 /* event_key of the value behind; KEY_END: the event ends here */
    uint8_t has;                 /* TRACE_HAS_... of what is in the text itself: */
    char phase;
    uint8_t phase_at, phase_size, cat_at, cat_size;      /* of the JSON texts */
} known_step;
typedef struct known_event {
    known_step steps[KNOWN_STEPS];
    uint8_t count;
    uint8_t kind;                /* where the texts have ph and cat */
    uint8_t next;                /* what followed it last */
    known_ids ids;               /* that it had last */
    bool hit;                    /* since it was last to be replaced */
} known_event;

typedef struct known_texts {
    known_list lists[KNOWN_LISTS];
    known_event events[KNOWN_EVENTS];
    uint8_t last_event, replaced;        /* of them: the last one met, the last one replaced */
    uint8_t event_wait;          /* events to come that are not worth knowing */
    known_ids ids;               /* of events that are not as a known one */
} known_texts;

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

static inline text_place place_of(const chrome_scan *s, trace_text text) {
    return (text_place){(uint32_t)(text.data - s->element), (uint32_t)text.size};
}

/* The number of the argument with this key, or arg_count. Events have a few; of many, which only a
   hostile file has, a map knows, so that time does not grow with their square. */
static size_t argument_with(chrome_scan *s, const scanned_event *event, trace_text key) {
    enum { FEW = 64 };
    const scanned_arg *args = s->args + s->arg_first;
    size_t i = 0, count = event->arg_count;
    if (count < FEW) {
        while (i < count && !same_text(text_at(s->element, args[i].key), key)) i++;
        return i;
    }
    for (; s->mapped < count; s->mapped++) {
        trace_text known = text_at(s->element, args[s->mapped].key);
        *map_put(&s->keys, hash_bytes(known.data, known.size), NULL) = s->mapped;
    }
    const uint64_t *found = map_get(&s->keys, hash_bytes(key.data, key.size));
    return found && same_text(text_at(s->element, args[*found].key), key) ? (size_t)*found : count;
}

/* false: it is not, and which of the two counts? */
static bool is_first_argument(chrome_scan *s, scanned_event *event, const scanned_arg *arg) {
    size_t other = argument_with(s, event, text_at(s->element, arg->key));
    if (other == event->arg_count) return true;
    event->has &= ~(uint32_t)TRACE_HAS_ONCE;
    return stands_twice(s, text_at(s->element, s->args[s->arg_first + other].value),
                        text_at(s->element, arg->value));
}

/* Is it this text at p, of 1 to 32 bytes? So many can be read, whatever p is. */
static inline bool is_same(const char *p, const char *text, uint32_t size) {
#ifdef __SSE2__
    const __m128i *a = (const __m128i *)(const void *)p, *b = (const void *)text;
    __m128i low = _mm_cmpeq_epi8(_mm_loadu_si128(a), _mm_loadu_si128(b));
    uint64_t same = (uint32_t)_mm_movemask_epi8(low);
    if (size > 16) {
        __m128i high = _mm_cmpeq_epi8(_mm_loadu_si128(a + 1), _mm_loadu_si128(b + 1));
        same |= (uint64_t)_mm_movemask_epi8(high) << 16;
    }
    return ~same << (64 - size) == 0;
#else
    return memcmp(p, text, size) == 0;
#endif
}

/* The same of any size. A text has no zero bytes, the buffer has them behind its end: where 32 are
   the same, as many can be read behind them. */
static inline bool is_same_long(const char *p, const char *text, uint32_t size) {
    for (; size > 32; size -= 32, p += 32, text += 32)
        if (!is_same(p, text, 32)) return false;
    return is_same(p, text, size);
}

/* As skip_key, of the arguments' keys, which are the same in most events of a category: so the
   processor goes on before it knows where the key ends. */
static inline const char *skip_known_key(chrome_scan *s, const char *p, known_arg *known,
                                         trace_text *key, uint64_t *bit) {
    if (known->size && is_same(p, known->text, known->size)) {
        *key = (trace_text){p + 1, known->key_size};
        *bit = known->bit;
        return skip_space(p + known->size);
    }
    const char *begin = p;
    if (!(p = skip_key(&s->json, p, key))) return NULL;
    *bit = key_bit(*key);
    bool plain = text_stop(begin + 1) == key->data + key->size;
    known->size = known->whole = 0;
    if (!plain || p - begin > KNOWN_KEY) return p;
    known->size = (uint32_t)(p - begin);
    known->key_size = (uint32_t)key->size;
    known->bit = *bit;
    memcpy(known->text, begin, known->size);
    return p;
}

/* Many arguments, too, are as the last event of the category had them: what was scanned once is
   only compared. To the next one, or (with *last) to the closing bracket; NULL: it is another. */
static inline const char *skip_known_arg(const chrome_scan *s, const char *p, known_arg *known,
                                         scanned_arg *arg, uint64_t *bit, bool *last) {
    uint32_t at = (uint32_t)(p - s->element);
    if (!known->whole || !is_same_long(p, known->text, known->whole)) return NULL;
    arg->key = (text_place){at + 1, known->key_size};
    arg->value = (text_place){at + known->value_at, known->value_size};
    *bit = known->bit;
    *last = known->last;
    known->hit = true;
    return p + known->whole - 1;
}

/* The argument from its key's quote to p. Its key is known; what was not met again, as ids are, is
   not worth it. */
static void know_arg(const chrome_scan *s, known_arg *known, const scanned_arg *arg, const char *p,
                     bool last) {
    if (known->wait) {
        known->wait--;
        return;
    }
    const char *begin = s->element + arg->key.at - 1;
    bool plain = !s->json.escapes && !s->json.defective && (last || *p == '"');
    known->wait = known->whole && !known->hit ? UNLIKE : 0;
    known->hit = false;
    known->whole = 0;
    if (!plain || p + 1 - begin > KNOWN_TEXT || known->wait) return;
    known->whole = (uint32_t)(p + 1 - begin);
    known->value_at = arg->value.at - arg->key.at + 1;           /* a block's end may cut the key */
    known->value_size = arg->value.size;
    known->last = last;
    memcpy(known->text, begin, known->whole);
}

/* Those that the last event of its category had. */
static known_list *known_list_of(chrome_scan *s, const scanned_event *event) {
    size_t size = event->cat.size;
    unsigned letter = size ? (unsigned char)s->element[event->cat.at + size / 2] : 0;
    return &s->known->lists[(letter + size) % KNOWN_LISTS];
}

/* The arguments of the event so far. */
typedef struct arg_scan {
    known_list *list;
    known_arg *known;            /* for the next one */
    uint64_t seen;               /* bits of their keys */
    size_t same;                 /* the last so many were as known */
    bool last;                   /* there are no more */
} arg_scan;

/* An argument that is not as the known one: to the next one. */
static inline const char *scan_other_arg(chrome_scan *s, const char *p, known_arg *known,
                                         scanned_arg *arg, uint64_t *bit, bool *last) {
    trace_text key, value;
    if (!(p = skip_known_key(s, p, known, &key, bit))) return NULL;
    value.data = p;
    if (!(p = skip_value(&s->json, p))) return NULL;
    value.size = (size_t)(p - value.data);
    arg->key = place_of(s, key);
    arg->value = place_of(s, value);
    if (!(p = skip_comma(&s->json, p, '}', last))) return NULL;
    if (known->size) know_arg(s, known, arg, p, *last);
    return p;
}

/* The run's arguments, whose text begins so many bytes behind the event's `{`. (Both numbers of a
   place at once: no sum is larger than 32 bits.) */
static inline void place_args(scanned_arg *args, const known_run *run, uint32_t at) {
    const text_place behind = {at, 0};
    uint64_t places[2], add;
    memcpy(&add, &behind, sizeof add);
    for (const scanned_arg *from = run->args, *end = from + run->count; from < end; from++) {
        memcpy(places, from, sizeof places);
        places[0] += add;
        places[1] += add;
        memcpy(args++, places, sizeof places);
    }
}

/* The run that the next arguments are, to behind it; NULL: they are not, and it is forgotten. */
static inline const char *skip_known_run(chrome_scan *s, const char *p, scanned_event *event,
                                         arg_scan *a) {
    const known_run *run = &a->list->runs[a->known->run - 1];
    uint32_t at = (uint32_t)(p - s->element);
    size_t first = s->arg_first + event->arg_count;
    if (a->seen & run->bits || !is_same_long(p, run->text, run->size)) {
        a->known->run = 0;
        a->list->run_wait = UNLIKE;
        return NULL;
    }
    GROW(s->args, first + run->count, s->arg_capacity);
    place_args(s->args + first, run, at);
    event->arg_count += run->count;
    a->seen |= run->bits;
    a->known += run->count;
    a->same = 0;
    a->last = run->last;
    return p + run->size - 1;
}

/* The last arguments up to p, `same` of them, become a run, or as many of them as it has room
   for. */
static void know_run(const chrome_scan *s, const char *p, const scanned_event *event,
                     arg_scan a) {
    const scanned_arg *args = s->args + s->arg_first + event->arg_count - a.same;
    const char *begin = s->element + args->key.at - 1;
    known_arg *known = a.known - a.same;
    known_list *list = a.list;
    size_t count = a.same;
    while (p + 1 - begin > RUN_TEXT) p = s->element + args[--count].key.at - 1;
    if (count < 2 || known->run) return;
    for (size_t i = 0; i < KNOWN_LIST; i++)
        if (list->args[i].run == list->next_run + 1) list->args[i].run = 0;
    known_run *run = &list->runs[list->next_run];
    known->run = ++list->next_run;
    if (list->next_run == KNOWN_RUNS) list->next_run = 0;
    run->size = (uint32_t)(p + 1 - begin);
    run->count = (uint8_t)count;
    run->last = count == a.same && a.last;
    run->bits = 0;
    for (size_t i = 0; i < count; i++) {
        run->args[i] = args[i];
        run->args[i].key.at -= args->key.at - 1;
        run->args[i].value.at -= args->key.at - 1;
        run->bits |= known[i].bit;
    }
    memcpy(run->text, begin, run->size);
}

/* The next argument, which may be as the known one: to the one behind it. */
static inline const char *scan_arg(chrome_scan *s, const char *p, scanned_event *event,
                                   arg_scan *a) {
    known_arg *known = a->known, *most = a->list->args + KNOWN_LIST - 1;
    uint64_t bit;
    GROW(s->args, s->arg_first + event->arg_count, s->arg_capacity);
    scanned_arg *arg = &s->args[s->arg_first + event->arg_count];
    const char *next = skip_known_arg(s, p, known, arg, &bit, &a->last);
    if (!next && a->same > 1 && !a->list->run_wait) know_run(s, p, event, *a);
    a->same = next && known < most ? a->same + 1 : 0;
    if (!next && !(next = scan_other_arg(s, p, known, arg, &bit, &a->last))) return NULL;
    a->known += known < most;
    if (a->seen & bit && !is_first_argument(s, event, arg)) return NULL;
    if (a->seen & bit) a->same = 0;
    a->seen |= bit;
    event->arg_count++;
    return next;
}

/* args: every member with its JSON text. */
static const char *scan_args(chrome_scan *s, const char *p, scanned_event *event) {
    arg_scan a = {.list = known_list_of(s, event)};
    a.known = a.list->args;
    a.last = *(p = skip_space(p + 1)) == '}';
    event->arg_count = 0;
    event->has |= TRACE_HAS_ONCE;
    if (s->mapped) map_free(&s->keys);
    s->mapped = 0;
    while (!a.last) {
        const char *next = a.known->run ? skip_known_run(s, p, event, &a) : NULL;
        if (!next && !(next = scan_arg(s, p, event, &a))) return NULL;
        p = next;
    }
    if (a.same > 1 && !a.list->run_wait) know_run(s, p, event, a);
    if (a.list->run_wait) a.list->run_wait--;
    event->arg_bits = a.seen;
    return p + 1;
}

static void set_rare(const chrome_scan *s, scanned_event *event, text_place *into,
                     trace_text text) {
    if (!event->has_rare) memset(&event->rare, 0, sizeof event->rare);
    event->has_rare = true;
    *into = place_of(s, text);
}

/* A pid or tid: a number, a number in quotes, or any text, which gets a negative number. */
static bool read_id(chrome_scan *s, scanned_event *event, trace_text value, int64_t *id,
                    text_place *into) {
    if (event->has_rare) *into = (text_place){0, 0};
    if (json_int(value, id)) return true;
    if (!json_is_text(value)) return false;
    trace_text text = unquoted(value);
    set_rare(s, event, into, text);
    *id = trace_text_id(text);
    return true;
}

typedef enum event_key {
    KEY_OTHER, KEY_PH, KEY_TS, KEY_ID, KEY_ID2, KEY_BP, KEY_CAT, KEY_PID, KEY_TID, KEY_DUR,
    KEY_NAME, KEY_ARGS, KEY_SCOPE, EVENT_KEYS, KEY_END = EVENT_KEYS /* none: the event's end */
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

/* ts and dur: false only for what does not fit 64 bits. */
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

static bool read_member(chrome_scan *s, scanned_event *event, event_key key, trace_text value) {
    static const uint32_t bits[] = {
        [KEY_PH] = TRACE_HAS_PHASE, [KEY_TS] = TRACE_HAS_TS, [KEY_ID] = TRACE_HAS_ID,
        [KEY_CAT] = TRACE_HAS_CAT, [KEY_PID] = TRACE_HAS_PID, [KEY_TID] = TRACE_HAS_TID,
        [KEY_DUR] = TRACE_HAS_DUR, [KEY_NAME] = TRACE_HAS_NAME, [KEY_ARGS] = TRACE_HAS_ARGS,
        [KEY_SCOPE] = 0
    };
    uint32_t bit = bits[key];
    event->has &= ~bit;
    bool text = json_is_text(value);
    switch (key) {
    case KEY_TS: return read_time(s, value, &event->ts_ns, &event->has, bit);
    case KEY_DUR: return read_time(s, value, &event->dur_ns, &event->has, bit);
    case KEY_PID:
        if (read_id(s, event, value, &event->pid, &event->rare.pid_text)) event->has |= bit;
        else defect(&s->json, TRACE_BAD_NUMBER);
        return true;
    case KEY_TID:
        if (read_id(s, event, value, &event->tid, &event->rare.tid_text)) event->has |= bit;
        else defect(&s->json, TRACE_BAD_NUMBER);
        return true;
    case KEY_PH:
        event->phase = text && value.size > 2 ? value.data[1] : 0;
        break;
    case KEY_NAME: event->name = place_of(s, unquoted(value)); break;
    case KEY_CAT: event->cat = place_of(s, unquoted(value)); break;
    case KEY_ID: event->id = place_of(s, value); return event->has |= bit, true;
    case KEY_ID2: set_rare(s, event, &event->rare.id2, value); return true;
    case KEY_BP: set_rare(s, event, &event->rare.bp, value); return true;
    case KEY_SCOPE: set_rare(s, event, &event->rare.scope, value); return true;
    default: return true;
    }
    if (text) event->has |= bit;
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
static bool has_times(const scanned_event *event) {
    uint32_t needs = event->phase == 'X' ? TRACE_HAS_TS | TRACE_HAS_DUR :
                     trace_is_half(event->phase) ? TRACE_HAS_TS : 0;
    return (event->has & needs) == needs;
}

const char chrome_no_times[] = "with this event times do not fit 64 bits of nanoseconds";

/* A ts, dur, pid or tid as most are: digits, at most so many decimals, and what ends a value.
   Behind it; NULL: another. */
static inline const char *read_plain(const char *p, int decimals, int64_t *number) {
    const char *begin = p;
    uint64_t sum = 0;
    while (is_digit(*p)) sum = sum * 10 + (uint64_t)(*p++ - '0');
    bool odd = p == begin || p - begin > 15 || (*begin == '0' && p - begin > 1);
    if (decimals == 3 && *p == '.' && is_digit(p[1]) && is_digit(p[2]) && is_digit(p[3])) {
        sum = sum * 1000 + (uint64_t)((p[1] - '0') * 100 + (p[2] - '0') * 10 + (p[3] - '0'));
        decimals = 0;
        p += 4;
    } else if (*p == '.') {
        const char *point = p++;
        for (; decimals > 0 && is_digit(*p); decimals--) sum = sum * 10 + (uint64_t)(*p++ - '0');
        odd |= p == point + 1;
    }
    if (odd || (*p != ',' && *p != '}' && *p != '\n')) return NULL;
    while (decimals-- > 0) sum *= 10;
    *number = (int64_t)sum;
    return p;
}

/* The same of a pid or tid. */
static inline const char *read_plain_id(const char *p, known_id *known, int64_t *id) {
    if (known->size && is_same(p, known->text, known->size)) {
        *id = known->id;
        return p + known->size - 1;
    }
    const char *end = read_plain(p, 0, id);
    if (!end) return NULL;
    memcpy(known->text, p, sizeof known->text);
    known->size = (uint32_t)(end + 1 - p);
    known->id = *id;
    return end;
}

/* The number at p, if it is one of those. */
static inline const char *scan_plain(const char *p, event_key key, scanned_event *event,
                                     known_ids *ids) {
    const char *end = NULL;
    uint32_t has = 0;
    if (event->has_rare) return NULL;           /* it may have had this key, as a text */
    switch (key) {
    case KEY_TS: end = read_plain(p, 3, &event->ts_ns), has = TRACE_HAS_TS; break;
    case KEY_DUR: end = read_plain(p, 3, &event->dur_ns), has = TRACE_HAS_DUR; break;
    case KEY_PID: end = read_plain_id(p, &ids->pid, &event->pid), has = TRACE_HAS_PID; break;
    case KEY_TID: end = read_plain_id(p, &ids->tid, &event->tid), has = TRACE_HAS_TID; break;
    default: break;
    }
    if (end) event->has |= has;
    return end;
}

/* Behind the value at p, of this key. *read: it is in the event already. */
static inline const char *skip_member(chrome_scan *s, const char *p, event_key key,
                                      scanned_event *event, known_ids *ids, bool *read) {
    const char *plain = scan_plain(p, key, event, ids);
    *read = plain != NULL;
    if (plain) return plain;
    if (*p == '"') return skip_text(&s->json, p + 1);
    return key == KEY_ARGS && *p == '{' ? scan_args(s, p, event) : skip_value(&s->json, p);
}

static inline bool take_member(chrome_scan *s, scanned_event *event, event_key key,
                               trace_text value) {
    if (key == KEY_ARGS && *value.data == '{') {
        event->args_text = place_of(s, value);
        event->has |= TRACE_HAS_ARGS;
    } else if (key == KEY_NAME && *value.data == '"') {
        event->name = place_of(s, unquoted(value));
        event->has |= TRACE_HAS_NAME;
    } else if (key != KEY_OTHER && !read_member(s, event, key, value)) {
        stop(&s->json, BAD, value.data, "this time does not fit 64 bits of nanoseconds");
        return false;
    }
    return true;
}

static inline trace_text text_between(const char *p, const char *end) {
    return (trace_text){p, (size_t)(end - p)};
}

/* ---- Events as those before: see known_event ---- */

/* The one that begins as the event at p, or NULL. They take turns: so the one that followed the
   last one before is asked first. */
static inline known_event *known_begin(known_texts *all, const char *p) {
    known_event *last = &all->events[all->last_event], *known = &all->events[last->next];
    if (!known->count || !is_same_long(p, known->steps->text, known->steps->size)) {
        uint8_t i = 0;
        for (known = all->events; i < KNOWN_EVENTS; i++, known++)
            if (known->count && is_same_long(p, known->steps->text, known->steps->size)) break;
        if (i == KNOWN_EVENTS) return NULL;
        last->next = i;
    }
    known->hit = true;
    all->last_event = last->next;
    return known;
}

/* What the text of a step, which begins at p, has of the event. */
static inline void take_same(const chrome_scan *s, const char *p, const known_step *step,
                             scanned_event *event) {
    event->has |= step->has;
    if (step->has & TRACE_HAS_PHASE) event->phase = step->phase;
    if (step->has & TRACE_HAS_CAT)
        event->cat = (text_place){(uint32_t)(p + step->cat_at + 1 - s->element),
                                  step->cat_size - 2u};
}

/* Where the texts of its steps stood, as far as they were the same. */
typedef struct known_places { const char *at[KNOWN_STEPS + 1]; unsigned count; } known_places;

/* The values of an event as far as it is as the known one, to behind the last of them. It begins as
   that. */
static inline const char *scan_known(chrome_scan *s, const char *p, known_event *known,
                                     scanned_event *event, known_places *places) {
    for (unsigned i = 0; i < known->count; i++) {
        const known_step *step = &known->steps[i];
        bool read;
        if (i && !is_same_long(p, step->text, step->size)) break;
        places->at[i] = p;
        places->count = i + 1;
        if (step->has) take_same(s, p, step, event);
        p += step->size;
        if (step->key == KEY_END) return p;
        const char *value = p = skip_space(p);
        if (!(p = skip_member(s, p, (event_key)step->key, event, &known->ids, &read))) return NULL;
        if (!read && !take_member(s, event, (event_key)step->key, text_between(value, p)))
            return NULL;
    }
    places->at[places->count] = p;
    return p;
}

/* ---- Other events ---- */

/* What an event has had so far. */
typedef struct event_values { trace_text of[EVENT_KEYS]; uint32_t seen; } event_values;

static void note_value(event_values *had, unsigned key, const char *p, const char *end) {
    had->seen |= 1u << key;
    had->of[key] = text_between(p, end);
}

/* The values up to where it is another event. */
static void note_known(event_values *had, const known_event *known, const known_places *places) {
    for (unsigned i = 0; i < places->count; i++) {
        const known_step *step = &known->steps[i];
        const char *p = places->at[i], *phase = p + step->phase_at, *cat = p + step->cat_at;
        if (step->has & TRACE_HAS_PHASE) note_value(had, KEY_PH, phase, phase + step->phase_size);
        if (step->has & TRACE_HAS_CAT) note_value(had, KEY_CAT, cat, cat + step->cat_size);
        note_value(had, step->key, skip_space(p + step->size), places->at[i + 1]);
    }
}

/* From behind a value, or the event's `{`, to the next value, of *key, or with KEY_END behind the
   event. */
static inline const char *skip_to_value(chrome_scan *s, const char *p, event_key *key) {
    bool last;
    if (p != s->element) p = skip_comma(&s->json, p, '}', &last);
    else last = *(p = skip_space(p + 1)) == '}';
    if (!p) return NULL;
    if (!last) return skip_event_key(s, p, key);
    *key = KEY_END;
    return p + 1;
}

/* The members from p on, to behind the event. */
static const char *scan_members(chrome_scan *s, const char *p, scanned_event *event,
                                event_values *had) {
    for (;;) {
        event_key key = KEY_OTHER;
        bool read;
        if (!(p = skip_to_value(s, p, &key)) || key == KEY_END) return p;
        const char *value = p;
        if (!(p = skip_member(s, p, key, event, &s->known->ids, &read))) return NULL;
        if (key != KEY_OTHER && had->seen >> key & 1 &&
            !stands_twice(s, had->of[key], text_between(value, p))) return NULL;
        note_value(had, key, value, p);
        if (!read && !take_member(s, event, key, text_between(value, p))) return NULL;
    }
}

/* Up to the value of `key`, or behind the event. false: the text is too long. */
static bool add_step(known_event *known, const char *from, const char *to, event_key key) {
    known_step *step = &known->steps[known->count];
    if (to - from > STEP_TEXT) return false;
    step->size = (uint32_t)(to - from);
    step->key = (uint8_t)key;
    memcpy(step->text, from, step->size);
    return ++known->count < KNOWN_STEPS;
}

/* Is the value, `at` bytes behind where the step begins, part of its text? */
static bool add_same(known_event *known, event_key key, size_t at, trace_text value) {
    known_step *step = &known->steps[known->count];
    if (!json_is_text(value) || at + value.size > STEP_TEXT) return false;
    if (key == KEY_PH) {
        step->has |= TRACE_HAS_PHASE;
        step->phase = value.size > 2 ? value.data[1] : 0;
        step->phase_at = (uint8_t)at;
        step->phase_size = (uint8_t)value.size;
    } else if (key == KEY_CAT) {
        step->has |= TRACE_HAS_CAT;
        step->cat_at = (uint8_t)at;
        step->cat_size = (uint8_t)value.size;
    }
    return key == KEY_PH || key == KEY_CAT;
}

/* The event at p, which is as it should be, becomes a known one. */
static void know_event(chrome_scan *s, known_event *known, const char *p, uint8_t kind) {
    const char *from = p;
    bool last = *(p = skip_space(p + 1)) == '}', fits = true;
    memset(known->steps, 0, sizeof known->steps);
    known->count = 0;
    known->kind = kind;
    while (!last && fits) {
        event_key key = KEY_OTHER;
        const char *value = p = skip_event_key(s, p, &key);
        p = skip_value(&s->json, p);
        if (!add_same(known, key, (size_t)(value - from), text_between(value, p))) {
            fits = key != KEY_PH && key != KEY_CAT && add_step(known, from, value, key);
            from = p;
        }
        p = skip_comma(&s->json, p, '}', &last);
    }
    if (last && fits) add_step(known, from, p + 1, KEY_END);
}

/* The event was not all as a known one: NULL, or the one that it began as. Where few are alike it
   is not worth it to know each. */
static void note_odd_event(chrome_scan *s, known_event *known, uint8_t kind) {
    known_texts *all = s->known;
    if (s->json.defective || s->json.escapes) return;
    if (all->event_wait) {
        all->event_wait--;
        return;
    }
    all->event_wait = UNLIKE;
    while (!known) {
        all->replaced = (uint8_t)((all->replaced + 1) % KNOWN_EVENTS);
        known_event *next = &all->events[all->replaced];
        if (!next->hit) known = next;
        next->hit = false;
    }
    know_event(s, known, s->element, kind);
}

/* ---- One event ---- */

/* It, or what is left of it where it is not as a known one. */
static const char *scan_odd(chrome_scan *s, const char *p, scanned_event *event, known_event *known,
                            const known_places *places) {
    event_values had;
    had.seen = 0;
    if (known) note_known(&had, known, places);
    if (!(p = scan_members(s, p, event, &had))) return NULL;
    if (event->phase == 'X') event->kind = trace_kind_of(text_at(s->element, event->cat));
    note_odd_event(s, known, event->kind);
    return p;
}

const char *chrome_event(chrome_scan *s, const char *p, scanned_event *event) {
    const char *begin = s->element = p;
    s->json.escapes = false;
    event->name = event->cat = event->id = event->args_text = (text_place){0, 0};
    event->ts_ns = event->dur_ns = event->pid = event->tid = 0;
    event->arg_bits = event->has = event->arg_count = 0;
    event->phase = 0;
    event->kind = TRACE_OTHER;
    event->has_rare = false;
    event->at = (size_t)(p - s->json.buffer);
    if (!s->known) s->known = allocate(sizeof *s->known);
    known_event *known = known_begin(s->known, p);
    known_places places;
    places.count = 0;
    if (known && !(p = scan_known(s, p, known, event, &places))) return NULL;
    if (known && known->steps[places.count - 1].key == KEY_END) event->kind = known->kind;
    else if (!(p = scan_odd(s, p, event, known, &places))) return NULL;
    event->size = (uint32_t)(p - begin);
    if (!chrome_times_fit(s, event->ts_ns, event->dur_ns))
        return stop(&s->json, BAD, begin, chrome_no_times);
    if (!has_times(event)) defect(&s->json, TRACE_NO_TIME);
    if (event->dur_ns < 0) {
        event->dur_ns = 0;
        defect(&s->json, TRACE_NEGATIVE);
    }
    if (s->json.escapes) event->has |= TRACE_HAS_ESCAPES;
    return p;
}

static trace_text text_or_none(const char *element, text_place of) {
    return of.at ? text_at(element, of) : (trace_text){NULL, 0};
}

static trace_text text_or_empty(const char *element, text_place of) {
    return of.at ? text_at(element, of) : (trace_text){"", 0};
}

static void hand_out_rare(const char *element, const struct rare_texts *rare,
                          trace_event *event) {
    event->pid_text = text_or_none(element, rare->pid_text);
    event->tid_text = text_or_none(element, rare->tid_text);
    event->id2 = text_or_none(element, rare->id2);
    event->bp = text_or_none(element, rare->bp);
    event->scope = text_or_none(element, rare->scope);
}

/* Field by field: gcc clears a whole struct of this size slowly. */
void chrome_hand_out(chrome_scan *s, const scanned_event *from, const scanned_arg *args,
                     trace_event *event) {
    const char *element = s->json.buffer + from->at;
    const trace_text none = {NULL, 0};
    event->offset = s->json.base + from->at;
    event->raw = (trace_text){element, from->size};
    event->name = text_or_empty(element, from->name);
    event->cat = text_or_empty(element, from->cat);
    event->has = from->has;
    event->phase = from->phase;
    event->kind = from->kind;
    event->pid = from->pid;
    event->tid = from->tid;
    event->ts_ns = from->ts_ns;
    event->dur_ns = from->dur_ns;
    event->is_pair = event->is_async = false;
    event->depth = TRACE_NO_DEPTH;
    event->site = 0;
    event->end_offset = 0;
    event->id = text_or_none(element, from->id);
    event->arg_count = from->arg_count;
    event->arg_bits = from->arg_bits;
    event->args_text = text_or_none(element, from->args_text);
    while (s->member_capacity < from->arg_count)
        GROW(s->members, s->member_capacity, s->member_capacity);
    event->args = s->members;
    event->places = args;
    event->pid_text = event->tid_text = event->id2 = event->bp = event->scope = none;
    if (from->has_rare) hand_out_rare(element, &from->rare, event);
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
    scanned_event scanned;
    bool good = chrome_event(s, s->json.buffer, &scanned) != NULL;
    if (good) chrome_hand_out(s, &scanned, s->args, event);
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
    free(s->members);
    free(s->known);
    map_free(&s->keys);
    free(s->decoded);
    free(s->mended.data);
}
