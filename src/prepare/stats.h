/* stats.h - figures that describe a dataset. */
#ifndef CWI_PREPARE_STATS_H
#define CWI_PREPARE_STATS_H

#include <jansson.h>

#include "prepare/csr.h"
#include "prepare/dataset.h"

/* Sort counts in ascending order, as the next ones want them. */
void cwi_sort_counts(int64_t *counts, int64_t n);

/* Gini coefficient of values in ascending order: 0 all equal, towards 1 all in one. */
double cwi_gini(const int64_t *ascending, int64_t count);

/* Share of the sum held by the largest round-up(share * count) values. */
double cwi_top_share(const int64_t *ascending, int64_t count, double share);

/* Smallest value that at least the share q of values do not exceed (q = 0 is the minimum). */
int64_t cwi_quantile(const int64_t *ascending, int64_t count, double q);

/* Quantiles, mean, Gini and top shares of the degrees of n ids in count rows.  Sets *out to a new
 * JSON object. */
cw_status cwi_degree_stats(cw_context *ctx, const int32_t *ids, int64_t count, int32_t n,
                           json_t **out);

/* Quantiles and mean of the propensities (degree / largest)^power of n items in count rows, at
 * least one. */
cw_status cwi_propensity_stats(cw_context *ctx, const int32_t *items, int64_t count, int32_t n,
                               double power, json_t **out);

/* Rows, users and items of one part. */
cw_status cwi_part_stats(cw_context *ctx, const cw_dataset *dataset, cw_part part, json_t **out);

/*
 * Share of k-samples that CPR accepts: k interactions drawn independently from train, all k cross
 * pairs (u_j, i_{j+1}) absent from train.  All tuples are counted when there are few, otherwise
 * a million are drawn.
 *   train     by user, rows sorted
 *   error     standard error of the estimate, 0 when all were counted
 */
cw_status cwi_acceptance(cw_context *ctx, const cwi_pairs *pairs, const cwi_csr *train, int k,
                         double *rate, double *error);

#endif
