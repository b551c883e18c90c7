/* Profiles that are SQLite databases. What such a file says is data: it is opened so that nothing
   in it is run, and its tables are not read for longer than those of a file of its size take. */
#ifndef PROF_DATABASE_H
#define PROF_DATABASE_H

#include <sqlite3.h>

#include "input/event_source.h"

typedef struct database {
    sqlite3 *handle;
    event_queue *to;             /* to->failed: something was wrong, and reported */
    const char *path;
    uint64_t steps, most_steps;  /* of all its queries, in thousands */
} database;

/* Zero-initialise. false: reported; close it nonetheless. */
bool database_open(database *d, const source_desc *desc);
void database_close(database *d);
/* Is there such a table? A view is none. */
bool database_has(database *d, const char *table);
void database_tables(database *d, void (*take)(void *user, const char *table), void *user);
bool database_column(database *d, const char *table, const char *name);

/* Rows of a table, by the names of its columns; what a version does not have is absent. A file
   whose table is a view, or has a column that an expression computes, is refused. */
typedef struct rows {
    database *of;
    sqlite3_stmt *statement;
    const char *table;
    uint64_t row;                /* of those read, from 1 on */
} rows;

/* names end with NULL; what the table does not have is NULL. order NULL: as they stand. All names
   last until the rows are closed. false: there is no such table, or it failed. */
bool rows_open(database *d, rows *r, const char *table, const char *order,
               const char *const *names);
bool rows_next(rows *r);         /* false at the end, or failed: the rows are closed */
void rows_close(rows *r);        /* before the end */

/* Of the row, by the number of the column. */
bool row_has(const rows *r, int i);
int64_t row_int(const rows *r, int i, int64_t otherwise);        /* a text that is none is odd */
bool row_has_number(const rows *r, int i);               /* a text is none */
void row_odd(const rows *r, int i, const char *what);    /* see queue_odd */
const char *row_text(const rows *r, int i);              /* NULL: there is none, or it failed */
trace_text row_bytes(const rows *r, int i);

#endif
