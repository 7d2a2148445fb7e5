/* explain.c - what a user had, and why they get an item. */
#include <math.h>

#include "recommend/recommend.h"

size_t cw_user_items(const cw_recommender *rec, int32_t user, const int32_t **items)
{
    const cw_model *model = rec->model;
    bool is_guest = user >= model->n_users;
    const cwi_csr *rows = is_guest ? &model->rest.rows : &model->seen;
    int64_t row = is_guest ? (int64_t)user - model->n_users : user;
    *items = NULL;
    if (row < 0 || row >= (is_guest ? model->rest.users.count : model->n_users)) return 0;
    *items = rows->value + rows->start[row];
    return (size_t)(rows->start[row + 1] - rows->start[row]);
}

static cw_status check_question(cw_context *ctx, const cw_recommender *rec, const int32_t *history,
                                size_t n, int32_t item, const float *added)
{
    CW_PASS(cwi_check_given(ctx, "the recommender", rec));
    if (!rec->ranker.explain)
        return cwi_fail(ctx, CW_UNSUPPORTED,
                        "backbone %s cannot say what an item adds to the score of another",
                        rec->model->backbone);
    if (n == 0) return cwi_fail(ctx, CW_BAD_ARG, "a history needs at least one item");
    if (n > INT32_MAX) return cwi_fail(ctx, CW_BAD_ARG, "a history of %zu items is too long", n);
    CW_PASS(cwi_check_numbers(ctx, "history", history, n, rec->model->n_items));
    CW_PASS(cwi_check_numbers(ctx, "item", &item, 1, rec->model->n_items));
    return cwi_check_given(ctx, "added", added);
}

cw_status cw_explain(cw_context *ctx, const cw_recommender *rec, const int32_t *history, size_t n,
                     int32_t item, float *added, float *score)
{
    cwi_begin(ctx);
    CW_PASS(check_question(ctx, rec, history, n, item, added));
    CW_PASS(rec->ranker.explain(ctx, &rec->ranker, history, (int32_t)n, item, added));
    double sum = rec->model->term ? (double)rec->model->term[item] : 0.0;
    for (size_t k = 0; k < n; k++) sum += (double)added[k];
    if (!isfinite(sum)) return cwi_fail_nan(ctx);
    if (score) *score = (float)sum;
    return CW_OK;
}
