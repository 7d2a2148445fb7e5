/* route.c - planning and making the exchange of a step. */
#include "comm/route.h"

#include <string.h>

cw_status cwi_route_create(cw_context *ctx, const cwi_world *world, int64_t max_slots,
                           int64_t max_things, int64_t width, cwi_route *out)
{
    size_t slots = (size_t)max_slots, size = (size_t)world->size, bytes = (size_t)width * 4;
    size_t things = (size_t)(max_things < max_slots ? max_things : max_slots);
    *out = (cwi_route){.world = world, .width = (size_t)width, .max_things = things};
    cwi_pile *pile = &out->pile;
    size_t sent = things * size < slots ? things * size : slots;
    out->out = cwi_pile_add(ctx, pile, sent, sizeof *out->out);
    out->in = cwi_pile_add(ctx, pile, things, sizeof *out->in);
    out->own = cwi_pile_add(ctx, pile, things, sizeof *out->own);
    out->sent = cwi_pile_add(ctx, pile, size, sizeof *out->sent);
    out->received = cwi_pile_add(ctx, pile, size, sizeof *out->received);
    out->to_send = cwi_pile_add(ctx, pile, sent, bytes);
    out->arrived = cwi_pile_add(ctx, pile, things, bytes);
    out->is_sent = cwi_pile_add_zero(ctx, pile, things, size);
    out->is_received = cwi_pile_add_zero(ctx, pile, things, 1);
    out->cursor = cwi_pile_add(ctx, pile, size, sizeof *out->cursor);
    for (int side = 0; side < 2; side++) {
        size_t most = side == 0 ? sent : things;
        out->thing[side] = cwi_pile_add(ctx, pile, most, sizeof *out->thing[side]);
        out->peer[side] = cwi_pile_add(ctx, pile, most, sizeof *out->peer[side]);
    }
    return pile->status;
}

void cwi_route_clear(cwi_route *route)
{
    cwi_pile_clear(&route->pile);
    *route = (cwi_route){0};
}

static int owner_at(const cwi_route *r, cwi_route_side side, int64_t slot)
{
    return cwi_row_owner(r->world, side.first + side.row[slot]);
}

/* By process, slot order within one. */
static void put_in_order(cwi_route *r, const int32_t *thing, const int *peer, int64_t n,
                         int *counts, int32_t *out)
{
    int64_t at = 0;
    for (int p = 0; p < r->world->size; p++) {
        r->cursor[p] = at;
        at += counts[p];
    }
    for (int64_t k = 0; k < n; k++) out[r->cursor[peer[k]]++] = thing[k];
}

static void give(cwi_route *r, int32_t thing, int to)
{
    uint8_t *is_sent = r->is_sent + (int64_t)thing * r->world->size + to;
    if (*is_sent) return;
    *is_sent = 1;
    r->thing[0][r->n_out] = thing;
    r->peer[0][r->n_out++] = to;
    r->sent[to]++;
}

static void take(cwi_route *r, int32_t thing, int from)
{
    if (r->is_received[thing]) return;
    r->is_received[thing] = 1;
    if (from == r->world->rank) {
        r->own[r->n_own++] = thing;
        return;
    }
    r->thing[1][r->n_in] = thing;
    r->peer[1][r->n_in++] = from;
    r->received[from]++;
}

void cwi_route_fill(cwi_route *r, int64_t n_slots, const int32_t *thing, cwi_route_side giver,
                    cwi_route_side taker)
{
    int me = r->world->rank, size = r->world->size;
    r->n_own = r->n_out = r->n_in = 0;
    memset(r->sent, 0, (size_t)size * sizeof *r->sent);
    memset(r->received, 0, (size_t)size * sizeof *r->received);
    for (int64_t s = 0; s < n_slots; s++) {
        int from = owner_at(r, giver, s), to = owner_at(r, taker, s);
        if (to == me)
            take(r, thing[s], from);
        else if (from == me)
            give(r, thing[s], to);
    }
    for (int64_t k = 0; k < r->n_out; k++)
        r->is_sent[(int64_t)r->thing[0][k] * size + r->peer[0][k]] = 0;
    for (int64_t k = 0; k < r->n_in; k++) r->is_received[r->thing[1][k]] = 0;
    for (int64_t k = 0; k < r->n_own; k++) r->is_received[r->own[k]] = 0;
    put_in_order(r, r->thing[0], r->peer[0], r->n_out, r->sent, r->out);
    put_in_order(r, r->thing[1], r->peer[1], r->n_in, r->received, r->in);
}

void cwi_route_run(cwi_route *r)
{
    const cwi_world *w = r->world;
    if (w->size == 1) return;
    w->calls->exchange(r->to_send, r->sent, r->arrived, r->received, r->width * sizeof(float));
}
