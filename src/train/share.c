/* share.c - training by many processes: first values, ranking, and the model in the end. */
#include <string.h>

#include "comm/world.h"
#include "core/mem.h"
#include "train/train.h"

cw_status cwi_share_open(cwi_trainer *t)
{
    cwi_task *task = &t->task;
    cwi_params plan = {.is_plan = true}, first = {0};
    cwi_tensor *own;
    CW_PASS(task->backbone->declare(t->ctx, &task->shape, t->options, &plan));
    const cwi_tensor *table = &plan.tensor[0];
    int64_t rows = cwi_rows_of(task->world, task->world->rank, table->rows);
    CW_PASS(cwi_params_add(t->ctx, &first, table->name, rows, table->columns, &own));
    own->init = table->init;
    own->decay = table->decay;
    cwi_params_init_share(t->options, task->shape.n_users, table, task->world, own->data);
    return cwi_engine_choose(task)->open(t->ctx, task, &first, &t->engine);
}

cw_status cwi_share_rank_best(cwi_trainer *t, cwi_ranker *out)
{
    const cwi_engine_verbs *v = t->engine->verbs;
    CW_PASS(v->adopt(t->engine, &t->best));
    return v->rank(t->engine, out);
}

/* Room for all rows around those that are there, so that none is there twice. */
static cw_status make_room(cwi_trainer *t, cwi_tensor *own)
{
    int64_t rows = (int64_t)t->task.shape.n_users + t->task.shape.n_items;
    size_t row_bytes = (size_t)own->columns * sizeof *own->data;
    float *data = cwi_resize(t->ctx, own->data, (size_t)rows, row_bytes);
    if (!data) return CW_NO_MEMORY;
    own->data = data;
    own->rows = rows;
    cwi_rows_spread(t->task.world, rows, row_bytes, data);
    return CW_OK;
}

cw_status cwi_share_gather_best(cwi_trainer *t)
{
    const cwi_world *w = t->task.world;
    cwi_tensor *own = &t->best.tensor[0];
    int64_t rows = (int64_t)t->task.shape.n_users + t->task.shape.n_items;
    size_t row_bytes = (size_t)own->columns * sizeof *own->data;
    t->engine->verbs->close(t->engine);
    t->engine = NULL;
    cwi_free(t->training.pair); /* of samplers alone */
    cwi_free(t->training.bits);
    t->training.pair = NULL;
    t->training.bits = NULL;
    if (w->rank > 0) return cwi_rows_gather(t->ctx, w, 0, own->data, 0, rows, row_bytes, NULL);
    CW_PASS(make_room(t, own));
    return cwi_rows_gather(t->ctx, w, 0, NULL, 0, rows, row_bytes, own->data);
}

/* ---- what users had -------------------------------------------------------------------------- */

enum { BLOCKS_AT_ONCE = 16 }; /* of users, of every process */

/* How much every user has, as starts, at the process that leads. */
static cw_status gather_starts(cwi_trainer *t, cwi_csr *out)
{
    const cwi_world *w = t->task.world;
    const cwi_csr *own = &t->training.by_user;
    int64_t n_users = own->n_rows, mine = cwi_rows_of(w, w->rank, n_users);
    int64_t *length = cwi_alloc(t->ctx, (size_t)mine, sizeof *length);
    cw_status status = length ? CW_OK : CW_NO_MEMORY;
    for (int64_t k = 0; k < mine && length; k++) {
        int64_t user = cwi_row_at(w, w->rank, k);
        length[k] = own->start[user + 1] - own->start[user];
    }
    *out = (cwi_csr){.n_rows = own->n_rows};
    if (status == CW_OK && w->rank == 0) {
        out->start = cwi_alloc_zero(t->ctx, (size_t)n_users + 1, sizeof *out->start);
        if (!out->start) status = CW_NO_MEMORY;
    }
    if (status == CW_OK)
        status = cwi_rows_gather(t->ctx, w, 0, length, 0, n_users, sizeof *length,
                                 out->start ? out->start + 1 : NULL);
    for (int64_t u = 0; u < n_users && out->start; u++) out->start[u + 1] += out->start[u];
    cwi_free(length);
    return status;
}

