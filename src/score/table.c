/* table.c - which rows a batch touches and what each of them gets. */
#include "score/table.h"

#include <math.h>
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

int32_t cwi_table_width(const cw_options *options)
{
    return (int32_t)cwi_options_integer(options, "dim");
}

cw_status cwi_table_expect(cw_context *ctx, const cwi_shape *shape, const cwi_params *params,
                           const cwi_tensor **out)
{
    int64_t rows = (int64_t)shape->n_users + shape->n_items;
    return cwi_params_expect(ctx, params, "embeddings", rows, 0, out);
}

/* ---- scores ---------------------------------------------------------------------- */

void cwi_table_set_scorer(const cw_options *options, cwi_table *table)
{
    double temperature = cwi_options_real(options, "temperature");
    table->is_cosine = cwi_options_choice(options, "scorer") == 1;
    table->scale = temperature == 1 ? 0 : (float)(1 / temperature);
}

bool cwi_scorer_is_plain(const cw_options *options)
{
    cwi_table table = {0};
    cwi_table_set_scorer(options, &table);
    return !table.is_cosine && table.scale == 0;
}

/* A vector that is shorter than this allows is only scaled. */
static const float longest_factor = 1e6f;

static float scale_of(const cwi_table *table)
{
    return table->scale > 0 ? table->scale : 1;
}

/* One over the length of a vector, as the operation "normalise" has it. */
static float find_factor(const float *x, int32_t width)
{
    const double shortest = 1e-12; /* its square */
    double square = cwi_ops_best()->sum_squares(x, width);
    return (float)(1 / sqrt(square > shortest ? square : shortest));
}

typedef struct scoring {
    const cwi_ops *ops;
    const cwi_table *table;
    const cwi_batch *batch;
    float *score;
} scoring;

/* Divide by the lengths of both vectors, where asked for, and scale. */
static void finish_scores(const scoring *s, int64_t begin, int64_t end)
{
    const cwi_table *table = s->table;
    int32_t width = table->d / table->heads;
    for (int64_t k = begin; k < end; k++)
        for (int32_t h = 0; h < table->heads; h++) {
            const float *user = table->data + (int64_t)s->batch->user[k] * table->d + h * width;
            int64_t row = (int64_t)table->n_users + s->batch->item[k];
            const float *item = table->data + row * table->d + h * width;
            float factor = scale_of(table);
            if (table->is_cosine) factor *= find_factor(user, width) * find_factor(item, width);
            s->score[k * table->heads + h] *= factor;
        }
}

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
    if (table->is_cosine || table->scale > 0) finish_scores(s, begin, end);
    return CW_OK;
}

static const float *vector_of(const cwi_table *table, int64_t row)
{
    return table->data + (table->place ? table->place[row] : row) * table->d;
}

/* Users bring the scale of scores. */
void cwi_table_read(const cwi_table *table, int64_t row, float *out)
{
    const float *from = vector_of(table, row);
    if (table->is_cosine)
        (void)cwi_ops_best()->normalise(from, table->d, out);
    else
        memcpy(out, from, (size_t)table->d * sizeof *out);
    if (table->scale > 0 && row < table->n_users)
        cwi_ops_best()->blend(table->scale, out, NULL, NULL, table->d, out);
}

static cw_status read_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const scoring *s = arg;
    const cwi_table *table = s->table;
    const cwi_batch *batch = s->batch;
    int64_t d = table->d;
    (void)chunk;
    for (int64_t k = begin; k < end; k++) {
        float *user = s->score + k * d, *item = s->score + (batch->n_slots + k) * d;
        cwi_table_read(table, batch->user[k], user);
        cwi_table_read(table, (int64_t)table->n_users + batch->item[k], item);
    }
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
    bool is_plain = !table->is_cosine && !(table->scale > 0);
    if (batch->grid > 0) return cwi_pool_for(ctx, batch->n_slots, SLOTS_A_CHUNK, read_chunk, &s);
    return cwi_pool_for(
        ctx, batch->n_slots, SLOTS_A_CHUNK,
        batch->is_paired && table->heads == 1 && is_plain ? score_chunk_apart : score_chunk, &s);
}

/* ---- gradients --------------------------------------------------------------------- */

