/*
 * score_one.h - inner products of one user with all items, for CPUs with fused steps.
 *
 * A block of one user would leave most lanes of score.h idle, so here a vector holds neighbouring
 * items: rows are turned into columns on the way, four columns at a time.  The sums are the same.
 * Include it after defining `one_vec`, one_fma(), and turn(), which makes four vectors of numbers
 * 0 .. 3 of as many rows as a vector has lanes.
 */
#include <math.h>
#include <stdint.h>
#include <string.h>

enum {
    ONE_LANES = (int)(sizeof(one_vec) / sizeof(float)),
    ONE_GROUPS = 4 /* enough to hide the time of a step */
};

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
    one_vec sum[ONE_GROUPS] = {0}, column[4];
    int32_t whole = d - d % 4;
    for (int32_t j = 0; j < whole; j += 4)
#pragma GCC unroll 4
        for (int g = 0; g < groups; g++) {
            turn(items + (int64_t)g * ONE_LANES * d + j, d, column);
            for (int c = 0; c < 4; c++) sum[g] = one_fma(user[j + c], column[c], sum[g]);
        }
    for (int g = 0; g < groups; g++) memcpy(out + g * ONE_LANES, &sum[g], sizeof sum[g]);
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
