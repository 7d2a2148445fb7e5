/* test_layout.c - reports of experiments: how tables are set, what charts show, what is refused. */
#include <jansson.h>

#include "report/draft.h"
#include "report/page.h"
#include "report/published.h"
#include "report/scale.h"
#include "results_sample.h"
#include "testing.h"

static int set_up(void **state)
{
    workshop_open(state, "report");
    write_file(((workshop *)*state)->folder, "results.json", results_sample);
    return 0;
}

static json_t *make_page(workshop *w)
{
    json_t *results = json_loads(results_sample, 0, NULL), *page = NULL;
    assert_non_null(results);
    assert_int_equal(cwi_draft_check(w->l.ctx, results, "r"), CW_OK);
    assert_int_equal(cwi_draft_page(w->l.ctx, results, &page), CW_OK);
    if (cwi_page_check(w->l.ctx, page) != CW_OK) fail_msg("%s", cw_context_error(w->l.ctx));
    json_decref(results);
    return page;
}

/* The section whose name ends like this (borrowed). */
static const json_t *find_section(const json_t *page, const char *ending)
{
    size_t index;
    json_t *section;
    json_array_foreach(json_object_get(page, "sections"), index, section)
    {
        const char *name = json_string_value(json_object_get(section, "name"));
        size_t length = strlen(name), tail = strlen(ending);
        if (length >= tail && strcmp(name + length - tail, ending) == 0) return section;
    }
    fail_msg("there is no section %s", ending);
    return NULL;
}

static const json_t *cell_at(const json_t *page, const char *section, size_t row, size_t column)
{
    const json_t *table = json_object_get(find_section(page, section), "table");
    return json_array_get(json_array_get(json_object_get(table, "rows"), row), column);
}

/* A cell in short: "B" bold, "U" underlined, then the text, stars and the spread. */
static const char *brief(const json_t *cell)
{
    static char out[128];
    const char *spread = json_string_value(json_object_get(cell, "spread"));
    if (json_is_null(cell)) return "null";
    if (json_is_string(cell)) return json_string_value(cell);
    snprintf(out, sizeof out, "%s%s%s%s%s%s",
             json_is_true(json_object_get(cell, "bold")) ? "B" : "",
             json_is_true(json_object_get(cell, "underline")) ? "U" : "",
             json_string_value(json_object_get(cell, "text")),
             json_string_value(json_object_get(cell, "stars")), spread[0] ? "/" : "", spread);
    return out;
}

static void the_best_is_bold_and_the_best_baselines_are_underlined(void **state)
{
    /* method, then recall, paper, NDCG, paper, ARP, paper of ml, then recall, NDCG, ARP of own */
    static const char *const expected[4][10] = {
        {"BPR", "U0.1600", "0.1579", "0.0900", "0.0939", "30.1", "4084", "0.3000", "0.2000", "3.0"},
        {"DICE", "U0.1600", "0.1835", "U0.1000", "0.1101", "BU20.0", "1173", "null", "null",
         "null"},
        {"CPR", "B0.2000**/0.0012", "0.2003", "B0.1100", "0.1223", "25.0", "1138", "failed",
         "failed", "failed"},
        {"gain", "+24.97 %", "+9.16 %", "+10.00 %", "+11.08 %", "null", "null", "null", "null",
         "null"}};
    json_t *page = make_page(*state);
    for (size_t r = 0; r < 4; r++)
        for (size_t c = 0; c < 10; c++)
            assert_string_equal(brief(cell_at(page, "01-overall-table", r, c)), expected[r][c]);
    json_decref(page);
}

static void settings_of_one_method_are_one_block_without_a_gain(void **state)
{
    json_t *page = make_page(*state);
    const json_t *table = json_object_get(find_section(page, "samples-table"), "table");
    assert_int_equal(json_array_size(json_object_get(table, "rows")), 3);
    assert_int_equal(json_array_size(json_object_get(table, "rules")), 0);
    assert_string_equal(brief(cell_at(page, "samples-table", 0, 0)), "k 2");
    assert_string_equal(brief(cell_at(page, "samples-table", 0, 2)), "0.5000");
    assert_string_equal(brief(cell_at(page, "samples-table", 2, 2)), "B0.7000");
    json_decref(page);
}

static void expect_values(const json_t *page, const char *name, size_t series, const char *expected)
{
    const json_t *list =
        json_object_get(json_object_get(find_section(page, name), "chart"), "series");
    char *text = json_dumps(json_object_get(json_array_get(list, series), "values"),
                            JSON_COMPACT | JSON_REAL_PRECISION(6));
    assert_string_equal(text, expected);
    free(text);
}

static void charts_show_the_rows(void **state)
{
    json_t *page = make_page(*state);
    expect_values(page, "ml-recall-by-epoch", 0, "[0.01,0.1]");
    expect_values(page, "ml-recall-by-epoch", 1, "[0.02,0.02]"); /* was never trained: level */
    expect_values(page, "ml-recall-by-epoch", 2, "[0.02,null]"); /* one of two seeds had stopped */
    expect_values(page, "ml-time", 0, "[2.0,null,null]");
    expect_values(page, "ml-shares", 3, "[0.5,0.5]");
    expect_values(page, "ml-shares", 4, "[0.6,0.4]");
    expect_values(page, "ml-accuracy-popularity", 1, "[null,0.15996,null]");
    expect_values(page, "own-settings", 0, "[0.5,0.5]"); /* k 2, whatever the ratio */
    expect_values(page, "own-settings", 1, "[0.6,0.7]");
    json_decref(page);
}

