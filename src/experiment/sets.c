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

/* Does an earlier dataset have the same name? */
static bool is_named_before(const cwi_place *datasets, size_t d, const char *name)
{
    char other[128];
    while (d-- > 0) {
        name_of(json_array_get(datasets->value, d), other, sizeof other);
        if (strcmp(name, other) == 0) return true;
    }
    return false;
}

cw_status cwi_plan_check_datasets(cw_context *ctx, const cwi_place *at)
{
    if (!at->value)
        return cwi_plan_bad(ctx, at,
                            "there are none: name dataset folders in the plan or behind it");
    CW_PASS(cwi_plan_check_list(ctx, at, false));
    for (size_t d = 0; d < json_array_size(at->value); d++) {
        cwi_place here = cwi_place_index(at, d);
        char name[128];
        if (!json_is_string(here.value)) CW_PASS(cwi_plan_check_fields(ctx, &here, "folder|name"));
        if (!folder_of(here.value) || !folder_of(here.value)[0])
            return cwi_plan_bad(ctx, &here, "it has no folder");
        name_of(here.value, name, sizeof name);
        if (is_named_before(at, d, name))
            return cwi_plan_bad(ctx, &here,
                                "another dataset is called '%s', too; give them names with "
                                "{\"folder\": ..., \"name\": ...}",
                                name);
    }
    return CW_OK;
}

cw_status cwi_plan_check_train_sets(cw_context *ctx, const cwi_place *at)
{
    CW_PASS(cwi_plan_check_list(ctx, at, false));
    for (size_t t = 0; t < json_array_size(at->value); t++) {
        cwi_place here = cwi_place_index(at, t);
        double theta = json_number_value(here.value);
        bool good = json_is_string(here.value)
                        ? cwi_is_file_name(json_string_value(here.value))
                        : json_is_number(here.value) && theta >= -10 && theta <= 10;
        if (!good)
            return cwi_plan_bad(ctx, &here,
                                "it must be the name of a file of the dataset folder, or a theta "
                                "between -10 and 10");
    }
    return CW_OK;
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
    const char *file = json_string_value(set->given);
    if (file && strcmp(file, "train.csv") == 0) file = NULL; /* which may be compressed */
    CW_PASS(json_is_number(set->given) ? load_theta(ctx, set, json_number_value(set->given))
                                       : cwi_store_load(ctx, set->folder, file, &set->data));
    cwi_dataset_hash(set->data, set->hash);
    if (set->data->part[CW_PART_TRAIN].count == 0)
        return cwi_fail(ctx, CW_BAD_DATA, "%s has nothing to train on", set->folder);
    if (set->data->part[CW_PART_VALID].count == 0)
        return cwi_fail(ctx, CW_BAD_DATA,
                        "%s has no validation part, which chooses settings and epochs",
                        set->folder);
    return CW_OK;
}

cw_status cwi_plan_load_sets(cw_context *ctx, cwi_plan *plan)
{
    for (size_t k = 0; k < plan->n_sets; k++) CW_PASS(load(ctx, &plan->sets[k]));
    return CW_OK;
}

cw_status cwi_plan_find_set(cw_context *ctx, cwi_plan *plan, const json_t *dataset,
                            const json_t *train_set, size_t *out)
{
    char name[128];
    CW_PASS(cwi_grow(ctx, &plan->sets, &plan->set_capacity, plan->n_sets + 1, sizeof *plan->sets));
    name_of(dataset, name, sizeof name);
    cwi_set *set = &plan->sets[plan->n_sets];
    *set = (cwi_set){.name = cwi_strdup(ctx, name),
                     .folder = cwi_strdup(ctx, folder_of(dataset)),
                     .train_set = print_train_set(ctx, train_set),
                     .given = train_set};
    bool has_all = set->name && set->folder && set->train_set;
    for (*out = 0; has_all && *out < plan->n_sets; (*out)++)
        if (strcmp(plan->sets[*out].folder, set->folder) == 0 &&
            strcmp(plan->sets[*out].train_set, set->train_set) == 0) {
            cwi_set_clear(set);
            return CW_OK;
        }
    plan->n_sets++;
    return has_all ? CW_OK : CW_NO_MEMORY;
}

void cwi_set_clear(cwi_set *set)
{
    cwi_free(set->name);
    cwi_free(set->folder);
    cwi_free(set->train_set);
    cw_dataset_free(set->data);
}
