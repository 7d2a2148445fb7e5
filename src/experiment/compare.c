/* compare.c - is one side better than another, or is it chance? */
#include "experiment/experiment.h"

#include <math.h>
#include <string.h>

#include "core/file.h"
#include "core/json.h"
#include "core/mem.h"
#include "core/option_rows.h"
#include "core/text.h"
#include "evaluate/bootstrap.h"
#include "evaluate/evaluate.h"
#include "evaluate/significance.h"
#include "experiment/sides.h"
#include "model/model.h"
#include "prepare/store.h"
#include "registry/registry.h"

const cw_option_info cwi_compare_options[] = {
    WORD("part", "test", "test|valid", "the part whose metrics are compared"),
    TEXT("data", "",
         "the dataset folder of the runs: with the models beside the records, users are resampled "
         "for an interval of the difference"),
    WHOLE("bootstrap", "1000", 1, 100000, "resamples of the users"),
    SEED("same seed, same resamples"),
    {0}};

enum { MAX_SEEDS = 1000 };

typedef struct comparison {
    cw_context *ctx;
    const cw_options *options;
    cwi_contest contest;
    cw_dataset *data; /* NULL: no users to resample */
    cwi_audience audience;
    cwi_exposure exposure; /* as the first run was told */
    int32_t k;
} comparison;

/* ---- one side ---------------------------------------------------------------------- */

/* The options in which this side differs from any other; a new object. */
static json_t *special_options(const cwi_contest *contest, size_t side)
{
    json_t *out = json_object(), *value;
    const char *name;
    const json_t *ours = cwi_contest_first(contest, side)->record;
    json_object_foreach(json_object_get(ours, "taken"), name, value)
    {
        const json_t *mine = json_object_get(json_object_get(ours, "settings"), name);
        bool differs = false;
        for (size_t s = 0; s < contest->n_sides; s++) {
            const json_t *theirs = cwi_contest_first(contest, s)->record;
            theirs = json_object_get(json_object_get(theirs, "settings"), name);
            differs |= theirs != mine && !json_equal(theirs, mine);
        }
        if (differs) cwi_json_set(&out, name, json_incref(value));
    }
    return out;
}

static void put_means(const cwi_contest *contest, size_t side, json_t **out)
{
    const char *metric;
    json_t *unused, *means = json_object(), *sds = json_object();
    const json_t *metrics =
        json_object_get(cwi_contest_first(contest, side)->record, contest->part);
    json_object_foreach((json_t *)metrics, metric, unused)
    {
        double value[MAX_SEEDS], mean, sd;
        int64_t n = 0;
        if (strcmp(metric, "users") == 0) continue;
        for (size_t k = 0; k < contest->n && n < MAX_SEEDS; k++)
            if (contest->entries[k].side == side)
                value[n++] = cwi_contest_value(contest, &contest->entries[k], metric);
        cwi_mean_sd(value, n, &mean, &sd);
        cwi_json_set(&means, metric, cwi_json_number(mean));
        cwi_json_set(&sds, metric, cwi_json_number(sd));
    }
    cwi_json_set(out, "mean", means);
    cwi_json_set(out, "sd", sds);
}

static json_t *report_side(const cwi_contest *contest, size_t side)
{
    const json_t *record = cwi_contest_first(contest, side)->record;
    json_t *seeds = json_array(), *runs = json_array();
    for (size_t k = 0; k < contest->n; k++) {
        if (contest->entries[k].side != side) continue;
        cwi_json_add(&seeds, json_integer(contest->entries[k].seed));
        cwi_json_add(&runs, cwi_json_string(contest->entries[k].path));
    }
    json_t *out =
        json_pack("{s:O, s:O, s:o, s:o, s:o}", "method", json_object_get(record, "method"),
                  "backbone", json_object_get(record, "backbone"), "options",
                  special_options(contest, side), "seeds", seeds, "runs", runs);
    put_means(contest, side, &out);
    return out;
}

/* ---- users ---------------------------------------------------------------------------- */

/* RUN.run.json or RUN.json -> RUN.safetensors, newly allocated. */
static char *model_path(cw_context *ctx, const char *record)
{
    size_t cut = cwi_ends_with(record, ".run.json") ? 9 : cwi_ends_with(record, ".json") ? 5 : 0;
    return cwi_format(ctx, "%.*s.safetensors", (int)(strlen(record) - cut), record);
}

static cw_status has_models(const comparison *c, bool *out)
{
    *out = true;
    for (size_t k = 0; k < c->contest.n && *out; k++) {
        char *path = model_path(c->ctx, c->contest.entries[k].path);
        if (!path) return CW_NO_MEMORY;
        *out = cwi_path_exists(path);
        cwi_free(path);
    }
    return CW_OK;
}

