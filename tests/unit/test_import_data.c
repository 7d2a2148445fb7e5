/* test_import_data.c - published files give the counts that are known of them. */
#include "import_check.h"

#include <sys/stat.h>

typedef struct bed {
    cw_context *ctx;
    const char *data; /* the folder of public datasets */
    char warnings[1024];
} bed;

static void remember(void *user, cw_log_level level, const char *text)
{
    bed *b = user;
    if (level == CW_LOG_WARNING) snprintf(b->warnings, sizeof b->warnings, "%s", text);
}

/* Import up to two paths below the data folder. */
static cw_interactions *import_data(bed *b, const char *first, const char *second,
                                    const char *const *pairs)
{
    char path[2][512];
    const char *paths[2] = {path[0], path[1]};
    cw_interactions *rows;

    b->warnings[0] = '\0';
    snprintf(path[0], sizeof path[0], "%s/%s", b->data, first);
    snprintf(path[1], sizeof path[1], "%s/%s", b->data, second ? second : "");
    cw_options *options = import_options(b->ctx, pairs);
    cw_status status = cw_import(b->ctx, paths, second ? 2 : 1, options, &rows);
    cw_options_free(options);
    assert_string_equal(cw_context_error(b->ctx), "");
    assert_int_equal(status, CW_OK);
    return rows;
}

static void expect_counts(const cw_interactions *rows, int64_t count, int32_t users, int32_t items)
{
    assert_int_equal(cw_interactions_count(rows), count);
    assert_int_equal(cw_interactions_users(rows), users);
    assert_int_equal(cw_interactions_items(rows), items);
}

static int64_t count_part(const cw_interactions *rows, cw_part part)
{
    int64_t count = 0;
    for (int64_t r = 0; r < rows->count; r++) count += rows->part[r] == part;
    return count;
}

static void movielens_1m_five_stars(void **state)
{
    cw_interactions *rows =
        import_data(*state, "ml1m/ratings_no_timestamp.dat.gz", NULL, PAIRS("min-rating", "5"));
    expect_counts(rows, 226310, 6014, 3232);
    assert_null(rows->time);
    assert_row(rows, 0, "1", "1193");
    cw_interactions_free(rows);
    rows = import_data(*state, "ml1m/ratings_no_timestamp.dat.gz", NULL, NULL);
    expect_counts(rows, 1000209, 6040, 3706);
    assert_string_equal(((bed *)*state)->warnings, "");
    cw_interactions_free(rows);
}

static void movielens_100k_is_the_same_in_both_forms(void **state)
{
    cw_interactions *plain = import_data(*state, "ml100k/u.data.gz", NULL, NULL);
    cw_interactions *inter = import_data(*state, "ml100k/ml-100k.inter.gz", NULL, NULL);

    expect_counts(plain, 100000, 943, 1682);
    expect_counts(inter, 100000, 943, 1682);
    assert_non_null(strstr(plain->source, "\"delimited\""));
    assert_non_null(strstr(inter->source, "\"inter\""));
    for (int32_t u = 0; u < plain->users.count; u++)
        assert_string_equal(cwi_idmap_text(&plain->users, u), cwi_idmap_text(&inter->users, u));
    for (int32_t i = 0; i < plain->items.count; i++)
        assert_string_equal(cwi_idmap_text(&plain->items, i), cwi_idmap_text(&inter->items, i));
    size_t count = (size_t)plain->count;
    assert_memory_equal(plain->user, inter->user, count * sizeof *plain->user);
    assert_memory_equal(plain->item, inter->item, count * sizeof *plain->item);
    assert_memory_equal(plain->time, inter->time, count * sizeof *plain->time);
    cw_interactions_free(plain);
    cw_interactions_free(inter);

    cw_interactions *five = import_data(*state, "ml100k/u.data.gz", NULL, PAIRS("min-rating", "5"));
    assert_int_equal(five->count, 21201);
    cw_interactions_free(five);
}

static void lastfm_files_together(void **state)
{
    cw_interactions *rows = import_data(*state, "lastfm/data1.txt", "lastfm/test1.txt", NULL);
    expect_counts(rows, 52668, 1880, 4489);
    assert_string_equal(((bed *)*state)->warnings, "");
    cw_interactions_free(rows);
}

