/*
 * mpi.c - an engine of many processes, each of which has a share of the rows.
 *
 * All processes draw the whole batch, which depends on the seed and the step alone, and make the
 * loss of all of it from all scores: these are small.  What is large, vectors, goes where it is
 * needed: those of items to the owners of the users they meet, who make scores and the gradients of
 * users; those of users to the owners of items, who make theirs.  Every number is made by the
 * operations of the engines of one process, in the same order of slots, so the bits are the same
 * for any number of processes.
 *
 * The rows of this process are a table of their own (comm/world.h), which the code of dense and of
 * deferred tables steps like any other.
 */
#include <math.h>
#include <string.h>

#include "core/pool.h"
#include "engine/cpu/late.h"
#include "engine/mpi/share.h"

enum { ROWS_A_CHUNK = 64, SLOTS_A_CHUNK = 512, ROWS_AT_ONCE = 32, AHEAD = 8 };

typedef cwi_deferred deferred;

/* ---- open and close ------------------------------------------------------------------------- */

static void close_engine(cwi_engine *engine)
{
    cwi_share_engine *e = (cwi_share_engine *)engine;
    if (!e) return;
    cwi_ahead_close(e->ahead);
    cwi_share_clear_masks(&e->masks);
    cwi_share_close_slopes(e);
    cwi_route_clear(&e->items);
    cwi_route_clear(&e->users);
    cwi_table_plan_clear(&e->own_plan);
    cwi_cpu_close(engine);
}

/* Values of a batch, where no deferred table brings room for them. */
static cw_status create_values(cw_context *ctx, cwi_share_engine *e)
{
    const cwi_shape *shape = &e->cpu.host.task->shape;
    int64_t slots = e->cpu.host.max_slots;
    size_t users = (size_t)(slots < shape->n_users ? slots : shape->n_users);
    size_t items = (size_t)(slots < shape->n_items ? slots : shape->n_items);
    cwi_pile *pile = &e->cpu.host.pile;
    size_t bytes = (size_t)e->d * sizeof(float);
    e->user_now = cwi_pile_add(ctx, pile, users, bytes);
    e->item_now = cwi_pile_add(ctx, pile, items, bytes);
    for (int k = 0; k < 2 && !e->cpu.deferred; k++)
        CW_PASS(cwi_cpu_create_places(ctx, &e->cpu, &e->cpu.drawn[k].places));
    e->plan = &e->own_plan;
    return cwi_table_plan_create(ctx, (int32_t)e->rows, shape->heads, slots, e->plan);
}

static cw_status create_table(cw_context *ctx, cwi_share_engine *e)
{
    e->vectors = cwi_host_table(&e->cpu.host)->data;
    bool is_late = e->cpu.host.task->optimizer->schedule == CWI_STEP_LATE;
    CW_PASS(cwi_host_remember(&e->cpu.host, !is_late));
    if (!is_late) {
        CW_PASS(cwi_cpu_create_dense(ctx, &e->cpu));
        return create_values(ctx, e);
    }
    CW_PASS(cwi_deferred_create(ctx, &e->cpu));
    if (!e->cpu.deferred->block.holds_theta) return create_values(ctx, e);
    e->user_now = e->cpu.deferred->user_now;
    e->item_now = e->cpu.deferred->item_now;
    e->plan = &e->cpu.deferred->plan;
    return CW_OK;
}

static cw_status create_exchange(cw_context *ctx, cwi_share_engine *e)
{
    cwi_host *host = &e->cpu.host;
    cwi_pile *pile = &host->pile;
    size_t slots = (size_t)host->max_slots, heads = (size_t)host->task->shape.heads;
    size_t size = (size_t)e->world->size, most = e->plan->most;
    int64_t blocks = cwi_pool_chunks(cwi_host_table(host)->rows, CWI_BLOCK_ROWS);
    CW_PASS(cwi_route_create(ctx, e->world, host->max_slots, host->task->shape.n_items, e->d,
                             &e->items));
    CW_PASS(cwi_route_create(ctx, e->world, host->max_slots, host->task->shape.n_users, e->d,
                             &e->users));
    e->thing = cwi_pile_add(ctx, pile, slots, sizeof *e->thing);
    e->own_score = cwi_pile_add(ctx, pile, slots + 1, heads * sizeof *e->own_score);
    e->all_scores = cwi_pile_add(ctx, pile, slots + size, heads * sizeof *e->all_scores);
    e->counts = cwi_pile_add(ctx, pile, size, sizeof *e->counts);
    e->cursor = cwi_pile_add(ctx, pile, size, sizeof *e->cursor);
    e->touched = cwi_pile_add(ctx, pile, most, sizeof *e->touched);
    e->planned = cwi_pile_add(ctx, pile, most, sizeof *e->planned);
    e->gradient = cwi_pile_add(ctx, pile, most, (size_t)e->d * sizeof *e->gradient);
    e->squares = cwi_pile_add(ctx, pile, (size_t)blocks, CWI_TELL_EVERY * sizeof *e->squares);
    return pile->status;
}

