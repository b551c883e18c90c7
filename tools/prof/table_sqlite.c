/* Tables as a SQLite database: all traces in one transaction, into a new file. */
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

#include "common.h"
#include "tables.h"

static const char *const report_sql[] = {
#include "report_sql.h"
    NULL
};

typedef struct database {
    row_sink sink;
    const char *path;
    sqlite3 *db;
    sqlite3_stmt *inserts[TABLES];
    uint32_t bound[TABLES];      /* columns that have a value from the row before */
    bool failed;
} database;

static bool check(database *d, int result) {
    if (result != SQLITE_OK && result != SQLITE_DONE && !d->failed) {
        fail(d->path, "cannot be written: %s", d->db ? sqlite3_errmsg(d->db) : "out of memory");
        d->failed = true;
    }
    return !d->failed;
}

static bool run_sql(database *d, const char *sql) {
    return !d->failed && check(d, sqlite3_exec(d->db, sql, NULL, NULL, NULL));
}

static const char *type_of(const table_column *c) {
    return c->type == CELL_TEXT ? "TEXT" : c->type == CELL_DOUBLE ? "REAL" : "INTEGER";
}

static void create_table(database *d, table_id table) {
    const table_model *model = &table_models[table];
    char create[2048], insert[256];
    int at = snprintf(create, sizeof create, "CREATE TABLE %s (", model->name);
    int place = snprintf(insert, sizeof insert, "INSERT INTO %s VALUES (", model->name);
    for (size_t i = 0; i < model->count; i++) {
        const table_column *c = &model->columns[i];
        at += snprintf(create + at, sizeof create - (size_t)at, "%s%s %s%s", i ? ", " : "", c->name,
                       type_of(c), c->optional ? "" : " NOT NULL");
        place += snprintf(insert + place, sizeof insert - (size_t)place, i ? ", ?" : "?");
    }
    snprintf(create + at, sizeof create - (size_t)at, "%s)%s",
             table == TABLE_EVENTS ? ", PRIMARY KEY (rank, id)" : "",
             table == TABLE_EVENTS ? " WITHOUT ROWID" : "");
    snprintf(insert + place, sizeof insert - (size_t)place, ")");
    if (run_sql(d, create))
        check(d, sqlite3_prepare_v2(d->db, insert, -1, &d->inserts[table], NULL));
}

static int bind(sqlite3_stmt *s, int place, cell_type type, const cell *c) {
    if (!c->is) return sqlite3_bind_null(s, place);
    if (type == CELL_DOUBLE) return sqlite3_bind_double(s, place, c->number);
    if (type != CELL_TEXT) return sqlite3_bind_int64(s, place, c->integer);
    return sqlite3_bind_text64(s, place, c->text.data, c->text.size, SQLITE_STATIC, SQLITE_UTF8);
}

static void insert_row(row_sink *sink, table_id table, const cell *cells) {
    database *d = (database *)sink;
    sqlite3_stmt *s = d->inserts[table];
    uint32_t *bound = &d->bound[table];
    if (d->failed) return;
    for (size_t i = 0; i < table_models[table].count; i++) {
        uint32_t bit = (uint32_t)1 << i;
        if (!cells[i].is && !(*bound & bit)) continue;
        int result = bind(s, (int)i + 1, table_models[table].columns[i].type, &cells[i]);
        if (result != SQLITE_OK) check(d, result);
        *bound = cells[i].is ? *bound | bit : *bound & ~bit;
    }
    if (!d->failed) check(d, sqlite3_step(s));
    sqlite3_reset(s);
}

/* The view is the same query that tools/prof/sql has for all engines. */
static void create_views(database *d) {
    output text;
    size_t size;
    output_open_memory(&text);
    output_text(&text, "CREATE VIEW report AS\n");
    for (const char *const *line = report_sql; *line; line++) output_text(&text, *line);
    output_write(&text, "", 1);
    run_sql(d, "CREATE VIEW kernels AS SELECT * FROM events WHERE kind = 'kernel'");
    run_sql(d, output_memory(&text, &size));
    output_discard(&text);
}

/* The file is new and has its name when it is whole: no journal is needed. */
static void open_database(database *d, const char *temporary) {
    const int how = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    sqlite3_config(SQLITE_CONFIG_SINGLETHREAD);
    if (sqlite3_open_v2(temporary, &d->db, how, NULL) != SQLITE_OK) check(d, SQLITE_CANTOPEN);
    run_sql(d, "PRAGMA journal_mode = OFF");
    run_sql(d, "PRAGMA synchronous = OFF");
    run_sql(d, "PRAGMA locking_mode = EXCLUSIVE");
    run_sql(d, "PRAGMA page_size = 16384");
    run_sql(d, "PRAGMA user_version = 1");
    run_sql(d, "BEGIN");
    for (int i = 0; i < TABLES && !d->failed; i++) create_table(d, (table_id)i);
    create_views(d);
}

static void close_database(database *d) {
    run_sql(d, "COMMIT");
    for (int i = 0; i < TABLES; i++) sqlite3_finalize(d->inserts[i]);
    sqlite3_close(d->db);
}

int tables_sqlite(const table_job *job) {
    output out;
    int status = EXIT_OK;
    if (!output_open(&out, job->path)) return EXIT_BAD;
    if (!out.temporary) {
        output_discard(&out);
        return fail(job->path, "a database has to be a file");
    }
    database d = {.sink = {insert_row, (1u << TABLES) - 1}, .path = job->path};
    open_database(&d, out.temporary);
    for (size_t i = 0; i < job->count && status == EXIT_OK && !d.failed; i++)
        status = dataset_read(job->traces[i], job->ranks[i], &d.sink);
    close_database(&d);
    return output_finish(&out, d.failed ? EXIT_BAD : status);
}
