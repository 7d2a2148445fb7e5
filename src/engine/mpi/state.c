/* state.c - the state of training: that of one process, whatever the number of processes is. */
#include <string.h>

#include "core/mem.h"
#include "engine/cpu/late.h"
#include "engine/mpi/share.h"

static cw_status list_own(cwi_share_engine *e, cwi_state *out)
{
    CW_PASS(cwi_host_read(&e->cpu.host.base, out));
    if (e->cpu.deferred) cwi_deferred_list(e->cpu.deferred, out);
    return CW_OK;
}

/* What the optimiser keeps of rows that wait lies in their blocks alone. */
static bool is_empty(const cwi_share_engine *e, int k)
{
    int memories = 0;
    while (e->cpu.host.task->optimizer->memory[memories]) memories++;
    return e->cpu.deferred && k >= 1 && k <= memories;
}

static size_t row_bytes(const cwi_state_array *array)
{
    size_t number = array->dtype == CWI_I16 ? 2 : array->dtype == CWI_U64 ? 8 : 4;
    return number * (size_t)(array->columns ? array->columns : 1);
}

void cwi_share_forget(cwi_share_engine *e)
{
    for (int k = 0; k < CWI_MAX_STATE_ARRAYS; k++) {
        cwi_free(e->copy[k]);
        e->copy[k] = NULL;
    }
}

cw_status cwi_share_read(cwi_engine *engine, cwi_state *out)
{
    cwi_share_engine *e = (cwi_share_engine *)engine;
    cwi_share_forget(e);
    CW_PASS(list_own(e, out));
    for (int k = 0; k < out->count; k++) {
        cwi_state_array *a = &out->array[k];
        if (is_empty(e, k)) continue;
        e->copy[k] = cwi_alloc(engine->ctx, (size_t)e->rows, row_bytes(a));
        if (!e->copy[k]) return CW_NO_MEMORY;
        CW_PASS(
            cwi_rows_gather(engine->ctx, e->world, -1, a->data, e->rows, row_bytes(a), e->copy[k]));
        a->rows = e->rows;
        a->data = e->copy[k];
    }
    return CW_OK;
}

cw_status cwi_share_write(cwi_engine *engine, int64_t epoch, const cwi_tally *tally)
{
    cwi_share_engine *e = (cwi_share_engine *)engine;
    cwi_state *own = cwi_alloc(engine->ctx, 1, sizeof *own);
    cw_status status = own ? list_own(e, own) : CW_NO_MEMORY;
    for (int k = 0; status == CW_OK && k < own->count; k++)
        if (e->copy[k])
            cwi_rows_take(e->world, e->copy[k], e->rows, row_bytes(&own->array[k]),
                          own->array[k].data);
    cwi_free(own);
    cwi_share_forget(e);
    e->n_squares = 0;
    if (status == CW_OK) status = cwi_cpu_write(engine, epoch, tally);
    if (status == CW_OK && e->cpu.deferred)
        status = cwi_deferred_go_on(engine->ctx, e->cpu.deferred, tally->applied);
    return status;
}
