/* What prof.h takes of fcntl.h: see windows.h. */
#pragma once
#define _O_RDONLY 0
#define _O_WRONLY 1
#define _O_CREAT 0x100
#define _O_TRUNC 0x200
#define _O_EXCL 0x400
#define _O_BINARY 0x8000
#define _O_NOINHERIT 0x80
