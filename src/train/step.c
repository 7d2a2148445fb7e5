/* step.c - one optimisation step: read it as the list of folders under src/. */
#include <math.h>
#include <string.h>

#include "backend/backend.h"
#include "core/pool.h"
#include "sample/select.h"
#include "train/train.h"

/* The rows of group g, the first of which is row number `first` of the batch. */
static cwi_loss_rows rows_of(const cwi_trainer *t, int g, int64_t first)
{
    const cwi_group *group = &t->batch.group[g];
    int32_t heads = t->shape.heads;
    return (cwi_loss_rows){.score = t->score + group->first_slot * heads,
                           .mark = t->batch.mark + first,
                           .count = group->rows,
                           .width = group->slots * heads};
}

/* Keep the hardest rows of the batch, as many as the sampler says. */
static void select_rows(cwi_trainer *t)
{
    const cwi_sampler *sampler = t->method->sampler;
    if (!t->method->selects || !sampler->keep) return;
    int64_t first = 0, keep = sampler->keep(t->sampler, &t->batch);
    if (keep == cwi_batch_rows(&t->batch)) return;
    for (int g = 0; g < t->batch.n_groups; g++) {
        cwi_loss_rows rows = rows_of(t, g, first);
        t->method->loss->margin(&rows, t->margin + first);
        first += rows.count;
    }
    cwi_select_hardest(&t->batch, t->score, t->shape.heads, t->margin, keep,
                       cwi_options_choice(t->options, "select") == 1, t->work);
}

/* What the loss of a group is divided by; all groups together when g is negative. */
static double mass_of(const cwi_trainer *t, int g)
{
    const cwi_loss *loss = t->method->loss;
    double mass = 0;
    int64_t first = 0;
    for (int k = 0; k < t->batch.n_groups; k++) {
        cwi_loss_rows rows = rows_of(t, k, first);
        if (g < 0 || g == k)
            mass += loss->mass ? loss->mass(t->setting, &rows) : (double)rows.count;
        first += rows.count;
    }
    return mass;
}

/* Mean loss over the rows, and its slope in every score. */
static double take_loss(cwi_trainer *t)
{
    const cwi_loss *loss = t->method->loss;
    double mass = mass_of(t, -1);
    double value = mass > 0 ? 0 : NAN; /* no row is the smallest when scores are not numbers */
    int64_t first = 0;
    for (int g = 0; g < t->batch.n_groups; g++) {
        cwi_loss_rows rows = rows_of(t, g, first);
        if (loss->by_group) mass = mass_of(t, g);
        if (rows.count > 0)
            value += loss->rows(t->setting, &rows, 1.0f / (float)mass,
                                t->slope + t->batch.group[g].first_slot * t->shape.heads) /
                     mass;
        first += rows.count;
    }
    return value;
}

/* The L2 term of the batch's rows of the table; that of final vectors is the backbone's extra. */
static cw_status regularise_batch(cwi_trainer *t, cwi_gradient *gradient)
{
    const cwi_tensor *table = &t->params.tensor[0];
    const cwi_extra *l2 = &t->batch_l2;
    double value = 0;
    if (!l2->penalty || t->extra.next) return CW_OK;
    cw_status status =
        l2->penalty->add(t->ctx, l2->state, &t->batch, gradient->touched, gradient->n_touched,
                         table->data, (int32_t)table->columns, gradient->rows, &value);
    gradient->penalty += value;
    return status;
}

double cwi_trainer_reg(const cwi_trainer *t)
{
    double reg = 0;
    for (int k = 0; k < t->params.count; k++) {
        const cwi_tensor *tensor = &t->params.tensor[k];
        double squares = cwi_ops_best()->sum_squares(tensor->data, tensor->rows * tensor->columns);
        reg += (double)tensor->decay / 2 * squares;
    }
    return reg;
}

static cw_status check_loss(const cwi_trainer *t, double loss)
{
    if (isfinite(loss)) return CW_OK;
    return cwi_fail(t->ctx, CW_BAD_DATA,
                    "the loss is not a number any more (epoch %lld, step %lld); try a smaller "
                    "--lr than %g",
                    (long long)t->epoch + 1, (long long)t->tally.steps, t->adam.clock.lr);
}

