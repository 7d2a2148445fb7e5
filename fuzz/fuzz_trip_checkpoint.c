/* fuzz_trip_checkpoint.c - any state of training, kept and taken up again, is the same; a
 * checkpoint with any byte changed is refused.  The first byte chooses the optimiser. */
#include "fuzzing.h"
#include "model/tensorfile.h"
#include "train/train.h"

enum { N_KINDS = 3 };

static cw_dataset *data_set;
static cw_options *options[N_KINDS];

static void prepare(void)
{
    static const char *const names[N_KINDS] = {"adam", "adam-deferred", "adam-lazy"};
    cw_context *ctx = open_context();
    data_set = make_dataset(ctx);
    for (int k = 0; k < N_KINDS; k++) {
        options[k] = training_options(ctx);
        must_work(ctx, cw_options_set(ctx, options[k], "optimizer", names[k]));
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
    static cwi_state state;
    must_work(trainer->ctx, trainer->engine->verbs->read(trainer->engine, &state));
    for (int k = 0; k < state.count; k++) {
        const cwi_state_array *array = &state.array[k];
        int64_t n = array->dtype == CWI_F32 ? array->rows * array->columns : 0;
        for (int64_t e = 0; e < n && t->left > 0; e++) ((float *)array->data)[e] = take_float(t);
    }
    trainer->tally.data_loss = (double)take_float(t);
}

static void compare_state(const cwi_trainer *a, const cwi_trainer *b)
{
    static cwi_state x, y;
    must_work(a->ctx, a->engine->verbs->read(a->engine, &x));
    must_work(b->ctx, b->engine->verbs->read(b->engine, &y));
    must(x.count == y.count);
    for (int k = 0; k < x.count; k++) {
        const cwi_state_array *left = &x.array[k], *right = &y.array[k];
        size_t n = (size_t)(left->rows * (left->columns ? left->columns : 1));
        must(strcmp(left->name, right->name) == 0 && left->dtype == right->dtype);
        must(left->rows == right->rows && left->columns == right->columns);
        must(n == 0 || memcmp(left->data, right->data, n * cwi_dtype_bytes[left->dtype]) == 0);
    }
}

static void compare(const cwi_trainer *a, const cwi_trainer *b)
{
    must(a->epoch == b->epoch && a->tally.applied == b->tally.applied);
    must(a->tally.steps == b->tally.steps && a->tally.data_loss == b->tally.data_loss);
    must(a->stopper.worse == b->stopper.worse);
    compare_state(a, b);
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
