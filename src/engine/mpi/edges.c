/*
 * edges.c - the rows of the graph of a process where each has the interactions of its users.
 *
 * Neighbours of a user are on the user's list.  Those of an item are sent to its owner by the
 * owners of the users, some blocks of users at a time.
 */
#include <stdlib.h>
#include <string.h>

#include "engine/mpi/share.h"
#include "score/graph.h"

enum { BLOCKS_AT_ONCE = 16 }; /* of users, of every process */

/* Of a user who has an item, as it goes to the owner of the item. */
typedef struct edge {
    int32_t item, user, degree; /* how much the user has */
} edge;

typedef struct sending {
    int *one, *sent, *received; /* [size] */
    int64_t *cursor;            /* [size] */
    edge *out, *in;
    size_t out_capacity, in_capacity;
    int64_t *next; /* [rows of this process] where the next neighbour goes */
    cwi_pile pile;
} sending;

static int owner_of(const cwi_share_engine *e, int32_t item)
{
    return cwi_row_owner(e->world, (int64_t)e->cpu.host.task->shape.n_users + item);
}

static int32_t degree_of(const cwi_csr *lists, int32_t user)
{
    return (int32_t)(lists->start[user + 1] - lists->start[user]);
}

/* Edges of own users first .. end - 1, by the owners of their items. */
static cw_status pack(cw_context *ctx, cwi_share_engine *e, sending *s, int64_t first, int64_t end)
{
    const cwi_csr *lists = &e->cpu.host.task->training->by_user;
    int64_t n = lists->start[end] - lists->start[first], at = 0;
    CW_PASS(cwi_grow(ctx, &s->out, &s->out_capacity, (size_t)n + 1, sizeof *s->out));
    memset(s->sent, 0, (size_t)e->world->size * sizeof *s->sent);
    for (int64_t x = lists->start[first]; x < lists->start[end]; x++)
        s->sent[owner_of(e, lists->value[x])]++;
    for (int p = 0; p < e->world->size; p++) {
        s->cursor[p] = at;
        at += s->sent[p];
    }
    for (int32_t u = (int32_t)first; u < end; u++)
        for (int64_t x = lists->start[u]; x < lists->start[u + 1]; x++)
            s->out[s->cursor[owner_of(e, lists->value[x])]++] =
                (edge){lists->value[x], u, degree_of(lists, u)};
    return CW_OK;
}

static void add_neighbour(cwi_share_engine *e, sending *s, const edge *from)
{
    cwi_share_layers *l = e->layers;
    const cwi_task *task = e->cpu.host.task;
    int64_t row = cwi_row_place(e->world, (int64_t)task->shape.n_users + from->item);
    int64_t at = s->next[row]++;
    l->column[at] = from->user;
    l->weight[at] = cwi_graph_weight(false, task->training->degree[from->item], from->degree);
}

static cw_status send_some(cw_context *ctx, cwi_share_engine *e, sending *s, int64_t first,
                           int64_t end)
{
    const cwi_mpi_calls *calls = e->world->calls;
    int64_t n = 0;
    CW_PASS(pack(ctx, e, s, first, end));
    calls->exchange(s->sent, s->one, s->received, s->one, sizeof *s->sent);
    for (int p = 0; p < e->world->size; p++) n += s->received[p];
    CW_PASS(cwi_grow(ctx, &s->in, &s->in_capacity, (size_t)n + 1, sizeof *s->in));
    calls->exchange(s->out, s->sent, s->in, s->received, sizeof *s->out);
    for (int64_t k = 0; k < n; k++) add_neighbour(e, s, &s->in[k]);
    return CW_OK;
}

