/* folds.c - train and validation rows divided several times. */
#include "experiment/folds.h"

#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "prepare/split.h"

/* ---- how many ------------------------------------------------------------------------ */

/* How the parts came about; false: not by a draw, or nobody knows.
 *   cap  of the debiased split; 0: all rows were alike */
static cw_status read_law(cw_context *ctx, const cw_dataset *data, bool *is_drawn, double *cap)
{
    json_t *origin = NULL;
    *is_drawn = false;
    *cap = 0;
    if (!data->origin) return CW_OK;
    CW_PASS(cwi_json_reparse(ctx, data->origin, &origin));
    const json_t *steps = json_object_get(origin, "steps");
    const char *split = cwi_json_get_text(steps, "split");
    double found = cwi_json_get_number(steps, "cap");
    bool is_debiased = strcmp(split, "debiased") == 0 || strcmp(split, "compat") == 0;
    *is_drawn = is_debiased || strcmp(split, "random") == 0;
    if (is_debiased && found > 0) *cap = found;
    json_decref(origin);
    return CW_OK;
}

static cw_status count_users(cw_context *ctx, const cw_dataset *data, int64_t *n)
{
    const cwi_pairs *valid = &data->part[CW_PART_VALID];
    uint8_t *is_there = cwi_alloc_zero(ctx, (size_t)data->n_users, 1);
    *n = 0;
    if (!is_there) return CW_NO_MEMORY;
    for (int64_t r = 0; r < valid->count; r++) {
        *n += !is_there[valid->user[r]];
        is_there[valid->user[r]] = 1;
    }
    cwi_free(is_there);
    return CW_OK;
}

cw_status cwi_folds_choose(cw_context *ctx, const cw_dataset *data, int *n)
{
    enum { ENOUGH_USERS = 1000, MOST = 5 };
    bool is_drawn;
    double cap;
    int64_t users;
    *n = 1;
    CW_PASS(read_law(ctx, data, &is_drawn, &cap));
    CW_PASS(count_users(ctx, data, &users));
    if (!is_drawn || users == 0) return CW_OK;
    int64_t wanted = (ENOUGH_USERS + users - 1) / users;
    *n = wanted < MOST ? (int)wanted : MOST;
    return CW_OK;
}

/* ---- the draws ----------------------------------------------------------------------- */

/* Train and validation rows of a dataset, one behind the other. */
static cw_status join_rows(cw_context *ctx, const cw_dataset *data, cwi_rows *out)
{
    const cwi_pairs *train = &data->part[CW_PART_TRAIN], *valid = &data->part[CW_PART_VALID];
    size_t n = (size_t)train->count, more = (size_t)valid->count;
    *out = (cwi_rows){
        .count = (int64_t)(n + more), .n_users = data->n_users, .n_items = data->n_items};
    out->user = cwi_pile_add(ctx, &out->pile, n + more, sizeof *out->user);
    out->item = cwi_pile_add(ctx, &out->pile, n + more, sizeof *out->item);
    out->part = cwi_pile_add(ctx, &out->pile, n + more, 1);
    CW_PASS(out->pile.status);
    memcpy(out->user, train->user, n * sizeof *out->user);
    memcpy(out->item, train->item, n * sizeof *out->item);
    if (more == 0) return CW_OK;
    memcpy(out->user + n, valid->user, more * sizeof *out->user);
    memcpy(out->item + n, valid->item, more * sizeof *out->item);
    return CW_OK;
}

static cw_status take_part(cw_context *ctx, const cwi_rows *rows, int part, int64_t count,
                           cwi_pairs *out)
{
    CW_PASS(cwi_pairs_create(ctx, count, out));
    int64_t at = 0;
    for (int64_t r = 0; r < rows->count; r++) {
        if (rows->part[r] != part) continue;
        out->user[at] = rows->user[r];
        out->item[at++] = rows->item[r];
    }
    return CW_OK;
}

static cw_status draw_fold(cw_context *ctx, const cw_dataset *data, cwi_rows *rows, double cap,
                           uint64_t seed, cw_dataset *out)
{
    cw_status status;
    cwi_split split;
    cwi_pairs *train = &out->part[CW_PART_TRAIN], *valid = &out->part[CW_PART_VALID];
    *out = *data;
    *train = *valid = (cwi_pairs){0};
    CW_PASS(cwi_split_draw(ctx, rows, cap, data->part[CW_PART_VALID].count, seed, &split));
    CW_TRY(take_part(ctx, rows, CW_PART_TRAIN, rows->count - split.n_held, train));
    CW_TRY(take_part(ctx, rows, CW_PART_VALID, split.n_held, valid));
    if (split.n_held == 0)
        CW_TRY(cwi_fail(ctx, CW_BAD_DATA,
                        "no row can be held out once more, for train would lack its user or item; "
                        "--folds 1 takes the validation part as it is"));
done:
    cwi_split_clear(&split);
    return status;
}

cw_status cwi_folds_create(cw_context *ctx, const cw_dataset *data, int n, uint64_t seed,
                           cwi_folds *out)
{
    cw_status status;
    cwi_rows rows = {0};
    bool is_drawn;
    double cap;

    *out = (cwi_folds){.n = 1, .set = {*data}};
    if (n <= 1) return CW_OK;
    CW_TRY(read_law(ctx, data, &is_drawn, &cap));
    CW_TRY(join_rows(ctx, data, &rows));
    for (; out->n < n; out->n++) /* seeds are below 2^32 */
        CW_TRY(
            draw_fold(ctx, data, &rows, cap, seed + ((uint64_t)out->n << 32), &out->set[out->n]));
done:
    if (status != CW_OK && out->n < n) out->n++; /* the one under way is cleared, too */
    cwi_rows_clear(&rows);
    return status;
}

void cwi_folds_clear(cwi_folds *folds)
{
    for (int f = 1; f < folds->n; f++) {
        cwi_pairs_clear(&folds->set[f].part[CW_PART_TRAIN]);
        cwi_pairs_clear(&folds->set[f].part[CW_PART_VALID]);
    }
    folds->n = 0;
}
