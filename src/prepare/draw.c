/* draw.c - successive sampling by keys, and as the published splits did it. */
#include "prepare/draw.h"

#include <math.h>
#include <string.h>

#include "core/elementary.h"
#include "core/mem.h"
#include "core/mt19937.h"
#include "core/pool.h"
#include "core/smallest.h"

/* ---- by keys -------------------------------------------------------------- */

typedef struct key_job {
    const double *weight;
    uint64_t seed;
    cwi_purpose purpose;
    double *key;
} key_job;

static cw_status make_keys(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const key_job *job = arg;
    (void)chunk;
    for (int64_t k = begin; k < end; k++) {
        cwi_rng rng;
        cwi_rng_init(&rng, job->seed, job->purpose, (uint64_t)k);
        job->key[k] = -cwi_ln(cwi_rng_real(&rng)) / (job->weight ? job->weight[k] : 1.0);
    }
    return CW_OK;
}

cw_status cwi_draw(cw_context *ctx, const double *weight, int64_t count, int64_t n, uint64_t seed,
                   cwi_purpose purpose, uint8_t *drawn)
{
    if (n <= 0 || n >= count) {
        memset(drawn, n > 0, (size_t)count);
        return CW_OK;
    }
    double *key = cwi_alloc(ctx, (size_t)count, 2 * sizeof *key);
    if (!key) return CW_NO_MEMORY;
    key_job job = {weight, seed, purpose, key};
    cw_status status;
    CW_TRY(cwi_pool_for(ctx, count, 16384, make_keys, &job));
    cwi_limit limit = cwi_smallest(key, count, n, key + count); /* of equal keys the first wins */
    for (int64_t k = 0; k < count; k++) drawn[k] = (uint8_t)cwi_limit_take(&limit, key[k]);
done:
    cwi_free(key);
    return status;
}

/* ---- as published --------------------------------------------------------- */

/* Running sums of the weights that are left, divided by the last. */
static void running_shares(const double *weight, int64_t count, double *share)
{
    double sum = 0;
    for (int64_t k = 0; k < count; k++) {
        sum += weight[k];
        share[k] = sum;
    }
    for (int64_t k = 0; k < count; k++) share[k] /= sum;
}

/* Number of entries <= x in an ascending array. */
static int64_t count_at_most(const double *share, int64_t count, double x)
{
    int64_t low = 0, high = count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (share[middle] <= x)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

cw_status cwi_draw_compat(cw_context *ctx, const double *weight, int64_t count, int64_t n,
                          uint32_t seed, int64_t *order)
{
    cw_status status = CW_OK;
    double *left = cwi_alloc(ctx, (size_t)count, 2 * sizeof *left), sum = 0;
    cwi_mt19937 mt;
    int64_t found = 0;

    if (!left) return CW_NO_MEMORY;
    double *share = left + count;
    cwi_mt_init(&mt, seed);
    for (int64_t k = 0; k < count; k++) sum += weight[k];
    for (int64_t k = 0; k < count; k++) left[k] = weight[k] / sum;
    while (found < n) {
        CW_TRY(cwi_progress(ctx, "drawing held-out rows", found, n));
        int64_t wanted = n - found;
        running_shares(left, count, share);
        for (int64_t draw = 0; draw < wanted; draw++) {
            int64_t k = count_at_most(share, count, cwi_mt_real(&mt));
            if (k >= count || left[k] == 0) continue; /* already drawn in this round */
            left[k] = 0;
            order[found++] = k;
        }
    }
done:
    cwi_free(left);
    return status;
}
