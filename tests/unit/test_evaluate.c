/* test_evaluate.c - metrics by hand, edges, and the same bits on any number of threads. */
#include "core/mem.h"
#include "evaluate_check.h"

static const int64_t degrees[10] = {100, 60, 40, 20, 10, 5, 3, 2, 1, 1};
static const int32_t list[5] = {4, 0, 7, 2, 9};

static cwi_trial trial_of(const int32_t *held, int64_t n_held)
{
    return (cwi_trial){
        .item = list, .count = 5, .held = held, .n_held = n_held, .k = 5, .degree = degrees};
}

/* The metrics of a user alone. */
static int32_t measure(const cwi_trial *trial, double value[CWI_N_METRICS])
{
    cwi_share share[CWI_N_METRICS];
    int32_t hits = cwi_trial_measure(trial, share);
    cwi_shares_value(share, value);
    return hits;
}

static void metrics_of_a_list_match_the_specification(void **state)
{
    (void)state;
    static const int32_t many[] = {0, 1, 3, 5, 7, 8}, one[] = {0}, two[] = {0, 7};
    double value[CWI_N_METRICS];
    cwi_trial trial = trial_of(many, 6);
    assert_int_equal(measure(&trial, value), 2);
    assert_near(value[CWI_METRIC_recall], 0.3333333333);
    assert_near(value[CWI_METRIC_precision], 0.4);
    assert_near(value[CWI_METRIC_ndcg], 0.3835663674);
    assert_near(value[CWI_METRIC_arp], 30.6);
    assert_near(value[CWI_METRIC_hit_rate], 1);
    assert_near(value[CWI_METRIC_mrr], 0.5);
    assert_near(value[CWI_METRIC_map], (1.0 / 2 + 2.0 / 3) / 5);
    trial.is_capped = true;
    measure(&trial, value);
    assert_near(value[CWI_METRIC_recall], 0.4);
    trial = trial_of(one, 1);
    assert_int_equal(measure(&trial, value), 1);
    assert_near(value[CWI_METRIC_recall], 1);
    assert_near(value[CWI_METRIC_precision], 0.2);
    assert_near(value[CWI_METRIC_ndcg], 0.6309297536);
    trial = trial_of(two, 2);
    measure(&trial, value);
    assert_near(value[CWI_METRIC_recall], 1);
    assert_near(value[CWI_METRIC_ndcg], 0.6934264036);
}

static void metrics_are_found_by_name(void **state)
{
    (void)state;
    const cwi_metrics m = {
        .value = {[CWI_METRIC_recall] = 1, [CWI_METRIC_ndcg] = 3, [CWI_METRIC_arp] = 7}};
    assert_true(*cwi_metric_find(&m, "recall") == 1);
    assert_true(*cwi_metric_find(&m, "ndcg") == 3);
    assert_true(*cwi_metric_find(&m, "arp") == 7);
    assert_null(cwi_metric_find(&m, "rmse"));
}

static void every_metric_of_the_table_can_be_asked_for(void **state)
{
    (void)state;
    const cwi_metrics metrics = {0};
    char name[CWI_METRIC_BYTES], key[CWI_METRIC_KEY_BYTES];
    const cw_metric_info *info;
    size_t m = 0;
    int32_t k;
    listener l;
    listener_init(&l);
    for (; (info = cw_metric_at(m)) != NULL; m++) {
        assert_ptr_equal(cwi_metric_find(&metrics, info->name), &metrics.value[m]);
        cwi_metric_key((int)m, INT32_MAX, key);
        assert_int_equal(cwi_metric_parse(l.ctx, key, name, &k), CW_OK);
        assert_string_equal(name, info->name);
        assert_int_equal(k, INT32_MAX);
        assert_true(info->title[0] && info->help[0] && info->digits >= 0);
    }
    assert_int_equal(m, CWI_N_METRICS);
    listener_clear(&l);
}

/* What training can stop by is larger when it is better; its option must name it. */
static void training_names_what_it_can_stop_by(void **state)
{
    (void)state;
    const cw_option_info *option = cw_stage_option("train", 0);
    for (size_t o = 0; option && strcmp(option->name, "metric") != 0;)
        option = cw_stage_option("train", ++o);
    assert_non_null(option);
    for (int m = 0; m < CWI_N_METRICS; m++)
        assert_true(!strstr(option->help, cwi_metric_table[m].name) ==
                    cwi_metric_table[m].is_low_good);
}

