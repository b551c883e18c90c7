/* Python's pickles: see pickle.h. */
#include "input/pickle.h"

#include <stdio.h>

enum { LONGEST_TEXT = 1 << 26 };

/* What follows an opcode. TEXT: a length of so many bytes, and the text; LONG: that, and an int.
   Those of WIDTH bytes are numbers, but SIGNED ones have no sign. */
typedef enum argument {
    NO_ARGUMENT = 0, WIDTH_1 = 1, WIDTH_2 = 2, WIDTH_4 = 4, WIDTH_8 = 8, SIGNED_4,
    TEXT_1 = 16 + 1, TEXT_4 = 16 + 4, TEXT_8 = 16 + 8, LONG_1 = 32 + 1, LONG_4 = 32 + 4
} argument;

static const struct { uint8_t kind, argument; int8_t number; } opcodes[256] = {
    [0x80] = {PICKLE_NOTHING, WIDTH_1, 0}, [0x95] = {PICKLE_NOTHING, WIDTH_8, 0},
    ['.'] = {PICKLE_STOP, NO_ARGUMENT, 0}, ['N'] = {PICKLE_OTHER, NO_ARGUMENT, 0},
    [0x88] = {PICKLE_OTHER, NO_ARGUMENT, 0}, [0x89] = {PICKLE_OTHER, NO_ARGUMENT, 0},
    ['G'] = {PICKLE_OTHER, WIDTH_8, 0}, ['K'] = {PICKLE_INT, WIDTH_1, 0},
    ['M'] = {PICKLE_INT, WIDTH_2, 0}, ['J'] = {PICKLE_INT, SIGNED_4, 0},
    [0x8A] = {PICKLE_INT, LONG_1, 0}, [0x8B] = {PICKLE_INT, LONG_4, 0},
    [0x8C] = {PICKLE_TEXT, TEXT_1, 0}, ['X'] = {PICKLE_TEXT, TEXT_4, 0},
    [0x8D] = {PICKLE_TEXT, TEXT_8, 0}, ['C'] = {PICKLE_TEXT, TEXT_1, 0},
    ['B'] = {PICKLE_TEXT, TEXT_4, 0}, [0x8E] = {PICKLE_TEXT, TEXT_8, 0},
    ['U'] = {PICKLE_TEXT, TEXT_1, 0}, ['T'] = {PICKLE_TEXT, TEXT_4, 0},
    ['('] = {PICKLE_MARK, NO_ARGUMENT, 0}, [']'] = {PICKLE_LIST, NO_ARGUMENT, 0},
    ['}'] = {PICKLE_DICT, NO_ARGUMENT, 0}, [')'] = {PICKLE_TUPLE, NO_ARGUMENT, 0},
    [0x85] = {PICKLE_TUPLE, NO_ARGUMENT, 1}, [0x86] = {PICKLE_TUPLE, NO_ARGUMENT, 2},
    [0x87] = {PICKLE_TUPLE, NO_ARGUMENT, 3}, ['t'] = {PICKLE_TUPLE, NO_ARGUMENT, -1},
    ['a'] = {PICKLE_APPEND, NO_ARGUMENT, 0}, ['e'] = {PICKLE_APPENDS, NO_ARGUMENT, 0},
    ['s'] = {PICKLE_SETITEM, NO_ARGUMENT, 0}, ['u'] = {PICKLE_SETITEMS, NO_ARGUMENT, 0},
    ['q'] = {PICKLE_PUT, WIDTH_1, 0}, ['r'] = {PICKLE_PUT, WIDTH_4, 0},
    [0x94] = {PICKLE_PUT, NO_ARGUMENT, -1},
    ['h'] = {PICKLE_GET, WIDTH_1, 0}, ['j'] = {PICKLE_GET, WIDTH_4, 0}
};

static const struct { uint8_t code; const char *name; } refused[] = {
    {'c', "GLOBAL"}, {'R', "REDUCE"}, {0x93, "STACK_GLOBAL"}, {'i', "INST"}, {'o', "OBJ"},
    {0x81, "NEWOBJ"}, {0x92, "NEWOBJ_EX"}, {'b', "BUILD"}, {0x82, "EXT1"}, {0x83, "EXT2"},
    {0x84, "EXT4"}, {'P', "PERSID"}, {'Q', "BINPERSID"}, {0x8F, "EMPTY_SET"}, {0x90, "ADDITEMS"},
    {0x91, "FROZENSET"}, {0x96, "BYTEARRAY8"}, {0x97, "NEXT_BUFFER"}, {'0', "POP"},
    {'1', "POP_MARK"}, {'2', "DUP"}, {'F', "FLOAT"}, {'I', "INT"}, {'L', "LONG"}, {'S', "STRING"},
    {'V', "UNICODE"}, {'d', "DICT"}, {'l', "LIST"}, {'g', "GET"}, {'p', "PUT"}
};

static size_t refuse(pickle_op *op, uint8_t code) {
    const char *name = "unknown";
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++)
        if (refused[i].code == code) name = refused[i].name;
    op->kind = PICKLE_REFUSED;
    snprintf(op->why, sizeof op->why, "the pickle's opcode %s (0x%02X) is refused: no code is run, "
             "and a memory snapshot needs none", name, code);
    return 1;
}

/* Little-endian. */
static uint64_t number_at(const uint8_t *p, size_t width) {
    uint64_t number = 0;
    if (width == 1) return *p;                   /* most */
    for (size_t i = 0; i < width && i < 8; i++) number |= (uint64_t)p[i] << 8 * i;
    return number;
}

/* An int of `size` bytes, as two's complement; addresses need a ninth byte, 0. */
static void take_long(pickle_op *op, const uint8_t *p, size_t size) {
    bool negative = size && size < 8 && p[size - 1] & 0x80;
    uint64_t number = number_at(p, size) | (negative ? UINT64_MAX << 8 * size : 0);
    op->number = (int64_t)number;
    if (size > 9 || (size == 9 && p[8])) op->kind = PICKLE_OTHER;
}

size_t pickle_next(const uint8_t *p, const uint8_t *end, pickle_op *op) {
    if (p == end) return 0;
    uint8_t code = *p, what = opcodes[code].argument;
    op->kind = (pickle_kind)opcodes[code].kind;
    op->number = opcodes[code].number;
    if (op->kind == PICKLE_REFUSED) return refuse(op, code);
    size_t left = (size_t)(end - p) - 1, width = what == SIGNED_4 ? 4 : what & 15u;
    if (left < width) return 0;
    uint64_t number = number_at(p + 1, width);
    const uint8_t *behind = p + 1 + width;
    if (what == SIGNED_4) number = (uint64_t)(int64_t)(int32_t)(uint32_t)number;
    if (width) op->number = (int64_t)number;
    if (what < TEXT_1) return 1 + width;
    if (number > LONGEST_TEXT) {
        op->kind = PICKLE_REFUSED;
        snprintf(op->why, sizeof op->why, "a text of the pickle has more than 64 MB");
        return 1;
    }
    if (left - width < number) return 0;
    op->text = (trace_text){(const char *)behind, (size_t)number};
    if (what >= LONG_1) take_long(op, behind, (size_t)number);
    return 1 + width + (size_t)number;
}
