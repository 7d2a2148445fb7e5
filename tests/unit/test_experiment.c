/* test_experiment.c - experiments as a whole: the store, several jobs, stopping and going on. */
#include <jansson.h>
#include <sys/stat.h>
#include <unistd.h>

#include "experiment/experiment.h"
#include "testing.h"

typedef struct fixture {
    workshop *w;
    char data[128];
    char *plan;
} fixture;

static const char tiny[] =
    "{\"options\": {\"dim\": 4, \"batch\": 32, \"epochs\": 3, \"eval-every\": 1},"
    " \"seeds\": 2, \"tables\": [{\"methods\": [\"pop\", {\"method\": \"bpr\", \"grid\":"
    " {\"lr\": [0.01, 0.1, 0.2]}}, \"cpr\"], \"tune\": {\"kind\": \"halving\", \"rungs\": [1],"
    " \"keep\": 2}}]}";

static void simulate(cw_context *ctx, const char *folder)
{
    static const char *const settings[][2] = {
        {"users", "120"}, {"items", "60"}, {"relevant", "0.5"}, {"popularity", "0.5"}};
    cw_options *options;
    cw_dataset *data;
    assert_int_equal(cw_options_create(ctx, "simulate", &options), CW_OK);
    for (size_t s = 0; s < 4; s++)
        assert_int_equal(cw_options_set(ctx, options, settings[s][0], settings[s][1]), CW_OK);
    assert_int_equal(cw_dataset_simulate(ctx, options, NULL, &data), CW_OK);
    assert_int_equal(cw_dataset_save(ctx, data, folder, true), CW_OK);
    cw_dataset_free(data);
    cw_options_free(options);
}

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    workshop_open((void **)&f->w, "out");
    snprintf(f->data, sizeof f->data, "%s/data", f->w->folder);
    simulate(f->w->l.ctx, f->data);
    json_t *root = json_loads(tiny, 0, NULL);
    json_object_set_new(root, "datasets", json_pack("[s]", f->data));
    f->plan = json_dumps(root, 0);
    json_decref(root);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    workshop_close((void **)&f->w);
    free(f->plan);
    free(f);
    return 0;
}

/* ---- the store -------------------------------------------------------------------------- */

static void a_store_has_one_user_at_a_time(void **state)
{
    fixture *f = *state;
    cw_context *ctx = f->w->l.ctx;
    cwi_runstore first, second;
    assert_int_equal(cwi_runstore_open(ctx, f->w->path, &first), CW_OK);
    assert_int_equal(cwi_runstore_open(ctx, f->w->path, &second), CW_IO);
    assert_non_null(strstr(cw_context_error(ctx), "is in use"));
    cwi_runstore_close(&second);
    cwi_runstore_close(&first);
    cwi_begin(ctx);
    assert_int_equal(cwi_runstore_open(ctx, f->w->path, &second), CW_OK);
    cwi_runstore_close(&second);
}

static void a_store_keeps_what_was_written(void **state)
{
    fixture *f = *state;
    cw_context *ctx = f->w->l.ctx;
    cwi_runstore store;
    json_t *record;
    char path[256];
    assert_int_equal(cwi_runstore_open(ctx, f->w->path, &store), CW_OK);
    assert_int_equal(cwi_runstore_read(ctx, &store, "runs", "a", &record), CW_OK);
    assert_null(record);
    assert_int_equal(cwi_runstore_write(ctx, &store, "runs/a.json", "{\"x\": 1}"), CW_OK);
    assert_int_equal(cwi_runstore_read(ctx, &store, "runs", "a", &record), CW_OK);
    assert_int_equal(json_integer_value(json_object_get(record, "x")), 1);
    json_decref(record);
    assert_int_equal(cwi_runstore_write(ctx, &store, "runs/a.json", "{\"x\": "), CW_OK);
    assert_int_equal(cwi_runstore_read(ctx, &store, "runs", "a", &record), CW_BAD_DATA);
    assert_non_null(strstr(cw_context_error(ctx), "a.json is damaged"));
    snprintf(path, sizeof path, "%s/runs", f->w->path);
    write_file(path, "b.checkpoint", "");
    write_file(path, ".b.json.partial-0123456789abcdef", "");
    write_file(path, "my.checkpoints", "not ours");
    cwi_runstore_sweep(ctx, &store);
    snprintf(path, sizeof path,
             "ls -A '%s/runs' | tr '\\n' ' ' | grep -qx 'a.json my.checkpoints '", f->w->path);
    assert_int_equal(system(path), 0);
    cwi_runstore_close(&store);
}

