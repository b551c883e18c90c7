/* A table as a Parquet file: groups of rows, in each a page a column, in gzip where that is less.
   Texts that come again are in a dictionary, whole numbers as packed differences. The file's end,
   in Thrift's compact protocol, tells where all that is. */
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

#include "base/protobuf.h"
#include "output/tables.h"

enum {
    ROWS = 65536,                /* of a group, at most, */
    GROUP_BYTES = 1 << 26,       /* and so much text */
    MOST_DISTINCT = ROWS / 2,    /* texts of a dictionary, */
    TRIED = ROWS / 16,           /* which is not gone on with where of so many most differ */
    FEW_ROWS = 8192              /* in a group: packed as well as can be */
};

enum { /* numbers of parquet.thrift */
    INT32 = 1, INT64 = 2, DOUBLE = 5, BYTE_ARRAY = 6, REQUIRED = 0, OPTIONAL = 1, UTF8 = 0,
    PLAIN = 0, RLE = 3, DELTA_BINARY_PACKED = 5, RLE_DICTIONARY = 8, UNCOMPRESSED = 0, GZIP = 2,
    DATA_PAGE = 0, DICTIONARY_PAGE = 2
};

/* Where a column of a group is in the file, and what is in it. */
typedef struct chunk {
    int64_t begin, data, size, unpacked;   /* begin: of its first page */
    int64_t least, most, nulls;
    bool has_dictionary, packed;
} chunk;

/* A column of the group that is being filled. */
typedef struct values {
    uint8_t *levels;             /* 1: there is a value, for each row */
    int64_t *numbers;            /* doubles too, as they are in memory; of texts: their sizes */
    interner distinct;           /* texts, or where they are many the first ones of them, */
    uint32_t *indices;           /* in distinct */
    size_t in_distinct;          /* so many; */
    pb texts;                    /* the others */
    size_t count;                /* without NULLs */
    bool many;                   /* texts differ too much for a dictionary */
} values;

struct parquet {
    output *out;
    const table_model *model;
    values columns[MOST_COLUMNS];
    size_t rows, text_bytes;
    int64_t written, all_rows;
    chunk *chunks;               /* of all groups */
    int64_t *group_rows;
    size_t groups, chunk_capacity, group_capacity;
    pb pages[2], packed[2];      /* of a column: the dictionary, the data */
    pb head;
};

/* ---- Thrift's compact protocol ---- */

enum { T_I32 = 5, T_I64 = 6, T_BINARY = 8, T_LIST = 9, T_STRUCT = 12 };

/* A structure that is written: the field before. */
typedef struct thrift { pb *to; uint32_t last; } thrift;

static void put_byte(pb *to, unsigned byte) {
    uint8_t value = (uint8_t)byte;
    pb_raw(to, &value, 1);
}

static uint64_t zigzag(int64_t number) { return (uint64_t)number << 1 ^ (uint64_t)(number >> 63); }

static void field(thrift *t, uint32_t number, unsigned type) {
    put_byte(t->to, (number - t->last) << 4 | type);         /* fields are at most 15 apart */
    t->last = number;
}

static void put_number(thrift *t, uint32_t number, unsigned type, int64_t value) {
    field(t, number, type);
    pb_varint(t->to, zigzag(value));
}

static void put_binary(thrift *t, uint32_t number, const void *bytes, size_t size) {
    field(t, number, T_BINARY);
    pb_varint(t->to, size);
    pb_raw(t->to, bytes, size);
}

static void put_name(thrift *t, uint32_t number, const char *name) {
    put_binary(t, number, name, strlen(name));
}

static void put_list(thrift *t, uint32_t number, unsigned type, size_t count) {
    field(t, number, T_LIST);
    if (count < 15) put_byte(t->to, (unsigned)count << 4 | type);
    else put_byte(t->to, 0xF0 | type), pb_varint(t->to, count);
}

static thrift inside(thrift *t, uint32_t number) {
    field(t, number, T_STRUCT);
    return (thrift){t->to, 0};
}

static void end(thrift *t) { put_byte(t->to, 0); }

/* ---- Values as bytes ---- */

static void put_fixed(pb *to, uint64_t number, int bytes) {
    uint8_t *at = pb_room(to, (size_t)bytes);
    for (int i = 0; i < bytes; i++) at[i] = (uint8_t)(number >> 8 * i);
    to->size += (size_t)bytes;
}

/* Numbers of so many bits, the lowest first, into room for all. */
typedef struct bits { uint8_t *at; uint64_t held; unsigned count; } bits;

