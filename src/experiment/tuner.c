/* tuner.c - the race of settings: trials one after the other, kept in a store, until the end. */
#include "experiment/tuner.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/option_rows.h"
#include "core/text.h"
#include "model/model.h"
#include "prepare/pairs.h"
#include "registry/registry.h"

enum { MAX_TRIALS = 100000 };

const cw_option_info cwi_tune_options[] = {
    TEXT("budget", "",
         "how long to try settings, such as 90s, 10m or 2h; 10m unless trials says how many; the "
         "defaults on the first backbone are tried to their end whatever it says"),
    WHOLE("trials", "0", 0, MAX_TRIALS, "exactly so many trials; 0: as many as fit the budget"),
    TEXT("methods", "itemknn,cpr,bpr,cross", "the methods in the race; pop always is"),
    TEXT("backbones", "",
         "the backbones in the race; mf when not given, and lightgcn up to 150000 train rows"),
    TEXT("metric", "recall@20",
         "what makes a trial the best on validation: recall, precision, ndcg, hit_rate, mrr or "
         "map, @ a list length; unbiased_recall, where the validation rows were shown uniformly at "
         "random; ips_precision, ips_ndcg, snips_recall or snips_dcg with set "
         "metric-propensity=FILE "
         "or metric-propensity-power=X"),
    TEXT("valid", "",
         "file of rows user,item with raw ids that decide in place of the validation part, such "
         "as interactions under random exposure; those of the part are then trained on"),
    WHOLE("folds", "0", 0, CWI_MAX_FOLDS,
          "how many validation parts a trial is judged by, drawn anew from train and validation; "
          "0: so many that about 1000 users decide, 5 at most"),
    TEXT("bucket", "",
         "file of items that were shown to users at random, with the header user,item,liked (raw "
         "ids; 1 where the user liked it, else 0) or user,item (what was liked alone): it chooses "
         "the winner, its dial and terms of items, and may put two models together"),
    TEXT("set", "", "train options that all trials have, such as dim=64,epochs=200"),
    SEED("same seed and same number of trials, same result, on any number of threads"),
    FLAG("refit", "train the winner once more on all rows, for the steps that validation chose"),
    FLAG("anew", "forget the trials that the folder holds"),
    {0}};

/* ---- options ----------------------------------------------------------------------------- */

cw_status cwi_budget_parse(cw_context *ctx, const char *text, double *seconds)
{
    static const struct {
        char unit;
        double seconds;
    } units[] = {{'s', 1}, {'m', 60}, {'h', 3600}};
    size_t length = strlen(text);
    char shown[48];
    double value;

    *seconds = 0;
    for (size_t u = 0; u < 3 && length > 1; u++) {
        if (text[length - 1] != units[u].unit || !cwi_parse_real(text, length - 1, &value))
            continue;
        if (!(value > 0 && value * units[u].seconds <= 1e9)) break;
        *seconds = value * units[u].seconds;
        return CW_OK;
    }
    return cwi_fail(ctx, CW_BAD_ARG,
                    "--budget is '%s'; it must be a number above 0 followed by s, m or h, such as "
                    "90s or 10m",
                    cwi_excerpt(text, length, shown));
}

/* What a race sets itself, or has no use for. */
static bool is_reserved(const char *name)
{
    return cwi_word_index("method|backbone|metric|seed|checkpoint|checkpoint-every|checkpoint-end|"
                          "resume|refit|bucket",
                          name) >= 0;
}

/* One "name=value" of the option "set". */
static cw_status read_fixed(cw_context *ctx, cw_options *probe, const char *entry, size_t length,
                            json_t *out)
{
    char text[256], shown[48];
    snprintf(text, sizeof text, "%.*s", (int)length, entry);
    char *equals = strchr(text, '=');
    if (!equals || equals == text || length >= sizeof text)
        return cwi_fail(ctx, CW_BAD_ARG,
                        "--set lists '%s'; each must be OPTION=VALUE, as in dim=64",
                        cwi_excerpt(entry, length, shown));
    *equals = '\0';
    if (is_reserved(text))
        return cwi_fail(ctx, CW_BAD_ARG, "--set lists '%s'; tune sets that itself", text);
    CW_PASS(cwi_options_assign(ctx, probe, text, equals + 1));
    if (!cwi_json_is_utf8(equals + 1, strlen(equals + 1)))
        return cwi_fail(ctx, CW_BAD_ARG, "--set: the value of %s is no UTF-8", text);
    return json_object_set_new(out, text, json_string(equals + 1)) == 0 ? CW_OK
                                                                        : cwi_no_memory(ctx);
}

