/* train.c - from a dataset to a model and the record of how it came about. */
#include <jansson.h>
#include <string.h>
#include <sys/resource.h>

#include "backend/backend.h"
#include "core/json.h"
#include "core/mem.h"
#include "core/text.h"
#include "model/model.h"
#include "train/train.h"

/* Metrics of the final parameters on one part; null when it is empty. */
static cw_status measure(cwi_trainer *t, cw_part part, json_t **out)
{
    cw_status status = CW_OK;
    const cwi_task *task = &t->task;
    cwi_metrics metrics;
    cwi_ranker ranker = {0};

    *out = NULL;
    if (t->dataset->part[part].count == 0) {
        *out = json_null();
        return CW_OK;
    }
    CW_TRY(cwi_method_rank(t->ctx, task->method, task->backbone, &task->shape, t->options, &t->best,
                           &ranker));
    CW_TRY(cwi_evaluate(t->ctx, &ranker, &t->training.by_user, &t->dataset->part[part],
                        t->training.degree, t->metric_k, &metrics));
    *out = cwi_record_metrics(&metrics);
    CW_TRY(cwi_json_check(t->ctx, *out));
done:
    cwi_ranker_close(&ranker);
    return status;
}

static json_t *describe_data(const cwi_trainer *t)
{
    const cw_dataset *d = t->dataset;
    json_t *out =
        json_pack("{s:s, s:i, s:i, s:I, s:I, s:I}", "xxh3_128", t->data_hash, "users", d->n_users,
                  "items", d->n_items, "train", (json_int_t)d->part[0].count, "valid",
                  (json_int_t)d->part[1].count, "test", (json_int_t)d->part[2].count);
    if (t->propensity_hash[0]) cwi_json_set(&out, "propensities", json_string(t->propensity_hash));
    return out;
}

/* What the model says of itself: nothing that differs between two runs with the same seed. */
static json_t *describe_model(const cwi_trainer *t, json_t *valid, json_t *test)
{
    return json_pack("{s:s, s:s, s:o, s:I, s:o, s:I, s:O, s:O}", "method", t->task.method->name,
                     "backbone", t->task.backbone->name, "options", cwi_train_record(t->options),
                     "seed", (json_int_t)cwi_options_integer(t->options, "seed"), "data",
                     describe_data(t), "best_epoch",
                     (json_int_t)(t->stopper.best_epoch ? t->stopper.best_epoch : t->epoch),
                     "valid", valid, "test", test);
}

/* The record of the run: the model's own words, every epoch, time and memory. */
static cw_status describe_run(cwi_trainer *t, json_t *about, char **run)
{
    struct rusage usage;
    double train_s = 0;
    size_t index;
    json_t *epoch, *record = cwi_json_copy(about);

    getrusage(RUSAGE_SELF, &usage);
    json_array_foreach(t->epochs, index, epoch) train_s +=
        json_number_value(json_object_get(epoch, "train_s"));
    cwi_json_set(&record, "epochs", json_incref(t->epochs));
    cwi_json_set(&record, "train_s", json_real(train_s));
    cwi_json_set(&record, "threads", json_integer(cw_context_threads(t->ctx)));
    cwi_json_set(&record, "isa", json_string(cwi_ops_best()->name));
    cwi_json_set(&record, "peak_bytes", json_integer((json_int_t)usage.ru_maxrss * 1024));
    cwi_json_set(&record, "crosswise", json_string(cw_version()));
    return cwi_json_sign(t->ctx, record, run);
}

/* Hand over what the trainer holds; ids are copied. */
static cw_status fill_model(cwi_trainer *t, cw_model *model)
{
    cw_status status;

    model->n_users = t->dataset->n_users;
    model->n_items = t->dataset->n_items;
    cwi_copy_text(model->method, sizeof model->method, t->task.method->name);
    cwi_copy_text(model->backbone, sizeof model->backbone, t->task.backbone->name);
    CW_TRY(cwi_idmap_copy(t->ctx, &t->dataset->users, &model->users));
    CW_TRY(cwi_idmap_copy(t->ctx, &t->dataset->items, &model->items));
    model->params = t->best;
    t->best = (cwi_params){0};
    model->seen = t->training.by_user;
    t->training.by_user = (cwi_csr){0};
    model->degree = t->training.degree;
    t->training.degree = NULL;
done:
    return status;
}

static cw_status make_model(cwi_trainer *t, cw_model **out, char **run)
{
    cw_status status;
    json_t *valid = NULL, *test = NULL, *about = NULL;
    cw_model *model = NULL;

    CW_TRY(measure(t, CW_PART_VALID, &valid));
    CW_TRY(measure(t, CW_PART_TEST, &test));
    about = describe_model(t, valid, test);
    CW_TRY(cwi_json_check(t->ctx, about));
    if (run) CW_TRY(describe_run(t, about, run));
    CW_TRY(cwi_model_create(t->ctx, &model));
    CW_TRY(cwi_json_text(t->ctx, json_incref(about), &model->about));
    CW_TRY(fill_model(t, model));
    *out = model;
done:
    if (status != CW_OK) {
        cw_model_free(model);
        if (run) {
            cwi_free(*run);
            *run = NULL;
        }
    }
    json_decref(valid);
    json_decref(test);
    json_decref(about);
    return status;
}

cw_status cw_train(cw_context *ctx, const cw_dataset *dataset, const cw_options *options,
                   cw_model **out, char **run)
{
    cw_status status;
    cwi_trainer *t = NULL;

    cwi_begin(ctx);
    *out = NULL;
    if (run) *run = NULL;
    CW_TRY(cwi_trainer_create(ctx, dataset, options, &t));
    CW_TRY(cwi_trainer_run(t));
    CW_TRY(make_model(t, out, run));
done:
    cwi_trainer_free(t);
    return status;
}
