/*
 * pointwise.c - losses of one score each: how far it is from what the label says.
 *
 * A row is one slot.  Its mark is the label Y, 1 for an observed pair and 0 for another; Rel-MF's
 * is Y / propensity, which makes the mean that of relevances (Saito et al., WSDM 2020).
 */
#include "core/option_rows.h"
#include "loss/formula.h"

/* up (1 - q)^2 + down q^2 with q = sigmoid(s), and its slope in s. */
CWI_FORMULA double squared(double up, double down, double s, double *slope)
{
    double q = cwi_sigmoid(s);
    *slope = 2 * (down * q - up * (1 - q)) * q * (1 - q);
    return up * (1 - q) * (1 - q) + down * q * q;
}

/* -up ln q - down ln (1 - q). */
CWI_FORMULA double logged(double up, double down, double s, double *slope)
{
    *slope = down * cwi_sigmoid(s) - up * cwi_sigmoid(-s);
    return up * cwi_softplus(-s) + down * cwi_softplus(s);
}

/* The loss of id_point(setting, score, mark, &slope). */
#define POINTWISE_LOSS(id, ...)                                                                    \
    CWI_FORMULA double id##_row(const double *setting, const float *s, int32_t width, float mark,  \
                                float scale, float *slope)                                         \
    {                                                                                              \
        double d, value = id##_point(setting, (double)s[0], (double)mark, &d);                     \
        (void)width;                                                                               \
        slope[0] = (float)(d * (double)scale);                                                     \
        return value;                                                                              \
    }                                                                                              \
    CWI_DEFINE_LOSS(id, __VA_ARGS__)

/* ---- binary cross entropy, squared error of the score itself ----------------- */

CWI_FORMULA double bce_point(const double *setting, double s, double y, double *slope)
{
    (void)setting;
    return logged(y, 1 - y, s, slope);
}

CWI_FORMULA double mse_point(const double *setting, double s, double y, double *slope)
{
    (void)setting;
    *slope = 2 * (s - y);
    return (y - s) * (y - s);
}

POINTWISE_LOSS(bce, .name = "bce");
POINTWISE_LOSS(mse, .name = "mse");

/* ---- Rel-MF ------------------------------------------------------------------ */

enum { RELMF_IS_LOG };

/* The weight of "not relevant" is negative where the propensity is below 1, and so may be the
 * value. */
CWI_FORMULA double relmf_point(const double *setting, double s, double y_over_p, double *slope)
{
    return setting[RELMF_IS_LOG] > 0 ? logged(y_over_p, 1 - y_over_p, s, slope)
                                     : squared(y_over_p, 1 - y_over_p, s, slope);
}

#if !defined(__cplusplus)
static const cw_option_info relmf_options[] = {
    WORD("relmf-loss", "square", "square|log", "squared error of the sigmoid, or cross entropy"),
    {0}};

static void relmf_set(const cw_options *options, int64_t epoch, double setting[CWI_LOSS_SETTINGS])
{
    (void)epoch;
    setting[RELMF_IS_LOG] = cwi_options_choice(options, "relmf-loss");
}
#endif

POINTWISE_LOSS(relmf, .name = "rel-mf", .set = relmf_set, .options = relmf_options);

/* ---- weighted matrix factorisation --------------------------------------------- */

enum { WMF_WEIGHT };

CWI_FORMULA double wmf_point(const double *setting, double s, double y, double *slope)
{
    return squared(y, setting[WMF_WEIGHT] * (1 - y), s, slope);
}

CWI_FORMULA double wmf_mass(const double *setting, float mark)
{
    double y = (double)mark;
    return y + setting[WMF_WEIGHT] * (1 - y);
}

#if !defined(__cplusplus)
static const cw_option_info wmf_options[] = {
    REAL("wmf-weight", "0.977", 1e-9, 1e6,
         "weight of a pair that was not observed against one that was"),
    {0}};

static void wmf_set(const cw_options *options, int64_t epoch, double setting[CWI_LOSS_SETTINGS])
{
    (void)epoch;
    setting[WMF_WEIGHT] = cwi_options_real(options, "wmf-weight");
}
#endif

CWI_DEFINE_MASSES(wmf)
POINTWISE_LOSS(wmf, .name = "wmf", .set = wmf_set, .mass = wmf_masses, .options = wmf_options);
