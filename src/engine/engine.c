/* engine.c - which engine trains what, and what all of them share. */
#include "engine/engine.h"

#include <stdio.h>
#include <string.h>

#include "engine/cpu/cpu.h"

const cwi_engine_verbs *cwi_engine_choose(const cwi_task *task)
{
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

void cwi_state_add(cwi_state *state, const char *prefix, const char *name, cwi_dtype dtype,
                   int64_t rows, int64_t columns, void *data)
{
    cwi_state_array *array = &state->array[state->count++];
    *array = (cwi_state_array){.dtype = dtype, .rows = rows, .columns = columns, .data = data};
    snprintf(array->name, sizeof array->name, "%s%s%s", prefix, prefix[0] ? "." : "", name);
}

const cwi_state_array *cwi_state_find(const cwi_state *state, const char *name)
{
    for (int k = 0; k < state->count; k++)
        if (strcmp(state->array[k].name, name) == 0) return &state->array[k];
    return NULL;
}
