/* sweep.c - an engine for backbones that set their parameters by themselves, without an optimiser.
 */
#include "core/mem.h"
#include "engine/cpu/cpu.h"

static cw_status open_engine(cw_context *ctx, const cwi_task *task, cwi_params *first,
                             cwi_engine **out)
{
    cwi_cpu *e;
    cw_status status = cwi_cpu_open(ctx, &cwi_engine_sweep, task, first, &e);
    *out = status == CW_OK ? &e->host.base : NULL;
    if (status != CW_OK) cwi_cpu_close((cwi_engine *)e);
    return status;
}

/* There are no slopes. */
static cw_status back(cwi_engine *engine)
{
    (void)engine;
    return CW_OK;
}

static cw_status apply(cwi_engine *engine)
{
    cwi_cpu *e = (cwi_cpu *)engine;
    double reg;
    if (e->is_idle) return CW_OK;
    CW_PASS(e->host.task->backbone->sweep(engine->ctx, e->host.scorer, &e->loss, &reg));
    e->is_idle = !cwi_host_check(&e->host, e->loss + reg);
    if (e->is_idle) return CW_OK;
    e->host.tally.applied++;
    cwi_host_count(&e->host, e->loss, 0, reg);
    return CW_OK;
}

static cw_status settle(cwi_engine *engine)
{
    cwi_cpu *e = (cwi_cpu *)engine;
    return cwi_cpu_reg(e, &e->host.tally.reg_at_end);
}

const cwi_engine_verbs cwi_engine_sweep = {
    .name = "sweep",
    .open = open_engine,
    .begin = cwi_cpu_begin,
    .draw = cwi_cpu_draw,
    .score = cwi_cpu_score,
    .select = cwi_cpu_select,
    .loss = cwi_cpu_loss,
    .back = back,
    .apply = apply,
    .settle = settle,
    .tell = cwi_host_tell,
    .rank = cwi_host_rank,
    .params = cwi_host_params,
    .read = cwi_host_read,
    .write = cwi_cpu_write,
    .close = cwi_cpu_close,
};
