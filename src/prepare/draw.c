/* draw.c - successive sampling by keys, and as the published splits did it. */
#include "prepare/draw.h"

#include "core/elementary.h"
#include "core/mem.h"
#include "core/mt19937.h"
#include "core/nth.h"
#include "core/pool.h"
#include "core/room.h"

/* ---- by keys -------------------------------------------------------------- */

static double weight_of(const cwi_lottery *l, int64_t at)
{
    if (!l->weight) return 1.0;
    return l->weight[l->which ? l->which[at] : l->first + at];
}

static cw_status make_keys(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const cwi_lottery *l = arg;
    (void)chunk;
    for (int64_t at = begin; at < end; at++) {
        cwi_rng rng;
        cwi_rng_init(&rng, l->seed, l->purpose, (uint64_t)(l->first + at));
        l->key[at] = -cwi_ln(cwi_rng_real(&rng)) / weight_of(l, at);
    }
    return CW_OK;
}

enum { KEYS_A_CHUNK = 16384, LEAN_FROM = 1 << 23, BYTES_A_KEY = 16, PART_FOR_KEYS = 8 };

cw_status cwi_lottery_keys(cw_context *ctx, cwi_lottery *lottery, int64_t first, int64_t n,
                           const int32_t *which, const double **key)
{
    *key = lottery->has_all ? lottery->key + first : lottery->key;
    if (lottery->has_all) return CW_OK;
    lottery->first = first;
    lottery->which = which;
    return cwi_pool_for(ctx, n, KEYS_A_CHUNK, make_keys, lottery);
}

/* All keys, which are kept; of equal ones the first wins. */
static cw_status find_at_once(cw_context *ctx, cwi_lottery *l, const cwi_reel *things, int64_t n)
{
    double *work = cwi_alloc(ctx, (size_t)things->count, sizeof *work);
    if (!work) return CW_NO_MEMORY;
    l->which = things->item;
    cw_status status = cwi_pool_for(ctx, things->count, KEYS_A_CHUNK, make_keys, l);
    if (status == CW_OK) l->limit = cwi_smallest(l->key, things->count, n, work);
    l->has_all = true;
    cwi_free(work);
    return status;
}

/* Keys are made anew each time. */
static cw_status find_in_walks(cw_context *ctx, cwi_lottery *l, const cwi_reel *things, int64_t n)
{
    cw_status status;
    cwi_nth nth;
    cwi_window w = {0};
    const double *key;
    CW_TRY(cwi_nth_open(ctx, things->count, n, &nth));
    while (!nth.is_found) {
        w = cwi_window_over(things);
        while (cwi_window_next(ctx, &w)) {
            CW_TRY(cwi_lottery_keys(ctx, l, w.first, w.n, w.item, &key));
            cwi_nth_see(&nth, key, w.n);
        }
        CW_TRY(w.status);
        cwi_nth_turn(&nth);
    }
    l->limit = nth.limit;
done:
    cwi_window_close(&w);
    cwi_nth_clear(&nth);
    return status;
}

cw_status cwi_lottery_open(cw_context *ctx, const double *weight, const cwi_reel *things, int64_t n,
                           uint64_t seed, cwi_purpose purpose, cwi_lottery *out)
{
    bool is_lean = things->count >= LEAN_FROM || things->spill ||
                   things->count > cwi_room_share(ctx, PART_FOR_KEYS) / BYTES_A_KEY;
    int64_t n_keys = is_lean && things->count > CWI_WINDOW_ROWS ? CWI_WINDOW_ROWS : things->count;
    *out = (cwi_lottery){.weight = weight, .seed = seed, .purpose = purpose};
    out->key = cwi_alloc(ctx, (size_t)n_keys, sizeof *out->key);
    cw_status status = !out->key ? CW_NO_MEMORY
                       : is_lean ? find_in_walks(ctx, out, things, n)
                                 : find_at_once(ctx, out, things, n);
    if (status != CW_OK) cwi_lottery_close(out);
    return status;
}

void cwi_lottery_close(cwi_lottery *lottery)
{
    cwi_free(lottery->key);
    lottery->key = NULL;
}

/* Who wins goes to drawn or, where that is NULL, to the parts of the things. */
static cw_status draw(cw_context *ctx, const double *weight, const cwi_reel *things, int64_t n,
                      uint64_t seed, cwi_purpose purpose, uint8_t *drawn)
{
    cw_status status;
    cwi_lottery l;
    const double *key;
    cwi_window w = cwi_window_over(things);
    CW_PASS(cwi_lottery_open(ctx, weight, things, n, seed, purpose, &l));
    while (cwi_window_next(ctx, &w)) {
        uint8_t *won = drawn ? drawn + w.first : w.part;
        CW_TRY(cwi_lottery_keys(ctx, &l, w.first, w.n, w.item, &key));
        for (int64_t k = 0; k < w.n; k++) won[k] = (uint8_t)cwi_limit_take(&l.limit, key[k]);
        if (!drawn) CW_TRY(cwi_window_keep_parts(ctx, &w));
    }
    status = w.status;
done:
    cwi_window_close(&w);
    cwi_lottery_close(&l);
    return status;
}

cw_status cwi_draw(cw_context *ctx, const double *weight, int64_t count, int64_t n, uint64_t seed,
                   cwi_purpose purpose, uint8_t *drawn)
{
    const cwi_reel things = {.count = count};
    return draw(ctx, weight, &things, n, seed, purpose, drawn);
}

cw_status cwi_draw_rows(cw_context *ctx, const double *weight, const cwi_reel *rows, int64_t n,
                        uint64_t seed, cwi_purpose purpose)
{
    return draw(ctx, weight, rows, n, seed, purpose, NULL);
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
