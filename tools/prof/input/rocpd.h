/* Databases of rocprofv3 (rocpd): see rocpd.c. */
#ifndef PROF_ROCPD_H
#define PROF_ROCPD_H

#include "input/database.h"

typedef struct rocpd rocpd;

/* NULL: the database is none. */
rocpd *rocpd_open(database *db);
bool rocpd_read(rocpd *r);       /* makes some events. false: that was all */
bool rocpd_reads(const rocpd *r, const char *table);     /* or knows that it has no device time */
void rocpd_tell(const rocpd *r, const char *path);
void rocpd_close(rocpd *r);      /* NULL: nothing */

#endif
