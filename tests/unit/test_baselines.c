/* test_baselines.c - ease, itemknn and ials: their formulas by hand, and what they refuse. */
#include <math.h>

#include "backend/tiles.h"
#include "core/rng.h"
#include "registry/registry.h"
#include "score/itemitem.h"
#include "testing.h"

/* Four users and four items; nobody has met item 3 with item 1. */
enum { USERS = 4, ITEMS = 4, ROWS = 9 };
static const int32_t user_of[ROWS] = {0, 0, 0, 1, 1, 2, 2, 3, 3},
                     item_of[ROWS] = {0, 1, 2, 0, 1, 0, 2, 2, 3};

typedef struct fixture {
    listener l;
    cw_options *options;
    cwi_csr train;
    cwi_shape shape;
    cwi_params params;
} fixture;

static void set(fixture *f, const char *name, const char *value)
{
    assert_int_equal(cwi_options_assign(f->l.ctx, f->options, name, value), CW_OK);
}

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    listener_init(&f->l);
    assert_int_equal(cwi_train_options(f->l.ctx, &f->options), CW_OK);
    assert_int_equal(cwi_csr_create(f->l.ctx, user_of, item_of, ROWS, USERS, &f->train), CW_OK);
    f->shape = (cwi_shape){USERS, ITEMS, &f->train, 1, 1};
    set(f, "similarity", "cosine");
    set(f, "shrink", "0");
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    cwi_params_clear(&f->params);
    cwi_csr_clear(&f->train);
    cw_options_free(f->options);
    listener_clear(&f->l);
    free(f);
    return 0;
}

static void near(double got, double expected, double tolerance)
{
    if (!(fabs(got - expected) <= tolerance)) fail_msg("%.9g is not %.9g", got, expected);
}

static void make(fixture *f, const cwi_backbone *backbone)
{
    cwi_params_clear(&f->params);
    if (backbone->declare(f->l.ctx, &f->shape, f->options, &f->params) != CW_OK ||
        (backbone->fill && backbone->fill(f->l.ctx, &f->shape, f->options, &f->params) != CW_OK))
        fail_msg("%s", cw_context_error(f->l.ctx));
}

/* ---- tiles ------------------------------------------------------------------------ */

/* More than two tiles, the last one not filled. */
enum { SIDE = 2 * CWI_DOUBLE_TILE + 37 };

static void fill_tiles(cwi_tiles *t, double ridge)
{
    cwi_rng rng;
    cwi_rng_init(&rng, 3, CWI_RNG_TEST, 0);
    for (int r = 0; r < SIDE; r++)
        for (int c = r; c < SIDE; c++)
            *cwi_tiles_entry(t, r, c) = cwi_rng_normal(&rng) + (r == c ? ridge : 0);
}

static double entry(const cwi_tiles *t, int r, int c)
{
    return r < c ? *cwi_tiles_entry(t, r, c) : *cwi_tiles_entry(t, c, r);
}

static void an_inverse_is_one(void **state)
{
    fixture *f = *state;
    cwi_tiles a, p;
    bool is_definite;
    assert_int_equal(cwi_tiles_create(f->l.ctx, SIDE, &a), CW_OK);
    assert_int_equal(cwi_tiles_create(f->l.ctx, SIDE, &p), CW_OK);
    fill_tiles(&a, 60);
    fill_tiles(&p, 60);
    assert_int_equal(cwi_tiles_invert(f->l.ctx, "", &p, &is_definite), CW_OK);
    assert_true(is_definite);
    for (int r = 0; r < SIDE; r += 13)
        for (int c = 0; c < SIDE; c++) {
            double sum = 0;
            for (int k = 0; k < SIDE; k++) sum += entry(&a, r, k) * entry(&p, k, c);
            near(sum, r == c, 1e-12);
        }
    cwi_tiles_clear(&a);
    cwi_tiles_clear(&p);
}

