/* evaluation.c - the public call: a model on a dataset. */
#include <string.h>

#include "comm/world.h"
#include "core/json.h"
#include "core/mem.h"
#include "core/text.h"
#include "engine/ranking.h"
#include "evaluate/assess.h"
#include "evaluate/evaluate.h"
#include "model/model.h"

/* The same raw ids under the same numbers, or the first difference. */
static cw_status compare_ids(cw_context *ctx, const char *kind, const cwi_idmap *model,
                             const cwi_idmap *dataset)
{
    char ours[48], theirs[48];

    if (model->count != dataset->count)
        return cwi_fail(ctx, CW_BAD_ARG,
                        "the model does not fit the dataset: it knows %d %ss, the dataset has %d",
                        (int)model->count, kind, (int)dataset->count);
    for (int32_t id = 0; id < model->count; id++) {
        const char *a = cwi_idmap_text(model, id), *b = cwi_idmap_text(dataset, id);
        if (strcmp(a, b) == 0) continue;
        return cwi_fail(ctx, CW_BAD_ARG,
                        "the model does not fit the dataset: its %s number %d is '%s', that of the "
                        "dataset '%s'",
                        kind, (int)id, cwi_excerpt(a, strlen(a), ours),
                        cwi_excerpt(b, strlen(b), theirs));
    }
    return CW_OK;
}

/* The rows to be found. */
static cw_status find_held(cw_context *ctx, const cw_dataset *dataset, cwi_held_out split,
                           const cwi_pairs **out)
{
    static const char *const name[] = {"test", "valid"};

    if (split == CWI_HELD_UNIFORM) {
        if (!dataset->truth)
            return cwi_fail(ctx, CW_BAD_ARG,
                            "--split uniform needs a simulated dataset; this one is not");
        *out = &dataset->truth->uniform;
        if ((*out)->count > 0) return CW_OK;
        return cwi_fail(ctx, CW_BAD_ARG,
                        "this dataset was simulated without a uniform test (--uniform-test)");
    }
    *out = &dataset->part[split == CWI_HELD_TEST ? CW_PART_TEST : CW_PART_VALID];
    if ((*out)->count > 0) return CW_OK;
    return cwi_fail(ctx, CW_BAD_ARG, "the dataset has no %s rows", name[split]);
}

/* What the model has seen and the validation rows together, a user's items sorted. */
static cw_status join_masks(cw_context *ctx, const cwi_csr *seen, const cwi_pairs *valid,
                            cwi_csr *out)
{
    cwi_csr held = {0};
    cw_status status =
        cwi_csr_create(ctx, valid->user, valid->item, valid->count, seen->n_rows, &held);
    if (status == CW_OK) cwi_csr_sort(&held);
    if (status == CW_OK) status = cwi_csr_join(ctx, seen, &held, out);
    cwi_csr_clear(&held);
    return status;
}

static cw_status choose_truth(cw_context *ctx, const cw_dataset *dataset, cwi_when when,
                              const cwi_truth **out)
{
    *out = when == CWI_WHEN_OFF ? NULL : dataset->truth;
    if (when != CWI_WHEN_ON || *out) return CW_OK;
    return cwi_fail(ctx, CW_BAD_ARG, "--truth on needs a simulated dataset; this one is not");
}

static cw_status count_seen(cw_context *ctx, const cw_model *model, int64_t **out)
{
    *out = cwi_alloc(ctx, (size_t)model->n_users, sizeof **out);
    if (!*out) return CW_NO_MEMORY;
    for (int32_t u = 0; u < model->n_users; u++)
        (*out)[u] = model->seen.start[u + 1] - model->seen.start[u];
    return CW_OK;
}

/* A model that was trained once more on all rows never lists those that are to be found. */
static cw_status warn_of_known(cw_context *ctx, const cw_model *model, const cwi_pairs *held)
{
    json_t *about = NULL;
    int64_t known = 0;
    CW_PASS(model->about ? cwi_json_reparse(ctx, model->about, &about) : CW_OK);
    bool is_refit = json_object_get(about, "refit") || json_object_get(about, "before");
    json_decref(about);
    for (int64_t k = 0; is_refit && k < held->count; k++)
        known += cwi_csr_has(&model->seen, held->user[k], held->item[k]);
    if (known > 0)
        cwi_log(
            ctx, CW_LOG_WARNING,
            "the model was trained on %lld of the %lld rows to be found, as one to ship is, and "
            "hides them: these figures say nothing; its record has those of before the refit",
            (long long)known, (long long)held->count);
    return CW_OK;
}

