/* Who had the core of a microcontroller: its tasks, interrupts, and what is neither. `prof report`
   has a line for each below the table, and with --contexts a table of them instead. */
#ifndef PROF_CONTEXTS_H
#define PROF_CONTEXTS_H

#include "base/table.h"
#include "trace/trace.h"

typedef struct contexts_table {
    int64_t every_ns;            /* rows for each window of that length; 0: for all the time */
    text_list lines;             /* of each file, the longest first */
    sheet rows;
    bool begun, failed;          /* failed: too many windows, reported */
    arena memory;
} contexts_table;

/* After trace_nest, for each file. Adds nothing where threads have cores of their own. */
void contexts_add(contexts_table *table, const struct trace *t);
/* Writes the rows. */
void contexts_write(contexts_table *table, table_format format, output *out);
void contexts_free(contexts_table *table);

#endif
