/* refold.c - a model in which some users had other items, without training. */
#include <string.h>

#include "backend/backend.h"
#include "core/text.h"
#include "recommend/recommend.h"
#include "score/foldin.h"

/* What is to change. */
typedef struct change {
    const cw_recommender *rec;
    const int32_t *users;
    const int64_t *start;
    const int32_t *items;
    size_t n;
    int32_t n_users;  /* afterwards */
    int64_t *entry;   /* [n_users] which of the n is a user's, -1: none; the last of several */
    bool has_vectors; /* of users, as rows of the table */
} change;

static bool is_one_of(const char *word, const char *const *words)
{
    while (*words && strcmp(*words, word) != 0) words++;
    return *words != NULL;
}

/* Does a user's row of the model, or of the table, say all about the user? */
static cw_status check_backbone(cw_context *ctx, change *c)
{
    static const char *const by_table[] = {"mf", "als", NULL};
    static const char *const by_items[] = {"ease", "itemknn", "vae", "pop", NULL};
    const cw_model *model = c->rec->model;

    c->has_vectors = is_one_of(model->backbone, by_table);
    if (model->term)
        return cwi_fail(ctx, CW_UNSUPPORTED,
                        "users of a model with item terms cannot be folded in for good");
    if (c->has_vectors || is_one_of(model->backbone, by_items)) return CW_OK;
    return cwi_fail(ctx, CW_UNSUPPORTED,
                    "backbone %s makes vectors of users from the whole log: they cannot be folded "
                    "in for good",
                    model->backbone);
}

static cw_status check_users(cw_context *ctx, change *c)
{
    const cw_model *model = c->rec->model;
    enum { MOST = 1 << 30 };

    CW_PASS(cwi_check_numbers(ctx, "users", c->users, c->n, MOST));
    CW_PASS(cwi_check_rows(ctx, "items", c->start, c->items, c->n, model->n_items));
    c->n_users = model->n_users;
    for (size_t k = 0; k < c->n; k++) {
        if (c->start[k] == c->start[k + 1])
            return cwi_fail(ctx, CW_BAD_ARG, "user %d has no items to be folded in from",
                            (int)c->users[k]);
        if (c->users[k] >= c->n_users) c->n_users = c->users[k] + 1;
    }
    if (c->n_users == model->n_users ||
        (!cwi_model_has_guests(model) && cwi_model_count_hidden(model) == 0))
        return CW_OK;
    return cwi_fail(ctx, CW_UNSUPPORTED,
                    "the model has guests or hidden rows: it takes no users beyond its %d",
                    (int)model->n_users);
}

static cw_status find_entries(cw_context *ctx, change *c, cwi_pile *pile)
{
    c->entry = cwi_pile_add(ctx, pile, (size_t)c->n_users, sizeof *c->entry);
    CW_PASS(pile->status);
    for (int32_t u = 0; u < c->n_users; u++) c->entry[u] = -1;
    for (size_t k = 0; k < c->n; k++) c->entry[c->users[k]] = (int64_t)k;
    return CW_OK;
}

static cw_status add_ids(cw_context *ctx, const change *c, cw_model *to)
{
    char digits[CWI_NUMBER_BYTES];
    for (int32_t u = to->n_users; u < c->n_users; u++) {
        int32_t number;
        size_t length = cwi_print_int(u, digits);
        if (cwi_idmap_find(&to->users, digits, length) >= 0)
            return cwi_fail(ctx, CW_UNSUPPORTED, "user %s is in the model under another number",
                            digits);
        CW_PASS(cwi_idmap_add(ctx, &to->users, digits, length, &number));
    }
    to->n_users = c->n_users;
    return CW_OK;
}

/* Rows of before and of the change, ascending and distinct. */
static cw_status replace_seen(cw_context *ctx, const change *c, cw_model *to)
{
    const cwi_csr *old = &c->rec->model->seen;
    cwi_csr out = {.n_rows = c->n_users};
    int64_t most = old->start[old->n_rows] + c->start[c->n] - c->start[0], used = 0;

    out.start = cwi_alloc_zero(ctx, (size_t)c->n_users + 1, sizeof *out.start);
    out.value = cwi_alloc(ctx, (size_t)most, sizeof *out.value);
    cwi_csr_clear(&to->seen);
    to->seen = out;
    if (!out.start || !out.value) return CW_NO_MEMORY;
    for (int32_t u = 0; u < c->n_users; u++) {
        int64_t own[2] = {0, 0};
        cwi_csr row = {.n_rows = 1, .start = own, .value = out.value + used};
        const int32_t *from = NULL;
        if (c->entry[u] >= 0) {
            from = c->items + c->start[c->entry[u]];
            own[1] = c->start[c->entry[u] + 1] - c->start[c->entry[u]];
        } else if (u < old->n_rows) {
            from = old->value + old->start[u];
            own[1] = old->start[u + 1] - old->start[u];
        }
        if (own[1] > 0) memcpy(row.value, from, (size_t)own[1] * sizeof *from);
        if (c->entry[u] >= 0) cwi_sort_distinct(&row);
        used += own[1];
        out.start[u + 1] = used;
    }
    return CW_OK;
}

