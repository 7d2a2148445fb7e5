/* population.c - the users and items of a simulation. */
#include <math.h>

#include "core/elementary.h"
#include "core/pool.h"
#include "core/rng.h"
#include "core/smallest.h"
#include "prepare/simulation.h"

/* What differs between users comes first in a stream, so that it does not depend on dim. */
static cw_status draw_users(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    cwi_simulation *sim = arg;
    cwi_truth *truth = sim->truth;

    (void)chunk;
    for (int64_t u = begin; u < end; u++) {
        cwi_rng rng;
        float *factor = truth->user_factors + u * truth->dim;
        cwi_rng_init(&rng, sim->plan.seed, CWI_RNG_SIM_USER, (uint64_t)u);
        truth->user_propensity[u] = (float)cwi_exp(sim->plan.activity * cwi_rng_normal(&rng));
        truth->user_conformity[u] = (float)cwi_exp(sim->plan.violation * cwi_rng_normal(&rng));
        for (int32_t d = 0; d < truth->dim; d++) factor[d] = (float)cwi_rng_normal(&rng);
    }
    return CW_OK;
}

/* The scales of the model are baked into the items.  `popularity` receives what ranks them. */
static void draw_items(const cwi_simulation *sim, double *popularity)
{
    const cwi_simulation_plan *plan = &sim->plan;
    cwi_truth *truth = sim->truth;
    double common = plan->sharpness * sqrt(plan->quality);
    double personal = plan->sharpness * sqrt((1.0 - plan->quality) / plan->dim);
    double shared = plan->quality_popularity;

    for (int64_t i = 0; i < plan->n_items; i++) {
        cwi_rng rng;
        float *factor = truth->item_factors + i * truth->dim;
        cwi_rng_init(&rng, plan->seed, CWI_RNG_SIM_ITEM, (uint64_t)i);
        double quality = cwi_rng_normal(&rng);
        popularity[i] = shared * quality + sqrt(1.0 - shared * shared) * cwi_rng_normal(&rng);
        truth->item_quality[i] = (float)(common * quality);
        for (int32_t d = 0; d < truth->dim; d++)
            factor[d] = (float)(personal * cwi_rng_normal(&rng));
    }
}

/* The x that a standard normal number exceeds with probability tail in (0, 1), by halving. */
static double normal_quantile(double tail)
{
    double low = -40.0, high = 40.0;
    while (high - low > 1e-12) {
        double middle = 0.5 * (low + high);
        if (0.5 * cwi_erfc(middle * sqrt(0.5)) > tail)
            low = middle;
        else
            high = middle;
    }
    return 0.5 * (low + high);
}

/*
 * Rank the items and give rank k the k-th quantile of the log-normal distribution, over the
 * first.  Quantiles rather than free draws, because the largest of many free draws varies so
 * much that it alone would decide how many interactions can be reached with a seed.
 */
static cw_status rank_items(cw_context *ctx, cwi_simulation *sim, const double *popularity)
{
    int32_t n_items = sim->plan.n_items;
    double most = normal_quantile(0.5 / (double)n_items);
    cwi_ordered *order = cwi_alloc(ctx, (size_t)n_items, sizeof *order);

    if (!order) return CW_NO_MEMORY;
    for (int32_t i = 0; i < n_items; i++) order[i] = (cwi_ordered){-popularity[i], i};
    cwi_order(order, (size_t)n_items);
    for (int32_t k = 0; k < n_items; k++) {
        double below = most - normal_quantile((k + 0.5) / (double)n_items);
        float propensity = (float)cwi_exp(-sim->plan.popularity * below);
        sim->ranked[k] = (int32_t)order[k].id;
        sim->truth->item_propensity[order[k].id] = propensity;
        sim->log_chance[k] = cwi_ln((double)propensity);
    }
    cwi_free(order);
    return CW_OK;
}

cw_status cwi_simulation_populate(cw_context *ctx, cwi_simulation *sim)
{
    const cwi_simulation_plan *plan = &sim->plan;
    size_t n_items = (size_t)plan->n_items;

    CW_PASS(cwi_truth_create(ctx, plan->n_users, plan->n_items, plan->dim, &sim->truth));
    sim->truth->alpha = plan->alpha;
    sim->ranked = cwi_pile_add(ctx, &sim->pile, n_items, sizeof *sim->ranked);
    sim->log_chance = cwi_pile_add(ctx, &sim->pile, n_items, sizeof *sim->log_chance);
    double *popularity = cwi_pile_add(ctx, &sim->pile, n_items, sizeof *popularity);
    CW_PASS(sim->pile.status);
    CW_PASS(cwi_pool_for(ctx, plan->n_users, CWI_SIM_CHUNK, draw_users, sim));
    draw_items(sim, popularity);
    return rank_items(ctx, sim, popularity);
}

double cwi_simulation_chance(const cwi_simulation *sim, double propensity, double conformity,
                             int64_t rank)
{
    if (conformity == 1.0)
        return propensity * (double)sim->truth->item_propensity[sim->ranked[rank]];
    return propensity * cwi_exp(conformity * sim->log_chance[rank]);
}

double cwi_simulation_uptake(const cwi_simulation *sim, double relevance)
{
    double alpha = sim->truth->alpha;
    return alpha == 0.0 ? relevance : cwi_pow(relevance, 1.0 + alpha);
}

void cwi_simulation_clear(cwi_simulation *sim)
{
    cwi_truth_free(sim->truth);
    cwi_pile_clear(&sim->pile);
    cwi_free(sim->start);
    cwi_free(sim->item);
    *sim = (cwi_simulation){.plan = sim->plan};
}
