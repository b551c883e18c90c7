/* How much an op computes and moves: see amounts.h. */
#include "analysis/amounts.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

/* ---- Types of numbers ---- */

static const struct { const char *name; dtype type; } dtype_names[] = {
    {"float", DTYPE_FP32}, {"float32", DTYPE_FP32}, {"fp32", DTYPE_FP32}, {"double", DTYPE_FP64},
    {"float64", DTYPE_FP64}, {"fp64", DTYPE_FP64}, {"tf32", DTYPE_TF32},
    {"c10::bfloat16", DTYPE_BF16}, {"bfloat16", DTYPE_BF16}, {"bf16", DTYPE_BF16},
    {"c10::half", DTYPE_FP16}, {"half", DTYPE_FP16}, {"float16", DTYPE_FP16},
    {"fp16", DTYPE_FP16}, {"fp8", DTYPE_FP8}, {"float8", DTYPE_FP8},
    {"c10::float8_e4m3fn", DTYPE_FP8}, {"c10::float8_e5m2", DTYPE_FP8},
    {"c10::float8_e4m3fnuz", DTYPE_FP8}, {"c10::float8_e5m2fnuz", DTYPE_FP8},
    {"signed char", DTYPE_INT8}, {"unsigned char", DTYPE_INT8}, {"int8", DTYPE_INT8},
    {"uint8", DTYPE_INT8}, {"c10::qint8", DTYPE_INT8}, {"c10::quint8", DTYPE_INT8},
    {"short", DTYPE_INT16}, {"short int", DTYPE_INT16}, {"int16", DTYPE_INT16},
    {"int", DTYPE_INT32}, {"int32", DTYPE_INT32}, {"c10::qint32", DTYPE_INT32},
    {"long", DTYPE_INT64}, {"long int", DTYPE_INT64}, {"long long", DTYPE_INT64},
    {"int64", DTYPE_INT64}, {"bool", DTYPE_BOOL}, {"c10::complex<float>", DTYPE_COMPLEX64},
    {"complex64", DTYPE_COMPLEX64}, {"c10::complex<double>", DTYPE_COMPLEX128},
    {"complex128", DTYPE_COMPLEX128}
};

dtype dtype_parse(const char *name) {
    char lower[64];
    size_t size = 0;
    for (; name[size] && size + 1 < sizeof lower; size++)
        lower[size] = (char)tolower((unsigned char)name[size]);
    lower[size] = '\0';
    const char *text = strncmp(lower, "torch.", 6) == 0 ? lower + 6 : lower;
    for (size_t i = 0; i < sizeof dtype_names / sizeof *dtype_names; i++)
        if (strcmp(text, dtype_names[i].name) == 0) return dtype_names[i].type;
    return DTYPE_NONE;
}

const char *dtype_name(dtype type) {
    static const char *const names[] = {
        "?", "fp64", "fp32", "tf32", "bf16", "fp16", "fp8", "int8", "int16", "int32", "int64",
        "bool", "complex64", "complex128"
    };
    return names[type];
}

static unsigned dtype_size(dtype type) {
    static const unsigned char sizes[] = {0, 8, 4, 4, 2, 2, 1, 1, 2, 4, 8, 1, 8, 16};
    return sizes[type];
}

