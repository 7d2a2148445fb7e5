/* test_prepare.c - filters and splits on small sets made by hand. */
#include <jansson.h>
#include <math.h>

#include "prepare/dataset.h"
#include "testing.h"

/* Interactions from two arrays, prepared with options given as name, value, ..., NULL. */
static cw_status prepare(cw_context *ctx, const int64_t *user, const int64_t *item,
                         const double *time, int64_t n, cw_dataset **out, ...)
{
    cw_interactions *rows;
    cw_options *options;
    va_list args;
    const char *name;
    assert_int_equal(cw_interactions_create(ctx, user, item, time, n, &rows), CW_OK);
    assert_int_equal(cw_options_create(ctx, "prepare", &options), CW_OK);
    va_start(args, out);
    while ((name = va_arg(args, const char *)) != NULL)
        assert_int_equal(cw_options_set(ctx, options, name, va_arg(args, const char *)), CW_OK);
    va_end(args);
    cw_status status = cw_dataset_prepare(ctx, rows, options, out);
    cw_options_free(options);
    cw_interactions_free(rows);
    return status;
}

static int64_t total(const cw_dataset *d)
{
    return d->part[0].count + d->part[1].count + d->part[2].count;
}

static json_int_t step(const cw_dataset *d, const char *name)
{
    json_t *origin = json_loads(d->origin, 0, NULL);
    json_int_t value = json_integer_value(json_object_get(json_object_get(origin, "steps"), name));
    json_decref(origin);
    return value;
}

/* A random set: users like few of 40 items, item i with probability falling in i. */
enum { MANY = 3000 };

static int64_t make_random(int64_t *user, int64_t *item)
{
    int64_t n = 0;
    uint64_t x = 12345;
    for (int64_t u = 0; u < 200; u++)
        for (int64_t i = 0; i < 40; i++) {
            x = x * 6364136223846793005U + 1442695040888963407U;
            if ((double)(x >> 11) * 0x1p-53 > 0.9 / (1 + 0.2 * (double)i)) continue;
            user[n] = 1000 + u;
            item[n++] = 7 * i;
        }
    assert_true(n > 1000 && n < MANY);
    return n;
}

/* A path u0-i0-u1-i1-...: every inner node has degree 2, so the 2-core is empty and takes as
 * many rounds as the path is long. */
static void the_core_of_a_path_is_empty(void **state)
{
    (void)state;
    int64_t user[100], item[100];
    listener l;
    cw_dataset *d;
    listener_init(&l);
    for (int64_t k = 0; k < 100; k++) {
        user[k] = (k + 1) / 2;
        item[k] = k / 2;
    }
    assert_int_equal(prepare(l.ctx, user, item, NULL, 100, &d, "core", "2", NULL), CW_BAD_DATA);
    assert_null(d);
    assert_string_equal(cw_context_error(l.ctx),
                        "--core 2 leaves none of the 100 interactions; try a smaller one");
    listener_clear(&l);
}

/* A block with a tail that goes from its end, one row with every walk over the rows: more than are
 * made before neighbours are listed. */
static void the_core_drops_a_long_tail(void **state)
{
    (void)state;
    enum { TAIL = 60, ROWS = 4 + TAIL };
    int64_t user[ROWS] = {0, 0, 1, 1}, item[ROWS] = {0, 1, 0, 1};
    listener l;
    cw_dataset *d;
    listener_init(&l);
    for (int64_t k = 0; k < TAIL; k++) { /* u1-i2-u2-i3-u3-... */
        user[4 + k] = 1 + (k + 1) / 2;
        item[4 + k] = 2 + k / 2;
    }
    assert_int_equal(prepare(l.ctx, user, item, NULL, ROWS, &d, "core", "2", NULL), CW_OK);
    assert_int_equal(d->n_users, 2);
    assert_int_equal(d->n_items, 2);
    assert_int_equal(total(d), 4);
    cw_dataset_free(d);
    listener_clear(&l);
}

/* A 3x3 block with a tail of weaker nodes: the 3-core is the block. */
static void the_core_keeps_the_dense_block(void **state)
{
    (void)state;
    const int64_t user[] = {0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 4, 0};
    const int64_t item[] = {0, 1, 2, 0, 1, 2, 0, 1, 2, 0, 1, 0, 9};
    listener l;
    cw_dataset *d;
    listener_init(&l);
    assert_int_equal(prepare(l.ctx, user, item, NULL, 13, &d, "core", "3", NULL), CW_OK);
    assert_int_equal(d->n_users, 3);
    assert_int_equal(d->n_items, 3);
    assert_int_equal(total(d), 9);
    cw_dataset_free(d);
    listener_clear(&l);
}

