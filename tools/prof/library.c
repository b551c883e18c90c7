/* prof.h's implementation for the prof command and for tests that ask it the same: the only file of
   tools/prof that sees inside the library. It calls of it:
   - prof__is_utility, prof__is_machinery
   - what raw_read.h asks: records and attributes, sums, ns of ticks
   Nothing of the library is copied here. C99 that is C++, too. */
#define PROF_IMPLEMENTATION
#include "library.h"
#include "raw_read.h"

bool is_utility_name(const char *name) { return prof__is_utility(name); }
bool is_machinery_entry(const char *entry) { return prof__is_machinery(entry); }