/* The table with rows for new users, all zero, between the old ones and the items. */
static cw_status grow_table(cw_context *ctx, const change *c, const cwi_tensor *old,
                            cwi_params *params, float **out)
{
    cwi_tensor *table;
    size_t width = (size_t)old->columns, users = (size_t)c->rec->model->n_users;
    size_t rest = (size_t)old->rows - users;

    CW_PASS(cwi_params_add(ctx, params, old->name, (int64_t)((size_t)c->n_users + rest),
                           old->columns, &table));
    memcpy(table->data, old->data, users * width * sizeof *old->data);
    memcpy(table->data + (size_t)c->n_users * width, old->data + users * width,
           rest * width * sizeof *old->data);
    *out = table->data;
    return CW_OK;
}

static cw_status fold_vectors(cw_context *ctx, const change *c, const cw_model *to, float *table)
{
    const cwi_ranker *ranker = &c->rec->ranker;
    for (int32_t u = 0; u < c->n_users; u++) {
        if (c->entry[u] < 0) continue;
        int64_t begin = to->seen.start[u], count = to->seen.start[u + 1] - begin;
        float *vector = table + (int64_t)u * ranker->width;
        CW_PASS(cwi_progress(ctx, "folding in", u, c->n_users));
        CW_PASS(cwi_foldin_vector(ctx, ranker, to->seen.value + begin, (int32_t)count, vector));
        if (ranker->is_cosine) (void)cwi_ops_best()->normalise(vector, ranker->width, vector);
    }
    return CW_OK;
}

static cw_status copy_params(cw_context *ctx, const change *c, cw_model *to)
{
    const cwi_params *old = &c->rec->model->params;
    float *table;

    if (!c->has_vectors) return cwi_params_copy(ctx, old, &to->params);
    if (old->count != 1 || old->tensor[0].columns != c->rec->ranker.width ||
        old->tensor[0].rows < c->rec->model->n_users)
        return cwi_fail(ctx, CW_UNSUPPORTED,
                        "method %s has more than one vector for a user: they cannot be folded in "
                        "for good",
                        c->rec->model->method);
    CW_PASS(cwi_params_complete(ctx, old));
    CW_PASS(grow_table(ctx, c, &old->tensor[0], &to->params, &table));
    return fold_vectors(ctx, c, to, table);
}

static cw_status make_model(cw_context *ctx, const change *c, cw_model *to)
{
    const cw_model *from = c->rec->model;

    cwi_copy_text(to->method, sizeof to->method, from->method);
    cwi_copy_text(to->backbone, sizeof to->backbone, from->backbone);
    CW_PASS(cwi_model_copy_data(ctx, from, to));
    if (cwi_model_count_hidden(to) == 0) cwi_csr_clear(&to->rest.hidden); /* of fewer users */
    CW_PASS(add_ids(ctx, c, to));
    CW_PASS(replace_seen(ctx, c, to));
    CW_PASS(copy_params(ctx, c, to));
    to->about = from->about ? cwi_strdup(ctx, from->about) : NULL;
    return from->about && !to->about ? CW_NO_MEMORY : CW_OK;
}

cw_status cw_model_fold_users(cw_context *ctx, const cw_recommender *rec, const int32_t *users,
                              const int64_t *start, const int32_t *items, size_t n, cw_model **out)
{
    cw_status status;
    cwi_pile pile = {0};
    cw_model *model = NULL;
    change c = {.rec = rec, .users = users, .start = start, .items = items, .n = n};

    cwi_begin(ctx);
    *out = NULL;
    CW_TRY(cwi_check_given(ctx, "the recommender", rec));
    CW_TRY(check_backbone(ctx, &c));
    CW_TRY(check_users(ctx, &c));
    CW_TRY(find_entries(ctx, &c, &pile));
    CW_TRY(cwi_model_create(ctx, &model));
    CW_TRY(make_model(ctx, &c, model));
    *out = model;
done:
    if (status != CW_OK) cw_model_free(model);
    cwi_pile_clear(&pile);
    return status;
}
