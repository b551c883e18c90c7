/* The kernels of a trace by device and name: see kernels.h. */
#include "analysis/kernels.h"

#include "input/trace_reader.h"

#include <stdlib.h>
#include <string.h>

/* ---- Devices ---- */

/* --device-peak: "bf16=989.5" or "gb=3350". */
static bool override_peak(kernel_device *device, const char *text) {
    const char *value = strchr(text, '=');
    char name[32];
    double number;
    if (!value || (size_t)(value - text) >= sizeof name) return false;
    memcpy(name, text, (size_t)(value - text));
    name[value - text] = '\0';
    if (!number_parse(value + 1, "", &number) || number <= 0) return false;
    dtype type = dtype_parse(name);
    if (strcmp(name, "gb") == 0) device->peak.gb_s = number;
    else if (type > DTYPE_NONE && type < DTYPE_PEAKS) device->peak.tflops[type] = number;
    else return false;
    device->known = true;
    return true;
}

static kernel_device *device_of(kernel_table *t, int64_t index) {
    bool is_new;
    size_t number = NUMBER_OF(&t->device_numbers, (uint64_t)index, t->devices, t->device_count,
                              t->device_capacity, &is_new);
    if (is_new) t->devices[number] = (kernel_device){.index = index};
    return &t->devices[number];
}

static void read_device(kernel_table *t, trace_text json) {
    trace_text rest = json, key, value, name_text = {"", 0};
    int64_t id = 0, units = 0, memory = 0;
    while (json_next(&rest, &key, &value)) {
        if (text_is(key, "id")) json_int(value, &id);
        else if (text_is(key, "name")) name_text = value;
        else if (text_is(key, "numSms")) json_int(value, &units);
        else if (text_is(key, "totalGlobalMem")) json_int(value, &memory);
    }
    char name[128];
    json_decode(name_text, name, sizeof name);
    kernel_device *device = device_of(t, id);
    device->name = arena_text(&t->memory, name, strlen(name));
    device->known = device_find(device->name, units, memory, &device->peak);
}

/* A trace may number its kernels' devices otherwise than its properties do: where all of those are
   of one name, the others are too. */
static void name_devices(kernel_table *t) {
    const kernel_device *named = NULL;
    for (size_t i = 0; i < t->device_count; i++) {
        const kernel_device *device = &t->devices[i];
        if (!device->name) continue;
        if (named && strcmp(named->name, device->name) != 0) return;
        named = device;
    }
    for (size_t i = 0; named && i < t->device_count; i++) {
        int64_t index = t->devices[i].index;
        if (t->devices[i].name) continue;
        t->devices[i] = *named;
        t->devices[i].index = index;
    }
}

/* After reading: what the options say of all devices. */
static bool settle_devices(kernel_table *t) {
    const kernel_options *o = t->options;
    name_devices(t);
    for (size_t i = 0; i < t->device_count; i++) {
        kernel_device *device = &t->devices[i];
        if (o->device) {
            device->known = device_find(o->device, 0, 0, &device->peak);
            if (!device->known)
                return fail("--device", "nothing is known of '%s'; see --device-peak", o->device),
                       false;
        }
        for (size_t p = 0; p < o->peaks->count; p++)
            if (!override_peak(device, o->peaks->items[p]))
                return fail("--device-peak", "'%s' is not TYPE=TFLOP/s or gb=GB/s",
                            o->peaks->items[p]), false;
    }
    return true;
}

/* ---- Reading ---- */

static uint32_t row_of(kernel_table *t, const trace_event *event) {
    uint32_t device = (uint32_t)(device_of(t, trace_device(event)) - t->devices);
    uint32_t name = intern(&t->trace.names, event->name.data, event->name.size);
    bool is_new;
    size_t number = NUMBER_OF(&t->numbers, (uint64_t)device << 32 | name, t->rows, t->row_count,
                              t->row_capacity, &is_new);
    if (is_new) t->rows[number] = (kernel_row){.name = name, .device = device};
    return (uint32_t)number;
}

static void add_launch(kernel_table *t, const trace_event *event) {
    kernel_launch launch = {.row = row_of(t, event)};
    double gb = 0;
    launch.own_flops = trace_arg_double(event, KEY_FLOPS, &launch.flops);
    if (!launch.own_flops) trace_arg_double(event, "kernel_flop", &launch.flops);
    if (trace_arg_double(event, "kernel_num_gb", &gb)) launch.bytes = gb * 1e9;
    const char *op = op_of_kernel(interned_text(&t->trace.names, t->rows[launch.row].name));
    launch.amount = amounts_add(&t->amounts, op ? op : "", event);
    GROW(t->launches, t->launch_count, t->launch_capacity);
    t->launches[t->launch_count++] = launch;
    t->trace.works[t->trace.work_count - 1].key = (uint32_t)t->launch_count;
}

