/* ops_ref.c - the operations compiled for any CPU: the reference. */
#include "backend/cpu/fused.h"
#include "backend/cpu/gemm.h"
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

#define TILE_ITEMS 4
#define OPS_TABLE  cwi_ops_ref
#define OPS_NAME   "ref"
#if defined(CWI_FASTER_TABLES)
#define OPS_GEMM cwi_gemm_plain
#else
#define OPS_GEMM cwi_gemm_blas /* the only table there is */
#endif
#define OPS_SCREEN      screen_plain
#define OPS_SCREEN_PAYS never
#include "backend/cpu/kernels.h"
