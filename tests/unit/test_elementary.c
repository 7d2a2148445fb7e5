/* test_elementary.c - elementary functions are right, and the same bits on every machine. */
#include "core/elementary.h"

#include <math.h>

#include "core/rng.h"
#include "testing.h"

enum { TRIES = 20000 };

typedef struct function {
    double (*mine)(double x), (*theirs)(double x);
    double from, to, off; /* arguments, and what is allowed */
    uint64_t bits;        /* of all results, mixed */
} function;

static double gamma_of(double x)
{
    int sign;
    return lgamma_r(x, &sign);
}

static double my_root(double x)
{
    return cwi_pow(x, 0.5);
}

static double my_fade(double x)
{
    return cwi_pow(0.9, x);
}

static double their_fade(double x)
{
    return pow(0.9, x);
}

static double my_expf(double x)
{
    return (double)cwi_expf((float)x);
}

static double their_expf(double x)
{
    return (double)(float)exp((double)(float)x);
}

static double my_tanhf(double x)
{
    return (double)cwi_tanhf((float)x);
}

static double their_tanhf(double x)
{
    return (double)(float)tanh((double)(float)x);
}

/* Relative, but near zero. */
static double distance(double got, double expected)
{
    double off = fabs(got - expected);
    return off < 1e-16 ? 0 : off / fabs(expected);
}

static void functions_are_right_and_the_same_bits_everywhere(void **state)
{
    (void)state;
    static const function functions[] = {
        {cwi_exp, exp, -50, 50, 1e-15, 0xa10168451c81cd75},
        {cwi_ln, log, 0, 2, 1e-15, 0x3aa8aa5bf573c050},
        {cwi_ln, log, 0, 1000000.0, 1e-15, 0x83fbb05d3734aa6b},
        {cwi_log1p, log1p, -0.9, 1, 1e-15, 0x9ebd9807006f09d1},
        {cwi_log2, log2, 0, 10000.0, 1e-15, 0x024e317fbd10ca38},
        {cwi_log10, log10, 0, 10000.0, 1e-15, 0x42498153654a6339},
        {my_root, sqrt, 0, 1, 1e-15, 0xd73bf9cd2e81c7a5},
        {my_fade, their_fade, 0, 1000, 1e-15, 0x29224b8c7fa861e4},
        {cwi_cos, cos, 0, 6.2831853, 1e-15, 0xbfb4a9ec2395bea2},
        {cwi_erfc, erfc, -3, 6, 3e-13, 0x0182115657941aeb},
        {cwi_log_gamma, gamma_of, 3, 100, 1e-13, 0xc3028f5438a9b601},
        {my_expf, their_expf, -80, 80, 1.3e-7, 0x122d549b1cf8de8b},
        {my_tanhf, their_tanhf, -9, 9, 1.3e-7, 0xb72aaaf66965305e},
    };
    for (size_t f = 0; f < sizeof functions / sizeof functions[0]; f++) {
        const function *of = &functions[f];
        uint64_t mixed = 0, bits;
        cwi_rng rng;
        cwi_rng_init(&rng, f, CWI_RNG_TEST, 0);
        for (int k = 0; k < TRIES; k++) {
            double x = of->from + (of->to - of->from) * cwi_rng_real(&rng), got = of->mine(x);
            assert_true(distance(got, of->theirs(x)) < of->off);
            memcpy(&bits, &got, sizeof bits);
            mixed = (mixed ^ bits) * 0x9e3779b97f4a7c15 + (mixed >> 29);
        }
        assert_true(mixed == of->bits);
    }
}

static void ends_of_the_range_are_right(void **state)
{
    (void)state;
    assert_true(cwi_exp(0) == 1 && cwi_exp(-INFINITY) == 0 && isinf(cwi_exp(INFINITY)));
    assert_true(isinf(cwi_exp(709.8)) && cwi_exp(-745) == 0x1p-1074 && isnan(cwi_exp(NAN)));
    assert_true(cwi_ln(1) == 0 && cwi_ln(0) == -INFINITY && isinf(cwi_ln(INFINITY)));
    assert_true(isnan(cwi_ln(-1)) && isnan(cwi_ln(NAN)));
    assert_true(distance(cwi_ln(0x1p-1074), -1074 * log(2)) < 1e-15);
    assert_true(cwi_log1p(1e-300) == 1e-300 && cwi_log1p(-1) == -INFINITY);
    assert_true(cwi_pow(0, 0.5) == 0 && cwi_pow(0, 0) == 1 && isinf(cwi_pow(0, -0.5)));
    assert_true(cwi_pow(-3, 3) == -27 && cwi_pow(2, -3) == 0.125 && cwi_pow(10, 22) == 1e22);
    assert_true(cwi_pow(0.9, 1e9) == 0 && isinf(cwi_pow(2, 1e9)) && cwi_pow(1, 1e9) == 1);
    for (int k = 0; k <= 22; k++) assert_true(cwi_log10(cwi_pow(10, k)) == k);
    for (int k = -5; k <= 60; k++) assert_true(cwi_log2(ldexp(1, k)) == k);
    assert_true(cwi_expf(200) > 1e38f && cwi_expf(-200) == 0 && isnan(cwi_expf(NAN)));
    assert_true(cwi_tanhf(20) == 1 && cwi_tanhf(-20) == -1 && cwi_tanhf(1e-30f) == 1e-30f);
    assert_true(isnan(cwi_tanhf(NAN)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(functions_are_right_and_the_same_bits_everywhere),
        cmocka_unit_test(ends_of_the_range_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
