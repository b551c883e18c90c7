/* What prof.h takes of string.h: see windows.h. */
#pragma once
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
void *memcpy(void *to, const void *from, size_t size);
void *memmove(void *to, const void *from, size_t size);
void *memset(void *to, int c, size_t size);
int memcmp(const void *a, const void *b, size_t size);
void *memchr(const void *in, int c, size_t size);
size_t strlen(const char *s);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t size);
char *strchr(const char *s, int c);
char *strrchr(const char *s, int c);
char *strstr(const char *s, const char *t);
char *strpbrk(const char *s, const char *of);
size_t strspn(const char *s, const char *t);
size_t strcspn(const char *s, const char *t);
char *strerror(int error);
#ifdef __cplusplus
}
#endif
