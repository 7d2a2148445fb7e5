/* test_method.c - samplers, losses, gradients and Adam on the small case of the specification. */
#include <math.h>

#include "backend/backend.h"
#include "core/smallest.h"
#include "loss/loss.h"
#include "optim/optimizer.h"
#include "registry/registry.h"
#include "sample/select.h"
#include "train/train.h"
#include "train_check.h"

/* Four users and items, d = 2, five interactions (spec 9.1). */
static const float table9[8][2] = {{0.1f, 0.2f},  {-0.3f, 0.4f}, {0.5f, -0.1f}, {0.2f, 0.3f},
                                   {0.4f, -0.2f}, {0.1f, 0.5f},  {-0.3f, 0.2f}, {0.6f, 0.1f}};
static const int32_t user9[] = {0, 1, 2, 3, 3}, item9[] = {0, 1, 2, 3, 0};

typedef struct small {
    listener l;
    cw_options *options;
    cwi_params params;
    cwi_training training;
    cwi_shape shape;
    void *scorer;
    cwi_batch batch;
} small;

static int set_up(void **state)
{
    small *s = calloc(1, sizeof *s);
    cwi_pairs pairs = {.count = 5, .user = (int32_t *)user9, .item = (int32_t *)item9};
    listener_init(&s->l);
    assert_int_equal(cwi_train_options(s->l.ctx, &s->options), CW_OK);
    assert_int_equal(cwi_options_assign(s->l.ctx, s->options, "dim", "2"), CW_OK);
    assert_int_equal(cwi_options_assign(s->l.ctx, s->options, "lr", "1e-3"), CW_OK);
    assert_int_equal(cwi_options_assign(s->l.ctx, s->options, "optimizer", "adam"), CW_OK);
    assert_int_equal(cwi_training_create(s->l.ctx, 4, 4, &pairs, &s->training), CW_OK);
    s->shape = (cwi_shape){4, 4, &s->training.by_user, 1, 1};
    assert_int_equal(cwi_backbone_mf.declare(s->l.ctx, &s->shape, s->options, &s->params), CW_OK);
    memcpy(s->params.tensor[0].data, table9, sizeof table9);
    assert_int_equal(
        cwi_backbone_mf.open(s->l.ctx, &s->shape, s->options, &s->params, 64, &s->scorer), CW_OK);
    assert_int_equal(cwi_batch_create(s->l.ctx, 64, &s->batch), CW_OK);
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    small *s = *state;
    cwi_batch_clear(&s->batch);
    cwi_backbone_mf.close(s->scorer);
    cwi_params_clear(&s->params);
    cwi_training_clear(&s->training);
    cw_options_free(s->options);
    listener_clear(&s->l);
    free(s);
    return 0;
}

static void set_option(small *s, const char *name, const char *value)
{
    assert_int_equal(cwi_options_assign(s->l.ctx, s->options, name, value), CW_OK);
}

/* Append a CPR row of the interactions numbered in rows[0..k). */
static void add_cpr_row(cwi_batch *b, int g, const int *rows, int k)
{
    if (b->n_groups <= g) {
        b->n_groups = g + 1;
        b->group[g] = (cwi_group){.slots = 2 * k, .rows = 0, .first_slot = b->n_slots};
    }
    for (int j = 0; j < k; j++) {
        b->user[b->n_slots + j] = b->user[b->n_slots + k + j] = user9[rows[j]];
        b->item[b->n_slots + j] = item9[rows[j]];
        b->item[b->n_slots + k + j] = item9[rows[(j + 1) % k]];
    }
    b->n_slots += 2 * k;
    b->group[g].rows++;
}

/* The candidates c0..c3 of the specification. */
static void add_candidates(cwi_batch *b)
{
    add_cpr_row(b, 0, (const int[]){0, 1}, 2);
    add_cpr_row(b, 0, (const int[]){1, 3}, 2);
    add_cpr_row(b, 0, (const int[]){2, 3}, 2);
    add_cpr_row(b, 1, (const int[]){0, 1, 2}, 3);
}

