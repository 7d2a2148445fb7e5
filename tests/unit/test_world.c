/* test_world.c - rows dealt out to processes, and who sends what to whom. */
#include "comm/route.h"
#include "testing.h"

enum { MOST_ROWS = 5000 };

static void every_row_has_one_owner_and_one_place(void **state)
{
    static const int sizes[] = {1, 2, 3, 7, 64};
    static const int64_t tables[] = {1, 255, 256, 257, 1900, MOST_ROWS};
    (void)state;
    for (size_t s = 0; s < 5; s++)
        for (size_t t = 0; t < 6; t++) {
            int64_t rows = tables[t], all = 0;
            for (int p = 0; p < sizes[s]; p++) {
                const cwi_world w = cwi_world_of(NULL, p, sizes[s]);
                int64_t own = cwi_rows_of(&w, p, rows);
                all += own;
                for (int64_t k = 0; k < own; k++) {
                    int64_t row = cwi_row_at(&w, p, k);
                    assert_in_range(row, 0, rows - 1);
                    assert_int_equal(cwi_row_owner(&w, row), p);
                    assert_int_equal(cwi_row_place(&w, row), k);
                }
            }
            assert_int_equal(all, rows);
        }
}

static void shares_of_processes_differ_by_a_block_at_most(void **state)
{
    const cwi_world w = cwi_world_of(NULL, 0, 7);
    (void)state;
    int64_t least = INT64_MAX, most = 0;
    for (int p = 0; p < 7; p++) {
        int64_t own = cwi_rows_of(&w, p, 100000);
        if (own < least) least = own;
        if (own > most) most = own;
    }
    assert_in_range(most - least, 0, CWI_BLOCK_ROWS);
}

static void rows_come_back_to_where_they_were(void **state)
{
    static int32_t whole[MOST_ROWS], own[MOST_ROWS];
    (void)state;
    for (int32_t r = 0; r < MOST_ROWS; r++) whole[r] = r;
    for (int p = 0; p < 3; p++) {
        const cwi_world w = cwi_world_of(NULL, p, 3);
        cwi_rows_take(&w, whole, MOST_ROWS, sizeof *whole, own);
        cwi_rows_spread(&w, MOST_ROWS, sizeof *whole, own);
        for (int32_t r = 0; r < MOST_ROWS; r++)
            if (cwi_row_owner(&w, r) == p) assert_int_equal(own[r], whole[r]);
    }
}

/* A batch of six slots: items are things, owned by process row / 256 % 3. */
static const int32_t user[] = {0, 256, 512, 0, 1, 513}, item[] = {0, 0, 256, 512, 0, 256};
static const int32_t thing[] = {0, 0, 1, 2, 0, 1};

/* Both ends of a message go through the slots in one order. */
static void what_one_sends_is_what_the_other_expects(void **state)
{
    cw_context *ctx;
    cwi_world w[3];
    cwi_route route[3];
    (void)state;
    assert_int_equal(cw_context_create(&ctx), CW_OK);
    for (int p = 0; p < 3; p++) {
        w[p] = cwi_world_of(NULL, p, 3);
        assert_int_equal(cwi_route_create(ctx, &w[p], 6, 3, 4, &route[p]), CW_OK);
        for (int twice = 0; twice < 2; twice++) /* nothing is left of a batch */
            cwi_route_fill(&route[p], 6, thing, (cwi_route_side){item, 0},
                           (cwi_route_side){user, 0});
    }
    for (int from = 0; from < 3; from++)
        for (int to = 0; to < 3; to++) {
            const int32_t *out = route[from].out, *in = route[to].in;
            for (int p = 0; p < to; p++) out += route[from].sent[p];
            for (int p = 0; p < from; p++) in += route[to].received[p];
            assert_int_equal(route[from].sent[to], route[to].received[from]);
            for (int k = 0; k < route[from].sent[to]; k++) assert_int_equal(out[k], in[k]);
        }
    assert_int_equal(route[0].n_own, 1);
    assert_int_equal(route[0].own[0], 0);
    assert_int_equal(route[0].received[2], 1); /* item 512 for user 0 */
    assert_int_equal(route[1].n_own, 0);
    assert_int_equal(route[1].received[0], 1);
    assert_int_equal(route[2].received[1], 1); /* once, though two slots have it */
    for (int p = 0; p < 3; p++) cwi_route_clear(&route[p]);
    cw_context_free(ctx);
}

static void every_missing_block_of_memory_is_told(void **state)
{
    cw_context *ctx;
    const cwi_world w = cwi_world_of(NULL, 0, 2);
    cwi_route route;
    cw_status status = CW_NO_MEMORY;
    (void)state;
    assert_int_equal(cw_context_create(&ctx), CW_OK);
    for (int64_t nth = 1; status == CW_NO_MEMORY; nth++) {
        cwi_mem_fail_at(ctx, nth);
        status = cwi_route_create(ctx, &w, 64, 32, 8, &route);
        cwi_route_clear(&route);
        assert_in_range(nth, 1, 100);
    }
    assert_int_equal(status, CW_OK);
    cw_context_free(ctx);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_row_has_one_owner_and_one_place),
        cmocka_unit_test(shares_of_processes_differ_by_a_block_at_most),
        cmocka_unit_test(rows_come_back_to_where_they_were),
        cmocka_unit_test(what_one_sends_is_what_the_other_expects),
        cmocka_unit_test(every_missing_block_of_memory_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
