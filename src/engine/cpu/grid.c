/*
 * grid.c - scores of users times items and the way back, three matrix products in all.
 *
 * Every entry of a product is one chain in a fixed order, so that bits do not depend on threads.
 */
#include "engine/cpu/grid.h"

#include <math.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/gemm.h"
#include "core/mem.h"
#include "core/pool.h"
#include "loss/grid.h"

/* ---- open -------------------------------------------------------------------------- */

static cw_status create_arrays(cw_context *ctx, cwi_pile *pile, int32_t n_items, cwi_grid *g)
{
    cwi_loss_grid *l = &g->loss;
    size_t rows = (size_t)l->rows, stride = (size_t)l->stride, slots = (size_t)g->max_slots;
    g->vectors = cwi_pile_add(ctx, pile, 2 * slots, (size_t)g->d * sizeof *g->vectors);
    g->slopes = cwi_pile_add_zero(ctx, pile, 2 * slots, (size_t)g->d * sizeof *g->slopes);
    l->cross = cwi_pile_add(ctx, pile, rows, stride * sizeof *l->cross);
    l->slope = cwi_pile_add(ctx, pile, rows, stride * sizeof *l->slope);
    l->own_slope = cwi_pile_add(ctx, pile, rows, sizeof *l->own_slope);
    l->own = cwi_pile_add(ctx, pile, rows, sizeof *l->own);
    l->value = cwi_pile_add(ctx, pile, (size_t)cwi_loss_grid_values(l), sizeof *l->value);
    l->room = cwi_pile_add(ctx, pile, (size_t)cwi_loss_grid_room(l), sizeof *l->room);
    g->first = cwi_pile_add(ctx, pile, (size_t)n_items, sizeof *g->first);
    g->next = cwi_pile_add(ctx, pile, slots, sizeof *g->next);
    CW_PASS(pile->status);
    for (int32_t i = 0; i < n_items; i++) g->first[i] = -1;
    return CW_OK;
}

/* Rows that lie a multiple of a page apart would share a few places of the caches, and columns
 * could not stay there. */
static int64_t stride_of(int64_t width)
{
    enum { LINE = 16, APART = 256 };
    return width % APART == 0 ? width + LINE : width;
}

cw_status cwi_grid_open(cwi_host *host, cwi_grid **out)
{
    const cwi_task *task = host->task;
    cw_context *ctx = host->base.ctx;
    cwi_loss_grid shape;
    *out = NULL;
    if (!cwi_host_grid(host, &shape)) return CW_OK;
    cwi_grid *g = cwi_pile_add_zero(ctx, &host->pile, 1, sizeof *g);
    CW_PASS(host->pile.status);
    g->max_slots = host->max_slots;
    g->d = task->backbone->vector_width(task->options);
    g->train = &task->training->by_user;
    g->loss = shape;
    g->loss.stride = stride_of(shape.width);
    *out = g;
    return create_arrays(ctx, &host->pile, task->shape.n_items, g);
}

/* ---- score ------------------------------------------------------------------------- */

/* Vectors of the items that part p of the rows meets. */
static const float *items_of(const cwi_grid *g, const cwi_batch *batch, int64_t p)
{
    return g->vectors + (batch->n_slots + cwi_grid_item(g, p)) * g->d;
}

/* Rows of a part that are scored together; parts of no more are not cut. */
enum { ROWS_A_CHUNK = 128 };

typedef struct job {
    cwi_grid *g;
    const cwi_batch *batch;
    int64_t part;
} job;

enum { ITEMS_AT_ONCE = 256 };

/* Leave some items out of a row: their first columns, then all second ones, ...  How many columns
 * an item has is not to be foreseen, and a branch for each would take longer than all else. */
