/* columns.h - sums and scalings by column; the same bits on any number of threads. */
#ifndef CWI_SCORE_COLUMNS_H
#define CWI_SCORE_COLUMNS_H

#include "core/context.h"

/* Rows of numbers that lie `stride` floats apart. */
typedef struct cwi_matrix {
    float *data;
    int64_t rows;
    int32_t columns, stride;
} cwi_matrix;

/* Row r of a matrix. */
static inline float *cwi_row(const cwi_matrix *m, int64_t r)
{
    return m->data + r * m->stride;
}

/* The rows from the first on, `rows` of them. */
static inline cwi_matrix cwi_rows_of(const cwi_matrix *m, int64_t first, int64_t rows)
{
    return (cwi_matrix){cwi_row(m, first), rows, m->columns, m->stride};
}

/* The columns from the first on, `columns` of them. */
static inline cwi_matrix cwi_columns_of(const cwi_matrix *m, int32_t first, int32_t columns)
{
    return (cwi_matrix){m->data + first, m->rows, columns, m->stride};
}

/* out[c] += sum over the rows of a[r][c] * b[r][c]; b NULL: all ones.  Shapes must be equal. */
cw_status cwi_columns_sum(cw_context *ctx, const cwi_matrix *a, const cwi_matrix *b, float *out);

/* x[r][c] *= by[c] */
cw_status cwi_columns_scale(cw_context *ctx, const cwi_matrix *x, const float *by);

/* to[at_user[k]] += from[k] and to[at_item[k]] += from[k], k = 0, 1, ... over the rows of from. */
cw_status cwi_columns_scatter(cw_context *ctx, const cwi_matrix *from, const int32_t *at_user,
                              const int32_t *at_item, const cwi_matrix *to);

#endif
