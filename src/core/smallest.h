/* smallest.h - which of many values are the n smallest. */
#ifndef CWI_CORE_SMALLEST_H
#define CWI_CORE_SMALLEST_H

#include <stdint.h>

/* Values below `value` are among them, and of those equal to it the first `ties`. */
typedef struct cwi_limit {
    double value;
    int64_t ties;
} cwi_limit;

/* The limit of the n smallest of count values; work has room for count. */
cwi_limit cwi_smallest(const double *value, int64_t count, int64_t n, double *work);

/* Is this value, asked for in order of index, among them? */
static inline int cwi_limit_take(cwi_limit *limit, double value)
{
    if (value < limit->value) return 1;
    return value == limit->value && limit->ties-- > 0;
}

#endif
