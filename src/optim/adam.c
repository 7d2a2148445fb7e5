/*
 * adam.c - Adam (Kingma and Ba, 2015), epsilon added without bias correction as TensorFlow does.
 *
 * A row outside the batch has no data gradient: what happens to it depends on the row alone.  The
 * deferred mode therefore leaves such rows until they are next read, and then adds up the steps
 * that they missed (gap.c).  The current values of what a batch reads lie beside the table, packed;
 * only rows that get a gradient are written back.
 */
#include "optim/adam.h"

#include <math.h>
#include <string.h>

#include "backend/backend.h"
#include "core/mem.h"
#include "core/option_rows.h"
#include "core/pool.h"

const cw_option_info cwi_adam_options[] = {
    REAL("lr", "", 1e-12, 1000, "learning rate of Adam; tuned per method when not given"),
    WORD("adam", "dense", "dense|deferred|lazy",
         "rows outside the batch: moved at every step, made up for when they are next read (close "
         "to dense with far less memory traffic), or left alone (another optimizer)"),
    WORD("adam-eps", "tf", "tf|torch", "where Adam adds epsilon: before or after bias correction"),
    {0}};

enum { ROWS_A_CHUNK = 256, ENTRIES_A_CHUNK = 1 << 15, TOUCHED_A_CHUNK = 64, ROWS_AT_ONCE = 32 };

/* The pull of a row changes slowly, once it is slow. */
enum { SLOW = 1, PULLS_EVERY = 8 };

/* Shares of a row that the L2 term may take at once where the row is written, and where it is only
 * read, by a mean of its numbers. */
static const float most_stepped = 1e-2f, most_read = 5e-3f;

static const double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;

/* Work on a tensor. */
typedef struct cwi_adam_job {
    const cwi_ops *ops;
    cwi_adam *adam;
    float *theta, *m, *v; /* of tensor 0, or of the tensor being stepped */
    int64_t d;
    const cwi_batch *batch;
    int32_t n_users;
    const cwi_gradient *gradient;
    int64_t first, last; /* of the touched rows that a loop steps */
    const float *whole;  /* gradient of the tensor being stepped */
    cwi_adam_step step;
} job;

/* ---- make and free ---------------------------------------------------------- */

