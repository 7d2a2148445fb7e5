/* host.c - opening and closing, the tally, the state by name. */
#include "engine/host.h"

#include <math.h>
#include <stdio.h>

/* ---- open and close --------------------------------------------------------------- */

static cw_status open_term(cwi_host *e, const cwi_penalty *penalty, cwi_extra *out)
{
    const cwi_task *t = e->task;
    out->penalty = penalty;
    return penalty ? penalty->open(e->base.ctx, &t->shape, t->options, e->max_slots, &out->state)
                   : CW_OK;
}

/* Terms that look at vectors: the method's own, and what all trainings may have. */
static cw_status open_penalties(cwi_host *e)
{
    const cw_options *options = e->task->options;
    cwi_extra *last = &e->extra;
    CW_PASS(open_term(e, e->task->method->penalty, &e->extra));
    if (cwi_options_real(options, "spectral") > 0) {
        CW_PASS(open_term(e, &cwi_penalty_spectral, &e->spectral));
        last = (cwi_extra *)(last->next = &e->spectral);
    }
    if (cwi_options_choice(options, "reg-kind") != 1 || !(cwi_options_real(options, "reg") > 0))
        return CW_OK;
    CW_PASS(open_term(e, &cwi_penalty_batch_l2, &e->batch_l2));
    e->l2_is_final = cwi_options_is(options, "reg-target", "final");
    if (e->l2_is_final) last->next = &e->batch_l2;
    return CW_OK;
}

cw_status cwi_host_open(cw_context *ctx, const cwi_engine_verbs *verbs, const cwi_task *task,
                        cwi_params *first, cwi_host *out)
{
    *out = (cwi_host){
        .base = {.verbs = verbs, .ctx = ctx}, .task = task, .params = *first, .epoch = -1};
    *first = (cwi_params){0};
    if (task->method->sampler)
        CW_PASS(cwi_sampler_open(ctx, task->method->sampler, task->training, task->options,
                                 &out->max_slots, &out->sampler));
    CW_PASS(task->backbone->open(ctx, &task->shape, task->options, &out->params, out->max_slots,
                                 &out->scorer));
    return task->method->sampler ? open_penalties(out) : CW_OK;
}

void cwi_host_close(cwi_host *e)
{
    if (e->sampler) cwi_sampler_close(e->task->method->sampler, e->sampler);
    if (e->extra.penalty) e->extra.penalty->close(e->extra.state);
    if (e->spectral.penalty) e->spectral.penalty->close(e->spectral.state);
    if (e->batch_l2.penalty) e->batch_l2.penalty->close(e->batch_l2.state);
    if (e->scorer) e->task->backbone->close(e->scorer);
    for (int m = 0; m < CWI_MAX_MEMORIES; m++) cwi_params_clear(&e->memory[m]);
    cwi_params_clear(&e->params);
    cwi_pile_clear(&e->pile);
}

cw_status cwi_host_remember(cwi_host *e, bool with_table)
{
    for (int m = 0; e->task->optimizer->memory[m]; m++)
        for (int t = 0; t < e->params.count; t++) {
            const cwi_tensor *like = &e->params.tensor[t];
            int64_t rows = t > 0 || with_table ? like->rows : 0;
            CW_PASS(
                cwi_params_add(e->base.ctx, &e->memory[m], like->name, rows, like->columns, NULL));
        }
    return CW_OK;
}

bool cwi_host_grid(const cwi_host *e, cwi_loss_grid *out)
{
    *out = (cwi_loss_grid){0};
    if (!e->sampler) return false;
    const cwi_draw_plan *plan = &((const cwi_drawing *)e->sampler)->plan;
    out->is_square = plan->n_groups == 1;
    out->rows = plan->group[0].candidates;
    out->side = plan->grid;
    out->width = out->is_square ? plan->grid : plan->group[1].candidates;
    return plan->grid > 0;
}

/* ---- epochs and steps -------------------------------------------------------------- */

void cwi_host_begin(cwi_host *e, int64_t epoch, double reg)
{
    const cwi_loss *loss = e->task->method->loss;
    if (epoch != e->epoch) e->tally = (cwi_tally){.applied = e->tally.applied};
    e->epoch = epoch;
    if (e->tally.steps == 0) e->tally.reg_at_start = reg;
    if (loss && loss->set) loss->set(e->task->options, epoch, e->setting);
}

cwi_moment cwi_host_moment(const cwi_host *e, int64_t step)
{
    return (cwi_moment){e->epoch, (uint64_t)(e->epoch * e->task->steps_per_epoch + step)};
}

bool cwi_host_check(cwi_host *e, double loss)
{
    if (isfinite(loss)) return true;
    e->tally.bad = e->tally.steps;
    return false;
}

void cwi_host_count(cwi_host *e, double loss, double penalty, double reg)
{
    e->tally.trained++;
    e->tally.data_loss += loss;
    e->tally.penalty += penalty;
    e->tally.reg_loss += reg; /* NaN where the optimiser does not see the whole table */
}

/* ---- what the trainer may see ------------------------------------------------------- */

cw_status cwi_host_tell(cwi_engine *engine, cwi_tally *out)
{
    *out = ((cwi_host *)engine)->tally;
    return CW_OK;
}

cw_status cwi_host_rank(cwi_engine *engine, cwi_ranker *out)
{
    const cwi_host *e = (cwi_host *)engine;
    const cwi_task *t = e->task;
    return cwi_method_rank(engine->ctx, t->method, t->backbone, &t->shape, t->options, &e->params,
                           out);
}

cw_status cwi_host_params(cwi_engine *engine, const cwi_params **out)
{
    *out = &((cwi_host *)engine)->params;
    return CW_OK;
}

static void list_params(cwi_state *out, const char *prefix, const cwi_params *params)
{
    for (int k = 0; k < params->count; k++) {
        const cwi_tensor *tensor = &params->tensor[k];
        cwi_state_add(out, prefix, tensor->name, CWI_F32, tensor->rows, tensor->columns,
                      tensor->data);
    }
}

cw_status cwi_host_read(cwi_engine *engine, cwi_state *out)
{
    const cwi_host *e = (cwi_host *)engine;
    out->count = 0;
    list_params(out, "param", &e->params);
    for (int m = 0; e->task->optimizer->memory[m]; m++)
        list_params(out, e->task->optimizer->memory[m], &e->memory[m]);
    return CW_OK;
}

cw_status cwi_host_write(cwi_engine *engine, int64_t epoch, const cwi_tally *tally)
{
    cwi_host *e = (cwi_host *)engine;
    e->epoch = epoch;
    e->tally = *tally;
    return CW_OK;
}

void cwi_state_add(cwi_state *state, const char *prefix, const char *name, cwi_dtype dtype,
                   int64_t rows, int64_t columns, void *data)
{
    cwi_state_array *array = &state->array[state->count++];
    *array = (cwi_state_array){.dtype = dtype, .rows = rows, .columns = columns, .data = data};
    snprintf(array->name, sizeof array->name, "%s%s%s", prefix, prefix[0] ? "." : "", name);
}
