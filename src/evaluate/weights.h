/* weights.h - how held-out rows came to be seen, for the metrics that undo it. */
#ifndef CWI_EVALUATE_WEIGHTS_H
#define CWI_EVALUATE_WEIGHTS_H

#include "core/file.h"
#include "core/options.h"
#include "import/idmap.h"
#include "prepare/pairs.h"

typedef struct cwi_exposure {
    bool is_uniform;           /* everything was as likely to be shown to everybody */
    double *weight;            /* [n_items] 1 / propensity; NULL: nobody knows it */
    char hash[CWI_HASH_BYTES]; /* of the propensities of a file; "" without one */
} cwi_exposure;

/* Do the options propensity or propensity-power, with this prefix, say anything? */
bool cwi_weights_are_given(const cw_options *options, const char *prefix);

/* Read what these options (WEIGHING_ROWS) say into an exposure that has no weights; it stays
 * without where they say nothing.
 *   degree  [items->count] in the training set */
cw_status cwi_weights_create(cw_context *ctx, const cw_options *options, const char *prefix,
                             const cwi_idmap *items, const int64_t *degree, cwi_exposure *out);
void cwi_exposure_clear(cwi_exposure *exposure); /* a zeroed one is fine */

/* Refuse rows whose item has propensity 0: that they were seen says the propensity is wrong. */
cw_status cwi_weights_check(cw_context *ctx, const cwi_exposure *exposure, const char *prefix,
                            const cwi_pairs *held, const cwi_idmap *items);

#endif
