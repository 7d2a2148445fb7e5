/* reach.c - how evenly a split reaches the items; docs/datasets.md has the rule. */
#include "prepare/reach.h"

#include <math.h>

#include "core/elementary.h"
#include "core/mem.h"
#include "core/smallest.h"
#include "prepare/dataset.h"
#include "prepare/stats.h"

static const double most_held = 0.3, least_held = 0.1;

/* Rows of each item that has any, ascending; *n of them. */
static int64_t *list_degrees(cw_context *ctx, const cwi_rows *rows, int64_t *n)
{
    int64_t *degree = cwi_alloc(ctx, (size_t)rows->n_items, sizeof *degree);
    *n = 0;
    if (!degree) return NULL;
    cwi_degrees(rows->item, rows->count, rows->n_items, degree);
    for (int32_t i = 0; i < rows->n_items; i++)
        if (degree[i] > 0) degree[(*n)++] = degree[i];
    cwi_sort_counts(degree, *n);
    return degree;
}

/* Rows that are expected to be drawn when items of up to `alike` rows lose half of theirs and all
 * others as many as one of `alike` rows. */
static double count_drawn(const int64_t *degree, int64_t n, int64_t alike)
{
    const double half = cwi_ln(2);
    double drawn = 0;
    for (int64_t k = 0, next; k < n; k = next) { /* equal ones at once */
        double d = (double)degree[k];
        for (next = k; next < n && degree[next] == degree[k];) next++;
        double chance = d <= (double)alike ? 0.5 : 1 - cwi_exp(-half * (double)alike / d);
        drawn += (double)(next - k) * d * chance;
    }
    return drawn;
}

/* The fewest rows from which items are tested alike so that this many are drawn. */
static int64_t find_alike(const int64_t *degree, int64_t n, double wanted)
{
    int64_t low = 1, high = degree[n - 1]; /* too few, enough if any number is */
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        *(count_drawn(degree, n, middle) < wanted ? &low : &high) = middle;
    }
    return high > 2 ? high : 2;
}

static int64_t clamp(int64_t value, int64_t low, int64_t high)
{
    return value < low ? low : (value > high ? high : value);
}

cw_status cwi_reach_fit(cw_context *ctx, const cwi_rows *rows, const cw_options *options,
                        double *cap, double *holdout)
{
    bool has_cap = cwi_options_is_set(options, "cap");
    bool has_holdout = cwi_options_is_set(options, "holdout");
    *holdout = has_holdout ? cwi_options_real(options, "holdout") : most_held;
    if (has_cap) *cap = cwi_options_real(options, "cap");
    if (has_cap || rows->count == 0) return CW_OK;
    int64_t n, alike, *degree = list_degrees(ctx, rows, &n);
    if (!degree) return CW_NO_MEMORY;
    double count = (double)rows->count;
    if (has_holdout) {
        alike = find_alike(degree, n, *holdout * count);
    } else {
        alike = clamp(cwi_quantile(degree, n, 0.5), find_alike(degree, n, least_held * count),
                      find_alike(degree, n, most_held * count));
        double share = rint(100 * count_drawn(degree, n, alike) / count) / 100;
        *holdout = fmin(fmax(share, least_held), most_held);
    }
    *cap = 1 / (double)alike;
    cwi_free(degree);
    return CW_OK;
}

/* ---- what it came to --------------------------------------------------------------- */

/* Rows of each item: all, held out, in the test. */
typedef struct tally {
    int64_t *all, *held, *test;
    cwi_ordered *order; /* items, the rarest first; of equals the one with the higher number */
    cwi_pile pile;
} tally;

static cw_status open_tally(cw_context *ctx, const cwi_rows *rows, const cwi_split *split, tally *t)
{
    size_t n = (size_t)rows->n_items;
    t->all = cwi_pile_add_zero(ctx, &t->pile, n, sizeof *t->all);
    t->held = cwi_pile_add_zero(ctx, &t->pile, n, sizeof *t->held);
    t->test = cwi_pile_add_zero(ctx, &t->pile, n, sizeof *t->test);
    t->order = cwi_pile_add(ctx, &t->pile, n, sizeof *t->order);
    if (t->pile.status != CW_OK) return t->pile.status;
    for (int64_t r = 0; r < rows->count; r++) {
        int32_t i = rows->item[r];
        t->all[i]++;
        t->held[i] += split->part[r] == CW_PART_VALID || split->part[r] == CW_PART_TEST;
        t->test[i] += split->part[r] == CW_PART_TEST;
    }
    for (size_t i = 0; i < n; i++) t->order[i] = (cwi_ordered){(double)t->all[i], -(int64_t)i};
    cwi_order(t->order, n);
    return CW_OK;
}

/* Share of the rows that the last tenth of the order has. */
static double share_of_top(const tally *t, const int64_t *rows, int64_t n_items, int64_t used)
{
    int64_t top = (used + 9) / 10;
    double sum = 0, part = 0;
    for (int64_t k = 0; k < n_items; k++) {
        double count = (double)rows[-t->order[k].id];
        sum += count;
        if (k >= n_items - top) part += count;
    }
    return sum > 0 ? part / sum : 0;
}

cw_status cwi_reach_measure(cw_context *ctx, const cwi_rows *rows, const cwi_split *split,
                            cwi_reach *out)
{
    tally t = {0};
    cw_status status;

    *out = (cwi_reach){0};
    CW_TRY(open_tally(ctx, rows, split, &t));
    for (int32_t i = 0; i < rows->n_items; i++) {
        out->items += t.all[i] > 0;
        out->above_cap += split->cap > 0 && (double)t.all[i] * split->cap >= 1 - 1e-9;
        out->held += t.held[i] > 0;
        out->tested += t.test[i] > 0;
    }
    out->top_log = share_of_top(&t, t.all, rows->n_items, out->items);
    out->top_test = share_of_top(&t, t.test, rows->n_items, out->items);
done:
    cwi_pile_clear(&t.pile);
    return status;
}
