/* evaluate.h - all-ranking evaluation, shared by training and the evaluate command. */
#ifndef CWI_EVALUATE_EVALUATE_H
#define CWI_EVALUATE_EVALUATE_H

#include "core/options.h"
#include "evaluate/metrics.h"
#include "prepare/dataset.h"
#include "score/ranker.h"

/*
 * The plain evaluation that training needs after an epoch.  The same bits on any number of
 * threads; tells nothing to the progress callback.  Without held-out rows every metric is NaN.
 *   mask    items by user that are no candidates (train), sorted
 *   held    the held-out pairs
 *   degree  [n_items] train degrees, for ARP
 *   exposure  behind the held-out pairs; NULL when nothing is known of it
 */
cw_status cwi_evaluate(cw_context *ctx, const cwi_ranker *ranker, const cwi_csr *mask,
                       const cwi_pairs *held, const int64_t *degree, const cwi_exposure *exposure,
                       int32_t k, cwi_metrics *out);

/* The same for an audience, which knows mask and exposure. */
cw_status cwi_evaluate_audience(cw_context *ctx, const cwi_ranker *ranker,
                                const cwi_audience *audience, const int64_t *degree, int32_t k,
                                cwi_metrics *out);

/* The same, of every user alone; the audience knows the exposure.
 *   each  [audience->n][CWI_N_METRICS] */
cw_status cwi_evaluate_users(cw_context *ctx, const cwi_ranker *ranker, const cwi_csr *mask,
                             const cwi_audience *audience, const int64_t *degree, int32_t k,
                             cwi_share *each);

extern const cw_option_info cwi_evaluate_options[];

#endif
