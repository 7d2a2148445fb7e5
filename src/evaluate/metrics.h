/* metrics.h - how good one list is, and means over many. */
#ifndef CWI_EVALUATE_METRICS_H
#define CWI_EVALUATE_METRICS_H

#include "core/context.h"
#include "evaluate/weights.h"
#include "prepare/csr.h"
#include "prepare/pairs.h"
#include "score/hits.h"

/*
 * The table of metrics: name, how users are put together, what must be known of the exposure, then
 * cw_metric_info: title, digits, whether less is better, place, help.  A new one is a row here and
 * measure_<name> in metrics.c; rows of numbers are in this order.
 */
/* clang-format off */
#define CWI_METRIC_MAP(X)                                                                          \
    X(recall, MEAN, NOTHING, "Recall", 4, false, CW_METRIC_MAIN,                                   \
      "share of the held-out items that are listed")                                               \
    X(precision, MEAN, NOTHING, "Precision", 4, false, CW_METRIC_COMPARED,                         \
      "share of the list that are hits")                                                           \
    X(ndcg, MEAN, NOTHING, "NDCG", 4, false, CW_METRIC_MAIN,                                       \
      "hits by their places, as a share of the best list")                                         \
    X(hit_rate, MEAN, NOTHING, "Hit rate", 4, false, CW_METRIC_LISTED,                             \
      "1 if there is a hit, else 0")                                                               \
    X(mrr, MEAN, NOTHING, "MRR", 4, false, CW_METRIC_LISTED,                                       \
      "1 / place of the first hit, 0 without one")                                                 \
    X(map, MEAN, NOTHING, "MAP", 4, false, CW_METRIC_LISTED,                                       \
      "mean precision at the places of the hits")                                                  \
    X(arp, MEAN, NOTHING, "ARP", 1, true, CW_METRIC_MAIN,                                          \
      "mean number of train rows of the listed items")                                             \
    X(unbiased_recall, RATIO, UNIFORM, "Unbiased recall", 4, false, CW_METRIC_ASKED,               \
      "share of all held-out rows that are listed")                                                \
    X(ips_precision, ALL, WEIGHTS, "IPS precision", 4, false, CW_METRIC_ASKED,                     \
      "hits by 1 / propensity, as a share of the list")                                            \
    X(ips_ndcg, ALL, WEIGHTS, "IPS NDCG", 4, false, CW_METRIC_ASKED,                               \
      "hits by 1 / propensity and their places, as a share of a list of hits alone")               \
    X(snips_recall, RATIO, WEIGHTS, "SNIPS recall", 4, false, CW_METRIC_ASKED,                     \
      "share of all held-out rows that are listed, by 1 / propensity")                             \
    X(snips_dcg, RATIO, WEIGHTS, "SNIPS DCG", 4, false, CW_METRIC_ASKED,                           \
      "mean discount of all held-out rows by their places, by 1 / propensity")
/* clang-format on */

enum {
#define X(name, ...) CWI_METRIC_##name,
    CWI_METRIC_MAP(X)
#undef X
        CWI_N_METRICS
};

extern const cw_metric_info cwi_metric_table[CWI_N_METRICS];

/* How the metric of many users comes from those of one. */
typedef enum cwi_pooling {
    CWI_POOL_MEAN,  /* mean over the users that have a value */
    CWI_POOL_RATIO, /* one sum over users divided by another */
    CWI_POOL_ALL    /* mean over all users: those with nothing held out have 0 */
} cwi_pooling;

/* What it needs to know of the exposure (cwi_exposure) behind the rows. */
typedef enum cwi_need { CWI_NEED_NOTHING, CWI_NEED_UNIFORM, CWI_NEED_WEIGHTS } cwi_need;

extern const cwi_pooling cwi_metric_pooling[CWI_N_METRICS];
extern const cwi_need cwi_metric_need[CWI_N_METRICS];

/* Can it be measured with what is known?  The exposure may be NULL. */
bool cwi_metric_is_known(int metric, const cwi_exposure *exposure);

enum { CWI_METRIC_BYTES = 16, CWI_METRIC_KEY_BYTES = 32 }; /* room for "recall", "recall@20" */

