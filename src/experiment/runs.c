/* runs.c - one run: its name, its training and its record. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/text.h"
#include "evaluate/evaluate.h"
#include "experiment/experiment.h"
#include "prepare/dataset.h"
#include "registry/registry.h"
#include "train/train.h"

/* ---- records ------------------------------------------------------------------------ */

static const char *metric_of(const json_t *record)
{
    return cwi_json_get_text(json_object_get(record, "options"), "metric");
}

double cwi_record_valid(const json_t *record)
{
    return cwi_json_to_number(json_object_get(json_object_get(record, "valid"), metric_of(record)));
}

int32_t cwi_record_k(const json_t *record)
{
    const char *at = strchr(metric_of(record), '@');
    int64_t k = 20;
    if (at) (void)cwi_parse_int(at + 1, strlen(at + 1), &k);
    return (int32_t)k;
}

/* ---- names ---------------------------------------------------------------------------- */

static cw_status print_key(cw_context *ctx, json_t *identity, char key[17])
{
    char hash[CWI_HASH_BYTES];
    cwi_digest digest = {0};
    char *text =
        cwi_json_print(ctx, identity, JSON_COMPACT | JSON_SORT_KEYS | JSON_REAL_PRECISION(17));
    json_decref(identity);
    if (!text) return CW_NO_MEMORY;
    cwi_digest_add(&digest, text, strlen(text));
    cwi_digest_print(&digest, hash);
    cwi_copy_text(key, 17, hash);
    cwi_free(text);
    return CW_OK;
}

/* METHOD-BACKBONE-SEED-KEY.  Same data, same options, same minor version: same result.
 *   options  consumed
 *   rungs    of the ladder the name is for; NULL: a run */
static cw_status print_name(cw_context *ctx, const cwi_set *set, const cwi_plan_row *row,
                            int64_t seed, json_t *options, json_t *rungs, char out[CWI_RUN_BYTES])
{
    char version[16], key[17];
    snprintf(version, sizeof version, "%d.%d", CW_VERSION_MAJOR, CW_VERSION_MINOR);
    json_t *identity = json_pack("{s:s, s:s, s:o, s:O*}", "crosswise", version, "data", set->hash,
                                 "options", options, "rungs", rungs);
    CW_PASS(print_key(ctx, identity, key));
    snprintf(out, CWI_RUN_BYTES, "%s-%s-%lld-%s", row->method, row->backbone, (long long)seed, key);
    return CW_OK;
}

/* The name of the run, and of its checkpoint: the same along all rungs of this ladder, and on no
 * other. */
static cw_status name_files(cw_context *ctx, const cwi_experiment *e, const cwi_plan_row *row,
                            int64_t whole_epochs, cwi_run *run)
{
    const cwi_set *set = &e->plan->sets[row->set];
    CW_PASS(
        print_name(ctx, set, row, run->seed, cwi_train_identity(run->options), NULL, run->name));
    memcpy(run->checkpoint, run->name, sizeof run->checkpoint);
    if (row->tuning.n_rungs == 0 || run->seed != row->tuning.seed) return CW_OK;
    json_t *rungs = json_array(), *options = cwi_train_identity(run->options);
    cwi_json_set(&options, "epochs", json_integer(whole_epochs));
    for (int r = 0; r < row->tuning.n_rungs; r++)
        cwi_json_add(&rungs, json_integer(row->tuning.rungs[r]));
    if (!rungs) { /* which would be a name without them */
        json_decref(options);
        return cwi_no_memory(ctx);
    }
    cw_status status = print_name(ctx, set, row, run->seed, options, rungs, run->checkpoint);
    json_decref(rungs);
    return status;
}

/* ---- asking ----------------------------------------------------------------------------- */

void cwi_run_free(cwi_run *run)
{
    if (!run) return;
    cw_options_free(run->options);
    json_decref(run->record);
    cwi_free(run);
}

static cwi_run *find_run(const cwi_experiment *e, const char *name)
{
    for (size_t k = 0; k < e->n_runs; k++)
        if (strcmp(e->runs[k]->name, name) == 0) return e->runs[k];
    return NULL;
}

/* What an earlier process has finished need not be done again. */
static cw_status look_up(cw_context *ctx, const cwi_experiment *e, cwi_run *run)
{
    CW_PASS(cwi_runstore_read(ctx, &e->store, "runs", run->name, &run->record));
    if (!run->record) return CW_OK;
    bool has_failed = json_object_get(run->record, "error") != NULL;
    run->state = has_failed ? CWI_RUN_FAILED : CWI_RUN_DONE;
    if (!has_failed || !e->retries) return CW_OK;
    json_decref(run->record);
    run->record = NULL;
    run->state = CWI_RUN_WAITING;
    return CW_OK;
}

static cw_status make_run(cw_context *ctx, const cwi_experiment *e, const cwi_plan_row *row,
                          const json_t *candidate, int64_t epochs, cwi_run *run)
{
    cw_status status;
    cw_options *given = NULL, *whole = NULL;
    const cwi_method *method;
    const cwi_backbone *backbone;

    cwi_extent extent;

    CW_TRY(cwi_dataset_extent(ctx, e->plan->sets[row->set].data, &extent));
    CW_TRY(cwi_row_options(ctx, row, candidate, run->seed, 0, &whole));
    CW_TRY(cwi_row_options(ctx, row, candidate, run->seed, epochs, &given));
    CW_TRY(cwi_train_settle(ctx, given, &extent, &run->options, &method, &backbone));
    CW_TRY(name_files(ctx, e, row, cwi_options_integer(whole, "epochs"), run));
done:
    cw_options_free(given);
    cw_options_free(whole);
    return status;
}