static void assert_groups(const int64_t *degree, int32_t n, int32_t n_groups,
                          const uint8_t *expected)
{
    listener l;
    uint8_t group[16];
    listener_init(&l);
    assert_int_equal(cwi_degree_groups(l.ctx, degree, n, n_groups, group), CW_OK);
    assert_memory_equal(group, expected, (size_t)n);
    listener_clear(&l);
}

static void groups_hold_nearly_equal_degree_sums(void **state)
{
    (void)state;
    static const int64_t equal[] = {4, 4, 4, 4}, rising[] = {1, 1, 2, 4}, none[] = {0, 0};
    assert_groups(degrees, 10, 4, (const uint8_t[]){3, 2, 1, 0, 0, 0, 0, 0, 0, 0});
    assert_groups(equal, 4, 4, (const uint8_t[]){0, 1, 2, 3});
    assert_groups(rising, 4, 2, (const uint8_t[]){0, 0, 0, 1});
    assert_groups(none, 2, 4, (const uint8_t[]){0, 0});
    assert_groups(rising, 4, 1, (const uint8_t[]){0, 0, 0, 0});
}

static void groups_say_nothing_where_there_is_nothing(void **state)
{
    (void)state;
    static const int32_t held[] = {0, 1, 3, 5, 7, 8};
    static const uint8_t group[] = {3, 2, 1, 0, 0, 0, 0, 0, 0, 0};
    static const double listed[] = {3, 1, 0, 1};
    cwi_group_tally tally[4] = {{.listed = {0}}};
    int32_t room[11];
    double value[4][CWI_N_METRICS];
    cwi_trial trial = trial_of(held, 6);
    cwi_group_add(tally, 4, group, &trial, room);
    for (int g = 0; g < 4; g++) {
        cwi_shares_value(tally[g].sum, value[g]);
        assert_near(cwi_mean_value(&tally[g].listed), listed[g]);
    }
    assert_near(value[0][CWI_METRIC_recall], 0.25);
    assert_near(value[0][CWI_METRIC_precision], 0.3333333333);
    assert_near(value[0][CWI_METRIC_ndcg], 0.296081911);
    assert_near(value[0][CWI_METRIC_arp], 4.333333333);
    assert_true(isnan(value[1][CWI_METRIC_recall]) && isnan(value[1][CWI_METRIC_ndcg]));
    assert_near(value[1][CWI_METRIC_precision], 0);
    assert_near(value[1][CWI_METRIC_arp], 40);
    assert_near(value[2][CWI_METRIC_recall], 0);
    assert_true(isnan(value[2][CWI_METRIC_precision]) && isnan(value[2][CWI_METRIC_ndcg]) &&
                isnan(value[2][CWI_METRIC_arp]));
    assert_near(value[3][CWI_METRIC_recall], 1);
    assert_near(value[3][CWI_METRIC_precision], 1);
    assert_near(value[3][CWI_METRIC_ndcg], 1);
    assert_near(value[3][CWI_METRIC_arp], 100);
}

/* Evaluate a table of scores on hand-made rows. */
static cw_status evaluate_rows(cw_context *ctx, float *table, int32_t n_users, int32_t n_items,
                               cwi_pairs seen, cwi_pairs held, int32_t k, cwi_metrics *out)
{
    const cwi_ranker ranker = table_ranker(table, n_users, n_items);
    int64_t degree[16];
    cwi_csr mask;
    assert_int_equal(cwi_csr_create(ctx, seen.user, seen.item, seen.count, n_users, &mask), CW_OK);
    cwi_csr_sort(&mask);
    cwi_degrees(seen.item, seen.count, n_items, degree);
    cw_status status = cwi_evaluate(ctx, &ranker, &mask, &held, degree, NULL, k, out);
    cwi_csr_clear(&mask);
    return status;
}

