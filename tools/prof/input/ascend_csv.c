/* Tables of Ascend's kernels as events: torch_npu's kernel_details.csv, msprof's op_summary.csv.
   Their columns are those of torch_npu/profiler/analysis/prof_common_func/_csv_headers.py of
   Ascend/pytorch; which of them there are, and in what order, the first line tells. */
#include <stdlib.h>
#include <string.h>

#include "input/event_source.h"

enum { NAME, TYPE, CORE, START, DURATION, DEVICE, STREAM, SHAPES, COLUMNS };
static const char *const columns[COLUMNS][2] = {
    {"Name", "Op Name"}, {"Type", "OP Type"}, {"Accelerator Core", "Task Type"},
    {"Start Time(us)", "Task Start Time(us)"}, {"Duration(us)", "Task Duration(us)"},
    {"Device_id", "Device_id"}, {"Stream ID", "Stream ID"}, {"Input Shapes", "Input Shapes"}
};

enum { LONGEST_LINE = 1 << 20, MOST_CELLS = 256, NO_STREAM = 65535 /* of collectives */ };

typedef struct table {
    event_queue *to;
    char *part;                  /* of a line whose end has not come yet */
    size_t size, capacity;
    int at[COLUMNS];             /* of each column, -1: it is not there */
    bool has_head, too_long;
    trace_text cells[MOST_CELLS];
    size_t cell_count;
    map devices;                 /* that have a label */
    uint64_t line, bad_lines;    /* line: the number of the one read now */
} table;

static trace_text trimmed(trace_text cell) {
    const char *around = " \t\r\"";
    while (cell.size && strchr(around, cell.data[cell.size - 1])) cell.size--;
    while (cell.size && strchr(around, *cell.data)) cell.data++, cell.size--;
    return cell;
}

/* Commas in quotes part no cells. */
static void split(table *t, const char *line, size_t size) {
    bool quoted = false;
    size_t begin = 0;
    t->cell_count = 0;
    for (size_t i = 0; i <= size && t->cell_count < MOST_CELLS; i++) {
        if (i < size && line[i] == '"') quoted = !quoted;
        if (i < size && (quoted || line[i] != ',')) continue;
        t->cells[t->cell_count++] = trimmed((trace_text){line + begin, i - begin});
        begin = i + 1;
    }
}

static trace_text cell_of(const table *t, int column) {
    int at = t->at[column];
    bool is_there = at >= 0 && (size_t)at < t->cell_count;
    return is_there ? t->cells[at] : (trace_text){"", 0};
}

static void read_head(table *t) {
    for (int column = 0; column < COLUMNS; column++) {
        t->at[column] = -1;
        for (size_t i = t->cell_count; i-- > 0; )
            if (text_is(t->cells[i], columns[column][0]) ||
                text_is(t->cells[i], columns[column][1])) t->at[column] = (int)i;
    }
    t->has_head = true;
}

static void put_label(table *t, int64_t device) {
    bool is_new;
    map_put(&t->devices, (uint64_t)device, &is_new);
    if (is_new) queue_device(t->to, "NPU", device);
}

static void put_text(table *t, const char *key, trace_text text) {
    if (text.size && !text_is(text, "N/A")) queue_string(t->to, key, text);
}

static bool is_told(const table *t, int column) {
    trace_text cell = cell_of(t, column);
    return cell.size && !text_is(cell, "N/A");
}

/* Does the cell hold a number, or nothing? *number stays where it is nothing. */
static bool number_of(table *t, int column, bool (*read)(trace_text cell, int64_t *number),
                      int64_t *number) {
    trace_text cell = cell_of(t, column);
    if (!is_told(t, column) || read(cell, number)) return true;
    queue_odd(t->to, columns[column][0], "line", t->line, "is %.*s, no number that can be",
              cell.size < 40 ? (int)cell.size : 40, cell.data);
    return false;
}

