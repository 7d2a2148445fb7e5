/* metrics.c - metrics of one list by the definitions of docs/metrics.md. */
#include "evaluate/metrics.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/elementary.h"
#include "core/mem.h"
#include "core/text.h"

const cw_metric_info cwi_metric_table[CWI_N_METRICS] = {
#define X(name, pooling, need, ...) {#name, __VA_ARGS__},
    CWI_METRIC_MAP(X)
#undef X
};

const cwi_pooling cwi_metric_pooling[CWI_N_METRICS] = {
#define X(name, pooling, ...) CWI_POOL_##pooling,
    CWI_METRIC_MAP(X)
#undef X
};

const cwi_need cwi_metric_need[CWI_N_METRICS] = {
#define X(name, pooling, need, ...) CWI_NEED_##need,
    CWI_METRIC_MAP(X)
#undef X
};

bool cwi_metric_is_known(int metric, const cwi_exposure *exposure)
{
    switch (cwi_metric_need[metric]) {
    case CWI_NEED_UNIFORM: return exposure && exposure->is_uniform;
    case CWI_NEED_WEIGHTS: return exposure && exposure->weight;
    case CWI_NEED_NOTHING: break;
    }
    return true;
}

/* "|recall|precision|..." */
static const char names[] =
#define X(name, ...) "|" #name
    CWI_METRIC_MAP(X)
#undef X
    ;

const cw_metric_info *cw_metric_at(size_t index)
{
    return index < CWI_N_METRICS ? &cwi_metric_table[index] : NULL;
}

const double *cwi_metric_find(const cwi_metrics *metrics, const char *name)
{
    int index = cwi_word_index(names + 1, name);
    return index < 0 ? NULL : &metrics->value[index];
}

const char *cwi_metric_key(int metric, int32_t k, char key[CWI_METRIC_KEY_BYTES])
{
    snprintf(key, CWI_METRIC_KEY_BYTES, "%s@%d", cwi_metric_table[metric].name, (int)k);
    return key;
}

cw_status cwi_metric_parse(cw_context *ctx, const char *text, char name[CWI_METRIC_BYTES],
                           int32_t *k)
{
    const char *at = strchr(text, '@');
    size_t length = at ? (size_t)(at - text) : 0;
    int64_t number = 0;

    memset(name, 0, CWI_METRIC_BYTES);
    if (length > 0 && length < CWI_METRIC_BYTES) {
        memcpy(name, text, length);
        if (cwi_word_index(names + 1, name) >= 0 &&
            cwi_parse_int(at + 1, strlen(at + 1), &number) && number >= 1 && number <= INT32_MAX) {
            *k = (int32_t)number;
            return CW_OK;
        }
    }
    return cwi_fail(ctx, CW_BAD_ARG,
                    "--metric is '%s'; it must be one of %s, then @ and a list length", text,
                    names + 1);
}

cw_status cwi_metric_aim(cw_context *ctx, const char *text, char name[CWI_METRIC_BYTES], int32_t *k)
{
    cw_status status = cwi_metric_parse(ctx, text, name, k);
    if (status != CW_OK || !cwi_metric_table[cwi_word_index(names + 1, name)].is_low_good)
        return status;
    return cwi_fail(ctx, CW_BAD_ARG,
                    "--metric is '%s'; training keeps the largest, and of this less is better",
                    text);
}

cw_status cwi_metric_choose(cw_context *ctx, const cw_options *options, char name[CWI_METRIC_BYTES],
                            int32_t *k)
{
    const char *text = cwi_options_text(options, "metric");
    CW_PASS(cwi_metric_aim(ctx, text, name, k));
    if (cwi_metric_need[cwi_word_index(names + 1, name)] != CWI_NEED_WEIGHTS ||
        cwi_weights_are_given(options, "metric-"))
        return CW_OK;
    return cwi_fail(ctx, CW_BAD_ARG,
                    "--metric is '%s', which needs propensities; options metric-propensity and "
                    "metric-propensity-power give them",
                    text);
}

