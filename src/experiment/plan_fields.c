/* plan_fields.c - single fields of a plan. */
#include "experiment/plan_fields.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/json.h"
#include "core/text.h"

/* ---- places and messages ------------------------------------------------------- */

cwi_place cwi_place_field(const cwi_place *place, const char *field)
{
    cwi_place out;
    snprintf(out.text, sizeof out.text, "%.100s%s%.50s", place->text, place->text[0] ? "." : "",
             field);
    return out;
}

cwi_place cwi_place_index(const cwi_place *place, size_t index)
{
    cwi_place out;
    snprintf(out.text, sizeof out.text, "%.130s[%zu]", place->text, index);
    return out;
}

cw_status cwi_plan_bad(cw_context *ctx, const cwi_place *place, const char *format, ...)
{
    char text[sizeof ctx->error];
    va_list args;
    if (ctx->error[0]) {
        memcpy(text, ctx->error, sizeof text);
    } else {
        va_start(args, format);
        vsnprintf(text, sizeof text, format, args);
        va_end(args);
    }
    cwi_begin(ctx);
    return cwi_fail(ctx, CW_BAD_DATA, "plan: %s%s%s", place->text, place->text[0] ? ": " : "",
                    text);
}

/* ---- shapes ---------------------------------------------------------------------- */

/* "a|b|c" as "a, b, c". */
static void print_words(const char *words, char *out, size_t bytes)
{
    size_t at = 0;
    for (; *words && at + 3 < bytes; words++) {
        out[at++] = *words == '|' ? ',' : *words;
        if (*words == '|') out[at++] = ' ';
    }
    out[at] = '\0';
}

cw_status cwi_plan_check_fields(cw_context *ctx, const cwi_place *place, const json_t *value,
                                const char *fields)
{
    const char *key;
    json_t *unused;
    char known[256];

    if (!json_is_object(value)) return cwi_plan_bad(ctx, place, "it must be an object");
    json_object_foreach((json_t *)value, key, unused)
    {
        cwi_place at = cwi_place_field(place, key);
        if (cwi_word_index(fields, key) >= 0) continue;
        print_words(fields, known, sizeof known);
        return cwi_plan_bad(ctx, &at, "there is no such field; there are %s", known);
    }
    return CW_OK;
}

cw_status cwi_plan_check_list(cw_context *ctx, const cwi_place *place, const json_t *value,
                              bool of_texts)
{
    size_t index;
    json_t *entry;
    if (!value) return CW_OK;
    if (json_array_size(value) == 0)
        return cwi_plan_bad(ctx, place, "it must be a list with something in it");
    json_array_foreach(value, index, entry)
    {
        cwi_place at = cwi_place_index(place, index);
        if (of_texts && !json_is_string(entry))
            return cwi_plan_bad(ctx, &at, "it must be a text in quotes");
    }
    return CW_OK;
}

cw_status cwi_plan_read_whole(cw_context *ctx, const cwi_place *place, const json_t *value,
                              int64_t low, int64_t high, int64_t *out)
{
    if (!value) return CW_OK;
    if (!json_is_integer(value) || json_integer_value(value) < low ||
        json_integer_value(value) > high)
        return cwi_plan_bad(ctx, place, "it must be a whole number between %lld and %lld",
                            (long long)low, (long long)high);
    *out = json_integer_value(value);
    return CW_OK;
}

/* ---- tuning and seeds -------------------------------------------------------------- */

static cw_status read_rungs(cw_context *ctx, const cwi_place *place, const json_t *value,
                            cwi_tuning *out)
{
    size_t index;
    json_t *entry;
    if (!value) return CW_OK;
    if (!json_is_array(value) || json_array_size(value) > CWI_MAX_RUNGS)
        return cwi_plan_bad(ctx, place, "it must be a list of at most %d numbers of epochs",
                            CWI_MAX_RUNGS);
    out->n_rungs = 0;
    json_array_foreach(value, index, entry)
    {
        cwi_place at = cwi_place_index(place, index);
        int64_t epochs = 0;
        cw_status status = cwi_plan_read_whole(ctx, &at, entry, 1, 1000000, &epochs);
        if (status != CW_OK) return status;
        if (index > 0 && epochs <= out->rungs[index - 1])
            return cwi_plan_bad(ctx, &at, "it must be more epochs than the rung before");
        out->rungs[out->n_rungs++] = epochs;
    }
    return CW_OK;
}

