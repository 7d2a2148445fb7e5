/* grid.h - what losses on grids of scores share: strips of rows, and softmax along them. */
#ifndef CWI_LOSS_GRID_H
#define CWI_LOSS_GRID_H

#include "backend/backend.h"
#include "loss/loss.h"

enum { CWI_STRIP_ROWS = 64 };

/* Some rows of one part, all of it where it is small. */
typedef struct cwi_strip {
    int64_t part, first, rows; /* the first row among those of all parts */
} cwi_strip;

static inline int64_t cwi_grid_parts(const cwi_loss_grid *grid)
{
    return grid->rows / grid->side;
}

int64_t cwi_grid_strips(const cwi_loss_grid *grid);
cwi_strip cwi_grid_strip(const cwi_loss_grid *grid, int64_t number);

/* Floats and doubles of scratch that a loss may use. */
int64_t cwi_loss_grid_room(const cwi_loss_grid *grid);
int64_t cwi_loss_grid_values(const cwi_loss_grid *grid);

/* Run fn(arg, chunk, begin, end) over strips of all parts. */
cw_status cwi_grid_for(cw_context *ctx, const cwi_loss_grid *grid,
                       cw_status (*fn)(void *, int64_t, int64_t, int64_t), void *arg);

/*
 * The softmax loss of every row, value[r] = ln(1 + sum over j of e^(cross_rj - by_j - own_r)): its
 * slopes in cross are slope * factor[r], or slope itself where factor is NULL, those in own are
 * own_slope.  by is [parts][width] or NULL.
 * Slopes in own are those of `share` times the mean over rows.
 */
cw_status cwi_grid_softmax_rows(cw_context *ctx, cwi_loss_grid *grid, const float *by, double share,
                                float *factor);

/* slope[r][j] *= factor[r]. */
cw_status cwi_grid_scale_rows(cw_context *ctx, cwi_loss_grid *grid, const float *factor);

/* The sum of value[0 .. rows - 1], in order. */
double cwi_grid_total(const cwi_loss_grid *grid);

#endif
