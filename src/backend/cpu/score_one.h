/*
 * score_one.h - inner products of one user with all items, for CPUs with 8 lanes and fused steps.
 *
 * A block of one user would leave most lanes of score.h idle, so here a vector holds neighbouring
 * items: rows are turned into columns on the way, four columns at a time.  The sums are the same.
 */
#include <immintrin.h>
#include <math.h>
#include <stdint.h>

enum { ONE_LANES = 8, ONE_GROUPS = 4 }; /* groups enough to hide the time of a step */

/* Numbers 0 .. 3 of eight rows as four vectors of eight. */
static inline void turn(const float *row, int64_t d, __m256 out[4])
{
    __m256 both[4];
    for (int r = 0; r < 4; r++)
        both[r] = _mm256_insertf128_ps(_mm256_castps128_ps256(_mm_loadu_ps(row + r * d)),
                                       _mm_loadu_ps(row + (r + 4) * d), 1);
    __m256 low01 = _mm256_unpacklo_ps(both[0], both[1]),
           high01 = _mm256_unpackhi_ps(both[0], both[1]);
    __m256 low23 = _mm256_unpacklo_ps(both[2], both[3]),
           high23 = _mm256_unpackhi_ps(both[2], both[3]);
    out[0] = _mm256_shuffle_ps(low01, low23, 0x44);
    out[1] = _mm256_shuffle_ps(low01, low23, 0xee);
    out[2] = _mm256_shuffle_ps(high01, high23, 0x44);
    out[3] = _mm256_shuffle_ps(high01, high23, 0xee);
}

/* Columns from `first` on, after a sum of those before. */
static inline float add_columns(const float *user, const float *item, int32_t first, int32_t d,
                                float sum)
{
    for (int32_t j = first; j < d; j++) sum = fmaf(item[j], user[j], sum);
    return sum;
}

__attribute__((always_inline)) static inline void
score_groups(const float *user, const float *items, int32_t d, int groups, float *out)
{
    __m256 sum[ONE_GROUPS], column[4];
    int32_t whole = d - d % 4;
    for (int g = 0; g < groups; g++) sum[g] = _mm256_setzero_ps();
    for (int32_t j = 0; j < whole; j += 4)
#pragma GCC unroll 4
        for (int g = 0; g < groups; g++) {
            turn(items + (int64_t)g * ONE_LANES * d + j, d, column);
            for (int c = 0; c < 4; c++)
                sum[g] = _mm256_fmadd_ps(column[c], _mm256_set1_ps(user[j + c]), sum[g]);
        }
    for (int g = 0; g < groups; g++) _mm256_storeu_ps(out + g * ONE_LANES, sum[g]);
    for (int32_t i = 0; i < groups * ONE_LANES && whole < d; i++)
        out[i] = add_columns(user, items + (int64_t)i * d, whole, d, out[i]);
}

static void score_one(const float *user, const float *items, int32_t n_items, int32_t d, float *out)
{
    enum { MANY = ONE_LANES * ONE_GROUPS };
    int32_t i = 0;
    for (; i + MANY <= n_items; i += MANY)
        score_groups(user, items + (int64_t)i * d, d, ONE_GROUPS, out + i);
    for (; i + ONE_LANES <= n_items; i += ONE_LANES)
        score_groups(user, items + (int64_t)i * d, d, 1, out + i);
    for (; i < n_items; i++) out[i] = add_columns(user, items + (int64_t)i * d, 0, d, 0);
}
