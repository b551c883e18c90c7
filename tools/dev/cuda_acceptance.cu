/* The experiments that prof_cuda.h has to pass on a machine with a GPU: cuda_acceptance NAME

   Built by nvcc for a GPU, or as C++ for the tests' stand-in, which shows that its own logic is right.
   One process each, since CUPTI takes one client. Prints lines `NAME figure value limit verdict`;
   exit status 1 when one is a MISS. tools/dev/cuda_acceptance.sh runs them all. Built as a shared
   library its work_... functions are what torch.profiler measures beside it. */
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <map>
#include <string>
#include <thread>
#include <vector>

#define PROF_IMPLEMENTATION
#include "prof.h"
#define PROF_CUDA_IMPLEMENTATION
#include "prof_cuda.h"

#ifdef __CUDACC__
#  define ON_FAKE 0
#  define RUN(kernel, grid, block, stream, ns, ...) kernel<<<grid, block, 0, stream>>>(__VA_ARGS__)
#else                                    /* a kernel takes ns, and computes nothing */
#  include "tests/cuda/fake_runtime.h"
#  define ON_FAKE 1
#  define RUN(kernel, grid, block, stream, ns, ...) fake_run(#kernel, stream, ns)
#endif

static const char *experiment = "";
static bool missed;

static void check(cudaError_t error, const char *what) {
    if (error == cudaSuccess) return;
    fprintf(stderr, "cuda_acceptance: %s: %s\n", what, cudaGetErrorString(error));
    exit(2);
}

static void report(const char *figure, double value, const char *bound, bool ok) {
    printf("%-10s %-40.40s %14.4g  %-14s %s\n", experiment, figure, value, bound, ok ? "ok" : "MISS");
    missed = missed || !ok;
}
static void equal(const char *figure, double value, double wanted) {
    char bound[32];
    snprintf(bound, sizeof bound, "= %.10g", wanted);
    report(figure, value, bound, value == wanted);
}
static void at_most(const char *figure, double value, double limit) {
    char bound[32];
    snprintf(bound, sizeof bound, "<= %.4g", limit);
    report(figure, value, bound, value <= limit);
}
static void tell(const char *figure, double value) { report(figure, value, "", true); }

