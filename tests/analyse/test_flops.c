/* portable */
/* prof_flops beyond what the vectors hold: names, parameters, and inputs that are no op's. */
#include "../test.h"

/* Up to four inputs as rows of dims; a row ends at -1, "no more" is a row that begins with -2. */
typedef int64_t inputs[4][6];

static uint64_t flops(const char *op, inputs rows, const prof_flops_desc *desc) {
    prof_shape shapes[4];
    uint32_t n = 0;
    memset(shapes, 0, sizeof shapes);
    for (; n < 4 && rows[n][0] != -2; n++) {
        shapes[n].dims = rows[n];
        while (rows[n][shapes[n].count] != -1) shapes[n].count++;
    }
    return prof_flops(op, shapes, n, desc);
}

static prof_shape shape(const int64_t *dims, uint32_t count) {
    prof_shape s;
    memset(&s, 0, sizeof s);
    s.dims = dims;
    s.count = count;
    return s;
}

static void test_flops_names(void) {
    inputs mm = {{2, 3, -1}, {3, 5, -1}, {-2}}, add = {{4, 6, -1}, {6, -1}, {-2}};
    prof_flops_desc small;
    memset(&small, 0, sizeof small);
    small.with_flops = true;
    EQUAL(flops("mm", mm, NULL), 60);
    EQUAL(flops("aten::mm", mm, NULL), 60);
    EQUAL(flops("aten::mm", mm, &small), 60);
    EQUAL(flops("aten::_scaled_mm", mm, &small), 0);
    EQUAL(flops("aten::add", add, &small), 24);
    EQUAL(flops("aten::add", add, NULL), 0);
    EQUAL(flops("aten::mm_backward", mm, NULL), 0);
    EQUAL(flops("mmm", mm, NULL), 0);
    EQUAL(flops("m", mm, NULL), 0);
    EQUAL(flops("", mm, NULL), 0);
    EQUAL(flops("aten::", mm, NULL), 0);
    EQUAL(flops("_backward", mm, NULL), 0);
    EQUAL(prof_flops(NULL, NULL, 3, NULL), 0);
    EQUAL(prof_flops("mm", NULL, 2, NULL), 0);
}

/* Each of a convolution's parameters, and where they come from. */
static void test_flops_convolution(void) {
    static const int64_t two[] = {2, 1}, one[] = {2}, result[] = {1, 8, 7, 9};
    inputs x = {{1, 4, 9, 9, -1}, {8, 4, 3, 3, -1}, {-2}};      /* 2 * 8 * 4 * 9 = 576 a place */
    inputs grouped = {{1, 4, 9, 9, -1}, {8, 2, 3, 3, -1}, {-2}};
    prof_shape output = shape(result, 4);
    prof_flops_desc d;
    memset(&d, 0, sizeof d);
    EQUAL(flops("convolution", x, &d), 576 * 7 * 7);
    d.padding = shape(two, 2);
    EQUAL(flops("convolution", x, &d), 576 * 11 * 9);
    d.stride = shape(one, 1);
    EQUAL(flops("convolution", x, &d), 576 * 6 * 5);
    d.dilation = shape(one, 1);
    EQUAL(flops("aten::conv2d", x, &d), 576 * 5 * 4);
    d.output = &output;
    EQUAL(flops("convolution", x, &d), 576 * 7 * 9);
    d.output = NULL;
    EQUAL(flops("convolution", grouped, &d), 288 * 5 * 4);
    d.groups = 2;
    EQUAL(flops("convolution", grouped, &d), 288 * 5 * 4);
    d.groups = 4;
    EQUAL(flops("convolution", grouped, &d), 0);
}

/* A gradient costs as much as the way forward, also where the convolution is transposed. */
static void test_flops_backward(void) {
    inputs forward = {{3, 4, 9, 9, -1}, {8, 2, 3, 2, -1}, {-2}};
    inputs backward = {{3, 8, 7, 8, -1}, {3, 4, 9, 9, -1}, {8, 2, 3, 2, -1}, {-2}};
    inputs wide = {{3, 8, 5, 5, -1}, {8, 2, 3, 2, -1}, {-2}};
    inputs wide_backward = {{3, 4, 7, 6, -1}, {3, 8, 5, 5, -1}, {8, 2, 3, 2, -1}, {-2}};
    uint64_t one, other;
    prof_flops_desc d;
    memset(&d, 0, sizeof d);
    one = flops("convolution", forward, &d);
    EQUAL(one, 2 * 3 * 56 * 8 * 2 * 6);
    EQUAL(flops("convolution_backward", backward, &d), 2 * one);
    d.transposed = true;
    other = flops("convolution", wide, &d);
    EQUAL(other, 2 * 3 * 25 * 8 * 2 * 6);
    EQUAL(flops("conv_transpose2d", wide, NULL), other);
    EQUAL(flops("convolution_backward", wide_backward, &d), 2 * other);
    d.no_grad_weight = true;
    EQUAL(flops("convolution_backward", wide_backward, &d), other);
    d.no_grad_input = true;
    EQUAL(flops("convolution_backward", wide_backward, &d), 0);
    EQUAL(flops("cudnn_convolution_backward", backward, NULL), 0);
}

