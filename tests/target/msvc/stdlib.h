/* What prof.h takes of stdlib.h: see windows.h. */
#pragma once
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
char *getenv(const char *name);
int atoi(const char *s);
int atexit(void (*call)(void));
double strtod(const char *s, char **end);
unsigned long strtoul(const char *s, char **end, int base);
unsigned long long strtoull(const char *s, char **end, int base);
#ifdef __cplusplus
}
#endif
