/* rows.h - the working copy of interactions that filters shrink and splits divide. */
#ifndef CWI_PREPARE_ROWS_H
#define CWI_PREPARE_ROWS_H

#include "core/mem.h"
#include "core/reel.h"

typedef struct cwi_rows {
    int64_t count;
    int32_t *user, *item;     /* [count] ids of the imported interactions */
    double *time;             /* [count] or NULL */
    uint8_t *part;            /* [count] cw_part, or 3 for none: as given, then as they are split */
    cwi_spill *spill;         /* NULL; else rows are in this file and the arrays NULL */
    bool is_split;            /* parts were given */
    bool has_time;            /* rows have */
    int32_t n_users, n_items; /* ids are below these, not all of them need occur */
    cwi_pile pile;
} cwi_rows;

/* In a file where the interactions are. */
cw_status cwi_rows_copy(cw_context *ctx, const cw_interactions *from, cwi_rows *out);
/* Bring rows of a file into memory, as the compat draws want them; it fails where there is not
 * enough for these. */
cw_status cwi_rows_bring(cw_context *ctx, cwi_rows *rows);

void cwi_rows_clear(cwi_rows *rows); /* also after a failure */

/* Drop users and items with fewer than k rows again and again until none is left. */
cw_status cwi_rows_core(cw_context *ctx, cwi_rows *rows, int64_t k);

/* Keep n users drawn uniformly without replacement, by keys. */
cw_status cwi_rows_subsample(cw_context *ctx, cwi_rows *rows, int64_t n, uint64_t seed);

/* The same as the authors drew them: rows are then listed user by user in drawn order. */
cw_status cwi_rows_subsample_compat(cw_context *ctx, cwi_rows *rows, int64_t n, uint64_t seed);

#endif
