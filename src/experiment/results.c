/* results.c - everything an experiment found, as one JSON object (docs/experiments.md).
 *
 * Times and memory are under "time" alone; all the rest is the same whenever and however often the
 * experiment was interrupted.  Of tuning runs the test part is left out: nobody shall look at it.
 */
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "evaluate/metrics.h"
#include "evaluate/significance.h"
#include "experiment/experiment.h"
#include "prepare/dataset.h"

/* ---- datasets ------------------------------------------------------------------------- */

/* What `describe` says of a dataset, from the store where it was made before: it takes a while. */
static cw_status describe_set(cw_context *ctx, const cwi_experiment *e, const cwi_set *set,
                              json_t **out)
{
    cw_status status;
    char *text = NULL;
    json_t *made;
    CW_TRY(cwi_runstore_read(ctx, &e->store, "data", set->hash, out));
    if (*out) goto done;
    CW_TRY(cw_dataset_describe(ctx, set->data, &text));
    CW_TRY(cwi_json_reparse(ctx, text, &made));
    CW_TRY(cwi_runstore_keep(ctx, &e->store, "data", set->hash, made, out));
done:
    (void)json_object_del(*out, "run"); /* of no interest any more */
    cwi_free(text);
    return status;
}

static cw_status report_set(cw_context *ctx, const cwi_experiment *e, const cwi_set *set,
                            json_t **list)
{
    json_t *description;
    CW_PASS(describe_set(ctx, e, set, &description));
    json_t *object =
        json_pack("{s:o, s:o, s:o, s:s, s:o}", "dataset", cwi_json_string(set->name), "train_set",
                  cwi_json_string(set->train_set), "folder", cwi_json_string(set->folder),
                  "xxh3_128", set->hash, "description", description);
    cwi_json_add(list, object);
    return cwi_json_check(ctx, *list);
}

/* ---- runs ------------------------------------------------------------------------------- */

/* Loss and validation metrics by epoch. */
static json_t *report_curve(const json_t *record)
{
    const json_t *epochs = json_object_get(record, "epochs");
    json_t *list = json_array();
    for (size_t e = 0; e < json_array_size(epochs); e++) {
        json_t *point = json_object();
        cwi_json_copy_keys(json_array_get(epochs, e), "epoch|loss|valid", &point);
        cwi_json_add(&list, point);
    }
    return list;
}

static json_t *report_time(const json_t *record)
{
    const json_t *epochs = json_object_get(record, "epochs");
    double eval_s = 0;
    json_t *out = json_object();
    for (size_t e = 0; e < json_array_size(epochs); e++)
        eval_s += cwi_json_get_number(json_array_get(epochs, e), "eval_s");
    cwi_json_copy_keys(record, "train_s|threads|isa|peak_bytes", &out);
    cwi_json_set(&out, "eval_s", json_real(eval_s));
    return out;
}

static json_t *report_run(const cwi_run *run)
{
    const json_t *record = run->record, *epochs = json_object_get(record, "epochs");
    json_t *out = json_object();
    cwi_json_copy_keys(
        record, "dataset|train_set|method|backbone|options|seed|best_epoch|valid|error", &out);
    if (epochs) {
        size_t n = json_array_size(epochs); /* the first is before training */
        cwi_json_set(&out, "epochs", json_integer((json_int_t)(n > 0 ? n - 1 : 0)));
        cwi_json_set(&out, "curve", report_curve(record));
        cwi_json_set(&out, "time", report_time(record));
    }
    if (!run->is_early) cwi_json_copy_keys(record, "test", &out);
    cwi_json_copy_keys(json_object_get(record, "evaluation"),
                       "metrics|beyond|groups|user_groups|truth", &out);
    return out;
}

/* ---- rows ----------------------------------------------------------------------------------- */

static json_t *list_names(cwi_run *const *runs, size_t n)
{
    json_t *list = json_array();
    for (size_t k = 0; k < n; k++) cwi_json_add(&list, json_string(runs[k]->name));
    return list;
}

/* Values of a test metric over the seeds whose runs are done; value has room for n_current. */
static int64_t collect(const cwi_search *s, const char *metric, double *value)
{
    int64_t n = 0;
    for (size_t k = 0; k < s->n_current; k++) {
        const json_t *test = json_object_get(s->current[k]->record, "test");
        const json_t *entry = json_object_get(test, metric);
        if (s->current[k]->state == CWI_RUN_DONE && json_is_number(entry))
            value[n++] = json_number_value(entry);
    }
    return n;
}

