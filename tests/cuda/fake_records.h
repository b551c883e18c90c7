/* CUPTI's records, whole, as of 13.0; check_layout.c compares them with cupti.h. They repeat
   what prof_cuda.h mirrors on purpose: a field that is wrong there must not be wrong here too. */
#ifndef FAKE_RECORDS_H
#define FAKE_RECORDS_H

#include <stdint.h>

/* Calls by CUPTI's numbers, as cuptiGetCallbackName of 13.0 names them: all driver calls that
   launch, copy or set, what lies between them, and the runtime calls that tests make. */
#define FAKE_DRIVER_CALLS(X) \
    X(1, cuInit) X(43, cuMemcpyHtoD) X(45, cuMemcpyDtoH) X(47, cuMemcpyDtoD) X(49, cuMemcpyDtoA) \
    X(51, cuMemcpyAtoD) X(53, cuMemcpyHtoA) X(54, cuMemcpyAtoH) X(55, cuMemcpyAtoA) \
    X(56, cuMemcpy2D) X(57, cuMemcpy2DUnaligned) X(58, cuMemcpy3D) X(60, cuMemcpyHtoDAsync) \
    X(62, cuMemcpyDtoHAsync) X(64, cuMemcpyDtoDAsync) X(66, cuMemcpyHtoAAsync) \
    X(67, cuMemcpyAtoHAsync) X(68, cuMemcpy2DAsync) X(69, cuMemcpy3DAsync) X(71, cuMemsetD8) \
    X(73, cuMemsetD16) X(75, cuMemsetD32) X(77, cuMemsetD2D8) X(79, cuMemsetD2D16) \
    X(81, cuMemsetD2D32) X(115, cuLaunch) X(116, cuLaunchGrid) X(117, cuLaunchGridAsync) \
    X(209, cuD3D11GetDevices) X(210, cuD3D11CtxCreateOnDevice) X(211, cuD3D10GetDevices) \
    X(212, cuD3D10CtxCreateOnDevice) X(213, cuD3D9GetDevices) X(214, cuD3D9CtxCreateOnDevice) \
    X(215, cu64MemHostAlloc) X(216, cuMemsetD8Async) X(218, cuMemsetD16Async) \
    X(220, cuMemsetD32Async) X(222, cuMemsetD2D8Async) X(224, cuMemsetD2D16Async) \
    X(226, cuMemsetD2D32Async) X(243, cuMemAlloc_v2) X(245, cuMemFree_v2) X(248, cuMemcpy_v2) \
    X(249, cuMemsetD8_v2) X(250, cuMemsetD16_v2) X(251, cuMemsetD32_v2) X(252, cuMemsetD2D8_v2) \
    X(253, cuMemsetD2D16_v2) X(254, cuMemsetD2D32_v2) X(276, cuMemcpyHtoD_v2) \
    X(277, cuMemcpyHtoDAsync_v2) X(278, cuMemcpyDtoH_v2) X(279, cuMemcpyDtoHAsync_v2) \
    X(280, cuMemcpyDtoD_v2) X(281, cuMemcpyDtoDAsync_v2) X(282, cuMemcpyAtoH_v2) \
    X(283, cuMemcpyAtoHAsync_v2) X(284, cuMemcpyAtoD_v2) X(285, cuMemcpyDtoA_v2) \
    X(286, cuMemcpyAtoA_v2) X(287, cuMemcpy2D_v2) X(288, cuMemcpy2DUnaligned_v2) \
    X(289, cuMemcpy2DAsync_v2) X(290, cuMemcpy3D_v2) X(291, cuMemcpy3DAsync_v2) \
    X(292, cuMemcpyHtoA_v2) X(293, cuMemcpyHtoAAsync_v2) X(294, cuMemAllocHost_v2) \
    X(304, cuCtxGetCurrent) X(305, cuMemcpy) X(306, cuMemcpyAsync) X(307, cuLaunchKernel) \
    X(318, cuMemcpyPeer) X(319, cuMemcpyPeerAsync) X(320, cuMemcpy3DPeer) \
    X(321, cuMemcpy3DPeerAsync) X(397, cuMemcpyHtoD_v2_ptds) X(398, cuMemcpyDtoH_v2_ptds) \
    X(399, cuMemcpyDtoD_v2_ptds) X(400, cuMemcpyDtoA_v2_ptds) X(401, cuMemcpyAtoD_v2_ptds) \
    X(402, cuMemcpyHtoA_v2_ptds) X(403, cuMemcpyAtoH_v2_ptds) X(404, cuMemcpyAtoA_v2_ptds) \
    X(405, cuMemcpy2D_v2_ptds) X(406, cuMemcpy2DUnaligned_v2_ptds) X(407, cuMemcpy3D_v2_ptds) \
    X(408, cuMemcpy_ptds) X(409, cuMemcpyPeer_ptds) X(410, cuMemcpy3DPeer_ptds) \
    X(411, cuMemsetD8_v2_ptds) X(412, cuMemsetD16_v2_ptds) X(413, cuMemsetD32_v2_ptds) \
    X(414, cuMemsetD2D8_v2_ptds) X(415, cuMemsetD2D16_v2_ptds) X(416, cuMemsetD2D32_v2_ptds) \
    X(418, cuMemcpyAsync_ptsz) X(419, cuMemcpyHtoAAsync_v2_ptsz) \
    X(420, cuMemcpyAtoHAsync_v2_ptsz) X(421, cuMemcpyHtoDAsync_v2_ptsz) \
    X(422, cuMemcpyDtoHAsync_v2_ptsz) X(423, cuMemcpyDtoDAsync_v2_ptsz) \
    X(424, cuMemcpy2DAsync_v2_ptsz) X(425, cuMemcpy3DAsync_v2_ptsz) \
    X(426, cuMemcpyPeerAsync_ptsz) X(427, cuMemcpy3DPeerAsync_ptsz) X(428, cuMemsetD8Async_ptsz) \
    X(429, cuMemsetD16Async_ptsz) X(430, cuMemsetD32Async_ptsz) X(431, cuMemsetD2D8Async_ptsz) \
    X(432, cuMemsetD2D16Async_ptsz) X(433, cuMemsetD2D32Async_ptsz) X(442, cuLaunchKernel_ptsz) \
    X(477, cuLaunchCooperativeKernel) X(478, cuLaunchCooperativeKernel_ptsz) \
    X(479, cuEventCreateFromEGLSync) X(480, cuLaunchCooperativeKernelMultiDevice) \
    X(497, cuStreamEndCapture) X(499, cuStreamIsCapturing) X(514, cuGraphLaunch) \
    X(515, cuGraphLaunch_ptsz) X(527, cuLaunchHostFunc) X(528, cuLaunchHostFunc_ptsz) \
    X(539, cuStreamBeginCapture_v2) X(652, cuLaunchKernelEx) \
    X(653, cuLaunchKernelEx_ptsz) X(776, cuMemcpyBatchAsync) X(777, cuMemcpyBatchAsync_ptsz) \
    X(778, cuMemcpy3DBatchAsync) X(779, cuMemcpy3DBatchAsync_ptsz) X(796, cuMemcpyBatchAsync_v2) \
    X(797, cuMemcpyBatchAsync_v2_ptsz) X(798, cuMemcpy3DBatchAsync_v2) \
    X(799, cuMemcpy3DBatchAsync_v2_ptsz)

