/* train_options.c - the options of training: what all have, who takes the others, and what a method
 * makes of those not given. */
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/option_rows.h"
#include "core/text.h"
#include "prepare/propensity_rows.h"
#include "registry/registry.h"

#define BAR(id, name) "|" name /* words of a list are what follows the first bar */

/* Every training has these. */
static const cw_option_info common_options[] = {
    TEXT("method", "cpr", "what to learn with; crosswise methods lists them"),
    TEXT("backbone", "",
         "what turns a user and an item into a score; the method's first when not "
         "given"),
    WORD("preset", "auto", "auto|paper",
         "settings that are not given: auto chooses them for the size of the data, paper has those "
         "of the published comparison, tuned on one dataset"),
    WHOLE("dim", "128", 1, 65536, "size of the vectors"),
    REAL("lr", "", 1e-12, 1000, "learning rate; chosen per method, for Adam, when not given"),
    REAL("reg", "", 0, 1e6,
         "L2 coefficient of the embeddings: reg times the mean squared row norm; "
         "chosen per method when not given; mult-vae: reg times the sum of squares of its weights"),
    WORD("reg-kind", "table", "table|batch",
         "table: every row of the table at every step; batch: the rows of the batch, half of their "
         "squares divided by the batch"),
    REAL("spectral", "0", 0, 1e6,
         "how strongly scores are kept from following popularity (ReSN); not for mult-vae"),
    WHOLE("batch", "2048", 1, 1048576,
          "examples per step; mult-vae: users; preset auto takes less for small data"),
    WHOLE(
        "epoch-steps", "0", 0, 1000000000,
        "steps of an epoch; 0: one pass, which is (train rows / batch) steps, for mult-vae (users "
        "/ batch); preset auto has at least 100"),
    WHOLE("epochs", "1000", 0, 1000000, "at most so many epochs"),
    WHOLE("eval-every", "5", 0, 1000000,
          "evaluate on valid after every so many epochs; 0 never; preset auto: 2, preset paper has "
          "others on neumf and for mult-vae"),
    WHOLE("patience", "10", 1, 1000000,
          "stop after so many evaluations without a new best; preset auto: 20"),
    WHOLE("min-epochs", "0", 0, 1000000,
          "go on for at least so many epochs before patience may end; preset auto: 40"),
    TEXT("metric", "recall@20",
         "what makes an evaluation the best: recall, precision, ndcg, "
         "hit_rate, mrr or map, @ a list length; unbiased_recall, where the validation rows were "
         "shown uniformly at random; ips_precision, ips_ndcg, snips_recall or snips_dcg, which "
         "need propensities"),
    WEIGHING_ROWS("metric-", "the validation and test rows"),
    SEED("same seed, same model, bit for bit, on any number of "
         "threads"),
    {.name = "optimizer",
     .kind = CW_OPTION_CHOICE,
     .preset = "auto",
     .choices = &CWI_OPTIMIZERS(BAR)[1],
     .help = "what applies gradients; adam-deferred makes up for the steps of rows outside the "
             "batch when they are next read (close to adam with far less memory traffic), "
             "adam-lazy leaves them alone (another optimizer); auto is the faster of the first two "
             "for the data, where it is as accurate",
     .former = "adam",
     .former_note = "--adam is --optimizer now: adam, adam-deferred or adam-lazy",
     .former_choices = "dense|deferred|lazy"},
    WORD(
        "engine", "cpu", "cpu|ref",
        "what computes: all threads, or the plain engine that others are checked against, which is "
        "slow"),
    TEXT("device", "auto",
         "who computes: cpu, cuda (the first GPU), cuda:1 (the second), mpi (all processes that "
         "mpirun has started), or auto: a GPU where there is one, it is worth it and it can train "
         "what is asked for, else the CPU"),
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
    TEXT(
        "bucket", "",
        "file of items that were shown to users at random, with the header user,item,liked (raw "
        "ids; 1 where the user liked it, else 0) or user,item (what was liked alone): it tells how "
        "much popularity counts and which items are better than the log says"),
    FLAG("refit",
         "when validation has chosen the number of steps, train once more on all rows of train, "
         "valid and test for as many steps; the metrics stay those of before"),
    {0}};

/* ---- owners ---------------------------------------------------------------------- */

/* Parts of a training that have options of their own, in the order in which they are told. */
typedef enum kind { METHOD, BACKBONE, OPTIMIZER, N_KINDS } kind;

static const char *(*const name_at[N_KINDS])(size_t index) = {cw_method_name, cw_backbone_name,
                                                              cw_optimizer_name};

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