static cw_status open_parts(cw_context *ctx, const cwi_task *task, cwi_params *first,
                            cwi_share_engine *e)
{
    e->cpu.now = &e->cpu.drawn[0];
    e->cpu.next = &e->cpu.drawn[1];
    e->cpu.host =
        (cwi_host){.base = {.verbs = &cwi_engine_mpi, .ctx = ctx}, .task = task, .epoch = -1};
    e->world = task->world;
    e->d = first->tensor[0].columns;
    e->rows = (int64_t)task->shape.n_users + task->shape.n_items;
    e->cpu.host.params = *first; /* of this process alone */
    *first = (cwi_params){0};
    CW_PASS(cwi_sampler_open(ctx, task->method->sampler, task->training, task->options,
                             &e->cpu.host.max_slots, &e->cpu.host.sampler));
    CW_PASS(cwi_cpu_open_slots(&e->cpu));
    CW_PASS(create_table(ctx, e));
    CW_PASS(cwi_share_open_layers(ctx, e));
    e->view = (cwi_table){.data = e->vectors,
                          .n_users = task->shape.n_users,
                          .d = (int32_t)e->d,
                          .heads = task->shape.heads};
    CW_PASS(cwi_share_open_grid(ctx, e));
    CW_PASS(cwi_share_open_dealt(ctx, e));
    return create_exchange(ctx, e);
}

static cw_status open_engine(cw_context *ctx, const cwi_task *task, cwi_params *first,
                             cwi_engine **out)
{
    cwi_share_engine *e = cwi_alloc_zero(ctx, 1, sizeof *e);
    cw_status status = e ? open_parts(ctx, task, first, e) : CW_NO_MEMORY;
    cwi_params_clear(first);
    *out = status == CW_OK ? &e->cpu.host.base : NULL;
    if (status != CW_OK) close_engine((cwi_engine *)e);
    return status;
}

/* ---- score ---------------------------------------------------------------------------------- */

static const float *row_of(const cwi_share_engine *e, int64_t row)
{
    return e->vectors + cwi_row_place(e->world, row) * e->d;
}

/* Do rows wait, and are scores made of them as they are? */
static bool is_from_blocks(const cwi_share_engine *e)
{
    return e->cpu.deferred && e->cpu.deferred->block.holds_theta;
}

/* Is there one process, and a table that is read as it lies? */
static bool has_all(const cwi_share_engine *e)
{
    return e->world->size == 1 && !is_from_blocks(e);
}

/* The row of an item of the batch as it is now. */
static void read_item(const cwi_share_engine *e, int32_t thing, float *to)
{
    int64_t row = e->cpu.now->places.row[thing];
    if (is_from_blocks(e))
        cwi_late_peek(e->cpu.deferred, cwi_row_place(e->world, row), to);
    else
        memcpy(to, row_of(e, row), (size_t)e->d * sizeof *to);
}

/* Ask for a row of this process that is read soon. */
__attribute__((always_inline)) static inline void fetch_row(const cwi_share_engine *e, int64_t row)
{
    if (is_from_blocks(e))
        cwi_late_fetch(e->cpu.deferred, cwi_row_place(e->world, row));
    else
        cwi_fetch(row_of(e, row), e->d * (int64_t)sizeof *e->vectors);
}

static cw_status read_own_items(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const cwi_share_engine *e = arg;
    const cwi_route *r = &e->items;
    (void)chunk;
    for (int64_t k = begin; k < end; k++) {
        if (k + AHEAD < r->n_own) fetch_row(e, e->cpu.now->places.row[r->own[k + AHEAD]]);
        read_item(e, r->own[k], e->item_now + r->own[k] * e->d);
    }
    return CW_OK;
}

