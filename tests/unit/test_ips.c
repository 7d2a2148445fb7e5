/* test_ips.c - propensities, UBPR, Rel-MF and the pointwise methods against worked-out values. */
#include <math.h>

#include "core/mem.h"
#include "loss/loss.h"
#include "prepare/propensity.h"
#include "registry/registry.h"
#include "sample/sampler.h"
#include "train_check.h"

enum { N_USERS = 4, N_ITEMS = 5, N_ROWS = 5, BATCH = 2000 };

/* The interactions of spec 9.1, and an item that nobody has. */
static const int32_t user9[N_ROWS] = {0, 1, 2, 3, 3}, item9[N_ROWS] = {0, 1, 2, 3, 0};

typedef struct fixture {
    listener l;
    cw_options *options;
    cwi_training training;
    const cwi_sampler *sampler; /* the one that is open */
    void *state;
    cwi_batch batch;
} fixture;

static void set(fixture *f, const char *name, const char *value)
{
    assert_int_equal(cwi_options_assign(f->l.ctx, f->options, name, value), CW_OK);
}

static int set_up(void **state)
{
    fixture *f = calloc(1, sizeof *f);
    cwi_pairs pairs = {.count = N_ROWS, .user = (int32_t *)user9, .item = (int32_t *)item9};
    listener_init(&f->l);
    assert_int_equal(cwi_train_options(f->l.ctx, &f->options), CW_OK);
    set(f, "batch", "2000");
    assert_int_equal(cwi_training_create(f->l.ctx, N_USERS, N_ITEMS, &pairs, &f->training), CW_OK);
    f->training.propensity = cwi_alloc(f->l.ctx, N_ITEMS, sizeof(double));
    cwi_propensity_fill(f->training.degree, N_ITEMS, 0.5, f->training.propensity);
    *state = f;
    return 0;
}

static void close_sampler(fixture *f)
{
    if (f->sampler) cwi_sampler_close(f->sampler, f->state);
    cwi_batch_clear(&f->batch);
    f->sampler = NULL;
}

static int tear_down(void **state)
{
    fixture *f = *state;
    close_sampler(f);
    cwi_training_clear(&f->training);
    cw_options_free(f->options);
    listener_clear(&f->l);
    free(f);
    return 0;
}

static void open_sampler(fixture *f, const cwi_sampler *sampler)
{
    int64_t max_slots;
    close_sampler(f);
    assert_int_equal(
        cwi_sampler_open(f->l.ctx, sampler, &f->training, f->options, &max_slots, &f->state),
        CW_OK);
    f->sampler = sampler;
    assert_int_equal(cwi_batch_create(f->l.ctx, max_slots, &f->batch), CW_OK);
}

static void draw(fixture *f, uint64_t step, cwi_draws *draws)
{
    assert_int_equal(
        cwi_sampler_draw(f->l.ctx, f->sampler, f->state, &(cwi_moment){0, step}, &f->batch, draws),
        CW_OK);
}

/* ---- propensities ------------------------------------------------------------ */

static void propensities_are_powers_of_popularity(void **state)
{
    (void)state;
    static const int64_t degree[] = {8, 4, 2, 1, 0};
    static const double half[] = {1, 0.7071067812, 0.5, 0.3535533906, 0};
    double p[5];
    cwi_propensity_fill(degree, 5, 0.5, p);
    for (int i = 0; i < 5; i++) near(p[i], half[i], 1e-10);
    cwi_propensity_fill(degree, 5, 0, p);
    for (int i = 0; i < 5; i++) near(p[i], 1, 0);
}

/* ---- losses of the specification (9.5) ----------------------------------------- */

