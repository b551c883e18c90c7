/* Commands and their options. */
#ifndef PROF_TOOL_OPTIONS_H
#define PROF_TOOL_OPTIONS_H

#include <regex.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef enum option_type {
    OPTION_FLAG,      /* bool: --name, or --no-name */
    OPTION_TEXT,      /* const char * */
    OPTION_LIST,      /* text_list: may be given several times, and as a,b,c */
    OPTION_COUNT,     /* int64_t, not negative; "all": INT64_MAX */
    OPTION_NUMBER,    /* double */
    OPTION_COMMAND    /* of a list's end: operands are a command line, options end before them */
} option_type;

typedef struct option_spec {
    const char *name;          /* without the dashes; NULL ends a list of options */
    char letter;               /* the short form, 0: none */
    option_type type;
    void *value;
    const char *placeholder;   /* "N", "FILE"; NULL for flags */
    const char *help;
} option_spec;

typedef struct text_list {
    const char **items;
    size_t count;
} text_list;

typedef struct command {
    const char *name, *arguments, *summary;
    const char *examples;      /* lines of help, each a command line and what it does */
    int (*run)(int argc, char **argv);    /* argv[0]: the command's name; returns the exit code */
} command;

/* Takes the options out of argv and leaves the operands from argv[1] on; returns their number.
   -1: the command is over, with exit code *status (--help, or an error that it has told). */
int options_parse(const command *self, const option_spec *options, int argc, char **argv,
                  int *status);

/* The extended regular expression of --name; false: it is none, which is told. */
bool pattern_open(regex_t *pattern, const char *expression);
bool pattern_finds(const regex_t *pattern, const char *text);

/* The one of these words that may be meant by a mistyped one; NULL: none is near. */
const char *nearest_word(const char *word, const char *const *words, size_t count);

#endif
