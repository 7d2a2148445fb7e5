/* test_fitting.c - settings that follow the size of the data. */
#include "core/options.h"
#include "prepare/dataset.h"
#include "registry/registry.h"
#include "testing.h"

static int set_up(void **state)
{
    listener *l = calloc(1, sizeof *l);
    listener_init(l);
    *state = l;
    return 0;
}

static int tear_down(void **state)
{
    listener_clear(*state);
    free(*state);
    return 0;
}

/* Settle "name=value" pairs, ending with NULL, for data of this extent. */
static cw_options *settle(listener *l, const cwi_extent *extent, const char *const *pairs)
{
    cw_options *given, *out;
    const cwi_method *method;
    const cwi_backbone *backbone;
    assert_int_equal(cw_options_create(l->ctx, "train", &given), CW_OK);
    for (; pairs[0]; pairs += 2)
        assert_int_equal(cw_options_set(l->ctx, given, pairs[0], pairs[1]), CW_OK);
    cwi_begin(l->ctx);
    assert_int_equal(cwi_train_settle(l->ctx, given, extent, &out, &method, &backbone), CW_OK);
    cw_options_free(given);
    return out;
}

#define WORDS(...) ((const char *const[]){__VA_ARGS__, NULL})

static const cwi_extent tiny = {
    .users = 60, .items = 700, .rows = 4836, .meeting = 0.37, .likeness = 0.9};
static const cwi_extent dense = {
    .users = 943, .items = 1473, .rows = 79828, .meeting = 0.32, .likeness = 1, .evenly = true};
static const cwi_extent sparse = {.users = 5550,
                                  .items = 16558,
                                  .rows = 168381,
                                  .meeting = 0.0124,
                                  .likeness = 8,
                                  .evenly = false};

static void small_data_get_as_many_steps_as_large(void **state)
{
    listener *l = *state;
    cw_options *small = settle(l, &tiny, WORDS("method", "bpr"));
    cw_options *large = settle(l, &sparse, WORDS("method", "bpr"));
    assert_int_equal(cwi_options_integer(small, "batch"), 256);
    assert_int_equal(cwi_options_integer(large, "batch"), 2048);
    assert_int_equal(cwi_options_integer(small, "epoch-steps"), 100);
    assert_int_equal(cwi_options_integer(large, "epoch-steps"), 100);
    assert_int_equal(cwi_options_integer(small, "min-epochs"), 40);
    cw_options_free(small);
    cw_options_free(large);
}

static void an_epoch_of_much_data_is_a_pass(void **state)
{
    static const cwi_extent huge = {
        .users = 30000, .items = 41000, .rows = 2048000, .meeting = 1, .likeness = 1};
    cw_options *options = settle(*state, &huge, WORDS("method", "bpr"));
    assert_int_equal(cwi_options_integer(options, "epoch-steps"), 1000);
    cw_options_free(options);
}

static void beta_follows_how_much_it_tells_to_share_an_item(void **state)
{
    cw_options *low = settle(*state, &dense, WORDS("method", "cpr"));
    cw_options *high = settle(*state, &sparse, WORDS("method", "cpr"));
    assert_float_equal(cwi_options_real(low, "beta"), 2, 0);
    assert_float_equal(cwi_options_real(high, "beta"), 16, 0);
    cw_options_free(low);
    cw_options_free(high);
}

/* The hardest of few crosses are chance, and few rows of dense data are easily learnt by heart. */
static void few_rows_are_not_searched_and_held_short(void **state)
{
    static const cwi_extent few = {
        .users = 400, .items = 1300, .rows = 6164, .meeting = 0.024, .likeness = 2.7};
    cw_options *often = settle(*state, &tiny, WORDS("method", "cpr"));
    cw_options *seldom = settle(*state, &few, WORDS("method", "cpr"));
    cw_options *graph = settle(*state, &tiny, WORDS("method", "cpr", "backbone", "lightgcn"));
    assert_float_equal(cwi_options_real(graph, "beta"), 1.5, 0);
    cw_options_free(graph);
    assert_float_equal(cwi_options_real(often, "beta"), 1, 0);
    assert_float_equal(cwi_options_real(often, "reg"), 0.2, 0);
    assert_float_equal(cwi_options_real(seldom, "beta"), 3.7, 0);
    assert_float_equal(cwi_options_real(seldom, "reg"), 0.05, 0);
    cw_options_free(often);
    cw_options_free(seldom);
}

static void the_margin_of_dice_is_counted_in_rows_an_item(void **state)
{
    cw_options *few = settle(*state, &sparse, WORDS("method", "dice"));
    cw_options *many = settle(*state, &dense, WORDS("method", "dice"));
    assert_float_equal(cwi_options_real(few, "margin"), 7.1, 0);
    assert_float_equal(cwi_options_real(many, "margin"), 38, 0);
    cw_options_free(few);
    cw_options_free(many);
}

