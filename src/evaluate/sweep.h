/* sweep.h - accuracy against popularity along the popularity dial. */
#ifndef CWI_EVALUATE_SWEEP_H
#define CWI_EVALUATE_SWEEP_H

#include "evaluate/metrics.h"
#include "evaluate/request.h"
#include "evaluate/walk.h"

/* Metrics at the main K with one position of the dial. */
typedef struct cwi_sweep_point {
    double dial;
    double value[CWI_N_METRICS];
} cwi_sweep_point;

typedef struct cwi_sweep {
    int32_t count;
    cwi_sweep_point point[CWI_MAX_DIALS];
} cwi_sweep;

/* One walk over the users of `walk` (its dials and callbacks are not used) for all dials of the
 * request, or those that suit the spread of the scores when it names none. */
cw_status cwi_sweep_run(cw_context *ctx, const cwi_walk *walk, const cwi_audience *audience,
                        const int64_t *degree, const cwi_request *request, cwi_sweep *out);

#endif
