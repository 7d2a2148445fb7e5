/* table.c - which rows a batch touches and what each of them gets. */
#include "score/table.h"

#include <string.h>

#include "core/mem.h"
#include "core/pool.h"

enum { SLOTS_A_CHUNK = 1024 };

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
    cw_status status = cwi_params_add(ctx, params, "embeddings", rows, d, &table);
    if (status != CW_OK) return status;
    table->init = CWI_INIT_TABLE;
    if (cwi_options_choice(options, "reg-kind") == 0)
        table->decay = (float)(2 * cwi_options_real(options, "reg") / (double)rows);
    return CW_OK;
}

typedef struct scoring {
    const cwi_ops *ops;
    const cwi_table *table;
    const cwi_batch *batch;
    float *score;
} scoring;

static cw_status score_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const scoring *s = arg;
    const cwi_table *table = s->table;
    const cwi_batch *batch = s->batch;
    const float *users = batch->fresh ? batch->fresh : table->data;
    const float *items = batch->fresh ? users : users + (int64_t)table->n_users * table->d;
    const int32_t *user = batch->fresh ? batch->user_row : batch->user;
    const int32_t *item = batch->fresh ? batch->item_row : batch->item;
    int32_t heads = table->heads, width = table->d / heads;
    (void)chunk;
    for (int32_t h = 0; h < heads; h++)
        s->ops->dot_pairs(users + h * width, user + begin, items + h * width, item + begin,
                          end - begin, width, table->d, s->score + begin * heads + h, heads);
    return CW_OK;
}

cw_status cwi_table_score(cw_context *ctx, const cwi_table *table, const cwi_batch *batch,
                          float *score)
{
    scoring s = {cwi_ops_best(), table, batch, score};
    return cwi_pool_for(ctx, batch->n_slots, SLOTS_A_CHUNK, score_chunk, &s);
}

cw_status cwi_table_plan_create(cw_context *ctx, int32_t n_rows, int32_t heads, int64_t max_slots,
                                cwi_table_plan *out)
{
    size_t ends = 2 * (size_t)max_slots;
    *out = (cwi_table_plan){.n_rows = n_rows, .heads = heads, .max_slots = max_slots};
    out->place = cwi_alloc(ctx, (size_t)n_rows, sizeof *out->place);
    out->touched = cwi_alloc(ctx, ends, sizeof *out->touched);
    out->start = cwi_alloc(ctx, ends + 2, sizeof *out->start);
    out->other = cwi_alloc(ctx, ends, sizeof *out->other);
    out->weight = cwi_alloc(ctx, ends, (size_t)heads * sizeof *out->weight);
    if (!out->place || !out->touched || !out->start || !out->other || !out->weight) {
        cwi_table_plan_clear(out);
        return CW_NO_MEMORY;
    }
    for (int32_t r = 0; r < n_rows; r++) out->place[r] = -1;
    return CW_OK;
}

void cwi_table_plan_clear(cwi_table_plan *plan)
{
    cwi_free(plan->place);
    cwi_free(plan->touched);
    cwi_free(plan->start);
    cwi_free(plan->other);
    cwi_free(plan->weight);
    *plan = (cwi_table_plan){0};
}

/* Count one more contribution of a row; counts stand two places up, as in a counting sort. */
static void touch(cwi_table_plan *plan, int32_t row)
{
    if (plan->place[row] < 0) {
        plan->place[row] = (int32_t)plan->n_touched;
        plan->touched[plan->n_touched] = row;
        plan->start[plan->n_touched + 2] = 0;
        plan->n_touched++;
    }
    plan->start[plan->place[row] + 2]++;
}

static void put(cwi_table_plan *plan, int32_t row, int32_t other, const float *slope)
{
    int64_t at = plan->start[plan->place[row] + 1]++;
    plan->other[at] = other;
    for (int32_t h = 0; h < plan->heads; h++) plan->weight[2 * plan->max_slots * h + at] = slope[h];
}

