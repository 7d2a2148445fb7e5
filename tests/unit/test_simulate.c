/* test_simulate.c - simulated data follow the model that they claim to follow. */
#include <math.h>
#include <unistd.h>

#include "core/file.h"
#include "core/mem.h"
#include "prepare/simulation.h"
#include "testing.h"

enum { USERS = 30, ITEMS = 20, REPEATS = 4000 };

static cw_context *ctx;

static int open_context(void **state)
{
    (void)state;
    return cw_context_create(&ctx) == CW_OK ? 0 : -1;
}

static int close_context(void **state)
{
    (void)state;
    cw_context_free(ctx);
    return 0;
}

static cwi_simulation_plan small_plan(void)
{
    return (cwi_simulation_plan){.n_users = USERS,
                                 .n_items = ITEMS,
                                 .dim = 3,
                                 .interactions = 30,
                                 .alpha = 0.7,
                                 .popularity = 0.8,
                                 .activity = 0.8,
                                 .quality = 0.4,
                                 .quality_popularity = 0.3,
                                 .violation = 0.5,
                                 .sharpness = 2.0,
                                 .relevant = 0.4,
                                 .seed = 5};
}

static cwi_simulation prepare(cwi_simulation_plan plan)
{
    cwi_simulation sim = {.plan = plan};
    assert_int_equal(cwi_simulation_populate(ctx, &sim), CW_OK);
    assert_int_equal(cwi_simulation_calibrate(ctx, &sim), CW_OK);
    return sim;
}

static double mean_relevance(const cwi_simulation *sim)
{
    double sum = 0;
    for (int32_t u = 0; u < sim->plan.n_users; u++)
        for (int32_t i = 0; i < sim->plan.n_items; i++)
            sum += cwi_truth_relevance(sim->truth, u, i);
    return sum / ((double)sim->plan.n_users * sim->plan.n_items);
}

static double chance_of(const cwi_simulation *sim, int32_t u, int32_t i)
{
    return cwi_truth_relevance(sim->truth, u, i) * cwi_truth_exposure(sim->truth, u, i);
}

/* ---- the draws ---------------------------------------------------------------- */

/* Draw again and again for the same users and items; count[u][i] and the sum and sum of squares
 * of the number of interactions. */
static void draw_often(cwi_simulation *sim, int32_t count[USERS][ITEMS], double *sum,
                       double *squares)
{
    memset(count, 0, sizeof(int32_t) * USERS * ITEMS);
    *sum = *squares = 0;
    for (uint64_t seed = 0; seed < REPEATS; seed++) {
        sim->plan.seed = seed;
        assert_int_equal(cwi_simulation_count(ctx, sim), CW_OK);
        assert_int_equal(cwi_simulation_draw(ctx, sim, INT64_MAX), CW_OK);
        for (int32_t u = 0; u < USERS; u++)
            for (int64_t k = sim->start[u]; k < sim->start[u + 1]; k++) count[u][sim->item[k]]++;
        *sum += (double)sim->start[USERS];
        *squares += (double)sim->start[USERS] * (double)sim->start[USERS];
        cwi_free(sim->start);
        cwi_free(sim->item);
        sim->start = NULL;
        sim->item = NULL;
    }
}

/* Over 600 pairs the largest |z| has a chance of 3e-4 to pass 5 for a new set of seeds, and the
 * sum of z^2 one of 1e-6 to leave six standard deviations; these seeds are fixed. */
