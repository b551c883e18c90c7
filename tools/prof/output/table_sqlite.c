/* Tables as a SQLite database: all traces in one transaction, into a new file.

   Rows are gathered in batches. SQLite takes a whole one by one statement, INSERT INTO t SELECT *
   FROM t_rows, whose source is a virtual table that shows the batch: two thirds of the time that
   an INSERT for each row takes. A thread does that while the next rows are read; where none may be
   had, the reader does it itself. What is promised: a batch is the reader's or the writer's, and
   `waiting` and `free` say whose; the database is the writer's from the first batch to the join. */
#include <fcntl.h>
#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/common.h"
#include "base/interrupts.h"
#include "output/tables.h"

static const char *const report_sql[] = {
#include "report_sql.h"
    NULL
};

enum { ROWS = 256, TEXT = 1 << 16, BATCHES = TABLES + 3 };   /* each table fills one */

typedef struct batch {
    struct batch *next;
    table_id table;
    size_t rows, used, size;             /* used, size: of text */
    cell *cells;                         /* rows x the table's columns */
    char *text;
} batch;

typedef struct database database;
typedef struct source { sqlite3_vtab base; database *d; table_id table; } source;
typedef struct source_cursor { sqlite3_vtab_cursor base; size_t row; } source_cursor;
typedef struct source_of { database *d; table_id table; } source_of;

struct database {
    row_sink sink;
    const char *path;
    sqlite3 *db;
    sqlite3_stmt *inserts[TABLES];
    source_of sources[TABLES];
    char error[256];                     /* what the writer found; empty: nothing */
    batch batches[BATCHES], *open[TABLES];
    const batch *written;                /* which the sources show */
    pthread_t writer;
    bool has_writer;
    pthread_mutex_t mutex;               /* of what follows */
    pthread_cond_t changed;
    batch *free, *waiting, **waiting_end;
    bool failed, ended;
};

static bool check(database *d, int result) {
    if (result == SQLITE_OK || result == SQLITE_DONE) return true;
    if (!d->error[0])
        snprintf(d->error, sizeof d->error, "%s", d->db ? sqlite3_errmsg(d->db) : "out of memory");
    return false;
}

static bool run_sql(database *d, const char *sql) {
    return !d->error[0] && check(d, sqlite3_exec(d->db, sql, NULL, NULL, NULL));
}

/* ---- The source: a virtual table that shows the batch that is being written ---- */

static int source_connect(sqlite3 *db, void *user, int count, const char *const *words,
                          sqlite3_vtab **table, char **error) {
    const source_of *of = user;
    const table_model *model = &table_models[of->table];
    char declare[2048];
    size_t at = (size_t)snprintf(declare, sizeof declare, "CREATE TABLE x(");
    (void)count, (void)words, (void)error;
    for (size_t i = 0; i < model->count; i++)
        at += (size_t)snprintf(declare + at, sizeof declare - at, "%s%s", i ? ", " : "",
                               model->columns[i].name);
    snprintf(declare + at, sizeof declare - at, ")");
    source *s = sqlite3_malloc(sizeof *s);
    if (!s) return SQLITE_NOMEM;
    *s = (source){.d = of->d, .table = of->table};
    *table = &s->base;
    return sqlite3_declare_vtab(db, declare);
}

static int source_disconnect(sqlite3_vtab *table) {
    sqlite3_free(table);
    return SQLITE_OK;
}

static int source_plan(sqlite3_vtab *table, sqlite3_index_info *plan) {
    (void)table;
    plan->estimatedRows = ROWS;
    plan->estimatedCost = ROWS;
    return SQLITE_OK;
}

static int source_open(sqlite3_vtab *table, sqlite3_vtab_cursor **cursor) {
    source_cursor *c = sqlite3_malloc(sizeof *c);
    (void)table;
    if (!c) return SQLITE_NOMEM;
    *c = (source_cursor){.row = 0};
    *cursor = &c->base;
    return SQLITE_OK;
}

static int source_close(sqlite3_vtab_cursor *cursor) {
    sqlite3_free(cursor);
    return SQLITE_OK;
}

