/* registry.c - one page: every backbone, and every method as sampler, loss and tuned defaults. */
#include "registry/registry.h"

#include <string.h>

#include "core/option_rows.h"
#include "core/text.h"
#include "registry/fits.h"

#define POINTER(id) &cwi_backbone_##id,
static const cwi_backbone *const backbones[] = {CWI_BACKBONES(POINTER)};
#undef POINTER

#define POINTER(id, name) &cwi_optimizer_##id,
static const cwi_optimizer *const optimizers[] = {CWI_OPTIMIZERS(POINTER)};
#undef POINTER

/* Backbones that score slots: every method of slots works on them unless it says so. */
#define BAR(id)      "|" #id /* the words are what follows the first bar */
#define ANY_BACKBONE &CWI_SLOT_BACKBONES(BAR)[1]

/* Those whose scores are inner products of two vectors. */
#define VECTOR_BACKBONES "mf|lightgcn|ngcf"

/* Tuned on the five-star MovieLens-1M debiased split (docs/training.md). */
static const cwi_default cpr_defaults[] = {
    {"lightgcn", "lr", "1e-3"},    {"lightgcn", "reg", "1e-4"}, {"lightgcn", "beta", "3"},
    {"ngcf", "lr", "1e-3"},        {"ngcf", "reg", "3e-2"},     {"ngcf", "beta", "1.5"},
    {"neumf", "lr", "1e-3"},       {"neumf", "reg", "1e-3"},    {"neumf", "weight-reg", "1e-2"},
    {"neumf", "eval-every", "10"}, {"neumf", "beta", "1"},      {NULL, "lr", "3e-4"},
    {NULL, "reg", "5e-2"},         {NULL, "beta", "2"},         {NULL, NULL, NULL}};
static const cwi_default cpr_rand_defaults[] = {
    {"lightgcn", "lr", "1e-3"},      {"lightgcn", "reg", "1e-4"},   {"ngcf", "lr", "1e-3"},
    {"ngcf", "reg", "3e-2"},         {"neumf", "lr", "1e-3"},       {"neumf", "reg", "1e-3"},
    {"neumf", "weight-reg", "1e-2"}, {"neumf", "eval-every", "10"}, {NULL, "lr", "3e-4"},
    {NULL, "reg", "1e-2"},           {NULL, "beta", "1"},           {NULL, NULL, NULL}};
static const cwi_default bpr_defaults[] = {{"lightgcn", "reg", "0"},
                                           {"neumf", "reg", "1e-2"},
                                           {"neumf", "weight-reg", "1e-5"},
                                           {"neumf", "eval-every", "10"},
                                           {NULL, "lr", "1e-3"},
                                           {NULL, "reg", "1e-3"},
                                           {NULL, NULL, NULL}};
static const cwi_default cause_defaults[] = {
    {NULL, "lr", "1e-3"}, {NULL, "reg", "1e-3"}, {NULL, "dis-penalty", "100"}, {NULL, NULL, NULL}};
static const cwi_default ubpr_defaults[] = {{NULL, "lr", "3e-4"},
                                            {NULL, "reg", "1e-2"},
                                            {NULL, "propensity-power", "0.7"},
                                            {NULL, NULL, NULL}};
static const cwi_default relmf_defaults[] = {{NULL, "lr", "1e-3"},
                                             {NULL, "reg", "1e-3"},
                                             {NULL, "propensity-power", "0.5"},
                                             {NULL, NULL, NULL}};
static const cwi_default bce_defaults[] = {
    {NULL, "lr", "1e-3"}, {NULL, "reg", "1e-4"}, {NULL, NULL, NULL}};
static const cwi_default mse_defaults[] = {
    {NULL, "lr", "1e-3"}, {NULL, "reg", "1e-2"}, {NULL, NULL, NULL}};
static const cwi_default wmf_defaults[] = {
    {NULL, "lr", "1e-3"}, {NULL, "reg", "1e-3"}, {NULL, NULL, NULL}};
static const cwi_default mult_vae_defaults[] = {
    {NULL, "lr", "1e-3"}, {NULL, "reg", "0"}, {NULL, "eval-every", "20"}, {NULL, NULL, NULL}};
