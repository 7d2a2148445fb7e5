/* tower.c - the tensors of the network, and its layers above the first. */
#include "score/tower.h"

#include <stdio.h>
#include <string.h>

#include "backend/gemm.h"
#include "core/text.h"

enum { MAX_SIZE = 4096 };

/* ---- tensors --------------------------------------------------------------------- */

static cw_status fail_hidden(cw_context *ctx, const char *text)
{
    char excerpt[48];
    return cwi_fail(ctx, CW_BAD_ARG,
                    "--hidden is '%s'; it must be 1 to %d sizes of layers, each a whole number "
                    "from 1 to %d, with commas between",
                    cwi_excerpt(text, strlen(text), excerpt), CWI_MAX_LAYERS, MAX_SIZE);
}

/* "256,64": what a head has of it. */
static cw_status read_sizes(cw_context *ctx, const char *text, int32_t heads, cwi_tower *out)
{
    const char *at = text;
    for (;;) {
        int64_t size;
        size_t length = strcspn(at, ",");
        if (out->n_layers == CWI_MAX_LAYERS || !cwi_parse_int(at, length, &size) || size < 1 ||
            size > MAX_SIZE)
            return fail_hidden(ctx, text);
        if (size % heads != 0)
            return cwi_fail(ctx, CW_BAD_ARG,
                            "--hidden is '%s'; the method cuts the layers into %d equal parts",
                            text, (int)heads);
        out->size[out->n_layers++] = (int32_t)(size / heads);
        if (at[length] == '\0') return CW_OK;
        at += length + 1;
    }
}

/* "W0", or "head1.W0" when there are several. */
static void name_tensor(char out[CWI_TENSOR_NAME_BYTES], int32_t heads, int head, const char *what,
                        int layer)
{
    char prefix[16] = "", number[16] = "";
    if (heads > 1) snprintf(prefix, sizeof prefix, "head%d.", head);
    if (layer >= 0) snprintf(number, sizeof number, "%d", layer);
    snprintf(out, CWI_TENSOR_NAME_BYTES, "%s%s%s", prefix, what, number);
}

static cw_status add_tensor(cw_context *ctx, cwi_params *params, const char *name, int64_t rows,
                            int64_t columns, double decay)
{
    cwi_tensor *tensor;
    cw_status status = cwi_params_add(ctx, params, name, rows, columns, &tensor);
    if (status == CW_OK) tensor->decay = (float)decay;
    return status;
}

static cw_status declare_head(cw_context *ctx, const cwi_tower *tower, int32_t heads, int head,
                              double decay, cwi_params *params)
{
    char name[CWI_TENSOR_NAME_BYTES];
    int64_t below = 2 * (int64_t)tower->d;
    for (int l = 0; l < tower->n_layers; l++) {
        name_tensor(name, heads, head, "W", l);
        CW_PASS(add_tensor(ctx, params, name, below, tower->size[l], decay));
        name_tensor(name, heads, head, "b", l);
        CW_PASS(add_tensor(ctx, params, name, 1, tower->size[l], decay));
        below = tower->size[l];
    }
    name_tensor(name, heads, head, "h", -1);
    return add_tensor(ctx, params, name, tower->d + below, 1, decay);
}

cw_status cwi_tower_declare(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                            cwi_params *params)
{
    double decay = cwi_options_real(options, "weight-reg");
    cwi_tower like = {.d = (int32_t)cwi_options_integer(options, "dim") / shape->heads};
    cw_status status = read_sizes(ctx, cwi_options_text(options, "hidden"), shape->heads, &like);
    for (int head = 0; head < shape->heads && status == CW_OK; head++)
        status = declare_head(ctx, &like, shape->heads, head, decay, params);
    return status;
}

static cw_status find_layer(cw_context *ctx, const cwi_params *params, int32_t heads, int head,
                            int64_t below, cwi_tower *out)
{
    int l = out->n_layers;
    char name[CWI_TENSOR_NAME_BYTES];
    const cwi_tensor *weight, *bias;
    name_tensor(name, heads, head, "W", l);
    CW_PASS(cwi_params_expect(ctx, params, name, below, 0, &weight));
    if (weight->columns > MAX_SIZE)
        CW_PASS(cwi_fail(ctx, CW_BAD_DATA, "tensor %s of the model has %lld columns, more than %d",
                         name, (long long)weight->columns, MAX_SIZE));
    name_tensor(name, heads, head, "b", l);
    CW_PASS(cwi_params_expect(ctx, params, name, 1, weight->columns, &bias));
    if (l == 0) out->first_tensor = (int)(weight - params->tensor);
    out->size[l] = (int32_t)weight->columns;
    out->weight[l] = weight->data;
    out->bias[l] = bias->data;
    out->n_layers++;
    return CW_OK;
}

static cw_status find_head(cw_context *ctx, const cwi_params *params, int32_t heads, int head,
                           cwi_tower *out)
{
    char name[CWI_TENSOR_NAME_BYTES];
    const cwi_tensor *h;
    int64_t below = 2 * (int64_t)out->d;
    do {
        CW_PASS(find_layer(ctx, params, heads, head, below, out));
        below = out->size[out->n_layers - 1];
        name_tensor(name, heads, head, "W", out->n_layers);
    } while (out->n_layers < CWI_MAX_LAYERS && cwi_params_find(params, name));
    name_tensor(name, heads, head, "h", -1);
    CW_PASS(cwi_params_expect(ctx, params, name, out->d + below, 1, &h));
    out->product = h->data;
    out->last = h->data + out->d;
    return CW_OK;
}

