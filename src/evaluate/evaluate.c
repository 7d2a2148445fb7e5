/* evaluate.c - the plain evaluation after an epoch of training. */
#include "evaluate/evaluate.h"

#include <string.h>

#include "comm/world.h"
#include "core/mem.h"
#include "evaluate/walk.h"

typedef struct tally {
    const cwi_audience *audience;
    const int64_t *degree;
    int32_t k;
    cwi_share sum[CWI_N_METRICS];
    cwi_share *each; /* [audience->n][CWI_N_METRICS], or NULL when the sums are enough */
} tally;

static void add_list(void *arg, const cwi_list *list)
{
    tally *t = arg;
    cwi_share share[CWI_N_METRICS];
    cwi_trial trial =
        cwi_audience_trial(t->audience, t->degree, list->user, list->item, list->count, t->k);
    cwi_trial_measure(&trial, share);
    cwi_shares_add(t->sum, share);
    if (t->each) memcpy(t->each + (int64_t)list->row * CWI_N_METRICS, share, sizeof share);
}

static cw_status rank_all(cw_context *ctx, const cwi_ranker *ranker, const cwi_csr *mask, tally *t)
{
    const double no_dial = 0;
    const cwi_walk walk = {.ranker = ranker,
                           .mask = mask,
                           .users = t->audience->users,
                           .n_users = t->audience->n,
                           .k = t->k,
                           .dials = &no_dial,
                           .n_dials = 1,
                           .collect = add_list,
                           .arg = t};
    return cwi_walk_run(ctx, &walk);
}

/* ---- by many processes -------------------------------------------------------------- */

enum { USERS_AT_ONCE = 1 << 14, SHARES_BYTES = CWI_N_METRICS * sizeof(cwi_share) };

/* Users under way: those of so many numbers who are in the audience. */
typedef struct window {
    const cwi_world *world;
    int *ones, *counts; /* [size] 1, and users of each process */
    int64_t *cursor;    /* [size] */
    int32_t *users;     /* of this process */
    int32_t *all_users; /* of all, in the order of processes */
    cwi_share *each, *all;
    cwi_pile pile;
} window;

static cw_status window_init(cw_context *ctx, const cwi_world *world, window *out)
{
    size_t size = (size_t)world->size;
    *out = (window){.world = world};
    out->ones = cwi_pile_add(ctx, &out->pile, size, sizeof *out->ones);
    out->counts = cwi_pile_add(ctx, &out->pile, size, sizeof *out->counts);
    out->cursor = cwi_pile_add(ctx, &out->pile, size, sizeof *out->cursor);
    out->users = cwi_pile_add(ctx, &out->pile, USERS_AT_ONCE, sizeof *out->users);
    out->all_users = cwi_pile_add(ctx, &out->pile, USERS_AT_ONCE, sizeof *out->all_users);
    out->each = cwi_pile_add(ctx, &out->pile, USERS_AT_ONCE, SHARES_BYTES);
    out->all = cwi_pile_add(ctx, &out->pile, USERS_AT_ONCE, SHARES_BYTES);
    for (int p = 0; p < world->size && out->ones; p++) out->ones[p] = 1;
    return out->pile.status;
}

/* List users below `end` whose rows this process has; *next is the place of the first of them in
 * the audience, which may know of no others. */
static int list_users(window *w, const cwi_audience *audience, int64_t end, int32_t *next)
{
    int own = 0;
    for (; *next < audience->n && audience->users[*next] < end; ++*next)
        if (cwi_row_owner(w->world, audience->users[*next]) == w->world->rank)
            w->users[own++] = audience->users[*next];
    return own;
}

/* What the users of numbers first .. end - 1 bring, in their order: they are dealt out in blocks.
 */
static void add_in_order(window *w, int64_t first, int64_t end, tally *t)
{
    int64_t at = 0;
    for (int p = 0; p < w->world->size; p++) {
        w->cursor[p] = at;
        at += w->counts[p]; /* from now on where those of a process end */
        w->counts[p] = (int)at;
    }
    for (; first < end; first += CWI_BLOCK_ROWS) {
        int p = cwi_row_owner(w->world, first);
        for (; w->cursor[p] < w->counts[p] && w->all_users[w->cursor[p]] < first + CWI_BLOCK_ROWS;
             w->cursor[p]++)
            cwi_shares_add(t->sum, w->all + w->cursor[p] * CWI_N_METRICS);
    }
}

