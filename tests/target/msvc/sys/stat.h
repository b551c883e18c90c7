/* What prof.h takes of sys/stat.h: see windows.h. */
#pragma once
#define _S_IWRITE 0x80
