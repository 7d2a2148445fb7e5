/* recommend.h - lists for people. */
#ifndef CWI_RECOMMEND_RECOMMEND_H
#define CWI_RECOMMEND_RECOMMEND_H

#include "core/options.h"
#include "evaluate/topk.h"
#include "model/model.h"

extern const cw_option_info cwi_recommend_options[];

/* What the options ask for, made ready. */
typedef struct cwi_request {
    const cw_model *model;
    cwi_ranker ranker;
    int32_t k;          /* at most the number of items */
    bool leaves_seen;   /* items that a user has seen are left out */
    bool skips_unknown; /* unknown ids are left out, not refused */
    double *bonus;      /* [n_items] popularity * ln(1 + degree); NULL when popularity is 0 */
    int32_t *excluded;  /* [n_excluded] ascending: items that nobody gets */
    int32_t n_excluded;
    const char **ids; /* [k] of the list being given */
    float *scores;    /* [k] */
    cw_recommendation_fn give;
    void *user;
} cwi_request;

/* options may be NULL.  Needs cwi_request_close also after a failure. */
cw_status cwi_request_open(cw_context *ctx, const cw_model *model, const cw_options *options,
                           cw_recommendation_fn give, void *user, cwi_request *out);
void cwi_request_close(cwi_request *request);

/*
 * The best of the scores, to which the bonus is added in place.  Many threads may do so at once.
 *   seen     [n_seen] ascending: left out, too
 *   scratch  [n_items], needed when something is excluded for everybody
 *   out      [k]
 * Returns how many there are, or -1 when a score is not a number.
 */
int32_t cwi_request_pick(const cwi_request *request, float *score, const int32_t *seen,
                         int64_t n_seen, int32_t *scratch, cwi_ranked *out);

/* Hand a list to the caller; CW_CANCELLED when it has enough. */
cw_status cwi_request_give(cw_context *ctx, cwi_request *request, const char *user,
                           const cwi_ranked *list, int32_t count);

/* One list from one array of scores: pick and give. */
cw_status cwi_request_give_one(cw_context *ctx, cwi_request *request, const char *user,
                               float *score, const int32_t *seen, int64_t n_seen);

/* Sort items and keep each once; returns how many there are. */
int32_t cwi_sort_distinct(int32_t *item, int32_t n);

/* Why a list could not be made. */
cw_status cwi_request_fail_nan(cw_context *ctx);

#endif
