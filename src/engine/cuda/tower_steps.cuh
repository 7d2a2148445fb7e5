/* tower_steps.cuh - steps of networks on top of vectors: the order of kernels of tower.cuh. */
#ifndef CWI_ENGINE_CUDA_TOWER_STEPS_CUH
#define CWI_ENGINE_CUDA_TOWER_STEPS_CUH

#include "engine/cuda/engine.cuh"

/* ---- open ----------------------------------------------------------------------------------- */

/* Numbers of W_0, b_0, W_1, b_1, .., h of a head. */
static int tensor_of(const cwi_cuda *e, int head, int number)
{
    return 1 + head * (2 * e->task.tower.layers + 1) + number;
}

static float *other(const cwi_cuda *e, float *all, int head, int number)
{
    return all + e->tensor[tensor_of(e, head, number)];
}

static void add_towers(cwi_cuda *e, const cwi_cuda_task *task)
{
    gpu *g = &e->g;
    const cwi_cuda_tower *shape = &task->tower;
    slices over = slices_of(e->w.slots);
    int64_t padded = over.padded, widest = 0;
    int32_t width = e->w.d / e->w.heads;
    for (int l = 0; l < shape->layers; l++)
        if (shape->size[l] > widest) widest = shape->size[l];
    for (int h = 0; h < e->w.heads; h++) {
        tower_work *t = &e->tower[h];
        t->head = h, t->width = width, t->top_size = shape->size[shape->layers - 1];
        t->over = over;
        t->last = other(e, e->others.theta, h, 2 * shape->layers);
        add(g, &t->ends, 2 * padded * width);
        add(g, &t->by, padded);
        for (int l = 0; l < shape->layers; l++) add(g, &t->floor[l], padded * shape->size[l]);
    }
    if (widest < 2 * width) widest = 2 * width;
    for (int k = 0; k < 2; k++) add(g, &e->tower_slope[k], padded * widest);
    add_sums(e, task, over);
    add(g, &e->w.ends_slope, 2 * e->w.slots * e->w.d);
}

/* ---- forward -------------------------------------------------------------------------------- */

/* What a layer reads, and its columns. */
static const float *below_of(const cwi_cuda *e, int head, int layer, int32_t *columns)
{
    const tower_work *t = &e->tower[head];
    *columns = layer ? e->task.tower.size[layer - 1] : 2 * t->width;
    return layer ? t->floor[layer - 1] : t->ends;
}

static void climb(cwi_cuda *e, int s, int head)
{
    gpu *g = &e->g;
    work w = e->w;
    tower_work t = e->tower[head];
    dim3 all(e->blocks), threads(BLOCK);
    int layers = e->task.tower.layers;
    int32_t depth;
    LAUNCH(gather_slots, all, threads, g, w, t, s);
    for (int l = 0; l < layers; l++) {
        int32_t size = e->task.tower.size[l];
        const float *from = below_of(e, head, l, &depth);
        const float *bias = other(e, e->others.theta, head, 2 * l + 1);
        float *z = t.floor[l];
        int64_t rows = w.slots;
        multiply_all(e, {from, other(e, e->others.theta, head, 2 * l), z, (int32_t)rows, size,
                         depth, depth, size, size, false, false, 1, 0, 0, 0});
        LAUNCH(enter_layer, all, threads, g, z, bias, rows, size);
    }
    const float *top = t.floor[layers - 1];
    LAUNCH(leave_tower, all, threads, g, w, t, top);
}

/* Scores of all slots and the losses of rows. */
static void score_towers(cwi_cuda *e, int s)
{
    for (int h = 0; h < e->w.heads; h++) climb(e, s, h);
    e->lose(e, s);
}

/* ---- back ----------------------------------------------------------------------------------- */

/* Gradients of a layer from the slopes of what it makes. */
static void add_layer(cwi_cuda *e, int head, int layer, const float *slope)
{
    tower_work t = e->tower[head];
    int32_t size = e->task.tower.size[layer], depth;
    const float *below = below_of(e, head, layer, &depth);
    sum_product(e, t.over, below, depth, depth, slope, size, size,
                other(e, e->others_gradient, head, 2 * layer));
    sum_rows(e, t.over, {slope, NULL, NULL, size, size},
             other(e, e->others_gradient, head, 2 * layer + 1));
}

static void descend(cwi_cuda *e, int s, int head)
{
    gpu *g = &e->g;
    work w = e->w;
    tower_work t = e->tower[head];
    dim3 all(e->blocks), threads(BLOCK);
    int layers = e->task.tower.layers;
    const float *top = t.floor[layers - 1];
    float *slope = e->tower_slope[0], *h = other(e, e->others_gradient, head, 2 * layers);
    LAUNCH(take_slopes, all, threads, g, w, t, s);
    sum_rows(e, t.over, {t.ends, t.ends + t.width, t.by, t.width, 2 * t.width}, h);
    sum_rows(e, t.over, {top, NULL, t.by, t.top_size, t.top_size}, h + t.width);
    LAUNCH(enter_back, all, threads, g, t, top, slope);
    for (int l = layers - 1; l >= 0; l--) {
        int32_t size = e->task.tower.size[l], depth;
        const float *below = below_of(e, head, l, &depth);
        float *next = e->tower_slope[(layers - l) % 2];
        int64_t n = t.over.padded * depth;
        add_layer(e, head, l, slope);
        multiply_all(e, {slope, other(e, e->others.theta, head, 2 * l), next, (int32_t)t.over.padded,
                         depth, size, size, size, depth, false, true, 1, 0, 0, 0});
        if (l > 0) LAUNCH(shut, all, threads, g, next, below, n);
        slope = next;
    }
    LAUNCH(leave_back, all, threads, g, w, t, slope);
}

/* From the slopes of slots to those of their ends and of the networks. */
static void go_back_towers(cwi_cuda *e, int s)
{
    for (int h = 0; h < e->w.heads; h++) descend(e, s, h);
}

#endif
