/* loss.h - from the scores of a row to one value and one slope per slot. */
#ifndef CWI_LOSS_LOSS_H
#define CWI_LOSS_LOSS_H

#include <math.h>

#include "core/elementary.h"
#include "core/options.h"

enum { CWI_LOSS_SETTINGS = 4 };

/* The rows of one group of a batch as a loss sees them. */
typedef struct cwi_rows {
    const float *score; /* [count][width] */
    const float *mark;  /* [count] what the sampler told of each row */
    int64_t count;
    int32_t width; /* scores of a row: its slots, each with all its heads */
} cwi_rows;

/*
 * A loss.  It never knows the backbone.
 *   set     optional: numbers that the options and the number of finished epochs give
 *   rows    required: values of all rows added up (in row order, in double); slope[j] is
 *           scale * dloss/dscore of score j
 *   margin  optional: how well each row is ranked already; selection keeps the smallest
 *   mass    optional: what the sum over rows is divided by; their number when NULL
 *   by_group  every group is divided by its own mass, instead of all by their common one
 *   options   what it reads beside the options that all trainings have; NULL: nothing
 */
typedef struct cwi_loss {
    const char *name;
    void (*set)(const cw_options *options, int64_t epoch, double setting[CWI_LOSS_SETTINGS]);
    double (*rows)(const double *setting, const cwi_rows *rows, float scale, float *slope);
    void (*margin)(const cwi_rows *rows, double *margin);
    double (*mass)(const double *setting, const cwi_rows *rows);
    bool by_group;
    const cw_option_info *options;
} cwi_loss;

extern const cwi_loss cwi_loss_bpr, cwi_loss_cpr;
extern const cwi_loss cwi_loss_cause;
extern const cwi_loss cwi_loss_ubpr, cwi_loss_relmf, cwi_loss_bce, cwi_loss_mse, cwi_loss_wmf;
extern const cwi_loss cwi_loss_dice;

static inline double cwi_softplus(double x)
{
    return (x > 0 ? x : 0) + cwi_log1p(cwi_exp(-fabs(x)));
}

/* sp(-x), and its slope in x: both need the same exponential. */
static inline double cwi_rank_loss(double x, double *slope)
{
    double e = cwi_exp(-fabs(x));
    *slope = -(x > 0 ? e : 1) / (1 + e);
    return (x < 0 ? -x : 0) + cwi_log1p(e);
}

static inline double cwi_sigmoid(double x)
{
    return 1.0 / (1.0 + cwi_exp(-x));
}

/* A loss of one margin per row: sum of sp(-margin), from margin(score, slots) and the slope of the
 * margin in each slot, dmargin(slots, slot). */
#define CWI_DEFINE_MARGIN_LOSS(id, margin_of, dmargin)                                             \
    static double id##_rows(const double *setting, const cwi_rows *rows, float scale,              \
                            float *slope)                                                          \
    {                                                                                              \
        double sum = 0;                                                                            \
        (void)setting;                                                                             \
        for (int64_t r = 0; r < rows->count; r++, slope += rows->width) {                          \
            double x = margin_of(rows->score + r * rows->width, rows->width);                      \
            double d;                                                                              \
            sum += cwi_rank_loss(x, &d);                                                           \
            for (int32_t j = 0; j < rows->width; j++)                                              \
                slope[j] = (float)(d * (double)scale * dmargin(rows->width, j));                   \
        }                                                                                          \
        return sum;                                                                                \
    }                                                                                              \
    static void id##_margins(const cwi_rows *rows, double *out)                                    \
    {                                                                                              \
        for (int64_t r = 0; r < rows->count; r++)                                                  \
            out[r] = margin_of(rows->score + r * rows->width, rows->width);                        \
    }                                                                                              \
    const cwi_loss cwi_loss_##id = {.name = #id, .rows = id##_rows, .margin = id##_margins}

#endif
