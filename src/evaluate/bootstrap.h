/* bootstrap.h - how far a mean over users could be by chance. */
#ifndef CWI_EVALUATE_BOOTSTRAP_H
#define CWI_EVALUATE_BOOTSTRAP_H

#include "core/context.h"

typedef struct cwi_interval {
    double low, high;
} cwi_interval;

/*
 * 95 % percentile intervals of the means of columns: n_resamples times n_rows rows are drawn with
 * replacement (resample b from the stream (seed, b)) and averaged, NaN left out; the interval goes
 * from the 2.5 % to the 97.5 % quantile of these means.
 *   value  [n_rows][n_columns]
 *   out    [n_columns]
 */
cw_status cwi_bootstrap(cw_context *ctx, const double *value, int64_t n_rows, int32_t n_columns,
                        int64_t n_resamples, uint64_t seed, cwi_interval *out);

/* Quantile q of ascending values, interpolated between neighbours; count >= 1. */
double cwi_interpolate(const double *ascending, int64_t count, double q);

#endif
