/* test_tune.c - races of settings: what is tried, what is stopped, and that nothing else matters.
 */
#include <jansson.h>
#include <math.h>

#include "experiment/tuner.h"
#include "testing.h"

typedef struct fixture {
    workshop *w;
    cw_dataset *data;
} fixture;

static int set_up(void **state)
{
    static const char *const settings[][2] = {
        {"users", "120"}, {"items", "60"}, {"relevant", "0.5"}, {"popularity", "0.5"}};
    fixture *f = calloc(1, sizeof *f);
    cw_options *options;
    workshop_open((void **)&f->w, "store");
    cw_context *ctx = f->w->l.ctx;
    assert_int_equal(cw_options_create(ctx, "simulate", &options), CW_OK);
    for (size_t s = 0; s < 4; s++)
        assert_int_equal(cw_options_set(ctx, options, settings[s][0], settings[s][1]), CW_OK);
    assert_int_equal(cw_dataset_simulate(ctx, options, NULL, &f->data), CW_OK);
    cw_options_free(options);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    cw_dataset_free(f->data);
    workshop_close((void **)&f->w);
    free(f);
    return 0;
}

/* ---- proposals ----------------------------------------------------------------------- */

static void init(const fixture *f, const char *methods, const char *backbones, cwi_race *race)
{
    *race = (cwi_race){.seed = 3};
    cwi_begin(f->w->l.ctx);
    assert_int_equal(cwi_race_init(f->w->l.ctx, methods, backbones, race), CW_OK);
}

static void families_come_cheap_first(void **state)
{
    cwi_race race;
    static const char *const expected[][2] = {
        {"pop", "pop"},      {"cpr", "mf"},       {"bpr", "mf"},       {"dice", "mf"},
        {"mult-vae", "vae"}, {"cpr", "lightgcn"}, {"bpr", "lightgcn"}, {"dice", "lightgcn"}};
    init(*state, "dice,mult-vae,bpr,cpr", "mf,lightgcn", &race);
    assert_int_equal(race.n_families, 8);
    for (size_t k = 0; k < 8; k++) {
        assert_string_equal(race.family[k].method, expected[k][0]);
        assert_string_equal(race.family[k].backbone, expected[k][1]);
    }
}

static void unknown_methods_and_backbones_are_refused(void **state)
{
    const fixture *f = *state;
    cw_context *ctx = f->w->l.ctx;
    cwi_race race = {0};
    assert_int_equal(cwi_race_init(ctx, "cpr,best", "mf", &race), CW_BAD_ARG);
    assert_non_null(strstr(cw_context_error(ctx), "--methods lists 'best'; there are cpr"));
    cwi_begin(ctx);
    assert_int_equal(cwi_race_init(ctx, "cpr", "mf,mf", &race), CW_BAD_ARG);
    assert_string_equal(cw_context_error(ctx), "--backbones lists 'mf' twice");
    cwi_begin(ctx);
    assert_int_equal(cwi_race_init(ctx, "", "mf", &race), CW_BAD_ARG);
}

static json_t *make_record(const char *method, const char *origin, double value)
{
    return json_pack("{s:s, s:s, s:s, s:{}, s:{s:f, s:f, s:f}, s:f}", "method", method, "backbone",
                     strcmp(method, "pop") == 0 ? "pop" : "mf", "origin", origin, "settings",
                     "options", "lr", 1e-3, "reg", 0.1, "beta", 2.0, "value", value);
}

static double setting(const json_t *proposal, const char *name)
{
    return json_number_value(json_object_get(json_object_get(proposal, "settings"), name));
}

