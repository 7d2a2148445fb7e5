/* test_grid.c - losses on grids of scores, by hand. */
#include <math.h>

#include "core/options.h"
#include "loss/grid.h"
#include "registry/registry.h"
#include "train_check.h"

enum { MOST = 16 };

/* A grid of one part and what its loss makes of it. */
typedef struct fixture {
    listener l;
    cwi_loss_grid grid;
    float own[MOST], cross[MOST * MOST], mark[MOST], own_slope[MOST], slope[MOST * MOST];
    float room[MOST * MOST * 8];
    double value[2 * MOST], mean;
} fixture;

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    listener_init(&f->l);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    listener_clear(&f->l);
    free(f);
    return 0;
}

/* Take the loss of a square whose diagonal are the observed pairs. */
static void take(fixture *f, const cwi_loss *loss, const char *options, int side,
                 const float *score)
{
    double setting[CWI_LOSS_SETTINGS] = {0};
    cw_options *o;
    char name[32], value[32];
    int length;
    assert_int_equal(cwi_train_options(f->l.ctx, &o), CW_OK);
    for (; sscanf(options, " %31[^= ]=%31s%n", name, value, &length) == 2; options += length)
        assert_int_equal(cwi_options_assign(f->l.ctx, o, name, value), CW_OK);
    if (loss->set) loss->set(o, 0, setting);
    cw_options_free(o);
    memcpy(f->cross, score, (size_t)(side * side) * sizeof *score);
    for (int r = 0; r < side; r++) {
        f->own[r] = score[r * side + r];
        f->cross[r * side + r] = -INFINITY;
    }
    f->grid = (cwi_loss_grid){.rows = side,
                              .side = side,
                              .width = side,
                              .stride = side,
                              .is_square = true,
                              .own = f->own,
                              .cross = f->cross,
                              .mark = f->mark,
                              .own_slope = f->own_slope,
                              .slope = f->slope,
                              .room = f->room,
                              .value = f->value};
    assert_true(cwi_loss_grid_room(&f->grid) <= MOST * MOST * 8);
    assert_true(cwi_loss_grid_values(&f->grid) <= 2 * MOST);
    assert_int_equal(loss->grid(f->l.ctx, setting, &f->grid, &f->mean), CW_OK);
}

static const float none = -INFINITY;

static void softmax_is_over_rows_columns_or_both(void **state)
{
    fixture *f = *state;
    const float s[] = {1, 0, none, 2, 3, -1, 0.5f, 1, 2};
    double rows = (log(1 + exp(0. - 1)) + log(1 + exp(2. - 3) + exp(-1. - 3)) +
                   log(1 + exp(0.5 - 2) + exp(1. - 2))) /
                  3;
    double columns = (log(1 + exp(2. - 1) + exp(0.5 - 1)) + log(1 + exp(0. - 3) + exp(1. - 3)) +
                      log(1 + exp(-1. - 2))) /
                     3;
    take(f, &cwi_loss_cross, "form=rows", 3, s);
    near(f->mean, rows, 1e-6);
    near((double)f->grid.slope[1], exp(-1) / (1 + exp(-1)) / 3, 1e-6);
    near((double)f->grid.slope[2], 0, 0);
    near((double)f->own_slope[0], -exp(-1) / (1 + exp(-1)) / 3, 1e-6);
    take(f, &cwi_loss_cross, "form=columns", 3, s);
    near(f->mean, columns, 1e-6);
    take(f, &cwi_loss_cross, "form=both", 3, s);
    near(f->mean, (rows + columns) / 2, 1e-6);
    take(f, &cwi_loss_sl, "", 3, s);
    near(f->mean, rows, 1e-6);
}

/* Two pairs crossed are CPR's sample of two. */
static void a_square_of_two_is_a_cross_of_cpr(void **state)
{
    fixture *f = *state;
    const float s[] = {0.7f, 1.2f, -0.4f, 0.9f}, row[] = {0.7f, 0.9f, 1.2f, -0.4f};
    float slope[4];
    double expected = cwi_loss_cpr.row(NULL, row, 4, 0, 1, slope);
    take(f, &cwi_loss_cross, "form=logistic", 2, s);
    near(f->mean, expected, 1e-6);
    near((double)f->own_slope[0], (double)slope[0], 1e-6);
    near((double)f->own_slope[1], (double)slope[1], 1e-6);
    near((double)f->grid.slope[1], (double)slope[2], 1e-6);
    near((double)f->grid.slope[2], (double)slope[3], 1e-6);
    take(f, &cwi_loss_cross, "form=lse", 2, s);
    near(f->mean, expected, 1e-6);
}

