/* assess.c - one walk over the users, then everything that can be said of their lists. */
#include "evaluate/assess.h"

#include "comm/world.h"
#include "core/elementary.h"

typedef struct assessor {
    const cwi_subject *subject;
    const cwi_request *request;
    cwi_findings *findings;
} assessor;

static void add_list(void *arg, const cwi_list *list)
{
    const assessor *a = arg;
    const cwi_request *request = a->request;
    cwi_findings *f = a->findings;

    for (int32_t j = 0; j < request->n_ks; j++) {
        cwi_share *share = f->share + ((int64_t)list->row * request->n_ks + j) * CWI_N_METRICS;
        cwi_trial trial = cwi_audience_trial(&f->audience, a->subject->degree, list->user,
                                             list->item, list->count, request->k[j]);
        trial.is_capped = request->is_capped;
        cwi_trial_measure(&trial, share);
        if (j > 0) continue;
        cwi_group_add(f->group, request->n_groups, f->item_group, &trial, f->room);
        for (int32_t p = 0; p < trial.count; p++) f->recommended[trial.item[p]]++;
    }
}

static int64_t most_held(const cwi_audience *audience)
{
    int64_t most = 0;
    for (int32_t r = 0; r < audience->n; r++) {
        const int64_t *start = audience->held.start + audience->users[r];
        if (start[1] - start[0] > most) most = start[1] - start[0];
    }
    return most;
}

static cw_status allocate(cw_context *ctx, const cwi_subject *subject, const cwi_request *request,
                          cwi_findings *f)
{
    size_t n_items = (size_t)subject->ranker->n_items, n_users = (size_t)subject->ranker->n_users;
    size_t row = (size_t)request->n_ks * CWI_N_METRICS * sizeof *f->share;
    int32_t main_k = request->k[0];
    if (main_k > subject->ranker->n_items) main_k = subject->ranker->n_items;
    size_t room = (size_t)main_k + (size_t)most_held(&f->audience);

    f->log_degree = cwi_pile_add(ctx, &f->pile, n_items, sizeof *f->log_degree);
    f->share = cwi_pile_add(ctx, &f->pile, (size_t)f->audience.n, row);
    f->recommended = cwi_pile_add_zero(ctx, &f->pile, n_items, sizeof *f->recommended);
    f->item_group = cwi_pile_add(ctx, &f->pile, n_items, 1);
    f->user_group = cwi_pile_add(ctx, &f->pile, n_users, 1);
    f->room = cwi_pile_add(ctx, &f->pile, room, sizeof *f->room);
    CW_PASS(f->pile.status);
    for (size_t i = 0; i < n_items; i++) f->log_degree[i] = cwi_log1p((double)subject->degree[i]);
    return CW_OK;
}

/* Does exposure decide what is recommended? */
static cw_status compare_propensity(cw_context *ctx, const cwi_subject *subject, cwi_findings *f)
{
    int32_t n_items = subject->ranker->n_items;
    double *times = cwi_pile_add(ctx, &f->pile, (size_t)n_items, sizeof *times);
    double *propensity = cwi_pile_add(ctx, &f->pile, (size_t)n_items, sizeof *propensity);

    CW_PASS(f->pile.status);
    for (int32_t i = 0; i < n_items; i++) {
        times[i] = (double)f->recommended[i];
        propensity[i] = (double)subject->truth->item_propensity[i];
    }
    CW_PASS(
        cwi_mean_percentile(ctx, f->recommended, propensity, n_items, &f->propensity_percentile));
    return cwi_spearman(ctx, times, propensity, n_items, &f->propensity_correlation);
}