/* Trials by a rule: cpr has its best at lr 3e-3; returns the records. */
static json_t *race_by_rule(const fixture *f, const cwi_race *race, size_t n)
{
    json_t *records = json_array(), *proposal;
    for (size_t k = 0; k < n; k++) {
        assert_int_equal(cwi_race_propose(f->w->l.ctx, race, records, &proposal), CW_OK);
        assert_non_null(proposal);
        const char *method = json_string_value(json_object_get(proposal, "method"));
        json_t *record = make_record(method, "", 0);
        json_object_update(record, proposal);
        json_object_update(json_object_get(record, "options"), json_object_get(record, "settings"));
        double lr = json_number_value(json_object_get(json_object_get(record, "options"), "lr"));
        double value = strcmp(method, "cpr") == 0 ? 0.3 - (lr - 3e-3) * (lr - 3e-3) * 1e3 : 0.2;
        json_object_set_new(record, "value", json_real(value));
        json_array_append_new(records, record);
        json_decref(proposal);
    }
    return records;
}

static void defaults_come_first_and_then_settings_in_their_ranges(void **state)
{
    cwi_race race;
    size_t cpr = 0, near = 0;
    init(*state, "bpr,cpr", "mf", &race);
    json_t *records = race_by_rule(*state, &race, 40), *again = race_by_rule(*state, &race, 40);
    assert_true(json_equal(records, again));
    for (size_t k = 0; k < 40; k++) {
        const json_t *record = json_array_get(records, k);
        const char *origin = json_string_value(json_object_get(record, "origin"));
        bool is_cpr = strcmp(json_string_value(json_object_get(record, "method")), "cpr") == 0;
        assert_int_equal(json_integer_value(json_object_get(record, "trial")), k);
        assert_int_equal(strcmp(origin, "default") == 0, k < 3);
        assert_int_equal(json_object_size(json_object_get(record, "settings")) == 0, k < 3);
        if (k < 3) continue;
        cpr += is_cpr;
        near += strncmp(origin, "near", 4) == 0;
        const json_t *options = json_object_get(record, "options");
        double lr = json_number_value(json_object_get(options, "lr"));
        double beta = json_number_value(json_object_get(options, "beta"));
        assert_true(lr >= 1e-3 / 5 && lr <= 5e-3);
        assert_true(beta >= 1 && beta <= 16);
        if (!is_cpr) assert_null(json_object_get(json_object_get(record, "settings"), "beta"));
        for (size_t j = 3; j < k; j++) /* nothing twice */
            assert_false(json_equal(json_object_get(record, "settings"),
                                    json_object_get(json_array_get(records, j), "settings")));
    }
    assert_true(cpr > 20 && cpr < 37); /* the better method has most of the trials */
    assert_true(near > 10 && near < 25);
    const json_t *best = cwi_race_best(records, 0, NULL, NULL);
    assert_true(fabs(json_number_value(json_object_get(json_object_get(best, "options"), "lr")) -
                     3e-3) < 5e-4);
    json_decref(again);
    json_decref(records);
}

static void what_is_set_is_not_tuned(void **state)
{
    const fixture *f = *state;
    cwi_race race;
    json_t *proposal, *records = json_array(), *fixed = json_pack("{s:s}", "lr", "0.01");
    init(f, "cpr", "mf", &race);
    race.fixed = fixed;
    json_array_append_new(records, make_record("pop", "default", 0.1));
    json_array_append_new(records, make_record("cpr", "default", 0.2));
    assert_int_equal(cwi_race_propose(f->w->l.ctx, &race, records, &proposal), CW_OK);
    assert_null(json_object_get(json_object_get(proposal, "settings"), "lr"));
    assert_true(setting(proposal, "reg") > 0);
    json_decref(proposal);
    json_decref(fixed);
    json_decref(records);
}

/* Nothing but pop: there is nothing to tune. */
static void a_race_may_be_over_at_once(void **state)
{
    const fixture *f = *state;
    cwi_race race;
    json_t *proposal, *records = json_array();
    init(f, "pop", "mf", &race);
    assert_int_equal(race.n_families, 1);
    json_array_append_new(records, make_record("pop", "default", 0.1));
    assert_int_equal(cwi_race_propose(f->w->l.ctx, &race, records, &proposal), CW_OK);
    assert_null(proposal);
    json_decref(records);
}

/* ---- early stops ---------------------------------------------------------------------- */

