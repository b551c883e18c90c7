/* The trace reader: see trace_reader.h. One element of the file at a time (an event, a top-level
   member) lies whole in the text and is scanned in place (chrome.h); when it does not end there, as
   much again is read behind it (bytes.h) and the element is scanned once more from its start. */
#include "input/trace_reader.h"

#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/files.h"
#include "input/bytes.h"
#include "input/chrome.h"
#include "input/detect.h"
#include "input/event_kinds.h"
#include "input/event_source.h"
#include "input/legacy_records.h"
#include "input/losses.h"
#include "input/raw.h"
#include "input/repair.h"
#include "input/survey.h"
#include "input/trace_pairs.h"

typedef enum place { AT_START, IN_OBJECT, IN_EVENTS, IN_NODES, AT_END } place;

struct trace_source {
    bytes file;
    chrome_scan scan;
    json_scan *text;             /* of scan */
    trace_event event;           /* of the text, or made of halves; others lie in `made` */
    void *made_by;               /* the source of a format that is not JSON, */
    event_queue made;            /* what that made, */
    uint64_t made_count;         /* and how many items were taken of it */
    output made_text;            /* of an event that it made: see with_text */
    bool finished;               /* the end was judged */
    bool is_plain;               /* see trace_open_plain */
    bool looked_ahead;           /* see survey.h */
    bool holds_all;              /* it cannot be read twice: all halves wait for its end */
    map unsorted;                /* halves with such a key wait for it */
    trace_pairs *pairs;          /* NULL until there is a begin or an end */
    int64_t last_ns;             /* latest moment so far */
    uint64_t changed_bytes;      /* by which memory grew or shrank so far */
    uint64_t name_bytes;         /* of the events that were made */
    interner unfinished;         /* names of begins without an end */
    event_kinds kinds;
    repairs *repairs;            /* NULL: without --repair */
    place where;
    bool has_events, has_nodes;
    bool any_element, any_event; /* of the array; one that is an event */
    bool any_member, any_here;   /* of the object; an element of this array: a comma is due */
    bool any_read;               /* one that was handed out, or will be */
    bool any_work;               /* neither metadata nor the profiler's own */
    char first_key[40];          /* of the object that the file is */
    const char *other;           /* what a key of it says that the file is; NULL: nothing */
};

typedef struct trace_source source;

/* ---- Legacy record streams: an array of threads' records, or the member "threads" ---- */

/* use_device may stand behind the threads. */
static trace_text device_behind(trace_text rest) {
    trace_text key, value, device = {"", 0};
    while (json_next(&rest, &key, &value))
        if (text_is(key, "use_device")) device = value;
    return device;
}

/* The stream from p on, whole or up to the file's end, is the source of events. */
static const char *scan_records(trace_reader *r, const char *p, const char *threads,
                                trace_text device) {
    source *s = r->source;
    const char *end = skip_value(s->text, p), *file_end = s->text->buffer + s->text->used;
    if (!end && (s->text->outcome == BAD || !s->file.ended)) return NULL;
    bool cut = !end;
    if (cut && !r->quiet)
        warn(r->path, "byte %llu: the file ends early; read up to there",
             (unsigned long long)r->bytes);
    end = end ? skip_space(end) : file_end;
    if (end == file_end && !s->file.ended) return stop(s->text, MORE, end, NULL);
    if (end != file_end) return stop(s->text, BAD, end, "something follows the end of the records");
    if (!cut && *p == '{') device = device_behind((trace_text){p, (size_t)(end - p)});
    const char *lists_end = skip_value(s->text, threads);
    trace_text lists = {threads, (size_t)((lists_end ? lists_end : end) - threads)};
    r->format = &legacy_format;
    s->made_by = legacy_open(&s->made, lists, device, cut);
    s->text->defective = false;
    return file_end;
}

/* Where the next place to scan is when the file is such a stream; *is_one: it is, or more text is
   needed to say so. */
