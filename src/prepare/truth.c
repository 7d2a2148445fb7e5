/* truth.c - the true model behind a simulated dataset. */
#include "prepare/truth.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "core/elementary.h"
#include "core/file.h"
#include "core/json.h"
#include "core/mem.h"
#include "core/text.h"
#include "prepare/npy.h"

/* ---- memory ---------------------------------------------------------------- */

typedef struct array {
    const char *file;  /* in the folder truth/ */
    float **values;    /* of a truth: [rows] or [rows][dim] */
    int64_t rows, dim; /* dim is 0 for one number a row */
    float least, most; /* what the model allows */
} array;

enum { N_ARRAYS = 6 };

/* The arrays of a truth, so that all of them are treated alike. */
static void list_arrays(cwi_truth *t, int32_t n_users, int32_t n_items, array out[N_ARRAYS])
{
    const float any = HUGE_VALF;
    const array arrays[N_ARRAYS] = {
        {"user_factors.npy", &t->user_factors, n_users, t->dim, -any, any},
        {"item_factors.npy", &t->item_factors, n_items, t->dim, -any, any},
        {"item_quality.npy", &t->item_quality, n_items, 0, -any, any},
        {"user_propensity.npy", &t->user_propensity, n_users, 0, 0.0f, 1.0f},
        {"item_propensity.npy", &t->item_propensity, n_items, 0, 0.0f, 1.0f},
        {"user_conformity.npy", &t->user_conformity, n_users, 0, 0.0f, any},
    };
    memcpy(out, arrays, sizeof arrays);
}

static size_t row_length(const array *a)
{
    return a->dim > 0 ? (size_t)a->dim : 1;
}

cw_status cwi_truth_create(cw_context *ctx, int32_t n_users, int32_t n_items, int32_t dim,
                           cwi_truth **out)
{
    array arrays[N_ARRAYS];

    *out = NULL;
    cwi_truth *truth = cwi_alloc_zero(ctx, 1, sizeof *truth);
    if (!truth) return CW_NO_MEMORY;
    truth->dim = dim;
    list_arrays(truth, n_users, n_items, arrays);
    for (int a = 0; a < N_ARRAYS; a++) {
        size_t row_bytes = row_length(&arrays[a]) * sizeof(float);
        *arrays[a].values = cwi_alloc_zero(ctx, (size_t)arrays[a].rows, row_bytes);
        if (!*arrays[a].values) {
            cwi_truth_free(truth);
            return CW_NO_MEMORY;
        }
    }
    *out = truth;
    return CW_OK;
}

void cwi_truth_free(cwi_truth *truth)
{
    array arrays[N_ARRAYS];
    if (!truth) return;
    list_arrays(truth, 0, 0, arrays);
    for (int a = 0; a < N_ARRAYS; a++) cwi_free(*arrays[a].values);
    cwi_pairs_clear(&truth->uniform);
    cwi_free(truth);
}

static void copy_rows(const array *from, const int32_t *which, array *to)
{
    size_t length = row_length(to);
    for (int64_t r = 0; r < to->rows; r++)
        memcpy(*to->values + (size_t)r * length, *from->values + (size_t)which[r] * length,
               length * sizeof(float));
}

cw_status cwi_truth_select(cw_context *ctx, const cwi_truth *from, const int32_t *users,
                           int32_t n_users, const int32_t *items, int32_t n_items, cwi_truth **out)
{
    array old[N_ARRAYS], new[N_ARRAYS];
    cwi_truth source = *from;
    CW_PASS(cwi_truth_create(ctx, n_users, n_items, from->dim, out));
    (*out)->offset = from->offset;
    (*out)->alpha = from->alpha;
    list_arrays(&source, n_users, n_items, old);
    list_arrays(*out, n_users, n_items, new);
    for (int a = 0; a < N_ARRAYS; a++)
        copy_rows(&old[a], strncmp(new[a].file, "user", 4) == 0 ? users : items, &new[a]);
    return CW_OK;
}

