/* tiles.h - a large symmetric matrix in double, as tiles of its upper triangle, and its inverse. */
#ifndef CWI_BACKEND_TILES_H
#define CWI_BACKEND_TILES_H

#include "backend/backend.h"
#include "core/context.h"

/* Tile (i, j), i <= j, lies without gaps, rows first.  The matrix is filled up to whole tiles with
 * ones on the diagonal.  Of a tile on the diagonal the upper triangle counts. */
typedef struct cwi_tiles {
    int32_t n, side; /* rows, and tiles of a row */
    double *data;
} cwi_tiles;

/* What n rows take, of which there may be more than memory. */
double cwi_tiles_bytes(int64_t n);

/* All zeros but for the filling. */
cw_status cwi_tiles_create(cw_context *ctx, int32_t n, cwi_tiles *out);
void cwi_tiles_clear(cwi_tiles *tiles);

static inline double *cwi_tiles_at(const cwi_tiles *t, int64_t i, int64_t j)
{
    return t->data + (i * t->side - i * (i - 1) / 2 + j - i) * CWI_DOUBLE_TILE * CWI_DOUBLE_TILE;
}

/* The entry in this row and column, row <= column. */
static inline double *cwi_tiles_entry(const cwi_tiles *t, int64_t row, int64_t column)
{
    enum { N = CWI_DOUBLE_TILE };
    return cwi_tiles_at(t, row / N, column / N) + row % N * N + column % N;
}

/* The inverse in its place.  *is_definite is false, and the matrix lost, where it is not positive
 * definite.  The order of all sums is fixed: the same bits on any number of threads.
 *   stage  for those who watch */
cw_status cwi_tiles_invert(cw_context *ctx, const char *stage, cwi_tiles *tiles, bool *is_definite);

#endif