/* Intervals of the metrics that are known, which lie side by side for it. */
static cw_status resample(cw_context *ctx, const cwi_request *request, cwi_findings *f)
{
    cw_status status;
    const cwi_audience *audience = &f->audience;
    int32_t columns = request->n_ks * CWI_N_METRICS, known = 0;
    int32_t column[CWI_MAX_KS * CWI_N_METRICS];
    cwi_share absent[CWI_MAX_KS * CWI_N_METRICS] = {{0}};
    cwi_interval interval[CWI_MAX_KS * CWI_N_METRICS];
    for (int32_t c = 0; c < columns; c++) {
        int m = c % CWI_N_METRICS;
        if (!cwi_metric_is_known(m, audience->exposure)) continue;
        absent[known].under = cwi_metric_pooling[m] == CWI_POOL_ALL;
        column[known++] = c;
    }
    cwi_share *share = cwi_alloc(ctx, (size_t)audience->n, (size_t)known * sizeof *share);
    if (!share) return CW_NO_MEMORY;
    for (int64_t r = 0; r < audience->n; r++)
        for (int32_t c = 0; c < known; c++)
            share[r * known + c] = f->share[r * columns + column[c]];
    CW_TRY(cwi_bootstrap(ctx, share, audience->n, known, absent,
                         audience->held.n_rows - audience->n, request->n_resamples, request->seed,
                         interval));
    for (int32_t c = 0; c < known; c++) f->interval[column[c]] = interval[c];
done:
    cwi_free(share);
    return status;
}

/* Is it this process that has all lists? */
static bool leads(const cwi_subject *subject)
{
    return !subject->world || subject->world->rank == 0;
}

/* What needs more walks or draws, each only when asked for. */
static cw_status assess_more(cw_context *ctx, const cwi_subject *subject,
                             const cwi_request *request, const cwi_walk *walk, cwi_findings *f)
{
    cwi_walk main_walk = *walk;

    main_walk.k = request->k[0];
    if (request->n_resamples > 0 && leads(subject)) CW_PASS(resample(ctx, request, f));
    if (subject->truth) {
        CW_PASS(
            cwi_agreement_measure(ctx, &main_walk, subject->truth, request->seed, &f->agreement));
        if (leads(subject)) CW_PASS(compare_propensity(ctx, subject, f));
    }
    if (request->sweeps)
        CW_PASS(cwi_sweep_run(ctx, &main_walk, &f->audience, subject->degree, request, &f->sweep));
    return CW_OK;
}

cw_status cwi_assess(cw_context *ctx, const cwi_subject *subject, const cwi_request *request,
                     cwi_findings *out)
{
    const cwi_ranker *ranker = subject->ranker;
    assessor a = {subject, request, out};

    *out = (cwi_findings){0};
    CW_PASS(cwi_audience_create(ctx, subject->held, ranker->n_users, &out->audience));
    out->audience.exposure = subject->exposure;
    out->audience.mask = subject->mask;
    CW_PASS(allocate(ctx, subject, request, out));
    CW_PASS(cwi_degree_groups(ctx, subject->degree, ranker->n_items, request->n_groups,
                              out->item_group));
    CW_PASS(cwi_degree_groups(ctx, subject->user_degree, ranker->n_users, request->n_groups,
                              out->user_group));
    const cwi_walk walk = {.ranker = ranker,
                           .mask = subject->mask,
                           .users = out->audience.users,
                           .n_users = out->audience.n,
                           .k = request->k_max,
                           .dials = &request->popularity,
                           .n_dials = 1,
                           .log_degree = out->log_degree,
                           .collect = add_list,
                           .arg = &a,
                           .stage = "ranking",
                           .world = subject->world};
    CW_PASS(cwi_walk_run(ctx, &walk));
    if (leads(subject))
        CW_PASS(cwi_beyond_measure(ctx, out->recommended, subject->degree, ranker->n_items,
                                   &out->beyond));
    return assess_more(ctx, subject, request, &walk, out);
}

void cwi_findings_clear(cwi_findings *findings)
{
    cwi_audience_clear(&findings->audience);
    cwi_pile_clear(&findings->pile);
    *findings = (cwi_findings){0};
}
