/* agreement.c - Kendall's tau and graded metrics against true relevances. */
#include "evaluate/agreement.h"

#include <math.h>

#include "core/elementary.h"
#include "core/mem.h"
#include "evaluate/kendall.h"
#include "evaluate/metrics.h"
#include "evaluate/topk.h"
#include "prepare/draw.h"

const char *const cwi_agreement_name[CWI_N_AGREEMENTS] = {
#define X(name) #name,
    CWI_AGREEMENT_MAP(X)
#undef X
};

typedef struct comparison {
    const cwi_walk *walk;
    const cwi_truth *truth;
    int32_t *users; /* [n_users] sample */
    int32_t *items; /* [n_items] sample, ascending */
    int32_t n_users, n_items, k;
    double *value; /* [n_users][CWI_N_AGREEMENTS] */
    /* Room of each slot of the walk: */
    float *relevance;  /* [slots][all items] */
    cwi_ranked *ideal; /* [slots][k] */
    cwi_rated *rated;  /* [slots][2][n_items] */
    cwi_pile pile;
} comparison;

/* At most `most` of the numbers 0..n-1, ascending. */
static cw_status draw_sample(cw_context *ctx, comparison *c, int32_t n, int32_t most, uint64_t seed,
                             cwi_purpose purpose, int32_t **out, int32_t *count)
{
    int32_t wanted = n < most ? n : most;
    uint8_t *drawn = cwi_pile_add(ctx, &c->pile, (size_t)n, 1);
    *out = cwi_pile_add(ctx, &c->pile, (size_t)wanted, sizeof **out);
    CW_PASS(c->pile.status);
    CW_PASS(cwi_draw(ctx, NULL, n, wanted, seed, purpose, drawn));
    for (int32_t k = 0; k < n; k++)
        if (drawn[k]) (*out)[(*count)++] = k;
    return CW_OK;
}

static cw_status comparison_init(cw_context *ctx, const cwi_walk *walk, const cwi_truth *truth,
                                 uint64_t seed, comparison *c)
{
    int32_t all = walk->ranker->n_items;
    size_t slots = (size_t)cwi_walk_slots(ctx);

    *c = (comparison){.walk = walk, .truth = truth, .k = walk->k < all ? walk->k : all};
    CW_PASS(draw_sample(ctx, c, walk->n_users, CWI_TRUTH_USERS, seed, CWI_RNG_TRUTH_USERS,
                        &c->users, &c->n_users));
    for (int32_t r = 0; r < c->n_users; r++) c->users[r] = walk->users[c->users[r]];
    CW_PASS(draw_sample(ctx, c, all, CWI_TRUTH_ITEMS, seed, CWI_RNG_TRUTH_ITEMS, &c->items,
                        &c->n_items));
    size_t n_users = (size_t)c->n_users, n_items = (size_t)c->n_items;
    c->value = cwi_pile_add(ctx, &c->pile, n_users, CWI_N_AGREEMENTS * sizeof *c->value);
    c->relevance = cwi_pile_add(ctx, &c->pile, slots, (size_t)all * sizeof *c->relevance);
    c->ideal = cwi_pile_add(ctx, &c->pile, slots, (size_t)c->k * sizeof *c->ideal);
    c->rated = cwi_pile_add(ctx, &c->pile, slots, 2 * n_items * sizeof *c->rated);
    return c->pile.status;
}

/* Tau-b over the candidates among the sampled items. */
static double compare_orders(const comparison *c, const cwi_list *list, const float *relevance,
                             int32_t slot)
{
    cwi_rated *rated = c->rated + (int64_t)slot * 2 * c->n_items;
    int32_t n = 0;
    for (int32_t s = 0; s < c->n_items; s++) {
        int32_t i = c->items[s];
        if (cwi_csr_has(c->walk->mask, list->user, i)) continue;
        rated[n++] = (cwi_rated){(double)relevance[i], (double)list->score[i]};
    }
    return cwi_kendall(rated, rated + c->n_items, n);
}

/* Sums of the relevances of a list, plain and discounted by place. */
typedef struct gain {
    double sum, discounted;
} gain;

static void gain_add(gain *g, double relevance, int32_t place)
{
    g->sum += relevance;
    g->discounted += relevance / cwi_log2(place + 2.0);
}

