/* graph.h - the symmetric bipartite graph of train, and products with it. */
#ifndef CWI_SCORE_GRAPH_H
#define CWI_SCORE_GRAPH_H

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
} cwi_graph;

/* train: items by user. */
cw_status cwi_graph_create(cw_context *ctx, const cwi_csr *train, int32_t n_users, int32_t n_items,
                           cwi_graph *out);
void cwi_graph_clear(cwi_graph *graph); /* a zeroed one is fine */

/* to = A from, both [n_nodes][d]; add (may be NULL) is added to every row. */
cw_status cwi_graph_multiply(cw_context *ctx, const cwi_graph *graph, const float *from, int32_t d,
                             const float *add, float *to);

#endif
