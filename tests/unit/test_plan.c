/* test_plan.c - plans: what they ask for, what is refused, and how settings are chosen. */
#include <jansson.h>

#include "experiment/plan.h"
#include "testing.h"

/* A folder with a dataset so small that reading it costs nothing. */
static int set_up(void **state)
{
    workshop_open(state, "set");
    workshop *w = *state;
    char command[256];
    snprintf(command, sizeof command, "mkdir '%s'", w->path);
    assert_int_equal(system(command), 0);
    write_file(w->path, "train.csv", "user,item\n0,0\n0,1\n1,1\n1,2\n2,0\n2,2\n");
    write_file(w->path, "valid.csv", "user,item\n0,2\n");
    write_file(w->path, "test.csv", "user,item\n1,0\n");
    return 0;
}

/* The plan with the dataset put in. */
static cw_status parse(const workshop *w, const char *text, cwi_plan *plan)
{
    json_t *root = json_loads(text, 0, NULL);
    json_object_set_new(root, "datasets", json_pack("[s]", w->path));
    char *full = json_dumps(root, 0);
    cwi_begin(w->l.ctx);
    cw_status status = cwi_plan_parse(w->l.ctx, full, plan);
    free(full);
    json_decref(root);
    return status;
}

static void a_plan_is_the_product_of_its_parts(void **state)
{
    const workshop *w = *state;
    cwi_plan plan;
    assert_int_equal(
        parse(w,
              "{\"seeds\": [3, 5], \"options\": {\"dim\": 4}, \"grid\": {\"lr\": [0.1, 0.2]},"
              " \"tables\": [{\"methods\": [\"pop\", {\"method\": \"cpr\", \"backbones\":"
              " [\"mf\", \"lightgcn\"], \"grid\": {\"reg\": [0, 1, 2]}}], \"train_sets\": [0.5,"
              " \"train.csv\"], \"vary\": [{\"dim\": 8}, {\"dim\": [2, 3], \"batch\": [1, 2]}]},"
              " {\"methods\": [\"bpr\"], \"seeds\": 4, \"grid\": null}]}",
              &plan),
        CW_OK);
    assert_int_equal(plan.n_tables, 2);
    assert_int_equal(plan.tables[0].n_rows, 2 * 3 * 5);
    assert_int_equal(plan.tables[1].n_rows, 1);
    assert_int_equal(plan.n_sets, 2);
    assert_string_equal(plan.sets[0].train_set, "theta 0.5");
    assert_string_equal(plan.sets[1].name, "set");
    assert_string_not_equal(plan.sets[0].hash, plan.sets[1].hash);
    const cwi_plan_row *cpr = &plan.rows[5];
    assert_string_equal(cpr->method, "cpr");
    assert_string_equal(cpr->backbone, "mf");
    assert_int_equal(json_array_size(cpr->candidates), 6);
    assert_int_equal(json_array_size(cpr->seeds), 2);
    assert_int_equal(json_integer_value(json_object_get(cpr->options, "dim")), 8);
    assert_int_equal(json_array_size(plan.rows[30].candidates), 1);
    assert_int_equal(json_array_size(plan.rows[30].seeds), 4);
    assert_int_equal(cwi_row_runs(cpr), 6 + 2);
    assert_int_equal(cwi_row_runs(&plan.rows[30]), 4);
    cwi_plan_clear(&plan);
}

