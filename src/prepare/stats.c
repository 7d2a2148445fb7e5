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

/* Degrees of n ids in count rows, ascending; NULL: no memory. */
static int64_t *sort_degrees(cw_context *ctx, const int32_t *ids, int64_t count, int32_t n)
{
    int64_t *degree = cwi_alloc(ctx, (size_t)n, sizeof *degree);
    if (!degree) return NULL;
    cwi_degrees(ids, count, n, degree);
    cwi_sort_counts(degree, n);
    return degree;
}

static cw_status put_degrees(cw_context *ctx, const char *key, const int32_t *ids, int64_t count,
                             int32_t n, json_t **object)
{
    int64_t *degree = sort_degrees(ctx, ids, count, n);
    if (!degree) return CW_NO_MEMORY;
    cwi_json_set(object, key, report_degrees(degree, n, count));
    cwi_free(degree);
    return cwi_json_check(ctx, *object);
}

cw_status cwi_stats_degrees(cw_context *ctx, const cw_dataset *dataset, json_t **object)
{
    const cwi_pairs *train = &dataset->part[CW_PART_TRAIN];
    CW_PASS(put_degrees(ctx, "user_degrees", train->user, train->count, dataset->n_users, object));
    return put_degrees(ctx, "item_degrees", train->item, train->count, dataset->n_items, object);
}

cw_status cwi_stats_propensities(cw_context *ctx, const cw_dataset *dataset, double power,
                                 json_t **object)
{
    const cwi_pairs *train = &dataset->part[CW_PART_TRAIN];
    int64_t *degree = sort_degrees(ctx, train->item, train->count, dataset->n_items);
    if (!degree) return CW_NO_MEMORY;
    cwi_json_set(object, "propensities", report_propensities(degree, dataset->n_items, power));
    cwi_free(degree);
    return cwi_json_check(ctx, *object);
}

/* How many of n ids occur. */
static cw_status count_distinct(cw_context *ctx, const int32_t *ids, int64_t count, int32_t n,
                                int64_t *distinct)
{
    uint8_t *seen = cwi_alloc_zero(ctx, (size_t)n, 1);
    if (!seen) return CW_NO_MEMORY;
    *distinct = 0;
    for (int64_t k = 0; k < count; k++) {
        *distinct += !seen[ids[k]];
        seen[ids[k]] = 1;
    }
    cwi_free(seen);
    return CW_OK;
}

static cw_status report_part(cw_context *ctx, const cw_dataset *dataset, int part, json_t **out)
{
    const cwi_pairs *pairs = &dataset->part[part];
    int64_t users, items;
    CW_PASS(count_distinct(ctx, pairs->user, pairs->count, dataset->n_users, &users));
    CW_PASS(count_distinct(ctx, pairs->item, pairs->count, dataset->n_items, &items));
    *out = json_pack("{s:I, s:I, s:I}", "rows", (json_int_t)pairs->count, "users",
                     (json_int_t)users, "items", (json_int_t)items);
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
