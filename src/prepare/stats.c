/* stats.c - degree statistics. */
#include "prepare/stats.h"

#include <math.h>
#include <stdlib.h>

#include "core/json.h"
#include "core/mem.h"
#include "prepare/propensity.h"

static int ascending_order(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void cwi_sort_counts(int64_t *counts, int64_t n)
{
    qsort(counts, (size_t)n, sizeof *counts, ascending_order);
}

double cwi_gini(const int64_t *ascending, int64_t count)
{
    double sum = 0, weighted = 0;
    for (int64_t k = 0; k < count; k++) {
        sum += (double)ascending[k];
        weighted += (double)(k + 1) * (double)ascending[k];
    }
    if (sum == 0) return 0;
    double n = (double)count;
    return (2 * weighted / sum - (n + 1)) / n;
}

double cwi_top_share(const int64_t *ascending, int64_t count, double share)
{
    int64_t top = (int64_t)ceil(share * (double)count);
    double sum = 0, top_sum = 0;
    for (int64_t k = 0; k < count; k++) {
        sum += (double)ascending[k];
        if (k >= count - top) top_sum += (double)ascending[k];
    }
    return sum > 0 ? top_sum / sum : 0;
}

int64_t cwi_quantile(const int64_t *ascending, int64_t count, double q)
{
    int64_t rank = (int64_t)ceil(q * (double)count) - 1;
    return count == 0 ? 0 : ascending[rank < 0 ? 0 : rank];
}

static const struct {
    const char *name;
    double q;
} quantiles[] = {{"min", 0},    {"p1", 0.01},  {"p10", 0.1},  {"p25", 0.25}, {"median", 0.5},
                 {"p75", 0.75}, {"p90", 0.90}, {"p99", 0.99}, {"max", 1}};

enum { N_QUANTILES = sizeof quantiles / sizeof quantiles[0] };

static json_t *report_degrees(const int64_t *sorted, int32_t n, int64_t rows)
{
    json_t *out = json_object();
    for (size_t k = 0; k < N_QUANTILES; k++)
        cwi_json_set(&out, quantiles[k].name,
                     json_integer(cwi_quantile(sorted, n, quantiles[k].q)));
    cwi_json_set(&out, "mean", json_real(n > 0 ? (double)rows / n : 0));
    cwi_json_set(&out, "gini", json_real(cwi_gini(sorted, n)));
    cwi_json_set(&out, "top_1_percent", json_real(cwi_top_share(sorted, n, 0.01)));
    cwi_json_set(&out, "top_10_percent", json_real(cwi_top_share(sorted, n, 0.1)));
    return out;
}

/* Propensities grow with degrees, so their quantiles are those of the degrees. */
static json_t *report_propensities(const int64_t *sorted, int32_t n, double power)
{
    json_t *out = json_pack("{s:f}", "power", power);
    double sum = 0;
    for (size_t k = 0; k < N_QUANTILES; k++) {
        int64_t degree = cwi_quantile(sorted, n, quantiles[k].q);
        cwi_json_set(&out, quantiles[k].name,
                     json_real(cwi_propensity(degree, sorted[n - 1], power)));
    }
    for (int32_t i = 0; i < n; i++) sum += cwi_propensity(sorted[i], sorted[n - 1], power);
    cwi_json_set(&out, "mean", json_real(sum / n));
    return out;
}

/* Degrees of users or of items in train, ascending. */
static cw_status sort_degrees(cw_context *ctx, const cw_dataset *dataset, bool of_users,
                              int64_t **out)
{
    const cwi_reel reel = cwi_pairs_reel(&dataset->part[CW_PART_TRAIN]);
    int32_t n = of_users ? dataset->n_users : dataset->n_items;
    int64_t *degree = *out = cwi_alloc(ctx, (size_t)n, sizeof *degree);
    if (!degree) return CW_NO_MEMORY;
    CW_PASS(cwi_reel_degrees(ctx, &reel, n, of_users ? degree : NULL, n, of_users ? NULL : degree));
    cwi_sort_counts(degree, n);
    return CW_OK;
}

static cw_status put_degrees(cw_context *ctx, const cw_dataset *dataset, bool of_users,
                             json_t **object)
{
    int64_t *degree, rows = dataset->part[CW_PART_TRAIN].count;
    cw_status status = sort_degrees(ctx, dataset, of_users, &degree);
    int32_t n = of_users ? dataset->n_users : dataset->n_items;
    if (status == CW_OK)
        cwi_json_set(object, of_users ? "user_degrees" : "item_degrees",
                     report_degrees(degree, n, rows));
    cwi_free(degree);
    return status == CW_OK ? cwi_json_check(ctx, *object) : status;
}

cw_status cwi_stats_degrees(cw_context *ctx, const cw_dataset *dataset, json_t **object)
{
    CW_PASS(put_degrees(ctx, dataset, true, object));
    return put_degrees(ctx, dataset, false, object);
}

cw_status cwi_stats_propensities(cw_context *ctx, const cw_dataset *dataset, double power,
                                 json_t **object)
{
    int64_t *degree;
    cw_status status = sort_degrees(ctx, dataset, false, &degree);
    if (status == CW_OK)
        cwi_json_set(object, "propensities", report_propensities(degree, dataset->n_items, power));
    cwi_free(degree);
    return status == CW_OK ? cwi_json_check(ctx, *object) : status;
}

/* Users and items that have occurred. */
typedef struct roll {
    uint8_t *user, *item;
    int64_t users, items;
} roll;

static void call(roll *r, int32_t user, int32_t item)
{
    r->users += !r->user[user];
    r->items += !r->item[item];
    r->user[user] = r->item[item] = 1;
}

static cw_status report_part(cw_context *ctx, const cw_dataset *dataset, int part, json_t **out)
{
    const cwi_reel reel = cwi_pairs_reel(&dataset->part[part]);
    cwi_window w = cwi_window_over(&reel);
    size_t n_users = (size_t)dataset->n_users;
    roll r = {.user = cwi_alloc_zero(ctx, n_users + (size_t)dataset->n_items, 1)};
    if (!r.user) return CW_NO_MEMORY;
    r.item = r.user + n_users;
    while (cwi_window_next(ctx, &w))
        for (int64_t k = 0; k < w.n; k++) call(&r, w.user[k], w.item[k]);
    cwi_free(r.user);
    CW_PASS(w.status);
    *out = json_pack("{s:I, s:I, s:I}", "rows", (json_int_t)reel.count, "users",
                     (json_int_t)r.users, "items", (json_int_t)r.items);
    return CW_OK;
}

cw_status cwi_stats_parts(cw_context *ctx, const cw_dataset *dataset,
                          const char *const name[CWI_PARTS], json_t **object)
{
    cw_status status = CW_OK;
    json_t *parts = json_object(), *part;
    for (int p = 0; p < CWI_PARTS && status == CW_OK; p++) {
        if (!dataset->has_part[p]) continue;
        status = report_part(ctx, dataset, p, &part);
        if (status == CW_OK) cwi_json_set(&parts, name[p], part);
    }
    cwi_json_set(object, "parts", parts);
    return status == CW_OK ? cwi_json_check(ctx, *object) : status;
}

cw_status cwi_stats_origin(cw_context *ctx, const cw_dataset *dataset, json_t **object)
{
    json_t *origin;
    if (!dataset->origin) return CW_OK;
    CW_PASS(cwi_json_reparse(ctx, dataset->origin, &origin));
    cwi_json_set(object, "origin", origin);
    return CW_OK;
}
