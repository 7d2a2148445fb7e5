/*
 * deferred.c - a table whose rows wait: Adam's steps are made up for when a row is next read.
 *
 * A row outside the batch has no data gradient: what happens to it depends on the row alone, and
 * gap.c has the steps that it missed in closed form.  What is kept of a row lies in one block,
 * because memory is what limits.
 *
 * Where a score is an inner product of two rows of the table and nothing else looks at them, all
 * is done from the blocks: current values of the items of a batch are made beside the table, those
 * of a user just before they are needed, and only rows that get a gradient are written back.  Other
 * backbones read the table itself, whose rows are brought up to date before a batch is scored.
 */
#include <math.h>
#include <string.h>

#include "core/mem.h"
#include "core/pool.h"
#include "engine/cpu/late.h"

enum {
    ROWS_A_CHUNK = 256,
    TOUCHED_A_CHUNK = 64,
    SLOTS_A_CHUNK = 512,
    ROWS_AT_ONCE = 32,
    SLOTS_AHEAD = 8
};

typedef cwi_deferred deferred;

/* ---- open and close --------------------------------------------------------------- */

static cwi_block_layout make_layout(int64_t columns, bool holds_theta)
{
    enum { LINE = 32, PER_FLOAT = 2 };
    int64_t units = (columns + LINE - 1) / LINE * LINE;
    int64_t floats = (PER_FLOAT * columns + LINE - 1) / LINE * LINE;
    int64_t drift = holds_theta ? floats : 0;
    return (cwi_block_layout){holds_theta, drift, drift + units, drift + units + floats};
}

void cwi_deferred_free(deferred *t)
{
    if (!t) return;
    cwi_gaps_clear(&t->gaps);
    cwi_rooms_free(t->rooms);
    cwi_table_plan_clear(&t->plan);
    cwi_free(t);
}

static cw_status create_rows(cw_context *ctx, cwi_pile *pile, const cwi_adam_clock *clock,
                             deferred *t)
{
    size_t rows = (size_t)t->rows, width = (size_t)t->d;
    t->ages = cwi_pile_add(ctx, pile, rows, sizeof *t->ages);
    t->blocks = cwi_pile_add_zero(ctx, pile, rows, (size_t)t->block.width * sizeof *t->blocks);
    t->no_slope = cwi_pile_add_zero(ctx, pile, width, sizeof *t->no_slope);
    CW_PASS(pile->status);
    for (size_t r = 0; r < rows && t->block.holds_theta; r++)
        memcpy(t->blocks + (int64_t)r * t->block.width, t->theta + r * width,
               width * sizeof *t->theta);
    for (size_t r = 0; r < rows; r++)
        t->ages[r] = (cwi_age){0, t->decay / (float)cwi_adam_epsilon(clock, 1)};
    CW_PASS(cwi_rooms_create(ctx, (ROWS_AT_ONCE + 1) * width * sizeof(float), &t->rooms));
    cwi_gaps_init(clock, &t->gaps);
    return cwi_gaps_step(ctx, &t->gaps);
}

/* What scoring from blocks needs. */
static cw_status create_values(cw_context *ctx, cwi_cpu *e, deferred *t)
{
    const cwi_shape *shape = &e->host.task->shape;
    size_t bytes = (size_t)t->d * sizeof(float);
    int64_t users = e->host.max_slots < shape->n_users ? e->host.max_slots : shape->n_users;
    int64_t items = e->host.max_slots < shape->n_items ? e->host.max_slots : shape->n_items;
    t->n_users = shape->n_users;
    t->heads = shape->heads;
    t->user_now = cwi_pile_add(ctx, &e->host.pile, (size_t)users, bytes);
    t->item_now = cwi_pile_add(ctx, &e->host.pile, (size_t)items, bytes);
    CW_PASS(e->host.pile.status);
    return cwi_table_plan_create(ctx, shape->n_users + shape->n_items, t->heads, e->host.max_slots,
                                 &t->plan);
}

cw_status cwi_cpu_create_places(cw_context *ctx, cwi_cpu *e, cwi_places *out)
{
    int64_t rows = (int64_t)e->host.task->shape.n_users + e->host.task->shape.n_items;
    int64_t ends = 2 * e->host.max_slots, most = ends < rows ? ends : rows;
    out->row = cwi_pile_add(ctx, &e->host.pile, (size_t)most, sizeof *out->row);
    out->at = cwi_pile_add(ctx, &e->host.pile, (size_t)rows, sizeof *out->at);
    CW_PASS(e->host.pile.status);
    for (int64_t r = 0; r < rows; r++) out->at[r] = -1;
    return CW_OK;
}

