/* layout.c - a table as papers print it. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/elementary.h"
#include "core/json.h"
#include "core/mem.h"
#include "experiment/cells.h"
#include "report/draft.h"
#include "report/markup.h"
#include "report/published.h"

/* What sets the rows of a table apart, in the order of their columns. */
static const char *const features[] = {"train_set", "backbone", "varied", "method"};
static const char *const feature_titles[] = {"train set", "backbone", "setting", "method"};

enum {
    N_FEATURES = sizeof features / sizeof features[0],
    TRAIN_SET = 0,
    BACKBONE = 1,
    VARIED = 2,
    METHOD = 3
};

/* A printed line: the rows of the results that differ in the dataset alone. */
typedef struct line {
    const json_t *row; /* the first of them */
    size_t block;
} line;

typedef struct across {
    const char *dataset, *paper; /* paper: its name there, NULL when it is none of the paper's */
    bool has_paper[CWI_N_METRICS];
} across;

typedef struct layout {
    const cwi_draft *draft;
    const json_t *table, *rows;
    line *lines;
    size_t n_lines, n_blocks;
    across *sets;
    size_t n_sets;
    bool shows[N_FEATURES];
} layout;

typedef enum side { ALL, BASELINES, OURS } side;

/* ---- lines and columns --------------------------------------------------------------- */

static bool has_same(const json_t *a, const json_t *b, const char *key)
{
    return json_equal(json_object_get(a, key), json_object_get(b, key));
}

static bool is_same_line(const json_t *a, const json_t *b)
{
    for (int f = 0; f < N_FEATURES; f++)
        if (!has_same(a, b, features[f])) return false;
    return true;
}

static void find_lines(layout *l)
{
    for (size_t r = 0; r < json_array_size(l->rows); r++) {
        const json_t *row = json_array_get(l->rows, r);
        size_t k = 0;
        while (k < l->n_lines && !is_same_line(l->lines[k].row, row)) k++;
        if (k == l->n_lines) l->lines[l->n_lines++] = (line){.row = row};
    }
}

/* Lines that stand against each other; `is_strict`: with the same setting and, where it matters,
 * the same backbone. */
static bool are_rivals(const layout *l, const json_t *a, const json_t *b, bool is_strict)
{
    bool by_backbone = json_is_true(json_object_get(l->table, "by_backbone"));
    if (!has_same(a, b, "train_set")) return false;
    return !is_strict || (has_same(a, b, "varied") && (!by_backbone || has_same(a, b, "backbone")));
}

static void number_blocks(layout *l, bool is_strict)
{
    l->n_blocks = 0;
    for (size_t k = 0; k < l->n_lines; k++) {
        l->lines[k].block = l->n_blocks;
        for (size_t j = 0; j < k && l->lines[k].block == l->n_blocks; j++)
            if (are_rivals(l, l->lines[j].row, l->lines[k].row, is_strict))
                l->lines[k].block = l->lines[j].block;
        if (l->lines[k].block == l->n_blocks) l->n_blocks++;
    }
}

/* Number the blocks and bring the lines of each together, in the order they had. */
static void find_blocks(layout *l)
{
    number_blocks(l, true);
    if (l->n_blocks == l->n_lines) number_blocks(l, false); /* one method, many settings */
    for (size_t k = 1; k < l->n_lines; k++) {
        line moved = l->lines[k];
        size_t at = k;
        for (; at > 0 && l->lines[at - 1].block > moved.block; at--)
            l->lines[at] = l->lines[at - 1];
        l->lines[at] = moved;
    }
}

/* The paper's name of a dataset, from the counts of any of its training sets. */
static const char *find_paper(const cwi_draft *d, const char *dataset)
{
    size_t index;
    json_t *set;
    json_array_foreach(json_object_get(d->results, "datasets"), index, set)
    {
        const json_t *description = json_object_get(set, "description");
        if (strcmp(cwi_json_get_text(set, "dataset"), dataset) == 0)
            return cwi_published_dataset(d->published,
                                         json_integer_value(json_object_get(description, "users")),
                                         json_integer_value(json_object_get(description, "items")));
    }
    return NULL;
}

static void find_sets(layout *l)
{
    size_t index;
    json_t *row;
    json_array_foreach(l->rows, index, row)
    {
        const char *dataset = cwi_json_get_text(row, "dataset");
        size_t k = 0;
        while (k < l->n_sets && strcmp(l->sets[k].dataset, dataset) != 0) k++;
        if (k == l->n_sets)
            l->sets[l->n_sets++] = (across){dataset, find_paper(l->draft, dataset), {false}};
        for (int m = 0; m < CWI_N_METRICS; m++)
            l->sets[k].has_paper[m] |= !isnan(cwi_published_value(
                l->draft->published, l->sets[k].paper, row, cwi_metric_table[m].name));
    }
}

