/* ratings.c - which ratings a log has and how often, in bounded memory. */
#include "import/ratings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/mem.h"

/* With too many values to tell apart, ratings are counted by sign, binary exponent and the first
 * STEP_BITS bits behind it: 128 buckets from each power of 2 to the next.  So whole numbers below
 * 256 still have buckets of their own. */
enum {
    STEP_BITS = 7,
    LEAST_EXPONENT = -16, /* below that, a rating counts as 0 */
    MOST_EXPONENT = 50,   /* 2^50 is above the largest rating, 1e15 */
    SIDE = (MOST_EXPONENT - LEAST_EXPONENT) << STEP_BITS, /* buckets above 0, and below */
    N_BUCKETS = 2 * SIDE + 1,
    DROPPED_BITS = 52 - STEP_BITS,
    FIRST_KEY = (1023 + LEAST_EXPONENT) << STEP_BITS
};

static size_t bucket_of(double rating)
{
    double size = fabs(rating);
    uint64_t bits;
    memcpy(&bits, &size, sizeof bits);
    int key = (int)(bits >> DROPPED_BITS) - FIRST_KEY + 1;
    if (key < 0) key = 0;
    return (size_t)(rating < 0 ? SIDE - key : SIDE + key);
}

/* The number of a bucket that is next to 0. */
static double bucket_value(size_t bucket)
{
    int key = abs((int)bucket - SIDE);
    uint64_t bits = (uint64_t)(key - 1 + FIRST_KEY) << DROPPED_BITS;
    double size;
    if (key == 0) return 0;
    memcpy(&size, &bits, sizeof size);
    return bucket < SIDE ? -size : size;
}

/* The slot that has this value, or the free one where it belongs. */
static size_t find_slot(const cwi_ratings *ratings, double rating)
{
    uint64_t bits;
    memcpy(&bits, &rating, sizeof bits);
    /* The high bits: those of small whole numbers and halves have zeros below. */
    size_t slot = (size_t)(bits * UINT64_C(0x9e3779b97f4a7c15) >> (64 - CWI_RATINGS_SLOT_BITS));
    while (ratings->rows[slot] > 0 && ratings->value[slot] != rating)
        slot = (slot + 1) & (CWI_RATINGS_SLOTS - 1);
    return slot;
}

static void widen(cwi_ratings *ratings, double rating)
{
    bool is_first = ratings->count == 1;
    if (is_first || rating < ratings->min) ratings->min = rating;
    if (is_first || rating > ratings->max) ratings->max = rating;
    if ((double)(int64_t)rating != rating) ratings->has_fractions = true;
}

/* There is one value more than is kept: from now on count by buckets. */
static cw_status open_buckets(cw_context *ctx, cwi_ratings *ratings)
{
    ratings->bucket = cwi_alloc_zero(ctx, N_BUCKETS, sizeof *ratings->bucket);
    if (!ratings->bucket) return CW_NO_MEMORY;
    for (size_t slot = 0; slot < CWI_RATINGS_SLOTS; slot++)
        if (ratings->rows[slot] > 0)
            ratings->bucket[bucket_of(ratings->value[slot])] += ratings->rows[slot];
    return CW_OK;
}

cw_status cwi_ratings_add(cw_context *ctx, cwi_ratings *ratings, double rating)
{
    rating += 0.0; /* -0 becomes 0 */
    ratings->count++;
    if (ratings->bucket) {
        widen(ratings, rating);
        ratings->bucket[bucket_of(rating)]++;
        return CW_OK;
    }
    size_t slot = find_slot(ratings, rating);
    if (ratings->rows[slot]++ > 0) return CW_OK;
    ratings->value[slot] = rating;
    widen(ratings, rating);
    return ++ratings->n_values > CWI_RATINGS_KEPT ? open_buckets(ctx, ratings) : CW_OK;
}

void cwi_ratings_clear(cwi_ratings *ratings)
{
    cwi_free(ratings->bucket);
    ratings->bucket = NULL;
}

static int compare_values(const void *a, const void *b)
{
    double x = ((const cwi_rating_rows *)a)->value, y = ((const cwi_rating_rows *)b)->value;
    return (x > y) - (x < y);
}

size_t cwi_ratings_list(const cwi_ratings *ratings, cwi_rating_rows out[CWI_RATINGS_KEPT])
{
    size_t n = 0;
    if (ratings->bucket) return 0;
    for (size_t slot = 0; slot < CWI_RATINGS_SLOTS; slot++)
        if (ratings->rows[slot] > 0)
            out[n++] = (cwi_rating_rows){ratings->value[slot], ratings->rows[slot]};
    qsort(out, n, sizeof *out, compare_values);
    return n;
}

double cwi_ratings_median(const cwi_ratings *ratings)
{
    cwi_rating_rows list[CWI_RATINGS_KEPT];
    int64_t half = ratings->count - ratings->count / 2, below = 0;
    size_t at = 0;

    if (!ratings->bucket) {
        size_t n = cwi_ratings_list(ratings, list);
        while (at < n && (below += list[at].rows) < half) at++;
        return at < n ? list[at].value : 0;
    }
    while ((below += ratings->bucket[at]) < half) at++;
    return fmin(fmax(bucket_value(at), ratings->min), ratings->max);
}

bool cwi_ratings_are_counts(const cwi_ratings *ratings)
{
    if (ratings->has_fractions || ratings->min < 0 || ratings->max <= 10) return false;
    return ratings->bucket || ratings->max > 10 * cwi_ratings_median(ratings);
}

bool cwi_ratings_threshold(const cwi_ratings *ratings, double *value, int64_t *kept)
{
    cwi_rating_rows list[CWI_RATINGS_KEPT];
    size_t n = cwi_ratings_list(ratings, list);

    *kept = 0;
    if (n < 2 || cwi_ratings_are_counts(ratings)) return false;
    while (n > 0 && (list[n - 1].value - ratings->min) * 5 > (ratings->max - ratings->min) * 3) {
        *value = list[--n].value;
        *kept += list[n].rows;
    }
    return *kept * 10 >= ratings->count;
}