/* What goes with the kind of tuning. */
static cw_status check_tuning(cw_context *ctx, const cwi_place *place, const cwi_tuning *tuning)
{
    if (tuning->kind == CWI_TUNE_HALVING && tuning->n_rungs == 0)
        return cwi_plan_bad(ctx, place, "halving needs rungs, such as \"rungs\": [5, 20]");
    if (tuning->kind != CWI_TUNE_HALVING && tuning->n_rungs > 0)
        return cwi_plan_bad(ctx, place, "rungs go with \"kind\": \"halving\"");
    if (tuning->kind == CWI_TUNE_RANDOM && tuning->draws == 0)
        return cwi_plan_bad(ctx, place, "random needs \"draws\", how many settings to try");
    if (tuning->kind == CWI_TUNE_GRID && tuning->draws > 0)
        return cwi_plan_bad(ctx, place, "draws go with \"kind\": \"random\" or \"halving\"");
    return CW_OK;
}

cw_status cwi_plan_read_tuning(cw_context *ctx, const cwi_place *place, const json_t *value,
                               cwi_tuning *out)
{
    cw_status status;
    if (!value) return CW_OK;
    CW_TRY(cwi_plan_check_fields(ctx, place, value, "kind|draws|rungs|keep|seed"));
    *out = (cwi_tuning){.keep = 3};
    const json_t *kind = json_object_get(value, "kind");
    cwi_place at = cwi_place_field(place, "kind");
    int index = kind ? cwi_word_index("grid|random|halving",
                                      json_is_string(kind) ? json_string_value(kind) : "")
                     : 0;
    if (index < 0) return cwi_plan_bad(ctx, &at, "it must be one of grid, random, halving");
    out->kind = (cwi_tuning_kind)index;
    at = cwi_place_field(place, "draws");
    CW_TRY(cwi_plan_read_whole(ctx, &at, json_object_get(value, "draws"), 1, CWI_MAX_CANDIDATES,
                               &out->draws));
    at = cwi_place_field(place, "keep");
    CW_TRY(cwi_plan_read_whole(ctx, &at, json_object_get(value, "keep"), 2, 1000, &out->keep));
    at = cwi_place_field(place, "seed");
    CW_TRY(
        cwi_plan_read_whole(ctx, &at, json_object_get(value, "seed"), 0, UINT32_MAX, &out->seed));
    at = cwi_place_field(place, "rungs");
    CW_TRY(read_rungs(ctx, &at, json_object_get(value, "rungs"), out));
    CW_TRY(check_tuning(ctx, place, out));
done:
    return status;
}

static cw_status add_seed(cw_context *ctx, const cwi_place *place, int64_t seed, json_t **list)
{
    size_t index;
    json_t *other;
    json_array_foreach(*list, index,
                       other) if (json_integer_value(other) ==
                                  seed) return cwi_plan_bad(ctx, place,
                                                            "the seed %lld is there twice",
                                                            (long long)seed);
    cwi_json_add(list, json_integer(seed));
    return cwi_json_check(ctx, *list);
}

cw_status cwi_plan_read_seeds(cw_context *ctx, const cwi_place *place, const json_t *value,
                              json_t **out)
{
    cw_status status = CW_OK;
    int64_t count = 0;
    if (!value) return CW_OK;
    json_t *list = json_array();
    if (!json_is_array(value)) {
        CW_TRY(cwi_plan_read_whole(ctx, place, value, 1, CWI_MAX_SEEDS, &count));
        for (int64_t s = 0; s < count; s++) CW_TRY(add_seed(ctx, place, s, &list));
    } else {
        CW_TRY(cwi_plan_check_list(ctx, place, value, false));
        for (size_t s = 0; s < json_array_size(value) && s < CWI_MAX_SEEDS; s++) {
            cwi_place at = cwi_place_index(place, s);
            int64_t seed = 0;
            CW_TRY(cwi_plan_read_whole(ctx, &at, json_array_get(value, s), 0, UINT32_MAX, &seed));
            CW_TRY(add_seed(ctx, &at, seed, &list));
        }
    }
    json_decref(*out);
    *out = json_incref(list);
done:
    json_decref(list);
    return status;
}

