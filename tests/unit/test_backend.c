/* test_backend.c - every table of operations gives the same bits as the reference. */
#include <math.h>

#include "backend/backend.h"
#include "backend/cpu/fused.h"
#include "backend/gemm.h"
#include "core/pool.h"
#include "core/rng.h"
#include "testing.h"

enum { ROWS = 37, MAX_D = 133, PAIRS = 50 };

static float table[ROWS][MAX_D], other[ROWS][MAX_D];

static void fill(void)
{
    cwi_rng rng;
    cwi_rng_init(&rng, 1, CWI_RNG_TEST, 0);
    for (int r = 0; r < ROWS; r++)
        for (int j = 0; j < MAX_D; j++) {
            table[r][j] = (float)cwi_rng_normal(&rng);
            other[r][j] = (float)cwi_rng_normal(&rng) * 1e-3f;
        }
}

static const cwi_ops *next_table(size_t *at)
{
    static const char *const names[] = {"ref", "avx2", "avx512", "neon"};
    while (*at < 4) {
        const cwi_ops *ops = cwi_ops_find(names[(*at)++]);
        if (ops) return ops;
    }
    return NULL;
}

/* Rows of the tables are packed anew for each width. */
static void pack(float from[ROWS][MAX_D], int d, float *to)
{
    for (int r = 0; r < ROWS; r++) memcpy(to + r * d, from[r], (size_t)d * sizeof *to);
}

static void check_products(const cwi_ops *ops, const cwi_ops *ref, int d)
{
    static float a[ROWS * MAX_D], b[ROWS * MAX_D], got[ROWS * ROWS], expected[ROWS * ROWS];
    int32_t ia[PAIRS], ib[PAIRS];
    float weight[PAIRS];
    pack(table, d, a);
    pack(other, d, b);
    for (int k = 0; k < PAIRS; k++) {
        ia[k] = k * 7 % ROWS;
        ib[k] = k * 11 % ROWS;
        weight[k] = sinf((float)k);
    }
    ops->dot_pairs(a, ia, b, ib, PAIRS, d, d, got, 1);
    ref->dot_pairs(a, ia, b, ib, PAIRS, d, d, expected, 1);
    assert_memory_equal(got, expected, PAIRS * sizeof *got);
    ops->weighted_sum(a, d, d, ia, weight, PAIRS, got);
    ref->weighted_sum(a, d, d, ia, weight, PAIRS, expected);
    assert_memory_equal(got, expected, (size_t)d * sizeof *got);
    ops->dot_pairs(a, ia, b, ib, PAIRS, d / 2, d, got, 3); /* half of the columns */
    ref->dot_pairs(a, ia, b, ib, PAIRS, d / 2, d, expected, 3);
    for (int k = 0; k < PAIRS; k++) assert_true(got[3 * k] == expected[3 * k]);
    assert_true(ops->sum_squares(a, ROWS * d) == ref->sum_squares(a, ROWS * d));
}

/* What score_block is for one pair. */
static float fused_sum(const float *user, const float *item, int d)
{
    float sum = 0;
    for (int j = 0; j < d; j++) sum = fmaf(item[j], user[j], sum);
    return sum;
}

/* Blocks that fill tiles and blocks that do not, up to more columns than are packed at once. */
static void check_scores(const cwi_ops *ops, int d)
{
    enum { USERS = 101, ITEMS = 85, MOST = 530 };
    static const int blocks[] = {1, 4, 5, 16, 17, 24, 33, 48, 49, USERS};
    static const int items[] = {1, 7, 8, 33, ITEMS};
    static float a[USERS * MOST], b[ITEMS * MOST], got[USERS * ITEMS + 1], expected[USERS][ITEMS];
    const float *users[USERS];
    for (int k = 0; k < USERS * d; k++) a[k] = sinf((float)k);
    for (int k = 0; k < ITEMS * d; k++) b[k] = cosf((float)(3 * k));
    for (int k = 0; k < USERS; k++) users[k] = a + (USERS - 1 - k) * d;
    for (int k = 0; k < USERS * ITEMS; k++)
        expected[k / ITEMS][k % ITEMS] = fused_sum(users[k / ITEMS], b + k % ITEMS * d, d);
    for (int c = 0; c < 50; c++) {
        int n = blocks[c % 10], n_items = items[c / 10];
        got[n * n_items] = 7;
        ops->score_block(users, n, b, n_items, d, got);
        assert_true(got[n * n_items] == 7);
        for (int k = 0; k < n; k++)
            assert_memory_equal(got + k * n_items, expected[k], (size_t)n_items * sizeof *got);
    }
}

static void scores_are_fused_sums_in_any_block(void **state)
{
    (void)state;
    static const int widths[] = {1, 3, 4, 37, 128, 256, 257, 530};
    const cwi_ops *ops;
    size_t at = 0;
    while ((ops = next_table(&at)) != NULL)
        for (int w = 0; w < 8; w++) check_scores(ops, widths[w]);
}

/* Sums that rounding to double and then to float gets wrong, and those at the ends of the range. */
static void fused_steps_are_rounded_once(void **state)
{
    (void)state;
    static const float hard[][3] = {{0x1.000002p0f, 0x1.fffffcp-25f, 0x1.000002p0f},
                                    {0x1.000002p0f, 0x1.fffffcp-25f, 0x1p0f},
                                    {0x1.000002p0f, 0x1.000002p-24f, 0x1p0f},
                                    {0x1.8p-75f, 0x1.8p-75f, 0x1p-149f},
                                    {0x1.fffffep127f, 0x1p0f, 0x1.fffffep102f},
                                    {0x1.fffffep127f, 0x1p1f, 1},
                                    {0x1p-149f, 0x1p-149f, 1},
                                    {3, 5, -15},
                                    {INFINITY, 1, 1},
                                    {1, 1, INFINITY}};
    enum { N = sizeof hard / sizeof hard[0] };
    for (int c = 0; c < 8 * N; c++) {
        float a = (c & 1 ? -1.0f : 1.0f) * hard[c / 8][0];
        float b = (c & 2 ? -1.0f : 1.0f) * hard[c / 8][1];
        float sum = (c & 4 ? -1.0f : 1.0f) * hard[c / 8][2];
        float exact = fmaf(a, b, sum);
        assert_true(fused_in_double(a, b, sum) == exact);
        assert_true(fused(a, b, sum) == exact);
    }
    assert_true(isnan(fused_in_double(INFINITY, 1, -INFINITY)));
    assert_true(isnan(fused_in_double(NAN, 1, 1)));
}

