/* test_reach.c - the cap and the share that a debiased split chooses, and how far it reaches. */
#include <jansson.h>
#include <math.h>

#include "prepare/dataset.h"
#include "prepare/reach.h"
#include "testing.h"

enum { MOST_ITEMS = 400 };

/* Rows of items with these degrees; item i of its own users 0 .. degree - 1. */
static cwi_rows make_rows(const int64_t *degree, int32_t n_items)
{
    cwi_rows rows = {.n_items = n_items};
    for (int32_t i = 0; i < n_items; i++) {
        rows.count += degree[i];
        if (degree[i] > rows.n_users) rows.n_users = (int32_t)degree[i];
    }
    rows.user = malloc((size_t)rows.count * sizeof *rows.user);
    rows.item = malloc((size_t)rows.count * sizeof *rows.item);
    rows.part = calloc((size_t)rows.count, 1);
    for (int64_t i = 0, r = 0; i < n_items; i++)
        for (int64_t u = 0; u < degree[i]; u++, r++) {
            rows.user[r] = (int32_t)u;
            rows.item[r] = (int32_t)i;
        }
    return rows;
}

static void clear_rows(cwi_rows *rows)
{
    free(rows->user);
    free(rows->item);
    free(rows->part);
}

/* Options of "prepare"; NULL leaves one out. */
static cw_options *options_of(cw_context *ctx, const char *cap, const char *holdout)
{
    cw_options *options;
    assert_int_equal(cw_options_create(ctx, "prepare", &options), CW_OK);
    if (cap) assert_int_equal(cw_options_set(ctx, options, "cap", cap), CW_OK);
    if (holdout) assert_int_equal(cw_options_set(ctx, options, "holdout", holdout), CW_OK);
    return options;
}

/* What is chosen for items with these degrees when these options are given. */
static void check_fit(const int64_t *degree, int32_t n, const char *given_cap,
                      const char *given_holdout, double cap, double holdout)
{
    double got_cap = -1, got_holdout = -1;
    listener l;
    listener_init(&l);
    cwi_rows rows = make_rows(degree, n);
    cw_options *options = options_of(l.ctx, given_cap, given_holdout);
    assert_int_equal(cwi_reach_fit(l.ctx, &rows, options, &got_cap, &got_holdout), CW_OK);
    if (fabs(got_cap - cap) > 1e-12 || fabs(got_holdout - holdout) > 1e-12)
        fail_msg("cap 1/%g holdout %g; expected 1/%g and %g", 1 / got_cap, got_holdout, 1 / cap,
                 holdout);
    cw_options_free(options);
    clear_rows(&rows);
    listener_clear(&l);
}

/*
 * Degrees 2, 4, 8, 16: 30 rows.  If items are alike from a rows on, an item of d > a rows loses
 * d (1 - 2^(-a/d)) of them and the others half of theirs:
 *   a = 4   1 + 2 + 8 (1 - 2^-(1/2)) + 16 (1 - 2^-(1/4)) = 7.89, which are 26 %
 *   a = 5   1 + 2 + 8 (1 - 2^-(5/8)) + 16 (1 - 2^-(5/16)) = 8.93
 *   a = 6   1 + 2 + 8 (1 - 2^-(3/4)) + 16 (1 - 2^-(3/8)) = 9.91, the first of at least 9 = 30 %
 * The lower median is 4.
 */
static const int64_t four[] = {8, 2, 16, 4};

static void the_median_item_is_the_first_to_be_tested_alike(void **state)
{
    (void)state;
    check_fit(four, 4, NULL, NULL, 1.0 / 4, 0.26);
}

static void options_that_are_given_stay(void **state)
{
    (void)state;
    check_fit(four, 4, NULL, "0.3", 1.0 / 6, 0.3);   /* 9 rows: see above */
    check_fit(four, 4, NULL, "0.26", 1.0 / 4, 0.26); /* 7.8 rows */
    check_fit(four, 4, NULL, "0.9", 1.0 / 16, 0.9);  /* more than half: all are alike */
    check_fit(four, 4, "1/60", NULL, 1.0 / 60, 0.3); /* the paper's holdout */
    check_fit(four, 4, "1/3", "0.05", 1.0 / 3, 0.05);
}

/* 10 (1 - 2^-(5/10)) = 2.9 rows are too few, 10 (1 - 2^-(6/10)) = 3.4 are enough. */
static void one_item_is_enough(void **state)
{
    (void)state;
    check_fit((const int64_t[]){10}, 1, NULL, NULL, 1.0 / 6, 0.3);
}

