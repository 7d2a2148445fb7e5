/* trainer.c - epochs, evaluations, early stopping. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "comm/world.h"
#include "core/mem.h"
#include "core/numbers.h"
#include "core/text.h"
#include "engine/device.h"
#include "prepare/propensity.h"
#include "sample/dealt.h"
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

static cw_status prepare_propensities(cwi_trainer *t)
{
    cwi_training *training = &t->training;
    const char *path = cw_options_get(t->options, "propensity");
    if (!path) return CW_OK; /* the method has no use for them */

    training->propensity =
        cwi_alloc(t->ctx, (size_t)training->n_items, sizeof *training->propensity);
    if (!training->propensity) return CW_NO_MEMORY;
    if (path[0] != '\0')
        return cwi_propensity_load(t->ctx, path, &t->dataset->items, training->propensity,
                                   t->propensity_hash);
    cwi_propensity_fill(training->degree, training->n_items,
                        cwi_options_real(t->options, "propensity-power"), training->propensity);
    return CW_OK;
}

/* An update measures nothing, and files of the first training need not be there any more. */
static cw_status prepare_exposure(cwi_trainer *t)
{
    const cw_dataset *d = t->dataset;
    if (t->sequel.model) return CW_OK;
    t->exposure.is_uniform = strcmp(t->metric, "unbiased_recall") == 0;
    CW_PASS(cwi_weights_create(t->ctx, t->options, "metric-", &d->items, t->training.degree,
                               &t->exposure));
    for (int part = CW_PART_VALID; part <= CW_PART_TEST; part++)
        CW_PASS(cwi_weights_check(t->ctx, &t->exposure, "metric-", &d->part[part], &d->items));
    return CW_OK;
}

static cw_status prepare_data(cwi_trainer *t)
{
    cw_status status;
    const cwi_pairs *train = &t->dataset->part[CW_PART_TRAIN];
    if (cwi_dataset_rows(t->dataset, CW_PART_TRAIN) == 0)
        return cwi_fail(t->ctx, CW_BAD_DATA, "there is nothing to train on: train is empty");
    if (t->dataset->whole)
        CW_TRY(cwi_training_create_dealt(t->ctx, t->ctx->world, t->dataset->n_users,
                                         t->dataset->n_items, train, &t->training));
    else
        CW_TRY(cwi_training_create(t->ctx, t->dataset->n_users, t->dataset->n_items, train,
                                   &t->training));
    CW_TRY(cwi_treatment_load(t));
    CW_TRY(prepare_propensities(t));
    CW_TRY(prepare_exposure(t));
    if (t->sequel.phase)
        cwi_copy_text(t->data_hash, sizeof t->data_hash, t->sequel.data_hash);
    else
        cwi_dataset_hash(t->dataset, t->data_hash);
done:
    return status;
}

bool cwi_trainer_learns(const cwi_trainer *t)
{
    return t->task.method->sampler || cwi_backbone_learns(t->task.backbone);
}

/* Unless it was said otherwise an epoch is one pass over the interactions, or over the users where
 * a step takes users; a sweep is a pass by itself. */
static int64_t count_steps(const cwi_trainer *t)
{
    if (t->sequel.phase) return t->sequel.steps_per_epoch;
    int64_t given = cwi_options_integer(t->options, "epoch-steps");
    if (given > 0) return given;
    if (t->task.backbone->sweep) return 1;
    int64_t examples = t->task.method->sampler ? t->training.count : t->dataset->n_users;
    int64_t steps = examples / cwi_options_integer(t->options, "batch");
    return steps > 0 ? steps : 1;
}

/* A GPU is recorded, since its last bits are not those of the CPU. */
static cw_status choose_device(cwi_trainer *t)
{
    CW_PASS(cwi_device_choose(t->ctx, &t->task));
    if (t->task.gpu == 0 || !cwi_options_is(t->options, "device", "auto")) return CW_OK;
    cwi_log(t->ctx, CW_LOG_INFO, "training on a GPU; --device cpu does without");
    return cwi_options_assign(t->ctx, t->options, "device", "cuda");
}

