/* Collectives of several ranks: see collectives.h. */
#include "analysis/collectives.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/busy.h"
#include "trace/trace.h"

typedef struct collective_kernel {
    int64_t begin_ns, end_ns;
    int64_t seq, bytes, group_size;
    uint32_t name, process_group, place;
    uint32_t group;              /* in texts: process group, its ranks and the name as one */
    bool has_seq, sends;
    int64_t peer;                /* the rank that a send or receive names; COLLECTIVE_UNKNOWN */
    /* of an all-to-all that tells how it splits what it sends (0) and receives (1): */
    uint32_t splits[2], ranks;   /* in texts; UINT32_MAX: unknown */
    int64_t whole[2], size;      /* elements in all, and the bytes of one */
} collective_kernel;

typedef struct collective_file { size_t end; int64_t base_ns; } collective_file;   /* of kernels */

/* ---- What a kernel tells ---- */

/* The text in lower case, without `_`, and `-`, which XLA writes for it. */
static void plain_name(const char *text, size_t length, char *plain, size_t size) {
    size_t used = 0;
    for (size_t i = 0; i < length && used + 1 < size; i++)
        if (text[i] != '_' && text[i] != '-') plain[used++] = lower_case(text[i]);
    plain[used] = '\0';
}

/* The argument's text as one word, whatever function of PyTorch called it. */
static void one_word(char *name) {
    static const char *const words[][2] = {
        {"allgatherbase", "allgather"}, {"allgatherintotensor", "allgather"},
        {"reducescatterbase", "reducescatter"}, {"reducescattertensor", "reducescatter"},
        {"alltoallv", "alltoall"}, {"alltoallbase", "alltoall"}
    };
    static const char coalesced[] = "coalesced";
    size_t size = strlen(name), tail = sizeof coalesced - 1;
    if (size > tail && strcmp(name + size - tail, coalesced) == 0) name[size - tail] = '\0';
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strcmp(name, words[i][0]) == 0) strcpy(name, words[i][1]);
}

static bool is_one_of(const char *name, const char *const *words) {
    while (*words && strcmp(name, *words) != 0) words++;
    return *words != NULL;
}

static int64_t dtype_bytes(const char *name) {
    static const char *const one[] = {"Byte", "Char", "Bool", "QInt8", "INT8", "UINT8", NULL};
    static const char *const two[] = {"Short", "Half", "BFloat16", "UInt16", "INT16", "UINT16",
                                      "FP16", "BFP16", NULL};
    static const char *const four[] = {"Int", "Float", "UInt32", "ComplexHalf", "INT32", "UINT32",
                                       "FP32", NULL};
    static const char *const eight[] = {"Long", "Double", "UInt64", "ComplexFloat", "INT64",
                                        "UINT64", "FP64", NULL};
    if (is_one_of(name, one) || strncmp(name, "Float8_", 7) == 0) return 1;
    if (is_one_of(name, two)) return 2;
    if (is_one_of(name, four)) return 4;
    if (is_one_of(name, eight)) return 8;
    return strcmp(name, "ComplexDouble") == 0 ? 16 : 0;
}

/* The whole of what is exchanged, as nccl-tests counts it. */
static int64_t bytes_of(const trace_event *event, const char *name) {
    static const char *const outward[] = {"allgather", "gather", "recv", NULL};
    char dtype[32];
    int64_t count, size, bytes = 0;
    if (strcmp(name, "barrier") == 0) return COLLECTIVE_UNKNOWN;
    if (!trace_arg_int(event, is_one_of(name, outward) ? "Out msg nelems" : "In msg nelems",
                       &count)) return COLLECTIVE_UNKNOWN;
    if (!trace_arg_text(event, "dtype", dtype, sizeof dtype)) return COLLECTIVE_UNKNOWN;
    size = dtype_bytes(dtype);
    bool known = count >= 0 && size && !__builtin_mul_overflow(count, size, &bytes);
    return known ? bytes : COLLECTIVE_UNKNOWN;
}

/* Of Ascend, which counts the elements that one rank has. Of an all-to-all that is no whole. */
static int64_t hcom_bytes(const trace_event *event, const char *name, int64_t ranks) {
    static const char *const parts[] = {"allgather", "reducescatter", NULL};
    char dtype[32];
    int64_t bytes, times = is_one_of(name, parts) ? ranks : 1;
    bool known = strcmp(name, "alltoall") != 0 && times > 0 &&
                 trace_arg_int(event, "count", &bytes) && bytes >= 0 &&
                 trace_arg_text(event, "data_type", dtype, sizeof dtype) && dtype_bytes(dtype) &&
                 !__builtin_mul_overflow(bytes, dtype_bytes(dtype), &bytes) &&
                 !__builtin_mul_overflow(bytes, times, &bytes);
    return known ? bytes : COLLECTIVE_UNKNOWN;
}

