/* test_agreement.c - rank correlations against brute force, and a truth small enough for paper. */
#include "evaluate/agreement.h"

#include "evaluate/kendall.h"
#include "evaluate_check.h"

/* Tau-b by looking at every pair. */
static double kendall_by_pairs(const cwi_rated *rated, int32_t n)
{
    double balance = 0, untied_score = 0, untied_truth = 0;
    for (int32_t a = 0; a < n; a++)
        for (int32_t b = 0; b < a; b++) {
            double s = (rated[a].score > rated[b].score) - (rated[a].score < rated[b].score);
            double t = (rated[a].truth > rated[b].truth) - (rated[a].truth < rated[b].truth);
            balance += s * t;
            untied_score += s != 0;
            untied_truth += t != 0;
        }
    return balance / sqrt(untied_score * untied_truth);
}

static void kendall_equals_counting_all_pairs(void **state)
{
    (void)state;
    cwi_rated rated[120], room[120];
    for (uint64_t round = 0; round < 500; round++) {
        cwi_rng rng;
        cwi_rng_init(&rng, 2, CWI_RNG_TEST, round);
        int32_t n = 2 + (int32_t)cwi_rng_below(&rng, 118);
        uint64_t levels = 2 + cwi_rng_below(&rng, 100);
        for (int32_t k = 0; k < n; k++) {
            rated[k].truth = (double)cwi_rng_below(&rng, levels);
            rated[k].score = (double)cwi_rng_below(&rng, 3) +
                             (round % 2 ? rated[k].truth : -rated[k].truth) / 20;
        }
        double expected = kendall_by_pairs(rated, n), tau = cwi_kendall(rated, room, n);
        if (isnan(expected))
            assert_true(isnan(tau));
        else
            assert_true(fabs(tau - expected) < 1e-12);
    }
}

static void kendall_of_known_orders(void **state)
{
    (void)state;
    cwi_rated room[5];
    cwi_rated same[] = {{1, 10}, {2, 20}, {3, 30}}, opposite[] = {{1, 3}, {2, 2}, {3, 1}};
    cwi_rated constant[] = {{1, 5}, {2, 5}, {3, 5}};
    /* of the ten pairs nine agree */
    cwi_rated swapped[] = {{5, 4}, {1, 1}, {4, 5}, {2, 2}, {3, 3}};
    assert_near(cwi_kendall(same, room, 3), 1);
    assert_near(cwi_kendall(opposite, room, 3), -1);
    assert_near(cwi_kendall(swapped, room, 5), 0.8);
    assert_true(isnan(cwi_kendall(constant, room, 3)));
    assert_true(isnan(cwi_kendall(same, room, 1)) && isnan(cwi_kendall(same, room, 0)));
}

static void spearman_shares_ranks_among_equals(void **state)
{
    (void)state;
    const double x[] = {1, 2, 2, 4}, y[] = {1, 3, 2, 4}, flat[] = {7, 7, 7, 7};
    double rho;
    listener l;
    listener_init(&l);
    assert_int_equal(cwi_spearman(l.ctx, x, y, 4, &rho), CW_OK);
    assert_near(rho, 0.9486832980505138); /* 4.5 / sqrt(4.5 * 5) */
    assert_int_equal(cwi_spearman(l.ctx, x, flat, 4, &rho), CW_OK);
    assert_true(isnan(rho));
    listener_clear(&l);
}

/* ln(r / (1 - r)): as the quality of an item it makes its relevance r. */
static float logit(double r)
{
    return (float)log(r / (1 - r));
}

/* Three users and four items of relevance 0.8, 0.6, 0.4, 0.2 for everybody. */
static void small_truth_by_hand(void **state)
{
    (void)state;
    static const double relevance[] = {0.8, 0.6, 0.4, 0.2};
    float table[3][4] = {
        {4, 3, 2, 1}, /* as the truth */
        {9, 1, 2, 3}, /* has seen item 0; the rest upside down */
        {1, 1, 1, 1}, /* knows nothing: the list is 0, 1 and tau cannot be said */
    };
    int32_t users[] = {0, 1, 2}, seen_user[] = {1}, seen_item[] = {0};
    const double no_dial = 0, log3 = log2(3);
    cwi_agreement a;
    cwi_truth *truth;
    cwi_csr mask;
    listener l;
    listener_init(&l);
    assert_int_equal(cwi_truth_create(l.ctx, 3, 4, 1, &truth), CW_OK);
    for (int i = 0; i < 4; i++) truth->item_quality[i] = logit(relevance[i]);
    assert_int_equal(cwi_csr_create(l.ctx, seen_user, seen_item, 1, 3, &mask), CW_OK);
    cwi_ranker ranker = table_ranker(&table[0][0], 3, 4);
    const cwi_walk walk = {.ranker = &ranker,
                           .mask = &mask,
                           .users = users,
                           .n_users = 3,
                           .k = 2,
                           .dials = &no_dial,
                           .n_dials = 1};
    assert_int_equal(cwi_agreement_measure(l.ctx, &walk, truth, 0, &a), CW_OK);
    assert_int_equal(a.users, 3);
    assert_int_equal(a.items, 4);
    const double ndcg = (0.2 + 0.4 / log3) / (0.6 + 0.4 / log3);
    const struct {
        int what;
        double mean;
    } expected[] = {
        {CWI_AGREEMENT_kendall_tau, 0},
        {CWI_AGREEMENT_recall, (0.7 + 0.5 + 0.7) / 3},
        {CWI_AGREEMENT_ndcg, (1 + ndcg + 1) / 3},
        {CWI_AGREEMENT_relevance, (0.7 + 0.3 + 0.7) / 3},
        {CWI_AGREEMENT_ideal_recall, (0.7 + 1 / 1.2 + 0.7) / 3},
        {CWI_AGREEMENT_ideal_relevance, (0.7 + 0.5 + 0.7) / 3},
        {CWI_AGREEMENT_candidate_relevance, (0.5 + 0.4 + 0.5) / 3},
    };
    for (size_t e = 0; e < CWI_N_AGREEMENTS; e++)
        if (!(fabs(a.mean[expected[e].what] - expected[e].mean) < 1e-6))
            fail_msg("%s: %.9g is not %.9g", cwi_agreement_name[expected[e].what],
                     a.mean[expected[e].what], expected[e].mean);
    assert_near(a.error[CWI_AGREEMENT_kendall_tau], 1); /* of 1 and -1 */
    cwi_csr_clear(&mask);
    cwi_truth_free(truth);
    listener_clear(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(kendall_equals_counting_all_pairs),
        cmocka_unit_test(kendall_of_known_orders),
        cmocka_unit_test(spearman_shares_ranks_among_equals),
        cmocka_unit_test(small_truth_by_hand),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
