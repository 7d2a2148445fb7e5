/* registry.h - methods and backbones by name. */
#ifndef CWI_REGISTRY_H
#define CWI_REGISTRY_H

#include "loss/loss.h"
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
    const cwi_sampler *sampler; /* NULL: the backbone is filled from the data */
    const cwi_loss *loss;
    bool selects;                /* keeps the hardest of its candidates */
    const char *backbones;       /* "a|b": the backbones it works on; the first is the default */
    const cwi_default *defaults; /* ends with a row of NULLs */
} cwi_method;

/* NULL when there is none of that name. */
const cwi_method *cwi_find_method(const char *name);
const cwi_backbone *cwi_find_backbone(const char *name);

extern const cw_option_info cwi_train_options[];

/* The given options of stage "train" with the defaults of their method filled in. */
cw_status cwi_train_settle(cw_context *ctx, const cw_options *given, cw_options **out,
                           const cwi_method **method, const cwi_backbone **backbone);

/* The default of a train option for a method on a backbone, or NULL when the table's holds. */
const char *cwi_find_default(const cwi_method *method, const char *backbone, const char *option);

#endif