cw_status cwi_table_plan_create(cw_context *ctx, int32_t n_rows, int32_t heads, int64_t max_slots,
                                cwi_table_plan *out)
{
    int64_t ends = 2 * max_slots, most = ends < n_rows ? ends : n_rows;
    *out = (cwi_table_plan){.heads = heads, .max_slots = max_slots, .most = (size_t)most};
    CW_PASS(cwi_roster_create(ctx, n_rows, most, max_slots, &out->rows));
    out->start = cwi_pile_add(ctx, &out->pile, out->most + 2, sizeof *out->start);
    out->other = cwi_pile_add(ctx, &out->pile, (size_t)ends, sizeof *out->other);
    out->weight = cwi_pile_add(ctx, &out->pile, (size_t)ends, (size_t)heads * sizeof *out->weight);
    out->factor = cwi_pile_add(ctx, &out->pile, out->most, (size_t)heads * sizeof *out->factor);
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

typedef struct job {
    const cwi_table_plan *plan;
    const cwi_table *table;
    const float *users, *items; /* vectors that contributions are of */
    float *rows;
} job;

/* One over the lengths of the parts of a row of the plan. */
static void find_factors(const cwi_table_plan *plan, const cwi_table *table, int64_t t)
{
    int32_t heads = table->heads, width = table->d / heads;
    const float *vector = vector_of(table, plan->rows.row[t]);
    for (int32_t h = 0; h < heads; h++)
        plan->factor[t * heads + h] = find_factor(vector + h * width, width);
}

static cw_status factor_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    (void)chunk;
    for (int64_t t = begin; t < end; t++) find_factors(j->plan, j->table, t);
    return CW_OK;
}

/* Weights are slopes over the length of the other vector, and scaled. */
static void weigh(cwi_table_plan *plan, const cwi_table *table, int64_t slots)
{
    const cwi_roster *rows = &plan->rows;
    int64_t *next = plan->start, n = rows->n;
    for (int64_t t = n; t > 0; t--) next[t] = next[t - 1]; /* as when they were put */
    for (int64_t s = 0; s < slots; s++) {
        int32_t user = rows->user_at[s], item = rows->item_at[s], heads = plan->heads;
        int64_t at[2] = {next[user + 1]++, next[item + 1]++};
        const float *over[2] = {plan->factor + item * heads, plan->factor + user * heads};
        for (int side = 0; side < 2; side++)
            for (int32_t h = 0; h < heads; h++)
                plan->weight[2 * plan->max_slots * h + at[side]] *=
                    scale_of(table) * (table->is_cosine ? over[side][h] : 1);
    }
}

