/* bootstrap.h - how far a metric of users could be by chance. */
#ifndef CWI_EVALUATE_BOOTSTRAP_H
#define CWI_EVALUATE_BOOTSTRAP_H

#include "evaluate/metrics.h"

typedef struct cwi_interval {
    double low, high;
} cwi_interval;

/*
 * 95 % percentile intervals of the metrics in columns: n_resamples times n_rows rows are drawn with
 * replacement (resample b from the stream (seed, b)) and put together; the interval goes from the
 * 2.5 % to the 97.5 % quantile of what comes out.
 * Columns of metrics of all users are resampled from the absent ones, too.
 *   share     [n_rows][n_columns]
 *   absent    [n_columns] what each of n_absent more users brings; zeros where they do not count
 *   out       [n_columns]
 */
cw_status cwi_bootstrap(cw_context *ctx, const cwi_share *share, int64_t n_rows, int32_t n_columns,
                        const cwi_share *absent, int64_t n_absent, int64_t n_resamples,
                        uint64_t seed, cwi_interval *out);

/* Quantile q of ascending values, interpolated between neighbours; count >= 1. */
double cwi_interpolate(const double *ascending, int64_t count, double q);

#endif
