/* gemm.c - matrix products of one thread. */
#include "backend/cpu/gemm.h"

#include <cblas.h>
#include <pthread.h>

/* Our own threads cut the work, so that the cut never depends on their number: a BLAS that would
 * start threads of its own is told not to. */
static void make_serial(void)
{
    if (openblas_get_parallel() != OPENBLAS_SEQUENTIAL) openblas_set_num_threads(1);
}

void cwi_gemm_blas(bool transpose_a, bool transpose_b, int32_t m, int32_t n, int32_t k,
                   const float *a, int32_t lda, const float *b, int32_t ldb, float beta, float *c,
                   int32_t ldc)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_serial);
    cblas_sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
                transpose_b ? CblasTrans : CblasNoTrans, m, n, k, 1.0f, a, lda, b, ldb, beta, c,
                ldc);
}

void cwi_gemm_plain(bool transpose_a, bool transpose_b, int32_t m, int32_t n, int32_t k,
                    const float *a, int32_t lda, const float *b, int32_t ldb, float beta, float *c,
                    int32_t ldc)
{
    int64_t a_row = transpose_a ? 1 : lda, a_column = transpose_a ? lda : 1;
    int64_t b_row = transpose_b ? 1 : ldb, b_column = transpose_b ? ldb : 1;
    for (int64_t r = 0; r < m; r++)
        for (int64_t s = 0; s < n; s++) {
            float sum = 0;
            for (int64_t j = 0; j < k; j++)
                sum += a[r * a_row + j * a_column] * b[j * b_row + s * b_column];
            float *out = c + r * ldc + s;
            *out = beta == 0 ? sum : sum + beta * *out;
        }
}
