/* test_screen.c - lists from bounds are those from all scores, and the bounds hold. */
#include "evaluate/screen.h"

#include <math.h>

#include "core/mem.h"
#include "evaluate/bytes.h"
#include "evaluate/topk.h"
#include "evaluate/walk.h"
#include "town.h"

/* ---- bounds ------------------------------------------------------------------------- */

static int32_t product(const int8_t *a, const int8_t *b, int32_t d)
{
    int32_t sum = 0;
    for (int32_t j = 0; j < d; j++) sum += a[j] * b[j];
    return sum;
}

/* In units of the user's scale. */
static void check_bound(const town *t, const float *user, const float *item)
{
    static int8_t user_byte[CWI_BYTES_WIDEST], item_byte[CWI_BYTES_WIDEST];
    cwi_rounded u, i;
    cwi_screen_user terms;
    float score;
    assert_true(cwi_round(user, t->d, user_byte, &u) && cwi_round(item, t->d, item_byte, &i));
    if (u.scale == 0) return; /* whose lists come from all scores */
    float slack = cwi_round_user(&u, t->d, &terms);
    float middle = (float)product(user_byte, item_byte, t->d) * i.scale;
    float error = terms.by_length * i.length + terms.by_rest * i.rest;
    cwi_ops_best()->score_block(&user, 1, item, 1, t->d, &score);
    double exact = (double)score / (double)u.scale;
    assert_true(exact <= (double)(middle + error) + (double)slack);
    assert_true(exact >= (double)(middle - error) - (double)slack);
}

static void scores_lie_within_their_bounds(void **state)
{
    (void)state;
    static const number_fn kinds[] = {normal, of_any_length, spiky,   repeated,
                                      equal,  often_zero,    denormal};
    static const int32_t widths[] = {1, 3, 37, 130, 1000};
    for (int c = 0; c < 7 * 5; c++) {
        town t;
        town_init(&t, 30, 30, widths[c % 5], kinds[c / 5], 0);
        for (int32_t p = 0; p < 900; p++)
            check_bound(&t, t.users + (ptrdiff_t)(p / 30) * t.d,
                        t.items + (ptrdiff_t)(p % 30) * t.d);
        town_clear(&t);
    }
}

/* Numbers that lie in the middle between two bytes lose most. */
static void the_worst_rounding_is_within_bounds(void **state)
{
    (void)state;
    town t = {.d = 64};
    float user[64], item[64];
    for (int j = 0; j < 64; j++) user[j] = item[j] = (float)(j % 100) + 0.499f;
    user[0] = item[0] = 127;
    check_bound(&t, user, item);
    for (int j = 1; j < 64; j++) item[j] = -item[j];
    check_bound(&t, user, item);
}

static void vectors_that_cannot_be_rounded_are_refused(void **state)
{
    (void)state;
    static const float bad[] = {NAN, INFINITY, -INFINITY, 1e19f, -3e38f};
    int8_t byte[4];
    cwi_rounded out;
    for (int b = 0; b < 5; b++) {
        float x[4] = {1, 2, 3, 4};
        x[b % 4] = bad[b];
        assert_false(cwi_round(x, 4, byte, &out));
    }
    assert_true(cwi_round((const float[]){-2, 0, 0.5f, 1}, 4, byte, &out));
    assert_memory_equal(byte, ((const int8_t[]){-127, 0, 32, 64}), 4);
    assert_int_equal(out.sum, -31);
}

/* ---- lists -------------------------------------------------------------------------- */

/* The lists of all users from bounds are those from all scores; returns how many bounds gave. */
static int32_t check_lists(const town *t, const cwi_screen *screen, int32_t k)
{
    enum { AT_ONCE = CWI_SCORE_USERS };
    int32_t count[AT_ONCE], helped = 0, places = k < t->n_items ? k : t->n_items;
    int32_t *item = malloc((size_t)(AT_ONCE * places) * sizeof *item), users[AT_ONCE];
    float *score = malloc((size_t)t->n_items * sizeof *score);
    cwi_ranked *top = malloc((size_t)places * sizeof *top);
    for (int32_t first = 0; first < t->n_users; first += AT_ONCE) {
        int32_t n = t->n_users - first < AT_ONCE ? t->n_users - first : AT_ONCE;
        for (int32_t r = 0; r < n; r++) users[r] = first + r;
        cwi_screen_rank(screen, &t->mask, users, n, item, count);
        for (int32_t r = 0; r < n; r++) {
            int64_t begin = t->mask.start[users[r]], end = t->mask.start[users[r] + 1];
            if (count[r] < 0) continue;
            t->ranker.score(&t->ranker, &users[r], 1, score);
            helped++;
            assert_int_equal(count[r], cwi_topk(score, t->n_items, t->mask.value + begin,
                                                end - begin, places, top));
            for (int32_t p = 0; p < count[r]; p++)
                assert_int_equal(item[r * places + p], top[p].item);
        }
    }
    free(item);
    free(score);
    free(top);
    return helped;
}