/* The model beside a record must be the one that the record speaks of. */
static cw_status check_model(comparison *c, const cw_model *model, const char *path,
                             const cwi_contest_entry *entry)
{
    static const char *const keys[] = {"method", "backbone", "options", "seed",
                                       "data",   "valid",    "test"};
    json_t *about;
    cw_status status = cwi_json_reparse(c->ctx, model->about ? model->about : "{}", &about);
    for (size_t k = 0; k < sizeof keys / sizeof keys[0] && status == CW_OK; k++)
        if (!json_equal(json_object_get(about, keys[k]), json_object_get(entry->record, keys[k])))
            status = cwi_fail(c->ctx, CW_BAD_DATA, "%s is not the model of %s: '%s' differs", path,
                              entry->path, keys[k]);
    json_decref(about);
    if (status == CW_OK &&
        (model->n_users != c->data->n_users || model->n_items != c->data->n_items))
        status = cwi_fail(c->ctx, CW_BAD_ARG, "%s does not fit the dataset %s", path,
                          cwi_options_text(c->options, "data"));
    return status;
}

/* Add what every user brings with the model of an entry, times factor, to sum.  What is below is
 * the same of all models; a user of whom one of them has nothing to say has 0 there. */
static cw_status add_users(comparison *c, const cwi_contest_entry *entry, double factor,
                           cwi_share *each, cwi_share *sum)
{
    cw_status status;
    cw_model *model = NULL;
    cwi_ranker ranker = {0};
    char *path = model_path(c->ctx, entry->path);
    if (!path) return CW_NO_MEMORY;
    CW_TRY(cw_model_load(c->ctx, path, &model));
    CW_TRY(check_model(c, model, path, entry));
    CW_TRY(cwi_model_rank(c->ctx, model, &ranker));
    CW_TRY(
        cwi_evaluate_users(c->ctx, &ranker, &model->seen, &c->audience, model->degree, c->k, each));
    for (int64_t v = 0; v < (int64_t)c->audience.n * CWI_N_METRICS; v++) {
        sum[v].over += factor * each[v].over;
        sum[v].under = fmin(sum[v].under, each[v].under);
    }
done:
    cwi_ranker_close(&ranker);
    cw_model_free(model);
    cwi_free(path);
    return status;
}

/* Intervals of the differences over users, means over the paired seeds. */
static cw_status resample(comparison *c, size_t side, const int64_t *seeds, int64_t n,
                          cwi_interval *out)
{
    cw_status status = CW_NO_MEMORY;
    size_t cells = (size_t)c->audience.n * CWI_N_METRICS;
    cwi_share absent[CWI_N_METRICS] = {{0}};
    cwi_share *each = cwi_alloc(c->ctx, cells, sizeof *each);
    cwi_share *sum = cwi_alloc(c->ctx, cells, sizeof *sum);
    if (!each || !sum) goto done;
    for (size_t v = 0; v < cells; v++) sum[v] = (cwi_share){0, HUGE_VAL};
    for (int64_t s = 0; s < n; s++) {
        CW_TRY(cwi_progress(c->ctx, "ranking for users", s, n));
        CW_TRY(add_users(c, cwi_contest_find(&c->contest, side, seeds[s]), 1.0 / (double)n, each,
                         sum));
        CW_TRY(
            add_users(c, cwi_contest_find(&c->contest, 0, seeds[s]), -1.0 / (double)n, each, sum));
    }
    for (size_t v = 0; v < cells; v++)
        if (!(sum[v].under > 0)) sum[v] = (cwi_share){0};
    for (int m = 0; m < CWI_N_METRICS; m++)
        absent[m].under =
            cwi_metric_pooling[m] == CWI_POOL_ALL && cwi_metric_is_known(m, c->audience.exposure);
    CW_TRY(cwi_bootstrap(c->ctx, sum, c->audience.n, CWI_N_METRICS, absent,
                         c->audience.held.n_rows - c->audience.n,
                         cwi_options_integer(c->options, "bootstrap"),
                         (uint64_t)cwi_options_integer(c->options, "seed"), out));
done:
    cwi_free(each);
    cwi_free(sum);
    return status;
}

/* ---- one comparison ------------------------------------------------------------------------ */

