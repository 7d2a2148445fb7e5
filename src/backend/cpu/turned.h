/* turned.h - rows become columns, four by four. */
#ifndef CWI_BACKEND_CPU_TURNED_H
#define CWI_BACKEND_CPU_TURNED_H

#include <stdint.h>
#include <string.h>

typedef float quad __attribute__((vector_size(16)));
typedef float quad_at __attribute__((vector_size(16), aligned(4), may_alias));

/* Four numbers of four rows become four of each column. */
static inline void turn_four(const float *from, int64_t stride, float *to, int32_t lanes)
{
    quad a = *(const quad_at *)from, b = *(const quad_at *)(from + stride);
    quad c = *(const quad_at *)(from + 2 * stride), d = *(const quad_at *)(from + 3 * stride);
    quad low_ab = __builtin_shufflevector(a, b, 0, 4, 1, 5);
    quad high_ab = __builtin_shufflevector(a, b, 2, 6, 3, 7);
    quad low_cd = __builtin_shufflevector(c, d, 0, 4, 1, 5);
    quad high_cd = __builtin_shufflevector(c, d, 2, 6, 3, 7);
    *(quad_at *)to = __builtin_shufflevector(low_ab, low_cd, 0, 1, 4, 5);
    *(quad_at *)(to + lanes) = __builtin_shufflevector(low_ab, low_cd, 2, 3, 6, 7);
    *(quad_at *)(to + 2 * lanes) = __builtin_shufflevector(high_ab, high_cd, 0, 1, 4, 5);
    *(quad_at *)(to + 3 * lanes) = __builtin_shufflevector(high_ab, high_cd, 2, 3, 6, 7);
}

/* Columns lie `lanes` numbers apart; zeros behind the last row. */
static void turn_rows(const float *from, int64_t stride, int32_t rows, int32_t columns,
                      int32_t lanes, float *to)
{
    int32_t whole = columns - columns % 4, r = 0;
    if (rows < lanes) memset(to, 0, (size_t)(columns * lanes) * sizeof *to);
    for (; r + 4 <= rows; r += 4, from += 4 * stride) {
        for (int32_t k = 8; k < 12 && r + k < rows; k++)
            for (int32_t c = 0; c < columns; c += 16) __builtin_prefetch(from + k * stride + c);
        for (int32_t c = 0; c < whole; c += 4)
            turn_four(from + c, stride, to + c * lanes + r, lanes);
        for (int32_t c = whole; c < columns; c++)
            for (int32_t k = 0; k < 4; k++) to[c * lanes + r + k] = from[k * stride + c];
    }
    for (; r < rows; r++, from += stride)
        for (int32_t c = 0; c < columns; c++) to[c * lanes + r] = from[c];
}

#endif
