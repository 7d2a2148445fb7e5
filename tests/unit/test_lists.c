/*
 * test_lists.c - lists that a device makes are those of the host: on fibres (simt.lists) and on a
 * GPU (gpu.lists).
 */
#include <math.h>

#include "core/mem.h"
#include "engine/cuda/library.h"
#include "engine/cuda/lists.h"
#include "evaluate/walk.h"
#include "town.h"

typedef struct lists {
    int32_t k, n_dials;
    int32_t *count, *item; /* [rows][dials], [rows][dials][k] */
} lists;

static void copy_list(void *arg, const cwi_list *list)
{
    lists *out = arg;
    int64_t at = (int64_t)list->row * out->n_dials + list->dial;
    out->count[at] = list->count;
    memcpy(out->item + at * out->k, list->item, (size_t)list->count * sizeof *list->item);
}

/* Lists of all users of a town, those of the last first. */
static cw_status walk(const town *t, const cwi_ranker *ranker, lists *out)
{
    static const double dials[] = {0, -0.25, 1000};
    double *log_degree = malloc((size_t)t->n_items * sizeof *log_degree);
    int32_t *users = malloc((size_t)t->n_users * sizeof *users);
    size_t rows = (size_t)t->n_users * (size_t)out->n_dials;
    for (int32_t i = 0; i < t->n_items; i++) log_degree[i] = log(1.0 + (i * 7919) % 97);
    for (int32_t u = 0; u < t->n_users; u++) users[u] = t->n_users - 1 - u;
    out->count = calloc(rows, sizeof *out->count);
    out->item = calloc(rows * (size_t)out->k, sizeof *out->item);
    const cwi_walk w = {.ranker = ranker,
                        .mask = &t->mask,
                        .users = users,
                        .n_users = t->n_users,
                        .k = out->k,
                        .dials = dials,
                        .n_dials = out->n_dials,
                        .log_degree = log_degree,
                        .collect = copy_list,
                        .arg = out};
    cw_status status = cwi_walk_run(t->l.ctx, &w);
    free(log_degree);
    free(users);
    return status;
}

static void free_lists(lists *l)
{
    free(l->count);
    free(l->item);
}

/* The same lists, or the same complaint. */
static void check_ranker(const town *t, cwi_ranker *ranker, int32_t k, int32_t n_dials)
{
    const cwi_cuda_calls *calls;
    char why[CWI_CUDA_TEXT] = "", expected[256] = "";
    cwi_lists *device;
    lists ours = {.k = k, .n_dials = n_dials}, theirs = ours;
    size_t rows = (size_t)t->n_users * (size_t)n_dials;
    cwi_begin(t->l.ctx);
    cw_status status = walk(t, ranker, &theirs);
    snprintf(expected, sizeof expected, "%s", cw_context_error(t->l.ctx));
    cwi_begin(t->l.ctx);
    assert_int_equal(cwi_cuda_load(&calls, why), CW_OK);
    if (cwi_lists_open(t->l.ctx, calls, 0, ranker, &device) != CW_OK)
        fail_msg("%s", cw_context_error(t->l.ctx));
    cwi_lists_serve(device, ranker);
    assert_int_equal(walk(t, ranker, &ours), status);
    assert_string_equal(cw_context_error(t->l.ctx), expected);
    if (status == CW_OK) {
        assert_memory_equal(ours.count, theirs.count, rows * sizeof *ours.count);
        assert_memory_equal(ours.item, theirs.item, rows * (size_t)k * sizeof *ours.item);
    }
    ranker->list = NULL;
    cwi_lists_close(device);
    free_lists(&ours);
    free_lists(&theirs);
}

static void check(number_fn number, int32_t n_users, int32_t n_items, int32_t d, int32_t k,
                  double share)
{
    town t;
    town_init(&t, n_users, n_items, d, number, share);
    check_ranker(&t, &t.ranker, k, 1);
    town_clear(&t);
}

static void lists_are_those_of_the_host(void **state)
{
    (void)state;
    static const number_fn kinds[] = {normal,     of_any_length, spiky,    repeated, equal,
                                      often_zero, whole,         denormal, huge};
    static const int32_t widths[] = {1, 7, 64, 130};
    for (int c = 0; c < 9 * 4; c++)
        check(kinds[c / 4], 131, 300, widths[c % 4], c % 2 ? 20 : 3, c % 3 * 0.1);
}

static void shapes_are_as_they_come(void **state)
{
    (void)state;
    check(normal, 1, 1, 8, 20, 0);
    check(normal, 1, 1, 8, 1, 1);
    check(normal, 5, 19, 33, 20, 0.1);   /* fewer items than places */
    check(normal, 40, 150, 16, 20, 0.9); /* fewer are left */
    check(normal, 9, 150, 16, 20, 1);    /* none is */
    check(normal, 20, 2000, 40, 256, 0.01);
    check(normal, 20, 400, 40, 257, 0.01); /* longer than a device makes them */
    check(normal, 3, 260, 700, 10, 0.01);  /* deeper than blocks have room for */
    check(normal, 300, 129, 16, 1, 0);
    check(normal, 4, 9000, 8, 20, 0.01); /* more groups of items than a warp holds */
    check(whole, 4, 9000, 12, 100, 0.01);
}

