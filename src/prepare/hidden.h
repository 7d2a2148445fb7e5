/* hidden.h - rows that nobody trains on, and that recommending leaves out all the same. */
#ifndef CWI_PREPARE_HIDDEN_H
#define CWI_PREPARE_HIDDEN_H

#include "import/interactions.h"
#include "prepare/dataset.h"

/* Number of a user of the dataset; n_users and up for those that were left out; -1: nobody. */
int32_t cwi_find_anybody(const cw_dataset *dataset, const char *id);

/* Append the rows whose user and item the dataset knows, as its numbers; there must be room. */
cw_status cwi_hidden_add(cw_context *ctx, const cwi_below *below, const cw_dataset *dataset,
                         cwi_pairs *rows);

/* Hide these rows: each once, and none that a part or a user who was left out has.  What is in the
 * rest besides must be there already, and nothing hidden yet. */
cw_status cwi_hidden_fill(cw_context *ctx, const cwi_pairs *rows, cw_dataset *dataset);

/* Both for the rows of a log below --min-rating. */
cw_status cwi_hide_below(cw_context *ctx, const cwi_below *below, cw_dataset *dataset);

#endif