static void it_has_the_same_bits_everywhere(void **state)
{
    fixture *f = *state;
    static const char *const tables[] = {"ref", "avx2", "avx512", "neon", "auto"};
    cwi_tiles first = {0};
    bool is_definite;
    for (size_t k = 0; k < 2 * sizeof tables / sizeof tables[0]; k++) {
        cwi_tiles t;
        cwi_begin(f->l.ctx);
        if (cw_use_isa(f->l.ctx, tables[k / 2]) != CW_OK) continue;
        assert_int_equal(cw_context_set_threads(f->l.ctx, k % 2 ? 3 : 1), CW_OK);
        assert_int_equal(cwi_tiles_create(f->l.ctx, SIDE, &t), CW_OK);
        fill_tiles(&t, 60);
        assert_int_equal(cwi_tiles_invert(f->l.ctx, "", &t, &is_definite), CW_OK);
        if (!first.data) {
            first = t;
            continue;
        }
        assert_memory_equal(t.data, first.data, (size_t)cwi_tiles_bytes(SIDE));
        cwi_tiles_clear(&t);
    }
    cwi_tiles_clear(&first);
}

static void what_is_not_definite_has_none(void **state)
{
    fixture *f = *state;
    cwi_tiles t;
    bool is_definite;
    assert_int_equal(cwi_tiles_create(f->l.ctx, SIDE, &t), CW_OK);
    fill_tiles(&t, 1);
    assert_int_equal(cwi_tiles_invert(f->l.ctx, "", &t, &is_definite), CW_OK);
    assert_false(is_definite);
    cwi_tiles_clear(&t);
}

/* ---- ease ------------------------------------------------------------------------- */

/* X^T X + I = [4 2 2 0; 2 3 1 0; 2 1 4 1; 0 0 1 2], whose inverse is made by Gauss and Jordan. */
static void invert_plainly(double a[ITEMS][2 * ITEMS])
{
    for (int p = 0; p < ITEMS; p++)
        for (int r = 0; r < ITEMS; r++) {
            double scale = r == p ? 1 - 1 / a[p][p] : a[r][p] / a[p][p];
            for (int c = 2 * ITEMS - 1; c >= 0; c--)
                if (r != p || c != p) a[r][c] -= scale * a[p][c];
            a[r][p] = r == p;
        }
}

static void ease_is_its_closed_form(void **state)
{
    fixture *f = *state;
    double a[ITEMS][2 * ITEMS] = {
        {4, 2, 2, 0, 1}, {2, 3, 1, 0, 0, 1}, {2, 1, 4, 1, 0, 0, 1}, {0, 0, 1, 2, 0, 0, 0, 1}};
    set(f, "reg", "1");
    make(f, &cwi_backbone_ease);
    invert_plainly(a);
    for (int i = 0; i < ITEMS; i++)
        for (int j = 0; j < ITEMS; j++)
            near((double)f->params.tensor[0].data[i * ITEMS + j],
                 i == j ? 0 : -a[i][ITEMS + j] / a[j][ITEMS + j], 1e-7);
}

static void scores_are_sums_over_what_one_has(void **state)
{
    fixture *f = *state;
    cwi_ranker ranker;
    float all[USERS * ITEMS], folded[ITEMS];
    static const int32_t users[USERS] = {0, 1, 2, 3}, history[] = {0, 2};
    set(f, "reg", "1");
    make(f, &cwi_backbone_ease);
    assert_int_equal(cwi_backbone_ease.rank(f->l.ctx, &f->shape, f->options, &f->params, &ranker),
                     CW_OK);
    ranker.score(&ranker, users, USERS, all);
    const float *b = f->params.tensor[0].data;
    for (int j = 0; j < ITEMS; j++)
        near((double)all[j], (double)b[j] + (double)b[ITEMS + j] + (double)b[2 * ITEMS + j], 1e-7);
    assert_int_equal(ranker.fold_in(f->l.ctx, &ranker, history, 2, folded), CW_OK);
    assert_memory_equal(folded, all + 2 * ITEMS, sizeof folded); /* who has just these */
    cwi_ranker_close(&ranker);
}

static void a_pair_that_comes_twice_counts_once(void **state)
{
    fixture *f = *state;
    static const int32_t users[] = {0, 0, 0, 0, 1, 1, 1, 2, 2, 3, 3};
    static const int32_t items[] = {0, 1, 1, 2, 0, 0, 1, 0, 2, 2, 3};
    static const cwi_backbone *const backbones[] = {&cwi_backbone_ease, &cwi_backbone_itemknn};
    set(f, "reg", "1");
    for (int k = 0; k < 2; k++) {
        float once[ITEMS * ITEMS];
        cwi_csr twice, kept = f->train;
        make(f, backbones[k]);
        size_t bytes = cwi_tensor_bytes(&f->params.tensor[0]);
        memcpy(once, f->params.tensor[0].data, bytes);
        assert_int_equal(cwi_csr_create(f->l.ctx, users, items, 11, USERS, &twice), CW_OK);
        f->train = twice;
        make(f, backbones[k]);
        assert_memory_equal(once, f->params.tensor[0].data, bytes);
        cwi_csr_clear(&twice);
        f->train = kept;
    }
}