static void ubpr_values(void **state)
{
    fixture *f = *state;
    static const double p[] = {1, 0.7071067812, 0.5, 0.3535533906};
    static const float score[] = {0.11f, 0.01f, 0.15f, 0.02f, 0.15f, 0.17f, 0.17f, -0.14f};
    const double weight[] = {1 / p[1], (1 - 1 / p[0]) / p[3], 1 / p[3], (1 - 1 / p[3]) / p[1]};
    static const double x9[] = {0.1, 0.13, -0.02, 0.31};
    static const double weight9[] = {1.414213562, 0, 2.828427125, -2.585786438};
    static const double value9[] = {0.9113144962, 0, 1.988941977, -1.422471855};
    static const struct {
        const char *clip;
        double last; /* value of the last sample */
        bool has_slope;
    } cases[] = {{"0", 0, false}, {"-0.1", -0.1, false}, {"-2", -1.422471855, true}};
    for (size_t c = 0; c < 3; c++) {
        double setting[CWI_LOSS_SETTINGS], sum = 0;
        set(f, "clip", cases[c].clip);
        cwi_loss_ubpr.set(f->options, 0, setting);
        for (int r = 0; r < 4; r++) {
            float mark = (float)weight[r], slope[2];
            const cwi_loss_rows row = {
                .score = score + 2 * r, .mark = &mark, .count = 1, .width = 2};
            double value = cwi_loss_ubpr.rows(setting, &row, 1, slope);
            bool clipped = r == 3 && !cases[c].has_slope;
            near(weight[r], weight9[r], 1e-8);
            near(value, r == 3 ? cases[c].last : value9[r], 1e-6);
            near((double)slope[0], clipped ? 0 : -weight9[r] / (1 + exp(x9[r])), 1e-6);
            near((double)slope[1], -(double)slope[0], 0);
            sum += value;
        }
        if (c == 0) near(sum / 4, 0.7250641184, 1e-6);
    }
}

/* Huge weights are cut, too. */
static void ubpr_values_have_an_upper_bound(void **state)
{
    fixture *f = *state;
    double setting[CWI_LOSS_SETTINGS];
    const float score[] = {0, 0}, mark = 1e7f;
    float slope[2] = {1, 1};
    const cwi_loss_rows row = {.score = score, .mark = &mark, .count = 1, .width = 2};
    cwi_loss_ubpr.set(f->options, 0, setting);
    near(cwi_loss_ubpr.rows(setting, &row, 1, slope), 1e6, 0);
    near((double)slope[0], 0, 0);
    near((double)slope[1], 0, 0);
}

static void relmf_values(void **state)
{
    fixture *f = *state;
    static const float score[] = {0.11f, 0.15f, -0.2f, 0.0f};
    static const float mark[] = {1 / 0.7071067812f, 1 / 0.5f, 0, 0};
    static const double value9[] = {0.2005236211, 0.1391114573, 0.20264943, 0.25};
    static const double slope9[] = {-0.442032133, -0.7271869753, 0.2228470923, 0.25};
    double setting[CWI_LOSS_SETTINGS];
    float slope[4];
    cwi_loss_relmf.set(f->options, 0, setting);
    const cwi_loss_rows all = {.score = score, .mark = mark, .count = 4, .width = 1};
    near(cwi_loss_relmf.rows(setting, &all, 1, slope) / 4, 0.1980711271, 1e-7);
    for (int r = 0; r < 4; r++) {
        float unused;
        const cwi_loss_rows row = {.score = score + r, .mark = mark + r, .count = 1, .width = 1};
        near((double)slope[r], slope9[r], 1e-7);
        near(cwi_loss_relmf.rows(setting, &row, 1, &unused), value9[r], 1e-7);
    }
}

