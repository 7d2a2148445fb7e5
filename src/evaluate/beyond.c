/* beyond.c - coverage, concentration and popularity of recommendations. */
#include "evaluate/beyond.h"

#include <math.h>
#include <string.h>

#include "core/elementary.h"
#include "core/mem.h"
#include "core/smallest.h"
#include "prepare/stats.h"

/* Ranks 1..n in ascending order, equal values sharing the mean of theirs. */
static cw_status mean_ranks(cw_context *ctx, const double *value, int32_t n, double *rank)
{
    cwi_ordered *order = cwi_alloc(ctx, (size_t)n, sizeof *order);
    if (!order) return CW_NO_MEMORY;
    for (int32_t i = 0; i < n; i++) order[i] = (cwi_ordered){value[i], i};
    cwi_order(order, (size_t)n);
    for (int32_t begin = 0, end; begin < n; begin = end) {
        for (end = begin + 1; end < n && order[end].value == order[begin].value;) end++;
        for (int32_t r = begin; r < end; r++) rank[order[r].id] = (begin + 1.0 + end) / 2;
    }
    cwi_free(order);
    return CW_OK;
}

static double pearson(const double *x, const double *y, int32_t n)
{
    double mean_x = 0, mean_y = 0, xx = 0, yy = 0, xy = 0;
    for (int32_t i = 0; i < n; i++) {
        mean_x += x[i] / n;
        mean_y += y[i] / n;
    }
    for (int32_t i = 0; i < n; i++) {
        xx += (x[i] - mean_x) * (x[i] - mean_x);
        yy += (y[i] - mean_y) * (y[i] - mean_y);
        xy += (x[i] - mean_x) * (y[i] - mean_y);
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : (double)NAN;
}

cw_status cwi_spearman(cw_context *ctx, const double *x, const double *y, int32_t n, double *out)
{
    cw_status status;
    double *rank = cwi_alloc(ctx, (size_t)n, 2 * sizeof *rank);

    *out = (double)NAN;
    if (!rank) return CW_NO_MEMORY;
    CW_TRY(mean_ranks(ctx, x, n, rank));
    CW_TRY(mean_ranks(ctx, y, n, rank + n));
    *out = pearson(rank, rank + n, n);
done:
    cwi_free(rank);
    return status;
}

/* What depends on the times alone. */
static cw_status measure_spread(cw_context *ctx, const int64_t *times, int32_t n, double total,
                                cwi_beyond *out)
{
    int64_t *sorted = cwi_alloc(ctx, (size_t)n, sizeof *sorted);
    int64_t covered = 0;

    if (!sorted) return CW_NO_MEMORY;
    if (n > 0) memcpy(sorted, times, (size_t)n * sizeof *sorted);
    cwi_sort_counts(sorted, n);
    out->gini = cwi_gini(sorted, n);
    cwi_free(sorted);
    for (int32_t i = 0; i < n; i++) {
        double share = (double)times[i] / total;
        covered += times[i] > 0;
        if (times[i] > 0) out->entropy -= share * cwi_log2(share);
    }
    out->coverage = (double)covered / n;
    out->entropy_share = n > 1 ? out->entropy / cwi_log2(n) : 1;
    return CW_OK;
}

cw_status cwi_mean_percentile(cw_context *ctx, const int64_t *times, const double *value, int32_t n,
                              double *out)
{
    double *rank = cwi_alloc(ctx, (size_t)n, sizeof *rank), sum = 0, total = 0;
    cw_status status = rank ? mean_ranks(ctx, value, n, rank) : CW_NO_MEMORY;

    for (int32_t i = 0; i < n && status == CW_OK; i++) {
        sum += (double)times[i] * (rank[i] - 0.5) / n;
        total += (double)times[i];
    }
    *out = total > 0 ? sum / total : (double)NAN;
    cwi_free(rank);
    return status;
}

/* What depends on how popular the recommended items are. */
static cw_status measure_popularity(cw_context *ctx, const int64_t *times, const int64_t *degree,
                                    int32_t n, double total, cwi_beyond *out)
{
    cw_status status;
    cwi_pile pile = {0};
    cwi_ordered *order = cwi_pile_add(ctx, &pile, (size_t)n, sizeof *order);
    double *popularity = cwi_pile_add(ctx, &pile, (size_t)n, sizeof *popularity), in_head = 0;
    int32_t head = (int32_t)ceil(0.2 * n);

    CW_TRY(pile.status);
    for (int32_t i = 0; i < n; i++) {
        popularity[i] = (double)degree[i];
        order[i] = (cwi_ordered){-popularity[i], i};
    }
    CW_TRY(cwi_mean_percentile(ctx, times, popularity, n, &out->popularity_percentile));
    cwi_order(order, (size_t)n); /* most popular first, ties by id */
    for (int32_t r = 0; r < head; r++) in_head += (double)times[order[r].id];
    out->tail_share = 1 - in_head / total;
done:
    cwi_pile_clear(&pile);
    return status;
}

cw_status cwi_beyond_measure(cw_context *ctx, const int64_t *times, const int64_t *degree,
                             int32_t n_items, cwi_beyond *out)
{
    double total = 0, nothing = (double)NAN;

    *out = (cwi_beyond){0};
    for (int32_t i = 0; i < n_items; i++) total += (double)times[i];
    if (total == 0) {
        *out = (cwi_beyond){0, nothing, nothing, nothing, nothing, nothing};
        return CW_OK;
    }
    CW_PASS(measure_spread(ctx, times, n_items, total, out));
    return measure_popularity(ctx, times, degree, n_items, total, out);
}
