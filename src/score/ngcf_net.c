/* ngcf_net.c - passing vectors on along the graph, through two small matrices a layer. */
#include "score/ngcf_net.h"

#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/gemm.h"
#include "core/pool.h"
#include "core/rng.h"
#include "score/table.h"

enum { N_PARTS = 4, ROWS_A_CHUNK = 128 };

/* ---- parameters -------------------------------------------------------------------- */

int cwi_ngcf_index(int32_t layers, int32_t head, int32_t layer, cwi_ngcf_part part)
{
    return 1 + (head * layers + layer) * N_PARTS + (int)part;
}

int32_t cwi_ngcf_column(const cwi_ngcf *net, int32_t head, int32_t block)
{
    return (head * (net->layers + 1) + block) * net->width;
}

/* The name of tensor t and whether it is a bias; cwi_ngcf_index the other way round.  Layers and
 * heads are counted from 1 in names; a single head is not named. */
static bool name_tensor(int32_t heads, int32_t layers, int t, char out[CWI_TENSOR_NAME_BYTES])
{
    static const char *const names[N_PARTS] = {"w1", "b1", "w2", "b2"};
    char of_head[16] = "";
    int part = (t - 1) % N_PARTS, layer = (t - 1) / N_PARTS % layers;
    if (heads > 1) snprintf(of_head, sizeof of_head, "head%d.", (t - 1) / N_PARTS / layers + 1);
    snprintf(out, CWI_TENSOR_NAME_BYTES, "%slayer%d.%s", of_head, layer + 1, names[part]);
    return part == CWI_NGCF_B1 || part == CWI_NGCF_B2;
}

static int count_tensors(int32_t heads, int32_t layers)
{
    return 1 + heads * layers * N_PARTS;
}

cw_status cwi_ngcf_declare(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                           cwi_params *params)
{
    char name[CWI_TENSOR_NAME_BYTES];
    cwi_tensor *tensor;
    int32_t layers = (int32_t)cwi_options_integer(options, "layers");
    CW_PASS(cwi_table_declare(ctx, shape, options, params));
    int64_t width = params->tensor[0].columns / shape->heads;
    for (int t = 1; t < count_tensors(shape->heads, layers); t++) {
        int64_t rows = name_tensor(shape->heads, layers, t, name) ? 1 : width;
        CW_PASS(cwi_params_add(ctx, params, name, rows, width, &tensor));
        tensor->decay = (float)cwi_options_real(options, "weight-reg");
    }
    return CW_OK;
}

static cw_status find_tensors(cw_context *ctx, const cwi_params *params, cwi_ngcf *net)
{
    char name[CWI_TENSOR_NAME_BYTES];
    for (int t = 1; t < count_tensors(net->heads, net->layers); t++) {
        int64_t rows = name_tensor(net->heads, net->layers, t, name) ? 1 : net->width;
        CW_PASS(cwi_params_expect(ctx, params, name, rows, net->width, &net->tensor[t]));
    }
    return CW_OK;
}

/* ---- make and free ------------------------------------------------------------------ */

void cwi_ngcf_clear(cwi_ngcf *net)
{
    cwi_graph_clear(&net->graph);
    cwi_free(net->final);
    cwi_free(net->factor);
    cwi_pile_clear(&net->pile);
    *net = (cwi_ngcf){0};
}

/* Floats that sums over nodes need: parts of a matrix, or two rows of biases for every chunk. */
static size_t room_of(const cwi_ngcf *net)
{
    size_t matrix = (size_t)CWI_GEMM_PARTS * (size_t)net->width * (size_t)net->width;
    size_t biases = 2 * (size_t)net->d * (size_t)cwi_pool_chunks(net->n_nodes, ROWS_A_CHUNK);
    return matrix > biases ? matrix : biases;
}

/* Scratch; the last block and the room are only needed on the way back. */
static cw_status allocate(cw_context *ctx, cwi_ngcf *net, bool trains)
{
    size_t nodes = (size_t)net->n_nodes, layers = (size_t)net->layers;
    size_t bytes = (size_t)net->d * sizeof(float);
    net->final = cwi_alloc(ctx, nodes, bytes * (layers + 1));
    net->factor = cwi_alloc(ctx, layers * nodes, (size_t)net->heads * sizeof *net->factor);
    for (int w = 0; w < (trains ? 4 : 3); w++)
        net->work[w] = cwi_pile_add(ctx, &net->pile, nodes, bytes);
    if (trains) net->room = cwi_pile_add(ctx, &net->pile, room_of(net), sizeof *net->room);
    return net->final && net->factor ? net->pile.status : CW_NO_MEMORY;
}

