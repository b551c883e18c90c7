/* Protobuf: see protobuf.h. */
#include "base/protobuf.h"

#include <string.h>

#include "base/memory.h"

uint8_t *pb_room(pb *p, size_t size) {
    if (p->capacity - p->size < size) {
        p->capacity = 2 * (p->size + size);
        p->data = reallocate(p->data, p->capacity);
    }
    return p->data + p->size;
}

void pb_raw(pb *p, const void *bytes, size_t size) {
    if (size) memcpy(pb_room(p, size), bytes, size);
    p->size += size;
}

static size_t put_varint(uint8_t *to, uint64_t number) {
    size_t size = 0;
    for (; number > 127; number >>= 7) to[size++] = (uint8_t)(number | 128);
    to[size++] = (uint8_t)number;
    return size;
}

void pb_varint(pb *p, uint64_t number) { p->size += put_varint(pb_room(p, 10), number); }

static void put_tag(pb *p, uint32_t field, uint32_t type) { pb_varint(p, field << 3 | type); }

void pb_uint(pb *p, uint32_t field, uint64_t number) {
    put_tag(p, field, PB_VARINT);
    pb_varint(p, number);
}

void pb_fixed64(pb *p, uint32_t field, uint64_t number) {
    put_tag(p, field, PB_FIXED64);
    uint8_t *to = pb_room(p, 8);
    for (int i = 0; i < 8; i++) to[i] = (uint8_t)(number >> 8 * i);
    p->size += 8;
}

void pb_double(pb *p, uint32_t field, double number) {
    uint64_t bits;
    memcpy(&bits, &number, sizeof bits);
    pb_fixed64(p, field, bits);
}

void pb_bytes(pb *p, uint32_t field, const void *bytes, size_t size) {
    put_tag(p, field, PB_BYTES);
    pb_varint(p, size);
    pb_raw(p, bytes, size);
}

void pb_text(pb *p, uint32_t field, const char *text) { pb_bytes(p, field, text, strlen(text)); }

/* One byte is kept for the length; what is in it moves where that takes more. */
size_t pb_open(pb *p, uint32_t field) {
    put_tag(p, field, PB_BYTES);
    pb_varint(p, 0);
    return p->size;
}

void pb_close(pb *p, size_t begin) {
    uint8_t length[10];
    size_t size = p->size - begin, bytes = put_varint(length, size);
    pb_room(p, bytes);
    memmove(p->data + begin + bytes - 1, p->data + begin, size);
    memcpy(p->data + begin - 1, length, bytes);
    p->size += bytes - 1;
}

/* Behind the value; NULL: it is none. */
static const uint8_t *read_value(const uint8_t *at, const uint8_t *end, pb_field *f) {
    uint64_t value = 0;
    f->data = NULL;
    if (f->type == PB_VARINT || f->type == PB_BYTES) {
        if (pb_read_varint(&at, end, &value) != 1) return NULL;
        f->value = value;
        if (f->type == PB_VARINT) return at;
        f->data = at;
        return value <= (uint64_t)(end - at) ? at + value : NULL;
    }
    int bytes = f->type == PB_FIXED64 ? 8 : f->type == PB_FIXED32 ? 4 : 0;
    if (!bytes || end - at < bytes) return NULL;         /* groups: of no trace */
    for (int i = 0; i < bytes; i++) value |= (uint64_t)at[i] << 8 * i;
    f->value = value;
    return at + bytes;
}

bool pb_next(pb_reader *r, pb_field *f) {
    const uint8_t *at = r->at;
    uint64_t tag;
    if (r->bad || at == r->end) return false;
    r->bad = pb_read_varint(&at, r->end, &tag) != 1 || tag > UINT32_MAX || tag < 8;
    if (r->bad) return false;
    f->number = (uint32_t)tag >> 3;
    f->type = tag & 7;
    at = read_value(at, r->end, f);
    if (at) r->at = at;
    r->bad = !at;
    return at != NULL;
}
