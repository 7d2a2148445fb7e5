/* tables.c - results for people: tables.md, and times.md which no two machines share. */
#include <stdio.h>
#include <string.h>

#include "experiment/cells.h"
#include "experiment/experiment.h"
#include "experiment/verdict.h"

/* Columns that are shown where the rows of a table differ in them. */
static const char *const features[] = {"train_set", "method", "backbone", "varied", "tuned"};
static const char *const titles[] = {"train set", "method", "backbone", "setting", "tuned"};
enum { N_FEATURES = sizeof features / sizeof features[0], METHOD = 1 };

/* One printed table: the rows of one dataset. */
typedef struct view {
    cw_context *ctx;
    cwi_writer *out;
    const json_t *results, *table;
    const char *dataset;
    bool shows[N_FEATURES];
} view;

static bool is_shown(const view *v, const json_t *row)
{
    return strcmp(cwi_json_get_text(row, "dataset"), v->dataset) == 0;
}

/* A feature that is the same everywhere says nothing. */
static void choose_features(view *v)
{
    const json_t *rows = json_object_get(v->table, "rows"), *first = NULL;
    size_t index;
    json_t *row;
    for (int f = 0; f < N_FEATURES; f++) v->shows[f] = f == METHOD;
    json_array_foreach(rows, index, row)
    {
        if (!is_shown(v, row)) continue;
        if (!first) first = row;
        for (int f = 0; f < N_FEATURES; f++) {
            const json_t *value = json_object_get(row, features[f]);
            if (!json_equal(value, json_object_get(first, features[f]))) v->shows[f] = true;
            if (strcmp(features[f], "tuned") == 0 && json_is_object(value)) v->shows[f] = true;
        }
    }
}

static void add_features(const view *v, const json_t *row, json_t **cells)
{
    char text[CWI_CELL_BYTES], out[CWI_MARKED_BYTES];
    for (int f = 0; f < N_FEATURES; f++) {
        const json_t *value = json_object_get(row, features[f]);
        if (!v->shows[f]) continue;
        const char *plain =
            json_is_string(value) ? json_string_value(value) : cwi_cell_settings(value, text);
        cwi_cell_add(cells, cwi_cell_marked(plain, out));
    }
}

static json_t *list_titles(const view *v)
{
    json_t *cells = json_array();
    for (int f = 0; f < N_FEATURES; f++)
        if (v->shows[f]) cwi_cell_add(&cells, titles[f]);
    return cells;
}

static void put_heading(const view *v, const char *what)
{
    cwi_writer_text(v->out, "\n## ");
    cwi_cells_text(v->out, cwi_json_get_text(v->table, "title"), " ");
    CWI_WRITE(v->out, what, ": ");
    cwi_cells_text(v->out, v->dataset, " ");
    cwi_writer_text(v->out, "\n\n");
}

/* The head, which is consumed, and a line for every row; add puts what it has into its cells. */
static json_t *list_rows(const view *v, json_t *head,
                         void (*add)(const view *v, size_t index, const json_t *row,
                                     json_t **cells))
{
    json_t *rows = json_array();
    const json_t *all = json_object_get(v->table, "rows");
    cwi_json_add(&rows, head);
    for (size_t r = 0; r < json_array_size(all); r++) {
        const json_t *row = json_array_get(all, r);
        if (!is_shown(v, row)) continue;
        json_t *cells = json_array();
        add_features(v, row, &cells);
        size_t n_features = json_array_size(cells);
        add(v, r, row, &cells);
        if (cells && json_array_size(cells) == n_features)
            json_decref(cells); /* there is nothing to say of it */
        else
            cwi_json_add(&rows, cells);
    }
    return rows;
}

static cw_status finish(const view *v, json_t *rows)
{
    cw_status status = cwi_json_check(v->ctx, rows);
    if (status == CW_OK) cwi_cells_trim(rows);
    if (status == CW_OK) status = cwi_cells_markdown(v->ctx, v->out, rows);
    json_decref(rows);
    return status;
}

/* ---- the metrics -------------------------------------------------------------------- */

