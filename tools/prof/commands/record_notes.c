/* What sessions tell: see record_notes.h. */
#include "commands/record_notes.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/memory.h"

void record_add(record_notes *notes, const char *what, long pid, const char *text) {
    record_note note = {.pid = pid, .text = strcpy(allocate(strlen(text) + 1), text)};
    strcpy(note.what, what);
    GROW(notes->items, notes->count, notes->capacity);
    notes->items[notes->count++] = note;
}

/* Who tells it may be anybody. */
static bool is_sane(const char *what, long pid, const char *text) {
    bool names = strcmp(what, "start") == 0;
    return pid > 0 && !(names && (strchr(text, '/') || *text == '.' || !*text));
}

void record_notes_read(record_notes *notes, int file) {
    char text[8192];
    ssize_t got;
    while (notes->read < notes->most &&
           (got = pread(file, text, sizeof text - 1, (off_t)notes->read)) > 0) {
        char *p = text, *end;
        text[got] = 0;
        for (; (end = strchr(p, '\n')) != NULL; p = end + 1) {
            char what[16];
            long pid;
            int at = 0;
            *end = 0;
            if (sscanf(p, "%15s %ld %n", what, &pid, &at) >= 2 &&
                is_sane(what, pid, at ? p + at : ""))
                record_add(notes, what, pid, at ? p + at : "");
        }
        if (p == text) return;                   /* a line that is not whole */
        notes->read += (uint64_t)(p - text);
    }
}

record_note *record_find(const record_notes *notes, const char *what, long pid, size_t from) {
    for (size_t i = from; i < notes->count; i++)
        if ((!pid || notes->items[i].pid == pid) && strcmp(notes->items[i].what, what) == 0)
            return notes->items + i;
    return NULL;
}
