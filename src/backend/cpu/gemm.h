/*
 * gemm.h - matrix products in tiles of registers.
 *
 * Some rows of op(b) are packed, a strip of columns at a time; op(a) is read as it lies.  A tile of
 * c is a few rows by a few vectors, which stay in registers.  Every entry is one chain of fused
 * steps in the order of k that goes on from one block of k to the next, so that the bits depend
 * neither on the blocks nor on the width of a vector.  Include it after defining `vec`, vec_fma(),
 * GEMM_ROWS and GEMM_VECS.
 */
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "backend/cpu/turned.h"

enum {
    GEMM_LANES = (int)(sizeof(vec) / sizeof(float)),
    GEMM_COLUMNS = GEMM_VECS * GEMM_LANES,
    GEMM_DEPTH = 256 /* rows of op(b) packed at once: what stays near the core */
};

typedef vec vec_at __attribute__((aligned(4), may_alias));

/* A strip of columns of some rows of op(b), to be multiplied with all of op(a). */
typedef struct gemm_strip {
    int32_t m, width, depth;
    const float *a;
    int64_t a_row, a_column; /* floats from row to row of op(a), and from column to column */
    bool is_first;           /* sums start at zero */
    float *c;
    int64_t ldc;
    vec *b;      /* [depth][vectors] */
    float *rest; /* [depth][rows] of op(a) behind the last whole tile */
    float *tile; /* [rows][columns] */
} gemm_strip;

/* Few numbers, where a call would take longer. */
static inline void copy_few(const float *from, int32_t n, float *to)
{
    int32_t j = 0;
    for (; j + 4 <= n; j += 4) *(quad_at *)(to + j) = *(const quad_at *)(from + j);
    for (; j < n; j++) to[j] = from[j];
}

/* Whole vectors of a known number: for others gcc would call memcpy() in every row. */
static void pack_vecs(const float *b, int64_t ldb, int32_t depth, vec *to)
{
    for (int32_t j = 0; j < depth; j++, b += ldb, to += GEMM_VECS)
#pragma GCC unroll 4
        for (int v = 0; v < GEMM_VECS; v++) to[v] = ((const vec_at *)b)[v];
}

static void pack_lying(const float *b, int64_t ldb, int32_t depth, int32_t width, int32_t lanes,
                       float *to)
{
    if (width == GEMM_COLUMNS) {
        pack_vecs(b, ldb, depth, (vec *)to);
        return;
    }
    if (width < lanes) memset(to, 0, (size_t)(depth * lanes) * sizeof *to);
    for (int32_t j = 0; j < depth; j++, b += ldb, to += lanes) copy_few(b, width, to);
}

/* Sums of the blocks before are in c already, unless this is the first.  Where vecs and one of the
 * steps through op(a) are constant all sums stay in registers, so it has to be inlined. */
__attribute__((always_inline)) static inline void
multiply_tile(const vec *b, int32_t depth, int vecs, const float *a, int64_t row, int64_t column,
              bool is_first, float *c, int64_t ldc)
{
    vec sum[GEMM_ROWS][GEMM_VECS];
#pragma GCC unroll 16
    for (int i = 0; i < GEMM_ROWS; i++)
#pragma GCC unroll 4
        for (int v = 0; v < vecs; v++) {
            sum[i][v] = (vec){0};
            if (!is_first) sum[i][v] = ((const vec_at *)(c + i * ldc))[v];
        }
    for (int32_t j = 0; j < depth; j++, a += column, b += vecs)
#pragma GCC unroll 16
        for (int i = 0; i < GEMM_ROWS; i++)
#pragma GCC unroll 4
            for (int v = 0; v < vecs; v++) sum[i][v] = vec_fma(a[i * row], b[v], sum[i][v]);
#pragma GCC unroll 16
    for (int i = 0; i < GEMM_ROWS; i++)
#pragma GCC unroll 4
        for (int v = 0; v < vecs; v++) ((vec_at *)(c + i * ldc))[v] = sum[i][v];
}

__attribute__((always_inline)) static inline void multiply_rows(const gemm_strip *s, int vecs,
                                                                const float *a, int64_t row,
                                                                int64_t column, float *c,
                                                                int64_t ldc)
{
    if (row == 1)
        multiply_tile(s->b, s->depth, vecs, a, 1, column, s->is_first, c, ldc);
    else
        multiply_tile(s->b, s->depth, vecs, a, row, 1, s->is_first, c, ldc);
}

