/* svg.h - a chart of a page's description as a drawing for a paper. */
#ifndef CWI_REPORT_SVG_H
#define CWI_REPORT_SVG_H

#include <jansson.h>

#include "core/file.h"

/* Black text on nothing, series apart by hue, dashes and points or hatching. */
void cwi_svg_chart(cwi_writer *out, const json_t *chart, const char *title);

#endif