/* How many neighbours the rows of this process have, and those of its users. */
static cw_status list_items(cw_context *ctx, cwi_share_engine *e)
{
    cwi_share_layers *l = e->layers;
    const cwi_training *t = e->cpu.host.task->training;
    const cwi_csr *lists = &t->by_user;
    int32_t n_users = t->n_users;
    for (int64_t k = 0; k < l->n_own; k++) {
        int64_t row = cwi_row_at(e->world, e->world->rank, k);
        l->start[k + 1] = row < n_users ? degree_of(lists, (int32_t)row) : t->degree[row - n_users];
    }
    CW_PASS(cwi_share_create_lists(ctx, e));
    for (int64_t k = 0; k < l->n_own; k++) {
        int64_t row = cwi_row_at(e->world, e->world->rank, k);
        if (row >= n_users) break;
        const int32_t *item = lists->value + lists->start[row];
        for (int64_t x = l->start[k]; x < l->start[k + 1]; x++, item++) {
            l->column[x] = n_users + *item;
            l->weight[x] = cwi_graph_weight(false, l->start[k + 1] - l->start[k], t->degree[*item]);
        }
    }
    return CW_OK;
}

typedef struct neighbour {
    int32_t user;
    float weight;
} neighbour;

static int by_user(const void *a, const void *b)
{
    int32_t x = ((const neighbour *)a)->user, y = ((const neighbour *)b)->user;
    return (x > y) - (x < y);
}

/* Users ascend, as in the graph of one process: they came by their owners. */
static cw_status put_in_order(cw_context *ctx, cwi_share_engine *e)
{
    cwi_share_layers *l = e->layers;
    neighbour *list = NULL;
    size_t capacity = 0;
    cw_status status = CW_OK;
    for (int64_t k = 0; k < l->n_own && status == CW_OK; k++) {
        int64_t n = l->start[k + 1] - l->start[k];
        if (cwi_row_at(e->world, e->world->rank, k) < e->cpu.host.task->shape.n_users) continue;
        status = cwi_grow(ctx, &list, &capacity, (size_t)n + 1, sizeof *list);
        if (status != CW_OK) break;
        for (int64_t x = 0; x < n; x++)
            list[x] = (neighbour){l->column[l->start[k] + x], l->weight[l->start[k] + x]};
        qsort(list, (size_t)n, sizeof *list, by_user);
        for (int64_t x = 0; x < n; x++) {
            l->column[l->start[k] + x] = list[x].user;
            l->weight[l->start[k] + x] = list[x].weight;
        }
    }
    cwi_free(list);
    return status;
}

static cw_status create(cw_context *ctx, const cwi_share_engine *e, sending *s)
{
    size_t size = (size_t)e->world->size;
    s->one = cwi_pile_add(ctx, &s->pile, size, sizeof *s->one);
    s->sent = cwi_pile_add(ctx, &s->pile, size, sizeof *s->sent);
    s->received = cwi_pile_add(ctx, &s->pile, size, sizeof *s->received);
    s->cursor = cwi_pile_add(ctx, &s->pile, size, sizeof *s->cursor);
    s->next = cwi_pile_add(ctx, &s->pile, (size_t)e->layers->n_own, sizeof *s->next);
    CW_PASS(s->pile.status);
    for (size_t p = 0; p < size; p++) s->one[p] = 1;
    memcpy(s->next, e->layers->start, (size_t)e->layers->n_own * sizeof *s->next);
    return CW_OK;
}

cw_status cwi_share_list_edges(cw_context *ctx, cwi_share_engine *e)
{
    cw_status status;
    sending s = {0};
    int64_t users = e->cpu.host.task->shape.n_users;
    int64_t step = (int64_t)CWI_BLOCK_ROWS * BLOCKS_AT_ONCE * e->world->size;
    CW_TRY(list_items(ctx, e));
    CW_TRY(create(ctx, e, &s));
    for (int64_t first = 0; first < users; first += step)
        CW_TRY(send_some(ctx, e, &s, first, first + step < users ? first + step : users));
    CW_TRY(put_in_order(ctx, e));
done:
    cwi_free(s.out);
    cwi_free(s.in);
    cwi_pile_clear(&s.pile);
    return status;
}