static double loss_of(const cwi_loss *loss, const cwi_batch *b, const float *score, float *slope)
{
    double sum = 0;
    int64_t rows = cwi_batch_rows(b);
    for (int g = 0; g < b->n_groups; g++)
        sum += loss->rows(NULL,
                          &(cwi_loss_rows){.score = score + b->group[g].first_slot,
                                           .count = b->group[g].rows,
                                           .width = b->group[g].slots},
                          1.0f / (float)rows, slope + b->group[g].first_slot);
    return sum / (double)rows;
}

static void margins_of(const cwi_batch *b, const float *score, double *margin)
{
    for (int g = 0; g < b->n_groups; g++) {
        cwi_loss_cpr.margin(&(cwi_loss_rows){.score = score + b->group[g].first_slot,
                                             .count = b->group[g].rows,
                                             .width = b->group[g].slots},
                            margin);
        margin += b->group[g].rows;
    }
}

static void cpr_objective_and_loss(void **state)
{
    small *s = *state;
    static const double margin9[] = {0.13, 0.145, -0.155, -0.1666666667};
    float score[64], slope[64];
    double margin[8];
    add_candidates(&s->batch);
    for (int paired = 0; paired < 2; paired++) { /* slots one by one, and their differences alone */
        s->batch.is_paired = paired;
        assert_int_equal(cwi_backbone_mf.score(s->l.ctx, s->scorer, &s->batch, score), CW_OK);
        margins_of(&s->batch, score, margin);
        for (int c = 0; c < 4; c++) near(margin[c], margin9[c], 1e-7);
        near(loss_of(&cwi_loss_cpr, &s->batch, score, slope), 0.7017818075, 1e-7);
    }
}

/* The two hardest are c2 and c3; the gradient of their mean loss, then one Adam step. */
static void cpr_selection_gradient_and_step(void **state)
{
    small *s = *state;
    static const double gradient9[8][2] = {
        {-0.02707852416, 0.06318322304}, {-0.03610469888, -0.02707852416},
        {0.1843845592, -0.04957151401},  {-0.1212013362, 0.01346681513},
        {0.03610469888, -0.02707852416}, {0.03610469888, -0.01805234944},
        {-0.1126098432, 0.09899813412},  {0.04040044539, -0.05386726052}};
    float score[64], slope[64];
    double margin[8], work[8];
    cwi_gradient gradient;
    add_candidates(&s->batch);
    assert_int_equal(cwi_backbone_mf.score(s->l.ctx, s->scorer, &s->batch, score), CW_OK);
    margins_of(&s->batch, score, margin);
    cwi_select_hardest(&s->batch, score, 1, margin, 2, false, work);
    assert_int_equal(s->batch.group[0].rows, 1);
    assert_int_equal(s->batch.group[1].rows, 1);
    near(loss_of(&cwi_loss_cpr, &s->batch, score, slope), 0.7767980144, 1e-7);
    assert_int_equal(
        cwi_backbone_mf.gradient(s->l.ctx, s->scorer, &s->batch, slope, NULL, &gradient), CW_OK);
    assert_int_equal(gradient.n_touched, 8);
    for (int64_t k = 0; k < 8; k++)
        for (int c = 0; c < 2; c++)
            near((double)gradient.rows[2 * k + c], gradient9[gradient.touched[k]][c], 1e-7);
    /* lambda 0.01: the step includes its gradient */
    float *theta = s->params.tensor[0].data, m[16] = {0}, v[16] = {0};
    cwi_rates rates;
    cwi_optimizer_adam.rates(s->options, 1, &rates);
    rates.decay = 2 * 0.01f / 8;
    for (int64_t k = 0; k < 8; k++) {
        int64_t at = 2 * gradient.touched[k];
        cwi_optimizer_adam.step(cwi_ops_best(), &rates, gradient.rows + 2 * k, 2, theta + at,
                                (float *const[]){m + at, v + at});
    }
    near((double)theta[2], -0.2990000086, 1e-7);
    near((double)theta[3], 0.4009999879, 1e-7);
    near((double)theta[14], 0.5990000075, 1e-7);
    near((double)theta[15], 0.1009999941, 1e-7);
}