/* A collective runs on several streams, and has none in the table. */
static void read_row(table *t) {
    trace_text core = cell_of(t, CORE);
    int64_t start, dur, device = 0, stream;
    stream = text_is(core, "COMMUNICATION") || text_is(core, "HCCL") ? NO_STREAM : 0;
    if (!is_told(t, START) || !is_told(t, DURATION)) {
        t->bad_lines++;
        return;
    }
    if (!number_of(t, START, json_ns, &start) || !number_of(t, DURATION, json_ns, &dur) ||
        !queue_fits(t->to, columns[DURATION][0], "line", t->line, dur, INT64_MAX) ||
        !number_of(t, DEVICE, json_int, &device) || !number_of(t, STREAM, json_int, &stream))
        return;
    put_label(t, device);
    trace_event *event = queue_timed(t->to, 'X', text_of("kernel"),
                                     queue_clean(t->to, cell_of(t, NAME)), start);
    event->pid = device;
    event->tid = stream;
    queue_until(event, dur);
    queue_begin_args(t->to);
    queue_int(t->to, "device", device);
    queue_int(t->to, "stream", stream);
    put_text(t, "op_type", cell_of(t, TYPE));
    put_text(t, "Accelerator Core", core);
    put_text(t, "Input Shapes", cell_of(t, SHAPES));
    queue_end_args(t->to, event);
}

static void read_line(table *t, const char *line, size_t size) {
    t->line++;
    if (t->too_long) t->bad_lines++;
    else if (size) split(t, line, size);
    if (size && !t->too_long && t->has_head) read_row(t);
    else if (size && !t->too_long) read_head(t);
    t->too_long = false;
}

static void keep_part(table *t, const char *data, size_t size) {
    t->too_long |= t->size + size > LONGEST_LINE;
    if (t->too_long) t->size = size = 0;
    if (t->size + size > t->capacity) {
        t->capacity = 2 * (t->size + size);
        t->part = reallocate(t->part, t->capacity);
    }
    if (size) memcpy(t->part + t->size, data, size);
    t->size += size;
}

static void push_table(void *source, const void *bytes, size_t size) {
    table *t = source;
    const char *data = bytes, *end = data + size, *stop;
    while (data < end && (stop = memchr(data, '\n', (size_t)(end - data))) != NULL) {
        bool whole = !t->size && !t->too_long;
        if (whole) {
            read_line(t, data, (size_t)(stop - data));
        } else {
            keep_part(t, data, (size_t)(stop - data));
            read_line(t, t->part, t->size);
            t->size = 0;
        }
        data = stop + 1;
    }
    if (data < end) keep_part(t, data, (size_t)(end - data));
}

/* ---- The whole ---- */

static bool has_word(const char *line, size_t size, const char *word) {
    size_t length = strlen(word);
    for (size_t i = 0; i + length <= size; i++)
        if (memcmp(line + i, word, length) == 0) return true;
    return false;
}

/* By the names of its columns, of which the first is one of these. */
static int is_table(const void *bytes, size_t size) {
    static const char *const firsts[] = {"Step I", "Device_id,", "Model ID,", "Name,", "Op Name,"};
    const char *line = bytes, *stop = memchr(line, '\n', size);
    bool may = false;
    for (size_t i = 0; i < sizeof firsts / sizeof *firsts; i++) {
        size_t length = strlen(firsts[i]);
        may |= memcmp(line, firsts[i], size < length ? size : length) == 0;
    }
    if (!may) return 0;
    if (!stop) return size < 1 << 14 ? -1 : 0;
    size_t length = (size_t)(stop - line);
    return has_word(line, length, "Start Time(us)") && has_word(line, length, "Duration(us)");
}

static void *open_table(const source_desc *desc) {
    table *t = allocate(sizeof *t);
    t->to = desc->to;
    return t;
}

static bool end_table(void *source) {
    table *t = source;
    if (t->size || t->too_long) read_line(t, t->part, t->size);
    t->size = 0;
    return false;
}

static bool tell_table(void *source, const char *path) {
    const table *t = source;
    if (t->bad_lines)
        warn(path, "%llu lines have no time or duration: left out",
             (unsigned long long)t->bad_lines);
    return false;
}

static void close_table(void *source) {
    table *t = source;
    map_free(&t->devices);
    free(t->part);
    free(t);
}

const source_format ascend_format = {
    is_table, open_table, push_table, end_table, tell_table, close_table
};
