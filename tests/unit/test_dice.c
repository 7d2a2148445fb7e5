/* test_dice.c - DICE: its loss, its penalties and its sampler against the specification. */
#include <math.h>

#include "loss/dcor.h"
#include "loss/loss.h"
#include "model/model.h"
#include "registry/registry.h"
#include "train_check.h"

/* ---- loss and penalty on matrix factorisation ------------------------------------ */

/* Two users, then three items; interest, then conformity (spec 9.6). */
static const float table9[5][4] = {{0.1f, 0.2f, 0.3f, -0.1f},
                                   {-0.3f, 0.4f, 0.2f, 0.2f},
                                   {0.4f, -0.2f, 0.2f, 0.1f},
                                   {0.1f, 0.5f, -0.1f, 0.3f},
                                   {-0.3f, 0.2f, 0.5f, 0.4f}};

typedef struct small {
    listener l;
    cw_options *options;
    cwi_csr train;
    cwi_shape shape;
    cwi_params params;
    cwi_extra extra;
    void *scorer;
    cwi_batch batch;
    double setting[CWI_LOSS_SETTINGS];
} small;

static void set(small *s, const char *name, const char *value)
{
    assert_int_equal(cwi_options_assign(s->l.ctx, s->options, name, value), CW_OK);
}

static int set_up(void **state)
{
    small *s = calloc(1, sizeof *s);
    int32_t user[] = {0, 1}, item[] = {0, 1};
    listener_init(&s->l);
    assert_int_equal(cwi_train_options(s->l.ctx, &s->options), CW_OK);
    set(s, "dim", "4");
    assert_int_equal(cwi_csr_create(s->l.ctx, user, item, 2, 2, &s->train), CW_OK);
    s->shape = cwi_method_shape(cwi_find_method("dice"), s->options, 2, 3, &s->train);
    assert_int_equal(cwi_backbone_mf.declare(s->l.ctx, &s->shape, s->options, &s->params), CW_OK);
    memcpy(s->params.tensor[0].data, table9, sizeof table9);
    assert_int_equal(
        cwi_backbone_mf.open(s->l.ctx, &s->shape, s->options, &s->params, 16, &s->scorer), CW_OK);
    assert_int_equal(cwi_batch_create(s->l.ctx, 16, &s->batch), CW_OK);
    cwi_loss_dice.set(s->options, 0, s->setting);
    s->extra.penalty = &cwi_penalty_dice;
    *state = s;
    return 0;
}

static int tear_down(void **state)
{
    small *s = *state;
    cwi_penalty_dice.close(s->extra.state);
    cwi_batch_clear(&s->batch);
    cwi_backbone_mf.close(s->scorer);
    cwi_params_clear(&s->params);
    cwi_csr_clear(&s->train);
    cw_options_free(s->options);
    listener_clear(&s->l);
    free(s);
    return 0;
}

static void open_penalty(small *s, const char *dis, const char *weight)
{
    cwi_penalty_dice.close(s->extra.state);
    set(s, "dis", dis);
    set(s, "dis-penalty", weight);
    assert_int_equal(cwi_penalty_dice.open(s->l.ctx, &s->shape, s->options, 16, &s->extra.state),
                     CW_OK);
}

static void add_row(cwi_batch *b, int32_t user, int32_t positive, int32_t negative, float mark)
{
    int64_t row = b->n_slots / 2;
    b->user[2 * row] = b->user[2 * row + 1] = user;
    b->item[2 * row] = positive;
    b->item[2 * row + 1] = negative;
    b->mark[row] = mark;
    b->n_slots += 2;
    b->n_groups = 1;
    b->group[0] = (cwi_group){.slots = 2, .rows = row + 1};
}

/* Mean loss of the rows without the penalty. */
static double loss_of(small *s, const double *setting, float *slope)
{
    float score[32];
    int64_t rows = cwi_batch_rows(&s->batch);
    assert_int_equal(cwi_backbone_mf.score(s->l.ctx, s->scorer, &s->batch, score), CW_OK);
    return cwi_loss_dice.rows(
               setting,
               &(cwi_loss_rows){.score = score, .mark = s->batch.mark, .count = rows, .width = 4},
               1.0f / (float)rows, slope) /
           (double)rows;
}

