/* alike.c - lists from items: for a history, and of similar items. */
#include <math.h>
#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "recommend/recommend.h"

static cw_status fail_unknown_item(cw_context *ctx, const char *id)
{
    char excerpt[48];
    return cwi_fail(ctx, CW_BAD_ARG, "there is no item '%s' in the model",
                    cwi_excerpt(id, strlen(id), excerpt));
}

/* ---- a history ------------------------------------------------------------------ */

/* Numbers of the items, ascending and distinct. */
static cw_status find_items(cw_context *ctx, const cwi_request *request, const char *const *ids,
                            size_t n_ids, int32_t *out, int32_t *count)
{
    size_t n_unknown = 0;
    int32_t n = 0;
    for (size_t k = 0; k < n_ids; k++) {
        int32_t item = cwi_idmap_find(&request->model->items, ids[k], strlen(ids[k]));
        if (item < 0 && !request->skips_unknown) return fail_unknown_item(ctx, ids[k]);
        n_unknown += item < 0;
        if (item >= 0) out[n++] = item;
    }
    if (n_unknown > 0)
        cwi_log(ctx, CW_LOG_WARNING, "%zu of %zu items are not in the model and were left out",
                n_unknown, n_ids);
    if (n == 0) return cwi_fail(ctx, CW_BAD_ARG, "the history has no item that the model knows");
    *count = cwi_sort_distinct(out, n);
    return CW_OK;
}

cw_status cw_recommend_history(cw_context *ctx, const cw_model *model, const char *const *items,
                               size_t n_items, const cw_options *options, cw_recommendation_fn give,
                               void *user)
{
    cw_status status;
    cwi_request request;
    int32_t *liked = NULL, n_liked = 0;
    float *score = NULL;

    cwi_begin(ctx);
    CW_TRY(cwi_request_open(ctx, model, options, give, user, &request));
    if (!request.ranker.fold_in)
        CW_TRY(cwi_fail(ctx, CW_UNSUPPORTED, "backbone %s has no way to recommend from a history",
                        model->backbone));
    if (n_items > INT32_MAX)
        CW_TRY(cwi_fail(ctx, CW_BAD_ARG, "a history of %zu items is too long", n_items));
    liked = cwi_alloc(ctx, n_items, sizeof *liked);
    score = cwi_alloc(ctx, (size_t)model->n_items, sizeof *score);
    status = CW_NO_MEMORY;
    if (!liked || !score) goto done;
    CW_TRY(find_items(ctx, &request, items, n_items, liked, &n_liked));
    CW_TRY(request.ranker.fold_in(ctx, &request.ranker, liked, n_liked, score));
    CW_TRY(cwi_request_give_one(ctx, &request, "", score, liked, n_liked));
done:
    cwi_free(liked);
    cwi_free(score);
    cwi_request_close(&request);
    return status;
}

/* ---- similar items -------------------------------------------------------------- */

static double dot(const float *a, const float *b, int32_t width)
{
    double sum = 0.0;
    for (int32_t d = 0; d < width; d++) sum += (double)a[d] * (double)b[d];
    return sum;
}

/* Cosines of one item's vector with all; 0 where a vector has no direction. */
static void score_alike(const cwi_ranker *ranker, int32_t item, float *out)
{
    int64_t width = ranker->width;
    const float *own = ranker->items + item * width;
    double length = sqrt(dot(own, own, ranker->width));
    for (int32_t i = 0; i < ranker->n_items; i++) {
        const float *other = ranker->items + i * width;
        double both = length * sqrt(dot(other, other, ranker->width));
        out[i] = both > 0.0 ? (float)(dot(own, other, ranker->width) / both) : 0.0f;
    }
}

cw_status cw_similar_items(cw_context *ctx, const cw_model *model, const char *item,
                           const cw_options *options, cw_recommendation_fn give, void *user)
{
    cw_status status;
    cwi_request request;
    float *score = NULL;

    cwi_begin(ctx);
    CW_TRY(cwi_request_open(ctx, model, options, give, user, &request));
    if (!request.ranker.items)
        CW_TRY(cwi_fail(ctx, CW_UNSUPPORTED, "backbone %s has no item vectors to compare",
                        model->backbone));
    int32_t found = cwi_idmap_find(&model->items, item, strlen(item));
    if (found < 0) CW_TRY(fail_unknown_item(ctx, item));
    score = cwi_alloc(ctx, (size_t)model->n_items, sizeof *score);
    status = CW_NO_MEMORY;
    if (!score) goto done;
    score_alike(&request.ranker, found, score);
    request.leaves_seen = true; /* an item is no neighbour of itself */
    CW_TRY(cwi_request_give_one(ctx, &request, cwi_idmap_text(&model->items, found), score, &found,
                                1));
done:
    cwi_free(score);
    cwi_request_close(&request);
    return status;
}
