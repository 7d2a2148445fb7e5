/* draft.h - from the results of an experiment to the description of a page. */
#ifndef CWI_REPORT_DRAFT_H
#define CWI_REPORT_DRAFT_H

#include <jansson.h>

#include "core/context.h"

/* A page in the making, and what it is made from. */
typedef struct cwi_draft {
    cw_context *ctx;
    const json_t *results;   /* results.json of an experiment */
    const json_t *published; /* what the paper printed */
    json_t *sections;        /* of the page, in order */
} cwi_draft;

/* Are these results of an experiment?  CW_BAD_DATA names the file and what is wrong with it; the
 * functions below rely on what is checked here. */
cw_status cwi_draft_check(cw_context *ctx, const json_t *results, const char *path);

/* The description of the whole page (docs of cw_report_page), new. */
cw_status cwi_draft_page(cw_context *ctx, const json_t *results, json_t **page);

/* Add a section; it is consumed, NULL meaning no memory. */
cw_status cwi_draft_add(const cwi_draft *d, json_t *section);

enum { CWI_SECTION_BYTES = 128 };

/* A new name for a section and its files, from texts: "03-overall-ml-times". */
void cwi_draft_name(const cwi_draft *d, const char *title, const char *dataset,
                    const char *train_set, const char *what, char out[CWI_SECTION_BYTES]);

/* Run k of those of a row that did not fail, as the results have it; NULL past the last. */
const json_t *cwi_draft_run(const cwi_draft *d, const json_t *row, size_t k);

/* ---- layout.c: a table as papers print it -------------------------------------------- */

/*
 * Rows are methods, columns are datasets with the main metrics each and, where the paper has them,
 * its numbers beside ours.  Rows that stand against each other make a block: the best of it is
 * bold, the best baseline underlined, stars mark methods of `ours` that are better than it by more
 * than chance, and a last row says how much the best of `ours` gains over it.  The new table of a
 * page's description.
 */
cw_status cwi_layout_table(const cwi_draft *d, const json_t *table, json_t **out);

/* ---- figures.c ------------------------------------------------------------------------- */

/* The charts of a table: of settings where it varies them, else how it trains and recommends. */
cw_status cwi_figures_table(const cwi_draft *d, const json_t *table);

/* How the rows of each dataset spread over its items. */
cw_status cwi_figures_data(const cwi_draft *d);

#endif
