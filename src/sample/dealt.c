/* dealt.c - training interactions of which each process has those of its users. */
#include "sample/dealt.h"

#include "core/mem.h"

void cwi_dealt_free(cwi_dealt *dealt)
{
    if (!dealt) return;
    cwi_free(dealt->before);
    cwi_free(dealt);
}

/* How many interactions come before each block; own users alone have any here. */
static cw_status count_before(cw_context *ctx, const cwi_csr *by_user, cwi_dealt *dealt)
{
    int64_t n_users = by_user->n_rows;
    dealt->n_blocks = (n_users + CWI_BLOCK_ROWS - 1) / CWI_BLOCK_ROWS;
    dealt->before = cwi_alloc_zero(ctx, (size_t)dealt->n_blocks + 1, sizeof *dealt->before);
    if (!dealt->before) return CW_NO_MEMORY;
    for (int64_t b = 0; b < dealt->n_blocks; b++) {
        int64_t end = (b + 1) * CWI_BLOCK_ROWS;
        if (end > n_users) end = n_users;
        dealt->before[b + 1] = by_user->start[end] - by_user->start[b * CWI_BLOCK_ROWS];
    }
    CW_PASS(cwi_world_add(ctx, dealt->world, dealt->before, dealt->n_blocks + 1));
    for (int64_t b = 0; b < dealt->n_blocks; b++) dealt->before[b + 1] += dealt->before[b];
    return CW_OK;
}

cw_status cwi_training_create_dealt(cw_context *ctx, const cwi_world *world, int32_t n_users,
                                    int32_t n_items, const cwi_pairs *own, cwi_training *out)
{
    cw_status status;
    CW_TRY(cwi_training_list(ctx, n_users, n_items, own, out));
    out->dealt = cwi_alloc_zero(ctx, 1, sizeof *out->dealt);
    CW_TRY(out->dealt ? CW_OK : CW_NO_MEMORY);
    out->dealt->world = world;
    CW_TRY(count_before(ctx, &out->by_user, out->dealt));
    out->count = out->dealt->before[out->dealt->n_blocks];
    CW_TRY(cwi_world_add(ctx, world, out->degree, n_items));
done:
    if (status != CW_OK) cwi_training_clear(out);
    return status;
}

int64_t cwi_dealt_block(const cwi_dealt *dealt, int64_t row)
{
    int64_t low = 0, high = dealt->n_blocks;
    while (high - low > 1) {
        int64_t middle = low + (high - low) / 2;
        if (dealt->before[middle] <= row)
            low = middle;
        else
            high = middle;
    }
    return low;
}

cwi_pair cwi_dealt_pair(const cwi_training *training, int64_t block, int64_t row)
{
    int64_t first = training->by_user.start[block * CWI_BLOCK_ROWS];
    return training->pair[first + row - training->dealt->before[block]];
}
