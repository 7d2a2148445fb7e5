/* screen.h - the best K items of users from bounds of the scores: few scores are needed. */
#ifndef CWI_EVALUATE_SCREEN_H
#define CWI_EVALUATE_SCREEN_H

#include "core/mem.h"
#include "core/rooms.h"
#include "prepare/csr.h"
#include "score/ranker.h"

/* The items of a ranker by inner products, rounded to bytes. */
typedef struct cwi_screen {
    const cwi_ranker *ranker;
    int32_t k;
    int32_t depth;    /* columns, up to a multiple of 4 */
    int32_t n_panels; /* of CWI_SCREEN_ITEMS items */
    int32_t n_groups; /* of items whose best lower bound is kept */
    int32_t most;     /* candidates of a user */
    uint8_t *byte;    /* [n_panels][depth * CWI_SCREEN_ITEMS] */
    float *scale;     /* [n_panels * CWI_SCREEN_ITEMS], and so the next two */
    float *length, *rest;
    cwi_rooms *rooms;
    cwi_pile pile;
} cwi_screen;

/* Whether bounds can be had of this ranker, and whether lists of k for n_users will come sooner. */
bool cwi_screen_can(const cwi_ranker *ranker);
bool cwi_screen_pays(const cwi_ranker *ranker, int32_t k, int32_t n_users);

/* Round the items of a ranker that cwi_screen_can take.  Without a cwi_screen.rooms afterwards an
 * item was not finite or too large, and there is no screen. */
cw_status cwi_screen_create(cw_context *ctx, const cwi_ranker *ranker, int32_t k, cwi_screen *out);
void cwi_screen_clear(cwi_screen *screen); /* a zeroed one is fine */

/*
 * The best k items of each of n <= CWI_SCORE_USERS users, as cwi_topk gives them from all scores
 * but for the items of `mask`: item[r * k ..] for the user in row r, best first, and count[r] of
 * them; -1 where bounds are no help and all scores have to be looked at.
 */
void cwi_screen_rank(const cwi_screen *screen, const cwi_csr *mask, const int32_t *users, int32_t n,
                     int32_t *item, int32_t *count);

#endif
