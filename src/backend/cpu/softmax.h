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

/* e^x = 2^n e^r with |r| <= ln 2 / 2, to 2e-7 of it, for x that are not above most_power; what is
 * not a number stays so. */
__attribute__((always_inline)) static inline native exp_of_small(native x)
{
    const float shift = 12582912.0f; /* 1.5 * 2^23 leaves the whole part in the low bits */
    native all = {0};
    native turned = x * 1.44269504f + shift, n = turned - shift;
    native r = (x - n * 0.693359375f) + n * 2.12194440e-4f;
    native p = r * 1.9875691500e-4f + 1.3981999507e-3f;
    p = p * r + 8.3334519073e-3f;
    p = p * r + 4.1665795894e-2f;
    p = p * r + 1.6666665459e-1f;
    p = p * r + 5.0000001201e-1f;
    p = (p * r * r + r) + 1.0f;
    native_bits scaled = (native_bits)p + (((native_bits)turned - 0x4b400000u) << 23);
    return choose(x < all + least_power, all, (native)scaled);
}

__attribute__((always_inline)) static inline native exp_of(native x)
{
    native most = (native){0} + most_power;
    return exp_of_small(choose(x > most, most, x));
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
        native e = exp_of_small(choose(up, -y, y)), whole = 1.0f + e;
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

/* Numbers side by side of which the largest and the least are kept: enough to hide the time of a
 * comparison. */
enum { ENDS = 64, END_PARTS = ENDS / VEC_LANES };

static float largest(const float *x, const float *by, int64_t n)
{
    native most[END_PARTS];
    int64_t j = 0;
    for (int p = 0; p < END_PARTS; p++) most[p] = (native){0} - INFINITY;
    for (; j + ENDS <= n; j += ENDS)
#pragma GCC unroll 16
        for (int p = 0; p < END_PARTS; p++) {
            native y = natives(x + j)[p];
            if (by) y -= natives(by + j)[p];
            most[p] = choose(y > most[p], y, most[p]);
        }
    float top = -INFINITY;
    for (; j < n; j++) {
        float y = by ? x[j] - by[j] : x[j];
        top = y > top ? y : top;
    }
    for (int p = 1; p < END_PARTS; p++) most[0] = choose(most[p] > most[0], most[p], most[0]);
    for (int l = 0; l < VEC_LANES; l++) top = most[0][l] > top ? most[0][l] : top;
    return top;
}

static void keep_larger(const float *x, int64_t n, float *most)
{
    const float *restrict from = x;
    float *restrict to = most;
    for (int64_t j = 0; j < n; j++) to[j] = from[j] > to[j] ? from[j] : to[j];
}

static void margin_row(const float *x, const float *y, float own, const float *others, int64_t n,
                       float *out)
{
    float *restrict to = out;
    for (int64_t j = 0; j < n; j++) to[j] = 0.5f * (x[j] + y[j]) - 0.5f * (own + others[j]);
}

/* Eight partial sums. */
static double mirror_row(float scale, const float *x, const float *y, int64_t n, float *out)
{
    enum { SUMS = 8 };
    double sum[SUMS] = {0};
    int64_t j = 0;
    for (; j + SUMS <= n; j += SUMS)
        for (int l = 0; l < SUMS; l++) {
            out[j + l] = scale * (x[j + l] + y[j + l]);
            sum[l] += (double)out[j + l];
        }
    for (; j < n; j++) {
        out[j] = scale * (x[j] + y[j]);
        sum[0] += (double)out[j];
    }
    for (int l = 1; l < SUMS; l++) sum[0] += sum[l];
    return sum[0];
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

/* Floats in their order as whole numbers, and back. */
static inline int64_t place_of(float x)
{
    int32_t bits;
    memcpy(&bits, &x, sizeof bits);
    return bits < 0 ? INT32_MIN - (int64_t)bits - 1 : bits;
}

static inline float float_of(int64_t place)
{
    int32_t bits = (int32_t)(place < 0 ? INT32_MIN - place - 1 : place);
    float x;
    memcpy(&x, &bits, sizeof x);
    return x;
}

/* The least number but for -infinity, and the largest. */
static void find_ends(const float *x, int64_t n, float *least, float *most)
{
    const native none = (native){0} - INFINITY;
    native low[END_PARTS], high[END_PARTS];
    int64_t j = 0;
    for (int p = 0; p < END_PARTS; p++) {
        low[p] = -none;
        high[p] = none;
    }
    for (; j + ENDS <= n; j += ENDS)
#pragma GCC unroll 16
        for (int p = 0; p < END_PARTS; p++) {
            native y = natives(x + j)[p];
            high[p] = choose(y > high[p], y, high[p]);
            low[p] = choose((y > none) & (y < low[p]), y, low[p]);
        }
    *least = INFINITY;
    *most = -INFINITY;
    for (; j < n; j++) {
        *most = x[j] > *most ? x[j] : *most;
        *least = x[j] > -INFINITY && x[j] < *least ? x[j] : *least;
    }
    for (int p = 1; p < END_PARTS; p++) {
        high[0] = choose(high[p] > high[0], high[p], high[0]);
        low[0] = choose(low[p] < low[0], low[p], low[0]);
    }
    for (int l = 0; l < VEC_LANES; l++) {
        *least = low[0][l] < *least ? low[0][l] : *least;
        *most = high[0][l] > *most ? high[0][l] : *most;
    }
}

/* A number between two others: in proportion, or in the middle of all floats between them where
 * that has not helped. */
static float look_between(float low, float high, double share, bool has_not_helped)
{
    int64_t least = place_of(low), most = place_of(high), at = least + (most - least) / 2;
    float y = (float)((double)low + ((double)high - (double)low) * share);
    if (!has_not_helped && y == y) at = place_of(y);
    return float_of(at <= least ? least + 1 : at >= most ? most - 1 : at);
}

/* A bound that k of the `live` > k numbers reach; or more of them, where some are equal to it:
 * *above is the number of those above it then, and k else.  Looks where a line through the counts
 * at two ends meets k; an end that stays counts half (the Illinois rule). */
static float find_bound(const float *x, int64_t n, int64_t live, int64_t k, int64_t *above)
{
    enum { SOON = 32 };
    float low, high;
    find_ends(x, n, &low, &high);
    int64_t reached = live, missed = count_reaching(x, n, high);
    if (missed >= k) {
        *above = missed == k ? k : 0;
        return high;
    }
    double over = (double)(reached - k), under = (double)(k - missed);
    int moved = 0; /* 1: low, -1: high */
    for (int tried = 0; reached > k && place_of(high) - place_of(low) > 1; tried++) {
        float y = look_between(low, high, over / (over + under), tried >= SOON);
        int64_t count = count_reaching(x, n, y);
        if (count >= k) {
            low = y;
            reached = count;
            over = (double)(count - k);
            under *= moved == 1 ? 0.5 : 1;
            moved = 1;
        } else {
            high = y;
            missed = count;
            under = (double)(k - count);
            over *= moved == -1 ? 0.5 : 1;
            moved = -1;
        }
    }
    *above = reached == k ? k : missed;
    return low;
}

static int64_t keep_largest(float *x, int64_t n, int64_t k)
{
    int64_t live = count_reaching(x, n, -FLT_MAX), above;
    if (live <= k) return live;
    float bound = find_bound(x, n, live, k, &above);
    int64_t equal = k - above; /* of those at the bound: the first stay */
    for (int64_t j = 0; j < n && above < k; j++)
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