static void per_group_selection_keeps_shares(void **state)
{
    (void)state;
    int32_t user[16] = {0}, item[16] = {0};
    float mark[16] = {0};
    cwi_batch b = {.n_groups = 2,
                   .group = {{.slots = 1, .rows = 8, .first_slot = 0},
                             {.slots = 1, .rows = 4, .first_slot = 8}},
                   .n_slots = 12,
                   .max_slots = 16,
                   .user = user,
                   .item = item,
                   .mark = mark};
    double margin[] = {8, 7, 6, 5, 4, 3, 2, 1, -1, -2, -3, -4}, work[12];
    float score[12] = {0};
    for (int k = 0; k < 12; k++) user[k] = k;
    cwi_select_hardest(&b, score, 1, margin, 6, true, work);
    assert_int_equal(b.group[0].rows, 4);
    assert_int_equal(b.group[1].rows, 2);
    assert_int_equal(b.user[0], 4);
    assert_int_equal(b.user[4], 10);
    /* ties: the lower index wins */
    double equal[] = {1, 1, 1, 1, 1, 1};
    cwi_select_hardest(&b, score, 1, equal, 3, false, work);
    assert_int_equal(b.n_slots, 3);
    assert_int_equal(b.user[0], 4);
    assert_int_equal(b.user[2], 6);
}

/* Two groups of rows of 2 and 4 slots with two heads.  Of the margins 3 1 2 | 0 5 4 the three
 * smallest are of rows 1, 2 and 3, and the two smallest of each group of 1, 2 and 3, 5. */
static void selection_moves_all_that_belongs_to_a_row(void **state)
{
    enum { HEADS = 2, ROWS = 6, SLOTS = 3 * 2 + 3 * 4 };
    static const double margin[] = {3, 1, 2, 0, 5, 4};
    static const int hardest[] = {1, 2, 3}, shares[] = {1, 2, 3, 5}; /* 2 of each group */
    double work[ROWS];
    (void)state;
    for (int per_group = 0; per_group < 2; per_group++) {
        const int *rows = per_group ? shares : hardest;
        int n = per_group ? 4 : 3, first = 2; /* two rows of the first group either way */
        int32_t user[SLOTS], item[SLOTS];
        float score[SLOTS * HEADS], mark[ROWS];
        cwi_batch b = {.n_groups = 2,
                       .group = {{.slots = 2, .rows = 3, .first_slot = 0},
                                 {.slots = 4, .rows = 3, .first_slot = 6}},
                       .n_slots = SLOTS,
                       .user = user,
                       .item = item,
                       .mark = mark};
        for (int s = 0; s < SLOTS; s++) {
            user[s] = s;
            item[s] = 100 + s;
            for (int h = 0; h < HEADS; h++) score[s * HEADS + h] = (float)(10 * s + h);
        }
        for (int r = 0; r < ROWS; r++) mark[r] = (float)(1000 + r);
        cwi_select_hardest(&b, score, HEADS, margin, n, per_group, work);
        assert_int_equal(b.group[0].rows, first);
        assert_int_equal(b.group[1].rows, n - first);
        assert_int_equal(b.group[1].first_slot, 2 * first);
        assert_int_equal(b.n_slots, 2 * first + 4 * (n - first));
        for (int r = 0, s = 0; r < n; r++) {
            int from = rows[r] < 3 ? 2 * rows[r] : 6 + 4 * (rows[r] - 3);
            assert_int_equal(mark[r], 1000 + rows[r]);
            for (int k = 0; k < (r < first ? 2 : 4); k++, s++) {
                assert_int_equal(user[s], from + k);
                assert_int_equal(item[s], 100 + from + k);
                for (int h = 0; h < HEADS; h++)
                    assert_int_equal(score[s * HEADS + h], 10 * (from + k) + h);
            }
        }
    }
}

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* Values of many kinds: even, crowded with a few far away, equal, infinite. */
static double odd_value(int kind, int k)
{
    double even = (double)(k * 7919 % 5003) / 5003 - 0.5;
    if (kind == 1) return k % 1000 == 7 ? 1e300 * even : 1e-9 * even;
    if (kind == 2) return k % 3;
    if (kind == 3) return 0.25;
    if (kind == 4 && k % 500 == 3) return even > 0 ? INFINITY : -INFINITY;
    return even;
}

