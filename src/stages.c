/* stages.c - one page: every stage of the flow and its options. */
#include <stdio.h>
#include <string.h>

#include "core/options.h"
#include "evaluate/evaluate.h"
#include "experiment/compare.h"
#include "experiment/experiment.h"
#include "import/interactions.h"
#include "prepare/dataset.h"
#include "recommend/recommend.h"
#include "registry/registry.h"

static const struct {
    const char *name;
    const cw_option_info *options;
} stages[] = {
    {"import", cwi_import_options},       {"prepare", cwi_prepare_options},
    {"skew", cwi_skew_options},           {"simulate", cwi_simulate_options},
    {"train", cwi_train_options},         {"evaluate", cwi_evaluate_options},
    {"recommend", cwi_recommend_options}, {"experiment", cwi_experiment_options},
    {"compare", cwi_compare_options},
};

enum { N_STAGES = sizeof stages / sizeof stages[0] };

static const cw_option_info *find_table(const char *stage)
{
    for (size_t s = 0; s < N_STAGES; s++)
        if (strcmp(stages[s].name, stage) == 0) return stages[s].options;
    return NULL;
}

const char *cw_stage_name(size_t index)
{
    return index < N_STAGES ? stages[index].name : NULL;
}

const cw_option_info *cw_stage_option(const char *stage, size_t index)
{
    const cw_option_info *table = find_table(stage);
    if (!table) return NULL;
    for (size_t row = 0; table[row].name; row++)
        if (row == index) return &table[row];
    return NULL;
}

cw_status cw_options_create(cw_context *ctx, const char *stage, cw_options **out)
{
    const cw_option_info *table = find_table(stage);
    cwi_begin(ctx);
    *out = NULL;
    if (table) return cwi_options_create(ctx, stage, table, out);
    char known[256] = "";
    for (size_t s = 0; s < N_STAGES; s++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", s ? ", " : "", stages[s].name);
    }
    return cwi_fail(ctx, CW_BAD_ARG, "there is no stage '%s'; there are %s", stage, known);
}
