/* What prof.h takes of Windows' headers, for clang --target=x86_64-pc-windows-msvc -fsyntax-only,
   with the macros of theirs that hurt. */
#pragma once
#define small char
#define near
#define far
#define min(a, b) (((a) < (b)) ? (a) : (b))
#define max(a, b) (((a) > (b)) ? (a) : (b))
#define interface struct
#define IN
#define OUT
#define ERROR 0
#define CONST const
#define DELETE 0x10000L
#define WINAPI __stdcall
#define NTAPI __stdcall
#define TRUE 1
#define FALSE 0
#ifdef __cplusplus
extern "C" {
#endif
typedef void VOID, *PVOID, *LPVOID, *HANDLE;
typedef int BOOL;
typedef unsigned short WORD, USHORT;
typedef unsigned long DWORD, ULONG, *LPDWORD, *PULONG;
typedef long LONG;
typedef long long LONGLONG;
typedef unsigned char BYTE;
typedef const char *LPCSTR;
typedef char *LPSTR;
typedef const void *LPCVOID;
typedef struct HINSTANCE__ *HMODULE;
typedef long long(__stdcall *FARPROC)(void);
typedef union _LARGE_INTEGER {
    struct { DWORD LowPart; LONG HighPart; } u;
    LONGLONG QuadPart;
} LARGE_INTEGER;
typedef struct _COORD { short X, Y; } COORD;
typedef struct _SMALL_RECT { short Left, Top, Right, Bottom; } SMALL_RECT;
typedef struct _CONSOLE_SCREEN_BUFFER_INFO {
    COORD dwSize, dwCursorPosition;
    WORD wAttributes;
    SMALL_RECT srWindow;
    COORD dwMaximumWindowSize;
} CONSOLE_SCREEN_BUFFER_INFO;
typedef struct _FILETIME { DWORD dwLowDateTime, dwHighDateTime; } FILETIME;
typedef struct _CRITICAL_SECTION { PVOID DebugInfo; LONG LockCount; } CRITICAL_SECTION;
typedef struct _SECURITY_ATTRIBUTES *LPSECURITY_ATTRIBUTES;
typedef struct _OVERLAPPED *LPOVERLAPPED;
#define MAX_PATH 260
#define INVALID_HANDLE_VALUE ((HANDLE)(LONGLONG)-1)
#define GENERIC_WRITE 0x40000000L
#define FILE_SHARE_READ 1
#define FILE_ATTRIBUTE_NORMAL 0x80
#define CREATE_ALWAYS 2
#define OPEN_EXISTING 3
#define FILE_BEGIN 0
#define STD_OUTPUT_HANDLE ((DWORD)-11)
#define MOVEFILE_REPLACE_EXISTING 1
#define GET_MODULE_HANDLE_EX_FLAG_UNCHANGED_REFCOUNT 2
#define GET_MODULE_HANDLE_EX_FLAG_FROM_ADDRESS 4
#ifdef __cplusplus
}
#endif