static void test_flops_attention(void) {
    inputs qkv = {{2, 6, 5, 4, -1}, {2, 3, 7, 4, -1}, {2, 3, 7, 8, -1}, {-2}};   /* shared keys */
    inputs other_layout = {{2, 5, 6, 4, -1}, {2, 7, 3, 4, -1}, {2, 7, 3, 8, -1}, {-2}};
    inputs back = {{2, 6, 5, 8, -1}, {2, 6, 5, 4, -1}, {2, 3, 7, 4, -1}, {2, 3, 7, 8, -1}};
    uint64_t pairs = 2 * 2 * 6 * 5 * 7;
    EQUAL(flops("aten::_scaled_dot_product_flash_attention", qkv, NULL), pairs * 12);
    EQUAL(flops("scaled_dot_product_attention", qkv, NULL), pairs * 12);
    EQUAL(flops("aten::_flash_attention_forward", other_layout, NULL), pairs * 12);
    EQUAL(flops("_scaled_dot_product_fused_attention_overrideable_backward", back, NULL),
          pairs * (3 * 4 + 2 * 8));
    back[0][3] = 7;
    EQUAL(flops("_scaled_dot_product_flash_attention_backward", back, NULL), 0);
    qkv[1][1] = 4;
    EQUAL(flops("_scaled_dot_product_flash_attention", qkv, NULL), 0);
    qkv[1][1] = qkv[2][1] = 0;
    EQUAL(flops("_scaled_dot_product_flash_attention", qkv, NULL), 0);
}

static void test_flops_overflow(void) {
    const int64_t big = INT64_MAX;
    inputs mm = {{INT64_MAX, INT64_MAX, -1}, {INT64_MAX, 3, -1}, {-2}};
    inputs none = {{INT64_MAX, INT64_MAX, -1}, {INT64_MAX, 0, -1}, {-2}};
    inputs x = {{1, 1, 8, -1}, {1, 1, 8, -1}, {-2}};
    prof_flops_desc d;
    memset(&d, 0, sizeof d);
    CHECK(flops("mm", mm, NULL) == UINT64_MAX, "%llu", (unsigned long long)flops("mm", mm, NULL));
    EQUAL(flops("mm", none, NULL), 0);
    d.padding = shape(&big, 1);
    CHECK(flops("convolution", x, &d) == UINT64_MAX, "padding");
    d.dilation = shape(&big, 1);
    EQUAL(flops("convolution", x, &d), 0);
    d.stride = shape(&big, 1);
    d.dilation = shape(NULL, 0);
    EQUAL(flops("convolution", x, &d), 2 * 8 * 2);
}

/* Shapes that no op has: every answer is 0, and the sanitizers stay quiet. */
static void test_flops_bad_shapes(void) {
    static const char *const ops[] = {
        "mm", "addmm", "bmm", "baddbmm", "_scaled_mm", "convolution", "convolution_backward",
        "conv_transpose1d", "_scaled_dot_product_flash_attention", "_flash_attention_backward",
        "_scaled_dot_product_efficient_attention_backward"};
    static const int64_t negative[] = {2, -3, 4, 5};
    prof_shape list[4], bad[4];
    prof_flops_desc d;
    size_t i, n;
    memset(&d, 0, sizeof d);
    memset(list, 0, sizeof list);
    for (i = 0; i < 4; i++) bad[i] = shape(negative, 4);
    for (i = 0; i < 4; i++) {
        list[i].items = bad;
        list[i].count = 4;
    }
    for (i = 0; i < sizeof ops / sizeof ops[0]; i++) {
        for (n = 0; n <= 4; n++) {
            EQUAL(prof_flops(ops[i], bad, (uint32_t)n, NULL), 0);
            EQUAL(prof_flops(ops[i], list, (uint32_t)n, NULL), 0);
        }
        memset(bad, 0, sizeof bad);
        EQUAL(prof_flops(ops[i], bad, 4, NULL), 0);
        bad[0].count = bad[1].count = bad[2].count = bad[3].count = UINT32_MAX;   /* dims NULL */
        EQUAL(prof_flops(ops[i], bad, 4, NULL), 0);
        for (n = 0; n < 4; n++) bad[n] = shape(negative, 4);
    }
    d.with_flops = true;
    EQUAL(prof_flops("add", bad, 1, &d), 0);
    EQUAL(prof_flops("add", list, 1, &d), 0);
    EQUAL(prof_flops("conv2d", list, 2, &d), 0);
    EQUAL(prof_flops("conv2d", list, 0, &d), 0);
}

