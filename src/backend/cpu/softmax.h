/*
 * softmax.h - exponentials and logarithms of many numbers at once, for losses on grids of scores.
 *
 * Polynomials of single steps, never fused, so that every instruction set gives the same bits.
 * Included by kernels.h.
 */

typedef uint32_t native_bits __attribute__((vector_size(4 * VEC_LANES)));

/* Numbers beyond these have an exponential of zero, or one that is taken to be theirs. */
static const float least_power = -87.0f, most_power = 88.0f;

__attribute__((always_inline)) static inline native choose(native_whole where, native yes,
                                                           native no)
{
    return (native)(((native_whole)yes & where) | ((native_whole)no & ~where));
}

/* e^x = 2^n e^r with |r| <= ln 2 / 2, to 2e-7 of it; what is not a number stays so. */
__attribute__((always_inline)) static inline native exp_of(native x)
{
    const float shift = 12582912.0f; /* 1.5 * 2^23 leaves the whole part in the low bits */
    native all = {0};
    native y = choose(x > all + most_power, all + most_power, x);
    native turned = y * 1.44269504f + shift, n = turned - shift;
    native r = (y - n * 0.693359375f) + n * 2.12194440e-4f;
    native p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = (p * r * r + r) + 1.0f;
    native_bits scaled = (native_bits)p + (((native_bits)turned - 0x4b400000u) << 23);
    return choose(x < all + least_power, all, (native)scaled);
}

/* ln(1 + t) for 0 <= t <= 1: 2 artanh(t / (2 + t)). */
__attribute__((always_inline)) static inline native log1p_of(native t)
{
    native z = t / (t + 2.0f), s = z * z;
    native p = s * (1.0f / 13) + 1.0f / 11;
    p = p * s + 1.0f / 9;
    p = p * s + 1.0f / 7;
    p = p * s + 1.0f / 5;
    p = p * s + 1.0f / 3;
    p = p * s + 1.0f;
    return 2.0f * z * p;
}

/* LANES numbers: n < LANES of them, and others that add nothing. */
static inline void load_padded(const float *from, int64_t n, float pad, float *out)
{
    for (int64_t l = 0; l < LANES; l++) out[l] = l < n ? from[l] : pad;
}

__attribute__((always_inline)) static inline void exp_some(const float *x, const float *by,
                                                           float less, float *out, sums *sum)
{
#pragma GCC unroll 4
    for (int p = 0; p < PARTS; p++) {
        native y = natives(x)[p];
        if (by) y -= natives(by)[p];
        native e = exp_of(y - less);
        ((native_at *)out)[p] = e;
        sum->part[p] += e;
    }
}

static float exp_row(const float *x, const float *by, float less, int64_t n, float *out)
{
    sums sum = {{{0}}};
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES) exp_some(x + j, by ? by + j : NULL, less, out + j, &sum);
    if (j < n) {
        float from[LANES], shift[LANES] = {0}, to[LANES];
        load_padded(x + j, n - j, -INFINITY, from);
        if (by) load_padded(by + j, n - j, 0, shift);
        exp_some(from, by ? shift : NULL, less, to, &sum);
        memcpy(out + j, to, (size_t)(n - j) * sizeof *out);
    }
    return fold_sums(&sum);
}

__attribute__((always_inline)) static inline void softplus_some(const float *x, float *out,
                                                                sums *sum)
{
#pragma GCC unroll 4
    for (int p = 0; p < PARTS; p++) {
        native y = natives(x)[p], zero = {0};
        native_whole up = y > zero;
        native e = exp_of(choose(up, -y, y)), whole = 1.0f + e;
        ((native_at *)out)[p] = choose(up, zero + 1.0f, e) / whole;
        sum->part[p] += choose(up, y, zero) + log1p_of(e);
    }
}

static float softplus_row(const float *x, int64_t n, float *out)
{
    sums sum = {{{0}}};
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES) softplus_some(x + j, out + j, &sum);
    if (j < n) {
        float from[LANES], to[LANES];
        load_padded(x + j, n - j, -INFINITY, from);
        softplus_some(from, to, &sum);
        memcpy(out + j, to, (size_t)(n - j) * sizeof *out);
    }
    return fold_sums(&sum);
}

static float largest(const float *x, const float *by, int64_t n)
{
    float most[LANES], top;
    int64_t j = 0;
    for (int l = 0; l < LANES; l++) most[l] = -INFINITY;
    for (; j + LANES <= n; j += LANES)
        for (int l = 0; l < LANES; l++) {
            float y = by ? x[j + l] - by[j + l] : x[j + l];
            most[l] = y > most[l] ? y : most[l];
        }
    for (int l = 0; j < n; j++, l++) {
        float y = by ? x[j] - by[j] : x[j];
        most[l] = y > most[l] ? y : most[l];
    }
    top = most[0];
    for (int l = 1; l < LANES; l++) top = most[l] > top ? most[l] : top;
    return top;
}

static void keep_larger(const float *x, int64_t n, float *most)
{
    const float *restrict from = x;
    float *restrict to = most;
    for (int64_t j = 0; j < n; j++) to[j] = from[j] > to[j] ? from[j] : to[j];
}

static int64_t count_reaching(const float *x, int64_t n, float bound)
{
    native_whole count[PARTS] = {{0}};
    native all = (native){0} + bound;
    int64_t j = 0, total = 0;
    for (; j + LANES <= n; j += LANES)
#pragma GCC unroll 4
        for (int p = 0; p < PARTS; p++) count[p] -= natives(x + j)[p] >= all;
    for (; j < n; j++) total += x[j] >= bound;
    for (int p = 0; p < PARTS; p++)
        for (int l = 0; l < VEC_LANES; l++) total += count[p][l];
    return total;
}

/* Floats in their order as whole numbers. */
static inline float float_of(int32_t place)
{
    uint32_t bits = place < 0 ? ~(uint32_t)place ^ 0x80000000u : (uint32_t)place;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The place of the largest number that at least k of the n numbers reach. */
static int32_t find_bound(const float *x, int64_t n, int64_t k)
{
    int64_t low = -0x7f800001, high = 0x7f800000; /* places of -infinity and infinity */
    while (low < high) {
        int64_t middle = low + (high - low + 1) / 2;
        if (count_reaching(x, n, float_of((int32_t)middle)) >= k)
            low = middle;
        else
            high = middle - 1;
    }
    return (int32_t)low;
}

static int64_t keep_largest(float *x, int64_t n, int64_t k)
{
    int64_t live = count_reaching(x, n, -FLT_MAX);
    if (live <= k) return live;
    int32_t place = find_bound(x, n, k);
    float bound = float_of(place), more = float_of(place + 1);
    int64_t equal = k - count_reaching(x, n, more); /* of those at the bound: the first stay */
    if (count_reaching(x, n, bound) == k) equal = n;
    for (int64_t j = 0; j < n && equal < n; j++)
        if (x[j] == bound && --equal < 0) x[j] = -INFINITY;
    float *restrict to = x;
    for (int64_t j = 0; j < n; j++) to[j] = to[j] >= bound ? to[j] : -INFINITY;
    return k;
}

static void blend(float a, const float *x, const float *b, const float *y, int64_t n, float *out)
{
    if (!b) {
        for (int64_t j = 0; j < n; j++) out[j] = a * x[j];
        return;
    }
    for (int64_t j = 0; j < n; j++) out[j] = a * x[j] + b[j] * y[j];
}