/* The first metrics are the values of places. */
_Static_assert((int)CWI_METRIC_recall == CWI_PLACE_RECALL && (int)CWI_METRIC_arp == CWI_PLACE_ARP &&
                   CWI_PLACE_VALUES == CWI_PLACE_ARP + 1,
               "the order of metrics is that of places");

double cwi_place_discount(int32_t place)
{
    return 1 / cwi_log2(place + 2.0);
}

static bool is_in(const int32_t *ascending, int64_t n, int32_t item)
{
    int64_t at = cwi_lower_bound(ascending, n, item);
    return at < n && ascending[at] == item;
}

/* Sums over the places of a list. */
typedef struct sums {
    const cwi_trial *trial;
    cwi_hits at;
    double value[CWI_PLACE_VALUES];
    /* What is held out and could be listed, and of that the hits: their number, by weight, and by
     * weight and place.  Only where the exposure is known. */
    double open, open_weight, weight, weighted_dcg;
} sums;

static void weigh_list(const cwi_trial *t, sums *s)
{
    const double *weight = t->exposure->weight;
    for (int64_t h = 0; h < t->n_held; h++) {
        if (is_in(t->masked, t->n_masked, t->held[h])) continue;
        s->open++;
        s->open_weight += weight ? weight[t->held[h]] : 0;
    }
    for (int32_t p = 0; weight && p < t->count; p++) {
        if (!is_in(t->held, t->n_held, t->item[p])) continue;
        s->weight += weight[t->item[p]];
        s->weighted_dcg += weight[t->item[p]] / cwi_log2(p + 2.0);
    }
}

static double ideal_dcg(double places)
{
    double sum = 0;
    for (int32_t p = 0; p < places; p++) sum += cwi_place_discount(p);
    return sum;
}

static sums walk_list(const cwi_trial *t)
{
    sums s = {.trial = t};
    double held = (double)t->n_held, reachable = fmin(t->k, held);
    for (int32_t p = 0; p < t->count; p++) {
        bool is_hit = is_in(t->held, t->n_held, t->item[p]);
        cwi_hits_add(&s.at, p, (double)t->degree[t->item[p]], is_hit,
                     is_hit ? cwi_place_discount(p) : 0);
    }
    cwi_hits_values(&s.at, t->is_capped ? reachable : held, reachable, ideal_dcg(reachable), t->k,
                    t->count, s.value);
    if (t->exposure) weigh_list(t, &s);
    return s;
}

/* A value that goes into a mean, unless it is NaN. */
static cwi_share of_user(double value)
{
    cwi_share share = {value, 1};
    if (isnan(value)) share = (cwi_share){0};
    return share;
}

static cwi_share measure_recall(const sums *s)
{
    return of_user(s->value[CWI_PLACE_RECALL]);
}

static cwi_share measure_precision(const sums *s)
{
    return of_user(s->value[CWI_PLACE_PRECISION]);
}

static cwi_share measure_ndcg(const sums *s)
{
    return of_user(s->value[CWI_PLACE_NDCG]);
}

static cwi_share measure_hit_rate(const sums *s)
{
    return of_user(s->value[CWI_PLACE_HIT_RATE]);
}

static cwi_share measure_mrr(const sums *s)
{
    return of_user(s->value[CWI_PLACE_MRR]);
}

static cwi_share measure_map(const sums *s)
{
    return of_user(s->value[CWI_PLACE_MAP]);
}

static cwi_share measure_arp(const sums *s)
{
    return of_user(s->value[CWI_PLACE_ARP]);
}

static cwi_share measure_unbiased_recall(const sums *s)
{
    return (cwi_share){s->at.hits, s->open};
}

static cwi_share measure_ips_precision(const sums *s)
{
    return of_user(cwi_part_of(s->weight, s->trial->k));
}

static cwi_share measure_ips_ndcg(const sums *s)
{
    return of_user(s->weight > 0 ? s->weighted_dcg / ideal_dcg(s->trial->count) : 0);
}

