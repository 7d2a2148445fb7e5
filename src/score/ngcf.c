/*
 * ngcf.c - NGCF (Wang et al., SIGIR 2019): vectors that pass through two matrices a layer.
 *
 * With A the graph of train, for l = 0 .. L-1 and row vectors
 *   P = A E^(l), S = P W1 + b1, B = (E^(l) * P) W2 + b2, E^(l+1) = phi(S) + phi(B),
 * phi being the leaky ReLU of slope 0.2; N^(l+1) has the rows of E^(l+1) at length 1.  The score is
 * the inner product of rows of E = [E^(0) | N^(1) | .. | N^(L)].  A is the normalised graph of
 * LightGCN (reference), or D^-1 A + I with dropout in training (original).  Without layers this is
 * matrix factorisation, bit for bit.
 */
#include <string.h>

#include "score/ngcf_net.h"
#include "score/shared_rows.h"
#include "score/table.h"

static const cw_option_info options_of_ngcf[] = {
    GRAPH_LAYERS,
    REG_TARGET,
    WEIGHT_REG,
    SCORER,
    WORD("ngcf", "reference", "reference|original",
         "as in the experiments with CPR, or as first published: D^-1 A + I and dropout"),
    REAL("message-dropout", "0.1", 0, 0.99,
         "original: share of the entries of every layer that a step leaves out"),
    REAL("node-dropout", "0", 0, 0.99,
         "original: share of the entries of the graph that a step leaves out"),
    {0}};

typedef struct state {
    cwi_ngcf net;
    double node_dropout; /* share of the entries of the graph that a step leaves out */
    int64_t *next;       /* [nodes] scratch of it */
    cwi_table final;     /* the view of net.final */
    float final_decay;   /* L2 of the final vectors: its half times their squares */
    cwi_table_plan plan;
    float *slope;                  /* [touched][final width] dL/dE of the rows of the batch */
    int32_t *place;                /* [nodes] where the slope of a row lies; -1: none */
    int32_t *all;                  /* [nodes] 0, 1, 2, ...: every row has a gradient */
    float *whole[CWI_MAX_TENSORS]; /* gradients of all tensors but the table */
    cwi_pile pile;
} state;

/* ---- training ----------------------------------------------------------------------- */

static void close_state(void *opened)
{
    state *s = opened;
    if (!s) return;
    cwi_ngcf_clear(&s->net);
    cwi_table_plan_clear(&s->plan);
    cwi_pile_clear(&s->pile);
    cwi_free(s);
}

/* What the original leaves out: entries of the messages and of the graph. */
static void open_dropout(cw_context *ctx, state *s, const cw_options *options)
{
    cwi_ngcf *net = &s->net;
    if (!net->is_original) return;
    net->dropout.rate = cwi_options_real(options, "message-dropout");
    net->dropout.seed = (uint64_t)cwi_options_integer(options, "seed");
    s->node_dropout = cwi_options_real(options, "node-dropout");
    if (s->node_dropout == 0) return;
    size_t entries = (size_t)net->graph.start[net->n_nodes];
    net->used.weight = cwi_pile_add(ctx, &s->pile, entries, sizeof *net->used.weight);
    net->used.turned = cwi_pile_add(ctx, &s->pile, entries, sizeof *net->used.turned);
    s->next = cwi_pile_add(ctx, &s->pile, (size_t)net->n_nodes, sizeof *s->next);
}

static cw_status open_gradients(cw_context *ctx, state *s, const cwi_params *params)
{
    size_t nodes = (size_t)s->net.n_nodes;
    s->slope = cwi_pile_add(ctx, &s->pile, s->plan.most, (size_t)s->final.d * sizeof *s->slope);
    s->place = cwi_pile_add(ctx, &s->pile, nodes, sizeof *s->place);
    s->all = cwi_pile_add(ctx, &s->pile, nodes, sizeof *s->all);
    cwi_params_gradients(ctx, params, &s->pile, s->whole);
    for (size_t r = 0; r < nodes && s->pile.status == CW_OK; r++) {
        s->place[r] = -1;
        s->all[r] = (int32_t)r;
    }
    return s->pile.status;
}

