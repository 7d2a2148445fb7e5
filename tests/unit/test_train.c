/* test_train.c - whole runs on a small simulated set: same bits on any threads and after a stop. */
#include <jansson.h>
#include <math.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/text.h"
#include "engine_check.h"
#include "model/model.h"
#include "prepare/dataset.h"
#include "train/train.h"
#include "train_check.h"

typedef struct fixture {
    listener l;
    char folder[64], checkpoint[128];
    cw_dataset *data;
    cw_options *options;
} fixture;

static void set(fixture *f, const char *name, const char *value)
{
    assert_int_equal(cw_options_set(f->l.ctx, f->options, name, value), CW_OK);
}

static cw_dataset *make_data(cw_context *ctx, const char *users, const char *items)
{
    const char *const settings[][2] = {{"users", users},
                                       {"items", items},
                                       {"relevant", "0.5"},
                                       {"popularity", "0.5"},
                                       {"seed", "5"}};
    cw_options *simulate, *split = paper_split(ctx);
    cw_dataset *data;
    assert_int_equal(cw_options_create(ctx, "simulate", &simulate), CW_OK);
    for (size_t s = 0; s < 5; s++)
        assert_int_equal(cw_options_set(ctx, simulate, settings[s][0], settings[s][1]), CW_OK);
    assert_int_equal(cw_dataset_simulate(ctx, simulate, split, &data), CW_OK);
    cw_options_free(split);
    cw_options_free(simulate);
    return data;
}

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    listener_init(&f->l);
    make_scratch(f->folder);
    snprintf(f->checkpoint, sizeof f->checkpoint, "%s/c", f->folder);
    f->data = make_data(f->l.ctx, "800", "200");
    assert_true(f->data->part[0].count > 40 * 128); /* enough steps to stop between */
    assert_int_equal(cw_options_create(f->l.ctx, "train", &f->options), CW_OK);
    assert_int_equal(cw_options_set(f->l.ctx, f->options, "preset", "paper"), CW_OK);
    set(f, "dim", "16");
    set(f, "batch", "128");
    set(f, "lr", "3e-3");
    set(f, "epochs", "4");
    set(f, "eval-every", "2");
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    cw_options_free(f->options);
    cw_dataset_free(f->data);
    remove_scratch(f->folder);
    listener_clear(&f->l);
    free(f);
    return 0;
}

static cw_model *train(fixture *f)
{
    cw_model *model;
    cw_status status = cw_train(f->l.ctx, f->data, f->options, &model, NULL);
    if (status != CW_OK) fail_msg("%s", cw_context_error(f->l.ctx));
    return model;
}

/* The bytes of the model file. */
static char *bytes_of(fixture *f, const cw_model *model, size_t *length)
{
    char path[128];
    struct stat info;
    snprintf(path, sizeof path, "%s/model", f->folder);
    assert_int_equal(cw_model_save(f->l.ctx, model, path), CW_OK);
    assert_int_equal(stat(path, &info), 0);
    char *bytes = malloc((size_t)info.st_size);
    FILE *file = fopen(path, "rb");
    *length = fread(bytes, 1, (size_t)info.st_size, file);
    fclose(file);
    return bytes;
}

static void assert_same_model(fixture *f, cw_model *a, cw_model *b)
{
    size_t n_a, n_b;
    char *of_a = bytes_of(f, a, &n_a), *of_b = bytes_of(f, b, &n_b);
    assert_int_equal(n_a, n_b);
    assert_memory_equal(of_a, of_b, n_a);
    free(of_a);
    free(of_b);
}

/* The thread sanitizer, which is slow, looks for races: what one thread gives is compared
 * elsewhere. */
#if defined(__SANITIZE_THREAD__)
enum { FEWEST_THREADS = 2 };
#else
enum { FEWEST_THREADS = 1 };
#endif