static void the_first_score_above_a_bound_is_found(void **state)
{
    (void)state;
    enum { N = 90 };
    float score[N];
    const cwi_ops *ops;
    size_t at = 0;
    while ((ops = next_table(&at)) != NULL)
        for (int32_t first = 0; first < N; first++) {
            for (int32_t i = 0; i < N; i++) score[i] = i % 2 ? 1 : -HUGE_VALF;
            assert_int_equal(ops->first_above(score, first, N, 1), N); /* equal is not above */
            score[first] = first % 3 ? 2 : NAN;
            score[N - 1] = 3;
            for (int32_t begin = 0; begin <= first; begin++)
                assert_int_equal(ops->first_above(score, begin, N, 1), first);
            assert_int_equal(ops->first_above(score, 0, first, 1), first); /* does not look there */
        }
}

/* Bytes from one end to the other; bounds that some items reach exactly. */
static void check_screen(const cwi_ops *ops, const cwi_ops *ref, int32_t depth)
{
    enum { USERS = 13, ITEMS = CWI_SCREEN_ITEMS, MOST = 16384 };
    static uint8_t item[ITEMS * MOST];
    static int8_t user[USERS][MOST];
    float scale[ITEMS], length[ITEMS], rest[ITEMS];
    int32_t got[USERS * ITEMS], expected[USERS * ITEMS];
    uint64_t above[USERS], all[USERS];
    cwi_screen_user users[USERS];
    const cwi_screen_panel panel = {item, scale, length, rest};
    for (int32_t e = 0; e < ITEMS * depth; e++) item[e] = (uint8_t)(e / 4 % 7 ? e * 37 % 256 : 255);
    for (int i = 0; i < ITEMS; i++) {
        scale[i] = 1e-3f * (float)(i % 9);
        length[i] = 0.1f * (float)i;
        rest[i] = 1.0f / (float)(i + 1);
    }
    for (int k = 0; k < USERS; k++) {
        int32_t sum = 0;
        for (int32_t j = 0; j < depth; j++)
            sum += user[k][j] = (int8_t)(k ? j * k % 255 - 127 : 127);
        users[k] = (cwi_screen_user){user[k], -128 * sum, 0.3f, 0.7f, k % 2 ? 0.5f : -1e4f};
    }
    ops->screen(&panel, users, USERS, depth, got, above);
    ref->screen(&panel, users, USERS, depth, expected, all);
    assert_memory_equal(got, expected, sizeof got);
    assert_memory_equal(above, all, sizeof above);
    for (int i = 0; i < ITEMS; i++) { /* what it means */
        int32_t sum = 0;
        for (int32_t j = 0; j < depth; j++)
            sum += (item[j / 4 * 4 * ITEMS + 4 * i + j % 4] - 128) * user[2][j];
        assert_int_equal(got[2 * ITEMS + i], sum);
        float upper = (float)sum * scale[i] + (0.3f * length[i] + 0.7f * rest[i]);
        assert_int_equal(above[2] >> i & 1, upper >= -1e4f);
    }
}

static void bytes_are_screened_alike(void **state)
{
    (void)state;
    static const int32_t depths[] = {4, 8, 36, 128, 132, 16384};
    const cwi_ops *ops, *ref = cwi_ops_find("ref");
    size_t at = 0;
    while ((ops = next_table(&at)) != NULL)
        for (int w = 0; w < 6; w++) check_screen(ops, ref, depths[w]);
}

static void random_blocks_are_those_of_the_streams(void **state)
{
    (void)state;
    enum { MOST = 40 };
    const uint64_t seed = 0x123456789abcdefull, first = 0xffffffffull - 20; /* carries */
    uint32_t word[4 * MOST + 1];
    const cwi_ops *ops;
    size_t at = 0;
    while ((ops = next_table(&at)) != NULL)
        for (int64_t n = 0; n <= MOST; n++) {
            word[4 * n] = 77;
            ops->random_blocks(seed, CWI_RNG_TEST, first, n, word);
            assert_int_equal(word[4 * n], 77);
            for (int64_t k = 0; k < n; k++) {
                cwi_rng one, with;
                cwi_rng_init(&one, seed, CWI_RNG_TEST, first + (uint64_t)k);
                cwi_rng_init_with(&with, seed, CWI_RNG_TEST, first + (uint64_t)k, word + 4 * k);
                for (int w = 0; w < 9; w++) assert_int_equal(cwi_rng_u32(&one), cwi_rng_u32(&with));
            }
        }
}

/* At least k numbers reach the result, and hardly more. */
static void a_number_that_enough_reach_is_found(void **state)
{
    (void)state;
    enum { N = 128 };
    float x[N];
    const cwi_ops *ops, *ref = cwi_ops_find("ref");
    size_t at = 0;
    for (int i = 0; i < N; i++) x[i] = i % 4 ? (float)(i * 37 % N) : -INFINITY; /* 96 numbers */
    while ((ops = next_table(&at)) != NULL) {
        for (int32_t k = 1; k <= 96; k++) {
            float found = ops->reached(x, N, k, -INFINITY);
            int32_t count = 0;
            for (int i = 0; i < N; i++) count += x[i] >= found;
            assert_true(count >= k && count <= k + k / 16);
            assert_true(found == ref->reached(x, N, k, -INFINITY));
        }
        assert_true(ops->reached(x, N, 97, -INFINITY) == -INFINITY);
        assert_true(ops->reached(x, N, 97, -5) == -5);
        assert_true(ops->reached(x, N, 20, 90) >= 90);
    }
}

