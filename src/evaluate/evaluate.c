/* evaluate.c - the plain evaluation after an epoch of training. */
#include "evaluate/evaluate.h"

#include <string.h>

#include "evaluate/walk.h"

typedef struct tally {
    const cwi_audience *audience;
    const int64_t *degree;
    int32_t k;
    cwi_share sum[CWI_N_METRICS];
    cwi_share *each; /* [audience->n][CWI_N_METRICS], or NULL when the sums are enough */
} tally;

static void add_list(void *arg, const cwi_list *list)
{
    tally *t = arg;
    cwi_share share[CWI_N_METRICS];
    cwi_trial trial =
        cwi_audience_trial(t->audience, t->degree, list->user, list->item, list->count, t->k);
    cwi_trial_measure(&trial, share);
    cwi_shares_add(t->sum, share);
    if (t->each) memcpy(t->each + (int64_t)list->row * CWI_N_METRICS, share, sizeof share);
}

static cw_status rank_all(cw_context *ctx, const cwi_ranker *ranker, const cwi_csr *mask, tally *t)
{
    const double no_dial = 0;
    const cwi_walk walk = {.ranker = ranker,
                           .mask = mask,
                           .users = t->audience->users,
                           .n_users = t->audience->n,
                           .k = t->k,
                           .dials = &no_dial,
                           .n_dials = 1,
                           .collect = add_list,
                           .arg = t};
    return cwi_walk_run(ctx, &walk);
}

cw_status cwi_evaluate(cw_context *ctx, const cwi_ranker *ranker, const cwi_csr *mask,
                       const cwi_pairs *held, const int64_t *degree, const cwi_exposure *exposure,
                       int32_t k, cwi_metrics *out)
{
    cwi_audience audience;
    cw_status status = cwi_audience_create(ctx, held, ranker->n_users, &audience);

    *out = (cwi_metrics){.k = k};
    if (status != CW_OK) return status;
    audience.exposure = exposure;
    audience.mask = mask;
    tally t = {.audience = &audience, .degree = degree, .k = k};
    CW_TRY(rank_all(ctx, ranker, mask, &t));
    cwi_audience_value(&audience, t.sum, out->value);
    for (int m = 0; m < CWI_N_METRICS; m++) out->is_known[m] = cwi_metric_is_known(m, exposure);
    out->users = audience.n;
done:
    cwi_audience_clear(&audience);
    return status;
}

cw_status cwi_evaluate_users(cw_context *ctx, const cwi_ranker *ranker, const cwi_csr *mask,
                             const cwi_audience *audience, const int64_t *degree, int32_t k,
                             cwi_share *each)
{
    cwi_audience masked = *audience;
    masked.mask = mask;
    tally t = {.audience = &masked, .degree = degree, .k = k, .each = each};
    return rank_all(ctx, ranker, mask, &t);
}
