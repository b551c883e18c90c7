/* Names of members in a Chrome trace, as prof.h writes them and the command reads them. */
#ifndef PROF_TOOL_KEYS_H
#define PROF_TOOL_KEYS_H

/* Of an event's arguments. */
#define KEY_EXTERNAL_ID    "External id"
#define KEY_RECORD_ID      "Record function id"
#define KEY_CORRELATION    "correlation"
#define KEY_SHAPES         "Input Dims"
#define KEY_DTYPES         "Input type"
#define KEY_CONCRETE       "Concrete Inputs"
#define KEY_OVERLOAD       "Overload Name"
#define KEY_STACK          "Call stack"
#define KEY_OWN_STACK      "Own stack"
#define KEY_SEQUENCE       "Sequence number"
#define KEY_FWD_THREAD     "Fwd thread id"
#define KEY_FLOPS          "Flops"
#define KEY_NODE           "Node ID"
#define KEY_SOURCE         "source"
#define KEY_ZONE           "Zone id"
#define KEY_ZONE_PARENT    "Zone parent id"
#define KEY_LATENCY        "Launch latency (us)"
#define KEY_COVER          "cover"
#define KEY_DEVICE_TYPE    "Device Type"
#define KEY_DEVICE_INDEX   "Device Id"
#define KEY_ADDRESS        "Addr"
#define KEY_BYTES          "Bytes"
#define KEY_TOTAL          "Total Allocated"
#define KEY_CATEGORY       "Category"
#define KEY_MISSED         "Missed"
/* In the head: see tools/README.md. */
#define KEY_SUMS           "sums"
#define KEY_SUMS_BY_SITE   "sums_by_site"
#define KEY_SITES          "sites"
#define KEY_SUMMED         "summed"
#define KEY_TIMELINE_END   "timeline_end_ns"
#define KEY_SESSION        "session_ns"
#define KEY_ZONE_IDS       "zone_ids"
#define KEY_COUNTERS       "counters"
#define KEY_DEVICE_TYPES   "device_types"
#define KEY_DEVICES        "devices"
/* Of a row of its sums: key, member of prof_average. */
#define SUM_FIELDS(X) \
    X("count", count) X("total", cpu_time_total_ns) X("self", self_cpu_time_total_ns) \
    X("min", min_ns) X("max", max_ns) X("p50", p50_ns) X("p90", p90_ns) X("p99", p99_ns)

#endif