/* Worked out by hand at s = ln 3, where the sigmoid is 3/4. */
static void pointwise_values(void **state)
{
    fixture *f = *state;
    double w[CWI_LOSS_SETTINGS];
    const float score[] = {(float)log(3), (float)log(3)}, mark[] = {1, 0};
    const cwi_loss_rows liked = {.score = score, .mark = mark, .count = 1, .width = 1};
    const cwi_loss_rows other = {.score = score + 1, .mark = mark + 1, .count = 1, .width = 1};
    const cwi_loss_rows both = {.score = score, .mark = mark, .count = 2, .width = 1};
    float slope;
    set(f, "wmf-weight", "0.5");
    cwi_loss_wmf.set(f->options, 0, w);
    near(cwi_loss_bce.rows(NULL, &liked, 1, &slope), log(4.0 / 3), 1e-7);
    near((double)slope, -0.25, 1e-7);
    near(cwi_loss_bce.rows(NULL, &other, 1, &slope), log(4), 1e-7);
    near((double)slope, 0.75, 1e-7);
    near(cwi_loss_mse.rows(NULL, &liked, 1, &slope), (1 - log(3)) * (1 - log(3)), 1e-7);
    near((double)slope, 2 * (log(3) - 1), 1e-6);
    near(cwi_loss_mse.rows(NULL, &other, 1, &slope), log(3) * log(3), 1e-6);
    near(cwi_loss_wmf.rows(w, &liked, 1, &slope), 1.0 / 16, 1e-7);
    near(cwi_loss_wmf.rows(w, &other, 2, &slope), 9.0 / 32, 1e-7);
    near((double)slope, 2 * 0.75 * 0.75 * 0.25, 1e-7); /* scale 2, weight a half */
    near(cwi_loss_wmf.mass(w, &both), 1.5, 0);
}

/* ---- samplers ------------------------------------------------------------------ */

/* Chi-square of counts that should be equal in the first n cells. */
static double chi_square(const int64_t *count, int n)
{
    double total = 0, chi = 0;
    for (int k = 0; k < n; k++) total += (double)count[k];
    for (int k = 0; k < n; k++) chi += pow((double)count[k] - total / n, 2) / (total / n);
    return chi;
}

static int row_of(int32_t user, int32_t item)
{
    for (int e = 0; e < N_ROWS; e++)
        if (user9[e] == user && item9[e] == item) return e;
    return -1;
}

/* Positives are uniform over 5 rows, the other over 5 items; both chi-squares have 4 degrees of
 * freedom: above 28 has probability 1.2e-5. */
static void ubpr_draws_any_item_and_marks_weights(void **state)
{
    fixture *f = *state;
    int64_t positive[N_ROWS] = {0}, other[N_ITEMS] = {0};
    int seen = 0;
    const double *p = f->training.propensity;
    near(p[4], 0, 0);
    open_sampler(f, &cwi_sampler_ubpr);
    for (uint64_t step = 0; step < 5; step++) {
        cwi_draws draws = {0};
        draw(f, step, &draws);
        assert_int_equal(f->batch.group[0].rows, BATCH);
        assert_int_equal(cwi_batch_rows(&f->batch), BATCH);
        for (int64_t r = 0; r < BATCH; r++) {
            const int32_t *u = f->batch.user + 2 * r, *i = f->batch.item + 2 * r;
            double y = row_of(u[1], i[1]) >= 0;
            assert_int_equal(u[0], u[1]);
            positive[row_of(u[0], i[0])]++;
            other[i[1]]++;
            seen += y > 0;
            near((double)f->batch.mark[r], 1 / p[i[0]] * (y > 0 ? 1 - y / p[i[1]] : 1), 1e-6);
        }
    }
    assert_true(seen > 0);
    assert_true(chi_square(positive, N_ROWS) < 28);
    assert_true(chi_square(other, N_ITEMS) < 28);
}

/* 15 of 20 pairs were not observed: 14 degrees of freedom, above 47 has probability 2e-5. */
static void unlabelled_pairs_are_uniform(void **state)
{
    fixture *f = *state;
    int64_t positive[N_ROWS] = {0}, count[N_USERS * N_ITEMS] = {0};
    int cells = 0;
    open_sampler(f, &cwi_sampler_pointwise);
    for (uint64_t step = 0; step < 10; step++) {
        cwi_draws draws = {0};
        draw(f, step, &draws);
        assert_int_equal(f->batch.group[0].rows, BATCH);
        assert_int_equal(f->batch.group[0].slots, 1);
        assert_int_equal(draws.accepted[0], BATCH / 2);
        for (int64_t r = 0; r < BATCH; r++) {
            int row = row_of(f->batch.user[r], f->batch.item[r]);
            near((double)f->batch.mark[r], row >= 0, 0);
            assert_int_equal(row >= 0, r % 2 == 0);
            if (row >= 0)
                positive[row]++;
            else
                count[f->batch.user[r] * N_ITEMS + f->batch.item[r]]++;
        }
    }
    for (int k = 0; k < N_USERS * N_ITEMS; k++)
        if (count[k] > 0) count[cells++] = count[k];
    assert_int_equal(cells, N_USERS * N_ITEMS - N_ROWS);
    assert_true(chi_square(count, cells) < 47);
    assert_true(chi_square(positive, N_ROWS) < 28);
}

