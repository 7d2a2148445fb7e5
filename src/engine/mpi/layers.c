/*
 * layers.c - LightGCN (score/lightgcn.c) by many processes: each has its rows of the graph.
 *
 * A layer needs the rows of the one before that neighbours have; which of them are somewhere else
 * never changes, so that they are listed once and sent for every layer, forth and back.
 */
#include <string.h>

#include "core/pool.h"
#include "engine/mpi/share.h"
#include "score/graph.h"

enum { ROWS_A_CHUNK = 64 };

/* ---- open --------------------------------------------------------------------------- */

cw_status cwi_share_create_lists(cw_context *ctx, cwi_share_engine *e)
{
    cwi_share_layers *l = e->layers;
    cwi_pile *pile = &e->cpu.host.pile;
    for (int64_t k = 0; k < l->n_own; k++) l->start[k + 1] += l->start[k];
    size_t entries = (size_t)l->start[l->n_own];
    l->column = cwi_pile_add(ctx, pile, entries, sizeof *l->column);
    l->weight = cwi_pile_add(ctx, pile, entries, sizeof *l->weight);
    return pile->status;
}

/* Rows of this process out of the whole graph. */
static cw_status list_rows(cw_context *ctx, cwi_share_engine *e)
{
    cwi_share_layers *l = e->layers;
    const cwi_shape *shape = &e->cpu.host.task->shape;
    cwi_graph graph = {0};
    cw_status status = cwi_graph_create(ctx, shape->train, shape->n_users, shape->n_items, &graph);
    for (int64_t k = 0; k < l->n_own && status == CW_OK; k++) {
        int64_t row = cwi_row_at(e->world, e->world->rank, k);
        l->start[k + 1] = graph.start[row + 1] - graph.start[row];
    }
    if (status == CW_OK) status = cwi_share_create_lists(ctx, e);
    for (int64_t k = 0; k < l->n_own && status == CW_OK; k++) {
        int64_t from = graph.start[cwi_row_at(e->world, e->world->rank, k)];
        size_t n = (size_t)(l->start[k + 1] - l->start[k]);
        memcpy(l->column + l->start[k], graph.neighbour + from, n * sizeof *l->column);
        memcpy(l->weight + l->start[k], graph.weight + from, n * sizeof *l->weight);
    }
    cwi_graph_clear(&graph);
    return status;
}

/* Number the rows of others that this process meets, by their owners: number[row] becomes their
 * place, counted from 0, and received[p] how many process p sends. */
static void number_others(const cwi_share_engine *e, int32_t *number)
{
    cwi_share_layers *l = e->layers;
    const int32_t unknown = -1, met = -2;
    for (int64_t r = 0; r < e->rows; r++) number[r] = unknown;
    for (int64_t x = 0; x < l->start[l->n_own]; x++)
        if (!cwi_share_has(e, l->column[x])) number[l->column[x]] = met;
    for (int p = 0; p < e->world->size; p++) {
        int64_t rows = cwi_rows_of(e->world, p, e->rows);
        l->received[p] = 0;
        for (int64_t k = 0; k < rows; k++) {
            int32_t *at = &number[cwi_row_at(e->world, p, k)];
            if (*at != met) continue;
            *at = (int32_t)l->n_others++;
            l->received[p]++;
        }
    }
    for (int64_t x = 0; x < l->start[l->n_own]; x++) {
        int32_t row = l->column[x];
        l->column[x] = (int32_t)(cwi_share_has(e, row) ? cwi_row_place(e->world, row)
                                                       : l->n_own + number[row]);
    }
}

/* Tell the owners of rows which of them this process needs, by their places there. */
static cw_status list_sent(cw_context *ctx, cwi_share_engine *e, const int32_t *number)
{
    cwi_share_layers *l = e->layers;
    const cwi_world *w = e->world;
    cwi_pile *pile = &e->cpu.host.pile;
    int32_t *asked = cwi_alloc(ctx, (size_t)l->n_others, sizeof *asked);
    int *one = cwi_alloc(ctx, (size_t)w->size, sizeof *one);
    cw_status status = asked && one ? CW_OK : CW_NO_MEMORY;
    for (int p = 0; p < w->size && status == CW_OK; p++) one[p] = 1;
    for (int64_t r = 0; r < e->rows && status == CW_OK; r++)
        if (number[r] >= 0) asked[number[r]] = (int32_t)cwi_row_place(w, r);
    if (status == CW_OK) {
        w->calls->exchange(l->received, one, l->sent, one, sizeof *l->sent);
        for (int p = 0; p < w->size; p++) l->n_out += l->sent[p];
        l->out = cwi_pile_add(ctx, pile, (size_t)l->n_out, sizeof *l->out);
        l->to_send = cwi_pile_add(ctx, pile, (size_t)l->n_out, (size_t)e->d * sizeof *l->to_send);
        status = pile->status;
    }
    if (status == CW_OK) w->calls->exchange(asked, l->received, l->out, l->sent, sizeof *l->out);
    cwi_free(asked);
    cwi_free(one);
    return status;
}

