/*
 * tower.h - the network of NeuMF: layers of ReLUs on top of two vectors, beside their product.
 *
 * For a user vector x and an item vector y of d numbers:
 *   z_0 = ReLU([x ; y] W_0 + b_0),  z_l = ReLU(z_{l-1} W_l + b_l),  s = h . [x * y ; z_last]
 * The first layer is separable: [x ; y] W_0 is a product with x alone plus one with y alone, so
 * that users and items pass it once and pairs only add up.
 */
#ifndef CWI_SCORE_TOWER_H
#define CWI_SCORE_TOWER_H

#include "backend/backend.h"
#include "score/columns.h"
#include "score/score.h"

enum { CWI_MAX_TOWERS = 2, CWI_MAX_LAYERS = 7 };

/* The network of one head; its parameters are borrowed. */
typedef struct cwi_tower {
    int32_t d; /* numbers of a vector */
    int n_layers;
    int32_t size[CWI_MAX_LAYERS];
    const float *weight[CWI_MAX_LAYERS]; /* [2 d or size[l - 1]][size[l]] */
    const float *bias[CWI_MAX_LAYERS];   /* [size[l]] */
    const float *product;                /* [d] the part of h for x * y */
    const float *last;                   /* [last size] the part of h for the last layer */
    int first_tensor;                    /* W_0, b_0, W_1, b_1, ..., h from here on */
} cwi_tower;

/* Add the tensors of every head: each has its share of the vectors and of the layers of the option
 * "hidden". */
cw_status cwi_tower_declare(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                            cwi_params *params);

/* The networks of all heads on a table of d columns, as their tensors say; CW_BAD_DATA when those
 * do not fit together. */
cw_status cwi_tower_find(cw_context *ctx, const cwi_params *params, int32_t heads, int32_t d,
                         cwi_tower tower[CWI_MAX_TOWERS]);

/* Where z_0, z_1, ... of some pairs are kept; all have the same number of rows. */
typedef struct cwi_floors {
    cwi_matrix z[CWI_MAX_LAYERS];
} cwi_floors;

/* Numbers of one pair on all floors. */
int64_t cwi_tower_width(const cwi_tower *tower);

/* The floors of `rows` pairs from the first on in a block of all x width floats. */
cwi_floors cwi_tower_floors(const cwi_tower *tower, float *block, int64_t all, int64_t first,
                            int64_t rows);

/* z_1, z_2, ... from z_0, and out[r * step] += h . z_last unless out is NULL; one thread. */
void cwi_tower_climb(const cwi_tower *tower, const cwi_ops *ops, const cwi_floors *floors,
                     float *out, int32_t step);

/* dL/d(before the ReLU) of all floors from dL/ds, slope[r * step]; one thread. */
void cwi_tower_descend(const cwi_tower *tower, const cwi_ops *ops, const cwi_floors *floors,
                       const float *slope, int32_t step, const cwi_floors *out);

/* The most entries of W_1, W_2, ..., which is 0 with one layer. */
int64_t cwi_tower_largest(const cwi_tower *tower);

/*
 * Add to the gradients of W_1, b_1, W_2, ... and of h what these pairs say.
 *   whole  gradients of all tensors
 *   work   [CWI_GEMM_PARTS + 1][the largest of all W_l and h]
 */
cw_status cwi_tower_gradient(cw_context *ctx, const cwi_tower *tower, const cwi_floors *floors,
                             const cwi_floors *slopes, const float *slope, int32_t step,
                             float *const *whole, float *work);

#endif
