/* dataset.h - train, valid and test pairs with dense ids. */
#ifndef CWI_PREPARE_DATASET_H
#define CWI_PREPARE_DATASET_H

#include "core/context.h"
#include "core/file.h"
#include "core/reel.h"
#include "import/idmap.h"
#include "prepare/csr.h"

typedef struct cwi_pairs {
    int64_t count;
    int32_t *user;    /* [count] */
    int32_t *item;    /* [count] */
    cwi_spill *spill; /* NULL; else pairs are in this file and the arrays NULL */
} cwi_pairs;

/* What the simulator knows and real data does not; docs/simulator.md has the model:
 *   relevance(u,i) = sigmoid(offset + item_quality[i] + user_factors[u] . item_factors[i])
 *   exposure(u,i)  = user_propensity[u] * item_propensity[i]^user_conformity[u]
 *                    * relevance(u,i)^alpha
 */
typedef struct cwi_truth {
    int32_t dim;
    double offset, alpha;
    float *user_factors;    /* [n_users][dim] */
    float *item_factors;    /* [n_items][dim] */
    float *item_quality;    /* [n_items] */
    float *user_propensity; /* [n_users] */
    float *item_propensity; /* [n_items] */
    float *user_conformity; /* [n_users] */
    cwi_pairs uniform;      /* relevant pairs of a uniformly exposed test; may be empty */
} cwi_truth;

/* What --min-rating, the core filter, or a split that drops rows, left out of a dataset that was
 * prepared just now; empty for one that was loaded, and without rows for one in files. */
typedef struct cwi_rest {
    cwi_idmap users; /* raw ids of users that are not in the dataset, by first appearance */
    cwi_csr rows;    /* [users.count] their items that are, as its numbers, ascending */
    cwi_idmap items; /* raw ids of items that are not in the dataset */
    cwi_csr hidden;  /* [n_users + users.count] items that each rated too low to be trained on, as
                        numbers of the dataset, ascending, in none of its parts; empty: nobody */
    cwi_csr lost;    /* [n_users + users.count] items that each has and that are not in the dataset,
                        as numbers of items above, ascending; empty: nobody */
} cwi_rest;

enum { CWI_PARTS = 3 };

/* What is known of all rows where most of them are elsewhere (train/deal.h). */
typedef struct cwi_whole {
    int64_t rows[CWI_PARTS];
    char hash[CWI_HASH_BYTES];
    double meeting, likeness; /* as in cwi_extent */
    bool evenly;              /* the same */
} cwi_whole;

struct cw_dataset {
    int32_t n_users, n_items;
    cwi_pairs part[CWI_PARTS]; /* by cw_part */
    bool keeps_repeats;        /* a pair may occur more than once, as was asked for */
    bool has_part[CWI_PARTS];  /* false: the file was not there */
    cwi_idmap users, items;    /* raw ids, [n_users] and [n_items] */
    char *origin;              /* how it was made, a JSON object as text; NULL when not known */
    cwi_truth *truth;          /* NULL for real data */
    cwi_rest rest;             /* what was left out */
    cwi_whole *whole;          /* NULL: all rows are here; else those of some users */
};

extern const cw_option_info cwi_prepare_options[];
extern const cw_option_info cwi_skew_options[];
extern const cw_option_info cwi_simulate_options[];

/* An empty dataset to be filled. */
cw_status cwi_dataset_create(cw_context *ctx, cw_dataset **out);

/* Fail where its pairs are in files: what the caller does wants them in memory. */
cw_status cwi_dataset_here(cw_context *ctx, const cw_dataset *dataset);

/* Rows of a part, wherever they are. */
int64_t cwi_dataset_rows(const cw_dataset *dataset, int part);

/* Room for count pairs; pairs must be empty. */
cw_status cwi_pairs_create(cw_context *ctx, int64_t count, cwi_pairs *pairs);
void cwi_pairs_clear(cwi_pairs *pairs);

/* For windows over them. */
cwi_reel cwi_pairs_reel(const cwi_pairs *pairs);

void cwi_truth_free(cwi_truth *truth); /* NULL is fine */

/* Draw a training set of another bias from the train part; options are of stage "skew". */
cw_status cwi_skew(cw_context *ctx, const cw_dataset *dataset, const cw_options *options,
                   cwi_pairs *out);

/* Checksum of the pairs of all parts in their order; two datasets with the same one train alike. */
void cwi_dataset_hash(const cw_dataset *dataset, char hash[CWI_HASH_BYTES]);

/* Degrees of pairs, [n] each, zeroed first. */
void cwi_degrees(const int32_t *ids, int64_t count, int32_t n, int64_t *degree);

/* A weight of every row from the degree of its item; new in *weight. */
cw_status cwi_degree_weights(cw_context *ctx, const int32_t *item, int64_t count, int32_t n_items,
                             double (*weigh)(double degree, double by), double by, double **weight);

#endif