static cw_status test_metric(comparison *c, size_t side, const char *metric, const int64_t *seeds,
                             int64_t n, json_t **out)
{
    double ours[MAX_SEEDS], theirs[MAX_SEEDS], mean, sd;
    cwi_pairing result;
    *out = NULL;
    for (int64_t s = 0; s < n; s++) {
        ours[s] =
            cwi_contest_value(&c->contest, cwi_contest_find(&c->contest, side, seeds[s]), metric);
        theirs[s] =
            cwi_contest_value(&c->contest, cwi_contest_find(&c->contest, 0, seeds[s]), metric);
    }
    CW_PASS(cwi_pairing_test(c->ctx, ours, theirs, n, &result));
    cwi_mean_sd(theirs, n, &mean, &sd);
    *out =
        json_pack("{s:o, s:o, s:o, s:o, s:o, s:o, s:o}", "difference", cwi_json_number(result.mean),
                  "relative", cwi_json_number(result.mean / mean), "sd", cwi_json_number(result.sd),
                  "t", cwi_json_number(result.t), "p", cwi_json_number(result.t_p), "wilcoxon_p",
                  cwi_json_number(result.wilcoxon_p), "effect", cwi_json_number(result.effect));
    return cwi_json_check(c->ctx, *out);
}

/* Seeds that both the side and the first one have. */
static int64_t pair_seeds(const cwi_contest *contest, size_t side, int64_t seeds[MAX_SEEDS])
{
    int64_t n = 0;
    for (size_t k = 0; k < contest->n && n < MAX_SEEDS; k++)
        if (contest->entries[k].side == 0 &&
            cwi_contest_find(contest, side, contest->entries[k].seed))
            seeds[n++] = contest->entries[k].seed;
    return n;
}

static cw_status warn_of_seeds(comparison *c, size_t side, int64_t n)
{
    size_t ours = 0, theirs = 0;
    for (size_t k = 0; k < c->contest.n; k++) {
        ours += c->contest.entries[k].side == side;
        theirs += c->contest.entries[k].side == 0;
    }
    if (n == 0)
        return cwi_contest_warn(
            c->ctx, &c->contest, "%s and %s have no seed in common: there are no pairs to test",
            c->contest.entries[0].path, cwi_contest_first(&c->contest, side)->path);
    if ((int64_t)ours == n && (int64_t)theirs == n) return CW_OK;
    return cwi_contest_warn(c->ctx, &c->contest,
                            "%zu and %zu runs make %lld pairs; seeds that only one side has are "
                            "left out of the tests",
                            theirs, ours, (long long)n);
}

/* Metrics that are not always measured are compared where both sides have them. */
static bool has_metric(const comparison *c, size_t side, int metric, const char *key)
{
    if (cwi_metric_need[metric] == CWI_NEED_NOTHING) return true;
    return json_object_get(
               json_object_get(cwi_contest_first(&c->contest, side)->record, c->contest.part),
               key) != NULL;
}

static cw_status put_metrics(comparison *c, size_t side, const int64_t *seeds, int64_t n,
                             json_t **out)
{
    cwi_interval interval[CWI_N_METRICS];
    if (c->data && n > 0) CW_PASS(resample(c, side, seeds, n, interval));
    for (int m = 0; m < CWI_N_METRICS; m++) {
        char key[CWI_METRIC_KEY_BYTES];
        json_t *test;
        cwi_metric_key(m, c->k, key);
        if (!has_metric(c, 0, m, key) || !has_metric(c, side, m, key)) continue;
        CW_PASS(test_metric(c, side, key, seeds, n, &test));
        if (c->data && n > 0)
            cwi_json_set(&test, "users",
                         json_pack("[o, o]", cwi_json_number(interval[m].low),
                                   cwi_json_number(interval[m].high)));
        cwi_json_set(out, key, test);
    }
    return CW_OK;
}

