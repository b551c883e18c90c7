/* The options of a command. */
#include "base/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/demangle.h"
#include "base/errors.h"
#include "base/memory.h"

enum { HELP_COLUMN = 31, HELP_WIDTH = 80 };

/* The words of text from HELP_COLUMN on, in lines that end before HELP_WIDTH. */
static void print_words(const char *text) {
    size_t at = HELP_COLUMN;
    while (*(text += strspn(text, " \n"))) {
        size_t size = strcspn(text, " \n");
        if (at > HELP_COLUMN && at + 1 + size > HELP_WIDTH)
            printf("\n%*s", HELP_COLUMN, ""), at = HELP_COLUMN;
        else if (at > HELP_COLUMN) putchar(' '), at++;
        printf("%.*s", (int)size, text);
        at += size;
        text += size;
    }
    putchar('\n');
}

static void print_option(const option_spec *option) {
    char left[96];
    bool is_on = option->type == OPTION_FLAG && *(const bool *)option->value;
    int size = snprintf(left, sizeof left, "--%s%s%s%s", is_on ? "no-" : "", option->name,
                        option->placeholder ? " " : "",
                        option->placeholder ? option->placeholder : "");
    if (option->letter) snprintf(left + size, sizeof left - (size_t)size, ", -%c", option->letter);
    printf("  %-28s ", left);
    if (strlen(left) > 28) printf("\n%*s", HELP_COLUMN, "");
    print_words(option->help);
}

static void print_help(const command *self, const option_spec *options) {
    printf("usage: prof %s %s\n\n%s\n\n", self->name, self->arguments, self->summary);
    puts("Options (defaults in brackets)");
    for (; options->name; options++) print_option(options);
    printf("  %-28s %s\n", demangles ? "--no-demangle" : "--demangle",
           demangles ? "keep C++ names as the linker has them"
                     : "C++ names of a raw stream as the source has them");
    printf("  %-28s %s\n", "--any-memory", "no bound (half the input's size and 60 MB)");
    printf("  %-28s %s\n\nExamples\n%s", "--help, -h", "print this text", self->examples);
}

static arena option_memory;      /* lives as long as the program */

static void list_add(text_list *list, const char *text) {
    for (const char *end; text; text = end ? end + 1 : NULL) {
        end = strchr(text, ',');
        const char **items = arena_allocate(&option_memory, (list->count + 1) * sizeof *items);
        for (size_t i = 0; i < list->count; i++) items[i] = list->items[i];
        items[list->count++] = arena_text(&option_memory, text,
                                          end ? (size_t)(end - text) : strlen(text));
        list->items = items;
    }
}

static bool count_parse(const char *text, int64_t *count) {
    char *end;
    errno = 0;
    *count = INT64_MAX;
    if (strcmp(text, "all") == 0) return true;
    *count = strtoll(text, &end, 10);
    return *text && !*end && !errno && *count >= 0;
}

bool number_parse(const char *text, const char *ending, double *number) {
    char *end;
    *number = strtod(text, &end);
    return end > text && strcmp(end, ending) == 0 && isfinite(*number);
}

/* Which of the words between the bars it is. */
static bool word_find(const char *text, const char *words, unsigned *number) {
    size_t size = strlen(text);
    for (*number = 0; ; words++, ++*number) {
        size_t length = strcspn(words, "|");
        if (length == size && memcmp(words, text, size) == 0) return true;
        words += length;
        if (!*words) return false;
    }
}

static bool option_set(const option_spec *option, const char *text) {
    switch (option->type) {
    case OPTION_FLAG: *(bool *)option->value = text == NULL; return true;
    case OPTION_TEXT: *(const char **)option->value = text; return true;
    case OPTION_WORD: return word_find(text, option->placeholder, option->value);
    case OPTION_LIST: list_add(option->value, text); return true;
    case OPTION_COUNT: return count_parse(text, option->value);
    case OPTION_NUMBER: return number_parse(text, "", option->value);
    case OPTION_COMMAND: break;
    }
    return false;
}

static const option_spec *option_find(const option_spec *options, const char *word, size_t size,
                                      bool *negated) {
    *negated = size > 3 && strncmp(word, "no-", 3) == 0;
    for (const option_spec *option = options; option->name; option++) {
        if (strlen(option->name) == size && memcmp(option->name, word, size) == 0) {
            *negated = false;
            return option;
        }
        if (*negated && option->type == OPTION_FLAG && strlen(option->name) == size - 3 &&
            memcmp(option->name, word + 3, size - 3) == 0) return option;
    }
    return NULL;
}

/* Letters to be changed, left out, put in or swapped with the next to make b of a. */
enum { MOST_LETTERS = 24 };
static unsigned letters_apart(const char *a, const char *b) {
    unsigned rows[3][MOST_LETTERS + 1];
    size_t n = strlen(a), m = strlen(b);
    if (n > MOST_LETTERS || m > MOST_LETTERS) return MOST_LETTERS;
    for (size_t i = 0; i <= n; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *second = rows[(i + 1) % 3];
        for (size_t j = 0; j <= m; j++) {
            row[j] = (unsigned)(i ? j ? above[j - 1] + (a[i - 1] != b[j - 1]) : i : j);
            if (i && above[j] + 1 < row[j]) row[j] = above[j] + 1;
            if (j && row[j - 1] + 1 < row[j]) row[j] = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                second[j - 2] + 1 < row[j]) row[j] = second[j - 2] + 1;
        }
    }
    return rows[n % 3][m];
}

