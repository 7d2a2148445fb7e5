/* markup.h - text within HTML and SVG. */
#ifndef CWI_REPORT_MARKUP_H
#define CWI_REPORT_MARKUP_H

#include "core/file.h"
#include "core/json.h"

/* Text between tags or within the quotes of an attribute. */
void cwi_markup_text(cwi_writer *out, const char *text);
void cwi_markup_part(cwi_writer *out, const char *text, size_t length); /* the beginning of it */

/* Is column c of the rows of a table one of numbers, to be set flush right? */
bool cwi_markup_is_numeric(const json_t *rows, size_t c);

/* What a screen reader says in place of a chart; escaped. */
void cwi_markup_label(cwi_writer *out, const json_t *chart);

#endif
