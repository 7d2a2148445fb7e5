/* sides.h - records of runs, those that differ in the seed alone side by side. */
#ifndef CWI_EXPERIMENT_SIDES_H
#define CWI_EXPERIMENT_SIDES_H

#include <jansson.h>

#include "core/context.h"

typedef struct cwi_contest_entry {
    const char *path; /* borrowed */
    json_t *record;   /* with "taken" and "settings", which sides.c adds */
    int64_t seed;
    size_t side;
} cwi_contest_entry;

/* What is compared. */
typedef struct cwi_contest {
    cwi_contest_entry *entries; /* [n] in the order given */
    size_t n;
    size_t n_sides;
    const char *part; /* "test" or "valid" */
    json_t *warnings; /* texts */
} cwi_contest;

/* Read the records and find the sides.  Clear it also after a failure. */
cw_status cwi_contest_read(cw_context *ctx, const char *const *paths, size_t n, const char *part,
                           cwi_contest *out);
void cwi_contest_clear(cwi_contest *contest);

/* Say a warning and keep it for the result. */
cw_status cwi_contest_warn(cw_context *ctx, cwi_contest *contest, const char *format, ...)
    CWI_PRINTF(3, 4);

/* The first entry of a side; never NULL. */
const cwi_contest_entry *cwi_contest_first(const cwi_contest *contest, size_t side);
/* The entry of a side with a seed; NULL when there is none. */
const cwi_contest_entry *cwi_contest_find(const cwi_contest *contest, size_t side, int64_t seed);
/* A metric of an entry, NaN when it has none. */
double cwi_contest_value(const cwi_contest *contest, const cwi_contest_entry *entry,
                         const char *metric);

#endif
