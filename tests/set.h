/* prof_set a value at a time, for tests; in compare's old player the old header's calls. */
#ifndef SET_H
#define SET_H

#ifdef COMPARE_OLD
#  define set_strides prof_set_strides
#  define set_inputs prof_set_inputs
#  define set_outputs prof_set_outputs
#  define set_tensors prof_set_tensors
#  define set_flops prof_set_flops
#  define set_sequence prof_set_sequence
#  define set_overload prof_set_overload
#  define set_module prof_set_module
#  define set_stack prof_set_stack
#  define set_annotation prof_set_annotation
#elif !PROF__BARE
#  include <string.h>

static inline prof_extra set_nothing(uint32_t has) {
    prof_extra x;
    memset(&x, 0, sizeof x);
    x.has = has;
    return x;
}

static inline void set_strides(const prof_shape *strides, uint32_t count) {
    prof_extra x = set_nothing(0);
    x.strides = strides;
    x.input_count = count;
    prof_set(&x);
}

static inline void set_inputs(const char *const *concrete, uint32_t count, const char *kwinputs) {
    prof_extra x = set_nothing(0);
    x.concrete_inputs = concrete;
    x.input_count = count;
    x.kwinputs = kwinputs;
    prof_set(&x);
}

static inline void set_outputs(const prof_shape *shapes, const char *const *dtypes,
                               uint32_t count) {
    prof_extra x = set_nothing(0);
    x.output_shapes = shapes;
    x.output_dtypes = dtypes;
    x.output_count = count;
    prof_set(&x);
}

static inline void set_tensors(const prof_tensor *tensors, uint32_t count) {
    prof_extra x = set_nothing(0);
    x.tensors = tensors;
    x.tensor_count = count;
    prof_set(&x);
}

static inline void set_flops(uint64_t flops) {
    prof_extra x = set_nothing(0);
    x.flops = (int64_t)flops;
    prof_set(&x);
}

static inline void set_sequence(int64_t sequence_nr, uint8_t scope, uint64_t fwd_thread) {
    prof_extra x = set_nothing(PROF_HAS_SEQUENCE_NR);
    x.sequence_nr = sequence_nr;
    x.scope = scope;
    x.fwd_thread = fwd_thread;
    prof_set(&x);
}

static inline void set_overload(const char *name) {
    prof_extra x = set_nothing(0);
    x.overload_name = name;
    prof_set(&x);
}

static inline void set_module(const char *hierarchy) {
    prof_extra x = set_nothing(0);
    x.module_hierarchy = hierarchy;
    prof_set(&x);
}

static inline void set_stack(const char *const *entries, uint32_t count) {
    prof_extra x = set_nothing(0);
    x.stack = entries;
    x.stack_count = count;
    prof_set(&x);
}

static inline void set_annotation(void) {
    prof_extra x = set_nothing(PROF_HAS_ANNOTATION);
    prof_set(&x);
}
#endif
#endif