static void frequencies_match_the_model(void **state)
{
    const double violations[] = {0.0, 0.5};
    static int32_t count[USERS][ITEMS];
    (void)state;
    for (int v = 0; v < 2; v++) {
        cwi_simulation_plan plan = small_plan();
        double sum, squares, expected = 0, variance = 0, chi_square = 0, largest = 0;
        plan.violation = violations[v];
        cwi_simulation sim = prepare(plan);
        draw_often(&sim, count, &sum, &squares);
        for (int32_t u = 0; u < USERS; u++)
            for (int32_t i = 0; i < ITEMS; i++) {
                double p = chance_of(&sim, u, i), spread = REPEATS * p * (1 - p);
                double z = (count[u][i] - REPEATS * p) / sqrt(spread);
                expected += p;
                variance += p * (1 - p);
                chi_square += z * z;
                if (spread > 5) largest = fmax(largest, fabs(z));
            }
        assert_true(largest < 5);
        assert_true(fabs(chi_square - USERS * ITEMS) < 6 * sqrt(2.0 * USERS * ITEMS) * 2);
        /* The total has the mean that was asked for, and the variance of independent draws. */
        assert_true(fabs(expected - 30) < 1e-3);
        assert_true(fabs(sum / REPEATS - expected) < 5 * sqrt(variance / REPEATS));
        double drawn = squares / REPEATS - sum / REPEATS * (sum / REPEATS);
        assert_true(fabs(drawn / variance - 1) < 5 * sqrt(2.0 / REPEATS));
        cwi_simulation_clear(&sim);
    }
}

static void without_violation_exposure_is_a_product(void **state)
{
    cwi_simulation_plan plan = small_plan();
    (void)state;
    plan.violation = 0;
    cwi_simulation sim = prepare(plan);
    const cwi_truth *t = sim.truth;
    for (int32_t u = 0; u < USERS; u++) {
        assert_true(t->user_conformity[u] == 1.0f);
        for (int32_t i = 0; i < ITEMS; i++) {
            double product = (double)t->user_propensity[u] * (double)t->item_propensity[i] *
                             pow(cwi_truth_relevance(t, u, i), plan.alpha);
            assert_true(fabs(cwi_truth_exposure(t, u, i) / product - 1) < 1e-12);
        }
    }
    cwi_simulation_clear(&sim);
}

static void propensities_are_probabilities(void **state)
{
    (void)state;
    cwi_simulation sim = prepare(small_plan());
    float most = 0;
    for (int32_t i = 0; i < ITEMS; i++) {
        assert_true(sim.truth->item_propensity[i] > 0 && sim.truth->item_propensity[i] <= 1);
        most = fmaxf(most, sim.truth->item_propensity[i]);
    }
    assert_true(most == 1.0f);
    for (int32_t u = 0; u < USERS; u++)
        assert_true(sim.truth->user_propensity[u] > 0 && sim.truth->user_propensity[u] <= 1);
    cwi_simulation_clear(&sim);
}

static void mean_relevance_is_as_asked(void **state)
{
    const double asked[] = {0.01, 0.4, 0.95};
    (void)state;
    for (int k = 0; k < 3; k++) {
        cwi_simulation_plan plan = small_plan();
        plan.relevant = asked[k];
        plan.interactions = 1;
        plan.alpha = plan.popularity = 0;
        cwi_simulation sim = prepare(plan);
        assert_true(fabs(mean_relevance(&sim) / asked[k] - 1) < 1e-6);
        cwi_simulation_clear(&sim);
    }
}

/* Too many pairs for all of them to be looked at: the sample has to do. */
static void sampled_calibration_is_close(void **state)
{
    cwi_simulation_plan plan = small_plan();
    (void)state;
    plan.n_users = 3000;
    plan.n_items = 2000;
    plan.popularity = 1.2;
    plan.interactions = 30000;
    cwi_simulation sim = prepare(plan);
    double expected = 0;
    for (int32_t u = 0; u < plan.n_users; u++)
        for (int32_t i = 0; i < plan.n_items; i++) expected += chance_of(&sim, u, i);
    assert_true(fabs(expected / 30000 - 1) < 0.01);
    assert_true(fabs(mean_relevance(&sim) / plan.relevant - 1) < 0.01);
    assert_int_equal(cwi_simulation_count(ctx, &sim), CW_OK);
    assert_int_equal(cwi_simulation_draw(ctx, &sim, INT64_MAX), CW_OK);
    assert_true(fabs((double)sim.start[plan.n_users] - expected) < 5 * sqrt(expected));
    cwi_simulation_clear(&sim);
}

