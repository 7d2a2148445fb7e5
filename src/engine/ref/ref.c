/*
 * ref.c - the plain engine: the specification that can be run.
 *
 * One thread, no operations of an instruction set, no tricks: samples, losses and rules of
 * optimisers are their formulas one by one, backbones are what nets.c says, computed in double, and
 * gradients come off the tape.  Parameters and the optimiser's memory are floats, as in all
 * engines, so that a state can go from one to another.
 */
#include <math.h>
#include <string.h>

#include "core/elementary.h"
#include "core/mem.h"
#include "engine/ref/grids.h"
#include "engine/ref/nets.h"
#include "sample/select.h"

typedef struct ref {
    cwi_host host;
    cwi_net_data data;
    cwi_batch batch;
    float *score, *slope;  /* [max_slots][heads] */
    double *margin, *work; /* [max rows] */
    bool is_grid;
    cwi_plain_grid grid; /* where batches are no rows of slots */
    bool is_idle;
    double loss, penalty;
    float *gradient[CWI_MAX_TENSORS];
    bool *touched; /* [rows of the table] what a step may have moved */
} ref;

/* ---- open and close --------------------------------------------------------------- */

static void close_engine(cwi_engine *engine)
{
    ref *e = (ref *)engine;
    if (!e) return;
    cwi_net_close(&e->data);
    cwi_batch_clear(&e->batch);
    cwi_host_close(&e->host);
    cwi_free(e);
}

static cw_status create_arrays(cw_context *ctx, ref *e)
{
    size_t slots = (size_t)e->host.max_slots, heads = (size_t)e->host.task->shape.heads;
    cwi_pile *pile = &e->host.pile;
    e->score = cwi_pile_add(ctx, pile, slots, heads * sizeof *e->score);
    e->slope = cwi_pile_add(ctx, pile, slots, heads * sizeof *e->slope);
    e->margin = cwi_pile_add(ctx, pile, slots, sizeof *e->margin);
    e->work = cwi_pile_add(ctx, pile, slots, sizeof *e->work);
    e->touched =
        cwi_pile_add(ctx, pile, (size_t)cwi_host_table(&e->host)->rows, sizeof *e->touched);
    e->is_grid = cwi_host_grid(&e->host, &e->grid.shape);
    if (e->is_grid) cwi_plain_grid_create(ctx, pile, &e->grid);
    for (int t = 0; t < e->host.params.count; t++)
        e->gradient[t] = cwi_pile_add(ctx, pile, cwi_tensor_bytes(&e->host.params.tensor[t]), 1);
    return pile->status;
}

static cw_status open_engine(cw_context *ctx, const cwi_task *task, cwi_params *first,
                             cwi_engine **out)
{
    cw_status status;
    *out = NULL;
    ref *e = cwi_alloc_zero(ctx, 1, sizeof *e);
    if (!e) {
        cwi_params_clear(first);
        return CW_NO_MEMORY;
    }
    CW_TRY(cwi_host_open(ctx, &cwi_engine_ref, task, first, &e->host));
    CW_TRY(cwi_host_remember(&e->host, true));
    CW_TRY(cwi_net_open(&e->host, &e->data));
    CW_TRY(cwi_batch_create(ctx, e->host.max_slots, &e->batch));
    CW_TRY(create_arrays(ctx, e));
    *out = &e->host.base;
done:
    if (status != CW_OK) close_engine(&e->host.base);
    return status;
}

/* ---- epochs ----------------------------------------------------------------------- */

/* decay / 2 times the squares, of all tensors. */
static double reg_of(const ref *e)
{
    double reg = 0;
    for (int t = 0; t < e->host.params.count; t++) {
        const cwi_tensor *tensor = &e->host.params.tensor[t];
        for (int64_t k = 0; k < tensor->rows * tensor->columns; k++)
            reg += (double)tensor->decay / 2 * (double)tensor->data[k] * (double)tensor->data[k];
    }
    return reg;
}

static cw_status begin(cwi_engine *engine, int64_t epoch)
{
    ref *e = (ref *)engine;
    cwi_host_begin(&e->host, epoch, reg_of(e));
    return CW_OK;
}

static cw_status settle(cwi_engine *engine)
{
    ref *e = (ref *)engine;
    e->host.tally.reg_at_end = reg_of(e);
    return CW_OK;
}

/* ---- draw ------------------------------------------------------------------------- */

