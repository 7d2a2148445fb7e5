/* nets.c - matrix factorisation, LightGCN, NGCF, NeuMF and Mult-VAE, as they are written down. */
#include "engine/ref/nets.h"

#include <string.h>

#include "core/mem.h"
#include "core/rng.h"

static bool is(const cwi_host *host, const char *backbone)
{
    return strcmp(host->task->backbone->name, backbone) == 0;
}

static bool is_original(const cwi_host *host)
{
    return is(host, "ngcf") && cwi_options_choice(host->task->options, "ngcf") == 1;
}

/* Share of the entries of the graph that a step leaves out. */
static double node_dropout(const cwi_host *host)
{
    return is_original(host) ? cwi_options_real(host->task->options, "node-dropout") : 0;
}

cw_status cwi_net_open(const cwi_host *host, cwi_net_data *out)
{
    const cwi_shape *shape = &host->task->shape;
    cw_context *ctx = host->base.ctx;
    cw_status status;
    *out = (cwi_net_data){0};
    if (!is(host, "lightgcn") && !is(host, "ngcf")) return CW_OK;
    status = (is_original(host) ? cwi_graph_create_mean : cwi_graph_create)(
        ctx, shape->train, shape->n_users, shape->n_items, &out->graph);
    if (status != CW_OK || !is_original(host)) return status;
    size_t nodes = (size_t)out->graph.n_nodes, entries = (size_t)out->graph.start[nodes];
    out->thinned.weight = cwi_alloc(ctx, entries, sizeof *out->thinned.weight);
    out->thinned.turned = cwi_alloc(ctx, entries, sizeof *out->thinned.turned);
    out->next = cwi_alloc(ctx, nodes, sizeof *out->next);
    out->gone = cwi_alloc(ctx, nodes * CWI_NGCF_MAX_LAYERS, (size_t)host->params.tensor[0].columns);
    return out->thinned.weight && out->thinned.turned && out->next && out->gone ? CW_OK
                                                                                : CW_NO_MEMORY;
}

void cwi_net_close(cwi_net_data *data)
{
    cwi_graph_clear(&data->graph);
    cwi_free(data->thinned.weight);
    cwi_free(data->thinned.turned);
    cwi_free(data->next);
    cwi_free(data->gone);
}

/* A e, with other weights of A where there are some. */
static cwi_node *spread(cwi_net *net, const cwi_graph *a, const float *weight, cwi_node *e)
{
    return cwi_tape_spread(&net->tape, e, a->n_nodes, a->start, a->neighbour,
                           weight ? weight : a->weight);
}

/* x W + b */
static cwi_node *affine(cwi_net *net, cwi_node *x, int weight)
{
    return cwi_tape_add(&net->tape, cwi_tape_product(&net->tape, x, net->leaf[weight]),
                        net->leaf[weight + 1], 1);
}

/* E = (E^(0) + ... + E^(L)) / (L + 1), E^(l+1) = A E^(l) */
static cwi_node *lightgcn(const cwi_host *host, const cwi_graph *graph, cwi_net *net)
{
    int64_t layers = cwi_options_integer(host->task->options, "layers");
    cwi_node *e = net->leaf[0], *sum = e;
    for (int64_t l = 0; l < layers; l++) {
        e = spread(net, graph, NULL, e);
        sum = cwi_tape_add(&net->tape, sum, e, 1);
    }
    return cwi_tape_drop(&net->tape, sum, NULL, 1.0 / (double)(layers + 1));
}

/* What message dropout leaves out of a layer, the columns of one head. */
static const uint8_t *drop_messages(const cwi_host *host, cwi_net_data *data, uint64_t step,
                                    int64_t head, int64_t layer, int64_t width, double rate)
{
    int64_t d = host->params.tensor[0].columns, nodes = data->graph.n_nodes;
    uint8_t *gone = data->gone + (layer * d + head * width) * nodes;
    uint64_t seed = (uint64_t)cwi_options_integer(host->task->options, "seed");
    for (int64_t row = 0; row < nodes; row++) {
        uint8_t all[1 << 16];
        cwi_ngcf_dropout dropout = {rate, seed, step};
        cwi_ngcf_drop(&dropout, (int32_t)layer, row, (int32_t)d, all);
        memcpy(gone + row * width, all + head * width, (size_t)width);
    }
    return gone;
}

/* P = A E^(l), E^(l+1) = phi(P W1 + b1) + phi((E^(l) * P) W2 + b2), of which dropout takes some;
 * E = [E^(0) | N^(1) | .. | N^(L)], N the rows at length 1; head by head. */
static cwi_node *ngcf(const cwi_host *host, cwi_net_data *data, uint64_t step, cwi_net *net)
{
    const cw_options *options = host->task->options;
    cwi_tape *tape = &net->tape;
    int64_t layers = cwi_options_integer(options, "layers"), heads = host->task->shape.heads;
    int64_t w = host->params.tensor[0].columns / heads;
    double rate = is_original(host) ? cwi_options_real(options, "message-dropout") : 0;
    const float *thinned = node_dropout(host) > 0 ? data->thinned.weight : NULL;
    cwi_node *all = NULL;
    for (int64_t h = 0; h < heads; h++) {
        cwi_node *e = cwi_tape_columns(tape, net->leaf[0], h * w, w), *final = e;
        for (int64_t l = 0; l < layers; l++) {
            int first = cwi_ngcf_index((int32_t)layers, (int32_t)h, (int32_t)l, CWI_NGCF_W1);
            cwi_node *p = spread(net, &data->graph, thinned, e);
            cwi_node *s = cwi_tape_leaky(tape, affine(net, p, first), 0.2);
            cwi_node *b = affine(net, cwi_tape_times(tape, e, p), first + CWI_NGCF_W2);
            e = cwi_tape_add(tape, s, cwi_tape_leaky(tape, b, 0.2), 1);
            if (rate > 0)
                e = cwi_tape_drop(tape, e, drop_messages(host, data, step, h, l, w, rate),
                                  1 / (1 - rate));
            final = cwi_tape_beside(tape, final, cwi_tape_normalise(tape, e));
        }
        all = h ? cwi_tape_beside(tape, all, final) : final;
    }
    return all;
}

