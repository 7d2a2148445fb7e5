/* test_folds.c - several validation parts of one dataset. */
#include "core/mem.h"
#include "experiment/folds.h"
#include "testing.h"

typedef struct fixture {
    listener l;
    cw_dataset *data;
} fixture;

static cw_dataset *make_data(cw_context *ctx)
{
    static const char *const settings[][2] = {
        {"users", "120"}, {"items", "60"}, {"relevant", "0.5"}, {"popularity", "0.5"}};
    cw_options *options;
    cw_dataset *data;
    assert_int_equal(cw_options_create(ctx, "simulate", &options), CW_OK);
    for (size_t s = 0; s < 4; s++)
        assert_int_equal(cw_options_set(ctx, options, settings[s][0], settings[s][1]), CW_OK);
    assert_int_equal(cw_dataset_simulate(ctx, options, NULL, &data), CW_OK);
    cw_options_free(options);
    return data;
}

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    listener_init(&f->l);
    f->data = make_data(f->l.ctx);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    cw_dataset_free(f->data);
    listener_clear(&f->l);
    free(f);
    return 0;
}

static void draw(const fixture *f, int n, uint64_t seed, cwi_folds *out)
{
    assert_int_equal(cwi_folds_create(f->l.ctx, f->data, n, seed, out), CW_OK);
    assert_int_equal(out->n, n);
}

static bool is_same(const cwi_pairs *a, const cwi_pairs *b)
{
    size_t bytes = (size_t)a->count * sizeof *a->user;
    return a->count == b->count && memcmp(a->user, b->user, bytes) == 0 &&
           memcmp(a->item, b->item, bytes) == 0;
}

/* How often each pair is among the rows of a part, [users x items]. */
static void count_pairs(const cw_dataset *d, cw_part part, int by, int *times)
{
    const cwi_pairs *p = &d->part[part];
    for (int64_t r = 0; r < p->count; r++) times[p->user[r] * d->n_items + p->item[r]] += by;
}

static void folds_divide_the_same_rows_and_leave_the_test_alone(void **state)
{
    const fixture *f = *state;
    const cw_dataset *d = f->data;
    cwi_folds folds;
    draw(f, 4, 0, &folds);
    assert_memory_equal(folds.set[0].part, d->part, sizeof d->part);
    for (int k = 1; k < 4; k++) {
        size_t cells = (size_t)d->n_users * (size_t)d->n_items;
        int *times = calloc(cells, sizeof *times);
        const cw_dataset *fold = &folds.set[k];
        for (int part = CW_PART_TRAIN; part <= CW_PART_VALID; part++) {
            count_pairs(d, (cw_part)part, 1, times);
            count_pairs(fold, (cw_part)part, -1, times);
        }
        for (size_t c = 0; c < cells; c++) assert_int_equal(times[c], 0);
        free(times);
        assert_ptr_equal(fold->part[CW_PART_TEST].user, d->part[CW_PART_TEST].user);
        assert_int_equal(fold->part[CW_PART_TEST].count, d->part[CW_PART_TEST].count);
        assert_true(fold->part[CW_PART_VALID].count <= d->part[CW_PART_VALID].count);
        assert_true(fold->part[CW_PART_VALID].count > d->part[CW_PART_VALID].count / 2);
        for (int j = 0; j < k; j++)
            assert_false(is_same(&fold->part[CW_PART_VALID], &folds.set[j].part[CW_PART_VALID]));
    }
    cwi_folds_clear(&folds);
}

static void train_knows_every_user_and_item_that_is_held_out(void **state)
{
    const fixture *f = *state;
    cwi_folds folds;
    draw(f, 5, 7, &folds);
    for (int k = 1; k < 5; k++) {
        const cwi_pairs *train = &folds.set[k].part[CW_PART_TRAIN],
                        *valid = &folds.set[k].part[CW_PART_VALID];
        int64_t *users = calloc((size_t)f->data->n_users, sizeof *users),
                *items = calloc((size_t)f->data->n_items, sizeof *items);
        cwi_degrees(train->user, train->count, f->data->n_users, users);
        cwi_degrees(train->item, train->count, f->data->n_items, items);
        for (int64_t r = 0; r < valid->count; r++) {
            assert_true(users[valid->user[r]] > 0);
            assert_true(items[valid->item[r]] > 0);
        }
        free(users);
        free(items);
    }
    cwi_folds_clear(&folds);
}

static void the_seed_decides(void **state)
{
    const fixture *f = *state;
    cwi_folds one, more, other;
    draw(f, 2, 3, &one);
    draw(f, 4, 3, &more); /* more folds do not change the first of them */
    draw(f, 2, 4, &other);
    assert_true(is_same(&one.set[1].part[CW_PART_VALID], &more.set[1].part[CW_PART_VALID]));
    assert_true(is_same(&one.set[1].part[CW_PART_TRAIN], &more.set[1].part[CW_PART_TRAIN]));
    assert_false(is_same(&one.set[1].part[CW_PART_VALID], &other.set[1].part[CW_PART_VALID]));
    cwi_folds_clear(&one);
    cwi_folds_clear(&more);
    cwi_folds_clear(&other);
}

