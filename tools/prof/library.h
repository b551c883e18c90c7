/* What prof asks the library beyond what a program may: tools/prof/library.c. */
#ifndef PROF_TOOL_LIBRARY_H
#define PROF_TOOL_LIBRARY_H

#include "../../prof.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Bytes of the character at text if a terminal would obey it or show nothing; 0: it is none. The
   first character of text, escaped for JSON in at most 6 bytes; returns their end. Would a
   spreadsheet take text for a formula? */
size_t control_size(const char *text);
char *text_json(char *to, const char *text);
bool is_formula(const char *text);

/* What tables call a prof_device_type: "cuda", "mps"; "device" where there is no such type. */
const char *device_type_name(uint8_t type);

/* The width of the terminal that stdout is, by COLUMNS, else as it tells. 0: it is no terminal. */
uint32_t terminal_width(void);

/* The arguments that an event has in a Chrome trace, made of its name, extra and flags: a JSON
   object, {} where there are none. It lacks counters, whose names only the session knows. */
prof_result write_event_args(const prof_event *event, prof_sink out);

/* Times (in us), shares and bytes as the table prints them: 12.345ms, 33.33%. The text is cut to
   size; returns its length, without the NUL. */
size_t format_time(char *buf, size_t size, double us);
size_t format_share(char *buf, size_t size, double part, double total);
size_t format_memory(char *buf, size_t size, int64_t bytes);

/* The metric that PyTorch calls `text`: "self_cuda_time_total". Other devices' names mean the same
   as cuda: device, xpu, privateuseone, any backend's name. False: there is no such metric. */
bool metric_from_text(const char *text, prof_metric *metric);

/* A count of prof_stats that matters where it is not 0: what was lost or mended, and what to do
   about it. The table's footers, the trace's head and `prof` all take them from one list. */
typedef struct stats_note {
    const char *key;                     /* the field of prof_stats, and its key in the head */
    const char *text;                    /* "Dropped, no room (give ...)" */
    uint64_t count;
} stats_note;

/* Fills *note with number i of that list and its count in stats (NULL: 0). False: no more. */
bool stats_note_at(const prof_stats *stats, size_t i, stats_note *note);

/* What a process with PROF_MODE=wait shares, prof.h's prof__shared: see there. */
typedef struct window_page {
    uint32_t bell, steps;
    char path[1016];
} window_page;

/* ---- Spans: nested and summed as a session nests and sums its zones ---- */

/* The caller's array of spans. Each has its end and the number of the span around it. */
typedef struct span_nest {
    const void *spans;
    size_t size, end_ns, parent;         /* of a span; offsets of its int64_t and its uint32_t */
    uint64_t overlaps;                   /* spans that began in another and ended after it */
} span_nest;

/* The innermost, of the span `top` and those around it, that holds [start_ns, end_ns), which begins
   no earlier than they do; PROF_NONE: none. A span that has ended holds nothing, and one that ends
   first does not hold one that ends later: they are siblings. */
uint32_t span_nest_around(span_nest *nest, uint32_t top, int64_t start_ns, int64_t end_ns);

/* The span that device work launched by the span `launch` belongs to: the innermost, of launch and
   those around it, that is no call of a device's library; where all are, launch itself. */
uint32_t span_nest_launcher(const span_nest *nest, uint32_t launch,
                            bool (*is_launch)(const void *span));

enum {                                   /* call_span.flags, beside PROF_EVENT_... */
    CALL_MEMORY = 0x8000,                /* a change of memory at start_ns, of its own row. With
                                            CALL_DEPTH: in what ends next at this depth */
    CALL_DEPTH = 0x2000,                 /* it comes after all spans in it, which depth tells;
                                            others lie in nothing, and nothing in them */
    CALL_HIDDEN = 0x1000                 /* counts in no row, but lies in others; of memory: no
                                            call, but its row has the bytes */
};

