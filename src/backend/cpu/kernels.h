/*
 * kernels.h - the operations in plain C, compiled once per instruction set.
 *
 * Sums run over LANES partial sums in a fixed order, which compilers turn into vector registers of
 * any width without changing a bit.  Include it after defining OPS_TABLE, OPS_NAME, OPS_SCREEN and
 * OPS_SCREEN_PAYS, what philox.h and score.h ask for, gemm(), and vec_above(): bit l is set where
 * number l of a vector is not <= bound.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "backend/backend.h"
#include "backend/cpu/philox.h"
#include "backend/cpu/score.h"
#include "backend/cpu/turned.h"

enum { LANES = 16, ITEMS_AT_ONCE = 4, PAIRS_AHEAD = 8 };

/* Of products with a sparse matrix: columns summed at once, and how many entries ahead rows are
 * called from memory.  Wide blocks read more of a row at a time, which counts more than that
 * all sums fit the registers of narrow instruction sets.  Walking the whole matrix once per block,
 * so that less of the table is in use at a time, is slower. */
enum { WIDE = 128, MEDIUM = 64, ENTRIES_AHEAD = 16 };

/* Numbers side by side. */
typedef float lanes __attribute__((vector_size(4 * LANES)));
typedef float lanes_at __attribute__((vector_size(4 * LANES), aligned(4), may_alias));
typedef int32_t whole_lanes __attribute__((vector_size(4 * LANES)));
typedef float lanes8 __attribute__((vector_size(32)));
typedef float lanes4 __attribute__((vector_size(16)));

/* As many numbers as fit one register: gcc keeps these in registers, wider ones on the stack. */
enum { PARTS = LANES / VEC_LANES };
typedef float native __attribute__((vector_size(4 * VEC_LANES)));
typedef float native_at __attribute__((vector_size(4 * VEC_LANES), aligned(4), may_alias));
typedef int32_t native_whole __attribute__((vector_size(4 * VEC_LANES)));
typedef int16_t native_half_at __attribute__((vector_size(2 * VEC_LANES), aligned(2), may_alias));

/* LANES partial sums. */
typedef struct sums {
    native part[PARTS];
} sums;

static inline const native_at *natives(const float *from)
{
    return (const native_at *)from;
}

static inline const lanes_at *load(const float *from)
{
    return (const lanes_at *)from;
}

/* LANES numbers: n < LANES of them, and zeros. */
static inline void load_some(const float *from, int64_t n, void *out)
{
    memset(out, 0, LANES * sizeof *from);
    memcpy(out, from, (size_t)n * sizeof *from);
}

/* Partial sums added pairwise: 8 and 8, 4 and 4, ... */
__attribute__((always_inline)) static inline float fold_array(const float *sum)
{
    lanes x = *load(sum);
    lanes8 a = __builtin_shufflevector(x, x, 0, 1, 2, 3, 4, 5, 6, 7) +
               __builtin_shufflevector(x, x, 8, 9, 10, 11, 12, 13, 14, 15);
    lanes4 b =
        __builtin_shufflevector(a, a, 0, 1, 2, 3) + __builtin_shufflevector(a, a, 4, 5, 6, 7);
    lanes4 c = b + __builtin_shufflevector(b, b, 2, 3, 2, 3);
    return c[0] + c[1];
}

static inline float fold_sums(const sums *sum)
{
    return fold_array((const float *)sum);
}

/* LANES products. */
__attribute__((always_inline)) static inline void add_dot(const float *a, const float *b, sums *sum)
{
#pragma GCC unroll 4
    for (int p = 0; p < PARTS; p++) sum->part[p] += natives(a)[p] * natives(b)[p];
}

static inline float dot(const float *a, const float *b, int32_t d)
{
    sums sum = {{{0}}};
    int32_t j = 0;
    for (; j + LANES <= d; j += LANES) add_dot(a + j, b + j, &sum);
    if (j < d) {
        float x[LANES], y[LANES];
        load_some(a + j, d - j, x);
        load_some(b + j, d - j, y);
        add_dot(x, y, &sum);
    }
    return fold_sums(&sum);
}

