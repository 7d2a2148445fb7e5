/* cpu.c - draw, score, select, loss and back on threads of this machine. */
#include "engine/cpu/cpu.h"

#include <math.h>
#include <string.h>

#include "core/mem.h"
#include "core/pool.h"
#include "sample/select.h"

/* ---- open and close --------------------------------------------------------------- */

cw_status cwi_cpu_open_slots(cwi_cpu *e)
{
    cw_context *ctx = e->host.base.ctx;
    cwi_pile *pile = &e->host.pile;
    size_t heads = (size_t)e->host.task->shape.heads, slots = (size_t)e->host.max_slots;

    for (int k = 0; k < 2; k++)
        CW_PASS(cwi_batch_create(ctx, e->host.max_slots, &e->drawn[k].batch));
    e->context.threads = 1;
    e->score = cwi_pile_add(ctx, pile, slots, heads * sizeof *e->score);
    e->slope = cwi_pile_add(ctx, pile, slots, heads * sizeof *e->slope);
    e->margin = cwi_pile_add(ctx, pile, slots, sizeof *e->margin);
    e->work = cwi_pile_add(ctx, pile, slots, sizeof *e->work);
    CW_PASS(pile->status);
    return cwi_grid_open(&e->host, &e->grid);
}

cw_status cwi_cpu_open(cw_context *ctx, const cwi_engine_verbs *verbs, const cwi_task *task,
                       cwi_params *first, cwi_cpu **out)
{
    cwi_cpu *e = *out = cwi_alloc_zero(ctx, 1, sizeof *e);
    if (!e) {
        cwi_params_clear(first);
        return CW_NO_MEMORY;
    }
    e->now = &e->drawn[0];
    e->next = &e->drawn[1];
    CW_PASS(cwi_host_open(ctx, verbs, task, first, &e->host));
    return e->host.sampler ? cwi_cpu_open_slots(e) : CW_OK;
}

/* Wait for the batch that is being drawn, if any. */
static cw_status await(cwi_cpu *e)
{
    if (!e->is_drawing) return CW_OK;
    e->is_drawing = false;
    cw_status status = cwi_pool_wait(e->host.base.ctx);
    return status == CW_OK ? status : cwi_fail(e->host.base.ctx, status, "%s", e->context.error);
}

void cwi_cpu_close(cwi_engine *engine)
{
    cwi_cpu *e = (cwi_cpu *)engine;
    if (!e) return;
    (void)await(e); /* it draws into what is freed here */
    for (int k = 0; k < 2; k++) cwi_batch_clear(&e->drawn[k].batch);
    cwi_deferred_free(e->deferred);
    cwi_host_close(&e->host);
    cwi_free(e);
}

/* ---- epochs ----------------------------------------------------------------------- */

typedef struct squaring {
    const cwi_tensor *table;
    double *out;
} squaring;

static cw_status square_block(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const squaring *s = arg;
    int64_t d = s->table->columns;
    s->out[chunk] = cwi_ops_best()->sum_squares(s->table->data + begin * d, (end - begin) * d);
    return CW_OK;
}

cw_status cwi_cpu_squares(cw_context *ctx, const cwi_tensor *table, double *out)
{
    squaring s = {table, out};
    return cwi_pool_for(ctx, table->rows, CWI_BLOCK_ROWS, square_block, &s);
}

cw_status cwi_cpu_reg(cwi_cpu *e, double *out)
{
    cw_context *ctx = e->host.base.ctx;
    const cwi_tensor *table = cwi_host_table(&e->host);
    int64_t blocks = cwi_pool_chunks(table->rows, CWI_BLOCK_ROWS);
    double squares = 0, *part = cwi_alloc(ctx, (size_t)blocks, sizeof *part);
    if (!part) return CW_NO_MEMORY;
    cw_status status = cwi_cpu_squares(ctx, table, part);
    for (int64_t b = 0; b < blocks && status == CW_OK; b++) squares += part[b];
    cwi_free(part);
    *out = (double)table->decay / 2 * squares;
    for (int k = 1; k < e->host.params.count; k++) {
        const cwi_tensor *tensor = &e->host.params.tensor[k];
        squares = cwi_ops_best()->sum_squares(tensor->data, tensor->rows * tensor->columns);
        *out += (double)tensor->decay / 2 * squares;
    }
    return status;
}