/* Mean number of train and validation rows of the items that are held out. */
static double mean_degree(const cw_dataset *data, const cwi_folds *folds)
{
    int64_t *degree = calloc((size_t)data->n_items, sizeof *degree);
    double sum = 0, n = 0;
    for (int part = CW_PART_TRAIN; part <= CW_PART_VALID; part++)
        for (int64_t r = 0; r < data->part[part].count; r++) degree[data->part[part].item[r]]++;
    for (int k = 1; k < folds->n; k++) {
        const cwi_pairs *valid = &folds->set[k].part[CW_PART_VALID];
        for (int64_t r = 0; r < valid->count; r++) sum += (double)degree[valid->item[r]];
        n += (double)valid->count;
    }
    free(degree);
    return sum / n;
}

static void draws_follow_the_law_of_the_split(void **state)
{
    const fixture *f = *state;
    cwi_folds folds, blind;
    cw_dataset unknown = *f->data;
    unknown.origin = NULL;
    draw(f, 5, 0, &folds);
    assert_int_equal(cwi_folds_create(f->l.ctx, &unknown, 5, 0, &blind), CW_OK);
    assert_true(mean_degree(f->data, &folds) < 0.9 * mean_degree(f->data, &blind));
    cwi_folds_clear(&folds);
    cwi_folds_clear(&blind);
}

static int chosen(const fixture *f, const cw_dataset *data)
{
    int n;
    assert_int_equal(cwi_folds_choose(f->l.ctx, data, &n), CW_OK);
    return n;
}

/* A dataset of this way to split whose validation part has so many users. */
static int chosen_for(const fixture *f, const char *origin, int32_t users)
{
    int32_t *row = calloc((size_t)users * 2, sizeof *row);
    char text[128];
    for (int32_t u = 0; u < users; u++) row[u] = u;
    snprintf(text, sizeof text, "{\"steps\": {\"split\": \"%s\", \"cap\": 0.1}}", origin);
    const cw_dataset data = {.n_users = users,
                             .n_items = 1,
                             .part = {[CW_PART_VALID] = {users, row, row + users, NULL}},
                             .origin = origin[0] ? text : NULL};
    int n = chosen(f, &data);
    free(row);
    return n;
}

static void few_users_ask_for_more_folds(void **state)
{
    const fixture *f = *state;
    assert_int_equal(chosen(f, f->data), 5);
    assert_int_equal(chosen_for(f, "debiased", 60), 5);
    assert_int_equal(chosen_for(f, "random", 250), 4);
    assert_int_equal(chosen_for(f, "compat", 251), 4);
    assert_int_equal(chosen_for(f, "debiased", 999), 2);
    assert_int_equal(chosen_for(f, "debiased", 1000), 1);
    assert_int_equal(chosen_for(f, "by-time", 60), 1); /* no draw makes such a part */
    assert_int_equal(chosen_for(f, "given", 60), 1);
    assert_int_equal(chosen_for(f, "", 60), 1);
}

/* Every row is all that its item has. */
static void rows_that_cannot_be_held_out_are_refused(void **state)
{
    const fixture *f = *state;
    int32_t user[] = {0, 0, 0, 0}, item[] = {0, 1, 2, 3};
    const cw_dataset data = {
        .n_users = 1, .n_items = 4, .part = {{3, user, item, NULL}, {1, user + 3, item + 3, NULL}}};
    cwi_folds folds;
    assert_int_equal(cwi_folds_create(f->l.ctx, &data, 3, 0, &folds), CW_BAD_DATA);
    assert_non_null(strstr(cw_context_error(f->l.ctx), "--folds 1"));
    cwi_folds_clear(&folds);
}

static void want_of_memory_leaves_nothing_behind(void **state)
{
    const fixture *f = *state;
    cw_status status = CW_NO_MEMORY;
    cwi_folds folds;
    for (long nth = 1; status == CW_NO_MEMORY; nth++) {
        cwi_begin(f->l.ctx);
        cwi_mem_fail_at(f->l.ctx, nth);
        status = cwi_folds_create(f->l.ctx, f->data, 3, 0, &folds);
        cwi_mem_fail_at(f->l.ctx, 0);
        cwi_folds_clear(&folds);
        assert_true(status == CW_OK ? nth > 10 : status == CW_NO_MEMORY);
    }
    assert_int_equal(status, CW_OK);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(folds_divide_the_same_rows_and_leave_the_test_alone),
        TEST(train_knows_every_user_and_item_that_is_held_out),
        TEST(the_seed_decides),
        TEST(draws_follow_the_law_of_the_split),
        TEST(few_users_ask_for_more_folds),
        TEST(rows_that_cannot_be_held_out_are_refused),
        TEST(want_of_memory_leaves_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
