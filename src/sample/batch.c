/* batch.c - room for the slots of a batch. */
#include "sample/batch.h"

#include "core/mem.h"

cw_status cwi_batch_create(cw_context *ctx, int64_t max_slots, cwi_batch *out)
{
    *out = (cwi_batch){.max_slots = max_slots};
    int32_t **const arrays[] = {&out->user, &out->item, &out->users, &out->items, &out->item_place};
    bool all = true;
    for (size_t a = 0; a < sizeof arrays / sizeof arrays[0]; a++) {
        *arrays[a] = cwi_alloc(ctx, (size_t)max_slots, sizeof **arrays[a]);
        all = all && *arrays[a];
    }
    out->mark = cwi_alloc_zero(ctx, (size_t)max_slots, sizeof *out->mark);
    if (all && out->mark) return CW_OK;
    cwi_batch_clear(out);
    return CW_NO_MEMORY;
}

void cwi_batch_clear(cwi_batch *batch)
{
    cwi_free(batch->user);
    cwi_free(batch->item);
    cwi_free(batch->item_place);
    cwi_free(batch->users);
    cwi_free(batch->items);
    cwi_free(batch->mark);
    *batch = (cwi_batch){0};
}

/* The place of an id in a list, at its end if it is new. */
static int32_t place_of(int32_t id, int32_t *at, int32_t *list, int64_t *count)
{
    if (at[id] < 0) {
        at[id] = (int32_t)*count;
        list[(*count)++] = id;
    }
    return at[id];
}

static void forget(int32_t *at, const int32_t *list, int64_t count)
{
    for (int64_t k = 0; k < count; k++) at[list[k]] = -1;
}

void cwi_batch_number(cwi_batch *batch, int32_t *user_at, int32_t *item_at)
{
    batch->n_users = batch->n_items = 0;
    for (int64_t s = 0; s < batch->n_slots; s++)
        batch->item_place[s] = place_of(batch->item[s], item_at, batch->items, &batch->n_items);
    forget(item_at, batch->items, batch->n_items);
    if (!user_at) return;
    for (int64_t s = 0; s < batch->n_slots; s++)
        (void)place_of(batch->user[s], user_at, batch->users, &batch->n_users);
    forget(user_at, batch->users, batch->n_users);
}

int64_t cwi_batch_row_start(const cwi_batch *batch, int64_t slot)
{
    for (int g = 0; g < batch->n_groups; g++) {
        const cwi_group *group = &batch->group[g];
        int64_t in = slot - group->first_slot, slots = group->slots;
        if (in < group->rows * slots) return group->first_slot + (in + slots - 1) / slots * slots;
    }
    return batch->n_slots;
}

int64_t cwi_batch_rows(const cwi_batch *batch)
{
    int64_t rows = 0;
    for (int g = 0; g < batch->n_groups; g++) rows += batch->group[g].rows;
    return rows;
}
