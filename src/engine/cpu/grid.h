/* grid.h - a batch whose users all meet its items: scores, losses and slopes by matrix products. */
#ifndef CWI_ENGINE_CPU_GRID_H
#define CWI_ENGINE_CPU_GRID_H

#include "engine/host.h"

typedef struct cwi_grid {
    cwi_loss_grid loss;
    int32_t d;            /* numbers of a vector */
    int64_t max_slots;    /* of users, and of items */
    float *vectors;       /* [2][n_slots][d] of users, then items */
    float *slopes;        /* the same, of the loss */
    int32_t *first;       /* [items] the first column of a part that has the item; -1: none */
    int32_t *next;        /* [max_slots] the next one; -1: none */
    const cwi_csr *train; /* who had what; NULL: whoever has the lists leaves out what users had */
    /* slopes of the vectors from those of the scores, where not all are wanted; NULL: all are */
    cw_status (*multiply)(void *arg, const cwi_batch *batch);
    void *arg; /* of multiply */
} cwi_grid;

/* The first of the items that part p of the rows meets. */
static inline int64_t cwi_grid_item(const cwi_grid *grid, int64_t p)
{
    return grid->loss.is_square ? p * grid->loss.side : grid->loss.rows;
}

/* Room for the batches of a plan; NULL where they are rows of slots. */
cw_status cwi_grid_open(cwi_host *host, cwi_grid **out);

/* Scores of the batch from vectors, those of observed pairs -infinity. */
cw_status cwi_grid_score(cw_context *ctx, cwi_grid *grid, const cwi_batch *batch);

/* List the columns of part p by their items, in first and next, or take them off again. */
void cwi_grid_list(cwi_grid *grid, const cwi_batch *batch, int64_t p, bool lists);

/* From the slopes of scores to those of vectors. */
cw_status cwi_grid_back(cw_context *ctx, cwi_grid *grid, const cwi_batch *batch);

#endif
