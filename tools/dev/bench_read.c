/* How fast the prof command reads, and exports: bench_read [--check] PROF FOLDER [FILE]

   Makes a trace of 200 MB in FOLDER and runs the program PROF on it. Prints one line per figure and
   adds them to the JSON object in FILE. Times are CPU time, user and system, of the child process;
   the median of three runs. read.mb_s and read.gz_mb_s are by the clock, of the shortest of nine
   runs: prof reads with two threads, which counts where both have a processor, and who else needs
   one stretches a run of 0.2 s by half. A figure that misses its limit says MISS; with --check the
   exit status is then 1. python3 reads the first 50 MB of the same trace, with json.load and a
   loop. Exports are of 30 MB of the smallest events: so many are in no other file of that size. */
#define _GNU_SOURCE
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

enum { RUNS = 3, READ_RUNS = 9, MEGABYTES = 200, PYTHON_MEGABYTES = 50, EXPORT_MEGABYTES = 30 };

typedef struct cost { double seconds, wall, peak_mb; } cost;

static FILE *json;
static bool missed;

static void die(const char *what) {
    perror(what);
    exit(2);
}

/* ---- The trace, as Kineto writes it: an op, its launch, its kernel, the flow between them ---- */

static unsigned next_random(void) {
    static unsigned state = 1;
    return (state = state * 1664525u + 1013904223u) >> 8;
}

static void write_step(FILE *file, unsigned i, unsigned long long ns) {
    unsigned name = next_random() % 200, op_ns = 5000 + next_random() % 1000;
    unsigned kernel_ns = 4000 + next_random() % 1000;
#define US(t) (t) / 1000, (unsigned)((t) % 1000)
    fprintf(file,
        "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"aten::op_%u\",\"pid\":4242,\"tid\":4242,"
        "\"ts\":%llu.%03u,\"dur\":%u.%03u,\"args\":{\"External id\":%u,"
        "\"Concrete Inputs\":[\"\",\"\",\"\"],\"Input type\":[\"float\",\"float\",\"Scalar\"],"
        "\"Input Strides\":[[2,1],[3,1],[]],\"Input Dims\":[[4,%u],[%u,3],[]],"
        "\"Sequence number\":%u,\"Fwd thread id\":0,\"Record function id\":0,\"Ev Idx\":%u}},\n",
        name, US(ns), US(op_ns), i, name, name, i, i);
    fprintf(file,
        "{\"ph\":\"X\",\"cat\":\"cuda_runtime\",\"name\":\"cudaLaunchKernel\",\"pid\":4242,"
        "\"tid\":4242,\"ts\":%llu.%03u,\"dur\":2.007,\"args\":{\"External id\":%u,\"cbid\":211,"
        "\"correlation\":%u}},\n"
        "{\"ph\":\"s\",\"id\":%u,\"pid\":4242,\"tid\":4242,\"ts\":%llu.%03u,\"cat\":\"ac2g\","
        "\"name\":\"ac2g\"},\n", US(ns + 1000), i, i, i, US(ns + 1000));
    fprintf(file,
        "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"void kernel_%u<float, 4>(float*, int)\","
        "\"pid\":0,\"tid\":7,\"ts\":%llu.%03u,\"dur\":%u.%03u,\"args\":{\"External id\":%u,"
        "\"queued\":0,\"device\":0,\"context\":1,\"stream\":7,\"correlation\":%u,"
        "\"registers per thread\":32,\"shared memory\":0,\"blocks per SM\":0.0075,"
        "\"warps per SM\":0.0606,\"grid\":[1,1,1],\"block\":[256,1,1],"
        "\"est. achieved occupancy %%\":0,\"graph id\":0,\"graph node id\":0,\"priority\":0}},\n"
        "{\"ph\":\"f\",\"id\":%u,\"pid\":0,\"tid\":7,\"ts\":%llu.%03u,\"cat\":\"ac2g\","
        "\"name\":\"ac2g\",\"bp\":\"e\"},\n",
        name, US(ns + 2500), US(kernel_ns), i, i, i, US(ns + 2500));
#undef US
}