/* One, two and three threads give the same bytes. */
static void assert_same_on_any_threads(fixture *f)
{
    cw_model *first = NULL;
    for (int threads = FEWEST_THREADS; threads <= 3; threads++) {
        assert_int_equal(cw_context_set_threads(f->l.ctx, threads), CW_OK);
        cw_model *model = train(f);
        if (first) assert_same_model(f, first, model);
        if (first)
            cw_model_free(model);
        else
            first = model;
    }
    cw_model_free(first);
}

static void same_bits_on_one_two_and_three_threads(void **state)
{
    fixture *f = *state;
    static const char *const settings[][2] = {{"optimizer", "adam-deferred"},
                                              {"optimizer", "adam-lazy"},
                                              {"select", "per-k"},
                                              {"reg-kind", "batch"},
                                              {"optimizer", "adam-deferred"}};
    for (size_t s = 0; s < sizeof settings / sizeof settings[0]; s++) {
        set(f, settings[s][0], settings[s][1]);
        assert_same_on_any_threads(f);
    }
}

static void another_seed_gives_another_model(void **state)
{
    fixture *f = *state;
    cw_model *a = train(f), *b;
    set(f, "seed", "1");
    b = train(f);
    assert_memory_not_equal(a->params.tensor[0].data, b->params.tensor[0].data, 64);
    cw_model_free(a);
    cw_model_free(b);
}

/* Stop after 1, 1 + more, 1 + 2 more, ... steps and go on, again and again, to the same bits. */
static void assert_same_in_pieces(fixture *f, int more, int least_stops)
{
    cw_model *whole, *pieces = NULL;
    int stops = 0;
    cw_status status = CW_CANCELLED;
    set(f, "checkpoint", "");
    set(f, "resume", "off");
    whole = train(f);
    set(f, "checkpoint", f->checkpoint);
    set(f, "resume", "on");
    for (int steps = 1; status == CW_CANCELLED; steps += more, stops++) {
        int left = steps;
        cw_context_set_progress(f->l.ctx, count_down, &left);
        status = cw_train(f->l.ctx, f->data, f->options, &pieces, NULL);
    }
    cw_context_set_progress(f->l.ctx, NULL, NULL);
    assert_int_equal(status, CW_OK);
    assert_true(stops > least_stops);
    assert_same_model(f, whole, pieces);
    cw_model_free(whole);
    cw_model_free(pieces);
    assert_int_equal(unlink(f->checkpoint), 0);
    set(f, "checkpoint", "");
    set(f, "resume", "off");
}

static void stopped_and_resumed_runs_end_the_same(void **state)
{
    fixture *f = *state;
    static const char *const kinds[] = {"table", "batch"};
    for (size_t m = 0; cw_optimizer_name(m / 2); m++) {
        set(f, "optimizer", cw_optimizer_name(m / 2));
        set(f, "reg-kind", kinds[m % 2]);
        assert_same_in_pieces(f, 7, 4);
    }
}

/* Whatever the registry holds: new methods and backbones are met without being named here. */
static void every_method_on_every_backbone_gives_the_same_bits(void **state)
{
    fixture *f = *state;
    int met = 0;
    cw_dataset_free(f->data);
    f->data = make_data(f->l.ctx, "200", "100"); /* there are many of them */
    set(f, "dim", "4");
    set(f, "batch", "1024"); /* several chunks, so that threads share a batch */
    for (size_t m = 0; cw_method_name(m); m++)
        for (size_t b = 0; cw_backbone_name(b); b++) {
            const cwi_method *method = cwi_find_method(cw_method_name(m));
            const cwi_backbone *backbone = cwi_find_backbone(cw_backbone_name(b));
            if (cwi_word_index(method->backbones, backbone->name) < 0) continue;
            set(f, "method", method->name);
            set(f, "backbone", backbone->name);
            assert_same_on_any_threads(f);
            if (method->sampler || cwi_backbone_learns(backbone)) assert_same_in_pieces(f, 2, 1);
            met++;
        }
    assert_true(met > 8);
}