/* Closed forms, whose settings hang most on what is asked of them. */
static void what_judges_decides_how_much_popular_items_are_trusted(void **state)
{
    cw_options *even = settle(*state, &dense, WORDS("method", "ease"));
    cw_options *uneven = settle(*state, &sparse, WORDS("method", "ease"));
    assert_float_equal(cwi_options_real(even, "reg"), 81, 0); /* 1.5 rows an item */
    assert_float_equal(cwi_options_real(uneven, "reg"), 400, 0);
    cw_options_free(even);
    cw_options_free(uneven);
    even = settle(*state, &dense, WORDS("method", "ials"));
    uneven = settle(*state, &sparse, WORDS("method", "ials"));
    assert_float_equal(cwi_options_real(even, "unseen-weight"), 0.22, 0);
    assert_float_equal(cwi_options_real(even, "reg"), 0.0062, 0); /* 2 / (w items) */
    assert_float_equal(cwi_options_real(uneven, "unseen-weight"), 0.003, 0);
    assert_float_equal(cwi_options_real(uneven, "reg"), 0.03, 0);
    cw_options_free(even);
    cw_options_free(uneven);
    even = settle(*state, &dense, WORDS("method", "itemknn"));
    uneven = settle(*state, &sparse, WORDS("method", "itemknn"));
    assert_float_equal(cwi_options_real(even, "shrink"), 0, 0);
    assert_float_equal(cwi_options_real(uneven, "shrink"), 10, 0);
    cw_options_free(even);
    cw_options_free(uneven);
}

/* reg of each method on tiny and on sparse, large data. */
static void few_rows_are_held_shorter_by_every_method(void **state)
{
    static const struct {
        const char *method, *backbone;
        double few, many;
    } expected[] = {{"ubpr", "mf", 0.3, 0.045},          {"rel-mf", "mf", 0.03, 0.0036},
                    {"cause", "mf", 0.03, 0.0036},       {"bce", "mf", 0.003, 0.00045},
                    {"wmf", "mf", 0.01, 0.001},          {"mse", "mf", 0.1, 0.03},
                    {"dice", "mf", 0.1, 0.03},           {"bpr", "lightgcn", 0.001, 0},
                    {"bpr", "ngcf", 0.01, 0.0059},       {"cpr", "lightgcn", 0.01, 0.0001},
                    {"mult-vae", "vae", 0.0083, 0.00024}};
    for (size_t k = 0; k < sizeof expected / sizeof expected[0]; k++) {
        const char *const *words =
            WORDS("method", expected[k].method, "backbone", expected[k].backbone);
        cw_options *few = settle(*state, &tiny, words), *many = settle(*state, &sparse, words);
        assert_float_equal(cwi_options_real(few, "reg"), expected[k].few, 0);
        assert_float_equal(cwi_options_real(many, "reg"), expected[k].many, 0);
        cw_options_free(few);
        cw_options_free(many);
    }
}

static void what_is_given_wins(void **state)
{
    cw_options *options =
        settle(*state, &sparse,
               WORDS("method", "cpr", "beta", "3", "lr", "0.5", "batch", "100", "patience", "7"));
    assert_string_equal(cwi_options_text(options, "beta"), "3");
    assert_string_equal(cwi_options_text(options, "lr"), "0.5");
    assert_int_equal(cwi_options_integer(options, "patience"), 7);
    assert_int_equal(cwi_options_integer(options, "epoch-steps"), 1683); /* a pass by that batch */
    cw_options_free(options);
}

static void paper_has_the_published_settings(void **state)
{
    cw_options *options = settle(*state, &sparse, WORDS("method", "cpr", "preset", "paper"));
    assert_string_equal(cwi_options_text(options, "lr"), "3e-4");
    assert_string_equal(cwi_options_text(options, "beta"), "2");
    assert_int_equal(cwi_options_integer(options, "batch"), 2048);
    assert_int_equal(cwi_options_integer(options, "epoch-steps"), 0);
    assert_int_equal(cwi_options_integer(options, "eval-every"), 5);
    assert_int_equal(cwi_options_integer(options, "patience"), 10);
    cw_options_free(options);
}

