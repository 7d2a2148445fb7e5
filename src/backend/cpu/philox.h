/*
 * philox.h - Philox4x32-10 of several streams at once (core/rng.h makes them one by one).
 *
 * A word of a counter lies in the low half of a number of 64 bits, because its product has so many.
 * What is left in the high half is never read.  Include it after defining `wide`, some such numbers
 * side by side, and wide_product(): the low halves times a word.
 */
#include <stdint.h>

enum { WIDE_LANES = sizeof(wide) / sizeof(uint64_t), PHILOX_ROUNDS = 10 };

__attribute__((always_inline)) static inline void mix(wide x[4], uint64_t seed)
{
    uint32_t low = (uint32_t)seed, high = (uint32_t)(seed >> 32);
    for (int round = 0; round < PHILOX_ROUNDS; round++) {
        wide p = wide_product(x[0], 0xd2511f53u), q = wide_product(x[2], 0xcd9e8d57u);
        x[0] = (q >> 32) ^ x[1] ^ low;
        x[1] = q;
        x[2] = (p >> 32) ^ x[3] ^ high;
        x[3] = p;
        low += 0x9e3779b9u;
        high += 0xbb67ae85u;
    }
}

static void random_blocks(uint64_t seed, uint32_t purpose, uint64_t first, int64_t n, uint32_t *out)
{
    for (int64_t k = 0; k < n; k += WIDE_LANES) {
        wide none = {0}, index = none;
        for (int l = 0; l < WIDE_LANES; l++) index[l] = first + (uint64_t)(k + l);
        wide x[4] = {none, none + purpose, index, index >> 32};
        mix(x, seed);
        for (int l = 0; l < WIDE_LANES && k + l < n; l++)
            for (int w = 0; w < 4; w++) out[4 * (k + l) + w] = (uint32_t)x[w][l];
    }
}
