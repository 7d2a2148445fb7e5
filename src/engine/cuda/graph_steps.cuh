/* graph_steps.cuh - products with the graph, and LightGCN, which is nothing else. */
#ifndef CWI_ENGINE_CUDA_GRAPH_STEPS_CUH
#define CWI_ENGINE_CUDA_GRAPH_STEPS_CUH

#include "engine/cuda/engine.cuh"

#include <stdio.h>
#include <stdlib.h>

/* ---- open ----------------------------------------------------------------------------------- */

/* Add the parts of a row. */
static void cut_row(const cwi_cuda_graph *graph, int32_t row, edge_part *part, net *out)
{
    int64_t begin = graph->start[row], end = graph->start[row + 1];
    uint32_t first = (uint32_t)out->n_parts;
    uint32_t count = (uint32_t)(end > begin ? (end - begin + EDGES - 1) / EDGES : 1);
    for (uint32_t k = 0; k < count; k++, begin += EDGES) {
        int64_t until = begin + EDGES < end ? begin + EDGES : end;
        part[out->n_parts++] = (edge_part){begin, until, row, first, count};
    }
}

/* Rows cut into parts of as many edges, those of several parts first: they take longest.  A list of
 * them, or none where there is no memory. */
static edge_part *cut_edges(const cwi_cuda_graph *graph, net *out, uint32_t **longer)
{
    int64_t most = graph->n_nodes + graph->start[graph->n_nodes] / EDGES;
    edge_part *part = (edge_part *)calloc((size_t)most, sizeof *part);
    *longer = (uint32_t *)calloc((size_t)graph->n_nodes, sizeof **longer);
    for (int turn = 0; turn < 2 && part && *longer; turn++)
        for (int32_t r = 0; r < graph->n_nodes; r++) {
            bool is_long = graph->start[r + 1] - graph->start[r] > EDGES;
            if (is_long != (turn == 0)) continue;
            if (is_long) (*longer)[out->n_long++] = (uint32_t)out->n_parts;
            cut_row(graph, r, part, out);
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
        n->n_edges = edges;
        n->part = copy_array(g, part, n->n_parts);
        n->longer = copy_array(g, longer, n->n_long);
        n->neighbour = copy_array(g, graph->neighbour, edges);
        n->weight = copy_array(g, graph->weight, edges);
        n->turned = graph->turned ? copy_array(g, graph->turned, edges) : n->weight;
        add(g, &n->partial, n->n_parts * e->w.d);
        add(g, &e->final, numbers);
        for (int k = 0; k + 1 < graph->layers && !graph->has_weights; k++)
            add(g, &e->layer[k], numbers);
        add(g, &e->touched, blocks_for(e->w.n_rows, BLOCK) * (BLOCK / 32));
        if (e->w.pulls_table && !graph->has_weights) add(g, &e->pull, e->w.n_rows);
        add(g, &e->w.gradient, numbers);
        e->w.vectors = e->final;
    }
    free(part);
    free(longer);
}

/* ---- steps ---------------------------------------------------------------------------------- */

template <bool WHOLE, int LANES, bool STEPS>
static void multiply_by(cwi_cuda *e, const work &w, const net &n, const product &p,
                        const table_step &t)
{
    gpu *g = &e->g;
    dim3 parts(blocks_for(n.n_parts, WARPS)), rows(blocks_for(n.n_long, WARPS));
    dim3 few(blocks_for(n.n_parts, WARPS * LOOKS));
    if (p.writes_touched)
        LAUNCH((multiply_touched<WHOLE, LANES>), few, dim3(BLOCK), g, w, n, p, t);
    else
        LAUNCH((multiply_parts<WHOLE, LANES, STEPS>), parts, dim3(BLOCK), g, w, n, p, t);
    if (n.n_long > 0) LAUNCH((join_parts<WHOLE, STEPS>), rows, dim3(BLOCK), g, w, n, p, t);
}