static void quality_one_makes_all_users_agree(void **state)
{
    cwi_simulation_plan plan = small_plan();
    (void)state;
    plan.quality = 1;
    cwi_simulation sim = prepare(plan);
    for (int32_t u = 1; u < USERS; u++)
        for (int32_t i = 0; i < ITEMS; i++)
            assert_true(cwi_truth_relevance(sim.truth, u, i) ==
                        cwi_truth_relevance(sim.truth, 0, i));
    cwi_simulation_clear(&sim);
}

/* Shares of the variance of the logit, measured on many items and users. */
static void quality_is_a_share_of_variance(void **state)
{
    cwi_simulation_plan plan = small_plan();
    double common = 0, total = 0;
    (void)state;
    plan.n_users = 500;
    plan.n_items = 4000;
    plan.dim = 8;
    plan.quality = 0.3;
    plan.interactions = 100;
    cwi_simulation sim = prepare(plan);
    for (int32_t u = 0; u < plan.n_users; u++)
        for (int32_t i = 0; i < plan.n_items; i++) {
            double taste = cwi_truth_taste(sim.truth, u, i);
            double quality = (double)sim.truth->item_quality[i];
            total += taste * taste;
            common += quality * quality;
        }
    assert_true(fabs(common / total - 0.3) < 0.03);
    assert_true(fabs(total / (plan.n_users * plan.n_items) - 4.0) < 0.3);
    cwi_simulation_clear(&sim);
}

static void quality_follows_popularity_as_asked(void **state)
{
    cwi_simulation_plan plan = small_plan();
    double xy = 0, xx = 0, yy = 0, mean = 0;
    (void)state;
    plan.n_items = 20000;
    plan.quality_popularity = 0.6;
    plan.interactions = 1;
    cwi_simulation sim = prepare(plan);
    for (int32_t i = 0; i < plan.n_items; i++)
        mean += log((double)sim.truth->item_propensity[i]) / plan.n_items;
    for (int32_t i = 0; i < plan.n_items; i++) {
        double x = (double)sim.truth->item_quality[i];
        double y = log((double)sim.truth->item_propensity[i]) - mean;
        xy += x * y;
        xx += x * x;
        yy += y * y;
    }
    assert_true(fabs(xy / sqrt(xx * yy) - 0.6) < 0.03);
    assert_true(fabs(sqrt(yy / plan.n_items) - plan.popularity) < 0.01);
    cwi_simulation_clear(&sim);
}

static void unreachable_request_is_refused(void **state)
{
    cwi_simulation sim = {.plan = small_plan()};
    (void)state;
    sim.plan.interactions = USERS * ITEMS;
    assert_int_equal(cwi_simulation_populate(ctx, &sim), CW_OK);
    cwi_begin(ctx);
    assert_int_equal(cwi_simulation_calibrate(ctx, &sim), CW_BAD_ARG);
    const char *text = cw_context_error(ctx);
    assert_non_null(strstr(text, "--interactions is 600; with these options at most "));
    /* What it says can be reached can be. */
    int64_t most = atoll(strstr(text, "at most ") + strlen("at most "));
    assert_in_range(most, 1, USERS * ITEMS - 1);
    cwi_simulation_clear(&sim);
    sim.plan.interactions = most;
    sim = prepare(sim.plan);
    cwi_simulation_clear(&sim);
}

static void without_a_request_any_shape_works(void **state)
{
    cwi_simulation_plan plan = small_plan();
    double expected = 0, most = 0;
    (void)state;
    plan.interactions = 0;
    cwi_simulation sim = prepare(plan);
    for (int32_t u = 0; u < USERS; u++)
        for (int32_t i = 0; i < ITEMS; i++) {
            expected += chance_of(&sim, u, i);
            most += chance_of(&sim, u, i) / (double)sim.truth->user_propensity[u];
        }
    assert_true(fabs(expected / most - 0.6) < 1e-4);
    cwi_simulation_clear(&sim);
}

