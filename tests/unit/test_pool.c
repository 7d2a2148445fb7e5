/* test_pool.c - parallel loops give the same results on any number of threads. */
#include "core/mem.h"
#include "core/pool.h"
#include "core/rooms.h"
#include "testing.h"

enum { N = 100003, CHUNK = 1000 };

typedef struct sums {
    double partial[N / CHUNK + 1];
    int64_t last_end;
} sums;

static cw_status add_up(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    sums *s = arg;
    s->partial[chunk] = 0;
    for (int64_t k = begin; k < end; k++) s->partial[chunk] += 1.0 / (double)(k + 1);
    return CW_OK;
}

static double harmonic_sum(cw_context *ctx)
{
    static sums s;
    double total = 0;
    assert_int_equal(cwi_pool_for(ctx, N, CHUNK, add_up, &s), CW_OK);
    for (int64_t c = 0; c < cwi_pool_chunks(N, CHUNK); c++) total += s.partial[c];
    return total;
}

static void sums_do_not_depend_on_the_threads(void **state)
{
    (void)state;
    listener l;
    listener_init(&l);
    assert_int_equal(cw_context_set_threads(l.ctx, 1), CW_OK);
    double one = harmonic_sum(l.ctx);
    const int counts[] = {2, 3, 4, 5, 100};
    for (int c = 0; c < 5; c++) {
        assert_int_equal(cw_context_set_threads(l.ctx, counts[c]), CW_OK);
        assert_int_equal(cw_context_threads(l.ctx), counts[c]);
        for (int again = 0; again < 20; again++) assert_true(harmonic_sum(l.ctx) == one);
    }
    listener_clear(&l);
}

/* Beside the caller: what it reads was there before, what it writes is looked at afterwards. */
typedef struct errand {
    int64_t given, found;
    cw_status status;
} errand;

static cw_status run_errand(void *arg)
{
    errand *e = arg;
    e->found = 0;
    for (int64_t k = 1; k <= e->given; k++) e->found += k;
    return e->status;
}

static void a_task_runs_beside_loops(void **state)
{
    (void)state;
    listener l;
    listener_init(&l);
    assert_int_equal(cw_context_set_threads(l.ctx, 1), CW_OK);
    assert_int_equal(cwi_pool_wait(l.ctx), CW_OK); /* there is none */
    double one = harmonic_sum(l.ctx);
    for (int threads = 1; threads <= 4; threads++) {
        assert_int_equal(cw_context_set_threads(l.ctx, threads), CW_OK);
        for (int again = 0; again < 60; again++) {
            errand e = {again * 1000, -1, again % 2 ? CW_OK : CW_BAD_DATA};
            assert_int_equal(cwi_pool_post(l.ctx, run_errand, &e), CW_OK);
            for (int loops = again % 3; loops > 0; loops--) assert_true(harmonic_sum(l.ctx) == one);
            assert_int_equal(cwi_pool_wait(l.ctx), e.status);
            assert_int_equal(e.found, e.given * (e.given + 1) / 2);
            assert_int_equal(cwi_pool_wait(l.ctx), CW_OK);
        }
    }
    listener_clear(&l);
}

static cw_status fail_from_seven(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    (void)arg;
    (void)begin;
    (void)end;
    if (chunk == 7) return CW_BAD_DATA;
    return chunk > 7 ? CW_IO : CW_OK;
}

static void the_lowest_failing_chunk_wins(void **state)
{
    (void)state;
    listener l;
    listener_init(&l);
    for (int threads = 1; threads <= 4; threads++) {
        assert_int_equal(cw_context_set_threads(l.ctx, threads), CW_OK);
        for (int again = 0; again < 50; again++)
            assert_int_equal(cwi_pool_for(l.ctx, 1000, 10, fail_from_seven, NULL), CW_BAD_DATA);
    }
    listener_clear(&l);
}

