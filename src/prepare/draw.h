/* draw.h - weighted draws without replacement. */
#ifndef CWI_PREPARE_DRAW_H
#define CWI_PREPARE_DRAW_H

#include "core/context.h"
#include "core/rng.h"

/*
 * Draw n of count things without replacement, each draw proportional to weight among those left
 * (successive sampling).  Thing k gets the key -ln(U_k)/weight[k]; the n smallest keys win
 * (Efraimidis and Spirakis, 2006), so the result depends on the seed alone.
 *   weight  [count], positive; NULL for equal weights
 *   drawn   [count], set to 1 for the n winners and 0 for the others
 */
cw_status cwi_draw(cw_context *ctx, const double *weight, int64_t count, int64_t n, uint64_t seed,
                   cwi_purpose purpose, uint8_t *drawn);

/* The same where the weight of thing k is weight[which[k]]. */
cw_status cwi_draw_by(cw_context *ctx, const double *weight, const int32_t *which, int64_t count,
                      int64_t n, uint64_t seed, cwi_purpose purpose, uint8_t *drawn);

/* The same with little memory for the keys, which are made three times: what large draws use. */
cw_status cwi_draw_lean(cw_context *ctx, const double *weight, const int32_t *which, int64_t count,
                        int64_t n, uint64_t seed, cwi_purpose purpose, uint8_t *drawn);

/*
 * The same law, drawn as the paper's published splits were: bit for bit from MT19937.
 *   order  [n], the winners in the order they were drawn
 */
cw_status cwi_draw_compat(cw_context *ctx, const double *weight, int64_t count, int64_t n,
                          uint32_t seed, int64_t *order);

#endif