static void what_is_wrong_is_named_with_its_place(void **state)
{
    const workshop *w = *state;
    static const char *const cases[][2] = {
        {"{\"tables\": [{\"methods\": [\"magic\"]}]}",
         "plan: tables[0].methods[0]: there is no method 'magic'"},
        {"{\"tables\": [{\"methods\": [\"cpr\"], \"options\": {\"speed\": 1}}]}",
         "plan: tables[0].options.speed: there is no train option 'speed'"},
        {"{\"grid\": {\"lr\": [0.1, -1]}, \"tables\": [{\"methods\": [\"cpr\"]}]}",
         "plan: grid.lr[1]: --lr is '-1'; it must be a number between 1e-12 and 1000"},
        {"{\"tables\": [{\"methods\": [{\"backbones\": [\"mf\"]}]}]}",
         "plan: tables[0].methods[0]: it has no \"method\""},
        {"{\"tables\": [{\"methods\": [\"cpr\"], \"seeds\": 0}]}",
         "plan: tables[0].seeds: it must be a whole number between 1 and 1000"},
        {"{\"tables\": [{\"methods\": [\"cpr\"], \"train_sets\": [true]}]}",
         "plan: tables[0].train_sets[0]: it must be the name of a file"},
        {"{\"tables\": [{\"methods\": [\"cpr\"], \"vary\": [1]}]}",
         "plan: tables[0].vary[0]: it must be an object of train options"},
        {"{\"tune\": {\"kind\": \"random\"}, \"tables\": [{\"methods\": [\"cpr\"]}]}",
         "plan: tune: random needs \"draws\""},
        {"{\"tune\": {\"kind\": \"magic\"}, \"tables\": [{\"methods\": [\"cpr\"]}]}",
         "plan: tune.kind: it must be one of grid, random, halving"},
        {"{\"tune\": {\"kind\": \"random\", \"draws\": 2}, \"grid\": {\"lr\": {\"from\": 0, \"to\":"
         " 1, \"scale\": \"log\"}}, \"tables\": [{\"methods\": [\"cpr\"]}]}",
         "plan: grid.lr: a log scale begins above 0"},
        {"{\"tables\": [{\"methods\": [\"cpr\"], \"ours\": \"cpr\"}]}",
         "plan: tables[0].ours: it must be a list of methods"},
        {"{}", "plan: tables: it is missing"},
        {"{\"tables\": [{\"methods\": [{\"method\": \"bpr\", \"options\": {\"margin\": 10}}]}]}",
         "plan: tables[0].methods[0]: --margin is '10'; method bpr on mf does not take it, dice "
         "does"},
        {"{\"tables\": [{\"methods\": [\"dice\", {\"method\": \"bpr\", \"backbones\": [\"mf\","
         " \"ngcf\"], \"grid\": {\"margin\": [10, 20]}}]}]}",
         "plan: tables[0].methods[1]: --margin is '10'; method bpr on mf does not take it"},
        {"{\"grid\": {\"margin\": [10, 20]}, \"tables\": [{\"methods\": [\"bpr\", \"cpr\"]}]}",
         "plan: grid.margin: no method of the plan takes it; dice does"},
        {"{\"tables\": [{\"methods\": [\"bpr\"], \"vary\": [{\"cycle\": [2, 3]}]}]}",
         "plan: tables[0].vary[0].cycle: no method of the plan takes it; cpr does"},
        {"{\"skip_unknown\": true, \"options\": {\"k\": 3}, \"tables\": [{\"methods\":"
         " [\"cpr\"]}]}",
         "plan: options.k: --k is the length of lists elsewhere; the cycle length of CPR is"},
        {"{\"datasets\": 1, \"tables\": [{\"methods\": [\"pop\"], \"backbones\": [\"mf\"]}]}",
         "plan: tables[0].methods[0]: --backbone is 'mf'; method pop works on pop"},
    };
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        cwi_plan plan;
        assert_int_equal(parse(w, cases[c][0], &plan), CW_BAD_DATA);
        if (!strstr(cw_context_error(w->l.ctx), cases[c][1]))
            fail_msg("'%s' is not '%s'", cw_context_error(w->l.ctx), cases[c][1]);
        assert_null(plan.rows);
    }
}

/* "name value name value" of the options of a row and of its first candidate. */
static void check_row(const cwi_plan_row *row, const char *options, const char *candidate)
{
    char *text = json_dumps(row->options, JSON_COMPACT);
    assert_string_equal(text, options);
    free(text);
    text = json_dumps(json_array_get(row->candidates, 0), JSON_COMPACT);
    assert_string_equal(text, candidate);
    free(text);
}

