/* cells.h - tables of text: for people (Markdown, aligned) and for programs (CSV). */
#ifndef CWI_EXPERIMENT_CELLS_H
#define CWI_EXPERIMENT_CELLS_H

#include "core/file.h"
#include "core/json.h"
#include "evaluate/metrics.h"

enum { CWI_CELL_BYTES = 512, CWI_MARKED_BYTES = 5 * CWI_CELL_BYTES };

/* A table is an array of rows, a row an array of texts; the first row holds the titles. */

/* Columns are padded to equal width; those of numbers are set flush right. */
cw_status cwi_cells_markdown(cw_context *ctx, cwi_writer *out, const json_t *rows);

/* One row of CSV; texts that need it are quoted.  One that a spreadsheet would compute, since it
 * begins with = + - @, a tab or CR and is no number, gets a ' in front. */
void cwi_cells_csv(cwi_writer *out, const json_t *row);

/* Text of others as Markdown that shows it, without markup or HTML; line ends become line_end. */
void cwi_cells_text(cwi_writer *out, const char *text, const char *line_end);
/* The same for a cell, which is one line. */
const char *cwi_cell_marked(const char *text, char out[CWI_MARKED_BYTES]);

/* A number with so many digits after the point, in every locale; "-" when it is none. */
const char *cwi_cell_fixed(double value, int digits, char out[CWI_CELL_BYTES]);

/* {"lr": 0.001, "k": 2} as "lr 0.001, k 2". */
const char *cwi_cell_settings(const json_t *settings, char out[CWI_CELL_BYTES]);

/* What the means of a results table call a metric, such as "recall@20" ("" when no row
 * has it), and the title of its column, "Recall@20".  metric is an index of cwi_metric_table. */
void cwi_cell_metric(const json_t *table, int metric, char key[32], char title[48]);

/* p of the test by which a row is better than the best baseline in a metric; NaN: by none. */
double cwi_cell_p(const json_t *table, size_t row, const char *key);

/* "+9.16 %": how much more ours is than the baseline, of means before they are rounded for the
 * table; "-" where that is no number.  Whatever shows a gain has it from here. */
const char *cwi_cell_gain(double ours, double baseline, char out[CWI_CELL_BYTES]);

/* "= 0.0123" or "< 0.0001". */
const char *cwi_cell_chance(double p, char out[CWI_CELL_BYTES]);

/* Leave out the columns that have nothing but "" and "-" below their titles. */
void cwi_cells_trim(json_t *rows);

/* cwi_json_add of text to a row. */
void cwi_cell_add(json_t **row, const char *text);

#endif
