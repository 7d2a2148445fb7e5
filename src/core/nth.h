/*
 * nth.h - the smallest n of numbers that are seen several times and never held.
 *
 *     while (!nth.is_found) {
 *         for all numbers, some at a time: cwi_nth_see(&nth, value, count);
 *         cwi_nth_turn(&nth);
 *     }
 */
#ifndef CWI_CORE_NTH_H
#define CWI_CORE_NTH_H

#include "core/mem.h"
#include "core/smallest.h"

typedef struct cwi_nth {
    cwi_limit limit; /* once it is found: that of the n smallest */
    bool is_found;
    int64_t n;     /* of those that are looked at now */
    uint64_t low;  /* of these, as their bits in order */
    int shift;     /* bits that a bin leaves out */
    int64_t *bins; /* [N_BINS] how many are in each */
    double *few;   /* those of the last bin, and as much room again */
    int64_t n_few; /* -1: they are counted, not kept */
    cwi_pile pile;
} cwi_nth;

/* n of count, which is at least 0; clear follows, also after a failure. */
cw_status cwi_nth_open(cw_context *ctx, int64_t count, int64_t n, cwi_nth *out);
void cwi_nth_see(cwi_nth *nth, const double *value, int64_t count); /* finite, or infinite */
void cwi_nth_turn(cwi_nth *nth);
void cwi_nth_clear(cwi_nth *nth);

#endif