/* Are scores made from blocks?  Only where nothing but inner products looks at rows. */
static bool is_from_blocks(const cwi_host *host)
{
    const cwi_task *t = host->task;
    cwi_loss_grid grid;
    bool pulls_batch =
        cwi_options_choice(t->options, "reg-kind") == 1 && cwi_options_real(t->options, "reg") > 0;
    return t->backbone->is_table && !t->method->penalty && !pulls_batch &&
           !(cwi_options_real(t->options, "spectral") > 0) && !cwi_host_grid(host, &grid) &&
           cwi_scorer_is_plain(t->options);
}

cw_status cwi_deferred_open(cw_context *ctx, cwi_host *host, deferred **out)
{
    const cwi_tensor *table = cwi_host_table(host);
    const cwi_adam_clock clock = cwi_adam_clock_of(host->task->options);
    deferred *t = *out = cwi_alloc_zero(ctx, 1, sizeof *t);
    if (!t) return CW_NO_MEMORY;
    *t = (deferred){.ops = cwi_ops_best(),
                    .theta = table->data,
                    .rows = table->rows,
                    .d = table->columns,
                    .decay = table->decay,
                    .block = make_layout(table->columns, is_from_blocks(host))};
    return create_rows(ctx, &host->pile, &clock, t);
}

cw_status cwi_deferred_create(cw_context *ctx, cwi_cpu *e)
{
    CW_PASS(cwi_deferred_open(ctx, &e->host, &e->deferred));
    deferred *t = e->deferred;
    if (t->block.holds_theta) CW_PASS(create_values(ctx, e, t));
    e->lists_users = !t->block.holds_theta;
    for (int k = 0; k < 2; k++) CW_PASS(cwi_cpu_create_places(ctx, e, &e->drawn[k].places));
    return CW_OK;
}

static cw_status open_engine(cw_context *ctx, const cwi_task *task, cwi_params *first,
                             cwi_engine **out)
{
    cw_status status;
    cwi_cpu *e;
    CW_TRY(cwi_cpu_open(ctx, &cwi_engine_deferred, task, first, &e));
    CW_TRY(cwi_host_remember(&e->host, false));
    CW_TRY(cwi_cpu_make_partial(e));
    CW_TRY(cwi_deferred_create(ctx, e));
done:
    *out = status == CW_OK ? &e->host.base : NULL;
    if (status != CW_OK) cwi_cpu_close((cwi_engine *)e);
    return status;
}

/* ---- score ------------------------------------------------------------------------ */

/* Work on a batch. */
typedef struct job {
    deferred *t;
    const cwi_drawn *drawn;
    float *score;
    const cwi_gradient *gradient;
    cwi_rates rates;
    int64_t first, last; /* of the touched rows that a loop steps */
} job;

static cw_status catch_up_batch(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    float *room = cwi_rooms_enter(j->t->rooms);
    (void)chunk;
    for (int64_t k = begin; k < end; k++) cwi_late_catch_up(j->t, j->drawn->places.row[k], room);
    cwi_rooms_leave(j->t->rooms, room);
    return CW_OK;
}

static cw_status read_items(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    enum { AHEAD = 8 };
    const job *j = arg;
    const int32_t *row = j->drawn->places.row;
    (void)chunk;
    for (int64_t k = begin - AHEAD; k < end; k++) {
        if (k + AHEAD < end) cwi_late_fetch(j->t, row[k + AHEAD]);
        if (k >= begin) cwi_late_peek(j->t, row[k], j->t->item_now + k * j->t->d);
    }
    return CW_OK;
}

/* Where the values of every item of the batch are. */
static const int32_t *item_places(const job *j)
{
    return j->drawn->places.at + j->t->n_users;
}

/* The value of a user is made just before it is read, while those of the next slots come from
 * memory. */
static cw_status score_slots(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    const deferred *t = j->t;
    const cwi_batch *batch = &j->drawn->batch;
    int32_t d = (int32_t)t->d, width = d / t->heads;
    static const int32_t first[] = {0};
    float *now = cwi_rooms_enter(t->rooms);
    (void)chunk;
    for (int64_t slot = begin - SLOTS_AHEAD; slot < end; slot++) {
        if (slot + SLOTS_AHEAD < end) cwi_late_fetch(t, batch->user[slot + SLOTS_AHEAD]);
        if (slot < begin) continue;
        if (slot == begin || batch->user[slot] != batch->user[slot - 1])
            cwi_late_peek(t, batch->user[slot], now);
        for (int32_t h = 0; h < t->heads; h++)
            t->ops->dot_pairs(now + h * width, first, t->item_now + h * width,
                              item_places(j) + batch->item[slot], 1, width, d,
                              j->score + slot * t->heads + h, t->heads);
    }
    cwi_rooms_leave(t->rooms, now);
    return CW_OK;
}

