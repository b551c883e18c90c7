/* The tables of traces (dataset.h) as files: CSV, Parquet, a SQLite database. */
#ifndef PROF_TABLES_H
#define PROF_TABLES_H

#include "base/output.h"
#include "trace/dataset.h"

/* Each writes all traces into path; the exit code. ranks: of dataset_ranks. table: the only one. */
typedef struct table_job {
    const char *path;
    char *const *traces;
    const int64_t *ranks;
    const clock_line *clocks;    /* NULL: as they are */
    size_t count;
    table_id table;
} table_job;

/* The trace's, for dataset_read. */
static inline const int64_t *job_rank(const table_job *job, size_t trace) {
    return job->ranks ? &job->ranks[trace] : NULL;
}

static inline const clock_line *job_clock(const table_job *job, size_t trace) {
    return job->clocks ? &job->clocks[trace] : NULL;
}

int tables_csv(const table_job *job);
int tables_parquet(const table_job *job);
int tables_sqlite(const table_job *job);
/* path ends with a slash: all tables, as rank=N/NAME.csv.gz and so on, by what stands before it. */
int tables_folder(const table_job *job);

/* ---- A table as CSV: a head, then a row a line ---- */

void csv_head(output *out, const table_model *model);
void csv_row(output *out, const table_model *model, const cell *cells);

/* ---- A table as a Parquet file ---- */

typedef struct parquet parquet;
parquet *parquet_open(output *out, const table_model *model);
void parquet_row(parquet *p, const cell *cells);
void parquet_close(parquet *p);                  /* writes what is missing; the output stays */

#endif
