/* idset.h - a set of small numbers that lists them in order, at the cost of its members. */
#ifndef CWI_CORE_IDSET_H
#define CWI_CORE_IDSET_H

#include "core/context.h"

typedef struct cwi_idset {
    uint64_t *word;   /* a bit for every number */
    uint64_t *filled; /* a bit for every word that is not 0 */
    int64_t n_filled; /* words of those */
} cwi_idset;

/* An empty set for numbers 0 .. n - 1. */
cw_status cwi_idset_create(cw_context *ctx, int64_t n, cwi_idset *out);
void cwi_idset_clear(cwi_idset *set); /* frees; a zeroed one is fine */

static inline void cwi_idset_add(cwi_idset *set, int32_t id)
{
    set->word[id >> 6] |= 1ull << (id & 63);
    set->filled[id >> 12] |= 1ull << (id >> 6 & 63);
}

/* Move all members to a list, ascending.  Returns how many there are. */
int64_t cwi_idset_take(cwi_idset *set, int32_t *list);

#endif
