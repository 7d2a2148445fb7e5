/* roster.c - listing rows and copying them side by side. */
#include "score/roster.h"

#include <string.h>

#include "core/pool.h"

cw_status cwi_roster_create(cw_context *ctx, int64_t n_rows, int64_t most, int64_t max_slots,
                            cwi_roster *out)
{
    *out = (cwi_roster){0};
    CW_PASS(cwi_idset_create(ctx, n_rows, &out->ids));
    out->place = cwi_pile_add(ctx, &out->pile, (size_t)n_rows, sizeof *out->place);
    out->row = cwi_pile_add(ctx, &out->pile, (size_t)most, sizeof *out->row);
    out->user_at = cwi_pile_add(ctx, &out->pile, (size_t)max_slots, sizeof *out->user_at);
    out->item_at = cwi_pile_add(ctx, &out->pile, (size_t)max_slots, sizeof *out->item_at);
    return out->pile.status;
}

void cwi_roster_clear(cwi_roster *roster)
{
    cwi_idset_clear(&roster->ids);
    cwi_pile_clear(&roster->pile);
    *roster = (cwi_roster){0};
}

void cwi_roster_fill(cwi_roster *roster, const cwi_batch *batch, int32_t n_users)
{
    for (int64_t k = 0; k < batch->n_slots; k++) {
        cwi_idset_add(&roster->ids, batch->user[k]);
        cwi_idset_add(&roster->ids, n_users + batch->item[k]);
    }
    roster->n = cwi_idset_take(&roster->ids, roster->row);
    roster->n_users = 0;
    for (int64_t t = 0; t < roster->n; t++) {
        roster->place[roster->row[t]] = (int32_t)t;
        roster->n_users += roster->row[t] < n_users;
    }
    for (int64_t k = 0; k < batch->n_slots; k++) {
        roster->user_at[k] = roster->place[batch->user[k]];
        roster->item_at[k] = roster->place[n_users + batch->item[k]];
    }
}

typedef struct job {
    const float *from;
    int32_t width;
    const int32_t *row, *place;
    float *to;
} job;

static cw_status gather_chunk(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const job *j = arg;
    (void)chunk;
    for (int64_t t = begin; t < end; t++) {
        int64_t from = j->place ? j->place[j->row[t]] : j->row[t];
        memcpy(j->to + t * j->width, j->from + from * j->width, (size_t)j->width * sizeof *j->to);
    }
    return CW_OK;
}

cw_status cwi_gather(cw_context *ctx, const float *from, int32_t width, const int32_t *row,
                     int64_t n, const int32_t *place, float *to)
{
    job j = {from, width, row, place, to};
    return cwi_pool_for(ctx, n, 128, gather_chunk, &j);
}