static cw_status open_state(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                            const cwi_params *params, int64_t max_slots, void **out)
{
    state *s = *out = cwi_alloc_zero(ctx, 1, sizeof *s);
    if (!s) return CW_NO_MEMORY;
    CW_PASS(cwi_ngcf_create(ctx, shape, options, params, true, &s->net));
    s->final = (cwi_table){.data = s->net.final,
                           .n_users = shape->n_users,
                           .d = s->net.d * (s->net.layers + 1),
                           .heads = shape->heads};
    cwi_table_set_scorer(options, &s->final);
    if (cwi_options_choice(options, "reg-target") == 1) s->final_decay = params->tensor[0].decay;
    open_dropout(ctx, s, options);
    CW_PASS(cwi_table_plan_create(ctx, s->net.n_nodes, shape->heads, max_slots, &s->plan));
    return open_gradients(ctx, s, params);
}

static cw_status score(cw_context *ctx, void *opened, const cwi_batch *batch, float *out)
{
    state *s = opened;
    cwi_ngcf *net = &s->net;
    net->dropout.step = batch->step;
    if (s->node_dropout > 0)
        CW_PASS(cwi_graph_thin(ctx, &net->graph, s->node_dropout, net->dropout.seed, batch->step,
                               s->next, &net->used));
    CW_PASS(cwi_ngcf_forward(ctx, net));
    return cwi_table_score(ctx, &s->final, batch, out);
}

/* The L2 term of the final vectors beyond that of the table, which is the table's own decay: rows
 * of length 1 have a constant square and no slope. */
static double constant_penalty(const state *s)
{
    const cwi_ops *ops = cwi_ops_best();
    int64_t nodes = s->net.n_nodes;
    if (s->final_decay == 0) return 0;
    return (double)s->final_decay / 2 *
           (ops->sum_squares(s->net.final, nodes * s->final.d) -
            ops->sum_squares(s->net.tensor[0]->data, nodes * s->net.d));
}

static cw_status gradient(cw_context *ctx, void *opened, const cwi_batch *batch, const float *slope,
                          const cwi_extra *extra, cwi_gradient *out)
{
    state *s = opened;
    const cwi_table_plan *plan = &s->plan;

    *out = (cwi_gradient){.n_touched = s->net.n_nodes, .touched = s->all};
    memcpy(out->whole, s->whole, sizeof out->whole);
    CW_PASS(
        cwi_table_backward(ctx, &s->plan, &s->final, batch, slope, extra, s->slope, &out->penalty));
    out->penalty += constant_penalty(s);
    for (int64_t t = 0; t < plan->rows.n; t++) s->place[plan->rows.row[t]] = (int32_t)t;
    cw_status status = cwi_ngcf_backward(ctx, &s->net, s->place, s->slope, s->whole, &out->rows);
    for (int64_t t = 0; t < plan->rows.n; t++) s->place[plan->rows.row[t]] = -1;
    return status;
}

/* ---- ranking ------------------------------------------------------------------------ */

/* What a vector for somebody new needs beyond the final vectors of the items. */
typedef struct folding {
    cwi_ngcf net;    /* its tensors and factors; the rest is freed */
    int64_t *degree; /* [items] in train, at least 1 */
    int32_t n_users;
} folding;

/* Room for one node: vectors of one head but for the last two. */
typedef struct newcomer {
    float *e, *p, *q, *b; /* [width] */
    uint8_t *sign;        /* [width] */
    float *weight;        /* [n] of their items */
    float *final;         /* [width of the ranker] */
} newcomer;

/* E of the items is their N divided by its factor; the table's is there as it is. */
static void weigh_items(const cwi_ranker *ranker, int32_t head, int32_t layer, const int32_t *items,
                        int32_t n, float *weight)
{
    const folding *f = ranker->state;
    const cwi_ngcf *net = &f->net;
    for (int32_t k = 0; k < n; k++) {
        weight[k] = cwi_graph_weight(net->is_original, n, f->degree[items[k]]);
        int64_t row = (layer - 1) * (int64_t)net->n_nodes + f->n_users + items[k];
        if (layer > 0) weight[k] /= net->factor[row * net->heads + head];
    }
}

/* One layer of one head for a node whose neighbours are these items. */
static void pass_on(const cwi_ranker *ranker, const newcomer *x, int32_t head, int32_t layer,
                    const int32_t *items, int32_t n)
{
    const cwi_ops *ops = cwi_ops_best();
    const cwi_ngcf *net = &((const folding *)ranker->state)->net;
    const cwi_tensor *const *part = net->tensor + cwi_ngcf_index(net->layers, head, layer, 0);
    int32_t w = net->width;

    weigh_items(ranker, head, layer, items, n, x->weight);
    ops->weighted_sum(ranker->items + cwi_ngcf_column(net, head, layer), w, ranker->width, items,
                      x->weight, n, x->p);
    for (int32_t j = 0; j < w && net->is_original; j++) x->p[j] += x->e[j];
    ops->multiply(x->e, x->p, w, x->q);
    ops->gemm(false, false, 1, w, w, x->p, w, part[CWI_NGCF_W1]->data, w, 0, x->e, w);
    ops->gemm(false, false, 1, w, w, x->q, w, part[CWI_NGCF_W2]->data, w, 0, x->b, w);
    ops->leaky_sum(x->e, part[CWI_NGCF_B1]->data, x->b, part[CWI_NGCF_B2]->data, w, 1, x->sign);
    ops->normalise(x->e, w, x->final + cwi_ngcf_column(net, head, layer + 1));
}