/* Some blocks of users at a time. */
typedef struct seen_window {
    int64_t first, end; /* users */
    int *counts;        /* [size] values of each process */
    int64_t *cursor;
    int32_t *values; /* of all, in the order of processes */
    size_t capacity;
} seen_window;

static int64_t block_end(int64_t block, int64_t end)
{
    return block + CWI_BLOCK_ROWS < end ? block + CWI_BLOCK_ROWS : end;
}

/* At the process that leads: how much comes from whom, and afterwards where it belongs. */
static cw_status expect(cwi_trainer *t, const cwi_csr *seen, seen_window *s)
{
    const cwi_world *w = t->task.world;
    int64_t all = 0;
    memset(s->counts, 0, (size_t)w->size * sizeof *s->counts);
    for (int64_t u = s->first; u < s->end; u += CWI_BLOCK_ROWS)
        s->counts[cwi_row_owner(w, u)] += (int)(seen->start[block_end(u, s->end)] - seen->start[u]);
    for (int p = 0; p < w->size; p++) {
        s->cursor[p] = all;
        all += s->counts[p];
    }
    return cwi_grow(t->ctx, &s->values, &s->capacity, (size_t)all + 1, sizeof *s->values);
}

static void place(const cwi_world *w, seen_window *s, cwi_csr *seen)
{
    for (int64_t u = s->first; u < s->end; u += CWI_BLOCK_ROWS) {
        int64_t n = seen->start[block_end(u, s->end)] - seen->start[u];
        int64_t *from = &s->cursor[cwi_row_owner(w, u)];
        if (n > 0)
            memcpy(seen->value + seen->start[u], s->values + *from, (size_t)n * sizeof *s->values);
        *from += n;
    }
}

static cw_status gather_values(cwi_trainer *t, seen_window *s, cwi_csr *seen)
{
    const cwi_world *w = t->task.world;
    const cwi_csr *own = &t->training.by_user;
    int64_t users = own->n_rows, step = (int64_t)CWI_BLOCK_ROWS * BLOCKS_AT_ONCE * w->size;
    for (s->first = 0; s->first < users; s->first += step) {
        s->end = s->first + step < users ? s->first + step : users;
        if (seen->start) CW_PASS(expect(t, seen, s));
        w->calls->collect(0, own->value + own->start[s->first],
                          (int)(own->start[s->end] - own->start[s->first]), s->values, s->counts,
                          sizeof *own->value);
        if (seen->start) place(w, s, seen);
    }
    return CW_OK;
}

cw_status cwi_share_gather_seen(cwi_trainer *t)
{
    cw_status status;
    const cwi_world *w = t->task.world;
    cwi_csr seen = {0};
    seen_window s = {0};
    CW_TRY(gather_starts(t, &seen));
    s.counts = cwi_alloc_zero(t->ctx, (size_t)w->size, sizeof *s.counts);
    s.cursor = cwi_alloc(t->ctx, (size_t)w->size, sizeof *s.cursor);
    if (seen.start)
        seen.value = cwi_alloc(t->ctx, (size_t)seen.start[seen.n_rows], sizeof *seen.value);
    CW_TRY(s.counts && s.cursor && (seen.value || !seen.start) ? CW_OK : CW_NO_MEMORY);
    CW_TRY(gather_values(t, &s, &seen));
    cwi_csr_clear(&t->training.by_user);
    t->training.by_user = seen;
    seen = (cwi_csr){0};
done:
    cwi_csr_clear(&seen);
    cwi_free(s.counts);
    cwi_free(s.cursor);
    cwi_free(s.values);
    return status;
}
