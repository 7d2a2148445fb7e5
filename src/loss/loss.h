/* loss.h - from the scores of a row, or of a grid, to one value and a slope per score. */
#ifndef CWI_LOSS_LOSS_H
#define CWI_LOSS_LOSS_H

#include "core/context.h"
#include "core/options.h"

enum { CWI_LOSS_SETTINGS = 4 };

/* The rows of one group of a batch as a loss sees them. */
typedef struct cwi_loss_rows {
    const float *score; /* [count][width] */
    const float *mark;  /* [count] what the sampler told of each row; NULL: nothing, 0 */
    int64_t count;
    int32_t width; /* scores of a row: its slots, each with all its heads */
} cwi_loss_rows;

/*
 * Scores of users times items, cut into parts of `side` users, each of whom meets the `width` items
 * of the part: those of its own slots, or the same for all.  A pair that was observed is no cross:
 * it has a score of -infinity.
 */
typedef struct cwi_loss_grid {
    int64_t rows, side, width;
    int64_t stride;    /* floats from row to row of cross and slope */
    bool is_square;    /* column b of a part is the item of its row b */
    const float *own;  /* [rows] the score of each row's observed pair */
    float *cross;      /* [rows][stride] scores; the loss may overwrite them */
    const float *mark; /* [parts][width] what the sampler told of each column */
    float *own_slope;  /* [rows] */
    float *slope;      /* [rows][stride]; the loss may leave them in `cross` and change the two */
    bool is_even;      /* set by losses of squares whose slopes are the same in row a, column b and
                        * in row b, column a */
    float *room;       /* [cwi_loss_grid_room] scratch */
    double *value;     /* [cwi_loss_grid_values] scratch, those of rows first */
} cwi_loss_grid;

/*
 * A loss.  It never knows the backbone.
 *   set     optional: numbers that the options and the number of finished epochs give
 *   row     required but for losses of grids alone: the value of a row of scores; slope[j] is scale
 * * dloss/dscore of score j rows    as row: the same for all rows, whose values are added up (in
 * row order, in double) grid    for batches that are grids, instead of row and rows: the mean loss
 * of a row of users, and its slopes.  It may run on the threads of the context. margin  optional:
 * how well each row is ranked already; selection keeps the smallest mass    optional: what the sum
 * over rows is divided by; their number when NULL by_group  every group is divided by its own mass,
 * instead of all by their common one by_difference  only the difference of slot j of the first half
 * of a row and slot j of the second half counts, which are of one user options  what it reads
 * beside the options that all trainings have; NULL: nothing
 */
typedef struct cwi_loss {
    const char *name;
    void (*set)(const cw_options *options, int64_t epoch, double setting[CWI_LOSS_SETTINGS]);
    double (*row)(const double *setting, const float *score, int32_t width, float mark, float scale,
                  float *slope);
    double (*rows)(const double *setting, const cwi_loss_rows *rows, float scale, float *slope);
    cw_status (*grid)(cw_context *ctx, const double *setting, cwi_loss_grid *grid, double *mean);
    void (*margin)(const cwi_loss_rows *rows, double *margin);
    double (*mass)(const double *setting, const cwi_loss_rows *rows);
    bool by_group, by_difference;
    const cw_option_info *options;
} cwi_loss;

/* All of them. */
#define CWI_LOSSES(X)                                                                              \
    X(bpr)                                                                                         \
    X(cpr)                                                                                         \
    X(cause) X(ubpr) X(relmf) X(bce) X(mse) X(wmf) X(dice) X(fs_pair) X(fs_point) X(sl) X(psl)
#define CWI_GRID_LOSSES(X) X(cross) X(bsl) /* those without a form for rows of slots */

#define CWI_EXTERN(id) extern const cwi_loss cwi_loss_##id;
CWI_LOSSES(CWI_EXTERN)
CWI_GRID_LOSSES(CWI_EXTERN)
#undef CWI_EXTERN

#endif
