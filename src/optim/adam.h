/* adam.h - Adam in the TensorFlow form, with three ways to treat rows outside the batch. */
#ifndef CWI_OPTIM_ADAM_H
#define CWI_OPTIM_ADAM_H

#include "core/options.h"
#include "optim/gap.h"
#include "sample/batch.h"
#include "score/score.h"

typedef enum cwi_adam_mode {
    CWI_ADAM_DENSE,    /* every row at every step: the reference */
    CWI_ADAM_DEFERRED, /* rows outside the batch make up for missed steps when they are next read */
    CWI_ADAM_LAZY      /* rows outside the batch stand still: another optimizer */
} cwi_adam_mode;

typedef struct cwi_adam {
    cwi_adam_mode mode;
    cwi_adam_clock clock;
    int64_t step;    /* steps made */
    cwi_params m, v; /* moments, shaped like the parameters */
    int64_t *last;   /* [rows of tensor 0] step up to which a row is current; deferred only */
    int32_t *place;  /* [rows of tensor 0] place in `row`, -1 outside the batch */
    int64_t n_rows;
    int32_t *row;    /* [rows of tensor 0] the rows of the batch */
    float *fresh;    /* [most rows of a batch][columns] their current values, or NULL */
    cwi_gaps gaps;   /* deferred only */
    double *partial; /* scratch for sums */
} cwi_adam;

/* max_fresh: rows of a batch at most, when the deferred mode may hand out their current values
 * beside the table; 0 when it has to bring the table itself up to date. */
cw_status cwi_adam_create(cw_context *ctx, const cwi_params *params, const cw_options *options,
                          int64_t max_fresh, cwi_adam *out);
void cwi_adam_clear(cwi_adam *adam); /* a zeroed one is fine */

/* Before the rows of a batch are read: bring them up to date, in the table or in batch->fresh. */
cw_status cwi_adam_read(cw_context *ctx, cwi_adam *adam, cwi_params *params, cwi_batch *batch,
                        int32_t n_users);

/* One step on the gradient and the decay of every tensor.  *reg is the value of the L2 terms before
 * it, or NaN in the modes that do not pass over the whole table. */
cw_status cwi_adam_update(cw_context *ctx, cwi_adam *adam, cwi_params *params,
                          const cwi_gradient *gradient, double *reg);

/* Bring all rows up to date, as at the end of an epoch. */
cw_status cwi_adam_settle(cw_context *ctx, cwi_adam *adam, cwi_params *params);

/* What follows from `step`, after it was restored from a checkpoint. */
cw_status cwi_adam_restore(cw_context *ctx, cwi_adam *adam);

#endif
