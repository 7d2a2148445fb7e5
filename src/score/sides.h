/* sides.h - the distinct pairs of train from both sides: for models of the whole matrix. */
#ifndef CWI_SCORE_SIDES_H
#define CWI_SCORE_SIDES_H

#include "score/score.h"

/* Rows are ascending. */
typedef struct cwi_sides {
    cwi_csr by_user, by_item;
} cwi_sides;

/* A pair that comes several times counts once.  Clear it, also after a failure. */
cw_status cwi_sides_create(cw_context *ctx, const cwi_shape *shape, cwi_sides *out);
void cwi_sides_clear(cwi_sides *sides);

#endif
