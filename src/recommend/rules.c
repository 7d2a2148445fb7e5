/* rules.c - the options of recommending, and the rules that they make. */
#include <string.h>

#include "core/mem.h"
#include "core/option_rows.h"
#include "import/source.h"
#include "recommend/recommend.h"

enum { MAX_LINES = 10000000 }; /* of a list of items; no catalogue is near it */

const cw_option_info cwi_recommend_options[] = {
    WHOLE("k", "10", 1, 1000000,
          "length of a list; it is shorter when there are not as many items"),
    TEXT("exclude", "seen",
         "what to leave out: seen (the items of each user in train, and those rated below "
         "min-rating), none, or a file with one item id a line that nobody shall get, in addition "
         "to seen"),
    REAL("popularity", "0", -CWI_MAX_DIAL, CWI_MAX_DIAL,
         "the popularity dial: rank by score + dial * ln(1 + train rows of the item); above 0 "
         "favours popular items, below 0 rare ones; a model of tune has its own unless it is "
         "given"),
    {0}};

/* Mark the items that a list names.  Those that the model does not know cannot turn up. */
static cw_status mark_listed(cw_context *ctx, cwi_source *source, const cwi_idmap *items,
                             bool *is_listed)
{
    int64_t n_unknown = 0;
    size_t length;
    const char *line;

    for (;;) {
        CW_PASS(cwi_source_line(ctx, source, &line, &length));
        if (!line) break;
        if (cwi_source_line_number(source) > MAX_LINES)
            return cwi_source_fail(ctx, source, CW_BAD_DATA, "a list may have %d lines and no more",
                                   MAX_LINES);
        if (length > CWI_MAX_ID_BYTES)
            return cwi_source_fail(ctx, source, CW_BAD_DATA, "a line may have %d bytes and no more",
                                   CWI_MAX_ID_BYTES);
        int32_t item = length > 0 ? cwi_idmap_find(items, line, length) : -1;
        if (item >= 0)
            is_listed[item] = true;
        else
            n_unknown += length > 0;
    }
    if (n_unknown > 0)
        cwi_log(ctx, CW_LOG_WARNING, "%s: %lld items are not in the model", cwi_source_name(source),
                (long long)n_unknown);
    return CW_OK;
}

/* Read the items that nobody shall get, in memory that the model bounds and not the list. */
static cw_status read_listed(cw_context *ctx, cwi_source *source, const cw_model *model,
                             cw_rules *rules)
{
    cw_status status = CW_NO_MEMORY;
    size_t n_items = (size_t)model->n_items;
    bool *is_listed = cwi_alloc_zero(ctx, n_items, sizeof *is_listed);
    int32_t *listed = cwi_alloc(ctx, n_items, sizeof *listed);
    rules->exclude = listed;
    if (!is_listed || !listed) goto done;
    CW_TRY(mark_listed(ctx, source, &model->items, is_listed));
    for (int32_t i = 0; i < model->n_items; i++)
        if (is_listed[i]) listed[rules->n_exclude++] = i;
done:
    cwi_free(is_listed);
    return status;
}

static cw_status read_exclusion(cw_context *ctx, const char *text, const cw_model *model,
                                cw_rules *rules)
{
    cwi_source *source;
    rules->with_seen = strcmp(text, "none") == 0;
    if (rules->with_seen || strcmp(text, "seen") == 0) return CW_OK;
    if (text[0] == '\0')
        return cwi_fail(ctx, CW_BAD_ARG, "exclude is empty; it must be seen, none or a file");
    cw_status status = cwi_source_open(ctx, text, &source);
    if (status == CW_OK) status = read_listed(ctx, source, model, rules);
    cwi_source_close(source);
    return status;
}

cw_status cw_rules_create(cw_context *ctx, const cw_model *model, const cw_options *options,
                          cw_rules **out)
{
    cw_status status;
    cw_rules *rules = NULL;

    cwi_begin(ctx);
    *out = NULL;
    CW_TRY(cwi_check_given(ctx, "the model", model));
    CW_TRY(cwi_options_check(ctx, options, "recommend"));
    rules = cwi_alloc_zero(ctx, 1, sizeof *rules);
    if (!rules) return CW_NO_MEMORY;
    CW_TRY(cwi_model_dial(ctx, model, &rules->dial));
    if (options) {
        if (cw_options_is_given(options, "popularity"))
            rules->dial = cwi_options_real(options, "popularity");
        CW_TRY(read_exclusion(ctx, cwi_options_text(options, "exclude"), model, rules));
    }
    *out = rules;
done:
    if (status != CW_OK) cw_rules_free(rules);
    return status;
}

void cw_rules_free(cw_rules *rules)
{
    if (!rules) return;
    cwi_free((void *)rules->exclude);
    cwi_free(rules);
}
