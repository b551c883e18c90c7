/* The section prof_sites of an ELF file, and a Cortex-M's vector table: see elf_names.h. */
#include "input/elf_names.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"
#include "base/memory.h"
#include "input/event_source.h"

enum { MOST_SITES = 1 << 22, LONGEST_NAME = 32, LONGEST_NOTE = 64 };
enum { CODE = 1, SYMBOLS = 2, NOBITS = 8, BUILD_ID = 3 };    /* sh_type; a note's type */
enum { ARM = 40, FUNCTION = 2, MOST_VECTORS = 512, SYMBOL = 16 };   /* e_machine; a symbol's type */

struct elf_names {
    const char *path;
    int fd;
    bool wide, big;                      /* 64 bits; the big end first */
    bool told, other;                    /* which build's it is */
    uint64_t size;                       /* of the file */
    uint64_t vectors, symbols, symbols_size, strings;   /* where they are; 0: none */
    size_t vector_count;
    char *sites;
    size_t sites_size;
    char build[2 * LONGEST_NOTE + 1];    /* in hex; "": it has none */
    uint64_t sites_at;
    event_queue odd;                     /* what in it cannot be: see queue_odd */
};

typedef struct section {
    uint64_t header;                     /* where that is */
    uint32_t name, type, link;
    uint64_t at, size;
} section;

/* ---- The file ---- */

static bool read_at(const elf_names *elf, void *to, size_t size, uint64_t at) {
    return at <= elf->size && size <= elf->size - at &&
           pread(elf->fd, to, size, (off_t)at) == (ssize_t)size;
}

/* A number of so many bytes, in the file's order. */
static uint64_t number(const elf_names *elf, const unsigned char *from, size_t size) {
    uint64_t n = 0;
    for (size_t i = 0; i < size; i++) n = n << 8 | from[elf->big ? i : size - 1 - i];
    return n;
}

/* The fields of a header, of 32 and of 64 bits. */
typedef enum field { E_SHOFF, E_SHENTSIZE, E_SHSTRNDX, SH_OFFSET, SH_SIZE, SH_LINK } field;
static const struct { const char *name; uint8_t at[2]; } fields[] = {
    {"e_shoff", {32, 40}}, {"e_shentsize", {46, 58}}, {"e_shstrndx", {50, 62}},
    {"sh_offset", {16, 24}}, {"sh_size", {20, 32}}, {"sh_link", {24, 40}}
};

/* false, as the header there has a number that cannot be. */
static bool odd(elf_names *elf, field f, uint64_t header, uint64_t value, const char *why) {
    queue_odd(&elf->odd, fields[f].name, "byte", header + fields[f].at[elf->wide], "is %llu, %s",
              (unsigned long long)value, why);
    return false;
}

typedef struct headers {
    uint64_t at, entry;
    size_t size, count, names;
    bool is_arm;                         /* of 32 bits */
} headers;

static bool read_headers(elf_names *elf, headers *h) {
    unsigned char head[64];
    if (!read_at(elf, head, 52, 0) || memcmp(head, "\177ELF", 4) != 0) return false;
    elf->wide = head[4] == 2;
    elf->big = head[5] == 2;
    if (elf->wide && !read_at(elf, head, 64, 0)) return false;
    h->is_arm = !elf->wide && number(elf, head + 18, 2) == ARM;
    h->entry = number(elf, head + 24, 4);
    const unsigned char *sizes = head + (elf->wide ? 58 : 46);
    h->at = elf->wide ? number(elf, head + 40, 8) : number(elf, head + 32, 4);
    h->size = (size_t)number(elf, sizes, 2);
    h->count = (size_t)number(elf, sizes + 2, 2);
    h->names = (size_t)number(elf, sizes + 4, 2);
    return true;
}

static bool read_section(elf_names *elf, const headers *h, size_t i, section *s) {
    unsigned char head[64];
    size_t word = elf->wide ? 8 : 4;
    s->header = h->at + i * h->size;
    if (h->size < (elf->wide ? 64u : 40u))
        return odd(elf, E_SHENTSIZE, 0, h->size, "too little for a section's header");
    if (h->at > elf->size || !read_at(elf, head, elf->wide ? 64 : 40, s->header))
        return odd(elf, E_SHOFF, 0, h->at, "and not all headers of sections are in the file there");
    s->name = (uint32_t)number(elf, head, 4);
    s->type = (uint32_t)number(elf, head + 4, 4);
    s->at = number(elf, head + 8 + 2 * word, word);
    s->size = number(elf, head + 8 + 3 * word, word);
    s->link = (uint32_t)number(elf, head + 8 + 4 * word, 4);
    return true;
}

