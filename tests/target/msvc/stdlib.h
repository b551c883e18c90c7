/* What prof.h takes of stdlib.h: see windows.h. */
#pragma once
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
char *getenv(const char *name);
#ifdef __cplusplus
}
#endif
