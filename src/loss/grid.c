/* grid.c - strips of a grid of scores, and the softmax loss of its rows. */
#include "loss/grid.h"

#include "core/elementary.h"
#include "core/pool.h"

/* ---- strips ------------------------------------------------------------------------ */

static int64_t strips_a_part(const cwi_loss_grid *grid)
{
    return (grid->side + CWI_STRIP_ROWS - 1) / CWI_STRIP_ROWS;
}

int64_t cwi_grid_strips(const cwi_loss_grid *grid)
{
    return cwi_grid_parts(grid) * strips_a_part(grid);
}

cwi_strip cwi_grid_strip(const cwi_loss_grid *grid, int64_t number)
{
    int64_t part = number / strips_a_part(grid), in = number % strips_a_part(grid) * CWI_STRIP_ROWS;
    int64_t left = grid->side - in;
    return (cwi_strip){part, part * grid->side + in, left < CWI_STRIP_ROWS ? left : CWI_STRIP_ROWS};
}

/* Sums of columns for every strip, three numbers of every column, two of every row. */
int64_t cwi_loss_grid_room(const cwi_loss_grid *grid)
{
    return (cwi_grid_strips(grid) + 3 * cwi_grid_parts(grid)) * grid->width + 2 * grid->rows;
}

/* A number of every row, and one of every row of a block of columns. */
int64_t cwi_loss_grid_values(const cwi_loss_grid *grid)
{
    return grid->rows * (1 + strips_a_part(grid));
}

cw_status cwi_grid_for(cw_context *ctx, const cwi_loss_grid *grid,
                       cw_status (*fn)(void *, int64_t, int64_t, int64_t), void *arg)
{
    int64_t few = grid->side < CWI_STRIP_ROWS ? CWI_STRIP_ROWS / grid->side : 1;
    return cwi_pool_for(ctx, cwi_grid_strips(grid), few, fn, arg);
}

double cwi_grid_total(const cwi_loss_grid *grid)
{
    double sum = 0;
    for (int64_t r = 0; r < grid->rows; r++) sum += grid->value[r];
    return sum;
}

/* ---- softmax of rows ---------------------------------------------------------------- */

typedef struct job {
    const cwi_ops *ops;
    cwi_loss_grid *grid;
    const float *by;
    double share;
    float *factor;
} job;

static void softmax_row(const job *j, int64_t r)
{
    cwi_loss_grid *g = j->grid;
    const float *x = g->cross + r * g->stride;
    const float *by = j->by ? j->by + r / g->side * g->width : NULL;
    float most = j->ops->largest(x, by, g->width);
    if (!(most > g->own[r])) most = g->own[r];
    double others = (double)j->ops->exp_row(x, by, most, g->width, g->slope + r * g->stride);
    double self = cwi_exp((double)g->own[r] - (double)most), all = self + others;
    g->value[r] = (double)most - (double)g->own[r] + cwi_ln(all);
    g->own_slope[r] = (float)(-j->share * others / all / (double)g->rows);
    float factor = (float)(j->share / all / (double)g->rows);
    if (j->factor)
        j->factor[r] = factor;
    else
        j->ops->blend(factor, g->slope + r * g->stride, NULL, NULL, g->width,
                      g->slope + r * g->stride);
}

static cw_status softmax_strips(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    (void)chunk;
    for (int64_t k = begin; k < end; k++) {
        cwi_strip strip = cwi_grid_strip(j->grid, k);
        for (int64_t r = strip.first; r < strip.first + strip.rows; r++) softmax_row(j, r);
    }
    return CW_OK;
}

cw_status cwi_grid_softmax_rows(cw_context *ctx, cwi_loss_grid *grid, const float *by, double share,
                                float *factor)
{
    job j = {cwi_ops_best(), grid, by, share, factor};
    return cwi_grid_for(ctx, grid, softmax_strips, &j);
}

static cw_status scale_strips(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    int64_t width = j->grid->width;
    (void)chunk;
    for (int64_t k = begin; k < end; k++) {
        cwi_strip strip = cwi_grid_strip(j->grid, k);
        for (int64_t r = strip.first; r < strip.first + strip.rows; r++) {
            float *x = j->grid->slope + r * j->grid->stride;
            j->ops->blend(j->factor[r], x, NULL, NULL, width, x);
        }
    }
    return CW_OK;
}

cw_status cwi_grid_scale_rows(cw_context *ctx, cwi_loss_grid *grid, const float *factor)
{
    job j = {cwi_ops_best(), grid, NULL, 0, (float *)factor};
    return cwi_grid_for(ctx, grid, scale_strips, &j);
}
