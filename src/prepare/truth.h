/* truth.h - the true model behind a simulated dataset: formulas, files. */
#ifndef CWI_PREPARE_TRUTH_H
#define CWI_PREPARE_TRUTH_H

#include "prepare/dataset.h"

/* Zeroed arrays for so many users and items; dim, at least 1, is kept. */
cw_status cwi_truth_create(cw_context *ctx, int32_t n_users, int32_t n_items, int32_t dim,
                           cwi_truth **out);

/* What is inside the sigmoid of the relevance, without the offset. */
double cwi_truth_taste(const cwi_truth *truth, int32_t user, int32_t item);

/* P(relevant). */
double cwi_truth_relevance(const cwi_truth *truth, int32_t user, int32_t item);

/* P(exposed | relevant); times the relevance it is P(interaction). */
double cwi_truth_exposure(const cwi_truth *truth, int32_t user, int32_t item);

/* The same truth for other ids: new user k is old user users[k], the same for items.
 * `uniform` is left empty. */
cw_status cwi_truth_select(cw_context *ctx, const cwi_truth *from, const int32_t *users,
                           int32_t n_users, const int32_t *items, int32_t n_items, cwi_truth **out);

/* What lies in the folder of a dataset for its truth; ends with NULL. */
extern const char *const cwi_truth_files[];

/* Write folder/truth/, which must not be there yet; `uniform` is the caller's to write. */
cw_status cwi_truth_save(cw_context *ctx, const cwi_truth *truth, int32_t n_users, int32_t n_items,
                         const char *folder);

/* Read folder/truth/ for a dataset of that size, `uniform` left empty; *out is NULL when there
 * is no such folder.  Values that the model does not allow are refused. */
cw_status cwi_truth_load(cw_context *ctx, const char *folder, int32_t n_users, int32_t n_items,
                         cwi_truth **out);

#endif
