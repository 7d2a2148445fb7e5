/* simulate.c - a dataset whose true relevances are known; docs/simulator.md has the model. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/option_rows.h"
#include "core/room.h"
#include "core/text.h"
#include "import/interactions.h"
#include "prepare/simulation.h"

const cw_option_info cwi_simulate_options[] = {
    WHOLE("users", "4000", 1, 2147483646, "number of users before the core filter"),
    WHOLE("items", "2000", 1, 2147483646, "number of items before the core filter"),
    WHOLE("interactions", "", 1, 0x1p53,
          "expected number of interactions before the core filter; 0.6 of the largest possible "
          "unless given"),
    WHOLE("dim", "8", 1, 4096, "number of hidden traits in which personal taste differs"),
    REAL("alpha", "0.5", 0, 10,
         "how much relevant pairs are favoured by the exposure, which grows with "
         "relevance^alpha"),
    REAL("popularity", "1", 0, 5,
         "popularity bias: the standard deviation of the log of the item propensities"),
    REAL("activity", "1", 0, 5,
         "how much users differ in activity: the standard deviation of its log"),
    REAL("quality", "0.3", 0, 1,
         "share of the variance of true preference that is common to all users"),
    REAL("quality-popularity", "0", -1, 1,
         "correlation between the quality of an item and the log of its propensity"),
    REAL("violation", "0", 0, 2,
         "how much users differ in following popularity; 0 is the product form that "
         "unbiasedness of CPR assumes"),
    REAL("sharpness", "4", 0, 50,
         "standard deviation of the logit of relevance: large values make it nearly 0 or 1"),
    REAL_BETWEEN("relevant", "0.3", 0, 1, "mean relevance over all pairs"),
    WHOLE("uniform-test", "0", 0, 10000,
          "items shown at random to every user for a second test set free of exposure bias"),
    SEED("same seed, same data, on any number of threads"),
    {0}};

static cwi_simulation_plan read_plan(const cw_options *options)
{
    return (cwi_simulation_plan){
        .n_users = (int32_t)cwi_options_integer(options, "users"),
        .n_items = (int32_t)cwi_options_integer(options, "items"),
        .dim = (int32_t)cwi_options_integer(options, "dim"),
        .interactions = cwi_options_integer(options, "interactions"), /* 0 when not given */
        .n_shown = (int32_t)cwi_options_integer(options, "uniform-test"),
        .alpha = cwi_options_real(options, "alpha"),
        .popularity = cwi_options_real(options, "popularity"),
        .activity = cwi_options_real(options, "activity"),
        .quality = cwi_options_real(options, "quality"),
        .quality_popularity = cwi_options_real(options, "quality-popularity"),
        .violation = cwi_options_real(options, "violation"),
        .sharpness = cwi_options_real(options, "sharpness"),
        .relevant = cwi_options_real(options, "relevant"),
        .seed = (uint64_t)cwi_options_integer(options, "seed"),
    };
}

/* ---- what was drawn, as if it had been read from a file ---------------------- */

/* Number of a simulated id, new or not; `known` holds it plus 1, 0 when it is new. */
static cw_status name_id(cw_context *ctx, cwi_idmap *map, int32_t *known, int32_t id, int32_t *out)
{
    char digits[CWI_NUMBER_BYTES];
    cw_status status = CW_OK;

    if (known[id] == 0) {
        status = cwi_idmap_add(ctx, map, digits, cwi_print_int(id, digits), out);
        known[id] = *out + 1;
    }
    *out = known[id] - 1;
    return status;
}

/* Rows on their way to where they are kept. */
typedef struct filling {
    const cwi_simulation *sim;
    cw_interactions *rows;
    cwi_reel to;
    int32_t *known; /* of name_id, [n_items] */
} filling;

/* Rows of the users whose items are here, by user, then by item; raw ids are the simulator's
 * numbers. */
static cw_status fill_rows(cw_context *ctx, filling *f)
{
    const cwi_simulation *sim = f->sim;
    char digits[CWI_NUMBER_BYTES];
    int32_t user, item;

    for (int64_t u = sim->first; u < sim->end; u++) {
        const int32_t *items = cwi_simulation_items(sim, u, NULL);
        int64_t n = sim->start[u + 1] - sim->start[u];
        if (n == 0) continue;
        CW_PASS(cwi_idmap_add(ctx, &f->rows->users, digits, cwi_print_int(u, digits), &user));
        for (int64_t k = 0; k < n; k++) {
            CW_PASS(name_id(ctx, &f->rows->items, f->known, items[k], &item));
            CW_PASS(cwi_reel_put(ctx, &f->to, user, item));
        }
    }
    return CW_OK;
}

static cw_status describe(cw_context *ctx, const cwi_simulation *sim, const cw_options *options,
                          cw_interactions *rows)
{
    const cwi_simulation_plan *plan = &sim->plan;
    json_t *root = json_pack(
        "{s:{s:o, s:f, s:f, s:I, s:i, s:i}}", "simulation", "options", cwi_json_options(options),
        "offset", sim->truth->offset, "activity_scale", sim->activity_scale, "interactions",
        (json_int_t)rows->count, "users_without_interactions", plan->n_users - rows->users.count,
        "items_without_interactions", plan->n_items - rows->items.count);
    return cwi_json_text(ctx, root, &rows->source);
}

/* What a row takes in all in memory; users with their truth, and items. */
enum { BYTES_A_ROW = 34, BYTES_AN_ID = 192, BYTES_A_TRAIT = 8 };

