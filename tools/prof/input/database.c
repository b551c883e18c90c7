/* Profiles that are SQLite databases: see database.h. */
#include "input/database.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* A row takes five bytes at least, and a query of twenty columns sixty steps of SQLite for it.
   Pages that stand in a tree again and again give rows without end. */
enum { STEPS_PER_BYTE = 32, STEPS_AT_LEAST = 1 << 22, STEPS_PER_CALL = 1000 };

static bool failed(database *d, const char *table) {
    int why = sqlite3_errcode(d->handle);
    if (!d->to->failed && why == SQLITE_INTERRUPT)
        fail(d->path, "table %s: more rows than a file of this size can have: it is damaged",
             table);
    else if (!d->to->failed) fail(d->path, "table %s: %s", table, sqlite3_errmsg(d->handle));
    d->to->failed = true;
    return false;
}

/* ---- To open one ---- */

static int count_steps(void *user) {
    database *d = user;
    return ++d->steps > d->most_steps;
}

/* As immutable: else SQLite leaves its own files beside one that is in the WAL mode. */
static int open_file(database *d) {
    const int how = SQLITE_OPEN_READONLY | SQLITE_OPEN_URI | SQLITE_OPEN_NOMUTEX;
    char *uri = allocate(3 * strlen(d->path) + 32), *end = uri;
    end += sprintf(end, "file:");
    for (const char *p = d->path; *p; p++) end += sprintf(end, "%%%02X", (unsigned char)*p);
    sprintf(end, "?immutable=1");
    int result = sqlite3_open_v2(uri, &d->handle, how, NULL);
    free(uri);
    return result;
}

/* Before the file's own tables are known. */
static bool forbid(sqlite3 *db) {
    static const struct { int what, on; } configs[] = {
        {SQLITE_DBCONFIG_DEFENSIVE, 1}, {SQLITE_DBCONFIG_TRUSTED_SCHEMA, 0},
        {SQLITE_DBCONFIG_ENABLE_VIEW, 0}, {SQLITE_DBCONFIG_ENABLE_TRIGGER, 0}
    };
    static const struct { int what, most; } limits[] = {
        {SQLITE_LIMIT_LENGTH, 4 << 20}, {SQLITE_LIMIT_SQL_LENGTH, 1 << 20},
        {SQLITE_LIMIT_COLUMN, 500}, {SQLITE_LIMIT_EXPR_DEPTH, 100}, {SQLITE_LIMIT_ATTACHED, 0},
        {SQLITE_LIMIT_VDBE_OP, 25000}, {SQLITE_LIMIT_LIKE_PATTERN_LENGTH, 50}
    };
    for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
        sqlite3_limit(db, limits[i].what, limits[i].most);
    for (size_t i = 0; i < sizeof configs / sizeof *configs; i++)
        if (sqlite3_db_config(db, configs[i].what, configs[i].on, NULL) != SQLITE_OK) return false;
    return sqlite3_exec(db, "PRAGMA cell_size_check = 1", NULL, NULL, NULL) == SQLITE_OK;
}

/* The first row of a query, whose values may be NULL. */
static int query(database *d, const char *sql, const char *first, const char *second,
                 sqlite3_stmt **statement) {
    if (sqlite3_prepare_v2(d->handle, sql, -1, statement, NULL) != SQLITE_OK) return SQLITE_ERROR;
    if (first && (sqlite3_bind_text(*statement, 1, first, -1, SQLITE_STATIC) != SQLITE_OK ||
                  sqlite3_bind_text(*statement, 2, second, -1, SQLITE_STATIC) != SQLITE_OK))
        return SQLITE_ERROR;
    return sqlite3_step(*statement);
}

static const char *name_in(sqlite3_stmt *statement, int column) {
    const unsigned char *name = sqlite3_column_text(statement, column);
    return name ? (const char *)name : "";
}

/* What defines a table is what the file says: no virtual one is there, whose module would run. */
static bool is_plain(database *d) {
    static const char sql[] = "SELECT name FROM sqlite_master WHERE sql IS NOT NULL AND "
        "substr(sql, 1, 13) <> 'CREATE TABLE ' AND substr(sql, 1, 13) <> 'CREATE INDEX ' AND "
        "substr(sql, 1, 20) <> 'CREATE UNIQUE INDEX ' AND substr(sql, 1, 12) <> 'CREATE VIEW ' "
        "AND substr(sql, 1, 15) <> 'CREATE TRIGGER '";
    sqlite3_stmt *statement = NULL;
    int result = query(d, sql, NULL, NULL, &statement);
    if (result == SQLITE_ROW)
        d->to->failed = fail(d->path, "table %s is no plain table: prof reads none that runs "
                             "anything", name_in(statement, 0));
    else if (result != SQLITE_DONE) failed(d, "sqlite_master");
    sqlite3_finalize(statement);
    return result == SQLITE_DONE;
}

bool database_open(database *d, const source_desc *desc) {
    struct stat about;
    d->to = desc->to;
    d->path = desc->path;
    if (desc->fd < 0 || strcmp(desc->path, "-") == 0 || fstat(desc->fd, &about)) {
        d->to->failed = fail(d->path, "a profile that is an SQLite database is read from a plain "
                             "file");
        return false;
    }
    d->most_steps = ((uint64_t)about.st_size * STEPS_PER_BYTE + STEPS_AT_LEAST) / STEPS_PER_CALL;
    if (open_file(d) != SQLITE_OK || !forbid(d->handle)) return failed(d, "sqlite_master");
    sqlite3_progress_handler(d->handle, STEPS_PER_CALL, count_steps, d);
    return is_plain(d);
}