static const char *scan_if_records(trace_reader *r, const char *p, bool *is_one) {
    source *s = r->source;
    trace_text device = {"", 0};
    const char *threads = detect_records(s->text, p, &device);
    if (s->text->defective) memset(s->text->defects, 0, sizeof s->text->defects);
    s->text->defective = false;
    if (threads) return *is_one = true, scan_records(r, p, threads, device);
    size_t left = (size_t)(s->text->buffer + s->text->used - p);
    *is_one = s->text->outcome == MORE && !s->file.ended && left < CHUNK;
    return NULL;
}

/* ---- The elements of a file ---- */

/* Is the file of one of the other formats, or are more bytes needed to tell? */
static bool find_format(trace_reader *r, const char *first, size_t size) {
    enum { ENOUGH = 1 << 16 };
    source *s = r->source;
    bool more;
    r->format = detect_format(first, size, &more);
    if (!r->format) return more && !s->file.ended && size < ENOUGH;
    source_desc desc = {.to = &s->made, .path = r->path, .as_ended = r->as_ended,
                        .losses = r->losses};
    desc.begin = unpack_plain(s->file.file, &desc.fd);
    if (r->format == &raw_format) s->file.as_json = raw_as_json(first);
    s->file.ended |= !r->format->push;           /* it reads the file by itself */
    input_read(&s->file.status, r->path, s->file.ended ? (uint64_t)s->file.status.st_size : 0,
               s->file.as_json);
    s->made_by = r->format->open(&desc);
    s->scan.amounts = true;
    return true;
}

/* Behind the next element; *item says what it was, TRACE_END: nothing to hand out. */
static const char *scan_start(trace_reader *r, const char *p) {
    source *s = r->source;
    size_t left = (size_t)(s->text->buffer + s->text->used - p);
    if (left < 3 && !s->file.ended) return stop(s->text, MORE, p, NULL);
    if (find_format(r, p, left) && !r->format) return stop(s->text, MORE, p, NULL);
    if (r->format) return r->format->push ? p : s->text->buffer + s->text->used;
    if (left >= 3 && memcmp(p, "\xEF\xBB\xBF", 3) == 0) {      /* JSON has none: not copied */
        p += 3;
        s->text->at += 3;
    }
    p = skip_space(p);
    if (detect_utf16(p, (size_t)(s->text->buffer + s->text->used - p)))
        return stop(s->text, BAD, p, "this is UTF-16 or UTF-32, and JSON is UTF-8");
    if (*p != '[' && *p != '{') {
        const char *other = detect_other(p, left, r->path);
        return stop_at(s->text, p, other ? other : "this is no trace that prof reads: neither a "
                       "JSON object nor an array; prof --help lists the formats");
    }
    bool is_one;
    const char *next = scan_if_records(r, p, &is_one);
    if (is_one) return next;
    r->as_ended = false;
    r->array_form = *p == '[';
    s->where = *p == '[' ? IN_EVENTS : IN_OBJECT;
    return p + 1;
}

/* What is added up of times and this base fits 64 bits, too. */
static bool base_fits(const trace_reader *r) {
    int64_t all;
    return !__builtin_add_overflow(r->base_time_ns, r->source->scan.first_ns, &all) &&
           !__builtin_add_overflow(r->base_time_ns, r->source->scan.last_ns, &all);
}

static const char not_with_base[] =
    "with the baseTimeNanoseconds times do not fit 64 bits of nanoseconds";

/* Of a text of the file; of what was made, its number. */
static uint64_t offset_of(const trace_reader *r, const char *p) {
    const source *s = r->source;
    return r->format ? s->made_count : s->text->base + (uint64_t)(p - s->text->buffer);
}

