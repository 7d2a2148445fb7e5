/* significance.h - could the difference between paired results be chance? */
#ifndef CWI_EVALUATE_SIGNIFICANCE_H
#define CWI_EVALUATE_SIGNIFICANCE_H

#include "core/context.h"

/* What n pairs say about their differences a[k] - b[k]. */
typedef struct cwi_pairing {
    int64_t n;
    double mean, sd;   /* of the differences; divisor n - 1 */
    double t, t_p;     /* paired t test, two-sided; NaN for fewer than two pairs */
    double effect;     /* mean / sd (Cohen's d of the differences); NaN when sd is 0 */
    double w;          /* Wilcoxon: the smaller of the two rank sums */
    double wilcoxon_p; /* two-sided; NaN without a difference */
} cwi_pairing;

/* Both tests on n pairs.  With sd 0 the t test says 0 when the mean differs from 0, else 1. */
cw_status cwi_pairing_test(cw_context *ctx, const double *a, const double *b, int64_t n,
                           cwi_pairing *out);

/* Mean and standard deviation (divisor n - 1; NaN for fewer than two values). */
void cwi_mean_sd(const double *value, int64_t n, double *mean, double *sd);

/* Probability that |t| with `freedom` degrees of freedom is at least this large. */
double cwi_t_two_sided(double t, double freedom);

/*
 * Wilcoxon signed-rank test of n differences, two-sided.  Differences of 0 are left out, equal ones
 * share the mean of their ranks.  Exact up to CWI_WILCOXON_EXACT differences, beyond that normal
 * with corrections for ties and continuity.
 *   w  the smaller of the two rank sums
 */
enum { CWI_WILCOXON_EXACT = 100 };
cw_status cwi_wilcoxon(cw_context *ctx, const double *difference, int64_t n, double *w, double *p);

#endif
