/* prof_cuda.h, for tests/prof.c, and what of its insides inside.h lets tests see. */
#define PROF_CUDA_IMPLEMENTATION
#include "../../prof_cuda.h"
#include "../inside.h"

void inside_cuda_completed(void *buffer, size_t size) {
    prof_cuda__completed(NULL, 0, (uint8_t *)buffer, size, size);
}
uint32_t inside_cuda_bytes(uint32_t kind) { return prof_cuda__kind_of(kind)->size; }
const char *inside_cuda_status_line(void) { return prof_cuda__status_line(NULL); }