/* A curve of n evaluations, one every 100 steps, that nears `end` with `half` steps to the half. */
static json_t *make_curve(size_t n, double end, double half)
{
    json_t *curve = json_array();
    for (size_t k = 0; k < n; k++) {
        double steps = 100.0 * (double)k;
        json_array_append_new(curve, json_pack("[f, f]", steps, end * steps / (steps + half)));
    }
    return curve;
}

static bool is_lost(double end, double half, size_t n, double lr)
{
    json_t *records = json_array(), *leader = make_record("cpr", "default", 0.2);
    json_t *trial = make_record("cpr", "drawn", 0);
    json_object_set_new(leader, "curve", make_curve(21, 0.22, 200)); /* 0.2 at 2000 steps */
    json_object_set_new(trial, "curve", make_curve(n, end, half));
    json_array_append_new(records, leader);
    bool lost = cwi_race_is_lost(records, trial, lr);
    json_decref(trial);
    json_decref(records);
    return lost;
}

static void poor_trials_are_stopped_and_slow_ones_are_not(void **state)
{
    (void)state;
    assert_false(is_lost(0.1, 50, 3, 1e-3));      /* too early to say */
    assert_false(is_lost(0.1, 50, 10, 1e-3));     /* before half of what the best needed */
    assert_true(is_lost(0.1, 50, 11, 1e-3));      /* flat and low */
    assert_false(is_lost(0.1, 50, 11, 1e-3 / 2)); /* half the rate has twice the time */
    assert_true(is_lost(0.1, 50, 21, 1e-3 / 2));
    assert_true(is_lost(0.1, 50, 21, 1e-3 / 5)); /* which is all that it may have */
    assert_false(is_lost(0.4, 2000, 11, 1e-3));  /* below, and still rising fast */
    assert_false(is_lost(0.22, 200, 21, 1e-3));  /* as good */
    assert_false(is_lost(0.5, 100, 21, 1e-3));
}

/* A dial that gained much for the leader might for others. */
static void the_gain_of_the_dial_counts(void **state)
{
    (void)state;
    json_t *records = json_array(), *leader = make_record("cpr", "default", 0.4);
    json_t *trial = make_record("cpr", "drawn", 0);
    json_object_set_new(leader, "valid", json_real(0.2));
    json_object_set_new(leader, "curve", make_curve(21, 0.22, 200));
    json_object_set_new(trial, "curve", make_curve(21, 0.12, 50));
    json_array_append_new(records, leader);
    assert_false(cwi_race_is_lost(records, trial, 1e-3));
    json_object_set_new(leader, "valid", json_real(0.4));
    assert_true(cwi_race_is_lost(records, trial, 1e-3));
    json_decref(trial);
    json_decref(records);
}

static json_t *judged(double value, double a, double b, double c)
{
    json_t *record = make_record("cpr", "drawn", value);
    json_object_set_new(record, "valid", json_real(value));
    json_object_set_new(record, "folds", json_pack("[f, f, f]", a, b, c));
    return record;
}

static void of_trials_that_the_folds_cannot_tell_apart_the_first_wins(void **state)
{
    (void)state;
    json_t *records =
        json_pack("[o, o, o, o, o]", judged(0.10, 0.08, 0.10, 0.12), /* clearly below */
                  judged(0.20, 0.18, 0.20, 0.22), judged(0.21, 0.22, 0.20, 0.21),
                  judged(0.22, 0.24, 0.24, 0.18), judged(0.19, 0.23, 0.22, 0.12));
    assert_ptr_equal(cwi_race_choose(records, 1), json_array_get(records, 1));
    assert_ptr_equal(cwi_race_choose(records, 3), json_array_get(records, 2)); /* not below one */
    json_object_set_new(json_array_get(records, 3), "folds", json_pack("[f, f, f]", .2, .22, .24));
    assert_ptr_equal(cwi_race_choose(records, 1),
                     json_array_get(records, 2)); /* ahead of 1 on each */
    json_object_set_new(json_array_get(records, 3), "folds", json_pack("[f, f]", 0.25, 0.19));
    assert_ptr_equal(cwi_race_choose(records, 1), json_array_get(records, 3)); /* two say little */
    json_decref(records);
}