static int64_t id_bytes(const cwi_simulation_plan *plan)
{
    int64_t each = BYTES_AN_ID + (int64_t)plan->dim * BYTES_A_TRAIT;
    return ((int64_t)plan->n_users + plan->n_items) * each;
}

static cw_status check_ids(cw_context *ctx, const cwi_simulation_plan *plan)
{
    char what[100];
    snprintf(what, sizeof what, "%d users and %d items with %d traits each", plan->n_users,
             plan->n_items, plan->dim);
    return cwi_room_check(ctx, id_bytes(plan), what);
}

/* Arrays, or a file. */
static cw_status make_room(cw_context *ctx, const cwi_simulation *sim, filling *f)
{
    int64_t count = sim->start[sim->plan.n_users];
    cw_interactions *rows = f->rows;
    f->known = cwi_alloc_zero(ctx, (size_t)sim->plan.n_items, sizeof *f->known);
    if (!f->known) return CW_NO_MEMORY;
    if (!cwi_room_holds(ctx, count * BYTES_A_ROW + id_bytes(&sim->plan)))
        return cwi_spill_create(ctx, false, false, &rows->spill);
    rows->user = cwi_alloc(ctx, (size_t)count, sizeof *rows->user);
    rows->item = cwi_alloc(ctx, (size_t)count, sizeof *rows->item);
    return rows->user && rows->item ? CW_OK : CW_NO_MEMORY;
}

static cw_status make_rows(cw_context *ctx, cwi_simulation *sim, const cw_options *options,
                           cw_interactions **out)
{
    cw_interactions *rows = cwi_alloc_zero(ctx, 1, sizeof *rows);
    filling f = {.sim = sim, .rows = rows};
    cw_status status;

    if (!rows) return CW_NO_MEMORY;
    CW_TRY(make_room(ctx, sim, &f));
    f.to = CWI_REEL(rows);
    int64_t most = rows->spill ? cwi_room_share(ctx, 16) : INT64_MAX;
    while (sim->end < sim->plan.n_users) {
        CW_TRY(cwi_simulation_draw(ctx, sim, most));
        CW_TRY(fill_rows(ctx, &f));
    }
    CW_TRY(cwi_reel_end(ctx, &f.to));
    rows->count = f.to.count;
    CW_TRY(describe(ctx, sim, options, rows));
    *out = rows;
    rows = NULL;
done:
    cw_interactions_free(rows);
    cwi_free(f.known);
    return status;
}

/* ---- the truth in the dataset's ids ------------------------------------------ */

/* The simulator's ids of a dataset's ids: its raw ids are their digits. */
static int32_t *read_ids(cw_context *ctx, const cwi_idmap *map)
{
    int32_t *ids = cwi_alloc(ctx, (size_t)map->count, sizeof *ids);
    for (int32_t k = 0; ids && k < map->count; k++) {
        const char *text = cwi_idmap_text(map, k);
        int64_t id = 0;
        (void)cwi_parse_int(text, strlen(text), &id);
        ids[k] = (int32_t)id;
    }
    return ids;
}

static cw_status attach_truth(cw_context *ctx, const cwi_simulation *sim, cw_dataset *dataset)
{
    int32_t *users = read_ids(ctx, &dataset->users), *items = read_ids(ctx, &dataset->items);
    cw_status status;

    CW_TRY(users && items ? CW_OK : CW_NO_MEMORY);
    CW_TRY(cwi_truth_select(ctx, sim->truth, users, dataset->n_users, items, dataset->n_items,
                            &dataset->truth));
    CW_TRY(cwi_simulation_test(ctx, sim, users, dataset->n_users, items, dataset->n_items,
                               &dataset->truth->uniform));
done:
    cwi_free(users);
    cwi_free(items);
    return status;
}

static cw_status simulate(cw_context *ctx, const cw_options *options, const cw_options *split,
                          cw_dataset **out)
{
    cwi_simulation sim = {.plan = read_plan(options)};
    cw_interactions *rows = NULL;
    cw_status status;

    CW_TRY(cwi_progress(ctx, "simulating", 0, 0));
    CW_TRY(check_ids(ctx, &sim.plan));
    CW_TRY(cwi_simulation_populate(ctx, &sim));
    CW_TRY(cwi_simulation_calibrate(ctx, &sim));
    CW_TRY(cwi_simulation_count(ctx, &sim));
    CW_TRY(make_rows(ctx, &sim, options, &rows));
    CW_TRY(cw_dataset_prepare(ctx, rows, split, out));
    CW_TRY(attach_truth(ctx, &sim, *out));
done:
    cw_interactions_free(rows);
    cwi_simulation_clear(&sim);
    return status;
}

cw_status cw_dataset_simulate(cw_context *ctx, const cw_options *options, const cw_options *split,
                              cw_dataset **out)
{
    cw_options *defaults = NULL;
    cw_status status;

    cwi_begin(ctx);
    *out = NULL;
    CW_TRY(cwi_options_check(ctx, options, "simulate"));
    CW_TRY(cwi_options_check(ctx, split, "prepare"));
    if (!options) CW_TRY(cwi_options_create(ctx, "simulate", cwi_simulate_options, &defaults));
    CW_TRY(simulate(ctx, options ? options : defaults, split, out));
done:
    if (status != CW_OK) {
        cw_dataset_free(*out);
        *out = NULL;
    }
    cw_options_free(defaults);
    return status;
}