/* Words of kernels' names; bf16 before f16, which is part of it. */
dtype dtype_of_kernel(const char *kernel, dtype op) {
    static const struct { const char *word; dtype type; } words[] = {
        {"e4m3", DTYPE_FP8}, {"e5m2", DTYPE_FP8}, {"fp8", DTYPE_FP8}, {"bfloat16", DTYPE_BF16},
        {"BFloat16", DTYPE_BF16}, {"bf16", DTYPE_BF16}, {"float16", DTYPE_FP16},
        {"f16", DTYPE_FP16}, {"fp16", DTYPE_FP16}, {"Half", DTYPE_FP16}, {"h884", DTYPE_FP16},
        {"hgemm", DTYPE_FP16}, {"tf32", DTYPE_TF32}, {"s1688gemm", DTYPE_TF32},
        {"dgemm", DTYPE_FP64}, {"double", DTYPE_FP64}, {"sgemm", DTYPE_FP32},
        {"float", DTYPE_FP32}, {"f32", DTYPE_FP32}
    };
    bool tf32 = strstr(kernel, "tf32") || strstr(kernel, "_s1688gemm_1") ||
                strstr(kernel, "_s1688gemm_2") || strstr(kernel, "_s1688gemm_6");
    if (op != DTYPE_NONE) return op == DTYPE_FP32 && tf32 ? DTYPE_TF32 : op;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(kernel, words[i].word)) return words[i].type;
    return DTYPE_NONE;
}

/* ---- An op's inputs ---- */

prof_shape shape_read(arena *memory, trace_text json) {
    prof_shape shape = {0};
    trace_text rest = json, key, item;
    uint32_t count = 0;
    bool nested = false;
    if (json.size == 0 || *json.data != '[') return shape;
    for (; json_next(&rest, &key, &item); count++) nested |= *item.data == '[';
    if (count == 0) return shape;
    prof_shape *items = nested ? arena_allocate(memory, count * sizeof *items) : NULL;
    int64_t *dims = nested ? NULL : arena_allocate(memory, count * sizeof *dims);
    for (rest = json; json_next(&rest, &key, &item); shape.count++) {
        if (nested) items[shape.count] = shape_read(memory, item);
        else if (!json_int(item, &dims[shape.count])) dims[shape.count] = 0;
    }
    shape.dims = dims;
    shape.items = items;
    return shape;
}

enum { MOST_INPUTS = 24 };

typedef struct op_inputs {
    const prof_shape *shapes;
    uint32_t count, concrete_count;
    dtype types[MOST_INPUTS];
    bool is_list[MOST_INPUTS];               /* a TensorList: shapes[i].items */
    bool is_tensor[MOST_INPUTS];
    char concrete[MOST_INPUTS][64];          /* as text; "" for tensors */
} op_inputs;

static void read_types(op_inputs *in, trace_text types) {
    trace_text rest = types, key, item;
    char name[64];
    for (uint32_t i = 0; i < MOST_INPUTS && json_next(&rest, &key, &item); i++) {
        if (*item.data == '[') json_next(&item, &key, &item);       /* newer lists: of types */
        json_decode(item, name, sizeof name);
        in->types[i] = dtype_parse(name);
        in->is_list[i] = strcmp(name, "TensorList") == 0 ||
                         (i < in->count && in->shapes[i].items != NULL);
        in->is_tensor[i] = in->is_list[i] || in->types[i] != DTYPE_NONE;
    }
}

/* What an op's event says of its inputs, and of its amounts, as JSON texts; and the op. */
enum { OP, DIMS, TYPES, CONCRETE, FLOPS, GB, OP_TEXTS };
typedef struct op_texts { trace_text of[OP_TEXTS]; } op_texts;

static void read_inputs(op_inputs *in, arena *memory, const op_texts *texts) {
    trace_text key, item, rest = texts->of[CONCRETE];
    memset(in, 0, sizeof *in);
    prof_shape all = shape_read(memory, texts->of[DIMS]);
    in->shapes = all.items;
    in->count = all.items ? all.count : 0;
    if (in->count > MOST_INPUTS) in->count = MOST_INPUTS;
    read_types(in, texts->of[TYPES]);
    while (in->concrete_count < MOST_INPUTS && json_next(&rest, &key, &item))
        json_decode(item, in->concrete[in->concrete_count++], sizeof in->concrete[0]);
}

static uint64_t elements(const prof_shape *shape) {
    uint64_t sum = 0, product = 1;
    for (uint32_t i = 0; i < shape->count; i++) {
        if (shape->items) sum += elements(&shape->items[i]);
        else if (shape->dims[i] < 0 || shape->dims[i] > INT32_MAX) return 0;
        else if ((product *= (uint64_t)shape->dims[i]) > (uint64_t)1 << 48) return 0;
    }
    return shape->items ? sum : product;
}

