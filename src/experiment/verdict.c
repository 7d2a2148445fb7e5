/* verdict.c - what a table of results comes to, in one sentence. */
#include "experiment/verdict.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/text.h"
#include "evaluate/significance.h"
#include "experiment/cells.h"
#include "experiment/plan.h"

/* More datasets than this make a sentence that nobody reads. */
enum { MAX_CLAUSES = 6 };

typedef struct judge {
    cw_context *ctx;
    const json_t *results, *table, *rows;
    const cwi_titles *titles;
    char key[32]; /* of the metric among the means, "" when there is none */
    char metric[48];
    int digits;
    bool names_train_set; /* the table has several of a dataset */
    char *out;
    size_t used;
} judge;

static void say(judge *j, const char *format, ...) CWI_PRINTF(2, 3);

/* Append as far as there is room. */
static void say(judge *j, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    int n = vsnprintf(j->out + j->used, CWI_VERDICT_BYTES - j->used, format, arguments);
    va_end(arguments);
    if (n > 0) j->used += (size_t)n;
    if (j->used >= CWI_VERDICT_BYTES) j->used = CWI_VERDICT_BYTES - 1;
}

/* ---- what is compared --------------------------------------------------------------------- */

static const json_t *row_at(const judge *j, size_t r)
{
    return json_array_get(j->rows, r);
}

static const json_t *run_at(const judge *j, const json_t *row, size_t k)
{
    const char *name = json_string_value(json_array_get(json_object_get(row, "runs"), k));
    return name ? json_object_get(json_object_get(j->results, "runs"), name) : NULL;
}

static double mean_of(const judge *j, const json_t *row)
{
    return cwi_json_to_number(json_object_get(json_object_get(row, "mean"), j->key));
}

static bool is_same_data(const json_t *a, const json_t *b)
{
    return json_equal(json_object_get(a, "dataset"), json_object_get(b, "dataset")) &&
           json_equal(json_object_get(a, "train_set"), json_object_get(b, "train_set"));
}

static bool is_ours(const judge *j, const json_t *row)
{
    return cwi_json_has(json_object_get(j->table, "ours"), json_object_get(row, "method"));
}

/* What the runs were chosen by, recall where no run says it. */
static void find_metric(judge *j)
{
    int metric = CWI_METRIC_recall;
    const char *chosen = "";
    for (size_t r = 0; r < json_array_size(j->rows) && !chosen[0]; r++)
        chosen =
            cwi_json_get_text(json_object_get(run_at(j, row_at(j, r), 0), "options"), "metric");
    for (int m = 0; m < CWI_N_METRICS; m++) {
        size_t length = strlen(cwi_metric_table[m].name);
        if (strncmp(chosen, cwi_metric_table[m].name, length) == 0 && chosen[length] == '@')
            metric = m;
    }
    cwi_cell_metric(j->table, metric, j->key, j->metric);
    j->digits = cwi_metric_table[metric].digits;
}

/* The best row of some data: any, or one that is or is not of `ours`; the one named is left out. */
typedef enum side { ANY, OURS, BASELINES } side;

static const json_t *find_best(const judge *j, const json_t *data, side which, const json_t *except)
{
    const json_t *best = NULL;
    for (size_t r = 0; r < json_array_size(j->rows); r++) {
        const json_t *row = row_at(j, r);
        if (row == except || !is_same_data(row, data) || isnan(mean_of(j, row))) continue;
        if (which != ANY && (which == OURS) != is_ours(j, row)) continue;
        if (!best || mean_of(j, row) > mean_of(j, best)) best = row;
    }
    return best;
}

/* Values of two rows with the same seed, side by side. */
static int64_t pair_up(const judge *j, const json_t *a, const json_t *b, double *x, double *y)
{
    int64_t n = 0;
    for (size_t s = 0; run_at(j, a, s); s++)
        for (size_t t = 0; run_at(j, b, t) && n < CWI_MAX_SEEDS; t++) {
            const json_t *left = run_at(j, a, s), *right = run_at(j, b, t);
            x[n] = cwi_json_to_number(json_object_get(json_object_get(left, "test"), j->key));
            y[n] = cwi_json_to_number(json_object_get(json_object_get(right, "test"), j->key));
            n += json_equal(json_object_get(left, "seed"), json_object_get(right, "seed")) &&
                 !isnan(x[n]) && !isnan(y[n]);
        }
    return n;
}

/* ---- words ---------------------------------------------------------------------------------- */

static const char *title_of(const judge *j, const json_t *row, const char *key)
{
    const char *name = cwi_json_get_text(row, key);
    return j->titles ? j->titles->title(j->titles->titles, name) : name;
}