/* A feature that is the same everywhere says nothing; the method is always named. */
static void choose_features(layout *l)
{
    l->shows[METHOD] = true;
    l->shows[BACKBONE] = json_is_true(json_object_get(l->table, "by_backbone"));
    for (size_t k = 1; k < l->n_lines; k++) {
        l->shows[TRAIN_SET] |= !has_same(l->lines[k].row, l->lines[0].row, "train_set");
        l->shows[VARIED] |= !has_same(l->lines[k].row, l->lines[0].row, "varied");
    }
}

/* ---- values ---------------------------------------------------------------------------- */

static bool is_ours(const layout *l, const line *at)
{
    return cwi_json_has(json_object_get(l->table, "ours"), json_object_get(at->row, "method"));
}

/* The row of the results behind a cell; SIZE_MAX where the plan has none. */
static size_t find_row(const layout *l, const line *at, const across *set)
{
    for (size_t r = 0; r < json_array_size(l->rows); r++) {
        const json_t *row = json_array_get(l->rows, r);
        if (is_same_line(row, at->row) &&
            strcmp(cwi_json_get_text(row, "dataset"), set->dataset) == 0)
            return r;
    }
    return SIZE_MAX;
}

/* The mean, for gains; NAN where there is nothing. */
static double mean_value(const layout *l, const line *at, const across *set, int m)
{
    char key[32], title[48];
    const json_t *row = json_array_get(l->rows, find_row(l, at, set));
    cwi_cell_metric(l->table, m, key, title);
    return cwi_json_to_number(json_object_get(json_object_get(row, "mean"), key));
}

/* As it will be shown, so that what looks equal is equal. */
static double shown_value(const layout *l, const line *at, const across *set, int m)
{
    double scale = cwi_pow(10, cwi_metric_table[m].digits);
    return round(mean_value(l, at, set, m) * scale) / scale;
}

static double paper_value(const layout *l, const line *at, const across *set, int m)
{
    return cwi_published_value(l->draft->published, set->paper, at->row, cwi_metric_table[m].name);
}

typedef double (*value_fn)(const layout *l, const line *at, const across *set, int m);

/* The best value of one side of a block, and of how many; NAN: there is none. */
static double best_of(const layout *l, size_t block, side which, const across *set, int m,
                      value_fn value_at, size_t *count)
{
    double best = NAN;
    *count = 0;
    for (size_t k = 0; k < l->n_lines; k++) {
        const line *at = &l->lines[k];
        if (at->block != block || (which != ALL && (which == OURS) != is_ours(l, at))) continue;
        double value = value_at(l, at, set, m);
        if (isnan(value)) continue;
        bool is_better = cwi_metric_table[m].is_low_good ? value < best : value > best;
        if (isnan(best) || is_better) best = value;
        ++*count;
    }
    return best;
}

/* Stars for a row that is better than the best baseline by more than chance. */
static const char *stars_of(const layout *l, size_t row, const char *key)
{
    double p = cwi_cell_p(l->table, row, key);
    return p < 0.001 ? "***" : p < 0.01 ? "**" : p < 0.05 ? "*" : "";
}

/* ---- cells ------------------------------------------------------------------------------- */

static json_t *value_cell(const layout *l, const line *at, const across *set, int m)
{
    char key[32], title[48], text[CWI_CELL_BYTES], spread[CWI_CELL_BYTES] = "";
    int digits = cwi_metric_table[m].digits;
    size_t row = find_row(l, at, set), n_all, n_baselines;
    double value = shown_value(l, at, set, m);
    if (row == SIZE_MAX) return json_null();
    if (isnan(value)) return json_string("failed");
    cwi_cell_metric(l->table, m, key, title);
    const json_t *sd = json_object_get(json_object_get(json_array_get(l->rows, row), "sd"), key);
    if (json_is_number(sd)) cwi_cell_fixed(json_number_value(sd), digits, spread);
    double best = best_of(l, at->block, ALL, set, m, shown_value, &n_all);
    double best_baseline = best_of(l, at->block, BASELINES, set, m, shown_value, &n_baselines);
    bool is_baseline = !is_ours(l, at) && n_all > 1;
    return json_pack("{s:s, s:s, s:s, s:b, s:b}", "text", cwi_cell_fixed(value, digits, text),
                     "spread", spread, "stars", stars_of(l, row, key), "bold",
                     n_all > 1 && value == best, "underline",
                     is_baseline && value == best_baseline);
}

static json_t *paper_cell(const layout *l, const line *at, const across *set, int m)
{
    char text[CWI_CELL_BYTES];
    double value = paper_value(l, at, set, m);
    const cw_metric_info *info = &cwi_metric_table[m];
    if (isnan(value)) return json_null();
    return json_string(cwi_cell_fixed(value, info->is_low_good ? 0 : info->digits, text));
}

/* "+9.16 %": the best of ours over the best baseline of a block. */
static json_t *gain_cell(const layout *l, size_t block, const across *set, int m, value_fn value_at)
{
    char text[CWI_CELL_BYTES];
    size_t n_ours, n_baselines;
    double ours = best_of(l, block, OURS, set, m, value_at, &n_ours);
    double baseline = best_of(l, block, BASELINES, set, m, value_at, &n_baselines);
    if (cwi_metric_table[m].is_low_good || !isfinite(ours / baseline)) return json_null();
    return json_string(cwi_cell_gain(ours, baseline, text));
}

