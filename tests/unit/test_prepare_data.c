/* test_prepare_data.c - preparation on real public data, where that is at hand. */
#include <jansson.h>
#include <math.h>

#include "core/mt19937.h"
#include "prepare/dataset.h"
#include "testing.h"

static const char *data; /* the folder of datasets */

static const char *in_data(const char *name, char path[1024])
{
    snprintf(path, 1024, "%s/%s", data, name);
    return path;
}

/* Five-star MovieLens-1M, 3-core, split with a seed. */
static cw_dataset *prepare_ml1m(cw_context *ctx, const char *split, const char *seed)
{
    char path[1024];
    const char *paths[] = {in_data("ml1m/ratings_no_timestamp.dat.gz", path)};
    cw_options *import, *prepare = paper_split(ctx);
    cw_interactions *rows;
    cw_dataset *d;
    assert_int_equal(cw_options_create(ctx, "import", &import), CW_OK);
    assert_int_equal(cw_options_set(ctx, import, "min-rating", "5"), CW_OK);
    assert_int_equal(cw_import(ctx, paths, 1, import, &rows), CW_OK);
    assert_int_equal(cw_interactions_count(rows), 226310);
    assert_int_equal(cw_options_set(ctx, prepare, "core", "3"), CW_OK);
    assert_int_equal(cw_options_set(ctx, prepare, "split", split), CW_OK);
    assert_int_equal(cw_options_set(ctx, prepare, "seed", seed), CW_OK);
    assert_int_equal(cw_dataset_prepare(ctx, rows, prepare, &d), CW_OK);
    cw_options_free(import);
    cw_options_free(prepare);
    cw_interactions_free(rows);
    return d;
}

static json_int_t step(const cw_dataset *d, const char *name)
{
    json_t *origin = json_loads(d->origin, 0, NULL);
    json_int_t value = json_integer_value(json_object_get(json_object_get(origin, "steps"), name));
    json_decref(origin);
    return value;
}

static void ml1m_has_the_known_core_and_split(void **state)
{
    (void)state;
    static const char *const ways[] = {"debiased", "compat"};
    listener l;
    listener_init(&l);
    for (size_t w = 0; w < 2; w++) {
        cw_dataset *d = prepare_ml1m(l.ctx, ways[w], "0");
        assert_int_equal(d->n_users, 5881);
        assert_int_equal(d->n_items, 2705);
        assert_int_equal(step(d, "rows_after_core"), 225346);
        assert_int_equal(step(d, "held_out"), 67604); /* 30 % */
        int64_t held = 67604 - step(d, "moved_back");
        /* an independent run of the same protocol moved 554 rows back */
        assert_true(llabs(step(d, "moved_back") - 554) < 100);
        assert_int_equal(d->part[CW_PART_TEST].count, (int64_t)rint((double)held * 2 / 3));
        assert_int_equal(d->part[CW_PART_VALID].count, held - d->part[CW_PART_TEST].count);
        assert_int_equal(d->part[CW_PART_TRAIN].count, 225346 - held);
        cw_dataset_free(d);
    }
    listener_clear(&l);
}

/* With weights min(1/d, a) every item of degree above 1/a has the same expected number of drawn
 * rows to first order; over seeds its held-out counts must be flat where its degree is not. */
static void held_out_counts_are_flat_over_popular_items(void **state)
{
    (void)state;
    enum { SEEDS = 10 };
    double low = 0, high = 0, low_items = 0, high_items = 0, train_ratio[2] = {0, 0};
    listener l;
    listener_init(&l);
    for (int s = 0; s < SEEDS; s++) {
        char seed[8];
        snprintf(seed, sizeof seed, "%d", s);
        cw_dataset *d = prepare_ml1m(l.ctx, "debiased", seed);
        int64_t train[4096], held[4096], more[4096];
        cwi_degrees(d->part[0].item, d->part[0].count, d->n_items, train);
        cwi_degrees(d->part[1].item, d->part[1].count, d->n_items, held);
        cwi_degrees(d->part[2].item, d->part[2].count, d->n_items, more);
        for (int32_t i = 0; i < d->n_items; i++) {
            int64_t drawn = held[i] + more[i], degree = drawn + train[i];
            if (degree >= 200 && degree < 300) {
                low += (double)drawn;
                low_items++;
                train_ratio[0] += (double)train[i];
            } else if (degree >= 800) {
                high += (double)drawn;
                high_items++;
                train_ratio[1] += (double)train[i];
            }
        }
        cw_dataset_free(d);
    }
    low /= low_items;
    high /= high_items;
    print_message("held out per item: %.1f (degree 200-299), %.1f (800 and more)\n", low, high);
    assert_true(train_ratio[1] / high_items > 4 * train_ratio[0] / low_items);
    assert_true(high / low > 0.95 && high / low < 1.3);
    listener_clear(&l);
}