/* m of rows 0 and 1 is 1, of 0 and 2 is 2, of 1 and 2 is 3: a half of three crosses, rounded up. */
static void the_hardest_of_each_row_count(void **state)
{
    fixture *f = *state;
    const float s[] = {0, -1, -2, -1, 0, -3, -2, -3, 0};
    take(f, &cwi_loss_cross, "form=logistic hardest=0.3", 3, s);
    double one = log1p(exp(-1)), two = log1p(exp(-2));
    near(f->mean, (one + one + two) / 3, 1e-6);
    near((double)f->grid.slope[5], 0, 0); /* rows 1 and 2 meet in nobody's hardest */
    near((double)f->grid.slope[2], 1 / (1 + exp(2)) / 6, 1e-7); /* in that of row 2 alone */
    take(f, &cwi_loss_cross, "form=logistic", 3, s);
    near(f->mean, (one + two + log1p(exp(-3))) / 3, 1e-6);
}

/* Negatives that are drawn e times too often count an e-th; with gamma 1 as they come. */
static void gamma_says_how_much_popularity_stays(void **state)
{
    fixture *f = *state;
    const float s[] = {1, 2, 0, 1};
    f->mark[0] = -0.5f;
    f->mark[1] = 1;
    take(f, &cwi_loss_cross, "form=rows gamma=0", 2, s);
    near(f->mean, (log(1 + exp(2. - 1 - 1)) + log(1 + exp(0. - 1 + 0.5))) / 2, 1e-6);
    take(f, &cwi_loss_cross, "form=rows gamma=0.5", 2, s);
    near(f->mean, (log(1 + exp(2. - 0.5 - 1)) + log(1 + exp(0. - 1 + 0.25))) / 2, 1e-6);
}

static void what_was_observed_teaches_nothing(void **state)
{
    static const char *const forms[] = {"form=both", "form=logistic", "form=lse",
                                        "form=logistic hardest=0.1"};
    fixture *f = *state;
    const float s[] = {3, none, none, -2};
    for (size_t k = 0; k < sizeof forms / sizeof forms[0]; k++) {
        take(f, &cwi_loss_cross, forms[k], 2, s);
        near(f->mean, 0, 0);
        for (int e = 0; e < 4; e++) near((double)f->grid.slope[e], 0, 0);
        near((double)f->own_slope[0], 0, 0);
    }
}

static void a_score_that_is_no_number_shows_in_the_loss(void **state)
{
    static const char *const forms[] = {"form=both", "form=rows", "form=logistic", "form=lse"};
    fixture *f = *state;
    const float s[] = {1, NAN, 0, 2};
    for (size_t k = 0; k < sizeof forms / sizeof forms[0]; k++) {
        take(f, &cwi_loss_cross, forms[k], 2, s);
        assert_true(isnan(f->mean));
    }
    take(f, &cwi_loss_psl, "temperature=0.5", 2, s);
    assert_true(isnan(f->mean));
}

/* -r ln mean e^(-value / r): the row that looks unlikely counts less. */
static void pairs_that_look_unlikely_count_less_in_bsl(void **state)
{
    fixture *f = *state;
    const float s[] = {2, 0, 3, -1};
    double a = log(1 + exp(-2)), b = log(1 + exp(4));
    take(f, &cwi_loss_bsl, "positive-temperature=2", 2, s);
    near(f->mean, -2 * log((exp(-a / 2) + exp(-b / 2)) / 2), 1e-6);
    double weight = exp(-b / 2) / (exp(-a / 2) + exp(-b / 2));
    near((double)f->grid.slope[2], weight * exp(4) / (1 + exp(4)), 1e-6);
    take(f, &cwi_loss_bsl, "positive-temperature=1e6", 2, s);
    near(f->mean, (a + b) / 2, 1e-4);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(softmax_is_over_rows_columns_or_both),
        TEST(a_square_of_two_is_a_cross_of_cpr),
        TEST(the_hardest_of_each_row_count),
        TEST(gamma_says_how_much_popularity_stays),
        TEST(what_was_observed_teaches_nothing),
        TEST(a_score_that_is_no_number_shows_in_the_loss),
        TEST(pairs_that_look_unlikely_count_less_in_bsl),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
