/* uniform_sampler.c - observed pairs and items drawn uniformly, which all of them share or each has
 * its own of. */
#include "core/option_rows.h"
#include "sample/sampler.h"

typedef struct uniform_state {
    cwi_drawing drawing;
    bool shares;
    int32_t n; /* items that a pair is compared with */
} uniform_state;

/* An observed pair, and for rows of slots its own items; or one of the items that all share. */
CWI_FORMULA int64_t uniform_draw(const void *opened, int group, cwi_rng *rng, int32_t *user,
                                 int32_t *item, float *mark, int64_t *tried)
{
    const uniform_state *s = (const uniform_state *)opened;
    const cwi_training *t = s->drawing.training;
    ++*tried;
    *mark = 0;
    *user = 0;
    if (group == 1) {
        *item = (int32_t)cwi_rng_below(rng, (uint64_t)t->n_items);
        return 1;
    }
    cwi_pair pair = cwi_training_pair(t, (int64_t)cwi_rng_below(rng, (uint64_t)t->count));
    *user = pair.user;
    *item = pair.item;
    for (int32_t k = 1; !s->shares && k <= s->n; k++) {
        user[k] = pair.user;
        if (!cwi_training_unseen(t, pair.user, rng, &item[k])) return 0;
    }
    return 1;
}

#if !defined(__cplusplus)
static const cw_option_info uniform_options[] = {
    WHOLE("candidates", "1024", 1, 65536,
          "items drawn uniformly that an observed pair is compared with; at most 31 of its own"),
    WORD("candidates-of", "batch", "batch|pair",
         "all pairs of a batch share the items that are drawn, or each has its own"),
    {0}};

/* An item that is shared has no user; that of a pair stands in, whose row is read anyway. */
static cw_status lend_users(cw_context *ctx, const void *opened, cwi_batch *batch)
{
    const uniform_state *s = opened;
    int64_t pairs = batch->group[0].rows;
    (void)ctx;
    for (int64_t k = pairs; s->shares && k < batch->n_slots; k++)
        batch->user[k] = batch->user[k % pairs];
    return CW_OK;
}

static cw_status uniform_open(cw_context *ctx, const cw_options *options, void *opened)
{
    uniform_state *s = opened;
    int64_t batch = cwi_options_integer(options, "batch");
    s->n = (int32_t)cwi_options_integer(options, "candidates");
    s->shares = cwi_options_choice(options, "candidates-of") == 0;
    if (s->shares) {
        s->drawing.plan = (cwi_draw_plan){
            .n_groups = 2, .group = {{batch, 1, 1, 1}, {s->n, 1, 1, 1}}, .grid = batch};
        return CW_OK;
    }
    if (s->n >= CWI_MAX_SLOTS)
        return cwi_fail(ctx, CW_BAD_ARG,
                        "--candidates is '%d'; it must be 1 to %d where each pair has its own",
                        s->n, CWI_MAX_SLOTS - 1);
    s->drawing.plan = (cwi_draw_plan){.n_groups = 1, .group = {{batch, s->n + 1, 1, s->n + 1}}};
    return CW_OK;
}

const cwi_sampler cwi_sampler_uniform = {.name = "uniform",
                                         .bytes = sizeof(uniform_state),
                                         .open = uniform_open,
                                         .draw = uniform_draw,
                                         .check = lend_users,
                                         .asks = cwi_sampler_asks,
                                         .options = uniform_options};
#endif
