/* stages.c - one page: every stage of the flow and its options. */
#include <string.h>

#include "core/options.h"
#include "core/text.h"
#include "evaluate/evaluate.h"
#include "experiment/experiment.h"
#include "experiment/tuner.h"
#include "import/interactions.h"
#include "prepare/dataset.h"
#include "recommend/recommend.h"
#include "registry/registry.h"
#include "train/train.h"

static const struct {
    const char *name;
    const cw_option_info *options; /* NULL: of training, which has several tables */
} stages[] = {
    {"import", cwi_import_options},
    {"prepare", cwi_prepare_options},
    {"skew", cwi_skew_options},
    {"simulate", cwi_simulate_options},
    {"train", NULL},
    {"update", cwi_update_options},
    {"evaluate", cwi_evaluate_options},
    {"recommend", cwi_recommend_options},
    {"experiment", cwi_experiment_options},
    {"compare", cwi_compare_options},
    {"tune", cwi_tune_options},
};

enum { N_STAGES = sizeof stages / sizeof stages[0] };

/* The name as it is here, which outlives that of the caller; NULL when there is no such stage. */
static const char *find_tables(const char *stage, const cw_option_info *out[CWI_TRAIN_TABLES])
{
    size_t s = 0;
    while (s < N_STAGES && strcmp(stages[s].name, stage) != 0) s++;
    if (s == N_STAGES) return NULL;
    out[0] = stages[s].options;
    out[1] = NULL;
    if (!out[0]) cwi_train_tables(NULL, NULL, NULL, out);
    return stages[s].name;
}

const char *cw_stage_name(size_t index)
{
    return index < N_STAGES ? stages[index].name : NULL;
}

const cw_option_info *cw_stage_option(const char *stage, size_t index)
{
    const cw_option_info *tables[CWI_TRAIN_TABLES];
    return find_tables(stage, tables) ? cwi_tables_row(tables, index) : NULL;
}

cw_status cw_options_create(cw_context *ctx, const char *stage, cw_options **out)
{
    const cw_option_info *tables[CWI_TRAIN_TABLES];
    cwi_begin(ctx);
    *out = NULL;
    const char *name = find_tables(stage, tables);
    if (name) return cwi_options_join(ctx, name, tables, out);
    char known[256] = "";
    for (size_t s = 0; s < N_STAGES; s++) cwi_list_text(known, sizeof known, stages[s].name);
    return cwi_fail(ctx, CW_BAD_ARG, "there is no stage '%s'; there are %s", stage, known);
}
