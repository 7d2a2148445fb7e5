/* fuzz_model.c - any bytes as a model file: what is accepted can be ranked by, and nobody gets what
 * is hidden from them. */
#include "fuzzing.h"
#include "model/modelfile.h"

static void rank(cw_context *ctx, const cw_model *model)
{
    cwi_ranker ranker;
    if (cwi_model_rank(ctx, model, &ranker) != CW_OK) return;
    const int32_t last = model->n_users - 1;
    float *score = calloc((size_t)model->n_items, sizeof *score);
    if (score) ranker.score(&ranker, &last, 1, score);
    free(score);
    cwi_ranker_close(&ranker);
}

/* The first of a list for the last one, a guest where there is any. */
static void list(cw_context *ctx, cw_model *model)
{
    const int32_t last = cw_model_users(model) + cw_model_guest_users(model) - 1;
    const cwi_csr *hidden = &model->rest.hidden;
    cw_recommender *rec;
    int32_t item = -1;
    if (cw_recommender_open(ctx, model, &rec) != CW_OK) return;
    cw_status status = cw_recommend(ctx, rec, &last, 1, NULL, &(cw_lists){.k = 1, .items = &item});
    if (status == CW_OK && item >= 0 && hidden->start) must(!cwi_csr_has(hidden, last, item));
    cw_recommender_close(rec);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cw_context *ctx = open_context();
    cw_model *model;
    bytes file = change_bytes(&(bytes){0}, data, size);

    sign_tensors(&file);
    cw_status status = cwi_model_parse(ctx, "input", file.at, file.size, &model);
    free(file.at);
    must((status == CW_OK) == (model != NULL));
    check_status(ctx, status);
    must(!strchr(cw_context_error(ctx), '\n'));
    if (model) rank(ctx, model);
    if (model) list(ctx, model);
    cw_model_free(model);
    cw_context_free(ctx);
    return 0;
}