/* Every candidate of a group from its own random stream. */
static void draw_group(ref *e, int g, int64_t *candidate)
{
    cwi_batch *b = &e->batch;
    const cwi_drawing *drawing = e->host.sampler;
    const cwi_draw_group *plan = &drawing->plan.group[g];
    int64_t first_row = cwi_batch_rows(b), rows = 0, tried = 0;
    cwi_draws *draws = &e->host.tally.draws;
    for (int64_t c = 0; c < plan->candidates; c++) {
        cwi_rng rng;
        int64_t slot = b->n_slots + rows * plan->slots;
        cwi_rng_init(&rng, drawing->seed, CWI_RNG_SAMPLE,
                     cwi_stream_number(b->step, (*candidate)++));
        rows += e->host.task->method->sampler->draw(
            drawing, g, &rng, b->user + slot, b->item + slot, b->mark + first_row + rows, &tried);
    }
    b->group[g] = (cwi_group){.slots = plan->slots, .rows = rows, .first_slot = b->n_slots};
    b->n_slots += rows * plan->slots;
    b->n_groups = g + 1;
    draws->slots[g] = plan->unit;
    draws->attempts[g] += tried;
    draws->accepted[g] += rows * plan->slots / plan->unit;
}

static cw_status draw(cwi_engine *engine)
{
    ref *e = (ref *)engine;
    const cwi_sampler *sampler = e->host.task->method->sampler;
    const cwi_drawing *drawing = e->host.sampler;
    cwi_moment now = cwi_host_moment(&e->host, e->host.tally.steps++);
    int64_t candidate = 0;
    e->is_idle = e->host.tally.bad != 0;
    e->loss = e->penalty = 0;
    e->batch.step = now.step;
    if (e->is_idle) return CW_OK;
    if (!sampler) return cwi_vae_draw(engine->ctx, e->host.scorer, now.step);
    if (sampler->begin) sampler->begin(e->host.sampler, now.epoch);
    e->batch.n_slots = e->batch.n_groups = 0;
    e->batch.grid = drawing->plan.grid;
    for (int g = 0; g < drawing->plan.n_groups; g++) draw_group(e, g, &candidate);
    e->is_idle = e->batch.n_slots == 0;
    return sampler->check ? sampler->check(engine->ctx, e->host.sampler, &e->batch) : CW_OK;
}

/* ---- score, select, loss ------------------------------------------------------------ */

static cw_status score(cwi_engine *engine)
{
    ref *e = (ref *)engine;
    int32_t heads = e->host.task->shape.heads;
    cwi_net net;
    if (e->is_idle || !e->host.sampler) return CW_OK;
    cw_status status = cwi_net_forward(&e->host, &e->data, &e->batch, &net);
    for (int64_t k = 0; k < e->batch.n_slots * heads && status == CW_OK; k++)
        e->score[k] = (float)net.score[k % heads]->value[k / heads];
    if (status == CW_OK && e->is_grid)
        cwi_plain_grid_score(&e->grid, &e->batch, &e->host.task->training->by_user, &net);
    cwi_tape_clear(&net.tape);
    return status;
}

/* A row of the batch: its scores, and its number. */
typedef struct row {
    int64_t first; /* score */
    int32_t width;
    int group;
} row;

/* Row number r of the batch. */
static row row_at(const ref *e, int64_t r)
{
    int g = 0;
    while (r >= e->batch.group[g].rows) r -= e->batch.group[g++].rows;
    int32_t heads = e->host.task->shape.heads, slots = e->batch.group[g].slots;
    return (row){(e->batch.group[g].first_slot + r * slots) * heads, slots * heads, g};
}

static cw_status select_rows(cwi_engine *engine)
{
    ref *e = (ref *)engine;
    const cwi_method *method = e->host.task->method;
    if (e->is_idle || !method->selects || !method->sampler->keep) return CW_OK;
    int64_t rows = cwi_batch_rows(&e->batch),
            keep = method->sampler->keep(e->host.sampler, &e->batch);
    if (keep == rows) return CW_OK;
    for (int64_t r = 0; r < rows; r++) {
        row at = row_at(e, r);
        method->loss->margin(&(cwi_loss_rows){e->score + at.first, NULL, 1, at.width},
                             e->margin + r);
    }
    cwi_select_hardest(&e->batch, e->score, e->host.task->shape.heads, e->margin, keep,
                       cwi_options_choice(e->host.task->options, "select") == 1, e->work);
    return CW_OK;
}

