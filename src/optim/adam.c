/* adam.c - Adam (Kingma and Ba, 2015), epsilon added without bias correction as TensorFlow does. */
#include "optim/adam.h"

#include <math.h>

#include "core/elementary.h"
#include "core/option_rows.h"

static const cw_option_info options[] = {
    WORD("adam-eps", "tf", "tf|torch", "where Adam adds epsilon: before or after bias correction"),
    {0}};

cwi_adam_clock cwi_adam_clock_of(const cw_options *given)
{
    return (cwi_adam_clock){.lr = cwi_options_real(given, "lr"),
                            .beta1 = 0.9,
                            .beta2 = 0.999,
                            .epsilon = 1e-8,
                            .torch_epsilon = cwi_options_choice(given, "adam-eps") == 1};
}

double cwi_adam_rate(const cwi_adam_clock *clock, int64_t step)
{
    return clock->lr * sqrt(1 - cwi_pow(clock->beta2, (double)step)) /
           (1 - cwi_pow(clock->beta1, (double)step));
}

double cwi_adam_epsilon(const cwi_adam_clock *clock, int64_t step)
{
    return clock->torch_epsilon ? clock->epsilon * sqrt(1 - cwi_pow(clock->beta2, (double)step))
                                : clock->epsilon;
}

static void find_rates(const cw_options *given, int64_t step, cwi_rates *out)
{
    cwi_adam_clock clock = cwi_adam_clock_of(given);
    *out = (cwi_rates){.rate = (float)cwi_adam_rate(&clock, step),
                       .beta1 = (float)clock.beta1,
                       .beta2 = (float)clock.beta2,
                       .epsilon = (float)cwi_adam_epsilon(&clock, step)};
}

static void step(const cwi_ops *ops, const cwi_rates *rates, const float *gradient, int64_t n,
                 float *theta, float *const memory[])
{
    float *m = memory[0], *v = memory[1];
    if (ops) {
        ops->adam(theta, m, v, gradient, n, rates);
        return;
    }
    for (int64_t k = 0; k < n; k++) {
        float g = (gradient ? gradient[k] : 0) + rates->decay * theta[k];
        m[k] = rates->beta1 * m[k] + (1 - rates->beta1) * g;
        v[k] = rates->beta2 * v[k] + (1 - rates->beta2) * g * g;
        theta[k] -= rates->rate * m[k] / (sqrtf(v[k]) + rates->epsilon);
    }
}

#define ADAM(word, when, about)                                                                    \
    {                                                                                              \
        .name = word, .help = about, .schedule = when, .memory = {"m", "v"}, .options = options,   \
        .rates = find_rates, .step = step                                                          \
    }

const cwi_optimizer cwi_optimizer_auto =
    ADAM("auto", CWI_STEP_CHOSEN,
         "adam or adam-deferred: the faster one for the data, where it is as accurate");
const cwi_optimizer cwi_optimizer_adam =
    ADAM("adam", CWI_STEP_ALL, "Adam, every row of the table at every step");
const cwi_optimizer cwi_optimizer_adam_deferred =
    ADAM("adam-deferred", CWI_STEP_LATE,
         "the same, but rows outside the batch make up for their steps when they are next read: "
         "close to it with far less memory traffic");
const cwi_optimizer cwi_optimizer_adam_lazy =
    ADAM("adam-lazy", CWI_STEP_TOUCHED, "Adam on the rows of the batch; all others stand still");