static void the_smallest_are_those_of_a_sorted_list(void **state)
{
    (void)state;
    enum { N = 3000, KINDS = 5 };
    static double value[N], sorted[N], work[N];
    static const int64_t counts[] = {0, 1, 2, 999, 1000, 2999, N};
    for (int c = 0; c < 7 * KINDS; c++) {
        int64_t n = counts[c / KINDS], taken = 0;
        for (int k = 0; k < N; k++) value[k] = sorted[k] = odd_value(c % KINDS, k);
        qsort(sorted, N, sizeof *sorted, by_size);
        cwi_limit limit = cwi_smallest(value, N, n, work);
        for (int k = 0; k < N; k++) {
            if (!cwi_limit_take(&limit, value[k])) continue;
            assert_true(value[k] <= sorted[n - 1]);
            taken++;
        }
        assert_int_equal(taken, n);
    }
}

static void bpr_values(void **state)
{
    small *s = *state;
    static const int32_t user[] = {0, 0, 1, 1}, item[] = {0, 1, 1, 2};
    static const double expected[8][2] = {{-0.07912084565, 0.1846153065},
                                          {-0.1, -0.075},
                                          {0, 0},
                                          {0, 0},
                                          {-0.02637361522, -0.05274723043},
                                          {0.1013736152, -0.04725276957},
                                          {-0.075, 0.1},
                                          {0, 0}};
    float score[4], slope[4];
    cwi_gradient gradient;
    memcpy(s->batch.user, user, sizeof user);
    memcpy(s->batch.item, item, sizeof item);
    s->batch.n_groups = 1;
    s->batch.n_slots = 4;
    s->batch.group[0] = (cwi_group){.slots = 2, .rows = 2, .first_slot = 0};
    assert_int_equal(cwi_backbone_mf.score(s->l.ctx, s->scorer, &s->batch, score), CW_OK);
    near(loss_of(&cwi_loss_bpr, &s->batch, score, slope), 0.7214030496, 1e-7);
    assert_int_equal(
        cwi_backbone_mf.gradient(s->l.ctx, s->scorer, &s->batch, slope, NULL, &gradient), CW_OK);
    for (int64_t k = 0; k < gradient.n_touched; k++)
        for (int c = 0; c < 2; c++)
            near((double)gradient.rows[2 * k + c], expected[gradient.touched[k]][c], 1e-7);
}

/* Adding a_u + c_i to every score changes neither loss nor slopes. */
static void cpr_ignores_user_and_item_terms(void **state)
{
    small *s = *state;
    static const float a[] = {3, -1, 2, 0.5f}, c[] = {-2, 4, 0.25f, 1};
    float score[64], shifted[64], slope[64], slope_shifted[64];
    add_candidates(&s->batch);
    assert_int_equal(cwi_backbone_mf.score(s->l.ctx, s->scorer, &s->batch, score), CW_OK);
    for (int64_t j = 0; j < s->batch.n_slots; j++)
        shifted[j] = score[j] + a[s->batch.user[j]] + c[s->batch.item[j]];
    near(loss_of(&cwi_loss_cpr, &s->batch, score, slope),
         loss_of(&cwi_loss_cpr, &s->batch, shifted, slope_shifted), 1e-6);
    for (int64_t j = 0; j < s->batch.n_slots; j++)
        near((double)slope[j], (double)slope_shifted[j], 1e-6);
}