static void edges_of_tiny_catalogues(void **state)
{
    (void)state;
    int32_t users[] = {0, 0, 1}, items[] = {0, 1, 0}, zero[] = {0}, both[] = {0, 1};
    float table[] = {0.5f, 0.25f, 1, 2};
    cwi_metrics m;
    listener l;
    listener_init(&l);
    /* one user, one item, a longer list than the catalogue */
    assert_int_equal(evaluate_rows(l.ctx, table, 1, 1, (cwi_pairs){0},
                                   (cwi_pairs){.count = 1, .user = zero, .item = zero}, 20, &m),
                     CW_OK);
    assert_int_equal(m.users, 1);
    assert_near(m.value[CWI_METRIC_recall], 1);
    assert_near(m.value[CWI_METRIC_precision], 0.05);
    assert_near(m.value[CWI_METRIC_ndcg], 1);
    assert_near(m.value[CWI_METRIC_arp], 0);
    /* no held-out rows at all */
    assert_int_equal(evaluate_rows(l.ctx, table, 1, 1, (cwi_pairs){0}, (cwi_pairs){0}, 20, &m),
                     CW_OK);
    assert_int_equal(m.users, 0);
    assert_true(isnan(m.value[CWI_METRIC_recall]) && isnan(m.value[CWI_METRIC_arp]));
    /* user 0 has seen everything: that list is empty, and ARP has nothing to say of it */
    assert_int_equal(evaluate_rows(l.ctx, table, 2, 2,
                                   (cwi_pairs){.count = 3, .user = users, .item = items},
                                   (cwi_pairs){.count = 2, .user = both, .item = both}, 1, &m),
                     CW_OK);
    assert_int_equal(m.users, 2);
    assert_near(m.value[CWI_METRIC_recall], 0.5);
    assert_near(m.value[CWI_METRIC_arp], 1);
    listener_clear(&l);
}

static void nan_is_refused_by_name(void **state)
{
    (void)state;
    int32_t users[] = {0, 2}, items[] = {1, 1};
    float table[] = {1, 2, 3, NAN, NAN, NAN, 4, 5, NAN};
    cwi_metrics m;
    listener l;
    listener_init(&l);
    /* user 1 is not evaluated and may be anything */
    assert_int_equal(evaluate_rows(l.ctx, table, 3, 3, (cwi_pairs){0},
                                   (cwi_pairs){.count = 2, .user = users, .item = items}, 2, &m),
                     CW_BAD_DATA);
    assert_string_equal(cw_context_error(l.ctx), "the score of item 2 for user 2 is not a number");
    listener_clear(&l);
}

/* The findings of a world as text, for comparing bits. */
static json_t *assess_world(world *w, const char *const *settings)
{
    cwi_request request;
    cwi_findings *found = calloc(1, sizeof *found);
    assert_int_equal(make_request(w->l.ctx, settings, &request), CW_OK);
    assert_int_equal(cwi_assess(w->l.ctx, &w->subject, &request, found), CW_OK);
    json_t *report = cwi_findings_report(&w->subject, &request, found);
    assert_non_null(report);
    cwi_findings_clear(found);
    free(found);
    return report;
}

/* Weights of 60 items, and everything else that can be known. */
static double weight60[60];
static const cwi_exposure all_known = {.is_uniform = true, .weight = weight60};

static int make_weights(void **state)
{
    (void)state;
    for (int i = 0; i < 60; i++) weight60[i] = 1 + i / 10.0;
    return 0;
}

static void fill_truth(cwi_truth *truth, int32_t n_users, int32_t n_items)
{
    cwi_rng rng;
    cwi_rng_init(&rng, 9, CWI_RNG_TEST, 0);
    for (int32_t k = 0; k < n_users * truth->dim; k++)
        truth->user_factors[k] = (float)cwi_rng_normal(&rng);
    for (int32_t k = 0; k < n_items * truth->dim; k++)
        truth->item_factors[k] = (float)cwi_rng_normal(&rng);
    for (int32_t i = 0; i < n_items; i++) truth->item_propensity[i] = (float)cwi_rng_real(&rng);
}

static const char *const everything[] = {
    "k=10,3,50", "groups=5", "bootstrap=50", "popularity-sweep=auto", "seed=3", NULL};

static void same_bits_on_any_number_of_threads(void **state)
{
    (void)state;
    char *first = NULL;
    for (int threads = 1; threads <= 3; threads++) {
        world w;
        cwi_truth *truth;
        world_init(&w, 700, 60);
        assert_int_equal(cw_context_set_threads(w.l.ctx, threads), CW_OK);
        assert_int_equal(cwi_truth_create(w.l.ctx, 700, 60, 2, &truth), CW_OK);
        fill_truth(truth, 700, 60);
        w.subject.truth = truth;
        w.subject.exposure = &all_known;
        json_t *report = assess_world(&w, everything);
        char *text = json_dumps(report, JSON_REAL_PRECISION(17));
        if (first) assert_string_equal(text, first);
        json_decref(report);
        if (first)
            free(text);
        else
            first = text;
        cwi_truth_free(truth);
        world_clear(&w);
    }
    free(first);
}

static double metric(const json_t *report, const char *part, const char *name)
{
    return json_number_value(json_object_get(json_object_get(report, part), name));
}

