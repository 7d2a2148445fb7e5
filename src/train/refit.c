/* refit.c - once more on all rows, for as many steps as validation has chosen. */
#include <string.h>

#include "core/json.h"
#include "core/mem.h"
#include "core/text.h"
#include "train/train.h"

cw_status cwi_all_rows(cw_context *ctx, const cw_dataset *dataset, cw_dataset *out)
{
    int64_t count = 0, used = 0;
    for (int p = 0; p < CWI_PARTS; p++) count += dataset->part[p].count;
    *out = *dataset;
    memset(out->part, 0, sizeof out->part);
    out->whole = NULL;
    if (dataset->whole) {
        out->whole = cwi_alloc_zero(ctx, 1, sizeof *out->whole);
        if (!out->whole) return CW_NO_MEMORY;
        for (int p = 0; p < CWI_PARTS; p++)
            out->whole->rows[CW_PART_TRAIN] += dataset->whole->rows[p];
    }
    cwi_pairs *all = &out->part[CW_PART_TRAIN];
    CW_PASS(cwi_pairs_create(ctx, count, all));
    for (int p = 0; p < CWI_PARTS; p++) {
        const cwi_pairs *part = &dataset->part[p];
        if (part->count == 0) continue;
        memcpy(all->user + used, part->user, (size_t)part->count * sizeof *all->user);
        memcpy(all->item + used, part->item, (size_t)part->count * sizeof *all->item);
        used += part->count;
    }
    return CW_OK;
}

void cwi_all_rows_clear(cw_dataset *all)
{
    cwi_pairs_clear(&all->part[CW_PART_TRAIN]);
    cwi_free(all->whole);
    all->whole = NULL;
}

/* What the model says of it. */
static json_t *describe(const cwi_trainer *t)
{
    return json_pack("{s:I, s:I, s:I, s:s}", "rows", (json_int_t)t->training.count, "epochs",
                     (json_int_t)t->epoch, "steps",
                     (json_int_t)(t->epoch * t->task.steps_per_epoch), "metrics_are",
                     "of the model before the refit");
}

/* Data, options and steps are those of the first training, which is freed before the second is
 * made: memory is that of one. */
cw_status cwi_refit(cwi_trainer **t, const cw_dataset *all, json_t *found)
{
    cw_status status;
    cw_context *ctx = (*t)->ctx;
    cw_options *options = (*t)->options;
    json_t *about = json_object_get(found, "about");
    cwi_sequel sequel = {
        .phase = "refit",
        .steps_per_epoch = (*t)->task.steps_per_epoch,
        .epochs = (int64_t)cwi_json_get_number(about, "best_epoch"),
        .before = found,
        .resumes = (*t)->before != NULL,
    };
    bool has_warned = (*t)->has_warned;

    cwi_copy_text(sequel.data_hash, sizeof sequel.data_hash, (*t)->data_hash);
    (*t)->options = NULL;
    cwi_trainer_free(*t);
    *t = NULL;
    cwi_log(ctx, CW_LOG_INFO, "training once more on all %lld rows, for %lld epochs",
            (long long)cwi_dataset_rows(all, CW_PART_TRAIN), (long long)sequel.epochs);
    CW_TRY(cwi_trainer_follow(ctx, all, options, &sequel, t));
    (*t)->has_warned = has_warned;
    CW_TRY(cwi_trainer_run(*t));
    if (json_object_set_new(about, "refit", describe(*t)) != 0) status = cwi_no_memory(ctx);
done:
    cw_options_free(options);
    return status;
}
