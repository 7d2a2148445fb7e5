/* test_topk.c - the best K against a full sort. */
#include "evaluate/topk.h"

#include <math.h>

#include "core/rng.h"
#include "testing.h"

enum { MAX_ITEMS = 300 };

static int best_first(const void *a, const void *b)
{
    const cwi_ranked *x = a, *y = b;
    if (x->score != y->score) return x->score < y->score ? 1 : -1;
    return x->item - y->item;
}

/* The same by sorting every candidate. */
static int32_t sort_all(const float *score, int32_t n, const int32_t *skip, int64_t n_skip,
                        int32_t k, cwi_ranked *out)
{
    int32_t count = 0;
    int64_t s = 0;
    for (int32_t i = 0; i < n; i++) {
        if (s < n_skip && skip[s] == i)
            s++;
        else
            out[count++] = (cwi_ranked){score[i], i};
    }
    qsort(out, (size_t)count, sizeof *out, best_first);
    return count < k ? count : k;
}

/* A catalogue with few or many equal scores, some infinite, and a random mask. */
static int32_t draw_case(cwi_rng *rng, float *score, int32_t *skip, int64_t *n_skip)
{
    int32_t n = 1 + (int32_t)cwi_rng_below(rng, MAX_ITEMS);
    uint64_t levels = 1 + cwi_rng_below(rng, 200), masked = cwi_rng_below(rng, 11);
    *n_skip = 0;
    for (int32_t i = 0; i < n; i++) {
        score[i] = (float)cwi_rng_below(rng, levels) - 100.0f;
        if (cwi_rng_below(rng, 40) == 0) score[i] = -HUGE_VALF;
        if (cwi_rng_below(rng, 80) == 0) score[i] = HUGE_VALF;
        if (cwi_rng_below(rng, 10) < masked) skip[(*n_skip)++] = i;
    }
    return n;
}

static void equals_a_full_sort_with_ties_and_masks(void **state)
{
    (void)state;
    float score[MAX_ITEMS];
    int32_t skip[MAX_ITEMS];
    cwi_ranked quick[2 * MAX_ITEMS], slow[MAX_ITEMS];
    for (uint64_t round = 0; round < 3000; round++) {
        cwi_rng rng;
        int64_t n_skip;
        cwi_rng_init(&rng, 1, CWI_RNG_TEST, round);
        int32_t n = draw_case(&rng, score, skip, &n_skip);
        int32_t k = 1 + (int32_t)cwi_rng_below(&rng, round % 2 ? 25 : 2 * MAX_ITEMS);
        int32_t found = cwi_topk(score, n, skip, n_skip, k, quick);
        assert_int_equal(found, sort_all(score, n, skip, n_skip, k, slow));
        for (int32_t p = 0; p < found; p++) {
            assert_int_equal(quick[p].item, slow[p].item);
            assert_true(quick[p].score == slow[p].score);
        }
    }
}

static void nothing_is_left_when_all_is_masked(void **state)
{
    (void)state;
    const float score[] = {1, NAN, 3};
    const int32_t skip[] = {0, 1, 2};
    cwi_ranked top[2];
    assert_int_equal(cwi_topk(score, 3, skip, 3, 2, top), 0);
    assert_int_equal(cwi_topk(score, 0, NULL, 0, 2, top), 0);
    assert_int_equal(cwi_topk(score, 1, NULL, 0, 0, top), 0);
}

static void nan_of_a_candidate_is_refused_wherever_it_is(void **state)
{
    (void)state;
    float score[100];
    cwi_ranked top[5];
    for (int32_t bad = 0; bad < 100; bad++) {
        for (int32_t i = 0; i < 100; i++) score[i] = (float)(100 - i);
        score[bad] = NAN;
        assert_int_equal(cwi_topk(score, 100, NULL, 0, 5, top), -1);
        assert_int_equal(cwi_topk(score, 100, &bad, 1, 5, top), 5); /* masked: nobody looks */
        assert_int_equal(top[0].item, bad == 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(equals_a_full_sort_with_ties_and_masks),
        cmocka_unit_test(nothing_is_left_when_all_is_masked),
        cmocka_unit_test(nan_of_a_candidate_is_refused_wherever_it_is),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