static void take(void *user, trace_reader *reader, trace_kept kept) {
    kernel_table *t = user;
    const trace_event *event = reader->event;
    if (reader->item == TRACE_MEMBER && text_is(reader->member.key, "deviceProperties")) {
        trace_text rest = reader->member.value, key, device;
        while (json_next(&rest, &key, &device)) read_device(t, device);
    }
    bool kernel = kept == KEPT_WORK && event->kind == TRACE_KERNEL;
    t->bare += kernel && !event->arg_count;
    if (kernel && range_holds(&t->trace.range, event->ts_ns)) add_launch(t, event);
    if (kept != KEPT_CALL) return;
    if (event->kind != TRACE_CPU_OP && !trace_arg(event, KEY_FLOPS)) return;
    call *made = &t->trace.calls[t->trace.call_count - 1];
    made->key = amounts_add(&t->amounts, interned_text(&t->trace.names, made->name), event);
}

/* Of each call how long the kernels ran that it owns. */
static void sum_owned(kernel_table *t) {
    t->owned_ns = allocate((t->trace.call_count + 1) * sizeof *t->owned_ns);
    for (size_t i = 0; i < t->trace.work_count; i++) {
        const device_work *work = &t->trace.works[i];
        if (work->key && work->owner != NO_CALL) t->owned_ns[work->owner] += work_ns(work);
    }
}

/* ---- Amounts of launches: the trace's own, else the op's, else by the kernel's name ---- */

/* op: its owner's; 0: that has none, or there is none. */
static amount found_amount(kernel_table *t, const kernel_launch *launch, uint32_t op) {
    amount found = {0};
    if (op) found = t->amounts.list[op];
    if (found.flops) return found;
    const char *name = op_of_kernel(interned_text(&t->trace.names, t->rows[launch->row].name));
    uint32_t own = launch->amount;
    if (!own && op && name) own = amounts_rename(&t->amounts, op, name);
    if (!own) return found;
    amount by_name = t->amounts.list[own];
    if (!found.bytes || by_name.flops) found = by_name;
    return found;
}

/* Into launch->flops and ->bytes, where the trace has none itself; returns the type. */
static dtype settle_amount(kernel_table *t, kernel_launch *launch, uint32_t op) {
    const char *name = interned_text(&t->trace.names, t->rows[launch->row].name);
    amount found = found_amount(t, launch, op);
    if (!(launch->flops > 0)) launch->flops = (double)found.flops;
    if (!(launch->bytes > 0)) launch->bytes = (double)found.bytes;
    dtype type = dtype_of_kernel(name, (dtype)found.dtype);
    return type == DTYPE_NONE ? t->options->dtype : type;
}

static void add_to_row(kernel_row *row, const kernel_device *device, int64_t ns, double flops,
                       double bytes, dtype type) {
    row->count++;
    row->ns += ns;
    if (bytes > 0 && ns > 0) {
        row->bytes += bytes;
        row->bytes_ns += ns;
        if (device->known) row->ideal_bytes_ns += bytes / device->peak.gb_s;
    }
    if (!(flops > 0 && ns > 0)) return;
    row->flops += flops;
    row->flops_ns += ns;
    row->dtypes |= 1u << type;
    if (device->known && type < DTYPE_PEAKS && device->peak.tflops[type] > 0) {
        row->ideal_flops_ns += flops / (device->peak.tflops[type] * 1e3);
        row->ideal_flops_of_ns += ns;
    }
}

/* An op's amount is that of all its kernels: each has a part of it by its time, and so all have the
   op's rate. (PyTorch's script gives all of it to each: those that change a convolution's layout
   were ten times as fast as the device can be.) */
static void settle_launch(kernel_table *t, const device_work *work) {
    kernel_launch *launch = &t->launches[work->key - 1];
    kernel_row *row = &t->rows[launch->row];
    kernel_device *device = &t->devices[row->device];
    bool owned = work->owner != NO_CALL;
    dtype type = settle_amount(t, launch, owned ? t->trace.calls[work->owner].key : 0);
    int64_t ns = work_ns(work), all_ns = owned ? t->owned_ns[work->owner] : ns;
    double part = all_ns > ns ? (double)ns / (double)all_ns : 1;
    double flops = launch->own_flops ? launch->flops : launch->flops * part;
    add_to_row(row, device, ns, flops, launch->bytes * part, type);
    add_to_row(&device->sum, device, ns, flops, launch->bytes * part, type);
}

