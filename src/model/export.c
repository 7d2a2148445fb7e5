/* export.c - a model described as JSON, and written out for other programs. */
#include <string.h>
#include <sys/stat.h>

#include "core/file.h"
#include "core/json.h"
#include "core/mem.h"
#include "core/text.h"
#include "model/modelfile.h"
#include "prepare/npy.h"

/* ---- description -------------------------------------------------------------- */

static json_t *describe_tensors(const cwi_params *params)
{
    json_t *list = json_array();
    for (int t = 0; t < params->count; t++) {
        const cwi_tensor *tensor = &params->tensor[t];
        json_t *entry = json_pack("{s:s, s:[I,I]}", "name", tensor->name, "shape",
                                  (json_int_t)tensor->rows, (json_int_t)tensor->columns);
        cwi_json_add(&list, entry);
    }
    return list;
}

static cw_status describe(cw_context *ctx, const cw_model *model, char **out)
{
    json_int_t parameters = 0;
    json_t *about;
    *out = NULL;
    CW_PASS(cwi_json_reparse(ctx, model->about ? model->about : "{}", &about));
    for (int t = 0; t < model->params.count; t++)
        parameters += model->params.tensor[t].rows * model->params.tensor[t].columns;
    json_t *root =
        json_pack("{s:s, s:s, s:i, s:i, s:I, s:I, s:o, s:o}", "method", model->method, "backbone",
                  model->backbone, "users", model->n_users, "items", model->n_items, "train_rows",
                  (json_int_t)model->seen.start[model->n_users], "parameters", parameters,
                  "tensors", describe_tensors(&model->params), "about", about);
    if (model->term) cwi_json_set(&root, "item_terms", json_true());
    if (cwi_model_count_hidden(model) > 0)
        cwi_json_set(&root, "hidden_rows", json_integer(cwi_model_count_hidden(model)));
    return cwi_json_text(ctx, root, out);
}

cw_status cw_model_info(cw_context *ctx, const cw_model *model, char **json)
{
    cwi_begin(ctx);
    return describe(ctx, model, json);
}

/* ---- export ------------------------------------------------------------------- */

static cw_status write_matrix(cw_context *ctx, const char *folder, const char *name, int64_t rows,
                              int64_t columns, const float *data)
{
    const cwi_npy array = {.kind = CWI_NPY_FLOAT32, .n_dims = 2, .shape = {rows, columns}};
    char *path = cwi_format(ctx, "%s/%s.npy", folder, name);
    if (!path) return CW_NO_MEMORY;
    cw_status status = cwi_npy_write(ctx, path, &array, data);
    cwi_free(path);
    return status;
}

static cw_status write_params(cw_context *ctx, const char *folder, const cwi_params *params)
{
    char *inner = cwi_path_join(ctx, folder, "params");
    if (!inner) return CW_NO_MEMORY;
    cw_status status = mkdir(inner, 0777) == 0 ? CW_OK : cwi_fail_errno(ctx, "create", inner);
    for (int t = 0; t < params->count && status == CW_OK; t++) {
        const cwi_tensor *tensor = &params->tensor[t];
        status =
            write_matrix(ctx, inner, tensor->name, tensor->rows, tensor->columns, tensor->data);
    }
    cwi_free(inner);
    return status;
}

static cw_status write_vectors(cw_context *ctx, const char *folder, const cwi_ranker *ranker)
{
    cw_status status = CW_OK;
    if (ranker->users)
        status = write_matrix(ctx, folder, "user_vectors", ranker->n_users, ranker->width,
                              ranker->users);
    if (ranker->items && status == CW_OK)
        status = write_matrix(ctx, folder, "item_vectors", ranker->n_items, ranker->width,
                              ranker->items);
    return status;
}

/* Line k is id k, so a line break within an id has to be refused. */
static cw_status write_ids(cw_context *ctx, const char *folder, const char *name,
                           const cwi_idmap *map)
{
    cwi_writer *writer;
    cw_status status = cwi_writer_open_in(ctx, folder, name, &writer);
    for (int32_t k = 0; k < map->count && status == CW_OK; k++) {
        const char *id = cwi_idmap_text(map, k);
        if (strpbrk(id, "\r\n"))
            status = cwi_fail(ctx, CW_BAD_DATA,
                              "id %d of %s has a line break; it cannot be a line of a text file", k,
                              name);
        cwi_writer_text(writer, id);
        cwi_writer_put(writer, "\n", 1);
    }
    return cwi_writer_end(ctx, writer, status);
}

static cw_status write_terms(cw_context *ctx, const char *folder, const cw_model *model)
{
    return model->term ? write_matrix(ctx, folder, "item_terms", model->n_items, 1, model->term)
                       : CW_OK;
}

static cw_status write_info(cw_context *ctx, const char *folder, const cw_model *model)
{
    cw_status status;
    cwi_writer *writer = NULL;
    char *json = NULL;
    CW_TRY(describe(ctx, model, &json));
    CW_TRY(cwi_writer_open_in(ctx, folder, "model.json", &writer));
    cwi_writer_text(writer, json);
    cwi_writer_put(writer, "\n", 1);
done:
    cwi_free(json);
    return cwi_writer_end(ctx, writer, status);
}

static bool owns(const char *path)
{
    static const char inner[] = "params/";
    static const char files[] =
        "user_vectors.npy|item_vectors.npy|item_terms.npy|users.txt|items.txt|model.json|params/";
    const size_t head = sizeof inner - 1;
    return cwi_word_index(files, path) >= 0 ||
           (strncmp(path, inner, head) == 0 && cwi_ends_with(path + head, ".npy"));
}

const cwi_folder_kind cwi_export_kind = {"model.json", owns};

cw_status cw_model_export(cw_context *ctx, const cw_model *model, const char *folder, bool replace)
{
    cw_status status;
    cwi_folder *work = NULL;
    cwi_ranker ranker = {0};

    cwi_begin(ctx);
    CW_TRY(cwi_model_rank(ctx, model, &ranker));
    CW_TRY(cwi_ranker_bring_all(ctx, &ranker));
    CW_TRY(cwi_params_complete(ctx, &model->params));
    CW_TRY(cwi_folder_begin(ctx, folder, replace, &cwi_export_kind, &work));
    const char *path = cwi_folder_path(work);
    CW_TRY(write_vectors(ctx, path, &ranker));
    CW_TRY(write_terms(ctx, path, model));
    CW_TRY(write_params(ctx, path, &model->params));
    CW_TRY(write_ids(ctx, path, "users.txt", &model->users));
    CW_TRY(write_ids(ctx, path, "items.txt", &model->items));
    CW_TRY(write_info(ctx, path, model));
done:
    cwi_ranker_close(&ranker);
    return cwi_folder_end(ctx, work, status);
}
