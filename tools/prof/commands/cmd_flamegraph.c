/* prof flamegraph: an SVG to click through, of one trace or of what changed between two. */
#include "analysis/flame.h"
#include "input/losses.h"

#include <limits.h>
#include <stdlib.h>
#include <string.h>

static int run(int argc, char **argv);

const command flamegraph_command = {
    "flamegraph", "[OPTION]... TRACE...", "a flame graph (SVG) with search and zoom",
    "  prof flamegraph -o flame.svg trace.json.gz\n"
    "      open flame.svg in a browser: click to zoom, / to search, Esc to go back\n"
    "  prof flamegraph --metric self_cuda_time_total -o device.svg trace.json\n"
    "      device time, with the kernels below the calls that launched them\n"
    "  prof flamegraph --diff before.json after.json -o change.svg\n"
    "      as wide as after; red took longer than before, blue less\n"
    "  perf script | stackcollapse-perf.pl | prof flamegraph -o perf.svg -\n"
    "      any folded stacks\n", run, 1, INT_MAX
};

enum { WIDTH = 1200, ROW = 17, TOP = 58, BOTTOM = 26, CHARACTER = 7, MARGIN = 10 };

static const char *const style[] = {
#include "flamegraph_css.h"
    NULL
};

static const char *const script[] = {
#include "flamegraph_js.h"
    NULL
};

typedef struct picture {
    const flame *f;
    output *out;
    const char *title, *metric;
    bool diff, down;            /* down: the root on top */
    double least;               /* share of the whole below which a frame is left out */
    uint32_t *first, *next;     /* children by name, as lists */
    uint32_t depth;             /* of the deepest frame shown */
    uint32_t top;               /* where the frames begin: below the banner */
    double most;                /* the largest share gained or lost */
    uint64_t left_out;
} picture;

static void write_lines(output *out, const char *const *lines) {
    for (; *lines; lines++) output_text(out, *lines);
}

static int64_t change_of(const flame_node *node) {
    return node->total - node->total_before;
}

/* ---- Which frames are shown ---- */

static bool shown(const picture *p, uint32_t node) {
    double whole = (double)p->f->nodes[0].total;
    return node == 0 || (double)p->f->nodes[node].total > whole * p->least;
}

static bool name_before(uint32_t a, uint32_t b, const void *context) {
    const flame *f = context;
    if (f->nodes[a].parent != f->nodes[b].parent) return f->nodes[a].parent < f->nodes[b].parent;
    return strcmp(flame_name(f, a), flame_name(f, b)) < 0;
}

/* Links the children of each node, by name: pictures of two runs look alike. */
static void link_children(picture *p) {
    size_t count = p->f->count;
    uint32_t *order = sorted_numbers(count, name_before, p->f);
    p->first = allocate(count * sizeof *p->first);
    p->next = allocate(count * sizeof *p->next);
    for (size_t i = count; i-- > 0; ) {
        uint32_t node = order[i];
        if (node == 0) continue;
        p->next[node] = p->first[p->f->nodes[node].parent];
        p->first[p->f->nodes[node].parent] = node;
    }
    free(order);
}

static void measure(picture *p) {
    uint32_t *depths = allocate(p->f->count * sizeof *depths);
    for (uint32_t i = 0; i < p->f->count; i++) {
        const flame_node *node = &p->f->nodes[i];
        if (i) depths[i] = depths[node->parent] + 1;
        if (!shown(p, i)) {
            p->left_out += node->total > 0;
            continue;
        }
        if (depths[i] > p->depth) p->depth = depths[i];
        double change = (double)change_of(node);
        if (i && change < 0) change = -change;
        if (i && change > p->most) p->most = change;
    }
    free(depths);
}

/* ---- The picture ---- */

/* As palette.css has them; the shade by name. */
static void colour(const picture *p, const flame_node *node, const char *name, char text[16]) {
    static const uint8_t base[TRACE_KINDS][3] = {
        [TRACE_OTHER] = {127, 178, 229}, [TRACE_CPU_OP] = {143, 187, 232},
        [TRACE_ANNOTATION] = {195, 174, 230}, [TRACE_PYTHON] = {169, 211, 160},
        [TRACE_RUNTIME] = {185, 193, 202}, [TRACE_KERNEL] = {240, 163, 107},
        [TRACE_OVERHEAD] = {217, 211, 196}
    };
    int rgb[3];
    if (p->diff) {
        double change = p->most > 0 ? (double)change_of(node) / p->most : 0;
        int fade = 245 - (int)(165 * (change < 0 ? -change : change));
        rgb[0] = change >= 0 ? 245 : fade;
        rgb[1] = fade;
        rgb[2] = change <= 0 ? 245 : fade;
    } else {
        int shade = (int)(hash_bytes(name, strlen(name)) >> 40 & 31) - 16;
        for (int i = 0; i < 3; i++) rgb[i] = base[node->kind][i] + shade;
        if (node->kind == TRACE_OTHER && node->parent == UINT32_MAX) rgb[0] = rgb[1] = rgb[2] = 215;
    }
    snprintf(text, 16, "#%02x%02x%02x", rgb[0] & 255, rgb[1] & 255, rgb[2] & 255);
}