cw_status cwi_cpu_begin(cwi_engine *engine, int64_t epoch)
{
    cwi_cpu *e = (cwi_cpu *)engine;
    double reg;
    CW_PASS(cwi_cpu_reg(e, &reg));
    cwi_host_begin(&e->host, epoch, reg);
    return CW_OK;
}

/* What was drawn ahead is of another moment then. */
cw_status cwi_cpu_write(cwi_engine *engine, int64_t epoch, const cwi_tally *tally)
{
    CW_PASS(await((cwi_cpu *)engine));
    return cwi_host_write(engine, epoch, tally);
}

/* ---- draw ------------------------------------------------------------------------- */

static void list_place(cwi_places *p, int32_t row)
{
    if (p->at[row] >= 0) return;
    p->at[row] = (int32_t)p->n;
    p->row[p->n++] = row;
}

/* List the rows that the batch reads, where the engine asks for it: items, then maybe users. */
static void list_places(const cwi_cpu *e, cwi_drawn *d)
{
    cwi_places *p = &d->places;
    if (!p->at) return;
    for (int64_t k = 0; k < p->n; k++) p->at[p->row[k]] = -1;
    p->n = 0;
    for (int64_t s = 0; s < d->batch.n_slots; s++)
        list_place(p, e->host.task->shape.n_users + d->batch.item[s]);
    for (int64_t s = 0; s < d->batch.n_slots && e->lists_users; s++)
        list_place(p, d->batch.user[s]);
}

static cw_status draw_next(void *arg)
{
    cwi_cpu *e = arg;
    cwi_drawn *d = e->next;
    cwi_begin(&e->context);
    memset(&d->draws, 0, sizeof d->draws);
    cw_status status = e->fetch
                           ? e->fetch(e, d)
                           : cwi_sampler_draw(&e->context, e->host.task->method->sampler,
                                              e->host.sampler, &d->moment, &d->batch, &d->draws);
    d->batch.step = d->moment.step;
    d->batch.is_paired = e->host.task->method->loss->by_difference;
    if (status == CW_OK) list_places(e, d);
    return status;
}

/* Start to draw the batch of step `step` of the epoch. */
static cw_status post_draw(cwi_cpu *e, int64_t step)
{
    e->next->moment = cwi_host_moment(&e->host, step);
    cw_status status = cwi_pool_post(e->host.base.ctx, draw_next, e);
    e->is_drawing = status == CW_OK;
    return status;
}

cw_status cwi_cpu_draw_ahead(cwi_cpu *e)
{
    if (e->fetch) return CW_OK;
    return e->host.tally.steps < e->host.task->steps_per_epoch ? post_draw(e, e->host.tally.steps)
                                                               : CW_OK;
}

cw_status cwi_cpu_draw(cwi_engine *engine)
{
    cwi_cpu *e = (cwi_cpu *)engine;
    int64_t step = e->host.tally.steps++;
    e->is_idle = e->host.tally.bad != 0;
    e->loss = 0;
    if (e->is_idle || !e->host.sampler) {
        e->now->moment = cwi_host_moment(&e->host, step);
        return CW_OK;
    }
    if (!e->is_drawing && !e->fetch) CW_PASS(post_draw(e, step));
    CW_PASS(await(e));
    if (e->fetch) {
        e->next->moment = cwi_host_moment(&e->host, step);
        CW_PASS(draw_next(e));
    }
    cwi_drawn *drawn = e->next;
    e->next = e->now;
    e->now = drawn;
    cwi_draws_add(&e->host.tally.draws, &drawn->draws);
    e->is_idle = drawn->batch.n_slots == 0;
    return CW_OK;
}

/* ---- score, select, loss, back ----------------------------------------------------- */

cw_status cwi_cpu_score(cwi_engine *engine)
{
    cwi_cpu *e = (cwi_cpu *)engine;
    if (e->is_idle || !e->host.sampler) return CW_OK;
    CW_PASS(e->host.task->backbone->score(engine->ctx, e->host.scorer, &e->now->batch,
                                          e->grid ? e->grid->vectors : e->score));
    if (e->grid) CW_PASS(cwi_grid_score(engine->ctx, e->grid, &e->now->batch));
    return cwi_cpu_draw_ahead(e);
}

/* The rows of group g, the first of which is row number `first` of the batch. */
static cwi_loss_rows rows_of(const cwi_cpu *e, int g, int64_t first)
{
    const cwi_group *group = &e->now->batch.group[g];
    int32_t heads = e->host.task->shape.heads;
    return (cwi_loss_rows){.score = e->score + group->first_slot * heads,
                           .mark = e->now->batch.mark + first,
                           .count = group->rows,
                           .width = group->slots * heads};
}