static void dot_pairs(const float *a, const int32_t *ia, const float *b, const int32_t *ib,
                      int64_t n, int32_t d, int32_t stride, float *out, int32_t step)
{
    for (int64_t k = 0; k < n; k++) {
        const float *ahead = b + (int64_t)ib[k + PAIRS_AHEAD < n ? k + PAIRS_AHEAD : k] * stride;
        for (int32_t j = 0; j < d; j += LANES) __builtin_prefetch(ahead + j);
        out[k * step] = dot(a + (int64_t)ia[k] * stride, b + (int64_t)ib[k] * stride, d);
    }
}

/* LANES products with a row that is up to date. */
__attribute__((always_inline)) static inline void add_apart(const float *theta, const float *plus,
                                                            const float *minus, sums *sum)
{
#pragma GCC unroll 4
    for (int p = 0; p < PARTS; p++)
        sum->part[p] += natives(theta)[p] * (natives(plus)[p] - natives(minus)[p]);
}

/* The same with a row that is behind. */
__attribute__((always_inline)) static inline void add_late_apart(const float *theta,
                                                                 const int16_t *drift, float keep,
                                                                 float rate, const float *plus,
                                                                 const float *minus, sums *sum)
{
#pragma GCC unroll 4
    for (int p = 0; p < PARTS; p++) {
        native_half_at units = ((const native_half_at *)drift)[p];
        native_whole whole = __builtin_convertvector(units, native_whole);
        native row = keep * natives(theta)[p] - rate * __builtin_convertvector(whole, native);
        sum->part[p] += row * (natives(plus)[p] - natives(minus)[p]);
    }
}

static float dot_apart(const float *theta, const int16_t *drift, float keep, float rate,
                       const float *plus, const float *minus, int64_t n)
{
    sums sum = {{{0}}};
    int64_t j = 0;
    if (drift)
        for (; j + LANES <= n; j += LANES)
            add_late_apart(theta + j, drift + j, keep, rate, plus + j, minus + j, &sum);
    else
        for (; j + LANES <= n; j += LANES) add_apart(theta + j, plus + j, minus + j, &sum);
    if (j < n) {
        float t[LANES], x[LANES], y[LANES];
        load_some(theta + j, n - j, t);
        load_some(plus + j, n - j, x);
        load_some(minus + j, n - j, y);
        if (drift) {
            int16_t q[LANES] = {0};
            memcpy(q, drift + j, (size_t)(n - j) * sizeof *q);
            add_late_apart(t, q, keep, rate, x, y, &sum);
        } else {
            add_apart(t, x, y, &sum);
        }
    }
    return fold_sums(&sum);
}

static void weighted_sum(const float *table, int32_t d, int32_t stride, const int32_t *row,
                         const float *weight, int64_t n, float *out)
{
    memset(out, 0, (size_t)d * sizeof *out);
    for (int64_t k = 0; k < n; k++) {
        const float *restrict from = table + (int64_t)row[k] * stride;
        float *restrict to = out;
        float w = weight[k];
        for (int32_t j = 0; j < d; j++) to[j] += w * from[j];
    }
}

/* What a row of a product reads some entries later. */
__attribute__((always_inline)) static inline const float *
from_later(const cwi_sparse *a, const cwi_product *p, int64_t e, int64_t last)
{
    int64_t later = e + ENTRIES_AHEAD < last ? e + ENTRIES_AHEAD : last;
    return p->from + (int64_t)a->column[later] * p->stride;
}

/* Columns j .. j + width - 1 of one row of a product.  Where width is constant the sums stay in
 * registers, so it has to be inlined. */