/* Forward for one more user with these items and a base vector of zeros; the items stay as they
 * are, as if one user were too few to change them. */
static cw_status fold_in(cw_context *ctx, const cwi_ranker *ranker, const int32_t *items, int32_t n,
                         float *out)
{
    const cwi_ngcf *net = &((const folding *)ranker->state)->net;
    size_t w = (size_t)net->width, width = (size_t)ranker->width;
    float *room = cwi_alloc_zero(ctx, 5 * w + width + (size_t)n, sizeof *room);
    if (!room) return CW_NO_MEMORY;
    newcomer x = {room,
                  room + w,
                  room + 2 * w,
                  room + 3 * w,
                  (uint8_t *)(room + 4 * w),
                  room + 5 * w + width,
                  room + 5 * w};
    const float *const one[1] = {x.final};
    int32_t heads = ranker->width / cwi_ngcf_column(net, 1, 0);

    for (int32_t h = 0; h < heads; h++) {
        memset(x.e, 0, w * sizeof *x.e);
        for (int32_t l = 0; l < net->layers; l++) pass_on(ranker, &x, h, l, items, n);
    }
    if (ranker->is_cosine) (void)cwi_ops_best()->normalise(x.final, ranker->width, x.final);
    cwi_ops_best()->score_block(one, 1, ranker->items, ranker->n_items, ranker->width, out);
    cwi_free(room);
    return CW_OK;
}

/* Take over from the net what fold_in needs. */
static folding *keep_folding(cw_context *ctx, const cwi_shape *shape, cwi_ngcf *net, cwi_pile *pile)
{
    const int64_t *start = net->graph.start + shape->n_users;
    folding *f = cwi_pile_add_zero(ctx, pile, 1, sizeof *f);
    int64_t *degree = cwi_pile_add(ctx, pile, (size_t)shape->n_items, sizeof *degree);
    cwi_pile_own(ctx, pile, net->factor);
    if (pile->status == CW_OK) {
        *f = (folding){.degree = degree, .n_users = shape->n_users};
        f->net = (cwi_ngcf){.is_original = net->is_original,
                            .layers = net->layers,
                            .heads = net->heads,
                            .d = net->d,
                            .width = net->width,
                            .n_nodes = net->n_nodes,
                            .factor = net->factor};
        memcpy(f->net.tensor, net->tensor, sizeof f->net.tensor);
        for (int32_t i = 0; i < shape->n_items; i++) {
            degree[i] = start[i + 1] - start[i] - net->is_original;
            if (degree[i] == 0) degree[i] = 1;
        }
    }
    net->factor = NULL;
    return f;
}

/* Propagate once. */
static cw_status rank(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                      const cwi_params *params, cwi_ranker *out)
{
    cw_status status;
    cwi_ngcf net;
    cwi_pile kept = {0};
    CW_TRY(cwi_ngcf_create(ctx, shape, options, params, false, &net));
    CW_TRY(cwi_ngcf_forward(ctx, &net));
    folding *f = net.layers > 0 ? keep_folding(ctx, shape, &net, &kept) : NULL;
    status =
        cwi_table_rank(ctx, shape, options, net.final, net.d * (net.layers + 1), true, kept, out);
    net.final = NULL;
    if (status != CW_OK || !f) goto done;
    out->state = f;
    out->fold_in = fold_in;
    out->explain = NULL;
done:
    cwi_ngcf_clear(&net);
    return status;
}

/* The vectors of all layers side by side. */
static int32_t vector_width(const cw_options *options)
{
    return cwi_table_width(options) * (int32_t)(cwi_options_integer(options, "layers") + 1);
}

const cwi_backbone cwi_backbone_ngcf = {
    .name = "ngcf",
    .help = "NGCF: vectors passed on along the train graph through two matrices a layer",
    .declare = cwi_ngcf_declare,
    .open = open_state,
    .score = score,
    .gradient = gradient,
    .rank = rank,
    .close = close_state,
    .vector_width = vector_width,
    .options = options_of_ngcf,
};
