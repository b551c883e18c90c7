/* JSON of any length as it comes, in constant memory: tells of each value and bracket, and where
   in the whole it stands. What is no JSON ends the walk. Zero-initialise; json_walk_free at the
   end. */
#ifndef PROF_JSON_WALK_H
#define PROF_JSON_WALK_H

#include "input/json_text.h"

enum { WALK_DEEPEST = 64 };

typedef struct walk_level {
    bool is_array;
    char key[128];               /* of an object: of the member read now, cut */
    uint64_t index;              /* of an array: of the item */
} walk_level;

typedef struct json_walk {
    /* A value that is no bracket, as JSON, with READABLE bytes behind it; or "{", "[", and at the
       closing one "}", "]". depth is then the number of levels around it. */
    void (*take)(void *user, trace_text value);
    void *user;
    walk_level levels[WALK_DEEPEST];
    size_t depth;
    uint64_t offset;             /* in the file; of `data`, while it is read */
    const char *broken;          /* what is wrong there; NULL: nothing is */
    bool whole;                  /* the outermost bracket is closed */
    /* inside */
    uint8_t expects;
    const char *data;
    bool in_text, in_word, escaped;
    char *part;                  /* of a text or word that began in the bytes before */
    size_t part_size, part_capacity;
} json_walk;

/* Where a value that is told stands in the file; one that began in bytes before: about there. */
static inline uint64_t walk_offset(const json_walk *w, trace_text value) {
    return w->offset + (value.data == w->part ? 0 : (uint64_t)(value.data - w->data));
}

/* READABLE bytes behind the data must be there. */
void json_walk_push(json_walk *w, const char *data, size_t size);
void json_walk_free(json_walk *w);
/* What keeps it from being whole; NULL: nothing does. */
static inline const char *json_walk_fault(const json_walk *w) {
    return w->broken ? w->broken : w->whole ? NULL : "the file ends early";
}

/* The key `up` levels out of the value that is read: 0 is its own. "": it is an item. */
static inline const char *walk_key(const json_walk *w, size_t up) {
    return up < w->depth ? w->levels[w->depth - 1 - up].key : "";
}

static inline bool is(const char *a, const char *b) {         /* mostly the first letters differ */
    return *a == *b && strcmp(a, b) == 0;
}
static inline bool is_bracket(trace_text value) {
    char c = *value.data;
    return c == '{' || c == '}' || c == '[' || c == ']';
}

/* For detect: does the text begin with an object, or an array of one, whose first key this is? -1:
   more bytes are needed to tell. */
int json_begins_with(const char *text, size_t size, const char *key);
bool json_mentions(const char *text, size_t size, const char *word);

#endif