static void put_word(uint8_t *to, uint64_t word) {
    to[0] = (uint8_t)word, to[1] = (uint8_t)(word >> 8), to[2] = (uint8_t)(word >> 16);
    to[3] = (uint8_t)(word >> 24), to[4] = (uint8_t)(word >> 32), to[5] = (uint8_t)(word >> 40);
    to[6] = (uint8_t)(word >> 48), to[7] = (uint8_t)(word >> 56);
}

/* number has no more bits than that. */
static inline void put_bits(bits *b, uint64_t number, unsigned width) {
    b->held |= number << b->count;
    b->count += width;
    if (b->count < 64) return;
    put_word(b->at, b->held);
    b->at += 8;
    b->count -= 64;
    b->held = b->count ? number >> (width - b->count) : 0;
}

static void end_bits(bits *b) {
    for (; b->count; b->held >>= 8, b->count -= b->count < 8 ? b->count : 8)
        *b->at++ = (uint8_t)b->held;
}

static unsigned width_of(uint64_t most) {
    unsigned width = 0;
    for (; most; most >>= 1) width++;
    return width;
}

/* Numbers of one byte, or of four. */
typedef struct small_numbers { const void *of; bool bytes; } small_numbers;

static uint32_t number_at(small_numbers n, size_t i) {
    return n.bytes ? ((const uint8_t *)n.of)[i] : ((const uint32_t *)n.of)[i];
}

/* One run of the "RLE / bit-packing hybrid": all equal, or eight at a time. */
static void put_hybrid(pb *to, small_numbers n, size_t count, unsigned width) {
    bool equal = true;
    for (size_t i = 1; i < count && equal; i++) equal = number_at(n, i) == number_at(n, 0);
    if (equal && count) {
        pb_varint(to, (uint64_t)count << 1);
        put_fixed(to, number_at(n, 0), (int)(width + 7) / 8);
        return;
    }
    size_t groups = (count + 7) / 8;
    pb_varint(to, (uint64_t)groups << 1 | 1);
    bits b = {pb_room(to, groups * width), 0, 0};
    for (size_t i = 0; i < groups * 8; i++) put_bits(&b, i < count ? number_at(n, i) : 0, width);
    end_bits(&b);
    to->size += groups * width;
}

/* DELTA_BINARY_PACKED: blocks of differences, less the least of the block, in so few bits as it
   takes in each quarter. narrow: numbers of 32 bits, whose differences wrap around. */
static void put_block(pb *to, const int64_t *numbers, size_t count, bool narrow) {
    enum { MINI = 32, MINIS = 4 };
    uint64_t deltas[MINI * MINIS] = {0};
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < count; i++) {
        deltas[i] = (uint64_t)numbers[i + 1] - (uint64_t)numbers[i];
        if (narrow) deltas[i] = (uint64_t)(int64_t)(int32_t)(uint32_t)deltas[i];
        if ((int64_t)deltas[i] < least) least = (int64_t)deltas[i];
    }
    for (size_t i = 0; i < count; i++) deltas[i] -= (uint64_t)least;
    pb_varint(to, zigzag(least));
    unsigned widths[MINIS];
    for (int m = 0; m < MINIS; m++) {
        uint64_t all = 0;
        for (int i = 0; i < MINI; i++) all |= deltas[m * MINI + i];
        put_byte(to, widths[m] = width_of(all));
    }
    for (int m = 0; m < MINIS && (size_t)(m * MINI) < count; m++) {
        bits b = {pb_room(to, MINI / 8 * widths[m]), 0, 0};
        for (int i = 0; i < MINI; i++) put_bits(&b, deltas[m * MINI + i], widths[m]);
        end_bits(&b);
        to->size += MINI / 8 * widths[m];
    }
}

static void put_deltas(pb *to, const int64_t *numbers, size_t count, bool narrow) {
    enum { BLOCK = 128, MINIS = 4 };
    pb_varint(to, BLOCK);
    pb_varint(to, MINIS);
    pb_varint(to, count);
    pb_varint(to, zigzag(count ? numbers[0] : 0));
    for (size_t at = 0; at + 1 < count; at += BLOCK)
        put_block(to, numbers + at, count - 1 - at < BLOCK ? count - 1 - at : BLOCK, narrow);
}

static void put_text(pb *to, const char *text, size_t size) {
    uint8_t *at = pb_room(to, 4 + size);
    for (int i = 0; i < 4; i++) at[i] = (uint8_t)(size >> 8 * i);
    memcpy(at + 4, text, size);
    to->size += 4 + size;
}

