/* evaluate.h - all-ranking evaluation, shared by training and the evaluate command. */
#ifndef CWI_EVALUATE_EVALUATE_H
#define CWI_EVALUATE_EVALUATE_H

#include "core/options.h"
#include "prepare/csr.h"
#include "prepare/dataset.h"
#include "score/ranker.h"

/* Mean metrics at one K over the users that have held-out items. */
typedef struct cwi_metrics {
    int32_t k;
    int64_t users;
    double recall, precision, ndcg, hit_rate, mrr, map, arp;
} cwi_metrics;

/* Metrics by name, such as "recall": pointers into cwi_metrics; NULL for an unknown name. */
const double *cwi_metric_find(const cwi_metrics *metrics, const char *name);
/* All names as "recall|precision|...". */
extern const char cwi_metric_names[];

enum { CWI_METRIC_BYTES = 16 }; /* room for a name and its end */

/* "recall@20" into its two halves; CW_BAD_ARG when it is something else. */
cw_status cwi_metric_parse(cw_context *ctx, const char *text, char name[CWI_METRIC_BYTES],
                           int32_t *k);

/*
 * The plain evaluation that training needs after an epoch.  The same bits on any number of
 * threads; tells nothing to the progress callback.  Without held-out rows every mean is NaN.
 *   mask    items by user that are no candidates (train), sorted
 *   held    the held-out pairs
 *   degree  [n_items] train degrees, for ARP
 */
cw_status cwi_evaluate(cw_context *ctx, const cwi_ranker *ranker, const cwi_csr *mask,
                       const cwi_pairs *held, const int64_t *degree, int32_t k, cwi_metrics *out);

extern const cw_option_info cwi_evaluate_options[];

#endif
