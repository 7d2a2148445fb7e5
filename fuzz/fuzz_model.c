/* fuzz_model.c - any bytes as a model file: what is accepted can be ranked by. */
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "model/modelfile.h"
#include "model/tensorfile.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

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

/* The checksum is made right, since no fuzzer would ever guess it. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char digits[CWI_CHECKSUM_DIGITS + 1];
    cw_context *ctx;
    cw_model *model;

    if (cw_context_create(&ctx) != CW_OK) return 0;
    char *bytes = malloc(size + !size);
    if (!bytes) abort();
    if (size > 0) memcpy(bytes, data, size);
    if (size >= CWI_CHECKSUM_AT + CWI_CHECKSUM_DIGITS) {
        cwi_tensorfile_checksum(bytes, size, digits);
        memcpy(bytes + CWI_CHECKSUM_AT, digits, CWI_CHECKSUM_DIGITS);
    }
    cw_status status = cwi_model_parse(ctx, "input", bytes, size, &model);
    free(bytes);
    if ((status == CW_OK) != (model != NULL)) abort();
    if (status != CW_OK && ctx->error[0] == '\0') abort();
    if (strchr(ctx->error, '\n')) abort();
    if (model) rank(ctx, model);
    cw_model_free(model);
    cw_context_free(ctx);
    return 0;
}
