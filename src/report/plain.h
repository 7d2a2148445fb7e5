/* plain.h - the tables of a page's description for papers, web sites and spreadsheets. */
#ifndef CWI_REPORT_PLAIN_H
#define CWI_REPORT_PLAIN_H

#include <jansson.h>

#include "core/file.h"
#include "experiment/cells.h"

/* All headings, texts and tables as one document. */
cw_status cwi_plain_markdown(cw_context *ctx, cwi_writer *out, const json_t *page);

/* All tables as table environments; needs the package booktabs. */
void cwi_plain_latex(cwi_writer *out, const json_t *page);

/* One table; spreads and stars get columns of their own. */
cw_status cwi_plain_csv(cw_context *ctx, cwi_writer *out, const json_t *table);

/* The title of column c by itself, with what stands above it: "ml Recall@20". */
void cwi_plain_title(const json_t *table, size_t c, char out[CWI_CELL_BYTES]);

#endif
