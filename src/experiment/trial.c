/* trial.c - one trial of a race: trained while it has a chance, then measured along the dial. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/elementary.h"
#include "core/json.h"
#include "core/mem.h"
#include "core/text.h"
#include "evaluate/evaluate.h"
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
    char text[160];
    if (strncmp(stage, "training, epoch", 15) == 0) w->steps_per_epoch = total;
    (void)done;
    count(w, &race_done, &race_total);
    snprintf(text, sizeof text, "trial %.0f, %s on %s, %s", cwi_json_get_number(w->trial, "trial"),
             cwi_json_get_text(w->trial, "method"), cwi_json_get_text(w->trial, "backbone"), stage);
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
    w->steps = epoch * (double)w->steps_per_epoch;
    json_decref(event);
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
    clock_gettime(CLOCK_MONOTONIC, &w->began);
    w->before = ctx->tell;
    cw_context_set_progress(ctx, on_progress, w);
    cw_context_set_event(ctx, on_event, w);
    cw_context_set_log(ctx, NULL, NULL); /* what many trials have to say is no news */
    cw_status status = cw_train(ctx, w->tuner->data, options, model, run);
    ctx->tell = w->before;
    cw_options_free(options);
    return status;
}

/* ---- the dial ------------------------------------------------------------------------------- */

/* The points of a sweep on validation: "auto", or a list. */
static cw_status sweep(cw_context *ctx, const cwi_tuner *tuner, const cw_model *model,
                       const char *dials, json_t **out)
{
    cw_status status;
    char k[CWI_NUMBER_BYTES], *json = NULL;
    cw_options *options = NULL;
    json_t *found = NULL;

    *out = NULL;
    cwi_print_int(tuner->k, k);
    CW_TRY(cwi_options_create(ctx, "evaluate", cwi_evaluate_options, &options));
    CW_TRY(cwi_options_assign(ctx, options, "split", "valid"));
    CW_TRY(cwi_options_assign(ctx, options, "k", k));
    CW_TRY(cwi_options_assign(ctx, options, "truth", "off"));
    CW_TRY(cwi_options_assign(ctx, options, "popularity-sweep", dials));
    CW_TRY(cw_evaluate(ctx, tuner->data, model, options, &json));
    CW_TRY(cwi_json_reparse(ctx, json, &found));
    *out = json_incref(json_object_get(found, "sweep"));
    CW_TRY(cwi_json_check(ctx, *out));
done:
    json_decref(found);
    cw_text_free(json);
    cw_options_free(options);
    return status;
}

static double sweep_at(const json_t *points, size_t k, const char *key)
{
    return cwi_json_get_number(json_array_get(points, k), key);
}

static size_t best_point(const json_t *points, const char *metric)
{
    size_t best = 0;
    for (size_t k = 1; k < json_array_size(points); k++)
        if (sweep_at(points, k, metric) > sweep_at(points, best, metric)) best = k;
    return best;
}

/* Append a number of three digits to a list with commas, unless it is there. */
static void list_dial(char *list, size_t bytes, double dial)
{
    char text[CWI_NUMBER_BYTES];
    size_t used = strlen(list);
    if (dial == 0 || fabs(dial) > 1e5 || fabs(dial) < 1e-9) return;
    cwi_print_real(cwi_round_digits(dial), text);
    snprintf(list + used, bytes - used, ",%s", text);
}

/*
 * The popularity dial that is best on validation: nine positions from one end to the other, then
 * the best one with readable digits and the middles to its neighbours.  It must earn one part in a
 * hundred to be used at all.
 */
static cw_status tune_dial(cw_context *ctx, const cwi_tuner *tuner, const cw_model *model,
                           double valid, double *dial, double *value)
{
    const double earns = 1.01;
    cw_status status;
    json_t *wide = NULL, *fine = NULL;
    char list[128] = "0";

    *dial = 0;
    *value = valid;
    CW_PASS(sweep(ctx, tuner, model, "auto", &wide));
    size_t best = best_point(wide, tuner->metric_name), n = json_array_size(wide);
    double at = sweep_at(wide, best, "popularity");
    if (best > 0) list_dial(list, sizeof list, (at + sweep_at(wide, best - 1, "popularity")) / 2);
    list_dial(list, sizeof list, at);
    if (best + 1 < n)
        list_dial(list, sizeof list, (at + sweep_at(wide, best + 1, "popularity")) / 2);
    CW_TRY(sweep(ctx, tuner, model, list, &fine));
    best = best_point(fine, tuner->metric_name);
    if (sweep_at(fine, best, tuner->metric_name) > earns * valid) {
        *dial = sweep_at(fine, best, "popularity");
        *value = sweep_at(fine, best, tuner->metric_name);
    }
done:
    json_decref(wide);
    json_decref(fine);
    return status;
}