dtype kernel_row_dtype(const kernel_row *row) {
    dtype type = DTYPE_NONE;
    while (row->dtypes >> type > 1) type++;
    return type;
}

void kernel_row_add(kernel_row *to, const kernel_row *from) {
    to->count += from->count;
    to->ns += from->ns;
    to->flops += from->flops;
    to->flops_ns += from->flops_ns;
    to->bytes += from->bytes;
    to->bytes_ns += from->bytes_ns;
    to->ideal_flops_ns += from->ideal_flops_ns;
    to->ideal_flops_of_ns += from->ideal_flops_of_ns;
    to->ideal_bytes_ns += from->ideal_bytes_ns;
    to->dtypes |= from->dtypes;
}

static void cell_ratio(sheet *s, double part, int64_t whole, double scale) {
    if (part > 0 && whole > 0) cell_format(s, "%.4f", part / (double)whole * scale);
    else cell_text(s, NULL);
}

void cell_tflop_s(sheet *s, const kernel_row *row) {
    cell_ratio(s, row->flops, row->flops_ns, 1e-3);
}
void cell_gb_s(sheet *s, const kernel_row *row) { cell_ratio(s, row->bytes, row->bytes_ns, 1); }
void cell_flop_share(sheet *s, const kernel_row *row) {
    cell_ratio(s, row->ideal_flops_ns, row->ideal_flops_of_ns, 100);
}
void cell_gb_share(sheet *s, const kernel_row *row) {
    cell_ratio(s, row->ideal_bytes_ns, row->bytes_ns, 100);
}
void cell_intensity(sheet *s, const kernel_row *row) {
    double rate = row->bytes > 0 ? row->bytes / (double)row->bytes_ns : 1;
    cell_ratio(s, row->bytes > 0 ? row->flops / rate : 0, row->flops_ns, 1);
}

/* Some operations a byte at most: no device has so little to compute with. */
static bool is_light(const char *name) {
    static const char *const words[] = {"elementwise", "copy", "Copy", "fill", "Fill",
                                        "reduce_kernel"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++)
        if (strstr(name, words[i])) return true;
    return false;
}

/* It changes a layout, as for a convolution, and does none of the FLOPs that its op shares. */
static bool is_layout(const char *name) {
    return strstr(name, "nchwToNhwc") || strstr(name, "nhwcToNchw");
}

/* Its intensity is more than the device's (peak FLOP/s / peak byte/s) just where its share of the
   one peak is more than that of the other. */
const char *kernel_bound(const kernel_row *row, const char *name) {
    if (!(row->ideal_bytes_ns > 0)) return NULL;
    if (is_layout(name)) return "memory";
    if (!(row->ideal_flops_ns > 0)) return row->flops > 0 || !is_light(name) ? NULL : "memory";
    double compute = row->ideal_flops_ns / (double)row->ideal_flops_of_ns;
    return compute > row->ideal_bytes_ns / (double)row->bytes_ns ? "compute" : "memory";
}

static bool longer(uint32_t a, uint32_t b, const void *context) {
    const kernel_row *rows = context;
    return rows[a].ns > rows[b].ns;
}

/* What PyTorch's script refuses. */
static void tell_odd(const kernel_table *t, const char *path) {
    if (t->options->quiet) return;
    if (t->trace.twice)
        warn(path, "%llu ops have the External id of an earlier one: kernels with it count for "
             "that one alone", (unsigned long long)t->trace.twice);
    if (t->bare)
        warn(path, "%llu kernels have no arguments: of which op they are is not known",
             (unsigned long long)t->bare);
}

int kernels_read(kernel_table *t, const kernel_options *options, const char *path) {
    t->options = options;
    t->trace.with_works = true;
    t->trace.window = options->window;
    t->trace.as_written = options->as_written;
    t->trace.quiet = options->quiet;
    int status = trace_load(&t->trace, path, take, t);
    trace_nest(&t->trace);
    trace_own(&t->trace);
    tell_odd(t, path);
    bool settled = settle_devices(t);
    sum_owned(t);
    for (size_t i = 0; i < t->trace.work_count; i++)
        if (t->trace.works[i].key) settle_launch(t, &t->trace.works[i]);
    t->order = sorted_numbers(t->row_count, longer, t->rows);
    return settled ? status : EXIT_BAD;
}

void kernels_free(kernel_table *t) {
    trace_free(&t->trace);
    amounts_free(&t->amounts);
    arena_free(&t->memory);
    map_free(&t->numbers);
    map_free(&t->device_numbers);
    free(t->rows);
    free(t->order);
    free(t->devices);
    free(t->launches);
    free(t->owned_ns);
    memset(t, 0, sizeof *t);
}
