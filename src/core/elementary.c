/* elementary.c - exponentials, logarithms and the like, the same bits on every machine. */
#include "core/elementary.h"

#include <math.h>
#include <stdbool.h>

/* ln 2 and pi / 2 in two parts; the first has zeros at its end, so that a multiple is exact. */
static const double ln2_high = 0x1.62e42feep-1, ln2_low = 0x1.a39ef35793c76p-33,
                    log2_e = 0x1.71547652b82fep0;
static const double quarter_high = 0x1.921fb544p0, quarter_low = 0x1.0b4611a626331p-34;

/* A number and what rounding took from it. */
typedef struct parts {
    double high, low;
} parts;

CWI_FORMULA double with_bits(uint64_t bits)
{
    double x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

CWI_FORMULA uint64_t bits_of(double x)
{
    uint64_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits;
}

/* 2^n for a number that is neither too small nor too large to be normal. */
CWI_FORMULA double power_of_2(int n)
{
    return with_bits((uint64_t)(n + 1023) << 52);
}

CWI_FORMULA parts sum_of(double a, double b)
{
    double high = a + b, part = high - a;
    parts sum = {high, (a - (high - part)) + (b - part)};
    return sum;
}

/* Products of halves are exact. */
CWI_FORMULA parts product_of(double a, double b)
{
    const uint64_t upper = ~(uint64_t)0x7ffffff;
    double high = a * b, a1 = with_bits(bits_of(a) & upper), b1 = with_bits(bits_of(b) & upper);
    double a2 = a - a1, b2 = b - b1;
    parts product = {high, ((a1 * b1 - high) + a1 * b2 + a2 * b1) + a2 * b2};
    return product;
}

/* ---- exponentials ----------------------------------------------------------------- */

/* sum of r^n / n! up to n = 13, for |r| <= ln 2 / 2 */
CWI_FORMULA double exp_series(double r)
{
    double s = r * r, q = s * s;
    double a = 1.0 / 6 + r * (1.0 / 24) + s * (1.0 / 120 + r * (1.0 / 720));
    double b = 1.0 / 5040 + r * (1.0 / 40320) + s * (1.0 / 362880 + r * (1.0 / 3628800));
    double c = 1.0 / 39916800 + r * (1.0 / 479001600) + s * (1.0 / 6227020800);
    return 1 + (r + (0.5 * s + s * r * (a + q * (b + q * c))));
}

/* exp(x + low) for a low that is small beside x */
CWI_FORMULA double exp_of(double x, double low)
{
    if (isnan(x)) return x;
    if (x > 710) return INFINITY;
    if (x < -746) return 0;
    double n = (x * log2_e + CWI_WHOLE_SHIFT) - CWI_WHOLE_SHIFT;
    double r = (x - n * ln2_high) - (n * ln2_low - low);
    int all = (int)n, half = all / 2; /* a result may be too small to be normal */
    return exp_series(r) * power_of_2(half) * power_of_2(all - half);
}

CWI_SHARED_FORMULA double cwi_exp(double x)
{
    return exp_of(x, 0);
}

/* ---- logarithms ------------------------------------------------------------------- */

/* x = 2^power (1 + f) with 1 + f between the roots of 1/2 and of 2; x is normal. */
CWI_FORMULA double split(double x, double *power)
{
    const uint64_t root = 0x3fe6a09e667f3bcd; /* of 1/2 */
    int64_t n = (int64_t)(bits_of(x) - root) >> 52;
    *power = (double)n;
    return with_bits(bits_of(x) - ((uint64_t)n << 52)) - 1;
}

/* 2 atanh(s) / s - 2 for s = f / (2 + f), from s^2: 2 s^2 / 3 + 2 s^4 / 5 + ... */
CWI_FORMULA double log_series(double z)
{
    double y = z * z;
    double a = 2.0 / 3 + z * (2.0 / 5) + y * (2.0 / 7 + z * (2.0 / 9));
    double b = 2.0 / 11 + z * (2.0 / 13) + y * (2.0 / 15 + z * (2.0 / 17));
    double c = 2.0 / 19 + z * (2.0 / 21) + y * (2.0 / 23);
    return z * (a + y * y * (b + y * y * c));
}

/* Above zero, normal and finite. */
CWI_FORMULA bool is_plain(double x)
{
    return x >= 0x1p-1022 && x < INFINITY;
}

/* log(1 + f) = f - s (f - series) */
CWI_FORMULA double log_parts(double f, double power, double more)
{
    double s = f / (2 + f);
    return power * ln2_high - ((s * (f - log_series(s * s)) - (power * ln2_low + more)) - f);
}

CWI_FORMULA double log_of_others(double x)
{
    if (x == 0) return -INFINITY;
    if (x < 0) return NAN;
    if (!(x < INFINITY)) return x;
    double power, f = split(x * 0x1p54, &power);
    return log_parts(f, power, 0) - 54 * (ln2_high + ln2_low);
}

CWI_SHARED_FORMULA double cwi_ln(double x)
{
    double power;
    if (!is_plain(x)) return log_of_others(x);
    double f = split(x, &power);
    return log_parts(f, power, 0);
}

CWI_SHARED_FORMULA double cwi_log1p(double x)
{
    double sum = 1 + x, power;
    if (!is_plain(sum)) return log_of_others(sum);
    double lost = (x < 1 ? x - (sum - 1) : 1 - (sum - x)) / sum;
    double f = split(sum, &power);
    return log_parts(f, power, lost);
}

CWI_SHARED_FORMULA double cwi_log2(double x)
{
    double power;
    if (!is_plain(x)) return log_of_others(x) * log2_e;
    double f = split(x, &power);
    return power + log_parts(f, 0, 0) * log2_e;
}

CWI_SHARED_FORMULA double cwi_log10(double x)
{
    double value = cwi_ln(x) * 0x1.bcb7b1526e50ep-2;
    double whole = (value + CWI_WHOLE_SHIFT) - CWI_WHOLE_SHIFT;
    return fabs(value - whole) < 1e-12 && cwi_pow(10, whole) == x ? whole : value;
}

/* log(x) in two parts */
CWI_FORMULA parts log_pair(double x)
{
    double power, f = split(x, &power), t = 2 + f, s = f / t;
    parts back = product_of(s, t);
    double rest = ((f - back.high) - back.low - s * (f - (t - 2))) / t; /* of s */
    parts sum = sum_of(power * ln2_high, 2 * s);
    return sum_of(sum.high, sum.low + (power * ln2_low + 2 * rest + s * log_series(s * s)));
}

/* ---- powers ----------------------------------------------------------------------- */

CWI_FORMULA double whole_power(double x, int n)
{
    double result = 1;
    for (int left = n < 0 ? -n : n; left > 0; left /= 2, x *= x)
        if (left % 2) result *= x;
    return n < 0 ? 1 / result : result;
}

CWI_SHARED_FORMULA double cwi_pow(double x, double y)
{
    if (y >= -64 && y <= 64 && y == (double)(int)y) return whole_power(x, (int)y);
    if (!is_plain(x) || isinf(y)) return exp_of(y * cwi_ln(x), 0);
    parts log_x = log_pair(x), product = product_of(y, log_x.high);
    if (!(fabs(product.high) < 800)) return exp_of(product.high, 0);
    return exp_of(product.high, product.low + y * log_x.low);
}

/* ---- the rest --------------------------------------------------------------------- */

/* For |r| <= pi / 4 and s = r^2, by the series up to r^16 and r^17. */
CWI_FORMULA double cos_series(double s)
{
    double q = s * s;
    double a = 1.0 / 24 - s * (1.0 / 720) + q * (1.0 / 40320 - s * (1.0 / 3628800));
    double b = 1.0 / 479001600 - s * (1.0 / 87178291200) + q * (1.0 / 20922789888000);
    return 1 - (0.5 * s - q * (a + q * q * b));
}

CWI_FORMULA double sin_series(double r, double s)
{
    double q = s * s;
    double a = 1.0 / 6 - s * (1.0 / 120) + q * (1.0 / 5040 - s * (1.0 / 362880));
    double b = 1.0 / 39916800 - s * (1.0 / 6227020800) + q * (1.0 / 1307674368000);
    return r - r * s * (a + q * q * b);
}

CWI_SHARED_FORMULA double cwi_cos(double x)
{
    double quarters = (x * 0x1.45f306dc9c883p-1 + CWI_WHOLE_SHIFT) - CWI_WHOLE_SHIFT;
    double r = (x - quarters * quarter_high) - quarters * quarter_low, s = r * r;
    switch ((int)quarters & 3) {
    case 0: return cos_series(s);
    case 1: return -sin_series(r, s);
    case 2: return -cos_series(s);
    default: return sin_series(r, s);
    }
}

/* Stirling's series for large x; gamma(x) = gamma(x + n) / (x (x + 1) ...) else. */
CWI_SHARED_FORMULA double cwi_log_gamma(double x)
{
    const double half_log_turn = 0x1.d67f1c864beb5p-1; /* log(2 pi) / 2 */
    double product = 1;
    for (; x < 15; x++) product *= x;
    double y = 1 / (x * x);
    double series =
        1.0 / 12 -
        y * (1.0 / 360 -
             y * (1.0 / 1260 - y * (1.0 / 1680 - y * (1.0 / 1188 - y * (691.0 / 360360)))));
    return (x - 0.5) * cwi_ln(x) - x + half_log_turn + series / x - cwi_ln(product);
}

/* erf(x) = 2 / sqrt(pi) exp(-x^2) (x + 2 x^3 / 3 + 4 x^5 / 15 + ...), all terms above zero */
CWI_FORMULA double erf_series(double x)
{
    double term = x, sum = x;
    for (int n = 1; term > 1e-17 * sum; n++) {
        term *= 2 * x * x / (2 * n + 1);
        sum += term;
    }
    return 0x1.20dd750429b6dp0 * cwi_exp(-x * x) * sum;
}

CWI_SHARED_FORMULA double cwi_erfc(double x)
{
    enum { TERMS = 60 }; /* of the continued fraction, at 2 */
    double fraction = 0;
    if (x < 0) return 2 - cwi_erfc(-x);
    if (x < 2) return 1 - erf_series(x);
    if (x > 28) return 0;
    for (int n = TERMS; n > 0; n--) fraction = 0.5 * n / (x + fraction);
    return 0x1.20dd750429b6dp-1 * cwi_exp(-x * x) / (x + fraction);
}