static void places_are_those_of_a_sorted_list(void **state)
{
    (void)state;
    enum { MOST = 70 };
    float score[MOST];
    int32_t place[MOST + 1];
    const cwi_ops *ops;
    size_t at = 0;
    while ((ops = next_table(&at)) != NULL)
        for (int32_t n = 0; n <= MOST; n++) {
            for (int i = 0; i < n; i++) score[i] = (float)(i * 7 % 13) - 6; /* many are equal */
            place[n] = -7;
            ops->places(score, n, place);
            assert_int_equal(place[n], -7);
            for (int i = 0; i < n; i++) {
                int32_t before = 0;
                for (int j = 0; j < n; j++)
                    before += score[j] > score[i] || (score[j] == score[i] && j < i);
                assert_int_equal(place[i], before);
            }
        }
}

/* Rows of 0, 1, 2, ... entries, PAIRS in all; `add` and the result share their place when asked. */
static void check_sparse(const cwi_ops *ops, const cwi_ops *ref, int d, bool in_place)
{
    static float from[ROWS * MAX_D], add[ROWS * MAX_D], got[ROWS * MAX_D], expected[ROWS * MAX_D];
    int64_t start[] = {0, 0, 1, 3, 6, 10, 15, 21, 28, 36, 45, PAIRS};
    enum { N = sizeof start / sizeof start[0] - 1 };
    int32_t column[PAIRS];
    float weight[PAIRS];
    const cwi_sparse a = {start, column, weight, start[N]};
    pack(table, d, from);
    pack(other, d, add);
    for (int k = 0; k < PAIRS; k++) {
        column[k] = k * 7 % ROWS;
        weight[k] = sinf((float)k);
    }
    for (int r = 0; r < N; r++) {
        float *row = expected + r * d;
        ref->weighted_sum(from, d, d, column + start[r], weight + start[r], start[r + 1] - start[r],
                          row);
        for (int j = 0; j < d; j++) row[j] = 0.3f * (row[j] + add[r * d + j]);
    }
    memcpy(got, add, sizeof got);
    const cwi_product p = {
        .from = from, .d = d, .add = in_place ? got : add, .scale = 0.3f, .to = got};
    ops->sparse_rows(&a, &p, 0, 4);
    ops->sparse_rows(&a, &p, 4, N);
    assert_memory_equal(got, expected, (size_t)(N * d) * sizeof *got);
    assert_memory_equal(got + N * d, add + N * d, (size_t)d * sizeof *got);
}

/* The operations of a layer of ReLUs, each on top of what is there already. */
static void check_relus(const cwi_ops *ops, const cwi_ops *ref, int d)
{
    static float a[ROWS * MAX_D], b[ROWS * MAX_D], got[2][ROWS * ROWS];
    int32_t ia[PAIRS], ib[PAIRS];
    float weight[PAIRS];
    const float *users[ROWS];
    const cwi_ops *tables[] = {ops, ref};
    pack(table, d, a);
    pack(other, d, b);
    for (int k = 0; k < PAIRS; k++) {
        ia[k] = k * 7 % ROWS;
        ib[k] = k * 11 % ROWS;
        weight[k] = sinf((float)k);
    }
    for (int r = 0; r < ROWS; r++) users[r] = a + r * d;
    for (int t = 0; t < 2; t++) {
        for (int k = 0; k < ROWS * ROWS; k++) got[t][k] = cosf((float)k);
        tables[t]->relu_pairs(other[1], a, ia, ib, PAIRS, d / 2, d, got[t], 3);
        tables[t]->gated_sum(other[2], a, d, d, ia, weight, PAIRS, got[t] + 3 * PAIRS);
        tables[t]->max_block(other[3], other[4], users, 5, b, ROWS, d, got[t] + 3 * PAIRS + d);
    }
    assert_memory_equal(got[0], got[1], sizeof got[0]);
}

/* One pair by hand; what is not a number is not hidden by a maximum. */
static void relus_are_right(void **state)
{
    (void)state;
    static const float rows[2][4] = {{1, -2, 3, -4}, {2, 1, -5, 4}}, weight[] = {1, 10, 100, 1000};
    static const float constant[] = {0.5f};
    const int32_t zero[] = {0}, one[] = {1};
    const float *user[] = {rows[0]};
    const cwi_ops *ref = cwi_ops_find("ref");
    float out = 7, gated[4], bad[2][4];
    ref->relu_pairs(weight, rows[0], zero, one, 1, 4, 4, &out, 1);
    assert_true(out == 7 + 3); /* sums 3, -1, -2, 0 */
    ref->gated_sum(rows[0], rows[0], 4, 4, one, weight + 1, 1, gated);
    assert_true(gated[0] == 10 && gated[1] == 0 && gated[2] == 0 && gated[3] == 0);
    ref->max_block(weight, constant, user, 1, rows[1], 1, 4, &out);
    assert_true(out == 10 + 0.5f + 2 + 10 + 300 + 4000);
    memcpy(bad, rows, sizeof bad);
    bad[0][1] = NAN;
    user[0] = bad[0];
    ref->max_block(weight, constant, user, 1, bad[1], 1, 4, &out);
    assert_true(isnan(out));
    out = 0;
    ref->relu_pairs(weight, bad[0], zero, one, 1, 4, 4, &out, 1);
    assert_true(isnan(out));
}

static void check_adam(const cwi_ops *ops, const cwi_ops *ref, int d)
{
    const cwi_rates step = {1e-3f, 0.9f, 0.999f, 1e-8f, 1e-4f};
    float x[2][3][MAX_D];
    const cwi_ops *tables[] = {ops, ref};
    for (int t = 0; t < 2; t++) {
        memcpy(x[t][0], table[0], sizeof x[t][0]);
        memcpy(x[t][1], other[1], sizeof x[t][1]);
        for (int j = 0; j < MAX_D; j++) x[t][2][j] = other[2][j] * other[2][j];
        tables[t]->adam(x[t][0], x[t][1], x[t][2], other[3], d, &step);
        tables[t]->adam(x[t][0], x[t][1], x[t][2], NULL, d, &step);
    }
    assert_memory_equal(x[0], x[1], sizeof x[0]);
}