/* false: there is another one, before it; or times do not fit with it. */
static bool read_base(trace_reader *r) {
    trace_text value = r->member.value;
    int64_t ns;
    uint64_t offset = offset_of(r, value.data);
    if (!json_int(value, &ns)) {
        if (!r->quiet)
            warn(r->path, "byte %llu: baseTimeNanoseconds is not a 64-bit integer: left out",
                 (unsigned long long)offset);
        return true;
    }
    if (r->base_offset && r->base_time_ns != ns && !r->tolerant) {
        stop(r->source->text, BAD, value.data, "a second baseTimeNanoseconds, of another time");
        return false;
    }
    r->base_time_ns = ns;
    r->base_offset = offset;
    if (!base_fits(r)) stop(r->source->text, BAD, value.data, not_with_base);
    return base_fits(r);
}

/* The losses that a member tells of, or an event of prof.h's arrays. */
static void read_losses(trace_reader *r, trace_text key, trace_text value) {
    bool cuda = text_is(key, "prof_cuda");
    bool told = cuda || text_is(key, "prof") || text_is(key, "prof counts");
    if (!told || !value.size) return;
    r->own = r->source->kinds.own |= text_is(key, "prof");
    r->losses_offset = offset_of(r, value.data);
    if (cuda) losses_read_cuda(r->losses, value);
    else losses_read(r->losses, value);
}

/* To the next element or member, or (with *last) to the closing bracket. due: not the first. Who
   writes a comma before each event may write one before the first, too. */
static const char *skip_to_next(source *s, const char *p, bool due, char closing, bool *last) {
    p = skip_space(p);
    if (due || (closing == ']' && *p == ',')) {
        if (!due) defect(s->text, TRACE_COMMA);
        return skip_comma(s->text, p, closing, last);
    }
    *last = *p == closing;
    return p;
}

/* Of an event that was made of no text: makes one. */
static bool make_text(source *s, trace_event *event) {
    const trace_event made = *event;
    trace_text text;
    size_t padded;
    output_forget(&s->made_text);
    event_write(&s->made_text, event);
    text.data = output_memory(&s->made_text, &text.size);
    output_write(&s->made_text, (const char[PADDING]){0}, PADDING);
    text.data = output_memory(&s->made_text, &padded);
    bool good = chrome_again(&s->scan, event, text);
    event->depth = made.depth;
    event->site = made.site;
    event->thread = made.thread;
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
    if (!(p = skip_key(s->text, p, &r->member.key))) return NULL;
    if (!*s->first_key)
        snprintf(s->first_key, sizeof s->first_key, "%.*s",
                 (int)(r->member.key.size < 39 ? r->member.key.size : 39), r->member.key.data);
    if (!s->other) s->other = detect_other_key(r->member.key);
    if (text_is(r->member.key, "traceEvents")) {
        if (s->has_events && !r->tolerant)
            return stop(s->text, BAD, p, "a second traceEvents: which of the two is the trace?");
        s->has_events = true;
        if (*p == '[') s->where = IN_EVENTS;
        else if (*p) return stop(s->text, BAD, p, "traceEvents is no array: this is not a trace");
    }
    if (*p == '[' && text_is(r->member.key, "nodes")) s->where = IN_NODES;
    s->has_nodes |= s->where == IN_NODES;
    if (s->where != IN_OBJECT) {
        s->any_member = true;
        s->any_here = false;
        return p + 1;
    }
    r->member.value.data = p;
    if (!(p = skip_value(s->text, p))) return NULL;
    r->member.value.size = (size_t)(p - r->member.value.data);
    if (*p == '\0' && p == s->text->buffer + s->text->used && !s->file.ended)
        return stop(s->text, MORE, p, NULL);
    if (text_is(r->member.key, "baseTimeNanoseconds") && !read_base(r)) return NULL;
    read_losses(r, r->member.key, r->member.value);
    if (!json_is_clean(s->text) && !chrome_mend_member(&s->scan, &r->member)) return NULL;
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
    const char *p = skip_value(s->text, begin);
    if (!p) return NULL;
    s->any_here = true;
    if (*begin != '[' || !r->takes_rows || !r->array_form || r->events) {
        defect(s->text, TRACE_NOT_OBJECT);
        return p;
    }
    r->row = (trace_text){begin, (size_t)(p - begin)};
    r->row_offset = s->text->base + (uint64_t)(begin - s->text->buffer);
    s->any_event = s->any_work = true;
    *item = TRACE_ROW;
    return p;
}

