/* What prof asks the library beyond what a program may: tools/prof/library.c. */
#ifndef PROF_TOOL_LIBRARY_H
#define PROF_TOOL_LIBRARY_H

#include "../../prof.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Names that are no events; entries of a stack that are PyTorch's machinery. */
bool is_utility_name(const char *name);
bool is_machinery_entry(const char *entry);

#ifdef __cplusplus
}
#endif
#endif
