/*
 * experiment.c - carry out a plan with several runs at a time.
 *
 * Every worker is a thread with a context of its own that takes the next waiting run.  The calling
 * thread is one of them, so that one job needs no thread at all; it alone talks to the callbacks of
 * its context, the others leave their messages for it.
 */
#include "experiment/experiment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/option_rows.h"
#include "core/pool.h"
#include "core/text.h"
#include "train/train.h"

enum { MAX_JOBS = 256 };

const cw_option_info cwi_experiment_options[] = {
    WHOLE("jobs", "1", 1, MAX_JOBS,
          "so many runs at a time, each on its share of the threads; results never depend on it"),
    TEXT("checkpoint-every", "60s",
         "keep the state of runs under way after so many epochs (10) or seconds (60s)"),
    FLAG("keep-models", "keep the model of every whole run beside its record"),
    FLAG("retry", "run again what failed before"),
    FLAG("dry-run", "run nothing: say what would be run and about how long it would take"),
    {0}};

typedef struct worker {
    cwi_experiment *experiment;
    cw_context *ctx; /* its own, or the caller's */
    const cwi_run *run;
    pthread_t thread;
    bool is_caller;
    struct timespec looked_up; /* when the caller was last told */
    cwi_callbacks caller;      /* whom the caller's context told, and shall again */
} worker;

/* ---- what the caller is told ------------------------------------------------------ */

/* The caller's log with a memory: what many runs have to say is said once. */
typedef struct herald {
    cwi_callbacks before;
    json_t *said; /* an object whose keys are the texts */
} herald;

/* Is it new?  Without memory everything is.  Called on the calling thread alone. */
static bool is_news(json_t *said, const char *text)
{
    if (json_object_get(said, text)) return false;
    (void)json_object_set_new(said, text, json_true());
    return true;
}

static void say_once(void *user, cw_log_level level, const char *text)
{
    const herald *h = user;
    if (h->before.log && is_news(h->said, text)) h->before.log(h->before.log_user, level, text);
}

/* Leave a message for the calling thread, with or without the lock. */
static void leave(cwi_experiment *e, json_t *message)
{
    pthread_mutex_lock(&e->mail);
    (void)json_array_append_new(e->messages, message); /* lost when there is no memory */
    pthread_mutex_unlock(&e->mail);
}

/* A failure is told of every run, a warning only of the first that has it. */
static void leave_warning(cwi_experiment *e, bool is_failure, const char *run, const char *text)
{
    leave(e, json_pack("{s:b, s:o, s:o}", "failure", is_failure, "run", cwi_json_string(run),
                       "text", cwi_json_string(text)));
}

static void count(const cwi_experiment *e, int64_t *done, int64_t *total)
{
    *done = *total = 0;
    for (size_t k = 0; k < e->plan->n_rows; k++) {
        *done += cwi_search_done(&e->searches[k]);
        *total += cwi_row_runs(e->searches[k].row);
    }
}

/* The event of a finished run; the lock is held and its search has gone on. */
static void leave_event(cwi_experiment *e, const cwi_run *run)
{
    int64_t done, total;
    const cwi_set *set = &e->plan->sets[run->set];
    count(e, &done, &total);
    json_t *event = json_pack(
        "{s:s, s:s, s:o, s:o, s:s, s:s, s:I, s:b, s:I, s:I}", "event", "run", "run", run->name,
        "dataset", cwi_json_string(set->name), "train_set", cwi_json_string(set->train_set),
        "method", cwi_options_text(run->options, "method"), "backbone",
        cwi_options_text(run->options, "backbone"), "seed", (json_int_t)run->seed, "early",
        run->is_early, "done", (json_int_t)done, "total", (json_int_t)total);
    cwi_json_copy_keys(run->record, "best_epoch|valid|train_s|error", &event);
    leave(e, event);
}