/* The event that r->event is: behind it, or NULL. */
static const char *accept_event(trace_reader *r) {
    source *s = r->source;
    const trace_event *event = r->event;
    const char *begin = event->raw.data, *p = begin + event->raw.size;
    chrome_decode(&s->scan, r->event);
    note_event(s, event);
    if (event->phase == 'M' && text_is(event->name, "prof") &&           /* of prof.h's arrays */
        trace_arg_int(event, "baseTimeNanoseconds", &r->base_time_ns))
        r->base_offset = event->offset;
    if (!base_fits(r)) return stop(s->text, BAD, begin, not_with_base);
    if (event->phase == 'M') read_losses(r, event->name, event->args_text);
    if (r->format ? r->with_text && !event->raw.size && !make_text(s, r->event)
                  : !json_is_clean(s->text) && !chrome_mend_event(&s->scan, r->event)) return NULL;
    s->any_here = true;
    return p;
}

/* Is the text an event? MORE may be needed to say so. */
static bool is_event(trace_reader *r, const char *p) {
    return chrome_event(&r->source->scan, p, r->event) && r->event->has & TRACE_HAS_PHASE;
}

static void count_broken(trace_reader *r, uint64_t offset, const char *why) {
    note_cut_input();
    if (r->defects[TRACE_BROKEN]++) return;
    r->first_defect[TRACE_BROKEN] = r->broken_offset = offset;
    r->broken = why;
}

/* An event that cannot be read: goes on at the next one. NULL: none follows. */
static const char *skip_broken(trace_reader *r, const char *begin) {
    enum { FARTHEST = 1 << 20, TRIES = 64 };
    source *s = r->source;
    const char *end = s->text->buffer + s->text->used;
    int tries = 0;
    const char *fault = s->text->fault, *why = s->text->why;
    if (s->text->outcome != BAD || s->where != IN_EVENTS) return NULL;
    for (const char *p = fault; (p = memchr(p, '}', (size_t)(end - p))) != NULL; p++) {
        const char *comma = skip_space(p + 1), *next = *comma == ',' ? skip_space(comma + 1) : "";
        if (*next != '{') continue;
        if (++tries > TRIES) break;
        if (!is_event(r, next)) continue;
        count_broken(r, offset_of(r, fault), why);
        return s->any_here ? comma : next;
    }
    if (!s->file.ended && end - begin < FARTHEST && tries <= TRIES)
        return stop(s->text, MORE, end, NULL);
    return stop(s->text, BAD, fault, why);
}

static const char *scan_element(trace_reader *r, const char *p, trace_item *item) {
    source *s = r->source;
    bool last;
    if (!(p = skip_to_next(s, p, s->any_here, ']', &last))) return NULL;
    if (last) {
        s->where = r->array_form ? AT_END : IN_OBJECT;
        return p + 1;
    }
    s->any_element = true;
    if (*p != '{') return scan_row(r, p, item);
    *item = s->where == IN_NODES ? TRACE_NODE : TRACE_EVENT;
    if (!chrome_event(&s->scan, p, r->event)) {
        *item = TRACE_END;
        return skip_broken(r, p);
    }
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
    if (*p || p < r->source->text->buffer + r->source->text->used)
        return stop(r->source->text, BAD, p, *p == '{' && !r->array_form && !r->source->has_events ?
                    "something follows the end of the trace: jq -s . FILE makes an array of "
                    "objects that stand one behind another" :
                    "something follows the end of the trace");
    return stop(r->source->text, MORE, p, NULL);
}