static int32_t lists_of(number_fn number, int32_t n_users, int32_t n_items, int32_t d, int32_t k,
                        double share)
{
    town t;
    cwi_screen screen;
    town_init(&t, n_users, n_items, d, number, share);
    assert_true(cwi_screen_can(&t.ranker));
    assert_int_equal(cwi_screen_create(t.l.ctx, &t.ranker, k, &screen), CW_OK);
    int32_t helped = screen.rooms ? check_lists(&t, &screen, k) : -1;
    cwi_screen_clear(&screen);
    town_clear(&t);
    return helped;
}

static void lists_are_those_of_all_scores(void **state)
{
    (void)state;
    static const int32_t widths[] = {1, 3, 37, 64, 130};
    for (int w = 0; w < 5; w++) {
        assert_int_equal(lists_of(normal, 101, 700, widths[w], 20, 0.02), 101);
        assert_int_equal(lists_of(normal, 50, 1000, widths[w], 1, 0), 50);
        assert_int_equal(lists_of(spiky, 50, 700, widths[w], 5, 0.3) >= 0, true);
        assert_int_equal(lists_of(of_any_length, 49, 640, widths[w], 10, 0.1), 49);
        assert_true(lists_of(often_zero, 60, 500, widths[w], 20, 0.05) <= 40);
        assert_true(lists_of(whole, 60, 900, widths[w], 7, 0.05) >= 0);
        assert_true(lists_of(denormal, 60, 300, widths[w], 7, 0.05) >= 0);
    }
}

static void equal_scores_go_by_item(void **state)
{
    (void)state;
    assert_int_equal(lists_of(repeated, 20, 200, 16, 20, 0.1), 20);
    assert_int_equal(lists_of(equal, 20, 200, 16, 20, 0.1), 20);
    assert_int_equal(lists_of(equal, 20, 2000, 16, 20, 0.1), 0); /* too many may be in the list */
}

static void catalogues_may_be_smaller_than_the_list(void **state)
{
    (void)state;
    assert_int_equal(lists_of(normal, 10, 1, 8, 20, 0), 10);
    assert_int_equal(lists_of(normal, 10, 63, 8, 63, 0), 10);
    assert_int_equal(lists_of(normal, 10, 64, 8, 100, 0.5), 10);
    assert_int_equal(lists_of(normal, 10, 130, 8, 130, 0.1), 10);
    assert_int_equal(lists_of(normal, 100, 150, 8, 20, 0.9), 100); /* fewer than 20 are left */
    assert_int_equal(lists_of(normal, 10, 150, 8, 20, 1), 10);     /* none is */
}

static void what_is_too_large_has_no_screen(void **state)
{
    (void)state;
    town t;
    cwi_screen screen;
    assert_int_equal(lists_of(huge, 5, 100, 8, 5, 0), -1);
    town_init(&t, 9, 100, 8, normal, 0);
    t.users[0] = NAN; /* users are left to whoever makes all scores */
    t.users[8] = INFINITY;
    t.users[16] = 1e30f;
    assert_int_equal(cwi_screen_create(t.l.ctx, &t.ranker, 5, &screen), CW_OK);
    assert_int_equal(check_lists(&t, &screen, 5), 6);
    cwi_screen_clear(&screen);
    t.items[17] = NAN;
    assert_int_equal(cwi_screen_create(t.l.ctx, &t.ranker, 5, &screen), CW_OK);
    assert_null(screen.rooms);
    cwi_screen_clear(&screen);
    town_clear(&t);
}

/* Vectors of items that are not near the list may be anything once they have been rounded. */
static void most_items_are_never_scored(void **state)
{
    (void)state;
    enum { N_ITEMS = 3000, K = 20, NEAR = 60 };
    town t;
    cwi_screen screen;
    cwi_ranked top[NEAR];
    int32_t item[K], count;
    static float score[N_ITEMS];
    static bool is_near[N_ITEMS];
    town_init(&t, 1, N_ITEMS, 64, normal, 0);
    assert_int_equal(cwi_screen_create(t.l.ctx, &t.ranker, K, &screen), CW_OK);
    t.ranker.score(&t.ranker, &(int32_t){0}, 1, score);
    assert_int_equal(cwi_topk(score, N_ITEMS, NULL, 0, NEAR, top), NEAR);
    for (int p = 0; p < NEAR; p++) is_near[top[p].item] = true;
    for (int i = 0; i < N_ITEMS; i++)
        for (int j = 0; j < 64 && !is_near[i]; j++) t.items[i * 64 + j] = NAN;
    cwi_screen_rank(&screen, &t.mask, &(int32_t){0}, 1, item, &count);
    assert_int_equal(count, K);
    for (int p = 0; p < K; p++) assert_int_equal(item[p], top[p].item);
    cwi_screen_clear(&screen);
    town_clear(&t);
}

/* ---- walks -------------------------------------------------------------------------- */

enum { WALK_USERS = 400, WALK_ITEMS = 600, WALK_K = 15 };

typedef struct lists {
    int32_t count[WALK_USERS], item[WALK_USERS][WALK_K];
} lists;