/* ---- whole datasets ----------------------------------------------------------- */

typedef struct setting {
    const char *name, *value;
} setting;

static cw_status simulate(const setting *settings, size_t count, const char *core, cw_dataset **out)
{
    cw_options *options = NULL, *split = NULL;
    cw_status status;

    *out = NULL;
    CW_TRY(cw_options_create(ctx, "simulate", &options));
    CW_TRY(cw_options_create(ctx, "prepare", &split));
    CW_TRY(cw_options_set(ctx, split, "core", core));
    for (size_t k = 0; k < count; k++)
        CW_TRY(cw_options_set(ctx, options, settings[k].name, settings[k].value));
    CW_TRY(cw_dataset_simulate(ctx, options, split, out));
done:
    cw_options_free(options);
    cw_options_free(split);
    return status;
}

static const setting medium[] = {
    {"users", "700"},     {"items", "300"},         {"relevant", "0.3"},
    {"alpha", "0"},       {"interactions", "6000"}, {"popularity", "0.8"},
    {"violation", "0.2"}, {"uniform-test", "15"},   {"seed", "7"}};
enum { N_MEDIUM = sizeof medium / sizeof medium[0] };

static cw_dataset *simulate_medium(const char *seed)
{
    setting settings[N_MEDIUM];
    cw_dataset *dataset;
    memcpy(settings, medium, sizeof medium);
    settings[N_MEDIUM - 1].value = seed;
    assert_int_equal(simulate(settings, N_MEDIUM, "3", &dataset), CW_OK);
    return dataset;
}

static bool same_pairs(const cwi_pairs *a, const cwi_pairs *b)
{
    size_t bytes = (size_t)a->count * sizeof(int32_t);
    if (a->count != b->count) return false;
    return a->count == 0 ||
           (memcmp(a->user, b->user, bytes) == 0 && memcmp(a->item, b->item, bytes) == 0);
}

static bool same_dataset(const cw_dataset *a, const cw_dataset *b)
{
    if (a->n_users != b->n_users || a->n_items != b->n_items) return false;
    for (int p = 0; p < CWI_PARTS; p++)
        if (!same_pairs(&a->part[p], &b->part[p])) return false;
    return same_pairs(&a->truth->uniform, &b->truth->uniform) &&
           a->truth->offset == b->truth->offset &&
           memcmp(a->truth->user_propensity, b->truth->user_propensity,
                  (size_t)a->n_users * sizeof(float)) == 0;
}

static void threads_do_not_change_the_data(void **state)
{
    cw_dataset *one = NULL;
    (void)state;
    for (int threads = 1; threads <= 3; threads++) {
        cw_context *outer = ctx;
        assert_int_equal(cw_context_create(&ctx), CW_OK);
        assert_int_equal(cw_context_set_threads(ctx, threads), CW_OK);
        cw_dataset *dataset = simulate_medium("7");
        cw_context_free(ctx);
        ctx = outer;
        if (threads == 1) {
            one = dataset;
            continue;
        }
        assert_true(same_dataset(one, dataset));
        cw_dataset_free(dataset);
    }
    cw_dataset_free(one);
}

static void seed_decides_the_data(void **state)
{
    (void)state;
    cw_dataset *a = simulate_medium("7"), *b = simulate_medium("7"), *c = simulate_medium("8");
    assert_true(same_dataset(a, b));
    assert_false(same_dataset(a, c));
    cw_dataset_free(a);
    cw_dataset_free(b);
    cw_dataset_free(c);
}

