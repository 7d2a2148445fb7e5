/*
 * ubpr_sampler.c - an observed pair and any item, with the weight that makes up for exposure.
 *
 * Of an item that the user has not had nobody knows whether they would like it.  With propensities
 * p the weight (1/p_i)(1 - y_j/p_j) makes the mean over samples that of relevances (Saito, 2020).
 */
#include "sample/sampler.h"
#include "sample/shared_rows.h"

/* Where j was not observed its propensity does not matter; it may be 0. */
CWI_FORMULA double ubpr_weigh(const cwi_training *t, int32_t user, int32_t liked, int32_t other)
{
    double weight = 1 / t->propensity[liked];
    if (cwi_training_has(t, user, other)) weight *= 1 - 1 / t->propensity[other];
    return weight;
}

CWI_FORMULA int64_t ubpr_draw(const void *opened, int group, cwi_rng *rng, int32_t *user,
                              int32_t *item, float *mark, int64_t *tried)
{
    const cwi_training *t = ((const cwi_drawing *)opened)->training;
    int64_t row = (int64_t)cwi_rng_below(rng, (uint64_t)t->count);
    (void)group;
    ++*tried;
    cwi_pair pair = cwi_training_pair(t, row);
    user[0] = user[1] = pair.user;
    item[0] = pair.item;
    item[1] = (int32_t)cwi_rng_below(rng, (uint64_t)t->n_items);
    mark[0] = (float)ubpr_weigh(t, user[0], item[0], item[1]);
    return 1;
}

#if !defined(__cplusplus)
static const cw_option_info ubpr_options[] = {PROPENSITIES, {0}};

static cw_status ubpr_open(cw_context *ctx, const cw_options *options, void *opened)
{
    cwi_drawing *drawing = opened;
    (void)ctx;
    drawing->plan =
        (cwi_draw_plan){.n_groups = 1, .group = {{cwi_options_integer(options, "batch"), 2, 1, 2}}};
    return CW_OK;
}

const cwi_sampler cwi_sampler_ubpr = {.name = "ubpr",
                                      .bytes = sizeof(cwi_drawing),
                                      .open = ubpr_open,
                                      .draw = ubpr_draw,
                                      .asks = cwi_sampler_asks,
                                      .options = ubpr_options};
#endif
