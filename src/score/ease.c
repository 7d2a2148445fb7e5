/*
 * ease.c - the backbone of method ease: a linear model from a user's items to all items.
 *
 * Steck, Embarrassingly Shallow Autoencoders for Sparse Data, WWW 2019.  With X the 0/1 matrix of
 * train, B minimises |X - X B|^2 + reg |B|^2 with a diagonal of zeros:
 *   P = (X^T X + reg I)^-1,  B_ij = -P_ij / P_jj for i != j.
 * P is made in double, in tiles of one triangle, and B is kept in float.
 */
#include <stdio.h>
#include <unistd.h>

#include "backend/tiles.h"
#include "core/mem.h"
#include "core/pool.h"
#include "score/itemitem.h"
#include "score/sides.h"

enum { ROWS_A_CHUNK = CWI_DOUBLE_TILE }; /* those of a row of tiles */

/* It is known at once whether all of it can be held. */
static cw_status check_memory(cw_context *ctx, int64_t n)
{
    double all = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGESIZE);
    double need = cwi_tiles_bytes(n) + (double)n * (double)n * sizeof(float);
    if (all <= 0 || need <= all) return CW_OK;
    return cwi_fail(ctx, CW_NO_MEMORY,
                    "method ease needs %.0f bytes for matrices of %lld x %lld items; this machine "
                    "has %.0f",
                    need, (long long)n, (long long)n, all);
}

static cw_status declare(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                         cwi_params *params)
{
    (void)options;
    CW_PASS(check_memory(ctx, shape->n_items));
    return cwi_params_add(ctx, params, "weights", shape->n_items, shape->n_items, NULL);
}

/* ---- P and B ---------------------------------------------------------------------- */

typedef struct job {
    const cwi_sides *sides;
    const cwi_tiles *tiles;
    float *weight;
} job;

/* Some rows of the upper triangle of X^T X: counts, so the order of the sums is all the same. */
static cw_status count_rows(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    const cwi_csr *users = &j->sides->by_item, *items = &j->sides->by_user;
    (void)chunk;
    for (int64_t i = begin; i < end; i++)
        for (int64_t e = users->start[i]; e < users->start[i + 1]; e++) {
            int32_t u = users->value[e];
            int64_t k = items->start[u], last = items->start[u + 1];
            k += cwi_lower_bound(items->value + k, last - k, (int32_t)i);
            for (; k < last; k++) *cwi_tiles_entry(j->tiles, i, items->value[k]) += 1;
        }
    return CW_OK;
}

/* Some rows of B; what lies below the diagonal of P is read from above it. */
static cw_status weigh_rows(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    int64_t n = j->tiles->n;
    (void)chunk;
    for (int64_t i = begin; i < end; i++)
        for (int64_t c = 0; c < n; c++) {
            double p = i < c ? *cwi_tiles_entry(j->tiles, i, c) : *cwi_tiles_entry(j->tiles, c, i);
            j->weight[i * n + c] = i == c ? 0 : (float)(-p / *cwi_tiles_entry(j->tiles, c, c));
        }
    return CW_OK;
}

static cw_status fill(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                      cwi_params *params)
{
    cw_status status;
    bool is_definite;
    cwi_sides sides = {0};
    cwi_tiles tiles = {0};
    job j = {&sides, &tiles, params->tensor[0].data};

    CW_TRY(cwi_sides_create(ctx, shape, &sides));
    CW_TRY(cwi_tiles_create(ctx, shape->n_items, &tiles));
    CW_TRY(cwi_pool_for(ctx, shape->n_items, ROWS_A_CHUNK, count_rows, &j));
    for (int64_t i = 0; i < shape->n_items; i++)
        *cwi_tiles_entry(&tiles, i, i) += cwi_options_real(options, "reg");
    CW_TRY(cwi_tiles_invert(ctx, "inverting", &tiles, &is_definite));
    if (!is_definite)
        CW_TRY(cwi_fail(ctx, CW_BAD_DATA,
                        "--reg is '%s'; the equations of method ease have no solution with it, a "
                        "larger one gives them one",
                        cwi_options_text(options, "reg")));
    CW_TRY(cwi_pool_for(ctx, shape->n_items, ROWS_A_CHUNK, weigh_rows, &j));
done:
    cwi_tiles_clear(&tiles);
    cwi_sides_clear(&sides);
    return status;
}

static cw_status rank(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                      const cwi_params *params, cwi_ranker *out)
{
    const cwi_tensor *weights;
    cwi_pile pile = {0};
    (void)options;
    CW_PASS(cwi_params_expect(ctx, params, "weights", shape->n_items, shape->n_items, &weights));
    cwi_itemitem *m = cwi_pile_add_zero(ctx, &pile, 1, sizeof *m);
    if (pile.status != CW_OK) return pile.status;
    m->dense = weights->data;
    cwi_itemitem_rank(shape, m, pile, out);
    return CW_OK;
}

const cwi_backbone cwi_backbone_ease = {
    .name = "ease",
    .help = "weights from items to items; only for method ease",
    .declare = declare,
    .fill = fill,
    .rank = rank,
};
