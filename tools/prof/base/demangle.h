/* Names of C++ as the source has them: "_ZN4game5World4stepEv" is "game::World::step()". */
#ifndef PROF_DEMANGLE_H
#define PROF_DEMANGLE_H

#include <stdbool.h>
#include <stddef.h>

extern bool demangles;           /* --no-demangle. Off from the start, but for --demangle, in those
                                    that write a trace again: decode, cut, merge */
/* NULL: it is no such name, or there is no C++ library here. Lives as long as the program. */
const char *demangled(const char *name, size_t size);
static inline bool is_mangled(const char *name, size_t size) {
    return size > 3 && name[0] == '_' && name[1] == 'Z';
}

#endif
