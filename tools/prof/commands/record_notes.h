/* What the sessions of a program tell prof record, by way of the file that PROF_STATUS names. */
#ifndef PROF_RECORD_NOTES_H
#define PROF_RECORD_NOTES_H

#include <stddef.h>
#include <stdint.h>

typedef struct record_note {
    /* start: FILE; end; failed, error: why; own; kept: what streams lack */
    char what[16];
    long pid;
    char *text;
} record_note;

typedef struct record_notes {
    const char *folder;  /* in which their files lie */
    record_note *items;
    size_t count, capacity;
    uint64_t read, most; /* bytes of the file; behind that nothing is read */
} record_notes;

void record_add(record_notes *notes, const char *what, long pid, const char *text);
/* Those that came since. The names of files lead nowhere else. */
void record_notes_read(record_notes *notes, int file);
/* The first one of this kind, from number `from` on; pid 0: of any process; NULL: none. */
record_note *record_find(const record_notes *notes, const char *what, long pid, size_t from);

#endif
