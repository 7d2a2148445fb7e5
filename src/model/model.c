/* model.c - a model in memory. */
#include "model/model.h"

#include <jansson.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/text.h"
#include "registry/registry.h"

cw_status cwi_model_create(cw_context *ctx, cw_model **out)
{
    *out = cwi_alloc_zero(ctx, 1, sizeof **out);
    if (!*out) return CW_NO_MEMORY;
    cwi_idmap_init(&(*out)->users);
    cwi_idmap_init(&(*out)->items);
    return CW_OK;
}

void cw_model_free(cw_model *model)
{
    if (!model) return;
    cwi_params_clear(&model->params);
    cwi_csr_clear(&model->seen);
    cwi_free(model->degree);
    cwi_idmap_clear(&model->users);
    cwi_idmap_clear(&model->items);
    cwi_free(model->about);
    cwi_free(model);
}

int32_t cw_model_users(const cw_model *model)
{
    return model->n_users;
}

int32_t cw_model_items(const cw_model *model)
{
    return model->n_items;
}

/* An option of the record as text; "" when it has none. */
static void print_option(const json_t *value, char out[CWI_NUMBER_BYTES])
{
    out[0] = '\0';
    if (json_is_integer(value)) cwi_print_int(json_integer_value(value), out);
    if (json_is_real(value)) cwi_print_real(json_real_value(value), out);
    if (json_is_boolean(value))
        cwi_copy_text(out, CWI_NUMBER_BYTES, json_is_true(value) ? "on" : "off");
    if (json_is_string(value)) cwi_copy_text(out, CWI_NUMBER_BYTES, json_string_value(value));
}

/* The options the model was trained with; what its record lacks has its default. */
static cw_status read_options(cw_context *ctx, const cw_model *model, const cwi_method *method,
                              const cwi_backbone *backbone, cw_options **out)
{
    const cw_option_info *tables[CWI_TRAIN_TABLES], *info;
    json_t *about = NULL;
    *out = NULL;
    cw_status status = model->about ? cwi_json_reparse(ctx, model->about, &about) : CW_OK;
    const json_t *record = json_object_get(about, "options");
    cwi_train_tables(method, backbone, tables);
    if (status == CW_OK) status = cwi_options_join(ctx, "train", tables, out);

    for (size_t row = 0; status == CW_OK && (info = cwi_options_row(*out, row)); row++) {
        char text[CWI_NUMBER_BYTES];
        print_option(cwi_train_recorded(record, info), text);
        if (text[0]) status = cwi_options_assign(ctx, *out, info->name, text);
    }
    json_decref(about);
    return status == CW_BAD_ARG ? CW_BAD_DATA : status; /* the file is wrong, not the caller */
}

cw_status cwi_model_rank(cw_context *ctx, const cw_model *model, cwi_ranker *out)
{
    *out = (cwi_ranker){0};
    const cwi_backbone *backbone = cwi_find_backbone(model->backbone);
    if (!backbone)
        return cwi_fail(ctx, CW_BAD_DATA,
                        "the model's backbone '%s' is not known to this version of crosswise",
                        model->backbone);
    const cwi_method *method = cwi_find_method(model->method);
    if (!method)
        return cwi_fail(ctx, CW_BAD_DATA,
                        "the model's method '%s' is not known to this version of crosswise",
                        model->method);
    cw_options *options;
    cw_status status = read_options(ctx, model, method, backbone, &options);
    if (status == CW_OK) {
        cwi_shape shape =
            cwi_method_shape(method, options, model->n_users, model->n_items, &model->seen);
        status = cwi_method_rank(ctx, method, backbone, &shape, options, &model->params, out);
    }
    cw_options_free(options);
    return status;
}