static void add_part(kind of, const char *name, const cw_option_info **out)
{
    switch (of) {
    case METHOD: add_method(cwi_find_method(name), out); break;
    case BACKBONE: add_table(cwi_find_backbone(name)->options, out); break;
    default: add_table(cwi_find_optimizer(name)->options, out);
    }
}

void cwi_train_tables(const char *method, const char *backbone, const char *optimizer,
                      const cw_option_info *out[CWI_TRAIN_TABLES])
{
    const char *const chosen[N_KINDS] = {method, backbone, optimizer};
    const char *name;
    out[0] = NULL;
    add_table(common_options, out);
    for (kind k = N_KINDS; k-- > 0;)
        for (size_t n = 0; (name = name_at[k](n)) != NULL; n++)
            if (!chosen[k] || strcmp(chosen[k], name) == 0) add_part(k, name, out);
}

cw_status cwi_train_options(cw_context *ctx, cw_options **out)
{
    const cw_option_info *tables[CWI_TRAIN_TABLES];
    cwi_train_tables(NULL, NULL, NULL, tables);
    return cwi_options_join(ctx, "train", tables, out);
}

static bool have(const cw_option_info *const *tables, const char *option)
{
    while (*tables && !cwi_table_find(*tables, option)) tables++;
    return *tables != NULL;
}

const char *cw_train_option_owner(const char *option, size_t index)
{
    const char *name;
    for (kind k = METHOD; k < N_KINDS; k++)
        for (size_t n = 0; (name = name_at[k](n)) != NULL; n++) {
            const cw_option_info *tables[CWI_TRAIN_TABLES] = {NULL};
            add_part(k, name, tables);
            if (have(tables, option) && index-- == 0) return name;
        }
    return NULL;
}

bool cw_method_takes(const char *method, const char *backbone, const char *option)
{
    const char *owner = cw_train_option_owner(option, 0);
    bool is_common = !owner || cwi_find_optimizer(owner); /* any method may have any optimizer */
    for (size_t n = 1; owner && !is_common; n++) {
        if (strcmp(owner, method) == 0 || strcmp(owner, backbone) == 0) return true;
        owner = cw_train_option_owner(option, n);
    }
    return is_common;
}

/* ---- settling -------------------------------------------------------------------- */

cw_status cwi_find_pair(cw_context *ctx, const char *method, const char *backbone,
                        const cwi_method **out, const cwi_backbone **on)
{
    char known[256] = "";
    *out = cwi_find_method(method);
    if (!*out) {
        for (size_t m = 0; cw_method_name(m); m++)
            cwi_list_text(known, sizeof known, cw_method_name(m));
        return cwi_fail(ctx, CW_BAD_ARG, "there is no method '%s'; there are %s", method, known);
    }
    if (backbone[0] == '\0') backbone = cw_method_backbone(method, 0);
    if (cwi_word_index((*out)->backbones, backbone) < 0)
        return cwi_fail(ctx, CW_BAD_ARG, "--backbone is '%s'; method %s works on %s", backbone,
                        method, (*out)->backbones);
    *on = cwi_find_backbone(backbone);
    return CW_OK;
}

/* The parts of a training. */
typedef struct parts {
    const cwi_method *method;
    const cwi_backbone *backbone;
    const cwi_optimizer *optimizer;
} parts;

/* Better refused than ignored. */
static cw_status refuse_foreign(cw_context *ctx, const cw_options *given, const char *option,
                                const parts *p)
{
    char owners[256] = "", whose[96], shown[48];
    const char *name, *value = cwi_options_text(given, option);
    size_t n = 0;
    for (; (name = cw_train_option_owner(option, n)) != NULL; n++) {
        size_t used = strlen(owners);
        bool is_last = !cw_train_option_owner(option, n + 1);
        snprintf(owners + used, sizeof owners - used, "%s%s",
                 n == 0 ? "" : (is_last ? " and " : ", "), name);
    }
    if (cw_method_takes(p->method->name, p->backbone->name, option))
        snprintf(whose, sizeof whose, "optimizer %s", p->optimizer->name);
    else
        snprintf(whose, sizeof whose, "method %s on %s", p->method->name, p->backbone->name);
    return cwi_fail(ctx, CW_BAD_ARG, "--%s is '%s'; %s does not take it, %s %s", option,
                    cwi_excerpt(value, strlen(value), shown), whose, owners,
                    n == 1 ? "does" : "do");
}

/* The given options among those that the parts take. */
static cw_status copy_given(cw_context *ctx, const cw_options *given, const parts *p,
                            cw_options **out)
{
    const cw_option_info *tables[CWI_TRAIN_TABLES], *info;
    cwi_train_tables(p->method->name, p->backbone->name, p->optimizer->name, tables);
    CW_PASS(cwi_options_join(ctx, "train", tables, out));
    for (size_t row = 0; given && (info = cwi_options_row(given, row)); row++) {
        if (!cw_options_is_given(given, info->name)) continue;
        if (!have(tables, info->name)) return refuse_foreign(ctx, given, info->name, p);
        CW_PASS(cwi_options_assign(ctx, *out, info->name, cwi_options_text(given, info->name)));
    }
    return cwi_options_assign(ctx, *out, "backbone", p->backbone->name);
}