static void budgets_are_seconds_minutes_or_hours(void **state)
{
    const fixture *f = *state;
    cw_context *ctx = f->w->l.ctx;
    double seconds;
    static const char *const wrong[] = {"", "s", "10", "x", "-3s", "0m", "nans", "1e99h", "5 d"};
    assert_int_equal(cwi_budget_parse(ctx, "90s", &seconds), CW_OK);
    assert_true(seconds == 90);
    assert_int_equal(cwi_budget_parse(ctx, "1.5m", &seconds), CW_OK);
    assert_true(seconds == 90);
    assert_int_equal(cwi_budget_parse(ctx, "2h", &seconds), CW_OK);
    assert_true(seconds == 7200);
    for (size_t k = 0; k < sizeof wrong / sizeof wrong[0]; k++)
        assert_int_equal(cwi_budget_parse(ctx, wrong[k], &seconds), CW_BAD_ARG);
}

/* ---- whole races ------------------------------------------------------------------------ */

static cw_options *make_options(const fixture *f, const char *trials)
{
    cw_context *ctx = f->w->l.ctx;
    cw_options *options;
    assert_int_equal(cw_options_create(ctx, "tune", &options), CW_OK);
    assert_int_equal(cw_options_set(ctx, options, "trials", trials), CW_OK);
    assert_int_equal(cw_options_set(ctx, options, "folds", "3"), CW_OK);
    assert_int_equal(
        cw_options_set(ctx, options, "set", "dim=8,batch=64,epochs=12,eval-every=1,patience=4"),
        CW_OK);
    return options;
}

static cw_status tune(const fixture *f, const cw_options *options, const char *folder,
                      const char *model_file, char **json)
{
    cw_context *ctx = f->w->l.ctx;
    cw_model *model;
    char path[256], *run;
    snprintf(path, sizeof path, "%s/%s", f->w->folder, folder);
    cw_status status = cw_tune(ctx, f->data, options, path, &model, &run, json);
    if (status != CW_OK) {
        assert_null(model);
        return status;
    }
    assert_non_null(strstr(run, "\"tune\""));
    snprintf(path, sizeof path, "%s/%s", f->w->folder, model_file);
    assert_int_equal(cw_model_save(ctx, model, path), CW_OK);
    cw_model_free(model);
    cw_text_free(run);
    return status;
}

static void assert_same_file(const fixture *f, const char *a, const char *b)
{
    char command[512];
    snprintf(command, sizeof command, "cmp '%s/%s' '%s/%s'", f->w->folder, a, f->w->folder, b);
    assert_int_equal(system(command), 0);
}

static void count_event(void *user, const char *json)
{
    int *events = user;
    assert_non_null(strstr(json, "\"event\":\"trial\""));
    ++*events;
}

/* Results without times. */
static json_t *parse_results(const char *json)
{
    json_t *root = json_loads(json, 0, NULL), *trial;
    size_t k;
    json_array_foreach(json_object_get(root, "trials"), k, trial) json_object_del(trial, "seconds");
    json_object_del(json_object_get(root, "winner"), "seconds");
    json_object_del(root, "xxh3_128");
    return root;
}

static void results_depend_on_the_number_of_trials_alone(void **state)
{
    const fixture *f = *state;
    cw_context *ctx = f->w->l.ctx;
    cw_options *options = make_options(f, "9");
    char *one, *three;
    int events = 0;
    cw_context_set_event(ctx, count_event, &events);
    assert_int_equal(cw_context_set_threads(ctx, 1), CW_OK);
    assert_int_equal(tune(f, options, "one", "one.safetensors", &one), CW_OK);
    assert_int_equal(events, 9);
    assert_int_equal(cw_context_set_threads(ctx, 3), CW_OK);
    assert_int_equal(tune(f, options, "three", "three.safetensors", &three), CW_OK);
    assert_same_file(f, "one.safetensors", "three.safetensors");
    json_t *a = parse_results(one), *b = parse_results(three);
    assert_true(json_equal(a, b));
    const json_t *trials = json_object_get(a, "trials");
    assert_int_equal(json_array_size(trials), 9);
    double best = json_number_value(json_object_get(json_object_get(a, "winner"), "value"));
    for (size_t k = 0; k < 5; k++) /* never below a default */
        assert_true(best >= json_number_value(json_object_get(json_array_get(trials, k), "valid")));
    assert_non_null(json_object_get(a, "verdict"));
    events = 0; /* nothing is left to do, and fewer trials are a part of them */
    assert_int_equal(tune(f, options, "three", "again.safetensors", NULL), CW_OK);
    assert_int_equal(events, 0);
    assert_same_file(f, "one.safetensors", "again.safetensors");
    json_decref(a);
    json_decref(b);
    cw_text_free(one);
    cw_text_free(three);
    cw_options_free(options);
}