/* What is said of several methods holds for those that take it. */
static void a_method_gets_the_options_it_takes(void **state)
{
    const workshop *w = *state;
    cwi_plan plan;
    assert_int_equal(
        parse(w,
              "{\"options\": {\"dim\": 4, \"margin\": 7, \"cycle\": 2}, \"grid\": {\"reg\": [1],"
              " \"neg\": [2, 3]}, \"tables\": [{\"methods\": [\"bpr\", \"cpr\", \"dice\"],"
              " \"vary\": [{\"ratio\": [1, 2]}, {\"batch\": 5}]}, {\"methods\": [{\"method\":"
              " \"bpr\", \"backbones\": [\"mf\", \"neumf\"], \"options\": {\"hidden\": \"8\"}}]}]}",
              &plan),
        CW_OK);
    assert_int_equal(plan.tables[0].n_rows, 2 + 3 + 2); /* ratio is cpr's alone */
    check_row(&plan.rows[0], "{\"dim\":4}", "{\"reg\":1}");
    check_row(&plan.rows[1], "{\"dim\":4,\"batch\":5}", "{\"reg\":1}");
    check_row(&plan.rows[3], "{\"dim\":4,\"cycle\":2,\"ratio\":2}", "{\"reg\":1}");
    check_row(&plan.rows[6], "{\"dim\":4,\"margin\":7,\"batch\":5}", "{\"reg\":1,\"neg\":2}");
    check_row(&plan.rows[7], "{\"dim\":4}", "{\"reg\":1}");
    check_row(&plan.rows[8], "{\"dim\":4,\"hidden\":\"8\"}", "{\"reg\":1}");
    cwi_plan_clear(&plan);
    assert_int_equal(parse(w, /* taken back is not the same as not taken */
                           "{\"options\": {\"dim\": 4, \"margin\": 7}, \"grid\": {\"lr\": [1]},"
                           " \"tables\": [{\"methods\": [{\"method\": \"dice\", \"grid\": null,"
                           " \"options\": {\"margin\": null, \"dim\": null}}]}]}",
                           &plan),
                     CW_OK);
    check_row(&plan.rows[0], "{}", "{}");
    cwi_plan_clear(&plan);
}

static void what_is_not_known_may_be_left_out_loudly(void **state)
{
    workshop *w = *state;
    cwi_plan plan;
    assert_int_equal(parse(w,
                           "{\"skip_unknown\": true, \"grid\": {\"speed\": [1, 2]}, \"tables\":"
                           " [{\"methods\": [\"magic\", \"cpr\", {\"method\": \"pop\","
                           " \"backbones\": [\"mf\"]}]}]}",
                           &plan),
                     CW_OK);
    assert_int_equal(plan.n_rows, 1);
    assert_int_equal(json_array_size(plan.rows[0].candidates), 1);
    assert_non_null(
        strstr(w->l.log, "plan: grid.speed: this version has no such option; left out"));
    assert_non_null(strstr(w->l.log, "plan: tables[0].methods[0]: this version has no method"));
    assert_non_null(strstr(w->l.log, "plan: tables[0].methods[2]: left out: --backbone is 'mf'"));
    cwi_plan_clear(&plan);
}

/* The plans that come with crosswise are plans, with something left of each. */
static void built_in_plans_can_be_run(void **state)
{
    const workshop *w = *state;
    assert_null(cw_plan_text("magic"));
    for (size_t p = 0; cw_plan_name(p); p++) {
        cwi_plan plan;
        assert_int_equal(parse(w, cw_plan_text(cw_plan_name(p)), &plan), CW_OK);
        assert_true(plan.n_rows >= 4);
        cwi_plan_clear(&plan);
    }
}

static json_t *candidates(const workshop *w, const char *grid, const cwi_tuning *tuning)
{
    json_t *parsed = json_loads(grid, 0, NULL), *list;
    assert_int_equal(cwi_candidates(w->l.ctx, parsed, tuning, &list), CW_OK);
    json_decref(parsed);
    return list;
}

