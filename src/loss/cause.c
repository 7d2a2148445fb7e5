/* cause.c - log loss of one item at a time, by the table whose set the row is from (Bonner and
 * Vasile, 2018). */
#include "loss/loss.h"
#include "sample/sampler.h"

/* Slots: the item in the control table, then in the treatment table. */
static double loss_rows(const double *setting, const cwi_rows *rows, float scale, float *slope)
{
    double sum = 0;
    (void)setting;
    for (int64_t r = 0; r < rows->count; r++, slope += 2) {
        int side = rows->mark[r] >= (float)CWI_CAUSE_TREATED;
        double label = (double)rows->mark[r] - side * CWI_CAUSE_TREATED;
        double s = (double)rows->score[2 * r + side];
        sum += cwi_softplus(s) - label * s;
        slope[side] = (float)((double)scale * (cwi_sigmoid(s) - label));
        slope[1 - side] = 0;
    }
    return sum;
}

const cwi_loss cwi_loss_cause = {.name = "cause", .rows = loss_rows, .by_group = true};
