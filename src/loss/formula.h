/*
 * formula.h - what a loss is written with.
 *
 * A file of a loss has formulas (core/formula.h) of one row each, <id>_row and where there is one
 * <id>_margin or <id>_mass, and ends with the macros that make the loops of the host of them.
 */
#ifndef CWI_LOSS_FORMULA_H
#define CWI_LOSS_FORMULA_H

#include <math.h>

#include "core/elementary.h"
#include "loss/loss.h"

CWI_FORMULA double cwi_softplus(double x)
{
    return (x > 0 ? x : 0) + cwi_log1p(cwi_exp(-fabs(x)));
}

/* sp(-x), and its slope in x: both need the same exponential. */
CWI_FORMULA double cwi_rank_loss(double x, double *slope)
{
    double e = cwi_exp(-fabs(x));
    *slope = -(x > 0 ? e : 1) / (1 + e);
    return (x < 0 ? -x : 0) + cwi_log1p(e);
}

CWI_FORMULA double cwi_sigmoid(double x)
{
    return 1.0 / (1.0 + cwi_exp(-x));
}

/* sp(-margin) of a row whose margin has slope dmargin in every score of the first half and -dmargin
 * in those of the second. */
CWI_FORMULA double cwi_margin_row(double margin, double dmargin, int32_t width, float scale,
                                  float *slope)
{
    double d, value = cwi_rank_loss(margin, &d);
    float first = (float)(d * (double)scale * dmargin);
    for (int32_t j = 0; j < width; j++) slope[j] = 2 * j < width ? first : -first;
    return value;
}

#if !defined(__cplusplus)

/* The loss cwi_loss_<id> of id_row and what else is given, as members of cwi_loss. */
#define CWI_DEFINE_LOSS(id, ...)                                                                   \
    static double id##_rows(const double *setting, const cwi_loss_rows *rows, float scale,         \
                            float *slope)                                                          \
    {                                                                                              \
        double sum = 0;                                                                            \
        for (int64_t r = 0; r < rows->count; r++, slope += rows->width)                            \
            sum += id##_row(setting, rows->score + r * rows->width, rows->width,                   \
                            rows->mark ? rows->mark[r] : 0, scale, slope);                         \
        return sum;                                                                                \
    }                                                                                              \
    const cwi_loss cwi_loss_##id = {.row = id##_row, .rows = id##_rows, __VA_ARGS__}

/* id_margins of id_margin, id_masses of id_mass. */
#define CWI_DEFINE_MARGINS(id)                                                                     \
    static void id##_margins(const cwi_loss_rows *rows, double *margin)                            \
    {                                                                                              \
        for (int64_t r = 0; r < rows->count; r++)                                                  \
            margin[r] = id##_margin(rows->score + r * rows->width, rows->width);                   \
    }
#define CWI_DEFINE_MASSES(id)                                                                      \
    static double id##_masses(const double *setting, const cwi_loss_rows *rows)                    \
    {                                                                                              \
        double mass = 0;                                                                           \
        for (int64_t r = 0; r < rows->count; r++) mass += id##_mass(setting, rows->mark[r]);       \
        return mass;                                                                               \
    }

#else
#define CWI_DEFINE_LOSS(id, ...) static_assert(true, "")
#define CWI_DEFINE_MARGINS(id)
#define CWI_DEFINE_MASSES(id)
#endif

#endif