/* Each process ranks for its own users.  Returns to *n how many there are of all. */
static cw_status rank_some(cw_context *ctx, const cwi_ranker *ranker, const cwi_csr *mask, tally *t,
                           window *w, int64_t first, int32_t *next, int32_t *n)
{
    const cwi_mpi_calls *calls = w->world->calls;
    int64_t end = first + USERS_AT_ONCE;
    cwi_audience part = *t->audience;
    int own_users = list_users(w, t->audience, end, next);
    part.users = w->users;
    part.n = own_users;
    tally own = {.audience = &part, .degree = t->degree, .k = t->k, .each = w->each};
    CW_PASS(rank_all(ctx, ranker, mask, &own));
    calls->gather(&own_users, 1, w->counts, w->ones, sizeof own_users);
    calls->gather(w->users, own_users, w->all_users, w->counts, sizeof *w->users);
    calls->gather(w->each, own_users, w->all, w->counts, SHARES_BYTES);
    for (int p = 0; p < w->world->size; p++) *n += w->counts[p];
    add_in_order(w, first, end, t);
    return CW_OK;
}

static cw_status rank_together(cw_context *ctx, const cwi_ranker *ranker, const cwi_csr *mask,
                               tally *t, int32_t *n)
{
    window w;
    int32_t next = 0;
    cw_status status = window_init(ctx, ranker->world, &w);
    *n = 0;
    for (int64_t first = 0; first < ranker->n_users && status == CW_OK; first += USERS_AT_ONCE)
        status = rank_some(ctx, ranker, mask, t, &w, first, &next, n);
    cwi_pile_clear(&w.pile);
    return status;
}

/* ---- all users ----------------------------------------------------------------------- */

enum { MOST_PLACES = 1024 };

/* By a device, which adds up values of places alone; their sums are in the order of users. */
static cw_status measure_there(cw_context *ctx, const cwi_ranker *ranker, tally *t)
{
    const cwi_audience *audience = t->audience;
    double discount[MOST_PLACES], ideal[MOST_PLACES + 1] = {0};
    double over[CWI_PLACE_VALUES], under[CWI_PLACE_VALUES];
    const cwi_wish wish = {
        .mask = audience->mask, .users = audience->users, .n = audience->n, .k = t->k};
    const cwi_held held = {.key = audience->is_kept ? audience : NULL,
                           .rows = &audience->held,
                           .degree = t->degree,
                           .discount = discount,
                           .ideal = ideal};
    if (!ranker->measure || t->k > MOST_PLACES || audience->n == 0) return CW_UNSUPPORTED;
    for (int m = CWI_PLACE_VALUES; m < CWI_N_METRICS; m++)
        if (cwi_metric_is_known(m, audience->exposure)) return CW_UNSUPPORTED;
    for (int32_t p = 0; p < t->k; p++) {
        discount[p] = cwi_place_discount(p);
        ideal[p + 1] = ideal[p] + discount[p];
    }
    cw_status status = ranker->measure(ctx, ranker, &wish, &held, over, under);
    for (int v = 0; v < CWI_PLACE_VALUES && status == CW_OK; v++)
        t->sum[v] = (cwi_share){over[v], under[v]};
    return status == CW_BAD_DATA ? CW_UNSUPPORTED : status;
}

cw_status cwi_evaluate_audience(cw_context *ctx, const cwi_ranker *ranker,
                                const cwi_audience *audience, const int64_t *degree, int32_t k,
                                cwi_metrics *out)
{
    tally t = {.audience = audience, .degree = degree, .k = k};
    cwi_audience all = *audience; /* of all processes */
    *out = (cwi_metrics){.k = k};
    cw_status status = measure_there(ctx, ranker, &t);
    if (status == CW_UNSUPPORTED)
        status = ranker->world ? rank_together(ctx, ranker, audience->mask, &t, &all.n)
                               : rank_all(ctx, ranker, audience->mask, &t);
    CW_PASS(status);
    cwi_audience_value(&all, t.sum, out->value);
    for (int m = 0; m < CWI_N_METRICS; m++)
        out->is_known[m] = cwi_metric_is_known(m, audience->exposure);
    out->users = all.n;
    return CW_OK;
}

cw_status cwi_evaluate(cw_context *ctx, const cwi_ranker *ranker, const cwi_csr *mask,
                       const cwi_pairs *held, const int64_t *degree, const cwi_exposure *exposure,
                       int32_t k, cwi_metrics *out)
{
    cwi_audience audience;
    *out = (cwi_metrics){.k = k};
    CW_PASS(cwi_audience_create(ctx, held, ranker->n_users, &audience));
    audience.exposure = exposure;
    audience.mask = mask;
    cw_status status = cwi_evaluate_audience(ctx, ranker, &audience, degree, k, out);
    cwi_audience_clear(&audience);
    return status;
}

cw_status cwi_evaluate_users(cw_context *ctx, const cwi_ranker *ranker, const cwi_csr *mask,
                             const cwi_audience *audience, const int64_t *degree, int32_t k,
                             cwi_share *each)
{
    cwi_audience masked = *audience;
    masked.mask = mask;
    tally t = {.audience = &masked, .degree = degree, .k = k, .each = each};
    return rank_all(ctx, ranker, mask, &t);
}
