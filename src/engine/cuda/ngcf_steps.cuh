/* ngcf_steps.cuh - forward and back through the layers of NGCF: the order of kernels of ngcf.cuh. */
#ifndef CWI_ENGINE_CUDA_NGCF_STEPS_CUH
#define CWI_ENGINE_CUDA_NGCF_STEPS_CUH

#include "engine/cuda/graph_steps.cuh"

/* In the order of tensors. */
enum { NGCF_W1, NGCF_B1, NGCF_W2, NGCF_B2, NGCF_PARTS };

static float *part_at(const cwi_cuda *e, float *all, int32_t head, int32_t layer, int part)
{
    return all + e->tensor[1 + (head * e->ngcf.layers + layer) * NGCF_PARTS + part];
}

static void add_dropout(cwi_cuda *e, const cwi_cuda_graph *graph)
{
    gpu *g = &e->g;
    ngcf_work *n = &e->ngcf;
    int64_t edges = e->graph.n_groups * GROUP;
    n->seed = graph->seed;
    n->message_bound = (uint64_t)(graph->message_dropout * 4294967296.0);
    n->message_scale = (float)(1.0 / (1.0 - graph->message_dropout));
    n->node_dropout = graph->node_dropout;
    add(g, &n->number, 1);
    if (graph->node_dropout == 0) return;
    add(g, &n->thinned, edges);
    add(g, &n->thinned_turned, edges);
}

static void add_ngcf(cwi_cuda *e, const cwi_cuda_task *task)
{
    gpu *g = &e->g;
    ngcf_work *n = &e->ngcf;
    n->d = task->d, n->heads = task->heads, n->width = task->d / task->heads;
    n->layers = task->graph.layers, n->rows = e->w.n_rows, n->over = slices_of(n->rows);
    n->final = e->final;
    n->e[0] = e->w.theta;
    add_dropout(e, &task->graph);
    int64_t numbers = n->over.padded * n->d;
    for (int32_t l = 0; l < n->layers; l++) {
        add(g, &n->e[l + 1], numbers);
        add(g, &n->p[l], numbers);
        add(g, &n->crossed[l], numbers);
        add(g, &n->sign[l], n->rows * n->d);
        add(g, &n->factor[l], n->rows * n->heads);
    }
    add(g, &n->s, numbers);
    add(g, &n->b, numbers);
    add(g, &n->q, numbers);
    add(g, &n->t, numbers);
    add_sums(e, task, n->over);
}

/* to = from W of every head, or from W^T. */
static void times_weights(cwi_cuda *e, int32_t layer, int part, bool turned, const float *from,
                          float *to)
{
    const ngcf_work *n = &e->ngcf;
    int32_t w = n->width;
    for (int32_t h = 0; h < n->heads; h++)
        multiply_all(e, {from + h * w, part_at(e, e->others.theta, h, layer, part), to + h * w,
                         (int32_t)n->rows, w, w, n->d, w, n->d, false, turned, 1, 0, 0, 0});
}

/* The edges of a step, forward or back. */
static net edges_of(const cwi_cuda *e, bool turned)
{
    net out = e->graph;
    if (e->ngcf.node_dropout > 0)
        out.edges = turned ? e->ngcf.thinned_turned : e->ngcf.thinned;
    else if (turned)
        out.edges = out.turned;
    return out;
}

static void thin_graph(cwi_cuda *e, int s)
{
    gpu *g = &e->g;
    ngcf_work n = e->ngcf;
    net edges = e->graph;
    int64_t count = edges.n_groups * GROUP;
    LAUNCH(thin_parts, dim3(blocks_for(edges.n_parts, WARPS)), dim3(BLOCK), g, n, edges, s);
    LAUNCH(turn_edges, dim3(enough(e, count, BLOCK)), dim3(BLOCK), g, n, edges);
}

static void pass_ngcf(cwi_cuda *e, int s)
{
    gpu *g = &e->g;
    ngcf_work n = e->ngcf;
    dim3 all(e->blocks), threads(BLOCK);
    if (n.node_dropout > 0) thin_graph(e, s);
    LAUNCH(copy_table, all, threads, g, n);
    for (int32_t l = 0; l < n.layers; l++) {
        ngcf_biases bias = {{NULL, NULL}, {NULL, NULL}};
        product p = {};
        table_step none = {NULL, NULL, 0};
        p.from = p.across = n.e[l], p.to = n.p[l], p.crossed = n.crossed[l], p.scale = 1;
        multiply_graph<false>(e, n.d, edges_of(e, false), p, none);
        times_weights(e, l, NGCF_W1, false, n.p[l], n.s);
        times_weights(e, l, NGCF_W2, false, n.crossed[l], n.b);
        for (int32_t h = 0; h < n.heads; h++) {
            bias.first[h] = part_at(e, e->others.theta, h, l, NGCF_B1);
            bias.second[h] = part_at(e, e->others.theta, h, l, NGCF_B2);
        }
        LAUNCH(activate_rows, all, threads, g, n, l, bias, s);
    }
}

/* Gradients of the weights and biases of a layer from the slopes of S and B. */
static void add_weights(cwi_cuda *e, int32_t layer)
{
    const ngcf_work *n = &e->ngcf;
    float *to = e->others_gradient;
    int32_t w = n->width, d = n->d;
    for (int32_t h = 0; h < n->heads; h++) {
        sum_product(e, n->over, n->p[layer] + h * w, w, d, n->s + h * w, w, d,
                    part_at(e, to, h, layer, NGCF_W1));
        sum_product(e, n->over, n->crossed[layer] + h * w, w, d, n->b + h * w, w, d,
                    part_at(e, to, h, layer, NGCF_W2));
        sum_rows(e, n->over, {n->s + h * w, NULL, NULL, w, d}, part_at(e, to, h, layer, NGCF_B1));
        sum_rows(e, n->over, {n->b + h * w, NULL, NULL, w, d}, part_at(e, to, h, layer, NGCF_B2));
    }
}

/* From slopes of final vectors to those of the table, which are returned. */
static float *go_back_ngcf(cwi_cuda *e, int s)
{
    gpu *g = &e->g;
    work w = e->w;
    ngcf_work n = e->ngcf;
    dim3 all(e->blocks), threads(BLOCK);
    gpu_zero(g, n.s, (size_t)(n.rows * n.d) * sizeof *n.s);
    for (int32_t l = n.layers - 1; l >= 0; l--) {
        LAUNCH(activate_back, all, threads, g, w, n, l, s);
        add_weights(e, l);
        times_weights(e, l, NGCF_W1, true, n.s, n.t);
        times_weights(e, l, NGCF_W2, true, n.b, n.q);
        LAUNCH(cross_back, all, threads, g, n, l);
        multiply_table(e, n.d, edges_of(e, true), n.t, n.q, n.s);
    }
    LAUNCH(table_back, all, threads, g, w, n, s);
    return n.s;
}

#endif