/* Pairs of all parts as a table of flags. */
static char *flag_pairs(const cw_dataset *d)
{
    char *seen = calloc((size_t)d->n_users, (size_t)d->n_items);
    assert_non_null(seen);
    for (int p = 0; p < CWI_PARTS; p++)
        for (int64_t k = 0; k < d->part[p].count; k++)
            seen[(int64_t)d->part[p].user[k] * d->n_items + d->part[p].item[k]]++;
    return seen;
}

static void truth_is_in_the_ids_of_the_dataset(void **state)
{
    (void)state;
    cw_dataset *d = simulate_medium("7");
    char *seen = flag_pairs(d);
    double expected = 0, drawn = 0, variance = 0;
    /* Where interactions are likely by the truth, there are as many as it says; with ids mixed up
     * there would be fewer. */
    for (int32_t u = 0; u < d->n_users; u++)
        for (int32_t i = 0; i < d->n_items; i++) {
            double p = cwi_truth_relevance(d->truth, u, i) * cwi_truth_exposure(d->truth, u, i);
            assert_true(seen[(int64_t)u * d->n_items + i] <= 1);
            if (p < 0.15) continue;
            expected += p;
            variance += p * (1 - p);
            drawn += seen[(int64_t)u * d->n_items + i];
        }
    assert_true(expected > 200);
    assert_true(fabs(drawn - expected) < 5 * sqrt(variance));
    free(seen);
    cw_dataset_free(d);
}

static void uniform_test_is_uniform_and_apart(void **state)
{
    (void)state;
    cw_dataset *d = simulate_medium("7");
    char *seen = flag_pairs(d);
    const cwi_pairs *uniform = &d->truth->uniform;
    double free_pairs = 0, relevance = 0;

    for (int64_t k = 0; k < uniform->count; k++) {
        char *flag = &seen[(int64_t)uniform->user[k] * d->n_items + uniform->item[k]];
        assert_int_equal(*flag, 0); /* neither an interaction nor shown twice */
        *flag = 2;
        assert_true(k == 0 || uniform->user[k - 1] <= uniform->user[k]);
    }
    for (int32_t u = 0; u < d->n_users; u++)
        for (int32_t i = 0; i < d->n_items; i++) {
            if (seen[(int64_t)u * d->n_items + i] == 1) continue;
            free_pairs++;
            relevance += cwi_truth_relevance(d->truth, u, i);
        }
    double mean = relevance / free_pairs, shown = 15.0 * d->n_users;
    assert_true(fabs((double)uniform->count / shown - mean) < 5 * sqrt(mean * (1 - mean) / shown));
    free(seen);
    cw_dataset_free(d);
}

/* With more items to show than there are, all that were not interacted with are shown. */
static void uniform_test_can_show_everything(void **state)
{
    const setting settings[] = {
        {"users", "40"},     {"items", "30"},    {"interactions", "200"}, {"uniform-test", "500"},
        {"relevant", "0.9"}, {"sharpness", "0"}, {"popularity", "0.2"}};
    cw_dataset *d;
    (void)state;
    assert_int_equal(simulate(settings, sizeof settings / sizeof settings[0], "1", &d), CW_OK);
    double shown = (double)d->n_users * d->n_items;
    for (int p = 0; p < CWI_PARTS; p++) shown -= (double)d->part[p].count;
    assert_true(fabs((double)d->truth->uniform.count - 0.9 * shown) < 5 * sqrt(0.09 * shown));
    cw_dataset_free(d);
}

static int compare_counts(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return x < y ? -1 : x > y;
}

