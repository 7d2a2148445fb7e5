/* test_draw.c - weighted draws without replacement. */
#include <math.h>

#include "core/mem.h"
#include "core/smallest.h"
#include "prepare/draw.h"
#include "testing.h"

static void check_compat(const double *weight, int64_t count, int64_t n, const int64_t *expected)
{
    listener l;
    int64_t order[16];
    listener_init(&l);
    assert_int_equal(cwi_draw_compat(l.ctx, weight, count, n, 0, order), CW_OK);
    assert_memory_equal(order, expected, (size_t)n * sizeof *order);
    listener_clear(&l);
}

static void published_draws_are_repeated(void **state)
{
    (void)state;
    const double a[] = {1 / 60.0,  1 / 60.0,  1 / 60.0,   1 / 60.0,   1 / 100.0,
                        1 / 100.0, 1 / 100.0, 1 / 1000.0, 1 / 1000.0, 1 / 1000.0};
    const double b[] = {0.5, 0.25, 0.125, 0.0625, 1, 1, 0.1, 0.1, 1 / 60.0, 1 / 60.0};
    check_compat(a, 10, 6, (const int64_t[]){3, 4, 2, 1, 6, 7});
    check_compat(b, 10, 5, (const int64_t[]){4, 5, 2, 1, 7});
}

/* Inclusion probabilities of 2 of 4 in successive sampling, computed by hand from the weights.
 * With 40,000 seeds a deviation of five standard errors is no accident. */
static void inclusion_follows_the_weights(void **state)
{
    (void)state;
    enum { SEEDS = 40000 };
    const double weight[] = {1 / 60.0, 1 / 60.0, 1 / 100.0, 1 / 1000.0};
    const double expected[] = {0.7205822171, 0.7205822171, 0.5025329775, 0.05630258826};
    int64_t by_keys[4] = {0}, compat[4] = {0}, order[2];
    uint8_t drawn[4];
    listener l;
    listener_init(&l);
    for (uint32_t seed = 0; seed < SEEDS; seed++) {
        assert_int_equal(cwi_draw(l.ctx, weight, 4, 2, seed, CWI_RNG_TEST, drawn), CW_OK);
        for (int k = 0; k < 4; k++) by_keys[k] += drawn[k];
        assert_int_equal(cwi_draw_compat(l.ctx, weight, 4, 2, seed, order), CW_OK);
        compat[order[0]]++;
        compat[order[1]]++;
    }
    for (int k = 0; k < 4; k++) {
        double error = sqrt(expected[k] * (1 - expected[k]) / SEEDS);
        assert_true(fabs((double)by_keys[k] / SEEDS - expected[k]) < 5 * error);
        assert_true(fabs((double)compat[k] / SEEDS - expected[k]) < 5 * error);
    }
    listener_clear(&l);
}

static int64_t count_drawn(const uint8_t *drawn, int64_t count)
{
    int64_t sum = 0;
    for (int64_t k = 0; k < count; k++) sum += drawn[k];
    return sum;
}

static void exactly_n_are_drawn(void **state)
{
    (void)state;
    enum { COUNT = 5000 };
    static uint8_t drawn[COUNT], again[COUNT];
    listener l;
    listener_init(&l);
    for (int64_t n = 0; n <= COUNT; n += 500) {
        assert_int_equal(cw_context_set_threads(l.ctx, 1), CW_OK);
        assert_int_equal(cwi_draw(l.ctx, NULL, COUNT, n, 7, CWI_RNG_TEST, drawn), CW_OK);
        assert_int_equal(count_drawn(drawn, COUNT), n);
        assert_int_equal(cw_context_set_threads(l.ctx, 3), CW_OK);
        assert_int_equal(cwi_draw(l.ctx, NULL, COUNT, n, 7, CWI_RNG_TEST, again), CW_OK);
        assert_memory_equal(drawn, again, COUNT);
    }
    listener_clear(&l);
}