static void mask_items(const cwi_grid *g, const int32_t *item, int64_t n_items, float *score)
{
    int32_t column[ITEMS_AT_ONCE];
    int64_t n = 0;
    for (int64_t k = 0; k < n_items; k++) {
        column[n] = g->first[item[k]];
        n += column[n] >= 0;
    }
    for (int64_t left = 0; n > 0; n = left, left = 0)
        for (int64_t k = 0; k < n; k++) {
            int32_t c = column[k];
            score[c] = -INFINITY;
            column[left] = g->next[c];
            left += column[left] >= 0;
        }
}

/* Leave out what the users of rows had.  Columns of an item are listed, so that only a user's own
 * items are looked at. */
static void mask_rows(const job *j, int64_t begin, int64_t end)
{
    const cwi_grid *g = j->g;
    for (int64_t r = begin; r < end; r++) {
        int64_t e = g->train->start[j->batch->user[r]];
        int64_t last = g->train->start[j->batch->user[r] + 1];
        for (; e < last; e += ITEMS_AT_ONCE)
            mask_items(g, g->train->value + e, last - e < ITEMS_AT_ONCE ? last - e : ITEMS_AT_ONCE,
                       g->loss.cross + r * g->loss.stride);
    }
}

void cwi_grid_list(cwi_grid *g, const cwi_batch *batch, int64_t p, bool lists)
{
    int64_t first = cwi_grid_item(g, p);
    for (int64_t c = g->loss.width - 1; c >= 0; c--) {
        int32_t item = batch->item[first + c];
        g->next[c] = lists ? g->first[item] : -1;
        g->first[item] = lists ? (int32_t)c : -1;
    }
}

/* Scores of rows of a part. */
static void multiply_rows(const job *j, int64_t part, int64_t begin, int64_t end)
{
    const cwi_grid *g = j->g;
    const cwi_loss_grid *l = &g->loss;
    cwi_ops_best()->gemm(false, true, (int32_t)(end - begin), (int32_t)l->width, g->d,
                         g->vectors + begin * g->d, g->d, items_of(g, j->batch, part), g->d, 0,
                         l->cross + begin * l->stride, (int32_t)l->stride);
    for (int64_t r = begin; r < end && l->is_square; r++)
        ((float *)l->own)[r] = l->cross[r * l->stride + r % l->side];
}

/* Parts are small: one at a time. */
static cw_status score_parts(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    int64_t side = j->g->loss.side;
    (void)chunk;
    for (int64_t p = begin; p < end; p++) multiply_rows(j, p, p * side, (p + 1) * side);
    return CW_OK;
}

/* Masked while they are near the core. */
static cw_status score_rows(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    int64_t first = j->part * j->g->loss.side;
    (void)chunk;
    multiply_rows(j, j->part, first + begin, first + end);
    if (j->g->train) mask_rows(j, first + begin, first + end);
    return CW_OK;
}

static cw_status score_own(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    const cwi_grid *g = j->g;
    (void)chunk;
    for (int64_t r = begin; r < end; r++) {
        const float *user = g->vectors + r * g->d, *item = user + j->batch->n_slots * g->d;
        cwi_ops_best()->score_block(&user, 1, item, 1, g->d, (float *)g->loss.own + r);
    }
    return CW_OK;
}

static cw_status score_part(cw_context *ctx, job *j)
{
    const cwi_loss_grid *l = &j->g->loss;
    cw_status status = CW_OK;
    if (!j->g->train && l->side <= ROWS_A_CHUNK) return CW_OK;
    if (j->g->train) cwi_grid_list(j->g, j->batch, j->part, true);
    if (l->side > ROWS_A_CHUNK)
        status = cwi_pool_for(ctx, l->side, ROWS_A_CHUNK, score_rows, j);
    else
        mask_rows(j, j->part * l->side, (j->part + 1) * l->side);
    if (j->g->train) cwi_grid_list(j->g, j->batch, j->part, false);
    return status;
}