/* A row of the deferred Adam through all its operations. */
static void check_deferred(const cwi_ops *ops, const cwi_ops *ref, int d)
{
    const cwi_rates step = {1e-3f, 0.9f, 0.999f, 1e-8f, 1e-4f};
    const cwi_adam_pause pause = {4e-3f, 2e-3f, 0.5f, 0.98f, 1e-8f};
    const cwi_adam_gap gap[] = {{2e-3f, 3e-3f, 0.99f, 0.5f, 0.98f, 1e-8f, 1e-4f},
                                {1e-3f, 9e-3f, 0.95f, 0.1f, 0.9f, 1e-8f, 1e-4f}};
    const cwi_ops *tables[] = {ops, ref};
    float theta[2][MAX_D], root[2][MAX_D], seen[2][3][MAX_D] = {0}, pull[2][2], apart[2][2];
    int16_t drift[2][MAX_D];
    for (int t = 0; t < 2; t++) {
        cwi_adam_row row = {theta[t], drift[t], root[t]}, peek = {.theta = seen[t][1]};
        memcpy(theta[t], table[0], sizeof theta[t]);
        for (int j = 0; j < MAX_D; j++) {
            root[t][j] = fabsf(other[2][j]);
            drift[t][j] = (int16_t)(1000 * CWI_DRIFT_UNITS * other[1][j]);
        }
        tables[t]->adam_peek(theta[t], drift[t], d, 0.99f, 1e-6f, seen[t][0]);
        apart[t][0] = tables[t]->dot_apart(theta[t], drift[t], 0.99f, 1e-6f, table[1], other[4], d);
        apart[t][1] = tables[t]->dot_apart(theta[t], NULL, 0, 0, table[1], other[4], d);
        tables[t]->adam_missed(&row, d, 1e-8f, gap, 2, &peek);
        tables[t]->adam_late(&row, other[3], d, &pause, &step, seen[t][2]);
        pull[t][0] = tables[t]->adam_pull(theta[t], root[t], d, 1e-8f);
        tables[t]->adam_missed(&row, d, 1e-8f, gap, 2, &row);
        pull[t][1] = tables[t]->adam_pull(theta[t], root[t], d, 1e-8f);
    }
    assert_memory_equal(theta[0], theta[1], sizeof theta[0]);
    assert_memory_equal(drift[0], drift[1], sizeof drift[0]);
    assert_memory_equal(root[0], root[1], sizeof root[0]);
    assert_memory_equal(seen[0], seen[1], sizeof seen[0]);
    assert_memory_equal(pull[0], pull[1], sizeof pull[0]);
    assert_memory_equal(apart[0], apart[1], sizeof apart[0]);
    for (int k = 0; k < 2; k++) { /* the row as adam_peek sees it, and as it is */
        double sum = 0;
        for (int j = 0; j < d; j++)
            sum += (double)(k == 0 ? seen[0][0][j] : table[0][j]) *
                   ((double)table[1][j] - (double)other[4][j]);
        assert_true(fabs((double)apart[0][k] - sum) < 1e-6 * (1 + fabs(sum)));
    }
}

/* Marks of all kinds, and vectors of length 0 and above. */
static void check_layers(const cwi_ops *ops, const cwi_ops *ref, int d)
{
    float x[2][6][MAX_D] = {0}, factor[2];
    uint8_t sign[2][MAX_D];
    const cwi_ops *tables[] = {ops, ref};
    for (int t = 0; t < 2; t++) {
        const cwi_ops *o = tables[t];
        for (int j = 0; j < MAX_D; j++) sign[t][j] = j % 5 == 0 ? CWI_SIGN_DROP : 0;
        memcpy(x[t][0], table[4], sizeof x[t][0]);
        memcpy(x[t][1], table[5], sizeof x[t][1]);
        o->multiply(table[6], table[7], d, x[t][2]);
        o->multiply_back(table[6], table[7], d, x[t][2], x[t][1]);
        o->leaky_sum(x[t][0], other[0], x[t][1], other[1], d, 1.25f, sign[t]);
        factor[t] = o->normalise(x[t][0], d, x[t][3]);
        o->normalise_back(x[t][3], factor[t], table[8], d, x[t][2]);
        o->leaky_sum_back(x[t][2], sign[t], d, 1.25f, x[t][4]);
        o->normalise_back(x[t][5], o->normalise(x[t][5], d, x[t][5]), table[9], d, x[t][4]);
    }
    assert_memory_equal(x[0], x[1], sizeof x[0]);
    assert_memory_equal(sign[0], sign[1], sizeof sign[0]);
    assert_true(factor[0] == factor[1]);
}

/* Numbers of all sizes, some of them left out, and what is made of them. */
static void check_softmax(const cwi_ops *ops, const cwi_ops *ref, int d)
{
    float x[2][10][MAX_D] = {0}, sum[2][7];
    double mirrored[2];
    const cwi_ops *tables[] = {ops, ref};
    for (int t = 0; t < 2; t++) {
        const cwi_ops *o = tables[t];
        for (int j = 0; j < d; j++) x[t][0][j] = j % 7 == 3 ? -INFINITY : 40 * table[j % ROWS][0];
        sum[t][0] = o->exp_row(x[t][0], NULL, 3, d, x[t][1]);
        sum[t][1] = o->exp_row(x[t][0], other[0], -1, d, x[t][2]);
        sum[t][2] = o->softplus_row(x[t][0], d, x[t][3]);
        sum[t][3] = o->largest(x[t][0], other[1], d);
        o->keep_larger(x[t][0], d, x[t][4]);
        memcpy(x[t][5], x[t][0], sizeof x[t][5]);
        sum[t][4] = (float)o->keep_largest(x[t][5], d, (d + 2) / 3);
        o->blend(0.3f, x[t][1], other[2], x[t][2], d, x[t][6]);
        o->blend(0.7f, x[t][1], NULL, NULL, d, x[t][7]);
        o->margin_row(x[t][0], other[3], 0.7f, other[4], d, x[t][8]);
        sum[t][5] = o->power_row(x[t][0], 0.2f, 0.1f, 1.5f, d, x[t][9], &sum[t][6]);
        mirrored[t] = o->mirror_row(0.3f, x[t][1], other[5], d, x[t][1]);
    }
    assert_memory_equal(mirrored, mirrored + 1, sizeof mirrored[0]);
    assert_memory_equal(x[0], x[1], sizeof x[0]);
    assert_memory_equal(sum[0], sum[1], sizeof sum[0]);
}