static const cwi_default dice_defaults[] = {
    {"ngcf", "weight-reg", "1e-3"}, {"ngcf", "margin", "10"},
    {"neumf", "reg", "1e-3"},       {"neumf", "weight-reg", "1e-2"},
    {"neumf", "margin", "10"},      {"neumf", "eval-every", "20"},
    {NULL, "lr", "1e-3"},           {NULL, "reg", "3e-2"},
    {NULL, "reg-target", "final"},  {NULL, "margin", "40"},
    {NULL, "dis-penalty", "1e-4"},  {NULL, NULL, NULL}};
/* The forms of crosses that are best on the same data, and what they want elsewhere. */
static const cwi_default cross_defaults[] = {
    {"lightgcn", "lr", "1e-3"}, {"lightgcn", "reg", "1e-3"}, {"lightgcn", "hardest", "0.5"},
    {NULL, "lr", "3e-4"},       {NULL, "reg", "5e-2"},       {NULL, "form", "logistic"},
    {NULL, "hardest", "0.25"},  {NULL, NULL, NULL}};
static const cwi_default cross_softmax_defaults[] = {{NULL, "lr", "1e-3"},
                                                     {NULL, "reg", "0"},
                                                     {NULL, "scorer", "cosine"},
                                                     {NULL, "temperature", "0.1"},
                                                     {NULL, NULL, NULL}};
static const cwi_default cross_all_defaults[] = {
    {"lightgcn", "lr", "1e-3"}, {"lightgcn", "reg", "1e-3"}, {NULL, "lr", "3e-4"},
    {NULL, "reg", "1e-2"},      {NULL, "form", "logistic"},  {NULL, NULL, NULL}};
static const cwi_default fs_defaults[] = {{"lightgcn", "reg", "1e-4"}, {NULL, "lr", "1e-3"},
                                          {NULL, "reg", "1e-2"},       {NULL, "beta", "1"},
                                          {NULL, "cycle", "2"},        {NULL, NULL, NULL}};
static const cwi_default sl_defaults[] = {{NULL, "lr", "1e-3"},
                                          {NULL, "reg", "0"},
                                          {NULL, "scorer", "cosine"},
                                          {NULL, "temperature", "0.1"},
                                          {NULL, NULL, NULL}};

static const cwi_default ials_defaults[] = {
    {NULL, "reg", "1e-2"}, {NULL, "eval-every", "1"}, {NULL, "patience", "5"}, {NULL, NULL, NULL}};
static const cwi_default ease_defaults[] = {{NULL, "reg", "250"}, {NULL, NULL, NULL}};
static const cwi_default no_defaults[] = {{NULL, NULL, NULL}};

static const cw_option_info cpr_options[] = {
    WORD("select", "joint", "joint|per-k",
         "the hardest candidates of all k together (authors' code) or of each k (paper)"),
    {0}};
static const cw_option_info cause_options[] = {
    WORD("cause-score", "control", "control|treatment", "the item vectors to rank by"), {0}};
static const cw_option_info dice_options[] = {
    WORD("dice-score", "interest", "interest|sum",
         "items are ranked by interest alone or by interest plus conformity"),
    {0}};

