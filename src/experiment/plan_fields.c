/* plan_fields.c - single fields of a plan. */
#include "experiment/plan_fields.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/text.h"

/* ---- messages and shapes --------------------------------------------------------- */

cw_status cwi_plan_bad(cw_context *ctx, const cwi_place *at, const char *format, ...)
{
    char text[sizeof ctx->error];
    va_list args;
    va_start(args, format);
    vsnprintf(text, sizeof text, format, args);
    va_end(args);
    return cwi_fail(ctx, CW_BAD_DATA, "plan: %s%s%s", at->text, at->text[0] ? ": " : "", text);
}

cw_status cwi_plan_blame(cw_context *ctx, const cwi_place *at, cw_status status)
{
    char text[sizeof ctx->error];
    if (status != CW_BAD_ARG) return status;
    memcpy(text, ctx->error, sizeof text);
    cwi_begin(ctx);
    return cwi_plan_bad(ctx, at, "%s", text);
}

cw_status cwi_plan_check_fields(cw_context *ctx, const cwi_place *at, const char *fields)
{
    const char *key;
    json_t *unused;
    char known[256] = "", word[CWI_WORD_BYTES];

    if (!json_is_object(at->value)) return cwi_plan_bad(ctx, at, "it must be an object");
    json_object_foreach((json_t *)at->value, key, unused)
    {
        cwi_place field = cwi_place_field(at, key);
        if (cwi_word_index(fields, key) >= 0) continue;
        while (cwi_next_word(&fields, word)) cwi_list_text(known, sizeof known, word);
        return cwi_plan_bad(ctx, &field, "there is no such field; there are %s", known);
    }
    return CW_OK;
}

cw_status cwi_plan_check_list(cw_context *ctx, const cwi_place *at, bool of_texts)
{
    if (at->value && json_array_size(at->value) == 0)
        return cwi_plan_bad(ctx, at, "it must be a list with something in it");
    for (size_t k = 0; k < json_array_size(at->value); k++) {
        cwi_place entry = cwi_place_index(at, k);
        if (of_texts && !json_is_string(entry.value))
            return cwi_plan_bad(ctx, &entry, "it must be a text in quotes");
    }
    return CW_OK;
}

/* A whole number from low to high; *out stays when it is missing. */
static cw_status read_whole(cw_context *ctx, const cwi_place at, int64_t low, int64_t high,
                            int64_t *out)
{
    json_int_t number = json_integer_value(at.value);
    if (!at.value) return CW_OK;
    if (!json_is_integer(at.value) || number < low || number > high)
        return cwi_plan_bad(ctx, &at, "it must be a whole number between %lld and %lld",
                            (long long)low, (long long)high);
    *out = number;
    return CW_OK;
}

/* ---- tuning and seeds -------------------------------------------------------------- */

static cw_status read_rungs(cw_context *ctx, const cwi_place at, cwi_tuning *out)
{
    if (!at.value) return CW_OK;
    if (!json_is_array(at.value) || json_array_size(at.value) > CWI_MAX_RUNGS)
        return cwi_plan_bad(ctx, &at, "it must be a list of at most %d numbers of epochs",
                            CWI_MAX_RUNGS);
    for (size_t k = 0; k < json_array_size(at.value); k++) {
        cwi_place rung = cwi_place_index(&at, k);
        CW_PASS(read_whole(ctx, rung, 1, 1000000, &out->rungs[k]));
        if (k > 0 && out->rungs[k] <= out->rungs[k - 1])
            return cwi_plan_bad(ctx, &rung, "it must be more epochs than the rung before");
        out->n_rungs++;
    }
    return CW_OK;
}

