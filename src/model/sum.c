/* sum.c - two models whose scores are added up, as one. */
#include <math.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/text.h"
#include "model/model.h"
#include "prepare/rest.h"

/* The rows of one side by side with those of the other: both ends of a product take the root of its
 * weight, so that products add up and lengths stay comparable. */
static void put_vectors(const float *from, int64_t rows, int32_t width, double weight, float *to,
                        int32_t stride)
{
    float root = (float)sqrt(weight);
    for (int64_t r = 0; r < rows; r++)
        for (int32_t c = 0; c < width; c++) to[r * stride + c] = root * from[r * width + c];
}

static cw_status join_vectors(cw_context *ctx, const cwi_ranker ranker[2], const double weight[2],
                              cwi_params *params)
{
    cwi_tensor *out;
    int64_t n_users = ranker[0].n_users, n_items = ranker[0].n_items;
    int32_t at = 0, width = ranker[0].width + ranker[1].width;
    CW_PASS(cwi_params_add(ctx, params, "embeddings", n_users + n_items, width, &out));
    for (int m = 0; m < 2; m++) {
        const cwi_ranker *r = &ranker[m];
        put_vectors(r->users, n_users, r->width, weight[m], out->data + at, width);
        put_vectors(r->items, n_items, r->width, weight[m], out->data + n_users * width + at,
                    width);
        at += r->width;
    }
    return CW_OK;
}

/* Of one whose words are lost there is still the name. */
static json_t *describe_part(const cw_model *part, double weight, json_t *about)
{
    return json_pack("{s:s, s:s, s:f, s:O*}", "method", part->method, "backbone", part->backbone,
                     "weight", weight, "options", json_object_get(about, "options"));
}

/* The words of the first, but for the options, which are those of plain vectors. */
static cw_status join_words(cw_context *ctx, const cw_model *const *part, const double weight[2],
                            int64_t width, cw_model *out)
{
    cw_status status;
    json_t *about[2] = {NULL, NULL}, *all = NULL;
    for (int m = 0; m < 2; m++)
        CW_TRY(cwi_json_reparse(ctx, part[m]->about ? part[m]->about : "{}", &about[m]));
    all = cwi_json_copy(about[0]);
    cwi_json_set(&all, "options", json_pack("{s:I}", "dim", (json_int_t)width));
    cwi_json_set(&all, "sum",
                 json_pack("{s:o, s:o}", "first", describe_part(part[0], weight[0], about[0]),
                           "second", describe_part(part[1], weight[1], about[1])));
    CW_TRY(cwi_json_check(ctx, all));
    CW_TRY(cwi_json_text(ctx, json_incref(all), &out->about));
done:
    json_decref(all);
    json_decref(about[0]);
    json_decref(about[1]);
    return status;
}

static cw_status copy_common(cw_context *ctx, const cw_model *from, cw_model *to)
{
    cwi_copy_text(to->method, sizeof to->method, "bpr"); /* plain vectors, whoever made them */
    cwi_copy_text(to->backbone, sizeof to->backbone, "mf");
    return cwi_model_copy_data(ctx, from, to);
}

cw_status cwi_model_sum(cw_context *ctx, const cw_model *const *part, const double weight[2],
                        cw_model **out)
{
    cw_status status;
    cwi_ranker ranker[2] = {{0}};
    cw_model *sum = NULL;

    *out = NULL;
    CW_TRY(cwi_model_create(ctx, &sum));
    for (int m = 0; m < 2; m++) {
        CW_TRY(cwi_model_rank(ctx, part[m], &ranker[m]));
        CW_TRY(cwi_ranker_bring_all(ctx, &ranker[m]));
    }
    CW_TRY(copy_common(ctx, part[0], sum));
    CW_TRY(join_vectors(ctx, ranker, weight, &sum->params));
    CW_TRY(join_words(ctx, part, weight, ranker[0].width + ranker[1].width, sum));
    *out = sum;
    sum = NULL;
done:
    cwi_ranker_close(&ranker[0]);
    cwi_ranker_close(&ranker[1]);
    cw_model_free(sum);
    return status;
}
