/*
 * adam.c - Adam (Kingma and Ba, 2015), epsilon added without bias correction as TensorFlow does.
 *
 * A row outside the batch has no data gradient: what happens to it depends on the row alone.  The
 * deferred mode therefore leaves such rows until they are next read and then makes up for all
 * missed steps at once, in registers: the same bits as the dense mode for a fraction of the memory
 * traffic. A closed form for the missed steps would be cheaper still, but its error of 1e-4 changes
 * which samples CPR finds hardest, and parameters then differ by percents.
 */
#include "optim/adam.h"

#include <math.h>
#include <string.h>

#include "backend/backend.h"
#include "core/mem.h"
#include "core/pool.h"

enum { ROWS_A_CHUNK = 256, ENTRIES_A_CHUNK = 1 << 15 };

static const double beta1 = 0.9, beta2 = 0.999, base_epsilon = 1e-8;

/* ---- make and free ---------------------------------------------------------- */

static cw_status create_moments(cw_context *ctx, const cwi_params *params, cwi_adam *adam)
{
    cw_status status = CW_OK;
    for (int t = 0; t < params->count && status == CW_OK; t++) {
        const cwi_tensor *like = &params->tensor[t];
        status = cwi_params_add(ctx, &adam->m, like->name, like->rows, like->columns, NULL);
        if (status == CW_OK)
            status = cwi_params_add(ctx, &adam->v, like->name, like->rows, like->columns, NULL);
    }
    return status;
}

/* The most chunks that a step cuts a tensor into. */
static size_t count_chunks(const cwi_params *params)
{
    int64_t most = cwi_pool_chunks(params->tensor[0].rows, ROWS_A_CHUNK);
    for (int t = 1; t < params->count; t++) {
        int64_t entries = params->tensor[t].rows * params->tensor[t].columns;
        int64_t chunks = cwi_pool_chunks(entries, ENTRIES_A_CHUNK);
        if (chunks > most) most = chunks;
    }
    return (size_t)most;
}

cw_status cwi_adam_create(cw_context *ctx, const cwi_params *params, const cw_options *options,
                          cwi_adam *out)
{
    cw_status status;
    size_t rows = (size_t)params->tensor[0].rows;

    *out = (cwi_adam){.mode = (cwi_adam_mode)cwi_options_choice(options, "adam"),
                      .torch_epsilon = cwi_options_choice(options, "adam-eps") == 1,
                      .lr = cwi_options_real(options, "lr")};
    CW_TRY(create_moments(ctx, params, out));
    out->last = cwi_alloc_zero(ctx, rows, sizeof *out->last);
    out->place = cwi_alloc(ctx, rows, sizeof *out->place);
    out->stale = cwi_alloc(ctx, rows, sizeof *out->stale);
    out->partial = cwi_alloc(ctx, count_chunks(params), sizeof *out->partial);
    status = out->last && out->place && out->stale && out->partial ? CW_OK : CW_NO_MEMORY;
    if (status != CW_OK) goto done;
    for (size_t r = 0; r < rows; r++) out->place[r] = -1;
    CW_TRY(cwi_adam_restore_rates(ctx, out));
done:
    if (status != CW_OK) cwi_adam_clear(out);
    return status;
}

void cwi_adam_clear(cwi_adam *adam)
{
    cwi_params_clear(&adam->m);
    cwi_params_clear(&adam->v);
    cwi_free(adam->last);
    cwi_free(adam->place);
    cwi_free(adam->stale);
    cwi_free(adam->rate);
    cwi_free(adam->epsilon);
    cwi_free(adam->partial);
    *adam = (cwi_adam){0};
}

/* ---- rates ------------------------------------------------------------------ */

static float rate_at(const cwi_adam *adam, int64_t step)
{
    return (float)(adam->lr * sqrt(1 - pow(beta2, (double)step)) / (1 - pow(beta1, (double)step)));
}