/* Where the next NAME=VALUE begins, behind a comma; NULL: nowhere.  Values may have commas, too. */
static const char *next_entry(const char *list)
{
    const char *comma = strchr(list, ',');
    while (comma && comma[1]) {
        const char *next = comma + 1 + strcspn(comma + 1, ",=");
        if (*next == '=') return comma + 1;
        comma = *next ? next : NULL;
    }
    return NULL;
}

static cw_status read_set(cw_context *ctx, const char *list, cwi_tuner *t)
{
    cw_status status = CW_OK;
    cw_options *probe = NULL;
    t->fixed = json_object();
    CW_PASS(cwi_json_check(ctx, t->fixed));
    CW_TRY(cwi_train_options(ctx, &probe));
    while (list && list[0]) {
        const char *next = next_entry(list);
        size_t length = next ? (size_t)(next - 1 - list) : strlen(list);
        CW_TRY(read_fixed(ctx, probe, list, length, t->fixed));
        list = next;
    }
    CW_TRY(cwi_options_assign(ctx, probe, "metric", t->metric));
    CW_TRY(cwi_metric_choose(ctx, probe, t->metric_name, &t->k));
done:
    cw_options_free(probe);
    return status;
}

/* Graphs cost too much per step to be tried on everything without being asked for. */
static const char *choose_backbones(const cw_options *options, const cw_dataset *data)
{
    enum { GRAPH_ROWS = 150000 };
    const char *given = cwi_options_text(options, "backbones");
    if (given[0]) return given;
    return data->part[CW_PART_TRAIN].count <= GRAPH_ROWS ? "mf,lightgcn" : "mf";
}

static cw_status read_options(cw_context *ctx, const cw_options *options, const cw_dataset *data,
                              cwi_tuner *t)
{
    const char *budget = cwi_options_text(options, "budget");
    t->trials = cwi_options_integer(options, "trials");
    t->seed = cwi_options_integer(options, "seed");
    t->metric = cwi_options_text(options, "metric");
    t->refits = cwi_options_flag(options, "refit");
    if (budget[0] || t->trials == 0)
        CW_PASS(cwi_budget_parse(ctx, budget[0] ? budget : "10m", &t->budget_s));
    CW_PASS(read_set(ctx, cwi_options_text(options, "set"), t));
    t->race.seed = (uint64_t)t->seed;
    t->race.fixed = t->fixed;
    return cwi_race_init(ctx, cwi_options_text(options, "methods"), choose_backbones(options, data),
                         &t->race);
}

/* ---- data ------------------------------------------------------------------------------------ */

/* Train and validation rows together, but for those that decide now. */
static cw_status join_rows(cw_context *ctx, const cw_dataset *data, const cwi_pairs *valid,
                           cwi_pairs *out)
{
    cw_status status;
    cwi_csr held = {0};
    CW_TRY(cwi_csr_create(ctx, valid->user, valid->item, valid->count, data->n_users, &held));
    cwi_csr_sort(&held);
    CW_TRY(cwi_pairs_create(ctx, data->part[CW_PART_TRAIN].count + data->part[CW_PART_VALID].count,
                            out));
    out->count = 0;
    for (int part = CW_PART_TRAIN; part <= CW_PART_VALID; part++)
        for (int64_t k = 0; k < data->part[part].count; k++) {
            int32_t user = data->part[part].user[k], item = data->part[part].item[k];
            if (cwi_csr_has(&held, user, item)) continue;
            out->user[out->count] = user;
            out->item[out->count++] = item;
        }
done:
    cwi_csr_clear(&held);
    return status;
}

