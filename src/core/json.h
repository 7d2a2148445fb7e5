/*
 * json.h - JSON: values made and read, and files that tell when they were damaged.
 *
 * Jansson makes and keeps values; it is not let near growing text, since without memory it loses
 * bytes of what it reads or prints, and takes good text for bad.
 */
#ifndef CWI_CORE_JSON_H
#define CWI_CORE_JSON_H

#include <jansson.h>

#include "core/options.h"

/* ---- making values -------------------------------------------------------------
 *
 * NULL is a value that found no memory, and so is all it was to be a part of: only the end of what
 * is made needs a look.
 */

/* Put a new value, which is consumed, into *object or at the end of *array. */
void cwi_json_set(json_t **object, const char *key, json_t *value);
void cwi_json_add(json_t **array, json_t *value);

/* Text as a string; bytes that are not UTF-8 become '?'. */
json_t *cwi_json_string(const char *text);

/* A number, null where it is not finite, which JSON cannot say. */
json_t *cwi_json_number(double value);

/* A new object or array with the same contents.  (Jansson's own copies lack what found no memory.)
 */
json_t *cwi_json_copy(const json_t *value);

/* Put those values of `from` under the keys "a|b|c" into *to that it has. */
void cwi_json_copy_keys(const json_t *from, const char *keys, json_t **to);

/* All options with their values: numbers as numbers, "not given" as null. */
json_t *cwi_json_options(const cw_options *options);

/* Is it all there?  CW_NO_MEMORY with a message when it is NULL. */
cw_status cwi_json_check(cw_context *ctx, const json_t *value);

/* ---- reading values -------------------------------------------------------------- */

/* Text of an object, "" when it has none there. */
const char *cwi_json_get_text(const json_t *object, const char *key);

/* A number of an object, 0 when it has none there. */
double cwi_json_get_number(const json_t *object, const char *key);

/* A number; NaN when the value is none, or NULL. */
double cwi_json_to_number(const json_t *value);

/* The text of an option with this value; false when it can be none. */
bool cwi_json_to_text(const json_t *value, char *out, size_t bytes);

/* Is there one of the list that is equal to the value, or this text? */
bool cwi_json_has(const json_t *list, const json_t *value);
bool cwi_json_has_text(const json_t *list, const char *text);

enum { CWI_PLACE_BYTES = 160 };

/* A value, NULL where there is none, and where it stands, such as tables[0].grid.lr[1]. */
typedef struct cwi_place {
    char text[CWI_PLACE_BYTES];
    const json_t *value;
} cwi_place;

cwi_place cwi_place_field(const cwi_place *place, const char *field);
cwi_place cwi_place_index(const cwi_place *place, size_t index);

/* ---- texts ----------------------------------------------------------------------- */

/* Parse text[0..length), an object or an array in UTF-8 without a name twice, as a new value.
 * CW_BAD_DATA with "<name>:<line>: it is no JSON: ..." or CW_NO_MEMORY, never one for the other. */
cw_status cwi_json_parse(cw_context *ctx, const char *name, const char *text, size_t length,
                         json_t **out);

/* The same for a text that the library itself has printed. */
cw_status cwi_json_reparse(cw_context *ctx, const char *text, json_t **out);

/* Print any value with Jansson's flags as new text; NULL with a message: no memory.  (json_dumps
 * leaves out keys that find none.) */
char *cwi_json_print(cw_context *ctx, const json_t *value, size_t flags);

/* Print root, which is released, the way the library stores it and hands it out. */
cw_status cwi_json_text(cw_context *ctx, json_t *root, char **out);

/* Is all of it UTF-8? */
bool cwi_json_is_utf8(const char *text, size_t length);

/* ---- files -----------------------------------------------------------------------
 *
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