static float epsilon_at(const cwi_adam *adam, int64_t step)
{
    return (float)(adam->torch_epsilon ? base_epsilon * sqrt(1 - pow(beta2, (double)step))
                                       : base_epsilon);
}

/* Room for the constants of step t, which are set. */
static cw_status set_rate(cw_context *ctx, cwi_adam *adam, int64_t t)
{
    size_t need = (size_t)t + 1;
    cw_status status = cwi_grow(ctx, &adam->rate, &adam->rate_room, need, sizeof *adam->rate);
    if (status == CW_OK)
        status = cwi_grow(ctx, &adam->epsilon, &adam->epsilon_room, need, sizeof *adam->epsilon);
    if (status != CW_OK) return status;
    adam->rate[t] = t > 0 ? rate_at(adam, t) : 0;
    adam->epsilon[t] = epsilon_at(adam, t);
    return CW_OK;
}

cw_status cwi_adam_restore_rates(cw_context *ctx, cwi_adam *adam)
{
    cw_status status = CW_OK;
    for (int64_t t = 0; t <= adam->step && status == CW_OK; t++) status = set_rate(ctx, adam, t);
    return status;
}

/* ---- missed steps ----------------------------------------------------------- */

typedef struct job {
    const cwi_ops *ops;
    cwi_adam *adam;
    float *theta, *m, *v; /* of tensor 0, or of the tensor being stepped */
    int64_t d;
    const int32_t *rows; /* rows to work on; NULL for all */
    const cwi_gradient *gradient;
    const float *whole; /* gradient of the tensor being stepped */
    cwi_adam_step step;
} job;

static job table_job(cwi_adam *adam, cwi_params *params)
{
    return (job){
        .ops = cwi_ops_best(),
        .adam = adam,
        .theta = params->tensor[0].data,
        .m = adam->m.tensor[0].data,
        .v = adam->v.tensor[0].data,
        .d = params->tensor[0].columns,
        .step = {.beta1 = (float)beta1, .beta2 = (float)beta2, .decay = params->tensor[0].decay}};
}

static cw_status catch_up(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    (void)chunk;
    for (int64_t k = begin; k < end; k++) {
        int64_t row = j->rows ? j->rows[k] : k, at = row * j->d;
        int64_t next = j->adam->last[row] + 1;
        j->ops->adam_missed(j->theta + at, j->m + at, j->v + at, j->d, &j->step,
                            j->adam->rate + next, j->adam->epsilon + next,
                            j->adam->step + 1 - next);
        j->adam->last[row] = j->adam->step;
    }
    return CW_OK;
}

/* Rows of the batch that have missed steps, each once. */
static int64_t list_stale(cwi_adam *adam, const cwi_batch *batch, int32_t n_users)
{
    int64_t count = 0;
    for (int64_t s = 0; s < batch->n_slots; s++) {
        const int32_t rows[] = {batch->user[s], n_users + batch->item[s]};
        for (int side = 0; side < 2; side++) {
            if (adam->last[rows[side]] == adam->step || adam->place[rows[side]] >= 0) continue;
            adam->place[rows[side]] = 0;
            adam->stale[count++] = rows[side];
        }
    }
    for (int64_t k = 0; k < count; k++) adam->place[adam->stale[k]] = -1;
    return count;
}

cw_status cwi_adam_read(cw_context *ctx, cwi_adam *adam, cwi_params *params, const cwi_batch *batch,
                        int32_t n_users)
{
    if (adam->mode != CWI_ADAM_DEFERRED) return CW_OK;
    job j = table_job(adam, params);
    j.rows = adam->stale;
    return cwi_pool_for(ctx, list_stale(adam, batch, n_users), ROWS_A_CHUNK, catch_up, &j);
}

cw_status cwi_adam_settle(cw_context *ctx, cwi_adam *adam, cwi_params *params)
{
    if (adam->mode != CWI_ADAM_DEFERRED) return CW_OK;
    job j = table_job(adam, params);
    return cwi_pool_for(ctx, params->tensor[0].rows, ROWS_A_CHUNK, catch_up, &j);
}

