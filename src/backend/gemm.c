/* gemm.c - blocks of matrix products for the pool. */
#include "backend/gemm.h"

#include <string.h>

#include "backend/backend.h"
#include "core/pool.h"

enum { ROWS_A_BLOCK = 256, TILE_ROWS = 256, TILE_COLUMNS = 64 };

typedef struct product {
    const cwi_ops *ops;
    int32_t m, n, k;
    const float *a, *b;
    int32_t lda, ldb, ldc;
    bool transpose_a, transpose_b;
    float beta, *c;
} product;

static cw_status multiply_rows(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const product *p = arg;
    (void)chunk;
    p->ops->gemm(false, p->transpose_b, (int32_t)(end - begin), p->n, p->k, p->a + begin * p->lda,
                 p->lda, p->b, p->ldb, p->beta, p->c + begin * p->ldc, p->ldc);
    return CW_OK;
}

cw_status cwi_gemm(cw_context *ctx, int64_t m, int32_t n, int32_t k, const float *a, int32_t lda,
                   bool transpose_b, const float *b, int32_t ldb, float beta, float *c, int32_t ldc)
{
    product p = {.ops = cwi_ops_best(),
                 .n = n,
                 .k = k,
                 .a = a,
                 .b = b,
                 .lda = lda,
                 .ldb = ldb,
                 .ldc = ldc,
                 .transpose_b = transpose_b,
                 .beta = beta,
                 .c = c};
    return cwi_pool_for(ctx, m, ROWS_A_BLOCK, multiply_rows, &p);
}

static cw_status sum_part(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const product *p = arg;
    p->ops->gemm(true, false, p->m, p->n, (int32_t)(end - begin), p->a + begin * p->lda, p->lda,
                 p->b + begin * p->ldb, p->ldb, 0, p->c + chunk * p->m * p->n, p->n);
    return CW_OK;
}

cw_status cwi_gemm_sum(cw_context *ctx, int64_t rows, int32_t m, int32_t n, const float *a,
                       int32_t lda, const float *b, int32_t ldb, float *c, float *room)
{
    int64_t entries = (int64_t)m * n;
    int64_t block = (rows + CWI_GEMM_PARTS - 1) / CWI_GEMM_PARTS;
    product p = {
        .ops = cwi_ops_best(), .m = m, .n = n, .a = a, .b = b, .lda = lda, .ldb = ldb, .c = room};

    memset(c, 0, (size_t)entries * sizeof *c);
    if (rows == 0) return CW_OK;
    cw_status status = cwi_pool_for(ctx, rows, block, sum_part, &p);
    if (status != CW_OK) return status;
    for (int64_t part = 0; part < cwi_pool_chunks(rows, block); part++)
        for (int64_t k = 0; k < entries; k++) c[k] += room[part * entries + k];
    return CW_OK;
}

static int32_t at_most(int64_t left, int32_t most)
{
    return left < most ? (int32_t)left : most;
}

static cw_status multiply_tile(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const product *p = arg;
    int64_t down = cwi_pool_chunks(p->m, TILE_ROWS);
    (void)chunk;
    (void)end; /* one tile a chunk */
    int64_t row = begin % down * TILE_ROWS, column = begin / down * TILE_COLUMNS;
    p->ops->gemm(p->transpose_a, p->transpose_b, at_most(p->m - row, TILE_ROWS),
                 at_most(p->n - column, TILE_COLUMNS), p->k,
                 p->a + (p->transpose_a ? row : row * p->lda), p->lda,
                 p->b + (p->transpose_b ? column * p->ldb : column), p->ldb, p->beta,
                 p->c + row * p->ldc + column, p->ldc);
    return CW_OK;
}

cw_status cwi_gemm_tiled(cw_context *ctx, bool transpose_a, bool transpose_b, int32_t m, int32_t n,
                         int32_t k, const float *a, int32_t lda, const float *b, int32_t ldb,
                         float beta, float *c, int32_t ldc)
{
    product p = {.ops = cwi_ops_best(),
                 .m = m,
                 .n = n,
                 .k = k,
                 .a = a,
                 .b = b,
                 .lda = lda,
                 .ldb = ldb,
                 .ldc = ldc,
                 .transpose_a = transpose_a,
                 .transpose_b = transpose_b,
                 .beta = beta,
                 .c = c};
    int64_t tiles = cwi_pool_chunks(m, TILE_ROWS) * cwi_pool_chunks(n, TILE_COLUMNS);
    return cwi_pool_for(ctx, tiles, 1, multiply_tile, &p);
}
