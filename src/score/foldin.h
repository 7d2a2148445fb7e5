/* foldin.h - a vector for somebody who was not there at training. */
#ifndef CWI_SCORE_FOLDIN_H
#define CWI_SCORE_FOLDIN_H

#include "score/ranker.h"

/*
 * The vector u of a new user who liked the n distinct items (n at least 1), by ridge regression on
 * implicit feedback: u minimises
 *   sum over liked i of (1 - u.v_i)^2 + w0 * sum over all i of (u.v_i)^2 + lambda * |u|^2
 * with w0 = n / n_items and lambda = 0.1 * n * tr(V^T V) / (n_items * width), so that the scores
 * depend neither on the scale of the item vectors nor on how many items there are; or with those of
 * the ranker's `fold`, where the model was trained by the same regression.
 *   u  [width]
 * CW_BAD_DATA when the item vectors do not determine it, as when all are zero.
 */
cw_status cwi_foldin_vector(cw_context *ctx, const cwi_ranker *ranker, const int32_t *items,
                            int32_t n, float *u);

/* From now on the ranker keeps the part of this that is the same for all users, once it was made:
 * many threads may ask at once.  Freed with the ranker; nothing is done where fold_in is another.
 */
cw_status cwi_foldin_keep(cw_context *ctx, cwi_ranker *ranker);

/* explain of such a ranker: u is linear in the items that were liked, so a score is a sum over
 * them.
 */
cw_status cwi_foldin_explain(cw_context *ctx, const cwi_ranker *ranker, const int32_t *items,
                             int32_t n, int32_t item, float *added);

/* fold_in of a ranker that has `items`: the scores of all items by that vector. */
cw_status cwi_foldin_dot(cw_context *ctx, const cwi_ranker *ranker, const int32_t *items, int32_t n,
                         float *out);

#endif