static const cwi_method methods[] = {
    {.name = "cpr",
     .help = "cross pairwise ranking: cancels popularity bias in the loss, trains on the hardest "
             "samples",
     .sampler = &cwi_sampler_cpr,
     .loss = &cwi_loss_cpr,
     .selects = true,
     .backbones = ANY_BACKBONE,
     .defaults = cpr_defaults,
     .fits = cwi_fits_cpr,
     .options = cpr_options},
    {.name = "cpr-rand",
     .help = "cross pairwise ranking without choosing hard samples (beta 1)",
     .sampler = &cwi_sampler_cpr,
     .loss = &cwi_loss_cpr,
     .backbones = ANY_BACKBONE,
     .defaults = cpr_rand_defaults,
     .fits = cwi_fits_cpr_rand},
    {.name = "bpr",
     .help = "Bayesian personalised ranking: a liked item above a random other",
     .sampler = &cwi_sampler_bpr,
     .loss = &cwi_loss_bpr,
     .backbones = ANY_BACKBONE,
     .defaults = bpr_defaults,
     .fits = cwi_fits_bpr},
    {.name = "cause",
     .help = "causal embeddings: items have a second vector, learnt from a debiased part of train "
             "and tied to the first",
     .sampler = &cwi_sampler_cause,
     .loss = &cwi_loss_cause,
     .penalty = &cwi_penalty_cause,
     .item_tables = 2,
     .backbones = "mf",
     .defaults = cause_defaults,
     .fits = cwi_fits_cause,
     .options = cause_options},
    {.name = "ubpr",
     .help = "unbiased BPR: weights by inverse propensities of items",
     .sampler = &cwi_sampler_ubpr,
     .loss = &cwi_loss_ubpr,
     .backbones = ANY_BACKBONE,
     .defaults = ubpr_defaults,
     .fits = cwi_fits_ubpr},
    {.name = "rel-mf",
     .help = "relevance of single pairs: labels over propensities of items",
     .sampler = &cwi_sampler_weighted,
     .loss = &cwi_loss_relmf,
     .backbones = ANY_BACKBONE,
     .defaults = relmf_defaults,
     .fits = cwi_fits_relmf},
    {.name = "bce",
     .help = "observed or not, pair by pair: binary cross entropy",
     .sampler = &cwi_sampler_pointwise,
     .loss = &cwi_loss_bce,
     .backbones = ANY_BACKBONE,
     .defaults = bce_defaults,
     .fits = cwi_fits_bce},
    {.name = "mse",
     .help = "observed or not, pair by pair: squared error",
     .sampler = &cwi_sampler_pointwise,
     .loss = &cwi_loss_mse,
     .backbones = ANY_BACKBONE,
     .defaults = mse_defaults,
     .fits = cwi_fits_mse},
    {.name = "wmf",
     .help = "weighted matrix factorisation: squared error of the sigmoid, pairs not observed "
             "weighing less",
     .sampler = &cwi_sampler_pointwise,
     .loss = &cwi_loss_wmf,
     .backbones = ANY_BACKBONE,
     .defaults = wmf_defaults,
     .fits = cwi_fits_wmf},
    {.name = "mult-vae",
     .help =
         "variational autoencoder with a multinomial likelihood: a user's items from their items",
     .backbones = "vae",
     .defaults = mult_vae_defaults,
     .fits = cwi_fits_mult_vae},
    {.name = "dice",
     .help = "disentangled interest and conformity: two halves of the vectors, one for taste, one "
             "for popularity",
     .sampler = &cwi_sampler_dice,
     .loss = &cwi_loss_dice,
     .penalty = &cwi_penalty_dice,
     .heads = 2,
     .backbones = ANY_BACKBONE,
     .fits = cwi_fits_dice,
     .defaults = dice_defaults,
     .options = dice_options},
    {.name = "cross",
     .help = "every observed pair of a batch crossed with every other, in the way that suits the "
             "data",
     .sampler = &cwi_sampler_cross,
     .loss = &cwi_loss_cross,
     .backbones = VECTOR_BACKBONES,
     .defaults = cross_defaults,
     .fits = cwi_fits_cross},
    {.name = "cross-softmax",
     .help = "which item of the batch is the user's, whose is the item: softmax over all crosses",
     .sampler = &cwi_sampler_cross,
     .loss = &cwi_loss_cross,
     .backbones = VECTOR_BACKBONES,
     .defaults = cross_softmax_defaults},
    {.name = "cross-all",
     .help = "CPR's margin for all pairs of a batch, or the hardest of them, without drawing",
     .sampler = &cwi_sampler_cross,
     .loss = &cwi_loss_cross,
     .backbones = VECTOR_BACKBONES,
     .defaults = cross_all_defaults,
     .fits = cwi_fits_cross_all},
    {.name = "fs-pair",
     .help = "fair sampling: two observed pairs, each user's own item above the other's",
     .sampler = &cwi_sampler_cpr,
     .loss = &cwi_loss_fs_pair,
     .backbones = ANY_BACKBONE,
     .defaults = fs_defaults,
     .fits = cwi_fits_fs},
    {.name = "fs-point",
     .help = "fair sampling, score by score: observed pairs against the crossed ones",
     .sampler = &cwi_sampler_cpr,
     .loss = &cwi_loss_fs_point,
     .backbones = ANY_BACKBONE,
     .defaults = fs_defaults,
     .fits = cwi_fits_fs},
    {.name = "sl",
     .help = "softmax loss: an observed pair against items drawn uniformly",
     .sampler = &cwi_sampler_uniform,
     .loss = &cwi_loss_sl,
     .backbones = VECTOR_BACKBONES,
     .defaults = sl_defaults},
    {.name = "psl",
     .help = "pairwise softmax loss: the same with a gentler surrogate of the rank (PSL-relu)",
     .sampler = &cwi_sampler_uniform,
     .loss = &cwi_loss_psl,
     .backbones = VECTOR_BACKBONES,
     .defaults = sl_defaults},
    {.name = "bsl",
     .help = "bilateral softmax loss: observed pairs that look unlikely count less",
     .sampler = &cwi_sampler_uniform,
     .loss = &cwi_loss_bsl,
     .backbones = VECTOR_BACKBONES,
     .defaults = sl_defaults},
    {.name = "ials",
     .help = "implicit alternating least squares: observed pairs near 1, all others lightly near 0",
     .backbones = "als",
     .defaults = ials_defaults,
     .fits = cwi_fits_ials},
    {.name = "ease",
     .help = "a linear autoencoder in closed form: a user's items from their other items",
     .backbones = "ease",
     .defaults = ease_defaults,
     .fits = cwi_fits_ease},
    {.name = "itemknn",
     .help = "nearest neighbours of items: what is like the items that a user has",
     .backbones = "itemknn",
     .defaults = no_defaults,
     .fits = cwi_fits_itemknn},
    {.name = "pop",
     .help = "the most popular items for everybody",
     .backbones = "pop",
     .defaults = no_defaults},
};

