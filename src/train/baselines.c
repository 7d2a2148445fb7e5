/* baselines.c - what a model has to beat: popularity, and itself before training. */
#include "core/json.h"
#include "core/mem.h"
#include "train/train.h"

/* The most popular items for everybody, measured on a part. */
static cw_status measure_pop(cwi_trainer *t, const cwi_ranker *pop, cw_part part, json_t **out)
{
    cwi_metrics metrics;
    *out = NULL;
    if (cwi_dataset_rows(t->dataset, (int)part) == 0) return CW_OK;
    CW_PASS(cwi_trainer_measure(t, pop, part, &metrics));
    *out = cwi_record_metrics(&metrics);
    return cwi_json_check(t->ctx, *out);
}

/* The same counts where most interactions are elsewhere. */
static void count_all(const cwi_training *training, float *popularity)
{
    const int64_t most = 1 << 24; /* beyond which 1 more is lost */
    for (int32_t i = 0; i < training->n_items; i++)
        popularity[i] = (float)(training->degree[i] < most ? training->degree[i] : most);
}

static cw_status measure(cwi_trainer *t, json_t *out)
{
    cw_status status;
    static const char *const names[] = {"", "pop_valid", "pop_test"};
    const cwi_backbone *backbone = cwi_find_backbone("pop");
    cwi_params counts = {0};
    cwi_ranker pop = {0};
    cwi_shape shape = {.n_users = t->dataset->n_users,
                       .n_items = t->dataset->n_items,
                       .train = &t->training.by_user};

    CW_TRY(backbone->declare(t->ctx, &shape, t->options, &counts));
    CW_TRY(backbone->fill(t->ctx, &shape, t->options, &counts));
    if (t->training.dealt) count_all(&t->training, counts.tensor[0].data);
    CW_TRY(backbone->rank(t->ctx, &shape, t->options, &counts, &pop));
    pop.world = t->task.world;
    for (int part = CW_PART_VALID; part <= CW_PART_TEST; part++) {
        json_t *metrics;
        CW_TRY(measure_pop(t, &pop, (cw_part)part, &metrics));
        if (metrics && json_object_set_new(out, names[part], metrics) != 0)
            CW_TRY(cwi_no_memory(t->ctx));
    }
done:
    cwi_ranker_close(&pop);
    cwi_params_clear(&counts);
    return status;
}

/* Is the model chosen by validation better there than this? */
static bool beats(const cwi_trainer *t, const json_t *metrics)
{
    return t->stopper.best > cwi_json_get_number(metrics, cwi_options_text(t->options, "metric"));
}

cw_status cwi_baselines_compare(cwi_trainer *t)
{
    json_t *untrained = json_object_get(json_array_get(t->epochs, 0), "valid");
    t->baselines = json_object();
    CW_PASS(cwi_json_check(t->ctx, t->baselines));
    CW_PASS(measure(t, t->baselines));
    const json_t *pop = json_object_get(t->baselines, "pop_valid");
    if (!pop || !untrained || t->stopper.best_epoch == 0) return CW_OK; /* nothing was chosen */
    cwi_json_set(&t->baselines, "untrained_valid", json_incref(untrained));
    cwi_json_set(&t->baselines, "beats_pop", json_boolean(beats(t, pop)));
    cwi_json_set(&t->baselines, "beats_untrained", json_boolean(beats(t, untrained)));
    return cwi_json_check(t->ctx, t->baselines);
}
