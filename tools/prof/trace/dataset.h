/* A trace as tables, for export: events with their self times, parents and owners, and what else
   the trace has. Names, types and units are one model for SQLite, Parquet and CSV.

       dataset_read(path, rank, clock, &sink)
           calls sink.begin(&sink, rank), then
           sink.row(&sink, table, cells) for each row of the tables that it wants                */
#ifndef PROF_DATASET_H
#define PROF_DATASET_H

#include "trace/rank_id.h"

typedef enum table_id {
    TABLE_EVENTS, TABLE_FLOWS, TABLE_INSTANTS, TABLE_MEMORY, TABLE_COUNTERS, TABLE_THREADS,
    TABLE_METADATA, TABLES
} table_id;

typedef enum cell_type { CELL_INT32, CELL_INT64, CELL_DOUBLE, CELL_TEXT } cell_type;
typedef struct table_column { const char *name; cell_type type; bool optional; } table_column;
typedef struct table_model {
    const char *name;
    const table_column *columns;
    size_t count;
} table_model;
extern const table_model table_models[TABLES];
enum { MOST_COLUMNS = 32, DATASET_VERSION = 1 /* of names and units */ };

/* Not `is`: NULL, of a column that is optional. text is valid until the row's end, as UTF-8. */
typedef struct cell { bool is; int64_t integer; double number; trace_text text; } cell;

typedef struct row_sink {
    bool (*begin)(struct row_sink *sink, int64_t rank);      /* false: it has reported why; NULL */
    void (*row)(struct row_sink *sink, table_id table, const cell *cells);
    unsigned wanted;             /* bit 1 << table_id each */
    bool apart;                  /* of a file of several ranks only that in this place comes */
    uint32_t place, next;        /* next: where there is another one; 0: nowhere */
} row_sink;

/* rank NULL: what the trace tells, else 0. clock NULL: the trace's own. The exit code. The file is
   read twice. */
int dataset_read(const char *path, const int64_t *rank, const clock_line *clock, row_sink *sink);

/* The ranks of files, to be freed: of one file NULL, as dataset_read finds it. false: one cannot be
   read twice (reported). */
bool dataset_ranks(char *const *paths, size_t count, int64_t **ranks);

#endif
