/*
 * dice.c - disentangling interest and conformity (Zheng et al., WWW 2021).
 *
 * A row is a positive and a negative with two scores each: interest, conformity.  Its mark is 1
 * when the negative is the more popular: then interest must explain the choice and conformity
 * speaks against it; else conformity explains it.  The sum of both always ranks the positive first.
 */
#include "core/option_rows.h"
#include "loss/formula.h"

enum { DICE_INTEREST, DICE_CONFORMITY }; /* weights of the two */

CWI_FORMULA double dice_row(const double *setting, const float *s, int32_t width, float mark,
                            float scale, float *slope)
{
    double interest = (double)s[0] - (double)s[2], conformity = (double)s[1] - (double)s[3];
    double turn = 1 - 2 * (double)mark; /* which way conformity must rank the two */
    double total = -cwi_sigmoid(-(interest + conformity));
    double weight[2] = {setting[DICE_INTEREST] * (double)mark, setting[DICE_CONFORMITY]};
    double d[2] = {total - weight[0] * cwi_sigmoid(-interest),
                   total - weight[1] * turn * cwi_sigmoid(-turn * conformity)};
    (void)width;
    for (int h = 0; h < 2; h++) {
        slope[h] = (float)(d[h] * (double)scale);
        slope[2 + h] = -slope[h];
    }
    return weight[0] * cwi_softplus(-interest) + weight[1] * cwi_softplus(-turn * conformity) +
           cwi_softplus(-(interest + conformity));
}

#if !defined(__cplusplus)
static const cw_option_info dice_options[] = {
    REAL("int-weight", "9", 0, 1e6, "weight of the loss of interest"),
    REAL("pop-weight", "9", 0, 1e6, "weight of the loss of conformity"),
    REAL("loss-decay", "0.9", 0, 1, "both weights are multiplied by this after every epoch"),
    {0}};

static void dice_set(const cw_options *options, int64_t epoch, double setting[CWI_LOSS_SETTINGS])
{
    double left = cwi_pow(cwi_options_real(options, "loss-decay"), (double)epoch);
    setting[DICE_INTEREST] = left * cwi_options_real(options, "int-weight");
    setting[DICE_CONFORMITY] = left * cwi_options_real(options, "pop-weight");
}
#endif

CWI_DEFINE_LOSS(dice, .name = "dice", .set = dice_set, .options = dice_options);
