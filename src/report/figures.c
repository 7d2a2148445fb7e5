/* figures.c - the charts of an experiment. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/mem.h"
#include "core/report.h"
#include "core/text.h"
#include "experiment/cells.h"
#include "report/findings.h"
#include "report/markup.h"
#include "report/published.h"

enum { MAX_EPOCHS = 1000000, NAME_BYTES = 256 };

/* The rows of a table that have a dataset and a training set in common. */
typedef struct panel {
    const cwi_findings *f;
    const json_t *table;
    const char *dataset, *train_set;
    bool names_train_set; /* there are others in the table */
} panel;

static bool is_shown(const panel *p, const json_t *row)
{
    return strcmp(cwi_markup_get(row, "dataset"), p->dataset) == 0 &&
           strcmp(cwi_markup_get(row, "train_set"), p->train_set) == 0;
}

/* Row number k of the panel; NULL past the last. */
static const json_t *row_at(const panel *p, size_t k)
{
    size_t index;
    json_t *row;
    json_array_foreach(json_object_get(p->table, "rows"), index, row)
    {
        if (is_shown(p, row) && k-- == 0) return row;
    }
    return NULL;
}

/* "CPR on LightGCN" */
static const char *name_of(const panel *p, const json_t *row, char out[NAME_BYTES])
{
    bool by_backbone = json_is_true(json_object_get(p->table, "by_backbone"));
    const char *method = cwi_published_title(p->f->published, cwi_markup_get(row, "method"));
    const char *backbone = cwi_published_title(p->f->published, cwi_markup_get(row, "backbone"));
    snprintf(out, NAME_BYTES, "%.100s%s%.100s", method, by_backbone ? " on " : "",
             by_backbone ? backbone : "");
    return out;
}

