/* Inputs of the libFuzzer targets, without libFuzzer: corpus raw|record|submit|elf COUNT FILE...
   Each as it is, and COUNT times with changes, always the same. test_prof_fuzz.sh runs it. */
#define LLVMFuzzerTestOneInput fuzz_raw
#include "fuzz_raw.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_record
#include "fuzz_record.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_submit
#include "fuzz_submit.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_elf
#include "fuzz_elf.c"

enum { MOST_BYTES = 1 << 14 };

/* Some of what happens to bytes: one changes, words that are odd, parts that move, go, repeat. */
static size_t change(uint8_t *data, size_t size) {
    static const uint32_t odd[] = { 0, 1, 0x7fffffff, 0x80000000u, 0xffffffffu, 255, 256, 0x10000 };
    size_t at, n;
    if (size < 8) return size;
    for (uint32_t i = test_random(6) + 1; i; i--) {
        at = test_random((uint32_t)size);
        n = test_random((uint32_t)(size - at)) % 64;
        switch (test_random(6)) {
        case 0: data[at] ^= (uint8_t)(1u << test_random(8)); break;
        case 1: data[at] = (uint8_t)test_random(256); break;
        case 2: memcpy(data + at % (size - 3) / 4 * 4, odd + test_random(8), 4); break;
        case 3: memmove(data + test_random((uint32_t)(size - n)), data + at, n); break;
        case 4:
            if (size - n < 8) break;
            memmove(data + at, data + at + n, size - at - n);
            size -= n;
            break;
        default:
            if (size + n > MOST_BYTES) break;
            memmove(data + at + n, data + at, size - at);
            size += n;
        }
    }
    return size;
}

/* In a block of its own: its end is known. */
static void run_one(int (*run)(const uint8_t *, size_t), const uint8_t *data, size_t size) {
    uint8_t *own = (uint8_t *)malloc(size + !size);
    if (!own) fuzz_crash("no memory");
    memcpy(own, data, size);
    run(own, size);
    free(own);
}

int main(int argc, char **argv) {
    static uint8_t data[MOST_BYTES];
    static const struct { const char *name; int (*run)(const uint8_t *, size_t); } kinds[] = {
        { "raw", fuzz_raw }, { "record", fuzz_record }, { "submit", fuzz_submit },
        { "elf", fuzz_elf }
    };
    int count = 0;
    int changes = argc > 2 ? atoi(argv[2]) : 0;
    for (int i = 3; i < argc; i++) {
        test_text text;
        memset(&text, 0, sizeof text);
        test_read_file(argv[i], &text);
        fuzz_checked();
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            if (strcmp(kinds[k].name, argv[1]) != 0) continue;
            run_one(kinds[k].run, (const uint8_t *)text.data, text.size);
            count++;
            for (int n = 0; n < changes && text.size <= MOST_BYTES; n++) {
                memcpy(data, text.data, text.size);
                run_one(kinds[k].run, data, change(data, text.size));
            }
        }
        test_text_clear(&text);
    }
    printf("%d inputs, each with %d changed copies\n", count, changes);
    return count == 0 || count != argc - 3;
}