/* Sum of the relevances of all candidates, and their number. */
static double sum_candidates(const comparison *c, int32_t user, const float *relevance,
                             int64_t *count)
{
    const cwi_csr *mask = c->walk->mask;
    int32_t n_items = c->walk->ranker->n_items;
    int64_t at = mask->start[user], end = mask->start[user + 1];
    double sum = 0;

    *count = 0;
    for (int32_t i = 0; i < n_items; i++) {
        while (at < end && mask->value[at] < i) at++;
        if (at < end && mask->value[at] == i) continue;
        sum += (double)relevance[i];
        ++*count;
    }
    return sum;
}

/* All values of one user; 0/0 of a user without candidates is NaN and left out of the means. */
static void compare_lists(const comparison *c, const cwi_list *list, const float *relevance,
                          cwi_ranked *ideal, double *value)
{
    const cwi_csr *mask = c->walk->mask;
    int64_t begin = mask->start[list->user], n_skip = mask->start[list->user + 1] - begin;
    int64_t candidates;
    gain found = {0, 0}, best = {0, 0};

    int32_t n =
        cwi_topk(relevance, c->walk->ranker->n_items, mask->value + begin, n_skip, c->k, ideal);
    for (int32_t p = 0; p < n; p++) gain_add(&best, (double)ideal[p].score, p);
    for (int32_t p = 0; p < list->count; p++) gain_add(&found, (double)relevance[list->item[p]], p);
    double sum = sum_candidates(c, list->user, relevance, &candidates);
    value[CWI_AGREEMENT_recall] = found.sum / sum;
    value[CWI_AGREEMENT_ndcg] = found.discounted / best.discounted;
    value[CWI_AGREEMENT_relevance] = found.sum / list->count;
    value[CWI_AGREEMENT_ideal_recall] = best.sum / sum;
    value[CWI_AGREEMENT_ideal_relevance] = best.sum / n;
    value[CWI_AGREEMENT_candidate_relevance] = sum / (double)candidates;
}

static void compare_user(void *arg, const cwi_list *list, int32_t slot)
{
    const comparison *c = arg;
    int32_t n_items = c->walk->ranker->n_items;
    float *relevance = c->relevance + (int64_t)slot * n_items;
    double *value = c->value + (int64_t)list->row * CWI_N_AGREEMENTS;

    for (int32_t i = 0; i < n_items; i++)
        relevance[i] = (float)cwi_truth_relevance(c->truth, list->user, i);
    compare_lists(c, list, relevance, c->ideal + (int64_t)slot * c->k, value);
    value[CWI_AGREEMENT_kendall_tau] = compare_orders(c, list, relevance, slot);
}

static void summarize(const comparison *c, int what, cwi_agreement *out)
{
    cwi_mean mean = {0};
    double squares = 0;

    for (int32_t r = 0; r < c->n_users; r++)
        cwi_mean_add(&mean, c->value[(int64_t)r * CWI_N_AGREEMENTS + what]);
    out->mean[what] = cwi_mean_value(&mean);
    for (int32_t r = 0; r < c->n_users; r++) {
        double value = c->value[(int64_t)r * CWI_N_AGREEMENTS + what];
        if (!isnan(value)) squares += (value - out->mean[what]) * (value - out->mean[what]);
    }
    double n = (double)mean.count;
    out->error[what] = n > 1 ? sqrt(squares / (n - 1) / n) : (double)NAN;
}

cw_status cwi_agreement_measure(cw_context *ctx, const cwi_walk *walk, const cwi_truth *truth,
                                uint64_t seed, cwi_agreement *out)
{
    comparison c;
    cwi_walk sample = *walk;
    cw_status status;

    CW_TRY(comparison_init(ctx, walk, truth, seed, &c));
    sample.users = c.users;
    sample.n_users = c.n_users;
    sample.n_dials = 1;
    sample.measure = compare_user;
    sample.collect = NULL;
    sample.arg = &c;
    sample.each = c.value;
    sample.each_bytes = CWI_N_AGREEMENTS * sizeof *c.value;
    if (sample.stage) sample.stage = "comparing with the truth";
    CW_TRY(cwi_walk_run(ctx, &sample));
    out->users = c.n_users;
    out->items = c.n_items;
    for (int what = 0; what < CWI_N_AGREEMENTS; what++) summarize(&c, what, out);
done:
    cwi_pile_clear(&c.pile);
    return status;
}