/* Of what synchronizes: none of these can end on a rank before all have begun. */
static bool synchronizes(const char *name) {
    static const char *const words[] = {"allreduce", "allgather", "reducescatter", "alltoall",
                                        "barrier", "sendrecv", NULL};
    return is_one_of(name, words);
}

double collective_factor(const char *name, int64_t n) {
    static const char *const parts[] = {"allgather", "reducescatter", "alltoall", "gather",
                                        "scatter", NULL};
    static const char *const wholes[] = {"broadcast", "reduce", "send", "recv", "send-recv", NULL};
    if (is_one_of(name, wholes)) return 1;
    if (n < 1) return 0;
    double part = (double)(n - 1) / (double)n;
    return strcmp(name, "allreduce") == 0 ? 2 * part : is_one_of(name, parts) ? part : 0;
}

/* ---- A file ---- */

/* A text or number of the arguments, as it stands; "" if it is not there. */
static trace_text arg_json(const trace_event *event, const char *key) {
    const trace_member *arg = trace_arg(event, key);
    return arg ? arg->value : (trace_text){"", 0};
}

static uint32_t text_number(collectives *c, const trace_event *event, const char *key) {
    char text[256];
    trace_text json = arg_json(event, key);
    if (trace_arg_text(event, key, text, sizeof text)) return intern(&c->texts, text, strlen(text));
    return json.size ? intern(&c->texts, json.data, json.size) : UINT32_MAX;
}

/* Ranks of a group of thousands are a long text: its hash stands for it. */
static uint32_t group_of(collectives *c, const trace_event *event, const char *name) {
    trace_text group = arg_json(event, "Process Group Name");
    trace_text ranks = arg_json(event, "Process Group Ranks");
    char key[128];
    int size = snprintf(key, sizeof key, "%zu %llx %zu %llx %.64s", group.size,
                        (unsigned long long)hash_bytes(group.data, group.size), ranks.size,
                        (unsigned long long)hash_bytes(ranks.data, ranks.size), name);
    return intern(&c->texts, key, (size_t)size);
}

/* The number at an index of "[1, 2, 3]"; COLLECTIVE_UNKNOWN: it ends before that, or is cut. */
static int64_t number_at(const char *list, int64_t index) {
    for (const char *p = list + (*list == '['); ; p++) {
        char *end;
        int64_t number = strtoll(p, &end, 10);
        if (end == p) return COLLECTIVE_UNKNOWN;
        if (index-- == 0) return number;
        p = end;
        if (*p != ',') return COLLECTIVE_UNKNOWN;
    }
}

/* The index of a rank in its group; where the group is not told, the rank. */
static int64_t index_of(const char *ranks, int64_t rank) {
    int64_t index = 0, number = 0;
    if (!ranks) return rank;
    while ((number = number_at(ranks, index)) >= 0 && number != rank) index++;
    return number < 0 ? COLLECTIVE_UNKNOWN : index;
}

/* A send and its receive are one: of the pair of ranks that they name, or of a group of two. */
static const char *take_pair(collective_kernel *k, const trace_event *event, const char *name) {
    char ranks[4096];
    k->sends = strcmp(name, "send") == 0;
    if (!k->sends && strcmp(name, "recv") != 0) return name;
    bool told = trace_arg_int(event, k->sends ? "Dst Rank" : "Src Rank", &k->peer);
    if (!told) return k->group_size == 2 ? "send-recv" : name;
    if (trace_arg_text(event, "Process Group Ranks", ranks, sizeof ranks) &&
        index_of(ranks, k->peer) < 0 && number_at(ranks, k->peer) >= 0)
        k->peer = number_at(ranks, k->peer);              /* it is an index in the group */
    return "send-recv";
}

/* Ascend's "hcom_allReduce__305_880_1", by which all ranks know it: the group, and the number of
   the collective in it. */
static void take_hcom(collectives *c, collective_kernel *k, const trace_event *event,
                      const char *name) {
    char text[128], *rest;
    snprintf(text, sizeof text, "%.*s", (int)event->name.size, event->name.data);
    const char *group = strncmp(text, "hcom_", 5) == 0 ? strstr(text, "__") : NULL;
    size_t size = group ? strspn(group + 2, "0123456789") : 0;
    if (!size || group[2 + size] != '_') return;
    k->seq = strtoll(group + 2 + size + 1, &rest, 10);
    k->has_seq = rest > group + 2 + size + 1;
    k->process_group = intern(&c->texts, group + 2, size);
    k->bytes = hcom_bytes(event, name, k->group_size);
    char key[192];
    int length = snprintf(key, sizeof key, "hcom %.*s %s", (int)size, group + 2, name);
    k->group = intern(&c->texts, key, (size_t)length);
}

