/* layers.h - dense layers y = f(x W + b), f being tanh or nothing, on blocks of rows. */
#ifndef CWI_SCORE_LAYERS_H
#define CWI_SCORE_LAYERS_H

#include "backend/backend.h"
#include "score/params.h"

/* A layer as a view of two tensors. */
typedef struct cwi_layer {
    int32_t in, out;
    bool is_tanh;        /* else linear */
    const float *weight; /* [in][out] */
    const float *bias;   /* [out] */
} cwi_layer;

/* Add the tensors NAME.weight, with an L2 term of decay / 2 times its squares, and NAME.bias. */
cw_status cwi_layer_declare(cw_context *ctx, cwi_params *params, const char *name, int64_t in,
                            int64_t out, float decay);

/* The layer of these tensors, which must be there with so many inputs and outputs (0: any). */
cw_status cwi_layer_find(cw_context *ctx, const cwi_params *params, const char *name, int32_t in,
                         int32_t out, cwi_layer *layer);

/* y [rows][out] from x [rows][in], or from rows of a sparse x. */
cw_status cwi_layer_forward(cw_context *ctx, const cwi_layer *layer, const float *x, int32_t rows,
                            float *y);
cw_status cwi_layer_forward_sparse(cw_context *ctx, const cwi_layer *layer, const cwi_sparse *x,
                                   int32_t rows, float *y);

/*
 * Back again; `slope` [rows][out] is dL/d(x W + b).
 * cwi_layer_gradient: weight = x^T slope + carry * weight (NULL: not asked for, as for a sparse x),
 * bias = sum of slope + carry * bias, so
 * that a carry of 1 adds up blocks of rows in their order.
 * cwi_layer_back: below [rows][in] = dL/dx, times 1 - x^2 when x comes out of a tanh layer.
 */
cw_status cwi_layer_gradient(cw_context *ctx, const cwi_layer *layer, const float *x,
                             const float *slope, int32_t rows, float carry, float *weight,
                             float *bias);
cw_status cwi_layer_back(cw_context *ctx, const cwi_layer *layer, const float *x, bool x_is_tanh,
                         const float *slope, int32_t rows, float *below);

#endif
