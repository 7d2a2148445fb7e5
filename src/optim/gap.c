/*
 * gap.c - missed steps of Adam in closed form.
 *
 * A row outside the batch has no data gradient: its m shrinks by beta1 a step, its v by beta2, and
 * the L2 term pulls.  What m moves is m times a sum of beta1^j, what the pull moves is the slope
 * times a sum of (1 - beta1^j), both over a denominator that hardly changes: sqrt(v) loses 0.05 % a
 * step.  A gap is cut into pieces, the first of them short, because that is where m moves the row;
 * each of the next is twice as long.  Early in training, when v comes into being, all are short.
 */
#include "optim/gap.h"

#include "core/elementary.h"
#include "core/mem.h"

enum {
    FIRST_PIECE = 8,
    HORIZON = 160 /* beyond so many steps nothing is left of m */
};

/* v is taken when half of what m moves is moved, in the first piece; later on in the middle. */
static cwi_gap_shape make_shape(const cwi_adam_clock *clock, int64_t g)
{
    double steps = (double)g, left = cwi_pow(clock->beta1, steps), fade = cwi_ln(clock->beta2);
    double ratio = clock->beta1 / (1 - clock->beta1), sum = ratio * (1 - left);
    double middle = (steps + 1) / 2;
    if (g > 0 && g <= FIRST_PIECE) middle = (sum / (1 - clock->beta1) - ratio * steps * left) / sum;
    return (cwi_gap_shape){.m_left = left,
                           .drift_left = left * cwi_exp(-fade / 2 * steps),
                           .v_left = (float)cwi_exp(fade * steps),
                           .v_middle = (float)cwi_exp(fade * middle),
                           .root_middle = (float)cwi_exp(fade / 2 * middle)};
}

void cwi_gaps_init(const cwi_adam_clock *clock, cwi_gaps *out)
{
    *out = (cwi_gaps){.clock = *clock, .step = -1};
    for (int g = 0; g < CWI_GAP_SHAPES; g++) out->shape[g] = make_shape(clock, g);
}

void cwi_gaps_clear(cwi_gaps *gaps)
{
    cwi_free(gaps->time);
    *gaps = (cwi_gaps){0};
}

cw_status cwi_gaps_step(cw_context *ctx, cwi_gaps *gaps)
{
    int64_t t = gaps->step + 1;
    cw_status status =
        cwi_grow(ctx, &gaps->time, &gaps->capacity, (size_t)t + 1, sizeof *gaps->time);
    if (status != CW_OK) return status;
    double rate = t > 0 ? cwi_adam_rate(&gaps->clock, t) : 0;
    gaps->time[t] = (cwi_gap_time){.rate_sum = rate + (t > 0 ? gaps->time[t - 1].rate_sum : 0),
                                   .epsilon = cwi_adam_epsilon(&gaps->clock, t > 0 ? t : 1)};
    for (int64_t g = 1; g <= HORIZON && g <= t; g++) {
        gaps->time[t - g].m_rate += gaps->shape[g].m_left * rate;
        gaps->time[t - g].drift_rate += gaps->shape[g].drift_left * rate;
    }
    gaps->step = t;
    for (int64_t g = 0; g < CWI_GAP_SHAPES && g <= t; g++)
        gaps->pause[g] = cwi_gaps_compute(gaps, g);
    return CW_OK;
}

static cwi_gap_shape find_shape(const cwi_gaps *gaps, int64_t g)
{
    return g < CWI_GAP_SHAPES ? gaps->shape[g] : make_shape(&gaps->clock, g);
}

static cwi_adam_gap make_gap(const cwi_gaps *gaps, int64_t from, int64_t g, float decay)
{
    cwi_gap_shape shape = find_shape(gaps, g);
    const cwi_gap_time *first = &gaps->time[from], *last = first + g;
    double m_rate = first->m_rate - shape.m_left * last->m_rate;
    double rates = last->rate_sum - first->rate_sum;
    return (cwi_adam_gap){.m_rate = (float)m_rate,
                          .pull_rate = (float)(rates - m_rate),
                          .v_middle = shape.v_middle,
                          .m_left = (float)shape.m_left,
                          .v_left = shape.v_left,
                          .epsilon = (float)gaps->time[gaps->step].epsilon,
                          .decay = decay};
}

int cwi_gaps_find(const cwi_gaps *gaps, int64_t from, float decay, cwi_adam_gap out[CWI_GAP_PIECES])
{
    int n = 0;
    for (int64_t piece = FIRST_PIECE; from < gaps->step; piece *= 2) {
        int64_t g = gaps->step - from;
        if (g > piece) g = piece;
        if (g > FIRST_PIECE && g > from / 4) g = from / 4 > FIRST_PIECE ? from / 4 : FIRST_PIECE;
        out[n++] = make_gap(gaps, from, g, decay);
        from += g;
    }
    return n;
}

/* m / sqrt(v) loses the same share at every step, whatever v is, so that no denominator has to be
 * found anew; the pull goes by the one in the middle. */
cwi_adam_pause cwi_gaps_compute(const cwi_gaps *gaps, int64_t g)
{
    cwi_gap_shape shape = find_shape(gaps, g);
    const cwi_gap_time *last = &gaps->time[gaps->step], *first = last - g;
    double m_rate = first->m_rate - shape.m_left * last->m_rate;
    double rates = last->rate_sum - first->rate_sum;
    double drift_rate = first->drift_rate - shape.drift_left * last->drift_rate;
    return (cwi_adam_pause){.drift_rate = (float)drift_rate,
                            .pull_rate = (float)(rates - m_rate) / shape.root_middle,
                            .m_left = (float)shape.m_left,
                            .v_left = shape.v_left,
                            .epsilon = (float)first->epsilon};
}