/* The last step of an epoch is done, what follows it is not. */
static void a_checkpoint_at_the_end_of_an_epoch_goes_on(void **state)
{
    fixture *f = *state;
    cwi_trainer *t;
    cw_model *whole = train(f), *pieces;
    set(f, "checkpoint", f->checkpoint);
    assert_int_equal(cwi_trainer_create(f->l.ctx, f->data, f->options, &t), CW_OK);
    while (t->tally.steps < t->task.steps_per_epoch) assert_int_equal(cwi_trainer_step(t), CW_OK);
    assert_int_equal(cwi_trainer_listen(t), CW_OK);
    assert_int_equal(cwi_checkpoint_save(t), CW_OK);
    cwi_trainer_free(t);
    set(f, "resume", "on");
    pieces = train(f);
    assert_same_model(f, whole, pieces);
    cw_model_free(whole);
    cw_model_free(pieces);
}

/* Epoch 0 is told once, also when the run was stopped before its first step. */
static void a_resumed_run_tells_every_epoch_once(void **state)
{
    fixture *f = *state;
    cw_model *model;
    char *run;
    int left = 0;
    set(f, "checkpoint", f->checkpoint);
    cw_context_set_progress(f->l.ctx, count_down, &left);
    assert_int_equal(cw_train(f->l.ctx, f->data, f->options, &model, NULL), CW_CANCELLED);
    cw_context_set_progress(f->l.ctx, NULL, NULL);
    set(f, "resume", "on");
    assert_int_equal(cw_train(f->l.ctx, f->data, f->options, &model, &run), CW_OK);
    json_t *record = json_loads(run, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(record, "epochs")), 5);
    json_decref(record);
    cw_text_free(run);
    cw_model_free(model);
}

/* Two epochs, kept, then the rest: as if there had been no end in between. */
static void a_finished_run_goes_on_for_more_epochs(void **state)
{
    fixture *f = *state;
    set(f, "epochs", "4");
    cw_model *whole = train(f);
    set(f, "checkpoint", f->checkpoint);
    set(f, "checkpoint-end", "on");
    set(f, "epochs", "2");
    cw_model *first = train(f);
    set(f, "resume", "on");
    set(f, "epochs", "4");
    cw_model *rest = train(f);
    assert_same_model(f, whole, rest);
    cw_model_free(whole);
    cw_model_free(first);
    cw_model_free(rest);
}

static json_t *about_of(const cw_model *model)
{
    json_t *about = json_loads(model->about, 0, NULL);
    assert_non_null(about);
    return about;
}

/* Every row of every part is among what its user has seen, and nothing else is. */
static void assert_knows_all_rows(const fixture *f, const cw_model *model)
{
    int64_t rows = 0;
    for (int p = 0; p < CWI_PARTS; p++) {
        const cwi_pairs *part = &f->data->part[p];
        rows += part->count;
        for (int64_t k = 0; k < part->count; k++)
            assert_true(cwi_csr_has(&model->seen, part->user[k], part->item[k]));
    }
    assert_true(model->seen.start[model->n_users] == rows);
    for (int32_t i = 0; i < model->n_items; i++) rows -= model->degree[i];
    assert_true(rows == 0);
}

/* The metrics are those of before, and it says so. */
static void assert_refitted(const cw_model *before, const cw_model *after)
{
    static const char *const same[] = {"valid", "test", "data", "best_epoch", "steps"};
    json_t *a = about_of(before), *b = about_of(after);
    const json_t *refit = json_object_get(b, "refit");
    for (size_t k = 0; k < sizeof same / sizeof same[0]; k++)
        assert_true(json_equal(json_object_get(a, same[k]), json_object_get(b, same[k])));
    assert_null(json_object_get(a, "refit"));
    assert_true(json_equal(json_object_get(refit, "steps"), json_object_get(b, "steps")));
    assert_int_equal(json_integer_value(json_object_get(refit, "rows")),
                     after->seen.start[after->n_users]);
    json_decref(a);
    json_decref(b);
}