/* The type of the largest tensor; integers only where there is nothing else. */
static dtype largest_type(const op_inputs *in) {
    dtype best = DTYPE_NONE;
    uint64_t most = 0;
    for (uint32_t i = 0; i < in->count; i++) {
        uint64_t size = in->types[i] ? elements(&in->shapes[i]) : 0;
        if (size <= most) continue;
        most = size;
        best = in->types[i];
    }
    return best;
}

static uint64_t input_bytes(const op_inputs *in, dtype unknown) {
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < in->count; i++) {
        dtype type = in->types[i] ? in->types[i] : unknown;
        if (in->is_tensor[i]) bytes += elements(&in->shapes[i]) * dtype_size(type);
    }
    return bytes;
}

/* ---- Convolutions: where each op has its parameters ---- */

typedef struct convolution {
    const char *op;
    /* inputs by position; -1: it has none */
    int8_t stride, padding, dilation, transposed, groups, mask;
    int8_t image, weight, output;            /* output: the gradient's, which has its shape */
} convolution;

static const convolution convolutions[] = {
    {"convolution", 3, 4, 5, 6, 8, -1, 0, 1, -1},
    {"_convolution", 3, 4, 5, 6, 8, -1, 0, 1, -1},
    {"convolution_overrideable", 3, 4, 5, 6, 8, -1, 0, 1, -1},
    {"convolution_backward", 4, 5, 6, 7, 9, 10, 1, 2, 0},
    {"convolution_backward_overrideable", 4, 5, 6, 7, 9, 10, 1, 2, 0},
    {"cudnn_convolution", 3, 2, 4, -1, 5, -1, 0, 1, -1},
    {"cudnn_convolution_relu", 3, 4, 5, -1, 6, -1, 0, 1, -1},
    {"cudnn_convolution_transpose", 4, 2, 5, -1, 6, -1, 0, 1, -1},
    {"miopen_convolution", 4, 3, 5, -1, 6, -1, 0, 1, -1},
    {"miopen_depthwise_convolution", 4, 3, 5, -1, 6, -1, 0, 1, -1},
    {"mkldnn_convolution", 4, 3, 5, -1, 6, -1, 0, 1, -1},
    {"_slow_conv2d_forward", 4, 5, -1, -1, -1, -1, 0, 1, -1},
    {"thnn_conv2d", 4, 5, -1, -1, -1, -1, 0, 1, -1},
    {"slow_conv3d_forward", 4, 5, -1, -1, -1, -1, 0, 1, -1},
    {"_conv_depthwise2d", 4, 5, 6, -1, -1, -1, 0, 1, -1},
    {"conv_depthwise3d", 4, 5, 6, -1, -1, -1, 0, 1, -1},
    {"conv1d", 3, 4, 5, -1, 6, -1, 0, 1, -1},
    {"conv2d", 3, 4, 5, -1, 6, -1, 0, 1, -1},
    {"conv3d", 3, 4, 5, -1, 6, -1, 0, 1, -1},
    {"conv_transpose1d", 3, 4, 7, -1, 6, -1, 0, 1, -1},
    {"conv_transpose2d", 3, 4, 7, -1, 6, -1, 0, 1, -1},
    {"conv_transpose3d", 3, 4, 7, -1, 6, -1, 0, 1, -1}
};

static const convolution *convolution_find(const char *op) {
    for (size_t i = 0; i < sizeof convolutions / sizeof *convolutions; i++)
        if (strcmp(op, convolutions[i].op) == 0) return &convolutions[i];
    return NULL;
}

static const char *concrete(const op_inputs *in, int position) {
    return position >= 0 && (uint32_t)position < in->concrete_count ? in->concrete[position] : "";
}

