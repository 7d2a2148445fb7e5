/* fuzz_compare.c - any bytes as the record of a run, which is compared with a good one. */
#include "fuzzing.h"

static cw_options *options;
static bytes base;

/* A dataset, a run on it, its model, and the same model once more under the name of the input. */
static void prepare(void)
{
    cw_context *ctx = open_context();
    cw_dataset *data = make_dataset(ctx);
    cw_options *training = training_options(ctx);
    cw_model *model;
    char *run;

    must_work(ctx, cw_dataset_save(ctx, data, scratch("data").path, false));
    must_work(ctx, cw_train(ctx, data, training, &model, &run));
    must_work(ctx, cw_model_save(ctx, model, scratch("good.safetensors").path));
    must_work(ctx, cw_model_save(ctx, model, scratch("input.safetensors").path));
    write_text(scratch("good.run.json").path, run);
    base = read_bytes(scratch("good.run.json").path);
    options = make_options(ctx, "compare", (const char *const[][2]){{"bootstrap", "3"}, {0}});
    must_work(ctx, cw_options_set(ctx, options, "data", scratch("data").path));
    cw_text_free(run);
    cw_model_free(model);
    cw_options_free(training);
    cw_dataset_free(data);
    cw_context_free(ctx);
}

static void compare(const char *const *paths, size_t n)
{
    cw_context *ctx = open_context();
    char *json;
    cw_status status = cw_compare(ctx, paths, n, options, &json);
    check_status(ctx, status);
    must((status == CW_OK) == (json != NULL));
    json_t *result = json ? json_loads(json, 0, NULL) : NULL;
    must((result != NULL) == (json != NULL));
    json_decref(result);
    cw_text_free(json);
    cw_context_free(ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!options) prepare();
    place good = scratch("good.run.json"), input = scratch("input.run.json");
    const char *const paths[] = {good.path, input.path, good.path};
    bytes file = change_json(&base, data, size);

    write_bytes(input.path, file);
    compare(paths, 2);
    compare(paths + 1, 2);
    free(file.at);
    return 0;
}
