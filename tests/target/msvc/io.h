/* What prof.h takes of io.h: see windows.h. */
#pragma once
#include <stdint.h>
#ifdef __cplusplus
extern "C" {
#endif
int _chsize_s(int, int64_t);
int _close(int);
int64_t _lseeki64(int, int64_t, int);
intptr_t _get_osfhandle(int);
int _waccess(const wchar_t *, int);
int _wopen(const wchar_t *, int, ...);
int _wsopen(const wchar_t *, int, int, ...);
int _write(int, const void *, unsigned);
int _wunlink(const wchar_t *);
#ifdef __cplusplus
}
#endif
