/* ubpr.c - unbiased Bayesian personalised ranking: BPR with a weight per row (Saito, 2020). */
#include "loss/loss.h"

#include "core/option_rows.h"

static const cw_option_info options_of_ubpr[] = {
    REAL("clip", "0", -1e6, 0,
         "a sample whose loss is below this counts as this and teaches nothing"),
    {0}};

enum { CLIP };

static const double most = 1e6; /* values of a row above count as this */

static void set(const cw_options *options, int64_t epoch, double setting[CWI_LOSS_SETTINGS])
{
    (void)epoch;
    setting[CLIP] = cwi_options_real(options, "clip");
}

/* Slots: the positive, then the other.  The mark is the weight, which may be negative; a value
 * outside the bounds is put to them and has no slope. */
static double sum_rows(const double *setting, const cwi_rows *rows, float scale, float *slope)
{
    double sum = 0;
    for (int64_t r = 0; r < rows->count; r++) {
        double x = (double)rows->score[2 * r] - (double)rows->score[2 * r + 1];
        double weight = (double)rows->mark[r], value = weight * cwi_softplus(-x);
        double d = -weight * cwi_sigmoid(-x) * (double)scale;
        if (value < setting[CLIP] || value > most) {
            value = value > most ? most : setting[CLIP];
            d = 0;
        }
        sum += value;
        slope[2 * r] = (float)d;
        slope[2 * r + 1] = (float)-d;
    }
    return sum;
}

const cwi_loss cwi_loss_ubpr = {
    .name = "ubpr", .set = set, .rows = sum_rows, .options = options_of_ubpr};