static void several_lengths_agree_with_single_ones(void **state)
{
    (void)state;
    static const int32_t ks[] = {3, 10, 50, 100};
    world w;
    world_init(&w, 150, 60);
    w.subject.exposure = &all_known;
    json_t *report = assess_world(&w, (const char *const[]){"k=10,3,50,100", NULL});
    for (size_t j = 0; j < 4; j++) {
        cwi_metrics m;
        assert_int_equal(
            cwi_evaluate(w.l.ctx, &w.ranker, &w.mask, &w.held, w.degree, &all_known, ks[j], &m),
            CW_OK);
        for (size_t n = 0; n < CWI_N_METRICS; n++) {
            char key[CWI_METRIC_KEY_BYTES];
            cwi_metric_key((int)n, ks[j], key);
            assert_true(metric(report, "metrics", key) == m.value[n]);
        }
    }
    json_decref(report);
    world_clear(&w);
}

static void bootstrap_repeats_with_its_seed_and_covers_the_mean(void **state)
{
    (void)state;
    cwi_share share[2 * 200], absent[2] = {{0}};
    cwi_interval first[2], again[2], other[2];
    listener l;
    listener_init(&l);
    for (int k = 0; k < 200; k++) {
        share[2 * k] = (cwi_share){k % 10, 1};
        share[2 * k + 1] = (cwi_share){k % 4 ? 0 : k, k % 4 == 0};
    }
    assert_int_equal(cwi_bootstrap(l.ctx, share, 200, 2, absent, 0, 1500, 1, first), CW_OK);
    assert_int_equal(cwi_bootstrap(l.ctx, share, 200, 2, absent, 0, 1500, 1, again), CW_OK);
    assert_int_equal(cwi_bootstrap(l.ctx, share, 200, 2, absent, 0, 1500, 2, other), CW_OK);
    assert_memory_equal(first, again, sizeof first);
    assert_true(first[0].low != other[0].low);
    /* standard error sqrt(8.25 / 200) = 0.203; 1.96 of them on either side of 4.5 */
    assert_true(fabs(first[0].low - 4.10) < 0.04 && fabs(first[0].high - 4.90) < 0.04);
    assert_true(first[1].low < 98 && first[1].high > 98);
    listener_clear(&l);
}

static void quantiles_are_interpolated(void **state)
{
    (void)state;
    const double value[] = {1, 2, 4};
    assert_near(cwi_interpolate(value, 3, 0), 1);
    assert_near(cwi_interpolate(value, 3, 0.25), 1.5);
    assert_near(cwi_interpolate(value, 3, 0.75), 3);
    assert_near(cwi_interpolate(value, 3, 1), 4);
}

static void popularity_dial_moves_arp_steadily(void **state)
{
    (void)state;
    static const char *const lists[] = {"popularity-sweep=-4,-2,-1,-1/2,0,0.5,1,2,4",
                                        "popularity-sweep=auto"};
    world w;
    world_init(&w, 150, 60);
    for (size_t s = 0; s < 2; s++) {
        json_t *report = assess_world(&w, (const char *const[]){"k=5", lists[s], NULL});
        const json_t *sweep = json_object_get(report, "sweep");
        double before = -1, least = HUGE_VAL, centre = -1;
        assert_int_equal(json_array_size(sweep), 9);
        for (size_t g = 0; g < 9; g++) {
            const json_t *point = json_array_get(sweep, g);
            double arp = json_number_value(json_object_get(point, "arp"));
            assert_true(arp >= before);
            before = arp;
            least = fmin(least, arp);
            if (json_number_value(json_object_get(point, "popularity")) == 0)
                centre = json_number_value(json_object_get(point, "recall"));
        }
        assert_true(before > 2 * least); /* from one end to the other it is no small change */
        assert_true(centre == metric(report, "metrics", "recall@5"));
        json_decref(report);
    }
    /* the option does what the sweep does */
    json_t *tilted =
        assess_world(&w, (const char *const[]){"k=5", "popularity=2", "popularity-sweep=2", NULL});
    const json_t *point = json_array_get(json_object_get(tilted, "sweep"), 0);
    assert_true(json_number_value(json_object_get(point, "arp")) ==
                metric(tilted, "metrics", "arp@5"));
    json_decref(tilted);
    world_clear(&w);
}

