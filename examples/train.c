/* train.c: a small neural network learns to tell three species of iris apart.

   Shows: zones around every stage of a training run (as PyTorch's profiler shows them), names made
          at run time, a counter for the loss, the table, the Chrome trace, folded stacks, and
          what the profiler itself cost, measured by training with and without it.
   Build: cc -std=c99 -O2 -I. examples/train.c examples/prof.c -o train -lpthread -lm
   Run:   ./train [directory]    writes trace.json and stacks.folded there */

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "prof.h"

enum { FLOWERS = 150, FEATURES = 4, SPECIES = 3 };
enum { HELD_OUT = 30, TRAINING = FLOWERS - HELD_OUT, BATCH = 30, EPOCHS = 500 };
enum { LAYERS = 3, WIDTH = 32 };
enum { COST_ROUNDS = 500, COST_EPOCHS = 3 };

static const float LEARNING_RATE = 0.05f, MOMENTUM = 0.9f, WEIGHT_DECAY = 0.01f;

/* ---- The data: Edgar Anderson's irises, as R. A. Fisher published them in 1936 ---- */

static const char *const species_names[SPECIES] = {"setosa", "versicolor", "virginica"};

/* Sepal length, sepal width, petal length, petal width in millimetres; 50 of each species. */
static const unsigned char iris[FLOWERS][FEATURES] = {
    /* setosa */
    {51, 35, 14,  2}, {49, 30, 14,  2}, {47, 32, 13,  2}, {46, 31, 15,  2}, {50, 36, 14,  2},
    {54, 39, 17,  4}, {46, 34, 14,  3}, {50, 34, 15,  2}, {44, 29, 14,  2}, {49, 31, 15,  1},
    {54, 37, 15,  2}, {48, 34, 16,  2}, {48, 30, 14,  1}, {43, 30, 11,  1}, {58, 40, 12,  2},
    {57, 44, 15,  4}, {54, 39, 13,  4}, {51, 35, 14,  3}, {57, 38, 17,  3}, {51, 38, 15,  3},
    {54, 34, 17,  2}, {51, 37, 15,  4}, {46, 36, 10,  2}, {51, 33, 17,  5}, {48, 34, 19,  2},
    {50, 30, 16,  2}, {50, 34, 16,  4}, {52, 35, 15,  2}, {52, 34, 14,  2}, {47, 32, 16,  2},
    {48, 31, 16,  2}, {54, 34, 15,  4}, {52, 41, 15,  1}, {55, 42, 14,  2}, {49, 31, 15,  2},
    {50, 32, 12,  2}, {55, 35, 13,  2}, {49, 36, 14,  1}, {44, 30, 13,  2}, {51, 34, 15,  2},
    {50, 35, 13,  3}, {45, 23, 13,  3}, {44, 32, 13,  2}, {50, 35, 16,  6}, {51, 38, 19,  4},
    {48, 30, 14,  3}, {51, 38, 16,  2}, {46, 32, 14,  2}, {53, 37, 15,  2}, {50, 33, 14,  2},
    /* versicolor */
    {70, 32, 47, 14}, {64, 32, 45, 15}, {69, 31, 49, 15}, {55, 23, 40, 13}, {65, 28, 46, 15},
    {57, 28, 45, 13}, {63, 33, 47, 16}, {49, 24, 33, 10}, {66, 29, 46, 13}, {52, 27, 39, 14},
    {50, 20, 35, 10}, {59, 30, 42, 15}, {60, 22, 40, 10}, {61, 29, 47, 14}, {56, 29, 36, 13},
    {67, 31, 44, 14}, {56, 30, 45, 15}, {58, 27, 41, 10}, {62, 22, 45, 15}, {56, 25, 39, 11},
    {59, 32, 48, 18}, {61, 28, 40, 13}, {63, 25, 49, 15}, {61, 28, 47, 12}, {64, 29, 43, 13},
    {66, 30, 44, 14}, {68, 28, 48, 14}, {67, 30, 50, 17}, {60, 29, 45, 15}, {57, 26, 35, 10},
    {55, 24, 38, 11}, {55, 24, 37, 10}, {58, 27, 39, 12}, {60, 27, 51, 16}, {54, 30, 45, 15},
    {60, 34, 45, 16}, {67, 31, 47, 15}, {63, 23, 44, 13}, {56, 30, 41, 13}, {55, 25, 40, 13},
    {55, 26, 44, 12}, {61, 30, 46, 14}, {58, 26, 40, 12}, {50, 23, 33, 10}, {56, 27, 42, 13},
    {57, 30, 42, 12}, {57, 29, 42, 13}, {62, 29, 43, 13}, {51, 25, 30, 11}, {57, 28, 41, 13},
    /* virginica */
    {63, 33, 60, 25}, {58, 27, 51, 19}, {71, 30, 59, 21}, {63, 29, 56, 18}, {65, 30, 58, 22},
    {76, 30, 66, 21}, {49, 25, 45, 17}, {73, 29, 63, 18}, {67, 25, 58, 18}, {72, 36, 61, 25},
    {65, 32, 51, 20}, {64, 27, 53, 19}, {68, 30, 55, 21}, {57, 25, 50, 20}, {58, 28, 51, 24},
    {64, 32, 53, 23}, {65, 30, 55, 18}, {77, 38, 67, 22}, {77, 26, 69, 23}, {60, 22, 50, 15},
    {69, 32, 57, 23}, {56, 28, 49, 20}, {77, 28, 67, 20}, {63, 27, 49, 18}, {67, 33, 57, 21},
    {72, 32, 60, 18}, {62, 28, 48, 18}, {61, 30, 49, 18}, {64, 28, 56, 21}, {72, 30, 58, 16},
    {74, 28, 61, 19}, {79, 38, 64, 20}, {64, 28, 56, 22}, {63, 28, 51, 15}, {61, 26, 56, 14},
    {77, 30, 61, 23}, {63, 34, 56, 24}, {64, 31, 55, 18}, {60, 30, 48, 18}, {69, 31, 54, 21},
    {67, 31, 56, 24}, {69, 31, 51, 23}, {58, 27, 51, 19}, {68, 32, 59, 23}, {67, 33, 57, 25},
    {67, 30, 52, 23}, {63, 25, 50, 19}, {65, 30, 52, 20}, {62, 34, 54, 23}, {59, 30, 51, 18},
};

