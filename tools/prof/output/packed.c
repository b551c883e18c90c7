/* Bytes in the JSON of a page: see packed.h. */
#include "output/packed.h"

#include <stdlib.h>
#include <string.h>

static void write_group(packed *p) {
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    uint32_t bits = (uint32_t)p->rest[0] << 16 | (uint32_t)p->rest[1] << 8 | p->rest[2];
    char text[4];
    for (unsigned i = 0; i < 4; i++)
        text[i] = i > p->rest_count ? '=' : letters[bits >> (18 - 6 * i) & 63];
    output_write(p->out, text, 4);
    memset(p->rest, 0, sizeof p->rest);
    p->rest_count = 0;
}

static void to_base64(packed *p, const uint8_t *bytes, size_t size) {
    for (size_t i = 0; i < size; i++) {
        p->rest[p->rest_count++] = bytes[i];
        if (p->rest_count == 3) write_group(p);
    }
}

static void pack(packed *p, bool last) {
    uint8_t text[4096];
    p->stream.next_in = p->in;
    p->stream.avail_in = (uInt)p->used;
    do {
        p->stream.next_out = text;
        p->stream.avail_out = sizeof text;
        deflate(&p->stream, last ? Z_FINISH : Z_NO_FLUSH);
        to_base64(p, text, sizeof text - p->stream.avail_out);
    } while (p->stream.avail_out == 0);
    p->used = 0;
}

void packed_begin(packed *p, output *out) {
    memset(p, 0, sizeof *p);
    p->out = out;
    if (deflateInit(&p->stream, Z_DEFAULT_COMPRESSION) != Z_OK) exit(fail(NULL, "out of memory"));
    output_text(out, "\"");
}

void packed_bytes(packed *p, const void *bytes, size_t size) {
    const uint8_t *from = bytes;
    while (size) {
        size_t part = sizeof p->in - p->used;
        if (part > size) part = size;
        memcpy(p->in + p->used, from, part);
        p->used += part;
        from += part;
        size -= part;
        if (p->used == sizeof p->in) pack(p, false);
    }
}

void packed_number(packed *p, uint64_t number) {
    uint8_t bytes[10];
    size_t size = 0;
    for (; number > 127; number >>= 7) bytes[size++] = (uint8_t)(number | 128);
    bytes[size++] = (uint8_t)number;
    packed_bytes(p, bytes, size);
}

void packed_signed(packed *p, int64_t number) {
    packed_number(p, (uint64_t)number << 1 ^ (number < 0 ? UINT64_MAX : 0));
}

void packed_end(packed *p) {
    pack(p, true);
    if (p->rest_count) write_group(p);
    deflateEnd(&p->stream);
    output_text(p->out, "\"");
}
