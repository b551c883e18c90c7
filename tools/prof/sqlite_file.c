/* A SQLite database, written in one go: see sqlite_file.h and https://sqlite.org/fileformat2.html.
   A table is a tree of pages. Rows go to a leaf; when it is full it is written, and what tells it
   from the next one goes to the page above: of a table with a key its last row, else that row's
   number. Pages above are filled alike. */
#include "sqlite_file.h"

#include <stdlib.h>
#include <string.h>

#include "containers.h"
#include "protobuf.h"

enum {
    PAGE = 16384,
    FILE_HEAD = 100,             /* of the first page */
    LEVELS = 32,                 /* of a tree: pages are 2 to the 32nd at most, each has 2 below */
    MOST_VALUES = 64,            /* of a row */
    MOST_BYTES = 1000000000      /* of a row: SQLITE_MAX_LENGTH */
};
enum { INNER_KEYED = 2, INNER = 5, LEAF_KEYED = 10, LEAF = 13 };     /* kinds of pages */

/* A page that is being filled: cells from its end on, their places behind its head. */
typedef struct page {
    uint8_t bytes[PAGE];
    size_t head, begin;          /* of the page's head; of the cell added last */
    size_t cells, last_size;     /* of that cell */
} page;

struct sqlite_table {
    sqlite_file *file;
    const char *name, *sql;
    bool keyed;
    page *levels[LEVELS];        /* the leaf first */
    int64_t rows;
    uint32_t root;
    sqlite_table *next;
};

struct sqlite_file {
    output *out;
    uint32_t pages, user_version;            /* pages: that are written */
    sqlite_table *tables, **end;
    pb record;                   /* of the row */
};

/* ---- Numbers: the highest byte first ---- */

static void put_fixed(uint8_t *to, uint64_t number, size_t bytes) {
    while (bytes--) {
        to[bytes] = (uint8_t)number;
        number >>= 8;
    }
}

static uint32_t read_fixed4(const uint8_t *from) {
    return (uint32_t)from[0] << 24 | (uint32_t)from[1] << 16 | (uint32_t)from[2] << 8 | from[3];
}

/* Seven bits a byte; below 2 to the 56th, which sizes, types and numbers of rows are. */
static size_t put_varint(uint8_t *to, uint64_t number) {
    size_t size = 1;
    for (uint64_t left = number >> 7; left; left >>= 7) size++;
    for (size_t i = size; i-- > 0; number >>= 7) to[i] = (uint8_t)((number & 127) | 128);
    to[size - 1] &= 127;
    return size;
}

/* ---- Pages ---- */

static bool is_leaf(const page *p) { return p->bytes[p->head] >= LEAF_KEYED; }

static size_t head_size(const page *p) { return is_leaf(p) ? 8 : 12; }

static void page_begin(page *p, unsigned kind, size_t head) {
    p->head = head;
    p->begin = PAGE;
    p->cells = p->last_size = 0;
    memset(p->bytes + head, 0, 12);
    p->bytes[head] = (uint8_t)kind;
}

static bool page_has_room(const page *p, size_t size) {
    return p->head + head_size(p) + 2 * (p->cells + 1) + size <= p->begin;
}

/* Where a new cell of that size goes. */
static uint8_t *page_cell(page *p, size_t size) {
    p->begin -= size;
    put_fixed(p->bytes + p->head + head_size(p) + 2 * p->cells++, p->begin, 2);
    p->last_size = size;
    return p->bytes + p->begin;
}

/* Of the cell added last: where its bytes are until the next one. */
static const uint8_t *page_take_back(page *p) {
    const uint8_t *cell = p->bytes + p->begin;
    p->begin += p->last_size;
    p->cells--;
    return cell;
}

static uint32_t write_bytes(sqlite_file *f, const uint8_t *bytes) {
    output_write(f->out, bytes, PAGE);
    return ++f->pages;
}

static void page_seal(page *p) {
    size_t cells_end = p->head + head_size(p) + 2 * p->cells;
    put_fixed(p->bytes + p->head + 3, p->cells, 2);
    put_fixed(p->bytes + p->head + 5, p->begin, 2);
    memset(p->bytes + cells_end, 0, p->begin - cells_end);
}

/* The page begins anew. right: the page below behind all its cells. Its number. */
static uint32_t page_write(sqlite_file *f, page *p, uint32_t right) {
    unsigned kind = p->bytes[p->head];
    if (!is_leaf(p)) put_fixed(p->bytes + p->head + 8, right, 4);
    page_seal(p);
    uint32_t number = write_bytes(f, p->bytes);
    page_begin(p, kind, 0);
    return number;
}

/* ---- Trees ---- */

