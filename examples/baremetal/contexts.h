/* Who had the core, told on the target: in the file that has PROF_IMPLEMENTATION, behind prof.h

       #include "contexts.h"
       prof_write_contexts(prof_stop(), uart);

   writes a line for each task (idle is one), for each interrupt that has zones and for the rest:
   the share of the core without what interrupted it, how often it ran, the longest time at once.
   `prof report` of a dump, a trace or a stream has these lines, and how long tasks waited to run.
   In a ring it is of what the ring still holds; PROF_MODE_AGGREGATE and PROF_MODE_STREAM keep no
   times: PROF_ERROR_UNSUPPORTED. Files without the implementation declare it:
       prof_result prof_write_contexts(const prof_trace *trace, prof_sink out); */
#ifndef PROF_CONTEXTS_H
#define PROF_CONTEXTS_H

#if !PROF__BARE || !defined(PROF_IMPLEMENTATION)
#  error "contexts.h is for freestanding builds, behind prof.h and its implementation"
#endif

typedef struct prof_context_load { int64_t ns, longest_ns; uint64_t count; } prof_context_load;

/* A task has run where the row "CPU" has its site; an interrupt, where it has zones. What took no
   time by the clock does not count. */
static prof_context_load prof_context_sum(const prof__row *own, uint32_t site) {
    prof_context_load load = { 0, 0, 0 };
    int64_t times[2] = { 0, 0 };
    for (;;) {
        const prof__stretches *w = prof__stretch_from(site ? prof__trace.cpu : own, times[1]);
        int64_t ns;
        if (!w) return load;
        times[0] = w->start_ns;
        times[1] = w->end_ns;
        if (site && w->site != site + 256) continue;
        ns = prof__ran(own, times, false);
        load.ns += ns;
        load.longest_ns = PROF__MAX(load.longest_ns, ns);
        load.count++;
    }
}

/* In hundredths of a percent, both brought to what 64 bits can multiply. */
static uint64_t prof_context_share(uint64_t ns, uint64_t whole) {
    while (whole >> 32) {
        ns >>= 1;
        whole >>= 1;
    }
    if (!whole) return 0;
    ns = ns * 10000 + whole / 2;
    (void)prof__divide(&ns, (uint32_t)whole);
    return ns;
}

static void prof_context_line(prof__out *o, prof_context_load load, int64_t whole) {
    uint64_t percent = prof_context_share((uint64_t)load.ns, (uint64_t)whole);
    uint64_t rest = prof__divide(&percent, 100);
    prof__out_f(o, ": %u.%s%u", percent, rest < 10 ? "0" : "", rest);
    prof__out_text(o, " % of the core, ");
    prof__out_f(o, "%t us", load.ns);
    if (load.count)
        prof__out_f(o, ", %u times, at most %t us at once", load.count, load.longest_ns);
    prof__out_text(o, "\n");
}

static void prof_context_name(prof__out *o, prof__row *row, bool task) {
    prof__context_name(row);
    prof__out_f(o, "%s%s", task ? "Task " : "Interrupt ", row->name);
    if (!row->name[0]) prof__out_u64(o, row->info.id);
}

/* Several tasks of one name, one after the other, are one. */
static bool prof_context_told(const prof__row *row, uint32_t site) {
    const prof__row *before = prof__trace.rows;
    while (before != row && (!site || prof__row_state(before)->none.site_depth != site))
        before = before->next;
    return before != row;
}

prof_result prof_write_contexts(const prof_trace *trace, prof_sink out);
prof_result prof_write_contexts(const prof_trace *trace, prof_sink out) {
    const struct prof_trace *s = &prof__trace;
    prof__out o;
    prof_context_load rest = { 0, 0, 0 };
    int64_t whole;
    if (!trace || s->open || !out.write) return PROF_ERROR_INVALID;
    if (prof__mode() == PROF_MODE_AGGREGATE || prof__mode() == PROF_MODE_STREAM)
        return PROF_ERROR_UNSUPPORTED;
    prof__queries_open(s);
    prof__out_open(&o, out);
    rest.ns = whole = prof__ticks_ns(s->time);
    for (prof__row *row = s->rows; row; row = row->next) {
        uint32_t site = prof__row_is_cpu(row) ? 0 : prof__row_state(row)->none.site_depth;
        prof_context_load load;
        if ((!site && !prof__row_interrupts(row)) || prof_context_told(row, site)) continue;
        load = prof_context_sum(row, site);
        if (!load.count) continue;
        rest.ns -= load.ns;
        prof_context_name(&o, row, site != 0);
        prof_context_line(&o, load, whole);
    }
    if (rest.ns > 0) {
        prof__out_text(&o, "What is neither task nor interrupt");
        prof_context_line(&o, rest, whole);
    }
    return prof__out_close(&o);
}
#endif
