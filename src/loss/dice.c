/*
 * dice.c - disentangling interest and conformity (Zheng et al., WWW 2021).
 *
 * A row is a positive and a negative with two scores each: interest, conformity.  Its mark is 1
 * when the negative is the more popular: then interest must explain the choice and conformity
 * speaks against it; else conformity explains it.  The sum of both always ranks the positive first.
 */
#include "loss/loss.h"

#include "core/elementary.h"
#include "core/option_rows.h"

static const cw_option_info options_of_dice[] = {
    REAL("int-weight", "9", 0, 1e6, "weight of the loss of interest"),
    REAL("pop-weight", "9", 0, 1e6, "weight of the loss of conformity"),
    REAL("loss-decay", "0.9", 0, 1, "both weights are multiplied by this after every epoch"),
    {0}};

enum { INT_WEIGHT, POP_WEIGHT };

static void set(const cw_options *options, int64_t epoch, double setting[CWI_LOSS_SETTINGS])
{
    double left = cwi_pow(cwi_options_real(options, "loss-decay"), (double)epoch);
    setting[INT_WEIGHT] = left * cwi_options_real(options, "int-weight");
    setting[POP_WEIGHT] = left * cwi_options_real(options, "pop-weight");
}

/* The loss of one row of scores and its slopes in the margins of interest and conformity. */
static double row_loss(const double *setting, const float *s, double mark, double slope[2])
{
    double interest = (double)s[0] - (double)s[2], conformity = (double)s[1] - (double)s[3];
    double turn = 1 - 2 * mark; /* which way conformity must rank the two */
    double total = -cwi_sigmoid(-(interest + conformity));
    slope[0] = total - setting[INT_WEIGHT] * mark * cwi_sigmoid(-interest);
    slope[1] = total - setting[POP_WEIGHT] * turn * cwi_sigmoid(-turn * conformity);
    return setting[INT_WEIGHT] * mark * cwi_softplus(-interest) +
           setting[POP_WEIGHT] * cwi_softplus(-turn * conformity) +
           cwi_softplus(-(interest + conformity));
}

static double sum_rows(const double *setting, const cwi_rows *rows, float scale, float *slope)
{
    double sum = 0;
    for (int64_t r = 0; r < rows->count; r++, slope += 4) {
        double d[2];
        sum += row_loss(setting, rows->score + 4 * r, (double)rows->mark[r], d);
        for (int h = 0; h < 2; h++) {
            slope[h] = (float)(d[h] * (double)scale);
            slope[2 + h] = -slope[h];
        }
    }
    return sum;
}

const cwi_loss cwi_loss_dice = {
    .name = "dice", .set = set, .rows = sum_rows, .options = options_of_dice};
