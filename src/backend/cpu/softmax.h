/* softmax.h - rows of a grid of scores: losses, the largest, the mirror image.  Included by
 * kernels.h. */

__attribute__((always_inline)) static inline void exp_some(const float *x, const float *by,
                                                           float less, float *out, sums *sum)
{
    bundle y = bundle_load(x);
    if (by) y = difference_of(y, bundle_load(by));
    y = exp_of(plus(y, -less));
    bundle_store(y, out);
    add_bundle(y, sum);
}

static float exp_row(const float *x, const float *by, float less, int64_t n, float *out)
{
    sums sum = {{{0}}};
    int64_t j = 0;
    for (; j + BUNDLE_LANES <= n; j += BUNDLE_LANES)
        exp_some(x + j, by ? by + j : NULL, less, out + j, &sum);
    if (j < n) {
        float from[BUNDLE_LANES], shift[BUNDLE_LANES], to[BUNDLE_LANES];
        load_padded(x + j, n - j, -INFINITY, from);
        if (by) load_padded(by + j, n - j, 0, shift);
        exp_some(from, by ? shift : NULL, less, to, &sum);
        memcpy(out + j, to, (size_t)(n - j) * sizeof *out);
    }
    return fold_sums(&sum);
}

/* Instead of logarithms of 1 + e^-|x| one by one those of their products are taken: no factor is
 * above 2, so that a product of FACTORS of them is a number. */
enum { FACTORS = 64 };

__attribute__((always_inline)) static inline void softplus_some(const float *x, float *out,
                                                                sums *over, sums *product)
{
    const native zero = {0};
    bundle y = bundle_load(x), e, most, share;
    FOR_EACH_VECTOR e.v[k] = choose(y.v[k] > zero, -y.v[k], y.v[k]);
    e = exp_of_small(e);
    FOR_EACH_VECTOR share.v[k] = choose(y.v[k] > zero, zero + 1.0f, e.v[k]);
    FOR_EACH_VECTOR most.v[k] = choose(y.v[k] > zero, y.v[k], zero);
    e = plus(e, 1.0f);
    bundle_store(ratio_of(share, e), out);
    add_bundle(most, over);
    FOR_EACH_VECTOR product->part[k % PARTS] *= e.v[k];
}

/* The logarithms of the products on top of the sum; they start anew. */
static inline void add_logarithms(sums *product, sums *sum)
{
    bundle x;
    FOR_EACH_VECTOR x.v[k] = k < PARTS ? product->part[k % PARTS] : (native){0} + 1.0f;
    bundle y = ln_of(x);
    for (int p = 0; p < PARTS; p++) {
        native wrong = product->part[p];
        sum->part[p] += choose(wrong == wrong, y.v[p], wrong);
        product->part[p] = (native){0} + 1.0f;
    }
}

static float softplus_row(const float *x, int64_t n, float *out)
{
    sums over = {{{0}}}, product;
    int64_t j = 0;
    for (int p = 0; p < PARTS; p++) product.part[p] = (native){0} + 1.0f;
    for (; j + BUNDLE_LANES <= n; j += BUNDLE_LANES) {
        softplus_some(x + j, out + j, &over, &product);
        if ((j + BUNDLE_LANES) % (LANES * FACTORS) == 0) add_logarithms(&product, &over);
    }
    if (j < n) {
        float from[BUNDLE_LANES], to[BUNDLE_LANES];
        load_padded(x + j, n - j, -INFINITY, from);
        softplus_some(from, to, &over, &product);
        memcpy(out + j, to, (size_t)(n - j) * sizeof *out);
    }
    add_logarithms(&product, &over);
    return fold_sums(&over);
}

typedef struct power {
    float own, t, inverse, less;
} power;

/* What is not a number stays so. */
__attribute__((always_inline)) static inline void power_some(const float *x, const power *w,
                                                             float *out, sums *terms, sums *slopes)
{
    const native zero = {0};
    bundle base = plus(times(plus(bundle_load(x), -w->own), w->t), 1.0f), slope;
    bundle term = exp_of(plus(times(ln_of(base), w->inverse), -w->less));
    FOR_EACH_VECTOR term.v[k] =
        choose(base.v[k] > zero, term.v[k], choose(base.v[k] <= zero, zero, base.v[k]));
    slope = ratio_of(term, base);
    FOR_EACH_VECTOR slope.v[k] = choose(base.v[k] <= zero, zero, slope.v[k]);
    bundle_store(slope, out);
    add_bundle(term, terms);
    add_bundle(slope, slopes);
}

static float power_row(const float *x, float own, float t, float less, int64_t n, float *out,
                       float *slopes)
{
    const power w = {own, t, 1.0f / t, less};
    sums terms = {{{0}}}, back = {{{0}}};
    int64_t j = 0;
    for (; j + BUNDLE_LANES <= n; j += BUNDLE_LANES) power_some(x + j, &w, out + j, &terms, &back);
    if (j < n) {
        float from[BUNDLE_LANES], to[BUNDLE_LANES];
        load_padded(x + j, n - j, -INFINITY, from);
        power_some(from, &w, to, &terms, &back);
        memcpy(out + j, to, (size_t)(n - j) * sizeof *out);
    }
    *slopes = fold_sums(&back);
    return fold_sums(&terms);
}

