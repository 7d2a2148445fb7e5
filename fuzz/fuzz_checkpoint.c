/* fuzz_checkpoint.c - any bytes as a checkpoint: training goes on from it, or says why not.  The
 * first byte chooses the optimiser.  After a '%' every line "ARRAY INDEX NUMBER" sets a number of a
 * good checkpoint. */
#include "fuzzing.h"
#include "train/train.h"

enum { N_KINDS = 2 };

static cw_dataset *data_set;
static cw_options *options[N_KINDS];
static bytes base[N_KINDS];

/* A checkpoint of either kind, after the last epoch. */
static void prepare(void)
{
    static const char *const names[N_KINDS] = {"adam", "adam-deferred"};
    cw_context *ctx = open_context();
    cw_model *model;
    data_set = make_dataset(ctx);
    for (int k = 0; k < N_KINDS; k++) {
        place file = fresh("checkpoint");
        options[k] = training_options(ctx);
        must_work(ctx, cw_options_set(ctx, options[k], "optimizer", names[k]));
        must_work(ctx, cw_options_set(ctx, options[k], "checkpoint", file.path));
        must_work(ctx, cw_options_set(ctx, options[k], "checkpoint-end", "on"));
        must_work(ctx, cw_train(ctx, data_set, options[k], &model, NULL));
        cw_model_free(model);
        base[k] = read_bytes(file.path);
        must_work(ctx, cw_options_set(ctx, options[k], "resume", "on"));
        must_work(ctx, cw_options_set(ctx, options[k], "epochs", "3"));
    }
    cw_context_free(ctx);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size == 0) return 0;
    if (!data_set) prepare();
    int kind = data[0] % N_KINDS;
    cw_context *ctx = open_context();
    cwi_trainer *trainer;
    bytes file = change_tensors(&base[kind], "crosswise-checkpoint", data + 1, size - 1);

    sign_tensors(&file);
    write_bytes(scratch("checkpoint").path, file);
    cw_status status = cwi_trainer_create(ctx, data_set, options[kind], &trainer);
    check_status(ctx, status);
    if (status == CW_OK) check_status(ctx, cwi_trainer_run(trainer));
    cwi_trainer_free(trainer);
    free(file.at);
    cw_context_free(ctx);
    return 0;
}