__attribute__((always_inline)) static inline void sparse_row(const cwi_sparse *a,
                                                             const cwi_product *p, int64_t r,
                                                             int64_t last, int32_t j, int32_t width)
{
    native sum[WIDE / VEC_LANES];
    int64_t at = r * p->stride + j;
    int vecs = width / VEC_LANES;
#pragma GCC unroll 32
    for (int v = 0; v < vecs; v++) sum[v] = (native){0};
    for (int64_t e = a->start[r]; e < a->start[r + 1]; e++) {
        const native_at *from = natives(p->from + (int64_t)a->column[e] * p->stride + j);
        const float *ahead = from_later(a, p, e, last) + j;
        float w = a->weight[e];
#pragma GCC unroll 8
        for (int32_t l = 0; l < width; l += LANES) __builtin_prefetch(ahead + l);
#pragma GCC unroll 32
        for (int v = 0; v < vecs; v++) sum[v] += w * from[v];
    }
#pragma GCC unroll 32
    for (int v = 0; v < vecs; v++) {
        if (p->add) sum[v] += natives(p->add + at)[v];
        if (p->scale != 1) sum[v] *= p->scale;
        ((native_at *)(p->to + at))[v] = sum[v];
    }
}

/* The columns from j on, fewer than LANES. */
static void sparse_rest(const cwi_sparse *a, const cwi_product *p, int64_t r, int64_t last,
                        int32_t j)
{
    float sum[LANES] = {0};
    int32_t width = p->d - j;
    int64_t at = r * p->stride + j;
    for (int64_t e = a->start[r]; e < a->start[r + 1]; e++) {
        const float *from = p->from + (int64_t)a->column[e] * p->stride + j;
        __builtin_prefetch(from_later(a, p, e, last) + j);
        for (int32_t l = 0; l < width; l++) sum[l] += a->weight[e] * from[l];
    }
    for (int32_t l = 0; l < width; l++) {
        if (p->add) sum[l] += p->add[at + l];
        p->to[at + l] = p->scale == 1 ? sum[l] : sum[l] * p->scale;
    }
}

static void sparse_rows(const cwi_sparse *a, const cwi_product *product, int64_t begin, int64_t end)
{
    cwi_product p = *product;
    int64_t last = (a->soon > a->start[end] ? a->soon : a->start[end]) - 1;
    int32_t j = 0;
    if (p.stride == 0) p.stride = p.d;
    for (; j + WIDE <= p.d; j += WIDE)
        for (int64_t r = begin; r < end; r++) sparse_row(a, &p, r, last, j, WIDE);
    for (; j + MEDIUM <= p.d; j += MEDIUM)
        for (int64_t r = begin; r < end; r++) sparse_row(a, &p, r, last, j, MEDIUM);
    for (; j + LANES <= p.d; j += LANES)
        for (int64_t r = begin; r < end; r++) sparse_row(a, &p, r, last, j, LANES);
    for (int64_t r = begin; r < end && j < p.d; r++) sparse_rest(a, &p, r, last, j);
}

/* What is not a number stays so. */
static inline float relu(float x)
{
    return 0.0f > x ? 0.0f : x;
}

static inline float relu_sum(const float *restrict w, const float *restrict a,
                             const float *restrict b, int32_t d)
{
    float sum[LANES] = {0};
    int32_t j = 0;
    for (; j + LANES <= d; j += LANES)
        for (int l = 0; l < LANES; l++) sum[l] += w[j + l] * relu(a[j + l] + b[j + l]);
    for (int l = 0; j < d; j++, l++) sum[l] += w[j] * relu(a[j] + b[j]);
    return fold_array(sum);
}

static void relu_pairs(const float *weight, const float *table, const int32_t *ia,
                       const int32_t *ib, int64_t n, int32_t d, int32_t stride, float *out,
                       int32_t step)
{
    for (int64_t k = 0; k < n; k++)
        out[k * step] +=
            relu_sum(weight, table + (int64_t)ia[k] * stride, table + (int64_t)ib[k] * stride, d);
}

