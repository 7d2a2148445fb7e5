/* fused.h - a b + c rounded once, on CPUs that may lack the instruction. */
#ifndef CWI_BACKEND_CPU_FUSED_H
#define CWI_BACKEND_CPU_FUSED_H

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/*
 * The product of two floats is exact in double.  The sum is rounded to double and then to float,
 * and the second rounding could take the first one's result for a tie that it is not.  So such a
 * sum is moved to the neighbour with an odd last bit on the side of what was lost, which is never a
 * tie: rounding that to float gives what rounding the exact sum does.  The library's fmaf() does
 * the same by changing the rounding mode, far slower.
 */
static inline float round_once(double product, double added, double sum)
{
    double part = sum - product;
    double lost = (product - (sum - part)) + (added - part); /* exact */
    int64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    int64_t move = (lost > 0) == (sum > 0) ? 1 : -1;
    bits += (lost > 0 || lost < 0) && bits % 2 == 0 ? move : 0;
    memcpy(&sum, &bits, sizeof sum);
    return (float)sum;
}

/* A tie has a one and 28 zeros behind the last bit of a float; small floats have fewer bits. */
static inline float fused_in_double(float a, float b, float c)
{
    double product = (double)a * (double)b, added = (double)c, sum = product + added;
    uint64_t bits;
    memcpy(&bits, &sum, sizeof bits);
    bool may_tie = (bits & 0x1fffffff) == 0x10000000 || fabs(sum) < (double)FLT_MIN;
    return __builtin_expect(may_tie, false) ? round_once(product, added, sum) : (float)sum;
}

static inline float fused(float a, float b, float c)
{
#if defined(__FP_FAST_FMAF)
    return fmaf(a, b, c);
#else
    return fused_in_double(a, b, c);
#endif
}

#endif
