/* bootstrap.c - percentile bootstrap (Efron, 1979) over users. */
#include "evaluate/bootstrap.h"

#include <math.h>
#include <stdlib.h>

#include "core/mem.h"
#include "core/pool.h"
#include "core/rng.h"

enum { ROUND = 1024 }; /* resamples between two calls of the progress callback */

typedef struct resampling {
    const cwi_share *share;
    const cwi_share *absent;
    int64_t n_rows, n_absent, n_resamples, first;
    int32_t n_columns;
    bool counts_absent;
    uint64_t seed;
    cwi_share *sum; /* [n_columns][n_resamples] */
    double *value;  /* [n_resamples] of one column */
} resampling;

/* Add so many users drawn from the first n to the columns that do, or do not, count absent ones. */
static void draw_users(const resampling *s, int64_t b, int64_t n, bool is_absent, cwi_rng *rng)
{
    for (int64_t k = 0; k < n; k++) {
        int64_t user = (int64_t)cwi_rng_below(rng, (uint64_t)n);
        const cwi_share *row = user < s->n_rows ? s->share + user * s->n_columns : s->absent;
        for (int32_t c = 0; c < s->n_columns; c++) {
            if ((s->absent[c].under > 0) != is_absent) continue;
            s->sum[c * s->n_resamples + b].over += row[c].over;
            s->sum[c * s->n_resamples + b].under += row[c].under;
        }
    }
}

static void draw_once(const resampling *s, int64_t b)
{
    cwi_rng rng;
    cwi_rng_init(&rng, s->seed, CWI_RNG_BOOTSTRAP, (uint64_t)b);
    draw_users(s, b, s->n_rows, false, &rng);
    if (s->counts_absent) draw_users(s, b, s->n_rows + s->n_absent, true, &rng);
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

/* The interval of one column, without the resamples in which no row had anything to say. */
static cwi_interval find_interval(const resampling *s, int32_t column)
{
    const cwi_share *sum = s->sum + column * s->n_resamples;
    double *value = s->value;
    int64_t known = 0;
    for (int64_t b = 0; b < s->n_resamples; b++)
        if (sum[b].under > 0) value[known++] = cwi_share_value(sum[b]);
    if (known == 0) return (cwi_interval){(double)NAN, (double)NAN};
    qsort(value, (size_t)known, sizeof *value, ascending_order);
    return (cwi_interval){cwi_interpolate(value, known, 0.025),
                          cwi_interpolate(value, known, 0.975)};
}

cw_status cwi_bootstrap(cw_context *ctx, const cwi_share *share, int64_t n_rows, int32_t n_columns,
                        const cwi_share *absent, int64_t n_absent, int64_t n_resamples,
                        uint64_t seed, cwi_interval *out)
{
    cw_status status;
    cwi_pile pile = {0};
    resampling s = {.share = share,
                    .absent = absent,
                    .n_rows = n_rows,
                    .n_absent = n_absent,
                    .n_resamples = n_resamples,
                    .n_columns = n_columns,
                    .seed = seed};
    size_t columns = (size_t)n_columns, resamples = (size_t)n_resamples;

    for (int32_t c = 0; c < n_columns; c++) s.counts_absent |= absent[c].under > 0;
    s.sum = cwi_pile_add_zero(ctx, &pile, columns, resamples * sizeof *s.sum);
    s.value = cwi_pile_add(ctx, &pile, resamples, sizeof *s.value);
    CW_TRY(pile.status);
    for (; s.first < n_resamples; s.first += ROUND) {
        int64_t left = n_resamples - s.first;
        CW_TRY(cwi_progress(ctx, "resampling users", s.first, n_resamples));
        CW_TRY(cwi_pool_for(ctx, left < ROUND ? left : ROUND, 8, draw_chunk, &s));
    }
    for (int32_t c = 0; c < n_columns; c++) out[c] = find_interval(&s, c);
done:
    cwi_pile_clear(&pile);
    return status;
}
