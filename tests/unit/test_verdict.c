/* test_verdict.c - what a table of results comes to, in one sentence; gains and empty columns. */
#include <jansson.h>
#include <math.h>

#include "experiment/cells.h"
#include "experiment/verdict.h"
#include "testing.h"

static int set_up(void **state)
{
    workshop_open(state, "verdict");
    return 0;
}

/* A row whose runs are "<data>-<method>-<seed>" with these values; the mean is theirs. */
static void add_row(json_t *results, const char *data, const char *method, size_t n,
                    const double *value)
{
    json_t *runs = json_array();
    double sum = 0;
    for (size_t k = 0; k < n; k++) {
        char name[64];
        snprintf(name, sizeof name, "%s-%s-%zu", data, method, k);
        json_array_append_new(runs, json_string(name));
        json_object_set_new(json_object_get(results, "runs"), name,
                            json_pack("{s:i, s:{s:s}, s:{s:f}}", "seed", (int)k, "options",
                                      "metric", "ndcg@10", "test", "ndcg@10", value[k]));
        sum += value[k];
    }
    json_t *means = n > 0 ? json_pack("{s:f}", "ndcg@10", sum / (double)n) : json_object();
    json_t *table = json_array_get(json_object_get(results, "tables"), 0);
    json_array_append_new(json_object_get(table, "rows"),
                          json_pack("{s:s, s:s, s:s, s:s, s:{}, s:o, s:o}", "dataset", data,
                                    "train_set", "train.csv", "method", method, "backbone", "mf",
                                    "varied", "runs", runs, "mean", means));
}

static json_t *make_results(void)
{
    return json_pack("{s:{}, s:[{s:[s], s:b, s:[]}]}", "runs", "tables", "ours", "cpr",
                     "by_backbone", 0, "rows");
}

static const char *loud(const json_t *titles, const char *name)
{
    (void)titles;
    return strcmp(name, "cpr") == 0 ? "CPR" : name;
}

/* Releases the results. */
static void expect(void **state, json_t *results, const char *expected)
{
    const cwi_titles titles = {loud, NULL};
    char text[CWI_VERDICT_BYTES];
    const json_t *table = json_array_get(json_object_get(results, "tables"), 0);
    workshop *w = *state;
    assert_int_equal(cwi_verdict(w->l.ctx, results, table, &titles, text), CW_OK);
    assert_string_equal(text, expected);
    json_decref(results);
}

static void ours_ahead_names_the_best_baseline_and_p(void **state)
{
    json_t *results = make_results();
    add_row(results, "ml", "pop", 3, (double[]){0.1, 0.1, 0.1});
    add_row(results, "ml", "bpr", 3, (double[]){0.2, 0.2, 0.2});
    add_row(results, "ml", "cpr", 3, (double[]){0.25, 0.25, 0.26});
    expect(state, results,
           "CPR has the best NDCG@10 on ml, 0.2533, +26.67 % over bpr, the best baseline "
           "(p = 0.0039 in a paired t test over 3 seeds).");
}

static void what_may_be_chance_is_said_to_be(void **state)
{
    json_t *results = make_results();
    add_row(results, "ml", "bpr", 2, (double[]){0.3, 0.2});
    add_row(results, "ml", "cpr", 2, (double[]){0.1, 0.15});
    add_row(results, "own", "bpr", 1, (double[]){0.2});
    add_row(results, "own", "cpr", 1, (double[]){0.3});
    expect(state, results,
           "bpr has the best NDCG@10 on ml, 0.2500, and against it CPR, the best of ours, is at "
           "-50.00 % (which may be chance: p = 0.3440 in a paired t test over 2 seeds); CPR on "
           "own, 0.3000, +50.00 % over bpr, the best baseline (with one seed whether that is "
           "chance cannot be said).");
}

static void one_side_alone_is_compared_with_the_next(void **state)
{
    json_t *results = make_results();
    add_row(results, "ml", "pop", 2, (double[]){0.1, 0.1});
    add_row(results, "ml", "bpr", 2, (double[]){0.2, 0.2});
    add_row(results, "ml", "dice", 0, NULL); /* failed */
    expect(state, results,
           "bpr has the best NDCG@10 on ml, 0.2000, +100.00 % over pop, the next (the same with "
           "each of 2 seeds).");
}

static void level_rows_share_the_place(void **state)
{
    json_t *results = make_results();
    add_row(results, "ml", "bpr", 1, (double[]){0.2});
    add_row(results, "ml", "cpr", 1, (double[]){0.2});
    expect(state, results, "bpr and CPR have the best NDCG@10 on ml, both 0.2000.");
}

static void nothing_is_said_where_nothing_is_compared(void **state)
{
    json_t *results = make_results();
    add_row(results, "ml", "cpr", 1, (double[]){0.2});
    add_row(results, "ml", "bpr", 0, NULL);
    add_row(results, "own", "cpr", 1, (double[]){0.2});
    expect(state, results, "");
    expect(state, make_results(), "");
}

static void only_the_first_datasets_are_named(void **state)
{
    json_t *results = make_results();
    char text[CWI_VERDICT_BYTES], data[16];
    workshop *w = *state;
    for (int k = 0; k < 8; k++) {
        snprintf(data, sizeof data, "d%d", k);
        add_row(results, data, "bpr", 1, (double[]){0.2});
        add_row(results, data, "cpr", 1, (double[]){0.3});
    }
    const json_t *table = json_array_get(json_object_get(results, "tables"), 0);
    assert_int_equal(cwi_verdict(w->l.ctx, results, table, NULL, text), CW_OK);
    assert_non_null(strstr(text, "cpr on d5, "));
    assert_null(strstr(text, "d6"));
    assert_non_null(strstr(text, "; 2 more in the table."));
    json_decref(results);
}

static void gains_are_of_the_numbers_as_they_are(void **state)
{
    char text[CWI_CELL_BYTES];
    (void)state;
    assert_string_equal(cwi_cell_gain(0.22, 0.2, text), "+10.00 %");
    assert_string_equal(cwi_cell_gain(0.03684, 0.04058, text), "-9.22 %");
    assert_string_equal(cwi_cell_gain(0.1, 0, text), "-");
    assert_string_equal(cwi_cell_gain((double)NAN, 0.1, text), "-");
    assert_string_equal(cwi_cell_chance(0.00009, text), "< 0.0001");
    assert_string_equal(cwi_cell_chance(0.5, text), "= 0.5000");
}

static void columns_of_dashes_are_left_out(void **state)
{
    json_t *rows = json_pack("[[s, s, s, s], [s, s, s, s], [s, s, s, s]]", "a", "b", "c", "d", "x",
                             "-", "", "1", "y", "", "", "-");
    (void)state;
    cwi_cells_trim(rows);
    char *text = json_dumps(rows, JSON_COMPACT);
    assert_string_equal(text, "[[\"a\",\"d\"],[\"x\",\"1\"],[\"y\",\"-\"]]");
    free(text);
    json_decref(rows);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, workshop_close)
    const struct CMUnitTest tests[] = {
        TEST(ours_ahead_names_the_best_baseline_and_p),  TEST(what_may_be_chance_is_said_to_be),
        TEST(one_side_alone_is_compared_with_the_next),  TEST(level_rows_share_the_place),
        TEST(nothing_is_said_where_nothing_is_compared), TEST(only_the_first_datasets_are_named),
        TEST(gains_are_of_the_numbers_as_they_are),      TEST(columns_of_dashes_are_left_out),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