static json_t *list_features(const layout *l, const line *at, bool is_gain)
{
    char text[CWI_CELL_BYTES];
    json_t *cells = json_array();
    for (int f = 0; f < N_FEATURES; f++) {
        const json_t *value = json_object_get(at->row, features[f]);
        const char *name = json_string_value(value);
        const char *shown =
            name ? cwi_published_title(l->draft->published, name) : cwi_cell_settings(value, text);
        if (l->shows[f]) cwi_cell_add(&cells, is_gain && f == METHOD ? "gain" : shown);
    }
    return cells;
}

/* The cells of a line, or what its block gains. */
static json_t *make_line(const layout *l, const line *at, bool is_gain)
{
    json_t *cells = list_features(l, at, is_gain);
    for (size_t s = 0; s < l->n_sets; s++)
        for (int m = 0; m < CWI_N_METRICS; m++) {
            const across *set = &l->sets[s];
            if (cwi_metric_table[m].place != CW_METRIC_MAIN) continue;
            cwi_json_add(&cells, is_gain ? gain_cell(l, at->block, set, m, mean_value)
                                         : value_cell(l, at, set, m));
            if (set->has_paper[m])
                cwi_json_add(&cells, is_gain ? gain_cell(l, at->block, set, m, paper_value)
                                             : paper_cell(l, at, set, m));
        }
    return cells;
}

/* Has the block anything to say a gain about? */
static bool has_gain(const layout *l, size_t block)
{
    size_t n_ours, n_baselines;
    for (size_t s = 0; s < l->n_sets; s++) {
        best_of(l, block, OURS, &l->sets[s], CWI_METRIC_recall, shown_value, &n_ours);
        best_of(l, block, BASELINES, &l->sets[s], CWI_METRIC_recall, shown_value, &n_baselines);
        if (n_ours > 0 && n_baselines > 0) return true;
    }
    return false;
}

/* ---- the whole ---------------------------------------------------------------------------- */

static void add_set_head(const layout *l, const across *set, json_t **columns, json_t **spans)
{
    char key[32], label[48], title[256];
    int width = 0;
    for (int m = 0; m < CWI_N_METRICS; m++) {
        if (cwi_metric_table[m].place != CW_METRIC_MAIN) continue;
        cwi_cell_metric(l->table, m, key, label);
        cwi_cell_add(columns, label);
        width++;
        if (!set->has_paper[m]) continue;
        cwi_cell_add(columns, "paper");
        width++;
    }
    snprintf(title, sizeof title, "%.120s%s%s%s", set->dataset, set->paper ? " (" : "",
             set->paper ? set->paper : "", set->paper ? ")" : "");
    cwi_json_add(spans, json_pack("[o, i]", cwi_json_string(title), width));
}

static void add_head(const layout *l, json_t **columns, json_t **spans)
{
    int width = 0;
    for (int f = 0; f < N_FEATURES; f++) {
        if (!l->shows[f]) continue;
        cwi_cell_add(columns, feature_titles[f]);
        width++;
    }
    cwi_json_add(spans, json_pack("[s, i]", "", width));
    for (size_t s = 0; s < l->n_sets; s++) add_set_head(l, &l->sets[s], columns, spans);
}

static void add_rows(const layout *l, json_t **rows, json_t **rules)
{
    for (size_t k = 0; k < l->n_lines; k++) {
        const line *at = &l->lines[k];
        bool is_first = k == 0 || at->block != at[-1].block;
        bool is_last = k + 1 == l->n_lines || at->block != at[1].block;
        if (is_first && k > 0)
            cwi_json_add(rules, json_integer((json_int_t)json_array_size(*rows)));
        cwi_json_add(rows, make_line(l, at, false));
        if (is_last && has_gain(l, at->block)) cwi_json_add(rows, make_line(l, at, true));
    }
}

cw_status cwi_layout_table(const cwi_draft *d, const json_t *table, json_t **out)
{
    layout l = {.draft = d, .table = table, .rows = json_object_get(table, "rows")};
    size_t n = json_array_size(l.rows);
    cw_status status = CW_NO_MEMORY;

    *out = NULL;
    l.lines = cwi_alloc(d->ctx, n, sizeof *l.lines);
    l.sets = cwi_alloc(d->ctx, n, sizeof *l.sets);
    if (l.lines && l.sets) {
        find_lines(&l);
        find_blocks(&l);
        find_sets(&l);
        choose_features(&l);
        json_t *columns = json_array(), *spans = json_array();
        json_t *rows = json_array(), *rules = json_array();
        add_head(&l, &columns, &spans);
        add_rows(&l, &rows, &rules);
        *out = json_pack("{s:o, s:o, s:o, s:o}", "columns", columns, "spans", spans, "rows", rows,
                         "rules", rules);
        status = cwi_json_check(d->ctx, *out);
    }
    cwi_free(l.lines);
    cwi_free(l.sets);
    return status;
}