void database_close(database *d) { sqlite3_close(d->handle); }

/* ---- Tables ---- */

/* An expression of the file's own computes no column. */
static bool is_stored(database *d, const char *table) {
    enum { NAME = 1, HIDDEN = 6, COMPUTED = 2 };
    sqlite3_stmt *statement = NULL;
    char *sql = sqlite3_mprintf("PRAGMA table_xinfo(\"%w\")", table);
    int result = sql ? query(d, sql, NULL, NULL, &statement) : SQLITE_NOMEM;
    while (result == SQLITE_ROW && sqlite3_column_int(statement, HIDDEN) < COMPUTED)
        result = sqlite3_step(statement);
    if (result == SQLITE_ROW)
        d->to->failed = fail(d->path, "table %s: the file computes column %s: prof reads what is "
                             "stored", table, name_in(statement, NAME));
    else if (result != SQLITE_DONE) failed(d, table);
    sqlite3_finalize(statement);
    sqlite3_free(sql);
    return result == SQLITE_DONE;
}

static bool in_schema(database *d, const char *name, const char *kind) {
    static const char sql[] = "SELECT 1 FROM sqlite_master WHERE name = ?1 AND type = ?2";
    sqlite3_stmt *statement = NULL;
    int result = d->to->failed ? SQLITE_DONE : query(d, sql, name, kind, &statement);
    if (result != SQLITE_ROW && result != SQLITE_DONE) failed(d, "sqlite_master");
    sqlite3_finalize(statement);
    return result == SQLITE_ROW;
}

bool database_has(database *d, const char *table) { return in_schema(d, table, "table"); }

void database_tables(database *d, void (*take)(void *user, const char *table), void *user) {
    static const char sql[] = "SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name";
    sqlite3_stmt *statement = NULL;
    int result = d->to->failed ? SQLITE_DONE : query(d, sql, NULL, NULL, &statement);
    for (; result == SQLITE_ROW; result = sqlite3_step(statement))
        take(user, name_in(statement, 0));
    if (result != SQLITE_DONE) failed(d, "sqlite_master");
    sqlite3_finalize(statement);
}

bool database_column(database *d, const char *table, const char *name) {
    return sqlite3_table_column_metadata(d->handle, "main", table, name, NULL, NULL, NULL, NULL,
                                         NULL) == SQLITE_OK;
}

bool rows_open(database *d, rows *r, const char *table, const char *order,
               const char *const *names) {
    if (in_schema(d, table, "view"))
        d->to->failed = fail(d->path, "table %s is a view: prof reads what is stored", table);
    if (!database_has(d, table) || !is_stored(d, table)) return false;
    sqlite3_str *sql = sqlite3_str_new(d->handle);
    for (int i = 0; names[i]; i++)
        sqlite3_str_appendf(sql, database_column(d, table, names[i]) ? "%s\"%w\"" : "%sNULL",
                            i ? ", " : "SELECT ", names[i]);
    sqlite3_str_appendf(sql, " FROM \"%w\"", table);
    if (order && database_column(d, table, order))
        sqlite3_str_appendf(sql, " ORDER BY \"%w\"", order);
    char *text = sqlite3_str_finish(sql);
    *r = (rows){.of = d, .table = table};
    bool good = text && sqlite3_prepare_v2(d->handle, text, -1, &r->statement, NULL) == SQLITE_OK;
    sqlite3_free(text);
    return good || failed(d, table);
}

bool rows_next(rows *r) {
    int result = sqlite3_step(r->statement);
    r->row++;
    if (result == SQLITE_ROW && !r->of->to->failed) return true;
    if (result != SQLITE_DONE && result != SQLITE_ROW) failed(r->of, r->table);
    rows_close(r);
    return false;
}

void rows_close(rows *r) { sqlite3_finalize(r->statement); }

/* ---- Rows ---- */

bool row_has(const rows *r, int i) {
    return sqlite3_column_type(r->statement, i) != SQLITE_NULL;
}

void row_odd(const rows *r, int i, const char *what) {
    char field[120];
    const char *column = sqlite3_column_name(r->statement, i);
    snprintf(field, sizeof field, "%s.%s", r->table, column ? column : "");
    queue_odd(r->of->to, field, "row", r->row, "%s", what);
}

/* What is none, and a text, is 0, too. */
int64_t row_int(const rows *r, int i, int64_t otherwise) {
    int64_t found = sqlite3_column_int64(r->statement, i);
    int type = found ? SQLITE_INTEGER : sqlite3_column_type(r->statement, i);
    if (type == SQLITE_NULL) return otherwise;
    const char *text = type == SQLITE_TEXT ? row_text(r, i) : NULL;
    if (type == SQLITE_BLOB || (text && !json_int(text_of(text), &found)))
        row_odd(r, i, "is no number");
    return found;
}

bool row_has_number(const rows *r, int i) {
    int type = sqlite3_column_type(r->statement, i);
    return type == SQLITE_INTEGER || type == SQLITE_FLOAT;
}

const char *row_text(const rows *r, int i) {
    const unsigned char *found = NULL;
    if (!row_has(r, i)) return NULL;
    found = sqlite3_column_text(r->statement, i);
    if (!found) failed(r->of, r->table);
    else if (memchr(found, 0, (size_t)sqlite3_column_bytes(r->statement, i)))
        row_odd(r, i, "has a byte 0: cut there");
    return (const char *)found;
}

trace_text row_bytes(const rows *r, int i) {
    const char *found = sqlite3_column_blob(r->statement, i);
    return (trace_text){found, found ? (size_t)sqlite3_column_bytes(r->statement, i) : 0};
}