/* Of rows of d numbers. */
template <bool STEPS>
static void multiply_graph(cwi_cuda *e, int32_t d, const net &n, const product &p,
                           const table_step &t)
{
    work w = e->w;
    w.d = d;
    if (d % 4 != 0)
        multiply_by<false, WARP, STEPS>(e, w, n, p, t);
    else if (d <= 2 * WARP)
        multiply_by<true, WARP / 2, STEPS>(e, w, n, p, t);
    else
        multiply_by<true, WARP, STEPS>(e, w, n, p, t);
}

/* to = A from, or what is added and that. */
static void multiply_table(cwi_cuda *e, int32_t d, const net &n, const float *from, const float *add,
                           float *to)
{
    product p = {};
    p.from = from, p.to = to, p.scale = 1;
    if (add) p.add[p.adds++] = add;
    table_step none = {NULL, NULL, 0};
    multiply_graph<false>(e, d, n, p, none);
}

/* Are slopes there of touched rows alone?  Else of all vectors, by their own L2 term. */
static bool has_few_slopes(const work &w)
{
    return w.final_decay == 0;
}

/* Are vectors of other rows than those that a step touches of use to it? */
static bool needs_all_vectors(const work &w)
{
    return !has_few_slopes(w) || w.penalty >= CWI_CUDA_CAUSE_L2; /* twins */
}

/* From the table to vectors: the mean of it and what its layers make of it. */
static void propagate(cwi_cuda *e, int s)
{
    int32_t layers = e->task.graph.layers;
    table_step none = {NULL, NULL, 0};
    product last = {};
    last.from = last.add[last.adds++] = e->w.theta;
    last.to = e->final, last.scale = 1.0f / (float)(layers + 1), last.touched = e->touched;
    last.writes_touched = !needs_all_vectors(e->w);
    gpu *g = &e->g;
    work w = e->w;
    uint32_t *touched = e->touched;
    LAUNCH(mark_touched, dim3(blocks_for(w.n_rows, BLOCK)), dim3(BLOCK), g, w, s, touched);
    if (layers == 0)
        gpu_copy(&e->g, e->final, last.from, (size_t)e->w.n_rows * (size_t)e->w.d * sizeof(float));
    for (int32_t k = 0; k + 1 < layers; k++) {
        multiply_table(e, e->w.d, e->graph, last.from, NULL, e->layer[k]);
        last.from = last.add[last.adds++] = e->layer[k];
    }
    if (layers > 0) multiply_graph<false>(e, e->w.d, e->graph, last, none);
}

/* From slopes of vectors to those of the table, which has its step. */
static void go_back(cwi_cuda *e, int s)
{
    gpu *g = &e->g;
    work w = e->w;
    int32_t layers = e->task.graph.layers;
    float *pull = e->pull;
    table_step step = {pull, e->touched, s};
    product p = {};
    p.from = p.add[p.adds++] = w.gradient;
    p.scale = 1, p.touched = e->touched;
    p.reads_touched = p.adds_touched = has_few_slopes(w);
    dim3 rows(blocks_for(w.n_rows, WARPS));
    if (pull) LAUNCH(find_pulls, dim3(e->blocks), dim3(BLOCK), g, w, s, pull);
    if (layers == 0 && w.d % 4 == 0) LAUNCH((step_table<true>), rows, dim3(BLOCK), g, w, p, step);
    if (layers == 0 && w.d % 4 != 0) LAUNCH((step_table<false>), rows, dim3(BLOCK), g, w, p, step);
    for (int32_t k = 0; k < layers; k++) {
        bool is_last = k + 1 == layers;
        p.to = e->layer[k % 2];
        p.scale = is_last ? 1.0f / (float)(layers + 1) : 1;
        if (is_last)
            multiply_graph<true>(e, w.d, e->graph, p, step);
        else
            multiply_graph<false>(e, w.d, e->graph, p, step);
        p.from = p.to;
        p.reads_touched = false;
    }
}

#endif
