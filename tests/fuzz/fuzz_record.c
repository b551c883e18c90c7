/* libFuzzer: sequences of calls against a model, in every mode and in small arenas. The first two
   bytes are the size of the arena. See make fuzz. */
#include "fuzz.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size) {
    if (size < 2) return 0;
    check_sequence(data + 2, size - 2, fuzz_json);
    fuzz_checked();
    check_small_arena(data + 2, size - 2, 1000 + 2 * (size_t)(data[0] | data[1] << 8));
    fuzz_checked();
    return 0;
}
