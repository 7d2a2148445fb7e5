/* topk.h - the best K of many scores. */
#ifndef CWI_EVALUATE_TOPK_H
#define CWI_EVALUATE_TOPK_H

#include "core/context.h"

/* An item with its score. */
typedef struct cwi_ranked {
    float score;
    int32_t item;
} cwi_ranked;

/*
 * The k best of n scores, best first, equal scores by lower item; items listed in `skip`
 * (ascending, n_skip of them) are left out.  Returns how many there are (fewer than k when
 * candidates run out), or -1 when a candidate's score is NaN.  out has room for k.
 */
int32_t cwi_topk(const float *score, int32_t n, const int32_t *skip, int64_t n_skip, int32_t k,
                 cwi_ranked *out);

#endif
