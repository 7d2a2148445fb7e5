/* graph.c - building the normalised graph, and multiplying it by a dense table. */
#include "score/graph.h"

#include <math.h>

#include "core/pool.h"
#include "core/rng.h"

enum { WORK_A_CHUNK = 4096, ROWS_A_CHUNK = 16, LIVE_ROWS = 512, LIVE_ENTRIES = 2048 };

void cwi_graph_clear(cwi_graph *graph)
{
    cwi_pile_clear(&graph->pile);
    *graph = (cwi_graph){0};
}

/* Neighbours of all nodes: items of users as they are, users of items by counting; the node itself
 * comes first where it is its own neighbour. */
static void list_neighbours(const cwi_csr *train, int32_t n_users, bool with_self, cwi_graph *graph)
{
    int64_t edges = train->start[n_users];
    int64_t *next = graph->start + 1;

    for (int64_t e = 0; e < edges; e++) next[n_users + train->value[e] + 1]++;
    for (int32_t u = 0; u < n_users; u++) next[u + 1] = train->start[u + 1] - train->start[u];
    for (int32_t r = 0; r < graph->n_nodes; r++) next[r + 1] += next[r] + with_self;
    for (int32_t r = 0; r < graph->n_nodes && with_self; r++) graph->neighbour[next[r]++] = r;
    for (int32_t u = 0; u < n_users; u++)
        for (int64_t e = train->start[u]; e < train->start[u + 1]; e++) {
            int32_t item = n_users + train->value[e];
            graph->neighbour[next[u]++] = item;
            graph->neighbour[next[item]++] = u;
        }
}

float cwi_graph_weight(bool is_mean, int64_t own, int64_t other)
{
    return (float)(is_mean ? 1.0 / (double)own : 1.0 / sqrt((double)own * (double)other));
}

static void set_weights(cwi_graph *graph)
{
    bool is_mean = graph->turned != NULL;
    for (int32_t r = 0; r < graph->n_nodes; r++) {
        int64_t own = graph->start[r + 1] - graph->start[r] - is_mean;
        for (int64_t e = graph->start[r]; e < graph->start[r + 1]; e++) {
            int32_t node = graph->neighbour[e];
            int64_t other = graph->start[node + 1] - graph->start[node] - is_mean;
            graph->weight[e] = node == r ? 1.0f : cwi_graph_weight(is_mean, own, other);
            if (is_mean) graph->turned[e] = node == r ? 1.0f : cwi_graph_weight(true, other, own);
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

static cw_status create(cw_context *ctx, const cwi_csr *train, int32_t n_users, int32_t n_items,
                        bool is_mean, cwi_graph *out)
{
    if (n_users > INT32_MAX - n_items)
        return cwi_fail(ctx, CW_UNSUPPORTED, "a graph has at most %d users and items", INT32_MAX);
    *out = (cwi_graph){.n_nodes = n_users + n_items};
    size_t entries = 2 * (size_t)train->start[n_users] + (is_mean ? (size_t)out->n_nodes : 0);
    /* one more than needed: counts stand two places up while neighbours are listed */
    cwi_pile *pile = &out->pile;
    out->start = cwi_pile_add_zero(ctx, pile, (size_t)out->n_nodes + 2, sizeof *out->start);
    out->neighbour = cwi_pile_add(ctx, pile, entries, sizeof *out->neighbour);
    out->weight = cwi_pile_add(ctx, pile, entries, sizeof *out->weight);
    out->cut = cwi_pile_add(ctx, pile, (entries + (size_t)out->n_nodes) / WORK_A_CHUNK + 2,
                            sizeof *out->cut);
    if (is_mean) out->turned = cwi_pile_add(ctx, pile, entries, sizeof *out->turned);
    if (pile->status != CW_OK) return pile->status;
    list_neighbours(train, n_users, is_mean, out);
    set_weights(out);
    set_cuts(out);
    return CW_OK;
}

cw_status cwi_graph_create(cw_context *ctx, const cwi_csr *train, int32_t n_users, int32_t n_items,
                           cwi_graph *out)
{
    return create(ctx, train, n_users, n_items, false, out);
}

cw_status cwi_graph_create_mean(cw_context *ctx, const cwi_csr *train, int32_t n_users,
                                int32_t n_items, cwi_graph *out)
{
    return create(ctx, train, n_users, n_items, true, out);
}

cwi_graph cwi_graph_transpose(const cwi_graph *graph)
{
    cwi_graph out = *graph;
    if (!graph->turned) return out;
    out.weight = graph->turned;
    out.turned = graph->weight;
    return out;
}

/* ---- leaving entries out ---------------------------------------------------------- */

typedef struct thinning {
    const cwi_graph *graph;
    double rate;
    uint64_t seed, step;
    float *weight;
} thinning;

static cw_status thin_rows(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const thinning *t = arg;
    float scale = (float)(1.0 / (1.0 - t->rate));
    (void)chunk;
    for (int64_t r = begin; r < end; r++) {
        cwi_rng rng;
        cwi_rng_init(&rng, t->seed, CWI_RNG_NODE_DROPOUT, t->step << 32 | (uint64_t)r);
        for (int64_t e = t->graph->start[r]; e < t->graph->start[r + 1]; e++)
            t->weight[e] = cwi_rng_real(&rng) < t->rate ? 0 : t->graph->weight[e] * scale;
    }
    return CW_OK;
}

/* Neighbours of a node ascend, so that walking all rows in order meets the entries of every row of
 * the transpose in order; only the node itself stands out of line. */
static void turn_weights(const cwi_graph *graph, int64_t *next, const float *weight, float *turned)
{
    for (int32_t r = 0; r < graph->n_nodes; r++) next[r] = graph->start[r];
    for (int32_t r = 0; r < graph->n_nodes; r++)
        if (next[r] < graph->start[r + 1] && graph->neighbour[next[r]] == r) {
            turned[next[r]] = weight[next[r]];
            next[r]++;
        }
    for (int32_t r = 0; r < graph->n_nodes; r++)
        for (int64_t e = graph->start[r]; e < graph->start[r + 1]; e++) {
            int32_t node = graph->neighbour[e];
            if (node != r) turned[next[node]++] = weight[e];
        }
}

cw_status cwi_graph_thin(cw_context *ctx, const cwi_graph *graph, double rate, uint64_t seed,
                         uint64_t step, int64_t *next, cwi_graph *out)
{
    thinning t = {graph, rate, seed, step, out->weight};
    cw_status status = cwi_pool_for(ctx, graph->n_nodes, 64, thin_rows, &t);
    if (status == CW_OK) turn_weights(graph, next, out->weight, out->turned);
    return status;
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
                 .a = {graph->start, graph->neighbour, graph->weight, 0},
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
    const cwi_sparse a = {part->start, part->column, part->weight, 0};
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
