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

enum { ENTRIES_A_CHUNK = 1 << 15 };

/* The graph, the table below it and the final embeddings. */
typedef struct layers {
    cwi_graph graph;
    const cwi_tensor *table; /* E^(0) */
    int64_t count;           /* L */
    int32_t d;
    float *final;   /* [nodes][d] E */
    float *work[2]; /* [nodes][d] scratch */
} layers;

typedef struct state {
    layers l;
    cwi_table final;   /* the view of l.final */
    float final_decay; /* L2 of the final embeddings: its half times their squares */
    cwi_table_plan plan;
    float *touched_rows; /* [touched][d] dL/dE of the rows of the batch */
    int32_t *all;        /* [nodes] 0, 1, 2, ...: every row has a gradient */
} state;

/* Is the L2 term of the final embeddings instead of the table? */
static bool regularises_final(const cw_options *options)
{
    return cwi_options_choice(options, "reg-target") == 1 &&
           cwi_options_choice(options, "reg-kind") == 0;
}

static cw_status declare(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                         cwi_params *params)
{
    cw_status status = cwi_table_declare(ctx, shape, options, params);
    if (status == CW_OK && regularises_final(options)) params->tensor[0].decay = 0;
    return status;
}

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
    out->final = cwi_alloc(ctx, rows, bytes);
    out->work[0] = cwi_alloc(ctx, rows, bytes);
    out->work[1] = cwi_alloc(ctx, rows, bytes);
    return out->final && out->work[0] && out->work[1] ? CW_OK : CW_NO_MEMORY;
}

/* ---- sums over layers, entry by entry ------------------------------------------- */

typedef struct sweep {
    float *to;
    const float *from;
    float factor;
} sweep;

static cw_status add_entries(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const sweep *s = arg;
    (void)chunk;
    for (int64_t k = begin; k < end; k++) s->to[k] += s->from[k];
    return CW_OK;
}

static cw_status scale_entries(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const sweep *s = arg;
    (void)chunk;
    for (int64_t k = begin; k < end; k++) s->to[k] = s->from[k] * s->factor;
    return CW_OK;
}

/* E from E^(0). */
static cw_status propagate(cw_context *ctx, layers *l)
{
    cw_status status;
    int64_t entries = l->table->rows * l->d;
    const float *from = l->table->data;
    sweep scale = {l->final, l->final, 1.0f / (float)(l->count + 1)};

    memcpy(l->final, from, (size_t)entries * sizeof *from);
    for (int64_t k = 0; k < l->count; k++) {
        float *to = l->work[k % 2];
        sweep add = {l->final, to, 0};
        CW_TRY(cwi_graph_multiply(ctx, &l->graph, from, l->d, NULL, to));
        CW_TRY(cwi_pool_for(ctx, entries, ENTRIES_A_CHUNK, add_entries, &add));
        from = to;
    }
    status = CW_OK;
    if (l->count > 0) CW_TRY(cwi_pool_for(ctx, entries, ENTRIES_A_CHUNK, scale_entries, &scale));
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
    CW_TRY(create_layers(ctx, shape, options, params, &s->l));
    s->final = (cwi_table){s->l.final, shape->n_users, s->l.d, shape->heads};
    int64_t rows = s->l.table->rows;
    if (regularises_final(options))
        s->final_decay = (float)(2 * cwi_options_real(options, "reg") / (double)rows);
    CW_TRY(cwi_table_plan_create(ctx, (int32_t)rows, shape->heads, max_slots, &s->plan));
    int64_t most = 2 * max_slots < rows ? 2 * max_slots : rows;
    s->touched_rows = cwi_alloc(ctx, (size_t)most, (size_t)s->l.d * sizeof *s->touched_rows);
    s->all = cwi_alloc(ctx, (size_t)rows, sizeof *s->all);
    status = s->touched_rows && s->all ? CW_OK : CW_NO_MEMORY;
    for (int64_t r = 0; r < rows && status == CW_OK; r++) s->all[r] = (int32_t)r;
done:
    if (status == CW_OK)
        *out = s;
    else
        close_state(s);
    return status;
}

static cw_status score(cw_context *ctx, void *opened, const cwi_batch *batch, float *out)
{
    state *s = opened;
    cw_status status = propagate(ctx, &s->l);
    if (status != CW_OK) return status;
    return cwi_table_score(ctx, &s->final, batch, out);
}

/* The final embeddings give way to the gradient of their own L2 term, which is often none. */
static double start_from_decay(state *s, int64_t entries)
{
    float *x = s->l.final;
    if (s->final_decay == 0) {
        memset(x, 0, (size_t)entries * sizeof *x);
        return 0;
    }
    double squares = cwi_ops_best()->sum_squares(x, entries);
    for (int64_t k = 0; k < entries; k++) x[k] *= s->final_decay;
    return (double)s->final_decay / 2 * squares;
}

/* dL/dE of the batch's rows, then back through the layers; `final` is free to hold G by then. */
static cw_status gradient(cw_context *ctx, void *opened, const cwi_batch *batch, const float *slope,
                          const cwi_extra *extra, cwi_gradient *out)
{
    cw_status status;
    state *s = opened;
    layers *l = &s->l;
    int64_t entries = l->table->rows * l->d;
    float *source = l->final, *x = l->final;
    double penalty;

    CW_TRY(cwi_table_backward(ctx, &s->plan, &s->final, batch, slope, extra, s->touched_rows,
                              &penalty));
    penalty += start_from_decay(s, entries);
    for (int64_t t = 0; t < s->plan.n_touched; t++) {
        float *to = source + (int64_t)s->plan.touched[t] * l->d;
        for (int32_t j = 0; j < l->d; j++) to[j] += s->touched_rows[t * l->d + j];
    }
    for (int64_t k = 0; k < l->count; k++) {
        float *to = l->work[k % 2];
        CW_TRY(cwi_graph_multiply(ctx, &l->graph, x, l->d, source, to));
        x = to;
    }
    sweep scale = {x, x, 1.0f / (float)(l->count + 1)};
    if (l->count > 0) CW_TRY(cwi_pool_for(ctx, entries, ENTRIES_A_CHUNK, scale_entries, &scale));
    *out = (cwi_gradient){
        .n_touched = l->table->rows, .touched = s->all, .rows = x, .penalty = penalty};
done:
    return status;
}

/* ---- ranking --------------------------------------------------------------------- */

/* Propagate once; only the final embeddings are kept. */
static cw_status rank(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                      const cwi_params *params, cwi_ranker *out)
{
    layers l = {.count = 0};
    cw_status status = create_layers(ctx, shape, options, params, &l);
    if (status == CW_OK) status = propagate(ctx, &l);
    if (status == CW_OK) {
        status = cwi_table_rank(ctx, shape, l.final, l.d, true, out);
        l.final = NULL;
    }
    clear_layers(&l);
    return status;
}

const cwi_backbone cwi_backbone_lightgcn = {
    .name = "lightgcn",
    .help = "LightGCN: vectors averaged over the neighbours of neighbours in the train graph",
    .declare = declare,
    .open = open_state,
    .score = score,
    .gradient = gradient,
    .rank = rank,
    .close = close_state,
};
