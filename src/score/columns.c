/*
 * columns.c - threads share the columns, not the rows: every number is summed in the order of the
 * rows by one thread.
 */
#include "score/columns.h"

#include "core/pool.h"

enum { COLUMNS_A_CHUNK = 32, ROWS_A_CHUNK = 128 };

typedef struct job {
    const cwi_matrix *a, *b;
    const int32_t *at[2];
    const float *by;
    float *out;
} job;

static cw_status sum_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    double sum[COLUMNS_A_CHUNK] = {0};
    (void)chunk;
    for (int64_t r = 0; r < j->a->rows; r++) {
        const float *a = cwi_row(j->a, r) + begin, *b = j->b ? cwi_row(j->b, r) + begin : NULL;
        for (int64_t c = 0; c < end - begin; c++)
            sum[c] += b ? (double)a[c] * (double)b[c] : (double)a[c];
    }
    for (int64_t c = begin; c < end; c++) j->out[c] += (float)sum[c - begin];
    return CW_OK;
}

cw_status cwi_columns_sum(cw_context *ctx, const cwi_matrix *a, const cwi_matrix *b, float *out)
{
    job j = {.a = a, .b = b, .out = out};
    return cwi_pool_for(ctx, a->columns, COLUMNS_A_CHUNK, sum_chunk, &j);
}

static cw_status scale_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    (void)chunk;
    for (int64_t r = begin; r < end; r++) {
        float *row = cwi_row(j->a, r);
        for (int32_t c = 0; c < j->a->columns; c++) row[c] *= j->by[c];
    }
    return CW_OK;
}

cw_status cwi_columns_scale(cw_context *ctx, const cwi_matrix *x, const float *by)
{
    job j = {.a = x, .by = by};
    return cwi_pool_for(ctx, x->rows, ROWS_A_CHUNK, scale_chunk, &j);
}

static cw_status scatter_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    (void)chunk;
    for (int64_t r = 0; r < j->a->rows; r++) {
        const float *from = cwi_row(j->a, r);
        for (int side = 0; side < 2; side++) {
            float *to = cwi_row(j->b, j->at[side][r]);
            for (int64_t c = begin; c < end; c++) to[c] += from[c];
        }
    }
    return CW_OK;
}

cw_status cwi_columns_scatter(cw_context *ctx, const cwi_matrix *from, const int32_t *at_user,
                              const int32_t *at_item, const cwi_matrix *to)
{
    job j = {.a = from, .b = to, .at = {at_user, at_item}};
    return cwi_pool_for(ctx, from->columns, COLUMNS_A_CHUNK, scatter_chunk, &j);
}