static cw_status pack_items(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const cwi_share_engine *e = arg;
    const cwi_route *r = &e->items;
    (void)chunk;
    for (int64_t k = begin; k < end; k++) {
        if (k + AHEAD < r->n_out) fetch_row(e, e->cpu.now->places.row[r->out[k + AHEAD]]);
        read_item(e, r->out[k], r->to_send + k * e->d);
    }
    return CW_OK;
}

/* Vectors that have come, to where they are looked for. */
static void unpack(const cwi_route *route, float *now)
{
    size_t d = route->width;
    for (int64_t k = 0; k < route->n_in; k++)
        memcpy(now + (size_t)route->in[k] * d, route->arrived + (size_t)k * d, d * sizeof *now);
}

static cw_status exchange_items(cwi_share_engine *e)
{
    const cwi_batch *batch = &e->cpu.now->batch;
    int32_t n_users = e->cpu.host.task->shape.n_users;
    const int32_t *at = e->cpu.now->places.at + n_users;
    for (int64_t s = 0; s < batch->n_slots; s++) e->thing[s] = at[batch->item[s]];
    cwi_route_fill(&e->items, batch->n_slots, e->thing, (cwi_route_side){batch->item, n_users},
                   (cwi_route_side){batch->user, 0});
    cw_context *ctx = e->cpu.host.base.ctx;
    CW_PASS(cwi_pool_for(ctx, e->items.n_own, ROWS_A_CHUNK, read_own_items, e));
    CW_PASS(cwi_pool_for(ctx, e->items.n_out, ROWS_A_CHUNK, pack_items, e));
    cwi_route_run(&e->items);
    cwi_share_count(e, e->items.n_out, (size_t)e->d * sizeof *e->item_now);
    unpack(&e->items, e->item_now);
    return CW_OK;
}

/* Slots of users of this process, each by itself. */
static cw_status score_slots(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    static const int32_t first[] = {0};
    const cwi_share_engine *e = arg;
    const cwi_batch *batch = &e->cpu.now->batch;
    const deferred *t = is_from_blocks(e) ? e->cpu.deferred : NULL;
    int32_t heads = e->cpu.host.task->shape.heads, d = (int32_t)e->d, width = d / heads;
    float *room = t ? cwi_rooms_enter(t->rooms) : NULL;
    (void)chunk;
    for (int64_t s = begin; s < end; s++) {
        if (!cwi_share_has(e, batch->user[s])) continue;
        const float *user = t ? room : row_of(e, batch->user[s]);
        if (t) cwi_late_peek(t, cwi_row_place(e->world, batch->user[s]), room);
        for (int32_t h = 0; h < heads; h++)
            cwi_ops_best()->dot_pairs(user + h * width, first, e->item_now + h * width,
                                      &e->thing[s], 1, width, d, e->cpu.score + s * heads + h,
                                      heads);
    }
    if (t) cwi_rooms_leave(t->rooms, room);
    return CW_OK;
}

/* What the first item of a pair scores above the second is its score, that of the second is 0. */
static cw_status score_apart(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const cwi_share_engine *e = arg;
    const deferred *t = is_from_blocks(e) ? e->cpu.deferred : NULL;
    cwi_slot_pair pairs[SLOTS_A_CHUNK / 2 + CWI_MAX_SLOTS];
    int64_t n = cwi_batch_pairs(&e->cpu.now->batch, begin, end, pairs);
    float *room = t ? cwi_rooms_enter(t->rooms) : NULL;
    (void)chunk;
    for (int64_t k = -AHEAD; k < n; k++) {
        if (k + AHEAD < n && cwi_share_has(e, pairs[k + AHEAD].user))
            fetch_row(e, pairs[k + AHEAD].user);
        if (k < 0 || !cwi_share_has(e, pairs[k].user)) continue;
        const float *plus = e->item_now + e->thing[pairs[k].slot] * e->d;
        const float *minus = e->item_now + e->thing[pairs[k].other] * e->d;
        e->cpu.score[pairs[k].slot] =
            t ? cwi_late_dot(t, cwi_row_place(e->world, pairs[k].user), plus, minus, room)
              : cwi_ops_best()->dot_apart(row_of(e, pairs[k].user), NULL, 1, 0, plus, minus, e->d);
        e->cpu.score[pairs[k].other] = 0;
    }
    if (t) cwi_rooms_leave(t->rooms, room);
    return CW_OK;
}