/* What goes with the kind of tuning. */
static cw_status check_tuning(cw_context *ctx, const cwi_place *at, const cwi_tuning *tuning)
{
    if (tuning->kind == CWI_TUNE_HALVING && tuning->n_rungs == 0)
        return cwi_plan_bad(ctx, at, "halving needs rungs, such as \"rungs\": [5, 20]");
    if (tuning->kind != CWI_TUNE_HALVING && tuning->n_rungs > 0)
        return cwi_plan_bad(ctx, at, "rungs go with \"kind\": \"halving\"");
    if (tuning->kind == CWI_TUNE_RANDOM && tuning->draws == 0)
        return cwi_plan_bad(ctx, at, "random needs \"draws\", how many settings to try");
    if (tuning->kind == CWI_TUNE_RACE && tuning->draws == 0)
        return cwi_plan_bad(ctx, at, "race needs \"draws\", how many settings to try");
    if (tuning->kind == CWI_TUNE_GRID && tuning->draws > 0)
        return cwi_plan_bad(ctx, at, "draws go with \"kind\": \"random\", \"halving\" or \"race\"");
    return CW_OK;
}

cw_status cwi_plan_read_tuning(cw_context *ctx, const cwi_place at, cwi_tuning *out)
{
    if (!at.value) return CW_OK;
    CW_PASS(cwi_plan_check_fields(ctx, &at, "kind|draws|rungs|keep|seed"));
    *out = (cwi_tuning){.keep = 3};
    cwi_place kind = cwi_place_field(&at, "kind");
    int index =
        kind.value ? cwi_word_index("grid|random|halving|race", cwi_json_get_text(at.value, "kind"))
                   : 0;
    if (index < 0) return cwi_plan_bad(ctx, &kind, "it must be one of grid, random, halving, race");
    out->kind = (cwi_tuning_kind)index;
    CW_PASS(read_whole(ctx, cwi_place_field(&at, "draws"), 1, CWI_MAX_CANDIDATES, &out->draws));
    CW_PASS(read_whole(ctx, cwi_place_field(&at, "keep"), 2, 1000, &out->keep));
    CW_PASS(read_whole(ctx, cwi_place_field(&at, "seed"), 0, UINT32_MAX, &out->seed));
    CW_PASS(read_rungs(ctx, cwi_place_field(&at, "rungs"), out));
    return check_tuning(ctx, &at, out);
}

cw_status cwi_plan_read_seeds(cw_context *ctx, const cwi_place at, json_t **out)
{
    cw_status status = CW_OK;
    int64_t count = 0;
    bool is_list = json_is_array(at.value);
    if (!at.value) return CW_OK;
    CW_PASS(is_list ? cwi_plan_check_list(ctx, &at, false)
                    : read_whole(ctx, at, 1, CWI_MAX_SEEDS, &count));
    if (is_list) count = (int64_t)json_array_size(at.value);
    json_t *list = json_array();
    for (int64_t s = 0; s < count && s < CWI_MAX_SEEDS; s++) {
        cwi_place here = is_list ? cwi_place_index(&at, (size_t)s) : at;
        int64_t seed = s;
        if (is_list) CW_TRY(read_whole(ctx, here, 0, UINT32_MAX, &seed));
        json_t *number = json_integer(seed);
        bool is_twice = cwi_json_has(list, number);
        cwi_json_add(&list, number);
        if (is_twice)
            CW_TRY(cwi_plan_bad(ctx, &here, "the seed %lld is there twice", (long long)seed));
    }
    CW_TRY(cwi_json_check(ctx, list));
    json_decref(*out);
    *out = json_incref(list);
done:
    json_decref(list);
    return status;
}

/* ---- options ------------------------------------------------------------------------- */

static cw_status check_value(cw_context *ctx, const cwi_place *at, const char *name,
                             const json_t *value, cw_options *probe)
{
    char text[256];
    if (!cwi_json_to_text(value, text, sizeof text))
        return cwi_plan_bad(ctx, at, "it must be a number, a text, true or false");
    return cwi_plan_blame(ctx, at, cwi_options_assign(ctx, probe, name, text));
}

