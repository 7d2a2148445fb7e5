/*
 * hits.h - what the places of the hits in one list come to.
 *
 * One source for the host and for kernels of a device.  Discounts of places are the caller's, as
 * logarithms take time.
 */
#ifndef CWI_SCORE_HITS_H
#define CWI_SCORE_HITS_H

#include <math.h>
#include <stdbool.h>

#include "core/formula.h"

/* Values of a list, in the order of the table of metrics. */
enum {
    CWI_PLACE_RECALL,
    CWI_PLACE_PRECISION,
    CWI_PLACE_NDCG,
    CWI_PLACE_HIT_RATE,
    CWI_PLACE_MRR,
    CWI_PLACE_MAP,
    CWI_PLACE_ARP,
    CWI_PLACE_VALUES
};

/* Sums over the places of a list. */
typedef struct cwi_hits {
    int32_t hits;
    double dcg, first, precisions, degrees;
} cwi_hits;

/* The next item of a list, at place p from 0 on. */
CWI_FORMULA void cwi_hits_add(cwi_hits *s, int32_t p, double degree, bool is_hit, double discount)
{
    s->degrees += degree;
    if (!is_hit) return;
    s->hits++;
    s->dcg += discount;
    s->precisions += (double)s->hits / (p + 1.0);
    if (s->hits == 1) s->first = 1 / (p + 1.0);
}

/* a / b, NaN for nothing of nothing. */
CWI_FORMULA double cwi_part_of(double a, double b)
{
    return b > 0 ? a / b : (double)NAN;
}

/* For a list of `count` where k were asked for and `held` could be found, as Recall counts them, of
 * which `reachable` fit into the list; `ideal` is the largest dcg. */
CWI_FORMULA void cwi_hits_values(const cwi_hits *s, double held, double reachable, double ideal,
                                 int32_t k, int32_t count, double out[CWI_PLACE_VALUES])
{
    out[CWI_PLACE_RECALL] = cwi_part_of(s->hits, held);
    out[CWI_PLACE_PRECISION] = cwi_part_of(s->hits, k);
    out[CWI_PLACE_NDCG] = cwi_part_of(s->dcg, ideal);
    out[CWI_PLACE_HIT_RATE] = s->hits > 0;
    out[CWI_PLACE_MRR] = s->first;
    out[CWI_PLACE_MAP] = cwi_part_of(s->precisions, reachable);
    out[CWI_PLACE_ARP] = cwi_part_of(s->degrees, count);
}

#endif