static bool is_called(const elf_names *elf, const section *names, const section *s,
                      const char *name) {
    char text[LONGEST_NAME];
    size_t size = strlen(name) + 1;
    return s->name < names->size && size <= names->size - s->name &&
           read_at(elf, text, size, names->at + s->name) && memcmp(text, name, size) == 0;
}

/* ---- What is in it ---- */

/* A note: sizes of its owner's name and of the description, its type, those two. */
static void read_build(elf_names *elf, const section *s) {
    unsigned char note[16 + LONGEST_NOTE];
    size_t size = s->size < sizeof note ? (size_t)s->size : sizeof note;
    if (size < 16 || !read_at(elf, note, size, s->at)) {
        odd(elf, SH_OFFSET, s->header, s->at, "and no note is in the file there");
        return;
    }
    uint64_t count = number(elf, note + 4, 4);
    if (number(elf, note, 4) != 4 || number(elf, note + 8, 4) != BUILD_ID) return;
    if (!queue_fits(&elf->odd, "n_descsz", "byte", s->at + 4, (int64_t)count, size - 16)) return;
    for (size_t i = 0; i < 2 * count; i++)
        elf->build[i] = "0123456789abcdef"[note[16 + i / 2] >> (i % 2 ? 0 : 4) & 15];
}

static bool read_sites(elf_names *elf, const section *s) {
    if (elf->sites || s->type == NOBITS || !s->size) return false;
    if (s->size > MOST_SITES)
        return odd(elf, SH_SIZE, s->header, s->size, "more than names of zones may take (4 MB)");
    if (s->at > elf->size || s->size > elf->size - s->at)
        return odd(elf, SH_OFFSET, s->header, s->at, "and the section is not in the file there");
    elf->sites_at = s->at;
    elf->sites = allocate((size_t)s->size + 1);
    elf->sites_size = (size_t)s->size;
    return read_at(elf, elf->sites, elf->sites_size, s->at);
}

/* The vector table is where the entry point stands second, behind the stack's top. */
static void read_vectors(elf_names *elf, const headers *h, const section *s) {
    unsigned char word[4];
    section strings;
    if (s->type == CODE && s->size >= 64 && !elf->vectors) {
        if (!read_at(elf, word, 4, s->at + 4) || number(elf, word, 4) != (h->entry | 1)) return;
        elf->vectors = s->at;
        elf->vector_count = s->size / 4 < MOST_VECTORS ? (size_t)(s->size / 4) : MOST_VECTORS;
    } else if (s->type == SYMBOLS && s->link >= h->count) {
        odd(elf, SH_LINK, s->header, s->link, "the number of no section");
    } else if (s->type == SYMBOLS && read_section(elf, h, s->link, &strings)) {
        elf->symbols = s->at;
        elf->symbols_size = s->size < elf->size ? s->size : elf->size;
        elf->strings = strings.at;
    }
}

static int read_elf(elf_names *elf) {
    headers h;
    section names, s;
    if (!read_headers(elf, &h)) return fail(elf->path, "this is not an ELF file");
    if (h.names >= h.count) odd(elf, E_SHSTRNDX, 0, h.names, "the number of no section");
    if (h.names >= h.count || !read_section(elf, &h, h.names, &names))
        return fail(elf->path, "the ELF file has no whole list of sections: is it cut off? %s",
                    elf->odd.first_odd);
    bool found = false;
    for (size_t i = 0; i < h.count && read_section(elf, &h, i, &s); i++) {
        if (is_called(elf, &names, &s, "prof_sites")) found |= read_sites(elf, &s);
        else if (is_called(elf, &names, &s, ".note.gnu.build-id")) read_build(elf, &s);
        else if (h.is_arm) read_vectors(elf, &h, &s);
    }
    if (found || (elf->vectors && elf->symbols)) return EXIT_OK;
    if (elf->odd.odd)
        return fail(elf->path, "the ELF file has no names of zones (section prof_sites): %s",
                    elf->odd.first_odd);
    return fail(elf->path, "the ELF file has no names of zones (section prof_sites): it is "
                           "stripped, or was built without PROF_NAMES_IN_ELF");
}

