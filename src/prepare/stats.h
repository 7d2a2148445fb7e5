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

/* Put "parts" into an object: rows, users and items of every part that is there, by these names. */
cw_status cwi_stats_parts(cw_context *ctx, const cw_dataset *dataset,
                          const char *const name[CWI_PARTS], json_t **object);

/* "user_degrees" and "item_degrees": quantiles, mean, Gini and top shares of those in train. */
cw_status cwi_stats_degrees(cw_context *ctx, const cw_dataset *dataset, json_t **object);

/* "propensities": quantiles and mean of (degree / largest)^power of the items of train, which has
 * rows. */
cw_status cwi_stats_propensities(cw_context *ctx, const cw_dataset *dataset, double power,
                                 json_t **object);

/* "origin": how the dataset was made, where that is known. */
cw_status cwi_stats_origin(cw_context *ctx, const cw_dataset *dataset, json_t **object);

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
