/* roster.h - the distinct rows of a batch, and where the two rows of a slot stand among them. */
#ifndef CWI_SCORE_ROSTER_H
#define CWI_SCORE_ROSTER_H

#include "core/idset.h"
#include "core/mem.h"
#include "sample/batch.h"

/* Rows of a table are users, then items; a slot (u, i) has rows u and n_users + i. */
typedef struct cwi_roster {
    cwi_idset ids;  /* scratch */
    int32_t *place; /* [rows of the table] number in the list, of those that are in it */
    int64_t n, n_users;
    int32_t *row;               /* [n] ascending */
    int32_t *user_at, *item_at; /* [max_slots] places of the two rows of a slot */
    cwi_pile pile;
} cwi_roster;

/* For a table of n_rows rows, of which batches touch at most `most`. */
cw_status cwi_roster_create(cw_context *ctx, int64_t n_rows, int64_t most, int64_t max_slots,
                            cwi_roster *out);
void cwi_roster_clear(cwi_roster *roster); /* a zeroed one is fine; also after a failure */

void cwi_roster_fill(cwi_roster *roster, const cwi_batch *batch, int32_t n_users);

/* Rows row[0], row[1], ... of `from` side by side in `to`; or rows place[row[0]], ... when place
 * is given. */
cw_status cwi_gather(cw_context *ctx, const float *from, int32_t width, const int32_t *row,
                     int64_t n, const int32_t *place, float *to);

#endif