/* 5 * 4 (1 - 2^-(2/4)) = 5.9 rows are too few for 6, 5 * 4 (1 - 2^-(3/4)) = 8.1 are enough. */
static void items_that_are_all_alike(void **state)
{
    (void)state;
    check_fit((const int64_t[]){4, 4, 4, 4, 4}, 5, NULL, NULL, 1.0 / 3, 0.3);
}

/* No item has two rows, and an item of one row cannot be tested and known. */
static void items_of_single_rows(void **state)
{
    (void)state;
    check_fit((const int64_t[]){1, 1, 1, 1, 1, 1}, 6, NULL, NULL, 1.0 / 2, 0.3);
    check_fit((const int64_t[]){0, 1, 0}, 3, NULL, NULL, 1.0 / 2, 0.3); /* unused ids are none */
}

/* 95 items of 2 rows and 5 of 400: 2190 rows.  The median of 2 would hold out 95 + 5 * 1.4 = 102,
 * which is less than 10 %.  400 (1 - 2^-(a/400)) is at least (219 - 95) / 5 = 24.8 from a = 37. */
static void at_least_a_tenth_is_held_out(void **state)
{
    (void)state;
    int64_t degree[100];
    for (int i = 0; i < 100; i++) degree[i] = i < 95 ? 2 : 400;
    check_fit(degree, 100, NULL, NULL, 1.0 / 37, 0.1);
}

/* ---- what splits come to --------------------------------------------------------- */

/* Degrees of some shapes, by a generator of its own. */
static int32_t make_degrees(int shape, uint64_t seed, int64_t *degree)
{
    int32_t n = shape == 2 ? 150 : MOST_ITEMS;
    uint64_t x = seed;
    for (int32_t i = 0; i < n; i++) {
        x = x * 6364136223846793005U + 1442695040888963407U;
        double part = ((double)(x >> 11) + 0.5) * 0x1p-53;
        if (shape == 0) degree[i] = 1 + (int64_t)(2 / part);        /* a long tail, from 3 on */
        if (shape == 1) degree[i] = 3 + (int64_t)(-20 * log(part)); /* falling evenly */
        if (shape == 2) degree[i] = part < 0.9 ? 5 : 300;           /* few hits */
        if (shape == 3) degree[i] = 1 + (int64_t)(30 * part);       /* all kinds alike */
        if (degree[i] > 3000) degree[i] = 3000;
    }
    return n;
}

enum { SHAPES = 4, DRAWS = 60 };

/* How often rows of each item were drawn, summed over DRAWS splits; before any went back. */
static void count_drawn_rows(cw_context *ctx, cwi_rows *rows, int64_t *drawn, cwi_split *last)
{
    char seed[16];
    cw_options *options = options_of(ctx, NULL, NULL);
    assert_int_equal(cw_options_set(ctx, options, "moveback", "off"), CW_OK);
    memset(drawn, 0, (size_t)rows->n_items * sizeof *drawn);
    for (int s = 0; s < DRAWS; s++) {
        cwi_split split;
        snprintf(seed, sizeof seed, "%d", s);
        assert_int_equal(cw_options_set(ctx, options, "seed", seed), CW_OK);
        assert_int_equal(cwi_split_create(ctx, rows, options, &split), CW_OK);
        for (int64_t r = 0; r < rows->count; r++)
            drawn[rows->item[r]] += rows->part[r] != CW_PART_TRAIN;
        *last = (cwi_split){.cap = split.cap, .holdout = split.holdout};
        cwi_split_clear(&split);
    }
    cw_options_free(options);
}

/* Drawn rows of an item a split, over all items with degrees from low to below high; their number
 * in *items and the standard error of the mean in *error. */
static double mean_drawn(const int64_t *degree, const int64_t *drawn, int32_t n, double low,
                         double high, int *items, double *error)
{
    double sum = 0, variance = 0;
    *items = 0;
    for (int32_t i = 0; i < n; i++) {
        double d = (double)degree[i], rate = (double)drawn[i] / d / DRAWS;
        if (d < low || d >= high) continue;
        sum += (double)drawn[i] / DRAWS;
        variance += d * rate * (1 - rate) / DRAWS;
        ++*items;
    }
    *error = *items > 0 ? sqrt(variance) / *items : 0;
    return *items > 0 ? sum / *items : 0;
}

typedef void (*look_fn)(const int64_t *degree, const int64_t *drawn, int32_t n, double alike);

