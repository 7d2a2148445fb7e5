/*
 * bucket.h - what a few items that were shown at random say of a model.
 *
 * The log mixes how often an item was shown with how good it is; a bucket of items shown at random
 * does not.  The chance that user u likes item i is fitted to its rows as
 *
 *   logit P = c + sum over models of w s(u,i) + g ln(1 + d_i) + e_i
 *
 * with scores less their mean over a user's items.  Scores and ln(1 + d_i) count in units of their
 * standard deviation; w and g have normal priors, so that a small bucket leaves the model as it is,
 * and e_i ~ N(0, v) with the v that makes the bucket most likely.  docs/unbiasedness.md has more.
 */
#ifndef CWI_EVALUATE_BUCKET_H
#define CWI_EVALUATE_BUCKET_H

#include <jansson.h>

#include "prepare/dataset.h"
#include "score/ranker.h"

enum {
    CWI_BUCKET_MODELS = 2,                   /* that one fit may have */
    CWI_FIT_COLUMNS = CWI_BUCKET_MODELS + 2, /* constant, scores, popularity */
    CWI_BUCKET_LEAST = 10                    /* rows of either kind that say anything */
};

/* ---- rows -------------------------------------------------------------------------- */

typedef struct cwi_bucket {
    int64_t count; /* rows, by user, then by item, each pair once */
    int32_t *user, *item;
    uint8_t *liked;
    bool has_labels; /* false: the file has what was liked alone, and the rest was drawn */
    int64_t n_read, n_liked;
    int64_t n_unknown, n_known, n_repeats; /* left out: of strangers, of train, there before */
    char hash[CWI_HASH_BYTES];
    cwi_pile pile;
} cwi_bucket;

/*
 * Read a file of raw ids with the header user,item,liked (all that was shown; 0 or 1) or user,item
 * (what was liked; each row is set against items drawn for the same user).  Rows of users or items
 * that the dataset has not, and rows of its train part, are left out with a warning; a pair that
 * comes again counts once, as liked if it once was.
 *   seed  of what is drawn
 * To be cleared also after a failure.
 */
cw_status cwi_bucket_read(cw_context *ctx, const char *path, const cw_dataset *dataset,
                          uint64_t seed, cwi_bucket *out);
bool cwi_bucket_is_enough(const cwi_bucket *bucket); /* to tell anything: rows of both kinds */
void cwi_bucket_clear(cwi_bucket *bucket);

/* ---- the fit ------------------------------------------------------------------------ */

/* Rows of a logistic regression with a constant first, and a term for each item. */
typedef struct cwi_logit_rows {
    int64_t n;
    int n_columns;
    int32_t n_terms;
    const double *x;     /* [n][CWI_FIT_COLUMNS] */
    const uint8_t *yes;  /* [n] */
    const int32_t *term; /* [n] */
    const double *times; /* [n] how often the row counts; NULL: once */
    double mean[CWI_FIT_COLUMNS], precision[CWI_FIT_COLUMNS]; /* of the priors */
} cwi_logit_rows;

typedef struct cwi_logit_fit {
    double slope[CWI_FIT_COLUMNS];
    double *term;     /* [n_terms] of the caller */
    double precision; /* of the prior of terms; 0: there are none */
    double evidence; /* log of how likely the rows are, slopes and terms integrated out (Laplace) */
    double *room;    /* [n_terms][CWI_FIT_COLUMNS + 3] of the caller */
} cwi_logit_fit;

/* The most likely slopes and terms by Newton's method, for the precision that `fit` has. */
void cwi_logit_solve(const cwi_logit_rows *rows, cwi_logit_fit *fit);

/* That with the precision of the most evidence, from a list; or with none. */
void cwi_logit_best(const cwi_logit_rows *rows, bool has_terms, cwi_logit_fit *fit);

double cwi_log_chance(double z); /* ln 1 / (1 + e^-z) */
double cwi_logit_at(const cwi_logit_rows *rows, const cwi_logit_fit *fit, int64_t row);

/* ---- the lesson --------------------------------------------------------------------- */

/* What a bucket teaches about a model, or about several whose scores are added up. */
typedef struct cwi_lesson {
    int n_models;
    bool is_enough; /* rows of both kinds */
    bool is_used;   /* dial and terms pay: by more than a standard error */
    double plain;   /* mean log of the chance that each row was given by a fit that had not seen it:
                       scores alone, */
    double full;    /* and with dial and terms */
    double gain, gain_se;
    double weight[CWI_BUCKET_MODELS]; /* of the scores of each model; of a single one 1 */
    double dial, dial_low, dial_high; /* with weights as above; 95 % of resamples of the users */
    double variance;                  /* of the terms, in logits */
    int32_t n_terms;
    int32_t *item; /* [n_terms] ascending */
    double *term;  /* [n_terms] beside weights as above */
    cwi_pile pile;
} cwi_lesson;

/*
 * Learn from a bucket.
 *   rankers  [n_models] of the same users and items
 *   degree   [n_items] train rows
 *   bounds   make dial_low and dial_high, too
 * To be cleared also after a failure.
 */
cw_status cwi_bucket_learn(cw_context *ctx, const cwi_bucket *bucket,
                           const cwi_ranker *const *rankers, int n_models, const int64_t *degree,
                           uint64_t seed, bool bounds, cwi_lesson *out);
void cwi_lesson_clear(cwi_lesson *lesson);

/* The chance that a row got, as a geometric mean: what models are ranked by. */
double cwi_lesson_value(const cwi_lesson *lesson);

/* What came of it as an object with a sentence, "verdict"; and the terms, to be kept. */
json_t *cwi_lesson_report(const cwi_bucket *bucket, const cwi_lesson *lesson);
json_t *cwi_lesson_terms(const cwi_lesson *lesson);
/* Those of a kept object for n items, in a new array; NULL with CW_OK where there are none. */
cw_status cwi_lesson_read_terms(cw_context *ctx, const json_t *kept, int32_t n_items, float **out);

/* Without a bucket. */
extern const char cwi_bucket_missing[];

#endif