static void add_metric(const view *v, size_t index, const json_t *row, int metric, json_t **cells)
{
    char key[32], title[48], mean[CWI_CELL_BYTES], sd[CWI_CELL_BYTES], text[CWI_CELL_BYTES] = "-";
    int digits = cwi_metric_table[metric].digits;
    cwi_cell_metric(v->table, metric, key, title);
    const json_t *value = json_object_get(json_object_get(row, "mean"), key);
    const json_t *spread = json_object_get(json_object_get(row, "sd"), key);
    if (json_is_number(value)) {
        cwi_cell_fixed(json_number_value(value), digits, mean);
        cwi_cell_fixed(json_number_value(spread), digits, sd);
        snprintf(text, sizeof text, "%.100s%s%.100s%s", mean, json_is_number(spread) ? " ± " : "",
                 json_is_number(spread) ? sd : "",
                 cwi_cell_p(v->table, index, key) < 0.05 ? "*" : "");
    }
    cwi_cell_add(cells, text);
}

/* Run k of a row; NULL past the last. */
static const json_t *run_at(const view *v, const json_t *row, size_t k)
{
    const char *name = json_string_value(json_array_get(json_object_get(row, "runs"), k));
    return name ? json_object_get(json_object_get(v->results, "runs"), name) : NULL;
}

static void add_seeds(const view *v, const json_t *row, json_t **cells)
{
    size_t done = 0, n = json_array_size(json_object_get(row, "runs"));
    char text[32];
    for (size_t k = 0; k < n; k++) done += !json_object_get(run_at(v, row, k), "error");
    snprintf(text, sizeof text, done == n && n > 0 ? "%zu" : "%zu of %zu", done, n);
    cwi_cell_add(cells, n > 0 ? text : "failed");
}

static void add_results(const view *v, size_t index, const json_t *row, json_t **cells)
{
    for (int m = 0; m < CWI_N_METRICS; m++)
        if (cwi_metric_table[m].place == CW_METRIC_MAIN) add_metric(v, index, row, m, cells);
    add_seeds(v, row, cells);
}

static cw_status put_metrics(const view *v)
{
    json_t *head = list_titles(v);
    for (int m = 0; m < CWI_N_METRICS; m++) {
        char key[32], title[48];
        cwi_cell_metric(v->table, m, key, title);
        if (cwi_metric_table[m].place == CW_METRIC_MAIN) cwi_cell_add(&head, title);
    }
    cwi_cell_add(&head, "seeds");
    return finish(v, list_rows(v, head, add_results));
}

/* ---- significance --------------------------------------------------------------------- */

/* "cpr on mf, setting k 2, train set theta 0.5", as far as it is shown. */
static void print_row_name(const view *v, const json_t *row, char out[CWI_CELL_BYTES])
{
    char text[CWI_CELL_BYTES];
    const char *varied = cwi_cell_settings(json_object_get(row, "varied"), text);
    snprintf(out, CWI_CELL_BYTES, "%.60s%s%.60s%s%.100s%s%.60s", cwi_json_get_text(row, "method"),
             v->shows[2] ? " on " : "", v->shows[2] ? cwi_json_get_text(row, "backbone") : "",
             v->shows[3] && varied[0] ? ", " : "", v->shows[3] ? varied : "",
             v->shows[0] ? ", " : "", v->shows[0] ? cwi_json_get_text(row, "train_set") : "");
}