static int looked; /* how many times there was something to see */

static void look_at_splits(look_fn look)
{
    int64_t degree[MOST_ITEMS], drawn[MOST_ITEMS];
    listener l;
    listener_init(&l);
    looked = 0;
    for (int shape = 0; shape < SHAPES; shape++)
        for (uint64_t seed = 1; seed <= 3; seed++) {
            cwi_split split;
            int32_t n = make_degrees(shape, seed, degree);
            cwi_rows rows = make_rows(degree, n);
            count_drawn_rows(l.ctx, &rows, drawn, &split);
            assert_true(split.holdout >= 0.1 && split.holdout <= 0.3);
            look(degree, drawn, n, 1 / split.cap);
            clear_rows(&rows);
        }
    listener_clear(&l);
}

/* Up to 1/cap rows an item loses at most half of them, as far as a share in whole percents, at
 * least ten, allows: half a percent in ten. */
static void check_losses(const int64_t *degree, const int64_t *drawn, int32_t n, double alike)
{
    for (double low = 1; low <= 4096; low *= 2) {
        int items;
        double error, rows = 0;
        double mean = mean_drawn(degree, drawn, n, low, 2 * low, &items, &error);
        if (items == 0) continue;
        for (int32_t i = 0; i < n; i++)
            if ((double)degree[i] >= low && (double)degree[i] < 2 * low) rows += (double)degree[i];
        rows /= items;
        if (mean > 0.5 * 1.05 * rows + 4 * error)
            fail_msg("items of about %.1f rows lose %.2f +- %.2f; 1/cap is %g", rows, mean, error,
                     alike);
        looked++;
    }
}

static void no_item_expects_to_lose_more_than_half(void **state)
{
    (void)state;
    look_at_splits(check_losses);
    assert_true(looked > 40);
}

/* An item of d rows above a = 1/cap loses d (1 - 2^(-a/d)) at most, which is 0.636 a for d = 4 a
 * and never above ln 2 a = 0.693 a: what is more frequent is tested at most 9 % more. */
static void check_evenness(const int64_t *degree, const int64_t *drawn, int32_t n, double alike)
{
    int few, many;
    double few_error, many_error;
    double low = mean_drawn(degree, drawn, n, 4 * alike, 8 * alike, &few, &few_error);
    double high = mean_drawn(degree, drawn, n, 8 * alike, 1e9, &many, &many_error);
    if (few < 3 || many < 3) return;
    double error = hypot(few_error / low, many_error / high);
    looked++;
    if (high / low > 1.09 + 4 * error || high / low < 1 - 4 * error)
        fail_msg("%.2f of 4/cap to 8/cap rows and %.2f of more are drawn, error %.3f", low, high,
                 error);
}

static void frequent_items_are_tested_alike(void **state)
{
    (void)state;
    look_at_splits(check_evenness);
    assert_true(looked >= 3);
}

/* Rows above the cap are drawn alike, which the paper's cap would not do for these. */
static void without_a_choice_the_test_is_of_what_is_popular(void **state)
{
    (void)state;
    int64_t degree[MOST_ITEMS];
    double top[2];
    listener l;
    listener_init(&l);
    int32_t n = make_degrees(1, 1, degree);
    cwi_rows rows = make_rows(degree, n);
    for (int k = 0; k < 2; k++) {
        cwi_split split;
        cwi_reach reach;
        cw_options *options = options_of(l.ctx, k == 0 ? NULL : "1/60", NULL);
        assert_int_equal(cwi_split_create(l.ctx, &rows, options, &split), CW_OK);
        assert_int_equal(cwi_reach_measure(l.ctx, &rows, &split, &reach), CW_OK);
        top[k] = reach.top_test;
        assert_true(reach.top_log > 0.2);
        cwi_split_clear(&split);
        cw_options_free(options);
    }
    print_message("the top tenth has %.3f of the test, with cap 1/60 %.3f\n", top[0], top[1]);
    assert_true(top[0] < 0.16);
    assert_true(top[1] > 0.2);
    clear_rows(&rows);
    listener_clear(&l);
}

