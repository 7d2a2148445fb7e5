/* loss.h - from the scores of a row to one value and one slope per slot. */
#ifndef CWI_LOSS_LOSS_H
#define CWI_LOSS_LOSS_H

#include "core/options.h"

enum { CWI_LOSS_SETTINGS = 4 };

/* The rows of one group of a batch as a loss sees them. */
typedef struct cwi_loss_rows {
    const float *score; /* [count][width] */
    const float *mark;  /* [count] what the sampler told of each row; NULL: nothing, 0 */
    int64_t count;
    int32_t width; /* scores of a row: its slots, each with all its heads */
} cwi_loss_rows;

/* A square of scores: those of slot a's user with slot b's item in row a, column b. */
typedef struct cwi_loss_grid {
    const float *score;     /* [side][side] */
    const uint8_t *is_seen; /* [side][side] was it observed, as (a, a) always was */
    int64_t side;
} cwi_loss_grid;

/*
 * A loss.  It never knows the backbone.
 *   set     optional: numbers that the options and the number of finished epochs give
 *   row     required: the value of a row of scores; slope[j] is scale * dloss/dscore of score j
 *   rows    required: the same for all rows, whose values are added up (in row order, in double)
 *   grid    instead of row and rows: the value of a square of scores, and slopes [side][side]
 *   margin  optional: how well each row is ranked already; selection keeps the smallest
 *   mass    optional: what the sum over rows is divided by; their number when NULL
 *   by_group  every group is divided by its own mass, instead of all by their common one
 *   by_difference  only the difference of slot j of the first half of a row and slot j of the
 *           second half counts, which are of one user
 *   options  what it reads beside the options that all trainings have; NULL: nothing
 */
typedef struct cwi_loss {
    const char *name;
    void (*set)(const cw_options *options, int64_t epoch, double setting[CWI_LOSS_SETTINGS]);
    double (*row)(const double *setting, const float *score, int32_t width, float mark, float scale,
                  float *slope);
    double (*rows)(const double *setting, const cwi_loss_rows *rows, float scale, float *slope);
    double (*grid)(const double *setting, const cwi_loss_grid *grid, float scale, float *slope);
    void (*margin)(const cwi_loss_rows *rows, double *margin);
    double (*mass)(const double *setting, const cwi_loss_rows *rows);
    bool by_group, by_difference;
    const cw_option_info *options;
} cwi_loss;

/* All of them. */
#define CWI_LOSSES(X) X(bpr) X(cpr) X(cause) X(ubpr) X(relmf) X(bce) X(mse) X(wmf) X(dice)

#define CWI_EXTERN(id) extern const cwi_loss cwi_loss_##id;
CWI_LOSSES(CWI_EXTERN)
#undef CWI_EXTERN

#endif
