/* cpu.h - what the engines of the CPU share: batches, scores, slopes, parameters. */
#ifndef CWI_ENGINE_CPU_H
#define CWI_ENGINE_CPU_H

#include "engine/engine.h"

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
    cwi_luck luck;
    cwi_places places; /* where rows may be behind */
} cwi_drawn;

typedef struct cwi_cpu {
    cwi_engine base;
    const cwi_task *task;
    cwi_params params;
    int64_t epoch; /* that the tally is of; -1 before the first */
    cwi_tally tally;

    /* rows of slots; NULL and zero where the backbone learns by itself */
    void *sampler, *scorer; /* states */
    int64_t max_slots;
    cwi_drawn drawn[2], *now, *next;   /* the batch at hand, and one that is drawn beside it */
    bool is_drawing;                   /* the next one */
    bool numbers_users, numbers_items; /* list the places of these */
    cw_context context;                /* of the thread that draws: its messages */
    cwi_extra extra;                   /* the method's penalty, then batch_l2 if of final vectors */
    cwi_extra batch_l2;                /* none unless --reg-kind batch */
    float *score, *slope;              /* [max_slots][heads] */
    double *margin, *work;             /* [max rows] */
    double setting[CWI_LOSS_SETTINGS];

    /* the step at hand */
    bool is_idle; /* nothing was drawn, or an earlier step went wrong */
    double loss;
    cwi_gradient gradient;

    /* the optimiser, of whole tensors and of tables that are never behind */
    cwi_params memory[CWI_MAX_MEMORIES]; /* shaped like the parameters */
    int32_t *place;                      /* [rows of the table] -1 between steps */
    double *partial;                     /* scratch for sums */

    struct cwi_deferred *deferred; /* a table that is behind, or NULL */
} cwi_cpu;

/* The tensor whose rows batches touch. */
static inline cwi_tensor *cwi_cpu_table(cwi_cpu *e)
{
    return &e->params.tensor[0];
}

/* Verbs that the engines share. */
cw_status cwi_cpu_begin(cwi_engine *engine, int64_t epoch);
cw_status cwi_cpu_draw(cwi_engine *engine);
cw_status cwi_cpu_score(cwi_engine *engine);
cw_status cwi_cpu_select(cwi_engine *engine);
cw_status cwi_cpu_loss(cwi_engine *engine);
cw_status cwi_cpu_back(cwi_engine *engine);
cw_status cwi_cpu_tell(cwi_engine *engine, cwi_tally *out);
cw_status cwi_cpu_rank(cwi_engine *engine, cwi_ranker *out);
cw_status cwi_cpu_params(cwi_engine *engine, const cwi_params **out);
cw_status cwi_cpu_read(cwi_engine *engine, cwi_state *out);
cw_status cwi_cpu_write(cwi_engine *engine, int64_t epoch, const cwi_tally *tally);
void cwi_cpu_close(cwi_engine *engine);

/* Parameters, sampler, backbone, room for batches; no memory of an optimiser yet. */
cw_status cwi_cpu_open(cw_context *ctx, const cwi_engine_verbs *verbs, const cwi_task *task,
                       cwi_params *first, cwi_cpu **out);

/* Start to draw the batch of the next step, beside work that one thread does alone. */
cw_status cwi_cpu_draw_ahead(cwi_cpu *e);

/* The L2 terms of all tensors. */
double cwi_cpu_reg(const cwi_cpu *e);

/* dense.c: memories of all tensors, of the table only where `with_table`; a step on the tensors
 * beside the table, whose L2 terms are added to *reg; what a step leaves in the tally. */
cw_status cwi_cpu_remember(cwi_cpu *e, bool with_table);
cw_status cwi_cpu_step_others(cwi_cpu *e, const cwi_rates *rates, double *reg);
void cwi_cpu_count_step(cwi_cpu *e, double reg);

/* deferred.c */
void cwi_deferred_free(struct cwi_deferred *deferred); /* NULL is fine */

/* Add an array to a list of the state. */
void cwi_state_add(cwi_state *state, const char *prefix, const char *name, cwi_dtype dtype,
                   int64_t rows, int64_t columns, void *data);

#endif
