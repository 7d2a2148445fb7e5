/* mf.c - matrix factorisation: the score is the inner product of two rows of one table. */
#include "score/score.h"
#include "score/shared_rows.h"
#include "score/table.h"

static const cw_option_info options_of_mf[] = {SCORER, {0}};

typedef struct state {
    cwi_table table;
    cwi_table_plan plan;
    float *gradient; /* [touched][d] */
} state;

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
    state *s = *out = cwi_alloc_zero(ctx, 1, sizeof *s);
    if (!s) return CW_NO_MEMORY;
    const cwi_tensor *tensor = &params->tensor[0];
    s->table = (cwi_table){.data = tensor->data,
                           .n_users = shape->n_users,
                           .d = (int32_t)tensor->columns,
                           .heads = shape->heads};
    cwi_table_set_scorer(options, &s->table);
    CW_PASS(cwi_table_plan_create(ctx, (int32_t)tensor->rows, shape->heads, max_slots, &s->plan));
    s->gradient = cwi_alloc(ctx, s->plan.most, (size_t)s->table.d * sizeof *s->gradient);
    return s->gradient ? CW_OK : CW_NO_MEMORY;
}

static cw_status score(cw_context *ctx, void *opened, const cwi_batch *batch, float *out)
{
    const state *s = opened;
    return cwi_table_score(ctx, &s->table, batch, out);
}

static cw_status gradient(cw_context *ctx, void *opened, const cwi_batch *batch, const float *slope,
                          const cwi_extra *extra, cwi_gradient *out)
{
    state *s = opened;
    double penalty;
    cw_status status =
        cwi_table_backward(ctx, &s->plan, &s->table, batch, slope, extra, s->gradient, &penalty);
    *out = (cwi_gradient){.n_touched = s->plan.rows.n,
                          .touched = s->plan.rows.row,
                          .rows = s->gradient,
                          .penalty = penalty};
    return status;
}

static cw_status rank(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                      const cwi_params *params, cwi_ranker *out)
{
    const cwi_tensor *table;
    CW_PASS(cwi_table_expect(ctx, shape, params, &table));
    if (table->far) return cwi_table_rank_far(ctx, shape, options, table, false, out);
    return cwi_table_rank(ctx, shape, options, table->data, (int32_t)table->columns, false,
                          (cwi_pile){0}, out);
}

const cwi_backbone cwi_backbone_mf = {
    .name = "mf",
    .help = "matrix factorisation: inner product of a user and an item vector",
    .declare = cwi_table_declare,
    .open = open_state,
    .score = score,
    .gradient = gradient,
    .rank = rank,
    .close = close_state,
    .vector_width = cwi_table_width,
    .ranks_far = true,
    .is_table = true,
    .options = options_of_mf,
};
