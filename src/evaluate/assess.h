/* assess.h - everything the evaluate command measures. */
#ifndef CWI_EVALUATE_ASSESS_H
#define CWI_EVALUATE_ASSESS_H

#include <jansson.h>

#include "core/mem.h"
#include "evaluate/agreement.h"
#include "evaluate/beyond.h"
#include "evaluate/bootstrap.h"
#include "evaluate/groups.h"
#include "evaluate/sweep.h"

/* What is evaluated.  Everything is borrowed. */
typedef struct cwi_subject {
    const cwi_ranker *ranker;
    const cwi_csr *mask;           /* items by user that are no candidates, sorted */
    const cwi_pairs *held;         /* what is to be found */
    const int64_t *degree;         /* [n_items] in the training set */
    const int64_t *user_degree;    /* [n_users] likewise */
    const cwi_truth *truth;        /* NULL: not to be compared */
    const cwi_exposure *exposure;  /* behind `held`; NULL: nothing is known of it */
    const struct cwi_world *world; /* processes that do it together; NULL: this one alone */
} cwi_subject;

/* What was found.  "Main K" is the first of the request. */
typedef struct cwi_findings {
    cwi_audience audience;
    double *log_degree;   /* [n_items] ln(1 + degree) */
    cwi_share *share;     /* [users][n_ks][CWI_N_METRICS] */
    int64_t *recommended; /* [n_items] times in the lists of the main K */
    uint8_t *item_group;  /* [n_items] */
    uint8_t *user_group;  /* [n_users] */
    int32_t *room;        /* [main K + most held-out items of a user] to work in */
    cwi_group_tally group[CWI_MAX_GROUPS];
    cwi_beyond beyond;
    cwi_interval interval[CWI_MAX_KS * CWI_N_METRICS];
    cwi_agreement agreement;
    double propensity_percentile;  /* of the recommended items, by true item propensity */
    double propensity_correlation; /* of times recommended with the same */
    cwi_sweep sweep;
    cwi_pile pile;
} cwi_findings;

/* Measure all that the request asks for; of many processes number 0 alone has findings.  Clear them
 * also after a failure. */
cw_status cwi_assess(cw_context *ctx, const cwi_subject *subject, const cwi_request *request,
                     cwi_findings *out);
void cwi_findings_clear(cwi_findings *findings);

/* The findings as the JSON object that cw_evaluate returns; NULL: no memory. */
json_t *cwi_findings_report(const cwi_subject *subject, const cwi_request *request,
                            const cwi_findings *findings);

#endif
