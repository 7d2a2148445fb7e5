/* groups.c - popularity groups and what each gets of the lists. */
#include "evaluate/groups.h"

#include "core/mem.h"
#include "core/smallest.h"

cw_status cwi_degree_groups(cw_context *ctx, const int64_t *degree, int32_t n, int32_t n_groups,
                            uint8_t *group)
{
    cwi_ordered *order = cwi_alloc(ctx, (size_t)n, sizeof *order);
    int64_t total = 0, running = 0, below = 0;

    if (!order) return CW_NO_MEMORY;
    for (int32_t id = 0; id < n; id++) {
        order[id] = (cwi_ordered){(double)degree[id], id};
        total += degree[id];
    }
    cwi_order(order, (size_t)n);
    for (int32_t r = 0; r < n; r++) {
        running += degree[order[r].id];
        /* S q/G < c without a rounding error */
        while (below < n_groups - 1 && total * (below + 1) < running * n_groups) below++;
        group[order[r].id] = (uint8_t)below;
    }
    cwi_free(order);
    return CW_OK;
}

static int32_t keep_group(const int32_t *item, int64_t count, const uint8_t *group, int32_t wanted,
                          int32_t *out)
{
    int32_t kept = 0;
    for (int64_t p = 0; p < count; p++)
        if (group[item[p]] == wanted) out[kept++] = item[p];
    return kept;
}

void cwi_group_add(cwi_group_tally *tally, int32_t n_groups, const uint8_t *group,
                   const cwi_trial *trial, int32_t *room)
{
    for (int32_t g = 0; g < n_groups; g++) {
        cwi_share share[CWI_N_METRICS];
        cwi_trial part = *trial;
        part.count = keep_group(trial->item, trial->count, group, g, room);
        part.n_held = keep_group(trial->held, trial->n_held, group, g, room + part.count);
        part.item = room;
        part.held = room + part.count;
        part.k = part.count;
        int32_t hits = cwi_trial_measure(&part, share);
        cwi_shares_add(tally[g].sum, share);
        cwi_mean_add(&tally[g].listed, part.count);
        cwi_mean_add(&tally[g].hits, hits);
    }
}
