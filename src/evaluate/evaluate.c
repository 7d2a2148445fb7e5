/* evaluate.c - the plain evaluation after an epoch of training. */
#include "evaluate/evaluate.h"

#include "evaluate/metrics.h"
#include "evaluate/walk.h"

typedef struct tally {
    const cwi_audience *audience;
    const int64_t *degree;
    int32_t k;
    cwi_mean mean[CWI_N_METRICS];
} tally;

static void add_list(void *arg, const cwi_list *list)
{
    tally *t = arg;
    double value[CWI_N_METRICS];
    cwi_trial trial =
        cwi_audience_trial(t->audience, t->degree, list->user, list->item, list->count, t->k);
    cwi_trial_measure(&trial, value);
    cwi_means_add(t->mean, value);
}

cw_status cwi_evaluate(cw_context *ctx, const cwi_ranker *ranker, const cwi_csr *mask,
                       const cwi_pairs *held, const int64_t *degree, int32_t k, cwi_metrics *out)
{
    const double no_dial = 0;
    double value[CWI_N_METRICS];
    cwi_audience audience;
    cw_status status = cwi_audience_create(ctx, held, ranker->n_users, &audience);

    *out = (cwi_metrics){.k = k};
    if (status != CW_OK) return status;
    tally t = {.audience = &audience, .degree = degree, .k = k};
    const cwi_walk walk = {.ranker = ranker,
                           .mask = mask,
                           .users = audience.users,
                           .n_users = audience.n,
                           .k = k,
                           .dials = &no_dial,
                           .n_dials = 1,
                           .collect = add_list,
                           .arg = &t};
    CW_TRY(cwi_walk_run(ctx, &walk));
    cwi_means_value(t.mean, value);
    out->users = audience.n;
#define X(name) out->name = value[CWI_METRIC_##name];
    CWI_METRIC_MAP(X)
#undef X
done:
    cwi_audience_clear(&audience);
    return status;
}
