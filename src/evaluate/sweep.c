/* sweep.c - the popularity dial from end to end. */
#include "evaluate/sweep.h"

#include <math.h>

#include "core/mem.h"

typedef struct tour {
    const cwi_audience *audience;
    const int64_t *degree;
    const cwi_request *request;
    cwi_share sum[CWI_MAX_DIALS][CWI_N_METRICS];
} tour;

static void add_list(void *arg, const cwi_list *list)
{
    tour *t = arg;
    cwi_share share[CWI_N_METRICS];
    cwi_trial trial = cwi_audience_trial(t->audience, t->degree, list->user, list->item,
                                         list->count, t->request->k[0]);
    trial.is_capped = t->request->is_capped;
    cwi_trial_measure(&trial, share);
    cwi_shares_add(t->sum[list->dial], share);
}

static double deviation(double sum, double squares, double n)
{
    double variance = squares / n - (sum / n) * (sum / n);
    return variance > 0 ? sqrt(variance) : 0;
}

/* Mean over some users of the standard deviation of their finite scores. */
static cw_status find_spread(cw_context *ctx, const cwi_walk *walk, double *spread)
{
    enum { ASKED = 64 };
    int32_t n_items = walk->ranker->n_items, asked = walk->n_users < ASKED ? walk->n_users : ASKED;
    float *score = cwi_alloc(ctx, (size_t)n_items, sizeof *score);
    cw_status status = score ? CW_OK : CW_NO_MEMORY;

    *spread = 0;
    for (int32_t a = 0; a < asked && score; a++) {
        double sum = 0, squares = 0, n = 0;
        int32_t user = walk->users[(int64_t)a * walk->n_users / asked];
        CW_TRY(cwi_ranker_bring(ctx, walk->ranker, &user, 1));
        walk->ranker->score(walk->ranker, &user, 1, score);
        for (int32_t i = 0; i < n_items; i++) {
            if (!isfinite(score[i])) continue;
            sum += (double)score[i];
            squares += (double)score[i] * (double)score[i];
            n++;
        }
        if (n > 0) *spread += deviation(sum, squares, n) / asked;
    }
done:
    cwi_free(score);
    return status;
}

/* With dial 1 times the unit, popularity moves scores as much as the model itself does. */
static cw_status choose_dials(cw_context *ctx, const cwi_walk *walk, cwi_sweep *out)
{
    static const double step[] = {-2, -1, -0.5, -0.25, 0, 0.25, 0.5, 1, 2};
    int32_t n_items = walk->ranker->n_items;
    double sum = 0, squares = 0, spread;
    CW_PASS(find_spread(ctx, walk, &spread));
    for (int32_t i = 0; i < n_items; i++) {
        sum += walk->log_degree[i];
        squares += walk->log_degree[i] * walk->log_degree[i];
    }
    double degrees = deviation(sum, squares, n_items > 0 ? n_items : 1);
    double unit = spread > 0 && degrees > 0 ? spread / degrees : 1;
    out->count = sizeof step / sizeof step[0];
    for (int32_t g = 0; g < out->count; g++) out->point[g].dial = unit * step[g];
    return CW_OK;
}

cw_status cwi_sweep_run(cw_context *ctx, const cwi_walk *walk, const cwi_audience *audience,
                        const int64_t *degree, const cwi_request *request, cwi_sweep *out)
{
    double dials[CWI_MAX_DIALS];
    tour t = {.audience = audience, .degree = degree, .request = request};
    cwi_walk swept = *walk;

    *out = (cwi_sweep){.count = request->n_dials};
    for (int32_t g = 0; g < out->count; g++) out->point[g].dial = request->dial[g];
    if (out->count == 0) CW_PASS(choose_dials(ctx, walk, out));
    for (int32_t g = 0; g < out->count; g++) dials[g] = out->point[g].dial;
    swept.k = request->k[0];
    swept.dials = dials;
    swept.n_dials = out->count;
    swept.measure = NULL;
    swept.collect = add_list;
    swept.arg = &t;
    if (swept.stage) swept.stage = "sweeping popularity";
    CW_PASS(cwi_walk_run(ctx, &swept));
    for (int32_t g = 0; g < out->count; g++)
        cwi_audience_value(audience, t.sum[g], out->point[g].value);
    return CW_OK;
}
