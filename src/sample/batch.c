/* batch.c - room for the slots of a batch. */
#include "sample/batch.h"

#include "core/mem.h"

cw_status cwi_batch_create(cw_context *ctx, int64_t max_slots, cwi_batch *out)
{
    *out = (cwi_batch){.max_slots = max_slots};
    out->user = cwi_alloc(ctx, (size_t)max_slots, sizeof *out->user);
    out->item = cwi_alloc(ctx, (size_t)max_slots, sizeof *out->item);
    out->mark = cwi_alloc_zero(ctx, (size_t)max_slots, sizeof *out->mark);
    if (out->user && out->item && out->mark) return CW_OK;
    cwi_batch_clear(out);
    return CW_NO_MEMORY;
}

void cwi_batch_clear(cwi_batch *batch)
{
    cwi_free(batch->user);
    cwi_free(batch->item);
    cwi_free(batch->mark);
    *batch = (cwi_batch){0};
}

/* The first slot of a row at or after this slot. */
static int64_t row_start(const cwi_batch *batch, int64_t slot)
{
    for (int g = 0; g < batch->n_groups; g++) {
        const cwi_group *group = &batch->group[g];
        int64_t in = slot - group->first_slot, slots = group->slots;
        if (in < group->rows * slots) return group->first_slot + (in + slots - 1) / slots * slots;
    }
    return batch->n_slots;
}

int64_t cwi_batch_pairs(const cwi_batch *batch, int64_t begin, int64_t end, cwi_slot_pair *out)
{
    int64_t n = 0;
    begin = row_start(batch, begin);
    for (int g = 0; g < batch->n_groups; g++) {
        const cwi_group *group = &batch->group[g];
        int64_t row = group->first_slot, last = row + group->rows * group->slots;
        int32_t half = group->slots / 2;
        if (row < begin) row = begin;
        for (; row < last && row < end; row += group->slots)
            for (int64_t s = row; s < row + half; s++)
                out[n++] = (cwi_slot_pair){batch->user[s], batch->item[s], batch->item[s + half], s,
                                           s + half};
    }
    return n;
}

int64_t cwi_batch_rows(const cwi_batch *batch)
{
    int64_t rows = 0;
    for (int g = 0; g < batch->n_groups; g++) rows += batch->group[g].rows;
    return rows;
}