static void put_texts(pb *to, const values *v) {
    for (size_t i = 0; i < v->in_distinct; i++) {
        const struct interned *text = &v->distinct.entries[v->indices[i]];
        put_text(to, text->text, text->size);
    }
    pb_raw(to, v->texts.data, v->texts.size);
}

/* ---- Pages ---- */

static void write_bytes(parquet *p, const pb *bytes) {
    output_write(p->out, bytes->data, bytes->size);
    p->written += (int64_t)bytes->size;
}

static void pack(const parquet *p, const pb *from, pb *to) {
    z_stream z;
    memset(&z, 0, sizeof z);
    to->size = 0;
    if (!from->size) return;
    if (deflateInit2(&z, p->rows < FEW_ROWS ? 9 : 1, Z_DEFLATED, 15 + 16, 8,
                     Z_DEFAULT_STRATEGY) != Z_OK) exit(fail(NULL, "out of memory"));
    size_t room = deflateBound(&z, (uLong)from->size);
    z.next_out = pb_room(to, room);
    z.avail_out = (uInt)room;
    z.next_in = from->data;
    z.avail_in = (uInt)from->size;
    deflate(&z, Z_FINISH);
    to->size = z.total_out;
    deflateEnd(&z);
}

/* count: values of the page. */
static void write_page(parquet *p, chunk *c, unsigned type, size_t count, unsigned encoding) {
    const pb *page = &p->pages[type == DATA_PAGE];
    const pb *bytes = c->packed ? &p->packed[type == DATA_PAGE] : page;
    thrift t = {&p->head, 0};
    p->head.size = 0;
    put_number(&t, 1, T_I32, type);
    put_number(&t, 2, T_I32, (int64_t)page->size);
    put_number(&t, 3, T_I32, (int64_t)bytes->size);
    thrift head = inside(&t, type == DATA_PAGE ? 5 : 7);
    put_number(&head, 1, T_I32, (int64_t)count);
    put_number(&head, 2, T_I32, encoding);
    for (uint32_t levels = 3; type == DATA_PAGE && levels <= 4; levels++)
        put_number(&head, levels, T_I32, RLE);
    end(&head);
    end(&t);
    write_bytes(p, &p->head);
    write_bytes(p, bytes);
    c->size += (int64_t)(p->head.size + bytes->size);
    c->unpacked += (int64_t)(p->head.size + page->size);
}

static void put_dictionary(pb *to, const interner *texts) {
    for (size_t i = 0; i < texts->count; i++)
        put_text(to, texts->entries[i].text, texts->entries[i].size);
}

static void put_levels(pb *to, const values *v, size_t rows) {
    size_t begin = to->size;
    put_fixed(to, 0, 4);
    put_hybrid(to, (small_numbers){v->levels, true}, rows, 1);
    size_t size = to->size;
    to->size = begin;
    put_fixed(to, size - begin - 4, 4);
    to->size = size;
}

static unsigned put_values(pb *to, const values *v, cell_type type, bool dictionary) {
    if (type == CELL_TEXT && dictionary) {
        unsigned width = width_of(v->distinct.count - 1);
        put_byte(to, width ? width : 1);
        put_hybrid(to, (small_numbers){v->indices, false}, v->count, width ? width : 1);
        return RLE_DICTIONARY;
    }
    if (type == CELL_TEXT) put_texts(to, v);
    else if (type != CELL_DOUBLE) put_deltas(to, v->numbers, v->count, type == CELL_INT32);
    else for (size_t i = 0; i < v->count; i++) put_fixed(to, (uint64_t)v->numbers[i], 8);
    return type == CELL_TEXT || type == CELL_DOUBLE ? PLAIN : DELTA_BINARY_PACKED;
}

static void find_range(const values *v, chunk *c) {
    c->least = INT64_MAX;
    c->most = INT64_MIN;
    for (size_t i = 0; i < v->count; i++) {
        if (v->numbers[i] < c->least) c->least = v->numbers[i];
        if (v->numbers[i] > c->most) c->most = v->numbers[i];
    }
}

/* Both pages of a column are packed, or, where that is less, none. */
static void write_pages(parquet *p, const values *v, chunk *c, unsigned encoding) {
    for (int i = 0; i < 2; i++) pack(p, &p->pages[i], &p->packed[i]);
    c->packed = p->packed[0].size + p->packed[1].size < p->pages[0].size + p->pages[1].size;
    if (c->has_dictionary) write_page(p, c, DICTIONARY_PAGE, v->distinct.count, PLAIN);
    c->data = p->written;
    write_page(p, c, DATA_PAGE, p->rows, encoding);
}