/* What is kept of the layers.  E of the last one is only passed through; to rank, the others take
 * turns with it, and one P and one set of signs serve all. */
static cw_status lay_out(cw_context *ctx, cwi_ngcf *net, bool trains)
{
    size_t nodes = (size_t)net->n_nodes, layers = (size_t)net->layers, d = (size_t)net->d;
    size_t kept = trains || layers == 0 ? layers : 1;
    int64_t step = trains ? (int64_t)net->n_nodes * net->d : 0;
    float *e = cwi_pile_add(ctx, &net->pile, (trains && kept > 0 ? kept - 1 : kept) * nodes,
                            d * sizeof *e);
    float *p = cwi_pile_add(ctx, &net->pile, kept * nodes, d * sizeof *p);
    uint8_t *sign = cwi_pile_add_zero(ctx, &net->pile, kept * nodes, d * sizeof *sign);
    if (net->pile.status != CW_OK) return net->pile.status;
    net->e[0] = net->tensor[0]->data;
    for (int32_t l = 0; l < net->layers; l++) {
        net->p[l] = p + l * step;
        net->sign[l] = sign + l * step;
        bool passes = trains ? l + 1 == net->layers : (net->layers - l - 1) % 2 == 0;
        net->e[l + 1] = passes ? net->work[0] : e + l * step;
    }
    return CW_OK;
}

cw_status cwi_ngcf_create(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                          const cwi_params *params, bool trains, cwi_ngcf *out)
{
    cw_status status;
    *out = (cwi_ngcf){.layers = (int32_t)cwi_options_integer(options, "layers"),
                      .heads = shape->heads,
                      .is_original = cwi_options_choice(options, "ngcf") == 1};
    CW_TRY(cwi_table_expect(ctx, shape, params, &out->tensor[0]));
    out->d = (int32_t)out->tensor[0]->columns;
    out->width = out->d / out->heads;
    CW_TRY(find_tensors(ctx, params, out));
    CW_TRY((out->is_original ? cwi_graph_create_mean : cwi_graph_create)(
        ctx, shape->train, shape->n_users, shape->n_items, &out->graph));
    out->n_nodes = out->graph.n_nodes;
    out->used = out->graph;
    CW_TRY(allocate(ctx, out, trains));
    CW_TRY(lay_out(ctx, out, trains));
done:
    if (status != CW_OK) cwi_ngcf_clear(out);
    return status;
}

/* ---- forward ------------------------------------------------------------------------ */

/* One layer on its way forward or back. */
typedef struct passage {
    const cwi_ops *ops;
    const cwi_ngcf *net;
    int32_t layer;
    const int32_t *place;
    const float *slope;
} passage;

static const float *values_of(const cwi_ngcf *net, int32_t head, int32_t layer, cwi_ngcf_part part)
{
    return net->tensor[cwi_ngcf_index(net->layers, head, layer, part)]->data;
}

static float *final_of(const cwi_ngcf *net, int64_t row, int32_t head, int32_t block)
{
    return net->final + row * net->d * (net->layers + 1) + cwi_ngcf_column(net, head, block);
}

static float *factor_of(const cwi_ngcf *net, int64_t row, int32_t head, int32_t layer)
{
    return net->factor + (layer * (int64_t)net->n_nodes + row) * net->heads + head;
}

/* What the entries that are left stand for. */
static float scale_of(const cwi_ngcf *net)
{
    return (float)(1.0 / (1.0 - net->dropout.rate));
}

static cw_status copy_table(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const passage *x = arg;
    const cwi_ngcf *net = x->net;
    (void)chunk;
    for (int64_t row = begin; row < end; row++)
        for (int32_t h = 0; h < net->heads; h++)
            memcpy(final_of(net, row, h, 0), net->e[0] + row * net->d + h * net->width,
                   (size_t)net->width * sizeof(float));
    return CW_OK;
}

/* Q = E * P into work[1]. */
static cw_status multiply_rows(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const passage *x = arg;
    int64_t at = begin * x->net->d;
    (void)chunk;
    x->ops->multiply(x->net->e[x->layer] + at, x->net->p[x->layer] + at, (end - begin) * x->net->d,
                     x->net->work[1] + at);
    return CW_OK;
}

void cwi_ngcf_drop(const cwi_ngcf_dropout *dropout, int32_t layer, int64_t row, int32_t n,
                   uint8_t *sign)
{
    cwi_rng rng;
    uint64_t index = dropout->step << 35 | (uint64_t)layer << 31 | (uint64_t)row;
    uint64_t bound = (uint64_t)(dropout->rate * 4294967296.0);
    cwi_rng_init(&rng, dropout->seed, CWI_RNG_MESSAGE_DROPOUT, index);
    for (int32_t j = 0; j < n; j++) sign[j] = cwi_rng_u32(&rng) < bound ? CWI_SIGN_DROP : 0;
}

