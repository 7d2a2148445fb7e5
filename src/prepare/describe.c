/* describe.c - a dataset in figures. */
#include <jansson.h>
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "prepare/stats.h"

static const double usual_power = 0.5; /* of propensities, in the literature */

static const char *const part_name[CWI_PARTS] = {"train", "valid", "test"};

static cw_status add_parts(cw_context *ctx, const cw_dataset *dataset, json_t **root)
{
    int64_t rows = 0;

    for (int p = 0; p < CWI_PARTS; p++) rows += dataset->has_part[p] ? dataset->part[p].count : 0;
    CW_PASS(cwi_stats_parts(ctx, dataset, part_name, root));
    cwi_json_set(root, "interactions", json_integer(rows));
    double pairs = (double)dataset->n_users * (double)dataset->n_items;
    cwi_json_set(root, "density", json_real(pairs > 0 ? (double)rows / pairs : 0));
    if (dataset->truth && dataset->truth->uniform.count > 0)
        cwi_json_set(root, "uniform_test_rows", json_integer(dataset->truth->uniform.count));
    return CW_OK;
}

/* Held-out rows whose user or item has no train row cannot be learnt. */
static cw_status add_cold_rows(cw_context *ctx, const cw_dataset *dataset, const cwi_csr *train,
                               json_t **root)
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
    cwi_json_set(root, "cold_rows", json_integer(cold));
    return CW_OK;
}

static cw_status add_acceptance(cw_context *ctx, const cw_dataset *dataset, const cwi_csr *train,
                                json_t **root)
{
    cw_status status;
    double rate, error;
    json_t *rates = json_object();

    for (int k = 2; k <= 4; k++) {
        const char name[] = {'k', (char)('0' + k), '\0'};
        CW_TRY(cwi_acceptance(ctx, &dataset->part[CW_PART_TRAIN], train, k, &rate, &error));
        cwi_json_set(&rates, name, json_pack("{s:f, s:f}", "rate", rate, "error", error));
    }
    cwi_json_set(root, "cpr_acceptance", json_incref(rates));
done:
    json_decref(rates);
    return status;
}

/* What needs the train part. */
static cw_status add_train(cw_context *ctx, const cw_dataset *dataset, json_t **root)
{
    cw_status status;
    const cwi_pairs *pairs = &dataset->part[CW_PART_TRAIN];
    cwi_csr train = {0};

    CW_TRY(cwi_stats_degrees(ctx, dataset, root));
    CW_TRY(cwi_stats_propensities(ctx, dataset, usual_power, root));
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
    json_t *root = json_object();

    cwi_begin(ctx);
    *json = NULL;
    cwi_json_set(&root, "users", json_integer(dataset->n_users));
    cwi_json_set(&root, "items", json_integer(dataset->n_items));
    CW_TRY(add_parts(ctx, dataset, &root));
    cwi_json_set(&root, "simulated", json_boolean(dataset->truth != NULL));
    if (dataset->part[CW_PART_TRAIN].count > 0) CW_TRY(add_train(ctx, dataset, &root));
    CW_TRY(cwi_stats_origin(ctx, dataset, &root));
    return cwi_json_text(ctx, root, json);
done:
    json_decref(root);
    return status;
}