static void write_chunk(parquet *p, size_t number) {
    values *v = &p->columns[number];
    const table_column *model = &p->model->columns[number];
    GROW(p->chunks, p->groups * p->model->count + number, p->chunk_capacity);
    chunk *c = &p->chunks[p->groups * p->model->count + number];
    *c = (chunk){
        .begin = p->written, .nulls = (int64_t)(p->rows - v->count),
        .has_dictionary = model->type == CELL_TEXT && v->count && !v->many &&
                          v->distinct.count <= v->count / 2
    };
    if (model->type != CELL_TEXT) find_range(v, c);
    p->pages[0].size = p->pages[1].size = 0;
    if (c->has_dictionary) put_dictionary(&p->pages[0], &v->distinct);
    if (model->optional) put_levels(&p->pages[1], v, p->rows);
    write_pages(p, v, c, put_values(&p->pages[1], v, model->type, c->has_dictionary));
    v->count = v->in_distinct = v->texts.size = 0;
    v->many = false;
    intern_free(&v->distinct);
    memset(&v->distinct, 0, sizeof v->distinct);
}

static void write_group(parquet *p) {
    if (!p->rows) return;
    for (size_t i = 0; i < p->model->count; i++) write_chunk(p, i);
    GROW(p->group_rows, p->groups, p->group_capacity);
    p->group_rows[p->groups++] = (int64_t)p->rows;
    p->all_rows += (int64_t)p->rows;
    p->rows = p->text_bytes = 0;
}

/* ---- Rows ---- */

parquet *parquet_open(output *out, const table_model *model) {
    parquet *p = allocate(sizeof *p);
    p->out = out;
    p->model = model;
    for (size_t i = 0; i < model->count; i++) {
        values *v = &p->columns[i];
        v->levels = allocate(ROWS);
        v->numbers = allocate(ROWS * sizeof *v->numbers);
        if (model->columns[i].type == CELL_TEXT) v->indices = allocate(ROWS * sizeof *v->indices);
    }
    output_text(out, "PAR1");
    p->written = 4;
    return p;
}

/* Its number in the dictionary. Most texts are those of the row before. */
static uint32_t distinct_number(values *v, trace_text text) {
    if (v->in_distinct) {
        uint32_t last = v->indices[v->in_distinct - 1];
        const struct interned *before = &v->distinct.entries[last];
        if (before->size == text.size && memcmp(before->text, text.data, text.size) == 0)
            return last;
    }
    return intern(&v->distinct, text.data, text.size);
}

static void take_text(parquet *p, values *v, trace_text text) {
    p->text_bytes += text.size;
    if (v->many) {
        put_text(&v->texts, text.data, text.size);
        return;
    }
    uint32_t number = distinct_number(v, text);
    v->indices[v->in_distinct++] = number;
    v->many = v->distinct.count > MOST_DISTINCT ||
              (v->in_distinct == TRIED && v->distinct.count > TRIED / 8 * 7);
}

void parquet_row(parquet *p, const cell *cells) {
    for (size_t i = 0; i < p->model->count; i++) {
        values *v = &p->columns[i];
        v->levels[p->rows] = cells[i].is;
        if (!cells[i].is) continue;
        switch (p->model->columns[i].type) {
        case CELL_TEXT: take_text(p, v, cells[i].text); break;
        case CELL_DOUBLE: memcpy(&v->numbers[v->count], &cells[i].number, 8); break;
        default: v->numbers[v->count] = cells[i].integer; break;
        }
        v->count++;
    }
    if (++p->rows == ROWS || p->text_bytes > GROUP_BYTES) write_group(p);
}

/* ---- The file's end ---- */

static int type_number(cell_type type) {
    return type == CELL_INT32 ? INT32 : type == CELL_INT64 ? INT64
         : type == CELL_DOUBLE ? DOUBLE : BYTE_ARRAY;
}

static void put_schema(thrift *file, const table_model *model) {
    put_list(file, 2, T_STRUCT, model->count + 1);
    thrift root = {file->to, 0};
    put_name(&root, 4, model->name);
    put_number(&root, 5, T_I32, (int64_t)model->count);
    end(&root);
    for (size_t i = 0; i < model->count; i++) {
        const table_column *c = &model->columns[i];
        thrift t = {file->to, 0};
        put_number(&t, 1, T_I32, type_number(c->type));
        put_number(&t, 3, T_I32, c->optional ? OPTIONAL : REQUIRED);
        put_name(&t, 4, c->name);
        if (c->type == CELL_TEXT) {
            put_number(&t, 6, T_I32, UTF8);
            thrift logical = inside(&t, 10), text = inside(&logical, 1);
            end(&text);
            end(&logical);
        }
        end(&t);
    }
}

