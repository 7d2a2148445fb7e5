/*
 * tiles.c - the inverse of a symmetric positive definite matrix, tile by tile.
 *
 * A = R^T R with R upper triangular, U = R^-1, A^-1 = U U^T, each in the place of the one before.
 * A tile is a sum of products of tiles in a fixed order, made by one thread.
 */
#include "backend/tiles.h"

#include <math.h>
#include <string.h>

#include "core/mem.h"
#include "core/pool.h"
#include "core/rooms.h"

enum { N = CWI_DOUBLE_TILE, TILE = N * N, TILE_BYTES = TILE * (int)sizeof(double) };

typedef struct job {
    const cwi_ops *ops;
    const cwi_tiles *t;
    int64_t k;      /* row or column at hand */
    double *column; /* [side][TILE] copies of tiles that are overwritten */
    cwi_rooms *rooms;
} job;

double cwi_tiles_bytes(int64_t n)
{
    double side = (double)((n + N - 1) / N);
    return side * (side + 1) / 2 * TILE_BYTES;
}

cw_status cwi_tiles_create(cw_context *ctx, int32_t n, cwi_tiles *out)
{
    *out = (cwi_tiles){.n = n, .side = (int32_t)(((int64_t)n + N - 1) / N)};
    size_t side = (size_t)out->side;
    out->data = cwi_alloc_zero(ctx, side * (side + 1) / 2, TILE_BYTES);
    if (!out->data) return CW_NO_MEMORY;
    for (int64_t r = n; r < (int64_t)out->side * N; r++) *cwi_tiles_entry(out, r, r) = 1;
    return CW_OK;
}

void cwi_tiles_clear(cwi_tiles *tiles)
{
    cwi_free(tiles->data);
    *tiles = (cwi_tiles){0};
}

/* ---- one tile --------------------------------------------------------------------- */

/* a = R^T R in its upper triangle, zeros below; false where it is not positive definite. */
static bool factor_tile(double *a)
{
    for (int r = 0; r < N; r++) {
        double *row = a + r * N;
        for (int p = 0; p < r; p++)
            for (int c = r; c < N; c++) row[c] -= a[p * N + r] * a[p * N + c];
        if (!(row[r] > 0 && isfinite(row[r]))) return false;
        double scale = 1 / sqrt(row[r]);
        for (int c = r; c < N; c++) row[c] *= scale;
    }
    for (int r = 1; r < N; r++) memset(a + r * N, 0, (size_t)r * sizeof *a);
    return true;
}

/* The inverse of an upper triangle, from the last row up. */
static void invert_triangle(const double *r, double *out)
{
    memset(out, 0, TILE_BYTES);
    for (int i = N - 1; i >= 0; i--) {
        double *row = out + i * N, scale = 1 / r[i * N + i];
        row[i] = 1;
        for (int p = i + 1; p < N; p++)
            for (int c = p; c < N; c++) row[c] -= r[i * N + p] * out[p * N + c];
        for (int c = i; c < N; c++) row[c] *= scale;
    }
}

static void transpose_tile(const double *from, double *to)
{
    for (int r = 0; r < N; r++)
        for (int c = 0; c < N; c++) to[c * N + r] = from[r * N + c];
}

/* ---- A = R^T R -------------------------------------------------------------------- */

/* Take off tile (k, j) what the rows of R above it are. */
static void update(const job *w, int64_t j, double *room)
{
    double *tile = cwi_tiles_at(w->t, w->k, j);
    memset(room, 0, TILE_BYTES);
    for (int64_t p = 0; p < w->k; p++)
        w->ops->double_gemm(true, cwi_tiles_at(w->t, p, w->k), cwi_tiles_at(w->t, p, j), room);
    for (int e = 0; e < TILE; e++) tile[e] -= room[e];
}

/* Tile (k, j) of R for j beyond the diagonal, on which the inverse lies already. */
static cw_status factor_beyond(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *w = arg;
    int64_t j = w->k + 1 + begin;
    double *room = cwi_rooms_enter(w->rooms), *tile = cwi_tiles_at(w->t, w->k, j);
    (void)chunk;
    (void)end; /* one tile a chunk */
    update(w, j, room);
    memset(room, 0, TILE_BYTES);
    w->ops->double_gemm(true, cwi_tiles_at(w->t, w->k, w->k), tile, room);
    memcpy(tile, room, TILE_BYTES);
    cwi_rooms_leave(w->rooms, room);
    return CW_OK;
}

