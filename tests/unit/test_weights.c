/* test_weights.c - do metrics of exposed rows say what they would if everything had been shown?
 *
 * A simulated truth gives relevances and item propensities.  A ranking that leans to popular items
 * is fixed; test rows are drawn from it again and again, and the mean of each metric is set against
 * what the truth makes of the same lists, worked out here in plain loops. */
#include "core/elementary.h"
#include "core/mem.h"
#include "evaluate_check.h"
#include "prepare/truth.h"

enum { DRAWS = 200, K = 10 };

typedef struct field {
    listener l;
    cw_dataset *data;
    int32_t n_users, n_items;
    double *relevance, *propensity, *same; /* [n_users][n_items], [n_items], [n_items] all equal */
    float *score;                          /* [n_users][n_items] */
    cwi_csr mask;
    int64_t *degree;
    cwi_ranker ranker;
    cwi_pairs held;
} field;

/* What metrics should be: of the relevances alone, whatever was shown. */
typedef struct ideal {
    double pooled_recall, mean_recall, precision, ndcg, dcg;
} ideal;

static void field_init(field *f)
{
    static const char *const settings[][2] = {{"users", "600"},    {"items", "120"},
                                              {"activity", "0.5"}, {"quality", "0.3"},
                                              {"relevant", "0.3"}, {"seed", "4"}};
    cw_options *options, *split;
    memset(f, 0, sizeof *f);
    listener_init(&f->l);
    assert_int_equal(cw_options_create(f->l.ctx, "simulate", &options), CW_OK);
    for (size_t k = 0; k < sizeof settings / sizeof settings[0]; k++)
        assert_int_equal(cw_options_set(f->l.ctx, options, settings[k][0], settings[k][1]), CW_OK);
    split = paper_split(f->l.ctx);
    assert_int_equal(cw_options_set(f->l.ctx, split, "core", "1"), CW_OK);
    assert_int_equal(cw_dataset_simulate(f->l.ctx, options, split, &f->data), CW_OK);
    cw_options_free(options);
    cw_options_free(split);

    const cwi_pairs *train = &f->data->part[CW_PART_TRAIN];
    int32_t n_users = f->n_users = f->data->n_users, n_items = f->n_items = f->data->n_items;
    size_t cells = (size_t)n_users * (size_t)n_items;
    f->relevance = malloc(cells * sizeof *f->relevance);
    f->score = malloc(cells * sizeof *f->score);
    f->propensity = malloc((size_t)n_items * sizeof *f->propensity);
    f->same = malloc((size_t)n_items * sizeof *f->same);
    f->degree = malloc((size_t)n_items * sizeof *f->degree);
    cwi_degrees(train->item, train->count, n_items, f->degree);
    for (int32_t i = 0; i < n_items; i++) {
        f->propensity[i] = 0.05 + 0.9 * (double)f->data->truth->item_propensity[i];
        f->same[i] = 0.3;
        for (int32_t u = 0; u < n_users; u++) {
            size_t at = (size_t)u * (size_t)n_items + (size_t)i;
            f->relevance[at] = cwi_truth_relevance(f->data->truth, u, i);
            f->score[at] = (float)(f->relevance[at] + f->propensity[i]);
        }
    }
    f->ranker = table_ranker(f->score, n_users, n_items);
    assert_int_equal(
        cwi_csr_create(f->l.ctx, train->user, train->item, train->count, n_users, &f->mask), CW_OK);
    cwi_csr_sort(&f->mask);
    assert_int_equal(cwi_pairs_create(f->l.ctx, (int64_t)cells, &f->held), CW_OK);
}

static void field_clear(field *f)
{
    cwi_pairs_clear(&f->held);
    cwi_csr_clear(&f->mask);
    cw_dataset_free(f->data);
    free(f->relevance);
    free(f->score);
    free(f->propensity);
    free(f->same);
    free(f->degree);
    listener_clear(&f->l);
}

/* How many candidates of the user come before item i, by score and then by number. */
static int32_t place_of(const field *f, int32_t u, int32_t i)
{
    const float *score = f->score + (int64_t)u * f->n_items;
    int32_t before = 0;
    for (int32_t j = 0; j < f->n_items; j++)
        if (!cwi_csr_has(&f->mask, u, j) &&
            (score[j] > score[i] || (score[j] >= score[i] && j < i)))
            before++;
    return before;
}