static json_t *real_or_null(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

static double mean_of(const json_t *row, const char *key)
{
    const json_t *value = json_object_get(json_object_get(row, "mean"), key);
    return json_is_number(value) ? json_number_value(value) : NAN;
}

static int add_series(json_t *series, const char *name, json_t *values, bool is_reference)
{
    json_t *one = json_pack("{s:o, s:o}", "name", cwi_report_string(name), "values", values);
    if (is_reference) json_object_set_new(one, "reference", json_true());
    return json_array_append_new(series, one);
}

/* A section with a chart; everything is consumed. */
static cw_status add_figure(const panel *p, const char *what, const char *title, const char *text,
                            json_t *chart, int bad)
{
    char name[CWI_SECTION_BYTES], heading[512];
    cwi_findings_name(p->f, cwi_markup_get(p->table, "title"), p->dataset,
                      p->names_train_set ? p->train_set : "", what, name);
    snprintf(heading, sizeof heading, "%.100s, %.150s%s%.100s", title, p->dataset,
             p->names_train_set ? ", " : "", p->names_train_set ? p->train_set : "");
    json_t *section = json_pack("{s:s, s:o, s:s, s:o}", "name", name, "subheading",
                                cwi_report_string(heading), "text", text, "chart", chart);
    if (bad) {
        json_decref(section);
        section = NULL;
    }
    return cwi_findings_add(p->f, section);
}

/* ---- recall by epoch ------------------------------------------------------------------- */

/* Validation by epoch of a row: the mean over its seeds as far as all of them were measured. */
typedef struct curve {
    double *sum; /* [MAX] by epoch */
    int *n;      /* runs measured at it */
    int *known;  /* is it an epoch of the chart? */
    size_t epochs;
} curve;

static json_int_t epoch_of(const json_t *point)
{
    json_int_t epoch = json_integer_value(json_object_get(point, "epoch"));
    return epoch >= 0 && epoch < MAX_EPOCHS ? epoch : 0;
}

static size_t last_epoch(const panel *p)
{
    const json_t *row, *run;
    json_int_t last = 0;
    for (size_t r = 0; (row = row_at(p, r)) != NULL; r++)
        for (size_t k = 0; k < json_array_size(json_object_get(row, "runs")); k++) {
            size_t index;
            json_t *point;
            run = cwi_findings_run(p->f, row, k);
            json_array_foreach(json_object_get(run, "curve"), index, point)
            {
                if (epoch_of(point) > last) last = epoch_of(point);
            }
        }
    return (size_t)last;
}

/* Add up the runs of a row; returns how many there are. */
static int collect(const panel *p, const json_t *row, const char *key, curve *c)
{
    int n_runs = 0;
    memset(c->sum, 0, c->epochs * sizeof *c->sum);
    memset(c->n, 0, c->epochs * sizeof *c->n);
    for (size_t k = 0; k < json_array_size(json_object_get(row, "runs")); k++) {
        const json_t *run = cwi_findings_run(p->f, row, k);
        size_t index;
        json_t *point;
        n_runs += run != NULL;
        json_array_foreach(json_object_get(run, "curve"), index, point)
        {
            const json_t *value = json_object_get(json_object_get(point, "valid"), key);
            if (!json_is_number(value)) continue;
            c->sum[epoch_of(point)] += json_number_value(value);
            c->n[epoch_of(point)]++;
        }
    }
    return n_runs;
}

static double curve_value(const curve *c, size_t epoch, int n_runs)
{
    return n_runs > 0 && c->n[epoch] == n_runs ? c->sum[epoch] / n_runs : NAN;
}

/* Which epochs have a value in any row? */
static void mark_known(const panel *p, const char *key, curve *c)
{
    const json_t *row;
    for (size_t r = 0; (row = row_at(p, r)) != NULL; r++) {
        int n_runs = collect(p, row, key, c);
        for (size_t e = 0; e < c->epochs; e++) c->known[e] |= !isnan(curve_value(c, e, n_runs));
    }
}

/* A method that does not train is the same at every epoch. */
static bool is_constant(const curve *c, int n_runs)
{
    for (size_t e = 1; e < c->epochs; e++)
        if (!isnan(curve_value(c, e, n_runs))) return false;
    return !isnan(curve_value(c, 0, n_runs));
}

static int add_curve(const panel *p, const json_t *row, const char *key, curve *c, json_t *series)
{
    char name[NAME_BYTES];
    json_t *values = json_array();
    int n_runs = collect(p, row, key, c), bad = 0;
    bool is_flat = is_constant(c, n_runs);
    for (size_t e = 0; e < c->epochs; e++)
        if (c->known[e])
            bad |= json_array_append_new(values,
                                         real_or_null(curve_value(c, is_flat ? 0 : e, n_runs)));
    return add_series(series, name_of(p, row, name), values, is_flat) | bad;
}

static cw_status draw_curves(const panel *p, curve *c)
{
    char key[32], label[48], y_title[96];
    const json_t *row;
    json_t *x = json_array(), *series = json_array();
    int bad = 0;
    cwi_findings_metric(p->table, "recall", key, label);
    mark_known(p, key, c);
    for (size_t e = 0; e < c->epochs; e++)
        if (c->known[e]) bad |= json_array_append_new(x, json_integer((json_int_t)e));
    for (size_t r = 0; (row = row_at(p, r)) != NULL; r++) bad |= add_curve(p, row, key, c, series);
    snprintf(y_title, sizeof y_title, "%s on the validation part", label);
    return add_figure(
        p, "recall-by-epoch", "Recall by epoch", "Mean over the seeds, as far as all of them went.",
        json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "kind", "line", "x_scale", "linear", "x_title",
                  "epoch", "y_title", y_title, "x", x, "series", series),
        bad);
}

static cw_status add_curves(const panel *p)
{
    curve c = {.epochs = last_epoch(p) + 1};
    cw_status status = CW_NO_MEMORY;
    if (c.epochs < 2) return CW_OK; /* nothing was trained */
    c.sum = cwi_alloc_zero(p->f->ctx, c.epochs, sizeof *c.sum);
    c.n = cwi_alloc_zero(p->f->ctx, c.epochs, sizeof *c.n);
    c.known = cwi_alloc_zero(p->f->ctx, c.epochs, sizeof *c.known);
    if (c.sum && c.n && c.known) status = draw_curves(p, &c);
    cwi_free(c.sum);
    cwi_free(c.n);
    cwi_free(c.known);
    return status;
}

/* ---- times -------------------------------------------------------------------------------- */

/* Mean over the runs, NAN where it is nothing: it is shown on a scale of powers. */
static double mean_time(const panel *p, const json_t *row, const char *key)
{
    double sum = 0;
    int n = 0;
    for (size_t k = 0; k < json_array_size(json_object_get(row, "runs")); k++) {
        const json_t *run = cwi_findings_run(p->f, row, k);
        const json_t *value = json_object_get(json_object_get(run, "time"), key);
        if (!json_is_number(value)) continue;
        sum += json_number_value(value);
        n++;
    }
    return sum > 0 ? sum / n : NAN;
}