static void gated_sum(const float *own, const float *table, int32_t d, int32_t stride,
                      const int32_t *row, const float *weight, int64_t n, float *out)
{
    memset(out, 0, (size_t)d * sizeof *out);
    for (int64_t k = 0; k < n; k++) {
        const float *restrict from = table + (int64_t)row[k] * stride, *restrict mine = own;
        float *restrict to = out;
        float w = weight[k];
        for (int32_t j = 0; j < d; j++) to[j] += mine[j] + from[j] > 0.0f ? w : 0.0f;
    }
}

static double sum_squares(const float *x, int64_t n)
{
    double sum[LANES] = {0}, total = 0;
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES)
        for (int l = 0; l < LANES; l++) sum[l] += (double)x[j + l] * (double)x[j + l];
    for (; j < n; j++) sum[0] += (double)x[j] * (double)x[j];
    for (int l = 0; l < LANES; l++) total += sum[l];
    return total;
}

static void adam(float *theta, float *m, float *v, const float *gradient, int64_t n,
                 const cwi_rates *step)
{
    float *restrict t = theta, *restrict mm = m, *restrict vv = v;
    const float rate = step->rate, b1 = step->beta1, b2 = step->beta2, decay = step->decay;
    const float c1 = 1.0f - b1, c2 = 1.0f - b2, eps = step->epsilon;

    if (gradient) {
        const float *restrict g = gradient;
        for (int64_t j = 0; j < n; j++) {
            float slope = g[j] + decay * t[j];
            mm[j] = b1 * mm[j] + c1 * slope;
            vv[j] = b2 * vv[j] + c2 * slope * slope;
            t[j] -= rate * mm[j] / (sqrtf(vv[j]) + eps);
        }
    } else {
        for (int64_t j = 0; j < n; j++) {
            float slope = decay * t[j];
            mm[j] = b1 * mm[j] + c1 * slope;
            vv[j] = b2 * vv[j] + c2 * slope * slope;
            t[j] -= rate * mm[j] / (sqrtf(vv[j]) + eps);
        }
    }
}

/* ---- rows of the deferred Adam ------------------------------------------------------ */

/* LANES numbers of a row, by their squares. */
__attribute__((always_inline)) static inline void add_pull(const float *theta, const float *root,
                                                           sums *square, sums *weighed)
{
#pragma GCC unroll 4
    for (int p = 0; p < PARTS; p++) {
        native x = natives(theta)[p];
        square->part[p] += x * x;
        weighed->part[p] += x * x * natives(root)[p];
    }
}

static float adam_pull(const float *theta, const float *root, int64_t n, float epsilon)
{
    sums square = {{{0}}}, weighed = {{{0}}};
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES) add_pull(theta + j, root + j, &square, &weighed);
    if (j < n) {
        float x[LANES], y[LANES];
        load_some(theta + j, n - j, x);
        load_some(root + j, n - j, y);
        add_pull(x, y, &square, &weighed);
    }
    float all = fold_sums(&square);
    return all > 0 ? 1.0f / (fold_sums(&weighed) / all + epsilon) : 0; /* zeros are not pulled */
}

static void adam_peek(const float *theta, const int16_t *drift, int64_t n, float keep, float rate,
                      float *out)
{
    const float *restrict t = theta;
    const int16_t *restrict q = drift;
    float *restrict to = out;
    for (int64_t j = 0; j < n; j++) to[j] = keep * t[j] - rate * (float)q[j];
}

/* What adam_late multiplies with. */
typedef struct late_rates {
    float drift;                   /* of the drift in units, to the row */
    float m_drift, m_theta, m_new; /* to m, from before, from the row and from the new slope; as
                                      the drift, in units */
    float v_root, v_theta, v_new;  /* to v, from the squares of those */
    float pull, step;              /* of the L2 term during the pause, and of the step */
    float decay, epsilon_before, epsilon;
} late_rates;

/* The pull of the L2 term is small here, so that its slope may be taken before the row drifted.
 * Multiplications are what limits the loop: one division less would take three more of them.  Not
 * inlined, because gcc trusts `restrict` of parameters only. */
