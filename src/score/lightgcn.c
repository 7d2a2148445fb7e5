/*
 * lightgcn.c - LightGCN (He et al., SIGIR 2020): embeddings averaged over the layers of a graph.
 *
 * E^(l+1) = A E^(l), A the normalised graph of train; E = mean of E^(0) .. E^(L); the score is the
 * inner product of rows of E.  A is symmetric, so with G = dL/dE the gradient of E^(0) is
 * (G + A G + ... + A^L G) / (L + 1), by Horner's rule.  Without layers this is matrix
 * factorisation, bit for bit.
 */
#include <string.h>

#include "core/mem.h"
#include "core/pool.h"
#include "score/graph.h"
#include "score/score.h"
#include "score/table.h"

enum { ROWS_A_CHUNK = 256 };

/* The graph, the table below it and the final embeddings. */
typedef struct layers {
    cwi_graph graph;
    const cwi_tensor *table; /* E^(0) */
    int64_t count;           /* L */
    int32_t d;
    float *final;   /* [nodes][d] E; while training, of the rows of the batch, and 0 elsewhere */
    float *work[2]; /* [nodes][d] scratch */
} layers;

typedef struct state {
    layers l;
    int32_t n_users;
    cwi_table_plan plan;
    int64_t n_wanted;
    int32_t *wanted;     /* [nodes] rows of the batch, each once */
    bool *is_wanted;     /* [nodes] */
    float *touched_rows; /* [touched][d] dL/dE of the rows of the batch */
    int32_t *all;        /* [nodes] 0, 1, 2, ...: every row has a gradient */
} state;

static void clear_layers(layers *l)
{
    cwi_graph_clear(&l->graph);
    cwi_free(l->final);
    cwi_free(l->work[0]);
    cwi_free(l->work[1]);
}

static cw_status create_layers(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                               const cwi_params *params, layers *out)
{
    *out = (layers){.count = cwi_options_integer(options, "layers")};
    cw_status status = cwi_params_expect(ctx, params, "embeddings",
                                         (int64_t)shape->n_users + shape->n_items, 0, &out->table);
    if (status != CW_OK) return status;
    out->d = (int32_t)out->table->columns;
    status = cwi_graph_create(ctx, shape->train, shape->n_users, shape->n_items, &out->graph);
    if (status != CW_OK) return status;
    size_t rows = (size_t)out->table->rows, bytes = (size_t)out->d * sizeof(float);
    out->final = cwi_alloc_zero(ctx, rows, bytes);
    out->work[0] = cwi_alloc(ctx, rows, bytes);
    out->work[1] = cwi_alloc(ctx, rows, bytes);
    return out->final && out->work[0] && out->work[1] ? CW_OK : CW_NO_MEMORY;
}

/* ---- from E^(0) to E -------------------------------------------------------------- */

/* Some rows of E under way: the listed ones, or all. */
typedef struct sweep {
    const layers *l;
    const float *from;
    const int32_t *rows; /* NULL: all */
} sweep;

static int64_t row_at(const sweep *s, int64_t k)
{
    return (s->rows ? s->rows[k] : k) * s->l->d;
}

static cw_status copy_rows(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const sweep *s = arg;
    (void)chunk;
    for (int64_t k = begin; k < end; k++)
        memcpy(s->l->final + row_at(s, k), s->from + row_at(s, k),
               (size_t)s->l->d * sizeof *s->from);
    return CW_OK;
}

static cw_status add_rows(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const sweep *s = arg;
    (void)chunk;
    for (int64_t k = begin; k < end; k++) {
        float *to = s->l->final + row_at(s, k);
        const float *from = s->from + row_at(s, k);
        for (int32_t j = 0; j < s->l->d; j++) to[j] += from[j];
    }
    return CW_OK;
}

static float mean_factor(const layers *l)
{
    return 1.0f / (float)(l->count + 1);
}

/* The last layer is only ever seen in the mean: it goes straight there, for the rows asked for. */
static cw_status add_last_layer(cw_context *ctx, const layers *l, const sweep *s, int64_t n)
{
    const cwi_product p = {s->from, l->d, l->final, mean_factor(l), l->final};
    return s->rows ? cwi_graph_multiply_rows(ctx, &l->graph, &p, s->rows, n)
                   : cwi_graph_multiply(ctx, &l->graph, &p);
}

/* The n listed rows of E, or all n when rows is NULL. */
static cw_status propagate(cw_context *ctx, layers *l, const int32_t *rows, int64_t n)
{
    cw_status status;
    sweep s = {l, l->table->data, rows};

    CW_TRY(cwi_pool_for(ctx, n, ROWS_A_CHUNK, copy_rows, &s));
    for (int64_t k = 0; k + 1 < l->count; k++) {
        const cwi_product p = {.from = s.from, .d = l->d, .scale = 1, .to = l->work[k % 2]};
        CW_TRY(cwi_graph_multiply(ctx, &l->graph, &p));
        s.from = p.to;
        CW_TRY(cwi_pool_for(ctx, n, ROWS_A_CHUNK, add_rows, &s));
    }
    if (l->count > 0) CW_TRY(add_last_layer(ctx, l, &s, n));
done:
    return status;
}

/* ---- training -------------------------------------------------------------------- */

static void close_state(void *opened)
{
    state *s = opened;
    if (!s) return;
    clear_layers(&s->l);
    cwi_table_plan_clear(&s->plan);
    cwi_free(s->wanted);
    cwi_free(s->is_wanted);
    cwi_free(s->touched_rows);
    cwi_free(s->all);
    cwi_free(s);
}

