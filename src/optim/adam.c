/*
 * adam.c - Adam (Kingma and Ba, 2015), epsilon added without bias correction as TensorFlow does.
 *
 * A row outside the batch has no data gradient: what happens to it depends on the row alone.  The
 * deferred mode therefore leaves such rows until they are next read, and then adds up the steps
 * that they missed (gap.c).  The current values of a batch's rows lie beside the table, packed;
 * only rows that get a gradient are written back.
 */
#include "optim/adam.h"

#include <math.h>
#include <string.h>

#include "backend/backend.h"
#include "core/mem.h"
#include "core/pool.h"

enum { ROWS_A_CHUNK = 256, ENTRIES_A_CHUNK = 1 << 15 };

static const double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;

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
                          int64_t max_fresh, cwi_adam *out)
{
    cw_status status;
    const cwi_tensor *table = &params->tensor[0];
    size_t rows = (size_t)table->rows;

    *out = (cwi_adam){.mode = (cwi_adam_mode)cwi_options_choice(options, "adam"),
                      .clock = {.lr = cwi_options_real(options, "lr"),
                                .beta1 = beta1,
                                .beta2 = beta2,
                                .epsilon = epsilon,
                                .torch_epsilon = cwi_options_choice(options, "adam-eps") == 1}};
    CW_TRY(create_moments(ctx, params, out));
    out->last = cwi_alloc_zero(ctx, rows, sizeof *out->last);
    out->place = cwi_alloc(ctx, rows, sizeof *out->place);
    out->row = cwi_alloc(ctx, rows, sizeof *out->row);
    out->partial = cwi_alloc(ctx, count_chunks(params), sizeof *out->partial);
    status = out->last && out->place && out->row && out->partial ? CW_OK : CW_NO_MEMORY;
    if (status != CW_OK) goto done;
    if (out->mode == CWI_ADAM_DEFERRED && max_fresh > 0) {
        size_t most = (size_t)max_fresh < rows ? (size_t)max_fresh : rows;
        out->fresh = cwi_alloc(ctx, most, (size_t)table->columns * sizeof *out->fresh);
        if (!out->fresh) status = CW_NO_MEMORY;
        if (status != CW_OK) goto done;
    }
    for (size_t r = 0; r < rows; r++) out->place[r] = -1;
    CW_TRY(cwi_adam_restore(ctx, out));
done:
    if (status != CW_OK) cwi_adam_clear(out);
    return status;
}

void cwi_adam_clear(cwi_adam *adam)
{
    cwi_params_clear(&adam->m);
    cwi_params_clear(&adam->v);
    cwi_gaps_clear(&adam->gaps);
    cwi_free(adam->last);
    cwi_free(adam->place);
    cwi_free(adam->row);
    cwi_free(adam->fresh);
    cwi_free(adam->partial);
    *adam = (cwi_adam){0};
}

