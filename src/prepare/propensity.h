/* propensity.h - how likely items are to be seen: a power of their popularity, or a file. */
#ifndef CWI_PREPARE_PROPENSITY_H
#define CWI_PREPARE_PROPENSITY_H

#include "core/elementary.h"
#include "core/file.h"
#include "import/idmap.h"
#include "import/source.h"

/* (degree / most)^power; an item that nobody had has 0 (1 when the power is 0). */
static inline double cwi_propensity(int64_t degree, int64_t most, double power)
{
    return cwi_pow((double)degree / (double)most, power);
}

/* The same for all n items; at least one degree is not 0. */
void cwi_propensity_fill(const int64_t *degree, int32_t n, double power, double *out);

/* Read a file with the header item,propensity and one line for every item of the map: its raw id
 * and a number above 0 and at most 1.  out has room for all items. */
cw_status cwi_propensity_read(cw_context *ctx, cwi_source *source, const cwi_idmap *items,
                              double *out);

/* The same from a path, with their checksum. */
cw_status cwi_propensity_load(cw_context *ctx, const char *path, const cwi_idmap *items,
                              double *out, char hash[CWI_HASH_BYTES]);

#endif
