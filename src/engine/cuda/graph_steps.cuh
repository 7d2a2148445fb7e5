/* graph_steps.cuh - products with the graph, and LightGCN, which is nothing else. */
#ifndef CWI_ENGINE_CUDA_GRAPH_STEPS_CUH
#define CWI_ENGINE_CUDA_GRAPH_STEPS_CUH

#include "engine/cuda/engine.cuh"

#include <stdio.h>
#include <stdlib.h>

enum { ROUNDS = 8 /* of joining groups */, EARLY = 5 /* whose groups count too */ };
enum { LONG_PART = 8 /* groups, or more */, MOST_TEAMS = 2 * SPREAD_WARPS };

/* ---- open ----------------------------------------------------------------------------------- */

/* A row joins the rows that weigh most among its neighbours; some rounds of that leave groups of rows that
 * have neighbours in common.  `most` and `label` are of all rows. */
static void join_groups(const cwi_cuda_graph *graph, float *weight, int32_t *label)
{
    for (int32_t r = 0; r < graph->n_nodes; r++) {
        int32_t best = label[r];
        float most = 0;
        for (int64_t e = graph->start[r]; e < graph->start[r + 1]; e++)
            weight[label[graph->neighbour[e]]] += graph->weight[e];
        for (int64_t e = graph->start[r]; e < graph->start[r + 1]; e++) {
            int32_t group = label[graph->neighbour[e]];
            if (weight[group] > most) most = weight[group], best = group;
            weight[group] = 0;
        }
        label[r] = best;
    }
}

/* Rows in the order of labels, those of one in the order that they had. */
static void sort_rows(int32_t n, const int32_t *label, int32_t *place, const int32_t *from, int32_t *to)
{
    memset(place, 0, ((size_t)n + 1) * sizeof *place);
    for (int32_t r = 0; r < n; r++) place[label[r] + 1]++;
    for (int32_t r = 0; r < n; r++) place[r + 1] += place[r];
    for (int32_t k = 0; k < n; k++) to[place[label[from[k]]]++] = from[k];
}

/* Rows that read much of the same follow each other: those of a late group, by their groups some
 * rounds before; users before items.  `order` has all rows, and room for as many more; false: no memory. */
static bool order_rows(const cwi_cuda_graph *graph, int32_t n_users, int32_t *order)
{
    int32_t n = graph->n_nodes, *spare = order + n;
    int32_t *label = (int32_t *)calloc((size_t)n, sizeof *label);
    int32_t *place = (int32_t *)calloc((size_t)n + 1, sizeof *place);
    float *weight = (float *)calloc((size_t)n, sizeof *weight);
    bool all = label && place && weight;
    for (int32_t r = 0; r < n && all; r++) label[r] = r;
    for (int round = 1; round <= ROUNDS && all; round++) {
        join_groups(graph, weight, label);
        if (round != EARLY && round != ROUNDS) continue;
        sort_rows(n, label, place, order, spare);
        memcpy(order, spare, (size_t)n * sizeof *order);
    }
    for (int32_t r = 0; r < n && all; r++) label[r] = r >= n_users;
    if (all) sort_rows(n, label, place, order, spare);
    memcpy(order, spare, (size_t)n * sizeof *order);
    free(label);
    free(place);
    free(weight);
    return all;
}

static void fail_of_memory(gpu *g)
{
    g->status = CW_NO_MEMORY;
    snprintf(g->why, sizeof g->why, "there is no memory left");
}

/* What is made of a graph, in the memory of the host. */
typedef struct cutting {
    int32_t *order;
    edge_part *part;
    cut_part *cut;
    uint32_t *share, *range;
    edge *edges;
    owner *whose;
    int64_t *place; /* of edges, in their order */
} cutting;

static void free_cutting(cutting *c)
{
    free(c->order);
    free(c->part);
    free(c->cut);
    free(c->share);
    free(c->range);
    free(c->edges);
    free(c->whose);
    free(c->place);
}