static double number(const json_t *object, const char *key)
{
    return json_number_value(json_object_get(object, key));
}

/* Fold 0 is the validation part as it is: all that counts where there is one. */
static void a_trial_counts_with_its_mean_over_the_folds(void **state)
{
    const fixture *f = *state;
    cw_context *ctx = f->w->l.ctx;
    cw_options *options = make_options(f, "4");
    char *text[2];
    json_t *result[2];
    for (int k = 0; k < 2; k++) {
        assert_int_equal(cw_options_set(ctx, options, "folds", k == 0 ? "1" : "3"), CW_OK);
        assert_int_equal(tune(f, options, k == 0 ? "one" : "three", "m", &text[k]), CW_OK);
        result[k] = json_loads(text[k], 0, NULL);
        assert_int_equal(number(result[k], "folds"), k == 0 ? 1 : 3);
        cw_text_free(text[k]);
    }
    for (size_t t = 0; t < 4; t++) {
        const json_t *one = json_array_get(json_object_get(result[0], "trials"), t),
                     *three = json_array_get(json_object_get(result[1], "trials"), t),
                     *folds = json_object_get(three, "folds");
        double sum = 0;
        assert_null(json_object_get(one, "folds"));
        assert_int_equal(json_array_size(folds), 3);
        for (size_t k = 0; k < 3; k++) sum += json_number_value(json_array_get(folds, k));
        assert_true(fabs(sum / 3 - number(three, "value")) < 1e-9);
        assert_true(number(three, "value") >= number(three, "valid"));
        if (number(three, "dial") == 0)
            assert_true(json_number_value(json_array_get(folds, 0)) == number(one, "valid"));
        assert_true(json_equal(json_object_get(one, "curve"), json_object_get(three, "curve")));
    }
    json_decref(result[0]);
    json_decref(result[1]);
    cw_options_free(options);
}

static void a_store_from_before_folds_has_one(void **state)
{
    const fixture *f = *state;
    cw_context *ctx = f->w->l.ctx;
    cw_options *options = make_options(f, "2");
    char path[256];
    assert_int_equal(cw_options_set(ctx, options, "folds", "1"), CW_OK);
    assert_int_equal(tune(f, options, "store", "m", NULL), CW_OK);
    snprintf(path, sizeof path, "%s/store/tune.json", f->w->folder);
    json_t *race = json_load_file(path, 0, NULL);
    assert_int_equal(number(race, "folds"), 1);
    assert_int_equal(json_object_del(race, "folds"), 0);
    (void)json_object_del(race, "signed");
    (void)json_object_del(race, "xxh3_128");
    assert_int_equal(json_dump_file(race, path, 0), 0);
    json_decref(race);
    assert_int_equal(tune(f, options, "store", "m", NULL), CW_OK);
    assert_int_equal(cw_options_set(ctx, options, "folds", "2"), CW_OK);
    assert_int_equal(tune(f, options, "store", "m", NULL), CW_BAD_ARG);
    assert_non_null(strstr(cw_context_error(ctx), "folds differs"));
    cw_options_free(options);
}

