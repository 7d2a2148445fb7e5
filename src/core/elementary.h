/*
 * elementary.h - exponentials, logarithms and the like, the same bits on every machine.
 *
 * Those of the C library differ in the last bit from one version to the next, and on one machine
 * from CPU to CPU: it takes fused steps where there are some.  These are plain sums and products
 * in a fixed order, right to a bit or two in the last place.
 */
#ifndef CWI_CORE_ELEMENTARY_H
#define CWI_CORE_ELEMENTARY_H

#include <string.h>

#include "core/formula.h"

CWI_SHARED_FORMULA double cwi_exp(double x);
CWI_SHARED_FORMULA double cwi_ln(double x);
CWI_SHARED_FORMULA double cwi_log1p(double x);
CWI_SHARED_FORMULA double cwi_log2(double x);          /* exact for powers of 2 */
CWI_SHARED_FORMULA double cwi_log10(double x);         /* exact for powers of 10 */
CWI_SHARED_FORMULA double cwi_pow(double x, double y); /* x >= 0, or y whole and up to 64 */
CWI_SHARED_FORMULA double cwi_cos(double x);           /* |x| up to some thousands */
CWI_SHARED_FORMULA double cwi_erfc(double x);
CWI_SHARED_FORMULA double cwi_log_gamma(double x); /* x > 0 */

/* Added to a number and taken away again it leaves the nearest whole one, whose low bits it then
 * has. */
#define CWI_WHOLE_SHIFT 0x1.8p52

/* Made for loops over many numbers, which become vectors: no branch, no table. */
CWI_FORMULA float cwi_expf(float x)
{
    const double log2_e = 0x1.71547652b82fep0, ln_2 = 0x1.62e42fefa39efp-1;
    double bound = x > 150.0f ? 150.0 : x < -150.0f ? -150.0 : (double)x; /* NaN stays */
    double shifted = bound * log2_e + CWI_WHOLE_SHIFT, scale;
    double r = bound - (shifted - CWI_WHOLE_SHIFT) * ln_2, s = r * r;
    double low = 1 + r + s * (0.5 + r * (1.0 / 6));
    double high =
        1.0 / 24 + r * (1.0 / 120) + s * (1.0 / 720 + r * (1.0 / 5040) + s * (1.0 / 40320));
    uint64_t bits;
    memcpy(&bits, &shifted, sizeof bits);
    bits = (bits + 1023) << 52;
    memcpy(&scale, &bits, sizeof scale);
    return (float)((low + s * s * high) * scale);
}

CWI_FORMULA float cwi_tanhf(float x)
{
    double square = (double)x * (double)x;
    if (square < 1e-4) return (float)((double)x * (1 - square * (1.0 / 3 - square * (2.0 / 15))));
    double e = cwi_exp(-2 * (double)(x < 0 ? -x : x)), size = (1 - e) / (1 + e);
    return (float)(x < 0 ? -size : size);
}

#if defined(__cplusplus)
#include "core/elementary.c"
#endif

#endif
