/* backend.h - the numeric work, as a table of operations on flat arrays. */
#ifndef CWI_BACKEND_BACKEND_H
#define CWI_BACKEND_BACKEND_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* The numbers of a step of an optimiser, as far as it has them.  Adam in the TensorFlow form:
 * theta -= rate * m / (sqrt(v) + epsilon), after g = gradient + decay * theta,
 * m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2. */
typedef struct cwi_rates {
    float rate, beta1, beta2, epsilon, decay;
} cwi_rates;

/* A sparse matrix: row r has weight[e] in column[e] for e in start[r] .. start[r + 1] - 1. */
typedef struct cwi_sparse {
    const int64_t *start;
    const int32_t *column;
    const float *weight;
    int64_t soon; /* entries up to this one are read soon; 0: no more than the rows asked for */
} cwi_sparse;

/* to = scale * (add + A from) for a sparse matrix A; all tables have rows of d floats. */
typedef struct cwi_product {
    const float *from; /* one row for every column of A */
    int32_t d;
    const float *add; /* one row for every row of A, may be `to`; NULL adds nothing */
    float scale;
    float *to;
    int32_t stride; /* floats from row to row in all tables; 0: d */
} cwi_product;

/* What is kept of an entry of a sum of two leaky ReLUs, for the way back. */
enum {
    CWI_SIGN_A = 1,   /* the first summand is above zero */
    CWI_SIGN_B = 2,   /* the second one is */
    CWI_SIGN_DROP = 4 /* the entry is left out */
};

/* The deferred mode keeps m as the direction in which a row drifts, m / (sqrt(v) + epsilon), in
 * whole units: it never exceeds 7.3 (Cauchy-Schwarz on the two averages), and half the bytes are
 * half the time where memory is what limits. */
enum { CWI_DRIFT_UNITS = 4096 };

/* The nearest whole number.  Added to 1.5 * 2^23 a number leaves its whole part in the low bits;
 * what is no number gives any, but no undefined step. */
static inline int16_t cwi_drift_nearest(float units)
{
    const float shift = 12582912.0f;
    float x = units + shift;
    uint32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return (int16_t)(uint16_t)bits;
}

/* A few steps without a gradient that a row has missed, added up (see optim/gap.c). */
typedef struct cwi_adam_gap {
    float m_rate;    /* sum of rate * beta1^j over the steps j = 1, 2, ... */
    float pull_rate; /* sum of rate * (1 - beta1^j): what the L2 term alone moves */
    float v_middle;  /* what is left of v in the middle of them */
    float m_left;    /* what is left of m after them */
    float v_left;    /* of v */
    float epsilon, decay;
} cwi_adam_gap;

/* All steps that a row has missed at once, where the L2 term moves it little. */
typedef struct cwi_adam_pause {
    float drift_rate; /* what the row moves for a drift of one */
    float pull_rate;  /* what it moves for a slope of the L2 term of one over a denominator */
    float m_left, v_left;
    float epsilon; /* before them */
} cwi_adam_pause;

/* A row of the deferred mode. */
typedef struct cwi_adam_row {
    float *theta;
    int16_t *drift;
    float *root; /* sqrt(v) */
} cwi_adam_row;

/* A multiple of the users that any table scores together. */
enum { CWI_SCORE_USERS = 48 };

/* Rows and columns of the tiles that are multiplied in double. */
enum { CWI_DOUBLE_TILE = 128 };

/* Items that are screened together. */
enum { CWI_SCREEN_ITEMS = 64 };

/* Items rounded to bytes: number j of item i is about scale[i] * (byte - 128). */
typedef struct cwi_screen_panel {
    const uint8_t *byte;        /* [depth / 4][CWI_SCREEN_ITEMS][4] */
    const float *scale;         /* [CWI_SCREEN_ITEMS] */
    const float *length, *rest; /* [CWI_SCREEN_ITEMS] what the error grows with */
} cwi_screen_panel;

/* A user rounded to bytes, in units of the user's scale. */
typedef struct cwi_screen_user {
    const int8_t *byte; /* [depth] */
    int32_t start;      /* -128 times their sum */
    float by_length, by_rest;
    float bound;
} cwi_screen_user;

/*
 * All entries are required.  ops_ref.c defines what each computes; faster tables must give the same
 * bits, which the kernels do by fixing the order of every sum: 16 partial sums, never fused; but
 * score_block and gemm, one sum whose every step is fused.
 * Operations run on one thread; callers cut the work.
 */
