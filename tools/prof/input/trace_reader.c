/* The trace reader: see trace_reader.h. One element of the file at a time (an event, a top-level
   member) lies whole in the buffer and is scanned in place; when it does not end there, as much
   again is read behind it and the element is scanned once more from its start. The events of a
   large file are read and scanned ahead by another thread as long as they are as they should be. */
#include "input/trace_reader.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#ifdef __SSE2__
#  include <emmintrin.h>
#endif

#include "base/common.h"
#include "input/event_source.h"
#include "input/json_mend.h"
#include "input/legacy_records.h"
#include "input/losses.h"
#include "input/read_ahead.h"
#include "input/tasks.h"
#include "input/trace_pairs.h"
#include "input/unpack.h"
#include "input/trace_writer.h"

#ifndef TRACE_CHUNK             /* tests read small files piece by piece, too */
#  define TRACE_CHUNK (1 << 18)
#endif

enum {
    CHUNK = TRACE_CHUNK,         /* read at a time */
    PADDING = 32,                /* zero bytes behind the buffer's end: every scan stops there */
    AHEAD = 2 * AHEAD_BYTES + AHEAD_REST,        /* what is left of reading ahead, at most */
    ROOM = 2 * CHUNK > AHEAD ? 2 * CHUNK : AHEAD, /* of the buffer at first */
    LARGEST = 1 << 26,           /* 64 MB, one element: what is longer is no trace */
    DEEPEST = 512                /* brackets inside one element */
};

typedef enum place { AT_START, IN_OBJECT, IN_EVENTS, IN_NODES, AT_END } place;
enum { ON_HOST = 1, ON_DEVICE, WHO_RAN /* of a kernel's tasks: CPU_ROW */, CPU_ROW = 999 };
typedef enum outcome { MORE /* text is needed */, BAD } outcome;

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

/* How long one way of reading takes a byte: see next_way. */
typedef struct pace {
    uint64_t begin, until;       /* offsets of what is timed in that way now */
    uint64_t stretch;            /* bytes of the last one that was no trial, */
    bool ahead;                  /* and its way */
    double begin_s, cost[2];     /* seconds a byte: alone, ahead; 0: not known */
} pace;

/* Of a few hundred bytes: json_next makes one for each item. */
struct trace_source {
    unpacker *file;
    uint64_t file_size;          /* packed; 0: unknown */
    char *read, *buffer;         /* buffer: read, or the text of the block that was read ahead */
    size_t capacity, at, used;
    uint64_t base;               /* offset in the file of buffer[0] */
    bool ended;                  /* nothing is left to read */
    const source_format *format;         /* of what is not JSON; NULL: it is */
    void *made_by;               /* its source, */
    event_queue made;            /* what that made, */
    uint64_t made_count;         /* and how many items were taken of it */
    output text;                 /* of an event that it made: see with_text */
    trace_writer copy;           /* to r->copy, of what it made */
    bool finished;               /* the end was judged */
    trace_pairs *pairs;          /* NULL until there is a begin or an end */
    place where;
    bool has_events, has_nodes, tolerant;
    bool any_element, any_event; /* of the array; one that is an event */
    bool any_member, any_here;   /* of the object; an element of this array: a comma is due */
    bool any_read;               /* one that was handed out, or will be */
    bool any_work;               /* neither metadata nor the profiler's own */
    bool gzip_cut;               /* the packed file ends early */
    char first_key[40];          /* of the object that the file is */
    bool copied;                 /* r->copy has its end */
    bool from_records, records_cut;      /* a record stream was made into this; it ended early */
    /* the element that is being scanned */
    outcome outcome;
    const char *fault;           /* where it is bad */
    const char *why;
    bool defective, escapes;     /* some text of it has those */
    int64_t first_ns, last_ns;   /* of all times so far and 0 */
    uint64_t defects[TRACE_DEFECTS];
    const char *element;         /* where it begins */
    scanned_arg *args;           /* behind those of events before it, of which there are */
    size_t arg_first, arg_capacity;
    trace_member *members;       /* the arguments of the event that was handed out */
    size_t member_capacity;
    known_texts *known;          /* of the events before; NULL: there was none */
    map keys;                    /* of args, the first `mapped` of them: see argument_with */
    size_t mapped;
    map rows;                    /* process or thread -> ON_..., WHO_RAN: see note_row */
    bool own;                    /* prof.h's: its head has come */
    interner unknown;            /* categories, and how many events went where */
    struct { uint64_t count[2]; } *guesses;
    size_t guess_count, guess_capacity;
    char *decoded;
    size_t decoded_capacity;
    mended mended;               /* the element, when it was none of JSON: see mend_item */
    read_ahead *ahead;           /* NULL: this thread reads and scans itself */
    struct trace_source *scanner;        /* of the other thread */
    ahead_block *block;          /* its, with the buffer's events */
    size_t taken, args_taken;    /* of the block */
    uint64_t ahead_again;        /* offset from which on reading ahead may be worth it */
    pace pace;
    bool leaving;                /* the blocks that are still to come are the last ones */
};

typedef struct trace_source source;

static const char too_long[] = "an element of more than 64 MB";

/* ---- Scanning: from a place in the buffer to the one behind; NULL: the outcome says why ---- */

static const char *stop(source *s, outcome what, const char *p, const char *why) {
    s->outcome = what;
    s->fault = p;
    s->why = why;
    return NULL;
}

/* At a character that should not be here: the end of the buffer, or an error. */
static const char *stop_at(source *s, const char *p, const char *why) {
    return stop(s, p == s->buffer + s->used ? MORE : BAD, p, why);
}

/* What stands here where a comma should. */
static const char *no_comma(source *s, const char *p) {
    return stop_at(s, p, *p == ']' || *p == '}' ? "this bracket closes another kind"
                                                : "a comma is missing here");
}

static void defect(source *s, trace_defect what) {
    s->defective = true;
    s->defects[what]++;
}