#define FAKE_RUNTIME_CALLS(X) \
    X(3, cudaGetDeviceCount_v3020) X(10, cudaGetLastError_v3020) \
    X(11, cudaPeekAtLastError_v3020) X(16, cudaSetDevice_v3020) X(17, cudaGetDevice_v3020) \
    X(20, cudaMalloc_v3020) X(22, cudaFree_v3020) X(31, cudaMemcpy_v3020) \
    X(41, cudaMemcpyAsync_v3020) X(51, cudaMemsetAsync_v3020) \
    X(131, cudaStreamSynchronize_v3020) X(133, cudaEventCreate_v3020) \
    X(134, cudaEventCreateWithFlags_v3020) X(135, cudaEventRecord_v3020) \
    X(136, cudaEventDestroy_v3020) X(147, cudaStreamWaitEvent_v3020) \
    X(165, cudaDeviceSynchronize_v3020) X(211, cudaLaunchKernel_v7000) \
    X(212, cudaGetDeviceFlags_v7000) X(214, cudaLaunchKernel_ptsz_v7000) \
    X(311, cudaGraphLaunch_v10000) X(430, cudaLaunchKernelExC_v11060) \
    X(480, cudaStreamGetDevice_v12080) X(494, __cudaRegisterFatBinary_v13000) \
    X(505, __cudaLaunchKernel_v13000) X(502, __cudaPushCallConfiguration_v13000) \
    X(503, __cudaPopCallConfiguration_v13000)

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
    uint8_t device_launched, padding_3[3];
    int32_t priority;                    /* of CUpti_ActivityKernel11, 13.1 */
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