static int source_filter(sqlite3_vtab_cursor *cursor, int number, const char *name, int count,
                         sqlite3_value **values) {
    (void)number, (void)name, (void)count, (void)values;
    ((source_cursor *)cursor)->row = 0;
    return SQLITE_OK;
}

static int source_next(sqlite3_vtab_cursor *cursor) {
    ((source_cursor *)cursor)->row++;
    return SQLITE_OK;
}

static const batch *shown(const sqlite3_vtab_cursor *cursor) {
    return ((const source *)cursor->pVtab)->d->written;
}

static int source_eof(sqlite3_vtab_cursor *cursor) {
    return ((source_cursor *)cursor)->row >= shown(cursor)->rows;
}

static int source_column(sqlite3_vtab_cursor *cursor, sqlite3_context *to, int column) {
    const batch *b = shown(cursor);
    const table_model *model = &table_models[b->table];
    const cell *c = &b->cells[((source_cursor *)cursor)->row * model->count + (size_t)column];
    cell_type type = model->columns[column].type;
    if (!c->is) return SQLITE_OK;
    if (type == CELL_DOUBLE) sqlite3_result_double(to, c->number);
    else if (type != CELL_TEXT) sqlite3_result_int64(to, c->integer);
    else sqlite3_result_text64(to, c->text.data, c->text.size, SQLITE_STATIC, SQLITE_UTF8);
    return SQLITE_OK;
}

static int source_rowid(sqlite3_vtab_cursor *cursor, sqlite3_int64 *row) {
    *row = (sqlite3_int64)((source_cursor *)cursor)->row;
    return SQLITE_OK;
}

static const sqlite3_module source_module = {
    .xConnect = source_connect, .xBestIndex = source_plan, .xDisconnect = source_disconnect,
    .xDestroy = source_disconnect, .xOpen = source_open, .xClose = source_close,
    .xFilter = source_filter, .xNext = source_next, .xEof = source_eof, .xColumn = source_column,
    .xRowid = source_rowid
};

/* ---- The writer ---- */

static void write_batch(database *d, const batch *b) {
    sqlite3_stmt *insert = d->inserts[b->table];
    d->written = b;
    if (!d->error[0]) check(d, sqlite3_step(insert));
    sqlite3_reset(insert);
}

static void *write_batches(void *user) {
    database *d = user;
    pthread_mutex_lock(&d->mutex);
    while (d->waiting || !d->ended) {
        batch *b = d->waiting;
        if (!b) {
            pthread_cond_wait(&d->changed, &d->mutex);
            continue;
        }
        d->waiting = b->next;
        if (!d->waiting) d->waiting_end = &d->waiting;
        pthread_mutex_unlock(&d->mutex);
        write_batch(d, b);
        pthread_mutex_lock(&d->mutex);
        b->next = d->free;
        d->free = b;
        d->failed = d->error[0] != '\0';
        pthread_cond_signal(&d->changed);
    }
    pthread_mutex_unlock(&d->mutex);
    return NULL;
}

/* ---- The reader: rows to batches ---- */

static batch *take_free(database *d) {
    pthread_mutex_lock(&d->mutex);
    while (!d->free) pthread_cond_wait(&d->changed, &d->mutex);
    batch *b = d->free;
    d->free = b->next;
    pthread_mutex_unlock(&d->mutex);
    b->rows = b->used = 0;
    return b;
}

static void hand_over(database *d, table_id table) {
    batch *b = d->open[table];
    d->open[table] = NULL;
    if (!b) return;
    if (!d->has_writer) write_batch(d, b);
    pthread_mutex_lock(&d->mutex);
    b->next = d->has_writer ? NULL : d->free;
    if (!d->has_writer) {
        d->free = b;
        d->failed = d->error[0] != '\0';
    } else {
        *d->waiting_end = b;
        d->waiting_end = &b->next;
        pthread_cond_signal(&d->changed);
    }
    pthread_mutex_unlock(&d->mutex);
}