/* The tile at row r, which c does not fill. */
__attribute__((always_inline)) static inline void multiply_some(gemm_strip *s, int vecs, int32_t r)
{
    int32_t lanes = vecs * GEMM_LANES, rows = s->m - r < GEMM_ROWS ? s->m - r : GEMM_ROWS;
    float *c = s->c + r * s->ldc;
    for (int32_t i = 0; i < rows && !s->is_first; i++)
        copy_few(c + i * s->ldc, s->width, s->tile + i * lanes);
    if (rows < GEMM_ROWS)
        multiply_rows(s, vecs, s->rest, 1, GEMM_ROWS, s->tile, lanes);
    else
        multiply_rows(s, vecs, s->a + r * s->a_row, s->a_row, s->a_column, s->tile, lanes);
    for (int32_t i = 0; i < rows; i++) copy_few(s->tile + i * lanes, s->width, c + i * s->ldc);
}

__attribute__((always_inline)) static inline void multiply_strip(gemm_strip *s, int vecs)
{
    int32_t r = 0;
    for (; r + GEMM_ROWS <= s->m && s->width == vecs * GEMM_LANES; r += GEMM_ROWS)
        multiply_rows(s, vecs, s->a + r * s->a_row, s->a_row, s->a_column, s->c + r * s->ldc,
                      s->ldc);
    for (; r < s->m; r += GEMM_ROWS) multiply_some(s, vecs, r);
}

/* The rows of op(a) behind the last whole tile, which must not be read beyond. */
static void pack_rest(gemm_strip *s)
{
    int32_t rows = s->m % GEMM_ROWS;
    const float *a = s->a + (s->m - rows) * s->a_row;
    if (rows == 0) return;
    memset(s->rest, 0, GEMM_DEPTH * GEMM_ROWS * sizeof *s->rest);
    for (int32_t j = 0; j < s->depth; j++)
        for (int32_t i = 0; i < rows; i++)
            s->rest[j * GEMM_ROWS + i] = a[i * s->a_row + j * s->a_column];
}

/* Of the columns that are left.  A single vector has too few sums to hide the time of a step where
 * tiles are low, so that the last vectors are shared out. */
static int32_t strip_width(int32_t left)
{
    if (left <= GEMM_COLUMNS) return left;
    return GEMM_VECS > 2 && left < GEMM_COLUMNS + 2 * GEMM_LANES ? 2 * GEMM_LANES : GEMM_COLUMNS;
}

static void multiply_columns(gemm_strip *s, bool transpose, const float *b, int64_t ldb)
{
    int32_t vecs = (s->width + GEMM_LANES - 1) / GEMM_LANES, lanes = vecs * GEMM_LANES;
    if (transpose)
        turn_rows(b, ldb, s->width, s->depth, lanes, (float *)s->b);
    else
        pack_lying(b, ldb, s->depth, s->width, lanes, (float *)s->b);
    if (vecs == 1)
        multiply_strip(s, 1);
    else if (vecs == 2)
        multiply_strip(s, 2);
    else
        multiply_strip(s, GEMM_VECS);
}

static void scale_rows(float beta, int32_t m, int32_t n, float *c, int64_t ldc)
{
    for (int32_t r = 0; r < m; r++)
        for (int32_t s = 0; s < n; s++) c[r * ldc + s] *= beta;
}

static void gemm(bool transpose_a, bool transpose_b, int32_t m, int32_t n, int32_t k,
                 const float *a, int32_t lda, const float *b, int32_t ldb, float beta, float *c,
                 int32_t ldc)
{
    vec packed[GEMM_DEPTH * GEMM_VECS];
    float rest[GEMM_DEPTH * GEMM_ROWS], tile[GEMM_ROWS * GEMM_COLUMNS] = {0};
    gemm_strip s = {.m = m,
                    .a_row = transpose_a ? 1 : lda,
                    .a_column = transpose_a ? lda : 1,
                    .ldc = ldc,
                    .b = packed,
                    .rest = rest,
                    .tile = tile};
    int64_t b_row = transpose_b ? 1 : ldb, b_column = transpose_b ? ldb : 1;
    int32_t first = 0;
    if (beta != 0 && beta != 1) scale_rows(beta, m, n, c, ldc);
    do {
        s.a = a + first * s.a_column;
        s.depth = k - first < GEMM_DEPTH ? k - first : GEMM_DEPTH;
        s.is_first = first == 0 && beta == 0;
        pack_rest(&s);
        for (int32_t column = 0; column < n; column += s.width) {
            s.width = strip_width(n - column);
            s.c = c + column;
            multiply_columns(&s, transpose_b, b + first * b_row + column * b_column, ldb);
        }
        first += GEMM_DEPTH;
    } while (first < k);
}
