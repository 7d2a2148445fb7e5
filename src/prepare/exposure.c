/*
 * exposure.c - the interactions of a simulation.
 *
 * Every pair is an independent Bernoulli draw of probability chance * uptake, where the chance
 * (propensities alone) falls along the ranked items.  Instead of visiting all pairs, jump to the
 * next success of the last chance seen, which bounds all later ones, and keep it with the ratio
 * of the true probability to that bound (Miller and Hagberg, WAW 2011).  The result has exactly
 * the distribution of the n_users * n_items draws; the time is that of the exposures.
 *
 * A user's stream of random numbers is theirs alone, so it can be drawn twice: once to count, once
 * to fill an array of the right size.
 */
#include <math.h>

#include "core/elementary.h"
#include "core/mem.h"
#include "core/pool.h"
#include "core/rng.h"
#include "prepare/simulation.h"

enum { USERS_PER_PROGRESS = 128 * CWI_SIM_CHUNK };

/* Items of one user by rank; out may be NULL to count them only. */
static int64_t draw_user(const cwi_simulation *sim, int64_t u, int32_t *out)
{
    const cwi_truth *truth = sim->truth;
    double propensity = (double)truth->user_propensity[u];
    double conformity = (double)truth->user_conformity[u];
    double bound = cwi_simulation_chance(sim, propensity, conformity, 0);
    int64_t n_items = sim->plan.n_items, count = 0;
    cwi_rng rng;

    cwi_rng_init(&rng, sim->plan.seed, CWI_RNG_SIM_EXPOSURE, (uint64_t)u);
    for (int64_t rank = 0; rank < n_items; rank++) {
        double failures = floor(cwi_ln(cwi_rng_real(&rng)) / cwi_log1p(-bound)); /* infinite at 0 */
        if (!(failures < (double)(n_items - rank))) break;
        rank += (int64_t)failures;
        double chance = cwi_simulation_chance(sim, propensity, conformity, rank);
        double level = bound * cwi_rng_real(&rng);
        bound = chance;
        if (level >= chance) continue;
        int32_t i = sim->ranked[rank];
        if (level >= chance * cwi_simulation_uptake(sim, cwi_truth_relevance(truth, (int32_t)u, i)))
            continue;
        if (out) out[count] = i;
        count++;
    }
    return count;
}

/* Shell sort: in place, and a user's list is short. */
static void sort(int32_t *ids, int64_t count)
{
    int64_t gap = 1;
    while (gap < count / 3) gap = 3 * gap + 1;
    for (; gap > 0; gap /= 3)
        for (int64_t j = gap; j < count; j++) {
            int32_t id = ids[j];
            int64_t at = j;
            for (; at >= gap && ids[at - gap] > id; at -= gap) ids[at] = ids[at - gap];
            ids[at] = id;
        }
}

typedef struct block {
    cwi_simulation *sim;
    int64_t first; /* user */
} block;

static cw_status count_users(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const block *b = arg;
    (void)chunk;
    for (int64_t u = b->first + begin; u < b->first + end; u++)
        b->sim->start[u + 1] = draw_user(b->sim, u, NULL);
    return CW_OK;
}

static cw_status fill_users(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    const block *b = arg;
    const cwi_simulation *sim = b->sim;
    (void)chunk;
    for (int64_t u = b->first + begin; u < b->first + end; u++) {
        int32_t *row = sim->item + (sim->start[u] - sim->start[sim->first]);
        sort(row, draw_user(sim, u, row));
    }
    return CW_OK;
}

static cw_status for_users(cw_context *ctx, cwi_simulation *sim, const char *stage, cwi_chunk_fn fn)
{
    int64_t n_users = sim->plan.n_users;
    cw_status status = CW_OK;

    for (int64_t u = sim->first; u < sim->end && status == CW_OK; u += USERS_PER_PROGRESS) {
        block b = {.sim = sim, .first = u};
        int64_t left = sim->end - u, count = left < USERS_PER_PROGRESS ? left : USERS_PER_PROGRESS;
        status = cwi_progress(ctx, stage, u, n_users);
        if (status == CW_OK) status = cwi_pool_for(ctx, count, CWI_SIM_CHUNK, fn, &b);
    }
    return status;
}

cw_status cwi_simulation_count(cw_context *ctx, cwi_simulation *sim)
{
    int64_t n_users = sim->plan.n_users;

    sim->start = cwi_alloc_zero(ctx, (size_t)n_users + 1, sizeof *sim->start);
    if (!sim->start) return CW_NO_MEMORY;
    sim->end = n_users;
    CW_PASS(for_users(ctx, sim, "counting interactions", count_users));
    for (int64_t u = 0; u < n_users; u++) sim->start[u + 1] += sim->start[u];
    sim->end = 0;
    return CW_OK;
}

cw_status cwi_simulation_draw(cw_context *ctx, cwi_simulation *sim, int64_t most)
{
    int64_t first = sim->end, end = first + 1;
    while (end < sim->plan.n_users && sim->start[end + 1] - sim->start[first] <= most) end++;
    cwi_free(sim->item);
    sim->item = cwi_alloc(ctx, (size_t)(sim->start[end] - sim->start[first]), sizeof *sim->item);
    if (!sim->item) return CW_NO_MEMORY;
    sim->first = first;
    sim->end = end;
    return for_users(ctx, sim, "drawing interactions", fill_users);
}

const int32_t *cwi_simulation_items(const cwi_simulation *sim, int64_t user, int32_t *room)
{
    if (user >= sim->first && user < sim->end)
        return sim->item + (sim->start[user] - sim->start[sim->first]);
    sort(room, draw_user(sim, user, room));
    return room;
}
