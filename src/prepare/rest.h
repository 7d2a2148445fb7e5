/* rest.h - fill in what the filters left out of a dataset. */
#ifndef CWI_PREPARE_REST_H
#define CWI_PREPARE_REST_H

#include "import/interactions.h"
#include "prepare/dataset.h"

/* Which of the interactions' users and items are in the dataset. */
typedef struct cwi_kept {
    const int32_t *user, *item; /* [all] number in the dataset, -1 when it is not there */
    const uint8_t *drawn;       /* [all users] was not left out by --max-users; NULL: none was */
    int32_t n_users;            /* of the dataset */
} cwi_kept;

/* out must be empty; cleared with the dataset, also after a failure. */
cw_status cwi_rest_fill(cw_context *ctx, const cw_interactions *from, const cwi_kept *kept,
                        cwi_rest *out);
cw_status cwi_rest_copy(cw_context *ctx, const cwi_rest *from, cwi_rest *out);
void cwi_rest_clear(cwi_rest *rest);

#endif
