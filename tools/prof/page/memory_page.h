/* The page that `prof memory -o FILE.html` writes: a stacked plot of memory by category. */
#ifndef PROF_MEMORY_PAGE_H
#define PROF_MEMORY_PAGE_H

#include "base/common.h"

enum {                          /* PyTorch's numbers */
    MEMORY_PARAMETER, MEMORY_OPTIMIZER_STATE, MEMORY_INPUT, MEMORY_TEMPORARY, MEMORY_ACTIVATION,
    MEMORY_GRADIENT, MEMORY_AUTOGRAD_DETAIL, MEMORY_UNKNOWN, MEMORY_CATEGORIES
};
extern const char *const memory_category_names[MEMORY_CATEGORIES];

typedef struct memory_page {
    output *out;
    int64_t last_ns;
    bool first, device_open;
    size_t line;                 /* of the page, that is to be written next */
} memory_page;

/* In this order: begin, each device with its changes, holders, each holder at the peak, end. */
void memory_page_begin(memory_page *page, output *out, const char *title);
void memory_page_device(memory_page *page, const char *name);
void memory_page_change(memory_page *page, int64_t ns, int category, int64_t bytes);
void memory_page_holders(memory_page *page);
void memory_page_holder(memory_page *page, uint32_t device, const char *op, int category,
                        int64_t bytes);
void memory_page_end(memory_page *page);

#endif
