/* graph.h - the symmetric bipartite graph of train, and products with it. */
#ifndef CWI_SCORE_GRAPH_H
#define CWI_SCORE_GRAPH_H

#include "backend/backend.h"
#include "prepare/csr.h"

/*
 * Nodes are users, then items.  The entry of (u, i) is 1/sqrt(d_u d_i); nodes without edges have
 * empty rows.  Every edge lies here twice, as 4 bytes of neighbour and 4 of weight each time.
 */
typedef struct cwi_graph {
    int32_t n_nodes;
    int64_t *start;     /* [n_nodes + 1] */
    int32_t *neighbour; /* [2 edges] node numbers */
    float *weight;      /* [2 edges] */
    int64_t n_chunks;
    int32_t *cut; /* [n_chunks + 1] nodes at which work is cut: chunks have about as many edges */
} cwi_graph;

/* train: items by user. */
cw_status cwi_graph_create(cw_context *ctx, const cwi_csr *train, int32_t n_users, int32_t n_items,
                           cwi_graph *out);
void cwi_graph_clear(cwi_graph *graph); /* a zeroed one is fine */

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
