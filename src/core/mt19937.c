/* mt19937.c - Mersenne Twister (Matsumoto and Nishimura, 1998). */
#include "core/mt19937.h"

enum { N = 624, M = 397 };

void cwi_mt_init(cwi_mt19937 *mt, uint32_t seed)
{
    mt->state[0] = seed;
    for (uint32_t j = 1; j < N; j++) {
        uint32_t before = mt->state[j - 1];
        mt->state[j] = 1812433253U * (before ^ (before >> 30)) + j;
    }
    mt->used = N;
}

static void refill(cwi_mt19937 *mt)
{
    uint32_t *state = mt->state;
    for (int j = 0; j < N; j++) {
        uint32_t mixed = (state[j] & 0x80000000U) | (state[(j + 1) % N] & 0x7fffffffU);
        state[j] = state[(j + M) % N] ^ (mixed >> 1) ^ ((mixed & 1) ? 0x9908b0dfU : 0);
    }
    mt->used = 0;
}

uint32_t cwi_mt_u32(cwi_mt19937 *mt)
{
    if (mt->used == N) refill(mt);
    uint32_t y = mt->state[mt->used++];
    y ^= y >> 11;
    y ^= (y << 7) & 0x9d2c5680U;
    y ^= (y << 15) & 0xefc60000U;
    return y ^ (y >> 18);
}

double cwi_mt_real(cwi_mt19937 *mt)
{
    uint32_t high = cwi_mt_u32(mt) >> 5;
    uint32_t low = cwi_mt_u32(mt) >> 6;
    return ((double)high * 67108864.0 + (double)low) / 9007199254740992.0;
}

uint32_t cwi_mt_at_most(cwi_mt19937 *mt, uint32_t most)
{
    uint32_t mask = most, value;
    for (unsigned shift = 1; shift < 32; shift *= 2) mask |= mask >> shift;
    do value = cwi_mt_u32(mt) & mask;
    while (value > most);
    return value;
}

void cwi_mt_permute(cwi_mt19937 *mt, int32_t *order, int32_t n)
{
    for (int32_t j = 0; j < n; j++) order[j] = j;
    for (int32_t j = n - 1; j > 0; j--) {
        int32_t k = (int32_t)cwi_mt_at_most(mt, (uint32_t)j);
        int32_t swapped = order[j];
        order[j] = order[k];
        order[k] = swapped;
    }
}
