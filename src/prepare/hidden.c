/*
 * hidden.c - rows that nobody trains on, and that recommending leaves out all the same.
 *
 * Who rated an item low has it, and is not to get it again.  Such rows count nowhere else: not in
 * the core filter, not in degrees, not in metrics.
 */
#include "prepare/hidden.h"

#include <string.h>

#include "core/mem.h"

int32_t cwi_find_anybody(const cw_dataset *dataset, const char *id)
{
    size_t length = strlen(id);
    int32_t user = cwi_idmap_find(&dataset->users, id, length);
    if (user >= 0) return user;
    int32_t other = cwi_idmap_find(&dataset->rest.users, id, length);
    return other < 0 ? -1 : dataset->n_users + other;
}

static int32_t find_item(const cw_dataset *dataset, const char *id)
{
    return cwi_idmap_find(&dataset->items, id, strlen(id));
}

/* Each id is looked for once, however many rows it has. */
static int32_t *find_all(cw_context *ctx, cwi_pile *pile, const cwi_idmap *ids,
                         const cw_dataset *dataset,
                         int32_t (*find)(const cw_dataset *dataset, const char *id))
{
    int32_t *number = cwi_pile_add(ctx, pile, (size_t)ids->count, sizeof *number);
    for (int32_t k = 0; k < ids->count && number; k++)
        number[k] = find(dataset, cwi_idmap_text(ids, k));
    return number;
}

cw_status cwi_hidden_add(cw_context *ctx, const cwi_below *below, const cw_dataset *dataset,
                         cwi_pairs *rows)
{
    cwi_pile pile = {0};
    const int32_t *users = find_all(ctx, &pile, &below->users, dataset, cwi_find_anybody);
    const int32_t *items = find_all(ctx, &pile, &below->items, dataset, find_item);
    cw_status status = pile.status;

    for (int64_t r = 0; r < below->count && status == CW_OK; r++) {
        int32_t user = users[below->row[r][0]], item = items[below->row[r][1]];
        if (user < 0 || item < 0) continue;
        rows->user[rows->count] = user;
        rows->item[rows->count++] = item;
    }
    cwi_pile_clear(&pile);
    return status;
}

/* ---- what is known ----------------------------------------------------------- */

/* Mark hidden items that the same user has among the known ones: -1.  Row r of those belongs to
 * user first + r, and had[i] is the user who was found to have item i last. */
static void mark_known(const cwi_csr *known, int32_t first, cwi_csr *hidden, int32_t *had)
{
    for (int32_t r = 0; r < known->n_rows; r++) {
        int32_t user = first + r;
        int64_t begin = hidden->start[user], end = hidden->start[user + 1];
        if (begin == end) continue;
        for (int64_t e = known->start[r]; e < known->start[r + 1]; e++) had[known->value[e]] = user;
        for (int64_t e = begin; e < end; e++)
            if (hidden->value[e] >= 0 && had[hidden->value[e]] == user) hidden->value[e] = -1;
    }
}

/* Close the gaps of ascending rows: marks, and items that come twice. */
static void compact(cwi_csr *hidden)
{
    int64_t begin = 0, kept = 0;
    for (int32_t r = 0; r < hidden->n_rows; r++) {
        int64_t end = hidden->start[r + 1];
        int32_t last = -1;
        for (int64_t e = begin; e < end; e++) {
            if (hidden->value[e] == last) continue;
            last = hidden->value[e];
            hidden->value[kept++] = last;
        }
        begin = end;
        hidden->start[r + 1] = kept;
    }
}

cw_status cwi_hidden_fill(cw_context *ctx, const cwi_pairs *rows, cw_dataset *dataset)
{
    cw_status status = CW_OK;
    cwi_csr known = {0}, *hidden = &dataset->rest.hidden;
    int32_t n_users = dataset->n_users, *had = NULL;

    if (rows->count == 0) return CW_OK;
    CW_TRY(cwi_csr_create(ctx, rows->user, rows->item, rows->count,
                          n_users + dataset->rest.users.count, hidden));
    had = cwi_alloc(ctx, (size_t)dataset->n_items, sizeof *had);
    CW_TRY(had ? CW_OK : CW_NO_MEMORY);
    for (int32_t i = 0; i < dataset->n_items; i++) had[i] = -1;
    for (int p = 0; p < CWI_PARTS; p++) {
        const cwi_pairs *part = &dataset->part[p];
        CW_TRY(cwi_csr_create(ctx, part->user, part->item, part->count, n_users, &known));
        mark_known(&known, 0, hidden, had);
        cwi_csr_clear(&known);
    }
    mark_known(&dataset->rest.rows, n_users, hidden, had);
    cwi_csr_sort(hidden);
    compact(hidden);
    if (hidden->start[hidden->n_rows] == 0) cwi_csr_clear(hidden);
done:
    cwi_free(had);
    return status;
}

cw_status cwi_hide_below(cw_context *ctx, const cwi_below *below, cw_dataset *dataset)
{
    cwi_pairs rows;
    if (below->count == 0) return CW_OK;
    CW_PASS(cwi_pairs_create(ctx, below->count, &rows));
    rows.count = 0;
    cw_status status = cwi_hidden_add(ctx, below, dataset, &rows);
    if (status == CW_OK) status = cwi_hidden_fill(ctx, &rows, dataset);
    cwi_pairs_clear(&rows);
    return status;
}
