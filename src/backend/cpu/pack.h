/* pack.h - numbers between two bounds side by side, on CPUs where that takes longer than to go
 * through all of them some times more. */
#ifndef CWI_BACKEND_CPU_PACK_H
#define CWI_BACKEND_CPU_PACK_H

#include <stdbool.h>
#include <stdint.h>

enum { PACK_PAYS = false };

static inline int64_t pack_between(const float *x, int64_t n, float low, float high, float *to)
{
    int64_t packed = 0;
    for (int64_t j = 0; j < n; j++)
        if (x[j] >= low && x[j] < high) to[packed++] = x[j];
    return packed;
}

#endif
