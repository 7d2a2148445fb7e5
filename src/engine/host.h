/* host.h - what engines have in common whose numbers lie in the memory of the host. */
#ifndef CWI_ENGINE_HOST_H
#define CWI_ENGINE_HOST_H

#include "core/mem.h"
#include "engine/engine.h"

typedef struct cwi_host {
    cwi_engine base;
    const cwi_task *task;
    cwi_pile pile; /* arrays of the engine, freed with it */
    cwi_params params;
    cwi_params memory[CWI_MAX_MEMORIES]; /* of the optimiser, shaped like the parameters */
    int64_t epoch;                       /* that the tally is of; -1 before the first */
    cwi_tally tally;
    void *sampler; /* its state; NULL where the backbone learns by itself */
    void *scorer;  /* that of the backbone */
    int64_t max_slots;
    cwi_extra extra;    /* terms of final vectors: the method's, then those below that are */
    cwi_extra spectral; /* none unless --spectral */
    cwi_extra batch_l2; /* none unless --reg-kind batch */
    bool l2_is_final;
    double setting[CWI_LOSS_SETTINGS];
} cwi_host;

/* The tensor whose rows batches touch. */
static inline cwi_tensor *cwi_host_table(cwi_host *host)
{
    return &host->params.tensor[0];
}

/* Rows, columns and parts of batches that are grids; false where they are rows of slots. */
bool cwi_host_grid(const cwi_host *host, cwi_loss_grid *out);

/* Take over the parameters; sampler, backbone and penalties are opened.  On failure the caller
 * closes it. */
cw_status cwi_host_open(cw_context *ctx, const cwi_engine_verbs *verbs, const cwi_task *task,
                        cwi_params *first, cwi_host *out);
void cwi_host_close(cwi_host *host);

/* Room for what the optimiser remembers, of the table only where `with_table`. */
cw_status cwi_host_remember(cwi_host *host, bool with_table);

/* Where training stands at a step of the epoch, from 0. */
cwi_moment cwi_host_moment(const cwi_host *host, int64_t step);

/* A loss that is not a number is the last one: false. */
bool cwi_host_check(cwi_host *host, double loss);

/* A step was applied. */
void cwi_host_count(cwi_host *host, double loss, double penalty, double reg);

/* Begin an epoch; its first L2 terms are those of `reg`. */
void cwi_host_begin(cwi_host *host, int64_t epoch, double reg);

/* Verbs. */
cw_status cwi_host_tell(cwi_engine *engine, cwi_tally *out);
cw_status cwi_host_rank(cwi_engine *engine, cwi_ranker *out);
cw_status cwi_host_params(cwi_engine *engine, const cwi_params **out);
cw_status cwi_host_read(cwi_engine *engine, cwi_state *out);
cw_status cwi_host_write(cwi_engine *engine, int64_t epoch, const cwi_tally *tally);

/* Add an array to a list of the state. */
void cwi_state_add(cwi_state *state, const char *prefix, const char *name, cwi_dtype dtype,
                   int64_t rows, int64_t columns, void *data);

#endif
