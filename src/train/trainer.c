/* trainer.c - epochs, evaluations, early stopping. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"
#include "core/numbers.h"
#include "core/text.h"
#include "prepare/propensity.h"
#include "train/train.h"

/* ---- make and free ---------------------------------------------------------- */

cw_status cwi_pace_parse(cw_context *ctx, const char *text, cwi_pace *out)
{
    size_t length = strlen(text);
    bool is_time = length > 1 && text[length - 1] == 's';
    double value;

    *out = (cwi_pace){0};
    if (cwi_parse_real(text, length - is_time, &value) && value >= 0 && value < 1e9 &&
        (is_time || value == floor(value))) {
        if (is_time)
            out->seconds = value;
        else
            out->epochs = (int64_t)value;
        return CW_OK;
    }
    return cwi_fail(ctx, CW_BAD_ARG,
                    "--checkpoint-every is '%s'; it must be a number of epochs, or of seconds "
                    "followed by s",
                    text);
}

/* Terms that look at vectors: the method's own, and the L2 term of a batch. */
static cw_status open_penalties(cwi_trainer *t, int64_t max_slots)
{
    cw_status status = CW_OK;
    t->extra.penalty = t->method->penalty;
    if (t->extra.penalty)
        CW_TRY(t->extra.penalty->open(t->ctx, &t->shape, t->options, max_slots, &t->extra.state));
    if (cwi_options_choice(t->options, "reg-kind") == 1 &&
        cwi_options_real(t->options, "reg") > 0) {
        t->batch_l2.penalty = &cwi_penalty_batch_l2;
        CW_TRY(t->batch_l2.penalty->open(t->ctx, &t->shape, t->options, max_slots,
                                         &t->batch_l2.state));
        const char *target = cw_options_get(t->options, "reg-target");
        if (target && strcmp(target, "final") == 0) t->extra.next = &t->batch_l2;
    }
done:
    return status;
}

/* What training on rows of slots needs. */
static cw_status open_slots(cwi_trainer *t, cwi_adam_room *room)
{
    cw_status status;
    int64_t max_slots;
    size_t heads = (size_t)t->shape.heads;

    CW_TRY(t->method->sampler->open(t->ctx, &t->training, t->options, &max_slots, &t->sampler));
    CW_TRY(t->backbone->open(t->ctx, &t->shape, t->options, &t->params, max_slots, &t->scorer));
    CW_TRY(open_penalties(t, max_slots));
    CW_TRY(cwi_batch_create(t->ctx, max_slots, &t->batch));
    CW_TRY(cwi_batch_create(t->ctx, max_slots, &t->ahead.batch));
    t->ahead.context.threads = 1;
    t->score = cwi_alloc(t->ctx, (size_t)max_slots, heads * sizeof *t->score);
    t->slope = cwi_alloc(t->ctx, (size_t)max_slots, heads * sizeof *t->slope);
    t->margin = cwi_alloc(t->ctx, (size_t)max_slots, sizeof *t->margin);
    t->work = cwi_alloc(t->ctx, (size_t)max_slots, sizeof *t->work);
    if (!t->score || !t->slope || !t->margin || !t->work) status = CW_NO_MEMORY;
    if (t->backbone->reads_places && !t->extra.penalty && !t->batch_l2.penalty)
        *room = (cwi_adam_room){max_slots < t->shape.n_users ? max_slots : t->shape.n_users,
                                max_slots < t->shape.n_items ? max_slots : t->shape.n_items};
done:
    return status;
}

/* What every way of training needs; an epoch is one pass over the interactions, or over the users
 * where a step takes users. */
static cw_status open_parts(cwi_trainer *t)
{
    cw_status status;
    int64_t examples = t->method->sampler ? t->training.count : t->shape.n_users;
    cwi_adam_room room = {0};
    if (t->method->sampler)
        CW_TRY(open_slots(t, &room));
    else
        CW_TRY(t->backbone->open(t->ctx, &t->shape, t->options, &t->params, 0, &t->scorer));
    CW_TRY(cwi_adam_create(t->ctx, &t->params, t->options, room, &t->adam));
    t->steps_per_epoch = examples / cwi_options_integer(t->options, "batch");
    if (t->steps_per_epoch == 0) t->steps_per_epoch = 1;
done:
    return status;
}