/* Loss and penalty; out is the gradient of the whole table. */
static double total_of(small *s, double out[5][4])
{
    float slope[32];
    cwi_gradient gradient;
    double loss = loss_of(s, s->setting, slope);
    assert_int_equal(
        cwi_backbone_mf.gradient(s->l.ctx, s->scorer, &s->batch, slope, &s->extra, &gradient),
        CW_OK);
    memset(out, 0, 20 * sizeof(double));
    for (int64_t t = 0; t < gradient.n_touched; t++)
        for (int c = 0; c < 4; c++) out[gradient.touched[t]][c] = (double)gradient.rows[4 * t + c];
    return loss + gradient.penalty;
}

static void values_and_gradients_of_the_specification(void **state)
{
    small *s = *state;
    static const double expected[5][4] = {
        {-0.7870776109, 1.836522759, 0.6370776109, -0.4247100739},
        {-0.106963589, -0.08025144177, 1.604803835, 0.2674814726},
        {-0.262367537, -0.5247175739, 0.6370926109, -0.212370037},
        {0.3425939787, 0.4177264849, -1.172020556, -0.3225704082},
        {-0.08022144177, 0.106993589, 0.5349229452, 0.5349379452}};
    float slope[8];
    double gradient[5][4];
    add_row(&s->batch, 0, 0, 1, 1);
    add_row(&s->batch, 1, 1, 2, 0);
    double total = loss_of(s, (const double[]){0, 0, 0, 0}, slope);
    near(total, 0.7293711814, 1e-7);
    near(loss_of(s, (const double[]){1, 0, 0, 0}, slope) - total, 0.3748294593, 1e-7);
    near(loss_of(s, (const double[]){0, 1, 0, 0}, slope) - total, 0.7576270505, 1e-7);
    open_penalty(s, "mse", "1e-4");
    near(total_of(s, gradient), 10.92145714, 1e-6);
    for (int r = 0; r < 5; r++)
        for (int c = 0; c < 4; c++) near(gradient[r][c], expected[r][c], 1e-6);
}

/* The difference that the penalty makes to the loss: minus weight times 0.105 + 0.12125. */
static void the_penalty_is_subtracted(void **state)
{
    small *s = *state;
    float slope[8];
    double gradient[5][4];
    add_row(&s->batch, 0, 0, 1, 1);
    add_row(&s->batch, 1, 1, 2, 0);
    double plain = loss_of(s, s->setting, slope);
    open_penalty(s, "mse", "10");
    near(total_of(s, gradient) - plain, -10 * (0.105 + 0.12125), 1e-6);
    /* users: 0.2 0.3 0.5 0.2 of 4; items: 0.2 0.3, twice 0.2 0.2, 0.8 0.2 of 8 */
    open_penalty(s, "l1", "10");
    near(total_of(s, gradient) - plain, -10 * (1.2 / 4 + 2.3 / 8), 1e-6);
    open_penalty(s, "dcor", "10");
    assert_true(total_of(s, gradient) > plain + 1); /* added: it is a correlation */
    open_penalty(s, "dcor", "0");
    near(total_of(s, gradient), plain, 0);
}

static void weights_fall_by_epoch(void **state)
{
    small *s = *state;
    double setting[CWI_LOSS_SETTINGS];
    set(s, "int-weight", "8");
    set(s, "pop-weight", "4");
    set(s, "loss-decay", "0.5");
    cwi_loss_dice.set(s->options, 0, setting);
    near(setting[0], 8, 0);
    cwi_loss_dice.set(s->options, 3, setting);
    near(setting[0], 1, 1e-15);
    near(setting[1], 0.5, 1e-15);
}

static void a_half_or_both_halves_rank(void **state)
{
    small *s = *state;
    const cwi_method *dice = cwi_find_method("dice");
    /* user 0: interest with the items, conformity with the items */
    static const double interest[] = {0, 0.11, 0.01}, conformity[] = {0.05, -0.06, 0.11};
    for (int both = 0; both < 2; both++) {
        cwi_ranker ranker;
        float score[3];
        if (both) set(s, "dice-score", "sum");
        cwi_shape shape = cwi_method_shape(dice, s->options, 2, 3, &s->train);
        assert_int_equal(cwi_method_rank(s->l.ctx, dice, &cwi_backbone_mf, &shape, s->options,
                                         &s->params, &ranker),
                         CW_OK);
        ranker.score(&ranker, (const int32_t[]){0}, 1, score);
        for (int i = 0; i < 3; i++)
            near((double)score[i], interest[i] + both * conformity[i], 1e-6);
        cwi_ranker_close(&ranker);
    }
}

