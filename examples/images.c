/* images.c: thumbnails of pictures, made by code that knows nothing of the profiler.

   Shows: PROF_INSTRUMENT_FUNCTIONS. The compiler's -finstrument-functions makes every function a
          zone, here those of the stb image libraries, whose source is left as it is.
   Needs: the stb headers (Debian: libstb-dev).
   Build: clang -std=c99 -O2 -finstrument-functions-after-inlining -I. examples/images.c
              -o images -lpthread -ldl -lm
          gcc knows only -finstrument-functions, which makes a zone of the least helper of each
          pixel too; -finstrument-functions-exclude-function-list=paeth,... leaves some out.
   Run:   ./images [directory [picture...]]    writes a thumbnail of each picture (PNG, JPEG, ...)
          and trace.json there; without pictures it draws one itself */

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PROF_IMPLEMENTATION
#define PROF_INSTRUMENT_FUNCTIONS
#include "prof.h"

#if defined(__GNUC__)
#  pragma GCC diagnostic push
#  pragma GCC diagnostic ignored "-Wconversion"
#  pragma GCC diagnostic ignored "-Wsign-conversion"
#  pragma GCC diagnostic ignored "-Wpedantic"
#  pragma GCC diagnostic ignored "-Wshadow"
#  pragma GCC diagnostic ignored "-Wextra"
#  pragma GCC diagnostic ignored "-Wunused-function"
#  pragma GCC diagnostic ignored "-Wunused-parameter"
#endif
#define STB_IMAGE_IMPLEMENTATION
#include <stb/stb_image.h>
#define STB_IMAGE_RESIZE_IMPLEMENTATION
#include <stb/stb_image_resize.h>
#define STB_IMAGE_WRITE_IMPLEMENTATION
#include <stb/stb_image_write.h>
#if defined(__GNUC__)
#  pragma GCC diagnostic pop
#endif

enum { DRAWN_WIDTH = 256, DRAWN_HEIGHT = 160, THUMBNAIL = 96, COLORS = 3, JPEG_QUALITY = 85 };

typedef struct picture {
    int width, height;
    unsigned char *pixels;   /* COLORS bytes each; from malloc */
} picture;

typedef struct bytes {
    unsigned char *data;     /* from malloc */
    int size;
} bytes;

static bool complain(const char *what, const char *why) {
    fprintf(stderr, "images: %s: %s\n", what, why);
    return false;
}

/* ---- A picture of its own: the Mandelbrot set ---- */

/* Steps until z = z * z + c leaves the circle of radius 2; limit if it stays. No zone of its own:
   it would be one for each pixel. */
static int __attribute__((no_instrument_function)) escape_time(double cx, double cy, int limit) {
    double x = 0, y = 0;
    int steps = 0;
    while (steps < limit && x * x + y * y <= 4) {
        double next = x * x - y * y + cx;
        y = 2 * x * y + cy;
        x = next;
        steps++;
    }
    return steps;
}

static void draw_row(picture *p, int row) {
    unsigned char *pixel = p->pixels + (size_t)row * (size_t)p->width * COLORS;
    for (int column = 0; column < p->width; column++, pixel += COLORS) {
        int steps = escape_time(3.0 * column / p->width - 2.2, 2.0 * row / p->height - 1.0, 256);
        pixel[0] = (unsigned char)(steps < 256 ? steps * 3 : 0);
        pixel[1] = (unsigned char)(steps < 256 ? steps * 7 : 0);
        pixel[2] = (unsigned char)(steps < 256 ? 64 + steps * 11 : 0);
    }
}

static bool draw(picture *p) {
    p->width = DRAWN_WIDTH;
    p->height = DRAWN_HEIGHT;
    p->pixels = (unsigned char *)malloc((size_t)DRAWN_WIDTH * DRAWN_HEIGHT * COLORS);
    if (!p->pixels) return complain("drawing", "out of memory");
    for (int row = 0; row < p->height; row++) draw_row(p, row);
    return true;
}

static bool encode_png(const picture *p, bytes *png) {
    png->data = stbi_write_png_to_mem(p->pixels, p->width * COLORS, p->width, p->height, COLORS,
                                      &png->size);
    return png->data || complain("drawing", "could not be encoded");
}

static bool draw_png(bytes *png) {
    picture p;
    if (!draw(&p)) return false;
    bool ok = encode_png(&p, png);
    free(p.pixels);
    return ok;
}

/* ---- Decode, resize, encode ---- */

