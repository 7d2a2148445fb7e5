/* itemitem.h - ranking by a matrix from items to items: scores are the sum of its rows over the
 * items that a user has. */
#ifndef CWI_SCORE_ITEMITEM_H
#define CWI_SCORE_ITEMITEM_H

#include "score/score.h"

/* The matrix as it lies, or the entries of its rows by rising column. */
typedef struct cwi_itemitem {
    const float *dense; /* [n_items][n_items], or NULL */
    cwi_csr rows;       /* columns of the entries; empty where dense */
    float *value;       /* of the entries */
    cwi_csr seen;       /* what users have; borrowed */
} cwi_itemitem;

/* A ranker by it, for which users are their train rows and newcomers their histories; `matrix` lies
 * in the pile, which is taken over. */
void cwi_itemitem_rank(const cwi_shape *shape, cwi_itemitem *matrix, cwi_pile pile,
                       cwi_ranker *out);

#endif
