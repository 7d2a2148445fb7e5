/*
 * grid.c - batches whose users all meet its items, by many processes.
 *
 * Every process gets all vectors of the batch and makes its scores, losses and slopes; the gradient
 * of a row is made, and kept, by its owner alone.
 */
#include <string.h>

#include "core/pool.h"
#include "engine/mpi/share.h"

enum { ROWS_A_CHUNK = 64 };

cw_status cwi_share_open_grid(cw_context *ctx, cwi_share_engine *e)
{
    cwi_pile *pile = &e->cpu.host.pile;
    const cwi_task *task = e->cpu.host.task;
    size_t bytes = (size_t)e->d * sizeof(float), most = e->plan->most;
    if (!e->cpu.grid) return CW_OK;
    cwi_table_set_scorer(task->options, &e->view);
    e->place = cwi_pile_add(ctx, pile, (size_t)e->rows, sizeof *e->place);
    e->own_rows = cwi_pile_add_zero(ctx, pile, most + 1, bytes);
    e->all_rows = cwi_pile_add(ctx, pile, most + (size_t)e->world->size, bytes);
    CW_PASS(pile->status);
    for (int64_t r = 0; r < e->rows; r++) e->place[r] = (int32_t)cwi_row_place(e->world, r);
    e->view.place = e->place;
    return CW_OK;
}

/* The first row is for what this process wishes. */
static cw_status read_rows(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const cwi_share_engine *e = arg;
    (void)chunk;
    for (int64_t k = begin; k < end; k++)
        cwi_table_read(&e->view, e->plan->rows.row[e->planned[k]], e->own_rows + (k + 1) * e->d);
    return CW_OK;
}

static void share_rows(cwi_share_engine *e)
{
    const cwi_roster *rows = &e->plan->rows;
    int64_t at = 0;
    e->agreed = 0;
    e->own_rows[0] = (float)e->wish;
    for (int p = 0; p < e->world->size; p++) e->counts[p] = 1;
    for (int64_t t = 0; t < rows->n; t++) e->counts[cwi_row_owner(e->world, rows->row[t])]++;
    e->world->calls->gather(e->own_rows, e->counts[e->world->rank], e->all_rows, e->counts,
                            (size_t)e->d * sizeof(float));
    cwi_share_count(e, (int64_t)(e->world->size - 1) * e->counts[e->world->rank],
                    (size_t)e->d * sizeof(float));
    for (int p = 0; p < e->world->size; p++) {
        e->agreed |= (int)e->all_rows[at * e->d];
        e->cursor[p] = at + 1;
        at += e->counts[p];
    }
}

/* Rows of the plan ascend within a process, as they were sent. */
static void place_vectors(cwi_share_engine *e, const cwi_batch *batch)
{
    const cwi_roster *rows = &e->plan->rows;
    float *users = e->cpu.grid->vectors, *items = users + batch->n_slots * e->d;
    size_t bytes = (size_t)e->d * sizeof *users;
    int32_t *at = e->planned; /* of a row of the plan among all that came; no longer needed */
    for (int64_t t = 0; t < rows->n; t++)
        at[t] = (int32_t)e->cursor[cwi_row_owner(e->world, rows->row[t])]++;
    for (int64_t s = 0; s < batch->n_slots; s++) {
        memcpy(users + s * e->d, e->all_rows + at[rows->user_at[s]] * e->d, bytes);
        memcpy(items + s * e->d, e->all_rows + at[rows->item_at[s]] * e->d, bytes);
    }
}

cw_status cwi_share_score_grid(cwi_share_engine *e)
{
    cw_context *ctx = e->cpu.host.base.ctx;
    const cwi_batch *batch = &e->cpu.now->batch;
    cwi_roster_fill(&e->plan->rows, batch, e->cpu.host.task->shape.n_users);
    cwi_share_list(e, 0, e->plan->rows.n);
    CW_PASS(cwi_pool_for(ctx, e->n_touched, ROWS_A_CHUNK, read_rows, e));
    share_rows(e);
    place_vectors(e, batch);
    return cwi_grid_score(ctx, e->cpu.grid, batch);
}

static cw_status make_gradients(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const cwi_share_engine *e = arg;
    (void)chunk;
    for (int64_t k = begin; k < end; k++)
        cwi_table_grid_row(e->plan, &e->view, e->cpu.now->batch.n_slots, e->cpu.grid->slopes,
                           e->planned[k], e->gradient + k * e->d);
    return CW_OK;
}

cw_status cwi_share_back_grid(cwi_share_engine *e)
{
    cw_context *ctx = e->cpu.host.base.ctx;
    CW_PASS(cwi_grid_back(ctx, e->cpu.grid, &e->cpu.now->batch));
    cwi_table_plan_grid(e->plan, &e->view, &e->cpu.now->batch);
    cwi_share_list(e, 0, e->plan->rows.n);
    return cwi_pool_for(ctx, e->n_touched, ROWS_A_CHUNK, make_gradients, e);
}