/* The dataset with the rows of a file for its validation part; everything else is borrowed. */
static cw_status replace_valid(cw_context *ctx, const cw_dataset *data, const char *path,
                               cw_dataset *out)
{
    *out = *data;
    out->part[CW_PART_TRAIN] = out->part[CW_PART_VALID] = (cwi_pairs){0};
    CW_PASS(cwi_pairs_read_raw(ctx, path, &data->users, &data->items, &out->part[CW_PART_VALID]));
    CW_PASS(cwi_pairs_drop_repeats(ctx, path, (cwi_bounds){data->n_users, data->n_items},
                                   &out->part[CW_PART_VALID]));
    CW_PASS(join_rows(ctx, data, &out->part[CW_PART_VALID], &out->part[CW_PART_TRAIN]));
    out->has_part[CW_PART_VALID] = true;
    return CW_OK;
}

static cw_status check_data(cw_context *ctx, const cw_dataset *data)
{
    if (data->part[CW_PART_TRAIN].count == 0)
        return cwi_fail(ctx, CW_BAD_DATA, "there is nothing to train on: train is empty");
    if (data->part[CW_PART_VALID].count > 0) return CW_OK;
    return cwi_fail(ctx, CW_BAD_DATA,
                    "there is nothing to decide by: the validation part is empty; --valid names a "
                    "file of rows for it");
}

/* A file of rows is one part; else as many as are asked for, or the data needs. */
static cw_status draw_folds(cw_context *ctx, const cw_options *options, cwi_tuner *t)
{
    int n = (int)cwi_options_integer(options, "folds");
    bool is_given = cwi_options_is_set(options, "valid") || t->has_bucket;
    if (is_given && n > 1)
        return cwi_fail(ctx, CW_BAD_ARG, "--folds is %d; with --%s it must be 0 or 1", n,
                        t->has_bucket ? "bucket" : "valid");
    if (is_given) n = 1;
    if (n == 0) CW_PASS(cwi_folds_choose(ctx, t->data, &n));
    return cwi_folds_create(ctx, t->data, n, (uint64_t)t->seed, &t->folds);
}

static cw_status read_bucket(cw_context *ctx, const cw_options *options, cwi_tuner *t)
{
    t->is_told = cwi_options_is_set(options, "valid") || cwi_options_is_set(options, "bucket");
    if (!cwi_options_is_set(options, "bucket")) return CW_OK;
    CW_PASS(cwi_bucket_read(ctx, cwi_options_text(options, "bucket"), t->data, (uint64_t)t->seed,
                            &t->bucket));
    t->has_bucket = cwi_bucket_is_enough(&t->bucket);
    return CW_OK;
}

/* ---- the store ---------------------------------------------------------------------------------
 */

cw_status cwi_tuner_weigh(cw_context *ctx, const cwi_tuner *t, cw_options *evaluate)
{
    static const char *const names[] = {"propensity", "propensity-power", "propensity-min"};
    bool is_uniform = strcmp(t->metric_name, "unbiased_recall") == 0;
    for (size_t k = 0; !is_uniform && k < sizeof names / sizeof names[0]; k++) {
        char ours[40];
        snprintf(ours, sizeof ours, "metric-%s", names[k]);
        const char *value = cwi_json_get_text(t->fixed, ours);
        if (value[0]) CW_PASS(cwi_options_assign(ctx, evaluate, names[k], value));
    }
    return cwi_options_assign(ctx, evaluate, "uniform-exposure", is_uniform ? "on" : "off");
}

/* What trials are the same of; budget and number of trials may grow. */
static json_t *describe_race(const cwi_tuner *t)
{
    char version[16];
    json_t *families = json_array();
    snprintf(version, sizeof version, "%d.%d", CW_VERSION_MAJOR, CW_VERSION_MINOR);
    for (size_t f = 0; f < t->race.n_families; f++)
        cwi_json_add(&families,
                     json_pack("[s, s]", t->race.family[f].method, t->race.family[f].backbone));
    return json_pack("{s:s, s:s, s:s, s:s, s:I, s:i, s:o, s:O}", "version", version, "data",
                     t->hash, "bucket", t->bucket.hash, "metric", t->metric, "seed",
                     (json_int_t)t->seed, "folds", t->folds.n, "methods", families, "set",
                     t->fixed);
}

