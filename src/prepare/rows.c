/* rows.c - filters on interactions: user subsample and k-core. */
#include "prepare/rows.h"

#include <string.h>

#include "core/mem.h"
#include "core/mt19937.h"
#include "core/rng.h"
#include "core/room.h"
#include "import/interactions.h"
#include "prepare/csr.h"
#include "prepare/draw.h"

/* Arrays, or a file. */
static cw_status make_room(cw_context *ctx, bool has_file, cwi_rows *rows)
{
    size_t n = (size_t)rows->count;
    if (has_file) return cwi_spill_create(ctx, rows->has_time, true, &rows->spill);
    rows->user = cwi_pile_add(ctx, &rows->pile, n, sizeof *rows->user);
    rows->item = cwi_pile_add(ctx, &rows->pile, n, sizeof *rows->item);
    if (rows->has_time) rows->time = cwi_pile_add(ctx, &rows->pile, n, sizeof *rows->time);
    rows->part = cwi_pile_add_zero(ctx, &rows->pile, n, 1);
    return rows->pile.status;
}

/* The rows from the nth one on in the same order. */
static void copy_window(const cwi_window *w, cwi_rows *rows)
{
    size_t n = (size_t)w->n;
    memcpy(rows->user + w->first, w->user, n * sizeof *w->user);
    memcpy(rows->item + w->first, w->item, n * sizeof *w->item);
    if (w->time) memcpy(rows->time + w->first, w->time, n * sizeof *w->time);
    if (w->part) memcpy(rows->part + w->first, w->part, n);
}

cw_status cwi_rows_copy(cw_context *ctx, const cw_interactions *from, cwi_rows *out)
{
    const cwi_reel reel = CWI_REEL(from);
    cwi_window w = cwi_window_over(&reel);
    *out =
        (cwi_rows){.count = from->count,
                   .is_split = from->is_split,
                   .has_time = from->spill ? cwi_spill_has_times(from->spill) : from->time != NULL,
                   .n_users = from->users.count,
                   .n_items = from->items.count};
    CW_PASS(make_room(ctx, from->spill, out));
    cwi_reel to = {.spill = out->spill};
    while (cwi_window_next(ctx, &w)) {
        if (!to.spill) copy_window(&w, out);
        for (int64_t k = 0; to.spill && k < w.n && w.status == CW_OK; k++)
            w.status = cwi_reel_take(ctx, &to, &w, k);
    }
    CW_PASS(w.status);
    return cwi_reel_end(ctx, &to);
}

void cwi_rows_clear(cwi_rows *rows)
{
    cwi_pile_clear(&rows->pile);
    cwi_spill_free(rows->spill);
    *rows = (cwi_rows){0};
}

cw_status cwi_rows_bring(cw_context *ctx, cwi_rows *rows)
{
    enum { BYTES_A_ROW = 48 }; /* with the tables of the draws */
    if (!rows->spill) return CW_OK;
    if (!cwi_room_holds(ctx, rows->count * BYTES_A_ROW))
        return cwi_fail(ctx, CW_BAD_ARG,
                        "--split compat draws from all %lld rows at once, which takes %.1f MB; "
                        "give a larger --memory or another split",
                        (long long)rows->count, (double)rows->count * BYTES_A_ROW / (1 << 20));
    const cwi_reel reel = CWI_REEL(rows);
    cwi_window w = cwi_window_over(&reel);
    CW_PASS(make_room(ctx, false, rows));
    while (cwi_window_next(ctx, &w)) copy_window(&w, rows);
    CW_PASS(w.status);
    cwi_spill_free(rows->spill);
    rows->spill = NULL;
    return CW_OK;
}

/* Does a row stay? */
typedef bool (*stays_fn)(void *arg, int32_t user, int32_t item);

/* Keep the rows that stay; their order stays. */
static inline cw_status keep_rows(cw_context *ctx, cwi_rows *rows, stays_fn stays, void *arg)
{
    cwi_reel reel = CWI_REEL(rows);
    cwi_window w = cwi_window_over(&reel);
    cwi_reel_rewind(&reel);
    while (cwi_window_next(ctx, &w))
        for (int64_t k = 0; k < w.n && w.status == CW_OK; k++)
            if (stays(arg, w.user[k], w.item[k])) w.status = cwi_reel_take(ctx, &reel, &w, k);
    CW_PASS(w.status);
    rows->count = reel.count;
    return cwi_reel_end(ctx, &reel);
}

/* Marks of users and of items (NULL: all have one). */
typedef struct marks {
    const uint8_t *user, *item;
} marks;

