/* figures.c - the charts of an experiment. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/mem.h"
#include "experiment/cells.h"
#include "report/markup.h"
#include "report/panel.h"

enum { MAX_EPOCHS = 1000000 };

/* ---- recall by epoch ------------------------------------------------------------------- */

/* Validation at an epoch of the row that was added up last: its mean over the seeds counts where
 * all of them were measured. */
typedef struct moment {
    double sum;
    int n;         /* runs measured */
    bool is_known; /* is it an epoch of the chart? */
} moment;

/* By epoch. */
typedef struct curve {
    moment *at;
    size_t epochs;
} curve;

static json_int_t epoch_of(const json_t *point)
{
    json_int_t epoch = json_integer_value(json_object_get(point, "epoch"));
    return epoch >= 0 && epoch < MAX_EPOCHS ? epoch : 0;
}

static size_t last_epoch(const cwi_panel *p)
{
    const json_t *row, *run;
    json_int_t last = 0;
    for (size_t r = 0; (row = cwi_panel_row(p, r)) != NULL; r++)
        for (size_t k = 0; (run = cwi_draft_run(p->draft, row, k)) != NULL; k++) {
            const json_t *points = json_object_get(run, "curve");
            for (size_t e = 0; e < json_array_size(points); e++)
                if (epoch_of(json_array_get(points, e)) > last)
                    last = epoch_of(json_array_get(points, e));
        }
    return (size_t)last;
}

/* Add up the runs of a row; returns how many there are. */
static int collect(const cwi_panel *p, const json_t *row, const char *key, curve *c)
{
    int n_runs = 0;
    const json_t *run;
    for (size_t e = 0; e < c->epochs; e++) c->at[e] = (moment){.is_known = c->at[e].is_known};
    for (; (run = cwi_draft_run(p->draft, row, (size_t)n_runs)) != NULL; n_runs++) {
        size_t index;
        json_t *point;
        json_array_foreach(json_object_get(run, "curve"), index, point)
        {
            const json_t *value = json_object_get(json_object_get(point, "valid"), key);
            if (!json_is_number(value)) continue;
            c->at[epoch_of(point)].sum += json_number_value(value);
            c->at[epoch_of(point)].n++;
        }
    }
    return n_runs;
}

static double curve_value(const curve *c, size_t epoch, int n_runs)
{
    const moment *at = &c->at[epoch];
    return n_runs > 0 && at->n == n_runs ? at->sum / n_runs : NAN;
}

/* Which epochs have a value in any row? */
static void mark_known(const cwi_panel *p, const char *key, curve *c)
{
    const json_t *row;
    for (size_t r = 0; (row = cwi_panel_row(p, r)) != NULL; r++) {
        int n_runs = collect(p, row, key, c);
        for (size_t e = 0; e < c->epochs; e++)
            c->at[e].is_known |= !isnan(curve_value(c, e, n_runs));
    }
}

/* A method that does not train is the same at every epoch. */
static bool is_constant(const curve *c, int n_runs)
{
    for (size_t e = 1; e < c->epochs; e++)
        if (c->at[e].n > 0) return false;
    return !isnan(curve_value(c, 0, n_runs));
}

static void add_curve(const cwi_panel *p, const json_t *row, const char *key, curve *c,
                      json_t **series)
{
    char name[CWI_NAME_BYTES];
    json_t *values = json_array();
    int n_runs = collect(p, row, key, c);
    bool is_flat = is_constant(c, n_runs);
    for (size_t e = 0; e < c->epochs; e++)
        if (c->at[e].is_known)
            cwi_json_add(&values, cwi_json_number(curve_value(c, is_flat ? 0 : e, n_runs)));
    cwi_panel_series(series, cwi_panel_name(p, row, name), values, is_flat);
}

static cw_status draw_curves(const cwi_panel *p, curve *c)
{
    char key[32], label[48], y_title[96];
    const json_t *row;
    json_t *x = json_array(), *series = json_array();
    cwi_cell_metric(p->table, CWI_METRIC_recall, key, label);
    mark_known(p, key, c);
    for (size_t e = 0; e < c->epochs; e++)
        if (c->at[e].is_known) cwi_json_add(&x, json_integer((json_int_t)e));
    for (size_t r = 0; (row = cwi_panel_row(p, r)) != NULL; r++) add_curve(p, row, key, c, &series);
    snprintf(y_title, sizeof y_title, "%s, validation", label);
    return cwi_panel_figure(
        p, "recall-by-epoch", "Recall by epoch", "Mean over the seeds, as far as all of them went.",
        json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "kind", "line", "x_scale", "linear", "x_title",
                  "epoch", "y_title", y_title, "x", x, "series", series));
}

