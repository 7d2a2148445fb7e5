/*
 * engine.h - what trains: one owner of table, batch, scores, slopes and optimiser.
 *
 * The trainer knows verbs, never rows.  A step is
 *   draw, score, select, loss, back, apply
 * on a whole batch each, an epoch is begin, its steps, settle, and nothing flows upwards by
 * callback.
 *
 * The contract:
 * - Memory.  All of it is the engine's: parameters, batches, scores, gradients, the state of the
 *   optimiser, on whatever device.  A task is borrowed from open to close; the first parameters are
 *   taken over by open, also when it fails.
 * - Rows.  Between two verbs nobody outside may look at a row.  An engine may leave rows behind
 *   until they are next read; after settle, and whenever `read` or `rank` was called after it, all
 *   of them are current.
 * - Time.  Every verb may return before its work is done, as long as the results are those of the
 *   verbs one after the other.  `tell`, `rank` and `read` wait.  A batch is a function of the seed
 *   and the moment alone, so engines draw further steps of the epoch ahead.
 * - Numbers.  No verb of the step hands a number to the host.  Counts, losses and draws add up in
 *   the engine and are seen by `tell`, which the trainer calls every CWI_TELL_EVERY steps, or as
 *   often as the engine likes.  A step whose loss is not a number changes nothing, nor does any
 *   after it: `tell` says which it was.
 * - Order.  The order of every sum is fixed by step and slot, never by who computes it: the same
 *   bits on any number of threads, and after any number of resumes.
 * - State.  `read` and the tally are all there is to keep: `write` on an engine that was opened
 *   for the same task takes them up, and it goes on bit for bit.
 */
#ifndef CWI_ENGINE_ENGINE_H
#define CWI_ENGINE_ENGINE_H

#include "core/numbers.h"
#include "registry/registry.h"

/* What is trained, and on what. */
typedef struct cwi_task {
    const cwi_method *method;
    const cwi_backbone *backbone;
    const cwi_optimizer *optimizer;
    const cw_options *options;
    const cwi_training *training;
    cwi_shape shape;
    int64_t steps_per_epoch;
    int gpu;                       /* its number, from 1 on; 0: the CPU */
    const struct cwi_world *world; /* processes that train it together; NULL: there is one */
} cwi_task;

/* Sums over the steps of the epoch under way. */
typedef struct cwi_tally {
    int64_t steps;   /* made in this epoch */
    int64_t trained; /* of them: not skipped for want of samples */
    int64_t applied; /* steps of the optimiser over all epochs */
    int64_t bad;     /* the first step of this epoch whose loss was not a number; 0: none */
    double data_loss, reg_loss, penalty;
    double reg_at_start, reg_at_end; /* the L2 terms of all parameters; at the end once settled */
    cwi_draws draws;
    int64_t sent, exchanges; /* bytes to other processes since it was opened, and how often */
} cwi_tally;

enum { CWI_TELL_EVERY = 32, CWI_ARRAY_NAME_BYTES = CWI_TENSOR_NAME_BYTES + 8 };

/* A part of the state in host memory. */
typedef struct cwi_state_array {
    char name[CWI_ARRAY_NAME_BYTES]; /* "param.embeddings", "m.embeddings", ... */
    cwi_dtype dtype;
    int64_t rows, columns; /* no columns: a list */
    void *data;            /* NULL where rows are 0 */
    bool may_lack;         /* a checkpoint without it is one, too: it is zeros there */
} cwi_state_array;

enum { CWI_MAX_STATE_ARRAYS = (1 + CWI_MAX_MEMORIES) * CWI_MAX_TENSORS + 2 };

typedef struct cwi_state {
    int count;
    cwi_state_array array[CWI_MAX_STATE_ARRAYS];
} cwi_state;

typedef struct cwi_engine cwi_engine;

/*
 * The verbs; all are required but the last four.
 *   open    ready for the first step; *first is taken over
 *   begin   an epoch, or the rest of one that `write` restored
 *   draw    the batch of the next step; an empty one is passed over by the other verbs
 *   score   a score for every slot and head of the batch; for a grid, of users times items
 *   select  keep the hardest rows, where the method selects
 *   loss    the mean loss, and its slope in every score
 *   back    from slopes to gradients, and the terms that are not of scores
 *   apply   the optimiser's step on every tensor
 *   settle  the epoch is over: bring all rows up to date
 *   tell    the tally so far
 *   rank    a ranker by the parameters as they were settled; it is good until the next verb.  Where
 * a device makes lists, scores are good once it did not. params  the parameters in host memory,
 * good until the next verb; where several processes train, the rows of this one read    the same
 * and the rest of the state, by name write   the host has overwritten what `read` listed: go on
 * from there, in this epoch with this tally.  CW_BAD_DATA when that cannot be a state of this task.
 *   close   accepts NULL
 *   agree   where several processes train: what this one wishes from now on, bits of the caller's,
 *           and what any of them wished at the last step, the same for all of them
 *   keep    optional: remember the parameters as they were settled, where they lie. CW_UNSUPPORTED,
 *           without a message, where there is no room.
 *   kept    with it: those, in host memory as `params` has them, instead of the present ones
 *   adopt   where several processes train: other values of the parameters to rank by, as `params`
 *           lists them; no step follows
 */
typedef struct cwi_engine_verbs {
    const char *name;
    cw_status (*open)(cw_context *ctx, const cwi_task *task, cwi_params *first, cwi_engine **out);
    cw_status (*begin)(cwi_engine *engine, int64_t epoch);
    cw_status (*draw)(cwi_engine *engine);
    cw_status (*score)(cwi_engine *engine);
    cw_status (*select)(cwi_engine *engine);
    cw_status (*loss)(cwi_engine *engine);
    cw_status (*back)(cwi_engine *engine);
    cw_status (*apply)(cwi_engine *engine);
    cw_status (*settle)(cwi_engine *engine);
    cw_status (*tell)(cwi_engine *engine, cwi_tally *out);
    cw_status (*rank)(cwi_engine *engine, cwi_ranker *out);
    cw_status (*params)(cwi_engine *engine, const cwi_params **out);
    cw_status (*read)(cwi_engine *engine, cwi_state *out);
    cw_status (*write)(cwi_engine *engine, int64_t epoch, const cwi_tally *tally);
    void (*close)(cwi_engine *engine);
    cw_status (*agree)(cwi_engine *engine, int wish, int *all);
    cw_status (*adopt)(cwi_engine *engine, const cwi_params *params);
    cw_status (*keep)(cwi_engine *engine);
    cw_status (*kept)(cwi_engine *engine, const cwi_params **out);
} cwi_engine_verbs;

/* What every engine begins with. */
struct cwi_engine {
    const cwi_engine_verbs *verbs;
    cw_context *ctx;
    int64_t tell_every; /* steps that it likes to make at once; 0: CWI_TELL_EVERY */
};

extern const cwi_engine_verbs cwi_engine_dense, cwi_engine_deferred, cwi_engine_sweep,
    cwi_engine_ref, cwi_engine_cuda, cwi_engine_mpi;

/* The engine that trains a task. */
const cwi_engine_verbs *cwi_engine_choose(const cwi_task *task);

/* What "auto" stands for: the same for the same data, options and kind of device. */
cw_status cwi_engine_optimizer(cw_context *ctx, const cwi_task *task, const cwi_optimizer **out);

/* All verbs of a step, one after the other. */
cw_status cwi_engine_step(cwi_engine *engine);

/* The array of that name, or NULL. */
const cwi_state_array *cwi_state_find(const cwi_state *state, const char *name);

#endif
