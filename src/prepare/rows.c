/* rows.c - filters on interactions: user subsample and k-core. */
#include "prepare/rows.h"

#include <string.h>

#include "core/mem.h"
#include "core/mt19937.h"
#include "core/rng.h"
#include "import/interactions.h"
#include "prepare/csr.h"
#include "prepare/draw.h"

static void *copy_array(cw_context *ctx, cwi_rows *rows, const void *from, size_t size)
{
    if (!from) return NULL;
    void *copy = cwi_pile_add(ctx, &rows->pile, (size_t)rows->count, size);
    if (copy && rows->count > 0) memcpy(copy, from, (size_t)rows->count * size);
    return copy;
}

cw_status cwi_rows_copy(cw_context *ctx, const cw_interactions *from, cwi_rows *out)
{
    *out = (cwi_rows){
        .count = from->count, .n_users = from->users.count, .n_items = from->items.count};
    out->user = copy_array(ctx, out, from->user, sizeof *out->user);
    out->item = copy_array(ctx, out, from->item, sizeof *out->item);
    out->time = copy_array(ctx, out, from->time, sizeof *out->time);
    out->part = copy_array(ctx, out, from->part, sizeof *out->part);
    return out->pile.status;
}

void cwi_rows_clear(cwi_rows *rows)
{
    cwi_pile_clear(&rows->pile);
    *rows = (cwi_rows){0};
}

static void move_row(cwi_rows *rows, int64_t from, int64_t to)
{
    rows->user[to] = rows->user[from];
    rows->item[to] = rows->item[from];
    if (rows->time) rows->time[to] = rows->time[from];
    if (rows->part) rows->part[to] = rows->part[from];
}

/* Keep the rows whose user and item are both marked (keep_item NULL: all are); their order stays.
 */
static void keep_rows(cwi_rows *rows, const uint8_t *keep_user, const uint8_t *keep_item)
{
    int64_t kept = 0;
    for (int64_t r = 0; r < rows->count; r++) {
        if (!keep_user[rows->user[r]] || (keep_item && !keep_item[rows->item[r]])) continue;
        move_row(rows, r, kept++);
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
    cwi_pile pile;
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

static void count_degrees(const cwi_rows *rows, int64_t *degree)
{
    for (int64_t r = 0; r < rows->count; r++) {
        degree[rows->user[r]]++;
        degree[rows->n_users + rows->item[r]]++;
    }
}

/* Drop rows one end of which has too few, as they come.  False: there was none. */
static bool drop_thin(cwi_rows *rows, int64_t k, int64_t *degree)
{
    int64_t kept = 0, count = rows->count;
    for (int64_t r = 0; r < count; r++) {
        int64_t *user = &degree[rows->user[r]], *item = &degree[rows->n_users + rows->item[r]];
        if (*user < k || *item < k) {
            --*user;
            --*item;
            continue;
        }
        move_row(rows, r, kept++);
    }
    rows->count = kept;
    return kept < count;
}

/* What is left is the same in whatever order rows go.  Mostly a few walks over them do, with no
 * memory but that of users and items. */
static cw_status walk_core(cw_context *ctx, cwi_rows *rows, int64_t k, bool *is_done)
{
    enum { WALKS = 12 };
    size_t n_nodes = (size_t)rows->n_users + (size_t)rows->n_items;
    int64_t *degree = cwi_alloc_zero(ctx, n_nodes, sizeof *degree);
    *is_done = false;
    if (!degree) return CW_NO_MEMORY;
    count_degrees(rows, degree);
    for (int w = 0; w < WALKS && !*is_done; w++) *is_done = !drop_thin(rows, k, degree);
    cwi_free(degree);
    return CW_OK;
}

cw_status cwi_rows_core(cw_context *ctx, cwi_rows *rows, int64_t k)
{
    cw_status status;
    int64_t n_nodes = (int64_t)rows->n_users + rows->n_items;
    peeling p = {.n_users = rows->n_users, .k = k};
    bool is_done = true;

    if (k > 1) CW_PASS(walk_core(ctx, rows, k, &is_done));
    if (is_done) return CW_OK;
    CW_TRY(cwi_csr_create(ctx, rows->user, rows->item, rows->count, rows->n_users, &p.of_user));
    CW_TRY(cwi_csr_create(ctx, rows->item, rows->user, rows->count, rows->n_items, &p.of_item));
    p.degree = cwi_pile_add_zero(ctx, &p.pile, (size_t)n_nodes, sizeof *p.degree);
    p.alive = cwi_pile_add(ctx, &p.pile, (size_t)n_nodes, sizeof *p.alive);
    p.queue = cwi_pile_add(ctx, &p.pile, (size_t)n_nodes, sizeof *p.queue);
    CW_TRY(p.pile.status);
    memset(p.alive, 1, (size_t)n_nodes);
    count_degrees(rows, p.degree);
    for (int64_t node = 0; node < n_nodes; node++) check_node(&p, node);
    peel(&p);
    keep_rows(rows, p.alive, p.alive + rows->n_users);
done:
    cwi_csr_clear(&p.of_user);
    cwi_csr_clear(&p.of_item);
    cwi_pile_clear(&p.pile);
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
    cw_status status;
    cwi_pile pile = {0};
    size_t n_users = (size_t)rows->n_users;
    uint8_t *keep = cwi_pile_add_zero(ctx, &pile, n_users, 1);
    uint8_t *drawn = cwi_pile_add(ctx, &pile, n_users, 1);
    int32_t *order = cwi_pile_add(ctx, &pile, n_users, sizeof *order);

    CW_TRY(pile.status);
    int32_t count = appearing_users(rows, keep, order);
    if (n >= count) goto done;
    CW_TRY(cwi_draw(ctx, NULL, count, n, seed, CWI_RNG_USER_SUBSAMPLE, drawn));
    for (int32_t k = 0; k < count; k++) keep[order[k]] = drawn[k];
    keep_rows(rows, keep, NULL);
done:
    cwi_pile_clear(&pile);
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
    rows->time = NULL; /* the published protocol has no use for it */
done:
    cwi_csr_clear(&of_user);
    return status;
}

cw_status cwi_rows_subsample_compat(cw_context *ctx, cwi_rows *rows, int64_t n, uint64_t seed)
{
    cw_status status;
    cwi_pile pile = {0};
    size_t n_users = (size_t)rows->n_users;
    uint8_t *seen = cwi_pile_add_zero(ctx, &pile, n_users, 1);
    int32_t *order = cwi_pile_add(ctx, &pile, n_users, sizeof *order);
    int32_t *place = cwi_pile_add(ctx, &pile, n_users, sizeof *place);
    cwi_mt19937 mt;

    CW_TRY(pile.status);
    int32_t count = appearing_users(rows, seen, order);
    if (n > count) n = count;
    cwi_mt_init(&mt, (uint32_t)seed);
    cwi_mt_permute(&mt, place, count);
    for (int64_t k = 0; k < n; k++) place[k] = order[place[k]];
    CW_TRY(list_by_user(ctx, rows, place, n));
done:
    cwi_pile_clear(&pile);
    return status;
}
