/* Perfetto's own format (.pftrace): the fields of its protobuf messages that traces of slices have,
   for the writer (pftrace_write.c) and the reader (perfetto.c). */
#ifndef PROF_PFTRACE_H
#define PROF_PFTRACE_H

#include "base/output.h"

enum {
    PF_PACKET = 1,                                           /* of the file, Trace */
    /* TracePacket */
    PF_CLOCK_SNAPSHOT = 6, PF_TIMESTAMP = 8, PF_SEQUENCE = 10, PF_TRACK_EVENT = 11,
    PF_INTERNED = 12, PF_FLAGS = 13, PF_CLEARED = 41, PF_COMPRESSED = 50, PF_CLOCK = 58,
    PF_DEFAULTS = 59, PF_TRACK = 60,
    PF_STATE_CLEARED = 1, PF_NEEDS_STATE = 2,                /* bits of the flags */
    /* ClockSnapshot and its clocks */
    PF_CLOCKS = 1, PF_PRIMARY_CLOCK = 2,
    PF_CLOCK_ID = 1, PF_CLOCK_TIME = 2, PF_CLOCK_INCREMENTAL = 3, PF_CLOCK_UNIT = 4,
    PF_REALTIME = 1, PF_BOOTTIME = 6,
    /* TrackDescriptor, of a process, of a thread */
    PF_UUID = 1, PF_TRACK_NAME = 2, PF_PROCESS = 3, PF_THREAD = 4, PF_PARENT = 5, PF_COUNTER = 8,
    PF_PROCESS_PID = 1, PF_PROCESS_NAME = 6,
    PF_THREAD_PID = 1, PF_THREAD_TID = 2, PF_THREAD_NAME = 5,
    /* TrackEvent */
    PF_CATEGORY_IIDS = 3, PF_ANNOTATION = 4, PF_LEGACY = 6, PF_TYPE = 9, PF_NAME_IID = 10,
    PF_TRACK_UUID = 11, PF_CATEGORIES = 22, PF_NAME = 23, PF_COUNTER_INT = 30,
    PF_COUNTER_DOUBLE = 44, PF_FLOW_IDS = 47, PF_FLOW_ENDS = 48,
    PF_BEGIN = 1, PF_END = 2, PF_INSTANT = 3, PF_COUNTED = 4,      /* types */
    PF_DEFAULT_EVENT = 11, PF_DEFAULT_CLOCK = 58,            /* of the defaults */
    /* DebugAnnotation */
    PF_KEY_IID = 1, PF_BOOL = 2, PF_UINT = 3, PF_INT = 4, PF_DOUBLE = 5, PF_STRING = 6,
    PF_JSON = 9, PF_KEY = 10, PF_DICT = 11, PF_ARRAY = 12, PF_STRING_IID = 17,
    /* InternedData: lists of iid, text */
    PF_CATEGORY_TEXTS = 1, PF_NAME_TEXTS = 2, PF_KEY_TEXTS = 3, PF_STRING_TEXTS = 29,
    PF_IID = 1, PF_TEXT = 2
};

/* The instant that has the head of the trace that the file was made of: a member each, as JSON. */
#define PF_HEAD_NAME "trace"
#define PF_HEAD_CATEGORY "__metadata"
/* Among them this one: the list of the events of phase M. */
#define PF_HEAD_EVENTS "metadata_events"
#define PF_ASYNC_NAME "async"

/* Writes the trace in the file at path; the exit code. merged: that file is a temporary one, whose
   defects were told of the traces it was made of. */
int pftrace_write(const char *path, bool merged, output *out);

#endif
