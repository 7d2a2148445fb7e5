/*
 * bytes.c - rounding to bytes with a bound that holds.
 *
 * With u = su qu + du and a = sa qa + da, where q are whole numbers and d is what is left,
 *   u.a - su sa (qu.qa) = du.a + su qu.da, at most |du| |a| + |su qu| |da| (Cauchy-Schwarz).
 * The rest is rounding to floats, with e = 2^-24:
 *   a score, a chain of d fused steps, is within d e / (1 - d e) |u| |a| of u.a;
 *   sum * sa, rounded twice, and its sum with the error, rounded once more, are within
 *   4 e |su qu| |sa qa| of what they should be; and
 *   the products and the sum of the error itself are too small by 4 e of them at most.
 * The first two together are at most 1.01 (d + 64) e times the product of the lengths, which is
 * added to |du|; the last is made up for by moving all terms up by 2^-20 of themselves.  Numbers
 * below the smallest normal float lose up to 2^-150 a step whatever their size: that is the slack.
 */
#include "evaluate/bytes.h"

#include <math.h>

enum { LANES = 16, PIECE = 64, TOP = 127 };

static const float least_top = 1e-20f;     /* shorter vectors are all rest */
static const double most_square = 1e36;    /* products stay below the largest float */
static const double half_step = 0x1p-24;   /* of floats */
static const double upwards = 1 + 0x1p-20; /* makes up for a few roundings */

/* The largest absolute value; partial results make it a loop for vectors. */
static float top_of(const float *x, int32_t d)
{
    float top[LANES] = {0};
    int32_t j = 0;
    for (; j + LANES <= d; j += LANES)
        for (int l = 0; l < LANES; l++) {
            float size = fabsf(x[j + l]);
            top[l] = size > top[l] ? size : top[l];
        }
    for (; j < d; j++) top[0] = fabsf(x[j]) > top[0] ? fabsf(x[j]) : top[0];
    for (int l = 1; l < LANES; l++) top[0] = top[l] > top[0] ? top[l] : top[0];
    return top[0];
}

/* Round a piece; what is left of it goes to `left`. */
static void round_piece(const float *restrict x, int32_t n, float scale, float per_unit,
                        int8_t *restrict byte, float *restrict left)
{
    for (int32_t j = 0; j < n; j++) {
        float units = x[j] * per_unit;
        int32_t whole = (int32_t)(units + copysignf(0.5f, units));
        byte[j] = (int8_t)whole;
        left[j] = x[j] - scale * (float)whole;
    }
}

bool cwi_round(const float *x, int32_t d, int8_t *byte, cwi_rounded *out)
{
    const cwi_ops *ops = cwi_ops_best();
    double square = ops->sum_squares(x, d), rest = 0;
    float left[PIECE], top = top_of(x, d);
    int32_t sum = 0, byte_square = 0;

    if (!(square <= most_square)) return false; /* or not a number */
    bool is_short = top < least_top;
    float scale = is_short ? 0 : top / TOP, per_unit = is_short ? 0 : TOP / top;
    for (int32_t j = 0; j < d; j += PIECE) {
        int32_t n = d - j < PIECE ? d - j : PIECE;
        round_piece(x + j, n, scale, per_unit, byte + j, left);
        rest += ops->sum_squares(left, n);
    }
    for (int32_t j = 0; j < d; j++) sum += byte[j];
    for (int32_t j = 0; j < d; j++) byte_square += byte[j] * byte[j];
    double length = sqrt(square), rounded = (double)scale * sqrt((double)byte_square);
    if (rounded > length) length = rounded;
    *out = (cwi_rounded){.scale = scale, .sum = sum, .square = byte_square};
    out->length = (float)(upwards * length);
    /* What is left was itself rounded, to 2 half steps of the numbers before. */
    out->rest = (float)(upwards * (sqrt(rest) + 8 * half_step * length));
    return true;
}

float cwi_round_user(const cwi_rounded *user, int32_t d, cwi_screen_user *out)
{
    double share = 1.01 * (d + 64) * half_step, scale = (double)user->scale;
    double error = (double)user->rest + share * (double)user->length;
    out->start = -128 * user->sum;
    out->by_length = (float)(upwards * error / scale);
    out->by_rest = (float)(upwards * sqrt(user->square));
    return (float)(upwards * ((d + 16) * 0x1p-149 / scale + 0x1p-120));
}
