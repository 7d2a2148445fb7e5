/* model.c - a model in memory. */
#include "model/model.h"

#include <jansson.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/text.h"
#include "prepare/rest.h"
#include "registry/registry.h"

cw_status cwi_model_create(cw_context *ctx, cw_model **out)
{
    *out = cwi_alloc_zero(ctx, 1, sizeof **out);
    if (!*out) return CW_NO_MEMORY;
    atomic_init(&(*out)->holders, 1);
    return CW_OK;
}

cw_status cwi_model_dial(cw_context *ctx, const cw_model *model, double *dial)
{
    const double most = 1e6; /* what the options take */
    json_t *about = NULL;
    *dial = 0;
    if (!model->about) return CW_OK;
    CW_PASS(cwi_json_reparse(ctx, model->about, &about));
    double found = cwi_json_get_number(about, "dial");
    json_decref(about);
    if (found >= -most && found <= most) *dial = found;
    return CW_OK;
}

cw_status cwi_model_copy_data(cw_context *ctx, const cw_model *from, cw_model *to)
{
    to->n_users = from->n_users;
    to->n_items = from->n_items;
    CW_PASS(cwi_idmap_copy(ctx, &from->users, &to->users));
    CW_PASS(cwi_idmap_copy(ctx, &from->items, &to->items));
    CW_PASS(cwi_csr_copy(ctx, &from->seen, &to->seen));
    CW_PASS(cwi_idmap_copy(ctx, &from->rest.users, &to->rest.users));
    CW_PASS(cwi_idmap_copy(ctx, &from->rest.items, &to->rest.items));
    CW_PASS(cwi_csr_copy(ctx, &from->rest.rows, &to->rest.rows));
    CW_PASS(cwi_csr_copy(ctx, &from->rest.hidden, &to->rest.hidden));
    to->degree = cwi_alloc(ctx, (size_t)to->n_items, sizeof *to->degree);
    if (!to->degree) return CW_NO_MEMORY;
    memcpy(to->degree, from->degree, (size_t)to->n_items * sizeof *to->degree);
    return CW_OK;
}

cw_model *cwi_model_hold(cw_model *model)
{
    atomic_fetch_add(&model->holders, 1);
    return model;
}

void cw_model_free(cw_model *model)
{
    if (!model || atomic_fetch_sub(&model->holders, 1) > 1) return;
    cwi_params_clear(&model->params);
    cwi_csr_clear(&model->seen);
    cwi_free(model->degree);
    cwi_free(model->term);
    cwi_idmap_clear(&model->users);
    cwi_idmap_clear(&model->items);
    cwi_rest_clear(&model->rest);
    cwi_free(model->about);
    cwi_free(model);
}

bool cwi_model_has_guests(const cw_model *model)
{
    return model->rest.users.count + model->rest.items.count > 0;
}

int64_t cwi_model_count_hidden(const cw_model *model)
{
    const cwi_csr *hidden = &model->rest.hidden;
    return hidden->start ? hidden->start[hidden->n_rows] : 0;
}

int32_t cw_model_users(const cw_model *model)
{
    return model->n_users;
}

int32_t cw_model_items(const cw_model *model)
{
    return model->n_items;
}

int64_t cw_model_item_rows(const cw_model *model, int32_t item)
{
    return item >= 0 && item < model->n_items ? model->degree[item] : 0;
}

const char *cw_model_checksum(const cw_model *model)
{
    return model->checksum;
}

bool cw_model_tensor(const cw_model *model, size_t index, cw_tensor *out)
{
    if (index >= (size_t)model->params.count) return false;
    const cwi_tensor *tensor = &model->params.tensor[index];
    if (tensor->far) return false;
    *out = (cw_tensor){tensor->name, tensor->rows, tensor->columns, tensor->data};
    return true;
}

const int64_t *cw_model_seen(const cw_model *model, const int32_t **items)
{
    *items = model->seen.value;
    return model->seen.start;
}

int32_t cw_model_guest_users(const cw_model *model)
{
    return model->rest.users.count;
}

int32_t cw_model_guest_items(const cw_model *model)
{
    return model->rest.items.count;
}

/* Guests have the numbers after those of training. */
static const char *id_of(const cwi_idmap *trained, const cwi_idmap *guests, int32_t number)
{
    if (number < 0 || number - trained->count >= guests->count) return NULL;
    return number < trained->count ? cwi_idmap_text(trained, number)
                                   : cwi_idmap_text(guests, number - trained->count);
}

static int32_t find_guest(const cwi_idmap *trained, const cwi_idmap *guests, const char *id)
{
    int32_t found = cwi_idmap_find(guests, id, strlen(id));
    return found < 0 ? found : trained->count + found;
}

int32_t cw_model_find_guest_user(const cw_model *model, const char *id)
{
    return find_guest(&model->users, &model->rest.users, id);
}

int32_t cw_model_find_guest_item(const cw_model *model, const char *id)
{
    return find_guest(&model->items, &model->rest.items, id);
}

const char *cw_model_user_id(const cw_model *model, int32_t user)
{
    return id_of(&model->users, &model->rest.users, user);
}

const char *cw_model_item_id(const cw_model *model, int32_t item)
{
    return id_of(&model->items, &model->rest.items, item);
}

int32_t cw_model_find_user(const cw_model *model, const char *id)
{
    return cwi_idmap_find(&model->users, id, strlen(id));
}

int32_t cw_model_find_item(const cw_model *model, const char *id)
{
    return cwi_idmap_find(&model->items, id, strlen(id));
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
    json_t *about = NULL;
    cw_options *options = NULL;
    cw_status status = model->about ? cwi_json_reparse(ctx, model->about, &about) : CW_OK;
    if (status == CW_OK)
        status =
            cwi_train_reread(ctx, method, backbone, json_object_get(about, "options"), &options);
    json_decref(about);
    if (status == CW_OK) {
        cwi_shape shape =
            cwi_method_shape(method, options, model->n_users, model->n_items, &model->seen);
        status = cwi_method_rank(ctx, method, backbone, &shape, options, &model->params, out);
        if (status == CW_OK && model->term) {
            status = cwi_ranker_shift(ctx, model->term, out);
            if (status != CW_OK) cwi_ranker_close(out);
        }
    }
    cw_options_free(options);
    return status;
}