static void test_flops_bad_parameters(void) {
    static const int64_t minus[] = {-1, -1}, zero[] = {0, 0, 0}, ones[] = {1, 1};
    inputs x = {{1, 4, 9, 9, -1}, {8, 4, 3, 3, -1}, {-2}};
    inputs small = {{1, 4, 2, 2, -1}, {8, 4, 3, 3, -1}, {-2}};
    prof_flops_desc d, good;
    memset(&good, 0, sizeof good);
    good.stride = good.dilation = good.padding = shape(ones, 2);
    CHECK(flops("conv2d", x, &good) != 0, "good ones");
    d = good; d.stride = shape(zero, 2);
    EQUAL(flops("conv2d", x, &d), 0);
    d = good; d.stride = shape(minus, 2);
    EQUAL(flops("conv2d", x, &d), 0);
    d = good; d.padding = shape(minus, 2);
    EQUAL(flops("conv2d", x, &d), 0);
    d = good; d.padding = shape(zero, 3);
    EQUAL(flops("conv2d", x, &d), 0);
    d = good; d.dilation = shape(zero, 2);
    EQUAL(flops("conv2d", x, &d), 0);
    d = good; d.groups = -1;
    EQUAL(flops("conv2d", x, &d), 0);
    d = good; d.dilation = shape(NULL, 2);
    EQUAL(flops("conv2d", x, &d), flops("conv2d", x, &good));
    EQUAL(flops("conv2d", small, NULL), 0);
}

/* Inputs of the right number that do not go together. */
static void test_flops_misfits(void) {
    static struct { const char *op; inputs in; } cases[] = {
        { "aten::mm", {{2, -1}, {3, 5, -1}, {-2}} }, { "aten::mm", {{2, 3, -1}, {3, -1}, {-2}} },
        { "aten::mm", {{2, 3, -1}, {4, 5, -1}, {-2}} },
        { "aten::bmm", {{2, 3, 4, -1}, {3, 4, 5, -1}, {-2}} },
        { "aten::bmm", {{2, 3, 4, -1}, {2, 3, 5, -1}, {-2}} },
        { "aten::conv2d", {{1, 3, -1}, {4, 3, 3, 3, -1}, {-2}} },
        { "aten::convolution", {{1, 3, -1}, {4, 3, -1}, {-2}} },
        { "aten::convolution", {{1, 3, 8, 8, -1}, {4, 3, 3, -1}, {-2}} },
        { "aten::convolution", {{1, 4, 8, 8, -1}, {4, 3, 3, 3, -1}, {-2}} },
        { "aten::convolution", {{1, 3, 8, 8, -1}, {4, 0, 3, 3, -1}, {-2}} },
        { "aten::convolution", {{1, 3, 8, 8, -1}, {4, 3, 0, 3, -1}, {-2}} },
        { "aten::scaled_dot_product_x", {{2, 4, 8, -1}, {2, 4, 8, 16, -1}, {2, 4, 8, 16, -1}} },
        { "aten::scaled_dot_product_x", {{2, 4, 8, 16, -1}, {2, 8, 16, -1}, {2, 4, 8, 16, -1}} },
        { "aten::scaled_dot_product_x", {{2, 4, 8, 16, -1}, {2, 4, 8, 16, -1}, {2, 4, 8, -1}} },
        { "aten::scaled_dot_product_x", {{2, 4, 8, 16, -1}, {3, 4, 8, 16, -1}, {2, 4, 8, 16, -1}} },
        { "aten::scaled_dot_product_x", {{2, 4, 8, 16, -1}, {2, 4, 8, 16, -1}, {3, 4, 8, 16, -1}} },
        { "aten::scaled_dot_product_x", {{2, 4, 8, 16, -1}, {2, 4, 8, 16, -1}, {2, 2, 8, 16, -1}} },
        { "aten::scaled_dot_product_x", {{2, 4, 8, 16, -1}, {2, 4, 8, 16, -1}, {2, 4, 9, 16, -1}} },
        { "aten::scaled_dot_product_x", {{2, 4, 8, 16, -1}, {2, 4, 8, 15, -1}, {2, 4, 8, 16, -1}} },
        { "aten::scaled_dot_product_x", {{2, 4, 8, 16, -1}, {2, 3, 8, 16, -1}, {2, 3, 8, 16, -1}} },
        { "aten::scaled_dot_product_x", {{2, 4, 8, 16, -1}, {2, 0, 8, 16, -1}, {2, 0, 8, 16, -1}} }
    };
    inputs good = {{2, 4, 8, 16, -1}, {2, 2, 8, 16, -1}, {2, 2, 8, 16, -1}, {-2}};
    inputs conv = {{1, 3, 8, 8, -1}, {4, 3, 3, 3, -1}, {-2}};
    prof_flops_desc desc;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        if (strstr(cases[i].op, "scaled")) cases[i].in[3][0] = -2;
        CHECK(flops(cases[i].op, cases[i].in, NULL) == 0, "case %u", (unsigned)i);
    }
    EQUAL(flops("aten::scaled_dot_product_x", good, NULL), 2 * 2 * 4 * 8 * 8 * (16 + 16));
    memset(&desc, 0, sizeof desc);
    desc.groups = -1;
    EQUAL(flops("aten::convolution", conv, &desc), 0);
    desc.groups = 1;
    EQUAL(flops("aten::convolution", conv, &desc), 2 * 4 * 6 * 6 * 3 * 9);
    desc.groups = 3;
    EQUAL(flops("aten::convolution", conv, &desc), 0);
}

