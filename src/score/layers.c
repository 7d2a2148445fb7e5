/* layers.c - dense layers by matrix products. */
#include "score/layers.h"

#include <stdio.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/gemm.h"
#include "core/elementary.h"
#include "core/pool.h"

enum { ROWS_A_CHUNK = 8, COLUMNS_A_CHUNK = 512 };

enum { NAME_BYTES = CWI_TENSOR_NAME_BYTES + 8 }; /* what is too long is refused by the params */

cw_status cwi_layer_declare(cw_context *ctx, cwi_params *params, const char *name, int64_t in,
                            int64_t out, float decay)
{
    cwi_tensor *tensor;
    char full[NAME_BYTES];

    snprintf(full, sizeof full, "%s.weight", name);
    CW_PASS(cwi_params_add(ctx, params, full, in, out, &tensor));
    tensor->decay = decay;
    snprintf(full, sizeof full, "%s.bias", name);
    CW_PASS(cwi_params_add(ctx, params, full, 1, out, &tensor));
    tensor->init = CWI_INIT_TINY;
    return CW_OK;
}

cw_status cwi_layer_find(cw_context *ctx, const cwi_params *params, const char *name, int32_t in,
                         int32_t out, cwi_layer *layer)
{
    const cwi_tensor *weight, *bias;
    char full[NAME_BYTES];

    snprintf(full, sizeof full, "%s.weight", name);
    CW_PASS(cwi_params_expect(ctx, params, full, in, out, &weight));
    snprintf(full, sizeof full, "%s.bias", name);
    CW_PASS(cwi_params_expect(ctx, params, full, 1, weight->columns, &bias));
    *layer = (cwi_layer){
        .in = in, .out = (int32_t)weight->columns, .weight = weight->data, .bias = bias->data};
    return CW_OK;
}

/* ---- forward ---------------------------------------------------------------------- */

/* One way through a layer. */
typedef struct pass {
    const cwi_layer *layer;
    const cwi_ops *ops;
    const cwi_sparse *sparse;
    const float *x, *slope;
    int32_t rows;
    float carry, *y; /* what comes out of it, or what goes back */
} pass;

static void add_bias(const cwi_layer *layer, float *y)
{
    for (int32_t c = 0; c < layer->out; c++) y[c] += layer->bias[c];
    if (!layer->is_tanh) return;
    for (int32_t c = 0; c < layer->out; c++) y[c] = cwi_tanhf(y[c]);
}

static cw_status finish_rows(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const pass *p = arg;
    (void)chunk;
    for (int64_t r = begin; r < end; r++) add_bias(p->layer, p->y + r * p->layer->out);
    return CW_OK;
}

cw_status cwi_layer_forward(cw_context *ctx, const cwi_layer *layer, const float *x, int32_t rows,
                            float *y)
{
    pass p = {.layer = layer, .y = y};
    CW_PASS(cwi_gemm_tiled(ctx, false, false, rows, layer->out, layer->in, x, layer->in,
                           layer->weight, layer->out, 0, y, layer->out));
    return cwi_pool_for(ctx, rows, ROWS_A_CHUNK, finish_rows, &p);
}

static cw_status add_sparse_rows(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const pass *p = arg;
    int32_t width = p->layer->out;
    (void)chunk;
    for (int64_t r = begin; r < end; r++) {
        int64_t first = p->sparse->start[r], count = p->sparse->start[r + 1] - first;
        p->ops->weighted_sum(p->layer->weight, width, width, p->sparse->column + first,
                             p->sparse->weight + first, count, p->y + r * width);
        add_bias(p->layer, p->y + r * width);
    }
    return CW_OK;
}

cw_status cwi_layer_forward_sparse(cw_context *ctx, const cwi_layer *layer, const cwi_sparse *x,
                                   int32_t rows, float *y)
{
    pass p = {.layer = layer, .ops = cwi_ops_best(), .sparse = x, .y = y};
    return cwi_pool_for(ctx, rows, ROWS_A_CHUNK, add_sparse_rows, &p);
}

/* ---- backward --------------------------------------------------------------------- */

static cw_status sum_columns(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const pass *p = arg;
    int64_t width = p->layer->out;
    (void)chunk;
    for (int64_t c = begin; c < end; c++) p->y[c] = p->carry == 0 ? 0 : p->carry * p->y[c];
    for (int64_t r = 0; r < p->rows; r++)
        for (int64_t c = begin; c < end; c++) p->y[c] += p->slope[r * width + c];
    return CW_OK;
}

cw_status cwi_layer_gradient(cw_context *ctx, const cwi_layer *layer, const float *x,
                             const float *slope, int32_t rows, float carry, float *weight,
                             float *bias)
{
    pass p = {.layer = layer, .slope = slope, .rows = rows, .carry = carry, .y = bias};
    CW_PASS(cwi_pool_for(ctx, layer->out, COLUMNS_A_CHUNK, sum_columns, &p));
    if (!weight) return CW_OK;
    return cwi_gemm_tiled(ctx, true, false, layer->in, layer->out, rows, x, layer->in, slope,
                          layer->out, carry, weight, layer->out);
}

static cw_status through_tanh(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const pass *p = arg;
    (void)chunk;
    for (int64_t k = begin * p->layer->in; k < end * p->layer->in; k++)
        p->y[k] *= 1.0f - p->x[k] * p->x[k];
    return CW_OK;
}

cw_status cwi_layer_back(cw_context *ctx, const cwi_layer *layer, const float *x, bool x_is_tanh,
                         const float *slope, int32_t rows, float *below)
{
    pass p = {.layer = layer, .x = x, .y = below};
    CW_PASS(cwi_gemm_tiled(ctx, false, true, rows, layer->in, layer->out, slope, layer->out,
                           layer->weight, layer->out, 0, below, layer->in));
    return x_is_tanh ? cwi_pool_for(ctx, rows, ROWS_A_CHUNK, through_tanh, &p) : CW_OK;
}
