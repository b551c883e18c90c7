/* What prof.h takes of stdio.h: see windows.h. */
#pragma once
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
#include <stdarg.h>
typedef struct _iobuf { void *place; } FILE;
FILE *__acrt_iob_func(unsigned i);
#define SEEK_SET 0
#define SEEK_END 2
#define stdout (__acrt_iob_func(1))
size_t fwrite(const void *data, size_t size, size_t count, FILE *file);
int fflush(FILE *file);
int vsnprintf(char *buf, size_t size, const char *format, va_list list);
int snprintf(char *buf, size_t size, const char *format, ...);
#ifdef __cplusplus
}
#endif