static void a_refit_knows_all_rows_on_any_threads_and_after_stops(void **state)
{
    fixture *f = *state;
    static const char *const methods[][2] = {
        {"cpr", "mf"},     {"cpr", "lightgcn"},    {"cause", "mf"},
        {"ubpr", "neumf"}, {"mult-vae", "vae"},    {"ials", "als"},
        {"ease", "ease"},  {"itemknn", "itemknn"}, {"pop", "pop"}};
    cw_dataset_free(f->data);
    f->data = make_data(f->l.ctx, "200", "100");
    set(f, "dim", "4");
    for (size_t m = 0; m < sizeof methods / sizeof methods[0]; m++) {
        set(f, "method", methods[m][0]);
        set(f, "backbone", methods[m][1]);
        set(f, "refit", "off");
        cw_model *before = train(f);
        set(f, "refit", "on");
        cw_model *after = train(f);
        assert_refitted(before, after);
        assert_knows_all_rows(f, after);
        assert_same_on_any_threads(f);
        if (!cwi_find_backbone(methods[m][1])->fill) assert_same_in_pieces(f, 2, 1);
        cw_model_free(before);
        cw_model_free(after);
    }
}

/* Stopped at every single step of both trainings. */
static void a_refit_goes_on_from_every_step(void **state)
{
    fixture *f = *state;
    cw_model *whole, *pieces = NULL;
    cw_status status = CW_OK;
    int steps = 0;
    cw_dataset_free(f->data);
    f->data = make_data(f->l.ctx, "200", "100");
    set(f, "dim", "4");
    set(f, "batch", "256");
    set(f, "refit", "on");
    whole = train(f);
    for (; !pieces; steps++) {
        int left = steps;
        set(f, "checkpoint", f->checkpoint);
        set(f, "resume", "off");
        cw_context_set_progress(f->l.ctx, count_down, &left);
        status = cw_train(f->l.ctx, f->data, f->options, &pieces, NULL);
        cw_context_set_progress(f->l.ctx, NULL, NULL);
        if (status == CW_OK) break;
        assert_int_equal(status, CW_CANCELLED);
        set(f, "resume", "on");
        cw_model *rest = train(f);
        assert_same_model(f, whole, rest);
        cw_model_free(rest);
        (void)unlink(f->checkpoint);
    }
    print_message("stopped at %d steps\n", steps);
    assert_true(steps >= 20);
    assert_same_model(f, whole, pieces);
    cw_model_free(whole);
    cw_model_free(pieces);
}

/* The state of a refit is no state of the training before it. */
static void a_checkpoint_of_a_refit_is_for_a_refit_alone(void **state)
{
    fixture *f = *state;
    cw_model *model;
    set(f, "refit", "on");
    set(f, "checkpoint", f->checkpoint);
    set(f, "checkpoint-every", "1");
    model = train(f); /* leaves that of the last epoch */
    cw_model_free(model);
    set(f, "resume", "on");
    set(f, "refit", "off");
    assert_int_equal(cw_train(f->l.ctx, f->data, f->options, &model, NULL), CW_BAD_DATA);
    assert_non_null(strstr(cw_context_error(f->l.ctx), "was made with --refit"));
    set(f, "refit", "on");
    set(f, "epochs", "6");
    assert_int_equal(cw_train(f->l.ctx, f->data, f->options, &model, NULL), CW_BAD_DATA);
    assert_non_null(strstr(cw_context_error(f->l.ctx), "was made with --epochs 4, not 6"));
}