/* "recall@20" into its two halves; CW_BAD_ARG when it is something else. */
cw_status cwi_metric_parse(cw_context *ctx, const char *text, char name[CWI_METRIC_BYTES],
                           int32_t *k);
/* The same of a metric to stop training by, which keeps the largest. */
cw_status cwi_metric_aim(cw_context *ctx, const char *text, char name[CWI_METRIC_BYTES],
                         int32_t *k);
/* The same of the option "metric" of a training, which must also give what the metric needs. */
cw_status cwi_metric_choose(cw_context *ctx, const cw_options *options, char name[CWI_METRIC_BYTES],
                            int32_t *k);
/* The halves put together, which is how results name a metric. */
const char *cwi_metric_key(int metric, int32_t k, char key[CWI_METRIC_KEY_BYTES]);

/* Metrics at one K of the users that have held-out items. */
typedef struct cwi_metrics {
    int32_t k;
    int64_t users;
    double value[CWI_N_METRICS];
    bool is_known[CWI_N_METRICS]; /* else it was not measured */
} cwi_metrics;

/* A pointer into it by name, such as "recall"; NULL for an unknown name. */
const double *cwi_metric_find(const cwi_metrics *metrics, const char *name);

/* What a hit at a place, from 0 on, adds to DCG. */
double cwi_place_discount(int32_t place);

/* One list against what was held out. */
typedef struct cwi_trial {
    const int32_t *item; /* [count] the list, best first */
    int32_t count;
    const int32_t *held; /* [n_held] ascending */
    int64_t n_held;
    int32_t k;                    /* the length that was asked for */
    const int64_t *degree;        /* [n_items] */
    bool is_capped;               /* Recall divides by min(k, n_held) */
    const cwi_exposure *exposure; /* NULL: nothing is known */
    const int32_t *masked;        /* [n_masked] ascending: items that could not be listed */
    int64_t n_masked;
} cwi_trial;

/* What a user brings to a metric: that of many is the sum of `over` divided by that of `under`.
 * Under a value that goes into a mean is 1; both are 0 when there is nothing to say. */
typedef struct cwi_share {
    double over, under;
} cwi_share;

double cwi_share_value(cwi_share share); /* NaN when there is nothing */

/* Returns the number of hits.  See docs/metrics.md for what cannot be said. */
int32_t cwi_trial_measure(const cwi_trial *trial, cwi_share out[CWI_N_METRICS]);

void cwi_shares_add(cwi_share sum[CWI_N_METRICS], const cwi_share share[CWI_N_METRICS]);
void cwi_shares_value(const cwi_share sum[CWI_N_METRICS], double value[CWI_N_METRICS]);

/* A mean that leaves NaN out. */
typedef struct cwi_mean {
    double sum;
    int64_t count;
} cwi_mean;

void cwi_mean_add(cwi_mean *mean, double value);
double cwi_mean_value(const cwi_mean *mean); /* NaN when there is nothing */

/* Rows of held-out pairs by user, sorted, and the users that have any, ascending. */
typedef struct cwi_audience {
    cwi_csr held;
    int32_t *users; /* [n] */
    int32_t n;
    const cwi_exposure *exposure; /* behind the rows; NULL, also with the next, until it is set */
    const cwi_csr *mask;          /* items by user that are no candidates, sorted */
    bool is_kept;                 /* it stays where and as it is: a device may know it again */
} cwi_audience;

cw_status cwi_audience_create(cw_context *ctx, const cwi_pairs *held, int32_t n_users,
                              cwi_audience *out);
void cwi_audience_clear(cwi_audience *audience);

/* Metrics of all users from what the users of the audience brought together. */
void cwi_audience_value(const cwi_audience *audience, const cwi_share sum[CWI_N_METRICS],
                        double value[CWI_N_METRICS]);

/* So many more users who have nothing held out. */
void cwi_shares_add_absent(cwi_share sum[CWI_N_METRICS], const cwi_exposure *exposure,
                           int64_t n_absent);

/* A list of a walk as a trial. */
cwi_trial cwi_audience_trial(const cwi_audience *audience, const int64_t *degree, int32_t user,
                             const int32_t *item, int32_t count, int32_t k);

#endif
