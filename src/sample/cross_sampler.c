/* cross_sampler.c - observed pairs whose users and items all meet, a part of the batch at a time.
 */
#include "core/elementary.h"
#include "core/mem.h"
#include "core/option_rows.h"
#include "sample/sampler.h"

typedef struct cross_state {
    cwi_drawing drawing;
    float *excess; /* [n_items] ln of how much more often than by chance the item is drawn */
} cross_state;

CWI_FORMULA int64_t cross_draw(const void *opened, int group, cwi_rng *rng, int32_t *user,
                               int32_t *item, float *mark, int64_t *tried)
{
    const cross_state *s = (const cross_state *)opened;
    const cwi_training *t = s->drawing.training;
    cwi_pair pair = cwi_training_pair(t, (int64_t)cwi_rng_below(rng, (uint64_t)t->count));
    (void)group;
    ++*tried;
    *user = pair.user;
    *item = pair.item;
    *mark = s->excess[pair.item];
    return 1;
}

#if !defined(__cplusplus)
static const cw_option_info cross_options[] = {
    WHOLE("group", "0", 0, 65536,
          "so many observed pairs of a batch meet each other, a divisor of the batch; 0: all"),
    {0}};

/* The part of a batch that --group asks for. */
static cw_status find_side(cw_context *ctx, const cw_options *options, int64_t *side)
{
    int64_t batch = cwi_options_integer(options, "batch");
    *side = cwi_options_integer(options, "group");
    if (*side == 0) *side = batch;
    if (*side >= 2 && batch % *side == 0) return CW_OK;
    return cwi_fail(ctx, CW_BAD_ARG,
                    "--group is '%lld'; it must be 0 or a divisor of --batch %lld from 2 on",
                    (long long)cwi_options_integer(options, "group"), (long long)batch);
}

static cw_status cross_open(cw_context *ctx, const cw_options *options, void *opened)
{
    cross_state *s = opened;
    const cwi_training *t = s->drawing.training;
    double even = (double)t->count / (double)t->n_items;
    int64_t side;
    CW_PASS(find_side(ctx, options, &side));
    s->excess = cwi_alloc(ctx, (size_t)t->n_items, sizeof *s->excess);
    if (!s->excess) return CW_NO_MEMORY;
    for (int32_t i = 0; i < t->n_items; i++)
        s->excess[i] = t->degree[i] > 0 ? (float)cwi_ln((double)t->degree[i] / even) : 0;
    s->drawing.plan = (cwi_draw_plan){
        .n_groups = 1, .group = {{cwi_options_integer(options, "batch"), 1, 1, 1}}, .grid = side};
    return CW_OK;
}

static void cross_close(void *opened)
{
    cwi_free(((cross_state *)opened)->excess);
}

const cwi_sampler cwi_sampler_cross = {.name = "cross",
                                       .bytes = sizeof(cross_state),
                                       .open = cross_open,
                                       .close = cross_close,
                                       .draw = cross_draw,
                                       .asks = cwi_sampler_asks,
                                       .options = cross_options};
#endif