/* Propensities of the user's file, with their checksum. */
static cw_status read_propensities(cwi_trainer *t, const char *path, double *out)
{
    cw_status status;
    cwi_source *source = NULL;
    cwi_digest digest = {0};

    CW_TRY(cwi_source_open(t->ctx, path, &source));
    CW_TRY(cwi_propensity_read(t->ctx, source, &t->dataset->items, out));
    cwi_digest_numbers(&digest, out, (size_t)t->dataset->n_items, sizeof *out);
    cwi_digest_print(&digest, t->propensity_hash);
done:
    cwi_source_close(source);
    return status;
}

static cw_status prepare_propensities(cwi_trainer *t)
{
    cwi_training *training = &t->training;
    const char *path = cw_options_get(t->options, "propensity");
    if (!path) return CW_OK; /* the method has no use for them */

    training->propensity =
        cwi_alloc(t->ctx, (size_t)training->n_items, sizeof *training->propensity);
    if (!training->propensity) return CW_NO_MEMORY;
    if (path[0] != '\0') return read_propensities(t, path, training->propensity);
    cwi_propensity_fill(training->degree, training->n_items,
                        cwi_options_real(t->options, "propensity-power"), training->propensity);
    return CW_OK;
}

static cw_status prepare_data(cwi_trainer *t)
{
    cw_status status;
    const cwi_pairs *train = &t->dataset->part[CW_PART_TRAIN];
    if (train->count == 0)
        return cwi_fail(t->ctx, CW_BAD_DATA, "there is nothing to train on: train is empty");
    CW_TRY(
        cwi_training_create(t->ctx, t->dataset->n_users, t->dataset->n_items, train, &t->training));
    CW_TRY(cwi_treatment_load(t));
    CW_TRY(prepare_propensities(t));
    t->shape = cwi_method_shape(t->method, t->options, t->dataset->n_users, t->dataset->n_items,
                                &t->training.by_user);
    CW_TRY(t->backbone->declare(t->ctx, &t->shape, t->options, &t->params));
    cwi_dataset_hash(t->dataset, t->data_hash);
done:
    return status;
}

bool cwi_trainer_learns(const cwi_trainer *t)
{
    return t->method->sampler || t->backbone->learn;
}

cw_status cwi_trainer_create(cw_context *ctx, const cw_dataset *dataset, const cw_options *options,
                             cwi_trainer **out)
{
    cw_status status;
    *out = NULL;
    cwi_trainer *t = cwi_alloc_zero(ctx, 1, sizeof *t);
    if (!t) return CW_NO_MEMORY;
    t->ctx = ctx;
    t->dataset = dataset;
    t->epochs = json_array();
    status = t->epochs ? CW_OK : cwi_fail(ctx, CW_NO_MEMORY, "out of memory");
    if (status != CW_OK) goto done;
    CW_TRY(cwi_train_settle(ctx, options, &t->options, &t->method, &t->backbone));
    CW_TRY(cwi_metric_parse(ctx, cwi_options_text(t->options, "metric"), t->metric, &t->metric_k));
    CW_TRY(cwi_pace_parse(ctx, cwi_options_text(t->options, "checkpoint-every"), &t->pace));
    CW_TRY(cwi_checkpoint_check(t));
    CW_TRY(prepare_data(t));
    if (cwi_trainer_learns(t)) {
        cwi_params_init(t->options, t->shape.n_users, &t->params);
        CW_TRY(open_parts(t));
        if (cwi_options_flag(t->options, "resume")) CW_TRY(cwi_checkpoint_load(t));
    }
    *out = t;
done:
    if (status != CW_OK) cwi_trainer_free(t);
    return status;
}

