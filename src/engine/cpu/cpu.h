/* cpu.h - what the engines of the CPU share: batches, scores, slopes, parameters. */
#ifndef CWI_ENGINE_CPU_H
#define CWI_ENGINE_CPU_H

#include "comm/world.h"
#include "engine/cpu/grid.h"
#include "engine/host.h"

/* The distinct rows of the table that a batch reads, in the order of its slots. */
typedef struct cwi_places {
    int64_t n;
    int32_t *row; /* [n] */
    int32_t *at;  /* [rows of the table] place of a row on the list; -1 for all others */
} cwi_places;

/* A batch and what comes with it. */
typedef struct cwi_drawn {
    cwi_moment moment;
    cwi_batch batch;
    cwi_draws draws;
    cwi_places places; /* of items, and of users where told; no arrays: not listed */
} cwi_drawn;

typedef struct cwi_cpu {
    cwi_host host;

    /* rows of slots */
    cwi_drawn drawn[2], *now, *next; /* the batch at hand, and one that is drawn beside it */
    bool is_drawing;                 /* the next one */
    /* Where batches come from, on the caller's thread; NULL: they are drawn beside other work. */
    cw_status (*fetch)(struct cwi_cpu *e, cwi_drawn *to);
    bool lists_users;      /* among the places of a batch */
    cw_context context;    /* of the thread that draws: its messages */
    float *score, *slope;  /* [max_slots][heads] */
    double *margin, *work; /* [max rows] */
    cwi_grid *grid;        /* of batches that are no rows of slots, or NULL */

    /* the step at hand */
    bool is_idle; /* nothing was drawn, or an earlier step went wrong */
    double loss;
    cwi_gradient gradient;

    int32_t *place;                /* [rows of the table] scratch, -1 between steps */
    double *partial;               /* scratch for sums */
    struct cwi_deferred *deferred; /* a table that is behind, or NULL */
} cwi_cpu;

/* Verbs that the engines share. */
cw_status cwi_cpu_begin(cwi_engine *engine, int64_t epoch);
cw_status cwi_cpu_draw(cwi_engine *engine);
cw_status cwi_cpu_score(cwi_engine *engine);
cw_status cwi_cpu_select(cwi_engine *engine);
cw_status cwi_cpu_loss(cwi_engine *engine);
cw_status cwi_cpu_back(cwi_engine *engine);
cw_status cwi_cpu_write(cwi_engine *engine, int64_t epoch, const cwi_tally *tally);
void cwi_cpu_close(cwi_engine *engine);

/* What both engines need but for a table and the memory of the optimiser. */
cw_status cwi_cpu_open(cw_context *ctx, const cwi_engine_verbs *verbs, const cwi_task *task,
                       cwi_params *first, cwi_cpu **out);

/* Start to draw the batch of the next step, beside work that one thread does alone. */
cw_status cwi_cpu_draw_ahead(cwi_cpu *e);

/* What training on rows of slots needs, once the sampler is open. */
cw_status cwi_cpu_open_slots(cwi_cpu *e);

/* Room to list the rows that a batch reads. */
cw_status cwi_cpu_create_places(cw_context *ctx, cwi_cpu *e, cwi_places *out);

/* Sums of squares of rows, CWI_BLOCK_ROWS at a time, to out[0], out[1], ... */
cw_status cwi_cpu_squares(cw_context *ctx, const cwi_tensor *table, double *out);

/* The L2 terms of all tensors; that of the table is summed by blocks of rows. */
cw_status cwi_cpu_reg(cwi_cpu *e, double *out);

/* dense.c: room for sums; a step on the tensors beside the table, whose L2 terms are added to *reg.
 */
cw_status cwi_cpu_make_partial(cwi_cpu *e);
cw_status cwi_cpu_step_others(cwi_cpu *e, const cwi_rates *rates, double *reg);
/* A step on the table by e->gradient.  Sums of squares of before are left in e->partial, a number
 * for every CWI_BLOCK_ROWS rows, unless rows outside the batch stand still. */
cw_status cwi_cpu_step_table(cwi_cpu *e, const cwi_rates *rates);
cw_status cwi_cpu_create_dense(cw_context *ctx, cwi_cpu *e); /* what that needs */

/* deferred.c */
void cwi_deferred_free(struct cwi_deferred *deferred); /* NULL is fine */

#endif
