/* Writes traces full of names that break what does not escape them, for test_json.sh and
   viewers.sh: in every format, and streamed; each 106 zones, 21 instants (on the 4th level) and 21
   counters. */
#include "../test.h"

static bool to_file(void *file, const void *data, size_t size) {
    return fwrite(data, 1, size, (FILE *)file) == size;
}

static void mark(void) {
    char name[64];
    int i;
    prof_set_thread_name("\"thread\"\n\xff\\");
    for (i = 0; i < TEST_ODD_NAMES; i++) {
        sprintf(name, "deep %d %s", i, test_odd_names[i]);
        prof_push(name);
        prof_push(test_odd_names[i]);
        prof_push("leaf");
        prof_pop();
        PROF_BLOCK("leaf \"literal\"") prof_instant(test_odd_names[i]);
        prof_pop();
        prof_push(test_odd_names[i]);
        prof_pop();
        prof_pop();
        prof_counter("counter", i);
    }
    prof_push("left open");
}

static bool save(const prof_trace *trace, const char *path, prof_chrome_format format) {
    prof_chrome_desc desc;
    prof_sink sink;
    FILE *file = fopen(path, "wb");
    memset(&desc, 0, sizeof desc);
    desc.format = format;
    sink.write = to_file;
    sink.user = file;
    return file && prof_write_chrome(trace, &desc, sink) == PROF_OK && fclose(file) == 0;
}

int main(void) {
    prof_desc desc;
    prof_trace *trace;
    FILE *file = fopen(TEST_OUT "/hostile_stream.json", "wb");
    if (!file) return 1;
    memset(&desc, 0, sizeof desc);
    if (prof_start(&desc) != PROF_OK) return 1;
    mark();
    trace = prof_stop();
    if (prof_save_chrome(trace, TEST_OUT "/hostile.json") != PROF_OK) return 1;
    if (!save(trace, TEST_OUT "/hostile_array.json", PROF_CHROME_ARRAY) ||
        !save(trace, TEST_OUT "/hostile_legacy.json", PROF_CHROME_LEGACY)) return 1;
    desc.mode = PROF_MODE_STREAM;
    desc.stream_format = PROF_STREAM_CHROME;
    desc.stream.write = to_file;
    desc.stream.user = file;
    if (prof_start(&desc) != PROF_OK) return 1;
    mark();
    prof_stop();
    return fclose(file) != 0;
}
