/* gemm.h - the matrix product: through BLAS, and in plain C for comparison. */
#ifndef CWI_BACKEND_CPU_GEMM_H
#define CWI_BACKEND_CPU_GEMM_H

#include "backend/backend.h"

/* Both are cwi_ops.gemm. */
void cwi_gemm_blas(bool transpose_a, bool transpose_b, int32_t m, int32_t n, int32_t k,
                   const float *a, int32_t lda, const float *b, int32_t ldb, float beta, float *c,
                   int32_t ldc);
void cwi_gemm_plain(bool transpose_a, bool transpose_b, int32_t m, int32_t n, int32_t k,
                    const float *a, int32_t lda, const float *b, int32_t ldb, float beta, float *c,
                    int32_t ldc);

#endif
