/* What every command uses: see common.h. */
#include "common.h"

#include <errno.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

/* ---- Errors ---- */

size_t plain_next(const char *text, const char **shown, size_t *size) {
    const unsigned char *p = (const unsigned char *)text;
    size_t taken = utf8_size(p, 4);        /* a NUL within them ends it */
    bool control = *p < 0x20 || *p == 0x7F || (taken == 2 && *p == 0xC2 && p[1] < 0xA0);
    *shown = control ? " " : taken ? text : "\xEF\xBF\xBD";
    *size = control ? 1 : taken ? taken : 3;
    return taken ? taken : 1;
}

static void tell_plain(const char *text) {
    const char *shown;
    size_t size;
    while (*text) {
        text += plain_next(text, &shown, &size);
        fwrite(shown, 1, size, stderr);
    }
}

static void tell(const char *file, const char *format, va_list args) PRINTF_LIKE(2, 0);

static void tell(const char *file, const char *format, va_list args) {
    char text[1024];
    progress_end();
    fputs("prof: ", stderr);
    if (file) {
        tell_plain(strcmp(file, "-") == 0 ? "stdin" : file);
        fputs(": ", stderr);
    }
    vsnprintf(text, sizeof text, format, args);
    tell_plain(text);
    fputc('\n', stderr);
}

int fail(const char *file, const char *format, ...) {
    va_list args;
    va_start(args, format);
    tell(file, format, args);
    va_end(args);
    return EXIT_BAD;
}

void warn(const char *file, const char *format, ...) {
    va_list args;
    va_start(args, format);
    tell(file, format, args);
    va_end(args);
}

/* ---- Options ---- */

static void print_option(const option_spec *option) {
    char left[64];
    bool is_on = option->type == OPTION_FLAG && *(const bool *)option->value;
    int size = snprintf(left, sizeof left, "--%s%s%s%s", is_on ? "no-" : "", option->name,
                        option->placeholder ? " " : "",
                        option->placeholder ? option->placeholder : "");
    if (option->letter) snprintf(left + size, sizeof left - (size_t)size, ", -%c", option->letter);
    printf("  %-28s %s\n", left, option->help);
}