/* The test metrics that a row has, as an object (borrowed); NULL when no run is done. */
static const json_t *metrics_of(const cwi_search *s)
{
    for (size_t k = 0; k < s->n_current; k++)
        if (s->current[k]->state == CWI_RUN_DONE)
            return json_object_get(s->current[k]->record, "test");
    return NULL;
}

static void put_summary(const cwi_search *s, json_t **row)
{
    const char *metric;
    json_t *unused, *means = json_object(), *sds = json_object();
    double value[CWI_MAX_SEEDS];
    json_object_foreach((json_t *)metrics_of(s), metric, unused)
    {
        double mean, sd;
        if (strcmp(metric, "users") == 0) continue;
        cwi_mean_sd(value, collect(s, metric, value), &mean, &sd);
        cwi_json_set(&means, metric, cwi_json_number(mean));
        cwi_json_set(&sds, metric, cwi_json_number(sd));
    }
    cwi_json_set(row, "mean", means);
    cwi_json_set(row, "sd", sds);
}

/* Mean over the seeds of the share of recommendations that each group of items gets. */
static json_t *list_shares(const cwi_search *s)
{
    double sum[64] = {0};
    size_t n_groups = 0, n = 0;
    json_t *shares = json_array();
    for (size_t k = 0; k < s->n_current; k++) {
        const json_t *groups =
            json_object_get(json_object_get(s->current[k]->record, "evaluation"), "groups");
        if (json_array_size(groups) == 0) continue;
        n++;
        n_groups = json_array_size(groups) < 64 ? json_array_size(groups) : 64;
        for (size_t g = 0; g < n_groups; g++)
            sum[g] += cwi_json_get_number(json_array_get(groups, g), "recommended_share");
    }
    for (size_t g = 0; g < n_groups; g++) cwi_json_add(&shares, json_real(sum[g] / (double)n));
    return shares;
}

static json_t *report_row(const cwi_experiment *e, const cwi_search *s)
{
    const cwi_plan_row *row = s->row;
    const cwi_set *set = &e->plan->sets[row->set];
    json_t *tuned = json_array_size(s->candidates) > 1 && s->chosen != SIZE_MAX
                        ? json_incref(json_array_get(s->candidates, s->chosen))
                        : json_null();
    json_t *out = json_pack(
        "{s:o, s:o, s:s, s:s, s:O, s:O, s:o, s:o, s:o}", "dataset", cwi_json_string(set->name),
        "train_set", cwi_json_string(set->train_set), "method", row->method, "backbone",
        row->backbone, "varied", row->varied, "options", row->options, "tuned", tuned, "tuning",
        list_names(s->tried, s->n_tried), "runs", list_names(s->current, s->n_current));
    put_summary(s, &out);
    cwi_json_set(&out, "shares", list_shares(s));
    return out;
}

/* ---- tests -------------------------------------------------------------------------------- */

static bool is_ours(const cwi_plan_table *table, const cwi_plan_row *row)
{
    return cwi_json_has_text(table->ours, row->method);
}

/* Rows that stand against each other: the same data, setting and, where it matters, backbone. */
static bool are_rivals(const cwi_plan_table *table, const cwi_plan_row *a, const cwi_plan_row *b)
{
    return a->set == b->set && json_equal(a->varied, b->varied) &&
           (!table->by_backbone || strcmp(a->backbone, b->backbone) == 0);
}

/* The rival outside `ours` with the best mean, an index into the table; SIZE_MAX: none. */
static size_t find_baseline(const cwi_experiment *e, const cwi_plan_table *table,
                            const cwi_plan_row *row, const char *metric)
{
    size_t best = SIZE_MAX;
    double best_mean = 0, value[CWI_MAX_SEEDS], mean, sd;
    for (size_t k = 0; k < table->n_rows; k++) {
        const cwi_search *s = &e->searches[table->first_row + k];
        if (is_ours(table, s->row) || !are_rivals(table, s->row, row)) continue;
        int64_t n = collect(s, metric, value);
        cwi_mean_sd(value, n, &mean, &sd);
        if (n == 0 || (best != SIZE_MAX && !(mean > best_mean))) continue;
        best = k;
        best_mean = mean;
    }
    return best;
}

/* Values of two rows with the same seed, side by side. */
static int64_t pair_up(const cwi_search *a, const cwi_search *b, const char *metric, double *x,
                       double *y)
{
    int64_t n = 0;
    for (size_t j = 0; j < a->n_current; j++)
        for (size_t k = 0; k < b->n_current; k++) {
            const json_t *left = json_object_get(a->current[j]->record, "test");
            const json_t *right = json_object_get(b->current[k]->record, "test");
            if (a->current[j]->seed != b->current[k]->seed || !json_object_get(left, metric) ||
                !json_object_get(right, metric))
                continue;
            x[n] = cwi_json_get_number(left, metric);
            y[n++] = cwi_json_get_number(right, metric);
        }
    return n;
}