static bool read_stream(FILE *file, bytes *b) {
    if (fseek(file, 0, SEEK_END) != 0) return false;
    long size = ftell(file);
    if (size <= 0 || size > INT32_MAX || fseek(file, 0, SEEK_SET) != 0) return false;
    b->data = (unsigned char *)malloc((size_t)size);
    b->size = (int)size;
    return b->data && fread(b->data, 1, (size_t)size, file) == (size_t)size;
}

static bool read_file(const char *path, bytes *b) {
    b->data = NULL;
    FILE *file = fopen(path, "rb");
    bool ok = file && read_stream(file, b);
    if (file) fclose(file);
    if (ok) return true;
    free(b->data);
    return complain(path, "cannot be read");
}

static bool decode(const char *name, const bytes *b, picture *p) {
    int colors;
    p->pixels = stbi_load_from_memory(b->data, b->size, &p->width, &p->height, &colors, COLORS);
    return p->pixels || complain(name, stbi_failure_reason());
}

/* The longer side becomes THUMBNAIL pixels. */
static bool resize(const picture *p, picture *small) {
    int longer = p->width > p->height ? p->width : p->height;
    small->width = (int)((int64_t)p->width * THUMBNAIL / longer);
    small->height = (int)((int64_t)p->height * THUMBNAIL / longer);
    if (small->width < 1) small->width = 1;
    if (small->height < 1) small->height = 1;
    small->pixels = (unsigned char *)malloc((size_t)small->width * (size_t)small->height * COLORS);
    if (small->pixels && stbir_resize_uint8(p->pixels, p->width, p->height, 0, small->pixels,
                                            small->width, small->height, 0, COLORS)) return true;
    free(small->pixels);
    return complain("resize", "out of memory");
}

static bool encode(const picture *p, const char *path) {
    if (stbi_write_jpg(path, p->width, p->height, COLORS, p->pixels, JPEG_QUALITY)) return true;
    return complain(path, "cannot be written");
}

/* DIRECTORY/NAME-thumbnail.jpg, NAME being path's without its folders and ending. */
static void thumbnail_path(char *out, size_t size, const char *directory, const char *path) {
    const char *slash = strrchr(path, '/'), *name = slash ? slash + 1 : path;
    const char *dot = strrchr(name, '.');
    int length = (int)(dot && dot > name ? (size_t)(dot - name) : strlen(name));
    snprintf(out, size, "%s/%.*s-thumbnail.jpg", directory, length, name);
}

static bool make_thumbnail(const char *name, const bytes *b, const char *directory) {
    char path[1024];
    picture p, small;
    if (!decode(name, b, &p)) return false;
    bool ok = resize(&p, &small);
    if (ok) {
        thumbnail_path(path, sizeof path, directory, name);
        ok = encode(&small, path);
        if (ok) printf("%s (%d x %d) -> %s (%d x %d)\n", name, p.width, p.height, path,
                       small.width, small.height);
        free(small.pixels);
    }
    free(p.pixels);
    return ok;
}

static bool process_file(const char *path, const char *directory) {
    bytes b;
    if (!read_file(path, &b)) return false;
    bool ok = make_thumbnail(path, &b, directory);
    free(b.data);
    return ok;
}

static bool process_drawing(const char *directory) {
    bytes png;
    if (!draw_png(&png)) return false;
    bool ok = make_thumbnail("mandelbrot.png", &png, directory);
    free(png.data);
    return ok;
}

static bool process_all(int count, char **paths, const char *directory) {
    if (count == 0) return process_drawing(directory);
    bool ok = true;
    for (int i = 0; i < count; i++) ok = process_file(paths[i], directory) && ok;
    return ok;
}

static void print_table(const prof_trace *trace) {
    prof_averages_desc by_name;
    prof_table_desc table;
    memset(&by_name, 0, sizeof by_name);
    memset(&table, 0, sizeof table);
    table.averages = &by_name;
    table.sort_by = PROF_METRIC_SELF_CPU_TIME_TOTAL;
    table.row_limit = 25;
    prof_print_table(trace, &table);
}

int main(int argc, char **argv) {
    const char *directory = argc > 1 ? argv[1] : ".";
    char path[1024];
    snprintf(path, sizeof path, "%s/trace.json", directory);

    prof_start(NULL);
    bool ok = process_all(argc > 2 ? argc - 2 : 0, argv + 2, directory);
    prof_trace *trace = prof_stop();

    print_table(trace);
    prof_result result = prof_save_chrome(trace, path);
    if (result == PROF_OK) printf("Open %s at ui.perfetto.dev\n", path);
    else ok = complain(path, prof_strerror(result));
    return ok ? EXIT_SUCCESS : EXIT_FAILURE;
}