/* The same: who is not in the block keeps the rows that lead into it. */
static void what_the_core_drops_is_listed(void **state)
{
    (void)state;
    const int64_t user[] = {4, 0, 0, 0, 1, 1, 1, 2, 2, 2, 3, 3, 0, 5};
    const int64_t item[] = {0, 0, 1, 2, 0, 1, 2, 0, 1, 2, 1, 0, 9, 9};
    listener l;
    cw_dataset *d;
    listener_init(&l);
    assert_int_equal(prepare(l.ctx, user, item, NULL, 14, &d, "core", "3", NULL), CW_OK);
    const cwi_rest *rest = &d->rest;
    assert_int_equal(rest->users.count, 3);
    assert_string_equal(cwi_idmap_text(&rest->users, 0), "4");
    assert_string_equal(cwi_idmap_text(&rest->users, 1), "3");
    assert_string_equal(cwi_idmap_text(&rest->users, 2), "5");
    assert_int_equal(rest->items.count, 1);
    assert_string_equal(cwi_idmap_text(&rest->items, 0), "9");
    assert_int_equal(rest->rows.n_rows, 3);
    assert_int_equal(rest->rows.start[1], 1);
    assert_int_equal(rest->rows.start[2], 3);
    assert_int_equal(rest->rows.start[3], 3); /* user 5 has nothing that is in the dataset */
    assert_string_equal(cw_dataset_item_id(d, rest->rows.value[0]), "0");
    assert_true(rest->rows.value[1] < rest->rows.value[2]);
    cw_dataset_free(d);
    assert_int_equal(prepare(l.ctx, user, item, NULL, 14, &d, "core", "1", NULL), CW_OK);
    assert_int_equal(d->rest.users.count + d->rest.items.count, 0);
    cw_dataset_free(d);
    listener_clear(&l);
}

/* A sample is meant: only the core filter makes a rest. */
static void users_not_drawn_are_no_rest(void **state)
{
    (void)state;
    int64_t user[MANY], item[MANY], n = make_random(user, item);
    listener l;
    cw_dataset *d;
    listener_init(&l);
    assert_int_equal(prepare(l.ctx, user, item, NULL, n, &d, "max-users", "50", "core", "7", NULL),
                     CW_OK);
    assert_int_equal(d->n_users + d->rest.users.count, 50);
    assert_true(d->rest.users.count > 0);
    assert_int_equal(d->rest.rows.n_rows, d->rest.users.count);
    cw_dataset_free(d);
    listener_clear(&l);
}

static void check_partition(const cw_dataset *d, int64_t n)
{
    static uint8_t seen[MANY * 8];
    memset(seen, 0, sizeof seen);
    assert_int_equal(total(d), n);
    for (int p = 0; p < 3; p++)
        for (int64_t k = 0; k < d->part[p].count; k++) {
            int32_t u = d->part[p].user[k], i = d->part[p].item[k];
            assert_true(u >= 0 && u < d->n_users && i >= 0 && i < d->n_items);
            size_t cell = (size_t)u * 40 + (size_t)i;
            assert_false(seen[cell]); /* disjoint */
            seen[cell] = 1;
        }
}

static void check_train_has_everyone(const cw_dataset *d)
{
    int64_t degree[MANY];
    cwi_degrees(d->part[0].user, d->part[0].count, d->n_users, degree);
    for (int32_t u = 0; u < d->n_users; u++) assert_true(degree[u] > 0);
    cwi_degrees(d->part[0].item, d->part[0].count, d->n_items, degree);
    for (int32_t i = 0; i < d->n_items; i++) assert_true(degree[i] > 0);
}

/* First appearance in train gives ids their order. */
static void check_ids_by_appearance(const int32_t *ids, int64_t count)
{
    int32_t next = 0;
    for (int64_t k = 0; k < count; k++) {
        assert_true(ids[k] <= next);
        if (ids[k] == next) next++;
    }
}