/* "CPR on LightGCN with cycle 2", as far as the table tells rows apart by it. */
static void say_row(judge *j, const json_t *row)
{
    char text[CWI_CELL_BYTES];
    const json_t *varied = json_object_get(row, "varied");
    say(j, "%.60s", title_of(j, row, "method"));
    if (json_is_true(json_object_get(j->table, "by_backbone")))
        say(j, " on %.60s", title_of(j, row, "backbone"));
    if (json_object_size(varied) > 0) say(j, " with %.120s", cwi_cell_settings(varied, text));
}

static void say_data(judge *j, const json_t *row)
{
    say(j, " on %.100s", cwi_json_get_text(row, "dataset"));
    if (j->names_train_set) say(j, " (%.60s)", cwi_json_get_text(row, "train_set"));
}

/* How sure it is, in brackets. */
static cw_status say_chance(judge *j, const json_t *a, const json_t *b)
{
    double x[CWI_MAX_SEEDS], y[CWI_MAX_SEEDS];
    char p[CWI_CELL_BYTES];
    cwi_pairing result;
    int64_t n = pair_up(j, a, b, x, y);
    if (n < 2) {
        say(j, " (%swhether that is chance cannot be said)", n == 1 ? "with one seed " : "");
        return CW_OK;
    }
    CW_PASS(cwi_pairing_test(j->ctx, x, y, n, &result));
    if (result.sd == 0) {
        say(j, " (the same with each of %lld seeds)", (long long)n);
        return CW_OK;
    }
    say(j, " (%sp %s in a paired t test over %lld seeds)",
        result.t_p < 0.05 ? "" : "which may be chance: ", cwi_cell_chance(result.t_p, p),
        (long long)n);
    return CW_OK;
}

/* "CPR has the best Recall@20 on sim, 0.0895, +9.16 % over BPR, the best baseline (...)". */
static cw_status say_clause(judge *j, const json_t *data, bool is_first)
{
    char text[CWI_CELL_BYTES];
    const json_t *best = find_best(j, data, ANY, NULL);
    const json_t *ours = find_best(j, data, OURS, NULL);
    const json_t *baseline = find_best(j, data, BASELINES, NULL);
    const json_t *next = find_best(j, data, ANY, best);
    bool has_sides = ours && baseline;
    const json_t *other = !has_sides ? next : best == ours ? baseline : ours;
    double value = mean_of(j, best), rival = mean_of(j, other);
    say_row(j, best);
    if (value == rival) {
        say(j, " and ");
        say_row(j, other);
    }
    if (is_first) say(j, " %s the best %s", value == rival ? "have" : "has", j->metric);
    say_data(j, best);
    say(j, ", %s%s", value == rival ? "both " : "", cwi_cell_fixed(value, j->digits, text));
    if (value == rival) return CW_OK;
    if (has_sides && best == baseline) {
        say(j, ", and against it ");
        say_row(j, other);
        say(j, ", the best of ours, is at %s", cwi_cell_gain(rival, value, text));
    } else {
        say(j, ", %s over ", cwi_cell_gain(value, rival, text));
        say_row(j, other);
        say(j, ", the %s", has_sides ? "best baseline" : "next");
    }
    return say_chance(j, best, other);
}

/* ---- the whole --------------------------------------------------------------------------------
 */

/* Is it the first row of its data, and does anything stand against its best? */
static bool is_contest(const judge *j, size_t r)
{
    const json_t *row = row_at(j, r), *best = find_best(j, row, ANY, NULL);
    for (size_t k = 0; k < r; k++)
        if (is_same_data(row_at(j, k), row)) return false;
    return best && find_best(j, row, ANY, best);
}

static bool has_train_sets(const judge *j)
{
    for (size_t r = 1; r < json_array_size(j->rows); r++)
        if (!json_equal(json_object_get(row_at(j, r), "train_set"),
                        json_object_get(row_at(j, 0), "train_set")))
            return true;
    return false;
}

cw_status cwi_verdict(cw_context *ctx, const json_t *results, const json_t *table,
                      const cwi_titles *titles, char out[CWI_VERDICT_BYTES])
{
    judge j = {.ctx = ctx, .results = results, .table = table, .titles = titles, .out = out};
    size_t n = 0;
    out[0] = '\0';
    j.rows = json_object_get(table, "rows");
    j.names_train_set = has_train_sets(&j);
    find_metric(&j);
    for (size_t r = 0; j.key[0] && r < json_array_size(j.rows); r++) {
        if (!is_contest(&j, r)) continue;
        if (n > 0 && n < MAX_CLAUSES) say(&j, "; ");
        if (n < MAX_CLAUSES) CW_PASS(say_clause(&j, row_at(&j, r), n == 0));
        n++;
    }
    if (n > MAX_CLAUSES) say(&j, "; %zu more in the table", n - MAX_CLAUSES);
    if (n > 0) say(&j, ".");
    return CW_OK;
}