static void settled_options_stay_as_they_are(void **state)
{
    listener *l = *state;
    const cwi_method *method;
    const cwi_backbone *backbone;
    cw_options *once = settle(l, &sparse, WORDS("method", "cpr")), *twice;
    assert_int_equal(cwi_train_settle(l->ctx, once, &tiny, &twice, &method, &backbone), CW_OK);
    const cw_option_info *info;
    for (size_t row = 0; (info = cwi_options_row(once, row)) != NULL; row++)
        if (strcmp(info->name, "epochs") != 0 && cw_options_is_given(once, info->name))
            assert_string_equal(cwi_options_text(once, info->name),
                                cwi_options_text(twice, info->name));
    cw_options_free(once);
    cw_options_free(twice);
}

/* Two users with the same two items: as if there were two of each, and all met. */
static void extent_counts_what_is_alike(void **state)
{
    listener *l = *state;
    const int64_t user[] = {1, 1, 2, 2}, item[] = {1, 2, 1, 2};
    cw_interactions *log;
    cw_dataset *dataset;
    cw_options *options;
    cwi_extent extent;
    assert_int_equal(cw_interactions_create(l->ctx, user, item, NULL, 4, &log), CW_OK);
    assert_int_equal(cw_options_create(l->ctx, "prepare", &options), CW_OK);
    assert_int_equal(cw_options_set(l->ctx, options, "core", "1"), CW_OK);
    assert_int_equal(cw_options_set(l->ctx, options, "holdout", "0.01"), CW_OK);
    assert_int_equal(cw_dataset_prepare(l->ctx, log, options, &dataset), CW_OK);
    assert_int_equal(cwi_dataset_extent(l->ctx, dataset, &extent), CW_OK);
    assert_int_equal(extent.rows, 4);
    assert_float_equal(extent.meeting, 1, 1e-12);
    assert_float_equal(extent.likeness, 1, 1e-12);
    cw_options_free(options);
    cw_dataset_free(dataset);
    cw_interactions_free(log);
}

/* Two groups of users, each with items of its own: whoever shares one shares all, and of all pairs
 * half have met. */
static void likeness_is_that_of_clusters(void **state)
{
    enum { N = 20 };
    listener *l = *state;
    int32_t user[N * N / 2], item[N * N / 2];
    cw_dataset dataset = {.n_users = N, .n_items = N};
    cwi_extent extent;
    int64_t n = 0;
    for (int32_t u = 0; u < N; u++)
        for (int32_t i = 0; i < N; i++)
            if ((u < N / 2) == (i < N / 2)) {
                user[n] = u;
                item[n++] = i;
            }
    dataset.part[CW_PART_TRAIN] = (cwi_pairs){.count = n, .user = user, .item = item};
    cwi_begin(l->ctx);
    assert_int_equal(cwi_dataset_extent(l->ctx, &dataset, &extent), CW_OK);
    assert_float_equal(extent.meeting, 0.5, 1e-12);
    assert_float_equal(extent.likeness, 2, 1e-12);
}

/* One item has 4 rows, the other 1: rows of the rare one judge evenly, rows of the popular do not.
 */
static void what_judges_is_measured(void **state)
{
    listener *l = *state;
    int32_t user[] = {0, 1, 2, 3, 4}, item[] = {0, 0, 0, 0, 1};
    cw_dataset dataset = {.n_users = 5, .n_items = 2};
    cwi_extent extent;
    dataset.part[CW_PART_TRAIN] = (cwi_pairs){.count = 5, .user = user, .item = item};
    cwi_begin(l->ctx);
    assert_int_equal(cwi_dataset_extent(l->ctx, &dataset, &extent), CW_OK);
    assert_true(extent.evenly); /* the usual split, when there is no validation part */
    dataset.part[CW_PART_VALID] = (cwi_pairs){.count = 1, .user = user, .item = &item[4]};
    assert_int_equal(cwi_dataset_extent(l->ctx, &dataset, &extent), CW_OK);
    assert_true(extent.evenly);
    dataset.part[CW_PART_VALID].item = item;
    assert_int_equal(cwi_dataset_extent(l->ctx, &dataset, &extent), CW_OK);
    assert_false(extent.evenly);
}

#define CASE(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {CASE(small_data_get_as_many_steps_as_large),
                                       CASE(an_epoch_of_much_data_is_a_pass),
                                       CASE(beta_follows_how_much_it_tells_to_share_an_item),
                                       CASE(few_rows_are_not_searched_and_held_short),
                                       CASE(the_margin_of_dice_is_counted_in_rows_an_item),
                                       CASE(what_judges_decides_how_much_popular_items_are_trusted),
                                       CASE(few_rows_are_held_shorter_by_every_method),
                                       CASE(what_is_given_wins),
                                       CASE(paper_has_the_published_settings),
                                       CASE(settled_options_stay_as_they_are),
                                       CASE(extent_counts_what_is_alike),
                                       CASE(likeness_is_that_of_clusters),
                                       CASE(what_judges_is_measured)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