/* The optimiser by name, which is recorded. */
static cw_status choose_optimizer(cwi_trainer *t)
{
    cwi_task *task = &t->task;
    task->optimizer = cwi_find_optimizer(cwi_options_text(t->options, "optimizer"));
    if (task->optimizer->schedule != CWI_STEP_CHOSEN) return CW_OK;
    cw_status status = cwi_engine_optimizer(t->ctx, task, &task->optimizer);
    if (status != CW_OK) return status;
    return cwi_options_assign(t->ctx, t->options, "optimizer", task->optimizer->name);
}

/* The engine with first values of the parameters; they are final where nothing is learnt. */
static cw_status open_engine(cwi_trainer *t)
{
    cwi_task *task = &t->task;
    cwi_params first = {0};
    task->options = t->options;
    task->training = &t->training;
    task->shape = cwi_method_shape(task->method, t->options, t->dataset->n_users,
                                   t->dataset->n_items, &t->training.by_user);
    task->steps_per_epoch = count_steps(t);
    CW_PASS(choose_device(t));
    CW_PASS(choose_optimizer(t));
    if (task->world) return cwi_share_open(t);
    cw_status status = task->backbone->declare(t->ctx, &task->shape, t->options, &first);
    if (status == CW_OK && cwi_trainer_learns(t)) {
        cwi_params_init(t->options, task->shape.n_users, &first);
        if (t->sequel.model) status = cwi_params_take_over(t, t->sequel.model, &first);
        if (status == CW_OK) return cwi_engine_choose(task)->open(t->ctx, task, &first, &t->engine);
    }
    if (status == CW_OK && !cwi_trainer_learns(t))
        status = task->backbone->fill(t->ctx, &task->shape, t->options, &first);
    t->best = first; /* also after a failure, to be freed */
    return status;
}

/* Those on other machines may have read other files. */
static cw_status compare_processes(cwi_trainer *t)
{
    const int64_t place[] = {t->before != NULL, t->epoch, t->tally.steps, t->tally.applied};
    CW_PASS(cwi_world_agree(t->ctx, t->task.world, "the data are others", t->data_hash,
                            sizeof t->data_hash));
    return cwi_world_agree(t->ctx, t->task.world, "the checkpoint is another", place, sizeof place);
}

bool cwi_trainer_leads(const cwi_trainer *t)
{
    return !t->task.world || t->task.world->rank == 0;
}

cw_status cwi_trainer_create(cw_context *ctx, const cw_dataset *dataset, const cw_options *options,
                             cwi_trainer **out)
{
    return cwi_trainer_follow(ctx, dataset, options, &(cwi_sequel){.resumes = true}, out);
}

cw_status cwi_trainer_follow(cw_context *ctx, const cw_dataset *dataset, const cw_options *options,
                             const cwi_sequel *sequel, cwi_trainer **out)
{
    cw_status status;
    *out = NULL;
    cwi_trainer *t = cwi_alloc_zero(ctx, 1, sizeof *t);
    if (!t) return CW_NO_MEMORY;
    t->ctx = ctx;
    t->dataset = dataset;
    t->sequel = *sequel;
    t->epochs = json_array();
    status = t->epochs ? CW_OK : cwi_no_memory(ctx);
    if (status != CW_OK) goto done;
    CW_TRY(cwi_dataset_extent(ctx, dataset, &t->extent));
    CW_TRY(cwi_train_settle(ctx, options, &t->extent, &t->options, &t->task.method,
                            &t->task.backbone));
    CW_TRY(cwi_metric_choose(ctx, t->options, t->metric, &t->metric_k));
    CW_TRY(cwi_pace_parse(ctx, cwi_options_text(t->options, "checkpoint-every"), &t->pace));
    CW_TRY(cwi_checkpoint_check(t));
    CW_TRY(prepare_data(t));
    CW_TRY(open_engine(t));
    if (t->engine && sequel->resumes && cwi_options_flag(t->options, "resume"))
        CW_TRY(cwi_checkpoint_load(t));
    if (t->task.world) CW_TRY(compare_processes(t));
    *out = t;
done:
    if (status != CW_OK) cwi_trainer_free(t);
    return status;
}