static cw_status add_curves(const cwi_panel *p)
{
    curve c = {.epochs = last_epoch(p) + 1};
    if (c.epochs < 2) return CW_OK; /* nothing was trained */
    c.at = cwi_alloc_zero(p->draft->ctx, c.epochs, sizeof *c.at);
    cw_status status = c.at ? draw_curves(p, &c) : CW_NO_MEMORY;
    cwi_free(c.at);
    return status;
}

/* ---- times -------------------------------------------------------------------------------- */

/* Mean over the runs, NAN where it is nothing: it is shown on a scale of powers. */
static double mean_time(const cwi_panel *p, const json_t *row, const char *key)
{
    double sum = 0;
    int n = 0;
    const json_t *run;
    for (size_t k = 0; (run = cwi_draft_run(p->draft, row, k)) != NULL; k++) {
        const json_t *value = json_object_get(json_object_get(run, "time"), key);
        sum += json_number_value(value);
        n += json_is_number(value);
    }
    return sum > 0 ? sum / n : NAN;
}

static cw_status add_times(const cwi_panel *p)
{
    static const char *const keys[] = {"train_s", "eval_s"};
    static const char *const names[] = {"training", "evaluation on the way"};
    const json_t *row;
    char name[CWI_NAME_BYTES];
    json_t *x = json_array(), *series = json_array();
    for (size_t r = 0; (row = cwi_panel_row(p, r)) != NULL; r++)
        cwi_cell_add(&x, cwi_panel_name(p, row, name));
    for (size_t k = 0; k < 2; k++) {
        json_t *values = json_array();
        for (size_t r = 0; (row = cwi_panel_row(p, r)) != NULL; r++)
            cwi_json_add(&values, cwi_json_number(mean_time(p, row, keys[k])));
        cwi_panel_series(&series, names[k], values, false);
    }
    return cwi_panel_figure(
        p, "time", "Training time",
        "Mean over the seeds, to the stop, on a logarithmic axis. Times of runs that "
        "shared a machine are no benchmark.",
        json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "kind", "bar", "x_title", "method", "y_title",
                  "seconds", "y_scale", "log", "x", x, "series", series));
}

/* ---- shares of the popularity groups ------------------------------------------------------ */

static const json_t *groups_of(const cwi_panel *p)
{
    const json_t *row, *run;
    for (size_t r = 0; (row = cwi_panel_row(p, r)) != NULL; r++)
        for (size_t k = 0; (run = cwi_draft_run(p->draft, row, k)) != NULL; k++)
            if (json_array_size(json_object_get(run, "groups")) > 0)
                return json_object_get(run, "groups");
    return NULL;
}

static void add_group_reference(const json_t *groups, const char *key, const char *name,
                                json_t **series)
{
    json_t *values = json_array();
    for (size_t g = 0; g < json_array_size(groups); g++)
        cwi_json_add(&values, json_real(cwi_json_get_number(json_array_get(groups, g), key)));
    cwi_panel_series(series, name, values, true);
}

static void add_shares_of(const cwi_panel *p, const json_t *row, size_t n_groups, json_t **series)
{
    char name[CWI_NAME_BYTES];
    const json_t *shares = json_object_get(row, "shares");
    json_t *values = json_array();
    for (size_t g = 0; g < n_groups; g++)
        cwi_json_add(&values, cwi_json_number(cwi_json_to_number(json_array_get(shares, g))));
    cwi_panel_series(series, cwi_panel_name(p, row, name), values, false);
}

static cw_status add_shares(const cwi_panel *p)
{
    const json_t *groups = groups_of(p), *row;
    size_t n = json_array_size(groups);
    if (n == 0) return CW_OK;
    json_t *x = json_array(), *series = json_array();
    for (size_t g = 0; g < n; g++) {
        char label[64];
        snprintf(label, sizeof label, "%zu%s", g + 1,
                 g == 0       ? " (least popular)"
                 : g + 1 == n ? " (most popular)"
                              : "");
        cwi_cell_add(&x, label);
    }
    for (size_t r = 0; (row = cwi_panel_row(p, r)) != NULL; r++) add_shares_of(p, row, n, &series);
    add_group_reference(groups, "train_share", "train rows", &series);
    add_group_reference(groups, "held_share", "test rows", &series);
    return cwi_panel_figure(
        p, "shares", "Who gets recommended",
        "Share of the recommendations by groups of items that have about equally many train rows. "
        "The nearer a method is to the test rows, the less it repeats popularity.",
        json_pack("{s:s, s:s, s:s, s:o, s:o}", "kind", "line", "x_title", "group of items",
                  "y_title", "share of the lists", "x", x, "series", series));
}

/* ---- accuracy against popularity ---------------------------------------------------------- */

static void add_point(const cwi_panel *p, const json_t *row, size_t index, size_t n, double y,
                      json_t **series)
{
    char name[CWI_NAME_BYTES];
    json_t *values = json_array();
    for (size_t k = 0; k < n; k++)
        cwi_json_add(&values, k == index ? cwi_json_number(y) : json_null());
    cwi_panel_series(series, cwi_panel_name(p, row, name), values, false);
}

