/* neumf.h - what training and ranking by NeuMF share. */
#ifndef CWI_SCORE_NEUMF_H
#define CWI_SCORE_NEUMF_H

#include "score/tower.h"

/*
 * The first layer of some vectors, all of users or all of items:
 *   out = vectors W + bias, W the upper half of W_0 for users, the lower for items
 * head by head; the items have no bias.
 *   vectors  [rows][d], the columns of a head side by side
 *   out      [rows][sum of the first sizes]
 */
cw_status cwi_neumf_first(cw_context *ctx, const cwi_tower *tower, int32_t heads, bool is_user,
                          const cwi_matrix *vectors, const cwi_matrix *out);

/* cwi_backbone.rank */
cw_status cwi_neumf_rank(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                         const cwi_params *params, cwi_ranker *out);

#endif
