/* step.c - one optimisation step: read it as the list of folders under src/. */
#include <math.h>

#include "backend/backend.h"
#include "sample/select.h"
#include "train/train.h"

/* The rows of group g, the first of which is row number `first` of the batch. */
static cwi_rows rows_of(const cwi_trainer *t, int g, int64_t first)
{
    const cwi_group *group = &t->batch.group[g];
    int32_t heads = t->shape.heads;
    return (cwi_rows){.score = t->score + group->first_slot * heads,
                      .mark = t->batch.mark + first,
                      .count = group->rows,
                      .width = group->slots * heads};
}

/* Keep the hardest rows of the batch, as many as the sampler says. */
static void select_rows(cwi_trainer *t)
{
    int64_t first = 0, keep = t->method->sampler->keep(t->sampler, &t->batch);
    if (!t->method->selects || keep == cwi_batch_rows(&t->batch)) return;
    for (int g = 0; g < t->batch.n_groups; g++) {
        cwi_rows rows = rows_of(t, g, first);
        t->method->loss->margin(&rows, t->margin + first);
        first += rows.count;
    }
    cwi_select_hardest(&t->batch, t->score, t->margin, keep,
                       cwi_options_choice(t->options, "select") == 1, t->work);
}

/* What the loss of a group is divided by; all groups together when g is negative. */
static double mass_of(const cwi_trainer *t, int g)
{
    const cwi_loss *loss = t->method->loss;
    double mass = 0;
    int64_t first = 0;
    for (int k = 0; k < t->batch.n_groups; k++) {
        cwi_rows rows = rows_of(t, k, first);
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
        cwi_rows rows = rows_of(t, g, first);
        if (loss->by_group) mass = mass_of(t, g);
        if (rows.count > 0)
            value += loss->rows(t->setting, &rows, 1.0f / (float)mass,
                                t->slope + t->batch.group[g].first_slot * t->shape.heads) /
                     mass;
        first += rows.count;
    }
    return value;
}

/* In how many examples of the batch each table row occurs. */
static void count_examples(cwi_trainer *t)
{
    const cwi_batch *b = &t->batch;
    for (int g = 0; g < b->n_groups; g++)
        for (int64_t r = 0; r < b->group[g].rows; r++) {
            int32_t n = b->group[g].slots;
            const int32_t *user = b->user + b->group[g].first_slot + r * n;
            const int32_t *item = b->item + b->group[g].first_slot + r * n;
            for (int32_t j = 0; j < n; j++) {
                bool new_user = true, new_item = true;
                for (int32_t before = 0; before < j; before++) {
                    new_user &= user[before] != user[j];
                    new_item &= item[before] != item[j];
                }
                t->count[user[j]] += new_user;
                t->count[t->shape.n_users + item[j]] += new_item;
            }
        }
}

/* lambda / (2 rows) times the squares of the batch's vectors; its gradient goes to the rows. */
static double regularise_batch(cwi_trainer *t, cwi_gradient *gradient, int64_t rows)
{
    const cwi_tensor *table = &t->params.tensor[0];
    double squares = 0, lambda = t->batch_reg / (double)rows;

    count_examples(t);
    for (int64_t k = 0; k < gradient->n_touched; k++) {
        int32_t row = gradient->touched[k];
        const float *theta = cwi_adam_current(&t->adam, &t->params, row);
        float *g = gradient->rows + k * table->columns;
        float pull = (float)(lambda * t->count[row]);
        for (int64_t c = 0; c < table->columns; c++) {
            squares += (double)t->count[row] * (double)theta[c] * (double)theta[c];
            g[c] += pull * theta[c];
        }
        t->count[row] = 0;
    }
    return lambda / 2 * squares;
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

/* Sample, score, select, loss, gradient; *drawn is false when the sampler found nothing. */
static cw_status take_slots(cwi_trainer *t, const cwi_moment *now, bool *drawn, double *loss,
                            cwi_gradient *gradient)
{
    cw_status status;
    CW_TRY(t->method->sampler->draw(t->ctx, t->sampler, now, &t->batch, &t->tally.luck));
    *drawn = t->batch.n_slots > 0;
    if (!*drawn) goto done;
    CW_TRY(cwi_adam_read(t->ctx, &t->adam, &t->params, &t->batch, t->shape.n_users));
    CW_TRY(t->backbone->score(t->ctx, t->scorer, &t->batch, t->score));
    select_rows(t);
    *loss = take_loss(t);
    CW_TRY(check_loss(t, *loss));
    CW_TRY(t->backbone->gradient(t->ctx, t->scorer, &t->batch, t->slope, &t->extra, gradient));
    if (t->batch_reg > 0)
        gradient->penalty += regularise_batch(t, gradient, cwi_batch_rows(&t->batch));
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