static void write_trace(const char *path, long megabytes) {
    FILE *file = fopen(path, "w");
    unsigned long long ns = 1000000;
    if (!file) die(path);
    fputs("{\"schemaVersion\":1,\"deviceProperties\":[{\"id\":0,\"name\":\"NVIDIA H100\","
          "\"totalGlobalMem\":85028634624}],\"displayTimeUnit\":\"ms\","
          "\"baseTimeNanoseconds\":1700000000000000000,\"traceEvents\":[\n", file);
    for (unsigned i = 1; ftell(file) < megabytes * 1000000; i++) {
        write_step(file, i, ns);
        ns += 6000 + next_random() % 10000;
    }
    fprintf(file, "{\"ph\":\"i\",\"s\":\"g\",\"name\":\"Record Window End\",\"pid\":\"\","
                  "\"tid\":\"\",\"ts\":%llu.000}],\"traceName\":\"x\"}\n", ns / 1000 + 1);
    if (fclose(file)) die(path);
}

static void pack(const char *from, const char *to) {
    static char buffer[1 << 18];
    FILE *file = fopen(from, "r");
    gzFile gz = gzopen(to, "wb1");
    size_t got;
    if (!file || !gz) die(to);
    while ((got = fread(buffer, 1, sizeof buffer, file)) > 0) gzwrite(gz, buffer, (unsigned)got);
    fclose(file);
    if (gzclose(gz) != Z_OK) die(to);
}

static double megabytes_of(const char *path) {
    struct stat status;
    if (stat(path, &status)) die(path);
    return (double)status.st_size / 1e6;
}

/* The smallest events, and nothing but calls: most of them in so many bytes. */
static void write_calls(const char *path, long megabytes) {
    FILE *file = fopen(path, "w");
    if (!file) die(path);
    fputs("{\"traceEvents\":[\n", file);
    for (unsigned i = 0; ftell(file) < megabytes * 1000000; i++)
        for (unsigned depth = 0; depth < 3; depth++)
            fprintf(file, "{\"ph\":\"X\",\"cat\":\"cpu_op\",\"name\":\"zone_%u\",\"pid\":1,"
                          "\"tid\":%u,\"ts\":%u.%03u,\"dur\":%u.000},\n",
                    next_random() % 200, i % 3, i * 10 + depth, i % 1000, 9 - 2 * depth);
    fputs("{\"ph\":\"X\",\"name\":\"last\",\"pid\":1,\"tid\":1,\"ts\":0,\"dur\":1}]}\n", file);
    if (fclose(file)) die(path);
}

/* ---- Running ---- */

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

static cost run(char *const argv[]) {
    struct rusage usage;
    int status = 0;
    double begin = now();
    pid_t child = fork();
    if (child == 0) {
        if (!freopen("/dev/null", "w", stdout)) _exit(126);
        execvp(argv[0], argv);
        _exit(127);
    }
    if (child < 0 || wait4(child, &status, 0, &usage) < 0) die(argv[0]);
    if (status) {
        fprintf(stderr, "bench_read: %s %s failed\n", argv[0], argv[1]);
        exit(2);
    }
    cost c = {
        (double)(usage.ru_utime.tv_sec + usage.ru_stime.tv_sec) +
            (double)(usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) * 1e-6,
        now() - begin,
        (double)usage.ru_maxrss * 1024 / 1e6
    };
    return c;
}

/* The one of the runs with the median time; its wall time is the shortest of all. */
static cost median_of(int count, char *const argv[]) {
    cost runs[READ_RUNS];
    double wall = 1e9;
    for (int i = 0; i < count; i++) {
        cost c = run(argv);
        int place = i;
        wall = c.wall < wall ? c.wall : wall;
        for (; place > 0 && runs[place - 1].seconds > c.seconds; place--)
            runs[place] = runs[place - 1];
        runs[place] = c;
    }
    runs[count / 2].wall = wall;
    return runs[count / 2];
}

static cost median_run(char *const argv[]) { return median_of(RUNS, argv); }

static void report(const char *key, double value, bool at_most, double limit, const char *what) {
    bool ok = at_most ? value <= limit : value >= limit;
    char bound[32];
    snprintf(bound, sizeof bound, "%s %.2f", at_most ? "<=" : ">=", limit);
    printf("%-20s %10.3f  %-9s %-5s %s\n", key, value, bound, ok ? "ok" : "MISS", what);
    fflush(stdout);
    missed |= !ok;
    if (json) fprintf(json, ",\n  \"%s\": %.4f", key, value);
}

