/* A SQLite database, written from its first page to its last: tables whose rows come in the order
   of their keys fill one page after the other, so that none is read again, and memory is a page
   for each level of each table. (SQLite itself, which looks for the place of every row, takes five
   times the time.)

       sqlite_file *f = sqlite_begin(&out, user_version);
       sqlite_table *t = sqlite_table_begin(f, name, "CREATE TABLE ...", keyed);
       sqlite_row(t, values, count);
       sqlite_view(f, name, "CREATE VIEW ...");
       sqlite_end(f);                                                                          */
#ifndef PROF_SQLITE_FILE_H
#define PROF_SQLITE_FILE_H

#include "output.h"

enum { SQLITE_IS_NULL, SQLITE_IS_INTEGER, SQLITE_IS_REAL, SQLITE_IS_TEXT };

typedef struct sqlite_value {
    uint8_t type;                /* SQLITE_IS_... */
    int64_t integer;             /* of a text, its bytes */
    double real;
    const char *text;
} sqlite_value;

typedef struct sqlite_file sqlite_file;
typedef struct sqlite_table sqlite_table;

/* out: a new file. */
sqlite_file *sqlite_begin(output *out, uint32_t user_version);
/* keyed: WITHOUT ROWID, and the columns of its key come first. The texts stay the caller's. */
sqlite_table *sqlite_table_begin(sqlite_file *f, const char *name, const char *sql, bool keyed);
void sqlite_view(sqlite_file *f, const char *name, const char *sql);
/* false: it has more bytes than SQLite reads, and is not there. */
bool sqlite_row(sqlite_table *t, const sqlite_value *values, size_t count);
void sqlite_end(sqlite_file *f);

#endif
