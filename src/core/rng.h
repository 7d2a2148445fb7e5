/*
 * rng.h - counter-based random numbers (Philox4x32-10; Salmon et al., SC 2011).
 *
 * A stream is named by (seed, purpose, index): what is drawn for example number `index` never
 * depends on threads, time or on what was drawn for others.
 */
#ifndef CWI_CORE_RNG_H
#define CWI_CORE_RNG_H

#include "core/formula.h"

/* What a stream is for.  Numbers are part of reproducibility: never reuse or change one. */
typedef enum cwi_purpose {
    CWI_RNG_USER_SUBSAMPLE = 1,
    CWI_RNG_HOLDOUT = 2,
    CWI_RNG_TEST_CUT = 3,
    CWI_RNG_SKEW = 4,
    CWI_RNG_ACCEPTANCE = 5,
    CWI_RNG_SIM_USER = 6,
    CWI_RNG_SIM_ITEM = 7,
    CWI_RNG_SIM_EXPOSURE = 8,
    CWI_RNG_SIM_CALIBRATION = 9,
    CWI_RNG_SIM_UNIFORM = 10,
    CWI_RNG_SAMPLE = 11,
    CWI_RNG_INIT = 12,
    CWI_RNG_EXTENT = 13,
    CWI_RNG_BOOTSTRAP = 20,
    CWI_RNG_TRUTH_USERS = 21,
    CWI_RNG_TRUTH_ITEMS = 22,
    CWI_RNG_TREATMENT = 30,
    CWI_RNG_NOISE = 31,
    CWI_RNG_MESSAGE_DROPOUT = 32,
    CWI_RNG_NODE_DROPOUT = 33,
    CWI_RNG_TUNE = 40,
    CWI_RNG_FOLD = 41,
    CWI_RNG_BUCKET = 42,
    CWI_RNG_BUCKET_BOUNDS = 43,
    CWI_RNG_TEST = 1000 /* for unit tests */
} cwi_purpose;

typedef struct cwi_rng {
    uint32_t key[2];
    uint32_t counter[4]; /* block, purpose, index low, index high */
    uint32_t word[4];    /* the current block */
    int left;            /* words of it not used yet */
} cwi_rng;

/* Streams of a step are numbered by its examples: at most 2^24 of them in each of 2^40 steps. */
enum { CWI_EXAMPLE_BITS = 24, CWI_STEP_BITS = 40 };

CWI_FORMULA uint64_t cwi_stream_number(uint64_t step, int64_t example)
{
    return step << CWI_EXAMPLE_BITS | (uint64_t)example;
}

CWI_SHARED_FORMULA void cwi_rng_init(cwi_rng *rng, uint64_t seed, cwi_purpose purpose,
                                     uint64_t index);

/* The same where the first four words were made before (random_blocks of backend.h). */
CWI_SHARED_FORMULA void cwi_rng_init_with(cwi_rng *rng, uint64_t seed, cwi_purpose purpose,
                                          uint64_t index, const uint32_t word[4]);

/* What the functions below call when no word is left. */
CWI_SHARED_FORMULA void cwi_rng_next_block(cwi_rng *rng);

CWI_FORMULA uint32_t cwi_rng_u32(cwi_rng *rng)
{
    if (rng->left == 0) cwi_rng_next_block(rng);
    return rng->word[4 - rng->left--];
}

CWI_FORMULA uint64_t cwi_rng_u64(cwi_rng *rng)
{
    uint64_t high = cwi_rng_u32(rng);
    return high << 32 | cwi_rng_u32(rng);
}

/* Uniform in the open interval (0, 1): the middle of one of 2^52 equal cells. */
CWI_FORMULA double cwi_rng_real(cwi_rng *rng)
{
    return ((double)(cwi_rng_u64(rng) >> 12) + 0.5) * 0x1p-52;
}

/* The upper 64 bits of a product, from products of halves; *low receives the lower ones. */
CWI_FORMULA uint64_t cwi_multiply_halves(uint64_t a, uint64_t b, uint64_t *low)
{
    uint64_t a_low = (uint32_t)a, a_high = a >> 32, b_low = (uint32_t)b, b_high = b >> 32;
    uint64_t middle = a_high * b_low + (a_low * b_low >> 32);
    uint64_t other = a_low * b_high + (uint32_t)middle;
    *low = a * b;
    return a_high * b_high + (middle >> 32) + (other >> 32);
}

/* The same in one instruction where there is one. */
CWI_FORMULA uint64_t cwi_multiply(uint64_t a, uint64_t b, uint64_t *low)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 wide;
    wide product = (wide)a * b;
    *low = (uint64_t)product;
    return (uint64_t)(product >> 64);
#else
    return cwi_multiply_halves(a, b, low);
#endif
}

/* Uniform in 0..n-1, without bias; n >= 1.  Lemire's multiplication method (2019), 64-bit. */
CWI_FORMULA uint64_t cwi_rng_below(cwi_rng *rng, uint64_t n)
{
    uint64_t low, high = cwi_multiply(cwi_rng_u64(rng), n, &low);
    if (low < n) {
        uint64_t reject_below = (0 - n) % n;
        while (low < reject_below) high = cwi_multiply(cwi_rng_u64(rng), n, &low);
    }
    return high;
}

/* Standard normal. */
CWI_SHARED_FORMULA double cwi_rng_normal(cwi_rng *rng);

#if defined(__cplusplus)
#include "core/rng.c"
#endif

#endif