/* Row k of R; on the diagonal the inverse of its tile, which is all that is asked of it. */
static cw_status factor_row(cw_context *ctx, job *w, bool *is_definite)
{
    double *tile = cwi_tiles_at(w->t, w->k, w->k), *room = cwi_rooms_enter(w->rooms);
    update(w, w->k, room);
    *is_definite = factor_tile(tile);
    if (*is_definite) {
        invert_triangle(tile, room);
        memcpy(tile, room, TILE_BYTES);
    }
    cwi_rooms_leave(w->rooms, room);
    if (!*is_definite) return CW_OK;
    return cwi_pool_for(ctx, w->t->side - 1 - w->k, 1, factor_beyond, w);
}

/* ---- U = R^-1 --------------------------------------------------------------------- */

/* U_ik = -(sum over i <= p < k of U_ip R_pk) U_kk */
static cw_status invert_tile(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *w = arg;
    int64_t i = begin;
    double *sum = cwi_rooms_enter(w->rooms), *product = sum + TILE;
    double *tile = cwi_tiles_at(w->t, i, w->k);
    (void)chunk;
    (void)end;
    memset(sum, 0, 2 * TILE_BYTES);
    for (int64_t p = i; p < w->k; p++)
        w->ops->double_gemm(false, cwi_tiles_at(w->t, i, p), w->column + p * TILE, sum);
    w->ops->double_gemm(false, sum, cwi_tiles_at(w->t, w->k, w->k), product);
    for (int e = 0; e < TILE; e++) tile[e] = -product[e];
    cwi_rooms_leave(w->rooms, sum);
    return CW_OK;
}

static cw_status invert_column(cw_context *ctx, job *w)
{
    for (int64_t p = 0; p < w->k; p++)
        memcpy(w->column + p * TILE, cwi_tiles_at(w->t, p, w->k), TILE_BYTES);
    return cwi_pool_for(ctx, w->k, 1, invert_tile, w);
}

/* ---- U U^T ------------------------------------------------------------------------ */

/* Entry (i, k) is the sum over p >= k of U_ip U_kp^T.  Column k is read by nobody after it. */
static cw_status multiply_tile(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *w = arg;
    int64_t i = begin;
    double *sum = cwi_rooms_enter(w->rooms);
    (void)chunk;
    (void)end;
    memset(sum, 0, TILE_BYTES);
    for (int64_t p = w->k; p < w->t->side; p++)
        w->ops->double_gemm(false, cwi_tiles_at(w->t, i, p), w->column + p * TILE, sum);
    memcpy(cwi_tiles_at(w->t, i, w->k), sum, TILE_BYTES);
    cwi_rooms_leave(w->rooms, sum);
    return CW_OK;
}

static cw_status multiply_column(cw_context *ctx, job *w)
{
    for (int64_t p = w->k; p < w->t->side; p++)
        transpose_tile(cwi_tiles_at(w->t, w->k, p), w->column + p * TILE);
    return cwi_pool_for(ctx, w->k + 1, 1, multiply_tile, w);
}

/* ---- all of it -------------------------------------------------------------------- */

cw_status cwi_tiles_invert(cw_context *ctx, const char *stage, cwi_tiles *tiles, bool *is_definite)
{
    cw_status status;
    int64_t side = tiles->side;
    job w = {.ops = cwi_ops_best(), .t = tiles};

    *is_definite = true;
    w.column = cwi_alloc(ctx, (size_t)side, TILE_BYTES);
    CW_TRY(w.column ? CW_OK : CW_NO_MEMORY);
    CW_TRY(cwi_rooms_create(ctx, 2 * TILE_BYTES, &w.rooms));
    for (w.k = 0; w.k < side && *is_definite; w.k++) {
        CW_TRY(cwi_progress(ctx, stage, w.k, 3 * side));
        CW_TRY(factor_row(ctx, &w, is_definite));
    }
    for (w.k = 1; w.k < side && *is_definite; w.k++) {
        CW_TRY(cwi_progress(ctx, stage, side + w.k, 3 * side));
        CW_TRY(invert_column(ctx, &w));
    }
    for (w.k = 0; w.k < side && *is_definite; w.k++) {
        CW_TRY(cwi_progress(ctx, stage, 2 * side + w.k, 3 * side));
        CW_TRY(multiply_column(ctx, &w));
    }
done:
    cwi_rooms_free(w.rooms);
    cwi_free(w.column);
    return status;
}
