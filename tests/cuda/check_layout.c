/* The mirrors of CUPTI's records in prof_cuda.h, and the stand-in's whole ones, against cupti.h:
   compiles where they agree, with CUDA 11.6 and later: records that a version lacks are left out.
   make check_layout */
#define PROF_IMPLEMENTATION
#include "prof.h"
#define PROF_CUDA_IMPLEMENTATION
#include "prof_cuda.h"
#include "fake_records.h"

#include <cuda.h>
#include <cupti.h>

#define SAME(theirs, field, ours, mine)                                            \
    _Static_assert(offsetof(theirs, field) == offsetof(ours, mine) &&              \
                       sizeof(((theirs *)0)->field) == sizeof(((ours *)0)->mine),  \
                   #theirs "." #field " is not " #ours "." #mine)
#define SAME_SIZE(theirs, ours) _Static_assert(sizeof(theirs) == sizeof(ours), #theirs)
#define KIND(theirs, ours) _Static_assert((int)CUPTI_ACTIVITY_KIND_##theirs == ours, #theirs)

KIND(MEMCPY, PROF_CUDA__MEMCPY);
KIND(MEMSET, PROF_CUDA__MEMSET);
KIND(DRIVER, PROF_CUDA__DRIVER_CALL);
KIND(RUNTIME, PROF_CUDA__RUNTIME_CALL);
KIND(CONCURRENT_KERNEL, PROF_CUDA__KERNEL);
KIND(MARKER, PROF_CUDA__MARKER);
KIND(OVERHEAD, PROF_CUDA__OVERHEAD_RECORD);
KIND(MEMCPY2, PROF_CUDA__MEMCPY_PEER);
KIND(CUDA_EVENT, PROF_CUDA__CUDA_EVENT);
KIND(SYNCHRONIZATION, PROF_CUDA__SYNCHRONIZATION);
KIND(EXTERNAL_CORRELATION, PROF_CUDA__EXTERNAL);
KIND(MEMORY2, PROF_CUDA__ALLOCATION);
_Static_assert((int)CUPTI_ERROR_MAX_LIMIT_REACHED == PROF_CUDA__END_OF_BUFFER, "end of buffer");
#if CUDA_VERSION >= 12030
_Static_assert((int)CUPTI_ACTIVITY_ATTR_PER_THREAD_ACTIVITY_BUFFER == 9, "per-thread buffers");
#endif
_Static_assert((int)CUPTI_ACTIVITY_THREAD_ID_TYPE_SYSTEM == 1, "thread ids");
_Static_assert((int)CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM2 == PROF_CUDA__OUR_IDS, "external ids");
_Static_assert((int)CUPTI_ERROR_NOT_INITIALIZED == PROF_CUDA__NOT_INITIALIZED, "error 15");
_Static_assert((int)CUPTI_CB_DOMAIN_DRIVER_API == 1 && (int)CUPTI_CB_DOMAIN_RUNTIME_API == 2,
               "domains");
_Static_assert((int)CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED == 39 &&
                   (int)CUPTI_ERROR_INSUFFICIENT_PRIVILEGES == 35 &&
                   (int)CUPTI_ERROR_VIRTUALIZED_DEVICE_INSUFFICIENT_PRIVILEGES == 40, "errors");
_Static_assert((int)CUDA_ERROR_NO_DEVICE == 100, "no device");

#define KERNEL_SAME(theirs)                                                             \
    SAME(theirs, registersPerThread, prof_cuda__kernel, registers);                     \
    SAME(theirs, start, prof_cuda__kernel, start);                                      \
    SAME(theirs, end, prof_cuda__kernel, end);                                          \
    SAME(theirs, deviceId, prof_cuda__kernel, device);                                  \
    SAME(theirs, contextId, prof_cuda__kernel, context);                                \
    SAME(theirs, streamId, prof_cuda__kernel, stream);                                  \
    SAME(theirs, gridX, prof_cuda__kernel, grid[0]);                                    \
    SAME(theirs, gridZ, prof_cuda__kernel, grid[2]);                                    \
    SAME(theirs, blockX, prof_cuda__kernel, block[0]);                                  \
    SAME(theirs, blockZ, prof_cuda__kernel, block[2]);                                  \
    SAME(theirs, staticSharedMemory, prof_cuda__kernel, static_shared);                 \
    SAME(theirs, dynamicSharedMemory, prof_cuda__kernel, dynamic_shared);               \
    SAME(theirs, correlationId, prof_cuda__kernel, correlation);                        \
    SAME(theirs, name, prof_cuda__kernel, name);                                        \
    SAME(theirs, graphNodeId, prof_cuda__kernel, graph_node);                           \
    SAME(theirs, graphId, prof_cuda__kernel, graph)
#if CUDA_VERSION >= 13010
KERNEL_SAME(CUpti_ActivityKernel11);
_Static_assert(offsetof(CUpti_ActivityKernel11, priority) == PROF_CUDA__PRIORITY_AT &&
                   offsetof(fake_kernel, priority) == PROF_CUDA__PRIORITY_AT, "priority");
#endif
#if CUDA_VERSION >= 13000
KERNEL_SAME(CUpti_ActivityKernel10);
#endif
#if CUDA_VERSION >= 12000
KERNEL_SAME(CUpti_ActivityKernel9);
#endif
#if CUDA_VERSION >= 11080
KERNEL_SAME(CUpti_ActivityKernel8);
#endif
KERNEL_SAME(CUpti_ActivityKernel7);
KERNEL_SAME(CUpti_ActivityKernel6);

#define MEMCPY_SAME(theirs)                                                             \
    SAME(theirs, copyKind, prof_cuda__copy, copy_kind);                               \
    SAME(theirs, srcKind, prof_cuda__copy, source_kind);                              \
    SAME(theirs, dstKind, prof_cuda__copy, target_kind);                              \
    SAME(theirs, bytes, prof_cuda__copy, bytes);                                      \
    SAME(theirs, start, prof_cuda__copy, start);                                      \
    SAME(theirs, end, prof_cuda__copy, end);                                          \
    SAME(theirs, deviceId, prof_cuda__copy, device);                                  \
    SAME(theirs, streamId, prof_cuda__copy, stream);                                  \
    SAME(theirs, correlationId, prof_cuda__copy, correlation);                        \
    SAME(theirs, graphNodeId, prof_cuda__copy, graph_node)
#if CUDA_VERSION >= 13000
MEMCPY_SAME(CUpti_ActivityMemcpy6);
#endif
MEMCPY_SAME(CUpti_ActivityMemcpy5);
MEMCPY_SAME(CUpti_ActivityMemcpy3);

/* The graph's id is behind what is mirrored; `reserved` is where it is kept. */
#define GRAPH_SAME(theirs, ours)                                                        \
    _Static_assert(offsetof(theirs, graphId) == sizeof(ours) &&                         \
                       offsetof(theirs, reserved0) == offsetof(ours, graph), #theirs ".graphId")
GRAPH_SAME(CUpti_ActivityMemcpy5, prof_cuda__copy);
GRAPH_SAME(CUpti_ActivityMemcpyPtoP4, prof_cuda__peer);
GRAPH_SAME(CUpti_ActivityMemset4, prof_cuda__copy);

SAME(CUpti_ActivityMemcpyPtoP4, bytes, prof_cuda__peer, bytes);
SAME(CUpti_ActivityMemcpyPtoP4, start, prof_cuda__peer, start);
SAME(CUpti_ActivityMemcpyPtoP4, srcDeviceId, prof_cuda__peer, source_device);
SAME(CUpti_ActivityMemcpyPtoP4, srcContextId, prof_cuda__peer, source_context);
SAME(CUpti_ActivityMemcpyPtoP4, dstDeviceId, prof_cuda__peer, target_device);
SAME(CUpti_ActivityMemcpyPtoP4, dstContextId, prof_cuda__peer, target_context);
SAME(CUpti_ActivityMemcpyPtoP4, correlationId, prof_cuda__peer, correlation);
SAME(CUpti_ActivityMemcpyPtoP4, graphNodeId, prof_cuda__peer, graph_node);
SAME(CUpti_ActivityMemcpyPtoP2, correlationId, prof_cuda__peer, correlation);
SAME(CUpti_ActivityMemset4, bytes, prof_cuda__copy, bytes);
SAME(CUpti_ActivityMemset4, start, prof_cuda__copy, start);
SAME(CUpti_ActivityMemset4, streamId, prof_cuda__copy, stream);
SAME(CUpti_ActivityMemset4, correlationId, prof_cuda__copy, correlation);
SAME(CUpti_ActivityMemset4, memoryKind, prof_cuda__copy, fill_memory);
SAME(CUpti_ActivityMemset4, graphNodeId, prof_cuda__copy, graph_node);
SAME(CUpti_ActivityMemset2, correlationId, prof_cuda__copy, correlation);
SAME(CUpti_ActivityAPI, cbid, prof_cuda__call, cbid);
SAME(CUpti_ActivityAPI, start, prof_cuda__call, start);
SAME(CUpti_ActivityAPI, end, prof_cuda__call, end);
SAME(CUpti_ActivityAPI, threadId, prof_cuda__call, thread);
SAME(CUpti_ActivityAPI, correlationId, prof_cuda__call, correlation);
SAME(CUpti_ActivityAPI, returnValue, prof_cuda__call, result);
SAME(CUpti_ActivityExternalCorrelation, externalKind, prof_cuda__external, external_kind);
SAME(CUpti_ActivityExternalCorrelation, externalId, prof_cuda__external, id);
SAME(CUpti_ActivityExternalCorrelation, correlationId, prof_cuda__external, correlation);
SAME(CUpti_ActivityOverhead, overheadKind, prof_cuda__overhead, overhead_kind);
SAME(CUpti_ActivityOverhead, start, prof_cuda__overhead, start);
SAME(CUpti_ActivityOverhead, end, prof_cuda__overhead, end);
#define SYNC_SAME(theirs, of_events)                                                    \
    SAME(theirs, type, prof_cuda__sync, type);                                          \
    SAME(theirs, start, prof_cuda__sync, start);                                        \
    SAME(theirs, correlationId, prof_cuda__sync, correlation);                          \
    SAME(theirs, streamId, prof_cuda__sync, stream);                                    \
    SAME(theirs, cudaEventId, prof_cuda__sync, event);                                  \
    SAME(of_events, correlationId, prof_cuda__event, correlation);                      \
    SAME(of_events, streamId, prof_cuda__event, stream);                                \
    SAME(of_events, eventId, prof_cuda__event, event)
SYNC_SAME(CUpti_ActivitySynchronization, CUpti_ActivityCudaEvent);

#define MEMORY_SAME(theirs)                                                             \
    SAME(theirs, memoryOperationType, prof_cuda__allocation, operation);                \
    SAME(theirs, correlationId, prof_cuda__allocation, correlation);                    \
    SAME(theirs, address, prof_cuda__allocation, address);                              \
    SAME(theirs, bytes, prof_cuda__allocation, bytes);                                  \
    SAME(theirs, timestamp, prof_cuda__allocation, time);                               \
    SAME(theirs, streamId, prof_cuda__allocation, stream)
MEMORY_SAME(CUpti_ActivityMemory2);
MEMORY_SAME(CUpti_ActivityMemory3);
#if CUDA_VERSION >= 12060
MEMORY_SAME(CUpti_ActivityMemory4);
SAME(CUpti_ActivityOverhead3, start, prof_cuda__overhead, start);
_Static_assert(offsetof(CUpti_ActivityOverhead3, overheadData) == PROF_CUDA__DATA_AT, "overheads");
#endif
SAME(CUpti_ActivityMarker2, flags, prof_cuda__marker, flags);
SAME(CUpti_ActivityMarker2, timestamp, prof_cuda__marker, time);
SAME(CUpti_ActivityMarker2, id, prof_cuda__marker, id);
SAME(CUpti_ActivityMarker2, objectId.pt.threadId, prof_cuda__marker, thread);
SAME(CUpti_ActivityMarker2, name, prof_cuda__marker, name);

/* What the callback for nodes of graphs gets. */
SAME(CUpti_ResourceData, resourceDescriptor, prof_cuda__resource, graph);
SAME(CUpti_GraphData, node, prof_cuda__graph, node);
SAME(CUpti_GraphData, originalNode, prof_cuda__graph, original_node);
_Static_assert((int)CUPTI_CB_DOMAIN_RESOURCE == PROF_CUDA__RESOURCE &&
                   (int)CUPTI_CBID_RESOURCE_GRAPHNODE_CREATED == PROF_CUDA__NODE_MADE &&
                   (int)CUPTI_CBID_RESOURCE_GRAPHNODE_CLONED == PROF_CUDA__NODE_CLONED, "nodes");
_Static_assert((int)CUPTI_ACTIVITY_ATTR_ZEROED_OUT_ACTIVITY_BUFFER == PROF_CUDA__ZEROED, "zeros");

/* How to subscribe. */
#if CUDA_VERSION >= 13000
SAME(CUpti_SubscriberParams, subscriberName, prof_cuda__params, name);
SAME(CUpti_SubscriberParams, oldSubscriberName, prof_cuda__params, other);
SAME(CUpti_SubscriberParams, oldSubscriberSize, prof_cuda__params, other_size);
#endif
#if CUDA_VERSION >= 13020
SAME(CUpti_SubscriberParams, allowMultipleSubscribers, prof_cuda__params, multiple);
#elif CUDA_VERSION >= 13000
_Static_assert(sizeof(CUpti_SubscriberParams) == offsetof(prof_cuda__params, multiple), "params");
#endif
#if CUDA_VERSION >= 13030
_Static_assert((int)CUPTI_ACTIVITY_ATTR_ENABLE_HES == PROF_CUDA__HES &&
                   (int)CUPTI_ACTIVITY_ATTR_THREAD_ID_TYPE == PROF_CUDA__THREAD_IDS, "attributes");
#endif

/* What is whole, with calls by their numbers, is of 13.0. */
#if CUDA_VERSION >= 13000
SYNC_SAME(CUpti_ActivitySynchronization2, CUpti_ActivityCudaEvent2);
SAME_SIZE(CUpti_ActivityKernel10, fake_kernel);
SAME_SIZE(CUpti_ActivityMemcpy6, fake_memcpy);
SAME_SIZE(CUpti_ActivityMemcpyPtoP4, fake_peer);
SAME_SIZE(CUpti_ActivityMemset4, fake_memset_record);
SAME_SIZE(CUpti_ActivityAPI, fake_call);
SAME_SIZE(CUpti_ActivityExternalCorrelation, fake_external);
SAME_SIZE(CUpti_ActivityOverhead3, fake_overhead_record);
SAME_SIZE(CUpti_ActivitySynchronization2, fake_sync);
SAME_SIZE(CUpti_ActivityCudaEvent2, fake_event_record_);
SAME_SIZE(CUpti_ActivityMemory4, fake_memory);
SAME_SIZE(CUpti_ActivityMarker2, fake_marker_record);
SAME(CUpti_ActivityKernel10, graphId, fake_kernel, graph);
SAME(CUpti_ActivityKernel10, correlationId, fake_kernel, correlation);
SAME(CUpti_ActivityMemcpy6, correlationId, fake_memcpy, correlation);
SAME(CUpti_ActivityMemset4, correlationId, fake_memset_record, correlation);
SAME(CUpti_ActivityMemcpyPtoP4, correlationId, fake_peer, correlation);

#define DRIVER_CALL(number, name) \
    _Static_assert((int)CUPTI_DRIVER_TRACE_CBID_##name == number, #name);
#define RUNTIME_CALL(number, name) \
    _Static_assert((int)CUPTI_RUNTIME_TRACE_CBID_##name == number, #name);
FAKE_DRIVER_CALLS(DRIVER_CALL)
FAKE_RUNTIME_CALLS(RUNTIME_CALL)
#endif

int main(void) { return 0; }
