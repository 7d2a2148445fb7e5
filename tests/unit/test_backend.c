/* test_backend.c - every table of operations gives the same bits as the reference. */
#include <math.h>

#include "backend/backend.h"
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
    ops->dot_pairs(a, ia, b, ib, PAIRS, d, got);
    ref->dot_pairs(a, ia, b, ib, PAIRS, d, expected);
    assert_memory_equal(got, expected, PAIRS * sizeof *got);
    ops->weighted_sum(a, d, ia, weight, PAIRS, got);
    ref->weighted_sum(a, d, ia, weight, PAIRS, expected);
    assert_memory_equal(got, expected, (size_t)d * sizeof *got);
    ops->score_block(users, ROWS, b, ROWS, d, got);
    ref->score_block(users, ROWS, b, ROWS, d, expected);
    assert_memory_equal(got, expected, sizeof got);
    assert_true(ops->sum_squares(a, ROWS * d) == ref->sum_squares(a, ROWS * d));
}

/* Rows of 0, 1, 2, ... entries, PAIRS in all; `add` and the result share their place when asked. */
static void check_sparse(const cwi_ops *ops, const cwi_ops *ref, int d, bool in_place)
{
    static float from[ROWS * MAX_D], add[ROWS * MAX_D], got[ROWS * MAX_D], expected[ROWS * MAX_D];
    int64_t start[] = {0, 0, 1, 3, 6, 10, 15, 21, 28, 36, 45, PAIRS};
    enum { N = sizeof start / sizeof start[0] - 1 };
    int32_t column[PAIRS];
    float weight[PAIRS];
    const cwi_sparse a = {start, column, weight};
    pack(table, d, from);
    pack(other, d, add);
    for (int k = 0; k < PAIRS; k++) {
        column[k] = k * 7 % ROWS;
        weight[k] = sinf((float)k);
    }
    for (int r = 0; r < N; r++) {
        float *row = expected + r * d;
        ref->weighted_sum(from, d, column + start[r], weight + start[r], start[r + 1] - start[r],
                          row);
        for (int j = 0; j < d; j++) row[j] = 0.3f * (row[j] + add[r * d + j]);
    }
    memcpy(got, add, sizeof got);
    const cwi_product p = {from, d, in_place ? got : add, 0.3f, got};
    ops->sparse_rows(&a, &p, 0, 4);
    ops->sparse_rows(&a, &p, 4, N);
    assert_memory_equal(got, expected, (size_t)(N * d) * sizeof *got);
    assert_memory_equal(got + N * d, add + N * d, (size_t)d * sizeof *got);
}

static void check_adam(const cwi_ops *ops, const cwi_ops *ref, int d)
{
    const cwi_adam_step step = {1e-3f, 0.9f, 0.999f, 1e-8f, 1e-4f};
    static const float rate[] = {1e-3f, 2e-3f, 3e-3f}, epsilon[] = {1e-8f, 2e-8f, 3e-8f};
    float x[2][3][MAX_D];
    const cwi_ops *tables[] = {ops, ref};
    for (int t = 0; t < 2; t++) {
        memcpy(x[t][0], table[0], sizeof x[t][0]);
        memcpy(x[t][1], other[1], sizeof x[t][1]);
        for (int j = 0; j < MAX_D; j++) x[t][2][j] = other[2][j] * other[2][j];
        tables[t]->adam(x[t][0], x[t][1], x[t][2], other[3], d, &step);
        tables[t]->adam(x[t][0], x[t][1], x[t][2], NULL, d, &step);
        tables[t]->adam_missed(x[t][0], x[t][1], x[t][2], d, &step, rate, epsilon, 3);
    }
    assert_memory_equal(x[0], x[1], sizeof x[0]);
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
        ref->dot_pairs(table[0], zero, other[0], zero, 1, d, &out);
        assert_true(fabs((double)out - exact) <= 1e-6 * scale);
    }
    assert_null(cwi_ops_find("abacus"));
    assert_non_null(cwi_ops_best());
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_tables_agree_bit_for_bit),
        cmocka_unit_test(the_reference_is_right),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
