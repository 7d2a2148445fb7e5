/* account.h - what happened to the rows on their way into a dataset, for dataset.json and people.
 */
#ifndef CWI_PREPARE_ACCOUNT_H
#define CWI_PREPARE_ACCOUNT_H

#include <jansson.h>

#include "prepare/dataset.h"
#include "prepare/reach.h"
#include "prepare/split.h"

typedef struct cwi_account {
    int64_t rows_in, rows_kept_users, rows_core;
    int64_t core;
    const char *name; /* of the way to split */
    const cwi_split *split;
    cwi_reach reach;
} cwi_account;

json_t *cwi_account_steps(const cwi_account *account);

/* Say what was dropped, how evenly the split reaches the items, and what is not as one expects. */
void cwi_account_say(cw_context *ctx, const cwi_account *account, const cw_options *options,
                     const cw_dataset *dataset);

#endif