/* ---- Formulas of one's own ---- */

static char formula_args[64];

static uint64_t elements_twice(const prof_shape *in, uint32_t count, const prof_flops_desc *desc) {
    uint64_t n = 2;
    if (desc->concrete_inputs && count > 1)
        snprintf(formula_args, sizeof formula_args, "%s %s", desc->concrete_inputs[1],
                 desc->kwinputs ? desc->kwinputs : "");
    for (uint32_t i = 0; count && i < in->count; i++) n *= (uint64_t)in->dims[i];
    return count ? n : 0;
}

static uint64_t seven(const prof_shape *in, uint32_t count, const prof_flops_desc *desc) {
    (void)in;
    (void)count;
    (void)desc;
    return 7;
}

static void test_flops_register(void) {
    static char names[70][16];
    inputs mm = {{2, 3, -1}, {3, 5, -1}, {-2}};
    prof_result result = PROF_OK;
    prof_flops_desc small;
    memset(&small, 0, sizeof small);
    small.with_flops = true;
    EQUAL(flops("my::op", mm, NULL), 0);
    EQUAL(prof_flops_register("my::op", elements_twice), PROF_OK);
    EQUAL(flops("my::op", mm, NULL), 12);
    EQUAL(flops("my::op", mm, &small), 12);
    EQUAL(flops("my::op_backward", mm, NULL), 0);
    EQUAL(prof_flops_register("aten::mm", seven), PROF_OK);
    EQUAL(flops("mm", mm, NULL), 7);
    EQUAL(flops("aten::mm", mm, &small), 7);
    EQUAL(flops("bmm", mm, NULL), 0);
    EQUAL(prof_flops_register("mm", NULL), PROF_OK);
    EQUAL(flops("aten::mm", mm, NULL), 60);
    EQUAL(prof_flops_register("my::op", seven), PROF_OK);
    EQUAL(flops("my::op", mm, NULL), 7);
    EQUAL(prof_flops_register(NULL, seven), PROF_ERROR_INVALID);
    EQUAL(prof_flops_register("", seven), PROF_ERROR_INVALID);
    EQUAL(prof_flops_register("aten::", seven), PROF_ERROR_INVALID);
    for (int i = 0; i < 62; i++) {
        snprintf(names[i], sizeof names[i], "n%d", i);
        result = prof_flops_register(names[i], seven);
        CHECK(result == PROF_OK, "%d: %d", i, (int)result);
    }
    EQUAL(prof_flops_register("one more", seven), PROF_ERROR_MEMORY);
    EQUAL(flops("one more", mm, NULL), 0);
    EQUAL(prof_flops_register("my::op", elements_twice), PROF_OK);
}

/* In a session: a zone's shapes and inputs. */
static void test_flops_registered_zone(void) {
    static const int64_t dims[] = {4, 5};
    static const char *const concrete[] = {"", "3"};
    prof_shape in[2];
    prof_desc desc = test_desc();
    prof_trace *trace;
    prof_average row;
    in[0] = shape(dims, 2);
    in[1] = shape(NULL, 0);
    desc.with_flops = true;
    EQUAL(prof_start(&desc), PROF_OK);
    PROF_BLOCK("my::op") {
        prof_set_shapes(in, NULL, 2);
        set_inputs(concrete, 2, "{\"k\": 1}");
    }
    trace = prof_stop();
    EQUAL(prof_key_averages(trace, NULL, &row, 1), 1);
    EQUAL(row.flops, 40);
    SAME_TEXT(formula_args, "3 {\"k\": 1}");
}

int main(void) {
    RUN(test_flops_names);
    RUN(test_flops_convolution);
    RUN(test_flops_backward);
    RUN(test_flops_attention);
    RUN(test_flops_overflow);
    RUN(test_flops_bad_shapes);
    RUN(test_flops_bad_parameters);
    RUN(test_flops_misfits);
    RUN(test_flops_register);
    RUN(test_flops_registered_zone);
    return test_end();
}
