/* Perfetto's own file (.pftrace) as the JSON of a trace, piece by piece: what raw_json.h is for raw
   streams. Slices, instants, counters and flows of track events, of any program; other data of
   Perfetto (ftrace, heaps) is skipped. Needs memory for what is open and for interned texts.

       pftrace_json *p = pftrace_json_open(&out);
       while (...) pftrace_json_push(p, data, size);
       pftrace_json_end(p);
       pftrace_json_tell(p, path);
       pftrace_json_free(p);                                                                   */
#ifndef PROF_PFTRACE_JSON_H
#define PROF_PFTRACE_JSON_H

#include "base/output.h"

#include <stdint.h>

typedef struct pftrace_json pftrace_json;

/* Are these a file's first bytes? A Perfetto file begins with 0x0A, as a JSON file may. -1: more
   bytes are needed to say so. */
int pftrace_is(const void *first, size_t size);
pftrace_json *pftrace_json_open(output *out);
void pftrace_json_push(pftrace_json *p, const void *data, size_t size);
/* Is the output to be read before the rest of what was pushed becomes JSON? Push nothing then. */
bool pftrace_json_waits(const pftrace_json *p);
void pftrace_json_end(pftrace_json *p);          /* there is no more */
/* Warns of what was left out; true: the file ends early, or is damaged. Once it is called, another
   is silent. */
bool pftrace_json_tell(pftrace_json *p, const char *path);
void pftrace_json_free(pftrace_json *p);

#endif