__attribute__((noinline)) static void late(float *restrict theta, int16_t *restrict drift,
                                           float *restrict root, const float *restrict gradient,
                                           int64_t n, const late_rates *rates, float *restrict now)
{
    const late_rates r = *rates;
    for (int64_t j = 0; j < n; j++) {
        float units = (float)drift[j], before = root[j] + r.epsilon_before;
        float t = theta[j] - r.drift * units, slope = gradient[j] + r.decay * t;
        float m = r.m_drift * (units * before) + r.m_theta * theta[j] + r.m_new * slope;
        float v = r.v_root * (root[j] * root[j]) + r.v_theta * (theta[j] * theta[j]) +
                  r.v_new * (slope * slope);
        float new_root = sqrtf(v), new_drift = m / (new_root + r.epsilon);
        now[j] = t - r.pull * theta[j] / before;
        theta[j] = now[j] - r.step * new_drift;
        root[j] = new_root;
        drift[j] = cwi_drift_nearest(new_drift);
    }
}

static void adam_late(const cwi_adam_row *row, const float *gradient, int64_t n,
                      const cwi_adam_pause *pause, const cwi_rates *step, float *now)
{
    const float b1 = step->beta1, b2 = step->beta2, decay = step->decay;
    const late_rates rates = {
        .drift = pause->drift_rate / CWI_DRIFT_UNITS,
        .m_drift = b1 * pause->m_left,
        .m_theta = b1 * (1.0f - pause->m_left) * decay * CWI_DRIFT_UNITS,
        .m_new = (1.0f - b1) * CWI_DRIFT_UNITS,
        .v_root = b2 * pause->v_left,
        .v_theta = b2 * (1.0f - pause->v_left) * (decay * decay),
        .v_new = 1.0f - b2,
        .pull = pause->pull_rate * decay,
        .step = step->rate / CWI_DRIFT_UNITS,
        .decay = decay,
        .epsilon_before = pause->epsilon,
        .epsilon = step->epsilon,
    };
    late(row->theta, row->drift, row->root, gradient, n, &rates, now);
}

enum { AT_ONCE = 2 * LANES };

/* Some numbers after all gaps; the pull of the L2 term goes by theta in the middle of the move. */
__attribute__((always_inline)) static inline void miss(const cwi_adam_gap *gaps, int n_gaps,
                                                       float *restrict t, float *restrict m,
                                                       float *restrict v, int n)
{
    for (int g = 0; g < n_gaps; g++) {
        const float m_rate = gaps[g].m_rate, pull_rate = gaps[g].pull_rate, eps = gaps[g].epsilon;
        const float decay = gaps[g].decay, v_middle = gaps[g].v_middle;
        const float m_left = gaps[g].m_left, v_left = gaps[g].v_left;
        for (int l = 0; l < n; l++) {
            float slope = decay * t[l], square = slope * slope;
            float over = 1.0f / (sqrtf(v_middle * v[l] + (1.0f - v_middle) * square) + eps);
            float move = m_rate * m[l] * over, pull = pull_rate * over;
            slope = decay * (t[l] - 0.5f * (move + pull * slope));
            t[l] -= move + pull * slope;
            m[l] = m_left * m[l] + (1.0f - m_left) * slope;
            v[l] = v_left * v[l] + (1.0f - v_left) * square;
        }
    }
}

/* Numbers j .. j + n - 1 of a row; where n is constant they stay in registers over all gaps. */
__attribute__((always_inline)) static inline void miss_some(const cwi_adam_row *from, int64_t j,
                                                            int n, float epsilon,
                                                            const cwi_adam_gap *gaps, int n_gaps,
                                                            const cwi_adam_row *to)
{
    float t[AT_ONCE], m[AT_ONCE], v[AT_ONCE];
    const float eps = gaps[n_gaps - 1].epsilon;
    for (int l = 0; l < n; l++) t[l] = from->theta[j + l];
    for (int l = 0; l < n; l++) v[l] = from->root[j + l];
    for (int l = 0; l < n; l++)
        m[l] = (float)from->drift[j + l] * (1.0f / CWI_DRIFT_UNITS) * (v[l] + epsilon);
    for (int l = 0; l < n; l++) v[l] *= v[l];
    miss(gaps, n_gaps, t, m, v, n);
    for (int l = 0; l < n; l++) to->theta[j + l] = t[l];
    if (!to->drift) return;
    for (int l = 0; l < n; l++) v[l] = sqrtf(v[l]);
    for (int l = 0; l < n; l++)
        to->drift[j + l] = cwi_drift_nearest(CWI_DRIFT_UNITS * (m[l] / (v[l] + eps)));
    for (int l = 0; l < n; l++) to->root[j + l] = v[l];
}