static void exponentials_of_the_reference_are_right(void **state)
{
    (void)state;
    const cwi_ops *ref = cwi_ops_find("ref");
    float x[400], out[400];
    double sum = 0, soft = 0;
    for (int j = 0; j < 400; j++) x[j] = (float)(j - 200) * 0.43f;
    x[399] = -INFINITY;
    float got = ref->exp_row(x, NULL, 1.5f, 400, out);
    for (int j = 0; j < 400; j++) {
        double exact = exp((double)(x[j] - 1.5f));
        if (x[j] - 1.5f < -87) exact = 0;
        sum += exact;
        assert_true(fabs((double)out[j] - exact) <= 3e-7 * exact);
    }
    assert_true(fabs((double)got - sum) < 1e-6 * sum);
    got = ref->softplus_row(x, 400, out);
    for (int j = 0; j < 400; j++) {
        double exact = 1 / (1 + exp(-(double)x[j]));
        soft += x[j] > 30 ? (double)x[j] : log1p(exp((double)x[j]));
        assert_true(fabs((double)out[j] - exact) <= 4e-7 * exact + 1e-37);
    }
    assert_true(fabs((double)got - soft) < 1e-6 * soft);
    x[7] = NAN;
    assert_true(isnan(ref->exp_row(x, NULL, 0, 400, out)) && isnan(out[7]));
    assert_true(isnan(ref->softplus_row(x, 400, out)) && isnan(out[7]));
}

static void powers_of_the_reference_are_right(void **state)
{
    enum { N = 300 };
    static const float t[] = {0.05f, 0.3f, 1, 4};
    const cwi_ops *ref = cwi_ops_find("ref");
    float x[N], out[N], back;
    (void)state;
    for (size_t k = 0; k < sizeof t / sizeof t[0]; k++) {
        double terms = 0, slopes = 0;
        for (int j = 0; j < N; j++) x[j] = (float)(j - 120) / (80 * t[k]);
        x[N - 1] = -INFINITY;
        float less = t[k] < 0.1f ? 20 : 0, own = 0.25f;
        float got = ref->power_row(x, own, t[k], less, N, out, &back);
        for (int j = 0; j < N; j++) {
            double base = (double)((x[j] - own) * t[k] + 1), log_of = log(base) / (double)t[k];
            double term = base > 0 ? exp(log_of - (double)less) : 0;
            double apart = 3e-7 * (1 + fabs(log_of) + (double)less) * term / base;
            terms += term;
            slopes += base > 0 ? term / base : 0;
            if (base <= 0 || log_of - (double)less < -86)
                assert_true(out[j] >= 0 && out[j] < 1e-30f);
            else
                assert_true(fabs((double)out[j] - term / base) <= apart);
        }
        assert_true(fabs((double)got - terms) < 1e-5 * terms);
        assert_true(fabs((double)back - slopes) < 1e-5 * slopes);
    }
    x[7] = NAN;
    assert_true(isnan(ref->power_row(x, 0, 1, 0, N, out, &back)) && isnan(out[7]) && isnan(back));
}

/* Blocks whose sides are no multiples of four, and no more lanes than rows. */
static void rows_become_columns(const cwi_ops *ops, int d)
{
    enum { STRIDE = 11, LANES = 12 };
    float from[7 * STRIDE], to[STRIDE * LANES];
    int32_t rows = d % 7 + 1, columns = d % STRIDE + 1, lanes = d % 2 ? LANES : rows;
    for (int k = 0; k < 7 * STRIDE; k++) from[k] = (float)(k + 1);
    memset(to, 0xff, sizeof to);
    ops->turn(from, STRIDE, rows, columns, lanes, to);
    for (int32_t c = 0; c < columns; c++)
        for (int32_t r = 0; r < lanes; r++)
            assert_true(to[c * lanes + r] == (r < rows ? from[r * STRIDE + c] : 0));
}

/* Of equal numbers the first stay, and what was left out does not come back. */
static void the_largest_numbers_are_kept(void **state)
{
    (void)state;
    const cwi_ops *ref = cwi_ops_find("ref");
    const float none = -INFINITY, first[] = {2, -1, none, 2, 0, -0.0f, 2, -3, 5};
    float x[9];
    memcpy(x, first, sizeof x);
    assert_int_equal(ref->keep_largest(x, 9, 3), 3);
    assert_memory_equal(x, ((float[]){2, none, none, 2, none, none, none, none, 5}), sizeof x);
    memcpy(x, first, sizeof x);
    assert_int_equal(ref->keep_largest(x, 9, 5), 5);
    assert_memory_equal(x, ((float[]){2, none, none, 2, 0, none, 2, none, 5}), sizeof x);
    memcpy(x, first, sizeof x);
    assert_int_equal(ref->keep_largest(x, 9, 8), 8);
    assert_memory_equal(x, first, sizeof x);
}

static int compare_floats(const void *a, const void *b)
{
    float x = *(const float *)a, y = *(const float *)b;
    return x < y ? 1 : x > y ? -1 : 0;
}

/* Numbers alike, of very different size, equal to each other or left out. */
static float one_of_a_kind(int kind, int j)
{
    float x = table[j % ROWS][j % MAX_D];
    if (kind == 1) return ldexpf(x, 20 * (j % 11 - 5));
    if (kind == 2) return (float)(j % 5);
    if (kind == 3) return j % 3 ? -INFINITY : x;
    if (kind == 4) return j == 17 ? INFINITY : -x * x * x;
    return x;
}

static void those_kept_are_the_largest(void **state)
{
    enum { N = 2500, KINDS = 5 }; /* more than are put side by side */
    const cwi_ops *ops = cwi_ops_best();
    static const int64_t many[] = {1, 2, 7, 625, 1250, 2499, 2500};
    float x[N], sorted[N];
    (void)state;
    fill();
    for (int kind = 0; kind < KINDS; kind++)
        for (size_t m = 0; m < sizeof many / sizeof many[0]; m++) {
            for (int j = 0; j < N; j++) x[j] = sorted[j] = one_of_a_kind(kind, j);
            qsort(sorted, N, sizeof *sorted, compare_floats);
            int64_t kept = ops->keep_largest(x, N, many[m]);
            qsort(x, N, sizeof *x, compare_floats);
            for (int64_t j = kept; j < N; j++) sorted[j] = -INFINITY;
            assert_true(kept == many[m] || sorted[kept - 1] > -FLT_MAX);
            assert_memory_equal(x, sorted, sizeof x);
        }
}

