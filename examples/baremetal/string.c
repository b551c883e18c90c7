/* memcpy and its kin, for images without a C library: what compilers and prof.h call. Compile it
   with -ffreestanding, so that no loop becomes a call of itself. */
#include <stddef.h>
#include <stdint.h>

#define OPAQUE() __asm__ volatile("")    /* gcc makes calls of such loops, freestanding or not */

void *memcpy(void *to, const void *from, size_t n);
void *memmove(void *to, const void *from, size_t n);
void *memset(void *to, int c, size_t n);
int memcmp(const void *a, const void *b, size_t n);
int strcmp(const char *a, const char *b);
int strncmp(const char *a, const char *b, size_t n);
size_t strlen(const char *s);

void *memcpy(void *to, const void *from, size_t n) {
    char *a = (char *)to;
    const char *b = (const char *)from;
    for (; n; n--) {
        OPAQUE();
        *a++ = *b++;
    }
    return to;
}

void *memmove(void *to, const void *from, size_t n) {
    char *a = (char *)to;
    const char *b = (const char *)from;
    if ((uintptr_t)a <= (uintptr_t)b) return memcpy(to, from, n);
    while (n--) {
        OPAQUE();
        a[n] = b[n];
    }
    return to;
}

void *memset(void *to, int c, size_t n) {
    for (char *a = (char *)to; n; n--) {
        OPAQUE();
        *a++ = (char)c;
    }
    return to;
}

int memcmp(const void *a, const void *b, size_t n) {
    const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;
    for (size_t i = 0; i < n; i++)
        if (x[i] != y[i]) return x[i] - y[i];
    return 0;
}

int strncmp(const char *a, const char *b, size_t n) {
    const unsigned char *x = (const unsigned char *)a, *y = (const unsigned char *)b;
    for (size_t i = 0; i < n; i++)
        if (x[i] != y[i] || !x[i]) return x[i] - y[i];
    return 0;
}

int strcmp(const char *a, const char *b) { return strncmp(a, b, SIZE_MAX); }

size_t strlen(const char *s) {
    size_t n = 0;
    while (s[n]) {
        OPAQUE();
        n++;
    }
    return n;
}

#if defined(__clang__) && defined(__ARM_EABI__)   /* the names by which clang calls them there */
#  define ALIKE(aligned) \
    void __aeabi_memcpy##aligned(void *to, const void *from, size_t n); \
    void __aeabi_memmove##aligned(void *to, const void *from, size_t n); \
    void __aeabi_memset##aligned(void *to, size_t n, int c); \
    void __aeabi_memclr##aligned(void *to, size_t n); \
    void __aeabi_memcpy##aligned(void *to, const void *from, size_t n) { memcpy(to, from, n); } \
    void __aeabi_memmove##aligned(void *to, const void *from, size_t n) { memmove(to, from, n); } \
    void __aeabi_memset##aligned(void *to, size_t n, int c) { memset(to, c, n); } \
    void __aeabi_memclr##aligned(void *to, size_t n) { memset(to, 0, n); }
ALIKE()
ALIKE(4)
ALIKE(8)
#endif