/* What the sum over rows is divided by: those of one group, or of all when g is negative. */
static double mass_of(const ref *e, int g)
{
    const cwi_loss *loss = e->host.task->method->loss;
    double mass = 0;
    for (int64_t r = 0; r < cwi_batch_rows(&e->batch); r++) {
        cwi_loss_rows one = {NULL, e->batch.mark + r, 1, 0};
        if (g < 0 || row_at(e, r).group == g)
            mass += loss->mass ? loss->mass(e->host.setting, &one) : 1;
    }
    return mass;
}

static cw_status take_loss(cwi_engine *engine)
{
    ref *e = (ref *)engine;
    const cwi_loss *loss = e->host.task->method->loss;
    if (e->is_idle || !e->host.sampler) return CW_OK;
    if (e->is_grid) {
        e->loss = cwi_plain_grid_loss(&e->grid, loss, e->host.setting, e->batch.mark);
        e->is_idle = !cwi_host_check(&e->host, e->loss);
        return CW_OK;
    }
    int64_t rows = cwi_batch_rows(&e->batch);
    e->loss = rows > 0 ? 0 : NAN; /* no row is the smallest when scores are not numbers */
    for (int64_t r = 0; r < rows; r++) {
        row at = row_at(e, r);
        double mass = mass_of(e, loss->by_group ? at.group : -1);
        e->loss += loss->row(e->host.setting, e->score + at.first, at.width, e->batch.mark[r],
                             1.0f / (float)mass, e->slope + at.first) /
                   mass;
    }
    e->is_idle = !cwi_host_check(&e->host, e->loss);
    return CW_OK;
}

/* ---- back ------------------------------------------------------------------------- */

/* Add a term of vectors, its value and its slopes. */
static cw_status penalise(ref *e, const cwi_extra *term, cwi_node *vectors)
{
    cw_status status = CW_NO_MEMORY;
    int64_t n = 0, d = vectors->columns, rows = vectors->rows;
    double value = 0;
    int32_t *touched = cwi_alloc(e->host.base.ctx, (size_t)rows, sizeof *touched);
    float *table = cwi_alloc(e->host.base.ctx, (size_t)(rows * d), sizeof *table);
    float *slope = cwi_alloc_zero(e->host.base.ctx, (size_t)(rows * d), sizeof *slope);
    if (!touched || !table || !slope) goto done;
    memset(e->touched, 0, (size_t)rows * sizeof *e->touched);
    for (int64_t s = 0; s < e->batch.n_slots; s++) {
        e->touched[e->batch.user[s]] = true;
        e->touched[e->host.task->shape.n_users + e->batch.item[s]] = true;
    }
    for (int64_t r = 0; r < rows; r++)
        if (e->touched[r]) touched[n++] = (int32_t)r;
    for (int64_t k = 0; k < rows * d; k++) table[k] = (float)vectors->value[k];
    CW_TRY(term->penalty->add(e->host.base.ctx, term->state, &e->batch, touched, n, table,
                              (int32_t)d, slope, &value));
    for (int64_t k = 0; k < n * d; k++)
        vectors->slope[touched[k / d] * d + k % d] += (double)slope[k];
    e->penalty += value;
done:
    cwi_free(touched);
    cwi_free(table);
    cwi_free(slope);
    return status;
}

/* --reg-target final of the whole table: c / 2 |E|^2 less what the table's own L2 term has of it.
 */
static void regularise_final(ref *e, cwi_net *net)
{
    const cw_options *options = e->host.task->options;
    const cwi_tensor *table = cwi_host_table(&e->host);
    cwi_node *node[] = {net->vectors, net->leaf[0]};
    if (cwi_options_choice(options, "reg-kind") != 0 ||
        !cwi_options_is(options, "reg-target", "final") || net->vectors == net->leaf[0])
        return;
    double c[] = {2 * cwi_options_real(options, "reg") / (double)table->rows,
                  -(double)table->decay};
    for (int n = 0; n < 2; n++)
        for (int64_t k = 0; k < node[n]->rows * node[n]->columns; k++) {
            e->penalty += c[n] / 2 * node[n]->value[k] * node[n]->value[k];
            node[n]->slope[k] += c[n] * node[n]->value[k];
        }
}

/* Slots: the slope of every score, then the terms of vectors. */
static cw_status seed_slots(ref *e, cwi_net *net)
{
    cw_status status = CW_OK;
    int32_t heads = e->host.task->shape.heads;
    for (int64_t k = 0; k < e->batch.n_slots * heads && !e->is_grid; k++)
        net->score[k % heads]->slope[k / heads] = (double)e->slope[k];
    if (e->is_grid) cwi_plain_grid_back(&e->grid, net);
    for (const cwi_extra *x = &e->host.extra; x; x = x->next)
        if (x->penalty) CW_TRY(penalise(e, x, net->vectors));
    if (e->host.batch_l2.penalty && !e->host.l2_is_final)
        CW_TRY(penalise(e, &e->host.batch_l2, net->leaf[0]));
    regularise_final(e, net);
done:
    return status;
}

