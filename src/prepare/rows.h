/* rows.h - the working copy of interactions that filters shrink and splits divide. */
#ifndef CWI_PREPARE_ROWS_H
#define CWI_PREPARE_ROWS_H

#include "core/mem.h"

typedef struct cwi_rows {
    int64_t count;
    int32_t *user, *item;     /* [count] ids of the imported interactions */
    double *time;             /* [count] or NULL */
    uint8_t *part;            /* [count] cw_part of a given split, or NULL */
    int32_t n_users, n_items; /* ids are below these, not all of them need occur */
    cwi_pile pile;
} cwi_rows;

cw_status cwi_rows_copy(cw_context *ctx, const cw_interactions *from, cwi_rows *out);
void cwi_rows_clear(cwi_rows *rows); /* also after a failure */

/* Drop users and items with fewer than k rows again and again until none is left. */
cw_status cwi_rows_core(cw_context *ctx, cwi_rows *rows, int64_t k);

/* Keep n users drawn uniformly without replacement, by keys. */
cw_status cwi_rows_subsample(cw_context *ctx, cwi_rows *rows, int64_t n, uint64_t seed);

/* The same as the authors drew them: rows are then listed user by user in drawn order. */
cw_status cwi_rows_subsample_compat(cw_context *ctx, cwi_rows *rows, int64_t n, uint64_t seed);

#endif