static void expect_file(const workshop *w, const char *file, const char *text)
{
    const char *all = read_text(w->path, file);
    if (!strstr(all, text)) fail_msg("%s is not in %s:\n%s", text, file, all);
}

static void every_format_carries_the_marks(void **state)
{
    workshop *w = *state;
    cw_status status = cw_report_experiment(w->l.ctx, w->folder, w->path, false);
    if (status != CW_OK) fail_msg("%s", cw_context_error(w->l.ctx));
    expect_file(w, "tables.md", "| <u>0.1600</u> ");
    expect_file(w, "tables.md", "| **0.2000** ± 0.0012 \\*\\* ");
    expect_file(w, "tables.tex", "& \\underline{0.1600} & 0.1579 & ");
    expect_file(w, "tables.tex", "& \\textbf{0.2000}$^{**}$ {\\scriptsize$\\pm$0.0012} & ");
    expect_file(w, "tables.tex",
                "\\multicolumn{6}{c}{ml (MovieLens-10M)} & \\multicolumn{3}{c}{own}");
    expect_file(w, "01-overall-table.csv",
                "method,ml (MovieLens-10M) Recall@20,ml (MovieLens-10M) Recall@20 sd,ml "
                "(MovieLens-10M) Recall@20 stars,ml (MovieLens-10M) Recall@20 paper,");
    expect_file(w, "01-overall-table.csv", "\nCPR,0.2000,0.0012,**,0.2003,");
    expect_file(w, "02-overall-ml-recall-by-epoch.svg", "<title>Recall by epoch, ml</title>");
    expect_file(w, "02-overall-ml-recall-by-epoch.csv", "\n2,0.1,0.02,\n");
    expect_file(w, "report.html", "<strong>0.2000</strong><sup>**</sup> <small>± 0.0012</small>");
}

static void what_is_no_experiment_is_refused(void **state)
{
    static const char *const bad[][2] = {
        {"{", "/results.json:1: "},
        {"[]", "/results.json: it must hold a JSON object"},
        {"{}", "/results.json: these are no results of an experiment"},
        {"{\"format\":\"crosswise-experiment\",\"version\":2}",
         "/results.json: its version is not 1"},
        {"{\"format\":\"crosswise-experiment\",\"version\":1}",
         "/results.json: datasets, tables or runs are missing"},
        {"{\"format\":\"crosswise-experiment\",\"version\":1,\"datasets\":[],\"runs\":{},"
         "\"tables\":[{\"rows\":[{}],\"ours\":[],\"tests\":[]}]}",
         "/results.json: tables[0] is not as experiments write it"}};
    workshop *w = *state;
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        write_file(w->folder, "results.json", bad[k][0]);
        assert_int_equal(cw_report_experiment(w->l.ctx, w->folder, w->path, false), CW_BAD_DATA);
        const char *error = cw_context_error(w->l.ctx);
        if (!strstr(error, bad[k][1])) fail_msg("%s", error);
    }
}

static void the_published_numbers_are_all_there(void **state)
{
    workshop *w = *state;
    json_t *published;
    assert_int_equal(cwi_published_read(w->l.ctx, &published), CW_OK);
    assert_int_equal(json_array_size(json_object_get(published, "numbers")), 3 * 8 + 2 * (9 + 6));
    assert_string_equal(cwi_published_dataset(published, 46420, 12898), "Netflix");
    assert_null(cwi_published_dataset(published, 46420, 6958));
    json_t *row = json_pack("{s:s, s:s, s:s, s:{}}", "train_set", "train_-0.5.csv", "backbone",
                            "mf", "method", "dice", "varied");
    assert_true(cwi_published_value(published, "Netflix", row, "ndcg") == 0.0858);
    json_decref(row);
    json_decref(published);
}

static void marks_of_an_axis_are_round(void **state)
{
    (void)state;
    double mark[CWI_MAX_MARKS];
    int digits;
    cwi_scale scale = {.is_empty = true};
    cwi_scale_add(&scale, 0);
    cwi_scale_add(&scale, 0.19);
    cwi_scale_finish(&scale);
    assert_int_equal(cwi_scale_marks(&scale, mark, &digits), 4);
    assert_int_equal(digits, 2);
    assert_true(mark[3] > 0.1499 && mark[3] < 0.1501);
    scale = (cwi_scale){.is_empty = true};
    cwi_scale_add(&scale, 1);
    cwi_scale_add(&scale, 4);
    cwi_scale_finish(&scale);
    assert_int_equal(cwi_scale_marks(&scale, mark, &digits), 4); /* 1, 2, 3, 4, nothing between */
    assert_int_equal(digits, 0);
    scale = (cwi_scale){.is_empty = true, .is_log = true, .start = 0, .end = 100};
    cwi_scale_add(&scale, -1); /* has no place there */
    cwi_scale_add(&scale, 1);
    cwi_scale_add(&scale, 10000);
    cwi_scale_finish(&scale);
    assert_int_equal(cwi_scale_marks(&scale, mark, &digits), 5);
    assert_true(cwi_scale_place(&scale, 100) > 49.9 && cwi_scale_place(&scale, 100) < 50.1);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, workshop_close)
    const struct CMUnitTest tests[] = {
        TEST(the_best_is_bold_and_the_best_baselines_are_underlined),
        TEST(settings_of_one_method_are_one_block_without_a_gain),
        TEST(charts_show_the_rows),
        TEST(every_format_carries_the_marks),
        TEST(what_is_no_experiment_is_refused),
        TEST(the_published_numbers_are_all_there),
        TEST(marks_of_an_axis_are_round),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
