/* ubpr.c - unbiased Bayesian personalised ranking: BPR with a weight per row (Saito, 2020). */
#include "core/option_rows.h"
#include "loss/formula.h"

enum { UBPR_CLIP };

/* Slots: the positive, then the other.  The mark is the weight, which may be negative; a value
 * outside the bounds is put to them and has no slope. */
CWI_FORMULA double ubpr_row(const double *setting, const float *s, int32_t width, float mark,
                            float scale, float *slope)
{
    const double least = setting[UBPR_CLIP], most = 1e6;
    double x = (double)s[0] - (double)s[1], weight = (double)mark;
    double value = weight * cwi_softplus(-x), d = -weight * cwi_sigmoid(-x) * (double)scale;
    (void)width;
    if (value < least || value > most) {
        value = value > most ? most : least;
        d = 0;
    }
    slope[0] = (float)d;
    slope[1] = (float)-d;
    return value;
}

#if !defined(__cplusplus)
static const cw_option_info ubpr_options[] = {
    REAL("clip", "0", -1e6, 0,
         "a sample whose loss is below this counts as this and teaches nothing"),
    {0}};

static void ubpr_set(const cw_options *options, int64_t epoch, double setting[CWI_LOSS_SETTINGS])
{
    (void)epoch;
    setting[UBPR_CLIP] = cwi_options_real(options, "clip");
}
#endif

CWI_DEFINE_LOSS(ubpr, .name = "ubpr", .set = ubpr_set, .options = ubpr_options);
