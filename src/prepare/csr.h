/* csr.h - pairs grouped by one of their ends (compressed sparse rows). */
#ifndef CWI_PREPARE_CSR_H
#define CWI_PREPARE_CSR_H

#include "core/context.h"
#include "core/formula.h"

/* Entries of row r are value[start[r]] .. value[start[r + 1] - 1]. */
typedef struct cwi_csr {
    int32_t n_rows;
    int64_t *start; /* [n_rows + 1] */
    int32_t *value; /* [start[n_rows]] */
} cwi_csr;

/* Group count pairs (row[k], value[k]) by row, keeping their order within a row. */
cw_status cwi_csr_create(cw_context *ctx, const int32_t *row, const int32_t *value, int64_t count,
                         int32_t n_rows, cwi_csr *out);

/* out must be empty, and stays so when there is nothing to copy; to be cleared also after a
 * failure.
 */
cw_status cwi_csr_copy(cw_context *ctx, const cwi_csr *from, cwi_csr *out);

/* What either of two has, each value of a row once; rows are ascending, and as many in both. */
cw_status cwi_csr_join(cw_context *ctx, const cwi_csr *a, const cwi_csr *b, cwi_csr *out);

/* Sort the values of every row ascending, so that cwi_csr_has works. */
void cwi_csr_sort(cwi_csr *csr);

/* First place in the ascending list where value could be put. */
CWI_FORMULA int64_t cwi_lower_bound(const int32_t *list, int64_t count, int32_t value)
{
    int64_t low = 0, high = count;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (list[middle] < value)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Is value in the row?  Rows must be sorted.  Short ones are read through: their lines come from
 * memory together, those of a search one after the other. */
CWI_FORMULA bool cwi_csr_has(const cwi_csr *csr, int32_t row, int32_t value)
{
    enum { SHORT = 256 };
    int64_t low = csr->start[row], high = csr->start[row + 1];
    int32_t found = 0;
    while (high - low > SHORT) {
        int64_t middle = low + (high - low) / 2;
        if (csr->value[middle] <= value)
            low = middle;
        else
            high = middle;
    }
    for (int64_t k = low; k < high; k++) found |= csr->value[k] == value;
    return found != 0;
}

void cwi_csr_clear(cwi_csr *csr); /* frees; a cleared or zeroed one is fine */

#endif