/* Numbers side by side of which the largest and the least are kept: enough to hide the time of a
 * comparison. */
enum { ENDS = 64, END_PARTS = ENDS / VEC_LANES, MOST_FEW = 1024 };

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
    for (int64_t j = 0; j < n; j++) out[j] = 0.5f * (x[j] + y[j]) - 0.5f * (own + others[j]);
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
    native_whole count[END_PARTS] = {{0}};
    native all = (native){0} + bound;
    int64_t j = 0, total = 0;
    for (; j + ENDS <= n; j += ENDS)
#pragma GCC unroll 16
        for (int p = 0; p < END_PARTS; p++) count[p] -= natives(x + j)[p] >= all;
    for (; j < n; j++) total += x[j] >= bound;
    for (int p = 1; p < END_PARTS; p++) count[0] += count[p];
    for (int l = 0; l < VEC_LANES; l++) total += count[0][l];
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

/* The least number but for -infinity and the largest, and how many there are. */
static int64_t find_ends(const float *x, int64_t n, float *least, float *most)
{
    const native none = (native){0} - INFINITY;
    native low[END_PARTS], high[END_PARTS];
    native_whole count[END_PARTS] = {{0}};
    int64_t j = 0, live = 0;
    for (int p = 0; p < END_PARTS; p++) {
        low[p] = -none;
        high[p] = none;
    }
    for (; j + ENDS <= n; j += ENDS)
#pragma GCC unroll 16
        for (int p = 0; p < END_PARTS; p++) {
            native y = natives(x + j)[p];
            native_whole is_there = y > none;
            high[p] = choose(y > high[p], y, high[p]);
            low[p] = choose(is_there & (y < low[p]), y, low[p]);
            count[p] -= is_there;
        }
    *least = INFINITY;
    *most = -INFINITY;
    for (; j < n; j++) {
        *most = x[j] > *most ? x[j] : *most;
        *least = x[j] > -INFINITY && x[j] < *least ? x[j] : *least;
        live += x[j] > -INFINITY;
    }
    for (int p = 1; p < END_PARTS; p++) {
        high[0] = choose(high[p] > high[0], high[p], high[0]);
        low[0] = choose(low[p] < low[0], low[p], low[0]);
        count[0] += count[p];
    }
    for (int l = 0; l < VEC_LANES; l++) {
        *least = low[0][l] < *least ? low[0][l] : *least;
        *most = high[0][l] > *most ? high[0][l] : *most;
        live += count[0][l];
    }
    return live;
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

/* The numbers between two bounds, where there are few of them. */
typedef struct candidates {
    const float *x;
    int64_t n, beyond; /* how many others are above all of them */
    float few[MOST_FEW + ENDS];
} candidates;

static int64_t count_candidates(const candidates *c, float bound)
{
    return c->beyond + count_reaching(c->x, c->n, bound);
}

/* Leave out what is known to be outside the bounds.  Filled up with what no bound counts. */
static void thin_out(candidates *c, float low, float high, int64_t reached, int64_t missed)
{
    if (!PACK_PAYS || c->x == c->few || reached - missed > MOST_FEW) return;
    c->n = pack_between(c->x, c->n, low, high, c->few);
    c->x = c->few;
    c->beyond = missed;
    for (; c->n % ENDS != 0; c->n++) c->few[c->n] = -INFINITY;
}

/* A bound that k of the `live` > k numbers reach; or more of them, where some are equal to it:
 * *above is the number of those above it then, and k else.  low and high are the
 * ends.  Looks where a line through the counts at two bounds meets k; a bound that stays counts
 * half (the Illinois rule). */
static float find_bound(candidates *c, int64_t live, int64_t k, float low, float high,
                        int64_t *above)
{
    enum { SOON = 32 };
    int64_t reached = live, missed = 0;
    if (high <= FLT_MAX)
        high = float_of(place_of(high) + 1); /* which none reach */
    else
        missed = count_candidates(c, high);
    if (missed >= k) {
        *above = missed == k ? k : 0;
        return high;
    }
    double over = (double)(reached - k), under = (double)(k - missed);
    int moved = 0; /* 1: low, -1: high */
    for (int tried = 0; reached > k && place_of(high) - place_of(low) > 1; tried++) {
        float y = look_between(low, high, over / (over + under), tried >= SOON);
        int64_t count = count_candidates(c, y);
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
        thin_out(c, low, high, reached, missed);
    }
    *above = reached == k ? k : missed;
    return low;
}

static int64_t keep_largest(float *x, int64_t n, int64_t k)
{
    candidates c;
    float low, high;
    int64_t live = find_ends(x, n, &low, &high), above;
    if (live <= k) return live;
    c.x = x;
    c.n = n;
    c.beyond = 0;
    float bound = find_bound(&c, live, k, low, high, &above);
    int64_t equal = k - above; /* of those at the bound: the first stay */
    for (int64_t j = 0; j < n && above < k; j++)
        if (x[j] == bound && --equal < 0) x[j] = -INFINITY;
    for (int64_t j = 0; j < n; j++) x[j] = x[j] >= bound ? x[j] : -INFINITY;
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
