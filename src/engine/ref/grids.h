/* grids.h - losses on grids of scores in plain doubles. */
#ifndef CWI_ENGINE_GRIDS_H
#define CWI_ENGINE_GRIDS_H

#include "core/mem.h"
#include "engine/ref/nets.h"

typedef struct cwi_plain_grid {
    cwi_loss_grid shape;       /* its numbers; its arrays are not used */
    double *own, *cross;       /* [rows], [rows][width] */
    double *own_slope, *slope; /* the same */
    double *weight;            /* [rows][width] scratch */
} cwi_plain_grid;

/* Arrays in the pile, whose status says how that went. */
void cwi_plain_grid_create(cw_context *ctx, cwi_pile *pile, cwi_plain_grid *grid);

/* Scores off the tape; those of pairs that were observed are -infinity. */
void cwi_plain_grid_score(cwi_plain_grid *grid, const cwi_batch *batch, const cwi_csr *train,
                          const cwi_net *net);

/* The mean loss; slopes are left in the grid. */
double cwi_plain_grid_loss(cwi_plain_grid *grid, const cwi_loss *loss, const double *setting,
                           const float *mark);

void cwi_plain_grid_back(const cwi_plain_grid *grid, cwi_net *net);

#endif