/* Pass everything on that was left; called on the calling thread without the lock. */
static void pass_on(worker *w)
{
    cwi_experiment *e = w->experiment;
    json_t *messages, *message, *empty = json_array();
    size_t index;
    pthread_mutex_lock(&e->mail);
    messages = e->messages;
    e->messages = empty;
    pthread_mutex_unlock(&e->mail);
    json_array_foreach(messages, index, message)
    {
        const char *text = json_string_value(json_object_get(message, "text"));
        bool is_failure = json_is_true(json_object_get(message, "failure"));
        if (text && w->caller.log) {
            char line[1024];
            if (!is_failure && !is_news(e->said, text)) continue;
            snprintf(line, sizeof line, "%s: %s",
                     json_string_value(json_object_get(message, "run")), text);
            w->caller.log(w->caller.log_user, CW_LOG_WARNING, line);
        } else if (!text && w->caller.event) {
            char *json = cwi_json_print(w->ctx, message, JSON_COMPACT | JSON_REAL_PRECISION(10));
            if (json) w->caller.event(w->caller.event_user, json);
            cwi_free(json);
        }
    }
    json_decref(messages);
}

static bool is_told_to_stop(cwi_experiment *e)
{
    pthread_mutex_lock(&e->lock);
    bool stops = e->must_stop || e->status != CW_OK;
    pthread_mutex_unlock(&e->lock);
    return stops;
}

/* The calling thread looks up from its work: messages, progress, the wish to stop. */
static void look_up(worker *w, const char *stage)
{
    cwi_experiment *e = w->experiment;
    int64_t done, total;
    char text[256];
    pass_on(w);
    pthread_mutex_lock(&e->lock);
    count(e, &done, &total);
    pthread_mutex_unlock(&e->lock);
    if (w->run && stage)
        snprintf(text, sizeof text, "%lld of %lld runs; %s on %s, seed %lld, %s", (long long)done,
                 (long long)total, cwi_options_text(w->run->options, "method"),
                 cwi_options_text(w->run->options, "backbone"), (long long)w->run->seed, stage);
    else
        snprintf(text, sizeof text, "%lld of %lld runs", (long long)done, (long long)total);
    if (!w->caller.progress || w->caller.progress(w->caller.progress_user, text, done, total))
        return;
    pthread_mutex_lock(&e->lock);
    e->must_stop = true;
    pthread_mutex_unlock(&e->lock);
}

/* ---- callbacks of the workers' contexts ---------------------------------------------- */

/* Steps are short; looking up after each would cost more than some of them. */
static bool is_time_to_look_up(worker *w)
{
    if (cwi_seconds_since(&w->looked_up) < 0.02) return false;
    clock_gettime(CLOCK_MONOTONIC, &w->looked_up);
    return true;
}

static bool on_progress(void *user, const char *stage, int64_t done, int64_t total)
{
    worker *w = user;
    (void)done;
    (void)total;
    if (w->is_caller && is_time_to_look_up(w)) look_up(w, stage);
    return !is_told_to_stop(w->experiment);
}

/* Remarks of single runs are too many to be of use; warnings count. */
static void on_log(void *user, cw_log_level level, const char *text)
{
    worker *w = user;
    if (level == CW_LOG_INFO) return;
    leave_warning(w->experiment, false, w->run ? w->run->name : "experiment", text);
}

/* ---- work -------------------------------------------------------------------------------- */

static cwi_run *next_run(const cwi_experiment *e)
{
    for (size_t k = 0; k < e->n_runs; k++)
        if (e->runs[k]->state == CWI_RUN_WAITING) return e->runs[k];
    return NULL;
}

static cw_status advance_all(cw_context *ctx, cwi_experiment *e)
{
    for (size_t k = 0; k < e->plan->n_rows; k++)
        CW_PASS(cwi_search_advance(ctx, e, &e->searches[k]));
    return CW_OK;
}

/* Take in what became of a run; the lock is held. */
static void take_in(worker *w, cwi_run *run, cw_status status, json_t *record)
{
    cwi_experiment *e = w->experiment;
    run->state = CWI_RUN_WAITING;
    if (status == CW_OK) {
        const char *error = json_string_value(json_object_get(record, "error"));
        run->record = record;
        run->state = error ? CWI_RUN_FAILED : CWI_RUN_DONE;
        if (error) leave_warning(e, true, run->name, error);
        status = advance_all(w->ctx, e);
        leave_event(e, run);
    } else if (status == CW_CANCELLED && e->must_stop) {
        return;
    }
    if (status == CW_OK || e->status != CW_OK) return;
    if (status == CW_CANCELLED) return; /* it stopped because another had failed */
    e->status = status;
    cwi_copy_text(e->error, sizeof e->error, w->ctx->error);
}