static void put_test(const view *v, const json_t *test)
{
    const json_t *rows = json_object_get(v->table, "rows"), *p = json_object_get(test, "p");
    const json_t *row =
        json_array_get(rows, (size_t)json_integer_value(json_object_get(test, "row")));
    const json_t *baseline =
        json_array_get(rows, (size_t)json_integer_value(json_object_get(test, "baseline")));
    const char *metric = cwi_json_get_text(test, "metric");
    double ours = cwi_json_to_number(json_object_get(json_object_get(row, "mean"), metric));
    double theirs = cwi_json_to_number(json_object_get(json_object_get(baseline, "mean"), metric));
    char name[CWI_CELL_BYTES], other[CWI_CELL_BYTES], gain[CWI_CELL_BYTES], line[1024];
    if (!is_shown(v, row)) return;
    print_row_name(v, row, name);
    print_row_name(v, baseline, other);
    snprintf(line, sizeof line, "%s: %.200s against %.200s, the best baseline: %.40s", metric, name,
             other, cwi_cell_gain(ours, theirs, gain));
    cwi_writer_text(v->out, "- ");
    cwi_cells_text(v->out, line, " ");
    if (json_is_number(p)) {
        snprintf(line, sizeof line, ", p %.40s (paired t test, %lld seeds)",
                 cwi_cell_chance(json_number_value(p), gain),
                 (long long)json_integer_value(json_object_get(test, "pairs")));
        cwi_writer_text(v->out, line);
    }
    cwi_writer_text(v->out, "\n");
}

static void put_tests(const view *v)
{
    const json_t *tests = json_object_get(v->table, "tests");
    for (size_t k = 0; k < json_array_size(tests); k++) {
        if (k == 0) cwi_writer_text(v->out, "\n");
        put_test(v, json_array_get(tests, k));
    }
}

/* ---- groups ------------------------------------------------------------------------------ */

static bool has_shares(const view *v, const json_t *row)
{
    return is_shown(v, row) && json_array_size(json_object_get(row, "shares")) > 0;
}

/* A line of the shares that train or test rows themselves have. */
static void add_reference(const view *v, const json_t *row, const char *key, const char *what,
                          json_t **rows)
{
    const json_t *groups = json_object_get(run_at(v, row, 0), "groups");
    json_t *cells = json_array();
    char text[CWI_CELL_BYTES], label[CWI_CELL_BYTES], out[CWI_MARKED_BYTES];
    int written = 0;
    snprintf(label, sizeof label, "%.100s%s(%s rows)",
             v->shows[0] ? cwi_json_get_text(row, "train_set") : "", v->shows[0] ? " " : "", what);
    for (int f = 0; f < N_FEATURES; f++)
        if (v->shows[f]) cwi_cell_add(&cells, written++ == 0 ? cwi_cell_marked(label, out) : "");
    for (size_t g = 0; g < json_array_size(groups); g++)
        cwi_cell_add(&cells,
                     cwi_cell_fixed(cwi_json_get_number(json_array_get(groups, g), key), 4, text));
    cwi_json_add(rows, cells);
}

/* Train and test rows by the groups of every training set. */
static void add_references(const view *v, json_t **rows)
{
    const json_t *all = json_object_get(v->table, "rows");
    const char *before = "";
    for (size_t r = 0; r < json_array_size(all); r++) {
        const json_t *row = json_array_get(all, r);
        const char *train_set = cwi_json_get_text(row, "train_set");
        if (!has_shares(v, row) || strcmp(before, train_set) == 0) continue;
        before = train_set; /* rows of a training set stand together */
        add_reference(v, row, "train_share", "train", rows);
        add_reference(v, row, "held_share", "test", rows);
    }
}

static void add_shares(const view *v, size_t index, const json_t *row, json_t **cells)
{
    const json_t *shares = json_object_get(row, "shares");
    char text[CWI_CELL_BYTES];
    (void)v, (void)index;
    for (size_t g = 0; g < json_array_size(shares); g++)
        cwi_cell_add(cells, cwi_cell_fixed(json_number_value(json_array_get(shares, g)), 4, text));
}

static cw_status put_shares(const view *v)
{
    const json_t *all = json_object_get(v->table, "rows");
    size_t first = 0;
    while (first < json_array_size(all) && !has_shares(v, json_array_get(all, first))) first++;
    if (first == json_array_size(all)) return CW_OK;
    json_t *head = list_titles(v);
    const json_t *shares = json_object_get(json_array_get(all, first), "shares");
    for (size_t g = 0; g < json_array_size(shares); g++) {
        char title[32];
        snprintf(title, sizeof title, "group %zu", g + 1);
        cwi_cell_add(&head, title);
    }
    json_t *rows = list_rows(v, head, add_shares);
    add_references(v, &rows);
    cwi_writer_text(v->out,
                    "\nShare of the recommendations by popularity of the items, group 1 the "
                    "least popular:\n\n");
    return finish(v, rows);
}

