/* What is far from all other: see far_times.h. */
#include "input/far_times.h"

/* From one moment to a later one, which 64 bits may not hold. */
static uint64_t since(int64_t from_ns, int64_t to_ns) {
    return (uint64_t)to_ns - (uint64_t)from_ns;
}

static bool is_near(const far_group *g, int64_t ns) {
    uint64_t off = ns < g->first_ns ? since(ns, g->first_ns) : since(g->last_ns, ns);
    return (ns >= g->first_ns && ns <= g->last_ns) || off < FAR_YEAR_NS;
}

/* The group of a moment; of more than there are groups for, none. */
static far_group *group_at(far_times *t, int64_t ns, uint64_t where) {
    enum { GROUPS = sizeof t->groups / sizeof *t->groups };
    if (t->count && is_near(&t->groups[t->last], ns)) return &t->groups[t->last];
    for (unsigned i = 0; i < t->count; i++)
        if (is_near(&t->groups[i], ns)) return &t->groups[t->last = i];
    if (t->count == GROUPS) return NULL;
    t->last = t->count++;
    t->groups[t->last] = (far_group){ns, ns, INT64_MAX, 0, where};
    return &t->groups[t->last];
}

static far_group *note_moment(far_times *t, int64_t ns, uint64_t where) {
    far_group *g = group_at(t, ns, where);
    if (!g) return NULL;
    if (ns < g->first_ns) g->first_ns = ns;
    if (ns > g->last_ns) g->last_ns = ns;
    if (where < g->where) g->where = where;
    return g;
}

void far_note(far_times *t, int64_t start_ns, int64_t end_ns, uint64_t where) {
    if (start_ns == 0 && end_ns == 0) return;         /* it is judged by the others */
    far_group *begin = note_moment(t, start_ns, where), *end = note_moment(t, end_ns, where);
    if (end) end->count++;
    if (!begin) return;
    begin->count += begin != end;
    if (start_ns < begin->begin_ns) begin->begin_ns = start_ns;
}

const far_group *far_main(const far_times *t) {
    const far_group *most = t->count ? t->groups : NULL;
    for (unsigned i = 1; i < t->count; i++)
        if (t->groups[i].count > most->count) most = &t->groups[i];
    return most;
}

/* Of no length, and at 0: by so much. */
bool far_is(const far_times *t, int64_t start_ns, int64_t end_ns) {
    enum { SHORT_NS = 1000000000 };
    const far_group *g = far_main(t);
    if (!g) return false;
    if (start_ns == 0 && end_ns == 0)
        return g->first_ns > SHORT_NS && g->last_ns - g->first_ns < g->first_ns / 10;
    return !is_near(g, start_ns) || !is_near(g, end_ns);
}
