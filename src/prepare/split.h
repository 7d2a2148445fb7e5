/* split.h - divide rows into train, valid and test. */
#ifndef CWI_PREPARE_SPLIT_H
#define CWI_PREPARE_SPLIT_H

#include "core/options.h"
#include "prepare/rows.h"

enum { CWI_PART_DROPPED = 3 }; /* beside cw_part: a row that belongs nowhere */

/* Which row is in which part is written into the rows. */
typedef struct cwi_split {
    int64_t *order; /* [n_held] held-out rows in the order their files shall have; NULL: theirs */
    int64_t n_held;
    int64_t drawn;       /* rows held out at first */
    int64_t moved_back;  /* of them: to train, because train lacked their user or item */
    int64_t dropped;     /* of them: left out for the same reason */
    double cap, holdout; /* as given or chosen; 0 where the split has none */
} cwi_split;

/* Names of the ways to split, in the order of the option's choices. */
#define CWI_SPLIT_CHOICES "auto|debiased|compat|random|leave-last|by-time|given"

/* Divide rows as the options of stage "prepare" say. */
cw_status cwi_split_create(cw_context *ctx, cwi_rows *rows, const cw_options *options,
                           cwi_split *out);
void cwi_split_clear(cwi_split *split);

/* Hold out n of the rows as validation, by the weights of the debiased split or, with cap 0, all
 * alike; those that train cannot do without go back to it. */
cw_status cwi_split_draw(cw_context *ctx, cwi_rows *rows, double cap, int64_t n, uint64_t seed,
                         cwi_split *out);

/* Which way `auto` means for these rows, by name. */
const char *cwi_split_name(const cwi_rows *rows, const cw_options *options);

#endif