static void foreign_and_damaged_checkpoints_are_refused(void **state)
{
    fixture *f = *state;
    cw_model *model;
    int left = 5;
    set(f, "checkpoint", f->checkpoint);
    cw_context_set_progress(f->l.ctx, count_down, &left);
    assert_int_equal(cw_train(f->l.ctx, f->data, f->options, &model, NULL), CW_CANCELLED);
    assert_null(model);
    cw_context_set_progress(f->l.ctx, NULL, NULL);
    set(f, "resume", "on");
    set(f, "dim", "8");
    assert_int_equal(cw_train(f->l.ctx, f->data, f->options, &model, NULL), CW_BAD_DATA);
    assert_non_null(strstr(cw_context_error(f->l.ctx), "was made with --dim 16, not 8"));
    set(f, "dim", "16");
    f->data->part[0].item[0] ^= 1;
    assert_int_equal(cw_train(f->l.ctx, f->data, f->options, &model, NULL), CW_BAD_DATA);
    assert_non_null(strstr(cw_context_error(f->l.ctx), "was made with other data"));
    f->data->part[0].item[0] ^= 1;
    assert_int_equal(truncate(f->checkpoint, 1000), 0);
    assert_int_equal(cw_train(f->l.ctx, f->data, f->options, &model, NULL), CW_BAD_DATA);
    assert_non_null(strstr(cw_context_error(f->l.ctx), f->checkpoint));
    write_file(f->folder, "c", "not a checkpoint at all, but long enough to look at");
    for (int k = 0; k < 2; k++) { /* also when nothing is to be read from it */
        assert_int_equal(cw_train(f->l.ctx, f->data, f->options, &model, NULL), CW_IO);
        assert_non_null(strstr(cw_context_error(f->l.ctx),
                               "exists and is no checkpoint of crosswise; it is not replaced"));
        assert_memory_equal(read_text(f->folder, "c"), "not a checkpoint", 16);
        set(f, "resume", "off");
    }
}

/* A checkpoint with a good checksum that training cannot have come to, such as one with so many
 * steps that adding them up would never end. */
static void impossible_counters_of_a_checkpoint_are_refused(void **state)
{
    fixture *f = *state;
    enum { N_COUNTERS = 11, N_CASES = 15 };
    for (int k = 0; k < N_CASES; k++) {
        cwi_trainer *t;
        cw_model *model;
        set(f, "checkpoint", f->checkpoint);
        set(f, "resume", "off");
        assert_int_equal(cwi_trainer_create(f->l.ctx, f->data, f->options, &t), CW_OK);
        for (int step = 0; step < 3; step++) assert_int_equal(cwi_trainer_step(t), CW_OK);
        assert_int_equal(cwi_trainer_listen(t), CW_OK);
        int64_t *const counters[] = {&t->epoch,         &t->tally.applied,      &t->tally.steps,
                                     &t->tally.trained, &t->stopper.best_epoch, &t->stopper.worse};
        if (k < 10)
            *counters[k % 5 + 1] = k < 5 ? INT64_C(1) << 62 : -1;
        else if (k == 10)
            t->epoch = 1;
        else if (k == 11)
            t->stopper.best = (double)NAN;
        else if (k == 12)
            t->train_s = -1;
        else if (k == 13)
            t->tally.draws.attempts[0] = INT64_MAX;
        else
            t->tally.draws.accepted[0] = -1;
        /* the time since the last step is added to what is saved */
        clock_gettime(CLOCK_MONOTONIC, &t->epoch_began);
        assert_int_equal(cwi_checkpoint_save(t), CW_OK);
        cwi_trainer_free(t);
        set(f, "resume", "on");
        assert_int_equal(cw_train(f->l.ctx, f->data, f->options, &model, NULL), CW_BAD_DATA);
        const char *damaged = k < N_COUNTERS ? "'counters'" : k < 13 ? "'sums'" : "'luck'";
        const char *error = cw_context_error(f->l.ctx);
        if (!strstr(error, damaged) || !strstr(error, f->checkpoint)) fail_msg("%d: %s", k, error);
    }
}

/* Begin with the plain engine, go on with the fast one. */
static void a_checkpoint_of_one_engine_goes_on_in_another(void **state)
{
    fixture *f = *state;
    cw_model *model;
    int left = 3;
    set(f, "optimizer", "adam");
    set(f, "checkpoint", f->checkpoint);
    set(f, "engine", "ref");
    cw_context_set_progress(f->l.ctx, count_down, &left);
    assert_int_equal(cw_train(f->l.ctx, f->data, f->options, &model, NULL), CW_CANCELLED);
    cw_context_set_progress(f->l.ctx, NULL, NULL);
    set(f, "resume", "on");
    set(f, "engine", "cpu");
    model = train(f);
    cw_model_free(model);
}