/* The file is one part, whatever is asked for. */
static void folds_of_a_file_are_refused(void **state)
{
    const fixture *f = *state;
    cw_context *ctx = f->w->l.ctx;
    cw_options *options = make_options(f, "2");
    char text[128], path[256];
    snprintf(text, sizeof text, "user,item\n%s,%s\n", cw_dataset_user_id(f->data, 0),
             cw_dataset_item_id(f->data, 0));
    write_file(f->w->folder, "bucket.csv", text);
    snprintf(path, sizeof path, "%s/bucket.csv", f->w->folder);
    assert_int_equal(cw_options_set(ctx, options, "valid", path), CW_OK);
    assert_int_equal(cw_options_set(ctx, options, "folds", "3"), CW_OK);
    assert_int_equal(tune(f, options, "store", "m", NULL), CW_BAD_ARG);
    assert_string_equal(cw_context_error(ctx), "--folds is 3; with --valid it must be 0 or 1");
    cw_options_free(options);
}

static bool count_down(void *user, const char *stage, int64_t done, int64_t total)
{
    int *left = user;
    (void)done;
    (void)total;
    assert_non_null(stage);
    return (*left)-- > 0;
}

static void a_stopped_race_goes_on(void **state)
{
    const fixture *f = *state;
    cw_context *ctx = f->w->l.ctx;
    cw_options *options = make_options(f, "8");
    cw_status status = CW_CANCELLED;
    char *whole, *pieces = NULL;
    int stops = 0;
    assert_int_equal(tune(f, options, "whole", "whole.safetensors", &whole), CW_OK);
    for (int steps = 100; status == CW_CANCELLED; steps += 150, stops++) {
        int left = steps;
        cw_context_set_progress(ctx, count_down, &left);
        status = tune(f, options, "pieces", "pieces.safetensors", &pieces);
        cw_context_set_progress(ctx, NULL, NULL);
    }
    assert_int_equal(status, CW_OK);
    assert_true(stops > 1);
    assert_same_file(f, "whole.safetensors", "pieces.safetensors");
    json_t *a = parse_results(whole), *b = parse_results(pieces);
    assert_true(json_equal(a, b));
    json_decref(a);
    json_decref(b);
    cw_text_free(whole);
    cw_text_free(pieces);
    cw_options_free(options);
}

static void a_store_of_another_race_is_refused(void **state)
{
    const fixture *f = *state;
    cw_context *ctx = f->w->l.ctx;
    cw_options *options = make_options(f, "3");
    char path[256];
    assert_int_equal(cw_options_set(ctx, options, "backbones", "mf"), CW_OK);
    assert_int_equal(tune(f, options, "store", "m.safetensors", NULL), CW_OK);
    assert_int_equal(cw_options_set(ctx, options, "seed", "5"), CW_OK);
    assert_int_equal(tune(f, options, "store", "m.safetensors", NULL), CW_BAD_ARG);
    assert_non_null(strstr(cw_context_error(ctx), "another race (seed differs); --anew"));
    assert_int_equal(cw_options_set(ctx, options, "anew", "on"), CW_OK);
    assert_int_equal(tune(f, options, "store", "m.safetensors", NULL), CW_OK);
    assert_int_equal(cw_options_set(ctx, options, "anew", "off"), CW_OK);
    snprintf(path, sizeof path, "%s/store/runs", f->w->folder);
    write_file(path, "trial-0001.json", "{\"method\": \"bpr\"}");
    assert_int_equal(tune(f, options, "store", "m.safetensors", NULL), CW_BAD_DATA);
    assert_non_null(strstr(cw_context_error(ctx), "does not follow from the trials before"));
    write_file(path, "trial-0001.json", "{\"method\": ");
    assert_int_equal(tune(f, options, "store", "m.safetensors", NULL), CW_BAD_DATA);
    assert_non_null(strstr(cw_context_error(ctx), "trial-0001.json is damaged"));
    cw_options_free(options);
}

/* The budget ends the race, but never before neighbours and the defaults of the first backbone. */
static void a_short_budget_leaves_the_defaults(void **state)
{
    const fixture *f = *state;
    cw_context *ctx = f->w->l.ctx;
    cw_options *options = make_options(f, "0");
    char *json;
    assert_int_equal(cw_options_set(ctx, options, "budget", "0.000001s"), CW_OK);
    assert_int_equal(tune(f, options, "store", "m.safetensors", &json), CW_OK);
    json_t *root = json_loads(json, 0, NULL);
    assert_int_equal(json_array_size(json_object_get(root, "trials")), 5);
    json_decref(root);
    cw_text_free(json);
    cw_options_free(options);
}

