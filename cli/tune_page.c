/* tune_page.c - the results of a race as a page: the verdict first, then what it rests on. */
#include <stdlib.h>
#include <string.h>

#include "tune.h"

static json_t *fixed(double value, int digits)
{
    char text[64];
    snprintf(text, sizeof text, "%.*f", digits, value);
    return json_string(text);
}

/* "cpr on mf, tuned" or "bpr on mf, defaults". */
static json_t *side_name(const json_t *sides, size_t k)
{
    char name[128];
    const json_t *side = json_array_get(sides, k);
    bool is_alone = strcmp(cli_text_of(side, "method"), cli_text_of(side, "backbone")) == 0;
    snprintf(name, sizeof name, "%s%s%s, %s", cli_text_of(side, "method"), is_alone ? "" : " on ",
             is_alone ? "" : cli_text_of(side, "backbone"), k == 0 ? "winner" : "defaults");
    return json_string(name);
}

/* "lr 0.002, reg 0.1" */
static json_t *settings_text(json_t *settings)
{
    char text[512] = "defaults";
    size_t used = 0;
    const char *name;
    json_t *value;
    json_object_foreach(settings, name, value)
    {
        if (used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s %.4g",
                                     used > 0 ? ", " : "", name, json_number_value(value));
    }
    return json_string(text);
}

/* ---- tables ------------------------------------------------------------------- */

static json_t *p_text(const json_t *side)
{
    const json_t *p = json_object_get(json_object_get(side, "lead"), "wilcoxon_p");
    char text[32];
    if (!json_is_number(p)) return json_string("");
    if (json_number_value(p) < 0.001) return json_string("< 0.001");
    snprintf(text, sizeof text, "%.3f", json_number_value(p));
    return json_string(text);
}

static bool is_by_bucket(const json_t *results)
{
    return strcmp(cli_text_of(results, "judge"), "bucket") == 0;
}

static json_t *sides_table(const json_t *results)
{
    const json_t *sides = json_object_get(results, "sides");
    const char *metric = cli_text_of(results, "metric");
    char valid[64], test[64];
    json_t *rows = json_array();
    for (size_t k = 0; k < json_array_size(sides); k++) {
        const json_t *side = json_array_get(sides, k);
        const json_t *evaluation = json_object_get(side, "evaluation");
        const json_t *beyond = json_object_get(evaluation, "beyond");
        const char *value = k == 0 || is_by_bucket(results) ? "value" : "valid";
        json_array_append_new(rows, json_pack("[o, o, o, o, o, o, o]", side_name(sides, k),
                                              fixed(cli_number(side, value), 4),
                                              fixed(cli_number(side, "mean"), 4), p_text(side),
                                              fixed(100 * cli_number(beyond, "coverage"), 1),
                                              fixed(cli_number(beyond, "gini"), 3),
                                              fixed(100 * cli_number(beyond, "tail_share"), 1)));
    }
    snprintf(valid, sizeof valid, is_by_bucket(results) ? "Chance, bucket" : "%s, validation",
             metric);
    snprintf(test, sizeof test, "%s, test", metric);
    return json_pack("{s:[s, s, s, s, s, s, s], s:o}", "columns", "Model", valid, test,
                     "p against the winner", "Coverage in %", "Gini", "Tail share in %", "rows",
                     rows);
}

static const json_t *groups_of(const json_t *side)
{
    return json_object_get(json_object_get(side, "evaluation"), "groups");
}

/* The number `key` of every group of items, for every side. */
static json_t *group_chart(const json_t *sides, const char *key, const char *title, double scale)
{
    json_t *x = json_array(), *series = json_array();
    const json_t *groups = groups_of(json_array_get(sides, 0));
    for (size_t g = 0; g < json_array_size(groups); g++)
        json_array_append_new(x, cli_group_label(json_array_get(groups, g)));
    for (size_t k = 0; k < json_array_size(sides); k++) {
        json_t *values = json_array();
        groups = groups_of(json_array_get(sides, k));
        for (size_t g = 0; g < json_array_size(groups); g++)
            json_array_append_new(values,
                                  json_real(scale * cli_number(json_array_get(groups, g), key)));
        json_array_append_new(
            series, json_pack("{s:o, s:o}", "name", side_name(sides, k), "values", values));
    }
    return json_pack("{s:s, s:s, s:s, s:o, s:o}", "kind", "bar", "x_title",
                     "items, from rare to popular", "y_title", title, "x", x, "series", series);
}

