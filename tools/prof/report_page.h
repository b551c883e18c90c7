/* The page of prof report --format html: what it shows beside the rows. */
#ifndef PROF_REPORT_PAGE_H
#define PROF_REPORT_PAGE_H

#include "rows.h"

typedef struct report_page report_page;

report_page *page_new(row_table *table);         /* before the first rows_read */
void page_begin_file(report_page *page, const char *path);   /* around each of them */
void page_end_file(report_page *page);
void page_write(report_page *page, const row_table *table, const char *title,
                const text_list *notes, output *out);
void page_free(report_page *page);

#endif
