/* ngcf_net.h - the layers of NGCF: forward for all nodes, and back. */
#ifndef CWI_SCORE_NGCF_NET_H
#define CWI_SCORE_NGCF_NET_H

#include "score/graph.h"
#include "score/score.h"

enum { CWI_NGCF_MAX_LAYERS = 16 };

/* The tensors of a layer: S = P W1 + b1, B = (E * P) W2 + b2. */
typedef enum cwi_ngcf_part { CWI_NGCF_W1, CWI_NGCF_B1, CWI_NGCF_W2, CWI_NGCF_B2 } cwi_ngcf_part;

/* Which entries of E^(l+1) are left out, a function of seed and step; rate 0: none. */
typedef struct cwi_ngcf_dropout {
    double rate;
    uint64_t seed, step;
} cwi_ngcf_dropout;

/*
 * A network of `layers` layers.  Every head is a network of its own on its share of the columns:
 * `width` of the d columns of the table and of each layer, (layers + 1) * width of the final ones.
 * For the way back P and two bits of an entry are kept of every layer, E of all but the last.
 */
typedef struct cwi_ngcf {
    cwi_graph graph;
    cwi_graph used; /* graph, or a thinned one with weights of its own; borrows the rest */
    bool is_original;
    int32_t layers, heads, d, width;
    int32_t n_nodes;
    const cwi_tensor *tensor[CWI_MAX_TENSORS]; /* borrowed: the table, then as declared */
    cwi_ngcf_dropout dropout;
    float *final;                       /* [n_nodes][d * (layers + 1)] */
    float *factor;                      /* [layers][n_nodes][heads] N^(l+1) = factor * E^(l+1) */
    float *e[CWI_NGCF_MAX_LAYERS + 1];  /* [n_nodes][d] each; [0] is the table */
    float *p[CWI_NGCF_MAX_LAYERS];      /* [n_nodes][d] each */
    uint8_t *sign[CWI_NGCF_MAX_LAYERS]; /* [n_nodes][d] each: signs of S and B, entries left out */
    float *work[4];                     /* [n_nodes][d] each; [3] only to train */
    float *room;                        /* scratch of sums over nodes; only to train */
    cwi_pile pile;                      /* of all arrays but final and factor */
} cwi_ngcf;

/* Add the table and the tensors of all layers. */
cw_status cwi_ngcf_declare(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                           cwi_params *params);

/* A network of these parameters, which must outlive it; trains: keep what backward needs. */
cw_status cwi_ngcf_create(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                          const cwi_params *params, bool trains, cwi_ngcf *out);
void cwi_ngcf_clear(cwi_ngcf *net); /* a zeroed one is fine */

/* Which of the n entries of a row of a layer are left out: CWI_SIGN_DROP, 0 for all others. */
void cwi_ngcf_drop(const cwi_ngcf_dropout *dropout, int32_t layer, int64_t row, int32_t n,
                   uint8_t *sign);

/* Number of a tensor among the parameters. */
int cwi_ngcf_index(int32_t layers, int32_t head, int32_t layer, cwi_ngcf_part part);

/* Columns of the final vectors: block 0 is of the table, block l of layer l. */
int32_t cwi_ngcf_column(const cwi_ngcf *net, int32_t head, int32_t block);

/* Final vectors of all nodes. */
cw_status cwi_ngcf_forward(cw_context *ctx, cwi_ngcf *net);

/*
 * Back from the final vectors of the last forward.
 *   place  [n_nodes] where the slope of a row lies, or -1: it has none
 *   slope  [..][d * (layers + 1)]
 *   whole  gradients of all tensors but the first
 *   table  *table is [n_nodes][d], the gradient of the table, valid until the next forward
 */
cw_status cwi_ngcf_backward(cw_context *ctx, cwi_ngcf *net, const int32_t *place,
                            const float *slope, float *const *whole, float **table);

#endif