/* E^(l+1) from the products that lie in its place and in work[2], and its normalised rows. */
static cw_status activate_rows(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const passage *x = arg;
    const cwi_ngcf *net = x->net;
    float scale = scale_of(net);
    (void)chunk;
    for (int64_t row = begin; row < end; row++) {
        uint8_t *sign = net->sign[x->layer] + row * net->d;
        if (net->dropout.rate > 0) cwi_ngcf_drop(&net->dropout, x->layer, row, net->d, sign);
        for (int32_t h = 0; h < net->heads; h++) {
            int32_t column = h * net->width;
            float *sum = net->e[x->layer + 1] + row * net->d + column;
            x->ops->leaky_sum(
                sum, values_of(net, h, x->layer, CWI_NGCF_B1), net->work[2] + row * net->d + column,
                values_of(net, h, x->layer, CWI_NGCF_B2), net->width, scale, sign + column);
            *factor_of(net, row, h, x->layer) =
                x->ops->normalise(sum, net->width, final_of(net, row, h, x->layer + 1));
        }
    }
    return CW_OK;
}

/* to = from W of every head, or from W^T; all [n_nodes][d]. */
static cw_status times_weights(cw_context *ctx, const cwi_ngcf *net, int32_t layer,
                               cwi_ngcf_part part, bool transpose, const float *from, float *to)
{
    cw_status status = CW_OK;
    int32_t w = net->width;
    for (int32_t h = 0; h < net->heads && status == CW_OK; h++)
        status = cwi_gemm(ctx, net->n_nodes, w, w, from + h * w, net->d, transpose,
                          values_of(net, h, layer, part), w, 0, to + h * w, net->d);
    return status;
}

cw_status cwi_ngcf_forward(cw_context *ctx, cwi_ngcf *net)
{
    passage x = {.ops = cwi_ops_best(), .net = net};
    CW_PASS(cwi_pool_for(ctx, net->n_nodes, ROWS_A_CHUNK, copy_table, &x));
    for (int32_t l = 0; l < net->layers; l++) {
        x.layer = l;
        const cwi_product p = {.from = net->e[l], .d = net->d, .scale = 1, .to = net->p[l]};
        CW_PASS(cwi_graph_multiply(ctx, &net->used, &p));
        CW_PASS(cwi_pool_for(ctx, net->n_nodes, ROWS_A_CHUNK, multiply_rows, &x));
        CW_PASS(times_weights(ctx, net, l, CWI_NGCF_W1, false, net->p[l], net->e[l + 1]));
        CW_PASS(times_weights(ctx, net, l, CWI_NGCF_W2, false, net->work[1], net->work[2]));
        CW_PASS(cwi_pool_for(ctx, net->n_nodes, ROWS_A_CHUNK, activate_rows, &x));
    }
    return CW_OK;
}

/* ---- back --------------------------------------------------------------------------- */

static void add_row(const float *restrict from, int32_t n, float *restrict to)
{
    for (int32_t j = 0; j < n; j++) to[j] += from[j];
}

/* The slope of block `block` of a final vector, NULL when it has none. */
static const float *slope_of(const passage *x, int64_t row, int32_t head, int32_t block)
{
    if (x->place[row] < 0) return NULL;
    return x->slope + (int64_t)x->place[row] * x->net->d * (x->net->layers + 1) +
           cwi_ngcf_column(x->net, head, block);
}

/* G of E^(l+1) in work[0] turns into that of S there and that of B in work[2]; the room gets their
 * sums over the chunk. */
static cw_status activate_back(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const passage *x = arg;
    const cwi_ngcf *net = x->net;
    float scale = scale_of(net), *sums = net->room + chunk * 2 * net->d;
    memset(sums, 0, 2 * (size_t)net->d * sizeof *sums);
    for (int64_t row = begin; row < end; row++) {
        int64_t at = row * net->d;
        for (int32_t h = 0; h < net->heads; h++) {
            const float *slope = slope_of(x, row, h, x->layer + 1);
            if (slope)
                x->ops->normalise_back(final_of(net, row, h, x->layer + 1),
                                       *factor_of(net, row, h, x->layer), slope, net->width,
                                       net->work[0] + at + h * net->width);
        }
        x->ops->leaky_sum_back(net->work[0] + at, net->sign[x->layer] + at, net->d, scale,
                               net->work[2] + at);
        add_row(net->work[0] + at, net->d, sums);
        add_row(net->work[2] + at, net->d, sums + net->d);
    }
    return CW_OK;
}

