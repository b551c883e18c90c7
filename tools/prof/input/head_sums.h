/* The lists in the head of prof.h's traces: sums of the zones that came when the arena was full,
   which are in no timeline, by name and by site; the sites of names. See prof_write_chrome in
   prof.h. */
#ifndef PROF_HEAD_SUMS_H
#define PROF_HEAD_SUMS_H

#include "input/trace_event.h"

typedef struct head_sums {
    prof_average *rows;         /* one a name, in the head's order */
    size_t count, capacity;
    uint64_t odd;               /* rows that make no sense, left out */
    bool by_site;               /* rows have a site, or none */
    int64_t total_ns;           /* of all rows */
    bool timeline;              /* there is one beside */
    arena memory;
} head_sums;

enum { HEAD_SUMS, HEAD_SUMS_BY_SITE, HEAD_SITES, HEAD_LISTS };

/* The lists in a head, as JSON; empty: it has none. head: the value of "prof", or the arguments of
   an array's event; it may hold anything. */
typedef struct head_lists { trace_text of[HEAD_LISTS]; } head_lists;
extern const char *const head_list_names[HEAD_LISTS];
head_lists head_lists_find(trace_text head);

/* by_site: by site where the head tells it. */
void head_sums_read(head_sums *sums, trace_text head, bool by_site);
void head_sums_free(head_sums *sums);

/* "file:line", as args.source has it, in the arena; NULL: no site. */
const prof_site *head_site(arena *memory, const char *source);
void site_write(const prof_site *site, char *source, size_t size);   /* the other way */
/* The next of the list "sites": its name and site, in buffers of HEAD_NAME bytes; false: there are
   no more. What makes no sense is left out, and names that are longer. */
enum { HEAD_NAME = 4200 };
bool head_sites_next(trace_text *list, char *name, char *source);

#endif