static cw_status check_values(cw_context *ctx, const cwi_place *at, const char *name,
                              cw_options *probe)
{
    CW_PASS(cwi_plan_check_list(ctx, at, false));
    for (size_t v = 0; v < json_array_size(at->value); v++) {
        cwi_place here = cwi_place_index(at, v);
        CW_PASS(check_value(ctx, &here, name, here.value, probe));
    }
    return CW_OK;
}

/* {"from": 1e-5, "to": 1e-1, "scale": "log"} */
static cw_status check_range(cw_context *ctx, const cwi_place *at, const char *name,
                             cw_options *probe)
{
    CW_PASS(cwi_plan_check_fields(ctx, at, "from|to|scale"));
    const json_t *from = json_object_get(at->value, "from"), *to = json_object_get(at->value, "to");
    const char *scale = cwi_json_get_text(at->value, "scale");
    if (json_object_get(at->value, "scale") && cwi_word_index("linear|log", scale) < 0)
        return cwi_plan_bad(ctx, at, "its scale must be linear or log");
    if (!json_is_number(from) || !json_is_number(to) ||
        !(json_number_value(from) < json_number_value(to)))
        return cwi_plan_bad(ctx, at, "it must go \"from\" a number \"to\" a larger one");
    if (strcmp(scale, "log") == 0 && json_number_value(from) <= 0)
        return cwi_plan_bad(ctx, at, "a log scale begins above 0");
    CW_PASS(check_value(ctx, at, name, from, probe));
    return check_value(ctx, at, name, to, probe);
}

/* What a plan says elsewhere, or nobody but the program. */
static const char *reserved(const char *name)
{
    static const char *const rows[][2] = {
        {"method", "methods"},
        {"backbone", "backbones"},
        {"seed", "seeds"},
        {"checkpoint", "the experiment itself"},
        {"checkpoint-every", "the experiment itself (--checkpoint-every)"},
        {"checkpoint-end", "the experiment itself"},
        {"resume", "the experiment itself"},
    };
    for (size_t r = 0; r < sizeof rows / sizeof rows[0]; r++)
        if (strcmp(rows[r][0], name) == 0) return rows[r][1];
    return NULL;
}

/* One option of the fields; null: what an outer level says of it does not hold here. */
static cw_status read_option(cw_context *ctx, const cwi_place *at, const char *name,
                             cw_options *probe, bool is_grid, json_t *into)
{
    if (!is_grid && json_is_null(at->value)) {
        if (!cw_options_get(probe, name)) return check_value(ctx, at, name, json_true(), probe);
        (void)json_object_del(into, name); /* it need not be there */
        return CW_OK;
    }
    if (!is_grid)
        CW_PASS(check_value(ctx, at, name, at->value, probe));
    else if (json_is_object(at->value))
        CW_PASS(check_range(ctx, at, name, probe));
    else
        CW_PASS(check_values(ctx, at, name, probe));
    return json_object_set(into, name, (json_t *)at->value) == 0 ? CW_OK : cwi_no_memory(ctx);
}

cw_status cwi_plan_read_options(cw_context *ctx, const cwi_place at, const cwi_option_check *check,
                                bool is_grid, json_t *into)
{
    const char *name;
    json_t *unused;
    if (at.value && !json_is_object(at.value))
        return cwi_plan_bad(ctx, &at, "it must be an object of train options");
    json_object_foreach((json_t *)at.value, name, unused)
    {
        cwi_place here = cwi_place_field(&at, name);
        if (reserved(name)) return cwi_plan_bad(ctx, &here, "it is set by %s", reserved(name));
        if (check->skips_unknown && !cwi_options_former(check->probe, name) &&
            !cw_options_get(check->probe, name))
            cwi_log(ctx, CW_LOG_INFO, "plan: %s: this version has no such option; left out",
                    here.text);
        else
            CW_PASS(read_option(ctx, &here, name, check->probe, is_grid, into));
    }
    return CW_OK;
}
