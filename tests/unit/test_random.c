/* test_random.c - random numbers: known answers and distributions. */
#include <math.h>

#include "core/mt19937.h"
#include "core/rng.h"
#include "testing.h"

/* Known answer of Philox4x32-10 for counter 0 and key 0 (Random123's kat_vectors). */
static void philox_gives_its_known_answer(void **state)
{
    (void)state;
    cwi_rng rng;
    cwi_rng_init(&rng, 0, (cwi_purpose)0, 0);
    assert_int_equal(cwi_rng_u32(&rng), 0x6627e8d5);
    assert_int_equal(cwi_rng_u32(&rng), 0xe169c58d);
    assert_int_equal(cwi_rng_u32(&rng), 0xbc57ac4c);
    assert_int_equal(cwi_rng_u32(&rng), 0x9b00dbd8);
}

static void streams_differ_by_seed_purpose_and_index(void **state)
{
    (void)state;
    cwi_rng a, b;
    cwi_rng_init(&a, 1, CWI_RNG_TEST, 5);
    uint64_t first = cwi_rng_u64(&a);
    cwi_rng_init(&b, 1, CWI_RNG_TEST, 5);
    assert_true(first == cwi_rng_u64(&b));
    cwi_rng_init(&b, 2, CWI_RNG_TEST, 5);
    assert_false(first == cwi_rng_u64(&b));
    cwi_rng_init(&b, 1, CWI_RNG_HOLDOUT, 5);
    assert_false(first == cwi_rng_u64(&b));
    cwi_rng_init(&b, 1, CWI_RNG_TEST, UINT64_C(5) << 32);
    assert_false(first == cwi_rng_u64(&b));
}

/* Chi-square over 7 cells, 6 degrees of freedom: above 30 has probability 4e-5. */
static void below_is_uniform(void **state)
{
    (void)state;
    enum { N = 70000 };
    int64_t cell[7] = {0};
    double chi = 0;
    cwi_rng rng;
    cwi_rng_init(&rng, 3, CWI_RNG_TEST, 0);
    for (int k = 0; k < N; k++) cell[cwi_rng_below(&rng, 7)]++;
    for (int c = 0; c < 7; c++) chi += pow((double)cell[c] - N / 7.0, 2) / (N / 7.0);
    assert_true(chi < 30);
    for (int k = 0; k < 100; k++) assert_true(cwi_rng_below(&rng, 1) == 0);
}

/* Machines of 32 bits have no wider product. */
static void products_of_halves_make_the_whole_product(void **state)
{
    (void)state;
    static const uint64_t edge[] = {0,         1, UINT32_MAX, UINT64_C(1) << 32, UINT64_MAX - 1,
                                    UINT64_MAX};
    enum { EDGES = sizeof edge / sizeof *edge, RANDOM = 10000 };
    uint64_t low;
    cwi_rng rng;
    cwi_rng_init(&rng, 9, CWI_RNG_TEST, 0);
    for (int k = 0; k < EDGES * EDGES + RANDOM; k++) {
        bool is_edge = k < EDGES * EDGES;
        uint64_t a = is_edge ? edge[k / EDGES] : cwi_rng_u64(&rng);
        uint64_t b = is_edge ? edge[k % EDGES] : cwi_rng_u64(&rng);
        uint64_t expected_low, expected = cwi_multiply(a, b, &expected_low);
        assert_true(cwi_multiply_halves(a, b, &low) == expected && low == expected_low);
    }
    assert_true(cwi_multiply_halves(UINT64_MAX, UINT64_MAX, &low) == UINT64_MAX - 1 && low == 1);
    assert_true(cwi_multiply_halves(UINT64_C(0x123456789abcdef0), UINT64_C(0xfedcba9876543210),
                                    &low) == UINT64_C(0x121fa00ad77d7422) &&
                low == UINT64_C(0x236d88fe5618cf00));
}

static void real_lies_inside_and_normal_has_unit_variance(void **state)
{
    (void)state;
    enum { N = 100000 };
    double sum = 0, squares = 0, uniform = 0;
    cwi_rng rng;
    cwi_rng_init(&rng, 4, CWI_RNG_TEST, 0);
    for (int k = 0; k < N; k++) {
        double u = cwi_rng_real(&rng);
        assert_true(u > 0 && u < 1);
        uniform += u;
        double x = cwi_rng_normal(&rng);
        sum += x;
        squares += x * x;
    }
    assert_true(fabs(uniform / N - 0.5) < 0.005);
    assert_true(fabs(sum / N) < 0.02);
    assert_true(fabs(squares / N - 1) < 0.03);
}

static void mersenne_twister_gives_its_known_answers(void **state)
{
    (void)state;
    cwi_mt19937 mt;
    cwi_mt_init(&mt, 0);
    assert_int_equal(cwi_mt_u32(&mt), 2357136044U);
    assert_int_equal(cwi_mt_u32(&mt), 2546248239U);
    assert_int_equal(cwi_mt_u32(&mt), 3071714933U);
    cwi_mt_init(&mt, 0);
    const double expected[] = {0.5488135039, 0.7151893664, 0.6027633761};
    for (int k = 0; k < 3; k++) assert_true(fabs(cwi_mt_real(&mt) - expected[k]) < 5e-11);
}

static void check_permutation(uint32_t seed, int32_t n, const int32_t *expected)
{
    int32_t order[16];
    cwi_mt19937 mt;
    cwi_mt_init(&mt, seed);
    cwi_mt_permute(&mt, order, n);
    assert_memory_equal(order, expected, (size_t)n * sizeof *order);
}

static void permutations_are_the_published_ones(void **state)
{
    (void)state;
    check_permutation(0, 5, (const int32_t[]){2, 0, 1, 3, 4});
    check_permutation(0, 10, (const int32_t[]){2, 8, 4, 9, 1, 6, 7, 3, 0, 5});
    check_permutation(1, 10, (const int32_t[]){2, 9, 6, 4, 0, 3, 1, 7, 8, 5});
    check_permutation(0, 1, (const int32_t[]){0});
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_gives_its_known_answer),
        cmocka_unit_test(streams_differ_by_seed_purpose_and_index),
        cmocka_unit_test(below_is_uniform),
        cmocka_unit_test(products_of_halves_make_the_whole_product),
        cmocka_unit_test(real_lies_inside_and_normal_has_unit_variance),
        cmocka_unit_test(mersenne_twister_gives_its_known_answers),
        cmocka_unit_test(permutations_are_the_published_ones),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