/* Nothing to do until another worker is done; the lock is held. */
static void wait_a_moment(worker *w)
{
    cwi_experiment *e = w->experiment;
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += 100000000;
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_cond_timedwait(&e->changed, &e->lock, &until);
    if (!w->is_caller) return;
    pthread_mutex_unlock(&e->lock);
    look_up(w, NULL);
    pthread_mutex_lock(&e->lock);
}

static void *work(void *arg)
{
    worker *w = arg;
    cwi_experiment *e = w->experiment;
    pthread_mutex_lock(&e->lock);
    while (!e->must_stop && e->status == CW_OK) {
        cwi_run *run = next_run(e);
        json_t *record;
        if (!run && e->n_active == 0) break;
        if (!run) {
            wait_a_moment(w);
            continue;
        }
        run->state = CWI_RUN_ACTIVE;
        e->n_active++;
        w->run = run;
        pthread_mutex_unlock(&e->lock);
        cw_status status = cwi_run_execute(w->ctx, e, run, &record);
        pthread_mutex_lock(&e->lock);
        w->run = NULL;
        e->n_active--;
        take_in(w, run, status, record);
        pthread_cond_broadcast(&e->changed);
    }
    pthread_cond_broadcast(&e->changed);
    pthread_mutex_unlock(&e->lock);
    return NULL;
}

/* ---- workers ------------------------------------------------------------------------------ */

static void watch(worker *w)
{
    cw_context_set_progress(w->ctx, on_progress, w);
    cw_context_set_log(w->ctx, on_log, w);
    cw_context_set_event(w->ctx, NULL, NULL);
}

/* Threads of each run: those asked for, or its share of the cores. */
static int share_of_threads(const cw_context *ctx, int64_t jobs)
{
    int threads = cw_context_threads(ctx);
    if (ctx->threads > 0 || jobs <= 1) return threads;
    return threads / (int)jobs > 0 ? threads / (int)jobs : 1;
}

static cw_status hire(worker *w, cwi_experiment *e, int threads)
{
    *w = (worker){.experiment = e};
    cw_status status = cw_context_create(&w->ctx);
    if (status == CW_OK) status = cw_context_set_threads(w->ctx, threads);
    if (status == CW_OK) watch(w);
    return status;
}

/* Returns how many began to work; fewer than wanted only cost time. */
static size_t start_others(cwi_experiment *e, worker *others, size_t wanted, int threads)
{
    for (size_t k = 0; k < wanted; k++) {
        if (hire(&others[k], e, threads) == CW_OK &&
            cwi_thread_start(&others[k].thread, work, &others[k]))
            continue;
        cw_context_free(others[k].ctx);
        return k;
    }
    return wanted;
}

/* All workers at work until there is no more of it, or somebody says stop. */
static cw_status work_together(cw_context *ctx, cwi_experiment *e, int64_t jobs)
{
    int threads = share_of_threads(ctx, jobs), before = ctx->threads;
    worker self = {.experiment = e, .ctx = ctx, .is_caller = true, .caller = ctx->tell};
    worker *others = cwi_alloc_zero(ctx, (size_t)jobs, sizeof *others);
    if (!others) return CW_NO_MEMORY;
    watch(&self);
    cw_status status = cw_context_set_threads(ctx, threads);
    if (status == CW_OK) {
        size_t started = start_others(e, others, (size_t)jobs - 1, threads);
        work(&self);
        for (size_t k = 0; k < started; k++) {
            pthread_join(others[k].thread, NULL);
            cw_context_free(others[k].ctx);
        }
    }
    pass_on(&self);
    ctx->tell = self.caller;
    cw_status returned = cw_context_set_threads(ctx, before);
    cwi_free(others);
    return status == CW_OK ? returned : status;
}

/* ---- the whole ------------------------------------------------------------------------------ */

static cw_status begin(cw_context *ctx, cwi_experiment *e)
{
    e->searches = cwi_alloc_zero(ctx, e->plan->n_rows, sizeof *e->searches);
    if (!e->searches) return CW_NO_MEMORY;
    for (size_t k = 0; k < e->plan->n_rows; k++)
        CW_PASS(cwi_search_begin(ctx, e, &e->searches[k], &e->plan->rows[k]));
    return advance_all(ctx, e);
}

