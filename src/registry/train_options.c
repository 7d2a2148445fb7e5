/* train_options.c - the options of training: what all have, who takes the others, and what a method
 * makes of those not given. */
#include <stdio.h>
#include <string.h>

#include "core/option_rows.h"
#include "core/report.h"
#include "core/text.h"
#include "optim/adam.h"
#include "registry/registry.h"

/* Every training has these and those of the optimizer. */
static const cw_option_info model_options[] = {
    TEXT("method", "cpr", "what to learn with; crosswise methods lists them"),
    TEXT("backbone", "",
         "what turns a user and an item into a score; the method's first when not "
         "given"),
    WHOLE("dim", "128", 1, 65536, "size of the vectors"),
    {0}};
static const cw_option_info run_options[] = {
    REAL("reg", "", 0, 1e6,
         "L2 coefficient of the embeddings: reg times the mean squared row norm; "
         "tuned per method when not given; mult-vae: reg times the sum of squares of its weights"),
    WORD("reg-kind", "table", "table|batch",
         "table: every row of the table at every step; batch: the rows of the batch, half of their "
         "squares divided by the batch"),
    WHOLE(
        "batch", "2048", 1, 1048576,
        "examples per step; an epoch is (train rows / batch) steps; mult-vae: users, and an epoch "
        "is (users / batch) steps"),
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

/* ---- owners ---------------------------------------------------------------------- */

/* Parts may be shared by methods: a table is listed once. */
static void add_table(const cw_option_info *table, const cw_option_info **out)
{
    while (*out && *out != table) out++;
    if (*out || !table) return;
    out[0] = table;
    out[1] = NULL;
}

static void add_method(const cwi_method *method, const cw_option_info **out)
{
    if (method->sampler) add_table(method->sampler->options, out);
    if (method->loss) add_table(method->loss->options, out);
    if (method->penalty) add_table(method->penalty->options, out);
    add_table(method->options, out);
}

void cwi_train_tables(const cwi_method *method, const cwi_backbone *backbone,
                      const cw_option_info *out[CWI_TRAIN_TABLES])
{
    out[0] = NULL;
    add_table(model_options, out);
    add_table(cwi_adam_options, out);
    add_table(run_options, out);
    for (size_t b = 0; !backbone && cw_backbone_name(b); b++)
        add_table(cwi_find_backbone(cw_backbone_name(b))->options, out);
    for (size_t m = 0; !method && cw_method_name(m); m++)
        add_method(cwi_find_method(cw_method_name(m)), out);
    if (backbone) add_table(backbone->options, out);
    if (method) add_method(method, out);
}

cw_status cwi_train_options(cw_context *ctx, cw_options **out)
{
    const cw_option_info *tables[CWI_TRAIN_TABLES];
    cwi_train_tables(NULL, NULL, tables);
    return cwi_options_join(ctx, "train", tables, out);
}

static bool have(const cw_option_info *const *tables, const char *option)
{
    while (*tables && !cwi_table_find(*tables, option)) tables++;
    return *tables != NULL;
}

static bool is_of_method(const char *name, const char *option)
{
    const cw_option_info *tables[CWI_TRAIN_TABLES] = {NULL};
    const cwi_method *method = cwi_find_method(name);
    if (method) add_method(method, tables);
    return have(tables, option);
}

static bool is_of_backbone(const char *name, const char *option)
{
    const cwi_backbone *backbone = cwi_find_backbone(name);
    return backbone && cwi_table_find(backbone->options, option);
}

const char *cw_train_option_owner(const char *option, size_t index)
{
    const char *name;
    for (size_t m = 0; (name = cw_method_name(m)) != NULL; m++)
        if (is_of_method(name, option) && index-- == 0) return name;
    for (size_t b = 0; (name = cw_backbone_name(b)) != NULL; b++)
        if (is_of_backbone(name, option) && index-- == 0) return name;
    return NULL;
}

bool cw_method_takes(const char *method, const char *backbone, const char *option)
{
    return !cw_train_option_owner(option, 0) || is_of_method(method, option) ||
           is_of_backbone(backbone, option);
}

/* ---- settling -------------------------------------------------------------------- */

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

static cw_status find_backbone(cw_context *ctx, const cwi_method *method, const char *name,
                               const cwi_backbone **out)
{
    if (name[0] == '\0') name = cw_method_backbone(method->name, 0);
    if (cwi_word_index(method->backbones, name) < 0)
        return cwi_fail(ctx, CW_BAD_ARG, "--backbone is '%s'; method %s works on %s", name,
                        method->name, method->backbones);
    *out = cwi_find_backbone(name);
    return CW_OK;
}

/* Better refused than ignored. */
static cw_status refuse_foreign(cw_context *ctx, const cw_options *given, const char *option,
                                const cwi_method *method, const cwi_backbone *backbone)
{
    char owners[256] = "", shown[48];
    const char *name, *value = cwi_options_text(given, option);
    size_t n = 0;
    for (; (name = cw_train_option_owner(option, n)) != NULL; n++) {
        size_t used = strlen(owners);
        bool is_last = !cw_train_option_owner(option, n + 1);
        snprintf(owners + used, sizeof owners - used, "%s%s",
                 n == 0 ? "" : (is_last ? " and " : ", "), name);
    }
    return cwi_fail(ctx, CW_BAD_ARG, "--%s is '%s'; method %s on %s does not take it, %s %s",
                    option, cwi_excerpt(value, strlen(value), shown), method->name, backbone->name,
                    owners, n == 1 ? "does" : "do");
}

/* The given options among those that the method and the backbone take. */
static cw_status copy_given(cw_context *ctx, const cw_options *given, const cwi_method *method,
                            const cwi_backbone *backbone, cw_options **out)
{
    const cw_option_info *tables[CWI_TRAIN_TABLES], *info;
    cwi_train_tables(method, backbone, tables);
    cw_status status = cwi_options_join(ctx, "train", tables, out);
    for (size_t row = 0; given && (info = cwi_options_row(given, row)); row++) {
        if (status != CW_OK) break;
        if (!cwi_options_is_given(given, info->name)) continue;
        status =
            have(tables, info->name)
                ? cwi_options_assign(ctx, *out, info->name, cwi_options_text(given, info->name))
                : refuse_foreign(ctx, given, info->name, method, backbone);
    }
    if (status != CW_OK) return status;
    return cwi_options_assign(ctx, *out, "backbone", backbone->name);
}

/* Fill in what was not given: the method's value, or one that suits any. */
static cw_status fill_in(cw_context *ctx, const cwi_method *method, const cwi_backbone *backbone,
                         cw_options *options)
{
    const cw_option_info *info;
    cw_status status = CW_OK;
    for (size_t row = 0; (info = cwi_options_row(options, row)) && status == CW_OK; row++) {
        const char *value = cwi_find_default(method, backbone->name, info->name);
        if (!value || cwi_options_is_given(options, info->name)) continue;
        status = cwi_options_assign(ctx, options, info->name, value);
    }
    if (status == CW_OK && !cwi_options_is_set(options, "lr"))
        status = cwi_options_assign(ctx, options, "lr", "1e-3");
    if (status == CW_OK && !cwi_options_is_set(options, "reg"))
        status = cwi_options_assign(ctx, options, "reg", "0");
    return status;
}

/* A step that does not go by slots takes some common options at one value alone. */
static cw_status check_whole_step(cw_context *ctx, const cwi_method *method,
                                  const cw_options *options)
{
    static const char *const rule[][3] = {
        /* option, the one value it may have, why */
        {"reg-kind", "table", "has no vectors of a batch to regularise"},
        {"adam", "dense", "needs dense: a step reads all parameters"},
        {"init", "joint", "has no table of vectors: its weights are Xavier"},
    };
    if (cwi_options_is_given(options, "dim"))
        cwi_log(ctx, CW_LOG_WARNING,
                "--dim does nothing: method %s takes its sizes from --vae-sizes", method->name);
    for (size_t k = 0; k < sizeof rule / sizeof rule[0]; k++) {
        const char *text = cwi_options_text(options, rule[k][0]);
        if (cwi_options_is_given(options, rule[k][0]) && strcmp(text, rule[k][1]) != 0)
            return cwi_fail(ctx, CW_BAD_ARG, "--%s is '%s'; method %s %s", rule[k][0], text,
                            method->name, rule[k][2]);
    }
    return CW_OK;
}

static cw_status check_cycles(cw_context *ctx, const cwi_method *method, const cw_options *options)
{
    if (!method->selects && cwi_options_real(options, "beta") != 1)
        return cwi_fail(ctx, CW_BAD_ARG, "--beta is '%s'; method %s has beta 1, cpr takes others",
                        cwi_options_text(options, "beta"), method->name);
    if (cwi_options_integer(options, "cycle") == 1)
        return cwi_fail(ctx, CW_BAD_ARG,
                        "--cycle is '1'; it must be 0 or a whole number from 2 to %d", CWI_MAX_K);
    return CW_OK;
}

cw_status cwi_train_settle(cw_context *ctx, const cw_options *given, cw_options **out,
                           const cwi_method **method, const cwi_backbone **backbone)
{
    cw_status status;
    *out = NULL;
    CW_TRY(cwi_options_check(ctx, given, "train"));
    CW_TRY(find_method(ctx, given ? cwi_options_text(given, "method") : "cpr", method));
    CW_TRY(find_backbone(ctx, *method, given ? cwi_options_text(given, "backbone") : "", backbone));
    CW_TRY(copy_given(ctx, given, *method, *backbone, out));
    CW_TRY(fill_in(ctx, *method, *backbone, *out));
    if ((*backbone)->learn) CW_TRY(check_whole_step(ctx, *method, *out));
    if ((*method)->sampler == &cwi_sampler_cpr) CW_TRY(check_cycles(ctx, *method, *out));
done:
    if (status != CW_OK) {
        cw_options_free(*out);
        *out = NULL;
    }
    return status;
}

/* ---- records and names -------------------------------------------------------------- */

json_t *cwi_train_record(const cw_options *settled)
{
    json_t *out = cwi_report_options(settled);
    json_object_del(out, "checkpoint");
    json_object_del(out, "checkpoint-every");
    json_object_del(out, "checkpoint-end");
    json_object_del(out, "resume");
    return out;
}

json_t *cwi_train_identity(const cw_options *settled)
{
    const cw_option_info *info;
    json_t *out = cwi_train_record(settled);
    for (size_t row = 0; (info = cwi_options_row(settled, row)) != NULL; row++)
        if (cwi_options_is_preset(settled, info->name)) json_object_del(out, info->name);
    return out;
}

json_t *cwi_train_recorded(const json_t *options, const cw_option_info *info)
{
    json_t *value = json_object_get(options, info->name);
    return value || !info->former ? value : json_object_get(options, info->former);
}

cw_status cwi_train_reread(cw_context *ctx, const cwi_method *method, const cwi_backbone *backbone,
                           const json_t *recorded, cw_options **out)
{
    const cw_option_info *tables[CWI_TRAIN_TABLES], *info;
    cwi_train_tables(method, backbone, tables);
    cw_status status = cwi_options_join(ctx, "train", tables, out);
    for (size_t row = 0; status == CW_OK && (info = cwi_options_row(*out, row)); row++) {
        char text[4096];
        if (cwi_report_value(cwi_train_recorded(recorded, info), text, sizeof text))
            status = cwi_options_assign(ctx, *out, info->name, text);
    }
    if (status == CW_OK) return CW_OK;
    cw_options_free(*out);
    *out = NULL;
    return status == CW_BAD_ARG ? CW_BAD_DATA : status; /* the file is wrong, not the caller */
}
