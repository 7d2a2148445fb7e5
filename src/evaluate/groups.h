/* groups.h - items and users in groups of equal shares of the interactions. */
#ifndef CWI_EVALUATE_GROUPS_H
#define CWI_EVALUATE_GROUPS_H

#include "evaluate/metrics.h"

enum { CWI_MAX_GROUPS = 64 };

/*
 * Number the ids 0..n-1 by groups whose degree sums are nearly equal; group 0 has the smallest
 * degrees.  With the ids in ascending order of degree (ties by id), running sum c and total S, an
 * id is in the group that counts the boundaries S q/G, q = 1..G-1, strictly below its c.
 *   group  [n]
 */
cw_status cwi_degree_groups(cw_context *ctx, const int64_t *degree, int32_t n, int32_t n_groups,
                            uint8_t *group);

/* What one group of items got, over users. */
typedef struct cwi_group_tally {
    cwi_share sum[CWI_N_METRICS];
    cwi_mean listed, hits; /* items of the group in a list, and those that were held out */
} cwi_group_tally;

/*
 * Add a list, cut to each group of items in turn: places are counted anew and the length of the
 * cut list takes the place of K.
 *   room  [trial->count + trial->n_held] to work in
 */
void cwi_group_add(cwi_group_tally *tally, int32_t n_groups, const uint8_t *group,
                   const cwi_trial *trial, int32_t *room);

#endif