static void movietweetings_keeps_leading_zeros(void **state)
{
    cw_interactions *rows = import_data(*state, "movietweetings_100k/ratings.dat.gz", NULL, NULL);
    expect_counts(rows, 100000, 16554, 10506);
    assert_row(rows, 2, "2", "0104257");
    assert_true(rows->time[0] == 1365029107);
    for (int32_t i = 0; i < rows->items.count; i++)
        assert_int_equal(strlen(cwi_idmap_text(&rows->items, i)), 7);
    cw_interactions_free(rows);
    rows =
        import_data(*state, "movietweetings_100k/ratings.dat.gz", NULL, PAIRS("min-rating", "9"));
    assert_int_equal(rows->count, 26397);
    cw_interactions_free(rows);
}

static void amazon_electronics_folder(void **state)
{
    cw_interactions *rows = import_data(*state, "amazon_electronics", NULL, NULL);
    expect_counts(rows, 31887 + 4044, 1435, 1522);
    assert_int_equal(count_part(rows, CW_PART_TRAIN), 31887);
    assert_int_equal(count_part(rows, CW_PART_TEST), 4044);
    cw_interactions_free(rows);
}

static void citeulike_has_repeats(void **state)
{
    cw_interactions *rows = import_data(*state, "citeulike/train.txt.gz", NULL, NULL);
    assert_int_equal(rows->count, 151918 - 23);
    assert_string_equal(((bed *)*state)->warnings, "23 repeated interactions were dropped");
    cw_interactions_free(rows);
    rows = import_data(*state, "citeulike", NULL, NULL);
    expect_counts(rows, 210504, 5551, 16980);
    assert_string_equal(((bed *)*state)->warnings, "24 repeated interactions were dropped");
    cw_interactions_free(rows);
}

static void gowalla_folder(void **state)
{
    cw_interactions *rows = import_data(*state, "gowalla", NULL, NULL);
    expect_counts(rows, 1027370, 29858, 40981);
    assert_int_equal(count_part(rows, CW_PART_TRAIN), 810128);
    assert_int_equal(count_part(rows, CW_PART_VALID), 0);
    assert_int_equal(count_part(rows, CW_PART_TEST), 217242);
    cw_interactions_free(rows);
}

static void movielens_1m_lcf_split(void **state)
{
    cw_interactions *rows = import_data(*state, "ml1m/split_lcf", NULL, NULL);
    expect_counts(rows, 796244 + 99455, 6022, 3043);
    cw_interactions_free(rows);
}

static void movielens_10m_parts_get_their_raw_ids_back(void **state)
{
    cw_interactions *rows = import_data(*state, "ml10m_cpr_partial", NULL, NULL);
    assert_int_equal(rows->count, 131334 + 262667);
    assert_int_equal(count_part(rows, CW_PART_TRAIN), 0);
    assert_int_equal(count_part(rows, CW_PART_VALID), 131334);
    assert_int_equal(count_part(rows, CW_PART_TEST), 262667);
    assert_true(rows->users.count <= 61770 && rows->items.count <= 6958);
    assert_true(cwi_idmap_find(&rows->items, "231", 3) >= 0); /* item 0 of the files */
    cw_interactions_free(rows);
}

int main(void)
{
    bed b = {0};
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(movielens_1m_five_stars, &b),
        cmocka_unit_test_prestate(movielens_100k_is_the_same_in_both_forms, &b),
        cmocka_unit_test_prestate(lastfm_files_together, &b),
        cmocka_unit_test_prestate(movietweetings_keeps_leading_zeros, &b),
        cmocka_unit_test_prestate(amazon_electronics_folder, &b),
        cmocka_unit_test_prestate(citeulike_has_repeats, &b),
        cmocka_unit_test_prestate(gowalla_folder, &b),
        cmocka_unit_test_prestate(movielens_1m_lcf_split, &b),
        cmocka_unit_test_prestate(movielens_10m_parts_get_their_raw_ids_back, &b),
    };
    struct stat info;

    b.data = getenv("CROSSWISE_DATA");
    if (!b.data || stat(b.data, &info) != 0 || !S_ISDIR(info.st_mode)) {
        printf("skipped: the public datasets are not here (CROSSWISE_DATA is %s)\n",
               b.data ? b.data : "not set");
        return 77;
    }
    if (cw_context_create(&b.ctx) != CW_OK) return 1;
    cw_context_set_log(b.ctx, remember, &b);
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    cw_context_free(b.ctx);
    return failed;
}
