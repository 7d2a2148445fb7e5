/* test_describe.c - figures of small sets, worked out by hand. */
#include <jansson.h>
#include <math.h>

#include "prepare/csr.h"
#include "prepare/stats.h"
#include "testing.h"

/* Five interactions of four users and items: of the 25, 125 and 625 ordered tuples 14, 24 and
 * 106 have no cross pair among the interactions (spec 9.1). */
static void acceptance_of_a_small_set_is_exact(void **state)
{
    (void)state;
    int32_t user[] = {0, 1, 2, 3, 3}, item[] = {0, 1, 2, 3, 0};
    const double expected[] = {14 / 25.0, 24 / 125.0, 106 / 625.0};
    cwi_pairs pairs = {.count = 5, .user = user, .item = item};
    cwi_csr train;
    listener l;
    double rate, error;
    listener_init(&l);
    assert_int_equal(cwi_csr_create(l.ctx, user, item, 5, 4, &train), CW_OK);
    cwi_csr_sort(&train);
    for (int k = 2; k <= 4; k++) {
        assert_int_equal(cwi_acceptance(l.ctx, &pairs, &train, k, &rate, &error), CW_OK);
        assert_true(rate == expected[k - 2] && error == 0);
    }
    cwi_csr_clear(&train);
    listener_clear(&l);
}

/* 1,200 disjoint blocks of one user and one item, and one of 3 x 400: rows in blocks of size one
 * only clash with themselves.  P_2 = 1 - sum over blocks of (share of the block)^2. */
static void acceptance_of_a_large_set_is_estimated(void **state)
{
    (void)state;
    enum { SINGLES = 1200, N = SINGLES + 1200 };
    static int32_t user[N], item[N];
    for (int32_t k = 0; k < SINGLES; k++) user[k] = item[k] = k;
    for (int32_t k = 0; k < 1200; k++) {
        user[SINGLES + k] = SINGLES + k / 400;
        item[SINGLES + k] = SINGLES + k % 400;
    }
    double expected = 1 - SINGLES / ((double)N * N) - 0.25;
    cwi_pairs pairs = {.count = N, .user = user, .item = item};
    cwi_csr train;
    listener l;
    double rate[2], error;
    listener_init(&l);
    assert_int_equal(cwi_csr_create(l.ctx, user, item, N, SINGLES + 3, &train), CW_OK);
    cwi_csr_sort(&train);
    for (int t = 0; t < 2; t++) {
        assert_int_equal(cw_context_set_threads(l.ctx, 2 * t + 1), CW_OK);
        assert_int_equal(cwi_acceptance(l.ctx, &pairs, &train, 2, &rate[t], &error), CW_OK);
    }
    assert_true(rate[0] == rate[1]);
    assert_true(error > 0 && fabs(rate[0] - expected) < 5 * error);
    cwi_csr_clear(&train);
    listener_clear(&l);
}

static void concentration_of_known_degrees(void **state)
{
    (void)state;
    const int64_t equal[] = {3, 3, 3, 3}, one[] = {0, 0, 0, 10}, some[] = {1, 2, 3, 4};
    assert_true(fabs(cwi_gini(equal, 4)) < 1e-12);
    assert_true(fabs(cwi_gini(one, 4) - 0.75) < 1e-12);
    assert_true(fabs(cwi_gini(some, 4) - 0.25) < 1e-12);
    assert_true(fabs(cwi_top_share(some, 4, 0.25) - 0.4) < 1e-12);
    assert_true(fabs(cwi_top_share(some, 4, 0.26) - 0.7) < 1e-12);
    assert_int_equal(cwi_quantile(some, 4, 0), 1);
    assert_int_equal(cwi_quantile(some, 4, 0.5), 2);
    assert_int_equal(cwi_quantile(some, 4, 0.51), 3);
    assert_int_equal(cwi_quantile(some, 4, 1), 4);
}

static json_int_t integer_at(const json_t *root, const char *a, const char *b)
{
    return json_integer_value(json_object_get(json_object_get(root, a), b));
}

static void a_set_without_train_is_described_in_part(void **state)
{
    (void)state;
    char folder[64], *text;
    listener l;
    cw_dataset *d;
    listener_init(&l);
    make_scratch(folder);
    write_file(folder, "test.csv", "user,item\n0,0\n1,0\n1,2\n");
    assert_int_equal(cw_dataset_load(l.ctx, folder, &d), CW_OK);
    assert_int_equal(cw_dataset_describe(l.ctx, d, &text), CW_OK);
    json_t *root = json_loads(text, 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(root, "users")), 2);
    assert_int_equal(json_integer_value(json_object_get(root, "items")), 3);
    json_t *parts = json_object_get(root, "parts");
    assert_int_equal(integer_at(parts, "test", "rows"), 3);
    assert_int_equal(integer_at(parts, "test", "items"), 2);
    assert_null(json_object_get(parts, "train"));
    assert_null(json_object_get(root, "cpr_acceptance"));
    json_decref(root);
    cw_text_free(text);
    cw_dataset_free(d);
    remove_scratch(folder);
    listener_clear(&l);
}

static void cold_rows_are_counted(void **state)
{
    (void)state;
    char folder[64], *text;
    listener l;
    cw_dataset *d;
    listener_init(&l);
    make_scratch(folder);
    write_file(folder, "train.csv", "user,item\n0,0\n1,1\n");
    write_file(folder, "valid.csv", "user,item\n0,1\n2,0\n");
    write_file(folder, "test.csv", "user,item\n1,0\n0,5\n");
    assert_int_equal(cw_dataset_load(l.ctx, folder, &d), CW_OK);
    assert_int_equal(cw_dataset_describe(l.ctx, d, &text), CW_OK);
    json_t *root = json_loads(text, 0, NULL);
    assert_int_equal(json_integer_value(json_object_get(root, "cold_rows")), 2);
    json_decref(root);
    cw_text_free(text);
    cw_dataset_free(d);
    remove_scratch(folder);
    listener_clear(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(acceptance_of_a_small_set_is_exact),
        cmocka_unit_test(acceptance_of_a_large_set_is_estimated),
        cmocka_unit_test(concentration_of_known_degrees),
        cmocka_unit_test(a_set_without_train_is_described_in_part),
        cmocka_unit_test(cold_rows_are_counted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