static bool is_marked(void *arg, int32_t user, int32_t item)
{
    const marks *m = arg;
    return m->user[user] && (!m->item || m->item[item]);
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

static cw_status count_degrees(cw_context *ctx, const cwi_rows *rows, int64_t *degree)
{
    const cwi_reel reel = CWI_REEL(rows);
    return cwi_reel_degrees(ctx, &reel, rows->n_users, degree, rows->n_items,
                            degree + rows->n_users);
}

/* How many rows each end has that are left. */
typedef struct thinning {
    int64_t *user, *item;
    int64_t k;
} thinning;

/* A row one end of which has too few goes as it comes. */
static bool is_thick(void *arg, int32_t user, int32_t item)
{
    const thinning *t = arg;
    if (t->user[user] >= t->k && t->item[item] >= t->k) return true;
    t->user[user]--;
    t->item[item]--;
    return false;
}

/* Is there an end with rows, but too few? */
static bool has_thin(const int64_t *degree, size_t n, int64_t k)
{
    for (size_t node = 0; node < n; node++)
        if (degree[node] > 0 && degree[node] < k) return true;
    return false;
}

/* What is left is the same in whatever order rows go.  Mostly a few walks over them do, with no
 * memory but that of users and items; rows in a file are walked over until none goes. */
static cw_status walk_core(cw_context *ctx, cwi_rows *rows, int64_t k, bool *is_done)
{
    enum { WALKS = 12 };
    cw_status status;
    size_t n_nodes = (size_t)rows->n_users + (size_t)rows->n_items;
    int64_t *degree = cwi_alloc(ctx, n_nodes, sizeof *degree);
    thinning t = {degree, degree + rows->n_users, k};
    *is_done = false;
    if (!degree) return CW_NO_MEMORY;
    CW_TRY(count_degrees(ctx, rows, degree));
    for (int w = 0; has_thin(degree, n_nodes, k) && (w < WALKS || rows->spill); w++) {
        CW_TRY(cwi_progress(ctx, "filtering", 0, 0));
        CW_TRY(keep_rows(ctx, rows, is_thick, &t));
    }
    *is_done = !has_thin(degree, n_nodes, k);
done:
    cwi_free(degree);
    return status;
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
    CW_TRY(count_degrees(ctx, rows, p.degree));
    for (int64_t node = 0; node < n_nodes; node++) check_node(&p, node);
    peel(&p);
    CW_TRY(keep_rows(ctx, rows, is_marked, &(marks){p.alive, p.alive + rows->n_users}));
done:
    cwi_csr_clear(&p.of_user);
    cwi_csr_clear(&p.of_item);
    cwi_pile_clear(&p.pile);
    return status;
}

/* ---- user subsample ------------------------------------------------------- */

/* Users in order of first appearance. */
static cw_status appearing_users(cw_context *ctx, const cwi_rows *rows, uint8_t *seen,
                                 int32_t *order, int32_t *count)
{
    const cwi_reel reel = CWI_REEL(rows);
    cwi_window w = cwi_window_over(&reel);
    *count = 0;
    while (cwi_window_next(ctx, &w))
        for (int64_t k = 0; k < w.n; k++) {
            int32_t u = w.user[k];
            if (seen[u]) continue;
            seen[u] = 1;
            order[(*count)++] = u;
        }
    return w.status;
}

cw_status cwi_rows_subsample(cw_context *ctx, cwi_rows *rows, int64_t n, uint64_t seed)
{
    cw_status status;
    cwi_pile pile = {0};
    size_t n_users = (size_t)rows->n_users;
    uint8_t *keep = cwi_pile_add_zero(ctx, &pile, n_users, 1);
    uint8_t *drawn = cwi_pile_add(ctx, &pile, n_users, 1);
    int32_t *order = cwi_pile_add(ctx, &pile, n_users, sizeof *order);

    int32_t count;

    CW_TRY(pile.status);
    CW_TRY(appearing_users(ctx, rows, keep, order, &count));
    if (n >= count) goto done;
    CW_TRY(cwi_draw(ctx, NULL, count, n, seed, CWI_RNG_USER_SUBSAMPLE, drawn));
    for (int32_t k = 0; k < count; k++) keep[order[k]] = drawn[k];
    CW_TRY(keep_rows(ctx, rows, is_marked, &(marks){keep, NULL}));
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
    rows->has_time = false;
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
    int32_t count;

    CW_TRY(pile.status);
    CW_TRY(cwi_rows_bring(ctx, rows));
    CW_TRY(appearing_users(ctx, rows, seen, order, &count));
    if (n > count) n = count;
    cwi_mt_init(&mt, (uint32_t)seed);
    cwi_mt_permute(&mt, place, count);
    for (int64_t k = 0; k < n; k++) place[k] = order[place[k]];
    CW_TRY(list_by_user(ctx, rows, place, n));
done:
    cwi_pile_clear(&pile);
    return status;
}
