/* engine.c - which engine trains what, and what all of them share. */
#include "engine/engine.h"

#include <string.h>

const cwi_engine_verbs *cwi_engine_choose(const cwi_task *task)
{
    if (task->backbone->sweep) return &cwi_engine_sweep;
    if (task->gpu > 0) return &cwi_engine_cuda;
    if (task->world) return &cwi_engine_mpi;
    if (cwi_options_choice(task->options, "engine") == 1) return &cwi_engine_ref;
    return task->optimizer->schedule == CWI_STEP_LATE ? &cwi_engine_deferred : &cwi_engine_dense;
}

/* Rows that wait pay where a step reads a small part of a table that is not tiny, and their closed
 * form is as good as the steps themselves where the L2 term is not strong (docs/performance.md). */
enum { ROWS_A_SLOT = 3, LEAST_NUMBERS = 1000000 };
static const double most_reg = 0.05;

cw_status cwi_engine_optimizer(cw_context *ctx, const cwi_task *task, const cwi_optimizer **out)
{
    const cwi_sampler *sampler = task->method->sampler;
    const cwi_shape *shape = &task->shape;
    int64_t slots, rows = (int64_t)shape->n_users + shape->n_items;
    void *state;
    *out = &cwi_optimizer_adam;
    if (task->gpu > 0 || !sampler || !task->backbone->is_table || task->method->penalty ||
        cwi_options_real(task->options, "spectral") > 0 ||
        rows * cwi_options_integer(task->options, "dim") < LEAST_NUMBERS ||
        cwi_options_is(task->options, "adam-eps", "torch") ||
        cwi_options_real(task->options, "reg") > most_reg)
        return CW_OK;
    CW_PASS(cwi_sampler_open(ctx, sampler, task->training, task->options, &slots, &state));
    cwi_sampler_close(sampler, state);
    if (rows / ROWS_A_SLOT >= slots) *out = &cwi_optimizer_adam_deferred;
    return CW_OK;
}

cw_status cwi_engine_step(cwi_engine *engine)
{
    const cwi_engine_verbs *v = engine->verbs;
    CW_PASS(v->draw(engine));
    CW_PASS(v->score(engine));
    CW_PASS(v->select(engine));
    CW_PASS(v->loss(engine));
    CW_PASS(v->back(engine));
    return v->apply(engine);
}

const cwi_state_array *cwi_state_find(const cwi_state *state, const char *name)
{
    for (int k = 0; k < state->count; k++)
        if (strcmp(state->array[k].name, name) == 0) return &state->array[k];
    return NULL;
}
