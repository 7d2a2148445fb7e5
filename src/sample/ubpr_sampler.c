/*
 * ubpr_sampler.c - an observed pair and any item, with the weight that makes up for exposure.
 *
 * Of an item that the user has not had nobody knows whether he would like it.  With propensities p
 * the weight (1/p_i)(1 - y_j/p_j) makes the mean over samples that of relevances (Saito, 2020).
 */
#include "core/mem.h"
#include "core/pool.h"
#include "sample/sampler.h"
#include "sample/shared_rows.h"

static const cw_option_info options_of_ubpr[] = {PROPENSITIES, {0}};

enum { ROWS_A_CHUNK = 512 };

typedef struct state {
    const cwi_training *training;
    uint64_t seed;
    int64_t batch;
    uint64_t step; /* of the batch being drawn */
    cwi_batch *out;
} state;

static void close_state(void *opened)
{
    cwi_free(opened);
}

static cw_status open_state(cw_context *ctx, const cwi_training *training,
                            const cw_options *options, int64_t *max_slots, void **out)
{
    state *s = cwi_alloc_zero(ctx, 1, sizeof *s);
    *out = s;
    if (!s) return CW_NO_MEMORY;
    s->training = training;
    s->seed = (uint64_t)cwi_options_integer(options, "seed");
    s->batch = cwi_options_integer(options, "batch");
    *max_slots = 2 * s->batch;
    return CW_OK;
}

/* Where j was not observed its propensity does not matter; it may be 0. */
static double weigh(const cwi_training *t, int32_t user, int32_t liked, int32_t other)
{
    double weight = 1 / t->propensity[liked];
    if (cwi_training_has(t, user, other)) weight *= 1 - 1 / t->propensity[other];
    return weight;
}

static cw_status draw_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const state *s = arg;
    const cwi_training *t = s->training;
    (void)chunk;
    for (int64_t r = begin; r < end; r++) {
        cwi_rng rng;
        int32_t *user = s->out->user + 2 * r, *item = s->out->item + 2 * r;
        cwi_rng_init(&rng, s->seed, CWI_RNG_SAMPLE, s->step << 24 | (uint64_t)r);
        int64_t row = (int64_t)cwi_rng_below(&rng, (uint64_t)t->count);
        user[0] = user[1] = t->pair[row].user;
        item[0] = t->pair[row].item;
        item[1] = (int32_t)cwi_rng_below(&rng, (uint64_t)t->n_items);
        s->out->mark[r] = (float)weigh(t, user[0], item[0], item[1]);
    }
    return CW_OK;
}

static cw_status draw(cw_context *ctx, void *opened, const cwi_moment *now, cwi_batch *batch,
                      cwi_luck *luck)
{
    state *s = opened;
    s->step = now->step;
    s->out = batch;
    cwi_batch_fill(batch, 2, s->batch);
    luck->slots[0] = 2;
    luck->attempts[0] += s->batch;
    luck->accepted[0] += s->batch;
    return cwi_pool_for(ctx, s->batch, ROWS_A_CHUNK, draw_chunk, s);
}

const cwi_sampler cwi_sampler_ubpr = {.name = "ubpr",
                                      .open = open_state,
                                      .draw = draw,
                                      .close = close_state,
                                      .options = options_of_ubpr};