typedef struct cwi_ops {
    const char *name;

    /* whether screen is several times as fast as score_block on this CPU */
    bool (*screen_pays)(void);

    /* out[4 k] .. are the first four words of stream first + k of a seed and purpose (core/rng.h),
     * for k in 0..n-1 */
    void (*random_blocks)(uint64_t seed, uint32_t purpose, uint64_t first, int64_t n,
                          uint32_t *out);

    /* out[k * step] = a[ia[k]] . b[ib[k]] for k in 0..n-1; the first d floats of rows that lie
     * `stride` floats apart */
    void (*dot_pairs)(const float *a, const int32_t *ia, const float *b, const int32_t *ib,
                      int64_t n, int32_t d, int32_t stride, float *out, int32_t step);

    /* row . (plus - minus) over n numbers, where row = keep * theta - rate * drift, or theta itself
     * when drift is NULL */
    float (*dot_apart)(const float *theta, const int16_t *drift, float keep, float rate,
                       const float *plus, const float *minus, int64_t n);

    /* out[0..d) = sum over k of weight[k] * table[row[k]], in that order; rows as above */
    void (*weighted_sum)(const float *table, int32_t d, int32_t stride, const int32_t *row,
                         const float *weight, int64_t n, float *out);

    /* rows begin .. end - 1 of a product; terms are summed in the order of the row, then add */
    void (*sparse_rows)(const cwi_sparse *a, const cwi_product *p, int64_t begin, int64_t end);

    /* out[k * step] += sum over j of weight[j] * max(0, table[ia[k]][j] + table[ib[k]][j]) for k in
     * 0..n-1; rows as above */
    void (*relu_pairs)(const float *weight, const float *table, const int32_t *ia,
                       const int32_t *ib, int64_t n, int32_t d, int32_t stride, float *out,
                       int32_t step);

    /* out[j] = sum of weight[k] over the k for which own[j] + table[row[k]][j] > 0, in that order,
     * for j in 0..d-1; rows as above */
    void (*gated_sum)(const float *own, const float *table, int32_t d, int32_t stride,
                      const int32_t *row, const float *weight, int64_t n, float *out);

    /* one Adam step on n parameters; gradient NULL is zero */
    void (*adam)(float *theta, float *m, float *v, const float *gradient, int64_t n,
                 const cwi_rates *step);

    /* out = keep * theta - rate * drift */
    void (*adam_peek)(const float *theta, const int16_t *drift, int64_t n, float keep, float rate,
                      float *out);

    /* one Adam step on a row after the steps that it missed; `now` is what it was between them */
    void (*adam_late)(const cwi_adam_row *row, const float *gradient, int64_t n,
                      const cwi_adam_pause *pause, const cwi_rates *step, float *now);

    /* a row after n_gaps >= 1 gaps, one after the other, written to `to`, which may be the same;
     * drift and root of `to` may be NULL.  epsilon is that of before. */
    void (*adam_missed)(const cwi_adam_row *from, int64_t n, float epsilon,
                        const cwi_adam_gap *gaps, int n_gaps, const cwi_adam_row *to);

    /* one over the mean of root + epsilon, each number counting by its square; 0 for a row of
     * zeros */
    float (*adam_pull)(const float *theta, const float *root, int64_t n, float epsilon);

    /* out[k * n_items + i] = user vector k . item vector i; users [n][d], items [n_items][d].  The
     * bits are the same in any block; best in blocks of CWI_SCORE_USERS. */
    void (*score_block)(const float *const *users, int32_t n, const float *items, int32_t n_items,
                        int32_t d, float *out);

    /* out[k * n_items + i] += constant[i] + sum over j of weight[j] * max(user vector k [j], item
     * vector i [j]); shapes as above */
    void (*max_block)(const float *weight, const float *constant, const float *const *users,
                      int32_t n, const float *items, int32_t n_items, int32_t d, float *out);

    /* sum[k * CWI_SCREEN_ITEMS + i] = inner product of the bytes of user k and item i; bit i of
     * above[k] is whether sum * scale + (by_length length + by_rest rest) >= bound, never fused.
     * depth is a multiple of 4 that leaves the sums in 32 bits. */
    void (*screen)(const cwi_screen_panel *panel, const cwi_screen_user *users, int32_t n,
                   int32_t depth, int32_t *sum, uint64_t *above);

    /* a number >= low that at least k of the n numbers reach, and where they differ no more than a
     * sixteenth of k beyond; low where fewer than k are above -infinity.  n is a multiple of 16. */
    float (*reached)(const float *x, int32_t n, int32_t k, float low);

    /* place[i] = how many of the n scores are above score i, or equal and before it: n^2 quick
     * steps, for some hundreds */
    void (*places)(const float *score, int32_t n, int32_t *place);

    /* the first i in begin .. end - 1 for which score[i] is above bound or not a number, or end */
    int32_t (*first_above)(const float *score, int32_t begin, int32_t end, float bound);

    /* c = beta c + op(a) op(b) by rows: op(a) is m x k, op(b) k x n; op transposes when told.  Each
     * sum starts at beta c, or at 0 where beta is 0 whatever c holds, and takes its products one
     * fused step after the other in the order of k: the bits are the same in any block of c, and
     * one product over k is several over parts of k with a beta of 1. */
    void (*gemm)(bool transpose_a, bool transpose_b, int32_t m, int32_t n, int32_t k,
                 const float *a, int32_t lda, const float *b, int32_t ldb, float beta, float *c,
                 int32_t ldc);

    /* c += op(a) b in double, all three without gaps and CWI_DOUBLE_TILE square; op transposes when
     * told.  A step is a product and a sum, not fused, in the order of k. */
    void (*double_gemm)(bool transpose_a, const double *a, const double *b, double *c);

    /* out[j] += (double)row[j] */
    void (*add_row)(const float *row, int64_t n, double *out);

    /* out[j] = a[j] b[j] */
    void (*multiply)(const float *a, const float *b, int64_t n, float *out);

    /* the way back of multiply: from r, the slope of e * p, t += e r, that of p, and r *= p, that
     * of e */
    void (*multiply_back)(const float *e, const float *p, int64_t n, float *t, float *r);

    /* a[j] = scale (phi(a[j] + bias_a[j]) + phi(b[j] + bias_b[j])) with phi(x) = x above zero and
     * 0.2 x else, or 0 where sign[j] has CWI_SIGN_DROP; its other bits are set */
    void (*leaky_sum)(float *a, const float *bias_a, const float *b, const float *bias_b, int64_t n,
                      float scale, uint8_t *sign);

    /* from g, the slope of the sum, that of the first summand in its place and that of the second
     * in gb */
    void (*leaky_sum_back)(float *g, const uint8_t *sign, int64_t n, float scale, float *gb);

    /* out = factor x with factor = 1 / max(|x|, 1e-6), which it returns */
    float (*normalise)(const float *x, int32_t n, float *out);

    /* g += slope of x of normalise from `slope`, that of out: factor (slope - out (out . slope)),
     * or factor slope where x is shorter than 1e-6 */
    void (*normalise_back)(const float *out, float factor, const float *slope, int32_t n, float *g);

    /* sum of squares, in double */
    double (*sum_squares)(const float *x, int64_t n);

    /* to[c * lanes + r] = from[r * stride + c] for the rows and columns of a block, and 0 for the
     * rows behind it up to `lanes` */
    void (*turn)(const float *from, int64_t stride, int32_t rows, int32_t columns, int32_t lanes,
                 float *to);

    /* out[j] = (x[j] + y[j]) / 2 - (own + others[j]) / 2; out may be x */
    void (*margin_row)(const float *x, const float *y, float own, const float *others, int64_t n,
                       float *out);

    /* out[j] = scale (x[j] + y[j]); returns their sum.  out may be x. */
    double (*mirror_row)(float scale, const float *x, const float *y, int64_t n, float *out);

    /* out[j] = e^(x[j] - by[j] - less), to 2e-7 of it, 0 below e^-87; by may be NULL, out may be x.
     * Returns their sum. */
    float (*exp_row)(const float *x, const float *by, float less, int64_t n, float *out);

    /* out[j] = 1 / (1 + e^-x[j]); returns the sum of ln(1 + e^x[j]), each to 6e-8 and the sum to
     * 1e-6 of it.  out may be x. */
    float (*softplus_row)(const float *x, int64_t n, float *out);

    /* out[j] = (1 + t y)^(1/t - 1) e^-less for y = x[j] - own, and 0 where 1 + t y is not positive;
     * to 3e-7 of it, and as much again for every e in the power and in e^less.  *slopes is their
     * sum; returns that of (1 + t y)^(1/t) e^-less.  out may be x. */
    float (*power_row)(const float *x, float own, float t, float less, int64_t n, float *out,
                       float *slopes);

    /* the largest x[j] - by[j]; by may be NULL; -infinity where there is none */
    float (*largest)(const float *x, const float *by, int64_t n);

    /* most[j] = x[j] where that is larger */
    void (*keep_larger)(const float *x, int64_t n, float *most);

    /* leave the k largest numbers, of equal ones the first; all others become -infinity.  Returns
     * how many are finite then. */
    int64_t (*keep_largest)(float *x, int64_t n, int64_t k);

    /* out[j] = a x[j] + b[j] y[j], or a x[j] when b is NULL; out may be x or y */
    void (*blend)(float a, const float *x, const float *b, const float *y, int64_t n, float *out);
} cwi_ops;

/* The best table for this CPU unless cw_use_isa chose another, or the one of that name ("ref",
 * "avx2", "avx512", "neon"); NULL when this build or CPU does not have it. */
const cwi_ops *cwi_ops_best(void);
const cwi_ops *cwi_ops_find(const char *name);

#endif