static cw_status add_times(const panel *p)
{
    static const char *const keys[] = {"train_s", "eval_s"};
    static const char *const names[] = {"training", "evaluation on the way"};
    const json_t *row;
    char name[NAME_BYTES];
    json_t *x = json_array(), *series = json_array();
    int bad = 0;
    for (size_t r = 0; (row = row_at(p, r)) != NULL; r++)
        bad |= cwi_cell_add(x, name_of(p, row, name));
    for (size_t k = 0; k < 2; k++) {
        json_t *values = json_array();
        for (size_t r = 0; (row = row_at(p, r)) != NULL; r++)
            bad |= json_array_append_new(values, real_or_null(mean_time(p, row, keys[k])));
        bad |= add_series(series, names[k], values, false);
    }
    return add_figure(p, "time", "Training time",
                      "Mean over the seeds, to the stop, on a logarithmic axis. Times of runs that "
                      "shared a machine are no benchmark.",
                      json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "kind", "bar", "x_title",
                                "method", "y_title", "seconds", "y_scale", "log", "x", x, "series",
                                series),
                      bad);
}

/* ---- shares of the popularity groups ----------------------------------------------------------
 */

static const json_t *groups_of(const panel *p)
{
    const json_t *row;
    for (size_t r = 0; (row = row_at(p, r)) != NULL; r++)
        for (size_t k = 0; k < json_array_size(json_object_get(row, "runs")); k++) {
            const json_t *run = cwi_findings_run(p->f, row, k);
            if (json_array_size(json_object_get(run, "groups")) > 0)
                return json_object_get(run, "groups");
        }
    return NULL;
}

static int add_group_reference(const json_t *groups, const char *key, const char *name,
                               json_t *series)
{
    json_t *values = json_array();
    int bad = 0;
    for (size_t g = 0; g < json_array_size(groups); g++)
        bad |= json_array_append_new(
            values, json_real(json_number_value(json_object_get(json_array_get(groups, g), key))));
    return add_series(series, name, values, true) | bad;
}

static int add_shares_of(const panel *p, const json_t *row, size_t n_groups, json_t *series)
{
    char name[NAME_BYTES];
    const json_t *shares = json_object_get(row, "shares");
    json_t *values = json_array();
    int bad = 0;
    for (size_t g = 0; g < n_groups; g++) {
        const json_t *share = json_array_get(shares, g);
        bad |= json_array_append_new(
            values, json_is_number(share) ? json_real(json_number_value(share)) : json_null());
    }
    return add_series(series, name_of(p, row, name), values, false) | bad;
}

static cw_status add_shares(const panel *p)
{
    const json_t *groups = groups_of(p), *row;
    size_t n = json_array_size(groups);
    if (n == 0) return CW_OK;
    json_t *x = json_array(), *series = json_array();
    int bad = 0;
    for (size_t g = 0; g < n; g++) {
        char label[64];
        snprintf(label, sizeof label, "%zu%s", g + 1,
                 g == 0       ? " (least popular)"
                 : g + 1 == n ? " (most popular)"
                              : "");
        bad |= cwi_cell_add(x, label);
    }
    for (size_t r = 0; (row = row_at(p, r)) != NULL; r++) bad |= add_shares_of(p, row, n, series);
    bad |= add_group_reference(groups, "train_share", "train rows", series);
    bad |= add_group_reference(groups, "held_share", "test rows", series);
    return add_figure(
        p, "shares", "Who gets recommended",
        "Share of the recommendations by groups of items that have about equally many train rows. "
        "The nearer a method is to the test rows, the less it repeats popularity.",
        json_pack("{s:s, s:s, s:s, s:o, s:o}", "kind", "line", "x_title", "group of items",
                  "y_title", "share of the recommendations", "x", x, "series", series),
        bad);
}

/* ---- accuracy against popularity
 * ------------------------------------------------------------------ */

static int add_point(const panel *p, const json_t *row, size_t index, size_t n, double y,
                     json_t *series)
{
    char name[NAME_BYTES];
    json_t *values = json_array();
    int bad = 0;
    for (size_t k = 0; k < n; k++)
        bad |= json_array_append_new(values, k == index ? real_or_null(y) : json_null());
    return add_series(series, name_of(p, row, name), values, false) | bad;
}