/* Rows that would have missed more steps than were made. */
static void impossible_ages_of_rows_are_refused(void **state)
{
    fixture *f = *state;
    cwi_trainer *t;
    cw_model *model;
    set(f, "optimizer", "adam-deferred");
    set(f, "checkpoint", f->checkpoint);
    assert_int_equal(cwi_trainer_create(f->l.ctx, f->data, f->options, &t), CW_OK);
    assert_int_equal(cwi_trainer_step(t), CW_OK);
    assert_int_equal(cwi_trainer_listen(t), CW_OK);
    memset(array_of(t, "mark").data, 0xff, 8);
    clock_gettime(CLOCK_MONOTONIC, &t->epoch_began);
    assert_int_equal(cwi_checkpoint_save(t), CW_OK);
    cwi_trainer_free(t);
    set(f, "resume", "on");
    assert_int_equal(cw_train(f->l.ctx, f->data, f->options, &model, NULL), CW_BAD_DATA);
    const char *error = cw_context_error(f->l.ctx);
    assert_non_null(strstr(error, "'mark' is damaged"));
    assert_non_null(strstr(error, f->checkpoint));
}

/* A file at every call, so that the name does not tell propensities apart. */
static void write_propensities(fixture *f, double of_item_0)
{
    char path[128];
    snprintf(path, sizeof path, "%s/p.csv", f->folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "item,propensity\n");
    for (int32_t i = 0; i < f->data->n_items; i++)
        fprintf(file, "%s,%.3f\n", cw_dataset_item_id(f->data, i), i == 0 ? of_item_0 : 0.5);
    assert_int_equal(fclose(file), 0);
    set(f, "propensity", path);
}

static void a_checkpoint_knows_its_propensities(void **state)
{
    fixture *f = *state;
    cw_model *model;
    int left = 5;
    set(f, "method", "ubpr");
    set(f, "checkpoint", f->checkpoint);
    write_propensities(f, 0.25);
    cw_context_set_progress(f->l.ctx, count_down, &left);
    assert_int_equal(cw_train(f->l.ctx, f->data, f->options, &model, NULL), CW_CANCELLED);
    cw_context_set_progress(f->l.ctx, NULL, NULL);
    set(f, "resume", "on");
    write_propensities(f, 0.26);
    assert_int_equal(cw_train(f->l.ctx, f->data, f->options, &model, NULL), CW_BAD_DATA);
    assert_non_null(strstr(cw_context_error(f->l.ctx), "was made with other propensities"));
    set(f, "propensity", "");
    assert_int_equal(cw_train(f->l.ctx, f->data, f->options, &model, NULL), CW_BAD_DATA);
    write_propensities(f, 0.25);
    assert_int_equal(cw_train(f->l.ctx, f->data, f->options, &model, NULL), CW_OK);
    cw_model_free(model);
}

/* Relative distance of the parameters after training. */
static double distance_to_dense(fixture *f, const char *mode)
{
    double apart = 0, size = 0;
    set(f, "optimizer", "adam");
    cw_model *dense = train(f);
    set(f, "optimizer", mode);
    cw_model *other = train(f);
    int64_t n = dense->params.tensor[0].rows * dense->params.tensor[0].columns;
    for (int64_t k = 0; k < n; k++) {
        double x = (double)dense->params.tensor[0].data[k];
        double y = (double)other->params.tensor[0].data[k];
        apart += (x - y) * (x - y);
        size += x * x;
    }
    cw_model_free(dense);
    cw_model_free(other);
    return sqrt(apart / size);
}

/* Missed steps are added up to far better than they matter.  Methods that choose the hardest
 * samples magnify any difference, so that they are left out here. */