/* For a grid: the contributions to a row are the slopes of its vector in the slots it is in. */
static void fill_grid(cwi_table_plan *plan, const cwi_table *table, const cwi_batch *batch)
{
    const cwi_roster *rows = &plan->rows;
    const float one = 1, scale = scale_of(table);
    cwi_roster_fill(&plan->rows, batch, table->n_users);
    count_contributions(plan, batch->n_slots);
    for (int64_t s = 0; s < batch->n_slots; s++) {
        put(plan, rows->user_at[s], (int32_t)s, &scale);
        put(plan, rows->item_at[s], (int32_t)s, &one);
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

/* From the slope g of a vector at length 1 to that of the vector: what is along it does not count.
 */
static void project(const cwi_table_plan *plan, const cwi_table *table, int64_t t, float *row)
{
    static const int32_t first[] = {0};
    int32_t heads = table->heads, width = table->d / heads;
    const cwi_ops *ops = cwi_ops_best();
    for (int32_t h = 0; h < heads; h++) {
        const float *x = vector_of(table, plan->rows.row[t]) + h * width;
        float *g = row + h * width, along, f = plan->factor[t * heads + h];
        ops->dot_pairs(x, first, g, first, 1, width, width, &along, 1);
        along = f < longest_factor ? along * f * f : 0;
        for (int32_t k = 0; k < width; k++) g[k] = f * (g[k] - along * x[k]);
    }
}

static cw_status sum_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    (void)chunk;
    int32_t d = j->table->d;
    cwi_table_plan_sum(j->plan, j->users, j->items, d, begin, end, j->rows + begin * d);
    for (int64_t t = begin; t < end && j->table->is_cosine; t++)
        project(j->plan, j->table, t, j->rows + t * d);
    return CW_OK;
}

cw_status cwi_table_gradient(cw_context *ctx, const cwi_table_plan *plan, const cwi_table *table,
                             float *rows)
{
    const float *users = table->data, *items = users + (int64_t)table->n_users * table->d;
    job j = {plan, table, users, items, rows};
    return cwi_pool_for(ctx, plan->rows.n, ROWS_A_CHUNK, sum_chunk, &j);
}

void cwi_table_plan_grid(cwi_table_plan *plan, const cwi_table *table, const cwi_batch *batch)
{
    fill_grid(plan, table, batch);
}

void cwi_table_grid_row(const cwi_table_plan *plan, const cwi_table *table, int64_t slots,
                        const float *slope, int64_t t, float *out)
{
    cwi_table_plan_sum(plan, slope + slots * table->d, slope, table->d, t, t + 1, out);
    if (!table->is_cosine) return;
    find_factors(plan, table, t);
    project(plan, table, t, out);
}

/* The slopes of users are for rows of users: the other side of the plan. */
static cw_status grid_gradient(cw_context *ctx, const cwi_table_plan *plan, const cwi_table *table,
                               int64_t slots, const float *slope, float *rows)
{
    job j = {plan, table, slope + slots * table->d, slope, rows};
    return cwi_pool_for(ctx, plan->rows.n, ROWS_A_CHUNK, sum_chunk, &j);
}

cw_status cwi_table_backward(cw_context *ctx, cwi_table_plan *plan, const cwi_table *table,
                             const cwi_batch *batch, const float *slope, const cwi_extra *extra,
                             float *rows, double *penalty)
{
    job lengths = {.plan = plan, .table = table};
    *penalty = 0;
    if (batch->grid > 0)
        fill_grid(plan, table, batch);
    else
        cwi_table_plan_fill(plan, batch, table->n_users, slope, NULL);
    if (table->is_cosine)
        CW_PASS(cwi_pool_for(ctx, plan->rows.n, ROWS_A_CHUNK, factor_chunk, &lengths));
    if (batch->grid > 0) {
        CW_PASS(grid_gradient(ctx, plan, table, batch->n_slots, slope, rows));
    } else {
        if (table->is_cosine || table->scale > 0) weigh(plan, table, batch->n_slots);
        CW_PASS(cwi_table_gradient(ctx, plan, table, rows));
    }
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

typedef struct shortening {
    float *vectors;
    int32_t columns, parts;
} shortening;

static cw_status shorten_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const shortening *s = arg;
    int32_t width = s->columns / s->parts;
    (void)chunk;
    for (int64_t k = begin * s->parts; k < end * s->parts; k++)
        (void)cwi_ops_best()->normalise(s->vectors + k * width, width, s->vectors + k * width);
    return CW_OK;
}

cw_status cwi_table_rank(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                         float *data, int32_t d, bool owned, cwi_pile pile, cwi_ranker *out)
{
    int64_t rows = (int64_t)shape->n_users + shape->n_items;
    int32_t columns = d / shape->heads * shape->ranked;
    bool is_cosine = options && cwi_options_choice(options, "scorer") == 1;
    float *vectors = data;
    if (columns < d || (is_cosine && !owned))
        vectors = cwi_table_columns(ctx, data, rows, d, columns);
    if (owned && vectors != data) cwi_free(data);
    if (owned || vectors != data) cwi_pile_own(ctx, &pile, vectors);
    if (pile.status == CW_OK && is_cosine) {
        shortening s = {vectors, columns, shape->ranked};
        pile.status = cwi_pool_for(ctx, rows, ROWS_A_CHUNK, shorten_chunk, &s);
    }
    if (pile.status != CW_OK) {
        cw_status status = pile.status;
        cwi_pile_clear(&pile);
        return status;
    }
    cwi_ranker_dot(vectors, vectors + (int64_t)shape->n_users * columns, shape->n_users,
                   shape->n_items, columns, out);
    out->is_cosine = is_cosine;
    out->pile = pile;
    return CW_OK;
}