/* "[2, 2]" as a list of numbers. */
static prof_shape number_list(arena *memory, const char *text) {
    prof_shape list = {0};
    int64_t *dims = arena_allocate(memory, 8 * sizeof *dims);
    for (const char *p = text; *p && list.count < 8; p++) {
        if (!isdigit((unsigned char)*p) && *p != '-') continue;
        char *end;
        dims[list.count++] = strtoll(p, &end, 10);
        p = end - 1;
    }
    list.dims = dims;
    return list;
}

static bool is_true(const char *text) {
    return strcmp(text, "True") == 0 || strcmp(text, "1") == 0;
}

static prof_flops_desc convolution_desc(const convolution *c, const op_inputs *in, arena *memory) {
    prof_flops_desc desc = {
        .stride = number_list(memory, concrete(in, c->stride)),
        .padding = number_list(memory, concrete(in, c->padding)),
        .dilation = number_list(memory, concrete(in, c->dilation)),
        .transposed = is_true(concrete(in, c->transposed)),
        .groups = strtoll(concrete(in, c->groups), NULL, 10)
    };
    const char *mask = concrete(in, c->mask);          /* "[True, False, True]" */
    desc.no_grad_input = mask[0] == '[' && (mask[1] == 'F' || mask[1] == '0');
    const char *second = strchr(mask, ',');
    desc.no_grad_weight = second && (second[1 + (second[1] == ' ')] == 'F' ||
                                     second[1 + (second[1] == ' ')] == '0');
    return desc;
}

/* Elements of the result: of a convolution by its FLOPs, 2 for each, weight element and group. */
static uint64_t convolution_output(const op_inputs *in, const convolution *c, uint64_t flops,
                                   bool transposed) {
    if (c->output >= 0 || in->count < 2) return 0;
    const prof_shape *weight = &in->shapes[c->weight], *image = &in->shapes[c->image];
    if (transposed || weight->count < 3 || image->count < 3) return 0;
    uint64_t each = elements(weight) / (uint64_t)(weight->dims[0] ? weight->dims[0] : 1);
    return each ? flops / 2 / each : 0;
}

static uint64_t matmul_output(const char *op, const op_inputs *in) {
    int first = strcmp(op, "mm") == 0 || strcmp(op, "bmm") == 0 || strcmp(op, "_scaled_mm") == 0
                    ? 0 : strcmp(op, "addmm") == 0 || strcmp(op, "baddbmm") == 0 ? 1 : -1;
    if (first < 0 || in->count < (uint32_t)first + 2) return 0;
    const prof_shape *a = &in->shapes[first], *b = &in->shapes[first + 1];
    if (a->items || b->items || a->count < 2 || b->count != a->count) return 0;
    uint64_t inner = (uint64_t)a->dims[a->count - 1];
    return inner ? elements(a) / inner * (uint64_t)b->dims[b->count - 1] : 0;
}

/* ---- Amounts ---- */

static amount work_out(amounts *all, const char *op, const op_inputs *in) {
    amount result = {0};
    const convolution *c = convolution_find(op);
    prof_flops_desc desc = {0};
    if (c) desc = convolution_desc(c, in, &all->scratch);
    desc.with_flops = all->with_flops;
    if (in->count) result.flops = prof_flops(op, in->shapes, in->count, &desc);
    dtype type = largest_type(in);
    result.dtype = (uint8_t)type;
    uint64_t produced = result.flops == 0 ? 0 :
                      c ? convolution_output(in, c, result.flops, desc.transposed)
                        : matmul_output(op, in);
    result.bytes = input_bytes(in, type ? type : DTYPE_FP32) + produced * dtype_size(type);
    return result;
}

static amount amount_of(amounts *all, const op_texts *texts) {
    char name[256];
    op_inputs in;
    snprintf(name, sizeof name, "%.*s", (int)texts->of[OP].size, texts->of[OP].data);
    read_inputs(&in, &all->scratch, texts);
    amount result = work_out(all, strncmp(name, "aten::", 6) == 0 ? name + 6 : name, &in);
    double told;
    if (texts->of[FLOPS].size && json_double(texts->of[FLOPS], &told) && told >= 1 && told < 1e19)
        result.flops = (uint64_t)told;
    if (texts->of[GB].size && json_double(texts->of[GB], &told) && told > 0 && told < 1e10)
        result.bytes = (uint64_t)(told * 1e9 + 0.5);
    arena_free(&all->scratch);
    return result;
}