/* ---- The file ---- */

/* The file cannot be read on. What was read counts; where that is nothing, it cannot be read. */
static void break_off(trace_reader *r, const char *unit, uint64_t offset, const char *why) {
    const source *s = r->source;
    r->failed = !s->any_read;
    r->truncated = !r->failed;
    r->broken = why;
    r->broken_offset = offset;
    if (r->failed) fail(r->path, "%s %llu: %s", unit, (unsigned long long)offset, why);
    else note_cut_input();
    if (r->truncated && !r->quiet)
        warn(r->path, "%s %llu: %s; read up to there", unit, (unsigned long long)offset, why);
}

/* Reads on behind the text that is still needed. false: nothing is left, or it cannot be read. */
static bool refill(trace_reader *r) {
    source *s = r->source;
    bool more = bytes_more(&s->file, s->text);
    if (s->file.ended && unpack_unreadable(s->file.file))
        r->quiet = false;        /* another reading did not meet that */
    if (s->file.why && !r->format) break_off(r, "byte", s->file.fault, s->file.why);
    r->bytes = s->text->base + s->text->used;
    return more;
}

static void end_early(trace_reader *r, const char *what) {
    source *s = r->source;
    r->truncated = true;
    note_cut_input();
    if (!r->quiet)
        warn(r->path, "byte %llu: the %s ends early; read up to there",
             (unsigned long long)(s->text->base + s->text->at), what);
}

/* A whole JSON file that is no trace: says what it is. */
static void tell_no_trace(trace_reader *r) {
    const source *s = r->source;
    r->failed = true;
    if (r->array_form) fail(r->path, "this is not a trace: the array holds no events");
    else if (s->other) fail(r->path, "%s", s->other);
    else if (s->has_nodes)
        fail(r->path, "this is an execution trace, without times: see prof et");
    else if (*s->first_key)
        fail(r->path, "this is not a trace: it has no traceEvents, but \"%s\"", s->first_key);
    else fail(r->path, "this is not a trace: it has no traceEvents");
}

/* Nothing is left to read: was this the end, and was it a trace? */
static void finish_json(trace_reader *r) {
    source *s = r->source;
    const char *p = skip_space(s->text->buffer + s->text->at);
    bool array = r->array_form && s->where == IN_EVENTS;
    if (array && *p == ',') p = skip_space(p + 1);
    bool rest = p < s->text->buffer + s->text->used;
    bool known = r->array_form ? s->any_event || !s->any_element : s->has_events;
    if (s->file.cut && s->where != AT_START) {
        end_early(r, "gzip file");
    } else if (s->where == AT_START && s->file.cut) {
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
                 "events are whole", (unsigned long long)(s->text->base + s->text->at));
    }
}

/* The same of any format. */
static void finish(trace_reader *r) {
    source *s = r->source;
    if (s->finished || r->failed) return;
    s->finished = true;
    if (!r->format) finish_json(r);
    else if (s->file.why) break_off(r, "byte", s->file.fault, s->file.why);
    else if (s->file.cut && r->format != &legacy_format) end_early(r, "gzip file");
    if (r->failed) return;
    if (r->format && r->format->tell(s->made_by, r->path)) {
        r->truncated = true;
        note_cut_input();
    }
    if (s->made.odd) {
        note_cut_input();
        if (!r->quiet)
            warn(r->path, "%llu numbers or ids make no sense: left out; %s",
                 (unsigned long long)s->made.odd, s->made.first_odd);
    }
    if (unpack_rest(s->file.file)) {
        note_cut_input();
        if (!r->quiet) warn(r->path, "what follows its gzip data is not gzip data: left out");
    }
    r->empty = !r->failed && !r->truncated && !s->any_work && !s->has_nodes &&
               !r->losses->summed && !s->made.left_out;
    if (r->empty && !r->quiet)
        warn(r->path, "the trace is of an empty session: nothing was recorded in it");
}