/* Nothing was missed: a late step is a step, but for the units of the drift. */
static void a_late_step_that_missed_nothing_is_a_step(void **state)
{
    (void)state;
    enum { D = 40, STEPS = 60 };
    const float eps = 1e-8f;
    const cwi_adam_pause none = {0, 0, 1, 1, eps};
    const cwi_ops *ref = cwi_ops_find("ref");
    float theta[D], m[D] = {0}, v[D] = {0}, late[D], now[D], before[D], root[D] = {0}, gradient[D],
                    want = 0;
    int16_t drift[D] = {0};
    const cwi_adam_row row = {late, drift, root};
    fill();
    memcpy(theta, table[0], sizeof theta);
    memcpy(late, table[0], sizeof late);
    for (int t = 1; t <= STEPS; t++) {
        float rate = 1e-3f * sqrtf(1 - powf(0.999f, (float)t)) / (1 - powf(0.9f, (float)t));
        const cwi_rates step = {rate, 0.9f, 0.999f, eps, 1e-3f};
        for (int j = 0; j < D; j++) gradient[j] = other[t % ROWS][j] * 1e-3f;
        ref->adam(theta, m, v, gradient, D, &step);
        memcpy(before, late, sizeof before);
        ref->adam_late(&row, gradient, D, &none, &step, now);
        assert_memory_equal(now, before, sizeof now);
    }
    float square = 0;
    for (int j = 0; j < D; j++) {
        assert_true(fabsf(late[j] - theta[j]) < 3e-6f);
        assert_true(fabsf(root[j] - sqrtf(v[j])) < 1e-5f * root[j]);
        assert_true(fabsf((float)drift[j] - CWI_DRIFT_UNITS * m[j] / (sqrtf(v[j]) + eps)) < 4);
        want += theta[j] * theta[j] * sqrtf(v[j]);
        square += theta[j] * theta[j];
    }
    assert_true(fabsf(ref->adam_pull(late, root, D, eps) * (want / square + eps) - 1) < 1e-4f);
    memset(late, 0, sizeof late);
    assert_true(ref->adam_pull(late, root, D, eps) == 0); /* zeros are not pulled */
}

static void all_tables_agree_bit_for_bit(void **state)
{
    (void)state;
    static const int widths[] = {1, 2, 15, 16, 17, 32, 64, 100, 128, 133};
    const cwi_ops *ops, *ref = cwi_ops_find("ref");
    size_t at = 0;
    fill();
    while ((ops = next_table(&at)) != NULL) {
        print_message("table %s\n", ops->name);
        for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
            check_products(ops, ref, widths[w]);
            check_sparse(ops, ref, widths[w], false);
            check_sparse(ops, ref, widths[w], true);
            check_relus(ops, ref, widths[w]);
            check_adam(ops, ref, widths[w]);
            check_deferred(ops, ref, widths[w]);
            check_layers(ops, ref, widths[w]);
            check_softmax(ops, ref, widths[w]);
            rows_become_columns(ops, widths[w]);
        }
    }
}

static void the_reference_is_right(void **state)
{
    (void)state;
    const cwi_ops *ref = cwi_ops_find("ref");
    const int32_t zero[] = {0};
    float out;
    fill();
    for (int d = 1; d <= MAX_D; d++) {
        double exact = 0, scale = 0;
        for (int j = 0; j < d; j++) {
            exact += (double)table[0][j] * (double)other[0][j];
            scale += fabs((double)table[0][j] * (double)other[0][j]);
        }
        ref->dot_pairs(table[0], zero, other[0], zero, 1, d, d, &out, 1);
        assert_true(fabs((double)out - exact) <= 1e-6 * scale);
    }
    assert_null(cwi_ops_find("abacus"));
    assert_non_null(cwi_ops_best());
}

static void a_table_can_be_chosen_where_there_is_one(void **state)
{
    (void)state;
    static const char *const others[] = {"abacus", "", "AVX2", "ref "};
    char expected[256], names[64] = "auto";
    const cwi_ops *ops, *best = cwi_ops_find(cw_cpu_isa());
    listener l;
    size_t at = 0;
    listener_init(&l);
    assert_non_null(best);
    assert_ptr_equal(cwi_ops_best(), best);
    while ((ops = next_table(&at)) != NULL) {
        assert_int_equal(cw_use_isa(l.ctx, ops->name), CW_OK);
        assert_ptr_equal(cwi_ops_best(), ops);
        snprintf(names + strlen(names), sizeof names - strlen(names), "|%s", ops->name);
    }
    assert_int_equal(cw_use_isa(l.ctx, "ref"), CW_OK);
    for (size_t k = 0; k < 4; k++) {
        assert_int_equal(cw_use_isa(l.ctx, others[k]), CW_BAD_ARG);
        snprintf(expected, sizeof expected, "--isa is '%s'; on this machine it must be one of %s",
                 others[k], names);
        assert_string_equal(cw_context_error(l.ctx), expected);
        assert_string_equal(cwi_ops_best()->name, "ref"); /* as it was */
    }
    assert_int_equal(cw_use_isa(l.ctx, "auto"), CW_OK);
    assert_string_equal(cw_context_error(l.ctx), "");
    assert_ptr_equal(cwi_ops_best(), best);
    listener_clear(&l);
}

/* By hand: a bend at zero belongs to the slope 0.2, an entry that is left out has neither value nor
 * slope, and a vector shorter than 1e-6 is only scaled. */
