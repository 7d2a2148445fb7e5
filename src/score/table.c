/* table.c - which rows a batch touches and what each of them gets. */
#include "score/table.h"

#include <string.h>

#include "core/pool.h"

enum { SLOTS_A_CHUNK = 512, ROWS_A_CHUNK = 128, SLOTS_AHEAD = 8 };

cw_status cwi_table_declare(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                            cwi_params *params)
{
    cwi_tensor *table;
    int64_t rows = (int64_t)shape->n_users + shape->n_items;
    int64_t d = cwi_options_integer(options, "dim");
    if (d % shape->heads != 0)
        return cwi_fail(ctx, CW_BAD_ARG,
                        "--dim is '%lld'; the method cuts the vectors into %d equal parts",
                        (long long)d, shape->heads);
    CW_PASS(cwi_params_add(ctx, params, "embeddings", rows, d, &table));
    table->init = CWI_INIT_TABLE;
    if (cwi_options_choice(options, "reg-kind") == 0)
        table->decay = (float)(2 * cwi_options_real(options, "reg") / (double)rows);
    return CW_OK;
}

cw_status cwi_table_expect(cw_context *ctx, const cwi_shape *shape, const cwi_params *params,
                           const cwi_tensor **out)
{
    int64_t rows = (int64_t)shape->n_users + shape->n_items;
    return cwi_params_expect(ctx, params, "embeddings", rows, 0, out);
}

typedef struct scoring {
    const cwi_ops *ops;
    const cwi_table *table;
    const cwi_batch *batch;
    float *score;
} scoring;

/* Scores of n slots from rows of two tables. */
static void score_slots(const scoring *s, const float *users, const int32_t *user,
                        const float *items, const int32_t *item, int64_t n, float *score)
{
    int32_t d = s->table->d, heads = s->table->heads, width = d / heads;
    for (int32_t h = 0; h < heads; h++)
        s->ops->dot_pairs(users + h * width, user, items + h * width, item, n, width, d, score + h,
                          heads);
}

static cw_status score_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const scoring *s = arg;
    const cwi_table *table = s->table;
    const cwi_batch *batch = s->batch;
    (void)chunk;
    score_slots(s, table->data, batch->user + begin,
                table->data + (int64_t)table->n_users * table->d, batch->item + begin, end - begin,
                s->score + begin * table->heads);
    return CW_OK;
}

/* What the first item of a pair scores above the second is its score, that of the second is 0. */
static cw_status score_chunk_apart(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const scoring *s = arg;
    const float *users = s->table->data;
    int64_t d = s->table->d;
    const float *items = users + s->table->n_users * d;
    cwi_slot_pair pairs[SLOTS_A_CHUNK / 2 + CWI_MAX_SLOTS];
    int64_t n = cwi_batch_pairs(s->batch, begin, end, pairs);
    (void)chunk;
    for (int64_t k = -SLOTS_AHEAD; k < n; k++) {
        if (k + SLOTS_AHEAD < n)
            cwi_fetch(users + pairs[k + SLOTS_AHEAD].user * d, d * (int64_t)sizeof *users);
        if (k < 0) continue;
        s->score[pairs[k].slot] =
            s->ops->dot_apart(users + pairs[k].user * d, NULL, 1, 0, items + pairs[k].plus * d,
                              items + pairs[k].minus * d, d);
        s->score[pairs[k].other] = 0;
    }
    return CW_OK;
}

cw_status cwi_table_score(cw_context *ctx, const cwi_table *table, const cwi_batch *batch,
                          float *score)
{
    scoring s = {cwi_ops_best(), table, batch, score};
    return cwi_pool_for(ctx, batch->n_slots, SLOTS_A_CHUNK,
                        batch->is_paired && table->heads == 1 ? score_chunk_apart : score_chunk,
                        &s);
}

cw_status cwi_table_plan_create(cw_context *ctx, int32_t n_rows, int32_t heads, int64_t max_slots,
                                cwi_table_plan *out)
{
    int64_t ends = 2 * max_slots, most = ends < n_rows ? ends : n_rows;
    *out = (cwi_table_plan){.heads = heads, .max_slots = max_slots, .most = (size_t)most};
    CW_PASS(cwi_roster_create(ctx, n_rows, most, max_slots, &out->rows));
    out->start = cwi_pile_add(ctx, &out->pile, out->most + 2, sizeof *out->start);
    out->other = cwi_pile_add(ctx, &out->pile, (size_t)ends, sizeof *out->other);
    out->weight = cwi_pile_add(ctx, &out->pile, (size_t)ends, (size_t)heads * sizeof *out->weight);
    return out->pile.status;
}

void cwi_table_plan_clear(cwi_table_plan *plan)
{
    cwi_roster_clear(&plan->rows);
    cwi_pile_clear(&plan->pile);
    *plan = (cwi_table_plan){0};
}

/* Where contributions of the rows begin; one place up, so that putting them moves every start to
 * where it belongs. */
static void count_contributions(cwi_table_plan *plan, int64_t slots)
{
    const cwi_roster *rows = &plan->rows;
    memset(plan->start, 0, (size_t)(rows->n + 2) * sizeof *plan->start);
    for (int64_t s = 0; s < slots; s++) {
        plan->start[rows->user_at[s] + 2]++;
        plan->start[rows->item_at[s] + 2]++;
    }
    for (int64_t t = 0; t < rows->n; t++) plan->start[t + 2] += plan->start[t + 1];
}

