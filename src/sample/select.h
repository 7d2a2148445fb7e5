/* select.h - keep the rows of a batch that are ranked worst. */
#ifndef CWI_SAMPLE_SELECT_H
#define CWI_SAMPLE_SELECT_H

#include "sample/batch.h"

/*
 * Keep the `keep` rows with the smallest margin, equal ones by lower index; scores and marks move
 * along.
 *   score   [slots of the batch][heads]
 *   margin  [rows of the batch]
 *   per_group  choose in every group its share of rows (paper) instead of jointly (authors' code)
 *   work    [rows of the batch] scratch
 */
void cwi_select_hardest(cwi_batch *batch, float *score, int32_t heads, const double *margin,
                        int64_t keep, bool per_group, double *work);

#endif