static void a_file_of_validation_rows_decides(void **state)
{
    const fixture *f = *state;
    cw_context *ctx = f->w->l.ctx;
    cw_options *options = make_options(f, "3");
    char text[256], path[256], *json;
    const int32_t *users = cw_dataset_part_users(f->data, CW_PART_TEST);
    const int32_t *items = cw_dataset_part_items(f->data, CW_PART_TEST);
    snprintf(text, sizeof text, "user,item\n%s,%s\n%s,%s\n", cw_dataset_user_id(f->data, users[0]),
             cw_dataset_item_id(f->data, items[0]), cw_dataset_user_id(f->data, users[1]),
             cw_dataset_item_id(f->data, items[1]));
    write_file(f->w->folder, "bucket.csv", text);
    snprintf(path, sizeof path, "%s/bucket.csv", f->w->folder);
    assert_int_equal(cw_options_set(ctx, options, "valid", path), CW_OK);
    assert_int_equal(cw_options_set(ctx, options, "folds", "0"), CW_OK);
    assert_int_equal(tune(f, options, "store", "m.safetensors", &json), CW_OK);
    json_t *root = json_loads(json, 0, NULL);
    const json_t *data = json_object_get(root, "data");
    assert_int_equal(json_integer_value(json_object_get(data, "valid")), 2);
    assert_int_equal(json_integer_value(json_object_get(data, "train")),
                     cw_dataset_count(f->data, CW_PART_TRAIN) +
                         cw_dataset_count(f->data, CW_PART_VALID));
    json_decref(root);
    cw_text_free(json);
    write_file(f->w->folder, "bucket.csv", "user,item\nnobody,0\n");
    assert_int_equal(tune(f, options, "other", "m.safetensors", NULL), CW_BAD_DATA);
    cw_options_free(options);
}

static void what_tune_sets_itself_is_refused(void **state)
{
    const fixture *f = *state;
    cw_context *ctx = f->w->l.ctx;
    cw_options *options = make_options(f, "2");
    assert_int_equal(cw_options_set(ctx, options, "set", "metric=ndcg@5"), CW_OK);
    assert_int_equal(tune(f, options, "store", "m", NULL), CW_BAD_ARG);
    assert_string_equal(cw_context_error(ctx), "--set lists 'metric'; tune sets that itself");
    assert_int_equal(cw_options_set(ctx, options, "set", "dim"), CW_OK);
    assert_int_equal(tune(f, options, "store", "m", NULL), CW_BAD_ARG);
    assert_int_equal(cw_options_set(ctx, options, "set", "dim=0"), CW_OK);
    assert_int_equal(tune(f, options, "store", "m", NULL), CW_BAD_ARG);
    cw_options_free(options);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(families_come_cheap_first),
        TEST(unknown_methods_and_backbones_are_refused),
        TEST(defaults_come_first_and_then_settings_in_their_ranges),
        TEST(what_is_set_is_not_tuned),
        TEST(a_race_may_be_over_at_once),
        TEST(poor_trials_are_stopped_and_slow_ones_are_not),
        TEST(the_gain_of_the_dial_counts),
        TEST(of_trials_that_the_folds_cannot_tell_apart_the_first_wins),
        TEST(budgets_are_seconds_minutes_or_hours),
        TEST(results_depend_on_the_number_of_trials_alone),
        TEST(a_trial_counts_with_its_mean_over_the_folds),
        TEST(a_store_from_before_folds_has_one),
        TEST(folds_of_a_file_are_refused),
        TEST(a_stopped_race_goes_on),
        TEST(a_store_of_another_race_is_refused),
        TEST(a_short_budget_leaves_the_defaults),
        TEST(a_file_of_validation_rows_decides),
        TEST(what_tune_sets_itself_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
