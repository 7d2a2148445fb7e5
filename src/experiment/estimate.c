/* estimate.c - what a plan would run, and about how long that takes.
 *
 * Every row is trained for a moment to see how long its steps and evaluations take.  How many
 * epochs a run needs nobody knows before; so there are two bounds: when no run gains after its
 * first evaluation, and when all run to their last epoch.
 */
#include <string.h>
#include <time.h>

#include "core/json.h"
#include "core/mem.h"
#include "experiment/experiment.h"
#include "registry/registry.h"
#include "train/train.h"

static const double PROBE_S = 0.3; /* time spent on the steps of one row */

/* Watches a training that shall soon end. */
typedef struct probe {
    struct timespec began;
    bool has_begun, wants_stop;
    int64_t steps, total; /* of an epoch */
    double steps_s;
    cwi_callbacks before;
} probe;

static bool on_progress(void *user, const char *stage, int64_t done, int64_t total)
{
    probe *p = user;
    if (p->before.progress && !p->before.progress(p->before.progress_user, stage, done, total)) {
        p->wants_stop = true;
        return false;
    }
    if (!p->has_begun) {
        clock_gettime(CLOCK_MONOTONIC, &p->began);
        p->has_begun = true;
        return true;
    }
    p->steps++;
    p->total = total;
    p->steps_s = cwi_seconds_since(&p->began);
    return p->steps_s < PROBE_S;
}

/* Seconds of an epoch and of an evaluation of a row. */
typedef struct pace {
    double epoch_s, eval_s;
} pace;

/* Train for a moment.  What the trainer knows in the end says how long things took. */
static cw_status measure(cw_context *ctx, const cwi_plan *plan, const cwi_plan_row *row, pace *out)
{
    cw_status status;
    cw_options *options = NULL;
    cwi_trainer *t = NULL;
    probe p = {.before = ctx->tell};

    *out = (pace){0};
    CW_TRY(cwi_row_options(ctx, row, json_array_get(row->candidates, 0), 0, 1, &options));
    CW_TRY(cwi_options_assign(ctx, options, "checkpoint-every", "0"));
    CW_TRY(cwi_trainer_create(ctx, plan->sets[row->set].data, options, &t));
    cw_context_set_progress(ctx, on_progress, &p);
    cw_context_set_event(ctx, NULL, NULL);
    status = cwi_trainer_run(t);
    ctx->tell = p.before;
    if (status == CW_CANCELLED && !p.wants_stop) {
        cwi_begin(ctx);
        status = CW_OK;
    }
    out->eval_s = cwi_json_get_number(json_array_get(t->epochs, 0), "eval_s");
    if (p.steps > 0) out->epoch_s = p.steps_s / (double)p.steps * (double)p.total;
    if (json_array_size(t->epochs) > 1) /* it was quicker than the probe */
        out->epoch_s = cwi_json_get_number(json_array_get(t->epochs, 1), "train_s");
done:
    cwi_trainer_free(t);
    cw_options_free(options);
    return status;
}

/* Epochs of all runs of a row: the fewest and the most. */
static cw_status count_epochs(cw_context *ctx, const cwi_plan_row *row, double *fewest,
                              double *most, double *every)
{
    cw_options *options;
    CW_PASS(cwi_row_options(ctx, row, json_array_get(row->candidates, 0), 0, 0, &options));
    double epochs = (double)cwi_options_integer(options, "epochs");
    double stops = (double)(cwi_options_integer(options, "patience") + 1);
    size_t candidates = json_array_size(row->candidates);
    double early = 0, whole = (double)cwi_row_runs(row);

    *every = (double)cwi_options_integer(options, "eval-every");
    for (int r = 0; r < row->tuning.n_rungs && candidates > 1; r++) {
        double before = r > 0 ? (double)row->tuning.rungs[r - 1] : 0; /* it goes on from there */
        early += (double)candidates * ((double)row->tuning.rungs[r] - before);
        whole -= (double)candidates;
        candidates = cwi_survivors(candidates, row->tuning.keep);
    }
    double soonest = *every > 0 && stops * *every < epochs ? stops * *every : epochs;
    *fewest = early + whole * soonest;
    *most = early + whole * epochs;
    cw_options_free(options);
    return CW_OK;
}

static size_t count_settings(const cwi_plan_row *row)
{
    bool is_race = row->tuning.kind == CWI_TUNE_RACE;
    return is_race ? (size_t)row->tuning.draws : json_array_size(row->candidates);
}

static cw_status estimate_row(cw_context *ctx, const cwi_plan *plan, const cwi_plan_row *row,
                              json_t **list, double *least_s, double *most_s)
{
    double fewest, most, every;
    pace measured;
    const cwi_set *set = &plan->sets[row->set];
    CW_PASS(measure(ctx, plan, row, &measured));
    CW_PASS(count_epochs(ctx, row, &fewest, &most, &every));
    double one_s = measured.epoch_s + (every > 0 ? measured.eval_s / every : 0);
    *least_s += fewest * one_s;
    *most_s += most * one_s;
    cwi_json_add(
        list, json_pack("{s:o, s:o, s:s, s:s, s:O, s:I, s:I, s:I, s:f, s:f, s:f, s:f}", "dataset",
                        cwi_json_string(set->name), "train_set", cwi_json_string(set->train_set),
                        "method", row->method, "backbone", row->backbone, "varied", row->varied,
                        "settings", (json_int_t)count_settings(row), "seeds",
                        (json_int_t)json_array_size(row->seeds), "runs",
                        (json_int_t)cwi_row_runs(row), "epoch_s", measured.epoch_s, "eval_s",
                        measured.eval_s, "least_s", fewest * one_s, "most_s", most * one_s));
    return CW_OK;
}

/* Rows of different tables that are the same are run once. */
static bool is_repeated(const cwi_plan *plan, size_t index)
{
    const cwi_plan_row *row = &plan->rows[index];
    for (size_t k = 0; k < index; k++) {
        const cwi_plan_row *other = &plan->rows[k];
        if (other->set == row->set && strcmp(other->method, row->method) == 0 &&
            strcmp(other->backbone, row->backbone) == 0 &&
            json_equal(other->options, row->options) &&
            json_equal(other->candidates, row->candidates) && json_equal(other->seeds, row->seeds))
            return true;
    }
    return false;
}

cw_status cwi_experiment_estimate(cw_context *ctx, const cwi_plan *plan, int64_t jobs, json_t **out)
{
    cw_status status = CW_OK;
    double least_s = 0, most_s = 0;
    int64_t runs = 0;
    json_t *rows = json_array();

    for (size_t k = 0; k < plan->n_rows && status == CW_OK; k++) {
        if (is_repeated(plan, k)) continue;
        status = cwi_progress(ctx, "trying rows", (int64_t)k, (int64_t)plan->n_rows);
        if (status == CW_OK)
            status = estimate_row(ctx, plan, &plan->rows[k], &rows, &least_s, &most_s);
        runs += cwi_row_runs(&plan->rows[k]);
    }
    *out = json_pack("{s:b, s:I, s:I, s:f, s:f, s:o}", "dry_run", 1, "runs", (json_int_t)runs,
                     "jobs", (json_int_t)jobs, "least_s", least_s / (double)jobs, "most_s",
                     most_s / (double)jobs, "rows", rows);
    return status == CW_OK ? cwi_json_check(ctx, *out) : status;
}