static void format_ns(char text[32], int64_t ns) {
    double us = (double)ns / 1e3;
    double size = us < 0 ? -us : us;
    if (size >= 1e6) snprintf(text, 32, "%.3f s", us / 1e6);
    else if (size >= 1e3) snprintf(text, 32, "%.3f ms", us / 1e3);
    else snprintf(text, 32, "%.3f us", us);
}

static void write_tip(picture *p, const flame_node *node, const char *name) {
    char total[32], self[32], change[32];
    double whole = (double)p->f->nodes[0].total;
    format_ns(total, node->total);
    format_ns(self, node->self);
    output_text(p->out, "<title>");
    output_html_text(p->out, name, strlen(name));
    output_format(p->out, "\n%s (%.2f %%), %s of its own", total,
                  whole > 0 ? 100 * (double)node->total / whole : 0, self);
    if (p->diff) {
        int64_t ns = change_of(node);
        format_ns(change, ns);
        output_format(p->out, "\n%s%s", ns >= 0 ? "+" : "", change);
        if (node->total_before)
            output_format(p->out, " (%+.1f %%)", 100 * (double)ns / (double)node->total_before);
        else output_text(p->out, ", new");
    }
    output_text(p->out, "</title>");
}

/* So much of the name as fits, in characters. */
static void write_fitting(output *out, const char *name, double width) {
    int fit = (int)((width - 6) / CHARACTER);
    size_t size = 0;
    if (fit < 3) return;
    for (; name[size] && fit > 0; fit--) {
        size++;
        while (((unsigned char)name[size] & 0xC0) == 0x80) size++;
    }
    output_html_text(out, name, size);
}

static void write_frame(picture *p, uint32_t number, uint32_t depth, double start) {
    const flame_node *node = &p->f->nodes[number];
    const char *name = number ? flame_name(p->f, number) : "all";
    double scale = (WIDTH - 2 * MARGIN) / (p->f->nodes[0].total ? (double)p->f->nodes[0].total : 1);
    double width = (double)node->total * scale, x = MARGIN + start * scale;
    uint32_t row = p->down ? depth : p->depth - depth;
    uint32_t y = p->top + row * ROW;
    char fill[16];
    colour(p, node, name, fill);
    output_format(p->out, "<g class=\"f\" data-at=\"%.0f %lld %u\" data-name=\"", start,
                  (long long)node->total, depth);
    output_html_text(p->out, name, strlen(name));
    output_text(p->out, "\">");
    write_tip(p, node, name);
    output_format(p->out, "<rect x=\"%.2f\" y=\"%u\" width=\"%.2f\" height=\"%d\" rx=\"1\" "
                  "fill=\"%s\"/><text x=\"%.2f\" y=\"%u\">", x, y, width, ROW - 1, fill, x + 3,
                  y + 12);
    write_fitting(p->out, name, width);
    output_text(p->out, "</text></g>\n");
}

/* All frames, parents before children; without recursion, as paths may be deep. */
static void write_frames(picture *p) {
    typedef struct frame { uint32_t node; double end; } frame;
    frame *open = NULL;
    size_t depth = 0, capacity = 0;
    uint32_t node = 0;
    double start = 0;
    for (;;) {
        write_frame(p, node, (uint32_t)depth, start);
        GROW(open, depth, capacity);
        open[depth++] = (frame){node, start + (double)p->f->nodes[node].total};
        uint32_t next = p->first[node];
        for (;;) {
            while (next && !shown(p, next)) next = p->next[next];
            if (next || depth == 0) break;
            depth--;
            start = open[depth].end;
            next = depth ? p->next[open[depth].node] : 0;
        }
        if (!next) break;
        node = next;
    }
    free(open);
}

/* So many bytes of a banner's text stand on its next line. */
static size_t banner_piece(const char *text) {
    enum { FITS = (WIDTH - 2 * MARGIN) / CHARACTER };
    size_t size = strlen(text), end = size < FITS ? size : FITS;
    while (end < size && end && text[end] != ' ') end--;
    if (!end) end = FITS;                        /* a word that is longer */
    while (end < size && ((unsigned char)text[end] & 0xC0) == 0x80) end++;
    return end;
}

/* What the traces' heads tell of losses; returns how many lines. out NULL: counts them alone. */
static uint32_t write_banner(output *out) {
    text_list told = losses_told();
    uint32_t lines = 0;
    for (size_t i = 0; i < told.count; i++) {
        for (const char *p = told.items[i]; *p; lines++) {
            size_t size = banner_piece(p);
            if (out) output_format(out, "<text class=\"lost\" x=\"%d\" y=\"%u\">", MARGIN,
                                   (unsigned)TOP + 6 + lines * ROW);
            if (out) output_html_text(out, p, size);
            if (out) output_text(out, "</text>\n");
            for (p += size; *p == ' '; p++) {}
        }
    }
    return lines;
}

