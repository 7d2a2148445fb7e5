/* draw.h - weighted draws without replacement. */
#ifndef CWI_PREPARE_DRAW_H
#define CWI_PREPARE_DRAW_H

#include "core/reel.h"
#include "core/rng.h"
#include "core/smallest.h"

/*
 * Draw n of count things without replacement, each draw proportional to weight among those left
 * (successive sampling).  Thing k gets the key -ln(U_k)/weight[k]; the n smallest keys win
 * (Efraimidis and Spirakis, 2006), so the result depends on the seed alone.
 *   weight  [count], positive; NULL for equal weights
 *   drawn   [count], set to 1 for the n winners and 0 for the others
 */
cw_status cwi_draw(cw_context *ctx, const double *weight, int64_t count, int64_t n, uint64_t seed,
                   cwi_purpose purpose, uint8_t *drawn);

/* The same of rows, the weight of each being that of its item: their parts are 1 and 0. */
cw_status cwi_draw_rows(cw_context *ctx, const double *weight, const cwi_reel *rows, int64_t n,
                        uint64_t seed, cwi_purpose purpose);

/*
 * The same for who asks for one thing after the other: open, then for windows of things, in their
 * order, cwi_lottery_keys and for each of them cwi_limit_take with its key.
 *   things  whose items the weights are of; without items, weight[k] is that of thing k
 */
typedef struct cwi_lottery {
    const double *weight;
    const int32_t *which; /* of the things whose keys are made */
    uint64_t seed;
    cwi_purpose purpose;
    int64_t first; /* the first of them */
    double *key;
    bool has_all; /* keys */
    cwi_limit limit;
} cwi_lottery;

cw_status cwi_lottery_open(cw_context *ctx, const double *weight, const cwi_reel *things, int64_t n,
                           uint64_t seed, cwi_purpose purpose, cwi_lottery *out);

/* Keys of n things from the first on, at most CWI_WINDOW_ROWS.  which is NULL, or has the
 * items of these things. */
cw_status cwi_lottery_keys(cw_context *ctx, cwi_lottery *lottery, int64_t first, int64_t n,
                           const int32_t *which, const double **key);
void cwi_lottery_close(cwi_lottery *lottery);

/*
 * The same law, drawn as the paper's published splits were: bit for bit from MT19937.
 *   order  [n], the winners in the order they were drawn
 */
cw_status cwi_draw_compat(cw_context *ctx, const double *weight, int64_t count, int64_t n,
                          uint32_t seed, int64_t *order);

#endif
