/*
 * grid.c - batches whose users all meet its items, by many processes.
 *
 * Every process gets all vectors of the batch and makes its scores, losses and their slopes; slopes
 * of vectors (slopes.c) and the gradient of a row are made, and kept, by its owner alone.
 */
#include <math.h>
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
    return cwi_share_open_slopes(ctx, e);
}

/* ---- what users had ------------------------------------------------------------------- */

void cwi_share_clear_masks(cwi_share_masks *m)
{
    cwi_batch_clear(&m->batch);
    cwi_free(m->own);
    cwi_free(m->all);
    *m = (cwi_share_masks){0};
}

/* Cells of a row whose items its user had. */
static cw_status list_row(cwi_share_engine *e, int64_t row, int64_t *n)
{
    const cwi_grid *g = e->cpu.grid;
    const cwi_csr *lists = &e->cpu.host.task->training->by_user;
    cwi_share_masks *m = &e->masks;
    int32_t user = m->batch.user[row];
    for (int64_t x = lists->start[user]; x < lists->start[user + 1]; x++)
        for (int32_t c = g->first[lists->value[x]]; c >= 0; c = g->next[c]) {
            CW_PASS(cwi_grow(e->cpu.host.base.ctx, &m->own, &m->own_capacity, (size_t)*n + 1,
                             sizeof *m->own));
            m->own[(*n)++] = (cwi_share_cell){(int32_t)row, c};
        }
    return CW_OK;
}

/* Cells of a batch that are left out because of users of this process. */
static cw_status list_batch(cwi_share_engine *e, int64_t *n)
{
    const cwi_loss_grid *l = &e->cpu.grid->loss;
    const cwi_batch *batch = &e->masks.batch;
    cw_status status = CW_OK;
    for (int64_t p = 0; p < l->rows / l->side && status == CW_OK; p++) {
        cwi_grid_list(e->cpu.grid, batch, p, true);
        for (int64_t r = p * l->side; r < (p + 1) * l->side && status == CW_OK; r++)
            if (cwi_share_has(e, batch->user[r])) status = list_row(e, r, n);
        cwi_grid_list(e->cpu.grid, batch, p, false);
    }
    return status;
}

/* Cells of all processes to all: how many, then which. */
static cw_status share_masks(cwi_share_engine *e, int64_t n_own)
{
    cwi_share_masks *m = &e->masks;
    const cwi_world *w = e->world;
    int64_t all = 0, steps = m->n_steps;
    for (int p = 0; p < w->size; p++) m->one[p] = (int)steps;
    w->calls->gather(m->counts, (int)steps, m->all_counts, m->one, sizeof *m->counts);
    for (int p = 0; p < w->size; p++) {
        m->totals[p] = 0;
        for (int64_t s = 0; s < steps; s++) m->totals[p] += m->all_counts[p * steps + s];
        all += m->totals[p];
    }
    cw_context *ctx = e->cpu.host.base.ctx;
    CW_PASS(cwi_grow(ctx, &m->own, &m->own_capacity, 1, sizeof *m->own));
    CW_PASS(cwi_grow(ctx, &m->all, &m->all_capacity, (size_t)all + 1, sizeof *m->all));
    w->calls->gather(m->own, (int)n_own, m->all, m->totals, sizeof *m->own);
    cwi_share_count(e, (int64_t)(w->size - 1) * steps, sizeof *m->counts);
    cwi_share_count(e, (int64_t)(w->size - 1) * n_own, sizeof *m->own);
    return CW_OK;
}

cw_status cwi_share_list_masks(cwi_share_engine *e, uint64_t first, int64_t n)
{
    cwi_share_masks *m = &e->masks;
    cwi_draws unused = {0};
    int64_t listed = 0;
    m->first = first;
    m->n_steps = n;
    for (int64_t s = 0; s < n; s++) {
        int64_t before = listed;
        CW_PASS(cwi_ahead_take(e->cpu.host.base.ctx, e->ahead, first + (uint64_t)s, &m->batch,
                               &unused));
        CW_PASS(list_batch(e, &listed));
        m->counts[s] = (int)(listed - before);
    }
    return share_masks(e, listed);
}

/* Leave out what the users of rows had, as their owners say. */
static void mask(cwi_share_engine *e)
{
    const cwi_share_masks *m = &e->masks;
    cwi_loss_grid *l = &e->cpu.grid->loss;
    int64_t step = (int64_t)(e->cpu.now->moment.step - m->first), at = 0;
    for (int p = 0; p < e->world->size; p++)
        for (int64_t s = 0; s < m->n_steps; s++) {
            int n = m->all_counts[p * m->n_steps + s];
            for (int64_t k = at; k < at + n && s == step; k++)
                l->cross[m->all[k].row * l->stride + m->all[k].column] = -INFINITY;
            at += n;
        }
}

/* ---- scores ----------------------------------------------------------------------------- */

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
    CW_PASS(cwi_grid_score(ctx, e->cpu.grid, batch));
    if (e->ahead) mask(e);
    return CW_OK;
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
