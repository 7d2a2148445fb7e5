/* table.c - which rows a batch touches and what each of them gets. */
#include "score/table.h"

#include <string.h>

#include "core/mem.h"
#include "core/pool.h"

enum { SLOTS_A_CHUNK = 1024 };

cw_status cwi_table_declare(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                            cwi_params *params)
{
    return cwi_params_add(ctx, params, "embeddings", (int64_t)shape->n_users + shape->n_items,
                          cwi_options_integer(options, "dim"), NULL);
}

typedef struct scoring {
    const cwi_ops *ops;
    const float *users, *items;
    int32_t d;
    const cwi_batch *batch;
    float *score;
} scoring;

static cw_status score_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const scoring *s = arg;
    (void)chunk;
    s->ops->dot_pairs(s->users, s->batch->user + begin, s->items, s->batch->item + begin,
                      end - begin, s->d, s->score + begin);
    return CW_OK;
}

cw_status cwi_table_score(cw_context *ctx, const float *table, int32_t n_users, int32_t d,
                          const cwi_batch *batch, float *score)
{
    scoring s = {cwi_ops_best(), table, table + (int64_t)n_users * d, d, batch, score};
    return cwi_pool_for(ctx, batch->n_slots, SLOTS_A_CHUNK, score_chunk, &s);
}

cw_status cwi_table_plan_create(cw_context *ctx, int32_t n_rows, int64_t max_slots,
                                cwi_table_plan *out)
{
    size_t ends = 2 * (size_t)max_slots;
    *out = (cwi_table_plan){.n_rows = n_rows, .max_slots = max_slots};
    out->place = cwi_alloc(ctx, (size_t)n_rows, sizeof *out->place);
    out->touched = cwi_alloc(ctx, ends, sizeof *out->touched);
    out->start = cwi_alloc(ctx, ends + 2, sizeof *out->start);
    out->other = cwi_alloc(ctx, ends, sizeof *out->other);
    out->weight = cwi_alloc(ctx, ends, sizeof *out->weight);
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

static void put(cwi_table_plan *plan, int32_t row, int32_t other, float weight)
{
    int64_t at = plan->start[plan->place[row] + 1]++;
    plan->other[at] = other;
    plan->weight[at] = weight;
}

void cwi_table_plan_fill(cwi_table_plan *plan, const cwi_batch *batch, int32_t n_users,
                         const float *slope)
{
    plan->n_touched = 0;
    plan->start[0] = plan->start[1] = 0;
    for (int64_t s = 0; s < batch->n_slots; s++) {
        touch(plan, batch->user[s]);
        touch(plan, n_users + batch->item[s]);
    }
    for (int64_t t = 0; t < plan->n_touched; t++) plan->start[t + 2] += plan->start[t + 1];
    for (int64_t s = 0; s < batch->n_slots; s++) {
        int32_t user = batch->user[s], item = n_users + batch->item[s];
        put(plan, user, item, slope[s]);
        put(plan, item, user, slope[s]);
    }
    for (int64_t t = 0; t < plan->n_touched; t++) plan->place[plan->touched[t]] = -1;
}

typedef struct job {
    const cwi_table_plan *plan;
    const cwi_ops *ops;
    const float *table;
    int32_t d;
    float *rows;
} job;

static cw_status sum_rows(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    (void)chunk;
    for (int64_t t = begin; t < end; t++) {
        int64_t first = j->plan->start[t];
        j->ops->weighted_sum(j->table, j->d, j->plan->other + first, j->plan->weight + first,
                             j->plan->start[t + 1] - first, j->rows + t * j->d);
    }
    return CW_OK;
}

cw_status cwi_table_gradient(cw_context *ctx, const cwi_table_plan *plan, const float *table,
                             int32_t d, float *rows)
{
    job j = {plan, cwi_ops_best(), table, d, rows};
    return cwi_pool_for(ctx, plan->n_touched, 128, sum_rows, &j);
}
