/* test_significance.c - the paired tests against known values. */
#include <math.h>

#include "evaluate/significance.h"
#include "testing.h"

static void assert_near(double value, double expected, double relative)
{
    if (!(fabs(value - expected) <= relative * fabs(expected)))
        fail_msg("%.12g is not %.12g", value, expected);
}

static cwi_pairing test_of(const double *a, const double *b, int64_t n)
{
    cw_context *ctx;
    cwi_pairing result;
    assert_int_equal(cw_context_create(&ctx), CW_OK);
    assert_int_equal(cwi_pairing_test(ctx, a, b, n, &result), CW_OK);
    cw_context_free(ctx);
    return result;
}

static void t_test_has_the_values_of_the_specification(void **state)
{
    (void)state;
    static const struct {
        double a[5], b[5], t, p;
    } cases[] = {
        {{0.2003, 0.1998, 0.2007, 0.2001, 0.2005},
         {0.1835, 0.1841, 0.1829, 0.1838, 0.1832},
         45.60186707,
         1.383024109e-06},
        {{0.0332, 0.0330, 0.0335, 0.0329, 0.0334},
         {0.0309, 0.0333, 0.0312, 0.0331, 0.0308},
         2.056434132,
         0.1088921366},
        {{0.50, 0.52, 0.49, 0.51, 0.53},
         {0.51, 0.50, 0.50, 0.49, 0.52},
         0.8846517369,
         0.4263172079},
    };
    for (size_t c = 0; c < 3; c++) {
        cwi_pairing result = test_of(cases[c].a, cases[c].b, 5);
        assert_near(result.t, cases[c].t, 1e-9);
        assert_near(result.t_p, cases[c].p, 1e-9);
        assert_near(result.effect, cases[c].t / sqrt(5), 1e-9);
    }
    cwi_pairing first = test_of(cases[0].a, cases[0].b, 5);
    assert_near(first.mean, 0.01678, 1e-9);
    assert_near(first.sd, 0.0008228000972, 1e-9);
}

/* For 4 degrees of freedom the distribution has a closed form. */
static void t_distribution_matches_its_closed_form(void **state)
{
    (void)state;
    for (double t = 0.01; t < 30; t *= 1.7) {
        double q = t / sqrt(1 + t * t / 4), f = 0.5 + 0.375 * q * (1 - q * q / 12);
        assert_true(fabs(cwi_t_two_sided(t, 4) - 2 * (1 - f)) < 1e-14);
        assert_near(cwi_t_two_sided(-t, 1), 1 - 2 * atan(t) / acos(-1), 1e-12);
        assert_near(cwi_t_two_sided(t, 2), 1 - t / sqrt(2 + t * t), 1e-11);
    }
    assert_true(cwi_t_two_sided(0, 4) == 1);
    assert_true(cwi_t_two_sided(1e200, 4) == 0);
}

static void equal_differences_need_no_test(void **state)
{
    (void)state;
    const double a[] = {2, 3, 4}, b[] = {1, 2, 3};
    assert_true(test_of(a, b, 3).t_p == 0);
    assert_true(test_of(a, a, 3).t_p == 1);
    assert_true(isnan(test_of(a, a, 3).wilcoxon_p));
    assert_true(isnan(test_of(a, b, 1).t_p));
    assert_true(isnan(test_of(a, b, 1).sd));
}

/* Every assignment of signs counted out: the chance that the smaller rank sum is as small. */
static double wilcoxon_by_counting(const double *difference, int n)
{
    double rank[10], sum[2] = {0, 0};
    int as_small = 0, all = 1 << n;
    for (int k = 0; k < n; k++) {
        rank[k] = 0.5;
        for (int j = 0; j < n; j++) {
            double x = fabs(difference[j]), y = fabs(difference[k]);
            rank[k] += x < y ? 1 : x == y ? 0.5 : 0;
        }
        sum[difference[k] > 0] += rank[k];
    }
    double w = sum[0] < sum[1] ? sum[0] : sum[1];
    for (int signs = 0; signs < all; signs++) {
        double s = 0;
        for (int k = 0; k < n; k++)
            if (signs >> k & 1) s += rank[k];
        as_small += s <= w + 1e-9;
    }
    double p = 2.0 * as_small / all;
    return p > 1 ? 1 : p;
}

static void wilcoxon_is_exact_for_few_pairs(void **state)
{
    (void)state;
    const double all_better[] = {0.1, 0.2, 0.3, 0.4, 0.5}, zero[10] = {0};
    const double mixed[] = {0.1, -0.2, 0.3, 0.4, 0.5, 0.6, -0.1, 0.7};
    const double tied[] = {1, 1, -1, 2, 2, -3, 1};
    assert_near(test_of(all_better, zero, 5).wilcoxon_p, 2.0 / 32, 1e-12);
    assert_true(test_of(all_better, zero, 5).w == 0);
    assert_near(test_of(mixed, zero, 8).wilcoxon_p, wilcoxon_by_counting(mixed, 8), 1e-12);
    assert_near(test_of(tied, zero, 7).wilcoxon_p, wilcoxon_by_counting(tied, 7), 1e-12);
}

/* Just below and above the border both ways of computing nearly agree. */
static void wilcoxon_is_nearly_normal_for_many_pairs(void **state)
{
    (void)state;
    double difference[CWI_WILCOXON_EXACT + 1], zero[CWI_WILCOXON_EXACT + 1] = {0};
    for (int k = 0; k <= CWI_WILCOXON_EXACT; k++)
        difference[k] = (k % 5 < 2 ? -1 : 1) * (1 + k * 37 % 101);
    double exact = test_of(difference, zero, CWI_WILCOXON_EXACT).wilcoxon_p;
    double normal = test_of(difference, zero, CWI_WILCOXON_EXACT + 1).wilcoxon_p;
    assert_true(exact > 0.01 && exact < 0.9);
    assert_true(fabs(exact - normal) < 0.05);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(t_test_has_the_values_of_the_specification),
        cmocka_unit_test(t_distribution_matches_its_closed_form),
        cmocka_unit_test(equal_differences_need_no_test),
        cmocka_unit_test(wilcoxon_is_exact_for_few_pairs),
        cmocka_unit_test(wilcoxon_is_nearly_normal_for_many_pairs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
