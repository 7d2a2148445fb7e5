/* adam.h - Adam in the TensorFlow form, with three ways to treat rows outside the batch. */
#ifndef CWI_OPTIM_ADAM_H
#define CWI_OPTIM_ADAM_H

#include "core/options.h"
#include "core/rooms.h"
#include "optim/gap.h"
#include "sample/batch.h"
#include "score/score.h"

extern const cw_option_info cwi_adam_options[];

typedef enum cwi_adam_mode {
    CWI_ADAM_DENSE,    /* every row at every step: the reference */
    CWI_ADAM_DEFERRED, /* rows outside the batch make up for missed steps when they are next read */
    CWI_ADAM_LAZY      /* rows outside the batch stand still: another optimizer */
} cwi_adam_mode;

/* How far a row of the deferred mode is. */
typedef struct cwi_adam_mark {
    uint32_t last; /* step up to which it is current, its low bits: gaps are shorter than those */
    float pull;    /* how fast the L2 term shrinks it: share for a learning rate of one */
} cwi_adam_mark;

/* What the deferred mode keeps of a row, side by side, because memory is what limits: drift and
 * root (backend.h), and the parameters themselves where a batch reads values beside the table,
 * which cwi_adam_settle then brings up to date.  In units of two bytes, each part in whole cache
 * lines. */
typedef struct cwi_adam_block {
    bool holds_theta; /* first */
    int64_t drift, root, width;
} cwi_adam_block;

typedef struct cwi_adam {
    cwi_adam_mode mode;
    cwi_adam_clock clock;
    int64_t step;    /* steps made */
    cwi_params m, v; /* moments, shaped like the parameters; empty for tensor 0 of the deferred
                        mode, which keeps them in another form */
    int32_t *place;  /* [rows of tensor 0] scratch, -1 everywhere */
    double *partial; /* scratch for sums */

    /* deferred only: rows of tensor 0 */
    cwi_adam_mark *mark;
    cwi_adam_block block; /* of each, one after the other */
    int16_t *blocks;
    float *user_now, *item_now; /* current values of rows of a batch, or NULL */
    float *no_slope;            /* [columns] zeros */
    cwi_gaps gaps;
    cwi_rooms *rooms;             /* for gradients under way */
    struct cwi_adam_job *reading; /* what the reader of the last batch works with */
} cwi_adam;

/* How many users are kept and items drawn at most in a batch whose values are read beside a table
 * that is behind; 0 when a backbone reads the table itself. */
typedef struct cwi_adam_room {
    int64_t users, items;
} cwi_adam_room;

cw_status cwi_adam_create(cw_context *ctx, const cwi_params *params, const cw_options *options,
                          cwi_adam_room room, cwi_adam *out);
void cwi_adam_clear(cwi_adam *adam); /* a zeroed one is fine */

/* A batch that was just drawn: number what it reads, as far as cwi_adam_read needs it.  May run
 * beside anything but itself. */
void cwi_adam_number(cwi_adam *adam, cwi_batch *batch, int32_t n_users);

/* Before the rows of a batch are read: bring them up to date in the table, or hand out values
 * beside it: those of the items, and a reader for the users that works until the next call. */
cw_status cwi_adam_read(cw_context *ctx, cwi_adam *adam, cwi_params *params, cwi_batch *batch,
                        int32_t n_users);

/* How many steps a row has missed. */
static inline int64_t cwi_adam_missed(const cwi_adam *adam, int64_t row)
{
    return (int64_t)((uint32_t)adam->gaps.step - adam->mark[row].last);
}

/* One step on the gradient and the decay of every tensor.  *reg is the value of the L2 terms before
 * it, or NaN in the modes that do not pass over the whole table. */
cw_status cwi_adam_update(cw_context *ctx, cwi_adam *adam, cwi_params *params,
                          const cwi_gradient *gradient, double *reg);

/* Bring all rows up to date, as at the end of an epoch. */
cw_status cwi_adam_settle(cw_context *ctx, cwi_adam *adam, cwi_params *params);

/* What follows from `step`, after it was restored from a checkpoint. */
cw_status cwi_adam_restore(cw_context *ctx, cwi_adam *adam);

#endif