static void splits_divide_the_rows(void **state)
{
    (void)state;
    static const char *const ways[] = {"debiased", "compat", "random"};
    int64_t user[MANY], item[MANY];
    int64_t n = make_random(user, item);
    listener l;
    cw_dataset *d;
    listener_init(&l);
    for (size_t w = 0; w < 3; w++) {
        assert_int_equal(
            prepare(l.ctx, user, item, NULL, n, &d, "split", ways[w], "core", "1", NULL), CW_OK);
        check_partition(d, n);
        check_train_has_everyone(d);
        check_ids_by_appearance(d->part[0].user, d->part[0].count);
        check_ids_by_appearance(d->part[0].item, d->part[0].count);
        int64_t held = d->part[1].count + d->part[2].count;
        assert_int_equal(step(d, "held_out"), (json_int_t)rint((double)n * 0.3));
        assert_int_equal(held, step(d, "held_out") - step(d, "moved_back"));
        assert_int_equal(d->part[2].count, (int64_t)rint((double)held * 2 / 3));
        cw_dataset_free(d);
    }
    listener_clear(&l);
}

static void without_moveback_rows_are_dropped(void **state)
{
    (void)state;
    int64_t user[MANY], item[MANY];
    int64_t n = make_random(user, item);
    listener l;
    cw_dataset *d;
    listener_init(&l);
    assert_int_equal(prepare(l.ctx, user, item, NULL, n, &d, "core", "1", "holdout", "0.8",
                             "moveback", "off", NULL),
                     CW_OK);
    assert_int_equal(step(d, "moved_back"), 0);
    assert_true(step(d, "dropped") > 0);
    assert_int_equal(total(d), n - step(d, "dropped"));
    check_train_has_everyone(d);
    cw_dataset_free(d);
    listener_clear(&l);
}

/* The chance of a row to be held out falls in the degree of its item: with weight min(1/d, cap)
 * all items above 1/cap have about the same expected number of held-out rows. */
static void popular_items_are_held_out_less(void **state)
{
    (void)state;
    int64_t user[MANY], item[MANY];
    int64_t n = make_random(user, item);
    double held_first = 0, held_last = 0;
    char seed[8];
    listener l;
    cw_dataset *d;
    listener_init(&l);
    for (int s = 0; s < 30; s++) {
        snprintf(seed, sizeof seed, "%d", s);
        assert_int_equal(prepare(l.ctx, user, item, NULL, n, &d, "core", "1", "seed", seed,
                                 "holdout", "0.2", "cap", "1/20", NULL),
                         CW_OK);
        for (int p = 1; p < 3; p++)
            for (int64_t k = 0; k < d->part[p].count; k++) {
                const char *id = cw_dataset_item_id(d, d->part[p].item[k]);
                held_first += strcmp(id, "0") == 0;
                held_last += strcmp(id, "70") == 0; /* item 10: about a third as popular */
            }
        cw_dataset_free(d);
    }
    assert_true(held_first > 0 && held_last > 0);
    assert_true(fabs(held_first / held_last - 1) < 0.25);
    listener_clear(&l);
}

static void same_seed_same_split_on_any_threads(void **state)
{
    (void)state;
    int64_t user[MANY], item[MANY];
    int64_t n = make_random(user, item);
    listener l;
    cw_dataset *a, *b;
    listener_init(&l);
    assert_int_equal(cw_context_set_threads(l.ctx, 1), CW_OK);
    assert_int_equal(prepare(l.ctx, user, item, NULL, n, &a, "seed", "9", NULL), CW_OK);
    assert_int_equal(cw_context_set_threads(l.ctx, 3), CW_OK);
    assert_int_equal(prepare(l.ctx, user, item, NULL, n, &b, "seed", "9", NULL), CW_OK);
    for (int p = 0; p < 3; p++) {
        assert_int_equal(a->part[p].count, b->part[p].count);
        size_t bytes = (size_t)a->part[p].count * sizeof(int32_t);
        assert_memory_equal(a->part[p].user, b->part[p].user, bytes);
        assert_memory_equal(a->part[p].item, b->part[p].item, bytes);
    }
    cw_dataset_free(b);
    assert_int_equal(prepare(l.ctx, user, item, NULL, n, &b, "seed", "10", NULL), CW_OK);
    assert_memory_not_equal(a->part[1].user, b->part[1].user, 100);
    cw_dataset_free(a);
    cw_dataset_free(b);
    listener_clear(&l);
}

static void max_users_keeps_so_many(void **state)
{
    (void)state;
    static const char *const ways[] = {"debiased", "compat"};
    int64_t user[MANY], item[MANY];
    int64_t n = make_random(user, item);
    listener l;
    cw_dataset *d;
    listener_init(&l);
    for (size_t w = 0; w < 2; w++) {
        assert_int_equal(prepare(l.ctx, user, item, NULL, n, &d, "max-users", "50", "core", "1",
                                 "split", ways[w], NULL),
                         CW_OK);
        assert_int_equal(d->n_users, 50);
        cw_dataset_free(d);
        assert_int_equal(prepare(l.ctx, user, item, NULL, n, &d, "max-users", "5000", "core", "1",
                                 "split", ways[w], NULL),
                         CW_OK);
        assert_int_equal(d->n_users, 200);
        cw_dataset_free(d);
    }
    listener_clear(&l);
}