static double now_ns() {
    timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* ---- work ---- */

#ifdef __CUDACC__
__global__ void vec_add(const float *a, const float *b, float *sum, int n) {
    int i = (int)(blockIdx.x * blockDim.x + threadIdx.x);
    if (i < n) sum[i] = a[i] + b[i];
}
template <int tile> __global__ void gemm(const float *a, const float *b, float *c, int n) {
    __shared__ float as[tile][tile], bs[tile][tile];
    int row = (int)blockIdx.y * tile + (int)threadIdx.y;
    int column = (int)blockIdx.x * tile + (int)threadIdx.x;
    float sum = 0;
    for (int k = 0; k < n; k += tile) {
        as[threadIdx.y][threadIdx.x] = a[row * n + k + (int)threadIdx.x];
        bs[threadIdx.y][threadIdx.x] = b[(k + (int)threadIdx.y) * n + column];
        __syncthreads();
        for (int i = 0; i < tile; i++) sum += as[threadIdx.y][i] * bs[i][threadIdx.x];
        __syncthreads();
    }
    c[row * n + column] = sum;
}
__global__ void empty() {}
__global__ void spin(long long cycles) {
    long long start = clock64();
    while (clock64() - start < cycles) {}
}
#endif

static float *device_floats(size_t n) {
    static std::map<size_t, float *> made;
    float *&p = made[n];
    if (!p) check(cudaMalloc(&p, 3 * n * sizeof(float)), "cudaMalloc");
    return p;
}

extern "C" void work_vec_add(int times) {
    const int n = 1 << 20;
    float *p = device_floats((size_t)n);
    for (int i = 0; i < times; i++) {
        RUN(vec_add, n / 256, 256, 0, 3000, p, p + n, p + 2 * n, n);
        (void)p;
    }
}
extern "C" void work_gemm(int times) {
    const int n = 1024;
    float *p = device_floats((size_t)n * n);
    for (int i = 0; i < times; i++)
    {
        RUN(gemm<16>, (dim3(n / 16, n / 16)), (dim3(16, 16)), 0, 150000, p, p + n * n,
            p + 2 * n * n, n);
        (void)p;
    }
}
extern "C" void work_sync() { check(cudaDeviceSynchronize(), "cudaDeviceSynchronize"); }

/* ---- sessions ---- */

static prof_cuda_desc cuda_desc;
static prof_trace *trace;

static void start(uint32_t records) {
    static std::vector<char> arena, block;
    prof_desc desc = {};
    prof_cuda_shutdown();
    cuda_desc.records = records;
    if (block.empty()) block.resize(prof_cuda_memory_size(&cuda_desc, ON_FAKE ? 100000 : 1200000));
    if (arena.empty()) arena.resize((size_t)1 << (ON_FAKE ? 28 : 30));
    cuda_desc.memory = block.data();
    cuda_desc.memory_size = block.size();
    desc.memory = arena.data();
    desc.memory_size = arena.size();
    if (prof_cuda_init(&cuda_desc) != PROF_OK || prof_start(&desc) != PROF_OK) exit(2);
}

static prof_cuda_stats stop() {
    trace = prof_stop();
    if (prof_cuda_status()) {
        fprintf(stderr, "cuda_acceptance: %s\n", prof_cuda_status());
        exit(2);
    }
    return prof_cuda_get_stats();
}

static std::vector<const prof_event *> events_of(const char *type) {
    std::vector<const prof_event *> list;
    size_t n;
    const prof_event *e = prof_events(trace, NULL, 0, &n);
    for (size_t i = 0; i < n; i++)
        if (e[i].extra && e[i].extra->activity_type && !strcmp(e[i].extra->activity_type, type))
            list.push_back(e + i);
    return list;
}

static double median_ns(const std::vector<const prof_event *> &list, const char *part) {
    std::vector<int64_t> ns;
    for (const prof_event *e : list)
        if (strstr(e->name, part)) ns.push_back(e->end_ns - e->start_ns);
    if (ns.empty()) return 0;
    std::sort(ns.begin(), ns.end());
    return (double)ns[ns.size() / 2];
}

/* ---- the experiments ---- */

/* Lines for the script to lay beside torch.profiler's: `kernel COUNT MEDIAN_NS NAME`. */
static void kernels() {
    std::map<std::string, int> count;
    start(0);
    work_vec_add(1000);
    work_gemm(50);
    stop();
    for (const prof_event *e : events_of("kernel")) count[e->name]++;
    for (const auto &c : count)
        printf("kernel %d %.0f %s\n", c.second, median_ns(events_of("kernel"), c.first.c_str()),
               c.first.c_str());
    equal("kernels", (double)events_of("kernel").size(), 1050);
    equal("different names", (double)count.size(), 2);
}

static void streams() {
    cudaStream_t s[4];
    int64_t sum = 0, first = INT64_MAX, last = 0;
    std::map<int64_t, int> rows;
    for (auto &i : s) check(cudaStreamCreateWithFlags(&i, cudaStreamNonBlocking), "stream");
    start(0);
    for (int i = 0; i < 40; i++) RUN(spin, 1, 32, s[i % 4], 2000000, 2000000);
    stop();
    for (const prof_event *e : events_of("kernel")) {
        sum += e->end_ns - e->start_ns;
        first = std::min(first, e->start_ns);
        last = std::max(last, e->end_ns);
        rows[e->extra->device_resource_id]++;
    }
    equal("streams", (double)rows.size(), 4);
    at_most("span / sum of kernels", (double)(last - first) / (double)sum, ON_FAKE ? 0.9 : 0.35);
}

static void copies() {
    const size_t bytes = 64 << 20;
    std::vector<char> pageable(bytes);
    void *pinned, *device;
    unsigned long long sum = 0;
    check(cudaMallocHost(&pinned, bytes), "cudaMallocHost");
    check(cudaMalloc(&device, bytes), "cudaMalloc");
    start(0);
    check(cudaMemcpy(device, pageable.data(), bytes, cudaMemcpyHostToDevice), "copy");
    check(cudaMemcpy(device, pinned, bytes, cudaMemcpyHostToDevice), "copy");
    check(cudaMemcpy(pageable.data(), device, bytes, cudaMemcpyDeviceToHost), "copy");
    check(cudaMemcpy(pinned, device, bytes, cudaMemcpyDeviceToHost), "copy");
    check(cudaMemset(device, 0, bytes), "set");
    check(cudaDeviceSynchronize(), "sync");
    stop();
    for (const char *type : { "gpu_memcpy", "gpu_memset" })
        for (const prof_event *e : events_of(type)) {
            const char *at = strstr(e->extra->metadata_json, "\"bytes\":");
            sum += at ? strtoull(at + 8, NULL, 10) : 0;
            tell(e->name, (double)bytes / (double)(e->end_ns - e->start_ns));
        }
    equal("bytes", (double)sum, 5.0 * (double)bytes);
}

static void graph() {
    cudaStream_t s;
    cudaGraph_t made;
    cudaGraphExec_t exec;
    size_t nodes = 0;
    check(cudaStreamCreate(&s), "stream");
    check(cudaStreamBeginCapture(s, cudaStreamCaptureModeThreadLocal), "capture");
    for (int i = 0; i < 5; i++) RUN(empty, 1, 1, s, 1000);
    check(cudaStreamEndCapture(s, &made), "capture");
    check(cudaGraphGetNodes(made, NULL, &nodes), "nodes");
    check(cudaGraphInstantiate(&exec, made, 0), "instantiate");
    start(0);
    for (int i = 0; i < 10; i++) PROF_BLOCK("replay") { check(cudaGraphLaunch(exec, s), "launch"); }
    stop();
    equal("kernels", (double)events_of("kernel").size(), 10.0 * (double)nodes);
    equal("calls with no kernel, kernels with no call", (double)prof_get_stats(trace).misplaced, 0);
}

static void launches() {
    static const struct { const char *name; uint32_t records; } kinds[] = {
        { "ns a launch: kernels", PROF_CUDA_KERNELS },
        { "ns a launch: + runtime calls", PROF_CUDA_KERNELS | PROF_CUDA_RUNTIME },
        { "ns a launch: + driver calls", PROF_CUDA_KERNELS | PROF_CUDA_RUNTIME | PROF_CUDA_DRIVER } };
    const int n = ON_FAKE ? 50000 : 1000000;
    double begin, off;
    for (int i = 0; i < 1000; i++) RUN(empty, 1, 1, 0, 1);
    work_sync();
    begin = now_ns();
    for (int i = 0; i < n; i++) RUN(empty, 1, 1, 0, 1);
    work_sync();
    off = (now_ns() - begin) / n;
    tell("ns a launch: off", off);
    for (const auto &k : kinds) {
        prof_cuda_stats s;
        start(k.records);
        begin = now_ns();
        for (int i = 0; i < n; i++) RUN(empty, 1, 1, 0, 1);
        work_sync();
        tell(k.name, (now_ns() - begin) / n);
        tell("of that the profiler's", (now_ns() - begin) / n - off);
        begin = now_ns();
        s = stop();
        tell("ms to stop", (now_ns() - begin) / 1e6);
        tell("records dropped", (double)s.lost);
        equal("kernels + lost >= launched", s.kernels + s.lost >= (uint64_t)n, 1);
        if (!s.lost) equal("kernels", (double)s.kernels, n);
    }
}

static void threads() {
    for (int count : { 1, 4, 16 }) {
        std::vector<std::thread> list;
        prof_cuda_stats s;
        start(0);
        for (int t = 0; t < count; t++)
            list.emplace_back([] {
                for (int i = 0; i < 5000; i++) PROF_BLOCK("zone") { RUN(empty, 1, 1, 0, 1); }
            });
        for (auto &t : list) t.join();
        s = stop();
        equal("kernels + lost >= launched", (double)s.kernels + (double)s.lost >= 5000.0 * count, 1);
        equal("kernels without a zone", (double)prof_get_stats(trace).misplaced, 0);
    }
}

/* The join by launch time against ids that are pushed around each launch. */
static void join() {
    int wrong = 0, seen = 0;
    char name[32];
    start(PROF_CUDA_DEFAULT | PROF_CUDA_EXTERNAL_IDS);
    for (int i = 0; i < 5000; i++) {     /* a session has room for some thousand names */
        int id = 1 + i * 7 % 1000;
        snprintf(name, sizeof name, "%d", id);
        prof_push(name);
        prof_cuda_push_id((uint64_t)id);
        RUN(empty, 1, 1, 0, 1);
        prof_cuda_pop_id();
        prof_pop();
    }
    stop();
    size_t n;
    const prof_event *events = prof_events(trace, NULL, 0, &n);
    for (const prof_event *e : events_of("cuda_runtime")) {
        if (!e->extra->external_id) continue;
        seen++;
        wrong += e->parent == PROF_NONE || atoll(events[e->parent].name) != e->extra->external_id;
    }
    equal("launches with an id", seen, 5000);
    equal("mismatches", wrong, 0);
}

static void order() {
    std::map<int64_t, int64_t> called;
    int early = 0;
    start(0);
    work_vec_add(1000);
    work_gemm(100);
    stop();
    for (const char *type : { "cuda_runtime", "cuda_driver" })
        for (const prof_event *e : events_of(type)) called[e->extra->id] = e->start_ns;
    for (const prof_event *e : events_of("kernel"))
        early += e->start_ns < called[e->extra->linked_correlation_id];
    equal("kernels before their launch", early, 0);
}

static void flush() {
    double begin;
    start(0);
    work_vec_add(10000);
    work_sync();
    begin = now_ns();
    prof_cuda_flush();
    tell("us a flush of 20,000 records", (now_ns() - begin) / 1e3);
    begin = now_ns();
    prof_cuda_flush();
    tell("us a flush of nothing", (now_ns() - begin) / 1e3);
    begin = now_ns();
    stop();
    at_most("ms to stop", (now_ns() - begin) / 1e6, 1000);
}

/* Another subscriber in this process: what an attached profiler looks like to us. */
static void refusal() {
    void *handle = NULL, *subscriber = NULL, *f = NULL;
    int (*subscribe)(void **, prof_cuda__callback_fn, void *) = NULL;
#if ON_FAKE
    subscribe = cuptiSubscribe;
#else
    const char *own = getenv("PROF_CUDA_CUPTI");
    const char *const names[] = { own && *own ? own : "libcupti.so.13", "libcupti.so.13",
                                  "libcupti.so.12", "libcupti.so",
                                  "/usr/local/cuda/lib64/libcupti.so" };
    for (int i = 0; i < 5 && !handle; i++) handle = prof_cuda__open(names[i]);
    f = handle ? prof_cuda__find(handle, "cuptiSubscribe") : NULL;
    memcpy(&subscribe, &f, sizeof f);
#endif
    (void)handle;
    (void)f;
    equal("subscribed first", subscribe && !subscribe(&subscriber, prof_cuda__subscriber, NULL), 1);
    if (prof_cuda_init(&cuda_desc) != PROF_OK || prof_start(NULL) != PROF_OK) exit(2);
    work_vec_add(1);
    trace = prof_stop();
    printf("%-10s %s\n", experiment, prof_cuda_status() ? prof_cuda_status() : "(no reason)");
    equal("refused with a reason",
          prof_cuda_status() && strstr(prof_cuda_status(), "another profiler"), 1);
}

/* Without CUPTI: CUDA events around each launch, of which prof_launch tells. */
static void fallback() {
    enum { COUNT = 21 };
    const prof_device device = { PROF_DEVICE_CUDA, 0 };
    cudaEvent_t base, before[COUNT], after[COUNT];
    uint64_t tokens[COUNT];
    double cupti, events;
    start(0);
    work_gemm(COUNT);
    stop();
    cupti = median_ns(events_of("kernel"), "gemm");
    prof_cuda_shutdown();
    if (prof_start(NULL) != PROF_OK) exit(2);
    check(cudaEventCreate(&base), "event");
    check(cudaEventRecord(base), "record");
    check(cudaEventSynchronize(base), "wait");
    prof_device_clock(device, prof_now(), 0);
    for (int i = 0; i < COUNT; i++) {
        check(cudaEventCreate(&before[i]), "event");
        check(cudaEventCreate(&after[i]), "event");
        tokens[i] = prof_launch(prof_queue(device, "CUDA events"), "gemm");
        check(cudaEventRecord(before[i]), "record");
        work_gemm(1);
        check(cudaEventRecord(after[i]), "record");
    }
    work_sync();
    for (int i = 0; i < COUNT; i++) {
        float begin = 0, end = 0;
        check(cudaEventElapsedTime(&begin, base, before[i]), "elapsed");
        check(cudaEventElapsedTime(&end, base, after[i]), "elapsed");
        prof_launch_done(tokens[i], (uint64_t)((double)begin * 1e6), (uint64_t)((double)end * 1e6));
    }
    trace = prof_stop();
    events = median_ns(events_of("kernel"), "gemm");
    tell("us by CUPTI", cupti / 1e3);
    tell("us by CUDA events", events / 1e3);
    equal("launches told", (double)events_of("kernel").size(), COUNT);
    if (cupti >= 100000) at_most("difference, %", 100 * std::fabs(events / cupti - 1), 2);
}

/* Kernels against CUDA events around each; a long kernel before keeps the queue full, so that
   nothing but the kernel lies between its events. */
static void times() {
    enum { COUNT = ON_FAKE ? 10 : 50, LONG = ON_FAKE ? 60000000 : 1000000 };
    cudaEvent_t before[COUNT], after[COUNT];
    std::vector<double> off, relative;
    start(0);
    for (int i = 0; i < COUNT; i++) {
        float ms = 0;
        check(cudaEventCreate(&before[i]), "event");
        check(cudaEventCreate(&after[i]), "event");
        RUN(spin, 1, 32, 0, LONG, LONG);
        check(cudaEventRecord(before[i]), "record");
        RUN(spin, 1, 32, 0, 2000000, 2000000);
        check(cudaEventRecord(after[i]), "record");
        check(cudaEventSynchronize(after[i]), "wait");
        check(cudaEventElapsedTime(&ms, before[i], after[i]), "elapsed");
        off.push_back((double)ms * 1e6);
    }
    stop();
    auto kernels = events_of("kernel");
    equal("kernels", (double)kernels.size(), 2.0 * COUNT);
    if (kernels.size() != 2 * COUNT) return;
    std::sort(kernels.begin(), kernels.end(), [](const prof_event *a, const prof_event *b) {
        return a->start_ns < b->start_ns;
    });
    for (size_t i = 0; i < COUNT; i++) {
        double ns = (double)(kernels[2 * i + 1]->end_ns - kernels[2 * i + 1]->start_ns);
        relative.push_back(std::fabs(ns / off[i] - 1) * 100);
        off[i] = std::fabs(ns - off[i]) / 1e3;
    }
    std::sort(relative.begin(), relative.end());
    at_most("median off CUDA events, %", relative[COUNT / 2], 1);
    at_most("most off CUDA events, us", *std::max_element(off.begin(), off.end()), 5);
}

/* One cold session and two warm ones: CUPTI may stamp a session's first kernels wrongly. */
static void sessions() {
    for (int session = 0; session < 3; session++) {
        std::map<int64_t, int64_t> called;
        prof_cuda_stats s;
        double far = 0;
        int before = 0;
        start(0);
        for (int i = 0; i < 100; i++) {
            PROF_BLOCK("zone") { RUN(empty, 1, 1, 0, 1000); }
            work_sync();                 /* a kernel then starts when it is launched */
        }
        s = stop();
        for (const prof_event *e : events_of("cuda_runtime")) called[e->extra->id] = e->start_ns;
        for (const prof_event *e : events_of("kernel")) {
            int64_t from_call = e->start_ns - called[e->extra->linked_correlation_id];
            far = std::max(far, std::fabs((double)from_call) / 1e3);
            before += from_call < -50000;
        }
        equal("kernels", (double)events_of("kernel").size(), 100);
        equal("of another clock, or without a time", (double)(s.wrong_clock + s.no_time), 0);
        at_most("kernel - launch, at most, us", far, session && !ON_FAKE ? 5000 : 500000);
        equal("more than 50 us before their launch", before, 0);
        equal("kernels without a zone", (double)prof_get_stats(trace).misplaced, 0);
    }
}

/* Two contexts in turns: of two GPUs, or else two of one. */
#if ON_FAKE
static bool second_context(bool on) { return fake_device(on), true; }
#else
static bool second_context(bool on) {
    static void *made, *first;
    void *driver = dlopen("libcuda.so.1", RTLD_NOW), *f[3];
    int (*create)(void **, unsigned, int), (*now)(void **), (*set)(void *);
    if (!driver) return false;
    f[0] = dlsym(driver, "cuCtxCreate_v2");
    f[1] = dlsym(driver, "cuCtxGetCurrent");
    f[2] = dlsym(driver, "cuCtxSetCurrent");
    if (!f[0] || !f[1] || !f[2]) return false;
    memcpy(&create, f, sizeof *f);
    memcpy(&now, f + 1, sizeof *f);
    memcpy(&set, f + 2, sizeof *f);
    if (!first && now(&first) != 0) return false;
    if (!made && create(&made, 0, 0) != 0) return false;
    return set(on ? made : first) == 0;
}
#endif

static void contexts() {
    std::map<std::string, int> seen;
    bool there;
    work_sync();
    there = second_context(true) && second_context(false);
    equal("a second context", there, 1);
    if (!there) return;
    start(0);
    for (int i = 0; i < 100; i++) {
        second_context(i & 1);
        PROF_BLOCK("zone") { RUN(empty, 1, 1, 0, 1000); }
        work_sync();
    }
    second_context(false);
    stop();
    for (const prof_event *e : events_of("kernel")) {
        const char *at = strstr(e->extra->metadata_json, "\"context\":");
        seen[at ? std::string(at, strcspn(at, ",")) : ""]++;
    }
    equal("contexts of kernels", (double)seen.size(), 2);
    for (const auto &c : seen) equal(c.first.c_str(), c.second, 50);
    equal("kernels without a zone", (double)prof_get_stats(trace).misplaced, 0);
}

/* Threads that come and go: far more than there are buffers. */
static void churn() {
    prof_cuda_stats s;
    start(0);
    for (int t = 0; t < 200; t++)
        std::thread([] {
            for (int i = 0; i < 10; i++) PROF_BLOCK("zone") { RUN(empty, 1, 1, 0, 1000); }
        }).join();
    s = stop();
    equal("kernels", (double)s.kernels, 2000);
    equal("lost", (double)s.lost, 0);
    equal("kernels without a zone", (double)prof_get_stats(trace).misplaced, 0);
}

/* Device memory is charged to the zones that took it. */
static void memory() {
    const size_t bytes = 1 << 20;
    const prof_event *events;
    int64_t taken = 0, left = 0;
    size_t n;
    char *p[4];
    work_sync();
    start(PROF_CUDA_DEFAULT | PROF_CUDA_DEVICE_MEMORY);
    for (auto &i : p) PROF_BLOCK("take") { check(cudaMalloc(&i, bytes), "cudaMalloc"); }
    for (auto &i : p) PROF_BLOCK("give") { check(cudaFree(i), "cudaFree"); }
    stop();
    events = prof_events(trace, NULL, 0, &n);
    for (size_t i = 0; i < n; i++) {
        int64_t here = prof_event_total(trace, events + i).device_memory_usage;
        if (!strcmp(events[i].name, "take")) taken += here;
        if (!strcmp(events[i].name, "give")) left += here;
    }
    equal("bytes taken", (double)taken, 4.0 * (double)bytes);
    equal("bytes given back", (double)left, -4.0 * (double)bytes);
}

int main(int argc, char **argv) {
    static const struct { const char *name; void (*run)(); } all[] = {
        { "kernels", kernels }, { "streams", streams }, { "copies", copies }, { "graph", graph },
        { "launches", launches }, { "threads", threads }, { "join", join }, { "order", order },
        { "times", times },
        { "sessions", sessions }, { "contexts", contexts }, { "churn", churn }, { "memory", memory },
        { "flush", flush }, { "refusal", refusal }, { "fallback", fallback } };
    int devices = 0;
#if ON_FAKE
    fake_settle();
    cuda_desc.symbol = fake_symbol;
#endif
    if (argc == 2 && !strcmp(argv[1], "--list")) {
        for (const auto &e : all) puts(e.name);
        return 0;
    }
    if (cudaGetDeviceCount(&devices) != cudaSuccess || devices < 1) {
        fprintf(stderr, "cuda_acceptance: there is no GPU here\n");
        return 3;
    }
    for (const auto &e : all)
        if (argc == 2 && !strcmp(argv[1], e.name)) {
            experiment = e.name;
            e.run();
            return missed;
        }
    fprintf(stderr, "usage: cuda_acceptance NAME | --list\n");
    return 2;
}