/* One call, of whatever a row counts. */
typedef struct call_span {
    int64_t start_ns, end_ns;
    int64_t away_ns;                     /* of that, what others had its core: it is in no self */
    uint32_t thread;                     /* a number for each thread, and for each node on it */
    uint32_t row;                        /* from call_sums_row; a device's row: lies in no span.
                                            PROF_NONE: hidden, with a name unlike all others */
    int64_t device_ns;                   /* the work that it launched itself; with
                                            PROF_EVENT_LEGACY also its children's */
    int64_t cpu_bytes, device_bytes;     /* with its children's, without CALL_MEMORY's */
    int64_t flops;                       /* its own */
    const int64_t *counters;             /* PROF_COUNTERS of them, with its children's, valid until
                                            the span around it has ended; NULL: none */
    uint32_t order;                      /* of two with the same times the lesser is a row's first.
                                            All 0: by thread, then as they come */
    uint32_t depth;                      /* CALL_DEPTH: spans around it */
    uint16_t flags;
} call_span;

/* What is known of a call once it has ended; order is its span's. */
typedef struct call_end {
    int64_t self_ns, device_ns, self_device_ns;
    uint32_t order;
} call_end;

typedef struct call_sums_desc {
    prof_averages_desc averages;         /* without percentiles */
    bool merge_duplicates;               /* merge an only child into its parent of the same name */
    void *(*more)(void *user, size_t size);   /* returns memory aligned as malloc's, which may be
                                            freed when the rows are not needed; never NULL */
    void (*ended)(void *user, const call_end *end);   /* called as each span ends, but for
                                            merged ones; NULL: not called */
    void *user;
} call_sums_desc;

typedef struct call_sums_stats {
    uint64_t calls;                      /* counted in rows */
    uint64_t duplicates;                 /* merged */
    int64_t self_cpu_time_total_ns;      /* of all spans, also of those in no row */
} call_sums_stats;

/* The nest and the sums of prof_key_averages for spans from elsewhere. Memory: a row 300 bytes, its
   texts and shapes, 250 bytes for each level of depth.
       sums = call_sums_open(&desc);
       span.row = call_sums_row(sums, &event, NULL); ... call_sums_push(sums, &span); ...
       n = call_sums_close(sums, NULL, 0); call_sums_close(sums, rows, n); */
typedef struct call_sums call_sums;
call_sums *call_sums_open(const call_sums_desc *desc);

/* The row of events like key: of its name, device_type and flags, its node, and what desc.averages
   groups by; with group_by_site also of site's file and line (NULL: none). A new row copies
   what it needs. */
uint32_t call_sums_row(call_sums *sums, const prof_event *key, const prof_site *site);

/* Adds a span. Those of a thread, with CALL_DEPTH, come in the order of their ends, children first,
   and nest by depth; threads may take turns. */
void call_sums_push(call_sums *sums, const call_span *span);

/* Ends the spans that are open. Spans of another file may follow; they count as later. */
void call_sums_next(call_sums *sums);

/* Adds sums of calls without spans to a row; PROF_NONE: to call_sums_stats alone. Only rows without
   any span keep percentiles; such rows come last, in the order in which they were made. */
void call_sums_add(call_sums *sums, uint32_t row, const prof_average *more);

/* Ends the spans that are open, fills at most max rows and returns how many there are, as
   prof_key_averages does: in first-seen order, without those that have no call. Their texts lie in
   the memory that `more` gave. first is the row's rank; parent is PROF_NONE where its first span
   lay in no other, else 0; scope is that of the key that made it. */
size_t call_sums_close(call_sums *sums, prof_average *rows, size_t max);

/* The same of the spans that have ended so far; open ones stay open, and more may come. */
size_t call_sums_look(call_sums *sums, prof_average *rows, size_t max);
call_sums_stats call_sums_get_stats(const call_sums *sums);

/* ---- Zones that come in the order of their ends, each with its depth, for a file ---- */

/* Readers take the first of two events that begin together for the outer one. So a zone that begins
   together with the zone around it waits until that one comes, and is written after it. */
typedef struct end_order end_order;

/* write: writes the zone that waits at this slot. NULL: no memory. It has no room yet. */
end_order *end_order_new(void (*write)(void *user, uint32_t slot), void *user);
/* Gives it so many slots, no fewer than before; what waits stays. False: no memory. */
bool end_order_room(end_order *order, uint32_t room);
bool end_order_is_full(const end_order *order);
/* The slot for the next zone of a thread, at most 255 deep. Writes the zones that are certain to
   come before it, and all that wait where it is full. end: writes the rest, at a thread's
   end or the file's. */
uint32_t end_order_add(end_order *order, uint32_t depth, int64_t start_ns);
void end_order_end(end_order *order);
void end_order_free(end_order *order);

#ifdef __cplusplus
}
#endif
#endif