static void ease_says_what_it_cannot_do(void **state)
{
    fixture *f = *state;
    char expected[200];
    cwi_shape large = f->shape;
    large.n_items = 2000000;
    assert_int_equal(cwi_backbone_ease.declare(f->l.ctx, &large, f->options, &f->params),
                     CW_NO_MEMORY);
    snprintf(expected, sizeof expected, "method ease needs %.0f bytes for matrices of 2000000 x ",
             cwi_tiles_bytes(2000000) + 4.0 * 2e6 * 2e6);
    assert_memory_equal(cw_context_error(f->l.ctx), expected, strlen(expected));
    cwi_begin(f->l.ctx);
    static const int32_t zeros[] = {0}, all[] = {0, 1, 2, 3}; /* one user alone: rank 1 */
    cwi_csr_clear(&f->train);
    int32_t owner[] = {zeros[0], 0, 0, 0};
    assert_int_equal(cwi_csr_create(f->l.ctx, owner, all, 4, USERS, &f->train), CW_OK);
    set(f, "reg", "0");
    assert_int_equal(cwi_backbone_ease.declare(f->l.ctx, &f->shape, f->options, &f->params), CW_OK);
    assert_int_equal(cwi_backbone_ease.fill(f->l.ctx, &f->shape, f->options, &f->params),
                     CW_BAD_DATA);
    assert_string_equal(cw_context_error(f->l.ctx),
                        "--reg is '0'; the equations of method ease have no solution with it, a "
                        "larger one gives them one");
}

/* ---- itemknn ---------------------------------------------------------------------- */

static void expect_row(const fixture *f, int item, const double *neighbours,
                       const double *similarities)
{
    const cwi_tensor *ids = &f->params.tensor[0], *values = &f->params.tensor[1];
    for (int64_t k = 0; k < ids->columns; k++) {
        near((double)ids->data[item * ids->columns + k], neighbours[k], 0);
        near((double)values->data[item * ids->columns + k], similarities[k], 1e-7);
    }
}

/* Rows of items 0 .. 3 are 3, 2, 3, 1; those of users 3, 2, 2, 2. */
static void neighbours_are_those_with_the_same_users(void **state)
{
    fixture *f = *state;
    make(f, &cwi_backbone_itemknn);
    assert_int_equal(f->params.tensor[0].columns, ITEMS - 1); /* there are no more */
    expect_row(f, 0, (double[]){1, 2, -1}, (double[]){2 / sqrt(6), 2.0 / 3, 0});
    expect_row(f, 2, (double[]){0, 3, 1}, (double[]){2.0 / 3, 1 / sqrt(3), 1 / sqrt(6)});
    expect_row(f, 3, (double[]){2, -1, -1}, (double[]){1 / sqrt(3), 0, 0});
    set(f, "neighbours", "1");
    set(f, "shrink", "2");
    make(f, &cwi_backbone_itemknn);
    expect_row(f, 0, (double[]){1}, (double[]){2 / sqrt(6) / 2}); /* of two common users */
    expect_row(f, 3, (double[]){2}, (double[]){1 / sqrt(3) / 3});
}

static void equal_neighbours_come_by_their_numbers(void **state)
{
    fixture *f = *state;
    static const int32_t users[] = {0, 0, 0, 0}, items[] = {0, 1, 2, 3};
    cwi_csr_clear(&f->train);
    assert_int_equal(cwi_csr_create(f->l.ctx, users, items, 4, USERS, &f->train), CW_OK);
    set(f, "neighbours", "2");
    make(f, &cwi_backbone_itemknn);
    expect_row(f, 0, (double[]){1, 2}, (double[]){1, 1});
    expect_row(f, 1, (double[]){0, 2}, (double[]){1, 1});
    expect_row(f, 3, (double[]){0, 1}, (double[]){1, 1});
}