static void adam_missed(const cwi_adam_row *from, int64_t n, float epsilon,
                        const cwi_adam_gap *gaps, int n_gaps, const cwi_adam_row *to)
{
    int64_t j = 0;
    for (; j + AT_ONCE <= n; j += AT_ONCE) miss_some(from, j, AT_ONCE, epsilon, gaps, n_gaps, to);
    miss_some(from, j, (int)(n - j), epsilon, gaps, n_gaps, to);
}

static int32_t first_above(const float *score, int32_t begin, int32_t end, float bound)
{
    int32_t i = begin;
    for (; i + VEC_LANES <= end; i += VEC_LANES) {
        unsigned above = vec_above(score + i, bound);
        if (above) return i + __builtin_ctz(above);
    }
    while (i < end && score[i] <= bound) i++;
    return i;
}

/* ---- layers of a graph ------------------------------------------------------------ */

static const float leak = 0.2f, least_square = 1e-12f;

static void multiply(const float *a, const float *b, int64_t n, float *out)
{
    const float *restrict x = a, *restrict y = b;
    float *restrict to = out;
    for (int64_t j = 0; j < n; j++) to[j] = x[j] * y[j];
}

static void multiply_back(const float *e, const float *p, int64_t n, float *t, float *r)
{
    const float *restrict x = e, *restrict y = p;
    float *restrict sum = t, *restrict slope = r;
    for (int64_t j = 0; j < n; j++) {
        sum[j] += x[j] * slope[j];
        slope[j] *= y[j];
    }
}

static void leaky_sum(float *a, const float *bias_a, const float *b, const float *bias_b, int64_t n,
                      float scale, uint8_t *sign)
{
    float *restrict sum = a;
    const float *restrict other = b, *restrict ca = bias_a, *restrict cb = bias_b;
    uint8_t *restrict bits = sign;
    for (int64_t j = 0; j < n; j++) {
        float x = sum[j] + ca[j], y = other[j] + cb[j];
        uint8_t drop = bits[j] & CWI_SIGN_DROP;
        bits[j] = (uint8_t)((x > 0 ? CWI_SIGN_A : 0) | (y > 0 ? CWI_SIGN_B : 0) | drop);
        x = x > 0 ? x : leak * x;
        y = y > 0 ? y : leak * y;
        sum[j] = drop ? 0 : scale * (x + y);
    }
}

static void leaky_sum_back(float *g, const uint8_t *sign, int64_t n, float scale, float *gb)
{
    float *restrict ga = g, *restrict other = gb;
    const uint8_t *restrict bits = sign;
    for (int64_t j = 0; j < n; j++) {
        float slope = bits[j] & CWI_SIGN_DROP ? 0 : scale * ga[j];
        ga[j] = bits[j] & CWI_SIGN_A ? slope : leak * slope;
        other[j] = bits[j] & CWI_SIGN_B ? slope : leak * slope;
    }
}

static float normalise(const float *x, int32_t n, float *out)
{
    const float *restrict from = x;
    float *restrict to = out;
    float square = dot(x, x, n);
    float factor = 1.0f / sqrtf(square > least_square ? square : least_square);
    for (int32_t j = 0; j < n; j++) to[j] = factor * from[j];
    return factor;
}

