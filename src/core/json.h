/*
 * json.h - JSON text to values, and files of it that tell when they were damaged.
 *
 * Jansson makes and keeps values; it is not let near growing text, since without memory it loses
 * bytes of what it reads or prints, and takes good text for bad.
 */
#ifndef CWI_CORE_JSON_H
#define CWI_CORE_JSON_H

#include <jansson.h>

#include "core/context.h"

/* Parse text[0..length), an object or an array in UTF-8 without a name twice, as a new value.
 * CW_BAD_DATA with "<name>:<line>: it is no JSON: ..." or CW_NO_MEMORY, never one for the other. */
cw_status cwi_json_parse(cw_context *ctx, const char *name, const char *text, size_t length,
                         json_t **out);

/* The same for a text that the library itself has printed. */
cw_status cwi_json_reparse(cw_context *ctx, const char *text, json_t **out);

/* Print any value with Jansson's flags as new text; NULL with a message: no memory.  (json_dumps
 * leaves out keys that find none.) */
char *cwi_json_print(cw_context *ctx, const json_t *value, size_t flags);

/* Is all of it UTF-8? */
bool cwi_json_is_utf8(const char *text, size_t length);

/*
 * A signed text ends with the keys "signed": true and "xxh3_128", the checksum of all bytes before
 * its digits.  Whatever happens to one of its bytes is found: a text that has one of the keys
 * without the right ending is damaged as well.  A text with neither was written by hand or by an
 * earlier version and is believed.
 */
cw_status cwi_json_sign(cw_context *ctx, json_t *root, char **out); /* releases root */

/* Read an object from a file; CW_BAD_DATA when it is none, or signed and damaged.  The two keys are
 * not among what is handed out. */
cw_status cwi_json_load(cw_context *ctx, const char *path, json_t **out);

/* cwi_json_load of text in memory. */
cw_status cwi_json_verify(cw_context *ctx, const char *name, const char *text, size_t length,
                          json_t **out);

#endif