cw_status cwi_experiment_ask(cw_context *ctx, cwi_experiment *e, const cwi_plan_row *row,
                             const json_t *candidate, int64_t seed, int64_t epochs, cwi_run **out)
{
    cw_status status;
    *out = NULL;
    cwi_run *run = cwi_alloc_zero(ctx, 1, sizeof *run);
    if (!run) return CW_NO_MEMORY;
    run->set = row->set;
    run->seed = seed;
    run->is_early = epochs > 0;
    CW_TRY(make_run(ctx, e, row, candidate, epochs, run));
    *out = find_run(e, run->name);
    if (!*out) {
        CW_TRY(look_up(ctx, e, run));
        CW_TRY(cwi_grow(ctx, &e->runs, &e->run_capacity, e->n_runs + 1, sizeof *e->runs));
        e->runs[e->n_runs++] = *out = run;
        return CW_OK;
    }
done:
    cwi_run_free(run);
    return status;
}

/* ---- running ------------------------------------------------------------------------------ */

/* Where the state is kept, and whether there is some to go on from. */
static cw_status set_checkpoint(cw_context *ctx, const cwi_experiment *e, const cwi_run *run,
                                const char *path)
{
    cw_options *options = run->options;
    CW_PASS(cwi_options_assign(ctx, options, "checkpoint", path));
    CW_PASS(cwi_options_assign(ctx, options, "checkpoint-every", e->checkpoint_every));
    CW_PASS(cwi_options_assign(ctx, options, "checkpoint-end", run->is_early ? "on" : "off"));
    return cwi_options_assign(ctx, options, "resume", cwi_path_exists(path) ? "on" : "off");
}

/* The lists of the test part in all detail, for the report; null for what has no test part. */
static cw_status evaluate(cw_context *ctx, const cwi_set *set, const cw_model *model,
                          const json_t *record, json_t **out)
{
    cw_status status;
    char k[CWI_NUMBER_BYTES], *json = NULL;
    cw_options *options = NULL;

    *out = NULL;
    if (set->data->part[CW_PART_TEST].count == 0) {
        *out = json_null();
        return CW_OK;
    }
    cwi_print_int(cwi_record_k(record), k);
    CW_TRY(cwi_options_create(ctx, "evaluate", cwi_evaluate_options, &options));
    CW_TRY(cwi_options_assign(ctx, options, "k", k));
    CW_TRY(cwi_options_assign(ctx, options, "bootstrap", "0"));
    CW_TRY(cw_evaluate(ctx, set->data, model, options, &json));
    CW_TRY(cwi_json_reparse(ctx, json, out));
done:
    cw_text_free(json);
    cw_options_free(options);
    return status;
}

/* Train and measure; the record in the end. */
static cw_status train(cw_context *ctx, const cwi_experiment *e, const cwi_run *run,
                       json_t **record)
{
    cw_status status;
    cw_model *model = NULL;
    char *text = NULL, *model_path = NULL;
    json_t *evaluation = NULL;
    const cwi_set *set = &e->plan->sets[run->set];

    CW_TRY(cw_train(ctx, set->data, run->options, &model, &text));
    CW_TRY(cwi_json_verify(ctx, "record", text, strlen(text), record));
    if (run->is_early) goto done;
    CW_TRY(evaluate(ctx, set, model, *record, &evaluation));
    cwi_json_set(record, "evaluation", json_incref(evaluation));
    if (e->keeps_models) {
        model_path = cwi_runstore_path(ctx, &e->store, "runs/%s.safetensors", run->name);
        status = model_path ? cw_model_save(ctx, model, model_path) : CW_NO_MEMORY;
    }
done:
    json_decref(evaluation);
    cwi_free(model_path);
    cw_text_free(text);
    cw_model_free(model);
    return status;
}

/* The setting is to blame, not the machine or the caller. */
static bool is_own_fault(cw_status status)
{
    return status == CW_BAD_ARG || status == CW_BAD_DATA || status == CW_UNSUPPORTED;
}

static json_t *record_failure(cw_context *ctx, const cwi_run *run)
{
    return json_pack(
        "{s:s, s:s, s:o, s:I, s:o}", "method", cwi_options_text(run->options, "method"), "backbone",
        cwi_options_text(run->options, "backbone"), "options", cwi_train_record(run->options),
        "seed", (json_int_t)run->seed, "error", cwi_json_string(ctx->error));
}

/* Store the record; what is handed out is what was stored. */
static cw_status store(cw_context *ctx, const cwi_experiment *e, const cwi_run *run,
                       json_t **record)
{
    const cwi_set *set = &e->plan->sets[run->set];
    json_t *made = *record;
    cwi_json_set(&made, "dataset", cwi_json_string(set->name));
    cwi_json_set(&made, "train_set", cwi_json_string(set->train_set));
    return cwi_runstore_keep(ctx, &e->store, "runs", run->name, made, record);
}

cw_status cwi_run_execute(cw_context *ctx, const cwi_experiment *e, const cwi_run *run,
                          json_t **record)
{
    cw_status status;
    char *path = cwi_runstore_path(ctx, &e->store, "runs/%s.checkpoint", run->checkpoint);
    *record = NULL;
    if (!path) return CW_NO_MEMORY;
    CW_TRY(set_checkpoint(ctx, e, run, path));
    status = train(ctx, e, run, record);
    bool has_failed = is_own_fault(status);
    if (has_failed) {
        json_decref(*record);
        *record = record_failure(ctx, run);
        cwi_begin(ctx);
        status = CW_OK;
    }
    if (status == CW_OK) status = store(ctx, e, run, record);
    if (status == CW_OK && (has_failed || !run->is_early)) (void)unlink(path);
done:
    if (status != CW_OK) {
        json_decref(*record);
        *record = NULL;
    }
    cwi_free(path);
    return status;
}
