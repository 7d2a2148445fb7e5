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

typedef struct pass {
    const cwi_layer *layer;
    const cwi_ops *ops;
    const cwi_sparse *sparse;
    float *y;
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

typedef struct sums {
    const float *slope;
    int32_t rows, width;
    float carry, *out;
} sums;

static cw_status sum_columns(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const sums *s = arg;
    (void)chunk;
    for (int64_t c = begin; c < end; c++) s->out[c] = s->carry == 0 ? 0 : s->carry * s->out[c];
    for (int64_t r = 0; r < s->rows; r++)
        for (int64_t c = begin; c < end; c++) s->out[c] += s->slope[r * s->width + c];
    return CW_OK;
}

cw_status cwi_layer_gradient(cw_context *ctx, const cwi_layer *layer, const float *x,
                             const float *slope, int32_t rows, float carry, float *weight,
                             float *bias)
{
    sums s = {.slope = slope, .rows = rows, .width = layer->out, .carry = carry, .out = bias};
    cw_status status = cwi_pool_for(ctx, layer->out, COLUMNS_A_CHUNK, sum_columns, &s);
    if (status != CW_OK || !weight) return status;
    return cwi_gemm_tiled(ctx, true, false, layer->in, layer->out, rows, x, layer->in, slope,
                          layer->out, carry, weight, layer->out);
}

typedef struct descent {
    const float *x;
    int32_t width;
    float *below;
} descent;

static cw_status through_tanh(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const descent *d = arg;
    (void)chunk;
    for (int64_t k = begin * d->width; k < end * d->width; k++)
        d->below[k] *= 1.0f - d->x[k] * d->x[k];
    return CW_OK;
}

cw_status cwi_layer_back(cw_context *ctx, const cwi_layer *layer, const float *x, bool x_is_tanh,
                         const float *slope, int32_t rows, float *below)
{
    descent d = {.x = x, .width = layer->in, .below = below};
    cw_status status = cwi_gemm_tiled(ctx, false, true, rows, layer->in, layer->out, slope,
                                      layer->out, layer->weight, layer->out, 0, below, layer->in);
    if (status != CW_OK || !x_is_tanh) return status;
    return cwi_pool_for(ctx, rows, ROWS_A_CHUNK, through_tanh, &d);
}
