/* The tables of traces as files: see tables.h. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/common.h"
#include "base/interrupts.h"
#include "output/tables.h"

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

/* fd: of the file that path is, -1: it is to be made. */
static bool file_open(table_file *f, const char *path, int fd, table_id table, bool as_parquet) {
    *f = (table_file){.sink = {.row = file_row, .wanted = 1u << table}, .table = table};
    if (!(fd < 0 ? output_open(&f->out, path) : output_onto(&f->out, fd, path))) return false;
    if (as_parquet) f->parquet = parquet_open(&f->out, &table_models[table]);
    else csv_head(&f->out, &table_models[table]);
    return true;
}

static int file_close(table_file *f, int status) {
    if (f->parquet) parquet_close(f->parquet);
    return output_close(&f->out, status);
}

static int write_table(const table_job *job, bool as_parquet) {
    table_file f;
    int status = EXIT_OK;
    if (!file_open(&f, job->path, -1, job->table, as_parquet)) return EXIT_BAD;
    for (size_t i = 0; i < job->count && status == EXIT_OK && !f.out.failed; i++)
        status = dataset_read(job->traces[i], job_rank(job, i), job_clock(job, i), &f.sink);
    return file_close(&f, status);
}

int tables_csv(const table_job *job) { return write_table(job, false); }
int tables_parquet(const table_job *job) { return write_table(job, true); }

/* ---- All tables, a folder for each rank ---- */

/* Of a table one file without a name has all ranks' files, one behind the other. When they are
   whole the folder is made of them. */
typedef struct folder {
    row_sink sink;
    table_file files[TABLES];
    int whole[TABLES];
    int open;                    /* the first ones, of the rank that is read */
    const char *path, *suffix;   /* its own; of its files */
    struct rank_files { int64_t rank; off_t ends[TABLES]; } *ranks;
    size_t count, capacity;
} folder;

static void folder_row(row_sink *sink, table_id table, const cell *cells) {
    table_file *file = &((folder *)sink)->files[table];
    file_row(&file->sink, table, cells);
}

static bool folder_begin(row_sink *sink, int64_t rank) {
    folder *f = (folder *)sink;
    bool as_parquet = strcmp(f->suffix, ".parquet") == 0;
    GROW(f->ranks, f->count, f->capacity);
    f->ranks[f->count++].rank = rank;
    for (; f->open < TABLES; f->open++) {
        int fd = dup(f->whole[f->open]);
        if (fd < 0) return fail(f->path, "cannot be created: %s", strerror(errno)), false;
        if (!file_open(&f->files[f->open], f->path, fd, (table_id)f->open, as_parquet))
            return false;
    }
    return true;
}

static int write_rank(folder *f, const table_job *job, size_t trace) {
    int status = dataset_read(job->traces[trace], job_rank(job, trace), job_clock(job, trace),
                              &f->sink);
    while (f->open > 0) {
        int closed = file_close(&f->files[--f->open], status);
        if (closed != EXIT_OK) status = closed;
        if (f->count) f->ranks[f->count - 1].ends[f->open] = lseek(f->whole[f->open], 0, SEEK_CUR);
    }
    return status;
}

enum { RANK_ROOM = PATH_ROOM + 64 };
static size_t rank_path(const folder *f, size_t i, const char *in, char path[RANK_ROOM]) {
    return (size_t)snprintf(path, RANK_ROOM, "%s/rank=%lld", in, (long long)f->ranks[i].rank);
}

static bool make_files(const folder *f, const char *name) {
    for (size_t i = 0; i < f->count; i++) {
        char path[RANK_ROOM];
        size_t size = rank_path(f, i, name, path);
        if (mkdir(path, 0777) != 0) return false;
        for (int t = 0; t < TABLES; t++) {
            snprintf(path + size, RANK_ROOM - size, "/%s%s", table_models[t].name, f->suffix);
            int to = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
            off_t begin = i ? f->ranks[i - 1].ends[t] : 0;
            if (!file_copy(f->whole[t], begin, f->ranks[i].ends[t], to)) return false;
        }
    }
    return true;
}

/* A folder that is there stays, with its rights: the ranks' folders are put into it. */
static bool put_in_place(const folder *f, const char *name, bool there) {
    char from[RANK_ROOM], to[RANK_ROOM];
    size_t placed = 0;
    bool good = there || rename(name, f->path) == 0;
    while (there && good && placed < f->count) {
        rank_path(f, placed, name, from);
        rank_path(f, placed, f->path, to);
        good = rename(from, to) == 0;
        placed += good;
    }
    if (!good) fail(f->path, "cannot be written: %s", strerror(errno));
    while (!good && placed > 0) {
        rank_path(f, --placed, f->path, to);
        tree_remove(to);
    }
    return good;
}

static int make_folder(const folder *f, const char *beside, bool there) {
    char name[PATH_ROOM];
    sigset_t before;
    struct stat own;
    signals_hold(&before);
    int fd = folder_make(beside, 0777, name);
    bool made = fd >= 0 && make_files(f, name);
    if (made && fstat(fd, &own) == 0) fchmod(fd, own.st_mode & 0777);
    if (!made) fail(f->path, "cannot be written: %s", strerror(errno));
    bool good = made && put_in_place(f, name, there);
    if (fd >= 0) {
        tree_remove(name);
        close(fd);
    }
    signals_release(&before);
    return good ? EXIT_OK : EXIT_BAD;
}

/* Is there nothing in it? */
static bool folder_is_free(const char *path) {
    bool is_free = true;
    DIR *list = opendir(path);
    for (struct dirent *entry; list && (entry = readdir(list)); )
        is_free &= strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0;
    if (list) closedir(list);
    if (!list) fail(path, "is not a folder that can be read: %s", strerror(errno));
    else if (!is_free) fail(path, "this folder is not empty: give the output another name");
    return list && is_free;
}

int tables_folder(const table_job *job) {
    static const char *const suffixes[] = {".csv.gz", ".csv", ".parquet"};
    char path[PATH_ROOM], beside[PATH_ROOM];
    struct stat old;
    size_t size = (size_t)snprintf(path, PATH_ROOM, "%s", job->path);
    folder f = {.path = path, .sink = {.begin = folder_begin, .row = folder_row, .apart = true,
                                       .wanted = (1u << TABLES) - 1}};
    int status = EXIT_OK, made = 0;
    if (size >= PATH_ROOM) return fail(job->path, "%s", strerror(ENAMETOOLONG));
    while (size > 1 && path[size - 1] == '/') path[--size] = '\0';
    for (int i = 0; i < 3; i++)
        if (ends_with(path, suffixes[i])) f.suffix = suffixes[i];
    bool there = stat(path, &old) == 0;
    if (there) snprintf(beside, PATH_ROOM, "%.*s/", PATH_ROOM - 2, path);
    else snprintf(beside, PATH_ROOM, "%.*s", (int)(file_name(path) - path), path);
    leftovers_remove(beside);
    if (there && !folder_is_free(path)) return EXIT_BAD;
    while (made < TABLES && (f.whole[made] = file_unnamed(beside, 0600)) >= 0) made++;
    if (made < TABLES) status = fail(path, "cannot be created: %s", strerror(errno));
    for (size_t i = 0; i < job->count && status == EXIT_OK; i++) {
        do status = write_rank(&f, job, i);
        while ((f.sink.place = f.sink.next) && status == EXIT_OK);
    }
    if (status == EXIT_OK) status = make_folder(&f, beside, there);
    while (made > 0) close(f.whole[--made]);
    free(f.ranks);
    return status;
}
