/* train_options.c - every option of training, and what a method makes of those not given. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/option_rows.h"
#include "core/text.h"
#include "registry/registry.h"

const cw_option_info cwi_train_options[] = {
    TEXT("method", "cpr", "what to learn with; crosswise methods lists them"),
    TEXT("backbone", "",
         "what turns a user and an item into a score; the method's first when not "
         "given"),
    WHOLE("dim", "128", 1, 65536, "size of the vectors"),
    WHOLE("layers", "3", 0, 16,
          "lightgcn, ngcf: how many times vectors are passed on to neighbours"),
    WORD("ngcf", "reference", "reference|original",
         "ngcf: as in the experiments with CPR, or as first published: D^-1 A + I and dropout"),
    REAL("message-dropout", "0.1", 0, 0.99,
         "ngcf original: share of the entries of every layer that a step leaves out"),
    REAL("node-dropout", "0", 0, 0.99,
         "ngcf original: share of the entries of the graph that a step leaves out"),
    TEXT("hidden", "256", "neumf: sizes of the hidden layers with commas between, such as 256,64"),
    REAL("lr", "", 1e-12, 1000, "learning rate of Adam; tuned per method when not given"),
    REAL("reg", "", 0, 1e6,
         "L2 coefficient of the embeddings: reg times the mean squared row norm; "
         "tuned per method when not given; mult-vae: reg times the sum of squares of its weights"),
    REAL("weight-reg", "0", 0, 1e6,
         "L2 coefficient of all other parameters (half sum of squares); tuned for some methods and "
         "backbones"),
    WORD("reg-kind", "table", "table|batch",
         "table: every row of the table at every step; batch: the rows of the batch, half of their "
         "squares divided by the batch"),
    WORD("reg-target", "base", "base|final",
         "lightgcn, ngcf: whether the L2 term is of the table or of the vectors after all layers; "
         "for dice the latter when not given"),
    WHOLE(
        "batch", "2048", 1, 1048576,
        "examples per step; an epoch is (train rows / batch) steps; mult-vae: users, and an epoch "
        "is (users / batch) steps"),
    REAL("beta", "", 1, 1000,
         "cpr: how many candidates are drawn per example kept; 1 keeps all; tuned when not given"),
    REAL("ratio", "3", 1e-6, 1e6, "cpr: examples of k for each of k + 1"),
    WHOLE("max-k", "3", 2, CWI_MAX_K, "cpr: samples of 2 to this many interactions"),
    WHOLE("k", "0", 0, CWI_MAX_K, "cpr: samples of just so many interactions; 0 mixes 2 to max-k"),
    WORD("select", "joint", "joint|per-k",
         "cpr: the hardest candidates of all k together (authors' code) or of each k (paper)"),
    WORD("distinct", "neighbours", "neighbours|all",
         "cpr: users and items of a sample differ between neighbours, which follows from the "
         "sampling, or all of them"),
    FLAG("strict",
         "cpr: fail when a step does not find all its samples, as the authors' code does"),
    WORD("pos", "interaction", "interaction|user",
         "bpr: draw an interaction, or a user and then one of their interactions"),
    WHOLE("neg", "1", 1, 64,
          "cause, dice: negatives of a positive, all different if there are enough"),
    REAL("dis-penalty", "", 0, 1e6,
         "cause: how strongly the two vectors of an item are tied; dice: how strongly the two "
         "halves "
         "are kept apart; tuned when not given"),
    WORD("cause-penalty", "l2", "l2|l1|l1-stop",
         "cause: mean square or mean absolute difference of the two vectors, or their mean L1 "
         "distance with the treatment vector held constant"),
    WORD("cause-score", "control", "control|treatment", "cause: the item vectors to rank by"),
    TEXT("treatment", "",
         "cause: file of debiased interactions, user,item with raw ids, in place of a part of "
         "train"),
    REAL_ABOVE("treatment-cap", "1/60", 0, 1,
               "cause: an interaction of train weighs min(1/degree of its item, this) in the draw "
               "of the debiased part"),
    REAL(
        "propensity-power", "", 0, 100,
        "ubpr, rel-mf: an item is seen with propensity (its train rows / those of the most popular "
        "one) to this power; tuned when not given"),
    TEXT("propensity", "",
         "ubpr, rel-mf: a file of propensities instead: header item,propensity, then a line for "
         "every item with its raw id"),
    REAL("propensity-min", "0.01", 1e-9, 1, "rel-mf: smaller propensities count as this"),
    REAL("clip", "0", -1e6, 0,
         "ubpr: a sample whose loss is below this counts as this and teaches nothing"),
    WORD("relmf-loss", "square", "square|log",
         "rel-mf: squared error of the sigmoid, or cross entropy"),
    REAL("wmf-weight", "0.977", 1e-9, 1e6,
         "wmf: weight of a pair that was not observed against one that was"),
    WORD(
        "negatives", "pairs", "pairs|user",
        "rel-mf, bce, mse, wmf: pairs that were not observed are drawn from all of them, or of the "
        "user of each observed pair"),
    TEXT("vae-sizes", "200,600",
         "mult-vae: sizes of the decoder's layers from the latent one on; the encoder has them the "
         "other way round"),
    REAL_ABOVE("keep", "0.5", 0, 1, "mult-vae: share of a user's items that dropout leaves"),
    REAL("kl-cap", "0.2", 0, 1e6, "mult-vae: the most that the KL term weighs"),
    WHOLE("kl-steps", "200000", 0, 1e12,
          "mult-vae: the KL term weighs step / this until it reaches kl-cap; 0 is kl-cap at once"),
    REAL("margin", "", 0, 1e9,
         "dice: a popular negative has so many more interactions than the positive; tuned when not "
         "given"),
    REAL("margin-decay", "0.9", 0, 1, "dice: margin is multiplied by this after every epoch"),
    WHOLE("min-size", "40", 1, 1e9,
          "dice: with fewer popular, or else fewer rare, items to draw from, all negatives are of "
          "the other kind"),
    REAL("int-weight", "9", 0, 1e6, "dice: weight of the loss of interest"),
    REAL("pop-weight", "9", 0, 1e6, "dice: weight of the loss of conformity"),
    REAL("loss-decay", "0.9", 0, 1, "dice: both weights are multiplied by this after every epoch"),
    WORD("dis", "mse", "mse|l1|dcor",
         "dice: what keeps the halves apart: their mean squared or mean absolute difference, or "
         "their distance correlation, which takes time quadratic in the batch"),
    WORD("dice-score", "interest", "interest|sum",
         "dice: items are ranked by interest alone or by interest plus conformity"),
    WHOLE("epochs", "1000", 0, 1000000, "at most so many epochs"),
    WHOLE("eval-every", "5", 0, 1000000,
          "evaluate on valid after every so many epochs; 0 never; other defaults on neumf and for "
          "mult-vae"),
    WHOLE("patience", "10", 1, 1000000, "stop after so many evaluations without a new best"),
    TEXT("metric", "recall@20",
         "what makes an evaluation the best: recall, precision, ndcg, "
         "hit_rate, mrr or map, @ a list length"),
    SEED("same seed, same model, bit for bit, on any number of "
         "threads"),
    WORD("optimizer", "adam", "adam|adam-deferred|adam-lazy|sgd|adagrad",
         "what applies gradients; adam-deferred makes up for the steps of rows outside the batch "
         "when they are next read (close to adam with far less memory traffic), adam-lazy leaves "
         "them alone (another optimizer)"),
    WORD("engine", "cpu", "cpu|ref",
         "what computes: all threads, or the plain engine that others are checked against, which is "
         "slow"),
    WORD("adam-eps", "tf", "tf|torch", "where Adam adds epsilon: before or after bias correction"),
    WORD("init", "joint", "joint|split|normal|uniform",
         "first values: Xavier over one table, Xavier per side, N(0, init-scale^2), "
         "U(-1/sqrt(dim), 1/sqrt(dim))"),
    REAL("init-scale", "0.1", 1e-12, 1000, "standard deviation of init normal"),
    TEXT("checkpoint", "", "file to keep the state of training in"),
    TEXT("checkpoint-every", "60s",
         "write it after so many epochs (10) or seconds (60s); 0 only "
         "when interrupted"),
    FLAG("checkpoint-end",
         "write and keep it at the end too, so that a run with more epochs can go on"),
    FLAG("resume", "go on from the checkpoint when there is one"),
    {0}};

/* A copy of the given options, or the defaults. */
static cw_status copy_options(cw_context *ctx, const cw_options *given, cw_options **out)
{
    cw_status status = cwi_options_create(ctx, "train", cwi_train_options, out);
    for (const cw_option_info *info = cwi_train_options; info->name && given; info++) {
        if (status != CW_OK) break;
        if (!cwi_options_is_given(given, info->name)) continue;
        status = cwi_options_assign(ctx, *out, info->name, cwi_options_text(given, info->name));
    }
    return status;
}

