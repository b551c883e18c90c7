/* The page of prof report, diff and memory --format html: what it shows beside the rows. */
#ifndef PROF_REPORT_PAGE_H
#define PROF_REPORT_PAGE_H

#include "analysis/rows.h"

typedef struct report_page report_page;

/* prof diff's page: a row of both traces; times are of the device, or of a call itself. */
typedef struct page_pair {
    const char *key;
    bool on_device, is_worse;
    uint64_t count[2];
    int64_t ns[2];
} page_pair;
typedef struct page_comparison {
    const char *names[2];        /* of the traces */
    const char *metric;          /* "total": what ns is of each row */
    const page_pair *rows;
    size_t count;
    page_pair totals[2];         /* CPU, devices */
} page_comparison;

report_page *page_new(row_table *table);         /* NULL: page_takes tells it later */
void page_takes(report_page *page, row_table *table);        /* before its first rows_read */
void page_begin_file(report_page *page, const char *label);  /* around each of them */
void page_end_file(report_page *page);
/* For prof memory, which has no rows: writes what memory was used for (memory_use.js). */
void page_uses_memory(report_page *page, void (*write)(output *out, void *user), void *user);
/* comparison NULL: the table's own rows. */
void page_write(report_page *page, const row_table *table, const char *title,
                const text_list *notes, const page_comparison *comparison, output *out);
void page_free(report_page *page);

#endif