/* Records that changed places have good checksums and wrong names. */
static void a_record_under_the_name_of_another_is_refused(void **state)
{
    fixture *f = *state;
    cw_context *ctx = f->w->l.ctx;
    cwi_runstore store;
    json_t *record;
    char from[256], to[256];
    assert_int_equal(cwi_runstore_open(ctx, f->w->path, &store), CW_OK);
    assert_int_equal(
        cwi_runstore_keep(ctx, &store, "runs", "a", json_pack("{s:i}", "x", 1), &record), CW_OK);
    assert_int_equal(json_integer_value(json_object_get(record, "x")), 1);
    json_decref(record);
    assert_int_equal(cwi_runstore_read(ctx, &store, "runs", "a", &record), CW_OK);
    json_decref(record);
    snprintf(from, sizeof from, "%s/runs/a.json", f->w->path);
    snprintf(to, sizeof to, "%s/runs/b.json", f->w->path);
    assert_int_equal(rename(from, to), 0);
    assert_int_equal(cwi_runstore_read(ctx, &store, "runs", "b", &record), CW_BAD_DATA);
    assert_null(record);
    assert_non_null(strstr(cw_context_error(ctx),
                           "runs/b.json is the record of another run, a; remove it to have it"));
    cwi_runstore_close(&store);
}

static void a_folder_of_something_else_is_refused(void **state)
{
    fixture *f = *state;
    cwi_runstore store;
    assert_int_equal(cwi_runstore_open(f->w->l.ctx, f->data, &store), CW_IO);
    assert_non_null(strstr(cw_context_error(f->w->l.ctx), "no experiment"));
    cwi_runstore_close(&store);
}

/* ---- whole experiments --------------------------------------------------------------------- */

/* Run the plan into `folder` of the scratch folder. */
static cw_status run(fixture *f, const char *folder, const char *jobs, char **json)
{
    cw_context *ctx = f->w->l.ctx;
    cw_options *options;
    char path[256];
    snprintf(path, sizeof path, "%s/%s", f->w->folder, folder);
    assert_int_equal(cw_options_create(ctx, "experiment", &options), CW_OK);
    assert_int_equal(cw_options_set(ctx, options, "jobs", jobs), CW_OK);
    assert_int_equal(cw_options_set(ctx, options, "keep-models", "on"), CW_OK);
    cw_status status = cw_experiment_run(ctx, f->plan, options, path, json);
    cw_options_free(options);
    return status;
}

static void assert_same_file(const fixture *f, const char *a, const char *b, const char *name)
{
    char command[512];
    snprintf(command, sizeof command, "cmp '%s/%s/%s' '%s/%s/%s'", f->w->folder, a, name,
             f->w->folder, b, name);
    assert_int_equal(system(command), 0);
}

static void count_event(void *user, const char *json)
{
    int *events = user;
    assert_non_null(strstr(json, "\"event\":\"run\""));
    ++*events;
}

static void results_do_not_depend_on_the_number_of_jobs(void **state)
{
    fixture *f = *state;
    char *json;
    int events = 0;
    cw_context_set_event(f->w->l.ctx, count_event, &events);
    assert_int_equal(run(f, "one", "1", &json), CW_OK);
    cw_text_free(json);
    assert_int_equal(events, 2 + 3 + 2 + 1 + 2); /* pop; bpr: a rung, two whole, a seed; cpr */
    assert_int_equal(cw_context_set_threads(f->w->l.ctx, 2), CW_OK);
    assert_int_equal(run(f, "four", "4", NULL), CW_OK);
    assert_int_equal(events, 20);
    assert_int_equal(cw_context_threads(f->w->l.ctx), 2);
    assert_same_file(f, "one", "four", "tables.md");
    assert_same_file(f, "one", "four", "results.csv");
    assert_int_equal(run(f, "four", "2", NULL), CW_OK); /* nothing is left to do */
    assert_int_equal(events, 20);
    assert_same_file(f, "one", "four", "tables.md");
}

