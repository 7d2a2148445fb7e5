/*
 * pointwise_sampler.c - observed pairs and as many that were not observed, each a row of its own.
 *
 * They are drawn two by two, an observed pair with one that was not, so that a batch is half and
 * half whatever is rejected.  The mark of a row is its label, over the propensity where asked for.
 */
#include "sample/sampler.h"
#include "sample/shared_rows.h"

typedef struct pointwise_state {
    cwi_drawing drawing;
    bool of_user; /* the other pair is of the same user */
    bool weighs;  /* labels are divided by propensities */
    double least; /* propensities below count as this */
} pointwise_state;

/* A pair that was not observed, uniform over all of them; false when none was found. */
CWI_FORMULA bool pointwise_draw_other(const cwi_training *t, cwi_rng *rng, int32_t *user,
                                      int32_t *item)
{
    enum { MAX_ATTEMPTS = 64 };
    for (int attempt = 0; attempt < MAX_ATTEMPTS; attempt++) {
        *user = (int32_t)cwi_rng_below(rng, (uint64_t)t->n_users);
        *item = (int32_t)cwi_rng_below(rng, (uint64_t)t->n_items);
        if (!cwi_training_has(t, *user, *item)) return true;
    }
    return false;
}

CWI_FORMULA double pointwise_label(const pointwise_state *s, int32_t item)
{
    if (!s->weighs) return 1;
    double propensity = s->drawing.training->propensity[item];
    return 1 / (propensity > s->least ? propensity : s->least);
}

CWI_FORMULA int64_t pointwise_draw(const void *opened, int group, cwi_rng *rng, int32_t *user,
                                   int32_t *item, float *mark, int64_t *tried)
{
    const pointwise_state *s = (const pointwise_state *)opened;
    const cwi_training *t = s->drawing.training;
    int64_t row = (int64_t)cwi_rng_below(rng, (uint64_t)t->count);
    (void)group;
    ++*tried;
    cwi_pair pair = cwi_training_pair(t, row);
    user[0] = user[1] = pair.user;
    item[0] = pair.item;
    mark[0] = (float)pointwise_label(s, item[0]);
    mark[1] = 0;
    bool found = s->of_user ? cwi_training_unseen(t, user[1], rng, &item[1])
                            : pointwise_draw_other(t, rng, &user[1], &item[1]);
    return found ? 2 : 0;
}

#if !defined(__cplusplus)
static const cw_option_info pointwise_options[] = {NEGATIVE_PAIRS, {0}};
static const cw_option_info weighted_options[] = {
    NEGATIVE_PAIRS,
    PROPENSITIES,
    REAL("propensity-min", "0.01", 1e-9, 1, "smaller propensities count as this"),
    {0}};

static cw_status pointwise_open(cw_context *ctx, const cw_options *options, void *opened)
{
    pointwise_state *s = opened;
    int64_t twos = (cwi_options_integer(options, "batch") + 1) / 2;
    (void)ctx;
    s->of_user = cwi_options_choice(options, "negatives") == 1;
    s->drawing.plan =
        (cwi_draw_plan){.n_groups = 1, .group = {{twos, .slots = 1, .most_rows = 2, .unit = 2}}};
    return CW_OK;
}

static cw_status weighted_open(cw_context *ctx, const cw_options *options, void *opened)
{
    pointwise_state *s = opened;
    s->weighs = true;
    s->least = cwi_options_real(options, "propensity-min");
    return pointwise_open(ctx, options, opened);
}

const cwi_sampler cwi_sampler_pointwise = {.name = "pointwise",
                                           .bytes = sizeof(pointwise_state),
                                           .open = pointwise_open,
                                           .draw = pointwise_draw,
                                           .asks = cwi_sampler_asks,
                                           .options = pointwise_options};
const cwi_sampler cwi_sampler_weighted = {.name = "weighted",
                                          .bytes = sizeof(pointwise_state),
                                          .open = weighted_open,
                                          .draw = pointwise_draw,
                                          .asks = cwi_sampler_asks,
                                          .options = weighted_options};
#endif
