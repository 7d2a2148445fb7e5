/* bootstrap.c - percentile bootstrap (Efron, 1979) over users. */
#include "evaluate/bootstrap.h"

#include <math.h>
#include <stdlib.h>

#include "core/mem.h"
#include "core/pool.h"
#include "core/rng.h"

enum { ROUND = 1024 }; /* resamples between two calls of the progress callback */

typedef struct resampling {
    const double *value;
    int64_t n_rows, n_resamples, first;
    int32_t n_columns;
    uint64_t seed;
    double *mean;   /* [n_columns][n_resamples] */
    int64_t *count; /* [n_columns][n_resamples] values that were not NaN */
} resampling;

static void draw_once(const resampling *s, int64_t b)
{
    cwi_rng rng;
    cwi_rng_init(&rng, s->seed, CWI_RNG_BOOTSTRAP, (uint64_t)b);
    for (int64_t k = 0; k < s->n_rows; k++) {
        const double *row =
            s->value + (int64_t)cwi_rng_below(&rng, (uint64_t)s->n_rows) * s->n_columns;
        for (int32_t c = 0; c < s->n_columns; c++) {
            if (isnan(row[c])) continue;
            s->mean[c * s->n_resamples + b] += row[c];
            s->count[c * s->n_resamples + b]++;
        }
    }
    for (int32_t c = 0; c < s->n_columns; c++) {
        int64_t at = c * s->n_resamples + b;
        s->mean[at] = s->count[at] > 0 ? s->mean[at] / (double)s->count[at] : (double)NAN;
    }
}

static cw_status draw_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const resampling *s = arg;
    (void)chunk;
    for (int64_t b = begin; b < end; b++) draw_once(s, s->first + b);
    return CW_OK;
}

static int ascending_order(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double cwi_interpolate(const double *ascending, int64_t count, double q)
{
    double place = q * (double)(count - 1);
    int64_t below = (int64_t)floor(place);
    int64_t above = below + 1 < count ? below + 1 : below;
    return ascending[below] + (place - (double)below) * (ascending[above] - ascending[below]);
}

/* The interval of one column, whose NaN (no value in any of the rows drawn) are moved out. */
static cwi_interval find_interval(double *mean, int64_t n)
{
    int64_t known = 0;
    for (int64_t b = 0; b < n; b++)
        if (!isnan(mean[b])) mean[known++] = mean[b];
    if (known == 0) return (cwi_interval){(double)NAN, (double)NAN};
    qsort(mean, (size_t)known, sizeof *mean, ascending_order);
    return (cwi_interval){cwi_interpolate(mean, known, 0.025), cwi_interpolate(mean, known, 0.975)};
}

cw_status cwi_bootstrap(cw_context *ctx, const double *value, int64_t n_rows, int32_t n_columns,
                        int64_t n_resamples, uint64_t seed, cwi_interval *out)
{
    cw_status status;
    cwi_pile pile = {0};
    resampling s = {.value = value,
                    .n_rows = n_rows,
                    .n_resamples = n_resamples,
                    .n_columns = n_columns,
                    .seed = seed};
    size_t columns = (size_t)n_columns, resamples = (size_t)n_resamples;

    s.mean = cwi_pile_add_zero(ctx, &pile, columns, resamples * sizeof *s.mean);
    s.count = cwi_pile_add_zero(ctx, &pile, columns, resamples * sizeof *s.count);
    CW_TRY(pile.status);
    for (; s.first < n_resamples; s.first += ROUND) {
        int64_t left = n_resamples - s.first;
        CW_TRY(cwi_progress(ctx, "resampling users", s.first, n_resamples));
        CW_TRY(cwi_pool_for(ctx, left < ROUND ? left : ROUND, 8, draw_chunk, &s));
    }
    for (int32_t c = 0; c < n_columns; c++)
        out[c] = find_interval(s.mean + c * n_resamples, n_resamples);
done:
    cwi_pile_clear(&pile);
    return status;
}