static ideal find_ideal(const field *f)
{
    double listed = 0, all = 0, discounted = 0, recalls = 0, best = 0;
    for (int32_t p = 0; p < K; p++) best += 1 / log2(p + 2.0);
    for (int32_t u = 0; u < f->n_users; u++) {
        double ours = 0, theirs = 0;
        for (int32_t i = 0; i < f->n_items; i++) {
            double relevance = f->relevance[(int64_t)u * f->n_items + i];
            if (cwi_csr_has(&f->mask, u, i)) continue;
            int32_t place = place_of(f, u, i);
            theirs += relevance;
            if (place >= K) continue;
            ours += relevance;
            discounted += relevance / log2(place + 2.0);
        }
        listed += ours;
        all += theirs;
        recalls += ours / theirs;
    }
    return (ideal){.pooled_recall = listed / all,
                   .mean_recall = recalls / f->n_users,
                   .precision = listed / K / f->n_users,
                   .ndcg = discounted / best / f->n_users,
                   .dcg = discounted / all};
}

/* Rows that are relevant and were shown. */
static void draw_held(field *f, const double *propensity, uint64_t draw)
{
    cwi_rng rng;
    cwi_rng_init(&rng, 21, CWI_RNG_TEST, draw);
    f->held.count = 0;
    for (int32_t u = 0; u < f->n_users; u++)
        for (int32_t i = 0; i < f->n_items; i++) {
            double chance = propensity[i] * f->relevance[(int64_t)u * f->n_items + i];
            if (!(cwi_rng_real(&rng) < chance) || cwi_csr_has(&f->mask, u, i)) continue;
            f->held.user[f->held.count] = u;
            f->held.item[f->held.count++] = i;
        }
}

/* Mean over the draws of every metric, and its standard error. */
typedef struct outcome {
    double mean[CWI_N_METRICS], error[CWI_N_METRICS];
} outcome;

static outcome draw_often(field *f, const double *propensity, const cwi_exposure *exposure)
{
    double sum[CWI_N_METRICS] = {0}, squares[CWI_N_METRICS] = {0};
    outcome out;
    for (int d = 0; d < DRAWS; d++) {
        cwi_metrics found;
        draw_held(f, propensity, (uint64_t)d);
        assert_int_equal(
            cwi_evaluate(f->l.ctx, &f->ranker, &f->mask, &f->held, f->degree, exposure, K, &found),
            CW_OK);
        for (int m = 0; m < CWI_N_METRICS; m++) {
            sum[m] += found.value[m];
            squares[m] += found.value[m] * found.value[m];
        }
    }
    for (int m = 0; m < CWI_N_METRICS; m++) {
        out.mean[m] = sum[m] / DRAWS;
        out.error[m] = sqrt((squares[m] / DRAWS - out.mean[m] * out.mean[m]) / (DRAWS - 1));
    }
    return out;
}

/* How many standard errors a metric is from what it should be. */
static double distance(const outcome *o, int metric, double expected)
{
    double z = fabs(o->mean[metric] - expected) / o->error[metric];
    print_message("%-16s %.5f +- %.5f, should be %.5f: %.2f errors away\n",
                  cwi_metric_table[metric].name, o->mean[metric], o->error[metric], expected, z);
    return z;
}

static void rows_shown_uniformly_say_what_the_truth_says(void **state)
{
    (void)state;
    field f;
    field_init(&f);
    const cwi_exposure exposure = {.is_uniform = true};
    ideal truth = find_ideal(&f);
    outcome o = draw_often(&f, f.same, &exposure);
    assert_true(distance(&o, CWI_METRIC_unbiased_recall, truth.pooled_recall) < 2);
    /* whom to count is what the plain one gets wrong: users with much to find are there more */
    assert_true(distance(&o, CWI_METRIC_recall, truth.mean_recall) > 4);
    assert_true(distance(&o, CWI_METRIC_recall, truth.pooled_recall) > 4);
    field_clear(&f);
}