/* ---- distance correlation -------------------------------------------------------- */

/* Value of dCor over the n vectors of a table; gradient may be NULL. */
static double dcor_of(cw_context *ctx, const float *table, int32_t n, int32_t width,
                      float *gradient)
{
    enum { MOST = 64 };
    int32_t all[MOST];
    float room[MOST * 64] = {0};
    cwi_dcor work;
    double value;
    for (int32_t k = 0; k < n; k++) all[k] = k;
    cwi_points points = {table, width, n, all, all};
    assert_int_equal(cwi_dcor_create(ctx, MOST, &work), CW_OK);
    assert_int_equal(cwi_dcor_add(ctx, &work, &points, 1, gradient ? gradient : room, &value),
                     CW_OK);
    cwi_dcor_clear(&work);
    return value;
}

static void dcor_is_that_of_the_specification(void **state)
{
    small *s = *state;
    static const float points[3][4] = {
        {0.1f, 0.2f, 0.3f, -0.1f}, {-0.3f, 0.4f, 0.2f, 0.2f}, {0.5f, -0.1f, 0.1f, 0.6f}};
    static const double expected[3][2] = {
        {-0.3044784218, 0.2275055454}, {0.1710169439, -0.1064589545}, {0.1334614779, -0.121046591}};
    float gradient[3][4] = {{0}}, turned[3][4], other[3][4] = {{0}};
    near(dcor_of(s->l.ctx, points[0], 3, 4, gradient[0]), 0.8691562273, 1e-6);
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < 4; c++) turned[k][c] = points[k][(c + 2) % 4];
    near(dcor_of(s->l.ctx, turned[0], 3, 4, other[0]), 0.8691562273, 1e-6);
    for (int k = 0; k < 3; k++)
        for (int c = 0; c < 4; c++) {
            if (c < 2) near((double)gradient[k][c], expected[k][c], 1e-6);
            near((double)gradient[k][c], (double)other[k][(c + 2) % 4], 1e-6);
        }
}

/* More points than one chunk has, more columns than lanes, two points at the same place. */
static void dcor_of_many_points(void **state)
{
    small *s = *state;
    enum { N = 40, WIDTH = 38 };
    float points[N][WIDTH], gradient[N][WIDTH] = {{0}};
    const float h = 1.0f / 64;
    cwi_rng rng;
    cwi_rng_init(&rng, 1, CWI_RNG_TEST, 0);
    for (int k = 0; k < N; k++)
        for (int c = 0; c < WIDTH; c++) {
            points[k][c] = (float)cwi_rng_normal(&rng);
            if (c >= WIDTH / 2) points[k][c] += 0.5f * points[k][c - WIDTH / 2];
        }
    memcpy(points[7], points[30], sizeof points[7]);
    double value = dcor_of(s->l.ctx, points[0], N, WIDTH, gradient[0]);
    assert_true(value > 0.5 && value < 1);
    for (int k = 0; k < N; k += 13)
        for (int c = 0; c < WIDTH; c++) {
            float kept = points[k][c];
            points[k][c] = kept + h;
            double above = dcor_of(s->l.ctx, points[0], N, WIDTH, NULL);
            points[k][c] = kept - h;
            double below = dcor_of(s->l.ctx, points[0], N, WIDTH, NULL);
            points[k][c] = kept;
            near((double)gradient[k][c], (above - below) / (2 * (double)h), 2e-6);
        }
    for (int c = 0; c < WIDTH; c++)
        near((double)gradient[7][c], (double)gradient[30][c], 1e-7); /* and so no NaN */
}

/* One point, points that all agree, grids whose sides are independent: no value, no slope. */
static void dcor_without_meaning_is_nothing(void **state)
{
    small *s = *state;
    static const float same[3][2] = {{1, 2}, {1, 2}, {1, 2}};
    static const float side[] = {0.1f, 0.35f, 0.7f, 1.9f, 2.3f};
    float grid[20][2], gradient[20][2] = {{0}};
    static const float zero[20][2] = {{0}};
    near(dcor_of(s->l.ctx, same[0], 1, 2, gradient[0]), 0, 0);
    near(dcor_of(s->l.ctx, same[0], 3, 2, gradient[0]), 0, 0);
    for (int rows = 2; rows <= 4; rows++) {
        for (int k = 0; k < 5 * rows; k++) {
            grid[k][0] = side[k % 5];
            grid[k][1] = side[k / 5];
        }
        near(dcor_of(s->l.ctx, grid[0], 5 * rows, 2, gradient[0]), 0, 0);
    }
    assert_memory_equal(gradient, zero, sizeof zero);
}