static cw_status test_row(cw_context *ctx, const cwi_experiment *e, const cwi_plan_table *table,
                          size_t index, const char *metric, json_t **tests)
{
    const cwi_search *ours = &e->searches[table->first_row + index];
    size_t baseline = find_baseline(e, table, ours->row, metric);
    double x[CWI_MAX_SEEDS], y[CWI_MAX_SEEDS], mean, sd;
    cwi_pairing result;
    if (baseline == SIZE_MAX) return CW_OK;
    int64_t n = pair_up(ours, &e->searches[table->first_row + baseline], metric, x, y);
    if (n == 0) return CW_OK;
    CW_PASS(cwi_pairing_test(ctx, x, y, n, &result));
    cwi_mean_sd(y, n, &mean, &sd);
    json_t *test =
        json_pack("{s:i, s:i, s:s, s:I, s:o, s:o, s:o, s:o, s:o, s:o}", "row", (int)index,
                  "baseline", (int)baseline, "metric", metric, "pairs", (json_int_t)n, "difference",
                  cwi_json_number(result.mean), "relative", cwi_json_number(result.mean / mean),
                  "t", cwi_json_number(result.t), "p", cwi_json_number(result.t_p), "wilcoxon_p",
                  cwi_json_number(result.wilcoxon_p), "effect", cwi_json_number(result.effect));
    cwi_json_add(tests, test);
    return cwi_json_check(ctx, *tests);
}

static cw_status report_tests(cw_context *ctx, const cwi_experiment *e, const cwi_plan_table *table,
                              json_t **tests)
{
    for (size_t k = 0; k < table->n_rows; k++) {
        const cwi_search *s = &e->searches[table->first_row + k];
        char key[CWI_METRIC_KEY_BYTES];
        if (!is_ours(table, s->row) || !metrics_of(s)) continue;
        int32_t list = cwi_record_k(s->current[0]->record);
        for (int m = 0; m < CWI_N_METRICS; m++)
            if (cwi_metric_table[m].place == CW_METRIC_MAIN && !cwi_metric_table[m].is_low_good)
                CW_PASS(test_row(ctx, e, table, k, cwi_metric_key(m, list, key), tests));
    }
    return CW_OK;
}

static cw_status report_table(cw_context *ctx, const cwi_experiment *e, const cwi_plan_table *table,
                              json_t **list)
{
    json_t *rows = json_array(), *tests = json_array();
    for (size_t k = 0; k < table->n_rows; k++)
        cwi_json_add(&rows, report_row(e, &e->searches[table->first_row + k]));
    cw_status status = report_tests(ctx, e, table, &tests);
    cwi_json_add(list, json_pack("{s:o, s:O, s:b, s:o, s:o}", "title",
                                 cwi_json_string(table->title), "ours", table->ours, "by_backbone",
                                 table->by_backbone, "rows", rows, "tests", tests));
    return status == CW_OK ? cwi_json_check(ctx, *list) : status;
}

/* ---- the whole ---------------------------------------------------------------------------- */

cw_status cwi_experiment_report(cw_context *ctx, const cwi_experiment *e, json_t **out)
{
    cw_status status = CW_OK;
    int64_t failed = 0;
    json_t *sets = json_array(), *tables = json_array(), *runs = json_object();

    for (size_t k = 0; k < e->n_runs; k++) {
        failed += e->runs[k]->state == CWI_RUN_FAILED;
        cwi_json_set(&runs, e->runs[k]->name, report_run(e->runs[k]));
    }
    for (size_t k = 0; k < e->plan->n_sets && status == CW_OK; k++)
        status = report_set(ctx, e, &e->plan->sets[k], &sets);
    for (size_t k = 0; k < e->plan->n_tables && status == CW_OK; k++)
        status = report_table(ctx, e, &e->plan->tables[k], &tables);
    *out = json_pack("{s:s, s:i, s:s, s:O, s:I, s:o, s:o, s:o}", "format", "crosswise-experiment",
                     "version", 1, "crosswise", cw_version(), "plan", e->plan->source, "failed",
                     (json_int_t)failed, "datasets", sets, "tables", tables, "runs", runs);
    return status == CW_OK ? cwi_json_check(ctx, *out) : status;
}
