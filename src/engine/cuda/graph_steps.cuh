/* graph_steps.cuh - products with the graph, and LightGCN, which is nothing else. */
#ifndef CWI_ENGINE_CUDA_GRAPH_STEPS_CUH
#define CWI_ENGINE_CUDA_GRAPH_STEPS_CUH

#include "engine/cuda/engine.cuh"

#include <stdio.h>
#include <stdlib.h>

/* ---- open ----------------------------------------------------------------------------------- */

/* Rows cut into parts of as many edges; a list of them, or none where there is no memory. */
static edge_part *cut_edges(const cwi_cuda_graph *graph, net *out, uint32_t **longer)
{
    int64_t most = graph->n_nodes + graph->start[graph->n_nodes] / EDGES;
    edge_part *part = (edge_part *)calloc((size_t)most, sizeof *part);
    *longer = (uint32_t *)calloc((size_t)graph->n_nodes, sizeof **longer);
    for (int32_t r = 0; r < graph->n_nodes && part && *longer; r++) {
        int64_t begin = graph->start[r], end = graph->start[r + 1];
        uint32_t first = (uint32_t)out->n_parts;
        uint32_t count = (uint32_t)(end > begin ? (end - begin + EDGES - 1) / EDGES : 1);
        for (uint32_t k = 0; k < count; k++, begin += EDGES) {
            int64_t until = begin + EDGES < end ? begin + EDGES : end;
            part[out->n_parts++] = (edge_part){begin, until, r, first, count};
        }
        if (count > 1) (*longer)[out->n_long++] = first;
    }
    return part;
}

static void add_graph(cwi_cuda *e, const cwi_cuda_graph *graph)
{
    gpu *g = &e->g;
    net *n = &e->graph;
    int64_t edges = graph->start[graph->n_nodes], numbers = (int64_t)e->w.n_rows * e->w.d;
    uint32_t *longer = NULL;
    memset(n, 0, sizeof *n);
    edge_part *part = cut_edges(graph, n, &longer);
    if (!part || !longer) {
        g->status = CW_NO_MEMORY;
        snprintf(g->why, sizeof g->why, "there is no memory left");
    } else {
        n->part = copy_array(g, part, n->n_parts);
        n->longer = copy_array(g, longer, n->n_long);
        n->neighbour = copy_array(g, graph->neighbour, edges);
        n->weight = copy_array(g, graph->weight, edges);
        add(g, &n->partial, n->n_parts * e->w.d);
        add(g, &e->final, numbers);
        for (int k = 0; k < 2 && !graph->has_weights; k++) add(g, &e->layer[k], numbers);
        add(g, &e->w.gradient, numbers);
        e->w.vectors = e->final;
    }
    free(part);
    free(longer);
}

/* ---- steps ---------------------------------------------------------------------------------- */

template <bool WHOLE> static void multiply(cwi_cuda *e, int32_t d, const product &p)
{
    gpu *g = &e->g;
    work w = e->w;
    w.d = d;
    net n = e->graph;
    dim3 all(e->blocks);
    LAUNCH((multiply_parts<WHOLE>), all, dim3(BLOCK), g, w, n, p);
    if (n.n_long > 0) LAUNCH((join_parts<WHOLE>), all, dim3(BLOCK), g, w, n, p);
}

/* Of rows of d numbers. */
static void multiply_table(cwi_cuda *e, int32_t d, const product &p)
{
    if (d % 4 == 0)
        multiply<true>(e, d, p);
    else
        multiply<false>(e, d, p);
}

/* From the table to vectors: the mean of it and what its layers make of it. */
template <bool WHOLE> static void propagate(cwi_cuda *e)
{
    int32_t layers = e->task.graph.layers;
    const float *from = e->w.theta;
    gpu_copy(&e->g, e->final, from, (size_t)e->w.n_rows * (size_t)e->w.d * sizeof *from);
    for (int32_t k = 0; k < layers; k++) {
        bool is_last = k + 1 == layers;
        float *to = is_last ? e->final : e->layer[k % 2];
        product p = {from, is_last ? e->final : NULL, to, is_last ? NULL : e->final,
                     is_last ? 1.0f / (float)(layers + 1) : 1};
        multiply<WHOLE>(e, e->w.d, p);
        from = to;
    }
}

/* From slopes of vectors to those of the table, which are returned. */
template <bool WHOLE> static float *go_back(cwi_cuda *e)
{
    int32_t layers = e->task.graph.layers;
    float *from = e->w.gradient;
    for (int32_t k = 0; k < layers; k++) {
        product p = {from, e->w.gradient, e->layer[k % 2], NULL,
                     k + 1 == layers ? 1.0f / (float)(layers + 1) : 1};
        multiply<WHOLE>(e, e->w.d, p);
        from = p.to;
    }
    return from;
}

#endif
