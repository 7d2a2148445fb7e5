/* request.c - the options of recommending, and what every kind of list has in common. */
#include <stdlib.h>
#include <string.h>

#include "core/elementary.h"
#include "core/mem.h"
#include "core/option_rows.h"
#include "core/text.h"
#include "import/source.h"
#include "recommend/recommend.h"

enum { MAX_LINES = 10000000 }; /* of a list of items; no catalogue is near it */

const cw_option_info cwi_recommend_options[] = {
    WHOLE("k", "10", 1, 1000000,
          "length of a list; it is shorter when there are not as many items"),
    TEXT("exclude", "seen",
         "what to leave out: seen (the train items of each user), none, or a file with one item "
         "id a line that nobody shall get, in addition to seen"),
    REAL("popularity", "0", -1000000, 1000000,
         "rank by score + popularity * ln(1 + train rows of the item): above 0 favours popular "
         "items, below 0 rare ones"),
    FLAG("skip-unknown",
         "leave out ids that the model does not know, with a warning, in place of failing"),
    {0}};

/* ---- opening ------------------------------------------------------------------ */

static int by_item(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

int32_t cwi_sort_distinct(int32_t *item, int32_t n)
{
    int32_t kept = 0;
    qsort(item, (size_t)n, sizeof *item, by_item);
    for (int32_t k = 0; k < n; k++)
        if (kept == 0 || item[kept - 1] != item[k]) item[kept++] = item[k];
    return kept;
}

/* Mark the items that a list names.  Those that the model does not know cannot turn up. */
static cw_status mark_listed(cw_context *ctx, cwi_source *source, const cwi_idmap *items,
                             bool *is_listed)
{
    int64_t n_unknown = 0;
    size_t length;
    const char *line;

    for (;;) {
        cw_status status = cwi_source_line(ctx, source, &line, &length);
        if (status != CW_OK) return status;
        if (!line) break;
        if (cwi_source_line_number(source) > MAX_LINES)
            return cwi_source_fail(ctx, source, CW_BAD_DATA, "a list may have %d lines and no more",
                                   MAX_LINES);
        if (length > CWI_MAX_ID_BYTES)
            return cwi_source_fail(ctx, source, CW_BAD_DATA, "a line may have %d bytes and no more",
                                   CWI_MAX_ID_BYTES);
        int32_t item = length > 0 ? cwi_idmap_find(items, line, length) : -1;
        if (item >= 0)
            is_listed[item] = true;
        else
            n_unknown += length > 0;
    }
    if (n_unknown > 0)
        cwi_log(ctx, CW_LOG_WARNING, "%s: %lld items are not in the model", cwi_source_name(source),
                (long long)n_unknown);
    return CW_OK;
}

/* Read the items that nobody shall get, in memory that the model bounds and not the list. */
static cw_status read_listed(cw_context *ctx, cwi_source *source, cwi_request *request)
{
    cw_status status = CW_NO_MEMORY;
    int32_t n_items = request->model->n_items, n = 0;
    bool *is_listed = cwi_alloc_zero(ctx, (size_t)n_items, sizeof *is_listed);
    if (!is_listed) goto done;
    CW_TRY(mark_listed(ctx, source, &request->model->items, is_listed));
    for (int32_t i = 0; i < n_items; i++) n += is_listed[i];
    request->excluded = cwi_alloc(ctx, (size_t)n, sizeof *request->excluded);
    if (!request->excluded) {
        status = CW_NO_MEMORY;
        goto done;
    }
    for (int32_t i = 0; i < n_items; i++)
        if (is_listed[i]) request->excluded[request->n_excluded++] = i;
done:
    cwi_free(is_listed);
    return status;
}

static cw_status read_exclusion(cw_context *ctx, const char *text, cwi_request *request)
{
    cwi_source *source;
    request->leaves_seen = strcmp(text, "none") != 0;
    if (!request->leaves_seen || strcmp(text, "seen") == 0) return CW_OK;
    if (text[0] == '\0')
        return cwi_fail(ctx, CW_BAD_ARG, "exclude is empty; it must be seen, none or a file");
    cw_status status = cwi_source_open(ctx, text, &source);
    if (status == CW_OK) status = read_listed(ctx, source, request);
    cwi_source_close(source);
    return status;
}

static cw_status set_bonus(cw_context *ctx, double popularity, cwi_request *request)
{
    const cw_model *model = request->model;
    if (popularity == 0.0) return CW_OK;
    request->bonus = cwi_alloc(ctx, (size_t)model->n_items, sizeof *request->bonus);
    if (!request->bonus) return CW_NO_MEMORY;
    for (int32_t i = 0; i < model->n_items; i++)
        request->bonus[i] = popularity * cwi_log1p((double)model->degree[i]);
    return CW_OK;
}

cw_status cwi_request_open(cw_context *ctx, const cw_model *model, const cw_options *options,
                           cw_recommendation_fn give, void *user, cwi_request *out)
{
    cw_status status;
    cw_options *defaults = NULL;

    *out = (cwi_request){.model = model, .give = give, .user = user};
    CW_TRY(cwi_options_check(ctx, options, "recommend"));
    if (!options) {
        CW_TRY(cwi_options_create(ctx, "recommend", cwi_recommend_options, &defaults));
        options = defaults;
    }
    int64_t k = cwi_options_integer(options, "k");
    out->k = k < model->n_items ? (int32_t)k : model->n_items;
    out->skips_unknown = cwi_options_flag(options, "skip-unknown");
    CW_TRY(read_exclusion(ctx, cwi_options_text(options, "exclude"), out));
    CW_TRY(set_bonus(ctx, cwi_options_real(options, "popularity"), out));
    CW_TRY(cwi_model_rank(ctx, model, &out->ranker));
    out->ids = cwi_alloc(ctx, (size_t)out->k, sizeof *out->ids);
    out->scores = cwi_alloc(ctx, (size_t)out->k, sizeof *out->scores);
    if (!out->ids || !out->scores) status = CW_NO_MEMORY;
done:
    cw_options_free(defaults);
    return status;
}

void cwi_request_close(cwi_request *request)
{
    cwi_ranker_close(&request->ranker);
    cwi_free(request->bonus);
    cwi_free(request->excluded);
    cwi_free((void *)request->ids);
    cwi_free(request->scores);
    *request = (cwi_request){0};
}

/* ---- lists -------------------------------------------------------------------- */

/* Both ascending lists in one, each item once. */
static int64_t merge(const int32_t *a, int64_t n_a, const int32_t *b, int64_t n_b, int32_t *out)
{
    int64_t at = 0, bt = 0, n = 0;
    while (at < n_a || bt < n_b) {
        int32_t next = bt == n_b || (at < n_a && a[at] < b[bt]) ? a[at++] : b[bt++];
        if (n == 0 || out[n - 1] != next) out[n++] = next;
    }
    return n;
}

int32_t cwi_request_pick(const cwi_request *request, float *score, const int32_t *seen,
                         int64_t n_seen, int32_t *scratch, cwi_ranked *out)
{
    int32_t n_items = request->model->n_items;
    if (!request->leaves_seen) n_seen = 0;
    if (request->bonus)
        for (int32_t i = 0; i < n_items; i++)
            score[i] = (float)((double)score[i] + request->bonus[i]);
    if (request->n_excluded > 0) {
        n_seen = merge(seen, n_seen, request->excluded, request->n_excluded, scratch);
        seen = scratch;
    }
    return cwi_topk(score, n_items, seen, n_seen, request->k, out);
}

cw_status cwi_request_give(cw_context *ctx, cwi_request *request, const char *user,
                           const cwi_ranked *list, int32_t count)
{
    for (int32_t r = 0; r < count; r++) {
        request->ids[r] = cwi_idmap_text(&request->model->items, list[r].item);
        request->scores[r] = list[r].score;
    }
    const cw_recommendation given = {
        .user = user, .count = (size_t)count, .items = request->ids, .scores = request->scores};
    if (request->give(request->user, &given)) return CW_OK;
    return cwi_fail(ctx, CW_CANCELLED, "stopped by the receiver of the lists");
}

cw_status cwi_request_fail_nan(cw_context *ctx)
{
    return cwi_fail(ctx, CW_BAD_DATA, "the model gives a score that is not a number");
}

cw_status cwi_request_give_one(cw_context *ctx, cwi_request *request, const char *user,
                               float *score, const int32_t *seen, int64_t n_seen)
{
    cw_status status = CW_NO_MEMORY;
    int32_t *scratch = cwi_alloc(ctx, (size_t)request->model->n_items, sizeof *scratch);
    cwi_ranked *list = cwi_alloc(ctx, (size_t)request->k, sizeof *list);
    if (!scratch || !list) goto done;
    int32_t count = cwi_request_pick(request, score, seen, n_seen, scratch, list);
    status =
        count < 0 ? cwi_request_fail_nan(ctx) : cwi_request_give(ctx, request, user, list, count);
done:
    cwi_free(scratch);
    cwi_free(list);
    return status;
}
