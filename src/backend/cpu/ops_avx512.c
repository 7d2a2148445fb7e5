/* ops_avx512.c - the operations compiled for avx512. */
#include <immintrin.h>

#include "backend/cpu/pack_avx512.h"
#include "backend/cpu/score_one_avx.h"
#include "backend/cpu/screen_vnni.h"
#include "backend/cpu/tables.h"

typedef __m512 vec;
typedef uint64_t wide __attribute__((vector_size(64)));

static inline vec vec_fma(float a, vec b, vec c)
{
    return _mm512_fmadd_ps(_mm512_set1_ps(a), b, c);
}

static inline unsigned vec_above(const float *x, float bound)
{
    return _mm512_cmp_ps_mask(_mm512_loadu_ps(x), _mm512_set1_ps(bound), _CMP_NLE_UQ);
}

static inline wide wide_product(wide a, uint32_t b)
{
    return (wide)_mm512_mul_epu32((__m512i)a, _mm512_set1_epi64(b));
}

#define TILE_ITEMS      8 /* 24 of 32 registers hold sums */
#define GEMM_ROWS       8 /* 16 sums hide the time of a step; more are no faster */
#define GEMM_VECS       2
#define OPS_TABLE       cwi_ops_avx512
#define OPS_NAME        "avx512"
#define OPS_SCREEN      screen_best
#define OPS_SCREEN_PAYS has_vnni
#include "backend/cpu/gemm.h"
#include "backend/cpu/kernels.h"