/* ---- formulas -------------------------------------------------------------- */

double cwi_truth_taste(const cwi_truth *truth, int32_t user, int32_t item)
{
    const float *x = truth->user_factors + (int64_t)user * truth->dim;
    const float *y = truth->item_factors + (int64_t)item * truth->dim;
    double sum = (double)truth->item_quality[item];
    for (int32_t d = 0; d < truth->dim; d++) sum += (double)x[d] * (double)y[d];
    return sum;
}

double cwi_truth_relevance(const cwi_truth *truth, int32_t user, int32_t item)
{
    return 1.0 / (1.0 + cwi_exp(-(truth->offset + cwi_truth_taste(truth, user, item))));
}

double cwi_truth_exposure(const cwi_truth *truth, int32_t user, int32_t item)
{
    double propensity =
        (double)truth->user_propensity[user] *
        cwi_pow((double)truth->item_propensity[item], (double)truth->user_conformity[user]);
    return propensity * cwi_pow(cwi_truth_relevance(truth, user, item), truth->alpha);
}

cw_status cw_dataset_relevance(cw_context *ctx, const cw_dataset *dataset, int32_t user,
                               double *relevance)
{
    cwi_begin(ctx);
    if (!dataset->truth)
        return cwi_fail(ctx, CW_BAD_ARG,
                        "the dataset is not simulated, so what is relevant is not known");
    if (user < 0 || user >= dataset->n_users)
        return cwi_fail(ctx, CW_BAD_ARG, "there is no user %d; there are 0 to %d", user,
                        dataset->n_users - 1);
    for (int32_t i = 0; i < dataset->n_items; i++)
        relevance[i] = cwi_truth_relevance(dataset->truth, user, i);
    return CW_OK;
}

/* ---- files ----------------------------------------------------------------- */

const char *const cwi_truth_files[] = {"truth/truth.json",          "truth/user_factors.npy",
                                       "truth/item_factors.npy",    "truth/item_quality.npy",
                                       "truth/user_propensity.npy", "truth/item_propensity.npy",
                                       "truth/user_conformity.npy", NULL};

static cw_status save_numbers(cw_context *ctx, const cwi_truth *truth, const char *folder)
{
    char offset[CWI_NUMBER_BYTES], alpha[CWI_NUMBER_BYTES], text[3 * CWI_NUMBER_BYTES + 64];
    cwi_writer *writer;
    CW_PASS(cwi_writer_open_in(ctx, folder, "truth.json", &writer));
    cwi_print_real(truth->offset, offset);
    cwi_print_real(truth->alpha, alpha);
    snprintf(text, sizeof text, "{\"dim\": %d, \"offset\": %s, \"alpha\": %s}\n", (int)truth->dim,
             offset, alpha);
    cwi_writer_text(writer, text);
    return cwi_writer_close(ctx, writer, NULL);
}

static cw_status save_array(cw_context *ctx, const array *a, const char *folder)
{
    cwi_npy shape = {.kind = CWI_NPY_FLOAT32,
                     .n_dims = a->dim > 0 ? 2 : 1,
                     .shape = {a->rows, a->dim > 0 ? a->dim : 1}};
    char *path = cwi_path_join(ctx, folder, a->file);
    cw_status status = path ? cwi_npy_write(ctx, path, &shape, *a->values) : CW_NO_MEMORY;
    cwi_free(path);
    return status;
}

cw_status cwi_truth_save(cw_context *ctx, const cwi_truth *truth, int32_t n_users, int32_t n_items,
                         const char *folder)
{
    array arrays[N_ARRAYS];
    cwi_truth source = *truth;
    char *path = cwi_path_join(ctx, folder, "truth");
    cw_status status;

    if (!path) return CW_NO_MEMORY;
    CW_TRY(mkdir(path, 0777) == 0 ? CW_OK : cwi_fail_errno(ctx, "create", path));
    CW_TRY(save_numbers(ctx, truth, path));
    list_arrays(&source, n_users, n_items, arrays);
    for (int a = 0; a < N_ARRAYS; a++) CW_TRY(save_array(ctx, &arrays[a], path));
done:
    cwi_free(path);
    return status;
}