static void adam_follows_the_tensorflow_form(void **state)
{
    (void)state;
    static const float g[] = {0.1f, -0.2f, 0.05f};
    static const double theta9[] = {0.9990000032, 0.9993661062, 0.9995027966};
    static const double rate9[] = {0.000316227766, 0.0002353167253, 0.0002020105974};
    float theta = 1, m = 0, v = 0;
    const cwi_ops *ops = cwi_ops_best();
    for (int t = 1; t <= 3; t++) {
        double rate = 1e-3 * sqrt(1 - pow(0.999, t)) / (1 - pow(0.9, t));
        cwi_rates step = {(float)rate, 0.9f, 0.999f, 1e-8f, 0};
        near(rate, rate9[t - 1], 1e-12);
        ops->adam(&theta, &m, &v, &g[t - 1], 1, &step);
        near((double)theta, theta9[t - 1], 2e-7);
    }
    near((double)m, -0.0049, 1e-8);
    near((double)v, 5.244001e-05, 1e-9); /* 1 - 0.999f is 1.3e-5 off, in TensorFlow too */
    /* tiny gradients: epsilon matters */
    static const double small9[] = {0.009924025307, 0.009873123957, 0.009833781796};
    theta = 0.01f;
    m = v = 0;
    for (int t = 1; t <= 3; t++) {
        float tiny = t == 1 ? 1e-6f : 0;
        double rate = 1e-4 * sqrt(1 - pow(0.999, t)) / (1 - pow(0.9, t));
        cwi_rates step = {(float)rate, 0.9f, 0.999f, 1e-8f, 0};
        ops->adam(&theta, &m, &v, &tiny, 1, &step);
        near((double)theta, small9[t - 1], 2e-8);
    }
}

static void check_plan(int64_t batch, int32_t max_k, double ratio, double beta, const int64_t *keep,
                       const int64_t *draw)
{
    cwi_cpr_sizes sizes;
    cwi_cpr_plan(batch, max_k, 0, ratio, beta, &sizes);
    for (int32_t k = 2; k <= max_k; k++) {
        assert_int_equal(sizes.keep[k], keep[k - 2]);
        assert_int_equal(sizes.draw[k], draw[k - 2]);
    }
}

static void batch_sizes_are_the_published_ones(void **state)
{
    (void)state;
#define SIZES(...) ((const int64_t[]){__VA_ARGS__})
    check_plan(2048, 3, 3, 3, SIZES(1536, 512), SIZES(4608, 1536));
    check_plan(2048, 3, 2, 3, SIZES(1365, 683), SIZES(4095, 2049));
    check_plan(2048, 3, 7, 8, SIZES(1792, 256), SIZES(14336, 2048));
    check_plan(2048, 3, 4, 7, SIZES(1638, 410), SIZES(11466, 2870));
    check_plan(2048, 3, 4, 1, SIZES(1638, 410), SIZES(1638, 410));
    check_plan(2048, 3, 6, 1, SIZES(1755, 293), SIZES(1755, 293));
    check_plan(2048, 3, 5, 1.5, SIZES(1707, 341), SIZES(2561, 512));
    check_plan(2048, 3, 4, 3, SIZES(1638, 410), SIZES(4914, 1230));
    check_plan(2048, 4, 3, 2, SIZES(1418, 473, 157), SIZES(2836, 946, 314));
    cwi_cpr_sizes only;
    cwi_cpr_plan(2048, 3, 4, 3, 2, &only);
    assert_int_equal(only.keep[4], 2048);
    assert_int_equal(only.draw[4], 4096);
    assert_int_equal(only.keep[2] + only.keep[3], 0);
}

/* 14 ordered pairs of the small set are valid: drawn samples are uniform over them.  Chi-square
 * with 13 degrees of freedom: above 45 has probability 2e-5. */