cw_status cwi_adam_restore(cw_context *ctx, cwi_adam *adam)
{
    cw_status status = CW_OK;
    if (adam->mode != CWI_ADAM_DEFERRED) return CW_OK;
    cwi_gaps_clear(&adam->gaps);
    cwi_gaps_init(&adam->clock, &adam->gaps);
    while (adam->gaps.step < adam->step && status == CW_OK)
        status = cwi_gaps_step(ctx, &adam->gaps);
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

/* Ask for a row that is read soon. */
static inline void fetch(const float *row, int64_t d)
{
    for (int64_t j = 0; j < d; j += 16) __builtin_prefetch(row + j);
}

/* A row after the steps that it missed. */
static void miss_steps(const job *j, int64_t row, float *theta, float *m, float *v)
{
    cwi_adam_gap gaps[CWI_GAP_PIECES];
    int64_t at = row * j->d;
    int n = cwi_gaps_find(&j->adam->gaps, j->adam->last[row], j->step.decay, gaps);
    j->ops->adam_missed(j->theta + at, j->m + at, j->v + at, j->d, gaps, n, theta, m, v);
}

/* Bring rows of the table up to date. */
static cw_status catch_up(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    (void)chunk;
    for (int64_t k = begin; k < end; k++) {
        int64_t row = j->rows ? j->rows[k] : k, at = row * j->d;
        if (j->adam->last[row] == j->adam->step) continue;
        miss_steps(j, row, j->theta + at, j->m + at, j->v + at);
        j->adam->last[row] = j->adam->step;
    }
    return CW_OK;
}

/* Copy rows of the table as they would be if they were up to date. */
static cw_status peek_rows(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    enum { AHEAD = 3 };
    const job *j = arg;
    const cwi_adam *adam = j->adam;
    (void)chunk;
    for (int64_t k = begin; k < end; k++) {
        int64_t row = adam->row[k], at = row * j->d;
        if (k + AHEAD < end) {
            int64_t next = adam->row[k + AHEAD] * j->d;
            fetch(j->theta + next, j->d);
            fetch(j->m + next, j->d);
            fetch(j->v + next, j->d);
        }
        float *out = adam->fresh + k * j->d;
        if (adam->last[row] == adam->step) {
            memcpy(out, j->theta + at, (size_t)j->d * sizeof *out);
            continue;
        }
        miss_steps(j, row, out, NULL, NULL);
    }
    return CW_OK;
}

static int32_t number_row(cwi_adam *adam, int32_t row)
{
    if (adam->place[row] < 0) {
        adam->place[row] = (int32_t)adam->n_rows;
        adam->row[adam->n_rows++] = row;
    }
    return adam->place[row];
}

/* The rows of the batch, each once, in order of appearance. */
static void list_rows(cwi_adam *adam, cwi_batch *batch, int32_t n_users)
{
    for (int64_t k = 0; k < adam->n_rows; k++) adam->place[adam->row[k]] = -1;
    adam->n_rows = 0;
    for (int64_t s = 0; s < batch->n_slots; s++) {
        batch->user_row[s] = number_row(adam, batch->user[s]);
        batch->item_row[s] = number_row(adam, n_users + batch->item[s]);
    }
}

cw_status cwi_adam_read(cw_context *ctx, cwi_adam *adam, cwi_params *params, cwi_batch *batch,
                        int32_t n_users)
{
    if (adam->mode != CWI_ADAM_DEFERRED) return CW_OK;
    job j = table_job(adam, params);
    j.rows = adam->row;
    list_rows(adam, batch, n_users);
    batch->fresh = adam->fresh;
    batch->row = adam->row;
    return cwi_pool_for(ctx, adam->n_rows, ROWS_A_CHUNK, adam->fresh ? peek_rows : catch_up, &j);
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
        if (j->adam->fresh && j->adam->last[row] < j->adam->step - 1)
            miss_steps(j, row, j->theta + at, j->m + at, j->v + at);
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
        if (j->step.decay > 0) squares += j->ops->sum_squares(j->theta + at, j->d);
        j->ops->adam(j->theta + at, j->m + at, j->v + at, g, j->d, &j->step);
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
    j->adam->partial[chunk] = j->ops->sum_squares(j->theta + begin, end - begin);
    j->ops->adam(j->theta + begin, j->m + begin, j->v + begin, j->whole + begin, end - begin,
                 &j->step);
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
    job j = table_job(adam, params);
    j.gradient = gradient;
    j.step.rate = (float)cwi_adam_rate(&adam->clock, t);
    j.step.epsilon = (float)cwi_adam_epsilon(&adam->clock, t);
    adam->step = t;
    cw_status status = step_table(ctx, adam, &j, params->tensor[0].rows, &squares);
    *reg = (double)params->tensor[0].decay / 2 * squares;
    for (int k = 1; k < params->count && status == CW_OK; k++) {
        status = step_whole(ctx, adam, &j, params, k, &squares);
        *reg += (double)params->tensor[k].decay / 2 * squares;
    }
    if (status == CW_OK && adam->mode == CWI_ADAM_DEFERRED)
        status = cwi_gaps_step(ctx, &adam->gaps);
    return status;
}
