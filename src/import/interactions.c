/* interactions.c - interactions from arrays, and what can be asked of them. */
#include "import/interactions.h"

#include <inttypes.h>
#include <math.h>

#include "core/mem.h"
#include "core/text.h"
#include "import/import.h"

static cw_status check_arrays(cw_context *ctx, const int64_t *user, const int64_t *item,
                              const double *time, int64_t n)
{
    if (n < 1 || !user || !item)
        return cwi_fail(ctx, CW_BAD_ARG, "there must be at least one user and item, not %" PRId64,
                        n);
    for (int64_t r = 0; time && r < n; r++)
        if (!isfinite(time[r]))
            return cwi_fail(ctx, CW_BAD_ARG, "the time of entry %" PRId64 " is not finite", r);
    return CW_OK;
}

static cw_status number_ids(cw_context *ctx, const int64_t *id, int64_t n, cwi_idmap *map,
                            int32_t *out)
{
    char digits[CWI_NUMBER_BYTES];
    cw_status status = CW_OK;

    for (int64_t r = 0; r < n && status == CW_OK; r++) {
        if (r > 0 && id[r] == id[r - 1])
            out[r] = out[r - 1];
        else
            status = cwi_idmap_add(ctx, map, digits, cwi_print_int(id[r], digits), &out[r]);
    }
    return status;
}

cw_status cw_interactions_create(cw_context *ctx, const int64_t *user, const int64_t *item,
                                 const double *time, int64_t n, cw_interactions **out)
{
    cwi_import import;
    cw_interactions *rows = NULL;

    cwi_begin(ctx);
    *out = NULL;
    cw_status status = check_arrays(ctx, user, item, time, n);
    if (status != CW_OK) return status;
    rows = cwi_alloc_zero(ctx, 1, sizeof *rows);
    if (!rows) return CW_NO_MEMORY;
    cwi_import_init(ctx, rows, &import);

    rows->user = cwi_alloc(ctx, (size_t)n, sizeof *rows->user);
    rows->item = cwi_alloc(ctx, (size_t)n, sizeof *rows->item);
    rows->time = time ? cwi_alloc(ctx, (size_t)n, sizeof *rows->time) : NULL;
    CW_TRY(rows->user && rows->item && !rows->time == !time ? CW_OK : CW_NO_MEMORY);
    rows->count = n;
    for (int64_t r = 0; time && r < n; r++) rows->time[r] = time[r];
    CW_TRY(number_ids(ctx, user, n, &rows->users, rows->user));
    CW_TRY(number_ids(ctx, item, n, &rows->items, rows->item));
    CW_TRY(cwi_import_finish(&import));
    *out = rows;
done:
    if (status != CW_OK) cw_interactions_free(rows);
    cwi_import_clear(&import);
    return status;
}

void cwi_below_clear(cwi_below *below)
{
    cwi_free(below->row);
    cwi_idmap_clear(&below->users);
    cwi_idmap_clear(&below->items);
    *below = (cwi_below){0};
}

void cw_interactions_free(cw_interactions *interactions)
{
    if (!interactions) return;
    cwi_free(interactions->user);
    cwi_free(interactions->item);
    cwi_free(interactions->time);
    cwi_free(interactions->part);
    cwi_spill_free(interactions->spill);
    cwi_idmap_clear(&interactions->users);
    cwi_idmap_clear(&interactions->items);
    cwi_below_clear(&interactions->below);
    cwi_free(interactions->source);
    cwi_free(interactions);
}

int64_t cw_interactions_count(const cw_interactions *interactions)
{
    return interactions->count;
}

int32_t cw_interactions_users(const cw_interactions *interactions)
{
    return interactions->users.count;
}

int32_t cw_interactions_items(const cw_interactions *interactions)
{
    return interactions->items.count;
}

bool cw_interactions_are_split(const cw_interactions *interactions)
{
    return interactions->is_split;
}

cw_status cwi_interactions_here(cw_context *ctx, const cw_interactions *interactions)
{
    if (!interactions->spill) return CW_OK;
    return cwi_fail(ctx, CW_BAD_ARG,
                    "the interactions are in a file; they can be prepared and saved, and nothing "
                    "else");
}