static cw_status run_all(cw_context *ctx, cwi_experiment *e, int64_t jobs)
{
    pthread_condattr_t monotonic;
    pthread_mutex_init(&e->lock, NULL);
    pthread_mutex_init(&e->mail, NULL);
    pthread_condattr_init(&monotonic);
    pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    pthread_cond_init(&e->changed, &monotonic);
    pthread_condattr_destroy(&monotonic);
    cw_status status = work_together(ctx, e, jobs);
    pthread_cond_destroy(&e->changed);
    pthread_mutex_destroy(&e->mail);
    pthread_mutex_destroy(&e->lock);
    if (status != CW_OK) return status;
    cwi_begin(ctx);
    if (e->status != CW_OK) return cwi_fail(ctx, e->status, "%s", e->error);
    if (!e->must_stop) return CW_OK;
    return cwi_fail(ctx, CW_CANCELLED, "stopped; the same command goes on from here");
}

static cw_status write_results(cw_context *ctx, cwi_experiment *e, char **json)
{
    cw_status status;
    json_t *results = NULL;
    CW_TRY(cwi_experiment_report(ctx, e, &results));
    CW_TRY(cwi_csv_write(ctx, e, results));
    CW_TRY(cwi_tables_write(ctx, e, results));
    CW_TRY(cwi_runstore_finish(ctx, &e->store, results, json));
done:
    json_decref(results);
    return status;
}

static void experiment_clear(cwi_experiment *e)
{
    for (size_t k = 0; e->searches && k < e->plan->n_rows; k++) cwi_search_clear(&e->searches[k]);
    for (size_t k = 0; k < e->n_runs; k++) cwi_run_free(e->runs[k]);
    cwi_free(e->searches);
    cwi_free(e->runs);
    json_decref(e->messages);
    cwi_runstore_close(&e->store);
}

static cw_status carry_out(cw_context *ctx, const cwi_plan *plan, const cw_options *options,
                           const char *folder, json_t *said, char **json)
{
    cw_status status;
    char *text = NULL;
    cwi_pace pace;
    cwi_experiment e = {.plan = plan,
                        .keeps_models = cwi_options_flag(options, "keep-models"),
                        .retries = cwi_options_flag(options, "retry"),
                        .messages = json_array(),
                        .said = said};
    cwi_copy_text(e.checkpoint_every, sizeof e.checkpoint_every,
                  cwi_options_text(options, "checkpoint-every"));
    CW_TRY(cwi_pace_parse(ctx, e.checkpoint_every, &pace));
    CW_TRY(cwi_runstore_open(ctx, folder, &e.store));
    CW_TRY(cwi_json_text(ctx, json_incref(plan->source), &text));
    CW_TRY(cwi_runstore_write(ctx, &e.store, "experiment.json", text));
    CW_TRY(begin(ctx, &e));
    CW_TRY(run_all(ctx, &e, cwi_options_integer(options, "jobs")));
    CW_TRY(write_results(ctx, &e, json));
done:
    cwi_free(text);
    experiment_clear(&e);
    return status;
}

static cw_status estimate(cw_context *ctx, const cwi_plan *plan, int64_t jobs, char **json)
{
    json_t *result;
    cw_status status = cwi_experiment_estimate(ctx, plan, jobs, &result);
    if (status != CW_OK || !json) {
        json_decref(result);
        return status;
    }
    return cwi_json_text(ctx, result, json);
}

cw_status cw_experiment_run(cw_context *ctx, const char *plan, const cw_options *options,
                            const char *folder, char **json)
{
    cw_status status;
    cw_options *defaults = NULL;
    cwi_plan parsed = {0};
    herald h = {.before = ctx->tell, .said = json_object()};

    cwi_begin(ctx);
    if (json) *json = NULL;
    cw_context_set_log(ctx, say_once, &h);
    CW_TRY(cwi_options_check(ctx, options, "experiment"));
    if (!options) CW_TRY(cwi_options_create(ctx, "experiment", cwi_experiment_options, &defaults));
    if (!options) options = defaults;
    CW_TRY(cwi_plan_parse(ctx, plan, &parsed));
    if (cwi_options_flag(options, "dry-run"))
        CW_TRY(estimate(ctx, &parsed, cwi_options_integer(options, "jobs"), json));
    else
        CW_TRY(carry_out(ctx, &parsed, options, folder, h.said, json));
done:
    ctx->tell = h.before;
    json_decref(h.said);
    cwi_plan_clear(&parsed);
    cw_options_free(defaults);
    return status;
}