/* ---- steps ------------------------------------------------------------------ */

static cw_status step_touched(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    (void)chunk;
    for (int64_t k = begin; k < end; k++) {
        int64_t row = j->gradient->touched[k], at = row * j->d;
        j->ops->adam(j->theta + at, j->m + at, j->v + at, j->gradient->rows + k * j->d, j->d,
                     &j->step);
        j->adam->last[row] = j->adam->step;
    }
    return CW_OK;
}

static cw_status step_all(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    double squares = 0;
    for (int64_t row = begin; row < end; row++) {
        int32_t place = j->adam->place[row];
        const float *g = place < 0 ? NULL : j->gradient->rows + (int64_t)place * j->d;
        int64_t at = row * j->d;
        squares += j->ops->adam(j->theta + at, j->m + at, j->v + at, g, j->d, &j->step);
    }
    j->adam->partial[chunk] = squares;
    return CW_OK;
}

static double sum_partial(const cwi_adam *adam, int64_t chunks)
{
    double sum = 0;
    for (int64_t c = 0; c < chunks; c++) sum += adam->partial[c];
    return sum;
}

/* *squares: sum of squares of the table before the step. */
static cw_status step_table(cw_context *ctx, cwi_adam *adam, job *j, int64_t rows, double *squares)
{
    const cwi_gradient *gradient = j->gradient;
    if (adam->mode != CWI_ADAM_DENSE) {
        *squares = NAN;
        return cwi_pool_for(ctx, gradient->n_touched, ROWS_A_CHUNK, step_touched, j);
    }
    for (int64_t k = 0; k < gradient->n_touched; k++)
        adam->place[gradient->touched[k]] = (int32_t)k;
    cw_status status = cwi_pool_for(ctx, rows, ROWS_A_CHUNK, step_all, j);
    for (int64_t k = 0; k < gradient->n_touched; k++) adam->place[gradient->touched[k]] = -1;
    *squares = sum_partial(adam, cwi_pool_chunks(rows, ROWS_A_CHUNK));
    return status;
}

static cw_status step_entries(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    j->adam->partial[chunk] = j->ops->adam(j->theta + begin, j->m + begin, j->v + begin,
                                           j->whole + begin, end - begin, &j->step);
    return CW_OK;
}

/* A tensor that is stepped as a whole. */
static cw_status step_whole(cw_context *ctx, cwi_adam *adam, job *j, const cwi_params *params,
                            int index, double *squares)
{
    const cwi_tensor *tensor = &params->tensor[index];
    int64_t entries = tensor->rows * tensor->columns;
    j->theta = tensor->data;
    j->m = adam->m.tensor[index].data;
    j->v = adam->v.tensor[index].data;
    j->whole = j->gradient->whole[index];
    j->step.decay = tensor->decay;
    cw_status status = cwi_pool_for(ctx, entries, ENTRIES_A_CHUNK, step_entries, j);
    *squares = sum_partial(adam, cwi_pool_chunks(entries, ENTRIES_A_CHUNK));
    return status;
}

cw_status cwi_adam_update(cw_context *ctx, cwi_adam *adam, cwi_params *params,
                          const cwi_gradient *gradient, double *reg)
{
    double squares;
    int64_t t = adam->step + 1;
    cw_status status = set_rate(ctx, adam, t);
    if (status != CW_OK) return status;
    adam->step = t;
    job j = table_job(adam, params);
    j.gradient = gradient;
    j.step.rate = adam->rate[t];
    j.step.epsilon = adam->epsilon[t];
    status = step_table(ctx, adam, &j, params->tensor[0].rows, &squares);
    *reg = (double)params->tensor[0].decay / 2 * squares;
    for (int k = 1; k < params->count && status == CW_OK; k++) {
        status = step_whole(ctx, adam, &j, params, k, &squares);
        *reg += (double)params->tensor[k].decay / 2 * squares;
    }
    return status;
}