static int64_t groups_of(const edge_part &part)
{
    uint32_t length = length_of(part);
    return length > 0 ? (length + GROUP - 1) / GROUP : 1;
}

/* Add the parts of a row. */
static void cut_row(const cwi_cuda_graph *graph, int32_t row, const cutting *to, net *out)
{
    int64_t begin = graph->start[row], end = graph->start[row + 1];
    uint32_t first = (uint32_t)out->n_cuts, count = (uint32_t)((end - begin + EDGES - 1) / EDGES);
    for (uint32_t k = 0; k < (count ? count : 1); k++, begin += EDGES) {
        int64_t length = end - begin;
        if (length > EDGES) length = EDGES;
        edge_part *part = &to->part[out->n_parts++];
        *part = (edge_part){(uint64_t)length, (uint32_t)row, 0};
        out->n_groups += groups_of(*part);
        if (count <= 1) continue;
        to->cut[out->n_cuts++] = (cut_part){first, count, k};
        part->cut = (uint32_t)out->n_cuts;
    }
}

/* Every block has as much to do: the end of a row is as much as a group. */
static void share_out(const cutting *to, net *out)
{
    int64_t all = out->n_groups + out->n_parts, done = 0, k = 0;
    for (unsigned b = 0; b < out->blocks; b++) {
        to->share[b] = (uint32_t)k;
        for (; k < out->n_parts && done < all * (b + 1) / out->blocks; k++)
            done += groups_of(to->part[k]) + 1;
    }
    to->share[out->blocks] = (uint32_t)out->n_parts;
}

/* The streams of a block while they are filled. */
typedef struct filling {
    int teams;
    int64_t load[MOST_TEAMS], at[MOST_TEAMS + 1]; /* what they have to do; their next group */
} filling;

/* A part goes to the stream that has least to do so far.  First they are counted, then put there. */
static void fill_stream(const cutting *to, filling *f, uint32_t part, bool counts)
{
    int64_t groups = groups_of(to->part[part]);
    int best = 0;
    for (int t = 1; t < f->teams; t++)
        if (f->load[t] < f->load[best]) best = t;
    f->load[best] += groups + 1;
    if (counts) {
        f->at[best + 1] += groups;
        return;
    }
    to->part[part].at |= (uint64_t)(f->at[best] * GROUP) << LENGTH_BITS;
    f->at[best] += groups;
    to->whose[f->at[best] - 1] = (owner){to->part[part].row + 1, to->part[part].cut};
}

/* Long parts come first, so that all streams of a block end together. */
static void fill_streams(const cutting *to, filling *f, unsigned block, bool counts)
{
    memset(f->load, 0, sizeof f->load);
    for (int turn = 0; turn < 2; turn++)
        for (uint32_t k = to->share[block]; k < to->share[block + 1]; k++)
            if ((groups_of(to->part[k]) > LONG_PART) == (turn == 0)) fill_stream(to, f, k, counts);
}

/* The streams of a block begin at group `at`; returns where those of the next do. */
static int64_t lay_streams(const cutting *to, const net *out, unsigned block, int64_t at)
{
    filling f = {SPREAD / out->lanes, {0}, {0}};
    fill_streams(to, &f, block, true);
    f.at[0] = at;
    for (int t = 0; t < f.teams; t++) {
        to->range[block * (unsigned)f.teams + (unsigned)t] = (uint32_t)f.at[t];
        f.at[t + 1] += f.at[t];
    }
    at = f.at[f.teams];
    fill_streams(to, &f, block, false);
    return at;
}

