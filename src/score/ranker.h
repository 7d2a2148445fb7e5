/* ranker.h - scores of all items for a user: what evaluation and recommendation need. */
#ifndef CWI_SCORE_RANKER_H
#define CWI_SCORE_RANKER_H

#include <stdatomic.h>

#include "prepare/csr.h"
#include "score/hits.h"
#include "score/params.h"

/* How a newcomer's vector is found by inner products; all zeros: as foldin.h says. */
typedef struct cwi_fold {
    double unseen;     /* weight of all items */
    double reg, power; /* lambda = reg (n + unseen * n_items)^power */
} cwi_fold;

/*
 * An opened ranker does not change, so many threads may ask it at once.
 *   score    required: out[k * n_items + i] is the score of item i for user users[k]
 *   fold_in  optional (NULL: not possible): scores of all items for a new user who liked these
 *            n items; may need memory, hence the context
 *   explain  optional: added[k] is what items[k] of such a user adds to the score of `item`, where
 *            that score is a sum over the user's items (and a term of the item)
 *   items    optional (NULL): one vector of `width` floats per item, for similar items
 *   list     optional: lists of many users by a device, as cwi_topk makes them.  CW_UNSUPPORTED,
 *            without a message, where it cannot and `score` has to do.
 *   measure  optional, beside `list`: the values of those lists added up user by user, where a
 *            list has one.  CW_UNSUPPORTED likewise; CW_BAD_DATA, without a message, where a score
 *            is no number, which making the lists will tell.
 *   close    optional: releases what of the state does not lie in the pile
 */

/* Lists that are wanted of a device. */
typedef struct cwi_wish {
    const cwi_csr *mask;  /* items by user that are no candidates, sorted */
    const int32_t *users; /* [n] */
    int32_t n, k;
    const double *tilt;    /* [n_items] added to scores; NULL: nothing */
    int32_t *item, *count; /* [n][k], [n], -1 where a score is no number; for `measure`, NULL */
} cwi_wish;

/* What was held out for users, and how lists are to be measured by it. */
typedef struct cwi_held {
    const void *key; /* what has the same one is the same, with the users of the wish; NULL: none */
    const cwi_csr *rows;
    const int64_t *degree;          /* [n_items] */
    const double *discount, *ideal; /* [k], [k + 1]: of places, and sums of the first */
} cwi_held;

typedef struct cwi_ranker cwi_ranker;
struct cwi_ranker {
    int32_t n_users, n_items;
    void (*score)(const cwi_ranker *ranker, const int32_t *users, int32_t n, float *out);
    cw_status (*fold_in)(cw_context *ctx, const cwi_ranker *ranker, const int32_t *items, int32_t n,
                         float *out);
    cw_status (*explain)(cw_context *ctx, const cwi_ranker *ranker, const int32_t *items, int32_t n,
                         int32_t item, float *added);
    cw_status (*list)(cw_context *ctx, const cwi_ranker *ranker, const cwi_wish *wish);
    cw_status (*measure)(cw_context *ctx, const cwi_ranker *ranker, const cwi_wish *wish,
                         const cwi_held *held, double over[CWI_PLACE_VALUES],
                         double under[CWI_PLACE_VALUES]);
    void *lister;                             /* of both */
    void (*close_lister)(cwi_ranker *ranker); /* NULL: it is borrowed */
    const float *items;                       /* [n_items][width] borrowed, or NULL */
    const float *users;                       /* [n_users][width] borrowed, or NULL */
    int32_t width;
    bool is_cosine; /* users and items have length 1: so gets somebody new */
    cwi_fold fold;
    _Atomic(double *) *gram; /* where cwi_foldin_keep keeps what fold_in needs, or NULL */
    void *state;
    const struct cwi_world *world; /* processes of which each ranks for the users whose rows it has;
                                      NULL: this one ranks for all */
    struct cwi_far_users *far;     /* users' vectors lie in a file (far.c); NULL: all are here */
    cwi_pile pile;                 /* what is freed with it */
    void (*close)(cwi_ranker *ranker);
};

/* A ranker by inner products of borrowed vectors, which must outlive it. */
void cwi_ranker_dot(const float *users, const float *items, int32_t n_users, int32_t n_items,
                    int32_t width, cwi_ranker *out);

/* Whether its scores are inner products of `users` and `items`. */
bool cwi_ranker_is_dot(const cwi_ranker *ranker);

/* The same, but for a term of every item that is added, or NULL. */
bool cwi_ranker_is_sum(const cwi_ranker *ranker, const float **term);

/* Rank only n items from the first on: for rankers by inner products. */
void cwi_ranker_narrow(cwi_ranker *ranker, int32_t first, int32_t n);

/* Add a term of every item to all scores from now on.  term is borrowed; items, users and width
 * stay those of before.  On failure the ranker is as it was. */
cw_status cwi_ranker_shift(cw_context *ctx, const float *term, cwi_ranker *ranker);

/* Before these users are asked for, and in place of those before; nothing is done where all are
 * here. */
cw_status cwi_ranker_bring(cw_context *ctx, const cwi_ranker *ranker, const int32_t *users,
                           int64_t n);
cw_status cwi_ranker_bring_all(cw_context *ctx, const cwi_ranker *ranker);
void cwi_far_users_close(struct cwi_far_users *far); /* NULL is fine */

void cwi_ranker_close(cwi_ranker *ranker); /* a zeroed one is fine */

#endif
