/* What prof.h takes of direct.h: see windows.h. */
#pragma once
#ifdef __cplusplus
extern "C"
#endif
int _wmkdir(const wchar_t *);
