/*
 * softmax.c - an observed pair against items drawn uniformly: softmax losses.
 *
 *   sl   ln(1 + sum over j of e^(s_j - s)), scores being over the temperature
 *   psl  ln(sum over j of max(0, 1 + t (s_j - s))^(1/t)), t the temperature: PSL-relu
 *   bsl  -r ln(mean over pairs of e^(-sl / r)): pairs that the model finds unlikely count less
 *
 * SL: Wu et al., TOIS 2024; PSL: Yang et al., NeurIPS 2024; BSL: Wu et al., ICDE 2024, whose mean
 * over the positives of a user is taken over the pairs of the batch here.
 */
#include "core/option_rows.h"
#include "loss/formula.h"

enum { SL_TEMPERATURE, SL_RATIO };

/* Slots: the observed pair, then the items it is compared with. */
CWI_FORMULA double sl_row(const double *setting, const float *s, int32_t width, float mark,
                          float scale, float *slope)
{
    double most = (double)s[0], sum = 0;
    (void)setting;
    (void)mark;
    for (int32_t j = 1; j < width; j++) most = (double)s[j] > most ? (double)s[j] : most;
    for (int32_t j = 0; j < width; j++) sum += cwi_exp((double)s[j] - most);
    for (int32_t j = 0; j < width; j++)
        slope[j] = (float)((cwi_exp((double)s[j] - most) / sum - (j == 0)) * (double)scale);
    return most - (double)s[0] + cwi_ln(sum);
}

/* ln(1 + t x) / t, and its slope in x; -infinity where there is none. */
CWI_FORMULA double psl_warp(double t, double x, double *slope)
{
    double base = 1 + t * x;
    *slope = base > 0 ? 1 / base : 0;
    return base > 0 ? cwi_ln(base) / t : (base <= 0 ? -INFINITY : base);
}

CWI_FORMULA double psl_row(const double *setting, const float *s, int32_t width, float mark,
                           float scale, float *slope)
{
    double t = setting[SL_TEMPERATURE], sum = 1e-12, back = 0, d;
    (void)mark;
    for (int32_t j = 1; j < width; j++)
        sum += cwi_exp(psl_warp(t, (double)s[j] - (double)s[0], &d));
    for (int32_t j = 1; j < width; j++) {
        double p = cwi_exp(psl_warp(t, (double)s[j] - (double)s[0], &d)) / sum * d;
        slope[j] = (float)(p * (double)scale);
        back += p;
    }
    slope[0] = (float)(-back * (double)scale);
    return cwi_ln(sum);
}

#if !defined(__cplusplus)
#include "core/pool.h"
#include "loss/grid.h"

/* ---- sl ---------------------------------------------------------------------------- */

static cw_status sl_grid(cw_context *ctx, const double *setting, cwi_loss_grid *grid, double *mean)
{
    (void)setting;
    CW_PASS(cwi_grid_softmax_rows(ctx, grid, NULL, 1, NULL));
    *mean = cwi_grid_total(grid) / (double)grid->rows;
    return CW_OK;
}

/* ---- psl --------------------------------------------------------------------------- */

typedef struct psl_job {
    const cwi_ops *ops;
    cwi_loss_grid *grid;
    double temperature;
} psl_job;

/* All terms are taken off by the largest, where that is above 1, so that none overflows. */
static void psl_grid_row(const psl_job *j, int64_t r)
{
    cwi_loss_grid *g = j->grid;
    float *slope = g->slope + r * g->stride, back;
    const float *x = g->cross + r * g->stride;
    double d, t = j->temperature, top = (double)j->ops->largest(x, NULL, g->width);
    float less = (float)psl_warp(t, top - (double)g->own[r], &d);
    if (less < 0) less = 0;
    double sum = (double)j->ops->power_row(x, g->own[r], (float)t, less, g->width, slope, &back);
    sum += 1e-12 * cwi_exp(-(double)less);
    float factor = (float)(1 / sum / (double)g->rows);
    j->ops->blend(factor, slope, NULL, NULL, g->width, slope);
    g->own_slope[r] = -factor * back;
    g->value[r] = (double)less + cwi_ln(sum);
}

static cw_status psl_strips(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const psl_job *j = arg;
    (void)chunk;
    for (int64_t k = begin; k < end; k++) {
        cwi_strip strip = cwi_grid_strip(j->grid, k);
        for (int64_t r = strip.first; r < strip.first + strip.rows; r++) psl_grid_row(j, r);
    }
    return CW_OK;
}

static cw_status psl_grid(cw_context *ctx, const double *setting, cwi_loss_grid *grid, double *mean)
{
    psl_job j = {cwi_ops_best(), grid, setting[SL_TEMPERATURE]};
    CW_PASS(cwi_grid_for(ctx, grid, psl_strips, &j));
    *mean = cwi_grid_total(grid) / (double)grid->rows;
    return CW_OK;
}

static void psl_set(const cw_options *options, int64_t epoch, double setting[CWI_LOSS_SETTINGS])
{
    (void)epoch;
    setting[SL_TEMPERATURE] = cwi_options_real(options, "temperature");
}

/* ---- bsl --------------------------------------------------------------------------- */

static const cw_option_info bsl_options[] = {
    REAL_ABOVE("positive-temperature", "2", 0, 1e6,
               "how alike observed pairs count, in units of the temperature: large is all alike, "
               "small leaves out those that look unlikely"),
    {0}};

static void bsl_set(const cw_options *options, int64_t epoch, double setting[CWI_LOSS_SETTINGS])
{
    (void)epoch;
    setting[SL_RATIO] = cwi_options_real(options, "positive-temperature");
}

/* The mean of rows weighted by e^(-value / ratio). */
static cw_status bsl_grid(cw_context *ctx, const double *setting, cwi_loss_grid *grid, double *mean)
{
    double ratio = setting[SL_RATIO], sum = 0, least = INFINITY;
    float *factor = grid->room;
    CW_PASS(cwi_grid_softmax_rows(ctx, grid, NULL, 1, factor));
    for (int64_t r = 0; r < grid->rows; r++)
        if (!(grid->value[r] >= least)) least = grid->value[r];
    for (int64_t r = 0; r < grid->rows; r++) sum += cwi_exp((least - grid->value[r]) / ratio);
    for (int64_t r = 0; r < grid->rows; r++) {
        double weight = cwi_exp((least - grid->value[r]) / ratio) / sum * (double)grid->rows;
        factor[r] = (float)((double)factor[r] * weight);
        grid->own_slope[r] = (float)((double)grid->own_slope[r] * weight);
    }
    *mean = least - ratio * cwi_ln(sum / (double)grid->rows);
    return cwi_grid_scale_rows(ctx, grid, factor);
}

const cwi_loss cwi_loss_bsl = {
    .name = "bsl", .set = bsl_set, .grid = bsl_grid, .options = bsl_options};
#endif

CWI_DEFINE_LOSS(sl, .name = "sl", .grid = sl_grid);
CWI_DEFINE_LOSS(psl, .name = "psl", .set = psl_set, .grid = psl_grid);