static void layers_of_the_reference_are_right(void **state)
{
    (void)state;
    const cwi_ops *ref = cwi_ops_find("ref");
    const float zero[4] = {0}, b[] = {-1, 2, 0, 1}, slope[] = {1, 0.5f};
    float a[] = {1, -2, 0, 1}, gb[4], g[] = {1, 1, 1, 1}, out[2], back[2] = {0};
    uint8_t sign[4] = {0, 0, 0, CWI_SIGN_DROP};
    const float sum[] = {2 * (1 - 0.2f), 2 * (2 - 0.4f), 0, 0};
    ref->leaky_sum(a, zero, b, zero, 4, 2, sign);
    for (int j = 0; j < 4; j++) assert_true(fabsf(a[j] - sum[j]) < 1e-6f);
    assert_int_equal(sign[0], CWI_SIGN_A);
    assert_int_equal(sign[1], CWI_SIGN_B);
    assert_int_equal(sign[2], 0);
    assert_int_equal(sign[3], CWI_SIGN_A | CWI_SIGN_B | CWI_SIGN_DROP);
    ref->leaky_sum_back(g, sign, 4, 2, gb);
    assert_memory_equal(g, ((float[]){2, 0.2f * 2, 0.2f * 2, 0}), sizeof g);
    assert_memory_equal(gb, ((float[]){0.2f * 2, 2, 0.2f * 2, 0}), sizeof gb);
    float factor = ref->normalise((float[]){3, 4}, 2, out);
    assert_true(fabsf(factor - 0.2f) < 1e-7f && fabsf(out[0] - 0.6f) < 1e-6f);
    ref->normalise_back(out, factor, slope, 2, back); /* (1 - 0.6, 0.5 - 0.8) / 5 */
    assert_true(fabsf(back[0] - 0.08f) < 1e-6f && fabsf(back[1] + 0.06f) < 1e-6f);
    factor = ref->normalise((float[]){3e-8f, 4e-8f}, 2, out);
    assert_true(fabsf(factor - 1e6f) < 1 && fabsf(out[1] - 0.04f) < 1e-6f);
    back[0] = back[1] = 0;
    ref->normalise_back(out, factor, slope, 2, back);
    assert_true(fabsf(back[0] - 1e6f) < 1 && fabsf(back[1] - 5e5f) < 1);
}

enum { MOST_M = 19, MOST_N = 67, MOST_K = 520, GAP = 3, GUARD = 16 };

/* A product with gaps between rows. */
typedef struct sized {
    bool ta, tb;
    int32_t m, n, k;
    float beta;
} sized;

static void multiply_sized(const cwi_ops *ops, const sized *x, const float *a, const float *b,
                           float *c)
{
    ops->gemm(x->ta, x->tb, x->m, x->n, x->k, a, (x->ta ? x->m : x->k) + GAP, b,
              (x->tb ? x->k : x->n) + GAP, x->beta, c, x->n + GAP);
}

/* What gemm is defined to be, entry by entry. */
static float sized_entry(const sized *x, const float *a, const float *b, float c, int32_t r,
                         int32_t s)
{
    int32_t lda = (x->ta ? x->m : x->k) + GAP, ldb = (x->tb ? x->k : x->n) + GAP;
    float sum = x->beta == 0 ? 0 : x->beta * c;
    for (int32_t j = 0; j < x->k; j++)
        sum = fmaf(a[x->ta ? j * lda + r : r * lda + j], b[x->tb ? s * ldb + j : j * ldb + s], sum);
    return sum;
}

/* What must not be read is NaN, and so is c where beta is 0. */
static void check_sized(const sized *x, const float *a, const float *b, const float *start)
{
    enum { ENTRIES = MOST_M * (MOST_N + GAP) + 2 * GUARD };
    static float expected[ENTRIES], got[ENTRIES];
    int32_t ldc = x->n + GAP;
    size_t at = 0;
    const cwi_ops *ops;
    memcpy(expected, start, sizeof expected);
    for (int32_t r = 0; r < x->m; r++)
        for (int32_t s = 0; s < x->n; s++) {
            float *c = expected + GUARD + r * ldc + s;
            *c = sized_entry(x, a, b, *c, r, s);
        }
    while ((ops = next_table(&at)) != NULL) {
        memcpy(got, start, sizeof got);
        if (x->beta == 0)
            for (int32_t r = 0; r < x->m; r++)
                for (int32_t s = 0; s < x->n; s++)
                    got[GUARD + r * ldc + s] = s % 2 ? NAN : INFINITY;
        multiply_sized(ops, x, a, b, got + GUARD);
        assert_memory_equal(got, expected, sizeof got);
    }
}

/* Numbers in rows with gaps of NaN. */
static void fill_rows(cwi_rng *rng, int32_t rows, int32_t columns, float *to)
{
    for (int32_t r = 0; r < rows; r++)
        for (int32_t j = 0; j < columns + GAP; j++)
            *to++ = j < columns ? (float)cwi_rng_normal(rng) : NAN;
}

/* Tiles and vectors of every table that are filled and that are not, several blocks of k, none. */
static void products_are_one_chain_of_fused_steps(void **state)
{
    (void)state;
    static const int32_t ms[] = {1, 3, 4, 7, 8, 9, MOST_M};
    static const int32_t ns[] = {1, 3, 4, 8, 13, 16, 17, 24, 25, 32, 33, 40, 47, MOST_N};
    static const int32_t ks[] = {0, 1, 5, 64, 256, 257, MOST_K};
    static const float betas[] = {0, 1, 0.3f, -1};
    static float a[(MOST_M + GAP) * (MOST_K + GAP)], b[(MOST_N + GAP) * (MOST_K + GAP)];
    static float c[MOST_M * (MOST_N + GAP) + 2 * GUARD];
    cwi_rng rng;
    cwi_rng_init(&rng, 5, CWI_RNG_TEST, 0);
    for (size_t k = 0; k < sizeof c / sizeof *c; k++) c[k] = (float)cwi_rng_normal(&rng);
    for (unsigned t = 0; t < 7 * 14 * 7 * 4; t++) {
        sized x = {t & 1, t & 2, ms[t % 7], ns[t / 7 % 14], ks[t / 98 % 7], betas[t * 5 / 28 % 4]};
        fill_rows(&rng, x.ta ? x.k : x.m, x.ta ? x.m : x.k, a);
        fill_rows(&rng, x.tb ? x.n : x.k, x.tb ? x.k : x.n, b);
        check_sized(&x, a, b, c);
    }
}

