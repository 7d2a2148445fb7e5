/* fuzz_trip_model.c - any model, written and read back, is the same; the file with any byte changed
 * is refused. */
#include "core/mem.h"
#include "fuzzing.h"
#include "model/modelfile.h"

enum { MOST = 6 };

static void make_seen(cw_context *ctx, tape *t, cw_model *model)
{
    int32_t user[4 * MOST], item[4 * MOST];
    int64_t n = take_number(t, 0, 4 * MOST);
    for (int64_t k = 0; k < n; k++) {
        user[k] = (int32_t)take_number(t, 0, model->n_users - 1);
        item[k] = (int32_t)take_number(t, 0, model->n_items - 1);
    }
    must_work(ctx, cwi_csr_create(ctx, user, item, n, model->n_users, &model->seen));
    cwi_csr_sort(&model->seen);
}

/* Any rows of users; there are no guests. */
static void make_hidden(cw_context *ctx, tape *t, cw_model *model)
{
    int32_t user[MOST], item[MOST];
    int64_t n = take_number(t, 0, MOST);
    for (int64_t k = 0; k < n; k++) {
        user[k] = (int32_t)take_number(t, 0, model->n_users - 1);
        item[k] = (int32_t)take_number(t, 0, model->n_items - 1);
    }
    if (n == 0) return;
    must_work(ctx, cwi_csr_create(ctx, user, item, n, model->n_users, &model->rest.hidden));
    cwi_csr_sort(&model->rest.hidden);
}

static void compare_hidden(const cwi_csr *a, const cwi_csr *b)
{
    size_t n = (size_t)a->n_rows;
    must(a->n_rows == b->n_rows && !a->start == !b->start);
    if (!a->start) return;
    must(memcmp(a->start, b->start, (n + 1) * sizeof *a->start) == 0);
    must(memcmp(a->value, b->value, (size_t)a->start[n] * sizeof *a->value) == 0);
}

static void make_terms(cw_context *ctx, tape *t, cw_model *model)
{
    if (take_number(t, 0, 1) == 0) return;
    model->term = cwi_alloc(ctx, (size_t)model->n_items, sizeof *model->term);
    must(model->term != NULL);
    for (int32_t i = 0; i < model->n_items; i++) model->term[i] = take_float(t);
}

static cw_model *make(cw_context *ctx, tape *t)
{
    cw_model *model;
    cwi_tensor *tensor;
    must_work(ctx, cwi_model_create(ctx, &model));
    model->n_users = (int32_t)take_number(t, 1, MOST);
    model->n_items = (int32_t)take_number(t, 1, MOST);
    strcpy(model->method, "bpr");
    strcpy(model->backbone, "mf");
    take_ids(ctx, t, model->n_users, &model->users);
    take_ids(ctx, t, model->n_items, &model->items);
    make_seen(ctx, t, model);
    model->degree = cwi_alloc(ctx, (size_t)model->n_items, sizeof *model->degree);
    must(model->degree != NULL);
    for (int32_t i = 0; i < model->n_items; i++)
        model->degree[i] = take_number(t, 0, INT64_MAX - 1);
    int64_t rows = model->n_users + model->n_items, columns = take_number(t, 1, 4);
    must_work(ctx, cwi_params_add(ctx, &model->params, "embeddings", rows, columns, &tensor));
    for (int64_t k = 0; k < rows * columns; k++) tensor->data[k] = take_float(t);
    model->about = cwi_strdup(ctx, "{\"seed\":1}");
    must(model->about != NULL);
    make_hidden(ctx, t, model);
    make_terms(ctx, t, model);
    return model;
}

static void compare(const cw_model *a, const cw_model *b)
{
    size_t n_users = (size_t)a->n_users, n_items = (size_t)a->n_items;
    const cwi_tensor *x = &a->params.tensor[0], *y = &b->params.tensor[0];
    must(a->n_users == b->n_users && a->n_items == b->n_items && b->params.count == 1);
    must(strcmp(a->method, b->method) == 0 && strcmp(a->backbone, b->backbone) == 0);
    must(strcmp(a->about, b->about) == 0);
    compare_ids(&a->users, &b->users);
    compare_ids(&a->items, &b->items);
    must(memcmp(a->degree, b->degree, n_items * sizeof *a->degree) == 0);
    must(memcmp(a->seen.start, b->seen.start, (n_users + 1) * sizeof *a->seen.start) == 0);
    must(memcmp(a->seen.value, b->seen.value,
                (size_t)a->seen.start[n_users] * sizeof *a->seen.value) == 0);
    compare_hidden(&a->rest.hidden, &b->rest.hidden);
    must(!a->term == !b->term);
    if (a->term) must(memcmp(a->term, b->term, n_items * sizeof *a->term) == 0);
    must(x->rows == y->rows && x->columns == y->columns && strcmp(x->name, y->name) == 0);
    must(memcmp(x->data, y->data, (size_t)(x->rows * x->columns) * sizeof *x->data) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cw_context *ctx = open_context();
    tape t = {data, size};
    place path = fresh("model.safetensors");
    cw_model *read;

    cw_model *model = make(ctx, &t);
    must_work(ctx, cw_model_save(ctx, model, path.path));
    must_work(ctx, cw_model_load(ctx, path.path, &read));
    compare(model, read);
    cw_model_free(read);

    damage(&t, path.path);
    cw_status status = cw_model_load(ctx, path.path, &read);
    must(status != CW_OK && !read);
    check_status(ctx, status);
    cw_model_free(model);
    cw_context_free(ctx);
    return 0;
}
