/* row.c - the runs of a row. */
#include "core/json.h"
#include "core/text.h"
#include "experiment/plan.h"
#include "registry/registry.h"

static cw_status assign_all(cw_context *ctx, cw_options *options, const json_t *values)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)values, name, value)
    {
        char text[256];
        if (cwi_json_to_text(value, text, sizeof text))
            CW_PASS(cwi_options_assign(ctx, options, name, text));
    }
    return CW_OK;
}

static cw_status assign_whole(cw_context *ctx, cw_options *options, const char *name, int64_t value)
{
    char text[CWI_NUMBER_BYTES];
    cwi_print_int(value, text);
    return cwi_options_assign(ctx, options, name, text);
}

cw_status cwi_row_options(cw_context *ctx, const cwi_plan_row *row, const json_t *candidate,
                          int64_t seed, int64_t epochs, cw_options **out)
{
    cw_status status;
    *out = NULL;
    CW_TRY(cwi_train_options(ctx, out));
    CW_TRY(cwi_options_assign(ctx, *out, "method", row->method));
    CW_TRY(cwi_options_assign(ctx, *out, "backbone", row->backbone));
    CW_TRY(assign_all(ctx, *out, row->options));
    CW_TRY(assign_all(ctx, *out, candidate));
    CW_TRY(assign_whole(ctx, *out, "seed", seed));
    if (epochs > 0) CW_TRY(assign_whole(ctx, *out, "epochs", epochs));
done:
    if (status != CW_OK) {
        cw_options_free(*out);
        *out = NULL;
    }
    return status;
}

static bool has_seed(const cwi_plan_row *row, int64_t seed)
{
    for (size_t k = 0; k < json_array_size(row->seeds); k++)
        if (json_integer_value(json_array_get(row->seeds, k)) == seed) return true;
    return false;
}

int64_t cwi_row_runs(const cwi_plan_row *row)
{
    size_t candidates = json_array_size(row->candidates);
    int64_t runs = (int64_t)json_array_size(row->seeds);
    if (row->tuning.kind == CWI_TUNE_RACE) candidates = (size_t)row->tuning.draws;
    for (int rung = 0; rung < row->tuning.n_rungs && candidates > 1; rung++) {
        runs += (int64_t)candidates;
        candidates = cwi_survivors(candidates, row->tuning.keep);
    }
    if (candidates <= 1) return runs;
    /* the winner's tuning run is also its run with that seed */
    return runs + (int64_t)candidates - (has_seed(row, row->tuning.seed) ? 1 : 0);
}
