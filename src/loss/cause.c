/* cause.c - log loss of one item at a time, by the table whose set the row is from (Bonner and
 * Vasile, 2018). */
#include "loss/formula.h"
#include "sample/sampler.h"

/* Slots: the item in the control table, then in the treatment table. */
CWI_FORMULA double cause_row(const double *setting, const float *s, int32_t width, float mark,
                             float scale, float *slope)
{
    int side = mark >= (float)CWI_CAUSE_TREATED;
    double label = (double)mark - side * CWI_CAUSE_TREATED, score = (double)s[side];
    (void)setting;
    (void)width;
    slope[side] = (float)((double)scale * (cwi_sigmoid(score) - label));
    slope[1 - side] = 0;
    return cwi_softplus(score) - label * score;
}

CWI_DEFINE_LOSS(cause, .name = "cause", .by_group = true);
