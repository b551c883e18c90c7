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
    OPTION_WORD,      /* unsigned: which of the placeholder's words, "text|csv|json", from 0 on */
    OPTION_LIST,      /* text_list: may be given several times, and as a,b,c */
    OPTION_COUNT,     /* int64_t, not negative; "all": INT64_MAX */
    OPTION_NUMBER,    /* double, as number_parse takes it */
    OPTION_COMMAND    /* of a list's end: operands are a command line, options end before them */
} option_type;

typedef struct option_spec {
    const char *name;          /* without the dashes; NULL ends a list of options */
    char letter;               /* the short form, 0: none */
    option_type type;
    void *value;
    const char *placeholder;   /* "N", "FILE", "text|csv"; NULL for flags */
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
    int least, most;           /* operands; 0, 0: it counts them itself */
} command;

/* Takes the options out of argv and leaves the operands from argv[1] on; returns their number.
   -1: the command is over, with exit code *status (--help, or an error that it has reported). */
int options_parse(const command *self, const option_spec *options, int argc, char **argv,
                  int *status);

/* The number that ends there, which is not endless; false: it is none. */
bool number_parse(const char *text, const char *ending, double *number);

/* The extended regular expression of --name, and what it says of each name, by the name's number.
   Zero-initialise: it finds all. */
typedef struct name_pattern {
    regex_t regex;
    bool given;
    char *known;
    size_t capacity;
} name_pattern;
bool pattern_open(name_pattern *p, const char *expression);       /* false: it is none (reported) */
bool pattern_finds(name_pattern *p, uint32_t number, const char *name);
void pattern_close(name_pattern *p);

/* The one of these words that may be meant by a mistyped one; NULL: none is near. */
const char *nearest_word(const char *word, const char *const *words, size_t count);

#endif
