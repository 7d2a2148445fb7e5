/* test_idset.c - a set lists its members in order, once each, and is empty afterwards. */
#include "core/idset.h"

#include "core/mem.h"
#include "core/rng.h"
#include "testing.h"

static void members_come_in_order(void **state)
{
    (void)state;
    enum { N = 10007, DRAWS = 900 };
    static bool is_in[N];
    static int32_t list[DRAWS];
    listener l;
    cwi_idset set;
    cwi_rng rng;
    listener_init(&l);
    cwi_rng_init(&rng, 1, CWI_RNG_TEST, 0);
    assert_int_equal(cwi_idset_create(l.ctx, N, &set), CW_OK);
    assert_int_equal(cwi_idset_take(&set, list), 0);
    for (int again = 0; again < 3; again++) {
        int64_t n = 0;
        for (int k = 0; k < N; k++) is_in[k] = false;
        for (int k = 0; k < DRAWS; k++) {
            int32_t id = k == 0 ? N - 1 : k == 1 ? 0 : (int32_t)cwi_rng_below(&rng, N);
            cwi_idset_add(&set, id);
            is_in[id] = true;
        }
        int64_t listed = cwi_idset_take(&set, list);
        for (int32_t id = 0; id < N; id++)
            if (is_in[id]) assert_int_equal(list[n++], id);
        assert_int_equal(listed, n);
        assert_int_equal(cwi_idset_take(&set, list), 0);
    }
    cwi_idset_clear(&set);
    listener_clear(&l);
}

/* Sizes at the borders of words, and of words of words. */
static void all_members_fit(void **state)
{
    (void)state;
    const int32_t sizes[] = {1, 63, 64, 65, 4095, 4096, 4097};
    static int32_t list[4097];
    listener l;
    listener_init(&l);
    for (int s = 0; s < 7; s++) {
        cwi_idset set;
        assert_int_equal(cwi_idset_create(l.ctx, sizes[s], &set), CW_OK);
        for (int32_t id = sizes[s] - 1; id >= 0; id--) cwi_idset_add(&set, id);
        assert_int_equal(cwi_idset_take(&set, list), sizes[s]);
        for (int32_t id = 0; id < sizes[s]; id++) assert_int_equal(list[id], id);
        cwi_idset_clear(&set);
    }
    listener_clear(&l);
}

static void no_memory_is_said(void **state)
{
    (void)state;
    listener l;
    cwi_idset set;
    listener_init(&l);
    for (int64_t nth = 1; nth <= 2; nth++) {
        cwi_mem_fail_at(l.ctx, nth);
        assert_int_equal(cwi_idset_create(l.ctx, 100, &set), CW_NO_MEMORY);
    }
    cwi_mem_fail_at(l.ctx, 0);
    listener_clear(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(members_come_in_order),
        cmocka_unit_test(all_members_fit),
        cmocka_unit_test(no_memory_is_said),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
