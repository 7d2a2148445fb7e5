/* csr.c - grouping by counting sort. */
#include "prepare/csr.h"

#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

cw_status cwi_csr_create(cw_context *ctx, const int32_t *row, const int32_t *value, int64_t count,
                         int32_t n_rows, cwi_csr *out)
{
    *out = (cwi_csr){.n_rows = n_rows};
    out->start = cwi_alloc_zero(ctx, (size_t)n_rows + 2, sizeof *out->start);
    out->value = cwi_alloc(ctx, (size_t)count, sizeof *out->value);
    if (!out->start || !out->value) {
        cwi_csr_clear(out);
        return CW_NO_MEMORY;
    }
    /* Counts go two places up; filling then moves every start to where it belongs. */
    int64_t *next = out->start + 1;
    for (int64_t k = 0; k < count; k++) next[row[k] + 1]++;
    for (int32_t r = 0; r < n_rows; r++) next[r + 1] += next[r];
    for (int64_t k = 0; k < count; k++) out->value[next[row[k]]++] = value[k];
    return CW_OK;
}

cw_status cwi_csr_copy(cw_context *ctx, const cwi_csr *from, cwi_csr *out)
{
    if (!from->start) return CW_OK;
    size_t starts = (size_t)from->n_rows + 1, values = (size_t)from->start[from->n_rows];
    out->start = cwi_alloc(ctx, starts, sizeof *out->start);
    out->value = cwi_alloc(ctx, values, sizeof *out->value);
    if (!out->start || !out->value) return CW_NO_MEMORY;
    memcpy(out->start, from->start, starts * sizeof *out->start);
    if (values > 0) memcpy(out->value, from->value, values * sizeof *out->value);
    out->n_rows = from->n_rows;
    return CW_OK;
}

static int by_value(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;
    return (x > y) - (x < y);
}

void cwi_csr_sort(cwi_csr *csr)
{
    for (int32_t r = 0; r < csr->n_rows; r++)
        qsort(csr->value + csr->start[r], (size_t)(csr->start[r + 1] - csr->start[r]),
              sizeof *csr->value, by_value);
}

cw_status cwi_csr_join(cw_context *ctx, const cwi_csr *a, const cwi_csr *b, cwi_csr *out)
{
    int64_t n = 0;
    *out = (cwi_csr){.n_rows = a->n_rows};
    out->start = cwi_alloc(ctx, (size_t)a->n_rows + 1, sizeof *out->start);
    out->value =
        cwi_alloc(ctx, (size_t)(a->start[a->n_rows] + b->start[a->n_rows]), sizeof *out->value);
    if (!out->start || !out->value) return CW_NO_MEMORY;
    for (int32_t u = 0; u < a->n_rows; u++) {
        int64_t x = a->start[u], y = b->start[u];
        out->start[u] = n;
        while (x < a->start[u + 1] || y < b->start[u + 1]) {
            bool has_x = x < a->start[u + 1], has_y = y < b->start[u + 1];
            bool takes_x = has_x && (!has_y || a->value[x] <= b->value[y]);
            bool takes_y = has_y && (!has_x || b->value[y] <= a->value[x]);
            out->value[n++] = takes_x ? a->value[x] : b->value[y];
            x += takes_x;
            y += takes_y;
        }
    }
    out->start[a->n_rows] = n;
    return CW_OK;
}

void cwi_csr_clear(cwi_csr *csr)
{
    cwi_free(csr->start);
    cwi_free(csr->value);
    *csr = (cwi_csr){0};
}