static void negatives_may_be_of_the_same_user(void **state)
{
    fixture *f = *state;
    cwi_draws draws = {0};
    set(f, "negatives", "user");
    open_sampler(f, &cwi_sampler_pointwise);
    draw(f, 0, &draws);
    for (int64_t r = 0; r < BATCH; r += 2) {
        assert_int_equal(f->batch.user[r], f->batch.user[r + 1]);
        assert_true(row_of(f->batch.user[r + 1], f->batch.item[r + 1]) < 0);
    }
}

/* Item 2 has one row, the most popular two: its propensity, 0.71, is below the least allowed. */
static void labels_are_divided_by_propensities(void **state)
{
    fixture *f = *state;
    cwi_draws draws = {0};
    set(f, "propensity-min", "0.8");
    open_sampler(f, &cwi_sampler_weighted);
    draw(f, 0, &draws);
    for (int64_t r = 0; r < BATCH; r++) {
        double least = f->batch.item[r] == 0 ? 1 : 1.25;
        near((double)f->batch.mark[r], r % 2 == 0 ? least : 0, 1e-6);
    }
}

/* User 0 has everything, so that there are positives and never an unlabelled pair. */
static void a_user_who_has_everything_is_no_trap(void **state)
{
    fixture *f = *state;
    static const int32_t user[] = {0, 0, 0, 1}, item[] = {0, 1, 2, 0};
    cwi_pairs pairs = {.count = 4, .user = (int32_t *)user, .item = (int32_t *)item};
    static const char *const kinds[] = {"pairs", "user"};
    cwi_training_clear(&f->training);
    assert_int_equal(cwi_training_create(f->l.ctx, 2, 3, &pairs, &f->training), CW_OK);
    for (size_t kind = 0; kind < 2; kind++) {
        cwi_draws draws = {0};
        set(f, "negatives", kinds[kind]);
        open_sampler(f, &cwi_sampler_pointwise);
        draw(f, 0, &draws);
        int64_t rows = f->batch.group[0].rows, of_0 = 0;
        assert_int_equal(rows, 2 * draws.accepted[0]);
        for (int64_t r = 0; r < rows; r += 2) {
            assert_int_equal(f->batch.user[r + 1], 1);
            assert_int_not_equal(f->batch.item[r + 1], 0);
            of_0 += f->batch.user[r] == 0;
        }
        if (kind == 0)
            near((double)of_0 / (double)rows, 0.375, 0.03); /* 3 of 4 among the positives */
        else
            near((double)rows / BATCH, 0.25, 0.05); /* those of user 1 are left */
    }
}

/* An odd batch is rounded up, so that it is half and half. */
static void small_batches_are_whole(void **state)
{
    fixture *f = *state;
    static const char *const sizes[] = {"1", "2", "3"};
    static const int64_t rows[] = {2, 2, 4};
    for (size_t s = 0; s < 3; s++) {
        cwi_draws draws = {0};
        set(f, "batch", sizes[s]);
        open_sampler(f, &cwi_sampler_pointwise);
        draw(f, 0, &draws);
        assert_int_equal(f->batch.group[0].rows, rows[s]);
    }
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(propensities_are_powers_of_popularity),
        TEST(ubpr_values),
        TEST(ubpr_values_have_an_upper_bound),
        TEST(relmf_values),
        TEST(pointwise_values),
        TEST(ubpr_draws_any_item_and_marks_weights),
        TEST(unlabelled_pairs_are_uniform),
        TEST(negatives_may_be_of_the_same_user),
        TEST(labels_are_divided_by_propensities),
        TEST(a_user_who_has_everything_is_no_trap),
        TEST(small_batches_are_whole),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
