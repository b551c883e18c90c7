/* Files that are read, and those that are not yet, or never, to have a name. */
#ifndef PROF_TOOL_FILES_H
#define PROF_TOOL_FILES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

/* Of a path, what stands behind the last slash. */
const char *file_name(const char *path);
/* Puts in the place of each folder among the *count paths the traces in it, by name and number:
   rank2 stands before rank10. false: one has none; that is reported. */
bool folders_open(char ***paths, int *count);
/* A pipe, a terminal, stdin: what can be read but once. */
bool file_reads_once(const char *path);

/* Files that the command reads: no output may take the place of one unasked. */
void input_note(const struct stat *status);
void inputs_forget(void);                       /* another command is to follow */
bool input_is(const struct stat *status);
/* So many bytes of it, unpacked, have been read, each of which is so many as JSON: see
   memory_of_inputs. */
void input_read(const struct stat *status, const char *path, uint64_t bytes, unsigned as_json);

/* A folder is what stands before a name: "" or with a slash at its end. PATH_ROOM: of a path.
   errno says why there is none. */
enum { PATH_ROOM = 4096 };
void folder_of(const char *path, char folder[PATH_ROOM]);
/* A file there without a name: it is gone when the program is, whatever ends it. -1: none. */
int file_unnamed(const char *folder, unsigned mode);
bool file_link(int fd, const char *path);        /* gives it that name, if that is free */
/* Its content under a name that nobody else's file has, to be renamed at once; with the owner, the
   rights and the attributes of the file `like`, or NULL. */
bool file_show(int fd, const char *folder, const char *like, char name[PATH_ROOM]);
/* A folder of such a name; -1: none. Once the number is closed others remove it, but where it has
   lost its sticky bit. */
int folder_make(const char *folder, unsigned mode, char name[PATH_ROOM]);
/* What commands that were killed have left there under such names. */
void leftovers_remove(const char *folder);
void tree_remove(const char *path);
bool file_write(int fd, const void *data, size_t size);      /* all of it */
/* The bytes from begin to end are written to `to`, which is closed. */
bool file_copy(int from, off_t begin, off_t end, int to);

/* What was at a path at some time. */
typedef struct file_state {
    bool there;
    struct stat status;
} file_state;
file_state file_look(const char *path);
/* Is another file there now, or has it been written since? One that is gone is nobody's loss. */
bool file_is_other(const char *path, const file_state *was);
/* So that only one command at a time looks and puts a file there: until that is closed; a second at
   most, if somebody else keeps it. -1: the folder cannot be read. */
int folder_lock(const char *folder);

/* TMPDIR, or /tmp. */
const char *temporary_folder(void);
int temporary_unnamed(void);                     /* a file there; -1: none */
void temporary_failed(void);                     /* to be used: the program ends with a line */

#endif