/* Scores of all slots to all processes.  A number more goes with them: what this process wishes. */
static void share_scores(cwi_share_engine *e)
{
    const cwi_batch *batch = &e->cpu.now->batch;
    int32_t heads = e->cpu.host.task->shape.heads;
    int size = e->world->size;
    int64_t own = 0;
    size_t bytes = (size_t)heads * sizeof(float);
    if (size == 1) {
        e->agreed = e->wish;
        return;
    }
    for (int p = 0; p < size; p++) e->counts[p] = 1;
    memset(e->own_score, 0, bytes);
    e->own_score[0] = (float)e->wish;
    for (int64_t s = 0; s < batch->n_slots; s++) {
        e->counts[cwi_row_owner(e->world, batch->user[s])]++;
        if (cwi_share_has(e, batch->user[s]))
            memcpy(e->own_score + ++own * heads, e->cpu.score + s * heads, bytes);
    }
    e->world->calls->gather(e->own_score, e->counts[e->world->rank], e->all_scores, e->counts,
                            bytes);
    cwi_share_count(e, (int64_t)(size - 1) * e->counts[e->world->rank], bytes);
    int64_t at = 0;
    e->agreed = 0;
    for (int p = 0; p < size; p++) {
        e->agreed |= (int)e->all_scores[at * heads];
        e->cursor[p] = at + 1;
        at += e->counts[p];
    }
    for (int64_t s = 0; s < batch->n_slots; s++)
        memcpy(e->cpu.score + s * heads,
               e->all_scores + e->cursor[cwi_row_owner(e->world, batch->user[s])]++ * heads, bytes);
}

/* Rows of the batch that wait, where what is scored is the table. */
static cw_status catch_up(cwi_share_engine *e)
{
    const cwi_places *places = &e->cpu.now->places;
    const deferred *t = e->cpu.deferred;
    float *room = cwi_rooms_enter(t->rooms);
    for (int64_t k = 0; k < places->n; k++)
        if (cwi_share_has(e, places->row[k]))
            cwi_late_catch_up(t, cwi_row_place(e->world, places->row[k]), room);
    cwi_rooms_leave(t->rooms, room);
    return CW_OK;
}

static cw_status score(cwi_engine *engine)
{
    cwi_share_engine *e = (cwi_share_engine *)engine;
    const cwi_batch *batch = &e->cpu.now->batch;
    if (e->cpu.is_idle) return CW_OK;
    CW_PASS(cwi_cpu_draw_ahead(&e->cpu)); /* while messages are under way */
    if (e->cpu.deferred && !is_from_blocks(e)) CW_PASS(catch_up(e));
    if (e->layers) CW_PASS(cwi_share_propagate(e));
    if (e->cpu.grid) return cwi_share_score_grid(e);
    if (has_all(e)) {
        e->agreed = e->wish;
        return cwi_table_score(engine->ctx, &e->view, batch, e->cpu.score);
    }
    CW_PASS(exchange_items(e));
    bool apart = batch->is_paired && e->cpu.host.task->shape.heads == 1;
    CW_PASS(cwi_pool_for(engine->ctx, batch->n_slots, SLOTS_A_CHUNK,
                         apart ? score_apart : score_slots, e));
    share_scores(e);
    return CW_OK;
}

/* ---- back, apply ---------------------------------------------------------------------------- */

/* Vectors of users to the owners of the items that they met; those of this process are in user_now
 * already. */
static void exchange_users(cwi_share_engine *e)
{
    const cwi_batch *batch = &e->cpu.now->batch;
    int32_t n_users = e->cpu.host.task->shape.n_users;
    cwi_route_fill(&e->users, batch->n_slots, e->plan->rows.user_at,
                   (cwi_route_side){batch->user, 0}, (cwi_route_side){batch->item, n_users});
    for (int64_t k = 0; k < e->users.n_out; k++)
        memcpy(e->users.to_send + k * e->d, e->user_now + e->users.out[k] * e->d,
               (size_t)e->d * sizeof *e->user_now);
    cwi_route_run(&e->users);
    cwi_share_count(e, e->users.n_out, (size_t)e->d * sizeof *e->user_now);
    unpack(&e->users, e->user_now);
}

