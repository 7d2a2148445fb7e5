/* pop.c - the backbone of method pop: every user gets the items with most train rows. */
#include <string.h>

#include "core/mem.h"
#include "score/score.h"

static cw_status declare(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                         cwi_params *params)
{
    (void)options;
    return cwi_params_add(ctx, params, "popularity", shape->n_items, 1, NULL);
}

static cw_status fill(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                      cwi_params *params)
{
    float *popularity = params->tensor[0].data;
    (void)ctx;
    (void)options;
    for (int64_t e = 0; e < shape->train->start[shape->n_users]; e++)
        popularity[shape->train->value[e]] += 1.0f; /* exact up to 2^24 rows an item */
    return CW_OK;
}

static void score_all(const cwi_ranker *ranker, const int32_t *users, int32_t n, float *out)
{
    (void)users;
    for (int32_t k = 0; k < n; k++)
        memcpy(out + (int64_t)k * ranker->n_items, ranker->state,
               (size_t)ranker->n_items * sizeof *out);
}

static cw_status fold_in(cw_context *ctx, const cwi_ranker *ranker, const int32_t *items, int32_t n,
                         float *out)
{
    (void)ctx;
    (void)items;
    (void)n;
    score_all(ranker, NULL, 1, out);
    return CW_OK;
}

static cw_status rank(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                      const cwi_params *params, cwi_ranker *out)
{
    const cwi_tensor *popularity;
    (void)options;
    CW_PASS(cwi_params_expect(ctx, params, "popularity", shape->n_items, 1, &popularity));
    *out = (cwi_ranker){.n_users = shape->n_users,
                        .n_items = shape->n_items,
                        .score = score_all,
                        .fold_in = fold_in,
                        .state = popularity->data};
    return CW_OK;
}

/* There is nothing to train. */
const cwi_backbone cwi_backbone_pop = {
    .name = "pop",
    .help = "counts of train interactions; only for method pop",
    .declare = declare,
    .fill = fill,
    .rank = rank,
};