/* What a race that does not say was of: one fold, no bucket. */
static bool is_as_before(const char *name, const json_t *value)
{
    if (strcmp(name, "folds") == 0) return json_integer_value(value) == 1;
    return strcmp(name, "bucket") == 0 && json_string_length(value) == 0;
}

static cw_status compare_races(cw_context *ctx, const char *folder, const json_t *ours,
                               const json_t *theirs)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)ours, name, value)
    {
        const json_t *other = json_object_get(theirs, name);
        if (other ? json_equal(value, other) : is_as_before(name, value)) continue;
        return cwi_fail(ctx, CW_BAD_ARG,
                        "%s holds the trials of another race (%s differs); --anew forgets them, or "
                        "choose another place",
                        folder, name);
    }
    return CW_OK;
}

/* Trials and their models, whoever asked for them. */
static bool is_of_trial(const char *name)
{
    return strncmp(name, "trial-", 6) == 0 &&
           (cwi_ends_with(name, ".json") || cwi_ends_with(name, ".safetensors"));
}

/* Is the folder that of this race, or a new one? */
static cw_status enter_store(cw_context *ctx, cwi_tuner *t, bool anew)
{
    cw_status status = CW_OK;
    char *path = cwi_runstore_path(ctx, &t->store, "tune.json"), *text = NULL;
    char *other = cwi_runstore_path(ctx, &t->store, "experiment.json");
    json_t *ours = describe_race(t), *theirs = NULL;

    if (!path || !other) status = CW_NO_MEMORY;
    if (status == CW_OK) status = cwi_json_check(ctx, ours);
    if (status != CW_OK) goto done;
    if (cwi_path_exists(other))
        CW_TRY(
            cwi_fail(ctx, CW_IO, "%s holds an experiment; choose another place", t->store.folder));
    if (anew) {
        cwi_runstore_remove(ctx, &t->store, is_of_trial);
    } else if (cwi_path_exists(path)) {
        CW_TRY(cwi_json_load(ctx, path, &theirs));
        CW_TRY(compare_races(ctx, t->store.folder, ours, theirs));
        goto done;
    }
    CW_TRY(cwi_json_sign(ctx, json_incref(ours), &text));
    CW_TRY(cwi_runstore_write(ctx, &t->store, "tune.json", text));
done:
    json_decref(ours);
    json_decref(theirs);
    cwi_free(text);
    cwi_free(other);
    cwi_free(path);
    return status;
}

enum { NAME_BYTES = 32 };

static const char *name_trial(size_t trial, char out[NAME_BYTES])
{
    snprintf(out, NAME_BYTES, "trial-%04zu", trial);
    return out;
}

static size_t number_of(const json_t *record)
{
    return (size_t)cwi_json_get_number(record, "trial");
}

/* A stored trial must be the one that the race would make now. */
static cw_status check_trial(cw_context *ctx, const cwi_tuner *t, const json_t *proposal,
                             const json_t *record)
{
    static const char *const keys[] = {"method", "backbone", "origin", "settings"};
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++)
        if (!json_equal(json_object_get(proposal, keys[k]), json_object_get(record, keys[k])))
            return cwi_fail(ctx, CW_BAD_DATA,
                            "%s/runs/trial-%04zu.json does not follow from the trials before; "
                            "--anew forgets them all",
                            t->store.folder, json_array_size(t->records));
    return CW_OK;
}

/* ---- models
 * --------------------------------------------------------------------------------------- */

static cw_status keep_model(cw_context *ctx, const cwi_tuner *t, const char *name,
                            const cw_model *model, const char *run)
{
    char *path = cwi_runstore_path(ctx, &t->store, "runs/%s.safetensors", name);
    char *record = cwi_runstore_path(ctx, &t->store, "runs/%s.run.json", name);
    cw_status status =
        path && record ? cw_model_save_run(ctx, model, path, run, record, true) : CW_NO_MEMORY;
    cwi_free(record);
    cwi_free(path);
    return status;
}

