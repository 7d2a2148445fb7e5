/* trial.c - one trial of a race: trained on every fold while it has a chance, then measured. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/text.h"
#include "experiment/tuner.h"
#include "registry/registry.h"
#include "train/train.h"

/* ---- while it trains -------------------------------------------------------------------- */

/* Stands between training and the caller. */
typedef struct watch {
    const cwi_tuner *tuner;
    cwi_callbacks before;
    json_t *trial; /* the record so far; its curve grows */
    double lr, left_s;
    struct timespec began;
    int fold; /* under way; all but the events of it are of the first alone */
    int64_t steps_per_epoch;
    double steps;
    bool may_stop;                  /* a default is never stopped early */
    bool is_lost, is_late, is_told; /* why it was stopped: poor, out of time, by the caller */
    int64_t n_events;
    bool is_short; /* an event found no memory: the curve lacks a point */
} watch;

/* How far the whole race is, in trials or seconds, whichever bounds it. */
static void count(const watch *w, int64_t *done, int64_t *total)
{
    const cwi_tuner *t = w->tuner;
    *done = (int64_t)json_array_size(t->records);
    *total = t->trials;
    if (t->trials > 0 || t->budget_s <= 0) return;
    *total = (int64_t)t->budget_s;
    *done = (int64_t)(t->budget_s - w->left_s + cwi_seconds_since(&w->began));
    if (*done > *total) *done = *total;
}

static bool on_progress(void *user, const char *stage, int64_t done, int64_t total)
{
    watch *w = user;
    int64_t race_done, race_total;
    char text[200], fold[40] = "";
    if (w->fold == 0 && strncmp(stage, "training, epoch", 15) == 0) w->steps_per_epoch = total;
    (void)done;
    count(w, &race_done, &race_total);
    if (w->tuner->folds.n > 1)
        snprintf(fold, sizeof fold, "fold %d of %d, ", w->fold + 1, w->tuner->folds.n);
    snprintf(text, sizeof text, "trial %.0f, %s on %s, %s%s",
             cwi_json_get_number(w->trial, "trial"), cwi_json_get_text(w->trial, "method"),
             cwi_json_get_text(w->trial, "backbone"), fold, stage);
    if (w->before.progress &&
        !w->before.progress(w->before.progress_user, text, race_done, race_total))
        w->is_told = true;
    if (w->left_s > 0 && cwi_seconds_since(&w->began) > w->left_s) w->is_late = true;
    return !w->is_told && !w->is_late && !w->is_lost;
}

/* An epoch: one more point of the curve where it was evaluated. */
static void on_event(void *user, const char *text)
{
    watch *w = user;
    json_t *event = json_loads(text, 0, NULL);
    double value =
        cwi_json_to_number(json_object_get(json_object_get(event, "valid"), w->tuner->metric));
    double epoch = cwi_json_to_number(json_object_get(event, "epoch"));
    if (!(epoch == (double)w->n_events++)) w->is_short = true;
    json_decref(event);
    if (w->fold > 0) return;
    w->steps = epoch * (double)w->steps_per_epoch;
    if (isnan(value)) return;
    if (json_array_append_new(json_object_get(w->trial, "curve"),
                              json_pack("[f, f]", w->steps, value)) != 0)
        w->is_short = true;
    w->is_lost = w->may_stop && cwi_race_is_lost(w->tuner->records, w->trial, w->lr);
}

/* ---- training ------------------------------------------------------------------------------ */

static cw_status assign_texts(cw_context *ctx, cw_options *options, const json_t *values,
                              const char *method, const char *backbone)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)values, name, value)
    {
        char text[256];
        if (cw_method_takes(method, backbone, name) && cwi_json_to_text(value, text, sizeof text))
            CW_PASS(cwi_options_assign(ctx, options, name, text));
    }
    return CW_OK;
}

static cw_status make_options(cw_context *ctx, const cwi_tuner *tuner, const json_t *trial,
                              bool refits, cw_options **out)
{
    cw_status status;
    char seed[CWI_NUMBER_BYTES];
    const char *method = cwi_json_get_text(trial, "method"),
               *backbone = cwi_json_get_text(trial, "backbone");
    cwi_print_int(tuner->seed, seed);
    CW_TRY(cwi_train_options(ctx, out));
    CW_TRY(cwi_options_assign(ctx, *out, "method", method));
    CW_TRY(cwi_options_assign(ctx, *out, "backbone", backbone));
    CW_TRY(cwi_options_assign(ctx, *out, "metric", tuner->metric));
    CW_TRY(cwi_options_assign(ctx, *out, "seed", seed));
    CW_TRY(cwi_options_assign(ctx, *out, "checkpoint-every", "0"));
    CW_TRY(cwi_options_assign(ctx, *out, "refit", refits ? "on" : "off"));
    CW_TRY(assign_texts(ctx, *out, tuner->fixed, method, backbone));
    CW_TRY(assign_texts(ctx, *out, json_object_get(trial, "settings"), method, backbone));
done:
    if (status != CW_OK) {
        cw_options_free(*out);
        *out = NULL;
    }
    return status;
}