void cwi_trainer_free(cwi_trainer *t)
{
    if (!t) return;
    (void)cwi_trainer_await(t); /* it draws into what is freed here */
    if (t->method && t->method->sampler) t->method->sampler->close(t->sampler);
    if (t->extra.penalty) t->extra.penalty->close(t->extra.state);
    if (t->batch_l2.penalty) t->batch_l2.penalty->close(t->batch_l2.state);
    if (t->backbone && t->backbone->close) t->backbone->close(t->scorer);
    cwi_batch_clear(&t->batch);
    cwi_batch_clear(&t->ahead.batch);
    cwi_free(t->score);
    cwi_free(t->slope);
    cwi_free(t->margin);
    cwi_free(t->work);
    cwi_adam_clear(&t->adam);
    cwi_params_clear(&t->params);
    cwi_params_clear(&t->best);
    cwi_training_clear(&t->training);
    cw_options_free(t->options);
    json_decref(t->epochs);
    cwi_free(t);
}

/* ---- one epoch -------------------------------------------------------------- */

/* Low acceptance is said once; none at all is an error. */
static cw_status check_luck(cwi_trainer *t)
{
    const cwi_luck *luck = &t->tally.luck;
    int64_t accepted = 0;
    if (!t->method->sampler) return CW_OK;
    for (int g = 0; g < CWI_MAX_GROUPS && luck->slots[g] > 0; g++) {
        accepted += luck->accepted[g];
        double rate = luck->attempts[g] ? (double)luck->accepted[g] / (double)luck->attempts[g] : 1;
        if (rate >= 0.5 || t->has_warned) continue;
        t->has_warned = true;
        cwi_log(t->ctx, CW_LOG_WARNING,
                "only %.1f %% of the samples drawn for k = %lld were accepted: the data are dense",
                100 * rate, (long long)luck->slots[g] / 2);
    }
    if (accepted > 0) return CW_OK;
    return cwi_fail(
        t->ctx, CW_BAD_DATA,
        "no valid sample was found in a whole epoch: nearly every user has nearly every "
        "item, so there is nothing to learn from");
}

static bool is_time_to_save(const cwi_trainer *t)
{
    return t->pace.seconds > 0 && cwi_seconds_since(&t->saved_at) > t->pace.seconds;
}

/* Stop where we are, with the state kept. */
static cw_status save_and_stop(cwi_trainer *t, cw_status reason)
{
    cw_status saved = cwi_checkpoint_save(t);
    return saved == CW_OK ? reason : saved;
}

static cw_status run_steps(cwi_trainer *t)
{
    cw_status status = CW_OK;
    char stage[48];

    snprintf(stage, sizeof stage, "training, epoch %lld", (long long)t->epoch + 1);
    if (t->tally.steps == 0) t->tally.reg_at_start = cwi_trainer_reg(t);
    while (t->tally.steps < t->steps_per_epoch) {
        status = cwi_progress(t->ctx, stage, t->tally.steps, t->steps_per_epoch);
        if (status == CW_CANCELLED) return save_and_stop(t, status);
        if (status == CW_OK) status = cwi_trainer_step(t);
        if (status == CW_OK && is_time_to_save(t)) status = cwi_checkpoint_save(t);
        if (status != CW_OK) return status;
    }
    return status;
}

/* Bring the parameters to rest and check them, so that no broken state is ever saved. */
static cw_status close_epoch(cwi_trainer *t)
{
    cw_status status = cwi_adam_settle(t->ctx, &t->adam, &t->params);
    if (status == CW_OK) status = check_luck(t);
    if (status != CW_OK) return status;
    double reg = cwi_trainer_reg(t);
    if (isnan(t->tally.reg_loss)) /* only known at both ends of the epoch */
        t->tally.reg_loss = (t->tally.reg_at_start + reg) / 2 * (double)t->tally.trained;
    if (isfinite(reg)) return CW_OK;
    return cwi_fail(t->ctx, CW_BAD_DATA,
                    "the parameters are not numbers any more (epoch %lld); try a smaller --lr "
                    "than %g",
                    (long long)t->epoch + 1, t->adam.clock.lr);
}

/* ---- evaluation ------------------------------------------------------------- */