/* z_0 = ReLU([x ; y] W_0 + b_0), z_l = ReLU(z_{l-1} W_l + b_l), s = [x * y ; z_last] h */
static cwi_node *neumf(cwi_net *net, cwi_node *x, cwi_node *y, int first, int layers)
{
    cwi_tape *tape = &net->tape;
    cwi_node *z = cwi_tape_beside(tape, x, y);
    for (int l = 0; l < layers; l++) z = cwi_tape_leaky(tape, affine(net, z, first + 2 * l), 0);
    return cwi_tape_product(tape, cwi_tape_beside(tape, cwi_tape_times(tape, x, y), z),
                            net->leaf[first + 2 * layers]);
}

/* Vectors as their inner products count. */
static cwi_node *as_scored(const cwi_host *host, cwi_net *net, cwi_node *x, bool is_user)
{
    const cw_options *options = host->task->options;
    if (!host->task->backbone->vector_width) return x;
    if (cwi_options_is(options, "scorer", "cosine")) x = cwi_tape_normalise(&net->tape, x);
    double temperature = is_user ? cwi_options_real(options, "temperature") : 1;
    return cwi_tape_drop(&net->tape, x, NULL, 1 / temperature);
}

/* The scores of every head from its columns of the vectors of the slots. */
static void score_slots(const cwi_host *host, const cwi_batch *batch, cwi_net *net)
{
    cwi_tape *tape = &net->tape;
    const cwi_shape *shape = &host->task->shape;
    if (!net->vectors) return;
    int64_t n = batch->n_slots, w = net->vectors->columns / shape->heads;
    int per_head = (host->params.count - 1) / shape->heads;
    cwi_node *users = cwi_tape_rows(tape, net->vectors, 0, batch->user, n);
    cwi_node *items = cwi_tape_rows(tape, net->vectors, shape->n_users, batch->item, n);
    for (int h = 0; h < shape->heads; h++) {
        cwi_node *x = as_scored(host, net, cwi_tape_columns(tape, users, h * w, w), true);
        cwi_node *y = as_scored(host, net, cwi_tape_columns(tape, items, h * w, w), false);
        cwi_loss_grid grid;
        net->score[h] = is(host, "neumf") ? neumf(net, x, y, 1 + h * per_head, (per_head - 1) / 2)
                                          : cwi_tape_sums(tape, cwi_tape_times(tape, x, y));
        if (cwi_host_grid(host, &grid))
            net->cross = cwi_tape_cross(tape, x, y, grid.rows, grid.width,
                                        grid.is_square ? grid.side : 0, grid.rows);
    }
}

/* x is the weighted row of a user's items that dropout left.  The code is [mu | v]; the decoder
 * starts at mu + noise * e^(v/2). */
static void encode(const cwi_host *host, cwi_net *net)
{
    const cwi_vae *v = host->scorer;
    const cwi_vae_batch *b = &v->batch;
    cwi_tape *tape = &net->tape;
    int layers = host->params.count / 2;
    int64_t z = v->net.latent;
    cwi_node *x = cwi_tape_add(
        tape, cwi_tape_spread(tape, net->leaf[0], b->rows, b->start, b->item, b->weight),
        net->leaf[1], 1);
    for (int l = 1; l <= layers; l++) {
        if (l == layers / 2) {
            cwi_tensor noise = {.rows = b->rows, .columns = z, .data = b->noise};
            net->code = x;
            cwi_node *spread_by = cwi_tape_exp(tape, cwi_tape_columns(tape, x, z, z), 0.5);
            x = cwi_tape_add(tape, cwi_tape_columns(tape, x, 0, z),
                             cwi_tape_times(tape, spread_by, cwi_tape_leaf(tape, &noise)), 1);
        } else if (l < layers) {
            x = cwi_tape_tanh(tape, x);
        }
        if (l < layers) x = affine(net, x, 2 * l);
    }
    net->logits = x;
}

cw_status cwi_net_forward(const cwi_host *host, cwi_net_data *data, const cwi_batch *batch,
                          cwi_net *out)
{
    *out = (cwi_net){.tape = {.ctx = host->base.ctx}};
    for (int t = 0; t < host->params.count; t++)
        out->leaf[t] = cwi_tape_leaf(&out->tape, &host->params.tensor[t]);
    if (is(host, "vae")) {
        encode(host, out);
    } else {
        double rate = node_dropout(host);
        uint64_t seed = (uint64_t)cwi_options_integer(host->task->options, "seed");
        if (rate > 0) {
            cw_status status = cwi_graph_thin(host->base.ctx, &data->graph, rate, seed, batch->step,
                                              data->next, &data->thinned);
            if (status != CW_OK) return status;
        }
        out->vectors = is(host, "lightgcn") ? lightgcn(host, &data->graph, out)
                       : is(host, "ngcf")   ? ngcf(host, data, batch->step, out)
                                            : out->leaf[0];
        score_slots(host, batch, out);
    }
    return out->tape.lacks_memory ? CW_NO_MEMORY : CW_OK;
}