/* ---- sampler --------------------------------------------------------------------- */

enum { MOST_USERS = 64, MOST_ITEMS = 16, MOST_PAIRS = 512 };

typedef struct crowd {
    int32_t n_users, n_items;
    int64_t n;
    int32_t user[MOST_PAIRS], item[MOST_PAIRS];
} crowd;

static void give(crowd *c, int32_t user, int32_t item)
{
    assert_true(c->n < MOST_PAIRS && user < MOST_USERS && item < MOST_ITEMS);
    c->user[c->n] = user;
    c->item[c->n++] = item;
    if (user >= c->n_users) c->n_users = user + 1;
    if (item >= c->n_items) c->n_items = item + 1;
}

/* Degrees 50, 40, 30, 20, 12, 10, 5, 2; user 0 has items 1, 3, 4 (spec 9.6). */
static void make_specified(crowd *c)
{
    static const int32_t degree[] = {50, 40, 30, 20, 12, 10, 5, 2};
    for (int32_t i = 0; i < 8; i++) {
        bool is_his = i == 1 || i == 3 || i == 4;
        if (is_his) give(c, 0, i);
        for (int32_t u = 1; u <= degree[i] - is_his; u++) give(c, u, i);
    }
}

/* User 0 has everything, user 1 all but the most popular, 2 all but the rarest, 3 all but two in
 * the middle; one of 4 is told twice; others have a few. */
static void make_crowded(crowd *c)
{
    for (int32_t i = 0; i < 12; i++) {
        give(c, 0, i);
        if (i != 0) give(c, 1, i);
        if (i != 11) give(c, 2, i);
        if (i != 5 && i != 6) give(c, 3, i);
        for (int32_t u = 4; u < 26 - 2 * i; u++) give(c, u, i);
    }
    give(c, 4, 8);
    give(c, 4, 8);
}

/* The rules of 3.5 word by word: how likely each item is for a positive; false when the user has
 * all. */
static bool expect(const cwi_training *t, int32_t user, int32_t positive, double margin,
                   int64_t min_size, double *likely)
{
    double d = (double)t->degree[positive];
    int64_t popular = 0, rare = 0, unseen = 0;
    for (int32_t j = 0; j < t->n_items; j++) {
        if (cwi_training_has(t, user, j)) continue;
        unseen++;
        popular += (double)t->degree[j] > d + margin;
        rare += (double)t->degree[j] < d / 2;
    }
    double of_popular = 0.5;
    if (popular < min_size)
        of_popular = rare > 0 ? 0 : 1;
    else if (rare < min_size)
        of_popular = 1;
    for (int32_t j = 0; j < t->n_items; j++) {
        likely[j] = 0;
        if (cwi_training_has(t, user, j)) continue;
        if (popular + rare == 0) likely[j] = 1 / (double)unseen;
        if ((double)t->degree[j] > d + margin) likely[j] = of_popular / (double)popular;
        if ((double)t->degree[j] < d / 2) likely[j] = (1 - of_popular) / (double)rare;
    }
    return unseen > 0;
}

typedef struct trial {
    const char *margin, *decay, *min_size, *negatives;
    int64_t epoch;
    double margin_then; /* at that epoch */
} trial;

/* How often each user, positive and negative came up. */
typedef int64_t counts[MOST_USERS][MOST_ITEMS][MOST_ITEMS];

static void count_rows(const cwi_batch *b, const cwi_training *t, int64_t negatives, counts count)
{
    int64_t rows = cwi_batch_rows(b);
    for (int64_t r = 0; r < rows; r++) {
        int32_t user = b->user[2 * r], positive = b->item[2 * r], negative = b->item[2 * r + 1];
        assert_int_equal(user, b->user[2 * r + 1]);
        assert_true(cwi_training_has(t, user, positive));
        near((double)b->mark[r], t->degree[negative] > t->degree[positive], 0);
        assert_int_equal(positive, b->item[2 * (r - r % negatives)]);
        count[user][positive][negative]++;
    }
}