/* Blocks against the whole. */
static void matrix_products_are_right_on_any_number_of_threads(void **state)
{
    (void)state;
    const cwi_ops *ref = cwi_ops_find("ref");
    enum { M = 700, N = 9, K = 13 };
    static float a[M * K], b[M * N], first[M * N], c[M * N], sum[K * N], plain[M * N];
    static float room[CWI_GEMM_PARTS * K * N], first_sum[K * N];
    cwi_rng rng;
    listener l;
    listener_init(&l);
    cwi_rng_init(&rng, 2, CWI_RNG_TEST, 0);
    for (int k = 0; k < M * K; k++) a[k] = (float)cwi_rng_normal(&rng);
    for (int k = 0; k < M * N; k++) b[k] = (float)cwi_rng_normal(&rng);
    ref->gemm(false, false, M, N, K, a, K, b, N, 0, plain, N);
    for (int threads = 1; threads <= 3; threads++) {
        assert_int_equal(cw_context_set_threads(l.ctx, threads), CW_OK);
        assert_int_equal(cwi_gemm(l.ctx, M, N, K, a, K, false, b, N, 0, c, N), CW_OK);
        assert_int_equal(cwi_gemm_sum(l.ctx, M, K, N, a, K, b, N, sum, room), CW_OK);
        if (threads == 1) memcpy(first, c, sizeof c), memcpy(first_sum, sum, sizeof sum);
        assert_memory_equal(first, c, sizeof c);
        assert_memory_equal(first_sum, sum, sizeof sum);
    }
    assert_memory_equal(c, plain, sizeof c);
    ref->gemm(true, false, K, N, M, a, K, b, N, 0, plain, N);
    for (int k = 0; k < K * N; k++) assert_true(fabsf(sum[k] - plain[k]) < 1e-3f);
    listener_clear(&l);
}

/* Tiles that do and do not fill the matrix, on both orders of both factors. */
static void products_in_tiles_are_right_on_any_number_of_threads(void **state)
{
    (void)state;
    const cwi_ops *ref = cwi_ops_find("ref");
    enum { M = 300, N = 520, K = 7 };
    static float a[M * K], b[K * N], start[M * N], c[M * N], plain[M * N];
    cwi_rng rng;
    listener l;
    listener_init(&l);
    cwi_rng_init(&rng, 3, CWI_RNG_TEST, 0);
    for (int k = 0; k < M * K; k++) a[k] = (float)cwi_rng_normal(&rng);
    for (int k = 0; k < K * N; k++) b[k] = (float)cwi_rng_normal(&rng);
    for (int k = 0; k < M * N; k++) start[k] = (float)cwi_rng_normal(&rng);
    for (int turned = 0; turned < 4; turned++) {
        bool ta = turned & 1, tb = turned & 2;
        int32_t lda = ta ? M : K, ldb = tb ? K : N;
        memcpy(plain, start, sizeof plain);
        ref->gemm(ta, tb, M, N, K, a, lda, b, ldb, 0.5f, plain, N);
        for (int threads = 1; threads <= 3; threads++) {
            assert_int_equal(cw_context_set_threads(l.ctx, threads), CW_OK);
            memcpy(c, start, sizeof c);
            assert_int_equal(cwi_gemm_tiled(l.ctx, ta, tb, M, N, K, a, lda, b, ldb, 0.5f, c, N),
                             CW_OK);
            assert_memory_equal(c, plain, sizeof c);
        }
    }
    listener_clear(&l);
}

enum { SIDE = 128, INNER = 68 };

typedef struct product {
    float a[SIDE * INNER], b[INNER * SIDE], c[SIDE * SIDE];
} product;

static cw_status multiply_again(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const product *p = arg;
    float c[SIDE * SIDE];
    (void)chunk;
    for (int64_t k = begin; k < end; k++) {
        cwi_ops_best()->gemm(false, false, SIDE, SIDE, INNER, p->a, INNER, p->b, SIDE, 0, c, SIDE);
        if (memcmp(c, p->c, sizeof c) != 0) return CW_BAD_DATA;
    }
    return CW_OK;
}

/* Products share no scratch memory. */
static void products_on_several_threads_at_once_are_right(void **state)
{
    (void)state;
    static product p;
    cwi_rng rng;
    listener l;
    listener_init(&l);
    cwi_rng_init(&rng, 4, CWI_RNG_TEST, 0);
    for (int k = 0; k < SIDE * INNER; k++) {
        p.a[k] = (float)cwi_rng_normal(&rng);
        p.b[k] = (float)cwi_rng_normal(&rng);
    }
    cwi_ops_best()->gemm(false, false, SIDE, SIDE, INNER, p.a, INNER, p.b, SIDE, 0, p.c, SIDE);
    assert_int_equal(cw_context_set_threads(l.ctx, 3), CW_OK);
    assert_int_equal(cwi_pool_for(l.ctx, 20000, 50, multiply_again, &p), CW_OK);
    listener_clear(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_tables_agree_bit_for_bit),
        cmocka_unit_test(a_late_step_that_missed_nothing_is_a_step),
        cmocka_unit_test(scores_are_fused_sums_in_any_block),
        cmocka_unit_test(fused_steps_are_rounded_once),
        cmocka_unit_test(the_first_score_above_a_bound_is_found),
        cmocka_unit_test(bytes_are_screened_alike),
        cmocka_unit_test(a_number_that_enough_reach_is_found),
        cmocka_unit_test(random_blocks_are_those_of_the_streams),
        cmocka_unit_test(places_are_those_of_a_sorted_list),
        cmocka_unit_test(the_reference_is_right),
        cmocka_unit_test(a_table_can_be_chosen_where_there_is_one),
        cmocka_unit_test(layers_of_the_reference_are_right),
        cmocka_unit_test(relus_are_right),
        cmocka_unit_test(exponentials_of_the_reference_are_right),
        cmocka_unit_test(powers_of_the_reference_are_right),
        cmocka_unit_test(the_largest_numbers_are_kept),
        cmocka_unit_test(those_kept_are_the_largest),
        cmocka_unit_test(products_are_one_chain_of_fused_steps),
        cmocka_unit_test(matrix_products_are_right_on_any_number_of_threads),
        cmocka_unit_test(products_in_tiles_are_right_on_any_number_of_threads),
        cmocka_unit_test(products_on_several_threads_at_once_are_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
