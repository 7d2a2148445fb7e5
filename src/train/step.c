/* step.c - one optimisation step: read it as the list of folders under src/. */
#include <math.h>

#include "backend/backend.h"
#include "sample/select.h"
#include "train/train.h"

/* Keep the hardest rows of the batch, as many as the sampler says. */
static void select_rows(cwi_trainer *t)
{
    double *margin = t->margin;
    int64_t keep = t->method->sampler->keep(t->sampler, &t->batch);
    if (!t->method->selects || keep == cwi_batch_rows(&t->batch)) return;
    for (int g = 0; g < t->batch.n_groups; g++) {
        const cwi_group *group = &t->batch.group[g];
        t->method->loss->margin(t->score + group->first_slot, group->rows, group->slots, margin);
        margin += group->rows;
    }
    cwi_select_hardest(&t->batch, t->score, t->margin, keep,
                       cwi_options_choice(t->options, "select") == 1, t->work);
}

/* Mean loss over the rows, and its slope in every slot. */
static double take_loss(cwi_trainer *t, int64_t rows)
{
    double sum = 0;
    float scale = 1.0f / (float)rows;
    for (int g = 0; g < t->batch.n_groups; g++) {
        const cwi_group *group = &t->batch.group[g];
        sum += t->method->loss->rows(t->score + group->first_slot, group->rows, group->slots, scale,
                                     t->slope + group->first_slot);
    }
    return sum / (double)rows;
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
    double squares = 0, lambda = t->reg / (double)rows;

    count_examples(t);
    for (int64_t k = 0; k < gradient->n_touched; k++) {
        int32_t row = gradient->touched[k];
        const float *theta = table->data + (int64_t)row * table->columns;
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
    const cwi_tensor *table = &t->params.tensor[0];
    double squares = cwi_ops_best()->sum_squares(table->data, table->rows * table->columns);
    return t->reg_by_batch ? 0 : t->reg * squares / (double)table->rows;
}

cw_status cwi_trainer_step(cwi_trainer *t)
{
    cw_status status;
    cwi_gradient gradient;
    double squares, reg = NAN;
    uint64_t step = (uint64_t)(t->epoch * t->steps_per_epoch + t->tally.steps);

    CW_TRY(t->method->sampler->draw(t->ctx, t->sampler, step, &t->batch, &t->tally.luck));
    t->tally.steps++;
    if (t->batch.n_slots == 0) goto done; /* nothing was accepted: the step is skipped */
    CW_TRY(cwi_adam_read(t->ctx, &t->adam, &t->params, &t->batch, t->shape.n_users));
    CW_TRY(t->backbone->score(t->ctx, t->scorer, &t->batch, t->score));
    select_rows(t);
    int64_t rows = cwi_batch_rows(&t->batch);
    double loss = take_loss(t, rows);
    if (!isfinite(loss)) {
        status =
            cwi_fail(t->ctx, CW_BAD_DATA,
                     "the loss is not a number any more (epoch %lld, step %lld); try a smaller "
                     "--lr than %g",
                     (long long)t->epoch + 1, (long long)t->tally.steps, t->adam.lr);
        goto done;
    }
    CW_TRY(t->backbone->gradient(t->ctx, t->scorer, &t->batch, t->slope, &gradient));
    if (t->reg_by_batch) reg = regularise_batch(t, &gradient, rows);
    CW_TRY(cwi_adam_update(t->ctx, &t->adam, &t->params, &gradient, &squares));
    if (!t->reg_by_batch) reg = t->reg * squares / (double)t->params.tensor[0].rows;
    t->tally.trained++;
    t->tally.data_loss += loss;
    t->tally.reg_loss += reg; /* NaN where the optimizer does not see the whole table */
done:
    return status;
}
