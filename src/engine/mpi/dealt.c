/* dealt.c - batches where each process has the interactions of its users: a window of steps is
 * drawn together, long before it is needed. */
#include "core/pool.h"
#include "engine/mpi/share.h"

/* The batch of a moment, from the window that has it; a window ends with the epoch. */
static cw_status fetch(cwi_cpu *cpu, cwi_drawn *to)
{
    cwi_share_engine *e = (cwi_share_engine *)cpu;
    cw_context *ctx = cpu->host.base.ctx;
    uint64_t step = to->moment.step;
    if (!cwi_ahead_has(e->ahead, step)) {
        int64_t left = cpu->host.task->steps_per_epoch - (cpu->host.tally.steps - 1);
        int64_t n = cwi_ahead_steps(e->ahead) < left ? cwi_ahead_steps(e->ahead) : left;
        CW_PASS(cwi_ahead_draw(ctx, e->ahead, &to->moment, n, &e->sent, &e->exchanges));
        if (cpu->grid) CW_PASS(cwi_share_list_masks(e, step, n));
    }
    return cwi_ahead_take(ctx, e->ahead, step, &to->batch, &to->draws);
}

static cw_status create_masks(cw_context *ctx, cwi_share_engine *e)
{
    cwi_pile *pile = &e->cpu.host.pile;
    size_t size = (size_t)e->world->size, steps = (size_t)cwi_ahead_steps(e->ahead);
    e->cpu.grid->train = NULL;
    e->masks.counts = cwi_pile_add(ctx, pile, steps, sizeof *e->masks.counts);
    e->masks.all_counts = cwi_pile_add(ctx, pile, steps * size, sizeof *e->masks.all_counts);
    e->masks.one = cwi_pile_add(ctx, pile, size, sizeof *e->masks.one);
    e->masks.totals = cwi_pile_add(ctx, pile, size, sizeof *e->masks.totals);
    CW_PASS(pile->status);
    return cwi_batch_create(ctx, e->cpu.host.max_slots, &e->masks.batch);
}

cw_status cwi_share_open_dealt(cw_context *ctx, cwi_share_engine *e)
{
    const cwi_task *task = e->cpu.host.task;
    if (!task->training->dealt) return CW_OK;
    CW_PASS(cwi_ahead_open(ctx, task->method->sampler, e->cpu.host.sampler, e->cpu.host.max_slots,
                           &e->ahead));
    e->cpu.fetch = fetch;
    return e->cpu.grid ? create_masks(ctx, e) : CW_OK;
}