static void rows_of_a_biased_exposure_do_so_when_weighed(void **state)
{
    (void)state;
    field f;
    field_init(&f);
    double *weight = malloc((size_t)f.n_items * sizeof *weight);
    for (int32_t i = 0; i < f.n_items; i++) weight[i] = 1 / f.propensity[i];
    const cwi_exposure exposure = {.is_uniform = true, .weight = weight};
    ideal truth = find_ideal(&f);
    outcome o = draw_often(&f, f.propensity, &exposure);
    assert_true(distance(&o, CWI_METRIC_ips_precision, truth.precision) < 2);
    assert_true(distance(&o, CWI_METRIC_ips_ndcg, truth.ndcg) < 2);
    assert_true(distance(&o, CWI_METRIC_snips_recall, truth.pooled_recall) < 2);
    assert_true(distance(&o, CWI_METRIC_snips_dcg, truth.dcg) < 2);
    assert_true(distance(&o, CWI_METRIC_recall, truth.mean_recall) > 4);
    assert_true(distance(&o, CWI_METRIC_recall, truth.pooled_recall) > 4);
    assert_true(distance(&o, CWI_METRIC_precision, truth.precision) > 4);
    assert_true(distance(&o, CWI_METRIC_unbiased_recall, truth.pooled_recall) > 4);
    free(weight);
    field_clear(&f);
}

/* Propensities that are too large by a factor move what divides by users, not what divides by
 * weights. */
static void self_normalised_metrics_need_propensities_up_to_a_factor(void **state)
{
    (void)state;
    field f;
    cwi_metrics right, wrong;
    field_init(&f);
    double *weight = malloc((size_t)f.n_items * sizeof *weight);
    const cwi_exposure exposure = {.weight = weight};
    draw_held(&f, f.propensity, 0);
    for (int32_t i = 0; i < f.n_items; i++) weight[i] = 1 / f.propensity[i];
    assert_int_equal(
        cwi_evaluate(f.l.ctx, &f.ranker, &f.mask, &f.held, f.degree, &exposure, K, &right), CW_OK);
    for (int32_t i = 0; i < f.n_items; i++) weight[i] *= 4;
    assert_int_equal(
        cwi_evaluate(f.l.ctx, &f.ranker, &f.mask, &f.held, f.degree, &exposure, K, &wrong), CW_OK);
    assert_near(wrong.value[CWI_METRIC_snips_recall], right.value[CWI_METRIC_snips_recall]);
    assert_near(wrong.value[CWI_METRIC_snips_dcg], right.value[CWI_METRIC_snips_dcg]);
    assert_near(wrong.value[CWI_METRIC_ips_precision], 4 * right.value[CWI_METRIC_ips_precision]);
    assert_near(wrong.value[CWI_METRIC_ips_ndcg], 4 * right.value[CWI_METRIC_ips_ndcg]);
    free(weight);
    field_clear(&f);
}

/* ---- by hand ------------------------------------------------------------------------------- */

/* Four users, four items, lists of two.  Scores fall with the number of the item, but users 1 and
 * 2 have ties.  User 0 has seen item 0, which is held out all the same; user 3 has nothing held
 * out. */
