/* engine.c - which engine trains what, and what all of them share. */
#include "engine/engine.h"

#include <string.h>

const cwi_engine_verbs *cwi_engine_choose(const cwi_task *task)
{
    if (cwi_options_choice(task->options, "engine") == 1) return &cwi_engine_ref;
    return task->optimizer->schedule == CWI_STEP_LATE ? &cwi_engine_deferred : &cwi_engine_dense;
}

cw_status cwi_engine_step(cwi_engine *engine)
{
    cw_status status;
    const cwi_engine_verbs *v = engine->verbs;
    CW_TRY(v->draw(engine));
    CW_TRY(v->score(engine));
    CW_TRY(v->select(engine));
    CW_TRY(v->loss(engine));
    CW_TRY(v->back(engine));
    CW_TRY(v->apply(engine));
done:
    return status;
}

const cwi_state_array *cwi_state_find(const cwi_state *state, const char *name)
{
    for (int k = 0; k < state->count; k++)
        if (strcmp(state->array[k].name, name) == 0) return &state->array[k];
    return NULL;
}
