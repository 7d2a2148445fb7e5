/* gemm.c - matrix products of one thread. */
#include "backend/cpu/gemm.h"

#include <cblas.h>
#include <pthread.h>

static bool takes_turns;
static pthread_mutex_t turn = PTHREAD_MUTEX_INITIALIZER;

/* Our own threads cut the work, so that the cut never depends on their number: a BLAS that would
 * start threads of its own is told not to.  One that was built without threads may be built without
 * locks too: two calls at once then now and then get the same scratch memory and wrong products, so
 * that calls take turns. */
static void make_serial(void)
{
    takes_turns = openblas_get_parallel() == OPENBLAS_SEQUENTIAL;
    if (!takes_turns) openblas_set_num_threads(1);
}

void cwi_gemm_blas(bool transpose_a, bool transpose_b, int32_t m, int32_t n, int32_t k,
                   const float *a, int32_t lda, const float *b, int32_t ldb, float beta, float *c,
                   int32_t ldc)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_serial);
    if (takes_turns) pthread_mutex_lock(&turn);
    cblas_sgemm(CblasRowMajor, transpose_a ? CblasTrans : CblasNoTrans,
                transpose_b ? CblasTrans : CblasNoTrans, m, n, k, 1.0f, a, lda, b, ldb, beta, c,
                ldc);
    if (takes_turns) pthread_mutex_unlock(&turn);
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