typedef struct chi_square {
    double value, cells;
} chi_square;

static void add_cell(chi_square *chi, double count, double expected)
{
    if (expected == 0) near(count, 0, 0);
    if (expected < 5) return;
    chi->value += pow(count - expected, 2) / expected;
    chi->cells++;
}

static void check_chi_square(const chi_square *chi)
{
    if (chi->value > chi->cells + 4 * sqrt(2 * chi->cells))
        fail_msg("chi-square is %g for %g cells", chi->value, chi->cells);
}

/* How often a pair was told; 0 when its user has everything. */
static double chances(const cwi_training *t, int32_t user, int32_t item)
{
    double unused[MOST_ITEMS], times = 0;
    if (!expect(t, user, item, 0, 1, unused)) return 0;
    for (int64_t e = 0; e < t->count; e++)
        times += t->pair[e].user == user && t->pair[e].item == item;
    return times;
}

/* Pairs are uniform, which several negatives of one draw would blur, and so are the negatives of
 * each pair in their pools. */
static void compare(const cwi_training *t, const trial *try, counts count)
{
    chi_square pairs = {0, 0}, negatives = {0, 0};
    double all = 0, total = 0, likely[MOST_ITEMS], drawn[MOST_USERS][MOST_ITEMS] = {{0}};
    for (int32_t u = 0; u < t->n_users; u++)
        for (int32_t i = 0; i < t->n_items; i++) {
            all += chances(t, u, i);
            for (int32_t j = 0; j < t->n_items; j++) drawn[u][i] += (double)count[u][i][j];
            total += drawn[u][i];
        }
    for (int32_t u = 0; u < t->n_users; u++)
        for (int32_t i = 0; i < t->n_items; i++) {
            add_cell(&pairs, drawn[u][i], total / all * chances(t, u, i));
            if (drawn[u][i] == 0) continue;
            expect(t, u, i, try->margin_then, strtoll(try->min_size, NULL, 10), likely);
            for (int32_t j = 0; j < t->n_items; j++)
                add_cell(&negatives, (double)count[u][i][j], drawn[u][i] * likely[j]);
        }
    assert_true(pairs.cells > 100 && negatives.cells > 50);
    if (strcmp(try->negatives, "1") == 0) check_chi_square(&pairs);
    check_chi_square(&negatives);
}

static void try_sampler(small *s, const crowd *c, const trial *try)
{
    static counts count;
    cwi_pairs pairs = {.count = c->n, .user = (int32_t *)c->user, .item = (int32_t *)c->item};
    cwi_training training;
    cwi_batch batch;
    cwi_draws draws = {0};
    void *sampler;
    int64_t max_slots, negatives = strtoll(try->negatives, NULL, 10);
    memset(count, 0, sizeof count);
    set(s, "batch", "20000");
    set(s, "margin", try->margin);
    set(s, "margin-decay", try->decay);
    set(s, "min-size", try->min_size);
    set(s, "neg", try->negatives);
    assert_int_equal(cwi_training_create(s->l.ctx, c->n_users, c->n_items, &pairs, &training),
                     CW_OK);
    assert_int_equal(
        cwi_sampler_open(s->l.ctx, &cwi_sampler_dice, &training, s->options, &max_slots, &sampler),
        CW_OK);
    assert_int_equal(cwi_batch_create(s->l.ctx, max_slots, &batch), CW_OK);
    for (uint64_t step = 0; step < 4; step++) {
        assert_int_equal(cwi_sampler_draw(s->l.ctx, &cwi_sampler_dice, sampler,
                                          &(cwi_moment){try->epoch, step}, &batch, &draws),
                         CW_OK);
        assert_int_equal(cwi_batch_rows(&batch), 20000 * negatives);
        count_rows(&batch, &training, negatives, count);
    }
    compare(&training, try, count);
    cwi_batch_clear(&batch);
    cwi_sampler_close(&cwi_sampler_dice, sampler);
    cwi_training_clear(&training);
}