cw_status cwi_grid_score(cw_context *ctx, cwi_grid *g, const cwi_batch *batch)
{
    job j = {.g = g, .batch = batch};
    const cwi_loss_grid *l = &g->loss;
    int64_t parts = l->rows / l->side;
    if (l->side <= ROWS_A_CHUNK)
        CW_PASS(cwi_pool_for(ctx, parts, ROWS_A_CHUNK / l->side, score_parts, &j));
    for (j.part = 0; j.part < parts; j.part++) CW_PASS(score_part(ctx, &j));
    if (!l->is_square) CW_PASS(cwi_pool_for(ctx, l->rows, ROWS_A_CHUNK, score_own, &j));
    g->loss.mark = batch->mark + (l->is_square ? 0 : l->rows);
    return CW_OK;
}

/* ---- back -------------------------------------------------------------------------- */

static cw_status back_parts(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    cwi_grid *g = j->g;
    const cwi_loss_grid *l = &g->loss;
    const cwi_ops *ops = cwi_ops_best();
    int32_t side = (int32_t)l->side, width = (int32_t)l->width, stride = (int32_t)l->stride;
    (void)chunk;
    for (int64_t p = begin; p < end; p++) {
        const float *slope = l->slope + p * side * stride;
        int64_t users = p * side * g->d, items = (j->batch->n_slots + p * side) * g->d;
        ops->gemm(false, false, side, g->d, width, slope, stride, g->vectors + items, g->d, 0,
                  g->slopes + users, g->d);
        ops->gemm(!l->is_even, false, width, g->d, side, slope, stride, g->vectors + users, g->d, 0,
                  g->slopes + items, g->d);
    }
    return CW_OK;
}

/* One part at a time, on all threads. */
static cw_status back_part(cw_context *ctx, const job *j, int64_t p)
{
    cwi_grid *g = j->g;
    const cwi_loss_grid *l = &g->loss;
    int32_t side = (int32_t)l->side, width = (int32_t)l->width, stride = (int32_t)l->stride;
    const float *slope = l->slope + p * side * stride, *items = items_of(g, j->batch, p);
    int64_t users = p * side * g->d;
    CW_PASS(cwi_gemm_tiled(ctx, false, false, side, g->d, width, slope, stride, items, g->d, 0,
                           g->slopes + users, g->d));
    return cwi_gemm_tiled(ctx, !l->is_even, false, width, g->d, side, slope, stride,
                          g->vectors + users, g->d, 0, g->slopes + (items - g->vectors), g->d);
}

/* The slopes of observed pairs: on the diagonal of a square they are part of the products. */
static void place_own(const cwi_loss_grid *l)
{
    for (int64_t r = 0; r < l->rows; r++) l->slope[r * l->stride + r % l->side] = l->own_slope[r];
}

static cw_status add_own(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    cwi_grid *g = j->g;
    (void)chunk;
    for (int64_t r = begin; r < end; r++) {
        int64_t user = r * g->d, item = (j->batch->n_slots + r) * g->d;
        for (int32_t k = 0; k < g->d; k++) {
            g->slopes[user + k] += g->loss.own_slope[r] * g->vectors[item + k];
            g->slopes[item + k] = g->loss.own_slope[r] * g->vectors[user + k];
        }
    }
    return CW_OK;
}

static cw_status multiply_all(cw_context *ctx, job *j)
{
    const cwi_loss_grid *l = &j->g->loss;
    int64_t parts = l->rows / l->side;
    if (l->is_square && l->side <= ROWS_A_CHUNK)
        return cwi_pool_for(ctx, parts, ROWS_A_CHUNK / l->side, back_parts, j);
    for (int64_t p = 0; p < parts; p++) CW_PASS(back_part(ctx, j, p));
    return CW_OK;
}

cw_status cwi_grid_back(cw_context *ctx, cwi_grid *g, const cwi_batch *batch)
{
    job j = {.g = g, .batch = batch};
    const cwi_loss_grid *l = &g->loss;
    if (l->is_square) place_own(l);
    CW_PASS(g->multiply ? g->multiply(g->arg, batch) : multiply_all(ctx, &j));
    return l->is_square ? CW_OK : cwi_pool_for(ctx, l->rows, ROWS_A_CHUNK, add_own, &j);
}
