/* graph.h - the symmetric bipartite graph of train, and products with it. */
#ifndef CWI_SCORE_GRAPH_H
#define CWI_SCORE_GRAPH_H

#include "backend/backend.h"
#include "core/mem.h"
#include "prepare/csr.h"

/*
 * Nodes are users, then items.  The entry of (u, i) is 1/sqrt(d_u d_i); nodes without edges have
 * empty rows.  Every edge lies here twice, as 4 bytes of neighbour and 4 of weight each time.
 *
 * The other kind, D^-1 A + I, has 1/d_r for each neighbour in row r and 1 for the node itself; it
 * is not symmetric, so that the weights of its transpose, which has the same neighbours, lie beside
 * its own.
 */
typedef struct cwi_graph {
    int32_t n_nodes;
    int64_t *start;     /* [n_nodes + 1] */
    int32_t *neighbour; /* [2 edges] node numbers; with the node itself [2 edges + n_nodes] */
    float *weight;      /* as many */
    float *turned;      /* as many: weights of the transpose; NULL when symmetric */
    int64_t n_chunks;
    int32_t *cut; /* [n_chunks + 1] nodes at which work is cut: chunks have about as many edges */
    cwi_pile pile;
} cwi_graph;

/* train: items by user. */
cw_status cwi_graph_create(cw_context *ctx, const cwi_csr *train, int32_t n_users, int32_t n_items,
                           cwi_graph *out);
/* D^-1 A + I. */
cw_status cwi_graph_create_mean(cw_context *ctx, const cwi_csr *train, int32_t n_users,
                                int32_t n_items, cwi_graph *out);
void cwi_graph_clear(cwi_graph *graph); /* a zeroed one is fine */

/* The weight of a neighbour of degree `other` in a row of degree `own`, of either kind. */
float cwi_graph_weight(bool is_mean, int64_t own, int64_t other);

/* The transpose, borrowed: valid as long as the graph, never cleared. */
cwi_graph cwi_graph_transpose(const cwi_graph *graph);

/*
 * Leave every entry out with this probability and divide the others by what remains: out, which
 * shares start and neighbours with the graph, gets its own weights and those of its transpose.
 * Which entries go is a function of seed and step.
 *   out   weight and turned have room for as many entries as the graph has
 *   next  [n_nodes] scratch
 */
cw_status cwi_graph_thin(cw_context *ctx, const cwi_graph *graph, double rate, uint64_t seed,
                         uint64_t step, int64_t *next, cwi_graph *out);

/* p->to = p->scale * (p->add + A p->from), every table of [n_nodes][p->d]. */
cw_status cwi_graph_multiply(cw_context *ctx, const cwi_graph *graph, const cwi_product *p);

/* The same for the n listed rows alone, each listed once; the others stay as they are. */
cw_status cwi_graph_multiply_rows(cw_context *ctx, const cwi_graph *graph, const cwi_product *p,
                                  const int32_t *rows, int64_t n);

/* The same as cwi_graph_multiply, bit for bit, for a p->from whose rows are 0 where they are not
 * live; few of those are read. */
cw_status cwi_graph_multiply_live(cw_context *ctx, const cwi_graph *graph, const cwi_product *p,
                                  const bool *is_live);

#endif
