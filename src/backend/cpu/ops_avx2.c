/* ops_avx2.c - the operations compiled for avx2 and fma. */
#include <immintrin.h>

#include "backend/cpu/pack.h"
#include "backend/cpu/score_one_avx.h"
#include "backend/cpu/screen.h"
#include "backend/cpu/tables.h"

typedef __m256 vec;
typedef uint64_t wide __attribute__((vector_size(32)));

static inline vec vec_fma(float a, vec b, vec c)
{
    return _mm256_fmadd_ps(_mm256_set1_ps(a), b, c);
}

static inline unsigned vec_above(const float *x, float bound)
{
    vec above = _mm256_cmp_ps(_mm256_loadu_ps(x), _mm256_set1_ps(bound), _CMP_NLE_UQ);
    return (unsigned)_mm256_movemask_ps(above);
}

static inline wide wide_product(wide a, uint32_t b)
{
    return (wide)_mm256_mul_epu32((__m256i)a, _mm256_set1_epi64x(b));
}

#define TILE_ITEMS      4 /* 12 of 16 registers hold sums */
#define GEMM_ROWS       4 /* 12 of 16 registers hold sums */
#define GEMM_VECS       3
#define OPS_TABLE       cwi_ops_avx2
#define OPS_NAME        "avx2"
#define OPS_SCREEN      screen_plain
#define OPS_SCREEN_PAYS never
#include "backend/cpu/gemm.h"
#include "backend/cpu/kernels.h"
