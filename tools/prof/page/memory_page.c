/* The page of prof memory: see memory_page.h. All data stand in the page; nothing is loaded. */
#include "page/memory_page.h"
#include "input/losses.h"

#include <string.h>

const char *const memory_category_names[MEMORY_CATEGORIES] = {
    "parameter", "optimizer state", "input", "temporary", "activation", "gradient",
    "autograd detail", "unknown"
};

static const char *const lines[] = {
#include "memory_page_html.h"
    NULL
};

/* The page's lines up to this one, which stands for something; NULL: the rest. */
static void write_until(memory_page *page, const char *mark) {
    for (; lines[page->line]; page->line++) {
        if (mark && strcmp(lines[page->line], mark) == 0) break;
        output_text(page->out, lines[page->line]);
    }
    page->line += mark != NULL;
}

/* A text in the script, in which no tag can end it: "a" + "\u003c" + "b" for a<b. */
static void script_text(output *out, const char *text) {
    for (;;) {
        size_t size = strcspn(text, "<");
        output_json_text(out, text, size);
        if (!text[size]) break;
        output_text(out, " + \"\\u003c\" + ");
        text += size + 1;
    }
}

void memory_page_begin(memory_page *page, output *out, const char *title) {
    memset(page, 0, sizeof *page);
    page->out = out;
    for (int i = 0; i < 2; i++) {
        write_until(page, "@TITLE@\n");
        output_text(out, i ? "Memory: " : "");
        output_html_text(out, title, strlen(title));
        output_text(out, "\n");
    }
    write_until(page, "@LOSSES@\n");
    text_list told = losses_told();
    for (size_t i = 0; i < told.count; i++) {
        output_text(out, "<p class=\"lost\" role=\"alert\">");
        output_html_text(out, told.items[i], strlen(told.items[i]));
        output_text(out, "</p>\n");
    }
    write_until(page, "@DATA@\n");
    output_text(out, "const names = [");
    for (int i = 0; i < MEMORY_CATEGORIES; i++)
        output_format(out, "%s\"%s\"", i ? ", " : "", memory_category_names[i]);
    output_text(out, "];\nconst devices = [");
    page->first = true;
}

static void close_device(memory_page *page) {
    if (page->device_open) output_text(page->out, "]}");
    page->device_open = false;
}

void memory_page_device(memory_page *page, const char *name) {
    bool first = page->first;
    close_device(page);
    output_format(page->out, "%s\n{\"name\": \"%s\", \"begin\": ", first ? "" : ",", name);
    page->device_open = true;
    page->first = false;
    page->last_ns = INT64_MIN;
}

void memory_page_change(memory_page *page, int64_t ns, int category, int64_t bytes) {
    bool first = page->last_ns == INT64_MIN;
    if (first) output_format(page->out, "%lld, \"changes\": [", (long long)ns);
    int64_t passed = first ? 0 : ns - page->last_ns;
    output_format(page->out, "%s%lld,%d,%lld", first ? "" : ",", (long long)passed, category,
                  (long long)bytes);
    page->last_ns = ns;
}

void memory_page_holders(memory_page *page) {
    close_device(page);
    output_text(page->out, "\n];\nconst holders = [");
    page->first = true;
}

void memory_page_holder(memory_page *page, uint32_t device, const char *op, int category,
                        int64_t bytes) {
    output_format(page->out, "%s\n[%u, ", page->first ? "" : ",", device);
    page->first = false;
    if (op) script_text(page->out, op);
    else output_text(page->out, "null");
    output_format(page->out, ", %d, %lld]", category, (long long)bytes);
}

void memory_page_end(memory_page *page) {
    output_text(page->out, "\n];\n");
    write_until(page, NULL);
}