enum {
    N_BACKBONES = sizeof backbones / sizeof backbones[0],
    N_METHODS = sizeof methods / sizeof methods[0],
    N_OPTIMIZERS = sizeof optimizers / sizeof optimizers[0]
};

/* What is asked of the parts of a kind; the list has part number k. */
#define PARTS(kind, count, part)                                                                   \
    const cwi_##kind *cwi_find_##kind(const char *name)                                            \
    {                                                                                              \
        for (size_t k = 0; k < (count); k++)                                                       \
            if (strcmp((part)->name, name) == 0) return part;                                      \
        return NULL;                                                                               \
    }                                                                                              \
    const char *cw_##kind##_name(size_t k)                                                         \
    {                                                                                              \
        return k < (count) ? (part)->name : NULL;                                                  \
    }                                                                                              \
    const char *cw_##kind##_help(const char *name)                                                 \
    {                                                                                              \
        const cwi_##kind *found = cwi_find_##kind(name);                                           \
        return found ? found->help : NULL;                                                         \
    }

PARTS(method, N_METHODS, &methods[k])
PARTS(backbone, N_BACKBONES, backbones[k])
PARTS(optimizer, N_OPTIMIZERS, optimizers[k])

const char *cwi_find_default(const cwi_method *method, const char *backbone, const char *option)
{
    for (const cwi_default *row = method->defaults; row->option; row++)
        if (strcmp(row->option, option) == 0 &&
            (!row->backbone || strcmp(row->backbone, backbone) == 0))
            return row->value;
    return NULL;
}

const char *cw_method_backbone(const char *method, size_t index)
{
    const cwi_method *found = cwi_find_method(method);
    for (size_t b = 0; found && b < N_BACKBONES; b++)
        if (cwi_word_index(found->backbones, backbones[b]->name) == (int)index)
            return backbones[b]->name;
    return NULL;
}

const char *cw_method_default(const char *method, const char *backbone, const char *option)
{
    const cwi_method *found = cwi_find_method(method);
    if (!found || cwi_word_index(found->backbones, backbone) < 0) return "";
    const char *value = cwi_find_default(found, backbone, option);
    return value && cw_method_takes(method, backbone, option) ? value : "";
}

cwi_shape cwi_method_shape(const cwi_method *method, const cw_options *options, int32_t n_users,
                           int32_t n_items, const cwi_csr *train)
{
    int32_t heads = method->heads > 1 ? method->heads : 1;
    bool first_only = heads > 1 && cwi_options_choice(options, "dice-score") == 0;
    return (cwi_shape){.n_users = n_users,
                       .n_items = n_items * (method->item_tables > 1 ? method->item_tables : 1),
                       .train = train,
                       .heads = heads,
                       .ranked = first_only ? 1 : heads};
}

cw_status cwi_method_rank(cw_context *ctx, const cwi_method *method, const cwi_backbone *backbone,
                          const cwi_shape *shape, const cw_options *options,
                          const cwi_params *params, cwi_ranker *out)
{
    cw_status status = backbone->rank(ctx, shape, options, params, out);
    if (status != CW_OK || method->item_tables < 2) return status;
    int32_t n_items = shape->n_items / method->item_tables;
    cwi_ranker_narrow(out, n_items * cwi_options_choice(options, "cause-score"), n_items);
    return CW_OK;
}
