/* graph.c - building the normalised graph, and multiplying it by a dense table. */
#include "score/graph.h"

#include <math.h>

#include "backend/backend.h"
#include "core/mem.h"
#include "core/pool.h"

void cwi_graph_clear(cwi_graph *graph)
{
    cwi_free(graph->start);
    cwi_free(graph->neighbour);
    cwi_free(graph->weight);
    *graph = (cwi_graph){0};
}

/* Neighbours of all nodes: items of users as they are, users of items by counting. */
static void list_neighbours(const cwi_csr *train, int32_t n_users, cwi_graph *graph)
{
    int64_t edges = train->start[n_users];
    int64_t *next = graph->start + 1;

    for (int64_t e = 0; e < edges; e++) next[n_users + train->value[e] + 1]++;
    for (int32_t u = 0; u < n_users; u++) next[u + 1] = train->start[u + 1] - train->start[u];
    for (int32_t r = 0; r < graph->n_nodes; r++) next[r + 1] += next[r];
    for (int32_t u = 0; u < n_users; u++)
        for (int64_t e = train->start[u]; e < train->start[u + 1]; e++) {
            int32_t item = n_users + train->value[e];
            graph->neighbour[next[u]++] = item;
            graph->neighbour[next[item]++] = u;
        }
}

static void set_weights(cwi_graph *graph)
{
    for (int32_t r = 0; r < graph->n_nodes; r++) {
        double own = (double)(graph->start[r + 1] - graph->start[r]);
        for (int64_t e = graph->start[r]; e < graph->start[r + 1]; e++) {
            int32_t other = graph->neighbour[e];
            double degree = (double)(graph->start[other + 1] - graph->start[other]);
            graph->weight[e] = (float)(1.0 / sqrt(own * degree));
        }
    }
}

cw_status cwi_graph_create(cw_context *ctx, const cwi_csr *train, int32_t n_users, int32_t n_items,
                           cwi_graph *out)
{
    size_t ends = 2 * (size_t)train->start[n_users];
    if (n_users > INT32_MAX - n_items)
        return cwi_fail(ctx, CW_UNSUPPORTED, "a graph has at most %d users and items", INT32_MAX);
    *out = (cwi_graph){.n_nodes = n_users + n_items};
    /* one more than needed: counts stand two places up while neighbours are listed */
    out->start = cwi_alloc_zero(ctx, (size_t)out->n_nodes + 2, sizeof *out->start);
    out->neighbour = cwi_alloc(ctx, ends, sizeof *out->neighbour);
    out->weight = cwi_alloc(ctx, ends, sizeof *out->weight);
    if (!out->start || !out->neighbour || !out->weight) {
        cwi_graph_clear(out);
        return CW_NO_MEMORY;
    }
    list_neighbours(train, n_users, out);
    set_weights(out);
    return CW_OK;
}

typedef struct product {
    const cwi_graph *graph;
    const cwi_ops *ops;
    const float *from, *add;
    int32_t d;
    float *to;
} product;

static cw_status multiply_rows(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const product *p = arg;
    (void)chunk;
    for (int64_t r = begin; r < end; r++) {
        int64_t first = p->graph->start[r];
        float *to = p->to + r * p->d;
        p->ops->weighted_sum(p->from, p->d, p->d, p->graph->neighbour + first,
                             p->graph->weight + first, p->graph->start[r + 1] - first, to);
        if (!p->add) continue;
        const float *add = p->add + r * p->d;
        for (int32_t j = 0; j < p->d; j++) to[j] += add[j];
    }
    return CW_OK;
}

cw_status cwi_graph_multiply(cw_context *ctx, const cwi_graph *graph, const float *from, int32_t d,
                             const float *add, float *to)
{
    product p = {graph, cwi_ops_best(), from, add, d, to};
    return cwi_pool_for(ctx, graph->n_nodes, 64, multiply_rows, &p);
}