static void cpr_samples_are_uniform_over_valid_tuples(void **state)
{
    small *s = *state;
    enum { STEPS = 200 };
    int64_t count[5][5] = {{0}}, max_slots, total = 0;
    int cells = 0;
    double chi = 0;
    void *sampler;
    cwi_batch b;
    cwi_draws draws = {0};
    assert_int_equal(cwi_options_assign(s->l.ctx, s->options, "batch", "100"), CW_OK);
    assert_int_equal(cwi_options_assign(s->l.ctx, s->options, "beta", "1"), CW_OK);
    assert_int_equal(cwi_options_assign(s->l.ctx, s->options, "cycle", "2"), CW_OK);
    assert_int_equal(cwi_sampler_open(s->l.ctx, &cwi_sampler_cpr, &s->training, s->options,
                                      &max_slots, &sampler),
                     CW_OK);
    assert_int_equal(cwi_batch_create(s->l.ctx, max_slots, &b), CW_OK);
    for (uint64_t step = 0; step < STEPS; step++) {
        assert_int_equal(cwi_sampler_draw(s->l.ctx, &cwi_sampler_cpr, sampler,
                                          &(cwi_moment){0, step}, &b, &draws),
                         CW_OK);
        for (int64_t r = 0; r < b.group[0].rows; r++) {
            int row[2] = {-1, -1};
            for (int j = 0; j < 2; j++)
                for (int e = 0; e < 5; e++)
                    if (user9[e] == b.user[4 * r + j] && item9[e] == b.item[4 * r + j]) row[j] = e;
            assert_true(row[0] >= 0 && row[1] >= 0);
            count[row[0]][row[1]]++;
            total++;
        }
    }
    for (int a = 0; a < 5; a++)
        for (int c = 0; c < 5; c++) {
            if (!count[a][c]) continue;
            cells++;
            chi += pow((double)count[a][c] - (double)total / 14, 2) / ((double)total / 14);
        }
    assert_int_equal(cells, 14);
    assert_true(chi < 45);
    near((double)draws.accepted[0] / (double)draws.attempts[0], 0.56, 0.02);
    cwi_batch_clear(&b);
    cwi_sampler_close(&cwi_sampler_cpr, sampler);
}

static void bpr_negatives_are_unseen_items(void **state)
{
    small *s = *state;
    static const char *const kinds[] = {"interaction", "user"};
    assert_int_equal(cwi_options_assign(s->l.ctx, s->options, "batch", "2000"), CW_OK);
    for (size_t kind = 0; kind < 2; kind++) {
        int64_t max_slots, of_user_3 = 0;
        void *sampler;
        cwi_batch b;
        cwi_draws draws = {0};
        assert_int_equal(cwi_options_assign(s->l.ctx, s->options, "pos", kinds[kind]), CW_OK);
        assert_int_equal(cwi_sampler_open(s->l.ctx, &cwi_sampler_bpr, &s->training, s->options,
                                          &max_slots, &sampler),
                         CW_OK);
        assert_int_equal(cwi_batch_create(s->l.ctx, max_slots, &b), CW_OK);
        assert_int_equal(
            cwi_sampler_draw(s->l.ctx, &cwi_sampler_bpr, sampler, &(cwi_moment){0, 3}, &b, &draws),
            CW_OK);
        assert_int_equal(b.group[0].rows, 2000);
        for (int64_t r = 0; r < 2000; r++) {
            assert_int_equal(b.user[2 * r], b.user[2 * r + 1]);
            assert_true(cwi_training_has(&s->training, b.user[2 * r], b.item[2 * r]));
            assert_false(cwi_training_has(&s->training, b.user[2 * r], b.item[2 * r + 1]));
            of_user_3 += b.user[2 * r] == 3;
        }
        /* user 3 has two of five interactions, and is one of four users */
        near((double)of_user_3 / 2000, kind == 0 ? 0.4 : 0.25, 0.05);
        cwi_batch_clear(&b);
        cwi_sampler_close(&cwi_sampler_bpr, sampler);
    }
}

/* The samplers that draw many candidates at once draw what they draw one by one. */
static void candidates_drawn_at_once_are_those_drawn_alone(void **state)
{
    static const cwi_sampler *const samplers[] = {&cwi_sampler_cpr, &cwi_sampler_cpr,
                                                  &cwi_sampler_bpr, &cwi_sampler_bpr};
    small *s = *state;
    set_option(s, "batch", "700"); /* of several chunks, the last one short */
    set_option(s, "beta", "2");
    for (size_t k = 0; k < 4; k++) {
        cwi_sampler alone = *samplers[k];
        cwi_batch batch[2];
        cwi_draws draws[2];
        memset(draws, 0, sizeof draws);
        alone.draw_many = NULL;
        set_option(s, "distinct", k == 1 ? "all" : "neighbours");
        set_option(s, "pos", k == 3 ? "user" : "interaction");
        for (int way = 0; way < 2; way++) {
            int64_t max_slots;
            void *opened;
            const cwi_sampler *sampler = way ? &alone : samplers[k];
            assert_int_equal(
                cwi_sampler_open(s->l.ctx, sampler, &s->training, s->options, &max_slots, &opened),
                CW_OK);
            assert_int_equal(cwi_batch_create(s->l.ctx, max_slots, &batch[way]), CW_OK);
            assert_int_equal(cwi_sampler_draw(s->l.ctx, sampler, opened, &(cwi_moment){0, 5},
                                              &batch[way], &draws[way]),
                             CW_OK);
            cwi_sampler_close(sampler, opened);
        }
        size_t bytes = (size_t)batch[0].n_slots * sizeof *batch[0].user;
        assert_true(bytes > 0);
        assert_memory_equal(batch[0].group, batch[1].group, sizeof batch[0].group);
        assert_memory_equal(batch[0].user, batch[1].user, bytes);
        assert_memory_equal(batch[0].item, batch[1].item, bytes);
        assert_memory_equal(&draws[0], &draws[1], sizeof draws[0]);
        cwi_batch_clear(&batch[0]);
        cwi_batch_clear(&batch[1]);
    }
}

