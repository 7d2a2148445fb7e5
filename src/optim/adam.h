/* adam.h - the numbers of Adam at a step. */
#ifndef CWI_OPTIM_ADAM_H
#define CWI_OPTIM_ADAM_H

#include "optim/optimizer.h"

/* Constants of Adam. */
typedef struct cwi_adam_clock {
    double lr, beta1, beta2, epsilon;
    bool torch_epsilon; /* epsilon is added after bias correction */
} cwi_adam_clock;

cwi_adam_clock cwi_adam_clock_of(const cw_options *options);

/* What a step multiplies m / (sqrt(v) + epsilon) by, and epsilon itself. */
double cwi_adam_rate(const cwi_adam_clock *clock, int64_t step);
double cwi_adam_epsilon(const cwi_adam_clock *clock, int64_t step);

#endif
