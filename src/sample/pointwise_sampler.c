/*
 * pointwise_sampler.c - observed pairs and as many that were not observed, each a row of its own.
 *
 * They are drawn two by two, an observed pair with one that was not, so that a batch is half and
 * half whatever is rejected.  The mark of a row is its label, over the propensity where asked for.
 */
#include "core/mem.h"
#include "core/pool.h"
#include "sample/sampler.h"
#include "sample/shared_rows.h"

static const cw_option_info options_of_pointwise[] = {NEGATIVE_PAIRS, {0}};

static const cw_option_info options_of_weighted[] = {
    NEGATIVE_PAIRS,
    PROPENSITIES,
    REAL("propensity-min", "0.01", 1e-9, 1, "smaller propensities count as this"),
    {0}};

enum { TWOS_A_CHUNK = 256, MAX_ATTEMPTS = 64 };

typedef struct state {
    const cwi_training *training;
    uint64_t seed;
    int64_t twos;         /* half a batch, rounded up */
    bool of_user;         /* the other pair is of the same user */
    bool weighs;          /* labels are divided by propensities */
    double least;         /* propensities below count as this */
    int64_t *kept;        /* [chunks] twos that were found */
    uint64_t step;        /* of the batch being drawn */
    int32_t *user, *item; /* of the batch */
} state;

static void close_state(void *opened)
{
    state *s = opened;
    if (!s) return;
    cwi_free(s->kept);
    cwi_free(s);
}

static cw_status open_state(cw_context *ctx, const cwi_training *training,
                            const cw_options *options, int64_t *max_slots, void **out)
{
    *out = NULL;
    state *s = cwi_alloc_zero(ctx, 1, sizeof *s);
    if (!s) return CW_NO_MEMORY;
    s->training = training;
    s->seed = (uint64_t)cwi_options_integer(options, "seed");
    s->twos = (cwi_options_integer(options, "batch") + 1) / 2;
    s->of_user = cwi_options_choice(options, "negatives") == 1;
    s->kept = cwi_alloc(ctx, (size_t)cwi_pool_chunks(s->twos, TWOS_A_CHUNK), sizeof *s->kept);
    if (!s->kept) {
        close_state(s);
        return CW_NO_MEMORY;
    }
    *max_slots = 2 * s->twos;
    *out = s;
    return CW_OK;
}

static cw_status open_weighted(cw_context *ctx, const cwi_training *training,
                               const cw_options *options, int64_t *max_slots, void **out)
{
    cw_status status = open_state(ctx, training, options, max_slots, out);
    if (status != CW_OK) return status;
    state *s = *out;
    s->weighs = true;
    s->least = cwi_options_real(options, "propensity-min");
    return CW_OK;
}

/* A pair that was not observed, uniform over all of them; false when none was found. */
static bool draw_pair(const cwi_training *t, cwi_rng *rng, int32_t *user, int32_t *item)
{
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        *user = (int32_t)cwi_rng_below(rng, (uint64_t)t->n_users);
        *item = (int32_t)cwi_rng_below(rng, (uint64_t)t->n_items);
        if (!cwi_training_has(t, *user, *item)) return true;
    }
    return false;
}

static bool draw_two(const state *s, cwi_rng *rng, int32_t *user, int32_t *item)
{
    const cwi_training *t = s->training;
    int64_t row = (int64_t)cwi_rng_below(rng, (uint64_t)t->count);
    user[0] = user[1] = t->pair[row].user;
    item[0] = t->pair[row].item;
    return s->of_user ? cwi_training_unseen(t, user[1], rng, &item[1])
                      : draw_pair(t, rng, &user[1], &item[1]);
}

/* What a chunk found is written from its begin on without holes. */
static cw_status draw_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const state *s = arg;
    int64_t kept = begin;
    for (int64_t k = begin; k < end; k++) {
        cwi_rng rng;
        cwi_rng_init(&rng, s->seed, CWI_RNG_SAMPLE, s->step << 24 | (uint64_t)k);
        kept += draw_two(s, &rng, s->user + 2 * kept, s->item + 2 * kept);
    }
    s->kept[chunk] = kept - begin;
    return CW_OK;
}

static double label_of(const state *s, int32_t item)
{
    if (!s->weighs) return 1;
    double propensity = s->training->propensity[item];
    return 1 / (propensity > s->least ? propensity : s->least);
}

static cw_status draw(cw_context *ctx, void *opened, const cwi_moment *now, cwi_batch *batch,
                      cwi_luck *luck)
{
    state *s = opened;
    s->step = now->step;
    s->user = batch->user;
    s->item = batch->item;
    cw_status status = cwi_pool_for(ctx, s->twos, TWOS_A_CHUNK, draw_chunk, s);
    if (status != CW_OK) return status;
    int64_t twos = cwi_batch_gather(batch, 0, 2, TWOS_A_CHUNK, s->kept,
                                    cwi_pool_chunks(s->twos, TWOS_A_CHUNK));
    for (int64_t k = 0; k < twos; k++) {
        batch->mark[2 * k] = (float)label_of(s, batch->item[2 * k]);
        batch->mark[2 * k + 1] = 0;
    }
    cwi_batch_fill(batch, 1, 2 * twos);
    luck->slots[0] = 2;
    luck->attempts[0] += s->twos;
    luck->accepted[0] += twos;
    return CW_OK;
}

const cwi_sampler cwi_sampler_pointwise = {.name = "pointwise",
                                           .open = open_state,
                                           .draw = draw,
                                           .close = close_state,
                                           .options = options_of_pointwise};
const cwi_sampler cwi_sampler_weighted = {.name = "weighted",
                                          .open = open_weighted,
                                          .draw = draw,
                                          .close = close_state,
                                          .options = options_of_weighted};