static void concentration_by_hand(void **state)
{
    (void)state;
    const int64_t times[] = {4, 0, 2, 2, 0}, degree[] = {9, 5, 5, 1, 0}, nothing[5] = {0};
    cwi_beyond b;
    listener l;
    listener_init(&l);
    assert_int_equal(cwi_beyond_measure(l.ctx, times, degree, 5, &b), CW_OK);
    assert_near(b.coverage, 0.6);
    assert_near(b.gini, 0.5);
    assert_near(b.entropy, 1.5);
    assert_near(b.entropy_share, 1.5 / log2(5));
    /* percentiles 0.9, 0.6, 0.6, 0.3, 0.1 */
    assert_near(b.popularity_percentile, 0.5 * 0.9 + 0.25 * 0.6 + 0.25 * 0.3);
    assert_near(b.tail_share, 0.5); /* the head is item 0 */
    assert_int_equal(cwi_beyond_measure(l.ctx, nothing, degree, 5, &b), CW_OK);
    assert_true(b.coverage == 0 && isnan(b.gini) && isnan(b.tail_share));
    listener_clear(&l);
}

static void shares_of_the_groups_add_up(void **state)
{
    (void)state;
    world w;
    world_init(&w, 150, 60);
    json_t *report = assess_world(&w, (const char *const[]){"k=5", "groups=6", NULL});
    const json_t *groups = json_object_get(report, "groups");
    double recommended = 0, held = 0, train = 0, items = 0;
    for (size_t g = 0; g < 6; g++) {
        const json_t *group = json_array_get(groups, g);
        recommended += json_number_value(json_object_get(group, "recommended_share"));
        held += json_number_value(json_object_get(group, "held_share"));
        train += json_number_value(json_object_get(group, "train_share"));
        items += json_number_value(json_object_get(group, "items"));
    }
    assert_near(recommended, 1);
    assert_near(held, 1);
    assert_near(train, 1);
    assert_near(items, 60);
    json_decref(report);
    world_clear(&w);
}

typedef struct finding {
    const char *name;
    double value;
} finding;

static void assert_findings(const json_t *report, const char *part, size_t index,
                            const finding *expected, size_t n)
{
    const json_t *group = json_array_get(json_object_get(report, part), index);
    for (size_t k = 0; k < n; k++) {
        double value = json_number_value(json_object_get(group, expected[k].name));
        if (!(fabs(value - expected[k].value) < 1e-9))
            fail_msg("%s %d, %s: %.12g is not %.12g", part, (int)index, expected[k].name, value,
                     expected[k].value);
    }
}

/* Two users, six items, lists of three: items 0 1 2 against 1 3, and 2 3 0 against 0 2.  The
 * popular group is item 0 alone. */
static void groups_by_hand(void **state)
{
    (void)state;
    float score[2][6] = {{6, 5, 4, 1, 0.5f, 0.2f}, {4, 0, 6, 5, 0, 0}};
    int32_t user[] = {0, 0, 1, 1}, item[] = {1, 3, 0, 2};
    int64_t degree[] = {8, 4, 1, 1, 1, 1}, user_degree[] = {2, 10};
    const double second = 1 / log2(3), both = 1 + second; /* gain of place 2; of places 1 and 2 */
    const finding rare[] = {{"items", 5},
                            {"degree_from", 1},
                            {"degree_to", 4},
                            {"train_share", 0.5},
                            {"held_share", 0.75},
                            {"recommended", 2},
                            {"recommended_share", 2.0 / 3},
                            {"hits", 1},
                            {"recall", 0.75},
                            {"precision", 0.5},
                            {"ndcg", (1 / both + 1) / 2},
                            {"arp", (2.5 + 1) / 2}};
    const finding popular[] = {
        {"items", 1},       {"hits", 0.5}, {"recall", 1}, /* nothing is held out for user 0 */
        {"precision", 0.5}, {"ndcg", 1},   {"arp", 8}};
    const finding first[] = {{"users", 1},           {"degree_from", 2},      {"recall", 0.5},
                             {"precision", 1.0 / 3}, {"ndcg", second / both}, {"hit_rate", 1},
                             {"mrr", 0.5},           {"map", 0.25},           {"arp", 13.0 / 3}};
    const finding other[] = {
        {"users", 1},         {"degree_from", 10}, {"recall", 1}, {"precision", 2.0 / 3},
        {"ndcg", 1.5 / both}, {"hit_rate", 1},     {"mrr", 1},    {"map", (1 + 2.0 / 3) / 2},
        {"arp", 10.0 / 3}};
    world w = {.n_users = 2, .n_items = 6};
    cwi_pairs held = {.count = 4, .user = user, .item = item};
    listener_init(&w.l);
    assert_int_equal(cwi_csr_create(w.l.ctx, NULL, NULL, 0, 2, &w.mask), CW_OK);
    w.ranker = table_ranker(&score[0][0], 2, 6);
    w.subject = (cwi_subject){.ranker = &w.ranker,
                              .mask = &w.mask,
                              .held = &held,
                              .degree = degree,
                              .user_degree = user_degree};
    json_t *report = assess_world(&w, (const char *const[]){"k=3", "groups=2", NULL});
    assert_findings(report, "groups", 0, rare, sizeof rare / sizeof rare[0]);
    assert_findings(report, "groups", 1, popular, sizeof popular / sizeof popular[0]);
    assert_findings(report, "user_groups", 0, first, sizeof first / sizeof first[0]);
    assert_findings(report, "user_groups", 1, other, sizeof other / sizeof other[0]);
    json_decref(report);
    cwi_csr_clear(&w.mask);
    listener_clear(&w.l);
}