static void write_picture(picture *p) {
    char whole[32];
    p->top = TOP + write_banner(NULL) * ROW;
    uint32_t height = p->top + (p->depth + 1) * ROW + BOTTOM;
    output *out = p->out;
    format_ns(whole, p->f->nodes[0].total);
    output_format(out, "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<svg xmlns=\"http://www.w3.org/"
                  "2000/svg\" width=\"%d\" height=\"%u\" viewBox=\"0 0 %d %u\">\n<style>\n", WIDTH,
                  height, WIDTH, height);
    write_lines(out, style);
    output_format(out, "</style>\n<rect id=\"back\" width=\"%d\" height=\"%u\" fill=\"#ffffff\"/>\n"
                  "<text id=\"title\" x=\"%d\" y=\"22\">", WIDTH, height, MARGIN);
    output_html_text(out, p->title, strlen(p->title));
    output_format(out, "</text>\n<text id=\"reset\" class=\"button\" x=\"%d\" y=\"44\" "
                  "style=\"display:none\">Back to the whole (Esc)</text>\n"
                  "<text id=\"search\" class=\"button\" x=\"%d\" y=\"44\" text-anchor=\"end\">"
                  "Search (/)</text>\n", MARGIN, WIDTH - MARGIN);
    write_banner(out);
    write_frames(p);
    output_format(out, "<text id=\"under\" x=\"%d\" y=\"%u\">%s: %s", MARGIN, height - 9,
                  p->metric, whole);
    if (p->left_out)
        output_format(out, "; too narrow to be shown: %llu",
                      (unsigned long long)p->left_out);
    output_format(out, "</text>\n<text id=\"found\" x=\"%d\" y=\"22\" text-anchor=\"end\"></text>\n"
                  "<script><![CDATA[\n", WIDTH - MARGIN);
    write_lines(out, script);
    output_text(out, "]]></script>\n</svg>\n");
}

typedef struct flamegraph_options {
    flame_options flame;
    const char *metric, *title, *path;
    double least;
    bool diff, down;
} flamegraph_options;

static int draw(const flame *f, const flamegraph_options *o, const char *name) {
    output out;
    if (!output_open(&out, o->path)) return EXIT_BAD;
    picture p = {
        .f = f, .out = &out, .title = o->title ? o->title : name, .metric = o->metric,
        .diff = o->diff, .down = o->down, .least = o->least / 100
    };
    link_children(&p);
    measure(&p);
    write_picture(&p);
    free(p.first);
    free(p.next);
    return output_close(&out, EXIT_OK);
}

static int read_and_draw(const flamegraph_options *o, char **files, int count) {
    flame f = {0};
    char name[512];
    int status = EXIT_OK;
    for (int i = 0; i < count; i++) {
        if (flame_read(&f, &o->flame, files[i]) != EXIT_OK) status = EXIT_BAD;
        if (i == 0 && o->diff) flame_compare(&f);
    }
    flame_finish(&f);
    if (o->diff) snprintf(name, sizeof name, "%s, compared with %s", file_name(files[1]),
                          file_name(files[0]));
    else snprintf(name, sizeof name, "%s%s", file_name(files[0]), count > 1 ? " and others" : "");
    if (status == EXIT_OK) status = draw(&f, o, name);
    flame_free(&f);
    return status;
}

static int run(int argc, char **argv) {
    range_options window = {0};
    flamegraph_options o = {
        .flame = {.kernels = true, .python = true, .window = &window},
        .metric = "self_cpu_time_total", .least = 0.02
    };
    const option_spec options[] = {
        FLAME_OPTIONS(o.flame, o.metric, window),
        {"diff", 'd', OPTION_FLAG, &o.diff, NULL, "two files: the second, coloured by its change"},
        {"down", 0, OPTION_FLAG, &o.down, NULL, "the root on top"},
        {"min-share", 0, OPTION_NUMBER, &o.least, "PERCENT",
         "frames narrower than this are left out (0.02)"},
        {"title", 0, OPTION_TEXT, &o.title, "TEXT", "instead of the file's name"},
        {"output", 'o', OPTION_TEXT, &o.path, "FILE", "instead of stdout"},
        {NULL, 0, OPTION_FLAG, NULL, NULL, NULL}
    };
    int status, count = options_parse(&flamegraph_command, options, argc, argv, &status);
    if (count < 0) return status;
    if (o.diff && count != 2) return fail("--diff", "two files are needed: before and after");
    if (!flame_metric(o.metric, &o.flame)) return EXIT_BAD;
    bool good = o.diff || range_align(&window, argv + 1, count);     /* else each for itself */
    status = good ? read_and_draw(&o, argv + 1, count) : EXIT_BAD;
    range_unalign(&window);
    return status;
}
