/* sets.c - the datasets of a plan, each with the training sets that its tables ask for. */
#include <string.h>

#include "core/mem.h"
#include "core/text.h"
#include "experiment/plan_fields.h"
#include "prepare/store.h"

/* ---- what the plan says ------------------------------------------------------------- */

static const char *folder_of(const json_t *dataset)
{
    return json_string_value(json_is_string(dataset) ? dataset
                                                     : json_object_get(dataset, "folder"));
}

/* Its name, or the last part of its folder. */
static void name_of(const json_t *dataset, char *out, size_t bytes)
{
    const char *name = json_string_value(json_object_get(dataset, "name"));
    const char *folder = folder_of(dataset), *slash;
    cwi_copy_text(out, bytes, name ? name : folder);
    while (!name && strlen(out) > 1 && out[strlen(out) - 1] == '/') out[strlen(out) - 1] = '\0';
    slash = name ? NULL : strrchr(out, '/');
    if (slash && slash[1]) memmove(out, slash + 1, strlen(slash + 1) + 1);
}

cw_status cwi_plan_check_datasets(cw_context *ctx, const json_t *datasets)
{
    cw_status status;
    const cwi_place place = {"datasets"};
    if (!datasets)
        return cwi_plan_bad(ctx, &place,
                            "there are none: name dataset folders in the plan or "
                            "behind it");
    CW_TRY(cwi_plan_check_list(ctx, &place, datasets, false));
    for (size_t d = 0; d < json_array_size(datasets); d++) {
        const json_t *dataset = json_array_get(datasets, d);
        cwi_place at = cwi_place_index(&place, d);
        char name[128], other[128];
        if (!json_is_string(dataset))
            CW_TRY(cwi_plan_check_fields(ctx, &at, dataset, "folder|name"));
        if (!folder_of(dataset) || !folder_of(dataset)[0])
            return cwi_plan_bad(ctx, &at, "it has no folder");
        name_of(dataset, name, sizeof name);
        for (size_t e = 0; e < d; e++) {
            name_of(json_array_get(datasets, e), other, sizeof other);
            if (strcmp(name, other) == 0)
                return cwi_plan_bad(ctx, &at,
                                    "another dataset is called '%s', too; give them names with "
                                    "{\"folder\": ..., \"name\": ...}",
                                    name);
        }
    }
done:
    return status;
}

cw_status cwi_plan_check_train_sets(cw_context *ctx, const cwi_place *place, const json_t *value)
{
    cw_status status = cwi_plan_check_list(ctx, place, value, false);
    for (size_t t = 0; t < json_array_size(value) && status == CW_OK; t++) {
        const json_t *set = json_array_get(value, t);
        cwi_place at = cwi_place_index(place, t);
        double theta = json_number_value(set);
        bool good = json_is_string(set) ? cwi_is_file_name(json_string_value(set))
                                        : json_is_number(set) && theta >= -10 && theta <= 10;
        if (!good)
            status = cwi_plan_bad(ctx, &at,
                                  "it must be the name of a file of the dataset folder, or a theta "
                                  "between -10 and 10");
    }
    return status;
}

/* ---- loading ------------------------------------------------------------------------ */

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
    const char *file = json_string_value(set->given);
    if (file && strcmp(file, "train.csv") == 0) file = NULL; /* which may be compressed */
    if (json_is_number(set->given))
        CW_TRY(load_theta(ctx, set, json_number_value(set->given)));
    else
        CW_TRY(cwi_store_load(ctx, set->folder, file, &set->data));
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

cw_status cwi_plan_find_set(cw_context *ctx, cwi_plan *plan, const json_t *dataset,
                            const json_t *train_set, size_t *out)
{
    const char *folder = folder_of(dataset);
    char name[128], *shown = print_train_set(ctx, train_set);
    name_of(dataset, name, sizeof name);
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