static cw_status find_method(cw_context *ctx, const char *name, const cwi_method **out)
{
    char known[256] = "";
    *out = cwi_find_method(name);
    if (*out) return CW_OK;
    for (size_t m = 0; cw_method_name(m); m++) {
        size_t used = strlen(known);
        snprintf(known + used, sizeof known - used, "%s%s", m ? ", " : "", cw_method_name(m));
    }
    return cwi_fail(ctx, CW_BAD_ARG, "there is no method '%s'; there are %s", name, known);
}

static cw_status find_backbone(cw_context *ctx, const cwi_method *method, cw_options *options,
                               const cwi_backbone **out)
{
    char first[32];
    const char *name = cwi_options_text(options, "backbone");
    snprintf(first, sizeof first, "%.*s", (int)strcspn(method->backbones, "|"), method->backbones);
    if (name[0] == '\0') name = first;
    if (cwi_word_index(method->backbones, name) < 0)
        return cwi_fail(ctx, CW_BAD_ARG, "--backbone is '%s'; method %s works on %s", name,
                        method->name, method->backbones);
    *out = cwi_find_backbone(name);
    return cwi_options_assign(ctx, options, "backbone", name);
}

/* Fill in what was not given: the method's value, or one that suits any. */
static cw_status fill_in(cw_context *ctx, const cwi_method *method, const cwi_backbone *backbone,
                         cw_options *options)
{
    static const char *const fallback[][2] = {
        {"lr", "1e-3"}, {"reg", "0"}, {"beta", "1"}, {"propensity-power", "0.5"}};
    cw_status status = CW_OK;
    for (const cw_option_info *info = cwi_train_options; info->name && status == CW_OK; info++) {
        const char *value = cwi_find_default(method, backbone->name, info->name);
        if (!value || cwi_options_is_given(options, info->name)) continue;
        status = cwi_options_assign(ctx, options, info->name, value);
    }
    for (size_t f = 0; f < sizeof fallback / sizeof fallback[0] && status == CW_OK; f++)
        if (!cwi_options_is_set(options, fallback[f][0]))
            status = cwi_options_assign(ctx, options, fallback[f][0], fallback[f][1]);
    return status;
}