/* A vector that is too short has the largest factor there is, and is only scaled. */
static void normalise_back(const float *out, float factor, const float *slope, int32_t n, float *g)
{
    const float *restrict unit = out, *restrict from = slope;
    float *restrict to = g;
    bool is_short = factor >= 1.0f / sqrtf(least_square);
    float along = is_short ? 0 : dot(out, slope, n);
    for (int32_t j = 0; j < n; j++) to[j] += factor * (from[j] - along * unit[j]);
}

/* The larger one, or the user's when it is not a number. */
static inline float larger(float user, float item)
{
    return item > user ? item : user;
}

/* Four items at once reuse each load of the user's vector. */
static void max_user(const float *restrict w, const float *constant, const float *restrict user,
                     const float *items, int32_t n_items, int32_t d, float *out)
{
    int32_t i = 0;
    for (; i + ITEMS_AT_ONCE <= n_items; i += ITEMS_AT_ONCE) {
        const float *restrict v0 = items + (int64_t)i * d, *restrict v1 = v0 + d;
        const float *restrict v2 = v1 + d, *restrict v3 = v2 + d;
        float s0[LANES] = {0}, s1[LANES] = {0}, s2[LANES] = {0}, s3[LANES] = {0};
        int32_t j = 0;
        for (; j + LANES <= d; j += LANES)
            for (int l = 0; l < LANES; l++) {
                s0[l] += w[j + l] * larger(user[j + l], v0[j + l]);
                s1[l] += w[j + l] * larger(user[j + l], v1[j + l]);
                s2[l] += w[j + l] * larger(user[j + l], v2[j + l]);
                s3[l] += w[j + l] * larger(user[j + l], v3[j + l]);
            }
        for (int l = 0; j < d; j++, l++) {
            s0[l] += w[j] * larger(user[j], v0[j]);
            s1[l] += w[j] * larger(user[j], v1[j]);
            s2[l] += w[j] * larger(user[j], v2[j]);
            s3[l] += w[j] * larger(user[j], v3[j]);
        }
        out[i] += constant[i] + fold_array(s0);
        out[i + 1] += constant[i + 1] + fold_array(s1);
        out[i + 2] += constant[i + 2] + fold_array(s2);
        out[i + 3] += constant[i + 3] + fold_array(s3);
    }
    for (; i < n_items; i++) {
        const float *restrict v = items + (int64_t)i * d;
        float sum[LANES] = {0};
        for (int32_t j = 0; j < d; j++) sum[j % LANES] += w[j] * larger(user[j], v[j]);
        out[i] += constant[i] + fold_array(sum);
    }
}

/* So many items of d numbers fit the second-level cache. */
static int32_t panel_of(int32_t d)
{
    enum { PANEL_BYTES = 1 << 17 };
    int32_t panel = PANEL_BYTES / (int32_t)sizeof(float) / (d > 0 ? d : 1);
    return panel < ITEMS_AT_ONCE ? ITEMS_AT_ONCE : panel - panel % ITEMS_AT_ONCE;
}

/* A panel of items serves all users of the block in turn. */
static void max_block(const float *weight, const float *constant, const float *const *users,
                      int32_t n, const float *items, int32_t n_items, int32_t d, float *out)
{
    int32_t panel = panel_of(d);
    for (int32_t first = 0; first < n_items; first += panel) {
        int32_t count = n_items - first < panel ? n_items - first : panel;
        for (int32_t k = 0; k < n; k++)
            max_user(weight, constant + first, users[k], items + (int64_t)first * d, count, d,
                     out + (int64_t)k * n_items + first);
    }
}

static inline int32_t add_up(const whole_lanes *count)
{
    int32_t sum = 0;
    for (int l = 0; l < LANES; l++) sum += (*count)[l];
    return sum;
}

static int32_t count_from(const float *x, int32_t n, float bound)
{
    lanes all = (lanes){0} + bound;
    whole_lanes count = {0};
    for (int32_t j = 0; j < n; j += LANES) count -= *load(x + j) >= all;
    return add_up(&count);
}