cw_status cwi_cpu_select(cwi_engine *engine)
{
    cwi_cpu *e = (cwi_cpu *)engine;
    const cwi_method *method = e->host.task->method;
    cwi_batch *batch = &e->now->batch;
    if (e->is_idle || !method->selects || !method->sampler->keep) return CW_OK;
    int64_t first = 0, keep = method->sampler->keep(e->host.sampler, batch);
    if (keep == cwi_batch_rows(batch)) return CW_OK;
    for (int g = 0; g < batch->n_groups; g++) {
        cwi_loss_rows rows = rows_of(e, g, first);
        method->loss->margin(&rows, e->margin + first);
        first += rows.count;
    }
    cwi_select_hardest(batch, e->score, e->host.task->shape.heads, e->margin, keep,
                       cwi_options_choice(e->host.task->options, "select") == 1, e->work);
    return CW_OK;
}

/* What the loss of a group is divided by; all groups together when g is negative. */
static double mass_of(const cwi_cpu *e, int g)
{
    const cwi_loss *loss = e->host.task->method->loss;
    double mass = 0;
    int64_t first = 0;
    for (int k = 0; k < e->now->batch.n_groups; k++) {
        cwi_loss_rows rows = rows_of(e, k, first);
        if (g < 0 || g == k)
            mass += loss->mass ? loss->mass(e->host.setting, &rows) : (double)rows.count;
        first += rows.count;
    }
    return mass;
}

cw_status cwi_cpu_loss(cwi_engine *engine)
{
    cwi_cpu *e = (cwi_cpu *)engine;
    const cwi_loss *loss = e->host.task->method->loss;
    if (e->is_idle || !e->host.sampler) return CW_OK;
    if (e->grid) {
        CW_PASS(loss->grid(engine->ctx, e->host.setting, &e->grid->loss, &e->loss));
        e->is_idle = !cwi_host_check(&e->host, e->loss);
        return CW_OK;
    }
    double mass = mass_of(e, -1);
    e->loss = mass > 0 ? 0 : NAN; /* no row is the smallest when scores are not numbers */
    int64_t first = 0;
    for (int g = 0; g < e->now->batch.n_groups; g++) {
        cwi_loss_rows rows = rows_of(e, g, first);
        float *slope = e->slope + e->now->batch.group[g].first_slot * e->host.task->shape.heads;
        if (loss->by_group) mass = mass_of(e, g);
        if (rows.count > 0)
            e->loss += loss->rows(e->host.setting, &rows, 1.0f / (float)mass, slope) / mass;
        first += rows.count;
    }
    e->is_idle = !cwi_host_check(&e->host, e->loss);
    return CW_OK;
}

/* The L2 term of the batch's rows of the table; that of final vectors is the backbone's extra. */
static cw_status regularise_batch(cwi_cpu *e)
{
    const cwi_tensor *table = cwi_host_table(&e->host);
    const cwi_extra *l2 = &e->host.batch_l2;
    cwi_gradient *g = &e->gradient;
    double value = 0;
    if (!l2->penalty || e->host.l2_is_final) return CW_OK;
    cw_status status =
        l2->penalty->add(e->host.base.ctx, l2->state, &e->now->batch, g->touched, g->n_touched,
                         table->data, (int32_t)table->columns, g->rows, &value);
    g->penalty += value;
    return status;
}

cw_status cwi_cpu_back(cwi_engine *engine)
{
    cwi_cpu *e = (cwi_cpu *)engine;
    const cwi_backbone *backbone = e->host.task->backbone;
    if (e->is_idle) return CW_OK;
    if (backbone->learn) {
        CW_PASS(
            backbone->learn(engine->ctx, e->host.scorer, &e->now->moment, &e->loss, &e->gradient));
    } else {
        if (e->grid) CW_PASS(cwi_grid_back(engine->ctx, e->grid, &e->now->batch));
        CW_PASS(backbone->gradient(engine->ctx, e->host.scorer, &e->now->batch,
                                   e->grid ? e->grid->slopes : e->slope, &e->host.extra,
                                   &e->gradient));
        CW_PASS(regularise_batch(e));
    }
    e->is_idle = !cwi_host_check(&e->host, e->loss + e->gradient.penalty);
    return CW_OK;
}