/* Edges of all parts, and where they are. */
static void place_edges(const cwi_cuda_graph *graph, const cutting *to, const net *out, const float *weight)
{
    for (int64_t k = 0; k < out->n_parts; k++) {
        const edge_part *part = &to->part[k];
        int64_t at = (int64_t)(part->at >> LENGTH_BITS), from = graph->start[part->row];
        if (part->cut) from += (int64_t)to->cut[part->cut - 1].place * EDGES;
        int64_t length = length_of(*part), all = groups_of(*part) * GROUP;
        for (int64_t e = 0; e < length; e++) {
            to->place[from + e] = at + e;
            to->edges[at + e] = (edge){(uint32_t)graph->neighbour[from + e], weight[from + e]};
        }
        for (int64_t e = length; e < all; e++)
            to->edges[at + e] = (edge){length ? to->edges[at + length - 1].row : part->row, 0};
    }
}

static bool cut_edges(const cwi_cuda_graph *graph, int32_t n_users, bool in_order, cutting *to, net *out)
{
    int64_t edges = graph->start[graph->n_nodes], most = graph->n_nodes + edges / EDGES + 1, at = 0;
    size_t streams = (size_t)out->blocks * (size_t)(SPREAD / out->lanes);
    to->order = (int32_t *)calloc(2 * (size_t)graph->n_nodes, sizeof *to->order);
    to->part = (edge_part *)calloc((size_t)most, sizeof *to->part);
    to->cut = (cut_part *)calloc((size_t)most, sizeof *to->cut);
    to->share = (uint32_t *)calloc((size_t)out->blocks + 1, sizeof *to->share);
    to->range = (uint32_t *)calloc(streams + 1, sizeof *to->range);
    if (!to->order || !to->part || !to->cut || !to->share || !to->range) return false;
    for (int32_t r = 0; r < graph->n_nodes; r++) to->order[r] = r;
    if (in_order && !order_rows(graph, n_users, to->order)) return false;
    for (int32_t k = 0; k < graph->n_nodes; k++) cut_row(graph, to->order[k], to, out);
    share_out(to, out);
    to->edges = (edge *)calloc((size_t)(out->n_groups * GROUP), sizeof *to->edges);
    to->whose = (owner *)calloc((size_t)out->n_groups, sizeof *to->whose);
    to->place = (int64_t *)calloc((size_t)edges + 1, sizeof *to->place);
    if (!to->edges || !to->whose || !to->place) return false;
    for (unsigned b = 0; b < out->blocks; b++) at = lay_streams(to, out, b, at);
    to->range[streams] = (uint32_t)at;
    place_edges(graph, to, out, graph->weight);
    return true;
}

/* Where each edge is seen from its other end.  Neighbours of a node ascend but for the node itself, so
 * that walking all rows in order meets the edges of every row of the transpose in order. */
static int64_t *find_mirror(const cwi_cuda_graph *graph, const cutting *made, const net *n)
{
    const int64_t *start = graph->start, *place = made->place;
    int64_t *mirror = (int64_t *)calloc((size_t)(n->n_groups * GROUP), sizeof *mirror);
    int64_t *next = (int64_t *)calloc((size_t)graph->n_nodes, sizeof *next);
    for (int64_t k = 0; k < n->n_groups * GROUP && mirror; k++) mirror[k] = k;
    for (int32_t r = 0; r < graph->n_nodes && mirror && next; r++) {
        next[r] = start[r];
        if (start[r] == start[r + 1] || graph->neighbour[start[r]] != r) continue;
        next[r]++;
    }
    for (int32_t r = 0; r < graph->n_nodes && mirror && next; r++)
        for (int64_t k = start[r]; k < start[r + 1]; k++)
            if (graph->neighbour[k] != r) mirror[place[next[graph->neighbour[k]]++]] = place[k];
    if (!next) free(mirror), mirror = NULL;
    free(next);
    return mirror;
}

