/* CUPTI's records, whole, as of 13.0; check_layout.c compares them with cupti.h. They repeat
   what prof_cuda.h mirrors on purpose: a field that is wrong there must not be wrong here too. */
#ifndef FAKE_RECORDS_H
#define FAKE_RECORDS_H

#include <stdint.h>

typedef struct fake_kernel {
    uint32_t kind;
    uint8_t cache, shared_config;
    uint16_t registers;
    uint32_t cache_requested, cache_executed;
    uint64_t start, end, completed;
    uint32_t device, context, stream;
    int32_t grid_x, grid_y, grid_z, block_x, block_y, block_z, static_shared, dynamic_shared;
    uint32_t local_per_thread, local_total, correlation;
    int64_t grid_id;
    const char *name;
    void *reserved;
    uint64_t queued, submitted;
    uint8_t launch_type, carveout_requested, carveout, padding;
    uint32_t shared_executed;
    uint64_t graph_node;
    uint32_t shared_limit, graph;
    void *policy;
    uint32_t channel, channel_type, cluster_x, cluster_y, cluster_z, cluster_policy;
    uint64_t local_total_2;
    uint32_t cluster_most, clusters_active;
    uint8_t device_launched, padding_3[7];
} fake_kernel;

typedef struct fake_memcpy {
    uint32_t kind;
    uint8_t way, from, to, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation, runtime_correlation, padding;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph, channel, channel_type;
    uint8_t device_launched, padding_2[3];
    uint64_t count;
} fake_memcpy;

typedef struct fake_peer {
    uint32_t kind;
    uint8_t way, from, to, flags;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, from_device, from_context, to_device, to_context, correlation;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph, channel, channel_type, padding;
} fake_peer;

typedef struct fake_memset_record {
    uint32_t kind, value;
    uint64_t bytes, start, end;
    uint32_t device, context, stream, correlation;
    uint16_t flags, memory_kind;
    uint32_t padding;
    void *reserved;
    uint64_t graph_node;
    uint32_t graph, channel, channel_type;
    uint8_t device_launched, padding_2[3];
} fake_memset_record;

typedef struct fake_call {
    uint32_t kind, cbid;
    uint64_t start, end;
    uint32_t process, thread, correlation, result;
} fake_call;

typedef struct fake_external {
    uint32_t kind, external_kind;
    uint64_t id;
    uint32_t correlation, reserved;
} fake_external;

typedef struct fake_overhead_record {
    uint32_t kind, overhead_kind, object_kind, object[3];
    uint64_t start, end;
    uint32_t correlation, reserved;
    void *data;
} fake_overhead_record;

typedef struct fake_sync {
    uint32_t kind, type;
    uint64_t start, end;
    uint32_t correlation, context, stream, event;
    uint64_t sync_id;
    uint32_t result, padding;
} fake_sync;

typedef struct fake_event_record_ {
    uint32_t kind, correlation, context, stream, event, padding, device, padding_2;
    void *reserved;
    uint64_t device_time, sync_id;
} fake_event_record_;

typedef struct fake_memory {
    uint32_t kind, operation, memory_kind, correlation;
    uint64_t address, bytes, time, pc;
    uint32_t process, device, context, stream;
    const char *name;
    uint32_t is_async, padding, pool_type, padding_2;
    uint64_t pool_address, pool_threshold, pool_size, pool_used;
    const char *source;
} fake_memory;

typedef struct fake_marker_record {
    uint32_t kind, flags;
    uint64_t time;
    uint32_t id, object_kind, object[3], padding;
    const char *name, *domain;
} fake_marker_record;

#endif
