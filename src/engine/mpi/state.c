/* state.c - the state of the rows of this process. */
#include "engine/cpu/late.h"
#include "engine/mpi/share.h"

cw_status cwi_share_read(cwi_engine *engine, cwi_state *out)
{
    const cwi_share_engine *e = (cwi_share_engine *)engine;
    CW_PASS(cwi_host_read(engine, out));
    if (e->cpu.deferred) cwi_deferred_list(e->cpu.deferred, out);
    return CW_OK;
}

cw_status cwi_share_write(cwi_engine *engine, int64_t epoch, const cwi_tally *tally)
{
    cwi_share_engine *e = (cwi_share_engine *)engine;
    e->n_squares = 0;
    CW_PASS(cwi_cpu_write(engine, epoch, tally));
    return e->cpu.deferred ? cwi_deferred_go_on(engine->ctx, e->cpu.deferred, tally->applied)
                           : CW_OK;
}
