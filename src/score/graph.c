/* graph.c - building the normalised graph, and multiplying it by a dense table. */
#include "score/graph.h"

#include <math.h>

#include "core/mem.h"
#include "core/pool.h"

enum { WORK_A_CHUNK = 4096, ROWS_A_CHUNK = 16, LIVE_ROWS = 512, LIVE_ENTRIES = 2048 };

void cwi_graph_clear(cwi_graph *graph)
{
    cwi_free(graph->start);
    cwi_free(graph->neighbour);
    cwi_free(graph->weight);
    cwi_free(graph->cut);
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

/* A node is as much work as it has edges, and one for itself. */
static int64_t work_before(const cwi_graph *graph, int32_t node)
{
    return graph->start[node] + node;
}

static void set_cuts(cwi_graph *graph)
{
    graph->cut[0] = 0;
    for (int32_t r = 1; r <= graph->n_nodes; r++) {
        int64_t work = work_before(graph, r) - work_before(graph, graph->cut[graph->n_chunks]);
        if (work >= WORK_A_CHUNK || r == graph->n_nodes) graph->cut[++graph->n_chunks] = r;
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
    out->cut = cwi_alloc(ctx, (ends + (size_t)out->n_nodes) / WORK_A_CHUNK + 2, sizeof *out->cut);
    if (!out->start || !out->neighbour || !out->weight || !out->cut) {
        cwi_graph_clear(out);
        return CW_NO_MEMORY;
    }
    list_neighbours(train, n_users, out);
    set_weights(out);
    set_cuts(out);
    return CW_OK;
}

typedef struct job {
    const cwi_ops *ops;
    const cwi_graph *graph;
    cwi_sparse a;
    const cwi_product *p;
    const int32_t *rows; /* of multiply_listed */
    const bool *is_live; /* of multiply_live */
} job;

static job make_job(const cwi_graph *graph, const cwi_product *p)
{
    return (job){.ops = cwi_ops_best(),
                 .graph = graph,
                 .a = {graph->start, graph->neighbour, graph->weight},
                 .p = p};
}

static cw_status multiply_chunks(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    (void)chunk;
    j->ops->sparse_rows(&j->a, j->p, j->graph->cut[begin], j->graph->cut[end]);
    return CW_OK;
}

static cw_status multiply_listed(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    (void)chunk;
    for (int64_t k = begin; k < end; k++)
        j->ops->sparse_rows(&j->a, j->p, j->rows[k], j->rows[k] + 1);
    return CW_OK;
}

cw_status cwi_graph_multiply(cw_context *ctx, const cwi_graph *graph, const cwi_product *p)
{
    job j = make_job(graph, p);
    return cwi_pool_for(ctx, graph->n_chunks, 1, multiply_chunks, &j);
}

cw_status cwi_graph_multiply_rows(cw_context *ctx, const cwi_graph *graph, const cwi_product *p,
                                  const int32_t *rows, int64_t n)
{
    job j = make_job(graph, p);
    j.rows = rows;
    return cwi_pool_for(ctx, n, ROWS_A_CHUNK, multiply_listed, &j);
}

/* ---- from a table that is mostly 0 -------------------------------------------------- */

/* A few rows of the graph in a row, without the entries that meet a row of zeros. */
typedef struct live_part {
    int64_t first; /* node */
    int64_t n;
    int64_t start[LIVE_ROWS + 1];
    int32_t column[LIVE_ENTRIES];
    float weight[LIVE_ENTRIES];
} live_part;

/* Multiply the rows taken so far and go on with the node after them. */
static void flush(const job *j, live_part *part)
{
    const cwi_sparse a = {part->start, part->column, part->weight};
    int64_t at = part->first * j->p->d;
    cwi_product p = *j->p;
    p.to += at;
    if (p.add) p.add += at;
    j->ops->sparse_rows(&a, &p, 0, part->n);
    part->first += part->n;
    part->n = 0;
}

/* Take one more row; false when there is no room for it. */
static bool take(const job *j, live_part *part)
{
    int64_t row = part->first + part->n, at = part->start[part->n];
    if (part->n == LIVE_ROWS) return false;
    for (int64_t e = j->a.start[row]; e < j->a.start[row + 1]; e++) {
        if (at == LIVE_ENTRIES) return false;
        part->column[at] = j->a.column[e];
        part->weight[at] = j->a.weight[e];
        at += j->is_live[j->a.column[e]];
    }
    part->start[++part->n] = at;
    return true;
}

/* A row with more entries than there is room for is multiplied as it is. */
static cw_status multiply_live(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    live_part part;
    int64_t last = j->graph->cut[end];
    (void)chunk;
    part.first = j->graph->cut[begin];
    part.n = part.start[0] = 0;
    while (part.first + part.n < last) {
        if (take(j, &part)) continue;
        if (part.n == 0) {
            j->ops->sparse_rows(&j->a, j->p, part.first, part.first + 1);
            part.first++;
        } else {
            flush(j, &part);
        }
    }
    flush(j, &part);
    return CW_OK;
}

cw_status cwi_graph_multiply_live(cw_context *ctx, const cwi_graph *graph, const cwi_product *p,
                                  const bool *is_live)
{
    job j = make_job(graph, p);
    j.is_live = is_live;
    return cwi_pool_for(ctx, graph->n_chunks, 1, multiply_live, &j);
}