static cw_status report(cw_context *ctx, const cwi_subject *subject, const cwi_request *request,
                        char **json)
{
    cwi_findings *findings = cwi_alloc_zero(ctx, 1, sizeof *findings);
    if (!findings) return CW_NO_MEMORY;
    cw_status status = cwi_assess(ctx, subject, request, findings);
    if (status == CW_OK && (!subject->world || subject->world->rank == 0))
        status = cwi_json_text(ctx, cwi_findings_report(subject, request, findings), json);
    cwi_findings_clear(findings);
    cwi_free(findings);
    return status;
}

/* Those on other machines may have read other files. */
static cw_status join_processes(cw_context *ctx, const cw_dataset *dataset, const cw_model *model,
                                const cw_options *options, const cwi_world **out)
{
    char hash[CWI_HASH_BYTES] = "";
    *out = NULL;
    if (!cwi_options_is(options, "device", "mpi")) return CW_OK;
    *out = ctx->world;
    if (!*out)
        return cwi_fail(ctx, CW_BAD_ARG,
                        "--device is 'mpi': that is for processes that mpirun has started");
    CW_PASS(cwi_world_agree(ctx, *out, "the model is another", model->checksum,
                            sizeof model->checksum));
    cwi_dataset_hash(dataset, hash);
    return cwi_world_agree(ctx, *out, "the data are others", hash, sizeof hash);
}

static cw_status use_device(cw_context *ctx, const cw_model *model, const cw_options *options,
                            int32_t k, cwi_ranker *ranker)
{
    const char *device = cwi_options_text(options, "device");
    CW_PASS(cwi_device_lists(ctx, device, k));
    return cwi_device_serve(ctx, device, model->backbone, ranker);
}

/* The training set in use is the model's own, which may be a skewed draw of the dataset's. */
static cw_status evaluate(cw_context *ctx, const cw_dataset *dataset, const cw_model *model,
                          const cw_options *options, char **json)
{
    cw_status status;
    cwi_request request;
    cwi_ranker ranker = {0};
    cwi_csr joined = {0};
    int64_t *user_degree = NULL;
    cwi_exposure exposure = {0};
    cwi_subject subject = {.ranker = &ranker, .mask = &model->seen, .degree = model->degree};

    CW_TRY(cwi_request_parse(ctx, options, &request));
    CW_TRY(join_processes(ctx, dataset, model, options, &subject.world));
    if (!cw_options_is_given(options, "popularity"))
        CW_TRY(cwi_model_dial(ctx, model, &request.popularity));
    CW_TRY(compare_ids(ctx, "user", &model->users, &dataset->users));
    CW_TRY(compare_ids(ctx, "item", &model->items, &dataset->items));
    CW_TRY(find_held(ctx, dataset, request.split, &subject.held));
    CW_TRY(warn_of_known(ctx, model, subject.held));
    exposure.is_uniform = request.is_uniform;
    CW_TRY(cwi_weights_create(ctx, options, "", &model->items, model->degree, &exposure));
    if (subject.world)
        CW_TRY(cwi_world_agree(ctx, subject.world, "the propensities are others", exposure.hash,
                               sizeof exposure.hash));
    CW_TRY(cwi_weights_check(ctx, &exposure, "", subject.held, &model->items));
    if (exposure.is_uniform || exposure.weight) subject.exposure = &exposure;
    CW_TRY(choose_truth(ctx, dataset, request.truth, &subject.truth));
    CW_TRY(count_seen(ctx, model, &user_degree));
    subject.user_degree = user_degree;
    if (request.masks_valid) {
        CW_TRY(join_masks(ctx, &model->seen, &dataset->part[CW_PART_VALID], &joined));
        subject.mask = &joined;
    }
    CW_TRY(cwi_model_rank(ctx, model, &ranker));
    if (!subject.world) CW_TRY(use_device(ctx, model, options, request.k_max, &ranker));
    CW_TRY(report(ctx, &subject, &request, json));
done:
    cwi_ranker_close(&ranker);
    cwi_csr_clear(&joined);
    cwi_exposure_clear(&exposure);
    cwi_free(user_degree);
    return status;
}

cw_status cw_evaluate(cw_context *ctx, const cw_dataset *dataset, const cw_model *model,
                      const cw_options *options, char **json)
{
    cw_options *defaults = NULL;
    cw_status status;

    cwi_begin(ctx);
    *json = NULL;
    CW_TRY(cwi_options_check(ctx, options, "evaluate"));
    CW_TRY(cwi_dataset_here(ctx, dataset));
    if (!options) CW_TRY(cwi_options_create(ctx, "evaluate", cwi_evaluate_options, &defaults));
    CW_TRY(evaluate(ctx, dataset, model, options ? options : defaults, json));
done:
    cw_options_free(defaults);
    return status;
}