static cw_status compare_side(comparison *c, size_t side, json_t **list)
{
    int64_t seeds[MAX_SEEDS];
    int64_t n = pair_seeds(&c->contest, side, seeds);
    json_t *metrics = json_object();
    cw_status status = warn_of_seeds(c, side, n);
    if (status == CW_OK) status = put_metrics(c, side, seeds, n, &metrics);
    cwi_json_add(list, json_pack("{s:i, s:i, s:I, s:o}", "side", (int)side, "against", 0, "pairs",
                                 (json_int_t)n, "metrics", metrics));
    return status;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* What the first run was told of the exposure behind the rows, for metrics that it has by that. */
static cw_status read_exposure(comparison *c)
{
    cw_status status;
    const cwi_contest_entry *first = &c->contest.entries[0];
    const json_t *record = first->record, *data = json_object_get(record, "data");
    const cwi_method *method = cwi_find_method(cwi_json_get_text(record, "method"));
    const cwi_backbone *backbone = cwi_find_backbone(cwi_json_get_text(record, "backbone"));
    const cwi_pairs *train = &c->data->part[CW_PART_TRAIN];
    cw_options *options = NULL;
    int64_t *degree = cwi_alloc(c->ctx, (size_t)c->data->n_items, sizeof *degree);

    status = degree ? CW_OK : CW_NO_MEMORY;
    if (!degree || !method || !backbone) goto done;
    CW_TRY(
        cwi_train_reread(c->ctx, method, backbone, json_object_get(record, "options"), &options));
    cwi_degrees(train->item, train->count, c->data->n_items, degree);
    c->exposure.is_uniform = strncmp(cwi_options_text(options, "metric"), "unbiased_", 9) == 0;
    CW_TRY(cwi_weights_create(c->ctx, options, "metric-", &c->data->items, degree, &c->exposure));
    if (strcmp(c->exposure.hash, cwi_json_get_text(data, "metric_propensities")) != 0)
        CW_TRY(cwi_fail(c->ctx, CW_BAD_DATA, "%s holds other propensities than %s was measured by",
                        cwi_options_text(options, "metric-propensity"), first->path));
    c->audience.exposure = &c->exposure;
done:
    cw_options_free(options);
    cwi_free(degree);
    return status;
}

/* The dataset for resampling users, when it was named and the models are there. */
static cw_status open_data(comparison *c)
{
    char hash[CWI_HASH_BYTES];
    const char *folder = cwi_options_text(c->options, "data");
    const json_t *data = json_object_get(c->contest.entries[0].record, "data");
    const char *ours = json_string_value(json_object_get(data, "xxh3_128"));
    cw_part part = strcmp(c->contest.part, "test") == 0 ? CW_PART_TEST : CW_PART_VALID;
    bool has_all;

    if (!folder[0]) return CW_OK;
    CW_PASS(has_models(c, &has_all));
    if (!has_all)
        return cwi_contest_warn(
            c->ctx, &c->contest,
            "not every record has its model beside it: users are not resampled");
    CW_PASS(cwi_store_load(c->ctx, folder, NULL, &c->data));
    cwi_dataset_hash(c->data, hash);
    if (!ours || strcmp(ours, hash) != 0)
        CW_PASS(cwi_contest_warn(c->ctx, &c->contest, "%s was not trained on the data of %s",
                                 c->contest.entries[0].path, folder));
    CW_PASS(cwi_audience_create(c->ctx, &c->data->part[part], c->data->n_users, &c->audience));
    if (c->audience.n == 0)
        return cwi_fail(c->ctx, CW_BAD_ARG, "%s has no %s rows", folder, c->contest.part);
    return read_exposure(c);
}

static cw_status compare(comparison *c, char **json)
{
    cw_status status;
    char metric[CWI_METRIC_BYTES];
    json_t *sides = json_array(), *comparisons = json_array();
    const json_t *options = json_object_get(c->contest.entries[0].record, "options");

    CW_TRY(cwi_metric_parse(c->ctx, cwi_json_get_text(options, "metric"), metric, &c->k));
    CW_TRY(open_data(c));
    for (size_t s = 0; s < c->contest.n_sides; s++) {
        cwi_json_add(&sides, report_side(&c->contest, s));
        if (s > 0) CW_TRY(compare_side(c, s, &comparisons));
    }
    return cwi_json_text(c->ctx,
                         json_pack("{s:s, s:o, s:o, s:O, s:i}", "part", c->contest.part, "sides",
                                   sides, "comparisons", comparisons, "warnings",
                                   c->contest.warnings, "k", c->k),
                         json);
done:
    json_decref(sides);
    json_decref(comparisons);
    return status;
}

cw_status cw_compare(cw_context *ctx, const char *const *paths, size_t n_paths,
                     const cw_options *options, char **json)
{
    cw_status status;
    cw_options *defaults = NULL;
    comparison c = {.ctx = ctx};

    cwi_begin(ctx);
    *json = NULL;
    if (n_paths == 0) return cwi_fail(ctx, CW_BAD_ARG, "there are no runs to compare");
    CW_TRY(cwi_options_check(ctx, options, "compare"));
    if (!options) CW_TRY(cwi_options_create(ctx, "compare", cwi_compare_options, &defaults));
    c.options = options ? options : defaults;
    CW_TRY(cwi_contest_read(ctx, paths, n_paths, cwi_options_text(c.options, "part"), &c.contest));
    CW_TRY(compare(&c, json));
done:
    cwi_audience_clear(&c.audience);
    cwi_exposure_clear(&c.exposure);
    cw_dataset_free(c.data);
    cwi_contest_clear(&c.contest);
    cw_options_free(defaults);
    return status;
}