cw_status cwi_trainer_rank(const cwi_trainer *t, const cwi_params *params, cwi_ranker *out)
{
    return cwi_method_rank(t->ctx, t->method, t->backbone, &t->shape, t->options, params, out);
}

static cw_status evaluate_valid(cwi_trainer *t, cwi_metrics *out)
{
    cwi_ranker ranker = {0};
    cw_status status = cwi_trainer_rank(t, &t->params, &ranker);
    if (status == CW_OK)
        status =
            cwi_evaluate(t->ctx, &ranker, &t->training.by_user, &t->dataset->part[CW_PART_VALID],
                         t->training.degree, t->metric_k, out);
    cwi_ranker_close(&ranker);
    return status;
}

static cw_status keep_best(cwi_trainer *t, const cwi_metrics *valid)
{
    double value = *cwi_metric_find(valid, t->metric);
    if (!(value > t->stopper.best)) {
        t->stopper.worse++;
        return CW_OK;
    }
    t->stopper = (cwi_stopper){.best = value, .best_epoch = t->epoch};
    if (t->best.count == 0) return cwi_params_copy(t->ctx, &t->params, &t->best);
    cwi_params_assign(&t->best, &t->params);
    return CW_OK;
}

static bool is_evaluated(const cwi_trainer *t, int64_t epoch)
{
    int64_t every = cwi_options_integer(t->options, "eval-every");
    return every > 0 && epoch % every == 0 && t->dataset->part[CW_PART_VALID].count > 0;
}

/* Evaluate when it is due; epoch 0 is reported but never counts. */
static cw_status finish_epoch(cwi_trainer *t, double train_s)
{
    cw_status status = CW_OK;
    cwi_metrics valid = {0};
    struct timespec began;
    bool due = is_evaluated(t, t->epoch);

    clock_gettime(CLOCK_MONOTONIC, &began);
    if (due) CW_TRY(evaluate_valid(t, &valid));
    if (due && t->epoch > 0) CW_TRY(keep_best(t, &valid));
    CW_TRY(cwi_record_epoch(t, due ? &valid : NULL, train_s, cwi_seconds_since(&began)));
done:
    return status;
}

/* ---- all epochs ------------------------------------------------------------- */

static bool is_done(const cwi_trainer *t)
{
    if (t->epoch >= cwi_options_integer(t->options, "epochs")) return true;
    return t->stopper.worse >= cwi_options_integer(t->options, "patience");
}

static cw_status run_epoch(cwi_trainer *t)
{
    cw_status status;
    clock_gettime(CLOCK_MONOTONIC, &t->epoch_began);
    CW_TRY(run_steps(t));
    CW_TRY(close_epoch(t));
    t->epoch++;
    CW_TRY(finish_epoch(t, t->train_s + cwi_seconds_since(&t->epoch_began)));
    t->train_s = 0;
    memset(&t->tally, 0, sizeof t->tally);
    if (t->pace.epochs > 0 && t->epoch - t->saved_epoch >= t->pace.epochs)
        CW_TRY(cwi_checkpoint_save(t));
done:
    return status;
}

cw_status cwi_trainer_run(cwi_trainer *t)
{
    cw_status status = CW_OK;
    if (!cwi_trainer_learns(t)) return finish_epoch(t, 0);
    clock_gettime(CLOCK_MONOTONIC, &t->saved_at);
    t->saved_epoch = t->epoch;
    if (t->dataset->part[CW_PART_VALID].count == 0)
        cwi_log(t->ctx, CW_LOG_WARNING,
                "there is no validation part: training runs for all %lld epochs and keeps the last "
                "parameters",
                (long long)cwi_options_integer(t->options, "epochs"));
    if (json_array_size(t->epochs) == 0) status = finish_epoch(t, 0); /* not told before a resume */
    while (status == CW_OK && !is_done(t)) status = run_epoch(t);
    if (status == CW_OK && cwi_options_flag(t->options, "checkpoint-end"))
        status = cwi_checkpoint_save(t);
    return status;
}
