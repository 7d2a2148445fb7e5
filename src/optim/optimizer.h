/*
 * optimizer.h - rules of optimisers: what a step does to a run of parameters.
 *
 * A rule has no memory of its own.  When rows are stepped, and what is kept of rows that wait, is
 * up to the engine: at every step, only when a batch touches them, or later in closed form.
 */
#ifndef CWI_OPTIM_OPTIMIZER_H
#define CWI_OPTIM_OPTIMIZER_H

#include "backend/backend.h"
#include "core/options.h"

enum { CWI_MAX_MEMORIES = 2 };

/* Which rows are stepped. */
typedef enum cwi_schedule {
    CWI_STEP_ALL,     /* every row at every step */
    CWI_STEP_LATE,    /* rows outside the batch make up for what they missed when they are read */
    CWI_STEP_TOUCHED, /* rows outside the batch stand still */
    CWI_STEP_CHOSEN   /* one of the first two, whichever is faster for the data */
} cwi_schedule;

/*
 * An optimiser.
 *   memory  names of the numbers that it keeps beside every parameter, at most CWI_MAX_MEMORIES
 *   rates   required: the numbers of a step, which count from 1
 *   step    required: one step on n parameters with their gradient (NULL: zero); the L2 term of
 *           rates->decay is added to it.  ops NULL: in plain C.
 */
typedef struct cwi_optimizer {
    const char *name;
    const char *help;
    cwi_schedule schedule;
    const char *memory[CWI_MAX_MEMORIES + 1]; /* ends with NULL */
    const cw_option_info *options;
    void (*rates)(const cw_options *options, int64_t step, cwi_rates *out);
    void (*step)(const cwi_ops *ops, const cwi_rates *rates, const float *gradient, int64_t n,
                 float *theta, float *const memory[CWI_MAX_MEMORIES]);
} cwi_optimizer;

/* All of them with their names, in the order in which they are told. */
#define CWI_OPTIMIZERS(X)                                                                          \
    X(adam, "adam")                                                                                \
    X(adam_deferred, "adam-deferred")                                                              \
    X(adam_lazy, "adam-lazy")                                                                      \
    X(sgd, "sgd")                                                                                  \
    X(adagrad, "adagrad")                                                                          \
    X(auto, "auto")

#define CWI_EXTERN(id, name) extern const cwi_optimizer cwi_optimizer_##id;
CWI_OPTIMIZERS(CWI_EXTERN)
#undef CWI_EXTERN

#endif
