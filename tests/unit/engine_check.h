/* engine_check.h - a look into the engine of a trainer, between two verbs. */
#ifndef ENGINE_CHECK_H
#define ENGINE_CHECK_H

#include "engine/cpu/cpu.h"
#include "testing.h"
#include "train/train.h"

/* The batch of the last step. */
static inline const cwi_batch *batch_of(const cwi_trainer *t)
{
    return &((cwi_cpu *)t->engine)->now->batch;
}

static inline const cwi_params *params_of(const cwi_trainer *t)
{
    const cwi_params *params;
    assert_int_equal(t->engine->verbs->params(t->engine, &params), CW_OK);
    return params;
}

/* What the state has under this name. */
static inline cwi_state_array array_of(const cwi_trainer *t, const char *name)
{
    cwi_state *state = malloc(sizeof *state);
    assert_int_equal(t->engine->verbs->read(t->engine, state), CW_OK);
    const cwi_state_array *found = cwi_state_find(state, name);
    if (!found) fail_msg("there is no %s", name);
    cwi_state_array out = *found;
    free(state);
    return out;
}

#endif
