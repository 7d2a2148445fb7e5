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