static void users_with_few_items_tell_more(void **state)
{
    fixture *f = *state;
    double two = log(4) - log(3), three = 0; /* ln 4 - ln 4: who has three of four says nothing */
    set(f, "similarity", "tfidf");
    make(f, &cwi_backbone_itemknn);
    /* items 0 and 1 share users 0 and 1, of weights `three` and `two` */
    expect_row(f, 1, (double[]){0, -1, -1}, (double[]){two * two / (two * sqrt(2) * two), 0, 0});
    set(f, "similarity", "bm25");
    make(f, &cwi_backbone_itemknn);
    double factor[] = {2.2 / (1 + 1.2 * (0.25 + 0.75 * 3 / 2.25)),
                       2.2 / (1 + 1.2 * (0.25 + 0.75 * 2 / 2.25))};
    expect_row(f, 1, (double[]){0, -1, -1},
               (double[]){factor[0] * factor[1] * (two * two + three), 0, 0});
}

static void neighbours_of_a_file_must_be_items(void **state)
{
    fixture *f = *state;
    cwi_ranker ranker;
    static const float bad[] = {4, 0.5f, -2, NAN, 1e10f};
    make(f, &cwi_backbone_itemknn);
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        f->params.tensor[0].data[3] = bad[k];
        cwi_begin(f->l.ctx);
        assert_int_equal(
            cwi_backbone_itemknn.rank(f->l.ctx, &f->shape, f->options, &f->params, &ranker),
            CW_BAD_DATA);
        assert_non_null(strstr(cw_context_error(f->l.ctx), "for item 1, which is no item"));
    }
}

/* ---- ials ------------------------------------------------------------------------- */

enum { D = 3 };

static void open_als(fixture *f, void **opened)
{
    cwi_rng rng;
    set(f, "dim", "3");
    set(f, "reg", "0.05");
    set(f, "unseen-weight", "0.3");
    set(f, "reg-power", "0.5");
    set(f, "cg-steps", "10");
    make(f, &cwi_backbone_als);
    cwi_rng_init(&rng, 1, CWI_RNG_TEST, 0);
    for (int k = 0; k < (USERS + ITEMS) * D; k++)
        f->params.tensor[0].data[k] = (float)cwi_rng_normal(&rng);
    assert_int_equal(cwi_backbone_als.open(f->l.ctx, &f->shape, f->options, &f->params, 0, opened),
                     CW_OK);
}

static double product(const fixture *f, int u, int i)
{
    const float *x = f->params.tensor[0].data + u * D,
                *y = f->params.tensor[0].data + (USERS + i) * D;
    double sum = 0;
    for (int k = 0; k < D; k++) sum += (double)x[k] * (double)y[k];
    return sum;
}

static double weight_of(double rows, double others)
{
    return 0.05 * sqrt(rows + 0.3 * others);
}

static double square_of(const float *x)
{
    double sum = 0;
    for (int k = 0; k < D; k++) sum += (double)x[k] * (double)x[k];
    return sum;
}

/* The loss as the paper writes it, and its L2 terms, over the rows of train. */
static double plain_loss(const fixture *f, double *reg)
{
    double loss = 0, degree[ITEMS] = {0};
    const float *table = f->params.tensor[0].data;
    *reg = 0;
    for (int k = 0; k < ROWS; k++) {
        loss += pow(1 - product(f, user_of[k], item_of[k]), 2);
        degree[item_of[k]]++;
    }
    for (int u = 0; u < USERS; u++) {
        for (int i = 0; i < ITEMS; i++) loss += 0.3 * pow(product(f, u, i), 2);
        double rows = (double)(f->train.start[u + 1] - f->train.start[u]);
        *reg += weight_of(rows, ITEMS) * square_of(table + u * D);
    }
    for (int i = 0; i < ITEMS; i++)
        *reg += weight_of(degree[i], USERS) * square_of(table + (USERS + i) * D);
    *reg /= ROWS;
    return loss / ROWS;
}

static void a_sweep_lowers_the_loss_that_it_tells(void **state)
{
    fixture *f = *state;
    void *opened;
    double loss, reg, before = INFINITY;
    open_als(f, &opened);
    for (int sweep = 0; sweep < 30; sweep++) {
        double expected_reg, expected;
        assert_int_equal(cwi_backbone_als.sweep(f->l.ctx, opened, &loss, &reg), CW_OK);
        expected = plain_loss(f, &expected_reg);
        near(loss, expected, 1e-5);
        near(reg, expected_reg, 1e-6);
        assert_true(loss + reg < before + 1e-6);
        before = loss + reg;
    }
    cwi_backbone_als.close(opened);
}

