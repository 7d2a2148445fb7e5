/* train.c - from a dataset to a model and the record of how it came about. */
#include <jansson.h>
#include <string.h>
#include <sys/resource.h>

#include "backend/backend.h"
#include "core/json.h"
#include "core/mem.h"
#include "core/text.h"
#include "model/model.h"
#include "prepare/rest.h"
#include "prepare/store.h"
#include "train/deal.h"
#include "train/train.h"

/* Metrics of the final parameters on one part; null when it is empty. */
static cw_status measure(cwi_trainer *t, cw_part part, json_t **out)
{
    cw_status status = CW_OK;
    const cwi_task *task = &t->task;
    cwi_metrics metrics;
    cwi_ranker ranker = {0};

    *out = NULL;
    if (cwi_dataset_rows(t->dataset, (int)part) == 0) {
        *out = json_null();
        return CW_OK;
    }
    CW_TRY(task->world ? cwi_share_rank_best(t, &ranker)
                       : cwi_method_rank(t->ctx, task->method, task->backbone, &task->shape,
                                         t->options, &t->best, &ranker));
    CW_TRY(cwi_trainer_measure(t, &ranker, part, &metrics));
    *out = cwi_record_metrics(&metrics);
    CW_TRY(cwi_json_check(t->ctx, *out));
done:
    cwi_ranker_close(&ranker);
    return status;
}

/* Where the databases were at when they were read; NULL where there was none. */
static json_t *find_latest(cw_context *ctx, const cw_dataset *dataset)
{
    json_t *origin = NULL;
    if (!dataset->origin || cwi_json_reparse(ctx, dataset->origin, &origin) != CW_OK) return NULL;
    json_t *latest = json_incref(json_object_get(json_object_get(origin, "source"), "latest"));
    json_decref(origin);
    return latest;
}

static json_t *describe_data(const cwi_trainer *t)
{
    const cw_dataset *d = t->dataset;
    json_t *out =
        json_pack("{s:s, s:i, s:i, s:I, s:I, s:I}", "xxh3_128", t->data_hash, "users", d->n_users,
                  "items", d->n_items, "train", (json_int_t)cwi_dataset_rows(d, 0), "valid",
                  (json_int_t)cwi_dataset_rows(d, 1), "test", (json_int_t)cwi_dataset_rows(d, 2));
    json_t *latest = find_latest(t->ctx, d);
    if (latest) cwi_json_set(&out, "latest", latest);
    if (t->propensity_hash[0]) cwi_json_set(&out, "propensities", json_string(t->propensity_hash));
    if (t->exposure.hash[0])
        cwi_json_set(&out, "metric_propensities", json_string(t->exposure.hash));
    return out;
}

/* What the model says of itself: nothing that differs between two runs with the same seed. */
json_t *cwi_describe_model(const cwi_trainer *t, json_t *valid, json_t *test)
{
    int64_t epochs = t->stopper.best_epoch ? t->stopper.best_epoch : t->epoch;
    return json_pack("{s:s, s:s, s:o, s:I, s:o, s:I, s:I, s:O, s:O}", "method",
                     t->task.method->name, "backbone", t->task.backbone->name, "options",
                     cwi_train_record(t->options), "seed",
                     (json_int_t)cwi_options_integer(t->options, "seed"), "data", describe_data(t),
                     "best_epoch", (json_int_t)epochs, "steps",
                     (json_int_t)(epochs * t->task.steps_per_epoch), "valid", valid, "test", test);
}

static double count_seconds(const json_t *epochs)
{
    double seconds = 0;
    size_t index;
    json_t *epoch;
    json_array_foreach(epochs, index, epoch) seconds +=
        json_number_value(json_object_get(epoch, "train_s"));
    return seconds;
}

/* The record of the run: the model's own words, every epoch, time and memory. */
static cw_status describe_run(cwi_trainer *t, const json_t *found, char **run)
{
    struct rusage usage;
    json_t *epochs = json_object_get(found, "epochs");
    json_t *record = cwi_json_copy(json_object_get(found, "about"));

    getrusage(RUSAGE_SELF, &usage);
    cwi_json_set(&record, "epochs", json_incref(epochs));
    cwi_json_copy_keys(found, "baselines", &record);
    cwi_json_set(&record, "train_s", json_real(count_seconds(epochs)));
    if (t->epochs != epochs) cwi_json_set(&record, "refit_s", json_real(count_seconds(t->epochs)));
    cwi_json_set(&record, "threads", json_integer(cw_context_threads(t->ctx)));
    cwi_json_set(&record, "isa", json_string(cwi_ops_best()->name));
    cwi_json_set(&record, "peak_bytes", json_integer((json_int_t)usage.ru_maxrss * 1024));
    cwi_json_set(&record, "crosswise", json_string(cw_version()));
    return cwi_json_sign(t->ctx, record, run);
}

/* Raw ids: those of a dataset that nobody needs any more move. */
static cw_status take_ids(cw_context *ctx, const cw_dataset *dataset, cw_dataset *spent,
                          cw_model *model)
{
    if (!spent) {
        CW_PASS(cwi_idmap_copy(ctx, &dataset->users, &model->users));
        return cwi_idmap_copy(ctx, &dataset->items, &model->items);
    }
    model->users = spent->users;
    model->items = spent->items;
    cwi_idmap_init(&spent->users);
    cwi_idmap_init(&spent->items);
    return CW_OK;
}