/* What the first item of a pair scores above the second is its score, that of the second is 0. */
static cw_status score_apart(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    const deferred *t = j->t;
    cwi_slot_pair pairs[SLOTS_A_CHUNK / 2 + CWI_MAX_SLOTS];
    const int32_t *at = item_places(j);
    float *room = cwi_rooms_enter(t->rooms);
    int64_t n = cwi_batch_pairs(&j->drawn->batch, begin, end, pairs);
    (void)chunk;
    for (int64_t k = 0; k < n; k++) { /* all at once, so that no score waits for it */
        pairs[k].plus = at[pairs[k].plus];
        pairs[k].minus = at[pairs[k].minus];
    }
    for (int64_t k = -SLOTS_AHEAD; k < n; k++) {
        if (k + SLOTS_AHEAD < n) cwi_late_fetch(t, pairs[k + SLOTS_AHEAD].user);
        if (k < 0) continue;
        j->score[pairs[k].slot] = cwi_late_dot(t, pairs[k].user, t->item_now + pairs[k].plus * t->d,
                                               t->item_now + pairs[k].minus * t->d, room);
        j->score[pairs[k].other] = 0;
    }
    cwi_rooms_leave(t->rooms, room);
    return CW_OK;
}

static cw_status score(cwi_engine *engine)
{
    cw_status status;
    cwi_cpu *e = (cwi_cpu *)engine;
    job j = {.t = e->deferred, .drawn = e->now, .score = e->score};
    cw_context *ctx = engine->ctx;
    const cwi_batch *batch = &e->now->batch;
    if (e->is_idle) return CW_OK;
    if (!e->deferred->block.holds_theta) {
        CW_TRY(cwi_pool_for(ctx, e->now->places.n, ROWS_A_CHUNK, catch_up_batch, &j));
        return cwi_cpu_score(engine);
    }
    CW_TRY(cwi_pool_for(ctx, e->now->places.n, ROWS_A_CHUNK, read_items, &j));
    CW_TRY(cwi_pool_for(ctx, batch->n_slots, SLOTS_A_CHUNK,
                        batch->is_paired && e->deferred->heads == 1 ? score_apart : score_slots,
                        &j));
    CW_TRY(cwi_cpu_draw_ahead(e));
done:
    return status;
}

/* ---- back, apply ------------------------------------------------------------------ */

/* Gradients from blocks are made while they are applied, row by row: here they are planned. */
static cw_status back(cwi_engine *engine)
{
    cwi_cpu *e = (cwi_cpu *)engine;
    deferred *t = e->deferred;
    if (e->is_idle || !t->block.holds_theta) return cwi_cpu_back(engine);
    cwi_table_plan_fill(&t->plan, &e->now->batch, t->n_users, e->slope,
                        e->now->places.at + t->n_users);
    e->gradient.penalty = 0;
    return CW_OK;
}

static cw_status step_given(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    enum { AHEAD = 4 };
    const job *j = arg;
    const cwi_gradient *g = j->gradient;
    float *room = cwi_rooms_enter(j->t->rooms);
    (void)chunk;
    for (int64_t k = begin; k < end; k++) {
        if (k + AHEAD < g->n_touched) cwi_late_fetch_all(j->t, g->touched[k + AHEAD]);
        cwi_late_step(j->t, &j->rates, g->touched[k], g->rows + k * j->t->d, room);
    }
    cwi_rooms_leave(j->t->rooms, room);
    return CW_OK;
}

/* Gradients are made some rows at a time, so that they are still near when they are used.  A user
 * leaves the values that the gradients of items need. */
static cw_status step_planned(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    enum { AHEAD = 4 };
    const job *j = arg;
    const deferred *t = j->t;
    const cwi_roster *rows = &t->plan.rows;
    float *made = cwi_rooms_enter(t->rooms), *unused = made + ROWS_AT_ONCE * t->d;
    (void)chunk;
    begin += j->first;
    end += j->first;
    for (int64_t k = begin; k < end; k++) {
        int64_t in = (k - begin) % ROWS_AT_ONCE;
        if (in == 0)
            cwi_table_plan_sum(&t->plan, t->user_now, t->item_now, (int32_t)t->d, k,
                               end - k < ROWS_AT_ONCE ? end : k + ROWS_AT_ONCE, made);
        if (k + AHEAD < j->last) cwi_late_fetch_all(t, rows->row[k + AHEAD]);
        cwi_late_step(t, &j->rates, rows->row[k], made + in * t->d,
                      k < rows->n_users ? t->user_now + k * t->d : unused);
    }
    cwi_rooms_leave(t->rooms, made);
    return CW_OK;
}

