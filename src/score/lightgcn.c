/*
 * lightgcn.c - LightGCN (He et al., SIGIR 2020): embeddings averaged over the layers of a graph.
 *
 * E^(l+1) = A E^(l), A the normalised graph of train; E = mean of E^(0) .. E^(L); the score is the
 * inner product of rows of E.  A is symmetric, so with G = dL/dE the gradient of E^(0) is
 * (G + A G + ... + A^L G) / (L + 1), by Horner's rule.  Without layers this is matrix
 * factorisation, bit for bit.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/file.h"
#include "core/pool.h"
#include "score/graph.h"
#include "score/score.h"
#include "score/shared_rows.h"
#include "score/table.h"

static const cw_option_info options_of_lightgcn[] = {GRAPH_LAYERS, REG_TARGET, SCORER, {0}};

enum { ROWS_A_CHUNK = 256 };

/* The graph, the table below it and the final embeddings. */
typedef struct layers {
    cwi_graph graph;
    const cwi_tensor *table; /* E^(0) */
    int64_t count;           /* L */
    int32_t d;
    float *final;   /* [nodes][d] E; while training, of the rows of the batch, and 0 elsewhere */
    float *work[2]; /* [nodes][d] scratch */
    cwi_pile pile;  /* of all arrays but the final embeddings */
} layers;

typedef struct state {
    layers l;
    cwi_table final;   /* the view of l.final */
    float final_decay; /* L2 of the final embeddings: its half times their squares */
    cwi_table_plan plan;
    int64_t n_wanted;
    int32_t *wanted;     /* [nodes] rows of the batch, each once */
    bool *is_wanted;     /* [nodes] */
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
    cwi_pile_clear(&l->pile);
}

/* columns: so many at a time; 0: all. */
static cw_status create_layers(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                               const cwi_params *params, int32_t columns, layers *out)
{
    *out = (layers){.count = cwi_options_integer(options, "layers")};
    CW_PASS(cwi_table_expect(ctx, shape, params, &out->table));
    out->d = columns > 0 ? columns : (int32_t)out->table->columns;
    CW_PASS(cwi_graph_create(ctx, shape->train, shape->n_users, shape->n_items, &out->graph));
    size_t rows = (size_t)out->table->rows, bytes = (size_t)out->d * sizeof(float);
    out->final = cwi_alloc_zero(ctx, rows, bytes);
    for (int w = 0; w < 2; w++) out->work[w] = cwi_pile_add(ctx, &out->pile, rows, bytes);
    return out->final ? out->pile.status : CW_NO_MEMORY;
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
    const cwi_product p = {
        .from = s->from, .d = l->d, .add = l->final, .scale = mean_factor(l), .to = l->final};
    return s->rows ? cwi_graph_multiply_rows(ctx, &l->graph, &p, s->rows, n)
                   : cwi_graph_multiply(ctx, &l->graph, &p);
}

/* The sum of all layers but the last; *s then holds the layer before it. */
static cw_status add_layers(cw_context *ctx, layers *l, sweep *s, int64_t n)
{
    CW_PASS(cwi_pool_for(ctx, n, ROWS_A_CHUNK, copy_rows, s));
    for (int64_t k = 0; k + 1 < l->count; k++) {
        const cwi_product p = {.from = s->from, .d = l->d, .scale = 1, .to = l->work[k % 2]};
        CW_PASS(cwi_graph_multiply(ctx, &l->graph, &p));
        s->from = p.to;
        CW_PASS(cwi_pool_for(ctx, n, ROWS_A_CHUNK, add_rows, s));
    }
    return CW_OK;
}

/* The n listed rows of E. */
static cw_status propagate(cw_context *ctx, layers *l, const int32_t *rows, int64_t n)
{
    sweep s = {l, l->table->data, rows};
    cw_status status = add_layers(ctx, l, &s, n);
    return status == CW_OK && l->count > 0 ? add_last_layer(ctx, l, &s, n) : status;
}

/* ---- training -------------------------------------------------------------------- */

static void close_state(void *opened)
{
    state *s = opened;
    if (!s) return;
    clear_layers(&s->l);
    cwi_table_plan_clear(&s->plan);
    cwi_free(s);
}