static int species_of(int flower) { return flower / (FLOWERS / SPECIES); }

/* ---- The network ---- */

typedef struct matrix {
    float at[WIDTH][WIDTH];
} matrix;

/* Fully connected: output = activation(input x weights + bias). */
typedef struct layer {
    const char *name;
    int inputs, outputs;
    matrix weights, gradient, velocity;
    float bias[WIDTH], bias_gradient[WIDTH], bias_velocity[WIDTH];
    matrix output;   /* one row per flower of the batch */
    matrix error;    /* how the loss changes with the layer's sums */
} layer;

typedef struct training {
    unsigned random;
    float features[FLOWERS][FEATURES];   /* mean 0, deviation 1 */
    int order[FLOWERS];                  /* shuffled; the last ones are held out */
    matrix input;                        /* the batch */
    int wanted[BATCH];                   /* its species */
    layer layers[LAYERS];
    float first_loss, loss;              /* mean of the first epoch and of the last */
    int correct;                         /* of the held-out flowers */
} training;

static training model;

/* xorshift32: the same numbers on every machine. */
static unsigned random_below(training *t, unsigned limit) {
    t->random ^= t->random << 13;
    t->random ^= t->random >> 17;
    t->random ^= t->random << 5;
    return t->random % limit;
}

static float random_weight(training *t) {
    return (float)random_below(t, 20001) / 10000.0f - 1.0f;
}

static void shuffle(training *t, int *items, int count) {
    PROF_SCOPE("shuffle");
    for (int i = count - 1; i > 0; i--) {
        int j = (int)random_below(t, (unsigned)i + 1);
        int item = items[i];
        items[i] = items[j];
        items[j] = item;
    }
}

/* By the mean and deviation of the flowers to train on: the held-out ones stay unseen. */
static void standardize(training *t, int feature) {
    float sum = 0, squares = 0;
    for (int i = 0; i < TRAINING; i++) {
        float x = iris[t->order[i]][feature];
        sum += x;
        squares += x * x;
    }
    float mean = sum / TRAINING, deviation = sqrtf(squares / TRAINING - mean * mean);
    for (int i = 0; i < FLOWERS; i++) {
        t->features[i][feature] = ((float)iris[i][feature] - mean) / deviation;
    }
}

static void prepare_data(training *t) {
    PROF_SCOPE("prepare data");
    for (int i = 0; i < FLOWERS; i++) t->order[i] = i;
    shuffle(t, t->order, FLOWERS);
    for (int f = 0; f < FEATURES; f++) standardize(t, f);
}

