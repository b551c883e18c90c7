/* The tables of traces as files: see tables.h. */
#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common.h"
#include "tables.h"

/* ---- One table, one file ---- */

typedef struct table_file {
    row_sink sink;
    output out;
    table_id table;
    parquet *parquet;            /* NULL: CSV */
} table_file;

static void file_row(row_sink *sink, table_id table, const cell *cells) {
    table_file *f = (table_file *)sink;
    if (table != f->table) return;
    if (f->parquet) parquet_row(f->parquet, cells);
    else csv_row(&f->out, &table_models[table], cells);
}

static bool file_open(table_file *f, const char *path, table_id table, bool as_parquet) {
    *f = (table_file){.sink = {NULL, file_row, 1u << table}, .table = table};
    if (!output_open(&f->out, path)) return false;
    if (as_parquet) f->parquet = parquet_open(&f->out, &table_models[table]);
    else csv_head(&f->out, &table_models[table]);
    return true;
}

static int file_close(table_file *f, int status) {
    if (f->parquet) parquet_close(f->parquet);
    return output_finish(&f->out, status);
}

static int write_table(const table_job *job, bool as_parquet) {
    table_file f;
    int status = EXIT_OK;
    if (!file_open(&f, job->path, job->table, as_parquet)) return EXIT_BAD;
    for (size_t i = 0; i < job->count && status == EXIT_OK && !f.out.failed; i++)
        status = dataset_read(job->traces[i], job_rank(job, i), &f.sink);
    return file_close(&f, status);
}

int tables_csv(const table_job *job) { return write_table(job, false); }
int tables_parquet(const table_job *job) { return write_table(job, true); }

/* ---- All tables, a folder for each rank ---- */

typedef struct folder {
    row_sink sink;
    table_file files[TABLES];
    int open;                    /* the first ones, of the rank that is read */
    char *path;                  /* while it is made */
    const char *suffix;          /* of its files */
} folder;

static void folder_row(row_sink *sink, table_id table, const cell *cells) {
    table_file *file = &((folder *)sink)->files[table];
    file_row(&file->sink, table, cells);
}

static bool make_folder(const char *path) {
    if (mkdir(path, 0777) != 0) return fail(path, "cannot be created: %s", strerror(errno)), false;
    output_made(path);
    return true;
}

static bool folder_begin(row_sink *sink, int64_t rank) {
    folder *f = (folder *)sink;
    char path[4096];
    bool as_parquet = strcmp(f->suffix, ".parquet") == 0;
    snprintf(path, sizeof path, "%s/rank=%lld", f->path, (long long)rank);
    if (!make_folder(path)) return false;
    for (; f->open < TABLES; f->open++) {
        snprintf(path, sizeof path, "%s/rank=%lld/%s%s", f->path, (long long)rank,
                 table_models[f->open].name, f->suffix);
        if (!file_open(&f->files[f->open], path, (table_id)f->open, as_parquet)) return false;
        output_made(path);
    }
    return true;
}

static int write_rank(folder *f, const char *trace, const int64_t *rank) {
    int status = dataset_read(trace, rank, &f->sink);
    while (f->open > 0) {
        int closed = file_close(&f->files[--f->open], status);
        if (closed != EXIT_OK) status = closed;
    }
    return status;
}

/* rename() takes the place of nothing, or of a folder with nothing in it. */
static int end_folder(const folder *f, const char *path, int status) {
    if (status == EXIT_OK && rename(f->path, path) != 0)
        status = fail(path, "cannot be written: %s", strerror(errno));
    outputs_made_end(status == EXIT_OK);
    return status;
}

/* Is there nothing of that name, or a folder with nothing in it? */
static bool folder_is_free(const char *path) {
    struct stat status;
    bool is_free = true;
    if (stat(path, &status) != 0) return true;
    DIR *list = opendir(path);
    for (struct dirent *entry; list && (entry = readdir(list)); )
        is_free &= strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (list) closedir(list);
    if (!list) fail(path, "is no folder that can be read: %s", strerror(errno));
    else if (!is_free) fail(path, "this folder is not empty: give the output another name");
    return list && is_free;
}

int tables_folder(const table_job *job) {
    static const char *const suffixes[] = {".csv.gz", ".csv", ".parquet"};
    size_t size = strlen(job->path);
    char *path = allocate(size + 1), *temporary = allocate(size + 32);
    folder f = {.sink = {folder_begin, folder_row, (1u << TABLES) - 1}, .path = temporary};
    int status = EXIT_OK;
    memcpy(path, job->path, size);
    while (size > 1 && path[size - 1] == '/') path[--size] = '\0';
    snprintf(temporary, size + 32, "%s.%ld.tmp", path, (long)getpid());
    for (int i = 0; i < 3; i++)
        if (ends_with(path, suffixes[i])) f.suffix = suffixes[i];
    if (!folder_is_free(path) || !make_folder(temporary)) status = EXIT_BAD;
    for (size_t i = 0; i < job->count && status == EXIT_OK; i++)
        status = write_rank(&f, job->traces[i], job_rank(job, i));
    status = end_folder(&f, path, status);
    free(path);
    free(temporary);
    return status;
}