static void count_defects(trace_reader *r) {
    source *s = r->source;
    for (int i = 0; i < TRACE_DEFECTS; i++) {
        if (!r->defects[i]) r->first_defect[i] = s->text->base + s->text->at;
        r->defects[i] += s->text->defects[i];
    }
}

static void count_odd(trace_reader *r, trace_defect what) {
    if (r->defects[what]++ == 0) r->first_defect[what] = r->event->offset;
}

static void bound_time(trace_reader *r) {
    trace_defect odd = chrome_bound_time(&r->source->scan, r->event);
    if (odd != TRACE_DEFECTS) count_odd(r, odd);
}

/* Before the first event of which more is to be known than stands in front of it. */
static void look_ahead(trace_reader *r) {
    source *s = r->source;
    if (s->looked_ahead) return;
    s->looked_ahead = true;
    s->holds_all = !r->format && file_reads_once(r->path);
    if (!r->format && !s->holds_all) survey(r->path, &s->kinds, &s->unsorted);
}

static void take_half(trace_reader *r) {
    source *s = r->source;
    const trace_event *event = r->event;
    uint64_t key = trace_pair_key(event);
    look_ahead(r);
    if (!s->pairs) s->pairs = pairs_open();
    if (s->holds_all || map_get(&s->unsorted, key)) pairs_hold(s->pairs, event, key);
    else if (!pairs_take(s->pairs, event, key)) count_odd(r, TRACE_NO_BEGIN);
}

/* Is this event handed out, or is it a half of one? */
static bool is_whole(trace_reader *r) {
    source *s = r->source;
    const trace_event *event = r->event;
    if (event->has & TRACE_HAS_TS && event->ts_ns + event->dur_ns > s->last_ns)
        s->last_ns = event->ts_ns + event->dur_ns;
    if (r->as_written) return true;
    if (event->phase == 'T' || event->phase == 'p') count_odd(r, TRACE_STEP);
    if (event->phase == 'P') count_odd(r, TRACE_SAMPLES);
    if (!trace_is_half(event->phase)) return true;
    take_half(r);
    return false;
}

/* false: what memory changed by would make sums wrong. */
static bool adds_up(trace_reader *r) {
    uint64_t *all = &r->source->changed_bytes;
    int64_t change = 0;
    if (r->as_written || r->event->phase != 'i' || !text_is(r->event->name, "[memory]") ||
        !trace_arg_int(r->event, KEY_BYTES, &change)) return true;
    uint64_t size = change < 0 ? 0 - (uint64_t)change : (uint64_t)change;
    bool good = size <= INT64_MAX / 2 - *all;
    if (good) *all += size;
    else count_odd(r, TRACE_SIZE);
    return good;
}

/* The next event that is made of halves, if there is one. */
static bool next_pair(trace_reader *r) {
    source *s = r->source;
    if (!pairs_next(s->pairs, &s->event)) return false;
    r->item = TRACE_EVENT;
    r->event = &s->event;
    r->event->kind = trace_kind_of(r->event->cat);
    bound_time(r);
    if (r->event->end_offset) return true;
    count_odd(r, TRACE_NO_END);
    intern(&s->unfinished, r->event->name.data, r->event->name.size);
    return true;
}

static void end_pairs(trace_reader *r) {
    source *s = r->source;
    uint64_t first = 0, of_nothing = 0;
    if (s->pairs) of_nothing = pairs_end(s->pairs, s->last_ns, &first);
    if (of_nothing && !r->defects[TRACE_NO_BEGIN]) r->first_defect[TRACE_NO_BEGIN] = first;
    r->defects[TRACE_NO_BEGIN] += of_nothing;
}

/* ---- What comes next ---- */

