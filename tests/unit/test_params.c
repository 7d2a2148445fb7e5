/* test_params.c - parameters, and rankers by inner products. */
#include <math.h>

#include "score/params.h"
#include "score/ranker.h"
#include "testing.h"

static int open_context(void **state)
{
    cw_context *ctx;
    assert_int_equal(cw_context_create(&ctx), CW_OK);
    *state = ctx;
    return 0;
}

static int close_context(void **state)
{
    cw_context_free(*state);
    return 0;
}

static void tensors_are_zeroed_found_and_copied(void **state)
{
    cw_context *ctx = *state;
    cwi_params params = {0}, copy;
    cwi_tensor *a, *b;

    assert_int_equal(cwi_params_add(ctx, &params, "a", 2, 3, &a), CW_OK);
    assert_int_equal(cwi_params_add(ctx, &params, "b", 0, 3, &b), CW_OK);
    for (int k = 0; k < 6; k++) assert_true(a->data[k] == 0.0f);
    a->data[5] = 7;
    assert_ptr_equal(cwi_params_find(&params, "a"), a);
    assert_null(cwi_params_find(&params, "c"));
    assert_int_equal(cwi_params_copy(ctx, &params, &copy), CW_OK);
    assert_int_equal(copy.count, 2);
    assert_string_equal(copy.tensor[1].name, "b");
    assert_true(copy.tensor[0].data != a->data && copy.tensor[0].data[5] == 7.0f);
    a->data[0] = 1;
    cwi_params_assign(&copy, &params);
    assert_true(copy.tensor[0].data[0] == 1.0f);
    cwi_params_clear(&copy);
    cwi_params_clear(&params);
    cwi_params_clear(&params);
}

static void shapes_are_checked(void **state)
{
    cw_context *ctx = *state;
    cwi_params params = {0};
    const cwi_tensor *found;

    assert_int_equal(cwi_params_add(ctx, &params, "a", 2, 3, NULL), CW_OK);
    assert_int_equal(cwi_params_add(ctx, &params, "none", 2, 0, NULL), CW_OK);
    assert_int_equal(cwi_params_expect(ctx, &params, "a", 2, 3, &found), CW_OK);
    assert_int_equal(cwi_params_expect(ctx, &params, "a", 2, 0, &found), CW_OK);
    assert_int_equal(cwi_params_expect(ctx, &params, "a", 3, 0, &found), CW_BAD_DATA);
    assert_int_equal(cwi_params_expect(ctx, &params, "a", 2, 1, &found), CW_BAD_DATA);
    assert_int_equal(cwi_params_expect(ctx, &params, "none", 2, 0, &found), CW_BAD_DATA);
    assert_int_equal(cwi_params_expect(ctx, &params, "b", 2, 3, &found), CW_BAD_DATA);
    assert_int_equal(
        cwi_params_add(ctx, &params, "a name of far more than thirty-one bytes", 1, 1, NULL),
        CW_BAD_DATA);
    assert_int_equal(cwi_params_add(ctx, &params, "b", -1, 1, NULL), CW_BAD_DATA);
    assert_int_equal(cwi_params_add(ctx, &params, "b", INT64_MAX, 2, NULL), CW_BAD_DATA);
    assert_int_equal(cwi_params_add(ctx, &params, "b", INT64_MAX, 1, NULL), CW_NO_MEMORY);
    while (params.count < CWI_MAX_TENSORS)
        assert_int_equal(cwi_params_add(ctx, &params, "more", 1, 1, NULL), CW_OK);
    assert_int_equal(cwi_params_add(ctx, &params, "b", 1, 1, NULL), CW_BAD_DATA);
    cwi_params_clear(&params);
}

static void scores_are_inner_products_in_any_block(void **state)
{
    enum { USERS = 70, ITEMS = 61, WIDTH = 37 };
    static float users[USERS * WIDTH], items[ITEMS * WIDTH], all[USERS * ITEMS], one[ITEMS];
    int32_t id[USERS];
    cwi_ranker ranker;
    (void)state;

    for (int k = 0; k < USERS * WIDTH; k++) users[k] = sinf((float)k);
    for (int k = 0; k < ITEMS * WIDTH; k++) items[k] = cosf((float)(3 * k));
    for (int32_t u = 0; u < USERS; u++) id[u] = USERS - 1 - u;
    cwi_ranker_dot(users, items, USERS, ITEMS, WIDTH, &ranker);
    ranker.score(&ranker, id, USERS, all);
    for (int32_t u = 0; u < USERS; u++) {
        ranker.score(&ranker, &id[u], 1, one);
        assert_memory_equal(one, all + u * ITEMS, sizeof one);
        for (int i = 0; i < ITEMS; i++) {
            double sum = 0;
            for (int d = 0; d < WIDTH; d++)
                sum += (double)users[id[u] * WIDTH + d] * (double)items[i * WIDTH + d];
            assert_true(fabs((double)one[i] - sum) < 1e-4);
        }
    }
    cwi_ranker_close(&ranker);
    cwi_ranker_close(&ranker);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, open_context, close_context)
    const struct CMUnitTest tests[] = {
        TEST(tensors_are_zeroed_found_and_copied),
        TEST(shapes_are_checked),
        TEST(scores_are_inner_products_in_any_block),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
