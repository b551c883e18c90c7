/* Tables as a SQLite database: all traces in one transaction, into a new file. */
#include <fcntl.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/common.h"
#include "output/tables.h"

static const char *const report_sql[] = {
#include "report_sql.h"
    NULL
};

typedef struct database {
    row_sink sink;
    const char *path;
    sqlite3 *db;
    sqlite3_stmt *inserts[TABLES];
    char error[256];                     /* empty: nothing failed */
} database;

static bool check(database *d, int result) {
    if (result == SQLITE_OK || result == SQLITE_DONE) return true;
    if (!d->error[0])
        snprintf(d->error, sizeof d->error, "%s", d->db ? sqlite3_errmsg(d->db) : "out of memory");
    return false;
}

static bool run_sql(database *d, const char *sql) {
    return !d->error[0] && check(d, sqlite3_exec(d->db, sql, NULL, NULL, NULL));
}

static void bind_cell(sqlite3_stmt *insert, int index, cell_type type, const cell *c) {
    if (!c->is) sqlite3_bind_null(insert, index);
    else if (type == CELL_DOUBLE) sqlite3_bind_double(insert, index, c->number);
    else if (type != CELL_TEXT) sqlite3_bind_int64(insert, index, c->integer);
    else sqlite3_bind_text64(insert, index, c->text.data, c->text.size, SQLITE_STATIC,
                             SQLITE_UTF8);
}

static void insert_row(row_sink *sink, table_id table, const cell *cells) {
    database *d = (database *)sink;
    const table_model *model = &table_models[table];
    sqlite3_stmt *insert = d->inserts[table];
    if (d->error[0]) return;
    for (size_t i = 0; i < model->count; i++)
        bind_cell(insert, (int)i + 1, model->columns[i].type, &cells[i]);
    check(d, sqlite3_step(insert));
    sqlite3_reset(insert);
}

static const char *type_of(const table_column *c) {
    return c->type == CELL_TEXT ? "TEXT" : c->type == CELL_DOUBLE ? "REAL" : "INTEGER";
}

static void create_table(database *d, table_id table) {
    const table_model *model = &table_models[table];
    char sql[2048];
    size_t at = (size_t)snprintf(sql, sizeof sql, "CREATE TABLE %s (", model->name);
    for (size_t i = 0; i < model->count; i++) {
        const table_column *c = &model->columns[i];
        at += (size_t)snprintf(sql + at, sizeof sql - at, "%s%s %s%s", i ? ", " : "", c->name,
                               type_of(c), c->optional ? "" : " NOT NULL");
    }
    snprintf(sql + at, sizeof sql - at, "%s)%s",
             table == TABLE_EVENTS ? ", PRIMARY KEY (rank, id)" : "",
             table == TABLE_EVENTS ? " WITHOUT ROWID" : "");
    if (!run_sql(d, sql)) return;
    at = (size_t)snprintf(sql, sizeof sql, "INSERT INTO %s VALUES (", model->name);
    for (size_t i = 0; i < model->count; i++)
        at += (size_t)snprintf(sql + at, sizeof sql - at, i + 1 < model->count ? "?, " : "?)");
    check(d, sqlite3_prepare_v2(d->db, sql, -1, &d->inserts[table], NULL));
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

/* SQLite opens files by name: the one that has none goes by this one. */
static const char nameless[] = "/prof: a database without a name";
static int nameless_file;

static int open_for_sqlite(const char *path, int flags, int mode) {
    return strcmp(path, nameless) == 0 ? dup(nameless_file) : open(path, flags, mode);
}

/* The file is new and has its name when it is whole: no journal is needed. */
static void open_database(database *d, int file) {
    const int how = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    char version[64];
    sqlite3_config(SQLITE_CONFIG_MEMSTATUS, 0);
    sqlite3_vfs *files = sqlite3_vfs_find(NULL);
    nameless_file = file;
    check(d, files->xSetSystemCall(files, "open", (sqlite3_syscall_ptr)open_for_sqlite));
    check(d, sqlite3_open_v2(nameless, &d->db, how, NULL));
    run_sql(d, "PRAGMA journal_mode = OFF");
    run_sql(d, "PRAGMA synchronous = OFF");
    run_sql(d, "PRAGMA locking_mode = EXCLUSIVE");
    run_sql(d, "PRAGMA page_size = 16384");
    snprintf(version, sizeof version, "PRAGMA user_version = %d", DATASET_VERSION);
    run_sql(d, version);
    run_sql(d, "BEGIN");
    for (int i = 0; i < TABLES; i++) create_table(d, (table_id)i);
    create_views(d);
}

static void close_database(database *d) {
    run_sql(d, "COMMIT");
    for (int i = 0; i < TABLES; i++) sqlite3_finalize(d->inserts[i]);
    sqlite3_close(d->db);
    if (d->error[0]) fail(d->path, "cannot be written: %s", d->error);
}

int tables_sqlite(const table_job *job) {
    output out;
    int status = EXIT_OK;
    if (!output_open(&out, job->path)) return EXIT_BAD;
    if (!out.target) return output_close(&out, fail(job->path, "a database must be a file"));
    database d = {.sink = {.row = insert_row, .wanted = (1u << TABLES) - 1}, .path = job->path};
    open_database(&d, out.fd);
    for (size_t i = 0; i < job->count && status == EXIT_OK && !d.error[0]; i++)
        status = dataset_read(job->traces[i], job_rank(job, i), job_clock(job, i), &d.sink);
    close_database(&d);
    return output_close(&out, d.error[0] ? EXIT_BAD : status);
}
