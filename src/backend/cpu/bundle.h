/*
 * bundle.h - exponentials and logarithms of many numbers at once.
 *
 * Polynomials of single steps, never fused, so that every instruction set gives the same bits.  A
 * step waits for the one before, and a core does not look far enough ahead for other numbers; so
 * four registers of them take each step in turn.  Included by kernels.h.
 */

enum { BUNDLE = 4, BUNDLE_LANES = BUNDLE * VEC_LANES };

typedef uint32_t native_bits __attribute__((vector_size(4 * VEC_LANES)));

typedef struct bundle {
    native v[BUNDLE];
} bundle;

#define BUNDLE_STEP     __attribute__((always_inline)) static inline bundle
#define FOR_EACH_VECTOR _Pragma("GCC unroll 4") for (int k = 0; k < BUNDLE; k++)

__attribute__((always_inline)) static inline native choose(native_whole where, native yes,
                                                           native no)
{
    return (native)(((native_whole)yes & where) | ((native_whole)no & ~where));
}

BUNDLE_STEP bundle_load(const float *from)
{
    bundle x;
    FOR_EACH_VECTOR x.v[k] = natives(from)[k];
    return x;
}

__attribute__((always_inline)) static inline void bundle_store(bundle x, float *to)
{
    FOR_EACH_VECTOR((native_at *)to)[k] = x.v[k];
}

BUNDLE_STEP plus(bundle x, float by)
{
    FOR_EACH_VECTOR x.v[k] = x.v[k] + by;
    return x;
}

BUNDLE_STEP times(bundle x, float by)
{
    FOR_EACH_VECTOR x.v[k] = x.v[k] * by;
    return x;
}

BUNDLE_STEP sum_of(bundle x, bundle y)
{
    FOR_EACH_VECTOR x.v[k] = x.v[k] + y.v[k];
    return x;
}

BUNDLE_STEP difference_of(bundle x, bundle y)
{
    FOR_EACH_VECTOR x.v[k] = x.v[k] - y.v[k];
    return x;
}

BUNDLE_STEP product_of(bundle x, bundle y)
{
    FOR_EACH_VECTOR x.v[k] = x.v[k] * y.v[k];
    return x;
}

BUNDLE_STEP ratio_of(bundle x, bundle y)
{
    FOR_EACH_VECTOR x.v[k] = x.v[k] / y.v[k];
    return x;
}

/* A step of a polynomial in x. */
BUNDLE_STEP horner(bundle p, bundle x, float next)
{
    FOR_EACH_VECTOR p.v[k] = p.v[k] * x.v[k] + next;
    return p;
}

/* Numbers beyond these have an exponential of zero, or one that is taken to be theirs. */
static const float least_power = -87.0f, most_power = 88.0f;

/* e^x = 2^n e^r with |r| <= ln 2 / 2, to 2e-7 of it, for x that are not above most_power; what is
 * not a number stays so. */
BUNDLE_STEP exp_of_small(bundle x)
{
    const float shift = 12582912.0f; /* 1.5 * 2^23 leaves the whole part in the low bits */
    bundle turned = plus(times(x, 1.44269504f), shift), n = plus(turned, -shift);
    bundle r = sum_of(difference_of(x, times(n, 0.693359375f)), times(n, 2.12194440e-4f));
    bundle p = plus(times(r, 1.9875691500e-4f), 1.3981999507e-3f);
    p = horner(p, r, 8.3334519073e-3f);
    p = horner(p, r, 4.1665795894e-2f);
    p = horner(p, r, 1.6666665459e-1f);
    p = horner(p, r, 5.0000001201e-1f);
    p = plus(sum_of(product_of(product_of(p, r), r), r), 1.0f);
    FOR_EACH_VECTOR
    {
        native_bits power = ((native_bits)turned.v[k] - 0x4b400000u) << 23;
        native zero = {0}, scaled = (native)((native_bits)p.v[k] + power);
        p.v[k] = choose(x.v[k] < zero + least_power, zero, scaled);
    }
    return p;
}

BUNDLE_STEP exp_of(bundle x)
{
    native most = (native){0} + most_power;
    FOR_EACH_VECTOR x.v[k] = choose(x.v[k] > most, most, x.v[k]);
    return exp_of_small(x);
}

/* ln(1 + t) for 0 <= t <= 1: 2 artanh(t / (2 + t)). */
BUNDLE_STEP log1p_of(bundle t)
{
    bundle z = ratio_of(t, plus(t, 2.0f)), s = product_of(z, z);
    bundle p = plus(times(s, 1.0f / 13), 1.0f / 11);
    p = horner(p, s, 1.0f / 9);
    p = horner(p, s, 1.0f / 7);
    p = horner(p, s, 1.0f / 5);
    p = horner(p, s, 1.0f / 3);
    p = horner(p, s, 1.0f);
    return product_of(times(z, 2.0f), p);
}

/* ln(x) for positive x that are no denormals: x = 2^n m with m around 1,
 * 2 artanh((m - 1) / (m + 1)). */
BUNDLE_STEP ln_of(bundle x)
{
    const uint32_t root_of_half = 0x3f3504f3u, power = 0xff800000u;
    bundle n, m;
    FOR_EACH_VECTOR
    {
        native_bits above = (native_bits)x.v[k] - root_of_half;
        n.v[k] = __builtin_convertvector((native_whole)above >> 23, native);
        m.v[k] = (native)((native_bits)x.v[k] - (above & power));
    }
    bundle z = ratio_of(plus(m, -1.0f), plus(m, 1.0f)), s = product_of(z, z);
    bundle p = plus(times(s, 2.0f / 9), 2.0f / 7);
    p = horner(p, s, 2.0f / 5);
    p = horner(p, s, 2.0f / 3);
    p = sum_of(product_of(product_of(p, s), z), times(n, -2.12194440e-4f));
    return sum_of(sum_of(p, times(z, 2.0f)), times(n, 0.693359375f));
}

/* Added in the order in which they lie: a number goes to the same partial sum on every table. */
__attribute__((always_inline)) static inline void add_bundle(bundle x, sums *sum)
{
    FOR_EACH_VECTOR sum->part[k % PARTS] += x.v[k];
}

/* n < BUNDLE_LANES numbers, and others that add nothing. */
static inline void load_padded(const float *from, int64_t n, float pad, float *out)
{
    for (int64_t l = 0; l < BUNDLE_LANES; l++) out[l] = pad;
    memcpy(out, from, (size_t)n * sizeof *out);
}
