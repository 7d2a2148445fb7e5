/* test_mem.c - a pile keeps its blocks until it is cleared, and says once that one is missing. */
#include "core/mem.h"

#include <string.h>

#include "testing.h"

static void blocks_stay_apart(void **state)
{
    (void)state;
    enum { N = 100 };
    listener l;
    cwi_pile pile = {0};
    char *block[N];
    listener_init(&l);
    for (int k = 0; k < N; k++) {
        block[k] = cwi_pile_add_zero(l.ctx, &pile, (size_t)k + 1, 1);
        for (int b = 0; b <= k; b++) assert_int_equal(block[k][b], 0);
        memset(block[k], k, (size_t)k + 1);
    }
    cwi_pile_own(l.ctx, &pile, cwi_strdup(l.ctx, "one more"));
    assert_int_equal(pile.status, CW_OK);
    for (int k = 0; k < N; k++)
        for (int b = 0; b <= k; b++) assert_int_equal(block[k][b], k);
    cwi_pile_clear(&pile);
    assert_int_equal(pile.count, 0);
    listener_clear(&l);
}

/* The first block takes two allocations, the second one. */
static void a_missing_block_is_remembered(void **state)
{
    (void)state;
    for (int64_t nth = 1; nth <= 3; nth++) {
        listener l;
        cwi_pile pile = {0};
        listener_init(&l);
        cwi_mem_fail_at(l.ctx, nth);
        void *first = cwi_pile_add(l.ctx, &pile, 10, 8), *second = cwi_pile_add(l.ctx, &pile, 7, 8);
        assert_true((first == NULL) == (nth < 3) && second == NULL);
        assert_null(cwi_pile_add(l.ctx, &pile, 1, 1));
        cwi_pile_own(l.ctx, &pile, cwi_strdup(l.ctx, "freed at once"));
        assert_int_equal(pile.status, CW_NO_MEMORY);
        assert_int_equal(pile.count, nth == 3);
        cwi_pile_clear(&pile);
        cwi_pile_own(l.ctx, &pile, NULL);
        assert_int_equal(pile.status, CW_NO_MEMORY);
        listener_clear(&l);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_stay_apart),
        cmocka_unit_test(a_missing_block_is_remembered),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