/* Fill in what was not given: the method's value, or one that suits any. */
static cw_status fill_in(cw_context *ctx, const parts *p, cw_options *options)
{
    const cw_option_info *info;
    for (size_t row = 0; (info = cwi_options_row(options, row)) != NULL; row++) {
        const char *value = cwi_find_default(p->method, p->backbone->name, info->name);
        if (value && !cw_options_is_given(options, info->name))
            CW_PASS(cwi_options_assign(ctx, options, info->name, value));
    }
    if (!cwi_options_is_set(options, "lr")) CW_PASS(cwi_options_assign(ctx, options, "lr", "1e-3"));
    if (!cwi_options_is_set(options, "reg")) CW_PASS(cwi_options_assign(ctx, options, "reg", "0"));
    return CW_OK;
}

/* A step that does not go by slots takes some common options at one value alone. */
static cw_status check_whole_step(cw_context *ctx, const parts *p, const cw_options *options)
{
    static const char *const rule[][3] = {
        /* option, the one value it may have, why */
        {"reg-kind", "table", "has no vectors of a batch to regularise"},
        {"init", "joint", "has no table of vectors: its weights are Xavier"},
        {"spectral", "0", "has no vectors of a batch to look at"},
    };
    if (cw_options_is_given(options, "dim"))
        cwi_log(ctx, CW_LOG_WARNING,
                "--dim does nothing: method %s takes its sizes from --vae-sizes", p->method->name);
    if (p->optimizer->schedule != CWI_STEP_ALL && p->optimizer->schedule != CWI_STEP_CHOSEN)
        return cwi_fail(ctx, CW_BAD_ARG,
                        "--optimizer is '%s'; method %s reads all parameters at every step and "
                        "needs one that steps them all, such as adam",
                        p->optimizer->name, p->method->name);
    for (size_t k = 0; k < sizeof rule / sizeof rule[0]; k++) {
        const char *text = cwi_options_text(options, rule[k][0]);
        if (cw_options_is_given(options, rule[k][0]) && strcmp(text, rule[k][1]) != 0)
            return cwi_fail(ctx, CW_BAD_ARG, "--%s is '%s'; method %s %s", rule[k][0], text,
                            p->method->name, rule[k][2]);
    }
    return CW_OK;
}