static void print_help(const command *self, const option_spec *options) {
    printf("usage: prof %s %s\n\n%s\n\n", self->name, self->arguments, self->summary);
    puts("Options");
    for (; options->name; options++) print_option(options);
    printf("  %-28s %s\n\nExamples\n%s", "--help, -h", "this text", self->examples);
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

static bool option_set(const option_spec *option, const char *text) {
    char *end;
    switch (option->type) {
    case OPTION_FLAG: *(bool *)option->value = text == NULL; return true;
    case OPTION_TEXT: *(const char **)option->value = text; return true;
    case OPTION_LIST: list_add(option->value, text); return true;
    case OPTION_COUNT: return count_parse(text, option->value);
    case OPTION_NUMBER: *(double *)option->value = strtod(text, &end); return *text && !*end;
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
    if (!option) {
        fail(word, "there is no such option; see prof %s --help", self->name);
        return 0;
    }
    if (option->type == OPTION_FLAG) {
        if (value) return fail(word, "this option takes no value"), 0;
        option_set(option, negated ? "" : NULL);
        return 1;
    }
    int words = value ? 1 : 2;
    if (!value) value = argv[i + 1];
    if (!value) return fail(word, "this option needs a value: %s", option->placeholder), 0;
    if (!option_set(option, value))
        return fail(word, "'%s' is not a value it takes: %s", value, option->placeholder), 0;
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
    return operands;
}

/* ---- Memory ---- */

void *allocate(size_t size) {
    void *memory = calloc(1, size ? size : 1);
    if (!memory) exit(fail(NULL, "out of memory"));
    return memory;
}

void *reallocate(void *old, size_t size) {
    void *memory = realloc(old, size ? size : 1);
    if (!memory) exit(fail(NULL, "out of memory"));
    return memory;
}

enum { READABLE = 32 };           /* bytes behind every piece: see json_next */

struct arena_block {
    struct arena_block *next;
    size_t used, size;
    long double data[];        /* aligned for anything */
};

void *arena_allocate(arena *a, size_t size) {
    size = (size + 15) & ~(size_t)15;
    if (!a->blocks || a->blocks->size - a->blocks->used < size) {
        size_t room = size > 65536 - 64 ? size : 65536 - 64;
        struct arena_block *block = allocate(sizeof *block + room + READABLE);
        block->size = room;
        block->next = a->blocks;
        a->blocks = block;
    }
    void *piece = (char *)a->blocks->data + a->blocks->used;
    a->blocks->used += size;
    return piece;
}

char *arena_text(arena *a, const char *text, size_t size) {
    char *copy = arena_allocate(a, size + 1);
    if (size) memcpy(copy, text, size);
    return copy;
}

void arena_free(arena *a) {
    while (a->blocks) {
        struct arena_block *next = a->blocks->next;
        free(a->blocks);
        a->blocks = next;
    }
}

uint64_t hash_bytes(const void *data, size_t size) {
    const unsigned char *p = data;
    uint64_t hash = size * 0x9E3779B97F4A7C15u, word;
    for (; size >= 8; size -= 8, p += 8) {
        memcpy(&word, p, 8);
        hash = (hash ^ word) * 0xD6E8FEB86659FD93u;
        hash ^= hash >> 32;
    }
    word = 0;
    if (size) memcpy(&word, p, size);
    return hash_mix((hash ^ word) * 0xD6E8FEB86659FD93u);
}

static void intern_grow(interner *names) {
    names->slot_count = names->slot_count ? names->slot_count * 2 : 256;
    free(names->slots);
    names->slots = allocate(names->slot_count * sizeof *names->slots);
    for (size_t i = 0; i < names->count; i++) {
        size_t slot = names->entries[i].hash & (names->slot_count - 1);
        while (names->slots[slot]) slot = (slot + 1) & (names->slot_count - 1);
        names->slots[slot] = (uint32_t)i + 1;
    }
}

/* The slot with this text, or the empty one where it belongs. */
static size_t intern_slot(const interner *names, const char *text, size_t size, uint64_t hash) {
    size_t slot = hash & (names->slot_count - 1);
    for (; names->slots[slot]; slot = (slot + 1) & (names->slot_count - 1)) {
        const struct interned *entry = &names->entries[names->slots[slot] - 1];
        if (entry->hash == hash && entry->size == size && memcmp(entry->text, text, size) == 0)
            break;
    }
    return slot;
}

uint32_t intern(interner *names, const char *text, size_t size) {
    if (names->count * 2 >= names->slot_count) intern_grow(names);
    uint64_t hash = hash_bytes(text, size);
    size_t slot = intern_slot(names, text, size, hash);
    if (!names->slots[slot]) {
        GROW(names->entries, names->count, names->capacity);
        struct interned *entry = &names->entries[names->count++];
        entry->text = arena_text(&names->memory, text, size);
        entry->size = size;
        entry->hash = hash;
        names->slots[slot] = (uint32_t)names->count;
    }
    return names->slots[slot] - 1;
}

uint32_t intern_find(const interner *names, const char *text, size_t size) {
    if (!names->slot_count) return UINT32_MAX;
    return names->slots[intern_slot(names, text, size, hash_bytes(text, size))] - 1;
}

void intern_free(interner *names) {
    arena_free(&names->memory);
    free(names->entries);
    free(names->slots);
    memset(names, 0, sizeof *names);
}

static struct map_slot *map_slot_of(const map *m, uint64_t key) {
    size_t slot = hash_mix(key) & (m->slot_count - 1);
    while (m->slots[slot].key && m->slots[slot].key != key) slot = (slot + 1) & (m->slot_count - 1);
    return &m->slots[slot];
}

static void map_grow(map *m) {
    map old = *m;
    m->slot_count = old.slot_count ? old.slot_count * 2 : 256;
    m->slots = allocate(m->slot_count * sizeof *m->slots);
    for (size_t i = 0; i < old.slot_count; i++)
        if (old.slots[i].key) *map_slot_of(m, old.slots[i].key) = old.slots[i];
    free(old.slots);
}

static uint64_t *map_put_zero(map *m, bool *is_new) {
    if (is_new) *is_new = !m->has_zero;
    m->count += !m->has_zero;
    m->has_zero = true;
    return &m->zero_value;
}

uint64_t *map_put(map *m, uint64_t key, bool *is_new) {
    if (key == 0) return map_put_zero(m, is_new);
    if (m->count * 2 >= m->slot_count) map_grow(m);
    struct map_slot *slot = map_slot_of(m, key);
    if (is_new) *is_new = !slot->key;
    m->count += !slot->key;
    slot->key = key;
    return &slot->value;
}

uint64_t *map_get(const map *m, uint64_t key) {
    if (key == 0) return m->has_zero ? (uint64_t *)(uintptr_t)&m->zero_value : NULL;
    if (!m->slot_count) return NULL;
    struct map_slot *slot = map_slot_of(m, key);
    return slot->key ? &slot->value : NULL;
}

void map_free(map *m) {
    free(m->slots);
    memset(m, 0, sizeof *m);
}

/* ---- Output ---- */

enum { OUTPUT_BUFFER = 1 << 18 };

static bool ends_with(const char *text, const char *end) {
    size_t size = strlen(text), tail = strlen(end);
    return size >= tail && strcmp(text + size - tail, end) == 0;
}

static output *open_outputs;

/* Without its program a temporary file is of no use to anybody. */
static void remove_temporaries(void) {
    for (const output *out = open_outputs; out; out = out->next)
        if (strcmp(out->temporary, out->path) != 0) remove(out->temporary);
}

static void output_leave(const output *out) {
    output **place = &open_outputs;
    while (*place && *place != out) place = &(*place)->next;
    if (*place) *place = out->next;
}

const char *file_name(const char *path) {
    const char *slash = strrchr(path, '/');
    return slash && slash[1] ? slash + 1 : path;
}

bool output_open(output *out, const char *path) {
    static bool at_exit;
    memset(out, 0, sizeof *out);
    out->path = path && strcmp(path, "-") != 0 ? path : NULL;
    out->buffer = allocate(OUTPUT_BUFFER);
    if (!out->path) {
        out->file = stdout;
        return true;
    }
    size_t size = strlen(path) + 32;
    struct stat status;
    bool there = stat(path, &status) == 0;
    if (!there && errno != ENOENT) {
        fail(path, "cannot be created: %s", strerror(errno));
        free(out->buffer);
        return false;
    }
    bool in_place = there && !S_ISREG(status.st_mode);                    /* a pipe, a device */
    out->temporary = allocate(size);
    if (in_place) snprintf(out->temporary, size, "%s", path);
    else snprintf(out->temporary, size, "%s.%ld.tmp", path, (long)getpid());
    errno = 0;
    if (!in_place) remove(out->temporary);       /* a link of that name is not followed */
    if (ends_with(path, ".gz")) out->gz = gzopen(out->temporary, in_place ? "wb1" : "wb1x");
    else out->file = fopen(out->temporary, in_place ? "wb" : "wbx");
    if (out->gz || out->file) {
        out->next = open_outputs;
        open_outputs = out;
        if (!at_exit) at_exit = atexit(remove_temporaries) == 0;
        return true;
    }
    fail(path, "cannot be created: %s", errno ? strerror(errno) : "out of memory");
    free(out->temporary);
    free(out->buffer);
    return false;
}

static void output_put(output *out, const void *data, size_t size) {
    if (out->failed || size == 0) return;
    errno = 0;
    if (out->gz) {
        const char *p = data;
        while (size && !out->failed) {
            unsigned piece = size > 1u << 30 ? 1u << 30 : (unsigned)size;
            out->failed = gzwrite(out->gz, p, piece) != (int)piece;
            p += piece;
            size -= piece;
        }
    } else {
        out->failed = fwrite(data, 1, size, out->file) != size;
    }
    if (out->failed)
        fail(out->path ? out->path : "stdout", "cannot be written: %s", strerror(errno));
}

static void output_flush(output *out) {
    size_t used = out->used;
    out->used = 0;
    output_put(out, out->buffer, used);
}

void output_write(output *out, const void *data, size_t size) {
    if (size > OUTPUT_BUFFER - out->used) output_flush(out);
    if (size > OUTPUT_BUFFER) {
        output_put(out, data, size);
        return;
    }
    if (size) memcpy(out->buffer + out->used, data, size);
    out->used += size;
}

void output_text(output *out, const char *text) {
    output_write(out, text, strlen(text));
}

void output_format(output *out, const char *format, ...) {
    char text[512];
    va_list args;
    va_start(args, format);
    int size = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (size >= 0 && (size_t)size < sizeof text) {
        output_write(out, text, (size_t)size);
        return;
    }
    char *longer = allocate((size_t)size + 1);
    va_start(args, format);
    vsnprintf(longer, (size_t)size + 1, format, args);
    va_end(args);
    output_write(out, longer, (size_t)size);
    free(longer);
}

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

void output_json_text(output *out, const char *text, size_t size) {
    const unsigned char *p = (const unsigned char *)text;
    output_write(out, "\"", 1);
    while (size) {
        size_t piece = utf8_size(p, size);
        if (*p == '"' || *p == '\\') output_format(out, "\\%c", *p);
        else if (*p < 0x20 || *p == 0x7F || (out->in_html && *p == '<'))
            output_format(out, "\\u%04x", *p);
        else if (piece == 0) output_text(out, "\\ufffd");
        else output_write(out, p, piece);
        p += piece ? piece : 1;
        size -= piece ? piece : 1;
    }
    output_write(out, "\"", 1);
}

void output_plain_text(output *out, const char *text) {
    const char *shown;
    size_t size;
    while (*text) {
        text += plain_next(text, &shown, &size);
        output_write(out, shown, size);
    }
}

void output_html_text(output *out, const char *text, size_t size) {
    const unsigned char *p = (const unsigned char *)text;
    while (size) {
        size_t piece = utf8_size(p, size);
        if (piece == 3 && p[0] == 0xEF && p[1] == 0xBF && p[2] >= 0xBE) piece = 0;   /* not XML */
        if (*p == '&') output_text(out, "&amp;");
        else if (*p == '<') output_text(out, "&lt;");
        else if (*p == '>') output_text(out, "&gt;");
        else if (*p == '"') output_text(out, "&quot;");
        else if (*p < 0x20 && *p != '\n') output_text(out, " ");
        else if (piece == 0) output_text(out, "\xEF\xBF\xBD");
        else output_write(out, p, piece);
        p += piece ? piece : 1;
        size -= piece ? piece : 1;
    }
}

void output_page(output *out, const char *const *lines, void (*data)(output *out, void *user),
                 void *user) {
    for (; *lines; lines++) {
        if (strcmp(*lines, "@DATA@\n") != 0) {
            output_text(out, *lines);
            continue;
        }
        out->in_html = true;
        data(out, user);
        out->in_html = false;
    }
}

static bool sink_write(void *user, const void *data, size_t size) {
    output *out = user;
    output_write(out, data, size);
    return !out->failed;
}

prof_sink output_sink(output *out) {
    prof_sink sink = {sink_write, out};
    return sink;
}

int output_close(output *out) {
    output_flush(out);
    output_leave(out);
    const char *name = out->path ? out->path : "stdout";
    bool told = out->failed;
    if (out->gz) out->failed |= gzclose(out->gz) != Z_OK;
    else if (out->path) out->failed |= fclose(out->file) != 0;
    else out->failed |= fflush(out->file) != 0;
    bool renames = out->path && strcmp(out->temporary, out->path) != 0;
    if (renames && !out->failed) out->failed = rename(out->temporary, out->path) != 0;
    if (out->failed && !told) fail(name, "cannot be written: %s", strerror(errno));
    if (out->failed && renames) remove(out->temporary);
    free(out->temporary);
    free(out->buffer);
    return out->failed ? EXIT_BAD : EXIT_OK;
}

void output_discard(output *out) {
    output_leave(out);
    if (out->gz) gzclose(out->gz);
    else if (out->path) fclose(out->file);
    if (out->path && strcmp(out->temporary, out->path) != 0) remove(out->temporary);
    free(out->temporary);
    free(out->buffer);
}

/* ---- Tables ---- */

bool format_parse(const char *text, table_format *format) {
    static const char *const names[] = {"text", "csv", "json", "html"};
    *format = FORMAT_TEXT;
    if (!text) return true;
    for (int i = 0; i < 4; i++) {
        if (strcmp(text, names[i]) != 0) continue;
        *format = (table_format)i;
        return true;
    }
    return false;
}

void sheet_begin(sheet *s, const char *const *heads, const bool *is_number, size_t columns) {
    memset(s, 0, sizeof *s);
    s->heads = heads;
    s->is_number = is_number;
    s->columns = columns;
}

char **sheet_row(sheet *s) {
    if (s->rows == s->capacity) {
        s->capacity = s->capacity ? s->capacity * 2 : 64;
        s->cells = reallocate(s->cells, s->capacity * s->columns * sizeof *s->cells);
    }
    char **row = s->cells + s->rows++ * s->columns;
    memset(row, 0, s->columns * sizeof *row);
    return row;
}

char *sheet_cell(sheet *s, const char *format, ...) {
    va_list args;
    va_start(args, format);
    int size = vsnprintf(NULL, 0, format, args);
    va_end(args);
    char *text = arena_allocate(&s->memory, (size_t)size + 1);
    va_start(args, format);
    vsnprintf(text, (size_t)size + 1, format, args);
    va_end(args);
    return text;
}

static size_t code_points(const char *text) {
    const char *shown;
    size_t count = 0, size;
    for (; *text; count++) text += plain_next(text, &shown, &size);
    return count;
}

static void write_padded(output *out, const char *text, size_t width, bool right) {
    size_t size = code_points(text), pad = width > size ? width - size : 0;
    for (; right && pad; pad--) output_text(out, " ");
    output_plain_text(out, text);
    while (pad--) output_text(out, " ");
}

static void write_text_row(const sheet *s, const char *const *row, const size_t *widths,
                           output *out) {
    for (size_t c = s->hidden; c < s->columns; c++) {
        bool last = c + 1 == s->columns && !s->is_number[c];
        write_padded(out, row[c] ? row[c] : "-", last ? 0 : widths[c], s->is_number[c]);
        output_text(out, c + 1 < s->columns ? "  " : "\n");
    }
}

static void write_text_sheet(const sheet *s, output *out) {
    size_t *widths = allocate(s->columns * sizeof *widths);
    for (size_t c = 0; c < s->columns; c++) {
        widths[c] = code_points(s->heads[c]);
        for (size_t r = 0; r < s->rows; r++) {
            const char *cell = s->cells[r * s->columns + c];
            size_t size = cell ? code_points(cell) : 1;
            if (size > widths[c]) widths[c] = size;
        }
    }
    write_text_row(s, s->heads, widths, out);
    for (size_t c = s->hidden; c < s->columns; c++) {
        for (size_t i = 0; i < widths[c]; i++) output_text(out, "-");
        output_text(out, c + 1 < s->columns ? "  " : "\n");
    }
    for (size_t r = 0; r < s->rows; r++)
        write_text_row(s, (const char *const *)s->cells + r * s->columns, widths, out);
    free(widths);
}

/* A text that a spreadsheet would take for a formula stands behind a '. */
static void write_csv_cell(output *out, const char *text, bool is_number) {
    bool formula = !is_number && *text && strchr("=+-@\t\r", *text);
    if (!strpbrk(text, ",\"\n\r")) {
        if (formula) output_text(out, "'");
        output_text(out, text);
        return;
    }
    output_text(out, formula ? "\"'" : "\"");
    for (; *text; text++) {
        if (*text == '"') output_text(out, "\"");
        output_write(out, text, 1);
    }
    output_text(out, "\"");
}

static void write_csv_row(const sheet *s, const char *const *row, output *out) {
    for (size_t c = 0; c < s->columns; c++) {
        write_csv_cell(out, row[c] ? row[c] : "", s->is_number[c]);
        output_text(out, c + 1 < s->columns ? "," : "\n");
    }
}

static void write_json_row(const sheet *s, const char *const *row, output *out) {
    for (size_t c = 0; c < s->columns; c++) {
        output_text(out, c ? ", " : "{");
        output_json_text(out, s->heads[c], strlen(s->heads[c]));
        output_text(out, ": ");
        if (!row[c]) output_text(out, "null");
        else if (s->is_number[c]) output_text(out, row[c]);
        else output_json_text(out, row[c], strlen(row[c]));
    }
    output_text(out, "}");
}

void sheet_write(const sheet *s, table_format format, output *out) {
    if (format == FORMAT_TEXT) {
        write_text_sheet(s, out);
        return;
    }
    if (format == FORMAT_CSV) write_csv_row(s, s->heads, out);
    else output_text(out, "[");
    for (size_t r = 0; r < s->rows; r++) {
        const char *const *row = (const char *const *)s->cells + r * s->columns;
        if (format == FORMAT_CSV) {
            write_csv_row(s, row, out);
        } else {
            output_text(out, r ? ",\n " : "\n ");
            write_json_row(s, row, out);
        }
    }
    if (format != FORMAT_CSV) output_text(out, "\n]\n");
}

void sheet_free(sheet *s) {
    free(s->cells);
    arena_free(&s->memory);
    memset(s, 0, sizeof *s);
}

/* ---- Whole files ---- */

size_t file_peek(const char *path, char *first, size_t size) {
    gzFile file = strcmp(path, "-") == 0 ? NULL : gzopen(path, "rb");
    if (!file) return 0;
    int c;
    do c = gzgetc(file);
    while (c == ' ' || c == '\n' || c == '\r' || c == '\t');
    size_t count = 0;
    for (; c >= 0 && count < size; c = gzgetc(file)) first[count++] = (char)c;
    gzclose(file);
    return count;
}

char *file_read(const char *path, size_t *size) {
    enum { FIRST = 1 << 16, MOST = 1 << 30 };
    gzFile file = strcmp(path, "-") == 0 ? gzdopen(dup(STDIN_FILENO), "rb") : gzopen(path, "rb");
    if (!file) return fail(path, "%s", strerror(errno)), NULL;
    size_t capacity = FIRST;
    char *text = allocate(capacity + READABLE);
    int got = 0, code;
    *size = 0;
    while (*size < MOST && (got = gzread(file, text + *size, (unsigned)(capacity - *size))) > 0) {
        *size += (size_t)got;
        if (*size == capacity) text = reallocate(text, (capacity *= 2) + READABLE);
    }
    const char *why = gzerror(file, &code);
    if (got < 0 || *size >= MOST || *size == 0) {
        fail(path, *size == 0 && got == 0 ? "the file is empty" : "byte %zu: %s", *size,
             got < 0 ? code == Z_ERRNO ? strerror(errno) : why : "more than 1 GB");
        free(text);
        text = NULL;
    } else {
        memset(text + *size, 0, READABLE);
    }
    gzclose(file);
    return text;
}

/* ---- Progress and colours ---- */

static bool bar_shown;

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

void progress(const char *what, uint64_t done, uint64_t total) {
    static double begin, last;
    static int terminal = -1;
    if (terminal < 0) terminal = isatty(STDERR_FILENO);
    if (!terminal) return;
    double now = seconds();
    if (begin == 0) begin = now;
    if (now - begin < 0.5 || now - last < 0.1) return;
    last = now;
    bar_shown = true;
    if (total == 0) {
        fprintf(stderr, "\r\033[K%s: %.0f MB", what, (double)done / 1e6);
        return;
    }
    enum { WIDTH = 30 };
    double part = done < total ? (double)done / (double)total : 1;
    char bar[WIDTH + 1];
    memset(bar, ' ', WIDTH);
    memset(bar, '#', (size_t)(part * WIDTH));
    bar[WIDTH] = '\0';
    fprintf(stderr, "\r\033[K%s [%s] %3.0f %%", what, bar, part * 100);
}

void progress_end(void) {
    if (bar_shown) fputs("\r\033[K", stderr);
    bar_shown = false;
}

bool use_colours(FILE *stream) {
    const char *no = getenv("NO_COLOR"), *term = getenv("TERM");
    return !(no && *no) && !(term && strcmp(term, "dumb") == 0) && isatty(fileno(stream));
}