static void deferred_adam_stays_close_to_dense(void **state)
{
    fixture *f = *state;
    static const char *const methods[] = {"bpr", "cpr-rand"};
    static const char *const kinds[] = {"table", "batch"};
    set(f, "epochs", "3");
    set(f, "eval-every", "0");
    set(f, "lr", "3e-4");
    for (int k = 0; k < 4; k++) {
        set(f, "method", methods[k / 2]);
        set(f, "reg-kind", kinds[k % 2]);
        double deferred = distance_to_dense(f, "adam-deferred");
        double lazy = distance_to_dense(f, "adam-lazy");
        print_message("%s, L2 of the %s, relative rms distance to dense: deferred %.2e, lazy "
                      "%.2e\n",
                      methods[k / 2], kinds[k % 2], deferred, lazy);
        assert_true(deferred < 1e-3);
        assert_true(lazy > 1e-2); /* the test can tell them apart */
    }
}

/* First loss is ln 2 up to the first steps' progress, and learning lowers it. */
static void the_loss_starts_at_ln_2_and_falls(void **state)
{
    fixture *f = *state;
    cw_model *model;
    char *run;
    set(f, "method", "bpr");
    set(f, "lr", "1e-3");
    assert_int_equal(cw_train(f->l.ctx, f->data, f->options, &model, &run), CW_OK);
    json_t *root = json_loads(run, 0, NULL);
    json_t *epochs = json_object_get(root, "epochs");
    assert_int_equal(json_array_size(epochs), 5); /* epoch 0 is reported */
    double first = json_number_value(json_object_get(json_array_get(epochs, 1), "data_loss"));
    double last = json_number_value(json_object_get(json_array_get(epochs, 4), "data_loss"));
    assert_true(fabs(first - log(2)) < 0.02);
    assert_true(last < first);
    json_decref(root);
    cw_text_free(run);
    cw_model_free(model);
}

static void refused(fixture *f, const char *name, const char *value, cw_status status,
                    const char *message)
{
    cw_model *model;
    set(f, name, value);
    assert_int_equal(cw_train(f->l.ctx, f->data, f->options, &model, NULL), status);
    assert_null(model);
    assert_non_null(strstr(cw_context_error(f->l.ctx), message));
}

static void senseless_options_are_refused(void **state)
{
    fixture *f = *state;
    refused(f, "metric", "accepted@20", CW_BAD_ARG,
            "--metric is 'accepted@20'; it must be one of recall|");
    set(f, "metric", "ndcg@5");
    refused(f, "checkpoint-every", "often", CW_BAD_ARG, "--checkpoint-every is 'often'");
    set(f, "checkpoint-every", "5");
    refused(f, "backbone", "tree", CW_BAD_ARG,
            "--backbone is 'tree'; method cpr works on mf|lightgcn|ngcf");
    set(f, "backbone", "");
    refused(f, "method", "magic", CW_BAD_ARG,
            "there is no method 'magic'; there are cpr, cpr-rand, bpr, ");
    set(f, "method", "cpr-rand");
    refused(f, "beta", "2", CW_BAD_ARG, "method cpr-rand has beta 1");
    set(f, "method", "cpr");
    set(f, "beta", "");
    refused(f, "cycle", "1", CW_BAD_ARG, "--cycle is '1'");
}