static void drop_model(cw_context *ctx, const cwi_tuner *t, size_t trial)
{
    static const char *const ending[] = {"safetensors", "run.json"};
    char name[NAME_BYTES];
    for (size_t e = 0; e < 2; e++) {
        char *path =
            cwi_runstore_path(ctx, &t->store, "runs/%s.%s", name_trial(trial, name), ending[e]);
        if (path) (void)unlink(path);
        cwi_free(path);
    }
}

static cw_status load_model(cw_context *ctx, const char *path, const char *record, cw_model **model,
                            char **run)
{
    json_t *loaded = NULL;
    CW_PASS(cw_model_load(ctx, path, model));
    cw_status status = cwi_json_load(ctx, record, &loaded);
    if (status == CW_OK && run) {
        (void)json_object_del(loaded, "model");
        status = cwi_json_sign(ctx, loaded, run);
    } else {
        json_decref(loaded);
    }
    if (status == CW_OK) return CW_OK;
    cw_model_free(*model);
    *model = NULL;
    return status;
}

/* From the store, or made again where it is not there or cannot be read. */
cw_status cwi_tuner_model(cw_context *ctx, const cwi_tuner *t, const json_t *record,
                          cw_model **model, char **run)
{
    char name[NAME_BYTES];
    cw_status status = CW_BAD_DATA;
    name_trial(number_of(record), name);
    char *path = cwi_runstore_path(ctx, &t->store, "runs/%s.safetensors", name);
    char *about = cwi_runstore_path(ctx, &t->store, "runs/%s.run.json", name);
    *model = NULL;
    if (!path || !about)
        status = CW_NO_MEMORY;
    else if (cwi_path_exists(path) && cwi_path_exists(about))
        status = load_model(ctx, path, about, model, run);
    cwi_free(about);
    cwi_free(path);
    if (status != CW_BAD_DATA && status != CW_IO) return status;
    cwi_begin(ctx);
    return cwi_trial_repeat(ctx, t, record, false, model, run);
}

/* ---- trials
 * ---------------------------------------------------------------------------------------- */

static double seconds_used(const cwi_tuner *t)
{
    double used = 0;
    for (size_t k = 0; k < json_array_size(t->records); k++)
        used += cwi_json_get_number(json_array_get(t->records, k), "seconds");
    return used;
}

/* The event of a finished trial. */
static void tell(cw_context *ctx, const cwi_tuner *t, const json_t *record)
{
    const json_t *best = cwi_race_best(t->records, 0, NULL, NULL);
    if (!ctx->tell.event) return;
    json_t *event =
        json_pack("{s:s, s:I, s:f, s:f}", "event", "trial", "trials", (json_int_t)t->trials,
                  "used_s", seconds_used(t), "budget_s", t->budget_s);
    cwi_json_copy_keys(
        record, "trial|method|backbone|origin|settings|steps|valid|dial|value|ended|error|seconds",
        &event);
    cwi_json_set(&event, "metric", json_string(t->has_bucket ? "bucket" : t->metric));
    if (best) cwi_json_set(&event, "best_trial", json_incref(json_object_get(best, "trial")));
    if (best) cwi_json_set(&event, "best_value", json_incref(json_object_get(best, "value")));
    char *text = event ? cwi_json_print(ctx, event, JSON_COMPACT | JSON_REAL_PRECISION(10)) : NULL;
    if (text) ctx->tell.event(ctx->tell.event_user, text);
    cwi_free(text);
    json_decref(event);
}