static cw_status create_moments(cw_context *ctx, const cwi_params *params, cwi_adam *adam)
{
    cw_status status = CW_OK;
    for (int t = 0; t < params->count && status == CW_OK; t++) {
        const cwi_tensor *like = &params->tensor[t];
        int64_t rows = t == 0 && adam->mode == CWI_ADAM_DEFERRED ? 0 : like->rows;
        status = cwi_params_add(ctx, &adam->m, like->name, rows, like->columns, NULL);
        if (status == CW_OK)
            status = cwi_params_add(ctx, &adam->v, like->name, rows, like->columns, NULL);
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

static cwi_adam_block make_block(int64_t columns, bool holds_theta)
{
    enum { LINE = 32, PER_FLOAT = 2 };
    int64_t units = (columns + LINE - 1) / LINE * LINE;
    int64_t floats = (PER_FLOAT * columns + LINE - 1) / LINE * LINE;
    int64_t drift = holds_theta ? floats : 0;
    return (cwi_adam_block){holds_theta, drift, drift + units, drift + units + floats};
}

static cw_status create_deferred(cw_context *ctx, const cwi_tensor *table, cwi_adam_room room,
                                 cwi_adam *out)
{
    size_t rows = (size_t)table->rows, width = (size_t)table->columns;
    out->mark = cwi_alloc(ctx, rows, sizeof *out->mark);
    out->block = make_block(table->columns, room.users > 0);
    out->blocks = cwi_alloc_zero(ctx, rows, (size_t)out->block.width * sizeof *out->blocks);
    out->reading = cwi_alloc(ctx, 1, sizeof *out->reading);
    out->no_slope = cwi_alloc_zero(ctx, width, sizeof *out->no_slope);
    if (!out->mark || !out->blocks || !out->reading || !out->no_slope) return CW_NO_MEMORY;
    for (size_t r = 0; r < rows && out->block.holds_theta; r++)
        memcpy(out->blocks + (int64_t)r * out->block.width, table->data + r * width,
               width * sizeof *table->data);
    for (size_t r = 0; r < rows; r++)
        out->mark[r] = (cwi_adam_mark){0, table->decay / (float)cwi_adam_epsilon(&out->clock, 1)};
    if (room.users > 0) {
        out->user_now = cwi_alloc(ctx, (size_t)room.users, width * sizeof *out->user_now);
        out->item_now = cwi_alloc(ctx, (size_t)room.items, width * sizeof *out->item_now);
        if (!out->user_now || !out->item_now) return CW_NO_MEMORY;
    }
    cw_status status =
        cwi_rooms_create(ctx, (ROWS_AT_ONCE + 1) * width * sizeof(float), &out->rooms);
    return status == CW_OK ? cwi_adam_restore(ctx, out) : status;
}

cw_status cwi_adam_create(cw_context *ctx, const cwi_params *params, const cw_options *options,
                          cwi_adam_room room, cwi_adam *out)
{
    cw_status status;
    size_t rows = (size_t)params->tensor[0].rows;

    *out = (cwi_adam){.mode = (cwi_adam_mode)cwi_options_choice(options, "adam"),
                      .clock = {.lr = cwi_options_real(options, "lr"),
                                .beta1 = beta1,
                                .beta2 = beta2,
                                .epsilon = epsilon,
                                .torch_epsilon = cwi_options_choice(options, "adam-eps") == 1}};
    CW_TRY(create_moments(ctx, params, out));
    out->place = cwi_alloc(ctx, rows, sizeof *out->place);
    out->partial = cwi_alloc(ctx, count_chunks(params), sizeof *out->partial);
    status = out->place && out->partial ? CW_OK : CW_NO_MEMORY;
    if (status != CW_OK) goto done;
    for (size_t r = 0; r < rows; r++) out->place[r] = -1;
    if (out->mode == CWI_ADAM_DEFERRED) CW_TRY(create_deferred(ctx, &params->tensor[0], room, out));
done:
    if (status != CW_OK) cwi_adam_clear(out);
    return status;
}

void cwi_adam_clear(cwi_adam *adam)
{
    cwi_params_clear(&adam->m);
    cwi_params_clear(&adam->v);
    cwi_gaps_clear(&adam->gaps);
    cwi_free(adam->mark);
    cwi_free(adam->blocks);
    cwi_free(adam->reading);
    cwi_free(adam->no_slope);
    cwi_rooms_free(adam->rooms);
    cwi_free(adam->place);
    cwi_free(adam->user_now);
    cwi_free(adam->item_now);
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

static inline int16_t *block_at(const job *j, int64_t row)
{
    return j->adam->blocks + row * j->adam->block.width;
}

static inline float *theta_at(const job *j, int64_t row)
{
    return j->adam->block.holds_theta ? (float *)(void *)block_at(j, row) : j->theta + row * j->d;
}

static inline int16_t *drift_at(const job *j, int64_t row)
{
    return block_at(j, row) + j->adam->block.drift;
}

static inline float *root_at(const job *j, int64_t row)
{
    return (float *)(void *)(block_at(j, row) + j->adam->block.root);
}

static cwi_adam_row row_at(const job *j, int64_t row)
{
    return (cwi_adam_row){theta_at(j, row), drift_at(j, row), root_at(j, row)};
}

__attribute__((always_inline)) static inline void fetch_row(const job *j, int64_t row)
{
    __builtin_prefetch(j->adam->mark + row);
    cwi_fetch(theta_at(j, row), j->d * (int64_t)sizeof *j->theta);
    cwi_fetch(drift_at(j, row), j->d * (int64_t)sizeof(int16_t));
}

/* Does the L2 term move a row so little that its missed steps may be taken at once?  It is then
 * small beside the root of v, and what is left out is of second order. */
static bool is_light(float pull, const cwi_adam_pause *pause, float most)
{
    return pull <= SLOW && pull * pause->pull_rate <= most;
}

/* A row after the steps that it missed, one or more, with care. */
static void miss_steps(const job *j, int64_t row, const cwi_adam_row *to)
{
    cwi_adam_gap gaps[CWI_GAP_PIECES];
    const cwi_adam *adam = j->adam;
    cwi_adam_row from = row_at(j, row);
    int64_t last = adam->gaps.step - cwi_adam_missed(adam, row);
    int n = cwi_gaps_find(&adam->gaps, last, j->step.decay, gaps);
    j->ops->adam_missed(&from, j->d, (float)adam->gaps.time[last].epsilon, gaps, n, to);
}

static float find_pull(const job *j, const cwi_adam_row *row)
{
    float now = (float)j->adam->gaps.time[j->adam->gaps.step].epsilon;
    return j->step.decay * j->ops->adam_pull(row->theta, row->root, j->d, now);
}

/* Bring a row up to date.  Where it may be done at once, the pause before a step is all there is of
 * the step: it neither learns nor moves.  `room` is that of a row. */
static void catch_up(const job *j, int64_t row, float *room)
{
    cwi_adam *adam = j->adam;
    cwi_adam_row at = row_at(j, row);
    int64_t missed = cwi_adam_missed(adam, row);
    if (missed == 0) return;
    cwi_adam_pause pause = cwi_gaps_pause(&adam->gaps, missed);
    const cwi_adam_step still = {.beta1 = 1,
                                 .beta2 = 1,
                                 .epsilon = (float)adam->gaps.time[adam->gaps.step].epsilon,
                                 .decay = j->step.decay};
    if (is_light(adam->mark[row].pull, &pause, most_stepped))
        j->ops->adam_late(&at, adam->no_slope, j->d, &pause, &still, room);
    else
        miss_steps(j, row, &at);
    adam->mark[row] = (cwi_adam_mark){(uint32_t)adam->gaps.step, find_pull(j, &at)};
}

static cw_status catch_up_all(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    float *room = cwi_rooms_enter(j->adam->rooms);
    (void)chunk;
    for (int64_t row = begin; row < end; row++) {
        catch_up(j, row, room);
        if (j->adam->block.holds_theta)
            memcpy(j->theta + row * j->d, theta_at(j, row), (size_t)j->d * sizeof *j->theta);
    }
    cwi_rooms_leave(j->adam->rooms, room);
    return CW_OK;
}

/* The row of the table at a place, users first. */
static int64_t row_of_place(const job *j, int64_t place)
{
    const cwi_batch *batch = j->batch;
    return place < batch->n_users ? batch->users[place]
                                  : j->n_users + batch->items[place - batch->n_users];
}

static cw_status catch_up_batch(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    float *room = cwi_rooms_enter(j->adam->rooms);
    (void)chunk;
    for (int64_t place = begin; place < end; place++) catch_up(j, row_of_place(j, place), room);
    cwi_rooms_leave(j->adam->rooms, room);
    return CW_OK;
}

/* The current values of a row are keep * theta - rate * drift, unless this returns false.  The pull
 * goes by a mean of the row here, and not into the table. */
static bool find_pause(const job *j, int64_t row, float *keep, float *rate)
{
    const cwi_adam *adam = j->adam;
    float pull = adam->mark[row].pull;
    cwi_adam_pause pause = cwi_gaps_pause(&adam->gaps, cwi_adam_missed(adam, row));
    *keep = 1.0f - pull * pause.pull_rate;
    *rate = pause.drift_rate / CWI_DRIFT_UNITS;
    return is_light(pull, &pause, most_read) || pause.m_left == 1.0f;
}

static void peek(const job *j, int64_t row, float *out)
{
    float keep, rate;
    if (find_pause(j, row, &keep, &rate))
        j->ops->adam_peek(theta_at(j, row), drift_at(j, row), j->d, keep, rate, out);
    else
        miss_steps(j, row, &(cwi_adam_row){.theta = out});
}

static void ask_row(const void *state, int32_t row)
{
    fetch_row(state, row);
}

static void read_row(const void *state, int32_t row, float *out)
{
    peek(state, row, out);
}

static float read_apart(const void *state, int32_t row, const float *plus, const float *minus,
                        float *room)
{
    const job *j = state;
    float keep, rate;
    if (find_pause(j, row, &keep, &rate))
        return j->ops->dot_apart(theta_at(j, row), drift_at(j, row), keep, rate, plus, minus, j->d);
    miss_steps(j, row, &(cwi_adam_row){.theta = room});
    return j->ops->dot_apart(room, NULL, 1, 0, plus, minus, j->d);
}

static cw_status read_items(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    enum { AHEAD = 8 };
    const job *j = arg;
    const int32_t *items = j->batch->items;
    (void)chunk;
    for (int64_t k = begin - AHEAD; k < end; k++) {
        if (k + AHEAD < end) fetch_row(j, j->n_users + items[k + AHEAD]);
        if (k >= begin) peek(j, j->n_users + items[k], j->adam->item_now + k * j->d);
    }
    return CW_OK;
}

void cwi_adam_number(cwi_adam *adam, cwi_batch *batch, int32_t n_users)
{
    if (adam->mode != CWI_ADAM_DEFERRED) return;
    cwi_batch_number(batch, adam->user_now ? NULL : adam->place, adam->place + n_users);
}

cw_status cwi_adam_read(cw_context *ctx, cwi_adam *adam, cwi_params *params, cwi_batch *batch,
                        int32_t n_users)
{
    if (adam->mode != CWI_ADAM_DEFERRED) return CW_OK;
    job j = table_job(adam, params);
    j.batch = batch;
    j.n_users = n_users;
    if (!adam->user_now)
        return cwi_pool_for(ctx, batch->n_users + batch->n_items, ROWS_A_CHUNK, catch_up_batch, &j);
    *adam->reading = j;
    batch->user_now = adam->user_now;
    batch->item_now = adam->item_now;
    batch->reader = (cwi_reader){ask_row, read_row, read_apart, adam->reading};
    return cwi_pool_for(ctx, batch->n_items, ROWS_A_CHUNK, read_items, &j);
}

cw_status cwi_adam_settle(cw_context *ctx, cwi_adam *adam, cwi_params *params)
{
    if (adam->mode != CWI_ADAM_DEFERRED) return CW_OK;
    job j = table_job(adam, params);
    return cwi_pool_for(ctx, params->tensor[0].rows, ROWS_A_CHUNK, catch_up_all, &j);
}

/* ---- steps ------------------------------------------------------------------ */

/* A row that is stepped now, after the steps that it missed. */
static void step_late(const job *j, int64_t row, const float *gradient, float *now)
{
    cwi_adam *adam = j->adam;
    cwi_adam_row at = row_at(j, row);
    int64_t missed = cwi_adam_missed(adam, row);
    cwi_adam_pause pause = cwi_gaps_pause(&adam->gaps, missed);
    if (missed > 0 && !is_light(adam->mark[row].pull, &pause, most_stepped)) {
        miss_steps(j, row, &at);
        pause = cwi_gaps_pause(&adam->gaps, 0);
    }
    j->ops->adam_late(&at, gradient, j->d, &pause, &j->step, now);
    adam->mark[row].last = (uint32_t)adam->step;
    if (adam->mark[row].pull > SLOW || (adam->step + row) % PULLS_EVERY == 0)
        adam->mark[row].pull = find_pull(j, &at);
}

/* Gradients are made some rows at a time, so that they are still near when they are used. */
static cw_status step_touched_late(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    enum { AHEAD = 4 };
    const job *j = arg;
    const cwi_gradient *g = j->gradient;
    float *made = cwi_rooms_enter(j->adam->rooms), *unused = made + ROWS_AT_ONCE * j->d;
    (void)chunk;
    begin += j->first;
    end += j->first;
    for (int64_t k = begin; k < end; k++) {
        int64_t in = (k - begin) % ROWS_AT_ONCE;
        if (!g->rows && in == 0)
            g->make(g->state, k, end - k < ROWS_AT_ONCE ? end : k + ROWS_AT_ONCE, made);
        if (k + AHEAD < j->last) {
            int64_t next = g->touched[k + AHEAD];
            fetch_row(j, next);
            cwi_fetch(root_at(j, next), j->d * (int64_t)sizeof(float));
        }
        step_late(j, g->touched[k], g->rows ? g->rows + k * j->d : made + in * j->d,
                  k < g->n_first ? g->first + k * j->d : unused);
    }
    cwi_rooms_leave(j->adam->rooms, made);
    return CW_OK;
}

static cw_status step_touched(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    (void)chunk;
    for (int64_t k = begin; k < end; k++) {
        int64_t at = j->gradient->touched[k] * j->d;
        j->ops->adam(j->theta + at, j->m + at, j->v + at, j->gradient->rows + k * j->d, j->d,
                     &j->step);
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

static cw_status step_deferred(cw_context *ctx, job *j)
{
    int64_t until[] = {j->gradient->n_first, j->gradient->n_touched};
    cw_status status = CW_OK;
    j->last = 0;
    for (int loop = 0; loop < 2 && status == CW_OK; loop++) {
        j->first = j->last;
        j->last = until[loop];
        status = cwi_pool_for(ctx, j->last - j->first, TOUCHED_A_CHUNK, step_touched_late, j);
    }
    return status;
}

/* *squares: sum of squares of the table before the step, NaN where not all of it is seen. */
static cw_status step_table(cw_context *ctx, cwi_adam *adam, job *j, int64_t rows, double *squares)
{
    const cwi_gradient *gradient = j->gradient;
    *squares = NAN;
    if (adam->mode == CWI_ADAM_LAZY)
        return cwi_pool_for(ctx, gradient->n_touched, ROWS_A_CHUNK, step_touched, j);
    if (adam->mode == CWI_ADAM_DEFERRED) return step_deferred(ctx, j);
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
