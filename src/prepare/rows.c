/* rows.c - filters on interactions: user subsample and k-core. */
#include "prepare/rows.h"

#include <string.h>

#include "core/mem.h"
#include "core/mt19937.h"
#include "core/rng.h"
#include "import/interactions.h"
#include "prepare/csr.h"
#include "prepare/draw.h"

static void *copy_array(cw_context *ctx, const void *from, int64_t count, size_t size)
{
    void *copy = cwi_alloc(ctx, (size_t)count, size);
    if (copy && count > 0) memcpy(copy, from, (size_t)count * size);
    return copy;
}

cw_status cwi_rows_copy(cw_context *ctx, const cw_interactions *from, cwi_rows *out)
{
    *out = (cwi_rows){
        .count = from->count, .n_users = from->users.count, .n_items = from->items.count};
    out->user = copy_array(ctx, from->user, from->count, sizeof *out->user);
    out->item = copy_array(ctx, from->item, from->count, sizeof *out->item);
    if (from->time) out->time = copy_array(ctx, from->time, from->count, sizeof *out->time);
    if (from->part) out->part = copy_array(ctx, from->part, from->count, sizeof *out->part);
    if (out->user && out->item && !out->time == !from->time && !out->part == !from->part)
        return CW_OK;
    cwi_rows_clear(out);
    return CW_NO_MEMORY;
}

void cwi_rows_clear(cwi_rows *rows)
{
    cwi_free(rows->user);
    cwi_free(rows->item);
    cwi_free(rows->time);
    cwi_free(rows->part);
    *rows = (cwi_rows){0};
}

/* Keep the rows whose user and item are both marked; their order stays. */
static void keep_rows(cwi_rows *rows, const uint8_t *keep_user, const uint8_t *keep_item)
{
    int64_t kept = 0;
    for (int64_t r = 0; r < rows->count; r++) {
        if (!keep_user[rows->user[r]] || !keep_item[rows->item[r]]) continue;
        rows->user[kept] = rows->user[r];
        rows->item[kept] = rows->item[r];
        if (rows->time) rows->time[kept] = rows->time[r];
        if (rows->part) rows->part[kept] = rows->part[r];
        kept++;
    }
    rows->count = kept;
}

/* ---- k-core --------------------------------------------------------------- */

/* Users and items in one numbering: node u is user u, node n_users + i is item i. */
typedef struct peeling {
    int32_t n_users;
    int64_t k;
    cwi_csr of_user, of_item; /* neighbours as node numbers of the other side minus n_users */
    int64_t *degree;          /* [n_users + n_items] */
    uint8_t *alive;           /* [n_users + n_items] */
    int64_t *queue;           /* [n_users + n_items] nodes that have died, in order */
    int64_t queued;
} peeling;

static void check_node(peeling *p, int64_t node)
{
    if (!p->alive[node] || p->degree[node] >= p->k) return;
    p->alive[node] = 0;
    p->queue[p->queued++] = node;
}

/* A dead node takes its rows along, which may leave its neighbours too few. */
static void peel(peeling *p)
{
    for (int64_t at = 0; at < p->queued; at++) {
        int64_t node = p->queue[at];
        bool is_user = node < p->n_users;
        const cwi_csr *of = is_user ? &p->of_user : &p->of_item;
        int64_t own = is_user ? node : node - p->n_users;
        for (int64_t e = of->start[own]; e < of->start[own + 1]; e++) {
            int64_t neighbour = of->value[e] + (is_user ? p->n_users : 0);
            p->degree[neighbour]--;
            check_node(p, neighbour);
        }
    }
}

cw_status cwi_rows_core(cw_context *ctx, cwi_rows *rows, int64_t k)
{
    cw_status status;
    int64_t n_nodes = (int64_t)rows->n_users + rows->n_items;
    peeling p = {.n_users = rows->n_users, .k = k};

    if (k <= 1) return CW_OK;
    CW_TRY(cwi_csr_create(ctx, rows->user, rows->item, rows->count, rows->n_users, &p.of_user));
    CW_TRY(cwi_csr_create(ctx, rows->item, rows->user, rows->count, rows->n_items, &p.of_item));
    p.degree = cwi_alloc_zero(ctx, (size_t)n_nodes, sizeof *p.degree);
    p.alive = cwi_alloc(ctx, (size_t)n_nodes, sizeof *p.alive);
    p.queue = cwi_alloc(ctx, (size_t)n_nodes, sizeof *p.queue);
    status = p.degree && p.alive && p.queue ? CW_OK : CW_NO_MEMORY;
    if (status != CW_OK) goto done;
    memset(p.alive, 1, (size_t)n_nodes);
    for (int64_t r = 0; r < rows->count; r++) {
        p.degree[rows->user[r]]++;
        p.degree[rows->n_users + rows->item[r]]++;
    }
    for (int64_t node = 0; node < n_nodes; node++) check_node(&p, node);
    peel(&p);
    keep_rows(rows, p.alive, p.alive + rows->n_users);
done:
    cwi_csr_clear(&p.of_user);
    cwi_csr_clear(&p.of_item);
    cwi_free(p.degree);
    cwi_free(p.alive);
    cwi_free(p.queue);
    return status;
}

