/*
 * cpr.c - cross pairwise ranking (Wan et al., WWW 2022).
 *
 * A row is k observed pairs (u_j, i_j): its 2k slots hold the scores s(u_j, i_j), then the crossed
 * scores s(u_j, i_{j+1}).  Terms of the user alone and of the item alone cancel in the difference,
 * so no propensity has to be estimated.
 */
#include "loss/loss.h"

static double margin(const float *s, int32_t slots)
{
    int32_t k = slots / 2;
    double sum = 0;
    for (int32_t j = 0; j < k; j++) sum += (double)s[j] - (double)s[k + j];
    return sum / k;
}

static double dmargin(int32_t slots, int32_t slot)
{
    int32_t k = slots / 2;
    return (slot < k ? 1.0 : -1.0) / k;
}

CWI_DEFINE_MARGIN_LOSS(cpr, margin, dmargin);
