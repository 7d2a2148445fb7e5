/* test_ratings.c - how often each rating occurs, and what follows from it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <math.h>
#include <string.h>

#include "core/mem.h"
#include "import/ratings.h"

typedef struct bed {
    cw_context *ctx;
    cwi_ratings ratings;
} bed;

static int set_up(void **state)
{
    static bed b;
    memset(&b, 0, sizeof b);
    *state = &b;
    return cw_context_create(&b.ctx) == CW_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    bed *b = *state;
    cwi_ratings_clear(&b->ratings);
    cw_context_free(b->ctx);
    return 0;
}

static void add(bed *b, double rating, int64_t times)
{
    for (int64_t k = 0; k < times; k++)
        assert_int_equal(cwi_ratings_add(b->ctx, &b->ratings, rating), CW_OK);
}

static void restart(bed *b)
{
    cwi_ratings_clear(&b->ratings);
    memset(&b->ratings, 0, sizeof b->ratings);
}

static void expect_threshold(bed *b, double wanted, int64_t rows)
{
    double value = NAN;
    int64_t kept;
    assert_true(cwi_ratings_threshold(&b->ratings, &value, &kept));
    assert_true(value == wanted);
    assert_int_equal(kept, rows);
}

static void few_values_are_counted_one_by_one(void **state)
{
    bed *b = *state;
    cwi_rating_rows list[CWI_RATINGS_KEPT];
    add(b, 5, 3);
    add(b, -1.5, 2);
    add(b, 0.0, 1);
    add(b, -0.0, 1);
    assert_int_equal(cwi_ratings_list(&b->ratings, list), 3);
    assert_true(list[0].value == -1.5 && list[1].value == 0 && list[2].value == 5);
    assert_true(list[0].rows == 2 && list[1].rows == 2 && list[2].rows == 3);
    assert_true(b->ratings.min == -1.5 && b->ratings.max == 5 && b->ratings.count == 7);
    assert_true(b->ratings.has_fractions);
    assert_true(cwi_ratings_median(&b->ratings) == 0);
    add(b, 5, 1); /* of an even number, the lower of the two in the middle */
    assert_true(cwi_ratings_median(&b->ratings) == 0);
    add(b, 5, 1);
    assert_true(cwi_ratings_median(&b->ratings) == 5);
}

static void as_many_values_as_are_kept_are_exact(void **state)
{
    bed *b = *state;
    cwi_rating_rows list[CWI_RATINGS_KEPT];
    for (int v = 0; v < CWI_RATINGS_KEPT; v++) add(b, v * 0.1, v + 1);
    assert_int_equal(cwi_ratings_list(&b->ratings, list), CWI_RATINGS_KEPT);
    for (int v = 0; v < CWI_RATINGS_KEPT; v++)
        assert_true(list[v].value == v * 0.1 && list[v].rows == v + 1);
    add(b, 1e6, 1);
    assert_int_equal(cwi_ratings_list(&b->ratings, list), 0);
    assert_true(b->ratings.min == 0 && b->ratings.max == 1e6);
}

static void many_values_have_a_median_within_a_percent(void **state)
{
    static const double scales[] = {1e-3, 0.37, 1, 1000, 1e11, -1, -123.4};
    bed *b = *state;
    for (size_t s = 0; s < sizeof scales / sizeof scales[0]; s++) {
        restart(b);
        for (int v = 1; v < 2000; v++) add(b, v * scales[s], 1);
        double median = cwi_ratings_median(&b->ratings), wanted = 1000 * scales[s];
        assert_true(fabs(median - wanted) <= 0.01 * fabs(wanted));
    }
}

static void whole_numbers_below_256_have_an_exact_median(void **state)
{
    bed *b = *state;
    for (int v = 0; v < 1000; v++) add(b, v, v == 201 ? 2000 : 1);
    assert_non_null(b->ratings.bucket);
    assert_true(cwi_ratings_median(&b->ratings) == 201);
}

static void extremes_have_buckets(void **state)
{
    bed *b = *state;
    for (int v = 0; v < 200; v++) add(b, v, 1);
    add(b, 1e15, 1000);
    assert_true(fabs(cwi_ratings_median(&b->ratings) - 1e15) <= 1e13);
    add(b, -1e15, 3000);
    assert_true(fabs(cwi_ratings_median(&b->ratings) + 1e15) <= 1e13);
    add(b, 5e-324, 9000);
    assert_true(cwi_ratings_median(&b->ratings) == 0);
    assert_true(b->ratings.min == -1e15 && b->ratings.max == 1e15);
}