static void defaults_have_a_long_tail(void **state)
{
    cw_dataset *d;
    double weighted = 0, total = 0, top = 0;
    (void)state;
    assert_int_equal(simulate(NULL, 0, "3", &d), CW_OK);
    int64_t *degree = calloc((size_t)d->n_items, sizeof *degree);
    assert_non_null(degree);
    for (int p = 0; p < CWI_PARTS; p++)
        for (int64_t k = 0; k < d->part[p].count; k++) degree[d->part[p].item[k]]++;
    qsort(degree, (size_t)d->n_items, sizeof *degree, compare_counts);
    for (int32_t k = 0; k < d->n_items; k++) {
        total += (double)degree[k];
        weighted += (2.0 * (k + 1) - d->n_items - 1) * (double)degree[k];
        if (k >= d->n_items - d->n_items / 100) top += (double)degree[k];
    }
    double gini = weighted / (d->n_items * total), top_share = top / total;
    print_message("defaults: %d users, %d items, %.0f rows, Gini %.3f, top 1 %% %.3f\n", d->n_users,
                  d->n_items, total, gini, top_share);
    assert_true(total > 50000 && total < 70000);
    assert_true(gini > 0.55 && gini < 0.8);
    assert_true(top_share > 0.08 && top_share < 0.25);
    free(degree);
    cw_dataset_free(d);
}

static void one_user_and_one_item_are_enough(void **state)
{
    const setting settings[] = {{"users", "1"},
                                {"items", "1"},
                                {"interactions", "1"},
                                {"alpha", "0"},
                                {"relevant", "0.9999999"},
                                {"sharpness", "0"}};
    cwi_simulation_plan plan = {
        .n_users = 1, .n_items = 1, .dim = 1, .interactions = 1, .relevant = 0.5};
    cwi_simulation sim = {.plan = plan};
    (void)state;
    assert_int_equal(cwi_simulation_populate(ctx, &sim), CW_OK);
    assert_int_equal(cwi_simulation_calibrate(ctx, &sim), CW_BAD_ARG); /* half a row at most */
    cwi_simulation_clear(&sim);
    cw_dataset *d;
    cw_status status = simulate(settings, sizeof settings / sizeof settings[0], "1", &d);
    assert_true(status == CW_OK || status == CW_BAD_ARG || status == CW_BAD_DATA);
    cw_dataset_free(d);
}

static void truth_survives_the_files(void **state)
{
    char folder[] = "simulate-test-XXXXXX";
    cwi_truth *read = NULL;
    (void)state;
    cwi_simulation sim = prepare(small_plan());
    assert_non_null(mkdtemp(folder));
    assert_int_equal(cwi_truth_load(ctx, folder, USERS, ITEMS, &read), CW_OK);
    assert_null(read);
    assert_int_equal(cwi_truth_save(ctx, sim.truth, USERS, ITEMS, folder), CW_OK);
    assert_int_equal(cwi_truth_load(ctx, folder, USERS, ITEMS, &read), CW_OK);
    for (int32_t u = 0; u < USERS; u++)
        for (int32_t i = 0; i < ITEMS; i++) {
            assert_true(cwi_truth_relevance(read, u, i) == cwi_truth_relevance(sim.truth, u, i));
            assert_true(cwi_truth_exposure(read, u, i) == cwi_truth_exposure(sim.truth, u, i));
        }
    cwi_truth_free(read);
    cwi_begin(ctx);
    assert_int_equal(cwi_truth_load(ctx, folder, USERS + 1, ITEMS, &read), CW_BAD_DATA);
    assert_null(read);
    assert_non_null(strstr(cw_context_error(ctx), "user_factors.npy"));
    char command[96];
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    cwi_simulation_clear(&sim);
}

static void allocation_failures_leave_nothing_behind(void **state)
{
    const setting settings[] = {{"users", "60"},       {"items", "40"},   {"interactions", "300"},
                                {"relevant", "0.5"},   {"alpha", "0"},    {"popularity", "0.3"},
                                {"uniform-test", "5"}, {"sharpness", "1"}};
    size_t count = sizeof settings / sizeof settings[0];
    cw_status status = CW_NO_MEMORY;
    int64_t nth = 0;
    (void)state;
    while (status == CW_NO_MEMORY) {
        cw_dataset *d = NULL;
        cwi_mem_fail_at(ctx, ++nth);
        status = simulate(settings, count, "1", &d);
        cwi_mem_fail_at(ctx, 0);
        assert_true((status == CW_OK) == (d != NULL));
        cw_dataset_free(d);
        assert_true(nth < 100000);
    }
    assert_int_equal(status, CW_OK);
    assert_true(nth > 50);
}

