/* mf.c - matrix factorisation: the score is the inner product of two rows of one table. */
#include "backend/backend.h"
#include "core/mem.h"
#include "core/pool.h"
#include "score/score.h"
#include "score/table.h"

enum { SLOTS_A_CHUNK = 1024 };

typedef struct state {
    const cwi_ops *ops;
    int32_t n_users, d;
    const cwi_tensor *table;
    cwi_table_plan plan;
    float *gradient;        /* [touched][d] */
    const cwi_batch *batch; /* being scored */
    float *score;
} state;

static cw_status declare(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                         cwi_params *params)
{
    return cwi_params_add(ctx, params, "embeddings", (int64_t)shape->n_users + shape->n_items,
                          cwi_options_integer(options, "dim"), NULL);
}

static void close_state(void *opened)
{
    state *s = opened;
    if (!s) return;
    cwi_table_plan_clear(&s->plan);
    cwi_free(s->gradient);
    cwi_free(s);
}

static cw_status open_state(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                            const cwi_params *params, int64_t max_slots, void **out)
{
    cw_status status;
    (void)options;
    *out = NULL;
    state *s = cwi_alloc_zero(ctx, 1, sizeof *s);
    if (!s) return CW_NO_MEMORY;
    s->ops = cwi_ops_best();
    s->n_users = shape->n_users;
    s->table = &params->tensor[0];
    s->d = (int32_t)s->table->columns;
    CW_TRY(cwi_table_plan_create(ctx, (int32_t)s->table->rows, max_slots, &s->plan));
    int64_t most = 2 * max_slots < s->table->rows ? 2 * max_slots : s->table->rows;
    s->gradient = cwi_alloc(ctx, (size_t)most, (size_t)s->d * sizeof *s->gradient);
    status = s->gradient ? CW_OK : CW_NO_MEMORY;
done:
    if (status == CW_OK)
        *out = s;
    else
        close_state(s);
    return status;
}

static cw_status score_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const state *s = arg;
    (void)chunk;
    s->ops->dot_pairs(s->table->data, s->batch->user + begin,
                      s->table->data + (int64_t)s->n_users * s->d, s->batch->item + begin,
                      end - begin, s->d, s->score + begin);
    return CW_OK;
}

static cw_status score(cw_context *ctx, void *opened, const cwi_batch *batch, float *out)
{
    state *s = opened;
    s->batch = batch;
    s->score = out;
    return cwi_pool_for(ctx, batch->n_slots, SLOTS_A_CHUNK, score_chunk, s);
}

static cw_status gradient(cw_context *ctx, void *opened, const cwi_batch *batch, const float *slope,
                          cwi_gradient *out)
{
    state *s = opened;
    cwi_table_plan_fill(&s->plan, batch, s->n_users, slope);
    *out = (cwi_gradient){
        .n_touched = s->plan.n_touched, .touched = s->plan.touched, .rows = s->gradient};
    return cwi_table_gradient(ctx, &s->plan, s->table->data, s->d, s->gradient);
}

static cw_status rank(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                      const cwi_params *params, cwi_ranker *out)
{
    const cwi_tensor *table;
    (void)options;
    cw_status status = cwi_params_expect(ctx, params, "embeddings",
                                         (int64_t)shape->n_users + shape->n_items, 0, &table);
    if (status != CW_OK) return status;
    cwi_ranker_dot(table->data, table->data + (int64_t)shape->n_users * table->columns,
                   shape->n_users, shape->n_items, (int32_t)table->columns, out);
    return CW_OK;
}

const cwi_backbone cwi_backbone_mf = {
    .name = "mf",
    .help = "matrix factorisation: inner product of a user and an item vector",
    .declare = declare,
    .open = open_state,
    .score = score,
    .gradient = gradient,
    .rank = rank,
    .close = close_state,
};