/* The state goes bad in the middle: the run stops, and the checkpoint before it stays. */
static void a_loss_that_is_no_number_stops_the_run(void **state)
{
    fixture *f = *state;
    cwi_trainer *t;
    struct stat before, after;
    set(f, "checkpoint", f->checkpoint);
    assert_int_equal(cwi_trainer_create(f->l.ctx, f->data, f->options, &t), CW_OK);
    assert_int_equal(cwi_checkpoint_save(t), CW_OK);
    assert_int_equal(stat(f->checkpoint, &before), 0);
    cwi_state_array table = array_of(t, "param.embeddings");
    for (int64_t k = 0; k < table.rows; k++) ((float *)table.data)[k * 16] = NAN;
    set(f, "eval-every", "0");
    for (int k = 0; k < 3; k++) assert_int_equal(cwi_trainer_step(t), CW_OK);
    assert_int_equal(cwi_trainer_listen(t), CW_BAD_DATA);
    assert_non_null(strstr(cw_context_error(f->l.ctx),
                           "the loss is not a number any more (epoch 1, "
                           "step 1); try a smaller --lr than 0.003"));
    assert_int_equal(stat(f->checkpoint, &after), 0);
    assert_true(before.st_ino == after.st_ino && before.st_size == after.st_size);
    cwi_trainer_free(t);
}

/* Every user has every item: no pair is unseen. */
static void complete_data_cannot_be_learnt(void **state)
{
    fixture *f = *state;
    static const char *const methods[] = {"cpr", "bpr", "rel-mf", "bce", "mse", "wmf"};
    int64_t user[100], item[100];
    cw_interactions *rows;
    cw_dataset *whole;
    cw_model *model;
    for (int k = 0; k < 100; k++) {
        user[k] = k / 10;
        item[k] = k % 10;
    }
    assert_int_equal(cw_interactions_create(f->l.ctx, user, item, NULL, 100, &rows), CW_OK);
    assert_int_equal(cw_dataset_prepare(f->l.ctx, rows, NULL, &whole), CW_OK);
    /* all rows into train, with an empty validation */
    cwi_pairs *train = &whole->part[0];
    cwi_pairs_clear(train);
    cwi_pairs_clear(&whole->part[1]);
    cwi_pairs_clear(&whole->part[2]);
    assert_int_equal(cwi_pairs_create(f->l.ctx, 100, train), CW_OK);
    for (int k = 0; k < 100; k++) {
        train->user[k] = k / 10;
        train->item[k] = k % 10;
    }
    for (size_t m = 0; m < sizeof methods / sizeof methods[0]; m++) {
        set(f, "method", methods[m]);
        assert_int_equal(cw_train(f->l.ctx, whole, f->options, &model, NULL), CW_BAD_DATA);
        assert_non_null(strstr(cw_context_error(f->l.ctx), "no valid sample was found"));
    }
    cw_dataset_free(whole);
    cw_interactions_free(rows);
}

static void pop_needs_no_training(void **state)
{
    fixture *f = *state;
    set(f, "method", "pop");
    cw_model *model = train(f);
    assert_string_equal(model->backbone, "pop");
    for (int32_t i = 0; i < model->n_items; i++)
        assert_true((double)model->params.tensor[0].data[i] == (double)model->degree[i]);
    cw_model_free(model);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(same_bits_on_one_two_and_three_threads),
        TEST(another_seed_gives_another_model),
        TEST(stopped_and_resumed_runs_end_the_same),
        TEST(every_method_on_every_backbone_gives_the_same_bits),
        TEST(a_checkpoint_at_the_end_of_an_epoch_goes_on),
        TEST(a_finished_run_goes_on_for_more_epochs),
        TEST(a_resumed_run_tells_every_epoch_once),
        TEST(a_refit_knows_all_rows_on_any_threads_and_after_stops),
        TEST(a_refit_goes_on_from_every_step),
        TEST(a_checkpoint_of_a_refit_is_for_a_refit_alone),
        TEST(foreign_and_damaged_checkpoints_are_refused),
        TEST(impossible_counters_of_a_checkpoint_are_refused),
        TEST(impossible_ages_of_rows_are_refused),
        TEST(a_checkpoint_of_one_engine_goes_on_in_another),
        TEST(a_checkpoint_knows_its_propensities),
        TEST(deferred_adam_stays_close_to_dense),
        TEST(the_loss_starts_at_ln_2_and_falls),
        TEST(senseless_options_are_refused),
        TEST(a_loss_that_is_no_number_stops_the_run),
        TEST(complete_data_cannot_be_learnt),
        TEST(pop_needs_no_training),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