/* Hand over what the trainer holds. */
static cw_status fill_model(cwi_trainer *t, cw_model *model)
{
    cw_status status;

    model->n_users = t->dataset->n_users;
    model->n_items = t->dataset->n_items;
    cwi_copy_text(model->method, sizeof model->method, t->task.method->name);
    cwi_copy_text(model->backbone, sizeof model->backbone, t->task.backbone->name);
    CW_TRY(take_ids(t->ctx, t->dataset, t->spent, model));
    CW_TRY(cwi_rest_copy(t->ctx, &t->dataset->rest, &model->rest));
    model->params = t->best;
    t->best = (cwi_params){0};
    model->seen = t->training.by_user;
    t->training.by_user = (cwi_csr){0};
    model->degree = t->training.degree;
    t->training.degree = NULL;
done:
    return status;
}

/* Train, and what is to be said of the model: "about" it, and all "epochs". */
static cw_status find_out(cwi_trainer *t, json_t **found)
{
    cw_status status;
    json_t *valid = NULL, *test = NULL;

    if (t->before) { /* the checkpoint is of the refit */
        *found = json_incref(t->before);
        return CW_OK;
    }
    CW_TRY(cwi_trainer_run(t));
    CW_TRY(measure(t, CW_PART_VALID, &valid));
    CW_TRY(measure(t, CW_PART_TEST, &test));
    *found =
        json_pack("{s:o, s:O}", "about", cwi_describe_model(t, valid, test), "epochs", t->epochs);
    if (t->baselines) cwi_json_set(found, "baselines", json_incref(t->baselines));
    CW_TRY(cwi_json_check(t->ctx, *found));
done:
    json_decref(valid);
    json_decref(test);
    return status;
}

cw_status cwi_make_model(cwi_trainer *t, const json_t *found, cw_model **out, char **run)
{
    cw_status status;
    cw_model *model = NULL;

    if (run) CW_TRY(describe_run(t, found, run));
    CW_TRY(cwi_model_create(t->ctx, &model));
    CW_TRY(cwi_json_text(t->ctx, json_incref(json_object_get(found, "about")), &model->about));
    CW_TRY(fill_model(t, model));
    CW_TRY(cwi_lesson_read_terms(t->ctx, json_object_get(found, "terms"), model->n_items,
                                 &model->term));
    *out = model;
done:
    if (status != CW_OK) {
        cw_model_free(model);
        if (run) {
            cwi_free(*run);
            *run = NULL;
        }
    }
    return status;
}

static bool is_held_out(const cw_dataset *dataset)
{
    return cwi_dataset_rows(dataset, CW_PART_VALID) + cwi_dataset_rows(dataset, CW_PART_TEST) > 0;
}

/* Before the long work, so that a bad file is known at once. */
static cw_status read_bucket(cwi_trainer *t, cwi_bucket *out)
{
    const char *path = cwi_options_text(t->options, "bucket");
    if (!path[0]) return CW_OK;
    return cwi_bucket_read(t->ctx, path, t->dataset,
                           (uint64_t)cwi_options_integer(t->options, "seed"), out);
}

/* A dataset of ours loses what the trainer has in a form of its own, and what only the process
 * that leads says in the end: who the users are. */
static void shed(const cwi_trainer *t, cw_dataset *ours)
{
    if (ours->whole && !cwi_options_flag(t->options, "refit"))
        cwi_pairs_clear(&ours->part[CW_PART_TRAIN]);
    if (!cwi_trainer_leads(t)) cwi_idmap_clear(&ours->users);
}

/* ours: the dataset, where it may be used up; else NULL. */
static cw_status train(cw_context *ctx, const cw_dataset *dataset, const cw_options *options,
                       cw_dataset *ours, cw_model **out, char **run)
{
    cw_status status;
    cwi_trainer *t = NULL;
    json_t *found = NULL;
    cw_dataset all = {0};
    cwi_bucket bucket = {0};

    CW_TRY(cwi_trainer_create(ctx, dataset, options, &t));
    if (ours) shed(t, ours);
    CW_TRY(read_bucket(t, &bucket));
    CW_TRY(find_out(t, &found));
    CW_TRY(cwi_train_learn(t, &bucket, found));
    if (cwi_options_flag(t->options, "refit") && is_held_out(dataset)) {
        CW_TRY(cwi_all_rows(ctx, dataset, &all));
        CW_TRY(cwi_refit(&t, &all, found));
    }
    if (t->task.world) CW_TRY(cwi_share_gather_best(t));
    if (t->training.dealt) CW_TRY(cwi_share_gather_seen(t));
    t->spent = ours;
    if (cwi_trainer_leads(t)) CW_TRY(cwi_make_model(t, found, out, run));
done:
    cwi_trainer_free(t);
    cwi_bucket_clear(&bucket);
    cwi_all_rows_clear(&all);
    json_decref(found);
    return status;
}

cw_status cw_train(cw_context *ctx, const cw_dataset *dataset, const cw_options *options,
                   cw_model **out, char **run)
{
    cwi_begin(ctx);
    *out = NULL;
    if (run) *run = NULL;
    CW_PASS(cwi_dataset_here(ctx, dataset));
    return train(ctx, dataset, options, NULL, out, run);
}

cw_status cw_train_folder(cw_context *ctx, const char *folder, const char *train_file,
                          const cw_options *options, cw_model **out, char **run)
{
    cw_status status;
    cw_dataset *dataset = NULL;

    cwi_begin(ctx);
    *out = NULL;
    if (run) *run = NULL;
    if (options && cwi_options_is(options, "device", "mpi"))
        CW_TRY(cwi_deal_load(ctx, folder, train_file, options, &dataset));
    if (!dataset) CW_TRY(cwi_store_load(ctx, folder, train_file, &dataset));
    CW_TRY(train(ctx, dataset, options, dataset, out, run));
done:
    cw_dataset_free(dataset);
    return status;
}
