/*
 * uniform.c - the uniformly exposed test set of a simulation.
 *
 * A user's candidates are the kept items that they have not interacted with, in the simulator's
 * order.  Floyd's algorithm draws positions among them; as in exposure.c everything is drawn
 * twice, once to count and once to fill.
 */
#include <string.h>

#include "core/pool.h"
#include "core/rng.h"
#include "core/rooms.h"
#include "prepare/csr.h"
#include "prepare/simulation.h"

typedef struct showing {
    const cwi_simulation *sim;
    const int32_t *users, *items; /* the simulator's ids of what is kept */
    int32_t n_items;
    int32_t
        *place;  /* [plan.n_items] position among the kept items in the simulator's order, or -1 */
    int32_t *id; /* [n_items] the way back: which of the kept items it is */
    cwi_rooms *rooms; /* of a working thread: [plan.n_shown], then [longest] */
    int64_t *start;   /* [n_users + 1] */
    cwi_pairs *out;
    cwi_pile pile;
} showing;

/* Insert value, or instead of it when it is there, the fallback that is larger than all. */
static void insert(int32_t *list, int32_t count, int32_t value, int32_t fallback)
{
    int64_t at = cwi_lower_bound(list, count, value);
    if (at < count && list[at] == value) {
        list[count] = fallback;
        return;
    }
    memmove(list + at + 1, list + at, (size_t)(count - at) * sizeof *list);
    list[at] = value;
}

/* `wanted` distinct numbers below n, ascending (Floyd: Bentley, CACM 1987). */
static void draw_distinct(cwi_rng *rng, int32_t n, int32_t wanted, int32_t *out)
{
    for (int32_t k = 0; k < wanted; k++) {
        int32_t last = n - wanted + k;
        insert(out, k, (int32_t)cwi_rng_below(rng, (uint64_t)last + 1), last);
    }
}

/* Items of a user. */
typedef struct had {
    const int32_t *item; /* [n], ascending */
    int64_t n;
} had;

/* How many of a user's interactions are with kept items. */
static int32_t count_kept(const showing *s, had own)
{
    int32_t count = 0;
    for (int64_t k = 0; k < own.n; k++) count += s->place[own.item[k]] >= 0;
    return count;
}

/* Turn ascending positions among the candidates into places among the kept items: step over the
 * items of the user, which ascend too. */
static void step_over(const showing *s, had own, int32_t *position, int32_t count)
{
    int64_t k = 0;
    int32_t over = 0;

    for (int32_t j = 0; j < count; j++) {
        for (; k < own.n; k++) {
            int32_t place = s->place[own.item[k]];
            if (place > position[j] + over) break;
            over += place >= 0;
        }
        position[j] += over;
    }
}

/* Number of relevant pairs of kept user u; their items go to out unless it is NULL. */
static int64_t show_user(const showing *s, int64_t u, int32_t *shown, int32_t *out)
{
    const cwi_simulation_plan *plan = &s->sim->plan;
    int32_t user = s->users[u];
    had own = {.n = s->sim->start[user + 1] - s->sim->start[user]};
    own.item = cwi_simulation_items(s->sim, user, shown + plan->n_shown);
    int32_t candidates = s->n_items - count_kept(s, own);
    int32_t count = plan->n_shown < candidates ? plan->n_shown : candidates;
    int64_t relevant = 0;
    cwi_rng rng;

    cwi_rng_init(&rng, plan->seed, CWI_RNG_SIM_UNIFORM, (uint64_t)user);
    draw_distinct(&rng, candidates, count, shown);
    step_over(s, own, shown, count);
    for (int32_t j = 0; j < count; j++) {
        int32_t id = s->id[shown[j]];
        double relevance = cwi_truth_relevance(s->sim->truth, user, s->items[id]);
        if (cwi_rng_real(&rng) >= relevance) continue;
        if (out) out[relevant] = id;
        relevant++;
    }
    return relevant;
}

static cw_status count_users(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const showing *s = arg;
    int32_t *shown = cwi_rooms_enter(s->rooms);
    (void)chunk;
    for (int64_t u = begin; u < end; u++) s->start[u + 1] = show_user(s, u, shown, NULL);
    cwi_rooms_leave(s->rooms, shown);
    return CW_OK;
}

static cw_status fill_users(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const showing *s = arg;
    int32_t *shown = cwi_rooms_enter(s->rooms);
    (void)chunk;
    for (int64_t u = begin; u < end; u++) {
        show_user(s, u, shown, s->out->item + s->start[u]);
        for (int64_t k = s->start[u]; k < s->start[u + 1]; k++) s->out->user[k] = (int32_t)u;
    }
    cwi_rooms_leave(s->rooms, shown);
    return CW_OK;
}

/* The most items of a user that have to be drawn again. */
static int64_t longest_row(const cwi_simulation *sim)
{
    int64_t longest = 0;
    if (sim->first == 0) return longest; /* all are here */
    for (int64_t u = 0; u < sim->plan.n_users; u++)
        if (sim->start[u + 1] - sim->start[u] > longest)
            longest = sim->start[u + 1] - sim->start[u];
    return longest;
}

static cw_status open_showing(cw_context *ctx, showing *s, int32_t n_users)
{
    int32_t all = s->sim->plan.n_items, place = 0;
    size_t room = (size_t)s->sim->plan.n_shown + (size_t)longest_row(s->sim);
    s->place = cwi_pile_add(ctx, &s->pile, (size_t)all, sizeof *s->place);
    s->id = cwi_pile_add(ctx, &s->pile, (size_t)s->n_items, sizeof *s->id);
    s->start = cwi_pile_add_zero(ctx, &s->pile, (size_t)n_users + 1, sizeof *s->start);
    CW_PASS(s->pile.status);
    CW_PASS(cwi_rooms_create(ctx, room * sizeof *s->id, &s->rooms));
    for (int32_t i = 0; i < all; i++) s->place[i] = -1;
    for (int32_t k = 0; k < s->n_items; k++) s->place[s->items[k]] = k;
    for (int32_t i = 0; i < all; i++) {
        if (s->place[i] < 0) continue;
        s->id[place] = s->place[i];
        s->place[i] = place++;
    }
    return CW_OK;
}

cw_status cwi_simulation_test(cw_context *ctx, const cwi_simulation *sim, const int32_t *users,
                              int32_t n_users, const int32_t *items, int32_t n_items,
                              cwi_pairs *out)
{
    showing s = {.sim = sim, .users = users, .items = items, .n_items = n_items, .out = out};
    cw_status status = CW_OK;

    if (sim->plan.n_shown == 0) return CW_OK;
    CW_TRY(open_showing(ctx, &s, n_users));
    CW_TRY(cwi_pool_for(ctx, n_users, CWI_SIM_CHUNK, count_users, &s));
    for (int64_t u = 0; u < n_users; u++) s.start[u + 1] += s.start[u];
    CW_TRY(cwi_pairs_create(ctx, s.start[n_users], out));
    CW_TRY(cwi_pool_for(ctx, n_users, CWI_SIM_CHUNK, fill_users, &s));
done:
    cwi_rooms_free(s.rooms);
    cwi_pile_clear(&s.pile);
    return status;
}
