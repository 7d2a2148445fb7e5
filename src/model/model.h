/* model.h - what training produces and everything after it uses. */
#ifndef CWI_MODEL_MODEL_H
#define CWI_MODEL_MODEL_H

#include <stdatomic.h>

#include "import/idmap.h"
#include "prepare/dataset.h"
#include "score/params.h"
#include "score/ranker.h"

struct cw_model {
    atomic_int holders; /* who made it and whoever holds it; the last one frees it */
    int32_t n_users, n_items;
    char method[32], backbone[32];
    cwi_params params;
    cwi_csr seen;           /* train items by user, ascending: what recommending leaves out */
    int64_t *degree;        /* [n_items] train rows of each item */
    cwi_idmap users, items; /* raw ids */
    cwi_rest rest;          /* guests: users and items that were left out of training; rows that are
                               hidden beside the seen ones */
    float *term;            /* [n_items] added to the scores of items; NULL: nothing */
    char checksum[33];      /* of the file that it was read from; "" */
    char *about; /* JSON object as text: options, seed, data (checksum, counts), best_epoch,
                    valid and test metrics; see docs/models.md */
};

cw_status cwi_model_create(cw_context *ctx, cw_model **out);

/* Who and what there is, and who had what, from one model to an empty one. */
cw_status cwi_model_copy_data(cw_context *ctx, const cw_model *from, cw_model *to);

/* The popularity dial that the model was tuned with; 0 when it was not. */
cw_status cwi_model_dial(cw_context *ctx, const cw_model *model, double *dial);

/* Two models of the same data, which rank by inner products, as one whose scores are the sum of
 * theirs times the weights: vectors side by side, kept as those of bpr on mf, with "sum" in its
 * words. */
cw_status cwi_model_sum(cw_context *ctx, const cw_model *const *part, const double weight[2],
                        cw_model **out);

/* The same model once more, to be freed by cw_model_free once more. */
cw_model *cwi_model_hold(cw_model *model);

/* Is anybody known who was left out of training? */
bool cwi_model_has_guests(const cw_model *model);

/* Rows that were not trained on, and are hidden. */
int64_t cwi_model_count_hidden(const cw_model *model);

/* The ranker of a model, which must outlive it.  The backbone is found by its name and gets no
 * options: it ranks by its parameters alone, whose shapes it checks. */
cw_status cwi_model_rank(cw_context *ctx, const cw_model *model, cwi_ranker *out);

#endif
