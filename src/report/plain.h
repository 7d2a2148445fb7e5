/* plain.h - the tables of a page's description for papers, web sites and spreadsheets. */
#ifndef CWI_REPORT_PLAIN_H
#define CWI_REPORT_PLAIN_H

#include <jansson.h>

#include "core/file.h"

/* All headings, texts and tables as one document. */
cw_status cwi_plain_markdown(cw_context *ctx, cwi_writer *out, const json_t *page);

/* All tables as table environments; needs the package booktabs. */
void cwi_plain_latex(cwi_writer *out, const json_t *page);

/* One table; spreads and stars get columns of their own. */
cw_status cwi_plain_csv(cw_context *ctx, cwi_writer *out, const json_t *table);

#endif
