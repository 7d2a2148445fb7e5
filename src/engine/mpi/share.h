/* share.h - what the files of the MPI engine share. */
#ifndef CWI_ENGINE_SHARE_H
#define CWI_ENGINE_SHARE_H

#include "comm/route.h"
#include "engine/cpu/cpu.h"
#include "score/table.h"

typedef struct cwi_share_engine {
    cwi_cpu cpu; /* its table has the rows of this process */
    const cwi_world *world;
    int64_t rows, d; /* of the whole table */

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

    double *squares; /* [CWI_TELL_EVERY][blocks] of the table, by steps since the last look */
    int n_squares;

    /* brought together */
    cwi_params whole;
    void *copy[CWI_MAX_STATE_ARRAYS];
} cwi_share_engine;

/* state.c: the whole state at every process, and the share of each out of it. */
cw_status cwi_share_read(cwi_engine *engine, cwi_state *out);
cw_status cwi_share_write(cwi_engine *engine, int64_t epoch, const cwi_tally *tally);
void cwi_share_forget(cwi_share_engine *e); /* free the copies */

#endif