/* The largest number, and the least but for -infinity. */
static void find_range(const float *x, int32_t n, float *least, float *most)
{
    float low[LANES], high[LANES];
    for (int l = 0; l < LANES; l++) {
        low[l] = INFINITY;
        high[l] = -INFINITY;
    }
    for (int32_t j = 0; j < n; j += LANES)
        for (int l = 0; l < LANES; l++) {
            float number = x[j + l] > -INFINITY ? x[j + l] : INFINITY;
            low[l] = number < low[l] ? number : low[l];
            high[l] = x[j + l] > high[l] ? x[j + l] : high[l];
        }
    *least = low[0];
    *most = high[0];
    for (int l = 1; l < LANES; l++) {
        *least = low[l] < *least ? low[l] : *least;
        *most = high[l] > *most ? high[l] : *most;
    }
}

static float reached(const float *x, int32_t n, int32_t k, float low)
{
    enum { HALVINGS = 32 }; /* enough for numbers of very different size */
    int32_t count = n;
    float least, most;
    find_range(x, n, &least, &most);
    if (least > low) {
        count = count_from(x, n, least);
        if (count < k) return low;
        low = least;
    }
    for (int step = 0; step < HALVINGS && count > k + k / 16; step++) {
        float middle = low + (most - low) / 2;
        int32_t above = count_from(x, n, middle);
        count = above >= k ? above : count;
        low = above >= k ? middle : low;
        most = above >= k ? most : middle;
    }
    return low;
}

/* LANES scores at a time are compared with all others.  Before them an equal score comes first,
 * behind them it does not. */
static void places(const float *score, int32_t n, int32_t *place)
{
    for (int32_t i = 0; i < n; i += LANES) {
        int32_t end = n - i < LANES ? n : i + LANES;
        whole_lanes count = {0}, number = {0};
        lanes own;
        load_some(score + i, end - i, &own);
        for (int l = 0; l < LANES; l++) number[l] = i + l;
        for (int32_t j = 0; j < i; j++) count -= (lanes){0} + score[j] >= own;
        for (int32_t j = i; j < end; j++)
            count -=
                ((lanes){0} + score[j] > own) | (((lanes){0} + score[j] == own) & (number > j));
        for (int32_t j = end; j < n; j++) count -= (lanes){0} + score[j] > own;
        memcpy(place + i, &count, (size_t)(end - i) * sizeof *place);
    }
}

#include "backend/cpu/bundle.h"
#include "backend/cpu/softmax.h"

static void add_row(const float *row, int64_t n, double *out)
{
    for (int64_t j = 0; j < n; j++) out[j] += (double)row[j];
}

#include "backend/cpu/double_gemm.h"

const cwi_ops OPS_TABLE = {
    .name = OPS_NAME,
    .screen_pays = OPS_SCREEN_PAYS,
    .random_blocks = random_blocks,
    .dot_pairs = dot_pairs,
    .dot_apart = dot_apart,
    .weighted_sum = weighted_sum,
    .sparse_rows = sparse_rows,
    .relu_pairs = relu_pairs,
    .gated_sum = gated_sum,
    .adam = adam,
    .adam_peek = adam_peek,
    .adam_late = adam_late,
    .adam_missed = adam_missed,
    .adam_pull = adam_pull,
    .score_block = score_block,
    .max_block = max_block,
    .screen = OPS_SCREEN,
    .reached = reached,
    .places = places,
    .first_above = first_above,
    .gemm = gemm,
    .double_gemm = double_gemm,
    .add_row = add_row,
    .multiply = multiply,
    .multiply_back = multiply_back,
    .leaky_sum = leaky_sum,
    .leaky_sum_back = leaky_sum_back,
    .normalise = normalise,
    .normalise_back = normalise_back,
    .sum_squares = sum_squares,
    .turn = turn_rows,
    .margin_row = margin_row,
    .mirror_row = mirror_row,
    .exp_row = exp_row,
    .softplus_row = softplus_row,
    .power_row = power_row,
    .largest = largest,
    .keep_larger = keep_larger,
    .keep_largest = keep_largest,
    .blend = blend,
};
