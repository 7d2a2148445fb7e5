/* recommend.h - lists for people. */
#ifndef CWI_RECOMMEND_RECOMMEND_H
#define CWI_RECOMMEND_RECOMMEND_H

#include "core/mem.h"
#include "core/options.h"
#include "evaluate/screen.h"
#include "evaluate/topk.h"
#include "model/model.h"

extern const cw_option_info cwi_recommend_options[];

struct cw_recommender {
    cw_model *model; /* held */
    cwi_ranker ranker;
    double *log_degree; /* [n_items] ln(1 + train rows) */
    cwi_screen screen;  /* for short lists; without rooms: there is none */
};

enum { CWI_MAX_DIAL = 1000000 };

/* What the lists of one call are made of, and where they go. */
typedef struct cwi_listing cwi_listing;
struct cwi_listing {
    const cw_recommender *rec;
    cw_lists out;
    /* out[k * n_scores + i] is the score of i in the list for who[k]; on any thread */
    void (*score)(const cwi_listing *listing, const int32_t *who, int32_t n, float *out);
    const int32_t *who;    /* whom or what the lists are for; checked */
    int32_t n_scores;      /* for a list: as many as there are items, or users */
    const float *newcomer; /* [n_items] scores for somebody new; otherwise NULL */
    const float *alike;    /* [n_scores] vectors to compare; otherwise NULL */
    const cwi_csr *skip;   /* what is left out, ascending, by who; NULL: each leaves out itself */
    const cwi_csr *hidden; /* as well, by who; NULL: nothing */
    const cwi_csr *own;    /* instead of `skip`: by place of the list; NULL: as that says */
    int64_t own_first;     /* place of the first list */
    cwi_csr own_rows;      /* what own points to */
    bool with_skipped;     /* neither is left out after all */
    double dial;
    int32_t *barred; /* [n_barred] ascending: left out of all lists */
    int32_t n_barred;
    const int32_t *boosted; /* [n_boosted] borrowed from the rules, as boosts are */
    const float *boosts;
    size_t n_boosted;
    double diversity;
    cwi_pile pile;
};

/*
 * Choose and order `wanted` of the `n` best, in place (maximal marginal relevance: Carbonell and
 * Goldstein, SIGIR 1998): next is always the one with the largest
 *   (1 - diversity) * score - diversity * cosine to the nearest that was chosen,
 * scores being scaled to 0 .. 1 over the n; of equals the one that comes first.
 *   nearest  [n] scratch
 */
void cwi_diversify(const cwi_ranker *ranker, double diversity, int32_t n, int32_t wanted,
                   cwi_ranked *top, double *nearest);

/* How many of the best are looked at for a list of k. */
int32_t cwi_diverse_pool(int32_t k);

/* Is there nothing that bounds of scores know nothing of: terms of items, the dial, items that
 * nobody gets? */
bool cwi_listing_is_plain(const cwi_listing *listing);

/* Round the items of the ranker, so that few lists at a time need not make all scores.  Nothing is
 * done where that does not pay. */
cw_status cwi_recommender_screen(cw_context *ctx, cw_recommender *rec);

/* The same lists as cwi_listing_run makes, bit for bit, from bounds of the scores.  False: that is
 * not for these, or did not help, and nothing is written. */
bool cwi_listing_screened(const cwi_listing *listing, size_t n);

/* Check the rules, which may be NULL, and the arrays of the caller.  Needs cwi_listing_clear also
 * after a failure. */
cw_status cwi_listing_init(cw_context *ctx, const cw_recommender *rec, const cw_rules *rules,
                           const cw_lists *out, cwi_listing *listing);
void cwi_listing_clear(cwi_listing *listing);

/* Take what n lists leave out from the rules, which may be NULL. */
cw_status cwi_listing_own(cw_context *ctx, const cw_rules *rules, size_t n, cwi_listing *listing);

/* The lists from one of them on. */
cw_lists cwi_lists_from(const cw_lists *lists, size_t first);

/* Fill the lists of n rows: score and pick, block by block. */
cw_status cwi_listing_run(cw_context *ctx, const cwi_listing *listing, size_t n);

/* The same for n users of training, where bounds of the scores are sooner; *is_done says whether
 * they were. */
cw_status cwi_listing_screen(cw_context *ctx, const cwi_listing *listing, size_t n, bool *is_done);

/* CW_BAD_ARG that says which of the numbers is not below limit, or that there are none. */
cw_status cwi_check_numbers(cw_context *ctx, const char *name, const int32_t *number, size_t n,
                            int32_t limit);

/* Make the only row ascending and distinct. */
void cwi_sort_distinct(cwi_csr *row);

/* The same for n rows of numbers, which begin and end as start says. */
cw_status cwi_check_rows(cw_context *ctx, const char *name, const int64_t *start,
                         const int32_t *number, size_t n, int32_t limit);

/* CW_BAD_ARG when an argument is missing. */
cw_status cwi_check_given(cw_context *ctx, const char *name, const void *argument);

/* Why a list could not be made. */
cw_status cwi_fail_nan(cw_context *ctx);

#endif
