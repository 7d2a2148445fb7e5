/* describe.c - a dataset in figures. */
#include <jansson.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/report.h"
#include "prepare/stats.h"

static const double usual_power = 0.5; /* of propensities, in the literature */

static const char *const part_name[CWI_PARTS] = {"train", "valid", "test"};

static cw_status add_parts(cw_context *ctx, const cw_dataset *dataset, json_t *root)
{
    cw_status status;
    int64_t rows = 0;
    json_t *parts = json_object(), *part;

    CW_TRY(cwi_report_put(ctx, root, "parts", parts));
    for (int p = 0; p < CWI_PARTS; p++) {
        if (!dataset->has_part[p]) continue;
        rows += dataset->part[p].count;
        CW_TRY(cwi_part_stats(ctx, dataset, (cw_part)p, &part));
        CW_TRY(cwi_report_put(ctx, parts, part_name[p], part));
    }
    CW_TRY(cwi_report_put(ctx, root, "interactions", json_integer(rows)));
    double pairs = (double)dataset->n_users * (double)dataset->n_items;
    CW_TRY(cwi_report_put(ctx, root, "density", json_real(pairs > 0 ? (double)rows / pairs : 0)));
    if (dataset->truth && dataset->truth->uniform.count > 0)
        CW_TRY(cwi_report_put(ctx, root, "uniform_test_rows",
                              json_integer(dataset->truth->uniform.count)));
done:
    return status;
}

static cw_status add_degrees(cw_context *ctx, const cw_dataset *dataset, json_t *root)
{
    cw_status status;
    const cwi_pairs *train = &dataset->part[CW_PART_TRAIN];
    json_t *stats;

    CW_TRY(cwi_degree_stats(ctx, train->user, train->count, dataset->n_users, &stats));
    CW_TRY(cwi_report_put(ctx, root, "user_degrees", stats));
    CW_TRY(cwi_degree_stats(ctx, train->item, train->count, dataset->n_items, &stats));
    CW_TRY(cwi_report_put(ctx, root, "item_degrees", stats));
    CW_TRY(cwi_propensity_stats(ctx, train->item, train->count, dataset->n_items, usual_power,
                                &stats));
    CW_TRY(cwi_report_put(ctx, root, "propensities", stats));
done:
    return status;
}

/* Held-out rows whose user or item has no train row cannot be learnt. */
static cw_status add_cold_rows(cw_context *ctx, const cw_dataset *dataset, const cwi_csr *train,
                               json_t *root)
{
    uint8_t *has_item = cwi_alloc_zero(ctx, (size_t)dataset->n_items, 1);
    int64_t cold = 0;

    if (!has_item) return CW_NO_MEMORY;
    const cwi_pairs *pairs = &dataset->part[CW_PART_TRAIN];
    for (int64_t k = 0; k < pairs->count; k++) has_item[pairs->item[k]] = 1;
    for (int p = CW_PART_VALID; p < CWI_PARTS; p++)
        for (int64_t k = 0; k < dataset->part[p].count; k++) {
            int32_t u = dataset->part[p].user[k];
            cold += train->start[u] == train->start[u + 1] || !has_item[dataset->part[p].item[k]];
        }
    cwi_free(has_item);
    return cwi_report_put(ctx, root, "cold_rows", json_integer(cold));
}

static cw_status add_acceptance(cw_context *ctx, const cw_dataset *dataset, const cwi_csr *train,
                                json_t *root)
{
    cw_status status;
    double rate, error;
    json_t *rates = json_object();

    CW_TRY(cwi_report_put(ctx, root, "cpr_acceptance", rates));
    for (int k = 2; k <= 4; k++) {
        const char name[] = {'k', (char)('0' + k), '\0'};
        CW_TRY(cwi_acceptance(ctx, &dataset->part[CW_PART_TRAIN], train, k, &rate, &error));
        CW_TRY(cwi_report_put(ctx, rates, name,
                              json_pack("{s:f, s:f}", "rate", rate, "error", error)));
    }
done:
    return status;
}

/* What needs the train part. */
static cw_status add_train(cw_context *ctx, const cw_dataset *dataset, json_t *root)
{
    cw_status status;
    const cwi_pairs *pairs = &dataset->part[CW_PART_TRAIN];
    cwi_csr train = {0};

    CW_TRY(add_degrees(ctx, dataset, root));
    CW_TRY(cwi_csr_create(ctx, pairs->user, pairs->item, pairs->count, dataset->n_users, &train));
    cwi_csr_sort(&train);
    CW_TRY(add_cold_rows(ctx, dataset, &train, root));
    CW_TRY(add_acceptance(ctx, dataset, &train, root));
done:
    cwi_csr_clear(&train);
    return status;
}

cw_status cw_dataset_describe(cw_context *ctx, const cw_dataset *dataset, char **json)
{
    cw_status status;
    json_t *root = json_object(), *origin;

    cwi_begin(ctx);
    *json = NULL;
    CW_TRY(cwi_report_put(ctx, root, "users", json_integer(dataset->n_users)));
    CW_TRY(cwi_report_put(ctx, root, "items", json_integer(dataset->n_items)));
    CW_TRY(add_parts(ctx, dataset, root));
    CW_TRY(cwi_report_put(ctx, root, "simulated", json_boolean(dataset->truth != NULL)));
    if (dataset->part[CW_PART_TRAIN].count > 0) CW_TRY(add_train(ctx, dataset, root));
    if (dataset->origin) {
        CW_TRY(cwi_json_reparse(ctx, dataset->origin, &origin));
        CW_TRY(cwi_report_put(ctx, root, "origin", origin));
    }
    json_t *whole = root;
    root = NULL; /* consumed by the next call */
    CW_TRY(cwi_report_text(ctx, whole, json));
done:
    json_decref(root);
    return status;
}
