/* sets.c - the datasets of a plan, each with the training sets that its tables ask for. */
#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "experiment/plan.h"
#include "prepare/store.h"

/* Put a training set of another bias in the place of the one that was loaded. */
static cw_status skew(cw_context *ctx, cw_dataset *data, double theta)
{
    cw_status status;
    char text[CWI_NUMBER_BYTES];
    cw_options *options = NULL;
    cwi_pairs pairs = {0};

    cwi_print_real(theta, text);
    CW_TRY(cwi_options_create(ctx, "skew", cwi_skew_options, &options));
    CW_TRY(cwi_options_assign(ctx, options, "theta", text));
    CW_TRY(cwi_skew(ctx, data, options, &pairs));
    cwi_pairs_clear(&data->part[CW_PART_TRAIN]);
    data->part[CW_PART_TRAIN] = pairs;
done:
    cw_options_free(options);
    return status;
}

/* A theta is the file that `crosswise skew` would write, drawn anew where it is not there. */
static cw_status load_theta(cw_context *ctx, cwi_set *set, double theta)
{
    char text[CWI_NUMBER_BYTES];
    cwi_print_real(theta, text);
    char *file = cwi_format(ctx, "train_%s.csv", text);
    char *path = file ? cwi_path_join(ctx, set->folder, file) : NULL;
    bool is_there = path && cwi_path_exists(path);
    cw_status status = path ? CW_OK : CW_NO_MEMORY;

    if (status == CW_OK)
        status = cwi_store_load(ctx, set->folder, is_there ? file : NULL, &set->data);
    if (status == CW_OK && !is_there) status = skew(ctx, set->data, theta);
    cwi_free(path);
    cwi_free(file);
    return status;
}

static char *print_train_set(cw_context *ctx, const json_t *train_set)
{
    char text[CWI_NUMBER_BYTES];
    if (json_is_string(train_set)) return cwi_strdup(ctx, json_string_value(train_set));
    if (!json_is_number(train_set)) return cwi_strdup(ctx, "train.csv");
    cwi_print_real(json_number_value(train_set), text);
    return cwi_format(ctx, "theta %s", text);
}

static cw_status load(cw_context *ctx, cwi_set *set)
{
    cw_status status;
    if (json_is_number(set->given))
        CW_TRY(load_theta(ctx, set, json_number_value(set->given)));
    else
        CW_TRY(cwi_store_load(ctx, set->folder, json_string_value(set->given), &set->data));
    cwi_dataset_hash(set->data, set->hash);
    if (set->data->part[CW_PART_TRAIN].count == 0)
        status = cwi_fail(ctx, CW_BAD_DATA, "%s has nothing to train on", set->folder);
    else if (set->data->part[CW_PART_VALID].count == 0)
        status =
            cwi_fail(ctx, CW_BAD_DATA,
                     "%s has no validation part, which chooses settings and epochs", set->folder);
done:
    return status;
}

cw_status cwi_plan_load_sets(cw_context *ctx, cwi_plan *plan)
{
    cw_status status = CW_OK;
    for (size_t k = 0; k < plan->n_sets && status == CW_OK; k++) status = load(ctx, &plan->sets[k]);
    return status;
}

cw_status cwi_plan_find_set(cw_context *ctx, cwi_plan *plan, const char *name, const char *folder,
                            const json_t *train_set, size_t *out)
{
    char *shown = print_train_set(ctx, train_set);
    if (!shown) return CW_NO_MEMORY;
    for (*out = 0; *out < plan->n_sets; (*out)++)
        if (strcmp(plan->sets[*out].folder, folder) == 0 &&
            strcmp(plan->sets[*out].train_set, shown) == 0) {
            cwi_free(shown);
            return CW_OK;
        }
    cw_status status =
        cwi_grow(ctx, &plan->sets, &plan->set_capacity, plan->n_sets + 1, sizeof *plan->sets);
    if (status != CW_OK) {
        cwi_free(shown);
        return status;
    }
    cwi_set *set = &plan->sets[plan->n_sets++];
    *set = (cwi_set){.train_set = shown, .given = train_set};
    set->name = cwi_strdup(ctx, name);
    set->folder = cwi_strdup(ctx, folder);
    return set->name && set->folder ? CW_OK : CW_NO_MEMORY;
}