static void copy_list(void *arg, const cwi_list *list)
{
    lists *out = arg;
    out->count[list->row] = list->count;
    memcpy(out->item[list->row], list->item, (size_t)list->count * sizeof *list->item);
}

static cw_status walk_town(town *t, lists *out)
{
    static const double no_dial = 0;
    static int32_t users[WALK_USERS];
    for (int32_t u = 0; u < WALK_USERS; u++) users[u] = u;
    memset(out, 0, sizeof *out);
    const cwi_walk walk = {.ranker = &t->ranker,
                           .mask = &t->mask,
                           .users = users,
                           .n_users = WALK_USERS,
                           .k = WALK_K,
                           .dials = &no_dial,
                           .n_dials = 1,
                           .collect = copy_list,
                           .arg = out};
    return cwi_walk_run(t->l.ctx, &walk);
}

/* With the table that has no use for bounds and with the best, on one thread and on three. */
static void check_walks(town *t)
{
    static lists all, some;
    static const char *const isa[] = {"ref", "auto"};
    for (int threads = 1; threads <= 3; threads += 2)
        for (int i = 0; i < 2; i++) {
            assert_int_equal(cw_context_set_threads(t->l.ctx, threads), CW_OK);
            assert_int_equal(cw_use_isa(t->l.ctx, isa[i]), CW_OK);
            assert_int_equal(walk_town(t, i ? &some : &all), CW_OK);
            if (i) assert_memory_equal(&some, &all, sizeof all);
        }
}

static void walks_do_not_depend_on_bounds(void **state)
{
    (void)state;
    static const number_fn kinds[] = {normal, whole, equal, huge, often_zero};
    for (int c = 0; c < 5; c++) {
        town t;
        town_init(&t, WALK_USERS, WALK_ITEMS, 16, kinds[c], 0.05);
        check_walks(&t);
        town_clear(&t);
    }
}

static void bounds_are_used_where_they_pay(void **state)
{
    (void)state;
    const cwi_ops *ops = cwi_ops_best();
    town t;
    town_init(&t, WALK_USERS, WALK_ITEMS, 16, normal, 0);
    assert_false(cwi_ops_find("ref")->screen_pays());
    assert_int_equal(cwi_screen_pays(&t.ranker, WALK_K, WALK_USERS), ops->screen_pays());
    assert_false(cwi_screen_pays(&t.ranker, WALK_ITEMS, WALK_USERS));
    assert_false(cwi_screen_pays(&t.ranker, WALK_K, 1));
    t.ranker.width = 1;
    assert_false(cwi_screen_pays(&t.ranker, WALK_K, WALK_USERS));
    t.ranker.score = NULL; /* not by inner products */
    assert_false(cwi_screen_can(&t.ranker));
    town_clear(&t);
}

static void a_score_that_is_no_number_is_named_as_ever(void **state)
{
    (void)state;
    static lists out;
    for (int of_user = 0; of_user < 2; of_user++) {
        town t;
        town_init(&t, WALK_USERS, WALK_ITEMS, 16, normal, 0);
        if (of_user)
            t.users[300 * 16 + 3] = NAN;
        else
            t.items[7 * 16] = NAN;
        assert_int_equal(walk_town(&t, &out), CW_BAD_DATA);
        assert_string_equal(cw_context_error(t.l.ctx),
                            of_user ? "the score of item 0 for user 300 is not a number"
                                    : "the score of item 7 for user 0 is not a number");
        town_clear(&t);
    }
}

static void a_walk_survives_each_failing_allocation(void **state)
{
    (void)state;
    static const number_fn kinds[] = {normal,
                                      equal}; /* the second does without bounds in the end */
    static lists out;
    for (int c = 0; c < 2; c++) {
        town t;
        int64_t nth = 0;
        cw_status status;
        town_init(&t, WALK_USERS, WALK_ITEMS, 16, kinds[c], 0.05);
        do {
            cwi_mem_fail_at(t.l.ctx, ++nth);
            status = walk_town(&t, &out);
            assert_true(status == CW_OK || status == CW_NO_MEMORY);
        } while (status != CW_OK);
        assert_true(nth > 6);
        cwi_mem_fail_at(t.l.ctx, 0);
        town_clear(&t);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scores_lie_within_their_bounds),
        cmocka_unit_test(the_worst_rounding_is_within_bounds),
        cmocka_unit_test(vectors_that_cannot_be_rounded_are_refused),
        cmocka_unit_test(lists_are_those_of_all_scores),
        cmocka_unit_test(equal_scores_go_by_item),
        cmocka_unit_test(catalogues_may_be_smaller_than_the_list),
        cmocka_unit_test(what_is_too_large_has_no_screen),
        cmocka_unit_test(most_items_are_never_scored),
        cmocka_unit_test(walks_do_not_depend_on_bounds),
        cmocka_unit_test(bounds_are_used_where_they_pay),
        cmocka_unit_test(a_score_that_is_no_number_is_named_as_ever),
        cmocka_unit_test(a_walk_survives_each_failing_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