void cwi_trainer_free(cwi_trainer *t)
{
    if (!t) return;
    if (t->engine) t->engine->verbs->close(t->engine);
    cwi_params_clear(&t->best);
    cwi_training_clear(&t->training);
    for (int part = 0; part < CWI_PARTS; part++) cwi_audience_clear(&t->audience[part]);
    cwi_exposure_clear(&t->exposure);
    cw_options_free(t->options);
    json_decref(t->epochs);
    json_decref(t->baselines);
    json_decref(t->before);
    cwi_free(t);
}

/* ---- one epoch -------------------------------------------------------------- */

/* Low acceptance is said once; none at all is an error. */
static cw_status check_draws(cwi_trainer *t)
{
    const cwi_draws *draws = &t->tally.draws;
    int64_t accepted = 0;
    if (!t->task.method->sampler) return CW_OK;
    for (int g = 0; g < CWI_MAX_GROUPS && draws->slots[g] > 0; g++) {
        accepted += draws->accepted[g];
        double rate =
            draws->attempts[g] ? (double)draws->accepted[g] / (double)draws->attempts[g] : 1;
        if (rate >= 0.5 || t->has_warned) continue;
        t->has_warned = true;
        cwi_log(t->ctx, CW_LOG_WARNING,
                "only %.1f %% of the samples drawn for k = %lld were accepted: the data are dense",
                100 * rate, (long long)draws->slots[g] / 2);
    }
    if (accepted > 0) return CW_OK;
    return cwi_fail(
        t->ctx, CW_BAD_DATA,
        "no valid sample was found in a whole epoch: nearly every user has nearly every "
        "item, so there is nothing to learn from");
}

cw_status cwi_trainer_listen(cwi_trainer *t)
{
    if (!t->has_begun) return CW_OK; /* what it would tell is of the epoch before */
    cw_status status = t->engine->verbs->tell(t->engine, &t->tally);
    if (status != CW_OK || t->tally.bad == 0) return status;
    return cwi_fail(t->ctx, CW_BAD_DATA,
                    "the loss is not a number any more (epoch %lld, step %lld); try a smaller "
                    "--lr than %g",
                    (long long)t->epoch + 1, (long long)t->tally.bad,
                    cwi_options_real(t->options, "lr"));
}

cw_status cwi_trainer_step(cwi_trainer *t)
{
    if (!t->has_begun) {
        cw_status status = t->engine->verbs->begin(t->engine, t->epoch);
        if (status != CW_OK) return status;
        t->has_begun = true;
    }
    t->tally.steps++;
    return cwi_engine_step(t->engine);
}

static bool is_time_to_save(const cwi_trainer *t)
{
    return t->pace.seconds > 0 && cwi_seconds_since(&t->saved_at) > t->pace.seconds;
}

static cw_status save(cwi_trainer *t)
{
    cw_status status = cwi_trainer_listen(t);
    return status == CW_OK ? cwi_checkpoint_save(t) : status;
}

/* What one process wants all of them do after the same step.  The clock is that of the first. */
static cw_status agree(cwi_trainer *t, cw_status progress, bool *saves)
{
    enum { STOP = 1, SAVE = 2 };
    int all, wish = progress == CW_CANCELLED ? STOP : 0;
    if (progress != CW_OK && progress != CW_CANCELLED) return progress;
    if (t->task.world->rank == 0 && is_time_to_save(t)) wish |= SAVE;
    CW_PASS(t->engine->verbs->agree(t->engine, wish, &all));
    *saves = all & SAVE;
    if (*saves) clock_gettime(CLOCK_MONOTONIC, &t->saved_at);
    return all & STOP ? CW_CANCELLED : CW_OK;
}