/* Users first. */
static cw_status step_plan(cw_context *ctx, job *j)
{
    const cwi_roster *rows = &j->t->plan.rows;
    j->last = rows->n_users;
    cw_status status = cwi_pool_for(ctx, j->last, TOUCHED_A_CHUNK, step_planned, j);
    if (status != CW_OK) return status;
    j->first = j->last;
    j->last = rows->n;
    return cwi_pool_for(ctx, j->last - j->first, TOUCHED_A_CHUNK, step_planned, j);
}

static cw_status apply(cwi_engine *engine)
{
    cw_status status = CW_OK;
    cwi_cpu *e = (cwi_cpu *)engine;
    job j = {.t = e->deferred, .gradient = &e->gradient};
    double reg = (double)e->deferred->decay / 2 * NAN;
    if (e->is_idle) return CW_OK;
    e->host.task->optimizer->rates(e->host.task->options, ++e->host.tally.applied, &j.rates);
    j.rates.decay = e->deferred->decay;
    CW_TRY(e->deferred->block.holds_theta
               ? step_plan(engine->ctx, &j)
               : cwi_pool_for(engine->ctx, e->gradient.n_touched, TOUCHED_A_CHUNK, step_given, &j));
    CW_TRY(cwi_cpu_step_others(e, &j.rates, &reg));
    CW_TRY(cwi_gaps_step(engine->ctx, &e->deferred->gaps));
    cwi_host_count(&e->host, e->loss, e->gradient.penalty, reg);
done:
    return status;
}

/* ---- settle, read, write ----------------------------------------------------------- */

static cw_status catch_up_all(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const deferred *t = arg;
    float *room = cwi_rooms_enter(t->rooms);
    (void)chunk;
    for (int64_t row = begin; row < end; row++) {
        cwi_late_catch_up(t, row, room);
        if (t->block.holds_theta)
            memcpy(t->theta + row * t->d, cwi_late_theta(t, row), (size_t)t->d * sizeof *t->theta);
    }
    cwi_rooms_leave(t->rooms, room);
    return CW_OK;
}

cw_status cwi_deferred_settle(cw_context *ctx, deferred *t)
{
    return cwi_pool_for(ctx, t->rows, ROWS_A_CHUNK, catch_up_all, t);
}

static cw_status settle(cwi_engine *engine)
{
    cwi_cpu *e = (cwi_cpu *)engine;
    CW_PASS(cwi_deferred_settle(engine->ctx, e->deferred));
    return cwi_cpu_reg(e, &e->host.tally.reg_at_end);
}

void cwi_deferred_list(const deferred *t, cwi_state *out)
{
    cwi_state_add(out, "", "mark", CWI_U64, t->rows, 0, t->ages);
    cwi_state_add(out, "", "blocks", CWI_I16, t->rows, t->block.width, t->blocks);
}

static cw_status read_state(cwi_engine *engine, cwi_state *out)
{
    CW_PASS(cwi_host_read(engine, out));
    cwi_deferred_list(((cwi_cpu *)engine)->deferred, out);
    return CW_OK;
}

cw_status cwi_deferred_go_on(cw_context *ctx, deferred *t, int64_t applied)
{
    cwi_adam_clock clock = t->gaps.clock;
    cwi_gaps_clear(&t->gaps);
    cwi_gaps_init(&clock, &t->gaps);
    while (t->gaps.step < applied) CW_PASS(cwi_gaps_step(ctx, &t->gaps));
    for (int64_t r = 0; r < t->rows; r++)
        if (cwi_late_missed(t, r) > t->gaps.step)
            return cwi_fail(ctx, CW_BAD_DATA, "'mark' is damaged");
    return CW_OK;
}

static cw_status write_state(cwi_engine *engine, int64_t epoch, const cwi_tally *tally)
{
    CW_PASS(cwi_cpu_write(engine, epoch, tally));
    return cwi_deferred_go_on(engine->ctx, ((cwi_cpu *)engine)->deferred, tally->applied);
}

const cwi_engine_verbs cwi_engine_deferred = {
    .name = "deferred",
    .open = open_engine,
    .begin = cwi_cpu_begin,
    .draw = cwi_cpu_draw,
    .score = score,
    .select = cwi_cpu_select,
    .loss = cwi_cpu_loss,
    .back = back,
    .apply = apply,
    .settle = settle,
    .tell = cwi_host_tell,
    .rank = cwi_host_rank,
    .params = cwi_host_params,
    .read = read_state,
    .write = write_state,
    .close = cwi_cpu_close,
};
