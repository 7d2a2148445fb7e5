/* treatment.c - interactions free of bias that the user has beside the dataset. */
#include "core/numbers.h"
#include "prepare/pairs.h"
#include "train/train.h"

/* How many of the pairs are in that part of the dataset, too. */
static cw_status count_shared(cwi_trainer *t, const cwi_pairs *pairs, cw_part part, int64_t *count)
{
    const cwi_pairs *held = &t->dataset->part[part];
    cwi_csr by_user;
    cw_status status =
        cwi_csr_create(t->ctx, held->user, held->item, held->count, t->dataset->n_users, &by_user);
    if (status != CW_OK) return status;
    cwi_csr_sort(&by_user);
    for (int64_t k = 0; k < pairs->count; k++)
        *count += cwi_csr_has(&by_user, pairs->user[k], pairs->item[k]);
    cwi_csr_clear(&by_user);
    return CW_OK;
}

/* What is trained on must not be measured on. */
static cw_status warn_of_held_out(cwi_trainer *t, const char *path, const cwi_pairs *pairs)
{
    int64_t shared = 0;
    cw_status status = count_shared(t, pairs, CW_PART_VALID, &shared);
    if (status == CW_OK) status = count_shared(t, pairs, CW_PART_TEST, &shared);
    if (status == CW_OK && shared > 0)
        cwi_log(t->ctx, CW_LOG_WARNING,
                "%s: %lld of its %lld interactions are held out in valid or test; the measured "
                "quality will be too good",
                path, (long long)shared, (long long)pairs->count);
    return status;
}

cw_status cwi_treatment_load(cwi_trainer *t)
{
    cw_status status;
    cwi_digest digest = {0};
    cwi_pairs *pairs = &t->training.treatment;
    const char *path = cw_options_get(t->options, "treatment"); /* NULL: the method has no use */

    if (!path || !path[0]) return CW_OK;
    CW_TRY(cwi_pairs_read_raw(t->ctx, path, &t->dataset->users, &t->dataset->items, pairs));
    CW_TRY(cwi_pairs_drop_repeats(t->ctx, path,
                                  (cwi_bounds){t->dataset->n_users, t->dataset->n_items}, pairs));
    CW_TRY(warn_of_held_out(t, path, pairs));
    cwi_digest_numbers(&digest, pairs->user, (size_t)pairs->count, sizeof *pairs->user);
    cwi_digest_numbers(&digest, pairs->item, (size_t)pairs->count, sizeof *pairs->item);
    cwi_digest_print(&digest, t->treatment_hash);
done:
    return status;
}
