/* ops_ref.c - the operations compiled for any CPU: the reference. */
#include "backend/cpu/fused.h"
#include "backend/cpu/pack.h"
#include "backend/cpu/screen.h"
#include "backend/cpu/tables.h"

typedef struct vec {
    float lane[4];
} vec;

typedef uint64_t wide __attribute__((vector_size(8)));

static inline vec vec_fma(float a, vec b, vec c)
{
    for (int l = 0; l < 4; l++) c.lane[l] = fused(a, b.lane[l], c.lane[l]);
    return c;
}

static inline wide wide_product(wide a, uint32_t b)
{
    return (a & UINT32_MAX) * b;
}

static void score_one(const float *user, const float *items, int32_t n_items, int32_t d, float *out)
{
    for (int32_t i = 0; i < n_items; i++) {
        const float *item = items + (int64_t)i * d;
        float sum = 0;
        for (int32_t j = 0; j < d; j++) sum = fused(item[j], user[j], sum);
        out[i] = sum;
    }
}

static inline unsigned vec_above(const float *x, float bound)
{
    unsigned bits = 0;
    for (unsigned l = 0; l < 4; l++) bits |= (unsigned)!(x[l] <= bound) << l;
    return bits;
}

static void gemm(bool transpose_a, bool transpose_b, int32_t m, int32_t n, int32_t k,
                 const float *a, int32_t lda, const float *b, int32_t ldb, float beta, float *c,
                 int32_t ldc)
{
    int64_t a_row = transpose_a ? 1 : lda, a_column = transpose_a ? lda : 1;
    int64_t b_row = transpose_b ? 1 : ldb, b_column = transpose_b ? ldb : 1;
    for (int64_t r = 0; r < m; r++) {
        float *sum = c + r * ldc;
        for (int64_t s = 0; s < n; s++) sum[s] = beta == 0 ? 0 : beta * sum[s];
        for (int64_t j = 0; j < k; j++) {
            float x = a[r * a_row + j * a_column];
            const float *row = b + j * b_row;
            for (int64_t s = 0; s < n; s++) sum[s] = fused(x, row[s * b_column], sum[s]);
        }
    }
}

#define TILE_ITEMS      4
#define OPS_TABLE       cwi_ops_ref
#define OPS_NAME        "ref"
#define OPS_SCREEN      screen_plain
#define OPS_SCREEN_PAYS never
#include "backend/cpu/kernels.h"