/* Streams are numbered by 24 bits of the candidate and 40 of the step. */
static void more_than_the_random_streams_is_refused(void **state)
{
    small *s = *state;
    cwi_draws draws = {0};
    int64_t max_slots;
    void *opened;
    assert_int_equal(cwi_stream_number(3, 5), 3 * 16777216 + 5);
    set_option(s, "batch", "1048576");
    set_option(s, "cycle", "2");
    set_option(s, "beta", "16.5");
    assert_int_equal(
        cwi_sampler_open(s->l.ctx, &cwi_sampler_cpr, &s->training, s->options, &max_slots, &opened),
        CW_BAD_ARG);
    assert_null(opened);
    assert_string_equal(cw_context_error(s->l.ctx),
                        "--batch is 1048576 and --beta 16.5, which makes 17301504 candidates a "
                        "step; at most 16777216 are possible");
    set_option(s, "beta", "16"); /* just what there is */
    assert_int_equal(
        cwi_sampler_open(s->l.ctx, &cwi_sampler_cpr, &s->training, s->options, &max_slots, &opened),
        CW_OK);
    assert_int_equal(max_slots, 4 * 16777216);
    cwi_begin(s->l.ctx);
    assert_int_equal(cwi_sampler_draw(s->l.ctx, &cwi_sampler_cpr, opened,
                                      &(cwi_moment){0, 1ull << 40}, &s->batch, &draws),
                     CW_BAD_ARG);
    assert_string_equal(cw_context_error(s->l.ctx),
                        "random numbers last for 2^40 steps, not for step 1099511627776");
    cwi_sampler_close(&cwi_sampler_cpr, opened);
}

/* The joint Xavier bound of a table (spec 9.3), reached but not passed. */
static void first_values_fill_the_xavier_bound(void **state)
{
    small *s = *state;
    cwi_params params = {0};
    double most = 0, bound = sqrt(6.0 / (3000 + 64));
    assert_int_equal(cwi_params_add(s->l.ctx, &params, "embeddings", 3000, 64, NULL), CW_OK);
    params.tensor[0].init = CWI_INIT_TABLE;
    cwi_params_init(s->options, 1000, &params);
    for (int64_t k = 0; k < 3000 * 64; k++) {
        double size = fabs((double)params.tensor[0].data[k]);
        if (size > most) most = size;
    }
    assert_true(most <= bound * (1 + 1e-6) && most > 0.999 * bound);
    cwi_params_clear(&params);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(cpr_objective_and_loss),
        TEST(cpr_selection_gradient_and_step),
        TEST(per_group_selection_keeps_shares),
        TEST(selection_moves_all_that_belongs_to_a_row),
        TEST(the_smallest_are_those_of_a_sorted_list),
        TEST(bpr_values),
        TEST(cpr_ignores_user_and_item_terms),
        TEST(adam_follows_the_tensorflow_form),
        TEST(batch_sizes_are_the_published_ones),
        TEST(cpr_samples_are_uniform_over_valid_tuples),
        TEST(bpr_negatives_are_unseen_items),
        TEST(candidates_drawn_at_once_are_those_drawn_alone),
        TEST(more_than_the_random_streams_is_refused),
        TEST(first_values_fill_the_xavier_bound),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