/* ---- exposure -------------------------------------------------------------------- */

static json_t *percent(const json_t *shares)
{
    json_t *out = json_array();
    for (size_t k = 0; k < json_array_size(shares); k++)
        json_array_append_new(out, json_real(100 * json_number_value(json_array_get(shares, k))));
    return out;
}

static json_t *lorenz_chart(const json_t *results)
{
    const json_t *sides = json_object_get(results, "sides");
    const json_t *log = json_object_get(results, "log_lorenz");
    size_t n = json_array_size(log);
    json_t *x = json_array(), *even = json_array(), *series = json_array();
    for (size_t k = 0; k < n; k++) {
        double share = n > 1 ? 100.0 * (double)k / (double)(n - 1) : 0;
        json_array_append_new(x, json_real(share));
        json_array_append_new(even, json_real(share));
    }
    json_array_append_new(series, json_pack("{s:s, s:o, s:b}", "name", "all items alike", "values",
                                            even, "reference", 1));
    json_array_append_new(
        series, json_pack("{s:s, s:o}", "name", "train rows of the log", "values", percent(log)));
    for (size_t k = 0; k < json_array_size(sides); k++)
        json_array_append_new(
            series, json_pack("{s:o, s:o}", "name", side_name(sides, k), "values",
                              percent(json_object_get(json_array_get(sides, k), "lorenz"))));
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "kind", "line", "x_scale", "linear",
                     "x_title", "items in %, from the least to the most shown", "y_title",
                     "share of all places in the lists, in %", "x", x, "series", series);
}

/* ---- trials ------------------------------------------------------------------------ */

static const char *why_ended(const json_t *trial)
{
    const char *ended = cli_text_of(trial, "ended");
    if (strcmp(ended, "patience") == 0) return "no longer gained";
    if (strcmp(ended, "epochs") == 0) return "last epoch";
    if (strcmp(ended, "stopped") == 0) return "stopped early: below the best";
    return "failed";
}

static json_t *trials_table(const json_t *results)
{
    const json_t *trials = json_object_get(results, "trials");
    double winner = cli_number(json_object_get(results, "winner"), "trial");
    char value[64];
    json_t *rows = json_array();
    for (size_t k = 0; k < json_array_size(trials); k++) {
        const json_t *trial = json_array_get(trials, k);
        bool is_failed = !json_is_number(json_object_get(trial, "value"));
        json_t *cell = is_failed ? json_null() : fixed(cli_number(trial, "value"), 4);
        if (!is_failed && cli_number(trial, "trial") == winner)
            cell = json_pack("{s:o, s:b}", "text", cell, "bold", 1);
        json_array_append_new(
            rows, json_pack("[i, s, s, s, o, i, o, o, s]", (int)cli_number(trial, "trial"),
                            cli_text_of(trial, "method"), cli_text_of(trial, "backbone"),
                            cli_text_of(trial, "origin"),
                            settings_text(json_object_get(trial, "settings")),
                            (int)cli_number(trial, "steps"), fixed(cli_number(trial, "dial"), 3),
                            cell, why_ended(trial)));
    }
    snprintf(value, sizeof value, is_by_bucket(results) ? "Chance, bucket" : "%s, validation",
             cli_text_of(results, "metric"));
    return json_pack("{s:[s, s, s, s, s, s, s, s, s], s:o}", "columns", "Trial", "Method",
                     "Backbone", "Origin", "Settings", "Steps", "Dial", value, "Ended because",
                     "rows", rows);
}

static json_t *race_chart(const json_t *results)
{
    const json_t *trials = json_object_get(results, "trials");
    json_t *x = json_array(), *each = json_array(), *best = json_array();
    double most = 0;
    for (size_t k = 0; k < json_array_size(trials); k++) {
        const json_t *value = json_object_get(json_array_get(trials, k), "value");
        if (json_number_value(value) > most) most = json_number_value(value);
        json_array_append_new(x, json_integer((json_int_t)k));
        json_array_append(each, (json_t *)value);
        json_array_append_new(best, json_real(most));
    }
    return json_pack("{s:s, s:s, s:s, s:s, s:o, s:[{s:s, s:o}, {s:s, s:o}]}", "kind", "line",
                     "x_title", "trial", "y_title", cli_text_of(results, "judge"), "y_scale", "fit",
                     "x", x, "series", "name", "this trial", "values", each, "name", "best so far",
                     "values", best);
}

