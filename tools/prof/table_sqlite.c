/* Tables as a SQLite database: all traces in a new file. */
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "sqlite_file.h"
#include "tables.h"

static const char *const report_sql[] = {
#include "report_sql.h"
    NULL
};

typedef struct database {
    row_sink sink;
    const char *path;
    sqlite_file *file;
    sqlite_table *tables[TABLES];
    char create[TABLES][2048];
    bool failed;
} database;

static const char *type_of(const table_column *c) {
    return c->type == CELL_TEXT ? "TEXT" : c->type == CELL_DOUBLE ? "REAL" : "INTEGER";
}

static void create_table(database *d, table_id table) {
    const table_model *model = &table_models[table];
    char *create = d->create[table];
    bool keyed = table == TABLE_EVENTS;
    size_t size = sizeof d->create[table];
    size_t at = (size_t)snprintf(create, size, "CREATE TABLE %s (", model->name);
    for (size_t i = 0; i < model->count; i++) {
        const table_column *c = &model->columns[i];
        at += (size_t)snprintf(create + at, size - at, "%s%s %s%s", i ? ", " : "", c->name,
                               type_of(c), c->optional ? "" : " NOT NULL");
    }
    snprintf(create + at, size - at, "%s)%s", keyed ? ", PRIMARY KEY (rank, id)" : "",
             keyed ? " WITHOUT ROWID" : "");
    d->tables[table] = sqlite_table_begin(d->file, model->name, create, keyed);
}

static sqlite_value value_of(const cell *c, cell_type type) {
    sqlite_value v = {.type = SQLITE_IS_NULL};
    if (!c->is) return v;
    v.type = type == CELL_TEXT ? SQLITE_IS_TEXT
           : type == CELL_DOUBLE ? SQLITE_IS_REAL : SQLITE_IS_INTEGER;
    v.integer = type == CELL_TEXT ? (int64_t)c->text.size : c->integer;
    v.real = c->number;
    v.text = c->text.data;
    return v;
}

static void insert_row(row_sink *sink, table_id table, const cell *cells) {
    database *d = (database *)sink;
    const table_model *model = &table_models[table];
    sqlite_value values[MOST_COLUMNS];
    for (size_t i = 0; i < model->count; i++)
        values[i] = value_of(&cells[i], model->columns[i].type);
    if (sqlite_row(d->tables[table], values, model->count) || d->failed) return;
    fail(d->path, "a row of the table %s is larger than SQLite takes (1,000,000,000 bytes)",
         model->name);
    d->failed = true;
}

/* The view is the same query that tools/prof/sql has for all engines. */
static void make_report_view(output *text) {
    output_open_memory(text);
    output_text(text, "CREATE VIEW report AS\n");
    for (const char *const *line = report_sql; *line; line++) output_text(text, *line);
    output_write(text, "", 1);
}

/* Rows come in the order of their keys, which have the rank first. */
static size_t next_rank(const table_job *job, size_t last) {
    size_t next = job->count;
    if (!job->ranks) return last == job->count ? 0 : job->count;
    for (size_t i = 0; i < job->count; i++) {
        bool behind = last == job->count || job->ranks[i] > job->ranks[last];
        if (behind && (next == job->count || job->ranks[i] < job->ranks[next])) next = i;
    }
    return next;
}

int tables_sqlite(const table_job *job) {
    output out, report;
    size_t size, next = job->count;
    int status = EXIT_OK;
    if (!output_open(&out, job->path)) return EXIT_BAD;
    if (!out.temporary) {
        output_discard(&out);
        return fail(job->path, "a database has to be a file");
    }
    database d = {.sink = {NULL, insert_row, (1u << TABLES) - 1}, .path = job->path};
    d.file = sqlite_begin(&out, DATASET_VERSION);
    for (int i = 0; i < TABLES; i++) create_table(&d, (table_id)i);
    make_report_view(&report);
    sqlite_view(d.file, "kernels",
                "CREATE VIEW kernels AS SELECT * FROM events WHERE kind = 'kernel'");
    sqlite_view(d.file, "report", output_memory(&report, &size));
    while (status == EXIT_OK && !d.failed && !out.failed &&
           (next = next_rank(job, next)) < job->count)
        status = dataset_read(job->traces[next], job_rank(job, next), &d.sink);
    sqlite_end(d.file);
    output_discard(&report);
    return output_finish(&out, d.failed ? EXIT_BAD : status);
}
