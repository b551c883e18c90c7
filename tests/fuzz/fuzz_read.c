/* Files of any format through the trace reader alone, all of which is looked at. A libFuzzer
   target; tests/fuzz/fuzz.sh runs it once for each format, from seeds of that format. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../../tools/prof/base/files.h"
#include "../../tools/prof/input/losses.h"
#include "../../tools/prof/input/trace_reader.h"
#include "mend.h"

static volatile unsigned seen;

static void look(trace_text text) {
    for (size_t i = 0; i < text.size; i++) seen += (unsigned char)text.data[i];
}

static void look_at(const trace_reader *r) {
    if (r->item == TRACE_MEMBER) {
        look(r->member.key);
        look(r->member.value);
    } else if (r->item == TRACE_EVENT) {
        const trace_event *e = r->event;
        look(e->name);
        look(e->cat);
        look(e->raw);
        look(e->args_text);
        seen += (unsigned)(e->ts_ns ^ e->dur_ns ^ e->pid ^ e->tid);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    static uint32_t words[1 << 14];
    static const char path[] = "fuzz_read.input";
    if (size > sizeof words) return 0;
    memcpy(words, data, size);
    mend_all(words, size / 4);
    FILE *file = fopen(path, "wb");
    if (!file || fwrite(words, 1, size, file) != size || fclose(file)) exit(2);
    trace_reader *reader = trace_open(path);
    if (!reader) exit(2);
    reader->with_text = size & 1;
    reader->as_ended = size & 2;
    while (trace_next(reader) != TRACE_END) look_at(reader);
    trace_close(reader);
    losses_forget();
    inputs_forget();
    return 0;
}
