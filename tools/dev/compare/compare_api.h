/* What the player calls and what later versions rename: each call once for the header of the commit
   that is compared with (COMPARE_OLD), once for the one of this tree, where they differ. A name
   that changes is changed here, in the second body; scripts and the player stay as they are. */
#ifndef COMPARE_API_H
#define COMPARE_API_H

static prof_stats api_stats(void) { return prof_get_stats(); }

/* The events, in memory of the player's where the arena has no room. */
static const prof_event *api_events(const prof_trace *trace, void *memory, size_t size, size_t *n) {
#if COMPARE_BARE
    (void)memory;
    (void)size;
    return prof_events(trace, n);
#else
    const prof_event *events = prof_events(trace, n);
    return events ? events : prof_make_events(trace, memory, size, n);
#endif
}

#if !COMPARE_BARE
static void api_set_flops(uint64_t flops) { prof_set_flops(flops); }
static void api_set_sequence(int64_t nr, uint8_t scope, uint64_t thread) {
    prof_set_sequence(nr, scope, thread);
}
static void api_set_overload(const char *name) { prof_set_overload(name); }
static void api_set_module(const char *path) { prof_set_module(path); }
static void api_set_annotation(void) { prof_set_annotation(); }
static void api_set_stack(const char *const *list, uint32_t n) { prof_set_stack(list, n); }
static void api_set_shapes(const prof_shape *list, const char *const *types, uint32_t n) {
    prof_set_shapes(list, types, n);
}
static void api_set_strides(const prof_shape *list, uint32_t n) { prof_set_strides(list, n); }
static void api_set_inputs(const char *const *list, uint32_t n, const char *named) {
    prof_set_inputs(list, n, named);
}
static void api_set_outputs(const prof_shape *list, const char *const *types, uint32_t n) {
    prof_set_outputs(list, types, n);
}
static void api_set_tensors(const prof_tensor *list, uint32_t n) { prof_set_tensors(list, n); }
#endif
#endif