static void negatives_are_those_of_the_rules(void **state)
{
    small *s = *state;
    static const trial tries[] = {
        {"5", "0.9", "2", "1", 0, 5},      {"5", "0.9", "3", "1", 0, 5},
        {"0", "1", "1", "1", 7, 0},        {"2", "1", "1", "1", 0, 2},
        {"16", "0.5", "2", "1", 3, 2},     {"1000", "1", "1", "1", 0, 1000},
        {"1000", "0", "4", "1", 0, 1000},  {"1.5", "1", "2", "3", 0, 1.5},
        {"1000", "1", "40", "2", 0, 1000},
    };
    crowd *crowds = calloc(2, sizeof *crowds);
    make_specified(&crowds[0]);
    make_crowded(&crowds[1]);
    for (size_t t = 0; t < sizeof tries / sizeof tries[0]; t++)
        for (int c = 0; c < 2; c++) try_sampler(s, &crowds[c], &tries[t]);
    free(crowds);
}

/* The example of the specification by its own numbers, whatever the oracle above says. */
static void pools_are_those_of_the_specification(void **state)
{
    (void)state;
    crowd *c = calloc(1, sizeof *c);
    cwi_training training;
    double likely[MOST_ITEMS];
    listener l;
    listener_init(&l);
    make_specified(c);
    cwi_pairs pairs = {.count = c->n, .user = c->user, .item = c->item};
    assert_int_equal(cwi_training_create(l.ctx, c->n_users, c->n_items, &pairs, &training), CW_OK);
    static const double fair[] = {0.25, 0, 0.25, 0, 0, 0, 0.25, 0.25};
    static const double rare[] = {0, 0, 0, 0, 0, 0, 0.5, 0.5};
    assert_true(expect(&training, 0, 3, 5, 2, likely));
    for (int j = 0; j < 8; j++) near(likely[j], fair[j], 0);
    assert_true(expect(&training, 0, 3, 5, 3, likely));
    for (int j = 0; j < 8; j++) near(likely[j], rare[j], 0);
    cwi_training_clear(&training);
    free(c);
    listener_clear(&l);
}

/* User 0 has two rare items left for a positive: three negatives are these two, then one again. */
static void negatives_differ_while_there_are_others(void **state)
{
    small *s = *state;
    crowd *c = calloc(1, sizeof *c);
    cwi_training training;
    cwi_batch batch;
    cwi_draws draws = {0};
    void *sampler;
    int64_t max_slots, seen = 0;
    make_specified(c);
    cwi_pairs pairs = {.count = c->n, .user = c->user, .item = c->item};
    set(s, "batch", "4000");
    set(s, "margin", "5");
    set(s, "min-size", "3");
    set(s, "neg", "3");
    assert_int_equal(cwi_training_create(s->l.ctx, c->n_users, c->n_items, &pairs, &training),
                     CW_OK);
    assert_int_equal(
        cwi_sampler_open(s->l.ctx, &cwi_sampler_dice, &training, s->options, &max_slots, &sampler),
        CW_OK);
    assert_int_equal(cwi_batch_create(s->l.ctx, max_slots, &batch), CW_OK);
    assert_int_equal(
        cwi_sampler_draw(s->l.ctx, &cwi_sampler_dice, sampler, &(cwi_moment){0, 0}, &batch, &draws),
        CW_OK);
    for (int64_t p = 0; p < 4000; p++) {
        const int32_t *item = batch.item + 6 * p;
        if (batch.user[6 * p] != 0 || item[0] != 3) continue;
        seen++;
        assert_int_equal(item[1] + item[3], 6 + 7);
        assert_true(item[5] == 6 || item[5] == 7);
    }
    assert_true(seen > 5);
    cwi_batch_clear(&batch);
    cwi_sampler_close(&cwi_sampler_dice, sampler);
    cwi_training_clear(&training);
    free(c);
}

/* ---- whole runs ------------------------------------------------------------------ */

static cw_options *run_options(cw_context *ctx, const char *const *settings)
{
    cw_options *options;
    assert_int_equal(cw_options_create(ctx, "train", &options), CW_OK);
    assert_int_equal(cw_options_set(ctx, options, "preset", "paper"), CW_OK);
    assert_int_equal(cw_options_set(ctx, options, "method", "dice"), CW_OK);
    assert_int_equal(cw_options_set(ctx, options, "dim", "8"), CW_OK);
    assert_int_equal(cw_options_set(ctx, options, "batch", "64"), CW_OK);
    assert_int_equal(cw_options_set(ctx, options, "epochs", "2"), CW_OK);
    for (; *settings; settings += 2)
        assert_int_equal(cw_options_set(ctx, options, settings[0], settings[1]), CW_OK);
    return options;
}

