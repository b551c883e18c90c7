/* Protobuf, as much as traces need: varints, 64-bit numbers, and what has its length in front. */
#ifndef PROF_PROTOBUF_H
#define PROF_PROTOBUF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { PB_VARINT = 0, PB_FIXED64 = 1, PB_BYTES = 2, PB_FIXED32 = 5 };      /* wire types */

/* ---- Writing. Zero-initialise; free(data). ---- */

typedef struct pb { uint8_t *data; size_t size, capacity; } pb;

uint8_t *pb_room(pb *p, size_t size);            /* where the next size bytes go */
void pb_raw(pb *p, const void *bytes, size_t size);
void pb_varint(pb *p, uint64_t number);
void pb_uint(pb *p, uint32_t field, uint64_t number);        /* int64 too, as two's complement */
void pb_fixed64(pb *p, uint32_t field, uint64_t number);
void pb_double(pb *p, uint32_t field, double number);
void pb_bytes(pb *p, uint32_t field, const void *bytes, size_t size);
void pb_text(pb *p, uint32_t field, const char *text);
/* A message within: what is written until pb_close(p, what pb_open returned) is in it. */
size_t pb_open(pb *p, uint32_t field);
void pb_close(pb *p, size_t begin);

/* ---- Reading: bytes that may be anything ---- */

typedef struct pb_reader { const uint8_t *at, *end; bool bad; } pb_reader;

typedef struct pb_field {
    uint32_t number, type;       /* PB_... */
    uint64_t value;              /* of numbers, as they stand; of PB_BYTES, how many */
    const uint8_t *data;         /* of PB_BYTES */
} pb_field;

/* The next field. false: there is no more, or with bad what is here is none. */
bool pb_next(pb_reader *r, pb_field *field);
/* A varint at *at, which moves behind it; 0: it is cut short, -1: it is none, 1: it is one. */
static inline int pb_read_varint(const uint8_t **at, const uint8_t *end, uint64_t *number) {
    if (*at == end) return 0;
    *number = *(*at)++;
    if (*number < 128) return 1;                 /* most have one byte */
    *number &= 127;
    for (unsigned shift = 7; shift < 64; shift += 7) {
        if (*at == end) return 0;
        uint8_t byte = *(*at)++;
        *number |= (uint64_t)(byte & 127) << shift;
        if (byte < 128) return 1;
    }
    return -1;
}
static inline bool pb_is_number(const pb_field *field, uint32_t number) {
    return field->number == number && field->type == PB_VARINT;
}
static inline pb_reader pb_within(const pb_field *field) {
    bool bad = field->type != PB_BYTES;
    return (pb_reader){field->data, bad ? field->data : field->data + field->value, bad};
}

#endif
