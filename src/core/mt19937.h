/* mt19937.h - the Mersenne Twister, only to repeat the splits that the paper published. */
#ifndef CWI_CORE_MT19937_H
#define CWI_CORE_MT19937_H

#include "core/context.h"

typedef struct cwi_mt19937 {
    uint32_t state[624];
    int used;
} cwi_mt19937;

void cwi_mt_init(cwi_mt19937 *mt, uint32_t seed);
uint32_t cwi_mt_u32(cwi_mt19937 *mt);

/* Uniform in [0, 1), 53 bits from two outputs. */
double cwi_mt_real(cwi_mt19937 *mt);

/* Uniform in 0..most by masked rejection. */
uint32_t cwi_mt_at_most(cwi_mt19937 *mt, uint32_t most);

/* Fill order[0..n) with a random permutation (Fisher-Yates from the end). */
void cwi_mt_permute(cwi_mt19937 *mt, int32_t *order, int32_t n);

#endif
