/* What the libFuzzer targets share: a failed check is a crash; JSON is read by yajl. */
#ifndef FUZZ_H
#define FUZZ_H

#include "../record/sequence.h"

#include <yajl/yajl_parse.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void fuzz_crash(const char *why) {
    fprintf(stderr, "%s\n", why);
    abort();
}

static void fuzz_json(const char *data, size_t size) {
    yajl_handle parser = yajl_alloc(NULL, NULL, NULL);
    if (yajl_parse(parser, (const unsigned char *)data, size) != yajl_status_ok ||
        yajl_complete_parse(parser) != yajl_status_ok) {
        fprintf(stderr, "%s\n",
                (char *)yajl_get_error(parser, 1, (const unsigned char *)data, size));
        fuzz_crash("not JSON");
    }
    yajl_free(parser);
}

/* All writers; those that write JSON are read again. */
TEST_UNUSED static void fuzz_writers(const prof_trace *trace) {
    test_text text;
    memset(&text, 0, sizeof text);
    for (int writer = 0; writer < TEST_WRITERS; writer++) {
        text.size = 0;
        if (test_write(trace, writer, &text) != PROF_OK) fuzz_crash("a writer failed");
        if (writer == TEST_CHROME || writer == TEST_JSON || writer == TEST_LEGACY ||
            writer == TEST_ARRAY || writer == TEST_EXECUTION) fuzz_json(text.data, text.size);
    }
    for (int raw = 0; raw < 2; raw++) {
        prof_memory_desc desc = { { PROF_DEVICE_CPU, 0 }, raw != 0 };
        text.size = 0;
        if (prof_write_memory_timeline(trace, &desc, test_text_sink(&text)) == PROF_OK)
            fuzz_json(text.data, text.size);
    }
    test_text_clear(&text);
}

TEST_UNUSED static void fuzz_checked(void) {
    if (test_bad) fuzz_crash(test_why);
}

#endif
