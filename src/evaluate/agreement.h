/* agreement.h - rankings against the true relevances of a simulated dataset. */
#ifndef CWI_EVALUATE_AGREEMENT_H
#define CWI_EVALUATE_AGREEMENT_H

#include "evaluate/walk.h"
#include "prepare/truth.h"

/* Users compared and items in the rank correlation: enough for a standard error of Kendall's
 * tau well below 0.01, and seconds for any catalogue. */
enum { CWI_TRUTH_USERS = 2000, CWI_TRUTH_ITEMS = 4000 };

/* What is averaged over the users; r is the true relevance, docs/metrics.md has the formulas. */
#define CWI_AGREEMENT_MAP(X)                                                                       \
    X(kendall_tau)                                                                                 \
    X(recall)                                                                                      \
    X(ndcg)                                                                                        \
    X(relevance)                                                                                   \
    X(ideal_recall)                                                                                \
    X(ideal_relevance)                                                                             \
    X(candidate_relevance)

enum {
#define X(name) CWI_AGREEMENT_##name,
    CWI_AGREEMENT_MAP(X)
#undef X
        CWI_N_AGREEMENTS
};

extern const char *const cwi_agreement_name[CWI_N_AGREEMENTS];

typedef struct cwi_agreement {
    int32_t users;                  /* compared */
    int32_t items;                  /* in the rank correlation, before masking */
    double mean[CWI_N_AGREEMENTS];  /* over users, NaN left out */
    double error[CWI_N_AGREEMENTS]; /* standard error of the mean */
} cwi_agreement;

/* Compare the lists of `walk` (whose first dial counts; its callbacks are not used) with the
 * truth, for a sample of its users that depends on the seed alone. */
cw_status cwi_agreement_measure(cw_context *ctx, const cwi_walk *walk, const cwi_truth *truth,
                                uint64_t seed, cwi_agreement *out);

#endif