void cwi_share_list(cwi_share_engine *e, int64_t begin, int64_t end)
{
    e->n_touched = 0;
    for (int64_t k = begin; k < end; k++) {
        if (!cwi_share_has(e, e->plan->rows.row[k])) continue;
        e->planned[e->n_touched] = (int32_t)k;
        e->touched[e->n_touched++] = (int32_t)cwi_row_place(e->world, e->plan->rows.row[k]);
    }
}

/* Of rows that follow each other in the plan, at most so many at once: how many from k on. */
static int64_t count_run(const cwi_share_engine *e, int64_t k, int64_t end)
{
    int64_t n = 1;
    while (n < ROWS_AT_ONCE && k + n < end && e->planned[k + n] == e->planned[k] + n) n++;
    return n;
}

static void sum_run(const cwi_share_engine *e, int64_t k, int64_t n, float *out)
{
    cwi_table_plan_sum(e->plan, e->user_now, e->item_now, (int32_t)e->d, e->planned[k],
                       e->planned[k] + n, out);
}

static cw_status make_gradients(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const cwi_share_engine *e = arg;
    int64_t n;
    (void)chunk;
    for (int64_t k = begin; k < end; k += n) {
        n = count_run(e, k, end);
        sum_run(e, k, n, e->gradient + k * e->d);
    }
    return CW_OK;
}

/* Gradients of rows of slots. */
static cw_status back_rows(cwi_share_engine *e)
{
    const cwi_table_plan *plan = e->plan;
    int32_t n_users = e->cpu.host.task->shape.n_users;
    if (!has_all(e))
        cwi_table_plan_fill(e->plan, &e->cpu.now->batch, n_users, e->cpu.slope,
                            e->cpu.now->places.at + n_users);
    if (is_from_blocks(e)) return CW_OK; /* made while they are applied */
    if (has_all(e)) {
        cwi_table_plan_fill(e->plan, &e->cpu.now->batch, n_users, e->cpu.slope, NULL);
        cwi_share_list(e, 0, plan->rows.n);
        return cwi_table_gradient(e->cpu.host.base.ctx, e->plan, &e->view, e->gradient);
    }
    for (int64_t k = 0; k < plan->rows.n_users; k++)
        if (cwi_share_has(e, plan->rows.row[k]))
            memcpy(e->user_now + k * e->d, row_of(e, plan->rows.row[k]),
                   (size_t)e->d * sizeof *e->user_now);
    exchange_users(e);
    cwi_share_list(e, 0, plan->rows.n);
    return cwi_pool_for(e->cpu.host.base.ctx, e->n_touched, ROWS_A_CHUNK, make_gradients, e);
}

static cw_status back(cwi_engine *engine)
{
    cwi_share_engine *e = (cwi_share_engine *)engine;
    if (e->cpu.is_idle) return CW_OK;
    CW_PASS(e->cpu.grid ? cwi_share_back_grid(e) : back_rows(e));
    e->cpu.gradient =
        (cwi_gradient){.n_touched = e->n_touched, .touched = e->touched, .rows = e->gradient};
    return e->layers ? cwi_share_spread_back(e) : CW_OK;
}

/* Gradients are made some rows at a time, so that they are still near when they are used. */
static cw_status step_late(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const cwi_share_engine *e = arg;
    const deferred *t = e->cpu.deferred;
    float *made = cwi_rooms_enter(t->rooms), *unused = made + ROWS_AT_ONCE * e->d;
    int64_t n;
    (void)chunk;
    for (int64_t run = begin; run < end; run += n) {
        n = count_run(e, run, end);
        sum_run(e, run, n, made);
        for (int64_t k = run; k < run + n; k++) {
            int32_t at = e->planned[k];
            if (k + AHEAD < e->n_touched) cwi_late_fetch_all(t, e->touched[k + AHEAD]);
            cwi_late_step(t, &e->rates, e->touched[k], made + (k - run) * e->d,
                          at < e->plan->rows.n_users ? e->user_now + at * e->d : unused);
        }
    }
    cwi_rooms_leave(t->rooms, made);
    return CW_OK;
}

static cw_status step_given(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const cwi_share_engine *e = arg;
    const deferred *t = e->cpu.deferred;
    float *room = cwi_rooms_enter(t->rooms);
    (void)chunk;
    for (int64_t k = begin; k < end; k++)
        cwi_late_step(t, &e->rates, e->touched[k], e->gradient + k * e->d, room);
    cwi_rooms_leave(t->rooms, room);
    return CW_OK;
}

