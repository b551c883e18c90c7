/* Compute, communication and waiting of several ranks: for `prof ranks` and the page of `prof
   report`. `prof ranks --help` has the definitions.

       rank_table t = {0};
       for each file: ranks_begin_file(&t, path), ranks_take(&t, &event) ...,
           ranks_end_file(&t, true);
       ranks_finish(&t, true);
       ... t.rows[t.order[i]] ..., t.joined[i] ...
       ranks_free(&t);                                                                         */
#ifndef PROF_RANKS_H
#define PROF_RANKS_H

#include "analysis/busy.h"
#include "analysis/collectives.h"
#include "trace/rank_id.h"

typedef struct rank_row {
    rank_id id;
    busy_time time;
    int64_t base_ns, late_ns, wait_ns;
    clock_fit clock;
    int64_t offset_ns;           /* --offset: in base_ns once the file is read */
    uint32_t owner;              /* the row of its rank: its own, but for further windows */
    uint64_t calls, works, gloo; /* gloo: calls of it on the CPU */
    bool in_any, shares;         /* has it collectives, and any with another rank? */
    odd_works odd;               /* while it is read */
    far_times far, all_times;    /* of its works, and of all */
} rank_row;

/* A collective with what its ranks did in it. */
typedef struct joined_row {
    uint32_t collective, first, count;           /* its parts in table.parts, by rank */
    int64_t begin_ns, last_ns, end_ns, shortest_ns;   /* first begin, last one, earliest end */
    uint32_t last;               /* the part that begins last */
} joined_row;

typedef struct rank_table {
    rank_row *rows;              /* of all files */
    size_t files, file_capacity;
    const align_options *align;  /* of the caller; NULL: base */
    const char *zone;            /* --align NAME: it ends on all ranks together; NULL */
    uint32_t *order;             /* those that could be read, by rank: one of its windows */
    size_t count;
    collectives all;
    map names;                   /* kinds of work */
    collective_part *parts;      /* by collective and rank, on the aligned clocks */
    joined_row *joined;          /* by first begin */
    size_t joined_count;
    uint32_t *stragglers;        /* in rows, by rank */
    size_t straggler_count;
    struct span_sorter *works;   /* of the file being read */
    bool splits;                 /* a file that prof merge made is as many as it was made of: rows
                                    are then more than files */
    merged_ranks merged;         /* of the file being read */
    bool untold;                 /* of the page, beside a report: what is odd is told there */
} rank_table;

void ranks_begin_file(rank_table *t, const char *path);
void ranks_take(rank_table *t, const trace_event *event);
void ranks_take_member(rank_table *t, const trace_member *member);
void ranks_end_file(rank_table *t, bool is_whole);
int ranks_read(rank_table *t, const char *path);             /* all of these; the exit code */
/* tell: what is odd about the files as a whole, a line each on stderr. false: there is no call by
   which to align (reported). */
bool ranks_finish(rank_table *t, bool tell);
/* What is to be added to a file's times as they stand with its own base, --offset included. */
clock_line ranks_clock(const rank_table *t, uint32_t file);
/* Of each of these files, to be freed; NULL: reported. */
clock_line *ranks_clocks(char *const *paths, size_t count, const align_options *align);
void ranks_free(rank_table *t);

/* Of what synchronizes, on two ranks or more: did all begin before the first one ended, or not? */
bool ranks_consistent(const rank_table *t, const joined_row *row);
bool ranks_apart(const rank_table *t, const joined_row *row);

void ranks_write(const rank_table *t, table_format format, output *out);
void ranks_write_collectives(const rank_table *t, int64_t most, table_format format, output *out);
void ranks_write_json(const rank_table *t, output *out);     /* both, and the stragglers */

#endif
