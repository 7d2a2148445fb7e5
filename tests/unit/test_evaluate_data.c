/* test_evaluate_data.c - ItemPop on real data has no randomness: every digit is known. */
#include <math.h>

#include "evaluate/evaluate.h"
#include "testing.h"

static const char *data; /* the folder of datasets */

/* Scores every item by its train degree, whoever asks. */
static void score_by_degree(const cwi_ranker *ranker, const int32_t *users, int32_t n, float *out)
{
    const int64_t *degree = ranker->state;
    (void)users;
    for (int32_t k = 0; k < n; k++)
        for (int32_t i = 0; i < ranker->n_items; i++)
            out[(int64_t)k * ranker->n_items + i] = (float)degree[i];
}

/* Equal when printed with this many decimals. */
static void assert_prints(double value, const char *expected, int decimals)
{
    char text[64];
    snprintf(text, sizeof text, "%.*f", decimals, value);
    assert_string_equal(text, expected);
}

static void item_pop_on_ml1m5_matches_the_reference(void **state)
{
    (void)state;
    static const struct {
        cw_part part;
        int64_t users;
        const char *recall, *ndcg, *precision, *arp;
    } expected[] = {{CW_PART_TEST, 5301, "0.043470", "0.027746", "0.012186", "1161.6435"},
                    {CW_PART_VALID, 4620, "0.037951", "0.021313", "0.007100", "1155.6518"}};
    char path[1024];
    listener l;
    cw_dataset *d;
    cwi_csr mask;
    listener_init(&l);
    snprintf(path, sizeof path, "%s/ml1m5-debiased", data);
    assert_int_equal(cw_dataset_load(l.ctx, path, &d), CW_OK);
    const cwi_pairs *train = &d->part[CW_PART_TRAIN];
    int64_t *degree = calloc((size_t)d->n_items, sizeof *degree);
    assert_non_null(degree);
    cwi_degrees(train->item, train->count, d->n_items, degree);
    assert_int_equal(
        cwi_csr_create(l.ctx, train->user, train->item, train->count, d->n_users, &mask), CW_OK);
    cwi_csr_sort(&mask);
    const cwi_ranker ranker = {
        .n_users = d->n_users, .n_items = d->n_items, .score = score_by_degree, .state = degree};
    for (size_t e = 0; e < 2; e++) {
        cwi_metrics m;
        const cwi_pairs *held = &d->part[expected[e].part];
        assert_int_equal(cwi_evaluate(l.ctx, &ranker, &mask, held, degree, NULL, 20, &m), CW_OK);
        assert_int_equal(m.users, expected[e].users);
        assert_prints(m.value[CWI_METRIC_recall], expected[e].recall, 6);
        assert_prints(m.value[CWI_METRIC_ndcg], expected[e].ndcg, 6);
        assert_prints(m.value[CWI_METRIC_precision], expected[e].precision, 6);
        assert_prints(m.value[CWI_METRIC_arp], expected[e].arp, 4);
    }
    cwi_csr_clear(&mask);
    free(degree);
    cw_dataset_free(d);
    listener_clear(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(item_pop_on_ml1m5_matches_the_reference),
    };
    data = data_folder_or_skip();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