static inline const char *skip_space(const char *p) {
    if ((unsigned char)*p > ' ') return p;                /* mostly there is none */
    while (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t') p++;
    return p;
}

/* The next quote, backslash, control character or byte >= 0x80: the latter two are less than a
   space, as signed bytes. */
static inline const char *text_stop(const char *p) {
#ifdef __SSE2__
    const __m128i quote = _mm_set1_epi8('"'), slash = _mm_set1_epi8('\\');
    const __m128i space = _mm_set1_epi8(' ');
    for (;; p += 16) {
        __m128i bytes = _mm_loadu_si128((const __m128i *)(const void *)p);
        __m128i stops = _mm_or_si128(
            _mm_or_si128(_mm_cmpeq_epi8(bytes, quote), _mm_cmpeq_epi8(bytes, slash)),
            _mm_cmplt_epi8(bytes, space));
        int mask = _mm_movemask_epi8(stops);
        if (mask) return p + __builtin_ctz((unsigned)mask);
    }
#else
    while ((signed char)*p >= ' ' && *p != '"' && *p != '\\') p++;
    return p;
#endif
}

static void count_bad_utf8(source *s, const char *text, const char *end) {
    for (const unsigned char *p = (const unsigned char *)text; p < (const unsigned char *)end; ) {
        size_t size = utf8_size(p, (size_t)((const unsigned char *)end - p));
        if (size == 0) defect(s, TRACE_BAD_UTF8);
        p += size ? size : 1;
    }
}

/* A text of more than plain ASCII: so far it is that up to p. */
static const char *skip_odd_text(source *s, const char *begin, const char *p) {
    bool high = false;
    for (; *p != '"'; p = text_stop(p + 1)) {
        if (p >= s->buffer + s->used) return stop(s, MORE, p, NULL);
        if ((signed char)*p < 0) {
            high = true;
            while ((signed char)p[1] < 0) p++;
            continue;
        }
        size_t size = *p == '\\' ? json_escape(p, s->buffer + s->used) : 0;
        if (size == 0) defect(s, *p == '\\' ? TRACE_ESCAPE : TRACE_CONTROL);
        s->escapes |= *p == '\\';
        if (*p == '\\') p += size ? size - 1 : 1;
    }
    if (p >= s->buffer + s->used) return stop(s, MORE, p, NULL);   /* behind a backslash */
    if (high) count_bad_utf8(s, begin, p);
    return p + 1;
}

/* p: behind the opening quote. */
static inline const char *skip_text(source *s, const char *p) {
    const char *end = text_stop(p);
    return *end == '"' && end < s->buffer + s->used ? end + 1 : skip_odd_text(s, p, end);
}

static const char *skip_word(source *s, const char *p, bool number) {
    static const struct { const char *text; size_t size; bool number; } words[] = {
        {"true", 4, false}, {"false", 5, false}, {"null", 4, false}, {"NaN", 3, true},
        {"Infinity", 8, true}, {"nan", 3, true}, {"inf", 3, true}
    };
    size_t left = (size_t)(s->buffer + s->used - p);
    for (size_t i = 0; i < sizeof words / sizeof words[0]; i++) {
        size_t size = words[i].size < left ? words[i].size : left;
        if ((number && !words[i].number) || memcmp(p, words[i].text, size) != 0) continue;
        if (size < words[i].size) return stop(s, MORE, p, NULL);
        if (words[i].number) defect(s, TRACE_NAN);
        return p + size;
    }
    return stop(s, BAD, p, "this is not JSON");
}

enum character { NONE, DIGIT, OPEN, LETTER };

static const uint8_t characters[256] = {
    ['0'] = DIGIT, ['1'] = DIGIT, ['2'] = DIGIT, ['3'] = DIGIT, ['4'] = DIGIT,
    ['5'] = DIGIT, ['6'] = DIGIT, ['7'] = DIGIT, ['8'] = DIGIT, ['9'] = DIGIT, ['-'] = DIGIT,
    ['['] = OPEN, ['{'] = OPEN, ['t'] = LETTER, ['f'] = LETTER,
    ['n'] = LETTER, ['N'] = LETTER, ['I'] = LETTER, ['i'] = LETTER
};

static inline bool is_digit(char c) { return c >= '0' && c <= '9'; }

/* Of the eight bytes at p so many come first that are digits. (All at once: where a number ends is
   no guess of the processor's.) */
static inline unsigned leading_digits(const char *p) {
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
    uint64_t bytes, others;
    memcpy(&bytes, p, sizeof bytes);
    bytes ^= 0x3030303030303030u;                /* digits are 0 to 9 now; others, and what is */
    others = (bytes | (bytes + 0x7676767676767676u)) & 0x8080808080808080u;  /* behind them, not */
    return others ? (unsigned)__builtin_ctzll(others) / 8 : 8;
#else
    unsigned count = 0;
    while (count < 8 && is_digit(p[count])) count++;
    return count;
#endif
}

static inline const char *skip_digits(const char *p) {
    for (;;) {
        unsigned count = leading_digits(p);
        p += count;
        if (count < 8) return p;
    }
}

enum { FITS = 300 };                         /* digits, in a double */

/* Most numbers: digits, perhaps with decimals, and behind them what ends a value. NULL: another. */
static inline const char *plain_number(const char *p) {
    const char *digits = p + (*p == '-'), *end = skip_digits(digits), *point = end;
    bool odd = end == digits || (*digits == '0' && end - digits > 1);
    if (*point == '.') end = skip_digits(point + 1);
    odd |= end == point + 1;
    bool ends = *end == ',' || *end == '}' || *end == ']' || *end == '\n';
    return !odd && ends && end - p <= FITS ? end : NULL;
}

/* p: at a digit or a minus sign. */
static const char *skip_odd_number(source *s, const char *p) {
    static const char what[] = "this is no number of JSON";
    const char *begin = p;
    bool large = false;
    if (*p == '-' && characters[(unsigned char)*++p] == LETTER) return skip_word(s, p, true);
    if (!is_digit(*p)) return stop_at(s, p, what);
    p = *p == '0' ? p + 1 : skip_digits(p);
    if (*p == '.') {
        if (!is_digit(*++p)) return stop_at(s, p, what);
        p = skip_digits(p);
    }
    if ((*p | 32) == 'e') {
        large = true;
        p += p[1] == '-' || p[1] == '+' ? 2 : 1;
        if (!is_digit(*p)) return stop_at(s, p, what);
        p = skip_digits(p);
    }
    if (is_digit(*p) || *p == '.') return stop(s, BAD, p, what);
    if ((large || p - begin > FITS) && json_is_infinite(begin)) defect(s, TRACE_NAN);
    return p;
}

static const char *skip_odd_scalar(source *s, const char *p) {
    switch (characters[(unsigned char)*p]) {
    case DIGIT: return skip_odd_number(s, p);
    case LETTER: return skip_word(s, p, false);
    default: return stop_at(s, p, "a value is missing here");
    }
}

/* What has no brackets. */
static inline const char *skip_scalar(source *s, const char *p) {
    if (*p == '"') return skip_text(s, p + 1);
    const char *end = plain_number(p);
    return end ? end : skip_odd_scalar(s, p);
}

/* From a key's quote to the value; *key is its text. */
static inline const char *skip_key(source *s, const char *p, trace_text *key) {
    if (*p != '"') return stop_at(s, p, "a key is missing here");
    const char *end = skip_text(s, p + 1);
    if (!end) return NULL;
    key->data = p + 1;
    key->size = (size_t)(end - p) - 2;
    p = skip_space(end);
    if (*p != ':') return stop_at(s, p, "a colon is missing here");
    return skip_space(p + 1);
}

/* Behind a value: behind the comma, or (with *last) at the closing bracket. */
static inline const char *skip_comma(source *s, const char *p, char closing, bool *last) {
    p = skip_space(p);
    *last = *p == closing;
    if (*last) return p;
    if (*p != ',') return no_comma(s, p);
    p = skip_space(p + 1);
    *last = *p == closing;
    if (*last) defect(s, TRACE_COMMA);
    return p;
}

/* From an opening bracket to behind its match. */
static const char *skip_nested(source *s, const char *p) {
    char closing[DEEPEST];
    trace_text key;
    int depth = 0;
    for (;;) {
        bool last = false, open = *p == '[' || *p == '{';
        if (open) {
            if (depth == DEEPEST) return stop(s, BAD, p, "brackets are nested too deep");
            closing[depth++] = *p == '[' ? ']' : '}';
            last = *(p = skip_space(p + 1)) == closing[depth - 1];
        } else {
            if (!(p = skip_scalar(s, p))) return NULL;
            if (!(p = skip_comma(s, p, closing[depth - 1], &last))) return NULL;
        }
        while (last) {
            p++;
            if (--depth == 0) return p;
            if (!(p = skip_comma(s, p, closing[depth - 1], &last))) return NULL;
        }
        if (closing[depth - 1] == '}' && !(p = skip_key(s, p, &key))) return NULL;
    }
}

/* ---- Shapes and strides: lists of whole numbers, in lists ---- */

enum { PART_NONE, PART_OPEN, PART_CLOSE, PART_COMMA, PART_ZERO, PART_DIGIT, PART_SPACE, PARTS };
static const uint8_t parts[256] = {
    ['['] = PART_OPEN, [']'] = PART_CLOSE, [','] = PART_COMMA, [' '] = PART_SPACE,
    ['0'] = PART_ZERO, ['1'] = PART_DIGIT, ['2'] = PART_DIGIT, ['3'] = PART_DIGIT,
    ['4'] = PART_DIGIT, ['5'] = PART_DIGIT, ['6'] = PART_DIGIT, ['7'] = PART_DIGIT,
    ['8'] = PART_DIGIT, ['9'] = PART_DIGIT
};

/* What a list may be up to so far, by what it was and the part that follows. */
enum { LIST_OTHER, LIST_BEGIN, LIST_COMMA, LIST_NUMBER, LIST_ZERO, LIST_ITEM, LIST_STATES };
static const uint8_t list_next[LIST_STATES][PARTS] = {
    [LIST_BEGIN] = {[PART_OPEN] = LIST_BEGIN, [PART_CLOSE] = LIST_ITEM, [PART_ZERO] = LIST_ZERO,
                    [PART_DIGIT] = LIST_NUMBER, [PART_SPACE] = LIST_BEGIN},
    [LIST_COMMA] = {[PART_OPEN] = LIST_BEGIN, [PART_ZERO] = LIST_ZERO,
                    [PART_DIGIT] = LIST_NUMBER, [PART_SPACE] = LIST_COMMA},
    [LIST_NUMBER] = {[PART_CLOSE] = LIST_ITEM, [PART_COMMA] = LIST_COMMA,
                     [PART_ZERO] = LIST_NUMBER, [PART_DIGIT] = LIST_NUMBER},
    [LIST_ZERO] = {[PART_CLOSE] = LIST_ITEM, [PART_COMMA] = LIST_COMMA},
    [LIST_ITEM] = {[PART_CLOSE] = LIST_ITEM, [PART_COMMA] = LIST_COMMA}
};

/* From an opening bracket to behind its match; NULL: it is no such list, or a long one. */
static const char *skip_numbers(const char *p) {
    unsigned depth = 0, state = LIST_COMMA;
    for (const char *end = p + FITS; p < end; p++) {
        unsigned part = parts[(unsigned char)*p];
        if ((state = list_next[state][part]) == LIST_OTHER) return NULL;
        depth += part == PART_OPEN;
        if (part == PART_CLOSE && --depth == 0) return p + 1;
    }
    return NULL;
}

static const char *skip_odd_value(source *s, const char *p) {
    const char *end = *p == '[' ? skip_numbers(p) : NULL;
    if (end) return end;
    if (characters[(unsigned char)*p] == OPEN) return skip_nested(s, p);
    bool number = characters[(unsigned char)*p] == DIGIT;
    p = skip_odd_scalar(s, p);
    return p && number && !*p ? stop_at(s, p, "this is not JSON") : p;
}

static inline const char *skip_value(source *s, const char *p) {
    if (*p == '"') return skip_text(s, p + 1);
    const char *end = *p <= '9' ? plain_number(p) : NULL;
    return end ? end : skip_odd_value(s, p);
}

/* ---- Numbers ---- */

static bool decimal_digits(trace_text value, char digits[64], int *count, int *point) {
    const char *p = value.data, *end = value.data + value.size;
    int seen_point = 0, exponent = 0;
    *count = *point = 0;
    for (; p < end && *p != 'e' && *p != 'E'; p++) {
        if (*p == '.' && !seen_point) { seen_point = 1; continue; }
        if (*p < '0' || *p > '9') return false;
        if (*count < 64) digits[(*count)++] = *p;
        else if (seen_point) continue;
        if (!seen_point) ++*point;
    }
    if (p < end) {
        bool negative = p + 1 < end && p[1] == '-';
        for (p += 1 + (p + 1 < end && (p[1] == '-' || p[1] == '+')); p < end; p++) {
            if (*p < '0' || *p > '9') return false;
            if (exponent < 10000) exponent = exponent * 10 + (*p - '0');
        }
        *point += negative ? -exponent : exponent;
    }
    return *count > 0;
}

/* value x 10^shift as an integer, to the nearest. */
static bool decimal_integer(trace_text value, int shift, int64_t *number) {
    char digits[64];
    int count, point;
    bool negative = value.size && value.data[0] == '-';
    trace_text rest = {value.data + negative, value.size - negative};
    if (!decimal_digits(rest, digits, &count, &point)) return false;
    uint64_t sum = 0, most = (uint64_t)INT64_MAX + (negative && !shift);   /* of times it is none */
    for (int i = 0; i < point + shift; i++) {
        unsigned digit = i < count ? (unsigned)(digits[i] - '0') : 0;
        if (sum > (most - digit) / 10) {
            if (i >= count && sum == 0) break;
            return false;
        }
        sum = sum * 10 + digit;
    }
    int next = point + shift;
    if (next >= 0 && next < count && digits[next] >= '5' && sum < most) sum++;
    *number = (int64_t)(negative ? 0 - sum : sum);
    return true;
}

/* The usual text, at most 15 digits and three decimals; everything else the slow way. */
static bool scaled(trace_text value, int decimals, int64_t *number) {
    const char *p = value.data, *end = p + value.size;
    uint64_t sum = 0;
    int left = decimals;
    const char *begin = p;
    while (p < end && *p >= '0' && *p <= '9') sum = sum * 10 + (uint64_t)(*p++ - '0');
    if (p == begin || p - begin > 15) return decimal_integer(value, decimals, number);
    if (p < end && *p == '.') {
        for (p++; left > 0 && p < end && *p >= '0' && *p <= '9'; left--)
            sum = sum * 10 + (uint64_t)(*p++ - '0');
    }
    if (p < end) return decimal_integer(value, decimals, number);
    while (left-- > 0) sum *= 10;
    *number = (int64_t)sum;
    return true;
}

static trace_text unquoted(trace_text value) {
    if (json_is_text(value)) {
        value.data++;
        value.size -= 2;
    }
    return value;
}

size_t trace_counter_id(const trace_event *event, char *buffer, size_t size) {
    char id[128] = "";
    int64_t number;
    if (!(event->has & TRACE_HAS_ID)) return *buffer = '\0', 0;
    if (json_is_text(event->id)) json_decode(event->id, id, sizeof id);
    else if (json_int(event->id, &number)) snprintf(id, sizeof id, "%lld", (long long)number);
    return (size_t)snprintf(buffer, size, "%s%.*s", *id ? " id: " : "", (int)size - 6, id);
}

bool json_int(trace_text value, int64_t *number) {
    return scaled(unquoted(value), 0, number);
}

bool json_ns(trace_text value, int64_t *ns) {
    return scaled(value, 3, ns);
}

bool json_double(trace_text value, double *number) {
    char copy[64], *end;
    value = unquoted(value);
    if (value.size == 0 || value.size >= sizeof copy ||
        characters[(unsigned char)value.data[0]] != DIGIT) return false;
    memcpy(copy, value.data, value.size);
    copy[value.size] = '\0';
    *number = strtod(copy, &end);
    return !*end && *number - *number == 0;      /* neither NaN nor infinite */
}

bool json_is_text(trace_text value) {
    return value.size >= 2 && value.data[0] == '"';
}

/* ---- Texts ---- */

static size_t encode_utf8(unsigned code, char *out) {
    if (code < 0x80) return out[0] = (char)code, 1;
    if (code < 0x800) {
        out[0] = (char)(0xC0 | code >> 6);
        out[1] = (char)(0x80 | (code & 63));
        return 2;
    }
    if (code < 0x10000) {
        out[0] = (char)(0xE0 | code >> 12);
        out[1] = (char)(0x80 | (code >> 6 & 63));
        out[2] = (char)(0x80 | (code & 63));
        return 3;
    }
    out[0] = (char)(0xF0 | code >> 18);
    out[1] = (char)(0x80 | (code >> 12 & 63));
    out[2] = (char)(0x80 | (code >> 6 & 63));
    out[3] = (char)(0x80 | (code & 63));
    return 4;
}

/* The character of the escape at *p (behind the backslash), moving *p behind it. */
static unsigned escape(const char **p, const char *end) {
    static const char from[] = "bfnrt", to[] = "\b\f\n\r\t";
    char c = *(*p)++;
    const char *known = c ? strchr(from, c) : NULL;
    if (known) return (unsigned char)to[known - from];
    if (c != 'u') return (unsigned char)c;
    unsigned code = end - *p >= 4 ? json_hex4(*p) : UINT32_MAX;
    if (code == UINT32_MAX) return 0xFFFD;
    *p += 4;
    if (code >= 0xD800 && code < 0xDC00 && end - *p >= 6 && (*p)[0] == '\\' && (*p)[1] == 'u') {
        unsigned low = json_hex4(*p + 2);
        if (low >= 0xDC00 && low < 0xE000) {
            *p += 6;
            return 0x10000 + ((code - 0xD800) << 10) + (low - 0xDC00);
        }
    }
    return code >= 0xD800 && code < 0xE000 ? 0xFFFD : code;
}

/* Decoded text: size counts what does not fit, too. */
typedef struct decoded { char *out; size_t room, size; } decoded;

static void put(decoded *d, const char *piece, size_t size) {
    size_t left = d->size < d->room ? d->room - d->size : 0;
    if (left > size) left = size;
    if (left) memcpy(d->out + d->size, piece, left);
    d->size += size;
}

/* Names are C texts of UTF-8 from here on: what cannot be in one is U+FFFD. */
static void put_clean(decoded *d, const char *p, const char *end) {
    for (const char *begin = p; p < end; begin = p) {
        size_t size = 1;
        while (p < end && *p && (size = utf8_size((const unsigned char *)p,
                                                  (size_t)(end - p))) != 0) p += size;
        put(d, begin, (size_t)(p - begin));
        if (p == end) return;
        put(d, "\xEF\xBF\xBD", 3);
        p++;
    }
}

/* text without its quotes. It may grow to three times its size: see put_clean. */
static void decode(trace_text text, decoded *d) {
    const char *p = text.data, *end = p + text.size;
    while (p < end) {
        const char *slash = memchr(p, '\\', (size_t)(end - p));
        put_clean(d, p, slash ? slash : end);
        if (!slash || (p = slash + 1) == end) return;
        if ((unsigned char)*p >= 0x80) continue;             /* a letter that needs no escape */
        char bytes[4];
        unsigned code = escape(&p, end);
        put(d, bytes, encode_utf8(code ? code : 0xFFFD, bytes));
    }
}

size_t text_clean(trace_text text, char *buffer, size_t size) {
    decoded d = {buffer, size, 0};
    put_clean(&d, text.data, text.data + text.size);
    return d.size;
}

/* The bytes of a text that was cut at size, without the part of a character at its end. */
static size_t whole_characters(const char *text, size_t size) {
    const unsigned char *p = (const unsigned char *)text;
    for (size_t back = 1; back <= 3 && back <= size; back++) {
        unsigned char c = p[size - back];
        if (c < 0x80) break;
        if (c >= 0xC0) return (c >= 0xF0 ? 4u : c >= 0xE0 ? 3u : 2u) > back ? size - back : size;
    }
    return size;
}

size_t json_decode(trace_text value, char *buffer, size_t size) {
    decoded d = {buffer, size ? size - 1 : 0, 0};
    decode(unquoted(value), &d);
    if (size) buffer[d.size <= d.room ? d.size : whole_characters(buffer, d.room)] = '\0';
    return d.size;
}

bool json_next(trace_text *rest, trace_text *key, trace_text *value) {
    const char *p = rest->data, *end = p + rest->size;
    source text = {.buffer = (char *)(uintptr_t)p, .used = rest->size};
    if (p == end) return false;
    if (*p == '[' || *p == '{') end--;                 /* the first call: without the brackets */
    p = skip_space(p + 1);
    if (p >= end) return false;
    const char *behind = skip_value(&text, p), *colon = behind ? skip_space(behind) : end;
    *key = (trace_text){"", 0};
    if (*p == '"' && colon < end && *colon == ':') {
        *key = (trace_text){p + 1, (size_t)(behind - p) - 2};
        p = skip_space(colon + 1);
        behind = skip_value(&text, p);
    }
    if (!behind || behind > end) return false;
    *value = (trace_text){p, (size_t)(behind - p)};
    behind = skip_space(behind);
    *rest = (trace_text){behind, behind < end ? (size_t)(end - behind) : 0};
    return true;
}

bool json_whole(trace_text text) {
    source s = {.buffer = (char *)(uintptr_t)text.data, .used = text.size};
    return text.size && skip_value(&s, text.data) == text.data + text.size && !s.defective;
}

size_t json_compact(trace_text value, char *to) {
    const char *p = value.data, *end = p + value.size;
    char *at = to;
    while (p < end) {
        char c = *p++;
        if (c == ' ' || c == '\n' || c == '\r' || c == '\t') continue;
        *at++ = c;
        if (c != '"') continue;
        for (; *p != '"'; *at++ = *p++)
            if (*p == '\\') *at++ = *p++;
        *at++ = *p++;
    }
    return (size_t)(at - to);
}

/* ---- Events ---- */

#define KIND(category, kind) {category, sizeof category - 1, kind}
static const struct { const char *category; size_t size; trace_kind kind; } kinds[] = {
    KIND("cpu_op", TRACE_CPU_OP), KIND("Operator", TRACE_CPU_OP),
    KIND("user_annotation", TRACE_ANNOTATION), KIND("python_function", TRACE_PYTHON),
    KIND("cuda_runtime", TRACE_RUNTIME), KIND("cuda_driver", TRACE_RUNTIME),
    KIND("Runtime", TRACE_RUNTIME), KIND("kernel", TRACE_KERNEL), KIND("Kernel", TRACE_KERNEL),
    KIND("gpu_memcpy", TRACE_MEMCPY), KIND("Memcpy", TRACE_MEMCPY),
    KIND("gpu_memset", TRACE_MEMSET), KIND("Memset", TRACE_MEMSET),
    KIND("gpu_user_annotation", TRACE_GPU_ANNOTATION), KIND("cuda_sync", TRACE_SYNC),
    KIND("overhead", TRACE_OVERHEAD), KIND("Trace", TRACE_SPAN), KIND("xpu_runtime", TRACE_RUNTIME),
    KIND("xpu_driver", TRACE_RUNTIME), KIND("mtia_runtime", TRACE_RUNTIME),
    KIND("glow_runtime", TRACE_RUNTIME), KIND("mtia_ccp_events", TRACE_KERNEL),
    KIND("mtia_workloadd", TRACE_KERNEL), KIND("mtia_insight", TRACE_KERNEL),
    KIND("hpu_op", TRACE_KERNEL), KIND("cuda_profiler_range", TRACE_KERNEL),
    KIND("privateuse1_runtime", TRACE_RUNTIME), KIND("privateuse1_driver", TRACE_RUNTIME)
};
#undef KIND

static bool text_ends(trace_text text, const char *tail) {
    size_t size = strlen(tail);
    return text.size >= size && memcmp(text.data + text.size - size, tail, size) == 0;
}

uint8_t trace_kind_of(trace_text category) {
    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (category.size == kinds[i].size &&
            memcmp(category.data, kinds[i].category, category.size) == 0)
            return (uint8_t)kinds[i].kind;
    /* as prof.h joins them: calls of any device's library */
    if (text_ends(category, "_runtime") || text_ends(category, "_driver")) return TRACE_RUNTIME;
    return TRACE_OTHER;
}

/* ---- Categories that are not known: of a device or not, by the row that they are in ---- */

static uint64_t process_key(const trace_event *event) { return hash_mix((uint64_t)event->pid) | 1; }
static uint64_t thread_key(const trace_event *event) {
    return hash_mix(hash_mix((uint64_t)event->pid) * 31 + (uint64_t)event->tid) & ~(uint64_t)1;
}

static bool begins_with(const char *text, const char *const *starts) {
    for (; *starts; starts++)
        if (strncasecmp(text, *starts, strlen(*starts)) == 0) return true;
    return false;
}

/* What metadata say of a process or thread: its label "CPU" or "GPU 0", its name "stream 7", or
   that it stands behind all processes, where Kineto puts devices. */
static void note_row(source *s, const trace_event *event) {
    static const char *const devices[] = {"GPU", "XPU", "MTIA", "HPU", "NPU", "CUDA", "HIP",
                                          "device", "stream", NULL};
    static const char *const hosts[] = {"CPU", "thread", NULL};
    enum { BEHIND_PROCESSES = 5000000 };
    char text[64];
    int64_t index;
    bool labels = text_is(event->name, "process_labels");
    bool thread = text_is(event->name, "thread_name");
    uint64_t key = thread ? thread_key(event) : process_key(event);
    if ((labels && trace_arg_text(event, "labels", text, sizeof text)) ||
        (thread && trace_arg_text(event, "name", text, sizeof text))) {
        if (begins_with(text, devices)) *map_put(&s->rows, key, NULL) = ON_DEVICE;
        else if (begins_with(text, hosts)) *map_put(&s->rows, key, NULL) = ON_HOST;
        trace_text plain = tasks_plain_name((trace_text){text, strlen(text)});
        if (thread && event->tid == CPU_ROW && text_is(plain, "CPU"))
            *map_put(&s->rows, key, NULL) = WHO_RAN;
    } else if (text_is(event->name, "process_sort_index") && !map_get(&s->rows, key) &&
               trace_arg_int(event, "sort_index", &index) && index >= BEHIND_PROCESSES) {
        *map_put(&s->rows, key, NULL) = ON_DEVICE;
    }
}

static bool is_stretch(const source *s, const trace_event *event) {
    const uint64_t *row = s->own && event->tid == CPU_ROW ? map_get(&s->rows, thread_key(event))
                                                          : NULL;
    return row && *row == WHO_RAN && event->kind == TRACE_CPU_OP;
}

/* Its thread's name counts most, then its process' label; then a stream among its arguments. */
static uint8_t guessed_kind(source *s, const trace_event *event) {
    const uint64_t *row = map_get(&s->rows, thread_key(event));
    if (!row) row = map_get(&s->rows, process_key(event));
    bool device = row ? *row == ON_DEVICE : trace_arg(event, "stream") != NULL;
    uint32_t number = intern(&s->unknown, event->cat.data, event->cat.size);
    GROW(s->guesses, number, s->guess_capacity);
    if (number == s->guess_count) memset(&s->guesses[s->guess_count++], 0, sizeof *s->guesses);
    s->guesses[number].count[device]++;
    return device ? TRACE_KERNEL : TRACE_OTHER;
}

/* One line, however many there are. */
static void tell_guesses(const trace_reader *r) {
    enum { SHOWN = 4 };
    const source *s = r->source;
    char text[512];
    size_t used = 0;
    for (size_t i = 0; i < s->guess_count && i < SHOWN; i++)
        used += (size_t)snprintf(text + used, sizeof text - used,
            "%s'%.40s' (%llu events as CPU time, %llu as device time)", i ? ", " : "",
            interned_text(&s->unknown, (uint32_t)i), (unsigned long long)s->guesses[i].count[0],
            (unsigned long long)s->guesses[i].count[1]);
    if (s->guess_count > SHOWN)
        snprintf(text + used, sizeof text - used, " and %zu more", s->guess_count - SHOWN);
    if (s->guess_count && !r->quiet)
        warn(r->path, "categories that are not known, guessed by labels and streams: %s", text);
}

static bool same_text(trace_text a, trace_text b) {
    return a.size == b.size && memcmp(a.data, b.data, a.size) == 0;
}

/* A key that stands in its object before, with the value `old`. false: which of the two counts? */
static bool stands_twice(source *s, trace_text old, trace_text value) {
    defect(s, TRACE_DUPLICATE_KEY);
    if (s->tolerant || same_text(old, value)) return true;
    stop(s, BAD, value.data, "its key stands in this event twice, with another value");
    return false;
}

static inline text_place place_of(const source *s, trace_text text) {
    return (text_place){(uint32_t)(text.data - s->element), (uint32_t)text.size};
}

static inline trace_text text_at(const char *element, text_place of) {
    return (trace_text){element + of.at, of.size};
}

/* The number of the argument with this key, or arg_count. Events have a few; of many, which only a
   hostile file has, a map knows, so that time does not grow with their square. */
static size_t argument_with(source *s, const scanned_event *event, trace_text key) {
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
static bool is_first_argument(source *s, scanned_event *event, const scanned_arg *arg) {
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
static inline const char *skip_known_key(source *s, const char *p, known_arg *known,
                                         trace_text *key, uint64_t *bit) {
    if (known->size && is_same(p, known->text, known->size)) {
        *key = (trace_text){p + 1, known->key_size};
        *bit = known->bit;
        return skip_space(p + known->size);
    }
    const char *begin = p;
    if (!(p = skip_key(s, p, key))) return NULL;
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
static inline const char *skip_known_arg(const source *s, const char *p, known_arg *known,
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
static void know_arg(const source *s, known_arg *known, const scanned_arg *arg, const char *p,
                     bool last) {
    if (known->wait) {
        known->wait--;
        return;
    }
    const char *begin = s->element + arg->key.at - 1;
    bool plain = !s->escapes && !s->defective && (last || *p == '"');
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
static known_list *known_list_of(source *s, const scanned_event *event) {
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
static inline const char *scan_other_arg(source *s, const char *p, known_arg *known,
                                         scanned_arg *arg, uint64_t *bit, bool *last) {
    trace_text key, value;
    if (!(p = skip_known_key(s, p, known, &key, bit))) return NULL;
    value.data = p;
    if (!(p = skip_value(s, p))) return NULL;
    value.size = (size_t)(p - value.data);
    arg->key = place_of(s, key);
    arg->value = place_of(s, value);
    if (!(p = skip_comma(s, p, '}', last))) return NULL;
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
static inline const char *skip_known_run(source *s, const char *p, scanned_event *event,
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
static void know_run(const source *s, const char *p, const scanned_event *event,
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
static inline const char *scan_arg(source *s, const char *p, scanned_event *event, arg_scan *a) {
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
static const char *scan_args(source *s, const char *p, scanned_event *event) {
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

static void set_rare(const source *s, scanned_event *event, text_place *into, trace_text text) {
    if (!event->has_rare) memset(&event->rare, 0, sizeof event->rare);
    event->has_rare = true;
    *into = place_of(s, text);
}

/* A pid or tid: a number, a number in quotes, or any text, which gets a negative number. */
static bool read_id(source *s, scanned_event *event, trace_text value, int64_t *id,
                    text_place *into) {
    if (event->has_rare) *into = (text_place){0, 0};
    if (scaled(unquoted(value), 0, id)) return true;
    if (!json_is_text(value)) return false;
    trace_text text = unquoted(value);
    set_rare(s, event, into, text);
    *id = -(int64_t)(hash_bytes(text.data, text.size) >> 2) - 2;
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
static inline const char *skip_event_key(source *s, const char *p, event_key *key) {
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
    if ((p = skip_key(s, p, &name)) != NULL) *key = key_of(name);
    return p;
#undef KEY
}

/* ts and dur: false only for what does not fit 64 bits. */
static bool read_time(source *s, trace_text value, int64_t *ns, uint32_t *has, uint32_t bit) {
    if (json_ns(value, ns)) {
        *has |= bit;
        return true;
    }
    char digits[64];
    int count, point;
    bool negative = *value.data == '-';
    trace_text rest = {value.data + negative, value.size - negative};
    if (decimal_digits(rest, digits, &count, &point)) return false;
    static const char *const words[] = {"true", "false", "null", NULL};
    if (characters[(unsigned char)*value.data] != LETTER || begins_with(value.data, words))
        defect(s, TRACE_BAD_NUMBER);                     /* else it is NaN */
    return true;
}

static bool read_member(source *s, scanned_event *event, event_key key, trace_text value) {
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
        else defect(s, TRACE_BAD_NUMBER);
        return true;
    case KEY_TID:
        if (read_id(s, event, value, &event->tid, &event->rare.tid_text)) event->has |= bit;
        else defect(s, TRACE_BAD_NUMBER);
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

/* Decodes the event's texts that hold escapes, where any has. */
static void decode_texts(source *s, trace_event *event) {
    if (!(event->has & TRACE_HAS_ESCAPES)) return;
    event->has &= ~(uint32_t)TRACE_HAS_ESCAPES;
    trace_text *texts[] = {&event->name, &event->cat, &event->pid_text, &event->tid_text};
    size_t room = 0;
    for (int i = 0; i < 4; i++) room += 3 * texts[i]->size;          /* see decode */
    if (room > s->decoded_capacity) {
        s->decoded_capacity = room * 2;
        s->decoded = reallocate(s->decoded, s->decoded_capacity);
    }
    decoded d = {s->decoded, s->decoded_capacity, 0};
    for (int i = 0; i < 4; i++) {
        if (!texts[i]->size || !memchr(texts[i]->data, '\\', texts[i]->size)) continue;
        size_t begin = d.size;
        decode(*texts[i], &d);
        *texts[i] = (trace_text){s->decoded + begin, d.size - begin};
    }
    assert(d.size <= d.room);
    if (event->phase == 'X') event->kind = trace_kind_of(event->cat);
}

/* Ends fit 64 bits too, and so does what lies between any two times of the trace, and 0. */
static bool times_fit(source *s, int64_t ts_ns, int64_t dur_ns) {
    int64_t end_ns, all;
    if (__builtin_add_overflow(ts_ns, dur_ns, &end_ns)) return false;
    int64_t first = end_ns < ts_ns ? end_ns : ts_ns;
    int64_t last = end_ns < ts_ns ? ts_ns : end_ns;
    if (first < s->first_ns) s->first_ns = first;
    if (last > s->last_ns) s->last_ns = last;
    return !__builtin_sub_overflow(s->last_ns, s->first_ns, &all);
}

bool trace_is_half(char phase) {
    return phase == 'B' || phase == 'b' || phase == 'E' || phase == 'e';
}

/* Has it those that its phase needs? */
static bool has_times(const scanned_event *event) {
    uint32_t needs = event->phase == 'X' ? TRACE_HAS_TS | TRACE_HAS_DUR :
                     trace_is_half(event->phase) ? TRACE_HAS_TS : 0;
    return (event->has & needs) == needs;
}

static const char no_times[] = "with this event times do not fit 64 bits of nanoseconds";

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
static inline const char *skip_member(source *s, const char *p, event_key key,
                                      scanned_event *event, known_ids *ids, bool *read) {
    const char *plain = scan_plain(p, key, event, ids);
    *read = plain != NULL;
    if (plain) return plain;
    if (*p == '"') return skip_text(s, p + 1);
    return key == KEY_ARGS && *p == '{' ? scan_args(s, p, event) : skip_value(s, p);
}

static inline bool take_member(source *s, scanned_event *event, event_key key, trace_text value) {
    if (key == KEY_ARGS && *value.data == '{') {
        event->args_text = place_of(s, value);
        event->has |= TRACE_HAS_ARGS;
    } else if (key == KEY_NAME && *value.data == '"') {
        event->name = place_of(s, unquoted(value));
        event->has |= TRACE_HAS_NAME;
    } else if (key != KEY_OTHER && !read_member(s, event, key, value)) {
        stop(s, BAD, value.data, "this time does not fit 64 bits of nanoseconds");
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
static inline void take_same(const source *s, const char *p, const known_step *step,
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
static inline const char *scan_known(source *s, const char *p, known_event *known,
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
static inline const char *skip_to_value(source *s, const char *p, event_key *key) {
    bool last;
    if (p != s->element) p = skip_comma(s, p, '}', &last);
    else last = *(p = skip_space(p + 1)) == '}';
    if (!p) return NULL;
    if (!last) return skip_event_key(s, p, key);
    *key = KEY_END;
    return p + 1;
}

/* The members from p on, to behind the event. */
static const char *scan_members(source *s, const char *p, scanned_event *event,
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
static void know_event(source *s, known_event *known, const char *p, uint8_t kind) {
    const char *from = p;
    bool last = *(p = skip_space(p + 1)) == '}', fits = true;
    memset(known->steps, 0, sizeof known->steps);
    known->count = 0;
    known->kind = kind;
    while (!last && fits) {
        event_key key = KEY_OTHER;
        const char *value = p = skip_event_key(s, p, &key);
        p = skip_value(s, p);
        if (!add_same(known, key, (size_t)(value - from), text_between(value, p))) {
            fits = key != KEY_PH && key != KEY_CAT && add_step(known, from, value, key);
            from = p;
        }
        p = skip_comma(s, p, '}', &last);
    }
    if (last && fits) add_step(known, from, p + 1, KEY_END);
}

/* The event was not all as a known one: NULL, or the one that it began as. Where few are alike it
   is not worth it to know each. */
static void note_odd_event(source *s, known_event *known, uint8_t kind) {
    known_texts *all = s->known;
    if (s->defective || s->escapes) return;
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
static const char *scan_odd(source *s, const char *p, scanned_event *event, known_event *known,
                            const known_places *places) {
    event_values had;
    had.seen = 0;
    if (known) note_known(&had, known, places);
    if (!(p = scan_members(s, p, event, &had))) return NULL;
    if (event->phase == 'X') event->kind = trace_kind_of(text_at(s->element, event->cat));
    note_odd_event(s, known, event->kind);
    return p;
}

/* Its texts are as they are written: see decode_texts. */
static const char *scan_event(source *s, const char *p, scanned_event *event) {
    const char *begin = s->element = p;
    s->escapes = false;
    event->name = event->cat = event->id = event->args_text = (text_place){0, 0};
    event->ts_ns = event->dur_ns = event->pid = event->tid = 0;
    event->arg_bits = event->has = event->arg_count = 0;
    event->phase = 0;
    event->kind = TRACE_OTHER;
    event->has_rare = false;
    event->at = (size_t)(p - s->buffer);
    if (!s->known) s->known = allocate(sizeof *s->known);
    known_event *known = known_begin(s->known, p);
    known_places places;
    places.count = 0;
    if (known && !(p = scan_known(s, p, known, event, &places))) return NULL;
    if (known && known->steps[places.count - 1].key == KEY_END) event->kind = known->kind;
    else if (!(p = scan_odd(s, p, event, known, &places))) return NULL;
    event->size = (uint32_t)(p - begin);
    if (!times_fit(s, event->ts_ns, event->dur_ns)) return stop(s, BAD, begin, no_times);
    if (!has_times(event)) defect(s, TRACE_NO_TIME);
    if (event->dur_ns < 0) {
        event->dur_ns = 0;
        defect(s, TRACE_NEGATIVE);
    }
    if (s->escapes) event->has |= TRACE_HAS_ESCAPES;
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

/* The event as callers have it; its arguments are `args`, of which callers ask for few. (Field by
   field: gcc clears a whole struct of this size slowly.) */
static void hand_out(source *s, const scanned_event *from, const scanned_arg *args,
                     trace_event *event) {
    const char *element = s->buffer + from->at;
    const trace_text none = {NULL, 0};
    event->offset = s->base + from->at;
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

/* ---- Legacy record streams: an array of threads' records, or the member "threads" ---- */

/* Is there an array of arrays of objects at *p (a memory timeline is one of numbers)? *p moves to
   where that shows. */
static bool is_array_of_lists(const char **p) {
    if (**p != '[') return false;
    *p = skip_space(*p + 1);
    while (**p == '[') {
        *p = skip_space(*p + 1);
        if (**p != ']') return **p == '{';
        *p = skip_space(*p + 1);             /* a thread without records */
        if (**p == ',') *p = skip_space(*p + 1);
    }
    return false;
}

/* Where the threads' array begins in the object at p, as far as the text goes; NULL: there is none
   before the events. device: of the member use_device. */
static const char *find_threads(source *s, const char *p, trace_text *device) {
    bool last = *(p = skip_space(p + 1)) == '}';
    while (!last) {
        trace_text key;
        if (!(p = skip_key(s, p, &key)) || text_is(key, "traceEvents")) return NULL;
        const char *begin = p, *shown = p;
        if (text_is(key, "threads")) return is_array_of_lists(&shown) ? p : stop_at(s, shown, NULL);
        if (!(p = skip_value(s, p))) return NULL;
        if (text_is(key, "use_device")) *device = (trace_text){begin, (size_t)(p - begin)};
        if (!(p = skip_comma(s, p, '}', &last))) return NULL;
    }
    return NULL;
}

/* use_device may stand behind the threads. */
static trace_text device_behind(trace_text rest) {
    trace_text key, value, device = {"", 0};
    while (json_next(&rest, &key, &value))
        if (text_is(key, "use_device")) device = value;
    return device;
}

/* The stream from p on, whole or up to the file's end, is replaced by a trace made of it. */
static const char *scan_records(trace_reader *r, const char *p, const char *threads,
                                trace_text device) {
    source *s = r->source;
    const char *end = skip_value(s, p), *file_end = s->buffer + s->used;
    if (!end && (s->outcome == BAD || !s->ended)) return NULL;
    s->records_cut = !end;
    if (!end && !r->quiet)
        warn(r->path, "byte %llu: the file ends early; read up to there",
             (unsigned long long)r->bytes);
    end = end ? skip_space(end) : file_end;
    if (end == file_end && !s->ended) return stop(s, MORE, end, NULL);
    if (end != file_end) return stop(s, BAD, end, "something follows the end of the records");
    if (!s->records_cut && *p == '{') device = device_behind((trace_text){p, (size_t)(end - p)});
    const char *lists_end = skip_value(s, threads);
    trace_text lists = {threads, (size_t)((lists_end ? lists_end : end) - threads)};
    size_t size;
    char *trace = legacy_trace(r->path, lists, device, PADDING, &size);
    free(s->read);
    s->read = s->buffer = trace;
    s->capacity = s->used = size;
    s->at = s->base = 0;
    s->from_records = true;
    s->defective = false;
    return trace;
}

/* Where the next place to scan is when the file is such a stream; *is_one: it is, or more text is
   needed to say so. */
static const char *scan_if_records(trace_reader *r, const char *p, bool *is_one) {
    source *s = r->source;
    trace_text device = {"", 0};
    s->outcome = BAD;
    const char *shown = p, *threads = NULL;
    if (*p == '{') threads = find_threads(s, p, &device);
    else threads = is_array_of_lists(&shown) ? p : stop_at(s, shown, NULL);
    if (s->defective) memset(s->defects, 0, sizeof s->defects);
    s->defective = false;
    if (threads) return *is_one = true, scan_records(r, p, threads, device);
    *is_one = s->outcome == MORE && !s->ended && s->buffer + s->used - p < CHUNK;
    return NULL;
}

/* ---- The elements of a file ---- */

/* A byte order mark, or a bracket beside a NUL. */
static bool is_utf16(const char *p, size_t left) {
    const unsigned char *b = (const unsigned char *)p;
    return left > 1 && ((b[0] == 0xFF && b[1] == 0xFE) || (b[0] == 0xFE && b[1] == 0xFF) ||
                        ((b[0] == '{' || b[0] == '[') && !b[1]) ||
                        (!b[0] && (b[1] == '{' || b[1] == '[' || (!b[1] && left > 3 && b[3]))));
}

/* Is the file of one of the other formats, or are more bytes needed to tell? */
static bool find_format(trace_reader *r, const char *first, size_t size) {
    static const source_format *const formats[] = {&raw_format, &folded_format};
    enum { ENOUGH = 1 << 16 };
    source *s = r->source;
    bool more = false;
    for (size_t i = 0; i < sizeof formats / sizeof *formats && !s->format; i++) {
        int is = size ? formats[i]->is(first, size) : 0;
        more |= is < 0 && !s->ended && size < ENOUGH;
        if (is > 0) s->format = formats[i];
    }
    if (!s->format) return more;
    source_desc desc = {.to = &s->made, .path = r->path, .as_ended = r->as_ended};
    desc.begin = unpack_plain(s->file, &desc.fd);
    s->made_by = s->format->open(&desc);
    r->numbered = true;
    return true;
}

/* Behind the next element; *item says what it was, TRACE_END: nothing to hand out. */
static const char *scan_start(trace_reader *r, const char *p) {
    source *s = r->source;
    size_t left = (size_t)(s->buffer + s->used - p);
    if (left < 3 && !s->ended) return stop(s, MORE, p, NULL);
    if (find_format(r, p, left)) return s->format ? p : stop(s, MORE, p, NULL);
    if (left >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0) {      /* JSON has none: not copied */
        p += 3;
        s->at += 3;
    }
    p = skip_space(p);
    if (is_utf16(p, left)) return stop(s, BAD, p, "this is UTF-16 or UTF-32, and JSON is UTF-8");
    if (*p != '[' && *p != '{') return stop_at(s, p, "this is neither a JSON object nor an array");
    if (!s->from_records) {
        bool is_one;
        const char *next = scan_if_records(r, p, &is_one);
        if (is_one) return next;
    }
    r->array_form = *p == '[';
    s->where = *p == '[' ? IN_EVENTS : IN_OBJECT;
    return p + 1;
}

/* What is added up of times and this base fits 64 bits, too. */
static bool base_fits(const trace_reader *r) {
    int64_t all;
    return !__builtin_add_overflow(r->base_time_ns, r->source->first_ns, &all) &&
           !__builtin_add_overflow(r->base_time_ns, r->source->last_ns, &all);
}

static const char not_with_base[] =
    "with the baseTimeNanoseconds times do not fit 64 bits of nanoseconds";

/* Of a text of the file; of what was made, its number. */
static uint64_t offset_of(const source *s, const char *p) {
    return s->format ? s->made_count : s->base + (uint64_t)(p - s->buffer);
}

/* false: there is another one, before it; or times do not fit with it. */
static bool read_base(trace_reader *r) {
    trace_text value = r->member.value;
    int64_t ns;
    uint64_t offset = offset_of(r->source, value.data);
    if (!json_int(value, &ns)) {
        if (!r->quiet)
            warn(r->path, "byte %llu: baseTimeNanoseconds is no whole number of 64 bits: left out",
                 (unsigned long long)offset);
        return true;
    }
    if (r->base_offset && r->base_time_ns != ns && !r->tolerant) {
        stop(r->source, BAD, value.data, "a second baseTimeNanoseconds, of another time");
        return false;
    }
    r->base_time_ns = ns;
    r->base_offset = offset;
    if (!base_fits(r)) stop(r->source, BAD, value.data, not_with_base);
    return base_fits(r);
}

/* The losses that a member tells of, or an event of prof.h's arrays. */
static void read_losses(trace_reader *r, trace_text key, trace_text value) {
    bool cuda = text_is(key, "prof_cuda");
    bool told = cuda || text_is(key, "prof") || text_is(key, "prof counts");
    if (!told || !value.size) return;
    r->source->own |= text_is(key, "prof");
    r->losses_offset = offset_of(r->source, value.data);
    if (cuda) losses_read_cuda(r->losses, value);
    else losses_read(r->losses, value);
}

/* To the next element or member, or (with *last) to the closing bracket. due: not the first. */
static const char *skip_to_next(source *s, const char *p, bool due, char closing, bool *last) {
    if (due) return skip_comma(s, p, closing, last);
    p = skip_space(p);
    *last = *p == closing;
    return p;
}

/* Does the element hold nothing that is to be mended? */
static bool is_json(const source *s) {
    uint64_t odd = 0;
    for (int i = 0; s->defective && i < TRACE_MENDED; i++) odd |= s->defects[i];
    return !odd;
}

static bool mended_fits(source *s, const char *begin) {
    return s->mended.size <= LARGEST || (stop(s, BAD, begin, too_long), false);
}

static bool mend_member(source *s, trace_member *member) {
    const char *begin = member->key.data - 1;
    s->mended.size = 0;
    json_mend(&s->mended, (trace_text){begin, member->key.size + 2});
    size_t key = s->mended.size;
    json_mend(&s->mended, member->value);
    member->key = (trace_text){s->mended.data + 1, key - 2};
    member->value = (trace_text){s->mended.data + key, s->mended.size - key};
    return mended_fits(s, begin);
}

/* The event once more, from this text of it. */
static bool scan_again(source *s, trace_event *event, trace_text text) {
    const source before = *s;
    const char *begin = event->raw.data;
    s->buffer = (char *)(uintptr_t)text.data;
    s->used = text.size;
    s->base = event->offset;
    scanned_event scanned;
    bool good = scan_event(s, s->buffer, &scanned) != NULL;
    if (good) hand_out(s, &scanned, s->args, event);
    s->buffer = before.buffer;
    s->used = before.used;
    s->base = before.base;
    s->fault = begin;
    memcpy(s->defects, before.defects, sizeof s->defects);
    if (good) decode_texts(s, event);
    return good;
}

/* From JSON in its place. */
static bool mend_event(source *s, trace_event *event) {
    s->mended.size = 0;
    json_mend(&s->mended, event->raw);
    return mended_fits(s, event->raw.data) &&
           scan_again(s, event, (trace_text){s->mended.data, s->mended.size});
}

/* Of an event that was made of no text: makes one. */
static bool make_text(source *s, trace_event *event) {
    const trace_event made = *event;
    trace_text text;
    size_t padded;
    output_forget(&s->text);
    event_write(&s->text, event);
    text.data = output_memory(&s->text, &text.size);
    output_write(&s->text, (const char[PADDING]){0}, PADDING);
    text.data = output_memory(&s->text, &padded);
    bool good = scan_again(s, event, text);
    event->depth = made.depth;
    event->site = made.site;
    return good;
}

static const char *scan_member(trace_reader *r, const char *p, trace_item *item) {
    source *s = r->source;
    bool last;
    if (!(p = skip_to_next(s, p, s->any_member, '}', &last))) return NULL;
    if (last) {
        s->where = AT_END;
        return p + 1;
    }
    if (!(p = skip_key(s, p, &r->member.key))) return NULL;
    if (!*s->first_key)
        snprintf(s->first_key, sizeof s->first_key, "%.*s",
                 (int)(r->member.key.size < 39 ? r->member.key.size : 39), r->member.key.data);
    if (text_is(r->member.key, "traceEvents")) {
        if (s->has_events && !r->tolerant)
            return stop(s, BAD, p, "a second traceEvents: which of the two is the trace?");
        s->has_events = true;
        if (*p == '[') s->where = IN_EVENTS;
        else if (*p) return stop(s, BAD, p, "traceEvents is no array: this is no trace");
    }
    if (*p == '[' && text_is(r->member.key, "nodes")) s->where = IN_NODES;
    s->has_nodes |= s->where == IN_NODES;
    if (s->where != IN_OBJECT) {
        s->any_member = true;
        s->any_here = false;
        return p + 1;
    }
    r->member.value.data = p;
    if (!(p = skip_value(s, p))) return NULL;
    r->member.value.size = (size_t)(p - r->member.value.data);
    if (*p == '\0' && p == s->buffer + s->used && !s->ended) return stop(s, MORE, p, NULL);
    if (text_is(r->member.key, "baseTimeNanoseconds") && !read_base(r)) return NULL;
    read_losses(r, r->member.key, r->member.value);
    if (!is_json(s) && !mend_member(s, &r->member)) return NULL;
    s->any_member = true;
    *item = TRACE_MEMBER;
    return p;
}

static void note_event(source *s, const trace_event *event) {
    static const char *const marks[] = {"Record Window", "Iteration Start", NULL};
    if (s->any_event && s->any_work) return;
    bool instant = event->phase == 'i' || event->phase == 'I';
    bool own = event->kind == TRACE_SPAN || text_is(event->cat, "Trace") ||
               (instant && !event->cat.size && event->name.size > 15 &&
                begins_with(event->name.data, marks));
    s->any_event |= (event->has & (TRACE_HAS_PHASE | TRACE_HAS_TS)) != 0;
    s->any_work |= event->phase && event->phase != 'M' && !own;
}

/* No event: a row of a memory timeline, where that is looked for; else left out. */
static const char *scan_row(trace_reader *r, const char *begin, trace_item *item) {
    source *s = r->source;
    const char *p = skip_value(s, begin);
    if (!p) return NULL;
    s->any_here = true;
    if (*begin != '[' || !r->takes_rows || !r->array_form || r->events) {
        defect(s, TRACE_NOT_OBJECT);
        return p;
    }
    r->row = (trace_text){begin, (size_t)(p - begin)};
    r->row_offset = s->base + (uint64_t)(begin - s->buffer);
    s->any_event = s->any_work = true;
    *item = TRACE_ROW;
    return p;
}

/* The event that r->event is: behind it, or NULL. */
static const char *accept_event(trace_reader *r) {
    source *s = r->source;
    const trace_event *event = &r->event;
    const char *begin = event->raw.data, *p = begin + event->raw.size;
    decode_texts(s, &r->event);
    note_event(s, event);
    if (event->phase == 'M' && text_is(event->name, "prof") &&           /* of prof.h's arrays */
        trace_arg_int(event, "baseTimeNanoseconds", &r->base_time_ns))
        r->base_offset = event->offset;
    if (!base_fits(r)) return stop(s, BAD, begin, not_with_base);
    if (event->phase == 'M') read_losses(r, event->name, event->args_text);
    if (s->format ? r->with_text && !make_text(s, &r->event)
                  : !is_json(s) && !mend_event(s, &r->event)) return NULL;
    s->any_here = true;
    return p;
}

/* ---- Events that another thread scans ahead: see read_ahead.h ---- */

/* Only those that are as they should be. What is not, stops it, and is scanned again and told
   where it is in turn: see scan_element. */
static void scan_block(void *user, ahead_block *b) {
    source *s = user;
    const char *p = s->buffer = b->text, *next;
    bool last = false;
    s->used = b->used;
    s->base = b->base;
    s->args = b->args;
    s->arg_capacity = b->arg_capacity;
    s->arg_first = b->count = 0;
    s->outcome = MORE;
    while ((next = skip_comma(s, p, ']', &last)) != NULL && *next == '{') {
        scanned_event event;         /* nothing is read where the other processor reads */
        next = scan_event(s, next, &event);
        if (!next || s->defective) break;
        GROW(b->events, b->count, b->capacity);
        memcpy(&b->events[b->count], &event, offsetof(scanned_event, rare));
        if (event.has_rare) b->events[b->count].rare = event.rare;
        b->count++;
        s->arg_first += event.arg_count;
        p = next;
    }
    b->args = s->args;
    b->arg_capacity = s->arg_capacity;
    b->scanned = (size_t)(p - b->text);
    bool more = next ? next == s->buffer + s->used : s->outcome == MORE;
    b->last |= s->defective || !more;
}

/* The next event of the block; NULL: there are no more. */
static const char *take_ahead(trace_reader *r) {
    source *s = r->source;
    const ahead_block *b = s->block;
    if (s->taken == b->count) return stop(s, MORE, b->text + b->scanned, NULL);
    hand_out(s, &b->events[s->taken++], b->args + s->args_taken, &r->event);
    s->args_taken += r->event.arg_count;
    if (!times_fit(s, r->event.ts_ns, r->event.dur_ns))
        return stop(s, BAD, r->event.raw.data, no_times);
    return accept_event(r);
}

static const char *scan_element(trace_reader *r, const char *p, trace_item *item) {
    source *s = r->source;
    bool last;
    if (s->block) return *item = TRACE_EVENT, take_ahead(r);
    if (!(p = skip_to_next(s, p, s->any_here, ']', &last))) return NULL;
    if (last) {
        s->where = r->array_form ? AT_END : IN_OBJECT;
        return p + 1;
    }
    s->any_element = true;
    if (*p != '{') return scan_row(r, p, item);
    *item = s->where == IN_NODES ? TRACE_NODE : TRACE_EVENT;
    scanned_event scanned;
    if (!scan_event(s, p, &scanned)) return NULL;
    hand_out(s, &scanned, s->args, &r->event);
    return accept_event(r);
}

static const char *scan_next(trace_reader *r, const char *p, trace_item *item) {
    switch (r->source->where) {
    case AT_START: return scan_start(r, p);
    case IN_OBJECT: return scan_member(r, p, item);
    case IN_EVENTS: case IN_NODES: return scan_element(r, p, item);
    case AT_END: break;
    }
    p = skip_space(p);
    if (*p || p < r->source->buffer + r->source->used)
        return stop(r->source, BAD, p, "something follows the end of the trace");
    return stop(r->source, MORE, p, NULL);
}

/* ---- The file ---- */

/* The file cannot be read on. What was read counts; where that is nothing, it cannot be read. */
static void break_off(trace_reader *r, uint64_t offset, const char *why) {
    const source *s = r->source;
    r->failed = !s->any_read;
    r->truncated = !r->failed;
    r->broken = why;
    r->broken_offset = offset;
    const char *unit = r->numbered ? "item" : "byte";
    if (r->failed) fail(r->path, "%s %llu: %s", unit, (unsigned long long)offset, why);
    else note_cut_input();
    if (r->truncated && !r->quiet)
        warn(r->path, "%s %llu: %s; read up to there", unit, (unsigned long long)offset, why);
}

static void note_read(trace_reader *r, uint64_t packed) {
    const source *s = r->source;
    r->bytes = s->base + s->used;
    progress("reading", s->file_size ? packed : r->bytes, s->file_size);
}

static void stop_ahead(source *s) {
    ahead_stop(s->ahead);
    map_free(&s->scanner->keys);
    free(s->scanner->decoded);
    free(s->scanner->known);
    free(s->scanner);
    s->scanner = NULL;
    s->ahead = NULL;
    s->block = NULL;
    s->buffer = s->read;
}

/* Two threads are faster than one where their processors share a cache. Where they do not, handing
   events over may take longer than scanning them. So both ways are timed, again and again, and the
   faster one goes on, for twice as long where it was the faster one before. What a new thread reads
   first takes longer than the rest: that does not count. */
enum { START = 8 * AHEAD_BYTES, TRIAL = 32 * AHEAD_BYTES, STRETCH = 32 * TRIAL,
       LONGEST = 8 * STRETCH };

static double seconds(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* starts: a thread; its clock is begun by note_pace. */
static void begin_pace(pace *w, uint64_t at, uint64_t bytes, bool starts) {
    w->begin = at + (starts ? START : 0);
    w->until = w->begin + bytes;
    w->begin_s = starts ? 0 : seconds();
}

static void note_pace(pace *w, uint64_t at) {
    if (w->begin_s > 0 || at < w->begin) return;
    w->begin = at;
    w->begin_s = seconds();
}

/* Up to `at` the file was read in one way: is the next stretch to be read ahead? */
static bool next_way(pace *w, bool ahead, uint64_t at) {
    if (w->begin_s <= 0) return begin_pace(w, at, TRIAL, true), true;    /* it was stopped */
    if (at <= w->begin) return ahead;
    w->cost[ahead] = (seconds() - w->begin_s) / (double)(at - w->begin);
    if (w->until - w->begin > TRIAL) w->cost[!ahead] = 0;        /* it may have changed */
    bool trial = w->cost[!ahead] <= 0, change = trial || w->cost[!ahead] < w->cost[ahead];
    bool next = ahead != change, again = w->stretch && w->ahead == next;
    if (!trial) {
        w->stretch = !again ? STRETCH : w->stretch < LONGEST ? 2 * w->stretch : LONGEST;
        w->ahead = next;
    }
    begin_pace(w, at, trial ? TRIAL : w->stretch, next && !ahead);
    return next;
}

/* Is the rest of the array to be read ahead? */
static bool start_ahead(source *s) {
    size_t left = s->used - s->at;
    bool may = s->where == IN_EVENTS && s->any_here && left <= AHEAD_BYTES / 2 &&
               s->base >= s->ahead_again && !unpack_makes(s->file);
    if (!may) return false;
    if (s->pace.until && !next_way(&s->pace, false, s->base + s->at)) {
        s->ahead_again = s->pace.until;
        return false;
    }
    if (!s->pace.until) begin_pace(&s->pace, s->base + s->at, TRIAL, true);
    s->leaving = false;
    s->ahead_again = s->base + s->at;
    s->scanner = allocate(sizeof *s->scanner);
    s->ahead = ahead_start(s->file, (trace_text){s->buffer + s->at, left}, s->base + s->at,
                           scan_block, s->scanner);
    if (s->ahead) return true;
    free(s->scanner);
    s->scanner = NULL;
    return false;
}

/* The next block; behind the last one this thread reads on itself, from what is left of it. Where
   that comes soon, there may be more of what stopped it. */
static void take_block(trace_reader *r) {
    enum { SOON = 1 << 20, LATER = 1 << 22 };
    source *s = r->source;
    const ahead_block *b = s->block;
    if (b && b->last) {
        s->base = b->base + b->scanned;
        s->used = b->used - b->scanned;
        memcpy(s->read, b->text + b->scanned, s->used);
        s->used += ahead_rest(s->ahead, s->read + s->used);
        memset(s->read + s->used, 0, PADDING);
        if (s->base < s->ahead_again + SOON) s->ahead_again = s->base + LATER;
        if (s->leaving) begin_pace(&s->pace, s->base, s->pace.until - s->pace.begin, false);
        if (s->leaving) s->ahead_again = s->pace.until;
        stop_ahead(s);
    } else {
        b = s->block = ahead_take(s->ahead);
        s->taken = s->args_taken = 0;
        s->buffer = b->text;
        s->base = b->base;
        s->used = b->used;
        note_pace(&s->pace, s->base);
        bool through = !s->leaving && s->base >= s->pace.until;
        s->leaving |= through && !next_way(&s->pace, true, s->base);
        if (through && s->leaving) ahead_end(s->ahead);
        note_read(r, b->packed);
    }
    s->at = 0;
}

/* Reads on behind the text that is still needed. false: nothing is left, or it cannot be read. */
static bool refill(trace_reader *r) {
    source *s = r->source;
    if (s->ended) return false;
    if (s->ahead || start_ahead(s)) return take_block(r), true;
    memmove(s->buffer, s->buffer + s->at, s->used - s->at);
    s->base += s->at;
    s->used -= s->at;
    s->at = 0;
    if (s->capacity - s->used < CHUNK) {
        s->capacity *= 2;
        if (s->capacity > LARGEST) {
            s->ended = true;
            break_off(r, s->base, too_long);
            return false;
        }
        s->read = s->buffer = reallocate(s->read, s->capacity + PADDING);
    }
    size_t room = s->capacity - s->used, piece = s->used > CHUNK ? s->used : CHUNK;
    const char *why;
    long got = unpack_read(s->file, s->buffer + s->used, piece < room ? piece : room, &why);
    if (got <= 0) {
        s->ended = true;
        s->gzip_cut = unpack_cut(s->file);
        if (unpack_unreadable(s->file)) r->quiet = false;   /* another reading did not meet that */
        if (got < 0) break_off(r, s->base + s->used, why);
        got = 0;
    }
    s->used += (size_t)got;
    memset(s->buffer + s->used, 0, PADDING);
    note_read(r, unpack_offset(s->file));
    return true;
}

static void end_early(trace_reader *r, const char *what) {
    source *s = r->source;
    r->truncated = true;
    note_cut_input();
    if (!r->quiet)
        warn(r->path, "byte %llu: the %s ends early; read up to there",
             (unsigned long long)(s->base + s->at), what);
}

/* A whole JSON file that is no trace: says what it is. */
static void tell_no_trace(trace_reader *r) {
    const source *s = r->source;
    r->failed = true;
    if (r->array_form) fail(r->path, "this is no trace: the array holds no events");
    else if (s->has_nodes)
        fail(r->path, "this is an execution trace, without times: see prof et");
    else if (*s->first_key)
        fail(r->path, "this is no trace: it has no traceEvents, but \"%s\"", s->first_key);
    else fail(r->path, "this is no trace: it has no traceEvents");
}

/* Nothing is left to read: was this the end, and was it a trace? */
static void finish_json(trace_reader *r) {
    source *s = r->source;
    const char *p = skip_space(s->buffer + s->at);
    bool array = r->array_form && s->where == IN_EVENTS;
    if (array && *p == ',') p = skip_space(p + 1);
    bool rest = p < s->buffer + s->used;
    bool known = r->array_form ? s->any_event || !s->any_element : s->has_events;
    if (s->gzip_cut && !s->records_cut && s->where != AT_START) {
        end_early(r, "gzip file");
    } else if (s->where == AT_START && s->gzip_cut) {
        r->failed = true;
        fail(r->path, "the gzip file ends early, before anything of a trace");
    } else if (s->where == AT_START) {
        r->failed = true;
        fail(r->path, r->bytes ? "byte %llu: there is no JSON text" : "the file is empty",
             (unsigned long long)r->bytes);
    } else if (rest || (s->where != AT_END && !array)) {
        end_early(r, "file");
    } else if (!known && !(s->has_nodes && r->takes_nodes)) {
        tell_no_trace(r);
    } else if (array) {
        r->open_array = true;
        if (!r->quiet)
            warn(r->path, "byte %llu: the array has no ], as a run that crashed leaves it; its "
                 "events are whole", (unsigned long long)(s->base + s->at));
    }
}

/* The same of any format. */
static void finish(trace_reader *r) {
    source *s = r->source;
    if (s->finished || r->failed) return;
    s->finished = true;
    if (!s->format) finish_json(r);
    else if (s->gzip_cut) end_early(r, "gzip file");
    if (s->format ? s->format->tell(s->made_by, r->path) : unpack_tell(s->file, r->path)) {
        r->truncated = true;
        note_cut_input();
    }
    if (unpack_rest(s->file)) {
        note_cut_input();
        if (!r->quiet) warn(r->path, "what follows its gzip data is none: left out");
    }
    r->empty = !r->failed && !r->truncated && !s->any_work && !s->has_nodes &&
               !r->losses->summed;
    if (r->empty && !r->quiet)
        warn(r->path, "the trace is of an empty session: nothing was recorded in it");
}

static void count_defects(trace_reader *r) {
    source *s = r->source;
    for (int i = 0; i < TRACE_DEFECTS; i++) {
        if (!r->defects[i]) r->first_defect[i] = s->base + s->at;
        r->defects[i] += s->defects[i];
    }
}

/* Hands on what lies between the last event and this one, or all up to p where there is none. */
static void copy_before(trace_reader *r, const char *p) {
    const source *s = r->source;
    const char *from = s->buffer + s->at;
    const char *to = r->item == TRACE_EVENT ? s->buffer + (r->event.offset - s->base) : p;
    mended piece = {0};
    if (is_json(s)) {
        output_write(r->copy, from, (size_t)(to - from));
    } else {
        json_mend(&piece, (trace_text){from, (size_t)(to - from)});
        output_write(r->copy, piece.data, piece.size);
        free(piece.data);
    }
}

/* What is left to hand on at the end; a file that ends early gets its closing brackets. */
static void copy_end(trace_reader *r) {
    source *s = r->source;
    s->copied = true;
    if (!r->truncated && !r->open_array) {
        output_write(r->copy, s->buffer + s->at, s->used - s->at);
        return;
    }
    if (s->where == IN_EVENTS || s->where == IN_NODES) output_text(r->copy, "\n]");
    if (s->where != AT_END && !r->array_form) output_text(r->copy, "}");
    output_text(r->copy, "\n");
}

uint64_t trace_pair_key(const trace_event *event) {
    uint64_t key = hash_mix((uint64_t)event->pid + 1);
    trace_text id = event->id, rest = event->id2, name, value;
    if (event->phase == 'B' || event->phase == 'E')
        return hash_mix(key * 31 + (uint64_t)event->tid) | 1;
    while (json_next(&rest, &name, &value)) {
        if (text_is(name, "global")) key = 0;
        id = value;
    }
    key = (key ^ hash_bytes(id.data, id.size)) * 31;
    return hash_mix(key + hash_bytes(event->cat.data, event->cat.size)) & ~(uint64_t)1;
}

static void count_odd(trace_reader *r, trace_defect what) {
    if (r->defects[what]++ == 0) r->first_defect[what] = r->event.offset;
}

/* Is this event handed out, or is it the begin of one, or an end of nothing? */
static bool is_whole(trace_reader *r) {
    source *s = r->source;
    trace_event *event = &r->event;
    if (r->as_written || (!s->pairs && !trace_is_half(event->phase))) return true;
    if (!s->pairs) s->pairs = pairs_open();
    int64_t end_ns = event->ts_ns;
    pair_result result = pairs_take(s->pairs, event,
                                    trace_is_half(event->phase) ? trace_pair_key(event) : 0);
    if (result == PAIR_NO_BEGIN) count_odd(r, TRACE_NO_BEGIN);
    if (event->is_pair) event->kind = trace_kind_of(event->cat);
    if (event->is_pair && end_ns < event->ts_ns) count_odd(r, TRACE_NEGATIVE);
    return result == PAIR_WHOLE;
}

/* At the end of the file: the next begin without an end. */
static bool next_open(trace_reader *r) {
    if (!r->source->pairs || !pairs_left(r->source->pairs, &r->event)) return false;
    r->event.kind = trace_kind_of(r->event.cat);
    count_odd(r, TRACE_NO_END);
    return true;
}

static void classify_odd(trace_reader *r) {
    trace_event *event = &r->event;
    if (event->is_async && text_is(event->cat, "async")) return;   /* prof.h's: of no device */
    if (event->phase == 'M') note_row(r->source, event);
    else if (event->phase == 'X' && event->kind == TRACE_OTHER && event->cat.size)
        event->kind = guessed_kind(r->source, event);
    else if (event->phase == 'X' && is_stretch(r->source, event))
        event->kind = TRACE_TASK;
}

/* Of most complete events the category has told all. */
static inline void classify(trace_reader *r) {
    const trace_event *event = &r->event;
    bool plain = event->phase == 'X' && event->kind != TRACE_OTHER && !r->source->own;
    if (event->phase == 'M' || (event->phase == 'X' && !plain)) classify_odd(r);
}

/* ---- What comes next ---- */

/* Takes a step in the text. false: nothing is left of it. */
static bool next_in_text(trace_reader *r) {
    source *s = r->source;
    if (r->truncated) return false;
    if (s->defective) memset(s->defects, 0, sizeof s->defects);
    s->defective = false;
    const char *p = scan_next(r, s->buffer + s->at, &r->item);
    if (p) {
        if (s->defective) count_defects(r);
        if (r->copy && !s->format) copy_before(r, p);
        s->at = (size_t)(p - s->buffer);
        s->any_read |= r->item != TRACE_END && r->item != TRACE_MEMBER;
        return true;
    }
    r->item = TRACE_END;
    if (s->outcome == BAD) {
        break_off(r, s->base + (uint64_t)(s->fault - s->buffer), s->why);
    } else if (!r->truncated && !refill(r)) {
        if (!r->truncated) finish(r);
        r->truncated |= s->records_cut;
        if (s->records_cut) note_cut_input();
        return false;
    }
    return true;
}

/* Of a format that is not JSON: the next item that is made already, if there is one. */
static bool take_made(trace_reader *r) {
    source *s = r->source;
    queued item;
    bool good;
    if (s->finished || !queue_next(&s->made, &item)) return false;
    s->made_count++;
    r->item = item.item;
    if (item.item == TRACE_MEMBER) {
        r->member = item.member;
        good = !text_is(r->member.key, "baseTimeNanoseconds") || read_base(r);
        read_losses(r, r->member.key, r->member.value);
    } else {
        r->event = item.event;
        r->event.offset = s->made_count;
        if (r->event.dur_ns < 0) count_odd(r, TRACE_NEGATIVE);
        if (r->event.dur_ns < 0) r->event.dur_ns = 0;
        good = times_fit(s, r->event.ts_ns, r->event.dur_ns) || (stop(s, BAD, "", no_times), false);
        good = good && accept_event(r) != NULL;
    }
    if (good) return s->any_read |= r->item == TRACE_EVENT, true;
    r->item = TRACE_END;
    s->finished = true;
    s->where = AT_END;
    break_off(r, s->made_count, s->why);
    return true;
}

/* Gives the source more of the file. false: there is no more, and all is made. */
static bool feed(trace_reader *r) {
    enum { PIECE = 1 << 14 };
    source *s = r->source;
    size_t piece = s->used - s->at;
    if (!piece && !s->ended) return refill(r), true;
    if (!piece) return s->format->end(s->made_by);
    if (piece > PIECE) piece = PIECE;
    s->format->push(s->made_by, s->buffer + s->at, piece);
    s->at += piece;
    return true;
}

static bool next_made(trace_reader *r) {
    while (!r->failed && !take_made(r)) {
        if (r->source->where == AT_END) return finish(r), false;
        if (!feed(r)) r->source->where = AT_END;
    }
    return !r->failed;
}

/* What was made, into r->copy, but for the event itself. */
static void copy_made(trace_reader *r) {
    trace_writer *w = &r->source->copy;
    if (!w->out) writer_begin(w, r->copy, false);
    if (r->item == TRACE_MEMBER) writer_member(w, r->member.key, r->member.value);
    if (r->item == TRACE_EVENT) writer_event(w);
}

/* At the end of the file. */
static void end_copy(trace_reader *r) {
    if (r->source->copied || r->failed) return;
    r->source->copied = true;
    if (!r->source->format) {
        copy_end(r);
        return;
    }
    copy_made(r);
    writer_end(&r->source->copy);
}

trace_item trace_next(trace_reader *r) {
    source *s = r->source;
    s->tolerant = r->tolerant;
    r->with_text |= r->copy != NULL;
    for (;;) {
        r->item = TRACE_END;
        if (r->failed || !(s->format ? next_made(r) : next_in_text(r))) break;
        if (r->item == TRACE_EVENT && !is_whole(r)) continue;
        if (r->item == TRACE_END) continue;
        if (r->copy && s->format) copy_made(r);
        if (r->item == TRACE_EVENT) classify(r);
        r->events += r->item == TRACE_EVENT;
        return r->item;
    }
    r->item = TRACE_END;
    if (r->copy) end_copy(r);
    if (!r->failed && next_open(r)) {
        r->item = TRACE_EVENT;
        classify(r);
    }
    if (r->item == TRACE_END) progress_end();
    return r->item;
}

trace_reader *trace_open(const char *path) {
    int fd = strcmp(path, "-") == 0 ? dup(STDIN_FILENO) : open(path, O_RDONLY);
    struct stat status;
    if (fd < 0 || fstat(fd, &status) != 0) return fail(path, "%s", strerror(errno)), NULL;
    if (S_ISDIR(status.st_mode)) return close(fd), fail(path, "is a directory"), NULL;
    input_note(&status);
    trace_reader *r = allocate(sizeof *r);
    source *s = r->source = allocate(sizeof *s);
    r->losses = allocate(sizeof *r->losses);
    r->path = path;
    s->file = unpack_open(fd);
    s->file_size = S_ISREG(status.st_mode) ? (uint64_t)status.st_size : 0;
    s->capacity = ROOM;
    s->read = s->buffer = allocate(s->capacity + PADDING);
    output_open_memory(&s->text);
    return r;
}

int trace_close(trace_reader *r) {
    static const char *const said[TRACE_DEFECTS] = {
        "NaN or infinite numbers, taken as absent", "bytes that are not UTF-8",
        "raw control characters in texts", "escapes that JSON has not, or of half a character",
        "commas before a closing bracket", "keys that an event has twice",
        "pids, tids or times that are no numbers, taken as absent",
        "events without a ts or dur, taken as 0",
        "events that end before they begin, taken as of no length",
        "events that are not objects, skipped", "ends of nothing, left out",
        "begins without an end, taken to last to the end of the trace"
    };
    if (!r->quiet) losses_tell(r->path, r->losses);
    for (int i = 0; i < TRACE_DEFECTS; i++)
        if (r->defects[i] && !r->quiet && !r->failed)
            warn(r->path, "%llu %s (the first in the element at %s %llu)",
                 (unsigned long long)r->defects[i], said[i], r->numbered ? "item" : "byte",
                 (unsigned long long)r->first_defect[i]);
    int status = r->failed ? EXIT_BAD : EXIT_OK;
    if (!r->failed) tell_guesses(r);
    source *s = r->source;
    if (s->ahead) stop_ahead(s);
    unpack_close(s->file);
    if (s->format) s->format->close(s->made_by);
    queue_free(&s->made);
    output_discard(&s->text);
    if (s->pairs) pairs_close(s->pairs);
    free(s->read);
    free(s->args);
    free(s->members);
    free(s->known);
    map_free(&s->keys);
    map_free(&s->rows);
    intern_free(&s->unknown);
    free(s->guesses);
    free(s->decoded);
    free(s->mended.data);
    free(s);
    free(r->losses);
    free(r);
    return status;
}

/* ---- Arguments ---- */

static inline const trace_member *arg_at(const trace_event *event, size_t i) {
    const char *element = event->raw.data;
    if (event->places)
        event->args[i] = (trace_member){text_at(element, event->places[i].key),
                                        text_at(element, event->places[i].value)};
    return &event->args[i];
}

const trace_member *trace_args(const trace_event *event) {
    for (size_t i = 0; event->places && i < event->arg_count; i++) arg_at(event, i);
    return event->args;
}

static inline bool has_key(trace_text key, const char *name, size_t size) {
    return key.size == size && key.data[0] == name[0] && memcmp(key.data, name, size) == 0;
}

static trace_text key_at(const trace_event *event, size_t i) {
    return event->places ? text_at(event->raw.data, event->places[i].key) : event->args[i].key;
}

/* The first argument with this key, of those that stand in a text. */
static const trace_member *find_place(const trace_event *event, const char *name, size_t size) {
    const scanned_arg *arg = event->places, *end = arg + event->arg_count;
    while (arg < end && !has_key(text_at(event->raw.data, arg->key), name, size)) arg++;
    return arg < end ? arg_at(event, (size_t)(arg - event->places)) : NULL;
}

/* Ids stand first. Of equal keys the last one counts. */
const trace_member *trace_arg_find(const trace_event *event, const char *name, size_t size) {
    if (event->places && event->has & TRACE_HAS_ONCE) return find_place(event, name, size);
    for (size_t i = event->arg_count; i-- > 0; )
        if (has_key(key_at(event, i), name, size)) return arg_at(event, i);
    return NULL;
}

bool trace_arg_double(const trace_event *event, const char *name, double *value) {
    const trace_member *arg = trace_arg(event, name);
    return arg && json_double(arg->value, value);
}

bool trace_arg_text(const trace_event *event, const char *name, char *buffer, size_t size) {
    const trace_member *arg = trace_arg(event, name);
    if (!arg || !json_is_text(arg->value)) return false;
    json_decode(arg->value, buffer, size);
    return true;
}

bool trace_correlation(const trace_event *event, int64_t *id) {
    return trace_arg_int(event, PROF_KEY_CORRELATION, id);
}

bool trace_external_id(const trace_event *event, int64_t *id) {
    return trace_arg_int(event, PROF_KEY_EXTERNAL_ID, id) ||
           trace_arg_int(event, "external id", id);
}

const trace_member *trace_shapes(const trace_event *event) {
    const trace_member *arg = trace_arg(event, PROF_KEY_SHAPES);
    return arg ? arg : trace_arg(event, "Input dims");
}

int64_t trace_device(const trace_event *event) {
    int64_t device = event->pid;
    trace_arg_int(event, "device", &device);
    return device;
}

uint64_t trace_flow(const trace_event *event) {
    return hash_bytes(event->cat.data, event->cat.size) * 31 +
           hash_bytes(event->id.data, event->id.size);
}

const trace_member *trace_overload(const trace_event *event) {
    static const char *const keys[] = {PROF_KEY_OVERLOAD, "Overload name", "overload_name"};
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++) {
        const trace_member *arg = trace_arg(event, keys[i]);
        if (arg && json_is_text(arg->value)) return arg;
    }
    return NULL;
}