cw_status cwi_tower_find(cw_context *ctx, const cwi_params *params, int32_t heads, int32_t d,
                         cwi_tower tower[CWI_MAX_TOWERS])
{
    cw_status status = CW_OK;
    if (heads > CWI_MAX_TOWERS)
        return cwi_fail(ctx, CW_UNSUPPORTED, "backbone neumf has at most %d heads", CWI_MAX_TOWERS);
    for (int head = 0; head < heads && status == CW_OK; head++) {
        tower[head] = (cwi_tower){.d = d / heads};
        status = find_head(ctx, params, heads, head, &tower[head]);
    }
    return status;
}

/* ---- floors ---------------------------------------------------------------------- */

int64_t cwi_tower_width(const cwi_tower *tower)
{
    int64_t width = 0;
    for (int l = 0; l < tower->n_layers; l++) width += tower->size[l];
    return width;
}

cwi_floors cwi_tower_floors(const cwi_tower *tower, float *block, int64_t all, int64_t first,
                            int64_t rows)
{
    cwi_floors out = {0};
    for (int l = 0; l < tower->n_layers; l++) {
        int32_t size = tower->size[l];
        out.z[l] = (cwi_matrix){block + first * size, rows, size, size};
        block += all * size;
    }
    return out;
}

void cwi_tower_climb(const cwi_tower *tower, const cwi_ops *ops, const cwi_floors *floors,
                     float *out, int32_t step)
{
    const cwi_matrix *below = &floors->z[0];
    int32_t rows = (int32_t)below->rows;
    for (int l = 1; l < tower->n_layers; l++) {
        const cwi_matrix *z = &floors->z[l];
        for (int64_t r = 0; r < rows; r++)
            memcpy(cwi_row(z, r), tower->bias[l], (size_t)z->columns * sizeof(float));
        ops->gemm(false, false, rows, z->columns, below->columns, below->data, below->stride,
                  tower->weight[l], z->columns, 1, z->data, z->stride);
        for (int64_t k = 0; k < (int64_t)rows * z->columns; k++)
            z->data[k] = 0 > z->data[k] ? 0 : z->data[k]; /* what is not a number stays so */
        below = z;
    }
    if (!out) return;
    ops->gemm(false, false, rows, 1, below->columns, below->data, below->stride, tower->last, 1, 1,
              out, step);
}

/* Nothing passes a ReLU that is off. */
static void shut(const cwi_matrix *slopes, const cwi_matrix *z)
{
    for (int64_t k = 0; k < z->rows * z->columns; k++)
        slopes->data[k] = z->data[k] > 0 ? slopes->data[k] : 0;
}

void cwi_tower_descend(const cwi_tower *tower, const cwi_ops *ops, const cwi_floors *floors,
                       const float *slope, int32_t step, const cwi_floors *out)
{
    int top = tower->n_layers - 1;
    const cwi_matrix *above = &out->z[top];
    for (int64_t r = 0; r < above->rows; r++)
        for (int32_t c = 0; c < above->columns; c++)
            cwi_row(above, r)[c] = slope[r * step] * tower->last[c];
    shut(above, &floors->z[top]);
    for (int l = top; l > 0; l--) {
        const cwi_matrix *to = &out->z[l - 1];
        ops->gemm(false, true, (int32_t)to->rows, to->columns, above->columns, above->data,
                  above->stride, tower->weight[l], above->columns, 0, to->data, to->stride);
        shut(to, &floors->z[l - 1]);
        above = to;
    }
}

/* ---- gradients ------------------------------------------------------------------- */

int64_t cwi_tower_largest(const cwi_tower *tower)
{
    int64_t most = 0;
    for (int l = 1; l < tower->n_layers; l++) {
        int64_t entries = (int64_t)tower->size[l - 1] * tower->size[l];
        if (entries > most) most = entries;
    }
    return most;
}

/* whole += a^T b */
static cw_status add_product(cw_context *ctx, const cwi_matrix *a, const float *b, int32_t columns,
                             int32_t stride, float *whole, float *work)
{
    int64_t entries = (int64_t)a->columns * columns;
    cw_status status = cwi_gemm_sum(ctx, a->rows, a->columns, columns, a->data, a->stride, b,
                                    stride, work, work + entries);
    for (int64_t k = 0; k < entries && status == CW_OK; k++) whole[k] += work[k];
    return status;
}

cw_status cwi_tower_gradient(cw_context *ctx, const cwi_tower *tower, const cwi_floors *floors,
                             const cwi_floors *slopes, const float *slope, int32_t step,
                             float *const *whole, float *work)
{
    int top = tower->n_layers - 1;
    float *const *mine = whole + tower->first_tensor;
    for (int l = 1; l <= top; l++) {
        const cwi_matrix *d = &slopes->z[l];
        CW_PASS(
            add_product(ctx, &floors->z[l - 1], d->data, d->columns, d->stride, mine[2 * l], work));
        CW_PASS(cwi_columns_sum(ctx, d, NULL, mine[2 * l + 1]));
    }
    return add_product(ctx, &floors->z[top], slope, 1, step, mine[2 * top + 2] + tower->d, work);
}
