/*
 * cpr.c - cross pairwise ranking (Wan et al., WWW 2022).
 *
 * A row is k observed pairs (u_j, i_j): its 2k slots hold the scores s(u_j, i_j), then the crossed
 * scores s(u_j, i_{j+1}).  Terms of the user alone and of the item alone cancel in the difference,
 * so no propensity has to be estimated.
 */
#include "loss/formula.h"

CWI_FORMULA double cpr_margin(const float *s, int32_t width)
{
    int32_t k = width / 2;
    double sum = 0;
    for (int32_t j = 0; j < k; j++) sum += (double)s[j] - (double)s[k + j];
    return sum / k;
}

CWI_FORMULA double cpr_row(const double *setting, const float *s, int32_t width, float mark,
                           float scale, float *slope)
{
    (void)setting;
    (void)mark;
    return cwi_margin_row(cpr_margin(s, width), 2.0 / width, width, scale, slope);
}

CWI_DEFINE_MARGINS(cpr)
CWI_DEFINE_LOSS(cpr, .name = "cpr", .margin = cpr_margins, .by_difference = true);