static cw_status open_state(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                            const cwi_params *params, int64_t max_slots, void **out)
{
    cw_status status;
    *out = NULL;
    state *s = cwi_alloc_zero(ctx, 1, sizeof *s);
    if (!s) return CW_NO_MEMORY;
    s->n_users = shape->n_users;
    CW_TRY(create_layers(ctx, shape, options, params, &s->l));
    int64_t rows = s->l.table->rows;
    CW_TRY(cwi_table_plan_create(ctx, (int32_t)rows, max_slots, &s->plan));
    int64_t most = 2 * max_slots < rows ? 2 * max_slots : rows;
    s->touched_rows = cwi_alloc(ctx, (size_t)most, (size_t)s->l.d * sizeof *s->touched_rows);
    s->all = cwi_alloc(ctx, (size_t)rows, sizeof *s->all);
    s->wanted = cwi_alloc(ctx, (size_t)rows, sizeof *s->wanted);
    s->is_wanted = cwi_alloc_zero(ctx, (size_t)rows, sizeof *s->is_wanted);
    status = s->touched_rows && s->all && s->wanted && s->is_wanted ? CW_OK : CW_NO_MEMORY;
    for (int64_t r = 0; r < rows && status == CW_OK; r++) s->all[r] = (int32_t)r;
done:
    if (status == CW_OK)
        *out = s;
    else
        close_state(s);
    return status;
}

static void zero_wanted(state *s)
{
    for (int64_t k = 0; k < s->n_wanted; k++)
        memset(s->l.final + (int64_t)s->wanted[k] * s->l.d, 0, (size_t)s->l.d * sizeof *s->l.final);
}

static void want(state *s, int32_t row)
{
    if (s->is_wanted[row]) return;
    s->is_wanted[row] = true;
    s->wanted[s->n_wanted++] = row;
}

/* List the rows of a batch in place of those of the last one. */
static void want_batch(state *s, const cwi_batch *batch)
{
    zero_wanted(s);
    for (int64_t k = 0; k < s->n_wanted; k++) s->is_wanted[s->wanted[k]] = false;
    s->n_wanted = 0;
    for (int64_t k = 0; k < batch->n_slots; k++) {
        want(s, batch->user[k]);
        want(s, s->n_users + batch->item[k]);
    }
}

static cw_status score(cw_context *ctx, void *opened, const cwi_batch *batch, float *out)
{
    state *s = opened;
    want_batch(s, batch);
    cw_status status = propagate(ctx, &s->l, s->wanted, s->n_wanted);
    if (status != CW_OK) return status;
    return cwi_table_score(ctx, s->l.final, s->n_users, s->l.d, batch, out);
}

/* Put G = dL/dE where E was; of the rows that were scored, select may have dropped some. */
static cw_status replace_by_slopes(cw_context *ctx, state *s, const cwi_batch *batch,
                                   const float *slope)
{
    const layers *l = &s->l;
    cwi_table_plan_fill(&s->plan, batch, s->n_users, slope);
    cw_status status = cwi_table_gradient(ctx, &s->plan, l->final, l->d, s->touched_rows);
    if (status != CW_OK) return status;
    zero_wanted(s);
    for (int64_t t = 0; t < s->plan.n_touched; t++)
        memcpy(l->final + (int64_t)s->plan.touched[t] * l->d, s->touched_rows + t * l->d,
               (size_t)l->d * sizeof *l->final);
    return CW_OK;
}

/* dL/dE of the batch's rows, then back through the layers, from which other rows get theirs. */
static cw_status gradient(cw_context *ctx, void *opened, const cwi_batch *batch, const float *slope,
                          cwi_gradient *out)
{
    cw_status status;
    state *s = opened;
    layers *l = &s->l;
    float *x = l->final;

    CW_TRY(replace_by_slopes(ctx, s, batch, slope));
    for (int64_t k = 0; k < l->count; k++) {
        bool is_last = k + 1 == l->count;
        const cwi_product p = {x, l->d, l->final, is_last ? mean_factor(l) : 1, l->work[k % 2]};
        CW_TRY(k == 0 ? cwi_graph_multiply_live(ctx, &l->graph, &p, s->is_wanted)
                      : cwi_graph_multiply(ctx, &l->graph, &p));
        x = p.to;
    }
    *out = (cwi_gradient){.n_touched = l->table->rows, .touched = s->all, .rows = x};
done:
    return status;
}

/* ---- ranking --------------------------------------------------------------------- */

static void close_ranker(cwi_ranker *ranker)
{
    cwi_free(ranker->state);
}

/* Propagate once; only the final embeddings are kept. */
static cw_status rank(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                      const cwi_params *params, cwi_ranker *out)
{
    layers l = {.count = 0};
    cw_status status = create_layers(ctx, shape, options, params, &l);
    if (status == CW_OK) status = propagate(ctx, &l, NULL, l.table->rows);
    if (status == CW_OK) {
        cwi_ranker_dot(l.final, l.final + (int64_t)shape->n_users * l.d, shape->n_users,
                       shape->n_items, l.d, out);
        out->state = l.final;
        out->close = close_ranker;
        l.final = NULL;
    }
    clear_layers(&l);
    return status;
}

const cwi_backbone cwi_backbone_lightgcn = {
    .name = "lightgcn",
    .help = "LightGCN: vectors averaged over the neighbours of neighbours in the train graph",
    .declare = cwi_table_declare,
    .open = open_state,
    .score = score,
    .gradient = gradient,
    .rank = rank,
    .close = close_state,
};
