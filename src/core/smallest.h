/* smallest.h - values in order, and which of many are the n smallest. */
#ifndef CWI_CORE_SMALLEST_H
#define CWI_CORE_SMALLEST_H

#include <stddef.h>
#include <stdint.h>

/* A value and whose it is. */
typedef struct cwi_ordered {
    double value;
    int64_t id;
} cwi_ordered;

/* Sort by rising value, and equal ones by rising id. */
void cwi_order(cwi_ordered *list, size_t count);

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
