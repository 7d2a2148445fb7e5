/* dcor.h - distance correlation between the two halves of vectors, and its gradient. */
#ifndef CWI_LOSS_DCOR_H
#define CWI_LOSS_DCOR_H

#include "core/context.h"

/* Vectors of `width` floats: number k is row[k] of the table, its gradient row place[k] of another
 * array.  The first half of a vector is its x, the second its y. */
typedef struct cwi_points {
    const float *table;
    int32_t width;
    int64_t n;
    const int32_t *row, *place; /* [n] */
} cwi_points;

/* Scratch for so many points.  No matrix of distances is kept: they are computed twice. */
typedef struct cwi_dcor {
    int64_t max_n;
    double *mean[2]; /* [max_n] mean distance of a point to all, in x and in y */
    double *sum;     /* [chunks][3] products of distances: xx, yy, xy */
    float *pull;     /* [chunks][width] made when the width is known */
} cwi_dcor;

cw_status cwi_dcor_create(cw_context *ctx, int64_t max_n, cwi_dcor *out);
void cwi_dcor_clear(cwi_dcor *work); /* a zeroed one is fine */

/* *value = dCor(x, y), 0 where it has no meaning; weight times its gradient is added to the rows
 * of `gradient`.  Pairs of points without distance add nothing.  O(n^2 width), on all threads. */
cw_status cwi_dcor_add(cw_context *ctx, cwi_dcor *work, const cwi_points *points, double weight,
                       float *gradient, double *value);

#endif