/* ---- options ------------------------------------------------------------------------- */

static cw_status check_value(cw_context *ctx, const cwi_place *place, const char *name,
                             const json_t *value, cw_options *probe)
{
    char text[256];
    if (!cwi_json_to_text(value, text, sizeof text))
        return cwi_plan_bad(ctx, place, "it must be a number, a text, true or false");
    cw_status status = cwi_options_assign(ctx, probe, name, text);
    if (status != CW_BAD_ARG) return status;
    return cwi_plan_bad(ctx, place, "%s", "");
}

static cw_status check_values(cw_context *ctx, const cwi_place *place, const char *name,
                              const json_t *values, cw_options *probe)
{
    cw_status status = cwi_plan_check_list(ctx, place, values, false);
    for (size_t v = 0; v < json_array_size(values) && status == CW_OK; v++) {
        cwi_place at = cwi_place_index(place, v);
        status = check_value(ctx, &at, name, json_array_get(values, v), probe);
    }
    return status;
}

/* {"from": 1e-5, "to": 1e-1, "scale": "log"} */
static cw_status check_range(cw_context *ctx, const cwi_place *place, const char *name,
                             const json_t *range, cw_options *probe)
{
    cw_status status;
    CW_TRY(cwi_plan_check_fields(ctx, place, range, "from|to|scale"));
    const json_t *from = json_object_get(range, "from"), *to = json_object_get(range, "to");
    const json_t *scale = json_object_get(range, "scale");
    bool is_log = json_is_string(scale) && strcmp(json_string_value(scale), "log") == 0;
    if (scale &&
        (!json_is_string(scale) || cwi_word_index("linear|log", json_string_value(scale)) < 0))
        return cwi_plan_bad(ctx, place, "its scale must be linear or log");
    if (!json_is_number(from) || !json_is_number(to) ||
        !(json_number_value(from) < json_number_value(to)))
        return cwi_plan_bad(ctx, place, "it must go \"from\" a number \"to\" a larger one");
    if (is_log && json_number_value(from) <= 0)
        return cwi_plan_bad(ctx, place, "a log scale begins above 0");
    CW_TRY(check_value(ctx, place, name, from, probe));
    CW_TRY(check_value(ctx, place, name, to, probe));
done:
    return status;
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

/* null: what an outer level says of the option does not hold here. */
static cw_status take_back(cw_context *ctx, const cwi_place *place, const char *name,
                           cw_options *probe, json_t *from)
{
    if (!cw_options_get(probe, name)) return check_value(ctx, place, name, json_true(), probe);
    (void)json_object_del(from, name); /* it need not be there */
    return CW_OK;
}

cw_status cwi_plan_read_options(cw_context *ctx, const cwi_place *place, const json_t *value,
                                const cwi_option_check *check, bool is_grid, json_t *into)
{
    cw_status status = CW_OK;
    const char *name;
    json_t *entry;
    if (!value) return CW_OK;
    if (!json_is_object(value))
        return cwi_plan_bad(ctx, place, "it must be an object of train options");
    json_object_foreach((json_t *)value, name, entry)
    {
        cwi_place at = cwi_place_field(place, name);
        if (reserved(name)) return cwi_plan_bad(ctx, &at, "it is set by %s", reserved(name));
        if (check->skips_unknown && !cwi_options_former(check->probe, name) &&
            !cw_options_get(check->probe, name)) {
            cwi_log(ctx, CW_LOG_INFO, "plan: %s: this version has no such option; left out",
                    at.text);
            continue;
        }
        if (!is_grid && json_is_null(entry)) {
            CW_TRY(take_back(ctx, &at, name, check->probe, into));
            continue;
        }
        if (!is_grid)
            CW_TRY(check_value(ctx, &at, name, entry, check->probe));
        else if (json_is_object(entry))
            CW_TRY(check_range(ctx, &at, name, entry, check->probe));
        else
            CW_TRY(check_values(ctx, &at, name, entry, check->probe));
        if (json_object_set(into, name, entry) != 0) return cwi_no_memory(ctx);
    }
done:
    return status;
}