/* Items of 1, 2 and 3 rows and one that has none, with a cap of 1/2. */
static void reach_counts_items_and_shares(void **state)
{
    (void)state;
    const uint8_t part[] = {CW_PART_TRAIN, CW_PART_TRAIN, CW_PART_VALID,
                            CW_PART_TEST,  CW_PART_TEST,  CWI_PART_DROPPED};
    const cwi_split split = {.cap = 0.5, .holdout = 0.5};
    cwi_reach reach;
    listener l;
    listener_init(&l);
    cwi_rows rows = make_rows((const int64_t[]){1, 2, 0, 3}, 4);
    memcpy(rows.part, part, sizeof part);
    assert_int_equal(cwi_reach_measure(l.ctx, &rows, &split, &reach), CW_OK);
    assert_int_equal(reach.items, 3);
    assert_int_equal(reach.above_cap, 2);
    assert_int_equal(reach.held, 2);
    assert_int_equal(reach.tested, 1);
    assert_true(reach.top_log == 0.5); /* one item of three is the top tenth */
    assert_true(reach.top_test == 1);
    clear_rows(&rows);
    listener_clear(&l);
}

/* ---- as datasets ----------------------------------------------------------------- */

static cw_dataset *prepare(cw_context *ctx, const char *split)
{
    int64_t degree[MOST_ITEMS];
    int32_t n = make_degrees(1, 7, degree);
    cwi_rows rows = make_rows(degree, n);
    int64_t *user = malloc((size_t)rows.count * sizeof *user);
    int64_t *item = malloc((size_t)rows.count * sizeof *item);
    for (int64_t r = 0; r < rows.count; r++) {
        user[r] = rows.user[r];
        item[r] = rows.item[r];
    }
    cw_interactions *log;
    cw_dataset *data;
    cw_options *options = options_of(ctx, NULL, NULL);
    assert_int_equal(cw_options_set(ctx, options, "split", split), CW_OK);
    assert_int_equal(cw_interactions_create(ctx, user, item, NULL, rows.count, &log), CW_OK);
    assert_int_equal(cw_dataset_prepare(ctx, log, options, &data), CW_OK);
    cw_interactions_free(log);
    cw_options_free(options);
    free(user);
    free(item);
    clear_rows(&rows);
    return data;
}

static double step(const cw_dataset *d, const char *name)
{
    json_t *origin = json_loads(d->origin, 0, NULL);
    const json_t *value = json_object_get(json_object_get(origin, "steps"), name);
    assert_non_null(value);
    double number = json_number_value(value);
    json_decref(origin);
    return number;
}

static void compat_has_the_numbers_of_the_paper(void **state)
{
    (void)state;
    listener l;
    listener_init(&l);
    cw_dataset *compat = prepare(l.ctx, "compat"), *chosen = prepare(l.ctx, "debiased");
    assert_true(fabs(step(compat, "cap") - 1.0 / 60) < 1e-9); /* stored with ten digits */
    assert_true(step(compat, "holdout") == 0.3);
    assert_true(step(chosen, "cap") > 1.0 / 30);
    cw_dataset_free(compat);
    cw_dataset_free(chosen);
    listener_clear(&l);
}

static void the_same_is_chosen_on_any_threads(void **state)
{
    (void)state;
    listener l;
    listener_init(&l);
    assert_int_equal(cw_context_set_threads(l.ctx, 1), CW_OK);
    cw_dataset *one = prepare(l.ctx, "debiased");
    assert_int_equal(cw_context_set_threads(l.ctx, 3), CW_OK);
    cw_dataset *three = prepare(l.ctx, "debiased");
    assert_string_equal(one->origin, three->origin);
    for (int p = 0; p < 3; p++) {
        size_t bytes = (size_t)one->part[p].count * sizeof *one->part[p].item;
        assert_int_equal(one->part[p].count, three->part[p].count);
        assert_memory_equal(one->part[p].user, three->part[p].user, bytes);
        assert_memory_equal(one->part[p].item, three->part[p].item, bytes);
    }
    cw_dataset_free(one);
    cw_dataset_free(three);
    listener_clear(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_median_item_is_the_first_to_be_tested_alike),
        cmocka_unit_test(options_that_are_given_stay),
        cmocka_unit_test(one_item_is_enough),
        cmocka_unit_test(items_that_are_all_alike),
        cmocka_unit_test(items_of_single_rows),
        cmocka_unit_test(at_least_a_tenth_is_held_out),
        cmocka_unit_test(no_item_expects_to_lose_more_than_half),
        cmocka_unit_test(frequent_items_are_tested_alike),
        cmocka_unit_test(without_a_choice_the_test_is_of_what_is_popular),
        cmocka_unit_test(reach_counts_items_and_shares),
        cmocka_unit_test(compat_has_the_numbers_of_the_paper),
        cmocka_unit_test(the_same_is_chosen_on_any_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
