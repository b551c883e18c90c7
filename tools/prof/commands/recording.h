/* What the sessions of a program wrote into a folder becomes the trace that was asked for, and its
   table: for prof record and prof window. */
#ifndef PROF_RECORDING_H
#define PROF_RECORDING_H

#include "base/files.h"
#include "commands/record_notes.h"

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

typedef struct recording {
    const char *program, *output, *sort;
    bool is_default;                     /* the output: it ends as what the program writes does */
    file_state was, was_json;            /* the output at the start, and trace.json */
    int64_t limit, most;                 /* rows; zones of what is made of a stream */
    bool with_report;
    bool heap;                           /* tells what is allocated, by a preloaded library */
    char folder[PATH_ROOM];              /* the command's own; each process writes its file there */
    int lock;                            /* that folder, held by all that may write there */
    int64_t next_size;                   /* of what is in it: when to tell it */
    char status_path[PATH_ROOM];
    int status_file;
    int signal;                          /* that ended the program; 0: none */
    pid_t child;
    record_notes notes;
    bool failed;                         /* something was told, beside the program's own status */
    bool told;                           /* what the trace lost, without a report */
    bool kept;                           /* the folder has what is not elsewhere */
    int left;                            /* 1: children of it still run; -1: that is not known */
} recording;

/* Whether -o can be had, before the program runs. */
bool recording_check(const char *path, const char *program);
/* A folder beside the output, else where temporary files are. Nobody else may look into it. */
bool recording_open(recording *r);
/* PROF_TRACE: that file in the folder, in whose name %% stands for %. */
void recording_pattern(const char *folder, const char *file, char pattern[2 * PATH_ROOM]);
/* What is there then, if any; the exit status. */
int recording_end(recording *r, bool any);

#endif