/* Takes a step in the text. false: nothing is left of it. */
static bool next_in_text(trace_reader *r) {
    source *s = r->source;
    if (r->truncated) return false;
    if (s->text->defective) memset(s->text->defects, 0, sizeof s->text->defects);
    s->text->defective = false;
    const char *p = scan_next(r, s->text->buffer + s->text->at, &r->item);
    if (p) {
        if (s->text->defective) count_defects(r);
        s->text->at = (size_t)(p - s->text->buffer);
        s->any_read |= r->item != TRACE_END && r->item != TRACE_MEMBER;
        return true;
    }
    r->item = TRACE_END;
    if (s->text->outcome == BAD) {
        break_off(r, "byte", offset_of(r, s->text->fault), s->text->why);
    } else if (!r->truncated && !refill(r)) {
        if (!r->truncated) finish(r);
        return false;
    }
    return true;
}

/* Of a format that is not JSON: the next item that is made already, if there is one. */
static bool take_made(trace_reader *r) {
    source *s = r->source;
    queued *item = s->finished ? NULL : queue_next(&s->made);
    bool good;
    if (!item) return false;
    s->made_count++;
    r->as_ended = s->made.as_ended;
    r->item = item->item;
    if (item->item == TRACE_MEMBER) {
        r->member = item->member;
        good = !text_is(r->member.key, "baseTimeNanoseconds") || read_base(r);
        read_losses(r, r->member.key, r->member.value);
    } else {
        r->event = &item->event;
        r->event->offset = s->made_count;
        s->name_bytes += r->event->name.size;
        made_of_inputs("the names of its events", s->name_bytes, 256);
        bound_time(r);
        good = !r->event->raw.size || chrome_again(&s->scan, r->event, r->event->raw);
        good = good && chrome_times_fit(&s->scan, r->event->ts_ns, r->event->dur_ns);
        if (!good) stop(s->text, BAD, "", chrome_no_times);
        good = good && accept_event(r) != NULL;
    }
    if (good) return s->any_read = true;
    r->item = TRACE_END;
    s->finished = true;
    s->where = AT_END;
    break_off(r, "item", s->made_count, s->text->why);
    return true;
}

/* Gives the source more of the file. false: there is no more, and all is made. */
static bool feed(trace_reader *r) {
    enum { PIECE = 1 << 14 };
    source *s = r->source;
    size_t piece = s->text->used - s->text->at;
    if (!piece && !s->file.ended) return refill(r), true;
    if (!piece) {
        bool more = r->format->end && (r->format->end)(s->made_by);
        r->failed |= s->made.failed;
        return more && !r->failed;
    }
    if (piece > PIECE) piece = PIECE;
    r->format->push(s->made_by, s->text->buffer + s->text->at, piece);
    s->text->at += piece;
    r->failed |= s->made.failed;
    return !r->failed;
}

static bool next_made(trace_reader *r) {
    while (!r->failed && !take_made(r)) {
        if (r->source->where == AT_END) return finish(r), false;
        if (!feed(r)) r->source->where = AT_END;
    }
    return !r->failed;
}

static trace_item hand_out(trace_reader *r) {
    source *s = r->source;
    r->events++;
    if (s->is_plain) return r->item;
    if (kinds_asks(r->event)) look_ahead(r);
    kinds_take(&s->kinds, r->event);
    if (s->repairs) repair_event(s->repairs, r->event);
    trace_text name = r->event->name;
    const char *plain = is_mangled(name.data, name.size) ? demangled(name.data, name.size) : NULL;
    if (plain) r->event->name = (trace_text){plain, strlen(plain)};
    return r->item;
}

trace_item trace_next(trace_reader *r) {
    source *s = r->source;
    s->scan.tolerant = r->tolerant;
    for (;;) {
        r->item = TRACE_END;
        if (s->pairs && next_pair(r)) return hand_out(r);
        if (r->failed || !(r->format ? next_made(r) : next_in_text(r))) break;
        if (r->item == TRACE_EVENT && (!is_whole(r) || !adds_up(r))) continue;
        if (r->item == TRACE_END) continue;
        return r->item == TRACE_EVENT ? hand_out(r) : r->item;
    }
    r->item = TRACE_END;
    if (!r->failed) end_pairs(r);
    if (!r->failed && s->pairs && next_pair(r)) return hand_out(r);
    progress_end();
    return r->item;
}