static bool count_down(void *user, const char *stage, int64_t done, int64_t total)
{
    int *left = user;
    assert_non_null(stage);
    assert_true(done <= total);
    usleep(20000); /* so that every call is passed on */
    return (*left)-- > 0;
}

static void a_stopped_experiment_goes_on(void **state)
{
    fixture *f = *state;
    cw_context *ctx = f->w->l.ctx;
    cw_status status = CW_CANCELLED;
    int stops = 0;
    assert_int_equal(run(f, "whole", "1", NULL), CW_OK);
    for (int steps = 1; status == CW_CANCELLED; steps += 3, stops++) {
        int left = steps;
        cw_context_set_progress(ctx, count_down, &left);
        status = run(f, "pieces", stops % 2 ? "2" : "1", NULL);
        cw_context_set_progress(ctx, NULL, NULL);
    }
    assert_int_equal(status, CW_OK);
    assert_true(stops > 1);
    assert_same_file(f, "whole", "pieces", "tables.md");
    assert_same_file(f, "whole", "pieces", "results.csv");
}

static void results_hold_what_a_report_needs(void **state)
{
    fixture *f = *state;
    char *json;
    assert_int_equal(run(f, "out", "1", &json), CW_OK);
    json_t *root = json_loads(json, 0, NULL);
    const json_t *table = json_array_get(json_object_get(root, "tables"), 0);
    const json_t *rows = json_object_get(table, "rows"), *bpr = json_array_get(rows, 1);
    const char *name = json_string_value(json_array_get(json_object_get(bpr, "runs"), 1));
    const json_t *final = json_object_get(json_object_get(root, "runs"), name);
    const char *early = json_string_value(json_array_get(json_object_get(bpr, "tuning"), 0));
    const json_t *rung = json_object_get(json_object_get(root, "runs"), early);
    static const char *const needed[] = {"options", "seed",  "valid", "test",
                                         "groups",  "curve", "time"};
    assert_int_equal(json_integer_value(json_object_get(root, "failed")), 0);
    assert_int_equal(json_array_size(rows), 3);
    assert_int_equal(json_array_size(json_object_get(bpr, "tuning")), 3 + 2);
    for (size_t k = 0; k < sizeof needed / sizeof needed[0]; k++)
        assert_non_null(json_object_get(final, needed[k]));
    assert_null(json_object_get(rung, "test")); /* tuning looks at validation alone */
    assert_int_equal(json_array_size(json_object_get(final, "curve")), 4);
    assert_int_equal(json_array_size(json_object_get(bpr, "shares")), 4);
    assert_int_equal(json_array_size(json_object_get(table, "tests")), 2);
    assert_non_null(
        json_object_get(json_array_get(json_object_get(root, "datasets"), 0), "description"));
    json_decref(root);
    cw_text_free(json);
}

/* Among the whole runs of a grid the one with the best validation metric is chosen. */
static void the_best_on_validation_is_chosen(void **state)
{
    fixture *f = *state;
    char *json;
    double best = 0;
    assert_int_equal(run(f, "out", "1", &json), CW_OK);
    json_t *root = json_loads(json, 0, NULL);
    const json_t *table = json_array_get(json_object_get(root, "tables"), 0);
    const json_t *bpr = json_array_get(json_object_get(table, "rows"), 1);
    const json_t *runs = json_object_get(root, "runs"), *chosen = NULL;
    for (size_t k = 3; k < 5; k++) {
        const char *name = json_string_value(json_array_get(json_object_get(bpr, "tuning"), k));
        double valid = cwi_record_valid(json_object_get(runs, name));
        if (valid <= best) continue;
        best = valid;
        chosen = json_object_get(json_object_get(runs, name), "options");
    }
    assert_true(json_number_value(json_object_get(json_object_get(bpr, "tuned"), "lr")) ==
                json_number_value(json_object_get(chosen, "lr")));
    json_decref(root);
    cw_text_free(json);
}

