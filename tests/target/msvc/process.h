/* What prof.h takes of process.h: see windows.h. */
#pragma once
#ifdef __cplusplus
extern "C"
#endif
int _getpid(void);
