/* adam.h - Adam in the TensorFlow form, with three ways to treat rows outside the batch. */
#ifndef CWI_OPTIM_ADAM_H
#define CWI_OPTIM_ADAM_H

#include "core/options.h"
#include "sample/batch.h"
#include "score/score.h"

typedef enum cwi_adam_mode {
    CWI_ADAM_DENSE,    /* every row at every step: the reference */
    CWI_ADAM_DEFERRED, /* the same bits: rows outside the batch make up when they are next read */
    CWI_ADAM_LAZY      /* rows outside the batch stand still: another optimizer */
} cwi_adam_mode;

typedef struct cwi_adam {
    cwi_adam_mode mode;
    bool torch_epsilon;
    double lr;
    int64_t step;    /* steps made */
    cwi_params m, v; /* moments, shaped like the parameters */
    int64_t *last;   /* [rows of tensor 0] step up to which a row is current; deferred only */
    int32_t *place;  /* [rows of tensor 0] scratch */
    int32_t *stale;  /* [rows of tensor 0] scratch: rows to bring up to date */
    float *rate;     /* [step + 1] learning rate of every step so far */
    float *epsilon;  /* [step + 1] its epsilon */
    size_t rate_room, epsilon_room;
    double *partial; /* scratch for sums */
} cwi_adam;

cw_status cwi_adam_create(cw_context *ctx, const cwi_params *params, const cw_options *options,
                          cwi_adam *out);
void cwi_adam_clear(cwi_adam *adam); /* a zeroed one is fine */

/* Before the rows of a batch are read: bring them up to date. */
cw_status cwi_adam_read(cw_context *ctx, cwi_adam *adam, cwi_params *params, const cwi_batch *batch,
                        int32_t n_users);

/* One step on the gradient and the decay of every tensor.  *reg is the value of the L2 terms before
 * it, or NaN in the modes that do not pass over the whole table. */
cw_status cwi_adam_update(cw_context *ctx, cwi_adam *adam, cwi_params *params,
                          const cwi_gradient *gradient, double *reg);

/* Bring all rows up to date, as at the end of an epoch. */
cw_status cwi_adam_settle(cw_context *ctx, cwi_adam *adam, cwi_params *params);

/* Learning rates of the steps made so far, after `step` was restored from a checkpoint. */
cw_status cwi_adam_restore_rates(cw_context *ctx, cwi_adam *adam);

#endif
