/*
 * calibration.c - offset and activity scale of a simulation.
 *
 * Both are solved on one sample of pairs.  Every user gets the same number of items, taken at
 * equal steps along the items ranked by propensity (systematic sampling).  The steps give half
 * their weight to all items alike and half in proportion to the propensity: the first serves the
 * mean relevance, the second the number of interactions, most of which come from few items.
 * Dividing by the expected number of times an item is taken makes the sums unbiased.
 * Small simulations take every pair once, so that their calibration is exact.
 */
#include <inttypes.h>
#include <math.h>

#include "core/elementary.h"
#include "core/mem.h"
#include "core/pool.h"
#include "core/rng.h"
#include "prepare/simulation.h"

enum { SAMPLE_PAIRS = 1 << 21, HALVINGS = 60 };

typedef struct calibration {
    cwi_simulation *sim;
    int64_t per_user;
    bool is_complete;  /* every pair is in the sample */
    double *reach;     /* [n_items] expected times that items up to this rank are taken */
    int32_t *rank;     /* [n_users][per_user] */
    double *taste;     /* [n_users][per_user] */
    double *user_sum;  /* [n_users] see expect_user */
    double *chunk_sum; /* [chunks] */
    double *chunk_weight;
    double offset; /* being tried */
    cwi_pile pile;
} calibration;

/* Expected number of times that the item of this rank is taken for one user. */
static double times_taken(const calibration *cal, int64_t rank)
{
    return cal->reach[rank] - (rank > 0 ? cal->reach[rank - 1] : 0.0);
}

static void plan_steps(calibration *cal)
{
    const cwi_simulation *sim = cal->sim;
    int64_t n_items = sim->plan.n_items;
    double total = 0.0, reached = 0.0;

    for (int64_t k = 0; k < n_items; k++) total += cwi_exp(sim->log_chance[k]);
    for (int64_t k = 0; k < n_items; k++) {
        double share = 0.5 / (double)n_items + 0.5 * cwi_exp(sim->log_chance[k]) / total;
        reached += cal->is_complete ? 1.0 : share * (double)cal->per_user;
        cal->reach[k] = reached;
    }
}

