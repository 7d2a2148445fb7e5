/* bpr.c - Bayesian personalised ranking: the liked item above the other (Rendle et al., 2009). */
#include "loss/loss.h"

/* Slots: the positive, then the negative. */
static double margin(const float *s, int32_t slots)
{
    (void)slots;
    return (double)s[0] - (double)s[1];
}

static double dmargin(int32_t slots, int32_t slot)
{
    (void)slots;
    return slot == 0 ? 1 : -1;
}

CWI_DEFINE_MARGIN_LOSS(bpr, margin, dmargin);