static void init_layer(training *t, layer *l, const char *name, int inputs, int outputs) {
    l->name = name;
    l->inputs = inputs;
    l->outputs = outputs;
    float scale = 1.0f / sqrtf((float)inputs);
    for (int i = 0; i < inputs; i++) {
        for (int o = 0; o < outputs; o++) l->weights.at[i][o] = scale * random_weight(t);
    }
}

static void init(training *t) {
    memset(t, 0, sizeof *t);
    t->random = 1936;
    prepare_data(t);
    PROF_SCOPE("init weights");
    init_layer(t, &t->layers[0], "hidden layer 1", FEATURES, WIDTH);
    init_layer(t, &t->layers[1], "hidden layer 2", WIDTH, WIDTH);
    init_layer(t, &t->layers[2], "output layer", WIDTH, SPECIES);
}

static void load_batch(training *t, int first) {
    PROF_SCOPE("load batch");
    for (int b = 0; b < BATCH; b++) {
        int flower = t->order[first + b];
        memcpy(t->input.at[b], t->features[flower], sizeof t->features[flower]);
        t->wanted[b] = species_of(flower);
    }
}

/* ---- Forward: from the measurements to the probability of each species ---- */

static void matmul(const matrix *in, layer *l) {
    PROF_SCOPE("matmul");
    for (int b = 0; b < BATCH; b++) {
        float *out = l->output.at[b];
        memset(out, 0, sizeof l->output.at[b]);
        for (int i = 0; i < l->inputs; i++) {
            for (int o = 0; o < l->outputs; o++) out[o] += in->at[b][i] * l->weights.at[i][o];
        }
    }
}

static void bias_tanh(layer *l) {
    PROF_SCOPE("bias + tanh");
    for (int b = 0; b < BATCH; b++) {
        float *out = l->output.at[b];
        for (int o = 0; o < l->outputs; o++) out[o] = tanhf(out[o] + l->bias[o]);
    }
}

static void bias_softmax(layer *l) {
    PROF_SCOPE("bias + softmax");
    for (int b = 0; b < BATCH; b++) {
        float *out = l->output.at[b], sum = 0;
        for (int o = 0; o < l->outputs; o++) sum += out[o] = expf(out[o] + l->bias[o]);
        for (int o = 0; o < l->outputs; o++) out[o] /= sum;
    }
}

static void forward(training *t) {
    PROF_SCOPE("forward");
    const matrix *in = &t->input;
    for (int i = 0; i < LAYERS; i++) {
        layer *l = &t->layers[i];
        prof_push(l->name);
        matmul(in, l);
        if (i < LAYERS - 1) bias_tanh(l);
        else bias_softmax(l);
        prof_pop();
        in = &l->output;
    }
}

/* Mean cross entropy of the batch, and the output layer's error. */
static float loss(training *t) {
    PROF_SCOPE("loss");
    layer *l = &t->layers[LAYERS - 1];
    float sum = 0;
    for (int b = 0; b < BATCH; b++) {
        for (int o = 0; o < SPECIES; o++) {
            float target = o == t->wanted[b] ? 1.0f : 0.0f;
            l->error.at[b][o] = (l->output.at[b][o] - target) / BATCH;
        }
        sum -= logf(l->output.at[b][t->wanted[b]] + 1e-9f);
    }
    return sum / BATCH;
}

/* ---- Backward: how the loss changes with each weight ---- */

static void weight_gradient(const matrix *in, layer *l) {
    PROF_SCOPE("weight gradient");
    memset(&l->gradient, 0, sizeof l->gradient);
    memset(l->bias_gradient, 0, sizeof l->bias_gradient);
    for (int b = 0; b < BATCH; b++) {
        const float *error = l->error.at[b];
        for (int i = 0; i < l->inputs; i++) {
            for (int o = 0; o < l->outputs; o++) l->gradient.at[i][o] += in->at[b][i] * error[o];
        }
        for (int o = 0; o < l->outputs; o++) l->bias_gradient[o] += error[o];
    }
}

/* Hands the error on to the layer below, through its tanh. */
static void input_gradient(const layer *l, layer *below) {
    PROF_SCOPE("input gradient");
    for (int b = 0; b < BATCH; b++) {
        for (int i = 0; i < l->inputs; i++) {
            float sum = 0, y = below->output.at[b][i];
            for (int o = 0; o < l->outputs; o++) sum += l->error.at[b][o] * l->weights.at[i][o];
            below->error.at[b][i] = sum * (1.0f - y * y);
        }
    }
}

