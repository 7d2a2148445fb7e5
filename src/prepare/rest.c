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
}

/* Users and items that the dataset lacks, and the rows between its items and the former. */
typedef struct listing {
    int32_t n_users, n_items;
    int32_t *users, *items; /* ids of the interactions, in order of first appearance */
    int32_t *user_number;   /* [all users] number among them, -1 for none */
    uint8_t *has_item;      /* [all items] is it among them? */
    int64_t n_rows;
    int32_t *row_user, *row_item; /* number among the users, item of the dataset */
    cwi_pile pile;
} listing;

static cw_status open_listing(cw_context *ctx, const cw_interactions *from, listing *l)
{
    size_t n_users = (size_t)from->users.count, n_items = (size_t)from->items.count;
    size_t count = (size_t)from->count;
    l->users = cwi_pile_add(ctx, &l->pile, n_users, sizeof *l->users);
    l->items = cwi_pile_add(ctx, &l->pile, n_items, sizeof *l->items);
    l->user_number = cwi_pile_add(ctx, &l->pile, n_users, sizeof *l->user_number);
    l->has_item = cwi_pile_add_zero(ctx, &l->pile, n_items, 1);
    l->row_user = cwi_pile_add(ctx, &l->pile, count, sizeof *l->row_user);
    l->row_item = cwi_pile_add(ctx, &l->pile, count, sizeof *l->row_item);
    for (size_t u = 0; u < n_users && l->user_number; u++) l->user_number[u] = -1;
    return l->pile.status;
}

static void list_row(listing *l, const cwi_kept *kept, int32_t user, int32_t item)
{
    if (kept->item[item] < 0 && !l->has_item[item]) {
        l->has_item[item] = 1;
        l->items[l->n_items++] = item;
    }
    if (kept->user[user] >= 0) return;
    if (l->user_number[user] < 0) {
        l->user_number[user] = l->n_users;
        l->users[l->n_users++] = user;
    }
    if (kept->item[item] < 0) return;
    l->row_user[l->n_rows] = l->user_number[user];
    l->row_item[l->n_rows++] = kept->item[item];
}

cw_status cwi_rest_fill(cw_context *ctx, const cw_interactions *from, const cwi_kept *kept,
                        cwi_rest *out)
{
    listing l = {0};
    cw_status status;

    CW_TRY(open_listing(ctx, from, &l));
    for (int64_t r = 0; r < from->count; r++)
        if (!kept->drawn || kept->drawn[from->user[r]])
            list_row(&l, kept, from->user[r], from->item[r]);
    CW_TRY(cwi_idmap_select(ctx, &from->users, l.users, l.n_users, &out->users));
    CW_TRY(cwi_idmap_select(ctx, &from->items, l.items, l.n_items, &out->items));
    CW_TRY(cwi_csr_create(ctx, l.row_user, l.row_item, l.n_rows, l.n_users, &out->rows));
    cwi_csr_sort(&out->rows);
done:
    cwi_pile_clear(&l.pile);
    return status;
}
