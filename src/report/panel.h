/* panel.h - charts of rows that have the data in common. */
#ifndef CWI_REPORT_PANEL_H
#define CWI_REPORT_PANEL_H

#include "report/draft.h"

/* The rows of a table that have a dataset and a training set in common. */
typedef struct cwi_panel {
    const cwi_draft *draft;
    const json_t *table; /* NULL when it is about the data themselves */
    const char *dataset, *train_set;
    bool names_train_set; /* there are others in the table */
} cwi_panel;

enum { CWI_NAME_BYTES = 256 };

/* Row number k; NULL past the last. */
const json_t *cwi_panel_row(const cwi_panel *p, size_t k);

/* "CPR on LightGCN" */
const char *cwi_panel_name(const cwi_panel *p, const json_t *row, char out[CWI_NAME_BYTES]);

/* The mean of a test metric; NAN where there is none. */
double cwi_panel_mean(const json_t *row, const char *key);

/* cwi_json_add of a series; values is consumed. */
void cwi_panel_series(json_t **series, const char *name, json_t *values, bool is_reference);

/* Add the section of a chart, which is consumed. */
cw_status cwi_panel_figure(const cwi_panel *p, const char *what, const char *title,
                           const char *text, json_t *chart);

/* ---- settings.c ------------------------------------------------------------------------ */

/* Recall by the option that the rows vary most, such as the ratio; what else they vary, such as k,
 * makes lines of its own. */
cw_status cwi_panel_settings(const cwi_panel *p);

#endif
