/* page.h - a description of text, tables and charts as one HTML file. */
#ifndef CWI_REPORT_PAGE_H
#define CWI_REPORT_PAGE_H

#include <jansson.h>

#include "core/file.h"

/* Is this a description as crosswise.h documents it?  CW_BAD_DATA names what is wrong with it;
 * the code that writes pages relies on all that is checked here. */
cw_status cwi_page_check(cw_context *ctx, const json_t *root);

/* Leave out the columns in which no row has anything, of a table or of all tables of a page; it was
 * checked. */
void cwi_table_trim(json_t *table);
void cwi_page_trim(json_t *page);

/* Is x an axis of numbers, not of words? */
bool cwi_chart_has_numbers(const json_t *chart);

/* The numbers of a chart as a table of a description, new; NULL: no memory. */
json_t *cwi_chart_table(const json_t *chart);

/* Files that cwi_page_write wrote, and folders of cw_report_experiment. */
extern const cwi_file_kind cwi_page_kind;
extern const cwi_folder_kind cwi_report_kind;

/* Write the page of a description that was checked; only another page is replaced. */
cw_status cwi_page_write(cw_context *ctx, const json_t *root, const char *path);

/* Files that pages carry, embedded by the build. */
extern const unsigned char cwi_chart_js[], cwi_page_js[], cwi_page_css[];
extern const size_t cwi_chart_js_bytes, cwi_page_js_bytes, cwi_page_css_bytes;

#endif
