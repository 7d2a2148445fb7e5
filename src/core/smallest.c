/* smallest.c - sorting, counting into cells, and Hoare's quickselect within one of them. */
#include "core/smallest.h"

#include <float.h>
#include <math.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

static int by_value(const void *a, const void *b)
{
    const cwi_ordered *x = a, *y = b;
    if (x->value != y->value) return x->value < y->value ? -1 : 1;
    return (x->id > y->id) - (x->id < y->id);
}

void cwi_order(cwi_ordered *list, size_t count)
{
    qsort(list, count, sizeof *list, by_value);
}

static double median_of_three(double a, double b, double c)
{
    if (a > b) {
        double swap = a;
        a = b;
        b = swap;
    }
    return c < a ? a : (c > b ? b : c);
}

/* The nth smallest value (n from 0); rearranges values. */
static double nth_smallest(double *value, int64_t count, int64_t n)
{
    int64_t low = 0, high = count - 1;
    while (low < high) {
        double pivot = median_of_three(value[low], value[low + (high - low) / 2], value[high]);
        int64_t left = low, right = high;
        while (left <= right) {
            while (value[left] < pivot) left++;
            while (value[right] > pivot) right--;
            if (left > right) break;
            double swap = value[left];
            value[left++] = value[right];
            value[right--] = swap;
        }
        if (n <= right)
            high = right;
        else if (n >= left)
            low = left;
        else
            break;
    }
    return value[n];
}

/* Equal cells from the least to the largest value. */
typedef struct cells {
    double least, per_unit;
} cells;

enum { N_CELLS = 1024, WORTH_COUNTING = 512 };

static int64_t cell_of(const cells *c, double value)
{
    return (int64_t)((value - c->least) * c->per_unit);
}

/* Lay out the cells; false where values are no finite numbers, or all the same. */
static bool lay_out(const double *value, int64_t count, cells *out)
{
    double least = INFINITY, most = -INFINITY;
    int64_t finite = 0;
    for (int64_t k = 0; k < count; k++) {
        least = value[k] < least ? value[k] : least;
        most = value[k] > most ? value[k] : most;
        finite += fabs(value[k]) <= DBL_MAX;
    }
    *out = (cells){least, (N_CELLS - 1) / (most - least)};
    return finite == count && out->per_unit > 0 && out->per_unit <= DBL_MAX;
}

/* Leave of the values those of the cell that the nth smallest is in: few, unless most values lie
 * close together.  Returns how many; *n counts from the least of them then.  Quickselect alone
 * guesses wrong at every other value which side it goes to. */
static int64_t narrow(double *value, int64_t count, int64_t *n)
{
    int32_t in[N_CELLS] = {0};
    int64_t cell = 0, left = 0;
    cells c;
    if (count < WORTH_COUNTING || !lay_out(value, count, &c)) return count;
    for (int64_t k = 0; k < count; k++) in[cell_of(&c, value[k])]++;
    for (; *n >= in[cell]; cell++) *n -= in[cell];
    for (int64_t k = 0; k < count; k++) {
        double x = value[k];
        value[left] = x;
        left += cell_of(&c, x) == cell;
    }
    return left;
}

cwi_limit cwi_smallest(const double *value, int64_t count, int64_t n, double *work)
{
    if (n <= 0) return (cwi_limit){-INFINITY, 0};
    if (n >= count) return (cwi_limit){INFINITY, count};
    memcpy(work, value, (size_t)count * sizeof *work);
    int64_t at = n - 1, few = narrow(work, count, &at);
    cwi_limit limit = {nth_smallest(work, few, at), n};
    for (int64_t k = 0; k < count; k++) limit.ties -= value[k] < limit.value;
    return limit;
}