/* Models of defaults are compared with in the end, that of the best is handed out. */
static cw_status keep_trial(cw_context *ctx, cwi_tuner *t, json_t *record, const cw_model *model,
                            const char *run)
{
    char name[NAME_BYTES];
    json_t *kept = NULL;
    size_t trial = json_array_size(t->records);
    const json_t *before = cwi_race_best(t->records, 0, NULL, NULL);
    double value = cwi_json_to_number(json_object_get(record, "value"));
    bool is_best = model && (!before || value > cwi_json_get_number(before, "value"));

    name_trial(trial, name);
    if (model && (is_best || trial < t->race.n_families)) {
        cw_status status = keep_model(ctx, t, name, model, run);
        if (status != CW_OK) {
            json_decref(record);
            return status;
        }
    }
    CW_PASS(cwi_runstore_keep(ctx, &t->store, "runs", name, record, &kept));
    if (is_best && before && number_of(before) >= t->race.n_families)
        drop_model(ctx, t, number_of(before));
    if (json_array_append_new(t->records, kept) != 0) return cwi_no_memory(ctx);
    tell(ctx, t, kept);
    return CW_OK;
}

/* Defaults on the first backbone are what everybody asks for: they end, whatever the budget. */
static bool is_due(const cwi_tuner *t, size_t trial)
{
    size_t first = 1, n = t->race.n_families; /* behind pop */
    if (trial >= n || trial >= CWI_MAX_FAMILIES) return false;
    while (first + 1 < n && !cw_method_backbone(t->race.family[first].method, 1)) first++;
    if (trial <= first) return true;
    return strcmp(t->race.family[trial].backbone, t->race.family[first].backbone) == 0;
}

/* One more trial, from the store or made now; false: the race is over. */
static cw_status next_trial(cw_context *ctx, cwi_tuner *t, bool *goes_on)
{
    cw_status status;
    char name[NAME_BYTES], *run = NULL;
    size_t trial = json_array_size(t->records);
    json_t *proposal = NULL, *record = NULL;
    cw_model *model = NULL;

    *goes_on = false;
    CW_TRY(cwi_race_propose(ctx, &t->race, t->records, &proposal));
    if (!proposal) goto done;
    CW_TRY(cwi_runstore_read(ctx, &t->store, "runs", name_trial(trial, name), &record));
    if (record) {
        status = check_trial(ctx, t, proposal, record);
        if (status == CW_OK && json_array_append(t->records, record) != 0)
            status = cwi_no_memory(ctx);
        *goes_on = status == CW_OK;
        json_decref(record);
        goto done;
    }
    double left_s = t->budget_s > 0 && !is_due(t, trial) ? t->budget_s - seconds_used(t) : 0;
    if (left_s < 0) goto done;
    CW_TRY(cwi_trial_run(ctx, t, proposal, left_s, &record, &model, &run));
    if (!record) goto done;
    CW_TRY(keep_trial(ctx, t, record, model, run));
    *goes_on = true;
done:
    json_decref(proposal);
    cw_model_free(model);
    cw_text_free(run);
    return status;
}

static cw_status run_trials(cw_context *ctx, cwi_tuner *t)
{
    bool goes_on = true;
    while (goes_on && (t->trials == 0 || (int64_t)json_array_size(t->records) < t->trials)) {
        cw_status status = next_trial(ctx, t, &goes_on);
        if (status != CW_CANCELLED) CW_PASS(status);
        if (status != CW_CANCELLED) continue;
        cwi_begin(ctx);
        return cwi_fail(ctx, status, "stopped; the same command goes on from here");
    }
    return CW_OK;
}

/* ---- the end
 * ----------------------------------------------------------------------------------------- */

/* The record of the run with what it came from. */
static cw_status note_race(cw_context *ctx, const cwi_tuner *t, const json_t *winner, char **run)
{
    json_t *record = NULL, *about;
    CW_PASS(cwi_json_verify(ctx, "record", *run, strlen(*run), &record));
    about = json_pack("{s:I, s:i, s:s}", "trials", (json_int_t)json_array_size(t->records), "folds",
                      t->folds.n, "metric", t->metric);
    cwi_json_copy_keys(winner, "trial|settings|dial|valid|value|with|bucket", &about);
    cwi_json_set(&record, "tune", about);
    CW_PASS(cwi_json_check(ctx, record));
    cwi_free(*run);
    *run = NULL;
    return cwi_json_sign(ctx, record, run);
}

static cw_status write_results(cw_context *ctx, const cwi_tuner *t, const json_t *winner,
                               const cw_model *model, char **json)
{
    cw_status status;
    json_t *results = NULL;
    CW_TRY(cwi_tuner_report(ctx, t, winner, model, &results));
    CW_TRY(cwi_runstore_finish(ctx, &t->store, results, json));
done:
    json_decref(results);
    return status;
}

