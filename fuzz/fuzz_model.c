/* fuzz_model.c - any bytes as a model file: what is accepted can be ranked by. */
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
    cw_model_free(model);
    cw_context_free(ctx);
    return 0;
}
