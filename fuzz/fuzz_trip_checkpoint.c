/* fuzz_trip_checkpoint.c - any state of training, kept and taken up again, is the same; a
 * checkpoint with any byte changed is refused.  The first byte chooses the optimiser. */
#include "fuzzing.h"
#include "train/train.h"

enum { N_KINDS = 3 };

static cw_dataset *data_set;
static cw_options *options[N_KINDS];

static void prepare(void)
{
    static const char *const adam[N_KINDS] = {"dense", "deferred", "lazy"};
    cw_context *ctx = open_context();
    data_set = make_dataset(ctx);
    for (int k = 0; k < N_KINDS; k++) {
        options[k] = training_options(ctx);
        must_work(ctx, cw_options_set(ctx, options[k], "adam", adam[k]));
        must_work(ctx, cw_options_set(ctx, options[k], "checkpoint", scratch("state").path));
    }
    cw_context_free(ctx);
}

static bool count_down(void *user, const char *stage, int64_t done, int64_t total)
{
    int64_t *left = user;
    (void)stage;
    (void)done;
    (void)total;
    return (*left)-- > 0;
}

/* Some steps, then any parameters, moments and sum. */
static void make_state(tape *t, cwi_trainer *trainer)
{
    int64_t left = take_number(t, 0, 12);
    cw_context_set_progress(trainer->ctx, count_down, &left);
    cw_status status = cwi_trainer_run(trainer);
    cw_context_set_progress(trainer->ctx, NULL, NULL);
    must(status == CW_OK || status == CW_CANCELLED);
    cwi_begin(trainer->ctx);
    cwi_params *const all[] = {&trainer->params, &trainer->adam.m, &trainer->adam.v};
    for (size_t p = 0; p < 3; p++)
        for (int k = 0; k < all[p]->count; k++) {
            cwi_tensor *tensor = &all[p]->tensor[k];
            int64_t n = tensor->rows * tensor->columns;
            for (int64_t e = 0; e < n && t->left > 0; e++) tensor->data[e] = take_float(t);
        }
    trainer->tally.data_loss = (double)take_float(t);
}

static void compare_params(const cwi_params *a, const cwi_params *b)
{
    must(a->count == b->count);
    for (int k = 0; k < a->count; k++) {
        const cwi_tensor *x = &a->tensor[k], *y = &b->tensor[k];
        must(x->rows == y->rows && x->columns == y->columns);
        must(memcmp(x->data, y->data, (size_t)(x->rows * x->columns) * sizeof *x->data) == 0);
    }
}

static void compare(const cwi_trainer *a, const cwi_trainer *b)
{
    must(a->epoch == b->epoch && a->adam.step == b->adam.step);
    must(a->tally.steps == b->tally.steps && a->tally.data_loss == b->tally.data_loss);
    must(a->stopper.worse == b->stopper.worse);
    compare_params(&a->params, &b->params);
    compare_params(&a->adam.m, &b->adam.m);
    compare_params(&a->adam.v, &b->adam.v);
    if (a->adam.mode != CWI_ADAM_DEFERRED) return;
    size_t rows = (size_t)a->params.tensor[0].rows;
    must(memcmp(a->adam.mark, b->adam.mark, rows * sizeof *a->adam.mark) == 0);
    must(memcmp(a->adam.blocks, b->adam.blocks,
                rows * (size_t)a->adam.block.width * sizeof *a->adam.blocks) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    cw_context *ctx = open_context();
    tape t = {data, size};
    cwi_trainer *made, *read;

    if (!data_set) prepare();
    cw_options *with = options[take_byte(&t) % N_KINDS];
    (void)fresh("state");
    must_work(ctx, cw_options_set(ctx, with, "resume", "off"));
    must_work(ctx, cwi_trainer_create(ctx, data_set, with, &made));
    make_state(&t, made);
    must_work(ctx, cwi_checkpoint_save(made));
    must_work(ctx, cw_options_set(ctx, with, "resume", "on"));
    must_work(ctx, cwi_trainer_create(ctx, data_set, with, &read));
    compare(made, read);
    cwi_trainer_free(read);
    cwi_trainer_free(made);
    damage(&t, scratch("state").path);
    cw_status status = cwi_trainer_create(ctx, data_set, with, &read);
    must(status != CW_OK && !read);
    check_status(ctx, status);
    cw_context_free(ctx);
    return 0;
}
