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

static void add_ngcf(cwi_cuda *e, const cwi_cuda_task *task)
{
    gpu *g = &e->g;
    ngcf_work *n = &e->ngcf;
    n->d = task->d, n->heads = task->heads, n->width = task->d / task->heads;
    n->layers = task->graph.layers, n->rows = e->w.n_rows, n->over = slices_of(n->rows);
    n->final = e->final;
    n->e[0] = e->w.theta;
    int64_t numbers = n->over.padded * n->d;
    for (int32_t l = 0; l < n->layers; l++) {
        add(g, &n->e[l + 1], numbers);
        add(g, &n->p[l], numbers);
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

static void pass_ngcf(cwi_cuda *e)
{
    gpu *g = &e->g;
    ngcf_work n = e->ngcf;
    dim3 all(e->blocks), threads(BLOCK);
    LAUNCH(copy_table, all, threads, g, n);
    for (int32_t l = 0; l < n.layers; l++) {
        ngcf_biases bias = {{NULL, NULL}, {NULL, NULL}};
        multiply_table(e, n.d, n.e[l], NULL, n.p[l]);
        LAUNCH(cross_rows, all, threads, g, n, l);
        times_weights(e, l, NGCF_W1, false, n.p[l], n.s);
        times_weights(e, l, NGCF_W2, false, n.q, n.b);
        for (int32_t h = 0; h < n.heads; h++) {
            bias.first[h] = part_at(e, e->others.theta, h, l, NGCF_B1);
            bias.second[h] = part_at(e, e->others.theta, h, l, NGCF_B2);
        }
        LAUNCH(activate_rows, all, threads, g, n, l, bias);
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
        sum_product(e, n->over, n->q + h * w, w, d, n->b + h * w, w, d,
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
        LAUNCH(cross_rows, all, threads, g, n, l);
        add_weights(e, l);
        times_weights(e, l, NGCF_W1, true, n.s, n.t);
        times_weights(e, l, NGCF_W2, true, n.b, n.q);
        LAUNCH(cross_back, all, threads, g, n, l);
        multiply_table(e, n.d, n.t, n.q, n.s);
    }
    LAUNCH(table_back, all, threads, g, w, n, s);
    return n.s;
}

#endif
