/* What prof.h takes of stdlib.h: see windows.h. */
#pragma once
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
char *getenv(const char *name);
int atoi(const char *s);
double strtod(const char *s, char **end);
#ifdef __cplusplus
}
#endif