elf_names *elf_open(const char *path) {
    struct stat status;
    elf_names *elf = allocate(sizeof *elf);
    elf->path = path;
    elf->fd = open(path, O_RDONLY | O_CLOEXEC);
    int failed = EXIT_OK;
    if (elf->fd < 0 || fstat(elf->fd, &status) != 0) {
        failed = fail(path, "%s", strerror(errno));
    } else if (!S_ISREG(status.st_mode)) {
        failed = fail(path, "this is not an ELF file");
    } else {
        elf->size = (uint64_t)status.st_size;
        input_note(&status);
        failed = read_elf(elf);
    }
    if (!failed) return elf;
    elf_close(elf);
    return NULL;
}

/* ---- Sites ---- */

/* Are the names those of the stream's program? */
static bool is_same(elf_names *elf, const char *build) {
    if (elf->told || !build || !*build) return !elf->other;
    elf->told = true;
    elf->other = strcmp(build, elf->build) != 0;
    if (elf->other)
        warn(elf->path, "the stream is another build's (build id %s, not %s): its zones get no "
             "names", build, *elf->build ? elf->build : "none");
    return !elf->other;
}

/* The text at *at, which ends before the section does; NULL: there is none. */
static const char *next_text(const elf_names *elf, size_t *at) {
    if (*at >= elf->sites_size) return NULL;
    const char *text = elf->sites + *at, *end = memchr(text, 0, elf->sites_size - *at);
    if (end) *at += (size_t)(end - text) + 1;
    return end ? text : NULL;
}

bool elf_site(elf_names *elf, uint32_t offset, const char *build, prof_site *site) {
    size_t at = offset;
    if (!is_same(elf, build) || at >= elf->sites_size || (at && elf->sites[at - 1])) return false;
    const char *name = next_text(elf, &at), *file = next_text(elf, &at);
    const char *line = next_text(elf, &at);
    if (!line || !*line || strspn(line, "0123456789") != strlen(line)) {
        queue_odd(&elf->odd, "prof_sites", "byte", elf->sites_at + offset,
                  "is no name with its file and line");
        return false;
    }
    *site = (prof_site){name, file, "", (uint32_t)strtoul(line, NULL, 10)};
    return true;
}

/* ---- Handlers of interrupts ---- */

/* What the vector table has for exception n; 0: nothing, or others have the same, as those do that
   nobody has written a handler for. A word that is no function's is behind the table. */
static uint32_t handler_of(const elf_names *elf, size_t n) {
    uint32_t words[MOST_VECTORS], alike = 0;
    unsigned char word[4];
    size_t count = 1;
    for (; count < elf->vector_count && read_at(elf, word, 4, elf->vectors + 4 * count); count++) {
        words[count] = (uint32_t)number(elf, word, 4);
        if (words[count] && !(words[count] & 1)) break;
    }
    if (n < 2 || n >= count) return 0;
    for (size_t i = 1; i < count; i++) alike += words[i] == words[n];
    return alike == 1 ? words[n] : 0;
}

bool elf_handler(const elf_names *elf, size_t n, char name[ELF_LONGEST_NAME]) {
    uint32_t handler = elf->vectors && !elf->other ? handler_of(elf, n) : 0;
    unsigned char symbol[SYMBOL];
    for (uint64_t at = 0; handler && at + SYMBOL <= elf->symbols_size; at += SYMBOL) {
        if (!read_at(elf, symbol, SYMBOL, elf->symbols + at)) return false;
        if ((symbol[12] & 15) != FUNCTION || number(elf, symbol + 4, 4) != handler) continue;
        uint64_t text = elf->strings + number(elf, symbol, 4);
        size_t size = 0;
        while (size < ELF_LONGEST_NAME - 1 && read_at(elf, name + size, 1, text + size) &&
               name[size]) size++;
        name[size] = 0;
        return size != 0;
    }
    return false;
}

bool elf_tell(const elf_names *elf) {
    if (elf->odd.odd)
        warn(elf->path, "%llu numbers or texts make no sense: names are missing; %s",
             (unsigned long long)elf->odd.odd, elf->odd.first_odd);
    return elf->other || elf->odd.odd;
}

void elf_close(elf_names *elf) {
    if (!elf) return;
    if (elf->fd >= 0) close(elf->fd);
    free(elf->sites);
    free(elf);
}