static void measure_exports(char *prof, char *trace, const char *folder) {
    static const char *const formats[] = {"sqlite", "parquet", "csv", "pftrace", "pb.gz", "folded"};
    double size, peak_mb = 0;
    char path[512], key[64], what[64];
    write_calls(trace, EXPORT_MEGABYTES);
    size = megabytes_of(trace);
    for (size_t i = 0; i < sizeof formats / sizeof *formats; i++) {
        snprintf(path, sizeof path, "%s/out.%s", folder, formats[i]);
        char *const export[] = {prof, "export", "-o", path, trace, NULL};
        cost c = median_run(export);
        if (c.peak_mb > peak_mb) peak_mb = c.peak_mb;
        snprintf(key, sizeof key, "export.%s_mb_s", formats[i]);
        snprintf(what, sizeof what, "prof export, .%s of small events, by the clock", formats[i]);
        report(key, size / c.wall, false, 100, what);
        remove(path);
    }
    report("export.peak_mb", peak_mb, true, 64, "the most memory of those");
}

/* Opens FILE for more members behind those of its object. */
static void open_json(const char *path) {
    char text[1 << 14];
    FILE *file = fopen(path, "r");
    if (!file) die(path);
    size_t size = fread(text, 1, sizeof text - 1, file);
    fclose(file);
    while (size && strchr(" \n}", text[size - 1])) size--;
    json = fopen(path, "w");
    if (!json) die(path);
    fwrite(text, 1, size, json);
}

int main(int argc, char **argv) {
    bool check = argc > 1 && strcmp(argv[1], "--check") == 0;
    if (check) argv++, argc--;
    if (argc < 3) {
        fputs("usage: bench_read [--check] PROF FOLDER [FILE]\n", stderr);
        return 2;
    }
    char *prof = argv[1], plain[512], packed[512], small[512], augmented[512];
    static char script[] =
        "import json, sys\n"
        "names = {}\n"
        "for e in json.load(open(sys.argv[1]))['traceEvents']:\n"
        "    if e['ph'] == 'X':\n"
        "        count, dur = names.get(e['name'], (0, 0))\n"
        "        names[e['name']] = count + 1, dur + e['dur']\n";
    mkdir(argv[2], 0777);
    snprintf(plain, sizeof plain, "%s/trace.json", argv[2]);
    snprintf(packed, sizeof packed, "%s/trace.json.gz", argv[2]);
    snprintf(small, sizeof small, "%s/small.json", argv[2]);
    snprintf(augmented, sizeof augmented, "%s/augmented.json", argv[2]);
    write_trace(plain, MEGABYTES);
    write_trace(small, PYTHON_MEGABYTES);
    pack(plain, packed);
    if (argc > 3) open_json(argv[3]);

    char *const report_plain[] = {prof, "report", plain, NULL};
    char *const report_packed[] = {prof, "report", packed, NULL};
    char *const no_device[] = {prof, "report", "--no-device", plain, NULL};
    char *const analyze[] = {prof, "analyze", plain, NULL};
    char *const augment[] = {prof, "augment", plain, augmented, NULL};
    char *const report_small[] = {prof, "report", small, NULL};
    char *const python[] = {"python3", "-c", script, small, NULL};
    double size = megabytes_of(plain);
    cost whole = median_of(READ_RUNS, report_plain), gz = median_of(READ_RUNS, report_packed);
    cost lean = run(no_device), rates = median_run(analyze), more = median_run(augment);
    write_calls(plain, MEGABYTES);
    cost calls = run(no_device);
    if (calls.peak_mb > lean.peak_mb) lean = calls;
    report("read.mb_s", size / whole.wall, false, 1000,
           "prof report of a 200 MB trace, by the clock");
    report("read.gz_mb_s", size / gz.wall, false, 600, "of the same as .gz, unpacked MB");
    report("read.cpu_mb_s", size / whole.seconds, false, 250, "of the trace, by CPU time");
    report("read.gz_cpu_mb_s", size / gz.seconds, false, 180, "of the .gz, by CPU time");
    report("read.peak_mb", whole.peak_mb, true, 52, "its memory, with device times");
    report("read.lean_peak_mb", lean.peak_mb, true, 12.5,
           "its memory, --no-device; also of 200 MB of calls alone");
    report("analyze.ratio", rates.seconds / whole.seconds, true, 1.5, "prof analyze / prof report");
    report("augment.mb_s", size / more.seconds, false, 100, "prof augment");
    measure_exports(prof, plain, argv[2]);
    if (system("python3 -c pass") == 0)
        report("read.python_ratio", run(python).seconds / median_run(report_small).seconds, false,
               12, "python3's json.load and a loop / prof report");
    if (json) fputs("\n}\n", json);
    if (json && fclose(json)) die(argv[3]);
    remove(plain);
    remove(packed);
    remove(small);
    remove(augmented);
    return check && missed;
}
