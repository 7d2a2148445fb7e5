/* beyond.h - what the lists of all users do to the catalogue. */
#ifndef CWI_EVALUATE_BEYOND_H
#define CWI_EVALUATE_BEYOND_H

#include "core/context.h"

/* In the order of results. */
#define CWI_BEYOND_MAP(X)                                                                          \
    X(coverage)              /* share of the catalogue in at least one list */                     \
    X(gini)                  /* of the times each item was recommended */                          \
    X(entropy)               /* of the same, in bits */                                            \
    X(entropy_share)         /* of the largest possible entropy, log2(items) */                    \
    X(popularity_percentile) /* mean over recommendations, 0..1 */                                 \
    X(tail_share)            /* recommendations outside the most popular fifth of the items */

/* Definitions: docs/metrics.md.  NaN where nothing was recommended. */
typedef struct cwi_beyond {
#define X(name) double name;
    CWI_BEYOND_MAP(X)
#undef X
} cwi_beyond;

/*
 *   times   [n_items] how often each item was recommended
 *   degree  [n_items] in the training set
 */
cw_status cwi_beyond_measure(cw_context *ctx, const int64_t *times, const int64_t *degree,
                             int32_t n_items, cwi_beyond *out);

/* Mean over the recommendations of the item's percentile by value: the share of the items with a
 * smaller value, equal ones (itself among them) counting half. */
cw_status cwi_mean_percentile(cw_context *ctx, const int64_t *times, const double *value, int32_t n,
                              double *out);

/* Spearman's correlation with mean ranks for ties; NaN when one side is constant. */
cw_status cwi_spearman(cw_context *ctx, const double *x, const double *y, int32_t n, double *out);

#endif