static size_t text_of_row(const table_model *model, const cell *cells) {
    size_t size = 0;
    for (size_t i = 0; i < model->count; i++)
        if (model->columns[i].type == CELL_TEXT && cells[i].is) size += cells[i].text.size;
    return size;
}

/* A batch with room for a row; text moves only while it is empty. */
static batch *room_for(database *d, table_id table, size_t text) {
    batch *b = d->open[table];
    if (b && (b->rows == ROWS || b->size - b->used < text)) {
        hand_over(d, table);
        b = NULL;
    }
    if (!b) b = d->open[table] = take_free(d);
    b->table = table;
    if (b->size < text) {
        free(b->text);
        b->text = allocate(b->size = text);
    }
    return b;
}

static bool has_failed(database *d) {
    pthread_mutex_lock(&d->mutex);
    bool failed = d->failed;
    pthread_mutex_unlock(&d->mutex);
    return failed;
}

static void insert_row(row_sink *sink, table_id table, const cell *cells) {
    database *d = (database *)sink;
    const table_model *model = &table_models[table];
    batch *b = room_for(d, table, text_of_row(model, cells));
    cell *to = b->cells + b->rows++ * model->count;
    memcpy(to, cells, model->count * sizeof *to);
    for (size_t i = 0; i < model->count; i++) {
        if (model->columns[i].type != CELL_TEXT || !to[i].is) continue;
        char *text = b->text + b->used;
        memcpy(text, cells[i].text.data, cells[i].text.size);
        to[i].text.data = text;
        b->used += cells[i].text.size;
    }
}

static void begin_batches(database *d) {
    pthread_mutex_init(&d->mutex, NULL);
    pthread_cond_init(&d->changed, NULL);
    d->waiting_end = &d->waiting;
    for (size_t i = 0; i < BATCHES; i++) {
        batch *b = &d->batches[i];
        b->cells = allocate(ROWS * MOST_COLUMNS * sizeof *b->cells);
        b->text = allocate(b->size = TEXT);
        b->next = d->free;
        d->free = b;
    }
    d->has_writer = thread_begin(&d->writer, write_batches, d);
}

static void end_batches(database *d) {
    for (int i = 0; i < TABLES; i++) hand_over(d, (table_id)i);
    pthread_mutex_lock(&d->mutex);
    d->ended = true;
    pthread_cond_signal(&d->changed);
    pthread_mutex_unlock(&d->mutex);
    if (d->has_writer) pthread_join(d->writer, NULL);
    for (size_t i = 0; i < BATCHES; i++) {
        free(d->batches[i].cells);
        free(d->batches[i].text);
    }
    pthread_cond_destroy(&d->changed);
    pthread_mutex_destroy(&d->mutex);
}

/* ---- The database ---- */

static const char *type_of(const table_column *c) {
    return c->type == CELL_TEXT ? "TEXT" : c->type == CELL_DOUBLE ? "REAL" : "INTEGER";
}

static void create_table(database *d, table_id table) {
    const table_model *model = &table_models[table];
    char sql[2048], name[64];
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
    d->sources[table] = (source_of){d, table};
    snprintf(name, sizeof name, "%s_rows", model->name);
    snprintf(sql, sizeof sql, "INSERT INTO %s SELECT * FROM %s", model->name, name);
    check(d, sqlite3_create_module_v2(d->db, name, &source_module, &d->sources[table], NULL));
    if (!d->error[0]) check(d, sqlite3_prepare_v2(d->db, sql, -1, &d->inserts[table], NULL));
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
    if (!out.target) return output_close(&out, fail(job->path, "a database has to be a file"));
    database d = {.sink = {NULL, insert_row, (1u << TABLES) - 1}, .path = job->path};
    open_database(&d, out.fd);
    begin_batches(&d);
    for (size_t i = 0; i < job->count && status == EXIT_OK && !has_failed(&d); i++)
        status = dataset_read(job->traces[i], job_rank(job, i), &d.sink);
    end_batches(&d);
    close_database(&d);
    return output_close(&out, d.error[0] ? EXIT_BAD : status);
}
