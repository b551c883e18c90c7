/* Bytes in a temporary file: see spill.h. */
#include "base/spill.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/common.h"

enum { BLOCK = 1 << 16, BLOCKS = 64 /* in memory */ };

struct spill {
    FILE *file;
    uint64_t written;
    bool reading;
    uint64_t numbers[BLOCKS];    /* of the block in each place + 1; 0: none */
    uint8_t blocks[BLOCKS][BLOCK];
};

spill *spill_new(void) {
    spill *s = allocate(sizeof *s);
    s->file = temporary_file();
    return s;
}

uint64_t spill_add(spill *s, const void *data, size_t size) {
    uint64_t place = s->written;
    if (size && fwrite(data, 1, size, s->file) != size) temporary_failed();
    s->written += size;
    return place;
}

static const uint8_t *block(spill *s, uint64_t number) {
    size_t at = number % BLOCKS, got = 0;
    if (s->numbers[at] == number + 1) return s->blocks[at];
    for (ssize_t piece = 1; piece > 0 && got < BLOCK; got += (size_t)piece) {
        piece = pread(fileno(s->file), s->blocks[at] + got, BLOCK - got,
                      (off_t)(number * BLOCK + got));
        if (piece < 0) temporary_failed();
    }
    s->numbers[at] = number + 1;
    return s->blocks[at];
}

void spill_read(spill *s, uint64_t place, void *to, size_t size) {
    uint8_t *out = to;
    if (!s->reading && fflush(s->file) != 0) temporary_failed();
    s->reading = true;
    while (size) {
        size_t at = place % BLOCK, piece = size < BLOCK - at ? size : BLOCK - at;
        memcpy(out, block(s, place / BLOCK) + at, piece);
        place += piece;
        out += piece;
        size -= piece;
    }
}

void spill_free(spill *s) {
    if (!s) return;
    fclose(s->file);
    free(s);
}