static void values_by_hand(void **state)
{
    (void)state;
    static float table[] = {9, 8, 7, 6, 5, 5, 5, 5, 9, 5, 5, 5, 9, 8, 7, 6};
    static int32_t seen_user[] = {0}, seen_item[] = {0};
    static int32_t user[] = {0, 0, 0, 1, 1, 2}, item[] = {0, 1, 3, 1, 2, 2};
    static double weight[] = {1, 2, 4, 10};
    const cwi_exposure exposure = {.is_uniform = true, .weight = weight};
    const cwi_ranker ranker = table_ranker(table, 4, 4);
    const cwi_pairs held = {.count = 6, .user = user, .item = item};
    const int64_t degree[] = {1, 0, 0, 0};
    const double second = 1 / log2(3.0);
    cwi_metrics m;
    cwi_csr mask;
    listener l;
    listener_init(&l);
    assert_int_equal(cwi_csr_create(l.ctx, seen_user, seen_item, 1, 4, &mask), CW_OK);
    assert_int_equal(cwi_evaluate(l.ctx, &ranker, &mask, &held, degree, &exposure, 2, &m), CW_OK);
    /* lists: user 0: 1 2; user 1: 0 1; user 2: 0 1.  Hits: (0, 1) first, (1, 1) second. */
    assert_near(m.value[CWI_METRIC_unbiased_recall], 2.0 / 5);
    assert_near(m.value[CWI_METRIC_recall], (1.0 / 3 + 1.0 / 2 + 0) / 3);
    assert_near(m.value[CWI_METRIC_ips_precision], (2.0 / 2 + 2.0 / 2) / 4);
    assert_near(m.value[CWI_METRIC_ips_ndcg], (2 + 2 * second) / (1 + second) / 4);
    assert_near(m.value[CWI_METRIC_snips_recall], 4.0 / (2 + 10 + 2 + 4 + 4));
    assert_near(m.value[CWI_METRIC_snips_dcg], (2 + 2 * second) / 22);
    /* what is not known is not measured */
    assert_int_equal(cwi_evaluate(l.ctx, &ranker, &mask, &held, degree, NULL, 2, &m), CW_OK);
    for (int n = 0; n < CWI_N_METRICS; n++) {
        assert_int_equal(m.is_known[n], cwi_metric_need[n] == CWI_NEED_NOTHING);
        assert_int_equal(isnan(m.value[n]) != 0, cwi_metric_need[n] != CWI_NEED_NOTHING);
    }
    cwi_csr_clear(&mask);
    listener_clear(&l);
}

/* A hit of ten users, nine of whom have nothing held out: their number varies, too. */
static void intervals_count_users_with_nothing_held_out(void **state)
{
    (void)state;
    const cwi_share share[] = {{1, 1}, {1, 1}}, absent[] = {{0, 0}, {0, 1}};
    cwi_interval found[2];
    listener l;
    listener_init(&l);
    assert_int_equal(cwi_bootstrap(l.ctx, share, 1, 2, absent, 9, 4000, 1, found), CW_OK);
    assert_true(found[0].low == 1 && found[0].high == 1);
    /* binomial(10, 0.1) / 10: P(0) = 0.35, P(at most 3) = 0.987, P(at most 2) = 0.930 */
    assert_near(found[1].low + 1, 1);
    assert_near(found[1].high, 0.3);
    listener_clear(&l);
}

/* Groups of users add up to all users, those with nothing held out among them. */
static void groups_of_users_count_everybody(void **state)
{
    (void)state;
    static double weight[60];
    world w;
    cwi_request request;
    cwi_findings *found = calloc(1, sizeof *found);
    double sum = 0;
    size_t g;
    json_t *group;
    world_init(&w, 40, 60);
    for (int i = 0; i < 60; i++) weight[i] = 1 + i % 7;
    w.held.count /= 8; /* most users have nothing left */
    const cwi_exposure exposure = {.weight = weight};
    w.subject.exposure = &exposure;
    assert_int_equal(
        make_request(w.l.ctx, (const char *const[]){"k=10", "bootstrap=20", NULL}, &request),
        CW_OK);
    assert_int_equal(cwi_assess(w.l.ctx, &w.subject, &request, found), CW_OK);
    json_t *report = cwi_findings_report(&w.subject, &request, found);
    assert_true(found->audience.n < 10);
    json_array_foreach(json_object_get(report, "user_groups"), g, group) sum +=
        json_number_value(json_object_get(group, "users")) *
        json_number_value(json_object_get(group, "ips_ndcg"));
    assert_near(sum / 40, json_number_value(
                              json_object_get(json_object_get(report, "metrics"), "ips_ndcg@10")));
    group = json_array_get(json_object_get(report, "groups"), 0);
    assert_non_null(json_object_get(group, "snips_recall"));
    assert_null(json_object_get(group, "ips_precision"));
    assert_null(json_object_get(group, "unbiased_recall"));
    assert_non_null(json_object_get(json_object_get(report, "bootstrap"), "snips_dcg@10"));
    json_decref(report);
    cwi_findings_clear(found);
    free(found);
    world_clear(&w);
}

/* ---- options -------------------------------------------------------------------------------- */