static cw_status add_scatter(const panel *p)
{
    char recall[32], arp[32], y_title[48], x_title[48], title[96];
    const json_t *row;
    size_t n = 0, at = 0;
    json_t *x = json_array(), *series = json_array();
    int bad = 0;
    cwi_findings_metric(p->table, "recall", recall, y_title);
    cwi_findings_metric(p->table, "arp", arp, x_title);
    for (size_t r = 0; (row = row_at(p, r)) != NULL; r++) {
        if (!isfinite(mean_of(row, arp))) continue;
        bad |= json_array_append_new(x, json_real(mean_of(row, arp)));
        n++;
    }
    for (size_t r = 0; (row = row_at(p, r)) != NULL; r++)
        if (isfinite(mean_of(row, arp)))
            bad |= add_point(p, row, at++, n, mean_of(row, recall), series);
    snprintf(title, sizeof title, "%s, mean popularity of what is recommended", x_title);
    return add_figure(p, "accuracy-popularity", "Accuracy against popularity",
                      "Up is more accurate, left is less popular.",
                      json_pack("{s:s, s:s, s:s, s:s, s:o, s:o}", "kind", "scatter", "x_title",
                                title, "y_title", y_title, "y_scale", "fit", "x", x, "series",
                                series),
                      bad);
}

/* ---- settings
 * ---------------------------------------------------------------------------------------- */

static const json_t *varied_of(const json_t *row, const char *key)
{
    return json_object_get(json_object_get(row, "varied"), key);
}

/* The values of a varied option in the rows of the panel, each once, as a new array. */
static json_t *values_of(const panel *p, const char *key)
{
    const json_t *row;
    json_t *list = json_array();
    for (size_t r = 0; (row = row_at(p, r)) != NULL; r++) {
        json_t *value = (json_t *)varied_of(row, key);
        bool is_known = !json_is_number(value);
        for (size_t k = 0; k < json_array_size(list) && !is_known; k++)
            is_known = json_equal(json_array_get(list, k), value);
        if (is_known || json_array_append(list, value) == 0) continue;
        json_decref(list);
        return NULL;
    }
    return list;
}

/* The varied option with the most values: what the x axis shows.  NULL: none has two. */
static const char *find_axis(const panel *p)
{
    const char *key, *best = NULL;
    json_t *unused;
    const json_t *row;
    size_t most = 1;
    for (size_t r = 0; (row = row_at(p, r)) != NULL; r++)
        json_object_foreach(json_object_get(row, "varied"), key, unused)
        {
            json_t *values = values_of(p, key);
            if (json_array_size(values) > most) {
                most = json_array_size(values);
                best = key;
            }
            json_decref(values);
        }
    return best;
}

/* Do two rows belong to the same line: alike in all but the option of the axis? */
static bool is_same_line(const json_t *a, const json_t *b, const char *axis)
{
    const char *key;
    json_t *value;
    if (!json_equal(json_object_get(a, "method"), json_object_get(b, "method")) ||
        !json_equal(json_object_get(a, "backbone"), json_object_get(b, "backbone")) ||
        json_object_size(json_object_get(a, "varied")) !=
            json_object_size(json_object_get(b, "varied")))
        return false;
    json_object_foreach(json_object_get(a, "varied"), key, value)
    {
        const json_t *other = varied_of(b, key);
        if (!other || (strcmp(key, axis) != 0 && !json_equal(value, other))) return false;
    }
    return true;
}

/* "CPR, max-k 3" */
static const char *line_name(const panel *p, const json_t *row, const char *axis,
                             char out[NAME_BYTES])
{
    char settings[CWI_CELL_BYTES] = "";
    json_t *others = json_copy(json_object_get(row, "varied"));
    json_object_del(others, axis);
    size_t used = strlen(name_of(p, row, out));
    if (json_object_size(others) > 0) cwi_cell_settings(others, settings);
    if (settings[0]) snprintf(out + used, NAME_BYTES - used, ", %.60s", settings);
    json_decref(others);
    return out;
}

/* The value of the line of `row` at a value of the axis; a row without the axis is level. */
static double value_at(const panel *p, const json_t *row, const char *axis, const json_t *x,
                       const char *key)
{
    const json_t *other;
    if (!varied_of(row, axis)) return mean_of(row, key);
    for (size_t r = 0; (other = row_at(p, r)) != NULL; r++)
        if (is_same_line(row, other, axis) && json_equal(varied_of(other, axis), x))
            return mean_of(other, key);
    return NAN;
}

static bool is_first_of_line(const panel *p, const json_t *row, const char *axis)
{
    const json_t *other;
    for (size_t r = 0; (other = row_at(p, r)) != row; r++)
        if (is_same_line(row, other, axis)) return false;
    return true;
}

