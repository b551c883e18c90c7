/* What prof.h takes of errno.h: see windows.h. */
#pragma once
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
#define ENOENT 2
#define EINTR 4
#define EIO 5
#define ENOMEM 12
#define EACCES 13
#define EEXIST 17
#define EINVAL 22
#define ENAMETOOLONG 38
#define EILSEQ 42
int *_errno(void);
unsigned long *__doserrno(void);
#define _doserrno (*__doserrno())
#define errno (*_errno())
#ifdef __cplusplus
}
#endif
