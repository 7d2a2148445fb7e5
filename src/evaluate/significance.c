/* significance.c - paired t test and Wilcoxon's signed-rank test. */
#include "evaluate/significance.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/elementary.h"
#include "core/mem.h"

/* ---- the t distribution ------------------------------------------------------ */

/* Continued fraction of the incomplete beta function by Lentz's method; it converges quickly for
 * x below (a + 1) / (a + b + 2). */
static double beta_fraction(double a, double b, double x)
{
    const double tiny = 1e-300;
    double c = 1, d = 1 - (a + b) * x / (a + 1);
    d = 1 / (fabs(d) < tiny ? tiny : d);
    double value = d;

    for (int m = 1; m <= 10000; m++) {
        double even = m * (b - m) * x / ((a + 2 * m - 1) * (a + 2 * m));
        double odd = -(a + m) * (a + b + m) * x / ((a + 2 * m) * (a + 2 * m + 1));
        const double step[] = {even, odd};
        double factor = 1;
        for (int k = 0; k < 2; k++) {
            d = 1 + step[k] * d;
            c = 1 + step[k] / c;
            d = 1 / (fabs(d) < tiny ? tiny : d);
            if (fabs(c) < tiny) c = tiny;
            factor = c * d;
            value *= factor;
        }
        if (fabs(factor - 1) < 1e-16) break;
    }
    return value;
}

/* Regularised incomplete beta function I_x(a, b), 0 < x < 1.  y is 1 - x, which the caller knows
 * without rounding. */
static double incomplete_beta(double a, double b, double x, double y)
{
    double front = cwi_exp(cwi_log_gamma(a + b) - cwi_log_gamma(a) - cwi_log_gamma(b) +
                           a * cwi_ln(x) + b * cwi_ln(y));
    if (x < (a + 1) / (a + b + 2)) return front * beta_fraction(a, b, x) / a;
    return 1 - front * beta_fraction(b, a, y) / b;
}

double cwi_t_two_sided(double t, double freedom)
{
    double square = t * t, whole = freedom + square;
    if (isnan(t)) return (double)NAN;
    if (square == 0) return 1;
    if (isinf(whole)) return 0;
    return incomplete_beta(freedom / 2, 0.5, freedom / whole, square / whole);
}

void cwi_mean_sd(const double *value, int64_t n, double *mean, double *sd)
{
    double sum = 0, squares = 0;
    for (int64_t k = 0; k < n; k++) sum += value[k];
    *mean = n > 0 ? sum / (double)n : (double)NAN;
    for (int64_t k = 0; k < n; k++) squares += (value[k] - *mean) * (value[k] - *mean);
    *sd = n > 1 ? sqrt(squares / (double)(n - 1)) : (double)NAN;
}

/* ---- Wilcoxon ----------------------------------------------------------------- */

typedef struct ranked {
    double size;
    bool is_positive;
} ranked;

static int by_size(const void *a, const void *b)
{
    double x = ((const ranked *)a)->size, y = ((const ranked *)b)->size;
    return (x > y) - (x < y);
}

/* Twice the rank of each entry (whole also when equal ones share a mean), twice the rank sum of
 * the positive ones, and the sum of t^3 - t over the ties. */
static int64_t rank_twice(ranked *list, int64_t n, int64_t *twice, double *ties)
{
    int64_t positive = 0;
    qsort(list, (size_t)n, sizeof *list, by_size);
    *ties = 0;
    for (int64_t from = 0, to; from < n; from = to) {
        for (to = from + 1; to < n && list[to].size == list[from].size;) to++;
        double tied = (double)(to - from);
        *ties += tied * tied * tied - tied;
        for (int64_t k = from; k < to; k++) {
            twice[k] = from + 1 + to;
            if (list[k].is_positive) positive += twice[k];
        }
    }
    return positive;
}

/* Chance that the sum is at most `most` when every sign is a fair coin. */
static cw_status chance_at_most(cw_context *ctx, const int64_t *twice, int64_t n, int64_t most,
                                double *out)
{
    double *chance = cwi_alloc_zero(ctx, (size_t)most + 1, sizeof *chance);
    if (!chance) return CW_NO_MEMORY;
    chance[0] = 1;
    for (int64_t k = 0; k < n; k++)
        for (int64_t s = most; s >= 0; s--)
            chance[s] = (chance[s] + (s >= twice[k] ? chance[s - twice[k]] : 0)) / 2;
    *out = 0;
    for (int64_t s = 0; s <= most; s++) *out += chance[s];
    cwi_free(chance);
    return CW_OK;
}

static double normal_two_sided(double w, int64_t n, double ties)
{
    double count = (double)n, mean = count * (count + 1) / 4;
    double variance = count * (count + 1) * (2 * count + 1) / 24 - ties / 48;
    double z = (mean - w - 0.5) / sqrt(variance); /* w is the smaller sum */
    return z > 0 ? cwi_erfc(z / sqrt(2.0)) : 1;
}

cw_status cwi_wilcoxon(cw_context *ctx, const double *difference, int64_t n, double *w, double *p)
{
    cw_status status = CW_OK;
    int64_t kept = 0;
    double ties;
    ranked *list = cwi_alloc(ctx, (size_t)n, sizeof *list);
    int64_t *twice = cwi_alloc(ctx, (size_t)n, sizeof *twice);

    *w = *p = (double)NAN;
    if (!list || !twice) status = CW_NO_MEMORY;
    for (int64_t k = 0; k < n && status == CW_OK; k++)
        if (difference[k] != 0) list[kept++] = (ranked){fabs(difference[k]), difference[k] > 0};
    if (kept > 0) {
        int64_t positive = rank_twice(list, kept, twice, &ties);
        int64_t negative = kept * (kept + 1) - positive;
        int64_t smaller = positive < negative ? positive : negative;
        *w = (double)smaller / 2;
        if (kept > CWI_WILCOXON_EXACT)
            *p = normal_two_sided(*w, kept, ties);
        else
            status = chance_at_most(ctx, twice, kept, smaller, p);
        if (kept <= CWI_WILCOXON_EXACT && status == CW_OK) *p = *p > 0.5 ? 1 : 2 * *p;
    }
    cwi_free(list);
    cwi_free(twice);
    return status;
}

cw_status cwi_pairing_test(cw_context *ctx, const double *a, const double *b, int64_t n,
                           cwi_pairing *out)
{
    double *difference = cwi_alloc(ctx, (size_t)n, sizeof *difference);
    *out = (cwi_pairing){.n = n, .t = (double)NAN, .t_p = (double)NAN, .effect = (double)NAN};
    if (!difference) return CW_NO_MEMORY;
    for (int64_t k = 0; k < n; k++) difference[k] = a[k] - b[k];
    cwi_mean_sd(difference, n, &out->mean, &out->sd);
    if (n >= 2 && out->sd > 0) {
        out->effect = out->mean / out->sd;
        out->t = out->effect * sqrt((double)n);
        out->t_p = cwi_t_two_sided(out->t, (double)(n - 1));
    } else if (n >= 2) {
        out->t_p = out->mean != 0 ? 0 : 1;
    }
    cw_status status = cwi_wilcoxon(ctx, difference, n, &out->w, &out->wilcoxon_p);
    cwi_free(difference);
    return status;
}
