/* request.c - the options of evaluation. */
#include "evaluate/request.h"

#include <math.h>
#include <string.h>

#include "core/option_rows.h"
#include "core/text.h"
#include "evaluate/evaluate.h"
#include "prepare/propensity_rows.h"

enum { MAX_K = 1000000 };

const cw_option_info cwi_evaluate_options[] = {
    WORD("split", "test", "test|valid|uniform",
         "which held-out rows to find; uniform is the uniformly exposed test of a simulated "
         "dataset"),
    TEXT("k", "20",
         "length of the lists, or several as in 20,50; the first is used where there is one"),
    WHOLE("groups", "4", 1, 64,
          "number of popularity groups of items, and of activity groups of users"),
    FLAG("mask-valid",
         "leave a user's validation items out of their list, as their train items are"),
    WHOLE("bootstrap", "0", 0, 100000,
          "resamples of the users for 95 % intervals of the metrics; 0 is none"),
    REAL("popularity", "0", -1e6, 1e6,
         "rank by score + this * ln(1 + train degree of the item); a model of tune has its own "
         "unless it is given"),
    TEXT("popularity-sweep", "",
         "accuracy against popularity along a list of values of popularity, such as -1,0,1; "
         "auto chooses them from the spread of the scores"),
    WORD("recall", "held", "held|capped",
         "Recall divides by the number of held-out items, or by at most K"),
    FLAG("uniform-exposure",
         "the held-out rows are from items shown uniformly at random, as those of split uniform "
         "always are: unbiased_recall is measured, too"),
    WEIGHING_ROWS("", "the held-out rows"),
    WORD("truth", "auto", "auto|on|off",
         "compare with the true relevances of a simulated dataset; auto does so when there "
         "are any"),
    TEXT(
        "device", "auto",
        "who makes the lists: cpu, cuda (the first GPU), cuda:1 (the second), mpi (all processes "
        "that mpirun has started, each a part of the users), or auto: a GPU where there is one and "
        "it is worth it, else the CPU; lists are the same"),
    SEED("for the bootstrap and the sample of users compared with the truth"),
    {0}};

/* The next entry of a list with commas; NULL at its end. */
static const char *next_entry(const char **list, size_t *length)
{
    const char *entry = *list;
    if (!entry) return NULL;
    const char *comma = strchr(entry, ',');
    *length = comma ? (size_t)(comma - entry) : strlen(entry);
    *list = comma ? comma + 1 : NULL;
    return entry;
}

static cw_status bad_entry(cw_context *ctx, const char *option, const char *entry, size_t length,
                           const char *problem)
{
    char shown[48];
    return cwi_fail(ctx, CW_BAD_ARG, "--%s lists '%s'; %s", option,
                    cwi_excerpt(entry, length, shown), problem);
}

static bool has_k(const cwi_request *request, int64_t k)
{
    for (int32_t j = 0; j < request->n_ks; j++)
        if (request->k[j] == k) return true;
    return false;
}

static cw_status parse_ks(cw_context *ctx, const char *list, cwi_request *out)
{
    const char *entry;
    size_t length;
    int64_t k;

    while ((entry = next_entry(&list, &length))) {
        if (!cwi_parse_int(entry, length, &k) || k < 1 || k > MAX_K)
            return bad_entry(ctx, "k", entry, length,
                             "each must be a whole number between 1 and 1000000");
        if (has_k(out, k)) return bad_entry(ctx, "k", entry, length, "it is there twice");
        if (out->n_ks == CWI_MAX_KS)
            return bad_entry(ctx, "k", entry, length, "16 lengths are the most");
        out->k[out->n_ks++] = (int32_t)k;
        if (k > out->k_max) out->k_max = (int32_t)k;
    }
    return CW_OK;
}

static cw_status parse_dials(cw_context *ctx, const char *list, cwi_request *out)
{
    const char *entry;
    size_t length;
    double dial;

    out->sweeps = list[0] != '\0';
    if (!out->sweeps || strcmp(list, "auto") == 0) return CW_OK;
    while ((entry = next_entry(&list, &length))) {
        if (!cwi_parse_fraction(entry, length, &dial) || !(fabs(dial) <= 1e6))
            return bad_entry(ctx, "popularity-sweep", entry, length,
                             "each must be a number between -1e6 and 1e6");
        if (out->n_dials == CWI_MAX_DIALS)
            return bad_entry(ctx, "popularity-sweep", entry, length, "64 values are the most");
        out->dial[out->n_dials++] = dial;
    }
    return CW_OK;
}

cw_status cwi_request_parse(cw_context *ctx, const cw_options *options, cwi_request *out)
{
    *out = (cwi_request){.split = (cwi_held_out)cwi_options_choice(options, "split"),
                         .n_groups = (int32_t)cwi_options_integer(options, "groups"),
                         .masks_valid = cwi_options_flag(options, "mask-valid"),
                         .is_capped = cwi_options_choice(options, "recall") == 1,
                         .n_resamples = cwi_options_integer(options, "bootstrap"),
                         .popularity = cwi_options_real(options, "popularity"),
                         .is_uniform = cwi_options_flag(options, "uniform-exposure"),
                         .propensity_min = cwi_options_real(options, "propensity-min"),
                         .truth = (cwi_when)cwi_options_choice(options, "truth"),
                         .seed = (uint64_t)cwi_options_integer(options, "seed")};
    CW_PASS(parse_ks(ctx, cwi_options_text(options, "k"), out));
    CW_PASS(parse_dials(ctx, cwi_options_text(options, "popularity-sweep"), out));
    if (out->split == CWI_HELD_UNIFORM) out->is_uniform = true;
    if (cwi_options_is_set(options, "propensity-power"))
        out->propensity_power = cwi_options_real(options, "propensity-power");
    if (out->is_uniform && cwi_weights_are_given(options, ""))
        return cwi_fail(
            ctx, CW_BAD_ARG,
            "--propensity and --propensity-power are for rows that were not shown uniformly; %s "
            "says that they were",
            out->split == CWI_HELD_UNIFORM ? "--split uniform" : "--uniform-exposure");
    if (!out->masks_valid || out->split != CWI_HELD_VALID) return CW_OK;
    return cwi_fail(ctx, CW_BAD_ARG, "--mask-valid would leave out what --split valid looks for");
}
