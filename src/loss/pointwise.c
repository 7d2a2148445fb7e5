/*
 * pointwise.c - losses of one score each: how far it is from what the label says.
 *
 * A row is one slot.  Its mark is the label Y, 1 for an observed pair and 0 for another; Rel-MF's
 * is Y / propensity, which makes the mean that of relevances (Saito et al., WSDM 2020).
 */
#include "loss/loss.h"

#include "core/option_rows.h"

static const cw_option_info options_of_relmf[] = {
    WORD("relmf-loss", "square", "square|log", "squared error of the sigmoid, or cross entropy"),
    {0}};

static const cw_option_info options_of_wmf[] = {
    REAL("wmf-weight", "0.977", 1e-9, 1e6,
         "weight of a pair that was not observed against one that was"),
    {0}};

/* Value of a loss in a score s, and its slope. */
typedef struct point {
    double value, slope;
} point;

typedef point (*point_loss)(const double *setting, double s, double mark);

/* up (1 - q)^2 + down q^2 with q = sigmoid(s). */
static point squared(double up, double down, double s)
{
    double q = cwi_sigmoid(s);
    return (point){.value = up * (1 - q) * (1 - q) + down * q * q,
                   .slope = 2 * (down * q - up * (1 - q)) * q * (1 - q)};
}

/* -up ln q - down ln (1 - q). */
static point logged(double up, double down, double s)
{
    return (point){.value = up * cwi_softplus(-s) + down * cwi_softplus(s),
                   .slope = down * cwi_sigmoid(s) - up * cwi_sigmoid(-s)};
}

static double sum_rows(point_loss loss, const double *setting, const cwi_rows *rows, float scale,
                       float *slope)
{
    double sum = 0;
    for (int64_t r = 0; r < rows->count; r++) {
        point p = loss(setting, (double)rows->score[r], (double)rows->mark[r]);
        sum += p.value;
        slope[r] = (float)(p.slope * (double)scale);
    }
    return sum;
}

#define DEFINE_ROWS(id, loss)                                                                      \
    static double id##_rows(const double *setting, const cwi_rows *rows, float scale,              \
                            float *slope)                                                          \
    {                                                                                              \
        return sum_rows(loss, setting, rows, scale, slope);                                        \
    }

/* ---- binary cross entropy, squared error of the score itself ----------------- */

static point bce(const double *setting, double s, double y)
{
    (void)setting;
    return logged(y, 1 - y, s);
}

static point mse(const double *setting, double s, double y)
{
    (void)setting;
    return (point){.value = (y - s) * (y - s), .slope = 2 * (s - y)};
}

DEFINE_ROWS(bce, bce)
DEFINE_ROWS(mse, mse)

/* ---- Rel-MF ------------------------------------------------------------------ */

enum { IS_LOG };

static void relmf_set(const cw_options *options, int64_t epoch, double setting[CWI_LOSS_SETTINGS])
{
    (void)epoch;
    setting[IS_LOG] = cwi_options_choice(options, "relmf-loss");
}

/* The weight of "not relevant" is negative where the propensity is below 1, and so may be the
 * value. */
static point relmf(const double *setting, double s, double y_over_p)
{
    return setting[IS_LOG] > 0 ? logged(y_over_p, 1 - y_over_p, s)
                               : squared(y_over_p, 1 - y_over_p, s);
}

DEFINE_ROWS(relmf, relmf)

/* ---- weighted matrix factorisation --------------------------------------------- */

enum { WEIGHT };

static void wmf_set(const cw_options *options, int64_t epoch, double setting[CWI_LOSS_SETTINGS])
{
    (void)epoch;
    setting[WEIGHT] = cwi_options_real(options, "wmf-weight");
}

static point wmf(const double *setting, double s, double y)
{
    return squared(y, setting[WEIGHT] * (1 - y), s);
}

static double wmf_mass(const double *setting, const cwi_rows *rows)
{
    double mass = 0;
    for (int64_t r = 0; r < rows->count; r++) {
        double y = (double)rows->mark[r];
        mass += y + setting[WEIGHT] * (1 - y);
    }
    return mass;
}

DEFINE_ROWS(wmf, wmf)

const cwi_loss cwi_loss_bce = {.name = "bce", .rows = bce_rows};
const cwi_loss cwi_loss_mse = {.name = "mse", .rows = mse_rows};
const cwi_loss cwi_loss_relmf = {
    .name = "rel-mf", .set = relmf_set, .rows = relmf_rows, .options = options_of_relmf};
const cwi_loss cwi_loss_wmf = {
    .name = "wmf", .set = wmf_set, .rows = wmf_rows, .mass = wmf_mass, .options = options_of_wmf};
