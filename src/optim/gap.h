/* gap.h - what several Adam steps without a gradient do to a row, in one go. */
#ifndef CWI_OPTIM_GAP_H
#define CWI_OPTIM_GAP_H

#include "optim/adam.h"

enum {
    CWI_GAP_SHAPES = 513, /* lengths that are looked up */
    CWI_GAP_PIECES = 192  /* of a gap, at most */
};

/* What depends on the length of a gap alone. */
typedef struct cwi_gap_shape {
    double m_left, drift_left;
    float v_left, v_middle, root_middle;
} cwi_gap_shape;

/* What depends on a step alone. */
typedef struct cwi_gap_time {
    double rate_sum;   /* of the learning rates up to it */
    double m_rate;     /* sum of rate * beta1^(steps since) after it */
    double drift_rate; /* the same for m / sqrt(v), which shrinks less */
    double epsilon;
} cwi_gap_time;

/* Both added up, so that any gap is a few look-ups. */
typedef struct cwi_gaps {
    cwi_adam_clock clock;
    int64_t step;       /* the last one */
    cwi_gap_time *time; /* [step + 1] */
    size_t capacity;
    cwi_gap_shape shape[CWI_GAP_SHAPES];
    cwi_adam_pause pause[CWI_GAP_SHAPES]; /* by length, up to the last step */
} cwi_gaps;

void cwi_gaps_init(const cwi_adam_clock *clock, cwi_gaps *out);
void cwi_gaps_clear(cwi_gaps *gaps); /* a zeroed one is fine */

/* Time goes on by one step. */
cw_status cwi_gaps_step(cw_context *ctx, cwi_gaps *gaps);

/* The steps after `from` up to the last one, in pieces, for a row of that L2 decay.  Returns how
 * many pieces. */
int cwi_gaps_find(const cwi_gaps *gaps, int64_t from, float decay,
                  cwi_adam_gap out[CWI_GAP_PIECES]);

/* The last g steps in one piece, for rows that the L2 term moves little. */
cwi_adam_pause cwi_gaps_compute(const cwi_gaps *gaps, int64_t g);
static inline cwi_adam_pause cwi_gaps_pause(const cwi_gaps *gaps, int64_t g)
{
    return g < CWI_GAP_SHAPES ? gaps->pause[g] : cwi_gaps_compute(gaps, g);
}

#endif
