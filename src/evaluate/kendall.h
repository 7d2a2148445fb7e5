/* kendall.h - do two orders agree? */
#ifndef CWI_EVALUATE_KENDALL_H
#define CWI_EVALUATE_KENDALL_H

#include "core/context.h"

typedef struct cwi_rated {
    double truth;
    double score;
} cwi_rated;

/*
 * Kendall's tau-b of score and truth over n things, exact in n log n steps (Knight, 1966):
 * (concordant - discordant) / sqrt((pairs not tied in score) (pairs not tied in truth)).  NaN
 * when either is constant.  Changes the order of `rated`.
 *   room  [n] to work in
 */
double cwi_kendall(cwi_rated *rated, cwi_rated *room, int32_t n);

#endif