void cwi_table_plan_fill(cwi_table_plan *plan, const cwi_batch *batch, int32_t n_users,
                         const float *slope)
{
    const int32_t *users = batch->fresh ? batch->user_row : batch->user;
    const int32_t *items = batch->fresh ? batch->item_row : batch->item;
    int32_t first_item = batch->fresh ? 0 : n_users;

    plan->n_touched = 0;
    plan->start[0] = plan->start[1] = 0;
    for (int64_t s = 0; s < batch->n_slots; s++) touch(plan, users[s]);
    for (int64_t s = 0; s < batch->n_slots; s++) touch(plan, first_item + items[s]);
    for (int64_t t = 0; t < plan->n_touched; t++) plan->start[t + 2] += plan->start[t + 1];
    for (int64_t s = 0; s < batch->n_slots; s++) {
        int32_t user = users[s], item = first_item + items[s];
        put(plan, user, item, slope + s * plan->heads);
        put(plan, item, user, slope + s * plan->heads);
    }
    for (int64_t t = 0; t < plan->n_touched; t++) {
        int32_t *row = &plan->touched[t];
        plan->place[*row] = -1;
        if (batch->fresh) *row = batch->row[*row];
    }
}

typedef struct job {
    const cwi_table_plan *plan;
    const cwi_ops *ops;
    const cwi_table *table;
    const float *data; /* the rows that contributions name */
    float *rows;
} job;

static cw_status sum_rows(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    const cwi_table_plan *plan = j->plan;
    int32_t d = j->table->d, width = d / plan->heads;
    (void)chunk;
    for (int64_t t = begin; t < end; t++) {
        int64_t first = plan->start[t], count = plan->start[t + 1] - first;
        for (int32_t h = 0; h < plan->heads; h++)
            j->ops->weighted_sum(j->data + h * width, width, d, plan->other + first,
                                 plan->weight + 2 * plan->max_slots * h + first, count,
                                 j->rows + t * d + h * width);
    }
    return CW_OK;
}

cw_status cwi_table_gradient(cw_context *ctx, const cwi_table_plan *plan, const cwi_table *table,
                             const cwi_batch *batch, float *rows)
{
    job j = {plan, cwi_ops_best(), table, batch->fresh ? batch->fresh : table->data, rows};
    return cwi_pool_for(ctx, plan->n_touched, 128, sum_rows, &j);
}

cw_status cwi_table_backward(cw_context *ctx, cwi_table_plan *plan, const cwi_table *table,
                             const cwi_batch *batch, const float *slope, const cwi_extra *extra,
                             float *rows, double *penalty)
{
    *penalty = 0;
    cwi_table_plan_fill(plan, batch, table->n_users, slope);
    cw_status status = cwi_table_gradient(ctx, plan, table, batch, rows);
    if (status != CW_OK) return status;
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
        status = extra->penalty->add(ctx, extra->state, batch, plan->touched, plan->n_touched,
                                     table->data, table->d, rows, &value);
        *penalty += value;
    }
    return status;
}

/* ---- ranking --------------------------------------------------------------------- */

static void free_vectors(cwi_ranker *ranker)
{
    cwi_free(ranker->state);
}

float *cwi_table_columns(cw_context *ctx, const float *data, int64_t rows, int32_t d,
                         int32_t columns)
{
    float *out = cwi_alloc(ctx, (size_t)rows, (size_t)columns * sizeof *out);
    for (int64_t r = 0; r < rows && out; r++)
        memcpy(out + r * columns, data + r * d, (size_t)columns * sizeof *out);
    return out;
}

cw_status cwi_table_rank(cw_context *ctx, const cwi_shape *shape, float *data, int32_t d,
                         bool owned, cwi_ranker *out)
{
    int64_t rows = (int64_t)shape->n_users + shape->n_items;
    int32_t columns = d / shape->heads * shape->ranked;
    float *mine = owned ? data : NULL;
    if (columns < d) {
        mine = cwi_table_columns(ctx, data, rows, d, columns);
        if (owned) cwi_free(data);
        if (!mine) return CW_NO_MEMORY;
        data = mine;
    }
    cwi_ranker_dot(data, data + (int64_t)shape->n_users * columns, shape->n_users, shape->n_items,
                   columns, out);
    out->state = mine;
    out->close = free_vectors;
    return CW_OK;
}
