/* metrics.h - how good one list is, and means over many. */
#ifndef CWI_EVALUATE_METRICS_H
#define CWI_EVALUATE_METRICS_H

#include "evaluate/evaluate.h"

/* The metrics of cwi_metrics in order; rows of numbers are indexed by these. */
#define CWI_METRIC_MAP(X) X(recall) X(precision) X(ndcg) X(hit_rate) X(mrr) X(map) X(arp)

enum {
#define X(name) CWI_METRIC_##name,
    CWI_METRIC_MAP(X)
#undef X
        CWI_N_METRICS
};

extern const char *const cwi_metric_name[CWI_N_METRICS];

/* One list against what was held out. */
typedef struct cwi_trial {
    const int32_t *item; /* [count] the list, best first */
    int32_t count;
    const int32_t *held; /* [n_held] ascending */
    int64_t n_held;
    int32_t k;             /* the length that was asked for */
    const int64_t *degree; /* [n_items] */
    bool is_capped;        /* Recall divides by min(k, n_held) */
} cwi_trial;

/* Returns the number of hits.  NaN is what cannot be said: see docs/metrics.md. */
int32_t cwi_trial_measure(const cwi_trial *trial, double out[CWI_N_METRICS]);

/* A mean that leaves NaN out. */
typedef struct cwi_mean {
    double sum;
    int64_t count;
} cwi_mean;

void cwi_mean_add(cwi_mean *mean, double value);
double cwi_mean_value(const cwi_mean *mean); /* NaN when there is nothing */

void cwi_means_add(cwi_mean mean[CWI_N_METRICS], const double value[CWI_N_METRICS]);
void cwi_means_value(const cwi_mean mean[CWI_N_METRICS], double value[CWI_N_METRICS]);

/* Rows of held-out pairs by user, sorted, and the users that have any, ascending. */
typedef struct cwi_audience {
    cwi_csr held;
    int32_t *users; /* [n] */
    int32_t n;
} cwi_audience;

cw_status cwi_audience_create(cw_context *ctx, const cwi_pairs *held, int32_t n_users,
                              cwi_audience *out);
void cwi_audience_clear(cwi_audience *audience);

/* A list of a walk as a trial. */
cwi_trial cwi_audience_trial(const cwi_audience *audience, const int64_t *degree, int32_t user,
                             const int32_t *item, int32_t count, int32_t k);

/* The plain evaluation, of every user alone.
 *   value  [audience->n][CWI_N_METRICS] */
cw_status cwi_evaluate_users(cw_context *ctx, const cwi_ranker *ranker, const cwi_csr *mask,
                             const cwi_audience *audience, const int64_t *degree, int32_t k,
                             double *value);

#endif