static void backward(training *t) {
    PROF_SCOPE("backward");
    for (int i = LAYERS - 1; i >= 0; i--) {
        layer *l = &t->layers[i];
        prof_push(l->name);
        weight_gradient(i > 0 ? &t->layers[i - 1].output : &t->input, l);
        if (i > 0) input_gradient(l, &t->layers[i - 1]);
        prof_pop();
    }
}

/* ---- Optimizer, and the training loop ---- */

static void descend(float *values, float *velocity, const float *gradient, int count) {
    for (int i = 0; i < count; i++) {
        float slope = gradient[i] + WEIGHT_DECAY * values[i];
        velocity[i] = MOMENTUM * velocity[i] - LEARNING_RATE * slope;
        values[i] += velocity[i];
    }
}

static void optimize(training *t) {
    PROF_SCOPE("optimizer (SGD)");
    for (int k = 0; k < LAYERS; k++) {
        layer *l = &t->layers[k];
        for (int i = 0; i < l->inputs; i++) {
            descend(l->weights.at[i], l->velocity.at[i], l->gradient.at[i], l->outputs);
        }
        descend(l->bias, l->bias_velocity, l->bias_gradient, l->outputs);
    }
}

static float train_batch(training *t, int first) {
    PROF_SCOPE("train batch");
    load_batch(t, first);
    forward(t);
    float batch_loss = loss(t);
    backward(t);
    optimize(t);
    return batch_loss;
}

static float train_epoch(training *t) {
    PROF_SCOPE("epoch");
    float sum = 0;
    shuffle(t, t->order, TRAINING);
    for (int first = 0; first < TRAINING; first += BATCH) sum += train_batch(t, first);
    return sum * BATCH / TRAINING;
}

static int best_species(const training *t, int row) {
    const float *chance = t->layers[LAYERS - 1].output.at[row];
    int best = 0;
    for (int s = 1; s < SPECIES; s++) best = chance[s] > chance[best] ? s : best;
    return best;
}

/* The held-out flowers are one batch. */
static int evaluate(training *t) {
    PROF_SCOPE("evaluate");
    int correct = 0;
    load_batch(t, TRAINING);
    forward(t);
    for (int b = 0; b < HELD_OUT; b++) correct += best_species(t, b) == t->wanted[b];
    return correct;
}

static void train(training *t, int epochs) {
    PROF_SCOPE("train");
    for (int epoch = 0; epoch < epochs; epoch++) {
        t->loss = train_epoch(t);
        if (epoch == 0) t->first_loss = t->loss;
        t->correct = evaluate(t);
        prof_counter("loss, millionths", (int64_t)(t->loss * 1e6f));
        prof_counter("correct of 30", t->correct);
    }
}

/* ---- What it prints and writes ---- */

static void print_mistakes(const training *t) {
    for (int b = 0; b < HELD_OUT; b++) {
        int guess = best_species(t, b);
        if (guess == t->wanted[b]) continue;
        const unsigned char *mm = iris[t->order[TRAINING + b]];
        printf("It takes a %s (sepals %d x %d mm, petals %d x %d mm) for a %s.\n",
               species_names[t->wanted[b]], mm[0], mm[1], mm[2], mm[3], species_names[guess]);
    }
}

static void print_result(const training *t) {
    printf("Trained a %d-%d-%d-%d network on %d of Fisher's %d irises, %d epochs:\n", FEATURES,
           WIDTH, WIDTH, SPECIES, TRAINING, FLOWERS, EPOCHS);
    printf("the loss fell from %.3f to %.3f.\n", (double)t->first_loss, (double)t->loss);
    printf("It names the species of %d of the %d irises it has never seen (%.1f %%).\n", t->correct,
           HELD_OUT, 100.0 * t->correct / HELD_OUT);
    print_mistakes(t);
}

static prof_result print_table(const prof_trace *trace) {
    prof_averages_desc by_name;
    prof_table_desc table;
    memset(&by_name, 0, sizeof by_name);
    memset(&table, 0, sizeof table);
    table.averages = &by_name;
    table.sort_by = PROF_METRIC_SELF_CPU_TIME_TOTAL;
    table.row_limit = 20;
    return prof_print_table(trace, &table);
}

static bool write_file(void *file, const void *data, size_t size) {
    return fwrite(data, 1, size, (FILE *)file) == size;
}

static prof_result save_stacks(const prof_trace *trace, const char *path) {
    FILE *file = fopen(path, "w");
    if (!file) return PROF_ERROR_FILE;
    prof_sink sink = {write_file, file};
    prof_result result = prof_write_stacks(trace, PROF_METRIC_SELF_CPU_TIME_TOTAL, sink);
    if (fclose(file) != 0 && result == PROF_OK) result = PROF_ERROR_FILE;
    return result;
}

