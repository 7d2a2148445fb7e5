/* table.h - gradients of an embedding table from slopes of slots: grouped by row, in order. */
#ifndef CWI_SCORE_TABLE_H
#define CWI_SCORE_TABLE_H

#include "backend/backend.h"
#include "score/score.h"

/* Add the embedding table of a backbone: users, then items, of the option "dim". */
cw_status cwi_table_declare(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                            cwi_params *params);

/* Inner products of the rows of every slot; parallel. */
cw_status cwi_table_score(cw_context *ctx, const float *table, int32_t n_users, int32_t d,
                          const cwi_batch *batch, float *score);

/*
 * Rows of the table are users, then items: slot (u, i) touches rows u and n_users + i.  For every
 * touched row its contributions are listed in slot order, so that sums do not depend on threads.
 */
typedef struct cwi_table_plan {
    int32_t n_rows; /* of the table */
    int64_t max_slots;
    int32_t *place; /* [n_rows] scratch: number of a touched row, -1 else */
    int64_t n_touched;
    int32_t *touched; /* [2 * max_slots] */
    int64_t *start;   /* [2 * max_slots + 1] contributions of touched row t */
    int32_t *other;   /* [2 * max_slots] the row on the other side of the slot */
    float *weight;    /* [2 * max_slots] the slope of the slot */
} cwi_table_plan;

cw_status cwi_table_plan_create(cw_context *ctx, int32_t n_rows, int64_t max_slots,
                                cwi_table_plan *out);
void cwi_table_plan_clear(cwi_table_plan *plan);

/* List contributions of a batch. */
void cwi_table_plan_fill(cwi_table_plan *plan, const cwi_batch *batch, int32_t n_users,
                         const float *slope);

/* rows[t] = sum of weight * table[other] over the contributions of touched row t; parallel. */
cw_status cwi_table_gradient(cw_context *ctx, const cwi_table_plan *plan, const float *table,
                             int32_t d, float *rows);

#endif
