/* registry.h - methods and backbones by name. */
#ifndef CWI_REGISTRY_H
#define CWI_REGISTRY_H

#include "loss/loss.h"
#include "optim/optimizer.h"
#include "sample/sampler.h"
#include "score/score.h"

/* Options of stage "train" that a method sets differently from the table. */
typedef struct cwi_default {
    const char *backbone; /* NULL: any */
    const char *option, *value;
} cwi_default;

/* A method is a sampler, a loss and tuned defaults; without a sampler there is nothing to train. */
typedef struct cwi_method {
    const char *name;
    const char *help;
    const cwi_sampler
        *sampler; /* NULL: the backbone learns by itself, or is filled from the data */
    const cwi_loss *loss;
    const cwi_penalty *penalty;  /* NULL: none */
    bool selects;                /* keeps the hardest of its candidates */
    int32_t heads;               /* scores of a slot; 0 is 1 */
    int32_t item_tables;         /* vectors of an item; 0 is 1 */
    const char *backbones;       /* "a|b": the backbones it works on; the first is the default */
    const cwi_default *defaults; /* ends with a row of NULLs */
} cwi_method;

/* NULL when there is none of that name. */
const cwi_method *cwi_find_method(const char *name);
const cwi_backbone *cwi_find_backbone(const char *name);
const cwi_optimizer *cwi_find_optimizer(const char *name);

/* What the backbone of a method sees of the data. */
cwi_shape cwi_method_shape(const cwi_method *method, const cw_options *options, int32_t n_users,
                           int32_t n_items, const cwi_csr *train);

/* A ranker of the items of the data, by the heads and the table that the options name. */
cw_status cwi_method_rank(cw_context *ctx, const cwi_method *method, const cwi_backbone *backbone,
                          const cwi_shape *shape, const cw_options *options,
                          const cwi_params *params, cwi_ranker *out);

extern const cw_option_info cwi_train_options[];

/* The given options of stage "train" with the defaults of their method filled in. */
cw_status cwi_train_settle(cw_context *ctx, const cw_options *given, cw_options **out,
                           const cwi_method **method, const cwi_backbone **backbone);

/* The default of a train option for a method on a backbone, or NULL when the table's holds. */
const char *cwi_find_default(const cwi_method *method, const char *backbone, const char *option);

#endif
