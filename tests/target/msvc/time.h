/* What prof.h takes of time.h: see windows.h. */
#pragma once
#include <stddef.h>
#ifdef __cplusplus
extern "C" {
#endif
typedef long long time_t;
#ifdef __cplusplus
}
#endif