/* ---- user subsample ------------------------------------------------------- */

/* Users in order of first appearance; returns how many. */
static int32_t appearing_users(const cwi_rows *rows, uint8_t *seen, int32_t *order)
{
    int32_t count = 0;
    for (int64_t r = 0; r < rows->count; r++) {
        int32_t u = rows->user[r];
        if (seen[u]) continue;
        seen[u] = 1;
        order[count++] = u;
    }
    return count;
}

cw_status cwi_rows_subsample(cw_context *ctx, cwi_rows *rows, int64_t n, uint64_t seed)
{
    cw_status status = CW_NO_MEMORY;
    uint8_t *keep = cwi_alloc_zero(ctx, (size_t)rows->n_users, 1);
    uint8_t *all_items = cwi_alloc(ctx, (size_t)rows->n_items, 1);
    int32_t *order = cwi_alloc(ctx, (size_t)rows->n_users, sizeof *order);
    uint8_t *drawn = NULL;

    if (!keep || !all_items || !order) goto done;
    int32_t count = appearing_users(rows, keep, order);
    status = CW_OK;
    if (n >= count) goto done;
    drawn = cwi_alloc(ctx, (size_t)count, 1);
    if (!drawn) status = CW_NO_MEMORY;
    if (status != CW_OK) goto done;
    CW_TRY(cwi_draw(ctx, NULL, count, n, seed, CWI_RNG_USER_SUBSAMPLE, drawn));
    for (int32_t k = 0; k < count; k++) keep[order[k]] = drawn[k];
    memset(all_items, 1, (size_t)rows->n_items);
    keep_rows(rows, keep, all_items);
done:
    cwi_free(keep);
    cwi_free(all_items);
    cwi_free(order);
    cwi_free(drawn);
    return status;
}

/* List rows user by user in the order of `users`, file order within a user. */
static cw_status list_by_user(cw_context *ctx, cwi_rows *rows, const int32_t *users, int64_t n)
{
    cw_status status;
    cwi_csr of_user = {0};
    int64_t count = 0;

    CW_TRY(cwi_csr_create(ctx, rows->user, rows->item, rows->count, rows->n_users, &of_user));
    for (int64_t k = 0; k < n; k++) {
        int32_t u = users[k];
        for (int64_t e = of_user.start[u]; e < of_user.start[u + 1]; e++) {
            rows->user[count] = u;
            rows->item[count++] = of_user.value[e];
        }
    }
    rows->count = count;
    cwi_free(rows->time); /* the published protocol has no use for it */
    rows->time = NULL;
done:
    cwi_csr_clear(&of_user);
    return status;
}

cw_status cwi_rows_subsample_compat(cw_context *ctx, cwi_rows *rows, int64_t n, uint64_t seed)
{
    cw_status status = CW_NO_MEMORY;
    uint8_t *seen = cwi_alloc_zero(ctx, (size_t)rows->n_users, 1);
    int32_t *order = cwi_alloc(ctx, (size_t)rows->n_users, sizeof *order);
    int32_t *place = cwi_alloc(ctx, (size_t)rows->n_users, sizeof *place);
    cwi_mt19937 mt;

    if (!seen || !order || !place) goto done;
    int32_t count = appearing_users(rows, seen, order);
    if (n > count) n = count;
    cwi_mt_init(&mt, (uint32_t)seed);
    cwi_mt_permute(&mt, place, count);
    for (int64_t k = 0; k < n; k++) place[k] = order[place[k]];
    CW_TRY(list_by_user(ctx, rows, place, n));
done:
    cwi_free(seen);
    cwi_free(order);
    cwi_free(place);
    return status;
}