/* Where sweeps change nothing any more no entry of the table can be moved for the better, and the
 * vector of a user is what their items give a newcomer. */
static void sweeps_end_at_a_minimum(void **state)
{
    fixture *f = *state;
    void *opened;
    cwi_ranker ranker;
    double loss, reg, scores_reg;
    float folded[ITEMS];
    open_als(f, &opened);
    for (int sweep = 0; sweep < 400; sweep++)
        assert_int_equal(cwi_backbone_als.sweep(f->l.ctx, opened, &loss, &reg), CW_OK);
    float *table = f->params.tensor[0].data;
    for (int k = 0; k < (USERS + ITEMS) * D; k++)
        for (int side = -1; side <= 1; side += 2) {
            float kept = table[k];
            table[k] = kept + (float)side * 0.02f;
            assert_true(plain_loss(f, &scores_reg) + scores_reg > loss + reg);
            table[k] = kept;
        }
    assert_int_equal(cwi_backbone_als.rank(f->l.ctx, &f->shape, f->options, &f->params, &ranker),
                     CW_OK);
    assert_int_equal(ranker.fold_in(f->l.ctx, &ranker, item_of, 3, folded), CW_OK);
    for (int i = 0; i < ITEMS; i++) near((double)folded[i], product(f, 0, i), 1e-3);
    cwi_ranker_close(&ranker);
    cwi_backbone_als.close(opened);
}

static void who_has_nothing_has_no_vector(void **state)
{
    fixture *f = *state;
    void *opened;
    double loss, reg;
    f->train.start[USERS] = f->train.start[USERS - 1]; /* of the last user */
    open_als(f, &opened);
    assert_int_equal(cwi_backbone_als.sweep(f->l.ctx, opened, &loss, &reg), CW_OK);
    assert_true(square_of(f->params.tensor[0].data + (USERS - 1) * D) == 0);
    assert_true(square_of(f->params.tensor[0].data + (USERS + 3) * D) == 0); /* their item */
    assert_true(isfinite(loss) && isfinite(reg));
    cwi_backbone_als.close(opened);
}

static void ials_refuses_what_it_would_ignore(void **state)
{
    fixture *f = *state;
    static const char *const bad[][3] = {
        {"reg-kind", "batch", "--reg-kind is 'batch'; method ials has no batches"},
        {"engine", "ref",
         "--engine is 'ref'; method ials solves equations, which engine ref does not"},
        {"shrink", "3", "--shrink is '3'; method ials on als does not take it, itemknn does"},
    };
    for (size_t k = 0; k < sizeof bad / sizeof bad[0]; k++) {
        const cwi_method *method;
        const cwi_backbone *backbone;
        cw_options *given, *settled;
        assert_int_equal(cw_options_create(f->l.ctx, "train", &given), CW_OK);
        assert_int_equal(cw_options_set(f->l.ctx, given, "method", "ials"), CW_OK);
        assert_int_equal(cw_options_set(f->l.ctx, given, bad[k][0], bad[k][1]), CW_OK);
        assert_int_equal(cwi_train_settle(f->l.ctx, given, NULL, &settled, &method, &backbone),
                         CW_BAD_ARG);
        assert_string_equal(cw_context_error(f->l.ctx), bad[k][2]);
        cw_options_free(given);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(an_inverse_is_one),
        TEST(it_has_the_same_bits_everywhere),
        TEST(what_is_not_definite_has_none),
        TEST(ease_is_its_closed_form),
        TEST(scores_are_sums_over_what_one_has),
        TEST(a_pair_that_comes_twice_counts_once),
        TEST(ease_says_what_it_cannot_do),
        TEST(neighbours_are_those_with_the_same_users),
        TEST(equal_neighbours_come_by_their_numbers),
        TEST(users_with_few_items_tell_more),
        TEST(neighbours_of_a_file_must_be_items),
        TEST(a_sweep_lowers_the_loss_that_it_tells),
        TEST(sweeps_end_at_a_minimum),
        TEST(who_has_nothing_has_no_vector),
        TEST(ials_refuses_what_it_would_ignore),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
