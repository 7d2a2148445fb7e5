/* png.h - figures as PNG, for those who cannot use the SVG files. */
#ifndef CWI_REPORT_PNG_H
#define CWI_REPORT_PNG_H

#include "core/context.h"

/* Turns SVG files into PNG files with librsvg.  The library is looked for when the first report is
 * made and not before: it brings forty others with it, and training needs none of them. */
typedef struct cwi_painter cwi_painter;

/* *out is NULL, after a remark that says why, where PNG files cannot be made. */
cw_status cwi_painter_open(cw_context *ctx, cwi_painter **out);

/* 300 dots per inch on white; less for a drawing too large for it. */
cw_status cwi_painter_draw(cw_context *ctx, const cwi_painter *painter, const char *svg_path,
                           const char *png_path);

void cwi_painter_close(cwi_painter *painter); /* NULL is fine */

#endif