/* Nor has one without an optimizer a use for all of them. */
static cw_status check_sweep(cw_context *ctx, const parts *p, const cw_options *options)
{
    if (cwi_options_is(options, "reg-kind", "batch"))
        return cwi_fail(ctx, CW_BAD_ARG, "--reg-kind is 'batch'; method %s has no batches",
                        p->method->name);
    if (cwi_options_is(options, "engine", "ref"))
        return cwi_fail(ctx, CW_BAD_ARG,
                        "--engine is 'ref'; method %s solves equations, which engine ref does not",
                        p->method->name);
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

/* What the form of a loss on crosses has no use for. */
static cw_status check_crosses(cw_context *ctx, const cwi_method *method, cw_options *options)
{
    const char *form = cwi_options_text(options, "form");
    const char *known = strcmp(method->name, "cross-softmax") == 0 ? "both|rows|columns"
                        : strcmp(method->name, "cross-all") == 0   ? "logistic|lse"
                                                                   : NULL;
    if (known && cwi_word_index(known, form) < 0)
        return cwi_fail(ctx, CW_BAD_ARG, "--form is '%s'; method %s takes %s, cross takes all",
                        form, method->name, known);
    if (!cw_options_is_given(options, "hardest") && strcmp(form, "logistic") != 0)
        CW_PASS(cwi_options_assign(ctx, options, "hardest", "1")); /* a default is of its form */
    if (cwi_options_real(options, "hardest") < 1 && strcmp(form, "logistic") != 0)
        return cwi_fail(ctx, CW_BAD_ARG,
                        "--hardest is '%s'; it must be 1 with --form %s: only logistic leaves "
                        "crosses out",
                        cwi_options_text(options, "hardest"), form);
    if (cwi_options_real(options, "gamma") < 1 && cwi_word_index("both|rows", form) < 0)
        return cwi_fail(ctx, CW_BAD_ARG,
                        "--gamma is '%s'; it must be 1 with --form %s: only rows and both can keep "
                        "popularity",
                        cwi_options_text(options, "gamma"), form);
    return CW_OK;
}

static cw_status check_uniform(cw_context *ctx, const cwi_method *method, const cw_options *options)
{
    if (method->loss->row || cwi_options_choice(options, "candidates-of") == 0) return CW_OK;
    return cwi_fail(ctx, CW_BAD_ARG,
                    "--candidates-of is 'pair'; method %s compares the pairs of a batch, which "
                    "share theirs",
                    method->name);
}

cw_status cwi_train_settle(cw_context *ctx, const cw_options *given, const cwi_extent *extent,
                           cw_options **out, const cwi_method **method,
                           const cwi_backbone **backbone)
{
    cw_status status;
    parts p = {.optimizer = &cwi_optimizer_auto};
    *out = NULL;
    CW_TRY(cwi_options_check(ctx, given, "train"));
    if (given) p.optimizer = cwi_find_optimizer(cwi_options_text(given, "optimizer"));
    CW_TRY(cwi_find_pair(ctx, given ? cwi_options_text(given, "method") : "cpr",
                         given ? cwi_options_text(given, "backbone") : "", &p.method, &p.backbone));
    CW_TRY(copy_given(ctx, given, &p, out));
    if (extent && cwi_options_is(*out, "preset", "auto"))
        CW_TRY(cwi_train_fit(ctx, extent, p.method, p.backbone, *out));
    CW_TRY(fill_in(ctx, &p, *out));
    if (p.backbone->learn) CW_TRY(check_whole_step(ctx, &p, *out));
    if (p.backbone->sweep) CW_TRY(check_sweep(ctx, &p, *out));
    if (p.method->sampler == &cwi_sampler_cpr) CW_TRY(check_cycles(ctx, p.method, *out));
    if (p.method->sampler == &cwi_sampler_cross) CW_TRY(check_crosses(ctx, p.method, *out));
    if (p.method->sampler == &cwi_sampler_uniform) CW_TRY(check_uniform(ctx, p.method, *out));
done:
    *method = p.method;
    *backbone = p.backbone;
    if (status != CW_OK) {
        cw_options_free(*out);
        *out = NULL;
    }
    return status;
}

/* ---- records and names -------------------------------------------------------------- */

static json_t *list_options(const cw_options *settled)
{
    static const char *const passing[] = {"checkpoint", "checkpoint-every", "checkpoint-end",
                                          "resume"};
    json_t *out = cwi_json_options(settled);
    for (size_t k = 0; k < sizeof passing / sizeof passing[0]; k++)
        json_object_del(out, passing[k]);
    return out;
}

json_t *cwi_train_record(const cw_options *settled)
{
    json_t *out = list_options(settled);
    json_object_del(out, "bucket");               /* has an entry of its own */
    if (cwi_options_is(settled, "device", "mpi")) /* the bits are those of one process */
        cwi_json_set(&out, "device", json_string("auto"));
    return out;
}

json_t *cwi_train_identity(const cw_options *settled)
{
    const cw_option_info *info;
    json_t *out = list_options(settled);
    json_object_del(out, "preset"); /* its values are there */
    for (size_t row = 0; (info = cwi_options_row(settled, row)) != NULL; row++)
        if (cwi_options_is_preset(settled, info->name)) json_object_del(out, info->name);
    return out;
}

/* The text of an option that is recorded, maybe under the name and the words that it had. */
static bool find_recorded(const json_t *recorded, const cw_option_info *info, char *out,
                          size_t bytes)
{
    bool is_former = info->former && !json_object_get(recorded, info->name);
    if (!cwi_json_to_text(json_object_get(recorded, is_former ? info->former : info->name), out,
                          bytes))
        return false;
    int word = is_former && info->former_choices ? cwi_word_index(info->former_choices, out) : -1;
    const char *now = info->choices;
    char name[CWI_WORD_BYTES];
    for (int k = 0; k <= word && cwi_next_word(&now, name); k++) cwi_copy_text(out, bytes, name);
    return true;
}

cw_status cwi_train_reread(cw_context *ctx, const cwi_method *method, const cwi_backbone *backbone,
                           const json_t *recorded, cw_options **out)
{
    const cw_option_info *tables[CWI_TRAIN_TABLES], *info;
    cwi_train_tables(method->name, backbone->name, NULL, tables);
    cw_status status = cwi_options_join(ctx, "train", tables, out);
    for (size_t row = 0; status == CW_OK && (info = cwi_options_row(*out, row)); row++) {
        char text[4096];
        if (find_recorded(recorded, info, text, sizeof text))
            status = cwi_options_assign(ctx, *out, info->name, text);
    }
    if (status == CW_OK) return CW_OK;
    cw_options_free(*out);
    *out = NULL;
    return status == CW_BAD_ARG ? CW_BAD_DATA : status; /* the file is wrong, not the caller */
}
