/* smallest.c - Hoare's quickselect. */
#include "core/smallest.h"

#include <math.h>
#include <string.h>

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

cwi_limit cwi_smallest(const double *value, int64_t count, int64_t n, double *work)
{
    if (n <= 0) return (cwi_limit){-INFINITY, 0};
    if (n >= count) return (cwi_limit){INFINITY, count};
    memcpy(work, value, (size_t)count * sizeof *work);
    cwi_limit limit = {nth_smallest(work, count, n - 1), n};
    for (int64_t k = 0; k < count; k++) limit.ties -= value[k] < limit.value;
    return limit;
}