static cw_status finish(cw_context *ctx, const cwi_tuner *t, cw_model **out, char **run,
                        char **json)
{
    cw_status status;
    cw_model *model = NULL, *refitted = NULL;
    char *text = NULL, *again = NULL;
    const json_t *winner = cwi_race_choose(t->records, t->race.n_families);
    cwi_crown crown = {0};

    if (!winner)
        return cwi_fail(ctx, CW_BAD_DATA, "no trial gave a model; the first says: %s",
                        cwi_json_get_text(json_array_get(t->records, 0), "error"));
    CW_TRY(cwi_tuner_model(ctx, t, winner, &model, &text));
    CW_TRY(cwi_crown_make(ctx, t, winner, model, &crown));
    CW_TRY(cwi_crown_put(ctx, t, &crown, false, &model));
    CW_TRY(write_results(ctx, t, crown.record, model, json));
    if (t->refits) {
        CW_TRY(cwi_trial_repeat(ctx, t, winner, true, &refitted, &again));
        cw_model_free(model);
        cwi_free(text);
        model = refitted;
        text = again;
        CW_TRY(cwi_crown_put(ctx, t, &crown, true, &model));
    }
    CW_TRY(note_race(ctx, t, crown.record, &text));
    *out = model;
    model = NULL;
    if (run) {
        *run = text;
        text = NULL;
    }
done:
    if (status != CW_OK && json) {
        cwi_free(*json);
        *json = NULL;
    }
    cwi_crown_clear(&crown);
    cw_model_free(model);
    cwi_free(text);
    return status;
}

static void tuner_clear(cwi_tuner *t)
{
    cwi_bucket_clear(&t->bucket);
    cwi_runstore_close(&t->store);
    cwi_folds_clear(&t->folds);
    json_decref(t->records);
    json_decref(t->fixed);
}

static cw_status tune(cw_context *ctx, const cw_dataset *data, const cw_options *options,
                      const char *folder, cw_model **out, char **run, char **json)
{
    cw_status status;
    cwi_tuner t = {.data = data, .records = json_array(), .store = {.lock = -1}};
    CW_TRY(cwi_json_check(ctx, t.records));
    CW_TRY(check_data(ctx, data));
    CW_TRY(read_options(ctx, options, data, &t));
    CW_TRY(read_bucket(ctx, options, &t));
    CW_TRY(draw_folds(ctx, options, &t));
    cwi_dataset_hash(data, t.hash);
    CW_TRY(cwi_runstore_open(ctx, folder, &t.store));
    CW_TRY(enter_store(ctx, &t, cwi_options_flag(options, "anew")));
    CW_TRY(run_trials(ctx, &t));
    CW_TRY(finish(ctx, &t, out, run, json));
done:
    tuner_clear(&t);
    return status;
}

cw_status cw_tune(cw_context *ctx, const cw_dataset *dataset, const cw_options *options,
                  const char *folder, cw_model **out, char **run, char **json)
{
    cw_status status;
    cw_options *defaults = NULL;
    cw_dataset changed = {0};

    cwi_begin(ctx);
    *out = NULL;
    if (run) *run = NULL;
    if (json) *json = NULL;
    CW_TRY(cwi_options_check(ctx, options, "tune"));
    CW_TRY(cwi_dataset_here(ctx, dataset));
    if (!options) CW_TRY(cwi_options_create(ctx, "tune", cwi_tune_options, &defaults));
    if (!options) options = defaults;
    if (cwi_options_is_set(options, "valid")) {
        CW_TRY(replace_valid(ctx, dataset, cwi_options_text(options, "valid"), &changed));
        dataset = &changed;
    }
    CW_TRY(tune(ctx, dataset, options, folder, out, run, json));
done:
    cwi_pairs_clear(&changed.part[CW_PART_TRAIN]);
    cwi_pairs_clear(&changed.part[CW_PART_VALID]);
    cw_options_free(defaults);
    return status;
}