static void copy_parts(cwi_cuda *e, const cwi_cuda_graph *graph, const cutting *made, net *n)
{
    gpu *g = &e->g;
    int64_t streams = (int64_t)n->blocks * (SPREAD / n->lanes), edges = n->n_groups * GROUP;
    int64_t columns = (e->w.d + 4 * n->lanes - 1) / (4 * n->lanes);
    n->part = copy_array(g, made->part, n->n_parts);
    n->cut = copy_array(g, made->cut, n->n_cuts);
    n->share = copy_array(g, made->share, (int64_t)n->blocks + 1);
    n->range = copy_array(g, made->range, streams + 1);
    n->whose = copy_array(g, made->whose, n->n_groups);
    n->edges = n->turned = copy_array(g, made->edges, edges);
    if (graph->turned) {
        place_edges(graph, made, n, graph->turned);
        n->turned = copy_array(g, made->edges, edges);
    }
    add(g, &n->partial, n->n_cuts * e->w.d);
    add(g, &n->arrived, n->n_cuts * columns);
    add(g, &n->listed, n->n_parts);
    add(g, &n->n_listed, 1);
    if (graph->node_dropout == 0) return;
    int64_t *mirror = find_mirror(graph, made, n);
    if (mirror)
        n->mirror = copy_array(g, mirror, edges);
    else
        fail_of_memory(g);
    free(mirror);
}

static void add_graph(cwi_cuda *e, const cwi_cuda_graph *graph)
{
    gpu *g = &e->g;
    net *n = &e->graph;
    cutting made = {NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL};
    int64_t numbers = (int64_t)e->w.n_rows * e->w.d;
    memset(n, 0, sizeof *n);
    n->blocks = e->processors;
    n->lanes = e->w.table_d % 4 == 0 && e->w.table_d <= 2 * WARP ? WARP / 2 : WARP;
    if (cut_edges(graph, e->w.n_users, !g->is_measuring, &made, n))
        copy_parts(e, graph, &made, n);
    else
        fail_of_memory(g);
    free_cutting(&made);
    add(g, &e->final, numbers);
    for (int k = 0; k + 1 < graph->layers && !graph->has_weights; k++) add(g, &e->layer[k], numbers);
    add(g, &e->touched, blocks_for(e->w.n_rows, BLOCK) * (BLOCK / 32));
    if (e->w.pulls_table && !graph->has_weights) add(g, &e->pull, e->w.n_rows);
    add(g, &e->w.gradient, numbers + e->w.d); /* and a row of zeros */
    e->w.vectors = e->final;
}

/* ---- steps ---------------------------------------------------------------------------------- */

template <int LANES, bool STEPS>
static void multiply_by(cwi_cuda *e, const work &w, const net &n, const product &p,
                        const table_step &t)
{
    gpu *g = &e->g;
    dim3 blocks(n.blocks), threads(SPREAD);
    if (p.writes_touched)
        LAUNCH_NEXT((multiply_touched<true, LANES>), blocks, threads, g, w, n, p, t);
    else if (p.reads_touched)
        LAUNCH_NEXT((multiply_streams<LANES, STEPS, true>), blocks, threads, g, w, n, p, t);
    else
        LAUNCH_NEXT((multiply_streams<LANES, STEPS, false>), blocks, threads, g, w, n, p, t);
}

/* Of rows of d numbers, as many as the table has. */
template <bool STEPS>
static void multiply_graph(cwi_cuda *e, int32_t d, const net &n, const product &p,
                           const table_step &t)
{
    gpu *g = &e->g;
    work w = e->w;
    dim3 blocks(n.blocks), threads(SPREAD);
    w.d = d;
    if (d % 4 != 0 && p.writes_touched)
        LAUNCH_NEXT((multiply_touched<false, WARP>), blocks, threads, g, w, n, p, t);
    else if (d % 4 != 0)
        LAUNCH_NEXT((multiply_rows<STEPS>), blocks, threads, g, w, n, p, t);
    else if (n.lanes < WARP)
        multiply_by<WARP / 2, STEPS>(e, w, n, p, t);
    else
        multiply_by<WARP, STEPS>(e, w, n, p, t);
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
    net n = e->graph;
    uint32_t *touched = e->touched;
    bool lists = last.writes_touched && layers > 0;
    LAUNCH_NEXT(mark_touched, dim3(blocks_for(n.n_parts, BLOCK)), dim3(BLOCK), g, w, n, s, touched, lists);
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