/* First rank whose reach is above the position. */
static int32_t find_rank(const calibration *cal, double position)
{
    int32_t low = 0, high = cal->sim->plan.n_items - 1;
    while (low < high) {
        int32_t middle = low + (high - low) / 2;
        if (cal->reach[middle] > position)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static cw_status sample_users(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    calibration *cal = arg;
    const cwi_simulation *sim = cal->sim;

    (void)chunk;
    for (int64_t u = begin; u < end; u++) {
        cwi_rng rng;
        cwi_rng_init(&rng, sim->plan.seed, CWI_RNG_SIM_CALIBRATION, (uint64_t)u);
        double first = cwi_rng_real(&rng);
        for (int64_t j = 0; j < cal->per_user; j++) {
            int64_t slot = u * cal->per_user + j;
            cal->rank[slot] = find_rank(cal, first + (double)j);
            cal->taste[slot] =
                cwi_truth_taste(sim->truth, (int32_t)u, sim->ranked[cal->rank[slot]]);
        }
    }
    return CW_OK;
}

static double relevance_at(double offset, double taste)
{
    return 1.0 / (1.0 + cwi_exp(-(offset + taste)));
}

static cw_status sum_relevance(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    calibration *cal = arg;
    double sum = 0.0, weights = 0.0;

    for (int64_t slot = begin * cal->per_user; slot < end * cal->per_user; slot++) {
        double weight = 1.0 / times_taken(cal, cal->rank[slot]);
        sum += weight * relevance_at(cal->offset, cal->taste[slot]);
        weights += weight;
    }
    cal->chunk_sum[chunk] = sum;
    cal->chunk_weight[chunk] = weights;
    return CW_OK;
}

static cw_status mean_relevance(cw_context *ctx, calibration *cal, double *out)
{
    int64_t n_users = cal->sim->plan.n_users, chunks = cwi_pool_chunks(n_users, CWI_SIM_CHUNK);
    double sum = 0.0, weights = 0.0;
    cw_status status = cwi_pool_for(ctx, n_users, CWI_SIM_CHUNK, sum_relevance, cal);

    for (int64_t c = 0; c < chunks && status == CW_OK; c++) {
        sum += cal->chunk_sum[c];
        weights += cal->chunk_weight[c];
    }
    *out = sum / weights;
    return status;
}

/* The mean rises with the offset, so halve an interval until it is as narrow as a double needs
 * for seven digits of the mean. */
static cw_status solve_offset(cw_context *ctx, calibration *cal)
{
    const double precise = 1e-8;
    double high = 20.0 + 10.0 * cal->sim->plan.sharpness, low = -high, mean;
    cw_status status = CW_OK;

    while (high - low > precise && status == CW_OK) {
        cal->offset = 0.5 * (low + high);
        status = mean_relevance(ctx, cal, &mean);
        if (mean < cal->sim->plan.relevant)
            low = cal->offset;
        else
            high = cal->offset;
    }
    cal->sim->truth->offset = cal->offset;
    return status;
}

/* Interactions expected of each user, were their propensity 1. */
static cw_status expect_user(void *arg, int64_t chunk, int64_t begin, int64_t end)
{
    calibration *cal = arg;
    const cwi_simulation *sim = cal->sim;

    (void)chunk;
    for (int64_t u = begin; u < end; u++) {
        double sum = 0.0;
        for (int64_t slot = u * cal->per_user; slot < (u + 1) * cal->per_user; slot++) {
            int32_t rank = cal->rank[slot];
            double chance =
                cwi_simulation_chance(sim, 1.0, (double)sim->truth->user_conformity[u], rank);
            double relevance = relevance_at(sim->truth->offset, cal->taste[slot]);
            sum += chance * cwi_simulation_uptake(sim, relevance) / times_taken(cal, rank);
        }
        cal->user_sum[u] = sum;
    }
    return CW_OK;
}

static double propensity_at(double scale, float activity)
{
    return fmin(1.0, scale * (double)activity);
}

static double expected_count(const calibration *cal, double scale)
{
    const float *activity = cal->sim->truth->user_propensity;
    double sum = 0.0;
    for (int64_t u = 0; u < cal->sim->plan.n_users; u++)
        sum += propensity_at(scale, activity[u]) * cal->user_sum[u];
    return sum;
}

/* Of the largest possible number of interactions, drawn when no number is asked for: many, but few
 * enough that users still differ in activity. */
static const double usual_share = 0.6;

static cw_status solve_scale(cw_context *ctx, calibration *cal)
{
    const cwi_simulation_plan *plan = &cal->sim->plan;
    float *activity = cal->sim->truth->user_propensity;
    float least = activity[0];

    for (int64_t u = 1; u < plan->n_users; u++) least = fminf(least, activity[u]);
    double low = 0.0, high = 1.0 / (double)least, most = expected_count(cal, high);
    double wanted = plan->interactions > 0 ? (double)plan->interactions : usual_share * most;
    if (wanted > most)
        return cwi_fail(ctx, CW_BAD_ARG,
                        "--interactions is %" PRId64 "; with these options at most %.0f can be "
                        "reached (a larger --relevant or a smaller --popularity or --alpha "
                        "allows more)",
                        plan->interactions, floor(most));
    for (int k = 0; k < HALVINGS; k++) {
        double middle = 0.5 * (low + high);
        if (expected_count(cal, middle) < wanted)
            low = middle;
        else
            high = middle;
    }
    for (int64_t u = 0; u < plan->n_users; u++)
        activity[u] = (float)propensity_at(high, activity[u]);
    cal->sim->activity_scale = high;
    return CW_OK;
}

static cw_status open_calibration(cw_context *ctx, calibration *cal)
{
    size_t n_users = (size_t)cal->sim->plan.n_users, n_items = (size_t)cal->sim->plan.n_items;
    size_t chunks = (size_t)cwi_pool_chunks(cal->sim->plan.n_users, CWI_SIM_CHUNK);

    cal->per_user = cwi_pool_chunks(SAMPLE_PAIRS, cal->sim->plan.n_users);
    cal->is_complete = cal->per_user >= cal->sim->plan.n_items;
    if (cal->is_complete) cal->per_user = cal->sim->plan.n_items;
    size_t slots = n_users * (size_t)cal->per_user;
    cal->reach = cwi_pile_add(ctx, &cal->pile, n_items, sizeof *cal->reach);
    cal->rank = cwi_pile_add(ctx, &cal->pile, slots, sizeof *cal->rank);
    cal->taste = cwi_pile_add(ctx, &cal->pile, slots, sizeof *cal->taste);
    cal->user_sum = cwi_pile_add(ctx, &cal->pile, n_users, sizeof *cal->user_sum);
    cal->chunk_sum = cwi_pile_add(ctx, &cal->pile, chunks, sizeof *cal->chunk_sum);
    cal->chunk_weight = cwi_pile_add(ctx, &cal->pile, chunks, sizeof *cal->chunk_weight);
    return cal->pile.status;
}

cw_status cwi_simulation_calibrate(cw_context *ctx, cwi_simulation *sim)
{
    calibration cal = {.sim = sim};
    int64_t n_users = sim->plan.n_users;
    cw_status status;

    CW_TRY(open_calibration(ctx, &cal));
    plan_steps(&cal);
    CW_TRY(cwi_pool_for(ctx, n_users, CWI_SIM_CHUNK, sample_users, &cal));
    CW_TRY(solve_offset(ctx, &cal));
    CW_TRY(cwi_pool_for(ctx, n_users, CWI_SIM_CHUNK, expect_user, &cal));
    CW_TRY(solve_scale(ctx, &cal));
done:
    cwi_pile_clear(&cal.pile);
    return status;
}
