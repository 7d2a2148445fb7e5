/* simulate.c - a dataset whose true relevances are known; docs/simulator.md has the model. */
#include <jansson.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/option_rows.h"
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

/* Rows by user, then by item; raw ids are the simulator's numbers. */
static cw_status fill_rows(cw_context *ctx, const cwi_simulation *sim, int32_t *known,
                           cw_interactions *rows)
{
    char digits[CWI_NUMBER_BYTES];
    int32_t user;

    for (int32_t u = 0; u < sim->plan.n_users; u++) {
        if (sim->start[u] == sim->start[u + 1]) continue;
        CW_PASS(cwi_idmap_add(ctx, &rows->users, digits, cwi_print_int(u, digits), &user));
        for (int64_t k = sim->start[u]; k < sim->start[u + 1]; k++) {
            rows->user[k] = user;
            CW_PASS(name_id(ctx, &rows->items, known, sim->item[k], &rows->item[k]));
        }
    }
    rows->count = sim->start[sim->plan.n_users];
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

static cw_status make_rows(cw_context *ctx, const cwi_simulation *sim, const cw_options *options,
                           cw_interactions **out)
{
    size_t count = (size_t)sim->start[sim->plan.n_users];
    cw_interactions *rows = cwi_alloc_zero(ctx, 1, sizeof *rows);
    int32_t *known = NULL;
    cw_status status;

    if (!rows) return CW_NO_MEMORY;
    known = cwi_alloc_zero(ctx, (size_t)sim->plan.n_items, sizeof *known);
    rows->user = cwi_alloc(ctx, count, sizeof *rows->user);
    rows->item = cwi_alloc(ctx, count, sizeof *rows->item);
    CW_TRY(known && rows->user && rows->item ? CW_OK : CW_NO_MEMORY);
    CW_TRY(fill_rows(ctx, sim, known, rows));
    CW_TRY(describe(ctx, sim, options, rows));
    *out = rows;
    rows = NULL;
done:
    cw_interactions_free(rows);
    cwi_free(known);
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
    CW_TRY(cwi_simulation_populate(ctx, &sim));
    CW_TRY(cwi_simulation_calibrate(ctx, &sim));
    CW_TRY(cwi_simulation_draw(ctx, &sim));
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
