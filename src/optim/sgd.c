/* sgd.c - plain gradient descent: theta -= lr (gradient + decay theta). */
#include "optim/optimizer.h"

static void find_rates(const cw_options *options, int64_t step, cwi_rates *out)
{
    (void)step;
    *out = (cwi_rates){.rate = (float)cwi_options_real(options, "lr")};
}

static void step(const cwi_ops *ops, const cwi_rates *rates, const float *gradient, int64_t n,
                 float *theta, float *const memory[])
{
    (void)ops;
    (void)memory;
    for (int64_t k = 0; k < n; k++) {
        float slope = rates->decay * theta[k] + (gradient ? gradient[k] : 0);
        theta[k] -= rates->rate * slope;
    }
}

const cwi_optimizer cwi_optimizer_sgd = {.name = "sgd",
                                         .help = "gradient descent with a fixed learning rate",
                                         .schedule = CWI_STEP_ALL,
                                         .rates = find_rates,
                                         .step = step};