static page *level_of(sqlite_table *t, size_t level) {
    if (t->levels[level]) return t->levels[level];
    t->levels[level] = allocate(sizeof *t->levels[level]);
    page_begin(t->levels[level], level ? (t->keyed ? INNER_KEYED : INNER)
                                       : (t->keyed ? LEAF_KEYED : LEAF), 0);
    return t->levels[level];
}

/* What goes to the page above as the page ends: a key, and the page below that lies before it. */
typedef struct divider { uint8_t key[PAGE / 4]; size_t size; } divider;

static void take_divider(sqlite_table *t, page *p, divider *d, uint32_t *right) {
    size_t child = is_leaf(p) ? 0 : 4;
    if (is_leaf(p) && !t->keyed) {
        d->size = put_varint(d->key, (uint64_t)t->rows);
        return;
    }
    d->size = p->last_size - child;
    const uint8_t *cell = page_take_back(p);
    memcpy(d->key, cell + child, d->size);
    if (child) *right = read_fixed4(cell);
}

static void end_page(sqlite_table *t, size_t level) {
    divider d;
    uint32_t right = 0;
    take_divider(t, t->levels[level], &d, &right);
    uint32_t number = page_write(t->file, t->levels[level], right);
    if (!page_has_room(level_of(t, level + 1), d.size + 4)) end_page(t, level + 1);
    uint8_t *cell = page_cell(t->levels[level + 1], d.size + 4);
    put_fixed(cell, number, 4);
    memcpy(cell + 4, d.key, d.size);
}

static void end_table(sqlite_table *t) {
    t->root = page_write(t->file, level_of(t, 0), 0);
    for (size_t level = 1; level < LEVELS && t->levels[level]; level++)
        t->root = page_write(t->file, t->levels[level], t->root);
}

/* ---- Rows ---- */

static size_t integer_bytes(int64_t number) {
    uint64_t size = (uint64_t)(number < 0 ? ~number : number);
    return size < 1u << 7 ? 1 : size < 1u << 15 ? 2 : size < 1u << 23 ? 3 : size < 1u << 31 ? 4
         : size < (uint64_t)1 << 47 ? 6 : 8;         /* there is no type of 5 or 7 */
}

/* The type as it stands in a row's head, and the bytes of the value behind that. */
static uint64_t type_of(const sqlite_value *v, size_t *bytes) {
    *bytes = 0;
    switch (v->type) {
    case SQLITE_IS_NULL: return 0;
    case SQLITE_IS_TEXT: *bytes = (size_t)v->integer; return 2 * (uint64_t)v->integer + 13;
    case SQLITE_IS_REAL: *bytes = 8; return 7;
    default: break;
    }
    if (v->integer == 0 || v->integer == 1) return 8 + (uint64_t)v->integer;
    *bytes = integer_bytes(v->integer);
    return *bytes < 5 ? *bytes : *bytes == 6 ? 5 : 6;
}

static void put_value(uint8_t *to, const sqlite_value *v, size_t bytes) {
    uint64_t number = (uint64_t)v->integer;
    if (v->type == SQLITE_IS_TEXT) {
        memcpy(to, v->text, bytes);
        return;
    }
    if (v->type == SQLITE_IS_REAL) memcpy(&number, &v->real, sizeof number);
    put_fixed(to, number, bytes);
}

/* The row as SQLite keeps it, in f->record: its types, then its values. */
static bool make_record(sqlite_file *f, const sqlite_value *values, size_t count) {
    uint8_t types[10 * MOST_VALUES];
    size_t sizes[MOST_VALUES], head = 0, all = 0;
    for (size_t i = 0; i < count; i++) {
        uint64_t type = type_of(&values[i], &sizes[i]);
        if (sizes[i] > MOST_BYTES || (all += sizes[i]) > MOST_BYTES) return false;
        head += put_varint(types + head, type);
    }
    head += head < 127 ? 1 : 2;                  /* its own size is a part of it */
    if (head + all > MOST_BYTES) return false;
    f->record.size = 0;
    uint8_t *to = pb_room(&f->record, head + all);
    size_t at = put_varint(to, head);
    memcpy(to + at, types, head - at);
    to += head;
    for (size_t i = 0; i < count; to += sizes[i++])
        if (sizes[i]) put_value(to, &values[i], sizes[i]);
    f->record.size = head + all;
    return true;
}

/* How much of a row of that size stands in its cell. */
static size_t local_size(bool keyed, size_t size) {
    size_t most = keyed ? (PAGE - 12) * 64 / 255 - 23 : PAGE - 35;
    size_t least = (PAGE - 12) * 32 / 255 - 23;
    if (size <= most) return size;
    size_t wanted = least + (size - least) % (PAGE - 4);
    return wanted <= most ? wanted : least;
}

