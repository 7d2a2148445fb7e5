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

/* Held-out rows whose user or item has no train row cannot be learnt; both tables are zeros. */
static cw_status count_cold_rows(cw_context *ctx, const cw_dataset *dataset, uint8_t *has_user,
                                 uint8_t *has_item, int64_t *cold)
{
    *cold = 0;
    for (int p = 0; p < CWI_PARTS; p++) {
        const cwi_reel reel = cwi_pairs_reel(&dataset->part[p]);
        cwi_window w = cwi_window_over(&reel);
        while (cwi_window_next(ctx, &w))
            for (int64_t k = 0; k < w.n; k++) {
                if (p == CW_PART_TRAIN)
                    has_user[w.user[k]] = has_item[w.item[k]] = 1;
                else
                    *cold += !has_user[w.user[k]] || !has_item[w.item[k]];
            }
        CW_PASS(w.status);
    }
    return CW_OK;
}

static cw_status add_cold_rows(cw_context *ctx, const cw_dataset *dataset, json_t **root)
{
    int64_t cold;
    size_t n_users = (size_t)dataset->n_users;
    uint8_t *has = cwi_alloc_zero(ctx, n_users + (size_t)dataset->n_items, 1);
    if (!has) return CW_NO_MEMORY;
    cw_status status = count_cold_rows(ctx, dataset, has, has + n_users, &cold);
    if (status == CW_OK) cwi_json_set(root, "cold_rows", json_integer(cold));
    cwi_free(has);
    return status;
}

static cw_status add_acceptance(cw_context *ctx, const cw_dataset *dataset, json_t **root)
{
    cw_status status;
    double rate, error;
    const cwi_pairs *pairs = &dataset->part[CW_PART_TRAIN];
    cwi_csr train = {0};
    json_t *rates = json_object();

    CW_TRY(cwi_csr_create(ctx, pairs->user, pairs->item, pairs->count, dataset->n_users, &train));
    cwi_csr_sort(&train);
    for (int k = 2; k <= 4; k++) {
        const char name[] = {'k', (char)('0' + k), '\0'};
        CW_TRY(cwi_acceptance(ctx, pairs, &train, k, &rate, &error));
        cwi_json_set(&rates, name, json_pack("{s:f, s:f}", "rate", rate, "error", error));
    }
    cwi_json_set(root, "cpr_acceptance", json_incref(rates));
done:
    cwi_csr_clear(&train);
    json_decref(rates);
    return status;
}

/* What needs the train part.  Tuples are looked at only where rows are in memory. */
static cw_status add_train(cw_context *ctx, const cw_dataset *dataset, json_t **root)
{
    CW_PASS(cwi_stats_degrees(ctx, dataset, root));
    CW_PASS(cwi_stats_propensities(ctx, dataset, usual_power, root));
    CW_PASS(add_cold_rows(ctx, dataset, root));
    if (dataset->part[CW_PART_TRAIN].spill) return CW_OK;
    return add_acceptance(ctx, dataset, root);
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
