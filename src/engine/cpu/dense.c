/*
 * dense.c - a table that is never behind: every row is stepped at every step, or, where rows
 * outside the batch stand still, those of the batch.
 */
#include <math.h>

#include "core/mem.h"
#include "core/pool.h"
#include "engine/cpu/cpu.h"

enum { ROWS_A_CHUNK = CWI_BLOCK_ROWS, ENTRIES_A_CHUNK = 1 << 15 };

/* ---- open ------------------------------------------------------------------------- */

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

cw_status cwi_cpu_make_partial(cwi_cpu *e)
{
    e->partial = cwi_pile_add(e->host.base.ctx, &e->host.pile, count_chunks(&e->host.params),
                              sizeof *e->partial);
    return e->host.pile.status;
}

cw_status cwi_cpu_create_dense(cw_context *ctx, cwi_cpu *e)
{
    int64_t rows = cwi_host_table(&e->host)->rows;
    CW_PASS(cwi_cpu_make_partial(e));
    e->place = cwi_pile_add(ctx, &e->host.pile, (size_t)rows, sizeof *e->place);
    for (int64_t r = 0; r < rows && e->place; r++) e->place[r] = -1;
    return e->host.pile.status;
}

static cw_status open_engine(cw_context *ctx, const cwi_task *task, cwi_params *first,
                             cwi_engine **out)
{
    cw_status status;
    cwi_cpu *e;
    CW_TRY(cwi_cpu_open(ctx, &cwi_engine_dense, task, first, &e));
    CW_TRY(cwi_host_remember(&e->host, true));
    CW_TRY(cwi_cpu_create_dense(ctx, e));
done:
    *out = status == CW_OK ? &e->host.base : NULL;
    if (status != CW_OK) cwi_cpu_close((cwi_engine *)e);
    return status;
}

/* ---- apply ------------------------------------------------------------------------ */

/* Work on a tensor. */
typedef struct job {
    const cwi_cpu *e;
    const cwi_ops *ops;
    cwi_rates rates;
    float *theta, *memory[CWI_MAX_MEMORIES];
    int64_t d;
    const float *whole; /* gradient of a tensor that is stepped as a whole */
} job;

static job job_of(const cwi_cpu *e, const cwi_rates *rates, int tensor)
{
    const cwi_tensor *t = &e->host.params.tensor[tensor];
    job j = {.e = e,
             .ops = cwi_ops_best(),
             .rates = *rates,
             .theta = t->data,
             .d = t->columns,
             .whole = e->gradient.whole[tensor]};
    j.rates.decay = t->decay;
    for (int m = 0; e->host.task->optimizer->memory[m]; m++)
        j.memory[m] = e->host.memory[m].tensor[tensor].data;
    return j;
}

/* Step n parameters from `at` on. */
static void step(const job *j, int64_t at, const float *gradient, int64_t n)
{
    float *memory[CWI_MAX_MEMORIES];
    for (int m = 0; m < CWI_MAX_MEMORIES; m++) memory[m] = j->memory[m] ? j->memory[m] + at : NULL;
    j->e->host.task->optimizer->step(j->ops, &j->rates, gradient, n, j->theta + at, memory);
}

static cw_status step_touched(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    const cwi_gradient *g = &j->e->gradient;
    (void)chunk;
    for (int64_t k = begin; k < end; k++) step(j, g->touched[k] * j->d, g->rows + k * j->d, j->d);
    return CW_OK;
}

static cw_status step_all(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    double squares = 0;
    for (int64_t row = begin; row < end; row++) {
        int32_t place = j->e->place[row];
        const float *g = place < 0 ? NULL : j->e->gradient.rows + (int64_t)place * j->d;
        if (j->rates.decay > 0) squares += j->ops->sum_squares(j->theta + row * j->d, j->d);
        step(j, row * j->d, g, j->d);
    }
    j->e->partial[chunk] = squares;
    return CW_OK;
}

static double sum_partial(const cwi_cpu *e, int64_t chunks)
{
    double sum = 0;
    for (int64_t c = 0; c < chunks; c++) sum += e->partial[c];
    return sum;
}

/* Are all rows seen at every step? */
static bool steps_all(const cwi_cpu *e)
{
    return e->host.task->optimizer->schedule != CWI_STEP_TOUCHED;
}

cw_status cwi_cpu_step_table(cwi_cpu *e, const cwi_rates *rates)
{
    const cwi_gradient *g = &e->gradient;
    int64_t rows = cwi_host_table(&e->host)->rows;
    job j = job_of(e, rates, 0);
    if (!steps_all(e))
        return cwi_pool_for(e->host.base.ctx, g->n_touched, ROWS_A_CHUNK, step_touched, &j);
    for (int64_t k = 0; k < g->n_touched; k++) e->place[g->touched[k]] = (int32_t)k;
    cw_status status = cwi_pool_for(e->host.base.ctx, rows, ROWS_A_CHUNK, step_all, &j);
    for (int64_t k = 0; k < g->n_touched; k++) e->place[g->touched[k]] = -1;
    return status;
}

static cw_status step_entries(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    j->e->partial[chunk] = j->ops->sum_squares(j->theta + begin, end - begin);
    step(j, begin, j->whole + begin, end - begin);
    return CW_OK;
}

cw_status cwi_cpu_step_others(cwi_cpu *e, const cwi_rates *rates, double *reg)
{
    cw_status status = CW_OK;
    for (int t = 1; t < e->host.params.count && status == CW_OK; t++) {
        const cwi_tensor *tensor = &e->host.params.tensor[t];
        int64_t entries = tensor->rows * tensor->columns;
        job j = job_of(e, rates, t);
        status = cwi_pool_for(e->host.base.ctx, entries, ENTRIES_A_CHUNK, step_entries, &j);
        *reg +=
            (double)tensor->decay / 2 * sum_partial(e, cwi_pool_chunks(entries, ENTRIES_A_CHUNK));
    }
    return status;
}

static cw_status apply(cwi_engine *engine)
{
    cwi_cpu *e = (cwi_cpu *)engine;
    cwi_rates rates;
    const cwi_tensor *table = cwi_host_table(&e->host);
    if (e->is_idle) return CW_OK;
    e->host.task->optimizer->rates(e->host.task->options, ++e->host.tally.applied, &rates);
    CW_PASS(cwi_cpu_step_table(e, &rates));
    double squares =
        steps_all(e) ? sum_partial(e, cwi_pool_chunks(table->rows, ROWS_A_CHUNK)) : NAN;
    double reg = (double)table->decay / 2 * squares;
    CW_PASS(cwi_cpu_step_others(e, &rates, &reg));
    cwi_host_count(&e->host, e->loss, e->gradient.penalty, reg);
    return CW_OK;
}

static cw_status settle(cwi_engine *engine)
{
    cwi_cpu *e = (cwi_cpu *)engine;
    return cwi_cpu_reg(e, &e->host.tally.reg_at_end);
}

const cwi_engine_verbs cwi_engine_dense = {
    .name = "dense",
    .open = open_engine,
    .begin = cwi_cpu_begin,
    .draw = cwi_cpu_draw,
    .score = cwi_cpu_score,
    .select = cwi_cpu_select,
    .loss = cwi_cpu_loss,
    .back = cwi_cpu_back,
    .apply = apply,
    .settle = settle,
    .tell = cwi_host_tell,
    .rank = cwi_host_rank,
    .params = cwi_host_params,
    .read = cwi_host_read,
    .write = cwi_cpu_write,
    .close = cwi_cpu_close,
};
