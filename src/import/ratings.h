/* ratings.h - which ratings a log has and how often, in bounded memory. */
#ifndef CWI_IMPORT_RATINGS_H
#define CWI_IMPORT_RATINGS_H

#include "core/context.h"

enum {
    CWI_RATINGS_KEPT = 128, /* distinct values that are told apart: 0 to 100 and more */
    CWI_RATINGS_SLOT_BITS = 9,
    CWI_RATINGS_SLOTS = 1 << CWI_RATINGS_SLOT_BITS, /* of the table, which is never full */
    CWI_RATINGS_LISTED = 11 /* distinct values that are listed: a scale from 0 to 10 */
};

/* A zeroed one is empty.  Nothing in it depends on the order of the ratings. */
typedef struct cwi_ratings {
    int64_t count; /* ratings so far */
    double min, max;
    bool has_fractions;
    double value[CWI_RATINGS_SLOTS]; /* by hash */
    int64_t rows[CWI_RATINGS_SLOTS]; /* 0: a free slot */
    size_t n_values;                 /* distinct ones, as long as they are told apart */
    int64_t *bucket;                 /* NULL until there are more distinct values than are kept */
} cwi_ratings;

typedef struct cwi_rating_rows {
    double value;
    int64_t rows;
} cwi_rating_rows;

/* Count a rating between -1e15 and 1e15. */
cw_status cwi_ratings_add(cw_context *ctx, cwi_ratings *ratings, double rating);
void cwi_ratings_clear(cwi_ratings *ratings);

/* The distinct values from the lowest on; returns how many, 0 when there are too many. */
size_t cwi_ratings_list(const cwi_ratings *ratings, cwi_rating_rows out[CWI_RATINGS_KEPT]);

/* The smallest rating that at least half of them do not exceed; within 1 % of it where there are
 * too many values to tell apart. */
double cwi_ratings_median(const cwi_ratings *ratings);

/* Are these rather numbers of times than grades?  Whole numbers, and either too many to tell apart
 * or with a long tail: the highest is above 10, and above 10 times the median. */
bool cwi_ratings_are_counts(const cwi_ratings *ratings);

/* A threshold that separates what was liked: the lowest value above three fifths of the way from
 * the lowest to the highest one, which is 4 of 1 to 5 and 7 of 0 to 10.  False when that says
 * nothing: too many values, counts, or hardly any row would be left.  *kept is the rows left. */
bool cwi_ratings_threshold(const cwi_ratings *ratings, double *value, int64_t *kept);

#endif
