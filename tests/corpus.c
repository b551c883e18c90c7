/* Inputs of the libFuzzer targets, without libFuzzer: corpus raw|record|submit FILE... Built and
   run by tests/test_prof_fuzz.sh. */
#define LLVMFuzzerTestOneInput fuzz_raw
#include "fuzz_raw.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_record
#include "fuzz_record.c"
#undef LLVMFuzzerTestOneInput
#define LLVMFuzzerTestOneInput fuzz_submit
#include "fuzz_submit.c"

int main(int argc, char **argv) {
    static const struct kind {
        const char *name;
        int (*run)(const uint8_t *data, size_t size);
    } kinds[] = {
        { "raw", fuzz_raw }, { "record", fuzz_record }, { "submit", fuzz_submit }
    };
    int count = 0;
    for (int i = 2; i < argc; i++) {
        test_text text;
        memset(&text, 0, sizeof text);
        test_read_file(argv[i], &text);
        fuzz_checked();
        for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) {
            bool runs = strcmp(kinds[k].name, argv[1]) == 0;
            uint8_t *data = runs ? (uint8_t *)malloc(text.size) : NULL;
            if (!data) continue;                 /* a block of its own: its end is known */
            memcpy(data, text.data, text.size);
            kinds[k].run(data, text.size);
            free(data);
            count++;
        }
        test_text_clear(&text);
    }
    printf("%d inputs\n", count);
    return count == 0 || count != argc - 2;
}