/* The published MovieLens-10M files: sizes, and the order of the draw recovered by undoing the
 * test permutation (spec 5.5, 5.7, 9.12). */
static void published_movielens_files_follow_the_compat_protocol(void **state)
{
    (void)state;
    static const int32_t first[][2] = {{33736, 1763}, {44118, 181},  {37129, 166},
                                       {33477, 6680}, {25927, 6693}, {39924, 4544}};
    char path[1024];
    listener l;
    cw_dataset *d;
    cwi_mt19937 mt;
    listener_init(&l);
    assert_int_equal(cw_dataset_load(l.ctx, in_data("ml10m_cpr_partial", path), &d), CW_OK);
    assert_int_equal(d->n_users, 61770);
    assert_int_equal(d->n_items, 6958);
    assert_false(d->has_part[CW_PART_TRAIN]);
    const cwi_pairs *valid = &d->part[CW_PART_VALID], *test = &d->part[CW_PART_TEST];
    assert_int_equal(valid->count, 131334);
    assert_int_equal(test->count, 262667);
    assert_string_equal(cw_dataset_user_id(d, 61769), "71567");
    assert_string_equal(cw_dataset_item_id(d, 0), "231");
    int32_t n = (int32_t)(valid->count + test->count);
    int32_t *order = malloc((size_t)n * sizeof *order);
    int64_t *source = malloc((size_t)n * sizeof *source); /* draw position to test row, or -1 */
    cwi_mt_init(&mt, 0);
    cwi_mt_permute(&mt, order, n);
    for (int32_t k = 0; k < n; k++) source[k] = -1;
    for (int64_t k = 0; k < test->count; k++) source[order[k]] = k;
    int64_t next_valid = 0;
    for (int k = 0; k < 6; k++) {
        const cwi_pairs *from = source[k] >= 0 ? test : valid;
        int64_t row = source[k] >= 0 ? source[k] : next_valid++;
        assert_int_equal(from->user[row], first[k][0]);
        assert_int_equal(from->item[row], first[k][1]);
    }
    free(order);
    free(source);
    cw_dataset_free(d);
    listener_clear(&l);
}

static void given_splits_stay_as_they_are(void **state)
{
    (void)state;
    char path[1024];
    const char *paths[] = {in_data("gowalla", path)};
    cw_interactions *rows;
    listener l;
    cw_dataset *d;
    listener_init(&l);
    assert_int_equal(cw_import(l.ctx, paths, 1, NULL, &rows), CW_OK);
    assert_true(cw_interactions_are_split(rows));
    assert_int_equal(cw_dataset_prepare(l.ctx, rows, NULL, &d), CW_OK);
    assert_int_equal(d->n_users, 29858);
    assert_int_equal(d->n_items, 40981);
    assert_int_equal(d->part[CW_PART_TRAIN].count, 810128);
    assert_int_equal(d->part[CW_PART_TEST].count, 217242);
    cw_dataset_free(d);
    cw_interactions_free(rows);
    listener_clear(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ml1m_has_the_known_core_and_split),
        cmocka_unit_test(held_out_counts_are_flat_over_popular_items),
        cmocka_unit_test(published_movielens_files_follow_the_compat_protocol),
        cmocka_unit_test(given_splits_stay_as_they_are),
    };
    data = data_folder_or_skip();
    return cmocka_run_group_tests(tests, NULL, NULL);
}