/* ---- the record --------------------------------------------------------------------------------
 */

/* A trial that was trained to its end. */
static cw_status finish(cw_context *ctx, const watch *w, const cw_model *model, const char *run,
                        json_t **record)
{
    cw_status status;
    json_t *made = NULL;
    double dial = 0, value = 0;
    CW_TRY(cwi_json_verify(ctx, "record", run, strlen(run), &made));
    const json_t *options = json_object_get(made, "options");
    double valid =
        cwi_json_to_number(json_object_get(json_object_get(made, "valid"), w->tuner->metric));
    value = valid;
    if (strcmp(cwi_json_get_text(w->trial, "backbone"), "pop") != 0 && valid > 0)
        CW_TRY(tune_dial(ctx, w->tuner, model, valid, &dial, &value));
    double last = w->steps_per_epoch > 0 ? w->steps / (double)w->steps_per_epoch : 0;
    bool is_whole = last >= cwi_json_get_number(options, "epochs");
    if (json_array_size(json_object_get(made, "epochs")) != (size_t)w->n_events)
        CW_TRY(cwi_no_memory(ctx));
    cwi_json_set(record, "options", json_incref((json_t *)options));
    cwi_json_set(record, "best_epoch", json_incref(json_object_get(made, "best_epoch")));
    cwi_json_set(record, "valid", cwi_json_number(valid));
    cwi_json_set(record, "dial", json_real(dial));
    cwi_json_set(record, "value", cwi_json_number(value));
    cwi_json_set(record, "ended", json_string(is_whole ? "epochs" : "patience"));
done:
    json_decref(made);
    return status;
}

/* One that was stopped early counts with the best it had. */
static void finish_lost(json_t **record)
{
    double best = 0;
    const json_t *curve = json_object_get(*record, "curve");
    for (size_t k = 0; k < json_array_size(curve); k++)
        best = fmax(best, json_number_value(json_array_get(json_array_get(curve, k), 1)));
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
static bool is_own_fault(cw_status status, bool is_default)
{
    return status == CW_BAD_DATA || status == CW_UNSUPPORTED ||
           (status == CW_BAD_ARG && !is_default);
}

/* The learning rate of a proposal: its own, or that of the default of its family. */
static double find_lr(const cwi_tuner *tuner, const json_t *trial)
{
    const json_t *own = json_object_get(json_object_get(trial, "settings"), "lr");
    if (own) return json_number_value(own);
    for (size_t k = 0; k < tuner->race.n_families; k++) {
        const json_t *record = json_array_get(tuner->records, k);
        if (json_equal(json_object_get(record, "method"), json_object_get(trial, "method")) &&
            json_equal(json_object_get(record, "backbone"), json_object_get(trial, "backbone")))
            return cwi_json_get_number(json_object_get(record, "options"), "lr");
    }
    return 0;
}

cw_status cwi_trial_run(cw_context *ctx, const cwi_tuner *tuner, json_t *proposal, double left_s,
                        json_t **record, cw_model **model, char **run)
{
    bool is_default = strcmp(cwi_json_get_text(proposal, "origin"), "default") == 0;
    json_t *made = cwi_json_copy(proposal);
    cwi_json_set(&made, "curve", json_array());
    watch w = {.tuner = tuner, .trial = made, .left_s = left_s, .may_stop = !is_default};

    *record = NULL;
    *model = NULL;
    *run = NULL;
    CW_PASS(cwi_json_check(ctx, made));
    w.lr = find_lr(tuner, made);
    cw_status status = train(ctx, &w, model, run);
    if (w.is_short) status = cwi_no_memory(ctx);
    if (status == CW_OK) status = finish(ctx, &w, *model, *run, &made);
    if (status == CW_CANCELLED && w.is_lost && !w.is_told && !w.is_late) {
        finish_lost(&made);
        status = CW_OK;
    } else if (is_own_fault(status, is_default)) {
        cw_model_free(*model);
        *model = NULL;
        finish_failed(ctx, &made);
        status = CW_OK;
    } else if (status == CW_CANCELLED && w.is_late && !w.is_told) {
        json_decref(made);
        cwi_begin(ctx);
        return CW_OK; /* without a record */
    }
    if (status == CW_OK) cwi_begin(ctx);
    cwi_json_set(&made, "steps", json_real(w.steps));
    cwi_json_set(&made, "seconds", json_real(cwi_seconds_since(&w.began)));
    if (status == CW_OK) status = cwi_json_check(ctx, made);
    if (status == CW_OK)
        *record = made;
    else
        json_decref(made);
    return status;
}
