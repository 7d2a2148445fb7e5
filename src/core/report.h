/* report.h - JSON that the library hands out or stores. */
#ifndef CWI_CORE_REPORT_H
#define CWI_CORE_REPORT_H

#include <jansson.h>

#include "core/options.h"

/* Text as a JSON string; bytes that are not UTF-8 become '?'.  NULL: no memory. */
json_t *cwi_report_string(const char *text);

/* A number, null where it is not finite, which JSON cannot say.  NULL: no memory. */
json_t *cwi_report_number(double value);

/* A new object or array with the same contents.  Jansson's own copies lack what found no memory;
 * this one is NULL then. */
json_t *cwi_report_copy(const json_t *value);

/* All options with their values: numbers as numbers, "not given" as null.  NULL: no memory. */
json_t *cwi_report_options(const cw_options *options);

/* A value as the text of an option; false when it can be none. */
bool cwi_report_value(const json_t *value, char *out, size_t bytes);

/* Put a new value into an object.  The value is consumed, NULL meaning no memory. */
cw_status cwi_report_put(cw_context *ctx, json_t *object, const char *key, json_t *value);

/* Print root (which is released, NULL meaning that it could not be made) as new text. */
cw_status cwi_report_text(cw_context *ctx, json_t *root, char **out);

#endif