/* Users first: a user leaves the values that the gradients of items need. */
static cw_status apply_late(cwi_share_engine *e)
{
    cw_context *ctx = e->cpu.host.base.ctx;
    const cwi_roster *rows = &e->plan->rows;
    e->rates.decay = e->cpu.deferred->decay;
    if (!is_from_blocks(e)) {
        CW_PASS(cwi_pool_for(ctx, e->n_touched, ROWS_A_CHUNK, step_given, e));
        return cwi_gaps_step(ctx, &e->cpu.deferred->gaps);
    }
    cwi_share_list(e, 0, rows->n_users);
    CW_PASS(cwi_pool_for(ctx, e->n_touched, ROWS_A_CHUNK, step_late, e));
    exchange_users(e);
    cwi_share_list(e, rows->n_users, rows->n);
    CW_PASS(cwi_pool_for(ctx, e->n_touched, ROWS_A_CHUNK, step_late, e));
    return cwi_gaps_step(ctx, &e->cpu.deferred->gaps);
}

/* Sums of squares of all steps since the last look, at once. */
static cw_status add_squares(cwi_share_engine *e)
{
    const cwi_tensor *table = cwi_host_table(&e->cpu.host);
    int64_t blocks = cwi_pool_chunks(table->rows, CWI_BLOCK_ROWS);
    for (int k = 0; k < e->n_squares; k++) {
        double squares;
        CW_PASS(cwi_blocks_sum(e->cpu.host.base.ctx, e->world, e->squares + k * blocks, e->rows,
                               &squares));
        e->cpu.host.tally.reg_loss += (double)table->decay / 2 * squares;
    }
    e->n_squares = 0;
    return CW_OK;
}

static cw_status apply_dense(cwi_share_engine *e)
{
    int64_t blocks = cwi_pool_chunks(cwi_host_table(&e->cpu.host)->rows, CWI_BLOCK_ROWS);
    CW_PASS(cwi_cpu_step_table(&e->cpu, &e->rates));
    if (e->cpu.host.task->optimizer->schedule == CWI_STEP_TOUCHED) return CW_OK;
    if (e->n_squares == CWI_TELL_EVERY) CW_PASS(add_squares(e));
    memcpy(e->squares + e->n_squares++ * blocks, e->cpu.partial,
           (size_t)blocks * sizeof *e->squares);
    return CW_OK;
}

static cw_status apply(cwi_engine *engine)
{
    cwi_share_engine *e = (cwi_share_engine *)engine;
    cwi_host *host = &e->cpu.host;
    bool sees_all = host->task->optimizer->schedule == CWI_STEP_ALL;
    if (e->cpu.is_idle) return CW_OK;
    host->task->optimizer->rates(host->task->options, ++host->tally.applied, &e->rates);
    CW_PASS(e->cpu.deferred ? apply_late(e) : apply_dense(e));
    cwi_host_count(host, e->cpu.loss, 0, sees_all ? 0 : (double)NAN);
    return CW_OK;
}

/* ---- epochs --------------------------------------------------------------------------------- */

static cw_status find_reg(cwi_share_engine *e, double *out)
{
    cw_context *ctx = e->cpu.host.base.ctx;
    const cwi_tensor *table = cwi_host_table(&e->cpu.host);
    int64_t blocks = cwi_pool_chunks(table->rows, CWI_BLOCK_ROWS);
    double squares = 0, *own = cwi_alloc(ctx, (size_t)blocks, sizeof *own);
    if (!own) return CW_NO_MEMORY;
    cw_status status = cwi_cpu_squares(ctx, table, own);
    if (status == CW_OK) status = cwi_blocks_sum(ctx, e->world, own, e->rows, &squares);
    cwi_free(own);
    *out = (double)table->decay / 2 * squares;
    return status;
}

static cw_status begin(cwi_engine *engine, int64_t epoch)
{
    cwi_share_engine *e = (cwi_share_engine *)engine;
    double reg;
    CW_PASS(find_reg(e, &reg));
    cwi_host_begin(&e->cpu.host, epoch, reg);
    return CW_OK;
}

static cw_status settle(cwi_engine *engine)
{
    cwi_share_engine *e = (cwi_share_engine *)engine;
    if (e->cpu.deferred) CW_PASS(cwi_deferred_settle(engine->ctx, e->cpu.deferred));
    return find_reg(e, &e->cpu.host.tally.reg_at_end);
}

