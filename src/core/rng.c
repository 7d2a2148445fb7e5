/* rng.c - Philox streams and the distributions drawn from them. */
#include "core/rng.h"

#include <Random123/philox.h>
#include <math.h>

#include "core/elementary.h"

CWI_SHARED_FORMULA void cwi_rng_init(cwi_rng *rng, uint64_t seed, cwi_purpose purpose,
                                     uint64_t index)
{
    rng->key[0] = (uint32_t)seed;
    rng->key[1] = (uint32_t)(seed >> 32);
    rng->counter[0] = 0;
    rng->counter[1] = (uint32_t)purpose;
    rng->counter[2] = (uint32_t)index;
    rng->counter[3] = (uint32_t)(index >> 32);
    rng->left = 0;
}

CWI_FORMULA void take_block(cwi_rng *rng, const uint32_t word[4])
{
    for (int w = 0; w < 4; w++) rng->word[w] = word[w];
    rng->counter[0]++;
    rng->left = 4;
}

CWI_SHARED_FORMULA void cwi_rng_init_with(cwi_rng *rng, uint64_t seed, cwi_purpose purpose,
                                          uint64_t index, const uint32_t word[4])
{
    cwi_rng_init(rng, seed, purpose, index);
    take_block(rng, word);
}

CWI_SHARED_FORMULA void cwi_rng_next_block(cwi_rng *rng)
{
    philox4x32_ctr_t counter = {
        {rng->counter[0], rng->counter[1], rng->counter[2], rng->counter[3]}};
    philox4x32_key_t key = {{rng->key[0], rng->key[1]}};
    philox4x32_ctr_t block = philox4x32(counter, key);
    take_block(rng, block.v);
}

CWI_SHARED_FORMULA double cwi_rng_normal(cwi_rng *rng)
{
    const double turn = 6.283185307179586;
    double radius = sqrt(-2.0 * cwi_ln(cwi_rng_real(rng)));
    return radius * cwi_cos(turn * cwi_rng_real(rng));
}
