/* share.h - what the files of the MPI engine share. */
#ifndef CWI_ENGINE_SHARE_H
#define CWI_ENGINE_SHARE_H

#include "comm/route.h"
#include "core/rooms.h"
#include "engine/cpu/cpu.h"
#include "sample/ahead.h"
#include "score/table.h"

/* The rows of this process in the graph of train, and those of others that they meet. */
typedef struct cwi_share_layers {
    int64_t count; /* of layers */
    int64_t n_own, n_others;
    int64_t *start;  /* [n_own + 1] */
    int32_t *column; /* places of rows of this process, then of others */
    float *weight;
    float *final;   /* [n_own][d] as in score/lightgcn.c */
    float *work[2]; /* [n_own + n_others][d] */
    int32_t *out;   /* rows that others need, in the order of processes */
    int64_t n_out;
    float *to_send;       /* [n_out][d] */
    int *sent, *received; /* [size] */
    bool *is_wanted;      /* [n_own] in the batch */
    int32_t *wanted;
    int64_t n_wanted;
    int32_t *all; /* [n_own] 0, 1, 2, ... */
} cwi_share_layers;

/* A cell of a grid that is left out. */
typedef struct cwi_share_cell {
    int32_t row, column;
} cwi_share_cell;

/* Those of a window of steps, from all processes. */
typedef struct cwi_share_masks {
    cwi_batch batch; /* of one step while they are listed */
    uint64_t first;  /* step of the window */
    int64_t n_steps;
    int *counts;               /* [most steps] of this process */
    int *all_counts, *one;     /* [size][n_steps], and how many numbers each process sends */
    int *totals;               /* [size] */
    cwi_share_cell *own, *all; /* in the order of steps; of processes, then steps */
    size_t own_capacity, all_capacity;
} cwi_share_masks;

/* Products of a grid, of the rows of this process. */
typedef struct cwi_slope_piece cwi_slope_piece;
typedef struct cwi_share_slopes {
    int32_t *own; /* [2 * slots] rows of users and of items, in the order of pieces */
    int64_t n_own;
    cwi_slope_piece *piece; /* made by one thread each */
    int64_t n_pieces;
    cwi_rooms *rooms;
} cwi_share_slopes;

typedef struct cwi_share_engine {
    cwi_cpu cpu; /* its table has the rows of this process */
    const cwi_world *world;
    int64_t rows, d; /* of the whole table */
    const float
        *vectors; /* what is scored: the rows of this process, or what a graph makes of them */
    cwi_share_layers *layers; /* of that graph, or NULL */

    /* grids: the vectors of a batch, as they are scored, in the order of processes */
    cwi_table view;
    int32_t *place; /* [rows] of the table */
    float *own_rows, *all_rows;
    cwi_share_slopes slopes;
    cwi_share_masks masks; /* where interactions are dealt out */

    cwi_ahead *ahead; /* batches, where interactions are dealt out; or NULL */

    /* a batch: values of the rows that this process needs, in places of items and of the plan */
    float *user_now, *item_now;
    cwi_table_plan *plan, own_plan;
    cwi_route items, users;
    int32_t *thing;                /* [slots] place of the item */
    float *own_score, *all_scores; /* in the order of processes, a wish before those of each */
    int *counts;                   /* [size] */
    int64_t *cursor;               /* [size] */
    int wish, agreed;              /* as in the verb `agree` */

    /* rows of this process that the batch touches: places in the table and in the plan */
    int64_t n_touched;
    int32_t *touched, *planned;
    float *gradient;
    cwi_rates rates;

    int64_t sent, exchanges; /* as in the tally */

    double *squares; /* [CWI_TELL_EVERY][blocks] of the table, by steps since the last look */
    int n_squares;
} cwi_share_engine;

static inline bool cwi_share_has(const cwi_share_engine *e, int64_t row)
{
    return cwi_row_owner(e->world, row) == e->world->rank;
}

/* An exchange in which so many units went to others. */
static inline void cwi_share_count(cwi_share_engine *e, int64_t units, size_t bytes)
{
    e->sent += units * (int64_t)bytes;
    e->exchanges++;
}

/* List rows of this process among those of the plan from `begin` on. */
void cwi_share_list(cwi_share_engine *e, int64_t begin, int64_t end);

/* grid.c: batches whose users all meet its items. */
cw_status cwi_share_open_grid(cw_context *ctx, cwi_share_engine *e);
cw_status cwi_share_score_grid(cwi_share_engine *e);
cw_status cwi_share_back_grid(cwi_share_engine *e); /* gradients of the rows of this process */

cw_status cwi_share_list_masks(cwi_share_engine *e, uint64_t first, int64_t n); /* of a window */
void cwi_share_clear_masks(cwi_share_masks *masks);

/* dealt.c: batches, where each process has the interactions of its users. */
cw_status cwi_share_open_dealt(cw_context *ctx, cwi_share_engine *e);

/* edges.c: neighbours of the rows of this process, where interactions are dealt out. */
cw_status cwi_share_list_edges(cw_context *ctx, cwi_share_engine *e);

/* slopes.c: those of the grid's vectors that this process makes gradients of. */
cw_status cwi_share_open_slopes(cw_context *ctx, cwi_share_engine *e);
void cwi_share_close_slopes(cwi_share_engine *e);

/* layers.c: vectors averaged over the layers of a graph. */
cw_status cwi_share_open_layers(cw_context *ctx, cwi_share_engine *e);
/* Room for rows of l->start[k + 1] neighbours each, which are numbered as rows of the table until
 * all are there. */
cw_status cwi_share_create_lists(cw_context *ctx, cwi_share_engine *e);
cw_status cwi_share_propagate(cwi_share_engine *e);     /* e->vectors of the batch at hand */
cw_status cwi_share_propagate_all(cwi_share_engine *e); /* of all rows of this process */
cw_status cwi_share_spread_back(cwi_share_engine *e); /* from its gradients to those of all rows */

/* state.c: that of the rows of this process. */
cw_status cwi_share_read(cwi_engine *engine, cwi_state *out);
cw_status cwi_share_write(cwi_engine *engine, int64_t epoch, const cwi_tally *tally);

#endif