static cwi_share measure_snips_recall(const sums *s)
{
    return (cwi_share){s->weight, s->open_weight};
}

static cwi_share measure_snips_dcg(const sums *s)
{
    return (cwi_share){s->weighted_dcg, s->open_weight};
}

/* Every row of the table has a function above. */
int32_t cwi_trial_measure(const cwi_trial *t, cwi_share out[CWI_N_METRICS])
{
    sums s = walk_list(t);
    memset(out, 0, CWI_N_METRICS * sizeof *out);
#define X(name, ...)                                                                               \
    if (cwi_metric_is_known(CWI_METRIC_##name, t->exposure))                                       \
        out[CWI_METRIC_##name] = measure_##name(&s);
    CWI_METRIC_MAP(X)
#undef X
    return s.at.hits;
}

void cwi_mean_add(cwi_mean *mean, double value)
{
    if (isnan(value)) return;
    mean->sum += value;
    mean->count++;
}

double cwi_mean_value(const cwi_mean *mean)
{
    return cwi_part_of(mean->sum, (double)mean->count);
}

double cwi_share_value(cwi_share share)
{
    return cwi_part_of(share.over, share.under);
}

void cwi_shares_add(cwi_share sum[CWI_N_METRICS], const cwi_share share[CWI_N_METRICS])
{
    for (int m = 0; m < CWI_N_METRICS; m++) {
        sum[m].over += share[m].over;
        sum[m].under += share[m].under;
    }
}

void cwi_shares_value(const cwi_share sum[CWI_N_METRICS], double value[CWI_N_METRICS])
{
    for (int m = 0; m < CWI_N_METRICS; m++) value[m] = cwi_share_value(sum[m]);
}

void cwi_shares_add_absent(cwi_share sum[CWI_N_METRICS], const cwi_exposure *exposure,
                           int64_t n_absent)
{
    for (int m = 0; m < CWI_N_METRICS; m++)
        if (cwi_metric_pooling[m] == CWI_POOL_ALL && cwi_metric_is_known(m, exposure))
            sum[m].under += (double)n_absent;
}

cw_status cwi_audience_create(cw_context *ctx, const cwi_pairs *held, int32_t n_users,
                              cwi_audience *out)
{
    cw_status status;

    *out = (cwi_audience){0};
    CW_TRY(cwi_csr_create(ctx, held->user, held->item, held->count, n_users, &out->held));
    cwi_csr_sort(&out->held);
    out->users = cwi_alloc(ctx, (size_t)n_users, sizeof *out->users);
    if (!out->users) CW_TRY(CW_NO_MEMORY);
    for (int32_t u = 0; u < n_users; u++)
        if (out->held.start[u] < out->held.start[u + 1]) out->users[out->n++] = u;
done:
    if (status != CW_OK) cwi_audience_clear(out);
    return status;
}

void cwi_audience_clear(cwi_audience *audience)
{
    cwi_csr_clear(&audience->held);
    cwi_free(audience->users);
    *audience = (cwi_audience){0};
}

void cwi_audience_value(const cwi_audience *audience, const cwi_share sum[CWI_N_METRICS],
                        double value[CWI_N_METRICS])
{
    cwi_share all[CWI_N_METRICS];
    memcpy(all, sum, sizeof all);
    cwi_shares_add_absent(all, audience->exposure, audience->held.n_rows - audience->n);
    cwi_shares_value(all, value);
}

cwi_trial cwi_audience_trial(const cwi_audience *audience, const int64_t *degree, int32_t user,
                             const int32_t *item, int32_t count, int32_t k)
{
    const cwi_csr *held = &audience->held, *mask = audience->mask;
    return (cwi_trial){.item = item,
                       .count = count < k ? count : k,
                       .held = held->value + held->start[user],
                       .n_held = held->start[user + 1] - held->start[user],
                       .k = k,
                       .degree = degree,
                       .exposure = audience->exposure,
                       .masked = mask ? mask->value + mask->start[user] : NULL,
                       .n_masked = mask ? mask->start[user + 1] - mask->start[user] : 0};
}
