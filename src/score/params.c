/* params.c - named float matrices. */
#include "score/params.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

size_t cwi_tensor_bytes(const cwi_tensor *tensor)
{
    return (size_t)tensor->rows * (size_t)tensor->columns * sizeof *tensor->data;
}

static cw_status add(cw_context *ctx, cwi_params *params, const char *name, int64_t rows,
                     int64_t columns, cwi_far *far, cwi_tensor **out)
{
    if (params->count == CWI_MAX_TENSORS)
        return cwi_fail(ctx, CW_BAD_DATA, "there are more than %d tensors", CWI_MAX_TENSORS);
    if (strlen(name) >= CWI_TENSOR_NAME_BYTES || rows < 0 || columns < 0 ||
        (columns > 0 && rows > INT64_MAX / columns))
        return cwi_fail(ctx, CW_BAD_DATA, "tensor %.40s has a name or a shape that is too long",
                        name);
    cwi_tensor *tensor = &params->tensor[params->count];
    float *data = far ? far->data : NULL;
    bool is_bare = far || params->is_plan;
    if (!is_bare) data = cwi_alloc_zero(ctx, (size_t)rows * (size_t)columns, sizeof *data);
    if (!data && !is_bare) return CW_NO_MEMORY;
    *tensor = (cwi_tensor){.rows = rows, .columns = columns, .data = data, .far = far};
    snprintf(tensor->name, sizeof tensor->name, "%s", name);
    params->count++;
    if (out) *out = tensor;
    return CW_OK;
}

cw_status cwi_params_add(cw_context *ctx, cwi_params *params, const char *name, int64_t rows,
                         int64_t columns, cwi_tensor **out)
{
    return add(ctx, params, name, rows, columns, NULL, out);
}

cw_status cwi_params_add_far(cw_context *ctx, cwi_params *params, cwi_far *far)
{
    return add(ctx, params, far->name, far->rows, far->columns, far, NULL);
}

cw_status cwi_params_complete(cw_context *ctx, const cwi_params *params)
{
    for (int t = 0; t < params->count; t++) {
        cwi_far *far = params->tensor[t].far;
        if (far) CW_PASS(cwi_far_read(ctx, far, 0, far->rows));
    }
    return CW_OK;
}

const cwi_tensor *cwi_params_find(const cwi_params *params, const char *name)
{
    for (int t = 0; t < params->count; t++)
        if (strcmp(params->tensor[t].name, name) == 0) return &params->tensor[t];
    return NULL;
}

cw_status cwi_params_expect(cw_context *ctx, const cwi_params *params, const char *name,
                            int64_t rows, int64_t columns, const cwi_tensor **out)
{
    *out = cwi_params_find(params, name);
    if (!*out) return cwi_fail(ctx, CW_BAD_DATA, "the model lacks the tensor %s", name);
    int64_t r = (*out)->rows, c = (*out)->columns;
    if (r == rows && c > 0 && c <= INT32_MAX && (columns == 0 || c == columns)) return CW_OK;
    return cwi_fail(ctx, CW_BAD_DATA, "tensor %s of the model is %lld x %lld, not %lld x %lld",
                    name, (long long)r, (long long)c, (long long)rows,
                    (long long)(columns                   ? columns
                                : c > 0 && c <= INT32_MAX ? c
                                                          : 1));
}

cw_status cwi_params_copy(cw_context *ctx, const cwi_params *from, cwi_params *out)
{
    *out = (cwi_params){0};
    cw_status status = cwi_params_complete(ctx, from);
    for (int t = 0; t < from->count && status == CW_OK; t++) {
        const cwi_tensor *tensor = &from->tensor[t];
        status = cwi_params_add(ctx, out, tensor->name, tensor->rows, tensor->columns, NULL);
    }
    if (status == CW_OK)
        cwi_params_assign(out, from);
    else
        cwi_params_clear(out);
    return status;
}

void cwi_params_gradients(cw_context *ctx, const cwi_params *params, cwi_pile *pile,
                          float *whole[CWI_MAX_TENSORS])
{
    for (int t = 1; t < params->count; t++)
        whole[t] = cwi_pile_add(ctx, pile, cwi_tensor_bytes(&params->tensor[t]), 1);
}

void cwi_params_assign(cwi_params *to, const cwi_params *from)
{
    assert(to->count == from->count);
    for (int t = 0; t < from->count; t++) {
        assert(cwi_tensor_bytes(&to->tensor[t]) == cwi_tensor_bytes(&from->tensor[t]));
        memcpy(to->tensor[t].data, from->tensor[t].data, cwi_tensor_bytes(&from->tensor[t]));
    }
}

void cwi_params_clear(cwi_params *params)
{
    for (int t = 0; t < params->count; t++) {
        cwi_tensor *tensor = &params->tensor[t];
        if (tensor->far)
            cwi_far_close(tensor->far);
        else
            cwi_free(tensor->data);
    }
    *params = (cwi_params){0};
}