static void a_grid_is_walked_with_the_last_option_fastest(void **state)
{
    const cwi_tuning all = {0};
    json_t *list = candidates(*state, "{\"a\": [1, 2], \"b\": [3, 4]}", &all);
    char *text = json_dumps(list, JSON_COMPACT);
    assert_string_equal(text, "[{\"a\":1,\"b\":3},{\"a\":1,\"b\":4},{\"a\":2,\"b\":3},"
                              "{\"a\":2,\"b\":4}]");
    free(text);
    json_decref(list);
}

static void draws_are_different_reproducible_and_in_range(void **state)
{
    static const char grid[] = "{\"x\": {\"from\": 1e-4, \"to\": 1e-1, \"scale\": \"log\"},"
                               " \"y\": {\"from\": 2, \"to\": 4}, \"z\": [5, 6]}";
    cwi_tuning tuning = {.kind = CWI_TUNE_RANDOM, .draws = 40, .seed = 9};
    json_t *first = candidates(*state, grid, &tuning), *again = candidates(*state, grid, &tuning);
    tuning.seed = 10;
    json_t *other = candidates(*state, grid, &tuning);
    int small = 0;
    assert_int_equal(json_array_size(first), 40);
    assert_true(json_equal(first, again));
    assert_false(json_equal(first, other));
    for (size_t k = 0; k < 40; k++) {
        const json_t *setting = json_array_get(first, k);
        double x = json_number_value(json_object_get(setting, "x"));
        double y = json_number_value(json_object_get(setting, "y"));
        assert_true(x >= 1e-4 && x <= 1e-1 && y >= 2 && y <= 4);
        small += x < 3.2e-3; /* half of them, on a log scale */
        for (size_t j = 0; j < k; j++) assert_false(json_equal(setting, json_array_get(first, j)));
    }
    assert_true(small > 8 && small < 32);
    json_decref(first);
    json_decref(again);
    json_decref(other);
}

/* More draws than there are settings: all of them, once. */
static void a_small_grid_is_not_drawn_from(void **state)
{
    const cwi_tuning tuning = {.kind = CWI_TUNE_RANDOM, .draws = 10};
    json_t *list = candidates(*state, "{\"a\": [1, 2, 3]}", &tuning);
    assert_int_equal(json_array_size(list), 3);
    json_decref(list);
}

static void halving_keeps_one_in_so_many(void **state)
{
    (void)state;
    assert_int_equal(cwi_survivors(27, 3), 9);
    assert_int_equal(cwi_survivors(28, 3), 10);
    assert_int_equal(cwi_survivors(2, 3), 1);
    assert_int_equal(cwi_survivors(1, 3), 1);
    assert_int_equal(cwi_survivors(0, 3), 0);
    cwi_plan_row row = {
        .tuning = {.kind = CWI_TUNE_HALVING, .rungs = {5, 20}, .n_rungs = 2, .keep = 3}};
    row.candidates = json_array();
    row.seeds = json_pack("[i, i, i, i, i]", 0, 1, 2, 3, 4);
    for (int k = 0; k < 27; k++) json_array_append_new(row.candidates, json_object());
    /* 27 to 5 epochs, 9 to 20, 3 whole ones of which one is the winner's with seed 0 */
    assert_int_equal(cwi_row_runs(&row), 27 + 9 + 3 + 4);
    row.tuning.seed = 99;
    assert_int_equal(cwi_row_runs(&row), 27 + 9 + 3 + 5);
    row.tuning.keep = 100; /* the winner is known after the first rung */
    assert_int_equal(cwi_row_runs(&row), 27 + 5);
    json_decref(row.candidates);
    json_decref(row.seeds);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, workshop_close)
    const struct CMUnitTest tests[] = {
        TEST(a_plan_is_the_product_of_its_parts),
        TEST(what_is_wrong_is_named_with_its_place),
        TEST(a_method_gets_the_options_it_takes),
        TEST(what_is_not_known_may_be_left_out_loudly),
        TEST(built_in_plans_can_be_run),
        TEST(a_grid_is_walked_with_the_last_option_fastest),
        TEST(draws_are_different_reproducible_and_in_range),
        TEST(a_small_grid_is_not_drawn_from),
        TEST(halving_keeps_one_in_so_many),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