static cw_status add_scatter(const cwi_panel *p)
{
    char recall[32], arp[32], y_title[48], x_title[48], title[96];
    const json_t *row;
    size_t n = 0, at = 0;
    json_t *x = json_array(), *series = json_array();
    cwi_cell_metric(p->table, CWI_METRIC_recall, recall, y_title);
    cwi_cell_metric(p->table, CWI_METRIC_arp, arp, x_title);
    for (size_t r = 0; (row = cwi_panel_row(p, r)) != NULL; r++) {
        if (!isfinite(cwi_panel_mean(row, arp))) continue;
        cwi_json_add(&x, json_real(cwi_panel_mean(row, arp)));
        n++;
    }
    for (size_t r = 0; (row = cwi_panel_row(p, r)) != NULL; r++)
        if (isfinite(cwi_panel_mean(row, arp)))
            add_point(p, row, at++, n, cwi_panel_mean(row, recall), &series);
    snprintf(title, sizeof title, "%s, mean popularity of what is recommended", x_title);
    return cwi_panel_figure(p, "accuracy-popularity", "Accuracy against popularity",
                            "Up is more accurate, left is less popular.",
                            json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "kind", "scatter",
                                      "x_title", title, "y_title", y_title, "y_scale", "fit", "x",
                                      x, "series", series));
}

/* ---- the whole ---------------------------------------------------------------------------- */

static bool has_settings(const cwi_panel *p)
{
    const json_t *row;
    for (size_t r = 0; (row = cwi_panel_row(p, r)) != NULL; r++)
        if (json_object_size(json_object_get(row, "varied")) > 0) return true;
    return false;
}

static cw_status add_panel(const cwi_panel *p)
{
    if (has_settings(p)) return cwi_panel_settings(p);
    CW_PASS(add_curves(p));
    CW_PASS(add_times(p));
    CW_PASS(add_shares(p));
    return add_scatter(p);
}

cw_status cwi_figures_table(const cwi_draft *d, const json_t *table)
{
    const json_t *rows = json_object_get(table, "rows"), *first = json_array_get(rows, 0);
    bool has_train_sets = false;
    size_t index;
    json_t *row;
    json_array_foreach(rows, index, row) has_train_sets |=
        !json_equal(json_object_get(row, "train_set"), json_object_get(first, "train_set"));
    json_array_foreach(rows, index, row)
    {
        cwi_panel p = {d, table, cwi_json_get_text(row, "dataset"),
                       cwi_json_get_text(row, "train_set"), has_train_sets};
        if (cwi_panel_row(&p, 0) == row) CW_PASS(add_panel(&p)); /* others had their turn */
    }
    return CW_OK;
}

/* ---- the data ----------------------------------------------------------------------------- */

static void add_quantiles(const json_t *set, json_t **series)
{
    static const char *const keys[] = {"min", "p1",  "p10", "p25", "median",
                                       "p75", "p90", "p99", "max"};
    const json_t *degrees = json_object_get(json_object_get(set, "description"), "item_degrees");
    json_t *values = json_array();
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        double value = cwi_json_get_number(degrees, keys[k]);
        cwi_json_add(&values, value > 0 ? json_real(value) : json_null());
    }
    cwi_panel_series(series, cwi_json_get_text(set, "train_set"), values, false);
}

/* How the rows of a dataset spread over its items, a line for each training set. */
static cw_status add_popularity(const cwi_draft *d, const json_t *sets, const char *dataset)
{
    const cwi_panel p = {.draft = d, .dataset = dataset, .train_set = ""};
    json_t *series = json_array();
    for (size_t k = 0; k < json_array_size(sets); k++) {
        const json_t *set = json_array_get(sets, k);
        if (strcmp(cwi_json_get_text(set, "dataset"), dataset) == 0) add_quantiles(set, &series);
    }
    return cwi_panel_figure(
        &p, "popularity", "Popularity of the items",
        "Items by their number of train rows, on a logarithmic axis: a straight rise to the right "
        "end means that few items have most of the rows.",
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:[i, i, i, i, i, i, i, i, i], s:o}", "kind", "line",
                  "x_scale", "linear", "x_title", "items in %, rarest first", "y_title",
                  "train rows of an item", "y_scale", "log", "x", 0, 1, 10, 25, 50, 75, 90, 99, 100,
                  "series", series));
}

cw_status cwi_figures_data(const cwi_draft *d)
{
    const json_t *sets = json_object_get(d->results, "datasets");
    for (size_t k = 0; k < json_array_size(sets); k++) {
        const char *dataset = cwi_json_get_text(json_array_get(sets, k), "dataset");
        size_t first = 0;
        while (strcmp(cwi_json_get_text(json_array_get(sets, first), "dataset"), dataset) != 0)
            first++;
        if (first == k) CW_PASS(add_popularity(d, sets, dataset));
    }
    return CW_OK;
}