/* More items have the score of the last place than a bound may leave. */
static void who_is_not_helped_by_bounds_has_the_same_lists(void **state)
{
    (void)state;
    check(equal, 3, 3000, 8, 20, 0.01);
    check(repeated, 20, 1500, 16, 20, 0.05);
    check(often_zero, 60, 700, 16, 20, 0.05);
    check(whole, 60, 2500, 3, 7, 0.05);
}

static void terms_and_dials_are_added_as_by_the_host(void **state)
{
    (void)state;
    static const number_fn kinds[] = {normal, whole, of_any_length, huge, denormal};
    for (int c = 0; c < 5; c++) {
        town t;
        float term[400];
        town_init(&t, 70, 400, 24, kinds[c], 0.05);
        for (int i = 0; i < 400; i++) term[i] = (float)(i % 13) * (c == 1 ? 1.0f : 0.37f);
        check_ranker(&t, &t.ranker, 10, 3);
        assert_int_equal(cwi_ranker_shift(t.l.ctx, term, &t.ranker), CW_OK);
        check_ranker(&t, &t.ranker, 10, 1);
        check_ranker(&t, &t.ranker, 10, 3);
        cwi_ranker_close(&t.ranker);
        town_clear(&t);
    }
}

static void extremes_are_those_of_the_host(void **state)
{
    (void)state;
    static const float bad[] = {1e18f, 1e30f, -3e38f, INFINITY, -INFINITY, NAN};
    for (int b = 0; b < 6; b++) {
        town t;
        town_init(&t, 140, 200, 12, normal, 0.05);
        t.users[17 * 12 + 3] = bad[b];
        check_ranker(&t, &t.ranker, 8, 1);
        t.users[17 * 12 + 3] = 1;
        t.items[150 * 12 + 5] = bad[b];
        check_ranker(&t, &t.ranker, 8, 1);
        town_clear(&t);
    }
}

/* A product in halves is off by most where every number lies in the middle between two of them. */
static float halfway(cwi_rng *rng, int32_t row, int32_t column)
{
    (void)row;
    float size = 1 + ((float)cwi_rng_below(rng, 1024) + 0.5f) / 1024;
    return column % 2 && cwi_rng_below(rng, 2) ? -size : size;
}

static void the_worst_rounding_is_within_bounds(void **state)
{
    (void)state;
    check(halfway, 200, 900, 96, 20, 0.02);
    check(halfway, 30, 900, 256, 5, 0);
}

/* Items may change under a lister. */
static void renewed_items_are_ranked(void **state)
{
    (void)state;
    const cwi_cuda_calls *calls;
    char why[CWI_CUDA_TEXT];
    town t;
    cwi_lists *device;
    lists ours = {.k = 9, .n_dials = 1}, theirs = ours;
    town_init(&t, 50, 300, 20, normal, 0.05);
    assert_int_equal(cwi_cuda_load(&calls, why), CW_OK);
    assert_int_equal(cwi_lists_open(t.l.ctx, calls, 0, &t.ranker, &device), CW_OK);
    for (int e = 0; e < 300 * 20; e++) t.items[e] = -2 * t.items[e] + (float)(e % 3);
    assert_int_equal(walk(&t, &t.ranker, &theirs), CW_OK);
    assert_int_equal(cwi_lists_renew(t.l.ctx, device, &t.ranker), CW_OK);
    cwi_lists_serve(device, &t.ranker);
    assert_int_equal(walk(&t, &t.ranker, &ours), CW_OK);
    assert_memory_equal(ours.item, theirs.item, 50 * 9 * sizeof *ours.item);
    cwi_lists_close(device);
    free_lists(&ours);
    free_lists(&theirs);
    town_clear(&t);
}

/* No GPU is a reason to skip. */
static void ask_for_gpu(void)
{
    const cwi_cuda_calls *calls;
    char why[CWI_CUDA_TEXT] = "";
    int count = 0;
    if (cwi_cuda_load(&calls, why) == CW_OK && calls->count(&count, why) == CW_OK && count > 0)
        return;
    printf("lists on a GPU were not tried: %s\n", why);
    exit(77);
}

/* All tests, or those of a pattern. */
int main(int argc, char **argv)
{
    ask_for_gpu();
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lists_are_those_of_the_host),
        cmocka_unit_test(shapes_are_as_they_come),
        cmocka_unit_test(who_is_not_helped_by_bounds_has_the_same_lists),
        cmocka_unit_test(terms_and_dials_are_added_as_by_the_host),
        cmocka_unit_test(extremes_are_those_of_the_host),
        cmocka_unit_test(the_worst_rounding_is_within_bounds),
        cmocka_unit_test(renewed_items_are_ranked),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