const char *nearest_word(const char *word, const char *const *words, size_t count) {
    const char *best = NULL;
    size_t size = strlen(word);
    unsigned least = size < 5 ? 1 : size < 8 ? 2 : 3;        /* not more than that apart */
    for (size_t i = 0; i < count; i++) {
        unsigned apart = letters_apart(word, words[i]);
        bool begun = size > 2 && strncmp(word, words[i], size) == 0;
        if (apart > least && !begun) continue;
        if (apart < least || !best) best = words[i];
        if (apart < least) least = apart;
    }
    return best;
}

/* Options that are gone, and the new way. */
static const struct { const char *name, *instead; } gone[] = {
    {"--skip-tiny", "--exclude NAME,..."},
};

static void no_such_option(const command *self, const option_spec *options, const char *word) {
    const char *words[64], *near = NULL;
    char name[MOST_LETTERS + 1];
    size_t count = 0;
    for (size_t i = 0; i < sizeof gone / sizeof *gone; i++)
        if (strcmp(word, gone[i].name) == 0) {
            fail(word, "this option is gone: use %s", gone[i].instead);
            return;
        }
    for (; options->name && count < 64; options++) words[count++] = options->name;
    if (word[1] == '-') {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
        near = nearest_word(name, words, count);
    }
    if (near) fail(word, "there is no such option: did you mean '--%s'?", near);
    else fail(word, "there is no such option; see prof %s --help", self->name);
}

/* One option at argv[i]; returns how many words it took, 0 after an error. */
static int option_take(const command *self, const option_spec *options, char **argv, int i) {
    const char *word = argv[i], *value = NULL;
    const option_spec *option = NULL;
    bool negated = false;
    if (word[1] == '-') {
        value = strchr(word, '=');
        size_t size = value ? (size_t)(value - word) - 2 : strlen(word + 2);
        if (value) value++;
        option = option_find(options, word + 2, size, &negated);
    } else {
        for (option = options; option->name && option->letter != word[1]; option++) {}
        if (!option->name) option = NULL;
        else if (word[2]) value = word + 2;
    }
    if (!option) return no_such_option(self, options, word), 0;
    if (option->type == OPTION_FLAG) {
        if (value) return fail(word, "this option takes no value"), 0;
        option_set(option, negated ? "" : NULL);
        return 1;
    }
    int words = value ? 1 : 2;
    if (!value) value = argv[i + 1];
    if (!value) return fail(word, "this option needs a value: %s", option->placeholder), 0;
    if (!option_set(option, value))
        return fail(word, "it takes %s, not '%s'", option->type == OPTION_WORD ?
                    option->placeholder : option->type == OPTION_COUNT ? "a number or all" :
                    "a number", value), 0;
    return words;
}

static bool is_wrapper(const option_spec *options) {
    while (options->name) options++;
    return options->type == OPTION_COMMAND;
}

int options_parse(const command *self, const option_spec *options, int argc, char **argv,
                  int *status) {
    int operands = 0;
    bool literal = false;
    for (int i = 1; i < argc; ) {
        const char *word = argv[i];
        if (literal || word[0] != '-' || word[1] == '\0') {
            argv[++operands] = argv[i++];
            literal = literal || is_wrapper(options);
        } else if (strcmp(word, "--") == 0) {
            literal = true;
            i++;
        } else if (strcmp(word, "--no-demangle") == 0 || strcmp(word, "--demangle") == 0) {
            demangles = word[2] == 'd';
            i++;
        } else if (strcmp(word, "--any-memory") == 0) {
            memory_unbounded = true;
            i++;
        } else if (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0) {
            print_help(self, options);
            *status = EXIT_OK;
            return -1;
        } else {
            int words = option_take(self, options, argv, i);
            if (words == 0) {
                *status = EXIT_BAD;
                return -1;
            }
            i += words;
        }
    }
    argv[operands + 1] = NULL;
    if (!self->most || (operands >= self->least && operands <= self->most)) return operands;
    *status = fail(NULL, "usage: prof %s %s; see prof %s --help", self->name, self->arguments,
                   self->name);
    return -1;
}

bool pattern_open(name_pattern *p, const char *expression) {
    p->given = regcomp(&p->regex, expression, REG_EXTENDED | REG_NOSUB) == 0;
    if (!p->given) fail("--name", "'%s' is not an extended regular expression", expression);
    return p->given;
}

bool pattern_finds(name_pattern *p, uint32_t number, const char *name) {
    if (!p->given) return true;
    GROW_TO(p->known, number, p->capacity);      /* 0: it was not asked yet */
    if (p->known[number]) return p->known[number] == 'y';
    errno = 0;   /* glibc says "no match" where it has no memory, too */
    int result = regexec(&p->regex, name, 0, NULL, 0);
    if (result != 0 && (result != REG_NOMATCH || errno == ENOMEM))
        exit(fail(NULL, "out of memory"));
    p->known[number] = result == 0 ? 'y' : 'n';
    return result == 0;
}

void pattern_close(name_pattern *p) {
    if (p->given) regfree(&p->regex);
    free(p->known);
}