/* Gradients of the biases: the sums of the chunks in order. */
static void sum_biases(const passage *x, float *const *whole)
{
    const cwi_ngcf *net = x->net;
    int64_t chunks = cwi_pool_chunks(net->n_nodes, ROWS_A_CHUNK);
    for (int32_t h = 0; h < net->heads; h++)
        for (int side = 0; side < 2; side++) {
            cwi_ngcf_part part = side == 0 ? CWI_NGCF_B1 : CWI_NGCF_B2;
            float *out = whole[cwi_ngcf_index(net->layers, h, x->layer, part)];
            const float *sums = net->room + side * net->d + h * net->width;
            memset(out, 0, (size_t)net->width * sizeof *out);
            for (int64_t c = 0; c < chunks; c++) add_row(sums + c * 2 * net->d, net->width, out);
        }
}

/* dW = from^T g of every head. */
static cw_status weights_back(cw_context *ctx, const cwi_ngcf *net, int32_t layer,
                              cwi_ngcf_part part, const float *from, const float *g,
                              float *const *whole)
{
    cw_status status = CW_OK;
    int32_t w = net->width;
    for (int32_t h = 0; h < net->heads && status == CW_OK; h++)
        status = cwi_gemm_sum(ctx, net->n_nodes, w, w, from + h * w, net->d, g + h * w, net->d,
                              whole[cwi_ngcf_index(net->layers, h, layer, part)], net->room);
    return status;
}

/* dP in work[3] and P * R in work[1] from GS W1^T and R = GB W2^T, which lie there. */
static cw_status multiply_back(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const passage *x = arg;
    int64_t at = begin * x->net->d;
    (void)chunk;
    x->ops->multiply_back(x->net->e[x->layer] + at, x->net->p[x->layer] + at,
                          (end - begin) * x->net->d, x->net->work[3] + at, x->net->work[1] + at);
    return CW_OK;
}

static cw_status layer_back(cw_context *ctx, passage *x, const cwi_graph *transposed,
                            float *const *whole)
{
    const cwi_ngcf *net = x->net;
    int32_t l = x->layer;
    float *const *work = net->work;
    CW_PASS(cwi_pool_for(ctx, net->n_nodes, ROWS_A_CHUNK, activate_back, x));
    sum_biases(x, whole);
    CW_PASS(cwi_pool_for(ctx, net->n_nodes, ROWS_A_CHUNK, multiply_rows, x));
    CW_PASS(weights_back(ctx, net, l, CWI_NGCF_W1, net->p[l], work[0], whole));
    CW_PASS(weights_back(ctx, net, l, CWI_NGCF_W2, work[1], work[2], whole));
    CW_PASS(times_weights(ctx, net, l, CWI_NGCF_W1, true, work[0], work[3]));
    CW_PASS(times_weights(ctx, net, l, CWI_NGCF_W2, true, work[2], work[1]));
    CW_PASS(cwi_pool_for(ctx, net->n_nodes, ROWS_A_CHUNK, multiply_back, x));
    const cwi_product p = {.from = work[3], .d = net->d, .add = work[1], .scale = 1, .to = work[0]};
    return cwi_graph_multiply(ctx, transposed, &p);
}

static cw_status table_back(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const passage *x = arg;
    const cwi_ngcf *net = x->net;
    (void)chunk;
    for (int64_t row = begin; row < end; row++)
        for (int32_t h = 0; h < net->heads; h++) {
            const float *slope = slope_of(x, row, h, 0);
            if (slope) add_row(slope, net->width, net->work[0] + row * net->d + h * net->width);
        }
    return CW_OK;
}

cw_status cwi_ngcf_backward(cw_context *ctx, cwi_ngcf *net, const int32_t *place,
                            const float *slope, float *const *whole, float **table)
{
    passage x = {.ops = cwi_ops_best(), .net = net, .place = place, .slope = slope};
    cwi_graph transposed = cwi_graph_transpose(&net->used);

    memset(net->work[0], 0, (size_t)net->n_nodes * (size_t)net->d * sizeof(float));
    for (x.layer = net->layers - 1; x.layer >= 0; x.layer--)
        CW_PASS(layer_back(ctx, &x, &transposed, whole));
    CW_PASS(cwi_pool_for(ctx, net->n_nodes, ROWS_A_CHUNK, table_back, &x));
    *table = net->work[0];
    return CW_OK;
}