trace_reader *trace_open_plain(const char *path) {
    trace_reader *r = allocate(sizeof *r);
    source *s = r->source = allocate(sizeof *s);
    s->text = &s->scan.json;
    r->event = &s->event;
    if (!bytes_open(&s->file, path, s->text)) return free(s), free(r), NULL;
    r->losses = allocate(sizeof *r->losses);
    r->path = path;
    output_open_memory(&s->made_text);
    s->last_ns = INT64_MIN;
    s->is_plain = r->as_written = r->quiet = true;
    return r;
}

trace_reader *trace_open(const char *path) {
    trace_reader *r = trace_open_plain(path);
    if (!r) return NULL;
    r->source->is_plain = r->as_written = r->quiet = false;
    if (trace_repairs) r->source->repairs = repair_find(path);
    return r;
}

/* Names of some that have no end. */
static void tell_names(const interner *names, char *text, size_t size) {
    enum { SHOWN = 4 };
    size_t used = 0;
    *text = '\0';
    for (size_t i = 0; i < names->count && i < SHOWN; i++)
        used += (size_t)snprintf(text + used, size - used, "%s'%.60s'", i ? ", " : ": ",
                                 interned_text(names, (uint32_t)i));
    if (names->count > SHOWN)
        snprintf(text + used, size - used, " and %zu more names", names->count - SHOWN);
}

int trace_close(trace_reader *r) {
    static const char *const said[TRACE_DEFECTS] = {
        "NaN or infinite numbers, taken as absent", "bytes that are not UTF-8",
        "raw control characters in texts", "escapes that JSON has not, or of half a character",
        "commas beside a bracket", "keys that an event has twice",
        "pids, tids or times that are no numbers, taken as absent",
        "events without a ts or dur, taken as 0",
        "events that end before they begin, taken as of no length",
        "events that last ten years or more, as where an end was lost, or longer than a sum can "
        "hold, taken as of no length",
        "events that are not objects, left out", "ends of nothing, left out",
        "begins without an end, taken to last to that of the one around them, or of the trace",
        "events that are no JSON, left out",
        "arrows by bind_id (flow_in, flow_out), left out",
        "steps (T, p) of asynchronous events, left out",
        "pieces of a profile by samples (P), left out: prof reads one from a .cpuprofile",
        "changes of memory by more bytes than a sum can hold, left out"
    };
    char names[400];
    tell_names(&r->source->unfinished, names, sizeof names);
    if (!r->quiet) losses_tell(r->path, r->losses);
    for (int i = 0; i < TRACE_DEFECTS; i++)
        if (r->defects[i] && !r->quiet && !r->failed)
            warn(r->path, "%llu %s (the first in the element at %s %llu)%s%s",
                 (unsigned long long)r->defects[i], said[i], r->format ? "item" : "byte",
                 (unsigned long long)r->first_defect[i], i == TRACE_NO_END ? names :
                 i == TRACE_BROKEN ? ": " : "", i == TRACE_BROKEN ? r->broken : "");
    int status = r->failed ? EXIT_BAD : EXIT_OK;
    source *s = r->source;
    if (!r->failed && !r->quiet) kinds_tell(&s->kinds, r->path);
    bytes_close(&s->file);
    if (r->format) r->format->close(s->made_by);
    repair_free(s->repairs);
    queue_free(&s->made);
    output_discard(&s->made_text);
    if (s->pairs) pairs_close(s->pairs);
    chrome_free(&s->scan);
    kinds_free(&s->kinds);
    map_free(&s->unsorted);
    intern_free(&s->unfinished);
    free(s);
    free(r->losses);
    free(r);
    return status;
}
