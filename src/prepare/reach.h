/* reach.h - how evenly a split reaches the items, and the cap and share that make it even. */
#ifndef CWI_PREPARE_REACH_H
#define CWI_PREPARE_REACH_H

#include "core/options.h"
#include "prepare/split.h"

/*
 * Choose *cap and *holdout of a debiased split where they were not given.
 *
 * A row of item i weighs min(1/d_i, cap), so items of at least 1/cap rows are tested alike and
 * rarer ones in proportion.  The cap is as large as two wishes allow: no item shall expect to lose
 * more than half of its rows, and the share held out is 0.3, or less, down to 0.1, where half of
 * the items could not be tested alike otherwise.
 */
cw_status cwi_reach_fit(cw_context *ctx, const cwi_rows *rows, const cw_options *options,
                        double *cap, double *holdout);

/* What a split came to. */
typedef struct cwi_reach {
    int64_t items;        /* with rows */
    int64_t above_cap;    /* of them: with at least 1/cap rows */
    int64_t held, tested; /* of them: with rows in valid or test, in test */
    double top_log;       /* share of all rows that the most frequent tenth of the items has */
    double top_test;      /* share of the test rows of the same items */
} cwi_reach;

cw_status cwi_reach_measure(cw_context *ctx, const cwi_rows *rows, const cwi_split *split,
                            cwi_reach *out);

#endif
