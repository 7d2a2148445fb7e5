/* table.h - gradients of an embedding table from slopes of slots: grouped by row, in order. */
#ifndef CWI_SCORE_TABLE_H
#define CWI_SCORE_TABLE_H

#include "backend/backend.h"
#include "score/roster.h"
#include "score/score.h"

/* Vectors of all nodes, users first, and how to read them: every head has d / heads columns. */
typedef struct cwi_table {
    const float *data; /* [nodes][d] */
    int32_t n_users, d, heads;
    bool is_cosine;       /* scores are of vectors at length 1 */
    float scale;          /* what inner products are multiplied with; 0: nothing */
    const int32_t *place; /* [nodes] where a row lies in data; NULL: at its number.  For what has a
                             row at a time: cwi_table_read, cwi_table_grid_row */
} cwi_table;

/* Read --scorer and --temperature. */
void cwi_table_set_scorer(const cw_options *options, cwi_table *table);
bool cwi_scorer_is_plain(const cw_options *options); /* inner products as they are */

/* Add the embedding table of a backbone: users, then items, of the option "dim". */
cw_status cwi_table_declare(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                            cwi_params *params);

/* The table of parameters that may come from a file. */
cw_status cwi_table_expect(cw_context *ctx, const cwi_shape *shape, const cwi_params *params,
                           const cwi_tensor **out);

int32_t cwi_table_width(const cw_options *options); /* of a vector: the option "dim" */

/* Inner products of the rows of every slot, one per head; parallel.  For a grid the vectors of
 * which they would be, [n_slots][d] of users, then of items. */
cw_status cwi_table_score(cw_context *ctx, const cwi_table *table, const cwi_batch *batch,
                          float *score);

/* The vector of a user or an item of a grid, as it is scored. */
void cwi_table_read(const cwi_table *table, int64_t row, float *out);

/* A copy of the first columns of all rows, side by side; NULL when there is no memory. */
float *cwi_table_columns(cw_context *ctx, const float *data, int64_t rows, int32_t d,
                         int32_t columns);

/* A ranker by inner products of the columns of the heads that rank.  The vectors are borrowed, or
 * freed with the ranker when `owned`, and so is what the pile holds, also if this fails.  Without
 * options scores are inner products. */
cw_status cwi_table_rank(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                         float *data, int32_t d, bool owned, cwi_pile pile, cwi_ranker *out);

/* The same of a table whose rows lie in a file: those of items are read now, those of users when
 * cwi_ranker_bring asks for them.  owned: the file is closed with the ranker; not after a failure.
 */
cw_status cwi_table_rank_far(cw_context *ctx, const cwi_shape *shape, const cw_options *options,
                             const cwi_tensor *table, bool owned, cwi_ranker *out);

/* For every row that a batch touches its contributions are listed in slot order, so that sums do
 * not depend on threads. */
typedef struct cwi_table_plan {
    int32_t heads;
    int64_t max_slots;
    size_t most; /* rows that a batch touches */
    cwi_roster rows;
    int64_t *start; /* [rows + 2] contributions of a row */
    int32_t *other; /* [2 * max_slots] the item or user on the other side of the slot, or where its
                       values are */
    float *weight;  /* [heads][2 * max_slots] the slope of the slot */
    float *factor;  /* [most][heads] one over the length of each part of a row, for cosines */
    cwi_pile pile;
} cwi_table_plan;

cw_status cwi_table_plan_create(cw_context *ctx, int32_t n_rows, int32_t heads, int64_t max_slots,
                                cwi_table_plan *out);
void cwi_table_plan_clear(cwi_table_plan *plan); /* also after a failure */

/* List contributions of a batch.  Where the values of items are not in a table of all, item_at says
 * where, and those of users are in the order of the rows of the plan; NULL else. */
void cwi_table_plan_fill(cwi_table_plan *plan, const cwi_batch *batch, int32_t n_users,
                         const float *slope, const int32_t *item_at);

/* Gradients of vectors that a planned batch touches: for rows begin .. end - 1 of the plan the sum
 * of slope * vector of the other side over its slots, head by head, to out[0], out[1], ... */
void cwi_table_plan_sum(const cwi_table_plan *plan, const float *users, const float *items,
                        int32_t d, int64_t begin, int64_t end, float *out);

/* The gradients of a grid one row at a time: list contributions, then make that of row t of the
 * plan from the slopes of vectors. */
void cwi_table_plan_grid(cwi_table_plan *plan, const cwi_table *table, const cwi_batch *batch);
void cwi_table_grid_row(const cwi_table_plan *plan, const cwi_table *table, int64_t slots,
                        const float *slope, int64_t t, float *out);

/* That of all rows; parallel. */
cw_status cwi_table_gradient(cw_context *ctx, const cwi_table_plan *plan, const cwi_table *table,
                             float *rows);

/* All of it: the plan, the gradients, and what extra adds at these vectors.  slope has the shape of
 * what cwi_table_score wrote. */
cw_status cwi_table_backward(cw_context *ctx, cwi_table_plan *plan, const cwi_table *table,
                             const cwi_batch *batch, const float *slope, const cwi_extra *extra,
                             float *rows, double *penalty);

/* What extra adds to the rows of the plan at these vectors; *penalty is its value. */
cw_status cwi_table_penalise(cw_context *ctx, const cwi_table_plan *plan, const cwi_table *table,
                             const cwi_batch *batch, const cwi_extra *extra, float *rows,
                             double *penalty);

#endif
