/* pack_avx512.h - numbers between two bounds side by side. */
#ifndef CWI_BACKEND_CPU_PACK_AVX512_H
#define CWI_BACKEND_CPU_PACK_AVX512_H

#include <immintrin.h>
#include <stdbool.h>
#include <stdint.h>

enum { PACK_PAYS = true };

/* Of low <= x < high, in their order; `to` has room for 16 more.  They are put side by side in a
 * register: to do so in memory takes far longer on some CPUs. */
static inline int64_t pack_between(const float *x, int64_t n, float low, float high, float *to)
{
    const __m512 least = _mm512_set1_ps(low), most = _mm512_set1_ps(high);
    int64_t packed = 0;
    for (int64_t j = 0; j < n; j += 16) {
        __mmask16 there = n - j < 16 ? (__mmask16)((1u << (n - j)) - 1) : (__mmask16)0xffff;
        __m512 y = _mm512_maskz_loadu_ps(there, x + j);
        there = (__mmask16)_mm512_mask_cmp_ps_mask(there, y, least, _CMP_GE_OQ);
        there = (__mmask16)_mm512_mask_cmp_ps_mask(there, y, most, _CMP_LT_OQ);
        _mm512_storeu_ps(to + packed, _mm512_maskz_compress_ps(there, y));
        packed += __builtin_popcount(there);
    }
    return packed;
}

#endif