static void assert_refused(const char *setting, const char *reason)
{
    cwi_request request;
    listener l;
    listener_init(&l);
    const char *const settings[] = {setting, "split=valid", NULL};
    assert_int_equal(make_request(l.ctx, settings, &request), CW_BAD_ARG);
    if (!strstr(cw_context_error(l.ctx), reason))
        fail_msg("'%s' lacks '%s'", cw_context_error(l.ctx), reason);
    listener_clear(&l);
}

static void bad_options_are_refused(void **state)
{
    (void)state;
    assert_refused("k=", "--k lists ''");
    assert_refused("k=20,x", "--k lists 'x'; each must be a whole number between 1 and 1000000");
    assert_refused("k=0", "--k lists '0'");
    assert_refused("k=20,20", "it is there twice");
    assert_refused("k=1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,17", "16 lengths are the most");
    assert_refused("popularity-sweep=1,,2", "--popularity-sweep lists ''");
    assert_refused("popularity-sweep=nan", "--popularity-sweep lists 'nan'");
    assert_refused("mask-valid=on", "--mask-valid would leave out what --split valid looks for");
}

static void every_failing_allocation_is_survived(void **state)
{
    (void)state;
    world w;
    cwi_truth *truth;
    cwi_request request;
    cw_status status = CW_NO_MEMORY;
    cwi_findings *found = calloc(1, sizeof *found);
    world_init(&w, 20, 10);
    assert_int_equal(cwi_truth_create(w.l.ctx, 20, 10, 2, &truth), CW_OK);
    w.subject.exposure = &all_known;
    w.subject.truth = truth;
    assert_int_equal(make_request(w.l.ctx, everything, &request), CW_OK);
    for (int64_t nth = 1; status != CW_OK; nth++) {
        assert_true(nth < 1000);
        cwi_begin(w.l.ctx);
        cwi_mem_fail_at(w.l.ctx, nth);
        status = cwi_assess(w.l.ctx, &w.subject, &request, found);
        cwi_mem_fail_at(w.l.ctx, 0);
        assert_true(status == CW_OK || status == CW_NO_MEMORY);
        cwi_findings_clear(found);
    }
    free(found);
    cwi_truth_free(truth);
    world_clear(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(metrics_of_a_list_match_the_specification),
        cmocka_unit_test(metrics_are_found_by_name),
        cmocka_unit_test(every_metric_of_the_table_can_be_asked_for),
        cmocka_unit_test(training_names_what_it_can_stop_by),
        cmocka_unit_test(groups_hold_nearly_equal_degree_sums),
        cmocka_unit_test(groups_say_nothing_where_there_is_nothing),
        cmocka_unit_test(edges_of_tiny_catalogues),
        cmocka_unit_test(nan_is_refused_by_name),
        cmocka_unit_test(same_bits_on_any_number_of_threads),
        cmocka_unit_test(several_lengths_agree_with_single_ones),
        cmocka_unit_test(bootstrap_repeats_with_its_seed_and_covers_the_mean),
        cmocka_unit_test(quantiles_are_interpolated),
        cmocka_unit_test(popularity_dial_moves_arp_steadily),
        cmocka_unit_test(concentration_by_hand),
        cmocka_unit_test(shares_of_the_groups_add_up),
        cmocka_unit_test(groups_by_hand),
        cmocka_unit_test(bad_options_are_refused),
        cmocka_unit_test(every_failing_allocation_is_survived),
    };
    return cmocka_run_group_tests(tests, make_weights, NULL);
}