/* ---- times ---------------------------------------------------------------------------------- */

static void add_times(const view *v, size_t index, const json_t *row, json_t **cells)
{
    static const int digits[] = {1, 1, 3, 1};
    size_t n = json_array_size(json_object_get(row, "runs"));
    double sum[4] = {0}, timed = 0;
    (void)index;
    for (size_t k = 0; k < n; k++) {
        const json_t *run = run_at(v, row, k), *time = json_object_get(run, "time");
        double epochs = cwi_json_get_number(run, "epochs");
        double train_s = cwi_json_get_number(time, "train_s");
        sum[0] += cwi_json_get_number(run, "best_epoch");
        sum[1] += epochs;
        sum[2] += train_s / (epochs > 0 ? epochs : 1);
        sum[3] += train_s;
        timed += time != NULL;
    }
    for (size_t c = 0; c < 4; c++) {
        char text[CWI_CELL_BYTES];
        double of = c < 2 ? (double)n : timed;
        cwi_cell_add(cells, cwi_cell_fixed(of > 0 ? sum[c] / of : 0, digits[c], text));
    }
}

static cw_status put_times(const view *v)
{
    static const char *const columns[] = {"best epoch", "epochs", "s an epoch", "training s"};
    json_t *head = list_titles(v);
    put_heading(v, ", means of training time");
    for (size_t c = 0; c < 4; c++) cwi_cell_add(&head, columns[c]);
    return finish(v, list_rows(v, head, add_times));
}

/* ---- the files ---------------------------------------------------------------------------- */

static cw_status put_results(const view *v)
{
    put_heading(v, "");
    CW_PASS(put_metrics(v));
    put_tests(v);
    return put_shares(v);
}

/* What every table comes to, before all of them. */
static cw_status put_verdicts(cw_context *ctx, cwi_writer *out, const json_t *results)
{
    char verdict[CWI_VERDICT_BYTES];
    size_t t;
    json_t *table;
    json_array_foreach(json_object_get(results, "tables"), t, table)
    {
        const char *title = cwi_json_get_text(table, "title");
        CW_PASS(cwi_verdict(ctx, results, table, NULL, verdict));
        if (!verdict[0]) continue;
        cwi_writer_text(out, "\n");
        if (json_array_size(json_object_get(results, "tables")) > 1 && title[0]) {
            cwi_cells_text(out, title, " ");
            cwi_writer_text(out, ": ");
        }
        cwi_cells_text(out, verdict, " ");
        cwi_writer_text(out, "\n");
    }
    return CW_OK;
}

/* Every table for every dataset it has. */
static cw_status write_file(cw_context *ctx, const cwi_experiment *e, const json_t *results,
                            const char *file, cw_status (*put)(const view *v))
{
    cwi_writer *out;
    cw_status status = cwi_writer_open_in(ctx, e->store.folder, file, &out);
    const char *title = cwi_json_get_text(json_object_get(results, "plan"), "title");
    size_t t, d;
    json_t *table, *dataset;
    if (status == CW_OK) {
        cwi_writer_text(out, "# ");
        cwi_cells_text(out, title[0] ? title : "Experiment", " ");
        cwi_writer_text(out, "\n");
        if (put == put_results) status = put_verdicts(ctx, out, results);
    }
    json_array_foreach(json_object_get(results, "tables"), t, table)
    {
        const char *before = "";
        json_array_foreach(json_object_get(results, "datasets"), d, dataset)
        {
            view v = {ctx, out, results, table, cwi_json_get_text(dataset, "dataset"), {0}};
            if (status != CW_OK || strcmp(before, v.dataset) == 0) continue;
            before = v.dataset;
            choose_features(&v);
            status = put(&v);
        }
    }
    return cwi_writer_end(ctx, out, status);
}

cw_status cwi_tables_write(cw_context *ctx, const cwi_experiment *e, const json_t *results)
{
    CW_PASS(write_file(ctx, e, results, "tables.md", put_results));
    return write_file(ctx, e, results, "times.md", put_times);
}