static void take_splits(collectives *c, collective_kernel *k, const trace_event *event) {
    char dtype[32];
    k->splits[0] = text_number(c, event, "In split size");
    k->splits[1] = text_number(c, event, "Out split size");
    k->ranks = text_number(c, event, "Process Group Ranks");
    if (trace_arg_text(event, "dtype", dtype, sizeof dtype)) k->size = dtype_bytes(dtype);
    bool known = k->size && trace_arg_int(event, "In msg nelems", &k->whole[0]) &&
                 trace_arg_int(event, "Out msg nelems", &k->whole[1]);
    if (!known) k->splits[0] = UINT32_MAX;
}

void collectives_take_zone(collectives *c, const trace_event *event, uint32_t place) {
    uint32_t name = intern(&c->texts, event->name.data, event->name.size);
    c->zone = name + 1;
    GROW(c->kernels, c->kernel_count, c->kernel_capacity);
    c->kernels[c->kernel_count++] = (collective_kernel){
        .begin_ns = event->ts_ns, .end_ns = event->ts_ns + event->dur_ns,
        .bytes = COLLECTIVE_UNKNOWN, .group_size = COLLECTIVE_UNKNOWN, .name = name, .group = name,
        .place = place,
        .process_group = UINT32_MAX, .peer = COLLECTIVE_UNKNOWN, .splits = {UINT32_MAX, UINT32_MAX}
    };
}

void collectives_take(collectives *c, const trace_event *event, uint32_t place) {
    char name[64];
    const trace_member *told = trace_arg(event, "Collective name");
    const char *shown = told ? name : work_collective(event->name);
    if (told) {
        char text[256];
        if (!trace_arg_text(event, "Collective name", text, sizeof text)) return;
        plain_name(text, strlen(text), name, sizeof name);
        one_word(name);
    }
    if (!shown || !*shown) return;
    collective_kernel made = {
        .begin_ns = event->ts_ns, .end_ns = event->ts_ns + event->dur_ns,
        .bytes = bytes_of(event, shown), .group_size = COLLECTIVE_UNKNOWN,
        .process_group = text_number(c, event, "Process Group Name"),
        .peer = COLLECTIVE_UNKNOWN, .splits = {UINT32_MAX, UINT32_MAX}, .ranks = UINT32_MAX,
        .place = place
    };
    made.has_seq = trace_arg_int(event, "Seq", &made.seq);
    if (!trace_arg_int(event, "Group size", &made.group_size))
        trace_arg_int(event, "rank_size", &made.group_size);         /* Ascend's */
    shown = take_pair(&made, event, shown);
    made.name = intern(&c->texts, shown, strlen(shown));
    made.group = group_of(c, event, shown);
    take_hcom(c, &made, event, shown);
    if (strcmp(shown, "alltoall") == 0) take_splits(c, &made, event);
    GROW(c->kernels, c->kernel_count, c->kernel_capacity);
    c->kernels[c->kernel_count++] = made;
}

static bool kernel_before(uint32_t a, uint32_t b, const void *context) {
    const collective_kernel *kernels = context;
    return kernels[a].begin_ns < kernels[b].begin_ns;
}

static uint64_t mix(uint64_t a, uint64_t b) { return hash_mix(a) * 31 + b; }

static collective *collective_of(collectives *c, const collective_kernel *k, uint64_t key,
                                 bool *is_new) {
    size_t number = NUMBER_OF(&c->numbers, key, c->list, c->count, c->capacity, is_new);
    if (!*is_new) return &c->list[number];
    c->list[number] = (collective){
        .name = k->name, .process_group = k->process_group, .has_seq = k->has_seq, .seq = k->seq,
        .synchronizes = k->name + 1 == c->zone ||
                        synchronizes(interned_text(&c->texts, k->name)),
        .group_size = k->group_size, .bytes = k->bytes, .moved = COLLECTIVE_UNKNOWN
    };
    return &c->list[number];
}

/* Of an all-to-all ranks may have different sizes. */
static void join_bytes(const collectives *c, collective *to, int64_t bytes) {
    bool differ = strcmp(interned_text(&c->texts, to->name), "alltoall") == 0;
    if (differ && bytes > to->bytes) to->bytes = bytes;
    if (!differ && bytes != to->bytes) to->bytes = COLLECTIVE_UNKNOWN;
}