static cw_status load_numbers(cw_context *ctx, const char *folder, cwi_truth *truth)
{
    json_t *root;
    char *path = cwi_path_join(ctx, folder, "truth.json");
    if (!path) return CW_NO_MEMORY;
    cw_status status = cwi_json_load(ctx, path, &root);
    double dim = cwi_json_to_number(json_object_get(root, "dim"));

    truth->offset = cwi_json_to_number(json_object_get(root, "offset"));
    truth->alpha = cwi_json_to_number(json_object_get(root, "alpha"));
    if (status != CW_OK)
        ; /* said already */
    else if (!(dim >= 1 && dim <= INT32_MAX && dim == floor(dim)))
        status = cwi_fail(ctx, CW_BAD_DATA, "%s: dim must be a whole number, 1 or more", path);
    else if (!isfinite(truth->offset) || !isfinite(truth->alpha) || truth->alpha < 0)
        status = cwi_fail(ctx, CW_BAD_DATA, "%s: offset and alpha must be numbers, alpha 0 or more",
                          path);
    else
        truth->dim = (int32_t)dim;
    json_decref(root);
    cwi_free(path);
    return status;
}

static cw_status check_array(cw_context *ctx, const char *path, const array *a, const cwi_npy *got)
{
    int dims = a->dim > 0 ? 2 : 1;
    if (got->kind != CWI_NPY_FLOAT32)
        return cwi_fail(ctx, CW_BAD_DATA, "%s: the numbers must be float32", path);
    if (got->n_dims != dims || got->shape[0] != a->rows || got->shape[1] != (int64_t)row_length(a))
        return cwi_fail(ctx, CW_BAD_DATA,
                        "%s: the shape is %lld x %lld in %d dimensions; it must be %lld x %lld in "
                        "%d",
                        path, (long long)got->shape[0], (long long)got->shape[1], got->n_dims,
                        (long long)a->rows, (long long)row_length(a), dims);
    for (int64_t k = 0; k < a->rows * (int64_t)row_length(a); k++) {
        float value = (*a->values)[k];
        if (!isfinite(value) || value < a->least || value > a->most)
            return cwi_fail(ctx, CW_BAD_DATA, "%s: number %lld is %g, which the model forbids",
                            path, (long long)k, (double)value);
    }
    return CW_OK;
}

static cw_status load_array(cw_context *ctx, const char *folder, const array *a)
{
    cwi_npy got;
    void *values = NULL;
    cw_status status;
    char *path = cwi_path_join(ctx, folder, a->file);

    if (!path) return CW_NO_MEMORY;
    CW_TRY(cwi_npy_read(ctx, path, &got, &values));
    *a->values = values;
    CW_TRY(check_array(ctx, path, a, &got));
done:
    cwi_free(path);
    return status;
}

cw_status cwi_truth_load(cw_context *ctx, const char *folder, int32_t n_users, int32_t n_items,
                         cwi_truth **out)
{
    array arrays[N_ARRAYS];
    cwi_truth *truth = NULL;
    cw_status status = CW_OK;

    *out = NULL;
    char *path = cwi_path_join(ctx, folder, "truth");
    if (!path) return CW_NO_MEMORY;
    if (!cwi_path_is_folder(path)) goto done;
    truth = cwi_alloc_zero(ctx, 1, sizeof *truth);
    CW_TRY(truth ? CW_OK : CW_NO_MEMORY);
    CW_TRY(load_numbers(ctx, path, truth));
    list_arrays(truth, n_users, n_items, arrays);
    for (int a = 0; a < N_ARRAYS; a++) CW_TRY(load_array(ctx, path, &arrays[a]));
    *out = truth;
    truth = NULL;
done:
    cwi_truth_free(truth);
    cwi_free(path);
    return status;
}