static void put_statistics(thrift *t, const chunk *c, cell_type type, bool any) {
    int bytes = type == CELL_INT32 ? 4 : 8;
    thrift s = inside(t, 12);
    put_number(&s, 3, T_I64, c->nulls);
    if (any && (type == CELL_INT32 || type == CELL_INT64)) {
        for (uint32_t number = 5; number <= 6; number++) {
            field(&s, number, T_BINARY);
            pb_varint(s.to, (uint64_t)bytes);
            put_fixed(s.to, (uint64_t)(number == 5 ? c->most : c->least), bytes);
        }
    }
    end(&s);
}

static void put_encodings(thrift *t, cell_type type, bool dictionary) {
    bool whole = type == CELL_INT32 || type == CELL_INT64;
    put_list(t, 2, T_I32, dictionary ? 3 : 2);
    pb_varint(t->to, zigzag(RLE));
    pb_varint(t->to, zigzag(whole ? DELTA_BINARY_PACKED : PLAIN));
    if (dictionary) pb_varint(t->to, zigzag(RLE_DICTIONARY));
}

static void put_chunk(pb *to, const table_column *model, const chunk *c, int64_t rows) {
    thrift column_chunk = {to, 0};
    put_number(&column_chunk, 2, T_I64, c->begin);
    thrift t = inside(&column_chunk, 3);
    put_number(&t, 1, T_I32, type_number(model->type));
    put_encodings(&t, model->type, c->has_dictionary);
    put_list(&t, 3, T_BINARY, 1);
    pb_varint(to, strlen(model->name));
    pb_raw(to, model->name, strlen(model->name));
    put_number(&t, 4, T_I32, c->packed ? GZIP : UNCOMPRESSED);
    put_number(&t, 5, T_I64, rows);
    put_number(&t, 6, T_I64, c->unpacked);
    put_number(&t, 7, T_I64, c->size);
    put_number(&t, 9, T_I64, c->data);
    if (c->has_dictionary) put_number(&t, 11, T_I64, c->begin);
    put_statistics(&t, c, model->type, c->nulls < rows);
    end(&t);
    end(&column_chunk);
}

static void put_group(parquet *p, pb *to, size_t group) {
    thrift t = {to, 0};
    int64_t size = 0;
    const chunk *chunks = &p->chunks[group * p->model->count];
    put_list(&t, 1, T_STRUCT, p->model->count);
    for (size_t i = 0; i < p->model->count; i++) {
        put_chunk(to, &p->model->columns[i], &chunks[i], p->group_rows[group]);
        size += chunks[i].unpacked;
    }
    put_number(&t, 2, T_I64, size);
    put_number(&t, 3, T_I64, p->group_rows[group]);
    end(&t);
}

static void write_end(parquet *p) {
    pb *to = &p->head;
    thrift t = {to, 0};
    char version[16];
    to->size = 0;
    put_number(&t, 1, T_I32, 1);
    put_schema(&t, p->model);
    put_number(&t, 3, T_I64, p->all_rows);
    put_list(&t, 4, T_STRUCT, p->groups);
    for (size_t i = 0; i < p->groups; i++) put_group(p, to, i);
    put_list(&t, 5, T_STRUCT, 1);
    thrift key = {to, 0};
    snprintf(version, sizeof version, "%d", DATASET_VERSION);
    put_name(&key, 1, "prof.schema");
    put_name(&key, 2, version);
    end(&key);
    put_name(&t, 6, "prof version " PROF_VERSION);
    end(&t);
    put_fixed(to, to->size, 4);
    pb_raw(to, "PAR1", 4);
    write_bytes(p, to);
}

void parquet_close(parquet *p) {
    write_group(p);
    write_end(p);
    for (size_t i = 0; i < p->model->count; i++) {
        free(p->columns[i].levels);
        free(p->columns[i].numbers);
        free(p->columns[i].indices);
        free(p->columns[i].texts.data);
        intern_free(&p->columns[i].distinct);
    }
    free(p->chunks);
    free(p->group_rows);
    for (int i = 0; i < 2; i++) {
        free(p->pages[i].data);
        free(p->packed[i].data);
    }
    free(p->head.data);
    free(p);
}