static cw_status create_rows(cw_context *ctx, cwi_share_engine *e)
{
    cwi_share_layers *l = e->layers;
    cwi_pile *pile = &e->cpu.host.pile;
    size_t own = (size_t)l->n_own, bytes = (size_t)e->d * sizeof(float);
    l->final = cwi_pile_add_zero(ctx, pile, own, bytes);
    for (int k = 0; k < 2; k++)
        l->work[k] = cwi_pile_add(ctx, pile, own + (size_t)l->n_others, bytes);
    l->is_wanted = cwi_pile_add_zero(ctx, pile, own, sizeof *l->is_wanted);
    l->wanted = cwi_pile_add(ctx, pile, own, sizeof *l->wanted);
    l->all = cwi_pile_add(ctx, pile, own, sizeof *l->all);
    for (int64_t k = 0; k < l->n_own && l->all; k++) l->all[k] = (int32_t)k;
    e->vectors = l->final;
    return pile->status;
}

static cw_status open_parts(cw_context *ctx, cwi_share_engine *e, int32_t *number)
{
    bool is_dealt = e->cpu.host.task->training->dealt != NULL;
    CW_PASS(is_dealt ? cwi_share_list_edges(ctx, e) : list_rows(ctx, e));
    number_others(e, number);
    CW_PASS(list_sent(ctx, e, number));
    return create_rows(ctx, e);
}

cw_status cwi_share_open_layers(cw_context *ctx, cwi_share_engine *e)
{
    cwi_pile *pile = &e->cpu.host.pile;
    size_t size = (size_t)e->world->size;
    if (e->cpu.host.task->backbone != &cwi_backbone_lightgcn) return CW_OK;
    cwi_share_layers *l = e->layers = cwi_pile_add_zero(ctx, pile, 1, sizeof *l);
    if (!l) return CW_NO_MEMORY;
    l->count = cwi_options_integer(e->cpu.host.task->options, "layers");
    l->n_own = cwi_host_table(&e->cpu.host)->rows;
    l->sent = cwi_pile_add(ctx, pile, size, sizeof *l->sent);
    l->received = cwi_pile_add(ctx, pile, size, sizeof *l->received);
    l->start = cwi_pile_add_zero(ctx, pile, (size_t)l->n_own + 1, sizeof *l->start);
    CW_PASS(pile->status);
    int32_t *number = cwi_alloc(ctx, (size_t)e->rows, sizeof *number);
    cw_status status = number ? open_parts(ctx, e, number) : CW_NO_MEMORY;
    cwi_free(number);
    return status;
}

/* ---- a layer ------------------------------------------------------------------------- */

/* Bring the rows of others behind those of this process. */
static void fetch_others(cwi_share_engine *e, float *x)
{
    const cwi_share_layers *l = e->layers;
    size_t bytes = (size_t)e->d * sizeof *x;
    for (int64_t k = 0; k < l->n_out; k++)
        memcpy(l->to_send + k * e->d, x + l->out[k] * e->d, bytes);
    e->world->calls->exchange(l->to_send, l->sent, x + l->n_own * e->d, l->received, bytes);
    cwi_share_count(e, l->n_out, bytes);
}

typedef struct job {
    const cwi_share_layers *l;
    cwi_sparse a;
    cwi_product p;
    const int32_t *rows; /* NULL: all */
} job;

static cw_status multiply_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    const cwi_ops *ops = cwi_ops_best();
    (void)chunk;
    if (!j->rows) ops->sparse_rows(&j->a, &j->p, begin, end);
    for (int64_t k = begin; k < end && j->rows; k++)
        ops->sparse_rows(&j->a, &j->p, j->rows[k], j->rows[k] + 1);
    return CW_OK;
}