static void the_order_of_ratings_makes_no_difference(void **state)
{
    bed *b = *state;
    double medians[2];
    for (int k = 0; k < 2; k++) {
        restart(b);
        for (int v = 0; v < 3000; v++) add(b, (k ? 2999 - v : v) * 1.25, 1);
        medians[k] = cwi_ratings_median(&b->ratings);
        assert_true(b->ratings.min == 0 && b->ratings.max == 2999 * 1.25);
    }
    assert_true(medians[0] == medians[1]);
}

static void a_threshold_is_the_upper_part_of_the_scale(void **state)
{
    bed *b = *state;
    for (int v = 1; v <= 5; v++) add(b, v, 10);
    expect_threshold(b, 4, 20);
    add(b, 0, 1);
    expect_threshold(b, 4, 20);
    restart(b);
    for (int v = 0; v <= 10; v++) add(b, v, 10);
    expect_threshold(b, 7, 40);
    restart(b);
    for (int v = 1; v <= 10; v++) add(b, v, 10);
    expect_threshold(b, 7, 40);
    restart(b);
    for (int v = 1; v <= 10; v++) add(b, v * 0.5, 10);
    expect_threshold(b, 3.5, 40);
    restart(b);
    add(b, 0, 9);
    add(b, 1, 1);
    expect_threshold(b, 1, 1);
}

static void there_is_no_threshold_where_it_says_nothing(void **state)
{
    bed *b = *state;
    double value;
    int64_t kept;
    assert_false(cwi_ratings_threshold(&b->ratings, &value, &kept));
    add(b, 3, 7);
    assert_false(cwi_ratings_threshold(&b->ratings, &value, &kept)); /* all are equal */
    add(b, 1, 93);
    assert_false(cwi_ratings_threshold(&b->ratings, &value, &kept)); /* 7 % are too few */
    add(b, 3, 93);
    assert_true(cwi_ratings_threshold(&b->ratings, &value, &kept));
    for (int v = 0; v < 1000; v++) add(b, v + 0.5, 1);
    assert_false(cwi_ratings_threshold(&b->ratings, &value, &kept)); /* too many values */
}

static void counts_are_told_from_grades(void **state)
{
    bed *b = *state;
    for (int v = 1; v <= 10; v++) add(b, v, v == 1 ? 1000 : 1);
    assert_false(cwi_ratings_are_counts(&b->ratings)); /* a scale of 10 */
    add(b, 40, 1);
    assert_true(cwi_ratings_are_counts(&b->ratings));
    add(b, 2.5, 1);
    assert_false(cwi_ratings_are_counts(&b->ratings));
    restart(b);
    for (int v = 0; v <= 100; v += 5) add(b, v, 1);
    assert_false(cwi_ratings_are_counts(&b->ratings)); /* percent */
    for (int v = 0; v < 300; v++) add(b, v, 1);
    assert_true(cwi_ratings_are_counts(&b->ratings));
    add(b, -1, 1);
    assert_false(cwi_ratings_are_counts(&b->ratings));
}

static void running_out_of_memory_is_reported(void **state)
{
    bed *b = *state;
    for (int v = 0; v < CWI_RATINGS_KEPT; v++) add(b, v, 1);
    cwi_mem_fail_at(b->ctx, 1);
    assert_int_equal(cwi_ratings_add(b->ctx, &b->ratings, 1000), CW_NO_MEMORY);
    cwi_mem_fail_at(b->ctx, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(few_values_are_counted_one_by_one),
        TEST(as_many_values_as_are_kept_are_exact),
        TEST(many_values_have_a_median_within_a_percent),
        TEST(whole_numbers_below_256_have_an_exact_median),
        TEST(extremes_have_buckets),
        TEST(the_order_of_ratings_makes_no_difference),
        TEST(a_threshold_is_the_upper_part_of_the_scale),
        TEST(there_is_no_threshold_where_it_says_nothing),
        TEST(counts_are_told_from_grades),
        TEST(running_out_of_memory_is_reported),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
