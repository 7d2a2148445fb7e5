/*
 * adagrad.c - Adagrad (Duchi et al., 2011): every parameter has its own learning rate, which falls
 * with the squares of its gradients: s += g^2, theta -= lr g / (sqrt(s) + epsilon).
 */
#include <math.h>

#include "optim/optimizer.h"

static void find_rates(const cw_options *options, int64_t step, cwi_rates *out)
{
    (void)step;
    *out = (cwi_rates){.rate = (float)cwi_options_real(options, "lr"), .epsilon = 1e-10f};
}

/* A parameter that nothing pulls at stands still. */
static void step(const cwi_ops *ops, const cwi_rates *rates, const float *gradient, int64_t n,
                 float *theta, float *const memory[])
{
    float *squares = memory[0];
    (void)ops;
    if (!gradient && rates->decay == 0) return;
    for (int64_t k = 0; k < n; k++) {
        float slope = rates->decay * theta[k] + (gradient ? gradient[k] : 0);
        squares[k] += slope * slope;
        theta[k] -= rates->rate * slope / (sqrtf(squares[k]) + rates->epsilon);
    }
}

const cwi_optimizer cwi_optimizer_adagrad = {
    .name = "adagrad",
    .help = "Adagrad: a learning rate of its own for every parameter, which only falls",
    .schedule = CWI_STEP_ALL,
    .memory = {"squares"},
    .rates = find_rates,
    .step = step};
