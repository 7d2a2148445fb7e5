/* bpr.c - Bayesian personalised ranking: the liked item above the other (Rendle et al., 2009). */
#include "loss/formula.h"

/* Slots: the positive, then the negative. */
CWI_FORMULA double bpr_margin(const float *s, int32_t width)
{
    (void)width;
    return (double)s[0] - (double)s[1];
}

CWI_FORMULA double bpr_row(const double *setting, const float *s, int32_t width, float mark,
                           float scale, float *slope)
{
    (void)setting;
    (void)mark;
    return cwi_margin_row(bpr_margin(s, width), 1, width, scale, slope);
}

CWI_DEFINE_MARGINS(bpr)
CWI_DEFINE_LOSS(bpr, .name = "bpr", .margin = bpr_margins, .by_difference = true);