static cw_status add_settings(const panel *p)
{
    const char *axis = find_axis(p);
    const json_t *row;
    char key[32], label[48], name[NAME_BYTES];
    if (!axis) return CW_OK;
    json_t *x = values_of(p, axis), *series = json_array();
    int bad = 0;
    cwi_findings_metric(p->table, "recall", key, label);
    for (size_t r = 0; (row = row_at(p, r)) != NULL; r++) {
        if (!is_first_of_line(p, row, axis)) continue;
        json_t *values = json_array();
        for (size_t k = 0; k < json_array_size(x); k++)
            bad |= json_array_append_new(
                values, real_or_null(value_at(p, row, axis, json_array_get(x, k), key)));
        bad |= add_series(series, line_name(p, row, axis, name), values, !varied_of(row, axis));
    }
    return add_figure(
        p, "settings", "Settings", "Lines of methods without the option of the x axis are level.",
        json_pack("{s:s, s:s, s:s, s:s, s:s, s:o, s:o}", "kind", "line", "x_scale", "linear",
                  "x_title", axis, "y_title", label, "y_scale", "fit", "x", x, "series", series),
        bad);
}

/* ---- the whole
 * ------------------------------------------------------------------------------------------ */

static bool has_settings(const panel *p)
{
    const json_t *row;
    for (size_t r = 0; (row = row_at(p, r)) != NULL; r++)
        if (json_object_size(json_object_get(row, "varied")) > 0) return true;
    return false;
}

static cw_status add_panel(const panel *p)
{
    cw_status status;
    if (has_settings(p)) return add_settings(p);
    CW_TRY(add_curves(p));
    CW_TRY(add_times(p));
    CW_TRY(add_shares(p));
    CW_TRY(add_scatter(p));
done:
    return status;
}

cw_status cwi_figures_table(const cwi_findings *f, const json_t *table)
{
    const json_t *rows = json_object_get(table, "rows"), *first = json_array_get(rows, 0);
    bool has_train_sets = false;
    size_t index;
    json_t *row;
    json_array_foreach(rows, index, row) has_train_sets |=
        !json_equal(json_object_get(row, "train_set"), json_object_get(first, "train_set"));
    json_array_foreach(rows, index, row)
    {
        panel p = {f, table, cwi_markup_get(row, "dataset"), cwi_markup_get(row, "train_set"),
                   has_train_sets};
        if (row_at(&p, 0) != row) continue; /* had its turn */
        cw_status status = add_panel(&p);
        if (status != CW_OK) return status;
    }
    return CW_OK;
}

/* ---- the data
 * --------------------------------------------------------------------------------------------- */

static int add_quantiles(const json_t *set, json_t *series)
{
    static const char *const keys[] = {"min", "p1",  "p10", "p25", "median",
                                       "p75", "p90", "p99", "max"};
    const json_t *degrees = json_object_get(json_object_get(set, "description"), "item_degrees");
    json_t *values = json_array();
    int bad = 0;
    for (size_t k = 0; k < sizeof keys / sizeof keys[0]; k++) {
        double value = json_number_value(json_object_get(degrees, keys[k]));
        bad |= json_array_append_new(values, value > 0 ? json_real(value) : json_null());
    }
    return add_series(series, cwi_markup_get(set, "train_set"), values, false) | bad;
}

cw_status cwi_figures_data(const cwi_findings *f)
{
    const json_t *sets = json_object_get(f->results, "datasets");
    for (size_t k = 0; k < json_array_size(sets); k++) {
        const char *dataset = cwi_markup_get(json_array_get(sets, k), "dataset");
        json_t *series = json_array();
        int bad = 0;
        size_t first = k;
        for (size_t j = 0; j < json_array_size(sets); j++) {
            const json_t *set = json_array_get(sets, j);
            if (strcmp(cwi_markup_get(set, "dataset"), dataset) != 0) continue;
            if (j < first) first = j;
            bad |= add_quantiles(set, series);
        }
        if (first < k) {
            json_decref(series);
            continue;
        }
        panel p = {.f = f, .dataset = dataset, .train_set = ""};
        cw_status status = add_figure(
            &p, "popularity", "Popularity of the items",
            "Items by their number of train rows, on a logarithmic axis: a straight rise to the "
            "right "
            "end means that few items have most of the rows.",
            json_pack("{s:s, s:s, s:s, s:s, s:s, s:[i, i, i, i, i, i, i, i, i], s:o}", "kind",
                      "line", "x_scale", "linear", "x_title", "items in %, rarest first", "y_title",
                      "train rows of an item", "y_scale", "log", "x", 0, 1, 10, 25, 50, 75, 90, 99,
                      100, "series", series),
            bad);
        if (status != CW_OK) return status;
    }
    return CW_OK;
}