/* Adds what a rank sends to others and receives from them; of an uneven all-to-all. */
static void add_moved(const collectives *c, collective *to, const collective_kernel *k,
                      int64_t rank) {
    const char *ranks = k->ranks == UINT32_MAX ? NULL : interned_text(&c->texts, k->ranks);
    for (int way = 0; way < 2; way++) {
        if (k->splits[0] == UINT32_MAX || k->splits[1] == UINT32_MAX) return;
        int64_t own = number_at(interned_text(&c->texts, k->splits[way]), index_of(ranks, rank));
        if (own < 0 || own > k->whole[way] || k->whole[way] > INT64_MAX / 16) return;
        int64_t bytes = (k->whole[way] - own) * k->size;
        to->moved_sum[way] += (double)bytes;
        if (bytes > to->moved_most[way]) to->moved_most[way] = bytes;
        if (bytes > to->moved) to->moved = bytes;
    }
    to->moved_parts++;
}

double collective_imbalance(const collective *c) {
    double most = 0;
    for (int way = 0; way < 2; way++) {
        double mean = c->moved_parts ? c->moved_sum[way] / c->moved_parts : 0;
        if (mean > 0 && (double)c->moved_most[way] / mean > most)
            most = (double)c->moved_most[way] / mean;
    }
    return most;
}

static int by_place(const void *one, const void *other) {
    const collective_kernel *a = one, *b = other;
    return (a->place > b->place) - (a->place < b->place);
}

void collectives_end_file(collectives *c, int64_t base_ns, uint32_t ranks) {
    size_t end = c->file_count ? c->files[c->file_count - 1].end : 0;
    if (ranks > 1 && c->kernel_count > end)
        qsort(c->kernels + end, c->kernel_count - end, sizeof *c->kernels, by_place);
    for (uint32_t place = 0; place < ranks; place++) {
        while (end < c->kernel_count && c->kernels[end].place == place) end++;
        GROW(c->files, c->file_count, c->file_capacity);
        c->files[c->file_count++] = (collective_file){end, base_ns};
    }
}

/* counts: of a rank's kernels of a group and Seq; without Seq, of one window. */
static void join_file(collectives *c, uint32_t file, const collective_owner *of, map *counts) {
    size_t begin = file ? c->files[file - 1].end : 0, count = c->files[file].end - begin;
    const collective_kernel *kernels = c->kernels + begin;
    int64_t base_ns = c->files[file].base_ns;
    map indices = {0};                           /* of a group */
    uint32_t *order = sorted_numbers(count, kernel_before, kernels);
    for (size_t i = 0; i < count; i++) {
        const collective_kernel *k = &kernels[order[i]];
        bool is_new;
        uint64_t key = mix(mix(k->group, k->has_seq), (uint64_t)k->seq);
        if (!k->has_seq) key = mix(key, of->window);
        if (k->peer >= 0) key = mix(mix(key, (uint64_t)(k->sends ? of->rank : k->peer)),
                                    (uint64_t)(k->sends ? k->peer : of->rank));
        uint32_t index = (uint32_t)(*map_put(&indices, k->group, &is_new))++;
        uint64_t occurrence = (*map_put(counts, mix(key, of->owner), &is_new))++;
        collective *to = collective_of(c, k, mix(key, occurrence), &is_new);
        if (!is_new) join_bytes(c, to, k->bytes);
        if (to->group_size < 0) to->group_size = k->group_size;
        add_moved(c, to, k, of->rank);
        GROW(c->parts, c->part_count, c->part_capacity);
        c->parts[c->part_count++] = (collective_part){
            k->begin_ns + base_ns, k->end_ns + base_ns, (uint32_t)(to - c->list), file, index
        };
    }
    free(order);
    map_free(&indices);
}

static bool owner_before(uint32_t a, uint32_t b, const void *context) {
    const collective_owner *owners = context, *x = &owners[a], *y = &owners[b];
    return x->owner != y->owner ? x->owner < y->owner : x->window < y->window;
}

void collectives_join(collectives *c, const collective_owner *owners) {
    uint32_t *order = sorted_numbers(c->file_count, owner_before, owners);
    map counts = {0};
    c->ends = allocate((c->file_count + 1) * sizeof *c->ends);
    for (uint32_t i = 0, owner = 0; i < c->file_count; i++) {
        for (; owner < owners[order[i]].owner; owner++) c->ends[owner] = c->part_count;
        join_file(c, order[i], &owners[order[i]], &counts);
        c->ends[owner] = c->part_count;
    }
    free(order);
    map_free(&counts);
}

