/* simulation.h - the steps of drawing a dataset from the exposure model. */
#ifndef CWI_PREPARE_SIMULATION_H
#define CWI_PREPARE_SIMULATION_H

#include "core/mem.h"
#include "prepare/truth.h"

/* The options of the simulator as numbers. */
typedef struct cwi_simulation_plan {
    int32_t n_users, n_items, dim;
    int64_t interactions; /* expected number; 0 leaves it to the calibration */
    int32_t n_shown;      /* items of the uniform test shown to every user */
    double alpha, popularity, activity, quality, quality_popularity, violation, sharpness, relevant;
    uint64_t seed;
} cwi_simulation_plan;

/* Everything that was drawn, in the simulator's own ids. */
typedef struct cwi_simulation {
    cwi_simulation_plan plan;
    cwi_truth *truth;
    int32_t *ranked;       /* [n_items] items by falling propensity */
    double *log_chance;    /* [n_items] log of the propensity of ranked[k] */
    double activity_scale; /* c of user_propensity = min(1, c * activity) */
    int64_t *start;        /* [n_users + 1] where each user's items start */
    int32_t *item;         /* items of users first <= u < end, each user's ascending */
    int64_t first, end;    /* users whose items are here now */
    cwi_pile pile;         /* of the items */
} cwi_simulation;

/* Users in one chunk of a parallel loop. */
enum { CWI_SIM_CHUNK = 128 };

/*
 * Draw users and items: the truth but for its offset, with user_propensity not scaled yet (the
 * activity of each user), and the items ranked.
 * The simulation must be zeroed but for its plan; clear it also after a failure.
 */
cw_status cwi_simulation_populate(cw_context *ctx, cwi_simulation *sim);

/* Find the offset and the activity scale that give the relevance and the number of interactions
 * asked for, and scale user_propensity.  CW_BAD_ARG when that number cannot be reached. */
cw_status cwi_simulation_calibrate(cw_context *ctx, cwi_simulation *sim);

/* P(exposed | relevant) / relevance^alpha of ranked[rank], for a user of that propensity and
 * conformity; it falls with the rank. */
double cwi_simulation_chance(const cwi_simulation *sim, double propensity, double conformity,
                             int64_t rank);

/* relevance^(1 + alpha), the share of such exposures that become interactions. */
double cwi_simulation_uptake(const cwi_simulation *sim, double relevance);

/* Count the interactions of every user: fill start. */
cw_status cwi_simulation_count(cw_context *ctx, cwi_simulation *sim);

/* Draw those of the users from sim->end on, as many users as have at most so many together, but at
 * least one; those of the users before are gone then. */
cw_status cwi_simulation_draw(cw_context *ctx, cwi_simulation *sim, int64_t most);

/* Items of a user: where they are here, or drawn into room, which has room for them. */
const int32_t *cwi_simulation_items(const cwi_simulation *sim, int64_t user, int32_t *room);

/*
 * Show every kept user plan.n_shown kept items that they have not interacted with, drawn uniformly
 * without replacement (all of them when there are fewer), and keep the relevant ones.
 *   users  [n_users] the simulator's id of every kept user; items the same
 *   out    pairs of positions in these lists, ordered by user
 */
cw_status cwi_simulation_test(cw_context *ctx, const cwi_simulation *sim, const int32_t *users,
                              int32_t n_users, const int32_t *items, int32_t n_items,
                              cwi_pairs *out);

void cwi_simulation_clear(cwi_simulation *sim);

#endif
