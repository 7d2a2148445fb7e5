/* score.h - backbones: from (user, item) slots to scores, from slopes to gradients. */
#ifndef CWI_SCORE_SCORE_H
#define CWI_SCORE_SCORE_H

#include "core/options.h"
#include "prepare/csr.h"
#include "sample/sampler.h"
#include "score/params.h"
#include "score/ranker.h"

/* What a backbone knows of the data. */
typedef struct cwi_shape {
    int32_t n_users, n_items; /* a method with several item tables counts them all */
    const cwi_csr *train;     /* items by user, sorted */
    int32_t heads;            /* scores of a slot, each from its own share of the columns */
    int32_t ranked;           /* of them: so many from the first on are added up to rank items */
} cwi_shape;

/* Gradients of one step.  Rows of the embedding table that the batch touched are listed; the
 * gradient of row touched[t] is rows[t * columns ..].  Other tensors have whole gradients. */
typedef struct cwi_gradient {
    int64_t n_touched;
    int32_t *touched;              /* [n_touched] ascending rows of tensor 0 */
    float *rows;                   /* [n_touched][columns of tensor 0] */
    float *whole[CWI_MAX_TENSORS]; /* [rows][columns] of tensors 1, 2, ...; NULL for tensor 0 */
    double penalty;                /* value of the terms that are not of scores */
} cwi_gradient;

/*
 * A term of a method that looks at the final vectors of the batch, not at scores.
 *   open   required: for batches of at most max_slots slots; close it also after a failure
 *   add    required: the rows of `table`, of `width` floats, that the batch touches are listed;
 *          the gradient of the term is added to rows[t * width ..], its value is *value
 *   close  required: accepts NULL
 *   options  what it reads beside the options that all trainings have; NULL: nothing
 */
typedef struct cwi_penalty {
    const char *name;
    cw_status (*open)(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                      int64_t max_slots, void **state);
    cw_status (*add)(cw_context *ctx, void *state, const cwi_batch *batch, const int32_t *touched,
                     int64_t n_touched, const float *table, int32_t width, float *rows,
                     double *value);
    void (*close)(void *state);
    const cw_option_info *options;
} cwi_penalty;

extern const cwi_penalty cwi_penalty_cause, cwi_penalty_dice;

/* An opened one; penalty NULL: none. */
typedef struct cwi_extra {
    const cwi_penalty *penalty;
    void *state;
    const struct cwi_extra *next; /* another one, or NULL */
} cwi_extra;

/* --reg-kind batch: the L2 term of the vectors of the batch, of the table or final ones. */
extern const cwi_penalty cwi_penalty_batch_l2;

/* --spectral: how far scores follow popularity. */
extern const cwi_penalty cwi_penalty_spectral;

/*
 * A backbone.
 *   declare   required: add its tensors to params (values are set by the trainer's initialiser)
 *   open      required: training state for batches of at most max_slots slots; close it also after
 *             a failure
 *   score     required: scores of every slot of the batch from the current parameters, the heads
 *             of a slot side by side; those of a pair may both be off by the same number.  For a
 *             grid the vectors of the users of all slots, then those of their items, whose inner
 *             products are the scores.
 *   gradient  required: dL/dparams from the slopes of what score wrote, the batch being the last
 *             one given; filled anew at each call.  extra adds to it at the final vectors.
 *   learn     optional, instead of score and gradient: a step that does not go by slots; the mean
 *             loss and the gradients of this moment
 *   sweep     optional, instead of both: a step that sets the parameters of `open` by itself,
 *             without an optimizer; the mean loss, and the L2 terms of all parameters
 *   fill      optional, where nothing is learnt in steps: the parameters from the data, at once
 *   rank      required: a ranker from parameters and the train rows of users alone; borrows both
 *   close     required: accepts NULL
 *   options   what it reads beside the options that all trainings have; NULL: nothing
 */
typedef struct cwi_backbone {
    const char *name;
    const char *help;
    cw_status (*declare)(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                         cwi_params *params);
    cw_status (*open)(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                      const cwi_params *params, int64_t max_slots, void **state);
    cw_status (*score)(cw_context *ctx, void *state, const cwi_batch *batch, float *score);
    cw_status (*gradient)(cw_context *ctx, void *state, const cwi_batch *batch, const float *slope,
                          const cwi_extra *extra, cwi_gradient *out);
    cw_status (*learn)(cw_context *ctx, void *state, const cwi_moment *now, double *loss,
                       cwi_gradient *out);
    cw_status (*sweep)(cw_context *ctx, void *state, double *loss, double *reg);
    cw_status (*fill)(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                      cwi_params *params);
    cw_status (*rank)(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                      const cwi_params *params, cwi_ranker *out);
    void (*close)(void *state);
    /* numbers of a vector whose inner product with another is a score, where that is so: then it
     * takes grids, too; NULL else */
    int32_t (*vector_width)(const cw_options *options);
    bool is_table;  /* a score is the inner product of two rows of the table: an engine may do it
                       by itself */
    bool ranks_far; /* `rank` takes a table whose rows lie in a file */
    const cw_option_info *options;
} cwi_backbone;

/* Does it learn without slots, step by step? */
static inline bool cwi_backbone_learns(const cwi_backbone *backbone)
{
    return backbone->learn || backbone->sweep;
}

/* All of them, in the order in which they are told, first those that score slots. */
#define CWI_SLOT_BACKBONES(X) X(mf) X(lightgcn) X(ngcf) X(neumf)
#define CWI_BACKBONES(X)      CWI_SLOT_BACKBONES(X) X(vae) X(als) X(ease) X(itemknn) X(pop)

#define CWI_EXTERN(id) extern const cwi_backbone cwi_backbone_##id;
CWI_BACKBONES(CWI_EXTERN)
#undef CWI_EXTERN

#endif
