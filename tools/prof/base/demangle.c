/* Names of C++: see demangle.h. Its library's own function is asked, where that is installed: what
   has such names was linked with it. */
#include "base/demangle.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

#include "base/memory.h"

bool demangles = true;

enum { LONGEST_NAME = 4096, MOST_IDS = 1024, MOST_LETTERS = 1 << 20 };

typedef char *cxa_demangle(const char *name, char *buffer, size_t *size, int *status);

static cxa_demangle *find(void) {
    static const char *const libraries[] = {"libstdc++.so.6", "libc++abi.so.1"};
    cxa_demangle *function = NULL;
    for (int i = 0; i < 2 && !function; i++) {
        void *library = dlopen(libraries[i], RTLD_LAZY | RTLD_LOCAL);
        void *symbol = library ? dlsym(library, "__cxa_demangle") : NULL;
        memcpy(&function, &symbol, sizeof function);
    }
    return function;
}

/* The place of the S or T from p on among those that may be repeated: S_ is 0; -1: it is none. */
static int repeated(const char *p) {
    int id = 0;
    if (*p != 'S' && *p != 'T') return -1;
    for (p++; (*p >= '0' && *p <= '9') || (*p >= 'A' && *p <= 'Z'); p++)
        if ((id = 36 * id + (*p <= '9' ? *p - '0' : *p - 'A' + 10) + 1) >= MOST_IDS) return -1;
    return *p == '_' ? id : -1;
}

/* A name of some hundred letters may stand for one that fills all memory, as each part that it
   repeats may hold all before it. How much longer it is at most. */
static bool is_bounded(const char *name) {
    unsigned short counts[2][MOST_IDS] = {{0}};
    double times = 1;
    for (const char *p = name; *p && times < MOST_LETTERS; p++) {
        int id = repeated(p);
        if (id < 0) continue;
        unsigned count = ++counts[*p == 'T'][id];
        times *= (count + 1.0) / count;
    }
    return times < MOST_LETTERS;
}

const char *demangled(const char *name, size_t size) {
    static interner names;
    static char **texts;         /* by number in names; NULL: there is none */
    static size_t capacity;
    static cxa_demangle *function;
    static bool searched;
    if (!demangles || !is_mangled(name, size) || size > LONGEST_NAME) return NULL;
    if (!searched) function = find();
    searched = true;
    size_t count = names.count;
    uint32_t number = function ? intern(&names, name, size) : 0;
    if (!function || number < count) return function ? texts[number] : NULL;
    GROW(texts, count, capacity);
    const char *whole = interned_text(&names, number);
    int status;
    return texts[number] = is_bounded(whole) ? function(whole, NULL, NULL, &status) : NULL;
}
