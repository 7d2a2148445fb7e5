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
    const int32_t *which;
    uint64_t seed;
    cwi_purpose purpose;
    int64_t first; /* thing whose key is key[0] */
    double *key;
} key_job;

static double weight_of(const key_job *job, int64_t k)
{
    if (!job->weight) return 1.0;
    return job->weight[job->which ? job->which[k] : k];
}

static cw_status make_keys(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const key_job *job = arg;
    (void)chunk;
    for (int64_t at = begin; at < end; at++) {
        cwi_rng rng;
        int64_t k = job->first + at;
        cwi_rng_init(&rng, job->seed, job->purpose, (uint64_t)k);
        job->key[at] = -cwi_ln(cwi_rng_real(&rng)) / weight_of(job, k);
    }
    return CW_OK;
}

enum { KEYS_A_CHUNK = 16384 };

static cw_status draw_at_once(cw_context *ctx, key_job *job, int64_t count, int64_t n,
                              uint8_t *drawn)
{
    cw_status status;
    double *key = cwi_alloc(ctx, (size_t)count, 2 * sizeof *key);
    if (!key) return CW_NO_MEMORY;
    job->key = key;
    CW_TRY(cwi_pool_for(ctx, count, KEYS_A_CHUNK, make_keys, job));
    cwi_limit limit = cwi_smallest(key, count, n, key + count); /* of equal keys the first wins */
    for (int64_t k = 0; k < count; k++) drawn[k] = (uint8_t)cwi_limit_take(&limit, key[k]);
done:
    cwi_free(key);
    return status;
}

/* ---- in little memory ------------------------------------------------------ */

enum { KEYS_AT_ONCE = 1 << 20, BIN_SHIFT = 44, N_BINS = 1 << 19 };

/* Keys are positive: their bits are in the order of their values.  A bin has those that begin with
 * the same 20 bits, the first of which is the sign. */
static int64_t bin_of(double key)
{
    uint64_t bits;
    memcpy(&bits, &key, sizeof bits);
    return (int64_t)(bits >> BIN_SHIFT);
}

typedef struct lean {
    int64_t *bins; /* [N_BINS] how many keys are in each */
    int64_t bin;   /* the one that has the last winner */
    double *few;   /* keys of that bin, and as much room again */
    int64_t n_few;
    cwi_limit limit;
    uint8_t *drawn;
} lean;

typedef void (*keys_fn)(lean *l, const double *key, int64_t first, int64_t n);

static void count_keys(lean *l, const double *key, int64_t first, int64_t n)
{
    (void)first;
    for (int64_t k = 0; k < n; k++) l->bins[bin_of(key[k])]++;
}

static void collect_keys(lean *l, const double *key, int64_t first, int64_t n)
{
    (void)first;
    for (int64_t k = 0; k < n; k++)
        if (bin_of(key[k]) == l->bin) l->few[l->n_few++] = key[k];
}

static void take_keys(lean *l, const double *key, int64_t first, int64_t n)
{
    for (int64_t k = 0; k < n; k++)
        l->drawn[first + k] = (uint8_t)cwi_limit_take(&l->limit, key[k]);
}

/* All keys, in their order, some at a time. */
static cw_status walk_keys(cw_context *ctx, key_job *job, int64_t count, keys_fn fn, lean *l)
{
    for (job->first = 0; job->first < count; job->first += KEYS_AT_ONCE) {
        int64_t n = count - job->first < KEYS_AT_ONCE ? count - job->first : KEYS_AT_ONCE;
        CW_PASS(cwi_pool_for(ctx, n, KEYS_A_CHUNK, make_keys, job));
        fn(l, job->key, job->first, n);
    }
    return CW_OK;
}

/* Which bin has the nth smallest key.  Returns how many keys are below it. */
static int64_t find_bin(lean *l, int64_t n)
{
    int64_t below = 0;
    for (l->bin = 0; below + l->bins[l->bin] < n; l->bin++) below += l->bins[l->bin];
    return below;
}

/* The limit of the n smallest keys of the bin, which may be all of them. */
static cwi_limit limit_of(const lean *l, int64_t n)
{
    cwi_limit limit = {l->few[0], n};
    if (n < l->n_few) return cwi_smallest(l->few, l->n_few, n, l->few + l->n_few);
    for (int64_t k = 0; k < n; k++)
        if (l->few[k] > limit.value) limit.value = l->few[k];
    return limit;
}

static cw_status draw_in_walks(cw_context *ctx, key_job *job, int64_t count, int64_t n,
                               uint8_t *drawn)
{
    cw_status status;
    lean l = {.drawn = drawn};
    cwi_pile pile = {0};
    job->key = cwi_pile_add(ctx, &pile, KEYS_AT_ONCE, sizeof *job->key);
    l.bins = cwi_pile_add_zero(ctx, &pile, N_BINS, sizeof *l.bins);
    CW_TRY(pile.status);
    CW_TRY(walk_keys(ctx, job, count, count_keys, &l));
    int64_t below = find_bin(&l, n), few = l.bins[l.bin];
    l.few = cwi_pile_add(ctx, &pile, (size_t)few, 2 * sizeof *l.few);
    CW_TRY(pile.status);
    CW_TRY(walk_keys(ctx, job, count, collect_keys, &l));
    l.limit = limit_of(&l, n - below);
    CW_TRY(walk_keys(ctx, job, count, take_keys, &l));
done:
    cwi_pile_clear(&pile);
    return status;
}

/* ---- either ---------------------------------------------------------------- */

/* Is there nothing to choose? */
static bool takes_all_or_none(int64_t count, int64_t n, uint8_t *drawn)
{
    if (n > 0 && n < count) return false;
    memset(drawn, n > 0, (size_t)count);
    return true;
}

cw_status cwi_draw_lean(cw_context *ctx, const double *weight, const int32_t *which, int64_t count,
                        int64_t n, uint64_t seed, cwi_purpose purpose, uint8_t *drawn)
{
    key_job job = {.weight = weight, .which = which, .seed = seed, .purpose = purpose};
    return takes_all_or_none(count, n, drawn) ? CW_OK : draw_in_walks(ctx, &job, count, n, drawn);
}

cw_status cwi_draw_by(cw_context *ctx, const double *weight, const int32_t *which, int64_t count,
                      int64_t n, uint64_t seed, cwi_purpose purpose, uint8_t *drawn)
{
    enum { LEAN_FROM = 1 << 23 };
    key_job job = {.weight = weight, .which = which, .seed = seed, .purpose = purpose};
    if (takes_all_or_none(count, n, drawn)) return CW_OK;
    return count < LEAN_FROM ? draw_at_once(ctx, &job, count, n, drawn)
                             : draw_in_walks(ctx, &job, count, n, drawn);
}

cw_status cwi_draw(cw_context *ctx, const double *weight, int64_t count, int64_t n, uint64_t seed,
                   cwi_purpose purpose, uint8_t *drawn)
{
    return cwi_draw_by(ctx, weight, NULL, count, n, seed, purpose, drawn);
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
