/* ops_neon.c - the operations for 64-bit Arm, all of which have neon. */
#include <arm_neon.h>

#include "backend/cpu/pack.h"
#include "backend/cpu/screen.h"
#include "backend/cpu/tables.h"

typedef float32x4_t vec, one_vec;
typedef uint64x2_t wide;

static inline vec vec_fma(float a, vec b, vec c)
{
    return vfmaq_n_f32(c, b, a);
}

static inline unsigned vec_above(const float *x, float bound)
{
    static const uint32_t bit[4] = {1, 2, 4, 8};
    uint32x4_t not_above = vcleq_f32(vld1q_f32(x), vdupq_n_f32(bound));
    return vaddvq_u32(vbicq_u32(vld1q_u32(bit), not_above));
}

static inline wide wide_product(wide a, uint32_t b)
{
    return vmull_n_u32(vmovn_u64(a), b);
}

static inline one_vec one_fma(float a, one_vec b, one_vec c)
{
    return vec_fma(a, b, c);
}

static inline void turn(const float *row, int64_t d, one_vec out[4])
{
    float64x2_t pair[4]; /* of rows 0 and 1: numbers 0 and 2, numbers 1 and 3; of rows 2 and 3 */
    for (int r = 0; r < 4; r += 2) {
        float32x4_t a = vld1q_f32(row + r * d), b = vld1q_f32(row + (r + 1) * d);
        pair[r] = vreinterpretq_f64_f32(vtrn1q_f32(a, b));
        pair[r + 1] = vreinterpretq_f64_f32(vtrn2q_f32(a, b));
    }
    for (int c = 0; c < 2; c++) {
        out[c] = vreinterpretq_f32_f64(vtrn1q_f64(pair[c], pair[c + 2]));
        out[c + 2] = vreinterpretq_f32_f64(vtrn2q_f64(pair[c], pair[c + 2]));
    }
}

#include "backend/cpu/score_one.h"

#define TILE_ITEMS      7 /* 21 of 32 registers hold sums, 3 users and 7 items */
#define GEMM_ROWS       8 /* 24 of 32 registers hold sums */
#define GEMM_VECS       3
#define OPS_TABLE       cwi_ops_neon
#define OPS_NAME        "neon"
#define OPS_SCREEN      screen_plain
#define OPS_SCREEN_PAYS never
#include "backend/cpu/gemm.h"
#include "backend/cpu/kernels.h"
