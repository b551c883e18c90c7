/* Python's pickles, protocols 2 to 5, an opcode at a time. Only what makes dicts, lists, tuples,
   texts, numbers, True, False and None is read: what could run code (GLOBAL, REDUCE and their like)
   is refused by its name. The opcodes are those that Lib/pickletools.py of CPython lists. */
#ifndef PROF_PICKLE_H
#define PROF_PICKLE_H

#include "input/json_text.h"

typedef enum pickle_kind {
    PICKLE_REFUSED = 0,          /* see pickle_op.why */
    PICKLE_NOTHING,              /* PROTO, FRAME */
    PICKLE_STOP,
    PICKLE_INT,                  /* number */
    PICKLE_TEXT,                 /* text: str or bytes */
    PICKLE_OTHER,                /* None, True, False, a float, an int of more than 64 bits */
    PICKLE_MARK,
    PICKLE_LIST, PICKLE_DICT,    /* empty ones */
    PICKLE_TUPLE,                /* of the topmost `number` values; -1: of those behind the mark */
    PICKLE_APPEND, PICKLE_APPENDS,           /* to the list below the value, or the mark */
    PICKLE_SETITEM, PICKLE_SETITEMS,         /* of the dict there */
    PICKLE_PUT,                  /* the topmost value under that number; -1: under the next one */
    PICKLE_GET
} pickle_kind;

typedef struct pickle_op {
    pickle_kind kind;
    int64_t number;
    trace_text text;             /* where the bytes are */
    char why[120];               /* it is refused */
} pickle_op;

/* Reads the opcode at p. Returns the bytes that it takes; 0: it does not end before `end`. */
size_t pickle_next(const uint8_t *p, const uint8_t *end, pickle_op *op);

#endif