static cw_model *train(cw_context *ctx, const cw_dataset *data, const char *const *settings)
{
    cw_options *options = run_options(ctx, settings);
    return train_with(ctx, data, options);
}

static void assert_same_table(const cw_model *a, const cw_model *b)
{
    const cwi_tensor *x = &a->params.tensor[0], *y = &b->params.tensor[0];
    assert_memory_equal(x->data, y->data, (size_t)(x->rows * x->columns) * sizeof(float));
}

static void same_bits_on_one_two_and_three_threads(void **state)
{
    (void)state;
    static const char *const settings[][7] = {{"dis", "mse", "neg", "3", NULL},
                                              {"dis", "l1", "backbone", "lightgcn", NULL},
                                              {"dis", "dcor", "dis-penalty", "0.1", NULL}};
    listener l;
    listener_init(&l);
    cw_dataset *data = simulate(l.ctx);
    for (size_t s = 0; s < 3; s++) {
        cw_model *first = NULL;
        for (int threads = 1; threads <= 3; threads++) {
            assert_int_equal(cw_context_set_threads(l.ctx, threads), CW_OK);
            cw_model *model = train(l.ctx, data, settings[s]);
            if (first)
                assert_same_table(first, model);
            else
                first = model;
            if (first != model) cw_model_free(model);
        }
        cw_model_free(first);
    }
    cw_dataset_free(data);
    listener_clear(&l);
}

/* Its L2 term is of the final vectors, which without layers are the table. */
static void it_regularises_final_vectors(void **state)
{
    (void)state;
    static const char *const flat[] = {"backbone", "lightgcn", "layers", "0", NULL};
    static const char *const plain[] = {"backbone", "mf", NULL};
    static const char *const final[] = {"backbone", "lightgcn", "reg-target", "final", NULL};
    static const char *const base[] = {"backbone", "lightgcn", "reg-target", "base", NULL};
    static const char *const tuned[] = {"backbone", "lightgcn", NULL};
    listener l;
    listener_init(&l);
    cw_dataset *data = simulate(l.ctx);
    cw_model *mf = train(l.ctx, data, plain), *gcn = train(l.ctx, data, flat);
    int64_t n = mf->params.tensor[0].rows * 8;
    for (int64_t k = 0; k < n; k++) /* sums are made in another order */
        near((double)mf->params.tensor[0].data[k], (double)gcn->params.tensor[0].data[k], 1e-4);
    cw_model *a = train(l.ctx, data, final), *b = train(l.ctx, data, tuned);
    cw_model *c = train(l.ctx, data, base);
    assert_same_table(a, b);
    assert_memory_not_equal(a->params.tensor[0].data, c->params.tensor[0].data, 64);
    cw_model *all[] = {mf, gcn, a, b, c};
    for (int m = 0; m < 5; m++) cw_model_free(all[m]);
    cw_dataset_free(data);
    listener_clear(&l);
}

static void an_odd_size_of_vectors_is_refused(void **state)
{
    (void)state;
    static const char *const odd[] = {"dim", "7", NULL};
    listener l;
    listener_init(&l);
    cw_model *model;
    cw_dataset *data = simulate(l.ctx);
    cw_options *options = run_options(l.ctx, odd);
    assert_int_equal(cw_train(l.ctx, data, options, &model, NULL), CW_BAD_ARG);
    assert_string_equal(cw_context_error(l.ctx),
                        "--dim is '7'; the method cuts the vectors into 2 equal parts");
    cw_options_free(options);
    cw_dataset_free(data);
    listener_clear(&l);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(values_and_gradients_of_the_specification),
        TEST(the_penalty_is_subtracted),
        TEST(weights_fall_by_epoch),
        TEST(a_half_or_both_halves_rank),
        TEST(dcor_is_that_of_the_specification),
        TEST(dcor_of_many_points),
        TEST(dcor_without_meaning_is_nothing),
        TEST(negatives_are_those_of_the_rules),
        TEST(negatives_differ_while_there_are_others),
        cmocka_unit_test(pools_are_those_of_the_specification),
        cmocka_unit_test(same_bits_on_one_two_and_three_threads),
        cmocka_unit_test(it_regularises_final_vectors),
        cmocka_unit_test(an_odd_size_of_vectors_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