/* Mult-VAE: minus the log likelihood of the user's items, and beta KL; means over the users. */
static void seed_users(ref *e, cwi_net *net)
{
    const cwi_vae *v = e->host.scorer;
    int64_t users = v->batch.rows, items = net->logits->columns, z = v->net.latent;
    double beta = cwi_vae_beta(v, e->batch.step), b = (double)users;
    for (int64_t r = 0; r < users; r++) {
        const double *x = net->logits->value + r * items, *code = net->code->value + r * 2 * z;
        double *slope = net->logits->slope + r * items, *back = net->code->slope + r * 2 * z;
        const int64_t *start = v->train->start + v->batch.user[r];
        double most = x[0], sum = 0;
        for (int64_t i = 0; i < items; i++) most = fmax(most, x[i]);
        for (int64_t i = 0; i < items; i++) sum += cwi_exp(x[i] - most);
        for (int64_t i = 0; i < items; i++)
            slope[i] = (double)(start[1] - start[0]) * cwi_exp(x[i] - most) / sum / b;
        for (int64_t k = start[0]; k < start[1]; k++) {
            slope[v->train->value[k]] -= 1 / b;
            e->loss -= (x[v->train->value[k]] - most - cwi_ln(sum)) / b;
        }
        for (int64_t j = 0; j < z; j++) {
            double mu = code[j], variance = code[z + j];
            back[j] += beta * mu / b;
            back[z + j] += beta * (cwi_exp(variance) - 1) / 2 / b;
            e->penalty += beta * (cwi_exp(variance) + mu * mu - variance - 1) / 2 / b;
        }
    }
}

static cw_status back(cwi_engine *engine)
{
    ref *e = (ref *)engine;
    cwi_net net;
    if (e->is_idle) return CW_OK;
    cw_status status = cwi_net_forward(&e->host, &e->data, &e->batch, &net);
    if (status == CW_OK && e->host.sampler) status = seed_slots(e, &net);
    if (status == CW_OK) {
        if (!e->host.sampler) seed_users(e, &net);
        cwi_tape_back(&net.tape);
        for (int t = 0; t < e->host.params.count; t++)
            for (int64_t k = 0; k < net.leaf[t]->rows * net.leaf[t]->columns; k++)
                e->gradient[t][k] = (float)net.leaf[t]->slope[k];
        memcpy(e->touched, net.leaf[0]->touched, (size_t)net.leaf[0]->rows * sizeof *e->touched);
        e->is_idle = !cwi_host_check(&e->host, e->loss + e->penalty);
    }
    cwi_tape_clear(&net.tape);
    return status;
}

/* ---- apply ------------------------------------------------------------------------ */

static cw_status apply(cwi_engine *engine)
{
    ref *e = (ref *)engine;
    const cwi_optimizer *rule = e->host.task->optimizer;
    cwi_rates rates;
    double reg = reg_of(e);
    if (e->is_idle) return CW_OK;
    rule->rates(e->host.task->options, ++e->host.tally.applied, &rates);
    for (int t = 0; t < e->host.params.count; t++) {
        const cwi_tensor *tensor = &e->host.params.tensor[t];
        int64_t d = tensor->columns;
        rates.decay = tensor->decay;
        for (int64_t r = 0; r < tensor->rows; r++) {
            float *memory[CWI_MAX_MEMORIES] = {NULL};
            if (t == 0 && rule->schedule == CWI_STEP_TOUCHED && !e->touched[r]) continue;
            for (int m = 0; rule->memory[m]; m++)
                memory[m] = e->host.memory[m].tensor[t].data + r * d;
            rule->step(NULL, &rates, e->gradient[t] + r * d, d, tensor->data + r * d, memory);
        }
    }
    cwi_host_count(&e->host, e->loss, e->penalty, reg);
    return CW_OK;
}

const cwi_engine_verbs cwi_engine_ref = {
    .name = "ref",
    .open = open_engine,
    .begin = begin,
    .draw = draw,
    .score = score,
    .select = select_rows,
    .loss = take_loss,
    .back = back,
    .apply = apply,
    .settle = settle,
    .tell = cwi_host_tell,
    .rank = cwi_host_rank,
    .params = cwi_host_params,
    .read = cwi_host_read,
    .write = cwi_host_write,
    .close = close_engine,
};