static void failing_allocations_leave_no_weights(void **state)
{
    (void)state;
    static const char *const setting[][2] = {{"propensity-power", "0.5"}, {"propensity", NULL}};
    char folder[64], path[96];
    listener l;
    cwi_idmap items = {0};
    const int64_t degree[] = {4, 1};
    listener_init(&l);
    make_scratch(folder);
    snprintf(path, sizeof path, "%s/p.csv", folder);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fputs("item,propensity\nb,0.25\na,0.5\n", file);
    assert_int_equal(fclose(file), 0);
    int32_t number;
    assert_int_equal(cwi_idmap_add(l.ctx, &items, "a", 1, &number), CW_OK);
    assert_int_equal(cwi_idmap_add(l.ctx, &items, "b", 1, &number), CW_OK);
    for (size_t k = 0; k < 2; k++) {
        cw_options *options;
        cwi_exposure exposure = {0};
        cw_status status = CW_NO_MEMORY;
        assert_int_equal(cwi_options_create(l.ctx, "evaluate", cwi_evaluate_options, &options),
                         CW_OK);
        assert_int_equal(
            cwi_options_assign(l.ctx, options, setting[k][0], setting[k][1] ? setting[k][1] : path),
            CW_OK);
        for (int64_t nth = 1; status != CW_OK; nth++) {
            assert_true(nth < 100);
            cwi_mem_fail_at(l.ctx, nth);
            status = cwi_weights_create(l.ctx, options, "", &items, degree, &exposure);
            cwi_mem_fail_at(l.ctx, 0);
            assert_true(status == CW_OK || (status == CW_NO_MEMORY && !exposure.weight));
        }
        assert_near(exposure.weight[0], k == 0 ? 1 : 2);
        assert_near(exposure.weight[1], k == 0 ? 2 : 4);
        assert_int_equal(exposure.hash[0] != '\0', k == 1);
        cwi_exposure_clear(&exposure);
        cw_options_free(options);
    }
    cwi_idmap_clear(&items);
    remove_scratch(folder);
    listener_clear(&l);
}

/* The bound is what is counted, and a row that can never have been seen is refused. */
static void small_propensities_are_bounded(void **state)
{
    (void)state;
    static int32_t user[] = {0}, item[] = {2};
    const int64_t degree[] = {4, 1, 0};
    const cwi_pairs held = {.count = 1, .user = user, .item = item};
    listener l;
    cwi_idmap items = {0};
    cw_options *options;
    cwi_exposure exposure = {0};
    int32_t number;
    listener_init(&l);
    for (int i = 0; i < 3; i++)
        assert_int_equal(cwi_idmap_add(l.ctx, &items, &"abc"[i], 1, &number), CW_OK);
    assert_int_equal(cwi_options_create(l.ctx, "evaluate", cwi_evaluate_options, &options), CW_OK);
    assert_int_equal(cwi_options_assign(l.ctx, options, "propensity-power", "1"), CW_OK);
    assert_int_equal(cwi_weights_create(l.ctx, options, "", &items, degree, &exposure), CW_OK);
    assert_int_equal(cwi_weights_check(l.ctx, &exposure, "", &held, &items), CW_BAD_DATA);
    assert_string_equal(cw_context_error(l.ctx), "item 'c' is to be found, and its propensity is "
                                                 "0; --propensity-min bounds it");
    cwi_exposure_clear(&exposure);
    assert_int_equal(cwi_options_assign(l.ctx, options, "propensity-min", "0.5"), CW_OK);
    assert_int_equal(cwi_weights_create(l.ctx, options, "", &items, degree, &exposure), CW_OK);
    assert_int_equal(cwi_weights_check(l.ctx, &exposure, "", &held, &items), CW_OK);
    assert_near(exposure.weight[0], 1);
    assert_near(exposure.weight[1], 2);
    assert_near(exposure.weight[2], 2);
    cwi_exposure_clear(&exposure);
    cw_options_free(options);
    cwi_idmap_clear(&items);
    listener_clear(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(rows_shown_uniformly_say_what_the_truth_says),
        cmocka_unit_test(rows_of_a_biased_exposure_do_so_when_weighed),
        cmocka_unit_test(self_normalised_metrics_need_propensities_up_to_a_factor),
        cmocka_unit_test(values_by_hand),
        cmocka_unit_test(intervals_count_users_with_nothing_held_out),
        cmocka_unit_test(groups_of_users_count_everybody),
        cmocka_unit_test(failing_allocations_leave_no_weights),
        cmocka_unit_test(small_propensities_are_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