static bool stop_at_once(void *user, const char *stage, int64_t done, int64_t total)
{
    int *calls = user;
    (void)stage;
    (void)done;
    (void)total;
    return --*calls > 0;
}

static void progress_can_stop_it(void **state)
{
    (void)state;
    for (int after = 1; after <= 3; after++) {
        cw_dataset *d = NULL;
        int calls = after;
        cw_context_set_progress(ctx, stop_at_once, &calls);
        assert_int_equal(simulate(medium, N_MEDIUM, "3", &d), CW_CANCELLED);
        cw_context_set_progress(ctx, NULL, NULL);
        assert_null(d);
    }
}

static void relevance_can_be_asked_for(void **state)
{
    (void)state;
    cw_dataset *d = simulate_medium("7");
    double *relevance = calloc((size_t)d->n_items, sizeof *relevance);
    assert_int_equal(cw_dataset_relevance(ctx, d, 3, relevance), CW_OK);
    for (int32_t i = 0; i < d->n_items; i++)
        assert_true(relevance[i] == cwi_truth_relevance(d->truth, 3, i));
    assert_int_equal(cw_dataset_relevance(ctx, d, -1, relevance), CW_BAD_ARG);
    assert_int_equal(cw_dataset_relevance(ctx, d, d->n_users, relevance), CW_BAD_ARG);
    cwi_truth_free(d->truth);
    d->truth = NULL;
    assert_int_equal(cw_dataset_relevance(ctx, d, 0, relevance), CW_BAD_ARG);
    assert_string_equal(cw_context_error(ctx),
                        "the dataset is not simulated, so what is relevant is not known");
    free(relevance);
    cw_dataset_free(d);
}

static void options_of_another_stage_are_refused(void **state)
{
    cw_options *prepare_options;
    cw_dataset *d;
    (void)state;
    assert_int_equal(cw_options_create(ctx, "prepare", &prepare_options), CW_OK);
    assert_int_equal(cw_dataset_simulate(ctx, prepare_options, NULL, &d), CW_BAD_ARG);
    assert_null(d);
    cw_options_free(prepare_options);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(frequencies_match_the_model),
        cmocka_unit_test(without_violation_exposure_is_a_product),
        cmocka_unit_test(propensities_are_probabilities),
        cmocka_unit_test(mean_relevance_is_as_asked),
        cmocka_unit_test(sampled_calibration_is_close),
        cmocka_unit_test(quality_one_makes_all_users_agree),
        cmocka_unit_test(quality_is_a_share_of_variance),
        cmocka_unit_test(quality_follows_popularity_as_asked),
        cmocka_unit_test(unreachable_request_is_refused),
        cmocka_unit_test(without_a_request_any_shape_works),
        cmocka_unit_test(threads_do_not_change_the_data),
        cmocka_unit_test(seed_decides_the_data),
        cmocka_unit_test(truth_is_in_the_ids_of_the_dataset),
        cmocka_unit_test(uniform_test_is_uniform_and_apart),
        cmocka_unit_test(uniform_test_can_show_everything),
        cmocka_unit_test(defaults_have_a_long_tail),
        cmocka_unit_test(one_user_and_one_item_are_enough),
        cmocka_unit_test(truth_survives_the_files),
        cmocka_unit_test(allocation_failures_leave_nothing_behind),
        cmocka_unit_test(progress_can_stop_it),
        cmocka_unit_test(relevance_can_be_asked_for),
        cmocka_unit_test(options_of_another_stage_are_refused),
    };
    return cmocka_run_group_tests(tests, open_context, close_context);
}