/* A step that does not go by slots has no use for some options: better refused than ignored. */
static cw_status refuse_unused(cw_context *ctx, const cwi_method *method, const cw_options *options)
{
    static const char *const rule[][3] = {
        /* option, the one value it may have, why */
        {"weight-reg", "0", "has --reg for all its weights"},
        {"reg-kind", "table", "has no vectors of a batch to regularise"},
        {"reg-target", "base", "has no vectors after layers of a graph"},
        {"init", "joint", "has no table of vectors: its weights are Xavier"},
    };
    if (cwi_options_is_given(options, "dim"))
        cwi_log(ctx, CW_LOG_WARNING,
                "--dim does nothing: method %s takes its sizes from --vae-sizes", method->name);
    const cwi_optimizer *optimizer = cwi_find_optimizer(cwi_options_text(options, "optimizer"));
    if (optimizer->schedule != CWI_STEP_ALL)
        return cwi_fail(ctx, CW_BAD_ARG,
                        "--optimizer is '%s'; method %s reads all parameters at every step and "
                        "needs one that steps them all, such as adam",
                        optimizer->name, method->name);
    for (size_t k = 0; k < sizeof rule / sizeof rule[0]; k++) {
        const char *text = cwi_options_text(options, rule[k][0]);
        if (cwi_options_is_given(options, rule[k][0]) && strcmp(text, rule[k][1]) != 0)
            return cwi_fail(ctx, CW_BAD_ARG, "--%s is '%s'; method %s %s", rule[k][0], text,
                            method->name, rule[k][2]);
    }
    return CW_OK;
}

cw_status cwi_train_settle(cw_context *ctx, const cw_options *given, cw_options **out,
                           const cwi_method **method, const cwi_backbone **backbone)
{
    cw_status status;
    *out = NULL;
    CW_TRY(cwi_options_check(ctx, given, "train"));
    CW_TRY(copy_options(ctx, given, out));
    CW_TRY(find_method(ctx, cwi_options_text(*out, "method"), method));
    CW_TRY(find_backbone(ctx, *method, *out, backbone));
    CW_TRY(fill_in(ctx, *method, *backbone, *out));
    if ((*backbone)->learn) CW_TRY(refuse_unused(ctx, *method, *out));
    if ((*method)->loss == &cwi_loss_cpr && !(*method)->selects &&
        cwi_options_real(*out, "beta") != 1)
        status = cwi_fail(ctx, CW_BAD_ARG, "--beta is '%s'; method %s has beta 1, cpr takes others",
                          cwi_options_text(*out, "beta"), (*method)->name);
    if ((*method)->sampler != &cwi_sampler_cause && cwi_options_is_set(*out, "treatment"))
        status = cwi_fail(ctx, CW_BAD_ARG,
                          "--treatment is '%s'; method %s takes no debiased interactions, cause "
                          "does",
                          cwi_options_text(*out, "treatment"), (*method)->name);
    if (cwi_options_integer(*out, "k") == 1)
        status = cwi_fail(ctx, CW_BAD_ARG,
                          "--k is '1'; it must be 0 or a whole number from 2 to %d", CWI_MAX_K);
done:
    if (status != CW_OK) {
        cw_options_free(*out);
        *out = NULL;
    }
    return status;
}