static bool check(prof_result result, const char *path) {
    if (result == PROF_OK) return true;
    const char *why = result == PROF_ERROR_FILE && errno ? strerror(errno) : prof_strerror(result);
    fprintf(stderr, "train: %s: %s\n", path, why);
    return false;
}

static bool save(const prof_trace *trace, const char *directory) {
    char chrome[1024], stacks[1024];
    snprintf(chrome, sizeof chrome, "%s/trace.json", directory);
    snprintf(stacks, sizeof stacks, "%s/stacks.folded", directory);
    if (!check(prof_save_chrome(trace, chrome), chrome)) return false;
    if (!check(save_stacks(trace, stacks), stacks)) return false;
    printf("Timeline:    open %s at ui.perfetto.dev\n", chrome);
    printf("Flame graph: open %s at speedscope.app,\n", stacks);
    printf("             or: flamegraph.pl %s > flame.svg\n\n", stacks);
    return true;
}

/* ---- What the profiler cost ---- */

typedef struct cost {
    double off[COST_ROUNDS], on[COST_ROUNDS];   /* seconds of CPU time */
    double extra[COST_ROUNDS];                  /* on - off, of trainings side by side */
    double zones;                               /* in one training */
} cost;

/* CPU time, so that other programs count little. Both ways start a session and warm up with one
   epoch, so that what a start does once, also to the caches, stays out of the measure. */
static double time_training(bool record, double *zones) {
    init(&model);
    if (prof_start(NULL) != PROF_OK) return 0;
    if (!record) prof_stop();
    train(&model, 1);
    uint64_t before = prof_get_stats(NULL).recorded;
    clock_t start = clock();
    train(&model, COST_EPOCHS);
    clock_t end = clock();
    if (record) prof_stop();
    *zones = (double)(prof_get_stats(NULL).recorded - before);
    return (double)(end - start) / CLOCKS_PER_SEC;
}

/* Both ways take turns at going first, so that a drift of the machine's speed cancels out. */
static void measure_cost(cost *c) {
    double none;
    for (int i = 0; i < COST_ROUNDS; i++) {
        if (i % 2) c->off[i] = time_training(false, &none);
        c->on[i] = time_training(true, &c->zones);
        if (i % 2 == 0) c->off[i] = time_training(false, &none);
        c->extra[i] = c->on[i] - c->off[i];
    }
}

static int ascending(const void *a, const void *b) {
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The value below which percent of the rounds lie. */
static double quantile(double *values, int percent) {
    qsort(values, COST_ROUNDS, sizeof *values, ascending);
    return values[(COST_ROUNDS - 1) * percent / 100];
}

static void print_cost(void) {
    static cost c;
    measure_cost(&c);
    double off = quantile(c.off, 50), on = quantile(c.on, 50), extra = quantile(c.extra, 50);
    /* The standard error of a median, from the middle half of the values. */
    double error = 0.93 * (quantile(c.extra, 75) - quantile(c.extra, 25)) / sqrt(COST_ROUNDS);
    printf("What the profiler cost: %d epochs, %.0f zones, trained %d times each way\n",
           COST_EPOCHS, c.zones, COST_ROUNDS);
    printf("    not recording  %7.3f ms of CPU time (medians)\n", 1e3 * off);
    printf("    recording      %7.3f ms\n", 1e3 * on);
    printf("    difference     %7.1f ns per zone, give or take %.1f\n", 1e9 * extra / c.zones,
           1e9 * error / c.zones);
    printf("                   %7.2f %% of the training, give or take %.2f\n", 100 * extra / off,
           100 * error / off);
}

static void print_stats(prof_stats stats) {
    printf("The table's session: %.0f zones recorded, %.0f dropped;\n", (double)stats.recorded,
           (double)stats.dropped);
    printf("    %.2f MB of %.2f MB used, the room to analyse them included.\n",
           (double)stats.bytes_used / (1 << 20), (double)stats.bytes_total / (1 << 20));
}

int main(int argc, char **argv) {
    if (!check(prof_start(NULL), "start")) return EXIT_FAILURE;
    init(&model);
    train(&model, EPOCHS);
    prof_trace *trace = prof_stop();
    prof_stats stats = prof_get_stats(NULL);

    print_result(&model);
    if (!check(print_table(trace), "table")) return EXIT_FAILURE;
    if (!save(trace, argc > 1 ? argv[1] : ".")) return EXIT_FAILURE;
    print_cost();
    print_stats(stats);
    return EXIT_SUCCESS;
}