static bool same_texts(const void *things, uint32_t number, const void *thing) {
    const op_texts *one = (const op_texts *)things + number, *other = thing;
    for (int i = 0; i < OP_TEXTS; i++) {
        trace_text a = one->of[i], b = other->of[i];
        if (a.size != b.size || (a.size && memcmp(a.data, b.data, a.size) != 0)) return false;
    }
    return true;
}

static void add_texts(amounts *all, const op_texts *texts) {
    GROW(all->texts, all->count, all->text_capacity);
    GROW(all->list, all->count, all->capacity);
    all->list[all->count] = (amount){0};
    for (int i = 0; i < OP_TEXTS; i++) {
        trace_text text = texts->of[i];
        text.data = arena_text(&all->memory, text.data, text.size);
        all->texts[all->count].of[i] = text;
    }
    all->count++;
}

static uint32_t amounts_put(amounts *all, const op_texts *texts) {
    uint64_t hash = 0;
    for (int i = 0; i < OP_TEXTS; i++)
        hash = hash_mix(hash) * 31 + hash_bytes(texts->of[i].data, texts->of[i].size);
    uint32_t number = number_of_thing(&all->numbers, hash, all->texts, texts, same_texts);
    if (number == all->count) {
        add_texts(all, texts);
        all->list[number] = amount_of(all, texts);
    }
    return number;
}

static trace_text argument(const trace_event *event, const char *name) {
    const trace_member *arg = trace_arg(event, name);
    return arg ? arg->value : (trace_text){"", 0};
}

uint32_t amounts_add(amounts *all, const char *op, const trace_event *event) {
    const trace_member *shapes = trace_shapes(event);
    op_texts none = {{{"", 0}}}, texts = {{
        op ? (trace_text){op, strlen(op)} : event->name,
        shapes ? shapes->value : (trace_text){"", 0}, argument(event, KEY_DTYPES),
        argument(event, KEY_CONCRETE), argument(event, KEY_FLOPS),
        argument(event, "kernel_num_gb")
    }};
    if (!all->count) amounts_put(all, &none);    /* number 0 */
    if (!texts.of[FLOPS].size) texts.of[FLOPS] = argument(event, "kernel_flop");
    bool any = texts.of[DIMS].size || texts.of[FLOPS].size || texts.of[GB].size;
    return any ? amounts_put(all, &texts) : 0;
}

uint32_t amounts_rename(amounts *all, uint32_t number, const char *op) {
    op_texts texts = all->texts[number];
    texts.of[OP] = (trace_text){op, strlen(op)};
    return amounts_put(all, &texts);
}

/* Whole words: "convert" is no convolution, "baddbmm" no bmm. */
const char *op_of_kernel(const char *kernel) {
    static const struct { const char *word, *op; } words[] = {
        {"baddbmm", "baddbmm"}, {"addmm", "addmm"}, {"_bmm", "bmm"}, {"bmm_", "bmm"},
        {"_mm", "mm"}
    };
    for (const char *p = kernel; (p = strstr(p, "conv")); p++)
        if (strncmp(p, "convert", 7) != 0) return "convolution";
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        const char *p = strstr(kernel, words[i].word);
        if (p && !isalpha((unsigned char)p[strlen(words[i].word)])) return words[i].op;
        if (p && i < 2) return words[i].op;
    }
    return NULL;
}

void amounts_free(amounts *all) {
    free(all->numbers.slots);
    free(all->texts);
    arena_free(&all->memory);
    arena_free(&all->scratch);
    free(all->list);
    memset(all, 0, sizeof *all);
}