static cw_status tell(cwi_engine *engine, cwi_tally *out)
{
    const cwi_share_engine *e = (cwi_share_engine *)engine;
    CW_PASS(add_squares((cwi_share_engine *)engine));
    CW_PASS(cwi_host_tell(engine, out));
    out->sent = e->sent;
    out->exchanges = e->exchanges;
    return CW_OK;
}

static cw_status agree(cwi_engine *engine, int wish, int *all)
{
    cwi_share_engine *e = (cwi_share_engine *)engine;
    e->wish = wish;
    *all = e->agreed;
    e->agreed = 0;
    return CW_OK;
}

/* ---- what the trainer may see ---------------------------------------------------------------- */

static cw_status adopt(cwi_engine *engine, const cwi_params *params)
{
    cwi_params_assign(&((cwi_share_engine *)engine)->cpu.host.params, params);
    return CW_OK;
}

static void score_own(const cwi_ranker *ranker, const int32_t *users, int32_t n, float *out)
{
    enum { AT_ONCE = CWI_SCORE_USERS };
    const float *vector[AT_ONCE];
    for (int32_t first = 0; first < n; first += AT_ONCE) {
        int32_t count = n - first < AT_ONCE ? n - first : AT_ONCE;
        for (int32_t k = 0; k < count; k++)
            vector[k] =
                ranker->users + cwi_row_place(ranker->world, users[first + k]) * ranker->width;
        cwi_ops_best()->score_block(vector, count, ranker->items, ranker->n_items, ranker->width,
                                    out + (int64_t)first * ranker->n_items);
    }
}

/* Rows of this process as they are ranked by; copies lie in the pile. */
static const float *find_vectors(cwi_share_engine *e, bool is_cosine, cwi_pile *pile)
{
    int64_t rows = cwi_host_table(&e->cpu.host)->rows;
    if (!is_cosine && !e->layers) return e->vectors;
    float *out = cwi_pile_add(e->cpu.host.base.ctx, pile, (size_t)rows, (size_t)e->d * sizeof *out);
    for (int64_t k = 0; k < rows && out; k++)
        if (is_cosine)
            (void)cwi_ops_best()->normalise(e->vectors + k * e->d, (int32_t)e->d, out + k * e->d);
        else
            memcpy(out + k * e->d, e->vectors + k * e->d, (size_t)e->d * sizeof *out);
    return out;
}

/* Users of this process, and all items. */
static cw_status rank(cwi_engine *engine, cwi_ranker *out)
{
    cwi_share_engine *e = (cwi_share_engine *)engine;
    const cwi_shape *shape = &e->cpu.host.task->shape;
    bool is_cosine = cwi_options_choice(e->cpu.host.task->options, "scorer") == 1;
    cwi_pile pile = {0};
    if (e->layers) CW_PASS(cwi_share_propagate_all(e));
    const float *own = find_vectors(e, is_cosine, &pile);
    if (e->world->size == 1 && own) { /* as any ranker by inner products */
        cwi_ranker_dot(own, own + shape->n_users * e->d, shape->n_users, shape->n_items,
                       (int32_t)e->d, out);
        out->pile = pile;
        return CW_OK;
    }
    float *items =
        cwi_pile_add(engine->ctx, &pile, (size_t)shape->n_items, (size_t)e->d * sizeof *items);
    cw_status status = pile.status;
    if (status == CW_OK)
        status = cwi_rows_gather(engine->ctx, e->world, -1, own, shape->n_users, e->rows,
                                 (size_t)e->d * sizeof *items, items);
    *out = (cwi_ranker){.n_users = shape->n_users,
                        .n_items = shape->n_items,
                        .score = score_own,
                        .items = items,
                        .users = own,
                        .width = (int32_t)e->d,
                        .world = e->world,
                        .pile = pile};
    if (status != CW_OK) cwi_ranker_close(out);
    return status;
}

const cwi_engine_verbs cwi_engine_mpi = {
    .name = "mpi",
    .open = open_engine,
    .begin = begin,
    .draw = cwi_cpu_draw,
    .score = score,
    .select = cwi_cpu_select,
    .loss = cwi_cpu_loss,
    .back = back,
    .apply = apply,
    .settle = settle,
    .tell = tell,
    .rank = rank,
    .params = cwi_host_params,
    .read = cwi_share_read,
    .write = cwi_share_write,
    .close = close_engine,
    .agree = agree,
    .adopt = adopt,
};