cw_status cwi_trial_repeat(cw_context *ctx, const cwi_tuner *tuner, const json_t *record,
                           bool refits, cw_model **model, char **run)
{
    cw_options *options;
    cwi_callbacks before = ctx->tell;
    *model = NULL;
    CW_PASS(make_options(ctx, tuner, record, refits, &options));
    ctx->tell.event = NULL; /* epochs are no events of a race */
    cw_status status = cw_train(ctx, tuner->data, options, model, run);
    ctx->tell = before;
    cw_options_free(options);
    return status;
}

/* Train under watch; what came of the watch is for the caller. */
static cw_status train(cw_context *ctx, watch *w, cw_model **model, char **run)
{
    cw_options *options;
    CW_PASS(make_options(ctx, w->tuner, w->trial, false, &options));
    w->n_events = 0;
    w->before = ctx->tell;
    cw_context_set_progress(ctx, on_progress, w);
    cw_context_set_event(ctx, on_event, w);
    cw_context_set_log(ctx, NULL, NULL); /* what many trials have to say is no news */
    cw_status status = cw_train(ctx, &w->tuner->folds.set[w->fold], options, model, run);
    ctx->tell = w->before;
    cw_options_free(options);
    return w->is_short ? cwi_no_memory(ctx) : status;
}

/* What came of the folds. */
typedef struct hand {
    cw_model *model[CWI_MAX_FOLDS];
    double valid[CWI_MAX_FOLDS];
    char *run;     /* of the first */
    json_t *first; /* the same, parsed */
} hand;

static void hand_clear(hand *h)
{
    for (int f = 0; f < CWI_MAX_FOLDS; f++) cw_model_free(h->model[f]);
    cw_text_free(h->run);
    json_decref(h->first);
}

/* Train on a fold, and see what it has on its validation part. */
static cw_status train_fold(cw_context *ctx, watch *w, hand *h)
{
    cw_status status;
    char *run = NULL;
    json_t *made = NULL;
    CW_TRY(train(ctx, w, &h->model[w->fold], &run));
    CW_TRY(cwi_json_verify(ctx, "record", run, strlen(run), &made));
    h->valid[w->fold] =
        cwi_json_to_number(json_object_get(json_object_get(made, "valid"), w->tuner->metric));
    if (json_array_size(json_object_get(made, "epochs")) != (size_t)w->n_events)
        CW_TRY(cwi_no_memory(ctx));
    if (w->fold == 0) {
        h->run = run;
        h->first = json_incref(made);
        run = NULL;
    }
done:
    json_decref(made);
    cw_text_free(run);
    return status;
}

/* ---- the record --------------------------------------------------------------------------------
 */

static double mean_of(const double *value, int n)
{
    double sum = 0;
    for (int f = 0; f < n; f++) sum += value[f];
    return sum / n;
}

/* A trial that was trained to its end on all folds. */
static cw_status finish(cw_context *ctx, const watch *w, hand *h, json_t **record)
{
    int n = w->tuner->folds.n;
    const json_t *options = json_object_get(h->first, "options");
    double valid = mean_of(h->valid, n), dial = 0, value = valid;
    if (w->tuner->has_bucket)
        CW_PASS(cwi_trial_judge(ctx, w->tuner, h->model[0], &dial, &value));
    else if (strcmp(cwi_json_get_text(w->trial, "backbone"), "pop") != 0 && valid > 0)
        CW_PASS(cwi_trial_dial(ctx, w->tuner, h->model, h->valid, &dial, &value));
    double last = w->steps_per_epoch > 0 ? w->steps / (double)w->steps_per_epoch : 0;
    bool is_whole = last >= cwi_json_get_number(options, "epochs");
    cwi_json_set(record, "options", json_incref((json_t *)options));
    cwi_json_set(record, "best_epoch", json_incref(json_object_get(h->first, "best_epoch")));
    if (n > 1) cwi_json_set(record, "folds", json_array());
    for (int f = 0; f < n && n > 1; f++)
        (void)json_array_append_new(json_object_get(*record, "folds"),
                                    cwi_json_number(h->valid[f]));
    if (n > 1 && json_array_size(json_object_get(*record, "folds")) != (size_t)n)
        return cwi_no_memory(ctx);
    cwi_json_set(record, "valid", cwi_json_number(valid));
    cwi_json_set(record, "dial", json_real(dial));
    cwi_json_set(record, "value", cwi_json_number(value));
    cwi_json_set(record, "ended", json_string(is_whole ? "epochs" : "patience"));
    return CW_OK;
}

static bool is_same_family(const json_t *a, const json_t *b)
{
    return json_equal(json_object_get(a, "method"), json_object_get(b, "method")) &&
           json_equal(json_object_get(a, "backbone"), json_object_get(b, "backbone"));
}

