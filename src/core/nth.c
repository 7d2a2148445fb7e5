/* nth.c - bins of the leading bits, then of the next ones, until few numbers are left. */
#include "core/nth.h"

#include <math.h>
#include <string.h>

enum { BIN_BITS = 20, N_BINS = 1 << BIN_BITS, FEW = 1 << 18, ALL_BITS = 64 };

/* Bits in the order of the values. */
static uint64_t order_of(double value)
{
    const uint64_t sign = UINT64_C(1) << 63;
    uint64_t bits;
    value += 0.0; /* -0 is 0 */
    memcpy(&bits, &value, sizeof bits);
    return bits & sign ? ~bits : bits | sign;
}

static double value_of(uint64_t order)
{
    const uint64_t sign = UINT64_C(1) << 63;
    uint64_t bits = order & sign ? order & ~sign : ~order;
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

cw_status cwi_nth_open(cw_context *ctx, int64_t count, int64_t n, cwi_nth *out)
{
    *out = (cwi_nth){.n = n, .shift = ALL_BITS - BIN_BITS, .n_few = -1};
    out->is_found = n <= 0 || n >= count;
    out->limit = n <= 0 ? (cwi_limit){-INFINITY, 0} : (cwi_limit){INFINITY, count};
    if (out->is_found) return CW_OK;
    out->bins = cwi_pile_add_zero(ctx, &out->pile, N_BINS, sizeof *out->bins);
    out->few = cwi_pile_add(ctx, &out->pile, FEW, 2 * sizeof *out->few);
    return out->pile.status;
}

void cwi_nth_clear(cwi_nth *nth)
{
    cwi_pile_clear(&nth->pile);
}

void cwi_nth_see(cwi_nth *nth, const double *value, int64_t count)
{
    const uint64_t low = nth->low;
    const int shift = nth->shift;
    if (nth->n_few < 0) {
        for (int64_t k = 0; k < count; k++) {
            uint64_t bin = (order_of(value[k]) - low) >> shift;
            if (bin < N_BINS) nth->bins[bin]++;
        }
        return;
    }
    for (int64_t k = 0; k < count; k++)
        if ((order_of(value[k]) - low) >> shift == 0) nth->few[nth->n_few++] = value[k];
}

/* The limit of those that were kept, which may be all of them. */
static cwi_limit limit_of_few(const cwi_nth *nth)
{
    cwi_limit limit = {nth->few[0], nth->n};
    if (nth->n < nth->n_few)
        return cwi_smallest(nth->few, nth->n_few, nth->n, nth->few + nth->n_few);
    for (int64_t k = 0; k < nth->n; k++)
        if (nth->few[k] > limit.value) limit.value = nth->few[k];
    return limit;
}

/* Look at the bin that has the nth smallest alone; returns how many are in it. */
static int64_t enter_bin(cwi_nth *nth)
{
    uint64_t bin = 0;
    for (; nth->bins[bin] < nth->n; bin++) nth->n -= nth->bins[bin];
    nth->low += bin << nth->shift;
    return nth->bins[bin];
}

void cwi_nth_turn(cwi_nth *nth)
{
    if (nth->n_few >= 0) {
        nth->limit = limit_of_few(nth);
        nth->is_found = true;
        return;
    }
    int64_t left = enter_bin(nth);
    if (left <= FEW) {
        nth->n_few = 0;
    } else if (nth->shift == 0) { /* they are the same */
        nth->limit = (cwi_limit){value_of(nth->low), nth->n};
        nth->is_found = true;
    } else {
        nth->shift = nth->shift > BIN_BITS ? nth->shift - BIN_BITS : 0;
        memset(nth->bins, 0, N_BINS * sizeof *nth->bins);
    }
}
