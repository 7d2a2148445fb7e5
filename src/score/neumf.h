/* neumf.h - what training and ranking by NeuMF share. */
#ifndef CWI_SCORE_NEUMF_H
#define CWI_SCORE_NEUMF_H

#include "score/tower.h"

/*
 * The first layer of some items ([0]) and users ([1]), head by head:
 *   out = vectors W + bias, W the upper half of W_0 for users, the lower for items,
 * which have no bias.  The vectors of the users are then multiplied by their part of h.
 *   vectors  [rows][d], the columns of a head side by side
 *   out      [rows][sum of the first sizes]
 */
cw_status cwi_neumf_enter(cw_context *ctx, const cwi_tower *tower, int32_t heads,
                          const cwi_matrix vectors[2], const cwi_matrix out[2]);

/* cwi_backbone.rank */
cw_status cwi_neumf_rank(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                         const cwi_params *params, cwi_ranker *out);

#endif
