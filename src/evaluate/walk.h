/* walk.h - rank all items for many users, a block of them at a time. */
#ifndef CWI_EVALUATE_WALK_H
#define CWI_EVALUATE_WALK_H

#include "prepare/csr.h"
#include "score/ranker.h"

/* The list of one user, borrowed for the time of a call. */
typedef struct cwi_list {
    int32_t row;         /* place of the user in cwi_walk.users */
    int32_t user;        /* who */
    int32_t dial;        /* which of cwi_walk.dials */
    int32_t count;       /* fewer than k when candidates ran out */
    const int32_t *item; /* [count] best first */
    const float *score;  /* [n_items] what was ranked; NULL in `collect` */
} cwi_list;

/*
 * What to rank and who looks at the lists.
 *   dials     with dial g the score of item i is score + g * log_degree[i]
 *   measure   optional: called on any thread with scratch slot number `slot`, which is below
 *             cwi_walk_slots and used by one thread at a time; may write only to its row and slot
 *   collect   optional: called on the calling thread, users in order and for each the dials in
 *             order, so that sums made there are the same bits on any number of threads
 *   stage     what the progress callback is told; NULL for silence
 *   world     processes that have the same ranker, of which each ranks a part of the users; NULL:
 *             this one ranks all.  `collect` is called at process 0 alone, and `each` is whole
 * there each      what `measure` writes, so many bytes a user in their order; needed by a world
 * alone
 */
typedef struct cwi_walk {
    const cwi_ranker *ranker;
    const cwi_csr *mask;  /* items by user that are no candidates, sorted */
    const int32_t *users; /* [n_users] */
    int32_t n_users;
    int32_t k;
    const double *dials; /* [n_dials] */
    int32_t n_dials;
    const double *log_degree; /* [n_items]; may be NULL when all dials are 0 */
    void (*measure)(void *arg, const cwi_list *list, int32_t slot);
    void (*collect)(void *arg, const cwi_list *list);
    void *arg;
    const char *stage;
    const struct cwi_world *world;
    void *each; /* [n_users][each_bytes] */
    size_t each_bytes;
} cwi_walk;

/* Fails with CW_BAD_DATA when a candidate's score is NaN. */
cw_status cwi_walk_run(cw_context *ctx, const cwi_walk *walk);

/* The same by the device of the ranker: CW_UNSUPPORTED, without a message and before anything was
 * collected, where it cannot. */
cw_status cwi_walk_listed(cw_context *ctx, const cwi_walk *walk);

/* CW_BAD_DATA with the first candidate of the user in this row whose score is NaN; score is room
 * for those of a user. */
cw_status cwi_walk_name_nan(cw_context *ctx, const cwi_walk *walk, int32_t row, float *score);

int32_t cwi_walk_slots(const cw_context *ctx);

#endif