/* What a value of the table below is. */
static const char *folds_text(const json_t *results)
{
    if (is_by_bucket(results))
        return "The random bucket decides, by the chance that models give what happened in rows "
               "that they had not learnt from; the first trials are the untouched defaults.";
    return cli_number(results, "folds") > 1
               ? "Validation decides; the first trials are the untouched defaults. The part is "
                 "small, "
                 "so train and validation rows were divided several times, and values are means "
                 "over these folds. The first of the trials that three folds or more cannot tell "
                 "from the best wins."
               : "Validation decides; the first trials are the untouched defaults.";
}

/* ---- the page ------------------------------------------------------------------------ */

static char *how_text(const json_t *results, const char *name, const char *command,
                      const char *date)
{
    const json_t *data = json_object_get(results, "data");
    char users[32], items[32], rows[32], folds[96] = "", *text = NULL;
    size_t bytes = strlen(command) + strlen(name) * 2 + 1024;
    text = malloc(bytes);
    if (!text) return NULL;
    cli_thousands((json_int_t)cli_number(data, "users"), users);
    cli_thousands((json_int_t)cli_number(data, "items"), items);
    cli_thousands((json_int_t)cli_number(data, "train"), rows);
    if (cli_number(results, "folds") > 1)
        snprintf(folds, sizeof folds, "trials judged by %.0f folds; ",
                 cli_number(results, "folds"));
    snprintf(text, bytes,
             "%s users, %s items, %s train rows; %sseed %.0f; crosswise %s; %s.\n\nMade by: %s\n\n"
             "Next: crosswise recommend %s.safetensors --all, and crosswise info "
             "%s.safetensors. The same command goes on where it was; a larger budget adds trials.",
             users, items, rows, folds, cli_number(results, "seed"),
             cli_text_of(results, "crosswise"), date, command, name, name);
    return text;
}

static void add_section(json_t *sections, json_t *section)
{
    json_array_append_new(sections, section);
}

json_t *tune_page(const json_t *results, const char *name, const char *command, const char *date)
{
    const json_t *sides = json_object_get(results, "sides");
    json_t *sections = json_array();
    char *how = how_text(results, name, command, date), title[256];
    if (!how) return NULL;
    if (json_array_size(sides) > 0) {
        add_section(sections,
                    json_pack("{s:s, s:s, s:s, s:o}", "name", "models", "heading",
                              "The winner and the defaults", "text",
                              "p is of Wilcoxon's signed-rank test over the users of the test "
                              "part, paired: how likely chance alone would make such a "
                              "difference. Coverage is the share of the items that are in at least "
                              "one list, Gini how unevenly items are shown (0 is even), tail share "
                              "what the lists have of items outside the most popular fifth.",
                              "table", sides_table(results)));
        add_section(sections,
                    json_pack("{s:s, s:s, s:s, s:o}", "name", "groups", "heading",
                              "Accuracy by popularity", "text",
                              "Recall on the test part of items in groups that hold a quarter of "
                              "the train rows each.",
                              "chart", group_chart(sides, "recall", "Recall", 1)));
        add_section(sections, json_pack("{s:s, s:o}", "text", "Who gets recommended:", "chart",
                                        group_chart(sides, "recommended_share",
                                                    "share of the lists in %", 100)));
        add_section(sections,
                    json_pack("{s:s, s:s, s:s, s:o}", "name", "exposure", "heading",
                              "Who gets the places", "text",
                              "A Lorenz curve: the items from the least to the most shown, and the "
                              "share of all places that they have together. The nearer a line is "
                              "to the straight one, the more evenly items are shown.",
                              "chart", lorenz_chart(results)));
    }
    add_section(sections,
                json_pack("{s:s, s:s, s:s, s:o}", "name", "trials", "heading", "Everything tried",
                          "text", folds_text(results), "chart", race_chart(results)));
    add_section(sections, json_pack("{s:o}", "table", trials_table(results)));
    add_section(sections,
                json_pack("{s:s, s:s, s:s}", "name", "how", "heading", "How", "text", how));
    free(how);
    snprintf(title, sizeof title, "The best model for %s", name);
    return json_pack("{s:s, s:s, s:b, s:o}", "title", title, "lead",
                     cli_text_of(results, "verdict"), "contents", 1, "sections", sections);
}
