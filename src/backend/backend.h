/* backend.h - the numeric work, as a table of operations on flat arrays. */
#ifndef CWI_BACKEND_BACKEND_H
#define CWI_BACKEND_BACKEND_H

#include <stdbool.h>
#include <stdint.h>

/* One step of Adam in the TensorFlow form: theta -= rate * m / (sqrt(v) + epsilon), after
 * g = gradient + decay * theta, m = beta1 m + (1 - beta1) g, v = beta2 v + (1 - beta2) g^2. */
typedef struct cwi_adam_step {
    float rate, beta1, beta2, epsilon, decay;
} cwi_adam_step;

/* A few steps without a gradient that a row has missed, added up (see optim/gap.c). */
typedef struct cwi_adam_gap {
    float m_rate;    /* sum of rate * beta1^j over the steps j = 1, 2, ... */
    float pull_rate; /* sum of rate * (1 - beta1^j): what the L2 term alone moves */
    float v_middle;  /* what is left of v in the middle of them */
    float m_left;    /* what is left of m after them */
    float v_left;    /* of v */
    float epsilon, decay;
} cwi_adam_gap;

/*
 * All entries are required.  ops_ref.c defines what each computes; faster tables must give the same
 * bits, which the kernels do by fixing the order of every sum (16 partial sums, never fused).
 * Operations run on one thread; callers cut the work.
 */
typedef struct cwi_ops {
    const char *name;

    /* out[k * step] = a[ia[k]] . b[ib[k]] for k in 0..n-1; the first d floats of rows that lie
     * `stride` floats apart */
    void (*dot_pairs)(const float *a, const int32_t *ia, const float *b, const int32_t *ib,
                      int64_t n, int32_t d, int32_t stride, float *out, int32_t step);

    /* out[0..d) = sum over k of weight[k] * table[row[k]], in that order; rows as above */
    void (*weighted_sum)(const float *table, int32_t d, int32_t stride, const int32_t *row,
                         const float *weight, int64_t n, float *out);

    /* one Adam step on n parameters; gradient NULL is zero */
    void (*adam)(float *theta, float *m, float *v, const float *gradient, int64_t n,
                 const cwi_adam_step *step);

    /* theta, m and v after n_gaps gaps, one after the other, which may be written over what they
     * were; new_m and new_v may be NULL */
    void (*adam_missed)(const float *theta, const float *m, const float *v, int64_t n,
                        const cwi_adam_gap *gaps, int n_gaps, float *new_theta, float *new_m,
                        float *new_v);

    /* out[k * n_items + i] = user vector k . item vector i; users [n][d], items [n_items][d] */
    void (*score_block)(const float *const *users, int32_t n, const float *items, int32_t n_items,
                        int32_t d, float *out);

    /* c = op(a) op(b) + beta c by rows: op(a) is m x k, op(b) k x n; op transposes when told.  The
     * one operation that leaves the order of its sums to a library: its bits are the same for the
     * same arguments on the same kind of processor. */
    void (*gemm)(bool transpose_a, bool transpose_b, int32_t m, int32_t n, int32_t k,
                 const float *a, int32_t lda, const float *b, int32_t ldb, float beta, float *c,
                 int32_t ldc);

    /* sum of squares, in double */
    double (*sum_squares)(const float *x, int64_t n);
} cwi_ops;

/* The best table for this CPU, or the one of that name ("ref", "avx2", "avx512"); NULL when this
 * build or CPU does not have it. */
const cwi_ops *cwi_ops_best(void);
const cwi_ops *cwi_ops_find(const char *name);

#endif
