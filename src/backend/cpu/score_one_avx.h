/* score_one_avx.h - inner products of one user in vectors of 8 lanes: wider ones turn no faster. */
#include <immintrin.h>
#include <stdint.h>

typedef __m256 one_vec;

static inline one_vec one_fma(float a, one_vec b, one_vec c)
{
    return _mm256_fmadd_ps(_mm256_set1_ps(a), b, c);
}

static inline void turn(const float *row, int64_t d, one_vec out[4])
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

#include "backend/cpu/score_one.h"