static cw_status open_state(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                            const cwi_params *params, int64_t max_slots, void **out)
{
    state *s = *out = cwi_alloc_zero(ctx, 1, sizeof *s);
    if (!s) return CW_NO_MEMORY;
    CW_PASS(create_layers(ctx, shape, options, params, 0, &s->l));
    s->final = (cwi_table){
        .data = s->l.final, .n_users = shape->n_users, .d = s->l.d, .heads = shape->heads};
    cwi_table_set_scorer(options, &s->final);
    int64_t rows = s->l.table->rows;
    if (regularises_final(options))
        s->final_decay = (float)(2 * cwi_options_real(options, "reg") / (double)rows);
    CW_PASS(cwi_table_plan_create(ctx, (int32_t)rows, shape->heads, max_slots, &s->plan));
    cwi_pile *pile = &s->l.pile;
    s->touched_rows =
        cwi_pile_add(ctx, pile, s->plan.most, (size_t)s->l.d * sizeof *s->touched_rows);
    s->all = cwi_pile_add(ctx, pile, (size_t)rows, sizeof *s->all);
    s->wanted = cwi_pile_add(ctx, pile, (size_t)rows, sizeof *s->wanted);
    s->is_wanted = cwi_pile_add_zero(ctx, pile, (size_t)rows, sizeof *s->is_wanted);
    for (int64_t r = 0; r < rows && pile->status == CW_OK; r++) s->all[r] = (int32_t)r;
    return pile->status;
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

/* List the rows of a batch in place of those of the last one; all of them where all have an L2
 * term. */
static void want_batch(state *s, const cwi_batch *batch)
{
    zero_wanted(s);
    for (int64_t k = 0; k < s->n_wanted; k++) s->is_wanted[s->wanted[k]] = false;
    s->n_wanted = 0;
    for (int64_t k = 0; k < batch->n_slots; k++) {
        want(s, batch->user[k]);
        want(s, s->final.n_users + batch->item[k]);
    }
    for (int32_t r = 0; s->final_decay > 0 && r < s->l.table->rows; r++) want(s, r);
}

static cw_status score(cw_context *ctx, void *opened, const cwi_batch *batch, float *out)
{
    state *s = opened;
    want_batch(s, batch);
    CW_PASS(propagate(ctx, &s->l, s->wanted, s->n_wanted));
    return cwi_table_score(ctx, &s->final, batch, out);
}

/* The final embeddings give way to the gradient of their own L2 term, whose value is returned. */
static double start_from_decay(state *s)
{
    float *x = s->l.final;
    int64_t entries = s->l.table->rows * s->l.d;
    if (s->final_decay == 0) {
        zero_wanted(s);
        return 0;
    }
    double squares = cwi_ops_best()->sum_squares(x, entries);
    for (int64_t k = 0; k < entries; k++) x[k] *= s->final_decay;
    return (double)s->final_decay / 2 * squares;
}

/* Put G = dL/dE where E was; of the rows that were scored, select may have dropped some. */
static cw_status replace_by_slopes(cw_context *ctx, state *s, const cwi_batch *batch,
                                   const float *slope, const cwi_extra *extra, double *penalty)
{
    const layers *l = &s->l;
    CW_PASS(cwi_table_backward(ctx, &s->plan, &s->final, batch, slope, extra, s->touched_rows,
                               penalty));
    *penalty += start_from_decay(s);
    for (int64_t t = 0; t < s->plan.rows.n; t++) {
        float *to = l->final + (int64_t)s->plan.rows.row[t] * l->d;
        for (int32_t j = 0; j < l->d; j++) to[j] += s->touched_rows[t * l->d + j];
    }
    return CW_OK;
}

/* dL/dE of the batch's rows, then back through the layers, from which other rows get theirs. */
static cw_status gradient(cw_context *ctx, void *opened, const cwi_batch *batch, const float *slope,
                          const cwi_extra *extra, cwi_gradient *out)
{
    state *s = opened;
    layers *l = &s->l;
    float *x = l->final;
    double penalty;

    CW_PASS(replace_by_slopes(ctx, s, batch, slope, extra, &penalty));
    for (int64_t k = 0; k < l->count; k++) {
        bool is_last = k + 1 == l->count;
        const cwi_product p = {.from = x,
                               .d = l->d,
                               .add = l->final,
                               .scale = is_last ? mean_factor(l) : 1,
                               .to = l->work[k % 2]};
        CW_PASS(k == 0 && s->final_decay == 0
                    ? cwi_graph_multiply_live(ctx, &l->graph, &p, s->is_wanted)
                    : cwi_graph_multiply(ctx, &l->graph, &p));
        x = p.to;
    }
    *out = (cwi_gradient){
        .n_touched = l->table->rows, .touched = s->all, .rows = x, .penalty = penalty};
    return CW_OK;
}

/* ---- ranking --------------------------------------------------------------------- */

/* A new user without a vector of their own: one hop from their items, whose messages the ranker
 * keeps. */
static cw_status fold_in(cw_context *ctx, const cwi_ranker *ranker, const int32_t *items, int32_t n,
                         float *out)
{
    const float *messages = ranker->state; /* [items][d] */
    int32_t d = ranker->width;
    float *u = cwi_alloc_zero(ctx, (size_t)d, sizeof *u);
    if (!u) return CW_NO_MEMORY;
    const float *const one[1] = {u};
    for (int32_t k = 0; k < n; k++)
        for (int32_t j = 0; j < d; j++) u[j] += messages[(int64_t)items[k] * d + j];
    for (int32_t j = 0; j < d; j++) u[j] /= sqrtf((float)n);
    if (ranker->is_cosine) (void)cwi_ops_best()->normalise(u, d, u);
    cwi_ops_best()->score_block(one, 1, ranker->items, ranker->n_items, d, out);
    cwi_free(u);
    return CW_OK;
}

/* That vector is a sum over the items, so a score is one too. */
static cw_status explain(cw_context *ctx, const cwi_ranker *ranker, const int32_t *items, int32_t n,
                         int32_t item, float *added)
{
    const float *messages = ranker->state, *to = ranker->items + (int64_t)item * ranker->width;
    int32_t d = ranker->width;
    double scale = sqrt((double)n);
    double *u = cwi_alloc_zero(ctx, (size_t)d, sizeof *u);
    if (!u) return CW_NO_MEMORY;
    for (int32_t k = 0; k < n; k++)
        for (int32_t j = 0; j < d; j++) u[j] += (double)messages[(int64_t)items[k] * d + j];
    double length = 0.0;
    for (int32_t j = 0; j < d; j++) length += u[j] * u[j];
    if (ranker->is_cosine && length > 0.0) scale = sqrt(length);
    for (int32_t k = 0; k < n; k++) {
        double sum = 0.0;
        for (int32_t j = 0; j < d; j++)
            sum += (double)messages[(int64_t)items[k] * d + j] * (double)to[j];
        added[k] = (float)(sum / scale);
    }
    cwi_free(u);
    return CW_OK;
}

/* (E_i^(0) + ... + E_i^(L-1)) / ((L + 1) sqrt(d_i)) of every item, while l->final holds the sums:
 * its first n columns go to those of `out`, which has so many. */
static void keep_messages(const cwi_shape *shape, const layers *l, int32_t n, float *out,
                          int32_t columns)
{
    for (int64_t i = 0; i < shape->n_items; i++) {
        int64_t node = shape->n_users + i;
        int64_t degree = l->graph.start[node + 1] - l->graph.start[node];
        float factor = mean_factor(l) / sqrtf(degree > 0 ? (float)degree : 1.0f);
        for (int32_t j = 0; j < n; j++) out[i * columns + j] = factor * l->final[node * l->d + j];
    }
}

static float *make_messages(cw_context *ctx, const cwi_shape *shape, int32_t columns,
                            cwi_pile *pile)
{
    return cwi_pile_add(ctx, pile, (size_t)shape->n_items, (size_t)columns * sizeof(float));
}

static void use_messages(const layers *l, float *messages, cwi_ranker *out)
{
    out->state = messages;
    if (l->count == 0) return;
    out->fold_in = fold_in;
    out->explain = explain;
}

/*
 * Of a table in a file: columns do not know of each other, so some of them go through the layers at
 * a time, and end in another file, which has no name.
 */
enum { COLUMNS_AT_ONCE = 8 };

static cw_status open_finals(cw_context *ctx, const cwi_shape *shape, int32_t columns,
                             cwi_far **out)
{
    const char *folder = ctx->room.folder ? ctx->room.folder : P_tmpdir;
    cwi_far like = {.path = (char *)folder,
                    .name = "a vector",
                    .rows = (int64_t)shape->n_users + shape->n_items,
                    .columns = columns};
    CW_PASS(cwi_file_nameless(ctx, folder, "make a file for vectors in", &like.file));
    cw_status status = cwi_far_open(ctx, &like, out);
    close(like.file);
    return status;
}

/* Columns of E^(0) to those of E, in the other file, and of the messages. */
static cw_status make_columns(cw_context *ctx, const cwi_shape *shape, layers *l, int32_t first,
                              float *input, cwi_far *finals, float *messages)
{
    cwi_far *far = l->table->far;
    sweep s = {l, input, NULL};
    CW_PASS(cwi_far_columns(ctx, far, first, l->d, input));
    CW_PASS(add_layers(ctx, l, &s, far->rows));
    keep_messages(shape, l, l->d, messages + first, (int32_t)finals->columns);
    if (l->count > 0) CW_PASS(add_last_layer(ctx, l, &s, far->rows));
    return cwi_far_write(ctx, finals, first, l->d, l->final);
}

/* Those that rank, which are the first; they have room of their own. */
static cw_status make_finals(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                             const cwi_params *params, cwi_far *finals, float *messages)
{
    cw_status status;
    layers l = {.count = 0};
    int32_t all = (int32_t)finals->columns, most = all < COLUMNS_AT_ONCE ? all : COLUMNS_AT_ONCE;
    float *input = cwi_alloc(ctx, (size_t)finals->rows, (size_t)most * sizeof *input);
    CW_TRY(input ? CW_OK : CW_NO_MEMORY);
    CW_TRY(create_layers(ctx, shape, options, params, most, &l));
    for (int32_t first = 0; first < all; first += l.d) {
        l.d = all - first < most ? all - first : most;
        CW_TRY(make_columns(ctx, shape, &l, first, input, finals, messages));
    }
done:
    cwi_free(input);
    clear_layers(&l);
    return status;
}

static cw_status rank_far(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                          const cwi_params *params, cwi_ranker *out)
{
    cw_status status;
    cwi_pile kept = {0};
    cwi_far *finals = NULL;
    cwi_shape ranking = *shape;
    int32_t columns = (int32_t)params->tensor[0].columns / shape->heads * shape->ranked;
    const layers l = {.count = cwi_options_integer(options, "layers")};

    CW_TRY(open_finals(ctx, shape, columns, &finals));
    float *messages = make_messages(ctx, shape, columns, &kept);
    CW_TRY(kept.status);
    CW_TRY(make_finals(ctx, shape, options, params, finals, messages));
    ranking.heads = shape->ranked; /* there are no others in this file */
    const cwi_tensor table = {
        .rows = finals->rows, .columns = columns, .data = finals->data, .far = finals};
    CW_TRY(cwi_table_rank_far(ctx, &ranking, options, &table, true, out));
    finals = NULL;
    out->pile = kept;
    kept = (cwi_pile){0};
    use_messages(&l, messages, out);
done:
    cwi_far_close(finals);
    cwi_pile_clear(&kept);
    return status;
}

/* Propagate once; the final embeddings and the messages are kept. */
static cw_status rank(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                      const cwi_params *params, cwi_ranker *out)
{
    cw_status status;
    const cwi_tensor *table;
    layers l = {.count = 0};
    cwi_pile kept = {0};
    CW_TRY(cwi_table_expect(ctx, shape, params, &table));
    if (table->far) return rank_far(ctx, shape, options, params, out);
    CW_TRY(create_layers(ctx, shape, options, params, 0, &l));
    sweep s = {&l, l.table->data, NULL};
    int32_t columns = l.d / shape->heads * shape->ranked;
    float *messages = make_messages(ctx, shape, columns, &kept), *vectors = l.final;
    CW_TRY(kept.status);
    CW_TRY(add_layers(ctx, &l, &s, l.table->rows));
    keep_messages(shape, &l, columns, messages, columns);
    if (l.count > 0) CW_TRY(add_last_layer(ctx, &l, &s, l.table->rows));
    l.final = NULL;
    status = cwi_table_rank(ctx, shape, options, vectors, l.d, true, kept, out);
    kept = (cwi_pile){0};
    if (status != CW_OK) goto done;
    use_messages(&l, messages, out);
done:
    clear_layers(&l);
    cwi_pile_clear(&kept);
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
    .vector_width = cwi_table_width,
    .ranks_far = true,
    .options = options_of_lightgcn,
};