enum { ROWS = 600 };

/* The same rows in memory and in a file. */
typedef struct twins {
    int32_t user[ROWS], item[ROWS];
    uint8_t part[ROWS];
    cwi_reel memory, file;
} twins;

static void open_twins(cw_context *ctx, twins *t)
{
    assert_int_equal(cw_context_set_memory(ctx, 0, "."), CW_OK);
    t->memory = (cwi_reel){.count = ROWS, .user = t->user, .item = t->item, .part = t->part};
    t->file = (cwi_reel){0};
    assert_int_equal(cwi_spill_create(ctx, false, true, &t->file.spill), CW_OK);
    for (int32_t k = 0; k < ROWS; k++) {
        t->user[k] = 0;
        t->item[k] = k * 7 % 4;
        assert_int_equal(cwi_reel_put(ctx, &t->file, 0, t->item[k]), CW_OK);
    }
    assert_int_equal(cwi_reel_end(ctx, &t->file), CW_OK);
}

/* Every number of winners, so that the last one is first, last and alone in its bin. */
static void rows_in_a_file_draw_the_same(void **state)
{
    (void)state;
    static const double weight[] = {1, 1 / 60.0, 1e-3, 1e3};
    static twins t;
    static uint8_t drawn[ROWS];
    double each[ROWS];
    listener l;
    listener_init(&l);
    open_twins(l.ctx, &t);
    for (int32_t k = 0; k < ROWS; k++) each[k] = weight[t.item[k]];
    for (int64_t n = 0; n <= ROWS; n += 1 + n / 50) {
        assert_int_equal(cwi_draw(l.ctx, each, ROWS, n, 3, CWI_RNG_TEST, drawn), CW_OK);
        assert_int_equal(cwi_draw_rows(l.ctx, weight, &t.memory, n, 3, CWI_RNG_TEST), CW_OK);
        assert_memory_equal(drawn, t.part, ROWS);
        assert_int_equal(cwi_draw_rows(l.ctx, weight, &t.file, n, 3, CWI_RNG_TEST), CW_OK);
        cwi_window w = cwi_window_over(&t.file);
        while (cwi_window_next(l.ctx, &w))
            assert_memory_equal(drawn + w.first, w.part, (size_t)w.n);
        assert_int_equal(w.status, CW_OK);
        assert_int_equal(w.first, ROWS);
    }
    cwi_spill_free(t.file.spill);
    listener_clear(&l);
}

static void draws_from_a_file_tell_of_missing_memory(void **state)
{
    (void)state;
    static twins t;
    listener l;
    cw_status status = CW_NO_MEMORY;
    int64_t nth = 1;
    listener_init(&l);
    open_twins(l.ctx, &t);
    for (; status == CW_NO_MEMORY; nth++) {
        cwi_mem_fail_at(l.ctx, nth);
        status = cwi_draw_rows(l.ctx, NULL, &t.file, 40, 3, CWI_RNG_TEST);
        assert_in_range(nth, 1, 20);
    }
    assert_int_equal(status, CW_OK);
    assert_true(nth > 4);
    cwi_spill_free(t.file.spill);
    listener_clear(&l);
}

static void values_are_ordered_and_ties_by_id(void **state)
{
    static const int64_t expected[] = {4, 1, 3, 0, 2};
    cwi_ordered list[] = {{2, 0}, {1, 3}, {2.5, 2}, {-7, 4}, {1, 1}};
    (void)state;
    cwi_order(list, 5);
    for (size_t k = 0; k < 5; k++) assert_int_equal(list[k].id, expected[k]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(published_draws_are_repeated),
        cmocka_unit_test(inclusion_follows_the_weights),
        cmocka_unit_test(exactly_n_are_drawn),
        cmocka_unit_test(rows_in_a_file_draw_the_same),
        cmocka_unit_test(draws_from_a_file_tell_of_missing_memory),
        cmocka_unit_test(values_are_ordered_and_ties_by_id),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