static cw_status draw_ahead(void *arg)
{
    cwi_trainer *t = arg;
    cwi_ahead *ahead = &t->ahead;
    cwi_begin(&ahead->context);
    memset(&ahead->luck, 0, sizeof ahead->luck);
    cw_status status = cwi_sampler_draw(&ahead->context, t->method->sampler, t->sampler,
                                        &ahead->moment, &ahead->batch, &ahead->luck);
    ahead->batch.step = ahead->moment.step;
    ahead->batch.is_paired = t->method->loss->by_difference;
    if (status == CW_OK) cwi_adam_number(&t->adam, &ahead->batch, t->shape.n_users);
    return status;
}

/* Start to draw the batch of a moment. */
static cw_status post_draw(cwi_trainer *t, const cwi_moment *moment)
{
    t->ahead.moment = *moment;
    cw_status status = cwi_pool_post(t->ctx, draw_ahead, t);
    t->ahead.is_drawn = status == CW_OK;
    return status;
}

cw_status cwi_trainer_await(cwi_trainer *t)
{
    if (!t->ahead.is_drawn) return CW_OK;
    t->ahead.is_drawn = false;
    cw_status status = cwi_pool_wait(t->ctx);
    return status == CW_OK ? status : cwi_fail(t->ctx, status, "%s", t->ahead.context.error);
}

/* The batch of this moment. */
static cw_status take_batch(cwi_trainer *t, const cwi_moment *now)
{
    cw_status status;
    if (!t->ahead.is_drawn) CW_TRY(post_draw(t, now));
    CW_TRY(cwi_trainer_await(t));
    cwi_batch drawn = t->ahead.batch;
    t->ahead.batch = t->batch;
    t->batch = drawn;
    cwi_luck_add(&t->tally.luck, &t->ahead.luck);
done:
    return status;
}

/* Start on the batch of the next step of the epoch, beside work that one thread does alone. */
static cw_status draw_next(cwi_trainer *t, const cwi_moment *now)
{
    if (t->tally.steps == t->steps_per_epoch) return CW_OK;
    return post_draw(t, &(cwi_moment){now->epoch, now->step + 1});
}

/* Sample, score, select, loss, gradient; *drawn is false when the sampler found nothing. */
static cw_status take_slots(cwi_trainer *t, const cwi_moment *now, bool *drawn, double *loss,
                            cwi_gradient *gradient)
{
    cw_status status;
    CW_TRY(take_batch(t, now));
    *drawn = t->batch.n_slots > 0;
    if (!*drawn) goto done;
    CW_TRY(cwi_adam_read(t->ctx, &t->adam, &t->params, &t->batch, t->shape.n_users));
    CW_TRY(t->backbone->score(t->ctx, t->scorer, &t->batch, t->score));
    CW_TRY(draw_next(t, now));
    select_rows(t);
    *loss = take_loss(t);
    CW_TRY(check_loss(t, *loss));
    CW_TRY(t->backbone->gradient(t->ctx, t->scorer, &t->batch, t->slope, &t->extra, gradient));
    CW_TRY(regularise_batch(t, gradient));
done:
    return status;
}

cw_status cwi_trainer_step(cwi_trainer *t)
{
    cw_status status;
    cwi_gradient gradient;
    double loss, reg;
    bool drawn = true;
    cwi_moment now = {t->epoch, (uint64_t)(t->epoch * t->steps_per_epoch + t->tally.steps)};

    if (t->method->loss && t->method->loss->set)
        t->method->loss->set(t->options, t->epoch, t->setting);
    t->tally.steps++;
    if (t->backbone->learn)
        CW_TRY(t->backbone->learn(t->ctx, t->scorer, &now, &loss, &gradient));
    else
        CW_TRY(take_slots(t, &now, &drawn, &loss, &gradient));
    if (!drawn) goto done; /* the step is skipped */
    CW_TRY(check_loss(t, loss + gradient.penalty));
    CW_TRY(cwi_adam_update(t->ctx, &t->adam, &t->params, &gradient, &reg));
    t->tally.trained++;
    t->tally.data_loss += loss;
    t->tally.penalty += gradient.penalty;
    t->tally.reg_loss += reg; /* NaN where the optimizer does not see the whole table */
done:
    return status;
}
