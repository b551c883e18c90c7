/* UTF-8. */
#include "base/text.h"

#include <string.h>
#include <strings.h>

#include "library.h"

size_t utf8_size(const unsigned char *p, size_t left) {
    if (p[0] < 0x80) return 1;
    size_t size = p[0] >= 0xF0 ? 4 : p[0] >= 0xE0 ? 3 : 2;
    if (p[0] < 0xC2 || p[0] > 0xF4 || left < size) return 0;
    for (size_t i = 1; i < size; i++)
        if ((p[i] & 0xC0) != 0x80) return 0;
    if ((p[0] == 0xE0 && p[1] < 0xA0) || (p[0] == 0xED && p[1] > 0x9F) ||
        (p[0] == 0xF0 && p[1] < 0x90) || (p[0] == 0xF4 && p[1] > 0x8F)) return 0;
    return size;
}

size_t plain_next(const char *text, const char **shown, size_t *size) {
    size_t taken = utf8_size((const unsigned char *)text, 4);      /* a NUL within them ends it */
    bool control = taken && control_size(text);
    *shown = control ? " " : taken ? text : "\xEF\xBF\xBD";
    *size = control ? 1 : taken ? taken : 3;
    return taken ? taken : 1;
}

bool begins_with(const char *text, const char *const *starts) {
    for (; *starts; starts++)
        if (strncasecmp(text, *starts, strlen(*starts)) == 0) return true;
    return false;
}