/* The engine is listened to now and then, so that it need not wait for us. */
static cw_status run_steps(cwi_trainer *t)
{
    cw_status status = CW_OK;
    bool saves = false;
    int64_t all = t->task.steps_per_epoch, every = t->engine->tell_every;
    char stage[48];

    if (every == 0) every = CWI_TELL_EVERY;

    snprintf(stage, sizeof stage, "training, epoch %lld", (long long)t->epoch + 1);
    while (t->tally.steps < all && status == CW_OK) {
        status = cwi_progress(t->ctx, stage, t->tally.steps, all);
        if (t->task.world) status = agree(t, status, &saves);
        if (status == CW_OK && saves) status = save(t);
        if (status == CW_CANCELLED) { /* stop where we are, with the state kept */
            cw_status saved = save(t);
            return saved == CW_OK ? status : saved;
        }
        if (status == CW_OK) status = cwi_trainer_step(t);
        if (status == CW_OK && t->tally.steps % every == 0) status = cwi_trainer_listen(t);
        if (status == CW_OK && !t->task.world && is_time_to_save(t)) status = save(t);
    }
    return status;
}

/* Bring the parameters to rest and check them, so that no broken state is ever saved. */
static cw_status close_epoch(cwi_trainer *t)
{
    cw_status status;
    CW_TRY(cwi_trainer_listen(t));
    CW_TRY(t->engine->verbs->settle(t->engine));
    CW_TRY(cwi_trainer_listen(t));
    CW_TRY(check_draws(t));
    if (isnan(t->tally.reg_loss)) /* only known at both ends of the epoch */
        t->tally.reg_loss =
            (t->tally.reg_at_start + t->tally.reg_at_end) / 2 * (double)t->tally.trained;
    if (!isfinite(t->tally.reg_at_end))
        status = cwi_fail(t->ctx, CW_BAD_DATA,
                          "the parameters are not numbers any more (epoch %lld); try a smaller "
                          "--lr than %g",
                          (long long)t->epoch + 1, cwi_options_real(t->options, "lr"));
done:
    return status;
}

/* ---- evaluation ------------------------------------------------------------- */

cw_status cwi_trainer_measure(cwi_trainer *t, const cwi_ranker *ranker, cw_part part,
                              cwi_metrics *out)
{
    cwi_audience *audience = &t->audience[part];
    if (!audience->users)
        CW_PASS(cwi_audience_create(t->ctx, &t->dataset->part[part], ranker->n_users, audience));
    audience->is_kept = true;
    audience->exposure = &t->exposure;
    audience->mask = &t->training.by_user;
    return cwi_evaluate_audience(t->ctx, ranker, audience, t->training.degree, t->metric_k, out);
}

static cw_status evaluate_valid(cwi_trainer *t, cwi_metrics *out)
{
    const cwi_task *task = &t->task;
    cwi_ranker ranker = {0};
    cw_status status = t->engine ? t->engine->verbs->rank(t->engine, &ranker)
                                 : cwi_method_rank(t->ctx, task->method, task->backbone,
                                                   &task->shape, t->options, &t->best, &ranker);
    if (status == CW_OK) status = cwi_trainer_measure(t, &ranker, CW_PART_VALID, out);
    cwi_ranker_close(&ranker);
    return status;
}

static cw_status take_best(cwi_trainer *t, const cwi_params *from)
{
    t->best_is_there = false;
    if (t->best.count == 0) return cwi_params_copy(t->ctx, from, &t->best);
    cwi_params_assign(&t->best, from);
    return CW_OK;
}

/* The parameters as they are, kept where they lie or on this side. */
static cw_status keep_params(cwi_trainer *t)
{
    const cwi_params *now;
    const cwi_engine_verbs *v = t->engine->verbs;
    cw_status status = v->keep ? v->keep(t->engine) : CW_UNSUPPORTED;
    t->best_is_there = status == CW_OK;
    if (status != CW_UNSUPPORTED) return status;
    CW_PASS(v->params(t->engine, &now));
    return take_best(t, now);
}

cw_status cwi_trainer_fetch_best(cwi_trainer *t)
{
    const cwi_params *kept;
    if (!t->best_is_there) return CW_OK;
    CW_PASS(t->engine->verbs->kept(t->engine, &kept));
    return take_best(t, kept);
}

