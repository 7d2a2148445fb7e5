/*
 * rest.c - what the filters left out of a dataset, so that a model can still serve it.
 *
 * Users whom --max-users did not draw are left out on purpose and are not listed, nor are items
 * that only they had.
 */
#include "prepare/rest.h"

#include <string.h>

#include "core/mem.h"

void cwi_rest_clear(cwi_rest *rest)
{
    cwi_idmap_clear(&rest->users);
    cwi_idmap_clear(&rest->items);
    cwi_csr_clear(&rest->rows);
    cwi_csr_clear(&rest->hidden);
    cwi_csr_clear(&rest->lost);
}

cw_status cwi_rest_copy(cw_context *ctx, const cwi_rest *from, cwi_rest *out)
{
    CW_PASS(cwi_csr_copy(ctx, &from->hidden, &out->hidden));
    if (from->users.count + from->items.count == 0) return CW_OK;
    CW_PASS(cwi_idmap_copy(ctx, &from->users, &out->users));
    CW_PASS(cwi_idmap_copy(ctx, &from->items, &out->items));
    CW_PASS(cwi_csr_copy(ctx, &from->rows, &out->rows));
    return cwi_csr_copy(ctx, &from->lost, &out->lost);
}

/* Users and items that the dataset lacks, and how many rows of the interactions have one. */
typedef struct listing {
    const cw_interactions *from;
    const cwi_kept *kept;
    int32_t n_users, n_items;
    int32_t *users, *items;             /* ids of the interactions, by first appearance */
    int32_t *user_number, *item_number; /* [all] number among them, -1 for none */
    int64_t n_rows, n_lost;             /* with an item of the dataset, without */
    cwi_pile pile;
} listing;

static int32_t *nobody(cw_context *ctx, cwi_pile *pile, size_t n)
{
    int32_t *number = cwi_pile_add(ctx, pile, n, sizeof *number);
    for (size_t k = 0; k < n && number; k++) number[k] = -1;
    return number;
}

static cw_status open_listing(cw_context *ctx, listing *l)
{
    size_t n_users = (size_t)l->from->users.count, n_items = (size_t)l->from->items.count;
    l->users = cwi_pile_add(ctx, &l->pile, n_users, sizeof *l->users);
    l->items = cwi_pile_add(ctx, &l->pile, n_items, sizeof *l->items);
    l->user_number = nobody(ctx, &l->pile, n_users);
    l->item_number = nobody(ctx, &l->pile, n_items);
    return l->pile.status;
}

static void number(int32_t id, int32_t *number_of, int32_t *ids, int32_t *n)
{
    if (number_of[id] >= 0) return;
    number_of[id] = *n;
    ids[(*n)++] = id;
}

static void number_row(listing *l, int32_t user, int32_t item)
{
    const cwi_kept *kept = l->kept;
    bool has_user = kept->user[user] >= 0, has_item = kept->item[item] >= 0;
    if (kept->drawn && !kept->drawn[user]) return;
    if (!has_user) number(user, l->user_number, l->users, &l->n_users);
    if (!has_item) number(item, l->item_number, l->items, &l->n_items);
    l->n_lost += !has_item;
    l->n_rows += has_item && !has_user;
}

static cw_status number_all(cw_context *ctx, listing *l)
{
    const cwi_reel reel = CWI_REEL(l->from);
    cwi_window w = cwi_window_over(&reel);
    while (cwi_window_next(ctx, &w))
        for (int64_t k = 0; k < w.n; k++) number_row(l, w.user[k], w.item[k]);
    return w.status;
}

static void append(cwi_pairs *rows, int32_t user, int32_t item)
{
    rows->user[rows->count] = user;
    rows->item[rows->count++] = item;
}

static void share_out(const listing *l, cwi_pairs *rows, cwi_pairs *lost)
{
    const cwi_kept *kept = l->kept;
    rows->count = lost->count = 0;
    for (int64_t r = 0; r < l->from->count; r++) {
        int32_t user = l->from->user[r], item = l->from->item[r];
        int32_t guest = l->user_number[user];
        if (kept->user[user] < 0 && guest < 0) continue; /* was not drawn */
        if (l->item_number[item] >= 0)
            append(lost, guest < 0 ? kept->user[user] : kept->n_users + guest,
                   l->item_number[item]);
        else if (guest >= 0)
            append(rows, guest, kept->item[item]);
    }
}

static cw_status fill_rows(cw_context *ctx, const listing *l, cwi_rest *out)
{
    cw_status status;
    cwi_pairs rows = {0}, lost = {0};
    CW_TRY(cwi_pairs_create(ctx, l->n_rows, &rows));
    CW_TRY(cwi_pairs_create(ctx, l->n_lost, &lost));
    share_out(l, &rows, &lost);
    CW_TRY(cwi_csr_create(ctx, rows.user, rows.item, rows.count, l->n_users, &out->rows));
    cwi_csr_sort(&out->rows);
    if (lost.count == 0) goto done;
    CW_TRY(cwi_csr_create(ctx, lost.user, lost.item, lost.count, l->kept->n_users + l->n_users,
                          &out->lost));
    cwi_csr_sort(&out->lost);
done:
    cwi_pairs_clear(&rows);
    cwi_pairs_clear(&lost);
    return status;
}

cw_status cwi_rest_fill(cw_context *ctx, const cw_interactions *from, const cwi_kept *kept,
                        cwi_rest *out)
{
    listing l = {.from = from, .kept = kept};
    cw_status status;

    CW_TRY(open_listing(ctx, &l));
    CW_TRY(number_all(ctx, &l));
    CW_TRY(cwi_idmap_select(ctx, &from->users, l.users, l.n_users, &out->users));
    CW_TRY(cwi_idmap_select(ctx, &from->items, l.items, l.n_items, &out->items));
    if (!from->spill) CW_TRY(fill_rows(ctx, &l, out)); /* else nobody recommends */
done:
    cwi_pile_clear(&l.pile);
    return status;
}