/* to = scale * (add + A x) for all rows of this process, or for those listed. */
static cw_status multiply(cwi_share_engine *e, float *x, const float *add, float scale, float *to,
                          bool only_wanted)
{
    const cwi_share_layers *l = e->layers;
    job j = {.l = l,
             .a = {l->start, l->column, l->weight, 0},
             .p = {.from = x, .d = (int32_t)e->d, .add = add, .scale = scale, .to = to},
             .rows = only_wanted ? l->wanted : NULL};
    fetch_others(e, x);
    return cwi_pool_for(e->cpu.host.base.ctx, only_wanted ? l->n_wanted : l->n_own, ROWS_A_CHUNK,
                        multiply_chunk, &j);
}

static float mean_factor(const cwi_share_layers *l)
{
    return 1.0f / (float)(l->count + 1);
}

/* ---- forth --------------------------------------------------------------------------- */

static void want(cwi_share_engine *e, int64_t row)
{
    cwi_share_layers *l = e->layers;
    int64_t place = cwi_row_place(e->world, row);
    if (!cwi_share_has(e, row) || l->is_wanted[place]) return;
    l->is_wanted[place] = true;
    l->wanted[l->n_wanted++] = (int32_t)place;
}

static void zero_wanted(cwi_share_engine *e)
{
    cwi_share_layers *l = e->layers;
    for (int64_t k = 0; k < l->n_wanted; k++)
        memset(l->final + l->wanted[k] * e->d, 0, (size_t)e->d * sizeof *l->final);
}

/* Those of the last time are no longer wanted. */
static void want_nothing(cwi_share_engine *e)
{
    cwi_share_layers *l = e->layers;
    zero_wanted(e);
    for (int64_t k = 0; k < l->n_wanted; k++) l->is_wanted[l->wanted[k]] = false;
    l->n_wanted = 0;
}

static void want_batch(cwi_share_engine *e)
{
    const cwi_batch *batch = &e->cpu.now->batch;
    want_nothing(e);
    for (int64_t s = 0; s < batch->n_slots; s++) {
        want(e, batch->user[s]);
        want(e, (int64_t)e->cpu.host.task->shape.n_users + batch->item[s]);
    }
}

static void add_wanted(cwi_share_engine *e, const float *from)
{
    cwi_share_layers *l = e->layers;
    for (int64_t k = 0; k < l->n_wanted; k++) {
        int64_t at = l->wanted[k] * e->d;
        for (int64_t c = 0; c < e->d; c++) l->final[at + c] += from[at + c];
    }
}

/* The rows that are wanted. */
static cw_status propagate(cwi_share_engine *e)
{
    cwi_share_layers *l = e->layers;
    const float *table = cwi_host_table(&e->cpu.host)->data;
    size_t row = (size_t)e->d * sizeof *table;
    memcpy(l->work[0], table, (size_t)l->n_own * row);
    for (int64_t k = 0; k < l->n_wanted; k++)
        memcpy(l->final + l->wanted[k] * e->d, table + l->wanted[k] * e->d, row);
    for (int64_t k = 0; k + 1 < l->count; k++) {
        CW_PASS(multiply(e, l->work[k % 2], NULL, 1, l->work[(k + 1) % 2], false));
        add_wanted(e, l->work[(k + 1) % 2]);
    }
    if (l->count == 0) return CW_OK;
    return multiply(e, l->work[(l->count - 1) % 2], l->final, mean_factor(l), l->final, true);
}

cw_status cwi_share_propagate(cwi_share_engine *e)
{
    want_batch(e);
    return propagate(e);
}

cw_status cwi_share_propagate_all(cwi_share_engine *e)
{
    want_nothing(e);
    for (int64_t k = 0; k < e->layers->n_own; k++) want(e, cwi_row_at(e->world, e->world->rank, k));
    return propagate(e);
}

/* ---- back ---------------------------------------------------------------------------- */

cw_status cwi_share_spread_back(cwi_share_engine *e)
{
    cwi_share_layers *l = e->layers;
    float *x = l->final;
    zero_wanted(e);
    for (int64_t k = 0; k < e->n_touched; k++) {
        float *to = l->final + e->touched[k] * e->d;
        for (int64_t c = 0; c < e->d; c++) to[c] += e->gradient[k * e->d + c];
    }
    if (l->count > 0) x = memcpy(l->work[0], l->final, (size_t)(l->n_own * e->d) * sizeof *x);
    for (int64_t k = 0; k < l->count; k++) {
        bool is_last = k + 1 == l->count;
        float *to = l->work[(k + 1) % 2];
        CW_PASS(multiply(e, x, l->final, is_last ? mean_factor(l) : 1, to, false));
        x = to;
    }
    e->cpu.gradient = (cwi_gradient){.n_touched = l->n_own, .touched = l->all, .rows = x};
    return CW_OK;
}