static cw_status keep_best(cwi_trainer *t, const cwi_metrics *valid)
{
    double value = *cwi_metric_find(valid, t->metric);
    if (!(value > t->stopper.best)) {
        t->stopper.worse++;
        return CW_OK;
    }
    t->stopper = (cwi_stopper){.best = value, .best_epoch = t->epoch};
    return keep_params(t);
}

static bool is_evaluated(const cwi_trainer *t, int64_t epoch)
{
    int64_t every = cwi_options_integer(t->options, "eval-every");
    return every > 0 && epoch % every == 0 && cwi_dataset_rows(t->dataset, CW_PART_VALID) > 0;
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
    if (t->sequel.phase) return t->epoch >= t->sequel.epochs;
    if (t->epoch >= cwi_options_integer(t->options, "epochs")) return true;
    if (t->epoch < cwi_options_integer(t->options, "min-epochs")) return false;
    return t->stopper.worse >= cwi_options_integer(t->options, "patience");
}

/* What the network has to carry, once. */
static void say_traffic(const cwi_trainer *t)
{
    const cwi_tally *tally = &t->tally;
    if (!t->task.world || t->epoch > 0 || t->sequel.phase || tally->steps == 0) return;
    cwi_log(t->ctx, CW_LOG_INFO,
            "%d processes; a step sends %.1f KB from this one to the others, in %.1f exchanges",
            t->task.world->size, (double)tally->sent / 1e3 / (double)tally->steps,
            (double)tally->exchanges / (double)tally->steps);
}

static cw_status run_epoch(cwi_trainer *t)
{
    cw_status status;
    clock_gettime(CLOCK_MONOTONIC, &t->epoch_began);
    CW_TRY(run_steps(t));
    CW_TRY(close_epoch(t));
    say_traffic(t);
    t->epoch++;
    CW_TRY(finish_epoch(t, t->train_s + cwi_seconds_since(&t->epoch_began)));
    t->train_s = 0;
    t->tally = (cwi_tally){.applied = t->tally.applied};
    t->has_begun = false;
    if (t->pace.epochs > 0 && t->epoch - t->saved_epoch >= t->pace.epochs)
        CW_TRY(cwi_checkpoint_save(t));
done:
    return status;
}

static void say_settings(const cwi_trainer *t)
{
    char text[CWI_FIT_BYTES];
    if (!cwi_options_is(t->options, "preset", "auto")) return;
    if (!t->task.method->sampler && !t->task.method->fits && !t->task.backbone->learn)
        return; /* nothing follows the data */
    cwi_train_fit_text(&t->extent, t->options, text);
    cwi_log(t->ctx, CW_LOG_INFO, "%s", text);
}

cw_status cwi_trainer_run(cwi_trainer *t)
{
    cw_status status = CW_OK;
    if (!t->sequel.phase) say_settings(t);
    if (!t->engine) return finish_epoch(t, 0);
    clock_gettime(CLOCK_MONOTONIC, &t->saved_at);
    t->saved_epoch = t->epoch;
    if (cwi_dataset_rows(t->dataset, CW_PART_VALID) == 0 && !t->sequel.phase)
        cwi_log(t->ctx, CW_LOG_WARNING,
                "there is no validation part: training runs for all %lld epochs and keeps the last "
                "parameters",
                (long long)cwi_options_integer(t->options, "epochs"));
    if (json_array_size(t->epochs) == 0) status = finish_epoch(t, 0); /* not told before a resume */
    while (status == CW_OK && !is_done(t)) status = run_epoch(t);
    if (status == CW_OK && cwi_options_flag(t->options, "checkpoint-end") && !t->sequel.phase)
        status = cwi_checkpoint_save(t);
    if (status == CW_OK && t->stopper.best_epoch == 0) status = keep_params(t);
    if (status == CW_OK) status = cwi_trainer_fetch_best(t);
    return status == CW_OK && !t->sequel.phase ? cwi_baselines_compare(t) : status;
}
