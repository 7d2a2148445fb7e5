/*
 * slopes.c - from the slopes of a grid's scores to those of vectors, of rows of this process alone.
 *
 * A row of a product is a chain of its own, whatever other rows are made with it: so rows of the
 * first factor are packed side by side, some at a time, and the bits are those of the whole.
 */
#include <string.h>

#include "backend/backend.h"
#include "core/pool.h"
#include "engine/mpi/share.h"

enum { ROWS_AT_ONCE = 128 };

/* Some users, or items, of a part of the grid. */
struct cwi_slope_piece {
    int64_t part, first; /* place of the first one in `own` */
    int32_t n;
    bool is_item;
};

void cwi_share_close_slopes(cwi_share_engine *e)
{
    cwi_rooms_free(e->slopes.rooms);
}

/* Append rows first .. first + n - 1 of users or items, as far as they are of this process. */
static void list_rows(cwi_share_engine *e, const cwi_batch *batch, cwi_slope_piece piece,
                      int64_t first, int64_t n)
{
    cwi_share_slopes *s = &e->slopes;
    int64_t n_users = e->cpu.host.task->shape.n_users;
    for (int64_t r = first; r < first + n; r++) {
        int64_t row = piece.is_item ? n_users + batch->item[r] : batch->user[r];
        if (!cwi_share_has(e, row)) continue;
        if (piece.n == ROWS_AT_ONCE) {
            s->piece[s->n_pieces++] = piece;
            piece.n = 0;
        }
        if (piece.n++ == 0) piece.first = s->n_own;
        s->own[s->n_own++] = (int32_t)r;
    }
    if (piece.n > 0) s->piece[s->n_pieces++] = piece;
}

/* Slopes of some users: their rows of the grid. */
static void multiply_users(const cwi_grid *g, const cwi_batch *batch, const cwi_slope_piece *piece,
                           const int32_t *own, float *packed, float *out)
{
    const cwi_loss_grid *l = &g->loss;
    const float *items = g->vectors + (batch->n_slots + cwi_grid_item(g, piece->part)) * g->d;
    int32_t width = (int32_t)l->width;
    for (int32_t k = 0; k < piece->n; k++)
        memcpy(packed + (int64_t)k * width, l->slope + own[k] * l->stride,
               (size_t)width * sizeof *packed);
    cwi_ops_best()->gemm(false, false, piece->n, g->d, width, packed, width, items, g->d, 0, out,
                         g->d);
}

/* Slopes of some items: their columns, which are rows of an even grid as well. */
static void multiply_items(const cwi_grid *g, const cwi_slope_piece *piece, const int32_t *own,
                           float *packed, float *out)
{
    const cwi_loss_grid *l = &g->loss;
    int64_t first = cwi_grid_item(g, piece->part), n = piece->n;
    const float *slope = l->slope + piece->part * l->side * l->stride;
    const float *users = g->vectors + piece->part * l->side * g->d;
    int32_t side = (int32_t)l->side;
    for (int64_t k = 0; k < n && l->is_even; k++)
        memcpy(packed + k * side, slope + (own[k] - first) * l->stride,
               (size_t)side * sizeof *packed);
    for (int64_t r = 0; r < side && !l->is_even; r++)
        for (int64_t k = 0; k < n; k++) packed[r * n + k] = slope[r * l->stride + own[k] - first];
    cwi_ops_best()->gemm(!l->is_even, false, piece->n, g->d, side, packed,
                         l->is_even ? side : piece->n, users, g->d, 0, out, g->d);
}

static cw_status multiply_piece(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const cwi_share_engine *e = arg;
    const cwi_grid *g = e->cpu.grid;
    const cwi_batch *batch = &e->cpu.now->batch;
    const cwi_slope_piece *piece = &e->slopes.piece[begin]; /* one a chunk */
    const int32_t *own = e->slopes.own + piece->first;
    float *out = cwi_rooms_enter(e->slopes.rooms), *packed = out + ROWS_AT_ONCE * g->d;
    (void)chunk;
    (void)end;
    if (piece->is_item)
        multiply_items(g, piece, own, packed, out);
    else
        multiply_users(g, batch, piece, own, packed, out);
    float *slopes = g->slopes + (piece->is_item ? batch->n_slots * g->d : 0);
    for (int32_t k = 0; k < piece->n; k++)
        memcpy(slopes + (int64_t)own[k] * g->d, out + (int64_t)k * g->d,
               (size_t)g->d * sizeof *out);
    cwi_rooms_leave(e->slopes.rooms, out);
    return CW_OK;
}

static cw_status multiply(void *arg, const cwi_batch *batch)
{
    cwi_share_engine *e = arg;
    const cwi_grid *g = e->cpu.grid;
    const cwi_loss_grid *l = &g->loss;
    e->slopes.n_own = e->slopes.n_pieces = 0;
    for (int64_t p = 0; p < l->rows / l->side; p++) {
        list_rows(e, batch, (cwi_slope_piece){.part = p}, p * l->side, l->side);
        list_rows(e, batch, (cwi_slope_piece){.part = p, .is_item = true}, cwi_grid_item(g, p),
                  l->width);
    }
    return cwi_pool_for(e->cpu.host.base.ctx, e->slopes.n_pieces, 1, multiply_piece, e);
}

cw_status cwi_share_open_slopes(cw_context *ctx, cwi_share_engine *e)
{
    cwi_grid *g = e->cpu.grid;
    cwi_share_slopes *s = &e->slopes;
    cwi_pile *pile = &e->cpu.host.pile;
    const cwi_loss_grid *l = &g->loss;
    size_t rows = 2 * (size_t)g->max_slots, parts = (size_t)(l->rows / l->side);
    size_t inner = (size_t)(l->side > l->width ? l->side : l->width);
    if (e->world->size == 1) return CW_OK;
    s->own = cwi_pile_add(ctx, pile, rows, sizeof *s->own);
    s->piece = cwi_pile_add(ctx, pile, rows / ROWS_AT_ONCE + 2 * parts, sizeof *s->piece);
    CW_PASS(pile->status);
    g->multiply = multiply;
    g->arg = e;
    return cwi_rooms_create(ctx, ROWS_AT_ONCE * (inner + (size_t)g->d) * sizeof(float), &s->rooms);
}
