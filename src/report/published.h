/* published.h - what the paper printed. */
#ifndef CWI_REPORT_PUBLISHED_H
#define CWI_REPORT_PUBLISHED_H

#include <jansson.h>

#include "core/context.h"

/* src/report/published.json, read anew. */
cw_status cwi_published_read(cw_context *ctx, json_t **out);

/* The name of the paper's dataset that has so many users and items; NULL: none of them. */
const char *cwi_published_dataset(const json_t *published, json_int_t users, json_int_t items);

/* The paper's way to write a method or backbone; the name itself where it has none. */
const char *cwi_published_title(const json_t *published, const char *name);

/* A number of the paper for a row of an experiment; NAN where it has none.  metric is a name
 * such as "recall"; dataset may be NULL. */
double cwi_published_value(const json_t *published, const char *dataset, const json_t *row,
                           const char *metric);

/* The file, embedded by the build. */
extern const unsigned char cwi_published[];
extern const size_t cwi_published_bytes;

#endif
