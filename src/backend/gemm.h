/* gemm.h - matrix products on all threads, cut into blocks that depend on the shapes alone. */
#ifndef CWI_BACKEND_GEMM_H
#define CWI_BACKEND_GEMM_H

#include "core/context.h"

/* c = a op(b) + beta c: a is m x k, op(b) k x n; op transposes when told.  m may be large. */
cw_status cwi_gemm(cw_context *ctx, int64_t m, int32_t n, int32_t k, const float *a, int32_t lda,
                   bool transpose_b, const float *b, int32_t ldb, float beta, float *c,
                   int32_t ldc);

enum { CWI_GEMM_PARTS = 8 };

/* c = a^T b, summed over `rows` rows: a is rows x m, b rows x n, c m x n without gaps.
 *   room  [CWI_GEMM_PARTS][m][n] scratch: partial sums, added in order */
cw_status cwi_gemm_sum(cw_context *ctx, int64_t rows, int32_t m, int32_t n, const float *a,
                       int32_t lda, const float *b, int32_t ldb, float *c, float *room);

/* c = op(a) op(b) + beta c in tiles of c, each one product over all of k: for a c that is large
 * both ways and would have to be held once per part above.  op(a) is m x k, op(b) k x n. */
cw_status cwi_gemm_tiled(cw_context *ctx, bool transpose_a, bool transpose_b, int32_t m, int32_t n,
                         int32_t k, const float *a, int32_t lda, const float *b, int32_t ldb,
                         float beta, float *c, int32_t ldc);

#endif