/* The defaults are the first setting of a race, so that a row never ends below them. */
static void a_race_begins_with_the_defaults(void **state)
{
    fixture *f = *state;
    char *json;
    json_t *plan = json_loads(f->plan, 0, NULL);
    json_object_set_new(plan, "tables",
                        json_pack("[{s:{s:s, s:i}, s:[s, s]}]", "tune", "kind", "race", "draws", 4,
                                  "methods", "bpr", "pop"));
    free(f->plan);
    f->plan = json_dumps(plan, 0);
    json_decref(plan);
    assert_int_equal(run(f, "out", "2", &json), CW_OK);
    json_t *root = json_loads(json, 0, NULL);
    const json_t *table = json_array_get(json_object_get(root, "tables"), 0);
    const json_t *bpr = json_array_get(json_object_get(table, "rows"), 0);
    const json_t *runs = json_object_get(root, "runs"), *tuning = json_object_get(bpr, "tuning");
    double first = 0, best = 0;
    assert_int_equal(json_array_size(tuning), 4);
    for (size_t k = 0; k < 4; k++) {
        const char *name = json_string_value(json_array_get(tuning, k));
        double valid = cwi_record_valid(json_object_get(runs, name));
        double lr = json_number_value(
            json_object_get(json_object_get(json_object_get(runs, name), "options"), "lr"));
        if (k == 0) assert_true(lr == 1e-3);
        if (k == 0) first = valid;
        if (valid > best) best = valid;
    }
    const char *chosen = json_string_value(json_array_get(json_object_get(bpr, "runs"), 0));
    assert_true(cwi_record_valid(json_object_get(runs, chosen)) == best);
    assert_true(best >= first);
    json_decref(root);
    cw_text_free(json);
}

static void runs_of_an_experiment_can_be_compared(void **state)
{
    fixture *f = *state;
    char *json, paths[4][300];
    const char *list[4];
    cw_options *options;
    size_t n = 0;
    assert_int_equal(run(f, "out", "1", &json), CW_OK);
    json_t *root = json_loads(json, 0, NULL);
    const json_t *rows =
        json_object_get(json_array_get(json_object_get(root, "tables"), 0), "rows");
    for (size_t row = 0; row < 3; row += 2)
        for (size_t s = 0; s < 2; s++, n++) {
            const json_t *runs = json_object_get(json_array_get(rows, row), "runs");
            snprintf(paths[n], sizeof paths[n], "%s/out/runs/%s.json", f->w->folder,
                     json_string_value(json_array_get(runs, s)));
            list[n] = paths[n];
        }
    cw_text_free(json);
    json_decref(root);
    assert_int_equal(cw_options_create(f->w->l.ctx, "compare", &options), CW_OK);
    assert_int_equal(cw_options_set(f->w->l.ctx, options, "data", f->data), CW_OK);
    assert_int_equal(cw_options_set(f->w->l.ctx, options, "bootstrap", "50"), CW_OK);
    assert_int_equal(cw_compare(f->w->l.ctx, list, 4, options, &json), CW_OK);
    root = json_loads(json, 0, NULL);
    const json_t *comparison = json_array_get(json_object_get(root, "comparisons"), 0);
    const json_t *recall = json_object_get(json_object_get(comparison, "metrics"), "recall@20");
    double difference = json_number_value(json_object_get(recall, "difference"));
    const json_t *users = json_object_get(recall, "users");
    assert_int_equal(json_array_size(json_object_get(root, "warnings")), 0);
    assert_int_equal(json_integer_value(json_object_get(comparison, "pairs")), 2);
    assert_true(json_number_value(json_array_get(users, 0)) <= difference);
    assert_true(json_number_value(json_array_get(users, 1)) >= difference);
    json_decref(root);
    cw_text_free(json);
    cw_options_free(options);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(a_store_has_one_user_at_a_time),
        TEST(a_store_keeps_what_was_written),
        TEST(a_record_under_the_name_of_another_is_refused),
        TEST(a_folder_of_something_else_is_refused),
        TEST(results_do_not_depend_on_the_number_of_jobs),
        TEST(a_stopped_experiment_goes_on),
        TEST(results_hold_what_a_report_needs),
        TEST(the_best_on_validation_is_chosen),
        TEST(a_race_begins_with_the_defaults),
        TEST(runs_of_an_experiment_can_be_compared),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