static void put(cwi_table_plan *plan, int32_t t, int32_t other, const float *slope)
{
    int64_t at = plan->start[t + 1]++;
    plan->other[at] = other;
    for (int32_t h = 0; h < plan->heads; h++) plan->weight[2 * plan->max_slots * h + at] = slope[h];
}

void cwi_table_plan_fill(cwi_table_plan *plan, const cwi_batch *batch, int32_t n_users,
                         const float *slope, const int32_t *item_at)
{
    const cwi_roster *rows = &plan->rows;
    const int32_t *users = item_at ? rows->user_at : batch->user;

    cwi_roster_fill(&plan->rows, batch, n_users);
    count_contributions(plan, batch->n_slots);
    for (int64_t s = 0; s < batch->n_slots; s++) {
        int32_t item = item_at ? item_at[batch->item[s]] : batch->item[s];
        put(plan, rows->user_at[s], item, slope + s * plan->heads);
        put(plan, rows->item_at[s], users[s], slope + s * plan->heads);
    }
}

/* Rows of one side from the vectors of the other. */
static void sum_side(const cwi_table_plan *plan, const float *from, int32_t d, int64_t begin,
                     int64_t end, int64_t side_end, float *out)
{
    int32_t width = d / plan->heads;
    if (begin >= end) return;
    for (int32_t h = 0; h < plan->heads; h++) {
        const cwi_sparse a = {plan->start + begin, plan->other,
                              plan->weight + 2 * plan->max_slots * h, plan->start[side_end]};
        const cwi_product p = {
            .from = from + h * width, .d = width, .scale = 1, .to = out + h * width, .stride = d};
        cwi_ops_best()->sparse_rows(&a, &p, 0, end - begin);
    }
}

void cwi_table_plan_sum(const cwi_table_plan *plan, const float *users, const float *items,
                        int32_t d, int64_t begin, int64_t end, float *out)
{
    int64_t users_end = end < plan->rows.n_users ? end : plan->rows.n_users;
    int64_t items_begin = begin > plan->rows.n_users ? begin : plan->rows.n_users;
    sum_side(plan, items, d, begin, users_end, plan->rows.n_users, out);
    sum_side(plan, users, d, items_begin, end, plan->rows.n, out + (items_begin - begin) * d);
}

typedef struct job {
    const cwi_table_plan *plan;
    const cwi_table *table;
    float *rows;
} job;

static cw_status sum_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    (void)chunk;
    int32_t d = j->table->d;
    const float *users = j->table->data, *items = users + (int64_t)j->table->n_users * d;
    cwi_table_plan_sum(j->plan, users, items, d, begin, end, j->rows + begin * d);
    return CW_OK;
}

cw_status cwi_table_gradient(cw_context *ctx, const cwi_table_plan *plan, const cwi_table *table,
                             float *rows)
{
    job j = {plan, table, rows};
    return cwi_pool_for(ctx, plan->rows.n, ROWS_A_CHUNK, sum_chunk, &j);
}

cw_status cwi_table_backward(cw_context *ctx, cwi_table_plan *plan, const cwi_table *table,
                             const cwi_batch *batch, const float *slope, const cwi_extra *extra,
                             float *rows, double *penalty)
{
    *penalty = 0;
    cwi_table_plan_fill(plan, batch, table->n_users, slope, NULL);
    CW_PASS(cwi_table_gradient(ctx, plan, table, rows));
    return cwi_table_penalise(ctx, plan, table, batch, extra, rows, penalty);
}

cw_status cwi_table_penalise(cw_context *ctx, const cwi_table_plan *plan, const cwi_table *table,
                             const cwi_batch *batch, const cwi_extra *extra, float *rows,
                             double *penalty)
{
    cw_status status = CW_OK;
    *penalty = 0;
    for (; extra && status == CW_OK; extra = extra->next) {
        double value = 0;
        if (!extra->penalty) continue;
        status = extra->penalty->add(ctx, extra->state, batch, plan->rows.row, plan->rows.n,
                                     table->data, table->d, rows, &value);
        *penalty += value;
    }
    return status;
}

/* ---- ranking --------------------------------------------------------------------- */

float *cwi_table_columns(cw_context *ctx, const float *data, int64_t rows, int32_t d,
                         int32_t columns)
{
    float *out = cwi_alloc(ctx, (size_t)rows, (size_t)columns * sizeof *out);
    for (int64_t r = 0; r < rows && out; r++)
        memcpy(out + r * columns, data + r * d, (size_t)columns * sizeof *out);
    return out;
}

cw_status cwi_table_rank(cw_context *ctx, const cwi_shape *shape, float *data, int32_t d,
                         bool owned, cwi_pile pile, cwi_ranker *out)
{
    int64_t rows = (int64_t)shape->n_users + shape->n_items;
    int32_t columns = d / shape->heads * shape->ranked;
    float *vectors = columns < d ? cwi_table_columns(ctx, data, rows, d, columns) : data;
    if (owned && vectors != data) cwi_free(data);
    if (owned || vectors != data) cwi_pile_own(ctx, &pile, vectors);
    if (pile.status != CW_OK) {
        cwi_pile_clear(&pile);
        return CW_NO_MEMORY;
    }
    cwi_ranker_dot(vectors, vectors + (int64_t)shape->n_users * columns, shape->n_users,
                   shape->n_items, columns, out);
    out->pile = pile;
    return CW_OK;
}
