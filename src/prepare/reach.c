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
static cw_status list_degrees(cw_context *ctx, const cwi_rows *rows, int64_t **out, int64_t *n)
{
    const cwi_reel reel = CWI_REEL(rows);
    int64_t *degree = *out = cwi_alloc(ctx, (size_t)rows->n_items, sizeof *degree);
    *n = 0;
    if (!degree) return CW_NO_MEMORY;
    CW_PASS(cwi_reel_degrees(ctx, &reel, 0, NULL, rows->n_items, degree));
    for (int32_t i = 0; i < rows->n_items; i++)
        if (degree[i] > 0) degree[(*n)++] = degree[i];
    cwi_sort_counts(degree, *n);
    return CW_OK;
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
    cw_status status;
    bool has_cap = cwi_options_is_set(options, "cap");
    bool has_holdout = cwi_options_is_set(options, "holdout");
    *holdout = has_holdout ? cwi_options_real(options, "holdout") : most_held;
    if (has_cap) *cap = cwi_options_real(options, "cap");
    if (has_cap || rows->count == 0) return CW_OK;
    int64_t n, alike, *degree;
    CW_TRY(list_degrees(ctx, rows, &degree, &n));
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
done:
    cwi_free(degree);
    return status;
}

/* ---- what it came to --------------------------------------------------------------- */

/* Rows of each item: all, held out, in the test. */
typedef struct tally {
    int64_t *all, *held, *test;
    cwi_ordered *order; /* items, the rarest first; of equals the one with the higher number */
    cwi_pile pile;
} tally;

static cw_status count_rows(cw_context *ctx, const cwi_rows *rows, tally *t)
{
    const cwi_reel reel = CWI_REEL(rows);
    cwi_window w = cwi_window_over(&reel);
    while (cwi_window_next(ctx, &w))
        for (int64_t k = 0; k < w.n; k++) {
            int32_t i = w.item[k];
            t->all[i]++;
            t->held[i] += w.part[k] == CW_PART_VALID || w.part[k] == CW_PART_TEST;
            t->test[i] += w.part[k] == CW_PART_TEST;
        }
    return w.status;
}

static cw_status open_tally(cw_context *ctx, const cwi_rows *rows, tally *t)
{
    size_t n = (size_t)rows->n_items;
    t->all = cwi_pile_add_zero(ctx, &t->pile, n, sizeof *t->all);
    t->held = cwi_pile_add_zero(ctx, &t->pile, n, sizeof *t->held);
    t->test = cwi_pile_add_zero(ctx, &t->pile, n, sizeof *t->test);
    t->order = cwi_pile_add(ctx, &t->pile, n, sizeof *t->order);
    CW_PASS(t->pile.status);
    CW_PASS(count_rows(ctx, rows, t));
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
    CW_TRY(open_tally(ctx, rows, &t));
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
