/*
 * ahead.h - batches of a window of steps, drawn together by processes among which interactions are
 * dealt out.
 *
 * Every process draws all candidates and so knows every question, and each answers those that it
 * can: a round of answers is one message to all, and needs no message that asks.  Rounds are as
 * many as the candidate that needs most of them asks one after the other, whatever the number of
 * steps.
 */
#ifndef CWI_SAMPLE_AHEAD_H
#define CWI_SAMPLE_AHEAD_H

#include "sample/dealt.h"

typedef struct cwi_ahead cwi_ahead;

/* For batches of this sampler, which is open and stays so. */
cw_status cwi_ahead_open(cw_context *ctx, const cwi_sampler *sampler, const cwi_drawing *drawing,
                         int64_t max_slots, cwi_ahead **out);
void cwi_ahead_close(cwi_ahead *ahead); /* NULL is fine */

/* How many steps fit into a window. */
int64_t cwi_ahead_steps(const cwi_ahead *ahead);

/* Is the batch of this step among those that were drawn? */
bool cwi_ahead_has(const cwi_ahead *ahead, uint64_t step);

/* Draw the batches of n steps; all processes do.  *sent and *exchanges are added to. */
cw_status cwi_ahead_draw(cw_context *ctx, cwi_ahead *ahead, const cwi_moment *first, int64_t n,
                         int64_t *sent, int64_t *exchanges);

/* A batch that was drawn; draws is added to. */
cw_status cwi_ahead_take(cw_context *ctx, cwi_ahead *ahead, uint64_t step, cwi_batch *batch,
                         cwi_draws *draws);

#endif