static double best_of_curve(const json_t *record)
{
    double best = 0;
    const json_t *curve = json_object_get(record, "curve");
    for (size_t k = 0; k < json_array_size(curve); k++)
        best = fmax(best, json_number_value(json_array_get(json_array_get(curve, k), 1)));
    return best;
}

/* What a value of the first fold is worth on all: as much as it was for the trial of the same
 * family that had most there.  A lucky first fold makes no winner of a trial that was stopped. */
static double fold_worth(const cwi_tuner *tuner, const json_t *trial)
{
    double most = 0, worth = 1;
    for (size_t k = 0; k < json_array_size(tuner->records); k++) {
        const json_t *record = json_array_get(tuner->records, k);
        double first = best_of_curve(record);
        if (!json_object_get(record, "folds") || !is_same_family(record, trial) || first <= most)
            continue;
        most = first;
        worth = cwi_json_get_number(record, "valid") / first;
    }
    return worth;
}

/* One that was stopped early counts with the best it had. */
static void finish_lost(const cwi_tuner *tuner, json_t **record)
{
    double best = best_of_curve(*record) * fold_worth(tuner, *record);
    cwi_json_set(record, "valid", json_real(best));
    cwi_json_set(record, "dial", json_real(0));
    cwi_json_set(record, "value", json_real(best));
    cwi_json_set(record, "ended", json_string("stopped"));
}

static void finish_failed(cw_context *ctx, json_t **record)
{
    cwi_json_set(record, "valid", json_null());
    cwi_json_set(record, "dial", json_real(0));
    cwi_json_set(record, "value", json_null());
    cwi_json_set(record, "ended", json_string("failed"));
    cwi_json_set(record, "error", cwi_json_string(ctx->error));
}

/* The setting is to blame, not the machine or the caller; of a default the command is. */
static bool is_own_fault(cw_status status, bool must_work)
{
    return status == CW_BAD_DATA || status == CW_UNSUPPORTED ||
           (status == CW_BAD_ARG && !must_work);
}

static bool is_default(const json_t *trial)
{
    return strcmp(cwi_json_get_text(trial, "origin"), "default") == 0;
}

/* The learning rate of a proposal: its own, or that of the default of its family. */
static double find_lr(const cwi_tuner *tuner, const json_t *trial)
{
    const json_t *own = json_object_get(json_object_get(trial, "settings"), "lr");
    if (own) return json_number_value(own);
    for (size_t k = 0; k < tuner->race.n_families; k++) {
        const json_t *record = json_array_get(tuner->records, k);
        if (is_same_family(record, trial))
            return cwi_json_get_number(json_object_get(record, "options"), "lr");
    }
    return 0;
}

/* The record of a trial whose training had this end; CW_OK also for one that was stopped, or failed
 * by its own fault, of which there is no model. */
static cw_status settle(cw_context *ctx, const watch *w, cw_status trained, hand *h,
                        json_t **record)
{
    cw_status status = trained == CW_OK ? finish(ctx, w, h, record) : trained;
    if (status == CW_OK) return CW_OK;
    if (trained == CW_CANCELLED && w->is_lost && !w->is_told && !w->is_late)
        finish_lost(w->tuner, record);
    else if (is_own_fault(status, is_default(w->trial)))
        finish_failed(ctx, record);
    else
        return status;
    hand_clear(h);
    *h = (hand){.run = NULL};
    cwi_begin(ctx);
    return CW_OK;
}

cw_status cwi_trial_run(cw_context *ctx, const cwi_tuner *tuner, json_t *proposal, double left_s,
                        json_t **record, cw_model **model, char **run)
{
    json_t *made = cwi_json_copy(proposal);
    cwi_json_set(&made, "curve", json_array());
    bool may_stop =
        !is_default(proposal) && !tuner->has_bucket; /* the log's metric is no judge then */
    watch w = {.tuner = tuner, .trial = made, .left_s = left_s, .may_stop = may_stop};
    hand h = {.run = NULL};

    *record = NULL;
    *model = NULL;
    *run = NULL;
    CW_PASS(cwi_json_check(ctx, made));
    w.lr = find_lr(tuner, made);
    clock_gettime(CLOCK_MONOTONIC, &w.began);
    cw_status status = CW_OK;
    for (w.fold = 0; w.fold < tuner->folds.n && status == CW_OK; w.fold++)
        status = train_fold(ctx, &w, &h);
    bool is_given_up = status == CW_CANCELLED && w.is_late && !w.is_told;
    if (!is_given_up) status = settle(ctx, &w, status, &h, &made);
    cwi_json_set(&made, "steps", json_real(w.steps));
    cwi_json_set(&made, "seconds", json_real(cwi_seconds_since(&w.began)));
    if (status == CW_OK) status = cwi_json_check(ctx, made);
    if (status == CW_OK) {
        *record = json_incref(made);
        *model = h.model[0];
        *run = h.run;
        h.model[0] = NULL;
        h.run = NULL;
    } else if (is_given_up) { /* without a record */
        cwi_begin(ctx);
        status = CW_OK;
    }
    json_decref(made);
    hand_clear(&h);
    return status;
}