static void empty_loops_do_nothing(void **state)
{
    (void)state;
    listener l;
    listener_init(&l);
    assert_int_equal(cwi_pool_for(l.ctx, 0, 10, fail_from_seven, NULL), CW_OK);
    assert_int_equal(cwi_pool_chunks(0, 10), 0);
    assert_int_equal(cwi_pool_chunks(11, 10), 2);
    listener_clear(&l);
}

static void thread_counts_out_of_range_are_refused(void **state)
{
    (void)state;
    listener l;
    listener_init(&l);
    assert_int_equal(cw_context_set_threads(l.ctx, -1), CW_BAD_ARG);
    assert_int_equal(cw_context_set_threads(l.ctx, 1025), CW_BAD_ARG);
    assert_string_equal(cw_context_error(l.ctx), "threads is 1025; it must lie between 0 and 1024");
    assert_int_equal(cw_context_set_threads(l.ctx, 0), CW_OK);
    assert_true(cw_context_threads(l.ctx) >= 1);
    listener_clear(&l);
}

static void allocation_checks_sizes_and_can_be_made_to_fail(void **state)
{
    (void)state;
    listener l;
    char *text = NULL;
    size_t room = 0;
    listener_init(&l);
    assert_null(cwi_alloc(l.ctx, SIZE_MAX / 2, 4));
    assert_true(strncmp(cw_context_error(l.ctx), "out of memory", 13) == 0);
    void *big = cwi_alloc(l.ctx, 1000, 8);
    assert_int_equal((uintptr_t)big % 64, 0);
    cwi_mem_fail_at(l.ctx, 2);
    void *first = cwi_alloc(l.ctx, 1, 1);
    assert_non_null(first);
    assert_null(cwi_alloc(l.ctx, 1, 1));
    void *third = cwi_alloc(l.ctx, 1, 1); /* only one fails */
    assert_non_null(third);
    for (size_t need = 1; need < 100; need++) {
        assert_int_equal(cwi_grow(l.ctx, &text, &room, need, 1), CW_OK);
        text[need - 1] = 'x';
    }
    assert_true(room >= 99);
    cwi_free(text);
    cwi_free(first);
    cwi_free(third);
    cwi_free(big);
    listener_clear(&l);
}

/* Fill a room and see that nobody else did meanwhile. */
static cw_status use_room(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    enum { NUMBERS = 1000 };
    int64_t *room = cwi_rooms_enter(arg);
    cw_status status = CW_OK;
    (void)begin;
    (void)end;
    for (int k = 0; k < NUMBERS; k++) room[k] = chunk;
    for (int k = 0; k < NUMBERS; k++)
        if (room[k] != chunk) status = CW_BAD_DATA;
    cwi_rooms_leave(arg, room);
    return status;
}

static void rooms_belong_to_one_thread_at_a_time(void **state)
{
    (void)state;
    for (int made_for = 1; made_for <= 3; made_for++) {
        listener l;
        cwi_rooms *rooms;
        listener_init(&l);
        assert_int_equal(cw_context_set_threads(l.ctx, made_for), CW_OK);
        assert_int_equal(cwi_rooms_create(l.ctx, 1000 * sizeof(int64_t), &rooms), CW_OK);
        assert_int_equal(cw_context_set_threads(l.ctx, 3), CW_OK); /* some have to wait */
        assert_int_equal(cwi_pool_for(l.ctx, 300, 1, use_room, rooms), CW_OK);
        cwi_rooms_free(rooms);
        listener_clear(&l);
    }
    cwi_rooms_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sums_do_not_depend_on_the_threads),
        cmocka_unit_test(the_lowest_failing_chunk_wins),
        cmocka_unit_test(a_task_runs_beside_loops),
        cmocka_unit_test(empty_loops_do_nothing),
        cmocka_unit_test(thread_counts_out_of_range_are_refused),
        cmocka_unit_test(rooms_belong_to_one_thread_at_a_time),
        cmocka_unit_test(allocation_checks_sizes_and_can_be_made_to_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