/* ---- Clocks ---- */

static int by_size(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static int64_t median(int64_t *values, size_t count) {
    qsort(values, count, sizeof *values, by_size);
    return values[count / 2];
}

static const collective_part *parts_of(const collectives *c, uint32_t owner, size_t *count) {
    size_t begin = owner ? c->ends[owner - 1] : 0;
    *count = c->ends[owner] - begin;
    return c->parts + begin;
}

typedef struct end_pair { int64_t at_ns, apart_ns; } end_pair;       /* of a file and the first */

static int by_time(const void *a, const void *b) {
    const end_pair *x = a, *y = b;
    return (x->at_ns > y->at_ns) - (x->at_ns < y->at_ns);
}

/* How far they are from the line, which gets the median of that; the median of what is left. */
static int64_t fit_offset(const end_pair *ends, size_t count, clock_line *line) {
    int64_t *values = allocate(count * sizeof *values);
    line->add_ns = 0;
    for (size_t i = 0; i < count; i++)
        values[i] = ends[i].apart_ns - clock_add(line, ends[i].at_ns);
    line->add_ns = median(values, count);
    for (size_t i = 0; i < count; i++)
        values[i] = llabs(ends[i].apart_ns - clock_add(line, ends[i].at_ns));
    int64_t left_ns = median(values, count);
    free(values);
    return left_ns;
}

static int by_number(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The median of the slopes between each end of the first half and its like in the second one: some
   ends that are far off do not move it. */
static double slope(const end_pair *ends, size_t count) {
    size_t half = count / 2, used = 0;
    double *slopes = allocate((half + 1) * sizeof *slopes);
    for (size_t i = 0; i < half; i++) {
        const end_pair *a = &ends[i], *b = &ends[i + count - half];
        if (b->at_ns > a->at_ns)
            slopes[used++] = ((double)b->apart_ns - (double)a->apart_ns) /
                             ((double)b->at_ns - (double)a->at_ns);
    }
    if (used) qsort(slopes, used, sizeof *slopes, by_number);
    double middle = used ? slopes[used / 2] : 0;
    free(slopes);
    return middle;
}

/* Few ends always lie near a line. No clock is off by a hundredth. */
static clock_fit fit_clock(end_pair *ends, size_t count) {
    enum { ENOUGH = 20 };
    clock_fit flat = {.count = count}, drifts = flat;
    if (!count) return flat;
    flat.spread_ns = fit_offset(ends, count, &flat.line);
    if (count < ENOUGH) return flat;
    qsort(ends, count, sizeof *ends, by_time);
    int64_t first_ns = ends[0].at_ns, last_ns = ends[count - 1].at_ns;
    drifts.line = (clock_line){first_ns / 2 + last_ns / 2, 0, slope(ends, count)};
    if (!(drifts.line.rate > -0.01 && drifts.line.rate < 0.01)) return flat;
    drifts.spread_ns = fit_offset(ends, count, &drifts.line);
    return drifts.spread_ns < flat.spread_ns / 2 ? drifts : flat;
}

static bool sets_clocks(const collectives *c, const collective_part *part) {
    const collective *of = &c->list[part->collective];
    return of->synchronizes && (!c->zone || of->name + 1 == c->zone);
}

clock_fit collectives_clock(const collectives *c, uint32_t first, uint32_t file) {
    size_t ends, own, count = 0, first_has = 0, owner_has = 0;
    const collective_part *of_first = parts_of(c, first, &ends), *of_file = parts_of(c, file, &own);
    map end_of = {0};
    end_pair *apart = allocate((own + 1) * sizeof *apart);
    for (size_t i = 0; i < ends; i++) {
        if (!sets_clocks(c, &of_first[i])) continue;
        *map_put(&end_of, of_first[i].collective, NULL) = (uint64_t)of_first[i].end_ns;
        first_has++;
    }
    for (size_t i = 0; i < own; i++) {
        const uint64_t *end = map_get(&end_of, of_file[i].collective);
        owner_has += sets_clocks(c, &of_file[i]);
        if (end)
            apart[count++] = (end_pair){of_file[i].end_ns, (int64_t)*end - of_file[i].end_ns};
    }
    clock_fit fit = fit_clock(apart, count);
    fit.first_has = first_has;
    fit.owner_has = owner_has;
    map_free(&end_of);
    free(apart);
    return fit;
}

void collectives_free(collectives *c) {
    intern_free(&c->texts);
    map_free(&c->numbers);
    free(c->list);
    free(c->parts);
    free(c->ends);
    free(c->files);
    free(c->kernels);
}
