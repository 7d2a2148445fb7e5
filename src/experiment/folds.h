/*
 * folds.h - several validation parts of one dataset, for trials to be judged by.
 *
 * Fold 0 is the dataset as it is.  In the others the rows of train and validation together are
 * divided anew by the law of the split, as many of them held out; the test part is that of the
 * dataset in all of them.
 */
#ifndef CWI_EXPERIMENT_FOLDS_H
#define CWI_EXPERIMENT_FOLDS_H

#include "prepare/dataset.h"

enum { CWI_MAX_FOLDS = 20 };

typedef struct cwi_folds {
    int n;
    cw_dataset set[CWI_MAX_FOLDS]; /* [n] all but train and valid of those after the first is
                                      borrowed */
} cwi_folds;

/* How many folds a dataset asks for: enough that about a thousand users decide, five at most.  One
 * where a draw could not make such a part: rows that were given, or the latest. */
cw_status cwi_folds_choose(cw_context *ctx, const cw_dataset *data, int *n);

/* Draw them; the same seed, the same folds.  To be cleared also after a failure. */
cw_status cwi_folds_create(cw_context *ctx, const cw_dataset *data, int n, uint64_t seed,
                           cwi_folds *out);
void cwi_folds_clear(cwi_folds *folds);

#endif