/* What is too much for a cell, on pages of its own, one behind the other. The first's number. */
static uint32_t write_rest(sqlite_file *f, const uint8_t *rest, size_t size) {
    uint8_t bytes[PAGE];
    uint32_t first = f->pages + 1;
    while (size) {
        size_t piece = size < PAGE - 4 ? size : PAGE - 4;
        memset(bytes, 0, sizeof bytes);
        memcpy(bytes + 4, rest, piece);
        rest += piece;
        size -= piece;
        put_fixed(bytes, size ? f->pages + 2 : 0, 4);
        write_bytes(f, bytes);
    }
    return first;
}

/* f->record as a cell. */
static void add_record(sqlite_table *t) {
    sqlite_file *f = t->file;
    const pb *record = &f->record;
    uint8_t head[20];
    size_t local = local_size(t->keyed, record->size), rest = record->size - local;
    size_t size = put_varint(head, record->size);
    page *p = level_of(t, 0);
    if (!t->keyed) size += put_varint(head + size, (uint64_t)t->rows + 1);
    size_t all = size + local + (rest ? 4 : 0);
    if (!page_has_room(p, all)) end_page(t, 0);
    uint8_t *cell = page_cell(p, all);
    memcpy(cell, head, size);
    memcpy(cell + size, record->data, local);
    if (rest) put_fixed(cell + size + local, write_rest(f, record->data + local, rest), 4);
    t->rows++;
}

bool sqlite_row(sqlite_table *t, const sqlite_value *values, size_t count) {
    if (!make_record(t->file, values, count)) return false;
    add_record(t);
    return true;
}

/* ---- The file ---- */

sqlite_file *sqlite_begin(output *out, uint32_t user_version) {
    static const uint8_t none[PAGE];
    sqlite_file *f = allocate(sizeof *f);
    f->out = out;
    f->user_version = user_version;
    f->end = &f->tables;
    write_bytes(f, none);
    return f;
}

sqlite_table *sqlite_table_begin(sqlite_file *f, const char *name, const char *sql, bool keyed) {
    sqlite_table *t = allocate(sizeof *t);
    t->file = f;
    t->name = name;
    t->sql = sql;
    t->keyed = keyed;
    level_of(t, 0);
    *f->end = t;
    f->end = &t->next;
    return t;
}

void sqlite_view(sqlite_file *f, const char *name, const char *sql) {
    sqlite_table *view = sqlite_table_begin(f, name, sql, false);
    free(view->levels[0]);
    view->levels[0] = NULL;
}

static sqlite_value text_value(const char *text) {
    return (sqlite_value){.type = SQLITE_IS_TEXT, .integer = (int64_t)strlen(text), .text = text};
}

static void put_file_head(const sqlite_file *f, uint8_t *to) {
    static const struct { uint8_t at, size; uint32_t number; } fields[] = {
        {16, 2, PAGE}, {18, 1, 1}, {19, 1, 1}, {21, 1, 64}, {22, 1, 32}, {23, 1, 32},
        {24, 4, 1} /* changes */, {40, 4, 1}, {44, 4, 4} /* format of the schema */,
        {56, 4, 1} /* UTF-8 */, {92, 4, 1} /* changes that the size is of */,
        {96, 4, 3008002} /* the first SQLite that reads it */
    };
    memcpy(to, "SQLite format 3", 16);
    for (size_t i = 0; i < sizeof fields / sizeof *fields; i++)
        put_fixed(to + fields[i].at, fields[i].number, fields[i].size);
    put_fixed(to + 28, f->pages, 4);
    put_fixed(to + 60, f->user_version, 4);
}

/* The first page: the table of tables, which are few. */
static void write_schema(sqlite_file *f) {
    sqlite_table schema = {.file = f};
    page *p = level_of(&schema, 0);
    page_begin(p, LEAF, FILE_HEAD);
    for (const sqlite_table *t = f->tables; t; t = t->next) {
        const sqlite_value row[] = {
            text_value(t->root ? "table" : "view"), text_value(t->name), text_value(t->name),
            {.type = SQLITE_IS_INTEGER, .integer = t->root}, text_value(t->sql)
        };
        sqlite_row(&schema, row, sizeof row / sizeof *row);
    }
    page_seal(p);
    put_file_head(f, p->bytes);
    output_write_first(f->out, p->bytes, PAGE);
    free(p);
}

void sqlite_end(sqlite_file *f) {
    for (sqlite_table *t = f->tables; t; t = t->next)
        if (t->levels[0]) end_table(t);
    write_schema(f);
    for (sqlite_table *t = f->tables, *next; t; t = next) {
        next = t->next;
        for (size_t i = 0; i < LEVELS; i++) free(t->levels[i]);
        free(t);
    }
    free(f->record.data);
    free(f);
}