static const int64_t t_user[] = {1, 1, 1, 2, 2, 2, 3, 3};
static const int64_t t_item[] = {1, 2, 3, 1, 2, 3, 1, 2};
static const double t_time[] = {30, 10, 20, 1, 2, 3, 5, 6};

/* User 1 ends with items 3 then 1, user 2 with 2 then 3; user 3 has too few rows. */
static void leave_last_takes_the_latest_of_each_user(void **state)
{
    (void)state;
    listener l;
    cw_dataset *d;
    listener_init(&l);
    assert_int_equal(prepare(l.ctx, t_user, t_item, t_time, 8, &d, "split", "leave-last", "core",
                             "1", "moveback", "on", NULL),
                     CW_OK);
    /* item 3 has no train row: both its held-out rows went back */
    assert_int_equal(step(d, "moved_back"), 2);
    assert_int_equal(d->part[CW_PART_TEST].count, 1);
    assert_string_equal(cw_dataset_user_id(d, d->part[2].user[0]), "1");
    assert_string_equal(cw_dataset_item_id(d, d->part[2].item[0]), "1");
    assert_int_equal(d->part[CW_PART_VALID].count, 1);
    assert_string_equal(cw_dataset_user_id(d, d->part[1].user[0]), "2");
    assert_string_equal(cw_dataset_item_id(d, d->part[1].item[0]), "2");
    cw_dataset_free(d);
    listener_clear(&l);
}

/* 4 of 8 rows held out: times 6, 10, 20, 30; the two latest are the test. */
static void by_time_takes_the_latest_rows(void **state)
{
    (void)state;
    listener l;
    cw_dataset *d;
    listener_init(&l);
    assert_int_equal(prepare(l.ctx, t_user, t_item, t_time, 8, &d, "split", "by-time", "core", "1",
                             "holdout", "0.5", "test-share", "0.5", "moveback", "off", NULL),
                     CW_OK);
    assert_int_equal(step(d, "held_out"), 4);
    assert_int_equal(d->part[0].count, 4);   /* user 2 and the first row of user 3 */
    assert_int_equal(step(d, "dropped"), 3); /* user 1 is not in train */
    assert_int_equal(d->part[CW_PART_VALID].count, 1);
    assert_string_equal(cw_dataset_user_id(d, d->part[1].user[0]), "3");
    cw_dataset_free(d);
    assert_int_equal(prepare(l.ctx, t_user, t_item, NULL, 8, &d, "split", "by-time", NULL, NULL),
                     CW_BAD_DATA);
    listener_clear(&l);
}

static void given_needs_parts(void **state)
{
    (void)state;
    listener l;
    cw_dataset *d;
    listener_init(&l);
    assert_int_equal(prepare(l.ctx, t_user, t_item, NULL, 8, &d, "split", "given", NULL),
                     CW_BAD_ARG);
    assert_null(d);
    listener_clear(&l);
}

static void one_user_and_one_item_are_enough(void **state)
{
    (void)state;
    const int64_t one[] = {5};
    listener l;
    cw_dataset *d;
    listener_init(&l);
    assert_int_equal(prepare(l.ctx, one, one, NULL, 1, &d, "core", "1", NULL), CW_OK);
    assert_int_equal(d->part[0].count, 1);
    assert_int_equal(total(d), 1);
    cw_dataset_free(d);
    listener_clear(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_core_of_a_path_is_empty),
        cmocka_unit_test(the_core_drops_a_long_tail),
        cmocka_unit_test(the_core_keeps_the_dense_block),
        cmocka_unit_test(what_the_core_drops_is_listed),
        cmocka_unit_test(users_not_drawn_are_no_rest),
        cmocka_unit_test(splits_divide_the_rows),
        cmocka_unit_test(without_moveback_rows_are_dropped),
        cmocka_unit_test(popular_items_are_held_out_less),
        cmocka_unit_test(same_seed_same_split_on_any_threads),
        cmocka_unit_test(max_users_keeps_so_many),
        cmocka_unit_test(leave_last_takes_the_latest_of_each_user),
        cmocka_unit_test(by_time_takes_the_latest_rows),
        cmocka_unit_test(given_needs_parts),
        cmocka_unit_test(one_user_and_one_item_are_enough),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
