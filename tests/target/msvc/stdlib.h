/* What prof.h takes of stdlib.h: see windows.h. */
#pragma once
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
char *getenv(const char *name);
int atoi(const char *s);
#ifdef __cplusplus
}
#endif
