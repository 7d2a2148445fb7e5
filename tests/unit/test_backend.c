/* test_backend.c - every table of operations gives the same bits as the reference. */
#include <math.h>

#include "backend/backend.h"
#include "backend/cpu/gemm.h"
#include "backend/gemm.h"
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
    const float *users[ROWS];
    pack(table, d, a);
    pack(other, d, b);
    for (int k = 0; k < PAIRS; k++) {
        ia[k] = k * 7 % ROWS;
        ib[k] = k * 11 % ROWS;
        weight[k] = sinf((float)k);
    }
    for (int r = 0; r < ROWS; r++) users[r] = a + r * d;
    ops->dot_pairs(a, ia, b, ib, PAIRS, d, d, got, 1);
    ref->dot_pairs(a, ia, b, ib, PAIRS, d, d, expected, 1);
    assert_memory_equal(got, expected, PAIRS * sizeof *got);
    ops->weighted_sum(a, d, d, ia, weight, PAIRS, got);
    ref->weighted_sum(a, d, d, ia, weight, PAIRS, expected);
    assert_memory_equal(got, expected, (size_t)d * sizeof *got);
    ops->dot_pairs(a, ia, b, ib, PAIRS, d / 2, d, got, 3); /* half of the columns */
    ref->dot_pairs(a, ia, b, ib, PAIRS, d / 2, d, expected, 3);
    for (int k = 0; k < PAIRS; k++) assert_true(got[3 * k] == expected[3 * k]);
    ops->score_block(users, ROWS, b, ROWS, d, got);
    ref->score_block(users, ROWS, b, ROWS, d, expected);
    assert_memory_equal(got, expected, sizeof got);
    assert_true(ops->sum_squares(a, ROWS * d) == ref->sum_squares(a, ROWS * d));
}

static void check_adam(const cwi_ops *ops, const cwi_ops *ref, int d)
{
    const cwi_adam_step step = {1e-3f, 0.9f, 0.999f, 1e-8f, 1e-4f};
    const cwi_adam_gap gap[] = {{2e-3f, 3e-3f, 0.99f, 0.5f, 0.98f, 1e-8f, 1e-4f},
                                {1e-3f, 9e-3f, 0.95f, 0.1f, 0.9f, 1e-8f, 1e-4f}};
    float x[2][3][MAX_D];
    const cwi_ops *tables[] = {ops, ref};
    for (int t = 0; t < 2; t++) {
        memcpy(x[t][0], table[0], sizeof x[t][0]);
        memcpy(x[t][1], other[1], sizeof x[t][1]);
        for (int j = 0; j < MAX_D; j++) x[t][2][j] = other[2][j] * other[2][j];
        tables[t]->adam(x[t][0], x[t][1], x[t][2], other[3], d, &step);
        tables[t]->adam(x[t][0], x[t][1], x[t][2], NULL, d, &step);
        tables[t]->adam_missed(x[t][0], x[t][1], x[t][2], d, gap, 2, x[t][0], x[t][1], x[t][2]);
    }
    assert_memory_equal(x[0], x[1], sizeof x[0]);
}

static void all_tables_agree_bit_for_bit(void **state)
{
    (void)state;
    static const int widths[] = {1, 2, 15, 16, 17, 64, 128, 133};
    const cwi_ops *ops, *ref = cwi_ops_find("ref");
    size_t at = 0;
    fill();
    while ((ops = next_table(&at)) != NULL) {
        print_message("table %s\n", ops->name);
        for (size_t w = 0; w < sizeof widths / sizeof widths[0]; w++) {
            check_products(ops, ref, widths[w]);
            check_adam(ops, ref, widths[w]);
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

/* Both orders of both factors; the library against plain C, and blocks against the whole. */
static void matrix_products_are_right_on_any_number_of_threads(void **state)
{
    (void)state;
    enum { M = 700, N = 9, K = 13 };
    static float a[M * K], b[M * N], first[M * N], c[M * N], sum[K * N], plain[M * N];
    static float room[CWI_GEMM_PARTS * K * N], first_sum[K * N];
    cwi_rng rng;
    listener l;
    listener_init(&l);
    cwi_rng_init(&rng, 2, CWI_RNG_TEST, 0);
    for (int k = 0; k < M * K; k++) a[k] = (float)cwi_rng_normal(&rng);
    for (int k = 0; k < M * N; k++) b[k] = c[k] = plain[k] = (float)cwi_rng_normal(&rng);
    for (int turned = 0; turned < 4; turned++) {
        bool ta = turned & 1, tb = turned & 2;
        cwi_gemm_blas(ta, tb, 20, N, K, a, ta ? 20 : K, b, tb ? K : N, 0.5f, c, N);
        cwi_gemm_plain(ta, tb, 20, N, K, a, ta ? 20 : K, b, tb ? K : N, 0.5f, plain, N);
        for (int k = 0; k < 20 * N; k++) assert_true(fabsf(c[k] - plain[k]) < 1e-4f);
    }
    cwi_gemm_plain(false, false, M, N, K, a, K, b, N, 0, plain, N);
    for (int threads = 1; threads <= 3; threads++) {
        assert_int_equal(cw_context_set_threads(l.ctx, threads), CW_OK);
        assert_int_equal(cwi_gemm(l.ctx, M, N, K, a, K, false, b, N, 0, c, N), CW_OK);
        assert_int_equal(cwi_gemm_sum(l.ctx, M, K, N, a, K, b, N, sum, room), CW_OK);
        if (threads == 1) memcpy(first, c, sizeof c), memcpy(first_sum, sum, sizeof sum);
        assert_memory_equal(first, c, sizeof c);
        assert_memory_equal(first_sum, sum, sizeof sum);
    }
    for (int k = 0; k < M * N; k++) assert_true(fabsf(c[k] - plain[k]) < 1e-4f);
    cwi_gemm_plain(true, false, K, N, M, a, K, b, N, 0, plain, N);
    for (int k = 0; k < K * N; k++) assert_true(fabsf(sum[k] - plain[k]) < 1e-3f);
    listener_clear(&l);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_tables_agree_bit_for_bit),
        cmocka_unit_test(the_reference_is_right),
        cmocka_unit_test(matrix_products_are_right_on_any_number_of_threads),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
